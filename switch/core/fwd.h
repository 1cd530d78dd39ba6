/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fwd.h - whole frames: what is for the aggregation, what the switch answers itself, and L2
 * switching of the rest.
 */
#ifndef SWITCH_CORE_FWD_H
#define SWITCH_CORE_FWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "switch/core/counters.h"

struct fwd_params {
	uint32_t ip; /* the switch's own, host byte order; 0: none, all is ordinary traffic */
	uint8_t mac[FRAME_MAC];
	uint16_t udp_port; /* of the aggregation */
	uint16_t nr_ports; /* <= 256 */
	uint32_t fdb_max;  /* addresses remembered, power of two */
	uint64_t age_ns;   /* an address not heard for so long is forgotten */
};

enum fwd_verdict {
	FWD_DROP,
	FWD_LOCAL, /* a UDP payload for the pipe: frame->payload, len */
	FWD_GONE, /* an ICMP port-unreachable to the switch; *frame: ip_dst, port_dst it is about */
	FWD_REPLY, /* rewritten in place: send out of the port it came from */
	FWD_PORT,  /* send out of *out_port */
	FWD_FLOOD, /* send out of all ports but the one it came from */
};

struct fwd_pkt {
	uint8_t *data;
	uint32_t len;
	uint32_t mtu;	    /* of the ingress port: IP bytes */
	uint16_t port;	    /* ingress */
	bool verify;	    /* no device has looked at its checksums */
	uint8_t verdict;    /* out: enum fwd_verdict */
	uint8_t counter;    /* out: enum counter; for LOCAL and GONE the pipe counts */
	uint16_t out_port;  /* out, for FWD_PORT */
	struct frame frame; /* out */
};

struct fwd;
size_t fwd_size(const struct fwd_params *params);
struct fwd *fwd_init(void *mem, const struct fwd_params *params);
void fwd_input(struct fwd *fwd, struct fwd_pkt *pkt, uint64_t now_ns);

/* An address of ordinary traffic, where and when it was last heard. */
struct fwd_station {
	uint8_t mac[FRAME_MAC];
	uint16_t port;
	uint64_t heard_ns;
};
/* For inspection: the first at place from or behind it; returns the place after it, 0: there is none. */
uint32_t fwd_next(const struct fwd *fwd, uint32_t from, uint64_t now_ns,
		  struct fwd_station *station);

#endif
