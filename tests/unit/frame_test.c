// SPDX-License-Identifier: BSD-3-Clause
/* frame_test.c - frames against bytes made elsewhere, and checksums against a naive loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/frame.h"

enum { FRAME_TEST_MAX = 9216, HOST_IP = 0x0a000101, SWITCH_IP = 0x0a0000fe };

static const uint8_t host_mac[] = { 0x08, 0x00, 0x00, 0x00, 0x01, 0x11 };
static const uint8_t switch_mac[] = { 0x02, 0x0a, 0x00, 0x00, 0xfe, 0x01 };

/* Built by a script of its own, not by the code under test; 7 bytes of payload, an odd number. */
static const char golden_udp[] = "020a0000fe01080000000111"
				 "08004500002300004000401124cc0a0001010a0000fe"
				 "c35dbef0000f4693"
				 "54616c6c7921e7";
/* TOS 0x10, id 0x3c4d, DF, TTL 63; echo id 0x1a2b, sequence 3, 11 bytes of data. */
static const char golden_echo[] = "020a0000fe01080000000111"
				  "0800451000273c4d40003f01e97a0a0001010a0000fe"
				  "0800fb6a1a2b0003"
				  "1032547798badcff010307";
static const char golden_echo_reply[] = "080000000111020a0000fe01"
					"0800451000273c4d40004001e87a0a0000fe0a000101"
					"0000036b1a2b0003"
					"1032547798badcff010307";
static const char golden_arp[] = "ffffffffffff080000000111"
				 "08060001080006040001"
				 "0800000001110a000101"
				 "0000000000000a0000fe";
static const char golden_arp_reply[] = "080000000111020a0000fe01"
				       "08060001080006040002"
				       "020a0000fe010a0000fe"
				       "0800000001110a000101";

static uint64_t seed = 20240229;

static uint32_t seed_next(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 32);
}

static unsigned unhex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t unhex(uint8_t *out, const char *hex)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(unhex_digit(hex[2 * i]) << 4 | unhex_digit(hex[2 * i + 1]));
	return len;
}

/* A word at a time, the carry put back at once. */
static uint16_t naive_sum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
		sum = sum > 0xffff ? sum - 0xffff : sum;
	}
	return (uint16_t)sum;
}

/* Makes the IPv4 header checksum right after a change. */
static void mend_ip(uint8_t *buf)
{
	unsigned sum;

	buf[24] = buf[25] = 0;
	sum = 0xffffU & ~(unsigned)naive_sum(0, buf + 14, 20);
	buf[24] = (uint8_t)(sum >> 8);
	buf[25] = (uint8_t)sum;
}

/* Parses a copy that ends where its heap block ends; payload is made to point into buf. */
static enum frame_error parse_exact(struct frame *out, uint8_t *buf, size_t len, bool verify)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum frame_error error;

	assert_non_null(copy);
	memcpy(copy, buf, len);
	error = frame_parse(out, copy, len, verify);
	assert_memory_equal(copy, buf, len);
	if (error == FRAME_OK) {
		assert_true(out->payload >= copy + FRAME_ETH);
		assert_true(out->payload + out->len <= copy + len);
		out->payload = buf + (out->payload - copy);
	}
	free(copy);
	return error;
}

static void frame_checksum_add__naive(void **state)
{
	uint8_t *buf = test_malloc(2048);

	(void)state;
	for (unsigned n = 0; n < 4000; n++) {
		size_t at = seed_next() % 64, len = n < 1000 ? n : seed_next() % 1900;
		uint32_t start = n % 3 ? seed_next() : n % 2 ? UINT32_MAX : 0;
		uint32_t sum;

		for (size_t i = 0; i < len; i++)
			buf[at + i] = n % 5 ? (uint8_t)seed_next() : 0xff;
		sum = frame_checksum_add(start, buf + at, len);
		/* 0 and 0xffff are the same number in one's complement, and both may come out. */
		assert_int_equal((0xffff - frame_checksum_fold(sum)) % 0xffff,
				 naive_sum(start % 0xffff, buf + at, len) % 0xffff);
	}
	test_free(buf);
}

static void frame_checksum_add__pieces(void **state)
{
	uint8_t buf[1501];

	(void)state;
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)seed_next();
	for (unsigned n = 0; n < 500; n++) {
		size_t cut = 2 * (seed_next() % 750), len = cut + seed_next() % (1501 - cut);
		uint32_t sum = frame_checksum_add(0, buf, cut);

		sum = frame_checksum_add(sum, buf + cut, len - cut);
		assert_int_equal(frame_checksum_fold(sum),
				 frame_checksum_fold(frame_checksum_add(0, buf, len)));
	}
}

