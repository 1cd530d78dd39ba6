// SPDX-License-Identifier: BSD-3-Clause
// sim.c - runs seeds through the simulator, replays one, or shows what the checkers catch.
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/mutant.h"
#include "tests/sim/sim.h"

enum {
	SEEDS = 500,	     /* if not told */
	MUTANT_SEEDS = 2000, /* after which a mutant is not caught */
	AGAIN = 8,	     /* every so many-th run happens twice */
	FAILURES = 5,	     /* after which it is enough */
};

static const char regressions[] = "tests/sim/seeds.txt";
static const char usage[] =
	"usage: sim [--seeds N|A..B] [--seed S] [-v] [--pcap FILE] [--trees] [--mutant M] [--mutants]\n"
	"  --seeds N|A..B  runs the seeds 1 to N, or A to B (default: $SEEDS, or 500)\n"
	"  --seed S        runs one seed\n"
	"  -v              prints its trace, a packet a line\n"
	"  --pcap FILE     writes its packets, for Wireshark and tcpdump\n"
	"  --mutant M      breaks a rule on purpose (--mutants lists them)\n"
	"  --trees         a third of the seeds draw trees of switches\n"
	"  --mutants       runs every mutant until it is caught\n"
	"Without options: the seeds of tests/sim/seeds.txt, $SEEDS others, and all mutants.\n";

struct options {
	const char *program, *pcap;
	uint64_t first, last;
	unsigned mutant;
	bool one, text, mutants, all;
};

struct totals {
	uint64_t runs, packets, steps, checked, overs, most, failures;
};

static struct world world;
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

static void replay_set(const struct options *o, uint64_t seed)
{
	int len = snprintf(replay, sizeof(replay), "%s --seed %" PRIu64, o->program, seed);

	if (world.trees && len > 0 && (size_t)len < sizeof(replay))
		snprintf(replay + len, sizeof(replay) - (size_t)len, " --trees");
	len = (int)strlen(replay);
	if (o->mutant && (size_t)len < sizeof(replay))
		snprintf(replay + len, sizeof(replay) - (size_t)len, " --mutant %u", o->mutant);
	len = (int)strlen(replay);
	snprintf(replay + len, sizeof(replay) - (size_t)len, " -v\n");
}

static struct result run(const struct options *o, uint64_t seed)
{
	if (!o->mutants)
		replay_set(o, seed);
	world.seed = seed;
	world.mutant = o->mutant;
	return world_run(&world);
}

/* The run once more, into a capture file. */
static void report(const struct options *o, uint64_t seed, const struct result *result)
{
	const char *dir = getenv("TMPDIR");
	char path[256];

	printf("sim: seed %" PRIu64 ": %s\n", seed, result->why);
	printf("sim: replay: %s", replay);
	snprintf(path, sizeof(path), "%s/tally-sim-%" PRIu64 ".pcap", dir ? dir : "/tmp", seed);
	if (o->one || trace_open(&world.trace, path) < 0)
		return;
	run(o, seed);
	trace_close(&world.trace);
	printf("sim: packets: %s\n", path);
}

static void count(struct totals *t, const struct result *result)
{
	t->runs++;
	t->packets += result->packets;
	t->steps += result->steps;
	t->checked += result->checked;
	t->overs += result->overs;
	t->most = result->packets > t->most ? result->packets : t->most;
	t->failures += result->failed;
}

/* A run, and perhaps the same again, which must be the same. */
static struct result run_checked(const struct options *o, uint64_t seed, bool again,
				 struct totals *t)
{
	struct result result = run(o, seed);

	count(t, &result);
	if (again && !result.failed) {
		struct result second = run(o, seed);

		t->packets += second.packets;
		if (second.hash != result.hash) {
			result.failed = true;
			t->failures++;
			snprintf(result.why, sizeof(result.why),
				 "two runs differ, trace %016" PRIx64 " and %016" PRIx64,
				 result.hash, second.hash);
		}
	}
	return result;
}

static int run_seeds(const struct options *o, struct totals *t)
{
	for (uint64_t seed = o->first; seed <= o->last && t->failures < FAILURES; seed++) {
		struct result result = run_checked(o, seed, seed % AGAIN == 0, t);

		if (result.failed)
			report(o, seed, &result);
	}
	return t->failures ? 1 : 0;
}

static int run_one(const struct options *o)
{
	struct totals t = { 0 };
	struct result result;

	world.trace.text = o->text;
	if (o->pcap && trace_open(&world.trace, o->pcap) < 0)
		return 1;
	result = run_checked(o, o->first, !o->text && !o->pcap, &t);
	trace_close(&world.trace);
	if (result.failed)
		report(o, o->first, &result);
	printf("sim: seed %" PRIu64 ": %s, %" PRIu64 " packets, %.3f ms, trace %016" PRIx64 "\n",
	       o->first, result.failed ? "FAILED" : "right", result.packets,
	       (double)(result.over_ns - SIM_SECOND) / 1e6, result.hash);
	return result.failed;
}

