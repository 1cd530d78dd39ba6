// SPDX-License-Identifier: BSD-3-Clause
// perf_options.c - the command line of tally-perf, with the names nccl-tests gave it.
#include "host/tools/perf.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "host/config.h"

#define PERF_BYTES_MAX (UINT64_C(1) << 40)
#define PERF_DEFAULT_MAX (UINT64_C(16) << 20)

enum {
	OPT_SIZES = 256,
	OPT_COUNTS,
	OPT_INPLACE,
	OPT_SEED,
	OPT_WIRE,
	OPT_HISTORY,
	OPT_TRACE,
	OPT_COMPUTE,
	OPT_STRAGGLERS,
	OPT_COMPUTE_SEED
};

static const struct option perf_longopts[] = {
	{ "minbytes", required_argument, NULL, 'b' },
	{ "maxbytes", required_argument, NULL, 'e' },
	{ "stepfactor", required_argument, NULL, 'f' },
	{ "stepbytes", required_argument, NULL, 'i' },
	{ "iters", required_argument, NULL, 'n' },
	{ "warmup_iters", required_argument, NULL, 'w' },
	{ "check", required_argument, NULL, 'c' },
	{ "datatype", required_argument, NULL, 'd' },
	{ "dtype", required_argument, NULL, 'd' },
	{ "wire", required_argument, NULL, OPT_WIRE },
	{ "op", required_argument, NULL, 'o' },
	{ "nthreads", required_argument, NULL, 't' },
	{ "json", required_argument, NULL, 'J' },
	{ "history", required_argument, NULL, OPT_HISTORY },
	{ "timeout", required_argument, NULL, 'T' },
	{ "sizes", required_argument, NULL, OPT_SIZES },
	{ "counts", required_argument, NULL, OPT_COUNTS },
	{ "inplace", required_argument, NULL, OPT_INPLACE },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "trace", required_argument, NULL, OPT_TRACE },
	{ "compute", required_argument, NULL, OPT_COMPUTE },
	{ "stragglers", required_argument, NULL, OPT_STRAGGLERS },
	{ "compute-seed", required_argument, NULL, OPT_COMPUTE_SEED },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char perf_usage[] =
	"Usage: tally-perf [options]\n"
	"Measures and checks all-reduce; prints the table of nccl-tests.\n"
	"Without -t it is one rank of the job that TALLY_RANK, TALLY_SIZE and TALLY_SWITCH describe.\n"
	"\n"
	"  -b, --minbytes SIZE      smallest size (4); K, M and G are powers of 1024\n"
	"  -e, --maxbytes SIZE      largest size (16M, or -b if that is more)\n"
	"  -f, --stepfactor N       each size is N times the last (2)\n"
	"  -i, --stepbytes SIZE     each size is SIZE more than the last, instead of -f\n"
	"      --sizes LIST         these sizes in bytes, comma separated, instead of -b -e -f -i\n"
	"      --counts LIST        these numbers of elements, comma separated\n"
	"      --trace FILE         training steps instead: in each iteration one operation for each line of FILE,\n"
	"                           a CSV list of tensors or buckets with a column numel, out of place\n"
	"      --compute TIME       with --trace: what a rank computes in an iteration, such as 20ms, or a range\n"
	"                           such as 18ms..22ms (0); tensors are ready in the order of the list meanwhile\n"
	"      --stragglers LIST    ranks that take longer: factor=3, and ranks=2+5 or probability=1%, with commas\n"
	"      --compute-seed N     seed of the range and the probability (1)\n"
	"  -n, --iters N            timed operations per size and mode (20)\n"
	"  -w, --warmup_iters N     operations before them that are not timed (1)\n"
	"  -c, --check 0|1          check and hash the results (1); 0 measures back to back\n"
	"  -d, --datatype TYPE      or --dtype: float32 (float, f32), float16 (half, f16), bfloat16 (bf16),\n"
	"                           int32 (int, i32), several with commas, or all (float32)\n"
	"      --wire int32|int16   as what sums and averages of floats travel (as TALLY_WIRE)\n"
	"  -o, --op OP              sum, avg, max, min or all (sum)\n"
	"      --inplace 0|1|both   out of place, in place, or both (both)\n"
	"  -t, --nthreads N         N ranks as threads of this process, over the switch inside it,\n"
	"                           or over TALLY_SWITCH if that is set\n"
	"  -T, --timeout S          seconds an operation may take (as TALLY_TIMEOUT)\n"
	"      --seed N             seed of the data (1)\n"
	"  -J, --json FILE          write the results to FILE as JSON too (rank 0)\n"
	"      --history FILE       write the counters after operations, and their times, of each rank\n"
	"                           of this process to FILE\n"
	"  -h, --help               this text\n"
	"  -V, --version            the version\n"
	"\n"
	"Exit status: 0 all results right, 1 wrong results or an error, 2 a bad option.\n";

