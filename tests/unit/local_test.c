// SPDX-License-Identifier: BSD-3-Clause
// local_test.c - switches of a fabric in one process have the options that tally-switch gets; what cannot be had there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "tests/unit/local_rig.h"
#include "topologies/local.h"

static unsigned nr_plugged;

static int plug(void *context, struct local_switch *sw, unsigned int port)
{
	assert_ptr_equal(context, &nr_plugged);
	assert_true(port < sw->node.lcore.nr_ports);
	nr_plugged++;
	return 0;
}

static uint64_t now(void)
{
	return 5000000;
}

static int chance(void *to, size_t len)
{
	memset(to, 0x33, len);
	return 0;
}

static void no_close(struct port *port)
{
	(void)port;
}

static const struct port_ops ops = { .framed = false, .close = no_close };

static const char faulty[] =
	"hosts: [h1, h2]\nswitches: [s0, s1]\n"
	"links: [[h1, s1-p4, {loss: 3%, delay: 7us, rate: 2G, queue: 55, mtu: 9000}], [h2, s1-p1],\n"
	"  [s1-p9, s0-p2, {loss: 4%, jitter: 9us}]]\n"
	"jobs: [{name: j, ranks: [h1, h2], workload: {sizes: [1K]}}]\nseed: 40\n";

static const struct impair_params *impair(const struct local *l, unsigned sw, unsigned number,
					  bool out)
{
	const struct lcore *lcore = &l->switches[sw].node.lcore;

	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if (lcore->ports[i].port.spec.number == number)
			return out ? &lcore->ports[i].out.impair.params
				   : &lcore->ports[i].in.impair.params;
	fail_msg("no port %u", number);
	return NULL;
}

static void open_faulty(struct local *l, struct topology **t, bool lines)
{
	const struct local_ways ways = { .ops = &ops,
					 .plug = plug,
					 .context = &nr_plugged,
					 .clock = now,
					 .wall_ms = 1700000000000,
					 .random = chance,
					 .lines = lines };

	nr_plugged = 0;
	*t = local_rig_load(faulty);
	memset(l, 0, sizeof(*l));
	assert_int_equal(local_open(l, *t, &ways), 0);
	assert_int_equal(nr_plugged, 4);
}

static void local_open__options_are_those_of_the_netns_fabric(void **state)
{
	struct topology *t;
	struct local l;

	(void)state;
	open_faulty(&l, &t, false);
	assert_int_equal(l.nr_switches, 2);
	assert_true(impair(&l, 1, 4, false)->loss == 0.03 && impair(&l, 1, 4, true)->loss == 0.03);
	assert_int_equal(impair(&l, 1, 4, true)->delay_ns, 7000);
	assert_int_equal(impair(&l, 1, 4, true)->rate, 2000000000);
	assert_int_equal(impair(&l, 1, 4, false)->queue, 55);
	assert_true(impair(&l, 1, 1, false)->loss == 0);
	/* Between switches each does what comes in. */
	assert_true(impair(&l, 1, 9, false)->loss == 0.04 && impair(&l, 1, 9, true)->loss == 0);
	assert_true(impair(&l, 0, 2, false)->loss == 0.04 && impair(&l, 0, 2, true)->loss == 0);
	/* The root's seed is the topology's, and each switch has another. */
	assert_int_equal(l.switches[0].conf.seed, 40);
	assert_int_equal(l.switches[1].conf.seed, 40 + 1000003);
	local_close(&l);
	topology_free(t);
}

static void local_open__lines_have_rate_delay_and_queue(void **state)
{
	struct topology *t;
	struct local l;

	(void)state;
	open_faulty(&l, &t, true);
	assert_true(impair(&l, 1, 4, true)->loss == 0.03);
	assert_int_equal(impair(&l, 1, 4, true)->delay_ns, 0);
	assert_int_equal(impair(&l, 1, 4, false)->rate, 0);
	assert_int_equal(impair(&l, 1, 4, true)->queue, 0);
	assert_int_equal(impair(&l, 1, 9, false)->jitter_ns, 9000);
	local_close(&l);
	topology_free(t);
}

