// SPDX-License-Identifier: BSD-3-Clause
// report_test.c - a page of a run: what it shows, and that it is whole or not there.
#include "topologies/report.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/capture.h"
#include "tests/unit/local_rig.h"
#include "topologies/sim.h"

static char dir[] = "/tmp/tally-report.XXXXXX";

static char *page_read(void)
{
	char path[64], *text = calloc(1, 1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), "%s/report.html", dir);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 1000);
	fclose(file);
	assert_int_equal(unlink(path), 0);
	return text;
}

/* Every element that is begun is ended, in order; nothing in it is left as markup. */
static void page_check(const char *text)
{
	char open[64][16];
	int depth = 0;

	assert_int_equal(strncmp(text, "<!DOCTYPE html>\n", 16), 0);
	for (const char *at = strchr(text + 1, '<'); at; at = strchr(at + 1, '<')) {
		const char *end = strchr(at, '>');
		char name[16];

		assert_non_null(end);
		assert_int_equal(sscanf(at + 1 + (at[1] == '/'), "%15[a-zA-Z0-9]", name), 1);
		if (end[-1] == '/')
			continue;
		if (at[1] == '/') {
			assert_true(depth > 0);
			assert_string_equal(open[--depth], name);
		} else {
			assert_true(depth < 64);
			memcpy(open[depth++], name, sizeof(name));
		}
	}
	assert_int_equal(depth, 0);
}

static void has(const char *page, const char *words)
{
	if (!strstr(page, words))
		fail_msg("the page lacks '%s'", words);
}

static char *sim_page(struct topology *t, struct report *r, int want)
{
	const struct sim_options options = { .links = { UINT64_C(10000000000), 2000 },
					     .report = r };
	struct capture out, err;
	char *printed;
	int code;

	assert_int_equal(report_open(r, t), 0);
	capture_begin(&out, 1);
	capture_begin(&err, 2);
	code = sim_main(t, &options);
	free(capture_end(&err));
	printed = capture_end(&out);
	assert_int_equal(code, want);
	return printed;
}

static void report_write__numbers_that_are_printed(void **state)
{
	char name[] = "tally-fabric", odd[] = "<&\"' it\xff", *argv[] = { name, odd, NULL };
	struct report r = { .dir = dir, .argc = 2, .argv = argv };
	struct topology *t = local_rig_load(local_rig_tree);
	unsigned long sent, again, received;
	char *printed, *page, want[96];
	const char *at;

	(void)state;
	for (unsigned i = 0; i < t->nr_links; i++)
		t->link[i].loss = 0.02;
	printed = sim_page(t, &r, 0);
	page = page_read();
	page_check(page);
	at = strstr(printed, "packets sent ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "packets sent %lu, of these again %lu; received %lu", &sent,
				&again, &received),
			 3);
	assert_true(again > 0);
	snprintf(want, sizeof(want), "<td>%lu</td><td>%lu</td><td>%lu</td><td class=\"l words\">",
		 sent, again, received);
	has(page, want);
	snprintf(want, sizeof(want), "<b>%lu</b>packets sent", sent);
	has(page, want);
	/* All of it, and the picture. */
	has(page, local_rig_hash(printed, 0).text);
	has(page, "elements aggregated per worker");
	has(page, ">rank 0 of job sums</summary>");
	has(page, "class=\"network\"");
	has(page,
	    "<code>tally-fabric &#39;&#60;&#38;&#34;&#39;\\&#39;&#39; it\xef\xbf\xbd&#39;</code>");
	has(page, "<b>Round trip</b>");
	has(page, "<b>Completion of an operation</b>");
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "src="));
	free(page);
	free(printed);
	report_free(&r);
	topology_free(t);
}

/* The packets of all intervals are all packets. */
static void report_write__timeline_has_all_packets(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	struct report r = { .dir = dir };
	unsigned long sum[3] = { 0 }, v[3], sent = 0;
	char *printed = sim_page(t, &r, 0), *page = page_read();
	const char *at = strstr(page, "<th>from, us</th>");
	double from;

	(void)state;
	assert_non_null(at);
	while ((at = strstr(at + 1, "<tr><td>")) &&
	       sscanf(at, "<tr><td>%lf</td><td>%lu</td><td>%lu</td><td>%lu</td>", &from, &v[0],
		      &v[1], &v[2]) == 4)
		for (int k = 0; k < 3; k++)
			sum[k] += v[k];
	assert_int_equal(sscanf(strstr(printed, "packets sent "), "packets sent %lu", &sent), 1);
	/* But for a few: sent before the first rank was in, or as one left. */
	assert_true(sum[0] <= sent + 3 * 4 && sum[0] + 3 * 4 >= sent && sum[1] == 0 && sum[2] > 0);
	free(page);
	free(printed);
	report_free(&r);
	topology_free(t);
}

