// SPDX-License-Identifier: BSD-3-Clause
/* corrupt.c - one byte of a packet is changed on purpose, and checksums tell of it, or do not. */
#include "switch/core/corrupt.h"

#include "proto/frame.h"
#include "proto/wire.h"

enum {
	CORRUPT_IP_SRC = FRAME_ETH + 12, /* offsets in a frame without IPv4 options */
	CORRUPT_UDP = FRAME_ETH + FRAME_IPV4,
	CORRUPT_UDP_SUM = CORRUPT_UDP + 6,
	CORRUPT_PROTO_UDP = 17,
};

/* payload: bytes that the UDP header says follow it. */
static void corrupt_sum(uint8_t *buf, uint32_t payload)
{
	uint32_t len = FRAME_UDP + payload;
	uint16_t sum;

	wire_put16(buf + CORRUPT_UDP_SUM, 0);
	sum = frame_checksum_fold(frame_checksum_add(frame_checksum_add(CORRUPT_PROTO_UDP + len,
									buf + CORRUPT_IP_SRC, 8),
						     buf + CORRUPT_UDP, len));
	wire_put16(buf + CORRUPT_UDP_SUM, sum ? sum : 0xffff);
}

/* Never by 0, which would change nothing. */
void corrupt_payload(uint8_t *buf, size_t len, uint64_t noise)
{
	if (len)
		buf[(noise >> 8) % len] ^= (uint8_t)(1 + noise % 255);
}

bool corrupt_frame(uint8_t *buf, size_t len, uint64_t noise, bool checked)
{
	struct frame frame;
	bool udp = frame_parse(&frame, buf, len, false) == FRAME_OK && frame.kind == FRAME_IS_UDP;

	if (udp && checked)
		corrupt_payload(frame.payload, frame.len, noise);
	if (udp)
		corrupt_sum(buf, frame.len);
	if (checked)
		return true;
	if (len >= FRAME_ETH && frame.ethertype == FRAME_TYPE_ARP)
		return false;
	corrupt_payload(buf, len, noise);
	return true;
}
