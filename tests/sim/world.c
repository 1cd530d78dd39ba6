// SPDX-License-Identifier: BSD-3-Clause
// world.c - a run from its first event to its last check.
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/mutant.h"

static const uint64_t liveness_ns = 60 * SIM_SECOND; /* all is done so long after the last fault */

enum { SWITCH_SLOTS = 512 };

const char *const checker_names[BY_NR] = {
	[BY_SUM] = "sums",	    [BY_DELIVERY] = "delivery", [BY_EXPONENT] = "exponents",
	[BY_MEMBER] = "members",    [BY_EPOCH] = "epochs",	[BY_BLAME] = "blame",
	[BY_REFUSAL] = "refusals",  [BY_WIRE] = "messages",	[BY_LINK] = "conservation",
	[BY_COUNTER] = "counters",  [BY_LEAK] = "leaks",	[BY_LIVENESS] = "liveness",
	[BY_TRACE] = "determinism", [BY_SIZE] = "limits",
};

void sim_fail(struct world *w, enum checker by, const char *format, ...)
{
	va_list args;

	w->by = by;

	va_start(args, format);
	vsnprintf(w->why, sizeof(w->why), format, args);
	va_end(args);
	longjmp(w->failed, 1);
}

/* --- Events: a queue, and a heap of four children ---------------------------------------------- */

static void world_empty(struct world *w)
{
	w->head = w->tail = 0;
	w->queue[0].key = UINT64_MAX;
}

/* The queue begins where there is room behind it. */
static void world_forward(struct world *w)
{
	w->tail -= w->head;
	memmove(w->queue, w->queue + w->head, (w->tail + 1) * sizeof(w->queue[0]));
	w->head = 0;
}

void world_event_far(struct world *w, const struct event *e)
{
	unsigned i = w->nr_events++;

	if (i == SIM_EVENTS || w->order >> SIM_ORDER)
		sim_fail(w, BY_SIZE, "more than %d events at once, or 2^%d in all", SIM_EVENTS,
			 SIM_ORDER);
	if (w->tail == SIM_QUEUE && w->head > SIM_QUEUE / 2)
		world_forward(w);
	for (; i && e->key < w->events[(i - 1) / 4].key; i = (i - 1) / 4)
		w->events[i] = w->events[(i - 1) / 4];
	w->events[i] = *e;
}

/* The least of the four children from the first; those that are not there have the highest key. */
static unsigned world_least(const struct event *e, unsigned first)
{
	unsigned a = first + (e[first + 1].key < e[first].key);
	unsigned b = first + 2 + (e[first + 3].key < e[first + 2].key);

	return e[b].key < e[a].key ? b : a;
}

/* Of the heap: the hole goes down to where there are no children, and up to where the last one fits. */
static struct event world_pop(struct world *w)
{
	struct event *e = w->events, first = e[0], last = e[--w->nr_events];
	unsigned i = 0;

	e[w->nr_events].key = UINT64_MAX;
	while (4 * i + 1 < w->nr_events) {
		unsigned child = world_least(e, 4 * i + 1);

		e[i] = e[child];
		i = child;
	}
	for (; i && last.key < e[(i - 1) / 4].key; i = (i - 1) / 4)
		e[i] = e[(i - 1) / 4];
	if (w->nr_events)
		e[i] = last;
	return first;
}

static struct event world_next(struct world *w)
{
	struct event first = w->queue[w->head];

	if (w->events[0].key < first.key)
		return world_pop(w);
	if (++w->head == w->tail)
		world_empty(w);
	return first;
}

/* --- Processes -------------------------------------------------------------------------------- */

