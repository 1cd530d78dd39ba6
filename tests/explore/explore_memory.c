// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_memory.c - what operations read and write of the caller's memory: two ranks' own engines,
 * of which one takes its results in every order, with timeouts in between, while the other has
 * them at once.  The switch between them is the explorer's: it adds words.
 *
 * Two operations are posted at every time, with source and destination at every place of a small
 * memory.  Checked: one that overlaps an unfinished one is refused, no other (R5); whatever is sent
 * again is what was sent first; the result is the sum by a plain loop, where it belongs, and no other
 * byte has changed; a block with Inf or NaN sends zeros and becomes quiet NaN (R4).  With CHECK:
 * CLOSE is right however often chunks are sent again (R7), an operation fails if one element of the
 * result is wrong, wherever and whenever (R8), and what lacks its seal is not taken.
 *
 * Then the explorer is tried itself: with each of several faults built in, it must find a violation.
 */
#include "tests/explore/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/quant.h"

static const char *const fault_names[FAULT_NR] = {
	[FAULT_NONE] = "none",
	[FAULT_ALIAS] = "operations overlap, at other addresses of the same memory",
	[FAULT_ALONE] = "the switch sends on one rank's exponents",
	[FAULT_ADDS] = "the switch adds one",
	[FAULT_WRITES] = "the application writes to what is being sent",
	[FAULT_CARRY] = "the switch adds int16 in pairs",
};

/* --- Choices: a run is a row of them, and the next run differs in the last that can --------------- */

static unsigned choose(struct explorer *e, unsigned nr)
{
	if (e->at == e->depth) {
		if (e->depth == DEPTH) {
			e->violation = "a run without end";
			return 0;
		}
		e->nr_choices[e->depth] = (uint8_t)nr;
		e->choices[e->depth++] = 0;
	}
	return e->choices[e->at++];
}

static bool choose_next(struct explorer *e)
{
	while (e->depth && e->choices[e->depth - 1] + 1U == e->nr_choices[e->depth - 1])
		e->depth--;
	if (e->depth)
		e->choices[e->depth - 1]++;
	e->at = 0;
	return e->depth > 0;
}

/* --- Memory -------------------------------------------------------------------------------------- */

/* No two words and no two ranks have the same; sums of several are exact in float32. */
static int32_t number_of(unsigned rank, unsigned i)
{
	uint32_t h = rank * 2654435761u ^ (i * 2246822519u + 374761393u);

	h ^= h >> 15;
	h *= 2654435761u;
	return (int32_t)(h >> 20) - 2048;
}

static uint32_t float_bits(float x)
{
	uint32_t word;

	memcpy(&word, &x, sizeof(word));
	return word;
}

/* Rank 0 has an Inf in the second block, rank 1 a NaN in the third. */
static uint32_t word_of(const struct setting *setting, unsigned rank, unsigned i)
{
	if (setting->nonfinite && i == BLOCK + 77 && rank == 0)
		return float_bits(-INFINITY);
	if (setting->nonfinite && i == 2 * BLOCK + 200 && rank == 1)
		return float_bits(NAN);
	return float_bits((float)number_of(rank, i));
}

static void memory_begin(struct explorer *e)
{
	for (unsigned i = 0; i < MEMORY; i++)
		e->memory[i] = word_of(&e->setting, 0, i);
	memcpy(e->want, e->memory, sizeof(e->want));
	for (unsigned op = 0; op < OPS; op++)
		for (unsigned i = 0; i < e->setting.count; i++)
			e->peer[op][i] = word_of(&e->setting, 1, op * COUNT_MAX + i);
}

static uint32_t sum_of(const struct explorer *e, uint32_t a, uint32_t b)
{
	float x, y;

	if (e->setting.max)
		return (int32_t)a > (int32_t)b ? a : b;
	if (!e->setting.floats)
		return a + b;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return float_bits(x + y);
}

/* One operation's result, which later ones may have overwritten. */
static void memory_want(struct explorer *e, unsigned op)
{
	uint32_t *want = e->want + place_first(&e->setting, e->setting.dst[op]);
	const uint32_t *have = e->memory + place_first(&e->setting, e->setting.dst[op]);

	for (unsigned i = 0; i < e->setting.count; i++) {
		const unsigned block = i / BLOCK;

		want[i] = sum_of(e, e->source[op][i], e->peer[op][i]);
		if (!e->setting.nonfinite || (block != 1 && block != 2))
			continue;
		if ((have[i] & 0x7fc00000) != 0x7fc00000)
			e->violation = "a block with Inf or NaN is not quiet NaN";
		want[i] = have[i];
	}
}

