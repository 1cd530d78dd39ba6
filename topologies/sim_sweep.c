// SPDX-License-Identifier: BSD-3-Clause
// The same jobs with one thing changed from run to run, and beside them the ways that need no switch.
#include "topologies/sim_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "switch/faults.h"
#include "topologies/baseline.h"
#include "topologies/say.h"
#include "topologies/sim_many.h"

enum { EXIT_USAGE = 2 };

/* Of all timed operations of a worker. */
struct row {
	double us, elements_s;
};

/* A ring and a parameter server, simulated and by the formula. */
struct others {
	struct row row[2][2];
};

/* A ring or a parameter server. */
struct way {
	struct baseline_plan plan; /* its bytes are those of each operation */
	int (*run)(const struct baseline_plan *plan, struct baseline_time *time);
};

struct sweep_run {
	const struct sim_sweep *sweep;
	struct others *others; /* of each run */
};

static const struct {
	const char *name, *expected;
	const char *variable; /* of the environment that it is like */
} keys[SIM_SWEEP_KEYS] = {
	[SIM_SWEEP_WORKERS] = { "workers", "numbers from 2 to 1024, such as 2,4,8,16", NULL },
	[SIM_SWEEP_RATE] = { "rate", "bits a second such as 10G,100G,400G", NULL },
	[SIM_SWEEP_DELAY] = { "delay", "times such as 500ns,1us,10us", NULL },
	[SIM_SWEEP_LOSS] = { "loss", "shares such as 0,0.01%,1%", NULL },
	[SIM_SWEEP_WINDOW] = { "window", "numbers of chunks such as 16,64,256", "TALLY_WINDOW" },
	[SIM_SWEEP_CHUNK] = { "chunk", "bytes such as 256,512,1024", "TALLY_CHUNK" },
};

/* --- What is given ------------------------------------------------------------------------------ */

/* As the library would take it, which says itself what is wrong. */
static int option_check(enum sim_sweep_key key, const char *text)
{
	tally_config_t *config = NULL;
	int rc = -1;

	if (tally_config_new(&config) != TALLY_OK)
		return say_error("not enough memory");
	rc = tally_config_set(config, keys[key].name, text) == TALLY_OK
		     ? 0
		     : say_error("--sweep: %s", tally_last_error(NULL));
	tally_config_free(config);
	return rc;
}

/* 0, -1: it is no such value, or -2 after saying more. */
static int value_parse(struct sim_sweep *sweep, unsigned int i)
{
	const char *text = sweep->text[i];

	switch (sweep->key) {
	case SIM_SWEEP_WORKERS:
		return topology_number_parse(text, 2, TOPOLOGY_RANKS_MAX, &sweep->number[i]);
	case SIM_SWEEP_RATE:
		return faults_parse_rate(text, &sweep->number[i]) || !sweep->number[i] ? -1 : 0;
	case SIM_SWEEP_DELAY:
		return faults_parse_time(text, &sweep->number[i]);
	case SIM_SWEEP_LOSS:
		return topology_share_parse(text, &sweep->share[i]) ||
				       (sweep->share[i] >= 1 && !strchr(text, '%'))
			       ? -1
			       : 0;
	case SIM_SWEEP_WINDOW:
	case SIM_SWEEP_CHUNK:
	case SIM_SWEEP_KEYS:
	default:
		return option_check(sweep->key, text) ? -2 : 0;
	}
}

static int values_parse(struct sim_sweep *sweep, const char *option, const char *text)
{
	const char *all = text;

	sweep->nr = 0;
	do {
		const size_t len = strcspn(text, ",");
		char *value;
		int rc;

		if (sweep->nr == SIM_SWEEP_MAX)
			return say_error("%s: expected at most %d values", option, SIM_SWEEP_MAX);
		value = sweep->text[sweep->nr];
		if (len < SIM_SWEEP_VALUE)
			memcpy(value, text, len);
		value[len < SIM_SWEEP_VALUE ? len : 0] = 0;
		rc = *value ? value_parse(sweep, sweep->nr) : -1;
		if (rc == -1)
			say_error("%s: expected %s, not '%s'", option, keys[sweep->key].expected,
				  *value ? value : all);
		if (rc)
			return -1;
		sweep->nr++;
		text += len;
	} while (*text++ == ',');
	return 0;
}

