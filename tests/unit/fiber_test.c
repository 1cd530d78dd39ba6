// SPDX-License-Identifier: BSD-3-Clause
// fiber_test.c - fibers give way and go on where they were, each with its own stack.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topologies/fiber.h"

enum { FIBERS = 40, ROUNDS = 25, DEEP = 2000 };

struct job {
	struct fiber *fiber;
	unsigned number, rounds;
	uint64_t sum;
};

/* What is on the stack and in registers must come through. */
static uint64_t work(struct job *job, double weight)
{
	uint64_t own[DEEP], sum = 0;

	for (unsigned i = 0; i < DEEP; i++)
		own[i] = (uint64_t)job->number * 1000003 + i;
	for (unsigned round = 0; round < ROUNDS; round++) {
		job->rounds++;
		fiber_yield(job->fiber);
		for (unsigned i = round; i < DEEP; i += ROUNDS)
			sum += own[i];
	}
	return sum + (uint64_t)(weight * 4);
}

static void entry(void *context)
{
	struct job *job = context;

	job->sum = work(job, job->number + 0.25);
}

static void fiber_resume__many_in_turns(void **state)
{
	static struct job jobs[FIBERS];
	bool alive = true;

	(void)state;
	for (unsigned i = 0; i < FIBERS; i++) {
		jobs[i] = (struct job){ .number = i };
		jobs[i].fiber = fiber_new(entry, &jobs[i]);
		assert_non_null(jobs[i].fiber);
		assert_int_equal(jobs[i].rounds, 0);
	}
	for (unsigned round = 1; round <= ROUNDS; round++)
		for (unsigned i = 0; i < FIBERS; i++) {
			assert_true(fiber_resume(jobs[i].fiber));
			assert_int_equal(jobs[i].rounds, round);
		}
	for (unsigned i = 0; i < FIBERS; i++) {
		alive = fiber_resume(jobs[i].fiber);
		assert_false(alive);
		assert_int_equal(jobs[i].sum, (uint64_t)i * 1000003 * DEEP +
						      (uint64_t)DEEP * (DEEP - 1) / 2 +
						      (uint64_t)i * 4 + 1);
		fiber_free(jobs[i].fiber);
	}
}

static void fiber_free__one_that_has_not_ended_or_begun(void **state)
{
	struct job job = { .number = 3 };

	(void)state;
	job.fiber = fiber_new(entry, &job);
	assert_non_null(job.fiber);
	fiber_free(job.fiber);
	job.fiber = fiber_new(entry, &job);
	assert_true(fiber_resume(job.fiber));
	fiber_free(job.fiber);
	fiber_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fiber_resume__many_in_turns),
		cmocka_unit_test(fiber_free__one_that_has_not_ended_or_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
