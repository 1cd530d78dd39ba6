/* SPDX-License-Identifier: BSD-3-Clause */
/* The same job with different numbers of workers, each simulated, in one table; with what others would take. */
#ifndef TOPOLOGIES_SIM_WORKERS_H
#define TOPOLOGIES_SIM_WORKERS_H

#include <stdbool.h>

#include "topologies/sim.h"

enum { SIM_WORKERS_MAX = 64 };

struct sim_workers {
	unsigned int number[SIM_WORKERS_MAX]; /* of workers: the job's first ranks */
	unsigned int nr;		      /* 0: all ranks */
	bool compare;			      /* with a ring and a parameter server */
};

/* "2,4,8": 0, or -1. */
int sim_workers_parse(struct sim_workers *workers, const char *text);
/* The exit code. */
int sim_workers_main(struct topology *t, const struct sim_options *options,
		     const struct sim_workers *workers);

#endif
