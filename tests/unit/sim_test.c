// SPDX-License-Identifier: BSD-3-Clause
// sim_test.c - runs in virtual time: right, the same each time, and as long as the links say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/venue.h"
#include "tests/unit/capture.h"
#include "tests/unit/local_rig.h"
#include "topologies/sim.h"

static const struct sim_options usual = { .links = { UINT64_C(10000000000), 2000 } };

/* What it prints; the caller frees it. */
static char *run(const char *text, uint64_t seed, const struct sim_options *options, int want)
{
	struct topology *t = local_rig_load(text);
	struct capture out, err;
	char *printed, *said;
	int code;

	t->seed_given = true;
	t->seed = seed;
	capture_begin(&out, 1);
	capture_begin(&err, 2);
	code = sim_main(t, options);
	said = capture_end(&err);
	printed = capture_end(&out);
	if (code != want)
		fail_msg("code %d, not %d: %s%s", code, want, printed, said);
	topology_free(t);
	if (want) {
		free(printed);
		return said;
	}
	assert_string_equal(said, "");
	free(said);
	return printed;
}

/* The links of a file with these attributes. */
static char *with_links(const char *attributes)
{
	char *text = malloc(4096);
	const char *at = strstr(local_rig_tree, "links:");

	assert_non_null(text);
	snprintf(text, 4096,
		 "%.*slinks: [[h1, s1-p1, {%s}], [h2, s1-p2, {%s}], [h3, s2-p1, {%s}], "
		 "[h4, s2-p2, {%s}], [s1-p9, s0-p1, {%s}], [s2-p9, s0-p2, {%s}]]\n%s",
		 (int)(at - local_rig_tree), local_rig_tree, attributes, attributes, attributes,
		 attributes, attributes, attributes, strstr(local_rig_tree, "jobs:"));
	return text;
}

/* All packets are in some interval: those of the summary, but for what leaving takes. */
static void sim_main__timeline(void **state)
{
	struct sim_options options = usual;
	unsigned long sent = 0, again = 0, received = 0, s, a, r, total, total_again;
	char *lossy = with_links("loss: 2%"), *printed;
	double from, before = -50;
	const char *at;
	int len;

	(void)state;
	options.timeline_ns = 50000;
	printed = run(lossy, 3, &options, 0);
	at = strstr(printed, "# timeline: packets of all ranks in intervals of 50 us");
	assert_non_null(at);
	at = strstr(strchr(at, '\n') + 1, "\n");
	for (; sscanf(at, "%lf %lu %lu %lu%n", &from, &s, &a, &r, &len) == 4; at += len) {
		assert_true(from == before + 50);
		assert_true(s >= a);
		before = from;
		sent += s;
		again += a;
		received += r;
	}
	at = strstr(printed, "packets sent ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "packets sent %lu, of these again %lu", &total, &total_again),
			 2);
	assert_true(total_again > 20 && again + 5 > total_again && again <= total_again);
	/* Joining was before the first interval. */
	assert_true(sent <= total && sent > total - 100);
	assert_true(received > total / 2);
	free(printed);
	free(lossy);
}

static void sim_main__tree_and_star_agree(void **state)
{
	char *tree, *star;

	(void)state;
	tree = run(local_rig_tree, 1, &usual, 0);
	star = run(local_rig_star, 1, &usual, 0);
	assert_non_null(strstr(tree, "# Out of bounds values : 0 OK\n"));
	assert_int_equal(strlen(local_rig_hash(star, 0).text), 16);
	assert_string_equal(local_rig_hash(tree, 0).text, local_rig_hash(star, 0).text);
	assert_non_null(strstr(star, "# Retransmissions      : 0\n"));
	assert_non_null(strstr(tree, "\nswitch up "));
	assert_null(strstr(star, "\nswitch up "));
	free(tree);
	free(star);
	assert_null(sim_now);
	assert_null(venue.transport);
}

static void sim_main__faults_change_no_result_and_repeat_by_seed(void **state)
{
	char *text = with_links("loss: 2%, dup: 1%, reorder: 1%, jitter: 5us");
	char *plain, *first, *again, *other;

	(void)state;
	plain = run(local_rig_tree, 7, &usual, 0);
	first = run(text, 7, &usual, 0);
	again = run(text, 7, &usual, 0);
	other = run(text, 8, &usual, 0);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	assert_string_equal(local_rig_hash(first, 0).text, local_rig_hash(plain, 0).text);
	assert_string_equal(local_rig_hash(other, 0).text, local_rig_hash(plain, 0).text);
	assert_null(strstr(first, "# Retransmissions      : 0\n"));
	free(plain);
	free(first);
	free(again);
	free(other);
	free(text);
}

/* A switch goes on when what it holds back is due, without a packet that makes it. */
static void sim_main__what_is_held_back_goes_on_by_itself(void **state)
{
	/* One chunk after the other: none overtakes another. */
	static const char text[] =
		"hosts: [h1]\nswitches: [s0]\nlinks: [[h1, s0-p1, {jitter: 90us}]]\n"
		"jobs: [{name: one, ranks: [h1], workload: {sizes: [100]}}]\n";
	char *printed;

	(void)state;
	printed = run(text, 7, &usual, 0);
	assert_non_null(strstr(printed, "\n# Retransmissions      : 0\n"));
	free(printed);
}

