// SPDX-License-Identifier: BSD-3-Clause
// Tests of host/core/coll.c.  The switch here is a naive one that collects contributions per (lane, round).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/core/coll.h"
#include "proto/crc32c.h"
#include "tests/sums.h"

#define MS UINT64_C(1000000)

enum { P = 128, S = 8, HANDLE = 9, MAX = 64 };

static struct coll *coll_new_job(unsigned slots, unsigned window, bool check)
{
	const struct coll_params params = { .slots = (uint16_t)slots,
					    .p = P,
					    .window = (uint16_t)window,
					    .rto_min_ns = MS,
					    .rto_max_ns = 100 * MS };
	const struct coll_epoch epoch = { .job = HANDLE,
					  .epoch = 1000,
					  .wid = 0,
					  .slots = (uint16_t)slots,
					  .p = P,
					  .check = check };
	void *mem = aligned_alloc(64, (coll_size(&params) + 63) / 64 * 64);
	struct coll *coll;

	assert_non_null(mem);
	coll = coll_init(mem, &params);
	assert_ptr_equal(coll, mem);
	coll_begin(coll, &epoch);
	return coll;
}

static struct coll *coll_new(unsigned slots, unsigned window)
{
	return coll_new_job(slots, window, false);
}

static unsigned word = 4; /* bytes of an element on the wire */

static struct coll_args args_of(enum coll_form form, uint64_t count)
{
	return (struct coll_args){ .desc = { .count = count,
					     .collective = WIRE_ALLREDUCE,
					     .dtype = form == COLL_FLOAT ? WIRE_F32 : WIRE_I32,
					     .op = WIRE_SUM,
					     .world = 1 },
				   .form = (uint8_t)form,
				   .kind = word == 2 ? WIRE_ADD16 : WIRE_ADD32,
				   .width = form == COLL_OPEN ? 0 : (uint8_t)word };
}

static bool sealed; /* as the results are */

/* A RESULT with this payload for a chunk that was sent. */
static enum coll_verdict answer_with(struct coll *coll, const struct coll_chunk *sent,
				     const uint8_t *payload, struct coll_chunk *got, uint64_t now)
{
	struct wire_msg msg = { .type = WIRE_RESULT,
				.kind = sent->kind,
				.job = HANDLE,
				.slot = sent->slot,
				.wid = WIRE_WID_NONE,
				.epoch = 1000,
				.round = sent->round,
				.desc = sent->desc,
				.len = sent->len,
				.sealed = sealed,
				.payload = payload };

	return coll_input(coll, &msg, got, now);
}

/* One that carries what was sent. */
static enum coll_verdict answer(struct coll *coll, const struct coll_chunk *sent,
				struct coll_chunk *got, uint64_t now)
{
	static const uint8_t zeros[WIRE_P_MAX];

	return answer_with(coll, sent, sent->lane == COLL_E ? sent->e : zeros, got, now);
}

static void coll_output__open_alone(void **state)
{
	struct coll *coll = coll_new(S, 0);
	struct coll_args args = args_of(COLL_OPEN, 0);
	struct coll_chunk c[MAX], got;
	struct wire_desc desc;

	(void)state;
	assert_int_equal(coll_deadline(coll), UINT64_MAX);
	assert_int_equal(coll_start(coll, &args), 0);
	assert_int_equal(coll_deadline(coll), 0);
	assert_int_equal(coll_output(coll, c, MAX, MS), 1);
	assert_true(c[0].lane == COLL_E && c[0].fresh && c[0].kind == WIRE_MAX8);
	assert_true(c[0].len == 64 && c[0].slot == 0 && c[0].round == 0 && c[0].count == 0);
	wire_desc_parse(&desc, c[0].e);
	assert_true(desc.opno == 0 && desc.p == P && desc.world == 1 && desc.count == 0);
	assert_int_equal(c[0].desc, crc32c(c[0].e, WIRE_DESC));
	assert_int_equal(coll_finish(coll), -1);
	assert_int_equal(answer(coll, &c[0], &got, 2 * MS), COLL_TAKEN_E);
	assert_int_equal(answer(coll, &c[0], &got, 2 * MS), COLL_DROPPED);
	assert_int_equal(coll_finish(coll), 0);
	assert_int_equal(coll_finish(coll), -1);
	assert_int_equal(coll_outstanding(coll), 0);
	free(coll);
}

