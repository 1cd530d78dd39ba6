// SPDX-License-Identifier: BSD-3-Clause
// udp.c - kernel UDP socket to the switch: trains of equal packets by segmentation offload.
//
// On a 2-core machine over veth a 1052-byte payload costs 999 ns with sendmmsg()/recvmmsg() and 78 ns
// with UDP_SEGMENT and UDP_GRO (2024).  Both are tried, and given up with one note where the kernel
// or the device refuses, or where nothing answers trains: a virtual link may hand a train over as one
// long frame, which a switch that reads frames has to drop.
#include "host/transport/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	UDP_TX_BYTES = 2 * TRANSPORT_BURST * (WIRE_MSG_MAX + 10),
	UDP_TRAIN = 64,		 /* segments of one send: UDP_MAX_SEGMENTS of older kernels */
	UDP_TRAIN_BYTES = 65507, /* largest IPv4 datagram */
	UDP_WATCHED = WIRE_OFF_DESC - WIRE_OFF_EPOCH,
	UDP_RX_MSGS = 32,
	UDP_RX_BYTES = 65536,				     /* one received train */
	UDP_HEADERS = 28,				     /* IPv4 and UDP */
	UDP_MTU_MIN = UDP_HEADERS + WIRE_HEADER + WIRE_BODY, /* the shortest JOIN */
	UDP_SOCKET_BYTES = 8 << 20,
	UDP_YIELDS = 4,	     /* sched_yield() before sleeping */
	UDP_TOO_LARGE = 4,   /* errors in a row: not of something before, but of what is to go */
	UDP_TRAINS_LOST = 6, /* in a row, before any was answered: the path carries none */
};

/*
 * Whether trains arrive: the last packet of one, until its result comes.  Either as it is, then trains
 * arrive; or after the packet was sent once more, alone, then its train may have been lost.
 */
struct udp_watch {
	bool on, again;
	bool proven;   /* a train was answered: nothing to watch any more */
	unsigned lost; /* trains, in a row */
	uint8_t what[UDP_WATCHED];
};

struct udp {
	struct transport base;
	int fd, event;
	bool gso;
	struct udp_watch watch;
	bool blocked; /* the last send() found the socket full */
	uint16_t trailer;
	void (*note)(const char *text);
	/* Packets built, back to back; reset when all are taken. */
	uint8_t *tx;
	size_t tx_used;
	unsigned tx_nr;
	/* Received messages, each one packet or a train of equal ones. */
	uint8_t *rx;
	unsigned rx_nr, rx_at; /* messages there, and the one being handed out */
	uint32_t rx_off;
	uint32_t rx_len[UDP_RX_MSGS], rx_segment[UDP_RX_MSGS];
};

static struct udp *udp_of(struct transport *transport)
{
	return (struct udp *)transport;
}

/* --- Sending ----------------------------------------------------------------------------------- */

static unsigned udp_room(struct transport *transport)
{
	return udp_of(transport)->tx_nr == 0 ? TRANSPORT_BURST : 0;
}

static uint8_t *udp_alloc(struct transport *transport, uint32_t len)
{
	struct udp *udp = udp_of(transport);
	uint8_t *data;

	if (udp->tx_nr == 0)
		udp->tx_used = 0;
	if (len > WIRE_MSG_MAX || UDP_TX_BYTES - udp->tx_used < len)
		return NULL;
	data = udp->tx + udp->tx_used;
	udp->tx_used += len;
	udp->tx_nr++;
	return data;
}

/* How many packets from the front are one train: equal sizes, back to back, the last may be shorter. */
static unsigned udp_train(const struct transport_pkt *pkts, unsigned nr)
{
	const uint32_t len = pkts[0].len;
	unsigned most = len ? UDP_TRAIN_BYTES / len : 1, n = 1;

	if (most > UDP_TRAIN)
		most = UDP_TRAIN;
	if (pkts[0].alone)
		return 1;
	while (n < nr && n < most && pkts[n - 1].len == len && pkts[n].len <= len &&
	       pkts[n].data == pkts[n - 1].data + len && !pkts[n].alone)
		n++;
	return n;
}

/* Room for one control message with the segment size. */
union udp_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

struct udp_burst {
	struct mmsghdr msgs[TRANSPORT_BURST];
	struct iovec iov[TRANSPORT_BURST];
	union udp_control control[TRANSPORT_BURST];
	unsigned nr_pkts[TRANSPORT_BURST];
	unsigned nr;
};

