// SPDX-License-Identifier: BSD-3-Clause
// KEEPALIVE, LEAVE, END, port-unreachables: new, repeated, late, from strangers, malformed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

static const char *say(struct rig *rig, enum wire_type type, unsigned wid)
{
	struct wire_msg msg = rig_msg(rig, type, wid, type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY);

	return rig_send_msg(rig, &msg);
}

/* An END with this cause and ranks; the descriptors begin with 1 and 2. */
static const char *say_end(struct rig *rig, unsigned wid, unsigned cause, uint16_t wid_b)
{
	uint8_t body[WIRE_BODY] = { 0 };
	struct wire_msg msg = rig_msg(rig, WIRE_END, wid, WIRE_BODY);

	body[WIRE_STATUS_CAUSE] = (uint8_t)cause;
	wire_put16(body + WIRE_STATUS_WID_A, 9);
	wire_put16(body + WIRE_STATUS_WID_B, wid_b);
	body[WIRE_STATUS_DESC_A + 3] = 1;
	body[WIRE_STATUS_DESC_B + 3] = 2;
	msg.payload = body;
	return rig_send_msg(rig, &msg);
}

static void agg_keepalive__names_who_is_awaited(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 3);
	rig_data(&rig, 1, 2, 0);
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 1, WIRE_BODY);
	msg.slot = WIRE_SE + 2;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "keepalive | STATUS RUNNING epoch 1010 slot 34 round 0 wid 1 inc 101 P "
			    "256 S 4 missing 0, 2 len 160 > w1");
	msg.round = 4;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "keepalive | STATUS RUNNING epoch 1010 slot 34 round 4 wid 1 inc 101 P "
			    "256 S 4 missing 0-2 len 160 > w1");
	msg.slot = WIRE_SE + RIG_SLOTS;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "keepalive | STATUS RUNNING epoch 1010 slot 36 round 4 wid 1 inc 101 P "
			    "256 S 4 len 160 > w1");
	/* Silent is who was not heard for more than a second: the asker just was.  The silent are
	 * sent the answer, too. */
	rig_wait(&rig, 1001);
	msg.round = 0;
	msg.slot = WIRE_SE + 2;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "keepalive | STATUS RUNNING epoch 1010 slot 34 round 0 wid 0 inc 100 P "
			    "256 S 4 missing 0, 2 silent 0, 2 len 160 > w0 | "
			    "STATUS RUNNING epoch 1010 slot 34 round 0 wid 2 inc 102 P "
			    "256 S 4 missing 0, 2 silent 0, 2 len 160 > w2 | "
			    "STATUS RUNNING epoch 1010 slot 34 round 0 wid 1 inc 101 P "
			    "256 S 4 missing 0, 2 silent 0, 2 len 160 > w1");
	assert_int_equal(rig_count(&rig, COUNTER_keepalive), 4);
	rig_close(&rig);
}

static void agg_keepalive__probes_the_path(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 3, WIRE_BODY);
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "keepalive | STATUS UNKNOWN epoch 0 wid 3 len 160 > w3");
	msg.job = 5;
	msg.epoch = 6;
	rig_wait(&rig, 1);
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "unknown_job | STATUS UNKNOWN epoch 6 wid 3 len 160 > w3");
	rig_close(&rig);
}

static void agg_keepalive__of_another_epoch_or_rank(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow stranger = rig_flow(6);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 1, WIRE_BODY);
	msg.epoch = 1000;
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"keepalive | STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len 160 > w1");
	assert_string_equal(rig_send_from(&rig, &stranger, &msg),
			    "unknown_job | STATUS UNKNOWN epoch 1000 wid 1 len 160 > w6");
	msg.epoch = 1010;
	rig_wait(&rig, 1);
	assert_non_null(strstr(rig_send_from(&rig, &stranger, &msg),
			       "keepalive | STATUS RUNNING epoch 1010 wid 1"));
	assert_string_equal(rig_send_from(&rig, &stranger, &msg), "keepalive");
	msg.wid = 2;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_wid");
	msg.len = WIRE_BODY - 32;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_length");
	rig_close(&rig);
}

