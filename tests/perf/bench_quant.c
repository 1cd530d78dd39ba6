// SPDX-License-Identifier: BSD-3-Clause
// Float bytes per CPU-second of the quantiser, each beside memcpy of the same bytes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/quant.h"

#define SET_BYTES ((size_t)512 << 10) /* source and destination together: half of a 2 MiB L2 */
#define SET_COUNT (SET_BYTES / 4)
#define PIECE_COUNT 352 /* elements of a packet at MTU 1500 */
#define PASSES 32	/* over the set, for one figure */
#define ROUNDS 61	/* figures, reference and subject in turn; the medians count */
#define WORLD 6		/* no power of two, so that the average has to divide */

struct bench_set {
	uint8_t *src;
	uint8_t *dst;
	uint8_t exp[SET_COUNT / QUANT_BLOCK];
};

struct bench_row {
	const char *name;
	void (*pass)(const struct quant_ops *ops, struct bench_set *set);
};

struct bench_result {
	const char *isa;
	const char *name;
	double value;	  /* GB/s */
	double reference; /* GB/s of memcpy in the same rounds */
	double ratio;	  /* median of the rounds' ratios */
};

static double cpu_now(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
		abort();
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Keeps the compiler from dropping what nobody reads. */
static void memory_used(void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
}

static size_t piece_at(size_t first)
{
	return SET_COUNT - first < PIECE_COUNT ? SET_COUNT - first : PIECE_COUNT;
}

static struct quant_chunk chunk_at(const struct bench_set *set, size_t first)
{
	struct quant_chunk chunk = {
		.exp = set->exp + first / QUANT_BLOCK,
		.phase = (uint32_t)(first % QUANT_BLOCK),
		.world = WORLD,
		.count = piece_at(first),
	};

	return chunk;
}

static void pass_memcpy(const struct quant_ops *ops, struct bench_set *set)
{
	(void)ops;
	for (size_t i = 0; i < SET_COUNT; i += PIECE_COUNT) {
		memcpy(set->dst + 4 * i, set->src + 4 * i, 4 * piece_at(i));
		memory_used(set->dst);
	}
}

static void pass_scan(const struct quant_ops *ops, struct bench_set *set)
{
	/* As the host does it: whole blocks, a few packets ahead. */
	for (size_t i = 0; i < SET_COUNT; i += 8 * QUANT_BLOCK)
		ops->floats[QUANT_F32].scan(set->dst + i / QUANT_BLOCK,
					    (const float *)(void *)set->src + i, 8 * QUANT_BLOCK);
	memory_used(set->dst);
}

static void pass_quantize(const struct quant_ops *ops, struct bench_set *set)
{
	for (size_t i = 0; i < SET_COUNT; i += PIECE_COUNT) {
		struct quant_chunk chunk = chunk_at(set, i);

		ops->floats[QUANT_F32].quantize[QUANT_WIRE_32](set->dst + 4 * i,
							       (const float *)(void *)set->src + i,
							       &chunk);
	}
	memory_used(set->dst);
}

static void dequantize_by(const struct quant_ops *ops, struct bench_set *set, uint32_t divisor)
{
	for (size_t i = 0; i < SET_COUNT; i += PIECE_COUNT) {
		struct quant_chunk chunk = chunk_at(set, i);

		ops->floats[QUANT_F32].dequantize[QUANT_WIRE_32]((float *)(void *)set->dst + i,
								 set->src + 4 * i, &chunk, divisor);
	}
	memory_used(set->dst);
}

static void pass_dequantize(const struct quant_ops *ops, struct bench_set *set)
{
	dequantize_by(ops, set, 1);
}

static void pass_average(const struct quant_ops *ops, struct bench_set *set)
{
	dequantize_by(ops, set, WORLD);
}

static void pass_order(const struct quant_ops *ops, struct bench_set *set)
{
	for (size_t i = 0; i < SET_COUNT; i += PIECE_COUNT)
		ops->floats[QUANT_F32].order(set->dst + 4 * i, (const float *)(void *)set->src + i,
					     piece_at(i), 0);
	memory_used(set->dst);
}

static void pass_store(const struct quant_ops *ops, struct bench_set *set)
{
	for (size_t i = 0; i < SET_COUNT; i += PIECE_COUNT)
		ops->store_be32(set->dst + 4 * i, (const uint32_t *)(void *)set->src + i,
				piece_at(i));
	memory_used(set->dst);
}

static void pass_average_i32(const struct quant_ops *ops, struct bench_set *set)
{
	for (size_t i = 0; i < SET_COUNT; i += PIECE_COUNT)
		ops->average_i32((int32_t *)(void *)set->dst + i, set->src + 4 * i, piece_at(i),
				 WORLD);
	memory_used(set->dst);
}

static const struct bench_row rows[] = {
	{ "scan_f32", pass_scan },
	{ "quantize_f32", pass_quantize },
	{ "dequantize_f32", pass_dequantize },
	{ "dequantize_f32 average", pass_average },
	{ "store_be32", pass_store },
	{ "order_f32", pass_order },
	{ "average_i32", pass_average_i32 },
};
#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const isas[] = { "scalar", "avx2", "avx512" };
#define NR_ISAS (sizeof(isas) / sizeof(isas[0]))

static double pass_rate(void (*pass)(const struct quant_ops *ops, struct bench_set *set),
			const struct quant_ops *ops, struct bench_set *set)
{
	double start, end;

	pass(ops, set);
	start = cpu_now();
	for (int i = 0; i < PASSES; i++)
		pass(ops, set);
	end = cpu_now();
	return (double)(SET_BYTES * PASSES) / (end - start) * 1e-9;
}

static int double_compare(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static double median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(values[0]), double_compare);
	return values[nr / 2];
}

