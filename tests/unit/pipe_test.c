// SPDX-License-Identifier: BSD-3-Clause
// The machine as its shells see it: parameters, bursts, destinations, a name for every packet.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

static void pipe_size__parameters_out_of_range(void **state)
{
	const struct pipe_time boot = { 0 };
	static _Alignas(64) uint8_t mem[64];
	struct pipe_params params;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		params = rig_params();
		switch (i) {
		case 0:
			params.jobs_max = 0;
			break;
		case 1:
			params.jobs_max = 4097;
			break;
		case 2:
			params.slots_max = WIRE_SE;
			break;
		case 3:
			params.slots_max = UINT32_MAX;
			break;
		case 4:
			params.p_max = 0;
			break;
		case 5:
			params.p_max = 200;
			break;
		case 6:
			params.p_max = WIRE_P_MAX + WIRE_P_MIN;
			break;
		case 7:
			params.values_bytes = SIZE_MAX;
			break;
		default:
			params.add = "abacus";
			break;
		}
		if (i < 8)
			assert_int_equal(pipe_size(&params), 0);
		assert_null(pipe_init(mem, &params, &boot));
	}
}

static void pipe_init__chooses_the_addition(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;

	(void)state;
	params.add = "scalar";
	rig_open(&rig, &params);
	assert_string_equal(pipe_add_name(rig.pipe), "scalar");
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	rig_assert_counter(rig_data(&rig, 1, 0, 0), "completed");
	rig_close(&rig);
	rig_open(&rig, NULL);
	assert_string_equal(pipe_add_name(rig.pipe), add_select(NULL)->name);
	rig_close(&rig);
}

static void pipe_input__malformed_packets_have_names(void **state)
{
	struct rig rig;
	struct flow flow = rig_flow(0);
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 0, 128);
	wire_build(rig.buf, &msg);
	memset(rig.buf + WIRE_HEADER, 0, 128);
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER - 1), "truncated");
	rig.buf[0] = 0 << 4 | WIRE_DATA;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 128), "bad_version");
	rig.buf[0] = WIRE_VERSION << 4 | 0;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 128), "bad_type");
	rig.buf[0] = WIRE_VERSION << 4 | 8;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 128), "bad_type");
	wire_build(rig.buf, &msg);
	rig.buf[1] = 6;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 128), "bad_kind");
	rig.buf[1] = WIRE_ADD32 | 0x80;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 128), "bad_flag");
	wire_build(rig.buf, &msg);
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER), "bad_length");
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 127), "bad_length");
	rig.buf[0] = WIRE_VERSION << 4 | WIRE_RESULT;
	assert_string_equal(rig_send(&rig, &flow, WIRE_HEADER + 128), "bad_direction");
	assert_int_equal(rig_count(&rig, COUNTER_bad_direction), 1);
	msg = rig_msg(&rig, WIRE_STATUS, 0, WIRE_BODY);
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_direction");
	/* None of them was summed. */
	assert_int_equal(slot_missing(pipe_slot(rig.pipe, pipe_job(rig.pipe, 0), WIRE_SE), 1010, 0,
				      3),
			 3);
	rig_close(&rig);
}

/* Situation: every length, random content. */
static void pipe_input__random_content_is_counted(void **state)
{
	struct rig rig;
	struct flow flow = rig_flow(0);
	uint64_t x = 88172645463325252;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	for (uint32_t len = 0; len <= WIRE_MSG_MAX; len++) {
		for (uint32_t i = 0; i < len; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			rig.buf[i] = (uint8_t)x;
		}
		rig_send(&rig, &flow, len);
		/* And with a right beginning. */
		rig.buf[0] = (uint8_t)(WIRE_VERSION << 4 | (x >> 8) % 9);
		rig.buf[1] = (uint8_t)(x >> 16 & 7);
		wire_put16(rig.buf + WIRE_OFF_JOB, 1010);
		wire_put48(rig.buf + WIRE_OFF_EPOCH, 1010);
		wire_put16(rig.buf + WIRE_OFF_SLOT, (uint16_t)(x >> 32 & 63));
		wire_put32(rig.buf + WIRE_OFF_ROUND, x >> 40 & 1);
		wire_put16(rig.buf + WIRE_OFF_WID, 0);
		rig_send(&rig, &flow, len);
	}
	rig_close(&rig);
}

