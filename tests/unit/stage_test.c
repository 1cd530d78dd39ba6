// SPDX-License-Identifier: BSD-3-Clause
/*
 * stage_test.c - packets that meet faults on purpose: none is lost without being counted, no buffer is.
 *
 * Port 0 is framed, port 1 a socket.  Time is what the test says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/frame.h"
#include "proto/wire.h"
#include "switch/faults.h"
#include "switch/lcore.h"

enum { PORTS = 2, FRAMED = 0, SOCKET = 1, BUFFERS = 100, ROOM = 2048, LEN = 200 };
#define MS UINT64_C(1000000)

static struct lcore lcore;
static struct lcore_port ports[PORTS];
static struct pool_plain frames;
static struct port_error err;

static int rig_open(void **state)
{
	(void)state;
	memset(&lcore, 0, sizeof(lcore));
	memset(ports, 0, sizeof(ports));
	assert_int_equal(pool_plain_init(&frames, BUFFERS, ROOM), 0);
	for (uint16_t i = 0; i < PORTS; i++) {
		ports[i].port = (struct port){ .framed = i == FRAMED,
					       .index = i,
					       .mtu = 1500,
					       .fd = -1,
					       .spec = { .number = i },
					       .pool = i == FRAMED ? &frames.pool : NULL };
		impair_init(&ports[i].in.impair, &(struct impair_params){ .seed = 3 });
		impair_init(&ports[i].out.impair, &(struct impair_params){ .seed = 4 });
	}
	lcore.ports = ports;
	lcore.nr_ports = PORTS;
	lcore.now.now_ns = 1000 * MS;
	assert_int_equal(stage_init(&lcore), 0);
	return 0;
}

static int rig_close(void **state)
{
	(void)state;
	assert_int_equal(lcore.nr_held, 0);
	assert_int_equal(lcore.stage.nr_free, STAGE_PKTS);
	assert_int_equal(lcore.stage.buffers.nr_free, STAGE_BUFFERS);
	assert_int_equal(frames.nr_free, BUFFERS);
	stage_fini(&lcore);
	pool_plain_fini(&frames);
	return 0;
}

static void faults(const char *text)
{
	if (faults_apply(&lcore, text, &err))
		fail_msg("%s: %s", text, err.text);
}

/* Every byte of it tells which packet it is. */
static void fill(uint8_t *buf, uint32_t len, unsigned n)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(n * 59 + i * 7 + (n >> 8));
}

static bool filled(const uint8_t *buf, uint32_t len, unsigned n)
{
	for (uint32_t i = 0; i < len; i++)
		if (buf[i] != (uint8_t)(n * 59 + i * 7 + (n >> 8)))
			return false;
	return true;
}

/* The n-th packet: of a socket in borrowed bytes, which do not last. */
static void put_at(unsigned port, bool out, unsigned n)
{
	struct lcore_port *p = &ports[port];
	uint8_t bytes[LEN];
	struct pkt pkt = { .data = bytes, .len = LEN, .cap = LEN };

	if (port == FRAMED)
		assert_true(frames.pool.get(&frames.pool, &pkt));
	pkt.flow = (struct flow){ .ip = n, .port = (uint16_t)port };
	fill(pkt.data, LEN, n);
	stage_put(&lcore, p, out ? &p->out : &p->in, &pkt);
	/* One that goes on at once is to be taken at once. */
	if (port == SOCKET && (out ? &p->out : &p->in)->impair.params.delay_ns)
		memset(bytes, 0xee, LEN);
}

/* The number of the next packet, which is as it was; -1: none. */
static int take_at(unsigned port, bool out, bool all)
{
	struct lcore_port *p = &ports[port];
	struct pkt pkt;
	int n;

	if (!stage_take(&lcore, p, out ? &p->out : &p->in, all, &pkt))
		return -1;
	n = (int)pkt.flow.ip;
	assert_int_equal(pkt.len, LEN);
	assert_true(filled(pkt.data, LEN, (unsigned)n));
	if (port == FRAMED)
		assert_ptr_equal(pkt.pool, &frames.pool);
	pkt_put(&pkt);
	return n;
}

