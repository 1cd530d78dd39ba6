// SPDX-License-Identifier: BSD-3-Clause
// A leaf: what it tells its parent, what it takes from there, and what its members see of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/agg.h"
#include "tests/unit/leaf_rig.h"

static const char *leaf_empty(struct rig *rig, unsigned wid)
{
	struct wire_msg msg = rig_msg(rig, WIRE_DATA, wid, WIRE_PAD);

	msg.flags = WIRE_EMPTY;
	return rig_send_msg(rig, &msg);
}

static void agg_up__asks_until_all_members_are_here(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	leaf_open(&rig);
	join = leaf_join(&rig, FIRST);
	assert_string_equal(rig_join(&rig, FIRST, &join),
			    "join | STATUS FORMING epoch 1 wid 4 inc 104 missing 1-2 len 256 > w4 | "
			    "UP ASK wid 4 ranks 3 inc 900 base 0 P 256 S 4 world 16");
	/* Not twice a millisecond. */
	has_not(rig_join(&rig, FIRST, &join), "UP");
	rig_wait(&rig, 1);
	has(rig_join(&rig, FIRST, &join), "UP ASK");
	assert_string_equal(leaf_told_usual(&rig, EPOCH, WIRE_FORMING),
			    "up_status | STATUS FORMING epoch 2000 wid 4 inc 104 missing 0-2 len "
			    "160 > w4");
	rig_close(&rig);
}

static void agg_up__joins_with_the_least_of_its_members(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	leaf_open(&rig);
	leaf_join_usual(&rig, FIRST);
	leaf_told_usual(&rig, EPOCH, WIRE_FORMING);
	for (unsigned i = 0; i < NR; i++) {
		join = leaf_join(&rig, FIRST + i);
		join.nr_ranges = 3;
		join.ranges[1] = (struct wire_range){ 4, 8 };
		join.ranges[2] = (struct wire_range){ 0, WORLD };
		join.slots = (uint16_t)(9 - i);
		join.p = i == 1 ? 128 : RIG_P;
		join.flags = i == 1 ? WIRE_JOB_CHUNK_FIXED : 0;
		rig_wait(&rig, 2000);
		has(rig_join(&rig, FIRST + i, &join),
		    i < 2 ? "UP ASK"
			  : "UP JOIN wid 4 ranks 3 inc 11400714819323199385 base 1999 P 128 S 7 world 16 flags 1 "
			    "4+8 0+16");
	}
	/* Said again with whatever comes. */
	rig_wait(&rig, 1);
	has(rig_join(&rig, FIRST + 2, &join), "UP JOIN");
	rig_close(&rig);
}

static void agg_up__runs_what_the_parent_agreed_on(void **state)
{
	struct wire_status status = leaf_status(WIRE_RUNNING);
	struct rig rig;
	const char *text;

	(void)state;
	leaf_open_complete(&rig);
	status.p = 128;
	status.slots = 2;
	text = leaf_told(&rig, EPOCH, &status);
	has(text, "STATUS RUNNING epoch 2000 wid 4 inc 104 P 128 S 2 len 160 > w4");
	has(text, "STATUS RUNNING epoch 2000 wid 6 inc 106 P 128 S 2 len 160 > w6");
	assert_int_equal(pipe_job(rig.pipe, 0)->lease_nr, WIRE_SE + 2);
	rig_close(&rig);
}

static void agg_up__does_not_run_what_it_did_not_join(void **state)
{
	static const char *const end = "up_status | UP END job 7 epoch 2000 wid 4 cause 1 a 4";
	struct wire_status status;
	struct rig rig;

	(void)state;
	leaf_open_complete(&rig);
	status = leaf_status(WIRE_RUNNING);
	status.inc = INC + 5;
	assert_string_equal(leaf_told(&rig, EPOCH, &status), end);
	status = leaf_status(WIRE_RUNNING);
	status.slots = RIG_SLOTS + 1;
	assert_string_equal(leaf_told(&rig, EPOCH, &status), end);
	assert_false(pipe_job(rig.pipe, 0)->running);
	/* An epoch that runs before any member has joined it. */
	has(leaf_told_usual(&rig, EPOCH + 1, WIRE_RUNNING),
	    "UP END job 7 epoch 2001 wid 4 cause 1 a 4");
	/* An older one. */
	assert_string_equal(leaf_told_usual(&rig, EPOCH, WIRE_RUNNING), "up_status");
	rig_close(&rig);
}

