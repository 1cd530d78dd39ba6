// SPDX-License-Identifier: BSD-3-Clause
// What a run in virtual time puts into the page about it.
#include <string.h>

#include "topologies/report.h"
#include "topologies/sim.h"

enum { PAGE_SAMPLES = 1000, PAGE_INTERVAL_NS = 1000 };

int sim_page_begin(struct sim *sim)
{
	struct report *report = sim->options->report;

	if (!report || !report->dir)
		return 0;
	if (report_ranks(report))
		return -1;
	for (unsigned int i = 0; i < sim->nr_ranks; i++)
		sim->ranks[i].rank.perf.history = &report->rank[i].history;
	if (sim->timeline.interval_ns)
		return 0;
	/* As long as the run is long. */
	sim->timeline.interval_ns = PAGE_INTERVAL_NS;
	sim->timeline.most = PAGE_SAMPLES;
	return 0;
}

int sim_page_write(struct sim *sim, int code)
{
	struct report *report = sim->options->report;

	if (!report || !report->dir)
		return code;
	report->fabric = "virtual time";
	report->done = "From when the first rank of all had joined.";
	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		const struct sim_rank *rank = &sim->ranks[i];
		struct report_rank *to = &report->rank[i];

		to->ran = true;
		to->code = rank->rank.result ? 1 : 0;
		if (!rank->rank.opened)
			continue;
		report_rank_learn(to);
		to->done_s = (double)(rank->done_ns - sim->begin_ns) / 1e9;
		to->sent = rank->rank.stats.tx_packets;
		to->again = rank->rank.stats.retransmits;
		to->received = rank->rank.stats.rx_packets;
		to->window = rank->rank.stats.window;
		to->rtt_ns = rank->rank.stats.rtt_ns;
	}
	for (unsigned int i = 0; i < sim->nr_jobs; i++)
		local_job_report(&sim->jobs[i], report);
	report->timeline = sim->timeline;
	sim->timeline = (struct timeline){ .sample = NULL };
	return report_write(report, code);
}
