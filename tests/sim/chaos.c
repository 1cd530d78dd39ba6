// SPDX-License-Identifier: BSD-3-Clause
// chaos.c - faults that happen at a time, and their end.
#include "tests/sim/sim.h"

#include "tests/sim/mutant.h"

static const char *const act_names[ACT_NR] = {
	[ACT_CRASH] = "crash",		[ACT_SWITCH_CRASH] = "switch crash",
	[ACT_PAUSE] = "pause",		[ACT_SWITCH_PAUSE] = "switch pause",
	[ACT_CUT] = "link down",	[ACT_ABORT] = "abort",
	[ACT_FAIL] = "deadline passed", [ACT_SILENCE] = "silence",
};

static void chaos_later(struct world *w, enum event_type type, const struct act *act)
{
	world_event(w, &(struct event){ .type = (uint8_t)type, .node = act->node },
		    w->now_ns + act->for_ns);
}

static void chaos_crash_switch(struct world *w, const struct act *act)
{
	struct node *node = &w->node[act->node];

	if (!node->up)
		return;
	w->switch_crashed = true;
	node->up = false;
	net_flush(w, node);
	chaos_later(w, EVENT_BOOT, act);
}

static void chaos_cut(struct world *w, const struct act *act)
{
	struct link *link = &w->link[act->node];
	unsigned which = sim_draw(w, 3);

	link->way[0].cut = which != 1;
	link->way[1].cut = which != 0;
	chaos_later(w, EVENT_HEAL, act);
}

void chaos_act(struct world *w, unsigned i)
{
	const struct act *act = &w->acts[i];
	struct node *node = &w->node[act->node];

	if (w->calm)
		return;
	trace_note(w, act_names[act->kind], act->node, act->for_ns);
	switch ((enum act_kind)act->kind) {
	case ACT_CRASH:
		if (node->up) {
			host_crash(w, act->node);
			chaos_later(w, EVENT_BOOT, act);
		}
		break;
	case ACT_SWITCH_CRASH:
		chaos_crash_switch(w, act);
		break;
	case ACT_PAUSE:
	case ACT_SWITCH_PAUSE:
		node->paused = node->up;
		chaos_later(w, EVENT_RESUME, act);
		break;
	case ACT_CUT:
		chaos_cut(w, act);
		break;
	case ACT_ABORT:
		host_abort(w, act->node);
		break;
	case ACT_FAIL:
		host_fail(w, act->node);
		break;
	case ACT_SILENCE:
		host_rank(w, act->node)->silent_ns = w->now_ns + act->for_ns;
		break;
	case ACT_NR:
		break;
	}
}

void chaos_boot(struct world *w, unsigned n)
{
	if (w->node[n].kind == NODE_HOST) {
		if (host_rank(w, n)->booting)
			host_boot(w, n);
	} else if (!w->node[n].up) {
		if (w->traits.clock_jump)
			w->wall_ms += sim_draw(w, 5000);
		switch_boot(w, n);
	}
}

void chaos_resume(struct world *w, unsigned n)
{
	if (w->mutant == MUTANT_DEAF && w->node[n].paused)
		return;
	w->node[n].paused = false;
	w->ready |= 1u << n;
}

void chaos_heal(struct world *w, unsigned link)
{
	w->link[link].way[0].cut = false;
	w->link[link].way[1].cut = false;
}

static void calm_way(struct way *way)
{
	way->loss = way->dup = way->reorder = way->corrupt = 0;
	way->burst_enter = 0;
	way->bursting = way->cut = false;
}

void chaos_calm(struct world *w)
{
	if (w->calm)
		return;
	w->calm = true;
	w->calm_ns = w->now_ns;
	trace_note(w, "faults end", 0, 0);
	for (unsigned l = 0; l < w->nr_links; l++) {
		calm_way(&w->link[l].way[0]);
		calm_way(&w->link[l].way[1]);
	}
	for (unsigned n = 0; n < w->nr_nodes; n++) {
		if (w->node[n].kind == NODE_HOST)
			host_rank(w, n)->silent_ns = 0;
		chaos_boot(w, n);
		chaos_resume(w, n);
	}
}
