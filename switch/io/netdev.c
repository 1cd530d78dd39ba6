// SPDX-License-Identifier: BSD-3-Clause
/* netdev.c - what can be known about a network interface before a driver opens it. */
#include "switch/io/netdev.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NETDEV_FDS = 4096 }; /* descriptors looked at */

static int netdev_query(int fd, unsigned long what, const char *name, struct ifreq *ifr)
{
	memset(ifr, 0, sizeof(*ifr));
	snprintf(ifr->ifr_name, IFNAMSIZ, "%.15s", name);
	return ioctl(fd, what, ifr);
}

static int netdev_check(struct port *port, int fd, struct port_error *err)
{
	const char *name = port->spec.dev;
	struct ifreq ifr;
	int mtu;

	if (netdev_query(fd, SIOCGIFMTU, name, &ifr))
		return port_refuse(port, err,
				   "there is no such interface in this network namespace (`ip link` "
				   "lists them)");
	mtu = ifr.ifr_mtu;
	if (netdev_query(fd, SIOCGIFHWADDR, name, &ifr) || ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return port_refuse(port, err, "is no Ethernet interface");
	if (netdev_query(fd, SIOCGIFFLAGS, name, &ifr) || !(ifr.ifr_flags & IFF_UP))
		return port_refuse(port, err, "the interface is down: `ip link set %s up`", name);
	if (mtu < PORT_MTU_MIN)
		return port_refuse(port, err, "its MTU of %d is too small: at least %d", mtu,
				   PORT_MTU_MIN);
	port->mtu = (uint16_t)(mtu < PORT_MTU_MAX ? mtu : PORT_MTU_MAX);
	if (mtu > PORT_MTU_MAX)
		snprintf(port->note, sizeof(port->note),
			 "MTU %d of %.15s is taken as %d, the largest a port "
			 "carries",
			 mtu, name, PORT_MTU_MAX);
	return 0;
}

static int netdev_promisc(int fd, unsigned index)
{
	struct packet_mreq mreq = { .mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC };

	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq, sizeof(mreq));
}

int netdev_open(struct port *port, struct port_error *err)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), bad;

	if (fd < 0)
		return port_refuse(port, err, "cannot open a socket: %s", strerror(errno));
	bad = netdev_check(port, fd, err);
	close(fd);
	if (bad)
		return -1;
	/* Protocol 0: receives nothing. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 && (errno == EPERM || errno == EACCES))
		return port_refuse(
			port, err,
			"opening a packet socket needs the capability CAP_NET_RAW: run as "
			"root, or after `setcap cap_net_raw+ep tally-switch`, or inside `unshare "
			"-Urn` or tally-fabric; the port forms udp: and memif: need no privilege");
	if (fd < 0)
		return port_refuse(port, err, "cannot open a packet socket: %s", strerror(errno));
	if (netdev_promisc(fd, if_nametoindex(port->spec.dev))) {
		port_refuse(port, err, "cannot make the interface promiscuous: %s",
			    strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

int netdev_socket_find(const char *name)
{
	unsigned index = if_nametoindex(name);
	struct sockaddr_ll addr;
	socklen_t len;

	for (int fd = 0; index && fd < NETDEV_FDS; fd++) {
		len = sizeof(addr);
		if (getsockname(fd, (struct sockaddr *)&addr, &len) || addr.sll_family != AF_PACKET)
			continue;
		/* Our own, which keeps the interface promiscuous, is bound to nothing. */
		if (addr.sll_ifindex == (int)index && addr.sll_protocol)
			return fd;
	}
	return -1;
}

bool netdev_is_there(int fd)
{
	struct sockaddr_ll addr;
	socklen_t len = sizeof(addr);

	return getsockname(fd, (struct sockaddr *)&addr, &len) || addr.sll_ifindex > 0;
}

/* The buffers have room for the old MTU. */
static void netdev_remeasure(struct port *port, int fd)
{
	struct ifreq ifr;

	if (netdev_query(fd, SIOCGIFMTU, port->spec.dev, &ifr) || ifr.ifr_mtu == port->mtu)
		return;
	snprintf(port->note, sizeof(port->note), "%.15s has come back with MTU %d instead of %d%s",
		 port->spec.dev, ifr.ifr_mtu, port->mtu,
		 ifr.ifr_mtu < port->mtu ? "" : ", which the switch uses when it is started again");
	if (ifr.ifr_mtu < port->mtu)
		port->mtu = (uint16_t)ifr.ifr_mtu;
}

bool netdev_is_back(struct port *port, int promisc_fd)
{
	unsigned index = if_nametoindex(port->spec.dev);

	if (!index)
		return false;
	(void)netdev_promisc(promisc_fd, index);
	netdev_remeasure(port, promisc_fd);
	return true;
}
