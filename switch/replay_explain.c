// SPDX-License-Identifier: BSD-3-Clause
/* replay_explain.c - a frame as a line of text, and the first field in which two of them differ, by name. */
#include <inttypes.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/print.h"
#include "switch/replay.h"

enum {
	IP = FRAME_ETH,
	UDP = FRAME_ETH + FRAME_IPV4,
	MSG = FRAME_HEADERS,
	BODY = MSG + WIRE_HEADER,
	VALUES_SHOWN = 24,
};

enum form { NUMBER, HEX, MAC, ADDRESS, TYPE, KIND, STATE, CAUSE, FIELD, RANKS, TEXT };

struct field {
	const char *name;
	uint16_t off;
	uint8_t len;
	uint8_t form; /* enum form */
};

static const struct field frame_fields[] = {
	{ "Ethernet destination", 0, 6, MAC },
	{ "Ethernet source", 6, 6, MAC },
	{ "Ethernet type", 12, 2, HEX },
};
static const struct field ip_fields[] = {
	{ "IPv4 source", IP + 12, 4, ADDRESS },		{ "IPv4 destination", IP + 16, 4, ADDRESS },
	{ "IPv4 protocol", IP + 9, 1, NUMBER },		{ "IPv4 time to live", IP + 8, 1, NUMBER },
	{ "IPv4 length", IP + 2, 2, NUMBER },		{ "UDP source port", UDP, 2, NUMBER },
	{ "UDP destination port", UDP + 2, 2, NUMBER }, { "UDP length", UDP + 4, 2, NUMBER },
};
static const struct field header_fields[] = {
	{ "message type", MSG + WIRE_OFF_TYPE, 1, TYPE },
	{ "kind and flags", MSG + WIRE_OFF_KIND, 1, KIND },
	{ "job handle", MSG + WIRE_OFF_JOB, 2, NUMBER },
	{ "epoch", MSG + WIRE_OFF_EPOCH, 6, NUMBER },
	{ "slot", MSG + WIRE_OFF_SLOT, 2, NUMBER },
	{ "round", MSG + WIRE_OFF_ROUND, 4, NUMBER },
	{ "descriptor hash", MSG + WIRE_OFF_DESC, 4, HEX },
	{ "rank (wid)", MSG + WIRE_OFF_WID, 2, NUMBER },
};
static const struct field status_fields[] = {
	{ "state", BODY + WIRE_STATUS_STATE, 1, STATE },
	{ "cause", BODY + WIRE_STATUS_CAUSE, 1, CAUSE },
	{ "first rank of the cause", BODY + WIRE_STATUS_WID_A, 2, NUMBER },
	{ "second rank of the cause", BODY + WIRE_STATUS_WID_B, 2, NUMBER },
	{ "epoch ended", BODY + WIRE_STATUS_ENDED, 6, NUMBER },
	{ "job key", BODY + WIRE_STATUS_KEY, 8, HEX },
	{ "incarnation", BODY + WIRE_STATUS_INC, 8, HEX },
	{ "payload P", BODY + WIRE_STATUS_P, 2, NUMBER },
	{ "slots", BODY + WIRE_STATUS_SLOTS, 2, NUMBER },
	{ "slots of lane E", BODY + WIRE_STATUS_SE, 2, NUMBER },
	{ "ranks of the job", BODY + WIRE_STATUS_WORLD, 2, NUMBER },
	{ "shards", BODY + WIRE_STATUS_SHARDS, 2, NUMBER },
	{ "job flags", BODY + WIRE_STATUS_FLAGS, 2, HEX },
	{ "refused field", BODY + WIRE_STATUS_FIELD, 1, FIELD },
	{ "first rank of the masks", BODY + WIRE_STATUS_FIRST, 2, NUMBER },
	{ "the job's value", BODY + WIRE_STATUS_VALUE_A, 8, NUMBER },
	{ "the asker's value", BODY + WIRE_STATUS_VALUE_B, 8, NUMBER },
	{ "ranks that joined", BODY + WIRE_STATUS_JOINED, 8, RANKS },
	{ "missing ranks", BODY + WIRE_STATUS_MISSING, 8, RANKS },
	{ "silent ranks", BODY + WIRE_STATUS_SILENT, 8, RANKS },
};
static const struct field join_fields[] = {
	{ "incarnation", BODY + WIRE_JOIN_INC, 8, HEX },
	{ "epoch to replace", BODY + WIRE_JOIN_BASE, 6, NUMBER },
	{ "job flags", BODY + WIRE_JOIN_FLAGS, 2, HEX },
	{ "ranks of the job", BODY + WIRE_JOIN_WORLD, 2, NUMBER },
	{ "slots wanted", BODY + WIRE_JOIN_SLOTS, 2, NUMBER },
	{ "payload P", BODY + WIRE_JOIN_P, 2, NUMBER },
	{ "first UDP port", BODY + WIRE_JOIN_PORT, 2, NUMBER },
	{ "number of UDP ports", BODY + WIRE_JOIN_NR_PORTS, 2, NUMBER },
	{ "ranges", BODY + WIRE_JOIN_NR_RANGES, 2, NUMBER },
	{ "job name", BODY + WIRE_JOIN_NAME, WIRE_NAME, TEXT },
	{ "ranks it stands for", BODY + WIRE_JOIN_RANKS, 2, NUMBER },
};
static const struct field sum_fields[] = {
	{ "IPv4 checksum", IP + 10, 2, HEX },
	{ "UDP checksum", UDP + 6, 2, HEX },
};
#define NR(fields) (sizeof(fields) / sizeof((fields)[0]))

