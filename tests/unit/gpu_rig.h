/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_rig.h - a CUDA driver for tests: the fake one, or that of this machine if TALLY_TEST_LIBCUDA names it.
 *
 * What a program with GPU tensors does: initialises the driver, makes a context current, has streams and memory.
 */
#ifndef TESTS_UNIT_GPU_RIG_H
#define TESTS_UNIT_GPU_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/gpu_driver.h"
#include "tests/cuda/fake/fake.h"

struct gpu_rig {
	char library[512];
	struct gpu_driver driver; /* the product's own table of the same functions */
	int (*init)(unsigned flags);
	int (*device_count)(int *count);
	int (*current)(struct CUctx_st **context);
	int (*to_device)(uint64_t to, const void *from, size_t bytes);
	int (*to_host)(void *to, uint64_t from, size_t bytes);
	int (*managed)(uint64_t *pointer, size_t bytes, unsigned flags);
	/* Of the fake one alone; NULL else. */
	fake_seed_fn *seed;
	fake_count_fn *count;
	fake_fail_fn *inject;
	fake_failed_fn *failed;
	fake_hold_fn *hold;
	fake_capture_fn *capture;
	fake_waits_fn *waits;
};

/* Loads the driver; why: NULL, or why there is none.  The first call does it. */
const struct gpu_rig *gpu_rig_open(const char **why);

/* A thread's own use of a device: its primary context is current until gpu_user_end(). */
struct gpu_user {
	const struct gpu_rig *rig;
	struct CUctx_st *context;
	struct CUstream_st *stream;
};

void gpu_user_begin(struct gpu_user *user, const struct gpu_rig *rig, int device);
/* Aborts if the context is not the current one any more. */
void gpu_user_end(struct gpu_user *user);

/* Device memory with these bytes, or aborts; offset: how far the tensor is from the start. */
uint64_t gpu_user_new(const struct gpu_user *user, const void *from, size_t bytes, unsigned offset);
void gpu_user_free(const struct gpu_user *user, uint64_t pointer, unsigned offset);
void gpu_user_read(const struct gpu_user *user, void *to, uint64_t from, size_t bytes);

#endif
