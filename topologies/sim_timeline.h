/* SPDX-License-Identifier: BSD-3-Clause */
/* How many packets all ranks have sent, sent again and received in each interval of a run in virtual time. */
#ifndef TOPOLOGIES_SIM_TIMELINE_H
#define TOPOLOGIES_SIM_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

struct sim;

enum { TIMELINE_MAX = 1000000 /* intervals that are kept; later ones are in the last */ };

/* Packets since the beginning; and what the ranks had at that time, the least, the sum and the most. */
struct timeline_sample {
	uint64_t sent, again, received;
	double window[3], rtt_us[3];
	uint32_t nr, nr_rtt; /* ranks that were in, and had measured one */
};

/* Zeroed: without samples. */
struct timeline {
	uint64_t interval_ns; /* 0: none is wanted */
	uint32_t most; /* samples, with more of them the interval becomes ten times as long; 0: any number */
	uint64_t next_ns; /* when the interval ends; 0: nobody has joined */
	struct timeline_sample *sample;
	uint32_t nr, room;
	struct timeline_sample from; /* when it began */
};

/* One more rank in a sample. */
void timeline_sample_add(struct timeline_sample *sample, double window, double rtt_us);
/* 0, or -1: no memory. */
int timeline_add(struct timeline *timeline, struct timeline_sample sample);
/* What a rank's leaving takes back is not counted twice. */
uint64_t timeline_since(uint64_t now, uint64_t before);
/* The first rank has joined: the first interval begins. */
void sim_timeline_begin(struct sim *sim);
/* To be called before time goes on to at_ns: ends the intervals that do until then.  0, or -1: no memory. */
int sim_timeline_advance(struct sim *sim, uint64_t at_ns);
/* At the end. */
void sim_timeline_end(struct sim *sim);
void sim_timeline_print(const struct sim *sim, FILE *out);
void sim_timeline_free(struct timeline *timeline);

#endif
