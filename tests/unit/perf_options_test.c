// SPDX-License-Identifier: BSD-3-Clause
// Tests of tally-perf's options: what they give, and that every refusal names option and value.
#include "host/tools/perf.h"

#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture.h"

enum { ARGS_MAX = 32, LINE_MAX_SIZE = 256 };

static struct perf_options options;

/* Parses a line of options; *said is what came on stderr, the caller frees it. */
static int parse(const char *line, char **said)
{
	static char text[LINE_MAX_SIZE]; /* options point into it */
	char name[] = "tally-perf", *argv[ARGS_MAX] = { name }, *word;
	struct capture out, err;
	int argc = 1, rc;

	snprintf(text, sizeof(text), "%s", line);
	for (word = strtok(text, " "); word && argc < ARGS_MAX - 1; word = strtok(NULL, " "))
		argv[argc++] = word;
	optind = 0; /* getopt begins anew */
	capture_begin(&out, 1);
	capture_begin(&err, 2);
	rc = perf_options_parse(&options, argc, argv);
	*said = capture_end(&err);
	free(capture_end(&out));
	return rc;
}

static void good(const char *line)
{
	char *said;

	assert_int_equal(parse(line, &said), 0);
	assert_string_equal(said, "");
	free(said);
}

static void bad(const char *line, const char *want)
{
	char *said;

	if (parse(line, &said) != -1)
		fail_msg("'%s' was taken", line);
	if (!strstr(said, want))
		fail_msg("'%s': expected '%s' in '%s'", line, want, said);
	assert_int_equal(said[strlen(said) - 1], '\n');
	free(said);
}

static void counts_check(const uint64_t *want, uint32_t nr)
{
	assert_int_equal(options.nr_counts, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(options.counts[i], want[i]);
}

static void perf_options_parse__defaults_are_those_of_nccl_tests(void **state)
{
	(void)state;
	good("");
	assert_int_equal(options.iters, 20);
	assert_int_equal(options.warmup_iters, 1);
	assert_true(options.check);
	assert_true(options.mode_on[0] && options.mode_on[1]);
	assert_int_equal(options.nr_dtypes, 1);
	assert_int_equal(options.dtypes[0], TALLY_F32);
	assert_int_equal(options.nr_ops, 1);
	assert_int_equal(options.ops[0], TALLY_SUM);
	assert_int_equal(options.nr_threads, 0);
	assert_int_equal(options.nr_counts, 23); /* 4 bytes to 16 MiB, doubled 22 times */
	for (uint32_t i = 0; i < 23; i++)
		assert_int_equal(options.counts[i], 1 << i);
	assert_null(options.json);
	assert_null(options.timeout);
}

static void perf_options_parse__sizes_by_factor_step_and_list(void **state)
{
	static const uint64_t factor[] = { 256, 768, 2304 }, step[] = { 2, 4, 6 };
	static const uint64_t list[] = { 1, 16384, 4194304, 268435456 }, counts[] = { 3, 1024, 0 };
	static const uint64_t odd[] = { 0, 1, 2, 3 }, one[] = { 8 << 20 };

	(void)state;
	good("-b 1K -e 10k -f 3");
	counts_check(factor, 3);
	good("--minbytes 8 --maxbytes 24 --stepbytes 8");
	counts_check(step, 3);
	good("--sizes 7,64K,16M,1G");
	counts_check(list, 4);
	good("--counts 3,1K,0");
	counts_check(counts, 3);
	good("-b 0 -e 13 -i 1"); /* equal ones after rounding down are taken once */
	counts_check(odd, 4);
	good("-b 32M");
	counts_check(one, 1);
}

static void perf_options_parse__each_option_is_taken(void **state)
{
	(void)state;
	good("-n 7 -w 0 -c 0 -d int -o all -t 64 -T 12 --seed 18446744073709551615 -J out.json");
	assert_int_equal(options.iters, 7);
	assert_int_equal(options.warmup_iters, 0);
	assert_false(options.check);
	assert_int_equal(options.nr_dtypes, 1);
	assert_int_equal(options.dtypes[0], TALLY_I32);
	assert_int_equal(options.nr_ops, 4);
	assert_int_equal(options.nr_threads, 64);
	assert_string_equal(options.timeout, "12");
	assert_true(options.seed == UINT64_MAX);
	assert_string_equal(options.json, "out.json");
	good("-d all --inplace 1 -o min");
	assert_int_equal(options.nr_dtypes, 4);
	assert_int_equal(options.dtypes[1], TALLY_F16);
	assert_false(options.mode_on[PERF_OUT_OF_PLACE]);
	assert_true(options.mode_on[PERF_IN_PLACE]);
	assert_int_equal(options.ops[0], TALLY_MIN);
}

/* Of halves a size has twice the elements; of both kinds, sizes are those of whole halves. */
static void perf_options_parse__types_of_two_bytes(void **state)
{
	static const struct {
		const char *line;
		enum tally_dtype dtype;
	} names[] = { { "--dtype f16", TALLY_F16 },  { "-d half", TALLY_F16 },
		      { "-d float16", TALLY_F16 },   { "--datatype bf16", TALLY_BF16 },
		      { "-d bfloat16", TALLY_BF16 }, { "-d f32", TALLY_F32 },
		      { "-d i32", TALLY_I32 } };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		good(names[i].line);
		assert_int_equal(options.nr_dtypes, 1);
		assert_int_equal(options.dtypes[0], names[i].dtype);
		assert_int_equal(options.wire, TALLY_WIRE_DEFAULT);
	}
	good("-d int32,half");
	assert_int_equal(options.nr_dtypes, 2);
	assert_int_equal(options.dtypes[0], TALLY_I32);
	assert_int_equal(options.dtypes[1], TALLY_F16);
	good("--sizes 2,7,1K -d f16 --wire int16");
	assert_int_equal(options.wire, TALLY_WIRE_INT16);
	assert_int_equal(perf_options_count(&options, 0, TALLY_F16), 1);
	assert_int_equal(perf_options_count(&options, 1, TALLY_F16), 3);
	assert_int_equal(perf_options_count(&options, 2, TALLY_F16), 512);
	good("--sizes 2,7,1K -d all --wire int32"); /* whatever the order of options */
	assert_int_equal(options.wire, TALLY_WIRE_INT32);
	assert_int_equal(perf_options_count(&options, 1, TALLY_BF16), 3);
	assert_int_equal(perf_options_count(&options, 1, TALLY_I32), 1);
	assert_int_equal(perf_options_count(&options, 2, TALLY_F32), 256);
	good("--counts 5,9 -d all");
	assert_int_equal(perf_options_count(&options, 1, TALLY_F16), 9);
	assert_int_equal(perf_options_count(&options, 1, TALLY_F32), 9);
	good("-b 2 -e 8 -d bf16");
	assert_int_equal(options.nr_counts, 3);
	assert_int_equal(perf_options_count(&options, 2, TALLY_BF16), 4);
}

