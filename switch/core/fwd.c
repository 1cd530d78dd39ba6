// SPDX-License-Identifier: BSD-3-Clause
/*
 * fwd.c - sorts frames: for the aggregation, for the switch itself, or ordinary traffic to be
 * switched.
 */
#include "switch/core/fwd.h"

#include <string.h>

#include "proto/wire.h"

/* 16 addresses, which bridges keep to themselves (802.1Q, 8.6.3). */
#define FWD_LINK_LOCAL UINT64_C(0x0180c2000000)

enum {
	FWD_WAYS = 4,
	FWD_PORTS_MAX = 256,
	FWD_FDB_MAX = 1 << 24,
	FWD_ICMP = 8, /* bytes of an ICMP header */
	FWD_ICMP_UNREACHABLE = 3,
	FWD_ICMP_PORT = 3,
	FWD_PROTO_UDP = 17,
	FWD_IP_SRC = 12, /* offsets in an IPv4 header */
	FWD_IP_DST = 16,
	FWD_IP_PROTO = 9,
	FWD_ARP_SPA = 14, /* offset of the sender's address in ARP */
	FWD_VLAN = 4,
	FWD_TYPE_VLAN = 0x8100,
	FWD_TYPE_SERVICE_VLAN = 0x88a8,
};

/*
 * An address where it was last heard.  key 0: free, as no station has the address
 * 00:00:00:00:00:00.
 */
struct fwd_entry {
	uint64_t key;
	uint64_t heard_ns;
	uint16_t port;
};

struct fwd {
	struct fwd_params params;
	uint32_t nr_sets; /* power of two */
	struct fwd_entry entries[];
};

static bool fwd_params_valid(const struct fwd_params *params)
{
	if (params->fdb_max < FWD_WAYS || params->fdb_max > FWD_FDB_MAX)
		return false;
	return (params->fdb_max & (params->fdb_max - 1)) == 0 && params->nr_ports <= FWD_PORTS_MAX;
}

size_t fwd_size(const struct fwd_params *params)
{
	if (!fwd_params_valid(params))
		return 0;
	return sizeof(struct fwd) + params->fdb_max * sizeof(struct fwd_entry);
}

struct fwd *fwd_init(void *mem, const struct fwd_params *params)
{
	struct fwd *fwd = mem;

	if (!fwd_params_valid(params))
		return NULL;
	memset(mem, 0, fwd_size(params));
	fwd->params = *params;
	fwd->nr_sets = params->fdb_max / FWD_WAYS;
	return fwd;
}

static uint64_t fwd_key(const uint8_t mac[FRAME_MAC])
{
	return wire_get48(mac);
}

static struct fwd_entry *fwd_set(struct fwd *fwd, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return &fwd->entries[FWD_WAYS * (hash & (fwd->nr_sets - 1))];
}

static bool fwd_fresh(const struct fwd *fwd, const struct fwd_entry *entry, uint64_t now_ns)
{
	return entry->key && entry->heard_ns + fwd->params.age_ns >= now_ns;
}

/*
 * A full set forgets the address that has been silent for longest: its traffic is flooded until it
 * speaks.
 */
static void fwd_learn(struct fwd *fwd, uint64_t key, uint16_t port, uint64_t now_ns)
{
	struct fwd_entry *set = fwd_set(fwd, key);
	struct fwd_entry *entry = &set[0];

	for (unsigned i = 0; i < FWD_WAYS; i++) {
		if (set[i].key == key) {
			entry = &set[i];
			break;
		}
		if (set[i].heard_ns < entry->heard_ns)
			entry = &set[i];
	}
	*entry = (struct fwd_entry){ .key = key, .heard_ns = now_ns, .port = port };
}

static const struct fwd_entry *fwd_lookup(struct fwd *fwd, uint64_t key, uint64_t now_ns)
{
	const struct fwd_entry *set = fwd_set(fwd, key);

	for (unsigned i = 0; i < FWD_WAYS; i++) {
		if (set[i].key == key)
			return fwd_fresh(fwd, &set[i], now_ns) ? &set[i] : NULL;
	}
	return NULL;
}

