// SPDX-License-Identifier: BSD-3-Clause
/*
 * fuzz_pipe.c - a switch with a job whose ranks keep to the protocol over a network that the bytes
 * steer, and with strangers, spoofers and a hostile job beside them.  Whatever those send, the
 * job's results are exact sums of one contribution of each rank, given only when all are there, and
 * its epoch goes on.
 *
 * Inputs of odd length have the job with CHECK.  All ranks were heard a moment ago.  A JOIN of the job's name that speaks of an epoch ahead of it
 * is not sent: by the protocol it ends the epoch, whoever sends it.
 */
#include <string.h>

#include "switch/core/pipe.h"
#include "tests/fuzz/fuzz.h"

enum {
	WORLD = 3,
	SLOTS = 4,
	P = 128,
	ELEMENTS = P / 4,
	ROUNDS = 8, /* remembered of each slot */
	ROOM = 512,
	IP = 0x0a000001,
	PORT = 40000,
	STRANGER = 200,
};

struct fuzz_switch {
	struct pipe *pipe;
	void *mem;
	struct pipe_time now;
	uint64_t rx, epoch;
	uint16_t handle, foreign;
	uint64_t foreign_epoch;
	bool check;
	uint32_t sent[WORLD][SLOTS];   /* next round of each rank */
	uint32_t taken[WORLD][SLOTS];  /* results it took */
	unsigned added[SLOTS][ROUNDS]; /* a bit for each rank that contributed */
};

static uint32_t value(unsigned wid, unsigned slot, uint32_t round, unsigned i)
{
	uint32_t x = (wid * 97 + slot * 1009 + round * 10007 + i) * UINT32_C(2654435761);

	return x ^ x >> 13;
}

static struct flow flow_of(unsigned host)
{
	return (struct flow){ .ip = IP + host,
			      .udp_port = (uint16_t)(PORT + host),
			      .port = (uint16_t)host };
}

/* --- What comes out --------------------------------------------------------------------------- */

static void result_right(struct fuzz_switch *s, const struct pipe_pkt *pkt)
{
	unsigned slot;
	struct wire_msg msg;

	fuzz_check(wire_parse(&msg, pkt->data, pkt->len) == WIRE_OK);
	fuzz_check(msg.type == WIRE_RESULT);
	if (msg.job != s->handle)
		return;
	fuzz_check(msg.epoch == s->epoch && msg.slot >= WIRE_SE && msg.slot < WIRE_SE + SLOTS);
	slot = msg.slot - WIRE_SE;
	fuzz_check(msg.len == P && msg.kind == WIRE_ADD32 && msg.sealed == s->check);
	fuzz_check(s->added[slot][msg.round % ROUNDS] == (1u << WORLD) - 1);
	for (unsigned i = 0; i < ELEMENTS; i++) {
		uint32_t sum = 0;

		for (unsigned wid = 0; wid < WORLD; wid++)
			sum += value(wid, slot, msg.round, i);
		fuzz_check(wire_get32(msg.payload + 4 * i) == sum);
	}
}

static void statuses_right(struct fuzz_switch *s)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_status status;
	struct wire_msg msg;
	struct flow to;
	size_t len;

	while ((len = pipe_output(s->pipe, &to, buf)) != 0) {
		fuzz_check(wire_parse(&msg, buf, len) == WIRE_OK && msg.type == WIRE_STATUS);
		fuzz_check(wire_status_parse(&status, &msg) == WIRE_OK);
	}
}

static enum pipe_verdict send(struct fuzz_switch *s, uint8_t *buf, size_t len, unsigned host)
{
	struct pipe_pkt pkt = {
		.data = buf, .len = (uint32_t)len, .cap = ROOM, .flow = flow_of(host)
	};
	struct flow to[WIRE_WORLD_MAX];

