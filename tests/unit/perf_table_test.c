// SPDX-License-Identifier: BSD-3-Clause
// Tests of tally-perf's table: byte by byte what scripts for nccl-tests read.
#include "host/tools/perf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"

static char *row_print(const struct perf_options *options, const struct perf_row *row)
{
	struct capture capture;

	capture_begin(&capture, 1);
	perf_table_row(options, row);
	return capture_end(&capture);
}

static void row_check(const struct perf_options *options, const struct perf_row *row,
		      const char *want)
{
	char *got = row_print(options, row);

	assert_string_equal(got, want);
	free(got);
}

static const struct perf_options all_on = { .check = true, .mode_on = { true, true } };

static void perf_table_row__is_nccl_tests_line(void **state)
{
	struct perf_row row = { .count = 262144,
				.dtype = TALLY_F32,
				.op = TALLY_SUM,
				.time_us = { 299.964, 1437.455 },
				.algbw = { 3.4957, 0.729 },
				.busbw = { 5.2436, 12.345 },
				.wrong = { 0, 37 } };

	(void)state;
	row_check(&all_on, &row,
		  "     1048576        262144     float     sum      -1"
		  "   299.96    3.50    5.24       0"
		  "  1437.45    0.73   12.35      37\n");
	row.dtype = TALLY_I32;
	row.op = TALLY_AVG;
	row.count = 0;
	row.wrong[0] = 2147483647;
	row_check(&all_on, &row,
		  "           0             0     int32     avg      -1"
		  "   299.96    3.50    5.24  2.14748e+09"
		  "  1437.45    0.73   12.35      37\n");
}

static void perf_table_row__is_made_by_the_formats(void **state)
{
	struct perf_row row = { .count = UINT64_C(1) << 37,
				.dtype = TALLY_F32,
				.op = TALLY_MIN,
				.time_us = { 1.5, 22.25 },
				.algbw = { 33.375, 444.5 },
				.busbw = { 5.125, 66.75 },
				.wrong = { 8, 123456 } };
	char want[256];

	(void)state;
	snprintf(want, sizeof(want),
		 "%12li  %12li  %8s  %6s  %6s  %7s  %6s  %6s  %6g  %7s  %6s  %6s  %6g\n",
		 (long)row.count * 4, (long)row.count, "float", "min", "-1", "1.50", "33.38",
		 "5.12", 8.0, "22.25", "444.50", "66.75", 123456.0);
	row_check(&all_on, &row, want);
}

static void perf_table_row__not_checked_and_not_run_is_na(void **state)
{
	struct perf_options options = { .check = false, .mode_on = { true, false } };
	struct perf_row row = { .count = 1,
				.dtype = TALLY_F32,
				.op = TALLY_MAX,
				.time_us = { 7.125, 99 },
				.algbw = { 0.5, 99 },
				.busbw = { 0.25, 99 },
				.wrong = { 99, 99 } };

	(void)state;
	row_check(&options, &row,
		  "           4             1     float     max      -1"
		  "     7.12    0.50    0.25     N/A"
		  "      N/A     N/A     N/A     N/A\n");
}

