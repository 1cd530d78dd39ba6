// SPDX-License-Identifier: BSD-3-Clause
// baseline_test.c - a ring and a parameter server take as long as theory says, and are refused where theory is silent.
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
#include "topologies/baseline.h"

/* At 8 Gbit/s a byte takes 1 ns. */
static const struct vnet_options links = { UINT64_C(8000000000), 300 };

static struct baseline_plan plan_of(const struct topology *t, uint64_t bytes)
{
	return (struct baseline_plan){
		.topology = t, .job = t->job, .links = links, .bytes = bytes
	};
}

static void near(double got, double want)
{
	if (got < want - 1e-6 || got > want + 1e-6)
		fail_msg("%.9g, not %.9g", got, want);
}

/* Four ranks, 1000 bytes each time, two lines of 1042 ns and 300 ns: one more packet time at the switch. */
static void baseline_ring__a_star_by_hand(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	const struct baseline_plan plan = plan_of(t, 4000);
	struct baseline_time time;

	(void)state;
	assert_int_equal(baseline_ring(&plan, &time), 0);
	near(time.us, 6 * (1.042 + 0.3 + 1.042 + 0.3));
	near(time.formula_us, time.us);
	topology_free(t);
}

/* The longest way, in the tree, has four lines; parts differ by a byte. */
static void baseline_ring__a_tree_as_theory_says(void **state)
{
	struct topology *t = local_rig_load(local_rig_tree);
	const struct baseline_plan plan = plan_of(t, 4000003);
	struct baseline_time time;

	(void)state;
	assert_int_equal(baseline_ring(&plan, &time), 0);
	assert_true(time.us > 0.995 * time.formula_us && time.us < 1.005 * time.formula_us);
	/* 680 packets of 1514 bytes or less in each of 6 steps. */
	assert_true(time.us > 6 * 1028.5 && time.us < 6 * 1045.0);
	topology_free(t);
}

static void baseline_ring__fewer_bytes_than_ranks(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	const struct baseline_plan plan = plan_of(t, 3);
	struct baseline_time time;

	(void)state;
	assert_int_equal(baseline_ring(&plan, &time), 0);
	assert_true(time.us > 6 * 2 * (0.042 + 0.3) - 1e-6 &&
		    time.us < 6 * 2 * (0.043 + 0.3) + 1e-6);
	topology_free(t);
}

/* One chunk of each of the three others: 1042 ns each, one after the other at the server's link, there and back. */
static void baseline_server__a_star_by_hand(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	const struct baseline_plan plan = plan_of(t, 1000);
	struct baseline_time time;

	(void)state;
	assert_int_equal(baseline_server(&plan, &time), 0);
	near(time.us, (1.042 + 0.3 + 3 * 1.042 + 0.3) + (3 * 1.042 + 0.3 + 1.042 + 0.3));
	near(time.formula_us, 3 * 1.042 + 2 * (0.3 + 1.042 + 0.3));
	topology_free(t);
}

static void baseline_server__many_chunks_as_theory_says(void **state)
{
	struct topology *t = local_rig_load(local_rig_tree);
	const struct baseline_plan plan = plan_of(t, 4000003);
	struct baseline_time time;

	(void)state;
	assert_int_equal(baseline_server(&plan, &time), 0);
	assert_true(time.us > 0.995 * time.formula_us && time.us < 1.005 * time.formula_us);
	assert_true(time.us > 3 * 4114.0 && time.us < 3 * 4140.0);
	topology_free(t);
}

static void refused(const char *text, const char *why)
{
	struct topology *t = local_rig_load(text);
	struct capture err;
	char *said;
	int rc;

	capture_begin(&err, 2);
	rc = baseline_check(t, t->job);
	said = capture_end(&err);
	assert_int_equal(rc, -1);
	if (!strstr(said, why))
		fail_msg("%s", said);
	free(said);
	topology_free(t);
}

static void baseline_check__what_theory_does_not_know(void **state)
{
	struct topology *t = local_rig_load(local_rig_tree);

	(void)state;
	assert_int_equal(baseline_check(t, t->job), 0);
	topology_free(t);
	refused("hosts: [h1, h2]\nswitches: [s0]\nlinks:\n- [h1, s0-p1, {rate: 1G, queue: 4}]\n"
		"- [h2, s0-p2, {delay: 1us, loss: 2%}]\n"
		"jobs: [{name: j, ranks: [h1, h2], workload: {sizes: [1K]}}]\n",
		":5: a ring and a parameter server are simulated without loss and other faults");
	refused("hosts: [h1, h2]\nswitches: [s0]\nlinks: [[h1, s0-p1], [h2, s0-p2]]\njobs:\n"
		"- {name: j, ranks: [h1, h2, h2], workload: {sizes: [1K]}}\n",
		":5: job j has two ranks at h2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(baseline_ring__a_star_by_hand),
		cmocka_unit_test(baseline_ring__a_tree_as_theory_says),
		cmocka_unit_test(baseline_ring__fewer_bytes_than_ranks),
		cmocka_unit_test(baseline_server__a_star_by_hand),
		cmocka_unit_test(baseline_server__many_chunks_as_theory_says),
		cmocka_unit_test(baseline_check__what_theory_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
