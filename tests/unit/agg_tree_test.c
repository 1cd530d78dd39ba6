// SPDX-License-Identifier: BSD-3-Clause
// A switch of switches: their ranges, and what it says of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

/* The k-th switch below stands for nr ranks from first, and speaks from the k-th address. */
struct below {
	unsigned k;
	uint16_t first, nr;
};

static const char *join(struct rig *rig, const struct below *below, uint16_t world)
{
	struct wire_join join = rig_join_of(rig, below->k, world);
	struct flow flow = rig_flow(below->k);

	join.nr_ranges = 0;
	join.ranks = below->nr;
	return rig_send(rig, &flow, (uint32_t)wire_join_build(rig->buf, below->first, &join));
}

static const struct job *form(struct rig *rig, const struct below *below, unsigned nr,
			      uint16_t world)
{
	join(rig, &below[0], world);
	for (unsigned i = 0; i < nr; i++)
		join(rig, &below[i], world);
	rig_wait(rig, 1);
	return pipe_job(rig->pipe, 0);
}

static const char *data(struct rig *rig, const struct below *below, uint32_t round, unsigned flags)
{
	struct wire_msg msg = rig_msg(rig, WIRE_DATA, below->first, 128);
	struct flow flow = rig_flow(below->k);
	uint8_t payload[128];

	for (unsigned i = 0; i < 32; i++)
		wire_put32(payload + 4 * i, rig_element(below->k, round, i));
	msg.flags = (uint8_t)flags;
	msg.round = round;
	msg.payload = payload;
	return rig_send_from(rig, &flow, &msg);
}

static void agg_tree__complete_when_the_ranges_tile_the_world(void **state)
{
	static const struct below below[] = { { 0, 5, 3 }, { 1, 0, 5 }, { 2, 8, 8 } };
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	join(&rig, &below[0], 16);
	/* value_a is the range awaited: first << 16 | nr. */
	has(join(&rig, &below[0], 16), "STATUS FORMING epoch 1010 wid 5 inc 100 field 6: 5 0");
	has(join(&rig, &below[1], 16), "STATUS FORMING epoch 1010 wid 0 inc 101 field 6: 524296 0");
	has(join(&rig, &below[2], 16), "STATUS RUNNING epoch 1010 wid 8 inc 102");
	assert_int_equal(pipe_job(rig.pipe, 0)->all, 7);
	rig_close(&rig);
}

static void agg_tree__sums_of_switches(void **state)
{
	static const struct below below[] = { { 0, 8, 8 }, { 1, 0, 8 } };
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	form(&rig, below, 2, 16);
	rig_assert_counter(data(&rig, &below[0], 0, WIRE_PARTIAL), "held");
	rig_assert_counter(data(&rig, &below[0], 0, WIRE_PARTIAL), "duplicate");
	rig_assert_counter(data(&rig, &below[1], 0, 0), "bad_flag");
	has(data(&rig, &below[1], 0, WIRE_PARTIAL), "completed | RESULT ADD32 job 1010");
	has(rig.text, "> w0 w1");
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 4 * i),
				 rig_element(0, 0, i) + rig_element(1, 0, i));
	has(data(&rig, &below[0], 0, WIRE_PARTIAL), "repeated | RESULT");
	rig_close(&rig);
}

static void agg_tree__overlaps_are_refused(void **state)
{
	static const struct below below[] = { { 0, 0, 8 }, { 1, 8, 8 } };
	static const struct below wrong[] = { { 2, 7, 2 }, { 2, 1, 1 }, { 2, 4, 12 } };
	static const char *const value_b[] = { " 458754 len", " 65537 len", " 262156 len" };
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	join(&rig, &below[0], 16);
	join(&rig, &below[0], 16);
	for (unsigned i = 0; i < 3; i++) {
		rig_wait(&rig, 1);
		has(join(&rig, &wrong[i], 16), "STATUS REFUSED");
		has(rig.text, "cause 8 a 0 b ");
		has(rig.text, "field 6: 8");
		has(rig.text, value_b[i]);
	}
	has(join(&rig, &below[1], 16), "STATUS RUNNING");
	rig_close(&rig);
}

static void agg_tree__a_rank_among_switches_is_refused(void **state)
{
	static const struct below below[] = { { 0, 0, 8 }, { 1, 8, 8 }, { 2, 12, 6 } };
	struct rig rig;
	struct wire_join rank;

	(void)state;
	rig_open(&rig, NULL);
	join(&rig, &below[0], 16);
	join(&rig, &below[0], 16);
	rank = rig_join_of(&rig, 9, 16);
	has(rig_join(&rig, 9, &rank), "STATUS REFUSED");
	has(rig.text, "field 6: 16 589825");
	/* Beyond the world. */
	has(join(&rig, &below[2], 16), "STATUS REFUSED");
	has(rig.text, "field 6: 16 786438");
	rig_close(&rig);
}

static void agg_tree__mismatch_names_the_switches(void **state)
{
	static const struct below below[] = { { 0, 8, 8 }, { 1, 0, 8 } };
	struct wire_msg msg;
	struct flow flow = rig_flow(1);
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	form(&rig, below, 2, 16);
	data(&rig, &below[0], 0, WIRE_PARTIAL);
	msg = rig_msg(&rig, WIRE_DATA, 0, 128);
	msg.flags = WIRE_PARTIAL;
	msg.desc++;
	has(rig_send_from(&rig, &flow, &msg), "mismatch | STATUS FORMING");
	has(rig.text, "cause 2 a 0 b 8 ended 1010");
	rig_close(&rig);
}

