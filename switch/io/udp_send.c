// SPDX-License-Identifier: BSD-3-Clause
/*
 * udp_send.c - sending on a kernel UDP socket: a burst becomes one train per destination and packet size.
 *
 * A train is one message of the kernel that a device, or the receiver, takes apart (UDP_SEGMENT).  Results of
 * a received train lie back to back in memory, so that a train to send is mostly one piece of memory: pieces
 * cost (142-199 ns per packet against 91, in the design's measurements of 2024).
 */
#include "switch/io/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { UDP_NONE = 0xffff };

void udp_send_init(struct udp *udp, bool gso)
{
	udp->send.gso = gso;
}

/* Chains the packets of each destination in order.  Returns how many packets were taken: the table of
 * destinations may be full. */
static unsigned send_group(struct udp_send *send, const struct pkt *pkts, unsigned nr,
			   unsigned *nr_peers)
{
	unsigned peers = 0, hint = 0;

	for (unsigned i = 0; i < nr; i++) {
		const struct flow *to = &pkts[i].flow;
		unsigned k = 0;

		/* A multicast to n visits the same destinations in the same order again and again. */
		while (k < peers && (send->peers[(hint + k) % peers].ip != to->ip ||
				     send->peers[(hint + k) % peers].udp_port != to->udp_port))
			k++;
		if (k == peers && peers == UDP_PEERS) {
			*nr_peers = peers;
			return i;
		}
		if (k == peers) {
			send->peers[peers] =
				(struct udp_peer){ to->ip, to->udp_port, (uint16_t)i, (uint16_t)i };
			hint = 0;
			peers++;
		} else {
			struct udp_peer *peer = &send->peers[(hint + k) % peers];

			send->next[peer->last] = (uint16_t)i;
			peer->last = (uint16_t)i;
			hint = (hint + k + 1) % peers;
		}
		send->next[i] = UDP_NONE;
	}
	*nr_peers = peers;
	return nr;
}

/* Where the messages being built stand. */
struct send_build {
	const struct pkt *pkts;
	unsigned nr_msgs, nr_iovs;
};

static void send_msg_open(struct udp_send *send, struct send_build *build,
			  const struct udp_peer *peer)
{
	unsigned m = build->nr_msgs++;

	send->addrs[m] = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(peer->udp_port),
		.sin_addr.s_addr = htonl(peer->ip),
	};
	send->nr_segs[m] = 0;
	send->msgs[m].msg_len = 0;
	send->msgs[m].msg_hdr = (struct msghdr){
		.msg_name = &send->addrs[m],
		.msg_namelen = sizeof(send->addrs[m]),
		.msg_iov = &send->iovs[build->nr_iovs],
	};
}

static void send_msg_add(struct udp_send *send, struct send_build *build, const struct pkt *pkt)
{
	struct msghdr *hdr = &send->msgs[build->nr_msgs - 1].msg_hdr;
	struct iovec *last = hdr->msg_iovlen ? &hdr->msg_iov[hdr->msg_iovlen - 1] : NULL;

	send->nr_segs[build->nr_msgs - 1]++;
	if (last && (uint8_t *)last->iov_base + last->iov_len == pkt->data) {
		last->iov_len += pkt->len;
		return;
	}
	send->iovs[build->nr_iovs++] = (struct iovec){ pkt->data, pkt->len };
	hdr->msg_iovlen++;
}

static void send_msg_segment(struct udp_send *send, unsigned m, uint16_t size)
{
	struct msghdr *hdr = &send->msgs[m].msg_hdr;
	struct cmsghdr *cmsg;

	hdr->msg_control = &send->cmsgs[m];
	hdr->msg_controllen = CMSG_SPACE(sizeof(size));
	memset(&send->cmsgs[m], 0, sizeof(send->cmsgs[m]));
	cmsg = CMSG_FIRSTHDR(hdr);
	cmsg->cmsg_level = IPPROTO_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(cmsg), &size, sizeof(size));
}

/* The messages for one destination: trains of equal packets, of which the last may be shorter. */
static void send_peer(struct udp_send *send, struct send_build *build, const struct udp_peer *peer)
{
	uint32_t seg = 0, bytes = 0;
	bool open = false;

	for (unsigned i = peer->first; i != UDP_NONE; i = send->next[i]) {
		const struct pkt *pkt = &build->pkts[i];

		if (!open || pkt->len > seg || bytes + pkt->len > UDP_TRAIN_SEND ||
		    send->nr_segs[build->nr_msgs - 1] == UDP_TRAIN_SEGS) {
			send_msg_open(send, build, peer);
			seg = pkt->len;
			bytes = 0;
			open = send->gso;
		}
		send_msg_add(send, build, pkt);
		bytes += pkt->len;
		if (send->nr_segs[build->nr_msgs - 1] == 2)
			send_msg_segment(send, build->nr_msgs - 1, (uint16_t)seg);
		open = open && pkt->len == seg;
	}
}

