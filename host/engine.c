// SPDX-License-Identifier: BSD-3-Clause
// engine.c - moves an operation's chunks between the caller's memory and the transport.
//
// Data are touched twice, because the agreed exponent lies between: when a segment's exponents are
// found, and when its elements go straight into the packets.  Results go straight from the packets
// into the caller's memory.  In place works because a chunk's source is overwritten only by its own
// result, after which it is never sent again.
#include "host/engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/failure.h"
#include "host/log.h"
#include "host/venue.h"
#include "proto/print.h"

#define ENGINE_GAP_NS UINT64_C(1000000000)   /* see engine_gap() */
#define ENGINE_SILENT_NS UINT64_C(150000000) /* questions are repeated every 100 ms */
#define ENGINE_NO_ROOM_NS UINT64_C(50000)    /* look for room again */
#define ENGINE_GPU_NS UINT64_C(20000)	     /* ask a device again */
#define ENGINE_TEXT_OP 128

uint64_t engine_clock(void)
{
	return venue.clock();
}

/* --- Failing ------------------------------------------------------------------------------------ */

void engine_end(struct engine *engine, int status, bool on_device)
{
	for (unsigned i = 0; i < COLL_OPS; i++) {
		struct engine_op *op = engine->ops[i];

		if (!op || op->on_device != on_device)
			continue;
		op->status = status;
		op->done_ns = engine->now_ns;
		engine->ops[i] = NULL;
	}
}

void engine_fail(struct engine *engine, int status)
{
	engine->status = status;
	engine_end(engine, status, false);
	engine_gpu_stop(engine);
	if (status != TALLY_ABORTED)
		log_print(TALLY_LOG_INFO, "rank %u: %s", engine->session.rank, engine->text);
}

/* Ends the epoch for all ranks, by our own judgement. */
static void engine_break(struct engine *engine, int status, uint8_t cause)
{
	session_abort(&engine->session, cause, engine->now_ns);
	engine_fail(engine, status);
}

static const char *engine_oldest(struct engine *engine, char out[ENGINE_TEXT_OP])
{
	const int op = coll_oldest(engine->coll);

	if (op < 0)
		return NULL;
	print_desc(out, ENGINE_TEXT_OP, coll_desc(engine->coll, op));
	return out;
}

/* --- Receiving ---------------------------------------------------------------------------------- */

/* What a payload adds to the sums that CLOSE compares. */
static void engine_count(struct engine *engine, const struct coll_chunk *chunk,
			 const uint8_t *payload)
{
	uint64_t sums[2];

	quantizer_sum(&engine->quantizer, chunk, payload, sums);
	coll_count(engine->coll, chunk, sums);
}

static void engine_result(struct engine *engine, const struct wire_msg *msg)
{
	struct coll_chunk chunk;
	struct engine_op *op;
	int origin;

	switch (coll_input(engine->coll, msg, &chunk, engine->now_ns)) {
	case COLL_TAKEN_D:
		if (chunk.counted)
			engine_count(engine, &chunk, msg->payload);
		if (chunk.close)
			break;
		op = engine->ops[chunk.op];
		op->nonfinite += engine_deliver(engine, &chunk, msg->payload);
		op->saturated += quantizer_saturated(&chunk, msg->payload);
		break;
	case COLL_TAKEN_E:
		op = engine->ops[chunk.op];
		origin = wire_origin_rank(chunk.e + WIRE_E_ORIGIN);
		if (origin >= 0 && (op->nonfinite_rank < 0 || origin < op->nonfinite_rank))
			op->nonfinite_rank = origin;
		engine_agreed(engine, &chunk);
		break;
	case COLL_DROPPED:
		engine->stats.dropped++;
		return;
	case COLL_MISMATCH:
		snprintf(engine->text, ENGINE_TEXT,
			 "ranks disagree on operation %u: its descriptor came back changed%s; every rank calls "
			 "tally_rejoin() and goes on from a step they agree on",
			 coll_desc(engine->coll, chunk.op)->opno,
			 failure_corruption(&engine->config));
		engine_break(engine, TALLY_MISMATCH, WIRE_CAUSE_MISMATCH);
		return;
	case COLL_BROKEN:
		snprintf(engine->text, ENGINE_TEXT,
			 "the switch %s sent a result without values: it does not keep the protocol",
			 engine->config.sw.text);
		engine_break(engine, TALLY_PROTOCOL, WIRE_CAUSE_PROTOCOL);
		return;
	}
	if (chunk.again)
		engine->stats.split.retransmit_ns += engine->now_ns - engine->since_ns;
	engine->since_ns = engine->now_ns;
	engine->awaited = (struct wire_range){ 0, 0 };
	engine->warned = false;
}

