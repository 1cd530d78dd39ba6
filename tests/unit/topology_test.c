// SPDX-License-Identifier: BSD-3-Clause
// Tests of the topology reader: files with every mistake, and what good files mean.
#include "topologies/topology.h"

#include <getopt.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

#include <cmocka.h>

#include "host/tools/perf.h"
#include "tests/unit/topology_rig.h"

enum { BAD_FILES_MIN = 60, TEXT_MAX = 1 << 16, ARGS_MAX = 24 };

/* File and place of each error, from the comparison texts: "mac.yaml:2:13: error: ..." */
static void bad_file_check(const char *path)
{
	char expected_path[512], *expected = calloc(1, TEXT_MAX), *errors;
	const char *from;
	struct topology *t = topology_rig_load(path, &errors);
	FILE *f;

	assert_null(t);
	assert_non_null(expected);
	snprintf(expected_path, sizeof(expected_path), "%s.expected", path);
	f = fopen(expected_path, "re");
	if (!f)
		fail_msg("%s is missing; the errors are:\n%s", expected_path, errors);
	assert_true(fread(expected, 1, TEXT_MAX - 1, f) > 0);
	fclose(f);
	from = errors;
	for (char *line = expected, *end; *line; line = end + 1) {
		size_t len;

		end = strchr(line, '\n');
		assert_non_null(end);
		if (strncmp(from, DATA "bad/", strlen(DATA "bad/")) == 0)
			from += strlen(DATA "bad/");
		len = (size_t)(end - line) + 1;
		if (strncmp(from, line, len) != 0)
			fail_msg("%s: expected '%.*s', not '%.*s'", path, (int)len - 1, line,
				 (int)strcspn(from, "\n"), from);
		from += len;
	}
	assert_string_equal(from, "");
	free(expected);
	free(errors);
}

static void topology_load__every_bad_file_has_its_errors(void **state)
{
	size_t nr = 0;
	glob_t g;

	(void)state;
	assert_int_equal(glob(DATA "bad/*", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (strstr(g.gl_pathv[i], ".expected"))
			continue;
		bad_file_check(g.gl_pathv[i]);
		nr++;
	}
	assert_true(nr >= BAD_FILES_MIN);
	globfree(&g);
}

static void topology_load__error_has_line_column_word_and_caret(void **state)
{
	char *errors;

	(void)state;
	assert_null(topology_rig_load(DATA "bad/port_twice.yaml", &errors));
	assert_string_equal(errors, DATA
			    "bad/port_twice.yaml:5:10: error: expected a free port, not 's1-p1': "
			    "line 4 has it\n"
			    "    - [h2, s1-p1]\n"
			    "           ^\n");
	free(errors);
}

static void topology_load__at_most_20_errors(void **state)
{
	size_t nr = 0;
	char *errors;

	(void)state;
	assert_null(topology_rig_load(DATA "bad/many_errors.yaml", &errors)); // 39 of them
	for (const char *p = errors; (p = strstr(p, ": error: ")); p++)
		nr++;
	assert_int_equal(nr, 20);
	free(errors);
}

static void topology_load__no_such_file_and_directory(void **state)
{
	char *errors;

	(void)state;
	assert_null(topology_rig_load(DATA "none.yaml", &errors));
	assert_string_equal(errors, DATA "none.yaml: error: No such file or directory\n");
	free(errors);
	assert_null(topology_rig_load("tests", &errors));
	assert_string_equal(errors, "tests: error: Is a directory\n");
	free(errors);
}

static void topology_load__endless_file_is_refused(void **state)
{
	char *errors;

	(void)state;
	assert_null(topology_rig_load("/dev/zero", &errors));
	assert_string_equal(
		errors,
		"/dev/zero: error: expected a file of at most 1 MiB, not a larger one: use ranges of "
		"names, or include files\n");
	free(errors);
}

static void long_print(FILE *file, const char *before, int nr)
{
	fprintf(file, "%s\"%0*d\"\n", before, nr, 7);
}

/* With this many bytes in each place; a name is one letter. */
static struct topology *long_load(const int bytes[3], char **errors)
{
	char path[] = "/tmp/tally-long.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	struct topology *t;

	assert_non_null(file);
	fputs("hosts:\n  h1:\n    commands:\n      - true\n", file);
	long_print(file, "      - ", bytes[0]);
	fputs("switches: [s1]\nlinks: [[h1, s1-p1]]\njobs:\n  - name: j\n    ranks: [h1]\n", file);
	long_print(file, "    run: ", bytes[1]);
	fputs("    env:\n", file);
	long_print(file, "      A: ", 5533);
	long_print(file, "      B: ", bytes[2]);
	fclose(file);
	t = topology_rig_load(path, errors);
	unlink(path);
	return t;
}

static void topology_load__what_no_program_can_be_given(void **state)
{
	static const struct {
		int bytes[3];
		const char *said;
	} cases[] = {
		{ { 8192, 8191, 59997 },
		  ":5:9: error: expected a command of at most 8191 bytes, not of 8192\n" },
		{ { 8191, 8192, 59997 },
		  ":11:10: error: expected a command of at most 8191 bytes, not of 8192\n" },
		{ { 8191, 8191, 59998 },
		  ":14:10: error: expected at most 65536 bytes of names and values of all variables of a job, not "
		  "65537 up to here\n" },
	};
	static const int most[3] = { 8191, 8191, 59997 };
	struct topology *t;
	char *errors;

	(void)state;
	t = long_load(most, &errors);
	assert_string_equal(errors, "");
	topology_free(t);
	free(errors);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_null(long_load(cases[i].bytes, &errors));
		assert_non_null(strstr(errors, cases[i].said));
		free(errors);
	}
}

