// SPDX-License-Identifier: BSD-3-Clause
/*
 * ethdev_dpdk.c - a port that is any DPDK Ethernet device: interface (af_packet), memif, pcap, ring, NIC.
 *
 * The af_packet driver of DPDK 22.11 returns 0 from a burst whose system call failed although it has freed
 * the packets: sent on such a port, packets carry a reference more, which tells what became of them.
 */
#include <errno.h>
#include <libgen.h>
#include <sched.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "switch/io/eal.h"
#include "switch/io/netdev.h"
#include "switch/io/port.h"

enum {
	ETHDEV_BURST = 64,
	ETHDEV_DESC = 1024,
	ETHDEV_RING = 512, /* frames of an af_packet ring that loses nothing in short bursts */
	ETHDEV_BLOCK = 65536,
	ETHDEV_GREETING_MS = 1000,
	ETHDEV_LINK_MS = 1000, /* waited for a link that is to come up by itself */
};

struct ethdev {
	uint16_t id;
	bool made; /* by rte_vdev_init(name) */
	bool opened;
	bool af_packet; /* see above */
	int netdev_fd;
	uint64_t missed, errors; /* by devices that were here before this one */
	char name[64];
};

static int memif_check(struct port *port, struct port_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char dir[PORT_TEXT];
	struct stat st;
	int fd, rc;

	strcpy(dir, port->spec.dev);
	if (access(dirname(dir), W_OK | X_OK))
		return port_refuse(port, err, "cannot make a socket in the directory of %.100s: %s",
				   port->spec.dev, strerror(errno));
	if (lstat(port->spec.dev, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return port_refuse(port, err, "%.100s exists and is no socket", port->spec.dev);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.107s", port->spec.dev);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return port_refuse(port, err, "cannot open a socket: %s", strerror(errno));
	rc = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
	/* DPDK's listener ends its process if a peer has gone before it is greeted. */
	if (!rc)
		(void)!poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ETHDEV_GREETING_MS);
	close(fd);
	if (!rc)
		return port_refuse(port, err,
				   "the socket %.100s is in use: by another tally-switch?",
				   port->spec.dev);
	/* Nobody listens: left behind by a process that was killed. */
	if (unlink(port->spec.dev))
		return port_refuse(port, err, "cannot remove the stale socket %.100s: %s",
				   port->spec.dev, strerror(errno));
	return 0;
}

/* libpcap would wait for whoever is at the other end of a pipe. */
static bool pcap_is_pipe(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISFIFO(st.st_mode);
}

static int pcap_check(struct port *port, struct port_error *err)
{
	const char *in = port->spec.dev, *out = port->spec.args;
	char dir[PORT_TEXT];

	if (pcap_is_pipe(in) || pcap_is_pipe(out))
		return port_refuse(port, err, "%.100s is a pipe, not a file",
				   pcap_is_pipe(in) ? in : out);
	if (access(port->spec.dev, R_OK))
		return port_refuse(port, err, "cannot read %.100s: %s", port->spec.dev,
				   strerror(errno));
	strcpy(dir, port->spec.args);
	if (access(port->spec.args, F_OK) == 0 ? access(port->spec.args, W_OK)
					       : access(dirname(dir), W_OK | X_OK))
		return port_refuse(port, err, "cannot write %.100s: %s", port->spec.args,
				   strerror(errno));
	return 0;
}

static int ethdev_check_form(struct port *port, struct ethdev *dev, struct port_error *err)
{
	switch ((enum port_form)port->spec.form) {
	case PORT_NETDEV:
		dev->netdev_fd = netdev_open(port, err);
		return dev->netdev_fd < 0 ? -1 : 0;
	case PORT_MEMIF:
		return memif_check(port, err);
	case PORT_PCAP:
		return pcap_check(port, err);
	case PORT_UDP:
	case PORT_VDEV:
	case PORT_PCI:
		break;
	}
	return 0;
}

static int ethdev_check(struct port *port, struct port_error *err)
{
	struct ethdev *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return port_refuse(port, err, "out of memory");
	dev->netdev_fd = -1;
	port->fd = -1;
	port->mtu = port->spec.mtu;
	if (ethdev_check_form(port, dev, err)) {
		free(dev);
		return -1;
	}
	port->priv = dev;
	return 0;
}

/* The driver's name and arguments for this form of port. */
static void ethdev_describe(const struct port *port, struct ethdev *dev, char *args, size_t size)
{
	const struct port_spec *spec = &port->spec;
	uint32_t frame = eal_room(port), frames = eal_ring_frames(), block = frame * frames;

	/* Both are powers of two: the ring is a whole number of blocks. */
	if (block > ETHDEV_BLOCK)
		block = frame > ETHDEV_BLOCK ? frame : ETHDEV_BLOCK;

	switch ((enum port_form)spec->form) {
	case PORT_NETDEV:
		snprintf(dev->name, sizeof(dev->name), "net_af_packet%u", spec->number);
		snprintf(args, size, "iface=%s,blocksz=%u,framesz=%u,framecnt=%u", spec->dev, block,
			 frame, frames);
		break;
	case PORT_MEMIF:
		snprintf(dev->name, sizeof(dev->name), "net_memif%u", spec->number);
		snprintf(args, size, "role=server,id=0,socket=%s,socket-abstract=no", spec->dev);
		break;
	case PORT_PCAP:
		snprintf(dev->name, sizeof(dev->name), "net_pcap%u", spec->number);
		snprintf(args, size, "rx_pcap=%s,tx_pcap=%s", spec->dev, spec->args);
		break;
	case PORT_VDEV:
	case PORT_PCI:
	case PORT_UDP:
		snprintf(dev->name, sizeof(dev->name), "%.63s", spec->dev);
		snprintf(args, size, "%s", spec->args);
		break;
	}
}

/* The device with an id that was not there before. */
static int ethdev_find_new(const bool *before, uint16_t *id)
{
	uint16_t i;

	RTE_ETH_FOREACH_DEV(i)
	if (!before[i]) {
		*id = i;
		return 0;
	}
	return -1;
}

static int ethdev_make(struct port *port, struct ethdev *dev, struct port_error *err)
{
	bool before[RTE_MAX_ETHPORTS] = { false };
	char args[2 * PORT_TEXT + 64];
	uint16_t i;

	ethdev_describe(port, dev, args, sizeof(args));
	if (port->spec.form == PORT_PCI) {
		if (!rte_eth_dev_get_port_by_name(dev->name, &dev->id))
			return 0;
		return port_refuse(port, err,
				   "no DPDK driver has taken this device: bind it to vfio-pci "
				   "(`dpdk-devbind.py -b vfio-pci %s`), and check who may open "
				   "/dev/vfio%s%.150s",
				   dev->name, eal_error()[0] ? "; DPDK says: " : "", eal_error());
	}
	RTE_ETH_FOREACH_DEV(i)
	before[i] = true;
	if (rte_vdev_init(dev->name, args))
		return port_refuse(
			port, err,
			"DPDK has no such driver or the driver refuses its arguments%s%.200s",
			eal_error()[0] ? "; it says: " : "", eal_error());
	dev->made = true;
	if (ethdev_find_new(before, &dev->id))
		return port_refuse(port, err, "the driver has made no Ethernet device");
	return 0;
}

static int ethdev_start(struct port *port, struct ethdev *dev, struct port_error *err)
{
	struct rte_eth_conf conf = { 0 };
	uint16_t nr_rx = ETHDEV_DESC, nr_tx = ETHDEV_DESC;
	int rc = rte_eth_dev_configure(dev->id, 1, 1, &conf);

	dev->opened = true;
	if (!rc)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(dev->id, &nr_rx, &nr_tx);
	if (!rc)
		rc = rte_eth_rx_queue_setup(dev->id, 0, nr_rx, SOCKET_ID_ANY, NULL, eal_mempool());
	if (!rc)
		rc = rte_eth_tx_queue_setup(dev->id, 0, nr_tx, SOCKET_ID_ANY, NULL);
	/* Virtual devices carry what fits their buffers, whatever MTU they think they have. */
	if (!rc && port->spec.form == PORT_PCI && port->mtu != PORT_MTU_DEFAULT)
		rc = rte_eth_dev_set_mtu(dev->id, port->mtu);
	if (!rc)
		rc = rte_eth_dev_start(dev->id);
	if (rc)
		return port_refuse(port, err, "the device does not start (%s)%s%.200s",
				   strerror(-rc), eal_error()[0] ? "; DPDK says: " : "",
				   eal_error());
	/* Interfaces are promiscuous already, where it needs no privilege; other virtual devices always are. */
	(void)!rte_eth_promiscuous_enable(dev->id);
	return 0;
}

/* Slots belong to one lcore: whatever queues and filters a device has, one queue serves it. */
static void ethdev_note_queues(struct port *port, const struct rte_eth_dev_info *info)
{
	snprintf(port->note, sizeof(port->note),
		 "receives through 1 of %u queues of %s, without filters of the device: the switch "
		 "sorts packets itself",
		 info->max_rx_queues, port->driver);
}

static void ethdev_link_wait(struct port *port, struct ethdev *dev)
{
	struct rte_eth_link link = { 0 };
	const size_t len = strlen(port->note);

	for (unsigned ms = 0; ms < ETHDEV_LINK_MS; ms++) {
		if (rte_eth_link_get_nowait(dev->id, &link) || link.link_status == RTE_ETH_LINK_UP)
			return;
		usleep(1000);
	}
	snprintf(port->note + len, sizeof(port->note) - len, "%sthe link is down", len ? "; " : "");
}

static int ethdev_open(struct port *port, struct port_error *err)
{
	struct ethdev *dev = port->priv;
	struct rte_eth_dev_info info = { 0 };

	port->pool = eal_pool();
	if (ethdev_make(port, dev, err) || ethdev_start(port, dev, err))
		return -1;
	if (!rte_eth_dev_info_get(dev->id, &info) && info.driver_name)
		snprintf(port->driver, sizeof(port->driver), "%s", info.driver_name);
	dev->af_packet = strstr(port->driver, "af_packet") != NULL;
	/* The driver offers no interrupts, but its socket can be waited for. */
	if (port->spec.form == PORT_NETDEV)
		port->fd = netdev_socket_find(port->spec.dev);
	if (port->spec.form == PORT_NETDEV && eal_ring_frames() < ETHDEV_RING)
		snprintf(port->note, sizeof(port->note),
			 "its rings have %u frames, not %u, because no more memory "
			 "may be locked (`ulimit -l`)",
			 eal_ring_frames(), ETHDEV_RING);
	if (port->spec.form == PORT_PCI || port->spec.form == PORT_VDEV) {
		if (info.max_rx_queues > 1)
			ethdev_note_queues(port, &info);
		ethdev_link_wait(port, dev);
	}
	return 0;
}

static void ethdev_pkt(const struct port *port, struct pkt *pkt, struct rte_mbuf *m)
{
	bool whole = m->nb_segs == 1 || rte_pktmbuf_linearize(m) == 0;
	uint64_t sum = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	*pkt = (struct pkt){
		.data = rte_pktmbuf_mtod(m, uint8_t *),
		.len = m->data_len,
		.cap = (uint32_t)(m->buf_len - m->data_off),
		.flow = { .port = port->index },
		.verify = sum != RTE_MBUF_F_RX_L4_CKSUM_GOOD,
		.too_long = !whole,
		.buf = m,
		.pool = port->pool,
	};
}

static unsigned ethdev_rx(struct port *port, struct pkt *pkts, unsigned max)
{
	struct ethdev *dev = port->priv;
	struct rte_mbuf *mbufs[ETHDEV_BURST];
	uint16_t nr;

	if (port->gone)
		return 0;
	nr = rte_eth_rx_burst(dev->id, 0, mbufs,
			      (uint16_t)(max < ETHDEV_BURST ? max : ETHDEV_BURST));

	for (uint16_t i = 0; i < nr; i++)
		ethdev_pkt(port, &pkts[i], mbufs[i]);
	return nr;
}

/* Returns how many the device took.  Those that it did not take stay the caller's. */
static unsigned ethdev_send(struct ethdev *dev, struct rte_mbuf **mbufs, unsigned nr)
{
	unsigned done = 0;

	for (unsigned tries = 0; done < nr && tries < PORT_RETRIES; tries++) {
		uint16_t n = rte_eth_tx_burst(dev->id, 0, mbufs + done, (uint16_t)(nr - done));

		done += n;
		if (n)
			tries = 0;
		else
			sched_yield();
	}
	return done;
}

/* One try: after a failed system call it is not known which of the packets are still ours until we look. */
static unsigned ethdev_send_af_packet(struct ethdev *dev, struct rte_mbuf **mbufs, unsigned nr)
{
	unsigned done = 0, tries = 0;

	for (unsigned i = 0; i < nr; i++)
		rte_mbuf_refcnt_update(mbufs[i], 1);
	while (done < nr && tries < PORT_RETRIES) {
		uint16_t n = rte_eth_tx_burst(dev->id, 0, mbufs + done, (uint16_t)(nr - done));

		done += n;
		if (!n && rte_mbuf_refcnt_read(mbufs[done]) == 1)
			break;
		if (!n) {
			tries++;
			sched_yield();
		}
	}
	/* The driver's reference, where it kept it, and ours: what is left in mbufs[done ..] is freed by the
	 * caller. */
	for (unsigned i = 0; i < nr; i++)
		if (i < done || rte_mbuf_refcnt_read(mbufs[i]) > 1)
			rte_pktmbuf_free(mbufs[i]);
	return done;
}

static void ethdev_tx_some(struct port *port, struct ethdev *dev, struct pkt *pkts, unsigned nr)
{
	struct rte_mbuf *mbufs[ETHDEV_BURST];
	unsigned done;

	for (unsigned i = 0; i < nr; i++) {
		struct rte_mbuf *m = pkts[i].buf;

		m->data_len = (uint16_t)pkts[i].len;
		m->pkt_len = pkts[i].len;
		m->ol_flags = 0;
		mbufs[i] = m;
	}
	done = dev->af_packet ? ethdev_send_af_packet(dev, mbufs, nr) : ethdev_send(dev, mbufs, nr);
	port->stats.tx += done;
	port->stats.tx_dropped += nr - done;
	for (unsigned i = 0; i < done; i++)
		port->stats.tx_bytes += pkts[i].len;
	if (done < nr)
		rte_pktmbuf_free_bulk(mbufs + done, nr - done);
}

static void ethdev_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	if (port->gone) {
		port->stats.tx_dropped += nr;
		for (unsigned i = 0; i < nr; i++)
			rte_pktmbuf_free(pkts[i].buf);
		return;
	}
	for (unsigned i = 0; i < nr; i += ETHDEV_BURST)
		ethdev_tx_some(port, port->priv, pkts + i,
			       nr - i < ETHDEV_BURST ? nr - i : ETHDEV_BURST);
}