static int perf_bad(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "tally-perf: --%s %s: want %s\n", option, value, want);
	return -1;
}

/* A whole number with an optional K, M or G, up to PERF_BYTES_MAX; *end is where it stops. */
static int perf_parse_size(const char *text, const char **end, uint64_t *out)
{
	char *stop;
	unsigned long long value;
	unsigned int shift = 0;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	value = strtoull(text, &stop, 10);
	if (errno != 0 || value > PERF_BYTES_MAX)
		return -1;
	if (*stop == 'k' || *stop == 'K')
		shift = 10;
	else if (*stop == 'm' || *stop == 'M')
		shift = 20;
	else if (*stop == 'g' || *stop == 'G')
		shift = 30;
	if (shift != 0)
		stop++;
	if (value > PERF_BYTES_MAX >> shift)
		return -1;
	*out = (uint64_t)value << shift;
	*end = stop;
	return 0;
}

static int perf_take_size(const char *option, const char *text, uint64_t *out)
{
	const char *end;

	if (perf_parse_size(text, &end, out) != 0 || *end != '\0')
		return perf_bad(option, text, "a size such as 4, 64K, 16M or 1G, at most 1024G");
	return 0;
}

static int perf_take_number(const char *option, const char *text, const uint64_t range[2],
			    uint64_t *out)
{
	char want[80];
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < range[0] ||
	    value > range[1]) {
		snprintf(want, sizeof(want), "a whole number from %llu to %llu",
			 (unsigned long long)range[0], (unsigned long long)range[1]);
		return perf_bad(option, text, want);
	}
	*out = value;
	return 0;
}

static int perf_take_u32(const char *option, const char *text, const uint64_t range[2],
			 uint32_t *out)
{
	uint64_t value;

	if (perf_take_number(option, text, range, &value) != 0)
		return -1;
	*out = (uint32_t)value;
	return 0;
}

static int perf_take_list(struct perf_options *options, const char *option, const char *text,
			  uint32_t unit)
{
	const char *at = text;
	uint64_t value;

	options->nr_counts = 0;
	options->unit = unit;
	for (;;) {
		if (perf_parse_size(at, &at, &value) != 0 || (*at != ',' && *at != '\0'))
			return perf_bad(option, text,
					"sizes separated by commas, such as 4,64K,16M");
		if (options->nr_counts == PERF_ROWS_MAX)
			return perf_bad(option, text, "at most 1024 sizes");
		options->counts[options->nr_counts++] = value;
		if (*at++ == '\0')
			return 0;
	}
}

