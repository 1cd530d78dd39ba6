// SPDX-License-Identifier: BSD-3-Clause
// world.c - ranks, switches and the network between them, in virtual time.
#include "tests/unit/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/sums.h"

enum { RANK_IP = 0x0a000001, SWITCH_IP = 0x0a010001 };

static uint64_t draw(struct world *w, uint64_t n)
{
	w->rng ^= w->rng << 13, w->rng ^= w->rng >> 7, w->rng ^= w->rng << 17;
	return (w->rng >> 13) % n;
}

static bool chance(struct world *w, unsigned per_mille)
{
	return draw(w, 1000) < per_mille;
}

static uint32_t value(unsigned rank, unsigned op, uint64_t element)
{
	uint64_t z = (rank + 1) * UINT64_C(0x9e3779b97f4a7c15) + op * UINT64_C(0xd1342543de82ef95) +
		     element;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(z ^ z >> 31);
}

/* What a rank sends; sums of floats do not wrap. */
static uint32_t word(const struct world *w, unsigned rank, unsigned op, uint64_t element)
{
	const int32_t x = (int32_t)value(rank, op, element);

	return (uint32_t)(w->row[op].form == COLL_FLOAT ? x >> 8 : x);
}

static struct pipe_time time_of(const struct world *w)
{
	return (struct pipe_time){ .now_ns = w->now, .wall_ms = 1700000000000 + w->now / MS };
}