/* The example of RFC 1071, section 3. */
static void frame_checksum_fold__rfc1071(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

	(void)state;
	assert_int_equal(frame_checksum_fold(frame_checksum_add(0, bytes, 8)), 0xffff - 0xddf2);
	assert_int_equal(frame_checksum_fold(0), 0xffff);
	assert_int_equal(frame_checksum_fold(UINT32_MAX), 0);
	assert_int_equal(frame_checksum_fold(0x1ffff), 0xfffe);
}

static void frame_parse__udp(void **state)
{
	uint8_t buf[128] = { 0 };
	size_t len = unhex(buf, golden_udp);
	struct frame frame;

	(void)state;
	for (size_t padding = 0; padding < 30; padding++) {
		buf[len + padding] = 0xa5;
		memset(&frame, 0xee, sizeof(frame));
		assert_int_equal(parse_exact(&frame, buf, len + padding, true), FRAME_OK);
		assert_int_equal(frame.kind, FRAME_IS_UDP);
		assert_memory_equal(frame.dst, switch_mac, FRAME_MAC);
		assert_memory_equal(frame.src, host_mac, FRAME_MAC);
		assert_int_equal(frame.ethertype, 0x0800);
		assert_int_equal(frame.ip_src, HOST_IP);
		assert_int_equal(frame.ip_dst, SWITCH_IP);
		assert_int_equal(frame.port_src, 50013);
		assert_int_equal(frame.port_dst, 48880);
		assert_int_equal(frame.ttl, 64);
		assert_int_equal(frame.ip_proto, 17);
		assert_false(frame.udp_no_checksum);
		assert_ptr_equal(frame.payload, buf + 42);
		assert_int_equal(frame.len, 7);
	}
	buf[40] = buf[41] = 0;
	assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_OK);
	assert_true(frame.udp_no_checksum);
	/* UDP may end before what IPv4 carries does. */
	buf[39] = 8 + 5;
	assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_OK);
	assert_int_equal(frame.len, 5);
}

/* What the sender's kernel leaves to a device: the sum of the pseudo header alone, not complemented. */
static void frame_parse__partial_udp_checksum(void **state)
{
	uint8_t buf[128] = { 0 };
	size_t len = unhex(buf, golden_udp);
	struct frame frame;
	uint16_t pseudo;

	(void)state;
	pseudo = naive_sum(17 + 8 + 7, buf + 26, 8);
	buf[40] = (uint8_t)(pseudo >> 8);
	buf[41] = (uint8_t)pseudo;
	assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_OK);
	assert_false(frame.udp_no_checksum);
	assert_int_equal(frame.len, 7);
	/* Nobody can tell, and it was on no wire. */
	buf[45] ^= 0x10;
	assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_OK);
	for (unsigned bit = 0; bit < 16; bit++) {
		buf[40 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_UDP_CHECKSUM);
		buf[40 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* An address of another packet. */
	buf[33] ^= 1;
	mend_ip(buf);
	assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_UDP_CHECKSUM);
}

static void frame_parse__icmp_and_arp(void **state)
{
	uint8_t buf[128] = { 0 };
	size_t len = unhex(buf, golden_echo);
	struct frame frame;

	(void)state;
	assert_int_equal(parse_exact(&frame, buf, len + 9, true), FRAME_OK);
	assert_int_equal(frame.kind, FRAME_IS_ICMP);
	assert_int_equal(frame.ip_src, HOST_IP);
	assert_int_equal(frame.ip_dst, SWITCH_IP);
	assert_int_equal(frame.ttl, 63);
	assert_ptr_equal(frame.payload, buf + 34);
	assert_int_equal(frame.len, 19);
	len = unhex(buf, golden_arp);
	assert_int_equal(parse_exact(&frame, buf, len + 18, true), FRAME_OK);
	assert_int_equal(frame.kind, FRAME_IS_ARP);
	assert_int_equal(frame.ethertype, 0x0806);
	assert_int_equal(frame.ip_src, HOST_IP);
	assert_int_equal(frame.ip_dst, SWITCH_IP);
	assert_ptr_equal(frame.payload, buf + 14);
	assert_int_equal(frame.len, 28);
	buf[15] = 6; /* another hardware */
	assert_int_equal(parse_exact(&frame, buf, len, true), FRAME_OK);
	assert_int_equal(frame.kind, FRAME_OTHER);
}

