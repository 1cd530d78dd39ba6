// SPDX-License-Identifier: BSD-3-Clause
/* wire.c - parses, builds and validates Tally's native packets. */
#include "proto/wire.h"

#include <string.h>

#include "proto/crc32c.h"

enum {
	WIRE_TYPE_MASK = 0x0f,
	WIRE_KIND_MASK = 0x0f,
	WIRE_FLAG_MASK = 0xf0,
	WIRE_STATUS_SHORT = 32,		       /* a STATUS body may end here ... */
	WIRE_STATUS_LONG = WIRE_STATUS_DESC_A, /* ... or here */
	WIRE_P_STEP = 128,		       /* P is a multiple of this */
	WIRE_REST_MAX = WIRE_P_MAX,
	WIRE_PORT_END = 65536,
	WIRE_ORIGIN_RANKS = 255, /* ranks that one byte of an origin tells apart */
};

/* Causes are numbered from 0 without a gap. */
#define X(name, value, text) +1
enum { WIRE_NR_CAUSES = 0 WIRE_CAUSE_MAP(X) };
#undef X

WIRE_ASSERT(WIRE_STATUS_SLOTS + 2 == WIRE_STATUS_SHORT, "the short body holds whole fields");
WIRE_ASSERT(WIRE_STATUS_SILENT + 8 <= WIRE_STATUS_LONG, "the middle body holds whole fields");
WIRE_ASSERT(WIRE_P_MIN % WIRE_P_STEP == 0 && WIRE_P_MAX % WIRE_P_STEP == 0, "P");

/*
 * DATA and RESULT: the hot path, so every branch here is never taken for a valid packet.  len is
 * that of the payload.
 */
static enum wire_error wire_check_chunk(const uint8_t *head, size_t len)
{
	unsigned kind = head[WIRE_OFF_KIND] & WIRE_KIND_MASK;
	unsigned flags = head[WIRE_OFF_KIND] & WIRE_FLAG_MASK;
	unsigned allowed = WIRE_EMPTY;

	allowed |= (head[WIRE_OFF_TYPE] & WIRE_TYPE_MASK) == WIRE_DATA ? WIRE_PARTIAL : 0U;
	allowed |= kind == WIRE_ADD32SAT ? WIRE_SATURATED : 0U;
	if (kind < WIRE_ADD32 || kind > WIRE_MAX8)
		return WIRE_BAD_KIND;
	if (flags & ~allowed)
		return WIRE_BAD_FLAG;
	if (len == 0 || len > WIRE_P_MAX || len % WIRE_PAD != 0)
		return WIRE_BAD_LENGTH;
	if ((flags & WIRE_EMPTY) && len != WIRE_PAD)
		return WIRE_BAD_LENGTH;
	return WIRE_OK;
}

static bool wire_join_length(const uint8_t *body, size_t len)
{
	struct wire_join join;

	if (len < WIRE_BODY)
		return false;
	join.p = wire_get16(body + WIRE_JOIN_P);
	join.flags = wire_get16(body + WIRE_JOIN_FLAGS);
	return len == wire_join_size(&join);
}

static bool wire_control_length(unsigned type, const uint8_t *body, size_t len)
{
	if (len > WIRE_REST_MAX)
		return false;
	if (type == WIRE_JOIN)
		return wire_join_length(body, len);
	if (type == WIRE_STATUS)
		return len == WIRE_STATUS_SHORT || len == WIRE_STATUS_LONG ||
		       (len >= WIRE_BODY && len % WIRE_PAD == 0);
	return len == (type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY);
}

static enum wire_error wire_check_control(const uint8_t *head, size_t len)
{
	unsigned type = head[WIRE_OFF_TYPE] & WIRE_TYPE_MASK;

	if (type < WIRE_JOIN || type > WIRE_KEEPALIVE)
		return WIRE_BAD_TYPE;
	if (head[WIRE_OFF_KIND] & WIRE_KIND_MASK)
		return WIRE_BAD_KIND;
	if (head[WIRE_OFF_KIND] & WIRE_FLAG_MASK)
		return WIRE_BAD_FLAG;
	if (!wire_control_length(type, head + WIRE_HEADER, len))
		return WIRE_BAD_LENGTH;
	return WIRE_OK;
}

/* Payloads are multiples of WIRE_PAD, so that what is over says whether a CRC32C follows. */
static bool wire_is_sealed(size_t len)
{
	return len % WIRE_PAD == WIRE_CRC;
}

static enum wire_error wire_check_seal(const uint8_t *head, size_t len)
{
	const uint8_t *seal = head + WIRE_HEADER + len;

