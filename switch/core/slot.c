// SPDX-License-Identifier: BSD-3-Clause
/*
 * slot.c - the rule by which contributions become a sum; tests/explore model-checks this very code.
 */
#include "switch/core/slot.h"

#include <string.h>

WIRE_ASSERT(sizeof(struct slot) == 64, "a slot is a cache line");

static bool cell_is(const struct cell *cell, uint64_t epoch, uint32_t round)
{
	return cell->epoch == epoch && cell->round == round;
}

/* Room the result of a complete cell needs. */
static uint16_t cell_result_len(const struct cell *cell)
{
	return cell->filled ? cell->len : WIRE_PAD;
}

static void cell_describe(const struct cell *cell, struct slot_input *in)
{
	in->len = cell_result_len(cell);
	in->kind = cell->kind;
	in->desc = cell->desc;
	in->flags = cell->flags;
	if (!cell->filled) {
		in->flags |= WIRE_EMPTY;
		memset(in->payload, 0, WIRE_PAD);
	}
}

/* The first contribution of a round overwrites everything: there is no clearing pass to forget. */
static void cell_begin(struct cell *cell, uint8_t *values, const struct add_ops *ops,
		       const struct slot_input *in)
{
	cell->epoch = in->epoch;
	cell->begin = (in->now_ns >> CELL_TICK) & CELL_BEGIN;
	cell->round = in->round;
	cell->desc = in->desc;
	cell->kind = in->kind;
	cell->len = in->len;
	cell->flags = in->flags & WIRE_SATURATED;
	cell->filled = !(in->flags & WIRE_EMPTY);
	cell->done = !in->leaf;
	cell->have = UINT64_C(1) << in->wid;
	if (cell->filled)
		ops->store[in->kind](values, in->payload, in->len);
}

/* EMPTY contributions only set their bit, so their length is compared with nobody's. */
static bool cell_differs(const struct cell *cell, const struct slot_input *in)
{
	if (cell->kind != in->kind || cell->desc != in->desc)
		return true;
	return cell->filled && !(in->flags & WIRE_EMPTY) && cell->len != in->len;
}

/* Adds to a cell that waits for others still. */
static void cell_join(struct cell *cell, uint8_t *values, const struct add_ops *ops,
		      const struct slot_input *in)
{
	cell->have |= UINT64_C(1) << in->wid;
	cell->flags |= in->flags & WIRE_SATURATED;
	if (in->flags & WIRE_EMPTY)
		return;
	if (!cell->filled) {
		cell->len = in->len;
		cell->filled = true;
		ops->store[in->kind](values, in->payload, in->len);
	} else if (ops->combine[in->kind](values, in->payload, in->len)) {
		cell->flags |= WIRE_SATURATED;
	}
}

/*
 * Adds the last contribution and leaves the result in its payload, in one pass where both have
 * values.
 */
static void cell_finish(struct cell *cell, uint8_t *values, const struct add_ops *ops,
			struct slot_input *in)
{
	bool both = cell->filled && !(in->flags & WIRE_EMPTY);

	if (both) {
		cell->have |= UINT64_C(1) << in->wid;
		cell->flags |= in->flags & WIRE_SATURATED;
		if (ops->finish[in->kind](values, in->payload, in->len))
			cell->flags |= WIRE_SATURATED;
	} else {
		cell_join(cell, values, ops, in);
		if (cell->filled)
			ops->load[cell->kind](in->payload, values, cell->len);
	}
	cell_describe(cell, in);
}

/*
 * Its sender has the result of the round before, so it is here, and nobody needs the one before that.  Anything else
 * is of a sender that does not wait, or this memory is not what it was.
 */
static bool slot_is_ahead(const struct slot *slot, const struct slot_input *in)
{
	const struct cell *before = &slot->cell[(in->round & 1) ^ 1];

	return in->round > 0 && !(cell_is(before, in->epoch, in->round - 1) &&
				  before->have == in->all && before->done);
}

/* A world of one: the first contribution is the last, and the packet holds the result already. */
static enum slot_verdict slot_begin(struct slot *slot, struct cell *cell, uint8_t *values,
				    const struct add_ops *ops, struct slot_input *in)
{
	if (slot_is_ahead(slot, in))
		return SLOT_GAP;
	cell_begin(cell, values, ops, in);
	if (cell->have != in->all)
		return SLOT_HELD;
	cell_describe(cell, in);
	return SLOT_COMPLETE;
}

static enum slot_verdict slot_repeat(const struct cell *cell, const uint8_t *values,
				     const struct add_ops *ops, struct slot_input *in)
{
	if (cell->have != in->all)
		return SLOT_DUPLICATE;
	if (cell_result_len(cell) > in->cap)
		return SLOT_NO_ROOM;
	if (cell->filled)
		ops->load[cell->kind](in->payload, values, cell->len);
	cell_describe(cell, in);
	return SLOT_REPEAT;
}

enum slot_verdict slot_add(struct slot *slot, uint8_t *values, uint32_t stride,
			   const struct add_ops *ops, struct slot_input *in)
{
	struct cell *cell = &slot->cell[in->round & 1];
	uint64_t bit = UINT64_C(1) << in->wid;

	values += (size_t)(in->round & 1) * stride;
	if (cell->epoch != in->epoch || in->round > cell->round || cell->have == 0)
		return slot_begin(slot, cell, values, ops, in);
	if (in->round < cell->round)
		return SLOT_STALE;
	if (cell->have & bit)
		return slot_repeat(cell, values, ops, in);
	if (cell_differs(cell, in))
		return SLOT_MISMATCH;
	if ((cell->have | bit) != in->all) {
		cell_join(cell, values, ops, in);
		return SLOT_HELD;
	}
	if (cell->filled && cell->len > in->cap)
		return SLOT_NO_ROOM;
	cell_finish(cell, values, ops, in);
	return SLOT_COMPLETE;
}

bool slot_result(struct slot *slot, uint8_t *values, uint32_t stride, const struct add_ops *ops,
		 const struct slot_input *in)
{
	struct cell *cell = &slot->cell[in->round & 1];
	bool filled = !(in->flags & WIRE_EMPTY);

	if (!cell_is(cell, in->epoch, in->round) || cell->have != in->all || cell->done)
		return false;
	/* The sum of all has values where some part of it has. */
	if (cell->kind != in->kind || cell->desc != in->desc || in->len > stride ||
	    (cell->filled && (!filled || cell->len != in->len)))
		return false;
	cell->len = in->len;
	cell->flags = in->flags & WIRE_SATURATED;
	cell->filled = filled;
	cell->done = true;
	if (filled)
		ops->store[in->kind](values + (size_t)(in->round & 1) * stride, in->payload,
				     in->len);
	return true;
}

uint64_t slot_missing(const struct slot *slot, uint64_t epoch, uint32_t round, uint64_t all)
{
	const struct cell *cell = &slot->cell[round & 1];

	return cell_is(cell, epoch, round) ? all & ~cell->have : all;
}
