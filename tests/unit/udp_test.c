// SPDX-License-Identifier: BSD-3-Clause
/* udp_test.c - the kernel UDP port on loopback: trains out, trains in, and what happens where trains fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/io/udp.h"

enum { PEERS = UDP_PEERS + 6, PACKETS = UDP_BURST + 44, SIZE_MAX_TEST = 1200, WAIT_MS = 2000 };

static struct port port;
static struct port_error err;
static int peers[PEERS];
static struct sockaddr_in addrs[PEERS];
static uint8_t bytes[PACKETS][SIZE_MAX_TEST];
static struct pkt pkts[PACKETS];

static int rig_open(void **state)
{
	socklen_t len = sizeof(addrs[0]);

	(void)state;
	memset(&port, 0, sizeof(port));
	/* Port 0: any that is free. */
	port.spec = (struct port_spec){ .form = PORT_UDP, .ip = INADDR_LOOPBACK };
	port.ops = &port_udp_ops;
	assert_int_equal(port_udp_ops.check(&port, &err), 0);
	for (unsigned i = 0; i < PEERS; i++) {
		addrs[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
		peers[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_true(peers[i] >= 0);
		assert_int_equal(bind(peers[i], (struct sockaddr *)&addrs[i], sizeof(addrs[i])), 0);
		assert_int_equal(getsockname(peers[i], (struct sockaddr *)&addrs[i], &len), 0);
	}
	return 0;
}

static int rig_close(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PEERS; i++)
		close(peers[i]);
	port.ops->close(&port);
	return 0;
}

/* Packet k, every byte of which says which it is, to a peer. */
static void packet(unsigned k, uint8_t *data, uint32_t len, unsigned peer)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(k * 31 + i * 7);
	wire_put16(data, (uint16_t)k);
	pkts[k] = (struct pkt){
		.data = data,
		.len = len,
		.cap = len,
		.flow = { .ip = INADDR_LOOPBACK, .udp_port = ntohs(addrs[peer].sin_port) },
	};
}

static void wait_input(int fd)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&in, 1, WAIT_MS), 1);
}

/* The peer gets exactly the packets for it, in order. */
static void check_peer(unsigned peer, unsigned nr)
{
	uint8_t buf[2 * SIZE_MAX_TEST];

	for (unsigned k = 0; k < nr; k++) {
		if (pkts[k].flow.udp_port != ntohs(addrs[peer].sin_port))
			continue;
		wait_input(peers[peer]);
		assert_int_equal(recv(peers[peer], buf, sizeof(buf), 0), pkts[k].len);
		assert_memory_equal(buf, pkts[k].data, pkts[k].len);
	}
	assert_int_equal(recv(peers[peer], buf, sizeof(buf), MSG_DONTWAIT), -1);
}

static void udp_tx__many_sizes_to_three(void **state)
{
	static const uint32_t sizes[] = { 300, 300, 300, 300, 120, 1200, 1200,
					  54,  54,  54,	 54,  300, 22 };

	(void)state;
	for (unsigned k = 0; k < 120; k++)
		packet(k, bytes[k], sizes[k % 13], k % 7 % 3);
	port.ops->tx(&port, pkts, 120);
	for (unsigned i = 0; i < 3; i++)
		check_peer(i, 120);
	assert_int_equal(port.stats.tx, 120);
	assert_int_equal(port.stats.tx_dropped, 0);
	assert_int_equal(port.stats.tx_single, 0);
}

/* Back to back in memory, as the results of a received train. */
static void udp_tx__contiguous(void **state)
{
	uint8_t *train = bytes[0];

	(void)state;
	for (unsigned k = 0; k < 130; k++)
		packet(k, train + (size_t)k * 200, 200, 1);
	port.ops->tx(&port, pkts, 130);
	check_peer(1, 130);
	assert_int_equal(port.stats.tx_bytes, 130 * 200);
}

static void udp_tx__more_than_the_tables_hold(void **state)
{
	(void)state;
	for (unsigned k = 0; k < PACKETS; k++)
		packet(k, bytes[k], 100, k % PEERS);
	port.ops->tx(&port, pkts, PACKETS);
	for (unsigned i = 0; i < PEERS; i++)
		check_peer(i, PACKETS);
	assert_int_equal(port.stats.tx, PACKETS);
}