/* The types of a name of len bytes: how many were added, 0: it is none. */
static uint32_t perf_add_dtype(struct perf_options *options, const char *text, size_t len)
{
	static const struct {
		enum tally_dtype dtype;
		const char *names[4];
	} dtypes[PERF_DTYPES] = {
		{ TALLY_F32, { "float32", "float", "f32", "all" } },
		{ TALLY_F16, { "float16", "half", "f16", "all" } },
		{ TALLY_BF16, { "bfloat16", "bf16", "bf16", "all" } },
		{ TALLY_I32, { "int32", "int", "i32", "all" } },
	};
	uint32_t before = options->nr_dtypes, i, n;
	bool taken;

	for (i = 0; i < PERF_DTYPES; i++) {
		taken = false;
		for (n = 0; n < 4; n++)
			taken = taken || (strlen(dtypes[i].names[n]) == len &&
					  memcmp(dtypes[i].names[n], text, len) == 0);
		if (taken && options->nr_dtypes < PERF_DTYPES)
			options->dtypes[options->nr_dtypes++] = dtypes[i].dtype;
	}
	return options->nr_dtypes - before;
}

static int perf_take_dtype(struct perf_options *options, const char *text)
{
	const char *at = text;
	size_t len;

	options->nr_dtypes = 0;
	for (;;) {
		len = strcspn(at, ",");
		if (perf_add_dtype(options, at, len) == 0)
			return perf_bad("datatype", text,
					"float32, float16, bfloat16, int32, up to four of them "
					"with commas between, or all");
		if (at[len] == '\0')
			return 0;
		at += len + 1;
	}
}

static int perf_take_wire(struct perf_options *options, const char *text)
{
	if (strcmp(text, "int32") == 0)
		options->wire = TALLY_WIRE_INT32;
	else if (strcmp(text, "int16") == 0)
		options->wire = TALLY_WIRE_INT16;
	else
		return perf_bad("wire", text, "int32 or int16");
	return 0;
}

static int perf_take_op(struct perf_options *options, const char *text)
{
	static const enum tally_op ops[4] = { TALLY_SUM, TALLY_AVG, TALLY_MAX, TALLY_MIN };
	uint32_t i;

	options->nr_ops = 0;
	for (i = 0; i < 4; i++)
		if (strcmp(text, "all") == 0 || strcmp(text, perf_op_name(ops[i])) == 0)
			options->ops[options->nr_ops++] = ops[i];
	if (options->nr_ops == 0)
		return perf_bad("op", text, "sum, avg, max, min or all");
	return 0;
}

static int perf_take_inplace(struct perf_options *options, const char *text)
{
	bool both = strcmp(text, "both") == 0;

	options->mode_on[PERF_OUT_OF_PLACE] = both || strcmp(text, "0") == 0;
	options->mode_on[PERF_IN_PLACE] = both || strcmp(text, "1") == 0;
	if (!options->mode_on[PERF_OUT_OF_PLACE] && !options->mode_on[PERF_IN_PLACE])
		return perf_bad("inplace", text, "0, 1 or both");
	return 0;
}

static int perf_take_numbers(struct perf_options *options, int opt, const char *text)
{
	static const uint64_t any[2] = { 0, UINT64_MAX }, many[2] = { 0, 1000000 };
	static const uint64_t some[2] = { 1, 1000000 }, factor[2] = { 2, 1000000 };
	static const uint64_t threads[2] = { 1, PERF_THREADS_MAX }, flag[2] = { 0, 1 };
	uint64_t value;

	switch (opt) {
	case 'f':
		return perf_take_number("stepfactor", text, factor, &options->step_factor);
	case 'n':
		return perf_take_u32("iters", text, some, &options->iters);
	case 'w':
		return perf_take_u32("warmup_iters", text, many, &options->warmup_iters);
	case 't':
		return perf_take_u32("nthreads", text, threads, &options->nr_threads);
	case 'T':
		options->timeout = text;
		return perf_take_number("timeout", text, many, &value);
	case OPT_SEED:
		return perf_take_number("seed", text, any, &options->seed);
	case OPT_COMPUTE_SEED:
		return perf_take_number("compute-seed", text, any, &options->compute.seed);
	default: /* 'c', the last of the options that perf_take() passes here */
		if (perf_take_number("check", text, flag, &value) != 0)
			return -1;
		options->check = value != 0;
		return 0;
	}
}

