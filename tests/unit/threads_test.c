// SPDX-License-Identifier: BSD-3-Clause
// threads_test.c - the same topologies with threads: the results are those of virtual time.
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
#include "topologies/sim.h"
#include "topologies/threads.h"

static char *run(const char *text, bool sim)
{
	const struct sim_options options = { .links = { UINT64_C(10000000000), 2000 } };
	const struct record none = { .dir = NULL };
	struct topology *t = local_rig_load(text);
	struct capture out;
	char *printed;
	int code;

	capture_begin(&out, 1);
	code = sim ? sim_main(t, &options) : threads_main(t, 300, &none, NULL);
	printed = capture_end(&out);
	if (code)
		fail_msg("code %d: %s", code, printed);
	topology_free(t);
	return printed;
}

/* The line that begins with this, up to its end. */
static void same_line(const char *a, const char *b, const char *begin)
{
	const char *x = strstr(a, begin), *y = strstr(b, begin);

	assert_true(x && y);
	assert_memory_equal(x, y, strcspn(x, "\n"));
}

static void compare(const char *text)
{
	char *threads = run(text, false), *sim = run(text, true);

	assert_int_equal(strlen(local_rig_hash(sim, 0).text), 16);
	assert_string_equal(local_rig_hash(threads, 0).text, local_rig_hash(sim, 0).text);
	same_line(threads, sim, "\n# Out of bounds values : 0 OK");
	same_line(threads, sim, "\n# First transmissions");
	free(threads);
	free(sim);
}

static void threads_main__as_in_virtual_time(void **state)
{
	char *printed;

	(void)state;
	compare(local_rig_star);
	compare(local_rig_tree);
	printed = run(local_rig_tree, false);
	assert_non_null(strstr(printed, "\nsums                3  h4                  0 "));
	assert_non_null(strstr(printed, "\nswitch s2:\n"));
	free(printed);
}

static void threads_main__ranks_that_share_a_host(void **state)
{
	(void)state;
	compare("hosts: [h1, h2]\nswitches: [s0]\nlinks: [[h1, s0-p1, {loss: 1%}], [h2, s0-p2, {mtu: 9000}]]\n"
		"jobs: [{name: one, ranks: [h1, h1, h2, h1], env: {TALLY_WINDOW: 32}, "
		"workload: {sizes: [60, 9K], iterations: 2}}]\n");
}

/* While another job goes on. */
static void threads_main__a_job_is_ended_at_its_time(void **state)
{
	static const char text[] =
		"hosts: [h1, h2, h3]\nswitches: [s0]\n"
		"links: [[h1, s0-p1], [h2, s0-p2], [h3, s0-p3]]\njobs:\n"
		"  - {name: long, ranks: [h1, h2], workload: {sizes: [9K], iterations: 1000000}, "
		"stop: 60ms}\n"
		"  - {name: short, ranks: [h3, h2], workload: {sizes: [7000], iterations: 3}}\n";
	struct capture err;
	char *printed, *said;

	(void)state;
	capture_begin(&err, 2);
	printed = run(text, false);
	said = capture_end(&err);
	assert_string_equal(said,
			    "tally-fabric: job long is ended after 0.06 s, as the file says: 2 of "
			    "2 ranks ran\n");
	assert_non_null(strstr(printed, "\nlong                1  h2                  0 "));
	assert_int_equal(strlen(local_rig_hash(printed, 0).text), 16);
	assert_int_equal(strlen(local_rig_hash(printed, 1).text), 0);
	free(said);
	free(printed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_main__as_in_virtual_time),
		cmocka_unit_test(threads_main__a_job_is_ended_at_its_time),
		cmocka_unit_test(threads_main__ranks_that_share_a_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
