// SPDX-License-Identifier: BSD-3-Clause
/* wire_body_test.c - JOIN, STATUS and descriptors of wire.c against bytes written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/wire_golden.h"

static const struct wire_join golden_join_fields = {
	.inc = UINT64_C(0xfedcba9876543210),
	.base = UINT64_C(0x010203040506),
	.flags = WIRE_JOB_CHUNK_FIXED,
	.world = 13,
	.slots = 529,
	.p = 1408,
	.port = 50014,
	.nr_ports = 3,
	.nr_ranges = 2,
	.ranges = { { 4, 7 }, { 0, 13 } },
	.name = "run-\xc3\xa9"
		"7",
};

static enum wire_error parse_join(struct wire_join *join, const uint8_t *buf, size_t len)
{
	struct wire_msg msg;
	uint8_t *copy;
	enum wire_error error = golden_parse(&msg, buf, len, &copy);

	if (error == WIRE_OK)
		error = wire_join_parse(join, &msg);
	free(copy);
	return error;
}

static void wire_join_parse__golden(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	size_t len = golden_set_join(buf);
	struct wire_join join;

	(void)state;
	memset(&join, 0xee, sizeof(join));
	assert_int_equal(parse_join(&join, buf, len), WIRE_OK);
	assert_true(join.inc == golden_join_fields.inc);
	assert_true(join.base == golden_join_fields.base);
	assert_int_equal(join.flags, WIRE_JOB_CHUNK_FIXED);
	assert_int_equal(join.world, 13);
	assert_int_equal(join.slots, 529);
	assert_int_equal(join.p, 1408);
	assert_int_equal(join.port, 50014);
	assert_int_equal(join.nr_ports, 3);
	assert_int_equal(join.nr_ranges, 2);
	assert_memory_equal(join.ranges, golden_join_fields.ranges, sizeof(join.ranges));
	assert_string_equal(join.name, golden_join_fields.name);
	test_free(buf);
}

struct join_case {
	const char *what;
	unsigned at; /* in the body */
	uint16_t value;
	enum wire_error error;
};

/* None of them changes P between 160 and 8832, so that the length stays right. */
static const struct join_case join_cases[] = {
	{ "unknown flag", 14, 0x0004, WIRE_BAD_FLAG },
	{ "CHECK without a seal", 14, 0x0002, WIRE_BAD_LENGTH },
	{ "unknown high flag", 14, 0x8001, WIRE_BAD_FLAG },
	{ "no flag", 14, 0, WIRE_OK },
	{ "world 0", 16, 0, WIRE_BAD_FIELD },
	{ "world 1", 16, 1, WIRE_OK },
	{ "a world for a tree", 16, 1000, WIRE_OK },
	{ "no slots", 18, 0, WIRE_BAD_FIELD },
	{ "all slots", 18, 0xffff, WIRE_OK },
	{ "port 0", 22, 0, WIRE_BAD_FIELD },
	{ "port 1", 22, 1, WIRE_OK },
	{ "ports up to 65535", 22, 65533, WIRE_OK },
	{ "ports up to 65536", 22, 65534, WIRE_BAD_FIELD },
	{ "no ports", 24, 0, WIRE_BAD_FIELD },
	{ "64 ports", 24, 64, WIRE_OK },
	{ "65 ports", 24, 65, WIRE_BAD_FIELD },
	{ "no ranges", 26, 0, WIRE_OK },
	{ "4 ranges", 26, 4, WIRE_BAD_FIELD },
	{ "an empty range", 26, 3, WIRE_BAD_FIELD },
	{ "a range of none", 30, 0, WIRE_BAD_FIELD },
	{ "a range beyond all ranks", 28, 0xfff9, WIRE_BAD_FIELD },
	{ "no name", 40, 0, WIRE_BAD_FIELD },
	{ "a space in the name", 42, 0x206e, WIRE_BAD_FIELD },
	{ "a newline in the name", 42, 0x6e0a, WIRE_BAD_FIELD },
	{ "DEL in the name", 42, 0x7f41, WIRE_BAD_FIELD },
	{ "text behind the name", 102, 0x0041, WIRE_BAD_FIELD },
	{ "a hole in the name", 42, 0x0041, WIRE_BAD_FIELD },
};

