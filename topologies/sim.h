/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in virtual time: the ranks of tally-perf and the machines of tally-switch, as they are, over simulated links. */
#ifndef TOPOLOGIES_SIM_H
#define TOPOLOGIES_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "host/transport/transport.h"
#include "topologies/fiber.h"
#include "topologies/local.h"
#include "topologies/screen.h"
#include "topologies/sim_timeline.h"
#include "topologies/topology.h"
#include "topologies/vnet.h"

/* Nobody is served in the first 2 ms of a switch. */
#define SIM_BOOT_NS UINT64_C(3000000)
#define SIM_START_NS UINT64_C(1000000000)   /* of virtual time: 0 has other meanings */
#define SIM_WALL_MS UINT64_C(1767225600000) /* 1 January 2026, at 0 */

/* What many runs are compared by. */
struct sim_result {
	bool done, failed, ended; /* the last two: of many runs' */
	double completion_us;	  /* of the last rank */
	double time_us;		  /* of the timed operations, the mean over the ranks */
	double elements_s;	  /* aggregated a second of these, likewise */
	uint64_t again;		  /* packets sent again */
	double use_hosts;	  /* percent of the links' rate, from hosts: the mean */
	double use_most;	  /* of any link in any direction */
	uint64_t hash;		  /* the result hash, or one over those of all jobs */
};

struct sim_options {
	struct vnet_options links;
	double timeout_s;	     /* virtual; 0: none */
	uint64_t timeline_ns;	     /* intervals of the timeline; 0: none */
	struct sim_result *result;   /* NULL: not wanted */
	const struct record *record; /* likewise */
	bool quiet;		     /* nothing on stdout */
	struct report *report;	     /* a page; likewise */
};

struct sim_switch {
	struct actor actor;
	struct local_switch *sw;
	struct sim_port *port; /* of each port */
	uint64_t clock_ns;
	bool at_once; /* what comes next has the time that it has now */
};

/* What a port has received and its switch not taken. */
struct sim_port {
	struct line *out;
	uint32_t payload; /* bytes that the link carries */
	struct packet *first, *last;
};

struct sim_rank {
	struct actor actor;
	struct sim *sim;
	struct local_rank rank;
	unsigned int node;
	struct fiber *fiber;
	struct sim_transport *transport; /* NULL: not open */
	uint64_t opened_ns, done_ns;
	bool ended;
};

struct sim {
	const struct sim_options *options;
	const struct topology *topology;
	struct vnet vnet;
	struct local local;
	struct sim_switch *switches; /* as in local */
	struct local_job *jobs;
	unsigned int nr_jobs;
	struct sim_rank *ranks;
	struct sim_stop *stops; /* of each job */
	unsigned int nr_ranks, nr_begun, nr_opened, nr_done, nr_ended;
	unsigned int nr_stopped;    /* of those that ended: in the middle, at the job's time */
	struct sim_rank *current;   /* whose fiber runs */
	struct sim_switch *turning; /* whose round it is */
	uint64_t nr_reads;	    /* of the clock, since time went on */
	uint64_t begin_ns, end_ns;  /* the first rank had joined, the last was done */
	struct pool in_switch;	    /* packets in the hands of switches */
	struct timeline timeline;
	struct screen screen;
	double say_s;	  /* the last progress line */
	struct sim *kept; /* another that ended in the middle */
};

/* The one there is: libtally's venue has no context. */
extern struct sim *sim_now;

uint64_t sim_clock(void);
int sim_chance(void *to, size_t len);
/* A rank has joined. */
void sim_rank_opened(struct sim *sim);

/* sim_rank.c */
extern const struct transport_ops sim_transport;
int sim_ranks_open(struct sim *sim);
/* The venue's. */
void sim_pause(uint64_t ns);
void sim_ranks_close(struct sim *sim);
/* Nothing reaches it any more. */
void sim_rank_detach(struct sim_rank *rank);

/* sim_stop.c */
int sim_stops_open(struct sim *sim);

/* sim_switch.c */
int sim_switches_open(struct sim *sim);
void sim_switches_close(struct sim *sim);

/* sim_report.c: what tables do not say.  The exit code. */
int sim_report(struct sim *sim);

/* sim_page.c: the ranks' histories are the page's from the beginning; and what came of them. */
int sim_page_begin(struct sim *sim);
int sim_page_write(struct sim *sim, int code);

/* sim.c: runs the jobs of the topology; the exit code. */
int sim_main(const struct topology *t, const struct sim_options *options);

#endif
