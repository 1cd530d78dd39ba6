// SPDX-License-Identifier: BSD-3-Clause
// The plots of a page about a run.
#include <math.h>
#include <stdlib.h>

#include "topologies/html.h"
#include "topologies/plot.h"
#include "topologies/report.h"

enum { FIGURE_TITLES = 256 /* with more bars, each has none */ };

static unsigned int job_colour(const struct report *r, const struct topology_job *job)
{
	return (unsigned int)(job - r->topology->job) % PLOT_COLOURS;
}

/* Which colour is which job, if there are several. */
struct keys {
	const char *word[TOPOLOGY_JOBS_MAX];
};

static void keys_set(const struct report *r, struct plot *p, struct keys *keys)
{
	if (r->topology->nr_jobs < 2)
		return;
	for (unsigned int i = 0; i < r->topology->nr_jobs; i++)
		keys->word[i] = r->topology->job[i].name;
	p->key = keys->word;
	p->nr_keys = r->topology->nr_jobs;
}

/* --- Over time ---------------------------------------------------------------------------------- */

struct series {
	double *sent, *again;
	double (*window)[3], (*rtt_s)[3];
};

static double band_of(const double of[3], uint32_t nr, int k)
{
	return nr ? k == 1 ? of[1] / nr : of[k] : NAN;
}

static bool series_make(struct series *s, const struct timeline *line)
{
	struct timeline_sample before = line->from;

	*s = (struct series){
		.sent = calloc(line->nr, sizeof(*s->sent)),
		.again = calloc(line->nr, sizeof(*s->again)),
		.window = calloc(line->nr, sizeof(*s->window)),
		.rtt_s = calloc(line->nr, sizeof(*s->rtt_s)),
	};
	if (!s->sent || !s->again || !s->window || !s->rtt_s)
		return false;
	for (uint32_t i = 0; i < line->nr; i++) {
		const struct timeline_sample *now = &line->sample[i];

		s->sent[i] = (double)timeline_since(now->sent, before.sent);
		s->again[i] = (double)timeline_since(now->again, before.again);
		for (int k = 0; k < 3; k++) {
			s->window[i][k] = band_of(now->window, now->nr, k);
			s->rtt_s[i][k] = band_of(now->rtt_us, now->nr_rtt, k) / 1e6;
		}
		before = *now;
	}
	return true;
}

static void series_free(struct series *s)
{
	free(s->sent);
	free(s->again);
	free(s->window);
	free(s->rtt_s);
}

static struct plot_axis time_axis(const struct timeline *line)
{
	return (struct plot_axis){ .label = "time after the first rank had joined",
				   .unit = "s",
				   .most = (double)line->nr * (double)line->interval_ns / 1e9 };
}

static void packets_put(const struct report *r, const double *value, bool again, FILE *out)
{
	const double width = (double)r->timeline.interval_ns / 1e9;
	struct plot p = { .out = out, .x = time_axis(&r->timeline) };
	char label[64];
	double most = 0;

	for (uint32_t i = 0; i < r->timeline.nr; i++)
		most = value[i] > most ? value[i] : most;
	snprintf(label, sizeof(label), "packets per %s", html_time(width, 3).text);
	p.title = again ? "Packets sent again" : "Packets sent";
	p.note =
		again && most <= 0 ? "Nothing had to be."
		: r->sampled
			? "Of all ranks; at an even rate between the ends of two operations of a rank."
			: "Of all ranks.";
	p.y.label = label;
	p.y.unit = "";
	p.y.whole = most < 1000;
	plot_axis_zero(&p.y, most);
	plot_begin(&p);
	plot_steps(&p, value, r->timeline.nr, width, again);
	plot_end(&p);
}

static void band_put(const struct report *r, const double (*value)[3], bool rtt, FILE *out)
{
	struct plot p = { .out = out, .x = time_axis(&r->timeline) };
	double most = 0;

	for (uint32_t i = 0; i < r->timeline.nr; i++)
		most = value[i][2] > most ? value[i][2] : most;
	p.title = rtt ? "Round trip" : "Window";
	p.note = rtt ? "The lowest lately: the mean, the least and the most of the ranks."
		     : "Chunks in flight at most: the mean, the least and the most of the ranks.";
	p.y.label = rtt ? "round trip" : "chunks";
	p.y.unit = rtt ? "s" : "";
	p.y.whole = !rtt;
	plot_axis_zero(&p.y, most);
	plot_begin(&p);
	plot_band(&p, value, r->timeline.nr, (double)r->timeline.interval_ns / 1e9, rtt ? 2 : 3);
	plot_end(&p);
}

static void over_time_put(const struct report *r, FILE *out)
{
	struct series s = { .sent = NULL };

	if (r->timeline.nr && series_make(&s, &r->timeline)) {
		packets_put(r, s.sent, false, out);
		packets_put(r, s.again, true, out);
		band_put(r, s.window, false, out);
		band_put(r, s.rtt_s, true, out);
	}
	series_free(&s);
}