static void memory_check(struct explorer *e)
{
	for (unsigned op = 0; op < e->setting.nr_ops && !e->violation; op++) {
		if (!e->taken[op])
			continue;
		if (e->ops[0][op].status != TALLY_OK)
			e->violation = "an operation fails";
		memory_want(e, op);
	}
	if (!e->violation && memcmp(e->want, e->memory, sizeof(e->want)) != 0)
		e->violation = "wrong sum, or other bytes than the result's have changed";
}

/* A block with Inf or NaN anywhere sends zeros. */
static void block_check(struct explorer *e, const struct chunk *chunk, unsigned block)
{
	static const uint8_t zeros[P];
	const unsigned width = P / chunk_count(&e->setting);
	const unsigned at = block * BLOCK - chunk_first(&e->setting, chunk->slot, chunk->round);

	for (unsigned rank = 0; rank < RANKS && at < chunk_count(&e->setting); rank++)
		if (chunk->sent[rank] && memcmp(chunk->first[rank] + WIRE_HEADER + at * width,
						zeros, BLOCK * width) != 0)
			e->violation = "a block with Inf or NaN sends something";
}

static void payloads_check(struct explorer *e)
{
	for (unsigned i = 0; i < e->nr_chunks && e->setting.nonfinite && !e->violation; i++) {
		if (e->chunks[i].slot < WIRE_SE)
			continue;
		block_check(e, &e->chunks[i], 1);
		block_check(e, &e->chunks[i], 2);
	}
}

/* --- Operations ---------------------------------------------------------------------------------- */

static bool touch(const struct explorer *e, unsigned a, unsigned b)
{
	a = place_first(&e->setting, a);
	b = place_first(&e->setting, b);
	return a < b + e->setting.count && b < a + e->setting.count;
}

/* Whether the second operation may go, by the words of the rule. */
static bool may_post(const struct explorer *e)
{
	const struct setting *s = &e->setting;

	if (s->src[1] != s->dst[1] && touch(e, s->src[1], s->dst[1]))
		return false;
	if (e->ops[0][0].status != TALLY_IN_PROGRESS)
		return true;
	return !touch(e, s->dst[1], s->dst[0]) && !touch(e, s->dst[1], s->src[0]) &&
	       !touch(e, s->src[1], s->dst[0]);
}

static void post(struct explorer *e, unsigned op)
{
	uint32_t *base = op && e->fault == FAULT_ALIAS ? e->alias : e->memory;
	const bool may = op == 0 || may_post(e);
	uint32_t *src = base + place_first(&e->setting, e->setting.src[op]);

	memcpy(e->source[op], src, e->setting.count * sizeof(*src));
	e->tried[op] = true;
	e->taken[op] = memory_post(e, 0, op, src,
				   base + place_first(&e->setting, e->setting.dst[op])) == TALLY_OK;
	if (e->violation)
		return;
	if (e->taken[op] && !may && e->fault != FAULT_ALIAS)
		e->violation = "an operation that overlaps an unfinished one is taken";
	if (!e->taken[op] && may)
		e->violation = "an operation is refused that overlaps none";
	if (e->taken[op] && memory_post(e, 1, op, e->peer[op], e->peer_result[op]) != TALLY_OK)
		e->violation = "the other rank's operation is refused";
}

/* --- Runs ---------------------------------------------------------------------------------------- */

static bool all_done(const struct explorer *e)
{
	for (unsigned op = 0; op < e->setting.nr_ops; op++)
		if (!e->tried[op] || (e->taken[op] && e->ops[0][op].status == TALLY_IN_PROGRESS))
			return false;
	return true;
}

/* One result, or a burst of them in every order. */
static void take(struct explorer *e, struct chunk **ready, unsigned nr, unsigned choice)
{
	struct chunk *burst[CHUNKS];
	unsigned nr_burst = 0;

	for (;;) {
		burst[nr_burst++] = ready[choice];
		ready[choice] = ready[--nr];
		if (!e->setting.bursts || nr == 0)
			break;
		choice = choose(e, nr + 1);
		if (choice == nr)
			break;
	}
	memory_take(e, burst, nr_burst);
}

