// SPDX-License-Identifier: BSD-3-Clause
/* wire_test.c - headers and hashes against bytes written by hand, and a second opinion. */
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

/* What docs/protocol.md allows, said a second time and as plainly as possible. */
static bool oracle_valid(const uint8_t *b, size_t len)
{
	size_t body = len - 22;
	int type, kind, empty, partial, saturated;

	if (len < 22 || b[0] / 16 != 1 || body > 8836 || b[1] >= 0x80)
		return false;
	type = b[0] % 16;
	kind = b[1] % 16;
	empty = b[1] / 16 % 2;
	partial = b[1] / 32 % 2;
	saturated = b[1] / 64 % 2;
	if (body % 32 == 4) {
		uint32_t crc = naive_crc32c(b, len - 4);

		if (b[len - 4] != crc >> 24 || b[len - 3] != (crc >> 16 & 255) ||
		    b[len - 2] != (crc >> 8 & 255) || b[len - 1] != (crc & 255))
			return false;
		body -= 4;
	}
	if (type == 1 || type == 2) {
		if (kind == 0 || kind > 5 || body == 0 || body % 32 != 0 || body > 8832)
			return false;
		if (partial && type == 2)
			return false;
		if (saturated && kind != 2)
			return false;
		return !empty || body == 32;
	}
	if (b[1] != 0)
		return false;
	if (type == 3 && body >= 160) {
		size_t p = (size_t)b[42] * 256 + b[43];

		return body == (p < 160 ? 160 : p);
	}
	if (type == 4)
		return body == 32 || body == 96 || (body >= 160 && body <= 8832 && body % 32 == 0);
	if (type == 6)
		return body == 32;
	return (type == 5 || type == 7) && body == 160;
}

/* Any bytes: the verdict is the oracle's, and a valid message has its fields where they belong. */
static enum wire_error check_parse(const uint8_t *buf, size_t len)
{
	struct wire_msg msg = { 0 };
	uint8_t *copy;
	enum wire_error error = golden_parse(&msg, buf, len, &copy);

	assert_true(error <= WIRE_BAD_FIELD);
	assert_int_equal(error == WIRE_OK, oracle_valid(buf, len));
	if (error == WIRE_OK) {
		assert_int_equal(msg.type, buf[0] & 15);
		assert_int_equal(msg.kind, buf[1] & 15);
		assert_int_equal(msg.flags, buf[1] & 0xf0);
		assert_int_equal(msg.len, len - 22 - (msg.sealed ? 4 : 0));
		assert_int_equal(msg.sealed, (len - 22) % 32 == 4);
		assert_ptr_equal(msg.payload, copy + 22);
		assert_true(msg.epoch <= WIRE_EPOCH_MAX);
	}
	free(copy);
	return error;
}

static void wire_parse__golden(void **state)
{
	struct wire_msg msg;
	uint8_t buf[WIRE_HEADER + 64];

	(void)state;
	golden_set_chunk(buf, 64);
	assert_int_equal(wire_parse(&msg, buf, sizeof(buf)), WIRE_OK);
	assert_int_equal(msg.type, WIRE_DATA);
	assert_int_equal(msg.kind, WIRE_ADD32SAT);
	assert_int_equal(msg.flags, WIRE_SATURATED | WIRE_PARTIAL);
	assert_int_equal(msg.job, 0x0123);
	assert_true(msg.epoch == UINT64_C(0xa1b2c3d4e5f6));
	assert_int_equal(msg.slot, 0x4567);
	assert_int_equal(msg.round, 0x12345678);
	assert_int_equal(msg.desc, 0x8a136a0b);
	assert_int_equal(msg.wid, 0x0029);
	assert_int_equal(msg.len, 64);
	assert_ptr_equal(msg.payload, buf + 22);
}

struct error_case {
	const char *what;
	unsigned type;	  /* of the valid message that is changed */
	uint8_t at0, at1; /* its first two bytes, 0xff: as they are */
	int longer;	  /* bytes more */
	enum wire_error error;
};

