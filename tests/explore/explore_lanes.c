// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_lanes.c - every behaviour of two lanes with several operations: the switch's own
 * slot_add() for lane E (exponents, unsigned byte maximum) and lane D (integers, sum), under a
 * network that delivers whatever was ever sent late, again, in any order, or never.
 *
 * The operations: one of two segments with two and one data chunks, one of a single chunk, a
 * barrier, and one of two chunks.  Checked: results are exact, nothing the workers do by their
 * rules looks like a gap or a mismatch to the switch, and no run is stuck, whatever the window and
 * however far exponents are sent ahead.
 *
 * Then the explorer is tried itself: without one of the workers' rules it must find a violation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "switch/core/slot.h"
#include "tests/explore/states.h"

enum { WORKERS = 3, CHUNKS = 10, SLOTS = 4, BYTES = WIRE_PAD, STATES_MAX = 1000000 };
#define EPOCH UINT64_C(9)

struct chunk {
	bool exponents; /* lane E */
	uint8_t number; /* in its lane */
	int8_t needs;	/* data: the chunk whose result it waits for; exponents: -1 */
	uint8_t segment;
};

/* In the order of issue. */
static const struct chunk chunks[CHUNKS] = {
	{ true, 0, -1, 0 }, { true, 1, -1, 1 }, { false, 0, 0, 0 }, { false, 1, 0, 0 },
	{ false, 2, 1, 1 }, { true, 2, -1, 2 }, { false, 3, 5, 2 }, { true, 3, -1, 3 },
	{ true, 4, -1, 4 }, { false, 4, 8, 4 },
};

enum rule {
	RULE_NONE,
	RULE_ORDER,    /* first transmissions within a lane go in order */
	RULE_REUSE,    /* a chunk goes when the result of the one before it in its slot is taken */
	RULE_EXPONENT, /* data waits for the result of its exponents */
	RULE_NR
};

static const char *const rule_names[RULE_NR] = {
	[RULE_NONE] = "none",
	[RULE_ORDER] = "in order",
	[RULE_REUSE] = "slots reused only after their result",
	[RULE_EXPONENT] = "data after its exponents",
};

/* How workers behave. */
struct setting {
	unsigned workers, chunks; /* the first so many */
	unsigned nr_e, nr_d;	  /* slots of each lane */
	unsigned window;	  /* data chunks in flight, at most nr_d */
	bool careful; /* worker 0 sends exponents only when the data before them is done */
	enum rule broken;
};

struct state {
	struct slot slots[SLOTS];
	uint8_t values[SLOTS][2 * BYTES];
	uint16_t sent[WORKERS], result[WORKERS], taken[WORKERS]; /* bit per chunk */
};

struct explorer {
	struct setting setting;
	struct states states;
	size_t transitions;
	const char *violation; /* NULL: none yet */
};

static unsigned lane_slots(const struct setting *setting, const struct chunk *chunk)
{
	return chunk->exponents ? setting->nr_e : setting->nr_d;
}

/* The chunk that used this one's slot before it; -1: none. */
static int chunk_before(const struct setting *setting, unsigned c)
{
	const struct chunk *chunk = &chunks[c];

	for (unsigned i = 0; i < setting->chunks; i++) {
		if (chunks[i].exponents == chunk->exponents &&
		    chunks[i].number + lane_slots(setting, chunk) == chunk->number)
			return (int)i;
	}
	return -1;
}

/* Rule R1, and R2's window for data. */
static bool may_be_next(const struct setting *setting, const struct state *s, unsigned wid,
			unsigned c)
{
	const struct chunk *chunk = &chunks[c];
	unsigned in_flight = 0;

	for (unsigned i = 0; i < setting->chunks; i++) {
		if (chunks[i].exponents != chunk->exponents)
			continue;
		if (setting->broken != RULE_ORDER && chunks[i].number < chunk->number &&
		    !(s->sent[wid] >> i & 1))
			return false;
		in_flight += (s->sent[wid] & ~s->taken[wid]) >> i & 1;
	}
	return chunk->exponents || in_flight < setting->window;
}

