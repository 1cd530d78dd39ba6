/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tally.h - all-reduce through the network.  The only public header of libtally.
 *
 * A communicator (tally_t) is one rank's membership in one job.  A call posts an operation and returns a
 * request; tally_test(), tally_wait() or tally_progress() drive it.  Nothing moves outside calls into this
 * library: it makes no thread, installs no signal handler, never exits, prints only through the log.
 *
 * All ranks post the same operations in the same order; operations complete in that order.  A communicator
 * is used by one thread at a time (another thread's call gets TALLY_BUSY), save tally_abort(), which any
 * thread may call.  Different communicators are independent.
 *
 * Every int-returning function returns TALLY_OK, TALLY_IN_PROGRESS or a negative enum tally_status;
 * tally_last_error() has the sentence that says what is wrong and what to do.
 */
#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 1
#define TALLY_VERSION_PATCH 0
#define TALLY_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define TALLY_API __attribute__((visibility("default")))
#else
#define TALLY_API
#endif

typedef struct tally tally_t;		      /* a communicator */
typedef struct tally_request tally_request_t; /* one operation */
typedef struct tally_config tally_config_t;   /* options, before tally_open() */

/* Values never change once released.  OVERFLOW is reserved: this version never returns it. */
#define TALLY_STATUS_MAP(X)                                                                        \
	X(IN_PROGRESS, 1, "operation in progress")                                                 \
	X(OK, 0, "success")                                                                        \
	X(INVALID, -1, "invalid argument")                                                         \
	X(NOMEM, -2, "out of memory")                                                              \
	X(UNSUPPORTED, -3, "not supported by this build, transport or switch")                     \
	X(BUSY, -4, "too many operations outstanding, or the communicator is in use by a thread")  \
	X(TIMEOUT, -5, "peers or the switch did not answer in time")                               \
	X(PEER, -6, "a rank died, restarted, was replaced, or its GPU failed")                     \
	X(MISMATCH, -7, "ranks disagree on the operation or the job")                              \
	X(OVERFLOW, -8, "a saturating integer sum did not fit")                                    \
	X(PROTOCOL, -9, "another protocol version, lost state, or a sum that was corrupted")       \
	X(SYSTEM, -10, "a system call failed")                                                     \
	X(DEVICE, -11, "the GPU runtime failed")                                                   \
	X(ABORTED, -12, "aborted by tally_abort()")                                                \
	X(NO_SLOTS, -13, "the switch has no slots free for the job")                               \
	X(LEFT, -14, "a rank left the job before the operation")

enum tally_status {
#define X(name, value, text) TALLY_##name = (value),
	TALLY_STATUS_MAP(X)
#undef X
};

enum tally_dtype { TALLY_F32 = 1, TALLY_F16 = 2, TALLY_BF16 = 3, TALLY_I32 = 4 };
/* As what sums and averages of floats travel; by default as option wire says.  int16: half the bytes, less exact. */
enum tally_wire { TALLY_WIRE_DEFAULT = 0, TALLY_WIRE_INT32 = 1, TALLY_WIRE_INT16 = 2 };
enum { TALLY_SATURATE = 1 }; /* flags: sums and averages of int32 stop at the limits */
enum tally_op { TALLY_SUM = 1, TALLY_AVG = 2, TALLY_MAX = 3, TALLY_MIN = 4 };

TALLY_API const char *tally_version(void);
TALLY_API const char *tally_strerror(int status);
/* The last error of this communicator in one sentence, "" if none; of the calling thread's last failed
 * tally_open() or tally_config_set() if comm is NULL.  Valid until the next call. */
TALLY_API const char *tally_last_error(const tally_t *comm);

/*
 * Options are strings, so that adding one never changes the ABI: key "rank" is TALLY_RANK in the environment.
 * Precedence: tally_config_set(), environment, the file named by TALLY_CONF, the launcher (RANK, WORLD_SIZE and
 * so on), default.  `tally-info -v` and tally(7) list them.  An unknown key or a bad value is TALLY_INVALID, and the sentence names it.
 */
TALLY_API int tally_config_new(tally_config_t **config);
TALLY_API int tally_config_set(tally_config_t *config, const char *key, const char *value);
TALLY_API void tally_config_free(tally_config_t *config);

/* Joins the job and waits for all its ranks (option join_timeout, 30 s).  config may be NULL; the caller keeps
 * it.  *comm is written on success only. */
TALLY_API int tally_open(tally_t **comm, const tally_config_t *config);
/* Outstanding operations fail with TALLY_ABORTED; their requests are freed with it.  NULL is fine. */
TALLY_API void tally_close(tally_t *comm);
TALLY_API int tally_rank(const tally_t *comm);
TALLY_API int tally_size(const tally_t *comm);

struct tally_args {
	size_t size;	 /* sizeof(struct tally_args): lets the struct grow */
	const void *src; /* count elements; borrowed until the request completes */
	void *dst; /* count elements; may equal src, must not overlap otherwise; void if the operation fails */
	size_t count; /* elements, not bytes; 0 is fine */
	enum tally_dtype dtype;
	enum tally_op op;
	/* With device memory: the CUstream or cudaStream_t whose work so far comes before, NULL for the default
	 * one.  With host memory: NULL. */
	void *stream;
	/* From here on 0 is the default, as of programs built before. */
	enum tally_wire wire;
	/* Sums and averages of floats: this rank's elements times prescale, the result times postscale; each rank
	 * has its own.  0: 1.  Rounded to float32 both times. */
	float prescale, postscale;
	uint32_t flags;
};

/*
 * Posts an all-reduce; waits for no rank and no GPU.  Sums of floats are block-scaled fixed-point (numerics: docs/numerics.md),
 * rounded once; int32 sums wrap unless they are to saturate.  *req is the caller's until tally_release().  TALLY_BUSY: 32 operations are outstanding.
 * INVALID, UNSUPPORTED, NOMEM, BUSY: nothing was posted, nobody is told, and the other ranks wait until this one posts.
 * DEVICE ends the epoch: the other ranks' operations fail with PEER and this rank's number.
 */
TALLY_API int tally_allreduce(tally_t *comm, const struct tally_args *args, tally_request_t **req);
TALLY_API int tally_barrier(tally_t *comm, tally_request_t **req);

TALLY_API int
tally_progress(tally_t *comm); /* moves packets once; >= 0, or the communicator's error */
TALLY_API int tally_test(tally_request_t *req);
/* timeout_ns < 0: until the operation's own deadline (option timeout).  TALLY_IN_PROGRESS when the time given
 * here ran out first. */
TALLY_API int tally_wait(tally_request_t *req, int64_t timeout_ns);
/* Frees the request.  If it is still in progress the operation goes on (src and dst stay borrowed until
 * tally_close() or until later operations complete). NULL is fine. */
TALLY_API void tally_release(tally_request_t *req);

/* What became of one operation. */
struct tally_result {
	size_t size;	    /* sizeof(struct tally_result), set by the caller */
	uint64_t nonfinite; /* elements delivered as NaN because some rank's block had Inf or NaN */
	int32_t nonfinite_rank; /* the lowest such rank, -1: none */
	uint64_t time_ns;	/* from post to completion: the sum of the four below */
	uint64_t wait_ns; /* nothing to do, for others or the network, or nobody called the library */
	uint64_t wire_ns;	/* moving packets */
	uint64_t retransmit_ns; /* nothing came until something had been sent again */
	uint64_t convert_ns;	/* quantising and dequantising */
	/* With TALLY_SATURATE: sums at a limit, of those packets in which some addition did not fit; for each such
	 * packet at least 1. */
	uint64_t saturated;
};
TALLY_API int tally_get_result(const tally_request_t *req, struct tally_result *result);

/* Any thread.  Outstanding and later operations of this rank return TALLY_ABORTED, those of others TALLY_PEER. */
TALLY_API int tally_abort(tally_t *comm);
/* After PEER, MISMATCH, ABORTED, LEFT, TIMEOUT, PROTOCOL or DEVICE every call returns that error until this has
 * joined the job anew.  All ranks call it, and then agree among themselves from where to go on. */
TALLY_API int tally_rejoin(tally_t *comm);

struct tally_stats {
	size_t size; /* sizeof(struct tally_stats), set by the caller */
	uint64_t tx_packets, rx_packets, tx_bytes, rx_bytes;
	uint64_t retransmits;
	uint64_t dropped; /* packets received and not taken: stale, duplicate, foreign, malformed */
	uint64_t operations;
	uint64_t rtt_ns; /* lowest round trip measured lately */
	uint64_t wait_ns, wire_ns,
		convert_ns; /* where the time went: idle, moving packets, quantising */
	uint32_t window, chunk,
		slots; /* data chunks in flight at most now; payload bytes; slots agreed */
	uint64_t epoch;
	/* Chunks, of those in tx_packets and rx_packets: sent for the first time; and results taken. */
	uint64_t first, results;
};
TALLY_API int tally_get_stats(const tally_t *comm, struct tally_stats *stats);

enum tally_log_level {
	TALLY_LOG_NONE = 0,
	TALLY_LOG_WARN = 1,
	TALLY_LOG_INFO = 2,
	TALLY_LOG_TRACE = 3
};
/* Replaces the default sink (stderr, or TALLY_DEBUG_FILE).  text has no newline.  Process-wide; fn may be
 * called from any thread that is inside the library. */
TALLY_API void tally_set_log(void (*fn)(void *ctx, int level, const char *text), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