/* Errors that say something about an earlier packet, or about a peer, not about the one being sent. */
static bool send_error_is_old(int error)
{
	return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
	       error == EHOSTDOWN || error == ENOPROTOOPT || error == EPROTO;
}

static bool send_error_is_gso(int error)
{
	return error == EINVAL || error == EIO || error == EOPNOTSUPP || error == EMSGSIZE;
}

/* Sends the packets of a train one by one: the path does not take trains, or none so large. */
static void send_singly(struct port *port, struct udp *udp, unsigned m)
{
	struct udp_send *send = &udp->send;
	const struct msghdr *train = &send->msgs[m].msg_hdr;
	unsigned passed = 0;
	uint16_t seg;

	memcpy(&seg, CMSG_DATA(CMSG_FIRSTHDR(train)), sizeof(seg));
	for (size_t k = 0; k < train->msg_iovlen; k++) {
		const struct iovec *iov = &train->msg_iov[k];

		for (size_t off = 0; off < iov->iov_len; off += seg) {
			size_t left = iov->iov_len - off;
			ssize_t n = sendto(udp->fd, (uint8_t *)iov->iov_base + off,
					   left < seg ? left : seg, MSG_DONTWAIT, train->msg_name,
					   train->msg_namelen);

			if (n >= 0) {
				passed++;
				port->stats.tx_single++;
				continue;
			}
			port->stats.tx_dropped++;
			port->stats.tx_too_big += errno == EMSGSIZE;
			udp->errors = true;
		}
	}
	if (!passed || ++send->gso_fails < UDP_GSO_FAILS || !send->gso)
		return;
	send->gso = false;
	snprintf(port->note, sizeof(port->note),
		 "UDP GSO does not work on the way to a worker: packets go "
		 "one by one from now on, which costs about ten times the CPU");
}

/* What to do about a message that the kernel refuses; true: try it again. */
static bool send_refused(struct port *port, struct udp *udp, unsigned m, unsigned *tries)
{
	int error = errno;

	if (error == EINTR)
		return true;
	if (error == EAGAIN || error == ENOBUFS) {
		sched_yield();
		if (++*tries < PORT_RETRIES)
			return true;
	} else if (send_error_is_old(error)) {
		udp->errors = true;
		if (++*tries < PORT_RETRIES)
			return true;
	} else if (udp->send.nr_segs[m] > 1 && send_error_is_gso(error)) {
		send_singly(port, udp, m);
		return false;
	}
	/* EMSGSIZE is also in the error queue. */
	udp->errors = true;
	port->stats.tx_dropped += udp->send.nr_segs[m];
	port->stats.tx_too_big += error == EMSGSIZE ? udp->send.nr_segs[m] : 0;
	return false;
}

static void send_msgs(struct port *port, struct udp *udp, unsigned nr)
{
	unsigned m = 0, tries = 0;

	while (m < nr) {
		int n = sendmmsg(udp->fd, udp->send.msgs + m, nr - m, MSG_DONTWAIT);

		if (n > 0) {
			m += (unsigned)n;
			/* An error ended it, and was cleared in the socket by that. */
			udp->errors |= m < nr;
			tries = 0;
		} else if (!send_refused(port, udp, m, &tries)) {
			m++;
			tries = 0;
		}
	}
}

void udp_send(struct port *port, struct pkt *pkts, unsigned nr)
{
	struct udp *udp = port->priv;
	struct udp_send *send = &udp->send;

	while (nr) {
		struct send_build build = { .pkts = pkts };
		uint64_t dropped = port->stats.tx_dropped;
		unsigned nr_peers, n;

		n = send_group(send, pkts, nr < UDP_BURST ? nr : UDP_BURST, &nr_peers);
		for (unsigned k = 0; k < nr_peers; k++)
			send_peer(send, &build, &send->peers[k]);
		send_msgs(port, udp, build.nr_msgs);
		port->stats.tx += n - (port->stats.tx_dropped - dropped);
		for (unsigned i = 0; i < n; i++)
			port->stats.tx_bytes += pkts[i].len;
		pkts += n;
		nr -= n;
	}
}