static void ethdev_read_stats(struct port *port)
{
	const struct ethdev *dev = port->priv;
	struct rte_eth_stats stats;

	if (!dev->opened || rte_eth_stats_get(dev->id, &stats))
		return;
	port->stats.dev_missed = dev->missed + stats.imissed + stats.rx_nombuf;
	port->stats.dev_errors = dev->errors + stats.ierrors;
}

/* The driver's socket cannot be bound again: another device takes the place of this one. */
static int ethdev_remake(struct port *port, struct ethdev *dev)
{
	struct port_error err;

	port->fd = dev->netdev_fd; /* which never has any input */
	if (dev->opened) {
		(void)!rte_eth_dev_stop(dev->id);
		(void)!rte_eth_dev_close(dev->id);
	}
	if (dev->made)
		(void)!rte_vdev_uninit(dev->name);
	dev->opened = dev->made = false;
	dev->missed = port->stats.dev_missed;
	dev->errors = port->stats.dev_errors;
	if (ethdev_make(port, dev, &err) || ethdev_start(port, dev, &err)) {
		snprintf(port->note, sizeof(port->note), "%.255s", err.text);
		return -1;
	}
	port->fd = netdev_socket_find(port->spec.dev);
	return 0;
}

static void ethdev_look(struct port *port)
{
	struct ethdev *dev = port->priv;

	if (port->spec.form != PORT_NETDEV || port->fd < 0)
		return;
	if (!port->gone) {
		ethdev_read_stats(port);
		port->gone = !netdev_is_there(port->fd);
	} else if (netdev_is_back(port, dev->netdev_fd)) {
		port->gone = ethdev_remake(port, dev) != 0;
	}
}

static void ethdev_close(struct port *port)
{
	struct ethdev *dev = port->priv;

	if (!dev)
		return;
	if (dev->opened) {
		(void)!rte_eth_dev_stop(dev->id);
		(void)!rte_eth_dev_close(dev->id);
	}
	if (dev->netdev_fd >= 0)
		close(dev->netdev_fd);
	if (port->spec.form == PORT_MEMIF && dev->made)
		(void)!unlink(port->spec.dev);
	free(dev);
	port->priv = NULL;
}

const struct port_ops port_ethdev_ops = {
	.framed = true,
	.check = ethdev_check,
	.open = ethdev_open,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.look = ethdev_look,
	.read_stats = ethdev_read_stats,
	.close = ethdev_close,
};
