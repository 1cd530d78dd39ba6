// SPDX-License-Identifier: BSD-3-Clause
// by_library.c - vectors through libtally: ranks are threads, the switch is inside this process.
#include "tests/numerics/by_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/include/tally.h"

/* A packet has 64 elements of 32 bits, or 128 of 16; a window has 16 packets. */
#define LIBRARY_CHUNK "256"
#define LIBRARY_SLOTS "16"
#define LIBRARY_STACK ((size_t)256 << 10)

struct job {
	const struct table *table;
	const struct library_options *options;
	uint32_t world;
	struct member *members;
};

struct member {
	struct job *job;
	uint32_t rank;
	pthread_t thread;
	uint8_t *src, *dst;
	struct table_result *results; /* of each vector */
};

static const enum tally_dtype dtypes[] = { TALLY_F32, TALLY_F16, TALLY_BF16, TALLY_I32 };
static const enum tally_op ops[] = { TALLY_SUM, TALLY_AVG, TALLY_MAX, TALLY_MIN };

static float factor(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static struct tally_args vector_args(const struct table_vector *vector, const struct member *member,
				     size_t count)
{
	const bool sum = vector->op == TABLE_SUM || vector->op == TABLE_AVG;
	struct tally_args args = {
		.size = sizeof(args),
		.src = member->src,
		.dst = member->dst,
		.count = count,
		.dtype = dtypes[vector->type],
		.op = ops[vector->op],
		.flags = vector->saturate ? TALLY_SATURATE : 0,
	};

	if (sum && vector->type != TABLE_I32) {
		args.wire = vector->wire == QUANT_WIRE_16 ? TALLY_WIRE_INT16 : TALLY_WIRE_INT32;
		args.prescale = factor(vector->pre);
		args.postscale = factor(vector->post);
	}
	return args;
}

static int member_reduce(struct member *member, tally_t *comm, const struct table_vector *vector,
			 size_t count, struct tally_result *outcome)
{
	const size_t bytes = table_bytes(vector);
	struct tally_args args = vector_args(vector, member, count);
	tally_request_t *req = NULL;
	int err;

	for (size_t i = 0; i < count; i++) {
		uint32_t bits = table_element(vector, member->rank, i);

		memcpy(member->src + bytes * i, &bits, bytes);
	}
	memset(member->dst, 0xa5, bytes * count);
	err = tally_allreduce(comm, &args, &req);
	if (err == TALLY_OK)
		err = tally_wait(req, -1);
	if (err == TALLY_OK)
		err = tally_get_result(req, outcome);
	tally_release(req);
	return err;
}

static void member_vector(struct member *member, tally_t *comm, const struct table_vector *vector,
			  struct table_result *result)
{
	struct tally_result outcome = { .size = sizeof(outcome) };
	uint64_t nonfinite = 0;
	int origin = -1;

	table_result_init(result);
	for (uint32_t c = 0; c < vector->nr_counts; c++) {
		if (member_reduce(member, comm, vector, vector->counts[c], &outcome) != TALLY_OK) {
			snprintf(result->text, sizeof(result->text), "error: %.140s",
				 tally_last_error(comm));
			return;
		}
		table_result_add(result, vector, member->dst, vector->counts[c]);
		nonfinite += outcome.nonfinite;
		if (outcome.nonfinite)
			origin = outcome.nonfinite_rank;
	}
	table_result_end(result, vector, nonfinite, origin);
}

static tally_t *member_open(const struct member *member)
{
	const struct job *job = member->job;
	char rank[16], size[16], address[64];
	const char *const options[][2] = {
		{ "rank", rank },
		{ "size", size },
		{ "switch", address },
		{ "chunk", LIBRARY_CHUNK },
		{ "slots", LIBRARY_SLOTS },
		{ "kernels", job->options->kernels },
		{ "check", job->options->check },
		{ "join_timeout", "120" },
		{ "timeout", "120" },
	};
	tally_config_t *config = NULL;
	tally_t *comm = NULL;
	int err = tally_config_new(&config);

	snprintf(rank, sizeof(rank), "%u", (unsigned int)member->rank);
	snprintf(size, sizeof(size), "%u", (unsigned int)job->world);
	snprintf(address, sizeof(address), "inproc:%p", (const void *)job);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && err == TALLY_OK; i++)
		err = tally_config_set(config, options[i][0], options[i][1]);
	if (err == TALLY_OK)
		err = tally_open(&comm, config);
	tally_config_free(config);
	if (err != TALLY_OK)
		fprintf(stderr, "rank %s of %s: %s\n", rank, size, tally_last_error(NULL));
	return err == TALLY_OK ? comm : NULL;
}

static void *member_main(void *arg)
{
	struct member *member = arg;
	const struct job *job = member->job;
	tally_t *comm = member_open(member);

	for (size_t v = 0; v < job->table->nr; v++) {
		const struct table_vector *vector = &job->table->vectors[v];

		if (vector->world != job->world)
			continue;
		if (comm)
			member_vector(member, comm, vector, &member->results[v]);
		else
			snprintf(member->results[v].text, sizeof(member->results[v].text),
				 "error: no communicator");
	}
	tally_close(comm);
	return NULL;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* What rank 0 has, if all have the same. */
static void job_compare(const struct job *job, size_t v, struct table_result *result)
{
	*result = job->members[0].results[v];
	for (uint32_t r = 1; r < job->world; r++)
		if (strcmp(job->members[r].results[v].text, result->text) != 0) {
			snprintf(result->text, sizeof(result->text), "rank %u differs: %.120s",
				 (unsigned int)r, job->members[r].results[v].text);
			return;
		}
}

void by_library(const struct table *table, uint32_t world, const struct library_options *options,
		struct table_result *results)
{
	struct job job = { .table = table, .options = options, .world = world };
	pthread_attr_t attr;

	job.members = must(calloc(world, sizeof(*job.members)));
	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, LIBRARY_STACK))
		abort();
	for (uint32_t r = 0; r < world; r++) {
		struct member *member = &job.members[r];

		member->job = &job;
		member->rank = r;
		member->src = must(malloc(4 * TABLE_ELEMENTS));
		member->dst = must(malloc(4 * TABLE_ELEMENTS));
		member->results = must(calloc(table->nr, sizeof(*member->results)));
		if (pthread_create(&member->thread, &attr, member_main, member))
			abort();
	}
	for (uint32_t r = 0; r < world; r++)
		pthread_join(job.members[r].thread, NULL);
	for (size_t v = 0; v < table->nr; v++)
		if (table->vectors[v].world == world)
			job_compare(&job, v, &results[v]);
	for (uint32_t r = 0; r < world; r++) {
		free(job.members[r].src);
		free(job.members[r].dst);
		free(job.members[r].results);
	}
	pthread_attr_destroy(&attr);
	free(job.members);
}
