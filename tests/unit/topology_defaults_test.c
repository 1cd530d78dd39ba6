// SPDX-License-Identifier: BSD-3-Clause
// Tests of what `defaults` fills in.
#include "topologies/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topology_rig.h"

static void reader_apply_defaults__hosts_and_switches(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/defaults_all.yaml");

	(void)state;
	assert_int_equal(topology_rig_node(t, "h1")->commands.nr, 2);
	assert_int_equal(topology_rig_node(t, "h2")->commands.nr, 1); // its own, not three
	assert_string_equal(topology_rig_node(t, "h2")->commands.item[0], "own");
	assert_string_equal(topology_rig_node(t, "h3")->commands.item[1], "second");
	assert_int_equal(topology_rig_node(t, "h4")->commands.nr, 0);
	assert_true(topology_rig_node(t, "s1")->restart && !topology_rig_node(t, "s2")->restart);
	assert_int_equal(topology_rig_node(t, "s1")->jobs, 5);
	assert_int_equal(topology_rig_node(t, "s2")->jobs, 5);
	assert_int_equal(topology_rig_node(t, "s1")->slots, 500);
	assert_int_equal(topology_rig_node(t, "s2")->slots, 600);
	assert_true(topology_rig_node(t, "s1")->memory == 1 << 30);
	topology_free(t);
}

static void reader_apply_defaults__links_of_every_form(void **state)
{
	static const struct {
		uint64_t delay_ns, rate_bps;
		bool loss;
	} want[] = {
		{ 5000, UINT64_C(10000000000), true }, { 7000, UINT64_C(10000000000), false },
		{ 9000, UINT64_C(10000000000), true }, { 1000000, 20000000, true },
		{ 5000, UINT64_C(10000000000), true },
	};
	struct topology *t = topology_rig_good(DATA "good/defaults_all.yaml");

	(void)state;
	assert_int_equal(t->nr_links, 5);
	for (unsigned int i = 0; i < 5; i++) {
		const struct topology_link *l = &t->link[i];

		assert_true(l->delay_ns == want[i].delay_ns);
		assert_true(l->rate_bps == want[i].rate_bps);
		assert_true((l->loss > 0) == want[i].loss);
		assert_int_equal(l->mtu, 9000);
		assert_string_equal(l->fault[TOPOLOGY_QUEUE].text, "64KB");
		assert_int_equal(l->place.line, 8 + i);
	}
	topology_free(t);
}

static void reader_apply_defaults__jobs(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/defaults_all.yaml");
	const struct topology_job *j = t->job;

	(void)state;
	assert_int_equal(j[0].workload.sizes.nr, 2);
	assert_int_equal(j[0].workload.iterations, 7);
	assert_true(j[0].start_ns == UINT64_C(2000000000) && j[0].stop_ns == UINT64_C(9000000000));
	assert_string_equal(j[1].run, "x");
	assert_false(j[1].workload.given);
	assert_int_equal(j[1].nr_env, 2);
	assert_string_equal(j[1].env[0].value, "1");
	assert_string_equal(j[1].env[1].value, "3");
	assert_true(j[1].start_ns == 0 && j[1].stop_ns == UINT64_C(10000000000));
	assert_int_equal(j[2].workload.sizes.nr, 1);
	assert_string_equal(j[2].workload.sizes.item[0], "4K");
	assert_string_equal(j[2].workload.op, "min");
	assert_int_equal(j[2].workload.iterations, 7);
	assert_true(j[2].start_ns == 1000000 && j[2].stop_ns == 2000000);
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_apply_defaults__hosts_and_switches),
		cmocka_unit_test(reader_apply_defaults__links_of_every_form),
		cmocka_unit_test(reader_apply_defaults__jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
