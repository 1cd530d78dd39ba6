// SPDX-License-Identifier: BSD-3-Clause
/*
 * lcore_test.c - the loop between ports that exist only here: replication, faults on purpose, ownership of buffers.
 *
 * Ports 0 and 2 are framed, port 1 is a socket.  What a port is told to send is copied, and its buffers go back, so
 * that a buffer lost or given back twice shows in the pools.
 */
#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/frame.h"
#include "proto/wire.h"
#include "switch/lcore.h"

enum {
	PORTS = 3,
	BOX = 2048,
	ROOM = 2048,
	BUFFERS = 700,
	P = 256,
	NR_VALUES = 32,
	IP_SWITCH = 0x0a0000fe,
	BASE_PORT = 7000,
};

/* Packets on their way to the switch, and those that it sent. */
struct box {
	unsigned nr, at;
	struct pkt pkts[BOX];
	uint8_t bytes[BOX][512];
};

static struct box inbox[PORTS], outbox[PORTS];
static struct pool_plain frames;
static struct lcore_port ports[PORTS];
static struct lcore lcore;
static void *memory[2];
static volatile sig_atomic_t wake;

static const uint8_t switch_mac[FRAME_MAC] = { 0x02, 0x74, 10, 0, 0, 254 };

/* At most 64, as every port; ends the loop when no port has anything. */
static unsigned fake_rx(struct port *port, struct pkt *pkts, unsigned max)
{
	struct box *box = &inbox[port->index];
	unsigned nr = 0;

	while (nr < max && box->at < box->nr)
		pkts[nr++] = box->pkts[box->at++];
	wake = inbox[0].at == inbox[0].nr && inbox[1].at == inbox[1].nr &&
	       inbox[2].at == inbox[2].nr;
	return nr;
}

static void fake_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	struct box *box = &outbox[port->index];

	for (unsigned i = 0; i < nr; i++) {
		assert_true(box->nr < BOX && pkts[i].len <= sizeof(box->bytes[0]));
		memcpy(box->bytes[box->nr], pkts[i].data, pkts[i].len);
		box->pkts[box->nr] = pkts[i];
		box->pkts[box->nr].data = box->bytes[box->nr];
		box->nr++;
		port->stats.tx++;
		if (port->framed) {
			assert_non_null(pkts[i].pool);
			/* Whoever still uses the buffer does so in vain. */
			memset(pkts[i].buf, 0xdd, ROOM);
			pkt_put(&pkts[i]);
		}
	}
}

static const struct port_ops fake_framed = { .framed = true, .rx = fake_rx, .tx = fake_tx };
static const struct port_ops fake_socket = { .framed = false, .rx = fake_rx, .tx = fake_tx };

static void rig_machines(void)
{
	struct pipe_params pipe = {
		.jobs_max = 4, .slots_max = 256, .values_bytes = 1 << 20, .p_max = P
	};
	struct fwd_params fwd = { .ip = IP_SWITCH,
				  .udp_port = WIRE_PORT,
				  .nr_ports = PORTS,
				  .fdb_max = 64,
				  .age_ns = UINT64_C(1) << 40 };
	struct pipe_time boot;

	lcore_time(&lcore);
	boot = lcore.now;
	boot.now_ns -= 1000000000;
	memcpy(fwd.mac, switch_mac, FRAME_MAC);
	memory[0] = aligned_alloc(64, (pipe_size(&pipe) + 63) / 64 * 64);
	memory[1] = aligned_alloc(64, (fwd_size(&fwd) + 63) / 64 * 64);
	assert_true(memory[0] && memory[1]);
	memset(memory[0], 0, pipe_size(&pipe));
	memset(memory[1], 0, fwd_size(&fwd));
	lcore.pipe = pipe_init(memory[0], &pipe, &boot);
	lcore.fwd = fwd_init(memory[1], &fwd);
	assert_true(lcore.pipe && lcore.fwd);
}

