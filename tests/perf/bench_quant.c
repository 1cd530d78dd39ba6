// SPDX-License-Identifier: BSD-3-Clause
// Bytes per CPU-second of the quantiser, each figure beside memcpy of as many bytes.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/quant.h"

#define PIECE_BYTES 1408	    /* of a packet at MTU 1500 */
#define ROUNDS 21		    /* figures, reference and subject in turn; the medians count */
#define WORLD 6			    /* no power of two, so that the average has to divide */
#define MOVED_MIN ((size_t)2 << 20) /* bytes for one figure */
#define MOVED_MIN_SCALAR ((size_t)128 << 10)

/* A window is what one pass reads, of 4-byte elements; as much again is written. */
struct level {
	const char *name;
	size_t window; /* elements */
	size_t nr;     /* windows, one after the other: together beyond a last-level cache */
};

static const struct level levels[] = {
	{ "L1", 3072, 1 },
	{ "L2", (size_t)128 << 10, 1 },
	{ "DRAM", (size_t)256 << 10, 256 },
};
#define NR_LEVELS (sizeof(levels) / sizeof(levels[0]))
#define WINDOW_MAX ((size_t)256 << 10)
#define SET_BYTES (WINDOW_MAX * 4 * 256)

struct bench_set {
	uint8_t *src;
	uint8_t *dst;
	uint8_t exp[WINDOW_MAX / QUANT_BLOCK];
	size_t at; /* the next window of DRAM */
};

enum op {
	SCAN,
	QUANTIZE,
	DEQUANTIZE,
	AVERAGE,
	WIDEN,
	NARROW,
	ORDER,
	STORE,
	SUM,
	AVERAGE_I32,
	COPY
};

struct row {
	const char *name;
	enum op op;
	enum quant_dtype dtype;
	enum quant_wire wire;
	bool levels; /* measured at each, or at L2 alone */
};

#define ROW_WIRES(name, op, type)                                                                  \
	{ name " int32", op, type, QUANT_WIRE_32, true },                                          \
	{                                                                                          \
		name " int16", op, type, QUANT_WIRE_16, true                                       \
	}
#define ROW_DTYPE(name, type)                                                                      \
	{ "scan_" name, SCAN, type, QUANT_WIRE_32, true },                                         \
		ROW_WIRES("quantize_" name, QUANTIZE, type),                                       \
		ROW_WIRES("dequantize_" name, DEQUANTIZE, type),                                   \
		ROW_WIRES("average_" name, AVERAGE, type)

static const struct row rows[] = {
	ROW_DTYPE("f32", QUANT_F32),
	ROW_DTYPE("f16", QUANT_F16),
	ROW_DTYPE("bf16", QUANT_BF16),
	{ "widen_f32", WIDEN, QUANT_F32, QUANT_WIRE_32, false },
	{ "widen_f16", WIDEN, QUANT_F16, QUANT_WIRE_32, false },
	{ "narrow_f16", NARROW, QUANT_F16, QUANT_WIRE_32, false },
	{ "narrow_bf16", NARROW, QUANT_BF16, QUANT_WIRE_32, false },
	{ "order_f32", ORDER, QUANT_F32, QUANT_WIRE_32, false },
	{ "order_f16", ORDER, QUANT_F16, QUANT_WIRE_32, false },
	{ "store_be32", STORE, QUANT_F32, QUANT_WIRE_32, false },
	{ "sum_be32", SUM, QUANT_F32, QUANT_WIRE_32, false },
	{ "sum_be16", SUM, QUANT_BF16, QUANT_WIRE_16, false },
	{ "average_i32", AVERAGE_I32, QUANT_F32, QUANT_WIRE_32, false },
	{ "copy 4 to 2", COPY, QUANT_F32, QUANT_WIRE_16, false },
	{ "copy 2 to 4", COPY, QUANT_F16, QUANT_WIRE_32, false },
};
#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const isas[] = { "scalar", "avx2", "avx512", "avx512fp16" };
#define NR_ISAS (sizeof(isas) / sizeof(isas[0]))
#define NR_RESULTS (NR_ROWS * NR_LEVELS * (NR_ISAS + 1))

