// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_slot.c - every behaviour of one slot: the switch's own slot_add() under a network that
 * delivers whatever was ever sent late, again, in any order, or never.
 *
 * A state is the slot, its values and what each worker has sent and been sent.  From each state
 * every delivery and every step of a worker is tried.  Checked: a result that leaves the switch is
 * the exact sum of its round; the rule's assumptions hold (no gap, no mismatch); and somebody's
 * retransmission has an effect until all are done, so that no run is stuck.  Some contributions are
 * EMPTY, in several patterns.  In every state a worker also sends what the rule refuses: a round too
 * early, another length, descriptor, or kind; the slot must say so, and stay as it is.
 *
 * Then the explorer is tried itself: with each of several faults built in, it must find a
 * violation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "switch/core/slot.h"
#include "tests/explore/states.h"

enum { WORKERS = 5, ROUNDS = 6, BYTES = 2 * WIRE_PAD, STATES_MAX = 100000 };
#define EPOCH UINT64_C(9)

struct state {
	struct slot slot;
	uint8_t values[2 * BYTES];
	uint8_t round[WORKERS]; /* the one a worker waits for, or nr_rounds */
	uint8_t data[WORKERS];	/* bit per round: its contribution is in the network */
	uint8_t result[WORKERS];
};

enum fault {
	FAULT_NONE,
	FAULT_ONE_BIT,	/* the published rule: a version bit instead of the round */
	FAULT_NO_STALE, /* a contribution of an earlier round starts the cell anew */
	FAULT_NO_HAVE,	/* a contribution that is in already is added again */
	FAULT_AHEAD,	/* a worker does not wait for its result */
	FAULT_NR
};

static const char *const fault_names[FAULT_NR] = {
	[FAULT_NONE] = "none",
	[FAULT_ONE_BIT] = "a version bit instead of rounds",
	[FAULT_NO_STALE] = "old rounds not recognised",
	[FAULT_NO_HAVE] = "duplicates not recognised",
	[FAULT_AHEAD] = "workers that do not wait",
};

struct explorer {
	unsigned workers, rounds, pattern;
	enum fault fault;
	struct states states;
	size_t transitions;
	const char *violation; /* NULL: none yet */
};

/*
 * Which contributions have no values: none, every third, all of one worker, all of every other
 * round, or most.
 */
enum { PATTERNS = 5 };
static bool is_empty(unsigned pattern, unsigned wid, unsigned round)
{
	switch (pattern) {
	case 1:
		return (wid + round) % 3 == 0;
	case 2:
		return wid == 0;
	case 3:
		return round % 2 == 1;
	case 4:
		return wid != round % 2;
	default:
		return false;
	}
}

/* Five bits per worker, so that a sum says whose contributions of which rounds it is made of. */
static uint32_t code(unsigned wid, unsigned round)
{
	return (round + 1) << 5 * wid;
}

static uint32_t sum_of(const struct explorer *e, unsigned round, bool *empty)
{
	uint32_t sum = 0;

	*empty = true;
	for (unsigned wid = 0; wid < e->workers; wid++) {
		if (!is_empty(e->pattern, wid, round)) {
			sum += code(wid, round);
			*empty = false;
		}
	}
	return sum;
}

static void check_result(struct explorer *e, const struct slot_input *result, unsigned round)
{
	bool empty;
	uint32_t sum = sum_of(e, round, &empty);

	if (((result->flags & WIRE_EMPTY) != 0) != empty)
		e->violation = "EMPTY where values were sent, or the reverse";
	else if (wire_get32(result->payload) != sum)
		e->violation = "wrong sum";
	else if (result->desc != round + 100 || result->kind != WIRE_ADD32)
		e->violation = "result of another chunk";
}