static void pipe_input__packet_without_room_for_the_result(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct pipe_pkt pkt;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	msg = rig_msg(&rig, WIRE_DATA, 1, WIRE_PAD);
	msg.flags = WIRE_EMPTY;
	wire_build(rig.buf, &msg);
	memset(rig.buf + WIRE_HEADER, 0, WIRE_PAD);
	pkt = (struct pipe_pkt){
		.data = rig.buf,
		.len = WIRE_HEADER + WIRE_PAD,
		.cap = WIRE_HEADER + 127,
		.flow = rig_flow(1),
	};
	pipe_input(rig.pipe, &pkt, 1, &rig.now);
	rig.nr_sent++;
	assert_int_equal(pkt.counter, COUNTER_no_room);
	assert_int_equal(pkt.verdict, PIPE_DROP);
	pkt.cap++;
	pipe_input(rig.pipe, &pkt, 1, &rig.now);
	rig.nr_sent++;
	assert_int_equal(pkt.counter, COUNTER_completed);
	assert_int_equal(pkt.len, WIRE_HEADER + 128);
	rig_close(&rig);
}

/* A contribution of two ranks completes, and in the same burst a rank ends the epoch. */
static void pipe_dests__result_of_an_epoch_that_is_over(void **state)
{
	struct rig rig;
	struct flow to[WIRE_WORLD_MAX];
	uint8_t bufs[2][WIRE_MSG_MAX];
	struct pipe_pkt pkts[2];
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	memset(bufs, 0, sizeof(bufs));
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	wire_build(bufs[0], &msg);
	msg = rig_msg(&rig, WIRE_END, 1, WIRE_BODY);
	wire_build(bufs[1], &msg);
	for (unsigned i = 0; i < 2; i++)
		pkts[i] = (struct pipe_pkt){ .data = bufs[i],
					     .cap = WIRE_MSG_MAX,
					     .flow = rig_flow(1) };
	pkts[0].len = WIRE_HEADER + 128;
	pkts[1].len = WIRE_HEADER + WIRE_BODY;
	pipe_input(rig.pipe, pkts, 2, &rig.now);
	rig.nr_sent += 2;
	assert_int_equal(pkts[0].verdict, PIPE_MULTICAST);
	assert_int_equal(pkts[1].counter, COUNTER_end);
	assert_int_equal(pipe_dests(rig.pipe, &pkts[0], to), 0);
	rig_close(&rig);
}

static void pipe_dests__spread_over_the_ports_of_each_rank(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, &params);
	for (unsigned i = 0; i < 3; i++) {
		unsigned wid = i ? i - 1 : 0;

		join = rig_join_of(&rig, wid, 2);
		join.nr_ports = wid ? 3 : 1;
		rig_join(&rig, wid, &join);
	}
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++) {
		static const char *const to[] = { "> w0 w1+2", "> w0 w1", "> w0 w1+1",
						  "> w0 w1+2" };

		rig_data(&rig, 0, slot, 0);
		assert_non_null(strstr(rig_data(&rig, 1, slot, 0), to[slot]));
	}
	rig_close(&rig);
}

