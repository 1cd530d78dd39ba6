/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h - one rank's communicator at work: drives session and coll over a transport, by the clock.
 *
 * engine.c moves data, membership.c joins and leaves, failure.c finds the words when something is wrong.
 * Everything here is one thread's at a time, save engine_abort().
 *
 * An error is sticky: once the epoch is over, outstanding and later operations have engine->status and
 * its sentence until engine_rejoin().
 */
#ifndef HOST_ENGINE_H
#define HOST_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/config.h"
#include "host/core/coll.h"
#include "host/core/session.h"
#include "host/gpu.h"
#include "host/include/tally.h"
#include "host/quantizer.h"
#include "host/transport/transport.h"

enum { ENGINE_TEXT = 512, ENGINE_PROBES = 8 };

/* What time went into. */
struct engine_split {
	uint64_t wire_ns, convert_ns;
	uint64_t retransmit_ns; /* no result came, until that of a chunk that was sent again */
};

/* One operation; the caller's memory until status is not TALLY_IN_PROGRESS. */
struct engine_op {
	struct quantizer_tensor tensor;
	uint64_t count;
	bool barrier;
	void *stream;	/* the caller's, with device memory */
	bool on_device; /* src or dst is: the engine's */
	int status;	/* enum tally_status */
	uint64_t nonfinite, saturated;
	int32_t nonfinite_rank; /* -1: none */
	uint64_t posted_ns, done_ns;
	struct engine_split split; /* until it is done: the engine's as it was posted */
};

/* A KEEPALIVE whose answer is awaited. */
struct engine_probe {
	bool used;
	uint16_t slot;
	uint32_t round;
	uint64_t sent_ns;
};

struct engine {
	struct config config;
	struct transport *transport;
	struct session session;
	struct coll *coll;
	void *coll_mem;
	struct quantizer quantizer;
	struct gpu *gpu; /* NULL: no operation was on a device yet */
	bool draining;	 /* the epoch is over, but devices may still use some operations' memory */
	int drained;	 /* their status when they do not any more */
	struct wire_msg header;	 /* what all DATA of this epoch have in common */
	uint16_t p_asked, slots; /* slots: agreed */
	struct engine_op *ops[COLL_OPS];
	/*
	 * Ranks below our switch that were seen in the job since we began to join, bit = rank - first;
	 * and those behind another switch that were awaited when the switch spoke last, nr 0: none.
	 */
	uint64_t joined;
	struct wire_range awaited;

	/* Sticky error. */
	int status;
	char text[ENGINE_TEXT];

	/* Writer: engine_abort(), from any thread; read and cleared by the engine's own. */
	atomic_bool abort_asked;

	/* Built, but not taken by the transport yet. */
	struct transport_pkt tx[2 * TRANSPORT_BURST + 1];
	unsigned tx_nr, tx_at;
	uint64_t send_at_ns; /* when there is room again, look after this */
	struct engine_probe probes[ENGINE_PROBES];
	unsigned probe_next;

	/* Deadlines count only the time in which somebody drives the engine. */
	uint64_t now_ns;
	uint64_t since_ns; /* last progress of the oldest operation */
	uint64_t asked_ns; /* first KEEPALIVE since the last packet from the switch, 0: none */
	bool warned;
	int unsent;	     /* errno of a packet that could not go, if nothing came since */
	bool lost_above;     /* in this epoch: a switch above ours has lost the job, says ours */
	uint64_t warn_at_ns; /* while joining: when to say that the switch is silent; 0: not any more */

	struct {
		uint64_t tx_packets, rx_packets, tx_bytes, rx_bytes, dropped, operations;
		uint64_t wait_ns;
		struct engine_split split;
	} stats;
	uint8_t control[WIRE_MSG_MAX];
};

/* A sentence for a call that has no engine to keep it. */
struct engine_error {
	char text[ENGINE_TEXT];
};

uint64_t engine_clock(void);

/* engine.c */

/* TALLY_OK and op->status = IN_PROGRESS; TALLY_BUSY; or the sticky error. */
int engine_post(struct engine *engine, struct engine_op *op);
/* Moves packets once: how many, or the sticky error. */
int engine_progress(struct engine *engine);
/* Sleeps until there may be something to do, at most until limit_ns. */
void engine_sleep(struct engine *engine, uint64_t limit_ns);
/* op->status, IN_PROGRESS if timeout_ns (< 0: none) ran out. */
int engine_wait(struct engine *engine, struct engine_op *op, int64_t timeout_ns);
/* The epoch is over: status and engine->text become that of all outstanding operations. */
void engine_fail(struct engine *engine, int status);
/* Those on devices, or all others, have this status. */
void engine_end(struct engine *engine, int status, bool on_device);
void engine_stats(const struct engine *engine, struct tally_stats *stats);
/* Receives, and sends control messages only, whatever the state: how many came. */
unsigned engine_exchange(struct engine *engine);

/* engine_gpu.c: the same for tensors wherever they lie */

/* Before coll_start() has numbered the operation, and after: i < 0, it has not.  TALLY_DEVICE ends the epoch. */
int engine_gpu_begin(struct engine *engine, struct engine_op *op, const struct coll_args *args);
void engine_gpu_attach(struct engine *engine, const struct engine_op *op, int i);
/* Whether anything moved; may fail the epoch. */
unsigned engine_gpu_progress(struct engine *engine);
/* Whether an operation is complete, once all its results are in. */
bool engine_gpu_finish(struct engine *engine, int i);
/* Whether something may come without a packet. */
bool engine_gpu_pending(const struct engine *engine);
/* The epoch is over.  Operations on devices get the engine's status when these have let go of the memory. */
void engine_gpu_stop(struct engine *engine);
void engine_gpu_drain(struct engine *engine, bool wait);
uint64_t engine_scan(struct engine *engine, const struct coll_chunk *chunk);
void engine_fill(struct engine *engine, const struct coll_chunk *chunk, uint8_t *payload);
uint64_t engine_deliver(struct engine *engine, const struct coll_chunk *chunk,
			const uint8_t *payload);
void engine_agreed(struct engine *engine, const struct coll_chunk *chunk);

/* membership.c */

/* 0, or a negative enum tally_status and a sentence.  Joins the job.  *out is closed by engine_close(). */
int engine_open(struct engine **out, const struct config *config, struct engine_error *error);
void engine_close(struct engine *engine);
int engine_rejoin(struct engine *engine);
/* Any thread. */
void engine_abort(struct engine *engine);
/* The engine's thread found abort_asked: fails everything and tells the switch. */
void engine_aborted(struct engine *engine);
/* Repeats END until the switch knows, at most 200 ms. */
void engine_farewell(struct engine *engine);
/* Something that session_input() or session_output() said. */
void engine_event(struct engine *engine, enum session_event event, bool forgotten);

#endif