static void topology_load__nodes_of_full_file(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/full.yaml");

	(void)state;
	assert_int_equal(t->nr_nodes, 4);
	assert_int_equal(topology_rig_node(t, "h1")->ip, 0x0a010001);
	assert_int_equal(topology_rig_node(t, "h1")->prefix, 16);
	assert_true(topology_rig_node(t, "h1")->mac == UINT64_C(0x080000000111));
	assert_true(topology_rig_node(t, "h2")->mac == UINT64_C(0x0a0000000222));
	assert_int_equal(topology_rig_node(t, "h3")->ip, 0x0a010903);
	assert_int_equal(topology_rig_node(t, "h2")->commands.nr, 2);
	assert_string_equal(topology_rig_node(t, "h2")->commands.item[0],
			    "ip route add default via 10.1.0.200");
	assert_true(topology_rig_node(t, "s1")->is_switch && topology_rig_node(t, "s1")->restart);
	assert_int_equal(topology_rig_node(t, "s1")->ip, 0x0a0100c8);
	assert_true(t->seed_given && t->seed == UINT64_MAX);
	topology_free(t);
}

static void topology_load__links_of_full_file(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/full.yaml");
	const struct topology_link *l = &t->link[1];

	(void)state;
	assert_int_equal(t->nr_links, 3);
	assert_string_equal(t->node[l->end[0].node].name, "s1");
	assert_int_equal(l->end[0].port, 7);
	assert_string_equal(t->node[l->end[1].node].name, "h2");
	assert_int_equal(l->end[1].port, 0);
	assert_true(l->loss > 0.00999 && l->loss < 0.01001);
	assert_true(l->dup > 0.000999 && l->dup < 0.001001);
	assert_true(l->reorder > 0.2499 && l->reorder < 0.2501);
	assert_int_equal(l->mtu, 9000);
	assert_false(l->delay_given || l->rate_given);
	assert_true(t->link[2].delay_given && t->link[2].rate_given);
	assert_int_equal(t->link[2].delay_ns, 5000);
	assert_true(t->link[2].rate_bps == UINT64_C(10000000000));
	assert_true(t->link[0].loss <= 0 && t->link[0].mtu == 0);
	topology_free(t);
}

static void topology_load__jobs_of_full_file(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/full.yaml");
	const struct topology_job *j = &t->job[0];

	(void)state;
	assert_int_equal(t->nr_jobs, 2);
	assert_string_equal(j->name, "sums.1");
	assert_int_equal(j->ranks.nr, 3); // two of them on one host
	assert_string_equal(t->node[j->rank_node[0]].name, "h1");
	assert_string_equal(t->node[j->rank_node[2]].name, "h2");
	j = &t->job[1];
	assert_string_equal(j->run, "train --epochs 3");
	assert_false(j->workload.given);
	assert_int_equal(j->nr_env, 2);
	assert_string_equal(j->env[0].key, "TALLY_WINDOW");
	assert_string_equal(j->env[0].value, "64");
	assert_string_equal(j->env[1].value, "a b");
	topology_free(t);
}

