// SPDX-License-Identifier: BSD-3-Clause
// chaos.c - faults that happen at a time, and their end.
#include "tests/sim/sim.h"

#include <string.h>

#include "tests/sim/mutant.h"

static const char *const act_names[ACT_NR] = {
	[ACT_CRASH] = "crash",		[ACT_SWITCH_CRASH] = "switch crash",
	[ACT_PAUSE] = "pause",		[ACT_SWITCH_PAUSE] = "switch pause",
	[ACT_CUT] = "link down",	[ACT_ABORT] = "abort",
	[ACT_FAIL] = "deadline passed", [ACT_SILENCE] = "silence",
	[ACT_BROKEN] = "broken packet", [ACT_QUIT] = "leaves",
	[ACT_RESET] = "reset",
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
	if (w->nr_switches == 1)
		w->seen[SEEN_SWITCH_CRASH] = true;
	else
		w->seen[node->parent == SIM_NONE ? SEEN_ROOT_CRASH : SEEN_LEAF_CRASH] = true;
	node->up = false;
	node->down_ns = w->now_ns;
	net_flush(w, node);
	chaos_later(w, EVENT_BOOT, act);
}

/* tallyctl reset at a switch, for a job at random that runs there. */
static void chaos_reset(struct world *w, const struct act *act)
{
	struct sim_job *job = &w->job[sim_draw(w, w->nr_jobs)];
	struct node *node = &w->node[act->node];
	struct pipe_time now = switch_time(w, node);

	if (!node->up || node->paused)
		return;
	for (unsigned i = 0; i < node->params.jobs_max; i++) {
		const struct job *at = pipe_job(node->pipe, i);

		if (!at || !at->running || strcmp(at->name, job->name) != 0)
			continue;
		job->blamed_reset = true;
		pipe_reset(node->pipe, job->name, at->epoch, &now);
		switch_flush(w, act->node);
	}
}

static void chaos_cut(struct world *w, const struct act *act)
{
	unsigned which = sim_draw(w, 3);

	w->way[2 * act->node].cut = which != 1;
	w->way[2 * act->node + 1].cut = which != 0;
	w->seen[which == 2 ? SEEN_CUT_BOTH : SEEN_CUT_ONE] = true;
	chaos_later(w, EVENT_HEAL, act);
}

static void chaos_pause(struct world *w, const struct act *act)
{
	struct node *node = &w->node[act->node];

	node->paused = node->up;
	if (node->up)
		w->seen[node->kind == NODE_HOST ? SEEN_PAUSE : SEEN_SWITCH_PAUSE] = true;
	chaos_later(w, EVENT_RESUME, act);
}

void chaos_act(struct world *w, unsigned i)
{
	const struct act *act = &w->acts[i];

	if (w->calm)
		return;
	trace_note(w, act_names[act->kind], act->node, act->for_ns);
	switch ((enum act_kind)act->kind) {
	case ACT_CRASH:
		if (!w->node[act->node].up)
			break;
		w->seen[SEEN_CRASH] = true;
		w->seen[SEEN_SAME_PORT] |= w->traits.same_port;
		host_crash(w, act->node);
		chaos_later(w, EVENT_BOOT, act);
		break;
	case ACT_SWITCH_CRASH:
		chaos_crash_switch(w, act);
		break;
	case ACT_PAUSE:
	case ACT_SWITCH_PAUSE:
		chaos_pause(w, act);
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
		w->seen[SEEN_SILENCE] |= host_rank(w, act->node)->in_epoch;
		break;
	case ACT_BROKEN:
		foe_broken(w, act->node);
		break;
	case ACT_RESET:
		chaos_reset(w, act);
		break;
	case ACT_QUIT:
		host_quit(w, act->node);
		break;
	case ACT_NR:
		break;
	}
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* A cell of a wrapping sum that somebody has contributed to: what CLOSE is for. */
static bool spoil_may(const struct slot *slot, unsigned cell, const struct job *job)
{
	const struct cell *c = &slot->cell[cell];

	return c->epoch == job->epoch && (c->kind == WIRE_ADD32 || c->kind == WIRE_ADD16) &&
	       c->have && c->filled;
}

static void spoil_element(uint8_t *at, unsigned width, uint32_t bits)
{
	uint32_t value = 0;

	memcpy(&value, at, width);
	value ^= bits;
	memcpy(at, &value, width);
}

/* Bits of one element change, or the same bit of two: of 16 bits they are floats, whose sums do not wrap. */
static void spoil_cell(struct world *w, struct node *node, const struct job *job, unsigned slot,
		       unsigned cell)
{
	const struct cell *c = &pipe_slot(node->pipe, job, slot)->cell[cell];
	const uint8_t *values = pipe_values(node->pipe, job, slot, cell);
	uint8_t *to = (uint8_t *)node->mem + (values - (const uint8_t *)node->mem);
	const uint32_t mask = (uint32_t)sim_random(w) | 1;
	const unsigned width = c->kind == WIRE_ADD16 ? 2 : 4, nr = c->len / width;
	const unsigned at = sim_draw(w, nr), other = (at + 1 + mask % 8) % nr;
	uint32_t bits = draw_coin(w, 2) ? mask : 1U << mask % (8 * width);

	if (width == 2 && mask & 2) {
		bits = 1U << 15;
		spoil_element(to + width * other, width, bits);
	}
	spoil_element(to + width * at, width, bits);
	w->spoilt =
		(struct spoilt){ .epoch = job->epoch, .round = c->round, .slot = (uint16_t)slot };
	w->seen[SEEN_SPOILT] = true;
}

static bool spoil_job(struct world *w, struct node *node, const struct job *job)
{
	unsigned nr = job->lease_nr - WIRE_SE, first = 2 * sim_draw(w, nr);

	for (unsigned i = 0; i < 2 * nr; i++) {
		unsigned at = (first + i) % (2 * nr), slot = WIRE_SE + at / 2;

		if (!spoil_may(pipe_slot(node->pipe, job, slot), at % 2, job))
			continue;
		spoil_cell(w, node, job, slot, at % 2);
		trace_note(w, "memory changes", (unsigned)(node - w->node), slot);
		return true;
	}
	return false;
}

/* Once a run, and so that CLOSE finds it with certainty. */
void chaos_spoil(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];

	if (w->calm || --w->traits.spoils)
		return;
	for (unsigned i = 0; i < node->params.jobs_max; i++) {
		const struct job *job = pipe_job(node->pipe, i);

		if (job && job->running && (job->flags & WIRE_JOB_CHECK) && spoil_job(w, node, job))
			return;
	}
	w->traits.spoils = 1; /* there will be one */
}

