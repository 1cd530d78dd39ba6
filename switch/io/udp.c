// SPDX-License-Identifier: BSD-3-Clause
/*
 * udp.c - a port that is a kernel UDP socket: needs no privilege, no DPDK and no interface of its own.
 *
 * Received trains (UDP_GRO) are split by the size that the kernel reports.  Inside a train a packet is
 * followed by the next one at once, so a contribution without values, which is short, would have no room for
 * the result it may complete: short packets move to buffers of their own.
 */
#include "switch/io/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UDP_SOCKET_BUFFER = 16 << 20 };

static int udp_bind_refuse(struct port *port, struct port_error *err)
{
	char ip[INET_ADDRSTRLEN];
	struct in_addr addr = { htonl(port->spec.ip) };

	inet_ntop(AF_INET, &addr, ip, sizeof(ip));
	switch (errno) {
	case EADDRINUSE:
		return port_refuse(port, err,
				   "UDP port %u at %s is in use: by another tally-switch? "
				   "Choose another port, udp:%s:PORT",
				   port->spec.udp_port, ip, ip);
	case EADDRNOTAVAIL:
		return port_refuse(port, err,
				   "%s is no address of this machine (`ip address` lists them)",
				   ip);
	case EACCES:
		return port_refuse(port, err,
				   "UDP port %u is privileged: use one from 1024 on, the usual "
				   "one is %d",
				   port->spec.udp_port, WIRE_PORT);
	default:
		return port_refuse(port, err, "cannot bind: %s", strerror(errno));
	}
}

static void udp_buffer_set(int fd, int force, int plain)
{
	int bytes = UDP_SOCKET_BUFFER;

	/* Without the capability CAP_NET_ADMIN the kernel's limit applies, which is no error. */
	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)))
		(void)!setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes));
}

/* Offloads that the kernel has; whether a path can use them shows when sending. */
static void udp_offload_probe(struct port *port, struct udp *udp)
{
	int on = 1, off = 0;
	bool gso = false;

	if (!port->spec.no_gso) {
		gso = !setsockopt(udp->fd, IPPROTO_UDP, UDP_SEGMENT, &off, sizeof(off));
		udp->gro = !setsockopt(udp->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	}
	if (!gso || !udp->gro)
		snprintf(port->note, sizeof(port->note),
			 "UDP %s%s%s: packets go one by one, which costs "
			 "about ten times the CPU",
			 gso ? "" : "GSO", gso || udp->gro ? "" : " and ", udp->gro ? "" : "GRO");
	if (port->spec.no_gso)
		snprintf(port->note, sizeof(port->note), "UDP GSO and GRO are off as asked for");
	udp_send_init(udp, gso);
}

static void udp_msgs_init(struct udp *udp)
{
	for (unsigned i = 0; i < UDP_MSGS; i++) {
		udp->iovs[i].iov_base = udp->trains + (size_t)i * UDP_TRAIN;
		udp->iovs[i].iov_len = UDP_TRAIN;
		udp->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &udp->addrs[i],
			.msg_iov = &udp->iovs[i],
			.msg_iovlen = 1,
			.msg_control = &udp->cmsgs[i],
		};
	}
}

static int udp_socket(struct port *port, struct udp *udp, struct port_error *err)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port->spec.udp_port),
		.sin_addr.s_addr = htonl(port->spec.ip),
	};
	/* Without what others say of the path: results are as large as contributions, which came. */
	int df = IP_PMTUDISC_PROBE, on = 1;

	udp->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (udp->fd < 0)
		return port_refuse(port, err, "cannot open a UDP socket: %s", strerror(errno));
	if (setsockopt(udp->fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df)) ||
	    setsockopt(udp->fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)))
		return port_refuse(port, err, "cannot set up the socket: %s", strerror(errno));
	udp_buffer_set(udp->fd, SO_RCVBUFFORCE, SO_RCVBUF);
	udp_buffer_set(udp->fd, SO_SNDBUFFORCE, SO_SNDBUF);
	if (bind(udp->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return udp_bind_refuse(port, err);
	return 0;
}

static void udp_close(struct port *port)
{
	struct udp *udp = port->priv;

	if (!udp)
		return;
	if (udp->fd >= 0)
		close(udp->fd);
	pool_plain_fini(&udp->spares);
	free(udp->trains);
	free(udp);
	port->priv = NULL;
	port->fd = -1;
}

/* Binds at once: until the switch serves, what arrives waits in the socket. */
static int udp_check(struct port *port, struct port_error *err)
{
	struct udp *udp = calloc(1, sizeof(*udp));

	if (!udp)
		return port_refuse(port, err, "out of memory");
	udp->fd = -1;
	port->priv = udp;
	udp->trains = malloc((size_t)UDP_MSGS * UDP_TRAIN);
	if (!udp->trains || pool_plain_init(&udp->spares, UDP_SPARES, WIRE_MSG_MAX)) {
		udp_close(port);
		return port_refuse(port, err, "out of memory");
	}
	if (udp_socket(port, udp, err)) {
		udp_close(port);
		return -1;
	}
	udp_offload_probe(port, udp);
	udp_msgs_init(udp);
	port->fd = udp->fd;
	port->mtu = 65535;
	strcpy(port->driver, "udp");
	return 0;
}

static int udp_open(struct port *port, struct port_error *err)
{
	(void)port;
	(void)err;
	return 0;
}

static void udp_receive(struct udp *udp)
{
	int n;

	for (unsigned i = 0; i < UDP_MSGS; i++) {
		udp->msgs[i].msg_hdr.msg_namelen = sizeof(udp->addrs[i]);
		udp->msgs[i].msg_hdr.msg_controllen = sizeof(udp->cmsgs[i]);
	}
	do {
		n = recvmmsg(udp->fd, udp->msgs, UDP_MSGS, MSG_DONTWAIT, NULL);
	} while (n < 0 && errno == EINTR);
	udp->at = 0;
	udp->off = 0;
	udp->nr_msgs = n > 0 ? (unsigned)n : 0;
	/* An error of the past is reported once in place of the packets behind it.  The kernel may have told it
	 * to somebody else: then the error queue wakes whoever waits for packets, again and again. */
	if (n < 0 && (errno != EAGAIN || ++udp->nr_empty % UDP_LOOK == 0))
		udp->errors = true;
}

/* Bytes per packet of a received message. */
static uint32_t udp_segment(struct mmsghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg->msg_hdr);
	int size;

	if (!cmsg || cmsg->cmsg_level != IPPROTO_UDP || cmsg->cmsg_type != UDP_GRO)
		return msg->msg_len;
	memcpy(&size, CMSG_DATA(cmsg), sizeof(size));
	return size > 0 ? (uint32_t)size : msg->msg_len;
}

