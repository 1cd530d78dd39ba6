// SPDX-License-Identifier: BSD-3-Clause
/* outbox.c - the queue of STATUS messages and its limiter. */
#include "switch/core/outbox.h"

#include <string.h>

WIRE_ASSERT((OUTBOX_MAX & (OUTBOX_MAX - 1)) == 0, "the counts may wrap");
WIRE_ASSERT((OUTBOX_SETS & (OUTBOX_SETS - 1)) == 0, "sets are taken by mask");

static unsigned outbox_set(const struct flow *flow)
{
	uint64_t key = (uint64_t)flow->ip << 16 | flow->udp_port;

	return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56) & (OUTBOX_SETS - 1);
}

bool outbox_allows(struct outbox *outbox, const struct flow *to, bool join, uint64_t now_ns)
{
	struct outbox_source *set = outbox->sources[outbox_set(to)];
	struct outbox_source *oldest = &set[0];

	for (unsigned i = 0; i < OUTBOX_WAYS; i++) {
		if (set[i].until_ns > now_ns && set[i].ip == to->ip &&
		    set[i].udp_port == to->udp_port && set[i].join == join)
			return false;
		if (set[i].until_ns < oldest->until_ns)
			oldest = &set[i];
	}
	if (oldest->until_ns > now_ns)
		return false;
	oldest->until_ns = now_ns + OUTBOX_GAP_NS;
	oldest->ip = to->ip;
	oldest->udp_port = to->udp_port;
	oldest->join = join;
	return true;
}

/* NULL: it is full. */
static struct outbox_entry *outbox_next(struct outbox *outbox)
{
	if (outbox->tail - outbox->head == OUTBOX_MAX)
		return NULL;
	return &outbox->entries[outbox->tail & (OUTBOX_MAX - 1)];
}

/* The entry's message has len bytes. */
static void outbox_commit(struct outbox *outbox, const struct flow *to, size_t len,
			  struct outbox_room room)
{
	struct outbox_entry *entry = &outbox->entries[outbox->tail++ & (OUTBOX_MAX - 1)];
	size_t pad = (size_t)WIRE_HEADER + room.pad;

	entry->to = *to;
	entry->len = (uint16_t)len;
	entry->padded = (uint16_t)(pad > len ? pad : len);
	entry->seal = room.seal;
}

void outbox_put(struct outbox *outbox, const struct flow *to, const struct wire_msg *msg,
		const struct wire_status *status, struct outbox_room room)
{
	struct outbox_entry *entry = outbox_next(outbox);
	size_t len = room.len < WIRE_BODY ? room.len : WIRE_BODY;

	if (!entry)
		return;
	len = wire_status_build(entry->msg, msg, status, len);
	if (len)
		outbox_commit(outbox, to, len, room);
}

void outbox_put_raw(struct outbox *outbox, const struct flow *to, const uint8_t *msg,
		    struct outbox_room room)
{
	struct outbox_entry *entry = outbox_next(outbox);
	size_t len = (size_t)WIRE_HEADER + room.len;

	if (!entry || len > sizeof(entry->msg))
		return;
	memcpy(entry->msg, msg, len);
	outbox_commit(outbox, to, len, room);
}

size_t outbox_take(struct outbox *outbox, struct flow *to, uint8_t *buf)
{
	const struct outbox_entry *entry = &outbox->entries[outbox->head & (OUTBOX_MAX - 1)];

	if (outbox->head == outbox->tail)
		return 0;
	*to = entry->to;
	memcpy(buf, entry->msg, entry->len);
	memset(buf + entry->len, 0, (size_t)entry->padded - entry->len);
	outbox->head++;
	if (entry->seal)
		return wire_seal(buf, entry->padded - (uint32_t)WIRE_HEADER);
	return entry->padded;
}