static void fwd_end(struct fwd_pkt *pkt, enum fwd_verdict verdict, enum counter counter)
{
	pkt->verdict = (uint8_t)verdict;
	pkt->counter = (uint8_t)counter;
}

static enum counter fwd_error(enum frame_error error)
{
	static const enum counter counters[] = {
		[FRAME_OK] = COUNTER_NR, /* is no error */
		[FRAME_SHORT] = COUNTER_frame_short,
		[FRAME_IP_VERSION] = COUNTER_ip_version,
		[FRAME_IP_OPTIONS] = COUNTER_ip_options,
		[FRAME_IP_LENGTH] = COUNTER_ip_length,
		[FRAME_IP_CHECKSUM] = COUNTER_ip_checksum,
		[FRAME_IP_FRAGMENT] = COUNTER_ip_fragment,
		[FRAME_UDP_CHECKSUM] = COUNTER_udp_checksum,
		[FRAME_ICMP_CHECKSUM] = COUNTER_icmp_checksum,
	};

	return counters[error];
}

/*
 * A port-unreachable about a packet that the aggregation sent, from the host it was sent to: frame
 * becomes the address it is about.  The quoted packet may be cut behind its first 8 bytes of UDP.
 */
static bool fwd_unreachable(const struct fwd *fwd, struct frame *frame)
{
	const uint8_t *ip = frame->payload + FWD_ICMP;
	const uint8_t *udp = ip + FRAME_IPV4;

	if (frame->len < FWD_ICMP + FRAME_IPV4 + FRAME_UDP)
		return false;
	if (frame->payload[0] != FWD_ICMP_UNREACHABLE || frame->payload[1] != FWD_ICMP_PORT)
		return false;
	/* We send no IPv4 options, so the quoted header has none. */
	if (ip[0] != 0x45 || ip[FWD_IP_PROTO] != FWD_PROTO_UDP)
		return false;
	if (wire_get32(ip + FWD_IP_SRC) != fwd->params.ip ||
	    wire_get32(ip + FWD_IP_DST) != frame->ip_src || wire_get16(udp) != fwd->params.udp_port)
		return false;
	frame->ip_dst = frame->ip_src;
	frame->port_dst = wire_get16(udp + 2);
	return true;
}

/* To the switch's own MAC: it serves its UDP port and ping, and hears of ports that are gone. */
static void fwd_own(struct fwd *fwd, struct fwd_pkt *pkt, enum frame_error error)
{
	const struct fwd_params *own = &fwd->params;
	struct frame *frame = &pkt->frame;

	if (error != FRAME_OK) {
		fwd_end(pkt, FWD_DROP, fwd_error(error));
	} else if (frame->ethertype != FRAME_TYPE_IPV4 || frame->ip_dst != own->ip) {
		fwd_end(pkt, FWD_DROP, COUNTER_not_mine);
	} else if (frame->kind == FRAME_IS_UDP && frame->port_dst == own->udp_port) {
		fwd_end(pkt, FWD_LOCAL, COUNTER_NR);
	} else if (frame->kind == FRAME_IS_ICMP && fwd_unreachable(fwd, frame)) {
		fwd_end(pkt, FWD_GONE, COUNTER_NR);
	} else if (frame->kind == FRAME_IS_ICMP &&
		   frame_echo_reply(pkt->data, pkt->len, own->ip, own->mac)) {
		fwd_end(pkt, FWD_REPLY, COUNTER_echo_reply);
	} else {
		fwd_end(pkt, FWD_DROP, COUNTER_not_mine);
	}
}

