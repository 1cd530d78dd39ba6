// SPDX-License-Identifier: BSD-3-Clause
// Every vector table against a loop of its own, for every length, alignment and limit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/add.h"
#include "tests/sums.h"

enum { ROOM = WIRE_P_MAX + 128, GUARD = 0xa5 };

static const char *const isas[] = { "scalar", "avx2", "avx512" };
static const uint8_t kinds[] = { WIRE_ADD32, WIRE_ADD32SAT, WIRE_ADD16, WIRE_MAX32, WIRE_MAX8 };

static uint64_t rng;

static uint32_t draw(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 24);
}

/* Half of the elements are anything, half lie at the limits of 8, 16 and 32 bits. */
static uint32_t draw_element(void)
{
	static const uint32_t limits[] = { 0,	       1,	   0xffffffff, 0x7fffffff,
					   0x80000000, 0x80000001, 0x7fffffff, 0x00008000,
					   0x7fff8000, 0x80007fff, 0xff00ff00, 0x00ff00ff };
	uint32_t x = draw();

	return x & 1 ? draw() : limits[x / 2 % (sizeof(limits) / sizeof(limits[0]))];
}

static unsigned width_of(unsigned kind)
{
	if (kind == WIRE_MAX8)
		return 1;
	return kind == WIRE_ADD16 ? 2 : 4;
}

/* Big-endian, one byte after the other. */
static uint32_t get_be(const uint8_t *p, unsigned width)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < width; i++)
		v = v << 8 | p[i];
	return v;
}

static void put_be(uint8_t *p, unsigned width, uint32_t v)
{
	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(v >> 8 * (width - 1 - i));
}

static uint32_t expected(unsigned kind, uint32_t a, uint32_t b, bool *saturated)
{
	if (kind == WIRE_ADD16)
		return (a + b) & 0xffff;
	if (kind == WIRE_MAX8)
		return a > b ? a : b;
	return sums_add(kind, a, b, saturated);
}

struct buffers {
	_Alignas(64) uint8_t values[ROOM];
	uint8_t first[ROOM], second[ROOM], want[ROOM], out[ROOM];
	bool saturated;
};

static void fill(struct buffers *b, unsigned kind, uint32_t len)
{
	unsigned width = width_of(kind);

	memset(b, GUARD, sizeof(*b));
	b->saturated = false;
	for (uint32_t i = 0; i < len; i += width) {
		uint32_t x = draw_element(), y = draw_element();

		put_be(b->first + i, width, x);
		put_be(b->second + i, width, y);
		put_be(b->want + i, width,
		       expected(kind, get_be(b->first + i, width), get_be(b->second + i, width),
				&b->saturated));
	}
}

/* store, combine, load beside store, finish; payloads at the given offset. */
static void check(const struct add_ops *ops, unsigned kind, uint32_t len, unsigned offset)
{
	static struct buffers b;
	static uint8_t payload[ROOM + 64];

	fill(&b, kind, len);
	memcpy(payload + offset, b.first, ROOM);
	ops->store[kind](b.values, payload + offset, len);
	memset(b.out, GUARD, ROOM);
	ops->load[kind](b.out, b.values, len);
	assert_memory_equal(b.out, b.first, ROOM);
	memcpy(payload + offset, b.second, ROOM);
	assert_int_equal(ops->combine[kind](b.values, payload + offset, len), b.saturated);
	assert_memory_equal(payload + offset, b.second, ROOM);
	ops->load[kind](b.out, b.values, len);
	assert_memory_equal(b.out, b.want, ROOM);
	memcpy(payload + offset, b.first, ROOM);
	ops->store[kind](b.values, payload + offset, len);
	memcpy(payload + offset, b.second, ROOM);
	assert_int_equal(ops->finish[kind](b.values, payload + offset, len), b.saturated);
	assert_memory_equal(payload + offset, b.want, ROOM);
	memset(b.out, GUARD, ROOM);
	ops->load[kind](b.out, b.values, len);
	assert_memory_equal(b.out, b.want, ROOM);
	for (uint32_t i = len; i < ROOM; i++)
		assert_int_equal(b.values[i], GUARD);
}

static void add_ops__agree_with_a_plain_loop(void **state)
{
	(void)state;
	rng = 88172645463325252;
	for (unsigned i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
		const struct add_ops *ops = add_select(isas[i]);

		for (unsigned k = 0; ops && k < sizeof(kinds); k++) {
			for (uint32_t len = WIRE_PAD; len <= 448; len += WIRE_PAD)
				check(ops, kinds[k], len, 22 + len / WIRE_PAD);
			check(ops, kinds[k], 1408, 0);
			check(ops, kinds[k], WIRE_P_MAX, 1);
			check(ops, kinds[k], WIRE_P_MAX - WIRE_PAD, 2);
		}
	}
}

/* One overflow, in every lane of a vector and in its tail, up and down. */
static void add_ops__any_single_saturation_is_reported(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
		const struct add_ops *ops = add_select(isas[i]);

		for (uint32_t at = 0; ops && at < 160; at += 4) {
			_Alignas(64) uint8_t values[160];
			uint8_t payload[160] = { 0 };
			bool up = at / 4 % 2;

			put_be(payload + at, 4, up ? 0x7ffffff0 : 0x80000010);
			ops->store[WIRE_ADD32SAT](values, payload, 160);
			put_be(payload + at, 4, up ? 0x0f : 0xfffffff0);
			assert_false(ops->combine[WIRE_ADD32SAT](values, payload, 160));
			put_be(payload + at, 4, up ? 1 : 0xffffffff);
			assert_true(ops->combine[WIRE_ADD32SAT](values, payload, 160));
			assert_true(ops->finish[WIRE_ADD32SAT](values, payload, 160));
			assert_int_equal(get_be(payload + at, 4), up ? 0x7fffffff : 0x80000000);
		}
	}
}

static void add_select__by_name_or_the_best(void **state)
{
	const struct add_ops *best = add_select(NULL);

	(void)state;
	assert_non_null(best);
	assert_ptr_equal(add_select(best->name), best);
	assert_ptr_equal(add_select("scalar"), &add_scalar);
	assert_null(add_select("scalars"));
	assert_null(add_select("scala"));
	assert_null(add_select(""));
	if (add_select("avx512"))
		assert_string_equal(best->name, "avx512");
	else if (add_select("avx2"))
		assert_string_equal(best->name, "avx2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_ops__agree_with_a_plain_loop),
		cmocka_unit_test(add_ops__any_single_saturation_is_reported),
		cmocka_unit_test(add_select__by_name_or_the_best),
	};

	return cmocka_run_group_tests_name("add", tests, NULL, NULL);
}
