// SPDX-License-Identifier: BSD-3-Clause
// transport_inproc_test.c - host/transport/inproc.c: the cases of every transport, and its own.
#include "host/transport/transport.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/transport_cases.h"

static struct transport *open_named(const char *name)
{
	const struct transport_params params = { .name = name, .p = 1408, .slots = 64 };
	struct transport_error error;
	struct transport *transport = NULL;

	assert_int_equal(transport_inproc.open(&transport, &params, &error), 0);
	return transport;
}

static void with_transport(void (*fn)(struct transport *transport))
{
	struct transport *transport = open_named("case");

	fn(transport);
	transport->ops->close(transport);
}

#define CASE(name)                                                                                 \
	static void inproc__##name(void **state)                                                   \
	{                                                                                          \
		(void)state;                                                                       \
		with_transport(transport_case_##name);                                             \
	}
CASE(join)
CASE(burst)
CASE(sizes)
CASE(few)
CASE(room)
CASE(too_large)
CASE(wait)
CASE(wake)

static void inproc_open__name_too_long(void **state)
{
	char name[65];
	const struct transport_params params = { .name = name, .p = 1408, .slots = 64 };
	struct transport_error error;
	struct transport *transport = NULL;

	(void)state;
	memset(name, 'x', 64);
	name[64] = '\0';
	assert_true(transport_inproc.open(&transport, &params, &error) < 0);
	assert_non_null(strstr(error.text, "63 bytes"));
}

static void inproc_open__ports_are_unique(void **state)
{
	struct transport *a = open_named("x"), *b = open_named("x"), *c;
	uint16_t b_port = b->port;

	(void)state;
	assert_int_not_equal(a->port, b->port);
	/* A late packet to a rank that left must not reach the one that came after it. */
	b->ops->close(b);
	c = open_named("x");
	assert_int_not_equal(c->port, b_port);
	c->ops->close(c);
	a->ops->close(a);
}

/* Many come and go while others read what they sent: lifetimes, for the sanitisers. */
static void *churn(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 20; i++) {
		const struct transport_params params = { .name = "churn", .p = 256, .slots = 8 };
		struct transport_error error;
		struct transport *transport = NULL;

		if (transport_inproc.open(&transport, &params, &error) == 0) {
			transport->ops->wake(transport);
			transport->ops->close(transport);
		}
	}
	return NULL;
}

static void inproc_close__while_others_open(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inproc__join),
		cmocka_unit_test(inproc__burst),
		cmocka_unit_test(inproc__sizes),
		cmocka_unit_test(inproc__few),
		cmocka_unit_test(inproc__room),
		cmocka_unit_test(inproc__too_large),
		cmocka_unit_test(inproc__wait),
		cmocka_unit_test(inproc__wake),
		cmocka_unit_test(inproc_open__name_too_long),
		cmocka_unit_test(inproc_open__ports_are_unique),
		cmocka_unit_test(inproc_close__while_others_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