static void engine_reply(struct engine *engine, const struct wire_msg *msg)
{
	struct wire_range awaited;

	for (unsigned i = 0; i < ENGINE_PROBES; i++) {
		struct engine_probe *probe = &engine->probes[i];

		if (!probe->used || probe->slot != msg->slot || probe->round != msg->round)
			continue;
		probe->used = false;
		/* Of one slot alone a leaf knows whom its parent awaits: an answer about another takes it not back. */
		awaited = failure_awaited(session_status(&engine->session));
		if (awaited.nr)
			engine->awaited = awaited;
		coll_answer(engine->coll, session_status(&engine->session), msg->slot, msg->round,
			    probe->sent_ns, engine->now_ns);
		return;
	}
}

static void engine_status(struct engine *engine, const struct wire_msg *msg)
{
	const bool forgotten = engine->session.forgotten;
	const bool above = failure_is_above(&engine->session, msg);
	const enum session_event event = session_input(&engine->session, msg, engine->now_ns);

	engine->lost_above = event != SESSION_BEGUN && (engine->lost_above || above);
	if (engine->session.state == SESSION_JOINING) {
		engine->joined |= session_status(&engine->session)->joined;
		engine->awaited = failure_awaited(session_status(&engine->session));
	}
	if (event == SESSION_REPLY)
		engine_reply(engine, msg);
	else
		engine_event(engine, event, forgotten);
}

static void engine_packet(struct engine *engine, const struct transport_pkt *pkt)
{
	struct wire_msg msg;

	engine->stats.rx_bytes += pkt->len;
	engine->unsent = 0;
	if (wire_parse(&msg, pkt->data, pkt->len) != WIRE_OK) {
		engine->stats.dropped++;
		return;
	}
	/* A failure earlier in the burst may have ended the epoch. */
	if (msg.type == WIRE_RESULT && engine->session.state == SESSION_RUNNING && !engine->status)
		engine_result(engine, &msg);
	else if (msg.type == WIRE_STATUS)
		engine_status(engine, &msg);
	else
		engine->stats.dropped++;
}

static unsigned engine_receive(struct engine *engine)
{
	const struct transport_ops *ops = engine->transport->ops;
	struct transport_pkt pkts[TRANSPORT_BURST];
	const uint64_t begin_ns = engine->now_ns;
	const unsigned nr = ops->recv(engine->transport, pkts, TRANSPORT_BURST);
	uint64_t end_ns;

	if (!nr)
		return 0;
	engine->now_ns = engine_clock();
	engine->stats.split.wire_ns += engine->now_ns - begin_ns;
	engine->asked_ns = 0;
	engine->stats.rx_packets += nr;
	for (unsigned i = 0; i < nr; i++)
		engine_packet(engine, &pkts[i]);
	ops->release(engine->transport);
	end_ns = engine_clock();
	engine->stats.split.convert_ns += end_ns - engine->now_ns;
	engine->now_ns = end_ns;
	return nr;
}

/* --- Sending ------------------------------------------------------------------------------------ */