int sim_sweep_parse_workers(struct sim_sweep *sweep, const char *text)
{
	sweep->key = SIM_SWEEP_WORKERS;
	return values_parse(sweep, "--workers", text);
}

int sim_sweep_parse(struct sim_sweep *sweep, const char *text)
{
	const size_t len = strcspn(text, "=");
	char option[32];

	for (int k = 0; k < SIM_SWEEP_KEYS && text[len]; k++)
		if (strlen(keys[k].name) == len && strncmp(keys[k].name, text, len) == 0) {
			sweep->key = (enum sim_sweep_key)k;
			snprintf(option, sizeof(option), "--sweep %s", keys[k].name);
			return values_parse(sweep, option, text + len + 1);
		}
	return say_error("--sweep: expected rate=LIST, delay=, loss=, window=, chunk= or workers=, "
			 "not '%s'",
			 text);
}

static int sweep_check(const struct topology *t, const struct sim_sweep *sweep)
{
	const struct topology_job *job = t->job;
	const bool workers = sweep->key == SIM_SWEEP_WORKERS;

	if (!workers && !sweep->compare)
		return 0;
	if (t->nr_jobs != 1)
		return say_error("%s: --workers and --compare are for one job, and here are %u",
				 t->path, t->nr_jobs);
	if (job->ranks.nr < 2)
		return say_error("%s:%zu: --workers and --compare expect at least 2 ranks, not 1",
				 t->path, job->place.line + 1);
	for (unsigned int i = 0; workers && i < sweep->nr; i++)
		if (sweep->number[i] > job->ranks.nr)
			return say_error(
				"--workers: expected at most the %u ranks of job %s, not %s",
				job->ranks.nr, job->name, sweep->text[i]);
	return sweep->compare ? baseline_check(t, job) : 0;
}

/* --- In the process of a run -------------------------------------------------------------------- */

static int env_set(struct topology_job *job, const char *key, const char *value)
{
	unsigned int i = 0;

	while (i < job->nr_env && strcmp(job->env[i].key, key) != 0)
		i++;
	if (i == TOPOLOGY_ENV_MAX)
		return say_error("job %s has %d variables, and no room for %s", job->name,
				 TOPOLOGY_ENV_MAX, key);
	job->env[i] = (struct topology_env){ key, value };
	job->nr_env += i == job->nr_env;
	return 0;
}

/* Links without a rate or delay in the file have that of the options. */
static void link_set(struct topology_link *link, const struct sim_sweep *sweep, uint64_t i)
{
	if (sweep->key == SIM_SWEEP_RATE && link->rate_bps)
		link->rate_bps = sweep->number[i];
	if (sweep->key == SIM_SWEEP_DELAY && link->delay_given)
		link->delay_ns = sweep->number[i];
	if (sweep->key == SIM_SWEEP_LOSS)
		link->loss = sweep->share[i];
}

static int run_set(void *context, struct topology *t, struct sim_options *options, uint64_t i)
{
	const struct sim_sweep *sweep = ((struct sweep_run *)context)->sweep;
	int rc = 0;

	if (!sweep->nr)
		return 0;
	if (sweep->key == SIM_SWEEP_WORKERS)
		t->job->ranks.nr = (unsigned int)sweep->number[i];
	if (sweep->key == SIM_SWEEP_RATE)
		options->links.rate = sweep->number[i];
	if (sweep->key == SIM_SWEEP_DELAY)
		options->links.delay_ns = sweep->number[i];
	for (unsigned int k = 0; k < t->nr_links; k++)
		link_set(&t->link[k], sweep, i);
	for (unsigned int k = 0; keys[sweep->key].variable && k < t->nr_jobs && !rc; k++)
		rc = env_set(&t->job[k], keys[sweep->key].variable, sweep->text[i]);
	return rc;
}

/* What a way takes, simulated and by the formula, and for how many elements. */
struct taken {
	double elements, us, formula_us;
};

