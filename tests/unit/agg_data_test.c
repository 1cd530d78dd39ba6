// SPDX-License-Identifier: BSD-3-Clause
// DATA: what is added, what is answered, what is dropped by name, and what ends an epoch.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

/* What the other rank of two hears when rank a ended epoch 1010 at 1011. */
#define ENDED(wid, inc, why)                                                                       \
	" | STATUS FORMING epoch 1011 wid " wid " inc " inc " cause " why                          \
	" ended 1010 missing 0-1 len 160 > w" wid

static void agg_data__sum_of_all_ranks(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 3);
	assert_string_equal(rig_data(&rig, 2, 3, 0), "held");
	assert_string_equal(rig_data(&rig, 0, 3, 0), "held");
	assert_string_equal(rig_data(&rig, 1, 3, 0),
			    "completed | RESULT ADD32 job 1010 epoch 1010 slot 35 round 0 desc "
			    "00000007 len 128 > w0+1 w1+1 w2+1");
	for (unsigned i = 0; i < 32; i++) {
		uint32_t sum = rig_element(0, 0, i) + rig_element(1, 0, i) + rig_element(2, 0, i);

		assert_int_equal(wire_get32(rig.buf + WIRE_HEADER + 4 * i), sum);
	}
	assert_int_equal(rig_count(&rig, COUNTER_held), 2);
	assert_int_equal(rig_count(&rig, COUNTER_completed), 1);
	rig_close(&rig);
}

static void agg_data__duplicate(void **state)
{
	struct rig rig;
	struct flow other_port = rig_flow(0);
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	assert_string_equal(rig_data(&rig, 0, 0, 0), "duplicate");
	rig_data(&rig, 1, 0, 0);
	assert_string_equal(rig_data(&rig, 0, 0, 0),
			    "repeated | RESULT ADD32 job 1010 epoch 1010 slot 32 round 0 desc "
			    "00000007 len 128 > w0");
	assert_int_equal(wire_get32(rig.buf + WIRE_HEADER),
			 (uint32_t)(rig_element(0, 0, 0) + rig_element(1, 0, 0)));
	/* The answer goes to where the question came from. */
	msg = rig_msg(&rig, WIRE_DATA, 0, 128);
	other_port.udp_port++;
	assert_non_null(strstr(rig_send_from(&rig, &other_port, &msg), "len 128 > w0+1"));
	assert_int_equal(rig_count(&rig, COUNTER_duplicate), 1);
	assert_int_equal(rig_count(&rig, COUNTER_repeated), 2);
	rig_close(&rig);
}

static void agg_data__old_round(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	for (uint32_t round = 0; round < 3; round++) {
		rig_data(&rig, 0, 0, round);
		rig_data(&rig, 1, 0, round);
	}
	assert_string_equal(rig_data(&rig, 1, 0, 0), "stale");
	assert_int_equal(rig_count(&rig, COUNTER_stale), 1);
	rig_close(&rig);
}

static void agg_data__future_round_ends_the_epoch(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_string_equal(rig_data(&rig, 1, 0, 2),
			    "gap" ENDED("0", "100", "5 a 1") ENDED("1", "101", "5 a 1"));
	assert_int_equal(rig_count(&rig, COUNTER_gap), 1);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	msg.epoch = 1010;
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "old_epoch | STATUS FORMING epoch 1011 slot 32 round 0 wid 1 inc 101 "
			    "cause 5 a 1 ended 1010 missing 0-1 len 96 > w1");
	rig_close(&rig);
}

/* Whoever does not wait for the others is named, and not who waits for a result that was lost. */
static void agg_data__round_ahead_of_others_ends_the_epoch(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 1, 0, 0);
	rig_data(&rig, 0, 0, 0);
	rig_assert_counter(rig_data(&rig, 1, 0, 1), "held");
	assert_string_equal(rig_data(&rig, 1, 0, 2),
			    "gap" ENDED("0", "100", "5 a 1") ENDED("1", "101", "5 a 1"));
	rig_close(&rig);
}

static void agg_data__epoch_ends_before_its_last_round(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow stranger = rig_flow(5);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 0, 128);
	msg.round = WIRE_ROUND_END;
	/* Nobody else can end it. */
	assert_string_equal(rig_send_from(&rig, &stranger, &msg), "spoofed");
	assert_string_equal(rig_send_msg(&rig, &msg),
			    "rounds" ENDED("0", "100", "6") ENDED("1", "101", "6"));
	assert_int_equal(rig_count(&rig, COUNTER_rounds), 1);
	rig_close(&rig);
}

