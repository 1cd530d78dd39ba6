// SPDX-License-Identifier: BSD-3-Clause
// draw.c - what a seed draws: which faults there are at all, how often, and the work to be done.
//
// A swarm: each kind of fault is in about half of the runs, so that what one kind hides another
// run shows.
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/mutant.h"

enum { SWITCH_NODE = 0 };

static bool draw_coin(struct world *w, unsigned of)
{
	return sim_draw(w, of) == 0;
}

/* In millionths. */
static uint32_t draw_rate(struct world *w)
{
	static const uint32_t rates[] = { 500, 2000, 10000, 30000, 100000, 250000 };

	return rates[sim_draw(w, 6)];
}

/* From 10^low ns to 10^high ns, every magnitude as likely. */
static uint64_t draw_ns(struct world *w, unsigned low, unsigned high)
{
	uint64_t ns = 1;
	unsigned digits = low + sim_draw(w, high - low);

	while (digits--)
		ns *= 10;
	return ns + sim_span(w, 9 * ns);
}

/* --- Links ------------------------------------------------------------------------------------ */

static struct way draw_way(struct world *w)
{
	struct way way = { .delay_ns = draw_ns(w, 3, 5) };

	way.loss = draw_coin(w, 2) ? draw_rate(w) : 0;
	way.dup = draw_coin(w, 2) ? draw_rate(w) : 0;
	way.corrupt = draw_coin(w, 4) ? draw_rate(w) : 0;
	if (draw_coin(w, 2)) {
		way.reorder = draw_rate(w);
		way.reorder_ns = draw_ns(w, 4, 10);
	}
	if (draw_coin(w, 3)) {
		way.burst_enter = draw_rate(w) / 10;
		way.burst_leave = draw_rate(w);
		way.burst_loss = 300000 + sim_draw(w, 700001);
	}
	if (draw_coin(w, 3))
		way.jitter_ns = draw_ns(w, 3, 6);
	if (draw_coin(w, 4)) {
		way.byte_ns = 1 + sim_draw(w, 100);
		way.queue_ns = draw_ns(w, 5, 7);
	}
	return way;
}

static void draw_link(struct world *w, unsigned a, unsigned b, const struct way *common)
{
	struct link *link = &w->link[w->nr_links];

	*link = (struct link){ .node = { (uint8_t)a, (uint8_t)b } };
	link->way[0] = common ? common[0] : draw_way(w);
	link->way[1] = common ? common[1] : draw_way(w);
	w->route[a][b] = w->route[b][a] = (uint8_t)w->nr_links++;
}

static struct way quiet(struct world *w)
{
	return (struct way){ .delay_ns = draw_ns(w, 3, 5) };
}

/* All links alike, one bad link, or each for itself. */
static void draw_links(struct world *w)
{
	unsigned style = sim_draw(w, 4), bad = sim_draw(w, w->nr_nodes);
	struct way way[2];

	way[0] = style == 1 ? quiet(w) : draw_way(w);
	way[1] = style == 1 ? quiet(w) : draw_way(w);
	for (unsigned n = 0; n < w->nr_nodes; n++) {
		bool own = style == 2 || (style == 1 && n == bad);

		if (w->node[n].parent != SIM_NONE)
			draw_link(w, n, w->node[n].parent, own ? NULL : way);
	}
}

/* --- Nodes and jobs --------------------------------------------------------------------------- */

static struct node *draw_node(struct world *w, enum node_kind kind, unsigned parent)
{
	struct node *node = &w->node[w->nr_nodes++];
	void *mem = node->mem;

	*node = (struct node){ .mem = mem,
			       .kind = (uint8_t)kind,
			       .parent = (uint8_t)parent,
			       .wake_ns = UINT64_MAX,
			       .armed_ns = UINT64_MAX };
	node->service_ns = draw_coin(w, 2) ? 0 : sim_span(w, 30 * SIM_US);
	return node;
}

