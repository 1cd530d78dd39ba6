// SPDX-License-Identifier: BSD-3-Clause
// node.c - a switch of the simulated network: the product's pipe behind an inbox.
#include "tests/sim/sim.h"

#include <string.h>

#include "tests/sim/mutant.h"

struct pipe_time sim_time(const struct world *w)
{
	return (struct pipe_time){ .now_ns = w->now_ns,
				   .wall_ms = w->wall_ms + w->now_ns / SIM_MS };
}

void switch_boot(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];
	struct pipe_time now = sim_time(w);

	memset(node->mem, 0, pipe_size(&node->params));
	node->params.leaf = node->parent != SIM_NONE;
	node->params.inc = sim_mix(w->seed << 32 ^ n << 16 ^ node->boots) | 1;
	node->params.parent_from = WIRE_PORT;
	node->pipe = pipe_init(node->mem, &node->params, &now);
	if (!node->pipe)
		sim_fail(w, "switch %u: its parameters are refused", n);
	if (node->params.leaf)
		pipe_set_parent(node->pipe, &(struct flow){ .ip = SIM_IP + node->parent,
							    .udp_port = WIRE_PORT,
							    .port = w->route[n][node->parent] });
	node->up = true;
	node->paused = false;
	node->rx = 0;
	node->boots++;
	mutant_boot(w);
	trace_note(w, "switch boots", n, node->boots);
}

static void switch_send(struct world *w, unsigned n, const struct flow *to, const uint8_t *data,
			size_t len)
{
	const struct sending s = { .from = (uint8_t)n,
				   .to = (uint8_t)(to->ip - SIM_IP),
				   .src_port = WIRE_PORT,
				   .dst_port = to->udp_port,
				   .data = data,
				   .len = len };

	if (s.to >= w->nr_nodes || w->route[n][s.to] == SIM_NONE)
		sim_fail(w, "switch %u sends to %08x, which is nobody", n, to->ip);
	net_send(w, &s);
}

static void switch_emit(struct world *w, unsigned n, struct pipe_pkt *pkts, unsigned nr)
{
	struct pipe *pipe = w->node[n].pipe;
	struct flow to[WIRE_WORLD_MAX];
	uint8_t buf[WIRE_MSG_MAX];
	size_t len;

	for (unsigned i = 0; i < nr; i++) {
		unsigned dests;

		if (pkts[i].verdict != PIPE_REPLY && pkts[i].verdict != PIPE_MULTICAST &&
		    pkts[i].verdict != PIPE_UP)
			continue;
		dests = pipe_dests(pipe, &pkts[i], to);
		for (unsigned d = 0; d < dests; d++)
			switch_send(w, n, &to[d], pkts[i].data, pkts[i].len);
	}
	while ((len = pipe_output(pipe, &to[0], buf)) != 0)
		switch_send(w, n, &to[0], buf, len);
}

static void switch_burst(struct world *w, unsigned n, struct pipe_pkt *pkts, unsigned nr)
{
	struct node *node = &w->node[n];
	struct pipe_time now = sim_time(w);

	if (w->mutant && nr && mutant_switch(w, n, pkts)) /* one packet is a burst then */
		nr = 0;
	if (nr)
		pipe_input(node->pipe, pkts, nr, &now);
	node->rx += nr;
	if (w->mutant == MUTANT_MISCOUNT && nr && sim_draw(w, 50) == 0)
		node->rx++;
}

/* Up to a burst of what waits; packets stay ours until all that they became has been sent. */
static unsigned switch_collect(struct world *w, unsigned n, struct pipe_pkt *pkts)
{
	struct node *node = &w->node[n];
	struct pipe_time now = sim_time(w);
	unsigned nr = 0, most = w->mutant ? 1 : PIPE_BURST;
	struct packet *p;

	while (nr < most && (p = net_take(w, node)) != NULL) {
		if (p->unreachable) {
			pipe_gone(node->pipe, SIM_IP + p->from, p->src_port, &now);
			node->rx++;
			net_give_back(w, p);
			continue;
		}
		pkts[nr++] = (struct pipe_pkt){ .data = p->data,
						.len = p->len,
						.cap = SIM_ROOM,
						.flow = { .ip = SIM_IP + p->from,
							  .udp_port = p->src_port,
							  .port = p->link },
						.cookie = p };
	}
	return nr;
}

void switch_run(struct world *w, unsigned n)
{
	struct pipe_pkt pkts[PIPE_BURST];
	struct node *node = &w->node[n];

	while (node->head != node->tail) {
		unsigned nr = switch_collect(w, n, pkts);

		switch_burst(w, n, pkts, nr);
		switch_emit(w, n, pkts, nr);
		for (unsigned i = 0; i < nr; i++)
			net_give_back(w, pkts[i].cookie);
	}
}

static void census_join(struct world *w, unsigned n, struct wire_join *join, struct wire_status *st)
{
	struct node *node = &w->node[n];
	struct pipe_time now = sim_time(w);
	uint8_t buf[WIRE_MSG_MAX];
	struct pipe_pkt pkt = { .data = buf,
				.cap = sizeof(buf),
				.flow = { .ip = SIM_IP + 200, .udp_port = join->port } };
	struct wire_msg msg;
	struct flow to;
	size_t len;

	pkt.len = (uint32_t)wire_join_build(buf, 0, join);
	pipe_input(node->pipe, &pkt, 1, &now);
	node->rx++;
	while ((len = pipe_output(node->pipe, &to, buf)) != 0)
		if (to.ip == SIM_IP + 200 && wire_parse(&msg, buf, len) == WIRE_OK &&
		    wire_status_parse(st, &msg) == WIRE_OK)
			join->base = msg.epoch - (st->state == WIRE_FORMING);
	w->now_ns += 10 * SIM_MS;
}

/* A job of one rank that wants everything gets everything. */
static void census(struct world *w, unsigned n)
{
	struct wire_join join = { .inc = 1,
				  .world = 1,
				  .slots = UINT16_MAX,
				  .p = WIRE_P_MIN,
				  .port = 9,
				  .nr_ports = 1,
				  .name = "census" };
	struct wire_status st = { 0 };
	uint32_t all = w->node[n].params.slots_max - WIRE_SE;

	w->now_ns += 6 * SIM_SECOND; /* a job that only formed makes room for another by then */
	census_join(w, n, &join, &st);
	census_join(w, n, &join, &st);
	if (st.state != WIRE_RUNNING || st.slots != all)
		sim_fail(w, "switch %u: all ranks have left, and a new job gets %u of %u slots", n,
			 st.slots, all);
}

void switch_check(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];
	uint64_t sum = 0;

	for (unsigned i = 0; i < node->params.jobs_max; i++)
		if (pipe_job(node->pipe, i) && pipe_job(node->pipe, i)->lease_nr)
			sim_fail(w, "switch %u: job %s has left and still holds %u slots", n,
				 pipe_job(node->pipe, i)->name, pipe_job(node->pipe, i)->lease_nr);
	if (node->parent == SIM_NONE)
		census(w, n);
	for (unsigned i = 0; i < COUNTER_NR; i++)
		sum += pipe_counters(node->pipe)->v[i];
	if (sum != node->rx)
		sim_fail(w, "switch %u: %lu packets came in, %lu are counted", n,
			 (unsigned long)node->rx, (unsigned long)sum);
}
