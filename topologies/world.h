/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology in virtual time: the lines of its links, and the actors at their ends.
 *
 * An actor gets packets, each at its time, and runs once all that comes at that time is there.  Switches and ranks
 * are actors; whatever else is to use the same links is another: it takes a host's place with world_attach().
 */
#ifndef TOPOLOGIES_WORLD_H
#define TOPOLOGIES_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "topologies/agenda.h"
#include "topologies/line.h"
#include "topologies/topology.h"

enum { WORLD_PORTS = 65536, WORLD_FROM = 49152 /* the first UDP port of a host's ranks */ };

struct actor {
	struct actor *next; /* of those that are to run now */
	bool ready;
	struct event event; /* the actor's own: it is ready when it fires */
	struct world *world;
	/* Takes the packet over, and most likely calls actor_ready(). */
	void (*receive)(struct actor *actor, unsigned int port, struct packet *packet);
	void (*run)(struct actor *actor);
};

/* Of a host: who has which UDP port there. */
struct world_host {
	struct actor **actor; /* from WORLD_FROM on */
	unsigned int nr;
	struct line *up;  /* from its eth0; NULL: of a switch */
	uint64_t nr_lost; /* packets for nobody */
};

struct world_link {
	struct line way[2]; /* from its first end to the second, and back */
};

struct world_options {
	uint64_t rate, delay_ns; /* of links for which the file says none */
};

struct world {
	const struct topology *topology;
	struct agenda agenda;
	struct packet_pool pool;
	struct world_link *link;    /* as in the topology */
	struct world_host *host;    /* likewise nodes */
	struct actor **at_switch;   /* the actor of a node that is a switch; NULL: of a host */
	struct actor *first, *last; /* ready */
	uint64_t rng;
};

/* events: of actors, at most.  0, or -1 after saying why not; then world_free() is still to be called. */
int world_open(struct world *world, const struct topology *t, const struct world_options *options,
	       uint32_t events);
void world_free(struct world *world);

void actor_init(struct actor *actor, struct world *world);
/* It runs before time goes on. */
void actor_ready(struct actor *actor);
/* An actor at a host, and its UDP port there; 0: no memory. */
uint16_t world_attach(struct world *world, unsigned int node, struct actor *actor);
void world_detach(struct world *world, unsigned int node, uint16_t port);
/* The line out of a node into a link of its. */
struct line *world_line(struct world *world, unsigned int link, unsigned int node);
/* Runs what is ready, or else goes on to the next event; false: nothing will ever happen any more. */
bool world_step(struct world *world);
/* Seeded by the topology. */
uint64_t world_random(struct world *world);

#endif
