// SPDX-License-Identifier: BSD-3-Clause
// Tests of lists of tensors: what is read of them, and that what is wrong is said with its place.
#include "host/tools/perf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"

static struct perf_trace trace;

static void good(const char *text, const uint64_t *want, uint32_t nr)
{
	struct perf_trace_error error = { 0 };

	if (perf_trace_parse(text, strlen(text), &trace, &error) != 0)
		fail_msg("'%s': %u:%u: %s", text, error.line, error.column, error.text);
	assert_int_equal(trace.nr, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_true(trace.count[i] == want[i]);
}

static void perf_trace_parse__both_kinds_of_lists(void **state)
{
	static const uint64_t tensors[] = { 9408, 64, 36864, 7 }, buckets[] = { 2049000, 5 };
	static const uint64_t alone[] = { UINT64_C(274877906944) };

	(void)state;
	good("index,name,shape,numel\n0,conv1.weight,64x3x7x7,9408\n1,bn1.weight,64,64\n"
	     "2,layer1,64x64x3x3,36864\n3,fc.bias,7,7\n",
	     tensors, 4);
	good("bucket,tensors,numel,bytes\n0,2,2049000,8196000\n1,15,5,20", buckets, 2);
	good("numel\n274877906944\n", alone, 1);
}

static void perf_trace_parse__what_lines_may_be(void **state)
{
	static const uint64_t want[] = { 13, 12, 11 };

	(void)state;
	good("\xef\xbb\xbf# of a network\r\n\r\nnumel,name\r\n# first\r\n13,\"a, b\"\r\n\r\n12,\r\n"
	     "11,\"say \"\"c,d\"\"\"\r\n\r\n",
	     want, 3);
}

static void perf_trace_parse__errors_have_their_place(void **state)
{
	static const struct {
		const char *text;
		uint32_t line, column;
		const char *want;
	} cases[] = {
		{ "", 1, 1, "expected a header with a column 'numel', not nothing" },
		{ "# only\n\n", 3, 1, "expected a header with a column 'numel', not nothing" },
		{ "#\nname,count\na,3\n", 2, 1,
		  "expected a header with a column 'numel', not 'name,count'" },
		{ "numel,a,numel\n", 1, 9, "expected one column 'numel', not two" },
		{ "index,numel\n", 2, 1, "expected a line for each tensor, not a header alone" },
		{ "index,numel\n0,5\n1,\n", 3, 3,
		  "expected elements from 1 to 274877906944, not nothing" },
		{ "index,numel\n0,5\n1,5x\n", 3, 3,
		  "expected elements from 1 to 274877906944, not '5x'" },
		{ "index,numel\n0,-5\n", 2, 3,
		  "expected elements from 1 to 274877906944, not '-5'" },
		{ "index,numel\n0,0\n", 2, 3, "expected elements from 1 to 274877906944, not '0'" },
		{ "numel\n274877906945\n", 2, 1,
		  "expected elements from 1 to 274877906944, not '274877906945'" },
		{ "numel\n99999999999999999999999\n", 2, 1,
		  "expected elements from 1 to 274877906944, not '99999999999999999999999'" },
		{ "numel\n274877906943\n2\n", 3, 1,
		  "expected at most 274877906944 elements of all tensors, not more" },
		{ "numel,name\n5\n", 2, 2, "expected 2 values as in the header, not fewer" },
		{ "numel,name\n5,a,b\n", 2, 5, "expected 2 values as in the header, not more" },
		{ "numel,name\n5,a,\n", 2, 5, "expected 2 values as in the header, not more" },
		{ "name,numel\n\xc3\xa4\xc3\xb6,x\n", 2, 4,
		  "expected elements from 1 to 274877906944, not 'x'" },
		{ "name,numel\na,\x01\n", 2, 3,
		  "expected elements from 1 to 274877906944, not '?'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_trace_error error = { 0 };

		assert_int_equal(perf_trace_parse(cases[i].text, strlen(cases[i].text), &trace,
						  &error),
				 -1);
		assert_string_equal(error.text, cases[i].want);
		if (error.line != cases[i].line || error.column != cases[i].column)
			fail_msg("'%s': %u:%u", cases[i].text, error.line, error.column);
	}
}

static void perf_trace_parse__a_nul_is_no_end(void **state)
{
	static const char text[] = "numel\n5\n7\0\n";
	struct perf_trace_error error = { 0 };

	(void)state;
	assert_int_equal(perf_trace_parse(text, sizeof(text) - 1, &trace, &error), -1);
	assert_int_equal(error.line, 3);
}

static void perf_trace_parse__as_many_as_there_may_be(void **state)
{
	static char text[16 * (PERF_TRACE_MAX + 2)];
	struct perf_trace_error error = { 0 };
	size_t len = (size_t)snprintf(text, sizeof(text), "numel\n");

	(void)state;
	for (unsigned int i = 0; i < PERF_TRACE_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u\n", 3 * i + 1);
	assert_int_equal(perf_trace_parse(text, len, &trace, &error), 0);
	assert_int_equal(trace.nr, PERF_TRACE_MAX);
	for (unsigned int i = 0; i < PERF_TRACE_MAX; i++)
		assert_int_equal(trace.count[i], 3 * i + 1);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "1\n");
	assert_int_equal(perf_trace_parse(text, len, &trace, &error), -1);
	assert_int_equal(error.line, PERF_TRACE_MAX + 2);
	assert_string_equal(error.text, "expected at most 4096 tensors, not more");
}

static char *read_said(const char *path, int rc)
{
	struct capture capture;

	capture_begin(&capture, 2);
	rc -= perf_trace_read(path, &trace);
	assert_int_equal(rc, 0);
	return capture_end(&capture);
}

static void perf_trace_read__files_that_are_none(void **state)
{
	char *said = read_said("/nonexistent/list.csv", -1);

	(void)state;
	assert_string_equal(said, "tally-perf: --trace /nonexistent/list.csv: No such file or "
				  "directory\n");
	free(said);
	said = read_said("/", -1);
	assert_string_equal(said, "tally-perf: --trace /: Is a directory\n");
	free(said);
	said = read_said("/dev/null", -1);
	assert_string_equal(said, "tally-perf: --trace /dev/null:1:1: expected a header with a "
				  "column 'numel', not nothing\n");
	free(said);
	said = read_said("/dev/zero", -1);
	assert_string_equal(said, "tally-perf: --trace /dev/zero: want a file of at most 1 MiB\n");
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_trace_parse__both_kinds_of_lists),
		cmocka_unit_test(perf_trace_parse__what_lines_may_be),
		cmocka_unit_test(perf_trace_parse__errors_have_their_place),
		cmocka_unit_test(perf_trace_parse__a_nul_is_no_end),
		cmocka_unit_test(perf_trace_parse__as_many_as_there_may_be),
		cmocka_unit_test(perf_trace_read__files_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
