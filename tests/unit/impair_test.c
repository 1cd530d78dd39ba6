// SPDX-License-Identifier: BSD-3-Clause
// Faults on purpose: as often as asked, at the times asked, the same for the same seed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/impair.h"

enum { PACKETS = 200000, DRAWS = 1000000, BYTES = 1000 };
#define MS UINT64_C(1000000)
#define NOW (7 * MS)

static struct impair impair;

/* What became of PACKETS packets, all at the same time. */
struct tally {
	unsigned lost, twice, late, corrupt, checked;
};

static struct tally count(const struct impair_params *params)
{
	struct tally t = { .lost = 0 };

	impair_init(&impair, params);
	for (unsigned i = 0; i < PACKETS; i++) {
		struct impair_fate fate;

		impair_next(&impair, NOW, BYTES, &fate);
		t.lost += !fate.nr;
		t.twice += fate.nr == 2;
		for (unsigned k = 0; k < fate.nr; k++) {
			t.late += fate.copies[k].late;
			t.corrupt += fate.copies[k].corrupt == IMPAIR_CORRUPT;
			t.checked += fate.copies[k].corrupt == IMPAIR_CORRUPT_CHECKED;
		}
	}
	assert_int_equal(impair.nr_lost + impair.nr_burst + impair.nr_down, t.lost);
	assert_int_equal(impair.nr_duped, t.twice);
	assert_int_equal(impair.nr_reordered, t.late);
	assert_int_equal(impair.nr_corrupted, t.corrupt);
	assert_int_equal(impair.nr_corrupted_checked, t.checked);
	return t;
}

static void impair_next__no_fault_asked_for(void **state)
{
	struct tally t = count(&(struct impair_params){ .seed = 7 });

	(void)state;
	assert_false(impair.active);
	assert_int_equal(t.lost + t.twice + t.late + t.corrupt + t.checked, 0);
	/* Nor by what says how, but not that. */
	count(&(struct impair_params){ .queue = 5, .distance = 9, .burst_loss = 1 });
	assert_false(impair.active);
}

static void impair_next__always(void **state)
{
	(void)state;
	assert_int_equal(count(&(struct impair_params){ .loss = 1, .dup = 1 }).lost, PACKETS);
	assert_int_equal(count(&(struct impair_params){ .down = true }).lost, PACKETS);
	assert_int_equal(impair.nr_down, PACKETS);
	assert_int_equal(count(&(struct impair_params){ .dup = 1, .reorder = 1 }).late,
			 2 * PACKETS);
	assert_int_equal(count(&(struct impair_params){ .reorder = 7.5, .loss = -1 }).late,
			 PACKETS);
	assert_int_equal(
		count(&(struct impair_params){ .corrupt = 1, .corrupt_checked = 1 }).corrupt,
		PACKETS);
	assert_int_equal(count(&(struct impair_params){ .corrupt_checked = 1 }).checked, PACKETS);
	assert_int_equal(count(&(struct impair_params){ .burst_good = 1 }).lost, PACKETS);
	assert_int_equal(impair.nr_burst, PACKETS);
}

/* Within five standard deviations of what is asked for: of those that are not lost, and of all copies. */
static void impair_next__as_often_as_asked(void **state)
{
	const struct impair_params params = {
		.loss = 0.1,
		.dup = 0.05,
		.reorder = 0.2,
		.corrupt = 0.3,
		.corrupt_checked = 0.4,
		.seed = 3,
	};
	struct tally t = count(&params);

	(void)state;
	assert_in_range(t.lost, 20000 - 670, 20000 + 670);
	assert_in_range(t.twice, 9000 - 465, 9000 + 465);
	assert_in_range(t.late, 37800 - 990, 37800 + 990);
	assert_in_range(t.corrupt, 56700 - 1200, 56700 + 1200);
	assert_in_range(t.checked, 52920 - 1200, 52920 + 1200);
}

/* Noise differs, so that not always the same byte is changed. */
static void impair_next__noise(void **state)
{
	struct impair_fate a, b;

	(void)state;
	impair_init(&impair, &(struct impair_params){ .corrupt = 1 });
	impair_next(&impair, NOW, BYTES, &a);
	impair_next(&impair, NOW, BYTES, &b);
	assert_true(a.copies[0].noise != b.copies[0].noise);
}

