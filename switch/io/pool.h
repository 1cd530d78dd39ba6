/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h - packets in the shell's hands, and the pools that their bytes come from.
 *
 * A packet with a pool owns a buffer of it, and whoever has the packet last puts it back.  A packet without
 * one is borrowed: its bytes are the port's and stay valid until that port's next rx.
 */
#ifndef SWITCH_IO_POOL_H
#define SWITCH_IO_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "switch/core/flow.h"

struct pool;

struct pkt {
	uint8_t *data; /* framed ports: the frame; socket ports: the UDP payload */
	uint32_t len;
	uint32_t cap;	   /* room at data */
	struct flow flow;  /* socket ports: the peer.  On every port: its index */
	bool verify;	   /* no device has looked at its checksums */
	bool too_long;	   /* longer than any buffer: data has only its beginning */
	void *buf;	   /* the pool's handle */
	struct pool *pool; /* NULL: borrowed */
};

struct pool {
	/* Fills in data, cap, buf and pool; false if the pool is empty. */
	bool (*get)(struct pool *pool, struct pkt *pkt);
	void (*put)(struct pool *pool, struct pkt *pkt);
};

/* A pool of plain memory. */
struct pool_plain {
	struct pool pool;
	uint8_t *mem;
	uint32_t room; /* bytes of a buffer */
	uint32_t nr, nr_free;
	uint32_t *free; /* indices, a stack */
};

/* 0, or -1 if there is no memory.  Pages are touched when used first. */
int pool_plain_init(struct pool_plain *plain, uint32_t nr, uint32_t room);
void pool_plain_fini(struct pool_plain *plain);

static inline void pkt_put(struct pkt *pkt)
{
	if (pkt->pool)
		pkt->pool->put(pkt->pool, pkt);
	pkt->pool = NULL;
}

/* A copy of src in a buffer of pool; false if the pool is empty or its buffers too small. */
bool pkt_copy(struct pkt *out, struct pool *pool, const struct pkt *src);

#endif
