// SPDX-License-Identifier: BSD-3-Clause
// net.c - links that lose, repeat, reorder, delay and corrupt; what waits at processes.
#include "tests/sim/sim.h"

#include <string.h>

#include "tests/sim/mutant.h"

/* Several chances from one random number: 20 bits of it each. */
static bool chance(uint64_t *random, uint32_t of)
{
	uint32_t bits = (uint32_t)*random & 0xfffff;

	*random >>= 20;
	return bits < of;
}

static bool burst_loses(struct world *w, struct way *way)
{
	uint64_t random;

	if (!way->burst_enter)
		return false;
	random = sim_random(w);
	if (chance(&random, way->bursting ? way->burst_leave : way->burst_enter))
		way->bursting = !way->bursting;
	return way->bursting && chance(&random, way->burst_loss);
}

/* Waits in the queue of a link of limited rate; false: it is full. */
static bool queue_enter(struct world *w, struct way *way, size_t len, uint64_t *at_ns)
{
	if (!way->byte_ns)
		return true;
	if (way->free_ns < w->now_ns)
		way->free_ns = w->now_ns;
	if (way->free_ns - w->now_ns > way->queue_ns)
		return false;
	way->free_ns += (len + 42) * way->byte_ns;
	*at_ns = way->free_ns;
	return true;
}

/* --- Corruption that the UDP checksum does not show ------------------------------------------- */

/* Two words change places: the one's complement sum stays as it is. */
static void flip_words(struct world *w, struct packet *p)
{
	uint32_t words = p->len / 2, a = sim_draw(w, words), b = sim_draw(w, words);
	uint8_t saved[2];

	p->corrupt = false;
	memcpy(saved, p->data + 2 * a, 2);
	memcpy(p->data + 2 * a, p->data + 2 * b, 2);
	memcpy(p->data + 2 * b, saved, 2);
}

/*
 * What a CRC32C is bound to find in so short a message: up to five bits, or any number of them
 * within four bytes.
 */
