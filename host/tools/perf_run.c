// SPDX-License-Identifier: BSD-3-Clause
// perf_run.c - what one rank of tally-perf does: every size, type and operation, timed and checked.
//
// An operation is posted when the one before is complete.  With -c 1 every result is hashed and
// those of the first and the last timed operation are checked element by element, all outside the
// measured time; a barrier then lets the ranks start the next one together.
#include "host/tools/perf.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PERF_CANARY 0x5ca1ab1e

volatile int perf_interrupted;

static uint64_t perf_kernel(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t perf_clock(const struct perf_rank *rank)
{
	return rank->options->clock != NULL ? rank->options->clock() : perf_kernel(CLOCK_MONOTONIC);
}

uint64_t perf_cpu(const struct perf_rank *rank)
{
	return rank->options->clock != NULL ? 0 : perf_kernel(CLOCK_THREAD_CPUTIME_ID);
}

/* How long this thread was ready to run and had no CPU, in ns; 0 where the kernel does not say. */
static uint64_t perf_delay(const struct perf_rank *rank)
{
	char text[96] = "";
	uint64_t delay = 0;
	ssize_t len;
	int fd = rank->options->clock != NULL
			 ? -1
			 : open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0 || sscanf(text, "%*u %" SCNu64, &delay) != 1)
		return 0;
	return delay;
}

static int perf_fail(const struct perf_rank *rank, const char *what)
{
	fprintf(stderr, "tally-perf: rank %d: %s\n", rank->rank, what);
	return -1;
}

int perf_fail_comm(const struct perf_rank *rank, int err)
{
	const char *text = tally_last_error(rank->comm);

	if (atomic_load(&rank->options->stopped))
		return -1;
	/* The library speaks to programs that can go on. */
	fprintf(stderr, "tally-perf: rank %d: %s%s\n", rank->rank,
		text[0] != '\0' ? text : tally_strerror(err),
		strstr(text, "tally_rejoin()") != NULL
			? " (tally-perf does not: start all of its ranks again)"
			: "");
	return -1;
}

int perf_barrier(struct perf_rank *rank)
{
	tally_request_t *req = NULL;
	int err = tally_barrier(rank->comm, &req);

	if (err == TALLY_OK)
		err = tally_wait(req, -1);
	if (err != TALLY_OK)
		perf_fail_comm(rank, err);
	tally_release(req);
	return err == TALLY_OK ? 0 : -1;
}

/* One operation, and what it cost. */
static int perf_operate(struct perf_rank *rank, const struct tally_args *args, uint64_t *time_ns)
{
	struct tally_result result = { .size = sizeof(result) };
	struct perf_totals *totals = &rank->totals;
	tally_request_t *req = NULL;
	uint64_t start, cpu;
	int err;

	cpu = perf_cpu(rank);
	start = perf_clock(rank);
	err = tally_allreduce(rank->comm, args, &req);
	if (err == TALLY_OK)
		err = tally_wait(req, -1);
	*time_ns = perf_clock(rank) - start;
	cpu = perf_cpu(rank) - cpu;
	if (err == TALLY_OK)
		err = tally_get_result(req, &result);
	if (err != TALLY_OK)
		perf_fail_comm(rank, err);
	tally_release(req);
	if (err != TALLY_OK)
		return -1;
	totals->cpu_ns += cpu;
	totals->time_ns += *time_ns;
	totals->bytes += args->count * perf_data_bytes(args->dtype);
	totals->wait_ns += result.wait_ns;
	totals->wire_ns += result.wire_ns;
	totals->retransmit_ns += result.retransmit_ns;
	totals->convert_ns += result.convert_ns;
	return 0;
}

static bool perf_guard_broken(const uint8_t *guard, uint64_t i)
{
	int32_t word;

	memcpy(&word, guard + i * sizeof(word), sizeof(word));
	return word != PERF_CANARY;
}

uint64_t perf_count_guards(const struct perf_rank *rank, uint64_t bytes)
{
	const uint8_t *after = rank->dst + PERF_GUARD_BYTES + bytes;
	uint64_t wrong = 0, i;

	for (i = 0; i < PERF_GUARD; i++)
		wrong += perf_guard_broken(rank->dst, i) + perf_guard_broken(after, i);
	return wrong;
}

uint64_t perf_count_src(const struct perf_rank *rank, const struct perf_data *data, uint64_t count,
			uint64_t shift)
{
	const uint32_t bytes = perf_data_bytes(data->dtype);
	int32_t want[1024], have[1024];
	uint64_t wrong = 0, at, nr, i;

	for (at = 0; at < count; at += nr) {
		nr = count - at < 1024 ? count - at : 1024;
		perf_data_fill(data, rank->rank, shift + at, want, nr);
		perf_data_unpack(data->dtype, have, rank->src + (shift + at) * bytes, nr);
		for (i = 0; i < nr; i++)
			wrong += have[i] != want[i];
	}
	return wrong;
}

