// SPDX-License-Identifier: BSD-3-Clause
// tallyctl_field_test.c - fields of answers as text, those that are not there or of another kind, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "switch/tallyctl.h"

static char text[TALLYCTL_TEXT];

static json_t *parse(const char *json)
{
	json_t *value = json_loads(json, 0, NULL);

	assert_non_null(value);
	return value;
}

static void field__missing_or_of_another_kind(void **state)
{
	json_t *object = parse("{\"n\": 18, \"s\": \"x\", \"b\": true, \"r\": 2.5}");

	(void)state;
	assert_int_equal(field_u64(object, "n"), 18);
	assert_string_equal(field_text(object, "s"), "x");
	assert_true(field_true(object, "b"));
	assert_true(field_real(object, "r") > 2.4 && field_real(object, "r") < 2.6);
	assert_int_equal(field_u64(object, "s"), 0);
	assert_int_equal(field_u64(object, "none"), 0);
	assert_string_equal(field_text(object, "n"), "");
	assert_false(field_true(object, "n"));
	assert_int_equal(field_u64(NULL, "n"), 0);
	assert_string_equal(field_text(NULL, "n"), "");
	json_decref(object);
}

static void field_faults__without_port_and_direction(void **state)
{
	static const struct {
		const char *json, *says;
	} cases[] = {
		{ "{\"faults\": \"12:loss=5%,dir=in\"}", "loss=5%" },
		{ "{\"faults\": \"3:burst=1%:9%:80%:2%,queue=20,dir=out\"}",
		  "burst=1%:9%:80%:2%,queue=20" },
		{ "{\"faults\": \"1:loss=0,dir=in\"}", "none" },
		{ "{\"faults\": \"7:loss=0.5%,dir=out\"}", "loss=0.5%" },
		{ "{\"faults\": 8}", "" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *one = parse(cases[i].json);

		field_faults(one, text);
		assert_string_equal(text, cases[i].says);
		json_decref(one);
	}
}

static void field_ranks__all_kinds(void **state)
{
	json_t *object = parse(
		"{\"a\": [{\"first\": 2, \"last\": 2}, {\"first\": 4, \"last\": 7}], \"b\": [], "
		"\"c\": [{\"first\": 0, \"last\": 3, \"leaf\": \"10.0.0.2:48880\"}]}");

	(void)state;
	field_ranks(object, "a", text);
	assert_string_equal(text, "2, 4-7");
	assert_int_equal(field_nr_ranks(object, "a"), 5);
	field_ranks(object, "b", text);
	assert_string_equal(text, "none");
	field_ranks(object, "c", text);
	assert_string_equal(text, "0-3 behind 10.0.0.2:48880");
	json_decref(object);
}

/* More than there is room for ends in dots, inside the buffer. */
static void field_ranks__too_many(void **state)
{
	json_t *object = json_object(), *spans = json_array();

	(void)state;
	for (int i = 0; i < 200; i++) {
		json_t *span = json_object();

		json_object_set_new(span, "first", json_integer(i * 1003));
		json_object_set_new(span, "last", json_integer(i * 1003 + 1));
		json_array_append_new(spans, span);
	}
	json_object_set_new(object, "a", spans);
	field_ranks(object, "a", text);
	assert_int_equal(strlen(text), TALLYCTL_TEXT - 1);
	assert_string_equal(text + TALLYCTL_TEXT - 4, "...");
	json_decref(object);
}

static void age_text__units(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ -1, "0.0 s" },	  { 0.84, "0.8 s" },	 { 59.6, "60 s" },
		{ 754.2, "12 min 34 s" }, { 3600, "1 h 0 min" }, { 90061, "25 h 1 min" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		age_text(cases[i].seconds, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void stall_whom__all_kinds(void **state)
{
	static const char *const cases[][2] = {
		{ "{\"waits_for\": \"members\", \"missing\": [{\"first\": 2, \"last\": 2}], \"silent\": []}",
		  "rank 2" },
		{ "{\"waits_for\": \"members\", \"missing\": [{\"first\": 2, \"last\": 3}], \"silent\": [{\"first\": 2, "
		  "\"last\": 3}]}",
		  "ranks 2-3 (silent)" },
		{ "{\"waits_for\": \"members\", \"missing\": [{\"first\": 2, \"last\": 3}], \"silent\": [{\"first\": 3, "
		  "\"last\": 3}]}",
		  "ranks 2-3 (silent: 3)" },
		{ "{\"waits_for\": \"parent\", \"missing\": [], \"silent\": []}", "the parent" },
		{ "{\"waits_for\": \"parent\", \"missing\": [{\"first\": 8, \"last\": 9}], \"silent\": []}",
		  "ranks 8-9 behind the parent" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *stall = parse(cases[i][0]);

		stall_whom(stall, text);
		assert_string_equal(text, cases[i][1]);
		json_decref(stall);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(field__missing_or_of_another_kind),
		cmocka_unit_test(field_faults__without_port_and_direction),
		cmocka_unit_test(field_ranks__all_kinds),
		cmocka_unit_test(field_ranks__too_many),
		cmocka_unit_test(age_text__units),
		cmocka_unit_test(stall_whom__all_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
