/* SPDX-License-Identifier: BSD-3-Clause */
/* udp.h - what the two halves of the kernel UDP port share: udp.c receives, udp_send.c sends. */
#ifndef SWITCH_IO_UDP_H
#define SWITCH_IO_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proto/wire.h"
#include "switch/io/port.h"

/* Not in every libc's <netinet/udp.h>. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	UDP_MSGS = 16, /* messages of one recvmmsg(); each may be a train of 64 packets and more */
	UDP_TRAIN = 65536,	/* bytes of a received train */
	UDP_TRAIN_SEGS = 64,	/* UDP_MAX_SEGMENTS of older kernels */
	UDP_TRAIN_SEND = 65507, /* largest UDP payload */
	UDP_LOOK = 64,		/* every so many empty polls the error queue is looked at */
	UDP_BURST = 256,	/* packets sent with one call of tx */
	UDP_PEERS = 64,		/* destinations told apart in one burst */
	UDP_SPARES = 64,	/* short packets that need room for a result */
	UDP_GSO_FAILS = 3, /* this often refused where single packets pass: not used any more */
};

struct udp_peer {
	uint32_t ip;
	uint16_t udp_port;
	uint16_t first, last; /* chain through udp_send.next */
};

struct udp_cmsg {
	_Alignas(struct cmsghdr) char buf[CMSG_SPACE(sizeof(int))];
};

struct udp_send {
	bool gso;
	unsigned gso_fails;
	uint16_t next[UDP_BURST];
	struct udp_peer peers[UDP_PEERS];
	struct mmsghdr msgs[UDP_BURST];
	uint16_t nr_segs[UDP_BURST]; /* packets in a message */
	struct sockaddr_in addrs[UDP_BURST];
	struct iovec iovs[UDP_BURST];
	struct udp_cmsg cmsgs[UDP_BURST];
};

struct udp {
	int fd;
	bool gro;
	bool errors; /* the error queue may have something */
	uint32_t nr_empty;
	/* Trains received and not yet handed out: message at, from byte off on. */
	unsigned nr_msgs, at;
	uint32_t off;
	uint8_t *trains;
	struct mmsghdr msgs[UDP_MSGS];
	struct sockaddr_in addrs[UDP_MSGS];
	struct iovec iovs[UDP_MSGS];
	struct udp_cmsg cmsgs[UDP_MSGS];
	struct pool_plain spares;
	struct udp_send send;
};

void udp_send_init(struct udp *udp, bool gso);
void udp_send(struct port *port, struct pkt *pkts, unsigned nr);

#endif