/* Up to 32 bits in a row, or single ones anywhere; only what CHECK covers. */
static void net_corrupt(struct world *w, struct packet *p)
{
	const unsigned type = p->data[WIRE_OFF_TYPE] & 0x0f;
	const bool burst = draw(w, 2);
	const uint64_t first = draw(w, 8 * (p->len - 4));

	if (type != WIRE_DATA && type != WIRE_RESULT)
		return;
	for (uint64_t i = 0, nr = 1 + draw(w, burst ? 32 : 3); i < nr; i++) {
		const uint64_t bit = burst ? first + i : draw(w, 8 * p->len);

		p->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	w->corrupted++;
}

static bool net_before(const struct world *w, unsigned i, unsigned j)
{
	const struct packet *a = &w->net[w->heap[i]], *b = &w->net[w->heap[j]];

	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void net_swap(struct world *w, unsigned i, unsigned j)
{
	uint32_t held = w->heap[i];

	w->heap[i] = w->heap[j];
	w->heap[j] = held;
}

/* A heap of places in net; behind its nr_net entries are those that are free. */
static struct packet *net_place(struct world *w)
{
	return &w->net[w->heap[w->nr_net]];
}

static void net_push(struct world *w)
{
	for (unsigned i = w->nr_net++; i > 0 && net_before(w, i, (i - 1) / 2); i = (i - 1) / 2)
		net_swap(w, i, (i - 1) / 2);
}

static void net_pop(struct world *w)
{
	unsigned i = 0, next;

	net_swap(w, 0, --w->nr_net);
	for (;; i = next) {
		next = 2 * i + 1;
		if (next + 1 < w->nr_net && net_before(w, next + 1, next))
			next++;
		if (next >= w->nr_net || !net_before(w, next, i))
			return;
		net_swap(w, i, next);
	}
}

static void net_send(struct world *w, const struct packet *p)
{
	unsigned copies = 1 + chance(w, w->faults.dup);

	while (copies--) {
		struct packet *q;

		if (chance(w, w->faults.loss) || w->nr_net == WORLD_NET)
			continue;
		q = net_place(w);
		*q = *p;
		q->order = w->order++;
		if (chance(w, w->faults.corrupt))
			net_corrupt(w, q);
		q->at_ns = w->now + 5 * US + draw(w, 5 * US);
		if (chance(w, w->faults.reorder))
			q->at_ns += draw(w, 3 * MS);
		net_push(w);
	}
}

static void switch_boot(struct world *w, unsigned s)
{
	struct world_switch *sw = &w->switches[s];
	const struct pipe_params params = {
		.jobs_max = 4,
		.slots_max = WIRE_SE + w->slots,
		.values_bytes = (size_t)(WIRE_SE + w->slots) * 2 * WORLD_P,
		.p_max = WORLD_P,
		.leaf = sw->parent >= 0,
		.inc = draw(w, UINT64_MAX),
		.parent_from = WIRE_PORT,
	};
	struct pipe_time now = time_of(w);

	free(sw->mem);
	sw->mem = aligned_alloc(64, (pipe_size(&params) + 63) / 64 * 64);
	memset(sw->mem, 0, pipe_size(&params));
	sw->pipe = pipe_init(sw->mem, &params, &now);
	assert_non_null(sw->pipe);
	sw->rx = 0;
	if (sw->parent >= 0) {
		const struct flow parent = { .ip = SWITCH_IP + (uint32_t)sw->parent,
					     .udp_port = WIRE_PORT };

		pipe_set_parent(sw->pipe, &parent);
	}
}

/* Ranges of the switches above the rank, innermost first; the root's need not be said. */
static void rank_ranges(const struct world *w, const struct rank *rank, struct wire_join *join)
{
	int s = (int)rank->leaf;

	for (; w->switches[s].parent >= 0; s = w->switches[s].parent)
		join->ranges[join->nr_ranges++] = w->switches[s].range;
}

static void rank_boot(struct world *w, unsigned r)
{
	struct rank *rank = &w->ranks[r];
	const struct session_params sp = { .name = "together",
					   .inc = 1 + draw(w, UINT64_MAX - 1),
					   .rank = (uint16_t)r,
					   .world = (uint16_t)w->n,
					   .slots = (uint16_t)w->slots,
					   .p = WORLD_P,
					   .check = w->faults.check,
					   .port = (uint16_t)(rank->port ? rank->port + 1u
									 : 1000u * (r + 1)),
					   .nr_ports = 1 };
	const struct coll_params cp = {
		.slots = (uint16_t)w->slots, .p = WORLD_P, .rto_min_ns = MS, .rto_max_ns = 100 * MS
	};
	void *mem = rank->coll ? (void *)rank->coll
			       : aligned_alloc(64, (coll_size(&cp) + 63) / 64 * 64);

	*rank = (struct rank){ .port = sp.port, .leaf = rank->leaf, .coll = coll_init(mem, &cp) };
	session_init(&rank->session, &sp, w->now);
	rank_ranges(w, rank, &rank->session.join);
}

static void rank_over(struct rank *rank)
{
	rank->in_epoch = false;
	rank->posted = rank->finished = 0;
	memset(rank->elements, 0, sizeof(rank->elements));
}

static void rank_count(struct rank *rank, const struct coll_chunk *c, const uint8_t *payload)
{
	uint64_t sums[2];

	sums_close(sums, c->kind, payload, c->count);
	coll_count(rank->coll, c, sums);
}

static void rank_taken(struct world *w, struct rank *rank, const struct coll_chunk *c,
		       const struct wire_msg *msg)
{
	unsigned op = rank->finished + (c->op + COLL_OPS - rank->finished % COLL_OPS) % COLL_OPS;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t sum = 0;

		for (unsigned r = 0; r < w->n; r++)
			sum += word(w, r, op, c->first + i);
		if (wire_get32(msg->payload + 4 * i) != sum)
			fail_msg("wrong sum: operation %u element %lu", op,
				 (unsigned long)(c->first + i));
		w->checked++;
	}
	if (c->counted)
		rank_count(rank, c, msg->payload);
	rank->elements[op] += c->count;
}

static void rank_scaled(struct world *w, struct rank *rank, const struct coll_chunk *c)
{
	unsigned op = rank->finished + (c->op + COLL_OPS - rank->finished % COLL_OPS) % COLL_OPS;

	for (uint32_t b = 0; b * COLL_BLOCK < c->count; b++) {
		uint8_t max = 0;

		for (unsigned r = 0; r < w->n; r++) {
			uint8_t e = (uint8_t)value(r, op,
						   UINT64_C(1) << 40 | (c->first / COLL_BLOCK + b));

			max = e > max ? e : max;
		}
		assert_int_equal(c->e[WIRE_E_EXP + b], max);
	}
}

static void rank_input(struct world *w, unsigned r, const struct packet *p)
{
	struct rank *rank = &w->ranks[r];
	struct coll_chunk chunk;
	struct wire_msg msg;
	enum session_event event;

	if (p->to_port != rank->port) { /* for a life before this one: port unreachable */
		struct packet gone = { .to = p->from, .from = p->to, .from_port = p->to_port };

		net_send(w, &gone);
		return;
	}
	if (wire_parse(&msg, p->data, p->len) != WIRE_OK) {
		assert_true(w->corrupted > 0);
		return;
	}
	if (msg.type == WIRE_RESULT && rank->in_epoch) {
		switch (coll_input(rank->coll, &msg, &chunk, w->now)) {
		case COLL_TAKEN_D:
			rank_taken(w, rank, &chunk, &msg);
			break;
		case COLL_TAKEN_E:
			rank_scaled(w, rank, &chunk);
			break;
		case COLL_DROPPED:
			break;
		case COLL_MISMATCH:
		case COLL_BROKEN:
			fail_msg("a result that cannot be");
		}
		return;
	}
	event = session_input(&rank->session, &msg, w->now);
	if (event == SESSION_BEGUN) {
		const struct wire_status *st = session_status(&rank->session);
		const struct coll_epoch e = { .job = rank->session.job,
					      .epoch = rank->session.epoch,
					      .wid = (uint16_t)r,
					      .slots = st->slots,
					      .p = st->p,
					      .check = w->faults.check };

		rank_over(rank);
		coll_begin(rank->coll, &e);
		rank->in_epoch = true;
	} else if (event == SESSION_OVER) {
		rank_over(rank);
		w->over++;
		session_rejoin(&rank->session, w->now);
	} else if (event == SESSION_REPLY) {
		coll_answer(rank->coll, session_status(&rank->session), msg.slot, msg.round,
			    rank->probe_ns, w->now);
	}
}

static void rank_send(struct world *w, unsigned r, const void *data, size_t len)
{
	const struct rank *rank = &w->ranks[r];
	struct packet p = { .to = SWITCH_IP + rank->leaf,
			    .to_port = WIRE_PORT,
			    .from = RANK_IP + r,
			    .from_port = rank->port,
			    .len = (uint32_t)len };

	assert_true(len <= WORLD_ROOM);
	memcpy(p.data, data, len);
	net_send(w, &p);
}

static void rank_probe(struct world *w, unsigned r, uint16_t slot, uint32_t round)
{
	struct rank *rank = &w->ranks[r];
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = rank->session.job,
				      .epoch = rank->session.epoch,
				      .slot = slot,
				      .round = round,
				      .wid = (uint16_t)r };
	uint8_t buf[WORLD_ROOM] = { 0 };

	wire_build(buf, &msg);
	rank->probe_ns = w->now;
	rank_send(w, r, buf, WIRE_HEADER + WIRE_BODY);
}

