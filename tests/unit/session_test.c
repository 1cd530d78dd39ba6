// SPDX-License-Identifier: BSD-3-Clause
// Tests of host/core/session.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/session_rig.h"

static void session_output__join_with_check_is_sealed_as_its_chunks_are(void **state)
{
	struct session_params params = usual_params();
	struct session s;
	struct said said;

	(void)state;
	params.check = true;
	s = joining_with(&params);
	assert_int_equal(next(&s, MS, &said), WIRE_JOIN);
	assert_true(said.msg.len == 1408 && said.msg.sealed);
	assert_int_equal(said.join.flags, WIRE_JOB_CHECK);
	/* One that fits without need not fit with. */
	assert_int_equal(session_too_large(&s, 1407, 2 * MS), SESSION_SMALLER);
	assert_int_equal(next(&s, 2 * MS, &said), WIRE_JOIN);
	assert_true(said.msg.len == 1280 && said.msg.sealed);
}

/* Neither is heard that comes as it would to a rank without CHECK, nor the other way round. */
static void session_input__sealed_as_agreed(void **state)
{
	const struct wire_msg told = {
		.type = WIRE_STATUS, .job = HANDLE, .epoch = 900, .wid = RANK
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool check = i / 2, sealed = i % 2;
		const struct wire_status status = status_of(WIRE_RUNNING, inc);
		struct session_params params = usual_params();
		uint8_t buf[WIRE_MSG_MAX];
		struct wire_msg msg;
		struct session s;
		struct said said;
		size_t len = wire_status_build(buf, &told, &status, WIRE_BODY);

		params.check = check;
		s = joining_with(&params);
		if (sealed)
			len = wire_seal(buf, WIRE_BODY);
		assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
		assert_int_equal(session_input(&s, &msg, 2 * MS),
				 check == sealed ? SESSION_BEGUN : SESSION_NOTHING);
		if (check != sealed)
			continue;
		session_abort(&s, WIRE_CAUSE_ABORTED, 3 * MS);
		assert_int_equal(next(&s, 3 * MS, &said), WIRE_END);
		assert_int_equal(said.msg.sealed, check);
		session_leave(&s, 4 * MS);
		assert_int_equal(next(&s, 4 * MS, &said), WIRE_LEAVE);
		assert_int_equal(said.msg.sealed, check);
	}
}

static void session_output__join_is_whole_and_repeated(void **state)
{
	struct session s = joining(1408, true);
	struct said said;

	(void)state;
	assert_int_equal(next(&s, MS, &said), WIRE_JOIN);
	assert_int_equal(said.msg.len, 1408);
	assert_true(said.join.inc == inc && said.join.base == 0 && said.join.world == WORLD &&
		    said.join.slots == 128);
	assert_int_equal(said.join.flags, WIRE_JOB_CHUNK_FIXED);
	assert_string_equal(said.join.name, "job-a");
	assert_int_equal(next(&s, MS, &said), 0);
	assert_int_equal(session_deadline(&s), 6 * MS);
	assert_int_equal(next(&s, 6 * MS, &said), WIRE_JOIN);
	assert_int_equal(session_deadline(&s), 16 * MS);
}

static void session_input__forming_raises_the_base_and_asks_at_once(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_FORMING, 0);
	struct said said;

	(void)state;
	next(&s, MS, &said);
	assert_int_equal(deliver(&s, 900, &st, 2 * MS), SESSION_NOTHING);
	assert_int_equal(next(&s, 2 * MS, &said), WIRE_JOIN);
	assert_int_equal(said.join.base, 899);
}

static void session_input__another_incarnation_runs(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_RUNNING, inc + 1);
	struct said said;

	(void)state;
	next(&s, MS, &said);
	assert_int_equal(deliver(&s, 900, &st, 2 * MS), SESSION_NOTHING);
	assert_int_equal(s.state, SESSION_JOINING);
	assert_int_equal(next(&s, 2 * MS, &said), WIRE_JOIN);
	assert_int_equal(said.join.base, 900); /* we want that epoch replaced */
}

static void session_input__begins_an_epoch_once(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_RUNNING, inc);

	(void)state;
	assert_int_equal(s.epoch, 901);
	assert_int_equal(s.job, HANDLE);
	assert_int_equal(session_status(&s)->slots, 64);
	assert_int_equal(deliver(&s, 901, &st, 3 * MS), SESSION_REPLY);
	session_fail(&s, 4 * MS);
	session_rejoin(&s, 5 * MS);
	assert_int_equal(deliver(&s, 901, &st, 6 * MS),
			 SESSION_NOTHING); /* base = 901: never again */
	assert_int_equal(s.state, SESSION_JOINING);
}