static const struct error_case error_cases[] = {
	{ "a byte short of a header", WIRE_DATA, 0xff, 0xff, 21 - 1430, WIRE_TRUNCATED },
	{ "nothing at all", WIRE_DATA, 0xff, 0xff, -1430, WIRE_TRUNCATED },
	{ "version 0", WIRE_DATA, 0x01, 0xff, 0, WIRE_BAD_VERSION },
	{ "version 2", WIRE_DATA, 0x21, 0xff, 0, WIRE_BAD_VERSION },
	{ "type 0", WIRE_DATA, 0x10, 0xff, 0, WIRE_BAD_TYPE },
	{ "type 8", WIRE_DATA, 0x18, 0xff, 0, WIRE_BAD_TYPE },
	{ "type 15", WIRE_DATA, 0x1f, 0xff, 0, WIRE_BAD_TYPE },
	{ "kind 0 in DATA", WIRE_DATA, 0xff, 0x00, 0, WIRE_BAD_KIND },
	{ "kind 6 in DATA", WIRE_DATA, 0xff, 0x06, 0, WIRE_BAD_KIND },
	{ "kind 0 in RESULT", WIRE_RESULT, 0xff, 0x00, 0, WIRE_BAD_KIND },
	{ "kind in JOIN", WIRE_JOIN, 0xff, 0x01, 0, WIRE_BAD_KIND },
	{ "kind in LEAVE", WIRE_LEAVE, 0xff, 0x05, 0, WIRE_BAD_KIND },
	{ "reserved flag in DATA", WIRE_DATA, 0xff, 0x81, 0, WIRE_BAD_FLAG },
	{ "reserved flag in STATUS", WIRE_STATUS, 0xff, 0x80, 0, WIRE_BAD_FLAG },
	{ "EMPTY END", WIRE_END, 0xff, 0x10, 0, WIRE_BAD_FLAG },
	{ "PARTIAL RESULT", WIRE_RESULT, 0xff, 0x21, 0, WIRE_BAD_FLAG },
	{ "PARTIAL KEEPALIVE", WIRE_KEEPALIVE, 0xff, 0x20, 0, WIRE_BAD_FLAG },
	{ "SATURATED ADD32", WIRE_DATA, 0xff, 0x41, 0, WIRE_BAD_FLAG },
	{ "SATURATED MAX8", WIRE_RESULT, 0xff, 0x45, 0, WIRE_BAD_FLAG },
	{ "EMPTY longer than 32", WIRE_DATA, 0xff, 0x11, 64 - 1408, WIRE_BAD_LENGTH },
	{ "no payload", WIRE_DATA, 0xff, 0xff, -1408, WIRE_BAD_LENGTH },
	{ "payload of 16", WIRE_DATA, 0xff, 0xff, 16 - 1408, WIRE_BAD_LENGTH },
	{ "payload of 33", WIRE_RESULT, 0xff, 0xff, 33 - 1024, WIRE_BAD_LENGTH },
	{ "payload beyond P_MAX", WIRE_DATA, 0xff, 0xff, 32 + 8832 - 1408, WIRE_BAD_LENGTH },
	{ "JOIN shorter than P", WIRE_JOIN, 0xff, 0xff, -1, WIRE_BAD_LENGTH },
	{ "JOIN longer than P", WIRE_JOIN, 0xff, 0xff, 128, WIRE_BAD_LENGTH },
	{ "JOIN without its body", WIRE_JOIN, 0xff, 0xff, 159 - 1408, WIRE_BAD_LENGTH },
	{ "STATUS of 64", WIRE_STATUS, 0xff, 0xff, 64 - 416, WIRE_BAD_LENGTH },
	{ "STATUS of 159", WIRE_STATUS, 0xff, 0xff, 159 - 416, WIRE_BAD_LENGTH },
	{ "STATUS beyond P_MAX", WIRE_STATUS, 0xff, 0xff, 8837 - 416, WIRE_BAD_LENGTH },
	{ "END of 192", WIRE_END, 0xff, 0xff, 32, WIRE_BAD_LENGTH },
	{ "LEAVE of 64", WIRE_LEAVE, 0xff, 0xff, 32, WIRE_BAD_LENGTH },
	{ "KEEPALIVE of 96", WIRE_KEEPALIVE, 0xff, 0xff, -64, WIRE_BAD_LENGTH },
};

