// SPDX-License-Identifier: BSD-3-Clause
// Packets, windows and round trips over the time of a run, from what its ranks had after their operations.
#include <stdlib.h>

#include "topologies/report.h"
#include "topologies/say.h"

enum { TIMELINE_SHOWN = 1000 };

/* Where a rank's history is when time goes on. */
struct cursor {
	const struct perf_history *history;
	uint32_t i; /* the first point after now */
};

static const struct perf_point *point_at(const struct cursor *c, uint32_t i)
{
	return i < c->history->nr_points ? &c->history->point[i] : &c->history->last;
}

/* Between two points packets were sent as if at an even rate. */
static uint64_t between(uint64_t a, uint64_t b, double part)
{
	return a + (uint64_t)(part * (double)(b > a ? b - a : 0) + 0.5);
}

static void cursor_add(struct cursor *c, uint64_t at_ns, struct timeline_sample *sum)
{
	const struct perf_point *before, *after;
	double part = 1;

	while (c->i < c->history->nr_points && c->history->point[c->i].at_ns <= at_ns)
		c->i++;
	if (c->i == 0)
		return; // not joined yet
	before = point_at(c, c->i - 1);
	after = point_at(c, c->i);
	if (after->at_ns > at_ns)
		part = (double)(at_ns - before->at_ns) / (double)(after->at_ns - before->at_ns);
	sum->sent += between(before->sent, after->sent, part);
	sum->again += between(before->again, after->again, part);
	sum->received += between(before->received, after->received, part);
	if (after->at_ns > at_ns)
		timeline_sample_add(sum, before->window, (double)before->rtt_ns / 1e3);
}

/* The shortest of 1 us, 10 us, ... that is not too often. */
static uint64_t interval_find(uint64_t ns)
{
	uint64_t interval_ns = 1000;

	while (ns / interval_ns >= TIMELINE_SHOWN)
		interval_ns *= 10;
	return interval_ns;
}

static int timeline_fill(struct timeline *line, struct cursor *cursor, unsigned int nr,
			 uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t at_ns = from_ns; line->nr < TIMELINE_MAX; at_ns += line->interval_ns) {
		struct timeline_sample sum = { .nr = 0 };

		for (unsigned int i = 0; i < nr; i++)
			cursor_add(&cursor[i], at_ns, &sum);
		if (at_ns == from_ns)
			line->from = sum;
		else if (timeline_add(line, sum))
			return -1;
		if (at_ns >= to_ns)
			break;
	}
	return 0;
}

int report_timeline_make(struct report *report)
{
	struct timeline *line = &report->timeline;
	struct cursor *cursor = calloc(report->nr_ranks + 1, sizeof(*cursor));
	uint64_t from_ns = UINT64_MAX, to_ns = 0;
	unsigned int nr = 0;
	int rc = 0;

	if (!cursor)
		return say_error("not enough memory");
	for (unsigned int i = 0; i < report->nr_ranks; i++) {
		const struct perf_history *history = &report->rank[i].history;

		if (!history->nr_points)
			continue;
		cursor[nr++].history = history;
		from_ns = history->point[0].at_ns < from_ns ? history->point[0].at_ns : from_ns;
		to_ns = history->last.at_ns > to_ns ? history->last.at_ns : to_ns;
	}
	if (to_ns > from_ns) {
		line->interval_ns = report->interval_ns ? report->interval_ns
							: interval_find(to_ns - from_ns);
		if (timeline_fill(line, cursor, nr, from_ns, to_ns))
			rc = say_error("not enough memory");
	}
	free(cursor);
	return rc;
}

void report_timeline_thin(struct timeline *timeline, uint32_t most)
{
	const uint32_t of = (timeline->nr + most - 1) / most;

	if (of <= 1)
		return;
	for (uint32_t i = 0; i < (timeline->nr + of - 1) / of; i++)
		timeline->sample[i] =
			timeline->sample[of * i + of - 1 < timeline->nr ? of * i + of - 1
									: timeline->nr - 1];
	timeline->nr = (timeline->nr + of - 1) / of;
	timeline->interval_ns *= of;
}
