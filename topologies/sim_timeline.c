// SPDX-License-Identifier: BSD-3-Clause
// Packets in each interval of a run in virtual time, from the counters of the ranks.
#include "topologies/sim_timeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "host/venue.h"
#include "topologies/sim.h"

static void range_add(double range[3], uint32_t nr, double value)
{
	range[0] = !nr || value < range[0] ? value : range[0];
	range[1] += value;
	range[2] = value > range[2] ? value : range[2];
}

void timeline_sample_add(struct timeline_sample *sample, double window, double rtt_us)
{
	range_add(sample->window, sample->nr++, window);
	if (rtt_us > 0)
		range_add(sample->rtt_us, sample->nr_rtt++, rtt_us);
}

/* Those that have left have their last counters. */
static struct timeline_sample sample_take(const struct sim *sim)
{
	struct timeline_sample sum = { .nr = 0 };

	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		const struct local_rank *rank = &sim->ranks[i].rank;
		struct tally_stats stats = rank->stats;

		if (rank->perf.comm) {
			venue_stats(rank->perf.comm, &stats);
			timeline_sample_add(&sum, stats.window, (double)stats.rtt_ns / 1e3);
		}
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

int timeline_add(struct timeline *line, struct timeline_sample sample)
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

/* Each tenth, at whose end an interval of ten times the length would end. */
static void timeline_widen(struct timeline *line)
{
	for (uint32_t i = 0; i < line->nr / 10; i++)
		line->sample[i] = line->sample[10 * i + 9];
	line->nr /= 10;
	line->interval_ns *= 10;
}

int sim_timeline_advance(struct sim *sim, uint64_t at_ns)
{
	struct timeline *line = &sim->timeline;
	struct timeline_sample sample;

	if (!line->next_ns || at_ns == AGENDA_NEVER || line->next_ns > at_ns)
		return 0;
	sample = sample_take(sim); // nothing happens before at_ns
	for (; line->next_ns <= at_ns; line->next_ns += line->interval_ns) {
		if (timeline_add(line, sample))
			return -1;
		if (line->nr == TIMELINE_MAX)
			line->next_ns = at_ns;
		if (line->nr == line->most)
			timeline_widen(line);
	}
	return 0;
}

void sim_timeline_end(struct sim *sim)
{
	if (sim->timeline.next_ns)
		(void)timeline_add(&sim->timeline,
				   sample_take(sim)); // the last interval has no end
}

uint64_t timeline_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void sim_timeline_print(const struct sim *sim, FILE *out)
{
	const struct timeline *line = &sim->timeline;
	struct timeline_sample before = line->from;

	if (!line->nr || !sim->options->timeline_ns)
		return;
	fprintf(out,
		"\n# timeline: packets of all ranks in intervals of %.9g us, from the first rank's "
		"joining\n#%11s %10s %10s %10s\n",
		(double)line->interval_ns / 1e3, "from us", "sent", "again", "received");
	for (uint32_t i = 0; i < line->nr; i++) {
		const struct timeline_sample *s = &line->sample[i];

		fprintf(out, "%12.9g %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
			(double)i * (double)line->interval_ns / 1e3,
			timeline_since(s->sent, before.sent),
			timeline_since(s->again, before.again),
			timeline_since(s->received, before.received));
		before = *s;
	}
}

void sim_timeline_free(struct timeline *timeline)
{
	free(timeline->sample);
}
