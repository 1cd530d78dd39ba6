// SPDX-License-Identifier: BSD-3-Clause
// draw.c - what a seed draws: which faults there are at all, how often, and the work to be done.
//
// A swarm: each kind of fault is in about half of the runs, so that what one kind hides another
// run shows.
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/mutant.h"

/* Packets after which no fault happens any more. */
enum { SWITCH_NODE = 0, BUDGET = 1600, BUDGET_BIG = 400, CROWD = SIM_CROWD };

/* In 2^-20. */
static uint32_t of_million(uint32_t millionths)
{
	return (uint32_t)(((uint64_t)millionths << 20) / 1000000);
}

static uint32_t draw_rate(struct world *w)
{
	static const uint32_t rates[] = { 500, 2000, 10000, 30000, 100000, 250000 };

	return of_million(rates[sim_draw(w, 6)]);
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
	way.flip = draw_coin(w, 2) ? draw_rate(w) : 0;
	if (draw_coin(w, 2)) {
		way.reorder = draw_rate(w);
		way.reorder_ns = draw_ns(w, 4, 10);
	}
	if (draw_coin(w, 3)) {
		way.burst_enter = draw_rate(w) / 10;
		way.burst_leave = draw_rate(w);
		way.burst_loss = of_million(300000 + sim_draw(w, 700001));
	}
	if (draw_coin(w, 3))
		way.jitter_ns = draw_ns(w, 3, 6);
	if (draw_coin(w, 4)) {
		way.byte_ns = 1 + sim_draw(w, 100);
		way.queue_ns = draw_ns(w, 4, 6);
	}
	return way;
}

static void draw_link(struct world *w, unsigned a, unsigned b, const struct way *common)
{
	unsigned link = w->nr_links++;

	w->link[link][0] = (uint8_t)a;
	w->link[link][1] = (uint8_t)b;
	w->way[2 * link] = common ? common[0] : draw_way(w);
	w->way[2 * link + 1] = common ? common[1] : draw_way(w);
	w->route[a][b] = (uint8_t)(2 * link);
	w->route[b][a] = (uint8_t)(2 * link + 1);
}

static struct way quiet(struct world *w)
{
	return (struct way){ .plain = true, .delay_ns = draw_ns(w, 3, 5) };
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
		if (w->node[n].kind == NODE_FOE) /* it is what it sends that is bad */
			w->way[2 * (w->nr_links - 1)] = quiet(w);
	}
}

/* --- Nodes and jobs --------------------------------------------------------------------------- */

static struct node *draw_node(struct world *w, enum node_kind kind, unsigned parent)
{
	struct node *node = &w->node[w->nr_nodes++];

	*node = (struct node){ .mem = node->mem,
			       .mem_size = node->mem_size,
			       .pipe = node->pipe,
			       .kind = (uint8_t)kind,
			       .parent = (uint8_t)parent };
	node->port = WIRE_PORT;
	node->wall_ms = UINT64_C(1700000000000);
	/* Clocks differ, and only the root's counts. */
	if (kind == NODE_SWITCH && parent != SIM_NONE)
		node->wall_ms += w->nr_nodes % 2 ? 70000 : -70000;
	node->room = draw_coin(w, 16) ? 4 + sim_draw(w, 28) : SIM_INBOX;
	node->service_ns = draw_coin(w, 4) ? 0 : sim_span(w, 30 * SIM_US);
	if (kind == NODE_HOST && draw_coin(w, 24))
		node->service_ns = sim_span(w, 5 * SIM_MS);
	return node;
}

