// SPDX-License-Identifier: BSD-3-Clause
// Two engines whose transport is the explorer, a clock that it sets, and a switch by the book.
#include "tests/explore/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { JOB = 7, EPOCH = 9, SLEEP_NS = 1000000, TIMEOUT_NS = 250000000 };

struct rank {
	struct transport fake, *real;
	struct engine *engine;
	struct explorer *e;
	unsigned number;
	uint8_t tx[2 * TRANSPORT_BURST + 1][WIRE_MSG_MAX];
	unsigned nr_tx;
	uint8_t rx[CHUNKS][WIRE_MSG_MAX];
};

static struct rank ranks[RANKS];
/* What rank 0 is to take, in this order. */
static struct chunk *taken[CHUNKS];
static unsigned nr_taken;
static uint64_t clock_ns; /* 0: the engines see the system's */

static void memory_stop(const char *why)
{
	fprintf(stderr, "explore_memory: %s\n", why);
	exit(1);
}

/* The engines' clock stands still but for what the explorer makes of it. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!clock_ns)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec = (time_t)(clock_ns / 1000000000);
	ts->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

/* --- The switch ----------------------------------------------------------------------------------- */

/* Bytes that are added, or compared, at once. */
static unsigned switch_width(const struct explorer *e, uint8_t kind)
{
	if (kind == WIRE_MAX8)
		return 1;
	return kind == WIRE_ADD16 && e->fault != FAULT_CARRY ? 2 : 4;
}

static void switch_add(const struct explorer *e, uint8_t kind, uint8_t *to, const uint8_t *from)
{
	if (kind == WIRE_MAX8)
		*to = *from > *to && e->fault != FAULT_ALONE ? *from : *to;
	else if (switch_width(e, kind) == 2)
		wire_put16(to, (uint16_t)(wire_get16(to) + wire_get16(from)));
	else if (kind != WIRE_MAX32)
		wire_put32(to, wire_get32(to) + wire_get32(from));
	else if ((int32_t)wire_get32(from) > (int32_t)wire_get32(to))
		wire_put32(to, wire_get32(from));
}

static void switch_more(const struct wire_msg *msg, uint8_t *sum, unsigned at, int32_t more)
{
	if (msg->kind == WIRE_ADD16)
		wire_put16(sum + at * 2, (uint16_t)(wire_get16(sum + at * 2) + more));
	else
		wire_put32(sum + at * 4, wire_get32(sum + at * 4) + (uint32_t)more);
}

static void switch_corrupt(const struct explorer *e, const struct wire_msg *msg, uint8_t *sum)
{
	const unsigned first = chunk_first(&e->setting, msg->slot, msg->round);

	for (unsigned i = 0; i < 2; i++) {
		const unsigned at = e->setting.corrupt[i].at - first;

		if (at < chunk_count(&e->setting))
			switch_more(msg, sum, at, e->setting.corrupt[i].more);
	}
	if (e->fault == FAULT_ADDS)
		switch_more(msg, sum, 0, 1);
}

static void switch_result(struct explorer *e, struct chunk *chunk, const struct wire_msg *msg)
{
	struct wire_msg head = *msg;
	uint8_t *sum = chunk->result + WIRE_HEADER;

	head.type = WIRE_RESULT;
	head.wid = WIRE_WID_NONE;
	wire_build(chunk->result, &head);
	memcpy(sum, chunk->first[0] + WIRE_HEADER, msg->len);
	for (uint32_t i = 0; i < msg->len; i += switch_width(e, msg->kind))
		switch_add(e, msg->kind, sum + i, chunk->first[1] + WIRE_HEADER + i);
	if (msg->kind == WIRE_ADD32 || msg->kind == WIRE_ADD16)
		switch_corrupt(e, msg, sum);
	chunk->len = WIRE_HEADER + msg->len;
	if (e->setting.check)
		chunk->len = wire_seal(chunk->result, msg->len);
	chunk->ready[0] = chunk->ready[1] = true;
}

static struct chunk *switch_chunk(struct explorer *e, const struct wire_msg *msg)
{
	for (unsigned i = 0; i < e->nr_chunks; i++)
		if (e->chunks[i].slot == msg->slot && e->chunks[i].round == msg->round)
			return &e->chunks[i];
	if (e->nr_chunks == CHUNKS)
		memory_stop("too many chunks");
	e->chunks[e->nr_chunks] = (struct chunk){ .slot = msg->slot, .round = msg->round };
	return &e->chunks[e->nr_chunks++];
}