static void topology_load__addresses_left_out_are_chosen(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/defaults.yaml");

	(void)state;
	assert_int_equal(topology_rig_node(t, "h1")->ip, 0x0a000002); // 10.0.0.1 is h2's
	assert_int_equal(topology_rig_node(t, "h3")->ip, 0x0a000004); // 10.0.0.3 is h4's
	assert_int_equal(topology_rig_node(t, "h3")->prefix, 24);
	assert_int_equal(topology_rig_node(t, "s1")->ip, 0x0a0000fe);
	assert_true(topology_rig_node(t, "h2")->mac == UINT64_C(0x020000000002));
	assert_true(topology_rig_node(t, "h3")->mac == UINT64_C(0x020000000004)); // ...03 is h1's
	assert_true(topology_rig_node(t, "h4")->mac == UINT64_C(0x020000000005));
	topology_free(t);
}

static void topology_load__p4_tutorial_json(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/p4.json");

	(void)state;
	assert_int_equal(t->nr_nodes, 4);
	assert_int_equal(t->nr_links, 3);
	assert_true(t->link[1].delay_given && t->link[1].delay_ns == 0);
	assert_true(t->link[1].rate_bps == 100000000);
	assert_int_equal(t->link[2].delay_ns, 5000000);
	assert_true(t->link[2].rate_bps == 500000);
	topology_free(t);
}

/* As the tutorials' own: delays and rates as numbers and as text, commands, files of the P4 programs. */
static void topology_load__p4_pod_json(void **state)
{
	static const struct {
		bool given;
		uint64_t delay_ns, rate_bps;
	} want[] = {
		{ false, 0, 0 },      { true, 0, 500000 },    { true, 0, 0 },
		{ true, 0, 0 },	      { true, 0, 512000000 }, { true, 2500000, 1000000 },
		{ true, 2500000, 0 }, { true, 0, 100000000 }, { false, 0, 0 },
	};
	struct topology *t = topology_rig_good(DATA "good/p4_pod.json");

	(void)state;
	assert_int_equal(t->nr_nodes, 9);
	assert_int_equal(t->nr_links, 9);
	for (unsigned int i = 0; i < 9; i++) {
		assert_true(t->link[i].delay_given == want[i].given);
		assert_true(t->link[i].delay_ns == want[i].delay_ns);
		assert_true(t->link[i].rate_bps == want[i].rate_bps);
	}
	assert_int_equal(topology_rig_node(t, "h3")->ip, 0x0a000303);
	assert_true(topology_rig_node(t, "h4")->mac == UINT64_C(0x080000000444));
	assert_int_equal(topology_rig_node(t, "h2")->commands.nr, 2);
	assert_string_equal(topology_rig_node(t, "h2")->commands.item[1],
			    "arp -i eth0 -s 10.0.2.20 08:00:00:00:02:00");
	topology_free(t);
}

static void topology_load__switch_keys(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/defaults_all.yaml");
	const struct topology_node *s = topology_rig_node(t, "s2");

	(void)state;
	assert_false(s->restart);
	assert_int_equal(s->slots, 600);
	assert_true(s->memory == 65536);
	topology_free(t);
	t = topology_rig_good(DATA "good/full.yaml");
	s = topology_rig_node(t, "s1");
	assert_true(s->jobs == 0 && s->slots == 0 && s->memory == 0);
	topology_free(t);
}

static void topology_load__thousand_hosts_in_a_second(void **state)
{
	clock_t before = clock();
	struct topology *t = topology_rig_good(DATA "good/scale.yaml");

	(void)state;
	assert_true(clock() - before < CLOCKS_PER_SEC);
	assert_int_equal(t->nr_nodes, 1089);
	assert_int_equal(t->nr_links, 1088);
	assert_int_equal(t->job[0].ranks.nr, 1024);
	assert_int_equal(t->nr_switches, 65);
	assert_string_equal(topology_ranges(t, &t->job[0], 1023).text, "1008-1023");
	assert_string_equal(topology_ranges(t, &t->job[0], 16).text, "16-31");
	assert_int_equal(topology_rig_node(t, "h1")->ip, 0x0a000001);
	assert_int_equal(topology_rig_node(t, "h1024")->ip, 0x0a000400);
	assert_int_equal(topology_rig_node(t, "h1024")->prefix, 16);
	assert_int_equal(topology_rig_node(t, "s0")->ip, 0x0a00fffe);
	assert_true(topology_rig_node(t, "h1024")->mac == UINT64_C(0x020000000400));
	topology_free(t);
}

