// SPDX-License-Identifier: BSD-3-Clause
// Hosts and switches of a topology file.
#include <arpa/inet.h>
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

static void read_ip(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_node *node = to;
	const char *s = reader_text(n), *slash = s ? strchr(s, '/') : NULL;
	size_t len = slash ? (size_t)(slash - s) : s ? strlen(s) : 0;
	uint64_t prefix = 0;
	char ip[16] = "";
	struct in_addr a;

	if (len < sizeof(ip) && s)
		memcpy(ip, s, len);
	if (!s || inet_pton(AF_INET, ip, &a) != 1 || a.s_addr == 0 ||
	    (slash && topology_number_parse(slash + 1, 1, 32, &prefix))) {
		reader_expected(r, n, "an IPv4 address such as 10.0.0.1/24");
		return;
	}
	node->ip_given = true;
	node->ip = ntohl(a.s_addr);
	node->prefix = slash ? (unsigned int)prefix : node->is_switch ? 32 : 24;
}

static void read_restart(struct reader *r, yaml_node_t *n, void *to)
{
	const char *s = reader_text(n);

	if (s && strcmp(s, "always") == 0)
		*(bool *)to = true;
	else if (!s || strcmp(s, "no") != 0)
		reader_expected(r, n, "always or no");
}

static void read_parent(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_node *node = to;

	node->parent_given = reader_text(n);
	node->parent_place = reader_place(n);
	if (!node->parent_given || !*node->parent_given)
		reader_expected(r, n, "the name of the switch above");
}

static void read_jobs(struct reader *r, yaml_node_t *n, void *to)
{
	uint64_t v;

	if (reader_read_whole(r, n, (struct reader_whole){ 1, 4096 }, &v) == 0)
		*(unsigned int *)to = (unsigned int)v;
}

static void read_slots(struct reader *r, yaml_node_t *n, void *to)
{
	uint64_t v;

	if (reader_read_whole(r, n, (struct reader_whole){ 33, 1 << 22 }, &v) == 0)
		*(unsigned int *)to = (unsigned int)v;
}

static void read_cores(struct reader *r, yaml_node_t *n, void *to)
{
	(void)to;
	reader_error_node(r, n,
			  "expected no 'cores': a switch works on one core; for more, spread the "
			  "hosts over more switches");
}

static void read_commands(struct reader *r, yaml_node_t *n, void *to)
{
	const char *command;

	reader_read_list(r, n, to);
	for (unsigned int i = 0; i < ((struct topology_list *)to)->nr; i++)
		reader_read_command(r, reader_list_item(r, n, i), &command);
}

static const struct reader_key host_keys[] = {
	{ "ip", read_ip, 0, false }, // fills several fields, so it gets the whole node
	{ "mac", reader_read_mac, offsetof(struct topology_node, mac), false },
	{ "commands", read_commands, offsetof(struct topology_node, commands), false },
	{ NULL, NULL, 0, false },
};

static const struct reader_key switch_keys[] = {
	{ "ip", read_ip, 0, false },
	{ "restart", read_restart, offsetof(struct topology_node, restart), false },
	{ "parent", read_parent, 0, false },
	{ "jobs", read_jobs, offsetof(struct topology_node, jobs), false },
	{ "slots", read_slots, offsetof(struct topology_node, slots), false },
	{ "memory", reader_read_size, offsetof(struct topology_node, memory), false },
	{ "cores", read_cores, READER_REFUSED, false },
	// what topologies for P4 programs say of their switches
	{ "mac", NULL, 0, false },
	{ "program", NULL, 0, false },
	{ "runtime_json", NULL, 0, false },
	{ "cli_input", NULL, 0, false },
	{ NULL, NULL, 0, false },
};

// What is one's own, such as an address, is left out.
static const struct reader_key host_defaults[] = {
	{ "commands", read_commands, offsetof(struct topology_node, commands), false },
	{ NULL, NULL, 0, false },
};

static const struct reader_key switch_defaults[] = {
	{ "restart", read_restart, offsetof(struct topology_node, restart), false },
	{ "jobs", read_jobs, offsetof(struct topology_node, jobs), false },
	{ "slots", read_slots, offsetof(struct topology_node, slots), false },
	{ "memory", reader_read_size, offsetof(struct topology_node, memory), false },
	{ "cores", read_cores, READER_REFUSED, false },
	{ NULL, NULL, 0, false },
};

