// SPDX-License-Identifier: BSD-3-Clause
// Frames: for the aggregation, for the switch itself, and ordinary traffic.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/wire.h"
#include "switch/core/fwd.h"

enum { MTU = 1500, OWN_IP = 0x0a0000fe, PORTS = 4, ROOM = 12000 };
#define AGE UINT64_C(1000)

static const uint8_t own_mac[FRAME_MAC] = { 2, 0, 10, 0, 0, 0xfe };
static const uint8_t all_macs[FRAME_MAC] = { 255, 255, 255, 255, 255, 255 };

struct fixture {
	struct fwd *fwd;
	uint64_t now_ns;
	uint8_t buf[ROOM];
	struct fwd_pkt pkt;
	uint64_t counters[COUNTER_NR + 1], nr;
	char text[64];
};

static void open_fwd(struct fixture *f, const struct fwd_params *params)
{
	void *mem = malloc(fwd_size(params));

	memset(f, 0, sizeof(*f));
	assert_non_null(mem);
	f->fwd = fwd_init(mem, params);
	assert_non_null(f->fwd);
	f->now_ns = 5;
}

static struct fwd_params usual(void)
{
	struct fwd_params params = {
		.ip = OWN_IP,
		.udp_port = WIRE_PORT,
		.nr_ports = PORTS,
		.fdb_max = 64,
		.age_ns = AGE,
	};

	memcpy(params.mac, own_mac, FRAME_MAC);
	return params;
}

/* Every frame is counted once; LOCAL and GONE by the pipe, here under the last. */
static void close_fwd(struct fixture *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i <= COUNTER_NR; i++)
		sum += f->counters[i];
	assert_int_equal(sum, f->nr);
	free(f->fwd);
}

static void station(uint8_t mac[FRAME_MAC], unsigned i)
{
	memcpy(mac, (const uint8_t[]){ 8, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i }, FRAME_MAC);
}

/* "FLOOD flooded", "PORT 3 forwarded", "DROP same_port", "REPLY echo_reply", "LOCAL", "GONE". */
static const char *input(struct fixture *f, unsigned port, uint32_t len, bool verify)
{
	static const char *const verdicts[] = { "DROP", "LOCAL", "GONE", "REPLY", "PORT", "FLOOD" };
	unsigned counter;

	f->pkt = (struct fwd_pkt){
		.data = f->buf,
		.len = len,
		.mtu = MTU,
		.port = (uint16_t)port,
		.verify = verify,
		.verdict = 0xff,
		.counter = 0xff,
	};
	fwd_input(f->fwd, &f->pkt, f->now_ns);
	f->nr++;
	counter = f->pkt.verdict == FWD_LOCAL || f->pkt.verdict == FWD_GONE ? COUNTER_NR
									    : f->pkt.counter;
	f->counters[counter]++;
	if (f->pkt.verdict == FWD_PORT)
		snprintf(f->text, sizeof(f->text), "PORT %u %s", f->pkt.out_port,
			 counter_infos[counter].name);
	else
		snprintf(f->text, sizeof(f->text), "%s%s%s", verdicts[f->pkt.verdict],
			 counter < COUNTER_NR ? " " : "",
			 counter < COUNTER_NR ? counter_infos[counter].name : "");
	return f->text;
}

/* UDP from station `from` (10.0.0.from) with len bytes of payload. */
static uint32_t udp(struct fixture *f, unsigned from, const uint8_t dst[FRAME_MAC], uint32_t ip,
		    uint16_t port)
{
	struct frame_udp headers = {
		.ip_src = 0x0a000000 + from,
		.ip_dst = ip,
		.port_src = (uint16_t)(50000 + from),
		.port_dst = port,
	};

	memcpy(headers.dst, dst, FRAME_MAC);
	station(headers.src, from);
	memset(f->buf, 0, sizeof(f->buf));
	for (unsigned i = 0; i < 40; i++)
		f->buf[FRAME_HEADERS + i] = (uint8_t)(from + 3 * i);
	return (uint32_t)frame_udp_build(f->buf, &headers, 40);
}

