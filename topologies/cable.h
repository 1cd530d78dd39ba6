/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A full-duplex link in memory, between a rank and a switch or between two switches, each a thread.
 *
 * Each way is a ring of slots: the sender builds a packet where the receiver reads it, and drops what finds no slot.
 * Whoever sleeps has a bell; a sender rings it after what it has sent can be seen.
 */
#ifndef TOPOLOGIES_CABLE_H
#define TOPOLOGIES_CABLE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/transport/transport.h"
#include "switch/io/port.h"

enum { CABLE_SLOTS = 1024, CABLE_CACHE = 64 };

/* Of one thread.  armed: it is about to sleep; rung: there is something to read from fd. */
struct bell {
	int fd;
	_Atomic uint32_t armed, rung;
};

/* 0, or -1 and errno. */
int bell_open(struct bell *bell);
void bell_close(struct bell *bell);
void bell_ring(struct bell *bell);
/* The thread's own: from now on it is rung; it has to look once more before it sleeps. */
void bell_arm(struct bell *bell);
/* What was rung is heard. */
void bell_clear(struct bell *bell);

struct cable_way {
	_Alignas(CABLE_CACHE) _Atomic uint32_t tail; /* writer: the sender */
	_Alignas(CABLE_CACHE) _Atomic uint32_t head; /* writer: the receiver */
	_Alignas(CABLE_CACHE) uint8_t *mem;
	uint32_t stride;
	uint32_t len[CABLE_SLOTS];
	struct bell *bell; /* the receiver's */
};

/* way[i]: to end i. */
struct cable {
	struct cable_way way[2];
	uint32_t payload; /* bytes that a packet may have */
	uint32_t ip[2];	  /* of each end */
	uint16_t udp_port[2];
};

/* payload, ip, udp_port and the bells are set.  0, or -1: no memory. */
int cable_open(struct cable *cable);
void cable_close(struct cable *cable);

/* The end of a cable at a port of a switch: several, if several ranks are at a host. */
struct cable_port {
	struct bell *bell;		      /* the switch's */
	struct cable *cable[TRANSPORT_BURST]; /* whose end 1 is here, or 0 of the one upwards */
	unsigned int end[TRANSPORT_BURST];
	unsigned int nr;
	/* Packets of the last burst, which their receiver may still look at. */
	uint32_t lent[TRANSPORT_BURST];
	uint64_t nr_empty; /* looks in a row that found nothing */
	/* Set by others when the switch is to end, and seen by its own thread. */
	const atomic_bool *stop;
	volatile sig_atomic_t *stopped;
};

extern const struct port_ops cable_port_ops;

/* A rank's end, end 0, of the thread that opens a communicator. */
struct cable_seat {
	struct cable *cable;
	struct bell bell;
};

extern _Thread_local struct cable_seat *cable_seat;
extern const struct transport_ops cable_transport;

#endif
