// SPDX-License-Identifier: BSD-3-Clause
// runs.c - runs seeds, twice now and then, and sums up what has happened in them.
#include "tests/sim/runs.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	AGAIN = 8,    /* every so many-th run happens twice */
	FAILURES = 5, /* after which it is enough */
};

struct world runs_world;
/* Of the run that is going on, for a crash. */
static char replay[256];

static void crashed(int sig)
{
	static const char text[] = "sim: a machine crashed; replay: ";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0 &&
	    write(STDERR_FILENO, replay, strlen(replay)) > 0)
		raise(sig);
	_exit(1);
}

void runs_open(void)
{
	const struct sigaction action = { .sa_handler = crashed, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	world_open(&runs_world);
}

void runs_close(void)
{
	world_close(&runs_world);
}

static struct result run(const struct options *o, uint64_t seed)
{
	const char *mutant = o->mutant ? mutant_infos[o->mutant].name : "";

	snprintf(replay, sizeof(replay), "%s --seed %" PRIu64 "%s%s -v\n", o->program, seed,
		 o->mutant ? " --mutant " : "", mutant);
	runs_world.seed = seed;
	runs_world.mutant = o->mutant;
	return world_run(&runs_world);
}

void runs_report(const struct options *o, uint64_t seed, const struct result *result)
{
	const char *dir = getenv("TMPDIR");
	char path[256];

	printf("sim: seed %" PRIu64 ": %s: %s\n", seed, checker_names[result->by], result->why);
	printf("sim: replay: %s", replay);
	snprintf(path, sizeof(path), "%s/tally-sim-%" PRIu64 ".pcap", dir ? dir : "/tmp", seed);
	if (o->one || trace_open(&runs_world.trace, path) < 0)
		return;
	run(o, seed);
	trace_close(&runs_world.trace);
	printf("sim: packets: %s\n", path);
}

static void count(struct totals *t, const struct result *result)
{
	t->runs++;
	t->packets += result->packets;
	t->steps += result->steps;
	t->checked += result->checked;
	t->overs += result->overs;
	t->closed += result->closed;
	if (result->packets > t->most) {
		t->most = result->packets;
		t->most_seed = runs_world.seed;
	}
	t->failures += result->failed;
	for (unsigned i = 0; i < SEEN_NR; i++)
		t->seen[i] += runs_world.seen[i];
	for (unsigned i = 0; i < COUNTER_NR; i++) {
		t->risen[i] += runs_world.counters[i] > 0;
		t->sum[i] += runs_world.counters[i];
	}
}

struct result runs_checked(const struct options *o, uint64_t seed, bool again, struct totals *t)
{
	struct result result = run(o, seed);

	count(t, &result);
	if (again && !result.failed) {
		struct result second = run(o, seed);

		t->packets += second.packets;
		if (second.hash != result.hash) {
			result.failed = true;
			result.by = BY_TRACE;
			t->failures++;
			snprintf(result.why, sizeof(result.why),
				 "two runs differ, trace %016" PRIx64 " and %016" PRIx64,
				 result.hash, second.hash);
		}
	}
	return result;
}

int runs_seeds(const struct options *o, struct totals *t)
{
	for (uint64_t seed = o->first; seed <= o->last && t->failures < FAILURES; seed++) {
		struct result result = runs_checked(o, seed, seed % AGAIN == 0, t);

		if (result.failed && o->brief) {
			printf("sim: seed %" PRIu64 ": %s: %s\n", seed, checker_names[result.by],
			       result.why);
			return 1;
		}
		if (result.failed)
			runs_report(o, seed, &result);
	}
	return t->failures ? 1 : 0;
}

int runs_one(const struct options *o)
{
	static struct totals t;
	struct result result;

	runs_world.trace.text = o->text;
	if (o->pcap && trace_open(&runs_world.trace, o->pcap) < 0)
		return 1;
	result = runs_checked(o, o->first, !o->text && !o->pcap, &t);
	trace_close(&runs_world.trace);
	if (result.failed)
		runs_report(o, o->first, &result);
	if (o->table)
		runs_table(&t);
	printf("sim: seed %" PRIu64 ": %s, %" PRIu64 " packets, %.3f ms, trace %016" PRIx64 "\n",
	       o->first, result.failed ? "FAILED" : "right", result.packets,
	       result.over_ns > SIM_SECOND ? (double)(result.over_ns - SIM_SECOND) / 1e6 : 0.0,
	       result.hash);
	return result.failed;
}

/* --- What has happened ------------------------------------------------------------------------ */

/* What a switch counts before or behind its machine, which is all that is run here. */
static bool counted_elsewhere(unsigned counter)
{
	return counter_infos[counter].class == COUNTER_FORWARD ||
	       (counter >= COUNTER_frame_short && counter_infos[counter].class == COUNTER_DROP &&
		counter != COUNTER_not_mine);
}

void runs_table(const struct totals *t)
{
	printf("sim: coverage, of %" PRIu64 " runs:\n", t->runs);
	for (unsigned i = 0; i < SEEN_NR; i++)
		printf("  %10" PRIu64 "  %s\n", t->seen[i], seen_names[i]);
	printf("sim: counters of the switches: runs and packets\n");
	for (unsigned i = 0; i < COUNTER_NR; i++)
		if (!counted_elsewhere(i))
			printf("  %10" PRIu64 " %12" PRIu64 "  %s\n", t->risen[i], t->sum[i],
			       counter_infos[i].name);
}

unsigned runs_missing(const struct totals *t)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < SEEN_NR; i++)
		if (!t->seen[i]) {
			printf("sim: in none of %" PRIu64 " runs: %s\n", t->runs, seen_names[i]);
			nr++;
		}
	for (unsigned i = 0; i < COUNTER_NR; i++)
		if (!t->risen[i] && !counted_elsewhere(i)) {
			printf("sim: in none of %" PRIu64 " runs: counter %s\n", t->runs,
			       counter_infos[i].name);
			nr++;
		}
	return nr;
}

void runs_summary(const struct totals *t, double seconds)
{
	unsigned kinds = 0, counters = 0;

	for (unsigned i = 0; i < SEEN_NR; i++)
		kinds += t->seen[i] > 0;
	for (unsigned i = 0; i < COUNTER_NR; i++)
		counters += t->risen[i] > 0;
	printf("sim: %u kinds of faults and work of %u, %u counters of the switch\n", kinds,
	       (unsigned)SEEN_NR, counters);
	printf("sim: %" PRIu64 " runs, %" PRIu64 " packets, %.2f M a CPU second, at most %" PRIu64
	       " a run (seed %" PRIu64 "; %" PRIu64 " closed early), %" PRIu64
	       " elements checked, %" PRIu64 " epochs ended by faults, %" PRIu64 " failures\n",
	       t->runs, t->packets, (double)t->packets / seconds / 1e6, t->most, t->most_seed,
	       t->closed, t->checked, t->overs, t->failures);
}
