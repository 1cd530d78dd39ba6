// SPDX-License-Identifier: BSD-3-Clause
// agenda_test.c - events fire in the order of their time and of being set, also after they were moved.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topologies/agenda.h"

enum { EVENTS = 300, STEPS = 20000 };

static struct agenda agenda;
static struct event events[EVENTS];
static struct event *fired;

static uint64_t seed = 11;

static uint32_t next_random(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return (uint32_t)(seed >> 32);
}

static void note(struct event *event)
{
	fired = event;
}

static int agenda_open(void **state)
{
	(void)state;
	assert_int_equal(agenda_init(&agenda, EVENTS), 0);
	for (unsigned i = 0; i < EVENTS; i++)
		events[i] = (struct event){ .fire = note };
	return 0;
}

static int agenda_shut(void **state)
{
	(void)state;
	agenda_free(&agenda);
	return 0;
}

static void agenda_step__same_time_in_the_order_of_setting(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++)
		agenda_set(&agenda, &events[(7 * i) % 50], 1000);
	agenda_set(&agenda, &events[60], 999);
	agenda_step(&agenda);
	assert_ptr_equal(fired, &events[60]);
	assert_int_equal(agenda.now_ns, 999);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(agenda_next(&agenda), 1000);
		agenda_step(&agenda);
		assert_ptr_equal(fired, &events[(7 * i) % 50]);
	}
	assert_int_equal(agenda_next(&agenda), AGENDA_NEVER);
}

static void agenda_set__moves_clears_and_is_never_in_the_past(void **state)
{
	(void)state;
	agenda_set(&agenda, &events[0], 500);
	agenda_set(&agenda, &events[1], 400);
	agenda_set(&agenda, &events[1], 600);
	agenda_set(&agenda, &events[2], 550);
	agenda_set(&agenda, &events[2], AGENDA_NEVER);
	agenda_clear(&agenda, &events[3]);
	agenda_step(&agenda);
	assert_ptr_equal(fired, &events[0]);
	agenda_set(&agenda, &events[3], 7);
	assert_int_equal(agenda_next(&agenda), 500);
	agenda_step(&agenda);
	assert_ptr_equal(fired, &events[3]);
	agenda_step(&agenda);
	assert_ptr_equal(fired, &events[1]);
	assert_int_equal(agenda.now_ns, 600);
	assert_int_equal(agenda.nr, 0);
}

/* Against a search through all events. */
static void agenda_step__as_a_search_would_find(void **state)
{
	static uint64_t at[EVENTS], order[EVENTS];
	uint64_t now = 0, nr_set = 0;

	(void)state;
	memset(at, 0xff, sizeof(at));
	for (unsigned step = 0; step < STEPS; step++) {
		const unsigned i = next_random() % EVENTS, what = next_random() % 8;
		unsigned least = EVENTS;

		if (what < 4) {
			at[i] = now + next_random() % 100;
			order[i] = nr_set++;
			agenda_set(&agenda, &events[i], at[i]);
			continue;
		}
		if (what == 4) {
			at[i] = UINT64_MAX;
			agenda_clear(&agenda, &events[i]);
			continue;
		}
		for (unsigned k = 0; k < EVENTS; k++)
			if (at[k] != UINT64_MAX &&
			    (least == EVENTS || at[k] < at[least] ||
			     (at[k] == at[least] && order[k] < order[least])))
				least = k;
		assert_int_equal(agenda_next(&agenda), least < EVENTS ? at[least] : UINT64_MAX);
		if (least == EVENTS)
			continue;
		agenda_step(&agenda);
		assert_ptr_equal(fired, &events[least]);
		now = at[least];
		at[least] = UINT64_MAX;
		assert_int_equal(agenda.now_ns, now);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agenda_step__same_time_in_the_order_of_setting,
						agenda_open, agenda_shut),
		cmocka_unit_test_setup_teardown(agenda_set__moves_clears_and_is_never_in_the_past,
						agenda_open, agenda_shut),
		cmocka_unit_test_setup_teardown(agenda_step__as_a_search_would_find, agenda_open,
						agenda_shut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
