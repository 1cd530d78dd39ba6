// SPDX-License-Identifier: BSD-3-Clause
// engine_again_test.c - an operation in place: what is sent again is what was sent, whatever landed beside it.
//
// One rank whose switch is this test: it adds what other ranks would, keeps the first transmission of every
// chunk, and withholds one result until that chunk has come again after all others have landed.
#include "host/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { CHUNKS = 700, PACKET = 600, RECV = 5, COUNT_MAX = 20000, WORLD = 3, NONE = CHUNKS };

struct packet {
	uint16_t slot;
	uint32_t round, len;
	uint8_t data[PACKET];
};

static struct fake {
	struct transport base;
	uint8_t tx[2 * TRANSPORT_BURST + 1][PACKET];
	unsigned nr_tx;
	struct packet sent[CHUNKS]; /* first transmissions, in their order */
	unsigned nr_sent;
	struct packet result[CHUNKS];
	unsigned nr_results, nr_landed;
	unsigned held;	   /* index in sent[] of the chunk whose result is withheld, NONE */
	unsigned landed;   /* results that are to land before */
	unsigned compared; /* transmissions of the held chunk after that */
	unsigned differ;   /* transmissions unlike the first */
	uint64_t retransmit_ns;
} fake;

static uint32_t peer_word(const struct wire_msg *msg, uint32_t i)
{
	const uint32_t h = (msg->slot * 977u + msg->round * 131u + i * 31u + 7u) * 2654435761u;

	return msg->kind == WIRE_MAX32 ? h : (h >> 4) - (1u << 27);
}

/* What the switch makes of a chunk. */
static void fake_answer(const struct wire_msg *msg)
{
	struct packet *to = &fake.result[fake.nr_results++];
	struct wire_msg result = *msg;
	uint8_t *out = to->data + WIRE_HEADER;

	result.type = WIRE_RESULT;
	result.wid = WIRE_WID_NONE;
	wire_build(to->data, &result);
	to->len = WIRE_HEADER + msg->len;
	memcpy(out, msg->payload, msg->len);
	if (msg->kind == WIRE_MAX8) { /* some blocks have a larger exponent elsewhere */
		for (uint32_t i = WIRE_E_EXP; i < msg->len; i++)
			out[i] = (uint8_t)(out[i] && i % 3 == 0 ? out[i] + i % 5 : out[i]);
		return;
	}
	for (uint32_t i = 0; msg->kind == WIRE_ADD16 && i < msg->len / 2; i++)
		wire_put16(out + 2 * i,
			   (uint16_t)(wire_get16(out + 2 * i) + (peer_word(msg, i) >> 20)));
	for (uint32_t i = 0; msg->kind != WIRE_ADD16 && i < msg->len / 4; i++) {
		const uint32_t own = wire_get32(out + 4 * i), peer = peer_word(msg, i);

		if (msg->kind == WIRE_ADD32)
			wire_put32(out + 4 * i, own + peer);
		else if ((int32_t)peer > (int32_t)own)
			wire_put32(out + 4 * i, peer);
	}
}

static void fake_chunk(const struct wire_msg *msg, const struct transport_pkt *pkt)
{
	struct packet *packet = NULL;
	unsigned i;

	for (i = 0; i < fake.nr_sent && !packet; i++)
		if (fake.sent[i].slot == msg->slot && fake.sent[i].round == msg->round)
			packet = &fake.sent[i];
	/* What is sent again goes alone: a train may be what was lost. */
	fake.differ += pkt->alone != (packet != NULL);
	if (!packet) {
		packet = &fake.sent[fake.nr_sent++];
		packet->slot = msg->slot;
		packet->round = msg->round;
		packet->len = pkt->len;
		memcpy(packet->data, pkt->data, pkt->len);
		if (i != fake.held)
			fake_answer(msg);
		return;
	}
	fake.differ += packet->len != pkt->len || memcmp(packet->data, pkt->data, pkt->len) != 0;
	if ((unsigned)(packet - fake.sent) != fake.held || fake.nr_landed < fake.landed)
		return;
	if (fake.compared++ == 0)
		fake_answer(msg);
}

static unsigned fake_room(struct transport *transport)
{
	(void)transport;
	return TRANSPORT_BURST;
}

