// SPDX-License-Identifier: BSD-3-Clause
// transport_udp_test.c - host/transport/udp.c: the cases of every transport, and its own.
#include "host/transport/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/wire.h"
#include "tests/unit/transport_cases.h"
#include "tests/unit/udp_switch.h"

static struct transport *open_to(uint16_t port)
{
	const struct transport_params params = {
		.switch_ip = INADDR_LOOPBACK, .switch_port = port, .p = 1408, .slots = 64
	};
	struct transport_error error;
	struct transport *transport = NULL;

	assert_int_equal(transport_udp.open(&transport, &params, &error), 0);
	return transport;
}

static void with_transport(void (*fn)(struct transport *transport))
{
	struct udp_switch *sw = udp_switch_start(NULL, NULL);
	struct transport *transport = open_to(udp_switch_port(sw));

	fn(transport);
	transport->ops->close(transport);
	udp_switch_stop(sw);
}

#define CASE(name)                                                                                 \
	static void udp__##name(void **state)                                                      \
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

/* A socket that plays the switch, for what a switch would not do. */
static int peer_open(uint16_t *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*port = ntohs(addr.sin_port);
	return fd;
}

static void udp_send__train_arrives_as_packets(void **state)
{
	struct transport_pkt pkts[10] = { 0 };
	uint8_t buf[2048];
	uint16_t port;
	int fd = peer_open(&port);
	struct transport *transport = open_to(port);

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		pkts[i].len = i < 6 ? 500 : i == 6 ? 100 : 700 + i;
		pkts[i].data = transport->ops->alloc(transport, pkts[i].len);
		memset(pkts[i].data, (int)(17 * i + 1), pkts[i].len);
		/* What lies in a row can go as one train. */
		if (i)
			assert_ptr_equal(pkts[i].data, pkts[i - 1].data + pkts[i - 1].len);
	}
	assert_int_equal(transport->ops->send(transport, pkts, 10), 10);
	for (unsigned i = 0; i < 10; i++) {
		ssize_t len = recv(fd, buf, sizeof(buf), 0);

		assert_int_equal(len, i < 6 ? 500 : i == 6 ? 100 : 700 + i);
		assert_int_equal(buf[0], 17 * i + 1);
		assert_int_equal(buf[len - 1], 17 * i + 1);
	}
	transport->ops->close(transport);
	close(fd);
}

static unsigned notes;
static char noted[256];

static void note(const char *text)
{
	notes++;
	snprintf(noted, sizeof(noted), "%s", text);
}

/* Sends DATA for slots first .. first + nr - 1 in one call; alone: the last of them. */
static void data_send(struct transport *transport, unsigned first, unsigned nr, bool alone)
{
	struct transport_pkt pkts[4];

	for (unsigned i = 0; i < nr; i++) {
		const struct wire_msg msg = { .type = WIRE_DATA,
					      .kind = WIRE_ADD32,
					      .job = 77,
					      .epoch = UINT64_C(0x123456789a),
					      .slot = (uint16_t)(first + i),
					      .round = 5,
					      .len = 32 };

		pkts[i].len = WIRE_HEADER + 32;
		pkts[i].alone = alone && i + 1 == nr;
		pkts[i].data = transport->ops->alloc(transport, pkts[i].len);
		memset(pkts[i].data, (int)first, pkts[i].len);
		wire_build(pkts[i].data, &msg);
	}
	assert_int_equal(transport->ops->send(transport, pkts, nr), nr);
}

/* The switch's answer for a slot. */
static void result_come(struct transport *transport, int fd, unsigned slot)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					.sin_port = htons(transport->port) };
	const struct wire_msg msg = { .type = WIRE_RESULT,
				      .kind = WIRE_ADD32,
				      .job = 77,
				      .epoch = UINT64_C(0x123456789a),
				      .slot = (uint16_t)slot,
				      .round = 5,
				      .len = 32 };
	uint8_t buf[WIRE_HEADER + 32] = { 0 };
	struct transport_pkt pkt;

	wire_build(buf, &msg);
	assert_int_equal(sendto(fd, buf, sizeof(buf), 0, (const struct sockaddr *)&to, sizeof(to)),
			 sizeof(buf));
	transport->ops->wait(transport, UINT64_C(5000000000));
	assert_int_equal(transport->ops->recv(transport, &pkt, 1), 1);
	transport->ops->release(transport);
}

/* How many messages the peer gets for what was sent, if trains are left as they are. */
static unsigned messages(int fd)
{
	uint8_t buf[4096];
	unsigned nr = 0;

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		nr++;
	return nr;
}

static struct transport *open_noted(int *fd)
{
	struct transport_params params = { .switch_ip = INADDR_LOOPBACK, .p = 1408, .note = note };
	struct transport_error error;
	struct transport *transport = NULL;
	const int on = 1;

	*fd = peer_open(&params.switch_port);
	assert_int_equal(setsockopt(*fd, SOL_UDP, UDP_GRO, &on, sizeof(on)), 0);
	assert_int_equal(transport_udp.open(&transport, &params, &error), 0);
	notes = 0;
	return transport;
}

static void udp_send__alone_is_no_train(void **state)
{
	int fd;
	struct transport *transport = open_noted(&fd);

	(void)state;
	data_send(transport, 0, 3, false);
	assert_int_equal(messages(fd), 1);
	data_send(transport, 3, 3, true);
	assert_int_equal(messages(fd), 2);
	transport->ops->close(transport);
	close(fd);
}

