// SPDX-License-Identifier: BSD-3-Clause
// What is held back: by time, behind others, in order, and never more than there is room for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/hold.h"

static struct hold hold;
static void *memory;

static int rig_open(void **state)
{
	(void)state;
	memory = calloc(1, HOLD_BYTES);
	assert_non_null(memory);
	hold_init(&hold, memory);
	return 0;
}

static int rig_close(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static void hold_take__by_time_then_in_order(void **state)
{
	static const uint64_t times[] = { 50, 20, 20, 70, 10, 20, 60 };
	static const int order[] = { 4, 1, 2, 5, 0, 6, 3 };

	(void)state;
	assert_int_equal(hold_due(&hold), UINT64_MAX);
	assert_int_equal(hold_take(&hold, UINT64_MAX), HOLD_NONE);
	for (uint16_t i = 0; i < 7; i++)
		assert_true(hold_put(&hold, i, times[i]));
	assert_int_equal(hold_due(&hold), 10);
	assert_int_equal(hold_take(&hold, 9), HOLD_NONE);
	assert_int_equal(hold_count(&hold), 7);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(hold_take(&hold, times[order[i]]), order[i]);
	assert_int_equal(hold_count(&hold), 0);
}

/* Right behind the second one after it. */
static void hold_put_late__behind_others(void **state)
{
	(void)state;
	assert_true(hold_put_late(&hold, 1, 1000, 2));
	assert_int_equal(hold_take(&hold, 999), HOLD_NONE);
	assert_true(hold_put(&hold, 2, 100));
	assert_int_equal(hold_take(&hold, 100), 2);
	assert_int_equal(hold_take(&hold, 100), HOLD_NONE);
	assert_true(hold_put(&hold, 3, 200));
	assert_true(hold_put(&hold, 4, 200));
	assert_int_equal(hold_due(&hold), 200);
	assert_int_equal(hold_take(&hold, 200), 3);
	assert_int_equal(hold_take(&hold, 200), 1);
	assert_int_equal(hold_take(&hold, 200), 4);
}

/* Nobody comes, or too late; two that wait do not wait for each other. */
static void hold_put_late__not_for_ever(void **state)
{
	(void)state;
	assert_true(hold_put_late(&hold, 1, 1000, 5));
	assert_true(hold_put_late(&hold, 2, 900, 1));
	assert_int_equal(hold_due(&hold), 900);
	assert_int_equal(hold_take(&hold, 899), HOLD_NONE);
	assert_int_equal(hold_take(&hold, 1000), 2);
	assert_int_equal(hold_take(&hold, 1000), 1);
	assert_true(hold_put_late(&hold, 3, 1000, 1));
	assert_true(hold_put(&hold, 4, 5000));
	assert_int_equal(hold_due(&hold), 1000);
	assert_int_equal(hold_take(&hold, 1000), 3);
	assert_int_equal(hold_take(&hold, 5000), 4);
}

static void hold_put__full(void **state)
{
	uint16_t nr = 0;

	(void)state;
	while (hold_put_late(&hold, nr, 5, 10000))
		nr++;
	assert_int_equal(nr, HOLD_LATE);
	while (hold_put(&hold, nr, 1))
		nr++;
	assert_int_equal(nr, HOLD_MAX);
	assert_false(hold_put_late(&hold, nr, 1, 1));
	assert_int_equal(hold_take(&hold, 1), HOLD_LATE);
	assert_true(hold_put(&hold, nr, 1));
	hold = (struct hold){ .heap = NULL };
	assert_false(hold_put(&hold, 0, 1));
	assert_false(hold_put_late(&hold, 0, 1, 1));
}

static void hold_take__sequence_wraps(void **state)
{
	(void)state;
	hold.seq = UINT32_MAX - 2;
	for (uint16_t i = 0; i < 6; i++)
		assert_true(hold_put(&hold, i, 7));
	for (int i = 0; i < 6; i++)
		assert_int_equal(hold_take(&hold, 7), i);
}

/* The oldest of those with the least time, looked for in an unordered list. */
struct naive {
	unsigned nr;
	struct {
		uint64_t due, seq;
		int item;
		unsigned left; /* 0: waits for nobody */
	} list[HOLD_MAX];
	uint64_t seq;
};

static void naive_put(struct naive *n, int item, uint64_t due, unsigned distance)
{
	unsigned before = n->nr;

	n->list[n->nr].due = due;
	n->list[n->nr].seq = n->seq++;
	n->list[n->nr].item = item;
	n->list[n->nr++].left = distance;
	for (unsigned i = 0; i < before && !distance; i++)
		if (n->list[i].left && --n->list[i].left == 0) {
			n->list[i].seq = n->seq++;
			n->list[i].due = due < n->list[i].due ? due : n->list[i].due;
		}
}

static int naive_take(struct naive *n, uint64_t now)
{
	unsigned best = n->nr;
	int item;

	for (unsigned i = 0; i < n->nr; i++)
		if (n->list[i].due <= now &&
		    (best == n->nr || n->list[i].due < n->list[best].due ||
		     (n->list[i].due == n->list[best].due && n->list[i].seq < n->list[best].seq)))
			best = i;
	if (best == n->nr)
		return HOLD_NONE;
	item = n->list[best].item;
	/* The order of the list is the order of being put in. */
	memmove(&n->list[best], &n->list[best + 1], (n->nr - best - 1) * sizeof(n->list[0]));
	n->nr--;
	return item;
}

/* Everything that went in comes out once, and in the order of a naive list. */
static void hold_take__as_a_naive_list(void **state)
{
	static struct naive naive;
	uint64_t now = 0;
	uint16_t item = 0;

	(void)state;
	memset(&naive, 0, sizeof(naive));
	srand(17);
	for (unsigned round = 0; round < 200000; round++) {
		unsigned distance = rand() % 5 ? 0 : 1 + (unsigned)rand() % 9;
		uint64_t due = now + (uint64_t)rand() % 60;
		int got;

		now += rand() % 3 == 0;
		if (rand() % 2 && naive.nr < 300) {
			bool fits = distance ? hold_put_late(&hold, item, due, distance)
					     : hold_put(&hold, item, due);

			assert_true(fits);
			naive_put(&naive, item++, due, distance);
		}
		got = hold_take(&hold, now);
		assert_int_equal(got, naive_take(&naive, now));
		assert_int_equal(hold_count(&hold), naive.nr);
	}
	while (naive.nr)
		assert_int_equal(hold_take(&hold, UINT64_MAX), naive_take(&naive, UINT64_MAX));
	assert_int_equal(hold_count(&hold), 0);
}

/* Half as late; item 2 at once. */
static uint64_t sooner(void *context, uint16_t item, uint64_t due_ns)
{
	unsigned *asked = context;

	asked[item]++;
	return item == 2 ? 1 : due_ns / 2;
}

/* What was due at the same time, or is now, keeps its order; what waits for others goes on doing so. */
static void hold_retime__all_that_is_held(void **state)
{
	static const uint64_t times[] = { 501, 500, 900, 40, 41, 500 };
	static const int order[] = { 2, 3, 4, 1, 5, 0 };
	static const uint64_t due[] = { 1, 20, 20, 250, 250, 250 };
	unsigned asked[8] = { 0 };

	(void)state;
	hold_retime(&hold, sooner, asked);
	for (uint16_t i = 0; i < 6; i++)
		assert_true(hold_put(&hold, i, times[i]));
	assert_true(hold_put_late(&hold, 6, 10000, 1));
	assert_true(hold_put_late(&hold, 7, 80000, 2));
	hold_retime(&hold, sooner, asked);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(asked[i], 1);
	assert_int_equal(hold_count(&hold), 8);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(hold_due(&hold), due[i]);
		assert_int_equal(hold_take(&hold, due[i]), order[i]);
	}
	assert_int_equal(hold_due(&hold), 5000);
	assert_true(hold_put(&hold, 8, 3000));
	assert_int_equal(hold_take(&hold, 3000), 8);
	assert_int_equal(hold_take(&hold, 3000), 6);
	assert_int_equal(hold_take(&hold, 39999), HOLD_NONE);
	assert_int_equal(hold_take(&hold, 40000), 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hold_take__by_time_then_in_order), TEST(hold_put_late__behind_others),
		TEST(hold_put_late__not_for_ever),	TEST(hold_put__full),
		TEST(hold_take__sequence_wraps),	TEST(hold_take__as_a_naive_list),
		TEST(hold_retime__all_that_is_held),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
