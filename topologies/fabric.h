/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology made of network namespaces and veth pairs, and the switch's command line for it. */
#ifndef TOPOLOGIES_FABRIC_H
#define TOPOLOGIES_FABRIC_H

#include <stdbool.h>

#include "topologies/netns.h"
#include "topologies/topology.h"

enum {
	FABRIC_MTU = 1500,
	FABRIC_UDP_PORT = 48880,
	FABRIC_WORDS = 4 * TOPOLOGY_LINKS_MAX + 16,
	FABRIC_WORD = 96,
};

struct fabric {
	const struct topology *topology;
	bool udp;		  /* the switch has one UDP socket instead of packet ports */
	unsigned int switch_node; /* its index */
	struct netns node[TOPOLOGY_NODES_MAX];
	char word[FABRIC_WORDS][FABRIC_WORD]; /* the switch's command line */
	char *argv[FABRIC_WORDS + 1];
	unsigned int nr_words;
	char switch_ip[16];
};

/* Whether the topology's links can be had with this driver; 0, or -1 after saying why not. */
int fabric_check(const struct topology *t, bool udp);
/* Makes namespaces, links and addresses; 0, or -1 after saying why not. */
int fabric_build(struct fabric *f, const struct topology *t, bool udp);

#endif
