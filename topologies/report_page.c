// SPDX-License-Identifier: BSD-3-Clause
// A page about a run: what it was, the topology, plots, tables of jobs and ranks, and what was printed.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/include/tally.h"
#include "topologies/draw.h"
#include "topologies/html.h"
#include "topologies/record.h"
#include "topologies/report.h"

enum { PAGE_OPEN_ROWS = 32 /* of a longer table only the head is shown at first */ };

/* Colours can be told apart without seeing red or green. */
static const char style[] =
	":root { color-scheme: light dark; --paper: #fff; --ink: #1c2126; --soft: #59636e; --rule: #d7dce1;\n"
	"  --tile: #f4f6f8; --c0: #0072b2; --c1: #d55e00; --c2: #007a5a; --c3: #9c4f86; --c4: #a67500;\n"
	"  --c5: #3a8fb7; --c6: #5a5a5a }\n"
	"@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e6e9ec; --soft: #9aa5b1;\n"
	"  --rule: #323a42; --tile: #1d2329; --c0: #56b4e9; --c1: #f08a4b; --c2: #35b997; --c3: #dd9bc4;\n"
	"  --c4: #e6b03c; --c5: #8fd0f5; --c6: #b4b4b4 } }\n"
	"body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;\n"
	"  max-width: 1240px; margin: 0 auto; padding: 24px 28px 48px }\n"
	"h1 { font-size: 26px; margin: 0 0 4px } h2 { font-size: 18px; margin: 36px 0 8px }\n"
	"p { margin: 6px 0; max-width: 85ch } code, pre { font: 13px/1.45 ui-monospace, monospace }\n"
	"pre { overflow-x: auto; background: var(--tile); padding: 12px; border-radius: 6px }\n"
	".soft, figcaption, th, dt { color: var(--soft) } .bad { color: var(--c1); font-weight: 600 }\n"
	"dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 12px 0 }\n"
	"dd { margin: 0; overflow-wrap: anywhere }\n"
	".head { display: flex; flex-wrap: wrap; gap: 12px 48px; align-items: flex-start }\n"
	".head dl { flex: 1 1 520px } .head .wide { max-width: 100% }\n"
	".tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px;\n"
	"  margin: 20px 0 } .tiles div { background: var(--tile); border-radius: 8px; padding: 12px 16px }\n"
	".tiles b { display: block; font-size: 24px; font-weight: 600; line-height: 1.25 }\n"
	".wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
	"th, td { text-align: right; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--rule);\n"
	"  white-space: nowrap } th { font-weight: 500; vertical-align: bottom }\n"
	".keys { margin: 0 0 0 58px; font-size: 13px } .l { text-align: left } td.words { white-space: normal; min-width: 20ch }\n"
	"summary { cursor: pointer; margin: 6px 0 }\n"
	".figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr));\n"
	"  gap: 24px 32px } figure { margin: 0 } figcaption { font-size: 13px } figcaption b { color: var(--ink);\n"
	"  font-size: 15px; display: block } svg.plot { width: 100%; height: auto }\n"
	".plot text { font: 12px system-ui, sans-serif; fill: var(--soft) } .middle { text-anchor: middle }\n"
	".plot .right { text-anchor: end } .grid { stroke: var(--rule); fill: none }\n"
	".axis { stroke: var(--soft); fill: none } .plot .line { stroke: var(--c); stroke-width: 1.6; fill: none }\n"
	".area { fill: var(--c); fill-opacity: .75 } .band { fill: var(--c); fill-opacity: .25; stroke: none }\n"
	"rect, circle { fill: var(--c) } .key { display: inline-block; width: 11px; height: 11px;\n"
	"  border-radius: 2px; background: var(--c); margin: 0 6px 0 12px }\n"
	".c0 { --c: var(--c0) } .c1 { --c: var(--c1) } .c2 { --c: var(--c2) } .c3 { --c: var(--c3) }\n"
	".c4 { --c: var(--c4) } .c5 { --c: var(--c5) } .c6 { --c: var(--c6) }\n";

/* The least, the mean and the most of some ranks, and their sums. */
struct sum {
	double done_s, speed_least, speed, speed_most, rtt_s;
	uint64_t sent, again, received;
	unsigned int nr, nr_known, nr_fast, nr_failed, nr_ran;
	unsigned int window[2];
};