	return crc32c(head, WIRE_HEADER + len) == wire_get32(seal) ? WIRE_OK : WIRE_BAD_CRC;
}

enum wire_error wire_parse(struct wire_msg *msg, const void *buf, size_t len)
{
	const uint8_t *head = buf;
	enum wire_error error;
	bool sealed;
	unsigned type;

	if (len < WIRE_HEADER)
		return WIRE_TRUNCATED;
	len -= WIRE_HEADER;
	sealed = wire_is_sealed(len);
	len -= sealed ? WIRE_CRC : 0;
	type = head[WIRE_OFF_TYPE] & WIRE_TYPE_MASK;
	if (head[WIRE_OFF_TYPE] >> 4 != WIRE_VERSION)
		error = WIRE_BAD_VERSION;
	else if (type == WIRE_DATA || type == WIRE_RESULT)
		error = wire_check_chunk(head, len);
	else
		error = wire_check_control(head, len);
	/* Only a right seal says that the version is another one, and not a corrupted bit. */
	if (sealed && (error == WIRE_OK || error == WIRE_BAD_VERSION) &&
	    wire_check_seal(head, len) != WIRE_OK)
		return WIRE_BAD_CRC;
	if (error != WIRE_OK && error != WIRE_BAD_VERSION)
		return error;
	msg->type = (uint8_t)type;
	msg->kind = head[WIRE_OFF_KIND] & WIRE_KIND_MASK;
	msg->flags = head[WIRE_OFF_KIND] & WIRE_FLAG_MASK;
	msg->job = wire_get16(head + WIRE_OFF_JOB);
	msg->slot = wire_get16(head + WIRE_OFF_SLOT);
	msg->wid = wire_get16(head + WIRE_OFF_WID);
	msg->epoch = wire_get48(head + WIRE_OFF_EPOCH);
	msg->round = wire_get32(head + WIRE_OFF_ROUND);
	msg->desc = wire_get32(head + WIRE_OFF_DESC);
	msg->len = (uint32_t)len;
	msg->sealed = sealed;
	msg->payload = head + WIRE_HEADER;
	return error;
}

void wire_build(void *buf, const struct wire_msg *msg)
{
	uint8_t *head = buf;

	head[WIRE_OFF_TYPE] = (uint8_t)(WIRE_VERSION << 4 | msg->type);
	head[WIRE_OFF_KIND] = msg->flags | msg->kind;
	wire_put16(head + WIRE_OFF_JOB, msg->job);
	wire_put48(head + WIRE_OFF_EPOCH, msg->epoch);
	wire_put16(head + WIRE_OFF_SLOT, msg->slot);
	wire_put32(head + WIRE_OFF_ROUND, msg->round);
	wire_put32(head + WIRE_OFF_DESC, msg->desc);
	wire_put16(head + WIRE_OFF_WID, msg->wid);
}

uint32_t wire_seal(void *buf, uint32_t len)
{
	wire_put32((uint8_t *)buf + WIRE_HEADER + len, crc32c(buf, WIRE_HEADER + (size_t)len));
	return WIRE_HEADER + len + WIRE_CRC;
}

static bool wire_p_valid(unsigned p)
{
	return p >= WIRE_P_MIN && p <= WIRE_P_MAX && p % WIRE_P_STEP == 0;
}

static bool wire_ports_valid(unsigned port, unsigned nr)
{
	return port != 0 && nr >= 1 && nr <= WIRE_SHARDS_MAX && port + nr <= WIRE_PORT_END;
}

static bool wire_ranges_valid(const uint8_t *ranges, unsigned nr_ranges)
{
	if (nr_ranges > WIRE_RANGES)
		return false;
	for (unsigned i = 0; i < nr_ranges; i++) {
		unsigned first = wire_get16(ranges + 4 * i);
		unsigned nr = wire_get16(ranges + 4 * i + 2);

		if (nr == 0 || first + nr > WIRE_WID_NONE)
			return false;
	}
	return true;
}

/* Printable, not empty, and nothing but zeros after its end: it is shown to users and hashed. */
static bool wire_name_valid(const uint8_t name[WIRE_NAME])
{
	unsigned len = 0;

	while (len < WIRE_NAME && name[len] > ' ' && name[len] != 0x7f)
		len++;
	if (len == 0)
		return false;
	while (len < WIRE_NAME && name[len] == 0)
		len++;
	return len == WIRE_NAME;
}