static void rank_transmit(struct world *w, unsigned r, struct coll_chunk *c)
{
	struct rank *rank = &w->ranks[r];
	unsigned op = rank->finished + (c->op + COLL_OPS - rank->finished % COLL_OPS) % COLL_OPS;
	struct wire_msg msg = { .type = WIRE_DATA,
				.kind = c->kind,
				.job = rank->session.job,
				.epoch = rank->session.epoch,
				.slot = c->slot,
				.round = c->round,
				.desc = c->desc,
				.wid = (uint16_t)r,
				.len = c->len };
	uint8_t buf[WORLD_ROOM] = { 0 };
	uint32_t len = WIRE_HEADER + c->len;

	if (c->lane == COLL_E) {
		for (uint32_t b = 0; c->fresh && b * COLL_BLOCK < c->count; b++)
			c->e[WIRE_E_EXP + b] =
				(uint8_t)value(r, op,
					       UINT64_C(1) << 40 | (c->first / COLL_BLOCK + b));
		memcpy(buf + WIRE_HEADER, c->e, c->len);
	} else if (c->close) {
		coll_close(rank->coll, c, buf + WIRE_HEADER);
	} else {
		for (uint32_t i = 0; i < c->count; i++)
			wire_put32(buf + WIRE_HEADER + 4 * i, word(w, r, op, c->first + i));
	}
	if (c->counted)
		rank_count(rank, c, buf + WIRE_HEADER);
	wire_build(buf, &msg);
	if (w->faults.check)
		len = wire_seal(buf, c->len);
	rank_send(w, r, buf, len);
	if (c->probe)
		rank_probe(w, r, c->slot, c->round);
}