static bool fate_same(const struct impair_fate *a, const struct impair_fate *b)
{
	bool same = a->nr == b->nr;

	for (unsigned k = 0; k < a->nr && same; k++)
		same = a->copies[k].queue_full == b->copies[k].queue_full &&
		       a->copies[k].late == b->copies[k].late &&
		       a->copies[k].corrupt == b->copies[k].corrupt &&
		       a->copies[k].noise == b->copies[k].noise &&
		       a->copies[k].due_ns == b->copies[k].due_ns;
	return same;
}

/* The same seed and packets: the same fates.  Another seed: others. */
static void impair_next__seed_decides(void **state)
{
	static struct impair a, b, c;
	struct impair_params params = {
		.loss = 0.1,
		.dup = 0.2,
		.reorder = 0.3,
		.corrupt = 0.1,
		.corrupt_checked = 0.1,
		.burst_enter = 0.1,
		.burst_leave = 0.3,
		.burst_loss = 0.9,
		.delay_ns = 5000,
		.jitter_ns = 7000,
		.rate = 1000000000,
		.queue = 20,
	};
	unsigned differ = 0;

	(void)state;
	impair_init(&a, &params);
	impair_init(&b, &params);
	params.seed = 1;
	impair_init(&c, &params);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t now = NOW + 1000 * (uint64_t)i + i % 17;
		struct impair_fate fate, same, other;

		impair_next(&a, now, 100 + i % 1400, &fate);
		impair_next(&b, now, 100 + i % 1400, &same);
		impair_next(&c, now, 100 + i % 1400, &other);
		assert_true(fate_same(&fate, &same));
		differ += !fate_same(&fate, &other);
	}
	assert_true(differ > 50000);
	assert_true(a.nr_queue_full && a.nr_delayed && a.nr_burst);
}

/*
 * Gilbert-Elliott against what the chain says: of DRAWS packets enter / (enter + leave) meet the bad
 * state, 1 / leave of them in a row.  With a loss of 1 in the bad state and 0 in the good one losses
 * show the state.  The bounds are six standard deviations: a stay has a geometric length, so its mean
 * over n stays deviates by sqrt((1 - leave) / n) / leave; losses are correlated, which widens theirs
 * by (2 - enter - leave) / (enter + leave).
 */
static void impair_next__burst_loss(void **state)
{
	static const struct {
		double enter, leave;
	} cases[] = { { 0.01, 0.1 }, { 0.001, 0.25 }, { 0.2, 0.8 }, { 0.05, 1 } };

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double enter = cases[i].enter, leave = cases[i].leave;
		double share = enter / (enter + leave), length = 1 / leave, got, diff;
		unsigned lost = 0, bursts = 0;
		bool before = false;

		impair_init(&impair, &(struct impair_params){ .burst_enter = enter,
							      .burst_leave = leave,
							      .burst_loss = 1,
							      .seed = 11 + i });
		for (unsigned k = 0; k < DRAWS; k++) {
			struct impair_fate fate;

			impair_next(&impair, NOW, BYTES, &fate);
			lost += !fate.nr;
			bursts += !fate.nr && !before;
			before = !fate.nr;
		}
		got = (double)lost / DRAWS;
		diff = got - share;
		assert_true(diff * diff < 36 * share * (1 - share) / DRAWS * (2 - enter - leave) /
						  (enter + leave));
		diff = (double)lost / bursts - length;
		assert_true(diff * diff < 36 * (1 - leave + 1e-9) / bursts / (leave * leave));
		assert_int_equal(impair.nr_burst, lost);
	}
}

/* Losses of both states: LB x the share of the bad one and LG x that of the good one. */
static void impair_next__burst_loss_in_both_states(void **state)
{
	const double want = 0.6 * 1 / 11 + 0.02 * 10 / 11;
	double got, diff;

	(void)state;
	impair_init(&impair, &(struct impair_params){ .burst_enter = 0.02,
						      .burst_leave = 0.2,
						      .burst_loss = 0.6,
						      .burst_good = 0.02 });
	for (unsigned k = 0; k < DRAWS; k++) {
		struct impair_fate fate;

		impair_next(&impair, NOW, BYTES, &fate);
	}
	got = (double)impair.nr_burst / DRAWS;
	diff = got - want;
	assert_true(diff * diff < 36 * want * (1 - want) / DRAWS * (2 - 0.22) / 0.22);
}