/* What goes on at once is not copied. */
static void stage_take__at_once(void **state)
{
	uint8_t bytes[LEN];
	struct pkt pkt = { .data = bytes, .len = LEN, .cap = LEN }, got;

	(void)state;
	faults("1:jitter=0,loss=0");
	stage_put(&lcore, &ports[SOCKET], &ports[SOCKET].in, &pkt);
	assert_int_equal(lcore.nr_held, 1);
	assert_true(stage_take(&lcore, &ports[SOCKET], &ports[SOCKET].in, false, &got));
	assert_ptr_equal(got.data, bytes);
	assert_null(got.pool);
	assert_false(stage_take(&lcore, &ports[SOCKET], &ports[SOCKET].in, false, &got));
	put_at(FRAMED, true, 5);
	assert_int_equal(frames.nr_free, BUFFERS - 1);
	assert_int_equal(take_at(FRAMED, true, false), 5);
}

/* In order, when their time has come; a port's own buffers are not held back. */
static void stage_take__delayed(void **state)
{
	(void)state;
	faults("0:delay=5ms");
	faults("1:delay=5ms");
	for (unsigned dir = 0; dir < 4; dir++) {
		uint64_t start = lcore.now.now_ns;

		for (unsigned n = 0; n < 300; n++) {
			put_at(dir / 2, dir % 2, n);
			lcore.now.now_ns += 1000;
		}
		assert_int_equal(frames.nr_free, BUFFERS);
		assert_int_equal(lcore.nr_held, 300);
		assert_int_equal(stage_due(&lcore), start + 5 * MS);
		lcore.now.now_ns = start + 5 * MS - 1;
		assert_int_equal(take_at(dir / 2, dir % 2, false), -1);
		for (unsigned n = 0; n < 200; n++) {
			lcore.now.now_ns = start + 5 * MS + n * 1000;
			assert_int_equal(take_at(dir / 2, dir % 2, false), n);
			assert_int_equal(take_at(dir / 2, dir % 2, false), -1);
		}
		/* The switch ends. */
		for (unsigned n = 200; n < 300; n++)
			assert_int_equal(take_at(dir / 2, dir % 2, true), n);
	}
	assert_int_equal(stage_due(&lcore), UINT64_MAX);
}

/* Right behind the third after it, if that comes within 2 ms. */
static void stage_take__overtaken(void **state)
{
	(void)state;
	faults("1:reorder=1,distance=3,dir=out");
	put_at(SOCKET, true, 0);
	faults("1:reorder=0,dup=0,jitter=1ns,dir=out");
	ports[SOCKET].out.impair.params.jitter_ns = 0;
	for (unsigned n = 1; n < 4; n++) {
		uint8_t bytes[LEN];
		struct pkt pkt = { .data = bytes, .len = LEN, .cap = LEN, .flow = { .ip = n } };

		fill(bytes, LEN, n);
		stage_put(&lcore, &ports[SOCKET], &ports[SOCKET].out, &pkt);
		assert_int_equal(take_at(SOCKET, true, false), n);
	}
	assert_int_equal(take_at(SOCKET, true, false), 0);
	faults("1:reorder=1,dir=out");
	put_at(SOCKET, true, 4);
	lcore.now.now_ns += 2 * MS - 1;
	assert_int_equal(take_at(SOCKET, true, false), -1);
	lcore.now.now_ns++;
	assert_int_equal(take_at(SOCKET, true, false), 4);
	assert_int_equal(ports[SOCKET].out.impair.nr_reordered, 2);
}

