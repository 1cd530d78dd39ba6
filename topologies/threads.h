/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a topology in one process: a thread for each rank and each switch, cables in memory, no privileges. */
#ifndef TOPOLOGIES_THREADS_H
#define TOPOLOGIES_THREADS_H

#include "topologies/record.h"
#include "topologies/topology.h"

enum { THREADS_RANKS_MAX = 256 }; /* of all jobs together */

struct report;

/* The exit code.  timeout_s: 0, none.  report: NULL, or of a page that may be wanted. */
int threads_main(const struct topology *t, double timeout_s, const struct record *record,
		 struct report *report);

#endif