static enum wire_error wire_join_check(const uint8_t *body)
{
	if (wire_get16(body + WIRE_JOIN_FLAGS) & ~(WIRE_JOB_CHUNK_FIXED | WIRE_JOB_CHECK))
		return WIRE_BAD_FLAG;
	if (wire_get16(body + WIRE_JOIN_WORLD) == 0 || wire_get16(body + WIRE_JOIN_SLOTS) == 0)
		return WIRE_BAD_FIELD;
	if (!wire_p_valid(wire_get16(body + WIRE_JOIN_P)))
		return WIRE_BAD_FIELD;
	if (!wire_ports_valid(wire_get16(body + WIRE_JOIN_PORT),
			      wire_get16(body + WIRE_JOIN_NR_PORTS)))
		return WIRE_BAD_FIELD;
	if (!wire_ranges_valid(body + WIRE_JOIN_RANGES, wire_get16(body + WIRE_JOIN_NR_RANGES)))
		return WIRE_BAD_FIELD;
	if (!wire_name_valid(body + WIRE_JOIN_NAME))
		return WIRE_BAD_FIELD;
	return WIRE_OK;
}

enum wire_error wire_join_parse(struct wire_join *join, const struct wire_msg *msg)
{
	const uint8_t *body = msg->payload;
	enum wire_error error;

	if (msg->len < WIRE_BODY)
		return WIRE_BAD_LENGTH;
	error = wire_join_check(body);
	if (error != WIRE_OK)
		return error;
	if (msg->sealed != ((wire_get16(body + WIRE_JOIN_FLAGS) & WIRE_JOB_CHECK) != 0))
		return WIRE_BAD_LENGTH;
	memset(join, 0, sizeof(*join));
	join->inc = wire_get64(body + WIRE_JOIN_INC);
	join->base = wire_get48(body + WIRE_JOIN_BASE);
	join->flags = wire_get16(body + WIRE_JOIN_FLAGS);
	join->world = wire_get16(body + WIRE_JOIN_WORLD);
	join->slots = wire_get16(body + WIRE_JOIN_SLOTS);
	join->p = wire_get16(body + WIRE_JOIN_P);
	join->port = wire_get16(body + WIRE_JOIN_PORT);
	join->nr_ports = wire_get16(body + WIRE_JOIN_NR_PORTS);
	join->nr_ranges = wire_get16(body + WIRE_JOIN_NR_RANGES);
	for (unsigned i = 0; i < join->nr_ranges; i++) {
		join->ranges[i].first = wire_get16(body + WIRE_JOIN_RANGES + 4 * i);
		join->ranges[i].nr = wire_get16(body + WIRE_JOIN_RANGES + 4 * i + 2);
	}
	join->ranks = wire_get16(body + WIRE_JOIN_RANKS);
	memcpy(join->name, body + WIRE_JOIN_NAME, WIRE_NAME);
	return WIRE_OK;
}

size_t wire_join_head(void *buf, uint16_t wid, const struct wire_join *join)
{
	struct wire_msg msg = { .type = WIRE_JOIN, .wid = wid };
	uint8_t *body = (uint8_t *)buf + WIRE_HEADER;

	if (join->p > WIRE_P_MAX || join->nr_ranges > WIRE_RANGES)
		return 0;
	wire_build(buf, &msg);
	memset(body, 0, WIRE_BODY);
	wire_put64(body + WIRE_JOIN_INC, join->inc);
	wire_put48(body + WIRE_JOIN_BASE, join->base);
	wire_put16(body + WIRE_JOIN_FLAGS, join->flags);
	wire_put16(body + WIRE_JOIN_WORLD, join->world);
	wire_put16(body + WIRE_JOIN_SLOTS, join->slots);
	wire_put16(body + WIRE_JOIN_P, join->p);
	wire_put16(body + WIRE_JOIN_PORT, join->port);
	wire_put16(body + WIRE_JOIN_NR_PORTS, join->nr_ports);
	wire_put16(body + WIRE_JOIN_NR_RANGES, join->nr_ranges);
	for (unsigned i = 0; i < join->nr_ranges; i++) {
		wire_put16(body + WIRE_JOIN_RANGES + 4 * i, join->ranges[i].first);
		wire_put16(body + WIRE_JOIN_RANGES + 4 * i + 2, join->ranges[i].nr);
	}
	/* Not memcpy: what a caller left behind the terminator is not part of the name. */
	for (unsigned i = 0; i < WIRE_NAME && join->name[i]; i++)
		body[WIRE_JOIN_NAME + i] = (uint8_t)join->name[i];
	wire_put16(body + WIRE_JOIN_RANKS, join->ranks);
	return WIRE_HEADER + WIRE_BODY;
}