static void topology_check_netns__limits_are_its_own(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/scale.yaml");
	char *errors = topology_rig_netns(t, true, -1);

	(void)state;
	assert_non_null(strstr(errors, "scale.yaml:2:9: error: expected at most 250 hosts and "
				       "switches in real namespaces, not 1089\n"));
	assert_non_null(strstr(errors, "scale.yaml:5:5: error: expected at most 500 links between "
				       "real namespaces, not 1088\n"));
	assert_non_null(strstr(errors, "scale.yaml:8:5: error: expected at most 256 ranks in real "
				       "namespaces, of all jobs together, not 1024\n"));
	free(errors);
	topology_free(t);
}

static void topology_check_local__ranks_are_its_only_limit(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/scale.yaml");
	char *text = NULL;
	size_t len;
	FILE *errors = open_memstream(&text, &len);

	(void)state;
	assert_non_null(errors);
	assert_int_equal(topology_check_local(t, 0, errors), 0);
	assert_int_equal(topology_check_local(t, 1024, errors), 0);
	assert_int_equal(topology_check_local(t, 1023, errors), -1);
	fclose(errors);
	assert_non_null(strstr(text, "scale.yaml:8:5: error: expected at most 1023 ranks of all "
				     "jobs together, with a thread each, not 1024\n"));
	free(text);
	topology_free(t);
}

static void topology_load__lists_tabs_and_aliases(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/short.yaml");

	(void)state;
	assert_int_equal(t->nr_nodes, 3);
	assert_true(topology_rig_node(t, "s1")->is_switch &&
		    !topology_rig_node(t, "h2")->is_switch);
	topology_free(t);
	t = topology_rig_good(DATA "good/tabs.json");
	assert_int_equal(t->nr_links, 1);
	topology_free(t);
	t = topology_rig_good(DATA "good/alias.yaml");
	assert_true(t->link[1].loss > 0.0199 && t->link[1].loss < 0.0201);
	assert_int_equal(t->job[1].workload.sizes.nr, 1);
	assert_int_equal(t->job[0].workload.sizes.nr, 1);
	topology_free(t);
}

static const char *parent(const struct topology *t, const char *name)
{
	unsigned int p = topology_rig_node(t, name)->parent;

	return p == TOPOLOGY_NO_NODE ? "" : t->node[p].name;
}

static void topology_load__tree_is_found_by_its_links(void **state)
{
	static const char *const order[] = { "s0", "m2", "m1", "s3", "s1", "s2" };
	struct topology *t = topology_rig_good(DATA "good/tree.yaml");

	(void)state;
	assert_string_equal(parent(t, "s0"), "");
	assert_string_equal(parent(t, "m1"), "s0");
	assert_string_equal(parent(t, "m2"), "s0");
	assert_string_equal(parent(t, "s2"), "m1");
	assert_string_equal(parent(t, "s3"), "m2");
	assert_string_equal(parent(t, "h2"), "s1");
	assert_string_equal(parent(t, "h4"), "s3");
	assert_int_equal(topology_rig_node(t, "s0")->depth, 0);
	assert_int_equal(topology_rig_node(t, "s3")->depth, 2);
	assert_int_equal(t->nr_switches, 6);
	for (unsigned int i = 0; i < 6; i++)
		assert_string_equal(t->node[t->switches[i]].name, order[i]);
	topology_free(t);
}

static void topology_load__switches_get_addresses_from_above(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/tree.yaml");

	(void)state;
	assert_int_equal(topology_rig_node(t, "s0")->ip, 0x0a0000c8);
	assert_int_equal(topology_rig_node(t, "s3")->ip, 0x0a0000fe);
	assert_int_equal(topology_rig_node(t, "s1")->ip, 0x0a0000fd);
	assert_int_equal(topology_rig_node(t, "m2")->ip, 0x0a0000fb); // .252 is h5's
	topology_free(t);
}

