// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench_e2e.c - all-reduce through the switch inside this process: packets of ranks per CPU-second.
 *
 * One packet is one chunk of one rank: scanned, quantised, sent, added, its result received and
 * dequantised.  The reference is the same arithmetic without protocol, run in turn with it, A B A B.
 * "one thread" drives all ranks' communicators round-robin, so that no scheduler has a part in it;
 * "threads" is how programs use them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/include/tally.h"
#include "tests/perf/bench_e2e_toy.h"

enum {
	E2E_RANKS_MAX = 8,
	E2E_TURNS = 7,
	E2E_RESULTS_MAX = 16,
	E2E_TEXT = 80,
	E2E_COUNT = 1 << 20, /* elements of a rank: 4 MiB, as gradients come */
};
#define E2E_TURN_S 0.08

struct e2e_result {
	char name[E2E_TEXT];
	double value, reference, ratio; /* medians; M packets/CPU-s */
};

/* One job: its ranks' communicators, all in this process. */
struct e2e {
	unsigned ranks;
	const char *chunk, *job;
	uint32_t p; /* agreed */
	tally_t *comm[E2E_RANKS_MAX];
	float *src[E2E_RANKS_MAX], *dst[E2E_RANKS_MAX];
	struct toy *toy;
	unsigned ops; /* of a turn in threads */
};

struct e2e_thread {
	pthread_t thread;
	struct e2e *e2e;
	unsigned rank;
	int rc;
};

/* One all-reduce of all ranks, or many: how many. */
typedef unsigned (*e2e_run)(struct e2e *e2e);

static double e2e_cpu_s(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
		abort();
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void e2e_die(const struct e2e *e2e, unsigned rank, const char *what)
{
	fprintf(stderr, "bench_e2e: %s, rank %u: %s\n", what, rank,
		tally_last_error(e2e->comm[rank]));
	exit(1);
}

/* --- A job ------------------------------------------------------------------------------------- */

static int e2e_configure(tally_config_t *config, const struct e2e *e2e, unsigned rank)
{
	char rank_text[16], ranks_text[16];
	const char *const options[][2] = {
		{ "switch", "inproc:bench" }, { "job", e2e->job },     { "rank", rank_text },
		{ "size", ranks_text },	      { "chunk", e2e->chunk },
	};
	int rc = TALLY_OK;

	snprintf(rank_text, sizeof(rank_text), "%u", rank);
	snprintf(ranks_text, sizeof(ranks_text), "%u", e2e->ranks);
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]) && rc == TALLY_OK; i++)
		rc = tally_config_set(config, options[i][0], options[i][1]);
	return rc;
}

/* tally_open() waits for all ranks, so that each has a thread for this long. */
static void *e2e_open_rank(void *arg)
{
	struct e2e_thread *thread = arg;
	tally_config_t *config;

	thread->rc = tally_config_new(&config);
	if (thread->rc != TALLY_OK)
		return NULL;
	thread->rc = e2e_configure(config, thread->e2e, thread->rank);
	if (thread->rc == TALLY_OK)
		thread->rc = tally_open(&thread->e2e->comm[thread->rank], config);
	if (thread->rc != TALLY_OK)
		fprintf(stderr, "bench_e2e: %s\n", tally_last_error(NULL));
	tally_config_free(config);
	return NULL;
}

static void e2e_in_threads(struct e2e *e2e, void *(*run)(void *))
{
	struct e2e_thread threads[E2E_RANKS_MAX];
	bool failed = false;

	for (unsigned i = 0; i < e2e->ranks; i++) {
		threads[i] = (struct e2e_thread){ .e2e = e2e, .rank = i };
		if (pthread_create(&threads[i].thread, NULL, run, &threads[i]) != 0) {
			fprintf(stderr, "bench_e2e: no thread for rank %u\n", i);
			exit(1);
		}
	}
	for (unsigned i = 0; i < e2e->ranks; i++) {
		pthread_join(threads[i].thread, NULL);
		failed = failed || threads[i].rc != TALLY_OK;
	}
	if (failed)
		exit(1);
}