void reader_check_host_defaults(struct reader *r, yaml_node_t *n, void *unused)
{
	struct topology_node scratch = { .name = "" };

	(void)unused;
	reader_read_mapping(r, n, host_defaults, &scratch,
			    "a mapping such as {commands: [command]}");
}

void reader_check_switch_defaults(struct reader *r, yaml_node_t *n, void *unused)
{
	struct topology_node scratch = { .is_switch = true };

	(void)unused;
	reader_read_mapping(r, n, switch_defaults, &scratch, "a mapping such as {restart: always}");
}

int topology_node_find(const struct topology *t, const char *name, size_t len)
{
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		if (strlen(t->node[i].name) == len && memcmp(t->node[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

static bool name_is_good(const char *s)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return s && *s && *s != '-' && strlen(s) <= TOPOLOGY_NAME_MAX &&
	       strspn(s, letters) == strlen(s);
}

static void read_node(struct reader *r, yaml_node_t *k, yaml_node_t *v, bool is_switch)
{
	struct topology *t = r->topology;
	const char *name = reader_text(k);
	struct topology_node *n;
	int other;

	if (!name_is_good(name)) {
		reader_expected(r, k, "a name of 1 to 15 letters, digits, '-' and '_'");
		return;
	}
	other = topology_node_find(t, name, strlen(name));
	if (other >= 0) {
		reader_error_node(r, k, "expected a new name, not '%s': %s has it", name,
				  reader_line(r, t->node[other].place, reader_place(k)).text);
		return;
	}
	if (t->nr_nodes == TOPOLOGY_NODES_MAX) {
		reader_error_node(r, k, "expected at most %d hosts and switches, not more",
				  TOPOLOGY_NODES_MAX);
		return;
	}
	n = &t->node[t->nr_nodes++];
	n->name = name;
	n->place = reader_place(k);
	n->is_switch = is_switch;
	if (!v || reader_is_empty(v)) // "h1:" alone is fine
		return;
	if (is_switch)
		reader_read_mapping(r, v, switch_keys, n,
				    "a switch's mapping such as {ip: 10.0.0.254}");
	else
		reader_read_mapping(r, v, host_keys, n,
				    "a host's mapping such as {ip: 10.0.0.1/24}");
}

static void read_nodes(struct reader *r, yaml_node_t *n, bool is_switch)
{
	if (n->type == YAML_SEQUENCE_NODE) {
		for (unsigned int i = 0; i < reader_list_length(n) && !reader_is_full(r); i++)
			read_node(r, reader_list_item(r, n, i), NULL, is_switch);
	} else if (n->type == YAML_MAPPING_NODE) {
		yaml_node_pair_t *p = n->data.mapping.pairs.start;

		for (; p < n->data.mapping.pairs.top && !reader_is_full(r); p++)
			read_node(r, reader_node(r, p->key), reader_node(r, p->value), is_switch);
	} else {
		reader_expected(r, n,
				is_switch ? "a mapping of switches such as {s1: {ip: 10.0.0.254}}"
					  : "a mapping of hosts such as {h1: {ip: 10.0.0.1/24}}");
	}
}

static unsigned int nodes_count(const yaml_node_t *n)
{
	return n->type == YAML_SEQUENCE_NODE  ? reader_list_length(n)
	       : n->type == YAML_MAPPING_NODE ? reader_mapping_length(n)
					      : 0;
}

// Room for those of both kinds.
static int nodes_alloc(struct reader *r, const yaml_node_t *n)
{
	struct topology *t = r->topology;
	size_t nr = t->nr_nodes + nodes_count(n);
	struct topology_node *node;

	node = reader_alloc(r, nr < TOPOLOGY_NODES_MAX ? nr : TOPOLOGY_NODES_MAX, sizeof(*node));
	if (!node)
		return -1;
	if (t->nr_nodes)
		memcpy(node, t->node, t->nr_nodes * sizeof(*node));
	t->node = node;
	return 0;
}

void reader_read_hosts(struct reader *r, yaml_node_t *n, void *topology)
{
	(void)topology;
	if (nodes_alloc(r, n) == 0)
		read_nodes(r, n, false);
}

void reader_read_switches(struct reader *r, yaml_node_t *n, void *topology)
{
	(void)topology;
	if (nodes_alloc(r, n) == 0)
		read_nodes(r, n, true);
}
