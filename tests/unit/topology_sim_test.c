// SPDX-License-Identifier: BSD-3-Clause
// topology_sim_test.c - the table that a topology file asks of `tally-fabric sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/topology_rig.h"

static const char before[] = "hosts: [\"h[1-3]\"]\n"
			     "switches: [s1]\n"
			     "links: [[\"h[1-3]\", \"s1-p[1-3]\"]]\n"
			     "jobs: [{name: j, ranks: [\"h[1-3]\"], workload: {sizes: 1K}}]\n";

/* The file above with one more line, or what is said of it. */
static struct topology *load(const char *line, char **errors)
{
	char path[] = "/tmp/tally-sim.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	struct topology *t;

	assert_non_null(file);
	fprintf(file, "%s%s\n", before, line);
	fclose(file);
	t = topology_rig_load(path, errors);
	unlink(path);
	return t;
}

static void read_sim__workers(void **state)
{
	char *errors;
	struct topology *t = load("sim: {workers: [2, 3], compare: 1}", &errors);

	(void)state;
	assert_string_equal(errors, "");
	assert_true(t->sim.compare && t->sim.workers.nr == 2);
	assert_string_equal(t->sim.workers.item[1], "3");
	topology_free(t);
	free(errors);
	t = load("", &errors);
	assert_true(!t->sim.compare && !t->sim.workers.nr);
	topology_free(t);
	free(errors);
}

static void read_sim__refused(void **state)
{
	static const char *const cases[][2] = {
		{ "sim: {workers: [2, 4]}",
		  ":5:16: error: expected at most the 3 ranks of job j, not 4 workers\n" },
		{ "sim: {workers: [1]}",
		  ":5:17: error: expected a whole number, 2 to 1024, not '1'\n" },
		{ "sim: {workers: 2}",
		  ":5:16: error: expected a list of 1 to 64 numbers of workers such as [2, 4, "
		  "8], not '2'\n" },
		{ "sim: {compare: yes}",
		  ":5:16: error: expected a whole number, 0 to 1, not 'yes'\n" },
		{ "sim: {worker: [2]}", "did you mean 'workers'?\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *errors;

		assert_null(load(cases[i][0], &errors));
		if (!strstr(errors, cases[i][1]))
			fail_msg("%s", errors);
		free(errors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_sim__workers),
		cmocka_unit_test(read_sim__refused),
	};

	return cmocka_run_group_tests_name("topology_sim", tests, NULL, NULL);
}