/* ICMP from station `from` to the switch. */
static uint32_t icmp(struct fixture *f, unsigned from, uint8_t type, uint8_t code, uint32_t len)
{
	uint8_t *message = f->buf + FRAME_ETH + FRAME_IPV4;
	uint8_t *ip = f->buf + FRAME_ETH;

	udp(f, from, own_mac, OWN_IP, 1);
	memset(message, 0, len + 64);
	ip[9] = 1;
	wire_put16(ip + 2, (uint16_t)(FRAME_IPV4 + len));
	wire_put16(ip + 10, 0);
	wire_put16(ip + 10, frame_checksum_fold(frame_checksum_add(0, ip, FRAME_IPV4)));
	message[0] = type;
	message[1] = code;
	return FRAME_ETH + FRAME_IPV4 + len;
}

static void icmp_checksum(struct fixture *f, uint32_t len)
{
	uint8_t *message = f->buf + FRAME_ETH + FRAME_IPV4;

	wire_put16(message + 2, 0);
	wire_put16(message + 2, frame_checksum_fold(frame_checksum_add(0, message, len)));
}

static const char *ordinary(struct fixture *f, unsigned from, unsigned port, unsigned to)
{
	uint8_t mac[FRAME_MAC];

	station(mac, to);
	return input(f, port, udp(f, from, mac, 0x0a000000 + to, 9), true);
}

static void fwd_init__parameters_out_of_range(void **state)
{
	struct fwd_params params = usual();
	uint8_t mem[8];

	(void)state;
	params.fdb_max = 63;
	assert_int_equal(fwd_size(&params), 0);
	assert_null(fwd_init(mem, &params));
	params.fdb_max = 2;
	assert_int_equal(fwd_size(&params), 0);
	params.fdb_max = 1U << 31;
	assert_int_equal(fwd_size(&params), 0);
	params = usual();
	params.nr_ports = 257;
	assert_int_equal(fwd_size(&params), 0);
}

static void fwd_input__learns_where_stations_are(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();

	(void)state;
	open_fwd(&f, &params);
	assert_string_equal(ordinary(&f, 1, 0, 2), "FLOOD flooded");
	assert_string_equal(ordinary(&f, 2, 3, 1), "PORT 0 forwarded");
	assert_string_equal(ordinary(&f, 1, 0, 2), "PORT 3 forwarded");
	/* It moved. */
	assert_string_equal(ordinary(&f, 2, 1, 1), "PORT 0 forwarded");
	assert_string_equal(ordinary(&f, 1, 0, 2), "PORT 1 forwarded");
	assert_string_equal(ordinary(&f, 1, 1, 2), "DROP same_port");
	assert_int_equal(f.counters[COUNTER_same_port], 1);
	assert_int_equal(f.counters[COUNTER_flooded], 1);
	close_fwd(&f);
}

static void fwd_input__forgets_silent_stations(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();

	(void)state;
	open_fwd(&f, &params);
	ordinary(&f, 2, 3, 1);
	f.now_ns += AGE;
	assert_string_equal(ordinary(&f, 1, 0, 2), "PORT 3 forwarded");
	f.now_ns += 1;
	assert_string_equal(ordinary(&f, 1, 0, 2), "FLOOD flooded");
	ordinary(&f, 2, 3, 1);
	assert_string_equal(ordinary(&f, 1, 0, 2), "PORT 3 forwarded");
	close_fwd(&f);
}

/*
 * More stations than the table holds: what it says of one is right or nothing, and the latest are
 * known.
 */