/* The time of the row of this many bytes, out of place, in us. */
static double row_us(const char *printed, const char *bytes)
{
	const char *row = strstr(printed, bytes);
	double us = -1;

	assert_non_null(row);
	assert_int_equal(sscanf(row, "%*u %*u %*s %*s %*d %lf", &us), 1);
	return us;
}

/*
 * One rank, 204800 bytes: 146 chunks with 64 bytes of headers each, and before them one with the exponents.  The
 * line is busy all the time once the window is open, the results follow a round trip later.
 */
static void sim_main__time_is_that_of_the_links(void **state)
{
	static const char text[] =
		"hosts: [h1]\nswitches: [s0]\nlinks: [[h1, s0-p1, {rate: 1G, delay: 50us}]]\n"
		"jobs: [{name: one, ranks: [h1], env: {TALLY_CHUNK: 1408}, "
		"workload: {sizes: [200K], iterations: 4, check: 0}}]\n";
	const double bytes = 204800 + 146 * 64, wire_us = bytes * 8 / 1e3;
	char *printed;
	double us;

	(void)state;
	printed = run(text, 1, &usual, 0);
	us = row_us(printed, "      204800 ");
	if (us < wire_us + 200 || us > wire_us + 200 + 150)
		fail_msg("%.1f us, on the line %.1f", us, wire_us);
	/* Ten operations of 146 chunks and one with exponents, five barriers, and the row's times and counts. */
	assert_non_null(strstr(printed, "\n# First transmissions  : 1479, results 1479\n"));
	free(printed);
}

static void sim_main__two_jobs_in_their_own_tables(void **state)
{
	static const char text[] =
		"hosts: [h1, h2, h3]\nswitches: [s0]\n"
		"links: [[h1, s0-p1], [h2, s0-p2], [h3, s0-p3]]\n"
		"jobs:\n"
		"  - {name: a, ranks: [h1, h2], workload: {sizes: [3000], dtype: int32, iterations: 2}}\n"
		"  - {name: b, ranks: [h2, h3, h1], workload: {sizes: [7000], op: max, iterations: 2}}\n";
	char *printed;

	(void)state;
	printed = run(text, 1, &usual, 0);
	assert_true(strstr(printed, "\njob a:\n# tally-perf ") <
		    strstr(printed, "\njob b:\n# tally-perf "));
	assert_non_null(strstr(printed, " int32 "));
	assert_non_null(strstr(printed, "   max "));
	assert_string_not_equal(local_rig_hash(printed, 0).text, local_rig_hash(printed, 1).text);
	assert_int_equal(strlen(local_rig_hash(printed, 1).text), 16);
	free(printed);
}

static void sim_main__failures_are_said_at_once(void **state)
{
	const struct sim_options short_time = { .links = usual.links, .timeout_s = 3.2e-3 };
	char *text = with_links("loss: 100%"), *said;

	(void)state;
	said = run(text, 1, &usual, 1);
	assert_non_null(
		strstr(said, "rank 3 of job sums: the switch 10.0.0.252:48880 does not answer"));
	free(said);
	free(text);
	said = run(local_rig_star, 1, &short_time, 124);
	assert_non_null(
		strstr(said, "4 of 4 ranks still run after 0.0032 s of virtual time (--timeout)"));
	free(said);
	text = malloc(4096);
	assert_non_null(text);
	snprintf(text, 4096, "%s    env: {TALLY_WINDOW: x}\n", local_rig_star);
	said = run(text, 1, &usual, 1);
	assert_non_null(strstr(said, "rank 0 of job sums: window=x"));
	free(said);
	free(text);
}

static void sim_main__gives_what_runs_are_compared_by(void **state)
{
	struct sim_result result = { .done = false };
	const struct sim_options options = { .links = usual.links, .result = &result };
	char *printed;

	(void)state;
	printed = run(local_rig_star, 1, &options, 0);
	assert_true(result.done);
	assert_int_equal(result.again, 0);
	assert_true(result.completion_us > 100 && result.completion_us < 1e5);
	assert_true(result.hash != 0);
	free(printed);
}

