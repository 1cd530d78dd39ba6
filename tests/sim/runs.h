/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.h - runs of seeds: what was asked for, what came out, and how a failure is told. */
#ifndef TESTS_SIM_RUNS_H
#define TESTS_SIM_RUNS_H

#include "tests/sim/mutant.h"
#include "tests/sim/sim.h"

struct options {
	const char *program, *pcap;
	uint64_t first, last;
	unsigned mutant;
	bool one, text, mutants, all, range, table, brief;
};

struct totals {
	uint64_t runs, packets, steps, checked, overs, closed, most, most_seed, failures;
	uint64_t seen[SEEN_NR];			     /* runs */
	uint64_t risen[COUNTER_NR], sum[COUNTER_NR]; /* runs and packets */
};

extern struct world runs_world;

/* Memory, and what a crash will say. */
void runs_open(void);
void runs_close(void);
/* A run, and perhaps the same again, which must be the same. */
struct result runs_checked(const struct options *o, uint64_t seed, bool again, struct totals *t);
/* Says what is wrong, and runs it once more, into a capture file. */
void runs_report(const struct options *o, uint64_t seed, const struct result *result);
/* All from o->first to o->last; 1: some failed. */
int runs_seeds(const struct options *o, struct totals *t);
int runs_one(const struct options *o);
void runs_summary(const struct totals *t, double seconds);
/* What has happened, in how many runs. */
void runs_table(const struct totals *t);
/* What has never happened, a line each; how many there are. */
unsigned runs_missing(const struct totals *t);

/* past.c: the runs of tests/sim/seeds.txt; 1: one is not as it says. */
int past_run(struct options *o, struct totals *t);
/* Each mutant until its checker has caught it, or, for a range of seeds, who catches it how often. */
int past_mutants(struct options *o);

#endif