/* Two frames, and where the difference is written. */
struct pair {
	const uint8_t *a, *b;
	uint32_t len_a, len_b;
	char *text;
};

static uint64_t field_number(const uint8_t *p, unsigned len)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < len; i++)
		v = v << 8 | p[i];
	return v;
}

static void field_print(const struct field *field, const uint8_t *frame, char *to, size_t room)
{
	const uint8_t *p = frame + field->off;
	const uint64_t v = field->len <= 8 ? field_number(p, field->len) : 0;

	switch ((enum form)field->form) {
	case NUMBER:
		snprintf(to, room, "%" PRIu64, v);
		return;
	case HEX:
		snprintf(to, room, "%0*" PRIx64, 2 * field->len, v);
		return;
	case MAC:
		snprintf(to, room, "%02x:%02x:%02x:%02x:%02x:%02x", p[0], p[1], p[2], p[3], p[4],
			 p[5]);
		return;
	case ADDRESS:
		snprintf(to, room, "%u.%u.%u.%u", p[0], p[1], p[2], p[3]);
		return;
	case TYPE:
		snprintf(to, room, "%s", print_type(p[0] & 0x0f));
		return;
	case KIND:
		snprintf(to, room, "%s (%02x)", print_kind(p[0] & 0x0f), p[0]);
		return;
	case STATE:
		snprintf(to, room, "%s", print_state(p[0]));
		return;
	case CAUSE:
		snprintf(to, room, "%u (%s)", p[0], print_cause(p[0]));
		return;
	case FIELD:
		snprintf(to, room, "%s", print_field(p[0]));
		return;
	case RANKS:
		print_ranks(to, room, v);
		return;
	case TEXT:
		snprintf(to, room, "\"%.*s\"", field->len, (const char *)p);
		return;
	}
}

/* Whether one of the fields differs, and then it is said. */
static bool fields_differ(const struct pair *pair, const struct field *fields, size_t nr)
{
	char a[160], b[160];

	for (size_t i = 0; i < nr; i++) {
		const struct field *f = &fields[i];
		const uint32_t end = (uint32_t)f->off + f->len;

		if (end > pair->len_a || end > pair->len_b ||
		    memcmp(pair->a + f->off, pair->b + f->off, f->len) == 0)
			continue;
		field_print(f, pair->a, a, sizeof(a));
		field_print(f, pair->b, b, sizeof(b));
		snprintf(pair->text, REPLAY_TEXT, "%s: expected %s, sent %s", f->name, a, b);
		return true;
	}
	return false;
}

