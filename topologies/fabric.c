// SPDX-License-Identifier: BSD-3-Clause
// Makes the namespaces and links of a topology, and the switches' command lines for it.
#include "topologies/fabric.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topologies/say.h"

enum { SEED_STEP = 1000003 };

__attribute__((format(printf, 2, 3))) static int word_add(struct fabric_switch *s,
							  const char *format, ...)
{
	va_list ap;
	int len;

	if (s->nr_words == FABRIC_WORDS)
		return say_error("a switch's command line is too long: it has more than %d ports",
				 FABRIC_PORTS_MAX);
	va_start(ap, format);
	len = vsnprintf(s->word[s->nr_words], FABRIC_WORD, format, ap);
	va_end(ap);
	if (len >= FABRIC_WORD)
		return say_error("a word of a switch's command line is too long");
	s->argv[s->nr_words] = s->word[s->nr_words];
	s->argv[++s->nr_words] = NULL;
	return 0;
}

struct fabric_ip fabric_ip(const struct topology_node *n)
{
	struct fabric_ip ip;

	snprintf(ip.text, sizeof(ip.text), "%u.%u.%u.%u", n->ip >> 24, n->ip >> 16 & 255,
		 n->ip >> 8 & 255, n->ip & 255);
	return ip;
}

static void end_name(struct fabric *f, const struct topology_end *e, struct netns_end *to)
{
	const struct topology_node *n = &f->topology->node[e->node];

	to->ns = &f->node[e->node];
	if (n->is_switch) {
		snprintf(to->ifname, sizeof(to->ifname), "p%u", e->port);
		to->mac = UINT64_C(0x02ff00000000) + ((uint64_t)e->node << 16) + e->port;
	} else {
		snprintf(to->ifname, sizeof(to->ifname), "eth%u", e->port);
		to->mac = e->port == 0
				  ? n->mac
				  : UINT64_C(0x020100000000) + ((uint64_t)e->port << 16) + e->node;
	}
}

static int host_end_prepare(struct fabric *f, const struct topology_link *l, int side,
			    const struct netns_end end[2])
{
	const struct topology_node *n = &f->topology->node[l->end[side].node];
	bool first = l->end[side].port == 0; // it has the host's address

	if (n->is_switch || n->outside)
		return 0;
	if (first && netns_address_add(end[side].ns, end[side].ifname, n->ip, n->prefix))
		return -1;
	if (f->udp || !f->topology->node[l->end[1 - side].node].is_switch)
		return 0;
	return netns_offloads_off(end[side].ns, end[side].ifname);
}

static int link_build(struct fabric *f, const struct topology_link *l)
{
	struct netns_end end[2];

	end_name(f, &l->end[0], &end[0]);
	end_name(f, &l->end[1], &end[1]);
	if (l->interface[0] || l->interface[1]) {
		for (int side = 0; side < 2; side++) {
			const struct lower lower = { l->interface[side], l->mtu };

			if (lower.name && lower_link(f->outer, &lower, &end[side]))
				return -1;
		}
	} else if (netns_link(&end[0], &end[1], l->mtu ? l->mtu : FABRIC_MTU)) {
		return -1;
	}
	return host_end_prepare(f, l, 0, end) || host_end_prepare(f, l, 1, end) ? -1 : 0;
}

// Answers to ARP for others come up to 0.8 s late by default.
static void port_prepare(const struct netns_end *port)
{
	char path[64];

	snprintf(path, sizeof(path), "ipv4/neigh/%s/proxy_delay", port->ifname);
	(void)netns_sysctl(port->ns, path, "0"); // only slower without
}

// The node beside a switch on its way to another.
static unsigned int next_hop(const struct topology *t, unsigned int sw, unsigned int node)
{
	for (unsigned int at = node; at != TOPOLOGY_NO_NODE; at = t->node[at].parent)
		if (t->node[at].parent == sw)
			return at;
	return t->node[sw].parent;
}

// A UDP switch's kernel knows by which port each address is reached.
static int routes_add(struct fabric *f, const struct topology_end *from,
		      const struct topology_end *to)
{
	const struct topology *t = f->topology;
	struct netns_end port;
	bool has_address = t->node[to->node].is_switch || to->port == 0;

	if (!f->udp || !t->node[from->node].is_switch || !has_address)
		return 0;
	end_name(f, from, &port);
	if (netns_enter(port.ns))
		return -1;
	port_prepare(&port);
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (i != from->node && next_hop(t, from->node, i) == to->node &&
		    netns_route_add(port.ns, port.ifname, t->node[i].ip))
			return -1;
	return 0;
}

// The switch's kernel would send router solicitations and the like into its ports.  The default
// covers interfaces made later.  A UDP switch is reached through the kernel instead: it has the
// address itself, and forwards what hosts send to each other.
static int switch_prepare(struct fabric *f, unsigned int node)
{
	struct netns *ns = &f->node[node];

	// What fails here is said with -v; the run is right without.
	(void)netns_sysctl(ns, "ipv6/conf/default/disable_ipv6", "1");
	if (!f->udp)
		return 0;
	(void)netns_sysctl(ns, "ipv4/ip_forward", "1");
	(void)netns_sysctl(ns, "ipv4/conf/default/proxy_arp", "1");
	return netns_address_add(ns, "lo", f->topology->node[node].ip, 32);
}

