// SPDX-License-Identifier: BSD-3-Clause
// world.c - a run from its first event to its last check.
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/mutant.h"

static const uint64_t liveness_ns = 60 * SIM_SECOND; /* all is done so long after the last fault */

enum { SWITCH_SLOTS = 512, SWITCH_JOBS = 4 };

void sim_fail(struct world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->why, sizeof(w->why), format, args);
	va_end(args);
	longjmp(w->failed, 1);
}

/* --- Events: a heap of four children ---------------------------------------------------------- */

void world_event(struct world *w, const struct event *event, uint64_t at_ns)
{
	struct event e = *event;
	unsigned i = w->nr_events++;

	if (i == SIM_EVENTS || w->order >> SIM_ORDER)
		sim_fail(w, "more than %d events at once, or 2^%d in all", SIM_EVENTS, SIM_ORDER);
	e.key = at_ns << SIM_ORDER | w->order++;
	for (; i && e.key < w->events[(i - 1) / 4].key; i = (i - 1) / 4)
		w->events[i] = w->events[(i - 1) / 4];
	w->events[i] = e;
}

/* The least of the four children from the first; those that are not there have the highest key. */
static unsigned world_least(const struct world *w, unsigned first)
{
	const struct event *e = w->events;
	unsigned a = first + (e[first + 1].key < e[first].key);
	unsigned b = first + 2 + (e[first + 3].key < e[first + 2].key);

	return e[b].key < e[a].key ? b : a;
}

static struct event world_next(struct world *w)
{
	struct event first = w->events[0], last = w->events[--w->nr_events];
	unsigned i = 0;

	w->events[w->nr_events].key = UINT64_MAX;
	while (4 * i + 1 < w->nr_events) {
		unsigned child = world_least(w, 4 * i + 1);

		if (last.key < w->events[child].key)
			break;
		w->events[i] = w->events[child];
		i = child;
	}
	if (w->nr_events)
		w->events[i] = last;
	return first;
}

/* --- Processes -------------------------------------------------------------------------------- */

static void world_arm(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];

	node->armed_ns = node->wake_ns;
	world_event(w, &(struct event){ .type = EVENT_WAKE, .node = (uint8_t)n }, node->wake_ns);
}

void world_wake(struct world *w, unsigned n, uint64_t at_ns)
{
	struct node *node = &w->node[n];

	if (at_ns <= w->now_ns) {
		w->ready |= 1u << n;
		return;
	}
	if (at_ns >= node->wake_ns)
		return;
	node->wake_ns = at_ns;
	if (at_ns < node->armed_ns)
		world_arm(w, n);
}

static void world_woken(struct world *w, const struct event *event)
{
	struct node *node = &w->node[event->node];

	if (event->key >> SIM_ORDER != node->armed_ns)
		return;
	node->armed_ns = UINT64_MAX;
	if (node->wake_ns <= w->now_ns)
		w->ready |= 1u << event->node;
	else if (node->wake_ns != UINT64_MAX)
		world_arm(w, event->node);
}

static void world_processes(struct world *w)
{
	while (w->ready) {
		unsigned n = (unsigned)__builtin_ctz(w->ready);
		struct node *node = &w->node[n];

		w->ready &= w->ready - 1;
		if (!node->up || node->paused)
			continue;
		node->wake_ns = UINT64_MAX;
		if (node->kind == NODE_SWITCH)
			switch_run(w, n);
		else
			host_run(w, n);
	}
}

static void world_step(struct world *w, const struct event *event)
{
	switch ((enum event_type)event->type) {
	case EVENT_PACKET:
		net_arrive(w, event->arg);
		break;
	case EVENT_WAKE:
		world_woken(w, event);
		break;
	case EVENT_ACT:
		chaos_act(w, event->arg);
		break;
	case EVENT_BOOT:
		chaos_boot(w, event->node);
		break;
	case EVENT_RESUME:
		chaos_resume(w, event->node);
		break;
	case EVENT_HEAL:
		chaos_heal(w, event->node);
		break;
	case EVENT_CALM:
		chaos_calm(w);
		break;
	}
}

/* --- A run ------------------------------------------------------------------------------------ */

static bool world_done(const struct world *w)
{
	for (unsigned j = 0; j < w->nr_jobs; j++)
		if (!w->job[j].done)
			return false;
	return true;
}

