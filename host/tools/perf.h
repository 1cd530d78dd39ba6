/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.h - what the parts of tally-perf share: options, one rank's state, one row of the table. */
#ifndef HOST_TOOLS_PERF_H
#define HOST_TOOLS_PERF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host/include/tally.h"

#define PERF_ROWS_MAX 1024			/* sizes of one run */
#define PERF_TRACE_MAX 4096			/* tensors of a list */
#define PERF_TRACE_ELEMENTS (UINT64_C(1) << 38) /* of all of them */
#define PERF_RANKS_MAX 1024
#define PERF_THREADS_MAX 64
#define PERF_SHIFTS 4096 /* places in a rank's data at which an operation may start */
#define PERF_GUARD 16	 /* words of 4 bytes before and after dst that nothing may write */
#define PERF_GUARD_BYTES (PERF_GUARD * sizeof(int32_t))
#define PERF_DTYPES 4

enum perf_mode { PERF_OUT_OF_PLACE = 0, PERF_IN_PLACE = 1, PERF_NR_MODES = 2 };

/* How long a rank computes in an iteration: some ranks, and others by chance, factor times as long. */
struct perf_compute {
	uint64_t least_ns, most_ns;
	double factor, probability;
	bool slow_ranks;
	uint64_t slow[PERF_RANKS_MAX / 64]; /* a bit each */
	uint64_t seed;
};

struct perf_options {
	uint64_t min_bytes, max_bytes, step_bytes;
	uint64_t step_factor;		 /* 0: step_bytes counts */
	uint64_t counts[PERF_TRACE_MAX]; /* in units */
	uint32_t unit;			 /* bytes; 0: counts are elements */
	uint32_t nr_counts;
	uint32_t iters, warmup_iters;
	bool check;
	bool inplace_given;
	bool mode_on[PERF_NR_MODES];
	enum tally_dtype dtypes[PERF_DTYPES];
	uint32_t nr_dtypes;
	enum tally_op ops[4];
	uint32_t nr_ops;
	enum tally_wire wire; /* TALLY_WIRE_DEFAULT: as the library is told */
	uint32_t nr_threads;  /* 0: one rank, described by the environment */
	uint64_t seed;
	const char *trace; /* file of the list whose tensors the counts are; NULL: they are sizes */
	struct perf_compute compute;
	const char *json;    /* file name, NULL: none */
	const char *history; /* likewise */
	const char *timeout; /* seconds as text for the library, NULL: its own default */
	/* Of ranks that live in virtual time, where no CPU time passes; NULL: the kernel's clocks. */
	uint64_t (*clock)(void);
	void (*pause)(uint64_t ns);
	FILE *out;	     /* the table; NULL: stdout */
	atomic_bool stopped; /* its communicator is aborted, and nothing is to be said of that */
};

/* One kind of data: what perf_data functions need to know every element of every rank. */
struct perf_data {
	uint64_t seed;
	enum tally_dtype dtype;
	enum tally_op op;
	int nr_ranks;
	bool narrow; /* sums and averages travel as int16 */
};

struct perf_error {
	uint64_t wrong;
	double max_part;  /* largest |error| of a float, as part of its block's largest value */
	double max_share; /* largest |error| / bound */
};

/* Of some times the least, the sum and the most. */
struct perf_stretch {
	double least_us, sum_us, most_us;
	uint64_t nr;
};

/* Sums over all timed operations of a rank. */
struct perf_totals {
	uint64_t bytes;
	uint64_t time_ns, cpu_ns;
	uint64_t wait_ns, wire_ns, retransmit_ns, convert_ns;
	uint64_t wall_ns;  /* operations and what is done between them */
	uint64_t delay_ns; /* of wall_ns: ready to run but without a CPU, from the kernel */
	struct perf_error error;
	/* With a list: of an iteration, of that computing, and the rest. */
	struct perf_stretch iteration, compute, waiting;
};