static int nodes_build(struct fabric *f)
{
	const struct topology *t = f->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (!t->node[i].outside && (netns_open(&f->node[i], t->node[i].name) ||
					    (t->node[i].is_switch && switch_prepare(f, i))))
			return -1;
	return 0;
}

static bool link_is_impaired(const struct topology_link *l)
{
	struct topology_faults_text faults;

	topology_faults(l, &faults);
	return faults.text[0] != 0;
}

static bool switch_has_hosts(const struct topology *t, unsigned int sw)
{
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (!t->node[i].is_switch && t->node[i].parent == sw)
			return true;
	return false;
}

unsigned long long fabric_seed(const struct topology *t, unsigned int i)
{
	return (t->seed_given ? t->seed : 1) + SEED_STEP * (unsigned long long)i;
}

// Of a link between switches each does what comes in, so that it is done once.  A socket has all
// links in one: there the switches with hosts do it all.
void fabric_impair(const struct topology *t, unsigned int port, const struct topology_link *l,
		   struct fabric_impair *to)
{
	bool between = t->node[l->end[0].node].is_switch && t->node[l->end[1].node].is_switch;
	struct topology_faults_text faults;

	to->text[0] = 0;
	topology_faults(l, &faults);
	if (faults.text[0])
		snprintf(to->text, sizeof(to->text), "%u:%.480s%s", port, faults.text,
			 between ? ",dir=in" : "");
}

static int impair_add(const struct topology *t, struct fabric_switch *s, unsigned int port,
		      const struct topology_link *l)
{
	struct fabric_impair impair;

	fabric_impair(t, port, l, &impair);
	if (!impair.text[0])
		return 0;
	return word_add(s, "--impair") || word_add(s, "%s", impair.text) ? -1 : 0;
}

static int ports_add(struct fabric *f, struct fabric_switch *s)
{
	const struct topology *t = f->topology;

	if (f->udp) {
		if (word_add(s, "-i") ||
		    word_add(s, "1@udp:%s:%d", fabric_ip(&t->node[s->node]).text, FABRIC_UDP_PORT))
			return -1;
		for (unsigned int i = 0; i < t->nr_links; i++)
			for (int side = 0; side < 2; side++)
				if (t->link[i].end[side].node == s->node &&
				    !t->node[t->link[i].end[1 - side].node].is_switch)
					return impair_add(t, s, 1, &t->link[i]);
		return 0;
	}
	for (unsigned int i = 0; i < 2 * t->nr_links; i++) {
		const struct topology_end *e = &t->link[i / 2].end[i % 2];

		if (e->node != s->node)
			continue;
		if (word_add(s, "-i") || word_add(s, "%u@p%u", e->port, e->port) ||
		    impair_add(t, s, e->port, &t->link[i / 2]))
			return -1;
	}
	return 0;
}

// Whoever else says that it is the parent is then not asked.
static int parent_add(struct fabric *f, struct fabric_switch *s, const struct topology_node *n)
{
	const struct topology *t = f->topology;
	const struct topology_link *up = &t->link[n->uplink];
	const char *ip = fabric_ip(&t->node[n->parent]).text;

	if (word_add(s, "--parent"))
		return -1;
	if (f->udp)
		return word_add(s, "%s", ip);
	return word_add(s, "%u@%s", up->end[up->end[1].node == s->node].port, ip);
}

// What is not given is left to the switch.
static int resources_add(struct fabric_switch *s, const struct topology_node *n)
{
	if (n->jobs && (word_add(s, "--jobs") || word_add(s, "%u", n->jobs)))
		return -1;
	if (n->slots && (word_add(s, "--slots") || word_add(s, "%u", n->slots)))
		return -1;
	if (n->memory &&
	    (word_add(s, "--memory") || word_add(s, "%llu", (unsigned long long)n->memory)))
		return -1;
	return 0;
}

int fabric_switch_life(struct fabric *f, struct fabric_switch *s, unsigned int life)
{
	char path[RECORD_PATH];

	if (!s->pcap_word)
		return 0;
	if (!record_switch_dir(f->record, &f->topology->node[s->node], life, path))
		return say_error("the path of the captures of switch %s is too long",
				 f->topology->node[s->node].name);
	snprintf(s->word[s->pcap_word], FABRIC_WORD, "%s", path);
	if (!f->udp)
		record_links(f->record, f->topology, s->node, life);
	return 0;
}

static int pcap_add(struct fabric *f, struct fabric_switch *s)
{
	if (!f->record->dir)
		return 0;
	if (word_add(s, "--pcap-format") || word_add(s, f->record->ng ? "pcapng" : "pcap") ||
	    word_add(s, "--pcap") || word_add(s, "."))
		return -1;
	s->pcap_word = s->nr_words - 1;
	return fabric_switch_life(f, s, 0);
}