static void perf_options_parse__refusals_name_option_and_value(void **state)
{
	static const char *const cases[][2] = {
		{ "-b 4T", "--minbytes 4T: want a size" },
		{ "-b -4", "--minbytes -4: want a size" },
		{ "-e 1025G", "--maxbytes 1025G: want a size" },
		{ "-e 99999999999999999999", "--maxbytes 99999999999999999999: want a size" },
		{ "-e 4Kx", "--maxbytes 4Kx: want a size" },
		{ "-i 0", "--stepbytes 0: want 1 or more" },
		{ "-f 1", "--stepfactor 1: want a whole number from 2 to 1000000" },
		{ "-f 2.5", "--stepfactor 2.5: want a whole number" },
		{ "-n 0", "--iters 0: want a whole number from 1 to 1000000" },
		{ "-n 1000001", "--iters 1000001: want a whole number" },
		{ "-w -1", "--warmup_iters -1: want a whole number from 0" },
		{ "-c 2", "--check 2: want a whole number from 0 to 1" },
		{ "-t 65", "--nthreads 65: want a whole number from 1 to 64" },
		{ "-t 0x4", "--nthreads 0x4: want a whole number" },
		{ "-T soon", "--timeout soon: want a whole number" },
		{ "--seed 18446744073709551616", "--seed 18446744073709551616: want a whole" },
		{ "-d float64",
		  "--datatype float64: want float32, float16, bfloat16, int32, up to four" },
		{ "-d int32,,half", "--datatype int32,,half: want float32" },
		{ "-d all,int32", "--datatype all,int32: want float32" },
		{ "--wire int8", "--wire int8: want int32 or int16" },
		{ "-o prod", "--op prod: want sum, avg, max, min or all" },
		{ "--inplace 2", "--inplace 2: want 0, 1 or both" },
		{ "--sizes 4K,", "--sizes 4K,: want sizes" },
		{ "--sizes 4K;8K", "--sizes 4K;8K: want sizes" },
		{ "--counts 1,x", "--counts 1,x: want sizes" },
		{ "--compute 5", "--compute 5: want a time such as 20ms or a range" },
		{ "--compute 5ms", "--compute and --stragglers are for the steps of --trace" },
		{ "--stragglers factor=2",
		  "--stragglers factor=2: want factor=F from 1 to 1000, and" },
		{ "--compute-seed x", "--compute-seed x: want a whole number" },
		{ "--trace /nonexistent/a.csv", "--trace /nonexistent/a.csv: No such file" },
		{ "--trace a --sizes 4", "give --trace or --sizes, --counts and --inplace" },
		{ "--inplace 1 --trace a", "give --trace or --sizes, --counts and --inplace" },
		{ "--trace a --stragglers factor=2,ranks=0", "longer than what --compute says" },
		{ "-b 64 -e 32", "--maxbytes 32 is less than --minbytes 64" },
		{ "-b 4 -e 64K -i 4", "between --minbytes and --maxbytes" },
		{ "-f 2 -i 4", "--stepfactor or --stepbytes" },
		{ "-x", "x" },
		{ "--nonsense", "nonsense" },
		{ "-n", "n" },
		{ "extra", "extra: not an option" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		bad(cases[i][0], cases[i][1]);
}

static void perf_options_parse__a_list_of_tensors(void **state)
{
	char path[] = "/tmp/tally-perf-options.XXXXXX", line[LINE_MAX_SIZE];
	const int fd = mkstemp(path);
	static const char list[] = "index,numel\n0,1001\n1,7\n2,30000\n";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, list, strlen(list)), strlen(list));
	close(fd);
	snprintf(line, sizeof(line),
		 "-d f16 --stragglers probability=1%%,factor=3 --compute 18ms..22ms "
		 "--compute-seed 17 --trace %s",
		 path);
	good(line);
	unlink(path);
	assert_int_equal(options.nr_counts, 3);
	assert_int_equal(perf_options_count(&options, 0, TALLY_F16), 1001);
	assert_int_equal(perf_options_count(&options, 1, TALLY_F16), 7);
	assert_int_equal(perf_options_count(&options, 2, TALLY_F16), 30000);
	assert_true(options.mode_on[PERF_OUT_OF_PLACE] && !options.mode_on[PERF_IN_PLACE]);
	assert_int_equal(options.compute.least_ns, 18000000);
	assert_int_equal(options.compute.most_ns, 22000000);
	assert_int_equal(options.compute.seed, 17);
	assert_true(options.compute.factor > 2.9);
}

