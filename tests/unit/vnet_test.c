// SPDX-License-Identifier: BSD-3-Clause
// vnet_test.c - actors at the ends of a topology's links: who gets what, when, and in which turn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/local_rig.h"
#include "topologies/vnet.h"

enum { ACTORS = 3, LOG = 64 };

struct echo {
	struct actor actor;
	unsigned number;
	unsigned nr_received, nr_run;
	uint64_t at_ns[LOG];
	uint32_t len[LOG];
};

static struct vnet vnet;
static struct topology *t;
static struct echo echo[ACTORS], at_switch;

static void echo_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct echo *e = (struct echo *)actor;

	(void)port;
	e->at_ns[e->nr_received] = vnet.agenda.now_ns;
	e->len[e->nr_received++] = packet->len;
	packet_put(&vnet.pool, packet);
	actor_ready(actor);
}

static void echo_run(struct actor *actor)
{
	((struct echo *)actor)->nr_run++;
}

static int vnet_begin(void **state)
{
	const struct vnet_options options = { UINT64_C(8000000000), 300 };

	(void)state;
	t = local_rig_load("hosts: [h1, h2]\nswitches: [s0]\n"
			   "links: [[h1, s0-p1], [h2, s0-p2, {rate: 1G, delay: 0us, queue: 2}]]\n"
			   "jobs: [{name: j, ranks: [h1, h2], workload: {sizes: [1K]}}]\n");
	assert_int_equal(vnet_open(&vnet, t, &options, ACTORS + 1), 0);
	for (unsigned i = 0; i <= ACTORS; i++) {
		struct echo *e = i < ACTORS ? &echo[i] : &at_switch;

		*e = (struct echo){ .number = i };
		actor_init(&e->actor, &vnet);
		e->actor.receive = echo_receive;
		e->actor.run = echo_run;
	}
	vnet.at_switch[topology_node_find(t, "s0", 2)] = &at_switch.actor;
	return 0;
}

static int vnet_end(void **state)
{
	(void)state;
	vnet_free(&vnet);
	topology_free(t);
	return 0;
}

static unsigned node(const char *name)
{
	return (unsigned)topology_node_find(t, name, strlen(name));
}

static bool send(unsigned link, unsigned from, uint16_t to, uint32_t len)
{
	struct packet *packet = packet_get(&vnet.pool);

	packet->to = to;
	packet->len = len;
	return line_send(vnet_line(&vnet, link, from), packet);
}

static void run(void)
{
	while (vnet_step(&vnet))
		;
}

static void vnet__links_as_the_file_says_or_as_usual(void **state)
{
	const uint16_t to = vnet_attach(&vnet, node("h2"), &echo[0].actor);

	(void)state;
	assert_int_equal(to, VNET_FROM);
	/* 1000 bytes with headers take 1 us at 8 Gbit/s, 8 us at 1 Gbit/s. */
	assert_true(send(0, node("h1"), 48880, 958));
	assert_true(send(1, node("s0"), to, 958));
	run();
	assert_int_equal(at_switch.at_ns[0], 1000 + 300);
	assert_int_equal(echo[0].at_ns[0], 8000);
	/* A host looks before it sends; a switch's queue has an end. */
	for (unsigned i = 0; i < 20; i++)
		assert_true(send(1, node("h2"), 48880, 100 + i));
	assert_true(send(1, node("s0"), to, 7) && send(1, node("s0"), to, 8));
	assert_false(send(1, node("s0"), to, 9));
	run();
	assert_int_equal(at_switch.nr_received, 21);
	assert_int_equal(echo[0].nr_received, 3);
	assert_int_equal(vnet.link[1].way[1].stats.dropped + vnet.link[1].way[0].stats.dropped, 1);
	assert_int_equal(vnet.pool.nr_out, 0);
}

static void vnet__actors_of_a_host_and_nobody(void **state)
{
	const unsigned h1 = node("h1"), s0 = node("s0");
	uint16_t port[ACTORS];

	(void)state;
	for (unsigned i = 0; i < ACTORS; i++) {
		port[i] = vnet_attach(&vnet, h1, &echo[i].actor);
		assert_int_equal(port[i], VNET_FROM + i);
	}
	vnet_detach(&vnet, h1, port[1]);
	for (unsigned i = 0; i < ACTORS; i++)
		send(0, s0, port[i], 10 + i);
	send(0, s0, 80, 1);
	run();
	assert_int_equal(echo[0].len[0], 10);
	assert_int_equal(echo[1].nr_received, 0);
	assert_int_equal(echo[2].len[0], 12);
	assert_int_equal(vnet.host[h1].nr_lost, 2);
	assert_int_equal(vnet_attach(&vnet, h1, &echo[1].actor), port[1]);
}

/* All that comes at a time is there before anybody runs, and each runs once. */
static void vnet_step__first_what_comes_then_who_has_got_it(void **state)
{
	const unsigned h1 = node("h1"), h2 = node("h2");

	(void)state;
	/* 162 bytes with headers take 1296 ns at 1 Gbit/s. */
	vnet_line(&vnet, 1, h2)->delay_ns = 4;
	send(0, h1, 48880, 958);
	send(1, h2, 48880, 120);
	agenda_set(&vnet.agenda, &at_switch.actor.event, 1300);
	while (vnet.agenda.now_ns < 1300)
		assert_true(vnet_step(&vnet));
	assert_int_equal(at_switch.nr_run, 0);
	run();
	assert_int_equal(at_switch.nr_received, 2);
	assert_int_equal(at_switch.at_ns[0], 1300);
	assert_int_equal(at_switch.at_ns[1], 1300);
	assert_int_equal(at_switch.nr_run, 1);
	assert_false(vnet_step(&vnet));
}

static void vnet_random__repeats_by_seed(void **state)
{
	const struct vnet_options options = { 1000, 0 };
	uint64_t a[8];

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		a[i] = vnet_random(&vnet);
	assert_true(a[0] != a[1] && a[1] != a[2]);
	vnet_free(&vnet);
	assert_int_equal(vnet_open(&vnet, t, &options, 1), 0);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(vnet_random(&vnet), a[i]);
	t->seed_given = true;
	t->seed = 2;
	vnet_free(&vnet);
	assert_int_equal(vnet_open(&vnet, t, &options, 1), 0);
	assert_int_not_equal(vnet_random(&vnet), a[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(vnet__links_as_the_file_says_or_as_usual,
						vnet_begin, vnet_end),
		cmocka_unit_test_setup_teardown(vnet__actors_of_a_host_and_nobody, vnet_begin,
						vnet_end),
		cmocka_unit_test_setup_teardown(vnet_step__first_what_comes_then_who_has_got_it,
						vnet_begin, vnet_end),
		cmocka_unit_test_setup_teardown(vnet_random__repeats_by_seed, vnet_begin, vnet_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