static bool may_send(const struct setting *setting, const struct state *s, unsigned wid, unsigned c)
{
	const struct chunk *chunk = &chunks[c];
	int before = chunk_before(setting, c);

	if (s->sent[wid] >> c & 1)
		return false;
	if (setting->broken != RULE_REUSE && before >= 0 && !(s->taken[wid] >> before & 1))
		return false;
	if (setting->broken != RULE_EXPONENT && chunk->needs >= 0 &&
	    !(s->taken[wid] >> chunk->needs & 1))
		return false;
	for (unsigned i = 0; i < setting->chunks && setting->careful && wid == 0; i++) {
		if (chunk->exponents && !chunks[i].exponents &&
		    chunks[i].segment < chunk->segment && !(s->taken[wid] >> i & 1))
			return false;
	}
	return may_be_next(setting, s, wid, c);
}

/*
 * Exponents: a byte whose maximum is of another worker for each chunk; data: five bits per worker.
 */
static uint32_t value_of(unsigned wid, unsigned c)
{
	if (chunks[c].exponents)
		return 10 + (wid * 7 + c * 3) % 11;
	return (c + 1) << 5 * wid;
}

static uint32_t result_of(const struct setting *setting, unsigned c)
{
	uint32_t result = 0;

	for (unsigned wid = 0; wid < setting->workers; wid++) {
		uint32_t value = value_of(wid, c);

		if (!chunks[c].exponents)
			result += value;
		else if (value > result)
			result = value;
	}
	return result;
}

/*
 * A worker that sends data before its exponents are agreed scales it by its own: the sum is of
 * different units. Modelled as a wrong element, so that the rule's absence shows.
 */
static uint32_t sent_value(const struct explorer *e, const struct state *s, unsigned wid,
			   unsigned c)
{
	int needs = chunks[c].needs;

	if (e->setting.broken == RULE_EXPONENT && needs >= 0 && !(s->taken[wid] >> needs & 1))
		return value_of(wid, c) << 1;
	return value_of(wid, c);
}

static void check_result(struct explorer *e, const struct slot_input *result, unsigned c)
{
	uint32_t value = chunks[c].exponents ? result->payload[3] : wire_get32(result->payload);

	if (value != result_of(&e->setting, c))
		e->violation = "wrong result";
	else if (result->desc != c + 100)
		e->violation = "result of another chunk";
}

/* True if the sender, waiting for this chunk, gets on by it. */
static bool deliver(struct explorer *e, struct state *s, unsigned wid, unsigned c)
{
	const struct chunk *chunk = &chunks[c];
	unsigned nr = lane_slots(&e->setting, chunk);
	unsigned slot = chunk->number % nr + (chunk->exponents ? 0 : e->setting.nr_e);
	uint8_t payload[BYTES] = { 0 };
	struct slot_input in = {
		.epoch = EPOCH,
		.all = (UINT64_C(1) << e->setting.workers) - 1,
		.round = chunk->number / nr,
		.desc = c + 100,
		.wid = (uint16_t)wid,
		.len = BYTES,
		.kind = chunk->exponents ? WIRE_MAX8 : WIRE_ADD32,
		.payload = payload,
		.cap = BYTES,
	};
	enum slot_verdict verdict;

	wire_put32(payload, sent_value(e, s, wid, c));
	verdict = slot_add(&s->slots[slot], s->values[slot], BYTES, &add_scalar, &in);
	switch (verdict) {
	case SLOT_GAP:
	case SLOT_MISMATCH:
	case SLOT_NO_ROOM:
		e->violation = "the switch found a gap or a mismatch";
		return false;
	case SLOT_COMPLETE:
		check_result(e, &in, c);
		for (unsigned i = 0; i < e->setting.workers; i++)
			s->result[i] |= (uint16_t)(1 << c);
		break;
	case SLOT_REPEAT:
		check_result(e, &in, c);
		s->result[wid] |= (uint16_t)(1 << c);
		break;
	case SLOT_HELD:
	case SLOT_DUPLICATE:
	case SLOT_STALE:
		break;
	}
	return !(s->taken[wid] >> c & 1) &&
	       (verdict == SLOT_HELD || verdict == SLOT_COMPLETE || verdict == SLOT_REPEAT);
}

