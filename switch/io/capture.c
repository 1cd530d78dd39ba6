// SPDX-License-Identifier: BSD-3-Clause
/* capture.c - writes the packets of one port and direction into a capture file. */
#include "switch/io/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"

enum {
	ICMP_UNREACHABLE = 3,
	ICMP_PORT = 3,
	ICMP_SUM = 2,
	QUOTE = FRAME_IPV4 + FRAME_UDP, /* of the packet that it is about */
};

struct capture {
	struct capfile *file;
	uint8_t frame[CAPFILE_MAX + 1];
};

struct capture *capture_open(const struct capture_params *params, unsigned port,
			     const char *direction, struct port_error *err)
{
	struct capture *capture = malloc(sizeof(*capture));
	char path[4096], name[32];
	struct port_error why = { "out of memory" };

	snprintf(name, sizeof(name), "port%u_%s%s", port, direction,
		 capfile_suffix(params->format));
	snprintf(path, sizeof(path), "%.4000s/%s", params->dir, name);
	if (capture)
		capture->file = capfile_open(path, params->format, params->comment, &why);
	if (!capture || !capture->file) {
		port_fail(err, "--pcap %.200s: cannot write %s there: %.200s", params->dir, name,
			  why.text);
		free(capture);
		return NULL;
	}
	snprintf(name, sizeof(name), "port%u", port);
	capfile_interface(capture->file, name);
	/* However the switch ends, it is a capture. */
	capfile_flush(capture->file);
	return capture;
}

void capture_frame(struct capture *capture, uint64_t wall_ns, const uint8_t *data, uint32_t len)
{
	capfile_packet(capture->file, 0, wall_ns, data, len, len);
}

void capture_cut(struct capture *capture, uint64_t wall_ns, const uint8_t *data, uint32_t len)
{
	capfile_packet(capture->file, 0, wall_ns, data, len, CAPFILE_MAX);
}

void capture_payload(struct capture *capture, uint64_t wall_ns, const struct frame_udp *udp,
		     const struct pkt *pkt)
{
	size_t len;

	/* A payload so large that no frame holds it with its headers cannot be written. */
	if (pkt->len > CAPFILE_MAX - FRAME_HEADERS)
		return;
	memcpy(capture->frame + FRAME_HEADERS, pkt->data, pkt->len);
	len = frame_udp_build(capture->frame, udp, pkt->len);
	if (len)
		capture_frame(capture, wall_ns, capture->frame, (uint32_t)len);
}

void capture_unreachable(struct capture *capture, uint64_t wall_ns, const struct frame_udp *udp)
{
	const struct frame_udp sent = {
		.ip_src = udp->ip_dst,
		.ip_dst = udp->ip_src,
		.port_src = udp->port_dst,
		.port_dst = udp->port_src,
	};
	uint8_t *frame = capture->frame, *icmp = frame + FRAME_ETH + FRAME_IPV4;
	uint8_t quote[FRAME_HEADERS];
	const uint32_t len = FRAME_ETH + FRAME_IPV4 + FRAME_ICMP + QUOTE;

	frame_udp_build(quote, &sent, 0);
	frame_udp_build(frame, udp, 0);
	wire_put16(frame + FRAME_OFF_IP_LEN, (uint16_t)(len - FRAME_ETH));
	frame[FRAME_OFF_IP_PROTO] = FRAME_PROTO_ICMP;
	wire_put16(frame + FRAME_OFF_IP_SUM, 0);
	wire_put16(frame + FRAME_OFF_IP_SUM,
		   frame_checksum_fold(frame_checksum_add(0, frame + FRAME_ETH, FRAME_IPV4)));
	memset(icmp, 0, FRAME_ICMP);
	icmp[0] = ICMP_UNREACHABLE;
	icmp[1] = ICMP_PORT;
	memcpy(icmp + FRAME_ICMP, quote + FRAME_ETH, QUOTE);
	wire_put16(icmp + ICMP_SUM,
		   frame_checksum_fold(frame_checksum_add(0, icmp, FRAME_ICMP + QUOTE)));
	capture_frame(capture, wall_ns, frame, len);
}

void capture_flush(struct capture *capture)
{
	capfile_flush(capture->file);
}

const char *capture_trouble(struct capture *capture)
{
	return capture ? capfile_trouble(capture->file) : NULL;
}

int capture_close(struct capture *capture, struct port_error *err)
{
	int rc;

	if (!capture)
		return 0;
	rc = capfile_close(capture->file, err);
	free(capture);
	return rc;
}