/* What the faulty switch does differently, before slot_add(). */
static void inject(const struct explorer *e, struct state *s, struct slot_input *in)
{
	struct cell *cell = &s->slot.cell[in->round & 1];

	if (e->fault == FAULT_ONE_BIT) {
		/* Its bit in the other version is cleared, and a full version starts anew. */
		in->round &= 1;
		s->slot.cell[in->round ^ 1].have &= ~(UINT64_C(1) << in->wid);
		s->slot.cell[in->round ^ 1].epoch = EPOCH;
		s->slot.cell[in->round ^ 1].round = in->round ^ 1;
		cell->epoch = EPOCH;
		cell->round = in->round;
	}
	if (e->fault == FAULT_NO_STALE && in->round < cell->round)
		cell->have = 0;
	if (e->fault == FAULT_NO_HAVE && cell->have != in->all)
		cell->have &= ~(UINT64_C(1) << in->wid);
}

/* Delivers the contribution; true if its sender, waiting for this round, gets on by it. */
static bool deliver(struct explorer *e, struct state *s, unsigned wid, unsigned round)
{
	uint8_t payload[BYTES] = { 0 };
	struct slot_input in = {
		.epoch = EPOCH,
		.all = (UINT64_C(1) << e->workers) - 1,
		.round = round,
		.desc = round + 100,
		.wid = (uint16_t)wid,
		.len = BYTES,
		.kind = WIRE_ADD32,
		.payload = payload,
		.cap = BYTES,
	};
	enum slot_verdict verdict;

	if (is_empty(e->pattern, wid, round)) {
		in.flags = WIRE_EMPTY;
		in.len = WIRE_PAD;
	} else {
		wire_put32(payload, code(wid, round));
	}
	inject(e, s, &in);
	if (e->fault == FAULT_ONE_BIT)
		in.desc = 100;
	verdict = slot_add(&s->slot, s->values, BYTES, &add_scalar, &in);
	if (e->fault == FAULT_ONE_BIT)
		in.desc = round + 100;
	switch (verdict) {
	case SLOT_GAP:
		/* Would end the epoch and so hide what a fault does. */
		if (e->fault == FAULT_NONE)
			e->violation = "the switch found a gap";
		break;
	case SLOT_MISMATCH:
	case SLOT_NO_ROOM:
		e->violation = "the switch found a mismatch";
		break;
	case SLOT_COMPLETE:
		check_result(e, &in, round);
		for (unsigned i = 0; i < e->workers; i++)
			s->result[i] |= (uint8_t)(1 << round);
		break;
	case SLOT_REPEAT:
		check_result(e, &in, round);
		s->result[wid] |= (uint8_t)(1 << round);
		break;
	case SLOT_HELD:
	case SLOT_DUPLICATE:
	case SLOT_STALE:
		break;
	}
	return round == s->round[wid] &&
	       (verdict == SLOT_HELD || verdict == SLOT_COMPLETE || verdict == SLOT_REPEAT);
}

/* The worker takes its result and sends the next contribution. */
static void advance(const struct explorer *e, struct state *s, unsigned wid)
{
	s->round[wid]++;
	if (s->round[wid] < e->rounds)
		s->data[wid] |= (uint8_t)(1 << s->round[wid]);
}

enum intrusion { TOO_EARLY, OTHER_LENGTH, OTHER_DESC, OTHER_KIND, INTRUSIONS };

static void intrude_one(struct explorer *e, const struct state *from, unsigned wid,
			enum intrusion what, unsigned round)
{
	uint8_t payload[BYTES] = { 0x55 };
	struct slot_input in = {
		.epoch = EPOCH,
		.all = (UINT64_C(1) << e->workers) - 1,
		.round = round,
		.desc = round + 100 + (what == OTHER_DESC),
		.wid = (uint16_t)wid,
		.len = what == OTHER_LENGTH ? WIRE_PAD : BYTES,
		.kind = what == OTHER_KIND ? WIRE_MAX32 : WIRE_ADD32,
		.payload = payload,
		.cap = BYTES,
	};
	enum slot_verdict verdict;
	struct state s;

	memcpy(&s, from, sizeof(s));
	verdict = slot_add(&s.slot, s.values, BYTES, &add_scalar, &in);
	if (verdict != (what == TOO_EARLY ? SLOT_GAP : SLOT_MISMATCH))
		e->violation = "what must be refused is not";
	else if (memcmp(&s, from, sizeof(s)) != 0)
		e->violation = "what is refused changes the slot";
}