static void local_open__resources_are_those_of_the_file(void **state)
{
	const struct local_ways ways = {
		.ops = &ops, .plug = plug, .context = &nr_plugged, .clock = now, .random = chance
	};
	struct topology *t = local_rig_load(
		"hosts: [h1, h2]\nswitches: {s0: {jobs: 3, slots: 777, memory: 192K}, s1: {}}\n"
		"links: [[h1, s1-p4], [h2, s1-p1], [s1-p9, s0-p2]]\n"
		"jobs: [{name: j, ranks: [h1, h2], workload: {sizes: [1K]}}]\n");
	struct local l = { .switches = NULL };

	(void)state;
	assert_int_equal(local_open(&l, t, &ways), 0);
	assert_int_equal(l.switches[0].conf.slots, 777);
	assert_int_equal(l.switches[0].conf.jobs, 3);
	assert_int_equal(l.switches[0].conf.memory, 192 * 1024);
	assert_int_equal(l.switches[1].conf.slots, 16384);
	local_close(&l);
	topology_free(t);
}

/* The files of a switch in namespaces, with the port that leads upwards, and the clock. */
static void local_open__captures(void **state)
{
	static const char *const words[] = { "\nsuffix .pcapng\nclock virtual\njobs 64\n",
					     "\nparent 10.0.0.254:48880 from 48880 port 9\n",
					     " device h1\nport 9 ",
					     "\nat 1700000000005000000 end\n" };
	char dir[] = "/tmp/tally-local.XXXXXX", path[RECORD_PATH], command[64], text[4096];
	const struct record rec = { .dir = mkdtemp(dir), .ng = true };
	const struct local_ways ways = { .ops = &ops,
					 .plug = plug,
					 .context = &nr_plugged,
					 .clock = now,
					 .wall_ms = 1700000000000,
					 .random = chance,
					 .record = &rec,
					 .comment = "of a test" };
	struct topology *t =
		local_rig_load("hosts: [h1]\nswitches: {s0: {ip: 10.0.0.254}, s1: {}}\n"
			       "links: [[h1, s1-p4], [s1-p9, s0-p2]]\n"
			       "jobs: [{name: j, ranks: [h1], workload: {sizes: [1K]}}]\n");
	struct local l = { .switches = NULL };
	FILE *file;

	(void)state;
	assert_int_equal(local_open(&l, t, &ways), 0);
	local_captures_close(&l);
	assert_null(l.switches[1].node.lcore.ports[0].capture_in);
	local_close(&l);
	snprintf(path, sizeof(path), "%s/s1/switch.txt", dir);
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strstr(text, words[i]))
			fail_msg("no \"%s\" in %s", words[i], text);
	/* Through its name by the link. */
	snprintf(path, sizeof(path), "%s/h1-s1.in.pcapng", dir);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, 128, file), 104);
	fclose(file);
	assert_memory_equal(text + 28, "of a test", 9);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	topology_free(t);
}

static void local_open__leaf_and_root(void **state)
{
	const struct lcore *leaf, *root;
	struct topology *t;
	struct local l;

	(void)state;
	open_faulty(&l, &t, true);
	root = &l.switches[0].node.lcore;
	leaf = &l.switches[1].node.lcore;
	assert_false(pipe_is_leaf(root->pipe));
	assert_true(pipe_is_leaf(leaf->pipe));
	assert_int_equal(leaf->parent.flow.ip, t->node[l.switches[0].index].ip);
	assert_int_equal(leaf->parent.flow.udp_port, WIRE_PORT);
	assert_int_equal(leaf->parent.flow.port, local_port(&l.switches[1], 2));
	assert_int_equal(leaf->ports[leaf->parent.flow.port].port.spec.number, 9);
	assert_int_equal(local_port(&l.switches[0], 0), -1);
	assert_int_equal(leaf->now.now_ns, 5000000);
	assert_int_equal(leaf->now.wall_ms, 1700000000005);
	assert_int_equal(leaf->ports[0].port.mtu, 9000);
	assert_string_equal(leaf->ports[0].port.spec.text, "h1");
	assert_int_equal(local_payload(&t->link[0]), 8972);
	assert_int_equal(local_payload(&t->link[1]), 1472);
	assert_ptr_equal(local_host_end(t, (unsigned)topology_node_find(t, "h2", 2)).link,
			 &t->link[1]);
	local_close(&l);
	topology_free(t);
}

