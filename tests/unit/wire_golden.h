/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_golden.h - messages written by hand, field by field, for the tests of the wire. */
#ifndef TESTS_UNIT_WIRE_GOLDEN_H
#define TESTS_UNIT_WIRE_GOLDEN_H

#include "proto/wire.h"

extern const uint8_t golden_head[WIRE_HEADER];
extern const uint8_t golden_join[WIRE_JOIN_NAME + 8];
extern const uint8_t golden_status[WIRE_BODY];
extern const uint8_t golden_desc[WIRE_DESC];

/* The same numbers on every run; golden_setup() is the cmocka setup that starts them. */
uint32_t golden_random(void);
int golden_setup(void **state);

/*
 * Parses a copy that ends where its heap block ends, so that a read beyond len is found.
 * The caller frees *copy, into which the message points.
 */
enum wire_error golden_parse(struct wire_msg *msg, const uint8_t *buf, size_t len, uint8_t **copy);

/* Write a valid message into WIRE_MSG_MAX bytes and return its length; len is the payload's. */
void golden_set_chunk(uint8_t *buf, size_t len);
size_t golden_set_join(uint8_t *buf);
size_t golden_set_status(uint8_t *buf, size_t len);
size_t golden_set_type(uint8_t *buf, unsigned type);

#endif
