/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outbox.h - messages of the switch's own on their way out, most of them STATUS: a bounded queue,
 * and who may be answered how often.
 *
 * A full queue loses the message, as the network may: whoever needs it asks again.
 */
#ifndef SWITCH_CORE_OUTBOX_H
#define SWITCH_CORE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "switch/core/flow.h"

enum {
	OUTBOX_MAX = 256,  /* power of two; one END EPOCH makes up to WIRE_WORLD_MAX */
	OUTBOX_SETS = 256, /* power of two */
	OUTBOX_WAYS = 4,
	OUTBOX_GAP_NS = 1000000, /* one answer to a source in this time */
};

struct outbox_entry {
	struct flow to;
	uint16_t len;	 /* bytes of msg */
	uint16_t padded; /* with the zeros behind msg */
	bool seal;	 /* and a CRC32C behind those */
	uint8_t msg[WIRE_HEADER + WIRE_BODY];
};

struct outbox_source {
	uint64_t until_ns; /* no other answer before this; 0: free */
	uint32_t ip;
	uint16_t udp_port;
	bool join;
};

struct outbox {
	uint32_t head, tail; /* both count up without end */
	struct outbox_entry entries[OUTBOX_MAX];
	struct outbox_source sources[OUTBOX_SETS][OUTBOX_WAYS];
};

/*
 * False: this source was answered less than OUTBOX_GAP_NS ago, or too many others of its set were.
 * So a flood of forged packets draws at most OUTBOX_SETS * OUTBOX_WAYS answers a millisecond, none
 * longer than its question.  join: to a JOIN body, which counts by itself: a leaf asks about a job right after the
 * answer to something else.
 */
bool outbox_allows(struct outbox *outbox, const struct flow *to, bool join, uint64_t now_ns);
/* Of a body: len bytes at most, zeros behind it up to pad bytes, and whether to seal all that. */
struct outbox_room {
	uint16_t len, pad;
	bool seal;
};
/* The body is as much of a STATUS as fits (32, 96 or 160 bytes).  Nothing is sent if none does. */
void outbox_put(struct outbox *outbox, const struct flow *to, const struct wire_msg *msg,
		const struct wire_status *status, struct outbox_room room);
/* A message of a header and room.len bytes, WIRE_BODY at most, as it is. */
void outbox_put_raw(struct outbox *outbox, const struct flow *to, const uint8_t *msg,
		    struct outbox_room room);
/*
 * Writes the oldest message at buf, which has room for WIRE_MSG_MAX: its length, 0 if there is
 * none.
 */
size_t outbox_take(struct outbox *outbox, struct flow *to, uint8_t *buf);

#endif