static void draw_mismatch(struct world *w, struct sim_job *job)
{
	job->deviant = SIM_NONE;
	job->deviance = DEVIANT_OP;
	if (job->world < 2 || !draw_coin(w, 8))
		return;
	job->deviant = (uint8_t)sim_draw(w, job->world);
	job->deviant_op = sim_draw(w, job->nr_ops);
	/* Many ranks that are refused for 5 s send too much. */
	if (job->world + w->nr_switches <= 8 && draw_coin(w, 4))
		job->deviance = DEVIANT_WORLD;
	else if (job->world + w->nr_switches <= 8 && job->p < SIM_P && draw_coin(w, 4))
		job->deviance = DEVIANT_CHUNK;
	else if (job->world + w->nr_switches <= 8 && draw_coin(w, 4))
		job->deviance = DEVIANT_CHECK;
	if (job->deviance == DEVIANT_CHUNK)
		job->want_p[job->deviant] = SIM_P;
	for (unsigned r = 0; r < job->world; r++) /* somebody has less, still */
		if (r != job->deviant && job->deviance == DEVIANT_CHUNK)
			job->want_p[r] = WIRE_P_MIN;
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

/* A rank is below a switch, and below all that this one is below. */
static void draw_below(struct world *w, struct sim_job *job, unsigned n, unsigned rank)
{
	for (; n != SIM_NONE; n = w->node[n].parent) {
		struct wire_range *range = &job->below[n];

		if (range->nr == 0)
			range->first = (uint16_t)rank;
		range->nr++;
	}
}

/* Neighbouring ranks hang on the same switch, neighbouring switches on the same one. */
static void draw_hosts(struct world *w, struct sim_job *job)
{
	uint8_t leaf[SIM_SWITCHES];
	unsigned nr = leaves(w, leaf), used = nr < job->world ? nr : job->world;

	memset(job->below, 0, sizeof(job->below));
	for (unsigned r = 0; r < job->world; r++) {
		unsigned at = leaf[r * used / job->world];
		struct node *node = draw_node(w, NODE_HOST, at);

		job->node[r] = (uint8_t)(node - w->node);
		node->job = job->index;
		node->rank = (uint8_t)r;
		draw_below(w, job, at, r);
	}
}

/* One switch; one to three below another; or some more below one or two of these. */
static void draw_switches(struct world *w)
{
	bool tree = !mutant_is_standin(w->mutant) && draw_coin(w, 3);
	unsigned below = tree ? 1 + sim_draw(w, 3) : 0, inner = tree ? sim_draw(w, 3) : 0;

	draw_node(w, NODE_SWITCH, SIM_NONE);
	for (unsigned i = 0; i < below; i++) {
		unsigned n = w->nr_nodes;

		draw_node(w, NODE_SWITCH, SWITCH_NODE);
		if (i >= inner)
			continue;
		draw_node(w, NODE_SWITCH, n);
		if (draw_coin(w, 2))
			draw_node(w, NODE_SWITCH, n);
	}
	w->nr_switches = w->nr_nodes;
	w->depth = 1 + tree + (inner > 0);
}

/* S and P as each rank would have them, mostly the same. */
static void draw_wants(struct world *w, struct sim_job *job, bool big)
{
	uint16_t slots = (uint16_t)(1 + sim_draw(w, draw_coin(w, 3) ? 4 : 40));
	uint16_t p = draw_coin(w, 3) && !big ? SIM_P : WIRE_P_MIN;
	bool differ = draw_coin(w, 4);

	job->slots = slots;
	job->p = p;
	for (unsigned r = 0; r < job->world; r++) {
		job->want_slots[r] = (uint16_t)(differ ? slots + sim_draw(w, 4) : slots);
		job->want_p[r] = differ && draw_coin(w, 2) ? SIM_P : p;
		if (r == 0 || job->want_slots[r] < job->slots)
			job->slots = job->want_slots[r];
		if (r == 0 || job->want_p[r] < job->p)
			job->p = job->want_p[r];
	}
}

/* One of nr.  Memory of the machines is kept from run to run. */
static void draw_job(struct world *w, unsigned world, unsigned nr)
{
	struct sim_job *job = &w->job[w->nr_jobs];
	unsigned packets = (100 + sim_draw(w, 300)) / nr;
	bool big = nr == 1 && world <= 2 && w->nr_switches == 1 && draw_coin(w, 4 * world * world);

	for (unsigned r = 0; r < world; r++)
		job->rank[r] = (struct rank){ .coll = job->rank[r].coll };
	job->index = (uint8_t)w->nr_jobs++;
	job->world = (uint8_t)world;
	snprintf(job->name, sizeof(job->name), "job%u", job->index);
	job->seed = sim_random(w);
	draw_wants(w, job, big);
	job->visits = big || world > CROWD ? 1 : 1 + sim_draw(w, 2);
	job->wait = draw_coin(w, 2) || mutant_is_standin(w->mutant);
	job->check = draw_coin(w, 4);
	w->undone++;
	job->done = false;
	job->mismatches = 0;
	job->blamed_reset = false;
	w->crowd = w->crowd || world > CROWD;
	if (big || world > CROWD)
		w->budget = BUDGET_BIG;
	row_draw(w, job, packets, big);
	draw_mismatch(w, job);
	draw_hosts(w, job);
}

/* Ranks of a job that is alone. */
static unsigned draw_ranks(struct world *w)
{
	static const uint8_t many[] = { 17, 31, 32, 33, 40, 63, 64, 64 };

	if (draw_coin(w, 16)) /* in a tree each packet is several */
		return many[sim_draw(w, w->nr_switches > 1 ? 5 : 8)];
	return 1 + sim_draw(w, draw_coin(w, 8) ? 16 : 8);
}

/* A row takes a few hundred packets, so that a run is short and there are many. */
static void draw_jobs(struct world *w)
{
	unsigned nr = draw_coin(w, 2) ? 1 : 1 + sim_draw(w, SIM_JOBS);

	for (unsigned j = 0; j < nr; j++)
		draw_job(w, nr == 1 ? draw_ranks(w) : 1 + sim_draw(w, 5), nr);
}

static void draw_foes(struct world *w)
{
	w->nr_foes = mutant_is_standin(w->mutant) || !draw_coin(w, 3) ? 0 : 1 + draw_coin(w, 4);
	for (unsigned i = 0; i < w->nr_foes; i++)
		draw_node(w, NODE_FOE, sim_draw(w, w->nr_switches));
}

/*
 * When nothing new may be begun, so that what has begun can end within the packets that a run may
 * have: rows once more, and ranks that ask to be let in meanwhile.
 */
static void draw_last(struct world *w)
{
	unsigned packets = 0;

	for (unsigned j = 0; j < w->nr_jobs; j++)
		packets += row_all(w, &w->job[j]);
	w->last = SIM_MOST - 1000 - (packets > 2500 ? 2500 : packets);
	w->alarm = w->budget;
}

/* A switch's memory changes, if there is a job that will notice. */
static void draw_spoils(struct world *w)
{
	bool check = false;

	for (unsigned j = 0; j < w->nr_jobs; j++)
		check = check || w->job[j].check;
	if (check && draw_coin(w, 3))
		w->traits.spoils = 1 + sim_draw(w, 1U << sim_draw(w, 10));
}

/* P that some rank wants. */
static unsigned draw_largest(const struct world *w)
{
	unsigned p = WIRE_P_MIN;

	for (unsigned j = 0; j < w->nr_jobs; j++)
		for (unsigned r = 0; r < w->job[j].world; r++)
			p = w->job[j].want_p[r] > p ? w->job[j].want_p[r] : p;
	return p;
}

/* Room for all jobs, or, in a tight world, not even for that. */
static void draw_pool(struct world *w)
{
	uint32_t slots = 0, most = 0;
	struct pipe_params params = { .jobs_max = SIM_TABLE, .p_max = SIM_P };

	for (unsigned j = 0; j < w->nr_jobs; j++) {
		uint32_t wants = WIRE_SE + w->job[j].slots;

		/* A leaf reserves what its own ranks want. */
		for (unsigned r = 0; r < w->job[j].world && w->nr_switches > 1; r++)
			if (w->job[j].want_slots[r] + (uint32_t)WIRE_SE > wants)
				wants = w->job[j].want_slots[r] + (uint32_t)WIRE_SE;

		slots += wants;
		most = wants > most ? wants : most;
	}
	w->tight = w->nr_jobs > 1 && w->nr_switches == 1 && draw_coin(w, 4);
	params.slots_max = w->tight ? most : slots;
	params.strict_ports = draw_coin(w, 4);
	params.values_bytes = (size_t)params.slots_max * 2 * draw_largest(w);
	for (unsigned n = 0; n < w->nr_switches; n++) {
		/* One of two adds as the definition does, the other as fast as this machine can. */
		params.add = (w->seed + n) % 2 ? NULL : "scalar";
		w->node[n].params = params;
	}
}

/* --- Faults at a time ------------------------------------------------------------------------- */

static void draw_acts(struct world *w)
{
	unsigned allowed = 1 + sim_draw(w, (1u << ACT_NR) - 1);
	bool standin = mutant_is_standin(w->mutant); /* which knows of no rank that has left */
	unsigned hosts = w->nr_nodes - w->nr_foes - w->nr_switches;

	w->nr_acts = draw_coin(w, 3) ? 0 : sim_draw(w, SIM_ACTS + 1);
	for (unsigned i = 0; i < w->nr_acts; i++) {
		struct act *act = &w->acts[i];

		do
			act->kind = (uint8_t)sim_draw(w, ACT_NR);
		while (!(allowed >> act->kind & 1));
		if (draw_coin(w, 10))
			act->kind = ACT_BROKEN;
		if (standin && (act->kind == ACT_BROKEN || act->kind == ACT_QUIT))
			act->kind = ACT_CRASH;
		act->node = (uint8_t)(w->nr_switches + sim_draw(w, hosts));
		if (act->kind == ACT_SWITCH_CRASH || act->kind == ACT_SWITCH_PAUSE ||
		    act->kind == ACT_RESET)
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
				     .clock_ahead = draw_coin(w, 4) };
	w->traits.blinks = draw_coin(w, 16) && !mutant_is_standin(w->mutant);
	w->traits.clock_back = !w->traits.clock_ahead && draw_coin(w, 4);
	if (draw_coin(w, 2))
		w->traits.think_ns = draw_ns(w, 4, 8);
	draw_switches(w);
	w->budget = BUDGET / w->depth;
	draw_jobs(w);
	draw_foes(w);
	draw_last(w);
	draw_pool(w);
	draw_links(w);
	draw_acts(w);
	draw_spoils(w);
	world_event(w, &(struct event){ .type = EVENT_CALM },
		    w->now_ns + 200 * SIM_MS + draw_ns(w, 8, 10));
	for (unsigned n = 0; n < w->nr_switches; n++)
		switch_boot(w, n);
	foe_draw(w);
	for (unsigned j = 0; j < w->nr_jobs; j++)
		host_visit(w, &w->job[j]);
}
