// SPDX-License-Identifier: BSD-3-Clause
/* failure_test.c - the sentences about trees: who is missing where, and what does not fit. */
#include "host/failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "host/include/tally.h"

static char text[512];
static struct config config;
static struct session session;

/* Rank 6 of 16; ranks 4-7 are below its switch, 0-7 below the one above. */
static struct failure tree(void)
{
	memset(text, 0, sizeof(text));
	memset(&session, 0, sizeof(session));
	memset(&config, 0, sizeof(config));
	config.rank = 6;
	config.size = 16;
	config.sw.named = true;
	strcpy(config.job, "sums");
	strcpy(config.sw.text, "10.0.0.9:48880");
	config.ranges = (struct config_ranges){ 2, { { 4, 4 }, { 0, 8 } } };
	session.join_timeout_ns = UINT64_C(2500000000);
	return (struct failure){
		.text = text, .cap = sizeof(text), .config = &config, .op = "barrier 3"
	};
}

static void failure_bit__of_own_switch_alone(void **state)
{
	(void)state;
	tree();
	assert_true(failure_bit(&config, 4) == 1 && failure_bit(&config, 7) == 8);
	assert_true(failure_bit(&config, 3) == 0 && failure_bit(&config, 8) == 0);
	config.ranges.nr = 0;
	assert_true(failure_bit(&config, 0) == 1 && failure_bit(&config, 15) == 1 << 15);
	assert_true(failure_bit(&config, WIRE_WID_NONE) == 0);
}

static void failure_awaited__only_if_not_refused(void **state)
{
	struct wire_status status = { .state = WIRE_FORMING,
				      .field = WIRE_FIELD_RANGES,
				      .value_a = UINT64_C(8) << 16 | 3 };
	struct wire_range range = failure_awaited(&status);

	(void)state;
	assert_true(range.first == 8 && range.nr == 3);
	status.state = WIRE_RUNNING;
	assert_int_equal(failure_awaited(&status).nr, 3);
	status.state = WIRE_REFUSED;
	assert_int_equal(failure_awaited(&status).nr, 0);
	status.state = WIRE_FORMING;
	status.field = WIRE_FIELD_WORLD;
	assert_int_equal(failure_awaited(&status).nr, 0);
}

static void failure_stall__ranks_here_and_behind_another_switch(void **state)
{
	struct failure failure = tree();
	struct failure_stall stall = {
		.for_ns = UINT64_C(30000000000), .known = true, .missing = 0xb, .slot = 5
	};

	(void)state;
	failure.awaited = (struct wire_range){ 8, 8 };
	assert_int_equal(failure_stall(&failure, &stall), TALLY_TIMEOUT);
	assert_string_equal(
		text, "job sums: barrier 3: waiting for ranks 4-5, 7 of 16 for 30.0 s; slot 5");
	stall.missing = 1;
	failure_stall(&failure, &stall);
	assert_string_equal(text,
			    "job sums: barrier 3: waiting for rank 4 of 16 for 30.0 s; slot 5");
	stall.missing = 0;
	failure_stall(&failure, &stall);
	assert_string_equal(
		text, "job sums: barrier 3: waiting for ranks 8-15 of 16 (behind another switch) "
		      "for 30.0 s; slot 5; tallyctl show stalls says which of them");
	failure.awaited.nr = 1;
	failure_stall(&failure, &stall);
	assert_string_equal(text,
			    "job sums: barrier 3: waiting for rank 8 of 16 (behind another switch) "
			    "for 30.0 s; slot 5");
	failure.awaited.nr = 0;
	assert_int_equal(failure_stall(&failure, &stall), TALLY_TIMEOUT);
	assert_string_equal(
		text,
		"job sums: barrier 3: all ranks below the switch 10.0.0.9:48880 have sent theirs, but a "
		"switch above it does not answer, for 30.0 s");
	/* Nothing is known yet, or there is no switch above. */
	stall.known = false;
	failure_stall(&failure, &stall);
	assert_string_equal(
		text, "job sums: barrier 3: waiting for results of the switch 10.0.0.9:48880 for "
		      "30.0 s");
	stall.known = true;
	config.ranges.nr = 0;
	failure_stall(&failure, &stall);
	assert_string_equal(
		text, "job sums: barrier 3: waiting for results of the switch 10.0.0.9:48880 for "
		      "30.0 s");
}

