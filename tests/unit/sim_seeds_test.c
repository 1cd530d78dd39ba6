// SPDX-License-Identifier: BSD-3-Clause
// sim_seeds_test.c - ranges of seeds as they are written, and a run for each.
#include "topologies/sim_seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "tests/unit/local_rig.h"

static void sim_seeds_parse__ranges(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "1..",
					   "..2",
					   "3..2",
					   "1.2",
					   "1..x",
					   "1...",
					   "1..2x",
					   "-1..2",
					   "0..1000000",
					   "1,2",
					   "0..18446744073709551615",
					   "18446744073709551610..18446744073709551616",
					   "18446744073709551615..0" };
	struct sim_seeds seeds;

	(void)state;
	assert_int_equal(sim_seeds_parse(&seeds, "17"), 0);
	assert_true(seeds.first == 17 && seeds.last == 17);
	assert_int_equal(sim_seeds_parse(&seeds, "3..40"), 0);
	assert_true(seeds.first == 3 && seeds.last == 40);
	assert_int_equal(sim_seeds_parse(&seeds, "1..1000000"), 0);
	assert_int_equal(sim_seeds_parse(&seeds, "18446744073709551610..18446744073709551615"), 0);
	assert_true(seeds.first == UINT64_MAX - 5 && seeds.last == UINT64_MAX);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sim_seeds_parse(&seeds, bad[i]), -1);
}

static void sim_seeds_main__each_and_a_summary(void **state)
{
	const struct sim_options options = { .links = { UINT64_C(10000000000), 2000 } };
	const struct sim_seeds seeds = { .first = 3, .last = 7, .repeat = "again" };
	struct topology *t = local_rig_load(local_rig_tree);
	char *printed, *said, *hash, *once;
	struct capture out, err;
	int code;

	(void)state;
	for (unsigned i = 0; i < t->nr_links; i++)
		t->link[i].loss = 0.02;
	capture_begin(&out, 1);
	capture_begin(&err, 2);
	code = sim_seeds_main(t, &options, &seeds);
	said = capture_end(&err);
	printed = capture_end(&out);
	assert_string_equal(said, "");
	assert_int_equal(code, 0);
	/* That of a run. */
	capture_begin(&out, 1);
	assert_int_equal(sim_main(t, &options), 0);
	once = capture_end(&out);
	hash = strstr(printed, "\nresult hash ");
	assert_memory_equal(hash + strlen("\nresult hash "), local_rig_hash(once, 0).text, 16);
	free(once);
	assert_ptr_equal(strstr(printed, "5 of 5 seeds run, 0 failed\n"), printed);
	assert_non_null(hash);
	free(said);
	free(printed);
	/* The leaves' uplinks lose everything: nobody joins. */
	t->link[t->nr_links - 1].loss = 1;
	capture_begin(&out, 1);
	capture_begin(&err, 2);
	code = sim_seeds_main(t, &options, &seeds);
	said = capture_end(&err);
	printed = capture_end(&out);
	assert_int_equal(code, 1);
	assert_non_null(strstr(said, "tally-fabric: seed 6 exited with 1: "));
	assert_non_null(strstr(said, "; again: again --seed 6\n"));
	assert_non_null(strstr(printed, "5 of 5 seeds run, 5 failed\n"));
	assert_null(strstr(printed, "median"));
	free(said);
	free(printed);
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sim_seeds_parse__ranges),
		cmocka_unit_test(sim_seeds_main__each_and_a_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