static void switch_input(struct explorer *e, unsigned rank, const struct transport_pkt *pkt)
{
	struct chunk *chunk;
	struct wire_msg msg;

	if (wire_parse(&msg, pkt->data, pkt->len) != WIRE_OK) {
		e->violation = "a message that is not valid";
		return;
	}
	if (msg.type != WIRE_DATA)
		return;
	if (msg.sealed != e->setting.check)
		e->violation = "a chunk with a seal where none is due, or without";
	chunk = switch_chunk(e, &msg);
	if (chunk->sent[rank]) {
		if (memcmp(chunk->first[rank], pkt->data, pkt->len) != 0)
			e->violation = "what is sent again is not what was sent";
		return;
	}
	chunk->sent[rank] = true;
	memcpy(chunk->first[rank], pkt->data, pkt->len);
	if (chunk->sent[!rank])
		switch_result(e, chunk, &msg);
}

/* --- The transport -------------------------------------------------------------------------------- */

static struct rank *rank_of(struct transport *transport)
{
	return &ranks[transport == &ranks[1].fake];
}

static unsigned fake_room(struct transport *transport)
{
	(void)transport;
	return TRANSPORT_BURST;
}

static uint8_t *fake_alloc(struct transport *transport, uint32_t len)
{
	struct rank *rank = rank_of(transport);

	return len <= WIRE_MSG_MAX ? rank->tx[rank->nr_tx++] : NULL;
}

static unsigned fake_send(struct transport *transport, const struct transport_pkt *pkts,
			  unsigned nr)
{
	struct rank *rank = rank_of(transport);

	for (unsigned i = 0; i < nr && !rank->e->violation; i++)
		switch_input(rank->e, rank->number, &pkts[i]);
	rank->nr_tx = 0;
	return nr;
}

/* A copy; if so set, a wrong one without its seal comes first. */
static struct transport_pkt fake_result(const struct explorer *e, struct rank *rank, unsigned i,
					struct chunk *chunk)
{
	struct transport_pkt pkt = { .data = rank->rx[i], .len = chunk->len };

	memcpy(pkt.data, chunk->result, chunk->len);
	if (e->setting.unsealed && !chunk->unsealed[rank->number]) {
		chunk->unsealed[rank->number] = true;
		pkt.data[WIRE_HEADER + 3]++;
		pkt.len -= WIRE_CRC;
	} else {
		chunk->ready[rank->number] = false;
	}
	return pkt;
}

static unsigned fake_recv(struct transport *transport, struct transport_pkt *pkts, unsigned max)
{
	struct rank *rank = rank_of(transport);
	struct explorer *e = rank->e;
	unsigned nr = 0;

	for (unsigned i = 0; rank->number == 0 && i < nr_taken; i++, nr++)
		pkts[nr] = fake_result(e, rank, nr, taken[i]);
	for (unsigned i = 0; rank->number == 1 && i < e->nr_chunks && nr < max; i++)
		if (e->chunks[i].ready[1]) {
			pkts[nr] = fake_result(e, rank, nr, &e->chunks[i]);
			nr++;
		}
	if (rank->number == 0)
		nr_taken = 0;
	return nr;
}

static void fake_release(struct transport *transport)
{
	(void)transport;
}

/* Only END is waited for: until it is not repeated any more. */
static void fake_wait(struct transport *transport, uint64_t timeout_ns)
{
	(void)transport;
	clock_ns += timeout_ns < SLEEP_NS ? timeout_ns : SLEEP_NS;
}

static const struct transport_ops fake_ops = {
	.name = "explored",
	.room = fake_room,
	.alloc = fake_alloc,
	.send = fake_send,
	.recv = fake_recv,
	.release = fake_release,
	.wait = fake_wait,
};

/* --- Ranks ---------------------------------------------------------------------------------------- */

static void rank_set(struct tally_config *set, const char *key, const char *value)
{
	if (tally_config_set(set, key, value) != TALLY_OK)
		memory_stop(key);
}