static void fwd_input__full_table_forgets_the_oldest(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	unsigned nr_known = 0;

	(void)state;
	open_fwd(&f, &params);
	for (unsigned i = 1; i <= 1000; i++) {
		f.now_ns++;
		ordinary(&f, i, i % 3, 5000);
	}
	assert_string_equal(ordinary(&f, 2000, 3, 1000), "PORT 1 forwarded");
	for (unsigned i = 1; i <= 1000; i++) {
		const char *text = ordinary(&f, 2000, 3, i);

		if (f.pkt.verdict == FWD_PORT) {
			assert_int_equal(f.pkt.out_port, i % 3);
			nr_known++;
		} else {
			assert_string_equal(text, "FLOOD flooded");
		}
	}
	assert_in_range(nr_known, 50, 64);
	close_fwd(&f);
}

static void fwd_input__broadcast_and_multicast_flood(void **state)
{
	static const uint8_t mdns[FRAME_MAC] = { 1, 0, 0x5e, 0, 0, 0xfb };
	struct fixture f;
	struct fwd_params params = usual();

	(void)state;
	open_fwd(&f, &params);
	assert_string_equal(input(&f, 0, udp(&f, 1, all_macs, OWN_IP, WIRE_PORT), true),
			    "FLOOD flooded");
	assert_string_equal(input(&f, 0, udp(&f, 1, mdns, 1, 1), true), "FLOOD flooded");
	close_fwd(&f);
}

/* Whoever hears it would send to somebody else what is for the switch. */
static void fwd_input__arp_that_claims_the_own_address(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint8_t mac[FRAME_MAC], victim[FRAME_MAC];
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	station(mac, 3);
	station(victim, 1);
	for (unsigned op = 1; op <= 2; op++) {
		/* To all, to one, to the switch itself; about the own address, or another. */
		for (unsigned i = 0; i < 6; i++) {
			memset(f.buf, 0, sizeof(f.buf));
			len = (uint32_t)frame_arp_request(f.buf, mac, OWN_IP,
							  i % 2 ? OWN_IP : 0x0a000001);
			f.buf[FRAME_ETH + 7] = (uint8_t)op;
			memcpy(f.buf, i < 2 ? all_macs : i < 4 ? victim : own_mac, FRAME_MAC);
			assert_string_equal(input(&f, 2, len, true), "DROP claimed");
		}
	}
	/* Without an address of its own a switch has none to protect. */
	close_fwd(&f);
	params.ip = 0;
	open_fwd(&f, &params);
	memset(f.buf, 0, sizeof(f.buf));
	len = (uint32_t)frame_arp_request(f.buf, mac, 0, OWN_IP);
	assert_string_equal(input(&f, 2, len, true), "FLOOD flooded");
	close_fwd(&f);
}

/* Results that no switch has sent, to a worker: its kernel also takes what we would not. */
static void fwd_input__packets_that_claim_the_own_address(void **state)
{
	static const uint8_t tags[] = { 0x81, 0, 0, 0, 0x88, 0xa8, 0, 0 };
	struct fixture f;
	struct fwd_params params = usual();
	uint8_t victim[FRAME_MAC];
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	station(victim, 1);
	for (unsigned i = 0; i < 20; i++) {
		len = udp(&f, 3, i % 2 ? victim : own_mac, 0x0a000001, 7000);
		wire_put32(f.buf + FRAME_ETH + 12, i < 18 ? OWN_IP : OWN_IP + 1);
		switch (i / 2) {
		case 1: /* a fragment */
			f.buf[FRAME_ETH + 6] = 0x20;
			break;
		case 2: /* options */
			f.buf[FRAME_ETH] = 0x46;
			break;
		case 3: /* another protocol */
			f.buf[FRAME_ETH + 9] = 6;
			break;
		case 4: /* too long for its header's length */
			wire_put16(f.buf + FRAME_ETH + 2, 21);
			break;
		case 5:
		case 6: /* a tag, or two */
			memmove(f.buf + 12 + 4 * (i / 2 - 4), f.buf + 12, len - 12);
			memcpy(f.buf + 12, tags + (i / 2 == 5 ? 0 : 4), 4);
			memcpy(f.buf + 12 + 4 * (i / 2 - 5), tags, 4);
			len += 4 * (i / 2 - 4);
			break;
		case 7: /* as short as can be */
			len = FRAME_ETH + 16;
			break;
		}
		if (i < 18)
			assert_string_equal(input(&f, 2, len, true), "DROP claimed");
		else
			assert_string_not_equal(input(&f, 2, len, true), "DROP claimed");
	}
	/* One byte less, and no host finds the address. */
	len = udp(&f, 3, victim, 0x0a000001, 7000);
	wire_put32(f.buf + FRAME_ETH + 12, OWN_IP);
	assert_string_not_equal(input(&f, 2, FRAME_ETH + 15, true), "DROP claimed");
	close_fwd(&f);
}

