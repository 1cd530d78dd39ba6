// SPDX-License-Identifier: BSD-3-Clause
// node.c - a switch of the simulated network: the product's pipe behind an inbox.
#include "tests/sim/sim.h"

#include <string.h>

#include "switch/core/agg.h"
#include "tests/sim/mutant.h"

enum { HANDLES = 64 }; /* every so many-th seed looks at all handles */

struct pipe_time switch_time(const struct world *w, const struct node *node)
{
	return (struct pipe_time){ .now_ns = w->now_ns,
				   .wall_ms = node->wall_ms + w->now_ns / SIM_MS };
}

/* What this life of the switch has counted. */
static void switch_count(struct world *w, const struct node *node)
{
	for (unsigned i = 0; i < COUNTER_NR; i++)
		w->counters[i] += pipe_counters(node->pipe)->v[i];
}

/* The tables by handle, which are most of a switch's memory: nothing but its jobs is in them. */
static size_t switch_tables(const struct job_table *t)
{
	return JOB_HANDLES * sizeof(uint16_t) * (t->by_parent ? 2 : 1);
}

static void switch_forget(struct job_table *t)
{
	for (unsigned i = 0; i < t->jobs_max; i++) {
		if (!t->jobs[i].used)
			continue;
		t->by_handle[t->jobs[i].handle] = 0;
		if (t->by_parent)
			t->by_parent[t->jobs[i].up.handle] = 0;
	}
}

/*
 * Its memory is zero again, as it has to be, whatever a life of it has left there.  Two parts of it
 * are large and mostly untouched: tables by handle, and the queue of what it has to say.
 */
static void switch_wipe(struct node *node)
{
	struct outbox *outbox = &node->pipe->agg.outbox;
	struct job_table *t = &node->pipe->agg.table;
	uint8_t *mem = node->mem, *end = mem + node->mem_size, *at = (uint8_t *)t->by_handle;
	size_t tables = switch_tables(t),
	       said = outbox->tail > outbox->head ? outbox->tail : outbox->head;

	switch_forget(t);
	memset(at + tables, 0, (size_t)(end - at) - tables);
	said = said < OUTBOX_MAX ? said : OUTBOX_MAX;
	memset(outbox->sources, 0, (size_t)(at - (uint8_t *)outbox->sources));
	memset(mem, 0, (size_t)((uint8_t *)&outbox->entries[said] - mem));
}

void switch_boot(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];
	struct pipe_time now = switch_time(w, node);

	if (node->boots)
		switch_count(w, node);
	if (node->pipe)
		switch_wipe(node);
	node->params.leaf = node->parent != SIM_NONE;
	node->params.inc = sim_mix(w->seed << 32 ^ n << 16 ^ node->boots) | 1;
	node->params.parent_from = WIRE_PORT;
	node->mem_size = pipe_size(&node->params);
	node->pipe = pipe_init(node->mem, &node->params, &now);
	if (!node->pipe)
		sim_fail(w, BY_SIZE, "switch %u: its parameters are refused", n);
	if (node->params.leaf)
		pipe_set_parent(node->pipe,
				&(struct flow){ .ip = SIM_IP + node->parent,
						.udp_port = WIRE_PORT,
						.port = w->route[n][node->parent] / 2,
						.mac = { 2, 0, 0, 0, 0, node->parent } });
	node->up = true;
	node->paused = false;
	node->rx = 0;
	memset(node->given, 0, sizeof(node->given));
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
		sim_fail(w, BY_WIRE, "switch %u sends to %08x, which is nobody", n, to->ip);
	net_send(w, &s);
}

void switch_flush(struct world *w, unsigned n)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct flow to;
	size_t len;

	while ((len = pipe_output(w->node[n].pipe, &to, buf)) != 0)
		switch_send(w, n, &to, buf, len);
}

