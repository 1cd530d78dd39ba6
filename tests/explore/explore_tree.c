// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_tree.c - every behaviour of one slot in a tree: the switches' own pipes, a root, two
 * leaves and two ranks below each, under a network that delivers whatever was ever sent late,
 * again, in any order, or never, on every link.
 *
 * A state is the three slots with their values, and what is in the network.  Checked: a sum that
 * leaves a leaf upward is exactly its ranks' contributions, a result is exactly everybody's; no
 * gap, no mismatch; and until all are done some rank's retransmission, carried through leaf, root
 * and leaf without loss, has an effect.  Nobody but the ranks ever repeats anything.  In a job with
 * CHECK whatever goes out has its seal, and what comes without, or with a wrong one, changes nothing.
 *
 * Then the explorer is tried itself: with each of several faults built in, it must find a
 * violation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/explore/states.h"
#include "tests/explore/tree.h"

enum { RANKS = 4, LOCAL = 2, ROUNDS = 5, BYTES = WIRE_PAD, STATES_MAX = 100000, DESC = 100 };
/* Of one operation, which all have its descriptor. */
enum { OP_ROUNDS = 3 };

struct place {
	struct slot slot;
	uint8_t values[2][BYTES];
};

/* Bits are rounds: what is in the network. */
struct state {
	struct place places[TREE_SWITCHES];
	uint8_t round[RANKS]; /* the one a rank waits for, or ROUNDS */
	uint8_t data[RANKS], result[RANKS];
	uint8_t partial[TREE_LEAVES], root_result[TREE_LEAVES];
};

enum fault {
	FAULT_NONE,
	FAULT_OVERWRITE, /* a leaf sends what is in the cell, also after the result is there */
	FAULT_NO_AGAIN,	 /* a leaf never repeats its sum */
	FAULT_ROUND,	 /* a leaf takes the parent's result of whatever round */
	FAULT_NO_STALE,	 /* the root starts a cell anew for an old round */
	FAULT_NO_HAVE,	 /* a leaf adds a duplicate to what is complete */
	FAULT_AHEAD,	 /* a rank does not wait for its result */
	FAULT_NR
};

enum spoil { SPOIL_NOTHING, SPOIL_NO_SEAL, SPOIL_SEAL, SPOIL_NR };

static const char *const fault_names[FAULT_NR] = {
	[FAULT_NONE] = "none",
	[FAULT_OVERWRITE] = "a leaf sends its cell upward after the result is in it",
	[FAULT_NO_AGAIN] = "a leaf does not repeat its sum",
	[FAULT_ROUND] = "a leaf does not compare the round of a result",
	[FAULT_NO_STALE] = "old rounds not recognised by the root",
	[FAULT_NO_HAVE] = "duplicates not recognised by a leaf",
	[FAULT_AHEAD] = "ranks that do not wait",
};

struct explorer {
	unsigned pattern;
	enum fault fault;
	enum spoil spoil; /* what is wrong with the next packet */
	struct tree tree;
	struct states states;
	size_t transitions;
	const char *violation; /* NULL: none yet */
};

/* Which contributions have no values: none, every third, all of one leaf's, or odd rounds. */
enum { PATTERNS = 4 };
static bool is_empty(unsigned pattern, unsigned rank, unsigned round)
{
	switch (pattern) {
	case 1:
		return (rank + round) % 3 == 0;
	case 2:
		return rank / LOCAL == 1;
	case 3:
		return round % 2 == 1;
	default:
		return false;
	}
}

/* Six bits per rank, so that a sum says whose contributions of which rounds it is made of. */
static uint32_t sum_of(unsigned pattern, unsigned first, unsigned nr, unsigned round, bool *empty)
{
	uint32_t sum = 0;

	*empty = true;
	for (unsigned rank = first; rank < first + nr; rank++) {
		if (is_empty(pattern, rank, round))
			continue;
		sum += (round + 1) << 6 * rank;
		*empty = false;
	}
	return sum;
}

static uint8_t *place_values(const struct explorer *e, unsigned sw, unsigned cell)
{
	const struct job *job = tree_job(&e->tree, sw);

	return agg_values(&e->tree.pipes[sw]->agg, job, WIRE_SE) + (size_t)cell * job->stride;
}

