// SPDX-License-Identifier: BSD-3-Clause
/* lease.c - first fit over a sorted array. */
#include "switch/core/lease.h"

#include <assert.h>
#include <string.h>

/* The free piece before the i-th lease, or after the last one for i = nr. */
static struct lease lease_gap(const struct lease_table *table, size_t i)
{
	size_t from = i ? table->leases[i - 1].first + table->leases[i - 1].nr : 0;
	size_t to = i < table->nr ? table->leases[i].first : table->total;

	return (struct lease){ .first = from, .nr = to - from };
}

size_t lease_longest(const struct lease_table *table)
{
	size_t longest = 0;

	for (size_t i = 0; i <= table->nr; i++) {
		struct lease gap = lease_gap(table, i);

		longest = gap.nr > longest ? gap.nr : longest;
	}
	return longest;
}

bool lease_take(struct lease_table *table, size_t nr, size_t *first)
{
	size_t i = 0;

	assert(nr > 0);
	if (table->nr == table->max)
		return false;
	while (i <= table->nr && lease_gap(table, i).nr < nr)
		i++;
	if (i > table->nr)
		return false;
	*first = lease_gap(table, i).first;
	memmove(table->leases + i + 1, table->leases + i, (table->nr - i) * sizeof(*table->leases));
	table->leases[i] = (struct lease){ .first = *first, .nr = nr };
	table->nr++;
	return true;
}

void lease_give(struct lease_table *table, size_t first)
{
	size_t i = 0;

	while (i < table->nr && table->leases[i].first != first)
		i++;
	assert(i < table->nr);
	table->nr--;
	memmove(table->leases + i, table->leases + i + 1, (table->nr - i) * sizeof(*table->leases));
}