static uint8_t *fake_alloc(struct transport *transport, uint32_t len)
{
	(void)transport;
	return len <= PACKET ? fake.tx[fake.nr_tx++] : NULL;
}

static unsigned fake_send(struct transport *transport, const struct transport_pkt *pkts,
			  unsigned nr)
{
	struct wire_msg msg;

	(void)transport;
	for (unsigned i = 0; i < nr; i++)
		if (wire_parse(&msg, pkts[i].data, pkts[i].len) == WIRE_OK && msg.type == WIRE_DATA)
			fake_chunk(&msg, &pkts[i]);
	fake.nr_tx = 0;
	return nr;
}

static unsigned fake_recv(struct transport *transport, struct transport_pkt *pkts, unsigned max)
{
	unsigned nr = 0;

	(void)transport;
	for (; nr < max && nr < RECV && fake.nr_landed < fake.nr_results; nr++) {
		struct packet *packet = &fake.result[fake.nr_landed++];

		pkts[nr] = (struct transport_pkt){ .data = packet->data, .len = packet->len };
	}
	return nr;
}

static void fake_release(struct transport *transport)
{
	(void)transport;
}

static void fake_wait(struct transport *transport, uint64_t timeout_ns)
{
	const struct timespec until = { .tv_nsec = timeout_ns < 50000 ? (long)timeout_ns : 50000 };

	(void)transport;
	nanosleep(&until, NULL);
}

static const struct transport_ops fake_ops = {
	.name = "fake",
	.room = fake_room,
	.alloc = fake_alloc,
	.send = fake_send,
	.recv = fake_recv,
	.release = fake_release,
	.wait = fake_wait,
};

/* --- Operations ----------------------------------------------------------------------------------- */

struct kind {
	const char *chunk;
	uint32_t count;
	uint8_t dtype, op, width;
};

static struct engine *open_rank(const struct kind *kind, struct transport **real)
{
	struct tally_config *set;
	struct config_error why;
	struct engine_error error;
	struct config config;
	struct engine *engine;

	assert_int_equal(tally_config_new(&set), TALLY_OK);
	assert_int_equal(tally_config_set(set, "switch", "inproc:again"), TALLY_OK);
	assert_int_equal(tally_config_set(set, "chunk", kind->chunk), TALLY_OK);
	assert_int_equal(tally_config_set(set, "size", "1"), TALLY_OK);
	assert_int_equal(tally_config_set(set, "rank", "0"), TALLY_OK);
	assert_int_equal(tally_config_set(set, "rto_min", "200"), TALLY_OK);
	assert_int_equal(config_resolve(&config, set, &why), 0);
	tally_config_free(set);
	if (engine_open(&engine, &config, &error) != TALLY_OK)
		fail_msg("%s", error.text);
	/* From here on the switch is the fake one, which speaks for a larger world. */
	*real = engine->transport;
	fake.base = **real;
	fake.base.ops = &fake_ops;
	engine->transport = &fake.base;
	engine->quantizer.world = WORLD;
	return engine;
}

static void close_rank(struct engine *engine, struct transport *real)
{
	engine->transport = real;
	engine_close(engine);
}

/* The exponents differ from chunk to chunk, so that a block's belongs to one of them. */
static uint32_t source_bits(const struct kind *kind, uint32_t i)
{
	const uint32_t h = (i * 2246822519u + 374761393u) ^ (i * 668265263u >> 11);

	if (kind->dtype == TALLY_I32)
		return h;
	return (h & 0x807fffff) | (100 + i / 7 % 40) << 23;
}

/* Returns how many chunks there were; the result is in data. */
static unsigned reduce(struct engine *engine, const struct kind *kind, uint32_t *data)
{
	struct engine_op op = {
		.tensor = { .src = (uint8_t *)data,
			    .dst = (uint8_t *)data,
			    .dtype = kind->dtype,
			    .op = kind->op,
			    .width = kind->width },
		.count = kind->count,
	};

	fake.nr_sent = fake.nr_results = fake.nr_landed = fake.compared = fake.differ = 0;
	for (uint32_t i = 0; i < kind->count; i++)
		data[i] = source_bits(kind, i);
	assert_int_equal(engine_post(engine, &op), TALLY_OK);
	assert_int_equal(engine_wait(engine, &op, INT64_C(20000000000)), TALLY_OK);
	fake.retransmit_ns += op.split.retransmit_ns;
	assert_int_equal(fake.differ, 0);
	return fake.nr_sent;
}

