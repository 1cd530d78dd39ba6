// SPDX-License-Identifier: BSD-3-Clause
// engine_test.c - host/engine.c, membership.c and failure.c over sockets, with a switch that loses packets.
#include "host/engine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/failure.h"
#include "tests/unit/ranks.h"
#include "tests/unit/udp_switch.h"

/* --- Loss ----------------------------------------------------------------------------------------- */

static bool lose_one(void *ctx, uint64_t number)
{
	const uint64_t *which = ctx;

	return number == *which;
}

static void few_chunks(struct rank *rank, void *ctx)
{
	(void)ctx;
	reduction_run(rank,
		      &(struct reduction){ .count = 6 * 32 - 5,
					   .dtype = TALLY_I32,
					   .op = TALLY_SUM,
					   .seed = 3,
					   .nan_rank = -1 },
		      NULL);
	reduction_run(rank,
		      &(struct reduction){ .count = 300,
					   .dtype = TALLY_F32,
					   .op = TALLY_SUM,
					   .in_place = true,
					   .seed = 4,
					   .nan_rank = -1 },
		      NULL);
}

static void over_udp(struct ranks *ranks, struct udp_switch *sw, char text[32])
{
	snprintf(text, 32, "127.0.0.1:%u", udp_switch_port(sw));
	ranks->sw = text;
	ranks_run(ranks);
}

/* Whatever single packet is lost, in whatever direction, JOIN to LEAVE: the sums are exact. */
static void engine_progress__any_one_packet_lost(void **state)
{
	uint64_t packets = 1;

	(void)state;
	for (uint64_t lost = 0; lost < packets && lost < 120; lost++) {
		struct ranks ranks = { .size = 2,
				       .absent = -1,
				       .fn = few_chunks,
				       .options = { { "chunk", "128" }, { "slots", "4" } } };
		struct udp_switch *sw = udp_switch_start(lose_one, &lost);
		char text[32];

		/* With CHECK every other time: JOIN to LEAVE is then some packets longer. */
		if (lost % 2)
			memcpy(ranks.options[2], (const char *[]){ "check", "1" },
			       sizeof(ranks.options[2]));
		over_udp(&ranks, sw, text);
		packets = udp_switch_packets(sw);
		udp_switch_stop(sw);
	}
	assert_true(packets > 40);
}

/* The n-th packet is lost with probability 1/16, the same in each run. */
static bool lose_some(void *ctx, uint64_t number)
{
	uint64_t x = (number + *(const uint64_t *)ctx) * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x >> 60 == 0;
}

static void lossy(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (unsigned i = 0; i < 4; i++)
		reduction_run(rank,
			      &(struct reduction){ .count = 20000 + i,
						   .dtype = i % 2 ? TALLY_I32 : TALLY_F32,
						   .op = TALLY_SUM,
						   .in_place = i / 2,
						   .seed = i,
						   .nan_rank = -1 },
			      NULL);
}

static void engine_progress__many_packets_lost(void **state)
{
	uint64_t seed = 7;
	struct udp_switch *sw = udp_switch_start(lose_some, &seed);
	struct ranks ranks = { .size = 3, .absent = -1, .fn = lossy };
	char text[32];

	(void)state;
	over_udp(&ranks, sw, text);
	udp_switch_stop(sw);
}

static void never(struct rank *rank, void *ctx)
{
	(void)ctx;
	rank_check(rank, !"opened");
}

/* --- Corruption ------------------------------------------------------------------------------------- */

struct corruption {
	uint64_t seen; /* results of lane D */
	unsigned every;
	bool seal;	   /* anew: as by a switch whose memory is bad */
	unsigned after;	   /* so many operations are let through */
	uint32_t descs[8]; /* in order of appearance */
	unsigned nr_descs;
};

static unsigned operation_of(struct corruption *c, const uint8_t *data)
{
	const uint32_t desc = wire_get32(data + WIRE_OFF_DESC);
	unsigned i = 0;

	while (i < c->nr_descs && c->descs[i] != desc)
		i++;
	if (i == c->nr_descs && i < 8)
		c->descs[c->nr_descs++] = desc;
	return i;
}

static bool is_result_data(const uint8_t *data, size_t len)
{
	return len > WIRE_HEADER && data[WIRE_OFF_TYPE] == (WIRE_VERSION << 4 | WIRE_RESULT) &&
	       wire_get16(data + WIRE_OFF_SLOT) >= WIRE_SE;
}