static void report_write__failed_and_unknown(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	struct report r = { .dir = dir, .fabric = "a test", .done = "-" };
	struct capture err;
	char *page;

	(void)state;
	assert_int_equal(report_open(&r, t), 0);
	assert_int_equal(report_ranks(&r), 0);
	assert_int_equal(r.nr_ranks, 4);
	r.rank[1].ran = true;
	r.rank[1].code = 137;
	report_text(&r, "a <text>", "x<y", 3);
	report_text(&r, "a <text>", "&z", 2);
	capture_begin(&err, 2);
	assert_int_equal(report_write(&r, 137), 137);
	free(capture_end(&err));
	page = page_read();
	page_check(page);
	has(page, "<dd class=\"bad\">137</dd>");
	has(page, "<b>0 of 4</b>ranks ended well");
	has(page, "4 of 4 ranks of job <b>sums</b> left no counters");
	has(page, "Nothing is known of the packets over time");
	has(page, "<td>did not run</td>");
	has(page, "<td class=\"bad\">137</td>");
	has(page, "<summary>a &#60;text&#62;</summary>\n<pre>x&#60;y&#38;z</pre>");
	free(page);
	t->job[0].run = "./program <&";
	capture_begin(&err, 2);
	assert_int_equal(report_write(&r, 0), 0);
	free(capture_end(&err));
	page = page_read();
	page_check(page);
	has(page, "Job <b>sums</b> runs a program of its own");
	has(page, "<code>./program &#60;&#38;</code>");
	free(page);
	report_free(&r);
	topology_free(t);
}

static unsigned files_count(void)
{
	DIR *d = opendir(dir);
	unsigned nr = 0;

	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2;
}

static void report_write__whole_or_not_at_all(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	struct report r = { .dir = "/proc/nothing/there" };
	struct capture err;
	char *said;
	int rc;

	(void)state;
	capture_begin(&err, 2);
	rc = report_open(&r, t);
	said = capture_end(&err);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(said, "--report /proc/nothing/there: No such file or directory"));
	free(said);
	r = (struct report){ .dir = dir, .fabric = "a test", .done = "-" };
	assert_int_equal(report_open(&r, t), 0);
	r.dir = "/proc/self";
	capture_begin(&err, 2);
	rc = report_write(&r, 0);
	said = capture_end(&err);
	assert_int_equal(rc, 1);
	assert_non_null(strstr(said, "/proc/self/report.html: "));
	assert_non_null(strstr(said, ": there is no page of this run\n"));
	assert_int_equal(files_count(), 0);
	free(said);
	report_free(&r);
	topology_free(t);
}

/* Else it would be taken for the page of a run that came to none. */
static void report_open__removes_an_earlier_page(void **state)
{
	struct topology *t = local_rig_load(local_rig_star);
	struct report r = { .dir = dir };
	struct capture err;
	char path[64], *said;
	FILE *file;
	int rc;

	(void)state;
	snprintf(path, sizeof(path), "%s/report.html", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(report_open(&r, t), 0);
	assert_int_equal(files_count(), 0);
	assert_int_equal(mkdir(path, 0777), 0);
	capture_begin(&err, 2);
	rc = report_open(&r, t);
	said = capture_end(&err);
	rmdir(path);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(
		said,
		"/report.html: the page of an earlier run cannot be removed: Is a directory\n"));
	free(said);
	topology_free(t);
}

static int dir_make(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int dir_remove(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_write__numbers_that_are_printed),
		cmocka_unit_test(report_write__timeline_has_all_packets),
		cmocka_unit_test(report_write__failed_and_unknown),
		cmocka_unit_test(report_write__whole_or_not_at_all),
		cmocka_unit_test(report_open__removes_an_earlier_page),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
