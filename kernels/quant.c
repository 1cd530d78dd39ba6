// SPDX-License-Identifier: BSD-3-Clause
// Chooses the quantiser's table for this CPU.
#include "kernels/quant.h"

#include <string.h>

#include "kernels/quant_isa.h"
#include "kernels/quant_math.h"

#define QUANT_TABLES 3

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

/* No builtin of clang 14 tells, and to ask the CPU takes a virtual machine 20 us: once. */
static bool cpu_has_f16c(void)
{
	enum { UNKNOWN, NO, YES };
	static atomic_int known;
	int has = atomic_load_explicit(&known, memory_order_relaxed);
	unsigned a, b, c, d;

	if (has == UNKNOWN) {
		has = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? YES : NO;
		atomic_store_explicit(&known, has, memory_order_relaxed);
	}
	return has == YES;
}

/* Best first. The builtins also ask whether the kernel saves the wide registers. */
static size_t quant_tables(const struct quant_ops *tables[QUANT_TABLES])
{
	size_t nr = 0;

	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
		tables[nr++] = &quant_ops_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c())
		tables[nr++] = &quant_ops_avx2;
	tables[nr++] = &quant_ops_scalar;
	return nr;
}
#else
static size_t quant_tables(const struct quant_ops *tables[QUANT_TABLES])
{
	tables[0] = &quant_ops_scalar;
	return 1;
}
#endif

const struct quant_ops *quant_select(const char *name)
{
	const struct quant_ops *tables[QUANT_TABLES];
	size_t nr = quant_tables(tables);

	if (!name)
		return tables[0];
	for (size_t i = 0; i < nr; i++)
		if (strcmp(tables[i]->name, name) == 0)
			return tables[i];
	return NULL;
}

size_t quant_dtype_bytes(enum quant_dtype dtype)
{
	return dtype == QUANT_F32 ? 4 : 2;
}

int quant_shift(unsigned exp, unsigned world, enum quant_wire wire)
{
	return wire == QUANT_WIRE_32 ? qm_shift(exp, world) : qm_shift16(exp, world);
}