static void pipe_output__overflow_is_lost(void **state)
{
	struct rig rig;
	struct pipe_pkt pkt;
	struct wire_msg msg;
	struct flow to;
	unsigned nr = 0;

	(void)state;
	rig_open(&rig, NULL);
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 0, WIRE_BODY);
	for (unsigned i = 0; i < 400; i++) {
		wire_build(rig.buf, &msg);
		memset(rig.buf + WIRE_HEADER, 0, WIRE_BODY);
		pkt = (struct pipe_pkt){
			.data = rig.buf,
			.len = WIRE_HEADER + WIRE_BODY,
			.cap = WIRE_HEADER + WIRE_BODY,
			.flow = { .ip = 100 + i, .udp_port = 9 },
		};
		pipe_input(rig.pipe, &pkt, 1, &rig.now);
		rig.nr_sent++;
	}
	while (pipe_output(rig.pipe, &to, rig.buf)) {
		assert_int_equal(to.ip, 100 + nr);
		nr++;
	}
	assert_int_equal(nr, 256);
	/* And works again. */
	rig_wait(&rig, 1);
	assert_non_null(strstr(rig_send_msg(&rig, &msg), "STATUS UNKNOWN"));
	rig_close(&rig);
}

static void pipe_job__for_inspection(void **state)
{
	struct rig rig;
	const struct job *job;

	(void)state;
	rig_open(&rig, NULL);
	assert_null(pipe_job(rig.pipe, 0));
	job = rig_form(&rig, 2);
	assert_ptr_equal(pipe_job(rig.pipe, 0), job);
	assert_string_equal(job->name, "job");
	assert_null(pipe_job(rig.pipe, 1));
	assert_null(pipe_job(rig.pipe, 4));
	rig_data(&rig, 1, 2, 0);
	assert_int_equal(pipe_slot(rig.pipe, job, WIRE_SE + 2)->cell[0].have, 2);
	assert_null(pipe_slot(rig.pipe, job, WIRE_SE + RIG_SLOTS));
	rig_close(&rig);
}

/* Two jobs at once: neither sees the other's slots. */
static void pipe_input__jobs_are_apart(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct wire_join join;
	uint8_t payload[32] = { 0, 0, 0, 5 };

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	join = rig_join_of(&rig, 7, 1);
	join.base = 0;
	join.nr_ranges = 0;
	join.name[0] = 'b';
	rig_join(&rig, 0, &join);
	join.base = 1010;
	rig_join(&rig, 0, &join);
	msg = rig_msg(&rig, WIRE_DATA, 0, 32);
	msg.job = 1011;
	msg.epoch = 1011;
	msg.payload = payload;
	struct flow flow = rig_flow(0);
	flow.udp_port = join.port;
	assert_string_equal(rig_send_from(&rig, &flow, &msg),
			    "completed | RESULT ADD32 job 1011 epoch 1011 slot 32 round 0 desc "
			    "00000007 len 32 > 0a000001:40700");
	assert_int_equal(wire_get32(rig.buf + WIRE_HEADER), 5);
	rig_data(&rig, 1, 0, 0);
	assert_int_equal(wire_get32(rig.buf + WIRE_HEADER),
			 (uint32_t)(rig_element(0, 0, 0) + rig_element(1, 0, 0)));
	rig_close(&rig);
}

/* --- A burst means what its packets mean one after the other. --- */

enum { BURSTS = 400, BURST_WORLD = 3, BURST_ROOM = WIRE_HEADER + RIG_P };

static uint64_t burst_rng;

static uint32_t burst_draw(uint32_t below)
{
	burst_rng ^= burst_rng << 13;
	burst_rng ^= burst_rng >> 7;
	burst_rng ^= burst_rng << 17;
	return (uint32_t)(burst_rng >> 20) % below;
}

/*
 * The round under way in this slot, the one before, or, once it is complete, the next; rarely one
 * further.
 */
static uint32_t burst_round(const struct rig *rig, const struct wire_msg *msg)
{
	const struct job *job = pipe_job(rig->pipe, 0);
	const struct slot *slot = job ? pipe_slot(rig->pipe, job, msg->slot) : NULL;
	uint32_t round = 0;

	for (unsigned i = 0; slot && i < 2; i++) {
		const struct cell *cell = &slot->cell[i];

		if (cell->epoch == job->epoch && cell->round >= round)
			round = cell->round + (cell->have == job->all);
	}
	if (burst_draw(6) == 0 && round > 0)
		round--;
	return round + (burst_draw(500) == 0);
}