static void agg_leave__epoch_goes_on_until_all_have_left(void **state)
{
	struct rig rig;
	struct wire_msg again;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	again = rig_msg(&rig, WIRE_LEAVE, 0, WIRE_PAD);
	assert_string_equal(
		say(&rig, WIRE_LEAVE, 0),
		"leave | STATUS RUNNING epoch 1010 wid 0 inc 100 cause 4 a 0 P 256 S 4 len 32 > w0");
	assert_string_equal(
		say(&rig, WIRE_LEAVE, 0),
		"leave | STATUS RUNNING epoch 1010 wid 0 inc 100 cause 4 a 0 P 256 S 4 len 32 > w0");
	assert_true(pipe_job(rig.pipe, 0)->running);
	assert_string_equal(say(&rig, WIRE_LEAVE, 1),
			    "leave | STATUS UNKNOWN epoch 1010 wid 1 len 32 > w1");
	assert_null(pipe_job(rig.pipe, 0));
	/* Its answer may have been lost. */
	rig_wait(&rig, 1);
	assert_string_equal(rig_send_msg(&rig, &again),
			    "unknown_job | STATUS UNKNOWN epoch 1010 wid 0 len 32 > w0");
	assert_int_equal(rig_count(&rig, COUNTER_leave), 3);
	rig_close(&rig);
}

static void agg_leave__while_forming(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned wid = 0; wid < 3; wid++) {
		join = rig_join_of(&rig, wid ? wid - 1 : 0, 3);
		rig_join(&rig, wid ? wid - 1 : 0, &join);
	}
	assert_string_equal(
		say(&rig, WIRE_LEAVE, 0),
		"leave | STATUS FORMING epoch 1010 wid 0 inc 100 cause 4 a 0 len 32 > w0");
	assert_int_equal(pipe_job(rig.pipe, 0)->joined, 2);
	/* Of an epoch that is over: only an answer. */
	msg = rig_msg(&rig, WIRE_LEAVE, 1, WIRE_PAD);
	msg.epoch = 1005;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "leave | STATUS FORMING epoch 1010 wid 1 inc 101 len 32 > w1");
	assert_int_equal(pipe_job(rig.pipe, 0)->joined, 2);
	/* Of no epoch. */
	msg.epoch = 0;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "leave | STATUS UNKNOWN epoch 0 wid 1 len 32 > w1");
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

static void agg_leave__of_another_epoch_or_rank(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow stranger = rig_flow(6);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_LEAVE, 1, WIRE_PAD);
	assert_string_equal(rig_send_from(&rig, &stranger, &msg), "spoofed");
	msg.epoch = 1000;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "leave | STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len 32 > w1");
	assert_string_equal(rig_send_from(&rig, &stranger, &msg),
			    "unknown_job | STATUS UNKNOWN epoch 1000 wid 1 len 32 > w6");
	msg.wid = 2;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "bad_wid | STATUS UNKNOWN epoch 1000 wid 2 len 32 > w2");
	assert_int_equal(pipe_job(rig.pipe, 0)->left, 0);
	msg.len = 2 * WIRE_PAD;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_length");
	rig_close(&rig);
}

static void agg_end__abort(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_string_equal(
		say_end(&rig, 1, WIRE_CAUSE_ABORTED, 0),
		"end | STATUS FORMING epoch 1011 wid 0 inc 100 cause 3 a 1 ended 1010 missing 0-1 "
		"len 160 > w0 | STATUS FORMING epoch 1011 wid 1 inc 101 cause 3 a 1 ended 1010 "
		"missing 0-1 len 160 > w1");
	assert_int_equal(rig_count(&rig, COUNTER_end), 1);
	rig_close(&rig);
}

static void agg_end__repeated_or_late_ends_nothing_more(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	rig_send_msg(&rig, &msg);
	rig_wait(&rig, 1);
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "end | STATUS FORMING epoch 1011 wid 1 inc 101 cause 3 a 1 ended 1010 "
			    "missing 0-1 len 160 > w1");
	/* Of the forming one: nothing to end. */
	assert_string_equal(say(&rig, WIRE_END, 1),
			    "end | STATUS FORMING epoch 1011 wid 1 inc 101 cause 3 a 1 ended 1010 "
			    "missing 0-1 len 160 > w1");
	assert_int_equal(rig_count(&rig, COUNTER_end), 3);
	rig_close(&rig);
}

static void agg_end__causes_a_rank_can_judge(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_non_null(
		strstr(say_end(&rig, 0, WIRE_CAUSE_MISMATCH, 1),
		       "wid 1 inc 101 cause 2 a 0 b 1 ended 1010 missing 0-1 desc 1 2 len"));
	rig_close(&rig);
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_non_null(strstr(say_end(&rig, 0, WIRE_CAUSE_MISMATCH, 2), "cause 2 a 0 ended"));
	rig_close(&rig);
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_non_null(strstr(say_end(&rig, 0, WIRE_CAUSE_RESET, 1),
			       "cause 3 a 0 ended 1010 missing 0-1 len"));
	rig_close(&rig);
}