static void coll_output__data_waits_for_its_scale(void **state)
{
	struct coll *coll = coll_new(S, 0);
	struct coll_args args = args_of(COLL_FLOAT, 3 * 32 + 5);
	struct coll_chunk c[MAX], got;

	(void)state;
	coll_start(coll, &args);
	assert_int_equal(coll_output(coll, c, MAX, MS), 1);
	assert_true(c[0].len == 64 && c[0].count == 101);
	assert_int_equal(coll_output(coll, c + 1, MAX, MS), 0);
	c[0].e[WIRE_E_EXP] = 130;
	assert_int_equal(answer(coll, &c[0], &got, 2 * MS), COLL_TAKEN_E);
	assert_int_equal(coll_output(coll, c, MAX, 2 * MS), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(c[i].lane == COLL_D && c[i].slot == WIRE_SE + i && c[i].round == 0);
		assert_int_equal(c[i].first, 32 * i);
		assert_int_equal(c[i].count, i < 3 ? 32 : 5);
		assert_int_equal(c[i].len, i < 3 ? 128 : 32);
		assert_int_equal(c[i].phase, 32 * i);
		assert_int_equal(*c[i].e, 130);
	}
	for (unsigned i = 4; i-- > 0;)
		assert_int_equal(answer(coll, &c[i], &got, 3 * MS), COLL_TAKEN_D);
	assert_int_equal(got.first, 0);
	assert_int_equal(coll_finish(coll), 0);
	free(coll);
}

static void coll_output__window_limits_data_in_flight(void **state)
{
	struct coll *coll = coll_new(64, 20);
	struct coll_args args = args_of(COLL_RAW, 32 * 50);
	struct coll_chunk c[MAX], e, got;

	(void)state;
	coll_start(coll, &args);
	assert_int_equal(coll_output(coll, &e, 1, MS), 1);
	answer(coll, &e, &got, 2 * MS);
	assert_int_equal(coll_output(coll, c, MAX, 2 * MS), 20);
	assert_int_equal(coll_output(coll, c + 20, MAX - 20, 2 * MS), 0);
	assert_int_equal(answer(coll, &c[0], &got, 3 * MS), COLL_TAKEN_D);
	assert_int_equal(coll_output(coll, c + 20, MAX - 20, 3 * MS), 1);
	assert_int_equal(c[20].slot, WIRE_SE + 20);
	free(coll);
}

static void coll_output__slot_waits_for_the_round_before(void **state)
{
	struct coll *coll = coll_new(S, 0);
	struct coll_args args = args_of(COLL_RAW, 32 * 20);
	struct coll_chunk c[MAX], e, got;

	(void)state;
	coll_start(coll, &args);
	coll_output(coll, &e, 1, MS);
	answer(coll, &e, &got, MS);
	assert_int_equal(coll_output(coll, c, MAX, MS), S);
	answer(coll, &c[2], &got, MS);
	assert_int_equal(coll_output(coll, c + S, MAX - S, MS),
			 0); /* in order: chunk 8 needs slot 0 */
	answer(coll, &c[0], &got, MS);
	assert_int_equal(coll_output(coll, c + S, MAX - S, MS), 1);
	assert_true(c[S].slot == WIRE_SE && c[S].round == 1 && c[S].first == 32 * S);
	free(coll);
}

