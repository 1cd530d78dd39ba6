/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h - what explore_memory.c explores: two ranks' engines, and the switch between them. */
#ifndef TESTS_EXPLORE_MEMORY_H
#define TESTS_EXPLORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/engine.h"

enum {
	RANKS = 2,
	OPS = 2,
	BLOCK = 256, /* elements of an exponent, and of a chunk; two of them if as int16 */
	PLACES = 10,
	COUNT_MAX = 5 * BLOCK,
	MEMORY = PLACES * BLOCK + COUNT_MAX, /* places are half a chunk apart */
	P = 4 * BLOCK,
	CHUNKS = 16, /* of a run, at most */
	DEPTH = 64,  /* choices of a run */
};

enum fault {
	FAULT_NONE,
	FAULT_ALIAS,
	FAULT_ALONE,
	FAULT_ADDS,
	FAULT_WRITES,
	FAULT_CARRY,
	FAULT_NR
};

struct setting {
	const char *name;
	unsigned nr_ops, count; /* elements of each operation */
	bool floats;		/* float32, otherwise int32 */
	bool narrow;		/* as int16 on the wire, otherwise int32 */
	bool max;		/* the maximum, otherwise the sum */
	bool nonfinite;		/* some elements are Inf or NaN */
	bool check,
		unsealed;  /* unsealed: of each result a wrong one without its seal comes first */
	bool bursts;	   /* rank 0 takes several results before it sends */
	unsigned slots;	   /* of lane D */
	unsigned timeouts; /* of a run, at most */
	/* What the switch adds to elements of the sum, if anything. */
	struct {
		unsigned at;
		int32_t more;
	} corrupt[2];
	unsigned src[OPS], dst[OPS]; /* places */
};

/* What the switch knows of one chunk; ready: its result was not taken by the rank. */
struct chunk {
	uint16_t slot;
	uint32_t round, len;
	bool sent[RANKS], ready[RANKS], unsealed[RANKS];
	uint8_t first[RANKS][WIRE_MSG_MAX]; /* as they came first */
	uint8_t result[WIRE_MSG_MAX];
};

struct explorer {
	struct setting setting;
	enum fault fault;
	const char *isa; /* of the quantiser, NULL: the best */
	/* Rank 0's, at two addresses; the other's sources and results. */
	uint32_t *memory, *alias;
	uint32_t want[MEMORY], source[OPS][COUNT_MAX];
	uint32_t peer[OPS][COUNT_MAX], peer_result[OPS][COUNT_MAX];
	struct engine_op ops[RANKS][OPS];
	bool tried[OPS], taken[OPS]; /* posted; not refused */
	unsigned timeouts;
	struct chunk chunks[CHUNKS];
	unsigned nr_chunks;
	/* Of this run, and what there was to choose from. */
	uint8_t choices[DEPTH], nr_choices[DEPTH];
	unsigned depth, at;
	uint64_t runs, steps;
	const char *violation; /* NULL: none yet */
};

/* Elements of a data chunk, and the first of this place and of this chunk. */
static inline unsigned chunk_count(const struct setting *setting)
{
	return setting->narrow ? 2 * BLOCK : BLOCK;
}

static inline unsigned place_first(const struct setting *setting, unsigned place)
{
	return place * chunk_count(setting) / 2;
}

static inline unsigned chunk_first(const struct setting *setting, uint16_t slot, uint32_t round)
{
	return (round * setting->slots + slot - WIRE_SE) * chunk_count(setting);
}

/* Both engines, and memory; ends the program if that fails. */
void memory_open(struct explorer *e);
void memory_close(struct explorer *e);
/* A new epoch: nothing was ever sent. */
void memory_reset(struct explorer *e);
/* What engine_post() says. */
int memory_post(struct explorer *e, unsigned rank, unsigned op, uint32_t *src, uint32_t *dst);
/* Rank 0 takes the results of these chunks at once, and sends what it can. */
void memory_take(struct explorer *e, struct chunk *const *chunks, unsigned nr);
/* Rank 1 takes all that are ready. */
void memory_take_all(struct explorer *e);
/* Nothing comes for so long that both ranks send again what is due. */
void memory_timeout(struct explorer *e);

#endif
