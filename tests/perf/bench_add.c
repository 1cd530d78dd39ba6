// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench_add.c - what a contribution of 256 elements costs the switch, beside memcpy of the same 1
 * KiB.
 *
 * Two things are compared by running them in turn, A B A B, for a few milliseconds of CPU time
 * each; what is printed are medians, so that other users of the machine move both sides alike.
 * Packets and cells lie in the second-level cache, as they do behind a NIC.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "switch/core/add.h"
#include "switch/core/pipe.h"

enum {
	BENCH_P = 1024,
	BENCH_SLOTS = 128,
	BENCH_WORKERS = 8,
	BENCH_BUFFERS = 256, /* packets in flight: 512 KiB of them */
	BENCH_STRIDE = 2048,
	BENCH_FRAMING = 42, /* a packet's payload starts 64 bytes into its buffer */
	BENCH_TURNS = 31,
	BENCH_MAX = 32, /* results */
	BENCH_BATCH = BENCH_SLOTS * BENCH_WORKERS,
};
_Static_assert((int)BENCH_BUFFERS == 2 * (int)BENCH_SLOTS, "each slot meets two buffers in turn");
#define BENCH_TURN_NS UINT64_C(3000000)

struct bench_result {
	char name[64];
	double value; /* ns */
	const char *reference;
	double reference_value;
};

struct bench {
	const struct add_ops *ops;
	uint8_t *packets; /* BENCH_BUFFERS x BENCH_STRIDE */
	uint8_t *values;  /* BENCH_SLOTS x BENCH_STRIDE */
	struct pipe *pipe;
	uint16_t handle;
	uint64_t epoch;
	uint32_t round, pipe_round;
	unsigned next; /* buffer */
	struct pipe_time now;
	struct bench_result results[BENCH_MAX];
	unsigned nr_results;
};

/* Handles one batch: BENCH_BATCH contributions. */
typedef void (*bench_run)(struct bench *bench);

static uint64_t bench_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
		abort();
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint8_t *bench_packet(struct bench *bench)
{
	uint8_t *buffer = bench->packets + (size_t)bench->next * BENCH_STRIDE;

	bench->next = (bench->next + 1) % BENCH_BUFFERS;
	return buffer + BENCH_FRAMING;
}

static void bench_memcpy(struct bench *bench)
{
	for (unsigned i = 0; i < BENCH_BATCH; i++) {
		uint8_t *values = bench->values + (size_t)(i % BENCH_SLOTS) * BENCH_STRIDE;

		memcpy(values, bench_packet(bench) + WIRE_HEADER, BENCH_P);
		__asm__ volatile("" ::: "memory");
	}
}

static void bench_combine(struct bench *bench, enum wire_kind kind)
{
	for (unsigned i = 0; i < BENCH_BATCH; i++) {
		uint8_t *values = bench->values + (size_t)(i % BENCH_SLOTS) * BENCH_STRIDE;

		bench->ops->combine[kind](values, bench_packet(bench) + WIRE_HEADER, BENCH_P);
	}
}

static void bench_add32(struct bench *bench)
{
	bench_combine(bench, WIRE_ADD32);
}

static void bench_sat32(struct bench *bench)
{
	bench_combine(bench, WIRE_ADD32SAT);
}

static void bench_add16(struct bench *bench)
{
	bench_combine(bench, WIRE_ADD16);
}

static void bench_max32(struct bench *bench)
{
	bench_combine(bench, WIRE_MAX32);
}

/*
 * The passes a slot makes for BENCH_WORKERS contributions: store, adds, and the last with the
 * result; in the one cell and the other in turn.
 */
static void bench_slot(struct bench *bench)
{
	size_t cell = (bench->round++ & 1) * (size_t)BENCH_P;

	for (unsigned i = 0; i < BENCH_BATCH; i++) {
		uint8_t *values = bench->values + (size_t)(i % BENCH_SLOTS) * BENCH_STRIDE + cell;
		uint8_t *payload = bench_packet(bench) + WIRE_HEADER;
		unsigned wid = i / BENCH_SLOTS;

		if (wid == 0)
			bench->ops->store[WIRE_ADD32](values, payload, BENCH_P);
		else if (wid < BENCH_WORKERS - 1)
			bench->ops->combine[WIRE_ADD32](values, payload, BENCH_P);
		else
			bench->ops->finish[WIRE_ADD32](values, payload, BENCH_P);
	}
}