static int rig_open(void **state)
{
	(void)state;
	memset(&lcore, 0, sizeof(lcore));
	memset(ports, 0, sizeof(ports));
	assert_int_equal(pool_plain_init(&frames, BUFFERS, ROOM), 0);
	assert_int_equal(pool_plain_init(&lcore.spares, LCORE_SPARES, WIRE_MSG_MAX), 0);
	for (uint16_t i = 0; i < PORTS; i++) {
		inbox[i].nr = inbox[i].at = outbox[i].nr = 0;
		ports[i].port = (struct port){
			.ops = i == 1 ? &fake_socket : &fake_framed,
			.framed = i != 1,
			.index = i,
			.mtu = 1500,
			.fd = -1,
			.pool = i == 1 ? NULL : &frames.pool,
		};
	}
	lcore.ports = ports;
	lcore.nr_ports = PORTS;
	lcore.ip = IP_SWITCH;
	memcpy(lcore.mac, switch_mac, FRAME_MAC);
	assert_int_equal(stage_init(&lcore), 0);
	rig_machines();
	return 0;
}

static int rig_close(void **state)
{
	uint64_t rx = 0, verdicts = 0;

	(void)state;
	lcore_drain(&lcore);
	for (unsigned i = 0; i < PORTS; i++)
		rx += ports[i].port.stats.rx;
	for (unsigned i = 0; i < COUNTER_NR; i++)
		verdicts += lcore.counters.v[i] + pipe_counters(lcore.pipe)->v[i];
	assert_int_equal(rx, verdicts);
	assert_int_equal(frames.nr_free, BUFFERS);
	assert_int_equal(lcore.spares.nr_free, LCORE_SPARES);
	assert_int_equal(lcore.nr_held, 0);
	assert_int_equal(lcore.stage.buffers.nr_free, STAGE_BUFFERS);
	stage_fini(&lcore);
	pool_plain_fini(&frames);
	pool_plain_fini(&lcore.spares);
	free(memory[0]);
	free(memory[1]);
	return 0;
}

/* Everything that waits is taken in. */
static void rig_run(void)
{
	wake = 0;
	lcore_run(&lcore, &wake);
}

/* Each rank has an address of its own; port p of the switch is where it lives. */
static void rank_send(unsigned p, unsigned wid, const uint8_t *payload, size_t len)
{
	struct box *box = &inbox[p];
	struct pkt *pkt = &box->pkts[box->nr];
	struct frame_udp udp = {
		.src = { 0x02, 0, 0, 0, 0, (uint8_t)wid },
		.ip_src = 0x0a000001 + wid,
		.ip_dst = IP_SWITCH,
		.port_src = (uint16_t)(BASE_PORT + wid),
		.port_dst = WIRE_PORT,
	};

	assert_true(box->nr < BOX);
	*pkt = (struct pkt){ .data = box->bytes[box->nr],
			     .len = (uint32_t)len,
			     .cap = sizeof(box->bytes[0]) };
	box->nr++;
	pkt->flow =
		(struct flow){ .ip = udp.ip_src, .udp_port = udp.port_src, .port = (uint16_t)p };
	if (p == 1) {
		memcpy(pkt->data, payload, len);
		return;
	}
	assert_true(frames.pool.get(&frames.pool, pkt));
	memcpy(udp.dst, switch_mac, FRAME_MAC);
	memcpy(pkt->data + FRAME_HEADERS, payload, len);
	pkt->len = (uint32_t)frame_udp_build(pkt->data, &udp, len);
	pkt->flow = (struct flow){ .port = (uint16_t)p };
	pkt->verify = true;
}

static int32_t value(unsigned wid, unsigned slot, unsigned i)
{
	return (int32_t)(wid * 1000003 + slot * 911 + i * 7 + 1);
}

static void rank_data(unsigned p, unsigned wid, unsigned slot)
{
	const struct job *job = pipe_job(lcore.pipe, 0);
	struct wire_msg msg = { .type = WIRE_DATA,
				.kind = WIRE_ADD32,
				.job = job->handle,
				.epoch = job->epoch,
				.slot = (uint16_t)slot,
				.wid = (uint16_t)wid,
				.desc = 9 };
	uint8_t buf[WIRE_HEADER + 4 * NR_VALUES];

	wire_build(buf, &msg);
	for (unsigned i = 0; i < NR_VALUES; i++)
		wire_put32(buf + WIRE_HEADER + 4 * i, (uint32_t)value(wid, slot, i));
	rank_send(p, wid, buf, sizeof(buf));
}