static int switch_command(struct fabric *f, unsigned int i)
{
	const struct topology *t = f->topology;
	struct fabric_switch *s = &f->switches[i];
	// Each switch has faults of its own.
	unsigned long long seed = fabric_seed(t, i);
	const struct topology_node *n;

	s->node = t->switches[i];
	n = &t->node[s->node];
	if (word_add(s, "tally-switch") || ports_add(f, s) || word_add(s, "--ip") ||
	    word_add(s, "%s", fabric_ip(n).text))
		return -1;
	if (n->parent != TOPOLOGY_NO_NODE && parent_add(f, s, n))
		return -1;
	if (resources_add(s, n))
		return -1;
	if ((i || t->seed_given) && (word_add(s, "--seed") || word_add(s, "%llu", seed)))
		return -1;
	if (pcap_add(f, s))
		return -1;
	if (s->ctl_fd < 0 ? word_add(s, "--ctl") || word_add(s, "none")
			  : word_add(s, "--ctl-fd") || word_add(s, "%d", FABRIC_CTL_FD))
		return -1;
	return word_add(s, "--ready-fd") || word_add(s, "%d", FABRIC_READY_FD) ? -1 : 0;
}

static bool links_differ(const struct topology_link *a, const struct topology_link *b)
{
	struct topology_faults_text of_a, of_b;

	topology_faults(a, &of_a);
	topology_faults(b, &of_b);
	return strcmp(of_a.text, of_b.text) != 0;
}

int fabric_check(const struct topology *t, bool udp)
{
	for (unsigned int i = 0; udp && i < t->nr_links; i++) {
		const struct topology_link *l = &t->link[i];
		unsigned int a = l->end[0].node, b = l->end[1].node;

		if (links_differ(l, &t->link[0]))
			return say_error("%s:%zu: with --driver udp all links share one port of the "
					 "switch: give all of "
					 "them the same faults, or use --driver af_packet",
					 topology_path(t, l->place), l->place.line + 1);
		if (link_is_impaired(l) && t->node[a].is_switch && t->node[b].is_switch &&
		    switch_has_hosts(t, a) == switch_has_hosts(t, b))
			return say_error("%s:%zu: with --driver udp a link between switches has "
					 "faults only if just one of them has hosts; use --driver "
					 "af_packet",
					 topology_path(t, l->place), l->place.line + 1);
	}
	return 0;
}

int fabric_build(struct fabric *f, const struct topology *t, bool udp, const int *ctl_fds)
{
	f->topology = t;
	f->udp = udp;
	f->switches = calloc(t->nr_switches, sizeof(*f->switches));
	if (!f->switches)
		return say_error("not enough memory");
	if (nodes_build(f))
		return -1;
	for (unsigned int i = 0; i < t->nr_links; i++) {
		const struct topology_end *end = t->link[i].end;

		if (link_build(f, &t->link[i]) || routes_add(f, &end[0], &end[1]) ||
		    routes_add(f, &end[1], &end[0]))
			return -1;
	}
	for (unsigned int i = 0; i < t->nr_switches; i++) {
		f->switches[i].ctl_fd = ctl_fds[i];
		if (switch_command(f, i))
			return -1;
	}
	return 0;
}

// The switch takes its port up by itself.
static int end_remake(struct fabric *f, const struct topology_link *l, int side)
{
	const struct lower lower = { l->interface[side], l->mtu };
	struct netns_end end[2];

	end_name(f, &l->end[0], &end[0]);
	end_name(f, &l->end[1], &end[1]);
	if (lower_link(f->outer, &lower, &end[side]) || host_end_prepare(f, l, side, end))
		return -1;
	return routes_add(f, &l->end[side], &l->end[1 - side]);
}

static void end_look(struct fabric *f, unsigned int i)
{
	const struct topology_link *l = &f->topology->link[i / 2];
	const char *name = l->interface[i % 2];
	struct netns_end end;

	end_name(f, &l->end[i % 2], &end);
	if (!f->gone[i] && lower_is_linked(&end))
		return;
	if (!f->gone[i])
		say_line("interface %s is gone: the link of %s waits until it is there again, and "
			 "up",
			 name, end.ns->name);
	f->gone[i] = true;
	if (!lower_is_up(f->outer, name)) {
		f->bad[i] = false;
	} else if (!f->bad[i]) {
		f->bad[i] = end_remake(f, l, (int)(i % 2)) != 0;
		f->gone[i] = f->bad[i];
		if (!f->gone[i])
			say_line("interface %s is there again", name);
	}
}

void fabric_look(struct fabric *f)
{
	for (unsigned int i = 0; i < 2 * f->topology->nr_links; i++)
		if (f->topology->link[i / 2].interface[i % 2])
			end_look(f, i);
}

void fabric_free(struct fabric *f)
{
	const struct topology *t = f->topology;
	struct netns_end end;

	for (unsigned int i = 0; t && i < 2 * t->nr_links; i++) {
		if (!t->link[i / 2].interface[i % 2])
			continue;
		end_name(f, &t->link[i / 2].end[i % 2], &end);
		lower_unlink(&end);
	}
	free(f->switches);
	f->switches = NULL;
}
