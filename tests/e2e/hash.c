// SPDX-License-Identifier: BSD-3-Clause
// hash.c - the same sums in many ways: a hash of the result for each number of ranks and each wire.
//
// usage: hash CHUNK...
//
// The ranks are threads, at the switches that HASH_SWITCHES names (commas between them, neighbours at the same
// one), or at one in this process.  For 2 to 8 ranks and every CHUNK they join anew and sum, as int32 and as
// int16, float32 that lie in memory unlike for every rank and element, three times: who begins is another each
// time.  All of these must have the same bits, on all ranks.  Besides there are numbers that need no rounding,
// spread over however many ranks: their sum has the same bits for all numbers of ranks, too.
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/include/tally.h"

enum {
	LEAST = 2,
	MOST = 8,
	ORDERS = 3,
	COUNT = 16501,
	LEAVES = 2,
	TEXT = 64,
	EXACT = 0,
	TRIES = 5
};

/* Who posts next, and which results there were: hashes[0] of the numbers that need no rounding. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned turn; /* operations posted by all ranks */
	char leaves[LEAVES][TEXT];
	unsigned nr_leaves; /* 0: the switch is in this process */
	uint64_t hashes[2][MOST + 1];
	unsigned results[2][MOST + 1];
	bool differ;
} hash = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

struct rank {
	unsigned rank, size;
	const char *chunk;
	tally_t *comm;
	float values[COUNT];
	pthread_t thread;
};

static void die(const struct rank *r, const char *what)
{
	const char *text = tally_last_error(r->comm);

	fprintf(stderr, "hash: rank %u of %u, chunk %s: %s: %s\n", r->rank, r->size, r->chunk, what,
		text[0] ? text : tally_last_error(NULL));
	exit(1);
}

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x7feb352d);
	x ^= x >> 15;
	x *= UINT32_C(0x846ca68b);
	return x ^ x >> 16;
}

/* Of either sign, over some binades, each block with a magnitude of its own. */
static float value_of(unsigned rank, unsigned i)
{
	const uint32_t x = mix(i * 2654435761u + rank * 40503u + 1);

	return ldexpf((float)((int32_t)x >> 8), (int)(mix(i / 256) % 60) - 50 - (int)(x & 7));
}

/* Small whole numbers of 8 parts, of which each rank has some: no sum of them is rounded on any wire. */
static float exact_of(unsigned rank, unsigned size, unsigned i)
{
	int sum = 0;

	for (unsigned part = rank; part < MOST; part += size)
		sum += (int)(mix(i * 31u + part * 7919u + 5) % 31) - 15;
	return (float)sum;
}

static void fill(struct rank *r, bool exact)
{
	for (unsigned i = 0; i < COUNT; i++)
		r->values[i] = exact ? exact_of(r->rank, r->size, i) : value_of(r->rank, i);
}

static uint64_t hash_of(const float *values)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	uint32_t bits;

	for (unsigned i = 0; i < COUNT; i++) {
		memcpy(&bits, &values[i], sizeof(bits));
		h = (h ^ bits) * UINT64_C(0x100000001b3);
		h ^= h >> 29;
	}
	return h;
}

static void compare(const struct rank *r, enum tally_wire wire, bool exact)
{
	const uint64_t got = hash_of(r->values);
	const unsigned w = wire == TALLY_WIRE_INT16, n = exact ? EXACT : r->size;

	pthread_mutex_lock(&hash.lock);
	if (!hash.results[w][n]++)
		hash.hashes[w][n] = got;
	if (hash.hashes[w][n] != got && !hash.differ) {
		printf("rank %u of %u, chunk %s, %s: hash %016" PRIx64 ", not %016" PRIx64 "\n",
		       r->rank, r->size, r->chunk, w ? "int16" : "int32", got, hash.hashes[w][n]);
		hash.differ = true;
	}
	pthread_mutex_unlock(&hash.lock);
}

/* The place of a rank among those that post an operation: forward, backward, from the middle. */
static unsigned place_of(const struct rank *r, unsigned order)
{
	if (order == 0)
		return r->rank;
	return order == 1 ? r->size - 1 - r->rank : (r->rank + r->size / 2) % r->size;
}