size_t wire_join_build(void *buf, uint16_t wid, const struct wire_join *join)
{
	size_t len = wire_join_head(buf, wid, join);
	size_t padded = WIRE_HEADER + wire_join_size(join);

	if (len == 0)
		return 0;
	memset((uint8_t *)buf + len, 0, padded - len);
	return padded;
}

size_t wire_ask_build(void *buf, uint16_t wid, const struct wire_join *join)
{
	struct wire_msg msg = { .type = WIRE_KEEPALIVE, .wid = wid };
	size_t len = wire_join_head(buf, wid, join);

	if (len)
		wire_build(buf, &msg);
	return len;
}

/* An END needs no state.  P and S of a running job size the host's tables. */
static bool wire_status_valid(const struct wire_msg *msg)
{
	const uint8_t *body = msg->payload;
	unsigned state = body[WIRE_STATUS_STATE];
	unsigned p = wire_get16(body + WIRE_STATUS_P);

	if (state > WIRE_REFUSED || (state == 0 && msg->type != WIRE_END))
		return false;
	if (body[WIRE_STATUS_CAUSE] >= WIRE_NR_CAUSES)
		return false;
	if (p != 0 && !wire_p_valid(p))
		return false;
	if (state == WIRE_RUNNING && msg->type == WIRE_STATUS &&
	    (p == 0 || wire_get16(body + WIRE_STATUS_SLOTS) == 0))
		return false;
	return msg->len < WIRE_STATUS_LONG || body[WIRE_STATUS_FIELD] <= WIRE_FIELD_RANGES;
}

enum wire_error wire_status_parse(struct wire_status *status, const struct wire_msg *msg)
{
	const uint8_t *body = msg->payload;

	if (msg->len < WIRE_STATUS_SHORT)
		return WIRE_BAD_LENGTH;
	if (!wire_status_valid(msg))
		return WIRE_BAD_FIELD;
	memset(status, 0, sizeof(*status));
	status->state = body[WIRE_STATUS_STATE];
	status->cause = body[WIRE_STATUS_CAUSE];
	status->wid_a = wire_get16(body + WIRE_STATUS_WID_A);
	status->wid_b = wire_get16(body + WIRE_STATUS_WID_B);
	status->ended = wire_get48(body + WIRE_STATUS_ENDED);
	status->key = wire_get64(body + WIRE_STATUS_KEY);
	status->inc = wire_get64(body + WIRE_STATUS_INC);
	status->p = wire_get16(body + WIRE_STATUS_P);
	status->slots = wire_get16(body + WIRE_STATUS_SLOTS);
	if (msg->len < WIRE_STATUS_LONG)
		return WIRE_OK;
	status->se = wire_get16(body + WIRE_STATUS_SE);
	status->world = wire_get16(body + WIRE_STATUS_WORLD);
	status->shards = wire_get16(body + WIRE_STATUS_SHARDS);
	status->flags = wire_get16(body + WIRE_STATUS_FLAGS);
	status->field = body[WIRE_STATUS_FIELD];
	status->first = wire_get16(body + WIRE_STATUS_FIRST);
	status->value_a = wire_get64(body + WIRE_STATUS_VALUE_A);
	status->value_b = wire_get64(body + WIRE_STATUS_VALUE_B);
	status->joined = wire_get64(body + WIRE_STATUS_JOINED);
	status->missing = wire_get64(body + WIRE_STATUS_MISSING);
	status->silent = wire_get64(body + WIRE_STATUS_SILENT);
	if (msg->len < WIRE_BODY)
		return WIRE_OK;
	memcpy(status->desc_a, body + WIRE_STATUS_DESC_A, WIRE_DESC);
	memcpy(status->desc_b, body + WIRE_STATUS_DESC_B, WIRE_DESC);
	return WIRE_OK;
}

/* A length between two allowed ones is cut to the lower; 0: no body fits. */
static size_t wire_status_length(size_t len)
{
	if (len > WIRE_REST_MAX)
		return WIRE_REST_MAX;
	if (len >= WIRE_BODY)
		return len - len % WIRE_PAD;
	if (len >= WIRE_STATUS_LONG)
		return WIRE_STATUS_LONG;
	return len >= WIRE_STATUS_SHORT ? WIRE_STATUS_SHORT : 0;
}

