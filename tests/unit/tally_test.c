// SPDX-License-Identifier: BSD-3-Clause
// tally_test.c - host/tally.c: the public API over the embedded switch, ranks as threads.
#include "host/include/tally.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/ranks.h"

/* Elements per chunk at P = 1408, of a segment, and of all slots when there are 16. */
enum { C = 352, SEGMENT = 180224, CS = 16 * C };

static const size_t counts[] = { 0,	 1,	     255,	  256,	   257,	       351,
				 C,	 353,	     CS - 1,	  CS,	   CS + 1,     3 * CS - 1,
				 3 * CS, 3 * CS + 1, SEGMENT - 1, SEGMENT, SEGMENT + 1 };

/* --- Sums of all sizes -------------------------------------------------------------------------- */

static void all_counts(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct reduction reduction = {
			.count = counts[i],
			.dtype = TALLY_F32,
			.op = TALLY_SUM,
			.in_place = i % 2,
			.misalign = i % 5,
			.seed = i,
			.nan_rank = -1,
		};

		reduction_run(rank, &reduction, NULL);
		reduction.in_place = !reduction.in_place;
		reduction.dtype = TALLY_I32;
		reduction_run(rank, &reduction, NULL);
	}
}

static void run_counts(int size)
{
	struct ranks ranks = {
		.size = size, .absent = -1, .fn = all_counts, .options = { { "slots", "16" } }
	};

	ranks_run(&ranks);
}

static void tally_allreduce__all_counts_1_rank(void **state)
{
	(void)state;
	run_counts(1);
}

static void tally_allreduce__all_counts_2_ranks(void **state)
{
	(void)state;
	run_counts(2);
}

static void tally_allreduce__all_counts_3_ranks(void **state)
{
	(void)state;
	run_counts(3);
}

static void tally_allreduce__all_counts_4_ranks(void **state)
{
	(void)state;
	run_counts(4);
}

static void some_counts(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (unsigned i = 0; i < 12; i++)
		reduction_run(rank,
			      &(struct reduction){ .count = counts[i],
						   .dtype = TALLY_F32,
						   .op = TALLY_SUM,
						   .seed = 99 + i,
						   .nan_rank = -1 },
			      NULL);
}

static void tally_allreduce__8_ranks(void **state)
{
	struct ranks ranks = { .size = 8, .absent = -1, .fn = some_counts };

	(void)state;
	ranks_run(&ranks);
}

static void tally_allreduce__odd_chunks(void **state)
{
	static const char *const chunks[] = { "128", "384", "8832" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct ranks ranks = {
			.size = 2,
			.absent = -1,
			.fn = some_counts,
			.options = { { "chunk", chunks[i] }, { "slots", "3" }, { "window", "1" } }
		};

		ranks_run(&ranks);
	}
}

static void all_ops(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (enum tally_op op = TALLY_SUM; op <= TALLY_MIN; op++)
		for (unsigned i = 0; i < 8; i++)
			reduction_run(rank,
				      &(struct reduction){ .count = 700 + 37 * i,
							   .dtype = i % 2 ? TALLY_I32 : TALLY_F32,
							   .op = op,
							   .in_place = i & 2,
							   .misalign = i,
							   .seed = i * 77 + op,
							   .nan_rank = -1 },
				      NULL);
}

static void tally_allreduce__all_ops(void **state)
{
	struct ranks ranks = { .size = 3, .absent = -1, .fn = all_ops };

	(void)state;
	ranks_run(&ranks);
}

/* --- Many at once, barriers ----------------------------------------------------------------------- */

static void many(struct rank *rank, void *ctx)
{
	enum { OPS = 32, COUNT = 1500 };
	int32_t *data = calloc((size_t)OPS * COUNT, sizeof(*data));
	tally_request_t *reqs[OPS + 1];
	struct tally_args args = {
		.size = sizeof(args), .count = COUNT, .dtype = TALLY_I32, .op = TALLY_SUM
	};
	int finished = 0;

	(void)ctx;
	for (int i = 0; i < OPS; i++) {
		for (int j = 0; j < COUNT; j++)
			data[i * COUNT + j] = i * 1000003 + j * 17 + rank->rank * 5;
		args.src = args.dst = data + i * COUNT;
		rank_check(rank, tally_allreduce(rank->comm, &args, &reqs[i]) == TALLY_OK);
	}
	/* All sent nothing back yet, or some did: only a full house is BUSY. */
	while (tally_test(reqs[0]) == TALLY_IN_PROGRESS)
		;
	while (finished < OPS) {
		/* In order: what comes later is not finished before. */
		while (finished < OPS && tally_test(reqs[finished]) == TALLY_OK)
			finished++;
		if (finished < OPS)
			rank_check(rank, tally_progress(rank->comm) >= 0);
	}
	for (int i = 0; i < OPS; i++) {
		for (int j = 0; j < COUNT; j++) {
			int32_t want = 0;

			for (int r = 0; r < rank->size; r++)
				want += i * 1000003 + j * 17 + r * 5;
			rank_check(rank, data[i * COUNT + j] == want);
		}
		tally_release(reqs[i]);
	}
	free(data);
}