/* In the middle; another job is not touched by that. */
static void sim_main__a_job_is_ended_at_its_time(void **state)
{
	static const char text[] =
		"hosts: [h1, h2, h3]\nswitches: [s0]\n"
		"links: [[h1, s0-p1], [h2, s0-p2], [h3, s0-p3]]\njobs:\n"
		"  - {name: long, ranks: [h1, h2], workload: {sizes: [9K], iterations: 1000000}, "
		"stop: 80ms}\n"
		"  - {name: short, ranks: [h3, h2], workload: {sizes: [7000], iterations: 3}}\n";
	const char *alone =
		"hosts: [h1, h2]\nswitches: [s0]\nlinks: [[h1, s0-p1], [h2, s0-p2]]\njobs:\n"
		"  - {name: short, ranks: [h1, h2], workload: {sizes: [7000], iterations: 3}}\n";
	struct sim_result result = { .done = false };
	const struct sim_options options = { .links = usual.links, .result = &result };
	struct topology *t = local_rig_load(text);
	char *printed, *said, *other = run(alone, 1, &usual, 0);
	struct capture out, err;
	double least, mean, most;

	(void)state;
	capture_begin(&out, 1);
	capture_begin(&err, 2);
	assert_int_equal(sim_main(t, &options), 0);
	said = capture_end(&err);
	printed = capture_end(&out);
	assert_string_equal(said,
			    "tally-fabric: job long is ended after 0.08 s, as the file says: 2 of "
			    "2 ranks ran\n");
	assert_non_null(
		strstr(printed, "\n  ended after 0.08 s, as the file says: 2 of 2 ranks ran\n"));
	assert_int_equal(sscanf(strstr(printed, "\n  completion "), " completion %lf %lf %lf",
				&least, &mean, &most),
			 3);
	/* The ranks had joined in the first of the 80 ms. */
	assert_true(least == most && least > 70000 && least <= 80000);
	assert_string_equal(local_rig_hash(printed, 0).text, local_rig_hash(other, 0).text);
	assert_true(result.done && result.hash != 0);
	free(printed);
	free(said);
	free(other);
	topology_free(t);
}

/* A list of tensors next to no topology, at a place of its own. */
static void list_write(char path[], const char *text)
{
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* The i-th number of a line of steps. */
static double step_us(const char *printed, const char *line, int i)
{
	const char *at = strstr(printed, line);
	double us[3] = { -1, -1, -1 };

	assert_non_null(at);
	assert_int_equal(sscanf(strchr(at, ':'), ": %lf %lf %lf", &us[0], &us[1], &us[2]), 3);
	return us[i];
}

/*
 * Tensors of 1000, 3000 and 50000 elements, and a link that takes 0.6 ms and more for the last: of that only what is
 * left after computing is waited for, and who computes less waits for the other.
 */
static void sim_main__computing_hides_what_it_can(void **state)
{
	char path[] = "/tmp/tally-list.XXXXXX", text[1024], *printed;
	double sent_us, wait_us;

	(void)state;
	list_write(path, "numel\n50000\n3000\n1000\n");
	snprintf(text, sizeof(text),
		 "hosts: [h1, h2]\nswitches: [s0]\nlinks: [[h1, s0-p1, {rate: 1G}], [h2, s0-p2]]\n"
		 "jobs: [{name: j, ranks: [h1, h2], workload: {file: %s, iterations: 3}}]\n",
		 path);
	printed = run(text, 1, &usual, 0);
	sent_us = step_us(printed, "# Iteration ", 1);
	assert_true(sent_us > 54000 * 4 * 8 / 1e3 && sent_us < 1.2 * 54000 * 4 * 8 / 1e3);
	assert_true(step_us(printed, "# of that only waiting", 1) == sent_us);
	free(printed);
	snprintf(text, sizeof(text),
		 "hosts: [h1, h2]\nswitches: [s0]\nlinks: [[h1, s0-p1, {rate: 1G}], [h2, s0-p2]]\n"
		 "jobs: [{name: j, ranks: [h1, h2], workload: {file: %s, iterations: 3, "
		 "compute: 40ms, stragglers: {ranks: h2, factor: 2}}}]\n",
		 path);
	printed = run(text, 1, &usual, 0);
	unlink(path);
	assert_true(step_us(printed, "# of that computing", 0) == 40000);
	assert_true(step_us(printed, "# of that computing", 1) == 60000);
	assert_true(step_us(printed, "# of that computing", 2) == 80000);
	/* The last tensor has 1000 elements, 32 us on the link. */
	wait_us = step_us(printed, "# of that only waiting", 0);
	assert_true(wait_us > 32 && wait_us < 100);
	assert_true(step_us(printed, "# of that only waiting", 2) > 40032);
	assert_true(step_us(printed, "# Iteration ", 2) > 80032);
	assert_true(step_us(printed, "# Iteration ", 2) < 80200);
	free(printed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sim_main__timeline),
		cmocka_unit_test(sim_main__tree_and_star_agree),
		cmocka_unit_test(sim_main__faults_change_no_result_and_repeat_by_seed),
		cmocka_unit_test(sim_main__what_is_held_back_goes_on_by_itself),
		cmocka_unit_test(sim_main__time_is_that_of_the_links),
		cmocka_unit_test(sim_main__two_jobs_in_their_own_tables),
		cmocka_unit_test(sim_main__failures_are_said_at_once),
		cmocka_unit_test(sim_main__a_job_is_ended_at_its_time),
		cmocka_unit_test(sim_main__computing_hides_what_it_can),
		cmocka_unit_test(sim_main__gives_what_runs_are_compared_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
