// SPDX-License-Identifier: BSD-3-Clause
// The end of a run in virtual time: what happened on the links, and how fast the jobs were.
//
// The same run prints the same bytes: what depends on the machine is only said with -v.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "topologies/report.h"
#include "topologies/say.h"
#include "topologies/sim.h"

/* The least, the mean and the most of some numbers. */
struct range {
	double least, sum, most;
	unsigned int nr;
};

static void range_add(struct range *r, double value)
{
	r->least = !r->nr || value < r->least ? value : r->least;
	r->most = !r->nr || value > r->most ? value : r->most;
	r->sum += value;
	r->nr++;
}

static double range_mean(const struct range *r)
{
	return r->nr ? r->sum / r->nr : 0;
}

static void range_print(FILE *out, const char *what, const struct range *r, const char *unit)
{
	fprintf(out, "  %-34s %12.6g  %12.6g  %12.6g  %s\n", what, r->least, range_mean(r), r->most,
		unit);
}

/* --- Jobs --------------------------------------------------------------------------------------- */

struct job_sum {
	struct range done_us, speed, rtt_us, window;
	uint64_t sent, again, received, dropped;
	unsigned int nr_failed, nr_stopped;
};

static void rank_add(const struct sim *sim, const struct sim_rank *rank, struct job_sum *sum)
{
	const struct perf_rank *perf = &rank->rank.perf;
	const struct tally_stats *stats = &rank->rank.stats;
	const double seconds = (double)perf->totals.time_ns / 1e9;
	const uint32_t bytes = perf_data_bytes(rank->rank.job->options.dtypes[0]);

	sum->nr_stopped += rank->rank.stopped;
	if (!rank->rank.opened) {
		sum->nr_failed += !rank->rank.stopped;
		return;
	}
	sum->nr_failed += rank->rank.result != 0;
	range_add(&sum->done_us, (double)(rank->done_ns - sim->begin_ns) / 1e3);
	if (seconds > 0)
		range_add(&sum->speed, (double)perf->totals.bytes / bytes / seconds);
	range_add(&sum->rtt_us, (double)stats->rtt_ns / 1e3);
	range_add(&sum->window, stats->window);
	sum->sent += stats->tx_packets;
	sum->again += stats->retransmits;
	sum->received += stats->rx_packets;
	sum->dropped += stats->dropped;
}

static int job_report(const struct sim *sim, const struct local_job *job, FILE *out)
{
	struct job_sum sum = { .sent = 0 };

	for (unsigned int i = 0; i < sim->nr_ranks; i++)
		if (sim->ranks[i].rank.job == job)
			rank_add(sim, &sim->ranks[i], &sum);
	fprintf(out, "\n%-36s %12s  %12s  %12s\n", job->job->name, "least", "mean", "most");
	range_print(out, "completion", &sum.done_us, "us after the first rank had joined");
	range_print(out, "elements aggregated per worker", &sum.speed, "per second");
	range_print(out, "round trip", &sum.rtt_us, "us, the lowest lately");
	range_print(out, "window", &sum.window, "chunks at the end");
	fprintf(out,
		"  packets sent %" PRIu64 ", of these again %" PRIu64 "; received %" PRIu64
		", of these not taken %" PRIu64 "\n",
		sum.sent, sum.again, sum.received, sum.dropped);
	if (sum.nr_stopped)
		fprintf(out, "  ended after %g s, as the file says: %u of %u ranks ran\n",
			(double)job->job->stop_ns / 1e9, sum.nr_stopped, job->job->ranks.nr);
	if (sum.nr_failed)
		fprintf(out, "  %u of %u ranks failed\n", sum.nr_failed, job->job->ranks.nr);
	return sum.nr_failed ? 1 : 0;
}

/* --- Links -------------------------------------------------------------------------------------- */

enum link_kind { HOST_UP, HOST_DOWN, SWITCH_UP, SWITCH_DOWN, OTHER, LINK_KINDS };

static const char *const link_names[LINK_KINDS] = { "host to switch", "switch to host", "switch up",
						    "switch down", "others" };

static enum link_kind link_kind(const struct topology *t, unsigned int from, unsigned int to)
{
	const struct topology_node *a = &t->node[from], *b = &t->node[to];

	if (a->is_switch && b->is_switch)
		return a->parent == to ? SWITCH_UP : SWITCH_DOWN;
	if (!a->is_switch && b->is_switch)
		return HOST_UP;
	return a->is_switch ? HOST_DOWN : OTHER;
}

struct link_sum {
	struct range use; /* percent */
	uint64_t packets, bytes, dropped;
	uint32_t deepest;
	uint64_t deepest_bytes;
};

static double line_use(const struct line *line, double seconds)
{
	return seconds > 0 ? 100 * 8.0 * (double)line->stats.bytes / (double)line->rate / seconds
			   : 0;
}

static void line_add(struct link_sum *sum, const struct line *line, double seconds)
{
	const struct line_stats *stats = &line->stats;

	range_add(&sum->use, line_use(line, seconds));
	sum->packets += stats->packets;
	sum->bytes += stats->bytes;
	sum->dropped += stats->dropped;
	if (stats->deepest > sum->deepest)
		sum->deepest = stats->deepest;
	if (stats->deepest_bytes > sum->deepest_bytes)
		sum->deepest_bytes = stats->deepest_bytes;
}

