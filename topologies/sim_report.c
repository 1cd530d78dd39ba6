// SPDX-License-Identifier: BSD-3-Clause
// The end of a run in virtual time: what happened on the links, and how fast the jobs were.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "topologies/say.h"
#include "topologies/sim.h"

int sim_report(struct sim *sim)
{
	int code = 0;

	for (unsigned int i = 0; i < sim->nr_jobs; i++)
		local_job_print(&sim->jobs[i]);
	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		const struct sim_rank *rank = &sim->ranks[i];

		if (rank->rank.why[0])
			say_error("rank %u of job %s: %s", rank->rank.rank,
				  rank->rank.job->job->name, rank->rank.why);
		code |= rank->rank.result != 0;
	}
	return code;
}