/* One operation of bytes; of none it takes no time. */
static int way_time(const struct way *way, uint64_t bytes, struct baseline_time *time)
{
	struct baseline_plan plan = way->plan;

	*time = (struct baseline_time){ .us = 0 };
	plan.bytes = bytes;
	return bytes ? way->run(&plan, time) : 0;
}

/* Each size once, times what the timed operations of each are. */
static int sizes_take(const struct way *way, const struct perf_options *o, struct taken *taken)
{
	const double times = (double)o->iters * (o->mode_on[0] + o->mode_on[1]);
	struct baseline_time time;

	for (uint32_t d = 0; d < o->nr_dtypes; d++)
		for (uint32_t i = 0; i < o->nr_counts; i++) {
			const uint64_t count = perf_options_count(o, i, o->dtypes[d]);

			if (way_time(way, count * perf_data_bytes(o->dtypes[d]), &time))
				return -1;
			taken->elements += times * (double)count;
			taken->us += times * time.us;
			taken->formula_us += times * time.formula_us;
		}
	return 0;
}

/* Until when a rank computes in an iteration that computes longest. */
static double compute_us(const struct way *way, const struct perf_options *o, uint32_t iteration)
{
	uint64_t most_ns = 0, ns;

	for (unsigned int rank = 0; rank < way->plan.job->ranks.nr; rank++) {
		ns = perf_compute_ns(&o->compute, (int)rank, iteration);
		most_ns = ns > most_ns ? ns : most_ns;
	}
	return (double)most_ns / 1e3;
}

/* Tensors one after the other, each when the last rank has it. */
static void steps_add(const struct way *way, const struct perf_options *o,
		      const struct baseline_time *time, struct taken *taken)
{
	double all = 0;

	for (uint32_t i = 0; i < o->nr_counts; i++)
		all += (double)o->counts[i];
	for (uint32_t n = 0; n < o->iters; n++) {
		const double each_us = compute_us(way, o, n) / all;
		double us = 0, formula_us = 0, before = 0, ready_us;

		for (uint32_t i = 0; i < o->nr_counts; i++) {
			before += (double)o->counts[i];
			ready_us = each_us * before;
			us = (us > ready_us ? us : ready_us) + time[i].us;
			formula_us = (formula_us > ready_us ? formula_us : ready_us) +
				     time[i].formula_us;
		}
		taken->elements += all;
		taken->us += us;
		taken->formula_us += formula_us;
	}
}

/* Tensors of the same size take the same time. */
static int steps_take(const struct way *way, const struct perf_options *o, struct taken *taken)
{
	struct baseline_time *time = calloc(o->nr_counts, sizeof(*time));
	int rc = time ? 0 : say_error("not enough memory");

	for (uint32_t d = 0; rc == 0 && d < o->nr_dtypes; d++) {
		const uint32_t bytes = perf_data_bytes(o->dtypes[d]);

		for (uint32_t i = 0, k; rc == 0 && i < o->nr_counts; i++) {
			for (k = 0; o->counts[k] != o->counts[i];)
				k++;
			if (k < i)
				time[i] = time[k];
			else
				rc = way_time(way, o->counts[i] * bytes, &time[i]);
		}
		if (rc == 0)
			steps_add(way, o, time, taken);
	}
	free(time);
	return rc;
}

static int baseline_row(const struct topology *t, const struct sim_options *options,
			int (*run)(const struct baseline_plan *, struct baseline_time *),
			struct row row[2])
{
	const struct way way = { { .topology = t, .job = t->job, .links = options->links }, run };
	struct taken taken = { .us = 0 };
	struct local_job job;
	int rc = local_job_open(&job, t, t->job, sim_clock, LOCAL_LATER);

	if (rc)
		return rc;
	rc = job.options.trace ? steps_take(&way, &job.options, &taken)
			       : sizes_take(&way, &job.options, &taken);
	row[0] = (struct row){ taken.us * job.options.nr_ops,
			       taken.us > 0 ? taken.elements / taken.us * 1e6 : 0 };
	row[1] = (struct row){ taken.formula_us * job.options.nr_ops,
			       taken.formula_us > 0 ? taken.elements / taken.formula_us * 1e6 : 0 };
	local_job_close(&job);
	return rc;
}

