/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology in virtual time: the lines of its links, and the actors at their ends.
 *
 * An actor gets packets, each at its time, and runs once all that comes at that time is there.  Switches and ranks
 * are actors; whatever else is to use the same links is another: it takes a host's place with vnet_attach().
 */
#ifndef TOPOLOGIES_VNET_H
#define TOPOLOGIES_VNET_H

#include <stdbool.h>
#include <stdint.h>

#include "topologies/agenda.h"
#include "topologies/line.h"
#include "topologies/topology.h"

enum { VNET_PORTS = 65536, VNET_FROM = 49152 /* the first UDP port of a host's ranks */ };

struct actor {
	struct actor *next; /* of those that are to run now */
	bool ready;
	struct event event; /* the actor's own: it is ready when it fires */
	struct vnet *vnet;
	/* Takes the packet over, and most likely calls actor_ready(). */
	void (*receive)(struct actor *actor, unsigned int port, struct packet *packet);
	void (*run)(struct actor *actor);
};

/* Of a host: who has which UDP port there. */
struct vnet_host {
	struct actor **actor; /* from VNET_FROM on */
	unsigned int nr;
	struct line *up;  /* from its eth0; NULL: of a switch */
	uint64_t nr_lost; /* packets for nobody */
};

struct vnet_link {
	struct line way[2]; /* from its first end to the second, and back */
};

struct vnet_options {
	uint64_t rate, delay_ns; /* of links for which the file says none */
};

struct vnet {
	const struct topology *topology;
	struct agenda agenda;
	struct packet_pool pool;
	struct vnet_link *link;	    /* as in the topology */
	struct vnet_host *host;	    /* likewise nodes */
	struct actor **at_switch;   /* the actor of a node that is a switch; NULL: of a host */
	struct actor *first, *last; /* ready */
	uint64_t rng;
};

/* events: of actors, at most.  0, or -1 after saying why not; then vnet_free() is still to be called. */
int vnet_open(struct vnet *vnet, const struct topology *t, const struct vnet_options *options,
	      uint32_t events);
void vnet_free(struct vnet *vnet);

void actor_init(struct actor *actor, struct vnet *vnet);
/* It runs before time goes on. */
void actor_ready(struct actor *actor);
/* An actor at a host, and its UDP port there; 0: no memory. */
uint16_t vnet_attach(struct vnet *vnet, unsigned int node, struct actor *actor);
void vnet_detach(struct vnet *vnet, unsigned int node, uint16_t port);
/* The line out of a node into a link of its. */
struct line *vnet_line(struct vnet *vnet, unsigned int link, unsigned int node);
/* Runs what is ready, or else goes on to the next event; false: nothing will ever happen any more. */
bool vnet_step(struct vnet *vnet);
/* Seeded by the topology. */
uint64_t vnet_random(struct vnet *vnet);

#endif
