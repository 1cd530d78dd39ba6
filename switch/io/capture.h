/* SPDX-License-Identifier: BSD-3-Clause */
/* capture.h - writes the packets of one port and direction into a pcap file. */
#ifndef SWITCH_IO_CAPTURE_H
#define SWITCH_IO_CAPTURE_H

#include <stdint.h>

#include "proto/frame.h"
#include "switch/io/port.h"

struct capture;

/* Creates DIR/portN_in.pcap or portN_out.pcap; NULL and *err.  The caller closes it. */
struct capture *capture_open(const char *dir, unsigned port, const char *direction,
			     struct port_error *err);
void capture_frame(struct capture *capture, const uint8_t *data, uint32_t len);
/* A socket port's payload, with the headers that it would have on a wire. */
void capture_payload(struct capture *capture, const struct frame_udp *udp, const struct pkt *pkt);
/* What was captured so far is in the file afterwards. */
void capture_flush(struct capture *capture);
/* 0, or -1 if something could not be written (disk full). */
int capture_close(struct capture *capture);

#endif