/* Nothing comes of trains; of the same packets alone it does. */
static void udp_send__trains_that_do_not_arrive(void **state)
{
	int fd;
	struct transport *transport = open_noted(&fd);

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(notes, 0);
		data_send(transport, 4 * i, 4, false);
		assert_int_equal(messages(fd), 1);
		data_send(transport, 4 * i + 3, 1, true);
		result_come(transport, fd, 4 * i + 3);
		messages(fd);
	}
	assert_int_equal(notes, 1);
	assert_non_null(strstr(noted, "ethtool -K"));
	assert_non_null(strstr(transport->text, "single packets"));
	data_send(transport, 24, 4, false);
	assert_int_equal(messages(fd), 4);
	transport->ops->close(transport);
	close(fd);
}

/* A rank that is late makes the lowest chunk go again; and one train that arrived proves it. */
static void udp_send__trains_that_arrive(void **state)
{
	int fd;
	struct transport *transport = open_noted(&fd);

	(void)state;
	data_send(transport, 0, 4, false);
	data_send(transport, 3, 1, true);
	result_come(transport, fd, 3);
	data_send(transport, 4, 4, false);
	data_send(transport, 4, 1, true);
	result_come(transport, fd, 4);
	result_come(transport, fd, 7);
	messages(fd);
	for (unsigned i = 2; i < 12; i++) {
		data_send(transport, 4 * i, 4, false);
		assert_int_equal(messages(fd), 1);
		data_send(transport, 4 * i + 3, 1, true);
		result_come(transport, fd, 4 * i + 3);
		messages(fd);
	}
	assert_int_equal(notes, 0);
	transport->ops->close(transport);
	close(fd);
}

static void udp_recv__only_from_the_switch(void **state)
{
	struct transport_pkt pkt;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint16_t port, other_port;
	int fd = peer_open(&port), other = peer_open(&other_port);
	struct transport *transport = open_to(port);

	(void)state;
	to.sin_port = htons(transport->port);
	assert_int_equal(sendto(other, "no", 2, 0, (const struct sockaddr *)&to, sizeof(to)), 2);
	assert_int_equal(sendto(fd, "yes", 3, 0, (const struct sockaddr *)&to, sizeof(to)), 3);
	transport->ops->wait(transport, UINT64_C(5000000000));
	assert_int_equal(transport->ops->recv(transport, &pkt, 1), 1);
	assert_int_equal(pkt.len, 3);
	transport->ops->release(transport);
	assert_int_equal(transport->ops->recv(transport, &pkt, 1), 0);
	transport->ops->close(transport);
	close(other);
	close(fd);
}

static void udp_send__nobody_listens(void **state)
{
	uint16_t port;
	int fd = peer_open(&port);
	struct transport *transport = open_to(port);
	struct transport_pkt pkt = { .len = 64 };

	(void)state;
	close(fd);
	for (unsigned i = 0; i < 200 && !transport->refused; i++) {
		pkt.data = transport->ops->alloc(transport, pkt.len);
		memset(pkt.data, 0, pkt.len);
		assert_int_equal(transport->ops->send(transport, &pkt, 1), 1);
		transport->ops->wait(transport, 1000000);
		transport->ops->recv(transport, &pkt, 1);
		transport->ops->release(transport);
		pkt.len = 64;
	}
	assert_true(transport->refused);
	assert_int_equal(transport->failed, 0);
	transport->ops->close(transport);
}

static void udp_open__no_such_interface(void **state)
{
	const struct transport_params params = { .switch_ip = INADDR_LOOPBACK,
						 .switch_port = 9,
						 .ifname = "nosuch0",
						 .p = 128,
						 .slots = 1 };
	struct transport_error error;
	struct transport *transport = NULL;

	(void)state;
	assert_int_equal(transport_udp.open(&transport, &params, &error), -ENODEV);
	assert_non_null(strstr(error.text, "TALLY_IFNAME=nosuch0"));
	assert_null(transport);
}

static void udp_open__local_port_taken(void **state)
{
	struct transport_params params = {
		.switch_ip = INADDR_LOOPBACK, .switch_port = 9, .ifname = "lo", .p = 128, .slots = 1
	};
	struct transport_error error;
	struct transport *transport = NULL;
	uint16_t port;
	int fd = peer_open(&port);

	(void)state;
	params.local_port = port;
	assert_int_equal(transport_udp.open(&transport, &params, &error), -EADDRINUSE);
	assert_non_null(strstr(error.text, "127.0.0.1"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp__join),
		cmocka_unit_test(udp__burst),
		cmocka_unit_test(udp__sizes),
		cmocka_unit_test(udp__few),
		cmocka_unit_test(udp__room),
		cmocka_unit_test(udp__too_large),
		cmocka_unit_test(udp__wait),
		cmocka_unit_test(udp__wake),
		cmocka_unit_test(udp_send__train_arrives_as_packets),
		cmocka_unit_test(udp_send__alone_is_no_train),
		cmocka_unit_test(udp_send__trains_that_do_not_arrive),
		cmocka_unit_test(udp_send__trains_that_arrive),
		cmocka_unit_test(udp_recv__only_from_the_switch),
		cmocka_unit_test(udp_send__nobody_listens),
		cmocka_unit_test(udp_open__no_such_interface),
		cmocka_unit_test(udp_open__local_port_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
