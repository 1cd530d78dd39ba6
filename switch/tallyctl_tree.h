/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tallyctl_tree.h - which rank, below which switch, a tree waits for: no switch knows all of it by itself.
 *
 * A root knows the leaf that it waits for, by address, and the leaf which of its ranks; a leaf that has all of its
 * own waits for the root.  So what one of them says is completed by what the others say.
 */
#ifndef SWITCH_TALLYCTL_TREE_H
#define SWITCH_TALLYCTL_TREE_H

#include "switch/tallyctl.h"

enum { TREE_SWITCHES = 64 };

/* Answers of a switch, to be given back. */
struct tree_switch {
	char name[CTL_PATH];
	json_t *info, *jobs, *stalls; /* the latter two: lists */
};

struct tree {
	unsigned nr;
	struct tree_switch switches[TREE_SWITCHES]; /* the first is the one that was asked */
};

/* Takes the answers over, also if there is no room for them, or one is NULL. */
void tree_add(struct tree *tree, const char *name, json_t *info, json_t *jobs, json_t *stalls);
void tree_free(struct tree *tree);

/*
 * In the stalls of the first switch: ranks that are missing behind others are replaced by those that these miss, with
 * the switch's name and address as `leaf`; waits_for is "members" where it is known whom the parent waits for.
 */
void tree_resolve(const struct tree *tree);

/* The same for the answer of a switch, whose stalls it changes; asks all switches that there are if need be. */
void tree_complete(struct tallyctl *ctl, json_t *stalls);

#endif