static void topology_ranges__of_each_rank(void **state)
{
	static const char *const want[] = { "0-1,0-1", "0-1,0-1", "2-2,2-4", "3-4,2-4", "3-4,2-4" };
	struct topology *t = topology_rig_good(DATA "good/tree.yaml");

	(void)state;
	for (unsigned int k = 0; k < 5; k++)
		assert_string_equal(topology_ranges(t, &t->job[0], k).text, want[k]);
	assert_string_equal(topology_ranges(t, &t->job[1], 0).text, "0-0,0-0");
	topology_free(t);
	t = topology_rig_good(DATA "good/full.yaml");
	assert_string_equal(topology_ranges(t, &t->job[0], 1).text, "");
	topology_free(t);
}

static void topology_load__shipped_files_can_run(void **state)
{
	glob_t g;

	(void)state;
	assert_int_equal(glob("topologies/*.yaml", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 5);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct topology *t = topology_rig_good(g.gl_pathv[i]);
		bool large = strstr(g.gl_pathv[i], "/scale-"); // more than a machine can hold
		char *errors = large ? calloc(1, 1) : topology_rig_netns(t, true, 0);

		assert_non_null(errors);
		assert_string_equal(errors, "");
		free(errors);
		topology_free(t);
	}
	globfree(&g);
}

/* There is no switch to make them. */
static void topology_check_netns__faults_between_hosts_are_refused(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/faults.yaml");
	char *errors = topology_rig_netns(t, true, -1);

	(void)state;
	assert_string_equal(errors, DATA
			    "good/faults.yaml:9:5: error: expected no faults on a link between "
			    "hosts, which has no switch to make them\n"
			    "    - [h1, h2, {delay: 2}]\n"
			    "      ^\n");
	free(errors);
	topology_free(t);
}

static void topology_faults__as_the_switch_reads_them(void **state)
{
	static const char *const want[] = {
		("loss=0.01,dup=0.001,reorder=0.25,delay=1500000ns,rate=20000000bit,burst=0.1%:10%,"
		 "distance=9,jitter=2us,queue=64KB,corrupt=0.1%,corrupt-checked=1e-06,down=off"),
		"delay=5000ns,rate=10000000000bit",
		"",
		"delay=2000000ns",
	};
	struct topology *t = topology_rig_good(DATA "good/faults.yaml");

	(void)state;
	assert_int_equal(t->nr_links, 4);
	for (unsigned int i = 0; i < 4; i++) {
		struct topology_faults_text faults;

		topology_faults(&t->link[i], &faults);
		assert_string_equal(faults.text, want[i]);
	}
	topology_free(t);
}

static void topology_check_netns__jobs_are_wanted_only_to_run(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/short.yaml");
	char *errors = topology_rig_netns(t, true, -1);

	(void)state;
	assert_string_equal(errors,
			    DATA "good/short.yaml:1:1: error: expected jobs to run, not none\n"
				 "  hosts: [h1, h2]\n"
				 "  ^\n");
	free(errors);
	errors = topology_rig_netns(t, false, 0);
	assert_string_equal(errors, "");
	free(errors);
	topology_free(t);
}

static void topology_check_netns__networks_of_hosts_without_jobs(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/p4.json");
	char *errors = topology_rig_netns(t, false, -1);

	(void)state;
	assert_non_null(strstr(errors,
			       "p4.json:3:9: error: expected s1's address 10.0.0.254 in the "
			       "network of host h1, 10.0.1.1/24 (set ip of s1)"));
	free(errors);
	topology_free(t);
}

static void topology_share_parse__units_and_limits(void **state)
{
	static const char *const bad[] = { "",	  "%",	 "1.1", "101%", "-1%", "nan",	"inf",
					   "1e-", "0x1", ".",	"1 %",	"1%%", "1.2.3", "1e-3e-3" };
	double v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(topology_share_parse(bad[i], &v), -1);
	assert_int_equal(topology_share_parse(NULL, &v), -1);
	assert_true(v > 6.9 && v < 7.1); // untouched
	assert_int_equal(topology_share_parse("1%", &v), 0);
	assert_true(v > 0.00999 && v < 0.01001);
	assert_int_equal(topology_share_parse("1e-3", &v), 0);
	assert_true(v > 0.000999 && v < 0.001001);
	assert_int_equal(topology_share_parse("0.25", &v), 0);
	assert_true(v > 0.2499 && v < 0.2501);
	assert_int_equal(topology_share_parse("100%", &v), 0);
	assert_true(v > 0.999 && v < 1.001);
}