static void tally_allreduce__32_outstanding(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = many };

	(void)state;
	ranks_run(&ranks);
}

static pthread_barrier_t meeting;

/* Rank 1 posts nothing until rank 0 was told, so that nothing completes. */
static void too_many(struct rank *rank, void *ctx)
{
	tally_request_t *req = NULL;

	(void)ctx;
	for (int i = 0; i < 32 && rank->rank == 0; i++)
		rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_OK);
	if (rank->rank == 0 && rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_BUSY))
		rank_says(rank, "32 operations are outstanding");
	pthread_barrier_wait(&meeting);
}

static void run_meeting(struct ranks *ranks)
{
	pthread_barrier_init(&meeting, NULL, (unsigned)ranks->size);
	ranks_run(ranks);
	pthread_barrier_destroy(&meeting);
}

static void tally_barrier__too_many(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = too_many };

	(void)state;
	run_meeting(&ranks);
}

static atomic_int arrived;

static void barriers(struct rank *rank, void *ctx)
{
	(void)ctx;
	for (int i = 1; i <= 20; i++) {
		tally_request_t *req = NULL;

		atomic_fetch_add(&arrived, 1);
		rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_OK);
		rank_check(rank, tally_wait(req, -1) == TALLY_OK);
		rank_check(rank, atomic_load(&arrived) >= i * rank->size);
		tally_release(req);
	}
}

static void tally_barrier__nobody_passes_early(void **state)
{
	struct ranks ranks = { .size = 4, .absent = -1, .fn = barriers };

	(void)state;
	atomic_store(&arrived, 0);
	ranks_run(&ranks);
}

/* --- NaN ------------------------------------------------------------------------------------------ */