static void wire_join_parse__errors(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	struct wire_join join, before;

	(void)state;
	memset(&before, 0xee, sizeof(before));
	for (size_t i = 0; i < sizeof(join_cases) / sizeof(join_cases[0]); i++) {
		const struct join_case *c = &join_cases[i];
		size_t len = golden_set_join(buf);
		enum wire_error error;

		buf[22 + c->at] = (uint8_t)(c->value >> 8);
		buf[22 + c->at + 1] = (uint8_t)c->value;
		memcpy(&join, &before, sizeof(join));
		error = parse_join(&join, buf, len);
		if (error != c->error)
			fail_msg("%s: error %d, not %d", c->what, (int)error, (int)c->error);
		if (error != WIRE_OK)
			assert_memory_equal(&join, &before, sizeof(join));
	}
	test_free(buf);
}

static void wire_join_parse__p(void **state)
{
	static const unsigned good[] = { 128, 256, 1024, 4096, 8832 };
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	struct wire_join join;

	(void)state;
	for (unsigned p = 0; p <= 8832; p++) {
		enum wire_error expected = WIRE_BAD_FIELD;
		size_t body = p < 160 ? 160 : p;

		if (p % 64 > 1)
			continue;
		if (p >= 128 && p % 128 == 0)
			expected = WIRE_OK;
		golden_set_join(buf);
		buf[42] = (uint8_t)(p >> 8);
		buf[43] = (uint8_t)p;
		assert_int_equal(parse_join(&join, buf, 22 + body), expected);
		assert_int_equal(parse_join(&join, buf, 22 + body - 1), WIRE_BAD_LENGTH);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		golden_set_join(buf);
		buf[42] = (uint8_t)(good[i] >> 8);
		buf[43] = (uint8_t)good[i];
		assert_int_equal(parse_join(&join, buf, 22 + (good[i] < 160 ? 160 : good[i])),
				 WIRE_OK);
		assert_int_equal(join.p, good[i]);
	}
	test_free(buf);
}

static void wire_join_parse__name_fills_its_field(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	size_t len = golden_set_join(buf);
	struct wire_join join;

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		buf[22 + 40 + i] = (uint8_t)('!' + i);
	assert_int_equal(parse_join(&join, buf, len), WIRE_OK);
	assert_int_equal(strlen(join.name), 64);
	assert_memory_equal(join.name, buf + 62, 64);
	test_free(buf);
}

