// SPDX-License-Identifier: BSD-3-Clause
/* frame.c - parses, builds and checks Ethernet, IPv4, UDP, ARP and ICMP echo. */
#include "proto/frame.h"

#include <string.h>

#include "proto/wire.h"

enum {
	FRAME_ICMP_ECHO_REPLY = 0,
	FRAME_ICMP_ECHO = 8,
	FRAME_IP_VERSION_IHL = 0x45,
	FRAME_IP_DF = 0x4000,
	FRAME_IP_FRAG_MASK = 0x3fff, /* MF and the offset */
	FRAME_IP_MAX = 65535,
	FRAME_TTL = 64,
	FRAME_ARP_REQUEST = 1,
	FRAME_ARP_REPLY = 2,
	FRAME_SUM_BLOCK = 128,
};

WIRE_ASSERT(FRAME_OFF_ARP_TPA + 4 == FRAME_ETH + FRAME_ARP, "ARP");
WIRE_ASSERT(FRAME_OFF_UDP_SUM + 2 == FRAME_HEADERS, "UDP");

/* Hardware Ethernet, protocol IPv4, and their address lengths. */
static const uint8_t frame_arp_head[6] = { 0, 1, 8, 0, 6, 4 };

/*
 * A sum of big-endian 16-bit words may be taken in any byte order and over wider words, as 2^16 = 1
 * modulo 65535 (RFC 1071, section 2): here 32-bit words in 64-bit sums, which cannot overflow below
 * 16 GiB.  gcc 12 and clang 14 vectorise it.
 */
uint32_t frame_checksum_add(uint32_t sum, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint64_t low = 0, high = 0, total;
	uint64_t block[FRAME_SUM_BLOCK / 8];
	uint8_t word[2];
	uint16_t native;

	for (; len >= FRAME_SUM_BLOCK; p += FRAME_SUM_BLOCK, len -= FRAME_SUM_BLOCK) {
		memcpy(block, p, FRAME_SUM_BLOCK);
		for (unsigned i = 0; i < FRAME_SUM_BLOCK / 8; i++) {
			low += (uint32_t)block[i];
			high += block[i] >> 32;
		}
	}
	for (; len >= 2; p += 2, len -= 2) {
		memcpy(&native, p, 2);
		low += native;
	}
	if (len) {
		memcpy(&native, (const uint8_t[2]){ *p, 0 }, 2);
		low += native;
	}
	total = (low & UINT32_MAX) + (low >> 32) + (high & UINT32_MAX) + (high >> 32);
	total = (total & 0xffff) + (total >> 16 & 0xffff) + (total >> 32);
	total = (total & 0xffff) + (total >> 16);
	native = (uint16_t)((total & 0xffff) + (total >> 16));
	memcpy(word, &native, 2);
	total = (uint64_t)sum + wire_get16(word);
	return (uint32_t)(total & UINT32_MAX) + (uint32_t)(total >> 32);
}

uint16_t frame_checksum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint32_t frame_udp_pseudo(const uint8_t *buf, uint32_t len)
{
	return frame_checksum_add(FRAME_PROTO_UDP + len, buf + FRAME_OFF_IP_SRC, 8);
}

/* Over the pseudo header and the len bytes of header and payload; 0 if the field in it is right. */
static uint16_t frame_udp_checksum(const uint8_t *buf, uint32_t len)
{
	return frame_checksum_fold(
		frame_checksum_add(frame_udp_pseudo(buf, len), buf + FRAME_OFF_L4, len));
}

/* The sum that a sender leaves for its device to complete: then it was on no wire yet. */
static bool frame_udp_partial(const uint8_t *buf, uint32_t len)
{
	const uint16_t sum = (uint16_t)~frame_checksum_fold(frame_udp_pseudo(buf, len));

	return wire_get16(buf + FRAME_OFF_UDP_SUM) == sum;
}

static enum frame_error frame_parse_arp(struct frame *out, uint8_t *buf, size_t len)
{
	if (len < FRAME_ETH + FRAME_ARP)
		return FRAME_SHORT;
	if (memcmp(buf + FRAME_OFF_ARP, frame_arp_head, sizeof(frame_arp_head)) != 0)
		return FRAME_OK;
	out->kind = FRAME_IS_ARP;
	out->ip_src = wire_get32(buf + FRAME_OFF_ARP_SPA);
	out->ip_dst = wire_get32(buf + FRAME_OFF_ARP_TPA);
	out->len = FRAME_ARP;
	return FRAME_OK;
}

/* n: bytes that IPv4 carries. */
static enum frame_error frame_parse_udp(struct frame *out, uint8_t *buf, uint32_t n, bool verify)
{
	uint32_t len;

