// SPDX-License-Identifier: BSD-3-Clause
// Both machines together, in virtual time, over a network that loses, repeats, reorders and delays, with restarts.
//
// Each rank issues the same row of operations; every contribution is a hash of (rank, operation, element), and
// every result is compared with a naive sum. After a fault the row starts anew in the next epoch. A run is good
// when all ranks have finished the row in one epoch. One seed is one run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/core/coll.h"
#include "host/core/session.h"
#include "switch/core/pipe.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { MAXW = 6, P = 128, NET = 4096, ROW = 24, ROOM = 256, SWITCH = 255 };

struct packet {
	uint64_t at_ns, order;
	uint8_t to, from; /* SWITCH or rank */
	uint16_t port;	  /* UDP port of the rank's life that sent it, or that it is for */
	uint32_t len;
	uint8_t data[ROOM];
};

struct rank {
	struct session session;
	struct coll *coll;
	uint16_t port;
	unsigned posted, finished;
	bool in_epoch;
	uint64_t elements[ROW]; /* delivered */
	uint64_t probe_ns;
};

struct faults {
	unsigned loss, dup, reorder; /* per mille */
	unsigned restarts, switch_restarts;
};

struct world {
	uint64_t rng, now, order, boots;
	struct faults faults;
	unsigned n, slots;
	struct packet net[NET];
	unsigned nr_net;
	struct pipe *pipe;
	void *pipe_mem;
	struct rank ranks[MAXW];
	struct {
		uint64_t count;
		enum coll_form form;
	} row[ROW];
	unsigned nr_row;
	uint64_t checked, over, rx; /* rx: of the switch since it started */
};

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

static struct pipe_time time_of(const struct world *w)
{
	return (struct pipe_time){ .now_ns = w->now, .wall_ms = 1700000000000 + w->now / MS };
}

static void net_send(struct world *w, const struct packet *p)
{
	unsigned copies = 1 + chance(w, w->faults.dup);

	while (copies--) {
		struct packet *q;

		if (chance(w, w->faults.loss) || w->nr_net == NET)
			continue;
		q = &w->net[w->nr_net++];
		*q = *p;
		q->order = w->order++;
		q->at_ns = w->now + 5 * US + draw(w, 5 * US);
		if (chance(w, w->faults.reorder))
			q->at_ns += draw(w, 3 * MS);
	}
}

static void switch_boot(struct world *w)
{
	const struct pipe_params params = { .jobs_max = 4,
					    .slots_max = WIRE_SE + w->slots,
					    .values_bytes = (size_t)(WIRE_SE + w->slots) * 2 * P,
					    .p_max = P };
	struct pipe_time now = time_of(w);

	free(w->pipe_mem);
	w->pipe_mem = aligned_alloc(64, (pipe_size(&params) + 63) / 64 * 64);
	memset(w->pipe_mem, 0, pipe_size(&params));
	w->pipe = pipe_init(w->pipe_mem, &params, &now);
	assert_non_null(w->pipe);
	w->boots++;
	w->rx = 0;
}

static void rank_boot(struct world *w, unsigned r)
{
	struct rank *rank = &w->ranks[r];
	const struct session_params sp = { .name = "together",
					   .inc = 1 + draw(w, UINT64_MAX - 1),
					   .rank = (uint16_t)r,
					   .world = (uint16_t)w->n,
					   .slots = (uint16_t)w->slots,
					   .p = P,
					   .port = (uint16_t)(rank->port ? rank->port + 1u
									 : 1000u * (r + 1)),
					   .nr_ports = 1 };
	const struct coll_params cp = {
		.slots = (uint16_t)w->slots, .p = P, .rto_min_ns = MS, .rto_max_ns = 100 * MS
	};
	void *mem = rank->coll ? (void *)rank->coll
			       : aligned_alloc(64, (coll_size(&cp) + 63) / 64 * 64);

	*rank = (struct rank){ .port = sp.port, .coll = coll_init(mem, &cp) };
	session_init(&rank->session, &sp, w->now);
}

static void rank_over(struct rank *rank)
{
	rank->in_epoch = false;
	rank->posted = rank->finished = 0;
	memset(rank->elements, 0, sizeof(rank->elements));
}

