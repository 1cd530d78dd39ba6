/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add.h - the arithmetic of a cell: overwrite, combine, read out.
 *
 * A payload is big-endian, of any alignment, len a multiple of 32 bytes.  A cell's values are kept
 * in host byte order, 64-byte aligned.  One file per instruction set; the scalar one defines the
 * meaning and is the oracle of the others.  The table is chosen once at start.
 */
#ifndef SWITCH_CORE_ADD_H
#define SWITCH_CORE_ADD_H

#include <stdint.h>

#include "proto/wire.h"

enum { ADD_KINDS = WIRE_MAX8 + 1 }; /* index: enum wire_kind; 0 unused */

struct add_ops {
	const char *name;
	/* values <- payload */
	void (*store[ADD_KINDS])(uint8_t *values, const uint8_t *payload, uint32_t len);
	/* values <- values (+ | max) payload; returns true if a saturating sum saturated */
	bool (*combine[ADD_KINDS])(uint8_t *values, const uint8_t *payload, uint32_t len);
	/* payload <- values <- values (+ | max) payload: the last contribution, in one pass */
	bool (*finish[ADD_KINDS])(uint8_t *values, uint8_t *payload, uint32_t len);
	/* payload <- values */
	void (*load[ADD_KINDS])(uint8_t *payload, const uint8_t *values, uint32_t len);
};

extern const struct add_ops add_scalar;
/*
 * The named table, or for NULL the best that this CPU runs; NULL if there is none of that name or
 * it cannot run.
 */
const struct add_ops *add_select(const char *name);

#endif
