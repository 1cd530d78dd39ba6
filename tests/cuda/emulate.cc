// SPDX-License-Identifier: BSD-3-Clause
// The kernels' source, run by the emulator, gives the bits of the scalar table: random pieces and all 16-bit floats.
//
// usage: emulate [MILLIONS [SEED]]: elements to compare with each kernel's, in millions

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/emulator.h"
#include "tests/cuda/piece.h"

namespace
{
#define NR_KERNELS_MAX 32

struct tally {
	const char *name;
	uint64_t compared, launches;
};

tally totals[NR_KERNELS_MAX];
int bad;

/* Every byte is written once, by whoever it is: no order of threads can then make a difference. */
int allow(void *context, const void *at, size_t bytes, int writes)
{
	return piece_access((struct piece *)context, at, bytes, writes);
}

/* Launches of one kernel on pieces, until as many elements were compared. */
void compare(const emulator_kernel *kernel, tally *total, uint64_t wanted)
{
	static struct piece p;

	total->name = emulator_name(kernel);
	for (uint64_t turn = 0; total->compared < wanted; turn++) {
		emulator_rules rules = { allow, &p, 0 };
		void *params[PIECE_PARAMS_MAX];
		const char *why;

		if (!piece_make(&p, total->name, turn)) {
			printf("not ok %s: there is no reference for it\n", total->name);
			bad++;
			return;
		}
		rules.seed = turn % 2 ? piece_random() | 1 : 0;
		piece_params(&p, params);
		if (emulator_launch(kernel, p.grid, p.threads, params, &rules) != 0)
			why = emulator_error();
		else
			why = piece_judge(&p);
		if (why) {
			printf("not ok %s: turn %llu, %s, %s\n", total->name,
			       (unsigned long long)turn, piece_text(&p), why);
			bad++;
			return;
		}
		total->compared += p.compared;
		total->launches++;
	}
	printf("ok %s: emulator = scalar: %llu comparisons, %llu launches\n", total->name,
	       (unsigned long long)total->compared, (unsigned long long)total->launches);
}
} // namespace

int main(int argc, char **argv)
{
	const double millions = argc > 1 ? atof(argv[1]) : 0.1;
	uint64_t compared = 0;
	size_t nr = 0;

	piece_seed(argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
	for (; nr < NR_KERNELS_MAX && emulator_at(nr); nr++) {
		compare(emulator_at(nr), &totals[nr], (uint64_t)(millions * 1e6));
		compared += totals[nr].compared;
	}
	printf("pair emulator = scalar: %llu comparisons, %zu kernels, %d of them differ\n",
	       (unsigned long long)compared, nr, bad);
	return bad != 0 || nr == 0 || compared == 0;
}
