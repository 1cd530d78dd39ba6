/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the CUDA kernels' source on the CPU: each thread of a warp is a fiber. */
#ifndef TESTS_CUDA_EMULATOR_H
#define TESTS_CUDA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How to run one: link emulator.o (g++ or clang++, without nvcc), find the kernel by its name, launch
 * it with pointers to its arguments, as cuLaunchKernel() has them. Launches of different threads of
 * the program do not touch each other.
 */
struct emulator_kernel;

struct emulator_rules {
	/*
	 * Asked for each access before it is made; not 0: it is an error, and the launch ends. The
	 * alignment is checked already. May be NULL.
	 */
	int (*access)(void *context, const void *at, size_t bytes, int writes);
	void *context;
	uint64_t seed; /* of the order in which threads and blocks run; 0: as they are numbered */
};

/* NULL: there is no such kernel. */
const struct emulator_kernel *emulator_find(const char *name);

/* The nr-th kernel, or NULL after the last; its name. */
const struct emulator_kernel *emulator_at(size_t nr);
const char *emulator_name(const struct emulator_kernel *kernel);

/* 0, or -1: emulator_error() says why; what the kernel has written until then stays. Rules may be NULL. */
int emulator_launch(const struct emulator_kernel *kernel, unsigned grid, unsigned block,
		    void **params, const struct emulator_rules *rules);

/* Of this thread's last launch that failed. */
const char *emulator_error(void);

#ifdef __cplusplus
}
#endif
#endif