static void rank_output(struct world *w, unsigned r)
{
	struct rank *rank = &w->ranks[r];
	struct coll_chunk out[16];
	uint8_t buf[WIRE_MSG_MAX];
	enum session_event event;
	unsigned nr;
	size_t len;
	int op;

	while ((len = session_output(&rank->session, buf, w->now, &event)) != 0)
		rank_send(w, r, buf, len);
	if (!rank->in_epoch)
		return;
	while (rank->posted < w->nr_row && coll_outstanding(rank->coll) < COLL_OPS && draw(w, 4)) {
		enum coll_form form = w->row[rank->posted].form;
		const struct coll_args args = { .desc = { .count = w->row[rank->posted].count,
							  .collective = WIRE_ALLREDUCE,
							  .world = (uint16_t)w->n },
						.form = (uint8_t)form,
						.kind = WIRE_ADD32,
						.width = form == COLL_OPEN ? 0 : 4 };

		assert_true(coll_start(rank->coll, &args) >= 0);
		rank->posted++;
	}
	nr = coll_output(rank->coll, out, 1 + (unsigned)draw(w, 16), w->now);
	for (unsigned i = 0; i < nr; i++)
		rank_transmit(w, r, &out[i]);
	while ((op = coll_finish(rank->coll)) >= 0) {
		assert_true(coll_verified(rank->coll, op));
		assert_int_equal(rank->elements[rank->finished], w->row[rank->finished].count);
		rank->finished++;
	}
	/* A rank between operations is silent and would not learn that the others begin anew. */
	if (rank->finished == w->nr_row && w->now > rank->probe_ns + 50 * MS)
		rank_probe(w, r, 0, 0);
}

static void switch_send(struct world *w, unsigned s, const struct flow *to, const uint8_t *data,
			size_t len)
{
	struct packet p = { .to = to->ip,
			    .to_port = to->udp_port,
			    .from = SWITCH_IP + s,
			    .from_port = WIRE_PORT,
			    .len = (uint32_t)len };

	assert_true(len <= WORLD_ROOM);
	memcpy(p.data, data, len);
	net_send(w, &p);
}

static void switch_input(struct world *w, unsigned s, struct packet *p)
{
	struct world_switch *sw = &w->switches[s];
	struct pipe_time now = time_of(w);
	struct pipe_pkt pkt = {
		.data = p->data,
		.len = p->len,
		.cap = WORLD_ROOM,
		.flow = { .ip = p->from, .udp_port = p->from_port },
	};
	struct flow to[WIRE_WORLD_MAX];
	uint8_t buf[WIRE_MSG_MAX];
	unsigned nr;
	size_t len;

	if (p->len)
		pipe_input(sw->pipe, &pkt, 1, &now);
	else
		pipe_gone(sw->pipe, &pkt.flow, &now);
	sw->rx++;
	nr = pipe_dests(sw->pipe, &pkt, to);
	assert_true(nr == 0 || pkt.verdict == PIPE_REPLY || pkt.verdict == PIPE_MULTICAST ||
		    pkt.verdict == PIPE_UP);
	for (unsigned i = 0; i < nr; i++)
		switch_send(w, s, &to[i], pkt.data, pkt.len);
	while ((len = pipe_output(sw->pipe, &to[0], buf)) != 0)
		switch_send(w, s, &to[0], buf, len);
}

static void net_deliver(struct world *w)
{
	while (w->nr_net && w->net[w->heap[0]].at_ns <= w->now) {
		struct packet p = w->net[w->heap[0]];

		net_pop(w);
		if (p.to >= SWITCH_IP)
			switch_input(w, p.to - SWITCH_IP, &p);
		else
			rank_input(w, p.to - RANK_IP, &p);
	}
}

static bool world_done(const struct world *w)
{
	for (unsigned r = 0; r < w->n; r++)
		if (!w->ranks[r].in_epoch || w->ranks[r].finished < w->nr_row ||
		    w->ranks[r].session.epoch != w->ranks[0].session.epoch)
			return false;
	return true;
}

static unsigned switch_add(struct world *w, int parent)
{
	assert_true(w->nr_switches < WORLD_SWITCHES);
	w->switches[w->nr_switches].parent = parent;
	return w->nr_switches++;
}

static void leaf_add(struct world *w, const struct shape *shape, int parent)
{
	unsigned s = switch_add(w, parent);
	unsigned nr = shape->uneven ? 1 + (unsigned)draw(w, shape->ranks) : shape->ranks;

	w->switches[s].range = (struct wire_range){ (uint16_t)w->n, (uint16_t)nr };
	for (unsigned i = 0; i < nr; i++)
		w->ranks[w->n++].leaf = s;
	assert_true(w->n <= WORLD_RANKS);
}