static void corrupt(void *ctx, uint8_t *data, size_t len)
{
	struct corruption *c = ctx;

	if (!is_result_data(data, len) || operation_of(c, data) < c->after || ++c->seen % c->every)
		return;
	data[WIRE_HEADER + c->seen * 5 % (len - WIRE_HEADER - WIRE_CRC)] ^= 0x10;
	if (c->seal)
		wire_seal(data, (uint32_t)len - WIRE_HEADER - WIRE_CRC);
}

static void engine_progress__corrupted_results_come_again(void **state)
{
	struct corruption corruption = { .every = 9 };
	struct udp_switch *sw = udp_switch_start(NULL, NULL);
	struct ranks ranks = {
		.size = 3, .absent = -1, .fn = lossy, .options = { { "check", "1" } }
	};
	char text[32];

	(void)state;
	udp_switch_tamper(sw, corrupt, &corruption);
	over_udp(&ranks, sw, text);
	udp_switch_stop(sw);
	assert_true(corruption.seen > 100);
}

/* Every packet's checksum is right, and yet the sum is wrong: all ranks fail, by name. */
static void sum_is_corrupted(struct rank *rank, void *ctx)
{
	static int32_t src[4][700];
	struct tally_args args = { .size = sizeof(args),
				   .src = src[rank->rank],
				   .dst = src[rank->rank],
				   .count = 700,
				   .dtype = TALLY_I32,
				   .op = TALLY_SUM };
	tally_request_t *req = NULL;
	int rc;

	(void)ctx;
	few_chunks(rank, NULL);
	rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK);
	rc = tally_wait(req, -1);
	tally_release(req);
	/* A rank whose results were all right goes on, and learns of it there. */
	if (rc == TALLY_OK) {
		rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_OK);
		rc = tally_wait(req, -1);
		tally_release(req);
		rank_says(
			rank,
			"found that a sum was corrupted on the way (its CLOSE chunk did not verify)");
	} else if (strstr(tally_last_error(rank->comm), "of 3 found that")) {
		rank_says(rank, "its CLOSE chunk did not verify");
	} else {
		rank_says(rank, "all-reduce 2 (int32 sum, 700 elements) was corrupted on the way");
		rank_says(rank, "CLOSE did not verify");
	}
	rank_check(rank, rc == TALLY_PROTOCOL);
}

static void engine_complete__close_does_not_verify(void **state)
{
	struct corruption corruption = { .every = 1, .seal = true, .after = 2 };
	struct udp_switch *sw = udp_switch_start(NULL, NULL);
	struct ranks ranks = { .size = 3,
			       .absent = -1,
			       .fn = sum_is_corrupted,
			       .options = { { "check", "1" }, { "chunk", "256" } } };
	char text[32];

	(void)state;
	udp_switch_tamper(sw, corrupt, &corruption);
	over_udp(&ranks, sw, text);
	udp_switch_stop(sw);
}

static void engine_open__ranks_differ_in_check(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = never, .may_fail = true };
	struct udp_switch *sw = udp_switch_start(NULL, NULL);
	char text[32];

	(void)state;
	ranks.rank_option[0] = "check";
	ranks.rank_option[1] = "1";
	over_udp(&ranks, sw, text);
	udp_switch_stop(sw);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ranks.rank[i].status, TALLY_MISMATCH);
		assert_non_null(strstr(ranks.rank[i].error, "check (TALLY_CHECK) is "));
	}
}

/* --- A switch that is not there, or goes away ------------------------------------------------------- */

static void engine_open__nothing_listens(void **state)
{
	struct udp_switch *sw = udp_switch_start(NULL, NULL);
	struct ranks ranks = { .size = 1,
			       .absent = -1,
			       .fn = never,
			       .may_fail = true,
			       .options = { { "join_timeout", "0.1" } } };
	char text[32], want[160];

	(void)state;
	snprintf(text, sizeof(text), "127.0.0.1:%u", udp_switch_port(sw));
	udp_switch_stop(sw);
	ranks.sw = text;
	ranks_run(&ranks);
	assert_int_equal(ranks.rank[0].status, TALLY_TIMEOUT);
	snprintf(want, sizeof(want), "nothing listens on UDP %s: start tally-switch -i 1@udp:%s",
		 text, text);
	assert_non_null(strstr(ranks.rank[0].error, want));
}

