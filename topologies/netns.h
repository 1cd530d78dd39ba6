/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network namespaces and the links between them, through rtnetlink.  Failures are said here; -1
 * comes back.
 */
#ifndef TOPOLOGIES_NETNS_H
#define TOPOLOGIES_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include "topologies/topology.h"

struct nl_sock;

struct netns {
	const char *name;
	int fd;		    /* of the namespace; it lives as long as this and its processes */
	struct nl_sock *rt; /* made inside: a netlink socket never changes its namespace */
};

struct netns_end {
	struct netns *ns;
	char ifname[16];
	uint64_t mac; /* low 48 bits */
};

/* Makes a namespace and enters it.  `name` is only kept, for messages. */
int netns_open(struct netns *n, const char *name);
void netns_close(struct netns *n);
/* The calling process goes there. */
int netns_enter(const struct netns *n);

/* A file under /proc/sys/net of the namespace that the caller is in. */
int netns_sysctl(const struct netns *n, const char *path, const char *value);

int netns_up(struct netns *n, const char *ifname);
/* A veth pair, both ends up. */
int netns_link(const struct netns_end *a, const struct netns_end *b, unsigned int mtu);
/* Host byte order. */
int netns_address_add(struct netns *n, const char *ifname, uint32_t ip, unsigned int prefix);
int netns_route_add(struct netns *n, const char *ifname, uint32_t ip);

/*
 * Switches transmit checksums and UDP segmentation off.  Packet sockets at the other end would
 * otherwise get frames with half a checksum, which no other host's kernel accepts, and trains of 64
 * KiB.
 */
int netns_offloads_off(const struct netns *n, const char *ifname);

#endif