static void wire_parse__errors(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX + 64);

	(void)state;
	for (size_t i = 0; i < sizeof(error_cases) / sizeof(error_cases[0]); i++) {
		const struct error_case *c = &error_cases[i];
		size_t len = golden_set_type(buf, c->type);
		enum wire_error error;

		assert_int_equal(check_parse(buf, len), WIRE_OK);
		buf[0] = c->at0 == 0xff ? buf[0] : c->at0;
		buf[1] = c->at1 == 0xff ? buf[1] : c->at1;
		error = check_parse(buf, (size_t)((int)len + c->longer));
		if (error != c->error)
			fail_msg("%s: error %d, not %d", c->what, (int)error, (int)c->error);
	}
	test_free(buf);
}

static void wire_parse__every_length(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX + 64);

	(void)state;
	golden_set_chunk(buf, WIRE_P_MAX + 64);
	for (size_t len = 0; len <= 8832 + 64; len++) {
		bool good = len > 0 && len <= 8832 && len % 32 == 0;
		bool sealed = len > 4 && len <= 8836 && len % 32 == 4;

		assert_int_equal(check_parse(buf, 22 + len), good     ? WIRE_OK
							     : sealed ? WIRE_BAD_CRC
								      : WIRE_BAD_LENGTH);
	}
	test_free(buf);
}

static void wire_parse__every_kind_byte(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);

	(void)state;
	for (unsigned type = 0; type < 16; type++) {
		for (unsigned kind = 0; kind < 256; kind++) {
			size_t len = golden_set_type(buf, type >= 1 && type <= 7 ? type : 1);

			buf[0] = (uint8_t)(0x10 + type);
			buf[1] = (uint8_t)kind;
			check_parse(buf, len);
			check_parse(buf, WIRE_HEADER + 32);
		}
	}
	test_free(buf);
}

static void wire_parse__bad_version_names_the_sender(void **state)
{
	struct wire_msg msg;
	uint8_t buf[WIRE_HEADER + 40 + WIRE_CRC] = { 0 };

	(void)state;
	memcpy(buf, golden_head, WIRE_HEADER);
	buf[0] = 0x23;
	assert_int_equal(wire_parse(&msg, buf, WIRE_HEADER + 40), WIRE_BAD_VERSION);
	assert_int_equal(msg.type, WIRE_JOIN);
	assert_int_equal(msg.job, 0x0123);
	assert_true(msg.epoch == UINT64_C(0xa1b2c3d4e5f6));
	assert_int_equal(msg.wid, 0x0029);
	assert_true(msg.len == 40 && !msg.sealed);
}

/* A bit of the version may be what was corrupted. */
static void wire_parse__bad_version_with_a_seal(void **state)
{
	struct wire_msg msg;
	uint8_t buf[WIRE_HEADER + 64 + WIRE_CRC] = { 0 };

	(void)state;
	memcpy(buf, golden_head, WIRE_HEADER);
	buf[0] = 0x23;
	wire_seal(buf, 64);
	assert_int_equal(wire_parse(&msg, buf, sizeof(buf)), WIRE_BAD_VERSION);
	assert_true(msg.len == 64 && msg.sealed);
	buf[0] = 0x33;
	assert_int_equal(wire_parse(&msg, buf, sizeof(buf)), WIRE_BAD_CRC);
}

static void wire_parse__error_leaves_msg_alone(void **state)
{
	struct wire_msg msg, before;
	uint8_t buf[WIRE_HEADER + 33];

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	memcpy(&msg, &before, sizeof(msg));
	golden_set_chunk(buf, 33);
	assert_int_equal(wire_parse(&msg, buf, sizeof(buf)), WIRE_BAD_LENGTH);
	assert_memory_equal(&msg, &before, sizeof(msg));
}

static void wire_parse__every_prefix(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);

	(void)state;
	for (unsigned type = WIRE_DATA; type <= WIRE_KEEPALIVE; type++) {
		size_t full = golden_set_type(buf, type);

		for (size_t len = 0; len < WIRE_HEADER; len++)
			assert_int_equal(check_parse(buf, len), WIRE_TRUNCATED);
		for (size_t len = WIRE_HEADER; len < full; len++)
			check_parse(buf, len);
		assert_int_equal(check_parse(buf, full), WIRE_OK);
	}
	test_free(buf);
}

