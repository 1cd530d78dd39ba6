// SPDX-License-Identifier: BSD-3-Clause
/* replay_setup.c - what a captured switch was, and what it was told besides packets: reads its switch.txt. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "switch/faults.h"
#include "switch/journal.h"
#include "switch/quantity.h"
#include "switch/replay.h"

enum { LINE = 2048, SUFFIX = 16 };

/* A file that is read. */
struct reading {
	struct replay_setup *setup;
	struct port_error *err;
	const char *dir;
	char suffix[SUFFIX];
	unsigned line;
};

int replay_setup_init(struct replay_setup *setup)
{
	*setup = (struct replay_setup){
		.pipe = { .jobs_max = 64,
			  .slots_max = 16384,
			  .values_bytes = 64 << 20,
			  .p_max = WIRE_P_MAX,
			  .strict_ports = true,
			  .parent_from = WIRE_PORT },
		.mac = { 0x02, 0x74 },
		.parent_number = -1,
		.ports = calloc(PORT_MAX, sizeof(*setup->ports)),
	};
	return setup->ports ? 0 : -1;
}

void replay_setup_free(struct replay_setup *setup)
{
	free(setup->ports);
	free(setup->events);
	*setup = (struct replay_setup){ .ports = NULL };
}

void replay_comment(const struct replay_setup *setup, const char *what, char text[REPLAY_TEXT])
{
	snprintf(text, REPLAY_TEXT, "%s%s", what,
		 setup->virtual_time ? "; stamps are virtual time" : "");
}

int replay_address_parse(const char *text, uint32_t *ip, uint16_t *udp_port)
{
	const size_t len = strcspn(text, ":");
	char host[INET_ADDRSTRLEN + 1];
	struct in_addr addr;
	unsigned port;
	char end;

	if (len >= sizeof(host))
		return -1;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, &addr) != 1 || !addr.s_addr)
		return -1;
	*ip = ntohl(addr.s_addr);
	if (!text[len])
		return 0;
	if (!udp_port || sscanf(text + len, ":%5u%c", &port, &end) != 1 || !port || port > 65535)
		return -1;
	*udp_port = (uint16_t)port;
	return 0;
}