static bool lose_all(void *ctx, uint64_t number)
{
	(void)ctx;
	(void)number;
	return true;
}

static void engine_open__switch_is_silent(void **state)
{
	struct udp_switch *sw = udp_switch_start(lose_all, NULL);
	struct ranks ranks = { .size = 1,
			       .absent = -1,
			       .fn = never,
			       .may_fail = true,
			       .options = { { "join_timeout", "0.1" } } };
	char text[32];

	(void)state;
	over_udp(&ranks, sw, text);
	udp_switch_stop(sw);
	assert_int_equal(ranks.rank[0].status, TALLY_TIMEOUT);
	assert_non_null(strstr(ranks.rank[0].error, "does not answer, for 0.1 s"));
}

struct vanishing {
	struct udp_switch *sw;
};

static void switch_stops(struct rank *rank, void *ctx)
{
	struct vanishing *vanishing = ctx;
	tally_request_t *req = NULL;
	int rc;

	reduction_run(rank,
		      &(struct reduction){
			      .count = 9, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
	udp_switch_stop(vanishing->sw);
	rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_OK);
	rc = tally_wait(req, -1);
	rank_check(rank, rc == TALLY_TIMEOUT);
	rank_says(rank, "barrier 1: nothing listens at the switch 127.0.0.1");
	tally_release(req);
}

static void engine_wait__switch_stops(void **state)
{
	struct vanishing vanishing = { .sw = udp_switch_start(NULL, NULL) };
	struct ranks ranks = { .size = 1,
			       .absent = -1,
			       .fn = switch_stops,
			       .ctx = &vanishing,
			       .options = { { "timeout", "0.2" } } };
	char text[32];

	(void)state;
	over_udp(&ranks, vanishing.sw, text);
}

static void engine_open__kernels_by_name(void **state)
{
	struct ranks ranks = {
		.size = 2, .absent = -1, .fn = few_chunks, .options = { { "kernels", "scalar" } }
	};

	(void)state;
	ranks_run(&ranks);
}

/* --- Words ------------------------------------------------------------------------------------------ */

static char words[ENGINE_TEXT];
static struct config words_config;

static struct failure words_failure(void)
{
	words_config = (struct config){ .rank = 1,
					.size = 4,
					.job = "sums",
					.sw = { .named = true, .text = "10.0.0.254:48880" } };
	return (struct failure){ .text = words,
				 .cap = sizeof(words),
				 .config = &words_config,
				 .op = "all-reduce 17 (float32 sum, 1048576 elements)" };
}

static void failure_over__every_cause(void **state)
{
	static const struct {
		uint8_t cause;
		int status;
		const char *says;
	} cases[] = {
		{ WIRE_CAUSE_RESTARTED, TALLY_PEER, "rank 2 of 4 restarted" },
		{ WIRE_CAUSE_GONE, TALLY_PEER, "rank 2 of 4 died: its process is gone" },
		{ WIRE_CAUSE_ABORTED, TALLY_PEER, "rank 2 of 4 aborted the job" },
		{ WIRE_CAUSE_LEFT, TALLY_LEFT,
		  "rank 2 of 4 left the job before all-reduce 17 (float32 sum, 1048576 elements)" },
		{ WIRE_CAUSE_PROTOCOL, TALLY_PROTOCOL,
		  "the switch 10.0.0.254:48880 lost the state of job sums, or rank 2 of 4 did not wait "
		  "for a result; " },
		{ WIRE_CAUSE_ROUNDS, TALLY_PROTOCOL, "rounds are used up" },
		{ WIRE_CAUSE_RESET, TALLY_PROTOCOL,
		  "job sums was reset by an operator at the switch 10.0.0.254:48880" },
		{ WIRE_CAUSE_NONE, TALLY_PEER, "formed anew without this one" },
		{ WIRE_CAUSE_CORRUPTED, TALLY_PROTOCOL,
		  "rank 2 of 4 found that a sum was corrupted on the way" },
		{ WIRE_CAUSE_DEVICE, TALLY_PEER, "rank 2 of 4: its GPU failed: " },
		{ WIRE_CAUSE_SILENT, TALLY_PEER,
		  "nothing was heard of rank 2 of 4, nor of any other rank of job sums, for 15 minutes" },
		{ WIRE_CAUSE_MISMATCH, TALLY_MISMATCH, "rank 2 sent something else than rank 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct failure failure = words_failure();
		const struct wire_status status = { .cause = cases[i].cause,
						    .wid_a = 2,
						    .wid_b = 3 };

		assert_int_equal(failure_over(&failure, &status), cases[i].status);
		if (!strstr(words, cases[i].says))
			fail_msg("\"%s\" lacks \"%s\"", words, cases[i].says);
	}
}

static void failure_over__every_field(void **state)
{
	static const struct {
		struct wire_desc b;
		const char *says;
	} cases[] = {
		{ { 17, 8, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 4, 0, 4, 1408, 0 },
		  "all-reduce 17: the count is 9 on rank 0 and 8 on rank 2" },
		{ { 17, 9, WIRE_ALLREDUCE, WIRE_I32, WIRE_SUM, 4, 0, 4, 1408, 0 },
		  "all-reduce 17: the dtype is float32 on rank 0 and int32 on rank 2" },
		{ { 17, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_MIN, 4, 0, 4, 1408, 0 },
		  "all-reduce 17: the op is sum on rank 0 and min on rank 2" },
		{ { 17, 9, WIRE_BARRIER, WIRE_F32, WIRE_SUM, 4, 0, 4, 1408, 0 },
		  "operation 17: the collective is all-reduce on rank 0 and barrier on rank 2" },
		{ { 16, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 4, 0, 4, 1408, 0 },
		  "its number is 17 on rank 0 and 16 on rank 2" },
		{ { 17, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 4, 0, 5, 1408, 0 },
		  "the world size is 4 on rank 0 and 5 on rank 2" },
		{ { 17, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 2, 0, 4, 1408, 0 },
		  "the wire (TALLY_WIRE) is int32 on rank 0 and int16 on rank 2" },
		{ { 17, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 4, 0, 4, 1408, WIRE_DESC_SATURATE },
		  "saturation is not asked for on rank 0 and asked for on rank 2" },
		{ { 17, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 4, 0, 4, 1408, 0x10 },
		  "a flag is 0 on rank 0 and 16 on rank 2" },
	};
	const struct wire_desc a = { 17, 9, WIRE_ALLREDUCE, WIRE_F32, WIRE_SUM, 4, 0, 4, 1408, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct failure failure = words_failure();
		struct wire_status status = { .cause = WIRE_CAUSE_MISMATCH,
					      .wid_a = 0,
					      .wid_b = 2 };

		wire_desc_build(status.desc_a, &a);
		wire_desc_build(status.desc_b, &cases[i].b);
		assert_int_equal(failure_over(&failure, &status), TALLY_MISMATCH);
		if (!strstr(words, cases[i].says))
			fail_msg("\"%s\" lacks \"%s\"", words, cases[i].says);
	}
}

static void failure_over__forgotten(void **state)
{
	struct failure failure = words_failure();
	const struct wire_status status = { .cause = WIRE_CAUSE_NONE };

	(void)state;
	failure.forgotten = true;
	assert_int_equal(failure_over(&failure, &status), TALLY_PROTOCOL);
	assert_non_null(strstr(words, "lost the state of job sums: it was restarted"));
}

static const struct {
	enum session_failure why;
	struct wire_status status;
	int code;
	const char *says;
} join_cases[] = {
	{ SESSION_NO_ANSWER,
	  { 0 },
	  TALLY_TIMEOUT,
	  "the switch 10.0.0.254:48880 does not answer, for 2.5 s" },
	{ SESSION_MISSING_RANKS,
	  { .joined = 3 },
	  TALLY_TIMEOUT,
	  "job sums: ranks 2-3 of 4 did not join within 2.5 s: start them with the same TALLY_JOB, "
	  "TALLY_SIZE and TALLY_SWITCH" },
	{ SESSION_MISSING_RANKS, { .joined = 11 }, TALLY_TIMEOUT, "rank 2 of 4 did not join" },
	{ SESSION_WAS_REFUSED,
	  { .cause = WIRE_CAUSE_PARAMETERS,
	    .field = WIRE_FIELD_WORLD,
	    .value_a = 4,
	    .value_b = 5,
	    .wid_a = 0,
	    .wid_b = 1 },
	  TALLY_MISMATCH,
	  "size (TALLY_SIZE) is 4 for rank 0 and 5 for rank 1" },
	{ SESSION_WAS_REFUSED,
	  { .cause = WIRE_CAUSE_DUPLICATE_RANK, .value_a = 0x0a0000fe9c40, .value_b = 2345 },
	  TALLY_MISMATCH,
	  "rank 1 of job sums is taken by another process, at 10.0.0.254:40000, last heard 2.3 s ago: " },
	{ SESSION_WAS_REFUSED,
	  { .cause = WIRE_CAUSE_NO_SLOTS, .field = WIRE_FIELD_SLOTS },
	  TALLY_NO_SLOTS,
	  "has no slots free for job sums" },
	{ SESSION_WAS_REFUSED,
	  { .cause = WIRE_CAUSE_NO_SLOTS, .field = WIRE_FIELD_SLOTS, .value_a = 64 },
	  TALLY_NO_SLOTS,
	  "has no place free for job sums: other jobs, which run or wait for ranks, hold all 64, or " },
	{ SESSION_WAS_REFUSED,
	  { .cause = WIRE_CAUSE_PARAMETERS,
	    .field = WIRE_FIELD_FLAGS,
	    .value_a = WIRE_JOB_CHECK,
	    .value_b = 0,
	    .wid_a = 0,
	    .wid_b = 1 },
	  TALLY_MISMATCH,
	  "check (TALLY_CHECK) is 1 for rank 0 and 0 for rank 1" },
	{ SESSION_VERSION,
	  { .cause = WIRE_CAUSE_VERSION },
	  TALLY_PROTOCOL,
	  "speaks another version" },
	{ SESSION_TOO_LARGE,
	  { 0 },
	  TALLY_INVALID,
	  "TALLY_CHUNK=0 does not fit the path to the switch 10.0.0.254:48880: the largest that fits is 1408" },
};

static void failure_join__every_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(join_cases) / sizeof(join_cases[0]); i++) {
		const struct failure failure = words_failure();
		const struct session session = { .failure = join_cases[i].why,
						 .status = join_cases[i].status,
						 .fits = 1408,
						 .join_timeout_ns = UINT64_C(2500000000) };

		assert_int_equal(failure_join(&failure, &session), join_cases[i].code);
		if (!strstr(words, join_cases[i].says))
			fail_msg("\"%s\" lacks \"%s\"", words, join_cases[i].says);
	}
}