/* Of one job; NULL: of all. */
static struct sum sum_of(const struct report *r, const struct topology_job *job)
{
	struct sum s = { .window = { UINT32_MAX, 0 } };

	for (unsigned int i = 0; i < r->nr_ranks; i++) {
		const struct report_rank *k = &r->rank[i];

		if (job && k->job != job)
			continue;
		s.nr++;
		s.nr_ran += k->ran;
		s.nr_failed += k->ran && k->code != 0;
		s.done_s = k->done_s > s.done_s ? k->done_s : s.done_s;
		if (!k->known)
			continue;
		s.nr_known++;
		s.sent += k->sent;
		s.again += k->again;
		s.received += k->received;
		s.rtt_s += (double)k->rtt_ns / 1e9;
		s.window[0] = k->window < s.window[0] ? k->window : s.window[0];
		s.window[1] = k->window > s.window[1] ? k->window : s.window[1];
		if (k->elements_s <= 0)
			continue;
		s.speed_least = !s.nr_fast || k->elements_s < s.speed_least ? k->elements_s
									    : s.speed_least;
		s.speed_most = k->elements_s > s.speed_most ? k->elements_s : s.speed_most;
		s.speed += k->elements_s;
		s.nr_fast++;
	}
	return s;
}

/* --- The head ----------------------------------------------------------------------------------- */

static const char *file_name(const struct report *r)
{
	const char *slash = strrchr(r->topology->path, '/');

	return slash ? slash + 1 : r->topology->path;
}

static void command_put(const struct report *r, FILE *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);

	for (int i = 0; memory && i < r->argc; i++)
		record_word_print(memory, r->argv[i]);
	if (memory && fclose(memory) == 0)
		html_text(out, text + (*text == ' '));
	free(text);
}

static void facts_put(const struct report *r, int code, FILE *out)
{
	const struct topology *t = r->topology;

	fputs("<dl>\n<dt>command</dt><dd><code>", out);
	command_put(r, out);
	fputs("</code></dd>\n<dt>run in</dt><dd>", out);
	html_text(out, r->fabric);
	fprintf(out,
		"</dd>\n<dt>version</dt><dd>Tally %s</dd>\n<dt>seed</dt><dd>%" PRIu64 "%s</dd>\n",
		TALLY_VERSION_STRING, t->seed_given ? t->seed : 1,
		t->seed_given ? "" : " (default)");
	if (*r->machine) {
		fputs("<dt>machine</dt><dd>", out);
		html_text(out, r->machine);
		fputs("</dd>\n", out);
	}
	fprintf(out, "<dt>exit code</dt><dd%s>%d</dd>\n</dl>\n", code ? " class=\"bad\"" : "",
		code);
}

static void tile_put(FILE *out, const char *number, const char *words)
{
	fputs("<div><b>", out);
	html_text(out, number);
	fputs("</b>", out);
	html_text(out, words);
	fputs("</div>\n", out);
}

static void tiles_put(const struct report *r, FILE *out)
{
	const struct sum s = sum_of(r, NULL);
	char text[64], words[96];

	fputs("<div class=\"tiles\">\n", out);
	snprintf(text, sizeof(text), "%u of %u", s.nr_ran - s.nr_failed, s.nr);
	tile_put(out, text, "ranks ended well");
	tile_put(out, html_time(s.done_s, 4).text, "until the last rank was done");
	if (s.nr_fast) {
		snprintf(text, sizeof(text), "%s/s", html_number(s.speed / s.nr_fast, 4).text);
		tile_put(out, text, "elements aggregated per worker");
	}
	if (s.nr_known) {
		snprintf(text, sizeof(text), "%" PRIu64, s.sent);
		snprintf(words, sizeof(words), "packets sent%s",
			 s.nr_known < s.nr ? " by ranks that say so" : "");
		tile_put(out, text, words);
		snprintf(text, sizeof(text), "%" PRIu64, s.again);
		snprintf(words, sizeof(words), "of these again, %.3g %%",
			 s.sent ? 100 * (double)s.again / (double)s.sent : 0);
		tile_put(out, text, words);
	}
	fputs("</div>\n", out);
}