static void topology_number_parse__range_and_text(void **state)
{
	uint64_t v = 7;

	(void)state;
	assert_int_equal(topology_number_parse("18446744073709551616", 0, UINT64_MAX, &v), -1);
	assert_int_equal(topology_number_parse("9", 10, 20, &v), -1);
	assert_int_equal(topology_number_parse("21", 10, 20, &v), -1);
	assert_int_equal(topology_number_parse("1x", 0, 20, &v), -1);
	assert_int_equal(topology_number_parse("-1", 0, 20, &v), -1);
	assert_int_equal(topology_number_parse("", 0, 20, &v), -1);
	assert_true(v == 7);
	assert_int_equal(topology_number_parse("10", 10, 20, &v), 0);
	assert_true(v == 10);
}

static void topology_job_command__workload_and_run(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/full.yaml");
	char text[256], small[16];

	(void)state;
	assert_int_equal(topology_job_command(t, &t->job[0], text, sizeof(text)), 0);
	assert_string_equal(text,
			    "exec tally-perf --sizes 4K,1000,16M -d int32 -o max -n 3 -w 0 -c 0");
	assert_int_equal(topology_job_command(t, &t->job[1], text, sizeof(text)), 0);
	assert_string_equal(text, "train --epochs 3");
	for (int i = 0; i < 2; i++)
		assert_int_equal(topology_job_command(t, &t->job[i], small, sizeof(small)), -1);
	topology_free(t);
}

static void command_is(const struct topology *t, unsigned int job, const char *want)
{
	char text[512];

	assert_int_equal(topology_job_command(t, &t->job[job], text, sizeof(text)), 0);
	assert_string_equal(text, want);
}

/* A list has nothing to do with sizes, and a seed is told where something is drawn. */
static void topology_job_command__lists_of_tensors(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/steps.yaml");

	(void)state;
	command_is(t, 0,
		   "exec tally-perf --trace '" DATA "good/../parts/layers.csv' "
		   "--compute 20000000ns..20000000ns --stragglers factor=2,ranks=1+3 "
		   "-d float32 -o sum -n 3 -w 1 -c 1");
	command_is(t, 1,
		   "exec tally-perf --trace '" DATA "good/../parts/two buckets.csv' "
		   "--compute 1500ns..2000000ns --stragglers factor=2,probability=0.025,ranks=2 "
		   "--compute-seed 77 -d float32 -o sum -n 3 -w 1 -c 1");
	command_is(t, 2, "exec tally-perf --sizes 4K -d float32 -o sum -n 3 -w 1 -c 1");
	command_is(t, 3,
		   "exec tally-perf --trace '" DATA "good/../parts/layers.csv' "
		   "--compute 20000000ns..20000000ns --stragglers factor=2,ranks=0 "
		   "-d float32 -o sum -n 3 -w 1 -c 1");
	assert_int_equal(t->nr_files, 3);
	assert_int_equal(t->job[0].workload.list, t->job[3].workload.list);
	free(t->file[t->job[0].workload.list].path);
	t->file[t->job[0].workload.list].path = strdup("it's $HOME/l.csv");
	command_is(t, 0,
		   "exec tally-perf --trace 'it'\\''s $HOME/l.csv' "
		   "--compute 20000000ns..20000000ns --stragglers factor=2,ranks=1+3 "
		   "-d float32 -o sum -n 3 -w 1 -c 1");
	topology_free(t);
}

/* What tally-perf makes of a job's command. */
static void take_command(const struct topology *t, const struct topology_job *j,
			 struct perf_options *options)
{
	static char text[256]; /* options may point into it */
	char *argv[ARGS_MAX + 1], *word;
	int argc = 0;

