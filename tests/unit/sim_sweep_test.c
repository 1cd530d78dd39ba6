// SPDX-License-Identifier: BSD-3-Clause
// sim_sweep_test.c - a job with one thing changed from run to run, and what others would take beside it.
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
#include "topologies/sim_sweep.h"

static const struct sim_options usual = { .links = { UINT64_C(10000000000), 2000 } };

/* What sim_sweep_parse() says of it; workers: of these. */
static char *refusal(const char *text, bool workers)
{
	struct sim_sweep sweep = { .nr = 0 };
	struct capture err;
	char *said;
	int rc;

	capture_begin(&err, 2);
	rc = workers ? sim_sweep_parse_workers(&sweep, text) : sim_sweep_parse(&sweep, text);
	said = capture_end(&err);
	if (rc != -1)
		fail_msg("%s is taken", text);
	return said;
}

static void sim_sweep_parse_workers__lists(void **state)
{
	static const char *const bad[] = { "", "2,", "1", "1025", "2;3", ",2" };
	struct sim_sweep sweep = { .nr = 0 };

	(void)state;
	assert_int_equal(sim_sweep_parse_workers(&sweep, "2,17,1024"), 0);
	assert_int_equal(sweep.key, SIM_SWEEP_WORKERS);
	assert_int_equal(sweep.nr, 3);
	assert_int_equal(sweep.number[1], 17);
	assert_int_equal(sweep.number[2], 1024);
	assert_int_equal(sim_sweep_parse_workers(&sweep, "5"), 0);
	assert_int_equal(sweep.nr, 1);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *said = refusal(bad[i], true);

		assert_non_null(strstr(said, "--workers: expected numbers from 2 to 1024"));
		free(said);
	}
}

static void sim_sweep_parse__keys_and_values(void **state)
{
	struct sim_sweep sweep = { .nr = 0 };

	(void)state;
	assert_int_equal(sim_sweep_parse(&sweep, "rate=10G,25Gbit,800G"), 0);
	assert_true(sweep.key == SIM_SWEEP_RATE && sweep.nr == 3);
	assert_true(sweep.number[1] == UINT64_C(25000000000));
	assert_string_equal(sweep.text[2], "800G");
	assert_int_equal(sim_sweep_parse(&sweep, "delay=0us,7us"), 0);
	assert_true(sweep.key == SIM_SWEEP_DELAY && sweep.nr == 2 && sweep.number[1] == 7000);
	assert_int_equal(sim_sweep_parse(&sweep, "loss=0,2.5%"), 0);
	assert_true(sweep.share[1] > 0.02499 && sweep.share[1] < 0.02501);
	assert_int_equal(sim_sweep_parse(&sweep, "window=1,64"), 0);
	assert_int_equal(sim_sweep_parse(&sweep, "chunk=128,1408"), 0);
	assert_string_equal(sweep.text[1], "1408");
	assert_int_equal(sim_sweep_parse(&sweep, "workers=3"), 0);
	assert_true(sweep.key == SIM_SWEEP_WORKERS && sweep.nr == 1 && sweep.number[0] == 3);
}

