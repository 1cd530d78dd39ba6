// SPDX-License-Identifier: BSD-3-Clause
// A root and two leaves, put together without a network.
#include "tests/explore/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_RANK_IP = 10, TREE_SWITCH_IP = 20, TREE_QUEUE = 256 };

struct flow tree_rank(unsigned rank)
{
	return (struct flow){ .ip = TREE_RANK_IP + rank, .udp_port = 1000 };
}

struct flow tree_switch(unsigned sw)
{
	return (struct flow){ .ip = TREE_SWITCH_IP + sw, .udp_port = WIRE_PORT };
}

static void tree_stop(const char *why)
{
	fprintf(stderr, "explore: %s\n", why);
	exit(1);
}

static void tree_open_switch(struct tree *tree, unsigned sw, uint64_t inc)
{
	const struct pipe_params params = {
		.jobs_max = 1,
		.slots_max = WIRE_SE + TREE_SLOTS,
		.values_bytes = (size_t)(WIRE_SE + TREE_SLOTS) * 2 * TREE_P,
		.p_max = TREE_P,
		.add = "scalar",
		.leaf = sw != TREE_ROOT,
		.inc = inc,
		.parent_from = WIRE_PORT,
	};
	const struct flow root = tree_switch(TREE_ROOT);
	size_t size = (pipe_size(&params) + 63) / 64 * 64;

	tree->mem[sw] = aligned_alloc(64, size);
	if (!tree->mem[sw])
		tree_stop("no memory for a switch");
	memset(tree->mem[sw], 0, size);
	tree->pipes[sw] = pipe_init(tree->mem[sw], &params, &tree->now);
	if (!tree->pipes[sw])
		tree_stop("a switch does not start");
	if (sw != TREE_ROOT)
		pipe_set_parent(tree->pipes[sw], &root);
}

void tree_open(struct tree *tree, unsigned nr_ranks, const struct wire_range ranges[TREE_LEAVES],
	       const uint64_t inc[TREE_LEAVES])
{
	*tree = (struct tree){ .check = tree->check,
			       .shrinks = tree->shrinks,
			       .nr_ranks = nr_ranks };
	tree->now = (struct pipe_time){ .now_ns = AGG_MS, .wall_ms = 2 };
	memcpy(tree->ranges, ranges, sizeof(tree->ranges));
	for (unsigned sw = 0; sw < TREE_SWITCHES; sw++)
		tree_open_switch(tree, sw, sw == TREE_ROOT ? 0 : inc[sw - 1]);
}

void tree_close(struct tree *tree)
{
	for (unsigned sw = 0; sw < TREE_SWITCHES; sw++)
		free(tree->mem[sw]);
}

void tree_input(struct tree *tree, unsigned sw, struct flow from, size_t len)
{
	tree->now.now_ns += 2 * AGG_PROBE_MS * AGG_MS;
	tree->pkt = (struct pipe_pkt){
		.data = tree->buf,
		.len = (uint32_t)len,
		.cap = sizeof(tree->buf),
		.flow = from,
	};
	pipe_input(tree->pipes[sw], &tree->pkt, 1, &tree->now);
}

void tree_join(struct tree *tree, unsigned rank, uint64_t inc, uint64_t base)
{
	unsigned leaf = tree_leaf_of(tree, rank);
	struct wire_join join = {
		.inc = inc,
		.base = base,
		.flags = tree->check ? WIRE_JOB_CHECK : 0,
		.world = (uint16_t)tree->nr_ranks,
		.slots = (uint16_t)tree_slots(tree, (unsigned)inc),
		.p = TREE_P,
		.port = tree_rank(rank).udp_port,
		.nr_ports = 1,
		.nr_ranges = 1,
		.ranges = { tree->ranges[leaf] },
		.name = TREE_NAME,
	};
	size_t len = wire_join_build(tree->buf, (uint16_t)rank, &join);

	if (tree->check)
		len = wire_seal(tree->buf, (uint32_t)len - WIRE_HEADER);
	tree_input(tree, leaf + 1, tree_rank(rank), len);
}

/* What switches say to each other arrives until they are silent; what they say to ranks is lost. */
static void tree_carry(struct tree *tree)
{
	uint8_t out[WIRE_MSG_MAX];
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned sw = 0; sw < TREE_SWITCHES; sw++) {
			struct flow to;
			size_t len;

			while ((len = pipe_output(tree->pipes[sw], &to, out)) != 0) {
				if (to.ip < TREE_SWITCH_IP)
					continue;
				memcpy(tree->buf, out, len);
				tree_input(tree, to.ip - TREE_SWITCH_IP, tree_switch(sw), len);
				moved = true;
			}
		}
	}
}

void tree_form(struct tree *tree)
{
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned rank = 0; rank < tree->nr_ranks; rank++) {
			const struct job *job = tree_job(tree, tree_leaf_of(tree, rank) + 1);

			tree->now.wall_ms++;
			tree_join(tree, rank, rank + 1, job->used ? job->epoch - 1 : 0);
			tree_carry(tree);
		}
	}
	for (unsigned sw = 0; sw < TREE_SWITCHES; sw++) {
		if (!tree_job(tree, sw)->running ||
		    tree_job(tree, sw)->epoch != tree_job(tree, 0)->epoch)
			tree_stop("the job does not form");
	}
}