static void e2e_fill(struct e2e *e2e)
{
	uint32_t x = 2463534242;

	for (unsigned rank = 0; rank < e2e->ranks; rank++) {
		e2e->src[rank] = aligned_alloc(4096, (size_t)E2E_COUNT * sizeof(float));
		e2e->dst[rank] = aligned_alloc(4096, (size_t)E2E_COUNT * sizeof(float));
		if (!e2e->src[rank] || !e2e->dst[rank]) {
			fprintf(stderr, "bench_e2e: no memory\n");
			exit(1);
		}
		for (size_t i = 0; i < E2E_COUNT; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			e2e->src[rank][i] = (float)(int32_t)x / 2147483648.0f;
			e2e->dst[rank][i] = 0;
		}
	}
}

static void e2e_open(struct e2e *e2e)
{
	struct tally_stats stats = { .size = sizeof(stats) };
	struct toy_data data;

	e2e_fill(e2e);
	e2e_in_threads(e2e, e2e_open_rank);
	if (tally_get_stats(e2e->comm[0], &stats) != TALLY_OK)
		e2e_die(e2e, 0, "the job's chunk");
	e2e->p = stats.chunk;
	data = (struct toy_data){
		.ranks = e2e->ranks, .count = E2E_COUNT, .src = e2e->src, .dst = e2e->dst
	};
	e2e->toy = toy_new(&data, e2e->p);
	if (!e2e->toy) {
		fprintf(stderr, "bench_e2e: no memory\n");
		exit(1);
	}
}

static void e2e_close(struct e2e *e2e)
{
	toy_free(e2e->toy);
	for (unsigned i = 0; i < e2e->ranks; i++) {
		tally_close(e2e->comm[i]);
		free(e2e->src[i]);
		free(e2e->dst[i]);
	}
}

/* --- Driving it ---------------------------------------------------------------------------------- */

static tally_request_t *e2e_post(struct e2e *e2e, unsigned rank)
{
	const struct tally_args args = {
		.size = sizeof(args),
		.src = e2e->src[rank],
		.dst = e2e->dst[rank],
		.count = E2E_COUNT,
		.dtype = TALLY_F32,
		.op = TALLY_SUM,
	};
	tally_request_t *req = NULL;

	if (tally_allreduce(e2e->comm[rank], &args, &req) != TALLY_OK)
		e2e_die(e2e, rank, "all-reduce");
	return req;
}

static unsigned e2e_one_thread(struct e2e *e2e)
{
	tally_request_t *req[E2E_RANKS_MAX];
	unsigned left = e2e->ranks;

	for (unsigned i = 0; i < e2e->ranks; i++)
		req[i] = e2e_post(e2e, i);
	while (left) {
		for (unsigned i = 0; i < e2e->ranks; i++) {
			const int rc = req[i] ? tally_test(req[i]) : TALLY_IN_PROGRESS;

			if (rc == TALLY_IN_PROGRESS)
				continue;
			if (rc != TALLY_OK)
				e2e_die(e2e, i, "all-reduce");
			tally_release(req[i]);
			req[i] = NULL;
			left--;
		}
	}
	return 1;
}

static void *e2e_rank_ops(void *arg)
{
	struct e2e_thread *thread = arg;

	for (unsigned i = 0; i < thread->e2e->ops; i++) {
		tally_request_t *req = e2e_post(thread->e2e, thread->rank);

		if (tally_wait(req, -1) != TALLY_OK)
			e2e_die(thread->e2e, thread->rank, "all-reduce");
		tally_release(req);
	}
	return NULL;
}

static unsigned e2e_threads(struct e2e *e2e)
{
	e2e->ops = 8;
	e2e_in_threads(e2e, e2e_rank_ops);
	return e2e->ops;
}

static unsigned e2e_toy(struct e2e *e2e)
{
	toy_run(e2e->toy);
	return 1;
}

/* --- Measuring ----------------------------------------------------------------------------------- */

/* M packets of ranks per CPU-second. */
static double e2e_turn(struct e2e *e2e, e2e_run run)
{
	const uint64_t chunks = ((uint64_t)E2E_COUNT * 4 + e2e->p - 1) / e2e->p;
	const double begin = e2e_cpu_s();
	uint64_t ops = 0;
	double end;

	do {
		ops += run(e2e);
		end = e2e_cpu_s();
	} while (end - begin < E2E_TURN_S);
	return (double)(ops * chunks * e2e->ranks) / (end - begin) / 1e6;
}

static int e2e_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double e2e_median(double values[E2E_TURNS])
{
	qsort(values, E2E_TURNS, sizeof(*values), e2e_compare);
	return values[E2E_TURNS / 2];
}

