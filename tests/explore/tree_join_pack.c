// SPDX-License-Identifier: BSD-3-Clause
// Machines of explore_tree_join.c from a state and back.
#include "tests/explore/tree_join.h"

#include <string.h>

static void unpack_member(struct explorer *e, struct job *job, unsigned i, unsigned sw,
			  const struct packed_job *from)
{
	const uint8_t inc = from->inc[i];
	const unsigned slots = sw == TREE_ROOT ? from->slots[i] : tree_slots(&e->tree, inc);
	struct wire_range range = job->members[i].range;
	struct flow flow = sw == TREE_ROOT ? tree_switch(1) : tree_rank(range.first);

	if (sw == TREE_ROOT && range.first == e->ranges[1].first)
		flow = tree_switch(2);
	if (inc)
		job->members[i] = (struct job_member){ .inc = inc,
						       .heard_ns = e->tree.now.now_ns,
						       .flow = flow,
						       .nr_ports = 1,
						       .slots = (uint16_t)slots,
						       .p = TREE_P,
						       .range = range };
}

void unpack_job(struct explorer *e, const struct state *s, unsigned sw)
{
	const struct packed_job *from = &s->jobs[sw];
	struct agg *agg = &e->tree.pipes[sw]->agg;
	struct job_table *table = &agg->table;
	struct job *job = &table->jobs[0];
	struct wire_range world = { 0, (uint16_t)e->nr_ranks };

	table->keys[0] = 0;
	table->slots.nr = table->values.nr = 0;
	table->by_handle[job->handle] = 0;
	if (sw != TREE_ROOT) {
		table->by_parent[job->up.handle] = 0;
		agg->parent.inc = s->life[sw - 1] + 1U;
		agg->parent.nr_incs = from->used;
	}
	memset(job, 0, sizeof(*job));
	agg->last_epoch = from->last_epoch;
	agg->outbox.head = agg->outbox.tail;
	if (!from->used)
		return;
	job_add(table, TREE_NAME, sw == TREE_ROOT ? ROOT_HANDLE : HANDLE);
	job->epoch = from->epoch;
	job->since_ns = e->tree.now.now_ns;
	job_set_world(job, (uint16_t)e->nr_ranks, sw == TREE_ROOT ? world : e->ranges[sw - 1],
		      sw == TREE_ROOT);
	if (sw == TREE_ROOT) {
		job->nr_members = from->members & 0x7f;
		job->members[0].range = e->ranges[from->members >> 7];
		job->members[1].range = e->ranges[!(from->members >> 7)];
	} else {
		job->up.inc = agg->parent.inc;
		if (from->parent)
			job_set_parent(table, job, ROOT_HANDLE);
	}
	for (unsigned i = 0; i < job->nr_members; i++)
		unpack_member(e, job, i, sw, from);
	job->joined = from->joined;
	job->running = from->running;
	job->gone = from->gone;
	if (job->tree && job->running)
		job->all = job->joined;
	if (from->lease)
		job_lease(table, job, TREE_P, from->lease);
}

static void pack(struct explorer *e, struct state *s, unsigned sw)
{
	const struct agg *agg = &e->tree.pipes[sw]->agg;
	const struct job *job = &agg->table.jobs[0];
	struct packed_job *to = &s->jobs[sw];

	*to = (struct packed_job){ .last_epoch = sw == TREE_ROOT ? (uint8_t)agg->last_epoch : 0 };
	if (!job->used)
		return;
	to->used = 1;
	to->epoch = (uint8_t)job->epoch;
	to->running = job->running;
	to->joined = (uint8_t)job->joined;
	for (unsigned i = 0; i < job->nr_members && i < 2; i++)
		to->inc[i] = (uint8_t)job->members[i].inc;
	to->lease = job->lease_nr ? (uint8_t)(job->lease_nr - WIRE_SE) : 0;
	to->gone = (uint8_t)job->gone;
	if (sw == TREE_ROOT) {
		for (unsigned i = 0; i < job->nr_members && i < 2; i++)
			to->slots[i] = (uint8_t)job->members[i].slots;
		to->members = (uint8_t)job->nr_members;
		if (job->nr_members && job->members[0].range.first == e->ranges[1].first)
			to->members |= 0x80;
	} else {
		to->parent = job->up.handle != 0;
	}
	if (job->epoch >= EPOCHS)
		e->violation = "epochs without end";
	if (sw == TREE_ROOT && job->epoch > e->highest)
		e->highest = (unsigned)job->epoch;
}

/* What is not packed, and has no meaning for what is explored. */
static void forget(struct job *job)
{
	memset(&job->last, 0, sizeof(job->last));
	/* Who gives way where there is no room. */
	job->ran = false;
	job->owner = 0;
	memset(&job->want, 0, sizeof(job->want));
	job->since_ns = 0;
	for (unsigned i = 0; i < WIRE_WORLD_MAX; i++) {
		if (job->members[i].inc == 0)
			memset(&job->members[i], 0, sizeof(job->members[i]));
		job->members[i].heard_ns = 0;
	}
	job->up.join_ns = job->up.ask_ns = job->up.end_ns = job->up.probe_ns = 0;
	job->up.awaited = (struct wire_range){ 0, 0 };
	job->up.awaited_slot = 0;
	job->up.awaited_round = 0;
	if (job->lease_nr == 0) {
		job->p = job->slots = 0;
		job->lease_first = 0;
		job->values_off = 0;
		job->stride = 0;
	}
}

void pack_job(struct explorer *e, struct state *s, unsigned sw)
{
	struct job *job = tree_job(&e->tree, sw);
	struct job before, after;

	pack(e, s, sw);
	if (e->transitions % CHECKED)
		return;
	memcpy(&before, job, sizeof(before));
	unpack_job(e, s, sw);
	memcpy(&after, job, sizeof(after));
	forget(&before);
	forget(&after);
	if ((before.used || after.used) && memcmp(&before, &after, sizeof(before)) != 0)
		e->violation = "the explorer's state lacks something of a switch";
}

void unpack_rank(struct explorer *e, const struct state *s, unsigned rank)
{
	const struct packed_rank *from = &s->ranks[rank];
	struct session *session = &e->sessions[rank];
	const struct session_params params = {
		.name = TREE_NAME,
		.inc = from->life + 1U,
		.rank = (uint16_t)rank,
		.world = (uint16_t)e->nr_ranks,
		.slots = (uint16_t)tree_slots(&e->tree, from->life + 1U),
		.p = TREE_P,
		.port = tree_rank(rank).udp_port,
		.nr_ports = 1,
	};

	session_init(session, &params, e->tree.now.now_ns);
	session->join.nr_ranges = 1;
	session->join.ranges[0] = e->ranges[tree_leaf_of(&e->tree, rank)];
	session->join.base = from->base;
	session->job = HANDLE;
	if (!from->running)
		return;
	session->state = SESSION_RUNNING;
	session->epoch = session->spoken = from->epoch;
	session->forgotten = from->forgotten;
}

void pack_rank(struct explorer *e, struct state *s, unsigned rank)
{
	const struct session *session = &e->sessions[rank];
	struct packed_rank *to = &s->ranks[rank];

	to->running = session->state == SESSION_RUNNING;
	to->base = (uint8_t)session->join.base;
	to->epoch = to->running ? (uint8_t)session->epoch : 0;
	to->forgotten = to->running && session->forgotten;
}