/* Answered, but only to say that it knows nothing: no silence, and no rank's fault. */
static void failure_stall__a_switch_that_forgot(void **state)
{
	struct failure failure = tree();
	struct failure_stall stall = {
		.for_ns = UINT64_C(30000000000), .known = true, .missing = 1, .silent = true
	};

	(void)state;
	failure.forgotten = true;
	assert_int_equal(failure_stall(&failure, &stall), TALLY_TIMEOUT);
	assert_string_equal(
		text,
		"job sums: barrier 3: the switch 10.0.0.9:48880 lost the state of the job and "
		"lets no rank into a new epoch, for 30.0 s: check that it was not restarted "
		"with its clock set back (it counts bad_field then)");
	failure.above = true;
	failure_stall(&failure, &stall);
	assert_non_null(strstr(text, "barrier 3: a switch above the switch 10.0.0.9:48880 lost"));
	config.ranges.nr = 0;
	failure_stall(&failure, &stall);
	assert_non_null(strstr(text, "barrier 3: the switch 10.0.0.9:48880 lost"));
}

static void failure_join__below_a_leaf_without_ranges(void **state)
{
	struct failure failure = tree();

	(void)state;
	config.ranges.nr = 0;
	config.size = 2;
	config.rank = 0;
	session.failure = SESSION_MISSING_RANKS;
	session.status.joined = 1;
	failure_join(&failure, &session);
	assert_string_equal(text, "job sums: rank 1 of 2 did not join within 2.5 s: start it with "
				  "the same TALLY_JOB, TALLY_SIZE and TALLY_SWITCH, or set "
				  "TALLY_RANGES if the switch is a leaf");
}

static void failure_join__who_did_not_come(void **state)
{
	struct failure failure = tree();

	(void)state;
	session.failure = SESSION_MISSING_RANKS;
	session.status.joined = 5;
	assert_int_equal(failure_join(&failure, &session), TALLY_TIMEOUT);
	assert_string_equal(text, "job sums: ranks 5, 7 of 16 did not join within 2.5 s: start "
				  "them with the same TALLY_JOB, TALLY_SIZE and tree of switches");
	failure.joined = 2;
	failure_join(&failure, &session);
	assert_string_equal(text, "job sums: rank 7 of 16 did not join within 2.5 s: start it "
				  "with the same TALLY_JOB, TALLY_SIZE and tree of switches");
	session.status.joined = 15;
	failure.awaited = (struct wire_range){ 0, 4 };
	failure_join(&failure, &session);
	assert_string_equal(text, "job sums: ranks 0-3 of 16 (behind another switch) did not join "
				  "within 2.5 s: start them with the same TALLY_JOB, TALLY_SIZE "
				  "and tree of switches");
	failure.awaited.nr = 0;
	failure_join(&failure, &session);
	assert_string_equal(text,
			    "job sums: all ranks below the switch 10.0.0.9:48880 are there, but "
			    "the switch above it did not answer within 2.5 s: check that it "
			    "runs, and that --parent of tally-switch is its address");
}