static void fwd_input__own_arp_is_answered(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint8_t mac[FRAME_MAC];
	struct frame frame;
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	station(mac, 1);
	memset(f.buf, 0, sizeof(f.buf));
	len = (uint32_t)frame_arp_request(f.buf, mac, 0x0a000001, OWN_IP);
	assert_string_equal(input(&f, 2, len, true), "REPLY arp_reply");
	assert_int_equal(frame_parse(&frame, f.buf, len, true), FRAME_OK);
	assert_memory_equal(frame.dst, mac, FRAME_MAC);
	assert_memory_equal(frame.src, own_mac, FRAME_MAC);
	assert_int_equal(frame.ip_src, OWN_IP);
	assert_int_equal(frame.ip_dst, 0x0a000001);
	/* For others: ordinary.  An answer to the switch: it did not ask. */
	len = (uint32_t)frame_arp_request(f.buf, mac, 0x0a000001, OWN_IP + 1);
	assert_string_equal(input(&f, 2, len, true), "FLOOD flooded");
	len = (uint32_t)frame_arp_request(f.buf, mac, 0x0a000001, OWN_IP);
	f.buf[FRAME_ETH + 7] = 2;
	memcpy(f.buf, own_mac, FRAME_MAC);
	assert_string_equal(input(&f, 2, len, true), "DROP not_mine");
	assert_int_equal(f.counters[COUNTER_arp_reply], 1);
	close_fwd(&f);
}

static void fwd_input__ping_is_answered(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	struct frame frame;
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	len = icmp(&f, 1, 8, 0, 24);
	icmp_checksum(&f, 24);
	assert_string_equal(input(&f, 0, len, true), "REPLY echo_reply");
	assert_int_equal(frame_parse(&frame, f.buf, len, true), FRAME_OK);
	assert_int_equal(frame.ip_dst, 0x0a000001);
	assert_int_equal(frame.payload[0], 0);
	assert_int_equal(f.counters[COUNTER_echo_reply], 1);
	len = icmp(&f, 1, 8, 0, 24);
	assert_string_equal(input(&f, 0, len, true), "DROP icmp_checksum");
	len = icmp(&f, 1, 0, 0, 24);
	icmp_checksum(&f, 24);
	assert_string_equal(input(&f, 0, len, true), "DROP not_mine");
	close_fwd(&f);
}

static void fwd_input__payload_for_the_aggregation(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	assert_string_equal(input(&f, 2, len, true), "LOCAL");
	assert_ptr_equal(f.pkt.frame.payload, f.buf + FRAME_HEADERS);
	assert_int_equal(f.pkt.frame.len, 40);
	assert_int_equal(f.pkt.frame.ip_src, 0x0a000001);
	assert_int_equal(f.pkt.frame.port_src, 50001);
	assert_string_equal(input(&f, 2, udp(&f, 1, own_mac, OWN_IP, WIRE_PORT + 1), true),
			    "DROP not_mine");
	assert_string_equal(input(&f, 2, udp(&f, 1, own_mac, OWN_IP + 1, WIRE_PORT), true),
			    "DROP not_mine");
	len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	wire_put16(f.buf + 12, 0x86dd);
	assert_string_equal(input(&f, 2, len, true), "DROP not_mine");
	/* The switch's IP at another's MAC. */
	assert_string_equal(input(&f, 2, udp(&f, 1, all_macs, OWN_IP, WIRE_PORT), true),
			    "FLOOD flooded");
	assert_int_equal(f.counters[COUNTER_not_mine], 3);
	close_fwd(&f);
}

