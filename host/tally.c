// SPDX-License-Identifier: BSD-3-Clause
// tally.c - the public API: checks arguments, owns handles, keeps the words of the last error.
#include "host/include/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/config.h"
#include "host/engine.h"
#include "host/log.h"
#include "host/venue.h"
#include "proto/print.h"

enum {
	TALLY_REQUESTS = 256,	 /* not released, finished or not */
	TALLY_STRUCT_MAX = 4096, /* bytes that a struct of a later version may have */
	/* Those of programs built when time_ns, stream and epoch were the last fields. */
	TALLY_RESULT_MIN = offsetof(struct tally_result, wait_ns),
	TALLY_ARGS_MIN = offsetof(struct tally_args, wire),
	TALLY_STATS_MIN = offsetof(struct tally_stats, first),
};

/* The mutual exclusion of threads is ours, so that a second one is told instead of harmed. */
struct tally_request {
	struct engine_op op;
	tally_t *comm;
	bool used;
	/* By the caller, whatever another thread does meanwhile; ours until the operation is finished. */
	atomic_bool released;
};

struct tally {
	struct engine *engine;
	atomic_flag busy; /* a thread is inside */
	/* tally_abort() is inside for a moment, which nobody has to know.  Writer: tally_abort(). */
	atomic_int aborting;
	pid_t pid; /* that opened it: a child process has a copy, not a membership */
	unsigned next;
	struct tally_request requests[TALLY_REQUESTS];
};

/* Words of the last call that failed in this thread, with and without a communicator. */
static _Thread_local char tally_text[ENGINE_TEXT];
static _Thread_local char tally_comm_text[ENGINE_TEXT];
static _Thread_local const tally_t *tally_comm_last;

