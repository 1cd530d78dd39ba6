// SPDX-License-Identifier: BSD-3-Clause
// Bytes per second of each CUDA kernel, beside cuMemcpyDtoD of the same traffic in the same run; without a
// device it says so and exits with 77.
#include <errno.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpu_driver.h"
#include "kernels/cuda/quant_cuda.h"
#include "kernels/cuda/quant_fatbin.h"
#include "kernels/quant.h"

enum {
	ROUNDS = 21,  /* figures, reference and subject in turn; the medians count */
	PASSES = 8,   /* launches for one figure */
	WORLD = 6,    /* no power of two, so that the average has to divide */
	SMALL = 4,    /* the product uses so many multiprocessors less */
	FACTORS = 16, /* room for the parameters of a kernel */
	CANNOT_RUN = 77,
};

#define COUNT (UINT64_C(1) << 26) /* elements: 256 MiB of float32, far beyond any cache */

struct bench {
	struct gpu_driver driver;
	int (*init)(unsigned flags);
	int (*device_count)(int *count);
	int (*device_name)(char *name, int room, int device);
	int (*copy)(uint64_t to, uint64_t from, size_t bytes, struct CUstream_st *stream);
	int (*elapsed)(float *ms, struct CUevent_st *begin, struct CUevent_st *end);
	struct CUctx_st *context;
	struct CUmod_st *module;
	struct CUstream_st *stream;
	struct CUevent_st *begin, *end;
	uint64_t a, b, exp, counter, count;
	unsigned multiprocessors;
};

/* What a launch is: a kernel's name, how wide its two sides are, and its parameters in order. */
struct bench_row {
	const char *kernel;
	unsigned in, out; /* bytes of an element */
	const char *
		params; /* a b: memory; e: exponents; c: counter; n: count; l: layout; f 1 w d: numbers */
};