/* Bits of the body: whatever is accepted is inside its range. */
static void wire_join_parse__every_bit(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	size_t len = golden_set_join(buf);
	struct wire_join join;
	unsigned accepted = 0;

	(void)state;
	for (unsigned bit = 8 * 22; bit < 8 * (22 + 160); bit++) {
		buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
		if (parse_join(&join, buf, len) == WIRE_OK) {
			accepted++;
			assert_true(join.base <= WIRE_EPOCH_MAX && join.flags <= 1);
			assert_true(join.world >= 1 && join.slots >= 1 && join.p == 1408);
			assert_true(join.nr_ports >= 1 && join.nr_ports <= 64 && join.port >= 1);
			assert_true(join.port + join.nr_ports <= 65536 && join.nr_ranges <= 3);
			for (unsigned i = 0; i < join.nr_ranges; i++)
				assert_true(join.ranges[i].nr >= 1 &&
					    join.ranges[i].first + join.ranges[i].nr <= 65535);
			assert_true(strlen(join.name) >= 1 && strlen(join.name) <= 64);
		}
		buf[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	assert_true(accepted > 64 + 48 && accepted < 160 * 8);
	test_free(buf);
}

static void wire_join_build__golden(void **state)
{
	uint8_t *want = test_calloc(1, WIRE_MSG_MAX);
	uint8_t *got = test_malloc(WIRE_MSG_MAX);
	size_t len = golden_set_join(want);
	struct wire_join join = golden_join_fields;

	(void)state;
	join.name[20] = 'x'; /* behind the terminator: not sent */
	memset(got, 0xee, WIRE_MSG_MAX);
	assert_int_equal(wire_join_build(got, 5, &join), len);
	assert_memory_equal(got, want, len);
	assert_int_equal(got[len], 0xee);
	join.p = 128;
	assert_int_equal(wire_join_build(got, 5, &join), 22 + 160);
	join.p = 8832;
	assert_int_equal(wire_join_build(got, 5, &join), 22 + 8832);
	join.p = 8960;
	assert_int_equal(wire_join_build(got, 5, &join), 0);
	join.p = 128;
	join.nr_ranges = 3;
	assert_int_equal(wire_join_build(got, 5, &join), 22 + 160);
	join.nr_ranges = 4;
	assert_int_equal(wire_join_build(got, 5, &join), 0);
	test_free(want);
	test_free(got);
}

/* As long as the largest chunk, and sealed as that is. */
static void wire_join_build__with_check(void **state)
{
	static const struct {
		uint16_t p;
		size_t len;
	} cases[] = {
		{ 128, 22 + 160 }, { 256, 22 + 256 }, { 1408, 22 + 1408 }, { 8832, 22 + 8832 }
	};
	uint8_t *buf = test_malloc(WIRE_MSG_MAX);
	struct wire_join join = golden_join_fields, back;

	(void)state;
	join.flags |= WIRE_JOB_CHECK;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join.p = cases[i].p;
		memset(buf, 0xee, WIRE_MSG_MAX);
		assert_int_equal(wire_join_build(buf, 5, &join), cases[i].len);
		assert_int_equal(buf[22 + 15], 0x03);
		assert_int_equal(parse_join(&back, buf, cases[i].len), WIRE_BAD_LENGTH);
		assert_int_equal(wire_seal(buf, (uint32_t)cases[i].len - 22), cases[i].len + 4);
		assert_int_equal(parse_join(&back, buf, cases[i].len + 4), WIRE_OK);
		assert_int_equal(back.flags, WIRE_JOB_CHECK | WIRE_JOB_CHUNK_FIXED);
		for (size_t at = 22 + 160; at < cases[i].len; at++)
			assert_int_equal(buf[at], 0);
		assert_int_equal(parse_join(&back, buf, cases[i].len + 3), WIRE_BAD_LENGTH);
		buf[22 + 15] = 0x01;
		wire_seal(buf, (uint32_t)cases[i].len - 22);
		assert_int_equal(parse_join(&back, buf, cases[i].len + 4), WIRE_BAD_LENGTH);
	}
	test_free(buf);
}

static const struct wire_status golden_status_fields = {
	.state = WIRE_RUNNING,
	.cause = WIRE_CAUSE_MISMATCH,
	.wid_a = 0x0b,
	.wid_b = 0x1c,
	.ended = UINT64_C(0x0a1b2c3d4e5f),
	.key = UINT64_C(0x85944171f73967e8),
	.inc = UINT64_C(0xf0e1d2c3b4a59687),
	.p = 1024,
	.slots = 400,
	.se = 32,
	.world = 48,
	.shards = 6,
	.flags = 0x8009,
	.field = WIRE_FIELD_SLOTS,
	.first = 0x11,
	.value_a = UINT64_C(0x1021324354657687),
	.value_b = UINT64_C(0x2031425364758697),
	.joined = UINT64_C(0x30415263748596a7),
	.missing = UINT64_C(0x405162738495a6b7),
	.silent = UINT64_C(0x5061728394a5b6c7),
};

static const size_t status_lengths[] = { 32, 96, 160, 192, 1408, 8832 };

static enum wire_error parse_status(struct wire_status *status, const uint8_t *buf, size_t len)
{
	struct wire_msg msg;
	uint8_t *copy;
	enum wire_error error = golden_parse(&msg, buf, len, &copy);

	if (error == WIRE_OK)
		error = wire_status_parse(status, &msg);
	free(copy);
	return error;
}

static void check_status(const struct wire_status *status, size_t len)
{
	const struct wire_status *want = &golden_status_fields;
	uint8_t none[WIRE_DESC] = { 0 };
	bool middle = len >= 96, all = len >= 160;

	assert_int_equal(status->state, want->state);
	assert_int_equal(status->cause, want->cause);
	assert_int_equal(status->wid_a, want->wid_a);
	assert_int_equal(status->wid_b, want->wid_b);
	assert_true(status->ended == want->ended);
	assert_true(status->key == want->key);
	assert_true(status->inc == want->inc);
	assert_int_equal(status->p, want->p);
	assert_int_equal(status->slots, want->slots);
	assert_int_equal(status->se, middle ? want->se : 0);
	assert_int_equal(status->world, middle ? want->world : 0);
	assert_int_equal(status->shards, middle ? want->shards : 0);
	assert_int_equal(status->flags, middle ? want->flags : 0);
	assert_int_equal(status->field, middle ? want->field : 0);
	assert_int_equal(status->first, middle ? want->first : 0);
	assert_true(status->value_a == (middle ? want->value_a : 0));
	assert_true(status->value_b == (middle ? want->value_b : 0));
	assert_true(status->joined == (middle ? want->joined : 0));
	assert_true(status->missing == (middle ? want->missing : 0));
	assert_true(status->silent == (middle ? want->silent : 0));
	assert_memory_equal(status->desc_a, all ? golden_status + 96 : none, WIRE_DESC);
	assert_memory_equal(status->desc_b, all ? golden_status + 128 : none, WIRE_DESC);
}

static void wire_status_parse__golden(void **state)
{
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	struct wire_status status;

	(void)state;
	for (size_t i = 0; i < sizeof(status_lengths) / sizeof(status_lengths[0]); i++) {
		size_t len = golden_set_status(buf, status_lengths[i]);

		memset(&status, 0xee, sizeof(status));
		assert_int_equal(parse_status(&status, buf, len), WIRE_OK);
		check_status(&status, status_lengths[i]);
	}
	golden_set_status(buf, WIRE_BODY);
	buf[0] = 0x15;
	assert_int_equal(parse_status(&status, buf, 22 + WIRE_BODY), WIRE_OK);
	check_status(&status, WIRE_BODY);
	test_free(buf);
}

static void wire_status_parse__errors(void **state)
{
	static const struct {
		uint8_t type;
		unsigned at;
		uint8_t value;
		enum wire_error error;
	} cases[] = {
		{ 0x14, 0, 0, WIRE_BAD_FIELD },	  { 0x15, 0, 0, WIRE_OK },
		{ 0x14, 0, 5, WIRE_BAD_FIELD },	  { 0x15, 0, 5, WIRE_BAD_FIELD },
		{ 0x14, 1, 15, WIRE_OK },	  { 0x14, 1, 16, WIRE_BAD_FIELD },
		{ 0x14, 29, 64, WIRE_BAD_FIELD }, { 0x14, 28, 0, WIRE_BAD_FIELD },
		{ 0x14, 28, 35, WIRE_BAD_FIELD }, { 0x14, 28, 34, WIRE_OK },
		{ 0x14, 40, 6, WIRE_OK },	  { 0x14, 40, 7, WIRE_BAD_FIELD },
		{ 0x14, 38, 0xff, WIRE_OK },	  { 0x15, 28, 0, WIRE_OK },
	};
	uint8_t *buf = test_calloc(1, WIRE_MSG_MAX);
	struct wire_status status, before;

	(void)state;
	memset(&before, 0xee, sizeof(before));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = golden_set_status(buf, WIRE_BODY);

		buf[0] = cases[i].type;
		buf[22 + cases[i].at] = cases[i].value;
		memcpy(&status, &before, sizeof(status));
		if (parse_status(&status, buf, len) != cases[i].error)
			fail_msg("case %zu", i);
		if (cases[i].error != WIRE_OK)
			assert_memory_equal(&status, &before, sizeof(status));
	}
	golden_set_status(buf, 32);
	buf[22 + 30] = buf[22 + 31] = 0; /* RUNNING without slots */
	assert_int_equal(parse_status(&status, buf, 22 + 32), WIRE_BAD_FIELD);
	buf[22] = WIRE_FORMING;
	assert_int_equal(parse_status(&status, buf, 22 + 32), WIRE_OK);
	test_free(buf);
}

