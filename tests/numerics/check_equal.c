// SPDX-License-Identifier: BSD-3-Clause
// Every table of kernels against the scalar one, and that against long double: bit for bit, by the million.
//
// usage: check_equal [MILLIONS [SEED]]   random comparisons for each pair, at least (2)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/numerics/exact.h"
#include "tests/numerics/piece.h"

#define SWEEPS 24	 /* scales that all 16-bit values are tried with */
#define SWEEP_COUNT 1024 /* at a time */
#define MODES 4
#define FILLER 0xa5

struct pair {
	const struct quant_ops *left, *right;
	uint64_t compared[PIECE_SUBJECTS], swept, differ;
};

static uint64_t piece_number;

/* --- Modes that an application may have set for its thread ----------------------------------------- */

#if defined(__x86_64__)
static const unsigned mode_bits[MODES] = { 0x1f80, 0x1f80 | 0x8040, 0x1f80 | 0x2000,
					   0x1f80 | 0xe040 };

static void mode_set(unsigned mode)
{
	__builtin_ia32_ldmxcsr(mode_bits[mode]);
}

/* Sticky flags aside. */
static bool mode_is(unsigned mode)
{
	return (__builtin_ia32_stmxcsr() & ~0x3fu) == mode_bits[mode];
}
#else
static void mode_set(unsigned mode)
{
	(void)mode;
}

static bool mode_is(unsigned mode)
{
	(void)mode;
	return true;
}
#endif

/* --- One comparison --------------------------------------------------------------------------------- */

static void pair_run(const struct quant_ops *ops, const struct piece_subject *subject,
		     const struct piece *piece, struct piece_output *output)
{
	memset(output, FILLER, sizeof(*output));
	subject->run(ops, piece, output);
}

static void pair_complain(struct pair *pair, const struct piece_subject *subject,
			  const struct piece *piece, const struct piece_output outputs[2])
{
	size_t at = 0;

	if (pair->differ++ >= 5)
		return;
	while (at < PIECE_ROOM && outputs[0].bytes[at] == outputs[1].bytes[at])
		at++;
	printf("%s %s, format %d, wire %d: differs from %s at byte %d of %zu elements (piece %llu: phase %u, "
	       "world %u, divisor %u, negate %d, factor %a)\n",
	       pair->left->name, subject->name, (int)piece->dtype, (int)piece->wire,
	       pair->right->name, (int)at - (int)piece->dst_at, piece->chunk.count,
	       (unsigned long long)piece_number, (unsigned int)piece->chunk.phase,
	       (unsigned int)piece->chunk.world, (unsigned int)piece->divisor, piece->negate,
	       (double)piece->factor);
}

static void pair_compare(struct pair *pair, const struct piece_subject *subject,
			 const struct piece *piece)
{
	static struct piece_output outputs[2];
	const unsigned mode = (unsigned)(piece_number++ % MODES);
	bool kept;

	pair_run(pair->right, subject, piece, &outputs[1]);
	mode_set(mode);
	pair_run(pair->left, subject, piece, &outputs[0]);
	kept = mode_is(mode);
	mode_set(0);
	if (!kept)
		printf("%s %s has changed the thread's rounding\n", pair->left->name,
		       subject->name);
	pair->differ += !kept;
	if (memcmp(&outputs[0], &outputs[1], sizeof(outputs[0])) != 0)
		pair_complain(pair, subject, piece, outputs);
	pair->compared[subject - piece_subjects] += piece->chunk.count;
}

/* --- All of them ------------------------------------------------------------------------------------ */

static void pair_draw(struct pair *pair)
{
	static struct piece piece;

	for (size_t s = 0; s < PIECE_SUBJECTS && piece_subjects[s].name; s++) {
		const struct piece_subject *subject = &piece_subjects[s];
		int formats = subject->formats ? QUANT_DTYPES : 1;
		int wires = subject->wires ? QUANT_WIRES : 1;

		for (int f = 0; f < formats; f++)
			for (int w = 0; w < wires; w++) {
				piece.dtype = (enum quant_dtype)f;
				piece.wire = (enum quant_wire)w;
				piece_draw(&piece, subject);
				pair_compare(pair, subject, &piece);
			}
	}
}

/* Does the subject read 16 bits an element here? */
static bool sweeps(const struct piece_subject *subject, int format, int wire)
{
	if (strcmp(subject->name, "dequantize") == 0)
		return wire == QUANT_WIRE_16;
	if (strcmp(subject->name, "sum_be16") == 0)
		return format == QUANT_F32 && wire == QUANT_WIRE_32;
	if (!subject->formats || format == QUANT_F32 || (!subject->wires && wire))
		return false;
	return strcmp(subject->name, "unorder") != 0 && strcmp(subject->name, "narrow") != 0;
}

static void pair_sweep(struct pair *pair, const struct piece_subject *subject)
{
	static struct piece piece;

	for (int f = 0; f < QUANT_DTYPES; f++)
		for (int w = 0; w < QUANT_WIRES; w++)
			for (uint32_t first = 0; first < 0x10000 && sweeps(subject, f, w);
			     first += SWEEP_COUNT) {
				piece.dtype = (enum quant_dtype)f;
				piece.wire = (enum quant_wire)w;
				piece_sweep(&piece, first, SWEEP_COUNT);
				pair_compare(pair, subject, &piece);
				pair->swept += SWEEP_COUNT;
			}
}

static uint64_t pair_total(const struct pair *pair)
{
	uint64_t total = 0;

	for (size_t s = 0; s < PIECE_SUBJECTS; s++)
		total += pair->compared[s];
	return total;
}

/* Returns false if some bit differs. */
static bool pair_check(const struct quant_ops *left, const struct quant_ops *right, uint64_t want)
{
	struct pair pair = { .left = left, .right = right };

	for (int round = 0; round < SWEEPS; round++)
		for (size_t s = 0; s < PIECE_SUBJECTS && piece_subjects[s].name; s++)
			pair_sweep(&pair, &piece_subjects[s]);
	while (pair_total(&pair) - pair.swept < want)
		pair_draw(&pair);
	for (size_t s = 0; s < PIECE_SUBJECTS && piece_subjects[s].name; s++)
		printf("  %s = %s, %s: %llu comparisons\n", left->name, right->name,
		       piece_subjects[s].name, (unsigned long long)pair.compared[s]);
	printf("pair %s = %s: %llu comparisons, %llu of them all 16-bit values with %d scales each; %llu pieces differ\n",
	       left->name, right->name, (unsigned long long)pair_total(&pair),
	       (unsigned long long)pair.swept, SWEEPS, (unsigned long long)pair.differ);
	return pair.differ == 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "avx2", "avx512", "avx512fp16" };
	const struct quant_ops *scalar = quant_select("scalar");
	uint64_t want = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2) * 1000000;
	unsigned pairs = 1;
	bool ok;

	piece_seed(argc > 2 ? strtoull(argv[2], NULL, 10) : 20261130);
	ok = pair_check(scalar, &exact_ops, want);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct quant_ops *ops = quant_select(names[i]);

		if (!ops) {
			printf("%s: this CPU does not have it\n", names[i]);
			continue;
		}
		ok = pair_check(ops, scalar, want) && ok;
		pairs++;
	}
	printf("%s: %u pairs, each of at least %llu random comparisons and all 16-bit values\n",
	       ok ? "equal" : "NOT EQUAL", pairs, (unsigned long long)want);
	return !ok;
}
