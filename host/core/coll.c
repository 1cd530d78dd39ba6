// SPDX-License-Identifier: BSD-3-Clause
// coll.c - operations of one epoch, cut into chunks, over two lanes.
#include "host/core/coll.h"

#include <assert.h>
#include <string.h>

#include "host/core/lane.h"
#include "proto/crc32c.h"

/* CLOSE has each of its sums in digits of 16 bits, of which a switch can add those of 65,537 ranks in 32. */
enum { CLOSE_DIGITS = 4 };

struct op {
	struct wire_desc desc;
	uint8_t desc_bytes[WIRE_DESC];
	uint32_t crc;
	uint8_t form, kind, width;
	uint32_t per;			       /* elements of a data chunk */
	uint64_t e_first;		       /* segment of the epoch */
	uint64_t nr_segs, nr_chunks;	       /* nr_chunks: CLOSE is the last, if there is one */
	uint64_t segs_allowed, chunks_allowed; /* see coll_allow() */
	uint64_t left;			       /* E and D results not taken */
	bool close;
	/* The sums of CLOSE: over what was sent, over what was taken, and what came back as the total. */
	uint64_t sent[2], taken[2], closed[2];
};

/* A segment between its first E transmission and its last data result. */
struct seg {
	bool busy;
	bool agreed; /* its E result is taken */
	uint8_t op;
	uint64_t index;	 /* in its operation */
	uint64_t d_left; /* data results not taken */
	uint8_t *e;	 /* P bytes: our E payload, then the agreed one */
};

struct coll {
	struct coll_params params;
	struct coll_epoch epoch;
	struct lane lane[2];
	struct rtt rtt;
	struct coll_stats stats;
	struct op ops[COLL_OPS];    /* at number % COLL_OPS */
	uint64_t op_first, op_next; /* oldest outstanding, next to post */
	uint64_t e_posted;	    /* segments of all operations posted */
	struct seg segs[COLL_SEGS]; /* at segment % COLL_SEGS */
	/* What is sent first next. */
	uint64_t e_op, e_index; /* lane E: operation, segment of it */
	uint64_t d_op, d_index; /* lane D: operation, chunk of it */
	uint64_t ahead;		/* data chunks of segments whose E was sent, not sent themselves */
	/* Data chunks in flight at most. */
	uint32_t window, window_max, grown;
	bool slow_start;
	uint64_t recovered; /* lane D transmission after the last cut of the window */
	/* The last word about a chunk that does not complete. */
	struct {
		bool known;
		uint16_t slot;
		uint64_t missing, silent;
	} stall;
};

static size_t align64(size_t n)
{
	return (n + 63) / 64 * 64;
}

size_t coll_size(const struct coll_params *params)
{
	return align64(sizeof(struct coll)) + lane_size(WIRE_SE) + lane_size(params->slots) +
	       (size_t)COLL_SEGS * align64(params->p);
}

struct coll *coll_init(void *mem, const struct coll_params *params)
{
	struct coll *c = mem;
	uint8_t *p = mem;

	if (params->slots < 1 || params->p < WIRE_P_MIN || params->p > WIRE_P_MAX ||
	    params->p % WIRE_P_MIN || !params->rto_min_ns ||
	    params->rto_max_ns < params->rto_min_ns)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->params = *params;
	rtt_init(&c->rtt, params->rto_min_ns, params->rto_max_ns);
	p += align64(sizeof(*c));
	p += lane_init(&c->lane[COLL_E], p, WIRE_SE);
	p += lane_init(&c->lane[COLL_D], p, params->slots);
	for (unsigned i = 0; i < COLL_SEGS; i++, p += align64(params->p))
		c->segs[i].e = p;
	c->window = COLL_WINDOW_START;
	c->slow_start = true;
	return c;
}

void coll_begin(struct coll *c, const struct coll_epoch *epoch)
{
	assert(epoch->slots >= 1 && epoch->slots <= c->params.slots && epoch->p <= c->params.p);
	c->epoch = *epoch;
	lane_begin(&c->lane[COLL_E], 0, WIRE_SE);
	lane_begin(&c->lane[COLL_D], WIRE_SE, epoch->slots);
	c->op_first = c->op_next = c->e_posted = 0;
	c->e_op = c->e_index = c->d_op = c->d_index = c->ahead = 0;
	for (unsigned i = 0; i < COLL_SEGS; i++)
		c->segs[i].busy = false;
	c->window_max = c->params.window && c->params.window < epoch->slots ? c->params.window
									    : epoch->slots;
	if (c->window > c->window_max)
		c->window = c->window_max;
	c->recovered = 0;
	c->stall.known = false;
}