static long long value_of(const uint8_t *p, unsigned width)
{
	if (width == 4)
		return (int32_t)wire_get32(p);
	return width == 2 ? (int16_t)wire_get16(p) : p[0];
}

static bool values_differ(const struct pair *pair, const struct wire_msg *msg)
{
	const unsigned width = msg->kind == WIRE_ADD16 ? 2 : msg->kind == WIRE_MAX8 ? 1 : 4;
	unsigned nr = 0, first = 0;

	for (unsigned i = 0; i < msg->len / width; i++)
		if (memcmp(pair->a + BODY + i * width, pair->b + BODY + i * width, width) != 0 &&
		    nr++ == 0)
			first = i;
	if (!nr)
		return false;
	snprintf(pair->text, REPLAY_TEXT,
		 "value %u of %u: expected %lld, sent %lld (%u value%s differ%s)", first,
		 msg->len / width, value_of(pair->a + BODY + first * width, width),
		 value_of(pair->b + BODY + first * width, width), nr, nr == 1 ? "" : "s",
		 nr == 1 ? "s" : "");
	return true;
}

static bool body_differs(const struct pair *pair, const struct wire_msg *msg)
{
	switch ((enum wire_type)msg->type) {
	case WIRE_DATA:
	case WIRE_RESULT:
		return values_differ(pair, msg);
	case WIRE_STATUS:
	case WIRE_END:
		return fields_differ(pair, status_fields, NR(status_fields));
	case WIRE_JOIN:
		return fields_differ(pair, join_fields, NR(join_fields));
	case WIRE_KEEPALIVE:
		return wire_is_ask(msg) && fields_differ(pair, join_fields, NR(join_fields));
	case WIRE_LEAVE:
		break;
	}
	return false;
}

/* The frames' messages, if both have one whose header is the same. */
static bool message_differs(const struct pair *pair, struct wire_msg *msg)
{
	/* Which of the two is broken does not matter: one of them says what the bytes mean. */
	if (wire_parse(msg, pair->a + MSG, pair->len_a - MSG) != WIRE_OK &&
	    wire_parse(msg, pair->b + MSG, pair->len_b - MSG) != WIRE_OK)
		return false;
	return body_differs(pair, msg);
}

static bool is_tally(const uint8_t *frame, uint32_t len)
{
	return len >= MSG + WIRE_HEADER && wire_get16(frame + 12) == FRAME_TYPE_IPV4 &&
	       frame[IP] == 0x45 && frame[IP + 9] == 17;
}

static void bytes_differ(const struct pair *pair)
{
	uint32_t i = 0;

	while (i < pair->len_a && i < pair->len_b && pair->a[i] == pair->b[i])
		i++;
	if (i == pair->len_a || i == pair->len_b)
		snprintf(pair->text, REPLAY_TEXT, "length: expected %u bytes, sent %u", pair->len_a,
			 pair->len_b);
	else
		snprintf(pair->text, REPLAY_TEXT, "byte %u: expected %02x, sent %02x", i,
			 pair->a[i], pair->b[i]);
}

void replay_explain(const struct replay_packet *expected, const struct replay_sent *sent,
		    char text[REPLAY_TEXT])
{
	const struct pair pair = { expected->data, sent->data, expected->len, sent->len, text };
	const bool ip = pair.len_a >= FRAME_HEADERS && pair.len_b >= FRAME_HEADERS &&
			wire_get16(pair.a + 12) == FRAME_TYPE_IPV4 &&
			wire_get16(pair.b + 12) == FRAME_TYPE_IPV4;
	const bool tally = ip && is_tally(pair.a, pair.len_a) && is_tally(pair.b, pair.len_b);
	struct wire_msg msg;

	if (fields_differ(&pair, frame_fields, NR(frame_fields)))
		return;
	/* The message says more than its length. */
	if (tally && fields_differ(&pair, header_fields, NR(header_fields)))
		return;
	if (ip && fields_differ(&pair, ip_fields, NR(ip_fields)))
		return;
	if (pair.len_a == pair.len_b && tally && message_differs(&pair, &msg))
		return;
	if (pair.len_a == pair.len_b && ip && fields_differ(&pair, sum_fields, NR(sum_fields)))
		return;
	bytes_differ(&pair);
}

