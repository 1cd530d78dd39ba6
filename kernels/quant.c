// SPDX-License-Identifier: BSD-3-Clause
// Chooses the quantiser's table for this CPU.
#include "kernels/quant.h"

#include <string.h>

#include "kernels/quant_isa.h"
#include "kernels/quant_math.h"

#define QUANT_TABLES 4

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What no builtin of clang 14 tells. */
struct cpu {
	bool f16c;
	bool fp16; /* and what the table needs with it */
};

static struct cpu cpu_ask(void)
{
	const unsigned vbmi = 1u << 1, fp16 = 1u << 23, bf16 = 1u << 5;
	unsigned a, b, c, d, bf16_in = 0;
	struct cpu cpu = { false, false };

	if (__get_cpuid(1, &a, &b, &c, &d))
		cpu.f16c = (c & bit_F16C) != 0;
	if (__get_cpuid_count(7, 1, &a, &b, &c, &d))
		bf16_in = a;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		cpu.fp16 = (c & vbmi) && (d & fp16) && (bf16_in & bf16);
	return cpu;
}

/* To ask the CPU takes a virtual machine 20 us: once. */
static struct cpu cpu_known(void)
{
	enum { KNOWN = 1, F16C = 2, FP16 = 4 };
	static atomic_int known;
	int has = atomic_load_explicit(&known, memory_order_relaxed);
	struct cpu cpu = { (has & F16C) != 0, (has & FP16) != 0 };

	if (!has) {
		cpu = cpu_ask();
		has = KNOWN | (cpu.f16c ? F16C : 0) | (cpu.fp16 ? FP16 : 0);
		atomic_store_explicit(&known, has, memory_order_relaxed);
	}
	return cpu;
}

/* Best first. The builtins also ask whether the kernel saves the wide registers. */
static size_t quant_tables(const struct quant_ops *tables[QUANT_TABLES])
{
	const struct cpu cpu = cpu_known();
	size_t nr = 0;

	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
		if (cpu.fp16)
			tables[nr++] = &quant_ops_avx512fp16;
		tables[nr++] = &quant_ops_avx512;
	}
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu.f16c)
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