static void impair_next__delay_and_jitter(void **state)
{
	uint64_t sum = 0, least = UINT64_MAX, most = 0;
	struct impair_fate fate;

	(void)state;
	impair_init(&impair, &(struct impair_params){ .delay_ns = 2 * MS });
	impair_next(&impair, NOW, BYTES, &fate);
	assert_int_equal(fate.copies[0].due_ns, NOW + 2 * MS);
	assert_int_equal(impair.nr_delayed, 1);
	impair_init(&impair, &(struct impair_params){ .delay_ns = 2 * MS, .jitter_ns = 1000 });
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t more;

		impair_next(&impair, NOW, BYTES, &fate);
		more = fate.copies[0].due_ns - (NOW + 2 * MS);
		sum += more;
		least = more < least ? more : least;
		most = more > most ? more : most;
	}
	/* Uniform on 0 .. 1000: mean 500, standard deviation of 100,000 of them 0.92. */
	assert_int_equal(least, 0);
	assert_int_equal(most, 1000);
	assert_in_range(sum / 100000, 494, 506);
}

/* 1000 bytes at 8 Mbit/s take a millisecond each, one after the other; an idle link does not save up. */
static void impair_next__rate(void **state)
{
	struct impair_fate fate;

	(void)state;
	impair_init(&impair, &(struct impair_params){ .rate = 8000000, .delay_ns = 3 });
	for (unsigned i = 1; i <= 5; i++) {
		impair_next(&impair, NOW, 1000, &fate);
		assert_int_equal(fate.copies[0].due_ns, NOW + i * MS + 3);
	}
	impair_next(&impair, NOW + 20 * MS, 1000, &fate);
	assert_int_equal(fate.copies[0].due_ns, NOW + 21 * MS + 3);
	/* 3 bits a nanosecond: parts of nanoseconds add up. */
	impair_init(&impair, &(struct impair_params){ .rate = UINT64_C(3000000000) });
	for (unsigned i = 0; i < 99; i++)
		impair_next(&impair, NOW, 1, &fate);
	assert_int_equal(fate.copies[0].due_ns, NOW + 99 * 8 / 3);
}

static unsigned queue_takes(const struct impair_params *params, uint32_t bytes)
{
	struct impair_fate fate;
	unsigned nr = 0;

	impair_init(&impair, params);
	for (; nr < 2 * IMPAIR_QUEUE_MAX; nr++) {
		impair_next(&impair, NOW, bytes, &fate);
		assert_int_equal(fate.nr, 1);
		if (fate.copies[0].queue_full)
			break;
	}
	assert_int_equal(impair.nr_queue_full, 1);
	return nr;
}

/* At one time, so that nothing leaves: as many as the queue has room for. */
static void impair_next__queue(void **state)
{
	struct impair_fate fate;

	(void)state;
	assert_int_equal(queue_takes(&(struct impair_params){ .rate = 8000000 }, 1000),
			 IMPAIR_QUEUE);
	assert_int_equal(queue_takes(&(struct impair_params){ .rate = 8000, .queue = 3 }, 1000), 3);
	/* One has left after a millisecond. */
	impair_init(&impair, &(struct impair_params){ .rate = 8000000, .queue = 2 });
	impair_next(&impair, NOW, 1000, &fate);
	impair_next(&impair, NOW, 1000, &fate);
	impair_next(&impair, NOW + MS - 1, 1000, &fate);
	assert_true(fate.copies[0].queue_full);
	impair_next(&impair, NOW + MS, 1000, &fate);
	assert_false(fate.copies[0].queue_full);
	assert_int_equal(fate.copies[0].due_ns, NOW + 3 * MS);
	assert_int_equal(queue_takes(&(struct impair_params){ .rate = 8000000,
							      .queue = IMPAIR_QUEUE_MAX },
				     60),
			 IMPAIR_QUEUE_MAX);
}

static void impair_next__queue_of_bytes(void **state)
{
	struct impair_params params = { .rate = 8000000, .queue = 5000, .queue_bytes = true };

	(void)state;
	assert_int_equal(queue_takes(&params, 1000), 5);
	assert_int_equal(queue_takes(&params, 900), 5);
	/* An idle link takes what no queue would. */
	assert_int_equal(queue_takes(&params, 9000), 1);
}

