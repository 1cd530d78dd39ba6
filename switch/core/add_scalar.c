// SPDX-License-Identifier: BSD-3-Clause
/*
 * add_scalar.c - the arithmetic of a cell in plain C: it defines the meaning, the others must agree
 * with it.
 */
#include "switch/core/add.h"

#include <string.h>

/* A cell's values, in host byte order; memcpy because the pool has no type. */
static uint32_t value_get32(const uint8_t *values)
{
	uint32_t v;

	memcpy(&v, values, sizeof(v));
	return v;
}

static void value_put32(uint8_t *values, uint32_t v)
{
	memcpy(values, &v, sizeof(v));
}

static uint16_t value_get16(const uint8_t *values)
{
	uint16_t v;

	memcpy(&v, values, sizeof(v));
	return v;
}

static void value_put16(uint8_t *values, uint16_t v)
{
	memcpy(values, &v, sizeof(v));
}

static void store32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 4)
		value_put32(values + i, wire_get32(payload + i));
}

static void store16(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 2)
		value_put16(values + i, wire_get16(payload + i));
}

static void store8(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	memcpy(values, payload, len);
}

static void load32(uint8_t *payload, const uint8_t *values, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 4)
		wire_put32(payload + i, value_get32(values + i));
}

static void load16(uint8_t *payload, const uint8_t *values, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 2)
		wire_put16(payload + i, value_get16(values + i));
}

static void load8(uint8_t *payload, const uint8_t *values, uint32_t len)
{
	memcpy(payload, values, len);
}

static bool combine_add32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 4)
		value_put32(values + i, value_get32(values + i) + wire_get32(payload + i));
	return false;
}

static bool combine_sat32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	bool saturated = false;

	for (uint32_t i = 0; i < len; i += 4) {
		int64_t sum = (int64_t)(int32_t)value_get32(values + i) +
			      (int32_t)wire_get32(payload + i);

		if (sum > INT32_MAX || sum < INT32_MIN) {
			sum = sum > 0 ? INT32_MAX : INT32_MIN;
			saturated = true;
		}
		value_put32(values + i, (uint32_t)sum);
	}
	return saturated;
}

static bool combine_add16(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 2)
		value_put16(values + i,
			    (uint16_t)(value_get16(values + i) + wire_get16(payload + i)));
	return false;
}

static bool combine_max32(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 4) {
		uint32_t v = wire_get32(payload + i);

		if ((int32_t)v > (int32_t)value_get32(values + i))
			value_put32(values + i, v);
	}
	return false;
}

static bool combine_max8(uint8_t *values, const uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (payload[i] > values[i])
			values[i] = payload[i];
	}
	return false;
}

static bool finish_add32(uint8_t *values, uint8_t *payload, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 4) {
		uint32_t sum = value_get32(values + i) + wire_get32(payload + i);

		value_put32(values + i, sum);
		wire_put32(payload + i, sum);
	}
	return false;
}

static bool finish_sat32(uint8_t *values, uint8_t *payload, uint32_t len)
{
	bool saturated = combine_sat32(values, payload, len);

	load32(payload, values, len);
	return saturated;
}

static bool finish_add16(uint8_t *values, uint8_t *payload, uint32_t len)
{
	combine_add16(values, payload, len);
	load16(payload, values, len);
	return false;
}

static bool finish_max32(uint8_t *values, uint8_t *payload, uint32_t len)
{
	combine_max32(values, payload, len);
	load32(payload, values, len);
	return false;
}

static bool finish_max8(uint8_t *values, uint8_t *payload, uint32_t len)
{
	combine_max8(values, payload, len);
	load8(payload, values, len);
	return false;
}

const struct add_ops add_scalar = {
	.name = "scalar",
	.store = {
		[WIRE_ADD32] = store32,
		[WIRE_ADD32SAT] = store32,
		[WIRE_ADD16] = store16,
		[WIRE_MAX32] = store32,
		[WIRE_MAX8] = store8,
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
		[WIRE_ADD32] = load32,
		[WIRE_ADD32SAT] = load32,
		[WIRE_ADD16] = load16,
		[WIRE_MAX32] = load32,
		[WIRE_MAX8] = load8,
	},
};