static int perf_take_compute(struct perf_options *options, const char *text)
{
	if (perf_compute_parse(&options->compute, text) == 0)
		return 0;
	return perf_bad("compute", text,
			"a time such as 20ms or a range such as 18ms..22ms, in ns, us, ms or s");
}

static int perf_take_stragglers(struct perf_options *options, const char *text)
{
	if (perf_stragglers_parse(&options->compute, text) == 0)
		return 0;
	return perf_bad("stragglers", text,
			"factor=F from 1 to 1000, and ranks=R+R... or probability=P or both, such "
			"as factor=3,probability=1%");
}

static int perf_take(struct perf_options *options, int opt, const char *text)
{
	switch (opt) {
	case 'b':
		return perf_take_size("minbytes", text, &options->min_bytes);
	case 'e':
		return perf_take_size("maxbytes", text, &options->max_bytes);
	case 'i':
		if (perf_take_size("stepbytes", text, &options->step_bytes) != 0)
			return -1;
		return options->step_bytes != 0 ? 0 : perf_bad("stepbytes", text, "1 or more");
	case OPT_SIZES:
		return perf_take_list(options, "sizes", text, 1);
	case OPT_COUNTS:
		return perf_take_list(options, "counts", text, 0);
	case 'd':
		return perf_take_dtype(options, text);
	case 'o':
		return perf_take_op(options, text);
	case OPT_WIRE:
		return perf_take_wire(options, text);
	case OPT_INPLACE:
		options->inplace_given = true;
		return perf_take_inplace(options, text);
	case OPT_TRACE:
		options->trace = text;
		return 0;
	case OPT_COMPUTE:
		return perf_take_compute(options, text);
	case OPT_STRAGGLERS:
		return perf_take_stragglers(options, text);
	case 'J':
		options->json = text;
		return 0;
	case OPT_HISTORY:
		options->history = text;
		return 0;
	case 'h':
		fputs(perf_usage, stdout);
		return 1;
	case 'V':
		printf("tally-perf %s\n", tally_version());
		return 1;
	case '?':
		fputs("tally-perf: `tally-perf --help` lists the options\n", stderr);
		return -1;
	default:
		return perf_take_numbers(options, opt, text);
	}
}

/* The sizes of -b -e -f -i, as numbers of elements; equal ones, after rounding down, once. */
static int perf_options_range(struct perf_options *options)
{
	uint64_t bytes = options->min_bytes, count;

	if (options->max_bytes == UINT64_MAX)
		options->max_bytes = bytes > PERF_DEFAULT_MAX ? bytes : PERF_DEFAULT_MAX;
	if (options->max_bytes < options->min_bytes) {
		fprintf(stderr, "tally-perf: --maxbytes %llu is less than --minbytes %llu\n",
			(unsigned long long)options->max_bytes,
			(unsigned long long)options->min_bytes);
		return -1;
	}
	while (bytes <= options->max_bytes) {
		count = bytes / options->unit;
		if (options->nr_counts == 0 || options->counts[options->nr_counts - 1] != count) {
			if (options->nr_counts == PERF_ROWS_MAX) {
				fprintf(stderr,
					"tally-perf: more than %d sizes between --minbytes "
					"and --maxbytes; take a larger step\n",
					PERF_ROWS_MAX);
				return -1;
			}
			options->counts[options->nr_counts++] = count;
		}
		if (options->step_factor == 0)
			bytes += options->step_bytes;
		else
			bytes = bytes == 0 ? options->unit : bytes * options->step_factor;
	}
	return 0;
}

/* Sizes are kept in elements of the smallest type there is. */
static void perf_options_units(struct perf_options *options)
{
	uint32_t unit = sizeof(int32_t), i;

	if (options->nr_counts != 0 && options->unit == 0)
		return;
	for (i = 0; i < options->nr_dtypes; i++)
		if (perf_data_bytes(options->dtypes[i]) < unit)
			unit = perf_data_bytes(options->dtypes[i]);
	options->unit = unit;
	for (i = 0; i < options->nr_counts; i++)
		options->counts[i] /= unit;
}