/* Whether the path is found too narrow for the P asked for, and another will be. */
static bool engine_narrowed(struct engine *engine)
{
	const enum session_event event =
		session_too_large(&engine->session, engine->transport->p, engine->now_ns);

	engine->transport->narrowed = false;
	if (event != SESSION_NOTHING)
		engine_event(engine, event, false);
	return event != SESSION_NOTHING;
}

/* The chunk that could not go is lost to the protocol; only its size is a reason to give up. */
static void engine_send_failed(struct engine *engine)
{
	struct transport *transport = engine->transport;
	const int why = transport->failed;

	transport->failed = 0;
	if (why != EMSGSIZE) {
		engine->unsent = why;
		log_print(TALLY_LOG_TRACE, "rank %u: packet lost: %s", engine->session.rank,
			  strerror(why));
		return;
	}
	if (!engine_narrowed(engine) && engine->session.state == SESSION_RUNNING &&
	    !engine->status && transport->p < session_status(&engine->session)->p) {
		snprintf(engine->text, ENGINE_TEXT,
			 "the path to the switch %s no longer carries chunks of the %u bytes agreed, but of %u; every "
			 "rank calls tally_rejoin()",
			 engine->config.sw.text, session_status(&engine->session)->p, transport->p);
		engine_break(engine, TALLY_SYSTEM, WIRE_CAUSE_ABORTED);
	}
}

/* Offers what is built; whether all of it is gone. */
static bool engine_flush(struct engine *engine)
{
	uint64_t begin_ns;
	unsigned nr;

	if (engine->tx_at == engine->tx_nr)
		return true;
	begin_ns = engine_clock();
	do {
		nr = engine->transport->ops->send(engine->transport, engine->tx + engine->tx_at,
						  engine->tx_nr - engine->tx_at);
		for (unsigned i = 0; i < nr; i++)
			engine->stats.tx_bytes += engine->tx[engine->tx_at++].len;
		engine->stats.tx_packets += nr;
		if (engine->transport->failed)
			engine_send_failed(engine);
		else if (engine->transport->narrowed)
			engine_narrowed(engine);
	} while (nr && engine->tx_at < engine->tx_nr);
	engine->stats.split.wire_ns += engine_clock() - begin_ns;
	if (engine->tx_at < engine->tx_nr) {
		engine->send_at_ns = begin_ns + ENGINE_NO_ROOM_NS;
		return false;
	}
	engine->tx_at = engine->tx_nr = 0;
	return true;
}

/* alone: repairs what was lost, so it does not go where the first one went, in a train. */
static uint8_t *engine_packet_new(struct engine *engine, uint32_t len, bool alone)
{
	uint8_t *data = engine->transport->ops->alloc(engine->transport, len);

	if (data)
		engine->tx[engine->tx_nr++] =
			(struct transport_pkt){ .data = data, .len = len, .alone = alone };
	return data;
}

/* What is left of the last burst, then control messages that are due. */
static void engine_control(struct engine *engine)
{
	for (unsigned i = 0; i < 4 && engine_flush(engine); i++) {
		enum session_event event;
		const size_t len =
			session_output(&engine->session, engine->control, engine->now_ns, &event);
		uint8_t *data;

		if (event != SESSION_NOTHING)
			engine_event(engine, event, false);
		if (!len)
			return;
		data = engine_packet_new(engine, (uint32_t)len, true);
		if (!data)
			return;
		memcpy(data, engine->control, len);
	}
}

static void engine_payload(struct engine *engine, const struct coll_chunk *chunk, uint8_t *payload)
{
	if (chunk->lane == COLL_E) {
		memcpy(payload, chunk->e, chunk->len);
	} else if (chunk->close) {
		coll_close(engine->coll, chunk, payload);
	} else {
		engine_fill(engine, chunk, payload);
		if (chunk->counted)
			engine_count(engine, chunk, payload);
	}
}