static void agg_tree__a_switch_speaks_for_its_ranks(void **state)
{
	static const struct below below[] = { { 0, 8, 8 }, { 1, 0, 8 } };
	static const uint8_t causes[][2] = {
		{ WIRE_CAUSE_RESTARTED, WIRE_CAUSE_RESTARTED },
		{ WIRE_CAUSE_MISMATCH, WIRE_CAUSE_MISMATCH },
		{ WIRE_CAUSE_LEFT, WIRE_CAUSE_LEFT },
		{ WIRE_CAUSE_GONE, WIRE_CAUSE_GONE },
		{ WIRE_CAUSE_DEVICE, WIRE_CAUSE_DEVICE },
		{ WIRE_CAUSE_NO_SLOTS, WIRE_CAUSE_ABORTED },
	};
	struct wire_status body = { .wid_a = 11, .wid_b = 99 };
	struct flow flow = rig_flow(0);
	struct wire_msg msg;
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		rig_open(&rig, NULL);
		form(&rig, below, 2, 16);
		msg = rig_msg(&rig, WIRE_END, 8, 0);
		body.cause = causes[i][0];
		rig_send(&rig, &flow, (uint32_t)wire_status_build(rig.buf, &msg, &body, WIRE_BODY));
		rig_assert_counter(rig.text, "end");
		assert_int_equal(pipe_job(rig.pipe, 0)->last.cause, causes[i][1]);
		assert_int_equal(pipe_job(rig.pipe, 0)->last.wid_a, 11);
		assert_int_equal(pipe_job(rig.pipe, 0)->last.wid_b, WIRE_WID_NONE);
		rig_close(&rig);
	}
}

static void agg_tree__a_question_enters_nothing(void **state)
{
	static const struct below below[] = { { 0, 0, 8 }, { 1, 8, 8 } };
	struct flow flow = rig_flow(1);
	struct wire_join ask;
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	ask = rig_join_of(&rig, 1, 16);
	ask.nr_ranges = 0;
	ask.ranks = 8;
	/* It makes the job, though. */
	has(rig_send(&rig, &flow, (uint32_t)wire_ask_build(rig.buf, 8, &ask)),
	    "keepalive | STATUS FORMING epoch 1010 wid 8");
	join(&rig, &below[0], 16);
	ask.base = 1009;
	rig_send(&rig, &flow, (uint32_t)wire_ask_build(rig.buf, 8, &ask));
	assert_int_equal(pipe_job(rig.pipe, 0)->joined, 1);
	has(join(&rig, &below[1], 16), "STATUS RUNNING epoch 1010");
	ask.base = 1010;
	has(rig_send(&rig, &flow, (uint32_t)wire_ask_build(rig.buf, 8, &ask)),
	    "keepalive | STATUS RUNNING epoch 1010");
	/* Somebody knows a later epoch: there must be one later still. */
	ask.base = 1500;
	rig_wait(&rig, 1000);
	has(rig_send(&rig, &flow, (uint32_t)wire_ask_build(rig.buf, 8, &ask)),
	    "keepalive | STATUS FORMING epoch 2010 wid 0");
	rig_close(&rig);
}

static void agg_tree__says_which_ranks_are_awaited(void **state)
{
	static const struct below below[] = { { 0, 8, 8 }, { 1, 0, 8 } };
	struct wire_msg msg;
	struct flow flow = rig_flow(0);
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	form(&rig, below, 2, 16);
	data(&rig, &below[0], 0, WIRE_PARTIAL);
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 8, WIRE_BODY);
	msg.slot = WIRE_SE;
	has(rig_send_from(&rig, &flow, &msg), "field 6: 8 0 missing 1");
	rig_close(&rig);
}

static void agg_tree__a_thousand_ranks(void **state)
{
	static struct below below[65];
	struct rig rig;
	const struct job *job;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned k = 0; k < 65; k++)
		below[k] = (struct below){ k, (uint16_t)(16 * (63 - k % 64)), 16 };
	job = form(&rig, below, 64, 1024);
	assert_true(job->running && job->all == UINT64_MAX);
	for (unsigned k = 0; k < 63; k++)
		rig_assert_counter(data(&rig, &below[k], 0, WIRE_PARTIAL), "held");
	rig_assert_counter(data(&rig, &below[63], 0, WIRE_PARTIAL), "completed");
	for (unsigned i = 0; i < 32; i++) {
		uint32_t sum = 0;

		for (unsigned k = 0; k < 64; k++)
			sum += rig_element(k, 0, i);
		assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 4 * i), sum);
	}
	rig_close(&rig);
}

static void agg_tree__a_switch_too_many(void **state)
{
	struct rig rig;
	struct below below;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned k = 0; k < 65; k++) {
		below = (struct below){ k % 64, (uint16_t)(2 * k), 2 };
		rig_wait(&rig, k == 64);
		if (k == 0)
			join(&rig, &below, 1024);
		join(&rig, &below, 1024);
	}
	has(rig.text, "STATUS REFUSED");
	has(rig.text, "field 1: 64 65");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_tree__complete_when_the_ranges_tile_the_world),
		cmocka_unit_test(agg_tree__sums_of_switches),
		cmocka_unit_test(agg_tree__overlaps_are_refused),
		cmocka_unit_test(agg_tree__a_rank_among_switches_is_refused),
		cmocka_unit_test(agg_tree__mismatch_names_the_switches),
		cmocka_unit_test(agg_tree__a_switch_speaks_for_its_ranks),
		cmocka_unit_test(agg_tree__a_question_enters_nothing),
		cmocka_unit_test(agg_tree__says_which_ranks_are_awaited),
		cmocka_unit_test(agg_tree__a_thousand_ranks),
		cmocka_unit_test(agg_tree__a_switch_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