static void perf_options_parse__list_is_limited(void **state)
{
	static char list[2 * PERF_ROWS_MAX + 2];
	char name[] = "tally-perf", counts[] = "--counts", *argv[] = { name, counts, list, NULL };
	struct capture err;
	char *said;
	int rc;

	(void)state;
	for (int i = 0; i < PERF_ROWS_MAX; i++)
		memcpy(list + 2 * i, "1,", 2);
	list[2 * PERF_ROWS_MAX - 1] = '\0';
	optind = 0;
	assert_int_equal(perf_options_parse(&options, 3, argv), 0);
	assert_int_equal(options.nr_counts, PERF_ROWS_MAX);
	memcpy(list + 2 * PERF_ROWS_MAX - 1, ",1", 3);
	optind = 0;
	capture_begin(&err, 2);
	rc = perf_options_parse(&options, 3, argv);
	said = capture_end(&err);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(said, "at most 1024 sizes"));
	free(said);
}

static void perf_options_parse__help_and_version_end_it(void **state)
{
	static const char *const lines[] = { "-h", "--help", "-V", "--version" };
	char *said;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(parse(lines[i], &said), 1);
		assert_string_equal(said, "");
		free(said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_options_parse__defaults_are_those_of_nccl_tests),
		cmocka_unit_test(perf_options_parse__sizes_by_factor_step_and_list),
		cmocka_unit_test(perf_options_parse__each_option_is_taken),
		cmocka_unit_test(perf_options_parse__types_of_two_bytes),
		cmocka_unit_test(perf_options_parse__refusals_name_option_and_value),
		cmocka_unit_test(perf_options_parse__a_list_of_tensors),
		cmocka_unit_test(perf_options_parse__list_is_limited),
		cmocka_unit_test(perf_options_parse__help_and_version_end_it),
	};

	return cmocka_run_group_tests_name("perf_options", tests, NULL, NULL);
}
