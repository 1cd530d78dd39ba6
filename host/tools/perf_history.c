// SPDX-License-Identifier: BSD-3-Clause
// perf_history.c - what a rank's counters were after its operations, and how long these took, in little memory.
#include "host/tools/perf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of many points every second one goes, and from then on only every second one is added. */
static void perf_history_thin(struct perf_history *history)
{
	uint32_t i;

	for (i = 0; i < PERF_POINTS / 2; i++)
		history->point[i] = history->point[2 * i];
	history->nr_points = PERF_POINTS / 2;
	history->stride *= 2;
}

static void perf_history_add_point(struct perf_history *history, const struct perf_point *point)
{
	history->last = *point;
	if (history->stride == 0)
		history->stride = 1;
	if (history->nr_seen++ % history->stride != 0)
		return;
	if (history->nr_points == PERF_POINTS)
		perf_history_thin(history);
	history->point[history->nr_points++] = *point;
}

void perf_history_add(struct perf_history *history, const tally_t *comm, uint64_t at_ns)
{
	struct tally_stats stats = { .size = sizeof(stats) };

	if (tally_get_stats(comm, &stats) != TALLY_OK)
		return;
	history->chunk = stats.chunk;
	perf_history_add_point(history, &(struct perf_point){
						.at_ns = at_ns,
						.sent = stats.tx_packets,
						.again = stats.retransmits,
						.received = stats.rx_packets,
						.rtt_ns = stats.rtt_ns,
						.window = stats.window,
					});
}

static struct perf_span *perf_history_span(struct perf_history *history, uint64_t count,
					   enum tally_dtype dtype, enum tally_op op)
{
	struct perf_span *span = history->span;
	uint32_t i;

	/* Most likely the last one. */
	for (i = history->nr_spans; i > 0; i--)
		if (span[i - 1].count == count && span[i - 1].dtype == dtype &&
		    span[i - 1].op == op)
			return &span[i - 1];
	if (history->nr_spans == history->room) {
		history->room = history->room != 0 ? 2 * history->room : 8;
		span = realloc(history->span, history->room * sizeof(*span));
		if (span == NULL) {
			history->room = history->nr_spans;
			return NULL;
		}
		history->span = span;
	}
	span = &history->span[history->nr_spans++];
	*span = (struct perf_span){ .count = count, .dtype = dtype, .op = op };
	return span;
}

void perf_history_time(struct perf_history *history, const struct tally_args *args, double us)
{
	struct perf_span *span = perf_history_span(history, args->count, args->dtype, args->op);

	if (span == NULL)
		return; /* no memory: a plot has a point less */
	span->least_us = span->nr == 0 || us < span->least_us ? us : span->least_us;
	span->most_us = us > span->most_us ? us : span->most_us;
	span->sum_us += us;
	span->nr++;
}

double perf_history_speed(const struct perf_history *history)
{
	double elements = 0, us = 0;
	uint32_t i;

	for (i = 0; i < history->nr_spans; i++) {
		elements += (double)history->span[i].count * (double)history->span[i].nr;
		us += history->span[i].sum_us;
	}
	return us > 0 ? elements / us * 1e6 : 0;
}

static void perf_point_write(const struct perf_point *point, FILE *file)
{
	fprintf(file,
		"point %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 "\n",
		point->at_ns, point->sent, point->again, point->received, point->rtt_ns,
		point->window);
}

void perf_history_write(const struct perf_history *history, int rank, FILE *file)
{
	const struct perf_span *span = history->span;
	uint32_t i;

	fprintf(file, "rank %d chunk %" PRIu32 "\n", rank, history->chunk);
	for (i = 0; i < history->nr_spans; i++, span++)
		fprintf(file, "operations %" PRIu64 " %s %s %" PRIu64 " %.3f %.3f %.3f\n",
			span->count, perf_dtype_name(span->dtype), perf_op_name(span->op), span->nr,
			span->least_us, span->sum_us, span->most_us);
	for (i = 0; i < history->nr_points; i++)
		perf_point_write(&history->point[i], file);
	if (history->nr_points > 0 &&
	    history->point[history->nr_points - 1].at_ns != history->last.at_ns)
		perf_point_write(&history->last, file);
	fputs("end\n", file);
}

static int perf_span_read(struct perf_history *history, const char *line)
{
	static const enum tally_dtype dtypes[] = { TALLY_F32, TALLY_F16, TALLY_BF16, TALLY_I32 };
	static const enum tally_op ops[] = { TALLY_SUM, TALLY_AVG, TALLY_MAX, TALLY_MIN };
	struct perf_span read, *span;
	char dtype[16], op[16];
	int d = 0, o = 0;

	if (sscanf(line, "operations %" SCNu64 " %15s %15s %" SCNu64 " %lf %lf %lf", &read.count,
		   dtype, op, &read.nr, &read.least_us, &read.sum_us, &read.most_us) != 7)
		return -1;
	while (d < 4 && strcmp(perf_dtype_name(dtypes[d]), dtype) != 0)
		d++;
	while (o < 4 && strcmp(perf_op_name(ops[o]), op) != 0)
		o++;
	if (d == 4 || o == 4)
		return -1;
	read.dtype = dtypes[d];
	read.op = ops[o];
	span = perf_history_span(history, read.count, read.dtype, read.op);
	if (span == NULL)
		return -1;
	*span = read;
	return 0;
}

int perf_history_read(struct perf_history *history, FILE *file)
{
	struct perf_point p = { 0 };
	char line[256];
	bool head = false;

	while (fgets(line, sizeof(line), file) != NULL) {
		if (strcmp(line, "end\n") == 0)
			return head ? 0 : -1;
		if (strncmp(line, "rank ", 5) == 0) {
			head = sscanf(line, "rank %*d chunk %" SCNu32, &history->chunk) == 1;
		} else if (sscanf(line,
				  "point %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
				  " %" SCNu32,
				  &p.at_ns, &p.sent, &p.again, &p.received, &p.rtt_ns,
				  &p.window) == 6) {
			history->last = p;
			if (history->nr_points < PERF_POINTS)
				history->point[history->nr_points++] = p;
		} else if (perf_span_read(history, line) != 0) {
			return -1;
		}
	}
	return -1;
}

void perf_history_free(struct perf_history *history)
{
	free(history->span);
	history->span = NULL;
	history->nr_spans = history->room = 0;
}
