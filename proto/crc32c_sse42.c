// SPDX-License-Identifier: BSD-3-Clause
/* crc32c_sse42.c - CRC32C by the instruction made for it. */
#include "proto/crc32c.h"

#ifdef TALLY_X86
#include <immintrin.h>
#include <string.h>

/* The instruction takes three cycles and begins one each cycle: three lanes at a time. */
enum { CRC_LANE = 128 };

static uint64_t crc_word(uint64_t crc, const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return _mm_crc32_u64(crc, word);
}

/*
 * What crc comes to behind as many zero bytes as factor stands for, before the division that the
 * caller leaves to the instruction: factor is x^(8 n - 33) for n bytes.
 */
static uint64_t crc_shift(uint64_t crc, uint32_t factor)
{
	const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
						     _mm_cvtsi64_si128((long long)factor), 0);

	return (uint64_t)_mm_cvtsi128_si64(product);
}

static uint64_t crc_lanes(uint64_t crc, const uint8_t *p)
{
	static const uint32_t one = 0x0d3b6092, two = 0xb9e02b86; /* n = CRC_LANE, 2 CRC_LANE */
	uint64_t second = 0, third = 0;

	for (unsigned i = 0; i < CRC_LANE; i += 8) {
		crc = crc_word(crc, p + i);
		second = crc_word(second, p + CRC_LANE + i);
		third = crc_word(third, p + 2 * CRC_LANE + i);
	}
	return third ^ _mm_crc32_u64(0, crc_shift(crc, two) ^ crc_shift(second, one));
}

uint32_t crc32c_sse42(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint64_t crc = UINT32_MAX;

	for (; len >= 3 * CRC_LANE; len -= 3 * CRC_LANE, p += 3 * CRC_LANE)
		crc = crc_lanes(crc, p);
	for (; len >= 8; len -= 8, p += 8)
		crc = crc_word(crc, p);
	for (; len; len--, p++)
		crc = _mm_crc32_u8((uint32_t)crc, *p);
	return ~(uint32_t)crc;
}
#endif
