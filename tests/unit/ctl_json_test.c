// SPDX-License-Identifier: BSD-3-Clause
// ctl_json_test.c - JSON as it is written: commas, escapes, and what does not fit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "switch/ctl_json.h"

static char buf[256];

static const char *text(struct ctl_json *json)
{
	size_t len = ctl_json_end(json);

	assert_true(len > 0 && len < sizeof(buf));
	buf[len] = '\0';
	return buf;
}

static void ctl_json__nested(void **state)
{
	struct ctl_json json;

	(void)state;
	ctl_json_start(&json, buf, sizeof(buf));
	ctl_json_object(&json, NULL);
	ctl_json_u64(&json, "a", UINT64_MAX);
	ctl_json_array(&json, "b");
	ctl_json_real(&json, NULL, -1.5);
	ctl_json_object(&json, NULL);
	ctl_json_close(&json);
	ctl_json_array(&json, NULL);
	ctl_json_null(&json, NULL);
	ctl_json_bool(&json, NULL, true);
	ctl_json_close(&json);
	ctl_json_close(&json);
	ctl_json_bool(&json, "c", false);
	ctl_json_format(&json, "d", "%s-%d", "x", 7);
	ctl_json_close(&json);
	assert_string_equal(text(&json),
			    "{\"a\": 18446744073709551615, \"b\": [-1.500000, {}, [null, true]], "
			    "\"c\": false, \"d\": \"x-7\"}");
}

static void ctl_json_text__any_bytes(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "\"\"" },
		{ "a\"\\/", "\"a\\\"\\\\/\"" },
		{ "\x01\x1f\x7f\n", "\"\\u0001\\u001f\\u007f\\u000a\"" },
		/* UTF-8 of two, three and four bytes stays as it is. */
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		/* Cut short, too long, a surrogate, beyond the last, a tail alone. */
		{ "\xe2\x82", "\"\\u00e2\\u0082\"" },
		{ "\xc0\xaf", "\"\\u00c0\\u00af\"" },
		{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" },
		{ "\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\"" },
		{ "\xbfz", "\"\\u00bfz\"" },
	};
	struct ctl_json json;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ctl_json_start(&json, buf, sizeof(buf));
		ctl_json_text(&json, NULL, cases[i].in);
		assert_string_equal(text(&json), cases[i].out);
	}
}

/* Every length that is too short is noticed, and nothing is written beyond it. */
static void ctl_json_end__does_not_fit(void **state)
{
	static const char whole[] = "{\"key\": [12, \"\\u0001\"]}";
	struct ctl_json json;

	(void)state;
	for (size_t cap = 0; cap <= sizeof(whole) - 1; cap++) {
		memset(buf, '#', sizeof(buf));
		ctl_json_start(&json, buf, cap);
		ctl_json_object(&json, NULL);
		ctl_json_array(&json, "key");
		ctl_json_u64(&json, NULL, 12);
		ctl_json_text(&json, NULL, "\x01");
		ctl_json_close(&json);
		ctl_json_close(&json);
		assert_int_equal(buf[cap], '#');
		if (cap < sizeof(whole) - 1)
			assert_int_equal(ctl_json_end(&json), 0);
		else
			assert_string_equal((buf[cap] = '\0', buf), whole);
	}
	assert_int_equal(ctl_json_room(&json), 0);
}

static void ctl_json_end__left_open(void **state)
{
	struct ctl_json json;

	(void)state;
	ctl_json_start(&json, buf, sizeof(buf));
	ctl_json_object(&json, NULL);
	assert_int_equal(ctl_json_end(&json), 0);
	ctl_json_close(&json);
	assert_int_equal(ctl_json_end(&json), 2);
	ctl_json_close(&json);
	assert_int_equal(ctl_json_end(&json), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ctl_json__nested),
		cmocka_unit_test(ctl_json_text__any_bytes),
		cmocka_unit_test(ctl_json_end__does_not_fit),
		cmocka_unit_test(ctl_json_end__left_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