static void failure_join__what_does_not_fit(void **state)
{
	struct failure failure = tree();

	(void)state;
	session.failure = SESSION_WAS_REFUSED;
	session.status = (struct wire_status){ .state = WIRE_REFUSED,
					       .cause = WIRE_CAUSE_PARAMETERS,
					       .field = WIRE_FIELD_RANGES,
					       .wid_a = 0,
					       .wid_b = 6,
					       .value_a = 5,
					       .value_b = UINT64_C(4) << 16 | 4 };
	assert_int_equal(failure_join(&failure, &session), TALLY_MISMATCH);
	assert_string_equal(text,
			    "job sums: TALLY_RANGES do not fit together: ranks 0-4 there, ranks "
			    "4-7 here; each switch has ranks of its own, and the root has all "
			    "16");
	session.status.field = WIRE_FIELD_WORLD;
	session.status.wid_a = WIRE_WID_NONE;
	session.status.value_a = 64;
	session.status.value_b = 100;
	failure_join(&failure, &session);
	assert_string_equal(text,
			    "job sums: the switch 10.0.0.9:48880 adds up at most 64 ranks, not "
			    "100: use a tree of switches (tally-switch --parent, TALLY_RANGES)");
	session.status.wid_a = 3;
	failure_join(&failure, &session);
	assert_non_null(strstr(text, "size (TALLY_SIZE) is 64 for rank 3 and 100 for rank 6"));
}

/* A rank that knows an epoch gets no answer from a switch whose clock is behind that. */
static void failure_join__no_answer_to_who_was_there_before(void **state)
{
	struct failure failure = tree();

	(void)state;
	session.failure = SESSION_NO_ANSWER;
	session.join.base = 0;
	assert_int_equal(failure_join(&failure, &session), TALLY_TIMEOUT);
	assert_non_null(strstr(text, "does not answer"));
	assert_null(strstr(text, "clock"));
	session.join.base = 1700000001005;
	failure_join(&failure, &session);
	assert_non_null(strstr(text, "if it was restarted, that its clock was not set back"));
	session.join.base = 0;
}

/* Ranks and a leaf, both at the root. */
static void failure_join__ranks_and_switches_at_one_switch(void **state)
{
	struct failure failure = tree();

	(void)state;
	session.failure = SESSION_WAS_REFUSED;
	session.status = (struct wire_status){ .cause = WIRE_CAUSE_PARAMETERS,
					       .field = WIRE_FIELD_RANGES,
					       .value_a = 4,
					       .value_b = 4 };
	assert_int_equal(failure_join(&failure, &session), TALLY_MISMATCH);
	assert_non_null(strstr(text, "a switch has ranks and other switches below it"));
	session.status.value_b = 3;
	failure_join(&failure, &session);
	assert_non_null(strstr(text, "TALLY_RANGES do not fit together"));
	session.status = (struct wire_status){ .cause = 0 };
}

static void failure_join__drained(void **state)
{
	struct failure failure = tree();

	(void)state;
	session.failure = SESSION_WAS_REFUSED;
	session.status.cause = WIRE_CAUSE_NO_SLOTS;
	assert_int_equal(failure_join(&failure, &session), TALLY_NO_SLOTS);
	assert_non_null(strstr(text,
			       "the switch 10.0.0.9:48880, or a switch above it, takes no new "
			       "jobs, and job sums is one: its operator drains it"));
	config.ranges.nr = 0;
	failure_join(&failure, &session);
	assert_non_null(strstr(text, "the switch 10.0.0.9:48880 takes no new jobs"));
	session.status.field = WIRE_FIELD_SLOTS;
	failure_join(&failure, &session);
	assert_non_null(strstr(text, "has no slots free for job sums"));
}

