// SPDX-License-Identifier: BSD-3-Clause
// A topology's switches in one process, with the options that the netns fabric gives to tally-switch.
#include "topologies/local.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "switch/setup.h"
#include "topologies/fabric.h"
#include "topologies/lower.h"
#include "topologies/say.h"

enum { LOCAL_WORD = FABRIC_WORD, LOCAL_WORDS = 4 * FABRIC_PORTS_MAX + 24 };

/* A command line. */
struct words {
	char word[LOCAL_WORDS][LOCAL_WORD];
	char *argv[LOCAL_WORDS];
	int nr;
};

static void words_add(struct words *w, const char *option, const char *value)
{
	if (w->nr + 2 > LOCAL_WORDS)
		abort(); // more ports than the topology's reader lets through
	for (int i = 0; i < 2; i++) {
		snprintf(w->word[w->nr], LOCAL_WORD, "%s", i ? value : option);
		w->argv[w->nr] = w->word[w->nr];
		w->nr++;
	}
}

int local_check(const struct topology *t, const char *fabric)
{
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (t->node[i].commands.nr)
			return say_error("%s:%zu: the commands of host %s need a network of their "
					 "own, which %s does not make: use `tally-fabric run`",
					 t->path, t->node[i].place.line + 1, t->node[i].name,
					 fabric);
	for (unsigned int i = 0; i < t->nr_jobs; i++)
		if (t->job[i].run)
			return say_error("%s:%zu: job %s runs a command, which %s cannot: give it a "
					 "'workload' or use `tally-fabric run`",
					 t->path, t->job[i].place.line + 1, t->job[i].name, fabric);
	if (lower_is_used(t))
		say_line("the interfaces of the file are not used: %s makes all links and has all "
			 "hosts",
			 fabric);
	return 0;
}

unsigned int local_mtu(const struct topology_link *link)
{
	const unsigned int mtu = link->mtu ? link->mtu : FABRIC_MTU;

	return mtu < PORT_MTU_MAX ? mtu : PORT_MTU_MAX;
}

unsigned int local_payload(const struct topology_link *link)
{
	return local_mtu(link) - FRAME_IPV4 - FRAME_UDP;
}

struct local_end local_host_end(const struct topology *t, unsigned int node)
{
	for (unsigned int i = 0; i < 2 * t->nr_links; i++) {
		const struct topology_end *e = &t->link[i / 2].end[i % 2];

		if (e->node == node && e->port == 0)
			return (struct local_end){ &t->link[i / 2], i / 2, (int)(i % 2) };
	}
	abort(); // the topology's reader has seen to it
}

int local_port(const struct local_switch *sw, unsigned int link)
{
	for (unsigned int i = 0; i < sw->node.lcore.nr_ports; i++)
		if (sw->end[i].index == link)
			return (int)i;
	return -1;
}

/* The faults that a switch makes at a link. */
static void link_faults(const struct topology *t, const struct local_ways *ways,
			const struct local_end *end, struct fabric_impair *to)
{
	struct topology_link link = *end->link;

	if (ways->lines) {
		link.delay_ns = link.rate_bps = 0;
		link.fault[TOPOLOGY_QUEUE].text = NULL;
	}
	fabric_impair(t, link.end[end->side].port, &link, to);
}

/* What is not given is left to the switch. */
static void resources_words(const struct topology_node *n, struct words *w)
{
	const struct {
		const char *option;
		uint64_t value;
	} all[] = {
		{ "--jobs", n->jobs },
		{ "--slots", n->slots },
		{ "--memory", n->memory },
	};
	char text[24];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i].value)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64, all[i].value);
		words_add(w, all[i].option, text);
	}
}

static int switch_words(struct local_switch *sw, const struct topology *t,
			const struct local_ways *ways, struct words *w)
{
	const struct topology_node *n = &t->node[sw->index];
	struct fabric_impair impair;
	char text[LOCAL_WORD];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < 2 * t->nr_links; i++)
		nr += t->link[i / 2].end[i % 2].node == sw->index;
	sw->end = calloc(nr, sizeof(*sw->end));
	if (!sw->end)
		return say_error("not enough memory");
	nr = 0;
	for (unsigned int i = 0; i < 2 * t->nr_links; i++) {
		const struct topology_end *e = &t->link[i / 2].end[i % 2];

		if (e->node != sw->index)
			continue;
		sw->end[nr] = (struct local_end){ &t->link[i / 2], i / 2, (int)(i % 2) };
		/* Each a device of its own, as far as the options tell. */
		snprintf(text, sizeof(text), "%u@udp:%s:%u", e->port, fabric_ip(n).text, e->port);
		words_add(w, "-i", text);
		link_faults(t, ways, &sw->end[nr++], &impair);
		if (impair.text[0])
			words_add(w, "--impair", impair.text);
	}
	words_add(w, "--ip", fabric_ip(n).text);
	if (n->parent != TOPOLOGY_NO_NODE)
		words_add(w, "--parent", fabric_ip(&t->node[n->parent]).text);
	resources_words(n, w);
	return 0;
}

