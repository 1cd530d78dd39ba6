// SPDX-License-Identifier: BSD-3-Clause
// Control messages of a job with CHECK: sealed both ways, and nothing happens without a right seal.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/agg.h"
#include "tests/unit/pipe_rig.h"

static const enum wire_type types[] = { WIRE_KEEPALIVE, WIRE_END, WIRE_LEAVE };

static struct wire_msg about_epoch(const struct rig *rig, enum wire_type type, unsigned wid)
{
	return rig_msg(rig, type, wid, type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY);
}

static void agg_seal__a_message_without_changes_nothing(void **state)
{
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct job *job;
		struct wire_msg msg;
		uint64_t heard_ns;

		rig_open(&rig, NULL);
		job = rig_form_checked(&rig, 2);
		heard_ns = job->members[1].heard_ns;
		msg = about_epoch(&rig, types[i], 1);
		assert_true(msg.sealed);
		msg.sealed = false;
		assert_string_equal(rig_send_msg(&rig, &msg), "bad_length");
		assert_true(job->running && job->left == 0);
		assert_int_equal(job->members[1].heard_ns, heard_ns);
		msg.sealed = true;
		has(rig_send_msg(&rig, &msg), " crc > w1");
		assert_true(types[i] == WIRE_KEEPALIVE || !job->running || job->left == 2);
		rig_close(&rig);
	}
}

static void agg_seal__a_message_with_one_that_was_not_agreed(void **state)
{
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct job *job;
		struct wire_msg msg;

		rig_open(&rig, NULL);
		job = rig_form(&rig, 2);
		msg = about_epoch(&rig, types[i], 1);
		assert_false(msg.sealed);
		msg.sealed = true;
		assert_string_equal(rig_send_msg(&rig, &msg), "bad_length");
		assert_true(job->running && job->left == 0);
		msg.sealed = false;
		has_not(rig_send_msg(&rig, &msg), " crc");
		rig_close(&rig);
	}
}

/* Not even by another version, or a type that has another length. */
static void agg_seal__no_bit_can_change(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 2);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct wire_msg msg = about_epoch(&rig, types[i], 1);
		const uint32_t len = WIRE_HEADER + msg.len + WIRE_CRC;
		const struct flow flow = rig_flow(1);

		for (unsigned bit = 0; bit < 8 * len; bit++) {
			const char *text;

			wire_build(rig.buf, &msg);
			memcpy(rig.buf + WIRE_HEADER, msg.payload, msg.len);
			wire_seal(rig.buf, msg.len);
			rig.buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
			text = rig_send(&rig, &flow, len);
			assert_null(strchr(text, '|'));
			if ((bit >= 4 && bit < 8) || bit >= 16)
				assert_string_equal(text, "bad_crc");
		}
	}
	assert_true(pipe_job(rig.pipe, 0)->running && pipe_job(rig.pipe, 0)->left == 0);
	rig_close(&rig);
}

static void agg_seal__no_bit_of_a_join_can_change(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct flow flow = rig_flow(1);

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 1, 2);
	join.flags = WIRE_JOB_CHECK;
	flow.udp_port = join.port;
	for (unsigned bit = 0; bit < 8 * (WIRE_HEADER + WIRE_BODY); bit++) {
		uint32_t len = (uint32_t)wire_join_build(rig.buf, 1, &join);

		len = wire_seal(rig.buf, len - WIRE_HEADER);
		rig.buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_null(strchr(rig_send(&rig, &flow, len), '|'));
		assert_null(pipe_job(rig.pipe, 0));
	}
	rig_close(&rig);
}

/* The handle, or the name, may have been that of a job with other flags. */
static void agg_seal__answers_are_sealed_as_they_were_asked(void **state)
{
	struct rig rig;
	const struct job *job;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	job = rig_form_checked(&rig, 2);
	for (unsigned n = 0; n < 4; n++) {
		msg = about_epoch(&rig, n / 2 ? WIRE_KEEPALIVE : WIRE_LEAVE, 1);
		msg.epoch--;
		msg.sealed = n % 2;
		has(rig_send_msg(&rig, &msg),
		    "STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len");
		assert_true(!strstr(rig.text, " crc >") == !msg.sealed);
		msg.job ^= 1;
		rig_wait(&rig, 1);
		has(rig_send_msg(&rig, &msg), "STATUS UNKNOWN");
		assert_true(!strstr(rig.text, " crc >") == !msg.sealed);
		rig_wait(&rig, 1);
	}
	assert_true(job->running && job->left == 0);
	rig_close(&rig);
}

static void agg_seal__members_are_told_unasked(void **state)
{
	struct rig rig;
	struct flow flow = rig_flow(1);
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 3);
	msg = about_epoch(&rig, WIRE_END, 2);
	has(rig_send_msg(&rig, &msg), "STATUS FORMING epoch 1011 wid 0 inc 100 cause 3 a 2 ended "
				      "1010 missing 0-2 len 160 crc > w0");
	rig_close(&rig);
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 3);
	assert_int_equal(pipe_gone(rig.pipe, &flow, &rig.now), COUNTER_gone);
	rig.nr_sent++;
	msg = about_epoch(&rig, WIRE_KEEPALIVE, 0);
	has(rig_send_msg(&rig, &msg), "len 160 crc > w2");
	rig_close(&rig);
}

/* Whoever asks with other flags is refused as it asks, those that joined learn of it as they do. */
static void agg_seal__a_refusal_reaches_both_sides(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned n = 0; n < 2; n++) {
		join = rig_join_of(&rig, 0, 2);
		join.flags = WIRE_JOB_CHECK;
		rig_join(&rig, 0, &join);
	}
	rig_wait(&rig, 1);
	join = rig_join_of(&rig, 1, 2);
	has(rig_join(&rig, 1, &join), "len 160 crc > w0");
	has(rig.text, "field 3: 2 0 missing 1 len 256 > w1");
	rig_close(&rig);
}

static void agg_seal__another_version(void **state)
{
	struct rig rig;
	struct wire_join join;
	const struct flow flow = rig_flow(1);
	uint32_t len;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 1, 2);
	len = (uint32_t)wire_join_build(rig.buf, 1, &join) - WIRE_HEADER;
	rig.buf[0] = 2 << 4 | WIRE_JOIN;
	assert_string_equal(
		rig_send(&rig, &flow, wire_seal(rig.buf, len)),
		"bad_version | STATUS REFUSED epoch 0 wid 1 cause 11 b 1 len 256 crc > w1");
	rig_wait(&rig, 1);
	rig.buf[0] = 3 << 4 | WIRE_JOIN;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + len + WIRE_CRC), "bad_crc");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_seal__a_message_without_changes_nothing),
		cmocka_unit_test(agg_seal__a_message_with_one_that_was_not_agreed),
		cmocka_unit_test(agg_seal__no_bit_can_change),
		cmocka_unit_test(agg_seal__no_bit_of_a_join_can_change),
		cmocka_unit_test(agg_seal__answers_are_sealed_as_they_were_asked),
		cmocka_unit_test(agg_seal__members_are_told_unasked),
		cmocka_unit_test(agg_seal__a_refusal_reaches_both_sides),
		cmocka_unit_test(agg_seal__another_version),
	};

	return cmocka_run_group_tests_name("agg_seal", tests, NULL, NULL);
}
