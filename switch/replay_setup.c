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
	uint32_t seen; /* keys, a bit each */
};

struct setup_key {
	const char *name;
	int (*take)(struct reading *r, const struct setup_key *key, const char *value);
	uint64_t min, max; /* of a number */
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
	int end = 0;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    text[end] || strspn(text, "0123456789abcdefABCDEF:") != (size_t)end)
		return -1;
	for (unsigned i = 0; i < FRAME_MAC; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

int replay_incarnation_parse(const char *text, uint64_t *inc)
{
	const size_t len = strspn(text, "0123456789abcdefABCDEF");

	if (!len || len > 16 || text[len])
		return -1;
	*inc = strtoull(text, NULL, 16);
	return 0;
}

/* Where, what is expected, and what is there; found may be NULL. */
static int setup_fail(const struct reading *r, const char *expected, const char *found)
{
	const size_t len = strlen(r->dir);

	return port_fail(r->err, "%s/" JOURNAL_FILE ":%u: %.200s%s%.60s%s",
			 len > 120 ? r->dir + len - 120 : r->dir, r->line, expected,
			 found ? ", not '" : "", found ? found : "", found ? "'" : "");
}

static int number_take(struct reading *r, const struct setup_key *key, const char *value)
{
	struct pipe_params *pipe = &r->setup->pipe;
	char expected[80];
	uint64_t v;

	if (quantity_parse_whole(value, key->min, key->max, &v)) {
		snprintf(expected, sizeof(expected),
			 "expected a number from %" PRIu64 " to %" PRIu64, key->min, key->max);
		return setup_fail(r, expected, value);
	}
	if (strcmp(key->name, "memory") == 0)
		pipe->values_bytes = v;
	else if (strcmp(key->name, "slots") == 0)
		pipe->slots_max = (uint32_t)v;
	else if (strcmp(key->name, "jobs") == 0)
		pipe->jobs_max = (uint16_t)v;
	else if (strcmp(key->name, "chunk") == 0)
		pipe->p_max = (uint16_t)v;
	else if (strcmp(key->name, "chunk-check") == 0)
		pipe->p_check = (uint16_t)v;
	else
		pipe->strict_ports = v != 0;
	return 0;
}

static int mac_take(struct reading *r, const struct setup_key *key, const char *value)
{
	(void)key;
	return replay_mac_parse(value, r->setup->mac)
		       ? setup_fail(r, "expected a MAC address", value)
		       : 0;
}

static int ip_take(struct reading *r, const struct setup_key *key, const char *value)
{
	(void)key;
	/* A switch without framed ports has none. */
	if (strcmp(value, "0.0.0.0") == 0)
		return 0;
	return replay_address_parse(value, &r->setup->ip, NULL)
		       ? setup_fail(r, "expected an IPv4 address", value)
		       : 0;
}

static int parent_take(struct reading *r, const struct setup_key *key, const char *value)
{
	struct flow *parent = &r->setup->parent;
	unsigned from = 0, number = 0;
	int end = 0, more = 0;
	char address[32];

	(void)key;
	parent->udp_port = WIRE_PORT;
	if (sscanf(value, "%31s from %5u%n port %3u%n", address, &from, &end, &number, &more) < 2 ||
	    value[more ? more : end] || !from || from > UINT16_MAX || number > PORT_NUMBER_MAX ||
	    replay_address_parse(address, &parent->ip, &parent->udp_port))
		return setup_fail(r, "expected IP:PORT from PORT, and perhaps port NUMBER", value);
	if (more)
		r->setup->parent_number = (int)number;
	r->setup->pipe.leaf = true;
	r->setup->pipe.parent_from = (uint16_t)from;
	return 0;
}

static int incarnation_take(struct reading *r, const struct setup_key *key, const char *value)
{
	(void)key;
	return replay_incarnation_parse(value, &r->setup->pipe.inc)
		       ? setup_fail(r, "expected a hexadecimal number of up to 16 digits", value)
		       : 0;
}

/* What a later tally may write is under another title. */
static int version_take(struct reading *r, const struct setup_key *key, const char *value)
{
	(void)r, (void)key, (void)value;
	return 0;
}

static int suffix_take(struct reading *r, const struct setup_key *key, const char *value)
{
	(void)key;
	if (strcmp(value, ".pcap") != 0 && strcmp(value, ".pcapng") != 0)
		return setup_fail(r, "expected .pcap or .pcapng", value);
	snprintf(r->suffix, sizeof(r->suffix), "%s", value);
	return 0;
}

static int clock_take(struct reading *r, const struct setup_key *key, const char *value)
{
	(void)key;
	r->setup->virtual_time = strcmp(value, "virtual") == 0;
	return r->setup->virtual_time ? 0 : setup_fail(r, "expected virtual", value);
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

/* Its value is `NUMBER framed mtu MTU checksums WORD device TEXT` or `NUMBER socket IP:PORT device TEXT`. */
static bool port_scan(struct replay_port *port, const char *value)
{
	static const char *const checks[] = { "no", "some", "yes" };
	char word[8], address[32];
	unsigned mtu = 0;
	int end = 0;

	if (sscanf(value, "%5u framed mtu %7u checksums %7s device %n", &port->number, &mtu, word,
		   &end) == 3 &&
	    end) {
		port->framed = true;
		port->mtu = (uint16_t)mtu;
		while (port->checks < 3 && strcmp(checks[port->checks], word) != 0)
			port->checks++;
		return port->checks < 3 && mtu >= PORT_MTU_MIN && mtu <= UINT16_MAX;
	}
	return sscanf(value, "%5u socket %31s device %n", &port->number, address, &end) == 2 &&
	       end && replay_address_parse(address, &port->ip, &port->udp_port) == 0;
}

static int port_take(struct reading *r, const struct setup_key *key, const char *value)
{
	struct replay_port *port = &r->setup->ports[r->setup->nr_ports];

	(void)key;
	if (r->setup->nr_ports == PORT_MAX)
		return setup_fail(r, "there are too many ports", NULL);
	*port = (struct replay_port){ .udp_port = WIRE_PORT };
	if (!port_scan(port, value) || port->number > PORT_NUMBER_MAX)
		return setup_fail(
			r,
			"expected NUMBER (0 to 255) framed mtu BYTES (256 to 65535) checksums "
			"no|some|yes device NAME, or NUMBER socket IP:PORT device NAME",
			value);
	for (unsigned i = 0; i < r->setup->nr_ports; i++)
		if (r->setup->ports[i].number == port->number)
			return setup_fail(r, "expected each port once", value);
	capture_find(r, port, "in", port->in);
	capture_find(r, port, "out", port->out);
	if (!port->in[0])
		return port_fail(r->err, "%.200s: port%u_in%s is missing", r->dir, port->number,
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
static bool impair_take(const struct reading *r, const char *what, struct replay_event *event)
{
	struct faults_change change;
	struct port_error err;

	event->what = REPLAY_SPOIL;
	event->on = strstr(what, "corrupt") != NULL;
	if (faults_parse(&change, what, &err))
		return false;
	while (event->port < r->setup->nr_ports &&
	       r->setup->ports[event->port].number != change.number)
		event->port++;
	return event->port < r->setup->nr_ports;
}

/* What the switch was told; false: it is not understood. */
static bool event_take(struct reading *r, const char *what, struct replay_event *event)
{
	int name = 0;

	if (strcmp(what, "ask") == 0) {
		event->what = REPLAY_ASK;
	} else if (sscanf(what, "reset %" SCNu64 " %n", &event->epoch, &name) == 1 && name) {
		event->what = REPLAY_RESET;
		snprintf(event->name, sizeof(event->name), "%.64s", what + name);
		return what[name] && strlen(what + name) <= WIRE_NAME;
	} else if (strcmp(what, "drain on") == 0 || strcmp(what, "drain off") == 0) {
		event->what = REPLAY_DRAIN;
		event->on = strcmp(what, "drain on") == 0;
	} else if (strncmp(what, "impair ", 7) == 0) {
		return impair_take(r, what + 7, event);
	} else if (strcmp(what, "end") == 0) {
		event->what = REPLAY_END;
		r->setup->ended = true;
	} else {
		return false;
	}
	return true;
}

static int at_take(struct reading *r, const struct setup_key *key, const char *value)
{
	struct replay_event *event = event_add(r->setup);
	const char *what = strchr(value, ' ');
	char time[24];

	(void)key;
	if (!event)
		return port_fail(r->err, "out of memory");
	*event = (struct replay_event){ .ns = 0 };
	snprintf(time, sizeof(time), "%.*s", (int)strcspn(value, " "), value);
	if (!what || quantity_parse_whole(time, 0, UINT64_MAX, &event->ns))
		return setup_fail(r, "expected a time in nanoseconds and what happened", value);
	if (!event_take(r, what + 1, event))
		return setup_fail(
			r,
			"expected ask, reset EPOCH JOB, drain on, drain off, impair PORT:KEY=VALUE "
			"of a port above, or end",
			what + 1);
	return 0;
}

static int line_take(struct reading *r, char *line)
{
	static const struct setup_key keys[] = {
		{ "version", version_take, 0, 0 },
		{ "jobs", number_take, 1, 4096 },
		{ "slots", number_take, WIRE_SE + 1, 1 << 22 },
		{ "memory", number_take, 64 << 10, UINT64_C(1) << 40 },
		{ "chunk", number_take, WIRE_P_MIN, WIRE_P_MAX },
		{ "chunk-check", number_take, WIRE_P_MIN, WIRE_P_MAX },
		{ "strict-ports", number_take, 0, 1 },
		{ "ip", ip_take, 0, 0 },
		{ "mac", mac_take, 0, 0 },
		{ "parent", parent_take, 0, 0 },
		{ "incarnation", incarnation_take, 0, 0 },
		{ "suffix", suffix_take, 0, 0 },
		{ "clock", clock_take, 0, 0 },
		{ "port", port_take, 0, 0 },
		{ "at", at_take, 0, 0 },
	};
	char *value = strchr(line, ' ');

	if (!value)
		return setup_fail(r, "expected a key and a value", line);
	*value++ = '\0';
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, line) != 0)
			continue;
		if (keys[i].take != port_take && keys[i].take != at_take && r->seen & 1U << i)
			return setup_fail(r, "expected each key but port and at once", line);
		r->seen |= 1U << i;
		return keys[i].take(r, &keys[i], value);
	}
	return setup_fail(
		r,
		"expected version, jobs, slots, memory, chunk, chunk-check, strict-ports, ip, "
		"mac, parent, incarnation, suffix, clock, port or at",
		line);
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
		/* Without its end, the last line is one that its writer was killed in. */
		if (!end && feof(file))
			break;
		if (!end)
			return setup_fail(r, "expected lines of up to 2046 bytes", NULL);
		*end = '\0';
		if (r->line > 1)
			rc = line_take(r, line);
		else if (strcmp(line, JOURNAL_TITLE) != 0)
			rc = setup_fail(r,
					"is not what a switch writes beside its captures, or of "
					"another version: expected " JOURNAL_TITLE,
					line);
	}
	if (rc == 0 && !r->setup->nr_ports)
		rc = setup_fail(r, "names no port: the switch ended before it served", NULL);
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