static void agg_data__without_a_next_epoch_nothing_ends(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig.now.wall_ms = 1010;
	assert_string_equal(rig_data(&rig, 1, 0, 2), "too_early");
	msg = rig_msg(&rig, WIRE_DATA, 0, 128);
	msg.round = WIRE_ROUND_END;
	assert_string_equal(rig_send_msg(&rig, &msg), "too_early");
	assert_string_equal(rig_data(&rig, 1, 0, 0), "held");
	rig_close(&rig);
}

static void agg_data__mismatch_names_both_ranks_and_descriptors(void **state)
{
	uint8_t first[128] = { 0, 0, 0, 41 }, second[128] = { 0, 0, 0, 42 };
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	msg.kind = WIRE_MAX8;
	msg.slot = 0;
	msg.desc = 1;
	msg.payload = first;
	assert_string_equal(rig_send_msg(&rig, &msg), "held");
	msg.wid = 0;
	msg.desc = 2;
	msg.payload = second;
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"mismatch | STATUS FORMING epoch 1011 wid 0 inc 100 cause 2 a 0 b 1 ended 1010 "
		"missing 0-1 desc 42 41 len 160 > w0 | STATUS FORMING epoch 1011 wid 1 inc 101 "
		"cause 2 a 0 b 1 ended 1010 missing 0-1 desc 42 41 len 160 > w1");
	assert_int_equal(rig_count(&rig, COUNTER_mismatch), 1);
	rig_close(&rig);
}

static void agg_data__mismatch_in_data_has_no_descriptors(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	msg = rig_msg(&rig, WIRE_DATA, 1, 96);
	assert_string_equal(rig_send_msg(&rig, &msg), "mismatch" ENDED("0", "100", "2 a 1 b 0")
							      ENDED("1", "101", "2 a 1 b 0"));
	rig_close(&rig);
}

static void agg_data__empty_ones_complete_a_chunk(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 0, WIRE_PAD);
	msg.flags = WIRE_EMPTY;
	assert_string_equal(rig_send_msg(&rig, &msg), "held");
	msg.wid = 1;
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"completed | RESULT ADD32 EMPTY job 1010 epoch 1010 slot 32 round 0 desc "
		"00000007 len 32 > w0 w1");
	rig_close(&rig);
}

static void agg_data__saturation_is_marked(void **state)
{
	uint8_t payload[32] = { 0x7f, 0xff };
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 0, 32);
	msg.kind = WIRE_ADD32SAT;
	msg.payload = payload;
	rig_send_msg(&rig, &msg);
	msg.wid = 1;
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"completed | RESULT ADD32SAT SATURATED job 1010 epoch 1010 slot 32 round "
		"0 desc 00000007 len 32 > w0 w1");
	assert_int_equal(wire_get32(rig.buf + WIRE_HEADER), 0x7fffffff);
	rig_close(&rig);
}

static void agg_data__wrong_job(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	msg.job = 999;
	msg.round = 3;
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"unknown_job | STATUS UNKNOWN epoch 1010 slot 32 round 3 wid 1 len 96 > w1");
	msg.job = 0;
	msg.epoch = 0;
	rig_wait(&rig, 1);
	assert_non_null(strstr(rig_send_msg(&rig, &msg), "STATUS UNKNOWN epoch 0"));
	assert_int_equal(rig_count(&rig, COUNTER_unknown_job), 2);
	rig_close(&rig);
}

static void agg_data__wrong_epoch(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow stranger = rig_flow(5);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	for (uint64_t epoch = 1009; epoch <= 1011; epoch += 2) {
		msg.epoch = epoch;
		rig_wait(&rig, 1);
		assert_string_equal(
			rig_send_msg(&rig, &msg),
			"old_epoch | STATUS RUNNING epoch 1010 slot 32 round 0 wid 1 inc "
			"101 P 256 S 4 len 96 > w1");
	}
	assert_int_equal(rig_count(&rig, COUNTER_old_epoch), 2);
	/* The handle may have been another job's. */
	assert_string_equal(rig_send_from(&rig, &stranger, &msg),
			    "unknown_job | STATUS UNKNOWN epoch 1011 slot 32 round 0 wid 1 len 96 > "
			    "w5");
	rig_close(&rig);
}

