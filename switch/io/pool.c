// SPDX-License-Identifier: BSD-3-Clause
/* pool.c - a pool of plain memory, for ports that bring no buffers of their own. */
#include "switch/io/pool.h"

#include <stdlib.h>
#include <string.h>

static bool plain_get(struct pool *pool, struct pkt *pkt)
{
	struct pool_plain *plain = (struct pool_plain *)pool;
	uint32_t i;

	if (!plain->nr_free)
		return false;
	i = plain->free[--plain->nr_free];
	pkt->data = plain->mem + (size_t)i * plain->room;
	pkt->cap = plain->room;
	pkt->buf = pkt->data;
	pkt->pool = pool;
	return true;
}

static void plain_put(struct pool *pool, struct pkt *pkt)
{
	struct pool_plain *plain = (struct pool_plain *)pool;
	size_t off = (size_t)((uint8_t *)pkt->buf - plain->mem);

	plain->free[plain->nr_free++] = (uint32_t)(off / plain->room);
}

int pool_plain_init(struct pool_plain *plain, uint32_t nr, uint32_t room)
{
	*plain = (struct pool_plain){
		.pool = { .get = plain_get, .put = plain_put },
		.mem = malloc((size_t)nr * room),
		.free = malloc(nr * sizeof(*plain->free)),
		.room = room,
		.nr = nr,
	};
	if (!plain->mem || !plain->free) {
		pool_plain_fini(plain);
		return -1;
	}
	/* The lowest index comes first, so that few pages are touched. */
	while (plain->nr_free < nr) {
		plain->free[plain->nr_free] = nr - 1 - plain->nr_free;
		plain->nr_free++;
	}
	return 0;
}

void pool_plain_fini(struct pool_plain *plain)
{
	free(plain->mem);
	free(plain->free);
	*plain = (struct pool_plain){ 0 };
}

bool pkt_copy(struct pkt *out, struct pool *pool, const struct pkt *src)
{
	struct pkt copy = *src;

	if (!pool->get(pool, &copy))
		return false;
	if (copy.cap < src->len) {
		pkt_put(&copy);
		return false;
	}
	memcpy(copy.data, src->data, src->len);
	*out = copy;
	return true;
}
