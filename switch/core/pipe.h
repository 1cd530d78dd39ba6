/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe.h - the switch as a pure machine: UDP payloads in, verdicts and messages out, time passed
 * in.
 *
 * NIC, veth, socket, embedded switch, fuzzer, explorer and simulator all enter here.  A burst means
 * exactly what its packets mean one after the other.  The packet that came in is the packet that
 * goes out: a verdict of REPLY or MULTICAST says that data and len now hold the RESULT, UP that
 * they hold the sum for the parent.  STATUS messages go through a bounded queue that the shell
 * drains with pipe_output() after each burst; one that overflows is lost, as any packet may be.
 */
#ifndef SWITCH_CORE_PIPE_H
#define SWITCH_CORE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "switch/core/counters.h"
#include "switch/core/flow.h"
#include "switch/core/job.h"

enum { PIPE_BURST = 64 };

struct pipe_params {
	uint16_t jobs_max;   /* 1 .. 4096 */
	uint32_t slots_max;  /* of all jobs; a job takes WIRE_SE + S */
	size_t values_bytes; /* pool for the cells' values; a slot takes 2 x P */
	uint16_t p_max;	     /* largest P the ports carry, multiple of WIRE_P_MIN */
	uint16_t p_check;    /* the same with WIRE_CRC behind it; 0: p_max */
	bool strict_ports;   /* identity includes ingress port and MAC */
	const char *add;     /* name of the add table; NULL: best */
	/*
	 * A leaf is a switch to its members and a member to its parent: pipe_set_parent() says
	 * where that is.  It makes no epochs of its own.
	 */
	bool leaf;
	uint64_t inc;	      /* leaf: 64 random bits, fresh at every start */
	uint16_t parent_from; /* leaf: own UDP port that packets to the parent leave from */
};

struct pipe_time {
	uint64_t now_ns;  /* monotonic */
	uint64_t wall_ms; /* wall clock since 1970, for new epochs */
};

/* UP: data and len now are a contribution for the parent. */
enum pipe_verdict { PIPE_DROP, PIPE_HOLD, PIPE_REPLY, PIPE_MULTICAST, PIPE_UP };

struct pipe_pkt {
	uint8_t *data;	  /* UDP payload, any alignment; overwritten by a RESULT */
	uint32_t len;	  /* in and out */
	uint32_t cap;	  /* room at data, >= len */
	struct flow flow; /* who sent it */
	uint8_t verdict;  /* out: enum pipe_verdict */
	uint8_t counter;  /* out: enum counter */
	uint16_t job;	  /* out: index for pipe_dests() */
	void *cookie;	  /* the shell's */
};

struct pipe;

size_t pipe_size(const struct pipe_params *params);
/*
 * mem: pipe_size() bytes, 64-byte aligned, zeroed, the caller's.  NULL: a parameter out of range.
 */
struct pipe *pipe_init(void *mem, const struct pipe_params *params, const struct pipe_time *boot);

/*
 * Leaf: where the parent is, to be called before the first pipe_input() and whenever it is known
 * better (a MAC learned).  RESULT and STATUS are taken from this IP address and UDP port alone.
 */
void pipe_set_parent(struct pipe *pipe, const struct flow *parent);

void pipe_input(struct pipe *pipe, struct pipe_pkt *pkts, unsigned nr, const struct pipe_time *now);

/*
 * Where a packet with verdict MULTICAST, REPLY or UP goes: writes up to WIRE_WORLD_MAX flows and
 * returns how many. Call before the next pipe_input().
 */
unsigned pipe_dests(const struct pipe *pipe, const struct pipe_pkt *pkt,
		    struct flow out[WIRE_WORLD_MAX]);

/*
 * Takes the next message of the switch's own (STATUS; at a leaf also what it says to its parent):
 * its length, 0 if there is none.  buf has room for WIRE_MSG_MAX.
 */
size_t pipe_output(struct pipe *pipe, struct flow *to, uint8_t *buf);

/*
 * An ICMP port-unreachable (or ECONNREFUSED) about a packet sent to flow's address: a member whose
 * port it is has no process any more.  With strict_ports it must come from the member's switch port
 * and MAC, as the rest of flow says.  Ends the epochs it is needed in, cause GONE.  Returns the
 * counter it falls under.
 */
enum counter pipe_gone(struct pipe *pipe, const struct flow *flow, const struct pipe_time *now);

/*
 * The operator ends the epoch of the job of that name, cause RESET, if it runs this one.  False: the
 * clock has no epoch to give yet.  A leaf asks its parent, at most once a millisecond: whether the epoch
 * has ended shows in pipe_job().
 */
bool pipe_reset(struct pipe *pipe, const char *name, uint64_t epoch, const struct pipe_time *now);

/* Whether jobs that are not there are refused from now on; those that are go on, and may form anew. */
void pipe_drain(struct pipe *pipe, bool on);
bool pipe_drains(const struct pipe *pipe);

const struct counters *pipe_counters(const struct pipe *pipe);

/* For inspection: the i-th entry of the job table, NULL beyond it or if unused. */
const struct job *pipe_job(const struct pipe *pipe, unsigned i);
const struct slot *pipe_slot(const struct pipe *pipe, const struct job *job, unsigned slot);
/* The values of one of its cells: job->stride bytes. */
const uint8_t *pipe_values(const struct pipe *pipe, const struct job *job, unsigned slot,
			   unsigned cell);
bool pipe_is_leaf(const struct pipe *pipe);
const char *pipe_add_name(const struct pipe *pipe);

#endif