/* Whoever changes one of the two does not change the other. */
static void stage_put__twice(void **state)
{
	uint8_t bytes[LEN];
	struct pkt pkt = { .data = bytes, .len = LEN, .cap = LEN, .flow = { .ip = 9 } }, a, b;

	(void)state;
	faults("1:dup=1");
	fill(bytes, LEN, 9);
	stage_put(&lcore, &ports[SOCKET], &ports[SOCKET].in, &pkt);
	assert_true(stage_take(&lcore, &ports[SOCKET], &ports[SOCKET].in, false, &a));
	memset(a.data, 0, LEN);
	assert_true(stage_take(&lcore, &ports[SOCKET], &ports[SOCKET].in, false, &b));
	assert_true(filled(b.data, LEN, 9));
	assert_true(b.cap >= WIRE_MSG_MAX);
	pkt_put(&a);
	pkt_put(&b);
}

static void stage_put__lost(void **state)
{
	(void)state;
	faults("0:down=on");
	faults("1:loss=1");
	for (unsigned dir = 0; dir < 4; dir++) {
		put_at(dir / 2, dir % 2, 1);
		assert_int_equal(take_at(dir / 2, dir % 2, true), -1);
	}
	/* What came in is counted, where it came in. */
	assert_int_equal(lcore.counters.v[COUNTER_impaired], 2);
	assert_int_equal(ports[FRAMED].port.stats.rx, 1);
	assert_int_equal(ports[SOCKET].port.stats.rx_bytes, LEN);
	assert_int_equal(ports[FRAMED].out.impair.nr_down, 1);
	assert_int_equal(ports[SOCKET].out.impair.nr_lost, 1);
	faults("0:down=off");
	put_at(FRAMED, false, 2);
	assert_int_equal(take_at(FRAMED, false, false), 2);
}

/* A frame that is changed is verified; what others share is not changed. */
static void stage_put__corrupt(void **state)
{
	uint8_t bytes[LEN];
	struct pkt pkt = { .data = bytes, .len = LEN, .cap = LEN }, got;
	struct frame_udp udp = { .src = { 2, 3 }, .dst = { 2, 4 }, .ip_src = 1, .ip_dst = 2 };
	struct frame frame;

	(void)state;
	faults("1:corrupt=1");
	fill(bytes, LEN, 3);
	stage_put(&lcore, &ports[SOCKET], &ports[SOCKET].out, &pkt);
	assert_true(filled(bytes, LEN, 3));
	assert_true(stage_take(&lcore, &ports[SOCKET], &ports[SOCKET].out, false, &got));
	assert_false(filled(got.data, LEN, 3));
	pkt_put(&got);
	pkt = (struct pkt){ .data = bytes, .len = LEN, .cap = LEN };
	stage_put(&lcore, &ports[SOCKET], &ports[SOCKET].in, &pkt);
	assert_true(stage_take(&lcore, &ports[SOCKET], &ports[SOCKET].in, false, &got));
	assert_false(filled(bytes, LEN, 3));
	for (unsigned checked = 0; checked < 2; checked++) {
		faults(checked ? "0:corrupt=0,corrupt-checked=1" : "0:corrupt=1");
		assert_true(frames.pool.get(&frames.pool, &pkt));
		fill(pkt.data, LEN, 4);
		pkt.len = (uint32_t)frame_udp_build(pkt.data, &udp, LEN - FRAME_HEADERS);
		stage_put(&lcore, &ports[FRAMED], &ports[FRAMED].in, &pkt);
		assert_true(stage_take(&lcore, &ports[FRAMED], &ports[FRAMED].in, false, &got));
		assert_true(got.verify);
		if (checked)
			assert_int_equal(frame_parse(&frame, got.data, got.len, true), FRAME_OK);
		pkt_put(&got);
	}
	/* Of ARP nobody could tell. */
	faults("0:corrupt=1");
	assert_true(frames.pool.get(&frames.pool, &pkt));
	pkt.len =
		(uint32_t)frame_arp_request(pkt.data, (const uint8_t[]){ 2, 0, 0, 0, 0, 1 }, 1, 2);
	stage_put(&lcore, &ports[FRAMED], &ports[FRAMED].in, &pkt);
	assert_false(stage_take(&lcore, &ports[FRAMED], &ports[FRAMED].in, true, &got));
	assert_int_equal(lcore.counters.v[COUNTER_impaired], 1);
}