/* Forms a job of n ranks: rank r lives at port where[r]. */
static void rig_form(const unsigned *where, unsigned n)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_join join = { .world = (uint16_t)n,
				  .slots = 128,
				  .p = P,
				  .nr_ports = 1,
				  .nr_ranges = 1,
				  .ranges = { { 0, (uint16_t)n } },
				  .name = "job" };

	for (unsigned k = 0; k <= n; k++) {
		unsigned wid = k ? k - 1 : 0;

		join.inc = 100 + wid;
		join.port = (uint16_t)(BASE_PORT + wid);
		join.base = k ? pipe_job(lcore.pipe, 0)->epoch - 1 : 0;
		rank_send(where[wid], wid, buf, wire_join_build(buf, (uint16_t)wid, &join));
		rig_run();
	}
	assert_true(pipe_job(lcore.pipe, 0)->running);
	for (unsigned i = 0; i < PORTS; i++)
		outbox[i].nr = 0;
}

/* How many RESULTs of slot rank wid of n was sent at port p; each is right to the last bit. */
static unsigned results_at(unsigned p, unsigned wid, unsigned slot, unsigned n)
{
	unsigned nr = 0;

	for (unsigned k = 0; k < outbox[p].nr; k++) {
		struct pkt *pkt = &outbox[p].pkts[k];
		struct frame frame = { .payload = pkt->data,
				       .len = pkt->len,
				       .ip_dst = pkt->flow.ip,
				       .port_dst = pkt->flow.udp_port };
		struct wire_msg msg;

		if (p != 1) {
			assert_int_equal(frame_parse(&frame, pkt->data, pkt->len, true), FRAME_OK);
			assert_memory_equal(frame.src, switch_mac, FRAME_MAC);
			assert_int_equal(frame.dst[5] + 0x0a000001, frame.ip_dst);
			assert_int_equal(frame.ip_src, IP_SWITCH);
			assert_int_equal(frame.port_src, WIRE_PORT);
		}
		assert_int_equal(wire_parse(&msg, frame.payload, frame.len), WIRE_OK);
		if (frame.ip_dst != 0x0a000001 + wid || frame.port_dst != BASE_PORT + wid ||
		    msg.slot != slot || msg.type != WIRE_RESULT)
			continue;
		assert_int_equal(msg.len, 4 * NR_VALUES);
		for (unsigned i = 0; i < NR_VALUES; i++) {
			int32_t sum = 0;

			for (unsigned r = 0; r < n; r++)
				sum += value(r, slot, i);
			assert_int_equal((int32_t)wire_get32(msg.payload + 4 * i), sum);
		}
		nr++;
	}
	return nr;
}

/* Whoever is last, and wherever it lives: one right result for everybody. */
static void lcore__multicast_over_all_kinds_of_ports(void **state)
{
	static const unsigned where[] = { 0, 0, 1, 2, 1 };

	(void)state;
	rig_form(where, 5);
	for (unsigned last = 0; last < 5; last++) {
		for (unsigned k = 1; k <= 5; k++) {
			unsigned wid = (last + k) % 5;

			rank_data(where[wid], wid, 32 + last);
			rig_run();
		}
		for (unsigned wid = 0; wid < 5; wid++)
			assert_int_equal(results_at(where[wid], wid, 32 + last, 5), 1);
	}
	assert_int_equal(outbox[0].nr + outbox[1].nr + outbox[2].nr, 25);
	assert_int_equal(pipe_counters(lcore.pipe)->v[COUNTER_completed], 5);
}

/* A burst whose results are more than a queue holds. */
static void lcore__more_results_than_a_queue(void **state)
{
	static const unsigned where[] = { 0, 0, 0, 0, 0, 1 };

	(void)state;
	rig_form(where, 6);
	for (unsigned wid = 0; wid < 6; wid++) {
		for (unsigned slot = 32; slot < 32 + PIPE_BURST; slot++)
			rank_data(where[wid], wid, slot);
		rig_run();
	}
	for (unsigned wid = 0; wid < 6; wid++)
		for (unsigned slot = 32; slot < 32 + PIPE_BURST; slot++)
			assert_int_equal(results_at(where[wid], wid, slot, 6), 1);
}