/* A packet between others whose result may be longer than itself gets a buffer of its own. */
static void udp_room(struct udp *udp, struct pkt *pkt)
{
	struct pkt own;

	if (pkt->len <= WIRE_HEADER + WIRE_PAD + WIRE_CRC && pkt->cap < WIRE_MSG_MAX &&
	    pkt_copy(&own, &udp->spares.pool, pkt))
		*pkt = own;
}

/* Hands out packets of the message at udp->at. */
static unsigned udp_split(struct port *port, struct udp *udp, struct pkt *pkts, unsigned max)
{
	struct mmsghdr *msg = &udp->msgs[udp->at];
	const struct sockaddr_in *addr = &udp->addrs[udp->at];
	uint8_t *train = udp->iovs[udp->at].iov_base;
	uint32_t seg = udp_segment(msg), len;
	unsigned nr = 0;

	do {
		len = msg->msg_len - udp->off;
		len = len < seg ? len : seg;
		pkts[nr] = (struct pkt){
			.data = train + udp->off,
			.len = len,
			.cap = udp->off + len < msg->msg_len ? len : UDP_TRAIN - udp->off,
			.flow = { .ip = ntohl(addr->sin_addr.s_addr),
				  .udp_port = ntohs(addr->sin_port),
				  .port = port->index },
		};
		udp_room(udp, &pkts[nr]);
		udp->off += len;
		nr++;
	} while (nr < max && udp->off < msg->msg_len);
	if (udp->off >= msg->msg_len) {
		udp->at++;
		udp->off = 0;
	}
	return nr;
}

static unsigned udp_rx(struct port *port, struct pkt *pkts, unsigned max)
{
	struct udp *udp = port->priv;
	unsigned nr = 0;

	if (udp->at == udp->nr_msgs)
		udp_receive(udp);
	while (nr < max && udp->at < udp->nr_msgs)
		nr += udp_split(port, udp, pkts + nr, max - nr);
	return nr;
}

static bool udp_gone(struct port *port, struct flow *peer)
{
	struct udp *udp = port->priv;
	_Alignas(struct cmsghdr) char control[512];
	struct sockaddr_in addr;

	while (udp->errors) {
		struct msghdr msg = {
			.msg_name = &addr,
			.msg_namelen = sizeof(addr),
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		struct {
			struct sock_extended_err ee;
			struct sockaddr_in offender;
		} said = { 0 };

		if (recvmsg(udp->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			udp->errors = errno == EINTR;
			continue;
		}
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
			if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR &&
			    c->cmsg_len >= CMSG_LEN(sizeof(said)))
				memcpy(&said, CMSG_DATA(c), sizeof(said));
		/* Of a port its own host says so. */
		if (said.ee.ee_origin != SO_EE_ORIGIN_ICMP ||
		    said.ee.ee_type != ICMP_DEST_UNREACH || said.ee.ee_code != ICMP_PORT_UNREACH ||
		    said.offender.sin_addr.s_addr != addr.sin_addr.s_addr)
			continue;
		*peer = (struct flow){ .ip = ntohl(addr.sin_addr.s_addr),
				       .udp_port = ntohs(addr.sin_port),
				       .port = port->index };
		return true;
	}
	return false;
}

const struct port_ops port_udp_ops = {
	.framed = false,
	.check = udp_check,
	.open = udp_open,
	.rx = udp_rx,
	.tx = udp_send,
	.gone = udp_gone,
	.close = udp_close,
};
