// SPDX-License-Identifier: BSD-3-Clause
/* ctl_json.c - JSON into a buffer of fixed size, without a heap. */
#include "switch/ctl_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { JSON_DEPTH = 32, JSON_FORMAT = 512 };

void ctl_json_start(struct ctl_json *json, char *buf, size_t cap)
{
	*json = (struct ctl_json){ .buf = buf, .cap = cap };
}

size_t ctl_json_end(const struct ctl_json *json)
{
	return json->overflow || json->depth ? 0 : json->len;
}

size_t ctl_json_room(const struct ctl_json *json)
{
	return json->overflow ? 0 : json->cap - json->len;
}

static void json_put(struct ctl_json *json, const char *bytes, size_t len)
{
	if (json->overflow || len > json->cap - json->len) {
		json->overflow = true;
		return;
	}
	memcpy(json->buf + json->len, bytes, len);
	json->len += len;
}

static void json_char(struct ctl_json *json, char c)
{
	json_put(json, &c, 1);
}

/* Bytes of the UTF-8 character that begins here, 0: it is none. */
static size_t json_utf8(const unsigned char *s)
{
	size_t nr = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;

	if (s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < nr; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than needed, surrogates, and beyond the last. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return nr;
}

static void json_string(struct ctl_json *json, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char escape[8];
	size_t nr;

	json_char(json, '"');
	for (; *s; s += nr ? nr : 1) {
		nr = json_utf8(s);
		if (nr && *s >= 0x20 && *s != 0x7f && *s != '"' && *s != '\\') {
			json_put(json, (const char *)s, nr);
			continue;
		}
		if (*s == '"' || *s == '\\')
			snprintf(escape, sizeof(escape), "\\%c", *s);
		else
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)*s);
		json_put(json, escape, strlen(escape));
	}
	json_char(json, '"');
}

static void json_key(struct ctl_json *json, const char *key)
{
	char last = json->len ? json->buf[json->len - 1] : '{';

	if (json->overflow)
		return;
	if (last != '{' && last != '[')
		json_put(json, ", ", 2);
	if (!key)
		return;
	json_string(json, key);
	json_put(json, ": ", 2);
}

static void json_open(struct ctl_json *json, const char *key, bool array)
{
	json_key(json, key);
	json_char(json, array ? '[' : '{');
	if (json->depth == JSON_DEPTH) {
		json->overflow = true;
		return;
	}
	json->arrays &= ~(UINT32_C(1) << json->depth);
	json->arrays |= (uint32_t)array << json->depth;
	json->depth++;
}

void ctl_json_object(struct ctl_json *json, const char *key)
{
	json_open(json, key, false);
}

void ctl_json_array(struct ctl_json *json, const char *key)
{
	json_open(json, key, true);
}

void ctl_json_close(struct ctl_json *json)
{
	if (json->depth == 0) {
		json->overflow = true;
		return;
	}
	json->depth--;
	json_char(json, json->arrays >> json->depth & 1 ? ']' : '}');
}

void ctl_json_u64(struct ctl_json *json, const char *key, uint64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, value);

	json_key(json, key);
	json_put(json, digits, (size_t)len);
}

void ctl_json_real(struct ctl_json *json, const char *key, double value)
{
	char digits[64];
	/* JSON has neither infinities nor numbers of any length. */
	int len = snprintf(digits, sizeof(digits), "%.6f",
			   value < 1e15 && value > -1e15 ? value : 0.0);

	json_key(json, key);
	json_put(json, digits, (size_t)len);
}

void ctl_json_bool(struct ctl_json *json, const char *key, bool value)
{
	json_key(json, key);
	json_put(json, value ? "true" : "false", value ? 4 : 5);
}

void ctl_json_null(struct ctl_json *json, const char *key)
{
	json_key(json, key);
	json_put(json, "null", 4);
}

void ctl_json_text(struct ctl_json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_string(json, value);
}

void ctl_json_format(struct ctl_json *json, const char *key, const char *format, ...)
{
	char text[JSON_FORMAT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	ctl_json_text(json, key, text);
}