	if (n < FRAME_UDP)
		return FRAME_IP_LENGTH;
	len = wire_get16(buf + FRAME_OFF_UDP_LEN);
	if (len < FRAME_UDP || len > n)
		return FRAME_IP_LENGTH;
	out->udp_no_checksum = wire_get16(buf + FRAME_OFF_UDP_SUM) == 0;
	if (verify && !out->udp_no_checksum && frame_udp_checksum(buf, len) != 0 &&
	    !frame_udp_partial(buf, len))
		return FRAME_UDP_CHECKSUM;
	out->kind = FRAME_IS_UDP;
	out->port_src = wire_get16(buf + FRAME_OFF_L4);
	out->port_dst = wire_get16(buf + FRAME_OFF_L4 + 2);
	out->payload = buf + FRAME_HEADERS;
	out->len = len - FRAME_UDP;
	return FRAME_OK;
}

static enum frame_error frame_parse_icmp(struct frame *out, uint8_t *buf, uint32_t n, bool verify)
{
	if (n < FRAME_ICMP)
		return FRAME_IP_LENGTH;
	if (verify && frame_checksum_fold(frame_checksum_add(0, buf + FRAME_OFF_L4, n)) != 0)
		return FRAME_ICMP_CHECKSUM;
	out->kind = FRAME_IS_ICMP;
	out->payload = buf + FRAME_OFF_L4;
	out->len = n;
	return FRAME_OK;
}

static enum frame_error frame_check_ipv4(const uint8_t *buf, size_t len)
{
	unsigned ihl, total;

	if (len < FRAME_OFF_L4)
		return FRAME_SHORT;
	if (buf[FRAME_OFF_IP] >> 4 != 4)
		return FRAME_IP_VERSION;
	ihl = (buf[FRAME_OFF_IP] & 0x0f) * 4U;
	if (ihl > FRAME_IPV4)
		return FRAME_IP_OPTIONS;
	total = wire_get16(buf + FRAME_OFF_IP_LEN);
	if (ihl < FRAME_IPV4 || total < FRAME_IPV4 || total > len - FRAME_ETH)
		return FRAME_IP_LENGTH;
	if (frame_checksum_fold(frame_checksum_add(0, buf + FRAME_OFF_IP, FRAME_IPV4)) != 0)
		return FRAME_IP_CHECKSUM;
	if (wire_get16(buf + FRAME_OFF_IP_FRAG) & FRAME_IP_FRAG_MASK)
		return FRAME_IP_FRAGMENT;
	return FRAME_OK;
}

static enum frame_error frame_parse_ipv4(struct frame *out, uint8_t *buf, size_t len, bool verify)
{
	enum frame_error error = frame_check_ipv4(buf, len);
	uint32_t n;

	if (error != FRAME_OK)
		return error;
	out->ip_src = wire_get32(buf + FRAME_OFF_IP_SRC);
	out->ip_dst = wire_get32(buf + FRAME_OFF_IP_DST);
	out->ttl = buf[FRAME_OFF_IP_TTL];
	out->ip_proto = buf[FRAME_OFF_IP_PROTO];
	out->len = wire_get16(buf + FRAME_OFF_IP_LEN);
	n = out->len - FRAME_IPV4;
	if (out->ip_proto == FRAME_PROTO_UDP)
		return frame_parse_udp(out, buf, n, verify);
	if (out->ip_proto == FRAME_PROTO_ICMP)
		return frame_parse_icmp(out, buf, n, verify);
	out->kind = FRAME_IS_IPV4;
	return FRAME_OK;
}

enum frame_error frame_parse(struct frame *out, uint8_t *buf, size_t len, bool verify)
{
	memset(out, 0, sizeof(*out));
	if (len < FRAME_ETH)
		return FRAME_SHORT;
	memcpy(out->dst, buf + FRAME_OFF_DST, FRAME_MAC);
	memcpy(out->src, buf + FRAME_OFF_SRC, FRAME_MAC);
	out->ethertype = wire_get16(buf + FRAME_OFF_TYPE);
	out->kind = FRAME_OTHER;
	out->payload = buf + FRAME_ETH;
	out->len = (uint32_t)(len - FRAME_ETH);
	if (out->ethertype == FRAME_TYPE_ARP)
		return frame_parse_arp(out, buf, len);
	if (out->ethertype == FRAME_TYPE_IPV4)
		return frame_parse_ipv4(out, buf, len, verify);
	return FRAME_OK;
}

static void frame_ip_checksum(uint8_t *buf)
{
	uint32_t sum;

	wire_put16(buf + FRAME_OFF_IP_SUM, 0);
	sum = frame_checksum_add(0, buf + FRAME_OFF_IP, FRAME_IPV4);
	wire_put16(buf + FRAME_OFF_IP_SUM, frame_checksum_fold(sum));
}