static void faults_set(struct lcore_faults *faults, double loss, double dup, double reorder)
{
	struct impair_params params = { .loss = loss, .dup = dup, .reorder = reorder, .seed = 3 };

	impair_init(&faults->impair, &params);
}

/* Faults at every port in both directions: whatever arrives is right, nothing leaks, everything is counted. */
static void lcore__faults_on_purpose(void **state)
{
	static const unsigned where[] = { 0, 1, 2 };
	unsigned nr = 0;

	(void)state;
	rig_form(where, 3);
	for (unsigned i = 0; i < PORTS; i++) {
		faults_set(&ports[i].in, 0.2, 0.2, 0.3);
		faults_set(&ports[i].out, 0.2, 0.2, 0.3);
	}
	for (unsigned again = 0; again < 3; again++) {
		for (unsigned wid = 0; wid < 3; wid++)
			for (unsigned slot = 32; slot < 132; slot++)
				rank_data(where[wid], wid, slot);
		rig_run();
		lcore_drain(&lcore);
	}
	for (unsigned wid = 0; wid < 3; wid++)
		for (unsigned slot = 32; slot < 132; slot++)
			nr += results_at(where[wid], wid, slot, 3);
	assert_true(nr > 250);
	for (unsigned i = 0; i < PORTS; i++) {
		assert_true(ports[i].in.impair.nr_lost && ports[i].in.impair.nr_duped);
		assert_true(ports[i].out.impair.nr_lost && ports[i].out.impair.nr_reordered);
	}
	assert_int_equal(lcore.counters.v[COUNTER_impaired], ports[0].in.impair.nr_lost +
								     ports[1].in.impair.nr_lost +
								     ports[2].in.impair.nr_lost);
}

/* On the way in and out of both kinds of ports for an hour, and, as the switch ends, in order. */
static void lcore__held_back(void **state)
{
	static const unsigned where[] = { 0, 1 };

	(void)state;
	rig_form(where, 2);
	for (unsigned i = 0; i < PORTS; i++) {
		const struct impair_params params = { .delay_ns = UINT64_C(3600000000000) };

		impair_init(&ports[i].in.impair, &params);
		impair_init(&ports[i].out.impair, &params);
	}
	for (unsigned slot = 32; slot < 132; slot++) {
		rank_data(0, 0, slot);
		rank_data(1, 1, slot);
	}
	rig_run();
	assert_int_equal(lcore.nr_held, 200);
	assert_int_equal(outbox[0].nr + outbox[1].nr, 0);
	lcore_drain(&lcore);
	assert_int_equal(outbox[0].nr, 100);
	assert_int_equal(outbox[1].nr, 100);
	for (unsigned slot = 32; slot < 132; slot++) {
		assert_int_equal(wire_get16(outbox[1].bytes[slot - 32] + WIRE_OFF_SLOT), slot);
		assert_int_equal(results_at(0, 0, slot, 2), 1);
		assert_int_equal(results_at(1, 1, slot, 2), 1);
	}
}

static uint64_t virtual_ns;

static uint64_t virtual_clock(void)
{
	return virtual_ns;
}

/* By a clock of the owner's: a round does what is due then, and says when the next thing is. */
static void lcore_turn__in_virtual_time(void **state)
{
	static const unsigned where[] = { 0, 1 };
	const struct impair_params params = { .delay_ns = 5000 };

	(void)state;
	rig_form(where, 2);
	virtual_ns = lcore.now.now_ns;
	lcore.clock = virtual_clock;
	lcore.wall_base_ns = UINT64_C(1700000000000000000) - virtual_ns;
	assert_int_equal(lcore_turn(&lcore), UINT64_MAX);
	impair_init(&ports[0].in.impair, &params);
	rank_data(0, 0, 40);
	rank_data(1, 1, 40);
	assert_int_equal(lcore_turn(&lcore), virtual_ns + 5000);
	assert_int_equal(lcore.now.now_ns, virtual_ns);
	assert_true(lcore.now.wall_ms / 10 == 170000000000);
	virtual_ns += 4999;
	assert_int_equal(lcore_turn(&lcore), virtual_ns + 1);
	assert_int_equal(outbox[1].nr, 0);
	virtual_ns++;
	assert_int_equal(lcore_turn(&lcore), UINT64_MAX);
	assert_int_equal(results_at(0, 0, 40, 2), 1);
	assert_int_equal(results_at(1, 1, 40, 2), 1);
	lcore.clock = NULL;
}

