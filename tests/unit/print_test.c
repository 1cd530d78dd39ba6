// SPDX-License-Identifier: BSD-3-Clause
/* print_test.c - the text of messages, descriptors and masks, word for word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/print.h"

static const struct wire_msg data = {
	.type = WIRE_DATA,
	.kind = WIRE_ADD32,
	.job = 7,
	.epoch = 12,
	.slot = 3,
	.round = 0,
	.wid = 1,
	.desc = 0x8a136a0b,
	.len = 1408,
};
static const char data_text[] =
	"DATA ADD32 job 7 epoch 12 slot 3 round 0 wid 1 desc 8a136a0b len 1408";

static void check_msg(const struct wire_msg *msg, const char *want)
{
	char out[200];

	assert_int_equal(print_msg(out, sizeof(out), msg), strlen(want));
	assert_string_equal(out, want);
}

static void print_msg__types(void **state)
{
	const struct wire_msg result = {
		.type = WIRE_RESULT,
		.kind = WIRE_ADD32SAT,
		.flags = WIRE_SATURATED,
		.job = 65535,
		.epoch = WIRE_EPOCH_MAX,
		.slot = 65534,
		.round = UINT32_MAX,
		.wid = WIRE_WID_NONE,
		.desc = 0x00000f1e,
		.len = 8832,
	};
	const struct wire_msg partial = {
		.type = WIRE_DATA,
		.kind = WIRE_MAX8,
		.flags = WIRE_EMPTY | WIRE_PARTIAL,
		.epoch = UINT64_C(1709164800123),
		.slot = 31,
		.wid = 8,
		.len = 32,
	};
	const struct wire_msg join = { .type = WIRE_JOIN, .wid = 5, .len = 1024 };
	const struct wire_msg keepalive = {
		.type = WIRE_KEEPALIVE,
		.job = 2,
		.epoch = 40,
		.slot = 33,
		.round = 6,
		.len = 160,
	};
	struct wire_msg sealed = data;

	(void)state;
	sealed.sealed = true;
	check_msg(&sealed,
		  "DATA ADD32 job 7 epoch 12 slot 3 round 0 wid 1 desc 8a136a0b len 1408 crc");
	check_msg(&data, data_text);
	check_msg(&result, "RESULT ADD32SAT SATURATED job 65535 epoch 281474976710655 slot 65534 "
			   "round 4294967295 desc 00000f1e len 8832");
	check_msg(&partial, "DATA MAX8 EMPTY PARTIAL job 0 epoch 1709164800123 slot 31 round 0 "
			    "wid 8 desc 00000000 len 32");
	check_msg(&join, "JOIN job 0 epoch 0 slot 0 round 0 wid 5 len 1024");
	check_msg(&keepalive, "KEEPALIVE job 2 epoch 40 slot 33 round 6 wid 0 len 160");
}

/* Every capacity: the text is cut, terminated, and nothing behind it is touched. */
static void print_msg__every_capacity(void **state)
{
	char out[sizeof(data_text) + 4];

	(void)state;
	for (size_t cap = 0; cap <= sizeof(data_text) + 2; cap++) {
		size_t want = cap > sizeof(data_text) ? sizeof(data_text) - 1 : cap ? cap - 1 : 0;
		size_t len;

		memset(out, '#', sizeof(out));
		len = print_msg(out, cap, &data);
		assert_int_equal(len, want);
		assert_memory_equal(out, data_text, len);
		assert_int_equal(out[len], cap ? '\0' : '#');
		for (size_t i = cap; i < sizeof(out); i++)
			assert_int_equal(out[i], '#');
	}
}

static void check_desc(const struct wire_desc *desc, const char *want)
{
	char out[100];

	assert_int_equal(print_desc(out, sizeof(out), desc), strlen(want));
	assert_string_equal(out, want);
}

static void print_desc__operations(void **state)
{
	struct wire_desc desc = {
		.opno = 17,
		.count = 1048576,
		.collective = WIRE_ALLREDUCE,
		.dtype = WIRE_F32,
		.op = WIRE_SUM,
	};

	(void)state;
	check_desc(&desc, "all-reduce 17 (float32 sum, 1048576 elements)");
	desc.dtype = WIRE_BF16;
	desc.op = WIRE_AVG;
	desc.count = UINT64_MAX;
	check_desc(&desc, "all-reduce 17 (bfloat16 avg, 18446744073709551615 elements)");
	desc.dtype = WIRE_I32;
	desc.op = WIRE_MIN;
	desc.count = 1;
	check_desc(&desc, "all-reduce 17 (int32 min, 1 element)");
	desc.dtype = 200;
	desc.op = 0;
	desc.count = 0;
	check_desc(&desc, "all-reduce 17 (unknown unknown, 0 elements)");
	desc.collective = WIRE_BARRIER;
	desc.opno = UINT32_MAX;
	check_desc(&desc, "barrier 4294967295");
}

static void check_ranks(uint64_t mask, const char *want)
{
	char out[300];

	assert_int_equal(print_ranks(out, sizeof(out), mask), strlen(want));
	assert_string_equal(out, want);
}