static struct work draw_work(struct world *w, bool big)
{
	static const uint16_t sizes[] = { 1,  31,  32,	33,  63,  64,  65,  96,
					  97, 127, 128, 255, 256, 257, 300, 513 };
	static const uint8_t kinds[] = { WIRE_ADD32, WIRE_ADD32SAT, WIRE_ADD16, WIRE_MAX32 };
	struct work work = { .form = (uint8_t)sim_draw(w, 3) };

	if (work.form == COLL_OPEN)
		return work;
	work.kind = work.form == COLL_FLOAT ? WIRE_ADD32 : kinds[sim_draw(w, 4)];
	work.width = work.kind == WIRE_ADD16 ? 2 : 4;
	work.count = sizes[sim_draw(w, 16)];
	if (big) /* two segments */
		work = (struct work){ COLL_FLOAT, WIRE_ADD32, 4, 128 * 128 + 1 + sim_draw(w, 300) };
	return work;
}

static void draw_mismatch(struct world *w, struct sim_job *job)
{
	job->deviant = SIM_NONE;
	if (job->world < 2 || !draw_coin(w, 8))
		return;
	job->deviant = (uint8_t)sim_draw(w, job->world);
	job->deviant_world = draw_coin(w, 4);
	job->deviant_op = sim_draw(w, job->nr_ops);
}

/* Switches that hosts hang on: all that have none below them. */
static unsigned leaves(const struct world *w, uint8_t leaf[SIM_SWITCHES])
{
	unsigned nr = 0;

	for (unsigned n = 0; n < w->nr_switches; n++) {
		bool inner = false;

		for (unsigned c = 0; c < w->nr_switches; c++)
			inner = inner || w->node[c].parent == n;
		if (!inner)
			leaf[nr++] = (uint8_t)n;
	}
	return nr;
}

/* Neighbouring ranks hang on the same switch. */
static void draw_hosts(struct world *w, struct sim_job *job)
{
	uint8_t leaf[SIM_SWITCHES];
	unsigned nr = leaves(w, leaf), used = nr < job->world ? nr : job->world;

	for (unsigned r = 0; r < job->world; r++) {
		unsigned l = r * used / job->world, first = (l * job->world + used - 1) / used,
			 end = ((l + 1) * job->world + used - 1) / used;
		struct node *node = draw_node(w, NODE_HOST, leaf[l]);

		job->node[r] = (uint8_t)(node - w->node);
		job->range[r] = (struct wire_range){ (uint16_t)first, (uint16_t)(end - first) };
		node->job = job->index;
		node->rank = (uint8_t)r;
	}
}

/* One switch; two or three below another; or two below one below another. */
static void draw_switches(struct world *w)
{
	unsigned style = w->trees && !w->mutant && draw_coin(w, 3) ? 1 + sim_draw(w, 3) : 0;
	unsigned below = style ? 1 + sim_draw(w, 3) : 0;

	draw_node(w, NODE_SWITCH, SIM_NONE);
	for (unsigned i = 0; i < below; i++)
		draw_node(w, NODE_SWITCH, style == 3 && i ? 1 : SWITCH_NODE);
	w->nr_switches = w->nr_nodes;
}

/* Memory of the machines is kept from run to run. */
static void draw_job(struct world *w, unsigned world, unsigned nr_ops)
{
	struct sim_job *job = &w->job[w->nr_jobs];
	bool big = w->nr_jobs == 0 && world <= 2 && draw_coin(w, 8);

	for (unsigned r = 0; r < SIM_RANKS; r++)
		job->rank[r] = (struct rank){ .coll = job->rank[r].coll };
	job->index = (uint8_t)w->nr_jobs++;
	job->world = (uint8_t)world;
	snprintf(job->name, sizeof(job->name), "job%u", job->index);
	job->seed = sim_random(w);
	job->slots = (uint16_t)(1 + sim_draw(w, draw_coin(w, 3) ? 4 : 40));
	job->p = draw_coin(w, 3) ? 256 : 128;
	job->nr_ops = big ? 2 : nr_ops;
	job->visits = 1 + sim_draw(w, 2);
	job->wait = draw_coin(w, 2) || mutant_is_standin(w->mutant);
	job->done = false;
	job->mismatches = 0;
	for (unsigned op = 0; op < job->nr_ops; op++)
		job->work[op] = draw_work(w, big && op == 0);
	draw_mismatch(w, job);
	draw_hosts(w, job);
}

