/* SPDX-License-Identifier: BSD-3-Clause */
/* by_kernels.h - an all-reduce by one table of kernels and plain sums of integers. */
#ifndef TESTS_NUMERICS_BY_KERNELS_H
#define TESTS_NUMERICS_BY_KERNELS_H

#include "tests/numerics/table.h"

/* In pieces of so many elements, wherever in its block one begins. */
void by_kernels(const struct table_vector *vector, const struct quant_ops *ops, size_t piece,
		struct table_result *result);

#endif