/* A port-unreachable that quotes a packet of ours to 10.0.0.1:40100. */
static uint32_t unreachable(struct fixture *f)
{
	uint32_t len = icmp(f, 1, 3, 3, 8 + 28);
	uint8_t *quoted = f->buf + FRAME_ETH + FRAME_IPV4 + 8;

	quoted[0] = 0x45;
	quoted[9] = 17;
	wire_put32(quoted + 12, OWN_IP);
	wire_put32(quoted + 16, 0x0a000001);
	wire_put16(quoted + 20, WIRE_PORT);
	wire_put16(quoted + 22, 40100);
	icmp_checksum(f, 8 + 28);
	return len;
}

static void fwd_input__port_unreachable_is_news(void **state)
{
	/* Offset behind the Ethernet and IP headers and value of what makes it something else. */
	static const struct {
		unsigned at;
		uint8_t value;
	} others[] = {
		{ 0, 11 }, { 1, 1 }, { 8, 0x46 }, { 17, 6 }, { 20, 9 }, { 27, 9 }, { 28, 9 }
	};
	struct fixture f;
	struct fwd_params params = usual();
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	len = unreachable(&f);
	assert_string_equal(input(&f, 2, len, true), "GONE");
	assert_int_equal(f.pkt.frame.ip_dst, 0x0a000001);
	assert_int_equal(f.pkt.frame.port_dst, 40100);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		len = unreachable(&f);
		f.buf[FRAME_ETH + FRAME_IPV4 + others[i].at] = others[i].value;
		icmp_checksum(&f, 8 + 28);
		assert_string_equal(input(&f, 2, len, true), "DROP not_mine");
	}
	/* Quotes too little. */
	len = icmp(&f, 1, 3, 3, 8 + 27);
	icmp_checksum(&f, 8 + 27);
	assert_string_equal(input(&f, 2, len, true), "DROP not_mine");
	close_fwd(&f);
}

static void fwd_input__malformed_to_the_switch_has_a_name(void **state)
{
	static const struct {
		unsigned at;
		uint8_t value;
		enum counter counter;
	} cases[] = {
		{ FRAME_ETH, 0x55, COUNTER_ip_version },
		{ FRAME_ETH, 0x46, COUNTER_ip_options },
		{ FRAME_ETH + 2, 0x40, COUNTER_ip_length },
		{ FRAME_ETH + 11, 0x77, COUNTER_ip_checksum },
		{ FRAME_ETH + 8, 99, COUNTER_ip_checksum },
		{ FRAME_HEADERS - 3, 200, COUNTER_ip_length },
		{ FRAME_HEADERS + 5, 0xff, COUNTER_udp_checksum },
	};
	struct fixture f;
	struct fwd_params params = usual();
	uint8_t *ip = f.buf + FRAME_ETH;
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
		f.buf[cases[i].at] = cases[i].value;
		assert_int_equal(input(&f, 2, len, true)[0], 'D');
		assert_string_equal(counter_infos[f.pkt.counter].name,
				    counter_infos[cases[i].counter].name);
		/* To another: none of the switch's business. */
		len = udp(&f, 1, all_macs, OWN_IP, WIRE_PORT);
		f.buf[cases[i].at] = cases[i].value;
		assert_string_equal(input(&f, 2, len, true), "FLOOD flooded");
	}
	len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	ip[6] = 0x20; /* more fragments */
	wire_put16(ip + 10, 0);
	wire_put16(ip + 10, frame_checksum_fold(frame_checksum_add(0, ip, FRAME_IPV4)));
	assert_string_equal(input(&f, 2, len, true), "DROP ip_fragment");
	/* Unless a device has looked at it. */
	len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	f.buf[FRAME_HEADERS - 1] ^= 1;
	assert_string_equal(input(&f, 2, len, true), "DROP udp_checksum");
	assert_string_equal(input(&f, 2, len, false), "LOCAL");
	len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	assert_string_equal(input(&f, 2, FRAME_ETH + 10, true), "DROP frame_short");
	close_fwd(&f);
}

