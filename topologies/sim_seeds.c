// SPDX-License-Identifier: BSD-3-Clause
// The same simulation with many seeds, and what their runs have in common.
#include "topologies/sim_seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topologies/sim_many.h"

int sim_seeds_parse(struct sim_seeds *seeds, const char *text)
{
	char first[32];
	size_t len = strcspn(text, ".");
	const char *last = text[len] ? text + len + 2 : text;

	if (len >= sizeof(first) || (text[len] && strncmp(text + len, "..", 2) != 0))
		return -1;
	memcpy(first, text, len);
	first[len] = 0;
	if (topology_number_parse(first, 0, UINT64_MAX, &seeds->first) ||
	    topology_number_parse(last, 0, UINT64_MAX, &seeds->last))
		return -1;
	return seeds->first <= seeds->last && seeds->last - seeds->first < SIM_SEEDS_MAX ? 0 : -1;
}

static int result_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void median_print(const char *what, double *values, uint64_t nr)
{
	qsort(values, nr, sizeof(*values), result_compare);
	printf("%-24s %12.6g  %12.6g  %12.6g\n", what, values[0], values[nr / 2], values[nr - 1]);
}

static void summary_say(const struct topology *t, const struct sim_result *result, uint64_t all)
{
	double *values = malloc(all * sizeof(*values));
	const struct sim_result *good = NULL;
	uint64_t nr = 0, nr_failed = 0;

	for (uint64_t i = all; i-- > 0;) {
		good = result[i].done ? &result[i] : good;
		nr += result[i].done;
		nr_failed += result[i].failed;
	}
	printf("%" PRIu64 " of %" PRIu64 " seeds run, %" PRIu64 " failed\n", nr + nr_failed, all,
	       nr_failed);
	for (int k = 0; k < 2 && values; k++) {
		nr = 0;
		for (uint64_t i = 0; i < all; i++)
			if (result[i].done)
				values[nr++] = k ? (double)result[i].again
						 : result[i].completion_us;
		if (nr && !k)
			printf("%-24s %12s  %12s  %12s\n", "", "least", "median", "most");
		if (nr)
			median_print(k ? "packets sent again" : "completion, us", values, nr);
	}
	if (good)
		printf("%s %016" PRIx64 "\n",
		       t->nr_jobs == 1 ? "result hash" : "hash of the jobs' result hashes",
		       good->hash);
	free(values);
}

static void seed_option(const void *context, uint64_t i, char text[SIM_MANY_OPTION])
{
	const struct sim_seeds *seeds = context;

	snprintf(text, SIM_MANY_OPTION, "--seed %" PRIu64, seeds->first + i);
}

static int seed_set(void *context, struct topology *t, struct sim_options *options, uint64_t i)
{
	const struct sim_seeds *seeds = context;

	(void)options;
	t->seed_given = true;
	t->seed = seeds->first + i;
	return 0;
}

int sim_seeds_main(struct topology *t, const struct sim_options *options,
		   const struct sim_seeds *seeds)
{
	struct sim_seeds own = *seeds;
	const struct sim_many many = {
		.nr = seeds->last - seeds->first + 1,
		.what = "seeds",
		.repeat = seeds->repeat,
		.alike = true,
		.context = &own,
		.option = seed_option,
		.set = seed_set,
	};
	const size_t bytes = many.nr * sizeof(struct sim_result);
	struct sim_result *result = sim_many_memory(bytes);
	int code;

	if (!result)
		return 1;
	code = sim_many_main(t, options, &many, result);
	summary_say(t, result, many.nr);
	sim_many_free(result, bytes);
	return code;
}