/* Random traffic: no more leaves in any time than the rate allows, and never more wait than may. */
static void impair_next__rate_is_a_bound(void **state)
{
	const uint64_t rate = 100000000;
	uint64_t now = NOW, last = 0, bits = 0, first = 0;
	unsigned refused = 0;

	(void)state;
	srand(5);
	impair_init(&impair, &(struct impair_params){ .rate = rate, .queue = 30 });
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t bytes = 64 + (uint32_t)rand() % 1400;
		struct impair_fate fate;

		now += (uint64_t)rand() % 100000;
		impair_next(&impair, now, bytes, &fate);
		refused += fate.copies[0].queue_full;
		if (fate.copies[0].queue_full)
			continue;
		assert_true(fate.copies[0].due_ns > last && fate.copies[0].due_ns > now);
		/* At most 30 of the largest are before it. */
		assert_true(fate.copies[0].due_ns - now <= 31 * UINT64_C(1464) * 80 + 31);
		last = fate.copies[0].due_ns;
		first = first ? first : now;
		bits += 8 * bytes;
	}
	assert_true(refused > 1000);
	assert_true(bits <= (last - first + 1) * rate / 1000000000 + 1);
}

static void impair_set__at_run_time(void **state)
{
	struct impair_params params = { .loss = 1 };
	struct impair_fate fate;

	(void)state;
	impair_init(&impair, &params);
	impair_next(&impair, NOW, BYTES, &fate);
	assert_int_equal(fate.nr, 0);
	params.loss = 0;
	impair_set(&impair, &params);
	assert_false(impair.active);
	impair_next(&impair, NOW, BYTES, &fate);
	assert_int_equal(fate.nr, 1);
	assert_int_equal(impair.nr_lost, 1);
	/* A faster link does not wait for the old one's queue, whatever the old times were. */
	params.rate = 1000;
	impair_set(&impair, &params);
	for (unsigned i = 0; i < 50; i++)
		impair_next(&impair, NOW, BYTES, &fate);
	params.rate = UINT64_C(10000000000000);
	impair_set(&impair, &params);
	impair_next(&impair, NOW, 1250, &fate);
	assert_int_equal(fate.copies[0].due_ns, NOW + 1);
	/* Nor is a burst gone on with that was turned off. */
	params = (struct impair_params){ .burst_enter = 1, .burst_leave = 1e-9, .burst_loss = 1 };
	impair_set(&impair, &params);
	impair_next(&impair, NOW, BYTES, &fate);
	impair_next(&impair, NOW, BYTES, &fate);
	assert_int_equal(fate.nr, 0);
	params.burst_enter = 0;
	impair_set(&impair, &params);
	params.burst_enter = 1e-9;
	impair_set(&impair, &params);
	impair_next(&impair, NOW, BYTES, &fate);
	assert_int_equal(fate.nr, 1);
}

static void impair_late_ns__grows_with_the_distance(void **state)
{
	(void)state;
	impair_init(&impair, &(struct impair_params){ .reorder = 1 });
	assert_int_equal(impair_late_ns(&impair), 2 * MS);
	impair_init(&impair, &(struct impair_params){ .reorder = 1, .distance = 1000 });
	assert_int_equal(impair_late_ns(&impair), 20 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impair_next__no_fault_asked_for),
		cmocka_unit_test(impair_next__always),
		cmocka_unit_test(impair_next__as_often_as_asked),
		cmocka_unit_test(impair_next__noise),
		cmocka_unit_test(impair_next__seed_decides),
		cmocka_unit_test(impair_next__burst_loss),
		cmocka_unit_test(impair_next__burst_loss_in_both_states),
		cmocka_unit_test(impair_next__delay_and_jitter),
		cmocka_unit_test(impair_next__rate),
		cmocka_unit_test(impair_next__queue),
		cmocka_unit_test(impair_next__queue_of_bytes),
		cmocka_unit_test(impair_next__rate_is_a_bound),
		cmocka_unit_test(impair_set__at_run_time),
		cmocka_unit_test(impair_late_ns__grows_with_the_distance),
	};

	return cmocka_run_group_tests_name("impair", tests, NULL, NULL);
}