static void agg_data__answers_are_rare_and_short(void **state)
{
	static const uint32_t asked[] = { 32, 64, 96, 128, 160, 256 };
	static const char *const answered[] = { "len 32 >", "len 32 >",	 "len 96 >",
						"len 96 >", "len 160 >", "len 160 >" };
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	for (unsigned i = 0; i < 6; i++) {
		msg = rig_msg(&rig, WIRE_DATA, 1, asked[i]);
		msg.epoch = 1;
		rig_wait(&rig, 1);
		assert_non_null(strstr(rig_send_msg(&rig, &msg), answered[i]));
		assert_string_equal(rig_send_msg(&rig, &msg), "old_epoch");
		msg.job = 999;
		assert_string_equal(rig_send_msg(&rig, &msg), "unknown_job");
	}
	rig_close(&rig);
}

static void agg_data__while_forming(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned i = 0; i < 2; i++) {
		join = rig_join_of(&rig, 0, 2);
		rig_join(&rig, 0, &join);
	}
	rig_wait(&rig, 1);
	assert_string_equal(rig_data(&rig, 0, 0, 0),
			    "old_epoch | STATUS FORMING epoch 1010 slot 32 round 0 wid 0 inc 100 "
			    "missing 1 len 96 > w0");
	msg = rig_msg(&rig, WIRE_KEEPALIVE, 0, 32);
	msg.len = WIRE_BODY;
	rig_wait(&rig, 1);
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"keepalive | STATUS FORMING epoch 1010 wid 0 inc 100 missing 1 len 160 > w0");
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	assert_string_equal(
		rig_send_msg(&rig, &msg),
		"unknown_job | STATUS UNKNOWN epoch 1010 slot 32 round 0 wid 1 len 96 > w1");
	rig_close(&rig);
}

static void agg_data__wrong_identity_is_dropped(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow flow;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	flow = rig_flow(0);
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "spoofed");
	flow = rig_flow(1);
	flow.ip++;
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "spoofed");
	flow = rig_flow(1);
	flow.udp_port += RIG_PORTS;
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "spoofed");
	flow.udp_port -= RIG_PORTS + 1;
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "spoofed");
	assert_int_equal(rig_count(&rig, COUNTER_spoofed), 4);
	/* Another way in is the same rank, unless the operator says otherwise. */
	flow = rig_flow(1);
	flow.port = 77;
	flow.mac[0] = 6;
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "held");
	rig_close(&rig);
}

static void agg_data__strict_ports_include_port_and_mac(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;
	struct wire_msg msg;
	struct flow flow = rig_flow(1);

	(void)state;
	params.strict_ports = true;
	rig_open(&rig, &params);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	flow.port = 77;
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "spoofed");
	flow = rig_flow(1);
	flow.mac[3] = 6;
	assert_string_equal(rig_send_from(&rig, &flow, &msg), "spoofed");
	assert_string_equal(rig_send_msg(&rig, &msg), "held");
	rig_close(&rig);
}

static void agg_data__outside_the_job(void **state)
{
	struct rig rig;
	struct wire_msg msg;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 2, 128);
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_wid");
	msg.wid = WIRE_WID_NONE;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_wid");
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	msg.slot = WIRE_SE + RIG_SLOTS;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_slot");
	msg.slot = UINT16_MAX;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_slot");
	msg.slot = WIRE_SE + RIG_SLOTS - 1;
	msg.len = RIG_P + WIRE_PAD;
	assert_string_equal(rig_send_msg(&rig, &msg), "no_room");
	msg.len = RIG_P;
	assert_string_equal(rig_send_msg(&rig, &msg), "held");
	msg.flags = WIRE_PARTIAL;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_flag");
	assert_int_equal(rig_count(&rig, COUNTER_bad_wid), 2);
	assert_int_equal(rig_count(&rig, COUNTER_bad_slot), 2);
	assert_int_equal(rig_count(&rig, COUNTER_no_room), 1);
	assert_int_equal(rig_count(&rig, COUNTER_bad_flag), 1);
	rig_close(&rig);
}