/* A list instead of sizes. */
static int perf_options_trace(struct perf_options *options)
{
	static struct perf_trace trace;

	if (options->nr_counts != 0 || options->inplace_given) {
		fputs("tally-perf: give --trace or --sizes, --counts and --inplace, not both\n",
		      stderr);
		return -1;
	}
	if (options->compute.factor > 0 && options->compute.most_ns == 0) {
		fputs("tally-perf: --stragglers take longer than what --compute says: give that\n",
		      stderr);
		return -1;
	}
	options->mode_on[PERF_IN_PLACE] = false;
	if (perf_trace_read(options->trace, &trace) != 0)
		return -1;
	options->unit = 0;
	options->nr_counts = trace.nr;
	memcpy(options->counts, trace.count, trace.nr * sizeof(trace.count[0]));
	return 0;
}

static int perf_options_finish(struct perf_options *options)
{
	if (options->trace != NULL)
		return perf_options_trace(options);
	if (options->compute.most_ns != 0 || options->compute.factor > 0) {
		fputs("tally-perf: --compute and --stragglers are for the steps of --trace\n",
		      stderr);
		return -1;
	}
	if (options->step_factor != 0 && options->step_bytes != 0) {
		fputs("tally-perf: give --stepfactor or --stepbytes, not both\n", stderr);
		return -1;
	}
	if (options->step_factor == 0 && options->step_bytes == 0)
		options->step_factor = 2;
	perf_options_units(options);
	if (options->nr_counts == 0 && perf_options_range(options) != 0)
		return -1;
	return 0;
}

uint64_t perf_options_count(const struct perf_options *options, uint32_t i, enum tally_dtype dtype)
{
	if (options->unit == 0)
		return options->counts[i];
	return options->counts[i] * options->unit / perf_data_bytes(dtype);
}

int perf_options_parse(struct perf_options *options, int argc, char **argv)
{
	int opt, err;

	*options = (struct perf_options){
		.min_bytes = sizeof(int32_t),
		.max_bytes = UINT64_MAX,
		.iters = 20,
		.warmup_iters = 1,
		.check = true,
		.mode_on = { true, true },
		.dtypes = { TALLY_F32 },
		.nr_dtypes = 1,
		.ops = { TALLY_SUM },
		.nr_ops = 1,
		.seed = 1,
		.compute = { .seed = 1 },
	};
	argv[0] = program_invocation_short_name; /* as getopt names us */
	while ((opt = getopt_long(argc, argv, "b:e:f:i:n:w:c:d:o:t:J:T:hV", perf_longopts, NULL)) !=
	       -1) {
		err = perf_take(options, opt, optarg);
		if (err != 0)
			return err;
	}
	if (optind < argc) {
		fprintf(stderr, "tally-perf: %s: not an option; `tally-perf --help` lists them\n",
			argv[optind]);
		return -1;
	}
	return perf_options_finish(options);
}

const char *perf_dtype_name(enum tally_dtype dtype)
{
	switch (dtype) {
	case TALLY_F32:
		return "float";
	case TALLY_F16:
		return "half";
	case TALLY_BF16:
		return "bfloat16";
	case TALLY_I32:
		return "int32";
	}
	return "?";
}

const char *perf_op_name(enum tally_op op)
{
	switch (op) {
	case TALLY_SUM:
		return "sum";
	case TALLY_AVG:
		return "avg";
	case TALLY_MAX:
		return "max";
	case TALLY_MIN:
		return "min";
	}
	return "?";
}

/* What sums of floats travel as, unless the command line says so: what the library was told, by whomever. */
enum tally_wire perf_wire(const struct perf_options *options, const tally_config_t *config)
{
	struct config_error error;
	struct config values;

	if (options->wire != TALLY_WIRE_DEFAULT)
		return options->wire;
	if (config_resolve(&values, config, &error) == 0 && values.wire == CONFIG_INT16)
		return TALLY_WIRE_INT16;
	return TALLY_WIRE_INT32;
}