	assert_int_equal(topology_job_command(t, j, text, sizeof(text)), 0);
	for (word = strtok(text, " "); word && argc < ARGS_MAX; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	assert_string_equal(argv[0], "exec");
	optind = 0; /* getopt begins anew */
	assert_int_equal(perf_options_parse(options, argc - 1, argv + 1), 0);
}

static void topology_job_command__tally_perf_knows_all_words(void **state)
{
	enum { F32 = TALLY_F32, F16 = TALLY_F16, BF16 = TALLY_BF16, I32 = TALLY_I32 };
	enum { SUM = TALLY_SUM, AVG = TALLY_AVG, MAX = TALLY_MAX, MIN = TALLY_MIN };
	static const struct {
		int nr_dtypes, dtypes[4], nr_ops, ops[4];
		enum tally_wire wire;
	} want[] = {
		{ 1, { F32 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 1, { F32 }, 1, { AVG }, TALLY_WIRE_INT16 },
		{ 1, { F32 }, 1, { MAX }, TALLY_WIRE_INT32 },
		{ 1, { F16 }, 1, { MIN }, TALLY_WIRE_DEFAULT },
		{ 1, { F16 }, 4, { SUM, AVG, MAX, MIN }, TALLY_WIRE_INT16 },
		{ 1, { F16 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 1, { BF16 }, 1, { SUM }, TALLY_WIRE_INT16 },
		{ 1, { BF16 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 1, { I32 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 1, { I32 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 1, { I32 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 4, { F32, F16, BF16, I32 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
		{ 3, { I32, BF16, F16 }, 1, { MIN }, TALLY_WIRE_DEFAULT },
		{ 1, { F32 }, 1, { SUM }, TALLY_WIRE_DEFAULT },
	};
	enum { JOBS = sizeof(want) / sizeof(want[0]) };
	static struct perf_options options;
	struct topology *t = topology_rig_good(DATA "good/workloads.yaml");

	(void)state;
	assert_int_equal(t->nr_jobs, JOBS);
	for (unsigned int i = 0; i < JOBS; i++) {
		take_command(t, &t->job[i], &options);
		assert_int_equal(options.nr_dtypes, want[i].nr_dtypes);
		for (int k = 0; k < want[i].nr_dtypes; k++)
			assert_int_equal(options.dtypes[k], want[i].dtypes[k]);
		assert_int_equal(options.nr_ops, want[i].nr_ops);
		for (int k = 0; k < want[i].nr_ops; k++)
			assert_int_equal(options.ops[k], want[i].ops[k]);
		assert_int_equal(options.wire, want[i].wire);
	}
	topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(topology_load__every_bad_file_has_its_errors),
		cmocka_unit_test(topology_load__error_has_line_column_word_and_caret),
		cmocka_unit_test(topology_load__at_most_20_errors),
		cmocka_unit_test(topology_load__no_such_file_and_directory),
		cmocka_unit_test(topology_load__endless_file_is_refused),
		cmocka_unit_test(topology_load__what_no_program_can_be_given),
		cmocka_unit_test(topology_load__nodes_of_full_file),
		cmocka_unit_test(topology_load__links_of_full_file),
		cmocka_unit_test(topology_load__jobs_of_full_file),
		cmocka_unit_test(topology_load__addresses_left_out_are_chosen),
		cmocka_unit_test(topology_load__p4_tutorial_json),
		cmocka_unit_test(topology_load__p4_pod_json),
		cmocka_unit_test(topology_load__switch_keys),
		cmocka_unit_test(topology_load__thousand_hosts_in_a_second),
		cmocka_unit_test(topology_check_netns__limits_are_its_own),
		cmocka_unit_test(topology_check_local__ranks_are_its_only_limit),
		cmocka_unit_test(topology_load__lists_tabs_and_aliases),
		cmocka_unit_test(topology_load__tree_is_found_by_its_links),
		cmocka_unit_test(topology_load__switches_get_addresses_from_above),
		cmocka_unit_test(topology_ranges__of_each_rank),
		cmocka_unit_test(topology_load__shipped_files_can_run),
		cmocka_unit_test(topology_faults__as_the_switch_reads_them),
		cmocka_unit_test(topology_check_netns__faults_between_hosts_are_refused),
		cmocka_unit_test(topology_check_netns__jobs_are_wanted_only_to_run),
		cmocka_unit_test(topology_check_netns__networks_of_hosts_without_jobs),
		cmocka_unit_test(topology_share_parse__units_and_limits),
		cmocka_unit_test(topology_number_parse__range_and_text),
		cmocka_unit_test(topology_job_command__workload_and_run),
		cmocka_unit_test(topology_job_command__lists_of_tensors),
		cmocka_unit_test(topology_job_command__tally_perf_knows_all_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