/* About so many operations that a row takes a few hundred packets. */
static void draw_jobs(struct world *w)
{
	unsigned nr = draw_coin(w, 2) ? 1 : 1 + sim_draw(w, SIM_JOBS);

	for (unsigned j = 0; j < nr; j++) {
		unsigned world = 1 + sim_draw(w, nr == 1 ? SIM_RANKS : 5);
		unsigned most = 72 / (world * nr);

		most = most > SIM_OPS ? SIM_OPS : most;
		draw_job(w, world, 1 + sim_draw(w, most < 3 ? 3 : most));
	}
}

/* Room for all jobs, or, in a tight world, not even for that. */
static void draw_pool(struct world *w)
{
	uint32_t slots = 0, most = 0;
	struct pipe_params params = { .jobs_max = 4, .p_max = SIM_P };

	for (unsigned j = 0; j < w->nr_jobs; j++) {
		uint32_t wants = WIRE_SE + w->job[j].slots;

		slots += wants;
		most = wants > most ? wants : most;
	}
	w->tight = w->nr_jobs > 1 && w->nr_switches == 1 && draw_coin(w, 4);
	params.slots_max = w->tight ? most : slots;
	params.strict_ports = draw_coin(w, 4);
	params.values_bytes = (size_t)params.slots_max * 2 * SIM_P;
	for (unsigned n = 0; n < w->nr_switches; n++)
		w->node[n].params = params;
}

/* --- Faults at a time ------------------------------------------------------------------------- */

static void draw_acts(struct world *w)
{
	unsigned allowed = 1 + sim_draw(w, (1u << ACT_NR) - 1);

	w->nr_acts = draw_coin(w, 3) ? 0 : sim_draw(w, SIM_ACTS + 1);
	for (unsigned i = 0; i < w->nr_acts; i++) {
		struct act *act = &w->acts[i];

		do
			act->kind = (uint8_t)sim_draw(w, ACT_NR);
		while (!(allowed >> act->kind & 1));
		act->node = (uint8_t)(w->nr_switches + sim_draw(w, w->nr_nodes - w->nr_switches));
		if (act->kind == ACT_SWITCH_CRASH || act->kind == ACT_SWITCH_PAUSE)
			act->node = (uint8_t)sim_draw(w, w->nr_switches);
		if (act->kind == ACT_CUT)
			act->node = (uint8_t)sim_draw(w, w->nr_links);
		act->for_ns = draw_ns(w, 4, 10);
		world_event(w, &(struct event){ .type = EVENT_ACT, .arg = (uint16_t)i },
			    w->now_ns + draw_ns(w, 5, 9));
	}
}

void draw_world(struct world *w)
{
	w->traits = (struct traits){ .icmp = draw_coin(w, 3),
				     .same_port = draw_coin(w, 3),
				     .clock_jump = draw_coin(w, 4) };
	if (draw_coin(w, 2))
		w->traits.think_ns = draw_ns(w, 4, 8);
	draw_switches(w);
	draw_jobs(w);
	draw_pool(w);
	draw_links(w);
	draw_acts(w);
	world_event(w, &(struct event){ .type = EVENT_CALM },
		    w->now_ns + 200 * SIM_MS + draw_ns(w, 8, 10));
	for (unsigned n = 0; n < w->nr_switches; n++)
		switch_boot(w, n);
	for (unsigned j = 0; j < w->nr_jobs; j++)
		host_visit(w, &w->job[j]);
}
