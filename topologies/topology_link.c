// SPDX-License-Identifier: BSD-3-Clause
// Links of a topology file.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { INTERFACE_MAX = 15 };

static void read_link_delay(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_link *l = to;

	l->delay_given = true;
	reader_read_delay(r, n, &l->delay_ns);
}

static void read_link_rate(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_link *l = to;

	l->rate_given = true;
	reader_read_rate(r, n, &l->rate_bps);
}

static void read_mtu(struct reader *r, yaml_node_t *n, void *to)
{
	uint64_t v;

	if (reader_read_whole(r, n, (struct reader_whole){ TOPOLOGY_MTU_MIN, TOPOLOGY_MTU_MAX },
			      &v) == 0)
		*(unsigned int *)to = (unsigned int)v;
}

static void read_fault(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_fault *f = to;

	f->place = reader_place(n);
	reader_read_text(r, n, &f->text);
}

static void read_interface(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_link *l = to;

	l->interface_place = reader_place(n);
	if (n->type == YAML_SEQUENCE_NODE) {
		reader_read_list(r, n, &l->interfaces);
		return;
	}
	l->interfaces.item = reader_alloc(r, 1, sizeof(*l->interfaces.item));
	if (!l->interfaces.item)
		return;
	l->interfaces.item[0] = reader_text(n);
	l->interfaces.nr = 1;
}

static bool interface_is_good(const char *s)
{
	return s && *s && strlen(s) <= INTERFACE_MAX && !strpbrk(s, "/: \t\n") && *s != '.';
}

static bool interface_is_taken(const struct reader *r, const char *s)
{
	for (unsigned int i = 0; i < 2 * r->topology->nr_links; i++) {
		const char *other = r->topology->link[i / 2].interface[i % 2];

		if (other && strcmp(other, s) == 0)
			return true;
	}
	return false;
}

// One is that of the switch's end, and the host is outside; two are those of both ends.
static bool interfaces_place(struct reader *r, struct topology_link *l)
{
	const struct topology *t = r->topology;
	bool low = t->node[l->end[0].node].is_switch, high = t->node[l->end[1].node].is_switch;
	const struct topology_list *list = &l->interfaces;

	if (!list->nr)
		return true;
	for (unsigned int i = 0; i < list->nr; i++) {
		if (interface_is_good(list->item[i]) && !interface_is_taken(r, list->item[i]) &&
		    !(i && strcmp(list->item[0], list->item[i]) == 0))
			continue;
		reader_error(r, l->interface_place,
			     "expected the name of an interface that no other end has, such as "
			     "eth1, not '%s'",
			     list->item[i] ? list->item[i] : "");
		return false;
	}
	if (!low && !high) {
		reader_error(r, l->interface_place,
			     "expected no interface at a link between hosts: one end is a switch");
		return false;
	}
	if (list->nr > 2 || (low && high && list->nr != 2)) {
		reader_error(r, l->interface_place, "expected %s, not %u",
			     low && high ? "the interfaces of both switches, such as [eth1, eth2]"
					 : "one interface, or those of both ends",
			     list->nr);
		return false;
	}
	if (list->nr == 1)
		l->interface[high] = list->item[0];
	for (unsigned int i = 0; list->nr == 2 && i < 2; i++)
		l->interface[i] = list->item[i];
	return true;
}

#define FAULT(key) read_fault, offsetof(struct topology_link, fault[key]), false
static const struct reader_key link_keys[] = {
	{ "delay", read_link_delay, 0, false }, // these two also note that they were given
	{ "rate", read_link_rate, 0, false },
	{ "loss", reader_read_share, offsetof(struct topology_link, loss), false },
	{ "dup", reader_read_share, offsetof(struct topology_link, dup), false },
	{ "reorder", reader_read_share, offsetof(struct topology_link, reorder), false },
	{ "mtu", read_mtu, offsetof(struct topology_link, mtu), false },
	{ "burst", FAULT(TOPOLOGY_BURST) },
	{ "distance", FAULT(TOPOLOGY_DISTANCE) },
	{ "jitter", FAULT(TOPOLOGY_JITTER) },
	{ "queue", FAULT(TOPOLOGY_QUEUE) },
	{ "corrupt", FAULT(TOPOLOGY_CORRUPT) },
	{ "corrupt-checked", FAULT(TOPOLOGY_CORRUPT_CHECKED) },
	{ "down", FAULT(TOPOLOGY_DOWN) },
	{ "interface", read_interface, 0, false },
	{ NULL, NULL, 0, false },
};
#undef FAULT

// Returns -1 after an error if another link has the port.
static int port_check(struct reader *r, const yaml_node_t *n, const struct topology_end *e)
{
	for (unsigned int i = 0; i < 2 * r->topology->nr_links; i++) {
		const struct topology_link *l = &r->topology->link[i / 2];

		if (l->end[i % 2].node != e->node || l->end[i % 2].port != e->port)
			continue;
		reader_error_node(r, n, "expected a free port, not '%s': %s has it", reader_text(n),
				  reader_line(r, l->place, reader_place(n)).text);
		return -1;
	}
	return 0;
}