static void sim_sweep_parse__bad_values_by_name(void **state)
{
	static const char *const bad[][2] = {
		{ "speed=3", "--sweep: expected rate=LIST, delay=, loss=, " },
		{ "rate", "not 'rate'" },
		{ "=3", "not '=3'" },
		{ "rate=", "--sweep rate: expected bits a second such as 10G,100G,400G, not ''" },
		{ "rate=1G,fast", "not 'fast'" },
		{ "rate=0", "not '0'" },
		{ "rate=1G,12345678901234567890123456789G",
		  "not '1G,12345678901234567890123456789G'" },
		{ "delay=3", "--sweep delay: expected times such as 500ns,1us,10us, not '3'" },
		{ "loss=101%", "--sweep loss: expected shares such as 0,0.01%,1%, not '101%'" },
		{ "loss=1", "not '1'" },
		{ "window=16001", "--sweep: window=16001" },
		{ "chunk=256,100", "--sweep: chunk=100" },
		{ "workers=1", "--sweep workers: expected numbers" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *said = refusal(bad[i][0], false);

		if (!strstr(said, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], said);
		free(said);
	}
}

/* What it prints; the caller frees it. */
static char *run(const char *text, const struct sim_sweep *w, int want)
{
	struct topology *t = local_rig_load(text);
	const unsigned nr = t->job->ranks.nr;
	struct capture out, err;
	char *printed, *said;
	int code;

	capture_begin(&out, 1);
	capture_begin(&err, 2);
	code = sim_sweep_main(t, &usual, w);
	said = capture_end(&err);
	printed = capture_end(&out);
	if (code != want)
		fail_msg("code %d, not %d: %s%s", code, want, printed, said);
	assert_int_equal(t->job->ranks.nr, nr);
	topology_free(t);
	free(want ? printed : said);
	return want ? said : printed;
}

static void sim_sweep_main__a_row_for_each(void **state)
{
	const struct sim_sweep w = {
		.number = { 2, 4 }, .text = { "2", "4" }, .nr = 2, .compare = true
	};
	char *printed = run(local_rig_tree, &w, 0);
	double us[2], speed[2], ring[2], formula[2], server[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(printed, i ? "\n       4 " : "\n       2 ");

		assert_non_null(at);
		assert_int_equal(sscanf(at, "%*u %lf %lf 0 %lf %lf %*f %lf", &us[i], &speed[i],
					&ring[i], &formula[i], &server[i]),
				 5);
		assert_true(ring[i] > 0.98 * formula[i] && ring[i] < 1.02 * formula[i]);
		/* Three sizes, twice, in two modes: elements by the time that they take. */
		assert_true(speed[i] > 0.99e6 * 4 * (25 + 1250 + 51200) / us[i] &&
			    speed[i] < 1.01e6 * 4 * (25 + 1250 + 51200) / us[i]);
	}
	/* Ours stays, the others do not. */
	assert_true(us[1] < 1.02 * us[0]);
	assert_true(ring[1] > 1.4 * ring[0]);
	assert_true(server[1] > 2.5 * server[0]);
	free(printed);
}

/* What computing does not hide; the third rank, which is slow, is in the second row alone. */
static void sim_sweep_main__steps(void **state)
{
	const struct sim_sweep w = {
		.number = { 2, 3 }, .text = { "2", "3" }, .nr = 2, .compare = true
	};
	char path[] = "/tmp/tally-list.XXXXXX", text[1024], *printed;
	double us, ring, ring_formula, server, server_formula;
	static const char list[] = "numel\n90000\n90000\n3000\n";
	const int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, list, strlen(list)), strlen(list));
	close(fd);
	snprintf(
		text, sizeof(text),
		"hosts: [h1, h2, h3]\nswitches: [s0]\nlinks: [[h1, s0-p1], [h2, s0-p2], [h3, s0-p3]]\n"
		"jobs: [{name: j, ranks: [h1, h2, h3], workload: {file: %s, compute: 20ms, iterations: 3,\n"
		"  stragglers: {ranks: h3, factor: 2}}}]\n",
		path);
	printed = run(text, &w, 0);
	unlink(path);
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(printed, i ? "\n       3 " : "\n       2 ");
		const double compute_us = i ? 3 * 40000 : 3 * 20000;

		assert_non_null(at);
		assert_int_equal(sscanf(at, "%*u %lf %*f %*f %lf %lf %*f %lf %lf", &us, &ring,
					&ring_formula, &server, &server_formula),
				 5);
		/* The last tensor's 12000 bytes, three times, once and again. */
		assert_true(us > compute_us && us < compute_us + 150);
		assert_true(ring > compute_us + 28 && ring < compute_us + 150);
		assert_true(server > compute_us + 28 && server < compute_us + 150);
		assert_true(ring - ring_formula < 5 && ring_formula - ring < 5);
		assert_true(server - server_formula < 15 && server_formula - server < 15);
	}
	free(printed);
}

