// SPDX-License-Identifier: BSD-3-Clause
// perf_json.c - the rows and the summary of tally-perf as one JSON object.
#include "host/tools/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

static void perf_json_mode(FILE *file, const struct perf_row *row, enum perf_mode mode)
{
	fprintf(file,
		", \"%s\": {\"time_us\": %.3f, \"algbw_gbs\": %.6f, \"busbw_gbs\": %.6f, "
		"\"wrong\": %" PRIu64 "}",
		mode == PERF_IN_PLACE ? "in_place" : "out_of_place", row->time_us[mode],
		row->algbw[mode], row->busbw[mode], row->wrong[mode]);
}

static void perf_json_rows(FILE *file, const struct perf_rank *rank)
{
	const struct perf_row *row;
	uint32_t i;
	int mode;

	fputs(" \"rows\": [", file);
	for (i = 0; i < rank->nr_rows; i++) {
		row = &rank->rows[i];
		fprintf(file,
			"%s\n  {\"size\": %" PRIu64 ", \"count\": %" PRIu64
			", \"type\": \"%s\", \"redop\": \"%s\"",
			i != 0 ? "," : "", row->count * perf_data_bytes(row->dtype), row->count,
			perf_dtype_name(row->dtype), perf_op_name(row->op));
		for (mode = 0; mode < PERF_NR_MODES; mode++)
			if (rank->options->mode_on[mode])
				perf_json_mode(file, row, (enum perf_mode)mode);
		fputs("}", file);
	}
	fputs("\n ],\n", file);
}

static void perf_json_stretch(FILE *file, const char *name, const struct perf_stretch *stretch)
{
	fprintf(file, " \"%s_us\": {\"least\": %.3f, \"mean\": %.3f, \"most\": %.3f},\n", name,
		stretch->least_us, stretch->sum_us, stretch->most_us);
}

static void perf_json_summary(FILE *file, const struct perf_summary *summary, bool check)
{
	if (summary->iteration.nr != 0) {
		perf_json_stretch(file, "iteration", &summary->iteration);
		perf_json_stretch(file, "computing", &summary->compute);
		perf_json_stretch(file, "waiting", &summary->waiting);
	}
	if (check)
		fprintf(file,
			" \"out_of_bounds\": %" PRIu64 ", \"result_hash\": \"%016" PRIx64
			"\", \"hash_equal\": %s, \"max_error_of_block\": %.9g, "
			"\"max_error_of_bound\": %.6f,\n",
			summary->wrong, summary->hash, summary->hash_equal ? "true" : "false",
			summary->max_part, summary->max_share);
	fprintf(file,
		" \"avg_busbw_gbs\": %.6f, \"first_transmissions\": %" PRIu64
		", \"results\": %" PRIu64 ", \"retransmissions\": %" PRIu64
		", \"rtt_us\": %.3f, \"cpu_ns_per_byte\": %.4f,\n"
		" \"wait\": %.4f, \"wire\": %.4f, \"retransmit\": %.4f, \"convert\": %.4f, "
		"\"without_cpu\": %.4f, "
		"\"interrupted\": %s\n",
		summary->avg_busbw, summary->first, summary->results, summary->retransmits,
		summary->rtt_us, summary->cpu_ns_per_byte, summary->wait, summary->wire,
		summary->retransmit, summary->convert, summary->delay,
		summary->interrupted ? "true" : "false");
}

static int perf_json_failed(const char *option, const char *path)
{
	fprintf(stderr, "tally-perf: --%s %s: %s\n", option, path,
		errno == ENXIO ? "a pipe that nobody reads" : strerror(errno));
	return -1;
}

/* A pipe that nobody reads is not to be waited for. */
static FILE *perf_json_open_as(const char *path, int flags)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, 0666);

	return fd < 0 || fcntl(fd, F_SETFL, 0) != 0 ? NULL : fdopen(fd, "w");
}

FILE *perf_json_open(const char *option, const char *path)
{
	FILE *file = perf_json_open_as(path, O_TRUNC);

	if (file == NULL)
		perf_json_failed(option, path);
	return file;
}

int perf_json_close(const char *option, const char *path, FILE *file)
{
	const int failed = ferror(file);

	return fclose(file) == 0 && !failed ? 0 : perf_json_failed(option, path);
}

int perf_json_check(const char *option, const char *path)
{
	FILE *file = perf_json_open_as(path, 0);

	return file != NULL && fclose(file) == 0 ? 0 : perf_json_failed(option, path);
}

int perf_json_write(const struct perf_rank *rank, const struct perf_summary *summary)
{
	const struct perf_options *options = rank->options;
	FILE *file = perf_json_open("json", options->json);

	if (file == NULL)
		return -1;
	fprintf(file,
		"{\"tool\": \"tally-perf\", \"version\": \"%s\", \"ranks\": %d, \"iters\": "
		"%" PRIu32 ", \"warmup_iters\": %" PRIu32 ", \"check\": %s, \"seed\": %" PRIu64
		", \"wire\": \"%s\",\n",
		tally_version(), rank->nr_ranks, options->iters, options->warmup_iters,
		options->check ? "true" : "false", options->seed,
		rank->wire == TALLY_WIRE_INT16 ? "int16" : "int32");
	perf_json_rows(file, rank);
	perf_json_summary(file, summary, options->check);
	fputs("}\n", file);
	return perf_json_close("json", options->json, file);
}