size_t frame_udp_build(uint8_t *buf, const struct frame_udp *udp, size_t len)
{
	uint16_t sum;

	if (len > FRAME_IP_MAX - FRAME_IPV4 - FRAME_UDP)
		return 0;
	memcpy(buf + FRAME_OFF_DST, udp->dst, FRAME_MAC);
	memcpy(buf + FRAME_OFF_SRC, udp->src, FRAME_MAC);
	wire_put16(buf + FRAME_OFF_TYPE, FRAME_TYPE_IPV4);
	memset(buf + FRAME_OFF_IP, 0, FRAME_IPV4 + FRAME_UDP);
	buf[FRAME_OFF_IP] = FRAME_IP_VERSION_IHL;
	wire_put16(buf + FRAME_OFF_IP_LEN, (uint16_t)(FRAME_IPV4 + FRAME_UDP + len));
	wire_put16(buf + FRAME_OFF_IP_FRAG, FRAME_IP_DF);
	buf[FRAME_OFF_IP_TTL] = FRAME_TTL;
	buf[FRAME_OFF_IP_PROTO] = FRAME_PROTO_UDP;
	wire_put32(buf + FRAME_OFF_IP_SRC, udp->ip_src);
	wire_put32(buf + FRAME_OFF_IP_DST, udp->ip_dst);
	frame_ip_checksum(buf);
	wire_put16(buf + FRAME_OFF_L4, udp->port_src);
	wire_put16(buf + FRAME_OFF_L4 + 2, udp->port_dst);
	wire_put16(buf + FRAME_OFF_UDP_LEN, (uint16_t)(FRAME_UDP + len));
	sum = frame_udp_checksum(buf, (uint32_t)(FRAME_UDP + len));
	/* RFC 768: zero means that there is no checksum. */
	wire_put16(buf + FRAME_OFF_UDP_SUM, sum ? sum : 0xffff);
	return FRAME_HEADERS + len;
}

/* A group address is never a sender: answering it would flood. */
static bool frame_from_group(const uint8_t *buf)
{
	return buf[FRAME_OFF_SRC] & 1;
}

static void frame_turn(uint8_t *buf, const uint8_t mac[FRAME_MAC])
{
	memcpy(buf + FRAME_OFF_DST, buf + FRAME_OFF_SRC, FRAME_MAC);
	memcpy(buf + FRAME_OFF_SRC, mac, FRAME_MAC);
}

bool frame_arp_reply(uint8_t *buf, size_t len, uint32_t ip, const uint8_t mac[FRAME_MAC])
{
	struct frame arp;

	if (frame_parse(&arp, buf, len, true) != FRAME_OK || arp.kind != FRAME_IS_ARP)
		return false;
	if (wire_get16(buf + FRAME_OFF_ARP_OP) != FRAME_ARP_REQUEST || arp.ip_dst != ip)
		return false;
	if (frame_from_group(buf))
		return false;
	frame_turn(buf, mac);
	wire_put16(buf + FRAME_OFF_ARP_OP, FRAME_ARP_REPLY);
	/* The asker's hardware and protocol address lie together, as the target's do. */
	memcpy(buf + FRAME_OFF_ARP_THA, buf + FRAME_OFF_ARP_SHA, FRAME_MAC + 4);
	memcpy(buf + FRAME_OFF_ARP_SHA, mac, FRAME_MAC);
	wire_put32(buf + FRAME_OFF_ARP_SPA, ip);
	return true;
}

bool frame_echo_reply(uint8_t *buf, size_t len, uint32_t ip, const uint8_t mac[FRAME_MAC])
{
	struct frame echo;
	uint32_t sum;

	if (frame_parse(&echo, buf, len, true) != FRAME_OK || echo.kind != FRAME_IS_ICMP)
		return false;
	if (echo.ip_dst != ip || echo.payload[0] != FRAME_ICMP_ECHO || echo.payload[1] != 0)
		return false;
	if (frame_from_group(buf))
		return false;
	frame_turn(buf, mac);
	buf[FRAME_OFF_IP_TTL] = FRAME_TTL;
	wire_put32(buf + FRAME_OFF_IP_SRC, ip);
	wire_put32(buf + FRAME_OFF_IP_DST, echo.ip_src);
	frame_ip_checksum(buf);
	buf[FRAME_OFF_L4] = FRAME_ICMP_ECHO_REPLY;
	wire_put16(buf + FRAME_OFF_ICMP_SUM, 0);
	sum = frame_checksum_add(0, buf + FRAME_OFF_L4, echo.len);
	wire_put16(buf + FRAME_OFF_ICMP_SUM, frame_checksum_fold(sum));
	return true;
}

size_t frame_arp_request(uint8_t *buf, const uint8_t mac[FRAME_MAC], uint32_t own_ip, uint32_t ip)
{
	memset(buf, 0, FRAME_MIN);
	memset(buf + FRAME_OFF_DST, 0xff, FRAME_MAC);
	memcpy(buf + FRAME_OFF_SRC, mac, FRAME_MAC);
	wire_put16(buf + FRAME_OFF_TYPE, FRAME_TYPE_ARP);
	memcpy(buf + FRAME_OFF_ARP, frame_arp_head, sizeof(frame_arp_head));
	wire_put16(buf + FRAME_OFF_ARP_OP, FRAME_ARP_REQUEST);
	memcpy(buf + FRAME_OFF_ARP_SHA, mac, FRAME_MAC);
	wire_put32(buf + FRAME_OFF_ARP_SPA, own_ip);
	wire_put32(buf + FRAME_OFF_ARP_TPA, ip);
	return FRAME_MIN;
}
