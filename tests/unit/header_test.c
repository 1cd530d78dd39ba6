// SPDX-License-Identifier: BSD-3-Clause
/* header_test.c - headers with a checksum summed up once are the headers that frame_udp_build() writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "switch/io/header.h"

enum { ROOM = FRAME_HEADERS + 9000 };

static uint64_t seed = 7;

static uint32_t next_random(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return (uint32_t)(seed >> 32);
}

static void header_build__as_frame_udp_build(void **state)
{
	static uint8_t want[ROOM], got[ROOM];

	(void)state;
	for (unsigned k = 0; k < 300; k++) {
		size_t len = k < 70 ? k : next_random() % 8999;
		struct frame_udp udp = {
			.ip_src = next_random(),
			.ip_dst = next_random(),
			.port_src = (uint16_t)next_random(),
			.port_dst = (uint16_t)next_random(),
		};

		for (unsigned i = 0; i < FRAME_MAC; i++) {
			udp.dst[i] = (uint8_t)next_random();
			udp.src[i] = (uint8_t)next_random();
		}
		/* Also payloads whose sum is at the ends of its range. */
		for (size_t i = 0; i < len; i++)
			want[FRAME_HEADERS + i] = k % 7 == 0   ? 0xff
						  : k % 7 == 1 ? 0
							       : (uint8_t)next_random();
		memcpy(got + FRAME_HEADERS, want + FRAME_HEADERS, len);
		memset(got, 0xa5, FRAME_HEADERS);
		assert_int_equal(frame_udp_build(want, &udp, len), FRAME_HEADERS + len);
		assert_int_equal(header_build(got, &udp, len,
					      header_payload_sum(got + FRAME_HEADERS, len)),
				 FRAME_HEADERS + len);
		assert_memory_equal(got, want, FRAME_HEADERS + len);
	}
}

/* A sum of zero means "no checksum" and is sent as 0xffff. */
static void header_build__zero_sum(void **state)
{
	static uint8_t want[FRAME_HEADERS + 4], got[FRAME_HEADERS + 4];
	struct frame_udp udp = {
		.ip_src = 0x0a000001, .ip_dst = 0x0a000002, .port_src = 1, .port_dst = 2
	};
	unsigned hits = 0;

	(void)state;
	for (unsigned v = 0; v < 65536; v++) {
		got[FRAME_HEADERS] = want[FRAME_HEADERS] = (uint8_t)(v >> 8);
		got[FRAME_HEADERS + 1] = want[FRAME_HEADERS + 1] = (uint8_t)v;
		frame_udp_build(want, &udp, 4);
		header_build(got, &udp, 4, header_payload_sum(got + FRAME_HEADERS, 4));
		assert_memory_equal(got, want, sizeof(got));
		hits += got[40] == 0xff && got[41] == 0xff;
	}
	assert_int_equal(hits, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_build__as_frame_udp_build),
		cmocka_unit_test(header_build__zero_sum),
	};

	return cmocka_run_group_tests_name("header", tests, NULL, NULL);
}
