// SPDX-License-Identifier: BSD-3-Clause
// html_test.c - text that is no markup any more, and numbers with their units.
#include "topologies/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_is(const char *from, size_t len, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	html_text_n(out, from, len);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void html_text__is_no_markup(void **state)
{
	static const char all[] = "<job a=\"1\">&amp;'\n\t";

	(void)state;
	text_is(all, strlen(all), "&#60;job a=&#34;1&#34;&#62;&#38;amp;&#39;\n\t");
	text_is("\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80", 12,
		"\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80");
	text_is(all, 4, "&#60;job");
}

/* Neither what is no UTF-8 nor what XML does not have. */
static void html_text__what_is_no_text(void **state)
{
#define BAD "\xef\xbf\xbd"
	(void)state;
	text_is("a\x01\x7f"
		"b\0c",
		6, "a" BAD BAD "b" BAD "c");
	text_is("\x80x\xffy", 4, BAD "x" BAD "y");
	text_is("\xc2", 1, BAD);
	text_is("\xe2\x82", 2, BAD BAD);
	text_is("\xc0\xaf", 2, BAD BAD);		 // a slash, too long
	text_is("\xed\xa0\x80", 3, BAD BAD BAD);	 // half of a pair
	text_is("\xf4\x90\x80\x80", 4, BAD BAD BAD BAD); // beyond the last
	text_is("\xef\xbf\xbf", 3, BAD BAD BAD);
#undef BAD
}

static void html_number__units(void **state)
{
	(void)state;
	assert_string_equal(html_number(0, 4).text, "0");
	assert_string_equal(html_number(999, 4).text, "999");
	assert_string_equal(html_number(1234.56, 4).text, "1.235 k");
	assert_string_equal(html_number(8.7633e8, 4).text, "876.3 M");
	assert_string_equal(html_number(12345e9, 4).text, "12345 G");
	assert_string_equal(html_time(0, 3).text, "0 ns");
	assert_string_equal(html_time(1.5e-6, 3).text, "1.5 \xc2\xb5s");
	assert_string_equal(html_time(0.0722646, 6).text, "72.2646 ms");
	assert_string_equal(html_time(75.25, 3).text, "75.2 s");
	assert_string_equal(html_time(7500, 3).text, "7500 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(html_text__is_no_markup),
		cmocka_unit_test(html_text__what_is_no_text),
		cmocka_unit_test(html_number__units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