static void wire_parse__every_bit_of_the_header(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);

	(void)state;
	for (unsigned type = WIRE_DATA; type <= WIRE_KEEPALIVE; type++) {
		size_t len = golden_set_type(buf, type);

		for (unsigned bit = 0; bit < 8 * WIRE_HEADER; bit++) {
			buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
			check_parse(buf, len);
			buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
		}
	}
	test_free(buf);
}

static void wire_parse__noise(void **state)
{
	uint8_t buf[512];

	(void)state;
	for (unsigned n = 0; n < 20000; n++) {
		size_t len = golden_random() % sizeof(buf);

		if (n % 3) /* as long as a chunk */
			len = WIRE_HEADER + len % 15 * 32;
		for (size_t i = 0; i < len; i++)
			buf[i] = (uint8_t)golden_random();
		buf[0] = (uint8_t)(0x10 | (buf[0] & 15)); /* mostly the right version */
		buf[1] &= n % 2 ? 0x0f : 0x77;
		check_parse(buf, len);
	}
}

static void wire_build__golden(void **state)
{
	const struct wire_msg msg = {
		.type = WIRE_DATA,
		.kind = WIRE_ADD32SAT,
		.flags = WIRE_SATURATED | WIRE_PARTIAL,
		.job = 0x0123,
		.epoch = UINT64_C(0xa1b2c3d4e5f6),
		.slot = 0x4567,
		.round = 0x12345678,
		.desc = 0x8a136a0b,
		.wid = 0x0029,
	};
	uint8_t buf[WIRE_HEADER + 1];

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	wire_build(buf, &msg);
	assert_memory_equal(buf, golden_head, WIRE_HEADER);
	assert_int_equal(buf[WIRE_HEADER], 0xee);
}

static void wire_build__round_trip(void **state)
{
	static const uint8_t kinds[] = { 0, 1, 2, 3, 4, 5 };
	uint8_t buf[WIRE_HEADER + WIRE_BODY], again[WIRE_HEADER];
	struct wire_msg msg;

	(void)state;
	memset(buf, 0, sizeof(buf));
	for (unsigned n = 0; n < 5000; n++) {
		for (unsigned i = 2; i < WIRE_HEADER; i++)
			buf[i] = (uint8_t)golden_random();
		buf[0] = n % 2 ? 0x11 : 0x15;
		buf[1] = n % 2 ? kinds[1 + golden_random() % 5] : 0;
		assert_int_equal(wire_parse(&msg, buf, sizeof(buf)), WIRE_OK);
		memset(again, 0xee, sizeof(again));
		wire_build(again, &msg);
		assert_memory_equal(again, buf, WIRE_HEADER);
	}
}

/* All of a message but its last four bytes, which are to be this, big-endian. */
static void wire_seal__golden(void **state)
{
	uint8_t buf[WIRE_HEADER + 64 + 5], want[WIRE_HEADER + 64 + 5];
	struct wire_msg msg;
	uint32_t crc;

	(void)state;
	golden_set_chunk(want, 64);
	golden_set_chunk(buf, 64);
	memset(buf + WIRE_HEADER + 64, 0xee, 5);
	crc = naive_crc32c(want, WIRE_HEADER + 64);
	for (unsigned i = 0; i < 4; i++)
		want[WIRE_HEADER + 64 + i] = (uint8_t)(crc >> (24 - 8 * i));
	want[WIRE_HEADER + 68] = 0xee;
	assert_int_equal(wire_seal(buf, 64), WIRE_HEADER + 68);
	assert_memory_equal(buf, want, sizeof(want));
	assert_int_equal(wire_parse(&msg, buf, WIRE_HEADER + 68), WIRE_OK);
	assert_true(msg.sealed && msg.len == 64);
	assert_int_equal(wire_parse(&msg, buf, WIRE_HEADER + 64), WIRE_OK);
	assert_true(!msg.sealed && msg.len == 64);
}