static int tally_fail(const tally_t *comm, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int tally_fail(const tally_t *comm, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(comm ? tally_comm_text : tally_text, ENGINE_TEXT, format, args);
	va_end(args);
	if (comm)
		tally_comm_last = comm;
	return status;
}

const char *tally_last_error(const tally_t *comm)
{
	if (!comm)
		return tally_text;
	return comm == tally_comm_last ? tally_comm_text : "";
}

const char *tally_version(void)
{
	return TALLY_VERSION_STRING;
}

const char *tally_strerror(int status)
{
	switch (status) {
#define X(name, value, text)                                                                       \
	case TALLY_##name:                                                                         \
		return text;
		TALLY_STATUS_MAP(X)
#undef X
	}
	return "unknown status";
}

/* --- Configuration ------------------------------------------------------------------------------ */

int tally_config_new(tally_config_t **config)
{
	struct tally_config *fresh;

	if (!config)
		return tally_fail(NULL, TALLY_INVALID, "tally_config_new: config must not be NULL");
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return tally_fail(NULL, TALLY_NOMEM, "tally_config_new: out of memory");
	*config = fresh;
	return TALLY_OK;
}

int tally_config_set(tally_config_t *config, const char *key, const char *value)
{
	struct config_error error;

	if (!config)
		return tally_fail(NULL, TALLY_INVALID, "tally_config_set: config must not be NULL");
	if (config_set(config, key, value, &error) < 0)
		return tally_fail(NULL, TALLY_INVALID, "%s", error.text);
	return TALLY_OK;
}

void tally_config_free(tally_config_t *config)
{
	if (!config)
		return;
	config_clear(config);
	free(config);
}

/* --- Opening and closing ------------------------------------------------------------------------ */

static void tally_warn(const char *text)
{
	log_print(TALLY_LOG_WARN, "%s", text);
}

static int tally_configure(struct config *out, const tally_config_t *config)
{
	static atomic_flag warned = ATOMIC_FLAG_INIT;
	struct config_error error;
	int rc;

	if (config_resolve(out, config, &error) < 0)
		return tally_fail(NULL, TALLY_INVALID, "%s", error.text);
	rc = log_setup((int)out->debug, out->debug_file);
	if (rc < 0)
		return tally_fail(NULL, TALLY_INVALID, "TALLY_DEBUG_FILE=%.256s: %s",
				  out->debug_file,
				  rc == -ENXIO ? "a pipe that nobody reads" : strerror(-rc));
	if (!atomic_flag_test_and_set(&warned))
		config_unknown(tally_warn);
	return TALLY_OK;
}

int tally_open(tally_t **comm, const tally_config_t *config)
{
	struct engine_error error;
	struct config values;
	struct tally *fresh;
	int rc;

	if (!comm)
		return tally_fail(NULL, TALLY_INVALID, "tally_open: comm must not be NULL");
	rc = tally_configure(&values, config);
	if (rc < 0)
		return rc;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return tally_fail(NULL, TALLY_NOMEM, "tally_open: out of memory");
	atomic_flag_clear(&fresh->busy);
	atomic_init(&fresh->aborting, 0);
	fresh->pid = getpid();
	rc = engine_open(&fresh->engine, &values, &error);
	if (rc < 0) {
		free(fresh);
		return tally_fail(NULL, rc, "%s", error.text);
	}
	*comm = fresh;
	return TALLY_OK;
}

/* Every call on a communicator is between enter and leave. */
static int tally_enter(tally_t *comm, const char *call)
{
	if (!comm)
		return tally_fail(NULL, TALLY_INVALID, "%s: the communicator must not be NULL",
				  call);
	if (comm->pid != getpid())
		return tally_fail(
			comm, TALLY_INVALID,
			"%s: this communicator belongs to the parent process %ld: open another one "
			"after fork()",
			call, (long)comm->pid);
	while (atomic_flag_test_and_set_explicit(&comm->busy, memory_order_acquire)) {
		if (!atomic_load(&comm->aborting))
			return tally_fail(
				comm, TALLY_BUSY,
				"%s: another thread is using this communicator: one at a time, or "
				"one communicator each",
				call);
		sched_yield();
	}
	return TALLY_OK;
}

/* Takes over the engine's words if rc is an error. */
static int tally_leave(tally_t *comm, int rc)
{
	if (rc < 0)
		tally_fail(comm, rc, "%s", comm->engine->text);
	atomic_flag_clear_explicit(&comm->busy, memory_order_release);
	return rc;
}

void tally_close(tally_t *comm)
{
	/* A child process has no membership to give up, and the parent's memory may be half written. */
	if (!comm || comm->pid != getpid())
		return;
	if (tally_enter(comm, "tally_close") < 0) {
		log_print(TALLY_LOG_WARN, "%s; it stays open", tally_last_error(comm));
		return;
	}
	if (tally_comm_last == comm)
		tally_comm_last = NULL;
	engine_close(comm->engine);
	free(comm);
}

int tally_rank(const tally_t *comm)
{
	if (!comm)
		return tally_fail(NULL, TALLY_INVALID,
				  "tally_rank: the communicator must not be NULL");
	return (int)comm->engine->config.rank;
}

int tally_size(const tally_t *comm)
{
	if (!comm)
		return tally_fail(NULL, TALLY_INVALID,
				  "tally_size: the communicator must not be NULL");
	return (int)comm->engine->config.size;
}

/* --- Posting ------------------------------------------------------------------------------------ */

static struct tally_request *tally_request_new(tally_t *comm)
{
	for (unsigned i = 0; i < TALLY_REQUESTS; i++) {
		struct tally_request *req = &comm->requests[comm->next++ % TALLY_REQUESTS];

		if (req->used &&
		    !(atomic_load(&req->released) && req->op.status != TALLY_IN_PROGRESS))
			continue;
		*req = (struct tally_request){ .comm = comm, .used = true };
		return req;
	}
	return NULL;
}

/* Posts what the caller described in op; the communicator is entered and left here. */
static int tally_post(tally_t *comm, const struct engine_op *op, const char *call,
		      tally_request_t **out)
{
	struct tally_request *req;
	int rc = tally_enter(comm, call);

	if (rc < 0)
		return rc;
	req = tally_request_new(comm);
	if (!req) {
		snprintf(comm->engine->text, ENGINE_TEXT,
			 "%s: %d requests are not released: call tally_release()", call,
			 TALLY_REQUESTS);
		return tally_leave(comm, TALLY_BUSY);
	}
	req->op = *op;
	rc = engine_post(comm->engine, &req->op);
	if (rc < 0)
		req->used = false;
	else
		*out = req;
	return tally_leave(comm, rc);
}

/*
 * The caller's struct as this version has it: what an older one lacks is zero, and what a later one has more must be.
 */
static int tally_take_args(const tally_t *comm, const struct tally_args *args,
			   struct tally_args *out)
{
	const unsigned char *bytes = (const unsigned char *)args;

	if (args->size < TALLY_ARGS_MIN || args->size > TALLY_STRUCT_MAX)
		return tally_fail(
			comm, TALLY_INVALID,
			"tally_allreduce: args->size is %zu: set it to sizeof(struct tally_args), %zu",
			args->size, sizeof(*args));
	for (size_t i = sizeof(*args); i < args->size; i++)
		if (bytes[i])
			return tally_fail(
				comm, TALLY_UNSUPPORTED,
				"tally_allreduce: args has fields that this version (" TALLY_VERSION_STRING
				") does not know");
	memset(out, 0, sizeof(*out));
	memcpy(out, args, args->size < sizeof(*out) ? args->size : sizeof(*out));
	return TALLY_OK;
}

/* A factor that is none changes nothing and is fine anywhere. */
static int tally_check_factor(const tally_t *comm, const struct tally_args *args, const char *name,
			      float factor)
{
	if (!isfinite(factor))
		return tally_fail(comm, TALLY_INVALID,
				  "tally_allreduce: args->%s is %s: it must be finite", name,
				  isnan(factor) ? "NaN" : "infinite");
	if (quantizer_scales(factor) &&
	    (!quantizer_is_float((uint8_t)args->dtype) || !quantizer_adds((uint8_t)args->op)))
		return tally_fail(
			comm, TALLY_UNSUPPORTED,
			"tally_allreduce: args->%s is for sums and averages of floats, not "
			"for %s of %s",
			name, print_op(args->op), print_dtype(args->dtype));
	return TALLY_OK;
}

/* How the numbers are to travel and to be scaled, once dtype and op are known to be some. */
static int tally_check_numbers(const tally_t *comm, const struct tally_args *args)
{
	const bool real = quantizer_is_float((uint8_t)args->dtype);
	const bool adds = quantizer_adds((uint8_t)args->op);
	int rc = tally_check_factor(comm, args, "prescale", args->prescale);

	if (rc == TALLY_OK)
		rc = tally_check_factor(comm, args, "postscale", args->postscale);
	if (rc < 0)
		return rc;
	if ((unsigned)args->wire > TALLY_WIRE_INT16)
		return tally_fail(comm, TALLY_INVALID,
				  "tally_allreduce: wire %d is none of enum tally_wire",
				  (int)args->wire);
	if (args->flags & ~(uint32_t)TALLY_SATURATE)
		return tally_fail(comm, TALLY_UNSUPPORTED,
				  "tally_allreduce: args->flags is 0x%" PRIx32
				  ": this version (" TALLY_VERSION_STRING
				  ") knows TALLY_SATURATE (0x1) only",
				  args->flags);
	if (args->wire == TALLY_WIRE_INT16 && !(real && adds))
		return tally_fail(comm, TALLY_UNSUPPORTED,
				  "tally_allreduce: int16 on the wire is for sums and averages of "
				  "floats, not for %s of %s",
				  print_op(args->op), print_dtype(args->dtype));
	if (args->flags & TALLY_SATURATE && (real || !adds))
		return tally_fail(comm, TALLY_UNSUPPORTED,
				  "tally_allreduce: TALLY_SATURATE is for sums and averages of "
				  "int32, not for %s of %s",
				  print_op(args->op), print_dtype(args->dtype));
	return TALLY_OK;
}

static int tally_check_args(const tally_t *comm, const struct tally_args *args)
{
	if (args->dtype < TALLY_F32 || args->dtype > TALLY_I32)
		return tally_fail(
			comm, TALLY_UNSUPPORTED,
			"tally_allreduce: dtype %d is none of TALLY_F32, TALLY_F16, TALLY_BF16 and "
			"TALLY_I32: convert the tensor to one of these",
			(int)args->dtype);
	if (args->op < TALLY_SUM || args->op > TALLY_MIN)
		return tally_fail(
			comm, TALLY_UNSUPPORTED,
			"tally_allreduce: op %d is none of TALLY_SUM, TALLY_AVG, TALLY_MAX and TALLY_MIN",
			(int)args->op);
	if (args->count && (!args->src || !args->dst))
		return tally_fail(comm, TALLY_INVALID,
				  "tally_allreduce: %s is NULL, with %zu elements",
				  args->src ? "dst" : "src", args->count);
	if (args->count > SIZE_MAX / 2 / sizeof(float))
		return tally_fail(comm, TALLY_INVALID,
				  "tally_allreduce: %zu elements are more than memory can hold",
				  args->count);
	return tally_check_numbers(comm, args);
}

_Static_assert((int)TALLY_F32 == (int)WIRE_F32 && (int)TALLY_F16 == (int)WIRE_F16 &&
		       (int)TALLY_BF16 == (int)WIRE_BF16 && (int)TALLY_I32 == (int)WIRE_I32,
	       "dtypes travel as they are");
_Static_assert((int)TALLY_SUM == (int)WIRE_SUM && (int)TALLY_AVG == (int)WIRE_AVG &&
		       (int)TALLY_MAX == (int)WIRE_MAX && (int)TALLY_MIN == (int)WIRE_MIN,
	       "ops travel as they are");

static struct quantizer_tensor tally_tensor(const tally_t *comm, const struct tally_args *args)
{
	const bool narrow = args->wire ? args->wire == TALLY_WIRE_INT16
				       : comm->engine->config.wire == CONFIG_INT16;

	return (struct quantizer_tensor){
		.src = args->src,
		.dst = args->dst,
		.dtype = (uint8_t)args->dtype,
		.op = (uint8_t)args->op,
		.width = narrow ? 2 : 4,
		.saturate = args->flags & TALLY_SATURATE,
		.prescale = args->prescale,
		.postscale = args->postscale,
	};
}

int tally_allreduce(tally_t *comm, const struct tally_args *args, tally_request_t **req)
{
	struct engine_op op = { .status = TALLY_OK };
	struct tally_args ours;
	int rc;

	if (!comm || !args || !req)
		return tally_fail(comm, TALLY_INVALID, "tally_allreduce: %s must not be NULL",
				  !comm	  ? "the communicator"
				  : !args ? "args"
					  : "req");
	rc = tally_take_args(comm, args, &ours);
	if (rc == TALLY_OK)
		rc = tally_check_args(comm, &ours);
	if (rc < 0)
		return rc;
	op.count = ours.count;
	op.tensor = tally_tensor(comm, &ours);
	op.stream = ours.stream;
	return tally_post(comm, &op, "tally_allreduce", req);
}

int tally_barrier(tally_t *comm, tally_request_t **req)
{
	const struct engine_op op = { .barrier = true, .status = TALLY_OK };

	if (!comm || !req)
		return tally_fail(comm, TALLY_INVALID, "tally_barrier: %s must not be NULL",
				  comm ? "req" : "the communicator");
	return tally_post(comm, &op, "tally_barrier", req);
}

/* --- Driving ------------------------------------------------------------------------------------ */

int tally_progress(tally_t *comm)
{
	int rc = tally_enter(comm, "tally_progress");

	if (rc < 0)
		return rc;
	return tally_leave(comm, engine_progress(comm->engine));
}

static int tally_request_wait(tally_request_t *req, int64_t timeout_ns, const char *call)
{
	int rc;

	if (!req)
		return tally_fail(NULL, TALLY_INVALID, "%s: the request must not be NULL", call);
	rc = tally_enter(req->comm, call);
	if (rc < 0)
		return rc;
	return tally_leave(req->comm, engine_wait(req->comm->engine, &req->op, timeout_ns));
}

int tally_test(tally_request_t *req)
{
	return tally_request_wait(req, 0, "tally_test");
}

int tally_wait(tally_request_t *req, int64_t timeout_ns)
{
	return tally_request_wait(req, timeout_ns, "tally_wait");
}

void tally_release(tally_request_t *req)
{
	if (req)
		atomic_store(&req->released, true);
}

/* Copies as much as the caller's version knows; zeroes what only it knows. */
static int tally_copy_out(void *out, size_t out_size, const void *ours, size_t our_size)
{
	memset(out, 0, out_size);
	memcpy(out, ours, out_size < our_size ? out_size : our_size);
	memcpy(out, &out_size, sizeof(out_size));
	return TALLY_OK;
}

/* At most what is left: clocks are read at different moments. */
static uint64_t tally_part(uint64_t ns, uint64_t *left_ns)
{
	if (ns > *left_ns)
		ns = *left_ns;
	*left_ns -= ns;
	return ns;
}

static void tally_split(struct tally_result *result, const struct engine_split *split)
{
	uint64_t left_ns = result->time_ns;

	result->convert_ns = tally_part(split->convert_ns, &left_ns);
	result->wire_ns = tally_part(split->wire_ns, &left_ns);
	result->retransmit_ns = tally_part(split->retransmit_ns, &left_ns);
	result->wait_ns = left_ns;
}

int tally_get_result(const tally_request_t *req, struct tally_result *result)
{
	struct tally_result ours;
	int rc;

	if (!req || !result || result->size < TALLY_RESULT_MIN || result->size > TALLY_STRUCT_MAX)
		return tally_fail(
			req ? req->comm : NULL, TALLY_INVALID,
			"tally_get_result: give a request, and a result whose size is set");
	rc = tally_enter(req->comm, "tally_get_result");
	if (rc < 0)
		return rc;
	rc = req->op.status;
	ours = (struct tally_result){
		.nonfinite = req->op.nonfinite,
		.nonfinite_rank = req->op.nonfinite_rank,
		.saturated = req->op.saturated,
		.time_ns = rc == TALLY_IN_PROGRESS ? 0 : req->op.done_ns - req->op.posted_ns,
	};
	if (rc == TALLY_OK) {
		tally_split(&ours, &req->op.split);
		tally_copy_out(result, result->size, &ours, sizeof(ours));
	}
	return tally_leave(req->comm, rc);
}

int tally_abort(tally_t *comm)
{
	if (!comm)
		return tally_fail(NULL, TALLY_INVALID,
				  "tally_abort: the communicator must not be NULL");
	if (comm->pid != getpid())
		return tally_enter(comm, "tally_abort");
	engine_abort(comm->engine);
	/* A thread that is inside sees it and tells the switch; otherwise we do. */
	atomic_fetch_add(&comm->aborting, 1);
	if (!atomic_flag_test_and_set_explicit(&comm->busy, memory_order_acquire)) {
		engine_progress(comm->engine);
		atomic_flag_clear_explicit(&comm->busy, memory_order_release);
	}
	atomic_fetch_sub(&comm->aborting, 1);
	return TALLY_OK;
}

int tally_rejoin(tally_t *comm)
{
	int rc = tally_enter(comm, "tally_rejoin");

	if (rc < 0)
		return rc;
	return tally_leave(comm, engine_rejoin(comm->engine));
}

void venue_stats(const tally_t *comm, struct tally_stats *stats)
{
	engine_stats(comm->engine, stats);
}

int tally_get_stats(const tally_t *comm, struct tally_stats *stats)
{
	tally_t *inside = (tally_t *)(uintptr_t)comm; /* entering marks it as in use */
	struct tally_stats ours = { 0 };
	int rc;

	if (!comm || !stats || stats->size < TALLY_STATS_MIN || stats->size > TALLY_STRUCT_MAX)
		return tally_fail(
			comm, TALLY_INVALID,
			"tally_get_stats: give a communicator, and stats whose size is set");
	rc = tally_enter(inside, "tally_get_stats");
	if (rc < 0)
		return rc;
	engine_stats(comm->engine, &ours);
	tally_copy_out(stats, stats->size, &ours, sizeof(ours));
	return tally_leave(inside, TALLY_OK);
}
