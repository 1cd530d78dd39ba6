// SPDX-License-Identifier: BSD-3-Clause
/*
 * replay_hide.c - a copy of captures without addresses, job names and values of their own, which replays all the same.
 *
 * What comes in is written with others in their place, always the same one for the same; what the switch sends is then
 * what it sends for that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "switch/journal.h"
#include "switch/replay.h"

enum {
	IPS = 1 << 16,
	MACS = 1 << 16,
	NAMES = 4096,
	QUOTE = FRAME_ICMP + FRAME_IPV4 + FRAME_UDP,
	NET = 0x0a4d0000, /* 10.77.0.0 */
};

struct hide {
	const struct replay_setup *setup;
	struct port_error *err;
	unsigned nr_ips, nr_macs, nr_names;
	uint32_t ips[IPS];
	uint64_t macs[MACS];
	char names[NAMES][WIRE_NAME + 1];
	uint8_t frame[CAPFILE_MAX + 1];
};

static void hide_ip(struct hide *hide, uint8_t *p)
{
	const uint32_t ip = wire_get32(p);
	unsigned i = 0;

	/* None, broadcast, groups and this machine's mean the same everywhere. */
	if (ip == 0 || ip >> 28 >= 14 || ip >> 24 == 127)
		return;
	while (i < hide->nr_ips && hide->ips[i] != ip)
		i++;
	if (i == hide->nr_ips && i < IPS - 2)
		hide->ips[hide->nr_ips++] = ip;
	wire_put32(p, NET + 1 + i);
}

static void hide_mac(struct hide *hide, uint8_t *p)
{
	const uint64_t mac = wire_get48(p);
	unsigned i = 0;

	if (mac == 0 || p[0] & 1)
		return;
	while (i < hide->nr_macs && hide->macs[i] != mac)
		i++;
	if (i == hide->nr_macs && i < MACS - 1)
		hide->macs[hide->nr_macs++] = mac;
	wire_put48(p, UINT64_C(0x020000000000) + i + 1);
}

/* job-1 and so on. */
static void hide_name(struct hide *hide, const char *name, char to[WIRE_NAME])
{
	unsigned i = 0;

	while (i < hide->nr_names && strcmp(hide->names[i], name) != 0)
		i++;
	if (i == hide->nr_names && i < NAMES - 1)
		snprintf(hide->names[hide->nr_names++], WIRE_NAME + 1, "%s", name);
	memset(to, 0, WIRE_NAME);
	snprintf(to, WIRE_NAME, "job-%u", i + 1);
}

/* A STATUS names a job by its key alone. */
static uint64_t hide_key(const struct hide *hide, uint64_t key)
{
	char name[WIRE_NAME];

	for (unsigned i = 0; i < hide->nr_names; i++)
		if (wire_job_key(hide->names[i]) == key) {
			snprintf(name, sizeof(name), "job-%u", i + 1);
			return wire_job_key(name);
		}
	return key;
}

/* --- Messages -------------------------------------------------------------------------------------------- */

/* The same contribution sent again has the same values again. */
static void hide_values(const struct wire_msg *msg, uint8_t *values)
{
	const uint32_t from = msg->kind == WIRE_MAX8 ? WIRE_E_EXP : 0;
	uint64_t z;

	if (msg->flags & WIRE_EMPTY)
		return;
	for (uint32_t i = from; i < msg->len; i++) {
		z = (uint64_t)msg->wid << 48 ^ (uint64_t)msg->slot << 32 ^ msg->round;
		z = (z ^ i * UINT64_C(0x9e3779b97f4a7c15) ^ values[i]) *
		    UINT64_C(0xbf58476d1ce4e5b9);
		values[i] = (uint8_t)(z >> 56 ^ z >> 31);
	}
}

static void hide_join(struct hide *hide, const struct wire_msg *msg, uint8_t *body)
{
	struct wire_join join;

	if (wire_join_parse(&join, msg) == WIRE_OK)
		hide_name(hide, join.name, (char *)body + WIRE_JOIN_NAME);
	else
		memset(body + WIRE_JOIN_NAME, 0, WIRE_NAME);
}