static void perf_guard_set(struct perf_rank *rank, uint64_t bytes)
{
	const int32_t canary = PERF_CANARY;
	uint8_t *before = rank->dst, *after = rank->dst + PERF_GUARD_BYTES + bytes;
	uint32_t i;

	for (i = 0; i < PERF_GUARD; i++) {
		memcpy(before + i * sizeof(canary), &canary, sizeof(canary));
		memcpy(after + i * sizeof(canary), &canary, sizeof(canary));
	}
}

bool perf_is_scaled(enum tally_dtype dtype, enum tally_op op)
{
	return dtype != TALLY_I32 && (op == TALLY_SUM || op == TALLY_AVG);
}

struct perf_data perf_data_of(const struct perf_rank *rank, enum tally_dtype dtype,
			      enum tally_op op)
{
	return (struct perf_data){
		.seed = rank->options->seed,
		.dtype = dtype,
		.op = op,
		.nr_ranks = rank->nr_ranks,
		.narrow = rank->wire == TALLY_WIRE_INT16 && perf_is_scaled(dtype, op),
	};
}

/* Iteration i of a size and mode, i < 0: a warm-up.  Adds to *time_ns if timed. */
static int perf_iterate(struct perf_rank *rank, const struct perf_row *row, enum perf_mode mode,
			int64_t i, struct perf_error *error)
{
	const struct perf_options *options = rank->options;
	const struct perf_data data = perf_data_of(rank, row->dtype, row->op);
	const uint32_t bytes = perf_data_bytes(row->dtype);
	uint64_t shift = perf_data_shift(options->seed, rank->operation++), time_ns;
	uint8_t *dst = rank->dst + PERF_GUARD_BYTES;
	struct tally_args args = { .size = sizeof(args), .dtype = row->dtype, .op = row->op };
	struct perf_totals totals = rank->totals;

	/* Unchecked runs are for speed: no source off its cache line. */
	if (!options->check)
		shift &= ~UINT64_C(31);
	if (mode == PERF_IN_PLACE)
		memcpy(dst, rank->src + shift * bytes, row->count * bytes);
	args.src = mode == PERF_IN_PLACE ? dst : rank->src + shift * bytes;
	args.dst = dst;
	args.count = row->count;
	if (perf_is_scaled(row->dtype, row->op))
		args.wire = rank->wire;
	if ((options->check || mode == PERF_IN_PLACE) && perf_barrier(rank) != 0)
		return -1;
	if (perf_operate(rank, &args, &time_ns) != 0)
		return -1;
	if (i < 0)
		rank->totals = totals;
	else if (rank->history != NULL)
		perf_history_time(rank->history, &args, (double)time_ns / 1e3);
	if (rank->history != NULL)
		perf_history_add(rank->history, rank->comm, perf_clock(rank));
	if (!options->check)
		return 0;
	rank->hash = perf_data_hash(rank->hash, dst, row->count * bytes);
	if (i == 0 || i == (int64_t)options->iters - 1) {
		perf_check_results(&data, shift, dst, row->count, error);
		error->wrong += perf_count_guards(rank, row->count * bytes) +
				perf_count_src(rank, &data, row->count, shift);
	}
	return 0;
}

static int perf_run_mode(struct perf_rank *rank, struct perf_row *row, enum perf_mode mode)
{
	struct perf_error error = { 0 }, *all = &rank->totals.error;
	uint64_t time_ns = 0, delay_ns = 0, start_ns = 0;
	int64_t i, warmup = rank->options->warmup_iters;
	int err;

	perf_guard_set(rank, row->count * perf_data_bytes(row->dtype));
	for (i = -warmup; i < (int64_t)rank->options->iters; i++) {
		if (i == 0) {
			time_ns = rank->totals.time_ns;
			delay_ns = perf_delay(rank);
			start_ns = perf_clock(rank);
		}
		err = rank->options->trace != NULL ? perf_step_iterate(rank, row, i, &error)
						   : perf_iterate(rank, row, mode, i, &error);
		if (err != 0)
			return -1;
	}
	rank->totals.wall_ns += perf_clock(rank) - start_ns;
	rank->totals.delay_ns += perf_delay(rank) - delay_ns;
	row->time_us[mode] = (double)(rank->totals.time_ns - time_ns) / 1e3 / rank->options->iters;
	row->wrong[mode] = error.wrong;
	all->wrong += error.wrong;
	all->max_part = error.max_part > all->max_part ? error.max_part : all->max_part;
	all->max_share = error.max_share > all->max_share ? error.max_share : all->max_share;
	return 0;
}

static void perf_count_speed(struct perf_rank *rank, struct perf_row *row)
{
	double bytes = (double)(row->count * perf_data_bytes(row->dtype));
	int mode, n = rank->nr_ranks;

	for (mode = 0; mode < PERF_NR_MODES; mode++) {
		if (!rank->options->mode_on[mode])
			continue;
		row->algbw[mode] = row->time_us[mode] > 0 ? bytes / row->time_us[mode] / 1e3 : 0;
		row->busbw[mode] = row->algbw[mode] * 2 * (n - 1) / n;
		rank->busbw_sum += row->busbw[mode];
		rank->nr_busbw++;
		rank->wrong += row->wrong[mode];
	}
}

