// SPDX-License-Identifier: BSD-3-Clause
// What no single key of a topology file can tell: addresses that clash or are left out, and hosts
// without links.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { SMALL_MAX = 250, ADDRESSES = 1 << 16 };

#define NET_DEFAULT UINT32_C(0x0a000000)     /* 10.0.0.0/24, or /16 if there are many nodes */
#define MAC_DEFAULT UINT64_C(0x020000000000) /* locally administered, one interface */

struct ip_text {
	char text[16];
};

static struct ip_text ip_text(uint32_t ip)
{
	struct ip_text t;

	snprintf(t.text, sizeof(t.text), "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
		 ip & 255);
	return t;
}

static const struct topology_node *ip_owner(const struct topology *t, uint32_t ip)
{
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (t->node[i].ip == ip)
			return &t->node[i];
	return NULL;
}

static const struct topology_node *mac_owner(const struct topology *t, uint64_t mac)
{
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (t->node[i].mac == mac)
			return &t->node[i];
	return NULL;
}

static void duplicates_check(struct reader *r)
{
	const struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i], *o = n->ip ? ip_owner(t, n->ip) : n;

		if (o != n)
			reader_error(r, n->place,
				     "expected an address of its own for %s, not %s: %s has it",
				     n->name, ip_text(n->ip).text, o->name);
		o = n->mac ? mac_owner(t, n->mac) : n;
		if (o != n)
			reader_error(r, n->place,
				     "expected a MAC address of its own for %s, not %s's", n->name,
				     o->name);
	}
}

/* Which of the last 16 bits are taken in the network that we choose of. */
struct addresses {
	uint64_t ip[ADDRESSES / 64], mac[ADDRESSES / 64];
	uint32_t last; /* of the network's, for switches */
	unsigned int prefix;
};

static bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static void addresses_init(struct addresses *a, const struct topology *t)
{
	memset(a, 0, sizeof(*a));
	a->prefix = t->nr_nodes > SMALL_MAX ? 16 : 24;
	a->last = (UINT32_C(1) << (32 - a->prefix)) - 2;
	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i];

		if (n->ip && n->ip - NET_DEFAULT < ADDRESSES)
			bit_set(a->ip, n->ip - NET_DEFAULT);
		if (n->mac && n->mac - MAC_DEFAULT < ADDRESSES)
			bit_set(a->mac, (uint32_t)(n->mac - MAC_DEFAULT));
	}
}

// The n-th host gets 10.0.0.n, or the next that is free.
static uint32_t ip_choose(struct addresses *a, uint32_t n)
{
	for (uint32_t k = 0; k < a->last - 1; k++) {
		uint32_t at = (n - 1 + k) % (a->last - 1) + 1;

		if (bit_get(a->ip, at))
			continue;
		bit_set(a->ip, at);
		return NET_DEFAULT + at;
	}
	return 0;
}

// Switches get theirs from the other end.
static uint32_t switch_ip_choose(struct addresses *a)
{
	for (uint32_t at = a->last; at; at--) {
		if (bit_get(a->ip, at))
			continue;
		bit_set(a->ip, at);
		return NET_DEFAULT + at;
	}
	return 0;
}

static uint64_t mac_choose(struct addresses *a, uint32_t n)
{
	while (bit_get(a->mac, n)) // there are more than there can be hosts
		n++;
	bit_set(a->mac, n);
	return MAC_DEFAULT + n;
}

static void node_address_choose(struct addresses *a, struct topology_node *n, uint32_t nr_hosts)
{
	if (!n->ip) {
		n->ip = n->is_switch ? switch_ip_choose(a) : ip_choose(a, nr_hosts);
		n->prefix = n->is_switch ? 32 : a->prefix;
	}
	if (!n->is_switch && !n->mac)
		n->mac = mac_choose(a, nr_hosts);
}

static void addresses_choose(struct reader *r)
{
	struct topology *t = r->topology;
	static struct addresses a; // a stack may be small
	uint32_t nr_hosts = 0;

	addresses_init(&a, t);
	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		struct topology_node *n = &t->node[i];

		nr_hosts += !n->is_switch;
		node_address_choose(&a, n, nr_hosts);
		if (!n->ip)
			reader_error(r, n->place,
				     "expected an ip for %s: 10.0.0.0/%u has no free one", n->name,
				     a.prefix);
	}
}

static bool net_contains(const struct topology_node *host, uint32_t ip)
{
	return ((host->ip ^ ip) & (UINT32_MAX << (32 - host->prefix))) == 0;
}

static void host_check(struct reader *r, const struct topology_node *n)
{
	const struct topology *t = r->topology;
	const struct topology_node *sw = n->parent == TOPOLOGY_NO_NODE ? NULL : &t->node[n->parent];
	const char *some = t->node[t->switches[0]].name;

	if (n->nr_links == 0)
		reader_error(r, n->place,
			     "expected a link of host %s such as [%s, %s-p1], not none", n->name,
			     n->name, some);
	else if (!sw)
		reader_error(r, n->place, "expected the first link of host %s to end at a switch",
			     n->name);
	else if (!net_contains(n, sw->ip))
		reader_error(
			r, n->place,
			"expected %s's address %s in the network of host %s, %s/%u (set ip of %s)",
			sw->name, ip_text(sw->ip).text, n->name, ip_text(n->ip).text, n->prefix,
			sw->name);
}