/* It left after this switch had joined with it: a sum of the others would lack its part. */
static void agg_up__does_not_run_without_a_member(void **state)
{
	struct rig rig;

	(void)state;
	leaf_open_complete(&rig);
	rig_leave(&rig, FIRST + 1);
	has(leaf_told_usual(&rig, EPOCH, WIRE_RUNNING), "UP END job 7 epoch 2000");
	assert_false(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
}

/* Should it be so late that the epoch runs when it comes, it must not be a leaving of that. */
static void agg_up__leaves_no_epoch_that_is_being_formed(void **state)
{
	struct wire_msg msg;
	struct rig rig;

	(void)state;
	leaf_open(&rig);
	leaf_join_usual(&rig, 5);
	leaf_told_usual(&rig, EPOCH, WIRE_FORMING);
	leaf_join_usual(&rig, 5);
	msg = rig_msg(&rig, WIRE_LEAVE, 5, WIRE_PAD);
	msg.epoch = 0;
	has(rig_send_msg(&rig, &msg), "UP LEAVE job 7 epoch 0 wid 4");
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

static void agg_up__partial_and_result(void **state)
{
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	rig_assert_counter(rig_data(&rig, 4, 0, 0), "held");
	rig_assert_counter(rig_data(&rig, 6, 0, 0), "held");
	assert_string_equal(rig_data(&rig, 5, 0, 0),
			    "partial | DATA ADD32 PARTIAL job 7 epoch 2000 slot 32 round 0 wid 4 "
			    "desc 00000007 len 128 > up");
	for (unsigned i = 0; i < LEN / 4; i++)
		assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 4 * i),
				 rig_element(4, 0, i) + rig_element(5, 0, i) +
					 rig_element(6, 0, i));
	/* Lost on the way up: any member's repetition sends the sum again. */
	assert_string_equal(rig_data(&rig, 6, 0, 0),
			    "partial_again | DATA ADD32 PARTIAL job 7 epoch 2000 slot 32 round 0 "
			    "wid 4 desc 00000007 len 128 > up");
	assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 40),
			 rig_element(4, 0, 10) + rig_element(5, 0, 10) + rig_element(6, 0, 10));
	has(leaf_result(&rig, 0, 0, 1000), "up_result | RESULT ADD32 job 1010 epoch 2000 slot 32 "
					   "round 0 desc 00000007 len 128 > w4 w5 w6");
	assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 40), 1030);
	rig_assert_counter(leaf_result(&rig, 0, 0, 1000), "up_stale");
	/* Lost on the way down: the result, not the sum of those here. */
	has(rig_data(&rig, 5, 0, 0), "repeated | RESULT");
	assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 40), 1030);
	rig_close(&rig);
}

static void agg_up__results_of_what_does_not_wait(void **state)
{
	struct wire_msg msg = { .type = WIRE_RESULT, .kind = WIRE_ADD32, .job = PARENT_JOB };
	struct flow stranger = rig_parent();
	uint8_t payload[WIRE_PAD] = { 0 };
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	rig_data(&rig, 4, 0, 0);
	rig_data(&rig, 5, 0, 0);
	rig_assert_counter(leaf_result(&rig, 0, 0, 5), "up_stale");
	rig_data(&rig, 6, 0, 0);
	rig_assert_counter(leaf_result(&rig, 2, 0, 5), "up_stale");
	rig_assert_counter(leaf_result(&rig, 0, WIRE_EMPTY, 5), "up_stale");
	msg.epoch = EPOCH;
	msg.slot = WIRE_SE;
	msg.desc = 7;
	msg.len = WIRE_PAD; /* others than were sent */
	msg.payload = payload;
	rig_assert_counter(rig_send_from(&rig, &stranger, &msg), "up_stale");
	stranger.udp_port++;
	rig_assert_counter(rig_send_from(&rig, &stranger, &msg), "bad_direction");
	stranger = rig_flow(4);
	rig_assert_counter(rig_send_from(&rig, &stranger, &msg), "bad_direction");
	rig_assert_counter(leaf_result(&rig, 0, 0, 5), "up_result");
	rig_close(&rig);
}