struct bench_result {
	char name[64];
	const char *beside;
	double value; /* GB/s: half of what is read and written together, or of a scan what it reads */
	double reference; /* the same of memcpy in the same rounds */
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

/* ---- one pass over a window ---- */

struct window {
	uint8_t *dst;
	const uint8_t *src;
	const uint8_t *exp;
	size_t count;
};

static bool row_reads_only(const struct row *row)
{
	return row->op == SCAN || row->op == SUM;
}

static size_t row_in(const struct row *row)
{
	if (row->op == DEQUANTIZE || row->op == AVERAGE || row->op == SUM)
		return row->wire == QUANT_WIRE_32 ? 4 : 2;
	return row->op == NARROW ? 4 : quant_dtype_bytes(row->dtype);
}

static size_t row_out(const struct row *row)
{
	if (row->op == QUANTIZE || row->op == COPY)
		return row->wire == QUANT_WIRE_32 ? 4 : 2;
	if (row->op == DEQUANTIZE || row->op == AVERAGE || row->op == NARROW)
		return quant_dtype_bytes(row->dtype);
	return 4;
}

/* Bytes of memcpy for an element. */
static size_t row_bytes(const struct row *row)
{
	return row_reads_only(row) ? row_in(row) : (row_in(row) + row_out(row)) / 2;
}

/* Elements of a packet. */
static size_t row_piece(const struct row *row)
{
	return row->wire == QUANT_WIRE_32 ? PIECE_BYTES / 4 : PIECE_BYTES / 2;
}

static size_t piece_at(const struct row *row, const struct window *w, size_t first)
{
	return w->count - first < row_piece(row) ? w->count - first : row_piece(row);
}

static void pass_memcpy(const struct row *row, const struct window *w)
{
	const size_t bytes = row_bytes(row);

	for (size_t i = 0; i < w->count; i += row_piece(row)) {
		memcpy(w->dst + bytes * i, w->src + bytes * i, bytes * piece_at(row, w, i));
		memory_used(w->dst);
	}
}

/* Reads and writes as many bytes as such a row, by memcpy alone: what memory allows. */
static void piece_copy(const struct row *row, uint8_t *dst, const uint8_t *src, size_t count)
{
	static uint8_t unread[4 * PIECE_BYTES];
	const size_t in = row_in(row) * count, out = row_out(row) * count;

	memcpy(dst, src, in < out ? in : out);
	if (out > in)
		memcpy(dst + in, src, out - in);
	if (in > out)
		memcpy(unread, src + out, in - out);
	memory_used(unread);
}

static void piece_words(const struct quant_ops *ops, const struct row *row, void *dst,
			const void *src, size_t count)
{
	uint64_t sums[2];

	if (row->op == STORE)
		ops->store_be32(dst, src, count);
	if (row->op == AVERAGE_I32)
		ops->average_i32(dst, src, count, WORLD);
	if (row->op != SUM)
		return;
	(row->wire == QUANT_WIRE_32 ? ops->sum_be32 : ops->sum_be16)(sums, src, count);
	memory_used(sums);
}

static void piece_floats(const struct quant_ops *ops, const struct row *row, void *dst,
			 const void *src, const struct quant_chunk *chunk)
{
	const struct quant_float *floats = &ops->floats[row->dtype];

	if (row->op == QUANTIZE)
		floats->quantize[row->wire](dst, src, chunk);
	else if (row->op == DEQUANTIZE || row->op == AVERAGE)
		floats->dequantize[row->wire](dst, src, chunk, row->op == AVERAGE ? WORLD : 1);
	else if (row->op == WIDEN)
		floats->widen(dst, src, chunk->count, 1.0f / WORLD);
	else if (row->op == NARROW)
		floats->narrow(dst, src, chunk->count, 1.0f / WORLD);
	else if (row->op == COPY)
		piece_copy(row, dst, src, chunk->count);
	else if (row->op == ORDER)
		floats->order(dst, src, chunk->count, 0);
	else
		piece_words(ops, row, dst, src, chunk->count);
}

static void pass_pieces(const struct quant_ops *ops, const struct row *row, const struct window *w)
{
	for (size_t i = 0; i < w->count; i += row_piece(row)) {
		struct quant_chunk chunk = {
			.exp = w->exp + i / QUANT_BLOCK,
			.phase = (uint32_t)(i % QUANT_BLOCK),
			.world = WORLD,
			.count = piece_at(row, w, i),
		};

		piece_floats(ops, row, w->dst + row_out(row) * i, w->src + row_in(row) * i, &chunk);
	}
	memory_used(w->dst);
}

/* As the host does it: whole blocks, a few packets ahead. */
static void pass_scan(const struct quant_ops *ops, const struct row *row, const struct window *w)
{
	const size_t step = (size_t)4 * QUANT_BLOCK;

	for (size_t i = 0; i < w->count; i += step)
		ops->floats[row->dtype].scan(w->dst + i / QUANT_BLOCK, w->src + row_in(row) * i,
					     step);
	memory_used(w->dst);
}

/* ops NULL: memcpy */
static void pass_run(const struct quant_ops *ops, const struct row *row, const struct window *w)
{
	if (!ops)
		pass_memcpy(row, w);
	else if (row->op == SCAN)
		pass_scan(ops, row, w);
	else
		pass_pieces(ops, row, w);
}

/* ---- figures ---- */

static struct window set_window(struct bench_set *set, const struct level *level)
{
	size_t at = 0;
	struct window window;