static void coll_start__32_are_outstanding_and_their_scales_go_at_once(void **state)
{
	struct coll *coll = coll_new(64, 0);
	struct coll_args args = args_of(COLL_FLOAT, 32);
	struct coll_chunk c[MAX];

	(void)state;
	for (int i = 0; i < COLL_OPS; i++) {
		args.desc.count = (uint64_t)i + 1;
		assert_int_equal(coll_start(coll, &args), i);
	}
	assert_int_equal(coll_start(coll, &args), -1);
	assert_int_equal(coll_output(coll, c, MAX, MS), COLL_OPS);
	assert_int_equal(c[31].count, 32);
	free(coll);
}

/* A segment has as many elements, in half as many chunks; data of the next wait for its own scales. */
static void coll_output__segments_of_16_bits(void **state)
{
	enum { FULL = 128 * P };
	struct coll *coll = coll_new(16, 0);
	struct coll_args args;
	struct coll_chunk c[MAX], second = { .e = NULL }, got;
	uint64_t first = 0;

	(void)state;
	word = 2;
	args = args_of(COLL_FLOAT, FULL + 70);
	coll_start(coll, &args);
	assert_int_equal(coll_output(coll, c, 1, MS), 1);
	assert_int_equal(c[0].count, FULL);
	for (unsigned b = 0; b < FULL / 256; b++)
		c[0].e[WIRE_E_EXP + b] = (uint8_t)(b + 1);
	answer(coll, &c[0], &got, MS);
	while (first < FULL) {
		unsigned nr = coll_output(coll, c, MAX, MS);

		assert_true(nr > 0);
		for (unsigned i = 0; i < nr; i++) {
			if (c[i].lane == COLL_E) {
				second = c[i];
				continue;
			}
			assert_true(c[i].first == first && c[i].count == 64 && c[i].len == 128);
			assert_true(c[i].kind == WIRE_ADD16 && c[i].phase == first % 256);
			assert_int_equal(*c[i].e, (uint8_t)(first / 256 + 1));
			first += 64;
			assert_int_equal(answer(coll, &c[i], &got, MS), COLL_TAKEN_D);
		}
	}
	assert_int_equal(coll_output(coll, c, MAX, MS), 0);
	assert_true(second.first == FULL && second.count == 70);
	second.e[WIRE_E_EXP] = 201;
	answer(coll, &second, &got, MS);
	assert_int_equal(coll_output(coll, c, MAX, MS), 2);
	assert_true(c[0].first == FULL && c[0].phase == 0 && *c[0].e == 201);
	assert_true(c[1].count == 6 && c[1].len == 32);
	for (unsigned i = 0; i < 2; i++)
		answer(coll, &c[i], &got, MS);
	assert_int_equal(coll_finish(coll), 0);
	word = 4;
	free(coll);
}

static void coll_output__scales_do_not_run_far_ahead_of_data(void **state)
{
	struct coll *coll = coll_new(64, 0);
	struct coll_args args = args_of(COLL_FLOAT, (uint64_t)128 * P * 5);
	struct coll_chunk c[MAX], got;
	unsigned nr_e = 0;

	(void)state;
	coll_start(coll, &args);
	assert_int_equal(coll_output(coll, c, MAX, MS), 1); /* 512 chunks ahead: enough */
	answer(coll, &c[0], &got, MS);
	assert_int_equal(coll_output(coll, c, 1, MS), 1);
	assert_int_equal(c[0].lane, COLL_D);
	nr_e = coll_output(coll, c, MAX, MS);
	assert_true(nr_e > 1 && c[0].lane == COLL_E && c[1].lane == COLL_D);
	free(coll);
}

