/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of an all-reduce packet by packet, without any protocol: what the product's figure stands beside. */
#ifndef TESTS_PERF_BENCH_E2E_TOY_H
#define TESTS_PERF_BENCH_E2E_TOY_H

#include <stddef.h>
#include <stdint.h>

/* The ranks' tensors; all have count elements. */
struct toy_data {
	unsigned ranks;
	size_t count;
	float *const *src, *const *dst;
};

struct toy;

/* p: payload bytes of a packet.  NULL: no memory. */
struct toy *toy_new(const struct toy_data *data, uint32_t p);
void toy_free(struct toy *toy);
/* One all-reduce of the whole tensors. */
void toy_run(struct toy *toy);

#endif
