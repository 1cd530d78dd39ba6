// SPDX-License-Identifier: BSD-3-Clause
// past.c - runs that failed once, and machines that are broken on purpose.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/runs.h"

enum {
	MUTANT_SEEDS = 3000, /* after which a mutant is not caught */
	SOUND_SEEDS = 300,   /* of the stand-in with nothing broken */
};

static const char past[] = "tests/sim/seeds.txt";

/* --- Mutants ---------------------------------------------------------------------------------- */

/* The first seed in which the mutant's own checker finds it; 0: none. */
static uint64_t mutant_first(const struct options *o, struct result *result)
{
	static struct totals t;

	for (uint64_t seed = 1; seed <= MUTANT_SEEDS; seed++) {
		*result = runs_checked(o, seed, o->mutant == MUTANT_CLOCK, &t);
		if (result->failed && result->by == mutant_infos[o->mutant].by)
			return seed;
	}
	return 0;
}

static bool mutant_is_caught(const struct options *o)
{
	const struct mutant_info *info = &mutant_infos[o->mutant];
	struct result result;
	uint64_t seed = mutant_first(o, &result);

	printf("sim: mutant %-14s %s: ", info->name, info->text);
	if (seed)
		printf("caught by %s, seed %" PRIu64 ": %.110s\n", checker_names[info->by], seed,
		       result.why);
	else
		printf("NOT CAUGHT by %s in %d runs\n", checker_names[info->by], MUTANT_SEEDS);
	return seed != 0;
}

/* Who catches it how often. */
static bool mutant_counts(const struct options *o)
{
	const struct mutant_info *info = &mutant_infos[o->mutant];
	uint64_t by[BY_NR] = { 0 }, all = 0;
	static struct totals t;

	for (uint64_t seed = o->first; seed <= o->last; seed++) {
		struct result result = runs_checked(o, seed, o->mutant == MUTANT_CLOCK, &t);

		by[result.by] += result.failed;
		all += result.failed;
	}
	printf("sim: mutant %-14s %s: %" PRIu64 " of %" PRIu64 " runs:", info->name, info->text,
	       all, o->last - o->first + 1);
	for (unsigned i = 0; i < BY_NR; i++)
		if (by[i])
			printf(" %s %" PRIu64, checker_names[i], by[i]);
	printf("\n");
	return info->by == BY_NR ? all == 0 : by[info->by] > 0;
}

/* The stand-in by itself must pass, or its mutants show nothing. */
static bool sound_passes(struct options *o)
{
	static struct totals t;
	struct result result = { .failed = false };
	uint64_t seed = 1;

	o->mutant = MUTANT_SOUND;
	for (; seed <= SOUND_SEEDS && !result.failed; seed++)
		result = runs_checked(o, seed, false, &t);
	if (result.failed)
		runs_report(o, seed - 1, &result);
	o->mutant = MUTANT_NONE;
	return !result.failed;
}

int past_mutants(struct options *o)
{
	bool caught[BY_NR] = { false };
	unsigned wrong = o->range ? 0 : !sound_passes(o), checkers = 0;

	for (o->mutant = o->range ? MUTANT_SOUND : MUTANT_SOUND + 1; o->mutant < MUTANT_NR;
	     o->mutant++) {
		bool right = o->range ? mutant_counts(o) : mutant_is_caught(o);

		wrong += !right;
		if (right && mutant_infos[o->mutant].by < BY_NR)
			caught[mutant_infos[o->mutant].by] = true;
	}
	for (unsigned i = 0; i < BY_NR; i++)
		checkers += caught[i];
	o->mutant = MUTANT_NONE;
	printf("sim: %u mutants, %u not as they should be; %u of %u checkers have caught one\n",
	       MUTANT_NR - MUTANT_SOUND - 1, wrong, checkers, BY_SIZE);
	return wrong ? 1 : 0;
}

/* --- The past --------------------------------------------------------------------------------- */

/* One line: seed, mutant, remark.  False: it is not as it says. */
static bool past_line(struct options *o, const char *line, bool had[MUTANT_NR], struct totals *t)
{
	char name[32] = "";
	struct result result;
	uint64_t seed;

	if (sscanf(line, "%" SCNu64 " %31s", &seed, name) != 2) {
		printf("sim: %s: not a seed and a mutant: %s", past, line);
		return false;
	}
	o->mutant = mutant_find(name);
	if (!o->mutant && strcmp(name, "-") != 0) {
		printf("sim: %s: there is no mutant %s\n", past, name);
		return false;
	}
	had[o->mutant] = true;
	result = runs_checked(o, seed, !o->mutant || o->mutant == MUTANT_CLOCK, t);
	if (!o->mutant && result.failed)
		runs_report(o, seed, &result);
	if (!o->mutant)
		return !result.failed;
	t->failures -= result.failed;
	if (result.failed && result.by == mutant_infos[o->mutant].by)
		return true;
	printf("sim: %s: seed %" PRIu64 " does not show mutant %s to %s; sim --mutants finds one "
	       "that does\n",
	       past, seed, name, checker_names[mutant_infos[o->mutant].by]);
	return false;
}

int past_run(struct options *o, struct totals *t)
{
	FILE *file = fopen(past, "r");
	bool had[MUTANT_NR] = { false };
	unsigned wrong = 0, seeds = 0;
	char line[256];

	if (!file) {
		fprintf(stderr, "sim: cannot read %s; run it from the root of the sources\n", past);
		return 1;
	}
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		wrong += !past_line(o, line, had, t);
		seeds++;
	}
	fclose(file);
	for (unsigned m = MUTANT_SOUND + 1; m < MUTANT_NR; m++)
		if (!had[m]) {
			printf("sim: %s: no seed for mutant %s\n", past, mutant_infos[m].name);
			wrong++;
		}
	wrong += !sound_passes(o);
	o->mutant = MUTANT_NONE;
	printf("sim: %u runs of the past, %u not as they should be\n", seeds, wrong);
	return wrong ? 1 : 0;
}