static void wire_status_build__golden(void **state)
{
	static const size_t between[][2] = { { 0, 0 },	     { 31, 0 },	    { 33, 32 },
					     { 95, 32 },     { 159, 96 },   { 200, 192 },
					     { 8832, 8832 }, { 9000, 8832 } };
	struct wire_msg msg = { .type = WIRE_STATUS, .job = 0x0123, .slot = 0x4567, .wid = 0x29 };
	uint8_t *want = test_calloc(1, WIRE_MSG_MAX);
	uint8_t *got = test_malloc(WIRE_MSG_MAX + 1);
	struct wire_status status = golden_status_fields;

	(void)state;
	msg.epoch = UINT64_C(0xa1b2c3d4e5f6);
	msg.round = 0x12345678;
	msg.desc = 0x8a136a0b;
	memcpy(status.desc_a, golden_status + 96, WIRE_DESC);
	memcpy(status.desc_b, golden_status + 128, WIRE_DESC);
	for (size_t i = 0; i < sizeof(status_lengths) / sizeof(status_lengths[0]); i++) {
		size_t len = golden_set_status(want, status_lengths[i]);

		memset(got, 0xee, WIRE_MSG_MAX + 1);
		assert_int_equal(wire_status_build(got, &msg, &status, status_lengths[i]), len);
		assert_memory_equal(got, want, len);
		assert_int_equal(got[len], 0xee);
	}
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		size_t len = between[i][1] ? 22 + between[i][1] : 0;

		assert_int_equal(wire_status_build(got, &msg, &status, between[i][0]), len);
	}
	test_free(want);
	test_free(got);
}

