// SPDX-License-Identifier: BSD-3-Clause
// line_test.c - when packets arrive at the end of a line, and what finds its queue full.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topologies/line.h"

enum { ROOM = 2000, GOT = 600 };

static struct agenda agenda;
static struct packet_pool pool;
static struct line line;
static struct {
	uint64_t at_ns;
	uint32_t len;
} got[GOT];
static unsigned nr_got;

static void take(struct line *from, struct packet *packet)
{
	assert_ptr_equal(from, &line);
	got[nr_got].at_ns = agenda.now_ns;
	got[nr_got++].len = packet->len;
	packet_put(&pool, packet);
}

static int line_open(void **state)
{
	(void)state;
	nr_got = 0;
	pool = (struct packet_pool){ .room = ROOM };
	assert_int_equal(agenda_init(&agenda, 4), 0);
	agenda.now_ns = 5000;
	line = (struct line){ .rate = UINT64_C(10000000000), .delay_ns = 700, .deliver = take };
	line_init(&line, &agenda, &pool);
	return 0;
}

static int line_shut(void **state)
{
	(void)state;
	line_empty(&line);
	assert_int_equal(pool.nr_out, 0);
	packet_pool_free(&pool);
	agenda_free(&agenda);
	return 0;
}

static bool send(uint32_t len)
{
	struct packet *packet = packet_get(&pool);

	assert_non_null(packet);
	assert_int_equal((uintptr_t)(packet->data + 22) % 64, 0);
	packet->len = len;
	return line_send(&line, packet);
}

static void run(void)
{
	while (agenda_next(&agenda) != AGENDA_NEVER)
		agenda_step(&agenda);
}

/* Times by whole picoseconds, as at 10 Gbit/s a bit takes 100 of them. */
static void line_send__one_after_the_other(void **state)
{
	static const uint32_t lens[] = { 1430, 22, 1000, 1, 1999 };
	uint64_t ps = 5000 * 1000;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_true(send(lens[i]));
	assert_int_equal(line_waiting(&line), 5);
	run();
	assert_int_equal(nr_got, 5);
	for (unsigned i = 0; i < 5; i++) {
		ps += (lens[i] + 42) * 800;
		assert_int_equal(got[i].len, lens[i]);
		assert_int_equal(got[i].at_ns, ps / 1000 + 700);
	}
	assert_int_equal(line.stats.packets, 5);
	assert_int_equal(line.stats.bytes, 1430 + 22 + 1000 + 1 + 1999 + 5 * 42);
	assert_int_equal(line.stats.deepest, 5);
	assert_int_equal(line_waiting(&line), 0);
}

/* What does not divide is not lost: 3 Gbit/s, 300 packets of 100 bytes. */
static void line_send__parts_of_a_nanosecond_add_up(void **state)
{
	(void)state;
	line.rate = UINT64_C(3000000000);
	for (unsigned i = 0; i < 300; i++)
		assert_true(send(100 - 42));
	run();
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(got[i].at_ns, 5000 + UINT64_C(800) * (i + 1) / 3 + 700);
}

static void line_send__full_queues(void **state)
{
	unsigned taken = 0;

	(void)state;
	line.queue = 7;
	for (unsigned i = 0; i < 20; i++)
		taken += send(1000);
	assert_int_equal(taken, 7);
	assert_int_equal(line.stats.dropped, 13);
	run();
	assert_int_equal(nr_got, 7);
	/* Of 4000 bytes with headers three of 1042 fit, after the one that leaves at once. */
	line.queue = 4000;
	line.queue_bytes = true;
	taken = 0;
	for (unsigned i = 0; i < 20; i++)
		taken += send(1000);
	assert_int_equal(taken, 3);
	run();
	assert_int_equal(nr_got, 10);
}

static void line_half__when_half_has_left(void **state)
{
	(void)state;
	assert_int_equal(line_half(&line), 5000);
	for (unsigned i = 0; i < 10; i++)
		assert_true(send(1208));
	assert_int_equal(line_half(&line), 5000 + 5 * 1000);
	agenda.now_ns = 5000 + 5 * 1000;
	assert_int_equal(line_waiting(&line), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(line_send__one_after_the_other, line_open,
						line_shut),
		cmocka_unit_test_setup_teardown(line_send__parts_of_a_nanosecond_add_up, line_open,
						line_shut),
		cmocka_unit_test_setup_teardown(line_send__full_queues, line_open, line_shut),
		cmocka_unit_test_setup_teardown(line_half__when_half_has_left, line_open,
						line_shut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