static struct flow bench_flow(unsigned wid)
{
	return (struct flow){ .ip = 0x0a000001 + wid, .udp_port = (uint16_t)(40000 + wid) };
}

static void bench_burst_begin(struct bench *bench, struct pipe_pkt *pkt, unsigned i)
{
	struct wire_msg msg = {
		.type = WIRE_DATA,
		.kind = WIRE_ADD32,
		.job = bench->handle,
		.epoch = bench->epoch,
		.slot = (uint16_t)(WIRE_SE + i % BENCH_SLOTS),
		.round = bench->pipe_round,
		.desc = 0x1234,
		.wid = (uint16_t)(i / BENCH_SLOTS),
	};

	*pkt = (struct pipe_pkt){
		.data = bench_packet(bench),
		.len = WIRE_HEADER + BENCH_P,
		.cap = BENCH_STRIDE - BENCH_FRAMING,
		.flow = bench_flow(msg.wid),
	};
	wire_build(pkt->data, &msg);
}

/*
 * Parse to result, in bursts; writing the 22 bytes of header is the sender's part and is included.
 */
static void bench_pipe(struct bench *bench)
{
	struct pipe_pkt pkts[PIPE_BURST];
	struct flow to[WIRE_WORLD_MAX];
	unsigned nr_results = 0;

	for (unsigned i = 0; i < BENCH_BATCH; i += PIPE_BURST) {
		for (unsigned k = 0; k < PIPE_BURST; k++)
			bench_burst_begin(bench, &pkts[k], i + k);
		pipe_input(bench->pipe, pkts, PIPE_BURST, &bench->now);
		for (unsigned k = 0; k < PIPE_BURST; k++) {
			if (pkts[k].verdict == PIPE_MULTICAST)
				nr_results += pipe_dests(bench->pipe, &pkts[k], to);
		}
	}
	if (nr_results != BENCH_SLOTS * BENCH_WORKERS)
		abort();
	bench->pipe_round++;
}

/* The sender's part of the above alone. */
static void bench_sender(struct bench *bench)
{
	struct pipe_pkt pkts[PIPE_BURST];

	for (unsigned i = 0; i < BENCH_BATCH; i += PIPE_BURST) {
		for (unsigned k = 0; k < PIPE_BURST; k++)
			bench_burst_begin(bench, &pkts[k], i + k);
		__asm__ volatile("" ::"r"(pkts) : "memory");
	}
}

static double bench_turn(struct bench *bench, bench_run run)
{
	uint64_t start = bench_cpu_ns();
	uint64_t nr = 0, end;

	do {
		run(bench);
		nr += BENCH_BATCH;
		end = bench_cpu_ns();
	} while (end - start < BENCH_TURN_NS);
	return (double)(end - start) / (double)nr;
}

static int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double bench_median(double *values, unsigned nr)
{
	qsort(values, nr, sizeof(*values), bench_compare);
	return values[nr / 2];
}

/* a beside b, in turn. */
static struct bench_result *bench_pair(struct bench *bench, bench_run a, bench_run b)
{
	struct bench_result *result = &bench->results[bench->nr_results++];
	double of_a[BENCH_TURNS], of_b[BENCH_TURNS];

	if (bench->nr_results > BENCH_MAX)
		abort();
	for (unsigned i = 0; i < BENCH_TURNS; i++) {
		of_a[i] = bench_turn(bench, a);
		of_b[i] = bench_turn(bench, b);
	}
	result->value = bench_median(of_a, BENCH_TURNS);
	result->reference_value = bench_median(of_b, BENCH_TURNS);
	return result;
}

