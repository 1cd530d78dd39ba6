// SPDX-License-Identifier: BSD-3-Clause
// Tests of files that include others.
#include "topologies/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topology_rig.h"

static void reader_read_files__scalars_above_win(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/include.yaml");
	const struct topology_node *h1 = topology_rig_node(t, "h1"), *s1;

	(void)state;
	s1 = topology_rig_node(t, "s1");
	assert_true(t->seed == 7);
	assert_int_equal(t->nr_nodes, 6);
	assert_int_equal(h1->ip, 0x0a00000b);		  // of base.yaml
	assert_true(h1->mac == UINT64_C(0x020000000a01)); // of include.yaml
	assert_true(s1->restart && s1->slots == 200);	  // of rack.yaml and more.yaml
	assert_int_equal(topology_rig_node(t, "h5")->ip, 0x0a000037);
	topology_free(t);
}

static void reader_read_files__lists_are_appended(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/include.yaml");
	const struct topology_node *h1 = topology_rig_node(t, "h1");

	(void)state;
	assert_int_equal(h1->commands.nr, 2);
	assert_string_equal(h1->commands.item[0], "base");
	assert_string_equal(h1->commands.item[1], "here");
	assert_int_equal(t->nr_links, 5); // rack.yaml, included twice, is read once
	assert_string_equal(t->node[t->link[0].end[0].node].name, "h1");
	assert_string_equal(t->node[t->link[4].end[0].node].name, "h5");
	topology_free(t);
}

static void reader_read_files__places_name_their_file(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/include.yaml");

	(void)state;
	assert_string_equal(topology_path(t, t->link[0].place), DATA "good/../parts/rack.yaml");
	assert_string_equal(topology_path(t, t->link[4].place), DATA "good/include.yaml");
	assert_string_equal(t->path, DATA "good/include.yaml");
	topology_free(t);
}

/* Keys of base.yaml, more.yaml and include.yaml. */
static void reader_read_files__defaults_are_merged(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/include.yaml");
	const struct topology_job *j = &t->job[0];

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(t->link[i].delay_ns, 3000);
		assert_true(t->link[i].rate_bps == UINT64_C(10000000000));
	}
	assert_int_equal(j->workload.iterations, 6);
	assert_int_equal(j->workload.sizes.nr, 2);
	assert_int_equal(j->nr_env, 2);
	assert_int_equal(j->ranks.nr, 5);
	topology_free(t);
}

/* By whatever name: what is written there would be in its place. */
static void topology_reads__cases(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/include.yaml");

	(void)state;
	assert_string_equal(topology_reads(t, "./" DATA "bad/../good/include.yaml"),
			    DATA "good/include.yaml");
	assert_string_equal(topology_reads(t, DATA "parts/rack.yaml"),
			    DATA "good/../parts/rack.yaml");
	assert_null(topology_reads(t, DATA "good/tree.yaml"));
	assert_null(topology_reads(t, DATA "good/no-such-file.yaml"));
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_read_files__scalars_above_win),
		cmocka_unit_test(reader_read_files__lists_are_appended),
		cmocka_unit_test(reader_read_files__places_name_their_file),
		cmocka_unit_test(reader_read_files__defaults_are_merged),
		cmocka_unit_test(topology_reads__cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
