// SPDX-License-Identifier: BSD-3-Clause
// The emulator: fibers for the threads of a block, meetings of warps, and calls by name.
#include "tests/cuda/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/cuda/device.h"

#include "kernels/cuda/quant_cuda.cu"

#define EMULATOR_STACK (64u << 10)
#define EMULATOR_LANES 32u

thread_local device_index threadIdx, blockIdx, blockDim, gridDim;

struct emulator_kernel {
	const char *name;
	void (*call)(void **params);
};

namespace
{
enum fiber_state { FIBER_RUNS, FIBER_MEETS, FIBER_ENDED };

struct fiber {
	ucontext_t context;
	char *stack;
	fiber_state state;
	uint32_t value, lane;
	const char *call; /* where it meets the others */
};

struct machine {
	fiber *fibers;
	uint32_t nr, nr_stacks;
	ucontext_t scheduler;
	const emulator_kernel *kernel;
	void **params;
	const emulator_rules *rules;
	uint32_t order[QUANT_CUDA_THREADS];
	uint64_t random;
	bool failed;
	char error[256];

	/* Stacks serve the launches that follow, too. */
	~machine()
	{
		while (nr_stacks)
			free(fibers[--nr_stacks].stack);
		free(fibers);
	}
};

thread_local machine now;

void machine_fail(const char *what)
{
	if (!now.failed)
		snprintf(now.error, sizeof(now.error), "%s (block %u, thread %u)", what, blockIdx.x,
			 threadIdx.x);
	now.failed = true;
}

uint64_t machine_random()
{
	now.random ^= now.random << 13;
	now.random ^= now.random >> 7;
	now.random ^= now.random << 17;
	return now.random;
}

void machine_shuffle_order(uint32_t *order, uint32_t nr)
{
	for (uint32_t i = nr; now.random && i > 1; i--) {
		uint32_t other = (uint32_t)(machine_random() % i), kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
}

void fiber_main()
{
	now.kernel->call(now.params);
	now.fibers[threadIdx.x].state = FIBER_ENDED;
	swapcontext(&now.fibers[threadIdx.x].context, &now.scheduler);
}

/* Gives way to the others; a launch that has failed is never resumed. */
void fiber_wait()
{
	swapcontext(&now.fibers[threadIdx.x].context, &now.scheduler);
}

void fiber_start(fiber *one)
{
	getcontext(&one->context);
	one->context.uc_stack.ss_sp = one->stack;
	one->context.uc_stack.ss_size = EMULATOR_STACK;
	one->context.uc_link = NULL;
	one->state = FIBER_RUNS;
	makecontext(&one->context, fiber_main, 0);
}

/* Exchanges the values of a warp whose lanes have all come to the same call. Whether it could. */
bool warp_meet(fiber *warp)
{
	uint32_t values[EMULATOR_LANES];

	for (uint32_t lane = 0; lane < EMULATOR_LANES; lane++)
		if (warp[lane].state != FIBER_MEETS)
			return false;
	for (uint32_t lane = 0; lane < EMULATOR_LANES; lane++) {
		if (strcmp(warp[lane].call, warp[0].call) != 0)
			machine_fail("lanes of a warp meet at different calls");
		values[lane] =
			warp[warp[lane].lane < EMULATOR_LANES ? warp[lane].lane : lane].value;
	}
	for (uint32_t lane = 0; lane < EMULATOR_LANES; lane++) {
		warp[lane].value = values[lane];
		warp[lane].state = FIBER_RUNS;
	}
	return true;
}

/* Each thread until it meets others or ends. The number of those that have ended. */
uint32_t block_round()
{
	uint32_t ended = 0;

	machine_shuffle_order(now.order, now.nr);
	for (uint32_t i = 0; i < now.nr && !now.failed; i++) {
		fiber *one = &now.fibers[now.order[i]];

		threadIdx.x = now.order[i];
		if (one->state == FIBER_RUNS)
			swapcontext(&now.scheduler, &one->context);
		ended += one->state == FIBER_ENDED;
	}
	return ended;
}

void block_run()
{
	for (uint32_t i = 0; i < now.nr; i++) {
		now.order[i] = i;
		fiber_start(&now.fibers[i]);
	}
	while (!now.failed && block_round() < now.nr) {
		bool met = false;

		for (uint32_t i = 0; i < now.nr && !now.failed; i += EMULATOR_LANES)
			met = warp_meet(&now.fibers[i]) || met;
		if (!met)
			machine_fail("lanes of a warp wait for others that never come");
	}
}

bool machine_open(uint32_t nr)
{
	now.nr = nr;
	if (!now.fibers)
		now.fibers = (fiber *)calloc(QUANT_CUDA_THREADS, sizeof(fiber));
	for (; now.fibers && now.nr_stacks < nr; now.nr_stacks++) {
		now.fibers[now.nr_stacks].stack = (char *)malloc(EMULATOR_STACK);
		if (!now.fibers[now.nr_stacks].stack)
			return false;
	}
	return now.fibers != NULL;
}

/* --- Calls of kernels with the arguments that pointers point to --------------------------------- */

template <size_t... NR> struct indexes {
};
template <size_t COUNT, size_t... NR> struct count_up : count_up<COUNT - 1, COUNT - 1, NR...> {
};
template <size_t... NR> struct count_up<0, NR...> {
	typedef indexes<NR...> type;
};

template <class... ARGS, size_t... NR>
void call_with(void (*kernel)(ARGS...), void **params, indexes<NR...>)
{
	kernel(*(ARGS *)params[NR]...);
}

template <class... ARGS> void call_params(void (*kernel)(ARGS...), void **params)
{
	call_with(kernel, params, typename count_up<sizeof...(ARGS)>::type());
}

#define KERNEL(name)                                                                               \
	{                                                                                          \
#name, [](void **params) { call_params(name, params); }                            \
	}
#define KERNELS_OF(dtype)                                                                          \
	KERNEL(tally_scan_##dtype), KERNEL(tally_quantize_##dtype##_32),                           \
		KERNEL(tally_quantize_##dtype##_16), KERNEL(tally_dequantize_##dtype##_32),        \
		KERNEL(tally_dequantize_##dtype##_16), KERNEL(tally_order_##dtype),                \
		KERNEL(tally_unorder_##dtype)

const emulator_kernel kernels[] = { KERNELS_OF(f32), KERNELS_OF(f16), KERNELS_OF(bf16),
				    KERNEL(tally_swap32), KERNEL(tally_average_i32) };
const size_t nr_kernels = sizeof(kernels) / sizeof(kernels[0]);
} // namespace

void device_access(const void *at, size_t bytes, size_t align, bool writes)
{
	if ((uintptr_t)at % align != 0)
		machine_fail("an access is not aligned");
	else if (now.rules && now.rules->access &&
		 now.rules->access(now.rules->context, at, bytes, writes) != 0)
		machine_fail(writes ? "a store is not allowed" : "a load is not allowed");
	if (now.failed)
		fiber_wait();
}

uint32_t device_shuffle(uint32_t mask, uint32_t value, uint32_t lane, const char *call)
{
	fiber *own = &now.fibers[threadIdx.x];

	if (mask != 0xffffffffu)
		machine_fail("a meeting of a part of a warp");
	own->state = FIBER_MEETS;
	own->value = value;
	own->lane = lane;
	own->call = call;
	fiber_wait();
	return own->value;
}

const struct emulator_kernel *emulator_at(size_t nr)
{
	return nr < nr_kernels ? &kernels[nr] : NULL;
}

const struct emulator_kernel *emulator_find(const char *name)
{
	for (size_t nr = 0; nr < nr_kernels; nr++)
		if (strcmp(kernels[nr].name, name) == 0)
			return &kernels[nr];
	return NULL;
}

const char *emulator_name(const struct emulator_kernel *kernel)
{
	return kernel->name;
}

const char *emulator_error(void)
{
	return now.error;
}

int emulator_launch(const struct emulator_kernel *kernel, unsigned grid, unsigned block,
		    void **params, const struct emulator_rules *rules)
{
	now.kernel = kernel;
	now.params = params;
	now.rules = rules;
	now.random = rules ? rules->seed : 0;
	now.failed = false;
	threadIdx.x = blockIdx.x = 0;
	blockDim.x = block;
	gridDim.x = grid;
	if (!grid || !block || block % EMULATOR_LANES || block > QUANT_CUDA_THREADS)
		machine_fail("this grid cannot be launched");
	else if (!machine_open(block))
		machine_fail("out of memory");
	for (unsigned i = 0; i < grid && !now.failed; i++) {
		/* Backwards, when threads run out of order, too. */
		blockIdx.x = now.random ? grid - 1 - i : i;
		block_run();
	}
	return now.failed ? -1 : 0;
}