/* No flip of up to three bits, here neighbours at least once each, goes unseen. */
static void wire_parse__every_bit_of_a_sealed_message(void **state)
{
	enum { LEN = WIRE_HEADER + 96 + WIRE_CRC };
	uint8_t buf[LEN + 1] = { 0 };
	struct wire_msg msg;

	(void)state;
	golden_set_chunk(buf, 96);
	assert_int_equal(wire_seal(buf, 96), LEN);
	for (unsigned bit = 0; bit < 8 * LEN; bit++) {
		for (unsigned mask = 1; mask < 8; mask += 2) {
			buf[bit / 8] ^= (uint8_t)(mask << bit % 8);
			assert_int_not_equal(wire_parse(&msg, buf, LEN), WIRE_OK);
			if ((bit >= 16 || (bit >= 4 && bit < 8)) && mask << bit % 8 < 256)
				assert_int_equal(wire_parse(&msg, buf, LEN), WIRE_BAD_CRC);
			buf[bit / 8] ^= (uint8_t)(mask << bit % 8);
			if (mask << bit % 8 >= 256)
				break;
		}
	}
	assert_int_equal(wire_parse(&msg, buf, LEN), WIRE_OK);
}

static void wire_job_key__published(void **state)
{
	(void)state;
	assert_true(wire_job_key("") == UINT64_C(0xcbf29ce484222325));
	assert_true(wire_job_key("a") == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(wire_job_key("foobar") == UINT64_C(0x85944171f73967e8));
	assert_true(wire_job_key("run-\xc3\xa9") != wire_job_key("run-\xc3\xa8"));
}

static void wire_origin__every_rank(void **state)
{
	(void)state;
	for (unsigned rank = 0; rank < 16 * 255; rank++) {
		uint8_t origin[WIRE_E_ORIGIN_LEN] = { 0 }, want[WIRE_E_ORIGIN_LEN] = { 0 };

		want[rank / 255] = (uint8_t)(255 - rank % 255);
		wire_origin_mark(origin, rank);
		assert_memory_equal(origin, want, sizeof(origin));
		assert_int_equal(wire_origin_rank(origin), rank);
	}
}

static void wire_origin__lowest_wins(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2000; n++) {
		uint8_t all[WIRE_E_ORIGIN_LEN] = { 0 };
		unsigned lowest = 16 * 255, nr = 1 + golden_random() % 5;

		for (unsigned i = 0; i < nr; i++) {
			unsigned rank = golden_random() % (n % 2 ? 64 : 16 * 255);
			uint8_t one[WIRE_E_ORIGIN_LEN] = { 0 };

			lowest = rank < lowest ? rank : lowest;
			wire_origin_mark(one, rank);
			for (unsigned b = 0; b < sizeof(all); b++)
				all[b] = one[b] > all[b] ? one[b] : all[b];
		}
		assert_int_equal(wire_origin_rank(all), lowest);
	}
}

static void wire_origin__none_and_beyond(void **state)
{
	uint8_t origin[WIRE_E_ORIGIN_LEN + 1] = { 0 };

	(void)state;
	assert_int_equal(wire_origin_rank(origin), -1);
	wire_origin_mark(origin, 16 * 255);
	wire_origin_mark(origin, 65534);
	assert_int_equal(wire_origin_rank(origin), -1);
	assert_int_equal(origin[WIRE_E_ORIGIN_LEN], 0);
	wire_origin_mark(origin, 9);
	wire_origin_mark(origin, 12); /* a later mark never hides a lower rank */
	assert_int_equal(wire_origin_rank(origin), 9);
	wire_origin_mark(origin, 2);
	assert_int_equal(wire_origin_rank(origin), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_parse__golden),
		cmocka_unit_test(wire_parse__errors),
		cmocka_unit_test(wire_parse__every_length),
		cmocka_unit_test(wire_parse__every_kind_byte),
		cmocka_unit_test(wire_parse__bad_version_names_the_sender),
		cmocka_unit_test(wire_parse__bad_version_with_a_seal),
		cmocka_unit_test(wire_parse__error_leaves_msg_alone),
		cmocka_unit_test(wire_parse__every_prefix),
		cmocka_unit_test(wire_parse__every_bit_of_the_header),
		cmocka_unit_test_setup(wire_parse__noise, golden_setup),
		cmocka_unit_test(wire_build__golden),
		cmocka_unit_test_setup(wire_build__round_trip, golden_setup),
		cmocka_unit_test(wire_seal__golden),
		cmocka_unit_test(wire_parse__every_bit_of_a_sealed_message),
		cmocka_unit_test(wire_job_key__published),
		cmocka_unit_test(wire_origin__every_rank),
		cmocka_unit_test_setup(wire_origin__lowest_wins, golden_setup),
		cmocka_unit_test(wire_origin__none_and_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
