/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lease.h - contiguous pieces of a fixed range, first fit: a job's slots, and the memory of their
 * values.
 */
#ifndef SWITCH_CORE_LEASE_H
#define SWITCH_CORE_LEASE_H

#include <stdbool.h>
#include <stddef.h>

struct lease {
	size_t first, nr;
};

/*
 * Sorted by first.  Never more leases than jobs, and taken or given only when an epoch begins or
 * ends.
 */
struct lease_table {
	struct lease *leases; /* room for max */
	size_t nr, max;
	size_t total; /* the range is [0, total) */
};

/* Length of the longest free piece. */
size_t lease_longest(const struct lease_table *table);
/* Takes nr > 0; false if no free piece is that long, or the table is full. */
bool lease_take(struct lease_table *table, size_t nr, size_t *first);
/* Gives back the lease that begins at first. */
void lease_give(struct lease_table *table, size_t first);

#endif
