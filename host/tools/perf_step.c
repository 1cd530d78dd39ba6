// SPDX-License-Identifier: BSD-3-Clause
// perf_step.c - training steps: a rank computes, and what is ready is reduced while it goes on computing.
//
// The time of an iteration's computing is spread over the tensors of the list by their elements.  An operation is
// posted as soon as its tensor is ready, whether or not those before it are complete.  Computing is no work of this
// CPU: meanwhile packets are moved, as by a thread beside the one that computes.
#include "host/tools/perf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As many operations as a communicator takes at a time. */
enum { PERF_STEP_POSTED = 32, PERF_STEP_SLICE_NS = 50000000 };

struct perf_step {
	struct perf_rank *rank;
	const struct perf_row *row;
	int64_t iteration;
	uint64_t first; /* operation's number */
	uint64_t start_ns, compute_ns;
	tally_request_t *posted[PERF_STEP_POSTED];
	uint32_t nr_posted, nr_done;
};

/* An operation without its places. */
static struct tally_args perf_step_args(const struct perf_step *step, uint32_t i)
{
	return (struct tally_args){
		.size = sizeof(struct tally_args),
		.count = step->rank->options->counts[i],
		.dtype = step->row->dtype,
		.op = step->row->op,
	};
}

static uint64_t perf_step_shift(const struct perf_step *step, uint32_t i)
{
	return perf_data_shift(step->rank->options->seed, step->first + i);
}

/* Takes what became of the oldest operation. */
static int perf_step_take(struct perf_step *step)
{
	struct perf_rank *rank = step->rank;
	const struct tally_args args = perf_step_args(step, step->nr_done);
	tally_request_t *req = step->posted[step->nr_done++ % PERF_STEP_POSTED];
	struct tally_result result = { .size = sizeof(result) };
	const int err = tally_get_result(req, &result);

	tally_release(req);
	if (err != TALLY_OK)
		return perf_fail_comm(rank, err);
	if (rank->history == NULL)
		return 0;
	if (step->iteration >= 0)
		perf_history_time(rank->history, &args, (double)result.time_ns / 1e3);
	perf_history_add(rank->history, rank->comm, perf_clock(rank));
	return 0;
}

/* Waits for the oldest operation, so long at most; < 0: until it is complete. */
static int perf_step_wait(struct perf_step *step, int64_t timeout_ns)
{
	tally_request_t *req = step->posted[step->nr_done % PERF_STEP_POSTED];
	const int err = tally_wait(req, timeout_ns);

	if (err == TALLY_IN_PROGRESS)
		return 0;
	if (err == TALLY_OK)
		return perf_step_take(step);
	return perf_fail_comm(step->rank, err);
}

static void perf_step_pause(const struct perf_rank *rank, uint64_t ns)
{
	const uint64_t slice = ns < PERF_STEP_SLICE_NS ? ns : PERF_STEP_SLICE_NS;
	const struct timespec pause = { .tv_nsec = (long)slice };

	if (rank->options->pause != NULL)
		rank->options->pause(slice);
	else
		nanosleep(&pause, NULL);
}

/* Until a time; what has been posted goes on. */
static int perf_step_compute(struct perf_step *step, uint64_t until_ns)
{
	struct perf_rank *rank = step->rank;
	uint64_t now_ns;
	int err;

	while ((now_ns = perf_clock(rank)) < until_ns) {
		if (step->nr_done < step->nr_posted) {
			if (perf_step_wait(step, (int64_t)(until_ns - now_ns)) != 0)
				return -1;
			continue;
		}
		perf_step_pause(rank, until_ns - now_ns);
		err = tally_progress(rank->comm);
		if (err < 0)
			return perf_fail_comm(rank, err);
	}
	return 0;
}

static int perf_step_post(struct perf_step *step, uint32_t i, uint64_t before)
{
	struct perf_rank *rank = step->rank;
	const struct perf_row *row = step->row;
	const uint32_t bytes = perf_data_bytes(row->dtype);
	struct tally_args args = perf_step_args(step, i);
	int err;

	if (step->nr_posted - step->nr_done == PERF_STEP_POSTED && perf_step_wait(step, -1) != 0)
		return -1;
	args.src = rank->src + perf_step_shift(step, i) * bytes;
	args.dst = rank->dst + PERF_GUARD_BYTES + before * bytes;
	if (perf_is_scaled(row->dtype, row->op))
		args.wire = rank->wire;
	err = tally_allreduce(rank->comm, &args, &step->posted[i % PERF_STEP_POSTED]);
	if (err != TALLY_OK)
		return perf_fail_comm(rank, err);
	step->nr_posted++;
	return 0;
}