static void world_sleep(struct world *w, unsigned n)
{
	if (w->wake[n] == UINT64_MAX)
		return;
	w->stale |= (uint32_t)(w->wake[n] == w->group[n / SIM_GROUP]) << n / SIM_GROUP;
	w->first = w->wake[n] == w->first ? 0 : w->first;
	w->wake[n] = UINT64_MAX;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t least(const uint64_t of[SIM_GROUP])
{
	return lesser(lesser(lesser(of[0], of[1]), lesser(of[2], of[3])),
		      lesser(lesser(of[4], of[5]), lesser(of[6], of[7])));
}

/* When the first process has to run, and which. */
static uint64_t world_first(struct world *w)
{
	if (w->first)
		return w->first;
	for (; w->stale; w->stale &= w->stale - 1) {
		unsigned group = (unsigned)__builtin_ctz(w->stale);

		w->group[group] = least(&w->wake[group * SIM_GROUP]);
	}
	w->first = least(w->group);
	for (unsigned i = SIM_GROUP; i * SIM_GROUP < w->nr_nodes; i += SIM_GROUP)
		w->first = lesser(w->first, least(w->group + i));
	return w->first;
}

static void world_process(struct world *w, unsigned n)
{
	struct node *node = &w->node[n];

	world_sleep(w, n);
	if (!node->up || node->paused)
		return;
	if (node->kind == NODE_SWITCH)
		switch_run(w, n);
	else if (node->kind == NODE_HOST)
		host_run(w, n);
	else
		foe_run(w, n);
}

static void world_processes(struct world *w)
{
	while (w->ready[0] | w->ready[1]) {
		unsigned word = w->ready[0] == 0, bit = (unsigned)__builtin_ctzll(w->ready[word]);

		w->ready[word] &= w->ready[word] - 1;
		world_process(w, 64 * word + bit);
	}
}

static void world_step(struct world *w, const struct event *event)
{
	switch ((enum event_type)event->type) {
	case EVENT_PACKET:
		net_arrive(w, event->arg);
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
	sim_fail(w, BY_LIVENESS,
		 "not finished %lu s after the last fault; node:state:finished/operations%s",
		 (unsigned long)(liveness_ns / SIM_SECOND), text);
}

/* What comes next: a process that has to run, or, before all of these, an event. */
static void world_advance(struct world *w)
{
	struct event event;
	uint64_t first, next;

	w->nr_steps++;
	first = world_first(w);
	next = w->events[0].key < w->queue[w->head].key ? w->events[0].key : w->queue[w->head].key;
	if (first >> SIM_NODE_BITS < next >> SIM_ORDER) {
		w->now_ns = first >> SIM_NODE_BITS;
		world_process(w, first & ((1U << SIM_NODE_BITS) - 1));
		return;
	}
	if (!world_nr_events(w))
		sim_fail(w, BY_LIVENESS, "nothing happens any more");
	event = world_next(w);
	w->now_ns = event.key >> SIM_ORDER;
	world_step(w, &event);
}

/* So many packets have been sent that the run has to come to its end. */
static void world_alarm(struct world *w)
{
	if (!w->calm)
		chaos_calm(w);
	if (w->packets_sent > w->last && !w->closing)
		chaos_close(w);
	w->alarm = w->closing ? SIM_MOST : w->last;
}

static void world_events(struct world *w)
{
	while (w->undone) {
		world_advance(w);
		world_processes(w);
		if (w->packets_sent > w->alarm)
			world_alarm(w);
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
	w->calm = w->switch_crashed = w->tight = w->closing = w->crowd = false;
	w->spoilt = (struct spoilt){ .epoch = 0 };
	w->undone = 0;
	w->calm_ns = 0;
	w->nr_acts = w->nr_nodes = w->nr_switches = w->nr_links = w->nr_jobs = w->nr_foes = 0;
	while (w->nr_events)
		w->events[--w->nr_events].key = UINT64_MAX;
	w->order = 0;
	w->ready[0] = w->ready[1] = 0;
	world_empty(w);
	memset(w->wake, 0xff, sizeof(w->wake));
	memset(w->group, 0xff, sizeof(w->group));
	w->first = w->stale = 0;
	memset(w->counters, 0, sizeof(w->counters));
	memset(w->seen, 0, sizeof(w->seen));
	w->nr_epochs = 0;
	w->run++;
	w->packets_sent = w->nr_steps = w->checked = w->overs = 0;
	w->trace.hash = 0;
	w->why[0] = '\0';
	memset(w->route, SIM_NONE, sizeof(w->route));
	w->nr_free = w->fresh = 0;
}

struct result world_run(struct world *w)
{
	struct result result;

	memset(&result, 0, sizeof(result));

	world_reset(w);
	if (setjmp(w->failed) == 0) {
		draw_world(w);
		world_events(w);
		result.over_ns = w->now_ns;
		net_check(w);
		for (unsigned n = 0; n < w->nr_nodes; n++)
			if (w->node[n].kind == NODE_SWITCH)
				switch_check(w, n);
		seen_collect(w);
		mutant_check(w);
	}
	result.closed = w->closing;
	result.failed = w->why[0] != '\0';
	if (result.failed)
		result.over_ns = w->now_ns;
	result.by = w->by;
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
	const struct pipe_params pp = { .jobs_max = SIM_TABLE,
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
	for (unsigned n = 0; n < SIM_SWITCHES; n++)
		memset(w->node[n].mem, 0, pipe_size(&pp));
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