static void hide_message(struct hide *hide, uint8_t *payload, uint32_t len)
{
	uint8_t *body = payload + WIRE_HEADER;
	struct wire_msg msg;

	if (wire_parse(&msg, payload, len) != WIRE_OK) {
		/* It stays what no switch takes. */
		if (len > WIRE_HEADER)
			memset(body, 0, len - WIRE_HEADER);
		return;
	}
	switch ((enum wire_type)msg.type) {
	case WIRE_DATA:
	case WIRE_RESULT:
		hide_values(&msg, body);
		break;
	case WIRE_JOIN:
		hide_join(hide, &msg, body);
		break;
	case WIRE_KEEPALIVE:
		if (wire_is_ask(&msg))
			hide_join(hide, &msg, body);
		break;
	case WIRE_STATUS:
	case WIRE_END:
		wire_put64(body + WIRE_STATUS_KEY,
			   hide_key(hide, wire_get64(body + WIRE_STATUS_KEY)));
		break;
	case WIRE_LEAVE:
		break;
	}
	if (msg.sealed)
		wire_seal(payload, msg.len);
}

/* --- Frames ------------------------------------------------------------------------------------------------ */

static uint32_t pseudo_sum(const uint8_t *frame, uint32_t len)
{
	return frame_checksum_add(FRAME_PROTO_UDP + FRAME_UDP + len, frame + FRAME_OFF_IP_SRC, 8);
}

static void put_ip_sum(uint8_t *frame)
{
	wire_put16(frame + FRAME_OFF_IP_SUM, 0);
	wire_put16(frame + FRAME_OFF_IP_SUM,
		   frame_checksum_fold(frame_checksum_add(0, frame + FRAME_ETH, FRAME_IPV4)));
}

/* A udp port of the switch may have another number than the usual. */
static bool is_message(const struct hide *hide, const struct frame *parsed)
{
	const struct replay_setup *setup = hide->setup;

	if (parsed->port_dst == WIRE_PORT || parsed->port_src == WIRE_PORT)
		return true;
	for (unsigned i = 0; i < setup->nr_ports; i++)
		if (!setup->ports[i].framed && parsed->ip_dst == setup->ports[i].ip &&
		    parsed->port_dst == setup->ports[i].udp_port)
			return true;
	return false;
}

/* A checksum that was right, half done, absent or wrong is so again. */
static void hide_udp(struct hide *hide, const struct frame *parsed, uint8_t *frame, bool right)
{
	const uint16_t was = wire_get16(frame + FRAME_OFF_UDP_SUM);
	const uint16_t half = (uint16_t)~frame_checksum_fold(pseudo_sum(frame, parsed->len));
	const bool was_half = was == half;
	uint16_t sum;

	if (is_message(hide, parsed))
		hide_message(hide, parsed->payload, parsed->len);
	else
		memset(parsed->payload, 0, parsed->len);
	hide_ip(hide, frame + FRAME_OFF_IP_SRC);
	hide_ip(hide, frame + FRAME_OFF_IP_DST);
	put_ip_sum(frame);
	if (!was)
		return;
	wire_put16(frame + FRAME_OFF_UDP_SUM, 0);
	sum = frame_checksum_fold(frame_checksum_add(pseudo_sum(frame, parsed->len),
						     frame + FRAME_OFF_L4,
						     FRAME_UDP + parsed->len));
	if (was_half)
		sum = (uint16_t)~frame_checksum_fold(pseudo_sum(frame, parsed->len));
	else if (!right)
		sum ^= 0x5555;
	wire_put16(frame + FRAME_OFF_UDP_SUM, sum ? sum : 0xffff);
}

static void hide_icmp(struct hide *hide, const struct frame *parsed, uint8_t *frame)
{
	uint8_t *icmp = parsed->payload;

	if (parsed->len >= QUOTE && icmp[0] == 3) {
		hide_ip(hide, icmp + FRAME_ICMP + 12);
		hide_ip(hide, icmp + FRAME_ICMP + 16);
		memset(icmp + QUOTE, 0, parsed->len - QUOTE);
	} else if (parsed->len > FRAME_ICMP) {
		memset(icmp + FRAME_ICMP, 0, parsed->len - FRAME_ICMP);
	}
	wire_put16(icmp + 2, 0);
	wire_put16(icmp + 2, frame_checksum_fold(frame_checksum_add(0, icmp, parsed->len)));
	hide_ip(hide, frame + FRAME_OFF_IP_SRC);
	hide_ip(hide, frame + FRAME_OFF_IP_DST);
	put_ip_sum(frame);
}

static void hide_arp(struct hide *hide, uint8_t *frame)
{
	hide_mac(hide, frame + FRAME_OFF_ARP_SHA);
	hide_ip(hide, frame + FRAME_OFF_ARP_SPA);
	hide_mac(hide, frame + FRAME_OFF_ARP_THA);
	hide_ip(hide, frame + FRAME_OFF_ARP_TPA);
}