static void flip_bits(struct world *w, struct packet *p)
{
	uint8_t *at = p->data + sim_draw(w, p->len - 7);

	p->flipped = true;
	w->seen[SEEN_FLIP] = true;
	if (draw_coin(w, 3)) {
		wire_put32(at, wire_get32(at) ^ ((uint32_t)sim_random(w) | 1));
		return;
	}
	for (unsigned nr = 1 + sim_draw(w, 5); nr; nr--) {
		uint32_t bit = sim_draw(w, 8 * p->len);

		p->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* Whether it is of a job with CHECK, by its length. */
static bool flip_may(const struct packet *p)
{
	return p->len % WIRE_PAD == (WIRE_HEADER + WIRE_CRC) % WIRE_PAD &&
	       (SIM_SEALED >> (p->data[0] & 15) & 1) && !p->foe;
}

/* --- Sending ---------------------------------------------------------------------------------- */

/* The next packet to be used, SIM_PACKETS: there is none. */
static unsigned packet_next(const struct world *w)
{
	return w->nr_free ? w->free[w->nr_free - 1] : w->fresh;
}

uint8_t *net_room(struct world *w)
{
	unsigned next = packet_next(w);

	return next < SIM_PACKETS ? w->packets[next].data : w->spare;
}

/* What else may happen to a packet; when it arrives. */
static uint64_t copy_fate(struct world *w, struct way *way, struct packet *p, uint64_t at_ns)
{
	uint64_t random = sim_random(w);

	p->corrupt = chance(&random, way->corrupt);
	if (chance(&random, way->reorder)) {
		at_ns += sim_span(w, way->reorder_ns);
		way->reordered++;
	}
	if (chance(&random, way->flip) && !p->corrupt && flip_may(p))
		flip_bits(w, p);
	if (way->jitter_ns) {
		at_ns += sim_span(w, way->jitter_ns);
		way->delayed++;
	}
	if (p->corrupt && w->mutant == MUTANT_CORRUPT)
		flip_words(w, p);
	return at_ns;
}

static inline void copy_send(struct world *w, const struct sending *s, struct way *way,
			     uint64_t at_ns)
{
	unsigned next = packet_next(w);
	struct packet *p = &w->packets[next];

	if (next == SIM_PACKETS || w->nr_events + 256 > SIM_EVENTS) {
		way->lost[LOST_ROOM]++;
		return;
	}
	if (w->nr_free)
		w->nr_free--;
	else
		w->fresh++;
	p->index = (uint16_t)next;
	p->from = s->from;
	p->to = s->to;
	p->way = (uint8_t)(way - w->way);
	p->as = s->as ? (uint8_t)(s->as - 1) : s->from;
	p->src_port = s->src_port;
	p->dst_port = s->dst_port;
	p->unreachable = s->unreachable;
	p->foe = s->foe;
	p->corrupt = p->flipped = false;
	p->len = (uint32_t)s->len;
	if (s->data != p->data)
		memcpy(p->data, s->data, s->len);
	at_ns += way->delay_ns;
	if (!way->plain)
		at_ns = copy_fate(w, way, p, at_ns);
	world_event(w, &(struct event){ .type = EVENT_PACKET, .arg = (uint16_t)next }, at_ns);
}

/* Lost, or sent, perhaps twice. */
static void net_try(struct world *w, const struct sending *s, struct way *way)
{
	uint64_t random = sim_random(w), at_ns = w->now_ns;
	unsigned copies = 1;

	if (chance(&random, way->dup)) {
		way->duped++;
		copies++;
	}
	while (copies--) {
		if (way->cut)
			way->lost[LOST_CUT]++;
		else if (burst_loses(w, way))
			way->lost[LOST_BURST]++;
		else if (chance(&random, way->loss))
			way->lost[LOST_CHANCE] += w->mutant != MUTANT_UNCOUNTED;
		else if (!queue_enter(w, way, s->len, &at_ns))
			way->lost[LOST_QUEUE]++;
		else
			copy_send(w, s, way, at_ns);
	}
}

void net_send(struct world *w, const struct sending *s)
{
	struct way *way = &w->way[w->route[s->from][s->to]];

	if (s->len > SIM_ROOM)
		sim_fail(w, BY_WIRE, "a message of %zu bytes, more than was agreed", s->len);
	if (++w->packets_sent > SIM_MOST)
		sim_fail(w, BY_LIVENESS, "more than %d packets", SIM_MOST);
	way->sent++;
	if (way->plain && !way->cut)
		copy_send(w, s, way, w->now_ns);
	else
		net_try(w, s, way);
}

/* --- Arriving --------------------------------------------------------------------------------- */

/* Whether a process listens where the packet goes to. */
static bool heard(struct world *w, const struct packet *p)
{
	const struct node *node = &w->node[p->to];

	if (!node->up)
		return false;
	if (p->unreachable)
		return true;
	return p->dst_port == node->port;
}

static void answer_unreachable(struct world *w, const struct packet *p)
{
	const struct sending s = { .from = p->to,
				   .to = p->from,
				   .src_port = p->dst_port,
				   .data = p->data,
				   .unreachable = true };

	/* A rank that restarts elsewhere, and nobody says so, waits for a minute: longer than a run may be. */
	const bool told = w->traits.icmp || (w->calm && !w->traits.same_port);

	if (!told || w->node[p->to].kind != NODE_HOST || p->unreachable)
		return;
	w->seen[SEEN_UNREACHABLE] = true;
	net_send(w, &s);
}

void net_arrive(struct world *w, unsigned packet)
{
	struct packet *p = &w->packets[packet];
	struct node *node = &w->node[p->to];

	w->way[p->way].delivered++;
	trace_packet(w, "", p);
	if (p->corrupt) {
		node->bad_checksum++;
	} else if (!heard(w, p)) {
		node->nobody++;
		answer_unreachable(w, p);
	} else if (node->tail - node->head == node->room) {
		node->full++;
	} else {
		node->inbox[node->tail++ & (SIM_INBOX - 1)] = (uint16_t)packet;
		world_wake(w, p->to, w->now_ns + node->service_ns);
		return;
	}
	net_give_back(w, p);
}

void net_flush(struct world *w, struct node *node)
{
	for (; node->head != node->tail; node->head++) {
		node->nobody++;
		net_give_back(w, &w->packets[node->inbox[node->head & (SIM_INBOX - 1)]]);
	}
}

static void in_flight(const struct world *w, uint64_t nr[2 * SIM_LINKS])
{
	for (unsigned i = 0; i < world_nr_events(w); i++) {
		const struct event *event = world_event_at(w, i);
		const struct packet *p = &w->packets[event->arg];

		if (event->type == EVENT_PACKET)
			nr[p->way]++;
	}
}

/* Everything that was sent is lost, delivered or on its way; everything delivered has its fate. */
void net_check(struct world *w)
{
	uint64_t arrived[SIM_NODES] = { 0 }, flying[2 * SIM_LINKS] = { 0 };

	in_flight(w, flying);
	for (unsigned i = 0; i < 2 * w->nr_links; i++) {
		const struct way *way = &w->way[i];
		uint64_t out = way->delivered + flying[i];

		for (unsigned l = 0; l < LOST_NR; l++)
			out += way->lost[l];
		if (way->sent + way->duped != out)
			sim_fail(w, BY_LINK, "link %u: %lu packets sent, %lu accounted for", i / 2,
				 (unsigned long)(way->sent + way->duped), (unsigned long)out);
		arrived[w->link[i / 2][1 - i % 2]] += way->delivered;
	}
	for (unsigned n = 0; n < w->nr_nodes; n++) {
		const struct node *node = &w->node[n];
		uint64_t sum = node->processed + node->nobody + node->full + node->bad_checksum +
			       (node->tail - node->head);

		if (sum != arrived[n])
			sim_fail(w, BY_LINK, "node %u: %lu packets arrived, %lu accounted for", n,
				 (unsigned long)arrived[n], (unsigned long)sum);
	}
}