static int others_run(void *context, const struct topology *t, const struct sim_options *options,
		      uint64_t i)
{
	struct others *others = &((struct sweep_run *)context)->others[i];

	return baseline_row(t, options, baseline_ring, others->row[0]) ||
			       baseline_row(t, options, baseline_server, others->row[1])
		       ? 1
		       : 0;
}

/* --- The table ---------------------------------------------------------------------------------- */

static void run_option(const void *context, uint64_t i, char text[SIM_MANY_OPTION])
{
	const struct sim_sweep *sweep = ((const struct sweep_run *)context)->sweep;

	if (!sweep->nr)
		snprintf(text, SIM_MANY_OPTION, "--compare");
	else
		snprintf(text, SIM_MANY_OPTION, "--sweep %s=%s", keys[sweep->key].name,
			 sweep->text[i]);
}

static void head_print(const struct topology *t, const struct sim_sweep *sweep)
{
	printf("# %s%s: microseconds of all timed operations, and elements aggregated a second and "
	       "worker\n",
	       t->nr_jobs == 1 ? "job " : "the mean of all jobs",
	       t->nr_jobs == 1 ? t->job->name : "");
	if (!sweep->compare) {
		printf("# completion: when the last rank was done, after the first had joined; %% used: "
		       "of the hosts' links, and of the busiest\n"
		       "#%7s %14s %12s %6s   %14s %8s %8s\n",
		       keys[sweep->key].name, "us", "elements/s", "again", "completion us",
		       "% used", "busiest");
		return;
	}
	printf("# ring: 2 (n-1) x (bytes / n / rate + latency); server: (n-1) x bytes / rate + 2 x "
	       "latency\n"
	       "#%7s %14s %12s %6s   %14s %14s %12s   %14s %14s %12s\n",
	       keys[sweep->key].name, "us", "elements/s", "again", "ring us", "formula",
	       "elements/s", "server us", "formula", "elements/s");
}

static void row_print(void *context, uint64_t i, const struct sim_result *result)
{
	struct sweep_run *run = context;
	const struct sim_sweep *sweep = run->sweep;
	const struct others *others = &run->others[i];

	if (result->failed)
		return;
	printf("%8s %14.3f %12.5g %6llu", sweep->text[i], result->time_us, result->elements_s,
	       (unsigned long long)result->again);
	if (!sweep->compare)
		printf("   %14.3f %8.2f %8.2f", result->completion_us, result->use_hosts,
		       result->use_most);
	for (int k = 0; sweep->compare && k < 2; k++)
		printf("   %14.3f %14.3f %12.5g", others->row[k][0].us, others->row[k][1].us,
		       others->row[k][0].elements_s);
	printf("\n");
}

int sim_sweep_main(struct topology *t, const struct sim_options *options,
		   const struct sim_sweep *sweep)
{
	struct sim_sweep own = *sweep;
	struct sweep_run run = { .sweep = &own };
	const struct sim_many many = {
		.nr = sweep->nr ? sweep->nr : 1,
		.what = "runs",
		.repeat = sweep->repeat,
		.context = &run,
		.option = run_option,
		.set = run_set,
		.also = sweep->compare ? others_run : NULL,
		.row = row_print,
	};
	struct sim_result *result;
	int code = 1;

	if (sweep_check(t, sweep))
		return EXIT_USAGE;
	if (!sweep->nr)
		snprintf(own.text[0], sizeof(own.text[0]), "%u", t->job->ranks.nr);
	run.others = sim_many_memory(many.nr * sizeof(*run.others));
	result = sim_many_memory(many.nr * sizeof(*result));
	if (run.others && result) {
		head_print(t, sweep);
		code = sim_many_main(t, options, &many, result);
	}
	sim_many_free(run.others, many.nr * sizeof(*run.others));
	sim_many_free(result, many.nr * sizeof(*result));
	return code;
}
