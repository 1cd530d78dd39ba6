// SPDX-License-Identifier: BSD-3-Clause
// Packets in each interval of a run in virtual time, from the counters of the ranks.
#include "topologies/sim_timeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "host/venue.h"
#include "topologies/sim.h"

/* Those that have left have their last counters. */
static struct timeline_sample sample_take(const struct sim *sim)
{
	struct timeline_sample sum = { 0 };

	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		const struct local_rank *rank = &sim->ranks[i].rank;
		struct tally_stats stats = rank->stats;

		if (rank->perf.comm)
			venue_stats(rank->perf.comm, &stats);
		sum.sent += stats.tx_packets;
		sum.again += stats.retransmits;
		sum.received += stats.rx_packets;
	}
	return sum;
}

void sim_timeline_begin(struct sim *sim)
{
	struct timeline *line = &sim->timeline;

	if (!line->interval_ns)
		return;
	line->from = sample_take(sim);
	line->next_ns = sim->vnet.agenda.now_ns + line->interval_ns;
}

static int sample_add(struct timeline *line, struct timeline_sample sample)
{
	struct timeline_sample *more;

	if (line->nr == TIMELINE_MAX) {
		line->sample[line->nr - 1] = sample;
		return 0;
	}
	if (line->nr == line->room) {
		line->room = line->room ? 2 * line->room : 64;
		more = realloc(line->sample, line->room * sizeof(*more));
		if (!more)
			return -1;
		line->sample = more;
	}
	line->sample[line->nr++] = sample;
	return 0;
}

int sim_timeline_advance(struct sim *sim, uint64_t at_ns)
{
	struct timeline *line = &sim->timeline;
	struct timeline_sample sample;

	if (!line->next_ns || at_ns == AGENDA_NEVER || line->next_ns > at_ns)
		return 0;
	sample = sample_take(sim); // nothing happens before at_ns
	for (; line->next_ns <= at_ns; line->next_ns += line->interval_ns) {
		if (sample_add(line, sample))
			return -1;
		if (line->nr == TIMELINE_MAX)
			line->next_ns = at_ns;
	}
	return 0;
}

/* What a rank's leaving takes back is not counted twice. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void sim_timeline_print(struct sim *sim)
{
	struct timeline *line = &sim->timeline;
	struct timeline_sample before = line->from;

	if (!line->next_ns)
		return;
	(void)sample_add(line, sample_take(sim)); // the last interval has no end
	printf("\n# timeline: packets of all ranks in intervals of %.9g us, from the first rank's "
	       "joining\n#%11s %10s %10s %10s\n",
	       (double)line->interval_ns / 1e3, "from us", "sent", "again", "received");
	for (uint32_t i = 0; i < line->nr; i++) {
		const struct timeline_sample *s = &line->sample[i];

		printf("%12.9g %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
		       (double)i * (double)line->interval_ns / 1e3, since(s->sent, before.sent),
		       since(s->again, before.again), since(s->received, before.received));
		before = *s;
	}
}

void sim_timeline_free(struct timeline *timeline)
{
	free(timeline->sample);
}
