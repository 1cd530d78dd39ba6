// SPDX-License-Identifier: BSD-3-Clause
// Tests of host/core/lane.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "host/core/lane.h"

#define MS UINT64_C(1000000)

enum { LEN = 8 };

static int setup(void **state)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	void *mem = aligned_alloc(64, lane_size(LEN));

	assert_true(lane && mem);
	assert_int_equal(lane_init(lane, mem, LEN), lane_size(LEN));
	lane_begin(lane, 32, LEN);
	*state = lane;
	return 0;
}

static int teardown(void **state)
{
	struct lane *lane = *state;

	free(lane->flights); /* the first of the arrays: the memory given */
	free(lane);
	return 0;
}

static struct flight *send_next(struct lane *lane, uint64_t now_ns)
{
	struct flight *f = lane_free(lane);

	assert_non_null(f);
	*f = (struct flight){ .g = lane->next++, .flying = true };
	lane->flying++;
	lane_send(lane, f, now_ns);
	return f;
}

static void lane_free__waits_for_the_result_of_the_round_before(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN];

	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, i);
	assert_null(lane_free(lane));
	lane_take(lane, f[1], LEN); /* not the one that chunk 8 needs */
	assert_null(lane_free(lane));
	lane_take(lane, f[0], LEN);
	assert_ptr_equal(lane_free(lane), f[0]);
	assert_int_equal(lane_slot(lane, f[3]), 35);
}

static void lane_take__three_later_results_show_a_loss(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN];

	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, i);
	assert_int_equal(lane_take(lane, f[1], LEN), 0);
	assert_int_equal(lane_take(lane, f[2], LEN), 0);
	assert_null(lane_again(lane));
	assert_int_equal(lane_take(lane, f[3], LEN), 1);
	assert_ptr_equal(lane_again(lane), f[0]);
	assert_null(lane_again(lane));
}

static void lane_take__resent_chunk_waits_a_window_longer(void **state)
{
	struct lane *lane = *state;
	struct flight *lost = send_next(lane, 0), *f;
	unsigned taken = 0;

	for (unsigned i = 0; i < 3; i++)
		lane_take(lane, send_next(lane, 1), LEN);
	assert_ptr_equal(lane_again(lane), lost);
	lane_send(lane, lost, 2); /* record 4 */
	while (lane_free(lane)) {
		f = send_next(lane, 3);
		taken++;
		if (lane_take(lane, f, 2)) /* window 2: overtaken by 3 + 2 */
			break;
	}
	assert_int_equal(
		taken, 4); /* chunks 4..7 fit before the lost one blocks slot 0; record 4 + 5 > 8 */
	assert_null(lane_again(lane));
}

static void lane_take__queued_chunk_that_arrives_is_not_sent_again(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN];

	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, i);
	lane_take(lane, f[3], LEN);
	lane_take(lane, f[0], LEN);
	assert_null(lane_again(lane));
	lane_take(lane, f[5], LEN);
	assert_ptr_equal(lane_again(lane), f[1]);
	lane_send(lane, f[1], 9);
	lane_take(lane, f[2], LEN); /* was queued, too */
	assert_null(lane_again(lane));
}

static void lane_expire__silence_sends_only_the_lowest(void **state)
{
	struct lane *lane = *state;
	uint64_t now = 10 * MS;

	for (unsigned i = 0; i < 4; i++)
		send_next(lane, now);
	assert_int_equal(lane_expire(lane, MS, 100 * MS, now + MS - 1), 0);
	for (unsigned k = 0; k < 12; k++) {
		struct flight *f;

		assert_int_equal(lane_probing(lane), k > LANE_BACKOFFS);
		now += (MS << k) < 100 * MS ? MS << k : 100 * MS;
		assert_true(lane_deadline(lane, MS, 100 * MS) <= now);
		assert_int_equal(lane_expire(lane, MS, 100 * MS, now - 1), 0);
		assert_int_equal(lane_expire(lane, MS, 100 * MS, now), 1);
		f = lane_again(lane);
		assert_int_equal(f->g, 0);
		lane_send(lane, f, now);
		assert_null(lane_again(lane));
	}
}

/* All of a window was lost: each timeout whose resends come back doubles the next. */
static void lane_expire__many_losses_send_more_each_time(void **state)
{
	struct lane *lane = *state;
	uint64_t now = 10 * MS;
	unsigned total = 0;

	for (unsigned i = 0; i < LEN; i++)
		send_next(lane, now);
	for (unsigned expected = 1; total < LEN; expected *= 2) {
		struct flight *f[LEN];
		unsigned nr = 0;

		now += MS;
		lane_expire(lane, MS, 100 * MS, now);
		while ((f[nr] = lane_again(lane)) != NULL)
			lane_send(lane, f[nr++], now);
		assert_int_equal(nr, expected < LEN - total ? expected : LEN - total);
		for (unsigned i = 0; i < nr;
		     i++) /* tells nothing about the others: they may be late */
			assert_int_equal(lane_take(lane, f[i], LEN), 0);
		total += nr;
	}
}

