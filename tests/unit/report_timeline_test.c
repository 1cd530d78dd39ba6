// SPDX-License-Identifier: BSD-3-Clause
// report_timeline_test.c - packets in intervals, from counters at the ends of operations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topologies/report.h"

static struct report_rank ranks[2];

static void point_add(struct report_rank *rank, const struct perf_point *point)
{
	rank->history.point[rank->history.nr_points++] = *point;
	rank->history.last = *point;
}

static struct report rig(uint64_t interval_ns)
{
	memset(ranks, 0, sizeof(ranks));
	point_add(&ranks[0], &(struct perf_point){ 1000, 10, 1, 5, 700, 4 });
	point_add(&ranks[0], &(struct perf_point){ 3000, 210, 21, 105, 500, 8 });
	point_add(&ranks[0], &(struct perf_point){ 4000, 310, 21, 205, 300, 6 });
	/* The second comes later, and stays longer. */
	point_add(&ranks[1], &(struct perf_point){ 2500, 40, 0, 3, 0, 2 });
	point_add(&ranks[1], &(struct perf_point){ 6500, 840, 40, 403, 900, 20 });
	return (struct report){ .rank = ranks, .nr_ranks = 2, .interval_ns = interval_ns };
}

static void report_timeline_make__between_points(void **state)
{
	struct report r = rig(1000);
	const struct timeline_sample *s;

	(void)state;
	assert_int_equal(report_timeline_make(&r), 0);
	assert_int_equal(r.timeline.interval_ns, 1000);
	assert_int_equal(r.timeline.nr, 6); // to 7000
	s = r.timeline.sample;
	assert_int_equal(r.timeline.from.sent, 10);
	assert_true(s[0].sent == 110 && s[0].again == 11 && s[0].received == 55 && s[0].nr == 1);
	/* At 3000 the second has done an eighth of its way. */
	assert_true(s[1].sent == 210 + 140 && s[1].again == 21 + 5 && s[1].received == 105 + 53);
	assert_true(s[1].nr == 2 && s[1].nr_rtt == 1);
	assert_true(s[1].window[0] < 2.1 && s[1].window[1] > 9.9 && s[1].window[2] > 7.9);
	assert_true(s[1].rtt_us[2] > 0.49 && s[1].rtt_us[2] < 0.51);
	/* The first has left, its packets have not. */
	assert_true(s[3].nr == 1 && s[3].sent == 310 + 540);
	assert_true(s[5].nr == 0 && s[5].sent == 310 + 840 && s[5].received == 205 + 403);
	sim_timeline_free(&r.timeline);
}

static void report_timeline_make__interval_as_fits(void **state)
{
	struct report r = rig(0);

	(void)state;
	assert_int_equal(report_timeline_make(&r), 0);
	assert_int_equal(r.timeline.interval_ns, 1000);
	sim_timeline_free(&r.timeline);
	r = rig(0);
	ranks[1].history.point[1].at_ns = ranks[1].history.last.at_ns = 1234567890;
	assert_int_equal(report_timeline_make(&r), 0);
	assert_int_equal(r.timeline.interval_ns, 10000000);
	assert_int_equal(r.timeline.nr, 124);
	sim_timeline_free(&r.timeline);
	r = (struct report){ .rank = ranks, .nr_ranks = 0 };
	assert_int_equal(report_timeline_make(&r), 0);
	assert_int_equal(r.timeline.nr, 0);
}

static void report_timeline_thin__keeps_the_ends(void **state)
{
	struct timeline line = { .interval_ns = 7 };

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(timeline_add(&line, (struct timeline_sample){ .sent = i * i }), 0);
	report_timeline_thin(&line, 10);
	assert_int_equal(line.nr, 10);
	report_timeline_thin(&line, 4);
	assert_int_equal(line.nr, 4);
	assert_int_equal(line.interval_ns, 21);
	assert_int_equal(line.sample[0].sent, 4);
	assert_int_equal(line.sample[2].sent, 64);
	assert_int_equal(line.sample[3].sent, 81);
	sim_timeline_free(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_timeline_make__between_points),
		cmocka_unit_test(report_timeline_make__interval_as_fits),
		cmocka_unit_test(report_timeline_thin__keeps_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