static void frame_parse__other_traffic(void **state)
{
	uint8_t buf[128] = { 0 };
	size_t len = unhex(buf, golden_udp);
	struct frame frame;

	(void)state;
	buf[23] = 6; /* TCP */
	mend_ip(buf);
	assert_int_equal(parse_exact(&frame, buf, len + 20, true), FRAME_OK);
	assert_int_equal(frame.kind, FRAME_IS_IPV4);
	assert_int_equal(frame.ip_proto, 6);
	assert_int_equal(frame.ip_dst, SWITCH_IP);
	assert_ptr_equal(frame.payload, buf + 14);
	assert_int_equal(frame.len, 35);
	buf[12] = 0x81; /* VLAN */
	buf[13] = 0x00;
	assert_int_equal(parse_exact(&frame, buf, len + 20, true), FRAME_OK);
	assert_int_equal(frame.kind, FRAME_OTHER);
	assert_int_equal(frame.ethertype, 0x8100);
	assert_ptr_equal(frame.payload, buf + 14);
	assert_int_equal(frame.len, len + 20 - 14);
	buf[12] = 0x86; /* IPv6 */
	buf[13] = 0xdd;
	assert_int_equal(parse_exact(&frame, buf, 14, true), FRAME_OK);
	assert_int_equal(frame.kind, FRAME_OTHER);
	assert_int_equal(frame.len, 0);
}

/* IPv4, UDP and ICMP that carry nothing. */
static void frame_parse__nothing_carried(void **state)
{
	static const uint8_t protocols[] = { 6, 17, 1 }, totals[] = { 20, 28, 28 };
	static const uint32_t lengths[] = { 20, 0, 8 };
	uint8_t buf[60] = { 0 };
	struct frame frame;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		unhex(buf, golden_udp);
		buf[17] = totals[i];
		buf[23] = protocols[i];
		buf[39] = 8;
		mend_ip(buf);
		assert_int_equal(parse_exact(&frame, buf, 14U + totals[i], false), FRAME_OK);
		assert_int_equal(frame.len, lengths[i]);
	}
}

struct error_case {
	const char *what;
	const char *hex;
	unsigned at;
	uint16_t value; /* written at `at` if that is not 0 */
	int longer;
	bool mended; /* the header checksum is right for the change */
	enum frame_error error;
};

static const struct error_case error_cases[] = {
	{ "nothing", golden_udp, 0, 0, -49, false, FRAME_SHORT },
	{ "13 bytes", golden_udp, 0, 0, -36, false, FRAME_SHORT },
	{ "an IPv4 header cut", golden_udp, 0, 0, -16, false, FRAME_SHORT },
	{ "ARP cut", golden_arp, 0, 0, -1, false, FRAME_SHORT },
	{ "version 6", golden_udp, 14, 0x6500, 0, true, FRAME_IP_VERSION },
	{ "version 0", golden_echo, 14, 0x0500, 0, true, FRAME_IP_VERSION },
	{ "options", golden_udp, 14, 0x4600, 0, true, FRAME_IP_OPTIONS },
	{ "most options", golden_echo, 14, 0x4f00, 0, true, FRAME_IP_OPTIONS },
	{ "short IHL", golden_udp, 14, 0x4400, 0, true, FRAME_IP_LENGTH },
	{ "no IHL", golden_udp, 14, 0x4000, 0, true, FRAME_IP_LENGTH },
	{ "IPv4 beyond the frame", golden_udp, 16, 36, 0, true, FRAME_IP_LENGTH },
	{ "IPv4 of 64 KiB", golden_udp, 16, 0xffff, 0, true, FRAME_IP_LENGTH },
	{ "a cut frame", golden_udp, 0, 0, -1, false, FRAME_IP_LENGTH },
	{ "IPv4 of 19", golden_udp, 16, 19, 0, true, FRAME_IP_LENGTH },
	{ "no room for UDP", golden_udp, 16, 27, 0, true, FRAME_IP_LENGTH },
	{ "no room for ICMP", golden_echo, 16, 27, 0, true, FRAME_IP_LENGTH },
	{ "UDP beyond IPv4", golden_udp, 38, 16, 0, true, FRAME_IP_LENGTH },
	{ "UDP beyond IPv4, in the padding", golden_udp, 38, 16, 10, true, FRAME_IP_LENGTH },
	{ "UDP of 7", golden_udp, 38, 7, 0, true, FRAME_IP_LENGTH },
	{ "wrong header checksum", golden_udp, 24, 0x24cd, 0, false, FRAME_IP_CHECKSUM },
	{ "a changed TTL", golden_echo, 22, 0x3e01, 0, false, FRAME_IP_CHECKSUM },
	{ "more fragments", golden_udp, 20, 0x2000, 0, true, FRAME_IP_FRAGMENT },
	{ "a last fragment", golden_udp, 20, 0x0001, 0, true, FRAME_IP_FRAGMENT },
	{ "a far fragment", golden_echo, 20, 0x1000, 0, true, FRAME_IP_FRAGMENT },
	{ "may be fragmented", golden_udp, 20, 0x0000, 0, true, FRAME_OK },
	{ "wrong UDP checksum", golden_udp, 40, 0x4694, 0, true, FRAME_UDP_CHECKSUM },
	{ "changed payload", golden_udp, 47, 0x20e7, 0, true, FRAME_UDP_CHECKSUM },
	{ "changed address", golden_udp, 28, 0x0102, 0, true, FRAME_UDP_CHECKSUM },
	{ "wrong ICMP checksum", golden_echo, 36, 0xfb6b, 0, true, FRAME_ICMP_CHECKSUM },
	{ "changed echo", golden_echo, 52, 0x0407, 0, true, FRAME_ICMP_CHECKSUM },
};