/*
 * On framed ports whatever is corrupted is dropped, or it was not the payload; so results that come are right, and
 * those that are corrupted on their way out would be dropped by whoever receives them.
 */
static void lcore__corrupted_frames(void **state)
{
	static const unsigned where[] = { 0, 1, 2 };
	uint64_t dropped = 0;

	(void)state;
	rig_form(where, 3);
	for (unsigned i = 0; i < PORTS; i += 2)
		impair_init(&ports[i].in.impair,
			    &(struct impair_params){ .corrupt = 0.5, .seed = i });
	for (unsigned again = 0; again < 12; again++) {
		for (unsigned wid = 0; wid < 3; wid++)
			for (unsigned slot = 32; slot < 132; slot++)
				rank_data(where[wid], wid, slot);
		rig_run();
	}
	for (unsigned slot = 32; slot < 132; slot++)
		assert_true(results_at(1, 1, slot, 3) > 0);
	dropped = lcore.counters.v[COUNTER_udp_checksum] + lcore.counters.v[COUNTER_ip_checksum];
	assert_true(dropped > 500);
	assert_true(dropped <= ports[0].in.impair.nr_corrupted + ports[2].in.impair.nr_corrupted);
}

/* Corrupted so that the checksum is right: nobody notices here, and the sums are wrong. */
static void lcore__corrupted_under_a_right_checksum(void **state)
{
	static const unsigned where[] = { 0 };
	unsigned wrong = 0;

	(void)state;
	rig_form(where, 1);
	impair_init(&ports[0].in.impair, &(struct impair_params){ .corrupt_checked = 1 });
	for (unsigned slot = 32; slot < 132; slot++)
		rank_data(0, 0, slot);
	rig_run();
	assert_int_equal(lcore.counters.v[COUNTER_udp_checksum], 0);
	for (unsigned k = 0; k < outbox[0].nr; k++) {
		const uint8_t *values = outbox[0].bytes[k] + FRAME_HEADERS + WIRE_HEADER;
		unsigned slot = wire_get16(outbox[0].bytes[k] + FRAME_HEADERS + WIRE_OFF_SLOT);

		for (unsigned i = 0; i < NR_VALUES; i++)
			wrong += (int32_t)wire_get32(values + 4 * i) != value(0, slot, i);
	}
	assert_true(wrong > 50);
}

/* What the switch says by itself, at both kinds of ports, lost, twice and late: no buffer is given back twice. */
static void lcore__faults_of_own_messages(void **state)
{
	static const unsigned where[] = { 0, 1 };
	static const double faults[][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };

	(void)state;
	rig_form(where, 2);
	for (unsigned i = 0; i < 6; i++) {
		const struct job *job = pipe_job(lcore.pipe, 0);
		struct wire_msg msg = { .type = WIRE_KEEPALIVE,
					.job = job->handle,
					.epoch = job->epoch - 1,
					.wid = (uint16_t)(i % 2),
					.len = WIRE_BODY };
		uint8_t buf[WIRE_HEADER + WIRE_BODY] = { 0 };

		faults_set(&ports[i % 2].out, faults[i / 2][0], faults[i / 2][1], faults[i / 2][2]);
		wire_build(buf, &msg);
		rank_send(where[i % 2], i % 2, buf, sizeof(buf));
		rig_run();
	}
	lcore_drain(&lcore);
	assert_int_equal(lcore.spares.nr_free, LCORE_SPARES);
	assert_int_equal(outbox[0].nr, 3);
	assert_int_equal(outbox[1].nr, 3);
}

static void lcore__all_lost(void **state)
{
	static const unsigned where[] = { 0 };

	(void)state;
	rig_form(where, 1);
	faults_set(&ports[0].in, 1, 0, 0);
	for (unsigned slot = 32; slot < 42; slot++)
		rank_data(0, 0, slot);
	rig_run();
	assert_int_equal(outbox[0].nr, 0);
	assert_int_equal(lcore.counters.v[COUNTER_impaired], 10);
}