static void engine_chunk(struct engine *engine, const struct coll_chunk *chunk)
{
	const uint32_t trailer = engine->config.check ? WIRE_CRC : 0;
	struct wire_msg header = engine->header;
	uint8_t *data =
		engine_packet_new(engine, WIRE_HEADER + chunk->len + trailer, !chunk->fresh);

	/* Scanned even if there is no buffer: this time is lost as a packet may be, the next is not fresh. */
	if (chunk->lane == COLL_E && chunk->fresh && engine_scan(engine, chunk))
		wire_origin_mark(chunk->e + WIRE_E_ORIGIN, engine->session.rank);
	/* Counted even if there is no buffer, for the same reason. */
	if (!data && !chunk->counted)
		return;
	if (!data) {
		engine_payload(engine, chunk, engine->control);
		return;
	}
	header.kind = chunk->kind;
	header.flags = chunk->flags;
	header.slot = chunk->slot;
	header.round = chunk->round;
	header.desc = chunk->desc;
	header.len = chunk->len;
	wire_build(data, &header);
	engine_payload(engine, chunk, data + WIRE_HEADER);
	if (trailer)
		wire_seal(data, chunk->len);
}

static void engine_probe(struct engine *engine, const struct coll_chunk *chunk)
{
	struct engine_probe *probe = &engine->probes[engine->probe_next++ % ENGINE_PROBES];
	const uint32_t trailer = engine->config.check ? WIRE_CRC : 0;
	uint8_t *data = engine_packet_new(engine, WIRE_HEADER + WIRE_BODY + trailer, true);
	struct wire_msg msg = engine->header;

	if (!data)
		return;
	*probe = (struct engine_probe){
		.used = true,
		.slot = chunk->slot,
		.round = chunk->round,
		.sent_ns = engine->now_ns,
	};
	if (!engine->asked_ns)
		engine->asked_ns = engine->now_ns;
	msg.type = WIRE_KEEPALIVE;
	msg.slot = chunk->slot;
	msg.round = chunk->round;
	msg.len = WIRE_BODY;
	memset(data, 0, WIRE_HEADER + WIRE_BODY);
	wire_build(data, &msg);
	if (trailer)
		wire_seal(data, WIRE_BODY);
}

/* Whether operations may send. */
static bool engine_may_send(const struct engine *engine)
{
	return engine->session.state == SESSION_RUNNING && !engine->session.forgotten &&
	       !engine->status;
}

static unsigned engine_transmit(struct engine *engine)
{
	struct coll_chunk chunks[TRANSPORT_BURST];
	unsigned room, nr, probes = 0;
	uint64_t end_ns;

	/* What is flushed may end the epoch. */
	if (!engine_flush(engine) || !engine_may_send(engine) || !coll_outstanding(engine->coll))
		return 0;
	room = engine->transport->ops->room(engine->transport);
	if (!room) {
		engine->send_at_ns = engine->now_ns + ENGINE_NO_ROOM_NS;
		return 0;
	}
	nr = coll_output(engine->coll, chunks, room, engine->now_ns);
	if (!nr)
		return 0;
	for (unsigned i = 0; i < nr; i++)
		engine_chunk(engine, &chunks[i]);
	/* After the data, so that these stay one train. */
	for (unsigned i = 0; i < nr && probes < ENGINE_PROBES; i++) {
		if (!chunks[i].probe)
			continue;
		engine_probe(engine, &chunks[i]);
		probes++;
	}
	end_ns = engine_clock();
	engine->stats.split.convert_ns += end_ns - engine->now_ns;
	engine->now_ns = end_ns;
	engine_flush(engine);
	return nr;
}

/* --- Completing and watching -------------------------------------------------------------------- */

