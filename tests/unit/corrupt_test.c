// SPDX-License-Identifier: BSD-3-Clause
// One byte changes, and a verified checksum tells of it, unless it is not to.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "proto/frame.h"
#include "proto/wire.h"
#include "switch/core/corrupt.h"

enum { LEN = 301, FRAME = FRAME_HEADERS + LEN, UDP_SUM = FRAME_HEADERS - 2 };

static const uint8_t mac_a[FRAME_MAC] = { 2, 1, 1, 1, 1, 7 },
		     mac_b[FRAME_MAC] = { 2, 9, 3, 4, 5, 6 };

static void frame_make(uint8_t *buf)
{
	struct frame_udp udp = {
		.ip_src = 0x0a000001, .ip_dst = 0x0a0000fe, .port_src = 7001, .port_dst = WIRE_PORT
	};

	memcpy(udp.dst, mac_a, FRAME_MAC);
	memcpy(udp.src, mac_b, FRAME_MAC);
	for (unsigned i = 0; i < LEN; i++)
		buf[FRAME_HEADERS + i] = (uint8_t)(i * 37 + 11);
	assert_int_equal(frame_udp_build(buf, &udp, LEN), FRAME);
}

static unsigned differences(const uint8_t *a, const uint8_t *b, size_t len, size_t *where)
{
	unsigned nr = 0;

	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i]) {
			nr++;
			*where = i;
		}
	return nr;
}

/*
 * Wherever the byte is: either the frame is refused, or the UDP payload and who sent it are what
 * they were (the Ethernet header, TTL and the like are nobody's business here), or there is no UDP
 * checksum any more, which was all that changed.
 */
static void corrupt_frame__checksums_tell(void **state)
{
	uint8_t good[FRAME], bad[FRAME];
	bool hit[FRAME] = { false };
	unsigned refused = 0, nr = 0;
	struct frame frame;

	(void)state;
	frame_make(good);
	for (uint64_t noise = 0; noise < 200000; noise++) {
		size_t where = 0;

		memcpy(bad, good, FRAME);
		assert_true(corrupt_frame(bad, FRAME, noise * UINT64_C(0x9e3779b97f4a7c15), false));
		assert_int_equal(differences(good, bad, FRAME, &where), 1);
		hit[where] = true;
		if (frame_parse(&frame, bad, FRAME, true) != FRAME_OK) {
			refused++;
			continue;
		}
		if (where < FRAME_ETH || frame.kind != FRAME_IS_UDP)
			continue;
		assert_true(where / 2 == UDP_SUM / 2 && frame.udp_no_checksum);
	}
	for (unsigned i = 0; i < FRAME; i++)
		nr += hit[i];
	assert_int_equal(nr, FRAME);
	assert_true(refused > 180000);
}

/* What a virtual link leaves undone is done first: without, every corrupted frame would be refused. */
static void corrupt_frame__completes_partial_checksums(void **state)
{
	static const uint16_t partial[] = { 0, 0x1234 };
	uint8_t good[FRAME], bad[FRAME];

	(void)state;
	frame_make(good);
	for (unsigned i = 0; i < 2; i++) {
		unsigned nr_ethernet = 0;

		for (uint64_t noise = 0; noise < 20000; noise++) {
			size_t where = 0;

			memcpy(bad, good, FRAME);
			wire_put16(bad + UDP_SUM, partial[i]);
			assert_true(corrupt_frame(bad, FRAME, noise << 8 | noise % 251, false));
			assert_int_equal(differences(good, bad, FRAME, &where), 1);
			nr_ethernet += where < FRAME_ETH;
		}
		assert_true(nr_ethernet > 100);
	}
}

static void corrupt_frame__checked(void **state)
{
	uint8_t good[FRAME], bad[FRAME];
	struct frame frame;
	unsigned nr_zero = 0;
	size_t where = 0;

	(void)state;
	frame_make(good);
	for (uint64_t noise = 0; noise < 200000; noise++) {
		wire_put16(good + FRAME_HEADERS + 10, (uint16_t)noise);
		memcpy(bad, good, FRAME);
		assert_true(corrupt_frame(bad, FRAME, noise * 7919, true));
		assert_int_equal(frame_parse(&frame, bad, FRAME, true), FRAME_OK);
		assert_int_equal(frame.kind, FRAME_IS_UDP);
		/* A sum of 0 is written as 0xffff: 0 would mean that there is none. */
		assert_false(frame.udp_no_checksum);
		nr_zero += wire_get16(bad + UDP_SUM) == 0xffff;
		assert_int_equal(differences(good + FRAME_HEADERS, bad + FRAME_HEADERS, LEN,
					     &where),
				 1);
		assert_int_equal(differences(good, bad, UDP_SUM, &where), 0);
	}
	assert_true(nr_zero > 0);
}

/* Nobody above Ethernet would see that an ARP packet lies. */
static void corrupt_frame__other_frames(void **state)
{
	uint8_t buf[FRAME_MIN], before[FRAME_MIN];
	size_t where = 0;

	(void)state;
	assert_int_equal(frame_arp_request(buf, mac_a, 0x0a000001, 0x0a000002), FRAME_MIN);
	memcpy(before, buf, FRAME_MIN);
	assert_false(corrupt_frame(buf, FRAME_MIN, 77, false));
	assert_true(corrupt_frame(buf, FRAME_MIN, 77, true));
	assert_memory_equal(buf, before, FRAME_MIN);
	buf[12] = 0x86;
	buf[13] = 0xdd;
	memcpy(before, buf, FRAME_MIN);
	assert_true(corrupt_frame(buf, FRAME_MIN, 77, false));
	assert_int_equal(differences(before, buf, FRAME_MIN, &where), 1);
	assert_true(corrupt_frame(buf, 3, 77, false));
	assert_true(corrupt_frame(buf, 0, 77, false));
}

static void corrupt_payload__one_byte(void **state)
{
	uint8_t before[50] = { 1, 2, 3 }, buf[50];
	bool hit[50] = { false };
	unsigned nr = 0;

	(void)state;
	for (uint64_t noise = 0; noise < 50000; noise++) {
		size_t where = 0;

		memcpy(buf, before, 50);
		corrupt_payload(buf, 50, noise * 977);
		assert_int_equal(differences(before, buf, 50, &where), 1);
		hit[where] = true;
	}
	for (unsigned i = 0; i < 50; i++)
		nr += hit[i];
	assert_int_equal(nr, 50);
	corrupt_payload(buf, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrupt_frame__checksums_tell),
		cmocka_unit_test(corrupt_frame__completes_partial_checksums),
		cmocka_unit_test(corrupt_frame__checked),
		cmocka_unit_test(corrupt_frame__other_frames),
		cmocka_unit_test(corrupt_payload__one_byte),
	};

	return cmocka_run_group_tests_name("corrupt", tests, NULL, NULL);
}