/* A switch does not look beyond the addresses of what is not for it. */
static void fwd_ordinary(struct fwd *fwd, struct fwd_pkt *pkt, uint64_t now_ns)
{
	const struct fwd_entry *entry = NULL;

	const uint64_t dst = fwd_key(pkt->frame.dst);

	if (!(pkt->frame.dst[0] & 1))
		entry = fwd_lookup(fwd, dst, now_ns);
	if (dst >> 4 == FWD_LINK_LOCAL >> 4) {
		fwd_end(pkt, FWD_DROP, COUNTER_link_local);
	} else if (!entry) {
		fwd_end(pkt, FWD_FLOOD, COUNTER_flooded);
	} else if (entry->port == pkt->port) {
		fwd_end(pkt, FWD_DROP, COUNTER_same_port);
	} else {
		pkt->out_port = entry->port;
		fwd_end(pkt, FWD_PORT, COUNTER_forwarded);
	}
}

/*
 * The IPv4 address that a frame claims to be from, 0: none.  Passed on, one with the switch's would draw workers away
 * to whoever sent it, or give them results.  So also of frames that are wrong, or that hosts take in spite of their
 * tags (802.1Q with VLAN 0).
 */
static uint32_t fwd_sender(const uint8_t *data, uint32_t len)
{
	uint32_t at = 2 * FRAME_MAC;
	uint16_t type;

	if (len < FRAME_ETH)
		return 0;
	type = wire_get16(data + at);
	while ((type == FWD_TYPE_VLAN || type == FWD_TYPE_SERVICE_VLAN) &&
	       len >= at + FWD_VLAN + 2) {
		at += FWD_VLAN;
		type = wire_get16(data + at);
	}
	at += 2;
	if (type == FRAME_TYPE_ARP)
		at += FWD_ARP_SPA;
	else if (type == FRAME_TYPE_IPV4)
		at += FWD_IP_SRC;
	else
		return 0;
	return len >= at + 4 ? wire_get32(data + at) : 0;
}

void fwd_input(struct fwd *fwd, struct fwd_pkt *pkt, uint64_t now_ns)
{
	const struct fwd_params *own = &fwd->params;
	struct frame *frame = &pkt->frame;
	bool serves = own->ip != 0;
	enum frame_error error;
	uint64_t src, dst;

	if (pkt->len < FRAME_ETH) {
		fwd_end(pkt, FWD_DROP, COUNTER_frame_short);
		return;
	}
	if (pkt->len > pkt->mtu + FRAME_ETH) {
		fwd_end(pkt, FWD_DROP, COUNTER_frame_long);
		return;
	}
	error = frame_parse(frame, pkt->data, pkt->len, pkt->verify);
	src = fwd_key(frame->src);
	if ((frame->src[0] & 1) || src == 0 || (serves && src == fwd_key(own->mac))) {
		fwd_end(pkt, FWD_DROP, COUNTER_bad_source);
		return;
	}
	if (serves && fwd_sender(pkt->data, pkt->len) == own->ip) {
		fwd_end(pkt, FWD_DROP, COUNTER_claimed);
		return;
	}
	dst = fwd_key(frame->dst);
	serves = serves && ((frame->dst[0] & 1) || dst == fwd_key(own->mac));
	fwd_learn(fwd, src, pkt->port, now_ns);
	if (serves && error == FRAME_OK && frame->ethertype == FRAME_TYPE_ARP &&
	    frame_arp_reply(pkt->data, pkt->len, own->ip, own->mac))
		fwd_end(pkt, FWD_REPLY, COUNTER_arp_reply);
	else if (serves && !(frame->dst[0] & 1))
		fwd_own(fwd, pkt, error);
	else
		fwd_ordinary(fwd, pkt, now_ns);
}

uint32_t fwd_next(const struct fwd *fwd, uint32_t from, uint64_t now_ns,
		  struct fwd_station *station)
{
	for (uint32_t i = from; i < fwd->params.fdb_max; i++) {
		const struct fwd_entry *entry = &fwd->entries[i];

		if (!fwd_fresh(fwd, entry, now_ns))
			continue;
		wire_put48(station->mac, entry->key);
		station->port = entry->port;
		station->heard_ns = entry->heard_ns;
		return i + 1;
	}
	return 0;
}