static struct slot *place_slot(const struct explorer *e, unsigned sw)
{
	return &e->tree.pipes[sw]->agg.slots[tree_job(&e->tree, sw)->lease_first + WIRE_SE];
}

static void place_load(const struct explorer *e, unsigned sw, const struct place *place)
{
	memcpy(place_slot(e, sw), &place->slot, sizeof(place->slot));
	for (unsigned cell = 0; cell < 2; cell++)
		memcpy(place_values(e, sw, cell), place->values[cell], BYTES);
}

static void place_store(const struct explorer *e, unsigned sw, struct place *place)
{
	memcpy(&place->slot, place_slot(e, sw), sizeof(place->slot));
	/* When a round began decides nothing. */
	place->slot.cell[0].begin = place->slot.cell[1].begin = 0;
	for (unsigned cell = 0; cell < 2; cell++)
		memcpy(place->values[cell], place_values(e, sw, cell), BYTES);
}

/* A chunk into a switch; the sum of nr ranks from first. */
static void send_chunk(struct explorer *e, unsigned sw, struct flow from, struct wire_msg *msg,
		       struct wire_range ranks)
{
	const struct job *job = tree_job(&e->tree, sw);
	bool empty;
	uint32_t sum = sum_of(e->pattern, ranks.first, ranks.nr, msg->round, &empty);
	uint8_t rest[WIRE_MSG_MAX];
	size_t len = WIRE_HEADER + BYTES;

	msg->kind = WIRE_ADD32;
	msg->job = msg->type == WIRE_RESULT ? job->up.handle : job->handle;
	msg->epoch = job->epoch;
	msg->slot = WIRE_SE;
	msg->desc = DESC + (e->fault == FAULT_ROUND ? 0 : msg->round / OP_ROUNDS);
	if (empty)
		msg->flags |= WIRE_EMPTY;
	if (e->fault == FAULT_ROUND && msg->type == WIRE_RESULT)
		msg->round = place_slot(e, sw)->cell[msg->round & 1].round;
	wire_build(e->tree.buf, msg);
	memset(e->tree.buf + WIRE_HEADER, 0, BYTES);
	wire_put32(e->tree.buf + WIRE_HEADER, sum + (e->spoil == SPOIL_NO_SEAL));
	if (e->tree.check && e->spoil != SPOIL_NO_SEAL)
		len = wire_seal(e->tree.buf, BYTES);
	if (e->spoil == SPOIL_SEAL)
		e->tree.buf[WIRE_HEADER + 2]++;
	tree_input(&e->tree, sw, from, len);
	/* Questions about duplicates: of no consequence here. */
	while (pipe_output(e->tree.pipes[sw], &from, rest))
		;
}

/* With CHECK: the same, but for its seal; the switch's slot must stay as it is. */
static void send_spoiled(struct explorer *e, unsigned sw, const struct place *place,
			 const struct wire_msg *msg, struct wire_range ranks)
{
	const struct flow from = msg->type == WIRE_RESULT    ? tree_switch(TREE_ROOT)
				 : msg->flags & WIRE_PARTIAL ? tree_switch(1 + ranks.first / LOCAL)
							     : tree_rank(ranks.first);
	struct place after;

	for (enum spoil how = SPOIL_NO_SEAL; how < SPOIL_NR && e->tree.check; how++) {
		struct wire_msg spoiled = *msg;

		e->spoil = how;
		place_load(e, sw, place);
		send_chunk(e, sw, from, &spoiled, ranks);
		place_store(e, sw, &after);
		e->spoil = SPOIL_NOTHING;
		if (e->tree.pkt.verdict != PIPE_DROP || memcmp(&after, place, sizeof(after)) != 0)
			e->violation = "what has not its seal counts";
	}
}

