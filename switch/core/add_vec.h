/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add_vec.h - the passes over a cell, written once for every vector width.
 *
 * Included by exactly the files add_<isa>.c, after they have defined:
 *	vec, VEC_BYTES			type and width, a multiple of WIRE_PAD
 *	VEC_NAME, VEC_TABLE		name of the table, and of the object
 *	vec_zero, vec_load, vec_store	unaligned
 *	vec_load_pad, vec_store_pad	of WIRE_PAD bytes only; the rest is zero, or not touched
 *	vec_swap32, vec_swap16		bytes inside each element, its own inverse
 *	vec_add32, vec_add16, vec_max32, vec_max8
 *	vec_sat32(a, b, &over)		saturating sum; sets sign bits in over where it did
 *	vec_any(over)			whether any element of it was marked
 * `kind` is a constant wherever vec_pass() is expanded, so each table entry is one straight loop.
 */
#ifndef SWITCH_CORE_ADD_VEC_H
#define SWITCH_CORE_ADD_VEC_H

#include <stddef.h>

#include "switch/core/add.h"

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vec vec_swap(enum wire_kind kind, vec v)
{
	switch (kind) {
	case WIRE_ADD16:
		return vec_swap16(v);
	case WIRE_MAX8:
		return v;
	case WIRE_ADD32:
	case WIRE_ADD32SAT:
	case WIRE_MAX32:
		break;
	}
	return vec_swap32(v);
}

VEC_INLINE vec vec_combine(enum wire_kind kind, vec a, vec b, vec *over)
{
	switch (kind) {
	case WIRE_ADD32SAT:
		return vec_sat32(a, b, over);
	case WIRE_ADD16:
		return vec_add16(a, b);
	case WIRE_MAX32:
		return vec_max32(a, b);
	case WIRE_MAX8:
		return vec_max8(a, b);
	case WIRE_ADD32:
		break;
	}
	return vec_add32(a, b);
}

/* values <- values (op) payload, and out <- values unless out is NULL. */
VEC_INLINE bool vec_pass(enum wire_kind kind, uint8_t *values, const uint8_t *payload, uint8_t *out,
			 uint32_t len)
{
	vec over = vec_zero();
	uint32_t i = 0;

#pragma GCC unroll 4
	for (; i + VEC_BYTES <= len; i += VEC_BYTES) {
		vec v = vec_combine(kind, vec_load(values + i),
				    vec_swap(kind, vec_load(payload + i)), &over);

		vec_store(values + i, v);
		if (out)
			vec_store(out + i, vec_swap(kind, v));
	}
	for (; i < len; i += WIRE_PAD) {
		vec v = vec_combine(kind, vec_load_pad(values + i),
				    vec_swap(kind, vec_load_pad(payload + i)), &over);

		vec_store_pad(values + i, v);
		if (out)
			vec_store_pad(out + i, vec_swap(kind, v));
	}
	return kind == WIRE_ADD32SAT && vec_any(over);
}

/* to <- from with the bytes of each element reversed: both ways the same. */
VEC_INLINE void vec_copy(enum wire_kind kind, uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint32_t i = 0;

#pragma GCC unroll 4
	for (; i + VEC_BYTES <= len; i += VEC_BYTES)
		vec_store(to + i, vec_swap(kind, vec_load(from + i)));
	for (; i < len; i += WIRE_PAD)
		vec_store_pad(to + i, vec_swap(kind, vec_load_pad(from + i)));
}

static void copy32(uint8_t *to, const uint8_t *from, uint32_t len)
{
	vec_copy(WIRE_ADD32, to, from, len);
}

static void copy16(uint8_t *to, const uint8_t *from, uint32_t len)
{
	vec_copy(WIRE_ADD16, to, from, len);
}

static void copy8(uint8_t *to, const uint8_t *from, uint32_t len)
{
	vec_copy(WIRE_MAX8, to, from, len);
}

static bool combine_add32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_ADD32, values, payload, NULL, len);
}

static bool combine_sat32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_ADD32SAT, values, payload, NULL, len);
}

static bool combine_add16(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_ADD16, values, payload, NULL, len);
}

static bool combine_max32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_MAX32, values, payload, NULL, len);
}

static bool combine_max8(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_MAX8, values, payload, NULL, len);
}

static bool finish_add32(uint8_t *values, uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_ADD32, values, payload, payload, len);
}

static bool finish_sat32(uint8_t *values, uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_ADD32SAT, values, payload, payload, len);
}

static bool finish_add16(uint8_t *values, uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_ADD16, values, payload, payload, len);
}

static bool finish_max32(uint8_t *values, uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_MAX32, values, payload, payload, len);
}

static bool finish_max8(uint8_t *values, uint8_t *payload, uint32_t len)
{
	return vec_pass(WIRE_MAX8, values, payload, payload, len);
}

const struct add_ops VEC_TABLE = {
	.name = VEC_NAME,
	.store = {
		[WIRE_ADD32] = copy32,
		[WIRE_ADD32SAT] = copy32,
		[WIRE_ADD16] = copy16,
		[WIRE_MAX32] = copy32,
		[WIRE_MAX8] = copy8,
	},
	.combine = {
		[WIRE_ADD32] = combine_add32,
		[WIRE_ADD32SAT] = combine_sat32,
		[WIRE_ADD16] = combine_add16,
		[WIRE_MAX32] = combine_max32,
		[WIRE_MAX8] = combine_max8,
	},
	.finish = {
		[WIRE_ADD32] = finish_add32,
		[WIRE_ADD32SAT] = finish_sat32,
		[WIRE_ADD16] = finish_add16,
		[WIRE_MAX32] = finish_max32,
		[WIRE_MAX8] = finish_max8,
	},
	.load = {
		[WIRE_ADD32] = copy32,
		[WIRE_ADD32SAT] = copy32,
		[WIRE_ADD16] = copy16,
		[WIRE_MAX32] = copy32,
		[WIRE_MAX8] = copy8,
	},
};

#endif
