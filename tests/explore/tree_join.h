/* SPDX-License-Identifier: BSD-3-Clause */
/* tree_join.h - what explore_tree_join.c explores: its states, and machines made from them and packed again. */
#ifndef TESTS_EXPLORE_TREE_JOIN_H
#define TESTS_EXPLORE_TREE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/core/session.h"
#include "tests/explore/merged.h"
#include "tests/explore/tree.h"

enum {
	EPOCHS = 8,   /* numbers 0 .. 7; 1 is a leaf's that knows none, 2 the first that runs */
	LIFE_MAX = 3, /* lives of a leaf; a rank has two */
	STATUSES = 2 * (LIFE_MAX + 1), /* that an epoch has */
	HANDLE = 77,		       /* at both leaves */
	ROOT_HANDLE = 2,	       /* of the first epoch there */
	ROUNDS = 60,		       /* of a network that loses nothing */
	LIMIT = 100000,		       /* of states, of the larger explorations */
	CHECKED = 8,		       /* every so many steps it is checked that a state says all */
};

enum fault {
	FAULT_NONE,
	FAULT_JOIN_END,
	FAULT_LEAF_INC,
	FAULT_RANK_INC,
	FAULT_OLD_STATUS,
	FAULT_NO_ASK,
	FAULT_NO_UNKNOWN,
	FAULT_ROOT_UNKNOWN,
	FAULT_DISOWN,
	FAULT_NR
};

struct packed_job {
	uint8_t used, epoch, running, joined;
	uint8_t inc[2];	  /* of the members: 0 none, else the life + 1 */
	uint8_t members;  /* root: how many; | 0x80: leaf 1 came first */
	uint8_t lease;	  /* data slots */
	uint8_t slots[2]; /* root: that the members want */
	uint8_t gone;	  /* bit per member that the network says is gone */
	uint8_t parent, last_epoch;
};

struct packed_rank {
	uint8_t life, running, base, epoch, forgotten;
};

/* Machines and what they have done, then the network: a bit per message that was ever sent. */
struct state {
	struct packed_job jobs[TREE_SWITCHES];
	uint8_t life[TREE_LEAVES];
	struct packed_rank ranks[TREE_RANKS_MAX];
	uint8_t rank_lives, leaf_lives, root_lives, gones; /* so far */
	uint8_t entered[TREE_RANKS_MAX], ran[TREE_LEAVES]; /* bit per epoch */
	uint8_t leaving; /* bit per leaf: its LEAVE is on its way, once; for ever would be without end */
	uint8_t ends[TREE_LEAVES];    /* bit per base */
	uint8_t disowns[TREE_LEAVES]; /* ENDs of a leaf without the job */
	uint8_t unknown[TREE_LEAVES]; /* bit per epoch: the root's UNKNOWN */
	uint8_t zeros[2];
	uint32_t joins[TREE_RANKS_MAX];
	/* By slots: that the leaf's ranks want; that the root's epoch has, or 1 as it forms. */
	uint32_t leaf_joins[TREE_LEAVES][TREE_SLOTS];
	uint64_t told[TREE_RANKS_MAX], leaf_told[TREE_LEAVES][TREE_SLOTS];
};
enum { STATE_KEY = offsetof(struct state, ends) };

struct explorer {
	const struct wire_range *ranges; /* of the leaves */
	unsigned nr_ranks;
	unsigned rank_restarts, leaf_restarts, root_restarts, gones;
	size_t limit;
	enum fault fault;
	struct tree tree;
	struct session sessions[TREE_RANKS_MAX];
	struct merged merged;
	/* The state that is expanded, as its network grows, and the messages that were tried before. */
	struct state from, tried;
	bool grown, again;  /* again: only what was not tried */
	struct state *next; /* what follows it, other machines */
	size_t nr_next, room_next;
	size_t transitions;
	unsigned highest;
	const char *violation; /* NULL: none yet */
};

/* Messages that arrive at a switch.  bit: of what was told, or of a JOIN. */
/* Wall clocks: the root always has one more epoch to give; a leaf's says its handle. */
void join_input(struct explorer *e, unsigned sw, struct flow from, size_t len);
/* What the root has told, of an epoch with so many slots. */
void send_status(struct explorer *e, unsigned leaf, unsigned bit, unsigned slots);
void send_unknown(struct explorer *e, unsigned leaf, unsigned epoch);
/* A leaf asks about the epoch it runs. */
void send_probe(struct explorer *e, unsigned leaf, unsigned epoch);
/* What a leaf's life says to the root for all its ranks. */
void send_leaf_join(struct explorer *e, unsigned leaf, unsigned bit, unsigned slots, bool ask);
/* disowns: that of a leaf which does not know the job. */
void send_end(struct explorer *e, unsigned leaf, unsigned base, bool disowns);
/* A leaf takes its ranks out of what the root forms. */
void send_leave(struct explorer *e, unsigned leaf);
void send_keepalive(struct explorer *e, unsigned rank);

/* Switch sw becomes what the state says it is, and the other way round. */
void unpack_job(struct explorer *e, const struct state *s, unsigned sw);
/* Checks now and then that nothing that mattered was left out. */
void pack_job(struct explorer *e, struct state *s, unsigned sw);
void unpack_rank(struct explorer *e, const struct state *s, unsigned rank);
void pack_rank(struct explorer *e, struct state *s, unsigned rank);

#endif