/* One (size, type, operation) of the table, the same on every rank. */
struct perf_row {
	uint64_t count;
	enum tally_dtype dtype;
	enum tally_op op;
	double time_us[PERF_NR_MODES];
	double algbw[PERF_NR_MODES], busbw[PERF_NR_MODES]; /* GB/s */
	uint64_t wrong[PERF_NR_MODES];
};

/* What the run adds up to, the same on every rank. */
struct perf_summary {
	uint64_t wrong;
	double avg_busbw;
	uint64_t hash;
	bool hash_equal;
	uint32_t hash_other; /* the lowest rank whose hash differs from rank 0's */
	double max_part, max_share;
	uint64_t retransmits;	 /* of all ranks, since the job was joined; so are the next two */
	uint64_t first, results; /* chunks sent for the first time, results taken */
	double rtt_us;
	double cpu_ns_per_byte;
	double wait, wire, retransmit, convert; /* shares of the operations' time, 0..1 */
	double delay;				/* share of the run without a CPU */
	bool interrupted;
	/* With a list: of all ranks; the sum is the mean. */
	struct perf_stretch iteration, compute, waiting;
};

enum { PERF_POINTS = 512 };

/* A rank's counters after an operation, and what was measured then. */
struct perf_point {
	uint64_t at_ns, sent, again, received;
	uint64_t rtt_ns;
	uint32_t window;
};

/* The timed operations of one size and kind. */
struct perf_span {
	uint64_t count;
	enum tally_dtype dtype;
	enum tally_op op;
	uint64_t nr;
	double least_us, sum_us, most_us;
};

/* Zeroed: empty. */
struct perf_history {
	struct perf_point point[PERF_POINTS], last;
	uint32_t nr_points, stride;
	uint64_t nr_seen;
	uint32_t chunk;
	struct perf_span *span;
	uint32_t nr_spans, room;
};

struct perf_rank {
	const struct perf_options *options;
	tally_t *comm;
	int rank, nr_ranks;
	enum tally_wire wire; /* of sums and averages of floats */
	uint8_t *src;	      /* the largest size + PERF_SHIFTS elements */
	uint8_t *dst;	      /* the largest size + 2 * PERF_GUARD words */
	uint64_t max_bytes;
	uint64_t operation; /* number of the next test operation */
	uint64_t hash;
	struct perf_totals totals;
	double busbw_sum;
	uint32_t nr_busbw;
	uint64_t wrong; /* of all ranks */
	bool interrupted;
	struct perf_row *rows; /* rank 0 only, for the JSON file */
	uint32_t nr_rows;
	struct perf_history *history; /* NULL: not wanted */
};

/* perf_options.c: 0, 1 when there is nothing left to do (-h, -V), -1 after an error was printed. */
int perf_options_parse(struct perf_options *options, int argc, char **argv);
const char *perf_dtype_name(enum tally_dtype dtype);
/* Elements of the i-th size. */
uint64_t perf_options_count(const struct perf_options *options, uint32_t i, enum tally_dtype dtype);
const char *perf_op_name(enum tally_op op);
/* What sums of floats travel as, unless the command line says so: what the library was told, by whomever. */
enum tally_wire perf_wire(const struct perf_options *options, const tally_config_t *config);

/* perf_data.c */
uint64_t perf_data_shift(uint64_t seed, uint64_t operation);
/* The bits of elements, one in each word whatever their size. */
void perf_data_fill(const struct perf_data *data, int rank, uint64_t first, int32_t *out,
		    uint64_t nr);
uint32_t perf_data_bytes(enum tally_dtype dtype); /* of an element */
/* Words of bits to elements side by side, and back. */
void perf_data_pack(enum tally_dtype dtype, void *out, const int32_t *values, uint64_t nr);
void perf_data_unpack(enum tally_dtype dtype, int32_t *out, const void *elements, uint64_t nr);
/* What the bits of a float mean. */
float perf_data_float(enum tally_dtype dtype, int32_t bits);
uint64_t perf_data_hash(uint64_t hash, const void *values, uint64_t bytes);

