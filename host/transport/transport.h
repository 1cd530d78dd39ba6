/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport.h - how packets reach the switch and come back: one interface, several ways.
 *
 * A transport belongs to one communicator and one thread at a time; only wake() may be called from
 * another.  A burst is the unit.  Packets are built where they are sent from and read where they
 * arrived:
 *
 *	send:	room(), that many alloc(), fill, send(); what it did not take is offered again, first.
 *	receive: recv() lends packets until release(), which comes before the next recv().
 *
 * Any packet may be lost, silently: the protocol repairs it.
 */
#ifndef HOST_TRANSPORT_TRANSPORT_H
#define HOST_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

enum { TRANSPORT_BURST = 64, TRANSPORT_TEXT = 96 };

struct transport_pkt {
	uint8_t *data; /* UDP payload; received ones are read-only */
	uint32_t len;
	bool alone; /* to send: in a packet of its own, not as part of a train */
};

struct transport_params {
	uint32_t switch_ip; /* udp: host byte order */
	uint16_t switch_port;
	const char *name;		/* inproc: which embedded switch */
	const char *ifname;		/* udp: local interface; NULL or "": as routed */
	uint16_t local_port;		/* udp; 0: any */
	uint16_t p;			/* largest P wanted, 0: what the path carries */
	uint16_t slots;			/* S wanted */
	uint16_t trailer;		/* bytes behind the payload of each chunk */
	void (*note)(const char *text); /* told once about a fallback; may be NULL */
};

struct transport_error {
	char text[256];
};

struct transport;

struct transport_ops {
	const char *name;
	/* 0, or a negative errno and a sentence.  *out is closed by close(). */
	int (*open)(struct transport **out, const struct transport_params *params,
		    struct transport_error *error);
	/* How many packets alloc() has room for now, at most TRANSPORT_BURST. */
	unsigned (*room)(struct transport *transport);
	/* len bytes that are the caller's until send() takes them; NULL: no room.  Buffers allocated
	 * in a row lie in a row where that helps. */
	uint8_t *(*alloc)(struct transport *transport, uint32_t len);
	/* Takes packets from the front, in the order of their alloc(): how many, 0 if none now.
	 * A packet that can never go is taken, and transport->failed says why. */
	unsigned (*send)(struct transport *transport, const struct transport_pkt *pkts,
			 unsigned nr);
	unsigned (*recv)(struct transport *transport, struct transport_pkt *pkts, unsigned max);
	void (*release)(struct transport *transport);
	/* Until packets came, room came back, wake() was called, or timeout_ns passed. */
	void (*wait)(struct transport *transport, uint64_t timeout_ns);
	void (*wake)(struct transport *transport);
	void (*close)(struct transport *transport);
};

/* What every transport starts with. */
struct transport {
	const struct transport_ops *ops;
	uint16_t port; /* local UDP port, as the switch sees it */
	uint16_t p;    /* largest P that the path is known to carry */
	int failed;    /* errno of a packet that could not go; the caller clears it */
	bool narrowed; /* somebody said that p was too much, and it is less now; the caller clears it */
	bool refused;  /* the last sign of life: nobody listens at the switch's address */
	uint64_t lost; /* packets that could not go */
	char text[TRANSPORT_TEXT]; /* e.g. "udp, segmentation offload", "inproc" */
};

extern const struct transport_ops transport_udp;
extern const struct transport_ops transport_inproc;

#endif