static void frame_parse__errors(void **state)
{
	uint8_t buf[128];
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(error_cases) / sizeof(error_cases[0]); i++) {
		const struct error_case *c = &error_cases[i];
		size_t len;
		enum frame_error error;

		memset(buf, 0, sizeof(buf));
		len = (size_t)((int)unhex(buf, c->hex) + c->longer);
		if (c->at) {
			buf[c->at] = (uint8_t)(c->value >> 8);
			buf[c->at + 1] = (uint8_t)c->value;
		}
		if (c->mended)
			mend_ip(buf);
		error = parse_exact(&frame, buf, len, true);
		if (error != c->error)
			fail_msg("%s: error %d, not %d", c->what, (int)error, (int)c->error);
		if (len >= 14) {
			assert_memory_equal(frame.dst, buf, FRAME_MAC);
			assert_memory_equal(frame.src, buf + 6, FRAME_MAC);
			assert_int_equal(frame.ethertype, buf[12] << 8 | buf[13]);
		}
		/* Without verification exactly the two upper checksums go unseen. */
		if (error == FRAME_UDP_CHECKSUM || error == FRAME_ICMP_CHECKSUM)
			error = FRAME_OK;
		assert_int_equal(parse_exact(&frame, buf, len, false), error);
	}
}

static void frame_parse__every_prefix_and_bit(void **state)
{
	static const char *const frames[] = { golden_udp, golden_echo, golden_arp };
	uint8_t buf[128];
	struct frame frame;

	(void)state;
	for (unsigned f = 0; f < 3; f++) {
		size_t full = unhex(buf, frames[f]);

		for (size_t len = 0; len < full; len++) {
			enum frame_error error = parse_exact(&frame, buf, len, true);
			size_t head = f == 2 ? 42 : 34;

			assert_int_equal(error, len < head ? FRAME_SHORT : FRAME_IP_LENGTH);
		}
		/* A changed bit from the IPv4 header on is always seen. */
		for (size_t bit = 0; bit < 8 * full; bit++) {
			enum frame_error error;

			buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
			error = parse_exact(&frame, buf, full, true);
			if (f < 2 && bit >= 8 * 14)
				assert_int_not_equal(error, FRAME_OK);
			buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
	}
}

/* Noise of every length, made to look like IPv4 so that it gets further. */
static void frame_parse__noise(void **state)
{
	uint8_t *buf = test_malloc(FRAME_TEST_MAX);
	unsigned good = 0;

	(void)state;
	for (size_t i = 0; i < FRAME_TEST_MAX; i++)
		buf[i] = (uint8_t)seed_next();
	for (size_t len = 14; len <= FRAME_TEST_MAX; len++) {
		struct frame frame;

		for (unsigned i = 0; i < 64; i++)
			buf[i] = (uint8_t)seed_next();
		buf[12] = 8;
		buf[13] = len % 7 ? 0 : 6;
		buf[14] = len % 5 ? 0x45 : buf[14];
		if (len % 3) {
			size_t total = len - 14 - (len > 60 ? seed_next() % 20 : 0);

			buf[16] = (uint8_t)(total >> 8);
			buf[17] = (uint8_t)total;
			buf[20] = buf[21] = 0;
			buf[23] = len % 2 ? 17 : 1;
			buf[38] &= (uint8_t)(total >> 8);
			if (len >= 34)
				mend_ip(buf);
		}
		good += parse_exact(&frame, buf, len, false) == FRAME_OK;
		parse_exact(&frame, buf, len, true);
	}
	assert_true(good > 1000 && good < 9000);
	test_free(buf);
}

static struct frame_udp golden_flow(void)
{
	struct frame_udp udp = {
		.ip_src = HOST_IP,
		.ip_dst = SWITCH_IP,
		.port_src = 50013,
		.port_dst = 48880,
	};

	memcpy(udp.dst, switch_mac, FRAME_MAC);
	memcpy(udp.src, host_mac, FRAME_MAC);
	return udp;
}

static void frame_udp_build__golden(void **state)
{
	struct frame_udp udp = golden_flow();
	uint8_t want[64], got[64];
	size_t len = unhex(want, golden_udp);

	(void)state;
	memset(got, 0xee, sizeof(got));
	memcpy(got + 42, want + 42, 7);
	assert_int_equal(frame_udp_build(got, &udp, 7), len);
	assert_memory_equal(got, want, len);
	assert_int_equal(got[len], 0xee);
}

static void frame_udp_build__round_trip(void **state)
{
	uint8_t *buf = test_malloc(FRAME_TEST_MAX), *payload = test_malloc(FRAME_TEST_MAX);

	(void)state;
	for (size_t i = 0; i < FRAME_TEST_MAX; i++)
		payload[i] = (uint8_t)seed_next();
	for (size_t len = 0; len <= FRAME_TEST_MAX - 42; len += 1 + seed_next() % 7) {
		struct frame_udp udp = golden_flow();
		struct frame frame;

		udp.ip_src = seed_next();
		udp.port_src = (uint16_t)seed_next();
		memcpy(buf + 42, payload, len);
		assert_int_equal(frame_udp_build(buf, &udp, len), 42 + len);
		assert_int_equal(parse_exact(&frame, buf, 42 + len, true), FRAME_OK);
		assert_int_equal(frame.kind, FRAME_IS_UDP);
		assert_false(frame.udp_no_checksum);
		assert_int_equal(frame.ip_src, udp.ip_src);
		assert_int_equal(frame.port_src, udp.port_src);
		assert_int_equal(frame.len, len);
		assert_memory_equal(frame.payload, payload, len);
	}
	test_free(buf);
	test_free(payload);
}

/* RFC 768: a checksum of zero is sent as all ones.  The last two bytes make the sum 0xffff. */
static void frame_udp_build__zero_becomes_ones(void **state)
{
	struct frame_udp udp = golden_flow();
	struct frame frame;
	uint8_t buf[64] = { 0 };
	unsigned sum;

	(void)state;
	frame_udp_build(buf, &udp, 4);
	sum = (unsigned)buf[40] << 8 | buf[41];
	buf[44] = (uint8_t)(sum >> 8);
	buf[45] = (uint8_t)sum;
	frame_udp_build(buf, &udp, 4);
	assert_int_equal(buf[40] << 8 | buf[41], 0xffff);
	assert_int_equal(parse_exact(&frame, buf, 46, true), FRAME_OK);
	assert_false(frame.udp_no_checksum);
}

static void frame_udp_build__longest(void **state)
{
	struct frame_udp udp = golden_flow();
	uint8_t *buf = test_malloc(65536 + 14);
	struct frame frame;

	(void)state;
	memset(buf, 0xff, 65536 + 14);
	assert_int_equal(frame_udp_build(buf, &udp, 65535 - 28), 65535 + 14);
	assert_int_equal(parse_exact(&frame, buf, 65535 + 14, true), FRAME_OK);
	assert_int_equal(frame.len, 65535 - 28);
	assert_int_equal(frame_udp_build(buf, &udp, 65535 - 27), 0);
	test_free(buf);
}

static void frame_arp_reply__golden(void **state)
{
	uint8_t buf[64], want[64];
	size_t len = unhex(buf, golden_arp);

	(void)state;
	memset(buf + len, 0x5a, sizeof(buf) - len);
	memcpy(want, buf, sizeof(want));
	unhex(want, golden_arp_reply);
	assert_true(frame_arp_reply(buf, 60, SWITCH_IP, switch_mac));
	assert_memory_equal(buf, want, sizeof(buf));
	/* A reply is not answered. */
	assert_false(frame_arp_reply(buf, 60, HOST_IP, host_mac));
	assert_memory_equal(buf, want, sizeof(buf));
}

static void frame_arp_reply__not_for_us(void **state)
{
	static const unsigned changed[] = { 13, 15, 16, 18, 19, 20, 21, 41, 6 };
	uint8_t buf[64], before[64];
	size_t len = unhex(buf, golden_arp);

	(void)state;
	assert_false(frame_arp_reply(buf, len - 1, SWITCH_IP, switch_mac));
	assert_false(frame_arp_reply(buf, len, SWITCH_IP + 1, switch_mac));
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		buf[changed[i]] ^= 1;
		memcpy(before, buf, len);
		assert_false(frame_arp_reply(buf, len, SWITCH_IP, switch_mac));
		assert_memory_equal(buf, before, len);
		buf[changed[i]] ^= 1;
	}
	assert_true(frame_arp_reply(buf, len, SWITCH_IP, switch_mac));
}