/*
 * perf_check.c: compares count results with what the ranks' data, read from position shift on,
 * give.
 */
void perf_check_results(const struct perf_data *data, uint64_t shift, const void *got,
			uint64_t count, struct perf_error *error);

/* perf_run.c: 0, or -1 after an error was printed. */
extern volatile int perf_interrupted;
int perf_run_rank(struct perf_rank *rank);
/* What operations share. */
uint64_t perf_clock(const struct perf_rank *rank);
uint64_t perf_cpu(const struct perf_rank *rank);
int perf_fail_comm(const struct perf_rank *rank, int err); /* -1 */
int perf_barrier(struct perf_rank *rank);
/* Is it what travels as int32 or int16 as one likes? */
bool perf_is_scaled(enum tally_dtype dtype, enum tally_op op);
struct perf_data perf_data_of(const struct perf_rank *rank, enum tally_dtype dtype,
			      enum tally_op op);
/* What was written beside dst, and into the source of an operation that is not in place. */
uint64_t perf_count_guards(const struct perf_rank *rank, uint64_t bytes);
uint64_t perf_count_src(const struct perf_rank *rank, const struct perf_data *data, uint64_t count,
			uint64_t shift);

/* perf_trace.c */
struct perf_trace {
	uint64_t count[PERF_TRACE_MAX]; /* elements of each tensor */
	uint32_t nr;
};
struct perf_trace_error {
	uint32_t line, column; /* from 1 */
	char text[160];	       /* what was expected */
};
/* A list as text: 0, or -1 and why. */
int perf_trace_parse(const char *text, size_t len, struct perf_trace *trace,
		     struct perf_trace_error *error);
/* The same of a file: 0, or -1 after an error was printed. */
int perf_trace_read(const char *path, struct perf_trace *trace);

/* perf_compute.c: TIME or TIME..TIME; factor=,ranks=,probability=.  0, or -1: it is something else. */
int perf_compute_parse(struct perf_compute *compute, const char *text);
int perf_stragglers_parse(struct perf_compute *compute, const char *text);
/* Of a rank in an iteration. */
uint64_t perf_compute_ns(const struct perf_compute *compute, int rank, int64_t iteration);

/* perf_step.c: an iteration, < 0: a warm-up.  0, or -1 after an error was printed. */
int perf_step_iterate(struct perf_rank *rank, const struct perf_row *row, int64_t iteration,
		      struct perf_error *error);

/*
 * perf_share.c: 0 or a negative enum tally_status.  The values of all ranks, over the library
 * itself.
 */
int perf_share_row(struct perf_rank *rank, struct perf_row *row);
int perf_share_summary(struct perf_rank *rank, struct perf_summary *summary);

/* perf_table.c */
void perf_table_head(const struct perf_rank *rank);
void perf_table_row(const struct perf_options *options, const struct perf_row *row);
void perf_table_foot(const struct perf_rank *rank, const struct perf_summary *summary);

/* perf_json.c: 0, or -1 after an error was printed. */
int perf_json_write(const struct perf_rank *rank, const struct perf_summary *summary);
/* Before anything runs: can the file of --option be written?  -1: no, and it was said. */
int perf_json_check(const char *option, const char *path);
/* NULL after an error was printed. */
FILE *perf_json_open(const char *option, const char *path);
int perf_json_close(const char *option, const char *path, FILE *file);

/* perf_history.c */
void perf_history_add(struct perf_history *history, const tally_t *comm, uint64_t at_ns);
/* A timed operation. */
void perf_history_time(struct perf_history *history, const struct tally_args *args, double us);
/* Elements a second of the timed operations. */
double perf_history_speed(const struct perf_history *history);
void perf_history_write(const struct perf_history *history, int rank, FILE *file);
/* The next of those written there, into an empty one: 0, or -1 if it is not all there. */
int perf_history_read(struct perf_history *history, FILE *file);
void perf_history_free(struct perf_history *history);

#endif