static void one_nan(struct rank *rank, void *ctx)
{
	const struct reduction reduction = { .count = 1000,
					     .dtype = TALLY_F32,
					     .op = TALLY_SUM,
					     .seed = 5,
					     .nan_rank = 2,
					     .nan_at = 300 };
	struct tally_result result = { .size = sizeof(result) };

	(void)ctx;
	reduction_run(rank, &reduction, &result);
	rank_check(rank, result.nonfinite == 256);
	rank_check(rank, result.nonfinite_rank == 2);
	reduction_run(rank,
		      &(struct reduction){
			      .count = 1000, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      &result);
	rank_check(rank, result.nonfinite == 0);
	rank_check(rank, result.nonfinite_rank == -1);
	rank_check(rank, result.time_ns > 0);
}

static void tally_allreduce__nan_on_one_rank(void **state)
{
	struct ranks ranks = { .size = 4, .absent = -1, .fn = one_nan };

	(void)state;
	ranks_run(&ranks);
}

/* --- Disagreement ---------------------------------------------------------------------------------- */

struct wrong {
	struct tally_args args[2]; /* of rank 0, of the others */
	const char *says[3];
};

static void disagree(struct rank *rank, void *ctx)
{
	static int32_t memory[RANKS_MAX][2000];
	const struct wrong *wrong = ctx;
	struct tally_args args = wrong->args[rank->rank != 0];
	tally_request_t *req = NULL;
	int rc;

	args.size = sizeof(args);
	args.src = args.dst = memory[rank->rank];
	rc = args.count == SIZE_MAX ? tally_barrier(rank->comm, &req)
				    : tally_allreduce(rank->comm, &args, &req);
	/* Who posts late is told at once. */
	if (rc == TALLY_OK)
		rc = tally_wait(req, -1);
	rank_check(rank, rc == TALLY_MISMATCH);
	for (unsigned i = 0; i < 3 && wrong->says[i]; i++)
		rank_says(rank, wrong->says[i]);
	tally_release(req);
	/* Sticky until the job forms anew. */
	rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_MISMATCH);
	rank_check(rank, tally_progress(rank->comm) == TALLY_MISMATCH);
	rank_check(rank, tally_rejoin(rank->comm) == TALLY_OK);
	reduction_run(rank,
		      &(struct reduction){
			      .count = 777, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
}

static void run_wrong(const struct wrong *wrong)
{
	struct wrong copy = *wrong;
	struct ranks ranks = { .size = 3, .absent = -1, .fn = disagree, .ctx = &copy };

	ranks_run(&ranks);
}

static void tally_allreduce__counts_differ(void **state)
{
	(void)state;
	run_wrong(
		&(struct wrong){ .args = { { .count = 1000, .dtype = TALLY_F32, .op = TALLY_SUM },
					   { .count = 1001, .dtype = TALLY_F32, .op = TALLY_SUM } },
				 .says = { "count is", "1000", "1001" } });
}

static void tally_allreduce__dtypes_differ(void **state)
{
	(void)state;
	run_wrong(
		&(struct wrong){ .args = { { .count = 1000, .dtype = TALLY_F32, .op = TALLY_SUM },
					   { .count = 1000, .dtype = TALLY_I32, .op = TALLY_SUM } },
				 .says = { "dtype is", "float32", "int32" } });
}

static void tally_allreduce__ops_differ(void **state)
{
	(void)state;
	run_wrong(
		&(struct wrong){ .args = { { .count = 1000, .dtype = TALLY_I32, .op = TALLY_MAX },
					   { .count = 1000, .dtype = TALLY_I32, .op = TALLY_MIN } },
				 .says = { "op is", "max", "min" } });
}

static void tally_allreduce__barrier_elsewhere(void **state)
{
	(void)state;
	run_wrong(
		&(struct wrong){ .args = { { .count = SIZE_MAX },
					   { .count = 1000, .dtype = TALLY_I32, .op = TALLY_SUM } },
				 .says = { "collective is", "barrier", "all-reduce" } });
}

static void never(struct rank *rank, void *ctx)
{
	(void)ctx;
	rank_check(rank, !"opened");
}

static void tally_open__sizes_differ(void **state)
{
	/* Rank 1 of the second pair believes in a job of 3. */
	struct ranks ranks = { .size = 3,
			       .absent = 0,
			       .fn = never,
			       .may_fail = true,
			       .sw = "inproc:differ",
			       .options = { { "join_timeout", "0.3" } } };
	struct ranks two = { .size = 2,
			     .absent = 1,
			     .fn = never,
			     .may_fail = true,
			     .sw = "inproc:differ",
			     .options = { { "join_timeout", "0.3" } } };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, (void *(*)(void *))(void *)ranks_run, &two),
			 0);
	ranks_run(&ranks);
	pthread_join(thread, NULL);
	assert_int_equal(ranks.rank[1].status, TALLY_MISMATCH);
	assert_int_equal(two.rank[0].status, TALLY_MISMATCH);
	assert_non_null(strstr(ranks.rank[1].error, "size (TALLY_SIZE) is"));
	assert_non_null(strstr(two.rank[0].error, "size (TALLY_SIZE) is"));
}

/* --- Missing ranks ---------------------------------------------------------------------------------- */

static void tally_open__rank_missing(void **state)
{
	struct ranks ranks = { .size = 3,
			       .absent = 1,
			       .fn = never,
			       .may_fail = true,
			       .options = { { "join_timeout", "0.4" } } };

	(void)state;
	ranks_run(&ranks);
	for (int i = 0; i < 3; i += 2) {
		assert_int_equal(ranks.rank[i].status, TALLY_TIMEOUT);
		assert_non_null(
			strstr(ranks.rank[i].error, "rank 1 of 3 did not join within 0.4 s"));
	}
}