static void udp_burst_add(struct udp_burst *burst, const struct transport_pkt *pkts, unsigned nr)
{
	const unsigned i = burst->nr++;
	struct msghdr *msg = &burst->msgs[i].msg_hdr;
	const struct transport_pkt *last = &pkts[nr - 1];
	struct cmsghdr *cmsg;
	uint16_t segment;

	burst->iov[i].iov_base = pkts[0].data;
	burst->iov[i].iov_len = (size_t)(last->data - pkts[0].data) + last->len;
	burst->nr_pkts[i] = nr;
	*msg = (struct msghdr){ .msg_iov = &burst->iov[i], .msg_iovlen = 1 };
	if (nr == 1)
		return;
	memset(&burst->control[i], 0, sizeof(burst->control[i]));
	msg->msg_control = &burst->control[i];
	msg->msg_controllen = CMSG_SPACE(sizeof(segment));
	cmsg = CMSG_FIRSTHDR(msg);
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(segment));
	segment = (uint16_t)pkts[0].len;
	memcpy(CMSG_DATA(cmsg), &segment, sizeof(segment));
}

static void udp_note(const struct udp *udp, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void udp_note(const struct udp *udp, const char *format, ...)
{
	char text[256];
	va_list args;

	if (!udp->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	udp->note(text);
}

static void udp_name(struct udp *udp)
{
	snprintf(udp->base.text, sizeof(udp->base.text), "udp%s",
		 udp->gso ? ", trains by segmentation offload" : ", single packets");
}

/* What the route carries now; Linux lowers it when a router says so. */
static int udp_mtu(const struct udp *udp)
{
	socklen_t len = sizeof(int);
	int mtu;

	return getsockopt(udp->fd, IPPROTO_IP, IP_MTU, &mtu, &len) != 0 ? 1500 : mtu;
}

static void udp_path(struct udp *udp)
{
	int mtu = udp_mtu(udp);

	mtu = (mtu - UDP_HEADERS - WIRE_HEADER - udp->trailer) / WIRE_P_MIN * WIRE_P_MIN;
	if (mtu > WIRE_P_MAX)
		mtu = WIRE_P_MAX;
	udp->base.p = (uint16_t)(mtu < WIRE_P_MIN ? WIRE_P_MIN : mtu);
}

/*
 * By ICMP, of something sent before. It may be anybody, so that what goes is limited by the own interface alone; who
 * is yet to JOIN asks for less.
 */
static void udp_narrowed(struct udp *udp)
{
	udp_path(udp);
	udp->base.narrowed = true;
}

static size_t udp_packet_max(const struct udp *udp)
{
	return WIRE_HEADER + (size_t)udp->base.p + udp->trailer;
}

/*
 * Nothing of the burst went.  Returns how many packets are done with: 0 means try again, now if
 * *again, later otherwise.
 */
static unsigned udp_send_failed(struct udp *udp, const struct udp_burst *burst, unsigned tries,
				bool *again)
{
	int why = errno;

	*again = false;
	if (why == EAGAIN || why == EWOULDBLOCK || why == ENOBUFS) {
		udp->blocked = true;
		return 0;
	}
	/* The kernel reports an earlier packet's fate in place of sending this one. */
	if (why == ECONNREFUSED || why == EINTR) {
		udp->base.refused |= why == ECONNREFUSED;
		*again = true;
		return 0;
	}
	if (why == EMSGSIZE && tries < UDP_TOO_LARGE) {
		udp_narrowed(udp);
		*again = true;
		return 0;
	}
	udp_path(udp);
	/* A train of packets too large for the path is invalid, a single one is too large. */
	if (why == EINVAL && burst->iov[0].iov_len > burst->nr_pkts[0] * udp_packet_max(udp))
		why = EMSGSIZE;
	if (burst->nr_pkts[0] > 1 && (why == EIO || why == EINVAL || why == EOPNOTSUPP)) {
		udp->gso = false;
		udp_name(udp);
		udp_note(udp,
			 "UDP segmentation offload does not work here (%s): sending single packets",
			 strerror(why));
		*again = true;
		return 0;
	}
	udp->base.failed = why;
	udp->base.lost += burst->nr_pkts[0];
	return burst->nr_pkts[0];
}

/* Epoch, slot and round tell a packet from all others of this rank. */
static const uint8_t *udp_watched(const struct transport_pkt *pkt)
{
	return pkt->data + WIRE_OFF_EPOCH;
}

static bool udp_watches(const struct udp *udp, const struct transport_pkt *pkt, enum wire_type type)
{
	return pkt->len >= WIRE_HEADER && (pkt->data[WIRE_OFF_TYPE] & 0xf) == type &&
	       !memcmp(udp->watch.what, udp_watched(pkt), UDP_WATCHED);
}

/* What was sent, nr packets as a train. */
static void udp_watch_sent(struct udp *udp, const struct transport_pkt *pkts, unsigned nr)
{
	const struct transport_pkt *last = &pkts[nr - 1];
	struct udp_watch *watch = &udp->watch;
	const size_t epoch = WIRE_OFF_SLOT - WIRE_OFF_EPOCH;

	if (watch->on && nr == 1 && udp_watches(udp, last, WIRE_DATA))
		watch->again = true;
	if (nr == 1 || last->len < WIRE_HEADER)
		return;
	if (watch->on && !memcmp(watch->what, udp_watched(last), epoch))
		return;
	watch->on = true;
	watch->again = false;
	memcpy(watch->what, udp_watched(last), UDP_WATCHED);
}

static void udp_watch_taken(struct udp *udp, const struct transport_pkt *pkt)
{
	struct udp_watch *watch = &udp->watch;

	if (!watch->on || !udp_watches(udp, pkt, WIRE_RESULT))
		return;
	watch->on = false;
	watch->proven = !watch->again;
	if (watch->proven || ++watch->lost < UDP_TRAINS_LOST || !udp->gso)
		return;
	udp->gso = false;
	udp_name(udp);
	udp_note(udp,
		 "packets sent as a train (segmentation offload) do not arrive, single ones do: sending "
		 "single packets; `ethtool -K DEVICE tx off` on this host's interface may help");
}

static unsigned udp_send(struct transport *transport, const struct transport_pkt *pkts, unsigned nr)
{
	struct udp *udp = udp_of(transport);
	struct udp_burst burst;
	unsigned done = 0, tries = 0;
	bool again = true;

	udp->blocked = false;
	while (done < nr && again && tries < 8) {
		int sent;

		burst.nr = 0;
		for (unsigned at = done; at < nr && burst.nr < TRANSPORT_BURST;) {
			unsigned n = udp->gso ? udp_train(&pkts[at], nr - at) : 1;

			udp_burst_add(&burst, &pkts[at], n);
			at += n;
		}
		sent = sendmmsg(udp->fd, burst.msgs, burst.nr, MSG_DONTWAIT);
		for (int i = 0; i < sent; i++) {
			if (udp->gso && !udp->watch.proven)
				udp_watch_sent(udp, &pkts[done], burst.nr_pkts[i]);
			done += burst.nr_pkts[i];
		}
		tries = sent > 0 ? 0 : tries + 1;
		if (tries)
			done += udp_send_failed(udp, &burst, tries, &again);
	}
	udp->tx_nr -= done;
	return done;
}

/* --- Receiving --------------------------------------------------------------------------------- */

static uint32_t udp_segment(struct msghdr *msg, uint32_t len)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		int size;

		if (cmsg->cmsg_level != SOL_UDP || cmsg->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(cmsg), sizeof(size));
		if (size > 0 && (uint32_t)size < len)
			return (uint32_t)size;
	}
	return len;
}