/* Whether the packet that goes out is what it should be, with the sum of these ranks. */
static void check_sum(struct explorer *e, const struct wire_msg *want, struct wire_range ranks)
{
	struct wire_msg msg;
	bool empty;
	uint32_t sum = sum_of(e->pattern, ranks.first, ranks.nr, want->round, &empty);

	if (wire_parse(&msg, e->tree.buf, e->tree.pkt.len) != WIRE_OK || msg.type != want->type ||
	    msg.job != want->job || msg.wid != want->wid || msg.slot != WIRE_SE ||
	    (msg.flags & WIRE_PARTIAL) != want->flags)
		e->violation = "a packet that should not go out";
	else if (msg.sealed != e->tree.check)
		e->violation = "a packet goes out with a seal where none is due, or without";
	else if (((msg.flags & WIRE_EMPTY) != 0) != empty)
		e->violation = "EMPTY where values were sent, or the reverse";
	else if (wire_get32(msg.payload) != sum)
		e->violation = want->flags ? "wrong sum of a leaf" : "wrong sum";
	else if (msg.round != want->round ||
		 (e->fault != FAULT_ROUND && msg.desc != DESC + want->round / OP_ROUNDS))
		e->violation = "result of another chunk";
}

/* A gap would end the epoch and so hide what a fault does. */
static void check_counter(struct explorer *e)
{
	unsigned counter = e->tree.pkt.counter;

	if (counter == COUNTER_gap && e->fault == FAULT_NONE)
		e->violation = "a switch found a gap";
	else if (counter != COUNTER_gap && counter_infos[counter].class != COUNTER_SUM)
		e->violation = "a switch refused a packet";
}

static void inject(struct explorer *e, unsigned sw, unsigned round, unsigned bit)
{
	struct cell *cell = &place_slot(e, sw)->cell[round & 1];
	uint64_t all = tree_job(&e->tree, sw)->all;

	if (e->fault == FAULT_OVERWRITE && sw != TREE_ROOT && cell->have == all)
		cell->done = false;
	if (e->fault == FAULT_NO_STALE && sw == TREE_ROOT && round < cell->round)
		cell->have = 0;
	if (e->fault == FAULT_NO_HAVE && sw != TREE_ROOT && cell->have == all && !cell->done)
		cell->have &= ~(UINT64_C(1) << bit);
}

static void leaf_data(struct explorer *e, struct state *s, unsigned rank, unsigned round)
{
	unsigned leaf = rank / LOCAL;
	const struct wire_range all = { 0, RANKS }, own = { (uint16_t)(leaf * LOCAL), LOCAL };
	const struct job *job = tree_job(&e->tree, leaf + 1);
	struct wire_msg msg = { .type = WIRE_DATA, .wid = (uint16_t)rank, .round = round };
	struct wire_msg want = { .round = round };

	send_spoiled(e, leaf + 1, &s->places[leaf + 1], &msg,
		     (struct wire_range){ (uint16_t)rank, 1 });
	place_load(e, leaf + 1, &s->places[leaf + 1]);
	inject(e, leaf + 1, round, rank % LOCAL);
	send_chunk(e, leaf + 1, tree_rank(rank), &msg, (struct wire_range){ (uint16_t)rank, 1 });
	check_counter(e);
	if (e->tree.pkt.verdict == PIPE_UP) {
		want = (struct wire_msg){ .type = WIRE_DATA,
					  .job = job->up.handle,
					  .flags = WIRE_PARTIAL,
					  .round = round,
					  .wid = own.first };
		check_sum(e, &want, own);
		if (e->fault != FAULT_NO_AGAIN || e->tree.pkt.counter != COUNTER_partial_again)
			s->partial[leaf] |= (uint8_t)(1 << round);
	} else if (e->tree.pkt.verdict == PIPE_REPLY) {
		want = (struct wire_msg){ .type = WIRE_RESULT,
					  .job = job->handle,
					  .round = round,
					  .wid = WIRE_WID_NONE };
		check_sum(e, &want, all);
		s->result[rank] |= (uint8_t)(1 << round);
	}
	place_store(e, leaf + 1, &s->places[leaf + 1]);
}

/* A rank that does not wait for its result: whatever its leaf has, it must end the epoch, and leave the slot alone. */
static void leaf_early(struct explorer *e, const struct state *from, unsigned rank)
{
	unsigned leaf = rank / LOCAL, round = from->round[rank];
	struct wire_msg msg = { .type = WIRE_DATA, .wid = (uint16_t)rank, .round = round + 1 };
	struct place after;

	if (e->fault != FAULT_NONE || (from->result[rank] >> round & 1))
		return;
	place_load(e, leaf + 1, &from->places[leaf + 1]);
	send_chunk(e, leaf + 1, tree_rank(rank), &msg, (struct wire_range){ (uint16_t)rank, 1 });
	place_store(e, leaf + 1, &after);
	if (e->tree.pkt.counter != COUNTER_gap || e->tree.pkt.verdict != PIPE_DROP ||
	    memcmp(&after, &from->places[leaf + 1], sizeof(after)) != 0)
		e->violation = "a round too early is not refused";
}

