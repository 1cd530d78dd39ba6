/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake.h - what a test can ask of the fake libcuda.so.1, beyond what the real one has.
 *
 * Device memory cannot be touched by the CPU; work runs late, and that of different streams in any order that
 * events allow, drawn from a seed; kernels are the product's own source, run by the emulator.  What a program
 * must not do is counted as a violation, and said.
 */
#ifndef TESTS_CUDA_FAKE_FAKE_H
#define TESTS_CUDA_FAKE_FAKE_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_DEVICES = 2 };

/* What there is now, of all threads; depth: contexts that the calling thread has pushed. */
struct fake_count {
	unsigned retained, streams, events, modules, device, pinned, depth;
	uint64_t launches, violations;
	char violation[256]; /* the first */
};

/* The functions, by their names with dlsym(). */
typedef void fake_seed_fn(uint64_t seed);
typedef void fake_count_fn(struct fake_count *count);
/*
 * The nr-th call from now of this thread, of this name or NULL for any, and times - 1 after it, return code
 * instead of doing something; those that give something back do that, too.  nr 0: none does.
 */
typedef void fake_fail_fn(const char *call, unsigned nr, int code, unsigned times);
/* Whether fake_fail() has come to its nr-th call; name: of that call. */
typedef int fake_failed_fn(const char **name);
/* A stream stands still while the next nr calls are made, whoever makes them. */
typedef void fake_hold_fn(void *stream, unsigned nr);
/* Whether a stream is being captured. */
typedef void fake_capture_fn(void *stream, int capturing);
/* Calls that could wait, of this thread. */
typedef unsigned fake_waits_fn(void);

#endif