/* The product's results are the toy's, or one of the two does not do the work. */
static void e2e_check(struct e2e *e2e)
{
	float *sum = malloc((size_t)E2E_COUNT * sizeof(float));

	if (!sum) {
		fprintf(stderr, "bench_e2e: no memory\n");
		exit(1);
	}
	toy_run(e2e->toy);
	memcpy(sum, e2e->dst[0], (size_t)E2E_COUNT * sizeof(float));
	for (unsigned i = 0; i < e2e->ranks; i++)
		memset(e2e->dst[i], 0, (size_t)E2E_COUNT * sizeof(float));
	e2e_one_thread(e2e);
	for (unsigned i = 0; i < e2e->ranks; i++) {
		if (memcmp(sum, e2e->dst[i], (size_t)E2E_COUNT * sizeof(float)) != 0) {
			fprintf(stderr, "bench_e2e: rank %u has another sum than the reference\n",
				i);
			exit(1);
		}
	}
	free(sum);
}

static void e2e_pair(struct e2e *e2e, e2e_run run, struct e2e_result *result)
{
	double value[E2E_TURNS], reference[E2E_TURNS], ratio[E2E_TURNS];

	run(e2e);
	for (unsigned i = 0; i < E2E_TURNS; i++) {
		value[i] = e2e_turn(e2e, run);
		reference[i] = e2e_turn(e2e, e2e_toy);
		ratio[i] = value[i] / reference[i];
	}
	result->value = e2e_median(value);
	result->reference = e2e_median(reference);
	result->ratio = e2e_median(ratio);
}

static unsigned e2e_job(struct e2e *e2e, struct e2e_result *results)
{
	e2e_open(e2e);
	e2e_check(e2e);
	e2e_pair(e2e, e2e_one_thread, &results[0]);
	snprintf(results[0].name, E2E_TEXT, "in process, %u ranks, one thread, %u elements",
		 e2e->ranks, e2e->p / 4);
	e2e_pair(e2e, e2e_threads, &results[1]);
	snprintf(results[1].name, E2E_TEXT, "in process, %u ranks, threads, %u elements",
		 e2e->ranks, e2e->p / 4);
	e2e_close(e2e);
	return 2;
}

/* --- Printing ------------------------------------------------------------------------------------ */

#define E2E_REFERENCE "the same arithmetic alone"

static void e2e_print(const struct e2e_result *results, unsigned nr)
{
	printf("%-48s %8s  %-26s %8s  %6s\n", "M packets of ranks per CPU-second", "M/s",
	       "reference", "M/s", "ratio");
	for (unsigned i = 0; i < nr; i++)
		printf("%-48s %8.3f  %-26s %8.3f  %6.2f\n", results[i].name, results[i].value,
		       E2E_REFERENCE, results[i].reference, results[i].ratio);
}

static int e2e_write_json(const struct e2e_result *results, unsigned nr, const char *path)
{
	FILE *file = fopen(path, "we");
	int failed;

	if (!file)
		return -1;
	fprintf(file, "[\n");
	for (unsigned i = 0; i < nr; i++)
		fprintf(file,
			"  {\"name\": \"%s\", \"value\": %.4f, \"unit\": \"M/CPU-s\", "
			"\"reference\": \"" E2E_REFERENCE "\", \"reference_value\": %.4f, "
			"\"ratio\": %.4f}%s\n",
			results[i].name, results[i].value, results[i].reference, results[i].ratio,
			i + 1 < nr ? "," : "");
	fprintf(file, "]\n");
	failed = ferror(file);
	return fclose(file) == 0 && !failed ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct e2e jobs[] = {
		{ .ranks = 4, .chunk = "1024", .job = "four-256" },
		{ .ranks = 8, .chunk = "1024", .job = "eight-256" },
		{ .ranks = 4, .chunk = "0", .job = "four-default" },
	};
	struct e2e_result results[E2E_RESULTS_MAX];
	const char *json = NULL;
	unsigned nr = 0;

	if (argc == 3 && strcmp(argv[1], "--json") == 0) {
		json = argv[2];
	} else if (argc != 1) {
		fprintf(stderr, "usage: bench_e2e [--json FILE]\n");
		return 2;
	}
	for (unsigned i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		nr += e2e_job(&jobs[i], &results[nr]);
	e2e_print(results, nr);
	if (json && e2e_write_json(results, nr, json) < 0) {
		fprintf(stderr, "bench_e2e: cannot write %s\n", json);
		return 1;
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "bench_e2e: standard output could not be written\n");
		return 1;
	}
	return 0;
}