static void root_data(struct explorer *e, struct state *s, unsigned leaf, unsigned round)
{
	const struct wire_range all = { 0, RANKS }, own = { (uint16_t)(leaf * LOCAL), LOCAL };
	struct wire_msg msg = {
		.type = WIRE_DATA, .flags = WIRE_PARTIAL, .wid = own.first, .round = round
	};
	struct wire_msg want = { .type = WIRE_RESULT,
				 .job = tree_job(&e->tree, TREE_ROOT)->handle,
				 .round = round,
				 .wid = WIRE_WID_NONE };
	struct flow to[WIRE_WORLD_MAX];
	unsigned nr;

	send_spoiled(e, TREE_ROOT, &s->places[TREE_ROOT], &msg, own);
	place_load(e, TREE_ROOT, &s->places[TREE_ROOT]);
	inject(e, TREE_ROOT, round, leaf);
	send_chunk(e, TREE_ROOT, tree_switch(leaf + 1), &msg, own);
	check_counter(e);
	nr = pipe_dests(e->tree.pipes[TREE_ROOT], &e->tree.pkt, to);
	if (nr)
		check_sum(e, &want, all);
	for (unsigned i = 0; i < nr; i++) {
		leaf = to[i].ip - tree_switch(1).ip;
		s->root_result[leaf] |= (uint8_t)(1 << round);
	}
	place_store(e, TREE_ROOT, &s->places[TREE_ROOT]);
}

static void leaf_result(struct explorer *e, struct state *s, unsigned leaf, unsigned round)
{
	const struct wire_range all = { 0, RANKS };
	struct wire_msg msg = { .type = WIRE_RESULT, .wid = WIRE_WID_NONE, .round = round };
	struct wire_msg want = { .type = WIRE_RESULT,
				 .job = tree_job(&e->tree, leaf + 1)->handle,
				 .wid = WIRE_WID_NONE };
	struct flow to[WIRE_WORLD_MAX];
	unsigned nr;

	send_spoiled(e, leaf + 1, &s->places[leaf + 1], &msg, all);
	place_load(e, leaf + 1, &s->places[leaf + 1]);
	send_chunk(e, leaf + 1, tree_switch(TREE_ROOT), &msg, all);
	check_counter(e);
	nr = pipe_dests(e->tree.pipes[leaf + 1], &e->tree.pkt, to);
	/* Whatever came, the leaf says that it is of the round of its cell. */
	want.round = nr ? wire_get32(e->tree.buf + WIRE_OFF_ROUND) : 0;
	if (nr)
		check_sum(e, &want, all);
	for (unsigned i = 0; i < nr; i++)
		s->result[to[i].ip - tree_rank(0).ip] |= (uint8_t)(1 << want.round);
	place_store(e, leaf + 1, &s->places[leaf + 1]);
}

/* Whether the rank's retransmission, if nothing of it and its answers is lost, changes anything. */
static bool is_live(struct explorer *e, const struct state *from, unsigned rank)
{
	unsigned leaf = rank / LOCAL, round = from->round[rank];
	struct state s, before;

	memcpy(&s, from, sizeof(s));
	memset(s.partial, 0, sizeof(s.partial));
	memset(s.root_result, 0, sizeof(s.root_result));
	memset(s.result, 0, sizeof(s.result));
	memcpy(&before, &s, sizeof(s));
	leaf_data(e, &s, rank, round);
	if (s.partial[leaf] >> round & 1)
		root_data(e, &s, leaf, round);
	if (s.root_result[leaf] >> round & 1)
		leaf_result(e, &s, leaf, round);
	memset(s.partial, 0, sizeof(s.partial));
	memset(s.root_result, 0, sizeof(s.root_result));
	return memcmp(&s, &before, sizeof(s)) != 0;
}

static void reached(struct explorer *e, const struct state *s)
{
	states_add(&e->states, s);
	e->transitions++;
}