static void world_shape(struct world *w, const struct shape *shape)
{
	unsigned nr_above = shape->middles ? shape->middles : 1;

	switch_add(w, -1);
	if (shape->leaves == 0)
		w->n = shape->any ? 1 + (unsigned)draw(w, shape->ranks) : shape->ranks;
	for (unsigned m = 0; m < nr_above && shape->leaves; m++) {
		unsigned first = w->n;
		unsigned above = shape->middles ? switch_add(w, 0) : 0;

		for (unsigned l = 0; l < shape->leaves; l++)
			leaf_add(w, shape, (int)above);
		w->switches[above].range =
			(struct wire_range){ (uint16_t)first, (uint16_t)(w->n - first) };
	}
	for (unsigned s = 0; s < w->nr_switches; s++)
		switch_boot(w, s);
	for (unsigned r = 0; r < w->n; r++)
		rank_boot(w, r);
}

void world_free(struct world *w)
{
	for (unsigned r = 0; r < WORLD_RANKS; r++)
		free(w->ranks[r].coll);
	for (unsigned s = 0; s < WORLD_SWITCHES; s++)
		free(w->switches[s].mem);
}

static void world_init(struct world *w, const struct shape *shape, uint64_t seed,
		       const struct faults *faults)
{
	static const uint64_t sizes[] = { 1, 31, 32, 33, 64, 255, 256, 257, 700, 1500 };
	uint64_t counters[COUNTER_NR];

	memcpy(counters, w->counters, sizeof(counters));
	world_free(w);
	memset(w, 0, offsetof(struct world, heap));
	memcpy(w->counters, counters, sizeof(counters));
	for (unsigned i = 0; i < WORLD_NET; i++)
		w->heap[i] = i;
	w->rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	w->now = 1000 * MS;
	w->faults = *faults;
	w->slots = 1 + (unsigned)draw(w, 20);
	w->nr_row = shape->row ? shape->row : 2 + (unsigned)draw(w, WORLD_ROW - 1);
	for (unsigned i = 0; i < w->nr_row; i++) {
		w->row[i].form = (enum coll_form)draw(w, 3);
		w->row[i].count = w->row[i].form == COLL_OPEN ? 0 : sizes[draw(w, 10)];
	}
	world_shape(w, shape);
}

static void world_break(struct world *w)
{
	if (w->faults.restarts && draw(w, 300) == 0) {
		w->faults.restarts--;
		rank_boot(w, (unsigned)draw(w, w->n));
	}
	if (w->faults.leaf_restarts && draw(w, 500) == 0) {
		w->faults.leaf_restarts--;
		switch_boot(w, 1 + (unsigned)draw(w, w->nr_switches - 1));
	}
	if (w->faults.root_restarts && draw(w, 600) == 0) {
		w->faults.root_restarts--;
		switch_boot(w, 0);
	}
}

static void world_count(struct world *w)
{
	for (unsigned s = 0; s < w->nr_switches; s++) {
		const struct counters *counters = pipe_counters(w->switches[s].pipe);
		uint64_t sum = 0;

		for (unsigned i = 0; i < COUNTER_NR; i++) {
			sum += counters->v[i];
			w->counters[i] += counters->v[i];
		}
		assert_int_equal(sum, w->switches[s].rx);
		assert_int_equal(counters->v[COUNTER_spoofed], 0);
		assert_int_equal(counters->v[COUNTER_mismatch], 0);
	}
}

static void world_run(struct world *w, const struct shape *shape, uint64_t seed,
		      const struct faults *faults)
{
	world_init(w, shape, seed, faults);
	while (!world_done(w)) {
		if (w->now > 120000 * MS)
			fail_msg("seed %lu: not finished in two minutes of its time",
				 (unsigned long)seed);
		world_break(w);
		net_deliver(w);
		for (unsigned r = 0; r < w->n; r++)
			rank_output(w, r);
		w->now += 2 * US + draw(w, w->nr_net ? 20 * US : 400 * US);
	}
	world_count(w);
}

void world_runs(struct world *w, const struct shape *shape, uint64_t from, uint64_t nr,
		const struct faults *faults)
{
	for (uint64_t seed = from; seed < from + nr; seed++)
		world_run(w, shape, seed, faults);
	assert_true(w->checked > 0 || w->nr_row > 0);
}
