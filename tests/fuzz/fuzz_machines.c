// SPDX-License-Identifier: BSD-3-Clause
// fuzz_machines.c - hosts and switch together: the simulator, its decisions from the input.
#include "tests/fuzz/fuzz.h"
#include "tests/sim/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	struct result result;

	if (size > 8192)
		return -1;
	if (!world.standin)
		world_open(&world);
	world.seed = 1;
	world.tape = data;
	world.tape_left = size;
	result = world_run(&world);
	if (result.failed)
		fprintf(stderr, "%s\n", result.why);
	fuzz_check(!result.failed);
	return 0;
}