static void rank_taken(struct world *w, struct rank *rank, const struct coll_chunk *c,
		       const struct wire_msg *msg)
{
	unsigned op = rank->finished + (c->op + COLL_OPS - rank->finished % COLL_OPS) % COLL_OPS;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t sum = 0;

		for (unsigned r = 0; r < w->n; r++)
			sum += value(r, op, c->first + i);
		if (wire_get32(msg->payload + 4 * i) != sum)
			fail_msg("wrong sum: operation %u element %lu", op,
				 (unsigned long)(c->first + i));
		w->checked++;
	}
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

	if (p->port != rank->port) /* for a life before this one */
		return;
	assert_int_equal(wire_parse(&msg, p->data, p->len), WIRE_OK);
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
					      .p = st->p };

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
	struct packet p = {
		.to = SWITCH, .from = (uint8_t)r, .port = w->ranks[r].port, .len = (uint32_t)len
	};

	assert_true(len <= ROOM);
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
	uint8_t buf[ROOM] = { 0 };

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
	uint8_t buf[ROOM] = { 0 };

	if (c->lane == COLL_E) {
		for (uint32_t b = 0; c->fresh && b * COLL_BLOCK < c->count; b++)
			c->e[WIRE_E_EXP + b] =
				(uint8_t)value(r, op,
					       UINT64_C(1) << 40 | (c->first / COLL_BLOCK + b));
		memcpy(buf + WIRE_HEADER, c->e, c->len);
	} else {
		for (uint32_t i = 0; i < c->count; i++)
			wire_put32(buf + WIRE_HEADER + 4 * i, value(r, op, c->first + i));
	}
	wire_build(buf, &msg);
	rank_send(w, r, buf, WIRE_HEADER + c->len);
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
	while (coll_finish(rank->coll) >= 0) {
		assert_int_equal(rank->elements[rank->finished], w->row[rank->finished].count);
		rank->finished++;
	}
	/* A rank between operations is silent and would not learn that the others begin anew. */
	if (rank->finished == w->nr_row && w->now > rank->probe_ns + 50 * MS)
		rank_probe(w, r, 0, 0);
}

static void switch_reply(struct world *w, const struct flow *to, const uint8_t *data, size_t len)
{
	struct packet p = {
		.to = (uint8_t)to->port, .from = SWITCH, .port = to->udp_port, .len = (uint32_t)len
	};

	assert_true(len <= ROOM);
	memcpy(p.data, data, len);
	net_send(w, &p);
}

static void switch_input(struct world *w, struct packet *p)
{
	struct pipe_time now = time_of(w);
	struct pipe_pkt pkt = {
		.data = p->data,
		.len = p->len,
		.cap = ROOM,
		.flow = { .ip = 0x0a000001u + p->from, .udp_port = p->port, .port = p->from }
	};
	struct flow to[WIRE_WORLD_MAX];
	uint8_t buf[WIRE_MSG_MAX];
	size_t len;

	pipe_input(w->pipe, &pkt, 1, &now);
	w->rx++;
	if (pkt.verdict == PIPE_REPLY || pkt.verdict == PIPE_MULTICAST) {
		unsigned nr = pipe_dests(w->pipe, &pkt, to);

		for (unsigned i = 0; i < nr; i++)
			switch_reply(w, &to[i], pkt.data, pkt.len);
	}
	while ((len = pipe_output(w->pipe, &to[0], buf)) != 0)
		switch_reply(w, &to[0], buf, len);
}