static void agg_data__waits_in_vain_for_a_rank_that_left(void **state)
{
	struct rig rig;
	struct wire_msg leave;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 3);
	/*
	 * Chunk 0 has rank 2's contribution, so it completes without any word of it; its result
	 * goes to the others.
	 */
	rig_data(&rig, 2, 0, 0);
	leave = rig_msg(&rig, WIRE_LEAVE, 2, WIRE_PAD);
	rig_send_msg(&rig, &leave);
	assert_string_equal(rig_data(&rig, 0, 0, 0), "held");
	assert_string_equal(rig_data(&rig, 1, 0, 0),
			    "completed | RESULT ADD32 job 1010 epoch 1010 slot 32 round 0 desc "
			    "00000007 len 128 > w0 w1");
	assert_string_equal(
		rig_data(&rig, 0, 1, 0),
		"left | STATUS FORMING epoch 1011 wid 0 inc 100 cause 4 a 2 ended 1010 missing 0-2 "
		"len 160 > w0 | STATUS FORMING epoch 1011 wid 1 inc 101 cause 4 a 2 ended 1010 "
		"missing 0-2 len 160 > w1");
	assert_int_equal(rig_count(&rig, COUNTER_left), 1);
	rig_close(&rig);
}

static void agg_data__rank_leaves_while_it_is_awaited(void **state)
{
	struct rig rig;
	struct wire_msg leave;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_data(&rig, 0, 0, 0);
	leave = rig_msg(&rig, WIRE_LEAVE, 1, WIRE_PAD);
	rig_send_msg(&rig, &leave);
	/* It is the repetition that needs it. */
	assert_string_equal(rig_data(&rig, 0, 0, 0),
			    "left | STATUS FORMING epoch 1011 wid 0 inc 100 cause 4 a 1 ended 1010 "
			    "missing 0-1 len 160 > w0");
	rig_close(&rig);
}

static void agg_data__truncated(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct flow flow = rig_flow(0);

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 0, 128);
	wire_build(rig.buf, &msg);
	for (uint32_t len = 0; len < WIRE_HEADER; len++)
		assert_string_equal(rig_send(&rig, &flow, len), "truncated");
	for (uint32_t len = WIRE_HEADER; len < WIRE_HEADER + 128; len++) {
		const uint32_t over = (len - WIRE_HEADER) % WIRE_PAD;

		/* What is as long as a sealed one is taken for one. */
		if (over == WIRE_CRC && len > WIRE_HEADER + WIRE_PAD)
			assert_string_equal(rig_send(&rig, &flow, len), "bad_crc");
		else if (over != 0 || len == WIRE_HEADER)
			assert_string_equal(rig_send(&rig, &flow, len), "bad_length");
	}
	assert_int_equal(slot_missing(pipe_slot(rig.pipe, pipe_job(rig.pipe, 0), WIRE_SE), 1010, 0,
				      3),
			 3);
	rig_close(&rig);
}

/* A sealed contribution, of which the bit is wrong; -1: none is. */
static const char *send_sealed(struct rig *rig, unsigned wid, uint32_t round, int bit)
{
	struct wire_msg msg = rig_msg(rig, WIRE_DATA, wid, 128);
	const struct flow flow = rig_flow(wid);

	msg.round = round;
	wire_build(rig->buf, &msg);
	for (unsigned i = 0; i < 32; i++)
		wire_put32(rig->buf + WIRE_HEADER + 4 * i, rig_element(wid, round, i));
	assert_int_equal(wire_seal(rig->buf, 128), WIRE_HEADER + 128 + WIRE_CRC);
	if (bit >= 0)
		rig->buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
	return rig_send(rig, &flow, WIRE_HEADER + 128 + WIRE_CRC);
}

static void agg_data__sealed(void **state)
{
	static const char result[] =
		"RESULT ADD32 job 1010 epoch 1010 slot 32 round 0 desc 00000007 len 128 crc > w0";
	struct rig rig;
	const char *text;

	(void)state;
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 2);
	assert_string_equal(send_sealed(&rig, 1, 0, -1), "held");
	text = send_sealed(&rig, 0, 0, -1);
	/* rig parses what goes out, so the seal is that of the new header and the sum. */
	assert_non_null(strstr(text, "completed | "));
	assert_non_null(strstr(text, result));
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(wire_get32(rig.buf + WIRE_HEADER + 4 * i),
				 (uint32_t)(rig_element(0, 0, i) + rig_element(1, 0, i)));
	text = send_sealed(&rig, 0, 0, -1);
	assert_non_null(strstr(text, "repeated | "));
	assert_non_null(strstr(text, result));
	rig_close(&rig);
}