/* The next that happens to rank 0: results, a timeout, or that an operation is posted. */
static void step(struct explorer *e)
{
	const bool posts = e->setting.nr_ops > 1 && !e->tried[1];
	const bool times = e->timeouts < e->setting.timeouts;
	struct chunk *ready[CHUNKS];
	unsigned nr = 0, choice;

	for (unsigned i = 0; i < e->nr_chunks; i++)
		if (e->chunks[i].ready[0])
			ready[nr++] = &e->chunks[i];
	if (nr == 0 && !posts) {
		e->violation = "stuck";
		return;
	}
	choice = choose(e, nr + posts + times);
	e->steps++;
	if (choice < nr) {
		take(e, ready, nr, choice);
	} else if (choice == nr && posts) {
		post(e, 1);
	} else {
		e->timeouts++;
		if (e->fault == FAULT_WRITES && e->chunks[1].ready[0])
			e->memory[place_first(&e->setting, e->setting.src[0])]++;
		memory_timeout(e);
	}
	memory_take_all(e);
}

static void run(struct explorer *e)
{
	memory_begin(e);
	memory_reset(e);
	post(e, 0);
	memory_take_all(e);
	while (!e->violation && !all_done(e))
		step(e);
	e->runs++;
	payloads_check(e);
	if (e->violation)
		return;
	if (!e->setting.corrupt[0].more || !e->setting.check)
		memory_check(e);
	else if (e->ops[0][0].status != TALLY_PROTOCOL)
		e->violation = "a sum that is wrong is taken for right";
}

static void explore(struct explorer *e)
{
	e->depth = e->at = 0;
	do
		run(e);
	while (!e->violation && choose_next(e));
}

/* --- What is explored ---------------------------------------------------------------------------- */

/* Every place of the second operation, beside the first, which is in place or not. */
static void explore_places(struct explorer *e)
{
	static const unsigned first[] = { 0, 3, 6 };

	for (unsigned i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		for (unsigned at = 0; at < PLACES * PLACES && !e->violation; at++) {
			e->setting.src[0] = 3;
			e->setting.dst[0] = first[i];
			e->setting.src[1] = at / PLACES;
			e->setting.dst[1] = at % PLACES;
			explore(e);
		}
	}
}

/*
 * Elements of the sum in turn: one wrong; two whose errors cancel in one of the sums of CLOSE; two whose
 * top bit is wrong, which sums of integers, as they wrap, show if one is odd and the other even alone.
 */
static void explore_corruption(struct explorer *e)
{
	const int32_t top = e->setting.narrow ? 0x8000 : INT32_MIN;
	const struct {
		unsigned apart;
		int32_t first, second;
	} errors[] = { { 0, 1, 0 },
		       { 1, 1, -1 },
		       { BLOCK, 1, -1 },
		       { 1, 2, -1 },
		       { BLOCK - 1, top, top },
		       { BLOCK, top, top } };
	const unsigned nr = e->setting.floats ? 6 : 5;

	for (unsigned i = 0; i < nr && !e->violation; i++) {
		/* 2 and -1 cancel for the weights of the elements 1 and 2 alone. */
		const unsigned start = errors[i].first == 2;
		const unsigned last = start ? 2 : e->setting.count - BLOCK;

		for (unsigned at = start; at < last && !e->violation; at += 37) {
			e->setting.corrupt[0].at = at;
			e->setting.corrupt[0].more = errors[i].first;
			e->setting.corrupt[1].at = at + errors[i].apart;
			e->setting.corrupt[1].more = errors[i].second;
			explore(e);
		}
	}
}

enum { SLOTS = 2 }; /* if the setting has no other */