static void world_waits(struct world *w)
{
	char text[200] = "";

	for (unsigned n = 0; n < w->nr_nodes; n++) {
		size_t len = strlen(text);

		if (w->node[n].kind == NODE_HOST)
			snprintf(text + len, sizeof(text) - len, " %u:%u:%u/%u", n,
				 w->node[n].up ? (unsigned)host_rank(w, n)->session.state : 9,
				 host_rank(w, n)->finished, w->job[w->node[n].job].nr_ops);
	}
	sim_fail(w, "not finished %lu s after the last fault; node:state:finished/operations%s",
		 (unsigned long)(liveness_ns / SIM_SECOND), text);
}

static void world_events(struct world *w)
{
	while (!world_done(w)) {
		struct event event;

		if (!w->nr_events)
			sim_fail(w, "nothing happens any more");
		event = world_next(w);
		w->now_ns = event.key >> SIM_ORDER;
		w->nr_steps++;
		world_step(w, &event);
		world_processes(w);
		if (!w->calm && w->packets_sent > SIM_BUDGET)
			chaos_calm(w);
		if (w->calm && w->now_ns > w->calm_ns + liveness_ns)
			world_waits(w);
	}
}

/* What a restart has to forget, without the memory that is kept from run to run. */
static void world_reset(struct world *w)
{
	uint64_t seed = w->seed;

	w->rng = sim_mix(seed * UINT64_C(0xd1342543de82ef95) + 1);
	w->now_ns = SIM_SECOND;
	w->wall_ms = UINT64_C(1700000000000);
	w->calm = w->switch_crashed = w->tight = false;
	w->calm_ns = 0;
	w->nr_acts = w->nr_nodes = w->nr_switches = w->nr_links = w->nr_jobs = 0;
	while (w->nr_events)
		w->events[--w->nr_events].key = UINT64_MAX;
	w->order = w->ready = 0;
	w->nr_epochs = 0;
	w->run++;
	w->packets_sent = w->nr_steps = w->checked = w->overs = 0;
	w->trace.hash = 0;
	w->why[0] = '\0';
	memset(w->route, SIM_NONE, sizeof(w->route));
	for (unsigned i = 0; i < SIM_PACKETS; i++)
		w->free[i] = (uint16_t)(SIM_PACKETS - 1 - i);
	w->nr_free = SIM_PACKETS;
}

struct result world_run(struct world *w)
{
	struct result result = { 0 };

	world_reset(w);
	if (setjmp(w->failed) == 0) {
		draw_world(w);
		world_events(w);
		result.over_ns = w->now_ns;
		net_check(w);
		for (unsigned n = 0; n < w->nr_nodes; n++)
			if (w->node[n].kind == NODE_SWITCH)
				switch_check(w, n);
		mutant_check(w);
	}
	result.failed = w->why[0] != '\0';
	memcpy(result.why, w->why, sizeof(result.why));
	result.hash = w->trace.hash;
	result.packets = w->packets_sent;
	result.steps = w->nr_steps;
	result.checked = w->checked;
	result.overs = w->overs;
	return result;
}

static void *memory(size_t size)
{
	void *mem = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!mem) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
	return mem;
}

void world_open(struct world *w)
{
	const struct coll_params cp = {
		.slots = 64, .p = SIM_P, .rto_min_ns = SIM_MS, .rto_max_ns = 100 * SIM_MS
	};
	const struct pipe_params pp = { .jobs_max = SWITCH_JOBS,
					.slots_max = SWITCH_SLOTS,
					.values_bytes = (size_t)SWITCH_SLOTS * 2 * SIM_P,
					.p_max = SIM_P,
					.leaf = true,
					.inc = 1,
					.parent_from = WIRE_PORT };

	for (unsigned j = 0; j < SIM_JOBS; j++)
		for (unsigned r = 0; r < SIM_RANKS; r++)
			w->job[j].rank[r].coll = memory(coll_size(&cp));
	for (unsigned n = 0; n < SIM_NODES; n++)
		w->node[n].mem = n < SIM_SWITCHES ? memory(pipe_size(&pp)) : NULL;
	for (unsigned i = 0; i < SIM_EVENTS + 4; i++)
		w->events[i].key = UINT64_MAX;
	mutant_open(w);
}

void world_close(struct world *w)
{
	for (unsigned j = 0; j < SIM_JOBS; j++)
		for (unsigned r = 0; r < SIM_RANKS; r++)
			free(w->job[j].rank[r].coll);
	for (unsigned n = 0; n < SIM_NODES; n++)
		free(w->node[n].mem);
	mutant_close(w);
}
