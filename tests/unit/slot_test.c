// SPDX-License-Identifier: BSD-3-Clause
// The slot's rule: which contributions count, which are dropped, and what the result is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/slot.h"

enum { WORLD = 4, LEN = 128, ROOM = 256, ALL = (1 << WORLD) - 1 };
#define EPOCH UINT64_C(1700000000123)

struct fixture {
	struct slot slot;
	_Alignas(64) uint8_t values[2 * ROOM];
	uint8_t payload[ROOM];
	struct slot_input in; /* the last one */
};

/* Every rank, round and element has a value of its own. */
static uint32_t element(unsigned wid, uint32_t round, unsigned i)
{
	uint64_t x = ((uint64_t)wid << 56 ^ (uint64_t)round << 16 ^ i) + 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x ^ x >> 31);
}

static uint32_t sum_of(uint64_t wids, uint32_t round, unsigned i)
{
	uint32_t sum = 0;

	for (unsigned wid = 0; wid < 64; wid++) {
		if (wids >> wid & 1)
			sum += element(wid, round, i);
	}
	return sum;
}

static void put(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static uint32_t get(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static struct slot_input input(struct fixture *f, unsigned wid, uint32_t round)
{
	memset(f->payload, 0xee, sizeof(f->payload));
	for (unsigned i = 0; i < LEN / 4; i++)
		put(f->payload + 4 * i, element(wid, round, i));
	return (struct slot_input){
		.epoch = EPOCH,
		.all = ALL,
		.round = round,
		.desc = 0x1000 + round,
		.wid = (uint16_t)wid,
		.len = LEN,
		.kind = WIRE_ADD32,
		.payload = f->payload,
		.cap = ROOM,
	};
}

static enum slot_verdict add(struct fixture *f, const struct slot_input *in)
{
	f->in = *in;
	return slot_add(&f->slot, f->values, ROOM, &add_scalar, &f->in);
}

static enum slot_verdict contribute(struct fixture *f, unsigned wid, uint32_t round)
{
	struct slot_input in = input(f, wid, round);

	return add(f, &in);
}

static enum slot_verdict contribute_empty(struct fixture *f, unsigned wid, uint32_t round)
{
	struct slot_input in = input(f, wid, round);

	memset(f->payload, 0, sizeof(f->payload));
	in.flags = WIRE_EMPTY;
	in.len = WIRE_PAD;
	return add(f, &in);
}

/* The payload holds the sum over wids, and nothing was written behind it. */
static void assert_result(const struct fixture *f, uint64_t wids, uint32_t round)
{
	assert_int_equal(f->in.len, LEN);
	assert_int_equal(f->in.kind, WIRE_ADD32);
	assert_int_equal(f->in.desc, 0x1000 + round);
	for (unsigned i = 0; i < LEN / 4; i++)
		assert_int_equal(get(f->payload + 4 * i), sum_of(wids, round, i));
}

static void complete(struct fixture *f, uint32_t round)
{
	for (unsigned wid = 0; wid < WORLD; wid++)
		contribute(f, wid, round);
	assert_result(f, ALL, round);
}

static void slot_add__last_contribution_brings_the_sum(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	assert_int_equal(contribute(&f, 2, 0), SLOT_HELD);
	assert_int_equal(contribute(&f, 0, 0), SLOT_HELD);
	assert_int_equal(contribute(&f, 3, 0), SLOT_HELD);
	assert_int_equal(contribute(&f, 1, 0), SLOT_COMPLETE);
	assert_result(&f, ALL, 0);
	assert_int_equal(f.in.flags, 0);
	assert_int_equal(f.payload[LEN], 0xee);
}

static void slot_add__world_of_one_completes_at_once(void **state)
{
	struct fixture f = { 0 };
	struct slot_input in;

	(void)state;
	for (uint32_t round = 0; round < 5; round++) {
		in = input(&f, 0, round);
		in.all = 1;
		assert_int_equal(add(&f, &in), SLOT_COMPLETE);
		assert_result(&f, 1, round);
		in = input(&f, 0, round);
		in.all = 1;
		assert_int_equal(add(&f, &in), SLOT_REPEAT);
		assert_result(&f, 1, round);
	}
}

static void slot_add__world_of_64_uses_every_bit(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (unsigned wid = 0; wid < 64; wid++) {
		struct slot_input in = input(&f, 63 - wid, 0);

		in.all = UINT64_MAX;
		assert_int_equal(add(&f, &in), wid < 63 ? SLOT_HELD : SLOT_COMPLETE);
	}
	assert_result(&f, UINT64_MAX, 0);
}

static void slot_add__duplicate_is_not_added(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	contribute(&f, 0, 0);
	contribute(&f, 1, 0);
	assert_int_equal(contribute(&f, 0, 0), SLOT_DUPLICATE);
	assert_int_equal(contribute(&f, 1, 0), SLOT_DUPLICATE);
	contribute(&f, 2, 0);
	assert_int_equal(contribute(&f, 3, 0), SLOT_COMPLETE);
	assert_result(&f, ALL, 0);
}

static void slot_add__duplicate_of_a_complete_chunk_is_answered(void **state)
{
	struct fixture f = { 0 };
	struct slot_input in;

	(void)state;
	complete(&f, 0);
	for (unsigned wid = 0; wid < WORLD; wid++) {
		assert_int_equal(contribute(&f, wid, 0), SLOT_REPEAT);
		assert_result(&f, ALL, 0);
	}
	/* Whatever it says now: the answer describes what was added. */
	in = input(&f, 1, 0);
	in.desc = 77;
	in.kind = WIRE_MAX32;
	assert_int_equal(add(&f, &in), SLOT_REPEAT);
	assert_result(&f, ALL, 0);
}

static void slot_add__old_round_is_stale(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	complete(&f, 0);
	complete(&f, 1);
	contribute(&f, 0, 2);
	assert_int_equal(contribute(&f, 1, 0), SLOT_STALE);
	assert_int_equal(contribute(&f, 0, 0), SLOT_STALE);
	/* The round before is still at hand. */
	assert_int_equal(contribute(&f, 3, 1), SLOT_REPEAT);
	assert_result(&f, ALL, 1);
	for (unsigned wid = 1; wid < WORLD; wid++)
		contribute(&f, wid, 2);
	assert_result(&f, ALL, 2);
}

static void slot_add__future_round_without_the_one_before_is_a_gap(void **state)
{
	struct fixture f = { 0 };
	struct fixture before;

	(void)state;
	assert_int_equal(contribute(&f, 0, 1), SLOT_GAP);
	assert_int_equal(contribute(&f, 0, 2), SLOT_GAP);
	complete(&f, 0);
	before = f;
	assert_int_equal(contribute(&f, 0, 2), SLOT_GAP);
	assert_int_equal(contribute(&f, 0, 3), SLOT_GAP);
	assert_int_equal(contribute(&f, 0, WIRE_ROUND_END - 1), SLOT_GAP);
	assert_memory_equal(&before.slot, &f.slot, sizeof(f.slot));
	assert_memory_equal(before.values, f.values, sizeof(f.values));
	assert_int_equal(contribute(&f, 0, 1), SLOT_HELD);
}

/* Rank 0 may still need round 0: its result is overwritten by nobody who did not wait for round 1. */
static void slot_add__round_ahead_of_one_that_waits_is_a_gap(void **state)
{
	struct fixture f = { 0 };
	struct fixture before;

	(void)state;
	complete(&f, 0);
	for (unsigned wid = 1; wid < WORLD; wid++) {
		assert_int_equal(contribute(&f, wid, 1), SLOT_HELD);
		before = f;
		assert_int_equal(contribute(&f, wid, 2), SLOT_GAP);
		assert_memory_equal(&before.slot, &f.slot, sizeof(f.slot));
		assert_memory_equal(before.values, f.values, sizeof(f.values));
	}
	assert_int_equal(contribute(&f, 0, 0), SLOT_REPEAT);
	assert_result(&f, ALL, 0);
	assert_int_equal(contribute(&f, 0, 1), SLOT_COMPLETE);
	assert_int_equal(contribute(&f, 1, 2), SLOT_HELD);
}

/* A worker may be a round ahead of the slowest, which still repeats the round before. */
static void slot_add__two_rounds_live_side_by_side(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	complete(&f, 0);
	assert_int_equal(contribute(&f, 2, 1), SLOT_HELD);
	assert_int_equal(contribute(&f, 3, 0), SLOT_REPEAT);
	assert_result(&f, ALL, 0);
	assert_int_equal(contribute(&f, 3, 1), SLOT_HELD);
	contribute(&f, 0, 1);
	assert_int_equal(contribute(&f, 1, 1), SLOT_COMPLETE);
	assert_result(&f, ALL, 1);
}

static void slot_add__cell_of_another_epoch_is_dead(void **state)
{
	struct fixture f = { 0 };
	struct slot_input in;

	(void)state;
	complete(&f, 0);
	complete(&f, 1);
	complete(&f, 2);
	for (unsigned wid = 0; wid < WORLD; wid++) {
		in = input(&f, wid, 0);
		in.epoch = EPOCH + 5;
		assert_int_equal(add(&f, &in), wid + 1 < WORLD ? SLOT_HELD : SLOT_COMPLETE);
	}
	assert_result(&f, ALL, 0);
	/* The old epoch's round 1 does not vouch for the new one's round 2. */
	in = input(&f, 0, 2);
	in.epoch = EPOCH + 5;
	assert_int_equal(add(&f, &in), SLOT_GAP);
}

static void slot_add__other_kind_desc_or_length_is_a_mismatch(void **state)
{
	struct fixture f = { 0 };
	struct fixture before;
	struct slot_input in;

	(void)state;
	contribute(&f, 0, 0);
	before = f;
	in = input(&f, 1, 0);
	in.kind = WIRE_MAX32;
	assert_int_equal(add(&f, &in), SLOT_MISMATCH);
	in = input(&f, 1, 0);
	in.desc++;
	assert_int_equal(add(&f, &in), SLOT_MISMATCH);
	in = input(&f, 1, 0);
	in.len = LEN - WIRE_PAD;
	assert_int_equal(add(&f, &in), SLOT_MISMATCH);
	assert_memory_equal(&before.slot, &f.slot, sizeof(f.slot));
	assert_memory_equal(before.values, f.values, sizeof(f.values));
	assert_int_equal(contribute(&f, 1, 0), SLOT_HELD);
}

static void slot_add__empty_counts_and_adds_nothing(void **state)
{
	(void)state;
	/* Whichever of the four are empty, in order of rank. */
	for (unsigned empty = 0; empty < ALL; empty++) {
		struct fixture f = { 0 };
		enum slot_verdict verdict = SLOT_GAP;

		for (unsigned wid = 0; wid < WORLD; wid++)
			verdict = empty >> wid & 1 ? contribute_empty(&f, wid, 0)
						   : contribute(&f, wid, 0);
		assert_int_equal(verdict, SLOT_COMPLETE);
		assert_result(&f, ALL & ~empty, 0);
		assert_int_equal(f.in.flags, 0);
		assert_int_equal(contribute_empty(&f, 0, 0), SLOT_REPEAT);
		assert_result(&f, ALL & ~empty, 0);
	}
}

static void slot_add__all_empty_goes_out_as_empty(void **state)
{
	struct fixture f = { 0 };
	static const uint8_t zero[WIRE_PAD];

	(void)state;
	for (unsigned wid = 0; wid < WORLD; wid++)
		contribute_empty(&f, wid, 0);
	assert_int_equal(f.in.flags, WIRE_EMPTY);
	assert_int_equal(f.in.len, WIRE_PAD);
	assert_memory_equal(f.payload, zero, WIRE_PAD);
	/* A repetition with values does not bring them in late. */
	assert_int_equal(contribute(&f, 2, 0), SLOT_REPEAT);
	assert_int_equal(f.in.flags, WIRE_EMPTY);
	assert_int_equal(f.in.len, WIRE_PAD);
	assert_memory_equal(f.payload, zero, WIRE_PAD);
}

static void slot_add__empty_of_another_kind_or_desc_is_a_mismatch(void **state)
{
	struct fixture f = { 0 };
	struct slot_input in;

	(void)state;
	contribute_empty(&f, 0, 0);
	in = input(&f, 1, 0);
	in.kind = WIRE_ADD16;
	assert_int_equal(add(&f, &in), SLOT_MISMATCH);
	in = input(&f, 1, 0);
	in.flags = WIRE_EMPTY;
	in.len = WIRE_PAD;
	in.desc = 1;
	assert_int_equal(add(&f, &in), SLOT_MISMATCH);
}

static void slot_add__result_larger_than_the_packet_changes_nothing(void **state)
{
	struct fixture f = { 0 };
	struct fixture before;
	struct slot_input in;

	(void)state;
	for (unsigned wid = 0; wid + 1 < WORLD; wid++)
		contribute(&f, wid, 0);
	before = f;
	in = input(&f, WORLD - 1, 0);
	in.flags = WIRE_EMPTY;
	in.len = WIRE_PAD;
	in.cap = LEN - 1;
	assert_int_equal(add(&f, &in), SLOT_NO_ROOM);
	assert_memory_equal(&before.slot, &f.slot, sizeof(f.slot));
	in.cap = LEN;
	assert_int_equal(add(&f, &in), SLOT_COMPLETE);
	assert_result(&f, ALL & ~(1 << (WORLD - 1)), 0);
	in.flags = WIRE_EMPTY;
	in.len = WIRE_PAD;
	in.cap = LEN - 1;
	assert_int_equal(add(&f, &in), SLOT_NO_ROOM);
}

static void slot_add__saturation_is_remembered_until_the_result(void **state)
{
	struct fixture f = { 0 };
	uint32_t values[WORLD] = { 0x7fffff00, 0x00000200, 5, 0xfffffff0 };

	(void)state;
	for (unsigned wid = 0; wid < WORLD; wid++) {
		struct slot_input in = input(&f, wid, 0);

		in.kind = WIRE_ADD32SAT;
		memset(f.payload, 0, LEN);
		put(f.payload, values[wid]);
		add(&f, &in);
	}
	assert_int_equal(f.in.flags, WIRE_SATURATED);
	assert_int_equal(get(f.payload), 0x7fffffef);
	for (unsigned wid = 0; wid < WORLD; wid++) {
		struct slot_input in = input(&f, wid, 1);

		in.kind = WIRE_ADD32SAT;
		memset(f.payload, 0, LEN);
		add(&f, &in);
	}
	assert_int_equal(f.in.flags, 0);
}

static void slot_add__saturation_at_the_last_contribution_is_reported(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (unsigned wid = 0; wid < WORLD; wid++) {
		struct slot_input in = input(&f, wid, 0);

		in.kind = WIRE_ADD32SAT;
		memset(f.payload, 0, LEN);
		put(f.payload + LEN - 4, wid + 1 < WORLD ? 0xd5555556 : 0xffffff00);
		add(&f, &in);
	}
	assert_int_equal(f.in.flags, WIRE_SATURATED);
	assert_int_equal(get(f.payload + LEN - 4), 0x80000000);
}

/*
 * Situation: packet i of the first window is lost; its sender repeats it, everything else is as
 * usual.
 */
static void slot_add__any_one_lost_packet_leaves_the_sum_exact(void **state)
{
	(void)state;
	for (unsigned lost = 0; lost < 3 * WORLD; lost++) {
		struct fixture f = { 0 };

		for (uint32_t round = 0; round < 3; round++) {
			enum slot_verdict verdict = SLOT_HELD;

			for (unsigned wid = 0; wid < WORLD; wid++) {
				if (round * WORLD + wid != lost)
					verdict = contribute(&f, wid, round);
			}
			if (lost / WORLD == round) {
				assert_int_equal(verdict, SLOT_HELD);
				/* All time out; only the one that is missing has an effect. */
				for (unsigned wid = 0; wid < WORLD; wid++) {
					if (wid != lost % WORLD)
						assert_int_equal(contribute(&f, wid, round),
								 SLOT_DUPLICATE);
				}
				verdict = contribute(&f, lost % WORLD, round);
			}
			assert_int_equal(verdict, SLOT_COMPLETE);
			assert_result(&f, ALL, round);
		}
	}
}

/*
 * Situation: a copy of a contribution arrives when its slot is one or two rounds further, at every
 * point of these.
 */
static void slot_add__late_duplicate_leaves_the_sum_exact(void **state)
{
	(void)state;
	for (unsigned when = 0; when <= 2 * WORLD; when++) {
		for (unsigned late = 0; late < WORLD; late++) {
			struct fixture f = { 0 };
			enum slot_verdict verdict;

			complete(&f, 0);
			for (unsigned i = 0; i < 2 * WORLD; i++) {
				if (i == when) {
					verdict = contribute(&f, late, 0);
					assert_int_equal(verdict,
							 i <= WORLD ? SLOT_REPEAT : SLOT_STALE);
				}
				verdict = contribute(&f, i % WORLD, 1 + i / WORLD);
				if (i % WORLD + 1 == WORLD)
					assert_result(&f, ALL, 1 + i / WORLD);
			}
			assert_int_equal(verdict, SLOT_COMPLETE);
			if (when == 2 * WORLD)
				assert_int_equal(contribute(&f, late, 0), SLOT_STALE);
		}
	}
}

static void slot_missing__names_who_is_awaited(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	assert_int_equal(slot_missing(&f.slot, EPOCH, 0, ALL), ALL);
	contribute(&f, 1, 0);
	assert_int_equal(slot_missing(&f.slot, EPOCH, 0, ALL), ALL & ~2);
	assert_int_equal(slot_missing(&f.slot, EPOCH, 1, ALL), ALL);
	assert_int_equal(slot_missing(&f.slot, EPOCH, 2, ALL), ALL);
	assert_int_equal(slot_missing(&f.slot, EPOCH + 1, 0, ALL), ALL);
	for (unsigned wid = 0; wid < WORLD; wid++)
		contribute(&f, wid, 0);
	assert_int_equal(slot_missing(&f.slot, EPOCH, 0, ALL), 0);
}

/* --- Leaf ------------------------------------------------------------------------------------- */

static enum slot_verdict leaf_add(struct fixture *f, unsigned wid, uint32_t round, unsigned flags)
{
	struct slot_input in = input(f, wid, round);

	in.leaf = true;
	in.flags = (uint8_t)flags;
	if (flags & WIRE_EMPTY)
		in.len = WIRE_PAD;
	return add(f, &in);
}

static bool leaf_result(struct fixture *f, uint32_t round, uint16_t len, unsigned flags)
{
	struct slot_input in = input(f, 9, round);

	in.len = len;
	in.flags = (uint8_t)flags;
	return slot_result(&f->slot, f->values, ROOM, &add_scalar, &in);
}

static void slot_result__replaces_a_complete_sum_once(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (unsigned wid = 0; wid < WORLD - 1; wid++) {
		leaf_add(&f, wid, 0, 0);
		assert_false(leaf_result(&f, 0, LEN, 0));
	}
	assert_int_equal(leaf_add(&f, WORLD - 1, 0, 0), SLOT_COMPLETE);
	assert_false(f.slot.cell[0].done);
	assert_int_equal(leaf_add(&f, 1, 0, 0), SLOT_REPEAT);
	assert_int_equal(get(f.payload + 4), sum_of(ALL, 0, 1));
	assert_false(leaf_result(&f, 1, LEN, 0));
	assert_false(leaf_result(&f, 2, LEN, 0));
	assert_false(leaf_result(&f, 0, LEN / 2, 0));
	assert_false(leaf_result(&f, 0, WIRE_PAD, WIRE_EMPTY));
	assert_true(leaf_result(&f, 0, LEN, WIRE_SATURATED));
	assert_true(f.slot.cell[0].done);
	assert_false(leaf_result(&f, 0, LEN, 0));
	assert_int_equal(leaf_add(&f, 1, 0, 0), SLOT_REPEAT);
	assert_int_equal(get(f.payload + 4), element(9, 0, 1));
	assert_int_equal(f.in.flags, WIRE_SATURATED);
	/* The next round of the cell waits for a result of its own. */
	for (unsigned wid = 0; wid < WORLD; wid++)
		leaf_add(&f, wid, 1, 0);
	assert_true(leaf_result(&f, 1, LEN, 0));
	leaf_add(&f, 0, 2, 0);
	assert_false(f.slot.cell[0].done);
}

/* Complete here is not enough: nobody has the result before the parent's has come. */
static void slot_result__round_ahead_of_it_is_a_gap(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (unsigned wid = 0; wid < WORLD; wid++)
		leaf_add(&f, wid, 0, 0);
	assert_int_equal(leaf_add(&f, 2, 1, 0), SLOT_GAP);
	assert_true(leaf_result(&f, 0, LEN, 0));
	assert_int_equal(leaf_add(&f, 2, 1, 0), SLOT_HELD);
}

static void slot_result__values_from_elsewhere(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (unsigned wid = 0; wid < WORLD; wid++)
		leaf_add(&f, wid, 0, WIRE_EMPTY);
	assert_int_equal(f.in.flags, WIRE_EMPTY);
	assert_true(leaf_result(&f, 0, LEN, 0));
	assert_int_equal(leaf_add(&f, 2, 0, WIRE_EMPTY), SLOT_REPEAT);
	assert_int_equal(f.in.len, LEN);
	assert_int_equal(f.in.flags, 0);
	assert_int_equal(get(f.payload + 12), element(9, 0, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slot_add__last_contribution_brings_the_sum),
		cmocka_unit_test(slot_add__world_of_one_completes_at_once),
		cmocka_unit_test(slot_add__world_of_64_uses_every_bit),
		cmocka_unit_test(slot_add__duplicate_is_not_added),
		cmocka_unit_test(slot_add__duplicate_of_a_complete_chunk_is_answered),
		cmocka_unit_test(slot_add__old_round_is_stale),
		cmocka_unit_test(slot_add__future_round_without_the_one_before_is_a_gap),
		cmocka_unit_test(slot_add__round_ahead_of_one_that_waits_is_a_gap),
		cmocka_unit_test(slot_add__two_rounds_live_side_by_side),
		cmocka_unit_test(slot_add__cell_of_another_epoch_is_dead),
		cmocka_unit_test(slot_add__other_kind_desc_or_length_is_a_mismatch),
		cmocka_unit_test(slot_add__empty_counts_and_adds_nothing),
		cmocka_unit_test(slot_add__all_empty_goes_out_as_empty),
		cmocka_unit_test(slot_add__empty_of_another_kind_or_desc_is_a_mismatch),
		cmocka_unit_test(slot_add__result_larger_than_the_packet_changes_nothing),
		cmocka_unit_test(slot_add__saturation_is_remembered_until_the_result),
		cmocka_unit_test(slot_add__saturation_at_the_last_contribution_is_reported),
		cmocka_unit_test(slot_add__any_one_lost_packet_leaves_the_sum_exact),
		cmocka_unit_test(slot_add__late_duplicate_leaves_the_sum_exact),
		cmocka_unit_test(slot_result__replaces_a_complete_sum_once),
		cmocka_unit_test(slot_result__round_ahead_of_it_is_a_gap),
		cmocka_unit_test(slot_result__values_from_elsewhere),
		cmocka_unit_test(slot_missing__names_who_is_awaited),
	};

	return cmocka_run_group_tests_name("slot", tests, NULL, NULL);
}