static void stage_put__queue_full(void **state)
{
	(void)state;
	faults("1:rate=1Mbit,queue=3,delay=1ns");
	for (unsigned n = 0; n < 5; n++) {
		put_at(SOCKET, false, n);
		put_at(SOCKET, true, n);
	}
	assert_int_equal(lcore.counters.v[COUNTER_impaired_queue], 2);
	assert_int_equal(ports[SOCKET].port.stats.rx, 2);
	assert_int_equal(ports[SOCKET].out.impair.nr_queue_full, 2);
	for (int n = 0; n < 3; n++) {
		/* The headers count, too; the delay of 1 ns comes on top. */
		lcore.now.now_ns += (LEN + FRAME_HEADERS) * 8 * 1000 - (n > 0);
		assert_int_equal(take_at(SOCKET, false, false), -1);
		lcore.now.now_ns++;
		assert_int_equal(take_at(SOCKET, false, false), n);
		assert_int_equal(take_at(SOCKET, false, false), -1);
		assert_int_equal(take_at(SOCKET, true, false), n);
	}
}

/* More than a direction may hold, than all may, and than a port has buffers for. */
static void stage_put__no_room(void **state)
{
	unsigned nr = 0;

	(void)state;
	faults("0:delay=1s");
	faults("1:delay=1s");
	for (unsigned n = 0; n < HOLD_MAX + 10; n++)
		put_at(SOCKET, false, n);
	assert_int_equal(ports[SOCKET].in.nr_room, 10);
	assert_int_equal(lcore.counters.v[COUNTER_impaired_room], 10);
	for (unsigned n = 0; n < HOLD_MAX; n++)
		put_at(SOCKET, true, n);
	assert_int_equal(lcore.stage.buffers.nr_free, 0);
	put_at(FRAMED, true, 1);
	put_at(FRAMED, false, 1);
	assert_int_equal(ports[FRAMED].out.nr_room, 1);
	assert_int_equal(lcore.counters.v[COUNTER_impaired_room], 11);
	for (unsigned n = 0; n < HOLD_MAX; n++) {
		assert_int_equal(take_at(SOCKET, false, true), n);
		assert_int_equal(take_at(SOCKET, true, true), n);
	}
	/* Nor does it hang there when the port has none left. */
	put_at(FRAMED, false, 1);
	put_at(FRAMED, false, 2);
	for (struct pkt pkt; frames.pool.get(&frames.pool, &pkt);)
		nr++;
	assert_int_equal(nr, BUFFERS);
	assert_int_equal(take_at(FRAMED, false, true), -1);
	assert_int_equal(ports[FRAMED].in.nr_room, 3);
	frames.nr_free = BUFFERS;
}

static void stage_put__without_memory(void **state)
{
	(void)state;
	stage_fini(&lcore);
	faults("1:delay=1ms");
	put_at(SOCKET, false, 1);
	assert_int_equal(take_at(SOCKET, false, true), -1);
	assert_int_equal(ports[SOCKET].in.nr_room, 1);
	assert_int_equal(stage_init(&lcore), 0);
}

static void stage_fini__gives_back_what_waits(void **state)
{
	(void)state;
	faults("0:delay=1s,reorder=50%");
	for (unsigned n = 0; n < 50; n++)
		put_at(FRAMED, n % 2, n);
	stage_fini(&lcore);
	assert_int_equal(lcore.nr_held, 0);
	assert_int_equal(stage_init(&lcore), 0);
}