static void session_input__foreign_key_is_ignored(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_RUNNING, inc);

	(void)state;
	st.key++;
	assert_int_equal(deliver(&s, 901, &st, 2 * MS), SESSION_NOTHING);
	assert_int_equal(s.state, SESSION_JOINING);
	assert_false(s.answered);
}

static void session_input__epoch_0_is_ignored(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_FORMING, 0);

	(void)state;
	assert_int_equal(deliver(&s, 0, &st, 2 * MS), SESSION_NOTHING);
	assert_int_equal(s.join.base, 0);
}

static void session_input__epoch_over_carries_the_cause(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_FORMING, inc);
	struct said said;

	(void)state;
	st.cause = WIRE_CAUSE_RESTARTED;
	st.wid_a = 3;
	st.ended = 901;
	assert_int_equal(deliver(&s, 902, &st, 3 * MS), SESSION_OVER);
	assert_int_equal(session_status(&s)->cause, WIRE_CAUSE_RESTARTED);
	assert_int_equal(session_status(&s)->wid_a, 3);
	assert_int_equal(s.state, SESSION_ENDED);
	assert_int_equal(next(&s, 1000 * MS, &said), 0); /* silent until asked to */
	session_rejoin(&s, 1001 * MS);
	assert_int_equal(next(&s, 1001 * MS, &said), WIRE_JOIN);
	assert_int_equal(said.join.base, 901);
	assert_true(said.join.inc == inc);
}

static void session_input__cause_of_another_epoch_is_not_ours(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_FORMING, inc);

	(void)state;
	st.cause = WIRE_CAUSE_MISMATCH;
	st.ended = 905;
	assert_int_equal(deliver(&s, 906, &st, 3 * MS), SESSION_OVER);
	assert_int_equal(session_status(&s)->cause, WIRE_CAUSE_NONE);
}

static void session_input__older_epochs_are_ignored(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_FORMING, inc);

	(void)state;
	assert_int_equal(deliver(&s, 900, &st, 3 * MS), SESSION_NOTHING);
	assert_int_equal(deliver(&s, 901, &st, 3 * MS), SESSION_NOTHING);
	assert_int_equal(s.state, SESSION_RUNNING);
}

/* While ENDED, an epoch that the switch began with our own JOIN is entered after rejoin, not replaced. */
static void session_input__epoch_begun_while_ended_is_entered(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_RUNNING, inc);
	struct said said;

	(void)state;
	session_fail(&s, 3 * MS);
	assert_int_equal(deliver(&s, 950, &st, 4 * MS), SESSION_NOTHING);
	session_rejoin(&s, 5 * MS);
	next(&s, 5 * MS, &said);
	assert_int_equal(said.join.base, 901);
	assert_int_equal(deliver(&s, 950, &st, 6 * MS), SESSION_BEGUN);
	assert_int_equal(s.epoch, 950);
}

static void session_input__forgotten_asks_with_its_own_epoch(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_FORMING, 0);
	struct said said;

	(void)state;
	assert_int_equal(deliver_unknown(&s, HANDLE, 900, 3 * MS), SESSION_NOTHING);
	assert_int_equal(next(&s, 3 * MS, &said), 0); /* not about our epoch */
	assert_int_equal(deliver_unknown(&s, HANDLE, 901, 4 * MS), SESSION_NOTHING);
	assert_int_equal(s.state, SESSION_RUNNING);
	assert_true(s.forgotten);
	assert_int_equal(next(&s, 4 * MS, &said), WIRE_JOIN);
	assert_int_equal(said.join.base, 901);
	assert_int_equal(next(&s, 9 * MS, &said), WIRE_JOIN);
	assert_int_equal(deliver(&s, 1500, &st, 10 * MS), SESSION_OVER);
}

