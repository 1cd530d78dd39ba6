/* SPDX-License-Identifier: BSD-3-Clause */
/* How many packets all ranks have sent, sent again and received in each interval of a run in virtual time. */
#ifndef TOPOLOGIES_SIM_TIMELINE_H
#define TOPOLOGIES_SIM_TIMELINE_H

#include <stdint.h>

struct sim;

enum { TIMELINE_MAX = 1000000 /* intervals that are kept; later ones are in the last */ };

/* Since the beginning. */
struct timeline_sample {
	uint64_t sent, again, received;
};

/* Zeroed: without samples. */
struct timeline {
	uint64_t interval_ns; /* 0: none is wanted */
	uint64_t next_ns;     /* when the interval ends; 0: nobody has joined */
	struct timeline_sample *sample;
	uint32_t nr, room;
	struct timeline_sample from; /* when it began */
};

/* The first rank has joined: the first interval begins. */
void sim_timeline_begin(struct sim *sim);
/* To be called before time goes on to at_ns: ends the intervals that do until then.  0, or -1: no memory. */
int sim_timeline_advance(struct sim *sim, uint64_t at_ns);
void sim_timeline_print(struct sim *sim);
void sim_timeline_free(struct timeline *timeline);

#endif
