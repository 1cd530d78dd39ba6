// SPDX-License-Identifier: BSD-3-Clause
// Tests of the end of a run: its tables, and an exit code that hides no failure.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "topologies/runner.h"

enum { EXITED_3 = 3 << 8, EXITED_7 = 7 << 8 }; /* as from wait() */

static struct topology_node nodes[3];
static struct topology_job jobs[1];
static struct topology topology;
static struct runner_options options;
static struct runner runner;
static struct runner_switch switches[2];

static void run_make(void)
{
	memset(nodes, 0, sizeof(nodes));
	memset(jobs, 0, sizeof(jobs));
	topology = (struct topology){ .node = nodes, .job = jobs };
	memset(&runner, 0, sizeof(runner));
	options = (struct runner_options){ .topology = &topology };
	topology.nr_nodes = 3;
	topology.node[0].name = "h1";
	topology.node[1].name = "host-number-two";
	topology.node[2].name = "s1";
	topology.nr_jobs = 1;
	topology.job[0].name = "a-long-name";
	memset(switches, 0, sizeof(switches));
	runner.options = &options;
	runner.sw = switches;
	runner.nr_switches = 1;
	runner.nr_ranks = 2;
	for (unsigned int i = 0; i < 2; i++) {
		struct runner_rank *k = &runner.rank[i];

		k->job = &topology.job[0];
		k->rank = i;
		k->node = &topology.node[i];
		k->program.start_s = 100.25;
		k->program.end_s = 103.5 + i;
		k->program.usage.ru_utime.tv_sec = 1 + (int)i;
		k->program.usage.ru_utime.tv_usec = 250000;
		k->program.usage.ru_stime.tv_sec = 3 * (int)i;
		k->program.usage.ru_stime.tv_usec = 750000;
	}
	switches[0].node = &topology.node[2];
	switches[0].stopping = true;
	switches[0].program.usage.ru_stime.tv_usec = 120000;
}

static int print(char **text)
{
	struct capture capture;
	int code;

	capture_begin(&capture, 1);
	code = summary_print(&runner);
	*text = capture_end(&capture);
	return code;
}

static void code_check(int want)
{
	char *text;

	assert_int_equal(print(&text), want);
	free(text);
}

/* How ranks end that are told to does not count; what one did before that does. */
static void summary_print__time_is_up(void **state)
{
	(void)state;
	run_make();
	runner.failed = true;
	runner.rank[1].given_up = true;
	runner.rank[1].program.status = SIGTERM;
	code_check(1);
	runner.timed_out = true;
	code_check(124);
	runner.rank[0].program.status = EXITED_3;
	code_check(3);
	runner.rank[0].program.status = 0;
	options.shell_host = "h1";
	code_check(124);
	options.shell_host = NULL;
	runner.timed_out = runner.failed = false;
}

static void summary_print__tables(void **state)
{
	char *text;

	(void)state;
	run_make();
	switchlog_add(&switches[0].log, "said before", false);
	switches[0].log.mark = 1;
	switchlog_add(&switches[0].log, "port totals", false);
	switchlog_add(&switches[0].log, "", false);
	switchlog_add(&switches[0].log, "rx 5", false);
	assert_int_equal(print(&text), 0);
	assert_string_equal(text, "\n"
				  "job          rank  host             exit    wall s     cpu s\n"
				  "a-long-name     0  h1                  0      3.25      2.00\n"
				  "a-long-name     1  host-number-two     0      4.25      6.00\n"
				  "\n"
				  "switch s1:\n"
				  "  port totals\n"
				  "  rx 5\n"
				  "  cpu 0.12 s\n");
	free(text);
}

static void summary_print__worst_rank_decides(void **state)
{
	(void)state;
	run_make();
	code_check(0);
	runner.rank[0].program.status = EXITED_7;
	runner.rank[1].program.status = EXITED_3;
	code_check(7);
	runner.rank[1].program.status = SIGKILL;
	code_check(128 + SIGKILL);
	runner.nr_interrupts = 1;
	code_check(128 + SIGKILL);
}

