// SPDX-License-Identifier: BSD-3-Clause
// The same job with the first two, four, ... of its ranks, and beside it the ways that need no switch.
#include "topologies/sim_workers.h"

#include <signal.h>
#include <string.h>

#include "topologies/baseline.h"
#include "topologies/say.h"

enum { WORKERS_DIGITS = 8, EXIT_USAGE = 2 };

/* Of all timed operations of a worker. */
struct row {
	double us, elements_s;
};

int sim_workers_parse(struct sim_workers *workers, const char *text)
{
	char digits[WORKERS_DIGITS];
	uint64_t value;

	workers->nr = 0;
	do {
		const size_t len = strcspn(text, ",");

		if (len >= sizeof(digits) || workers->nr == SIM_WORKERS_MAX)
			return -1;
		memcpy(digits, text, len);
		digits[len] = 0;
		if (topology_number_parse(digits, 2, TOPOLOGY_RANKS_MAX, &value))
			return -1;
		workers->number[workers->nr++] = (unsigned int)value;
		text += len;
	} while (*text++ == ',');
	return 0;
}

static int workers_check(const struct topology *t, const struct sim_workers *workers)
{
	const struct topology_job *job = t->job;

	if (t->nr_jobs != 1)
		return say_error("%s: --workers and --compare are for one job, and here are %u",
				 t->path, t->nr_jobs);
	if (job->ranks.nr < 2)
		return say_error("%s:%zu: --workers and --compare expect at least 2 ranks, not 1",
				 t->path, job->place.line + 1);
	for (unsigned int i = 0; i < workers->nr; i++)
		if (workers->number[i] > job->ranks.nr)
			return say_error(
				"--workers: expected at most the %u ranks of job %s, not %u",
				job->ranks.nr, job->name, workers->number[i]);
	return workers->compare ? baseline_check(t, job) : 0;
}

/* Each size once by one way, times what the timed operations of each are. */
static int baseline_row(const struct topology *t, const struct sim_options *options,
			int (*way)(const struct baseline_plan *, struct baseline_time *),
			struct row row[2])
{
	struct baseline_plan plan = { .topology = t, .job = t->job, .links = options->links };
	double elements = 0, us = 0, formula_us = 0, times;
	struct baseline_time time;
	struct local_job job;
	int rc = local_job_open(&job, t, t->job, sim_clock, false);

	if (rc)
		return rc;
	for (uint32_t d = 0; rc == 0 && d < job.options.nr_dtypes; d++)
		for (uint32_t i = 0; rc == 0 && i < job.options.nr_counts; i++) {
			const enum tally_dtype dtype = job.options.dtypes[d];
			const uint64_t count = perf_options_count(&job.options, i, dtype);

			plan.bytes = count * perf_data_bytes(dtype);
			rc = plan.bytes ? way(&plan, &time) : 0;
			if (rc || !plan.bytes)
				continue;
			elements += (double)count;
			us += time.us;
			formula_us += time.formula_us;
		}
	times = (double)job.options.iters * job.options.nr_ops;
	for (int mode = 0, nr = 0; mode < PERF_NR_MODES; mode++) {
		nr += job.options.mode_on[mode];
		if (mode == PERF_NR_MODES - 1)
			times *= nr;
	}
	row[0] = (struct row){ us * times, us > 0 ? elements / us * 1e6 : 0 };
	row[1] = (struct row){ formula_us * times,
			       formula_us > 0 ? elements / formula_us * 1e6 : 0 };
	local_job_close(&job);
	return rc;
}

static void head_print(const struct topology *t, const struct sim_workers *workers)
{
	printf("# job %s: microseconds of all timed operations, and elements aggregated a second and "
	       "worker\n",
	       t->job->name);
	if (!workers->compare) {
		printf("#%7s %14s %12s %6s\n", "workers", "us", "elements/s", "again");
		return;
	}
	printf("# ring: 2 (n-1) x (bytes / n / rate + latency); server: (n-1) x bytes / rate + 2 x "
	       "latency\n"
	       "#%7s %14s %12s %6s   %14s %14s %12s   %14s %14s %12s\n",
	       "workers", "us", "elements/s", "again", "ring us", "formula", "elements/s",
	       "server us", "formula", "elements/s");
}

static int row_print(const struct topology *t, const struct sim_options *options, bool compare)
{
	struct row row[2];
	int rc = 0;

	printf("%8u %14.3f %12.5g %6llu", t->job->ranks.nr, options->result->time_us,
	       options->result->elements_s, (unsigned long long)options->result->again);
	for (int i = 0; compare && rc == 0 && i < 2; i++) {
		rc = baseline_row(t, options, i ? baseline_server : baseline_ring, row);
		if (rc == 0)
			printf("   %14.3f %14.3f %12.5g", row[0].us, row[1].us, row[0].elements_s);
	}
	printf("\n");
	fflush(stdout);
	return rc;
}

int sim_workers_main(struct topology *t, const struct sim_options *options,
		     const struct sim_workers *workers)
{
	const unsigned int all = t->nr_jobs ? t->job->ranks.nr : 0;
	struct sim_options each = *options;
	int code = 0;

	if (workers_check(t, workers))
		return EXIT_USAGE;
	each.quiet = true;
	head_print(t, workers);
	for (unsigned int i = 0; i < (workers->nr ? workers->nr : 1) && !code; i++) {
		struct sim_result result = { .done = false };

		t->job->ranks.nr = workers->nr ? workers->number[i] : all;
		each.result = &result;
		code = sim_main(t, &each);
		if (perf_interrupted)
			code = 128 + SIGINT;
		if (!code)
			code = row_print(t, &each, workers->compare) ? 1 : 0;
	}
	t->job->ranks.nr = all;
	return code;
}