/* Chunk `held` is sent again when `landed` results have landed: with the same bytes, and the end is the same. */
static void reduce_held(struct engine *engine, const struct kind *kind, unsigned held,
			unsigned landed, const uint32_t *want)
{
	static uint32_t data[COUNT_MAX];

	fake.held = held;
	fake.landed = landed;
	reduce(engine, kind, data);
	assert_true(fake.compared > 0);
	assert_memory_equal(data, want, kind->count * sizeof(*data));
}

static void undisturbed(struct engine *engine, const struct kind *kind, uint32_t *want)
{
	fake.held = NONE;
	reduce(engine, kind, want);
	for (unsigned c = 0; c < fake.nr_sent && kind->dtype == TALLY_I32 && kind->op == TALLY_SUM;
	     c++) {
		const struct packet *packet = &fake.sent[c];
		const struct wire_msg at = { .slot = packet->slot,
					     .round = packet->round,
					     .kind = WIRE_ADD32 };
		const uint32_t per = (uint32_t)strtoul(kind->chunk, NULL, 10) / 4;

		/* One descriptor, then data in order. */
		for (uint32_t i = 0, at_i; c > 0 && i < per; i++) {
			at_i = (c - 1) * per + i;
			if (at_i < kind->count)
				assert_int_equal(want[at_i],
						 source_bits(kind, at_i) + peer_word(&at, i));
		}
	}
}

static const struct kind kinds[] = {
	{ "128", 40 * 32 - 5, TALLY_I32, TALLY_SUM, 4 },
	{ "128", 40 * 32 - 5, TALLY_F32, TALLY_SUM, 4 },
	{ "384", 30 * 96 - 50, TALLY_F32, TALLY_SUM, 4 },
	{ "384", 20 * 96 - 1, TALLY_F32, TALLY_AVG, 4 },
	{ "384", 12 * 96 + 1, TALLY_F32, TALLY_MIN, 4 },
	{ "128", 12 * 32, TALLY_I32, TALLY_MIN, 4 },
	{ "384", 20 * 192 - 3, TALLY_F32, TALLY_AVG, 2 },
};

static void engine_wait__every_chunk_again_after_all_others(void **state)
{
	static uint32_t want[COUNT_MAX];

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct transport *real;
		struct engine *engine = open_rank(&kinds[k], &real);
		unsigned nr;

		undisturbed(engine, &kinds[k], want);
		nr = fake.nr_sent;
		assert_true(nr > 12);
		/* The values of other ranks depend on slot and round: each run has those of the first. */
		for (unsigned held = 0; held < nr; held++) {
			close_rank(engine, real);
			engine = open_rank(&kinds[k], &real);
			reduce_held(engine, &kinds[k], held, held == 0 ? 0 : nr - 1, want);
		}
		close_rank(engine, real);
	}
	assert_true(fake.retransmit_ns > 0);
}

/* The exponents of the second segment, and data on both sides of its beginning. */
static void engine_wait__second_segment_again(void **state)
{
	static const struct kind kind = { "128", 128 * 128 + 700, TALLY_F32, TALLY_SUM, 4 };
	static uint32_t want[COUNT_MAX];
	struct transport *real;
	struct engine *engine = open_rank(&kind, &real);
	unsigned nr, at;

	(void)state;
	undisturbed(engine, &kind, want);
	nr = fake.nr_sent;
	assert_int_equal(nr, 2 + 512 + (700 + 31) / 32);
	for (unsigned e = 0, i = at = 0; i < nr; i++)
		if (fake.sent[i].slot < WIRE_SE && e++ == 1)
			at = i;
	assert_true(at > 0);
	close_rank(engine, real);
	engine = open_rank(&kind, &real);
	reduce_held(engine, &kind, at, 1 + 512, want);
	close_rank(engine, real);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_wait__every_chunk_again_after_all_others),
		cmocka_unit_test(engine_wait__second_segment_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
