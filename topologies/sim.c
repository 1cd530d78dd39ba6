// SPDX-License-Identifier: BSD-3-Clause
// A run in virtual time: one thread goes from event to event until all ranks have ended.
#include "topologies/sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host/venue.h"
#include "topologies/program.h"
#include "topologies/say.h"

enum {
	SIM_READS = 100000000, /* of the clock, by a rank that never waits */
	SIM_STUCK = 8,	       /* ranks that are named */
	SIM_LOOK = 16384,      /* steps between looks at the real clock */
	EXIT_TIMEOUT = 124,
};

static const double progress_s = 0.5;

struct sim *sim_now;

uint64_t sim_clock(void)
{
	/* Time goes on only when the rank waits: one that does not would never end. */
	if (sim_now->current && ++sim_now->nr_reads == SIM_READS) {
		say_error("rank %u of job %s asks for the time again and again and never waits",
			  sim_now->current->rank.rank, sim_now->current->rank.job->job->name);
		abort();
	}
	return sim_now->vnet.agenda.now_ns;
}

int sim_chance(void *to, size_t len)
{
	uint8_t *bytes = to;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(vnet_random(&sim_now->vnet) >> 32);
	return 0;
}

/* What joining sent is no part of the jobs' traffic. */
void sim_rank_opened(struct sim *sim)
{
	if (sim->nr_opened++)
		return;
	sim->begin_ns = sim->vnet.agenda.now_ns;
	for (unsigned int i = 0; i < sim->topology->nr_links; i++)
		for (int side = 0; side < 2; side++)
			sim->vnet.link[i].way[side].stats = (struct line_stats){ 0 };
	sim_timeline_begin(sim);
}

static int sim_open(struct sim *sim, const struct topology *t, const struct sim_options *options)
{
	sim->options = options;
	sim->timeline.interval_ns = options->timeline_ns;
	screen_init(&sim->screen);
	sim->topology = t;
	for (unsigned int i = 0; i < t->nr_jobs; i++)
		sim->nr_ranks += t->job[i].ranks.nr;
	sim->jobs = calloc(t->nr_jobs, sizeof(*sim->jobs));
	sim->ranks = calloc(sim->nr_ranks, sizeof(*sim->ranks));
	sim->switches = calloc(t->nr_switches, sizeof(*sim->switches));
	if (!sim->jobs || !sim->ranks || !sim->switches)
		return say_error("not enough memory");
	if (vnet_open(&sim->vnet, t, &options->links, sim->nr_ranks + t->nr_switches + t->nr_jobs))
		return -1;
	sim->vnet.agenda.now_ns = SIM_START_NS;
	for (; sim->nr_jobs < t->nr_jobs; sim->nr_jobs++)
		if (local_job_open(&sim->jobs[sim->nr_jobs], t, &t->job[sim->nr_jobs], sim_clock,
				   sim->screen.progress || options->quiet ? LOCAL_LATER
				   : options->report			  ? LOCAL_KEPT
									  : LOCAL_LIVE))
			return -1;
	return sim_switches_open(sim) || sim_ranks_open(sim) || sim_stops_open(sim) ||
			       sim_page_begin(sim)
		       ? -1
		       : 0;
}

static void sim_close(struct sim *sim)
{
	/* Ranks in the middle of something cannot be made to let go of their memory. */
	static struct sim *kept;

	local_captures_close(&sim->local);
	if (sim->nr_begun > sim->nr_ended || sim->nr_stopped) {
		sim->kept = kept;
		kept = sim;
		return;
	}
	if (sim->switches)
		sim_switches_close(sim);
	if (sim->ranks)
		sim_ranks_close(sim);
	for (unsigned int i = 0; i < sim->nr_jobs; i++)
		local_job_close(&sim->jobs[i]);
	vnet_free(&sim->vnet);
	sim_timeline_free(&sim->timeline);
	free(sim->jobs);
	free(sim->stops);
	free(sim->ranks);
	free(sim->switches);
	free(sim);
}

static void sim_stuck(const struct sim *sim)
{
	unsigned int nr = 0;

	say_error("nothing will happen any more, but %u of %u ranks wait:",
		  sim->nr_ranks - sim->nr_ended, sim->nr_ranks);
	for (unsigned int i = 0; i < sim->nr_ranks && nr < SIM_STUCK; i++) {
		const struct sim_rank *rank = &sim->ranks[i];

		if (rank->ended)
			continue;
		say_line("  rank %u of job %s on %s", rank->rank.rank, rank->rank.job->job->name,
			 rank->rank.node->name);
		nr++;
	}
}

/* A line instead of the rows that come as they are done. */
static void sim_progress(struct sim *sim)
{
	const double now = sim->screen.progress ? clock_s() : 0;
	char text[128];

	if (now < sim->say_s + progress_s)
		return;
	sim->say_s = now;
	snprintf(text, sizeof(text), "%u of %u ranks done, %.6f s of virtual time", sim->nr_done,
		 sim->nr_ranks, (double)(sim->vnet.agenda.now_ns - SIM_START_NS) / 1e9);
	screen_progress(&sim->screen, text);
}

/* The exit code if it did not come to the end of all ranks, 0 if it did. */
static int sim_run(struct sim *sim)
{
	const double limit_s = sim->options->timeout_s;
	const uint64_t end_ns = limit_s > 0 ? SIM_START_NS + (uint64_t)(limit_s * 1e9)
					    : AGENDA_NEVER;

	for (uint64_t i = 0; sim->nr_ended < sim->nr_ranks; i++) {
		if (i % SIM_LOOK == 0)
			sim_progress(sim);
		if (sim->vnet.agenda.now_ns > end_ns) {
			say_error(
				"%u of %u ranks still run after %.9g s of virtual time (--timeout)",
				sim->nr_ranks - sim->nr_ended, sim->nr_ranks, limit_s);
			return EXIT_TIMEOUT;
		}
		if (sim->vnet.first == NULL &&
		    sim_timeline_advance(sim, agenda_next(&sim->vnet.agenda))) {
			say_error("not enough memory for the timeline");
			return 1;
		}
		if (!vnet_step(&sim->vnet)) {
			sim_stuck(sim);
			return 1;
		}
	}
	screen_clear(&sim->screen);
	return 0;
}

static void on_log(void *ctx, int level, const char *text)
{
	(void)ctx;
	(void)level;
	say_line("%.6f s: %s", (double)(sim_clock() - SIM_START_NS) / 1e9, text);
}

static void on_signal(int sig)
{
	(void)sig;
	perf_interrupted = 1;
}

int sim_main(const struct topology *t, const struct sim_options *options)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	const struct venue before = venue;
	struct sim *sim = calloc(1, sizeof(*sim));
	int code = 1;

	if (!sim) {
		say_error("not enough memory");
		return code;
	}
	sim_now = sim;
	venue = (struct venue){
		.clock = sim_clock,
		.random = sim_chance,
		.pause = sim_pause,
		.transport = &sim_transport,
	};
	tally_set_log(on_log, NULL);
	sigaction(SIGINT, &action, NULL);
	if (options->record && options->record->dir)
		program_limits_raise(); // two files for each port
	if (sim_open(sim, t, options) == 0) {
		code = sim_run(sim);
		if (code == 0)
			code = sim_page_write(sim, sim_report(sim));
	}
	sim_close(sim);
	tally_set_log(NULL, NULL);
	venue = before;
	sim_now = NULL;
	return code;
}