/* What is not known, and why. */
static void unknown_put(const struct report *r, FILE *out)
{
	for (unsigned int i = 0; i < r->topology->nr_jobs; i++) {
		const struct topology_job *job = &r->topology->job[i];
		const struct sum s = sum_of(r, job);

		if (s.nr_known == s.nr)
			continue;
		fputs("<p>", out);
		fprintf(out, job->run ? "Job <b>" : "%u of %u ranks of job <b>", s.nr - s.nr_known,
			s.nr);
		html_text(out, job->name);
		fputs(job->run
			      ? "</b> runs a program of its own: its packets, windows, round trips and "
				"operations are known to that program alone (tally_get_stats(3)), and are "
				"missing below.</p>\n"
			      : "</b> left no counters, as they did not come to their end: what they did "
				"is missing below.</p>\n",
		      out);
	}
}

/* --- Tables ------------------------------------------------------------------------------------- */

static void cell_put(FILE *out, const char *text)
{
	fprintf(out, "<td>%s</td>", text);
}

static void cell_count(FILE *out, bool known, uint64_t value)
{
	if (known)
		fprintf(out, "<td>%" PRIu64 "</td>", value);
	else
		fputs("<td>\xe2\x80\x93</td>", out);
}

static void job_put(const struct report *r, const struct topology_job *job, FILE *out)
{
	const struct sum s = sum_of(r, job);
	char text[96], command[4096];

	fputs("<tr><td class=\"l\">", out);
	html_text(out, job->name);
	fprintf(out, "</td><td>%u</td><td>%u</td>", s.nr, s.nr_failed);
	cell_put(out, html_time(s.done_s, 6).text);
	cell_put(out, s.nr_fast ? html_number(s.speed_least, 4).text : "\xe2\x80\x93");
	cell_put(out, s.nr_fast ? html_number(s.speed / s.nr_fast, 4).text : "\xe2\x80\x93");
	cell_put(out, s.nr_fast ? html_number(s.speed_most, 4).text : "\xe2\x80\x93");
	snprintf(text, sizeof(text), s.window[0] == s.window[1] ? "%u" : "%u\xe2\x80\x93%u",
		 s.window[0], s.window[1]);
	cell_put(out, s.nr_known ? text : "\xe2\x80\x93");
	cell_put(out, s.nr_known ? html_time(s.rtt_s / s.nr_known, 4).text : "\xe2\x80\x93");
	cell_count(out, s.nr_known != 0, s.sent);
	cell_count(out, s.nr_known != 0, s.again);
	cell_count(out, s.nr_known != 0, s.received);
	fputs("<td class=\"l words\"><code>", out);
	if (topology_job_command(r->topology, job, command, sizeof(command)) == 0)
		html_text(out,
			  strncmp(command, "exec ", 5) == 0 && !job->run ? command + 5 : command);
	fputs("</code></td></tr>\n", out);
}

static void jobs_put(const struct report *r, FILE *out)
{
	fputs("<h2>Jobs</h2>\n<div class=\"wide\"><table>\n<thead><tr><th class=\"l\">job</th>"
	      "<th>ranks</th><th>failed</th><th>completion</th><th>elements/s<br/>least</th>"
	      "<th>mean</th><th>most</th><th>window<br/>at the end</th><th>round<br/>trip</th>"
	      "<th>packets<br/>sent</th><th>again</th><th>received</th><th class=\"l\">each rank "
	      "runs</th></tr></thead>\n<tbody>\n",
	      out);
	for (unsigned int i = 0; i < r->topology->nr_jobs; i++)
		job_put(r, &r->topology->job[i], out);
	fputs("</tbody></table></div>\n", out);
}

static void rank_put(const struct report_rank *k, bool cpu, FILE *out)
{
	char text[32];

	fputs("<tr><td class=\"l\">", out);
	html_text(out, k->job->name);
	fprintf(out, "</td><td>%u</td><td class=\"l\">", k->rank);
	html_text(out, k->node->name);
	if (k->ran)
		fprintf(out, "</td><td%s>%d</td>", k->code ? " class=\"bad\"" : "", k->code);
	else
		fputs("</td><td>did not run</td>", out);
	cell_put(out, html_time(k->done_s, 6).text);
	snprintf(text, sizeof(text), "%.2f s", k->cpu_s);
	if (cpu)
		cell_put(out, text);
	cell_put(out, k->elements_s > 0 ? html_number(k->elements_s, 4).text : "\xe2\x80\x93");
	cell_count(out, k->known, k->window);
	cell_put(out, k->known ? html_time((double)k->rtt_ns / 1e9, 4).text : "\xe2\x80\x93");
	cell_count(out, k->known, k->chunk);
	cell_count(out, k->known, k->sent);
	cell_count(out, k->known, k->again);
	cell_count(out, k->known, k->received);
	fputs("</tr>\n", out);
}