static void coll_input__wrong_in_one_field(void **state)
{
	struct coll *coll = coll_new(S, 0);
	struct coll_args args = args_of(COLL_RAW, 32);
	struct coll_chunk e, got;
	struct wire_msg right, wrong;

	(void)state;
	coll_start(coll, &args);
	coll_output(coll, &e, 1, MS);
	right = (struct wire_msg){ .type = WIRE_RESULT,
				   .kind = e.kind,
				   .job = HANDLE,
				   .slot = e.slot,
				   .epoch = 1000,
				   .round = e.round,
				   .desc = e.desc,
				   .len = e.len,
				   .payload = e.e };
#define WRONG(field, value)                                                                        \
	wrong = right, wrong.field = (value);                                                      \
	assert_int_equal(coll_input(coll, &wrong, &got, MS), COLL_DROPPED)
	WRONG(kind, WIRE_MAX32);
	WRONG(job, HANDLE + 1);
	WRONG(slot, 1);
	WRONG(slot, WIRE_SE);
	WRONG(slot, WIRE_SE + S);
	WRONG(epoch, 999);
	WRONG(epoch, 1001);
	WRONG(round, 1);
	WRONG(desc, right.desc ^ 1);
	WRONG(len, 96);
#undef WRONG
	assert_int_equal(coll_stats(coll)->dropped, 10);
	assert_int_equal(coll_input(coll, &right, &got, MS), COLL_TAKEN_E);
	free(coll);
}

static void coll_input__another_descriptor_came_out(void **state)
{
	struct coll *coll = coll_new(S, 0);
	struct coll_args args = args_of(COLL_RAW, 32);
	struct coll_chunk e, got;
	uint8_t payload[64];
	struct wire_msg msg;

	(void)state;
	coll_start(coll, &args);
	coll_output(coll, &e, 1, MS);
	memcpy(payload, e.e, sizeof(payload));
	payload[WIRE_DESC_COUNT + 7]++;
	msg = (struct wire_msg){ .type = WIRE_RESULT,
				 .kind = e.kind,
				 .job = HANDLE,
				 .slot = e.slot,
				 .epoch = 1000,
				 .desc = e.desc,
				 .len = e.len,
				 .payload = payload };
	assert_int_equal(coll_input(coll, &msg, &got, MS), COLL_MISMATCH);
	msg.flags = WIRE_EMPTY;
	assert_int_equal(coll_input(coll, &msg, &got, MS), COLL_BROKEN);
	free(coll);
}

static void coll_answer__names_who_is_missing(void **state)
{
	struct coll *coll = coll_new(S, 0);
	struct coll_args args = args_of(COLL_OPEN, 0);
	struct wire_status status = { .missing = 0x6, .silent = 0x4 };
	struct coll_chunk e;
	uint64_t missing, silent, now = MS;
	uint16_t slot;
	unsigned probes = 0;

	(void)state;
	coll_start(coll, &args);
	coll_output(coll, &e, 1, now);
	assert_false(coll_stall(coll, &missing, &silent, &slot));
	while (!probes && now < 1000 * MS) {
		now = coll_deadline(coll);
		if (coll_output(coll, &e, 1, now))
			probes += e.probe;
	}
	assert_true(probes && now < 300 * MS);
	coll_answer(coll, &status, 1, 0, now, now + MS); /* not what we asked about */
	assert_false(coll_stall(coll, &missing, &silent, &slot));
	coll_answer(coll, &status, e.slot, e.round, now, now + MS);
	assert_true(coll_stall(coll, &missing, &silent, &slot));
	assert_true(missing == 0x6 && silent == 0x4 && slot == 0);
	assert_int_equal(rtt_low(coll_rtt(coll)), MS);
	free(coll);
}

/* --- CHECK ------------------------------------------------------------------------------------ */

static bool wraps; /* the sums may */

/* Else they are small enough for two ranks. */
static int32_t element(unsigned rank, uint64_t i)
{
	const int32_t x = (int32_t)((i + 1) * 2654435761u + rank * 40503u * (i + 7));

	return wraps ? x : x >> (word == 2 ? 18 : 2);
}

static uint32_t word_get(const uint8_t *payload, uint32_t i)
{
	if (word == 2)
		return (uint32_t)(int16_t)wire_get16(payload + 2 * i);
	return wire_get32(payload + 4 * i);
}