static const struct setting settings[] = {
	{ .name = "float32, every place",
	  .nr_ops = 2,
	  .count = BLOCK + 44,
	  .floats = true,
	  .timeouts = 1 },
	{ .name = "int32, every place", .nr_ops = 2, .count = BLOCK + 44 },
	{ .name = "int32 in place, bursts",
	  .nr_ops = 1,
	  .count = 5 * BLOCK - 3,
	  .bursts = true,
	  .slots = 8 },
	{ .name = "float32 in place, twice",
	  .nr_ops = 2,
	  .count = 2 * BLOCK - 9,
	  .floats = true,
	  .timeouts = 2,
	  .src = { 0, 4 },
	  .dst = { 0, 4 } },
	{ .name = "int32 in place", .nr_ops = 1, .count = 4 * BLOCK - 1, .timeouts = 3 },
	{ .name = "CHECK, float32, twice",
	  .nr_ops = 2,
	  .count = BLOCK + 44,
	  .floats = true,
	  .check = true,
	  .timeouts = 2,
	  .src = { 0, 4 },
	  .dst = { 0, 7 } },
	{ .name = "CHECK, int32 maximum",
	  .nr_ops = 1,
	  .count = 2 * BLOCK,
	  .max = true,
	  .check = true },
	{ .name = "CHECK, int32",
	  .nr_ops = 1,
	  .count = 3 * BLOCK - 5,
	  .check = true,
	  .timeouts = 3 },
	{ .name = "CHECK, results without seals",
	  .nr_ops = 1,
	  .count = 2 * BLOCK - 5,
	  .floats = true,
	  .check = true,
	  .unsealed = true,
	  .timeouts = 1 },
	{ .name = "CHECK, a wrong sum",
	  .nr_ops = 1,
	  .count = 3 * BLOCK,
	  .check = true,
	  .corrupt = { { 0, 1 } } },
	{ .name = "CHECK, a wrong sum of floats",
	  .nr_ops = 1,
	  .count = 3 * BLOCK,
	  .floats = true,
	  .check = true,
	  .corrupt = { { 0, 1 } } },
	{ .name = "float32 as int16, every place",
	  .nr_ops = 2,
	  .count = 2 * BLOCK + 44,
	  .floats = true,
	  .narrow = true,
	  .timeouts = 1 },
	{ .name = "CHECK, float32 as int16, twice",
	  .nr_ops = 2,
	  .count = 2 * BLOCK + 44,
	  .floats = true,
	  .narrow = true,
	  .check = true,
	  .timeouts = 2,
	  .src = { 0, 4 },
	  .dst = { 0, 7 } },
	{ .name = "CHECK, a wrong sum as int16",
	  .nr_ops = 1,
	  .count = 5 * BLOCK - 1,
	  .floats = true,
	  .narrow = true,
	  .check = true,
	  .corrupt = { { 0, 1 } } },
};

enum { SETTING_WRITTEN = 4, SETTING_NARROW = 11 };

/* Blocks that are lost, with and without CHECK. */
static const struct setting nonfinite = {
	.name = "Inf and NaN",
	.nr_ops = 1,
	.count = 4 * BLOCK - 5,
	.floats = true,
	.nonfinite = true,
	.timeouts = 2,
};

static void explore_setting(struct explorer *e, const struct setting *setting, enum fault fault,
			    const char *isa)
{
	memset(e, 0, sizeof(*e));
	e->setting = *setting;
	if (!e->setting.slots)
		e->setting.slots = SLOTS;
	e->fault = fault;
	e->isa = isa;
	memory_open(e);
	if (setting->nr_ops == 2 && setting->src[1] == 0)
		explore_places(e);
	else if (setting->corrupt[0].more)
		explore_corruption(e);
	else
		explore(e);
	memory_close(e);
}

static int explore_right(const struct setting *setting, const char *isa)
{
	static struct explorer e;

	explore_setting(&e, setting, FAULT_NONE, isa);
	printf("explore_memory: %s%s%s: all %" PRIu64 " runs, %" PRIu64 " steps, %s%s\n",
	       setting->name, isa ? ", " : "", isa ? isa : "", e.runs, e.steps,
	       e.violation ? "VIOLATION: " : "no violation", e.violation ? e.violation : "");
	return e.violation != NULL;
}

static int explore_fault(enum fault fault)
{
	static struct explorer e;
	const struct setting *setting = fault == FAULT_ALONE	? &nonfinite
					: fault == FAULT_WRITES ? &settings[SETTING_WRITTEN]
					: fault == FAULT_CARRY	? &settings[SETTING_NARROW]
								: &settings[0];

	explore_setting(&e, setting, fault, NULL);
	printf("explore_memory: fault built in, %s: %s%s\n", fault_names[fault],
	       e.violation ? "found: " : "NOT FOUND", e.violation ? e.violation : "");
	return e.violation == NULL;
}

int main(void)
{
	static const char *const isas[] = { "scalar", "avx2", "avx512", "avx512fp16" };
	int failures = 0;

	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		failures += explore_right(&settings[i], NULL);
	for (unsigned i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
		struct setting setting = nonfinite;

		if (!quant_select(isas[i]))
			continue;
		failures += explore_right(&setting, isas[i]);
		setting.check = true;
		setting.name = "CHECK, Inf and NaN";
		failures += explore_right(&setting, isas[i]);
		setting.narrow = true;
		setting.name = "CHECK, Inf and NaN as int16";
		failures += explore_right(&setting, isas[i]);
	}
	for (enum fault fault = FAULT_NONE + 1; fault < FAULT_NR; fault++)
		failures += explore_fault(fault);
	return failures != 0;
}
