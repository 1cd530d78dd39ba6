/* SPDX-License-Identifier: BSD-3-Clause */
/* totals.h - what the switch did, for people and for machines. */
#ifndef SWITCH_TOTALS_H
#define SWITCH_TOTALS_H

#include <stdio.h>

#include "switch/node.h"

struct totals {
	uint64_t rx, verdicts; /* the sum of what the ports took in, and of the counters: equal */
	uint64_t jobs, results;
	double run_s, busy_s, cpu_s;
	struct counters counters;
};

/* Also reads the devices' own counters. */
void totals_read(struct totals *totals, struct node *node);
void totals_print(const struct totals *totals, const struct node *node, FILE *out);
/* Whom a job that does not run waits for: "rank 5", "ranks 4-5, 7", "ranks 8-15 behind the switch above". */
void totals_awaited(const struct job *job, char *text, size_t size);
/* What packets met on purpose in one direction of a port. */
enum { TOTALS_FAULTS = 10 };
struct totals_fault {
	const char *name, *text;
	uint64_t nr;
};
void totals_fault_list(const struct lcore_faults *faults, struct totals_fault list[TOTALS_FAULTS]);
/* Before anything runs: can path be written?  0, or -1 and errno. */
int totals_check(const char *path);
/* `key value` lines.  0, or -1 and errno. */
int totals_write(const struct totals *totals, const struct node *node, const char *path);

#endif
