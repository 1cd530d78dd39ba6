// SPDX-License-Identifier: BSD-3-Clause
// sim_workers_test.c - a job with some of its ranks, and what others would take beside it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "tests/unit/local_rig.h"
#include "topologies/sim_workers.h"

static const struct sim_options usual = { .links = { UINT64_C(10000000000), 2000 } };

static void sim_workers_parse__lists(void **state)
{
	struct sim_workers w = { .nr = 0 };

	(void)state;
	assert_int_equal(sim_workers_parse(&w, "2,17,1024"), 0);
	assert_int_equal(w.nr, 3);
	assert_int_equal(w.number[1], 17);
	assert_int_equal(w.number[2], 1024);
	assert_int_equal(sim_workers_parse(&w, "5"), 0);
	assert_int_equal(w.nr, 1);
	assert_int_equal(sim_workers_parse(&w, ""), -1);
	assert_int_equal(sim_workers_parse(&w, "2,"), -1);
	assert_int_equal(sim_workers_parse(&w, "1"), -1);
	assert_int_equal(sim_workers_parse(&w, "1025"), -1);
	assert_int_equal(sim_workers_parse(&w, "2;3"), -1);
}

/* What it prints; the caller frees it. */
static char *run(const char *text, const struct sim_workers *w, int want)
{
	struct topology *t = local_rig_load(text);
	const unsigned nr = t->job->ranks.nr;
	struct capture out, err;
	char *printed, *said;
	int code;

	capture_begin(&out, 1);
	capture_begin(&err, 2);
	code = sim_workers_main(t, &usual, w);
	said = capture_end(&err);
	printed = capture_end(&out);
	if (code != want)
		fail_msg("code %d, not %d: %s%s", code, want, printed, said);
	assert_int_equal(t->job->ranks.nr, nr);
	topology_free(t);
	free(want ? printed : said);
	return want ? said : printed;
}

static void sim_workers_main__a_row_for_each(void **state)
{
	const struct sim_workers w = { .number = { 2, 4 }, .nr = 2, .compare = true };
	char *printed = run(local_rig_tree, &w, 0);
	double us[2], speed[2], ring[2], formula[2], server[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(printed, i ? "\n       4 " : "\n       2 ");

		assert_non_null(at);
		assert_int_equal(sscanf(at, "%*u %lf %lf 0 %lf %lf %*f %lf", &us[i], &speed[i],
					&ring[i], &formula[i], &server[i]),
				 5);
		assert_true(ring[i] > 0.98 * formula[i] && ring[i] < 1.02 * formula[i]);
		/* Three sizes, twice, in two modes: elements by the time that they take. */
		assert_true(speed[i] > 0.99e6 * 4 * (25 + 1250 + 51200) / us[i] &&
			    speed[i] < 1.01e6 * 4 * (25 + 1250 + 51200) / us[i]);
	}
	/* Ours stays, the others do not. */
	assert_true(us[1] < 1.02 * us[0]);
	assert_true(ring[1] > 1.4 * ring[0]);
	assert_true(server[1] > 2.5 * server[0]);
	free(printed);
}

static void sim_workers_main__too_many(void **state)
{
	const struct sim_workers w = { .number = { 2, 5 }, .nr = 2 };
	char *said = run(local_rig_star, &w, 2);

	(void)state;
	assert_non_null(strstr(said, "expected at most the 4 ranks of job sums, not 5"));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sim_workers_parse__lists),
		cmocka_unit_test(sim_workers_main__a_row_for_each),
		cmocka_unit_test(sim_workers_main__too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