static void lane_expire__a_late_rank_costs_one_packet(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN], *again;

	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, 10 * MS);
	assert_int_equal(lane_expire(lane, MS, 100 * MS, 11 * MS), 1);
	again = lane_again(lane);
	assert_ptr_equal(again, f[0]);
	lane_send(lane, again, 11 * MS);
	for (unsigned i = 0; i < LEN; i++) /* now they all come, in order */
		assert_int_equal(lane_take(lane, f[i], LEN), 0);
	assert_null(lane_again(lane));
}

static void lane_send__a_full_log_gives_up_the_oldest_record(void **state)
{
	struct lane *lane = *state;
	struct flight *first = send_next(lane, 1), *other = send_next(lane, 1), *f;

	for (unsigned i = 0; i < 3 * lane->log_len; i++) {
		lane_send(lane, other, 2 + i);
		assert_true(lane->tail - lane->head <= lane->log_len);
	}
	f = lane_again(lane);
	assert_ptr_equal(f, first);
}

/* Queued by a loss that later results show, then by a timeout as well: it goes once. */
static void lane_expire__what_is_queued_already_goes_once(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN];

	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, 10 * MS);
	assert_int_equal(lane_take(lane, f[3], LEN), 1);
	assert_true(f[0]->again);
	/* The next one in flight is the lowest that is not queued yet. */
	assert_int_equal(lane_expire(lane, MS, 100 * MS, 11 * MS), 1);
	assert_ptr_equal(lane_again(lane), f[0]);
	assert_ptr_equal(lane_again(lane), f[1]);
	assert_null(lane_again(lane));
}

/* A place in the queue whose flight was sent anew, or begun anew, means nothing. */
static void lane_again__passes_over_what_is_not_queued_any_more(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN];

	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, i);
	assert_int_equal(lane_take(lane, f[4], LEN), 2); /* 0 and 1 */
	lane_take(lane, f[0], LEN);
	assert_ptr_equal(send_next(lane, 9), f[0]); /* chunk 8, in the slot of chunk 0 */
	assert_false(f[0]->again);
	assert_ptr_equal(lane_again(lane), f[1]);
	assert_null(lane_again(lane));
}

static void lane_lowest__of_all_that_fly(void **state)
{
	struct lane *lane = *state;
	struct flight *f[LEN];

	assert_null(lane_lowest(lane));
	for (unsigned i = 0; i < LEN; i++)
		f[i] = send_next(lane, i);
	assert_ptr_equal(lane_lowest(lane), f[0]);
	lane_take(lane, f[1], LEN);
	assert_ptr_equal(lane_lowest(lane), f[0]);
	lane_take(lane, f[0], LEN);
	assert_ptr_equal(lane_lowest(lane), f[2]);
	assert_ptr_equal(send_next(lane, 9),
			 f[0]); /* chunk 8 is later than 2, though its slot is not */
	assert_ptr_equal(lane_lowest(lane), f[2]);
	for (unsigned i = 2; i < LEN; i++)
		lane_take(lane, f[i], LEN);
	assert_ptr_equal(lane_lowest(lane), f[0]);
}

/* Random histories: nothing is ever both taken and sent again, and every flight is sent again in the end. */
static void lane__random_histories(void **state)
{
	struct lane *lane = *state;
	uint64_t now = 0, rng = 88172645463325252u;
	unsigned taken = 0, again = 0;

	for (unsigned step = 0; step < 200000; step++) {
		struct flight *f;

		rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
		now += rng % 300000;
		lane_expire(lane, MS, 100 * MS, now);
		while ((f = lane_again(lane)) != NULL) {
			assert_true(f->flying);
			lane_send(lane, f, now);
			again++;
		}
		if (lane_free(lane) && rng % 3)
			send_next(lane, now);
		f = &lane->flights[(rng >> 20) % LEN];
		if (f->flying && (rng >> 40) % 4 == 0) {
			lane_take(lane, f, LEN);
			taken++;
		}
		if (lane->flying)
			assert_true(lane_deadline(lane, MS, 100 * MS) <= now + 100 * MS);
		else
			assert_true(lane_deadline(lane, MS, 100 * MS) == UINT64_MAX ||
				    lane->nr_again);
	}
	assert_true(taken > 10000 && again > 1000);
}

#define LANE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LANE_TEST(lane_free__waits_for_the_result_of_the_round_before),
		LANE_TEST(lane_take__three_later_results_show_a_loss),
		LANE_TEST(lane_take__resent_chunk_waits_a_window_longer),
		LANE_TEST(lane_take__queued_chunk_that_arrives_is_not_sent_again),
		LANE_TEST(lane_expire__silence_sends_only_the_lowest),
		LANE_TEST(lane_expire__many_losses_send_more_each_time),
		LANE_TEST(lane_expire__a_late_rank_costs_one_packet),
		LANE_TEST(lane_expire__what_is_queued_already_goes_once),
		LANE_TEST(lane_again__passes_over_what_is_not_queued_any_more),
		LANE_TEST(lane_lowest__of_all_that_fly),
		LANE_TEST(lane_send__a_full_log_gives_up_the_oldest_record),
		LANE_TEST(lane__random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