static void udp_fill(struct udp *udp)
{
	struct mmsghdr msgs[UDP_RX_MSGS];
	struct iovec iov[UDP_RX_MSGS];
	union udp_control control[UDP_RX_MSGS];
	int nr;

	for (unsigned i = 0; i < UDP_RX_MSGS; i++) {
		iov[i].iov_base = udp->rx + (size_t)i * UDP_RX_BYTES;
		iov[i].iov_len = UDP_RX_BYTES;
		msgs[i].msg_hdr = (struct msghdr){
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
			.msg_control = &control[i],
			.msg_controllen = sizeof(control[i]),
		};
	}
	nr = recvmmsg(udp->fd, msgs, UDP_RX_MSGS, MSG_DONTWAIT, NULL);
	if (nr < 0 && (errno == ECONNREFUSED || errno == EMSGSIZE)) {
		if (errno == EMSGSIZE)
			udp_narrowed(udp);
		else
			udp->base.refused = true;
		nr = recvmmsg(udp->fd, msgs, UDP_RX_MSGS, MSG_DONTWAIT, NULL);
	}
	udp->rx_nr = nr > 0 ? (unsigned)nr : 0;
	udp->rx_at = 0;
	udp->rx_off = 0;
	for (unsigned i = 0; i < udp->rx_nr; i++) {
		udp->rx_len[i] = msgs[i].msg_len;
		udp->rx_segment[i] = udp_segment(&msgs[i].msg_hdr, msgs[i].msg_len);
	}
	if (udp->rx_nr)
		udp->base.refused = false;
}