static int switch_conf(struct local *l, unsigned int i, const struct local_ways *ways)
{
	struct local_switch *sw = &l->switches[i];
	struct words *w = calloc(1, sizeof(*w));
	struct port_error err;
	char seed[32], name[] = "tally-switch";
	int rc;

	if (!w)
		return say_error("not enough memory");
	snprintf(seed, sizeof(seed), "%llu", fabric_seed(l->topology, i));
	w->argv[w->nr++] = name;
	words_add(w, "--seed", seed);
	rc = switch_words(sw, l->topology, ways, w);
	if (rc == 0 && conf_parse(&sw->conf, w->nr, w->argv, &err))
		rc = say_error("switch %s: %s", l->topology->node[sw->index].name, err.text);
	free(w);
	return rc;
}

/* What the user knows a port by, and the address that is in captures. */
static void switch_name_ports(struct local_switch *sw, const struct topology *t)
{
	for (unsigned int i = 0; i < sw->conf.nr_ports; i++) {
		const struct local_end *end = &sw->end[i];
		const unsigned int peer = end->link->end[1 - end->side].node;

		sw->conf.ports[i].udp_port = WIRE_PORT;
		snprintf(sw->conf.ports[i].text, PORT_TEXT, "%s", t->node[peer].name);
	}
}

/* The same files as those of a switch in namespaces. */
static int switch_record(struct local_switch *sw, const struct topology *t,
			 const struct local_ways *ways)
{
	const struct record *rec = ways->record;

	if (!rec || !rec->dir)
		return 0;
	if (!record_switch_dir(rec, &t->node[sw->index], 0, sw->captures))
		return say_error("the path of the captures of switch %s is too long",
				 t->node[sw->index].name);
	sw->conf.pcap_dir = sw->captures;
	sw->conf.pcap_format = rec->ng ? CAPFILE_PCAPNG : CAPFILE_PCAP;
	sw->node.comment = ways->comment;
	record_links(rec, t, sw->index, 0);
	return 0;
}

static const struct port_ops *local_ops;

static const struct port_ops *ops_of(unsigned int form)
{
	(void)form;
	return local_ops;
}

static int switch_pipe(struct local_switch *sw, const struct topology *t,
		       const struct local_ways *ways, struct port_error *err)
{
	const struct topology_node *n = &t->node[sw->index];
	struct setup_parent parent = { .from = WIRE_PORT };
	int port;

	if (n->parent == TOPOLOGY_NO_NODE)
		return setup_pipe(&sw->node, NULL, err);
	port = local_port(sw, n->uplink);
	if (port < 0 || ways->random(&parent.inc, sizeof(parent.inc)))
		return port_fail(err, "no random number");
	parent.port = (uint16_t)port;
	return setup_pipe(&sw->node, &parent, err);
}

static int switch_open(struct local *l, unsigned int i, const struct local_ways *ways)
{
	struct local_switch *sw = &l->switches[i];
	struct lcore *lcore = &sw->node.lcore;
	const struct topology *t = l->topology;
	struct port_error err;

	sw->index = t->switches[i];
	l->of_node[sw->index] = i;
	if (switch_conf(l, i, ways) || switch_record(sw, t, ways))
		return -1;
	switch_name_ports(sw, t);
	sw->node.conf = &sw->conf;
	lcore->clock = ways->clock;
	lcore->wall_base_ns = ways->clock ? ways->wall_ms * 1000000 : 0;
	local_ops = ways->ops;
	if (setup_ports(&sw->node, ops_of, &err))
		return say_error("switch %s: %s", t->node[sw->index].name, err.text);
	for (unsigned int p = 0; p < lcore->nr_ports; p++) {
		struct port *port = &lcore->ports[p].port;

		port->mtu = (uint16_t)local_mtu(sw->end[p].link);
		port->checked = true;
		if (ways->plug(ways->context, sw, p))
			return -1;
	}
	if (setup_captures(&sw->node, &err) || switch_pipe(sw, t, ways, &err))
		return say_error("switch %s: %s", t->node[sw->index].name, err.text);
	if (lcore->journal)
		journal_setup(lcore->journal, lcore, &sw->node.pipe_params,
			      capfile_suffix((enum capfile_format)sw->conf.pcap_format));
	sw->node.start_ns = lcore->now.now_ns;
	return 0;
}

int local_open(struct local *l, const struct topology *t, const struct local_ways *ways)
{
	l->topology = t;
	l->switches = calloc(t->nr_switches, sizeof(*l->switches));
	if (!l->switches)
		return say_error("not enough memory");
	l->nr_switches = t->nr_switches;
	for (unsigned int i = 0; i < t->nr_switches; i++)
		if (switch_open(l, i, ways))
			return -1;
	return 0;
}

void local_captures_close(struct local *l)
{
	for (unsigned int i = 0; i < l->nr_switches; i++)
		setup_close_captures(&l->switches[i].node);
}

void local_close(struct local *l)
{
	for (unsigned int i = 0; i < l->nr_switches; i++) {
		setup_close_ports(&l->switches[i].node);
		setup_free(&l->switches[i].node);
		free(l->switches[i].end);
	}
	free(l->switches);
	*l = (struct local){ .switches = NULL };
}