/* Joins a switch of its own; then it is a rank of the explorer's. */
static void rank_open(struct rank *rank, struct explorer *e)
{
	struct tally_config *set;
	struct engine_error error;
	struct config_error why;
	struct config config;
	char name[] = "inproc:0";

	name[sizeof(name) - 2] = (char)('0' + rank->number);
	if (tally_config_new(&set) != TALLY_OK)
		memory_stop("no memory");
	rank_set(set, "switch", name);
	rank_set(set, "size", "1");
	rank_set(set, "rank", "0");
	rank_set(set, "chunk", "1024");
	rank_set(set, "slots", "8");
	rank_set(set, "rto_min", "1000");
	rank_set(set, "timeout", "0");
	rank_set(set, "stall_warning", "0");
	rank_set(set, "check", e->setting.check ? "1" : "0");
	if (config_resolve(&config, set, &why) < 0)
		memory_stop(why.text);
	tally_config_free(set);
	if (engine_open(&rank->engine, &config, &error) != TALLY_OK)
		memory_stop(error.text);
	rank->e = e;
	rank->real = rank->engine->transport;
	rank->fake = *rank->real;
	rank->fake.ops = &fake_ops;
	rank->engine->transport = &rank->fake;
	rank->engine->quantizer.world = RANKS;
	if (e->isa)
		rank->engine->quantizer.ops = quant_select(e->isa);
	rank->engine->config.size = RANKS;
	rank->engine->session.rank = (uint16_t)rank->number;
}

void memory_open(struct explorer *e)
{
	const size_t bytes = (sizeof(uint32_t) * MEMORY + 4095) / 4096 * 4096;
	const int fd = memfd_create("explore_memory", 0);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		memory_stop("no memory file");
	e->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	e->alias = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (e->memory == MAP_FAILED || e->alias == MAP_FAILED)
		memory_stop("no memory");
	close(fd);
	clock_ns = 0;
	for (unsigned i = 0; i < RANKS; i++) {
		ranks[i].number = i;
		rank_open(&ranks[i], e);
	}
	clock_ns = engine_clock();
}

void memory_close(struct explorer *e)
{
	const size_t bytes = (sizeof(uint32_t) * MEMORY + 4095) / 4096 * 4096;

	clock_ns = 0;
	for (unsigned i = 0; i < RANKS; i++) {
		ranks[i].engine->transport = ranks[i].real;
		ranks[i].engine->session.rank = 0;
		engine_close(ranks[i].engine);
	}
	munmap(e->memory, bytes);
	munmap(e->alias, bytes);
}

void memory_reset(struct explorer *e)
{
	e->nr_chunks = e->timeouts = nr_taken = 0;
	memset(e->tried, 0, sizeof(e->tried));
	memset(e->taken, 0, sizeof(e->taken));
	for (unsigned i = 0; i < RANKS; i++) {
		struct engine *engine = ranks[i].engine;
		const struct coll_epoch epoch = { .job = JOB,
						  .epoch = EPOCH,
						  .wid = (uint16_t)i,
						  .slots = (uint16_t)e->setting.slots,
						  .p = P,
						  .check = e->setting.check };

		ranks[i].e = e;
		coll_begin(engine->coll, &epoch);
		engine->header = (struct wire_msg){
			.type = WIRE_DATA, .job = JOB, .epoch = EPOCH, .wid = (uint16_t)i
		};
		engine->session.state = SESSION_RUNNING;
		engine->status = TALLY_OK;
		engine->tx_nr = engine->tx_at = 0;
		memset(engine->ops, 0, sizeof(engine->ops));
		memset(engine->probes, 0, sizeof(engine->probes));
	}
}

int memory_post(struct explorer *e, unsigned rank, unsigned op, uint32_t *src, uint32_t *dst)
{
	struct engine_op *to = &e->ops[rank][op];

	*to = (struct engine_op){
		.tensor = { .src = (const uint8_t *)src,
			    .dst = (uint8_t *)dst,
			    .dtype = e->setting.floats ? TALLY_F32 : TALLY_I32,
			    .op = e->setting.max ? TALLY_MAX : TALLY_SUM,
			    .width = e->setting.narrow ? 2 : 4 },
		.count = e->setting.count,
	};
	return engine_post(ranks[rank].engine, to);
}

static void progress(struct explorer *e, unsigned rank)
{
	for (unsigned i = 0; i < CHUNKS && !e->violation; i++)
		if (engine_progress(ranks[rank].engine) <= 0)
			return;
}

void memory_take(struct explorer *e, struct chunk *const *chunks, unsigned nr)
{
	memcpy(taken, chunks, nr * sizeof(*chunks));
	nr_taken = nr;
	progress(e, 0);
}

void memory_take_all(struct explorer *e)
{
	progress(e, 1);
}

void memory_timeout(struct explorer *e)
{
	clock_ns += TIMEOUT_NS;
	progress(e, 0);
	progress(e, 1);
}
