// SPDX-License-Identifier: BSD-3-Clause
// Network namespaces, veth pairs, addresses and routes, through libnl-route-3.
#include "topologies/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/route.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "topologies/say.h"

int netns_open(struct netns *n, const char *name)
{
	int err;

	*n = (struct netns){ .name = name, .fd = -1 };
	if (unshare(CLONE_NEWNET))
		return say_error("%s: no network namespace: %s", name, say_errno(errno));
	n->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (n->fd < 0)
		return say_error("%s: /proc/thread-self/ns/net: %s", name, say_errno(errno));
	errno = 0;
	n->rt = nl_socket_alloc();
	err = n->rt ? nl_connect(n->rt, NETLINK_ROUTE) : -NLE_NOMEM;
	if (err)
		return say_error("%s: rtnetlink: %s", name,
				 errno == EMFILE ? say_errno(errno) : nl_geterror(err));
	return netns_up(n, "lo");
}

void netns_close(struct netns *n)
{
	if (n->rt)
		nl_socket_free(n->rt);
	if (n->fd >= 0)
		close(n->fd);
	*n = (struct netns){ .fd = -1 };
}

int netns_enter(const struct netns *n)
{
	if (setns(n->fd, CLONE_NEWNET))
		return say_error("%s: cannot enter the network namespace: %s", n->name,
				 strerror(errno));
	return 0;
}

int netns_sysctl(const struct netns *n, const char *path, const char *value)
{
	char full[128];
	int fd, rc;

	snprintf(full, sizeof(full), "/proc/sys/net/%s", path);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	rc = fd >= 0 && write(fd, value, strlen(value)) > 0 ? 0 : -1;
	if (rc)
		say_note("%s: %s stays as it is: %s", n->name, full, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

static int ifindex_find(struct netns *n, const char *ifname)
{
	struct rtnl_link *l;
	int err = rtnl_link_get_kernel(n->rt, 0, ifname, &l), index;

	if (err)
		return say_error("%s: no interface %s: %s", n->name, ifname, nl_geterror(err));
	index = rtnl_link_get_ifindex(l);
	rtnl_link_put(l);
	return index;
}

int netns_up(struct netns *n, const char *ifname)
{
	int index = ifindex_find(n, ifname), err = -NLE_NOMEM;
	struct rtnl_link *old, *new;

	if (index < 0)
		return -1;
	old = rtnl_link_alloc();
	new = rtnl_link_alloc();
	if (old && new) {
		rtnl_link_set_ifindex(
			old, index); // libnl 3.7 does not put a name alone into the message
		rtnl_link_set_flags(new, IFF_UP);
		err = rtnl_link_change(n->rt, old, new, 0);
	}
	rtnl_link_put(old);
	rtnl_link_put(new);
	return err ? say_error("%s: interface %s up: %s", n->name, ifname, nl_geterror(err)) : 0;
}

static int end_describe(struct rtnl_link *l, const struct netns_end *e, unsigned int mtu)
{
	unsigned char mac[6];
	struct nl_addr *a;

	for (int i = 0; i < 6; i++)
		mac[i] = (unsigned char)(e->mac >> (40 - 8 * i));
	a = nl_addr_build(AF_LLC, mac, sizeof(mac));
	if (!a)
		return -NLE_NOMEM;
	rtnl_link_set_name(l, e->ifname);
	rtnl_link_set_addr(l, a);
	rtnl_link_set_mtu(l, mtu);
	nl_addr_put(a);
	return 0;
}

// Both ends are born with their name, address and namespace, so nothing is renamed or moved.  Only
// the first may also be born up: the kernel opens the peer before the two are tied (ENOTCONN).
int netns_link(const struct netns_end *a, const struct netns_end *b, unsigned int mtu)
{
	struct rtnl_link *l = rtnl_link_veth_alloc(), *peer;
	int err = -NLE_NOMEM;

	if (l) {
		peer = rtnl_link_veth_get_peer(l);
		err = end_describe(l, a, mtu);
		if (!err)
			err = end_describe(peer, b, mtu);
		rtnl_link_set_flags(l, IFF_UP);
		rtnl_link_set_ns_fd(peer, b->ns->fd);
		if (!err)
			err = rtnl_link_add(a->ns->rt, l, NLM_F_CREATE | NLM_F_EXCL);
		rtnl_link_put(peer);
		rtnl_link_put(l);
	}
	if (err)
		return say_error("link from %s %s to %s %s: %s", a->ns->name, a->ifname,
				 b->ns->name, b->ifname, nl_geterror(err));
	return netns_up(b->ns, b->ifname);
}

static struct nl_addr *address_new(uint32_t ip, unsigned int prefix)
{
	unsigned char b[4] = { (unsigned char)(ip >> 24), (unsigned char)(ip >> 16),
			       (unsigned char)(ip >> 8), (unsigned char)ip };
	struct nl_addr *a = nl_addr_build(AF_INET, b, sizeof(b));

	if (a)
		nl_addr_set_prefixlen(a, (int)prefix);
	return a;
}

int netns_address_add(struct netns *n, const char *ifname, uint32_t ip, unsigned int prefix)
{
	int index = ifindex_find(n, ifname), err = -NLE_NOMEM;
	struct rtnl_addr *a;
	struct nl_addr *local;

	if (index < 0)
		return -1;
	a = rtnl_addr_alloc();
	local = address_new(ip, prefix);
	if (a && local) {
		rtnl_addr_set_ifindex(a, index);
		err = rtnl_addr_set_local(a, local);
		if (!err)
			err = rtnl_addr_add(n->rt, a, 0);
	}
	nl_addr_put(local);
	rtnl_addr_put(a);
	return err ? say_error("%s: address of %s: %s", n->name, ifname, nl_geterror(err)) : 0;
}

int netns_route_add(struct netns *n, const char *ifname, uint32_t ip)
{
	int index = ifindex_find(n, ifname), err = -NLE_NOMEM;
	struct rtnl_route *route;
	struct rtnl_nexthop *hop;
	struct nl_addr *to;

	if (index < 0)
		return -1;
	route = rtnl_route_alloc();
	hop = rtnl_route_nh_alloc();
	to = address_new(ip, 32);
	if (route && hop && to) {
		rtnl_route_nh_set_ifindex(hop, index);
		rtnl_route_add_nexthop(route, hop); // the route owns it from here
		hop = NULL;
		rtnl_route_set_scope(route, RT_SCOPE_LINK);
		err = rtnl_route_set_dst(route, to);
		if (!err)
			err = rtnl_route_add(n->rt, route, NLM_F_CREATE);
	}
	if (hop)
		rtnl_route_nh_free(hop);
	nl_addr_put(to);
	rtnl_route_put(route);
	return err ? say_error("%s: route through %s: %s", n->name, ifname, nl_geterror(err)) : 0;
}
