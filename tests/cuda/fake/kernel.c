// SPDX-License-Identifier: BSD-3-Clause
// kernel.c - the fake driver's kernels: the product's source, run by the emulator on the CPU's aliases.
#include "tests/cuda/fake/world.h"

#include <string.h>

#include "tests/cuda/emulator.h"

/* Of each parameter: p a pointer, q a number of 8 bytes, d one of 4. */
struct fake_kernel {
	const char *prefix, *params;
};

static const struct fake_kernel kernels[] = {
	{ "tally_scan_", "pqdpp" },	      { "tally_quantize_", "pqpqdpd" },
	{ "tally_dequantize_", "ppqqdpddp" }, { "tally_order_", "ppqd" },
	{ "tally_unorder_", "ppqd" },	      { "tally_swap32", "ppqd" },
	{ "tally_average_i32", "ppqd" },
};

enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]), NAMES = 64 };

/* A function handle: what the emulator runs, and what its parameters are. */
static struct fake_function {
	struct fake_kernel kernel;
	const struct emulator_kernel *emulated;
} functions[NAMES];
static unsigned nr_functions;

const struct fake_kernel *fake_kernel_find(const char *name)
{
	const struct emulator_kernel *emulated = emulator_find(name);

	if (!emulated)
		return NULL;
	for (unsigned i = 0; i < nr_functions; i++)
		if (functions[i].emulated == emulated)
			return &functions[i].kernel;
	for (unsigned i = 0; i < KERNELS && nr_functions < NAMES; i++) {
		if (strncmp(name, kernels[i].prefix, strlen(kernels[i].prefix)) != 0)
			continue;
		functions[nr_functions].kernel = kernels[i];
		functions[nr_functions].emulated = emulated;
		return &functions[nr_functions++].kernel;
	}
	return NULL;
}

void fake_kernel_take(const struct fake_kernel *kernel, void **args, uint64_t params[FAKE_PARAMS])
{
	for (unsigned i = 0; kernel->params[i]; i++) {
		params[i] = 0;
		memcpy(&params[i], args[i], kernel->params[i] == 'd' ? 4 : 8);
	}
}

static int kernel_access(void *context, const void *at, size_t bytes, int writes)
{
	(void)context;
	if (fake_alias_valid(at, bytes))
		return 0;
	fake_violation("a kernel %s %zu bytes at %p, which is no memory",
		       writes ? "writes" : "reads", bytes, at);
	return -1;
}

void fake_kernel_run(const struct fake_work *work)
{
	const struct fake_function *function = (const struct fake_function *)work->kernel;
	const struct emulator_rules rules = { .access = kernel_access,
					      .seed = 1 + fake_draw(1000) };
	uint64_t values[FAKE_PARAMS];
	void *args[FAKE_PARAMS];

	for (unsigned i = 0; work->kernel->params[i]; i++) {
		values[i] = work->params[i];
		if (work->kernel->params[i] == 'p')
			values[i] = (uint64_t)(uintptr_t)fake_translate(values[i], 1,
									work->kernel->prefix);
		args[i] = &values[i];
	}
	if (emulator_launch(function->emulated, work->grid, work->block, args, &rules) < 0)
		fake_violation("%s: %s", work->kernel->prefix, emulator_error());
}

bool fake_kernel_touches(const struct fake_work *work, const struct fake_block *block)
{
	const uint64_t base = (uint64_t)(uintptr_t)block->base;

	for (unsigned i = 0; work->kernel->params[i]; i++)
		if (work->kernel->params[i] == 'p' && work->params[i] >= base &&
		    work->params[i] < base + block->bytes)
			return true;
	return false;
}
