// SPDX-License-Identifier: BSD-3-Clause
// Names of the counters, and that nothing the pipe counts is out of reach of a packet.
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

static void counter_infos__are_complete(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNTER_NR; i++) {
		assert_true(strlen(counter_infos[i].text) > 0);
		assert_true(counter_infos[i].class <= COUNTER_DROP);
		for (const char *c = counter_infos[i].name; *c; c++)
			assert_true(islower((unsigned char)*c) || *c == '_');
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(counter_infos[i].name, counter_infos[k].name);
	}
	assert_string_equal(counter_infos[COUNTER_old_epoch].name, "old_epoch");
	assert_int_equal(counter_infos[COUNTER_spoofed].class, COUNTER_DROP);
	/* A packet's counter is a byte. */
	assert_true((unsigned)COUNTER_NR <= UINT8_MAX);
}

/*
 * One packet that falls under the counter, to a job of two that runs with rank 0's contribution to
 * slot 0 in.  What is not said: DATA of 128 bytes from rank 0 to slot 0, round 0.
 */
struct counter_case {
	enum counter counter;
	enum wire_type type;
	unsigned wid, slot, len, byte0, kind;
	uint32_t round;
	bool other_job, other_epoch, stranger, too_early, left;
};

/* What has to have happened before. */
static void counter_prepare(struct rig *rig, const struct counter_case *c)
{
	struct wire_msg leave;

	rig_form(rig, 2);
	rig_data(rig, 0, 0, 0);
	if (c->left) {
		leave = rig_msg(rig, WIRE_LEAVE, 1, WIRE_PAD);
		rig_send_msg(rig, &leave);
	}
	if (c->counter == COUNTER_repeated || c->counter == COUNTER_stale)
		rig_data(rig, 1, 0, 0);
	for (unsigned i = 0; i < 4 && c->counter == COUNTER_stale; i++)
		rig_data(rig, i & 1, 0, 1 + i / 2);
	if (c->too_early)
		rig->now.wall_ms = 1010;
}

static void counter_run(const struct counter_case *c)
{
	enum wire_type type = c->type ? c->type : WIRE_DATA;
	uint32_t len = c->len ? c->len : 128;
	struct rig rig;
	struct wire_msg msg;
	struct flow flow = rig_flow(c->stranger ? 40 : c->wid);
	uint64_t before;

	rig_open(&rig, NULL);
	counter_prepare(&rig, c);
	msg = rig_msg(&rig, type, c->wid, len);
	msg.slot = (uint16_t)(type == WIRE_DATA ? WIRE_SE + c->slot : 0);
	msg.round = c->round;
	msg.job = (uint16_t)(msg.job + c->other_job);
	msg.epoch += c->other_epoch;
	if (c->kind)
		msg.kind = (uint8_t)c->kind;
	wire_build(rig.buf, &msg);
	memset(rig.buf + WIRE_HEADER, 0, len);
	if (c->byte0)
		rig.buf[0] = (uint8_t)c->byte0;
	before = rig_count(&rig, c->counter);
	rig_send(&rig, &flow,
		 c->counter == COUNTER_truncated ? WIRE_HEADER - 1 : WIRE_HEADER + len);
	assert_string_equal(counter_infos[rig.pkt.counter].name, counter_infos[c->counter].name);
	assert_int_equal(rig_count(&rig, c->counter), before + 1);
	rig_close(&rig);
}

static void counters__each_has_a_packet(void **state)
{
	static const struct counter_case cases[] = {
		{ .counter = COUNTER_held, .slot = 1 },
		{ .counter = COUNTER_completed, .wid = 1 },
		{ .counter = COUNTER_repeated, .wid = 1 },
		{ .counter = COUNTER_duplicate },
		{ .counter = COUNTER_stale, .wid = 1 },
		{ .counter = COUNTER_keepalive, .type = WIRE_KEEPALIVE, .len = WIRE_BODY },
		{ .counter = COUNTER_leave, .type = WIRE_LEAVE, .len = WIRE_PAD },
		{ .counter = COUNTER_end, .type = WIRE_END, .len = WIRE_BODY },
		{ .counter = COUNTER_old_epoch, .other_epoch = true },
		{ .counter = COUNTER_unknown_job, .other_job = true },
		{ .counter = COUNTER_mismatch, .wid = 1, .kind = WIRE_MAX32 },
		{ .counter = COUNTER_gap, .slot = 1, .round = 1 },
		{ .counter = COUNTER_rounds, .round = WIRE_ROUND_END },
		{ .counter = COUNTER_left, .slot = 1, .left = true },
		{ .counter = COUNTER_too_early,
		  .type = WIRE_END,
		  .len = WIRE_BODY,
		  .too_early = true },
		{ .counter = COUNTER_spoofed, .stranger = true },
		{ .counter = COUNTER_bad_wid, .wid = 2 },
		{ .counter = COUNTER_bad_slot, .slot = RIG_SLOTS },
		{ .counter = COUNTER_bad_direction, .type = WIRE_STATUS, .len = WIRE_BODY },
		{ .counter = COUNTER_no_room, .slot = 1, .len = RIG_P + WIRE_PAD },
		{ .counter = COUNTER_truncated },
		{ .counter = COUNTER_bad_version, .byte0 = 2 << 4 | WIRE_DATA },
		{ .counter = COUNTER_bad_type, .byte0 = WIRE_VERSION << 4 | 15 },
		{ .counter = COUNTER_bad_kind, .kind = 15 },
		{ .counter = COUNTER_bad_flag, .kind = WIRE_ADD32 | WIRE_PARTIAL },
		{ .counter = COUNTER_bad_length, .len = 127 },
		{ .counter = COUNTER_bad_crc, .len = 128 + WIRE_CRC },
		/* JOIN, bad_field and gone are of other shapes: agg_join_test, agg_talk_test;
		 * what a leaf counts: agg_up_test. */
	};
	uint64_t seen = UINT64_C(1) << COUNTER_join | UINT64_C(1) << COUNTER_bad_field |
			UINT64_C(1) << COUNTER_gone | UINT64_C(1) << COUNTER_partial |
			UINT64_C(1) << COUNTER_partial_again | UINT64_C(1) << COUNTER_up_result |
			UINT64_C(1) << COUNTER_up_stale | UINT64_C(1) << COUNTER_up_status;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		counter_run(&cases[i]);
		seen |= UINT64_C(1) << cases[i].counter;
	}
	/* The rest is counted by fwd and by the shells. */
	for (unsigned i = 0; i < COUNTER_frame_short; i++) {
		if (counter_infos[i].class != COUNTER_FORWARD)
			assert_true(seen >> i & 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counter_infos__are_complete),
		cmocka_unit_test(counters__each_has_a_packet),
	};

	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