/* Whatever bit is wrong behind version and type: nothing is added, nobody answers, a right one is. */
static void agg_data__corrupted(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 2);
	for (int bit = 16; bit < 8 * (WIRE_HEADER + 128 + WIRE_CRC); bit++)
		assert_string_equal(send_sealed(&rig, 1, 0, bit), "bad_crc");
	assert_int_equal(slot_missing(pipe_slot(rig.pipe, pipe_job(rig.pipe, 0), WIRE_SE), 1010, 0,
				      3),
			 3);
	assert_string_equal(send_sealed(&rig, 1, 0, -1), "held");
	rig_close(&rig);
}

static void agg_data__seal_as_agreed(void **state)
{
	struct wire_msg msg;
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 2);
	msg = rig_msg(&rig, WIRE_DATA, 1, 128);
	msg.sealed = false;
	assert_string_equal(rig_send_msg(&rig, &msg), "bad_length");
	rig_close(&rig);
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	assert_string_equal(send_sealed(&rig, 1, 0, -1), "bad_length");
	assert_string_equal(rig_data(&rig, 1, 0, 0), "held");
	rig_close(&rig);
}

/* The seal takes four bytes of the buffer that the result of others may need. */
static void agg_data__room_for_the_seal(void **state)
{
	struct rig rig;
	struct wire_msg msg;
	struct pipe_pkt pkt = { .flow = rig_flow(1) };

	(void)state;
	rig_open(&rig, NULL);
	rig_form_checked(&rig, 2);
	assert_string_equal(send_sealed(&rig, 0, 0, -1), "held");
	msg = rig_msg(&rig, WIRE_DATA, 1, WIRE_PAD);
	msg.flags = WIRE_EMPTY;
	for (uint32_t cap = WIRE_HEADER + 128; cap <= WIRE_HEADER + 128 + WIRE_CRC; cap++) {
		memset(rig.buf, 0, sizeof(rig.buf));
		wire_build(rig.buf, &msg);
		pkt.data = rig.buf;
		pkt.len = wire_seal(rig.buf, WIRE_PAD);
		pkt.cap = cap;
		rig.buf[cap] = 0x77;
		pipe_input(rig.pipe, &pkt, 1, &rig.now);
		rig.nr_sent++;
		assert_int_equal(pkt.counter, cap < WIRE_HEADER + 128 + WIRE_CRC
						      ? COUNTER_no_room
						      : COUNTER_completed);
		assert_int_equal(rig.buf[cap], 0x77);
	}
	assert_int_equal(pkt.len, WIRE_HEADER + 128 + WIRE_CRC);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_data__sum_of_all_ranks),
		cmocka_unit_test(agg_data__duplicate),
		cmocka_unit_test(agg_data__old_round),
		cmocka_unit_test(agg_data__future_round_ends_the_epoch),
		cmocka_unit_test(agg_data__round_ahead_of_others_ends_the_epoch),
		cmocka_unit_test(agg_data__epoch_ends_before_its_last_round),
		cmocka_unit_test(agg_data__without_a_next_epoch_nothing_ends),
		cmocka_unit_test(agg_data__mismatch_names_both_ranks_and_descriptors),
		cmocka_unit_test(agg_data__mismatch_in_data_has_no_descriptors),
		cmocka_unit_test(agg_data__empty_ones_complete_a_chunk),
		cmocka_unit_test(agg_data__saturation_is_marked),
		cmocka_unit_test(agg_data__wrong_job),
		cmocka_unit_test(agg_data__wrong_epoch),
		cmocka_unit_test(agg_data__answers_are_rare_and_short),
		cmocka_unit_test(agg_data__while_forming),
		cmocka_unit_test(agg_data__wrong_identity_is_dropped),
		cmocka_unit_test(agg_data__strict_ports_include_port_and_mac),
		cmocka_unit_test(agg_data__outside_the_job),
		cmocka_unit_test(agg_data__waits_in_vain_for_a_rank_that_left),
		cmocka_unit_test(agg_data__rank_leaves_while_it_is_awaited),
		cmocka_unit_test(agg_data__truncated),
		cmocka_unit_test(agg_data__sealed),
		cmocka_unit_test(agg_data__corrupted),
		cmocka_unit_test(agg_data__seal_as_agreed),
		cmocka_unit_test(agg_data__room_for_the_seal),
	};

	return cmocka_run_group_tests_name("agg_data", tests, NULL, NULL);
}
