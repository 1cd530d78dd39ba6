// SPDX-License-Identifier: BSD-3-Clause
/* header.c - headers for many copies of one payload: its checksum is summed up once. */
#include "switch/io/header.h"

#include "proto/wire.h"

enum {
	HEADER_IP = FRAME_ETH,
	HEADER_IP_LEN = HEADER_IP + 2,
	HEADER_IP_SUM = HEADER_IP + 10,
	HEADER_IP_SRC = HEADER_IP + 12,
	HEADER_UDP = HEADER_IP + FRAME_IPV4,
	HEADER_UDP_LEN = HEADER_UDP + 4,
	HEADER_UDP_SUM = HEADER_UDP + 6,
	HEADER_PROTO_UDP = 17,
};

uint32_t header_payload_sum(const uint8_t *payload, size_t len)
{
	/* Folded, so that the caller may add to it. */
	return (uint16_t)~frame_checksum_fold(frame_checksum_add(0, payload, len));
}

size_t header_build(uint8_t *buf, const struct frame_udp *udp, size_t len, uint32_t payload_sum)
{
	uint16_t udp_len = (uint16_t)(FRAME_UDP + len), sum;
	uint32_t total = payload_sum + HEADER_PROTO_UDP + udp_len;

	/* Everything but lengths and checksums. */
	frame_udp_build(buf, udp, 0);
	wire_put16(buf + HEADER_IP_LEN, (uint16_t)(FRAME_IPV4 + udp_len));
	wire_put16(buf + HEADER_IP_SUM, 0);
	wire_put16(buf + HEADER_IP_SUM,
		   frame_checksum_fold(frame_checksum_add(0, buf + HEADER_IP, FRAME_IPV4)));
	wire_put16(buf + HEADER_UDP_LEN, udp_len);
	wire_put16(buf + HEADER_UDP_SUM, 0);
	/* The addresses lie before the UDP header. */
	sum = frame_checksum_fold(frame_checksum_add(total, buf + HEADER_IP_SRC, 8 + FRAME_UDP));
	wire_put16(buf + HEADER_UDP_SUM, sum ? sum : 0xffff);
	return FRAME_HEADERS + len;
}