static const struct bench_row rows[] = {
	{ "tally_scan_f32", 4, 0, "bnfec" },
	{ "tally_scan_f16", 2, 0, "bnfec" },
	{ "tally_scan_bf16", 2, 0, "bnfec" },
	{ "tally_quantize_f32_32", 4, 4, "albnfew" },
	{ "tally_quantize_f32_16", 4, 2, "albnfew" },
	{ "tally_quantize_f16_32", 2, 4, "albnfew" },
	{ "tally_quantize_f16_16", 2, 2, "albnfew" },
	{ "tally_quantize_bf16_32", 2, 4, "albnfew" },
	{ "tally_quantize_bf16_16", 2, 2, "albnfew" },
	{ "tally_dequantize_f32_32", 4, 4, "ablnfew1c" },
	{ "tally_dequantize_f32_16", 2, 4, "ablnfew1c" },
	{ "tally_dequantize_f16_32", 4, 2, "ablnfew1c" },
	{ "tally_dequantize_f16_16", 2, 2, "ablnfew1c" },
	{ "tally_dequantize_bf16_32", 4, 2, "ablnfew1c" },
	{ "tally_dequantize_bf16_16", 2, 2, "ablnfew1c" },
	{ "tally_order_f32", 4, 4, "abn0" },
	{ "tally_order_f16", 2, 4, "abn0" },
	{ "tally_order_bf16", 2, 4, "abn0" },
	{ "tally_unorder_f32", 4, 4, "abn0" },
	{ "tally_unorder_f16", 4, 2, "abn0" },
	{ "tally_unorder_bf16", 4, 2, "abn0" },
	{ "tally_swap32", 4, 4, "abn0" },
	{ "tally_average_i32", 4, 4, "abnw" },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void must(const struct bench *bench, int code, const char *what)
{
	struct gpu_error error;

	if (code == CUDA_SUCCESS)
		return;
	gpu_driver_fail(&bench->driver, what, code, &error);
	fprintf(stderr, "bench_gpu: %s\n", error.text);
	exit(1);
}

static bool symbol(void *handle, const char *name, void *out)
{
	void *at = dlsym(handle, name);

	memcpy(out, &at, sizeof(at));
	return at != NULL;
}

/* NULL, or why there is nothing to measure. */
static const char *bench_load(struct bench *bench, const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	bool all = true;
	int count = 0;

	if (!handle)
		return dlerror();
#define X(name, version, parameters)                                                               \
	all = symbol(handle, #name version, &bench->driver.name) && all;
	GPU_DRIVER_MAP(X)
#undef X
	all = symbol(handle, "cuInit", &bench->init) && all;
	all = symbol(handle, "cuDeviceGetCount", &bench->device_count) && all;
	all = symbol(handle, "cuDeviceGetName", &bench->device_name) && all;
	all = symbol(handle, "cuMemcpyDtoDAsync_v2", &bench->copy) && all;
	all = symbol(handle, "cuEventElapsedTime", &bench->elapsed) && all;
	if (!all)
		return "the driver lacks functions";
	if (bench->init(0) || bench->device_count(&count) || !count)
		return "there is no device";
	return NULL;
}

static void bench_open(struct bench *bench)
{
	const struct gpu_driver *driver = &bench->driver;
	int count = 0;
	size_t bytes;

	must(bench, driver->cuDevicePrimaryCtxRetain(&bench->context, 0), "retain");
	must(bench, driver->cuCtxPushCurrent(bench->context), "push");
	must(bench,
	     driver->cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
	     "attribute");
	bench->multiprocessors = (unsigned)count;
	must(bench, driver->cuModuleLoadData(&bench->module, quant_fatbin(&bytes)), "module");
	must(bench, driver->cuStreamCreate(&bench->stream, CU_STREAM_NON_BLOCKING), "stream");
	must(bench, driver->cuEventCreate(&bench->begin, 0), "event");
	must(bench, driver->cuEventCreate(&bench->end, 0), "event");
	must(bench, driver->cuMemAlloc(&bench->a, bench->count * 4), "memory");
	must(bench, driver->cuMemAlloc(&bench->b, bench->count * 4), "memory");
	must(bench, driver->cuMemAlloc(&bench->exp, bench->count / QUANT_BLOCK + 1), "memory");
	must(bench, driver->cuMemAlloc(&bench->counter, 8), "memory");
}

static void bench_close(struct bench *bench)
{
	const struct gpu_driver *driver = &bench->driver;
	struct CUctx_st *context;

	driver->cuMemFree(bench->a);
	driver->cuMemFree(bench->b);
	driver->cuMemFree(bench->exp);
	driver->cuMemFree(bench->counter);
	driver->cuEventDestroy(bench->begin);
	driver->cuEventDestroy(bench->end);
	driver->cuStreamDestroy(bench->stream);
	driver->cuModuleUnload(bench->module);
	driver->cuCtxPopCurrent(&context);
	driver->cuDevicePrimaryCtxRelease(0);
}

static void launch(struct bench *bench, struct CUfunc_st *function, const struct bench_row *row,
		   unsigned grid)
{
	struct quant_layout layout = { 0, 0 };
	float one = 1;
	uint32_t zero = 0, unit = 1, world = WORLD;
	void *args[FACTORS];

	for (unsigned i = 0; row->params[i]; i++)
		args[i] = row->params[i] == 'a'	  ? (void *)&bench->a
			  : row->params[i] == 'b' ? (void *)&bench->b
			  : row->params[i] == 'e' ? (void *)&bench->exp
			  : row->params[i] == 'c' ? (void *)&bench->counter
			  : row->params[i] == 'n' ? (void *)&bench->count
			  : row->params[i] == 'l' ? (void *)&layout
			  : row->params[i] == 'f' ? (void *)&one
			  : row->params[i] == 'w' ? (void *)&world
			  : row->params[i] == '1' ? (void *)&unit
						  : (void *)&zero;
	must(bench,
	     bench->driver.cuLaunchKernel(function, grid, 1, 1, QUANT_CUDA_THREADS, 1, 1, 0,
					  bench->stream, args, NULL),
	     row->kernel);
}

/* GB/s of reading and writing; function NULL: of a copy with the same traffic. */
static double measure(struct bench *bench, struct CUfunc_st *function, const struct bench_row *row,
		      unsigned grid)
{
	const double bytes = (double)bench->count * (row->in + row->out) * PASSES;
	float ms = 0;

	must(bench, bench->driver.cuEventRecord(bench->begin, bench->stream), "record");
	for (unsigned i = 0; i < PASSES; i++)
		if (function)
			launch(bench, function, row, grid);
		else
			must(bench,
			     bench->copy(bench->a, bench->b,
					 (size_t)(bench->count * (row->in + row->out) / 2),
					 bench->stream),
			     "copy");
	must(bench, bench->driver.cuEventRecord(bench->end, bench->stream), "record");
	must(bench, bench->driver.cuStreamSynchronize(bench->stream), "synchronize");
	must(bench, bench->elapsed(&ms, bench->begin, bench->end), "elapsed");
	return bytes / ((double)ms * 1e6);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static void bench_row(struct bench *bench, const struct bench_row *row, unsigned grid,
		      const char *with, FILE *json)
{
	double value[ROUNDS], reference[ROUNDS], ratio[ROUNDS];
	struct CUfunc_st *function;

	must(bench, bench->driver.cuModuleGetFunction(&function, bench->module, row->kernel),
	     row->kernel);
	measure(bench, function, row, grid);
	for (unsigned i = 0; i < ROUNDS; i++) {
		reference[i] = measure(bench, NULL, row, grid);
		value[i] = measure(bench, function, row, grid);
		ratio[i] = value[i] / reference[i];
	}
	printf("%-28s %-12s %9.1f GB/s  cuMemcpyDtoD %9.1f GB/s  ratio %.2f\n", row->kernel, with,
	       median(value), median(reference), median(ratio));
	if (json)
		fprintf(json,
			"%s\n  {\"name\": \"%s%s\", \"value\": %.2f, \"unit\": \"GB/s\", "
			"\"reference\": \"cuMemcpyDtoD\", \"reference_value\": %.2f, \"ratio\": %.3f}",
			ftell(json) ? "," : "[", row->kernel, with, median(value),
			median(reference), median(ratio));
}

static void bench_run(struct bench *bench, FILE *json)
{
	const unsigned whole = bench->multiprocessors * QUANT_CUDA_GRID_PER_SM;
	const unsigned small = bench->multiprocessors >= 2 * SMALL ? bench->multiprocessors / SMALL
								   : 2;
	char name[128] = "";

	bench->device_name(name, sizeof(name), 0);
	printf("%s, %u multiprocessors, %llu elements; a small grid is what the library uses\n",
	       name, bench->multiprocessors, (unsigned long long)bench->count);
	for (unsigned i = 0; i < ROWS; i++) {
		bench_row(bench, &rows[i], whole, "", json);
		bench_row(bench, &rows[i], small, ", small grid", json);
	}
}

int main(int argc, char **argv)
{
	const char *library = getenv("TALLY_TEST_LIBCUDA");
	struct bench bench = { .count = COUNT };
	FILE *json = NULL;
	const char *why;
	size_t bytes;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--json"))
			json = fopen(argv[i + 1], "w");
		else if (!strcmp(argv[i], "--count"))
			bench.count = strtoull(argv[i + 1], NULL, 10);
		if (!strcmp(argv[i], "--json") && !json) {
			fprintf(stderr, "bench_gpu: %s: %s\n", argv[i + 1], strerror(errno));
			return 1;
		}
	}
	why = quant_fatbin(&bytes) ? bench_load(&bench, library ? library : "libcuda.so.1")
				   : "this build has no CUDA kernels (nvcc was missing)";
	if (why) {
		printf("%s\n", why);
	} else if (bench.count) {
		bench_open(&bench);
		bench_run(&bench, json);
		bench_close(&bench);
		if (json)
			fprintf(json, "\n]\n");
	}
	if (json && fclose(json) != 0)
		return 1;
	return why ? CANNOT_RUN : 0;
}
