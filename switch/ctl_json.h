/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctl_json.h - JSON into a buffer of fixed size, without a heap.
 *
 * Every value has a key inside an object and NULL inside an array.  What does not fit is noticed
 * once, at the end, by ctl_json_end().
 */
#ifndef SWITCH_CTL_JSON_H
#define SWITCH_CTL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl_json {
	char *buf;
	size_t cap, len;
	bool overflow;
	unsigned depth;
	uint32_t arrays; /* bit per depth: an array is open there, not an object */
};

void ctl_json_start(struct ctl_json *json, char *buf, size_t cap);
/* The length, or 0 if it did not fit or something was left open. */
size_t ctl_json_end(const struct ctl_json *json);
/* Bytes that are free. */
size_t ctl_json_room(const struct ctl_json *json);

void ctl_json_object(struct ctl_json *json, const char *key);
void ctl_json_array(struct ctl_json *json, const char *key);
/* The innermost that is open. */
void ctl_json_close(struct ctl_json *json);

void ctl_json_u64(struct ctl_json *json, const char *key, uint64_t value);
void ctl_json_real(struct ctl_json *json, const char *key, double value);
void ctl_json_bool(struct ctl_json *json, const char *key, bool value);
void ctl_json_null(struct ctl_json *json, const char *key);
/* Any bytes: those that are no UTF-8 are taken for Latin-1. */
void ctl_json_text(struct ctl_json *json, const char *key, const char *value);
/* Formatted, at most 511 bytes. */
void ctl_json_format(struct ctl_json *json, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