int replay_mac_parse(const char *text, uint8_t mac[FRAME_MAC])
{
	unsigned b[FRAME_MAC];

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
		return -1;
	for (unsigned i = 0; i < FRAME_MAC; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

static int setup_fail(const struct reading *r, const char *what)
{
	const size_t len = strlen(r->dir);

	return port_fail(r->err, "%s/" JOURNAL_FILE ":%u: %.300s",
			 len > 120 ? r->dir + len - 120 : r->dir, r->line, what);
}

static int number_take(const struct reading *r, const char *key, const char *value)
{
	struct pipe_params *pipe = &r->setup->pipe;
	uint64_t v;

	if (quantity_parse_whole(value, 0, (uint64_t)1 << 41, &v))
		return setup_fail(r, "expected a number");
	if (strcmp(key, "memory") == 0)
		pipe->values_bytes = v;
	else if (strcmp(key, "slots") == 0)
		pipe->slots_max = v < UINT32_MAX ? (uint32_t)v : 0;
	else if (v > UINT16_MAX)
		return setup_fail(r, "the number is too large");
	else if (strcmp(key, "jobs") == 0)
		pipe->jobs_max = (uint16_t)v;
	else if (strcmp(key, "chunk") == 0)
		pipe->p_max = (uint16_t)v;
	else if (strcmp(key, "chunk-check") == 0)
		pipe->p_check = (uint16_t)v;
	else
		pipe->strict_ports = v != 0;
	return 0;
}

static int mac_take(const struct reading *r, const char *key, const char *value)
{
	(void)key;
	return replay_mac_parse(value, r->setup->mac) ? setup_fail(r, "expected a MAC address") : 0;
}

static int ip_take(const struct reading *r, const char *key, const char *value)
{
	(void)key;
	/* A switch without framed ports has none. */
	if (strcmp(value, "0.0.0.0") == 0)
		return 0;
	return replay_address_parse(value, &r->setup->ip, NULL)
		       ? setup_fail(r, "expected an IPv4 address")
		       : 0;
}

static int parent_take(const struct reading *r, const char *key, const char *value)
{
	struct flow *parent = &r->setup->parent;
	char address[32];
	unsigned from;

	(void)key;
	parent->udp_port = WIRE_PORT;
	if (sscanf(value, "%31s from %5u port %5d", address, &from, &r->setup->parent_number) < 2 ||
	    !from || from > UINT16_MAX ||
	    replay_address_parse(address, &parent->ip, &parent->udp_port))
		return setup_fail(r, "expected IP:PORT from PORT");
	r->setup->pipe.leaf = true;
	r->setup->pipe.parent_from = (uint16_t)from;
	return 0;
}

static int incarnation_take(const struct reading *r, const char *key, const char *value)
{
	(void)key;
	return sscanf(value, "%" SCNx64, &r->setup->pipe.inc) == 1
		       ? 0
		       : setup_fail(r, "expected a hexadecimal number");
}

static int suffix_take(const struct reading *r, const char *key, const char *value)
{
	(void)key;
	if (strcmp(value, ".pcap") != 0 && strcmp(value, ".pcapng") != 0)
		return setup_fail(r, "expected .pcap or .pcapng");
	return 0;
}

static int clock_take(const struct reading *r, const char *key, const char *value)
{
	(void)key;
	r->setup->virtual_time = strcmp(value, "virtual") == 0;
	return 0;
}

/* A capture that is not whole has another name; one that is not there is empty. */
static void capture_find(const struct reading *r, const struct replay_port *port,
			 const char *direction, char path[REPLAY_PATH])
{
	snprintf(path, REPLAY_PATH, "%.3900s/port%u_%s%s", r->dir, port->number, direction,
		 r->suffix);
	if (access(path, F_OK) == 0)
		return;
	strcat(path, ".partial");
	if (access(path, F_OK) != 0)
		path[0] = '\0';
}

static int port_take(const struct reading *r, const char *key, const char *value)
{
	struct replay_port *port = &r->setup->ports[r->setup->nr_ports];
	char checks[8], address[32];
	unsigned number, mtu;

	(void)key;
	if (r->setup->nr_ports == PORT_MAX)
		return setup_fail(r, "there are too many ports");
	*port = (struct replay_port){ .udp_port = WIRE_PORT };
	if (sscanf(value, "%u framed mtu %u checksums %7s", &number, &mtu, checks) == 3) {
		port->framed = true;
		port->mtu = (uint16_t)mtu;
		port->checks = strcmp(checks, "yes") == 0    ? REPLAY_CHECKS_YES
			       : strcmp(checks, "some") == 0 ? REPLAY_CHECKS_SOME
							     : REPLAY_CHECKS_NO;
	} else if (sscanf(value, "%u socket %31s", &number, address) != 2 ||
		   replay_address_parse(address, &port->ip, &port->udp_port)) {
		return setup_fail(r, "expected a port, framed or a socket");
	}
	if (number > PORT_NUMBER_MAX)
		return setup_fail(r, "there is no port of that number");
	port->number = number;
	capture_find(r, port, "in", port->in);
	capture_find(r, port, "out", port->out);
	if (!port->in[0])
		return port_fail(r->err, "%.200s: port%u_in%s is missing", r->dir, number,
				 r->suffix);
	r->setup->nr_ports++;
	return 0;
}

static struct replay_event *event_add(struct replay_setup *setup)
{
	struct replay_event *events;
	unsigned room;

	if (setup->nr_events == setup->events_room) {
		room = setup->events_room ? 2 * setup->events_room : 64;
		events = realloc(setup->events, room * sizeof(*events));
		if (!events)
			return NULL;
		setup->events = events;
		setup->events_room = room;
	}
	return &setup->events[setup->nr_events++];
}

/* Faults on purpose are behind the captures, but spoilt frames are known to be. */
static void impair_take(const struct reading *r, const char *what, struct replay_event *event)
{
	struct faults_change change;
	struct port_error err;

	event->what = REPLAY_SPOIL;
	event->on = strstr(what, "corrupt") != NULL;
	event->port = r->setup->nr_ports;
	if (faults_parse(&change, what, &err) == 0)
		for (unsigned i = 0; i < r->setup->nr_ports; i++)
			if (r->setup->ports[i].number == change.number)
				event->port = i;
}

static int at_take(const struct reading *r, const char *key, const char *value)
{
	struct replay_event *event = event_add(r->setup);
	int name = 0, rest = 0;

	(void)key;
	if (!event)
		return port_fail(r->err, "out of memory");
	*event = (struct replay_event){ .ns = 0 };
	if (sscanf(value, "%" SCNu64 " %n", &event->ns, &rest) != 1 || !rest)
		return setup_fail(r, "expected a time in nanoseconds");
	value += rest;
	if (strcmp(value, "ask") == 0) {
		event->what = REPLAY_ASK;
	} else if (sscanf(value, "reset %" SCNu64 " %n", &event->epoch, &name) == 1 && name) {
		event->what = REPLAY_RESET;
		snprintf(event->name, sizeof(event->name), "%.64s", value + name);
	} else if (strncmp(value, "drain ", 6) == 0) {
		event->what = REPLAY_DRAIN;
		event->on = strcmp(value + 6, "on") == 0;
	} else if (strncmp(value, "impair ", 7) == 0) {
		impair_take(r, value + 7, event);
	} else if (strcmp(value, "end") == 0) {
		event->what = REPLAY_END;
		r->setup->ended = true;
	} else {
		return setup_fail(r, "expected ask, reset, drain, impair or end");
	}
	return 0;
}

static int line_take(struct reading *r, char *line)
{
	static const struct {
		const char *key;
		int (*take)(const struct reading *r, const char *key, const char *value);
	} keys[] = {
		{ "jobs", number_take },
		{ "slots", number_take },
		{ "memory", number_take },
		{ "chunk", number_take },
		{ "chunk-check", number_take },
		{ "strict-ports", number_take },
		{ "ip", ip_take },
		{ "mac", mac_take },
		{ "parent", parent_take },
		{ "incarnation", incarnation_take },
		{ "suffix", suffix_take },
		{ "clock", clock_take },
		{ "port", port_take },
		{ "at", at_take },
	};
	char *value = strchr(line, ' ');

	if (!value)
		return setup_fail(r, "expected a key and a value");
	*value++ = '\0';
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].key, line) != 0)
			continue;
		if (keys[i].take == suffix_take)
			snprintf(r->suffix, sizeof(r->suffix), "%.15s", value);
		return keys[i].take(r, line, value);
	}
	/* The version, and what later ones may say. */
	return 0;
}