static void agg_up__empty_here_but_not_elsewhere(void **state)
{
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	leaf_empty(&rig, 4);
	leaf_empty(&rig, 5);
	has(leaf_empty(&rig, 6), "partial | DATA ADD32 EMPTY PARTIAL job 7");
	has(leaf_empty(&rig, 6), "partial_again | DATA ADD32 EMPTY PARTIAL job 7");
	has(leaf_result(&rig, 0, 0, 77), "len 128 > w4 w5 w6");
	has(leaf_empty(&rig, 4), "repeated | RESULT ADD32 job 1010");
	assert_int_equal(rig.pkt.len, WIRE_HEADER + LEN);
	assert_int_equal(wire_get32(rig.pkt.data + WIRE_HEADER + 8), 83);
	rig_close(&rig);
}

static void agg_up__empty_everywhere(void **state)
{
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	leaf_empty(&rig, 4);
	leaf_empty(&rig, 5);
	leaf_empty(&rig, 6);
	has(leaf_result(&rig, 0, WIRE_EMPTY, 0), "up_result | RESULT ADD32 EMPTY job 1010");
	has(leaf_empty(&rig, 5), "repeated | RESULT ADD32 EMPTY job 1010");
	rig_close(&rig);
}

static void agg_up__mismatch_is_told_until_the_epoch_is_over(void **state)
{
	struct wire_status status = leaf_status(WIRE_FORMING);
	uint8_t payload[64] = { 0, 0, 0, 5 };
	struct wire_msg msg;
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	msg = rig_msg(&rig, WIRE_DATA, 5, 64);
	msg.kind = WIRE_MAX8;
	msg.slot = 0;
	msg.payload = payload;
	rig_send_msg(&rig, &msg);
	payload[3] = 9;
	msg.wid = 6;
	msg.desc++;
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(rig_send_msg(&rig, &msg),
				    "mismatch | UP END job 7 epoch 2000 wid 4 cause 2 a 6 b 5 "
				    "desc 9 5");
		rig_wait(&rig, 1);
	}
	assert_true(pipe_job(rig.pipe, 0)->running);
	status.cause = WIRE_CAUSE_MISMATCH;
	status.wid_a = 6;
	status.wid_b = 5;
	status.ended = EPOCH;
	status.desc_a[3] = 9;
	status.desc_b[3] = 5;
	has(leaf_told(&rig, EPOCH + 3, &status), "STATUS FORMING epoch 2003 wid 5 inc 105 cause 2 "
						 "a 6 b 5 ended 2000 missing 0-2 desc 9 5");
	rig_close(&rig);
}

static void agg_up__end_from_below_goes_up(void **state)
{
	struct wire_status body = { .cause = WIRE_CAUSE_ABORTED };
	struct flow flow = rig_flow(6);
	struct wire_msg msg;
	struct rig rig;
	const char *text;

	(void)state;
	leaf_form(&rig);
	msg = rig_msg(&rig, WIRE_END, 6, 0);
	text = rig_send(&rig, &flow, (uint32_t)wire_status_build(rig.buf, &msg, &body, WIRE_BODY));
	has(text, "end | UP END job 7 epoch 2000 wid 4 cause 3 a 6 | STATUS RUNNING epoch 2000");
	rig_close(&rig);
	leaf_form(&rig);
	body.cause = WIRE_CAUSE_DEVICE;
	text = rig_send(&rig, &flow, (uint32_t)wire_status_build(rig.buf, &msg, &body, WIRE_BODY));
	has(text, "end | UP END job 7 epoch 2000 wid 4 cause 15 a 6 | STATUS RUNNING epoch 2000");
	rig_close(&rig);
}

