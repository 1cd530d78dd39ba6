/* SPDX-License-Identifier: BSD-3-Clause */
/* The same jobs with different numbers of workers, rates, delays, ..., each simulated, in one table. */
#ifndef TOPOLOGIES_SIM_SWEEP_H
#define TOPOLOGIES_SIM_SWEEP_H

#include <stdbool.h>

#include "topologies/sim.h"

enum { SIM_SWEEP_MAX = 64, SIM_SWEEP_VALUE = 24 };

enum sim_sweep_key {
	SIM_SWEEP_WORKERS, /* the job's first ranks */
	SIM_SWEEP_RATE,	   /* of all links; and so on */
	SIM_SWEEP_DELAY,
	SIM_SWEEP_LOSS,
	SIM_SWEEP_WINDOW, /* of all ranks */
	SIM_SWEEP_CHUNK,
	SIM_SWEEP_KEYS
};

struct sim_sweep {
	enum sim_sweep_key key;
	char text[SIM_SWEEP_MAX][SIM_SWEEP_VALUE]; /* as they were written */
	uint64_t number[SIM_SWEEP_MAX];
	double share[SIM_SWEEP_MAX];
	unsigned int nr;    /* 0: once, with all workers */
	bool compare;	    /* with a ring and a parameter server */
	const char *repeat; /* the command of one, without --sweep */
};

/* "rate=10G,100G": 0, or -1 after saying what is wrong. */
int sim_sweep_parse(struct sim_sweep *sweep, const char *text);
/* "2,4,8", of workers. */
int sim_sweep_parse_workers(struct sim_sweep *sweep, const char *text);
/* The exit code. */
int sim_sweep_main(struct topology *t, const struct sim_options *options,
		   const struct sim_sweep *sweep);

#endif
