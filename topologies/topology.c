// SPDX-License-Identifier: BSD-3-Clause
// Reads a topology file with libyaml: hosts, switches and links.
// JSON is read by the same code, as YAML contains it.  There are two passes, as links and jobs name
// hosts and switches wherever in the file those stand.
#include "topologies/topology.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topologies/topology_reader.h"

enum { DEPTH_MAX = 32, ALIASES_MAX = 1000 };

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

static const struct reader_key host_keys[] = {
	{ "ip", read_ip, 0, false }, // fills several fields, so it gets the whole node
	{ "mac", reader_read_mac, offsetof(struct topology_node, mac), false },
	{ "commands", reader_read_list, offsetof(struct topology_node, commands), false },
	{ NULL, NULL, 0, false },
};

static const struct reader_key switch_keys[] = {
	{ "ip", read_ip, 0, false },
	{ "restart", read_restart, offsetof(struct topology_node, restart), false },
	{ "parent", read_parent, 0, false },
	// what topologies for P4 programs say of their switches
	{ "mac", NULL, 0, false },
	{ "program", NULL, 0, false },
	{ "runtime_json", NULL, 0, false },
	{ "cli_input", NULL, 0, false },
	{ NULL, NULL, 0, false },
};

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
		reader_error_node(r, k, "expected a new name, not '%s': line %zu has it", name,
				  t->node[other].place.line + 1);
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

static void read_hosts(struct reader *r, yaml_node_t *n, void *to)
{
	(void)to;
	read_nodes(r, n, false);
}

static void read_switches(struct reader *r, yaml_node_t *n, void *to)
{
	(void)to;
	read_nodes(r, n, true);
}

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
		reader_error_node(r, n, "expected a free port, not '%s': line %zu has it",
				  reader_text(n), l->place.line + 1);
		return -1;
	}
	return 0;
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
		reader_expected(r, n, "a host, or a port of a switch such as s1-p1");
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
		n->nr_links++;
	}
	t->nr_links++;
}

static void read_link(struct reader *r, yaml_node_t *n)
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
	if (!bad)
		link_add(t, l);
}

static void read_seed(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology *t = to;

	t->seed_given = true;
	reader_read_seed(r, n, &t->seed);
}

static const struct reader_key top_keys[] = {
	{ "hosts", read_hosts, 0, true }, { "switches", read_switches, 0, true },
	{ "links", NULL, 0, true },	  { "jobs", NULL, 0, false },
	{ "seed", read_seed, 0, false },  { NULL, NULL, 0, false },
};

static void read_second_pass(struct reader *r, yaml_node_t *n, const char *what,
			     void (*read)(struct reader *r, yaml_node_t *n))
{
	if (n->type != YAML_SEQUENCE_NODE) {
		reader_expected(r, n, what);
		return;
	}
	for (unsigned int i = 0; i < reader_list_length(n) && !reader_is_full(r); i++)
		read(r, reader_list_item(r, n, i));
}

static yaml_node_t *top_value(struct reader *r, const yaml_node_t *top, const char *name)
{
	for (yaml_node_pair_t *p = top->data.mapping.pairs.start; p < top->data.mapping.pairs.top;
	     p++) {
		const char *key = reader_text(reader_node(r, p->key));

		if (key && strcmp(key, name) == 0)
			return reader_node(r, p->value);
	}
	return NULL;
}

static void read_top(struct reader *r)
{
	yaml_node_t *top = yaml_document_get_root_node(r->document), *n;

	if (!top) {
		reader_error(r, (struct topology_place){ 0, 0 },
			     "expected a mapping with hosts, switches and links, "
			     "not an empty file");
		return;
	}
	reader_read_mapping(r, top, top_keys, r->topology,
			    "a topology (a mapping with hosts, switches and links)");
	if (top->type != YAML_MAPPING_NODE)
		return;
	n = top_value(r, top, "links");
	if (n)
		read_second_pass(r, n, "a list of links such as [h1, s1-p1]", read_link);
	n = top_value(r, top, "jobs");
	if (n)
		read_second_pass(
			r, n, "a list of jobs such as {name: sums, ranks: [h1, h2], run: command}",
			reader_read_job);
	if (r->nr_errors == 0)
		reader_complete(r);
}

// A reader error (bad UTF-8, control characters) has an offset but no mark.
static struct topology_place offset_place(const struct topology *t, size_t offset)
{
	struct topology_place at = { 0, 0 };

	for (size_t i = 0; i < offset && i < t->size; i++) {
		at.column += ((unsigned char)t->text[i] & 0xc0) != 0x80;
		if (t->text[i] == '\n')
			at = (struct topology_place){ at.line + 1, 0 };
	}
	return at;
}

static void syntax_error(struct reader *r, const yaml_parser_t *p)
{
	struct topology_place at = { p->problem_mark.line, p->problem_mark.column };
	const char *problem = p->problem ? p->problem : "not enough memory";

	if (p->error == YAML_READER_ERROR)
		reader_error(r, offset_place(r->topology, p->problem_offset),
			     "expected UTF-8 text, not this: %s", problem);
	else if (p->context)
		reader_error(r, at, "%s %s (begun in line %zu)%s", problem, p->context,
			     p->context_mark.line + 1,
			     strstr(problem, "cannot start any token")
				     ? "; YAML is indented by blanks, not tabs"
				     : "");
	else
		reader_error(r, at, "%s", problem);
}

