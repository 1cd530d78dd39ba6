/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - both machines together, in virtual time, over a network that loses, repeats, reorders
 * and delays, with restarts; one switch, or a tree of them.
 *
 * Each rank issues the same row of operations; every contribution is a hash of (rank, operation,
 * element), and every result is compared with a naive sum.  After a fault the row starts anew in
 * the next epoch.  A run is good when all ranks have finished the row in one epoch.  One seed is
 * one run.
 */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "host/core/coll.h"
#include "host/core/session.h"
#include "switch/core/pipe.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum {
	WORLD_RANKS = 1024,
	WORLD_SWITCHES = 24,
	WORLD_P = 128,
	WORLD_NET = 65536,
	WORLD_ROW = 24,
	WORLD_ROOM = 256,
};

struct packet {
	uint64_t at_ns, order;
	uint32_t to, from; /* addresses */
	uint16_t to_port, from_port;
	uint32_t len;
	uint8_t data[WORLD_ROOM];
};

struct rank {
	struct session session;
	struct coll *coll;
	uint16_t port;
	unsigned leaf;
	unsigned posted, finished;
	bool in_epoch;
	uint64_t elements[WORLD_ROW]; /* delivered */
	uint64_t probe_ns;
};

struct world_switch {
	struct pipe *pipe;
	void *mem;
	int parent; /* -1: none */
	struct wire_range range;
	uint64_t rx; /* since it started */
};

struct faults {
	unsigned loss, dup, reorder; /* per mille */
	unsigned corrupt;	     /* per mille, of DATA and RESULT: needs check */
	bool check;		     /* the job has CHECK */
	unsigned restarts;	     /* of ranks */
	unsigned leaf_restarts;	     /* of switches with a parent */
	unsigned root_restarts;
};

/* Ranks below each leaf, leaves below each middle switch; 0 middles: leaves are below the root. */
struct shape {
	unsigned middles, leaves, ranks; /* leaves 0: one switch */
	bool uneven;			 /* 1 .. ranks below each leaf */
	bool any;			 /* 1 .. ranks below the one switch */
	unsigned row;			 /* operations, 0: drawn */
};

struct world {
	uint64_t rng, now, order;
	struct faults faults;
	unsigned n, nr_switches, slots;
	unsigned nr_net;
	struct world_switch switches[WORLD_SWITCHES]; /* the root is the first */
	struct rank ranks[WORLD_RANKS];
	struct {
		uint64_t count;
		enum coll_form form;
	} row[WORLD_ROW];
	unsigned nr_row;
	uint64_t checked, over, corrupted;
	uint64_t counters[COUNTER_NR]; /* of all switches, over all runs */
	uint32_t heap[WORLD_NET];      /* places in net, those of nr_net packets first */
	struct packet net[WORLD_NET];
};

void world_runs(struct world *w, const struct shape *shape, uint64_t from, uint64_t nr,
		const struct faults *faults);
void world_free(struct world *w);

#endif
