// SPDX-License-Identifier: BSD-3-Clause
// sim.c - runs seeds through the simulator, replays one, or shows what the checkers catch.
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/runs.h"

#define SEEDS_WANT "want N, from 1 on, or A..B with A not above B"

enum { SEEDS = 500 /* if not told; all that can happen does in so many */ };

static const char usage[] =
	"usage: sim [--seeds N|A..B] [--seed S] [-v] [--pcap FILE] [--brief] [--coverage]\n"
	"           [--mutant NAME] [--mutants]\n"
	"  --seeds N|A..B  runs the seeds 1 to N, or A to B (default: $SEEDS, or 500)\n"
	"  --seed S        runs one seed\n"
	"  -v              prints its trace, a packet a line\n"
	"  --pcap FILE     writes its packets, for Wireshark and tcpdump\n"
	"  --brief         the first failure is the last thing\n"
	"  --coverage      prints what has happened, in how many runs\n"
	"  --mutant NAME   breaks a rule on purpose (--mutants lists them)\n"
	"  --mutants       runs every mutant until its checker has caught it; with --seeds these\n"
	"                  seeds, and says who catches it how often\n"
	"Without options: the runs of tests/sim/seeds.txt, and $SEEDS seeds.\n";

/* A whole number; NULL: none, otherwise what is behind it. */
static const char *number_parse(const char *text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno ? NULL : end;
}

static bool seeds_parse(const char *text, uint64_t *first, uint64_t *last)
{
	const char *end = number_parse(text, first);

	if (end && strncmp(end, "..", 2) == 0) {
		end = number_parse(end + 2, last);
		return end && !*end && *first <= *last;
	}
	*last = *first;
	*first = 1;
	return end && !*end && *last >= 1;
}

static bool seed_parse(const char *text, uint64_t *seed)
{
	const char *end = number_parse(text, seed);

	return end && !*end;
}

static int option_refuse(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "sim: %s %s: %s\n", option, value, want);
	return -2;
}

/* 0: one of ours, 1: the usage is asked for, -1: neither, -2: a bad value, which it has said. */
static int option_take(struct options *o, int c)
{
	switch (c) {
	case 'n':
		o->range = true;
		return seeds_parse(optarg, &o->first, &o->last)
			       ? 0
			       : option_refuse("--seeds", optarg, SEEDS_WANT);
	case 's':
		o->one = true;
		if (!seed_parse(optarg, &o->first))
			return option_refuse("--seed", optarg, "want a whole number");
		o->last = o->first;
		return 0;
	case 'p':
		o->pcap = optarg;
		return 0;
	case 'm':
		o->mutant = mutant_find(optarg);
		return o->mutant ? 0
				 : option_refuse("--mutant", optarg,
						 "no such mutant; --mutants lists them");
	case 'M':
		o->mutants = true;
		return 0;
	case 'b':
		o->brief = true;
		return 0;
	case 'c':
		o->table = true;
		return 0;
	case 'v':
		o->text = true;
		return 0;
	case 'h':
		return 1;
	default:
		return -1;
	}
}

static int options_parse(struct options *o, int argc, char **argv)
{
	static const struct option table[] = {
		{ "seeds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "pcap", required_argument, NULL, 'p' },
		{ "mutant", required_argument, NULL, 'm' },
		{ "mutants", no_argument, NULL, 'M' },
		{ "brief", no_argument, NULL, 'b' },
		{ "coverage", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *seeds = getenv("SEEDS");
	int c, rc = 0;

	*o = (struct options){ .program = argv[0], .first = 1, .last = SEEDS, .all = argc == 1 };
	if (seeds && *seeds && !seeds_parse(seeds, &o->first, &o->last)) {
		return option_refuse("SEEDS", seeds, SEEDS_WANT);
	}
	while (rc == 0 && (c = getopt_long(argc, argv, "v", table, NULL)) != -1)
		rc = option_take(o, c);
	if (rc == 0 && optind == argc && (o->one || (!o->text && !o->pcap)))
		return 0;
	if (rc != -2)
		fputs(usage, rc > 0 ? stdout : stderr);
	return rc > 0 ? 1 : -1;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_all(struct options *o)
{
	static struct totals past, t;
	int rc = o->all ? past_run(o, &past) : 0;
	double seconds = cpu_seconds();

	rc |= runs_seeds(o, &t);
	seconds = cpu_seconds() - seconds;
	if (o->table)
		runs_table(&t);
	if (!o->mutant && !o->brief && !rc && o->first == 1 && o->last >= SEEDS && runs_missing(&t))
		rc = 1;
	runs_summary(&t, seconds);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o;
	int rc = options_parse(&o, argc, argv);

	if (rc)
		return rc > 0 ? 0 : 2;
	runs_open();
	if (o.mutants)
		rc = past_mutants(&o);
	else if (o.one)
		rc = runs_one(&o);
	else
		rc = run_all(&o);
	runs_close();
	return rc;
}