/* As many decimals as fit: 2, 1, none. */
static void perf_table_row__numbers_keep_their_columns(void **state)
{
	static const struct {
		double value;
		const char *time, *width_6;
	} cases[] = {
		{ 0, "   0.00", "  0.00" },	    { 0.004, "   0.00", "  0.00" },
		{ 9.99, "   9.99", "  9.99" },	    { 99.99, "  99.99", " 99.99" },
		{ 999.25, " 999.25", "999.25" },    { 1000.25, "1000.25", "1000.2" },
		{ 9999.25, "9999.25", "9999.2" },   { 10000.25, "10000.2", " 10000" },
		{ 99999.25, "99999.2", " 99999" },  { 100000.25, " 100000", "100000" },
		{ 999999.25, " 999999", "999999" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double v = cases[i].value;
		struct perf_row row = { .time_us = { v, v }, .algbw = { v, v }, .busbw = { v, v } };
		char want[128];
		char *got = row_print(&all_on, &row);

		snprintf(want, sizeof(want), "  %s  %s  %s       0  %s  %s  %s       0\n",
			 cases[i].time, cases[i].width_6, cases[i].width_6, cases[i].time,
			 cases[i].width_6, cases[i].width_6);
		assert_true(strlen(got) > 52);
		assert_string_equal(got + 52, want);
		free(got);
	}
}

static void perf_table_head__has_nccl_tests_titles(void **state)
{
	struct perf_options options = { .counts = { 7, 3, 1024 },
					.nr_counts = 3,
					.iters = 20,
					.warmup_iters = 2,
					.check = true,
					.seed = 9 };
	struct perf_rank rank = { .options = &options, .nr_ranks = 4 };
	static const char titles[] =
		"#\n"
		"#                                                              "
		"out-of-place                       in-place          \n"
		"#       size         count      type   redop    root     time   algbw   busbw  "
		"#wrong     time   algbw   busbw  #wrong \n"
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)  "
		"           (us)  (GB/s)  (GB/s)         \n";
	struct capture capture;
	char *got;

	(void)state;
	capture_begin(&capture, 1);
	perf_table_head(&rank);
	got = capture_end(&capture);
	assert_true(strlen(got) > strlen(titles));
	assert_string_equal(got + strlen(got) - strlen(titles), titles);
	assert_non_null(strstr(got, "  ranks 4  minBytes 12 maxBytes 4096 sizes 3 warmup iters: 2 "
				    "iters: 20 validation: 1 seed: 9\n"));
	assert_non_null(strstr(got, "n * 2^-(k+1)"));
	free(got);
}

static char *foot_print(bool check, const struct perf_summary *summary)
{
	struct perf_options options = { .check = check };
	struct perf_rank rank = { .options = &options, .nr_ranks = 4 };
	struct capture capture;

	capture_begin(&capture, 1);
	perf_table_foot(&rank, summary);
	return capture_end(&capture);
}

static void perf_table_foot__has_nccl_tests_lines_and_the_hash(void **state)
{
	struct perf_summary summary = { .avg_busbw = 1.25,
					.hash = UINT64_C(0x00ab12),
					.hash_equal = true,
					.wait = 0.5,
					.wire = 0.25,
					.retransmit = 0.0625,
					.convert = 0.125,
					.first = UINT64_C(5000000017),
					.results = 23 };
	char *got;

	(void)state;
	got = foot_print(true, &summary);
	assert_ptr_equal(strstr(got, "# Out of bounds values : 0 OK\n"
				     "# Avg bus bandwidth    : 1.25\n#\n"
				     "# Result hash : 000000000000ab12\n"),
			 got);
	assert_non_null(strstr(got, "\n# First transmissions  : 5000000017, results 23\n"));
	assert_null(strstr(got, "FAILED"));
	assert_null(strstr(got, "Interrupted"));
	assert_non_null(strstr(got, "wait 50 %, wire 25 %, retransmit 6 %, convert 12 %\n"));
	assert_non_null(strstr(got, "# Limited by           : waiting for other ranks"));
	free(got);
}

/* Iterations say more of steps than shares of operations that overlap. */
static void perf_table_foot__of_steps(void **state)
{
	const struct perf_options options = { .trace = "list.csv", .check = true };
	const struct perf_rank rank = { .options = &options, .nr_ranks = 4 };
	const struct perf_summary summary = {
		.hash_equal = true,
		.iteration = { 1000.25, 2000, 3000.5, 1 },
		.compute = { 500, 1500, 2500, 1 },
		.waiting = { 7, 250, 800, 1 },
	};
	struct capture capture;
	char *got;

	(void)state;
	capture_begin(&capture, 1);
	perf_table_foot(&rank, &summary);
	got = capture_end(&capture);
	assert_non_null(strstr(got,
			       "# Iteration            :     1000.2       2000.0       3000.5 us\n"
			       "# of that computing    :      500.0       1500.0       2500.0 us\n"
			       "# of that only waiting :        7.0        250.0        800.0 us\n"
			       "# Only waiting         : 12.5 % of the iterations' time\n"));
	assert_null(strstr(got, "Share of time"));
	assert_null(strstr(got, "Limited by"));
	free(got);
}

