/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot.h - one slot of a job: two cells, and the rule by which contributions become a sum.
 *
 * The proof lives on this file: docs/protocol.md section "The slot" has the rule, tests/explore
 * model-checks this very code under a network that delivers any message late, again, in any order,
 * or never.
 *
 * Round r of a slot uses cell r & 1.  A cell of another epoch is dead.  A worker sends round r only
 * after it took the result of round r - 1, so when the first contribution of round r arrives,
 * everybody has taken the result of round r - 2 and its cell may be overwritten.
 *
 * At a leaf a cell goes through one state more: complete here, its sum is for the parent until the
 * parent's result has replaced it (done).
 */
#ifndef SWITCH_CORE_SLOT_H
#define SWITCH_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/core/add.h"

enum { CELL_TICK = 20, CELL_BEGIN = (1 << 30) - 1 };

struct cell {
	uint64_t epoch; /* 0: never used */
	uint64_t have;	/* bit per wid that contributed */
	uint32_t round;
	uint32_t desc;
	uint16_t len;	     /* payload bytes */
	uint8_t kind;	     /* enum wire_kind */
	uint8_t flags;	     /* WIRE_SATURATED */
	uint32_t filled : 1; /* some contribution had values */
	uint32_t done : 1;   /* once complete, the values are the result; at a leaf: the parent's */
	/* When the first contribution to the round came, in 2^20 ns: for inspection alone. */
	uint32_t begin : 30;
};

struct slot {
	struct cell cell[2];
};

/* To about a millisecond, if that was within the last twelve days. */
static inline uint64_t cell_begin_ns(const struct cell *cell, uint64_t now_ns)
{
	uint64_t now = now_ns >> CELL_TICK;

	return (now - ((now - cell->begin) & CELL_BEGIN)) << CELL_TICK;
}

/*
 * One contribution.  payload has room for cap bytes; COMPLETE and REPEAT overwrite it with the
 * sum.
 */
struct slot_input {
	uint64_t epoch; /* the job's running epoch: checked by the caller */
	uint64_t all;	/* bits of all members */
	uint64_t now_ns;
	uint32_t round, desc;
	uint16_t wid; /* bit of the member */
	uint16_t len; /* out, with the sum: its length; so with desc, kind and flags */
	uint8_t kind;
	uint8_t flags; /* WIRE_EMPTY, WIRE_SATURATED */
	bool leaf;     /* the sum is for a parent */
	uint8_t *payload;
	uint32_t cap;
};

enum slot_verdict {
	SLOT_STALE,    /* an earlier round: drop */
	SLOT_GAP,      /* the round before has no result here: end the epoch */
	SLOT_MISMATCH, /* kind, len or desc differ from the others': end the epoch */
	SLOT_NO_ROOM,  /* the result does not fit cap: drop, nothing changed */
	SLOT_HELD,     /* added */
	SLOT_COMPLETE, /* added, and it was the last: multicast the result; leaf: the sum goes up */
	SLOT_DUPLICATE, /* in already, others are awaited: drop */
	/* In already, complete: the result to its sender again; leaf, not done: the sum goes up again. */
	SLOT_REPEAT,
};

/* values: of cell 0; those of cell 1 are stride bytes further. */
enum slot_verdict slot_add(struct slot *slot, uint8_t *values, uint32_t stride,
			   const struct add_ops *ops, struct slot_input *in);

/*
 * Leaf: the parent's result, in->payload, becomes the cell's; in->wid does not count.  False: the
 * cell does not wait for it, nothing changed.
 */
bool slot_result(struct slot *slot, uint8_t *values, uint32_t stride, const struct add_ops *ops,
		 const struct slot_input *in);

/*
 * Bits of members whose contribution to (epoch, round) is missing here; all if the round has not
 * begun.
 */
uint64_t slot_missing(const struct slot *slot, uint64_t epoch, uint32_t round, uint64_t all);

#endif
