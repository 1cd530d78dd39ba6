// SPDX-License-Identifier: BSD-3-Clause
/* add.c - chooses the table of vector additions for this CPU. */
#include "switch/core/add.h"

#include <stddef.h>

#include "switch/core/add_isa.h"

enum { ADD_TABLES = 3 };

#ifdef TALLY_X86
/* Best first.  The builtins also ask whether the kernel saves the wide registers. */
static unsigned add_tables(const struct add_ops *tables[ADD_TABLES])
{
	unsigned nr = 0;

	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
		tables[nr++] = &add_avx512;
	if (__builtin_cpu_supports("avx2"))
		tables[nr++] = &add_avx2;
	tables[nr++] = &add_scalar;
	return nr;
}
#else
static unsigned add_tables(const struct add_ops *tables[ADD_TABLES])
{
	tables[0] = &add_scalar;
	return 1;
}
#endif

static bool add_same_name(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct add_ops *add_select(const char *name)
{
	const struct add_ops *tables[ADD_TABLES];
	unsigned nr = add_tables(tables);

	for (unsigned i = 0; i < nr; i++) {
		if (!name || add_same_name(name, tables[i]->name))
			return tables[i];
	}
	return NULL;
}