static void describe_status(const struct wire_msg *msg, char *to, size_t room)
{
	struct wire_status status;
	size_t len;

	if (wire_status_parse(&status, msg) != WIRE_OK)
		return;
	len = msg->type == WIRE_END && !status.state
		      ? 0
		      : (size_t)snprintf(to, room, " %s", print_state(status.state));
	if (status.cause)
		snprintf(to + len, room - len, ", cause: %s", print_cause(status.cause));
}

static void describe_message(const struct frame *frame, char *to, size_t room)
{
	struct wire_join join;
	struct wire_msg msg;
	enum wire_error error = wire_parse(&msg, frame->payload, frame->len);
	size_t len;

	if (error != WIRE_OK) {
		snprintf(to, room, "UDP, %u bytes, no message: %s", frame->len,
			 print_wire_error(error));
		return;
	}
	len = print_msg(to, room, &msg);
	if (msg.type == WIRE_STATUS || msg.type == WIRE_END)
		describe_status(&msg, to + len, room - len);
	if ((msg.type == WIRE_JOIN || wire_is_ask(&msg)) && wire_join_parse(&join, &msg) == WIRE_OK)
		snprintf(to + len, room - len, " \"%s\" base %" PRIu64 " world %u", join.name,
			 join.base, join.world);
}

static void describe_address(char *to, size_t room, uint32_t ip, const uint16_t *port)
{
	int len = snprintf(to, room, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
			   ip & 255);

	if (port)
		snprintf(to + len, room - (size_t)len, ":%u", *port);
}

static void describe_ip(const struct frame *frame, char *to, size_t room)
{
	const bool udp = frame->kind == FRAME_IS_UDP;
	char from[32], dest[32];
	struct wire_msg msg;
	int len;

	describe_address(from, sizeof(from), frame->ip_src, udp ? &frame->port_src : NULL);
	describe_address(dest, sizeof(dest), frame->ip_dst, udp ? &frame->port_dst : NULL);
	len = snprintf(to, room, "%s > %s ", from, dest);
	to += len;
	room -= (size_t)len;
	/* A udp port of the switch may have another number. */
	if (udp && (frame->port_dst == WIRE_PORT || frame->port_src == WIRE_PORT ||
		    wire_parse(&msg, frame->payload, frame->len) == WIRE_OK))
		describe_message(frame, to, room);
	else if (udp)
		snprintf(to, room, "UDP, %u bytes", frame->len);
	else if (frame->kind == FRAME_IS_ICMP)
		snprintf(to, room, "ICMP type %u code %u", frame->payload[0], frame->payload[1]);
	else if (frame->kind == FRAME_IS_ARP)
		snprintf(to, room, "ARP %s", frame->payload[7] == 1 ? "request" : "reply");
	else
		snprintf(to, room, "IPv4 protocol %u, %u bytes", frame->ip_proto, frame->len);
}

void replay_describe(const uint8_t *data, uint32_t len, char text[REPLAY_TEXT])
{
	static uint8_t copy[CAPFILE_MAX]; /* large for a stack; one thread replays */
	struct frame frame;
	enum frame_error error;

	if (len > sizeof(copy))
		len = sizeof(copy);
	memcpy(copy, data, len);
	error = frame_parse(&frame, copy, len, false);
	if (error == FRAME_OK && frame.kind != FRAME_OTHER)
		describe_ip(&frame, text, REPLAY_TEXT);
	else if (error == FRAME_OK || len >= FRAME_ETH)
		snprintf(text, REPLAY_TEXT, "frame of type %04x, %u bytes", frame.ethertype, len);
	else
		snprintf(text, REPLAY_TEXT, "%u bytes", len);
}
