// SPDX-License-Identifier: BSD-3-Clause
// fuzz_host.c - a rank's machines under any STATUS and RESULT: no operation ends too early.  Inputs of
// odd length have CHECK.
#include <string.h>

#include "host/core/coll.h"
#include "host/core/session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sums.h"

enum { SLOTS = 5, P = 256, ROOM = 1024, BURST = 8, WORLD = 3, RANK = 1 };

struct fuzz_host {
	struct session session;
	struct coll *coll;
	uint64_t now_ns, left[COLL_OPS]; /* chunks of the operation that were not delivered */
	bool in_epoch, check;
	bool raw;   /* results may be anything */
	uint32_t p; /* of the epoch; a later STATUS may claim another */
};

static void begin(struct fuzz_host *h)
{
	const struct wire_status *st = session_status(&h->session);
	const struct coll_epoch epoch = { .job = h->session.job,
					  .epoch = h->session.epoch,
					  .wid = RANK,
					  .slots = st->slots,
					  .p = st->p,
					  .check = h->check };

	if (st->slots < 1 || st->slots > SLOTS || st->p > P || st->p < WIRE_P_MIN) {
		session_abort(&h->session, WIRE_CAUSE_PROTOCOL, h->now_ns);
		return;
	}
	coll_begin(h->coll, &epoch);
	h->p = st->p;
	h->in_epoch = true;
}

static void happened(struct fuzz_host *h, enum session_event event)
{
	if (event == SESSION_BEGUN)
		begin(h);
	else if (event == SESSION_OVER)
		h->in_epoch = false;
	else if (event == SESSION_REPLY && h->in_epoch)
		coll_answer(h->coll, session_status(&h->session), WIRE_SE, 0, h->now_ns, h->now_ns);
}

/* --- Messages of the switch ------------------------------------------------------------------- */

/* A rank's element; the sum is what one rank sent. */
static uint32_t value(uint64_t i)
{
	return (uint32_t)(i + 3) * UINT32_C(2654435761);
}

static void counted(struct fuzz_host *h, const struct coll_chunk *chunk, const uint8_t *payload)
{
	uint64_t sums[2];

	sums_close(sums, chunk->kind, payload, chunk->count);
	coll_count(h->coll, chunk, sums);
}

static void result(struct fuzz_host *h, const struct wire_msg *msg)
{
	struct coll_chunk chunk;

	switch (coll_input(h->coll, msg, &chunk, h->now_ns)) {
	case COLL_TAKEN_D:
	case COLL_TAKEN_E:
		fuzz_check(chunk.op < COLL_OPS && h->left[chunk.op] > 0);
		fuzz_check(chunk.len == msg->len);
		fuzz_check(chunk.first + chunk.count <= coll_desc(h->coll, chunk.op)->count);
		h->left[chunk.op]--;
		if (chunk.counted)
			counted(h, &chunk, msg->payload);
		break;
	case COLL_MISMATCH:
	case COLL_BROKEN:
		session_abort(&h->session, WIRE_CAUSE_MISMATCH, h->now_ns);
		h->in_epoch = false;
		break;
	case COLL_DROPPED:
		break;
	}
}

static void input(struct fuzz_host *h, const uint8_t *buf, size_t len)
{
	struct wire_msg msg;

	if (wire_parse(&msg, buf, len) != WIRE_OK)
		return;
	if (msg.type == WIRE_RESULT) {
		if (h->in_epoch)
			result(h, &msg);
	} else {
		happened(h, session_input(&h->session, &msg, h->now_ns));
	}
}

/* A STATUS about this rank whose other fields come from the input. */
static void status(struct fuzz_host *h, struct fuzz_bytes *bytes)
{
	uint8_t how = fuzz_u8(bytes);
	struct wire_msg msg = { .type = WIRE_STATUS,
				.job = fuzz_u8(bytes) % 4,
				.epoch = 1000 + fuzz_u8(bytes),
				.wid = RANK };
	struct wire_status st = { .state = (uint8_t)(1 + how % 4),
				  .cause = (uint8_t)(how / 4 % 14),
				  .wid_a = fuzz_u8(bytes),
				  .ended = 1000u + fuzz_u8(bytes),
				  .key = h->session.key,
				  .inc = how & 64 ? 0 : h->session.join.inc,
				  .p = (uint16_t)(128 * (fuzz_u8(bytes) % 4)),
				  .slots = fuzz_u8(bytes) % 8 };
	uint8_t buf[WIRE_MSG_MAX];

	if (how & 128) {
		msg.job = h->session.job;
		msg.epoch = h->session.epoch + how % 2;
	}
	input(h, buf, wire_status_build(buf, &msg, &st, fuzz_u8(bytes)));
}

