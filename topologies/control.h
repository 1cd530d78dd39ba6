/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches' control sockets, made outside the fabric, where tallyctl looks for them. */
#ifndef TOPOLOGIES_CONTROL_H
#define TOPOLOGIES_CONTROL_H

#include "topologies/topology.h"

/*
 * fds[i] listens for switch i of the topology, in the network namespace of the caller; -1: it cannot
 * be had, which is a note.  What others have already gets a number behind its name: the text says which, "" none.
 */
const char *control_open(const struct topology *t, int fds[TOPOLOGY_NETNS_NODES_MAX]);

#endif