/* All operations of an iteration: how long it took. */
static int perf_step_operate(struct perf_step *step, uint64_t *time_ns)
{
	struct perf_rank *rank = step->rank;
	const struct perf_options *options = rank->options;
	const double each_ns = (double)step->compute_ns / (double)step->row->count;
	uint64_t before = 0;

	step->start_ns = perf_clock(rank);
	for (uint32_t i = 0; i < options->nr_counts; before += options->counts[i++]) {
		const double ready_ns = each_ns * (double)(before + options->counts[i]);

		if (perf_step_compute(step, step->start_ns + (uint64_t)ready_ns) != 0 ||
		    perf_step_post(step, i, before) != 0)
			return -1;
	}
	while (step->nr_done < step->nr_posted)
		if (perf_step_wait(step, -1) != 0)
			return -1;
	*time_ns = perf_clock(rank) - step->start_ns;
	return 0;
}

static void perf_stretch_add(struct perf_stretch *stretch, double us)
{
	stretch->least_us = stretch->nr == 0 || us < stretch->least_us ? us : stretch->least_us;
	stretch->most_us = us > stretch->most_us ? us : stretch->most_us;
	stretch->sum_us += us;
	stretch->nr++;
}

/* What a timed iteration cost. */
static void perf_step_count(const struct perf_step *step, uint64_t time_ns)
{
	struct perf_totals *totals = &step->rank->totals;
	const uint64_t wait_ns = time_ns > step->compute_ns ? time_ns - step->compute_ns : 0;

	totals->time_ns += time_ns;
	totals->bytes += step->row->count * perf_data_bytes(step->row->dtype);
	perf_stretch_add(&totals->iteration, (double)time_ns / 1e3);
	perf_stretch_add(&totals->compute, (double)step->compute_ns / 1e3);
	perf_stretch_add(&totals->waiting, (double)wait_ns / 1e3);
}

/* Hashes all results of an iteration, and compares those of the first and the last. */
static void perf_step_check(const struct perf_step *step, struct perf_error *error)
{
	struct perf_rank *rank = step->rank;
	const struct perf_options *options = rank->options;
	const struct perf_row *row = step->row;
	const struct perf_data data = perf_data_of(rank, row->dtype, row->op);
	const uint32_t bytes = perf_data_bytes(row->dtype);
	const uint8_t *dst = rank->dst + PERF_GUARD_BYTES;

	for (uint32_t i = 0; i < options->nr_counts; i++) {
		const uint64_t count = options->counts[i], shift = perf_step_shift(step, i);

		rank->hash = perf_data_hash(rank->hash, dst, count * bytes);
		if (step->iteration == 0 || step->iteration == (int64_t)options->iters - 1) {
			perf_check_results(&data, shift, dst, count, error);
			error->wrong += perf_count_src(rank, &data, count, shift);
		}
		dst += count * bytes;
	}
	error->wrong += perf_count_guards(rank, row->count * bytes);
}

int perf_step_iterate(struct perf_rank *rank, const struct perf_row *row, int64_t iteration,
		      struct perf_error *error)
{
	const struct perf_options *options = rank->options;
	struct perf_step step = { .rank = rank, .row = row, .iteration = iteration };
	uint64_t time_ns, cpu_ns;

	step.first = rank->operation;
	rank->operation += options->nr_counts;
	step.compute_ns = perf_compute_ns(&options->compute, rank->rank, iteration);
	if (options->check && perf_barrier(rank) != 0)
		return -1;
	cpu_ns = perf_cpu(rank);
	if (perf_step_operate(&step, &time_ns) != 0) {
		for (; step.nr_done < step.nr_posted; step.nr_done++)
			tally_release(step.posted[step.nr_done % PERF_STEP_POSTED]);
		return -1;
	}
	if (iteration >= 0) {
		rank->totals.cpu_ns += perf_cpu(rank) - cpu_ns;
		perf_step_count(&step, time_ns);
	}
	if (options->check)
		perf_step_check(&step, error);
	return 0;
}
