/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.h - CRC32C (RFC 3720, section 12.1), by the CPU's own instruction where it has one.
 *
 * The scalar one defines the meaning and is the oracle of the other.
 */
#ifndef PROTO_CRC32C_H
#define PROTO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t crc32c(const void *buf, size_t len);

uint32_t crc32c_scalar(const void *buf, size_t len);
#ifdef TALLY_X86
/* Needs SSE4.2 and PCLMULQDQ. */
uint32_t crc32c_sse42(const void *buf, size_t len);
#endif

#ifdef __cplusplus
}
#endif
#endif
