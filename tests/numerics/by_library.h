/* SPDX-License-Identifier: BSD-3-Clause */
/* by_library.h - vectors through libtally: ranks are threads, the switch is inside this process. */
#ifndef TESTS_NUMERICS_BY_LIBRARY_H
#define TESTS_NUMERICS_BY_LIBRARY_H

#include "tests/numerics/table.h"

#define LIBRARY_WORLD 64 /* most ranks */

struct library_options {
	const char *kernels, *check; /* options of a communicator */
};

/* All vectors of so many ranks; the results of the others are not touched. */
void by_library(const struct table *table, uint32_t world, const struct library_options *options,
		struct table_result *results);

#endif