static void failure_stall__who_is_missing(void **state)
{
	struct failure failure = words_failure();
	struct failure_stall stall = {
		.for_ns = UINT64_C(30000000000), .known = true, .missing = 4, .slot = 5
	};

	(void)state;
	assert_int_equal(failure_stall(&failure, &stall), TALLY_TIMEOUT);
	assert_string_equal(
		words,
		"job sums: all-reduce 17 (float32 sum, 1048576 elements): waiting for rank 2 of 4 "
		"for 30.0 s; slot 5");
	stall.missing = 13;
	failure_stall(&failure, &stall);
	assert_non_null(strstr(words, "waiting for ranks 0, 2-3 of 4 for"));
	stall.silent = true;
	failure_stall(&failure, &stall);
	assert_non_null(strstr(words, "the switch 10.0.0.254:48880 does not answer, for 30.0 s"));
	failure.unsent = ENETUNREACH;
	failure_stall(&failure, &stall);
	assert_non_null(
		strstr(words,
		       "does not answer, for 30.0 s: packets to it cannot be sent from here: "
		       "Network is unreachable"));
	failure.refused = true;
	failure_stall(&failure, &stall);
	assert_non_null(strstr(words, "nothing listens at the switch 10.0.0.254:48880 any more"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_progress__any_one_packet_lost),
		cmocka_unit_test(engine_progress__many_packets_lost),
		cmocka_unit_test(engine_progress__corrupted_results_come_again),
		cmocka_unit_test(engine_complete__close_does_not_verify),
		cmocka_unit_test(engine_open__ranks_differ_in_check),
		cmocka_unit_test(engine_open__nothing_listens),
		cmocka_unit_test(engine_open__switch_is_silent),
		cmocka_unit_test(engine_wait__switch_stops),
		cmocka_unit_test(engine_open__kernels_by_name),
		cmocka_unit_test(failure_over__every_cause),
		cmocka_unit_test(failure_over__every_field),
		cmocka_unit_test(failure_over__forgotten),
		cmocka_unit_test(failure_join__every_reason),
		cmocka_unit_test(failure_stall__who_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