/* The packets were right, so it was in the memory of a switch, or of this host. */
static void engine_corrupted(struct engine *engine, int op)
{
	char text[ENGINE_TEXT_OP];

	print_desc(text, sizeof(text), coll_desc(engine->coll, op));
	snprintf(
		engine->text, ENGINE_TEXT,
		"%s was corrupted on the way: its results are not the sum of what the ranks sent (CLOSE did "
		"not verify); look at the memory of the switch %s and of this host; every rank calls "
		"tally_rejoin() and goes on from a step they agree on",
		text, engine->config.sw.text);
	engine_break(engine, TALLY_PROTOCOL, WIRE_CAUSE_CORRUPTED);
}

/* What happened since it was posted happened to all operations that are outstanding. */
static void engine_account(const struct engine *engine, struct engine_op *op)
{
	const struct engine_split *now = &engine->stats.split;

	op->split.wire_ns = now->wire_ns - op->split.wire_ns;
	op->split.convert_ns = now->convert_ns - op->split.convert_ns;
	op->split.retransmit_ns = now->retransmit_ns - op->split.retransmit_ns;
}

static void engine_complete(struct engine *engine)
{
	int i;

	while ((i = coll_complete(engine->coll)) >= 0 && engine_gpu_finish(engine, i)) {
		struct engine_op *op = engine->ops[i];

		coll_finish(engine->coll);
		if (!coll_verified(engine->coll, i)) {
			engine_corrupted(engine, i);
			return;
		}
		engine->ops[i] = NULL;
		op->status = TALLY_OK;
		op->done_ns = engine->now_ns;
		engine_account(engine, op);
		engine->stats.operations++;
		engine->since_ns = engine->now_ns;
	}
}

/* How long the oldest operation has been without progress, in words. */
static int engine_stalled(struct engine *engine, uint64_t for_ns)
{
	char text[ENGINE_TEXT_OP];
	const struct failure failure = {
		.text = engine->text,
		.cap = ENGINE_TEXT,
		.config = &engine->config,
		.op = engine_oldest(engine, text),
		.refused = engine->transport->refused,
		.awaited = engine->awaited,
		.forgotten = engine->session.forgotten,
		.above = engine->lost_above,
		.unsent = engine->unsent,
	};
	struct failure_stall stall = {
		.for_ns = for_ns,
		.silent = engine->asked_ns && engine->now_ns - engine->asked_ns > ENGINE_SILENT_NS,
	};
	uint64_t silent;

	stall.known = coll_stall(engine->coll, &stall.missing, &silent, &stall.slot);
	return failure_stall(&failure, &stall);
}

/* The next of the two deadlines of the oldest operation, UINT64_MAX: none. */
static uint64_t engine_stall_ns(const struct engine *engine)
{
	const struct config *config = &engine->config;
	uint64_t at = UINT64_MAX;

	if (engine->status || !coll_outstanding(engine->coll))
		return UINT64_MAX;
	if (config->timeout_ns)
		at = engine->since_ns + config->timeout_ns;
	if (config->stall_warning_ns && !engine->warned &&
	    engine->since_ns + config->stall_warning_ns < at)
		at = engine->since_ns + config->stall_warning_ns;
	return at;
}

static void engine_watch(struct engine *engine)
{
	const uint64_t for_ns = engine->now_ns - engine->since_ns;
	int status;

	if (engine->now_ns < engine_stall_ns(engine))
		return;
	status = engine_stalled(engine, for_ns);
	if (!engine->config.timeout_ns || for_ns < engine->config.timeout_ns) {
		engine->warned = true;
		log_print(TALLY_LOG_WARN, "rank %u: %s", engine->session.rank, engine->text);
		engine->text[0] = '\0';
		return;
	}
	session_fail(&engine->session, engine->now_ns);
	engine_fail(engine, status);
}

/* --- Driving ------------------------------------------------------------------------------------ */

/*
 * The program may compute for long between two calls.  That is not time that its operations waited
 * for others, and counts only as far as a slow poller's does.
 */