static int perf_run_row(struct perf_rank *rank, struct perf_row *row)
{
	int mode, err;

	for (mode = 0; mode < PERF_NR_MODES; mode++)
		if (rank->options->mode_on[mode] &&
		    perf_run_mode(rank, row, (enum perf_mode)mode) != 0)
			return -1;
	err = perf_share_row(rank, row);
	if (err != TALLY_OK)
		return perf_fail_comm(rank, err);
	perf_count_speed(rank, row);
	if (rank->rank == 0) {
		perf_table_row(rank->options, row);
		rank->rows[rank->nr_rows++] = *row;
	}
	return 0;
}

/* Elements of all tensors of a list. */
static uint64_t perf_sum(const struct perf_options *options)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < options->nr_counts; i++)
		sum += options->counts[i];
	return sum;
}

static int perf_run_rows(struct perf_rank *rank, enum tally_dtype dtype, enum tally_op op)
{
	const struct perf_options *options = rank->options;
	const uint32_t nr = options->trace != NULL ? 1 : options->nr_counts;
	struct perf_row row;
	uint32_t i;

	for (i = 0; i < nr && !rank->interrupted; i++) {
		row = (struct perf_row){ .dtype = dtype, .op = op };
		row.count = options->trace != NULL ? perf_sum(options)
						   : perf_options_count(options, i, dtype);
		if (perf_run_row(rank, &row) != 0)
			return -1;
	}
	return 0;
}

static void perf_fill_src(struct perf_rank *rank, enum tally_dtype dtype)
{
	const struct perf_data data = perf_data_of(rank, dtype, TALLY_SUM);
	const uint32_t bytes = perf_data_bytes(dtype);
	const uint64_t count = rank->max_bytes / bytes + PERF_SHIFTS;
	int32_t values[1024];
	uint64_t at, nr;

	for (at = 0; at < count; at += nr) {
		nr = count - at < 1024 ? count - at : 1024;
		perf_data_fill(&data, rank->rank, at, values, nr);
		perf_data_pack(dtype, rank->src + at * bytes, values, nr);
	}
}

static int perf_run_all(struct perf_rank *rank)
{
	const struct perf_options *options = rank->options;
	struct perf_summary summary = { 0 };
	uint32_t d, o;
	int err;

	if (rank->rank == 0)
		perf_table_head(rank);
	for (d = 0; d < options->nr_dtypes; d++) {
		perf_fill_src(rank, options->dtypes[d]);
		for (o = 0; o < options->nr_ops; o++)
			if (perf_run_rows(rank, options->dtypes[d], options->ops[o]) != 0)
				return -1;
	}
	err = perf_share_summary(rank, &summary);
	if (err != TALLY_OK)
		return perf_fail_comm(rank, err);
	if (rank->rank == 0)
		perf_table_foot(rank, &summary);
	if (rank->rank == 0 && options->json != NULL && perf_json_write(rank, &summary) != 0)
		return -1;
	if (!summary.hash_equal)
		return perf_fail(rank, "the ranks' results differ (result hash)");
	/* Its own count too: the sum over the ranks came from the library under test. */
	if (rank->totals.error.wrong != 0)
		return perf_fail(rank, "wrong results");
	return summary.wrong != 0 || summary.interrupted ? -1 : 0;
}

static uint64_t perf_max_bytes(const struct perf_options *options)
{
	uint64_t most = 0, bytes;
	uint32_t d, i;

	for (d = 0; d < options->nr_dtypes; d++)
		for (i = 0; i < options->nr_counts; i++) {
			bytes = perf_options_count(options, i, options->dtypes[d]) *
				perf_data_bytes(options->dtypes[d]);
			most = bytes > most ? bytes : most;
		}
	return most;
}

int perf_run_rank(struct perf_rank *rank)
{
	const struct perf_options *options = rank->options;
	uint64_t dst_bytes;
	int err = -1;

	rank->rank = tally_rank(rank->comm);
	rank->nr_ranks = tally_size(rank->comm);
	if (rank->history != NULL)
		perf_history_add(rank->history, rank->comm, perf_clock(rank));
	rank->max_bytes = perf_max_bytes(options);
	rank->src = malloc(rank->max_bytes + PERF_SHIFTS * sizeof(int32_t));
	/* Of a list all results are there at the end of an iteration; no element is larger than a word. */
	dst_bytes = options->trace != NULL ? perf_sum(options) * sizeof(int32_t) : rank->max_bytes;
	rank->dst = calloc(1, dst_bytes + 2 * PERF_GUARD_BYTES);
	rank->rows = calloc((size_t)options->nr_counts * options->nr_dtypes * options->nr_ops,
			    sizeof(*rank->rows));
	if (rank->src == NULL || rank->dst == NULL || rank->rows == NULL)
		perf_fail(rank, options->trace != NULL
					? "no memory for the data; take a shorter --trace"
					: "no memory for the data; take a smaller --maxbytes");
	else
		err = perf_run_all(rank);
	if (rank->history != NULL)
		perf_history_add(rank->history, rank->comm, perf_clock(rank));
	free(rank->rows);
	free(rank->dst);
	free(rank->src);
	return err;
}
