// SPDX-License-Identifier: BSD-3-Clause
// What the handlers share: epochs that are never reused, answers, and which job makes room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/agg.h"
#include "tests/unit/pipe_rig.h"

static void agg_wire_error__each_has_its_counter(void **state)
{
	static const enum counter want[] = {
		[WIRE_TRUNCATED] = COUNTER_truncated, [WIRE_BAD_VERSION] = COUNTER_bad_version,
		[WIRE_BAD_TYPE] = COUNTER_bad_type,   [WIRE_BAD_KIND] = COUNTER_bad_kind,
		[WIRE_BAD_FLAG] = COUNTER_bad_flag,   [WIRE_BAD_LENGTH] = COUNTER_bad_length,
		[WIRE_BAD_FIELD] = COUNTER_bad_field, [WIRE_BAD_CRC] = COUNTER_bad_crc,
	};

	(void)state;
	for (unsigned error = WIRE_TRUNCATED; error <= WIRE_BAD_FIELD; error++)
		assert_int_equal(agg_wire_error(error), want[error]);
}

static void agg_take_epoch__follows_the_clock_and_never_repeats(void **state)
{
	struct agg agg = { .last_epoch = 0 };
	struct pipe_time now = { .wall_ms = 5000 };
	uint64_t epoch = 77;

	(void)state;
	assert_true(agg_take_epoch(&agg, &now, 0, &epoch));
	assert_int_equal(epoch, 5000);
	assert_false(agg_take_epoch(&agg, &now, 0, &epoch));
	now.wall_ms = 4000; /* set back */
	assert_false(agg_take_epoch(&agg, &now, 0, &epoch));
	now.wall_ms = 5003;
	assert_true(agg_take_epoch(&agg, &now, 0, &epoch));
	assert_int_equal(epoch, 5003);
	now.wall_ms = WIRE_EPOCH_MAX + 1;
	assert_false(agg_take_epoch(&agg, &now, 0, &epoch));
	assert_int_equal(epoch, 5003);
}

/* What a rank knows of an epoch holds up its own job alone. */
static void agg_take_epoch__above_what_a_rank_knows(void **state)
{
	struct agg agg = { .last_epoch = 100 };
	struct pipe_time now = { .wall_ms = 1000 };
	uint64_t epoch = 77;

	(void)state;
	assert_false(agg_take_epoch(&agg, &now, 1000, &epoch));
	assert_true(agg_take_epoch(&agg, &now, 999, &epoch));
	assert_int_equal(epoch, 1000);
}

/* A stranger with another job's name, and a base that the clock has yet to reach. */
static void agg_join__a_base_ahead_delays_nobody_else(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_wait(&rig, 100);
	join = rig_join_of(&rig, 0, 2);
	memcpy(join.name, "other", 6);
	join.base = rig.now.wall_ms + AGG_AHEAD_MS - 1;
	assert_string_equal(rig_join(&rig, 0, &join), "too_early");
	join.base++;
	assert_string_equal(rig_join(&rig, 0, &join), "bad_field");
	rig_form(&rig, 2);
	assert_true(pipe_job(rig.pipe, 0)->running);
	rig_close(&rig);
}

/* Situation: the switch is killed and restarted during an operation. */
static void agg__restarted_switch_knows_no_old_handle(void **state)
{
	struct rig old, new;
	struct wire_msg data;
	struct wire_join join;

	(void)state;
	rig_open(&old, NULL);
	rig_form(&old, 2);
	data = rig_msg(&old, WIRE_DATA, 1, 128);
	rig_open(&new, NULL);
	rig_wait(&new, 100);
	assert_string_equal(
		rig_send_msg(&new, &data),
		"unknown_job | STATUS UNKNOWN epoch 1010 slot 32 round 0 wid 1 len 96 > w1");
	/* The rank asks to replace the epoch it is in: the next one is above it. */
	join = rig_join_of(&old, 1, 2);
	assert_int_equal(join.base, 1010);
	rig_wait(&new, 1);
	assert_string_equal(rig_join(&new, 1, &join),
			    "join | STATUS FORMING epoch 1111 wid 1 missing 0-1 len 256 > w1");
	/* The same with a clock that was set back. */
	join.base = 1115;
	assert_string_equal(rig_join(&new, 1, &join), "too_early");
	rig_wait(&new, 5);
	assert_non_null(strstr(rig_join(&new, 1, &join), "STATUS FORMING epoch 1116 wid 1"));
	rig_close(&new);
	rig_close(&old);
}