static void perf_table_head__of_steps(void **state)
{
	const struct perf_options options = {
		.trace = "list.csv",
		.counts = { 7, 3, 1024 },
		.nr_counts = 3,
		.compute = { .least_ns = 18000000, .most_ns = 22500000, .factor = 3 }
	};
	const struct perf_rank rank = { .options = &options, .nr_ranks = 4 };
	struct capture capture;
	char *got;

	(void)state;
	capture_begin(&capture, 1);
	perf_table_head(&rank);
	got = capture_end(&capture);
	assert_non_null(
		strstr(got, "# each iteration reduces the 3 tensors of list.csv, while each rank "
			    "computes 18 to 22.5 ms, 3 times that as a straggler\n"));
	free(got);
}

static uint64_t no_clock(void)
{
	return 0;
}

static void perf_table_foot__elsewhere_and_without_cpu_time(void **state)
{
	const struct perf_summary summary = { .rtt_us = 12.5, .hash_equal = true };
	struct perf_options options = { .clock = no_clock };
	const struct perf_rank rank = { .options = &options, .nr_ranks = 4 };
	struct capture capture;
	char *text, *got;
	size_t len;

	(void)state;
	options.out = open_memstream(&text, &len);
	assert_non_null(options.out);
	capture_begin(&capture, 1);
	perf_table_foot(&rank, &summary);
	got = capture_end(&capture);
	fclose(options.out);
	assert_string_equal(got, "");
	assert_non_null(strstr(text, "# Round trip           : 12.5 us\n"));
	assert_null(strstr(text, "CPU time"));
	free(got);
	free(text);
}

static void perf_table_foot__says_what_failed_and_what_limits(void **state)
{
	struct perf_summary summary = { .wrong = 17, .hash_other = 3, .convert = 0.6, .wire = 0.3 };
	char *got;

	(void)state;
	summary.interrupted = true;
	got = foot_print(true, &summary);
	assert_non_null(strstr(got, "# Out of bounds values : 17 FAILED\n"));
	assert_non_null(strstr(got, "FAILED, rank 3 has another hash than rank 0\n"));
	assert_non_null(strstr(got, "# Limited by           : conversion (float to integer and "
				    "back), 60 % of the time\n"));
	assert_non_null(strstr(got, "# Interrupted\n"));
	free(got);
	summary.delay = 0.25;
	summary.hash_equal = true;
	got = foot_print(false, &summary);
	assert_non_null(strstr(got, "# Out of bounds values : not checked\n"));
	assert_null(strstr(got, "Result hash"));
	assert_non_null(strstr(got, "CPU oversubscribed: ready to run but without a CPU 25 %"));
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_table_row__is_nccl_tests_line),
		cmocka_unit_test(perf_table_row__is_made_by_the_formats),
		cmocka_unit_test(perf_table_row__not_checked_and_not_run_is_na),
		cmocka_unit_test(perf_table_row__numbers_keep_their_columns),
		cmocka_unit_test(perf_table_head__has_nccl_tests_titles),
		cmocka_unit_test(perf_table_head__of_steps),
		cmocka_unit_test(perf_table_foot__of_steps),
		cmocka_unit_test(perf_table_foot__has_nccl_tests_lines_and_the_hash),
		cmocka_unit_test(perf_table_foot__says_what_failed_and_what_limits),
		cmocka_unit_test(perf_table_foot__elsewhere_and_without_cpu_time),
	};

	return cmocka_run_group_tests_name("perf_table", tests, NULL, NULL);
}
