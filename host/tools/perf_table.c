// SPDX-License-Identifier: BSD-3-Clause
// perf_table.c - the table of tally-perf: nccl-tests' lines, so that the same scripts read both.
#include "host/tools/perf.h"

#include <inttypes.h>
#include <sched.h>

#define PERF_TEXT 24
#define PERF_DELAYED 0.25 /* share of time without a CPU from which that is what limits */

static const char perf_titles[] =
	"#\n"
	"#                                                              out-of-place                "
	"       in-place          \n"
	"#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
	"time   algbw   busbw  #wrong \n"
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
	" (us)  (GB/s)  (GB/s)         \n";

static FILE *perf_table_out(const struct perf_options *options)
{
	return options->out != NULL ? options->out : stdout;
}

static void perf_table_bound(const struct perf_rank *rank)
{
	const struct perf_options *options = rank->options;
	FILE *out = perf_table_out(options);
	bool halves = false;
	uint32_t i;

	for (i = 0; i < options->nr_dtypes; i++)
		halves = halves || perf_data_bytes(options->dtypes[i]) == 2;
	fprintf(out, "# #wrong counts float results with |error| > %s + 2^-24 |result|, k = %s,\n",
		rank->wire == TALLY_WIRE_INT16 ? "n * 2^-k" : "n * 2^-(k+1)",
		rank->wire == TALLY_WIRE_INT16 ? "141 - E - ceil(log2 n) (int16 on the wire)"
					       : "157 - E - ceil(log2 n) - (n >= 256)");
	if (halves)
		fputs("# half 2^-11 |result|, bfloat16 2^-8 |result|,\n", out);
	fputs("# E the exponent of the block's largest value (an average: first term / n);"
	      " max, min and int32 are exact;\n"
	      "# checked: the first and the last timed operation of each size, on every "
	      "rank\n",
	      out);
}

static void perf_table_trace(FILE *out, const struct perf_options *options)
{
	const struct perf_compute *compute = &options->compute;

	fprintf(out,
		"# each iteration reduces the %" PRIu32 " tensors of %s, while each rank computes ",
		options->nr_counts, options->trace);
	if (compute->most_ns > compute->least_ns)
		fprintf(out, "%.9g to ", (double)compute->least_ns / 1e6);
	fprintf(out, "%.9g ms", (double)compute->most_ns / 1e6);
	if (compute->factor > 0)
		fprintf(out, ", %.9g times that as a straggler", compute->factor);
	fputs("\n# time is that of an iteration, size that of all tensors\n", out);
}

void perf_table_head(const struct perf_rank *rank)
{
	const struct perf_options *options = rank->options;
	struct tally_stats stats = { .size = sizeof(stats) };
	const uint32_t unit = options->unit != 0 ? options->unit
						 : perf_data_bytes(options->dtypes[0]);
	FILE *out = perf_table_out(options);
	uint64_t least = UINT64_MAX, most = 0;
	uint32_t i;

	for (i = 0; i < options->nr_counts; i++) {
		least = options->counts[i] < least ? options->counts[i] : least;
		most = options->counts[i] > most ? options->counts[i] : most;
	}
	fprintf(out,
		"# tally-perf %s  ranks %d  minBytes %" PRIu64 " maxBytes %" PRIu64
		" sizes %" PRIu32 " warmup iters: %" PRIu32 " iters: %" PRIu32
		" validation: %d seed: %" PRIu64 "\n",
		tally_version(), rank->nr_ranks, least * unit, most * unit, options->nr_counts,
		options->warmup_iters, options->iters, options->check, options->seed);
	if (tally_get_stats(rank->comm, &stats) == TALLY_OK)
		fprintf(out,
			"# chunks of %" PRIu32 " B, %" PRIu32 " slots; %" PRIu32
			" in flight at first\n",
			stats.chunk, stats.slots, stats.window);
	if (options->trace != NULL)
		perf_table_trace(out, options);
	if (options->check)
		perf_table_bound(rank);
	fputs(perf_titles, out);
	fflush(out);
}

/* As many decimals, at most two, as fit the width. */
static void perf_number(char text[PERF_TEXT], int width, double value)
{
	double limit = 1;
	int digits = 0;

	for (; value >= limit && digits < 18; limit *= 10)
		digits++;
	snprintf(text, PERF_TEXT, "%.*f",
		 digits < width - 2   ? 2
		 : digits < width - 1 ? 1
				      : 0,
		 value);
}