static void fwd_input__too_short_and_too_long(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint8_t mac[FRAME_MAC];

	(void)state;
	open_fwd(&f, &params);
	station(mac, 2);
	for (uint32_t len = 0; len < FRAME_ETH; len++) {
		udp(&f, 1, mac, 5, 5);
		assert_string_equal(input(&f, 0, len, true), "DROP frame_short");
	}
	assert_string_equal(input(&f, 0, FRAME_ETH, true), "FLOOD flooded");
	assert_string_equal(input(&f, 0, MTU + FRAME_ETH, true), "FLOOD flooded");
	assert_string_equal(input(&f, 0, MTU + FRAME_ETH + 1, true), "DROP frame_long");
	assert_string_equal(input(&f, 0, 10240, true), "DROP frame_long");
	udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	assert_string_equal(input(&f, 0, 10240, true), "DROP frame_long");
	close_fwd(&f);
}

/* Pause frames, STP, LLDP: what a bridge keeps to itself (802.1Q, 8.6.3); the next 16 it does not. */
static void fwd_input__of_the_link_alone(void **state)
{
	static const uint8_t group[FRAME_MAC] = { 0x01, 0x80, 0xc2 };
	struct fixture f;
	struct fwd_params params = usual();
	uint32_t len;

	(void)state;
	open_fwd(&f, &params);
	len = udp(&f, 1, group, 5, 5);
	for (unsigned i = 0; i < 32; i++) {
		f.buf[5] = (uint8_t)i;
		assert_string_equal(input(&f, 0, len, true),
				    i < 16 ? "DROP link_local" : "FLOOD flooded");
	}
	close_fwd(&f);
}

static void fwd_input__bad_sources(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint32_t len = 0;

	(void)state;
	open_fwd(&f, &params);
	len = udp(&f, 1, own_mac, OWN_IP, WIRE_PORT);
	f.buf[6] |= 1;
	assert_string_equal(input(&f, 0, len, true), "DROP bad_source");
	memcpy(f.buf + 6, own_mac, FRAME_MAC);
	assert_string_equal(input(&f, 0, len, true), "DROP bad_source");
	memset(f.buf + 6, 0, FRAME_MAC);
	assert_string_equal(input(&f, 0, len, true), "DROP bad_source");
	/* Nothing was learnt from them. */
	len = udp(&f, 2, own_mac, OWN_IP, WIRE_PORT);
	assert_string_equal(input(&f, 0, len, true), "LOCAL");
	close_fwd(&f);
}

static void fwd_input__without_an_address_all_is_ordinary(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint8_t mac[FRAME_MAC];
	uint32_t len;

	(void)state;
	params.ip = 0;
	open_fwd(&f, &params);
	assert_string_equal(input(&f, 0, udp(&f, 1, own_mac, OWN_IP, WIRE_PORT), true),
			    "FLOOD flooded");
	station(mac, 1);
	len = (uint32_t)frame_arp_request(f.buf, mac, 0x0a000001, 0);
	assert_string_equal(input(&f, 0, len, true), "FLOOD flooded");
	len = udp(&f, 1, all_macs, 1, 1);
	memcpy(f.buf + 6, own_mac, FRAME_MAC);
	assert_string_equal(input(&f, 0, len, true), "FLOOD flooded");
	close_fwd(&f);
}