bool replay_setup_has(const char *dir)
{
	char path[REPLAY_PATH];

	snprintf(path, sizeof(path), "%.3900s/" JOURNAL_FILE, dir);
	return access(path, F_OK) == 0;
}

/* What leads to the parent stands before the ports. */
static int parent_find(const struct reading *r)
{
	struct replay_setup *setup = r->setup;

	if (setup->parent_number < 0)
		return 0;
	for (unsigned i = 0; i < setup->nr_ports; i++)
		if (setup->ports[i].number == (unsigned)setup->parent_number) {
			setup->parent.port = (uint16_t)i;
			return 0;
		}
	return port_fail(r->err,
			 "%.300s/" JOURNAL_FILE ": has no port %d, which leads to the parent",
			 r->dir, setup->parent_number);
}

static int setup_lines(struct reading *r, FILE *file)
{
	char line[LINE];
	int rc = 0;

	while (rc == 0 && fgets(line, sizeof(line), file)) {
		char *end = strchr(line, '\n');

		r->line++;
		/* Without its end, a line is one that its writer was killed in. */
		if (!end)
			break;
		*end = '\0';
		if (r->line > 1)
			rc = line_take(r, line);
		else if (strcmp(line, JOURNAL_TITLE) != 0)
			rc = setup_fail(r, "is not what a switch writes beside its captures, or of "
					   "another version");
	}
	if (rc == 0 && !r->setup->nr_ports)
		rc = setup_fail(r, "names no port: the switch ended before it served");
	return rc ? rc : parent_find(r);
}

int replay_setup_read(struct replay_setup *setup, const char *dir, struct port_error *err)
{
	struct reading r = { .setup = setup, .err = err, .dir = dir, .suffix = ".pcap" };
	char path[REPLAY_PATH];
	FILE *file;
	int rc;

	snprintf(path, sizeof(path), "%.3900s/" JOURNAL_FILE, dir);
	file = fopen(path, "re");
	if (!file)
		return port_fail(err, "%.300s: %s", path, strerror(errno));
	setup->journal = true;
	rc = setup_lines(&r, file);
	fclose(file);
	return rc;
}