static void ranks_put(const struct report *r, FILE *out)
{
	const bool cpu = r->nr_ranks && r->rank[0].cpu_s >= 0;

	fprintf(out, "<h2>Ranks</h2>\n<details%s><summary>%u ranks</summary>\n",
		r->nr_ranks > PAGE_OPEN_ROWS ? "" : " open=\"open\"", r->nr_ranks);
	fprintf(out,
		"<div class=\"wide\"><table>\n<thead><tr><th class=\"l\">job</th><th>rank</th>"
		"<th class=\"l\">host</th><th>exit</th><th>completion</th>%s<th>elements/s</th>"
		"<th>window</th><th>round trip</th><th>chunk, bytes</th><th>packets sent</th>"
		"<th>again</th><th>received</th></tr></thead>\n<tbody>\n",
		cpu ? "<th>CPU</th>" : "");
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		rank_put(&r->rank[i], cpu, out);
	fputs("</tbody></table></div></details>\n", out);
}

static void timeline_put(const struct report *r, FILE *out)
{
	const struct timeline *line = &r->timeline;
	struct timeline_sample before = line->from;

	if (!line->nr)
		return;
	fprintf(out,
		"<details><summary>The numbers: packets of all ranks in each %s</summary>\n"
		"<table>\n<thead><tr><th>from, us</th><th>sent</th><th>again</th><th>received</th>"
		"<th>window, mean</th><th>round trip, mean</th></tr></thead>\n<tbody>\n",
		html_time((double)line->interval_ns / 1e9, 3).text);
	for (uint32_t i = 0; i < line->nr; i++) {
		const struct timeline_sample *s = &line->sample[i];

		fprintf(out, "<tr><td>%.9g</td>", (double)i * (double)line->interval_ns / 1e3);
		cell_count(out, true, timeline_since(s->sent, before.sent));
		cell_count(out, true, timeline_since(s->again, before.again));
		cell_count(out, true, timeline_since(s->received, before.received));
		cell_put(out, s->nr ? html_number(s->window[1] / s->nr, 4).text : "\xe2\x80\x93");
		cell_put(out, s->nr_rtt ? html_time(s->rtt_us[1] / s->nr_rtt / 1e6, 4).text
					: "\xe2\x80\x93");
		fputs("</tr>\n", out);
		before = *s;
	}
	fputs("</tbody></table></details>\n", out);
}

static void texts_put(const struct report *r, FILE *out)
{
	if (r->nr_texts)
		fputs("<h2>What was printed</h2>\n", out);
	for (unsigned int i = 0; i < r->nr_texts; i++) {
		const struct report_text *t = &r->text[i];

		fputs("<details><summary>", out);
		html_text(out, t->title);
		fputs("</summary>\n<pre>", out);
		html_text_n(out, t->text, t->len);
		fprintf(out, "</pre>%s</details>\n",
			t->cut ? "<p class=\"bad\">The rest is too long for this page.</p>" : "");
	}
}

void report_page(const struct report *r, int code, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width\"/>\n"
	      "<title>",
	      out);
	html_text(out, file_name(r));
	fprintf(out, " in %s</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", r->fabric,
		style);
	html_text(out, file_name(r));
	fputs("</h1>\n<p class=\"soft\">A run of Tally: sums over hosts, made by the switches between "
	      "them.</p>\n",
	      out);
	fputs("<div class=\"head\">\n", out);
	facts_put(r, code, out);
	fputs("<div class=\"wide\">\n", out);
	if (draw_topology(r->topology, DRAW_SVG, out))
		fputs("<p>Not enough memory for the picture.</p>\n", out);
	fputs("</div></div>\n", out);
	tiles_put(r, out);
	unknown_put(r, out);
	fputs("<h2>Plots</h2>\n", out);
	if (!r->timeline.nr)
		fputs("<p>Nothing is known of the packets over time: no rank has told what it sent.</p>\n",
		      out);
	report_figures(r, out);
	timeline_put(r, out);
	jobs_put(r, out);
	ranks_put(r, out);
	texts_put(r, out);
	fputs("</body>\n</html>\n", out);
}
