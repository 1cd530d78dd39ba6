// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_field.c - fields of answers as text for people. */
#include "switch/tallyctl.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

bool tallyctl_pass(const struct tallyctl *ctl, json_t *answer)
{
	if (!ctl->json)
		return false;
	json_dumpf(answer, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(answer);
	return true;
}

const char *field_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

unsigned long long field_u64(const json_t *object, const char *key)
{
	return (unsigned long long)json_integer_value(json_object_get(object, key));
}

double field_real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

bool field_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Appends; what does not fit ends in dots. */
static void text_add(char text[TALLYCTL_TEXT], const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void text_add(char text[TALLYCTL_TEXT], const char *format, ...)
{
	size_t len = strlen(text);
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text + len, TALLYCTL_TEXT - len, format, ap);
	va_end(ap);
	if (n >= (int)(TALLYCTL_TEXT - len))
		strcpy(text + TALLYCTL_TEXT - 4, "...");
}

void field_faults(const json_t *one, char text[TALLYCTL_TEXT])
{
	const char *faults = field_text(one, "faults"), *colon = strchr(faults, ':');
	char *dir;

	snprintf(text, TALLYCTL_TEXT, "%s", colon ? colon + 1 : faults);
	dir = strstr(text, ",dir=");
	if (dir)
		*dir = '\0';
	if (strcmp(text, "loss=0") == 0)
		strcpy(text, "none");
}

void field_ranks(const json_t *object, const char *key, char text[TALLYCTL_TEXT])
{
	const json_t *spans = json_object_get(object, key), *span;
	size_t i;

	text[0] = '\0';
	json_array_foreach(spans, i, span)
	{
		unsigned long long first = field_u64(span, "first"), last = field_u64(span, "last");
		const char *leaf = field_text(span, "leaf");

		text_add(text, "%s%llu", i ? ", " : "", first);
		if (last > first)
			text_add(text, "-%llu", last);
		if (*leaf && strcmp(leaf, field_text(json_array_get(spans, i + 1), "leaf")) != 0)
			text_add(text, " behind %s", leaf);
	}
	if (!text[0])
		strcpy(text, "none");
}

size_t field_nr_ranks(const json_t *object, const char *key)
{
	const json_t *spans = json_object_get(object, key), *span;
	size_t i, nr = 0;

	json_array_foreach(spans, i, span)
		nr += (size_t)(field_u64(span, "last") - field_u64(span, "first") + 1);
	return nr;
}

void field_time(const json_t *object, const char *key, char text[TALLYCTL_TEXT])
{
	time_t seconds = (time_t)(field_u64(object, key) / 1000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, TALLYCTL_TEXT, "%F %T", &tm))
		strcpy(text, "?");
}

void age_text(double seconds, char text[TALLYCTL_TEXT])
{
	unsigned long long s = seconds > 0 && seconds < 1e15 ? (unsigned long long)seconds : 0;

	if (s < 60)
		snprintf(text, TALLYCTL_TEXT, seconds < 10 ? "%.1f s" : "%.0f s",
			 seconds > 0 ? seconds : 0);
	else if (s < 3600)
		snprintf(text, TALLYCTL_TEXT, "%llu min %llu s", s / 60, s % 60);
	else
		snprintf(text, TALLYCTL_TEXT, "%llu h %llu min", s / 3600, s / 60 % 60);
}

void stall_whom(const json_t *stall, char text[TALLYCTL_TEXT])
{
	bool parent = strcmp(field_text(stall, "waits_for"), "parent") == 0;
	size_t nr = field_nr_ranks(stall, "missing"), silent = field_nr_ranks(stall, "silent");
	char ranks[TALLYCTL_TEXT];

	field_ranks(stall, "missing", ranks);
	if (nr == 0)
		snprintf(text, TALLYCTL_TEXT, parent ? "the parent" : "nobody");
	else
		snprintf(text, TALLYCTL_TEXT, "%s %.180s%s", nr == 1 ? "rank" : "ranks", ranks,
			 parent ? " behind the parent" : "");
	if (!silent)
		return;
	field_ranks(stall, "silent", ranks);
	if (silent == nr)
		text_add(text, " (silent)");
	else
		text_add(text, " (silent: %.40s)", ranks);
}
