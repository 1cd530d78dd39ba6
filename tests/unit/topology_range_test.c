// SPDX-License-Identifier: BSD-3-Clause
// Tests of ranges in names.
#include "topologies/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topology_rig.h"

static void link_is(const struct topology *t, unsigned int i, const char *a, unsigned int a_port,
		    const char *b, unsigned int b_port)
{
	const struct topology_end *e = t->link[i].end;

	assert_string_equal(t->node[e[0].node].name, a);
	assert_int_equal(e[0].port, a_port);
	assert_string_equal(t->node[e[1].node].name, b);
	assert_int_equal(e[1].port, b_port);
}

static void reader_expand__names_of_nodes(void **state)
{
	static const char *const want[] = { "h1",   "h2",   "h3",  "g08",  "g09",
					    "g10",  "g11",  "g20", "r1n1", "r1n2",
					    "r2n1", "r2n2", "s1",  "s2",   "top" };
	struct topology *t = topology_rig_good(DATA "good/ranges.yaml");

	(void)state;
	assert_int_equal(t->nr_nodes, 15);
	for (unsigned int i = 0; i < 15; i++) {
		assert_string_equal(t->node[i].name, want[i]);
		assert_true(t->node[i].is_switch == (i >= 12));
		assert_int_equal(t->node[i].commands.nr, i < 3);
	}
	assert_string_equal(t->node[2].commands.item[0], "echo h[1-3]"); // a command is no name
	assert_true(t->node[13].memory == 1 << 20 && t->node[14].memory == 0);
	topology_free(t);
}

static void reader_expand__ends_of_links(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/ranges.yaml");

	(void)state;
	assert_int_equal(t->nr_links, 9);
	link_is(t, 0, "h1", 0, "s1", 5);
	link_is(t, 1, "h2", 0, "s1", 7);
	link_is(t, 2, "h3", 0, "s1", 9);
	link_is(t, 3, "r1n1", 0, "s1", 11);
	link_is(t, 4, "r1n2", 0, "s1", 12);
	link_is(t, 5, "r2n1", 0, "s2", 11);
	link_is(t, 6, "r2n2", 0, "s2", 12);
	link_is(t, 8, "s2", 1, "top", 2);
	for (unsigned int i = 0; i < 9; i++) {
		assert_int_equal(t->link[i].mtu, i < 3 ? 9000 : 0);
		assert_int_equal(t->link[i].delay_ns, i < 7 ? 0 : 5000);
		assert_int_equal(t->link[i].place.line, i < 3 ? 7 : i < 7 ? 8 : 9);
	}
	topology_free(t);
}

static void reader_expand__ranks(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/scale.yaml");
	const struct topology_job *j = &t->job[0];

	(void)state;
	assert_string_equal(j->ranks.item[0], "h1");
	assert_string_equal(j->ranks.item[1023], "h1024");
	for (unsigned int k = 0; k < 1024; k++) {
		assert_int_equal(j->rank_node[k], k);
		assert_int_equal(j->rank_place[k].column, 24);
	}
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_expand__names_of_nodes),
		cmocka_unit_test(reader_expand__ends_of_links),
		cmocka_unit_test(reader_expand__ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