static void print_ranks__examples(void **state)
{
	(void)state;
	check_ranks(0, "none");
	check_ranks(4, "2");
	check_ranks(10, "1, 3");
	check_ranks(0x23f, "0-5, 9");
	check_ranks(3, "0-1");
	check_ranks(UINT64_C(1) << 63, "63");
	check_ranks(UINT64_C(3) << 62 | 1, "0, 62-63");
	check_ranks(UINT64_MAX, "0-63");
}

/* Reads the text back, bit by bit. */
static uint64_t parse_ranks(const char *text)
{
	uint64_t mask = 0;
	unsigned first, last;
	int used;

	while (*text) {
		assert_int_equal(sscanf(text, "%u%n", &first, &used), 1);
		text += used;
		last = first;
		if (*text == '-') {
			assert_int_equal(sscanf(text, "-%u%n", &last, &used), 1);
			assert_true(last > first);
			text += used;
		}
		for (unsigned bit = first; bit <= last; bit++)
			mask |= UINT64_C(1) << bit;
		text += *text ? 2 : 0;
	}
	return mask;
}

static void print_ranks__read_back(void **state)
{
	uint64_t mask = UINT64_C(0x9e3779b97f4a7c15);
	char out[300];

	(void)state;
	for (unsigned n = 0; n < 2000; n++) {
		uint64_t shown = n % 2 ? mask : mask & mask >> 3 & mask >> 7;

		mask = mask * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		print_ranks(out, sizeof(out), shown);
		if (shown)
			assert_true(parse_ranks(out) == shown);
		else
			assert_string_equal(out, "none");
	}
	/* The longest text there is: every other rank. */
	assert_int_equal(print_ranks(out, sizeof(out), UINT64_C(0xaaaaaaaaaaaaaaaa)),
			 5 + 27 * 2 + 31 * 2);
	assert_true(parse_ranks(out) == UINT64_C(0xaaaaaaaaaaaaaaaa));
	assert_int_equal(print_ranks(out, 6, 0x23f), 5);
	assert_string_equal(out, "0-5, ");
}

struct name_case {
	const char *(*print)(unsigned value);
	unsigned value;
	const char *want;
};

static void print_names(void **state)
{
	static const struct name_case cases[] = {
		{ print_type, 0, "unknown" },
		{ print_type, 1, "DATA" },
		{ print_type, 4, "STATUS" },
		{ print_type, 5, "END" },
		{ print_type, 6, "LEAVE" },
		{ print_type, 7, "KEEPALIVE" },
		{ print_type, 8, "unknown" },
		{ print_kind, 0, "none" },
		{ print_kind, 1, "ADD32" },
		{ print_kind, 2, "ADD32SAT" },
		{ print_kind, 3, "ADD16" },
		{ print_kind, 4, "MAX32" },
		{ print_kind, 5, "MAX8" },
		{ print_kind, 6, "unknown" },
		{ print_state, 0, "unknown" },
		{ print_state, 1, "UNKNOWN" },
		{ print_state, 2, "FORMING" },
		{ print_state, 3, "RUNNING" },
		{ print_state, 4, "REFUSED" },
		{ print_state, 5, "unknown" },
		{ print_cause, 0, "none" },
		{ print_cause, 4, "a rank left" },
		{ print_cause, 12, "a rank's process is gone" },
		{ print_cause, 13, "a sum was corrupted on the way" },
		{ print_cause, 14, "silent for long, and its slots were wanted" },
		{ print_cause, 15, "a rank's GPU failed" },
		{ print_cause, 16, "unknown" },
		{ print_field, 0, "none" },
		{ print_field, 1, "world" },
		{ print_field, 2, "chunk" },
		{ print_field, 3, "flags" },
		{ print_field, 4, "rank" },
		{ print_field, 5, "slots" },
		{ print_field, 6, "ranges" },
		{ print_field, 7, "unknown" },
		{ print_wire_error, 0, "valid" },
		{ print_wire_error, 4, "unknown or misplaced kind of contribution" },
		{ print_wire_error, 7, "wrong CRC32C: corrupted on the way" },
		{ print_wire_error, 9, "unknown" },
		{ print_dtype, 0, "unknown" },
		{ print_dtype, 2, "float16" },
		{ print_dtype, 5, "unknown" },
		{ print_op, 0, "unknown" },
		{ print_op, 3, "max" },
		{ print_op, 5, "unknown" },
		{ print_op, UINT32_MAX, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(cases[i].print(cases[i].value), cases[i].want);
}

static void print_cause__each_has_its_own_text(void **state)
{
	(void)state;
	for (unsigned a = WIRE_CAUSE_NONE; a <= WIRE_CAUSE_SILENT; a++) {
		assert_string_not_equal(print_cause(a), "unknown");
		for (unsigned b = WIRE_CAUSE_NONE; b < a; b++)
			assert_string_not_equal(print_cause(a), print_cause(b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(print_msg__types),
		cmocka_unit_test(print_msg__every_capacity),
		cmocka_unit_test(print_desc__operations),
		cmocka_unit_test(print_ranks__examples),
		cmocka_unit_test(print_ranks__read_back),
		cmocka_unit_test(print_names),
		cmocka_unit_test(print_cause__each_has_its_own_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