static void session_output__refused_for_five_seconds(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_REFUSED, 0);
	enum session_event event = SESSION_NOTHING;
	uint64_t now = 10 * MS;

	(void)state;
	st.cause = WIRE_CAUSE_PARAMETERS;
	st.field = WIRE_FIELD_WORLD;
	for (; event == SESSION_NOTHING && now < 9000 * MS; now += 50 * MS) {
		deliver(&s, 900, &st, now);
		event = passes(&s, now);
	}
	assert_int_equal(event, SESSION_GAVE_UP);
	assert_int_equal(s.failure, SESSION_WAS_REFUSED);
	assert_true(now >= 5010 * MS && now <= 5110 * MS);
	assert_int_equal(session_status(&s)->field, WIRE_FIELD_WORLD);
}

static void session_input__refused_for_its_version_gives_up(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = { .state = WIRE_REFUSED,
				  .cause = WIRE_CAUSE_VERSION,
				  .wid_a = WIRE_WID_NONE,
				  .wid_b = RANK,
				  .value_a = WIRE_VERSION + 1 };

	(void)state;
	assert_int_equal(deliver(&s, 0, &st, 10 * MS), SESSION_GAVE_UP);
	assert_int_equal(s.failure, SESSION_VERSION);
	assert_int_equal(s.state, SESSION_FAILED);
	assert_int_equal(session_status(&s)->value_a, WIRE_VERSION + 1);
}

static void session_output__a_refusal_that_ends_is_forgotten(void **state)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_REFUSED, 0), ok = status_of(WIRE_RUNNING, inc);

	(void)state;
	for (uint64_t now = 10 * MS; now < 3000 * MS; now += 50 * MS)
		deliver(&s, 900, &st, now);
	for (uint64_t now = 3000 * MS; now < 8000 * MS; now += 50 * MS)
		assert_int_equal(passes(&s, now), SESSION_NOTHING);
	assert_int_equal(deliver(&s, 901, &ok, 8000 * MS), SESSION_BEGUN);
}

static void session_output__time_is_up(void **state)
{
	struct session silent = joining(1408, false), alone = joining(1408, false);
	struct wire_status st = status_of(WIRE_FORMING, inc);

	(void)state;
	st.joined = 0x5;
	deliver(&alone, 900, &st, 2 * MS);
	assert_int_equal(passes(&alone, 30000 * MS), SESSION_NOTHING);
	assert_int_equal(passes(&alone, 30001 * MS), SESSION_GAVE_UP);
	assert_int_equal(alone.failure, SESSION_MISSING_RANKS);
	assert_int_equal(session_status(&alone)->joined, 0x5);
	assert_int_equal(passes(&silent, 30001 * MS), SESSION_GAVE_UP);
	assert_int_equal(silent.failure, SESSION_NO_ANSWER);
}

/* Another rank asks for something else: told, not refused.  If it is the one that is missing in the end, that is why. */
static void session_output__who_differs_is_named_when_time_is_up(void **state)
{
	struct wire_status st = status_of(WIRE_FORMING, inc), other = st;

	(void)state;
	other.cause = WIRE_CAUSE_PARAMETERS;
	other.field = WIRE_FIELD_WORLD;
	other.wid_b = 3;
	for (unsigned i = 0; i < 3; i++) {
		struct session s = joining(1408, false);

		st.missing = i == 0 ? 0x8 : 0x3;
		for (uint64_t now = 10 * MS; now < 29000 * MS; now += 50 * MS) {
			deliver(&s, 900, &other, now);
			deliver(&s, 900, &st, now);
			assert_int_equal(passes(&s, now), SESSION_NOTHING);
		}
		assert_int_equal(passes(&s, 30001 * MS), SESSION_GAVE_UP);
		assert_int_equal(s.failure, i ? SESSION_MISSING_RANKS : SESSION_WAS_REFUSED);
		assert_int_equal(session_status(&s)->field, i ? WIRE_FIELD_NONE : WIRE_FIELD_WORLD);
		session_rejoin(&s, 31000 * MS);
		st.missing = 0x8;
		deliver(&s, 901, &st, 31001 * MS);
		assert_int_equal(passes(&s, 61001 * MS), SESSION_GAVE_UP);
		assert_int_equal(s.failure, SESSION_MISSING_RANKS);
	}
}