/* The kernel refuses trains of a socket without checksums: packets go one by one, soon without another try. */
static void udp_tx__trains_fail(void **state)
{
	struct udp *udp = port.priv;
	int on = 1;

	(void)state;
	if (!udp->send.gso)
		skip();
	port.note[0] = '\0';
	assert_int_equal(setsockopt(udp->fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	for (unsigned again = 0; again < UDP_GSO_FAILS; again++) {
		assert_true(udp->send.gso);
		assert_int_equal(port.note[0], 0);
		for (unsigned k = 0; k < 10; k++)
			packet(k, bytes[k], k < 9 ? 300 : 100, 2);
		port.ops->tx(&port, pkts, 10);
		check_peer(2, 10);
	}
	assert_false(udp->send.gso);
	assert_non_null(strstr(port.note, "UDP GSO does not work on the way"));
	assert_int_equal(port.stats.tx_single, 10 * UDP_GSO_FAILS);
	port.ops->tx(&port, pkts, 10);
	check_peer(2, 10);
	assert_int_equal(port.stats.tx_single, 10 * UDP_GSO_FAILS);
	assert_int_equal(port.stats.tx, 10 * (UDP_GSO_FAILS + 1));
	assert_int_equal(port.stats.tx_dropped, 0);
}

static void udp_tx__too_big(void **state)
{
	static uint8_t big[65508];

	(void)state;
	packet(0, bytes[0], 100, 0);
	packet(1, big, sizeof(big), 0);
	packet(2, bytes[2], 100, 0);
	port.ops->tx(&port, pkts, 3);
	assert_int_equal(port.stats.tx, 2);
	assert_int_equal(port.stats.tx_dropped, 1);
	assert_int_equal(port.stats.tx_too_big, 1);
}

static unsigned receive(struct pkt *out, unsigned want)
{
	unsigned nr = 0;

	while (nr < want) {
		unsigned n = port.ops->rx(&port, out + nr, 64);

		if (!n)
			wait_input(port.fd);
		nr += n;
	}
	return nr;
}

/* Sends a train from peer 3 to the port; false if this kernel has none. */
static bool send_train(const uint8_t *data, size_t len, uint16_t size)
{
	struct sockaddr_in to;
	socklen_t to_len = sizeof(to);
	struct iovec iov = { (void *)(uintptr_t)data, len };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(size))] = { 0 };
	struct msghdr msg = { .msg_name = &to,
			      .msg_namelen = sizeof(to),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	assert_int_equal(getsockname(port.fd, (struct sockaddr *)&to, &to_len), 0);
	cmsg->cmsg_level = IPPROTO_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(cmsg), &size, sizeof(size));
	return sendmsg(peers[3], &msg, 0) == (ssize_t)len;
}

static void udp_rx__splits_trains(void **state)
{
	uint8_t *train = bytes[0];
	struct pkt out[128];

	(void)state;
	for (unsigned k = 0; k < 50; k++)
		packet(k, train + (size_t)k * 200, k < 49 ? 200 : 90, 0);
	if (!send_train(train, 49 * 200 + 90, 200))
		skip();
	assert_int_equal(receive(out, 50), 50);
	for (unsigned k = 0; k < 50; k++) {
		assert_int_equal(out[k].len, pkts[k].len);
		assert_memory_equal(out[k].data, pkts[k].data, pkts[k].len);
		assert_int_equal(out[k].flow.ip, INADDR_LOOPBACK);
		assert_int_equal(out[k].flow.udp_port, ntohs(addrs[3].sin_port));
		/* Nobody writes over the next one. */
		assert_true(k == 49 || out[k].pool || out[k].data + out[k].cap <= out[k + 1].data);
	}
}

/* Contributions without values may become results of any length. */
static void udp_rx__short_packets_have_room(void **state)
{
	struct udp *udp = port.priv;
	uint8_t *train = bytes[0];
	struct pkt out[64];

	(void)state;
	for (unsigned k = 0; k < 20; k++)
		packet(k, train + (size_t)k * 54, 54, 0);
	if (!send_train(train, 20 * 54, 54))
		skip();
	assert_int_equal(receive(out, 20), 20);
	for (unsigned k = 0; k < 20; k++) {
		assert_true(out[k].cap >= WIRE_MSG_MAX);
		memset(out[k].data + out[k].len, 0xdd, WIRE_MSG_MAX - out[k].len);
	}
	for (unsigned k = 0; k < 20; k++) {
		assert_memory_equal(out[k].data, pkts[k].data, 54);
		pkt_put(&out[k]);
	}
	assert_int_equal(udp->spares.nr_free, UDP_SPARES);
}

/* Told once per packet that nobody took. */
static void udp_gone__names_the_peer(void **state)
{
	struct flow gone;
	uint16_t where = ntohs(addrs[5].sin_port);

	(void)state;
	assert_false(port.ops->gone(&port, &gone));
	close(peers[5]);
	packet(0, bytes[0], 100, 5);
	packet(1, bytes[1], 100, 6);
	port.ops->tx(&port, pkts, 2);
	while (!port.ops->gone(&port, &gone)) {
		struct pollfd in = { .fd = port.fd, .events = POLLIN };
		struct pkt out[64];

		assert_int_equal(poll(&in, 1, WAIT_MS), 1);
		assert_int_equal(port.ops->rx(&port, out, 64), 0);
	}
	assert_int_equal(gone.ip, INADDR_LOOPBACK);
	assert_int_equal(gone.udp_port, where);
	check_peer(6, 2);
	peers[5] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(udp_tx__many_sizes_to_three),
		TEST(udp_tx__contiguous),
		TEST(udp_tx__more_than_the_tables_hold),
		TEST(udp_tx__trains_fail),
		TEST(udp_tx__too_big),
		TEST(udp_rx__splits_trains),
		TEST(udp_rx__short_packets_have_room),
		TEST(udp_gone__names_the_peer),
	};

	return cmocka_run_group_tests_name("udp", tests, NULL, NULL);
}