	pipe_input(s->pipe, &pkt, 1, &s->now);
	s->rx++;
	fuzz_check(pkt.counter < COUNTER_NR && pkt.len <= ROOM);
	if (pkt.verdict == PIPE_REPLY || pkt.verdict == PIPE_MULTICAST) {
		result_right(s, &pkt);
		fuzz_check(pipe_dests(s->pipe, &pkt, to) <= WIRE_WORLD_MAX);
	}
	statuses_right(s);
	return pkt.verdict;
}

/* --- The job, and a hostile one --------------------------------------------------------------- */

static const struct job *form(struct fuzz_switch *s, const char *name, unsigned world,
			      unsigned first)
{
	const struct job *job = NULL;
	uint8_t buf[ROOM];

	for (unsigned i = 0; i <= world; i++) {
		unsigned wid = i ? i - 1 : 0;
		struct wire_join join = { .inc = 100 + first + wid,
					  .world = (uint16_t)world,
					  .slots = SLOTS,
					  .p = P,
					  .flags = s->check ? WIRE_JOB_CHECK : 0,
					  .port = (uint16_t)(PORT + first + wid),
					  .nr_ports = 1 };
		size_t len;

		strcpy(join.name, name);
		join.base = job ? job->epoch - 1 : 0;
		len = wire_join_build(buf, (uint16_t)wid, &join);
		if (s->check)
			len = wire_seal(buf, (uint32_t)len - WIRE_HEADER);
		send(s, buf, len, first + wid);
		for (unsigned j = 0; j < 4; j++)
			if (pipe_job(s->pipe, j) && !strcmp(pipe_job(s->pipe, j)->name, name))
				job = pipe_job(s->pipe, j);
		fuzz_check(job != NULL);
	}
	fuzz_check(job->running);
	return job;
}

static void open_switch(struct fuzz_switch *s, bool check)
{
	const struct pipe_params params = { .jobs_max = 4,
					    .slots_max = 4 * (WIRE_SE + SLOTS),
					    .values_bytes = 4 * (WIRE_SE + SLOTS) * 2 * P,
					    .p_max = P };
	const struct job *job;

	memset(s, 0, sizeof(*s));
	s->check = check;
	s->now = (struct pipe_time){ .now_ns = 1000000, .wall_ms = 1000000 };
	s->mem = fuzz_memory(pipe_size(&params));
	s->pipe = pipe_init(s->mem, &params, &s->now);
	fuzz_check(s->pipe != NULL);
	s->now.now_ns += 10000000;
	s->now.wall_ms += 10;
	job = form(s, "good", WORLD, 0);
	s->handle = job->handle;
	s->epoch = job->epoch;
	s->now.now_ns += 1000000;
	s->now.wall_ms++;
	job = form(s, "foreign", 1, STRANGER);
	s->foreign = job->handle;
	s->foreign_epoch = job->epoch;
}

/* A contribution of a rank that keeps to the rules: the next round, or any before it again. */
static void contribute(struct fuzz_switch *s, struct fuzz_bytes *bytes)
{
	unsigned wid = fuzz_u8(bytes) % WORLD, slot = fuzz_u8(bytes) % SLOTS, back = fuzz_u8(bytes);
	uint32_t next = s->sent[wid][slot], round;
	struct wire_msg msg = { .type = WIRE_DATA,
				.kind = WIRE_ADD32,
				.job = s->handle,
				.epoch = s->epoch,
				.slot = (uint16_t)(WIRE_SE + slot),
				.desc = 7,
				.wid = (uint16_t)wid };
	uint8_t buf[ROOM];
	size_t len = WIRE_HEADER + P;

	if (back % 2 == 0 && s->taken[wid][slot] == next)
		round = s->sent[wid][slot]++;
	else if (next > 0)
		round = next - 1 - back / 2 % (next < ROUNDS / 2 ? next : ROUNDS / 2);
	else
		return;
	msg.round = round;
	wire_build(buf, &msg);
	for (unsigned i = 0; i < ELEMENTS; i++)
		wire_put32(buf + WIRE_HEADER + 4 * i, value(wid, slot, round, i));
	if (round + 1 == s->sent[wid][slot] && !(s->added[slot][round % ROUNDS] >> wid & 1)) {
		s->added[slot][round % ROUNDS] |= 1u << wid;
		s->added[slot][(round + ROUNDS / 2) % ROUNDS] = 0;
	}
	if (s->check)
		len = wire_seal(buf, P);
	if (send(s, buf, len, wid) == PIPE_DROP)
		return;
	/* Whoever's bits are named in `back` takes the result, if there is one. */
	for (unsigned r = 0; r < WORLD; r++)
		if ((back >> (5 + r) & 1) &&
		    wire_get32(buf + WIRE_OFF_ROUND) == s->taken[r][slot] &&
		    buf[WIRE_OFF_TYPE] == (WIRE_VERSION << 4 | WIRE_RESULT) &&
		    s->sent[r][slot] == s->taken[r][slot] + 1)
			s->taken[r][slot]++;
}