static void word_put(uint8_t *payload, uint32_t i, uint32_t value)
{
	if (word == 2)
		wire_put16(payload + 2 * i, (uint16_t)value);
	else
		wire_put32(payload + 4 * i, value);
}

/* What two ranks have in a chunk, this one being the first; for rank -1 their sum. */
static void fill(const struct coll_chunk *c, int rank, uint8_t *payload)
{
	memset(payload, 0, c->len);
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t a = (uint32_t)element(0, c->first + i);
		uint32_t b = (uint32_t)element(1, c->first + i);

		word_put(payload, i, rank == 0 ? a : rank == 1 ? b : a + b);
	}
}

/* What is wrong with results: bits of these elements, of one word of CLOSE. */
struct flaw {
	uint64_t at[2];
	uint32_t bits;
	unsigned word;
	uint32_t close;
};

static const struct flaw no_flaw;

static void spoil(const struct flaw *flaw, const struct coll_chunk *c, uint8_t *payload)
{
	for (unsigned k = 0; k < 2; k++) {
		const uint64_t at = flaw->at[k] - c->first;

		if (at < c->count && (k == 0 || flaw->at[1] != flaw->at[0]))
			word_put(payload, (uint32_t)at,
				 word_get(payload, (uint32_t)at) ^ flaw->bits);
	}
}

/* CLOSE of this rank becomes that of both: eight digits of 16 bits, those of the plain sum first. */
static void close_both(const struct coll_chunk *c, uint64_t count, uint8_t *payload)
{
	int64_t sums[2][2] = { { 0 } };

	for (uint64_t i = 0; i < count; i++) {
		for (unsigned rank = 0; rank < 2; rank++) {
			sums[rank][0] += element(rank, i);
			sums[rank][1] += (int64_t)i * element(rank, i);
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		uint32_t digits[2];

		for (unsigned rank = 0; rank < 2; rank++)
			digits[rank] = (uint32_t)(sums[rank][i / 4] >> 16 * (i % 4) & 0xffff);
		assert_int_equal(wire_get32(payload + 4 * i), digits[0]);
		wire_put32(payload + 4 * i, digits[0] + digits[1]);
	}
	assert_true(c->len == WIRE_PAD && c->kind == WIRE_ADD32);
	assert_true(c->count == 0 && !c->counted);
}

/* Runs a sum of two ranks of count elements. Returns whether it verified; *nr_d: data chunks sent. */
static bool checked_sum(enum coll_form form, uint64_t count, const struct flaw *flaw,
			unsigned *nr_d)
{
	struct coll *coll = coll_new_job(64, 0, true);
	struct coll_args args = args_of(form, count);
	struct coll_chunk out[8], got;
	uint8_t payload[P];
	uint64_t sums[2], now = MS;
	bool verified;
	int op;

	wraps = form == COLL_RAW;
	sealed = true;
	*nr_d = 0;
	coll_start(coll, &args);
	while ((op = coll_finish(coll)) < 0) {
		unsigned nr = coll_output(coll, out, 8, now += 1000);

		assert_true(nr > 0);
		for (unsigned k = 0; k < nr; k++) {
			const struct coll_chunk *c = &out[k];

			if (c->lane == COLL_E) {
				assert_int_equal(answer(coll, c, &got, now), COLL_TAKEN_E);
				continue;
			}
			++*nr_d;
			if (c->close) {
				coll_close(coll, c, payload);
				close_both(c, count, payload);
				payload[4 * flaw->word + 3] ^= (uint8_t)flaw->close;
				payload[4 * flaw->word + 1] ^= (uint8_t)(flaw->close >> 16);
				assert_int_equal(answer_with(coll, c, payload, &got, now),
						 COLL_TAKEN_D);
				assert_true(got.close && !got.counted);
				continue;
			}
			assert_true(c->counted);
			fill(c, 0, payload);
			sums_close(sums, c->kind, payload, c->count);
			coll_count(coll, c, sums);
			fill(c, -1, payload);
			spoil(flaw, c, payload);
			assert_int_equal(answer_with(coll, c, payload, &got, now), COLL_TAKEN_D);
			assert_true(got.counted && !got.fresh);
			sums_close(sums, got.kind, payload, got.count);
			coll_count(coll, &got, sums);
		}
	}
	sealed = false;
	assert_int_equal(op, 0);
	verified = coll_verified(coll, op);
	free(coll);
	return verified;
}

static void coll_close__behind_the_data(void **state)
{
	static const uint64_t counts[] = { 1, 31, 32, 33, 16383, 16384, 16385, 32768, 40000 };
	unsigned nr;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		assert_true(checked_sum(COLL_FLOAT, counts[i], &no_flaw, &nr));
		assert_int_equal(nr, (counts[i] + 31) / 32 + 1);
		assert_true(checked_sum(COLL_RAW, counts[i], &no_flaw, &nr));
		assert_int_equal(nr, (counts[i] + 31) / 32 + 1);
		word = 2;
		assert_true(checked_sum(COLL_FLOAT, counts[i], &no_flaw, &nr));
		assert_int_equal(nr, (counts[i] + 63) / 64 + 1);
		word = 4;
	}
}

