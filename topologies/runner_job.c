// SPDX-License-Identifier: BSD-3-Clause
// The jobs of a run: each starts and is ended at its times, which count from when the switches serve.
#include <signal.h>
#include <stdlib.h>

#include "topologies/runner.h"
#include "topologies/say.h"

static const double kill_s = 5; // from the request to end until it is enforced

static bool job_has(const struct runner_job *j, const struct runner_rank *k)
{
	return k->job == j->job && k->program.pid != 0;
}

static void job_start(struct runner *r, struct runner_job *j)
{
	j->start_at = 0;
	for (unsigned int k = 0; k < j->job->ranks.nr; k++) {
		if (runner_rank_start(r, j->job, k) == 0)
			continue;
		r->failed = true;
		runner_jobs_cancel(r);
		runner_ranks_signal(r, SIGKILL);
		return;
	}
	say_note("job %s started", j->job->name);
}

// It did what it was told to, so that how its ranks end is no failure.
static void job_stop(struct runner *r, struct runner_job *j)
{
	unsigned int nr = 0;

	j->stop_at = 0;
	for (unsigned int i = 0; i < r->nr_ranks; i++) {
		struct runner_rank *k = &r->rank[i];

		if (!job_has(j, k))
			continue;
		k->stopped = true;
		program_signal(&k->program, SIGTERM);
		nr++;
	}
	if (!nr)
		return;
	screen_say(&r->screen, "job %s is ended after %g s, as the file says: %u of %u ranks ran",
		   j->job->name, (double)j->job->stop_ns / 1e9, nr, j->job->ranks.nr);
	j->kill_at = clock_s() + kill_s;
}

static void job_kill(struct runner *r, struct runner_job *j)
{
	j->kill_at = 0;
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		if (job_has(j, &r->rank[i]))
			program_signal(&r->rank[i].program, SIGKILL);
}

int runner_jobs_start(struct runner *r)
{
	const struct topology *t = r->options->topology;

	r->job = calloc(t->nr_jobs, sizeof(*r->job));
	if (!r->job)
		return say_error("not enough memory");
	r->nr_jobs = t->nr_jobs;
	for (unsigned int i = 0; i < r->nr_jobs; i++) {
		const struct topology_job *j = &t->job[i];

		r->job[i] = (struct runner_job){ .job = j };
		r->job[i].start_at = r->begin_s + (double)j->start_ns / 1e9;
		if (j->stop_ns)
			r->job[i].stop_at = r->begin_s + (double)j->stop_ns / 1e9;
	}
	runner_jobs_check(r);
	return r->failed ? -1 : 0;
}

void runner_jobs_check(struct runner *r)
{
	double now = clock_s();

	for (unsigned int i = 0; i < r->nr_jobs; i++) {
		struct runner_job *j = &r->job[i];

		if (j->start_at > 0 && now >= j->start_at)
			job_start(r, j);
		if (j->stop_at > 0 && now >= j->stop_at)
			job_stop(r, j);
		if (j->kill_at > 0 && now >= j->kill_at)
			job_kill(r, j);
	}
}

static double time_earlier(double a, double b)
{
	return b > 0 && (a <= 0 || b < a) ? b : a;
}

double runner_jobs_next(const struct runner *r)
{
	double at = 0;

	for (unsigned int i = 0; i < r->nr_jobs; i++) {
		at = time_earlier(at, r->job[i].start_at);
		at = time_earlier(at, r->job[i].stop_at);
		at = time_earlier(at, r->job[i].kill_at);
	}
	return at;
}

unsigned int runner_jobs_awaited(const struct runner *r)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->nr_jobs; i++)
		nr += r->job[i].start_at > 0;
	return nr;
}

void runner_jobs_cancel(struct runner *r)
{
	for (unsigned int i = 0; i < r->nr_jobs; i++) {
		if (r->job[i].start_at > 0)
			screen_say(&r->screen, "job %s is not started any more",
				   r->job[i].job->name);
		r->job[i].start_at = 0;
	}
}
