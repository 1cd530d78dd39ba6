// SPDX-License-Identifier: BSD-3-Clause
/* wire_golden.c - messages written by hand, field by field, for the tests of the wire. */
#include "tests/unit/wire_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every byte differs from its neighbours, so that no two fields can be confused. */
const uint8_t golden_head[WIRE_HEADER] = {
	0x11, 0x62,			    /* version 1 DATA, SATURATED PARTIAL ADD32SAT */
	0x01, 0x23,			    /* job */
	0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, /* epoch */
	0x45, 0x67,			    /* slot */
	0x12, 0x34, 0x56, 0x78,		    /* round */
	0x8a, 0x13, 0x6a, 0x0b,		    /* desc */
	0x00, 0x29,			    /* wid */
};

static const uint8_t golden_join_head[WIRE_HEADER] = {
	0x13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x05,
};

const uint8_t golden_join[WIRE_JOIN_NAME + 8] = {
	0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10, /* inc */
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06,		/* base */
	0x00, 0x01,					/* flags: CHUNK_FIXED */
	0x00, 0x0d,					/* world 13 */
	0x02, 0x11,					/* slots 529 */
	0x05, 0x80,					/* P 1408 */
	0xc3, 0x5e,					/* port 50014 */
	0x00, 0x03,					/* 3 ports */
	0x00, 0x02,					/* 2 ranges */
	0x00, 0x04, 0x00, 0x07,				/* 4..10 */
	0x00, 0x00, 0x00, 0x0d,				/* 0..12 */
	0x00, 0x00, 0x00, 0x00,				/* none */
	'r',  'u',  'n',  '-',	0xc3, 0xa9, '7',  0,	/* name; the e has an accent */
};

/* The body as its length is 160; its first 32 or 96 bytes are the shorter bodies. */
const uint8_t golden_status[WIRE_BODY] = {
	0x03, 0x02,					/* RUNNING, MISMATCH */
	0x00, 0x0b, 0x00, 0x1c,				/* wid a, wid b */
	0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f,		/* ended */
	0x85, 0x94, 0x41, 0x71, 0xf7, 0x39, 0x67, 0xe8, /* key */
	0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, /* inc */
	0x04, 0x00, 0x01, 0x90,				/* P 1024, S 400 */
	0x00, 0x20, 0x00, 0x30,				/* SE 32, world 48 */
	0x00, 0x06, 0x80, 0x09,				/* 6 shards, flags */
	0x05, 0x00, 0x00, 0x00,				/* field SLOTS, reserved */
	0x00, 0x11, 0x00, 0x00,				/* first, reserved */
	0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, /* value a */
	0x20, 0x31, 0x42, 0x53, 0x64, 0x75, 0x86, 0x97, /* value b */
	0x30, 0x41, 0x52, 0x63, 0x74, 0x85, 0x96, 0xa7, /* joined */
	0x40, 0x51, 0x62, 0x73, 0x84, 0x95, 0xa6, 0xb7, /* missing */
	0x50, 0x61, 0x72, 0x83, 0x94, 0xa5, 0xb6, 0xc7, /* silent */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* reserved */
	0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, /* descriptor a */
	0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x70, /* .. */
	0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, /* .. */
	0x79, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f, 0x80, /* .. */
	0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, /* descriptor b */
	0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0xb0, /* .. */
	0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, /* .. */
	0xb9, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf, 0xc0, /* .. */
};

const uint8_t golden_desc[WIRE_DESC] = {
	0x00, 0x01, 0x02, 0x03,				/* op number */
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* count */
	0x01, 0x04, 0x03, 0x02,				/* all-reduce, int32, max, width 2 */
	0x21, 0x22, 0x31, 0x32, 0x41, 0x42, 0x51, 0x52, /* root, world, P, flags */
};

static uint64_t golden_seed;

/* xorshift64*: the tests are the same on every run. */
uint32_t golden_random(void)
{
	golden_seed ^= golden_seed >> 12;
	golden_seed ^= golden_seed << 25;
	golden_seed ^= golden_seed >> 27;
	return (uint32_t)((golden_seed * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

int golden_setup(void **state)
{
	(void)state;
	golden_seed = 20240229;
	return 0;
}

/* Parses a copy that ends where the heap block ends, so that a read beyond len is found. */
enum wire_error golden_parse(struct wire_msg *msg, const uint8_t *buf, size_t len, uint8_t **copy)
{
	enum wire_error error;

	*copy = malloc(len ? len : 1);
	assert_non_null(*copy);
	memcpy(*copy, buf, len);
	error = wire_parse(msg, *copy, len);
	return error;
}

void golden_set_chunk(uint8_t *buf, size_t len)
{
	memcpy(buf, golden_head, WIRE_HEADER);
	for (size_t i = 0; i < len; i++)
		buf[WIRE_HEADER + i] = (uint8_t)(i * 7 + (i >> 8) * 13 + 1);
}

size_t golden_set_join(uint8_t *buf)
{
	memset(buf, 0, WIRE_MSG_MAX);
	memcpy(buf, golden_join_head, WIRE_HEADER);
	memcpy(buf + WIRE_HEADER, golden_join, sizeof(golden_join));
	return WIRE_HEADER + 1408;
}

size_t golden_set_status(uint8_t *buf, size_t len)
{
	memset(buf, 0, WIRE_MSG_MAX);
	memcpy(buf, golden_head, WIRE_HEADER);
	buf[0] = 0x14;
	buf[1] = 0;
	memcpy(buf + WIRE_HEADER, golden_status, len < WIRE_BODY ? len : WIRE_BODY);
	return WIRE_HEADER + len;
}

/* A valid message of each type; returns its length. */
size_t golden_set_type(uint8_t *buf, unsigned type)
{
	static const size_t lengths[] = { 0, 1408, 1024, 1408, 416, 160, 32, 160 };

	if (type == WIRE_JOIN)
		return golden_set_join(buf);
	if (type == WIRE_STATUS)
		return golden_set_status(buf, lengths[type]);
	golden_set_chunk(buf, lengths[type]);
	buf[0] = (uint8_t)(0x10 + type);
	buf[1] = type == WIRE_DATA ? 0x62 : type == WIRE_RESULT ? 0x42 : 0;
	return WIRE_HEADER + lengths[type];
}
