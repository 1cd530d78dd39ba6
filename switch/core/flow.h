/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.h - where a UDP payload came from, or goes to. */
#ifndef SWITCH_CORE_FLOW_H
#define SWITCH_CORE_FLOW_H

#include <stdint.h>

struct flow {
	uint32_t ip;	   /* of the peer, host byte order */
	uint16_t udp_port; /* of the peer */
	uint16_t port;	   /* index of the switch port */
	uint8_t mac[6];	   /* of the peer; zero on socket ports */
	uint16_t pad;	   /* 0, so that flows compare by memcmp */
};

#endif
