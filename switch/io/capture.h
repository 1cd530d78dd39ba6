/* SPDX-License-Identifier: BSD-3-Clause */
/* capture.h - writes the packets of one port and direction into a capture file. */
#ifndef SWITCH_IO_CAPTURE_H
#define SWITCH_IO_CAPTURE_H

#include <stdint.h>

#include "proto/frame.h"
#include "switch/io/capfile.h"
#include "switch/io/port.h"

struct capture;

struct capture_params {
	const char *dir;
	enum capfile_format format;
	const char *comment; /* NULL: none */
};

/* Creates DIR/portN_in.pcap, portN_out.pcapng and the like; NULL and *err.  The caller closes it. */
struct capture *capture_open(const struct capture_params *params, unsigned port,
			     const char *direction, struct port_error *err);
/* wall_ns: since 1970, the caller's. */
void capture_frame(struct capture *capture, uint64_t wall_ns, const uint8_t *data, uint32_t len);
/* Of one of which only the beginning is here. */
void capture_cut(struct capture *capture, uint64_t wall_ns, const uint8_t *data, uint32_t len);
/* A socket port's payload, with the headers that it would have on a wire. */
void capture_payload(struct capture *capture, uint64_t wall_ns, const struct frame_udp *udp,
		     const struct pkt *pkt);
/* What a socket was told: that nobody listens at udp->ip_src, udp->port_src, where a packet of its own went. */
void capture_unreachable(struct capture *capture, uint64_t wall_ns, const struct frame_udp *udp);
/* What was captured so far is in the file afterwards. */
void capture_flush(struct capture *capture);
/* Why the file does not grow any more, told once; NULL: nothing to tell. */
const char *capture_trouble(struct capture *capture);
/* 0, or -1 and *err, empty if that was told, if something could not be written: the file has a name that says so. */
int capture_close(struct capture *capture, struct port_error *err);

#endif
