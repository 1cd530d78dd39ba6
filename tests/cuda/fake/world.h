/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h - inside the fake driver: memory, streams, and what runs in them.  All of it under one lock. */
#ifndef TESTS_CUDA_FAKE_WORLD_H
#define TESTS_CUDA_FAKE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FAKE_OK = 0,
	FAKE_INVALID_VALUE = 1,
	FAKE_OUT_OF_MEMORY = 2,
	FAKE_NOT_INITIALIZED = 3,
	FAKE_INVALID_DEVICE = 101,
	FAKE_INVALID_IMAGE = 200,
	FAKE_INVALID_CONTEXT = 201,
	FAKE_INVALID_HANDLE = 400,
	FAKE_NOT_FOUND = 500,
	FAKE_NOT_READY = 600,
	FAKE_ILLEGAL_ADDRESS = 700,
	FAKE_LAUNCH_FAILED = 719,
	FAKE_PARAMS = 9,
};

/* Somebody has done what must not be done. */
void fake_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t fake_draw(uint64_t below);

/* memory.c */

enum fake_kind { FAKE_DEVICE, FAKE_PINNED, FAKE_MANAGED };

/* alias: where the CPU finds what a device pointer means; the same address where it may. */
struct fake_block {
	bool live;
	enum fake_kind kind;
	int device;
	uint8_t *base, *alias;
	size_t bytes, mapped;
};

struct fake_block *fake_block_new(enum fake_kind kind, int device, size_t bytes);
int fake_block_free(uint64_t base, bool pinned);
/* The live block that has all of these bytes, or NULL. */
struct fake_block *fake_block_find(uint64_t pointer, size_t bytes);
/* Also that an address is in an alias, as the emulator asks. */
bool fake_alias_valid(const void *at, size_t bytes);
/* Where to read and write; NULL and a violation if that is nowhere. */
void *fake_translate(uint64_t pointer, size_t bytes, const char *what);
unsigned fake_blocks(bool pinned);

/* stream.c */

struct fake_context {
	int device;
	unsigned retained;
	struct fake_stream *null; /* the default stream */
};

struct fake_event {
	struct fake_event *next;
	bool destroyed;
	struct fake_context *context;
	uint64_t recorded, completed;
};

enum fake_work_kind { FAKE_COPY, FAKE_KERNEL, FAKE_RECORD, FAKE_WAIT };

struct fake_work {
	struct fake_work *next;
	enum fake_work_kind kind;
	struct fake_event *event;
	uint64_t mark; /* of the event */
	uint64_t to, from;
	size_t bytes;
	bool to_host;
	const struct fake_kernel *kernel;
	unsigned grid, block;
	uint64_t params[FAKE_PARAMS];
};

struct fake_stream {
	struct fake_stream *next;
	bool destroyed;
	struct fake_context *context;
	struct fake_work *first, **last;
	unsigned held; /* calls for which it stands still */
	int capturing;
};

struct fake_stream *fake_stream_new(struct fake_context *context);
/* The handle's, NULL: the context's default one; NULL if it is none. */
struct fake_stream *fake_stream_of(struct fake_stream *handle, struct fake_context *context);
void fake_stream_push(struct fake_stream *stream, const struct fake_work *work);
/* Time goes by: some streams do some of what they can. */
void fake_tick(void);
/* Until it has nothing to do. */
void fake_stream_finish(struct fake_stream *stream);
unsigned fake_streams(void);
/* Whether some work that is not done touches a block. */
bool fake_block_awaited(const struct fake_block *block);

/* kernel.c */

const struct fake_kernel *fake_kernel_find(const char *name);
/* The parameters as they are now. */
void fake_kernel_take(const struct fake_kernel *kernel, void **args, uint64_t params[FAKE_PARAMS]);
void fake_kernel_run(const struct fake_work *work);
/* Whether one of its pointers leads into a block. */
bool fake_kernel_touches(const struct fake_work *work, const struct fake_block *block);

#endif
