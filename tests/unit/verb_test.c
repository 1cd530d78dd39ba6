// SPDX-License-Identifier: BSD-3-Clause
// verb_test.c - an option that would do nothing is refused, by its name and the command's.
#include "topologies/verb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/capture.h"

static void find__names(void **state)
{
	(void)state;
	assert_int_equal(verb_find("run"), VERB_RUN);
	assert_int_equal(verb_find("enter"), VERB_ENTER);
	assert_int_equal(verb_find("runs"), 0);
	assert_int_equal(verb_find("run --fabric inproc"), 0);
}

static void option_check__each(void **state)
{
	/* r: run, i: in one process, s: sim, c: check, d: draw, h: shell, e: enter */
	static const struct {
		const char *option, *verbs;
	} cases[] = {
		{ "loss", "rish" },	  { "dup", "rish" },	  { "reorder", "rish" },
		{ "seed", "rish" },	  { "mtu", "rish" },	  { "timeout", "rish" },
		{ "pcap", "rish" },	  { "record", "rish" },	  { "pcap-format", "rish" },
		{ "report", "ris" },	  { "fabric", "ri" },	  { "timeline", "ris" },
		{ "driver", "rh" },	  { "keep", "rh" },	  { "output", "d" },
		{ "format", "d" },	  { "seeds", "s" },	  { "workers", "s" },
		{ "sweep", "s" },	  { "compare", "s" },	  { "link-rate", "s" },
		{ "link-delay", "s" },	  { "verbose", "rishe" }, { "help", "riscdhe" },
		{ "version", "riscdhe" },
	};
	static const struct {
		char letter;
		enum verb verb;
	} letters[] = { { 'r', VERB_RUN },   { 'i', VERB_INPROC }, { 's', VERB_SIM },
			{ 'c', VERB_CHECK }, { 'd', VERB_DRAW },   { 'h', VERB_SHELL },
			{ 'e', VERB_ENTER } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t k = 0; k < sizeof(letters) / sizeof(letters[0]); k++) {
			bool taken = strchr(cases[i].verbs, letters[k].letter) != NULL;
			struct capture capture;
			char *said;
			int rc;

			capture_begin(&capture, 2);
			rc = verb_option_check(letters[k].verb, cases[i].option);
			said = capture_end(&capture);
			assert_int_equal(rc, taken ? 0 : -1);
			assert_int_equal(*said == 0, taken);
			free(said);
		}
}

static void option_check__words(void **state)
{
	static const struct {
		enum verb verb;
		const char *option, *said;
	} cases[] = {
		{ VERB_CHECK, "record",
		  "tally-fabric: --record is an option of tally-fabric run, sim and shell, not of "
		  "check (see --help)\n" },
		{ VERB_RUN, "output",
		  "tally-fabric: --output is an option of tally-fabric draw, not of run (see "
		  "--help)\n" },
		{ VERB_INPROC, "driver",
		  "tally-fabric: --driver is an option of tally-fabric run and shell, not of run "
		  "--fabric inproc (see --help)\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct capture capture;
		char *said;

		capture_begin(&capture, 2);
		(void)verb_option_check(cases[i].verb, cases[i].option);
		said = capture_end(&capture);
		assert_string_equal(said, cases[i].said);
		free(said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__names),
		cmocka_unit_test(option_check__each),
		cmocka_unit_test(option_check__words),
	};

	return cmocka_run_group_tests_name("verb", tests, NULL, NULL);
}