static void agg_end__only_by_a_rank_and_in_time(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow stranger = rig_flow(6);
	uint8_t body[WIRE_BODY] = { [WIRE_STATUS_STATE] = 99 };

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	assert_string_equal(rig_send_from(&rig, &stranger, &msg), "spoofed");
	msg.wid = 2;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_wid");
	msg.wid = 1;
	msg.job = 5;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "unknown_job | STATUS UNKNOWN epoch 1010 wid 1 len 160 > w1");
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	msg.payload = body;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_field");
	rig.now.wall_ms = 1010;
	assert_string_equal(say(&rig, WIRE_END, 1), "too_early");
	rig.now.now_ns = 6 * UINT64_C(1000000);
	assert_string_equal(say(&rig, WIRE_END, 1), "too_early");
	assert_true(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
}

static void end_with(uint8_t cause, const char *told)
{
	uint8_t body[WIRE_BODY] = { [WIRE_STATUS_CAUSE] = cause };
	struct rig rig;
	struct wire_msg msg;

	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_wait(&rig, 2);
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	msg.payload = body;
	assert_non_null(strstr(rig_send_msg(&rig, &msg), told));
	rig_close(&rig);
}

/* A rank found it out by the CLOSE chunk: the others are to know. */
static void agg_end__a_sum_was_corrupted(void **state)
{
	(void)state;
	end_with(WIRE_CAUSE_CORRUPTED, "wid 0 inc 100 cause 13 a 1");
}

static void agg_end__a_gpu_failed(void **state)
{
	(void)state;
	end_with(WIRE_CAUSE_DEVICE, "wid 0 inc 100 cause 15 a 1");
}

/* A switch below that has forgotten the job because all its ranks left. */
static void agg_end__by_who_has_left_and_knows_no_job(void **state)
{
	uint8_t body[WIRE_BODY] = { [WIRE_STATUS_STATE] = WIRE_UNKNOWN };
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_LEAVE, 1, WIRE_PAD);
	rig_send_msg(&rig, &msg);
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	msg.payload = body;
	rig_wait(&rig, 2);
	assert_string_equal(rig_send_msg(&rig, &msg), "end");
	assert_true(pipe_job(rig.pipe, 0)->running);
	msg.wid = 0;
	assert_non_null(strstr(rig_send_msg(&rig, &msg), "STATUS FORMING"));
	rig_close(&rig);
}

static void agg_end__of_another_epoch_changes_nothing(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	msg.epoch = 1030;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "end | STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len 160 > w1");
	rig_wait(&rig, 1);
	assert_non_null(strstr(say(&rig, WIRE_END, 1), "STATUS FORMING epoch 10"));
	rig_close(&rig);
}

static void agg_version__another_protocol_is_named_to_joiners(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct flow flow = rig_flow(1);
	uint32_t len;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 1, 2);
	len = (uint32_t)wire_join_build(rig.buf, 1, &join);
	rig.buf[0] = 2 << 4 | WIRE_JOIN;
	assert_string_equal(rig_send(&rig, &flow, len),
			    "bad_version | STATUS REFUSED epoch 0 wid 1 cause 11 b 1 len 256 > w1");
	rig_wait(&rig, 1);
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 40),
			    "bad_version | STATUS REFUSED epoch 0 wid 1 cause 11 b 1 len 32 > w1");
	rig_wait(&rig, 1);
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 31), "bad_version");
	rig.buf[0] = 2 << 4 | WIRE_DATA;
	rig_wait(&rig, 1);
	assert_string_equal(rig_send(&rig, &flow, len), "bad_version");
	rig_close(&rig);
}

static enum counter gone(struct rig *rig, uint32_t ip, uint16_t udp_port)
{
	const struct flow flow = { .ip = ip, .udp_port = udp_port };
	enum counter counter = pipe_gone(rig->pipe, &flow, &rig->now);

	rig->nr_sent++;
	return counter;
}

static void agg_gone__ends_the_epoch(void **state)
{
	struct rig rig;
	struct flow flow = rig_flow(1);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_int_equal(gone(&rig, flow.ip, flow.udp_port + RIG_PORTS), COUNTER_not_mine);
	assert_int_equal(gone(&rig, flow.ip + 1, flow.udp_port), COUNTER_not_mine);
	assert_true(pipe_job(rig.pipe, 0)->running);
	assert_int_equal(gone(&rig, flow.ip, flow.udp_port + RIG_PORTS - 1), COUNTER_gone);
	assert_non_null(strstr(say(&rig, WIRE_KEEPALIVE, 0),
			       "STATUS FORMING epoch 1011 wid 0 inc 100 cause 12 a 1 ended 1010"));
	assert_int_equal(rig_count(&rig, COUNTER_gone), 1);
	rig_close(&rig);
}

