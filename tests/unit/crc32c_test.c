// SPDX-License-Identifier: BSD-3-Clause
/* crc32c_test.c - published values, a bit at a time, and one instruction set against the other. */
#include "proto/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/wire_golden.h"

static uint32_t naive_crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = 0xffffffff;

	for (size_t bit = 0; bit < 8 * len; bit++) {
		uint32_t in = p[bit / 8] >> bit % 8 & 1;

		crc = crc >> 1 ^ ((crc & 1) != in ? 0x82f63b78 : 0);
	}
	return crc ^ 0xffffffff;
}

/* The vectors of RFC 3720, section B.4, and the check value every table of CRCs lists. */
static void check_rfc3720(uint32_t (*crc)(const void *buf, size_t len))
{
	uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];

	for (unsigned i = 0; i < 32; i++) {
		ones[i] = 0xff;
		up[i] = (uint8_t)i;
		down[i] = (uint8_t)(31 - i);
	}
	assert_int_equal(crc(zeros, 32), 0x8a9136aa);
	assert_int_equal(crc(ones, 32), 0x62a8ab43);
	assert_int_equal(crc(up, 32), 0x46dd794e);
	assert_int_equal(crc(down, 32), 0x113fdb5c);
	assert_int_equal(crc("123456789", 9), 0xe3069283);
	assert_int_equal(crc("", 0), 0);
}

/* Every length around the steps of the fast ones, every alignment; copies end where the heap does. */
static void check_lengths(uint32_t (*crc)(const void *buf, size_t len), size_t most)
{
	uint8_t *bytes = test_malloc(most);

	for (size_t i = 0; i < most; i++)
		bytes[i] = (uint8_t)golden_random();
	for (size_t len = 0; len <= most; len += len < 1600 ? 1 : 997) {
		const size_t shift = len % 8;
		uint8_t *copy = malloc(shift + len ? shift + len : 1);

		assert_non_null(copy);
		memcpy(copy + shift, bytes, len);
		assert_int_equal(crc(copy + shift, len), naive_crc32c(bytes, len));
		free(copy);
	}
	test_free(bytes);
}

static void crc32c__of_this_cpu(void **state)
{
	(void)state;
	check_rfc3720(crc32c);
	check_lengths(crc32c, WIRE_MSG_MAX);
}

static void crc32c_scalar__bit_by_bit(void **state)
{
	(void)state;
	check_rfc3720(crc32c_scalar);
	check_lengths(crc32c_scalar, WIRE_MSG_MAX);
}

#ifdef TALLY_X86
static void crc32c_sse42__same_as_scalar(void **state)
{
	uint8_t *bytes = test_malloc(WIRE_MSG_MAX);

	(void)state;
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) {
		test_free(bytes);
		skip();
	}
	check_rfc3720(crc32c_sse42);
	for (size_t i = 0; i < WIRE_MSG_MAX; i++)
		bytes[i] = (uint8_t)golden_random();
	for (size_t at = 0; at < WIRE_MSG_MAX; at += 7)
		assert_int_equal(crc32c_sse42(bytes + at, WIRE_MSG_MAX - at),
				 crc32c_scalar(bytes + at, WIRE_MSG_MAX - at));
	test_free(bytes);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(crc32c__of_this_cpu, golden_setup),
		cmocka_unit_test_setup(crc32c_scalar__bit_by_bit, golden_setup),
#ifdef TALLY_X86
		cmocka_unit_test_setup(crc32c_sse42__same_as_scalar, golden_setup),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