static void expand_rank(struct explorer *e, const struct state *from, unsigned rank)
{
	unsigned round = from->round[rank];
	struct state s;

	for (unsigned r = 0; r < ROUNDS && !e->violation; r++) {
		if (!(from->data[rank] >> r & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		leaf_data(e, &s, rank, r);
		reached(e, &s);
	}
	if (round < ROUNDS && ((from->result[rank] >> round & 1) || e->fault == FAULT_AHEAD)) {
		memcpy(&s, from, sizeof(s));
		s.round[rank]++;
		if (s.round[rank] < ROUNDS)
			s.data[rank] |= (uint8_t)(1 << s.round[rank]);
		reached(e, &s);
	}
}

static void expand_leaf(struct explorer *e, const struct state *from, unsigned leaf)
{
	struct state s;

	for (unsigned r = 0; r < ROUNDS && !e->violation; r++) {
		if (from->partial[leaf] >> r & 1) {
			memcpy(&s, from, sizeof(s));
			root_data(e, &s, leaf, r);
			reached(e, &s);
		}
		/* A result of any round, where that is the fault, may reach any cell. */
		if (from->root_result[leaf] >> r & 1) {
			memcpy(&s, from, sizeof(s));
			leaf_result(e, &s, leaf, r);
			reached(e, &s);
		}
	}
}

/* Tries everything that may happen next to the i-th state. */
static void expand(struct explorer *e, size_t i)
{
	bool done = true, live = false;
	struct state from;

	/* Copies, because the set moves as it grows; memcpy, because padding counts. */
	memcpy(&from, states_get(&e->states, i), sizeof(from));
	for (unsigned rank = 0; rank < RANKS && !e->violation; rank++) {
		done = done && from.round[rank] == ROUNDS;
		if (from.round[rank] < ROUNDS && !live)
			live = is_live(e, &from, rank);
		if (from.round[rank] < ROUNDS && !e->violation)
			leaf_early(e, &from, rank);
		if (!e->violation)
			expand_rank(e, &from, rank);
	}
	for (unsigned leaf = 0; leaf < TREE_LEAVES && !e->violation; leaf++)
		expand_leaf(e, &from, leaf);
	if (!done && !live && !e->violation)
		e->violation = "stuck: no retransmission has an effect";
}

static void explore(struct explorer *e)
{
	static const struct wire_range ranges[TREE_LEAVES] = { { 0, LOCAL }, { LOCAL, LOCAL } };
	static const uint64_t inc[TREE_LEAVES] = { 1, 2 };
	struct state start;

	tree_open(&e->tree, RANKS, ranges, inc);
	tree_form(&e->tree);
	memset(&start, 0, sizeof(start));
	for (unsigned rank = 0; rank < RANKS; rank++)
		start.data[rank] = 1;
	states_init(&e->states, sizeof(start));
	states_add(&e->states, &start);
	for (size_t i = 0; i < e->states.nr && !e->violation; i++) {
		expand(e, i);
		if (e->states.nr > STATES_MAX)
			e->violation = "too many states: sums grow without end";
	}
	states_fini(&e->states);
	tree_close(&e->tree);
}

static int explore_patterns(bool check)
{
	size_t nr_states = 0, nr_transitions = 0;

	for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
		struct explorer e = { .pattern = pattern, .tree.check = check };

		explore(&e);
		nr_states += e.states.nr;
		nr_transitions += e.transitions;
		if (e.violation) {
			printf("explore_tree: EMPTY pattern %u: VIOLATION: %s\n", pattern,
			       e.violation);
			return 1;
		}
	}
	printf("explore_tree: 2x2 ranks, rounds=%d%s: %zu states, %zu transitions, no violation\n",
	       ROUNDS, check ? ", CHECK" : "", nr_states, nr_transitions);
	return 0;
}

static int explore_faults(void)
{
	int missed = 0;

	for (enum fault fault = FAULT_NONE + 1; fault < FAULT_NR; fault++) {
		struct explorer e = { .fault = fault };

		explore(&e);
		printf("explore_tree: fault built in, %s: %s%s\n", fault_names[fault],
		       e.violation ? "found: " : "NOT FOUND", e.violation ? e.violation : "");
		missed += !e.violation;
	}
	return missed;
}

int main(void)
{
	int failures = explore_patterns(false) + explore_patterns(true);

	failures += explore_faults();
	return failures != 0;
}
