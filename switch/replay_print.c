// SPDX-License-Identifier: BSD-3-Clause
/* replay_print.c - the totals of a replay. */
#include "switch/replay.h"

static const char *plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

static void print_expectation(const struct replay_expect *expect, const struct replay_setup *setup)
{
	if (!expect->active) {
		printf("nothing to compare with: what was sent is as it is\n");
		return;
	}
	if (expect->open)
		printf("the captures are not whole: replayed up to where the first of what came in ends\n");
	if (expect->nr_beyond)
		printf("the captures are not whole: %llu packet%s behind that %s not compared\n",
		       (unsigned long long)expect->nr_beyond, plural(expect->nr_beyond),
		       expect->nr_beyond == 1 ? "is" : "are");
	else if (setup->journal && !setup->ended && !expect->open)
		printf("the captures are not whole: their switch did not end in order\n");
	if (expect->nr_different)
		printf("%llu packet%s differ%s, %llu are the same\n",
		       (unsigned long long)expect->nr_different, plural(expect->nr_different),
		       expect->nr_different == 1 ? "s" : "", (unsigned long long)expect->nr_same);
	else
		printf("as expected: %llu packet%s, 0 differences\n",
		       (unsigned long long)expect->nr_same, plural(expect->nr_same));
}

void replay_print_totals(const struct replay_totals *totals, const struct replay_expect *expect,
			 const struct replay_setup *setup)
{
	const uint64_t ns = totals->last_ns > totals->first_ns ? totals->last_ns - totals->first_ns
							       : 0;

	printf("%llu packet%s in %llu.%06llu s%s: %llu sent, %llu job%s, %llu epoch%s\n",
	       (unsigned long long)totals->nr_in, plural(totals->nr_in),
	       (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000 / 1000),
	       setup->virtual_time ? " of virtual time" : "", (unsigned long long)totals->nr_out,
	       (unsigned long long)totals->nr_jobs, plural(totals->nr_jobs),
	       (unsigned long long)totals->nr_epochs, plural(totals->nr_epochs));
	if (totals->nr_own)
		printf("%llu more left out: sent by the switch itself, or not for its socket\n",
		       (unsigned long long)totals->nr_own);
	for (unsigned i = 0; i < COUNTER_NR; i++)
		if (totals->counters.v[i])
			printf("  %-14s %10llu  %s\n", counter_infos[i].name,
			       (unsigned long long)totals->counters.v[i], counter_infos[i].text);
	print_expectation(expect, setup);
}
