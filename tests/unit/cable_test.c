// SPDX-License-Identifier: BSD-3-Clause
// cable_test.c - packets over a cable in memory: in order, whole, dropped only where there is no slot.
#include "topologies/cable.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAYLOAD = 1472, MANY = 20000 };

static struct cable cable;
static struct cable_seat seat;
static struct bell bell;
static struct cable_port end;
static struct port port;
static atomic_bool stop;
static volatile sig_atomic_t stopped;
static struct transport *transport;

static int rig_open(void **state)
{
	const struct transport_params params = { .p = 0 };
	struct transport_error error;

	(void)state;
	cable = (struct cable){
		.payload = PAYLOAD,
		.ip = { 0x0a000001, 0x0a0000fe },
		.udp_port = { 50001, WIRE_PORT },
		.way = { { .bell = &seat.bell }, { .bell = &bell } },
	};
	assert_int_equal(bell_open(&bell), 0);
	assert_int_equal(bell_open(&seat.bell), 0);
	assert_int_equal(cable_open(&cable), 0);
	seat.cable = &cable;
	cable_seat = &seat;
	end = (struct cable_port){ .bell = &bell,
				   .cable = { &cable },
				   .end = { 1 },
				   .nr = 1,
				   .stop = &stop,
				   .stopped = &stopped };
	port = (struct port){ .ops = &cable_port_ops, .index = 3, .priv = &end };
	assert_int_equal(cable_transport.open(&transport, &params, &error), 0);
	return 0;
}

static int rig_close(void **state)
{
	(void)state;
	cable_transport.close(transport);
	cable_close(&cable);
	bell_close(&bell);
	bell_close(&seat.bell);
	return 0;
}

static void fill(uint8_t *data, uint32_t len, uint32_t number)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(number * 2654435761u >> (8 + i % 17)) ^ (uint8_t)i;
}

static void check(const uint8_t *data, uint32_t len, uint32_t number)
{
	uint8_t want[PAYLOAD];

	fill(want, len, number);
	assert_memory_equal(data, want, len);
}

/* As a rank does: what there is room for, at most nr. */
static unsigned rank_send(unsigned nr, uint32_t number)
{
	struct transport_pkt pkts[TRANSPORT_BURST];
	unsigned room = transport->ops->room(transport);

	nr = nr < room ? nr : room;
	for (unsigned i = 0; i < nr; i++) {
		pkts[i].len = 22 + (number + i) * 37 % (PAYLOAD - 22);
		pkts[i].data = transport->ops->alloc(transport, pkts[i].len);
		assert_non_null(pkts[i].data);
		fill(pkts[i].data, pkts[i].len, number + i);
	}
	assert_int_equal(transport->ops->send(transport, pkts, nr), nr);
	return nr;
}

static void cable__both_ways(void **state)
{
	uint32_t sent = 0, got = 0, back = 0;
	struct transport_pkt answer[TRANSPORT_BURST];
	struct pkt pkts[TRANSPORT_BURST];

	(void)state;
	assert_int_equal(transport->p, 1408);
	assert_int_equal(transport->port, 50001);
	while (got < 5000) {
		unsigned nr;

		sent += rank_send(1 + got % 61, sent);
		nr = port.ops->rx(&port, pkts, TRANSPORT_BURST);
		for (unsigned i = 0; i < nr; i++) {
			assert_int_equal(pkts[i].len, 22 + (got + i) * 37 % (PAYLOAD - 22));
			assert_true(pkts[i].cap >= PAYLOAD);
			assert_int_equal(pkts[i].flow.ip, 0x0a000001);
			assert_int_equal(pkts[i].flow.udp_port, 50001);
			assert_int_equal(pkts[i].flow.port, 3);
			check(pkts[i].data, pkts[i].len, got + i);
		}
		got += nr;
		port.ops->tx(&port, pkts, nr);
		nr = transport->ops->recv(transport, answer, TRANSPORT_BURST);
		for (unsigned i = 0; i < nr; i++)
			check(answer[i].data, answer[i].len, back + i);
		back += nr;
		transport->ops->release(transport);
	}
	assert_int_equal(back, got);
	assert_int_equal(port.stats.tx, got);
	assert_int_equal(port.stats.tx_dropped, 0);
}