/* Situation: every length from 0 to 9216 of random content, to anybody and to the switch. */
static void fwd_input__random_content_is_counted(void **state)
{
	struct fixture f;
	struct fwd_params params = usual();
	uint64_t x = 88172645463325252;

	(void)state;
	open_fwd(&f, &params);
	for (uint32_t len = 0; len <= 9216; len++) {
		for (uint32_t i = 0; i < len; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			f.buf[i] = (uint8_t)x;
		}
		input(&f, len % PORTS, len, len & 1);
		memcpy(f.buf, own_mac, FRAME_MAC);
		f.buf[6] &= 0xfe;
		wire_put16(f.buf + 12, FRAME_TYPE_IPV4);
		f.buf[FRAME_ETH] = 0x45;
		input(&f, len % PORTS, len, len & 1);
		assert_int_not_equal(f.pkt.verdict, FWD_FLOOD);
	}
	close_fwd(&f);
}

/* All that are known, each once, wherever the search begins; who was silent for too long is not. */
static void fwd_next__names_each_station_known(void **state)
{
	enum { STATIONS = 20 };
	struct fwd_params params = usual();
	struct fwd_station found;
	struct fixture f;
	unsigned seen[STATIONS + 1] = { 0 }, nr = 0, late = 0;
	uint32_t at = 0, third = 0;

	(void)state;
	open_fwd(&f, &params);
	assert_int_equal(fwd_next(f.fwd, 0, f.now_ns, &found), 0);
	for (unsigned i = 1; i <= STATIONS; i++) {
		f.now_ns = 10 * i;
		ordinary(&f, i, (i * i + 1) % PORTS, 5000);
	}
	while ((at = fwd_next(f.fwd, at, f.now_ns, &found)) != 0) {
		const unsigned i = found.mac[5];
		uint8_t mac[FRAME_MAC];

		assert_in_range(i, 1, STATIONS);
		station(mac, i);
		assert_memory_equal(found.mac, mac, FRAME_MAC);
		assert_int_equal(found.port, (i * i + 1) % PORTS);
		assert_int_equal(found.heard_ns, 10 * i);
		assert_int_equal(seen[i]++, 0);
		if (++nr == 3)
			third = at;
	}
	assert_int_equal(nr, STATIONS);
	for (at = third; (at = fwd_next(f.fwd, at, f.now_ns, &found)) != 0;)
		nr--;
	assert_int_equal(nr, 3);
	/* Those up to the 12th were silent for longer than they are remembered. */
	f.now_ns = 10 * 13 + AGE;
	for (at = 0; (at = fwd_next(f.fwd, at, f.now_ns, &found)) != 0; late++)
		assert_in_range(found.mac[5], 13, STATIONS);
	assert_int_equal(late, STATIONS - 12);
	close_fwd(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fwd_init__parameters_out_of_range),
		cmocka_unit_test(fwd_input__learns_where_stations_are),
		cmocka_unit_test(fwd_input__forgets_silent_stations),
		cmocka_unit_test(fwd_input__full_table_forgets_the_oldest),
		cmocka_unit_test(fwd_input__broadcast_and_multicast_flood),
		cmocka_unit_test(fwd_input__arp_that_claims_the_own_address),
		cmocka_unit_test(fwd_input__packets_that_claim_the_own_address),
		cmocka_unit_test(fwd_input__own_arp_is_answered),
		cmocka_unit_test(fwd_input__ping_is_answered),
		cmocka_unit_test(fwd_input__payload_for_the_aggregation),
		cmocka_unit_test(fwd_input__port_unreachable_is_news),
		cmocka_unit_test(fwd_input__malformed_to_the_switch_has_a_name),
		cmocka_unit_test(fwd_input__too_short_and_too_long),
		cmocka_unit_test(fwd_input__of_the_link_alone),
		cmocka_unit_test(fwd_input__bad_sources),
		cmocka_unit_test(fwd_input__without_an_address_all_is_ordinary),
		cmocka_unit_test(fwd_input__random_content_is_counted),
		cmocka_unit_test(fwd_next__names_each_station_known),
	};

	return cmocka_run_group_tests_name("fwd", tests, NULL, NULL);
}
