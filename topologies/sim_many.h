/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation many times, each a little different: in processes of their own, as many as there are CPUs. */
#ifndef TOPOLOGIES_SIM_MANY_H
#define TOPOLOGIES_SIM_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topologies/sim.h"

enum { SIM_MANY_OPTION = 96 };

struct sim_many {
	uint64_t nr;
	const char *what;   /* "seeds": what the progress line counts */
	const char *repeat; /* the command of one, without the option that makes it so */
	bool alike;	    /* their results are to be the same */
	void *context;
	/* "--seed 7", the option that makes a run the i-th. */
	void (*option)(const void *context, uint64_t i, char text[SIM_MANY_OPTION]);
	/* In its process: changes these into the i-th's.  0, or -1 after saying why not. */
	int (*set)(void *context, struct topology *t, struct sim_options *options, uint64_t i);
	/* Likewise, after a good run; NULL: nothing.  The exit code. */
	int (*also)(void *context, const struct topology *t, const struct sim_options *options,
		    uint64_t i);
	/* Here, in order, as soon as it and all before it have ended; NULL: nothing. */
	void (*row)(void *context, uint64_t i, const struct sim_result *result);
};

/* Zeroed memory that a process and those it starts have in common; NULL after saying so. */
void *sim_many_memory(size_t bytes);
void sim_many_free(void *memory, size_t bytes);
/* result: nr of them, of such memory.  The exit code. */
int sim_many_main(struct topology *t, const struct sim_options *options,
		  const struct sim_many *many, struct sim_result *result);

#endif