static void session_leave__repeated_until_acknowledged(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_RUNNING, inc);
	struct said said;

	(void)state;
	session_leave(&s, 10 * MS);
	assert_int_equal(next(&s, 10 * MS, &said), WIRE_LEAVE);
	assert_true(said.msg.job == HANDLE && said.msg.epoch == 901);
	assert_int_equal(next(&s, 15 * MS, &said), WIRE_LEAVE);
	assert_int_equal(deliver(&s, 901, &st, 16 * MS), SESSION_NOTHING);
	st = status_left(WIRE_RUNNING);
	st.wid_a = RANK + 1;
	assert_int_equal(deliver(&s, 901, &st, 17 * MS), SESSION_NOTHING); /* somebody else's */
	st.wid_a = RANK;
	st.cause = WIRE_CAUSE_ABORTED;
	assert_int_equal(deliver(&s, 901, &st, 17 * MS), SESSION_NOTHING); /* no leaving */
	st.cause = WIRE_CAUSE_LEFT;
	/* That ended the epoch before: so says the answer to a late packet of this rank's life before. */
	st.ended = 900;
	assert_int_equal(deliver(&s, 901, &st, 18 * MS), SESSION_NOTHING);
	st.ended = 0;
	assert_int_equal(deliver(&s, 901, &st, 18 * MS), SESSION_GONE);
	assert_int_equal(s.state, SESSION_LEFT);
}

/* UNKNOWN as the answer to a packet that was sent before the job began. */
static void session_leave__not_acknowledged_by_the_answer_to_data(void **state)
{
	struct session s = running(901);
	struct wire_status st = { .state = WIRE_UNKNOWN };
	struct wire_msg msg = { .type = WIRE_STATUS, .job = HANDLE, .epoch = 901, .wid = RANK };
	uint8_t buf[WIRE_MSG_MAX];

	(void)state;
	session_leave(&s, 10 * MS);
	assert_int_equal(wire_parse(&msg, buf, wire_status_build(buf, &msg, &st, 96)), WIRE_OK);
	assert_int_equal(session_input(&s, &msg, 11 * MS), SESSION_NOTHING);
	assert_int_equal(wire_parse(&msg, buf, wire_status_build(buf, &msg, &st, WIRE_PAD)),
			 WIRE_OK);
	assert_int_equal(session_input(&s, &msg, 12 * MS), SESSION_GONE);
}

/* The acknowledgement of an earlier life of this rank, late on the same port. */
static void session_leave__not_acknowledged_by_an_older_epoch(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_left(WIRE_RUNNING);

	(void)state;
	session_leave(&s, 10 * MS);
	assert_int_equal(deliver(&s, 900, &st, 11 * MS), SESSION_NOTHING);
	assert_int_equal(s.state, SESSION_LEAVING);
	assert_int_equal(deliver(&s, 901, &st, 12 * MS), SESSION_GONE);
}

/* What is forming may run with another life of this rank when the LEAVE comes: it names no epoch. */
static void session_leave__while_joining(void **state)
{
	struct session s = forming(901);
	struct wire_status st = status_of(WIRE_FORMING, inc);
	struct said said;

	(void)state;
	session_leave(&s, 10 * MS);
	assert_int_equal(next(&s, 10 * MS, &said), WIRE_LEAVE);
	assert_true(said.msg.job == HANDLE && said.msg.epoch == 0);
	/* Answers to JOINs, and to the LEAVE of a life before. */
	assert_int_equal(deliver(&s, 901, &st, 11 * MS), SESSION_NOTHING);
	st = status_left(WIRE_FORMING);
	assert_int_equal(deliver(&s, 900, &st, 11 * MS), SESSION_NOTHING);
	assert_int_equal(deliver(&s, 901, &st, 12 * MS), SESSION_GONE);
}

static void session_leave__of_an_epoch_that_has_begun_meanwhile(void **state)
{
	struct session s = forming(901);
	struct wire_status st = status_of(WIRE_RUNNING, inc + 1);
	struct said said;

	(void)state;
	session_leave(&s, 10 * MS);
	next(&s, 10 * MS, &said);
	assert_int_equal(deliver(&s, 901, &st, 11 * MS), SESSION_NOTHING);
	assert_int_equal(next(&s, 11 * MS, &said), 0);
	st.inc = inc;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(deliver(&s, 901, &st, 12 * MS), SESSION_NOTHING);
	assert_int_equal(next(&s, 12 * MS, &said), WIRE_LEAVE);
	assert_true(said.msg.epoch == 901);
	st = status_left(WIRE_RUNNING);
	assert_int_equal(deliver(&s, 901, &st, 13 * MS), SESSION_GONE);
}