// Also finds what is wrong behind the first document.
static void document_end_check(struct reader *r, yaml_parser_t *p)
{
	yaml_document_t more;
	yaml_node_t *top;

	if (!yaml_parser_load(p, &more)) {
		syntax_error(r, p);
		return;
	}
	top = yaml_document_get_root_node(&more);
	if (top)
		reader_error_node(r, top, "expected the end of the file, not a second document");
	yaml_document_delete(&more);
}

static bool event_has_anchor(const yaml_event_t *e)
{
	switch ((int)e->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor;
	default:
		return false;
	}
}

struct limits {
	unsigned int depth, nr_anchors;
	bool end;
};

static void event_check(struct reader *r, const yaml_event_t *e, struct limits *l)
{
	struct topology_place at = { e->start_mark.line, e->start_mark.column };

	if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT)
		l->depth++;
	else if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT)
		l->depth--;
	l->nr_anchors += event_has_anchor(e);
	l->end = e->type == YAML_STREAM_END_EVENT;
	if (l->depth > DEPTH_MAX)
		reader_error(r, at,
			     "expected lists and mappings in each other %d deep at most, "
			     "not deeper",
			     DEPTH_MAX);
	else if (l->nr_anchors > ALIASES_MAX)
		reader_error(r, at, "expected at most %d anchors and aliases, not more",
			     ALIASES_MAX);
}

// libyaml's time grows with the square of the depth and of the number of anchors (20,000 deep: 5
// s), so both are limited before it makes a document.
static void limits_check(struct reader *r)
{
	struct limits l = { 0, 0, false };
	yaml_parser_t p;
	yaml_event_t e;

	if (!yaml_parser_initialize(&p)) {
		reader_error(r, (struct topology_place){ 0, 0 }, "not enough memory");
		return;
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)r->topology->text,
				     r->topology->size);
	while (!l.end && r->nr_errors == 0) {
		if (!yaml_parser_parse(&p, &e)) {
			syntax_error(r, &p);
			break;
		}
		event_check(r, &e, &l);
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&p);
}

static void topology_parse(struct reader *r)
{
	yaml_parser_t p;

	limits_check(r);
	if (r->nr_errors)
		return;
	if (!yaml_parser_initialize(&p)) {
		reader_error(r, (struct topology_place){ 0, 0 }, "not enough memory");
		return;
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)r->topology->text,
				     r->topology->size);
	if (yaml_parser_load(&p, r->document)) {
		r->topology->document = r->document;
		document_end_check(r, &p);
		if (r->nr_errors == 0)
			read_top(r);
	} else {
		syntax_error(r, &p);
	}
	yaml_parser_delete(&p);
}

// A pipe that nobody writes to is an empty file, not one to wait for.
static FILE *file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	FILE *f = NULL;

	if (fd < 0)
		return NULL;
	if (fcntl(fd, F_SETFL, 0) == 0)
		f = fdopen(fd, "r");
	err = errno;
	if (!f)
		close(fd);
	errno = err;
	return f;
}

// The whole file: it is small, and errors quote it.  0, or a negative errno.
static int file_read(const char *path, char **text, size_t *size)
{
	FILE *f = file_open(path);
	int rc = 0;

	if (!f)
		return -errno;
	*text = malloc(TOPOLOGY_FILE_MAX + 1);
	if (*text) {
		*size = fread(*text, 1, TOPOLOGY_FILE_MAX + 1, f);
		if (ferror(f))
			rc = -errno;
		else if (*size > TOPOLOGY_FILE_MAX)
			rc = -EFBIG;
	} else {
		rc = -ENOMEM;
	}
	fclose(f);
	return rc;
}

struct topology *topology_load(const char *path, FILE *errors)
{
	struct topology *t = calloc(1, sizeof(*t));
	struct reader r = { .topology = t,
			    .errors = errors,
			    .document = calloc(1, sizeof(*r.document)) };
	int rc;

	if (!t || !r.document)
		goto out_nomem;
	t->path = strdup(path);
	if (!t->path)
		goto out_nomem;
	rc = file_read(path, &t->text, &t->size);
	if (rc) {
		fprintf(errors, "%s: error: %s\n", path, strerror(-rc));
		r.nr_errors++;
	} else {
		topology_parse(&r);
	}
	if (!t->document)
		free(r.document);
	if (r.nr_errors == 0)
		return t;
	topology_free(t);
	return NULL;
out_nomem:
	fprintf(errors, "%s: error: not enough memory\n", path);
	free(r.document);
	topology_free(t);
	return NULL;
}

void topology_free(struct topology *t)
{
	if (!t)
		return;
	if (t->document)
		yaml_document_delete(t->document);
	free(t->document);
	free(t->text);
	free(t->path);
	free(t);
}