static struct bench_result row_run(const struct bench_row *row, const struct quant_ops *ops,
				   struct bench_set *set)
{
	double value[ROUNDS], reference[ROUNDS], ratio[ROUNDS];
	struct bench_result result = { .isa = ops->name, .name = row->name };

	for (int i = 0; i < ROUNDS; i++) {
		reference[i] = pass_rate(pass_memcpy, NULL, set);
		value[i] = pass_rate(row->pass, ops, set);
		ratio[i] = value[i] / reference[i];
	}
	result.value = median(value, ROUNDS);
	result.reference = median(reference, ROUNDS);
	result.ratio = median(ratio, ROUNDS);
	return result;
}

static int set_init(struct bench_set *set)
{
	uint32_t state = 12345;

	set->src = aligned_alloc(4096, SET_BYTES);
	set->dst = aligned_alloc(4096, SET_BYTES);
	if (!set->src || !set->dst)
		return -ENOMEM;
	for (size_t i = 0; i < SET_COUNT; i++) {
		float value;

		state = state * 1664525u + 1013904223u;
		value = (float)(int32_t)state / 2147483648.0f;
		memcpy(set->src + 4 * i, &value, sizeof(value));
	}
	memset(set->dst, 0, SET_BYTES);
	quant_select("scalar")->floats[QUANT_F32].scan(set->exp, (const float *)(void *)set->src,
						       SET_COUNT);
	return 0;
}

static int json_write(const char *path, const struct bench_result *results, size_t nr)
{
	FILE *file = fopen(path, "w");
	int bad;

	if (!file)
		return -errno;
	fprintf(file, "[\n");
	for (size_t i = 0; i < nr; i++)
		fprintf(file,
			"  {\"name\": \"%s %s\", \"value\": %.3f, \"unit\": \"GB/s\", "
			"\"reference\": \"memcpy\", \"reference_value\": %.3f, \"ratio\": %.3f}%s\n",
			results[i].name, results[i].isa, results[i].value, results[i].reference,
			results[i].ratio, i + 1 < nr ? "," : "");
	fprintf(file, "]\n");
	bad = ferror(file);
	if (fclose(file) != 0 || bad)
		return -EIO;
	return 0;
}

static size_t bench_run(struct bench_result *results, struct bench_set *set)
{
	size_t nr = 0;

	printf("# %zu KiB from and to L2, pieces of %d elements, medians of %d by CPU time\n",
	       SET_BYTES >> 10, PIECE_COUNT, ROUNDS);
	printf("%-24s %-8s %10s %10s %8s\n", "# what", "table", "GB/s", "memcpy", "ratio");
	for (size_t r = 0; r < NR_ROWS; r++) {
		for (size_t i = 0; i < NR_ISAS; i++) {
			const struct quant_ops *ops = quant_select(isas[i]);

			if (!ops)
				continue;
			results[nr] = row_run(&rows[r], ops, set);
			printf("%-24s %-8s %10.2f %10.2f %8.2f\n", results[nr].name,
			       results[nr].isa, results[nr].value, results[nr].reference,
			       results[nr].ratio);
			fflush(stdout);
			nr++;
		}
	}
	return nr;
}

int main(int argc, char **argv)
{
	struct bench_result results[NR_ROWS * NR_ISAS];
	struct bench_set set;
	const char *path = NULL;
	size_t nr;
	int err;

	if (argc == 3 && strcmp(argv[1], "--json") == 0) {
		path = argv[2];
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
		return 2;
	}
	err = set_init(&set);
	if (err) {
		fprintf(stderr, "bench_quant: no memory for %zu bytes\n", 2 * SET_BYTES);
		return 1;
	}
	nr = bench_run(results, &set);
	free(set.src);
	free(set.dst);
	err = path ? json_write(path, results, nr) : 0;
	if (err) {
		fprintf(stderr, "bench_quant: cannot write %s: %s\n", path, strerror(-err));
		return 1;
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "bench_quant: standard output could not be written\n");
		return 1;
	}
	return 0;
}