// The nearest host, or the nearest switch.
static void end_unknown(struct reader *r, const yaml_node_t *n)
{
	const char *s = reader_text(n), *dash = s ? strrchr(s, '-') : NULL;
	struct reader_hint hint = reader_hint_node(r->topology, s);
	char name[2 * TOPOLOGY_NAME_MAX] = "";

	if (dash && (size_t)(dash - s) < sizeof(name)) {
		memcpy(name, s, (size_t)(dash - s));
		hint = reader_hint_node(r->topology, name);
	}
	reader_error_node(r, n, "expected a host, or a port of a switch such as s1-p1, not %s%s",
			  reader_describe(n).text, hint.text);
}

// Whether s is also how a port of a switch is written.
static bool is_port(const struct topology *t, const char *s, const char *dash)
{
	const int i = dash ? topology_node_find(t, s, (size_t)(dash - s)) : -1;
	uint64_t port;

	return i >= 0 && t->node[i].is_switch && dash[1] == 'p' &&
	       !topology_number_parse(dash + 2, 1, TOPOLOGY_PORT_MAX, &port);
}

// A host, or a switch and its port: "s1-p1".
static int read_end(struct reader *r, const yaml_node_t *n, struct topology_end *e)
{
	struct topology *t = r->topology;
	const char *s = reader_text(n), *dash = s ? strrchr(s, '-') : NULL;
	int i = s ? topology_node_find(t, s, strlen(s)) : -1;
	uint64_t port;

	if (i >= 0 && !t->node[i].is_switch && is_port(t, s, dash)) {
		reader_error_node(
			r, n, "%s is a host, and a port of switch %.*s: give the host another name",
			s, (int)(dash - s), s);
		return -1;
	}
	if (i >= 0 && !t->node[i].is_switch) {
		*e = (struct topology_end){ (unsigned int)i,
					    0 }; // its port is known when the link is good
		return 0;
	}
	if (i >= 0) {
		reader_error_node(r, n, "expected a port of switch %s such as %s-p1, not '%s'", s,
				  s, s);
		return -1;
	}
	i = dash ? topology_node_find(t, s, (size_t)(dash - s)) : -1;
	if (i < 0 || !t->node[i].is_switch) {
		end_unknown(r, n);
		return -1;
	}
	if (dash[1] != 'p' || topology_number_parse(dash + 2, 1, TOPOLOGY_PORT_MAX, &port)) {
		reader_error_node(r, n, "expected a port %s-p1 to %s-p%d, not %s", t->node[i].name,
				  t->node[i].name, TOPOLOGY_PORT_MAX, reader_describe(n).text);
		return -1;
	}
	*e = (struct topology_end){ (unsigned int)i, (unsigned int)port };
	return port_check(r, n, e);
}

static void link_add(struct topology *t, struct topology_link *l)
{
	for (int side = 0; side < 2; side++) {
		struct topology_node *n = &t->node[l->end[side].node];

		if (!n->is_switch)
			l->end[side].port = n->nr_links;
		if (!n->is_switch && l->interface[1 - side] && !l->interface[side])
			n->outside = true;
		n->nr_links++;
	}
	t->nr_links++;
}

void reader_read_link(struct reader *r, yaml_node_t *n)
{
	static const char form[] = "a link such as [h1, s1-p1] or [h1, s1-p1, {loss: 1%}]";
	struct topology *t = r->topology;
	struct topology_link *l = &t->link[t->nr_links];
	unsigned int nr = n->type == YAML_SEQUENCE_NODE ? reader_list_length(n) : 0;
	bool bad;

	if (n->type != YAML_SEQUENCE_NODE) {
		reader_expected(r, n, form);
		return;
	}
	if (nr < 2 || nr > 4) {
		reader_error_node(r, n, "expected %s, not a list of %u", form, nr);
		return;
	}
	if (t->nr_links == TOPOLOGY_LINKS_MAX) {
		reader_error_node(r, n, "expected at most %d links, not more", TOPOLOGY_LINKS_MAX);
		return;
	}
	*l = (struct topology_link){ .place = reader_place(n) };
	bad = read_end(r, reader_list_item(r, n, 0), &l->end[0]);
	bad |= read_end(r, reader_list_item(r, n, 1), &l->end[1]) != 0;
	if (!bad && l->end[0].node == l->end[1].node) {
		reader_error_node(r, n, "expected two different ends, not %s twice",
				  t->node[l->end[0].node].name);
		bad = true;
	}
	if (nr == 3 && reader_list_item(r, n, 2)->type == YAML_MAPPING_NODE)
		reader_read_mapping(r, reader_list_item(r, n, 2), link_keys, l, "a link's mapping");
	else if (nr >= 3) // the P4 form: [end, end, delay, bandwidth]
		read_link_delay(r, reader_list_item(r, n, 2), l);
	if (nr == 4)
		read_link_rate(r, reader_list_item(r, n, 3), l);
	reader_check_faults(r, l);
	if (!bad && interfaces_place(r, l))
		link_add(t, l);
}

void reader_check_link_defaults(struct reader *r, yaml_node_t *n, void *unused)
{
	struct topology_link scratch = { .mtu = 0 };

	(void)unused;
	reader_read_mapping(r, n, link_keys, &scratch, "a mapping such as {delay: 5us, rate: 10G}");
	reader_check_faults(r, &scratch);
}
