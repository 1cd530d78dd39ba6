/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.h - a root and two leaves, the product's own pipes, for the explorers of trees. */
#ifndef TESTS_EXPLORE_TREE_H
#define TESTS_EXPLORE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "switch/core/agg.h"

enum {
	TREE_ROOT = 0, /* switches; leaf l is switch l + 1 */
	TREE_SWITCHES = 3,
	TREE_LEAVES = 2,
	TREE_RANKS_MAX = 4,
	TREE_P = WIRE_P_MIN,
	TREE_SLOTS = 2,
};
#define TREE_NAME "explored"

struct tree {
	unsigned nr_ranks;
	/* Set before tree_open(): the job has CHECK; a rank's first life wants 2 slots, its second 1. */
	bool check, shrinks;
	struct wire_range ranges[TREE_LEAVES];
	void *mem[TREE_SWITCHES];
	struct pipe *pipes[TREE_SWITCHES];
	struct pipe_time now;
	struct pipe_pkt pkt; /* the last one that was put in; data is buf */
	uint8_t buf[WIRE_HEADER + WIRE_BODY];
};

/* All three start; inc[l] is leaf l's.  Nothing in it is kept but those two. */
void tree_open(struct tree *tree, unsigned nr_ranks, const struct wire_range ranges[TREE_LEAVES],
	       const uint64_t inc[TREE_LEAVES]);
void tree_close(struct tree *tree);

static inline unsigned tree_leaf_of(const struct tree *tree, unsigned rank)
{
	return rank >= tree->ranges[1].first;
}
static inline struct job *tree_job(const struct tree *tree, unsigned sw)
{
	return &tree->pipes[sw]->agg.table.jobs[0];
}
/* How many data slots a rank wants in this life. */
static inline unsigned tree_slots(const struct tree *tree, unsigned inc)
{
	return tree->shrinks && inc == 1 ? 2 : 1;
}
/* Addresses. */
struct flow tree_rank(unsigned rank);
struct flow tree_switch(unsigned sw);

/*
 * The len bytes of buf go into a switch, long enough after the ones before them that no limit of
 * messages a millisecond counts; what comes of it is in tree->pkt and in pipe_output().
 */
void tree_input(struct tree *tree, unsigned sw, struct flow from, size_t len);
/* The JOIN of a rank; inc counts its lives. */
void tree_join(struct tree *tree, unsigned rank, uint64_t inc, uint64_t base);
/* The job runs everywhere, without a fault on the way there. */
void tree_form(struct tree *tree);

#endif
