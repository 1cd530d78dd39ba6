// SPDX-License-Identifier: BSD-3-Clause
// topology_copy_test.c - copies of a topology's files: whatever their directories were, they load again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "tests/unit/topology_rig.h"

static char dir[64];

static int dir_make(void **state)
{
	char path[96];

	(void)state;
	strcpy(dir, "/tmp/tally-copy.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/in", dir);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof(path), "%s/to", dir);
	return mkdir(path, 0777);
}

static int dir_remove(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static const char *path_of(const char *name)
{
	static char path[2][160];
	static unsigned nr;

	nr = 1 - nr;
	snprintf(path[nr], sizeof(path[nr]), "%s/%s", dir, name);
	return path[nr];
}

static void file_write(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void file_is(const char *name, const char *want)
{
	FILE *file = fopen(path_of(name), "re");
	char text[2048];

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	assert_string_equal(text, want);
}

#define BASE "hosts: [h1]\nswitches: [s1]\nlinks: [[h1, s1-p3]]\n"

static void topology_copy__names_of_all_kinds(void **state)
{
	struct topology *t, *copy;
	char text[512];

	(void)state;
	file_write("in/b\xc3\xa4se.yaml", "# \xc3\xa4\ninclude: ../more.yaml # this\n" BASE);
	file_write("more.yaml", "hosts: [h2]\nlinks: [[h2, s1-p5]]\nseed: 77\n");
	file_write("in/plain.json", "{\"include\":\"../more.yaml\", \"hosts\": [\"h6\"]}\n");
	snprintf(text, sizeof(text),
		 "\xef\xbb\xbf# \xe2\x82\xac\r\nseed: 5\r\ninclude:\r\n- 'in/b\xc3\xa4se.yaml'\r\n"
		 "- %s/more.yaml\r\n- |-\r\n  in/plain.json\r\nlinks: [[h6, s1-p7]]\r\n",
		 dir);
	file_write("main.yaml", text);
	t = topology_rig_good(path_of("main.yaml"));
	assert_int_equal(topology_copy(t, path_of("to")), 0);
	file_is("to/topology.yaml",
		"\xef\xbb\xbf# \xe2\x82\xac\r\nseed: 5\r\ninclude:\r\n- \"topology-1.yaml\"\r\n"
		"- \"topology-2.yaml\"\r\n- \"topology-3.json\"\nlinks: [[h6, s1-p7]]\r\n");
	file_is("to/topology-1.yaml", "# \xc3\xa4\ninclude: \"topology-2.yaml\" # this\n" BASE);
	file_is("to/topology-3.json", "{\"include\":\"topology-2.yaml\", \"hosts\": [\"h6\"]}\n");
	/* Nothing of the originals is needed. */
	assert_int_equal(remove(path_of("more.yaml")), 0);
	copy = topology_rig_good(path_of("to/topology.yaml"));
	assert_true(copy->seed == 5);
	assert_int_equal(copy->nr_nodes, t->nr_nodes);
	assert_int_equal(copy->nr_links, 3);
	topology_free(copy);
	topology_free(t);
}

/* However many jobs have them, and wherever their names stand. */
static void topology_copy__lists_of_tensors(void **state)
{
	static const char list[] = "# \xe2\x82\xac\nname,numel\na,13\nb,700\n";
	struct topology *t, *copy;

	(void)state;
	file_write("in/a b.csv", list);
	file_write("other.csv", "numel\n5\n");
	file_write("in/base.yaml",
		   BASE "defaults: {jobs: {workload: {file: 'a b.csv'}}} # \xc3\xa4\n");
	file_write("main.yaml",
		   "jobs: [{name: x, ranks: [h1]}, {name: z, ranks: [h1]},\n"
		   "  {name: y, ranks: [h1], workload: {file: other.csv, compute: 1ms}}]\n"
		   "include: in/base.yaml\n");
	t = topology_rig_good(path_of("main.yaml"));
	assert_int_equal(topology_copy(t, path_of("to")), 0);
	file_is("to/topology.yaml",
		"jobs: [{name: x, ranks: [h1]}, {name: z, ranks: [h1]},\n"
		"  {name: y, ranks: [h1], workload: {file: \"list-3.csv\", compute: 1ms}}]\n"
		"include: \"topology-1.yaml\"\n");
	file_is("to/topology-1.yaml",
		BASE "defaults: {jobs: {workload: {file: \"list-2.csv\"}}} # \xc3\xa4\n");
	file_is("to/list-2.csv", list);
	assert_int_equal(remove(path_of("in/a b.csv")), 0);
	copy = topology_rig_good(path_of("to/topology.yaml"));
	assert_string_equal(
		topology_path(copy, (struct topology_place){ 0, 0, copy->job[0].workload.list }),
		path_of("to/list-2.csv"));
	topology_free(copy);
	topology_free(t);
}

static void topology_copy__alone_it_is_the_same(void **state)
{
	struct topology *t;

	(void)state;
	file_write("main.json", "# none\n" BASE "\n\n");
	t = topology_rig_good(path_of("main.json"));
	assert_int_equal(topology_copy(t, path_of("to")), 0);
	file_is("to/topology.json", "# none\n" BASE "\n\n");
	topology_free(t);
}

/* Whose name is another's as well. */
static void topology_copy__an_anchor_is_refused(void **state)
{
	struct capture capture;
	struct topology *t;
	char *said;
	int rc;

	(void)state;
	file_write("base.yaml", BASE);
	file_write("main.yaml",
		   "include: &name base.yaml\njobs: [{name: *name, ranks: [h1], run: true}]\n");
	t = topology_rig_good(path_of("main.yaml"));
	capture_begin(&capture, 2);
	rc = topology_copy(t, path_of("to"));
	said = capture_end(&capture);
	assert_int_equal(rc, -1);
	assert_non_null(
		strstr(said,
		       "is no topology: in `include` and `file`, write plain names in UTF-8\n"));
	free(said);
	topology_free(t);
}

static void topology_copy__of_many_directories(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/include.yaml"), *copy;

	(void)state;
	assert_int_equal(topology_copy(t, path_of("to")), 0);
	copy = topology_rig_good(path_of("to/topology.yaml"));
	assert_int_equal(copy->nr_files, t->nr_files);
	assert_int_equal(copy->nr_links, 5);
	assert_true(topology_rig_node(copy, "s1")->slots == 200);
	topology_free(copy);
	topology_free(t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(topology_copy__names_of_all_kinds),
		TEST(topology_copy__lists_of_tensors),
		TEST(topology_copy__alone_it_is_the_same),
		TEST(topology_copy__an_anchor_is_refused),
		TEST(topology_copy__of_many_directories),
	};

	return cmocka_run_group_tests_name("topology_copy", tests, NULL, NULL);
}