/* Of what is neither, no more than what it is. */
static void hide_other(struct hide *hide, const struct frame *parsed, uint8_t *frame, uint32_t len)
{
	uint32_t kept = FRAME_ETH;
	bool right = false;

	if (parsed->ethertype == FRAME_TYPE_IPV4 && len >= FRAME_OFF_L4) {
		kept = FRAME_OFF_L4;
		right = frame_checksum_fold(frame_checksum_add(0, frame + FRAME_ETH, FRAME_IPV4)) ==
			0;
		hide_ip(hide, frame + FRAME_OFF_IP_SRC);
		hide_ip(hide, frame + FRAME_OFF_IP_DST);
	}
	memset(frame + kept, 0, len - kept);
	if (right)
		put_ip_sum(frame);
}

static void hide_frame(struct hide *hide, uint8_t *frame, uint32_t len)
{
	struct frame parsed, checked;
	const enum frame_error error = frame_parse(&parsed, frame, len, false);
	const bool right = frame_parse(&checked, frame, len, true) == FRAME_OK;

	if (len < FRAME_ETH) {
		memset(frame, 0, len);
		return;
	}
	if (error != FRAME_OK)
		parsed.kind = FRAME_OTHER;
	switch ((enum frame_kind)parsed.kind) {
	case FRAME_IS_UDP:
		hide_udp(hide, &parsed, frame, right);
		break;
	case FRAME_IS_ICMP:
		hide_icmp(hide, &parsed, frame);
		break;
	case FRAME_IS_ARP:
		hide_arp(hide, frame);
		break;
	case FRAME_OTHER:
	case FRAME_IS_IPV4:
		hide_other(hide, &parsed, frame, len);
		break;
	}
	hide_mac(hide, frame);
	hide_mac(hide, frame + FRAME_MAC);
}

/* --- Files --------------------------------------------------------------------------------------------------- */

static int hide_capture(struct hide *hide, const struct replay_port *port, const char *to)
{
	const char *name = strrchr(port->in, '/');
	struct replay_source source;
	struct capfile *file;
	char path[REPLAY_PATH], comment[REPLAY_TEXT];
	int rc = replay_source_open(&source, port->in, hide->err);

	replay_comment(hide->setup, "anonymised", comment);
	snprintf(path, sizeof(path), "%.3900s%s", to, name ? name : "");
	path[strlen(path) - (source.partial ? strlen(".partial") : 0)] = '\0';
	file = rc ? NULL
		  : capfile_open(path, strstr(path, ".pcapng") ? CAPFILE_PCAPNG : CAPFILE_PCAP,
				 comment, hide->err);
	if (file)
		capfile_interface(file, "port");
	while (file && rc == 0 && source.here) {
		const struct replay_packet *p = &source.next;

		memcpy(hide->frame, p->data, p->len < CAPFILE_MAX ? p->len : CAPFILE_MAX);
		hide_frame(hide, hide->frame, p->len);
		capfile_packet(file, 0, p->ns, hide->frame, p->len, p->whole);
		rc = replay_source_step(&source, hide->err);
	}
	replay_source_close(&source);
	if (!file)
		return -1;
	return capfile_close(file, hide->err) || rc ? -1 : 0;
}

static void put_address(FILE *out, struct hide *hide, const char *before, uint32_t ip)
{
	uint8_t p[4];

	wire_put32(p, ip);
	hide_ip(hide, p);
	fprintf(out, "%s%u.%u.%u.%u", before, p[0], p[1], p[2], p[3]);
}

static void put_port(FILE *out, struct hide *hide, const struct replay_port *port)
{
	static const char *const checks[] = { "no", "some", "yes" };

	fprintf(out, "port %u ", port->number);
	if (port->framed) {
		fprintf(out, "framed mtu %u checksums %s", port->mtu, checks[port->checks]);
	} else {
		put_address(out, hide, "socket ", port->ip);
		fprintf(out, ":%u", port->udp_port);
	}
	fputs(" device hidden\n", out);
}

static void put_event(FILE *out, struct hide *hide, const struct replay_event *event)
{
	char name[WIRE_NAME];

	fprintf(out, "at %" PRIu64 " ", event->ns);
	switch ((enum replay_what)event->what) {
	case REPLAY_ASK:
		fputs("ask\n", out);
		return;
	case REPLAY_RESET:
		hide_name(hide, event->name, name);
		fprintf(out, "reset %" PRIu64 " %s\n", event->epoch, name);
		return;
	case REPLAY_DRAIN:
		fprintf(out, "drain %s\n", event->on ? "on" : "off");
		return;
	case REPLAY_SPOIL:
		fprintf(out, "impair %u:%s\n",
			event->port < hide->setup->nr_ports ? hide->setup->ports[event->port].number
							    : 0,
			event->on ? "corrupt=1%" : "loss=0");
		return;
	case REPLAY_END:
		fputs("end\n", out);
		return;
	}
}

