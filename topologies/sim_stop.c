// SPDX-License-Identifier: BSD-3-Clause
// Jobs that are ended at their time: their ranks run no more, from one moment to the next, like processes that are killed.
#include <stdlib.h>

#include "host/venue.h"
#include "topologies/say.h"
#include "topologies/sim.h"

struct sim_stop {
	struct event event;
	struct sim *sim;
	const struct local_job *job;
};

/* It stays in the middle of what it did. */
static void rank_stop(struct sim_rank *rank)
{
	struct sim *sim = rank->sim;

	agenda_clear(&sim->vnet.agenda, &rank->actor.event);
	sim_rank_detach(rank);
	if (rank->rank.opened)
		venue_stats(rank->rank.perf.comm, &rank->rank.stats);
	rank->rank.stopped = true;
	rank->ended = true;
	rank->done_ns = sim->vnet.agenda.now_ns;
	if (rank->rank.opened)
		sim->end_ns = rank->done_ns;
	sim->nr_ended++;
	sim->nr_stopped++;
}

static void stop_fire(struct event *event)
{
	const struct sim_stop *stop = (struct sim_stop *)event;
	struct sim *sim = stop->sim;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		if (sim->ranks[i].rank.job != stop->job || sim->ranks[i].ended)
			continue;
		rank_stop(&sim->ranks[i]);
		nr++;
	}
	if (nr)
		local_job_say_stopped(stop->job->job, nr);
}

int sim_stops_open(struct sim *sim)
{
	sim->stops = calloc(sim->nr_jobs, sizeof(*sim->stops));
	if (!sim->stops)
		return say_error("not enough memory");
	for (unsigned int i = 0; i < sim->nr_jobs; i++) {
		const struct topology_job *job = sim->jobs[i].job;

		sim->stops[i] = (struct sim_stop){ .event = { .fire = stop_fire },
						   .sim = sim,
						   .job = &sim->jobs[i] };
		if (job->stop_ns)
			agenda_set(&sim->vnet.agenda, &sim->stops[i].event,
				   sim->vnet.agenda.now_ns + SIM_BOOT_NS + job->stop_ns);
	}
	return 0;
}
