// SPDX-License-Identifier: BSD-3-Clause
/*
 * parent_test.c - a leaf's way to its parent: it asks out of all framed ports, learns from answers alone, and loses
 * what it has to say before.
 */
#include "switch/parent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/frame.h"
#include "proto/wire.h"
#include "switch/egress.h"
#include "switch/lcore.h"

enum {
	PORTS = 3, /* port 1 is a socket */
	BUFFERS = 64,
	ROOM = 2048,
	SENT = 32,
	IP_LEAF = 0x0a0000fd,
	IP_PARENT = 0x0a0000fe,
	IP_RANK = 0x0a000007,
};
#define MS UINT64_C(1000000)

static struct lcore lcore;
static struct lcore_port ports[PORTS];
static struct pool_plain frames;
static void *memory;
static struct {
	unsigned nr;
	uint32_t len[SENT];
	uint8_t data[SENT][ROOM];
} sent[PORTS];

static const uint8_t leaf_mac[FRAME_MAC] = { 0x02, 0x74, 10, 0, 0, 253 };
static const uint8_t parent_mac[FRAME_MAC] = { 0x02, 0x74, 10, 0, 0, 254 };

static void fake_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		unsigned at = sent[port->index].nr++;

		assert_true(at < SENT && pkts[i].len <= ROOM);
		sent[port->index].len[at] = pkts[i].len;
		memcpy(sent[port->index].data[at], pkts[i].data, pkts[i].len);
		if (port->framed)
			pkt_put(&pkts[i]);
	}
}

static const struct port_ops fake_framed = { .framed = true, .tx = fake_tx };
static const struct port_ops fake_socket = { .tx = fake_tx };

static void rig_parent(bool framed)
{
	const struct flow flow = { .ip = IP_PARENT,
				   .udp_port = WIRE_PORT,
				   .port = framed ? PARENT_NO_PORT : 1 };

	parent_init(&lcore.parent, &flow, framed);
	pipe_set_parent(lcore.pipe, &lcore.parent.flow);
}

static int rig_open(void **state)
{
	struct pipe_params params = { .jobs_max = 2,
				      .slots_max = 128,
				      .values_bytes = 1 << 18,
				      .p_max = 256,
				      .leaf = true,
				      .inc = 77,
				      .parent_from = WIRE_PORT };
	struct pipe_time boot = { .now_ns = MS, .wall_ms = 1000000 };

	(void)state;
	memset(&lcore, 0, sizeof(lcore));
	memset(ports, 0, sizeof(ports));
	memset(sent, 0, sizeof(sent));
	assert_int_equal(pool_plain_init(&frames, BUFFERS, ROOM), 0);
	assert_int_equal(pool_plain_init(&lcore.spares, 8, WIRE_MSG_MAX), 0);
	for (uint16_t i = 0; i < PORTS; i++)
		ports[i].port = (struct port){
			.ops = i == 1 ? &fake_socket : &fake_framed,
			.framed = i != 1,
			.index = i,
			.mtu = 1500,
			.pool = i == 1 ? NULL : &frames.pool,
		};
	memory = aligned_alloc(64, (pipe_size(&params) + 63) / 64 * 64);
	assert_non_null(memory);
	memset(memory, 0, pipe_size(&params));
	lcore.pipe = pipe_init(memory, &params, &boot);
	assert_non_null(lcore.pipe);
	lcore.ports = ports;
	lcore.nr_ports = PORTS;
	lcore.ip = IP_LEAF;
	memcpy(lcore.mac, leaf_mac, FRAME_MAC);
	lcore.now = (struct pipe_time){ .now_ns = 1000 * MS, .wall_ms = 2000000 };
	rig_parent(true);
	return 0;
}

static int rig_close(void **state)
{
	(void)state;
	assert_int_equal(frames.nr_free, BUFFERS);
	assert_int_equal(lcore.spares.nr_free, 8);
	pool_plain_fini(&frames);
	pool_plain_fini(&lcore.spares);
	free(memory);
	return 0;
}

/* An ARP request of ip for target; op 2 makes it an answer. */
static void arp_in(uint16_t port, uint32_t ip, const uint8_t mac[FRAME_MAC], uint32_t target)
{
	uint8_t frame[FRAME_MIN];
	struct pkt pkt = { .data = frame, .flow = { .port = port } };

	pkt.len = (uint32_t)frame_arp_request(frame, mac, ip, target);
	frame[21] = 2;
	parent_learn(&lcore, &pkt);
}

static void parent_tick__asks_every_200_ms_out_of_framed_ports(void **state)
{
	uint8_t want[FRAME_MIN];

	(void)state;
	frame_arp_request(want, leaf_mac, IP_LEAF, IP_PARENT);
	parent_tick(&lcore);
	parent_tick(&lcore);
	lcore.now.now_ns += 199 * MS;
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 1);
	assert_int_equal(sent[1].nr, 0);
	assert_int_equal(sent[2].nr, 1);
	assert_int_equal(sent[2].len[0], FRAME_MIN);
	assert_memory_equal(sent[2].data[0], want, FRAME_MIN);
	lcore.now.now_ns += MS;
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 2);
}