/* Each line of the file begins with a seed that failed once. */
static int run_regressions(const struct options *o, struct totals *t)
{
	FILE *file = fopen(regressions, "r");
	char line[256];

	if (!file) {
		fprintf(stderr, "sim: cannot read %s; run it from the root of the sources\n",
			regressions);
		return 1;
	}
	while (fgets(line, sizeof(line), file)) {
		char *end;
		uint64_t seed = strtoull(line, &end, 10);
		struct result result;

		if (end == line)
			continue;
		result = run_checked(o, seed, true, t);
		if (result.failed)
			report(o, seed, &result);
	}
	fclose(file);
	return t->failures ? 1 : 0;
}

/* --- Mutants ---------------------------------------------------------------------------------- */

static bool mutant_caught(struct options *o, uint64_t *runs, char *why, size_t size)
{
	struct totals t = { 0 };

	*runs = MUTANT_SEEDS;
	for (uint64_t seed = 1; seed <= MUTANT_SEEDS; seed++) {
		struct result result = run_checked(o, seed, o->mutant == MUTANT_CLOCK, &t);

		if (!result.failed)
			continue;
		*runs = seed;
		snprintf(why, size, "%.150s", result.why);
		return true;
	}
	return false;
}

static int run_mutants(struct options *o)
{
	unsigned wrong = 0;

	snprintf(replay, sizeof(replay), "%s --mutants\n", o->program);
	for (o->mutant = MUTANT_SOUND; o->mutant < MUTANT_NR; o->mutant++) {
		char why[160] = "";
		uint64_t runs;
		bool caught = mutant_caught(o, &runs, why, sizeof(why));
		bool right = caught == (o->mutant != MUTANT_SOUND);

		wrong += !right;
		printf("sim: mutant %2u, %s: %s after %" PRIu64 " runs%s%s\n", o->mutant,
		       mutant_names[o->mutant], caught ? "caught" : "not caught", runs,
		       caught ? ": " : "", why);
	}
	o->mutant = MUTANT_NONE;
	printf("sim: %u mutants, %u not as they should be\n", MUTANT_NR - MUTANT_SOUND, wrong);
	return wrong ? 1 : 0;
}

/* --- Options ---------------------------------------------------------------------------------- */

static bool seeds_parse(const char *text, uint64_t *first, uint64_t *last)
{
	char *end;

	*first = strtoull(text, &end, 10);
	if (end == text)
		return false;
	if (strncmp(end, "..", 2) == 0) {
		text = end + 2;
		*last = strtoull(text, &end, 10);
		return end != text && !*end && *first <= *last;
	}
	*last = *first;
	*first = 1;
	return !*end && *last >= 1;
}

static int options_parse(struct options *o, int argc, char **argv)
{
	static const struct option table[] = {
		{ "seeds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "pcap", required_argument, NULL, 'p' },
		{ "mutant", required_argument, NULL, 'm' },
		{ "mutants", no_argument, NULL, 'M' },
		{ "trees", no_argument, NULL, 't' },

		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *seeds = getenv("SEEDS");
	int c;

	*o = (struct options){ .program = argv[0], .first = 1, .last = SEEDS, .all = argc == 1 };
	if (seeds && *seeds && !seeds_parse(seeds, &o->first, &o->last)) {
		fprintf(stderr, "sim: SEEDS=%s is neither a number nor a range A..B\n", seeds);
		return -1;
	}
	while ((c = getopt_long(argc, argv, "v", table, NULL)) != -1) {
		if (c == 'n' && seeds_parse(optarg, &o->first, &o->last))
			continue;
		if (c == 's') {
			o->one = true;
			o->first = o->last = strtoull(optarg, NULL, 10);
		} else if (c == 'p') {
			o->pcap = optarg;
		} else if (c == 'm' && atoi(optarg) > 0 && atoi(optarg) < MUTANT_NR) {
			o->mutant = (unsigned)atoi(optarg);
		} else if (c == 'M') {
			o->mutants = true;
		} else if (c == 't') {
			world.trees = true;
		} else if (c == 'v') {
			o->text = true;
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 1 : -1;
		}
	}
	if (optind == argc && (o->one || (!o->text && !o->pcap)))
		return 0;
	fputs(usage, stderr);
	return -1;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_all(struct options *o)
{
	struct totals t = { 0 };
	int rc = 0;
	double seconds;

	if (o->all) {
		o->mutants = true;
		rc = run_mutants(o);
		o->mutants = false;
		rc |= run_regressions(o, &t);
	}
	seconds = cpu_seconds();
	t.packets = 0;
	rc |= run_seeds(o, &t);
	seconds = cpu_seconds() - seconds;
	printf("sim: %" PRIu64 " runs, %" PRIu64 " packets, %.2f M a CPU second, at most %" PRIu64
	       " a run, %" PRIu64 " elements checked, %" PRIu64 " epochs ended by faults, %" PRIu64
	       " failures\n",
	       t.runs, t.packets, (double)t.packets / seconds / 1e6, t.most, t.checked, t.overs,
	       t.failures);
	return rc;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = crashed, .sa_flags = (int)SA_RESETHAND };
	struct options o;
	int rc = options_parse(&o, argc, argv);

	if (rc)
		return rc > 0 ? 0 : 2;
	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	world_open(&world);
	if (o.mutants)
		rc = run_mutants(&o);
	else if (o.one)
		rc = run_one(&o);
	else
		rc = run_all(&o);
	world_close(&world);
	return rc;
}
