/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology made of network namespaces and veth pairs, and the switches' command lines for it. */
#ifndef TOPOLOGIES_FABRIC_H
#define TOPOLOGIES_FABRIC_H

#include <stdbool.h>

#include "topologies/lower.h"
#include "topologies/netns.h"
#include "topologies/record.h"
#include "topologies/topology.h"

enum {
	FABRIC_MTU = 1500,
	FABRIC_UDP_PORT = 48880,
	FABRIC_PORTS_MAX = 256, /* of a switch */
	FABRIC_WORDS = 4 * FABRIC_PORTS_MAX + 16,
	FABRIC_WORD = 512,
	FABRIC_READY_FD = 3, /* of a switch */
	FABRIC_CTL_FD = 4,   /* likewise */
};

/* A switch's command line. */
struct fabric_switch {
	unsigned int node; /* its index */
	int ctl_fd;	   /* to be passed on; -1: none */
	char word[FABRIC_WORDS][FABRIC_WORD];
	char *argv[FABRIC_WORDS + 1];
	unsigned int nr_words;
	unsigned int pcap_word; /* the directory of its captures; 0: none */
};

struct fabric_ip {
	char text[16];
};

struct fabric {
	const struct topology *topology;
	const struct record *record;		 /* set before fabric_build() */
	bool gone[2 * TOPOLOGY_NETNS_LINKS_MAX]; /* of ends on interfaces: the interface is away */
	bool bad[2 *
		 TOPOLOGY_NETNS_LINKS_MAX]; /* of these: there again, but not usable, as was said */
	struct netns *outer;		    /* has the interfaces; likewise */
	bool udp; /* each switch has one UDP socket instead of packet ports */
	struct netns node[TOPOLOGY_NETNS_NODES_MAX];
	struct fabric_switch *switches; /* in the topology's order: root first */
};

/* Whether the topology's links can be had with this driver; 0, or -1 after saying why not. */
int fabric_check(const struct topology *t, bool udp);
/*
 * Makes namespaces, links and addresses; 0, or -1 after saying why not.  f: zeroed; ctl_fds: the
 * control socket of each switch.
 */
int fabric_build(struct fabric *f, const struct topology *t, bool udp, const int *ctl_fds);
/* For a switch that is started again: it captures elsewhere.  0, or -1 after saying why not. */
int fabric_switch_life(struct fabric *f, struct fabric_switch *s, unsigned int life);
/* Now and then: an interface of the file that was away may be there again. */
void fabric_look(struct fabric *f);
void fabric_free(struct fabric *f);
struct fabric_ip fabric_ip(const struct topology_node *n);

/* Any fabric: the seed of the i-th switch, and its --impair for a link at one of its ports, "" if none is needed. */
struct fabric_impair {
	char text[FABRIC_WORD];
};
unsigned long long fabric_seed(const struct topology *t, unsigned int i);
void fabric_impair(const struct topology *t, unsigned int port, const struct topology_link *l,
		   struct fabric_impair *to);

#endif
