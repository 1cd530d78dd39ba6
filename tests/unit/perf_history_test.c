// SPDX-License-Identifier: BSD-3-Clause
// perf_history_test.c - what a rank did, in little memory, written and read again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/tools/perf.h"

static struct perf_history history, read_again;

/* A rank of a job of one, alone at the switch inside it. */
static tally_t *alone(void)
{
	tally_config_t *config = NULL;
	tally_t *comm = NULL;

	assert_int_equal(tally_config_new(&config), TALLY_OK);
	assert_int_equal(tally_config_set(config, "switch", "inproc:history"), TALLY_OK);
	assert_int_equal(tally_config_set(config, "rank", "0"), TALLY_OK);
	assert_int_equal(tally_config_set(config, "size", "1"), TALLY_OK);
	assert_int_equal(tally_open(&comm, config), TALLY_OK);
	tally_config_free(config);
	return comm;
}

static void perf_history_add__many_points_are_thinned(void **state)
{
	tally_t *comm = alone();
	uint64_t at = 0;

	(void)state;
	memset(&history, 0, sizeof(history));
	for (unsigned i = 0; i < 5 * PERF_POINTS; i++)
		perf_history_add(&history, comm, at += 3 + i % 7);
	tally_close(comm);
	assert_int_equal(history.last.at_ns, at);
	assert_true(history.chunk > 0);
	assert_true(history.nr_points > PERF_POINTS / 2 - 1 && history.nr_points <= PERF_POINTS);
	assert_int_equal(history.point[0].at_ns, 3);
	/* Each 8th: 8 in a row are 8 x 3 and a part of what i % 7 adds. */
	for (unsigned i = 1; i < history.nr_points; i++) {
		const uint64_t step = history.point[i].at_ns - history.point[i - 1].at_ns;

		assert_true(step >= 8 * 3 + 21 && step <= 8 * 3 + 21 + 6);
	}
}

static void perf_history_time__by_size_and_kind(void **state)
{
	struct tally_args args = { .count = 100, .dtype = TALLY_F32, .op = TALLY_SUM };

	(void)state;
	memset(&history, 0, sizeof(history));
	perf_history_time(&history, &args, 5);
	perf_history_time(&history, &args, 2);
	args.op = TALLY_MAX;
	perf_history_time(&history, &args, 11);
	args.op = TALLY_SUM;
	perf_history_time(&history, &args, 8);
	assert_int_equal(history.nr_spans, 2);
	assert_int_equal(history.span[0].nr, 3);
	assert_true(history.span[0].least_us > 1.9 && history.span[0].least_us < 2.1);
	assert_true(history.span[0].most_us > 7.9 && history.span[0].sum_us > 14.9);
	/* 400 elements in 26 us. */
	assert_true(perf_history_speed(&history) > 15.38e6 &&
		    perf_history_speed(&history) < 15.39e6);
	perf_history_free(&history);
}

static void point_is(const struct perf_point *a, const struct perf_point *b)
{
	assert_int_equal(a->at_ns, b->at_ns);
	assert_int_equal(a->sent, b->sent);
	assert_int_equal(a->again, b->again);
	assert_int_equal(a->received, b->received);
	assert_int_equal(a->rtt_ns, b->rtt_ns);
	assert_int_equal(a->window, b->window);
}

static void perf_history_read__as_it_was_written(void **state)
{
	struct tally_args args = { .count = 17, .dtype = TALLY_BF16, .op = TALLY_AVG };
	FILE *file = tmpfile();
	tally_t *comm = alone();

	(void)state;
	memset(&history, 0, sizeof(history));
	memset(&read_again, 0, sizeof(read_again));
	for (unsigned i = 0; i < 2 * PERF_POINTS + 2; i++)
		perf_history_add(&history, comm, 1000 + i * i);
	tally_close(comm);
	perf_history_time(&history, &args, 2.5);
	args.dtype = TALLY_I32;
	perf_history_time(&history, &args, 1.125);
	perf_history_write(&history, 3, file);
	rewind(file);
	assert_int_equal(perf_history_read(&read_again, file), 0);
	assert_int_equal(read_again.chunk, history.chunk);
	assert_true(read_again.nr_points >= history.nr_points);
	for (unsigned i = 0; i < history.nr_points; i++)
		point_is(&read_again.point[i], &history.point[i]);
	point_is(&read_again.last, &history.last);
	assert_int_equal(read_again.nr_spans, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct perf_span *a = &read_again.span[i], *b = &history.span[i];

		assert_true(a->count == b->count && a->dtype == b->dtype && a->op == b->op);
		assert_true(a->nr == 1 && b->nr == 1);
		assert_true(a->least_us >= b->least_us && a->least_us <= b->least_us);
		assert_true(a->sum_us >= b->sum_us && a->most_us <= b->most_us);
	}
	/* No second one. */
	assert_int_equal(perf_history_read(&read_again, file), -1);
	fclose(file);
	perf_history_free(&history);
	perf_history_free(&read_again);
}

static void perf_history_read__what_is_not_whole(void **state)
{
	static const char *const bad[] = {
		"",
		"end\n",
		"rank 0 chunk 1408\n",
		"rank 0 chunk 1408\npoint 1 2 3\nend\n",
		"rank 0 chunk 1408\noperations 5 float plus 1 1 1 1\nend\n",
		"rank 0 chunk 1408\noperations 5 double sum 1 1 1 1\nend\n",
		"rank 0 chunk 1408\npoint 1 2 3 4 5 6\n",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *file = tmpfile();

		memset(&read_again, 0, sizeof(read_again));
		fputs(bad[i], file);
		rewind(file);
		if (perf_history_read(&read_again, file) != -1)
			fail_msg("'%s' is read", bad[i]);
		perf_history_free(&read_again);
		fclose(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_history_add__many_points_are_thinned),
		cmocka_unit_test(perf_history_time__by_size_and_kind),
		cmocka_unit_test(perf_history_read__as_it_was_written),
		cmocka_unit_test(perf_history_read__what_is_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