static void failure_over__switches_that_restarted(void **state)
{
	struct failure failure = tree();
	struct wire_status status = { .cause = WIRE_CAUSE_RESTARTED, .wid_a = 8 };

	(void)state;
	assert_int_equal(failure_over(&failure, &status), TALLY_PEER);
	assert_non_null(strstr(text, "rank 8 of 16, or the switch it is behind, restarted; "));
	status.wid_a = 5;
	failure_over(&failure, &status);
	assert_non_null(strstr(text, "rank 5 of 16 restarted: another process joined in its place; "
				     "every other rank calls tally_rejoin()"));
	failure.forgotten = true;
	assert_int_equal(failure_over(&failure, &status), TALLY_PROTOCOL);
	assert_int_equal(strncmp(text,
				 "the switch 10.0.0.9:48880 lost the state of job sums: ", 54),
			 0);
	failure.above = true;
	failure_over(&failure, &status);
	assert_non_null(strstr(text, "a switch above the switch 10.0.0.9:48880 lost the state"));
	failure.forgotten = false;
	status.cause = WIRE_CAUSE_PROTOCOL;
	assert_int_equal(failure_over(&failure, &status), TALLY_PROTOCOL);
	assert_non_null(strstr(text,
			       "the switch 10.0.0.9:48880, or a switch above it, lost the state of "
			       "job sums, or rank 5 of 16 did not wait for a result; every"));
	status.wid_a = 9;
	failure_over(&failure, &status);
	assert_non_null(strstr(text,
			       "the switch of rank 9 of 16, or one above it, lost the state "
			       "of job sums, or that rank did not wait for a result; every rank "
			       "calls tally_rejoin()"));
	status.cause = WIRE_CAUSE_NONE;
	assert_int_equal(failure_over(&failure, &status), TALLY_PROTOCOL);
	assert_non_null(strstr(text, "a switch above the switch 10.0.0.9:48880 lost the state"));
}

/* The order goes up and down the tree: the switch that says so need not be the one that was told. */
static void failure_over__reset_somewhere_in_the_tree(void **state)
{
	const struct wire_status status = { .cause = WIRE_CAUSE_RESET };
	struct failure failure = tree();

	(void)state;
	assert_int_equal(failure_over(&failure, &status), TALLY_PROTOCOL);
	assert_non_null(strstr(text, "job sums was reset by an operator; every rank calls"));
	config.ranges.nr = 0;
	failure_over(&failure, &status);
	assert_non_null(
		strstr(text,
		       "job sums was reset by an operator at the switch 10.0.0.9:48880; every "));
}

/* Nothing shows which field differs: it may be none. */
static void failure_over__ranks_differ_or_corruption(void **state)
{
	const struct wire_status status = { .cause = WIRE_CAUSE_MISMATCH, .wid_a = 5, .wid_b = 2 };
	struct failure failure = tree();

	(void)state;
	assert_int_equal(failure_over(&failure, &status), TALLY_MISMATCH);
	assert_non_null(strstr(text, "ranks disagree on barrier 3: rank 5 sent something else than "
				     "rank 2, or packets were corrupted on the way: TALLY_CHECK=1 "
				     "tells; every rank calls"));
	config.check = 1;
	failure_over(&failure, &status);
	assert_non_null(strstr(text, "rank 5 sent something else than rank 2; every rank calls"));
}

/* The words of a leaf about the switch above it are about our epoch, and no other kind of answer. */
static void failure_is_above__of_our_epoch_alone(void **state)
{
	static const struct {
		uint8_t says;
		uint64_t key, epoch;
		uint16_t job;
		enum session_state ours;
		bool above;
	} cases[] = {
		{ WIRE_UNKNOWN, 77, 1000, 5, SESSION_RUNNING, true },
		{ WIRE_UNKNOWN, 0, 1000, 5, SESSION_RUNNING, false },
		{ WIRE_UNKNOWN, 78, 1000, 5, SESSION_RUNNING, false },
		{ WIRE_UNKNOWN, 77, 999, 5, SESSION_RUNNING, false },
		{ WIRE_UNKNOWN, 77, 1000, 6, SESSION_RUNNING, false },
		{ WIRE_UNKNOWN, 77, 1000, 5, SESSION_LEAVING, false },
		{ WIRE_RUNNING, 77, 1000, 5, SESSION_RUNNING, false },
	};
	uint8_t buf[WIRE_MSG_MAX];

	(void)state;
	session = (struct session){ .key = 77, .epoch = 1000, .job = 5 };
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wire_status status = { .state = cases[i].says, .key = cases[i].key };
		struct wire_msg msg = { .type = WIRE_STATUS,
					.job = cases[i].job,
					.epoch = cases[i].epoch };
		const size_t len = wire_status_build(buf, &msg, &status, WIRE_PAD);

		assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
		session.state = cases[i].ours;
		assert_int_equal(failure_is_above(&session, &msg), cases[i].above);
	}
}