/* The RESULT of a chunk that is sent, with something of it changed by the input. */
static void answer(struct fuzz_host *h, const struct coll_chunk *chunk, struct fuzz_bytes *bytes)
{
	uint8_t how = fuzz_u8(bytes), buf[WIRE_HEADER + P + WIRE_CRC];
	uint32_t len = WIRE_HEADER + chunk->len;
	struct wire_msg msg = { .type = WIRE_RESULT,
				.kind = chunk->kind,
				.job = h->session.job,
				.epoch = h->session.epoch,
				.slot = chunk->slot,
				.round = chunk->round,
				.desc = chunk->desc,
				.wid = WIRE_WID_NONE };

	memset(buf, 0, sizeof(buf));
	if (chunk->lane == COLL_E)
		memcpy(buf + WIRE_HEADER, chunk->e, chunk->len);
	else if (chunk->close)
		coll_close(h->coll, chunk, buf + WIRE_HEADER);
	for (uint32_t i = 0; chunk->lane == COLL_D && i < chunk->count; i++)
		if (chunk->kind == WIRE_ADD32)
			wire_put32(buf + WIRE_HEADER + 4 * i, value(chunk->first + i));
		else
			wire_put16(buf + WIRE_HEADER + 2 * i, (uint16_t)value(chunk->first + i));
	if (chunk->counted)
		counted(h, chunk, buf + WIRE_HEADER);
	wire_build(buf, &msg);
	if (h->check)
		len = wire_seal(buf, chunk->len);
	if (how < 32)
		return; /* lost */
	if (how < 48)
		buf[fuzz_u8(bytes) % len] ^= fuzz_u8(bytes);
	input(h, buf, len);
	if (how >= 240 && h->in_epoch)
		input(h, buf, len);
}

/* --- The rank --------------------------------------------------------------------------------- */

static void post(struct fuzz_host *h, struct fuzz_bytes *bytes)
{
	unsigned what = fuzz_u8(bytes), form = what % 3, count = fuzz_u16(bytes);
	struct coll_args args = { .desc = { .count = count, .world = WORLD },
				  .form = (uint8_t)form,
				  .kind = what / 3 % 2 ? WIRE_ADD16 : WIRE_ADD32,
				  .width = form == COLL_OPEN ? 0
					   : what / 3 % 2    ? 2
							     : 4 };
	uint32_t p = h->p;
	uint64_t per, segments = 1;
	int op;

	if (form != COLL_OPEN && !count)
		return;
	op = coll_start(h->coll, &args);
	if (op < 0)
		return;
	per = args.width ? p / args.width : 1;
	if (form == COLL_FLOAT)
		segments = (count + 128 * p - 1) / (128 * p);
	h->left[op] = segments + (form == COLL_OPEN ? 0 : (count + per - 1) / per);
	h->left[op] += h->check && form != COLL_OPEN;
}

static void output(struct fuzz_host *h, struct fuzz_bytes *bytes)
{
	struct coll_chunk out[BURST];
	uint8_t buf[WIRE_MSG_MAX];
	enum session_event event;
	unsigned nr;
	int op;

	for (unsigned i = 0; i < 4 && session_output(&h->session, buf, h->now_ns, &event); i++)
		happened(h, event);
	if (!h->in_epoch)
		return;
	nr = coll_output(h->coll, out, 1 + fuzz_u8(bytes) % BURST, h->now_ns);
	for (unsigned i = 0; i < nr; i++) {
		fuzz_check(out[i].len <= h->p && out[i].len % WIRE_PAD == 0);
		if (h->in_epoch)
			answer(h, &out[i], bytes);
	}
	while (h->in_epoch && (op = coll_finish(h->coll)) >= 0)
		fuzz_check(h->left[op] == 0 && (h->raw || coll_verified(h->coll, op)));
	fuzz_check(!h->in_epoch || coll_deadline(h->coll) != h->now_ns + 1);
}

static void act(struct fuzz_host *h, unsigned what)
{
	if (what == 0 && h->session.state == SESSION_RUNNING) {
		session_fail(&h->session, h->now_ns);
		h->in_epoch = false;
	} else if (what == 1) {
		session_abort(&h->session, WIRE_CAUSE_ABORTED, h->now_ns);
		h->in_epoch = false;
	} else if (what == 2) {
		h->in_epoch = false;
		session_leave(&h->session, h->now_ns);
	} else if (what == 3) {
		happened(h, session_too_large(&h->session, 200, h->now_ns));
	} else if (h->session.state == SESSION_ENDED || h->session.state == SESSION_FAILED ||
		   h->session.state == SESSION_ENDING) {
		h->in_epoch = false;
		session_rejoin(&h->session, h->now_ns);
	}
}

static void step(struct fuzz_host *h, struct fuzz_bytes *bytes)
{
	uint8_t buf[ROOM], what = fuzz_u8(bytes);

	switch (what % 8) {
	case 0:
		h->raw = true;
		input(h, buf, fuzz_take(bytes, buf, fuzz_u16(bytes) % ROOM));
		break;
	case 1:
	case 2:
		status(h, bytes);
		break;
	case 3:
		if (h->in_epoch)
			post(h, bytes);
		break;
	case 4:
		act(h, what / 8 % 8);
		break;
	case 5:
		h->now_ns += (uint64_t)fuzz_u16(bytes) * 10000;
		break;
	default:
		output(h, bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct coll_params cp = {
		.slots = SLOTS, .p = P, .rto_min_ns = 1000000, .rto_max_ns = 100000000
	};
	const struct session_params sp = { .name = "fuzz",
					   .inc = 77,
					   .rank = RANK,
					   .world = WORLD,
					   .slots = SLOTS,
					   .p = P,
					   .check = size % 2,
					   .port = 9,
					   .nr_ports = 1,
					   .join_timeout_ns = 1000000000 };
	struct fuzz_bytes bytes = { data, size };
	struct fuzz_host h = { .now_ns = 1000000000, .check = size % 2 };
	void *mem = fuzz_memory(coll_size(&cp));

	if (size > 4096) {
		free(mem);
		return -1;
	}
	h.coll = coll_init(mem, &cp);
	fuzz_check(h.coll != NULL);
	session_init(&h.session, &sp, h.now_ns);
	while (bytes.left)
		step(&h, &bytes);
	free(mem);
	return 0;
}
