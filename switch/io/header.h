/* SPDX-License-Identifier: BSD-3-Clause */
/* header.h - headers for many copies of one payload: its checksum is summed up once. */
#ifndef SWITCH_IO_HEADER_H
#define SWITCH_IO_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

/* The payload's part of any UDP checksum over it. */
uint32_t header_payload_sum(const uint8_t *payload, size_t len);
/* As frame_udp_build(), but without looking at the payload. */
size_t header_build(uint8_t *buf, const struct frame_udp *udp, size_t len, uint32_t payload_sum);

#endif