static void sim_sweep_main__too_many(void **state)
{
	const struct sim_sweep w = { .number = { 2, 5 }, .text = { "2", "5" }, .nr = 2 };
	char *said = run(local_rig_star, &w, 2);

	(void)state;
	assert_non_null(strstr(said, "expected at most the 4 ranks of job sums, not 5"));
	free(said);
}

/* Columns of a row: microseconds, sent again, completion, and the links' use. */
struct seen {
	double us, again, completion, used, busiest;
};

static struct seen sweep_row(const char *printed, const char *value)
{
	struct seen seen = { .us = 0 };
	char start[32];
	const char *at;

	snprintf(start, sizeof(start), "\n%8s ", value);
	at = strstr(printed, start);
	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen(start), "%lf %*f %lf %lf %lf %lf", &seen.us,
				&seen.again, &seen.completion, &seen.used, &seen.busiest),
			 5);
	return seen;
}

static struct seen row_of(const char *text, const char *value)
{
	struct sim_sweep sweep = { .nr = 0 };
	struct seen seen;
	char *printed;

	assert_int_equal(sim_sweep_parse(&sweep, text), 0);
	printed = run(local_rig_tree, &sweep, 0);
	seen = sweep_row(printed, value);
	free(printed);
	return seen;
}

static void sim_sweep_main__rate_delay_and_loss(void **state)
{
	const struct seen slow = row_of("rate=1G,10G", "1G"), fast = row_of("rate=1G,10G", "10G");
	const struct seen near = row_of("delay=2us,40us", "2us");
	const struct seen far = row_of("delay=2us,40us", "40us");
	const struct seen lossy = row_of("loss=0,3%", "3%"), clean = row_of("loss=0,3%", "0");

	(void)state;
	assert_true(slow.us > 5 * fast.us && slow.us < 10 * fast.us);
	assert_true(slow.used > fast.used && slow.used < 100 && slow.busiest >= slow.used);
	assert_true(fast.completion > fast.us);
	/* What the rig's own options say. */
	assert_true(near.us == fast.us && clean.us == fast.us && clean.again == 0);
	/* Twelve operations, each of at least one round trip over two links. */
	assert_true(far.us > near.us + 12 * 4 * 38);
	assert_true(lossy.again > 0 && lossy.us > clean.us);
}

static void sim_sweep_main__window_and_chunk(void **state)
{
	const struct seen narrow = row_of("window=1,8", "1"), wide = row_of("window=1,8", "8");
	const struct seen small = row_of("chunk=128,1408", "128");
	const struct seen large = row_of("chunk=128,1408", "1408");

	(void)state;
	assert_true(narrow.us > 3 * wide.us);
	assert_true(small.us > large.us);
}

static void sim_sweep_main__a_run_that_fails(void **state)
{
	struct sim_sweep sweep = { .repeat = "again" };
	char *said;

	(void)state;
	assert_int_equal(sim_sweep_parse(&sweep, "loss=0,100%"), 0);
	said = run(local_rig_star, &sweep, 1);
	assert_non_null(strstr(said, "tally-fabric: sweep loss=100% exited with 1: "));
	assert_non_null(strstr(said, "; again: again --sweep loss=100%\n"));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sim_sweep_parse_workers__lists),
		cmocka_unit_test(sim_sweep_parse__keys_and_values),
		cmocka_unit_test(sim_sweep_parse__bad_values_by_name),
		cmocka_unit_test(sim_sweep_main__a_row_for_each),
		cmocka_unit_test(sim_sweep_main__steps),
		cmocka_unit_test(sim_sweep_main__too_many),
		cmocka_unit_test(sim_sweep_main__rate_delay_and_loss),
		cmocka_unit_test(sim_sweep_main__window_and_chunk),
		cmocka_unit_test(sim_sweep_main__a_run_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