static struct op *op_at(struct coll *c, uint64_t number)
{
	return &c->ops[number % COLL_OPS];
}

static uint64_t seg_elements(const struct coll *c)
{
	return (uint64_t)128 * c->epoch.p;
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

int coll_start(struct coll *c, const struct coll_args *args)
{
	struct op *op = op_at(c, c->op_next);
	uint64_t count = args->desc.count;

	if (c->op_next - c->op_first == COLL_OPS)
		return -1;
	*op = (struct op){ .desc = args->desc,
			   .form = args->form,
			   .kind = args->kind,
			   .width = args->width,
			   .e_first = c->e_posted,
			   .nr_segs = 1,
			   .segs_allowed = UINT64_MAX,
			   .chunks_allowed = UINT64_MAX };
	op->desc.opno = (uint32_t)c->op_next;
	op->desc.p = c->epoch.p;
	op->desc.width = args->width;
	wire_desc_build(op->desc_bytes, &op->desc);
	op->crc = crc32c(op->desc_bytes, WIRE_DESC);
	if (args->form != COLL_OPEN) {
		op->per = c->epoch.p / (uint32_t)op->width;
		op->nr_chunks = div_up(count, op->per);
		op->close = c->epoch.check && count &&
			    (args->kind == WIRE_ADD32 || args->kind == WIRE_ADD16);
		op->nr_chunks += op->close;
	}
	if (args->form == COLL_FLOAT && count)
		op->nr_segs = div_up(count, seg_elements(c));
	op->left = op->nr_segs + op->nr_chunks;
	c->e_posted += op->nr_segs;
	return (int)(c->op_next++ % COLL_OPS);
}

/* Data chunks of a segment that is not the last. */
static uint64_t seg_full(const struct op *op)
{
	return (uint64_t)128 * op->width;
}

void coll_allow(struct coll *c, int op, uint64_t segments, uint64_t chunks)
{
	c->ops[op].segs_allowed = segments;
	c->ops[op].chunks_allowed = chunks;
}

/* Chunks of one segment: CLOSE is one of the last, full or not. */
static uint64_t seg_chunks(const struct op *op, uint64_t index)
{
	if (index + 1 < op->nr_segs)
		return seg_full(op);
	return op->nr_chunks - index * seg_full(op);
}

static struct seg *seg_at(struct coll *c, uint64_t segment)
{
	return &c->segs[segment % COLL_SEGS];
}

/* The segment, in its operation, of a data chunk. */
static uint64_t seg_index(const struct op *op, uint64_t index)
{
	const uint64_t segment = index / seg_full(op);

	return segment < op->nr_segs ? segment : op->nr_segs - 1;
}

static struct seg *seg_of(struct coll *c, const struct op *op, uint64_t index)
{
	return seg_at(c, op->e_first + seg_index(op, index));
}

static uint32_t pad32(uint64_t n)
{
	return (uint32_t)((n + WIRE_PAD - 1) / WIRE_PAD * WIRE_PAD);
}

static void chunk_e(struct coll *c, const struct flight *f, struct coll_chunk *out)
{
	const struct seg *seg = seg_at(c, f->index);
	const struct op *op = &c->ops[seg->op];
	uint64_t first = 0, count = 0;

	if (op->form == COLL_FLOAT) {
		first = seg->index * seg_elements(c);
		count = op->desc.count - first;
		if (count > seg_elements(c))
			count = seg_elements(c);
	}
	*out = (struct coll_chunk){
		.lane = COLL_E,
		.op = seg->op,
		.kind = WIRE_MAX8,
		.slot = (uint16_t)lane_slot(&c->lane[COLL_E], f),
		.round = (uint32_t)(f->g / WIRE_SE),
		.desc = op->crc,
		.len = pad32(WIRE_E_EXP + div_up(count, COLL_BLOCK)),
		.first = first,
		.count = (uint32_t)count,
		.e = seg->e,
	};
}

static bool chunk_closes(const struct op *op, const struct flight *f)
{
	return op->close && f->index + 1 == op->nr_chunks;
}

/* Its digits need all of their 32 bits, whatever the data have. */
static void chunk_close(struct coll *c, const struct flight *f, struct coll_chunk *out)
{
	const struct op *op = &c->ops[f->op];

	*out = (struct coll_chunk){
		.lane = COLL_D,
		.op = f->op,
		.close = true,
		.kind = WIRE_ADD32,
		.slot = (uint16_t)lane_slot(&c->lane[COLL_D], f),
		.round = (uint32_t)lane_round(&c->lane[COLL_D], f->g),
		.desc = op->crc,
		.len = WIRE_PAD,
		.first = op->desc.count,
	};
}

static void chunk_d(struct coll *c, const struct flight *f, struct coll_chunk *out)
{
	const struct op *op = &c->ops[f->op];
	const struct seg *seg = seg_of(c, op, f->index);
	uint64_t first = f->index * op->per, count = op->desc.count - first;

	if (count > op->per)
		count = op->per;
	*out = (struct coll_chunk){
		.lane = COLL_D,
		.op = f->op,
		.kind = op->kind,
		.slot = (uint16_t)lane_slot(&c->lane[COLL_D], f),
		.round = (uint32_t)lane_round(&c->lane[COLL_D], f->g),
		.desc = op->crc,
		.len = pad32(count * op->width),
		.first = first,
		.count = (uint32_t)count,
		.phase = first % COLL_BLOCK,
		.e = op->form != COLL_FLOAT
			     ? NULL
			     : seg->e + WIRE_E_EXP +
				       (first - seg->index * seg_elements(c)) / COLL_BLOCK,
	};
}

static void chunk_of(struct coll *c, unsigned lane, const struct flight *f, struct coll_chunk *out)
{
	if (lane == COLL_E)
		chunk_e(c, f, out);
	else if (chunk_closes(&c->ops[f->op], f))
		chunk_close(c, f, out);
	else
		chunk_d(c, f, out);
}

/* E may go ahead of data by a segment or a window, whichever is more (R3). */
static bool e_ready(struct coll *c)
{
	uint64_t limit = c->epoch.slots > COLL_SEG_CHUNKS ? c->epoch.slots : COLL_SEG_CHUNKS;

	return c->e_op != c->op_next && c->e_index < op_at(c, c->e_op)->segs_allowed &&
	       c->ahead < limit && lane_free(&c->lane[COLL_E]) &&
	       !seg_at(c, c->lane[COLL_E].next)->busy;
}

static void e_send(struct coll *c, struct coll_chunk *out, uint64_t now_ns)
{
	struct lane *lane = &c->lane[COLL_E];
	struct flight *f = lane_free(lane);
	struct op *op = op_at(c, c->e_op);
	struct seg *seg = seg_at(c, lane->next);

	seg->busy = true;
	seg->agreed = false;
	seg->op = (uint8_t)(c->e_op % COLL_OPS);
	seg->index = c->e_index;
	seg->d_left = seg_chunks(op, c->e_index);
	c->ahead += seg->d_left;
	*f = (struct flight){ .g = lane->next, .index = lane->next, .op = seg->op, .flying = true };
	lane->next++;
	lane->flying++;
	lane_send(lane, f, now_ns);
	chunk_e(c, f, out);
	out->fresh = true;
	memset(seg->e, 0, out->len);
	memcpy(seg->e, op->desc_bytes, WIRE_DESC);
	if (++c->e_index == op->nr_segs) {
		c->e_index = 0;
		c->e_op++;
	}
}

static bool d_ready(struct coll *c)
{
	struct op *op;

	while (c->d_op != c->e_op && !op_at(c, c->d_op)->nr_chunks)
		c->d_op++;
	if (c->d_op == c->op_next || c->lane[COLL_D].flying >= c->window || !c->ahead)
		return false;
	op = op_at(c, c->d_op);
	if (c->d_op == c->e_op && seg_index(op, c->d_index) >= c->e_index)
		return false; /* not even its E chunk was sent */
	if (c->d_index >= op->chunks_allowed)
		return false;
	return seg_of(c, op, c->d_index)->agreed && lane_free(&c->lane[COLL_D]);
}

static void d_send(struct coll *c, struct coll_chunk *out, uint64_t now_ns)
{
	struct lane *lane = &c->lane[COLL_D];
	struct flight *f = lane_free(lane);

	*f = (struct flight){ .g = lane->next,
			      .index = c->d_index,
			      .op = (uint8_t)(c->d_op % COLL_OPS),
			      .flying = true };
	lane->next++;
	lane->flying++;
	c->ahead--;
	lane_send(lane, f, now_ns);
	chunk_of(c, COLL_D, f, out);
	out->fresh = true;
	out->counted = c->ops[f->op].close && !out->close;
	if (++c->d_index == op_at(c, c->d_op)->nr_chunks) {
		c->d_index = 0;
		c->d_op++;
	}
}

static void window_cut(struct coll *c, unsigned to)
{
	unsigned low = c->window_max < COLL_WINDOW_MIN ? c->window_max : COLL_WINDOW_MIN;

	c->window = to > low ? to : low;
	c->recovered = c->lane[COLL_D].tail;
	c->slow_start = false;
	c->grown = 0;
}

static void window_grow(struct coll *c)
{
	if (c->window >= c->window_max)
		return;
	if (c->slow_start || ++c->grown >= c->window) {
		c->window++;
		c->grown = 0;
	}
}

unsigned coll_output(struct coll *c, struct coll_chunk *out, unsigned max, uint64_t now_ns)
{
	uint64_t rto = rtt_rto(&c->rtt);
	unsigned nr = 0;

	for (unsigned l = COLL_E; l <= COLL_D; l++) {
		struct lane *lane = &c->lane[l];
		struct flight *f;

		if (lane_expire(lane, rto, c->params.rto_max_ns, now_ns) > 1 && l == COLL_D)
			window_cut(c, c->window / 2);
		while (nr < max && (f = lane_again(lane)) != NULL) {
			lane_send(lane, f, now_ns);
			chunk_of(c, l, f, &out[nr]);
			out[nr++].probe = lane_probing(lane);
			c->stats.retransmits++;
		}
	}
	while (nr < max && e_ready(c))
		e_send(c, &out[nr++], now_ns);
	while (nr < max && d_ready(c))
		d_send(c, &out[nr++], now_ns);
	c->stats.sent += nr;
	return nr;
}

/* Is this the result that slot awaits? */
static struct flight *coll_match(struct coll *c, const struct wire_msg *msg, unsigned *l)
{
	struct flight *f;
	struct lane *lane;

	if (msg->job != c->epoch.job || msg->epoch != c->epoch.epoch)
		return NULL;
	*l = msg->slot < WIRE_SE ? COLL_E : COLL_D;
	lane = &c->lane[*l];
	if (msg->slot >= lane->base + lane->len)
		return NULL;
	f = &lane->flights[msg->slot - lane->base];
	return f->flying && lane_round(lane, f->g) == msg->round ? f : NULL;
}

static void coll_sample(struct coll *c, unsigned l, const struct flight *f, uint64_t now_ns)
{
	if (f->tries == 1 && (l == COLL_D || !rtt_low(&c->rtt)))
		rtt_sample(&c->rtt, now_ns - f->sent_ns, now_ns);
}

/* A data result: that of CLOSE is kept, others will be counted. */
static void op_taken(struct op *op, const struct wire_msg *msg, struct coll_chunk *chunk)
{
	chunk->counted = op->close && !chunk->close;
	for (unsigned i = 0; chunk->close && i < 2 * CLOSE_DIGITS; i++)
		op->closed[i / CLOSE_DIGITS] += (uint64_t)wire_get32(msg->payload + 4 * i)
						<< 16 * (i % CLOSE_DIGITS);
}

static void seg_done(struct seg *seg)
{
	if (seg->agreed && !seg->d_left)
		seg->busy = false;
}

enum coll_verdict coll_input(struct coll *c, const struct wire_msg *msg, struct coll_chunk *chunk,
			     uint64_t now_ns)
{
	unsigned l = COLL_E, lost;
	struct flight *f = coll_match(c, msg, &l);
	struct seg *seg;

	if (!f) {
		c->stats.dropped++;
		return COLL_DROPPED;
	}
	chunk_of(c, l, f, chunk);
	if (msg->kind != chunk->kind || msg->desc != chunk->desc || msg->sealed != c->epoch.check ||
	    (msg->len != chunk->len && !(msg->flags & WIRE_EMPTY))) {
		c->stats.dropped++;
		return COLL_DROPPED;
	}
	if (msg->flags & WIRE_EMPTY)
		return COLL_BROKEN;
	seg = l == COLL_E ? seg_at(c, f->index) : seg_of(c, &c->ops[f->op], f->index);
	if (l == COLL_E && memcmp(msg->payload, c->ops[seg->op].desc_bytes, WIRE_DESC))
		return COLL_MISMATCH;

	/* After that many timeouts without any result it is a rank that is late. */
	chunk->again = f->tries > 1 && !lane_probing(&c->lane[l]);
	coll_sample(c, l, f, now_ns);
	lost = lane_take(&c->lane[l], f, c->window);
	c->stats.taken++;
	c->stall.known = false;
	c->ops[seg->op].left--;
	chunk->flags = msg->flags;
	if (l == COLL_E) {
		memcpy(seg->e, msg->payload, msg->len);
		seg->agreed = true;
		seg_done(seg);
		return COLL_TAKEN_E;
	}
	op_taken(&c->ops[seg->op], msg, chunk);
	if (lost && f->seq >= c->recovered)
		window_cut(c, c->window - c->window / 8);
	else
		window_grow(c);
	seg->d_left--;
	seg_done(seg);
	return COLL_TAKEN_D;
}

void coll_count(struct coll *c, const struct coll_chunk *chunk, const uint64_t sums[2])
{
	struct op *op = &c->ops[chunk->op];
	uint64_t *to = chunk->fresh ? op->sent : op->taken;

	to[0] += sums[0];
	to[1] += chunk->first * sums[0] + sums[1];
}

void coll_close(const struct coll *c, const struct coll_chunk *chunk, uint8_t *payload)
{
	const struct op *op = &c->ops[chunk->op];

	for (unsigned i = 0; i < 2 * CLOSE_DIGITS; i++)
		wire_put32(payload + 4 * i,
			   (uint16_t)(op->sent[i / CLOSE_DIGITS] >> 16 * (i % CLOSE_DIGITS)));
}

bool coll_verified(const struct coll *c, int i)
{
	const struct op *op = &c->ops[i];
	/* Sums of floats do not wrap; those of integers may, mod 2^32. */
	const uint64_t mask = op->form == COLL_FLOAT ? UINT64_MAX : UINT32_MAX;
	const uint64_t plain = op->taken[0] ^ op->closed[0],
		       weighted = op->taken[1] ^ op->closed[1];

	return !op->close || (!(plain & mask) && !(weighted & mask));
}

void coll_answer(struct coll *c, const struct wire_status *status, uint16_t slot, uint32_t round,
		 uint64_t sent_ns, uint64_t now_ns)
{
	struct wire_msg msg = {
		.job = c->epoch.job, .epoch = c->epoch.epoch, .slot = slot, .round = round
	};
	unsigned l;

	rtt_sample(&c->rtt, now_ns - sent_ns, now_ns);
	if (!coll_match(c, &msg, &l))
		return;
	c->stall.known = true;
	c->stall.slot = slot;
	c->stall.missing = status->missing;
	c->stall.silent = status->silent;
}

int coll_complete(const struct coll *c)
{
	const unsigned i = (unsigned)(c->op_first % COLL_OPS);

	return c->op_first == c->op_next || c->ops[i].left ? -1 : (int)i;
}

int coll_finish(struct coll *c)
{
	if (coll_complete(c) < 0)
		return -1;
	if (c->d_op == c->op_first && !op_at(c, c->op_first)->nr_chunks)
		c->d_op++; /* lane D passes over it */
	return (int)(c->op_first++ % COLL_OPS);
}

unsigned coll_outstanding(const struct coll *c)
{
	return (unsigned)(c->op_next - c->op_first);
}

int coll_oldest(const struct coll *c)
{
	return c->op_first == c->op_next ? -1 : (int)(c->op_first % COLL_OPS);
}

const struct wire_desc *coll_desc(const struct coll *c, int op)
{
	return &c->ops[op].desc;
}

uint64_t coll_deadline(struct coll *c)
{
	uint64_t rto = rtt_rto(&c->rtt), e, d;

	if (e_ready(c) || d_ready(c))
		return 0;
	e = lane_deadline(&c->lane[COLL_E], rto, c->params.rto_max_ns);
	d = lane_deadline(&c->lane[COLL_D], rto, c->params.rto_max_ns);
	return e < d ? e : d;
}

bool coll_stall(const struct coll *c, uint64_t *missing, uint64_t *silent, uint16_t *slot)
{
	if (!c->stall.known)
		return false;
	*missing = c->stall.missing;
	*silent = c->stall.silent;
	*slot = c->stall.slot;
	return true;
}

const struct coll_stats *coll_stats(const struct coll *c)
{
	return &c->stats;
}

unsigned coll_window(const struct coll *c)
{
	return c->window;
}

const struct rtt *coll_rtt(const struct coll *c)
{
	return &c->rtt;
}
