/* SPDX-License-Identifier: BSD-3-Clause */
/* The same simulation with many seeds, in processes of their own on all CPUs. */
#ifndef TOPOLOGIES_SIM_SEEDS_H
#define TOPOLOGIES_SIM_SEEDS_H

#include <stdint.h>

#include "topologies/sim.h"

#define SIM_SEEDS_MAX UINT64_C(1000000)

struct sim_seeds {
	uint64_t first, last;
	const char *repeat; /* the command of one, without its --seed */
};

/* "7" or "1..100": 0, or -1. */
int sim_seeds_parse(struct sim_seeds *seeds, const char *text);
/* The exit code. */
int sim_seeds_main(struct topology *t, const struct sim_options *options,
		   const struct sim_seeds *seeds);

#endif