/* To an address that nobody has: a copy to every other framed port, and none to a socket. */
static void lcore__flood(void **state)
{
	uint8_t payload[32] = { 1 };
	struct pkt *pkt;

	(void)state;
	rank_send(0, 3, payload, sizeof(payload));
	pkt = &inbox[0].pkts[0];
	memcpy(pkt->data, (const uint8_t[FRAME_MAC]){ 0x02, 9, 9, 9, 9, 9 }, FRAME_MAC);
	rig_run();
	assert_int_equal(outbox[0].nr, 0);
	assert_int_equal(outbox[1].nr, 0);
	assert_int_equal(outbox[2].nr, 1);
	assert_int_equal(outbox[2].pkts[0].len, FRAME_HEADERS + sizeof(payload));
	assert_int_equal(lcore.counters.v[COUNTER_flooded], 1);
}

/* What another port's MTU cannot carry is dropped there, and counted. */
static void lcore__too_big_for_the_way_out(void **state)
{
	uint8_t payload[400] = { 1 };

	(void)state;
	ports[2].port.mtu = 300;
	rank_send(0, 3, payload, sizeof(payload));
	memcpy(inbox[0].pkts[0].data, (const uint8_t[FRAME_MAC]){ 0x02, 9, 9, 9, 9, 9 }, FRAME_MAC);
	rig_run();
	assert_int_equal(outbox[2].nr, 0);
	assert_int_equal(ports[2].port.stats.tx_too_big, 1);
}

static uint64_t look_now_ns;
static unsigned nr_looks;

static uint64_t look_clock(void)
{
	return look_now_ns;
}

static void fake_look(struct port *port)
{
	port->gone = ++nr_looks % 2;
}

/* A port that can be looked at is so every 100 ms, and not at every burst. */
static void lcore__looks_at_interfaces(void **state)
{
	static const struct port_ops looked = {
		.framed = true, .rx = fake_rx, .tx = fake_tx, .look = fake_look
	};
	uint8_t payload[32] = { 1 };

	(void)state;
	look_now_ns = lcore.now.now_ns;
	lcore.clock = look_clock;
	ports[2].port.ops = &looked;
	nr_looks = 0;
	for (unsigned i = 0; i < 21; i++) {
		inbox[0].nr = inbox[0].at = outbox[2].nr = 0;
		rank_send(0, 3, payload, sizeof(payload));
		lcore_turn(&lcore);
		assert_int_equal(nr_looks, 1 + i / 10);
		assert_int_equal(ports[2].port.gone, nr_looks % 2);
		look_now_ns += 10000000;
	}
	lcore.clock = NULL;
}

static void lcore__longer_than_any_buffer(void **state)
{
	uint8_t payload[32] = { 1 };

	(void)state;
	rank_send(0, 3, payload, sizeof(payload));
	inbox[0].pkts[0].too_long = true;
	rig_run();
	assert_int_equal(lcore.counters.v[COUNTER_frame_long], 1);
}

/* Said once for each port, and only of what a worker sends. */
static void lcore__names_the_port_of_trains(void **state)
{
	uint8_t payload[400] = { 1 };
	struct pkt *pkt;

	(void)state;
	ports[0].port.mtu = 300;
	rank_send(0, 3, payload, sizeof(payload));
	pkt = &inbox[0].pkts[0];
	wire_put16(pkt->data + FRAME_ETH + FRAME_IPV4 + 2, WIRE_PORT + 1);
	rig_run();
	assert_int_equal(lcore.counters.v[COUNTER_frame_long], 1);
	assert_false(ports[0].told_train);
	rank_send(0, 3, payload, sizeof(payload));
	rig_run();
	assert_int_equal(lcore.counters.v[COUNTER_frame_long], 2);
	assert_true(ports[0].told_train);
	assert_false(ports[2].told_train);
}