static void sum(struct rank *r, enum tally_wire wire, unsigned order, unsigned op)
{
	struct tally_args args = { .size = sizeof(args),
				   .src = r->values,
				   .dst = r->values,
				   .count = COUNT,
				   .dtype = TALLY_F32,
				   .op = TALLY_SUM,
				   .wire = wire };
	const unsigned turn = op * r->size + place_of(r, order);
	tally_request_t *req = NULL;

	pthread_mutex_lock(&hash.lock);
	while (hash.turn != turn)
		pthread_cond_wait(&hash.changed, &hash.lock);
	if (tally_allreduce(r->comm, &args, &req) != TALLY_OK)
		die(r, "tally_allreduce");
	hash.turn++;
	pthread_cond_broadcast(&hash.changed);
	pthread_mutex_unlock(&hash.lock);
	if (tally_wait(req, -1) != TALLY_OK)
		die(r, "tally_wait");
	tally_release(req);
}

static void set(tally_config_t *config, const char *key, const char *value)
{
	if (tally_config_set(config, key, value) == TALLY_OK)
		return;
	fprintf(stderr, "hash: %s\n", tally_last_error(NULL));
	exit(1);
}

static void join(struct rank *r)
{
	const unsigned nr = hash.nr_leaves, leaf = nr ? r->rank * nr / r->size : 0;
	tally_config_t *config = NULL;
	char text[TEXT];

	if (tally_config_new(&config) != TALLY_OK)
		exit(1);
	snprintf(text, sizeof(text), "%u", r->rank);
	set(config, "rank", text);
	snprintf(text, sizeof(text), "%u", r->size);
	set(config, "size", text);
	snprintf(text, sizeof(text), "hash-%u-%s", r->size, r->chunk);
	set(config, "job", text);
	set(config, "chunk", r->chunk);
	if (nr)
		set(config, "switch", hash.leaves[leaf]);
	/* The first rank of a leaf is the first of which the quotient is this. */
	snprintf(text, sizeof(text), "%u-%u", (leaf * r->size + nr - 1) / (nr ? nr : 1),
		 ((leaf + 1) * r->size + nr - 1) / (nr ? nr : 1) - 1);
	if (nr && getenv("HASH_TREE"))
		set(config, "ranges", text);
	/* Where packets are lost, a chunk that is fixed may be taken for one that the path does not carry. */
	for (int tries = 1; tally_open(&r->comm, config) != TALLY_OK; tries++)
		if (tries == TRIES)
			die(r, "tally_open");
	tally_config_free(config);
}

static void *run(void *arg)
{
	struct rank *r = arg;
	unsigned op = 0;

	join(r);
	for (enum tally_wire wire = TALLY_WIRE_INT32; wire <= TALLY_WIRE_INT16; wire++)
		for (unsigned order = 0; order <= ORDERS; order++) {
			fill(r, order == ORDERS);
			sum(r, wire, order % ORDERS, op++);
			compare(r, wire, order == ORDERS);
		}
	tally_close(r->comm);
	return NULL;
}

static void run_all(unsigned size, const char *chunk)
{
	static struct rank ranks[MOST];

	hash.turn = 0;
	for (unsigned i = 0; i < size; i++) {
		ranks[i] = (struct rank){ .rank = i, .size = size, .chunk = chunk };
		if (pthread_create(&ranks[i].thread, NULL, run, &ranks[i]))
			exit(1);
	}
	for (unsigned i = 0; i < size; i++)
		pthread_join(ranks[i].thread, NULL);
}

static void leaves_take(const char *text)
{
	size_t len;

	while (text && *text && hash.nr_leaves < LEAVES) {
		len = strcspn(text, ",");
		snprintf(hash.leaves[hash.nr_leaves++], TEXT, "%.*s", (int)len, text);
		text += len + (text[len] == ',');
	}
}

int main(int argc, char **argv)
{
	leaves_take(getenv("HASH_SWITCHES"));
	for (unsigned size = LEAST; size <= MOST; size++)
		for (int i = 1; i < argc; i++)
			run_all(size, argv[i]);
	for (unsigned w = 0; w < 2; w++)
		for (unsigned n = 0; n <= MOST; n++)
			if (hash.results[w][n] && n == EXACT)
				printf("hash %s 2-8 ranks, exact: %016" PRIx64 "  %u results\n",
				       w ? "int16" : "int32", hash.hashes[w][n],
				       hash.results[w][n]);
			else if (hash.results[w][n])
				printf("hash %s %u ranks: %016" PRIx64 "  %u results\n",
				       w ? "int16" : "int32", n, hash.hashes[w][n],
				       hash.results[w][n]);
	return hash.differ ? 1 : 0;
}