static void agg_up__a_restarted_member_ends_the_epoch_above(void **state)
{
	struct wire_join join;
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	join = leaf_join(&rig, 5);
	join.inc = 555;
	assert_string_equal(rig_join(&rig, 5, &join),
			    "join | UP END job 7 epoch 2000 wid 4 cause 1 a 5 | STATUS RUNNING "
			    "epoch 2000 wid 5 inc 105 P 256 S 4 len 256 > w5");
	/* A base of another parent's life: this one shall make a later epoch. */
	join.base = EPOCH + 50;
	rig_wait(&rig, 1);
	has(rig_join(&rig, 5, &join), "UP ASK wid 4 ranks 3 inc 900 base 2050");
	rig_close(&rig);
}

static void agg_up__leaving(void **state)
{
	struct wire_status status = leaf_status(WIRE_RUNNING);
	struct wire_msg msg;
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	msg = rig_msg(&rig, WIRE_LEAVE, 4, WIRE_PAD);
	has(rig_send_msg(&rig, &msg),
	    "leave | STATUS RUNNING epoch 2000 wid 4 inc 104 cause 4 a 4");
	/* Who has left is missing: only now does the epoch end. */
	rig_wait(&rig, 1);
	assert_string_equal(rig_data(&rig, 5, 0, 0),
			    "left | UP END job 7 epoch 2000 wid 4 cause 4 a 4");
	msg.wid = 5;
	rig_send_msg(&rig, &msg);
	msg.wid = 6;
	/* Acknowledged to the last one by the parent alone. */
	for (unsigned i = 0; i < 2; i++) {
		rig_wait(&rig, 1);
		assert_string_equal(rig_send_msg(&rig, &msg),
				    "leave | UP LEAVE job 7 epoch 2000 wid 4");
	}
	status.cause = WIRE_CAUSE_LEFT;
	status.wid_a = FIRST;
	has(leaf_told(&rig, EPOCH, &status), "wid 6 cause 4 a 6");
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

static void agg_up__a_later_job_has_another_incarnation(void **state)
{
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	for (unsigned wid = FIRST; wid < FIRST + NR; wid++)
		rig_leave(&rig, wid);
	has(leaf_told_usual(&rig, EPOCH, WIRE_UNKNOWN), "wid 5 cause 4 a 5");
	assert_null(pipe_job(rig.pipe, 0));
	leaf_complete(&rig);
	/* The parent's epoch may still be the old job's: it must not run here again. */
	has(leaf_told_usual(&rig, EPOCH, WIRE_RUNNING), "UP END job 7 epoch 2000");
	assert_false(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
}

/* The members hear of it as from a switch that was restarted, and what they say then begins anew. */
static void agg_up__the_parent_has_forgotten(void **state)
{
	struct wire_join join;
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	assert_string_equal(leaf_told_usual(&rig, EPOCH - 1, WIRE_UNKNOWN), "up_status");
	assert_string_equal(leaf_told_usual(&rig, EPOCH, WIRE_UNKNOWN),
			    "up_status | STATUS UNKNOWN epoch 2000 wid 4 len 32 > w4 | "
			    "STATUS UNKNOWN epoch 2000 wid 5 len 32 > w5 | "
			    "STATUS UNKNOWN epoch 2000 wid 6 len 32 > w6");
	assert_null(pipe_job(rig.pipe, 0));
	assert_string_equal(leaf_told_usual(&rig, EPOCH, WIRE_UNKNOWN), "up_status");
	join = leaf_join(&rig, 5);
	join.base = EPOCH;
	has(rig_join(&rig, 5, &join), "UP ASK wid 4 ranks 3 ");
	/* Another life: it must not run what ran here before. */
	assert_true(pipe_job(rig.pipe, 0)->up.inc != INC);
	rig_close(&rig);
}

/* Nothing runs yet: whoever is here goes on as soon as the parent has the job again. */
static void agg_up__the_parent_has_forgotten_what_it_forms(void **state)
{
	struct rig rig;

	(void)state;
	leaf_open_complete(&rig);
	assert_string_equal(leaf_told_usual(&rig, EPOCH, WIRE_UNKNOWN),
			    "up_status | UP ASK wid 4 ranks 3 inc 900 base 1999 P 256 S 4 world 16");
	has(leaf_told_usual(&rig, EPOCH + 9, WIRE_FORMING),
	    "STATUS FORMING epoch 2009 wid 6 inc 106");
	rig_close(&rig);
}

/*
 * A late JOIN makes the job anew: no member of what the parent runs, which it must not hide.  Should all ranks have left,
 * the parent does not hear such an END.
 */
static void agg_up__a_late_join_hides_nothing_and_ends_nothing(void **state)
{
	struct wire_status status = leaf_status(WIRE_RUNNING);
	struct wire_join join;
	struct rig rig;

	(void)state;
	leaf_open(&rig);
	leaf_join_usual(&rig, 5);
	status.inc = INC + 77;
	has(leaf_told(&rig, EPOCH, &status), "UP END job 7 epoch 2000 wid 4 UNKNOWN cause 1 a 4");
	has_not(leaf_told(&rig, EPOCH, &status), "UP END");
	/* Who knows the epoch and wants another does end it. */
	join = leaf_join(&rig, 5);
	join.base = EPOCH;
	rig_wait(&rig, 2);
	has(rig_join(&rig, 5, &join), "UP END job 7 epoch 2000 wid 4 cause 1 a 5");
	rig_close(&rig);
}

/* The job has other ranks here now than those that the parent knows it with. */
static void agg_up__the_parent_runs_it_with_other_ranks(void **state)
{
	struct wire_join join;
	struct rig rig;

	(void)state;
	leaf_open(&rig);
	join = leaf_join(&rig, 5);
	join.ranges[0] = (struct wire_range){ FIRST + 1, NR };
	rig_join(&rig, 5, &join);
	assert_string_equal(leaf_told_usual(&rig, EPOCH, WIRE_RUNNING),
			    "up_status | UP END job 7 epoch 2000 wid 4 UNKNOWN cause 1 a 4");
	rig_close(&rig);
}

/* Two switches, each the other's parent: neither has ranks that the other adds up. */
static void agg_up__its_parent_is_not_its_member(void **state)
{
	struct flow flow = rig_parent();
	struct wire_join join;
	struct rig rig;
	uint32_t len;

	(void)state;
	leaf_open(&rig);
	join = leaf_join(&rig, 5);
	join.ranks = 1;
	join.port = flow.udp_port;
	len = (uint32_t)wire_join_build(rig.buf, 5, &join);
	has(rig_send(&rig, &flow, len), "REFUSED epoch 0 wid 5 cause 8 b 5 field 6: 327681 327681");
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

/* An earlier life of this switch ran it, and whoever was to end it may have left since. */
static void agg_up__the_parent_runs_what_is_not_here(void **state)
{
	struct wire_status status = leaf_status(WIRE_RUNNING);
	struct rig rig;

	(void)state;
	leaf_open(&rig);
	assert_string_equal(leaf_told(&rig, EPOCH, &status),
			    "up_status | UP END job 7 epoch 2000 wid 4 UNKNOWN cause 1 a 4");
	assert_string_equal(leaf_told(&rig, EPOCH, &status), "up_status");
	rig_wait(&rig, AGG_DISOWN_MS);
	has(leaf_told(&rig, EPOCH, &status), "UP END job 7");
	rig_wait(&rig, AGG_DISOWN_MS);
	status.state = WIRE_FORMING;
	assert_string_equal(leaf_told(&rig, EPOCH, &status), "up_status");
	rig_close(&rig);
}

/* The parent's refusal also says that the epoch is over; one without an epoch is from a parent without the job. */
static void agg_up__a_refusal_by_a_parent_that_was_restarted(void **state)
{
	struct wire_status status = leaf_status(WIRE_REFUSED);
	const char *said;
	struct rig rig;

	(void)state;
	status.cause = WIRE_CAUSE_NO_SLOTS;
	status.field = WIRE_FIELD_SLOTS;
	leaf_form(&rig);
	assert_string_equal(leaf_told(&rig, 0, &status), "up_status");
	said = leaf_told(&rig, EPOCH + 9, &status);
	has(said, "STATUS FORMING epoch 2009 wid 5");
	assert_false(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
	leaf_open_complete(&rig);
	said = leaf_told(&rig, 0, &status);
	has(said, "STATUS REFUSED epoch 2000 wid 4");
	has(said, "STATUS REFUSED epoch 2000 wid 6");
	rig_close(&rig);
}

static void agg_up__a_member_is_gone(void **state)
{
	struct flow flow = rig_flow(5);
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_status body;
	struct wire_msg msg;
	struct rig rig;
	size_t len;

	(void)state;
	leaf_form(&rig);
	assert_int_equal(pipe_gone(rig.pipe, &flow, &rig.now), COUNTER_gone);
	rig.nr_sent++;
	len = pipe_output(rig.pipe, &flow, buf);
	assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
	assert_int_equal(msg.type, WIRE_END);
	assert_int_equal(wire_status_parse(&body, &msg), WIRE_OK);
	assert_int_equal(body.cause, WIRE_CAUSE_GONE);
	assert_int_equal(body.wid_a, 5);
	/* Lost: nobody repeats what the network said, so the leaf does. */
	rig_data(&rig, 4, 0, 0);
	rig_wait(&rig, 1);
	has(rig_data(&rig, 4, 0, 0), "duplicate | UP END job 7 epoch 2000 wid 4 cause 12 a 5");
	rig_close(&rig);
}

static void agg_up__a_refusal_reaches_all_members(void **state)
{
	struct wire_status status = leaf_status(WIRE_REFUSED);
	struct rig rig;
	const char *text;

	(void)state;
	leaf_open_complete(&rig);
	status.cause = WIRE_CAUSE_PARAMETERS;
	status.field = WIRE_FIELD_CHUNK;
	status.wid_a = 9;
	status.wid_b = 4;
	status.value_a = 512;
	status.value_b = 256;
	text = leaf_told(&rig, EPOCH, &status);
	has(text, "STATUS REFUSED epoch 2000 wid 4 inc 104 cause 8 a 9 b 4 field 2: 512 256");
	has(text, "STATUS REFUSED epoch 2000 wid 6 inc 106 cause 8 a 9 b 4 field 2: 512 256");
	rig_close(&rig);
}

/* Others disagree with these, which only have to know; it is not why an epoch ended. */
static void agg_up__a_disagreement_elsewhere_reaches_all_members(void **state)
{
	struct wire_status status = leaf_status(WIRE_FORMING);
	struct rig rig;

	(void)state;
	leaf_open_complete(&rig);
	status.cause = WIRE_CAUSE_PARAMETERS;
	status.field = WIRE_FIELD_WORLD;
	status.wid_a = 4;
	status.wid_b = 9;
	status.value_a = WORLD;
	status.value_b = 17;
	has(leaf_told(&rig, EPOCH, &status),
	    "STATUS FORMING epoch 2000 wid 6 inc 106 cause 8 a 4 b 9 field 1: 16 17");
	has_not(leaf_told(&rig, EPOCH + 1, &status), "cause 8 a 4 b 9 missing");
	assert_int_equal(pipe_job(rig.pipe, 0)->last.cause, WIRE_CAUSE_NONE);
	rig_close(&rig);
}

/* The parent asks for a sign of life: whoever is silent here is asked in turn. */
static void agg_up__asks_silent_members_when_asked(void **state)
{
	struct rig rig;
	const char *text;

	(void)state;
	leaf_form(&rig);
	rig_wait(&rig, 300);
	rig_data(&rig, 5, 0, 0);
	text = leaf_told_usual(&rig, EPOCH, WIRE_RUNNING);
	has(text, "STATUS RUNNING epoch 2000 wid 4 inc 104");
	has(text, "STATUS RUNNING epoch 2000 wid 6 inc 106");
	has_not(text, "wid 5");
	has_not(leaf_told_usual(&rig, EPOCH, WIRE_RUNNING), "STATUS");
	rig_close(&rig);
}

static void agg_up__says_who_is_awaited_elsewhere(void **state)
{
	struct wire_status status = leaf_status(WIRE_RUNNING);
	const struct wire_range there = { 7, 2 };
	struct wire_msg msg, reply = {
		.type = WIRE_STATUS,
		.job = PARENT_JOB,
		.epoch = EPOCH,
		.slot = WIRE_SE,
		.round = 3,
		.wid = FIRST,
	};
	const struct flow parent = rig_parent();
	struct rig rig;

	(void)state;
	leaf_form(&rig);
	for (uint32_t round = 0; round <= 3; round++) {
		for (unsigned wid = FIRST; wid < FIRST + NR; wid++)
			rig_data(&rig, wid, 0, round);
		if (round < 3)
			leaf_result(&rig, round, 0, round);
	}
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 5, WIRE_BODY);
	msg.slot = WIRE_SE;
	msg.round = 3;
	rig_wait(&rig, 10);
	has(rig_send_msg(&rig, &msg), "UP KEEPALIVE job 7 epoch 2000 wid 4 slot 32 round 3");
	status.field = WIRE_FIELD_RANGES;
	status.value_a = wire_range_value(there);
	rig_send(&rig, &parent, (uint32_t)wire_status_build(rig.buf, &reply, &status, WIRE_BODY));
	has(rig_send_msg(&rig, &msg), "field 6: 458754 0");
	/* Of this slot and round alone. */
	msg.round = 4;
	has_not(rig_send_msg(&rig, &msg), "field");
	rig_close(&rig);
}

static void agg_up__members_mean_the_same_tree(void **state)
{
	struct wire_join join;
	struct rig rig;

	(void)state;
	leaf_open_complete(&rig);
	join = leaf_join(&rig, 5);
	join.nr_ranges = 2;
	join.ranges[1] = (struct wire_range){ 0, 8 };
	has(rig_join(&rig, 5, &join), "STATUS REFUSED epoch 2000 wid 5 inc 105 cause 8 a 4 b 5 "
				      "field 6: 0 8");
	join.ranges[0] = (struct wire_range){ 4, 2 };
	rig_wait(&rig, 1);
	has(rig_join(&rig, 5, &join), "field 6: 262147 262146");
	/* Not of this switch at all. */
	join = leaf_join(&rig, 5);
	rig_wait(&rig, 1);
	has(rig_join(&rig, 9, &join), "REFUSED");
	rig_close(&rig);
}

/* Epochs are the parent's, and so is the clock they come from. */
static void agg_up__the_parents_clock_is_ahead(void **state)
{
	const uint64_t epoch = RIG_NOW_MS + 10 * AGG_AHEAD_MS;
	struct wire_join join;
	struct rig rig;

	(void)state;
	leaf_open(&rig);
	leaf_join_usual(&rig, FIRST);
	leaf_told_usual(&rig, epoch, WIRE_FORMING);
	for (unsigned wid = FIRST; wid < FIRST + NR; wid++) {
		join = leaf_join(&rig, wid);
		assert_int_equal(join.base, epoch - 1);
		rig_wait(&rig, 2);
		rig_join(&rig, wid, &join);
	}
	has(rig.text, "UP JOIN wid 4 ranks 3 inc 900 base 51009");
	rig_close(&rig);
}

/* The parent may run the epoch by now, and the rank has not left it: LEAVE names no epoch. */
static void agg_up__the_last_that_waits_is_gone(void **state)
{
	struct rig rig;
	const struct flow flow = rig_flow(FIRST);
	struct wire_msg msg;
	uint8_t buf[WIRE_MSG_MAX];
	struct flow to;

	(void)state;
	leaf_open(&rig);
	leaf_join_usual(&rig, FIRST);
	leaf_told_usual(&rig, EPOCH, WIRE_FORMING);
	leaf_join_usual(&rig, FIRST);
	rig_wait(&rig, 2);
	assert_int_equal(pipe_gone(rig.pipe, &flow, &rig.now), COUNTER_gone);
	rig.nr_sent++;
	assert_null(pipe_job(rig.pipe, 0));
	assert_int_equal(wire_parse(&msg, buf, pipe_output(rig.pipe, &to, buf)), WIRE_OK);
	assert_int_equal(msg.type, WIRE_LEAVE);
	assert_true(msg.job == PARENT_JOB && msg.epoch == 0 && msg.wid == FIRST);
	assert_int_equal(pipe_output(rig.pipe, &to, buf), 0);
	rig_wait(&rig, 1000);
	has(leaf_told_usual(&rig, EPOCH, WIRE_RUNNING),
	    "UP END job 7 epoch 2000 wid 4 UNKNOWN cause 1 a 4");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_up__asks_until_all_members_are_here),
		cmocka_unit_test(agg_up__joins_with_the_least_of_its_members),
		cmocka_unit_test(agg_up__runs_what_the_parent_agreed_on),
		cmocka_unit_test(agg_up__does_not_run_what_it_did_not_join),
		cmocka_unit_test(agg_up__does_not_run_without_a_member),
		cmocka_unit_test(agg_up__leaves_no_epoch_that_is_being_formed),
		cmocka_unit_test(agg_up__partial_and_result),
		cmocka_unit_test(agg_up__results_of_what_does_not_wait),
		cmocka_unit_test(agg_up__empty_here_but_not_elsewhere),
		cmocka_unit_test(agg_up__empty_everywhere),
		cmocka_unit_test(agg_up__mismatch_is_told_until_the_epoch_is_over),
		cmocka_unit_test(agg_up__end_from_below_goes_up),
		cmocka_unit_test(agg_up__a_restarted_member_ends_the_epoch_above),
		cmocka_unit_test(agg_up__leaving),
		cmocka_unit_test(agg_up__a_later_job_has_another_incarnation),
		cmocka_unit_test(agg_up__the_parent_has_forgotten),
		cmocka_unit_test(agg_up__the_parent_has_forgotten_what_it_forms),
		cmocka_unit_test(agg_up__a_late_join_hides_nothing_and_ends_nothing),
		cmocka_unit_test(agg_up__the_parent_runs_it_with_other_ranks),
		cmocka_unit_test(agg_up__its_parent_is_not_its_member),
		cmocka_unit_test(agg_up__the_parent_runs_what_is_not_here),
		cmocka_unit_test(agg_up__a_refusal_by_a_parent_that_was_restarted),
		cmocka_unit_test(agg_up__the_parents_clock_is_ahead),
		cmocka_unit_test(agg_up__a_member_is_gone),
		cmocka_unit_test(agg_up__the_last_that_waits_is_gone),
		cmocka_unit_test(agg_up__a_refusal_reaches_all_members),
		cmocka_unit_test(agg_up__a_disagreement_elsewhere_reaches_all_members),
		cmocka_unit_test(agg_up__asks_silent_members_when_asked),
		cmocka_unit_test(agg_up__says_who_is_awaited_elsewhere),
		cmocka_unit_test(agg_up__members_mean_the_same_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