static void frame_echo_reply__golden(void **state)
{
	uint8_t buf[64], want[64];
	size_t len = unhex(buf, golden_echo);

	(void)state;
	memset(buf + len, 0x5a, sizeof(buf) - len);
	memcpy(want, buf, sizeof(want));
	unhex(want, golden_echo_reply);
	assert_true(frame_echo_reply(buf, 60, SWITCH_IP, switch_mac));
	assert_memory_equal(buf, want, sizeof(buf));
	assert_false(frame_echo_reply(buf, 60, HOST_IP, host_mac));
	assert_memory_equal(buf, want, sizeof(buf));
}

static void frame_echo_reply__not_for_us(void **state)
{
	static const unsigned changed[] = { 6, 12, 22, 33, 34, 35, 40, 52 };
	uint8_t buf[64], before[64];
	size_t len = unhex(buf, golden_echo);

	(void)state;
	assert_false(frame_echo_reply(buf, len - 1, SWITCH_IP, switch_mac));
	assert_false(frame_echo_reply(buf, len, HOST_IP, switch_mac));
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		buf[changed[i]] ^= 1;
		memcpy(before, buf, len);
		assert_false(frame_echo_reply(buf, len, SWITCH_IP, switch_mac));
		assert_memory_equal(buf, before, len);
		buf[changed[i]] ^= 1;
	}
	buf[35] = 1; /* code 1 with a right checksum */
	buf[37]--;
	assert_false(frame_echo_reply(buf, len, SWITCH_IP, switch_mac));
	buf[35] = 0;
	buf[37]++;
	assert_true(frame_echo_reply(buf, len, SWITCH_IP, switch_mac));
	len = unhex(buf, golden_udp);
	assert_false(frame_echo_reply(buf, len, SWITCH_IP, switch_mac));
}