static void put_setup(FILE *out, struct hide *hide)
{
	const struct replay_setup *setup = hide->setup;
	const struct pipe_params *pipe = &setup->pipe;
	uint8_t mac[FRAME_MAC];

	memcpy(mac, setup->mac, sizeof(mac));
	hide_mac(hide, mac);
	fprintf(out, JOURNAL_TITLE "\n%ssuffix %s\njobs %u\nslots %u\nmemory %zu\nchunk %u\n",
		setup->virtual_time ? "clock virtual\n" : "",
		strstr(setup->ports[0].in, ".pcapng") ? ".pcapng" : ".pcap", pipe->jobs_max,
		pipe->slots_max, pipe->values_bytes, pipe->p_max);
	fprintf(out, "chunk-check %u\nstrict-ports %u\nmac %02x:%02x:%02x:%02x:%02x:%02x\n",
		pipe->p_check, pipe->strict_ports, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	put_address(out, hide, "ip ", setup->ip);
	fputc('\n', out);
	if (setup->parent.ip) {
		put_address(out, hide, "parent ", setup->parent.ip);
		fprintf(out, ":%u from %u", setup->parent.udp_port, pipe->parent_from);
		if (setup->parent_number >= 0)
			fprintf(out, " port %d", setup->parent_number);
		fprintf(out, "\nincarnation %016" PRIx64 "\n", pipe->inc);
	}
	for (unsigned i = 0; i < setup->nr_ports; i++)
		put_port(out, hide, &setup->ports[i]);
	for (unsigned i = 0; i < setup->nr_events; i++)
		put_event(out, hide, &setup->events[i]);
}

static int hide_journal(struct hide *hide, const char *to)
{
	char path[REPLAY_PATH];
	FILE *out;
	bool bad;

	snprintf(path, sizeof(path), "%.3900s/" JOURNAL_FILE, to);
	out = fopen(path, "we");
	if (!out)
		return port_fail(hide->err, "%.300s: %s", path, strerror(errno));
	put_setup(out, hide);
	bad = ferror(out) != 0;
	bad |= fclose(out) != 0;
	return bad ? port_fail(hide->err, "%.300s: could not be written", path) : 0;
}

/* Jobs' names before the keys that come from them: a parent may speak of a job first. */
static int hide_learn(struct hide *hide, const struct replay_port *port)
{
	struct replay_source source;
	char name[WIRE_NAME];
	int rc = replay_source_open(&source, port->in, hide->err);

	while (rc == 0 && source.here) {
		const struct replay_packet *p = &source.next;
		struct wire_join join;
		struct wire_msg msg;
		struct frame frame;

		memcpy(hide->frame, p->data, p->len < CAPFILE_MAX ? p->len : CAPFILE_MAX);
		if (frame_parse(&frame, hide->frame, p->len, false) == FRAME_OK &&
		    frame.kind == FRAME_IS_UDP &&
		    wire_parse(&msg, frame.payload, frame.len) == WIRE_OK &&
		    (msg.type == WIRE_JOIN || wire_is_ask(&msg)) &&
		    wire_join_parse(&join, &msg) == WIRE_OK)
			hide_name(hide, join.name, name);
		rc = replay_source_step(&source, hide->err);
	}
	replay_source_close(&source);
	return rc;
}

int replay_hide(const struct replay_setup *setup, const char *to, struct port_error *err)
{
	struct hide *hide = calloc(1, sizeof(*hide));
	int rc = 0;

	if (!hide)
		return port_fail(err, "out of memory");
	hide->setup = setup;
	hide->err = err;
	if (mkdir(to, 0777))
		rc = port_fail(err, "--anonymise %.300s: cannot make it: %s", to, strerror(errno));
	for (unsigned i = 0; rc == 0 && i < setup->nr_ports; i++)
		rc = hide_learn(hide, &setup->ports[i]);
	for (unsigned i = 0; rc == 0 && i < setup->nr_ports; i++)
		rc = hide_capture(hide, &setup->ports[i], to);
	if (rc == 0)
		rc = hide_journal(hide, to);
	free(hide);
	return rc;
}
