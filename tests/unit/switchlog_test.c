// SPDX-License-Identifier: BSD-3-Clause
// Tests of the switch's last lines: which are kept, and which are warnings.
#include "topologies/switchlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct switchlog switchlog;

static void begin(void)
{
	memset(&switchlog, 0, sizeof(switchlog));
}

static void switchlog_add__tells_warnings_from_the_rest(void **state)
{
	static const struct {
		const char *text;
		bool from_stderr, warning;
	} cases[] = {
		{ "tally-switch: ready, 4 ports, ip 10.0.0.254", true, false },
		{ "tally-switch: port 3: no such interface", true, true },
		{ "", true, false },
		{ "port name driver", false, false },
		{ "tally WARN slow", false, true },
		{ "tally ERROR gone", true, true },
		{ "tally INFO fine", true, false },
		{ "tally TRACE detail", true, false },
		{ "==7==ERROR: AddressSanitizer: heap-use-after-free", false, true },
		{ "WARNING-free", false, false },
	};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct switchlog_line *line =
			switchlog_add(&switchlog, cases[i].text, cases[i].from_stderr);

		if (line->warning != cases[i].warning)
			fail_msg("'%s' is %sa warning", cases[i].text, line->warning ? "" : "not ");
		assert_string_equal(line->text, cases[i].text);
		assert_false(line->shown);
	}
}

static void lines_add(unsigned int nr)
{
	char text[32];

	for (unsigned int i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "line %u", switchlog.nr);
		switchlog_add(&switchlog, text, false)->shown = true;
	}
}

static void from_check(unsigned int from, unsigned int first)
{
	char text[32];

	assert_int_equal(switchlog_first(&switchlog, from), first);
	for (unsigned int i = first; i < switchlog.nr; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		assert_string_equal(switchlog_get(&switchlog, i)->text, text);
	}
}

static void switchlog_first__oldest_line_that_is_kept(void **state)
{
	(void)state;
	begin();
	from_check(0, 0);
	lines_add(SWITCHLOG_LINES);
	from_check(0, 0);
	from_check(17, 17);
	lines_add(1);
	from_check(0, 1);
	from_check(1, 1);
	lines_add(3 * SWITCHLOG_LINES + 41);
	from_check(0, 3 * SWITCHLOG_LINES + 42);
	from_check(3 * SWITCHLOG_LINES + 43, 3 * SWITCHLOG_LINES + 43);
	from_check(switchlog.nr, switchlog.nr);
	/* a line that takes an old one's place has not been shown */
	assert_false(switchlog_add(&switchlog, "new", false)->shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switchlog_add__tells_warnings_from_the_rest),
		cmocka_unit_test(switchlog_first__oldest_line_that_is_kept),
	};

	return cmocka_run_group_tests_name("switchlog", tests, NULL, NULL);
}