/* Mostly DATA, now and then anything else. */
static uint32_t burst_message(const struct rig *rig, uint8_t *buf, struct flow *flow)
{
	static const enum wire_type rare[] = { WIRE_END, WIRE_LEAVE, WIRE_KEEPALIVE, WIRE_RESULT };
	unsigned wid = burst_draw(BURST_WORLD);
	struct wire_msg msg = rig_msg(rig, WIRE_DATA, wid, 128);
	struct wire_join join;

	*flow = rig_flow(burst_draw(40) ? wid : 9);
	memset(buf, 0, BURST_ROOM);
	if (burst_draw(4) == 0) {
		join = rig_join_of(rig, wid, burst_draw(30) ? BURST_WORLD : 2);
		join.nr_ranges = 0;
		if (pipe_job(rig->pipe, 0) && pipe_job(rig->pipe, 0)->running && burst_draw(400))
			join.base = 0;
		return (uint32_t)wire_join_build(buf, (uint16_t)wid, &join);
	}
	if (burst_draw(400) == 0) {
		msg.type = (uint8_t)rare[burst_draw(4)];
		msg.kind = msg.type == WIRE_RESULT ? WIRE_ADD32 : 0;
		msg.len = msg.type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY;
	} else {
		msg.slot = (uint16_t)(WIRE_SE + burst_draw(RIG_SLOTS));
		msg.round = burst_round(rig, &msg);
		msg.desc = burst_draw(1000) ? 7 : 8;
	}
	wire_build(buf, &msg);
	for (unsigned i = 0; i < 32 && msg.type == WIRE_DATA; i++)
		wire_put32(buf + WIRE_HEADER + 4 * i, rig_element(wid, msg.round, i));
	return WIRE_HEADER + msg.len;
}

static void burst_same_output(struct pipe *a, struct pipe *b)
{
	static uint8_t of_a[WIRE_MSG_MAX], of_b[WIRE_MSG_MAX];
	struct flow to_a, to_b;
	size_t len;

	do {
		len = pipe_output(a, &to_a, of_a);
		assert_int_equal(pipe_output(b, &to_b, of_b), len);
		if (len == 0)
			return;
		assert_memory_equal(&to_a, &to_b, sizeof(to_a));
		assert_memory_equal(of_a, of_b, len);
	} while (true);
}

static void burst_compare(const struct pipe *pipe, const struct pipe_pkt *burst,
			  const struct pipe_pkt *single, const struct flow *to, unsigned nr)
{
	struct flow of_burst[WIRE_WORLD_MAX];
	unsigned nr_burst;

	assert_int_equal(burst->verdict, single->verdict);
	assert_int_equal(burst->counter, single->counter);
	assert_int_equal(burst->len, single->len);
	assert_memory_equal(burst->data, single->data, burst->len);
	if (burst->verdict != PIPE_MULTICAST)
		return;
	nr_burst = pipe_dests(pipe, burst, of_burst);
	/* 0: the epoch ended in this burst.  Fewer: a rank left in it. */
	assert_true(nr_burst <= nr);
	if (nr_burst == nr)
		assert_memory_equal(of_burst, to, nr * sizeof(*to));
}

