/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.h - Tally's native packets, version 1: the only place that knows byte offsets.
 *
 * Everything here is the UDP payload.  All fields are big-endian.  docs/protocol.md is the
 * normative text; this header and it say the same.
 *
 * Parsing never copies a payload and never trusts a length: a message is either wholly valid, or
 * named by the one thing that is wrong with it (enum wire_error).
 */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WIRE_ASSERT static_assert
extern "C" {
#else
#define WIRE_ASSERT _Static_assert
#endif

enum {
	WIRE_VERSION = 1,
	WIRE_PORT = 48880, /* UDP port of the switch */
	WIRE_HEADER = 22,  /* bytes before the payload; with 42 bytes of framing: 64 */
	WIRE_PAD = 32,	   /* a payload is a multiple of this */
	WIRE_BODY = 160,   /* JOIN, STATUS, END and KEEPALIVE bodies before padding */
	WIRE_P_MIN = 128,  /* payload bytes P agreed at JOIN: a multiple of P_MIN ... */
	WIRE_P_MAX = 8832, /* ... up to what MTU 9000 carries */
	WIRE_CRC = 4,	   /* bytes of CRC32C behind every message of a job with CHECK */
	WIRE_MSG_MAX = WIRE_HEADER + WIRE_P_MAX + WIRE_CRC,
	WIRE_NAME = 64,	    /* bytes of a job name, zero-padded; may fill all of them */
	WIRE_DESC = 32,	    /* bytes of an operation descriptor */
	WIRE_E_EXP = 48,    /* where the exponents start in an E chunk */
	WIRE_E_ORIGIN = 32, /* where the non-finite origin starts in an E chunk */
	WIRE_E_ORIGIN_LEN = 16,
	WIRE_SE = 32,		/* slots of lane E = operations outstanding */
	WIRE_WORLD_MAX = 64,	/* members of one switch: bits of `have` */
	WIRE_RANKS_MAX = 65535, /* ranks of one job over a tree of switches */
	WIRE_WID_NONE = 0xffff, /* wid of a RESULT */
	WIRE_RANGES = 3,
	WIRE_SHARDS_MAX = 64,
};
#define WIRE_ROUND_END (UINT32_C(1) << 31) /* a new epoch is forced before this round */
#define WIRE_EPOCH_MAX ((UINT64_C(1) << 48) - 1)

/* Header. */
enum {
	WIRE_OFF_TYPE = 0, /* version << 4 | type */
	WIRE_OFF_KIND = 1, /* flags << 4 | kind */
	WIRE_OFF_JOB = 2,
	WIRE_OFF_EPOCH = 4, /* 48 bit */
	WIRE_OFF_SLOT = 10,
	WIRE_OFF_ROUND = 12,
	WIRE_OFF_DESC = 16,
	WIRE_OFF_WID = 20,
};

/* JOIN body. */
enum {
	WIRE_JOIN_INC = 0,
	WIRE_JOIN_BASE = 8, /* 48 bit */
	WIRE_JOIN_FLAGS = 14,
	WIRE_JOIN_WORLD = 16,
	WIRE_JOIN_SLOTS = 18,
	WIRE_JOIN_P = 20,
	WIRE_JOIN_PORT = 22,
	WIRE_JOIN_NR_PORTS = 24,
	WIRE_JOIN_NR_RANGES = 26,
	WIRE_JOIN_RANGES = 28, /* 3 x (first u16, nr u16) */
	WIRE_JOIN_NAME = 40,
	WIRE_JOIN_RANKS = 104,
};

/* STATUS body; END carries the same. */
enum {
	WIRE_STATUS_STATE = 0,
	WIRE_STATUS_CAUSE = 1,
	WIRE_STATUS_WID_A = 2,
	WIRE_STATUS_WID_B = 4,
	WIRE_STATUS_ENDED = 6, /* 48 bit */
	WIRE_STATUS_KEY = 12,
	WIRE_STATUS_INC = 20,
	WIRE_STATUS_P = 28,
	WIRE_STATUS_SLOTS = 30,
	WIRE_STATUS_SE = 32,
	WIRE_STATUS_WORLD = 34,
	WIRE_STATUS_SHARDS = 36,
	WIRE_STATUS_FLAGS = 38,
	WIRE_STATUS_FIELD = 40,
	WIRE_STATUS_FIRST = 44,
	WIRE_STATUS_VALUE_A = 48,
	WIRE_STATUS_VALUE_B = 56,
	WIRE_STATUS_JOINED = 64,
	WIRE_STATUS_MISSING = 72,
	WIRE_STATUS_SILENT = 80,
	WIRE_STATUS_DESC_A = 96,
	WIRE_STATUS_DESC_B = 128,
};

/* Operation descriptor. */
enum {
	WIRE_DESC_OPNO = 0,
	WIRE_DESC_COUNT = 4,
	WIRE_DESC_COLLECTIVE = 12,
	WIRE_DESC_DTYPE = 13,
	WIRE_DESC_OP = 14,
	WIRE_DESC_WIDTH = 15,
	WIRE_DESC_ROOT = 16,
	WIRE_DESC_WORLD = 18,
	WIRE_DESC_P = 20,
	WIRE_DESC_FLAGS = 22,
};

WIRE_ASSERT(WIRE_OFF_WID + 2 == WIRE_HEADER, "header");
WIRE_ASSERT(WIRE_JOIN_RANGES + 4 * WIRE_RANGES == WIRE_JOIN_NAME, "ranges end at the name");
WIRE_ASSERT(WIRE_JOIN_NAME + WIRE_NAME == WIRE_JOIN_RANKS, "ranks behind the name");
WIRE_ASSERT(WIRE_JOIN_RANKS + 2 <= WIRE_BODY, "JOIN inside the body");
WIRE_ASSERT(WIRE_STATUS_DESC_B + WIRE_DESC == WIRE_BODY, "descriptors end the body");
WIRE_ASSERT(WIRE_BODY % WIRE_PAD == 0 && WIRE_P_MIN % WIRE_PAD == 0, "padding");
WIRE_ASSERT(WIRE_E_EXP + WIRE_P_MIN / 2 <= WIRE_P_MIN, "an E chunk fits the smallest P");

enum wire_type {
	WIRE_DATA = 1,
	WIRE_RESULT = 2,
	WIRE_JOIN = 3,
	WIRE_STATUS = 4,
	WIRE_END = 5,
	WIRE_LEAVE = 6,
	WIRE_KEEPALIVE = 7,
};

/* How a slot combines contributions; 0 in messages that carry none. */
enum wire_kind {
	WIRE_ADD32 = 1,	   /* wrapping int32 sum */
	WIRE_ADD32SAT = 2, /* saturating int32 sum */
	WIRE_ADD16 = 3,	   /* wrapping int16 sum */
	WIRE_MAX32 = 4,	   /* signed int32 maximum */
	WIRE_MAX8 = 5,	   /* unsigned byte maximum */
};

/* Upper nibble of the kind byte. */
enum wire_flag {
	WIRE_EMPTY = 0x10,     /* the contribution has no values */
	WIRE_PARTIAL = 0x20,   /* leaf to root */
	WIRE_SATURATED = 0x40, /* an ADD32SAT sum did saturate */
};

/* JOIN and STATUS flags. */
enum {
	WIRE_JOB_CHUNK_FIXED = 0x0001, /* JOIN: P was asked for by the user, not found by default */
	WIRE_JOB_CHECK = 0x0002,       /* messages are sealed, sums are closed */
};

#define WIRE_ERROR_MAP(X)                                                                          \
	X(OK, "valid")                                                                             \
	X(TRUNCATED, "shorter than a header")                                                      \
	X(BAD_VERSION, "another protocol version")                                                 \
	X(BAD_TYPE, "unknown message type")                                                        \
	X(BAD_KIND, "unknown or misplaced kind of contribution")                                   \
	X(BAD_FLAG, "unknown or misplaced flag")                                                   \
	X(BAD_LENGTH, "length is not one the message type allows")                                 \
	X(BAD_CRC, "wrong CRC32C: corrupted on the way")                                           \
	X(BAD_FIELD, "a field is out of its range")

enum wire_error {
#define X(name, text) WIRE_##name,
	WIRE_ERROR_MAP(X)
#undef X
};

/* A parsed message.  payload points into the parsed buffer. */
struct wire_msg {
	uint8_t type;  /* enum wire_type */
	uint8_t kind;  /* enum wire_kind or 0 */
	uint8_t flags; /* enum wire_flag */
	uint16_t job;  /* handle */
	uint16_t slot;
	uint16_t wid;
	uint64_t epoch;
	uint32_t round;
	uint32_t desc;
	uint32_t len; /* payload bytes */
	bool sealed;  /* a CRC32C follows them, and is right */
	const uint8_t *payload;
};

struct wire_range {
	uint16_t first, nr;
};

struct wire_join {
	uint64_t inc;  /* incarnation: fresh 64 random bits at every open */
	uint64_t base; /* epoch to replace, 0 at start */
	uint16_t flags;
	uint16_t world;
	uint16_t slots; /* S wanted */
	uint16_t p;	/* P at most */
	uint16_t port, nr_ports;
	uint16_t nr_ranges;
	struct wire_range ranges[WIRE_RANGES]; /* of the switches on the way, innermost first */
	uint16_t ranks; /* from a switch: it stands for ranks wid .. wid + ranks - 1; 0: a rank */
	char name[WIRE_NAME + 1]; /* always terminated here */
};

enum wire_state {
	WIRE_UNKNOWN = 1,
	WIRE_FORMING = 2,
	WIRE_RUNNING = 3,
	WIRE_REFUSED = 4,
};

/* Why an epoch ended, or a JOIN was refused. */
#define WIRE_CAUSE_MAP(X)                                                                          \
	X(NONE, 0, "none")                                                                         \
	X(RESTARTED, 1, "a rank started anew")                                                     \
	X(MISMATCH, 2, "ranks disagree on an operation")                                           \
	X(ABORTED, 3, "a rank aborted")                                                            \
	X(LEFT, 4, "a rank left")                                                                  \
	X(PROTOCOL, 5, "the switch lost state")                                                    \
	X(ROUNDS, 6, "rounds used up")                                                             \
	X(RESET, 7, "reset by the operator")                                                       \
	X(PARAMETERS, 8, "ranks disagree on the job")                                              \
	X(DUPLICATE_RANK, 9, "the rank is taken")                                                  \
	X(NO_SLOTS, 10, "no slots are free")                                                       \
	X(VERSION, 11, "another protocol version")                                                 \
	X(GONE, 12, "a rank's process is gone")                                                    \
	X(CORRUPTED, 13, "a sum was corrupted on the way")                                         \
	X(SILENT, 14, "silent for long, and its slots were wanted")                                \
	X(DEVICE, 15, "a rank's GPU failed")

enum wire_cause {
#define X(name, value, text) WIRE_CAUSE_##name = (value),
	WIRE_CAUSE_MAP(X)
#undef X
};

/* Which JOIN field a refusal is about. */
enum wire_field {
	WIRE_FIELD_NONE = 0,
	WIRE_FIELD_WORLD = 1,
	WIRE_FIELD_CHUNK = 2,
	WIRE_FIELD_FLAGS = 3,
	WIRE_FIELD_RANK = 4,
	WIRE_FIELD_SLOTS = 5,
	WIRE_FIELD_RANGES = 6,
};

struct wire_status {
	uint8_t state; /* enum wire_state */
	uint8_t cause; /* enum wire_cause; says why epoch `ended` ended, or why the JOIN is refused */
	uint16_t wid_a, wid_b; /* the ranks the cause is about; WIRE_WID_NONE if none */
	uint64_t ended;	       /* the epoch the cause ended, 0: none */
	uint64_t key;	       /* FNV-1a-64 of the job name */
	uint64_t inc;	       /* incarnation accepted for the wid in the header */
	uint16_t p, slots;     /* P and S agreed; what was asked for so far while FORMING */
	/* From here on only if the body has at least 96 bytes. */
	uint16_t se, world, shards, flags;
	uint8_t field;	/* enum wire_field */
	uint16_t first; /* wid of bit 0 */
	/*
	 * Refused: of the field, the job's and the asker's.  Otherwise, if field is RANGES: value_a
	 * is a range of ranks that are awaited behind another switch.
	 */
	uint64_t value_a, value_b;
	/* Bit per wid - first; missing is about (slot, round) echoed. */
	uint64_t joined, missing, silent;
	/* From here on only if it has 160. */
	uint8_t desc_a[WIRE_DESC], desc_b[WIRE_DESC]; /* all zero: none */
};

struct wire_desc {
	uint32_t opno; /* operation number in the epoch, from 0 */
	uint64_t count;
	uint8_t collective; /* enum wire_collective */
	uint8_t dtype;	    /* enum wire_dtype */
	uint8_t op;	    /* enum wire_op */
	uint8_t width;	    /* bytes per element on the wire; 0: barrier */
	uint16_t root;
	uint16_t world;
	uint16_t p;
	uint16_t flags; /* WIRE_DESC_SATURATE */
};

/* Descriptor flags. */
enum { WIRE_DESC_SATURATE = 0x0001 }; /* int32 sums saturate */

enum wire_collective { WIRE_ALLREDUCE = 1, WIRE_BARRIER = 2 };
enum wire_dtype { WIRE_F32 = 1, WIRE_F16 = 2, WIRE_BF16 = 3, WIRE_I32 = 4 };
enum wire_op { WIRE_SUM = 1, WIRE_AVG = 2, WIRE_MAX = 3, WIRE_MIN = 4 };

/*
 * Checks and reads a whole UDP payload.  *msg is written only if the result is WIRE_OK or
 * WIRE_BAD_VERSION, so that a JOIN of another version can be refused by name.  Lengths, all multiples
 * of WIRE_PAD, and WIRE_CRC more if the message is sealed: DATA and RESULT up to WIRE_P_MAX (EMPTY:
 * exactly WIRE_PAD), not 0; JOIN exactly wire_join_size(); STATUS 32, 96, or at least WIRE_BODY; END
 * and KEEPALIVE exactly WIRE_BODY; LEAVE exactly WIRE_PAD.
 */
enum wire_error wire_parse(struct wire_msg *msg, const void *buf, size_t len);

/* Writes the 22 bytes of header at buf.  The payload is the caller's. */
void wire_build(void *buf, const struct wire_msg *msg);
/*
 * Puts the CRC32C of header and payload behind a payload of len bytes: the length of the message.
 * buf has room for it.
 */
uint32_t wire_seal(void *buf, uint32_t len);

/* Bodies.  Parsers are given a message that wire_parse() accepted. */
enum wire_error wire_join_parse(struct wire_join *join, const struct wire_msg *msg);
/*
 * Bytes of the body: as many as the largest DATA of such a job has, so that a path too small for it
 * shows at the JOIN already.
 */
static inline uint32_t wire_join_size(const struct wire_join *join)
{
	const uint32_t least = WIRE_BODY;

	return join->p > least ? join->p : least;
}
/*
 * Writes the whole message, padding included; buf has room for WIRE_MSG_MAX.  Returns its length,
 * 0 if P or nr_ranges is beyond what a message can hold.
 */
size_t wire_join_build(void *buf, uint16_t wid, const struct wire_join *join);
/*
 * The first WIRE_HEADER + WIRE_BODY bytes of that; what follows them in a JOIN is zero.  0: as
 * above.
 */
size_t wire_join_head(void *buf, uint16_t wid, const struct wire_join *join);
/*
 * A switch asks its parent how a job is: KEEPALIVE with handle 0 and the body of a JOIN.  Unlike a
 * JOIN it enters nothing.
 */
size_t wire_ask_build(void *buf, uint16_t wid, const struct wire_join *join);
/* Whether a KEEPALIVE is such a question; its body is then read by wire_join_parse(). */
static inline bool wire_is_ask(const struct wire_msg *msg)
{
	return msg->type == WIRE_KEEPALIVE && msg->job == 0 && msg->payload[WIRE_JOIN_NAME] != 0;
}
/* A range as one number, for value_a and value_b of a STATUS about WIRE_FIELD_RANGES. */
static inline uint64_t wire_range_value(struct wire_range range)
{
	return (uint64_t)range.first << 16 | range.nr;
}
enum wire_error wire_status_parse(struct wire_status *status, const struct wire_msg *msg);
/*
 * Writes the header from msg (type STATUS or END) and a body of 32, 96, or WIRE_BODY bytes and more
 * (zeros), whichever is the longest within len.  Returns the length of the message, 0 if len < 32.
 */
size_t wire_status_build(void *buf, const struct wire_msg *msg, const struct wire_status *status,
			 size_t len);
void wire_desc_build(uint8_t out[WIRE_DESC], const struct wire_desc *desc);
void wire_desc_parse(struct wire_desc *desc, const uint8_t in[WIRE_DESC]);

/* FNV-1a-64 of a job name. */
uint64_t wire_job_key(const char *name);

/* The lowest rank that a non-finite origin (16 bytes of an E chunk) names, -1: none. */
int wire_origin_rank(const uint8_t origin[WIRE_E_ORIGIN_LEN]);
/* Names a rank in it, unless it names a lower one; ranks from 4080 on cannot be named. */
void wire_origin_mark(uint8_t origin[WIRE_E_ORIGIN_LEN], unsigned rank);

/* Unaligned big-endian access. */
static inline uint16_t wire_get16(const uint8_t *p)
{
	return (uint16_t)((unsigned)p[0] << 8 | p[1]);
}
static inline uint32_t wire_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline uint64_t wire_get48(const uint8_t *p)
{
	return (uint64_t)wire_get16(p) << 32 | wire_get32(p + 2);
}
static inline uint64_t wire_get64(const uint8_t *p)
{
	return (uint64_t)wire_get32(p) << 32 | wire_get32(p + 4);
}
static inline void wire_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static inline void wire_put32(uint8_t *p, uint32_t v)
{
	wire_put16(p, (uint16_t)(v >> 16));
	wire_put16(p + 2, (uint16_t)v);
}
static inline void wire_put48(uint8_t *p, uint64_t v)
{
	wire_put16(p, (uint16_t)(v >> 32));
	wire_put32(p + 2, (uint32_t)v);
}
static inline void wire_put64(uint8_t *p, uint64_t v)
{
	wire_put32(p, (uint32_t)(v >> 32));
	wire_put32(p + 4, (uint32_t)v);
}

#ifdef __cplusplus
}
#endif
#endif