static void summary_print__interrupted_is_not_success(void **state)
{
	(void)state;
	run_make();
	runner.nr_interrupts = 1;
	code_check(128 + SIGINT);
	runner.failed = true;
	code_check(1);
	runner.nr_ranks = 0;
	code_check(128 + SIGINT);
	runner.screen.unread = true;
	code_check(128 + SIGPIPE);
}

static void switch_check(int want_code, const char *want)
{
	char *text;

	assert_int_equal(print(&text), want_code);
	if (!strstr(text, want))
		fail_msg("expected '%s' in '%s'", want, text);
	free(text);
}

static void summary_print__switch_that_failed_is_said(void **state)
{
	(void)state;
	run_make();
	switches[0].program.status = EXITED_3;
	switch_check(1, "\nswitch s1:\n  exited with 3\n  cpu");
	switches[0].lost = true;
	switch_check(1, "  exited with 3 while the ranks were running\n");
	switches[0].lost = false;
	switches[0].killed = true;
	switches[0].program.status = 0;
	switch_check(1, "  exited with 0: it did not end when asked to\n");
	switches[0].program.status = SIGKILL;
	switch_check(1, "  was killed by signal 9 (Killed): it did not end when asked to\n");
	runner.rank[1].program.status = EXITED_7;
	switch_check(7, "  was killed by signal 9");
}

static void summary_print__restarts_and_lost_totals(void **state)
{
	char *text;

	(void)state;
	run_make();
	switches[0].nr_restarts = 3;
	switch_check(0, "  started again 3 times\n");
	switchlog_add(&switches[0].log, "totals of nobody", false);
	switches[0].lost = true;
	assert_int_equal(print(&text), 1);
	assert_null(strstr(text, "totals of nobody"));
	free(text);
}

static void summary_print__every_switch_counts(void **state)
{
	(void)state;
	run_make();
	runner.nr_switches = 2;
	switches[1].node = &topology.node[0];
	switches[1].stopping = true;
	switch_check(0, "\nswitch s1:\n  cpu 0.12 s\n\nswitch h1:\n  cpu 0.00 s\n");
	switches[1].program.status = EXITED_3;
	switch_check(1, "\nswitch h1:\n  exited with 3\n");
}

static void summary_print__what_did_not_run_has_no_table(void **state)
{
	static char shell[] = "h1";
	char *text;

	(void)state;
	run_make();
	runner.nr_ranks = 0;
	runner.failed = true;
	assert_int_equal(print(&text), 1);
	assert_string_equal(text, "");
	free(text);
	run_make();
	options.shell_host = shell;
	runner.rank[0].program.status = EXITED_7;
	assert_int_equal(print(&text), 7);
	assert_string_equal(text, "");
	free(text);
}

static void result_check(const char *dir, const char *first, const char *last)
{
	char path[96], text[4096];
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "%s/result.txt", dir);
	file = fopen(path, "re");
	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = 0;
	fclose(file);
	assert_non_null(strstr(text, first));
	assert_string_equal(text + len - strlen(last), last);
	unlink(path);
}

static void summary_record__all_that_is_known(void **state)
{
	char dir[] = "/tmp/tally-summary.XXXXXX";

	(void)state;
	run_make();
	assert_non_null(mkdtemp(dir));
	options.record = (struct record){ .dir = dir, .whole = true };
	summary_record(&runner, 3);
	result_check(dir, "host-number-two", "\n  cpu 0.12 s\nexit code 3\n");
	runner.nr_ranks = 0;
	summary_record(&runner, 130);
	result_check(dir, "no rank was started\n", "exit code 130\n");
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summary_print__tables),
		cmocka_unit_test(summary_print__worst_rank_decides),
		cmocka_unit_test(summary_print__time_is_up),
		cmocka_unit_test(summary_print__interrupted_is_not_success),
		cmocka_unit_test(summary_print__switch_that_failed_is_said),
		cmocka_unit_test(summary_print__restarts_and_lost_totals),
		cmocka_unit_test(summary_print__every_switch_counts),
		cmocka_unit_test(summary_print__what_did_not_run_has_no_table),
		cmocka_unit_test(summary_record__all_that_is_known),
	};

	return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