/*
 * The worker and the chunk: sends it, has it delivered, takes its result.  True: somebody gets on.
 */
static bool expand_chunk(struct explorer *e, const struct state *from, unsigned wid, unsigned c)
{
	struct state s;
	bool live = false;

	memcpy(&s, from, sizeof(s));
	if (may_send(&e->setting, from, wid, c)) {
		s.sent[wid] |= (uint16_t)(1 << c);
		states_add(&e->states, &s);
		e->transitions++;
		return true;
	}
	if (!(from->sent[wid] >> c & 1))
		return false;
	live = deliver(e, &s, wid, c);
	states_add(&e->states, &s);
	e->transitions++;
	if ((from->result[wid] & ~from->taken[wid]) >> c & 1) {
		memcpy(&s, from, sizeof(s));
		s.taken[wid] |= (uint16_t)(1 << c);
		states_add(&e->states, &s);
		e->transitions++;
	}
	return live;
}

static void expand(struct explorer *e, size_t i)
{
	bool done = true, live = false;
	struct state from;

	memcpy(&from, states_get(&e->states, i), sizeof(from));
	for (unsigned wid = 0; wid < WORKERS && wid < e->setting.workers; wid++) {
		done = done && from.taken[wid] == (1 << e->setting.chunks) - 1;
		for (unsigned c = 0; c < e->setting.chunks && !e->violation; c++)
			live |= expand_chunk(e, &from, wid, c);
	}
	if (!done && !live && !e->violation)
		e->violation = "stuck";
}

static void explore(struct explorer *e)
{
	struct state start;

	memset(&start, 0, sizeof(start));
	states_init(&e->states, sizeof(start));
	states_add(&e->states, &start);
	for (size_t i = 0; i < e->states.nr && !e->violation; i++) {
		expand(e, i);
		if (e->states.nr > STATES_MAX)
			e->violation = "too many states";
	}
	states_fini(&e->states);
}

static int explore_setting(const struct setting *setting)
{
	struct explorer e = { .setting = *setting };

	explore(&e);
	printf("explore_lanes: n=%u chunks=%u slots=%u+%u window=%u%s: ", setting->workers,
	       setting->chunks, setting->nr_e, setting->nr_d, setting->window,
	       setting->careful ? " careful" : "");
	printf("%zu states, %zu transitions, %s%s\n", e.states.nr, e.transitions,
	       e.violation ? "VIOLATION: " : "no violation", e.violation ? e.violation : "");
	return e.violation != NULL;
}

static int explore_rule(enum rule rule)
{
	struct explorer e = {
		.setting = { .workers = 2,
			     .chunks = CHUNKS,
			     .nr_e = 1,
			     .nr_d = 2,
			     .window = 1,
			     .broken = rule },
	};

	explore(&e);
	printf("explore_lanes: without the rule \"%s\": %s%s\n", rule_names[rule],
	       e.violation ? "found: " : "NOT FOUND", e.violation ? e.violation : "");
	return e.violation == NULL;
}

int main(void)
{
	static const struct setting settings[] = {
		{ .workers = 2, .chunks = 10, .nr_e = 1, .nr_d = 1, .window = 1 },
		{ .workers = 2, .chunks = 10, .nr_e = 1, .nr_d = 2, .window = 2 },
		{ .workers = 2, .chunks = 10, .nr_e = 2, .nr_d = 2, .window = 1, .careful = true },
		{ .workers = 2, .chunks = 10, .nr_e = 2, .nr_d = 2, .window = 2 },
		{ .workers = 3, .chunks = 6, .nr_e = 1, .nr_d = 2, .window = 2 },
		{ .workers = 3, .chunks = 10, .nr_e = 1, .nr_d = 2, .window = 2, .careful = true },
		{ .workers = 3, .chunks = 10, .nr_e = 2, .nr_d = 2, .window = 1, .careful = true },
	};
	int failures = 0;

	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		failures += explore_setting(&settings[i]);
	for (enum rule rule = RULE_NONE + 1; rule < RULE_NR; rule++)
		failures += explore_rule(rule);
	return failures != 0;
}