static void engine_gap(struct engine *engine)
{
	const uint64_t before_ns = engine->now_ns, timeout_ns = engine->config.timeout_ns;
	const uint64_t most_ns = timeout_ns && timeout_ns / 4 < ENGINE_GAP_NS ? timeout_ns / 4
									      : ENGINE_GAP_NS;

	engine->now_ns = engine_clock();
	if (engine->now_ns - before_ns > most_ns)
		engine->since_ns += engine->now_ns - before_ns - most_ns;
}

unsigned engine_exchange(struct engine *engine)
{
	unsigned nr;

	engine->now_ns = engine_clock();
	nr = engine_receive(engine);
	if (engine->now_ns >= session_deadline(&engine->session) || engine->tx_at < engine->tx_nr)
		engine_control(engine);
	return nr;
}

int engine_progress(struct engine *engine)
{
	unsigned nr;

	engine_gap(engine);
	if (atomic_load_explicit(&engine->abort_asked, memory_order_acquire))
		engine_aborted(engine);
	engine_gpu_drain(engine, false);
	if (engine->status)
		return engine->status;
	nr = engine_exchange(engine);
	nr += engine_gpu_progress(engine);
	if (!engine->status) {
		nr += engine_transmit(engine);
		engine_complete(engine);
		engine_watch(engine);
	}
	if (engine->session.state == SESSION_ENDING)
		engine_farewell(engine);
	return engine->status ? engine->status : (int)nr;
}

void engine_sleep(struct engine *engine, uint64_t limit_ns)
{
	const uint64_t stall_ns = engine_stall_ns(engine);
	const uint64_t session_ns = session_deadline(&engine->session);
	const bool pending = engine->tx_at < engine->tx_nr;
	uint64_t begin_ns = engine_clock(), at = limit_ns;

	if (stall_ns < at)
		at = stall_ns;
	if (session_ns < at)
		at = session_ns;
	if (engine_may_send(engine)) {
		const uint64_t coll_ns = coll_deadline(engine->coll);
		const uint64_t send_ns = engine->send_at_ns > coll_ns ? engine->send_at_ns
								      : coll_ns;

		if (send_ns < at)
			at = send_ns;
	}
	if (pending && engine->send_at_ns < at)
		at = engine->send_at_ns;
	if (engine_gpu_pending(engine) && begin_ns + ENGINE_GPU_NS < at)
		at = begin_ns + ENGINE_GPU_NS;
	if (at <= begin_ns)
		return;
	engine->transport->ops->wait(engine->transport, at - begin_ns);
	/* We were here all the time: this is no gap. */
	engine->now_ns = engine_clock();
	engine->stats.wait_ns += engine->now_ns - begin_ns;
}

int engine_wait(struct engine *engine, struct engine_op *op, int64_t timeout_ns)
{
	const uint64_t limit_ns = timeout_ns < 0 ? UINT64_MAX
						 : engine_clock() + (uint64_t)timeout_ns;

	while (op->status == TALLY_IN_PROGRESS) {
		const int rc = engine_progress(engine);

		if (rc > 0 || op->status != TALLY_IN_PROGRESS)
			continue;
		if (engine_clock() >= limit_ns)
			break;
		engine_sleep(engine, limit_ns);
	}
	return op->status;
}

/* --- Posting ------------------------------------------------------------------------------------ */