static void wire_desc__golden(void **state)
{
	struct wire_desc desc;
	uint8_t out[WIRE_DESC];

	(void)state;
	wire_desc_parse(&desc, golden_desc);
	assert_int_equal(desc.opno, 0x00010203);
	assert_true(desc.count == UINT64_C(0x1112131415161718));
	assert_int_equal(desc.collective, WIRE_ALLREDUCE);
	assert_int_equal(desc.dtype, WIRE_I32);
	assert_int_equal(desc.op, WIRE_MAX);
	assert_int_equal(desc.width, 2);
	assert_int_equal(desc.root, 0x2122);
	assert_int_equal(desc.world, 0x3132);
	assert_int_equal(desc.p, 0x4142);
	assert_int_equal(desc.flags, 0x5152);
	memset(out, 0xee, sizeof(out));
	wire_desc_build(out, &desc);
	assert_memory_equal(out, golden_desc, WIRE_DESC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_join_parse__golden),
		cmocka_unit_test(wire_join_parse__errors),
		cmocka_unit_test(wire_join_parse__p),
		cmocka_unit_test(wire_join_parse__name_fills_its_field),
		cmocka_unit_test(wire_join_parse__every_bit),
		cmocka_unit_test(wire_join_build__golden),
		cmocka_unit_test(wire_join_build__with_check),
		cmocka_unit_test(wire_status_parse__golden),
		cmocka_unit_test(wire_status_parse__errors),
		cmocka_unit_test(wire_status_build__golden),
		cmocka_unit_test(wire_desc__golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