static void parent_tick__seldom_once_found(void **state)
{
	(void)state;
	parent_tick(&lcore);
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	lcore.now.now_ns += 9999 * MS;
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 1);
	lcore.now.now_ns += MS;
	parent_tick(&lcore);
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 2);
}

static void parent_tick__socket_needs_none(void **state)
{
	(void)state;
	rig_parent(false);
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr + sent[1].nr + sent[2].nr, 0);
	assert_int_equal(lcore.parent.flow.port, 1);
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	assert_int_equal(lcore.parent.flow.port, 1);
}

static void parent_learn__another_machine_behind_its_port(void **state)
{
	static const uint8_t other_mac[FRAME_MAC] = { 0x02, 1, 2, 3, 4, 5 };

	(void)state;
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	assert_int_equal(lcore.parent.flow.port, 2);
	assert_memory_equal(lcore.parent.flow.mac, parent_mac, FRAME_MAC);
	/* It has been silent, is asked for, and the answer comes from another again. */
	lcore.now.now_ns += 1000 * MS;
	arp_in(2, IP_PARENT, other_mac, IP_RANK);
	assert_memory_equal(lcore.parent.flow.mac, parent_mac, FRAME_MAC);
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 1);
	lcore.now.now_ns += 199 * MS;
	arp_in(2, IP_PARENT, other_mac, IP_LEAF);
	assert_memory_equal(lcore.parent.flow.mac, parent_mac, FRAME_MAC);
	lcore.now.now_ns += MS;
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 2);
	arp_in(2, IP_PARENT, other_mac, IP_LEAF);
	assert_memory_equal(lcore.parent.flow.mac, other_mac, FRAME_MAC);
	assert_int_equal(lcore.parent.flow.port, 2);
}

/* A rank's port does not become the parent's, however long that is silent. */
static void parent_learn__behind_no_other_port(void **state)
{
	(void)state;
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	for (unsigned i = 0; i < 100; i++) {
		lcore.now.now_ns += 99 * MS;
		parent_tick(&lcore);
		arp_in(0, IP_PARENT, parent_mac, IP_LEAF);
		assert_int_equal(lcore.parent.flow.port, 2);
	}
}

/* The first that answers is it, unless the port was named. */
static void parent_init__behind_a_port(void **state)
{
	const struct flow flow = { .ip = IP_PARENT, .udp_port = WIRE_PORT, .port = 2 };

	(void)state;
	parent_init(&lcore.parent, &flow, true);
	assert_int_equal(lcore.parent.flow.port, PARENT_NO_PORT);
	parent_tick(&lcore);
	assert_int_equal(sent[0].nr, 0);
	assert_int_equal(sent[2].nr, 1);
	arp_in(0, IP_PARENT, parent_mac, IP_LEAF);
	assert_int_equal(lcore.parent.flow.port, PARENT_NO_PORT);
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	assert_int_equal(lcore.parent.flow.port, 2);
}

/* Whoever says that he has the parent's address gets nothing as long as that answers. */
static void parent_learn__from_no_other_station_while_it_answers(void **state)
{
	static const uint8_t other_mac[FRAME_MAC] = { 0x02, 1, 2, 3, 4, 5 };
	const struct flow rank = { .ip = IP_RANK, .port = 2 };
	struct flow here = { .ip = IP_PARENT, .port = 2 }, there = { .ip = IP_PARENT, .port = 0 };

	(void)state;
	memcpy(here.mac, parent_mac, FRAME_MAC);
	memcpy(there.mac, parent_mac, FRAME_MAC);
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	for (unsigned i = 0; i < 100; i++) {
		lcore.now.now_ns += 99 * MS;
		/* A result, or an answer; neither of somebody else's, nor from another port. */
		if (i % 12 == 3)
			parent_hear(&lcore, &here);
		else if (i % 12 == 11)
			arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
		parent_tick(&lcore);
		arp_in(i % 2 ? 0 : 2, IP_PARENT, other_mac, IP_LEAF);
		arp_in(0, IP_PARENT, parent_mac, IP_LEAF);
		assert_int_equal(lcore.parent.flow.port, 2);
		assert_memory_equal(lcore.parent.flow.mac, parent_mac, FRAME_MAC);
	}
	for (unsigned i = 0; i < 30; i++) {
		lcore.now.now_ns += 99 * MS;
		parent_hear(&lcore, &there);
		parent_hear(&lcore, &rank);
		arp_in(2, IP_PARENT, other_mac, IP_LEAF);
	}
	assert_memory_equal(lcore.parent.flow.mac, other_mac, FRAME_MAC);
}