/* Whoever is at another port, or has another MAC, cannot speak for the rank. */
static void agg_gone__strict_ports_include_port_and_mac(void **state)
{
	struct pipe_params params = rig_params();
	struct flow flow = rig_flow(1), other = flow;
	struct rig rig;

	(void)state;
	params.strict_ports = true;
	rig_open(&rig, &params);
	rig_form(&rig, 2);
	rig.nr_sent += 3;
	other.port++;
	assert_int_equal(pipe_gone(rig.pipe, &other, &rig.now), COUNTER_spoofed);
	other = flow;
	other.mac[5]++;
	assert_int_equal(pipe_gone(rig.pipe, &other, &rig.now), COUNTER_spoofed);
	assert_true(pipe_job(rig.pipe, 0)->running);
	assert_int_equal(pipe_gone(rig.pipe, &flow, &rig.now), COUNTER_gone);
	assert_false(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
}

static void agg_gone__is_remembered_if_it_comes_too_early(void **state)
{
	struct rig rig;
	struct flow flow = rig_flow(1);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig.now.wall_ms = 1010;
	assert_int_equal(gone(&rig, flow.ip, flow.udp_port), COUNTER_too_early);
	assert_string_equal(rig_data(&rig, 0, 0, 0), "held");
	rig_wait(&rig, 1);
	assert_string_equal(
		rig_data(&rig, 0, 0, 0),
		"duplicate | STATUS FORMING epoch 1011 wid 0 inc 100 cause 12 a 1 ended 1010 missing "
		"0-1 len 160 > w0 | STATUS FORMING epoch 1011 wid 1 inc 101 cause 12 a 1 ended 1010 "
		"missing 0-1 len 160 > w1");
	rig_close(&rig);
}

static void agg_gone__of_a_rank_that_left_or_that_waits(void **state)
{
	struct rig rig;
	struct flow flow = rig_flow(1);
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	say(&rig, WIRE_LEAVE, 1);
	assert_int_equal(gone(&rig, flow.ip, flow.udp_port), COUNTER_not_mine);
	assert_true(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
	rig_open(&rig, NULL);
	for (unsigned i = 0; i < 2; i++) {
		join = rig_join_of(&rig, 1, 2);
		rig_join(&rig, 1, &join);
	}
	assert_int_equal(pipe_job(rig.pipe, 0)->joined, 2);
	join = rig_join_of(&rig, 0, 2);
	join.base = 0;
	rig_join(&rig, 0, &join);
	assert_int_equal(gone(&rig, flow.ip, flow.udp_port), COUNTER_gone);
	/* Nobody has joined, so there is no job. */
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_keepalive__names_who_is_awaited),
		cmocka_unit_test(agg_keepalive__probes_the_path),
		cmocka_unit_test(agg_keepalive__of_another_epoch_or_rank),
		cmocka_unit_test(agg_leave__epoch_goes_on_until_all_have_left),
		cmocka_unit_test(agg_leave__while_forming),
		cmocka_unit_test(agg_leave__of_another_epoch_or_rank),
		cmocka_unit_test(agg_end__abort),
		cmocka_unit_test(agg_end__repeated_or_late_ends_nothing_more),
		cmocka_unit_test(agg_end__causes_a_rank_can_judge),
		cmocka_unit_test(agg_end__only_by_a_rank_and_in_time),
		cmocka_unit_test(agg_end__a_sum_was_corrupted),
		cmocka_unit_test(agg_end__a_gpu_failed),
		cmocka_unit_test(agg_end__by_who_has_left_and_knows_no_job),
		cmocka_unit_test(agg_end__of_another_epoch_changes_nothing),
		cmocka_unit_test(agg_version__another_protocol_is_named_to_joiners),
		cmocka_unit_test(agg_gone__ends_the_epoch),
		cmocka_unit_test(agg_gone__strict_ports_include_port_and_mac),
		cmocka_unit_test(agg_gone__is_remembered_if_it_comes_too_early),
		cmocka_unit_test(agg_gone__of_a_rank_that_left_or_that_waits),
	};

	return cmocka_run_group_tests_name("agg_talk", tests, NULL, NULL);
}