static void switch_emit(struct world *w, unsigned n, struct pipe_pkt *pkts, unsigned nr)
{
	struct pipe *pipe = w->node[n].pipe;
	struct flow to[WIRE_WORLD_MAX];

	for (unsigned i = 0; i < nr; i++) {
		unsigned dests;

		if (pkts[i].verdict != PIPE_REPLY && pkts[i].verdict != PIPE_MULTICAST &&
		    pkts[i].verdict != PIPE_UP)
			continue;
		dests = pipe_dests(pipe, &pkts[i], to);
		if (w->mutant == MUTANT_NONSENSE && sim_draw(w, 50) == 0)
			pkts[i].data[0] ^= 0x20;
		for (unsigned d = 0; d < dests; d++)
			switch_send(w, n, &to[d], pkts[i].data, pkts[i].len);
	}
	switch_flush(w, n);
}

/* What a stranger sends is refused by name, and nothing comes of it but an answer. */
static void switch_check_foe(struct world *w, unsigned n, const struct pipe_pkt *pkt)
{
	const struct packet *p = pkt->cookie;

	if (p->foe &&
	    (pkt->verdict != PIPE_DROP || counter_infos[pkt->counter].class == COUNTER_SUM))
		sim_fail(w, BY_COUNTER, "switch %u: a stranger's packet counts as %s", n,
			 counter_infos[pkt->counter].name);
}

/* A switch without a parent gives no epoch that is not above the base of the JOIN that asks for it. */
static void switch_check_epochs(struct world *w, unsigned n, const struct pipe_pkt *pkt)
{
	const uint8_t *body = pkt->data + WIRE_HEADER;
	struct node *node = &w->node[n];
	bool join = pkt->counter == COUNTER_join &&
		    pkt->len >= WIRE_HEADER + WIRE_BODY; /* else of another version */

	for (unsigned i = 0; i < SIM_TABLE; i++) {
		const struct job *job = &node->pipe->agg.table.jobs[i];
		uint64_t epoch = job->used ? job->epoch : 0;

		if (epoch == node->given[i])
			continue;
		node->given[i] = epoch;
		if (epoch && join && memcmp(job->name, body + WIRE_JOIN_NAME, WIRE_NAME) == 0 &&
		    epoch <= wire_get48(body + WIRE_JOIN_BASE))
			sim_fail(w, BY_EPOCH, "switch %u: gives epoch %lu to a JOIN with base %lu",
				 n, (unsigned long)epoch,
				 (unsigned long)wire_get48(body + WIRE_JOIN_BASE));
	}
}

static void switch_check_burst(struct world *w, unsigned n, const struct pipe_pkt *pkts,
			       unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		switch_check_foe(w, n, &pkts[i]);
		if (counter_infos[pkts[i].counter].class == COUNTER_TALK &&
		    w->node[n].parent == SIM_NONE)
			switch_check_epochs(w, n, &pkts[i]);
	}
}

void switch_take(struct world *w, unsigned n, struct pipe_pkt *pkt)
{
	struct pipe_time now = switch_time(w, &w->node[n]);

	pipe_input(w->node[n].pipe, pkt, 1, &now);
	w->node[n].rx++;
	switch_check_burst(w, n, pkt, 1);
	switch_flush(w, n);
}

/* Once a member's port is unreachable, an epoch that needs it is over. */
static void switch_check_gone(struct world *w, unsigned n, const struct packet *p)
{
	const struct node *node = &w->node[n];

	for (unsigned i = 0; i < SIM_TABLE && node->parent == SIM_NONE; i++) {
		const struct job *job = pipe_job(node->pipe, i);

		for (unsigned m = 0; job && job->running && m < job->nr_members; m++)
			if (job->members[m].inc && !(job->left >> m & 1) &&
			    job->members[m].flow.ip == SIM_IP + p->from &&
			    job->members[m].flow.udp_port == p->src_port)
				sim_fail(w, BY_BLAME,
					 "switch %u: rank %u of %s is gone, and its "
					 "epoch goes on",
					 n, m, job->name);
	}
}