/* A result of anybody but the parent at its port would be taken for the sum. */
static void parent__results_come_from_its_port_and_address(void **state)
{
	const struct wire_status refused = { .state = WIRE_REFUSED, .key = wire_job_key("job") };
	const uint64_t *counter = pipe_counters(lcore.pipe)->v;
	struct pipe_pkt pkt = { .cap = WIRE_MSG_MAX };
	struct wire_msg msg = { .type = WIRE_STATUS, .wid = WIRE_WID_NONE };
	uint8_t buf[WIRE_MSG_MAX];

	(void)state;
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	for (unsigned i = 0; i < 4; i++) {
		pkt.data = buf;
		pkt.len = (uint32_t)wire_status_build(buf, &msg, &refused, WIRE_BODY);
		pkt.flow = lcore.parent.flow;
		pkt.flow.port = i == 1 ? 0 : 2;
		pkt.flow.mac[5] ^= (uint8_t)(i == 2);
		pkt.flow.udp_port = (uint16_t)(WIRE_PORT + (i == 3));
		pipe_input(lcore.pipe, &pkt, 1, &lcore.now);
		assert_int_equal(counter[COUNTER_bad_direction], i);
	}
	assert_int_equal(counter[COUNTER_up_status] + counter[COUNTER_up_stale] +
				 counter[COUNTER_unknown_job],
			 1);
}

static void parent_learn__from_nobody_else(void **state)
{
	static const uint8_t group[FRAME_MAC] = { 0x03, 1, 2, 3, 4, 5 }, none[FRAME_MAC] = { 0 };
	uint8_t frame[FRAME_MIN];
	struct pkt pkt = { .data = frame };

	(void)state;
	arp_in(2, IP_RANK, parent_mac, IP_LEAF);
	arp_in(2, IP_PARENT, group, IP_LEAF);
	arp_in(2, IP_PARENT, none, IP_LEAF);
	frame_arp_request(frame, parent_mac, IP_PARENT, IP_LEAF);
	pkt.len = FRAME_ETH + FRAME_ARP - 1;
	parent_learn(&lcore, &pkt);
	pkt.len = FRAME_MIN;
	frame[12] = 0x86;
	parent_learn(&lcore, &pkt);
	assert_int_equal(lcore.parent.flow.port, PARENT_NO_PORT);
}

/* A rank's JOIN: the leaf wants to say something to its parent. */
static void join_in(uint64_t base)
{
	struct wire_join join = { .inc = 5,
				  .base = base,
				  .world = 1,
				  .slots = 4,
				  .p = 128,
				  .port = 9000,
				  .nr_ports = 1,
				  .nr_ranges = 1,
				  .ranges = { { 0, 1 } },
				  .name = "job" };
	uint8_t buf[WIRE_MSG_MAX];
	struct pipe_pkt pkt = {
		.data = buf,
		.cap = sizeof(buf),
		.flow = { .ip = IP_RANK, .udp_port = 9000, .port = 1 },
	};

	pkt.len = (uint32_t)wire_join_build(buf, 0, &join);
	pipe_input(lcore.pipe, &pkt, 1, &lcore.now);
	egress_status(&lcore);
	egress_flush(&lcore);
}

static void parent__lost_before_it_is_found(void **state)
{
	struct frame frame;

	(void)state;
	join_in(0);
	assert_int_equal(sent[0].nr + sent[2].nr, 0);
	assert_int_equal(sent[1].nr, 1);
	assert_true(lcore.parent.nr_early > 0);
	arp_in(2, IP_PARENT, parent_mac, IP_LEAF);
	lcore.now.now_ns += 100 * MS;
	join_in(0);
	assert_int_equal(sent[0].nr, 0);
	assert_true(sent[2].nr > 0);
	assert_int_equal(frame_parse(&frame, sent[2].data[0], sent[2].len[0], true), FRAME_OK);
	assert_memory_equal(frame.dst, parent_mac, FRAME_MAC);
	assert_memory_equal(frame.src, leaf_mac, FRAME_MAC);
	assert_int_equal(frame.ip_dst, IP_PARENT);
	assert_int_equal(frame.port_src, WIRE_PORT);
	assert_int_equal(frame.port_dst, WIRE_PORT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parent_tick__asks_every_200_ms_out_of_framed_ports),
		TEST(parent_tick__seldom_once_found),
		TEST(parent_tick__socket_needs_none),
		TEST(parent_learn__another_machine_behind_its_port),
		TEST(parent_learn__behind_no_other_port),
		TEST(parent_init__behind_a_port),
		TEST(parent_learn__from_no_other_station_while_it_answers),
		TEST(parent__results_come_from_its_port_and_address),
		TEST(parent_learn__from_nobody_else),
		TEST(parent__lost_before_it_is_found),
	};

	return cmocka_run_group_tests_name("parent", tests, NULL, NULL);
}
