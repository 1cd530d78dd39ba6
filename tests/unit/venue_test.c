// SPDX-License-Identifier: BSD-3-Clause
// venue_test.c - the ordinary venue, and that a communicator keeps to the one it is given.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/engine.h"
#include "host/venue.h"

static void venue__is_the_kernels_unless_set(void **state)
{
	uint64_t a[4], b[4], before = venue.clock();

	(void)state;
	assert_null(venue.transport);
	assert_int_equal(venue.rto_min_ns, 0);
	assert_int_equal(venue.random(a, sizeof(a)), 0);
	assert_int_equal(venue.random(b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	venue.pause(1000000);
	assert_true(venue.clock() - before >= 1000000);
	assert_true(engine_clock() >= before + 1000000);
}

static uint64_t now_ns, nr_opened, nr_pauses;

static uint64_t own_clock(void)
{
	return now_ns;
}

static int own_random(void *to, size_t len)
{
	memset(to, 0x5a, len);
	return 0;
}

static void own_pause(uint64_t ns)
{
	nr_pauses++;
	now_ns += ns;
}

/* A link that is down, then one on which nobody answers. */
static int own_open(struct transport **out, const struct transport_params *params,
		    struct transport_error *error)
{
	(void)out;
	(void)params;
	snprintf(error->text, sizeof(error->text), "of our own");
	return ++nr_opened < 4 ? -ENETDOWN : -EPERM;
}

static void venue__replaces_clock_sleep_and_transport(void **state)
{
	static const struct transport_ops ops = { .name = "own", .open = own_open };
	const struct venue before = venue;
	struct engine_error error;
	struct config_error why;
	struct config config;
	struct engine *engine;

	(void)state;
	now_ns = 1000;
	assert_int_equal(config_resolve(&config, NULL, &why), 0);
	venue = (struct venue){ own_clock, own_random, own_pause, &ops, 0 };
	assert_int_equal(engine_open(&engine, &config, &error), TALLY_SYSTEM);
	assert_int_equal(engine_clock(), now_ns);
	venue = before;
	assert_string_equal(error.text, "of our own");
	assert_int_equal(nr_opened, 4);
	assert_int_equal(nr_pauses, 3);
	assert_int_equal(now_ns, 1000 + 3 * 50000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(venue__is_the_kernels_unless_set),
		cmocka_unit_test(venue__replaces_clock_sleep_and_transport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
