/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold.h - what is held back, in the order in which it goes on: by its time, or behind others.
 *
 * Items are numbers of the shell's.  Those of the same time keep the order in which they were put
 * in.  The memory is the caller's and does not grow.
 */
#ifndef SWITCH_CORE_HOLD_H
#define SWITCH_CORE_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HOLD_MAX = 4096, /* items */
	HOLD_LATE = 256, /* of these: that wait for others */
	HOLD_NONE = -1,
};

struct hold_entry {
	uint64_t due_ns;
	uint32_t seq; /* order of those of the same time */
	uint16_t item;
};

struct hold_late {
	struct hold_entry entry;
	uint32_t left; /* items that are still to go before it */
};

struct hold {
	uint32_t nr, nr_late;
	uint32_t seq;
	struct hold_entry *heap; /* room for HOLD_MAX; NULL: no memory, takes nothing */
	struct hold_late *late;	 /* room for HOLD_LATE, oldest first */
};

/* mem: HOLD_BYTES, aligned for a uint64_t. */
#define HOLD_BYTES (HOLD_MAX * sizeof(struct hold_entry) + HOLD_LATE * sizeof(struct hold_late))
void hold_init(struct hold *hold, void *mem);
/* False: full. */
bool hold_put(struct hold *hold, uint16_t item, uint64_t due_ns);
/*
 * Goes on right behind the distance-th item that is put in by hold_put() from now on, or at due_ns
 * if that comes first.  False: too many wait like this.
 */
bool hold_put_late(struct hold *hold, uint16_t item, uint64_t due_ns, uint32_t distance);
/* The first whose time has come, or HOLD_NONE. */
int hold_take(struct hold *hold, uint64_t now_ns);
/*
 * Gives everything another time, in the order in which it would have gone on; then what waits for others, which goes
 * on waiting for them.
 */
void hold_retime(struct hold *hold, uint64_t (*due)(void *context, uint16_t item, uint64_t due_ns),
		 void *context);
/* When the next one goes on; UINT64_MAX: there is none. */
uint64_t hold_due(const struct hold *hold);

static inline uint32_t hold_count(const struct hold *hold)
{
	return hold->nr + hold->nr_late;
}

#endif