/* --- Over ranks --------------------------------------------------------------------------------- */

static void bars_put(const struct report *r, bool rate, FILE *out)
{
	struct plot p = { .out = out,
			  .title = rate ? "Rate of each rank" : "Completion of each rank",
			  .note = rate ? "Elements aggregated per second of its timed operations."
				       : r->done };
	double most = 0;
	struct keys keys;

	keys_set(r, &p, &keys);
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		most = fmax(most, rate ? r->rank[i].elements_s : r->rank[i].done_s);
	if (most <= 0)
		return;
	p.x = (struct plot_axis){ .label = r->topology->nr_jobs > 1 ? "ranks, job after job"
								    : "rank",
				  .unit = "",
				  .least = -0.5,
				  .most = r->nr_ranks - 0.5,
				  .whole = true };
	p.y = (struct plot_axis){ .label = rate ? "rate" : "time",
				  .unit = rate ? "elements/s" : "s" };
	plot_axis_zero(&p.y, most);
	plot_begin(&p);
	for (unsigned int i = 0; i < r->nr_ranks; i++) {
		const struct report_rank *rank = &r->rank[i];
		const double value = rate ? rank->elements_s : rank->done_s;
		char title[96];

		snprintf(title, sizeof(title), "rank %u on %s: %s%s", rank->rank, rank->node->name,
			 rate ? html_number(value, 4).text : html_time(value, 4).text,
			 rate ? " elements/s" : "");
		plot_bar(&p, i - 0.5, value, job_colour(r, rank->job),
			 r->nr_ranks > FIGURE_TITLES ? NULL : title);
	}
	plot_end(&p);
}

/* --- Over sizes --------------------------------------------------------------------------------- */

/* Rank 0 of a job has run what all have; the others' times are added to its. */
static void span_sum(const struct report *r, const struct report_rank *first, uint32_t i,
		     double value[3])
{
	double sum = 0, nr = 0;

	value[0] = value[2] = 0;
	for (unsigned int k = 0; k < r->nr_ranks; k++) {
		const struct perf_history *h = &r->rank[k].history;

		if (r->rank[k].job != first->job || i >= h->nr_spans)
			continue;
		value[0] = nr <= 0 || h->span[i].least_us < value[0] ? h->span[i].least_us
								     : value[0];
		value[2] = fmax(value[2], h->span[i].most_us);
		sum += h->span[i].sum_us;
		nr += (double)h->span[i].nr;
	}
	value[1] = nr > 0 ? sum / nr : 0;
	for (int k = 0; k < 3; k++)
		value[k] /= 1e6;
}

static void spans_put(const struct report *r, const struct plot *p, double range[4])
{
	for (unsigned int k = 0; k < r->nr_ranks; k++) {
		const struct report_rank *first = &r->rank[k];

		for (uint32_t i = 0; first->rank == 0 && i < first->history.nr_spans; i++) {
			const struct perf_span *span = &first->history.span[i];
			double value[3];
			char title[160];

			span_sum(r, first, i, value);
			if (!span->count || value[0] <= 0)
				continue;
			snprintf(title, sizeof(title), "%llu %s %s: %s, from %s to %s",
				 (unsigned long long)span->count, perf_dtype_name(span->dtype),
				 perf_op_name(span->op), html_time(value[1], 4).text,
				 html_time(value[0], 4).text, html_time(value[2], 4).text);
			if (p)
				plot_dot(p, (double)span->count, value, job_colour(r, first->job),
					 title);
			range[0] = fmin(range[0], (double)span->count);
			range[1] = fmax(range[1], (double)span->count);
			range[2] = fmin(range[2], value[0]);
			range[3] = fmax(range[3], value[2]);
		}
	}
}

static void operations_put(const struct report *r, FILE *out)
{
	double range[4] = { INFINITY, 0, INFINITY, 0 };
	struct keys keys;
	struct plot p = {
		.out = out,
		.title = "Completion of an operation",
		.note = "By its size: the mean of all timed ones on all ranks, and from the least "
			"to the most."
	};

	keys_set(r, &p, &keys);
	spans_put(r, NULL, range);
	if (range[1] <= 0)
		return;
	p.x = (struct plot_axis){ .label = "size", .unit = "elements" };
	p.y = (struct plot_axis){ .label = "time of an operation", .unit = "s" };
	plot_axis_log(&p.x, range[0], range[1]);
	plot_axis_log(&p.y, range[2], range[3]);
	plot_begin(&p);
	spans_put(r, &p, range);
	plot_end(&p);
}

void report_figures(const struct report *r, FILE *out)
{
	fputs("<div class=\"figures\">\n", out);
	over_time_put(r, out);
	bars_put(r, false, out);
	bars_put(r, true, out);
	operations_put(r, out);
	fputs("</div>\n", out);
}
