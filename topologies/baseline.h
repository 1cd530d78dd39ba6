/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an all-reduce takes on the same links without a switch that adds: by a ring, and by a parameter server.
 *
 * Both are messages alone, in packets as large as the links carry, and nothing of theirs is lost: the queues of switches
 * have no end.  Switches pass a packet on once they have all of it.
 */
#ifndef TOPOLOGIES_BASELINE_H
#define TOPOLOGIES_BASELINE_H

#include <stdint.h>

#include "topologies/vnet.h"

struct baseline_plan {
	const struct topology *topology;
	const struct topology_job
		*job; /* whose ranks they are, each at a host of its own; at least 2 */
	struct vnet_options links;
	uint64_t bytes; /* of each rank's values; not 0 */
};

struct baseline_time {
	double us;
	double formula_us; /* what theory says, with the headers of the packets */
};

/* 0 if the topology's links and ranks allow it, or -1 after saying why not. */
int baseline_check(const struct topology *t, const struct topology_job *job);
/* 2 (n - 1) steps, in each of which a rank sends the n-th part to the next: 0, or -1 after saying why not. */
int baseline_ring(const struct baseline_plan *plan, struct baseline_time *time);
/*
 * All send all to a server at rank 0's host, which sends the sums of a packet back to each as soon as it has
 * everybody's; its own rank's values do not travel.
 */
int baseline_server(const struct baseline_plan *plan, struct baseline_time *time);

#endif
