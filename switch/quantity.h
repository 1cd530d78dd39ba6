/* SPDX-License-Identifier: BSD-3-Clause */
/* quantity.h - numbers with units in options, read and written the same in every locale. */
#ifndef SWITCH_QUANTITY_H
#define SWITCH_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

/* A unit is factor x 10^exponent of what is counted. */
struct quantity_unit {
	const char *name; /* NULL ends a table */
	int exponent;
	uint32_t factor;
};

/* Digits, a point, perhaps an exponent, and a unit of the table at once behind: 0, or -1. */
int quantity_parse(const char *text, const struct quantity_unit *units, double *out);
/* From 0 to 1, as 0.01 or 1%. */
int quantity_parse_fraction(const char *text, double *out);
/* Digits alone, from min to max. */
int quantity_parse_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* In the largest unit of the table of which it is a whole number; the table goes from large to small. */
void quantity_print(char *buf, size_t size, const struct quantity_unit *units, uint64_t value);
/* In percent. */
void quantity_print_fraction(char *buf, size_t size, double fraction);

#endif