void perf_table_row(const struct perf_options *options, const struct perf_row *row)
{
	char time[PERF_TEXT], algbw[PERF_TEXT], busbw[PERF_TEXT];
	FILE *out = perf_table_out(options);
	int mode;

	fprintf(out, "%12li  %12li  %8s  %6s  %6s",
		(long)(row->count * perf_data_bytes(row->dtype)), (long)row->count,
		perf_dtype_name(row->dtype), perf_op_name(row->op), "-1");
	for (mode = 0; mode < PERF_NR_MODES; mode++) {
		if (!options->mode_on[mode]) {
			fprintf(out, "  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
			continue;
		}
		perf_number(time, 7, row->time_us[mode]);
		perf_number(algbw, 6, row->algbw[mode]);
		perf_number(busbw, 6, row->busbw[mode]);
		if (options->check)
			fprintf(out, "  %7s  %6s  %6s  %6g", time, algbw, busbw,
				(double)row->wrong[mode]);
		else
			fprintf(out, "  %7s  %6s  %6s  %6s", time, algbw, busbw, "N/A");
	}
	fputc('\n', out);
	fflush(out);
}

/* CPUs this process may use. */
static int perf_nr_cpus(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return 1;
	return CPU_COUNT(&cpus);
}

static void perf_table_limit(FILE *out, const struct perf_summary *summary)
{
	const char *what = "waiting for other ranks and the network";
	double most = summary->wait;

	if (summary->wire > most) {
		what = "the wire (moving packets in and out)";
		most = summary->wire;
	}
	if (summary->retransmit > most) {
		what = "waiting for what had to be sent again";
		most = summary->retransmit;
	}
	if (summary->convert > most) {
		what = "conversion (float to integer and back)";
		most = summary->convert;
	}
	if (summary->delay >= PERF_DELAYED)
		fprintf(out,
			"# Limited by           : CPU oversubscribed: ready to run but without a CPU"
			" %.0f %% of the time (%d CPUs here)\n",
			100 * summary->delay, perf_nr_cpus());
	else
		fprintf(out, "# Limited by           : %s, %.0f %% of the time\n", what,
			100 * most);
}

static void perf_table_stretch(FILE *out, const char *what, const struct perf_stretch *stretch)
{
	fprintf(out, "# %s : %10.1f %12.1f %12.1f us\n", what, stretch->least_us, stretch->sum_us,
		stretch->most_us);
}

static void perf_table_steps(FILE *out, const struct perf_summary *summary)
{
	const double all = summary->iteration.sum_us;

	fputs("#                             least         mean         most\n", out);
	perf_table_stretch(out, "Iteration           ", &summary->iteration);
	perf_table_stretch(out, "of that computing   ", &summary->compute);
	perf_table_stretch(out, "of that only waiting", &summary->waiting);
	fprintf(out, "# Only waiting         : %.1f %% of the iterations' time\n",
		all > 0 ? 100 * summary->waiting.sum_us / all : 0);
}

static void perf_table_shares(FILE *out, const struct perf_summary *summary)
{
	fprintf(out,
		"# Share of time        : wait %.0f %%, wire %.0f %%, retransmit %.0f %%, convert "
		"%.0f %%\n",
		100 * summary->wait, 100 * summary->wire, 100 * summary->retransmit,
		100 * summary->convert);
	perf_table_limit(out, summary);
}

void perf_table_foot(const struct perf_rank *rank, const struct perf_summary *summary)
{
	const struct perf_options *options = rank->options;
	FILE *out = perf_table_out(options);

	if (options->check) {
		fprintf(out, "# Out of bounds values : %" PRIu64 " %s\n", summary->wrong,
			summary->wrong == 0 ? "OK" : "FAILED");
	} else {
		fputs("# Out of bounds values : not checked\n", out);
	}
	fprintf(out, "# Avg bus bandwidth    : %g\n#\n", summary->avg_busbw);
	if (options->check) {
		fprintf(out, "# Result hash : %016" PRIx64 "\n", summary->hash);
		fprintf(out,
			"# Max error            : %.2f of the bound, %.2g of its block's "
			"largest value\n",
			summary->max_share, summary->max_part);
	}
	if (!summary->hash_equal)
		fprintf(out,
			"# Results differ       : FAILED, rank %" PRIu32
			" has another hash than rank 0\n",
			summary->hash_other);
	fprintf(out, "# First transmissions  : %" PRIu64 ", results %" PRIu64 "\n", summary->first,
		summary->results);
	fprintf(out, "# Retransmissions      : %" PRIu64 "\n", summary->retransmits);
	fprintf(out, "# Round trip           : %.1f us\n", summary->rtt_us);
	/* In virtual time there is none. */
	if (options->clock == NULL)
		fprintf(out, "# CPU time             : %.2f ns per byte and rank\n",
			summary->cpu_ns_per_byte);
	if (options->trace != NULL)
		perf_table_steps(out, summary);
	else
		perf_table_shares(out, summary);
	if (summary->interrupted)
		fputs("# Interrupted\n", out);
	fflush(out);
}