/* A sum with the same bit of one or two elements changed. */
static bool flipped(enum coll_form form, uint64_t first, uint64_t second, unsigned bit)
{
	const struct flaw flaw = { .at = { first, second }, .bits = UINT32_C(1) << bit };
	unsigned nr;

	return !checked_sum(form, 300, &flaw, &nr);
}

static void coll_verified__any_bit_of_any_word(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 32; at++)
		for (unsigned bit = 0; bit < 32; bit++)
			assert_true(flipped(COLL_RAW, at, at, bit));
	assert_true(flipped(COLL_FLOAT, 299, 299, 31));
	word = 2;
	for (unsigned at = 0; at < 64; at++)
		for (unsigned bit = 0; bit < 16; bit++)
			assert_true(flipped(COLL_FLOAT, at, at, bit));
	word = 4;
}

/* Sums of floats do not wrap, so that no two errors cancel; those of integers show a top bit in odd places alone. */
static void coll_verified__any_two_words(void **state)
{
	static const uint64_t pairs[][2] = { { 0, 1 }, { 0, 2 }, { 3, 7 }, { 1, 257 }, { 43, 299 } };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		const uint64_t *pair = pairs[i];
		const bool odd = (pair[1] - pair[0]) % 2;

		for (unsigned bit = 0; bit < 32; bit++)
			assert_true(flipped(COLL_FLOAT, pair[0], pair[1], bit));
		assert_int_equal(flipped(COLL_RAW, pair[0], pair[1], 31), odd);
		word = 2;
		for (unsigned bit = 0; bit < 16; bit++)
			assert_true(flipped(COLL_FLOAT, pair[0], pair[1], bit));
		word = 4;
	}
}

/* Of integers the upper half of the sums says nothing. */
static void coll_verified__any_digit_of_close(void **state)
{
	unsigned nr;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const struct flaw low = { .word = i, .close = 0x40 };
		const struct flaw carry = { .word = i, .close = 0x10000 };

		assert_false(checked_sum(COLL_FLOAT, 70, &low, &nr));
		assert_int_equal(checked_sum(COLL_FLOAT, 70, &carry, &nr), i % 4 == 3);
		assert_int_equal(checked_sum(COLL_RAW, 70, &low, &nr), i % 4 > 1);
	}
}

