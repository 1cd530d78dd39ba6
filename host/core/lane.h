/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - one lane: chunks numbered since the epoch began, slots in flight, what to send again and when.
 *
 * Chunk g uses slot g % len in round g / len.  Every transmission is a record in a log, oldest first; the
 * record of a chunk that was taken or sent again is stale.
 *
 * Loss shows in two ways.  A result of a chunk whose first transmission is three younger than the oldest live
 * record says that this record's packet was lost (QUIC's packet threshold, RFC 9002 section 6.1.1); for a chunk
 * sent again already it takes a window more, since the others send it again, too.  The result of a chunk that
 * was sent again says nothing about others: it may have been on its way before.  Otherwise time decides, see
 * lane_expire().
 */
#ifndef HOST_CORE_LANE_H
#define HOST_CORE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was last sent from a slot. */
struct flight {
	uint64_t g;		 /* chunk of the lane */
	uint64_t first_seq, seq; /* its first and its last transmission */
	uint64_t sent_ns;
	uint64_t index; /* lane E: segment of the epoch; lane D: data chunk of the operation */
	uint32_t tries;
	uint8_t op;
	bool flying; /* sent, and its result not taken */
	bool again;  /* in the queue to be sent again */
};

struct lane {
	uint16_t base, len; /* slots base .. base + len - 1 of the job */
	int8_t shift;	    /* len is 1 << shift; -1: no power of two */
	uint64_t next;	    /* chunk to be sent first next */
	unsigned flying;
	struct flight *flights; /* len */
	/* Slots of the transmissions head .. tail - 1, at seq % log_len. */
	uint16_t *log;
	uint32_t log_len; /* a power of two */
	uint64_t head, tail;
	/* Slots to send again, a ring of len entries. */
	uint16_t *again;
	uint32_t again_head, nr_again;
	unsigned backoff; /* timeouts since the last result */
	unsigned burst;	  /* chunks that a timeout sends again */
	bool helped;	  /* since the last timeout: the result of a chunk sent again was taken */
	uint64_t timed_out_ns; /* the last timeout */
};

enum {
	LANE_REORDER = 3,  /* transmissions a result may overtake */
	LANE_BACKOFFS = 3, /* timeouts without any result, after which each is a probe */
	LANE_BACKOFF_MAX = 16,
};

size_t lane_size(unsigned len);
/* Places the lane's arrays at mem; returns the bytes used (lane_size()). */
size_t lane_init(struct lane *lane, void *mem, unsigned len);
void lane_begin(struct lane *lane, unsigned base, unsigned len);

/* A free slot for chunk next: its flight, NULL if round - 1's result is not taken. */
struct flight *lane_free(struct lane *lane);
/* Puts the transmission of a flight on the log. */
void lane_send(struct lane *lane, struct flight *flight, uint64_t now_ns);
/* The result of a flight was taken; older flights that this shows to be lost are queued: returns how many. */
unsigned lane_take(struct lane *lane, struct flight *flight, unsigned window);
/* Takes the next flight to send again; NULL: none. */
struct flight *lane_again(struct lane *lane);
/* Queues what timed out; returns how many. */
unsigned lane_expire(struct lane *lane, uint64_t rto_ns, uint64_t rto_max_ns, uint64_t now_ns);
uint64_t lane_deadline(struct lane *lane, uint64_t rto_ns, uint64_t rto_max_ns);
/* The lowest chunk in flight; NULL: none. */
struct flight *lane_lowest(const struct lane *lane);

/* Whether silence has lasted so long that what is sent again should ask who is missing, too. */
static inline bool lane_probing(const struct lane *lane)
{
	return lane->backoff > LANE_BACKOFFS;
}

/* g / len and g % len: on the path of every packet, and a division takes as long as the rest of it. */
static inline uint64_t lane_round(const struct lane *lane, uint64_t g)
{
	return lane->shift >= 0 ? g >> lane->shift : g / lane->len;
}

static inline struct flight *lane_flight(const struct lane *lane, uint64_t g)
{
	return &lane->flights[lane->shift >= 0 ? g & (lane->len - 1U) : g % lane->len];
}

static inline unsigned lane_slot(const struct lane *lane, const struct flight *flight)
{
	return lane->base + (unsigned)(flight - lane->flights);
}

#endif
