// SPDX-License-Identifier: BSD-3-Clause
// Messages that arrive at a machine of explore_tree_join.c.
#include "tests/explore/tree_join.h"

#include <string.h>

void join_input(struct explorer *e, unsigned sw, struct flow from, size_t len)
{
	uint64_t last = e->tree.pipes[TREE_ROOT]->agg.last_epoch;
	struct job_table *table = &e->tree.pipes[sw]->agg.table;
	struct job *job = &table->jobs[0];

	e->tree.now.wall_ms = sw == TREE_ROOT ? (last < 2 ? 2 : last + 1) : HANDLE;
	tree_input(&e->tree, sw, from, len);
	/* A restarted root's job may get the same handle, which tells its lives apart least. */
	if (sw == TREE_ROOT && job->used && job->handle != ROOT_HANDLE) {
		table->by_handle[ROOT_HANDLE] = table->by_handle[job->handle];
		table->by_handle[job->handle] = 0;
		job->handle = ROOT_HANDLE;
	}
}

void send_status(struct explorer *e, unsigned leaf, unsigned bit, unsigned slots)
{
	const unsigned epoch = bit / STATUSES, inc = bit % (LIFE_MAX + 1);
	const bool running = bit / (LIFE_MAX + 1) % 2;
	const struct wire_msg msg = { .type = WIRE_STATUS,
				      .job = ROOT_HANDLE,
				      .epoch = epoch,
				      .wid = e->ranges[leaf].first };
	struct wire_status status = { .state = running ? WIRE_RUNNING : WIRE_FORMING,
				      .key = wire_job_key(TREE_NAME),
				      .inc = inc,
				      .p = TREE_P,
				      .slots = (uint16_t)slots };

	if (e->fault == FAULT_LEAF_INC)
		status.inc = tree_job(&e->tree, leaf + 1)->up.inc;
	join_input(e, leaf + 1, tree_switch(TREE_ROOT),
		   wire_status_build(e->tree.buf, &msg, &status, WIRE_BODY));
}

void send_unknown(struct explorer *e, unsigned leaf, unsigned epoch)
{
	const struct wire_msg msg = { .type = WIRE_STATUS,
				      .job = ROOT_HANDLE,
				      .epoch = epoch,
				      .wid = e->ranges[leaf].first };
	const struct wire_status status = { .state = WIRE_UNKNOWN };

	join_input(e, leaf + 1, tree_switch(TREE_ROOT),
		   wire_status_build(e->tree.buf, &msg, &status, WIRE_PAD));
}

void send_probe(struct explorer *e, unsigned leaf, unsigned epoch)
{
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = ROOT_HANDLE,
				      .epoch = epoch,
				      .wid = e->ranges[leaf].first };

	wire_build(e->tree.buf, &msg);
	memset(e->tree.buf + WIRE_HEADER, 0, WIRE_BODY);
	join_input(e, TREE_ROOT, tree_switch(leaf + 1), WIRE_HEADER + WIRE_BODY);
}

void send_leaf_join(struct explorer *e, unsigned leaf, unsigned bit, unsigned slots, bool ask)
{
	const struct wire_join join = {
		.inc = bit / EPOCHS + 1,
		.base = bit % EPOCHS,
		.world = (uint16_t)e->nr_ranks,
		.slots = (uint16_t)slots,
		.p = TREE_P,
		.port = WIRE_PORT,
		.nr_ports = 1,
		.ranks = e->ranges[leaf].nr,
		.name = TREE_NAME,
	};
	size_t len = ask ? wire_ask_build(e->tree.buf, e->ranges[leaf].first, &join)
			 : wire_join_build(e->tree.buf, e->ranges[leaf].first, &join);

	join_input(e, TREE_ROOT, tree_switch(leaf + 1), len);
}

void send_end(struct explorer *e, unsigned leaf, unsigned base, bool disowns)
{
	const struct wire_msg msg = {
		.type = WIRE_END, .job = ROOT_HANDLE, .epoch = base, .wid = e->ranges[leaf].first
	};
	const struct wire_status body = { .state = disowns ? WIRE_UNKNOWN : 0,
					  .cause = WIRE_CAUSE_RESTARTED };

	join_input(e, TREE_ROOT, tree_switch(leaf + 1),
		   wire_status_build(e->tree.buf, &msg, &body, WIRE_BODY));
}

void send_leave(struct explorer *e, unsigned leaf)
{
	const struct wire_msg msg = { .type = WIRE_LEAVE,
				      .job = ROOT_HANDLE,
				      .wid = e->ranges[leaf].first };

	wire_build(e->tree.buf, &msg);
	memset(e->tree.buf + WIRE_HEADER, 0, WIRE_PAD);
	join_input(e, TREE_ROOT, tree_switch(leaf + 1), WIRE_HEADER + WIRE_PAD);
}

void send_keepalive(struct explorer *e, unsigned rank)
{
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = HANDLE,
				      .epoch = e->sessions[rank].epoch,
				      .wid = (uint16_t)rank };

	wire_build(e->tree.buf, &msg);
	memset(e->tree.buf + WIRE_HEADER, 0, WIRE_BODY);
	join_input(e, tree_leaf_of(&e->tree, rank) + 1, tree_rank(rank), WIRE_HEADER + WIRE_BODY);
}
