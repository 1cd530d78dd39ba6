// SPDX-License-Identifier: BSD-3-Clause
// record_test.c - what a run leaves: names of links, the command line, logs; a directory that is in use.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/journal.h"
#include "tests/unit/capture.h"
#include "topologies/record.h"

static const char file_text[] = "hosts: [h1, h2]\n"
				"switches: {s1: {ip: 10.0.0.254}}\n"
				"links: [[h1, s1-p1], [h2, s1-p2], [h2, s1-p5]]\n"
				"jobs: [{name: j, ranks: [h1, h2], workload: {sizes: [1K]}}]\n";

static char dir[64], yaml[96], rec_dir[96];
static struct topology *t;
static struct record rec;

static int dir_make(void **state)
{
	FILE *file;

	(void)state;
	strcpy(dir, "/tmp/tally-record.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(yaml, sizeof(yaml), "%s/t.yaml", dir);
	snprintf(rec_dir, sizeof(rec_dir), "%s/rec", dir);
	file = fopen(yaml, "we");
	assert_non_null(file);
	fputs(file_text, file);
	fclose(file);
	t = topology_load(yaml, stderr);
	assert_non_null(t);
	rec = (struct record){ .dir = rec_dir, .whole = true };
	return 0;
}

static int dir_remove(void **state)
{
	char command[160];

	(void)state;
	topology_free(t);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static const char *file_read(const char *name)
{
	static char text[4096];
	char path[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", rec_dir, name);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static const char *link_read(const char *name)
{
	static char text[256];
	char path[256];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", rec_dir, name);
	n = readlink(path, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	return text;
}

static int open_with(char *const *argv, int argc)
{
	return record_open(&rec, t, argc, argv);
}

static void open__writes_what_is_known(void **state)
{
	char a[] = "tally-fabric", b[] = "run", c[] = "it's a file", d[] = "";
	char *const argv[] = { a, b, c, d };

	(void)state;
	assert_int_equal(open_with(argv, 4), 0);
	assert_non_null(
		strstr(file_read("run.txt"), "command tally-fabric run 'it'\\''s a file' ''\n"));
	assert_non_null(strstr(file_read("run.txt"), "\nseed 1 (default)\n"));
	assert_non_null(strstr(file_read("run.txt"), "\nswitch s1\n"));
	assert_string_equal(file_read("topology.yaml"), file_text);
}

static void open__refuses_what_is_in_use(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };
	struct capture capture;
	char *said;

	(void)state;
	assert_int_equal(open_with(argv, 1), 0);
	capture_begin(&capture, 2);
	assert_int_equal(open_with(argv, 1), -1);
	said = capture_end(&capture);
	assert_non_null(strstr(said, "is not empty: name another directory, or remove it"));
	free(said);
}

/* Both have found it empty. */
static void open__refuses_a_second_run(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };
	struct capture capture;
	char *said;
	int fd;

	(void)state;
	rec.whole = false;
	assert_int_equal(mkdir(rec_dir, 0777), 0);
	fd = open(rec_dir, O_RDONLY | O_CLOEXEC); /* as another process has it */
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	capture_begin(&capture, 2);
	assert_int_equal(open_with(argv, 1), -1);
	said = capture_end(&capture);
	assert_non_null(strstr(said, "--pcap /tmp/"));
	assert_non_null(
		strstr(said, "/rec: another run writes there: name another directory, or wait"));
	free(said);
	close(fd); /* however it ended */
	assert_int_equal(open_with(argv, 1), 0);
	fd = open(rec_dir, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	close(fd);
	capture_begin(&capture, 2);
	record_close(&rec, 0);
	free(capture_end(&capture));
}

static void open__refuses_a_file(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };
	struct capture capture;
	char *said;

	(void)state;
	rec.dir = yaml;
	capture_begin(&capture, 2);
	assert_int_equal(open_with(argv, 1), -1);
	said = capture_end(&capture);
	assert_non_null(strstr(said, "t.yaml: Not a directory"));
	free(said);
}

static void topology_again(const char *text)
{
	FILE *file = fopen(yaml, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	topology_free(t);
	t = topology_load(yaml, stderr);
	assert_non_null(t);
}

static void links__names_that_are_alike(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };

	(void)state;
	topology_again(
		"hosts: [a, a-b, h]\n"
		"switches: {b-c: {ip: 10.0.0.254}, c: {ip: 10.0.0.253}, r: {ip: 10.0.0.252}}\n"
		"links: [[a, b-c-p1], [a-b, c-p1], [b-c-p9, r-p1], [c-p9, r-p2], [h, c-p2], [h, c-p3]]\n"
		"jobs: [{name: j, ranks: [a, a-b], workload: {sizes: [1K]}}]\n");
	assert_int_equal(open_with(argv, 1), 0);
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (t->node[i].is_switch)
			record_links(&rec, t, i, 0);
	assert_string_equal(link_read("a+b-c.in.pcap"), "b-c/port1_in.pcap");
	assert_string_equal(link_read("a-b+c.out.pcap"), "c/port1_out.pcap");
	assert_string_equal(link_read("b-c-r.in.pcap"), "r/port1_in.pcap");
	assert_string_equal(link_read("h-c-p3.in.pcap"), "c/port3_in.pcap");
}

static void open__refuses_a_switch_called_logs(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };
	struct capture capture;
	char *said;

	(void)state;
	topology_again("hosts: [a]\nswitches: {logs: {ip: 10.0.0.254}}\nlinks: [[a, logs-p1]]\n"
		       "jobs: [{name: j, ranks: [a], workload: {sizes: [1K]}}]\n");
	capture_begin(&capture, 2);
	assert_int_equal(open_with(argv, 1), -1);
	said = capture_end(&capture);
	assert_non_null(strstr(said, "--record: a switch is called logs"));
	free(said);
	rec.whole = false;
	assert_int_equal(open_with(argv, 1), 0);
}

static void links__names(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };
	char path[RECORD_PATH];

	(void)state;
	assert_int_equal(open_with(argv, 1), 0);
	record_links(&rec, t, t->switches[0], 0);
	assert_string_equal(link_read("h1-s1.in.pcap"), "s1/port1_in.pcap");
	assert_string_equal(link_read("h1-s1.out.pcap"), "s1/port1_out.pcap");
	/* There are two between these. */
	assert_string_equal(link_read("h2-s1-p2.in.pcap"), "s1/port2_in.pcap");
	assert_string_equal(link_read("h2-s1-p5.out.pcap"), "s1/port5_out.pcap");
	rec.ng = true;
	record_links(&rec, t, t->switches[0], 2);
	assert_string_equal(link_read("h1-s1.3.in.pcapng"), "s1.3/port1_in.pcapng");
	assert_true(record_switch_dir(&rec, &t->node[t->switches[0]], 2, path));
	assert_non_null(strstr(path, "/rec/s1.3"));
}

static void log__lines(void **state)
{
	char a[] = "x";
	char *const argv[] = { a };
	struct capture capture;
	char *said;

	(void)state;
	assert_int_equal(open_with(argv, 1), 0);
	record_log(&rec, "s1", "one");
	record_log(&rec, "s1", "two");
	assert_string_equal(file_read("logs/s1.log"), "one\ntwo\n");
	capture_begin(&capture, 2);
	record_close(&rec, 7);
	said = capture_end(&capture);
	assert_string_equal(file_read("result.txt"), "exit code 7\n");
	assert_non_null(strstr(said,
			       "exit code 7; no switch served, so that there is nothing to replay "
			       "in /tmp/tally-record."));
	free(said);
}

static void file_write(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", rec.dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Of one switch that served, or of none. */
static void close__names_the_command(void **state)
{
	static const char *const cases[] = { JOURNAL_TITLE "\n" JOURNAL_UNBEGUN "\n",
					     JOURNAL_TITLE "\nport 1\n" JOURNAL_UNBEGUN
							   "\nat 0 end\n",
					     JOURNAL_TITLE "\nversion 1\n",
					     JOURNAL_TITLE "\nport 1 framed\n" };
	char a[] = "x", path[256];
	char *const argv[] = { a };

	(void)state;
	assert_int_equal(open_with(argv, 1), 0);
	snprintf(path, sizeof(path), "%s/s1", rec_dir);
	assert_int_equal(mkdir(path, 0777), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct capture capture;
		bool named;
		char *said;

		file_write("s1/switch.txt", cases[i]);
		capture_begin(&capture, 2);
		record_close(&rec, 0);
		said = capture_end(&capture);
		named = strstr(said, "\ntally-replay /tmp/tally-record.") != NULL;
		free(said);
		assert_int_equal(named, i == 3);
	}
}

static void close__says_what_is_not_whole(void **state)
{
	char a[] = "x", path[256];
	char *const argv[] = { a };
	struct capture capture;
	char *said;

	(void)state;
	rec.whole = false;
	assert_int_equal(open_with(argv, 1), 0);
	snprintf(path, sizeof(path), "%s/s1", rec_dir);
	assert_int_equal(mkdir(path, 0777), 0);
	file_write("s1/port1_in.pcap", "");
	file_write("s1/port2_in.pcap.partial", "");
	capture_begin(&capture, 2);
	record_close(&rec, 0);
	said = capture_end(&capture);
	assert_non_null(strstr(said, "1 of the captures is not whole, and named so: /tmp/"));
	assert_non_null(strstr(said, "/rec/s1/port2_in.pcap.partial\n"));
	free(said);
}

static bool link_is(const char *name)
{
	struct stat st;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", rec_dir, name);
	return lstat(path, &st) == 0;
}

/* Links lead somewhere, by a name that says what is there. */
static void close__mends_links(void **state)
{
	char a[] = "x", path[256];
	char *const argv[] = { a };
	struct capture capture;

	(void)state;
	rec.whole = false;
	assert_int_equal(open_with(argv, 1), 0);
	record_links(&rec, t, t->switches[0], 0);
	snprintf(path, sizeof(path), "%s/s1", rec_dir);
	assert_int_equal(mkdir(path, 0777), 0);
	file_write("s1/port1_in.pcap", "");
	file_write("s1/port1_out.pcap.partial", "");
	capture_begin(&capture, 2);
	record_close(&rec, 0);
	free(capture_end(&capture));
	assert_string_equal(link_read("h1-s1.in.pcap"), "s1/port1_in.pcap");
	assert_string_equal(link_read("h1-s1.out.pcap.partial"), "s1/port1_out.pcap.partial");
	assert_false(link_is("h1-s1.out.pcap"));
	assert_false(link_is("h2-s1-p2.in.pcap") || link_is("h2-s1-p2.in.pcap.partial"));
}

static void switch_serves(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/s1", rec.dir);
	assert_int_equal(mkdir(path, 0777), 0);
	file_write("s1/switch.txt", JOURNAL_TITLE "\nport 1 framed\n");
}

/* As a shell reads it. */
static void close__prints_a_command(void **state)
{
	char a[] = "x", name[128], want[256];
	char *const argv[] = { a };
	struct capture capture;
	char *said;

	(void)state;
	snprintf(name, sizeof(name), "%s/it's $HOME", dir);
	snprintf(want, sizeof(want), "\ntally-replay '%s/it'\\''s $HOME'\n", dir);
	rec.dir = name;
	assert_int_equal(open_with(argv, 1), 0);
	switch_serves();
	capture_begin(&capture, 2);
	record_close(&rec, 0);
	said = capture_end(&capture);
	assert_non_null(strstr(said, want));
	free(said);
	assert_int_equal(chdir(dir), 0);
	rec.dir = "-v";
	rec.whole = false;
	assert_int_equal(open_with(argv, 1), 0);
	switch_serves();
	capture_begin(&capture, 2);
	record_close(&rec, 0);
	said = capture_end(&capture);
	assert_non_null(strstr(said, "\ntally-replay ./-v\n"));
	free(said);
	assert_int_equal(chdir("/"), 0);
}

/* --pcap alone. */
static void open__captures_only(void **state)
{
	char a[] = "x", path[128];
	char *const argv[] = { a };

	(void)state;
	rec.whole = false;
	assert_int_equal(open_with(argv, 1), 0);
	record_log(&rec, "s1", "one");
	snprintf(path, sizeof(path), "%s/logs", rec_dir);
	assert_int_equal(access(path, F_OK), -1);
	rec.dir = NULL;
	assert_int_equal(open_with(argv, 1), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open__writes_what_is_known),
		TEST(open__refuses_what_is_in_use),
		TEST(open__refuses_a_second_run),
		TEST(open__refuses_a_file),
		TEST(open__refuses_a_switch_called_logs),
		TEST(links__names),
		TEST(links__names_that_are_alike),
		TEST(log__lines),
		TEST(close__names_the_command),
		TEST(close__says_what_is_not_whole),
		TEST(close__mends_links),
		TEST(close__prints_a_command),
		TEST(open__captures_only),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