/* Only sums have it, and only with CHECK. */
static void coll_output__no_close(void **state)
{
	static const struct {
		bool check;
		enum coll_form form;
		uint8_t kind;
	} cases[] = { { false, COLL_RAW, WIRE_ADD32 },
		      { true, COLL_RAW, WIRE_MAX32 },
		      { true, COLL_RAW, WIRE_ADD32SAT } };
	struct coll_chunk c[8], got;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coll *coll = coll_new_job(S, 0, cases[i].check);
		struct coll_args args = args_of(cases[i].form, 40);

		sealed = cases[i].check;
		args.kind = cases[i].kind;
		coll_start(coll, &args);
		assert_int_equal(coll_output(coll, c, 8, MS), 1);
		assert_int_equal(answer(coll, &c[0], &got, MS), COLL_TAKEN_E);
		assert_int_equal(coll_output(coll, c, 8, MS), 2);
		for (unsigned k = 0; k < 2; k++) {
			assert_false(c[k].close || c[k].counted);
			assert_int_equal(answer(coll, &c[k], &got, MS), COLL_TAKEN_D);
			assert_false(got.counted);
		}
		assert_int_equal(coll_finish(coll), 0);
		assert_true(coll_verified(coll, 0));
		free(coll);
	}
	sealed = false;
}

/* CLOSE is sent again with the same bytes, also when results have been taken since. */
static void coll_close__again(void **state)
{
	struct coll *coll = coll_new_job(S, 0, true);
	struct coll_args args = args_of(COLL_RAW, 20);
	uint8_t first[WIRE_PAD], again[WIRE_PAD], payload[P];
	struct coll_chunk e, c[2], got;
	uint64_t sums[2], now = MS;

	(void)state;
	sealed = true;
	coll_start(coll, &args);
	coll_output(coll, &e, 1, now);
	answer(coll, &e, &got, now);
	assert_int_equal(coll_output(coll, c, 2, now), 2);
	assert_true(!c[0].close && c[1].close && c[1].fresh);
	fill(&c[0], 0, payload);
	sums_close(sums, c[0].kind, payload, c[0].count);
	coll_count(coll, &c[0], sums);
	coll_close(coll, &c[1], first);
	fill(&c[0], -1, payload);
	assert_int_equal(answer_with(coll, &c[0], payload, &got, now), COLL_TAKEN_D);
	sums_close(sums, got.kind, payload, got.count);
	coll_count(coll, &got, sums);
	now = coll_deadline(coll);
	assert_int_equal(coll_output(coll, c, 2, now), 1);
	assert_true(c[0].close && !c[0].fresh && !c[0].counted);
	coll_close(coll, &c[0], again);
	assert_memory_equal(first, again, WIRE_PAD);
	sealed = false;
	free(coll);
}

static void coll_input__sealed_as_agreed(void **state)
{
	struct coll_chunk e, got;

	(void)state;
	for (unsigned check = 0; check < 2; check++) {
		struct coll *coll = coll_new_job(S, 0, check);
		struct coll_args args = args_of(COLL_RAW, 40);

		coll_start(coll, &args);
		coll_output(coll, &e, 1, MS);
		sealed = !check;
		assert_int_equal(answer(coll, &e, &got, MS), COLL_DROPPED);
		sealed = check;
		assert_int_equal(answer(coll, &e, &got, MS), COLL_TAKEN_E);
		free(coll);
	}
	sealed = false;
}

/*
 * Many operations of every form and size through a network that loses, delays and repeats; the "switch" answers
 * every chunk it has seen.  Every element of every operation is delivered exactly once, in order of operations.
 */
struct history {
	struct coll *coll;
	uint64_t rng, now;
	struct coll_chunk net[512];
	uint8_t e[512][P];
	unsigned nr_net;
	uint64_t counts[400];
	uint8_t forms[400];
	uint64_t delivered[400];
	unsigned posted, finished;
};

static uint64_t draw(struct history *h, uint64_t n)
{
	h->rng ^= h->rng << 13, h->rng ^= h->rng >> 7, h->rng ^= h->rng << 17;
	return (h->rng >> 11) % n;
}