static void cable__full_rings(void **state)
{
	struct pkt pkts[TRANSPORT_BURST];
	uint32_t sent = 0, nr = 0, more;
	uint8_t data[PAYLOAD + 1] = { 1 };
	struct pkt one = { .data = data, .len = 100, .flow = { .udp_port = 50001 } };

	(void)state;
	while ((more = rank_send(TRANSPORT_BURST, sent)) > 0)
		sent += more;
	assert_int_equal(sent, CABLE_SLOTS);
	assert_null(transport->ops->alloc(transport, 64));
	/* What the receiver may still look at is not free yet. */
	assert_int_equal(port.ops->rx(&port, pkts, 10), 10);
	assert_int_equal(transport->ops->room(transport), 0);
	nr = port.ops->rx(&port, pkts, 20);
	assert_int_equal(nr, 20);
	assert_int_equal(transport->ops->room(transport), 10);
	check(pkts[0].data, pkts[0].len, 10);
	for (unsigned i = 0; i < CABLE_SLOTS + 5; i++)
		port.ops->tx(&port, &one, 1);
	assert_int_equal(port.stats.tx, CABLE_SLOTS);
	assert_int_equal(port.stats.tx_dropped, 5);
	one.len = PAYLOAD + 1;
	port.ops->tx(&port, &one, 1);
	assert_int_equal(port.stats.tx_too_big, 1);
	one.flow.udp_port = 50002;
	port.ops->tx(&port, &one, 1);
	assert_int_equal(port.stats.tx_dropped, 7);
}

static void cable__too_large_a_packet_is_told(void **state)
{
	struct transport_pkt pkt = { .len = PAYLOAD + 1 };
	struct pkt pkts[4];

	(void)state;
	pkt.data = transport->ops->alloc(transport, pkt.len);
	assert_non_null(pkt.data);
	memset(pkt.data, 7, pkt.len);
	assert_int_equal(transport->ops->send(transport, &pkt, 1), 1);
	assert_int_equal(transport->failed, EMSGSIZE);
	assert_int_equal(transport->lost, 1);
	assert_int_equal(port.ops->rx(&port, pkts, 4), 0);
	assert_null(transport->ops->alloc(transport, WIRE_MSG_MAX + 1));
}

/* A switch that sends one by one, and rests now and then. */
static void *sender(void *context)
{
	uint8_t data[PAYLOAD];

	(void)context;
	for (uint32_t i = 0; i < MANY;) {
		struct pkt pkt = { .data = data,
				   .len = 22 + i * 37 % (PAYLOAD - 22),
				   .flow = { .udp_port = 50001 } };
		const uint64_t before = port.stats.tx;

		fill(data, pkt.len, i);
		port.ops->tx(&port, &pkt, 1);
		i += port.stats.tx != before;
	}
	return NULL;
}

static void cable__wakes_whoever_sleeps(void **state)
{
	struct transport_pkt pkts[TRANSPORT_BURST];
	uint32_t got = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sender, NULL), 0);
	while (got < MANY) {
		const unsigned nr = transport->ops->recv(transport, pkts, TRANSPORT_BURST);

		for (unsigned i = 0; i < nr; i++)
			check(pkts[i].data, pkts[i].len, got + i);
		got += nr;
		transport->ops->release(transport);
		if (!nr)
			transport->ops->wait(transport, UINT64_MAX);
	}
	pthread_join(thread, NULL);
	/* Called by name, too. */
	transport->ops->wake(transport);
	transport->ops->wait(transport, UINT64_MAX);
}

static void port_rx__arms_the_bell_before_it_sleeps_and_sees_the_end(void **state)
{
	struct pkt pkts[4];
	uint64_t rings;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(port.ops->rx(&port, pkts, 4), 0);
	assert_int_equal(stopped, 0);
	assert_int_equal(rank_send(1, 9), 1);
	assert_int_equal(read(bell.fd, &rings, sizeof(rings)), sizeof(rings));
	assert_int_equal(port.ops->rx(&port, pkts, 4), 1);
	assert_int_equal(rank_send(1, 9), 1);
	assert_int_equal(read(bell.fd, &rings, sizeof(rings)), -1);
	assert_int_equal(port.ops->rx(&port, pkts, 4), 1);
	atomic_store(&stop, true);
	assert_int_equal(port.ops->rx(&port, pkts, 4), 0);
	assert_int_equal(stopped, 1);
	atomic_store(&stop, false);
	stopped = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cable__both_ways, rig_open, rig_close),
		cmocka_unit_test_setup_teardown(cable__full_rings, rig_open, rig_close),
		cmocka_unit_test_setup_teardown(cable__too_large_a_packet_is_told, rig_open,
						rig_close),
		cmocka_unit_test_setup_teardown(cable__wakes_whoever_sleeps, rig_open, rig_close),
		cmocka_unit_test_setup_teardown(
			port_rx__arms_the_bell_before_it_sleeps_and_sees_the_end, rig_open,
			rig_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