/* Each is only wrong while the worker is awaited; a round too early, while somebody else is. */
static void intrude(struct explorer *e, const struct state *from, unsigned wid)
{
	unsigned round = from->round[wid];
	const struct cell *cell = &from->slot.cell[round & 1];
	const bool here = cell->epoch == EPOCH && cell->round == round;

	if (e->fault != FAULT_NONE)
		return;
	intrude_one(e, from, wid, TOO_EARLY, round + 2);
	if (!here || cell->have != (UINT64_C(1) << e->workers) - 1)
		intrude_one(e, from, wid, TOO_EARLY, round + 1);
	if (!here || (cell->have >> wid & 1))
		return;
	intrude_one(e, from, wid, OTHER_DESC, round);
	intrude_one(e, from, wid, OTHER_KIND, round);
	if (cell->filled)
		intrude_one(e, from, wid, OTHER_LENGTH, round);
}

/* Tries everything that may happen next to the i-th state. */
static void expand(struct explorer *e, size_t i)
{
	bool done = true, live = false;
	struct state from, s;

	/* Copies, because the set moves as it grows; memcpy, because padding counts. */
	memcpy(&from, states_get(&e->states, i), sizeof(from));
	for (unsigned wid = 0; wid < WORKERS && wid < e->workers && !e->violation; wid++) {
		unsigned round = from.round[wid];

		done = done && round == e->rounds;
		if (round < e->rounds)
			intrude(e, &from, wid);
		for (unsigned r = 0; r < e->rounds && !e->violation; r++) {
			if (!(from.data[wid] >> r & 1))
				continue;
			memcpy(&s, &from, sizeof(s));
			live |= deliver(e, &s, wid, r);
			states_add(&e->states, &s);
			e->transitions++;
		}
		if (round < e->rounds &&
		    ((from.result[wid] >> round & 1) || e->fault == FAULT_AHEAD)) {
			memcpy(&s, &from, sizeof(s));
			advance(e, &s, wid);
			states_add(&e->states, &s);
			e->transitions++;
		}
	}
	if (!done && !live && !e->violation)
		e->violation = "stuck: no retransmission has an effect";
}

static void explore(struct explorer *e)
{
	struct state start;

	memset(&start, 0, sizeof(start));
	for (unsigned wid = 0; wid < e->workers; wid++)
		start.data[wid] = 1;
	states_init(&e->states, sizeof(start));
	states_add(&e->states, &start);
	for (size_t i = 0; i < e->states.nr && !e->violation; i++) {
		expand(e, i);
		if (e->states.nr > STATES_MAX)
			e->violation = "too many states: sums grow without end";
	}
	states_fini(&e->states);
}

static int explore_all_patterns(unsigned workers)
{
	size_t nr_states = 0, nr_transitions = 0;

	for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
		struct explorer e = { .workers = workers, .rounds = ROUNDS, .pattern = pattern };

		explore(&e);
		nr_states += e.states.nr;
		nr_transitions += e.transitions;
		if (e.violation) {
			printf("explore_slot: n=%u rounds=%d, EMPTY pattern %u: VIOLATION: %s\n",
			       workers, ROUNDS, pattern, e.violation);
			return 1;
		}
	}
	printf("explore_slot: n=%u rounds=%d: %zu states, %zu transitions, no violation\n", workers,
	       ROUNDS, nr_states, nr_transitions);
	return 0;
}

static int explore_faults(void)
{
	int missed = 0;

	for (enum fault fault = FAULT_NONE + 1; fault < FAULT_NR; fault++) {
		struct explorer e = { .workers = 3, .rounds = ROUNDS, .fault = fault };

		explore(&e);
		printf("explore_slot: fault built in, %s: %s%s\n", fault_names[fault],
		       e.violation ? "found: " : "NOT FOUND", e.violation ? e.violation : "");
		missed += !e.violation;
	}
	return missed;
}

int main(void)
{
	int failures = 0;

	for (unsigned workers = 2; workers <= WORKERS; workers++)
		failures += explore_all_patterns(workers);
	failures += explore_faults();
	return failures != 0;
}