/* A leaf that is gone goes by its first rank. */
static void failure_over__gone(void **state)
{
	static const struct {
		uint16_t rank;
		const char *says, *who;
	} cases[] = {
		{ 6,
		  "rank 6 of 16 (this one) was taken for dead: its UDP port could not be "
		  "reached from the switch 10.0.0.9:48880; ",
		  "; every rank calls tally_rejoin() and goes on" },
		{ 4, "rank 4 of 16, or the switch 10.0.0.9:48880, is gone: no process answers; ",
		  "; start it again, then every rank that still runs calls tally_rejoin()" },
		{ 5, "rank 5 of 16 died: its process is gone; ",
		  "; start it again, then every other rank calls tally_rejoin()" },
		{ 8, "rank 8 of 16, or the switch it is behind, is gone: no process answers; ",
		  "; start it again, then every rank that still runs calls tally_rejoin()" },
	};
	struct failure failure = tree();

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wire_status status = { .cause = WIRE_CAUSE_GONE,
						    .wid_a = cases[i].rank };

		assert_int_equal(failure_over(&failure, &status), TALLY_PEER);
		assert_int_equal(strncmp(text, cases[i].says, strlen(cases[i].says)), 0);
		assert_non_null(strstr(text, cases[i].who));
	}
	config.rank = 4;
	failure_over(&failure, &(struct wire_status){ .cause = WIRE_CAUSE_GONE, .wid_a = 4 });
	assert_non_null(strstr(text, "the switch 10.0.0.9:48880 is gone, or was for a while; start "
				     "it again, then every rank calls tally_rejoin()"));
}

static void failure_over__until_then_it_waited(void **state)
{
	static const char *const until = "until then barrier 3 was waiting for ranks 8-15 of 16 "
					 "(behind another switch) for 1.5 s";
	struct failure failure = tree();
	struct wire_status status = { .cause = WIRE_CAUSE_ABORTED, .wid_a = 1 };

	(void)state;
	failure.awaited = (struct wire_range){ 8, 8 };
	failure_over(&failure, &status);
	assert_null(strstr(text, "until then"));
	failure.missing_ns = UINT64_C(1500000000);
	failure_over(&failure, &status);
	assert_non_null(strstr(text, until));
	status.wid_a = 15;
	failure_over(&failure, &status);
	assert_null(strstr(text, "until then"));
	failure.missing = 2;
	failure_over(&failure, &status);
	assert_non_null(
		strstr(text, "until then barrier 3 was waiting for rank 5 of 16 for 1.5 s"));
	status.wid_a = 5;
	failure_over(&failure, &status);
	assert_null(strstr(text, "until then"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failure_bit__of_own_switch_alone),
		cmocka_unit_test(failure_awaited__only_if_not_refused),
		cmocka_unit_test(failure_stall__ranks_here_and_behind_another_switch),
		cmocka_unit_test(failure_stall__a_switch_that_forgot),
		cmocka_unit_test(failure_join__below_a_leaf_without_ranges),
		cmocka_unit_test(failure_join__who_did_not_come),
		cmocka_unit_test(failure_join__what_does_not_fit),
		cmocka_unit_test(failure_join__no_answer_to_who_was_there_before),
		cmocka_unit_test(failure_join__ranks_and_switches_at_one_switch),
		cmocka_unit_test(failure_join__drained),
		cmocka_unit_test(failure_over__switches_that_restarted),
		cmocka_unit_test(failure_over__reset_somewhere_in_the_tree),
		cmocka_unit_test(failure_over__ranks_differ_or_corruption),
		cmocka_unit_test(failure_is_above__of_our_epoch_alone),
		cmocka_unit_test(failure_over__gone),
		cmocka_unit_test(failure_over__until_then_it_waited),
	};

	return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
