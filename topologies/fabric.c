// SPDX-License-Identifier: BSD-3-Clause
// Makes the namespaces and links of a topology, and the switch's command line for it.
#include "topologies/fabric.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "topologies/program.h"
#include "topologies/say.h"

__attribute__((format(printf, 2, 3))) static int word_add(struct fabric *f, const char *format, ...)
{
	va_list ap;
	int len;

	if (f->nr_words == FABRIC_WORDS)
		return say_error("the switch's command line is too long");
	va_start(ap, format);
	len = vsnprintf(f->word[f->nr_words], FABRIC_WORD, format, ap);
	va_end(ap);
	if (len >= FABRIC_WORD)
		return say_error("a word of the switch's command line is too long");
	f->argv[f->nr_words] = f->word[f->nr_words];
	f->argv[++f->nr_words] = NULL;
	return 0;
}

static void end_name(struct fabric *f, const struct topology_end *e, struct netns_end *to)
{
	const struct topology_node *n = &f->topology->node[e->node];

	to->ns = &f->node[e->node];
	if (n->is_switch) {
		snprintf(to->ifname, sizeof(to->ifname), "p%u", e->port);
		to->mac = UINT64_C(0x02ff00000000) + e->port;
	} else {
		snprintf(to->ifname, sizeof(to->ifname), "eth%u", e->port);
		to->mac = e->port == 0
				  ? n->mac
				  : UINT64_C(0x020100000000) + ((uint64_t)e->port << 16) + e->node;
	}
}

// Answers to ARP for others come up to 0.8 s late by default.
static int port_route(const struct netns_end *port, uint32_t host_ip)
{
	char path[64];

	if (netns_enter(port->ns))
		return -1;
	snprintf(path, sizeof(path), "ipv4/neigh/%s/proxy_delay", port->ifname);
	(void)netns_sysctl(port->ns, path, "0"); // only slower without
	return netns_route_add(port->ns, port->ifname, host_ip);
}

static int host_end_prepare(struct fabric *f, const struct topology_link *l, int side,
			    const struct netns_end end[2])
{
	const struct topology_node *n = &f->topology->node[l->end[side].node];
	const struct topology_node *peer = &f->topology->node[l->end[1 - side].node];
	bool first = l->end[side].port == 0; // it has the host's address

	if (n->is_switch)
		return 0;
	if (first && netns_address_add(end[side].ns, end[side].ifname, n->ip, n->prefix))
		return -1;
	if (!peer->is_switch)
		return 0;
	if (!f->udp)
		return netns_offloads_off(end[side].ns, end[side].ifname);
	return first ? port_route(&end[1 - side], n->ip) : 0;
}

static int link_build(struct fabric *f, const struct topology_link *l)
{
	struct netns_end end[2];

	end_name(f, &l->end[0], &end[0]);
	end_name(f, &l->end[1], &end[1]);
	if (netns_link(&end[0], &end[1], l->mtu ? l->mtu : FABRIC_MTU))
		return -1;
	return host_end_prepare(f, l, 0, end) || host_end_prepare(f, l, 1, end) ? -1 : 0;
}

// The switch's kernel would send router solicitations and the like into its ports.  The default
// covers interfaces made later.  A UDP switch is reached through the kernel instead: it has the
// address itself, and forwards what hosts send to each other.
static int switch_prepare(struct fabric *f, const struct topology_node *sw)
{
	struct netns *ns = &f->node[f->switch_node];

	// What fails here is said with -v; the run is right without.
	(void)netns_sysctl(ns, "ipv6/conf/default/disable_ipv6", "1");
	if (!f->udp)
		return 0;
	(void)netns_sysctl(ns, "ipv4/ip_forward", "1");
	(void)netns_sysctl(ns, "ipv4/conf/default/proxy_arp", "1");
	return netns_address_add(ns, "lo", sw->ip, 32);
}

static int nodes_build(struct fabric *f)
{
	const struct topology *t = f->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		if (netns_open(&f->node[i], t->node[i].name))
			return -1;
		if (!t->node[i].is_switch)
			continue;
		f->switch_node = i;
		if (switch_prepare(f, &t->node[i]))
			return -1;
	}
	return 0;
}

static bool link_is_impaired(const struct topology_link *l)
{
	return l->loss > 0 || l->dup > 0 || l->reorder > 0;
}

static int impair_add(struct fabric *f, unsigned int port, const struct topology_link *l)
{
	if (!link_is_impaired(l))
		return 0;
	if (word_add(f, "--impair"))
		return -1;
	return word_add(f, "%u:loss=%.9g,dup=%.9g,reorder=%.9g", port, l->loss, l->dup, l->reorder);
}

static int ports_add(struct fabric *f)
{
	const struct topology *t = f->topology;

	if (f->udp) {
		if (word_add(f, "-i") || word_add(f, "1@udp:%s:%d", f->switch_ip, FABRIC_UDP_PORT))
			return -1;
		return impair_add(f, 1, &t->link[0]);
	}
	for (unsigned int i = 0; i < 2 * t->nr_links; i++) {
		const struct topology_end *e = &t->link[i / 2].end[i % 2];

		if (e->node != f->switch_node)
			continue;
		if (word_add(f, "-i") || word_add(f, "%u@p%u", e->port, e->port) ||
		    impair_add(f, e->port, &t->link[i / 2]))
			return -1;
	}
	return 0;
}

static int switch_command(struct fabric *f)
{
	const struct topology *t = f->topology;
	uint32_t ip = t->node[f->switch_node].ip;

	snprintf(f->switch_ip, sizeof(f->switch_ip), "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255,
		 ip >> 8 & 255, ip & 255);
	if (word_add(f, "tally-switch") || ports_add(f) || word_add(f, "--ip") ||
	    word_add(f, "%s", f->switch_ip))
		return -1;
	if (t->seed_given &&
	    (word_add(f, "--seed") || word_add(f, "%llu", (unsigned long long)t->seed)))
		return -1;
	return word_add(f, "--ready-fd") || word_add(f, "%d", PROGRAM_READY_FD) ? -1 : 0;
}

int fabric_check(const struct topology *t, bool udp)
{
	const struct topology_link *first = &t->link[0];

	for (unsigned int i = 1; udp && i < t->nr_links; i++) {
		const struct topology_link *l = &t->link[i];

		if (l->loss < first->loss || l->loss > first->loss || l->dup < first->dup ||
		    l->dup > first->dup || l->reorder < first->reorder ||
		    l->reorder > first->reorder)
			return say_error(
				"%s:%zu: with --driver udp all links share one port of the "
				"switch: give all of "
				"them the same loss, dup and reorder, or use --driver af_packet",
				t->path, l->place.line + 1);
	}
	return 0;
}

int fabric_build(struct fabric *f, const struct topology *t, bool udp)
{
	f->topology = t;
	f->udp = udp;
	if (nodes_build(f))
		return -1;
	for (unsigned int i = 0; i < t->nr_links; i++)
		if (link_build(f, &t->link[i]))
			return -1;
	return switch_command(f);
}
