/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - Ethernet, IPv4, UDP, ARP and ICMP echo: parse, build, checksum.
 *
 * Frames are untagged Ethernet II without FCS.  Addresses and ports are in host byte order in
 * structs.
 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	FRAME_ETH = 14,
	FRAME_IPV4 = 20,
	FRAME_UDP = 8,
	FRAME_HEADERS = FRAME_ETH + FRAME_IPV4 + FRAME_UDP, /* 42: a UDP payload starts here */
	FRAME_ARP = 28,
	FRAME_MIN = 60,
	FRAME_MAC = 6,
	FRAME_TYPE_IPV4 = 0x0800,
	FRAME_TYPE_ARP = 0x0806,
	FRAME_ICMP = 8, /* bytes of an ICMP header */
	FRAME_PROTO_ICMP = 1,
	FRAME_PROTO_UDP = 17,
};

/* Offsets from the start of the frame; IPv4 is without options wherever they are used. */
enum {
	FRAME_OFF_DST = 0,
	FRAME_OFF_SRC = 6,
	FRAME_OFF_TYPE = 12,
	FRAME_OFF_IP = FRAME_ETH,
	FRAME_OFF_IP_LEN = FRAME_OFF_IP + 2,
	FRAME_OFF_IP_FRAG = FRAME_OFF_IP + 6,
	FRAME_OFF_IP_TTL = FRAME_OFF_IP + 8,
	FRAME_OFF_IP_PROTO = FRAME_OFF_IP + 9,
	FRAME_OFF_IP_SUM = FRAME_OFF_IP + 10,
	FRAME_OFF_IP_SRC = FRAME_OFF_IP + 12,
	FRAME_OFF_IP_DST = FRAME_OFF_IP + 16,
	FRAME_OFF_L4 = FRAME_OFF_IP + FRAME_IPV4,
	FRAME_OFF_UDP_LEN = FRAME_OFF_L4 + 4,
	FRAME_OFF_UDP_SUM = FRAME_OFF_L4 + 6,
	FRAME_OFF_ICMP_SUM = FRAME_OFF_L4 + 2,
	FRAME_OFF_ARP = FRAME_ETH,
	FRAME_OFF_ARP_OP = FRAME_OFF_ARP + 6,
	FRAME_OFF_ARP_SHA = FRAME_OFF_ARP + 8,
	FRAME_OFF_ARP_SPA = FRAME_OFF_ARP + 14,
	FRAME_OFF_ARP_THA = FRAME_OFF_ARP + 18,
	FRAME_OFF_ARP_TPA = FRAME_OFF_ARP + 24,
};

#define FRAME_ERROR_MAP(X)                                                                         \
	X(OK, "valid")                                                                             \
	X(SHORT, "shorter than an Ethernet header, or than the headers it needs")                  \
	X(IP_VERSION, "IPv4 header with another version")                                          \
	X(IP_OPTIONS, "IPv4 header with options")                                                  \
	X(IP_LENGTH, "IPv4 or UDP length beyond the frame, or too small")                          \
	X(IP_CHECKSUM, "wrong IPv4 header checksum")                                               \
	X(IP_FRAGMENT, "fragment")                                                                 \
	X(UDP_CHECKSUM, "wrong UDP checksum")                                                      \
	X(ICMP_CHECKSUM, "wrong ICMP checksum")

enum frame_error {
#define X(name, text) FRAME_##name,
	FRAME_ERROR_MAP(X)
#undef X
};

enum frame_kind { FRAME_OTHER, FRAME_IS_ARP, FRAME_IS_UDP, FRAME_IS_ICMP, FRAME_IS_IPV4 };

/*
 * What frame_parse() found.  payload points into the frame: the UDP payload, the ICMP message, or
 * the ARP packet (ip_src and ip_dst are then its sender's and its target's); for other kinds what
 * follows the Ethernet header.
 */
struct frame {
	uint8_t kind; /* enum frame_kind */
	uint8_t dst[FRAME_MAC], src[FRAME_MAC];
	uint16_t ethertype;
	uint32_t ip_src, ip_dst;
	uint16_t port_src, port_dst;
	uint8_t ttl, ip_proto;
	bool udp_no_checksum; /* UDP checksum field is zero */
	uint8_t *payload;
	uint32_t len;
};

/*
 * Reads a frame of len bytes.  IPv4 headers and lengths are always checked; trailing padding is not
 * part of the payload.  UDP and ICMP checksums are checked if verify (a device may have done so); for
 * UDP none, and the pseudo header's alone are right as well: a frame from a virtual link has the
 * latter if its sender's kernel left the rest to a device.  TCP or an unknown IPv4 protocol is
 * FRAME_IS_IPV4, ARP for anything but IPv4 over Ethernet FRAME_OTHER.  *out is valid on FRAME_OK
 * only, save dst, src and ethertype, which are filled in whenever len >= FRAME_ETH.
 */
enum frame_error frame_parse(struct frame *out, uint8_t *buf, size_t len, bool verify);

struct frame_udp {
	uint8_t dst[FRAME_MAC], src[FRAME_MAC];
	uint32_t ip_src, ip_dst;
	uint16_t port_src, port_dst;
};

/*
 * Writes the 42 bytes of headers before a payload of len bytes at buf + FRAME_HEADERS, which is
 * there already: DF set, TTL 64, both checksums right.  Returns the frame's length, 0 if no IPv4
 * packet is that long.
 */
size_t frame_udp_build(uint8_t *buf, const struct frame_udp *udp, size_t len);

/*
 * In place: an ARP request for ip becomes its reply, an echo request to ip its reply.
 * False: not that, or from a group address; the frame is then as it was.
 */
bool frame_arp_reply(uint8_t *buf, size_t len, uint32_t ip, const uint8_t mac[FRAME_MAC]);
bool frame_echo_reply(uint8_t *buf, size_t len, uint32_t ip, const uint8_t mac[FRAME_MAC]);
/* Writes a request "who has ip" of FRAME_MIN bytes; returns its length. */
size_t frame_arp_request(uint8_t *buf, const uint8_t mac[FRAME_MAC], uint32_t own_ip, uint32_t ip);

/*
 * One's complement sum (RFC 1071) over len bytes, added to sum; frame_checksum_fold() ends it.
 * Of a sum in several pieces only the last may have an odd length.
 */
uint32_t frame_checksum_add(uint32_t sum, const void *buf, size_t len);
uint16_t frame_checksum_fold(uint32_t sum);

#ifdef __cplusplus
}
#endif
#endif