static void bench_isa(struct bench *bench, const char *isa)
{
	static const struct {
		const char *name;
		bench_run run;
	} kinds[] = {
		{ "add32", bench_add32 },
		{ "add32 saturating", bench_sat32 },
		{ "add16", bench_add16 },
		{ "max32", bench_max32 },
	};

	bench->ops = add_select(isa);
	if (!bench->ops)
		return;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct bench_result *result = bench_pair(bench, kinds[i].run, bench_memcpy);

		snprintf(result->name, sizeof(result->name), "%s %s, 1 KiB", isa, kinds[i].name);
		result->reference = "memcpy 1 KiB";
	}
}

/* How much faster the best table is than the portable one. */
static void bench_scalar_ratio(struct bench *bench)
{
	double scalar = 0, best = 0;

	for (unsigned i = 0; i < bench->nr_results; i++) {
		if (!strstr(bench->results[i].name, " add32,"))
			continue;
		if (strncmp(bench->results[i].name, "scalar", 6) == 0)
			scalar = bench->results[i].value;
		else if (best == 0 || bench->results[i].value < best)
			best = bench->results[i].value;
	}
	if (best > 0)
		bench->results[bench->nr_results++] = (struct bench_result){
			.name = "scalar add32, 1 KiB, beside the best",
			.value = scalar,
			.reference = "best add32",
			.reference_value = best,
		};
}

static void bench_join(struct bench *bench, unsigned wid)
{
	struct wire_join join = {
		.inc = 1000 + wid,
		.world = BENCH_WORKERS,
		.slots = BENCH_SLOTS,
		.p = BENCH_P,
		.port = bench_flow(wid).udp_port,
		.nr_ports = 1,
		.name = "bench",
	};
	const struct job *job = pipe_job(bench->pipe, 0);
	struct pipe_pkt pkt = { .data = bench->packets, .flow = bench_flow(wid) };
	struct flow to;
	uint8_t status[WIRE_MSG_MAX];

	join.base = job ? job->epoch - 1 : 0;
	pkt.len = (uint32_t)wire_join_build(pkt.data, (uint16_t)wid, &join);
	pkt.cap = pkt.len;
	pipe_input(bench->pipe, &pkt, 1, &bench->now);
	while (pipe_output(bench->pipe, &to, status))
		;
}

static int bench_open_pipe(struct bench *bench)
{
	const struct pipe_params params = {
		.jobs_max = 1,
		.slots_max = WIRE_SE + BENCH_SLOTS,
		.values_bytes = (size_t)(WIRE_SE + BENCH_SLOTS) * 2 * BENCH_P,
		.p_max = BENCH_P,
	};
	const struct pipe_time boot = { .now_ns = 1, .wall_ms = 1000000 };
	size_t size = (pipe_size(&params) + 4095) / 4096 * 4096;
	void *mem = aligned_alloc(4096, size);
	const struct job *job;

	if (!mem)
		return -1;
	memset(mem, 0, size);
	bench->pipe = pipe_init(mem, &params, &boot);
	bench->now = (struct pipe_time){ .now_ns = 1000000000, .wall_ms = 1001000 };
	bench_join(bench, 0); /* makes the job */
	for (unsigned wid = 0; wid < BENCH_WORKERS; wid++)
		bench_join(bench, wid);
	job = pipe_job(bench->pipe, 0);
	if (!job || !job->running || job->slots != BENCH_SLOTS)
		return -1;
	bench->handle = job->handle;
	bench->epoch = job->epoch;
	return 0;
}

/* Parse, authorise, aggregate, result: the benchmark's own writing of headers is taken off. */
static void bench_whole_path(struct bench *bench)
{
	struct bench_result *whole, *sender, *net;

	bench->ops = add_select(NULL);
	whole = bench_pair(bench, bench_pipe, bench_slot);
	snprintf(whole->name, sizeof(whole->name), "pipe and sender, 8 workers (%s)",
		 pipe_add_name(bench->pipe));
	whole->reference = "its additions alone";
	sender = bench_pair(bench, bench_sender, bench_memcpy);
	snprintf(sender->name, sizeof(sender->name), "sender: writes the packets' headers");
	sender->reference = "memcpy 1 KiB";
	net = bench_pair(bench, bench_slot, bench_memcpy);
	snprintf(net->name, sizeof(net->name), "additions of a slot, 8 workers (%s)",
		 bench->ops->name);
	net->reference = "memcpy 1 KiB";
	net = &bench->results[bench->nr_results++];
	snprintf(net->name, sizeof(net->name), "pipe, 8 workers, 128 slots, P 1024");
	net->value = whole->value - sender->value;
	net->reference = "its additions alone";
	net->reference_value = whole->reference_value;
}