/* Ends the good job's epoch by the protocol: the switch has forgotten one that a rank knows. */
static bool speaks_of_later(const struct fuzz_switch *s, const uint8_t *buf, size_t len)
{
	struct wire_join join;
	struct wire_msg msg;

	return wire_parse(&msg, buf, len) == WIRE_OK && msg.type == WIRE_JOIN &&
	       wire_join_parse(&join, &msg) == WIRE_OK && join.base > s->epoch &&
	       strcmp(join.name, "good") == 0;
}

/* Bytes of the input as they are, under a header that fits where the input says so. */
static void hostile(struct fuzz_switch *s, struct fuzz_bytes *bytes)
{
	uint8_t buf[ROOM], how = fuzz_u8(bytes);
	size_t len = fuzz_take(bytes, buf, how & 1 ? WIRE_HEADER + fuzz_u8(bytes) : fuzz_u8(bytes));
	bool own = how & 2;

	if (how & 4 && len >= WIRE_HEADER) { /* the good job's, or its own */
		wire_put16(buf + WIRE_OFF_JOB, own ? s->foreign : s->handle);
		wire_put48(buf + WIRE_OFF_EPOCH, own ? s->foreign_epoch : s->epoch);
		buf[WIRE_OFF_TYPE] = (uint8_t)(WIRE_VERSION << 4 | (how >> 4 & 7));
	}
	if (how & 8 && len >= WIRE_HEADER) { /* as long as its type wants it */
		size_t want = (how >> 4 & 7) == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY;

		memset(buf + len, 0, sizeof(buf) - len);
		len = WIRE_HEADER + want;
	}
	if (how & 128 && len > WIRE_HEADER && len + WIRE_CRC <= sizeof(buf))
		len = wire_seal(buf, (uint32_t)len - WIRE_HEADER);
	if (!speaks_of_later(s, buf, len))
		send(s, buf, len, STRANGER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = { data, size };
	struct fuzz_switch s;
	uint64_t sum = 0;

	if (size > 4096)
		return -1;
	open_switch(&s, size % 2);
	while (bytes.left) {
		const struct job *job = NULL;

		if (fuzz_u8(&bytes) % 4)
			contribute(&s, &bytes);
		else
			hostile(&s, &bytes);
		s.now.now_ns += 1000;
		for (unsigned j = 0; j < 4 && !job; j++)
			if (pipe_job(s.pipe, j) && pipe_job(s.pipe, j)->handle == s.handle)
				job = pipe_job(s.pipe, j);
		fuzz_check(job && job->running && job->epoch == s.epoch && job->left == 0);
	}
	for (unsigned i = 0; i < COUNTER_NR; i++)
		sum += pipe_counters(s.pipe)->v[i];
	fuzz_check(sum == s.rx);
	free(s.mem);
	return 0;
}