/* Nor does it name one that is over, or the one that forms since. */
static void session_leave__after_the_end(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_FORMING, inc);
	struct said said;

	(void)state;
	assert_int_equal(deliver(&s, 903, &st, 2 * MS), SESSION_OVER);
	session_leave(&s, 10 * MS);
	assert_int_equal(next(&s, 10 * MS, &said), WIRE_LEAVE);
	assert_true(said.msg.job == HANDLE && said.msg.epoch == 0);
	/* One that is not known to be over may be left. */
	s = running(901);
	session_abort(&s, WIRE_CAUSE_ABORTED, 10 * MS);
	session_rejoin(&s, 11 * MS);
	st.state = WIRE_RUNNING;
	deliver(&s, 901, &st, 12 * MS);
	session_leave(&s, 13 * MS);
	assert_int_equal(next(&s, 13 * MS, &said), WIRE_LEAVE);
	assert_true(said.msg.epoch == 901);
}

static void session_leave__gives_up_after_200_ms(void **state)
{
	struct session s = running(901);
	enum session_event event;
	uint8_t buf[WIRE_MSG_MAX];

	(void)state;
	session_leave(&s, 10 * MS);
	assert_int_equal(passes(&s, 209 * MS), SESSION_NOTHING);
	assert_int_equal(session_output(&s, buf, 210 * MS, &event), 0);
	assert_int_equal(event, SESSION_GONE);
	assert_int_equal(session_deadline(&s), UINT64_MAX);
}

static void session_abort__repeats_end_until_a_newer_epoch(void **state)
{
	struct session s = running(901);
	struct wire_status st = status_of(WIRE_FORMING, inc), end;
	struct said said;

	(void)state;
	session_abort(&s, WIRE_CAUSE_ABORTED, 10 * MS);
	assert_int_equal(next(&s, 10 * MS, &said), WIRE_END);
	assert_true(said.msg.job == HANDLE && said.msg.epoch == 901);
	assert_int_equal(wire_status_parse(&end, &said.msg), WIRE_OK);
	assert_int_equal(end.cause, WIRE_CAUSE_ABORTED);
	assert_int_equal(deliver(&s, 902, &st, 12 * MS), SESSION_NOTHING);
	assert_int_equal(s.state, SESSION_ENDED);
	session_rejoin(&s, 13 * MS);
	next(&s, 13 * MS, &said);
	assert_int_equal(said.join.base, 901);
}

static void session_leave__without_ever_an_answer(void **state)
{
	struct session s = joining(1408, false);

	(void)state;
	session_leave(&s, 5 * MS);
	assert_int_equal(s.state, SESSION_LEFT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_output__join_is_whole_and_repeated),
		cmocka_unit_test(session_output__join_with_check_is_sealed_as_its_chunks_are),
		cmocka_unit_test(session_input__sealed_as_agreed),
		cmocka_unit_test(session_output__refused_for_five_seconds),
		cmocka_unit_test(session_input__refused_for_its_version_gives_up),
		cmocka_unit_test(session_output__a_refusal_that_ends_is_forgotten),
		cmocka_unit_test(session_output__who_differs_is_named_when_time_is_up),
		cmocka_unit_test(session_output__time_is_up),
		cmocka_unit_test(session_input__forming_raises_the_base_and_asks_at_once),
		cmocka_unit_test(session_input__another_incarnation_runs),
		cmocka_unit_test(session_input__begins_an_epoch_once),
		cmocka_unit_test(session_input__foreign_key_is_ignored),
		cmocka_unit_test(session_input__epoch_0_is_ignored),
		cmocka_unit_test(session_input__epoch_over_carries_the_cause),
		cmocka_unit_test(session_input__cause_of_another_epoch_is_not_ours),
		cmocka_unit_test(session_input__older_epochs_are_ignored),
		cmocka_unit_test(session_input__epoch_begun_while_ended_is_entered),
		cmocka_unit_test(session_input__forgotten_asks_with_its_own_epoch),
		cmocka_unit_test(session_leave__repeated_until_acknowledged),
		cmocka_unit_test(session_leave__not_acknowledged_by_an_older_epoch),
		cmocka_unit_test(session_leave__not_acknowledged_by_the_answer_to_data),
		cmocka_unit_test(session_leave__while_joining),
		cmocka_unit_test(session_leave__of_an_epoch_that_has_begun_meanwhile),
		cmocka_unit_test(session_leave__after_the_end),
		cmocka_unit_test(session_leave__gives_up_after_200_ms),
		cmocka_unit_test(session_leave__without_ever_an_answer),
		cmocka_unit_test(session_abort__repeats_end_until_a_newer_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
