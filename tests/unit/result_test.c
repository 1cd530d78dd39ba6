// SPDX-License-Identifier: BSD-3-Clause
// result_test.c - what a recorded run says at its end: whole, or under another name, however the run ends.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "topologies/result.h"

static char dir[64], logs[96];
static struct record rec;

static int dir_make(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tally-result.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(logs, sizeof(logs), "%s/logs", dir);
	assert_int_equal(mkdir(logs, 0777), 0);
	rec = (struct record){ .dir = dir, .whole = true };
	return 0;
}

static int dir_remove(void **state)
{
	char command[160];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* NULL: there is no such file. */
static const char *file_read(const char *name)
{
	static char text[4096];
	char path[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

/* In a process of its own; its wait status, and what it wrote to stderr. */
static int child_run(void (*child)(void), char **said)
{
	struct capture capture;
	int status = -1;
	pid_t pid;

	fflush(NULL);
	capture_begin(&capture, 2);
	pid = fork();
	if (pid == 0) {
		child();
		_exit(99);
	}
	waitpid(pid, &status, 0);
	*said = capture_end(&capture);
	return status;
}

static void write__is_whole_or_named_so(void **state)
{
	struct capture capture;
	char *said;
	int rc;

	(void)state;
	assert_int_equal(result_write(&rec, "a table\n", 8, 7), 0);
	assert_string_equal(file_read("result.txt"), "a table\nexit code 7\n");
	assert_null(file_read("result.txt.partial"));
	/* All is said. */
	result_close(&rec, 9);
	assert_string_equal(file_read("result.txt"), "a table\nexit code 7\n");
	rec.dir = "/proc/not/there";
	capture_begin(&capture, 2);
	rc = result_write(&rec, "a table\n", 8, 7);
	said = capture_end(&capture);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(said, "/proc/not/there/result.txt.partial: No such file"));
	free(said);
}

static void close__without_a_summary(void **state)
{
	(void)state;
	result_close(&rec, 125);
	assert_string_equal(file_read("result.txt"), "exit code 125\n");
	rec.whole = false;
	assert_int_equal(result_write(&rec, "x", 1, 0), 0);
	assert_string_equal(file_read("result.txt"), "exit code 125\n");
}

static void full_child(void)
{
	static char text[9000];
	const struct rlimit limit = { 4096, 4096 };

	memset(text, 'x', sizeof(text));
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	if (result_write(&rec, text, sizeof(text), 0) == 0)
		_exit(1);
	result_close(&rec, 0);
	_exit(0);
}

static void write__full_disk(void **state)
{
	char *said;

	(void)state;
	assert_int_equal(child_run(full_child, &said), 0);
	assert_null(file_read("result.txt"));
	assert_non_null(file_read("result.txt.partial"));
	assert_non_null(strstr(said,
			       "/result.txt.partial: File too large: what this run said is not "
			       "whole there\n"));
	free(said);
}

static void full_output_child(void)
{
	static char text[9000];
	const struct rlimit limit = { 4096, 4096 };

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	signal(SIGXFSZ, SIG_IGN);
	if (!freopen("/dev/null", "we", stdout) || result_output(&rec))
		_exit(1);
	setrlimit(RLIMIT_FSIZE, &limit);
	printf("%s\n", text);
	result_close(&rec, 0);
	_exit(0);
}

static void output__full_disk(void **state)
{
	char *said;

	(void)state;
	assert_int_equal(child_run(full_output_child, &said), 0);
	assert_null(file_read("result.txt"));
	assert_non_null(strstr(said, "/result.txt.partial: File too large"));
	free(said);
}

static void good_child(void)
{
	if (result_output(&rec))
		_exit(1);
	printf("a row\n");
	fprintf(stderr, "a warning\n");
	result_close(&rec, 3);
	_exit(0);
}

static void output__goes_into_the_record(void **state)
{
	struct capture capture;
	char *printed, *said;
	int status;

	(void)state;
	capture_begin(&capture, 1);
	status = child_run(good_child, &said);
	printed = capture_end(&capture);
	assert_int_equal(status, 0);
	assert_string_equal(printed, "a row\n");
	assert_string_equal(said, "a warning\n");
	assert_string_equal(file_read("result.txt"), "a row\nexit code 3\n");
	assert_string_equal(file_read("logs/tally-fabric.log"), "a warning\n");
	free(printed);
	free(said);
}

static int sent; /* to the child */

static void ended_child(void)
{
	if (result_output(&rec))
		_exit(1);
	printf("a row\n");
	raise(sent);
}

static void output__ended_by_a_signal(void **state)
{
	static const struct {
		int sig;
		const char *name;
	} cases[] = { { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" }, { SIGQUIT, "SIGQUIT" } };
	char expected[96];
	char *said;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct capture capture;
		int status;

		sent = cases[i].sig;
		capture_begin(&capture, 1);
		status = child_run(ended_child, &said);
		free(capture_end(&capture));
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), sent);
		assert_null(file_read("result.txt"));
		snprintf(expected, sizeof(expected), "a row\ninterrupted by %s\n", cases[i].name);
		assert_string_equal(file_read("result.txt.partial"), expected);
		snprintf(expected, sizeof(expected), "interrupted by %s\n", cases[i].name);
		assert_string_equal(file_read("logs/tally-fabric.log"), expected);
		assert_non_null(
			strstr(said, ": what was known until then is in /tmp/tally-result."));
		free(said);
	}
}

static void unread_child(void)
{
	int fd[2];

	if (pipe(fd) || dup2(fd[1], 1) < 0 || close(fd[0]) || close(fd[1]) || result_output(&rec))
		_exit(1);
	printf("a row\n");
}

static void output__that_nobody_reads(void **state)
{
	char *said;
	int status;

	(void)state;
	status = child_run(unread_child, &said);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPIPE);
	assert_null(file_read("result.txt"));
	assert_non_null(strstr(file_read("result.txt.partial"), "a row\ninterrupted by SIGPIPE"));
	free(said);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(write__is_whole_or_named_so),
		TEST(close__without_a_summary),
		TEST(write__full_disk),
		TEST(output__full_disk),
		TEST(output__goes_into_the_record),
		TEST(output__ended_by_a_signal),
		TEST(output__that_nobody_reads),
	};

	return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}
