/* SPDX-License-Identifier: BSD-3-Clause */
/* corrupt.h - one byte of a packet is changed on purpose, and checksums tell of it, or do not. */
#ifndef SWITCH_CORE_CORRUPT_H
#define SWITCH_CORE_CORRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A frame, anywhere from the Ethernet header on.  A UDP checksum that is only partial, or missing,
 * is made right before, so that whoever verifies it sees the change.  checked: a byte of the UDP
 * payload, and the checksum is made right after; frames of other kinds stay as they are.  False:
 * nothing but the Ethernet checksum would show the change to anybody (ARP), so the frame is lost.
 */
bool corrupt_frame(uint8_t *buf, size_t len, uint64_t noise, bool checked);
/* A UDP payload whose checksum was seen to already. */
void corrupt_payload(uint8_t *buf, size_t len, uint64_t noise);

#endif
