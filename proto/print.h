/* SPDX-License-Identifier: BSD-3-Clause */
/* print.h - one line of text for any message: logs, traces and test expectations. */
#ifndef PROTO_PRINT_H
#define PROTO_PRINT_H

#include "proto/wire.h"

/*
 * E.g. "DATA ADD32 job 7 epoch 12 slot 3 round 0 wid 1 desc 8a136a0b len 1408".
 * All of these terminate what they cut, unless cap is 0, and return the length written.
 */
size_t print_msg(char *out, size_t cap, const struct wire_msg *msg);
/* E.g. "all-reduce 17 (float32 sum, 1048576 elements)". */
size_t print_desc(char *out, size_t cap, const struct wire_desc *desc);
/* E.g. "2", "1, 3", "0-5, 9", "none": the set bits of a mask of ranks. */
size_t print_ranks(char *out, size_t cap, uint64_t mask);

const char *print_type(unsigned type);
const char *print_kind(unsigned kind);
const char *print_state(unsigned state);
const char *print_cause(unsigned cause);
const char *print_field(unsigned field);
/* Not print_error(): cmocka has a function of that name. */
const char *print_wire_error(unsigned error);
const char *print_dtype(unsigned dtype);
const char *print_op(unsigned op);

#endif
