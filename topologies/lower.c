// SPDX-License-Identifier: BSD-3-Clause
// An end of a link on an interface of the user's.  It stays where it is: a macvlan interface above it, in passthru mode,
// sees and sends all its packets, and vanishes with the namespace that has it, however the run ends.
#include "topologies/lower.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/macvlan.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "topologies/say.h"

#define PRIVILEGE                                                                                  \
	"this needs CAP_NET_ADMIN and CAP_SYS_ADMIN where the interface is: run it as root, or "   \
	"in a network namespace of your own, such as one of `unshare -Urn`"

bool lower_is_used(const struct topology *t)
{
	for (unsigned int i = 0; i < t->nr_links; i++)
		if (t->link[i].interface[0] || t->link[i].interface[1])
			return true;
	return false;
}

int lower_open(struct netns *outer)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];
	const unsigned int need = 1U << CAP_NET_ADMIN | 1U << CAP_SYS_ADMIN;

	*outer = (struct netns){ .name = "outside", .fd = -1 };
	if (syscall(SYS_capget, &h, d) || (d[0].effective & need) != need)
		return say_error("the file names interfaces of this machine: " PRIVILEGE);
	outer->fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (outer->fd < 0)
		return say_error("/proc/self/ns/net: %s", say_errno(errno));
	outer->rt = nl_socket_alloc();
	if (!outer->rt || nl_connect(outer->rt, NETLINK_ROUTE))
		return say_error("no rtnetlink: %s", strerror(errno));
	return 0;
}

/* The names that the user may have meant. */
static void names_list(struct netns *outer, char *text, size_t size)
{
	struct nl_cache *cache;
	size_t len = 0;

	snprintf(text, size, " none");
	if (rtnl_link_alloc_cache(outer->rt, AF_UNSPEC, &cache))
		return;
	for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
		struct rtnl_link *l = (struct rtnl_link *)o;

		if (rtnl_link_get_arptype(l) == ARPHRD_ETHER && len + IFNAMSIZ + 2 < size)
			len += (size_t)snprintf(text + len, size - len, "%s %s", len ? "," : "",
						rtnl_link_get_name(l));
	}
	nl_cache_free(cache);
}

static bool has_default_route(const struct netns *outer, const char *name)
{
	char line[256], ifname[32], to[16];
	bool found = false;
	FILE *f;

	if (netns_enter(outer))
		return false;
	f = fopen("/proc/thread-self/net/route", "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%31s %15s", ifname, to) == 2 && strcmp(ifname, name) == 0 &&
			strcmp(to, "00000000") == 0;
	if (f)
		fclose(f);
	return found;
}

static int lower_check(struct netns *outer, struct rtnl_link *l, const struct lower *lower)
{
	const char *name = lower->name;
	const unsigned int mtu = rtnl_link_get_mtu(l);

	if (rtnl_link_get_arptype(l) != ARPHRD_ETHER)
		return say_error("interface %s is no Ethernet interface", name);
	if (rtnl_link_get_master(l))
		return say_error("interface %s is in use, as a port of a bridge or bond: `ip link "
				 "set %s nomaster`",
				 name, name);
	if (has_default_route(outer, name))
		return say_error("interface %s is in use: the default route of this machine goes "
				 "through it",
				 name);
	if (!(rtnl_link_get_flags(l) & IFF_UP))
		return say_error("interface %s is down: `ip link set %s up`", name, name);
	if (lower->mtu > mtu || mtu < TOPOLOGY_MTU_MIN)
		return say_error("interface %s has an MTU of %u, and the link at it one of %u: `ip "
				 "link set %s mtu %u`, or change the link's mtu",
				 name, mtu, lower->mtu ? lower->mtu : TOPOLOGY_MTU_MIN, name,
				 lower->mtu ? lower->mtu : TOPOLOGY_MTU_MIN);
	return 0;
}

static int lower_fail(const char *name, int err)
{
	if (err == -NLE_PERM || err == -NLE_NOACCESS)
		return say_error("interface %s: " PRIVILEGE, name);
	if (err == -NLE_BUSY || err == -NLE_INVAL)
		return say_error("interface %s is in use: by another fabric?", name);
	if (err == -NLE_OPNOTSUPP)
		return say_error("interface %s: this kernel has no macvlan interfaces "
				 "(CONFIG_MACVLAN), by which a port stands on one",
				 name);
	return say_error("interface %s: no macvlan above it: %s", name, nl_geterror(err));
}

/* Of a run before that was killed the kernel takes the macvlan away a little later. */
static int above_add(struct netns *outer, struct rtnl_link *above)
{
	const struct timespec pause = { 0, 50000000 };
	int err;

	for (int tries = 0; tries < 20; tries++) {
		err = rtnl_link_add(outer->rt, above, NLM_F_CREATE | NLM_F_EXCL);
		if (err != -NLE_BUSY && err != -NLE_INVAL)
			return err;
		nanosleep(&pause, NULL);
	}
	return err;
}

static int above_make(struct netns *outer, const struct lower *lower, struct rtnl_link *below,
		      const struct netns_end *end)
{
	struct rtnl_link *above = rtnl_link_macvlan_alloc();
	int err;

	if (!above)
		return say_error("not enough memory");
	rtnl_link_set_link(above, rtnl_link_get_ifindex(below));
	rtnl_link_set_name(above, end->ifname);
	rtnl_link_set_mtu(above, lower->mtu ? lower->mtu : rtnl_link_get_mtu(below));
	rtnl_link_set_ns_fd(above, end->ns->fd);
	rtnl_link_macvlan_set_mode(above, rtnl_link_macvlan_str2mode("passthru"));
	err = above_add(outer, above);
	rtnl_link_put(above);
	return err ? lower_fail(lower->name, err) : netns_up(end->ns, end->ifname);
}

int lower_link(struct netns *outer, const struct lower *lower, const struct netns_end *end)
{
	struct rtnl_link *l;
	char names[512];
	int rc;

	if (rtnl_link_get_kernel(outer->rt, 0, lower->name, &l)) {
		names_list(outer, names, sizeof(names));
		return say_error("there is no interface '%s' here; there are:%s", lower->name,
				 names);
	}
	rc = lower_check(outer, l, lower);
	if (rc == 0)
		rc = above_make(outer, lower, l, end);
	rtnl_link_put(l);
	return rc;
}

void lower_unlink(const struct netns_end *end)
{
	struct rtnl_link *above;

	if (!end->ns->rt || rtnl_link_get_kernel(end->ns->rt, 0, end->ifname, &above))
		return;
	(void)rtnl_link_delete(end->ns->rt, above);
	rtnl_link_put(above);
}

bool lower_is_linked(const struct netns_end *end)
{
	struct rtnl_link *above;

	if (rtnl_link_get_kernel(end->ns->rt, 0, end->ifname, &above))
		return false;
	rtnl_link_put(above);
	return true;
}

bool lower_is_up(struct netns *outer, const char *name)
{
	struct rtnl_link *l;
	bool up;

	if (rtnl_link_get_kernel(outer->rt, 0, name, &l))
		return false;
	up = rtnl_link_get_flags(l) & IFF_UP;
	rtnl_link_put(l);
	return up;
}