	if (level->nr > 1) {
		set->at = (set->at + 1) % level->nr;
		at = set->at * level->window * 4;
	}
	window.src = set->src + at;
	window.dst = set->dst + at;
	window.exp = set->exp;
	window.count = level->window;
	return window;
}

static double pass_rate(const struct quant_ops *ops, const struct row *row,
			const struct level *level, struct bench_set *set)
{
	const bool slow = ops && strcmp(ops->name, "scalar") == 0;
	const size_t bytes = row_bytes(row) * level->window;
	size_t passes = (slow ? MOVED_MIN_SCALAR : MOVED_MIN) / bytes;
	struct window window = set_window(set, level);
	double start, end;

	if (level->nr > 1 || passes == 0)
		passes = 1;
	if (level->nr == 1)
		pass_run(ops, row, &window);
	start = cpu_now();
	for (size_t i = 0; i < passes; i++)
		pass_run(ops, row, &window);
	end = cpu_now();
	return (double)(bytes * passes) / (end - start) * 1e-9;
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

static struct bench_result row_run(const struct row *row, const struct quant_ops *ops,
				   const struct level *level, struct bench_set *set)
{
	double value[ROUNDS], reference[ROUNDS], ratio[ROUNDS];
	struct bench_result result = { .beside = "memcpy" };

	for (int i = 0; i < ROUNDS; i++) {
		reference[i] = pass_rate(NULL, row, level, set);
		value[i] = pass_rate(ops, row, level, set);
		ratio[i] = value[i] / reference[i];
	}
	snprintf(result.name, sizeof(result.name), "%s, %s, %s", row->name, level->name, ops->name);
	result.value = median(value, ROUNDS);
	result.reference = median(reference, ROUNDS);
	result.ratio = median(ratio, ROUNDS);
	return result;
}

/* Numbers between -1 and 1 of each format: cut off, for bfloat16, and with as many bits for float16. */
static void set_fill(struct bench_set *set, enum quant_dtype dtype)
{
	const size_t size = quant_dtype_bytes(dtype), window = WINDOW_MAX * 4;
	uint32_t state = 12345;

	for (size_t i = 0; i < window / size; i++) {
		uint32_t bits;
		float value;

		state = state * 1664525u + 1013904223u;
		value = (float)(int32_t)state / 2147483648.0f;
		memcpy(&bits, &value, sizeof(bits));
		if (dtype == QUANT_F16)
			bits = (state & 0x80000000u) | (10u + (state >> 24 & 3u)) << 26 |
			       (state >> 8 & 0x3ffu) << 16;
		if (size == 2)
			bits >>= 16;
		/* The lower half comes first in memory. */
		memcpy(set->src + size * i, &bits, size);
	}
	for (size_t at = window; at < SET_BYTES; at += window)
		memcpy(set->src + at, set->src, window);
	quant_select("scalar")->floats[dtype].scan(set->exp, set->src, WINDOW_MAX);
}

static int set_init(struct bench_set *set)
{
	set->src = aligned_alloc(4096, SET_BYTES);
	set->dst = aligned_alloc(4096, SET_BYTES);
	if (!set->src || !set->dst)
		return -ENOMEM;
	memset(set->dst, 0, SET_BYTES);
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
			"  {\"name\": \"%s\", \"value\": %.3f, \"unit\": \"GB/s\", "
			"\"reference\": \"%s\", \"reference_value\": %.3f, \"ratio\": %.3f}%s\n",
			results[i].name, results[i].value, results[i].beside, results[i].reference,
			results[i].ratio, i + 1 < nr ? "," : "");
	fprintf(file, "]\n");
	bad = ferror(file);
	if (fclose(file) != 0 || bad)
		return -EIO;
	return 0;
}

/* One row at one level: a figure for each table, and the best one's beside the scalar one's. */
static size_t level_run(struct bench_result *results, const struct row *row,
			const struct level *level, struct bench_set *set)
{
	size_t nr = 0;
	struct bench_result *best;

	printf("%-18s %-5s", row->name, level->name);
	for (size_t i = 0; i < NR_ISAS; i++) {
		const struct quant_ops *ops = quant_select(isas[i]);

		if (!ops) {
			printf(" %8s %6s %6s", "-", "-", "-");
			continue;
		}
		results[nr] = row_run(row, ops, level, set);
		printf(" %8.2f %6.1f %6.2f", results[nr].value, results[nr].reference,
		       results[nr].ratio);
		nr++;
	}
	best = &results[nr];
	*best = results[nr - 1];
	snprintf(best->name, sizeof(best->name), "%s, %s, beside scalar", row->name, level->name);
	best->beside = "scalar";
	best->reference = results[0].value;
	best->ratio = best->value / best->reference;
	printf(" %9.1f\n", best->ratio);
	fflush(stdout);
	return nr + 1;
}

static size_t bench_run(struct bench_result *results, struct bench_set *set)
{
	enum quant_dtype filled = QUANT_F32;
	size_t nr = 0;

	printf("# packets of %d bytes, medians of %d by CPU time; GB/s, memcpy, ratio\n",
	       PIECE_BYTES, ROUNDS);
	printf("%-18s %-5s", "# what", "from");
	for (size_t i = 0; i < NR_ISAS; i++)
		printf(" %22s", isas[i]);
	printf(" %9s\n", "x scalar");
	set_fill(set, filled);
	for (size_t r = 0; r < NR_ROWS; r++) {
		if (rows[r].dtype != filled) {
			filled = rows[r].dtype;
			set_fill(set, filled);
		}
		for (size_t l = 0; l < NR_LEVELS; l++)
			if (rows[r].levels || strcmp(levels[l].name, "L2") == 0)
				nr += level_run(results + nr, &rows[r], &levels[l], set);
	}
	return nr;
}

int main(int argc, char **argv)
{
	static struct bench_result results[NR_RESULTS];
	static struct bench_set set;
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