static void frame_arp_request__golden(void **state)
{
	uint8_t buf[64], want[64] = { 0 };

	(void)state;
	unhex(want, golden_arp);
	memset(want + 60, 0xee, 4);
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(frame_arp_request(buf, host_mac, HOST_IP, SWITCH_IP), 60);
	assert_memory_equal(buf, want, sizeof(buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_checksum_add__naive),
		cmocka_unit_test(frame_checksum_add__pieces),
		cmocka_unit_test(frame_checksum_fold__rfc1071),
		cmocka_unit_test(frame_parse__udp),
		cmocka_unit_test(frame_parse__partial_udp_checksum),
		cmocka_unit_test(frame_parse__icmp_and_arp),
		cmocka_unit_test(frame_parse__other_traffic),
		cmocka_unit_test(frame_parse__nothing_carried),
		cmocka_unit_test(frame_parse__errors),
		cmocka_unit_test(frame_parse__every_prefix_and_bit),
		cmocka_unit_test(frame_parse__noise),
		cmocka_unit_test(frame_udp_build__golden),
		cmocka_unit_test(frame_udp_build__round_trip),
		cmocka_unit_test(frame_udp_build__zero_becomes_ones),
		cmocka_unit_test(frame_udp_build__longest),
		cmocka_unit_test(frame_arp_reply__golden),
		cmocka_unit_test(frame_arp_reply__not_for_us),
		cmocka_unit_test(frame_echo_reply__golden),
		cmocka_unit_test(frame_echo_reply__not_for_us),
		cmocka_unit_test(frame_arp_request__golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