static void refused(const char *text, const char *words)
{
	struct topology *t = local_rig_load(text);
	struct capture err;
	char *said;
	int rc;

	capture_begin(&err, 2);
	rc = local_check(t, "this fabric");
	said = capture_end(&err);
	assert_int_equal(rc, words ? -1 : 0);
	if (words && !strstr(said, words))
		fail_msg("%s", said);
	free(said);
	topology_free(t);
}

static void local_check__names_what_only_namespaces_can(void **state)
{
	(void)state;
	refused(faulty, NULL);
	refused("hosts: [h1]\nswitches: [s0]\nlinks: [[h1, s0-p1]]\n"
		"jobs: [{name: own, ranks: [h1], run: train}]\n",
		":4: job own runs a command, which this fabric cannot");
	refused("hosts: {h1: {commands: [true]}}\nswitches: [s0]\nlinks: [[h1, s0-p1]]\n"
		"jobs: [{name: j, ranks: [h1], workload: {sizes: [1K]}}]\n",
		":1: the commands of host h1 need a network of their own, which this fabric does not make");
}

static void local_job_open__options_are_those_of_the_command(void **state)
{
	struct topology *t = local_rig_load(
		"hosts: [h1]\nswitches: [s0]\nlinks: [[h1, s0-p1]]\n"
		"jobs: [{name: j, ranks: [h1], workload: {sizes: [1K, 3000], dtype: int32, op: min, "
		"iterations: 7, warmup: 3, check: 0}}]\n");
	struct local_job job;

	(void)state;
	assert_int_equal(local_job_open(&job, t, &t->job[0], now, true), 0);
	assert_int_equal(job.options.nr_counts, 2);
	assert_int_equal(perf_options_count(&job.options, 1, TALLY_I32), 750);
	assert_int_equal(job.options.dtypes[0], TALLY_I32);
	assert_int_equal(job.options.ops[0], TALLY_MIN);
	assert_int_equal(job.options.iters, 7);
	assert_int_equal(job.options.warmup_iters, 3);
	assert_false(job.options.check);
	assert_true(job.options.clock == now && job.out == stdout);
	local_job_close(&job);
	topology_free(t);
}

/* The file's name is as the shell would give it, whatever is in it. */
static void local_job_open__a_list_of_tensors(void **state)
{
	static const char name[] = "/tmp/tally it's *a* $list.csv";
	FILE *list = fopen(name, "we");
	struct local_job job;
	struct topology *t;

	(void)state;
	assert_non_null(list);
	fputs("name,numel\na,1300\nb,17\n", list);
	assert_int_equal(fclose(list), 0);
	t = local_rig_load(
		"hosts: [h1, h2]\nswitches: [s0]\nlinks: [[h1, s0-p1], [h2, s0-p2]]\n"
		"jobs: [{name: j, ranks: [h1, h2, h1], workload: {file: \"tally it's *a* $list.csv\",\n"
		"  compute: [3ms, 5ms], stragglers: {ranks: h1, factor: 2}}}]\nseed: 40\n");
	assert_int_equal(local_job_open(&job, t, &t->job[0], now, true), 0);
	assert_int_equal(unlink(name), 0);
	assert_string_equal(job.options.trace, name);
	assert_int_equal(job.options.nr_counts, 2);
	assert_int_equal(perf_options_count(&job.options, 0, TALLY_F32), 1300);
	assert_int_equal(perf_options_count(&job.options, 1, TALLY_F32), 17);
	assert_int_equal(job.options.compute.least_ns, 3000000);
	assert_int_equal(job.options.compute.most_ns, 5000000);
	assert_int_equal(job.options.compute.seed, 40);
	assert_int_equal(job.options.compute.slow[0], 5);
	assert_non_null(job.options.pause);
	local_job_close(&job);
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_job_open__a_list_of_tensors),
		cmocka_unit_test(local_open__options_are_those_of_the_netns_fabric),
		cmocka_unit_test(local_open__lines_have_rate_delay_and_queue),
		cmocka_unit_test(local_open__resources_are_those_of_the_file),
		cmocka_unit_test(local_open__captures),
		cmocka_unit_test(local_open__leaf_and_root),
		cmocka_unit_test(local_check__names_what_only_namespaces_can),
		cmocka_unit_test(local_job_open__options_are_those_of_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