static void bench_print(const struct bench *bench)
{
	printf("%-42s %9s  %-28s %9s  %6s\n", "ns per contribution of 256 elements", "ns",
	       "reference", "ns", "ratio");
	for (unsigned i = 0; i < bench->nr_results; i++) {
		const struct bench_result *result = &bench->results[i];

		printf("%-42s %9.1f  %-28s %9.1f  %6.2f\n", result->name, result->value,
		       result->reference, result->reference_value,
		       result->value / result->reference_value);
	}
}

static int bench_write_json(const struct bench *bench, const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	fprintf(file, "[\n");
	for (unsigned i = 0; i < bench->nr_results; i++) {
		const struct bench_result *result = &bench->results[i];

		fprintf(file,
			"  {\"name\": \"%s\", \"value\": %.3f, \"unit\": \"ns\", "
			"\"reference\": \"%s\", \"reference_value\": %.3f, \"ratio\": %.4f}%s\n",
			result->name, result->value, result->reference, result->reference_value,
			result->value / result->reference_value,
			i + 1 < bench->nr_results ? "," : "");
	}
	fprintf(file, "]\n");
	return fclose(file) == 0 ? 0 : -1;
}

/*
 * Each buffer of the second half undoes one of the first, so that saturating sums stay inside their
 * range, as sums do.
 */
static void bench_fill(struct bench *bench)
{
	uint32_t x = 2463534242;

	memset(bench->packets, 0, (size_t)BENCH_BUFFERS * BENCH_STRIDE);
	memset(bench->values, 0, (size_t)BENCH_SLOTS * BENCH_STRIDE);
	for (unsigned b = 0; b < BENCH_SLOTS; b++) {
		uint8_t *plus = bench->packets + (size_t)b * BENCH_STRIDE + BENCH_FRAMING;
		uint8_t *minus = plus + (size_t)BENCH_SLOTS * BENCH_STRIDE;

		for (unsigned i = 0; i < BENCH_P; i += 4) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			wire_put32(plus + WIRE_HEADER + i, (uint32_t)((int32_t)x >> 4));
			wire_put32(minus + WIRE_HEADER + i, 0 - (uint32_t)((int32_t)x >> 4));
		}
	}
}

int main(int argc, char **argv)
{
	static struct bench bench;
	const char *json = NULL;

	if (argc == 3 && strcmp(argv[1], "--json") == 0)
		json = argv[2];
	else if (argc != 1) {
		fprintf(stderr, "usage: bench_add [--json FILE]\n");
		return 2;
	}
	bench.packets = aligned_alloc(4096, (size_t)BENCH_BUFFERS * BENCH_STRIDE);
	bench.values = aligned_alloc(4096, (size_t)BENCH_SLOTS * BENCH_STRIDE);
	if (!bench.packets || !bench.values || bench_open_pipe(&bench) < 0) {
		fprintf(stderr, "bench_add: no memory, or the job did not start\n");
		return 1;
	}
	bench_fill(&bench);
	bench_isa(&bench, "scalar");
	bench_isa(&bench, "avx2");
	bench_isa(&bench, "avx512");
	bench_scalar_ratio(&bench);
	bench_whole_path(&bench);
	bench_print(&bench);
	if (json && bench_write_json(&bench, json) < 0) {
		fprintf(stderr, "bench_add: cannot write %s\n", json);
		return 1;
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "bench_add: standard output could not be written\n");
		return 1;
	}
	return 0;
}