/* All faults at once: what went in or was made a second time came out, was dropped by name, or waits. */
static void stage__conserves_packets(void **state)
{
	struct lcore_faults *f = &ports[FRAMED].in;
	const uint64_t *v = lcore.counters.v;
	uint64_t out = 0, in = 0;
	struct pkt pkt;

	(void)state;
	srand(23);
	faults("0:loss=5%,burst=2%:20%,dup=10%,reorder=10%,distance=7,corrupt=5%,corrupt-checked=5%,"
	       "delay=300us,jitter=2ms,rate=30Mbit,queue=40,dir=in");
	for (unsigned round = 0; round < 50000; round++) {
		if (round % 1000 == 999)
			faults(round % 2000 == 999 ? "0:down=on"
						   : "0:down=off,rate=100Mbit,queue=1MB");
		if (frames.pool.get(&frames.pool, &pkt)) {
			pkt.len = 60 + (uint32_t)rand() % 1400;
			memset(pkt.data, rand(), pkt.len);
			stage_put(&lcore, &ports[FRAMED], f, &pkt);
			in++;
		}
		lcore.now.now_ns += (uint64_t)rand() % 300000;
		while (stage_take(&lcore, &ports[FRAMED], f, false, &pkt)) {
			pkt_put(&pkt);
			out++;
		}
		assert_int_equal(lcore.nr_held, hold_count(&f->hold));
		assert_int_equal(in + f->impair.nr_duped,
				 out + v[COUNTER_impaired] + v[COUNTER_impaired_queue] +
					 v[COUNTER_impaired_room] + lcore.nr_held);
	}
	assert_int_equal(v[COUNTER_impaired],
			 f->impair.nr_lost + f->impair.nr_burst + f->impair.nr_down);
	assert_int_equal(v[COUNTER_impaired_queue], f->impair.nr_queue_full);
	assert_true(f->impair.nr_queue_full && f->impair.nr_down && f->impair.nr_reordered);
	while (stage_take(&lcore, &ports[FRAMED], f, true, &pkt))
		pkt_put(&pkt);
}

/* Another rate is one for those that wait as well; what is behind the queue already, on its long way, is not late again. */
static void stage_retime__rate_changes(void **state)
{
	const uint64_t bits = 8 * (LEN + FRAME_HEADERS);

	(void)state;
	for (unsigned dir = 2; dir < 4; dir++) {
		uint64_t start = lcore.now.now_ns;

		faults("1:rate=1Kbit,delay=7ms");
		for (unsigned n = 0; n < 60; n++)
			put_at(SOCKET, dir % 2, n);
		/* The first has left and is on its way, the second has not. */
		lcore.now.now_ns = start + bits * MS + MS;
		assert_int_equal(take_at(SOCKET, dir % 2, false), -1);
		faults("1:rate=1Mbit");
		assert_int_equal(stage_due(&lcore), start + bits * MS + 7 * MS);
		start = lcore.now.now_ns;
		put_at(SOCKET, dir % 2, 60);
		lcore.now.now_ns = start + 6 * MS;
		assert_int_equal(take_at(SOCKET, dir % 2, false), 0);
		for (unsigned n = 1; n < 31; n++) {
			lcore.now.now_ns = start + n * bits * 1000 + 7 * MS - 1;
			assert_int_equal(take_at(SOCKET, dir % 2, false), -1);
			lcore.now.now_ns++;
			assert_int_equal(take_at(SOCKET, dir % 2, false), n);
		}
		faults("1:rate=0");
		lcore.now.now_ns += 7 * MS;
		for (unsigned n = 31; n < 61; n++)
			assert_int_equal(take_at(SOCKET, dir % 2, false), n);
		assert_int_equal(take_at(SOCKET, dir % 2, true), -1);
		faults("1:delay=0");
		assert_false(ports[SOCKET].in.impair.active);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stage_take__at_once),	 TEST(stage_take__delayed),
		TEST(stage_take__overtaken),	 TEST(stage_put__twice),
		TEST(stage_put__lost),		 TEST(stage_put__corrupt),
		TEST(stage_put__queue_full),	 TEST(stage_put__no_room),
		TEST(stage_put__without_memory), TEST(stage_fini__gives_back_what_waits),
		TEST(stage__conserves_packets),	 TEST(stage_retime__rate_changes),
	};

	return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