static bool engine_overlap(const uint8_t *a, const uint8_t *b, uint64_t a_bytes, uint64_t b_bytes)
{
	return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

static uint64_t engine_bytes(const struct engine_op *op)
{
	return op->count * quantizer_bytes(op->tensor.dtype);
}

/* R5: what one operation writes, no other unfinished one reads or writes. */
static int engine_check_overlap(struct engine *engine, const struct engine_op *op)
{
	const uint64_t bytes = engine_bytes(op);
	char text[ENGINE_TEXT_OP];

	if (op->tensor.src != op->tensor.dst &&
	    engine_overlap(op->tensor.src, op->tensor.dst, bytes, bytes)) {
		snprintf(engine->text, ENGINE_TEXT,
			 "src and dst overlap: they are the same buffer or have nothing in common");
		return TALLY_INVALID;
	}
	for (unsigned i = 0; i < COLL_OPS; i++) {
		const struct engine_op *other = engine->ops[i];
		const uint64_t other_bytes = other ? engine_bytes(other) : 0;

		if (!other || other->barrier ||
		    !(engine_overlap(op->tensor.dst, other->tensor.dst, bytes, other_bytes) ||
		      engine_overlap(op->tensor.dst, other->tensor.src, bytes, other_bytes) ||
		      engine_overlap(op->tensor.src, other->tensor.dst, bytes, other_bytes)))
			continue;
		print_desc(text, sizeof(text), coll_desc(engine->coll, (int)i));
		snprintf(engine->text, ENGINE_TEXT,
			 "src or dst overlaps that of %s, which is not finished: wait "
			 "for it first",
			 text);
		return TALLY_INVALID;
	}
	return TALLY_OK;
}

static int engine_start(struct engine *engine, struct engine_op *op)
{
	struct coll_args args = {
		.desc = {
			.count = op->count,
			.collective = op->barrier ? WIRE_BARRIER : WIRE_ALLREDUCE,
			.dtype = op->tensor.dtype,
			.op = op->tensor.op,
			.world = (uint16_t)engine->config.size,
		},
		.form = COLL_OPEN,
	};
	int i, rc;

	if (!op->barrier)
		quantizer_plan(&args, &op->tensor);
	if (!op->count) {
		args.form = COLL_OPEN;
		args.kind = args.width = 0;
	}
	rc = engine_gpu_begin(engine, op, &args);
	if (rc < 0)
		return rc;
	i = coll_start(engine->coll, &args);
	engine_gpu_attach(engine, op, i);
	if (i < 0) {
		snprintf(engine->text, ENGINE_TEXT,
			 "%d operations are outstanding: wait for the oldest first", COLL_OPS);
		return TALLY_BUSY;
	}
	engine->ops[i] = op;
	return TALLY_OK;
}

int engine_post(struct engine *engine, struct engine_op *op)
{
	int rc = engine_progress(engine);

	if (rc < 0)
		return rc;
	if (!op->barrier) {
		rc = engine_check_overlap(engine, op);
		if (rc < 0)
			return rc;
	}
	if (!coll_outstanding(engine->coll)) {
		engine->since_ns = engine->now_ns;
		engine->warned = false;
	}
	rc = engine_start(engine, op);
	if (rc < 0)
		return rc;
	op->status = TALLY_IN_PROGRESS;
	op->nonfinite = op->saturated = 0;
	op->nonfinite_rank = -1;
	op->posted_ns = engine->now_ns;
	op->split = engine->stats.split;
	engine_transmit(engine);
	return TALLY_OK;
}

void engine_stats(const struct engine *engine, struct tally_stats *stats)
{
	const struct coll_stats *coll = coll_stats(engine->coll);

	stats->tx_packets = engine->stats.tx_packets;
	stats->rx_packets = engine->stats.rx_packets;
	stats->tx_bytes = engine->stats.tx_bytes;
	stats->rx_bytes = engine->stats.rx_bytes;
	stats->retransmits = coll->retransmits;
	stats->dropped = engine->stats.dropped;
	stats->operations = engine->stats.operations;
	stats->rtt_ns = rtt_low(coll_rtt(engine->coll));
	stats->wait_ns = engine->stats.wait_ns;
	stats->wire_ns = engine->stats.split.wire_ns;
	stats->convert_ns = engine->stats.split.convert_ns;
	stats->window = coll_window(engine->coll);
	stats->chunk = engine->header.epoch ? session_status(&engine->session)->p : 0;
	stats->slots = engine->slots;
	stats->epoch = engine->header.epoch;
	stats->first = coll->sent - coll->retransmits;
	stats->results = coll->taken;
}
