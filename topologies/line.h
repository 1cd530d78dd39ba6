/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One direction of a link in virtual time: packets leave one after the other at its rate, and arrive after its delay.
 *
 * What finds the queue full is dropped; a sender that looks at the queue first loses nothing.  Bytes are counted as
 * tally-switch does where it limits a rate: with Ethernet, IPv4 and UDP headers.
 */
#ifndef TOPOLOGIES_LINE_H
#define TOPOLOGIES_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "topologies/agenda.h"

enum {
	LINE_OVERHEAD = 42,
	LINE_RING = 128 /* packets that an idle sender may hand over at once */
};

/* A UDP payload on its way.  Whoever has it last gives it back. */
struct packet {
	struct packet *next;
	uint64_t leaves_ns, arrives_ns;
	uint32_t ip;	   /* of the sender */
	uint16_t from, to; /* UDP ports */
	uint32_t len;
	_Alignas(16) uint8_t pad[58]; /* what follows a message's header begins a cache line */
	uint8_t data[];
};

/* Buffers of one size, the last one used first: it is still in the cache. */
struct packet_pool {
	struct packet *idle;
	uint32_t room; /* bytes of data */
	uint64_t nr_made, nr_out;
};

/* NULL: no memory. */
struct packet *packet_get(struct packet_pool *pool);
void packet_put(struct packet_pool *pool, struct packet *packet);
void packet_pool_free(struct packet_pool *pool);
static inline struct packet *packet_of(uint8_t *data)
{
	return (struct packet *)(void *)(data - __builtin_offsetof(struct packet, data));
}

struct line_stats {
	uint64_t packets, bytes, dropped;
	uint32_t deepest;	/* packets that waited at the same time */
	uint64_t deepest_bytes; /* likewise */
};

struct line {
	struct event event; /* the first packet arrives */
	struct agenda *agenda;
	struct packet_pool *pool;
	uint64_t rate, delay_ns; /* bits a second, not 0 */
	uint32_t queue;		 /* packets, or bytes, that may wait; 0: any number */
	bool queue_bytes;
	/* Takes each packet over. */
	void (*deliver)(struct line *line, struct packet *packet);
	void *to; /* the receiver's */
	unsigned port;
	/* Where it stands. */
	uint64_t busy_ns, busy_part; /* until then, and the part of a nanosecond beyond */
	struct packet *first, *last;
	struct packet *waiting; /* the first that has not left */
	uint32_t nr_waiting;
	struct line_stats stats;
};

/* rate, delay, queue, deliver, to and port are set. */
void line_init(struct line *line, struct agenda *agenda, struct packet_pool *pool);
/* Takes the packet over.  False: it was dropped. */
bool line_send(struct line *line, struct packet *packet);
/* How many have not left by now. */
uint32_t line_waiting(struct line *line);
/* When half of what waits has left, if nothing is sent meanwhile. */
uint64_t line_half(const struct line *line);
/* Gives back what is on its way. */
void line_empty(struct line *line);

#endif