size_t wire_status_build(void *buf, const struct wire_msg *msg, const struct wire_status *status,
			 size_t len)
{
	uint8_t *body = (uint8_t *)buf + WIRE_HEADER;

	len = wire_status_length(len);
	if (len == 0)
		return 0;
	wire_build(buf, msg);
	memset(body, 0, len);
	body[WIRE_STATUS_STATE] = status->state;
	body[WIRE_STATUS_CAUSE] = status->cause;
	wire_put16(body + WIRE_STATUS_WID_A, status->wid_a);
	wire_put16(body + WIRE_STATUS_WID_B, status->wid_b);
	wire_put48(body + WIRE_STATUS_ENDED, status->ended);
	wire_put64(body + WIRE_STATUS_KEY, status->key);
	wire_put64(body + WIRE_STATUS_INC, status->inc);
	wire_put16(body + WIRE_STATUS_P, status->p);
	wire_put16(body + WIRE_STATUS_SLOTS, status->slots);
	if (len < WIRE_STATUS_LONG)
		return WIRE_HEADER + len;
	wire_put16(body + WIRE_STATUS_SE, status->se);
	wire_put16(body + WIRE_STATUS_WORLD, status->world);
	wire_put16(body + WIRE_STATUS_SHARDS, status->shards);
	wire_put16(body + WIRE_STATUS_FLAGS, status->flags);
	body[WIRE_STATUS_FIELD] = status->field;
	wire_put16(body + WIRE_STATUS_FIRST, status->first);
	wire_put64(body + WIRE_STATUS_VALUE_A, status->value_a);
	wire_put64(body + WIRE_STATUS_VALUE_B, status->value_b);
	wire_put64(body + WIRE_STATUS_JOINED, status->joined);
	wire_put64(body + WIRE_STATUS_MISSING, status->missing);
	wire_put64(body + WIRE_STATUS_SILENT, status->silent);
	if (len < WIRE_BODY)
		return WIRE_HEADER + len;
	memcpy(body + WIRE_STATUS_DESC_A, status->desc_a, WIRE_DESC);
	memcpy(body + WIRE_STATUS_DESC_B, status->desc_b, WIRE_DESC);
	return WIRE_HEADER + len;
}

void wire_desc_build(uint8_t out[WIRE_DESC], const struct wire_desc *desc)
{
	memset(out, 0, WIRE_DESC);
	wire_put32(out + WIRE_DESC_OPNO, desc->opno);
	wire_put64(out + WIRE_DESC_COUNT, desc->count);
	out[WIRE_DESC_COLLECTIVE] = desc->collective;
	out[WIRE_DESC_DTYPE] = desc->dtype;
	out[WIRE_DESC_OP] = desc->op;
	out[WIRE_DESC_WIDTH] = desc->width;
	wire_put16(out + WIRE_DESC_ROOT, desc->root);
	wire_put16(out + WIRE_DESC_WORLD, desc->world);
	wire_put16(out + WIRE_DESC_P, desc->p);
	wire_put16(out + WIRE_DESC_FLAGS, desc->flags);
}

void wire_desc_parse(struct wire_desc *desc, const uint8_t in[WIRE_DESC])
{
	desc->opno = wire_get32(in + WIRE_DESC_OPNO);
	desc->count = wire_get64(in + WIRE_DESC_COUNT);
	desc->collective = in[WIRE_DESC_COLLECTIVE];
	desc->dtype = in[WIRE_DESC_DTYPE];
	desc->op = in[WIRE_DESC_OP];
	desc->width = in[WIRE_DESC_WIDTH];
	desc->root = wire_get16(in + WIRE_DESC_ROOT);
	desc->world = wire_get16(in + WIRE_DESC_WORLD);
	desc->p = wire_get16(in + WIRE_DESC_P);
	desc->flags = wire_get16(in + WIRE_DESC_FLAGS);
}

uint64_t wire_job_key(const char *name)
{
	uint64_t key = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; name[i]; i++)
		key = (key ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
	return key;
}

int wire_origin_rank(const uint8_t origin[WIRE_E_ORIGIN_LEN])
{
	for (int i = 0; i < WIRE_E_ORIGIN_LEN; i++) {
		if (origin[i])
			return i * WIRE_ORIGIN_RANKS + WIRE_ORIGIN_RANKS - origin[i];
	}
	return -1;
}

/* A rank beyond what 16 bytes can name stays unnamed; its exponents still say what happened. */
void wire_origin_mark(uint8_t origin[WIRE_E_ORIGIN_LEN], unsigned rank)
{
	unsigned at = rank / WIRE_ORIGIN_RANKS;
	uint8_t mark = (uint8_t)(WIRE_ORIGIN_RANKS - rank % WIRE_ORIGIN_RANKS);

	if (at < WIRE_E_ORIGIN_LEN && origin[at] < mark)
		origin[at] = mark;
}