/* --- Restarts --------------------------------------------------------------------------------- */

/* The wall clock may be another when a switch comes back; while it runs it does not look. */
static void chaos_clock(struct world *w, struct node *node)
{
	if (w->traits.clock_ahead)
		node->wall_ms += sim_draw(w, 5000);
	w->seen[SEEN_CLOCK_AHEAD] |= w->traits.clock_ahead;
	/* More than 5 s in all are waited for, by JOINs: too many packets, if there are many ranks. */
	if (w->crowd)
		w->traits.clock_ahead = false;
	/* Not by so much that a millisecond comes again: epochs are milliseconds. */
	if (w->traits.clock_back)
		node->wall_ms -= sim_span(w, (w->now_ns - node->down_ns) / SIM_MS);
	w->seen[SEEN_CLOCK_BACK] |= w->traits.clock_back;
	w->traits.clock_back = false;
}

void chaos_boot(struct world *w, unsigned n)
{
	if (w->node[n].kind == NODE_HOST) {
		if (host_rank(w, n)->booting)
			host_boot(w, n);
	} else if (w->node[n].kind == NODE_SWITCH && !w->node[n].up) {
		chaos_clock(w, &w->node[n]);
		switch_boot(w, n);
	}
}

void chaos_resume(struct world *w, unsigned n)
{
	if (w->mutant == MUTANT_DEAF && w->node[n].paused)
		return;
	w->node[n].paused = false;
	world_ready(w, n);
}

/* --- The end ---------------------------------------------------------------------------------- */

void chaos_heal(struct world *w, unsigned link)
{
	w->way[2 * link].cut = false;
	w->way[2 * link + 1].cut = false;
}

static void calm_way(struct way *way)
{
	way->loss = way->dup = way->reorder = way->corrupt = way->flip = 0;
	way->burst_enter = 0;
	way->jitter_ns = way->byte_ns = 0;
	way->bursting = way->cut = false;
	way->plain = true;
}

void chaos_calm(struct world *w)
{
	if (w->calm)
		return;
	w->calm = true;
	w->calm_ns = w->now_ns;
	w->traits.spoils = 0;
	trace_note(w, "faults end", 0, 0);
	for (unsigned l = 0; l < 2 * w->nr_links; l++)
		calm_way(&w->way[l]);
	for (unsigned n = 0; n < w->nr_nodes; n++) {
		w->node[n].room = SIM_INBOX;
		if (w->node[n].service_ns > SIM_MS)
			w->node[n].service_ns = 0;
		if (w->node[n].kind == NODE_HOST)
			host_rank(w, n)->silent_ns = 0;
		chaos_boot(w, n);
		chaos_resume(w, n);
		/* It may hold up its own job for ever, by a chunk that it has spoilt for itself. */
		if (w->node[n].kind == NODE_HOST && host_rank(w, n)->blamed_broken)
			host_abort(w, n);
	}
}

/* Of its row the ranks of an epoch do what one of them has begun, and of later epochs nothing. */
static void close_epoch(struct world *w, struct epoch *epoch)
{
	const struct sim_job *job = &w->job[epoch->job];

	epoch->nr_ops = 0;
	for (unsigned r = 0; r < job->world; r++) {
		const struct rank *rank = &job->rank[r];

		if (rank->in_epoch && rank->epoch == epoch && rank->posted > epoch->nr_ops)
			epoch->nr_ops = rank->posted;
	}
}

void chaos_close(struct world *w)
{
	w->closing = true;
	trace_note(w, "nothing new is begun", 0, 0);
	for (unsigned i = 0; i < w->nr_epochs && i < SIM_EPOCHS; i++)
		close_epoch(w, &w->epochs[i]);
	/* A row of nothing is over before the others enter the epoch: nobody goes without them. */
	for (unsigned j = 0; j < w->nr_jobs; j++) {
		w->job[j].visits = 1;
		w->job[j].wait = true;
	}
	for (unsigned n = 0; n < w->nr_nodes; n++)
		world_ready(w, n);
}