static void history_post(struct history *h)
{
	static const uint64_t sizes[] = { 0,   1,    31,    32,	   33,	  255,	256,
					  257, 1000, 16383, 16384, 16385, 40000 };
	struct coll_args args;
	enum coll_form form = (enum coll_form)draw(h, 3);
	uint64_t count = form == COLL_OPEN ? 0
					   : 1 + sizes[draw(h, sizeof(sizes) / sizeof(sizes[0]))];

	word = draw(h, 2) ? 2 : 4;
	args = args_of(form, count);
	word = 4;
	assert_int_equal(coll_start(h->coll, &args), h->posted % COLL_OPS);
	h->counts[h->posted] = count;
	h->forms[h->posted++] = (uint8_t)form;
}

static void history_deliver(struct history *h)
{
	unsigned i = (unsigned)draw(h, h->nr_net), op;
	struct coll_chunk sent = h->net[i], got;

	sent.e = h->e[i];
	if (draw(h, 10)) { /* else it may come again */
		h->net[i] = h->net[--h->nr_net];
		memcpy(h->e[i], h->e[h->nr_net], P);
	}
	if (answer(h->coll, &sent, &got, h->now) != COLL_TAKEN_D)
		return;
	assert_true(got.first == sent.first && got.count == sent.count && got.op == sent.op);
	op = h->finished + (got.op + COLL_OPS - h->finished % COLL_OPS) % COLL_OPS;
	h->delivered[op] += got.count;
}

static void coll__random_histories(void **state)
{
	static struct history h;

	(void)state;
	h = (struct history){ .coll = coll_new(37, 0), .rng = 0x9e3779b97f4a7c15, .now = MS };
	while (h.finished < 400) {
		struct coll_chunk out[8];
		unsigned nr;

		if (h.posted < 400 && h.posted - h.finished < COLL_OPS && draw(&h, 4) == 0)
			history_post(&h);
		nr = coll_output(h.coll, out, 1 + (unsigned)draw(&h, 8), h.now);
		for (unsigned i = 0; i < nr; i++) {
			if (draw(&h, 50) == 0 || h.nr_net == 512)
				continue; /* lost */
			h.net[h.nr_net] = out[i];
			if (out[i].lane == COLL_E)
				memcpy(h.e[h.nr_net], out[i].e, out[i].len);
			h.nr_net++;
		}
		for (unsigned k = 0; k < 6 && h.nr_net; k++)
			history_deliver(&h);
		while (coll_finish(h.coll) >= 0) {
			assert_int_equal(h.delivered[h.finished], h.counts[h.finished]);
			h.finished++;
		}
		h.now += 20000;
	}
	assert_int_equal(coll_outstanding(h.coll), 0);
	assert_true(coll_stats(h.coll)->retransmits > 100);
	free(h.coll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coll_start__32_are_outstanding_and_their_scales_go_at_once),
		cmocka_unit_test(coll_output__open_alone),
		cmocka_unit_test(coll_output__data_waits_for_its_scale),
		cmocka_unit_test(coll_output__window_limits_data_in_flight),
		cmocka_unit_test(coll_output__slot_waits_for_the_round_before),
		cmocka_unit_test(coll_output__segments_of_16_bits),
		cmocka_unit_test(coll_output__scales_do_not_run_far_ahead_of_data),
		cmocka_unit_test(coll_input__wrong_in_one_field),
		cmocka_unit_test(coll_input__another_descriptor_came_out),
		cmocka_unit_test(coll_answer__names_who_is_missing),
		cmocka_unit_test(coll_close__behind_the_data),
		cmocka_unit_test(coll_close__again),
		cmocka_unit_test(coll_verified__any_bit_of_any_word),
		cmocka_unit_test(coll_verified__any_two_words),
		cmocka_unit_test(coll_verified__any_digit_of_close),
		cmocka_unit_test(coll_output__no_close),
		cmocka_unit_test(coll_input__sealed_as_agreed),
		cmocka_unit_test(coll__random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