static unsigned udp_recv(struct transport *transport, struct transport_pkt *pkts, unsigned max)
{
	struct udp *udp = udp_of(transport);
	unsigned nr = 0;

	if (udp->rx_at == udp->rx_nr)
		udp_fill(udp);
	while (nr < max && udp->rx_at < udp->rx_nr) {
		const unsigned i = udp->rx_at;
		uint32_t len = udp->rx_len[i] - udp->rx_off;

		if (len > udp->rx_segment[i])
			len = udp->rx_segment[i];
		pkts[nr++] = (struct transport_pkt){
			.data = udp->rx + (size_t)i * UDP_RX_BYTES + udp->rx_off,
			.len = len,
		};
		if (udp->watch.on)
			udp_watch_taken(udp, &pkts[nr - 1]);
		udp->rx_off += len;
		if (udp->rx_off == udp->rx_len[i]) {
			udp->rx_at++;
			udp->rx_off = 0;
		}
	}
	return nr;
}

/* The buffers are overwritten by the next recv() that finds them all handed out. */
static void udp_release(struct transport *transport)
{
	(void)transport;
}

/* --- Waiting ----------------------------------------------------------------------------------- */

static bool udp_poll(struct udp *udp, const struct timespec *timeout)
{
	struct pollfd fds[2] = {
		{ .fd = udp->fd, .events = (short)(POLLIN | (udp->blocked ? POLLOUT : 0)) },
		{ .fd = udp->event, .events = POLLIN },
	};
	uint64_t count;

	if (ppoll(fds, 2, timeout, NULL) <= 0)
		return false;
	if (fds[1].revents & POLLIN && read(udp->event, &count, sizeof(count)) < 0)
		return true;
	return true;
}

static void udp_wait(struct transport *transport, uint64_t timeout_ns)
{
	static const struct timespec now;
	struct udp *udp = udp_of(transport);
	struct timespec timeout;

	if (udp->rx_at < udp->rx_nr)
		return;
	for (unsigned i = 0; i < UDP_YIELDS && timeout_ns; i++) {
		if (udp_poll(udp, &now))
			return;
		sched_yield();
	}
	if (timeout_ns > UINT64_C(3600000000000))
		timeout_ns = UINT64_C(3600000000000);
	timeout.tv_sec = (time_t)(timeout_ns / 1000000000u);
	timeout.tv_nsec = (long)(timeout_ns % 1000000000u);
	udp_poll(udp, &timeout);
}

static void udp_wake(struct transport *transport)
{
	const uint64_t one = 1;
	ssize_t rc;

	do
		rc = write(udp_of(transport)->event, &one, sizeof(one));
	while (rc < 0 && errno == EINTR);
}

/* --- Opening and closing ------------------------------------------------------------------------ */

static void udp_close(struct transport *transport)
{
	struct udp *udp = udp_of(transport);

	if (udp->fd >= 0)
		close(udp->fd);
	if (udp->event >= 0)
		close(udp->event);
	if (udp->rx)
		munmap(udp->rx, (size_t)UDP_RX_MSGS * UDP_RX_BYTES);
	if (udp->tx)
		munmap(udp->tx, UDP_TX_BYTES);
	free(udp);
}

