// SPDX-License-Identifier: BSD-3-Clause
// tally_result_test.c - struct tally_result: where the time went, and programs that know fewer of its fields.
#include "host/include/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ranks.h"

static const struct reduction sum = { .count = 70000,
				      .dtype = TALLY_F32,
				      .op = TALLY_SUM,
				      .in_place = true,
				      .seed = 3,
				      .nan_rank = -1 };

static void split(struct rank *rank, void *ctx)
{
	struct tally_result result = { .size = sizeof(result) };

	(void)ctx;
	reduction_run(rank, &sum, &result);
	rank_check(rank, result.time_ns > 0 && result.convert_ns > 0);
	rank_check(rank,
		   result.wait_ns + result.wire_ns + result.retransmit_ns + result.convert_ns ==
			   result.time_ns);
}

static void tally_get_result__the_parts_are_the_whole(void **state)
{
	struct ranks ranks = { .size = 3, .absent = -1, .fn = split };

	(void)state;
	ranks_run(&ranks);
}

/* Built when time_ns was the last field. */
static void older(struct rank *rank, void *ctx)
{
	struct tally_result result;

	(void)ctx;
	memset(&result, 0x5a, sizeof(result));
	result.size = offsetof(struct tally_result, wait_ns);
	reduction_run(rank, &sum, &result);
	rank_check(rank, result.size == offsetof(struct tally_result, wait_ns));
	rank_check(rank, result.time_ns > 0 && result.nonfinite == 0);
	rank_check(rank, result.wait_ns == UINT64_C(0x5a5a5a5a5a5a5a5a));
}

static void tally_get_result__of_an_older_program(void **state)
{
	struct ranks ranks = { .size = 2, .absent = -1, .fn = older };

	(void)state;
	ranks_run(&ranks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tally_get_result__the_parts_are_the_whole),
		cmocka_unit_test(tally_get_result__of_an_older_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