/*
 * A later job under the handle of an earlier one tells the earlier one's ranks that theirs is
 * unknown.
 */
static void agg__handle_given_to_another_job(void **state)
{
	struct rig rig;
	struct wire_msg data, leave;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 1);
	data = rig_msg(&rig, WIRE_DATA, 0, 128);
	leave = rig_msg(&rig, WIRE_LEAVE, 0, WIRE_PAD);
	rig_send_msg(&rig, &leave);
	rig_wait(&rig, 65536 - 1);
	join = rig_join_of(&rig, 2, 3);
	snprintf(join.name, sizeof(join.name), "other");
	rig_join(&rig, 2, &join);
	assert_int_equal(pipe_job(rig.pipe, 0)->handle, data.job);
	assert_string_equal(
		rig_send_msg(&rig, &data),
		"unknown_job | STATUS UNKNOWN epoch 1010 slot 32 round 0 wid 0 len 96 > w0");
	rig_close(&rig);
}

static void agg_answer__members_questions_are_all_answered(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 0, WIRE_BODY);
	for (unsigned i = 0; i < 5; i++)
		assert_non_null(strstr(rig_send_msg(&rig, &msg), "STATUS RUNNING"));
	join = rig_join_of(&rig, 0, 2);
	join.base = 0;
	for (unsigned i = 0; i < 5; i++)
		assert_non_null(strstr(rig_join(&rig, 0, &join), "STATUS RUNNING"));
	/* Those of others are not. */
	join.port = 50000;
	join.inc = 9;
	assert_non_null(strstr(rig_join(&rig, 0, &join), "STATUS RUNNING"));
	assert_string_equal(rig_join(&rig, 0, &join), "join");
	rig_close(&rig);
}

static void agg_tell__reaches_those_who_are_known(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	/* Of three, two have joined. */
	for (unsigned i = 0; i < 3; i++) {
		join = rig_join_of(&rig, i ? i - 1 : 0, 3);
		rig_join(&rig, i ? i - 1 : 0, &join);
	}
	join = rig_join_of(&rig, 1, 3);
	join.base = 1011;
	rig_wait(&rig, 1);
	assert_string_equal(rig_join(&rig, 1, &join), "too_early");
	rig_wait(&rig, 1);
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS FORMING epoch 1012 wid 0 inc 100 cause 5 a 1 ended 1010 missing 0-2 "
		"len 160 > w0 | STATUS FORMING epoch 1012 wid 1 inc 101 cause 5 a 1 ended 1010 "
		"missing 0-2 len 160 > w1 | STATUS FORMING epoch 1012 wid 1 inc 101 cause 5 a 1 "
		"ended 1010 missing 0-2 len 256 > w1");
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 2, WIRE_BODY);
	msg.epoch--;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "unknown_job | STATUS UNKNOWN epoch 1011 wid 2 len 160 > w2");
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 1, WIRE_BODY);
	msg.epoch--;
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"keepalive | STATUS FORMING epoch 1012 wid 1 inc 101 cause 5 a 1 ended 1010 missing 0-2 len "
		"160 > w1");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_wire_error__each_has_its_counter),
		cmocka_unit_test(agg_take_epoch__follows_the_clock_and_never_repeats),
		cmocka_unit_test(agg_take_epoch__above_what_a_rank_knows),
		cmocka_unit_test(agg_join__a_base_ahead_delays_nobody_else),
		cmocka_unit_test(agg__restarted_switch_knows_no_old_handle),
		cmocka_unit_test(agg__handle_given_to_another_job),
		cmocka_unit_test(agg_answer__members_questions_are_all_answered),
		cmocka_unit_test(agg_tell__reaches_those_who_are_known),
	};

	return cmocka_run_group_tests_name("agg", tests, NULL, NULL);
}
