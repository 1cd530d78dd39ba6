// SPDX-License-Identifier: BSD-3-Clause
// fuzz_frame.c - any bytes as frames: the parser's promises, the replies, and forwarding.
#include <string.h>

#include "proto/frame.h"
#include "switch/core/fwd.h"
#include "tests/fuzz/fuzz.h"

enum { FRAME_ROOM = 2048, IP = 0x0a0000fe, PORTS = 4 };

static const uint8_t mac[FRAME_MAC] = { 2, 0, 0, 0, 0, 0xfe };

static void udp_again(const struct frame *frame)
{
	uint8_t buf[FRAME_ROOM + FRAME_HEADERS];
	struct frame_udp udp = { .ip_src = frame->ip_src,
				 .ip_dst = frame->ip_dst,
				 .port_src = frame->port_src,
				 .port_dst = frame->port_dst };
	struct frame again;
	size_t len;

	memcpy(udp.dst, frame->dst, FRAME_MAC);
	memcpy(udp.src, frame->src, FRAME_MAC);
	memcpy(buf + FRAME_HEADERS, frame->payload, frame->len);
	len = frame_udp_build(buf, &udp, frame->len);
	fuzz_check(len >= FRAME_HEADERS + frame->len);
	fuzz_check(frame_parse(&again, buf, len, true) == FRAME_OK);
	fuzz_check(again.kind == FRAME_IS_UDP && again.len == frame->len);
	fuzz_check(again.ip_src == frame->ip_src && again.port_dst == frame->port_dst);
	fuzz_check(memcmp(again.payload, frame->payload, frame->len) == 0);
}

/* What is in a frame lies in it. */
static void parsed(const uint8_t *data, size_t len, bool verify)
{
	uint8_t *copy = fuzz_copy(data, len), *reply = fuzz_copy(data, len);
	struct frame frame;

	if (frame_parse(&frame, copy, len, verify) == FRAME_OK) {
		fuzz_check(frame.payload >= copy && frame.payload + frame.len <= copy + len);
		fuzz_check(memcmp(copy, data, len) == 0);
		if (frame.kind == FRAME_IS_UDP)
			udp_again(&frame);
	}
	if (!frame_arp_reply(reply, len, IP, mac) && !frame_echo_reply(reply, len, IP, mac))
		fuzz_check(len == 0 || memcmp(reply, data, len) == 0);
	else
		fuzz_check(frame_parse(&frame, reply, len, true) == FRAME_OK);
	free(copy);
	free(reply);
}

static void forwarded(struct fwd *fwd, struct fwd_pkt *pkt, uint64_t now_ns)
{
	uint32_t len = pkt->len;

	fwd_input(fwd, pkt, now_ns);
	fuzz_check(pkt->verdict <= FWD_FLOOD);
	if (pkt->verdict != FWD_LOCAL && pkt->verdict != FWD_GONE) /* those count as the pipe's */
		fuzz_check(pkt->counter < COUNTER_NR);
	fuzz_check(pkt->len <= len);
	if (pkt->verdict == FWD_PORT)
		fuzz_check(pkt->out_port < PORTS && pkt->out_port != pkt->port);
	if (pkt->verdict == FWD_LOCAL)
		fuzz_check(pkt->frame.payload >= pkt->data &&
			   pkt->frame.payload + pkt->frame.len <= pkt->data + len);
}

/* Each frame: its length in two bytes, then flags, then itself. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fwd_params params = {
		.ip = IP, .udp_port = 48880, .nr_ports = PORTS, .fdb_max = 8, .age_ns = 1000
	};
	struct fuzz_bytes bytes = { data, size };
	struct fwd *fwd;
	void *mem;

	memcpy(params.mac, mac, sizeof(mac));
	mem = fuzz_memory(fwd_size(&params));
	fwd = fwd_init(mem, &params);
	fuzz_check(fwd != NULL);
	for (uint64_t now_ns = 1; bytes.left; now_ns += 100) {
		size_t want = fuzz_u16(&bytes) % FRAME_ROOM;
		uint8_t flags = fuzz_u8(&bytes), buf[FRAME_ROOM];
		size_t len = fuzz_take(&bytes, buf, want);
		uint8_t *own = fuzz_copy(buf, len);
		struct fwd_pkt pkt = { .data = own,
				       .len = (uint32_t)len,
				       .mtu = 1500,
				       .port = flags % PORTS,
				       .verify = flags & 4 };

		parsed(own, len, flags & 4);
		forwarded(fwd, &pkt, now_ns);
		free(own);
	}
	free(mem);
	return 0;
}