static void links_report(const struct sim *sim, FILE *out)
{
	const struct topology *t = sim->topology;
	const double seconds = (double)(sim->end_ns - sim->begin_ns) / 1e9;
	struct link_sum sum[LINK_KINDS] = { { .packets = 0 } };

	for (unsigned int i = 0; i < t->nr_links; i++)
		for (int side = 0; side < 2; side++)
			line_add(&sum[link_kind(t, t->link[i].end[side].node,
						t->link[i].end[1 - side].node)],
				 &sim->vnet.link[i].way[side], seconds);
	fprintf(out,
		"\n%-15s  number  %% used: least    mean    most       packets    megabytes  "
		"dropped  deepest queue\n",
		"links");
	for (int k = 0; k < LINK_KINDS; k++)
		if (sum[k].use.nr)
			fprintf(out,
				"%-15s  %6u  %13.2f  %6.2f  %6.2f  %12" PRIu64 " %12.3f %8" PRIu64
				"  %u packets, %" PRIu64 " bytes\n",
				link_names[k], sum[k].use.nr, sum[k].use.least,
				range_mean(&sum[k].use), sum[k].use.most, sum[k].packets,
				(double)sum[k].bytes / 1e6, sum[k].dropped, sum[k].deepest,
				sum[k].deepest_bytes);
}

/* What the machine that computed it has to do with. */
static void cost_note(const struct sim *sim)
{
	uint64_t packets = 0;
	struct timespec cpu;
	double seconds;

	for (unsigned int i = 0; i < sim->topology->nr_links; i++)
		for (int side = 0; side < 2; side++)
			packets += sim->vnet.link[i].way[side].stats.packets;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
	say_note("%" PRIu64 " packets in %.2f s of CPU time, %.0f a second; %" PRIu64
		 " packets at the same time at most",
		 packets, seconds, (double)packets / seconds, sim->vnet.pool.nr_made);
}

static void result_fill_use(const struct sim *sim, struct sim_result *result)
{
	const struct topology *t = sim->topology;
	const double seconds = (double)(sim->end_ns - sim->begin_ns) / 1e9;
	struct range hosts = { .nr = 0 }, all = { .nr = 0 };

	for (unsigned int i = 0; i < 2 * t->nr_links; i++) {
		const struct topology_link *link = &t->link[i / 2];
		const double use = line_use(&sim->vnet.link[i / 2].way[i % 2], seconds);

		range_add(&all, use);
		if (!t->node[link->end[i % 2].node].is_switch)
			range_add(&hosts, use);
	}
	result->use_hosts = range_mean(&hosts);
	result->use_most = all.most;
}

/* Of several jobs it is one over theirs. */
static void result_hash(const struct sim *sim, struct sim_result *result, uint64_t hash)
{
	result->hash = sim->nr_jobs == 1 ? hash : perf_data_hash(result->hash, &hash, sizeof(hash));
}

static void result_fill(const struct sim *sim, struct sim_result *result)
{
	struct job_sum sum = { .sent = 0 };
	double time_us = 0;

	result->done = true;
	result->completion_us = (double)(sim->end_ns - sim->begin_ns) / 1e3;
	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		rank_add(sim, &sim->ranks[i], &sum);
		time_us += (double)sim->ranks[i].rank.perf.totals.time_ns / 1e3;
		if (sim->ranks[i].rank.rank == 0 && !sim->ranks[i].rank.stopped)
			result_hash(sim, result, sim->ranks[i].rank.perf.hash);
	}
	result->again = sum.again;
	result->elements_s = range_mean(&sum.speed);
	result->time_us = time_us / sim->nr_ranks;
	result_fill_use(sim, result);
}

/* On stdout, and into a page. */
static int tables_say(struct sim *sim)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int code = 0;

	if (!out)
		return say_error("not enough memory");
	for (unsigned int i = 0; i < sim->nr_jobs; i++)
		code |= job_report(sim, &sim->jobs[i], out);
	if (sim->nr_opened)
		links_report(sim, out);
	sim_timeline_print(sim, out);
	if (fclose(out))
		code = say_error("not enough memory");
	else if (!sim->options->quiet)
		fwrite(text, 1, len, stdout);
	if (sim->options->report && text)
		report_text(sim->options->report, "jobs and links", text, len);
	free(text);
	return code;
}

int sim_report(struct sim *sim)
{
	int code;

	for (unsigned int i = 0; i < sim->nr_jobs; i++)
		if (!sim->options->quiet)
			local_job_print(&sim->jobs[i]);
	for (unsigned int i = 0; i < sim->nr_ranks; i++) {
		const struct sim_rank *rank = &sim->ranks[i];

		if (rank->rank.why[0])
			say_error("rank %u of job %s: %s", rank->rank.rank,
				  rank->rank.job->job->name, rank->rank.why);
	}
	sim_timeline_end(sim);
	code = tables_say(sim) ? 1 : 0;
	cost_note(sim);
	if (sim->options->result)
		result_fill(sim, sim->options->result);
	return code;
}
