/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the user's that ends of links stand on. */
#ifndef TOPOLOGIES_LOWER_H
#define TOPOLOGIES_LOWER_H

#include <stdbool.h>

#include "topologies/netns.h"
#include "topologies/topology.h"

struct lower {
	const char *name;
	unsigned int mtu; /* that the link is to have; 0: that of the interface */
};

bool lower_is_used(const struct topology *t);
/* The namespace of the caller, where the interfaces are; 0, or -1 after saying what privilege is missing. */
int lower_open(struct netns *outer);
/* Makes the end of a link; 0, or -1 after saying what is wrong with the interface. */
int lower_link(struct netns *outer, const struct lower *lower, const struct netns_end *end);
/* At once, rather than when the namespace has been taken apart. */
void lower_unlink(const struct netns_end *end);
/* Whether the end is still there; it goes with the interface. */
bool lower_is_linked(const struct netns_end *end);
bool lower_is_up(struct netns *outer, const char *name);

#endif