static int udp_fail(struct transport_error *error, int why, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int udp_fail(struct transport_error *error, int why, const char *format, ...)
{
	size_t len;
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	len = strlen(error->text);
	snprintf(error->text + len, sizeof(error->text) - len, ": %s", strerror(why));
	return -why;
}

/* The local address: that of the interface asked for, or any. */
static int udp_bind(struct udp *udp, const struct transport_params *params,
		    struct transport_error *error)
{
	struct sockaddr_in local = { .sin_family = AF_INET };
	struct ifreq ifr;
	char ip[INET_ADDRSTRLEN];
	socklen_t len = sizeof(local);

	if (params->ifname && params->ifname[0]) {
		memset(&ifr, 0, sizeof(ifr));
		snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", params->ifname);
		if (ioctl(udp->fd, SIOCGIFADDR, &ifr) != 0)
			return udp_fail(error, errno, "TALLY_IFNAME=%s has no IPv4 address here",
					params->ifname);
		memcpy(&local, &ifr.ifr_addr, sizeof(local));
	}
	local.sin_port = htons(params->local_port);
	if (bind(udp->fd, (const struct sockaddr *)&local, sizeof(local)) != 0) {
		inet_ntop(AF_INET, &local.sin_addr, ip, sizeof(ip));
		return udp_fail(error, errno, "cannot use local UDP port %u of %s",
				params->local_port, ip);
	}
	if (getsockname(udp->fd, (struct sockaddr *)&local, &len) != 0)
		return udp_fail(error, errno, "getsockname");
	udp->base.port = ntohs(local.sin_port);
	return 0;
}

static int udp_connect(struct udp *udp, const struct transport_params *params,
		       struct transport_error *error)
{
	const struct sockaddr_in peer = {
		.sin_family = AF_INET,
		.sin_port = htons(params->switch_port),
		.sin_addr.s_addr = htonl(params->switch_ip),
	};
	char ip[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &peer.sin_addr, ip, sizeof(ip));
	if (connect(udp->fd, (const struct sockaddr *)&peer, sizeof(peer)) != 0)
		return udp_fail(error, errno, "no way to the switch %s:%u", ip,
				params->switch_port);
	if (udp_mtu(udp) < UDP_MTU_MIN)
		return udp_fail(
			error, EMSGSIZE,
			"the way to the switch %s:%u carries packets of %d bytes, and %d are "
			"needed: raise the MTU",
			ip, params->switch_port, udp_mtu(udp), UDP_MTU_MIN);
	return 0;
}

/* Never a fragment; large buffers as far as the system allows; trains if the kernel knows them. */
static void udp_tune(struct udp *udp)
{
	/* Only the own interface limits what goes: what others say of the path is told and not obeyed. */
	const int df = IP_PMTUDISC_PROBE, bytes = UDP_SOCKET_BYTES, on = 1;
	int segment = 0;
	socklen_t len = sizeof(segment);

	if (setsockopt(udp->fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df)) != 0)
		udp_note(udp, "cannot forbid fragments: %s", strerror(errno));
	if (setsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) != 0 ||
	    setsockopt(udp->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) != 0)
		udp_note(udp, "cannot enlarge the socket's buffers: %s", strerror(errno));
	udp->gso = getsockopt(udp->fd, SOL_UDP, UDP_SEGMENT, &segment, &len) == 0;
	if (!udp->gso)
		udp_note(udp, "this kernel has no UDP_SEGMENT: sending single packets");
	if (setsockopt(udp->fd, SOL_UDP, UDP_GRO, &on, sizeof(on)) != 0)
		udp_note(udp, "this kernel has no UDP_GRO: receiving single packets");
	udp_name(udp);
}

static void *udp_memory(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static int udp_setup(struct udp *udp, const struct transport_params *params,
		     struct transport_error *error)
{
	int rc;

	udp->tx = udp_memory(UDP_TX_BYTES);
	udp->rx = udp_memory((size_t)UDP_RX_MSGS * UDP_RX_BYTES);
	if (!udp->tx || !udp->rx)
		return udp_fail(error, ENOMEM, "packet buffers");
	udp->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	udp->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (udp->event < 0 || udp->fd < 0)
		return udp_fail(error, errno, "cannot make a UDP socket");
	rc = udp_bind(udp, params, error);
	if (rc < 0)
		return rc;
	udp_tune(udp);
	rc = udp_connect(udp, params, error);
	if (rc < 0)
		return rc;
	udp_path(udp);
	return 0;
}

static int udp_open(struct transport **out, const struct transport_params *params,
		    struct transport_error *error)
{
	struct udp *udp = calloc(1, sizeof(*udp));
	int rc;

	if (!udp)
		return udp_fail(error, ENOMEM, "packet buffers");
	udp->base.ops = &transport_udp;
	udp->fd = -1;
	udp->event = -1;
	udp->note = params->note;
	udp->trailer = params->trailer;
	rc = udp_setup(udp, params, error);
	if (rc < 0) {
		udp_close(&udp->base);
		return rc;
	}
	*out = &udp->base;
	return 0;
}

const struct transport_ops transport_udp = {
	.name = "udp",
	.open = udp_open,
	.room = udp_room,
	.alloc = udp_alloc,
	.send = udp_send,
	.recv = udp_recv,
	.release = udp_release,
	.wait = udp_wait,
	.wake = udp_wake,
	.close = udp_close,
};