static void net_deliver(struct world *w)
{
	for (;;) {
		struct packet p;
		unsigned best = NET;

		for (unsigned i = 0; i < w->nr_net; i++)
			if (w->net[i].at_ns <= w->now &&
			    (best == NET || w->net[i].at_ns < w->net[best].at_ns ||
			     (w->net[i].at_ns == w->net[best].at_ns &&
			      w->net[i].order < w->net[best].order)))
				best = i;
		if (best == NET)
			return;
		p = w->net[best];
		w->net[best] = w->net[--w->nr_net];
		if (p.to == SWITCH)
			switch_input(w, &p);
		else
			rank_input(w, p.to, &p);
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

static void world_init(struct world *w, uint64_t seed, const struct faults *faults)
{
	static const uint64_t sizes[] = { 1, 31, 32, 33, 64, 255, 256, 257, 700, 1500 };
	struct pipe *pipe = w->pipe;
	void *mem = w->pipe_mem;

	for (unsigned r = 0; r < MAXW; r++)
		free(w->ranks[r].coll);
	memset(w, 0, sizeof(*w));
	w->pipe = pipe;
	w->pipe_mem = mem;
	w->rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	w->now = 1000 * MS;
	w->faults = *faults;
	w->n = 1 + (unsigned)draw(w, MAXW);
	w->slots = 1 + (unsigned)draw(w, 20);
	w->nr_row = 2 + (unsigned)draw(w, ROW - 1);
	for (unsigned i = 0; i < w->nr_row; i++) {
		w->row[i].form = (enum coll_form)draw(w, 3);
		w->row[i].count = w->row[i].form == COLL_OPEN ? 0 : sizes[draw(w, 10)];
	}
	switch_boot(w);
	for (unsigned r = 0; r < w->n; r++)
		rank_boot(w, r);
}

static void world_run(struct world *w, uint64_t seed, const struct faults *faults)
{
	uint64_t sum = 0;

	world_init(w, seed, faults);
	while (!world_done(w)) {
		if (w->now > 120000 * MS)
			fail_msg("seed %lu: not finished in two minutes of its time",
				 (unsigned long)seed);
		if (w->faults.restarts && draw(w, 300) == 0) {
			w->faults.restarts--;
			rank_boot(w, (unsigned)draw(w, w->n));
		}
		if (w->faults.switch_restarts && draw(w, 600) == 0) {
			w->faults.switch_restarts--;
			switch_boot(w);
		}
		net_deliver(w);
		for (unsigned r = 0; r < w->n; r++)
			rank_output(w, r);
		w->now += 2 * US + draw(w, w->nr_net ? 20 * US : 400 * US);
	}
	for (unsigned i = 0; i < COUNTER_NR; i++)
		sum += pipe_counters(w->pipe)->v[i];
	assert_int_equal(sum, w->rx);
	assert_int_equal(pipe_counters(w->pipe)->v[COUNTER_spoofed], 0);
	assert_int_equal(pipe_counters(w->pipe)->v[COUNTER_mismatch], 0);
}

static struct world world;

static void runs(uint64_t from, uint64_t nr, const struct faults *faults)
{
	for (uint64_t seed = from; seed < from + nr; seed++)
		world_run(&world, seed, faults);
	assert_true(world.checked > 0 || world.nr_row > 0);
}

static void machines__quiet_network(void **state)
{
	(void)state;
	runs(1, 60, &(struct faults){ 0 });
}

static void machines__loss(void **state)
{
	(void)state;
	runs(1000, 60, &(struct faults){ .loss = 50 });
}

static void machines__duplicates_and_reordering(void **state)
{
	(void)state;
	runs(2000, 60, &(struct faults){ .dup = 100, .reorder = 200 });
}

static void machines__everything(void **state)
{
	(void)state;
	runs(3000, 60, &(struct faults){ .loss = 100, .dup = 100, .reorder = 100 });
}

static void machines__ranks_restart(void **state)
{
	(void)state;
	runs(4000, 60, &(struct faults){ .loss = 30, .dup = 30, .reorder = 100, .restarts = 3 });
}

static void machines__the_switch_restarts(void **state)
{
	(void)state;
	runs(5000, 60,
	     &(struct faults){
		     .loss = 30, .dup = 30, .reorder = 100, .restarts = 1, .switch_restarts = 2 });
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned r = 0; r < MAXW; r++)
		free(world.ranks[r].coll);
	free(world.pipe_mem);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines__quiet_network),
		cmocka_unit_test(machines__loss),
		cmocka_unit_test(machines__duplicates_and_reordering),
		cmocka_unit_test(machines__everything),
		cmocka_unit_test(machines__ranks_restart),
		cmocka_unit_test(machines__the_switch_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