static void switch_burst(struct world *w, unsigned n, struct pipe_pkt *pkts, unsigned nr)
{
	struct node *node = &w->node[n];
	struct pipe_time now = switch_time(w, node);

	if (w->mutant && nr && mutant_switch(w, n, pkts)) /* one packet is a burst then */
		nr = 0;
	if (nr)
		pipe_input(node->pipe, pkts, nr, &now);
	if (w->traits.spoils && nr)
		chaos_spoil(w, n);
	switch_check_burst(w, n, pkts, nr);
	node->rx += nr;
	if (w->mutant == MUTANT_MISCOUNT && nr && sim_draw(w, 50) == 0)
		node->rx++;
}

/* Up to a burst of what waits; packets stay ours until all that they became has been sent. */
static unsigned switch_collect(struct world *w, unsigned n, struct pipe_pkt *pkts)
{
	struct node *node = &w->node[n];
	struct pipe_time now = switch_time(w, node);
	unsigned nr = 0, most = w->mutant ? 1 : PIPE_BURST;
	struct packet *p;

	while (nr < most && (p = net_take(w, node)) != NULL) {
		if (p->unreachable) {
			const struct flow flow = { .ip = SIM_IP + p->from,
						   .udp_port = p->src_port,
						   .port = p->way / 2,
						   .mac = { 2, 0, 0, 0, 0, p->from } };

			if (pipe_gone(node->pipe, &flow, &now) == COUNTER_gone)
				switch_check_gone(w, n, p);
			node->rx++;
			net_give_back(w, p);
			continue;
		}
		pkts[nr++] = (struct pipe_pkt){ .data = p->data,
						.len = p->len,
						.cap = SIM_ROOM,
						.flow = { .ip = SIM_IP + p->as,
							  .udp_port = p->src_port,
							  .port = p->way / 2,
							  .mac = { 2, 0, 0, 0, 0, p->from } },
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
	struct pipe_time now = switch_time(w, node);
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
		sim_fail(w, BY_LEAK,
			 "switch %u: all ranks have left, and a new job gets %u of %u slots", n,
			 st.slots, all);
}

/*
 * No handle outlives its job: switch_forget() relies on it.  Only now and then, since the tables are
 * large.
 */
static void switch_check_handles(struct world *w, unsigned n)
{
	const struct job_table *t = &w->node[n].pipe->agg.table;
	unsigned nr = 0, up = 0, jobs = 0, parents = 0;

	if (w->seed % HANDLES)
		return;
	for (unsigned h = 0; h < JOB_HANDLES; h++)
		nr += t->by_handle[h] != 0;
	for (unsigned h = 0; t->by_parent && h < JOB_HANDLES; h++)
		up += t->by_parent[h] != 0;
	for (unsigned i = 0; i < t->jobs_max; i++) {
		const struct job *job = &t->jobs[i];

		jobs += job->used && t->by_handle[job->handle] == i + 1;
		parents += job->used && t->by_parent && t->by_parent[job->up.handle] == i + 1;
	}
	if (nr != jobs || up != parents)
		sim_fail(w, BY_LEAK, "switch %u: %u handles of %u jobs, %u of the parent's of %u",
			 n, nr, jobs, up, parents);
}

void switch_check(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];
	uint64_t sum = 0;

	for (unsigned i = 0; i < node->params.jobs_max; i++) {
		const struct job *job = pipe_job(node->pipe, i);

		/* At a leaf a late JOIN may have reserved some, which counts for no job that runs. */
		if (job && job->lease_nr && (job->running || node->parent == SIM_NONE))
			sim_fail(w, BY_LEAK, "switch %u: job %s has left and still holds %u slots",
				 n, job->name, job->lease_nr);
	}
	if (node->parent == SIM_NONE)
		census(w, n);
	switch_check_handles(w, n);
	switch_count(w, node);
	for (unsigned i = 0; i < COUNTER_NR; i++)
		sum += pipe_counters(node->pipe)->v[i];
	if (sum != node->rx)
		sim_fail(w, BY_COUNTER, "switch %u: %lu packets came in, %lu are counted", n,
			 (unsigned long)node->rx, (unsigned long)sum);
}
