/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll.h - operations of one epoch, cut into chunks, over two lanes.  A pure machine.
 *
 * An operation is a row of segments.  Segment s has one E chunk (lane E: descriptor, non-finite origin, block
 * exponents; combined by MAX8) and up to 512 data chunks of 32 bits an element, or 256 of 16 (lane D).  COLL_FLOAT operations have a segment per
 * 128 P elements; all others have one segment, whose E chunk is the descriptor alone (OPEN).  Data flows only
 * after the segment's E result is taken.  Rules R1 to R6 of docs/protocol.md, "Chunks and lanes".
 *
 * With CHECK a wrapping sum (ADD32, ADD16) has one data chunk more, CLOSE, at the end of its last segment: two
 * sums over all that the rank sent, itself always ADD32.  Their totals must be those over the results.
 *
 * The machine owns no user data.  coll_output() says which chunks go now and where their elements lie;
 * coll_input() says where a result's elements belong.  The engine quantises and dequantises.
 */
#ifndef HOST_CORE_COLL_H
#define HOST_CORE_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/core/rtt.h"
#include "proto/wire.h"

enum {
	COLL_OPS = WIRE_SE,	 /* operations outstanding */
	COLL_SEGS = 2 * WIRE_SE, /* segments between first E and last data */
	COLL_SEG_CHUNKS = 512,	 /* data chunks per segment, half as many of 16 bits */
	COLL_BLOCK = 256,	 /* elements per exponent */
	COLL_WINDOW_MIN = 16,
	COLL_WINDOW_START = 64,
};

struct coll_params {
	uint16_t slots;	 /* S at most */
	uint16_t p;	 /* P at most */
	uint16_t window; /* data chunks in flight at most; 0: S */
	uint64_t rto_min_ns, rto_max_ns;
};

enum coll_form { COLL_OPEN, COLL_RAW, COLL_FLOAT };

struct coll_epoch {
	uint16_t job; /* handle */
	uint64_t epoch;
	uint16_t wid;
	uint16_t slots, p; /* agreed, at most those of the params */
	bool check;	   /* WIRE_JOB_CHECK: what is sent and taken is sealed, sums are closed */
};

struct coll_args {
	struct wire_desc desc; /* opno, width and p are filled in by coll_start() */
	uint8_t form;	       /* enum coll_form */
	uint8_t kind;	       /* enum wire_kind of the data chunks */
	uint8_t width;	       /* bytes per element on the wire; 0 for COLL_OPEN */
};

enum coll_lane { COLL_E, COLL_D };

/* A chunk to send now, or a result just taken. */
struct coll_chunk {
	uint8_t lane; /* enum coll_lane */
	uint8_t op;   /* as coll_start() returned */
	bool fresh; /* first transmission; for lane E: the engine fills the exponents at e + WIRE_E_EXP and marks
			    the origin, everything else in e is there */
	bool probe; /* nothing has come back for long: also send KEEPALIVE(slot, round) */
	bool close; /* the CLOSE chunk: coll_close() has its payload; as a result nothing is to be done */
	bool again; /* a result that came because the chunk was sent again, not because a rank was late */
	bool counted; /* coll_count() wants the sums of the payload that is sent or was taken */
	uint8_t kind; /* header fields */
	uint8_t flags;
	uint16_t slot;
	uint32_t round, desc;
	uint32_t len;	/* payload bytes, padded */
	uint64_t first; /* element of the operation; lane E: of the segment */
	uint32_t count; /* elements; lane E: of the segment (0 for OPEN) */
	uint32_t phase; /* lane D: first % 256 */
	uint8_t *e; /* lane E: the payload; lane D: the agreed exponents, those of first's block foremost (COLL_FLOAT) */
};

enum coll_verdict {
	COLL_DROPPED,  /* not awaited: counted */
	COLL_TAKEN_D,  /* data to deliver: payload of the message, chunk says where */
	COLL_TAKEN_E,  /* a segment's exponents are agreed: chunk->e */
	COLL_MISMATCH, /* the descriptor in the E result is not ours */
	COLL_BROKEN,   /* a result without values: the switch is wrong */
};

struct coll_stats {
	uint64_t sent, retransmits, taken;
	uint64_t dropped; /* results not awaited: duplicates, earlier rounds, other epochs */
};

struct coll;

size_t coll_size(const struct coll_params *params);
/* mem: coll_size() bytes, 64-byte aligned, the caller's.  NULL: a parameter out of range. */
struct coll *coll_init(void *mem, const struct coll_params *params);

/* A new epoch: nothing is outstanding, rounds and operation numbers start at 0.  RTT and window are kept. */
void coll_begin(struct coll *coll, const struct coll_epoch *epoch);

/* Posts an operation: its index in [0, COLL_OPS), or -1 if COLL_OPS are outstanding. */
int coll_start(struct coll *coll, const struct coll_args *args);

/* Until the next call no more than that many segments and data chunks of an operation are sent, from its first on.
 * Without a call: all. */
void coll_allow(struct coll *coll, int op, uint64_t segments, uint64_t chunks);

/* Chunks to send now, at most max; they count as sent at now_ns. */
unsigned coll_output(struct coll *coll, struct coll_chunk *out, unsigned max, uint64_t now_ns);

/* A parsed RESULT.  *chunk is written for TAKEN_D, TAKEN_E and MISMATCH. */
enum coll_verdict coll_input(struct coll *coll, const struct wire_msg *msg,
			     struct coll_chunk *chunk, uint64_t now_ns);

/*
 * With CHECK: the integers of a chunk's payload as first sent, or of a result: sums[0] of q[i], sums[1]
 * of i * q[i], mod 2^64.  Once for each chunk that is `counted`, in the order in which coll_output() gave
 * them, and before the payload of a CLOSE chunk is asked for.
 */
void coll_count(struct coll *coll, const struct coll_chunk *chunk, const uint64_t sums[2]);
/* The payload of a CLOSE chunk, WIRE_PAD bytes: the same each time. */
void coll_close(const struct coll *coll, const struct coll_chunk *chunk, uint8_t *payload);

/* A STATUS with (slot, round) that answered a KEEPALIVE sent at sent_ns. */
void coll_answer(struct coll *coll, const struct wire_status *status, uint16_t slot, uint32_t round,
		 uint64_t sent_ns, uint64_t now_ns);

/* The oldest outstanding operation if it is complete: its index; -1 otherwise. */
int coll_complete(const struct coll *coll);
/* The same, once.  In order. */
int coll_finish(struct coll *coll);
/* Whether the results of a finished operation are the sums of what the ranks sent, as far as CLOSE tells. */
bool coll_verified(const struct coll *coll, int op);
unsigned coll_outstanding(const struct coll *coll);
/* The oldest outstanding operation, -1: none. */
int coll_oldest(const struct coll *coll);
const struct wire_desc *coll_desc(const struct coll *coll, int op);

/* When coll_output() has something to say at the latest: 0 now; UINT64_MAX never, until input or start. */
uint64_t coll_deadline(struct coll *coll);

/* What the oldest operation waits for, as far as the switch has told: ranks missing in the lowest incomplete
 * chunk, its slot.  Returns false if nothing is known. */
bool coll_stall(const struct coll *coll, uint64_t *missing, uint64_t *silent, uint16_t *slot);

const struct coll_stats *coll_stats(const struct coll *coll);
unsigned coll_window(const struct coll *coll);
const struct rtt *coll_rtt(const struct coll *coll);

#endif
