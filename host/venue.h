/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * venue.h - where a communicator runs: its clock, its random numbers, and the way to its switch.
 *
 * All communicators of a process have the same venue.  A program that runs ranks in virtual time, or over wires
 * of its own, sets another one before the first is opened.
 */
#ifndef HOST_VENUE_H
#define HOST_VENUE_H

#include <stddef.h>
#include <stdint.h>

#include "host/include/tally.h"
#include "host/transport/transport.h"

struct venue {
	uint64_t (*clock)(void); /* monotonic, ns */
	/* 0, or -1 and errno. */
	int (*random)(void *to, size_t len);
	void (*pause)(uint64_t ns);
	/* Instead of the one that is configured; NULL: that one. */
	const struct transport_ops *transport;
	uint64_t rto_min_ns; /* of this one, if the user names none; 0: as of UDP */
};

extern struct venue venue;

/* As tally_get_stats(), also of a communicator in the middle of a call that does not run now. */
void venue_stats(const tally_t *comm, struct tally_stats *stats);

#endif