static void lcore__arp_that_claims_the_switchs_address(void **state)
{
	uint8_t payload[100] = { 1 };
	struct pkt *pkt;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rank_send(0, 3, payload, sizeof(payload));
		pkt = &inbox[0].pkts[inbox[0].nr - 1];
		pkt->len =
			(uint32_t)frame_arp_request(pkt->data,
						    (const uint8_t[FRAME_MAC]){ 2, 7, 7, 7, 7, 7 },
						    IP_SWITCH, IP_SWITCH);
	}
	rig_run();
	assert_int_equal(lcore.counters.v[COUNTER_claimed], 2);
	assert_int_equal(outbox[0].nr + outbox[2].nr, 0);
	assert_true(lcore.claim_ns > 0);
}

/* How many packets a capture has, each with a stamp of this run, or 1 ns later if it was sent; it is removed. */
static unsigned captured(const char *dir, const char *name, uint64_t from_ns)
{
	char path[128], why[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const u_char *data;
	unsigned nr = 0;
	pcap_t *pcap;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, why);
	assert_non_null(pcap);
	for (; pcap_next_ex(pcap, &header, &data) == 1; nr++)
		assert_in_range((uint64_t)header->ts.tv_sec * 1000000000 +
					(uint64_t)header->ts.tv_usec,
				from_ns, lcore_wall_ns(&lcore) + 1);
	pcap_close(pcap);
	unlink(path);
	return nr;
}

/* Captured is what the machines were given, and what they said: so a replay needs no faults. */
static void lcore__captures_without_faults(void **state)
{
	static const unsigned where[] = { 0, 2 };
	char dir[] = "/tmp/tally-lcore.XXXXXX";
	const struct capture_params params = { .dir = dir, .format = CAPFILE_PCAP };
	struct port_error err;
	uint64_t from_ns, taken;

	(void)state;
	assert_non_null(mkdtemp(dir));
	rig_form(where, 2);
	from_ns = lcore_wall_ns(&lcore);
	taken = ports[0].port.stats.rx;
	ports[0].capture_in = capture_open(&params, 0, "in", &err);
	ports[2].capture_out = capture_open(&params, 2, "out", &err);
	assert_true(ports[0].capture_in && ports[2].capture_out);
	faults_set(&ports[0].in, 0.3, 0.5, 0.2);
	faults_set(&ports[2].out, 1, 0, 0);
	for (unsigned wid = 0; wid < 2; wid++)
		for (unsigned slot = 32; slot < 132; slot++)
			rank_data(where[wid], wid, slot);
	rig_run();
	lcore_drain(&lcore);
	assert_int_equal(capture_close(ports[0].capture_in, &err), 0);
	assert_int_equal(capture_close(ports[2].capture_out, &err), 0);
	taken = ports[0].port.stats.rx - taken - ports[0].in.impair.nr_lost;
	assert_true(ports[0].in.impair.nr_lost && ports[0].in.impair.nr_duped);
	assert_int_equal(captured(dir, "port0_in.pcap", from_ns), taken);
	assert_int_equal(outbox[2].nr, 0);
	assert_int_equal(captured(dir, "port2_out.pcap", from_ns), ports[2].out.impair.nr_lost);
	assert_true(ports[2].out.impair.nr_lost > 50);
	assert_int_equal(rmdir(dir), 0);
	ports[0].capture_in = ports[2].capture_out = NULL;
}

static void lcore__counts_jobs(void **state)
{
	static const unsigned where[] = { 0 };

	(void)state;
	rig_form(where, 1);
	rig_form(where, 1);
	assert_int_equal(lcore.nr_jobs, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lcore__multicast_over_all_kinds_of_ports),
		TEST(lcore__more_results_than_a_queue),
		TEST(lcore__faults_on_purpose),
		TEST(lcore__held_back),
		TEST(lcore_turn__in_virtual_time),
		TEST(lcore__corrupted_frames),
		TEST(lcore__corrupted_under_a_right_checksum),
		TEST(lcore__faults_of_own_messages),
		TEST(lcore__all_lost),
		TEST(lcore__flood),
		TEST(lcore__too_big_for_the_way_out),
		TEST(lcore__looks_at_interfaces),
		TEST(lcore__longer_than_any_buffer),
		TEST(lcore__names_the_port_of_trains),
		TEST(lcore__arp_that_claims_the_switchs_address),
		TEST(lcore__captures_without_faults),
		TEST(lcore__counts_jobs),
	};

	return cmocka_run_group_tests_name("lcore", tests, NULL, NULL);
}