static void pipe_input__burst_is_its_packets(void **state)
{
	static struct rig bursts, singles;
	static uint8_t bufs[2][PIPE_BURST][BURST_ROOM];
	struct pipe_pkt pkts[2][PIPE_BURST];
	struct flow to[PIPE_BURST][WIRE_WORLD_MAX];
	unsigned nr_to[PIPE_BURST], nr;

	(void)state;
	burst_rng = 1181783497276652981;
	rig_open(&bursts, NULL);
	rig_open(&singles, NULL);
	for (unsigned n = 0; n < BURSTS; n++) {
		nr = 1 + burst_draw(PIPE_BURST);
		for (unsigned i = 0; i < nr; i++) {
			struct pipe_pkt *pkt = &pkts[0][i];

			*pkt = (struct pipe_pkt){ .data = bufs[0][i], .cap = BURST_ROOM };
			pkt->len = burst_message(&bursts, bufs[0][i], &pkt->flow);
			memcpy(bufs[1][i], bufs[0][i], BURST_ROOM);
			pkts[1][i] = *pkt;
			pkts[1][i].data = bufs[1][i];
		}
		pipe_input(bursts.pipe, pkts[0], nr, &bursts.now);
		for (unsigned i = 0; i < nr; i++) {
			pipe_input(singles.pipe, &pkts[1][i], 1, &singles.now);
			nr_to[i] = pkts[1][i].verdict == PIPE_MULTICAST
					   ? pipe_dests(singles.pipe, &pkts[1][i], to[i])
					   : 0;
		}
		bursts.nr_sent += nr;
		singles.nr_sent += nr;
		for (unsigned i = 0; i < nr; i++)
			burst_compare(bursts.pipe, &pkts[0][i], &pkts[1][i], to[i], nr_to[i]);
		burst_same_output(bursts.pipe, singles.pipe);
		rig_wait(&bursts, n % 3);
		rig_wait(&singles, n % 3);
	}
	/* It was not all refused. */
	assert_true(rig_count(&bursts, COUNTER_completed) > 500);
	assert_true(rig_count(&bursts, COUNTER_repeated) > 100);
	assert_true(rig_count(&bursts, COUNTER_end) > 0);
	assert_memory_equal(pipe_counters(bursts.pipe), pipe_counters(singles.pipe),
			    sizeof(struct counters));
	rig_close(&bursts);
	rig_close(&singles);
}

/* Jobs that are there go on and form anew; others are none, and take no epoch. */
static void pipe_drain__others_are_refused(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	pipe_drain(rig.pipe, true);
	join = rig_join_of(&rig, 0, 2);
	snprintf(join.name, sizeof(join.name), "other");
	join.base = 0;
	rig_wait(&rig, 1);
	assert_string_equal(rig_join(&rig, 0, &join),
			    "join | STATUS REFUSED epoch 0 wid 0 cause 10 b 0 len 256 > w0");
	assert_null(pipe_job(rig.pipe, 1));
	/* A rank that died is started again. */
	join = rig_join_of(&rig, 1, 2);
	join.inc = 4711;
	join.base = pipe_job(rig.pipe, 0)->epoch;
	rig_wait(&rig, 2000);
	rig_join(&rig, 1, &join);
	assert_false(pipe_job(rig.pipe, 0)->running);
	join.base = pipe_job(rig.pipe, 0)->epoch - 1;
	rig_join(&rig, 1, &join);
	join = rig_join_of(&rig, 0, 2);
	join.base = pipe_job(rig.pipe, 0)->epoch - 1;
	rig_join(&rig, 0, &join);
	assert_true(pipe_job(rig.pipe, 0)->running);
	pipe_drain(rig.pipe, false);
	join = rig_join_of(&rig, 0, 2);
	snprintf(join.name, sizeof(join.name), "other");
	join.base = 0;
	rig_wait(&rig, 1);
	assert_non_null(strstr(rig_join(&rig, 0, &join), "STATUS FORMING"));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipe_drain__others_are_refused),
		cmocka_unit_test(pipe_size__parameters_out_of_range),
		cmocka_unit_test(pipe_init__chooses_the_addition),
		cmocka_unit_test(pipe_input__malformed_packets_have_names),
		cmocka_unit_test(pipe_input__random_content_is_counted),
		cmocka_unit_test(pipe_input__packet_without_room_for_the_result),
		cmocka_unit_test(pipe_input__jobs_are_apart),
		cmocka_unit_test(pipe_input__burst_is_its_packets),
		cmocka_unit_test(pipe_dests__result_of_an_epoch_that_is_over),
		cmocka_unit_test(pipe_dests__spread_over_the_ports_of_each_rank),
		cmocka_unit_test(pipe_output__overflow_is_lost),
		cmocka_unit_test(pipe_job__for_inspection),
	};

	return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
