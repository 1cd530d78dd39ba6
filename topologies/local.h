/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology in one process: its switches, each with the options that the netns fabric gives to tally-switch, and its
 * jobs, each with tally-perf's ranks.
 *
 * What carries packets between them, and which clock they have, is the caller's.
 */
#ifndef TOPOLOGIES_LOCAL_H
#define TOPOLOGIES_LOCAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <wordexp.h>

#include "host/include/tally.h"
#include "host/tools/perf.h"
#include "switch/node.h"
#include "topologies/record.h"
#include "topologies/topology.h"

/* An end of a link: where a port of a switch, or the host's eth0, is. */
struct local_end {
	const struct topology_link *link;
	unsigned int index; /* of the link */
	int side;	    /* which of its two ends */
};

struct local_switch {
	struct node node;
	struct conf conf;
	unsigned int index;    /* of its node in the topology */
	struct local_end *end; /* of each port, in the order of node.lcore.ports */
	char captures[RECORD_PATH];
};

struct local_ways {
	const struct port_ops *ops; /* of all ports */
	/* Sets priv and fd of a port whose MTU is set: 0, or -1 after saying why not. */
	int (*plug)(void *context, struct local_switch *sw, unsigned int port);
	void *context;
	uint64_t (*clock)(void); /* NULL: the kernel's */
	uint64_t wall_ms;	 /* with a clock: wall clock at its 0 */
	int (*random)(void *to, size_t len);
	const struct record *record; /* NULL: nothing is captured */
	const char *comment;	     /* of captures */
	bool lines; /* rates, delays and queues of links are the wires' own: no faults that a switch makes */
};

struct local {
	const struct topology *topology;
	struct local_switch *switches; /* in the topology's order: root first */
	unsigned int nr_switches;
	unsigned int of_node[TOPOLOGY_NODES_MAX]; /* index into switches of a switch's node */
};

/* 0, or -1 after saying why a topology cannot be had in one process. */
int local_check(const struct topology *t, const char *fabric);
/* 0, or -1 after saying why not; then local_close() is still to be called.  l: zeroed. */
int local_open(struct local *l, const struct topology *t, const struct local_ways *ways);
void local_close(struct local *l);
/* The switches end here, though they may stay in memory: what they captured is whole. */
void local_captures_close(struct local *l);
/* The end of the link at which a host has its address. */
struct local_end local_host_end(const struct topology *t, unsigned int node);
/* The port of a switch at which a link ends; -1: at none. */
int local_port(const struct local_switch *sw, unsigned int link);
/* Of a link: bytes of IP packets, and of UDP payloads. */
unsigned int local_mtu(const struct topology_link *link);
unsigned int local_payload(const struct topology_link *link);

/* local_job.c */

struct local_job {
	const struct topology *topology;
	const struct topology_job *job;
	struct perf_options options;
	wordexp_t words; /* that the options are in */
	FILE *out;
	FILE *kept; /* not NULL: out is stdout and this */
	char *text; /* what went there, if several jobs run or it is kept */
	size_t text_len;
};

struct local_rank {
	struct local_job *job;
	unsigned int rank;
	const struct topology_node *node;
	struct perf_rank perf;
	struct tally_stats stats;
	bool opened, stopped; /* by the file's `stop` */
	int result;	      /* 0: all was right */
	char why[512];
};

enum local_out {
	LOCAL_LATER, /* its table goes to stdout at the end */
	LOCAL_LIVE,  /* or at once, if no other job's does */
	LOCAL_KEPT,  /* the same, and what it said can be had */
};

/* clock: as of struct perf_options.  0, or -1 after saying what is wrong. */
int local_job_open(struct local_job *job, const struct topology *t, const struct topology_job *of,
		   uint64_t (*clock)(void), enum local_out out);
/* What its rank 0 has said, unless it is on stdout already. */
void local_job_print(struct local_job *job);
struct report;
/* The same, into a page. */
void local_job_report(struct local_job *job, struct report *report);
void local_job_close(struct local_job *job);
/* So many of its ranks were ended at its time. */
void local_job_say_stopped(const struct topology_job *job, unsigned int nr);
/* Joins: 0, or -1 and why.  Then all there is to do, and leaving. */
int local_rank_open(struct local_rank *rank);
void local_rank_work(struct local_rank *rank);
void local_rank_close(struct local_rank *rank);

#endif
