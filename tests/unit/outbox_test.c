// SPDX-License-Identifier: BSD-3-Clause
// The queue of STATUS messages and who may be answered how often.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/outbox.h"

#define MS UINT64_C(1000000)

static struct outbox outbox;

static size_t put_and_take(uint16_t len, uint16_t pad, uint8_t buf[WIRE_MSG_MAX])
{
	const struct flow to = { .ip = 5, .udp_port = 6, .port = 7 };
	const struct wire_msg msg = { .type = WIRE_STATUS, .job = 9, .wid = 3 };
	struct wire_status status = { .state = WIRE_FORMING, .silent = 1 };
	struct flow got;
	size_t n;

	memset(status.desc_b, 0xdd, WIRE_DESC);
	memset(buf, 0xee, WIRE_MSG_MAX);
	outbox_put(&outbox, &to, &msg, &status, (struct outbox_room){ .len = len, .pad = pad });
	n = outbox_take(&outbox, &got, buf);
	if (n)
		assert_memory_equal(&got, &to, sizeof(to));
	assert_int_equal(outbox_take(&outbox, &got, buf + 8000), 0);
	return n;
}

static void outbox_put__cut_and_padded(void **state)
{
	uint8_t buf[WIRE_MSG_MAX];

	(void)state;
	memset(&outbox, 0, sizeof(outbox));
	assert_int_equal(put_and_take(31, 0, buf), 0);
	assert_int_equal(put_and_take(32, 0, buf), WIRE_HEADER + 32);
	assert_int_equal(put_and_take(95, 0, buf), WIRE_HEADER + 32);
	assert_int_equal(put_and_take(96, 0, buf), WIRE_HEADER + 96);
	assert_int_equal(put_and_take(160, 0, buf), WIRE_HEADER + 160);
	assert_int_equal(put_and_take(4096, 0, buf), WIRE_HEADER + 160);
	assert_int_equal(buf[WIRE_HEADER + 159], 0xdd);
	assert_int_equal(buf[WIRE_HEADER + 160], 0xee);
	assert_int_equal(put_and_take(1024, 1024, buf), WIRE_HEADER + 1024);
	for (unsigned i = 160; i < 1024; i++)
		assert_int_equal(buf[WIRE_HEADER + i], 0);
	assert_int_equal(buf[WIRE_HEADER + 1024], 0xee);
	assert_int_equal(put_and_take(WIRE_P_MAX, WIRE_P_MAX, buf), WIRE_HEADER + WIRE_P_MAX);
	/* The answer to the longest JOIN there is, of a job with CHECK. */
	assert_int_equal(put_and_take(WIRE_P_MAX, WIRE_P_MAX + WIRE_CRC, buf), WIRE_MSG_MAX);
}

static void outbox_take__oldest_first_and_overflow(void **state)
{
	const struct wire_msg msg = { .type = WIRE_STATUS };
	const struct wire_status status = { .state = WIRE_FORMING };
	const struct outbox_room room = { .len = 32 };
	uint8_t buf[WIRE_MSG_MAX];
	struct flow to = { 0 };

	(void)state;
	memset(&outbox, 0, sizeof(outbox));
	outbox.head = outbox.tail = UINT32_MAX - 5;
	for (uint32_t i = 0; i < OUTBOX_MAX + 10; i++) {
		to.ip = i;
		outbox_put(&outbox, &to, &msg, &status, room);
	}
	for (uint32_t i = 0; i < OUTBOX_MAX; i++) {
		assert_int_equal(outbox_take(&outbox, &to, buf), WIRE_HEADER + 32);
		assert_int_equal(to.ip, i);
	}
	assert_int_equal(outbox_take(&outbox, &to, buf), 0);
}

static void outbox_allows__each_source_once_a_millisecond(void **state)
{
	struct flow a = { .ip = 1, .udp_port = 1 }, b = { .ip = 1, .udp_port = 2 };

	(void)state;
	memset(&outbox, 0, sizeof(outbox));
	assert_true(outbox_allows(&outbox, &a, false, 5 * MS));
	assert_false(outbox_allows(&outbox, &a, false, 5 * MS));
	assert_true(outbox_allows(&outbox, &b, false, 5 * MS));
	assert_false(outbox_allows(&outbox, &a, false, 6 * MS - 1));
	assert_true(outbox_allows(&outbox, &a, false, 6 * MS));
	assert_false(outbox_allows(&outbox, &a, false, 7 * MS - 1));
	assert_true(outbox_allows(&outbox, &a, true, 6 * MS));
	assert_false(outbox_allows(&outbox, &a, true, 7 * MS - 1));
}

/* Hosts share addresses, and ranks share hosts: every port is a source of its own. */
static void outbox_allows__ports_are_sources(void **state)
{
	struct flow flow = { .ip = 0x0a000001 };
	unsigned nr = 0;

	(void)state;
	memset(&outbox, 0, sizeof(outbox));
	for (uint16_t port = 0; port < 200; port++) {
		flow.udp_port = (uint16_t)(40000 + port);
		nr += outbox_allows(&outbox, &flow, false, 5 * MS);
	}
	assert_int_equal(nr, 200);
}

/*
 * A flood from ever new sources is bounded, and those it crowds out are served in the next
 * millisecond.
 */
static void outbox_allows__flood_is_bounded(void **state)
{
	struct flow flow = { 0 };
	unsigned nr = 0;

	(void)state;
	memset(&outbox, 0, sizeof(outbox));
	for (uint32_t i = 0; i < 100000; i++) {
		flow.ip = i * 2654435761U;
		flow.udp_port = (uint16_t)i;
		nr += outbox_allows(&outbox, &flow, false, 5 * MS);
	}
	assert_int_equal(nr, OUTBOX_SETS * OUTBOX_WAYS);
	assert_true(outbox_allows(&outbox, &flow, false, 6 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outbox_put__cut_and_padded),
		cmocka_unit_test(outbox_take__oldest_first_and_overflow),
		cmocka_unit_test(outbox_allows__each_source_once_a_millisecond),
		cmocka_unit_test(outbox_allows__ports_are_sources),
		cmocka_unit_test(outbox_allows__flood_is_bounded),
	};

	return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