// It is not ours to be linked or to run commands in.
static void outside_check(struct reader *r)
{
	const struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i];

		if (n->outside && (n->nr_links > 1 || n->commands.nr))
			reader_error(r, n->place,
				     "expected no %s of host %s, which is outside, behind an "
				     "interface",
				     n->nr_links > 1 ? "other link" : "commands", n->name);
	}
}

static void nodes_check(struct reader *r)
{
	const struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const struct topology_node *n = &t->node[i];

		if (!n->is_switch)
			host_check(r, n);
		else if (n->nr_links == 0)
			reader_error(r, n->place, "expected a link to switch %s, not none",
				     n->name);
	}
}

// What only a file that is to run must fulfil.
static void runnable_check(struct reader *r)
{
	reader_tree(r);
	if (r->nr_errors == 0)
		nodes_check(r);
	if (r->nr_errors == 0)
		reader_tree_jobs(r);
}

void reader_complete(struct reader *r)
{
	duplicates_check(r);
	if (r->nr_errors == 0)
		addresses_choose(r);
	outside_check(r);
	reader_check_sim(r);
	if (r->nr_errors == 0 && r->topology->nr_jobs)
		runnable_check(r);
}

// Switches make the faults.
static void links_check(struct reader *r)
{
	const struct topology *t = r->topology;

	for (unsigned int i = 0; i < t->nr_links; i++) {
		const struct topology_link *l = &t->link[i];
		struct topology_faults_text faults;

		topology_faults(l, &faults);
		if (faults.text[0] && !t->node[l->end[0].node].is_switch &&
		    !t->node[l->end[1].node].is_switch)
			reader_error(r, l->place,
				     "expected no faults on a link between hosts, which has no "
				     "switch to make them");
	}
}

// Larger ones are read and simulated, but no kernel shows them in reasonable time.
static void netns_size_check(struct reader *r)
{
	const struct topology *t = r->topology;
	unsigned int nr_ranks = 0;

	if (t->nr_nodes > TOPOLOGY_NETNS_NODES_MAX)
		reader_error(r, t->node[TOPOLOGY_NETNS_NODES_MAX].place,
			     "expected at most %d hosts and switches in real namespaces, not %u",
			     TOPOLOGY_NETNS_NODES_MAX, t->nr_nodes);
	if (t->nr_links > TOPOLOGY_NETNS_LINKS_MAX)
		reader_error(r, t->link[TOPOLOGY_NETNS_LINKS_MAX].place,
			     "expected at most %d links between real namespaces, not %u",
			     TOPOLOGY_NETNS_LINKS_MAX, t->nr_links);
	for (unsigned int i = 0; i < t->nr_jobs; i++) {
		bool fitted = nr_ranks <= TOPOLOGY_NETNS_RANKS_MAX;

		nr_ranks += t->job[i].ranks.nr;
		if (fitted && nr_ranks > TOPOLOGY_NETNS_RANKS_MAX)
			reader_error(r, t->job[i].place,
				     "expected at most %d ranks in real namespaces, of all jobs "
				     "together, not %u",
				     TOPOLOGY_NETNS_RANKS_MAX, nr_ranks);
	}
}

int topology_tree(struct topology *t)
{
	struct reader r = { .topology = t, .document = t->document };

	reader_tree(&r);
	return r.nr_errors ? -1 : 0;
}

static void jobs_check(struct reader *r)
{
	if (r->topology->nr_jobs == 0)
		reader_error(r, (struct topology_place){ 0, 0, 0 },
			     "expected jobs to run, not none");
}

int topology_check_netns(struct topology *t, bool with_jobs, FILE *errors)
{
	struct reader r = { .topology = t, .document = t->document, .errors = errors };

	runnable_check(&r);
	netns_size_check(&r);
	links_check(&r);
	if (with_jobs)
		jobs_check(&r);
	return r.nr_errors ? -1 : 0;
}

int topology_check_local(struct topology *t, unsigned int max_ranks, FILE *errors)
{
	struct reader r = { .topology = t, .document = t->document, .errors = errors };
	unsigned int nr_ranks = 0;

	runnable_check(&r);
	links_check(&r);
	jobs_check(&r);
	for (unsigned int i = 0; i < t->nr_jobs; i++) {
		nr_ranks += t->job[i].ranks.nr;
		if (!max_ranks || nr_ranks <= max_ranks)
			continue;
		reader_error(&r, t->job[i].place,
			     "expected at most %u ranks of all jobs together, with a thread each, "
			     "not %u",
			     max_ranks, nr_ranks);
		break;
	}
	return r.nr_errors ? -1 : 0;
}