/* Rank 1 never posts the second operation, and stays. */
static void lazy(struct rank *rank, void *ctx)
{
	tally_request_t *req = NULL;
	int rc;

	(void)ctx;
	reduction_run(rank,
		      &(struct reduction){
			      .count = 10, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
	if (rank->rank != 1) {
		float value = 1;
		struct tally_args args = { .size = sizeof(args),
					   .src = &value,
					   .dst = &value,
					   .count = 1,
					   .dtype = TALLY_F32,
					   .op = TALLY_SUM };

		rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK);
		rank_check(rank, tally_wait(req, 1000000) == TALLY_IN_PROGRESS);
		rc = tally_wait(req, -1);
		rank_check(rank, rc == TALLY_TIMEOUT);
		rank_says(rank,
			  "all-reduce 1 (float32 sum, 1 element): waiting for rank 1 of 3 for 1.");
		rank_says(rank, "slot 1");
		tally_release(req);
	}
	pthread_barrier_wait(&meeting);
	rank_check(rank, tally_rejoin(rank->comm) == TALLY_OK);
	reduction_run(rank,
		      &(struct reduction){
			      .count = 10, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
}

static atomic_int stall_lines;

static void count_stalls(void *ctx, int level, const char *text)
{
	(void)ctx;
	if (level == TALLY_LOG_WARN && strstr(text, "waiting for rank 1 of 3"))
		atomic_fetch_add(&stall_lines, 1);
}

static void tally_wait__rank_never_calls(void **state)
{
	struct ranks ranks = { .size = 3,
			       .absent = -1,
			       .fn = lazy,
			       .options = { { "timeout", "1" }, { "stall_warning", "0.7" } } };

	(void)state;
	atomic_store(&stall_lines, 0);
	tally_set_log(count_stalls, NULL);
	run_meeting(&ranks);
	tally_set_log(NULL, NULL);
	/* Once on each of the two ranks that wait. */
	assert_int_equal(atomic_load(&stall_lines), 2);
}

static void leaver(struct rank *rank, void *ctx)
{
	tally_request_t *req = NULL;

	(void)ctx;
	reduction_run(rank,
		      &(struct reduction){
			      .count = 10, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
	if (rank->rank == 0)
		return;
	rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_OK);
	rank_check(rank, tally_wait(req, -1) == TALLY_LEFT);
	rank_says(rank, "rank 0 of 2 left the job before barrier 1");
	tally_release(req);
}

static void tally_wait__rank_left(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = leaver };

	(void)state;
	ranks_run(&ranks);
}

/* --- Abort, rejoin, busy ---------------------------------------------------------------------------- */

static pthread_barrier_t posted;

static void *aborter(void *arg)
{
	struct rank *rank = arg;

	/* Who posts after the abort is told at once, which is not what this is about. */
	pthread_barrier_wait(&posted);
	rank_check(rank, tally_abort(rank->comm) == TALLY_OK);
	return NULL;
}

static void aborting(struct rank *rank, void *ctx)
{
	tally_request_t *req = NULL;
	pthread_t thread;

	(void)ctx;
	if (rank->rank != 2) {
		rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_OK);
		if (rank->rank == 0)
			rank_check(rank, pthread_create(&thread, NULL, aborter, rank) == 0);
		else
			pthread_barrier_wait(&posted);
		rank_check(rank,
			   tally_wait(req, -1) == (rank->rank == 0 ? TALLY_ABORTED : TALLY_PEER));
		rank_says(rank, rank->rank == 0 ? "aborted by tally_abort()"
						: "rank 0 of 3 aborted the job");
		if (rank->rank == 0)
			pthread_join(thread, NULL);
		tally_release(req);
	}
	pthread_barrier_wait(&meeting);
	rank_check(rank, tally_rejoin(rank->comm) == TALLY_OK);
	reduction_run(rank,
		      &(struct reduction){
			      .count = 1234, .dtype = TALLY_I32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
}

static void tally_abort__from_another_thread(void **state)
{
	struct ranks ranks = { .size = 3, .absent = -1, .fn = aborting };

	(void)state;
	pthread_barrier_init(&posted, NULL, 2);
	run_meeting(&ranks);
	pthread_barrier_destroy(&posted);
}

static void *intruder(void *arg)
{
	struct rank *rank = arg;
	tally_request_t *req = NULL;

	/* Until the other thread is inside. */
	while (tally_progress(rank->comm) != TALLY_BUSY)
		;
	rank_says(rank, "another thread is using this communicator");
	rank_check(rank, tally_barrier(rank->comm, &req) == TALLY_BUSY);
	tally_abort(rank->comm);
	return NULL;
}

static void busy(struct rank *rank, void *ctx)
{
	tally_request_t *req = NULL;
	pthread_t thread;
	int rc;

	(void)ctx;
	if (rank->rank == 0) {
		while ((rc = tally_barrier(rank->comm, &req)) == TALLY_BUSY)
			;
		rank_check(rank, rc == TALLY_OK);
		rank_check(rank, pthread_create(&thread, NULL, intruder, rank) == 0);
		while ((rc = tally_wait(req, -1)) == TALLY_BUSY)
			;
		rank_check(rank, rc == TALLY_ABORTED);
		pthread_join(thread, NULL);
	}
	pthread_barrier_wait(&meeting);
}

static void tally_progress__two_threads(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = busy };

	(void)state;
	run_meeting(&ranks);
}

static void once(struct rank *rank, void *ctx)
{
	(void)ctx;
	reduction_run(rank,
		      &(struct reduction){
			      .count = 300, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
}

static void tally_open__again_and_again(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct ranks ranks = {
			.size = 1 + i % 4, .absent = -1, .fn = once, .sw = "inproc:again"
		};

		ranks_run(&ranks);
	}
}

/* --- Arguments ---------------------------------------------------------------------------------------- */

static void bad_args(struct rank *rank, void *ctx)
{
	float a[64] = { 0 }, b[64] = { 0 };
	struct tally_args good = { .size = sizeof(good),
				   .src = a,
				   .dst = b,
				   .count = 8,
				   .dtype = TALLY_F32,
				   .op = TALLY_SUM };
	struct tally_args args;
	tally_request_t *req = NULL, *first = NULL;

	(void)ctx;
#define EXPECT(status, text)                                                                       \
	do {                                                                                       \
		rank_check(rank, tally_allreduce(rank->comm, &args, &req) == (status));            \
		rank_says(rank, text);                                                             \
	} while (0)
	args = good, args.size = 8;
	EXPECT(TALLY_INVALID, "args->size is 8");
	args = good, args.src = NULL;
	EXPECT(TALLY_INVALID, "src is NULL");
	args = good, args.dst = NULL;
	EXPECT(TALLY_INVALID, "dst is NULL");
	args = good, args.dtype = (enum tally_dtype)9;
	EXPECT(TALLY_UNSUPPORTED, "dtype 9 is none of TALLY_F32");
	args = good, args.op = (enum tally_op)0;
	EXPECT(TALLY_UNSUPPORTED, "op 0 is none of TALLY_SUM");
	args = good, args.stream = a;
	EXPECT(TALLY_UNSUPPORTED, "stream");
	args = good, args.count = SIZE_MAX / 4;
	EXPECT(TALLY_INVALID, "more than memory");
	args = good, args.dst = a + 4;
	EXPECT(TALLY_INVALID, "src and dst overlap");
	/* Not finished before rank 1 posts it too, which it never does. */
	if (rank->rank == 0) {
		rank_check(rank, tally_allreduce(rank->comm, &good, &first) == TALLY_OK);
		args = good, args.src = args.dst = b + 7;
		EXPECT(TALLY_INVALID, "overlaps that of all-reduce 0 (float32 sum, 8 elements)");
		args = good, args.src = b + 32, args.dst = a + 7;
		EXPECT(TALLY_INVALID, "overlaps that of all-reduce 0");
		args = good, args.src = a + 4, args.dst = b + 16;
		rank_check(rank, tally_allreduce(rank->comm, &args, &req) == TALLY_OK);
	}
	pthread_barrier_wait(&meeting);
#undef EXPECT
}

static void tally_allreduce__bad_arguments(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = bad_args };

	(void)state;
	run_meeting(&ranks);
}

static void tally__null_arguments(void **state)
{
	struct tally_stats stats = { .size = sizeof(stats) };
	tally_t *comm = NULL;
	tally_request_t *req = NULL;

	(void)state;
	assert_int_equal(tally_open(NULL, NULL), TALLY_INVALID);
	assert_int_equal(tally_config_new(NULL), TALLY_INVALID);
	assert_int_equal(tally_allreduce(NULL, NULL, NULL), TALLY_INVALID);
	assert_int_equal(tally_barrier(comm, &req), TALLY_INVALID);
	assert_non_null(strstr(tally_last_error(NULL), "tally_barrier"));
	assert_int_equal(tally_progress(NULL), TALLY_INVALID);
	assert_int_equal(tally_test(NULL), TALLY_INVALID);
	assert_int_equal(tally_wait(NULL, 0), TALLY_INVALID);
	assert_int_equal(tally_abort(NULL), TALLY_INVALID);
	assert_int_equal(tally_rejoin(NULL), TALLY_INVALID);
	assert_int_equal(tally_get_stats(NULL, &stats), TALLY_INVALID);
	tally_close(NULL);
	tally_release(NULL);
	tally_config_free(NULL);
}

static void in_child(struct rank *rank, void *ctx)
{
	tally_request_t *req = NULL;
	int status = -1;
	pid_t pid;

	(void)ctx;
	pid = fork();
	if (pid == 0) {
		int rc = tally_barrier(rank->comm, &req);

		tally_close(rank->comm);
		_exit(rc == TALLY_INVALID && strstr(tally_last_error(rank->comm), "after fork()")
			      ? 0
			      : 1);
	}
	rank_check(rank, pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	reduction_run(rank,
		      &(struct reduction){
			      .count = 5, .dtype = TALLY_F32, .op = TALLY_SUM, .nan_rank = -1 },
		      NULL);
}

static void tally_barrier__in_a_child(void **state)
{
	struct ranks ranks = { .size = 1, .absent = -1, .fn = in_child };

	(void)state;
	ranks_run(&ranks);
}

static void counted(struct rank *rank, void *ctx)
{
	struct tally_stats stats = { .size = sizeof(stats) };

	(void)ctx;
	once(rank, NULL);
	rank_check(rank, tally_get_stats(rank->comm, &stats) == TALLY_OK);
	rank_check(rank, stats.operations == 1 && stats.chunk == 1408 && stats.slots == 16);
	/* Its exponents and its only chunk. */
	rank_check(rank, stats.first == 2 && stats.results == 2);
	stats = (struct tally_stats){ .size = offsetof(struct tally_stats, first), .first = 9 };
	rank_check(rank, tally_get_stats(rank->comm, &stats) == TALLY_OK && stats.first == 9);
	rank_check(rank, stats.epoch != 0 && stats.rx_packets >= 2 && stats.tx_bytes > 1200);
	rank_check(rank, tally_rank(rank->comm) == rank->rank && tally_size(rank->comm) == 2);
}

static void tally_get_stats__after_one(void **state)
{
	struct ranks ranks = {
		.size = 2, .absent = -1, .fn = counted, .options = { { "slots", "16" } }
	};

	(void)state;
	ranks_run(&ranks);
}

static void tally_strerror__all(void **state)
{
	(void)state;
#define X(name, value, text) assert_string_equal(tally_strerror(value), text);
	TALLY_STATUS_MAP(X)
#undef X
	assert_string_equal(tally_strerror(-999), "unknown status");
	assert_string_equal(tally_version(), TALLY_VERSION_STRING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tally_allreduce__all_counts_1_rank),
		cmocka_unit_test(tally_allreduce__all_counts_2_ranks),
		cmocka_unit_test(tally_allreduce__all_counts_3_ranks),
		cmocka_unit_test(tally_allreduce__all_counts_4_ranks),
		cmocka_unit_test(tally_allreduce__8_ranks),
		cmocka_unit_test(tally_allreduce__odd_chunks),
		cmocka_unit_test(tally_allreduce__all_ops),
		cmocka_unit_test(tally_allreduce__32_outstanding),
		cmocka_unit_test(tally_barrier__too_many),
		cmocka_unit_test(tally_barrier__nobody_passes_early),
		cmocka_unit_test(tally_allreduce__nan_on_one_rank),
		cmocka_unit_test(tally_allreduce__counts_differ),
		cmocka_unit_test(tally_allreduce__dtypes_differ),
		cmocka_unit_test(tally_allreduce__ops_differ),
		cmocka_unit_test(tally_allreduce__barrier_elsewhere),
		cmocka_unit_test(tally_open__sizes_differ),
		cmocka_unit_test(tally_open__rank_missing),
		cmocka_unit_test(tally_wait__rank_never_calls),
		cmocka_unit_test(tally_wait__rank_left),
		cmocka_unit_test(tally_abort__from_another_thread),
		cmocka_unit_test(tally_progress__two_threads),
		cmocka_unit_test(tally_open__again_and_again),
		cmocka_unit_test(tally_allreduce__bad_arguments),
		cmocka_unit_test(tally__null_arguments),
		cmocka_unit_test(tally_barrier__in_a_child),
		cmocka_unit_test(tally_get_stats__after_one),
		cmocka_unit_test(tally_strerror__all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
