// SPDX-License-Identifier: BSD-3-Clause
// rank.c - one rank that does exactly what its arguments say, so that a test knows how far it has come.
//
// usage: rank STEP...
//   sum:N         an all-reduce of N int32, checked against a loop
//   times:K:N     K of them; the first and every 100th say so
//   until:FILE:N  the same until FILE is there on some rank
//   barrier
//   post:N        starts an all-reduce and does not wait for it
//   rejoin        tally_rejoin()
//   fails         the next step fails, in whatever way
//   persist       the next step is tried again, after tally_rejoin(), if it fails;
//                 as the first argument, joining is, too
//   skip          counts a sum that others did
//   wait:FILE     waits until FILE is there
//   hold          says so and does nothing any more
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/include/tally.h"

enum { WAIT_S = 100, TELL_EVERY = 100, TRIES = 5 };

struct rank {
	tally_t *comm;
	int32_t *src, *dst;
	size_t cap;
	uint32_t nr_sums;
	bool fails;   // the next step is to
	bool persist; // until it does not
};

// Unlike for every rank, operation and element.
static uint32_t rank_value(uint32_t rank, uint32_t op, size_t i)
{
	return (rank + 1) * UINT32_C(1000003) + op * UINT32_C(7919) + (uint32_t)i * 31u;
}

static int rank_buffers(struct rank *r, size_t count)
{
	if (count <= r->cap)
		return 0;
	free(r->src);
	free(r->dst);
	r->src = malloc(count * sizeof(*r->src));
	r->dst = malloc(count * sizeof(*r->dst));
	r->cap = r->src && r->dst ? count : 0;
	return r->cap ? 0 : TALLY_NOMEM;
}

static int rank_finish(tally_request_t *req)
{
	int err = tally_wait(req, -1);

	tally_release(req);
	return err;
}

static int rank_post(struct rank *r, size_t count, tally_request_t **req)
{
	struct tally_args args = {
		.size = sizeof(args), .count = count, .dtype = TALLY_I32, .op = TALLY_SUM
	};

	if (rank_buffers(r, count))
		return TALLY_NOMEM;
	for (size_t i = 0; i < count; i++)
		r->src[i] = (int32_t)rank_value((uint32_t)tally_rank(r->comm), r->nr_sums, i);
	memset(r->dst, 0, count * sizeof(*r->dst));
	args.src = r->src;
	args.dst = r->dst;
	return tally_allreduce(r->comm, &args, req);
}

static int rank_sum(struct rank *r, size_t count)
{
	const uint32_t size = (uint32_t)tally_size(r->comm);
	tally_request_t *req;
	int err = rank_post(r, count, &req);

	if (err == TALLY_OK)
		err = rank_finish(req);
	for (size_t i = 0; err == TALLY_OK && i < count; i++) {
		uint32_t want = 0;

		for (uint32_t k = 0; k < size; k++)
			want += rank_value(k, r->nr_sums, i);
		if ((uint32_t)r->dst[i] == want)
			continue;
		fprintf(stderr, "rank %d: sum %u: element %zu is %d, not %d\n", tally_rank(r->comm),
			r->nr_sums, i, r->dst[i], (int32_t)want);
		exit(3);
	}
	r->nr_sums += err == TALLY_OK;
	return err;
}

static int rank_times(struct rank *r, unsigned long times, size_t count)
{
	int err = TALLY_OK;

	for (unsigned long k = 0; k < times && err == TALLY_OK; k++) {
		err = rank_sum(r, count);
		if (err == TALLY_OK && k % TELL_EVERY == 0)
			printf("rank %d: %lu times right\n", tally_rank(r->comm), k + 1);
	}
	return err;
}

static int rank_until(struct rank *r, const char *text)
{
	struct tally_args args = {
		.size = sizeof(args), .count = 1, .dtype = TALLY_I32, .op = TALLY_MAX
	};
	size_t len = strcspn(text, ":");
	int32_t there = 0;
	tally_request_t *req;
	char path[512];
	int err;

	snprintf(path, sizeof(path), "%.*s", (int)len, text);
	args.src = args.dst = &there;
	do {
		err = rank_sum(r, strtoul(text + len + 1, NULL, 10));
		there = access(path, F_OK) == 0;
		if (err == TALLY_OK)
			err = tally_allreduce(r->comm, &args, &req);
		if (err == TALLY_OK)
			err = rank_finish(req);
	} while (err == TALLY_OK && !there);
	return err;
}

static int rank_wait(const char *path)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	time_t end = time(NULL) + WAIT_S;

	while (access(path, F_OK)) {
		if (time(NULL) > end) {
			fprintf(stderr, "rank: %s does not come\n", path);
			exit(4);
		}
		nanosleep(&pause, NULL);
	}
	return TALLY_OK;
}

static int rank_barrier(struct rank *r)
{
	tally_request_t *req;
	int err = tally_barrier(r->comm, &req);

	return err == TALLY_OK ? rank_finish(req) : err;
}

static void rank_hold(const struct rank *r)
{
	printf("rank %d: holding\n", tally_rank(r->comm));
	for (;;)
		pause();
}

static int rank_step(struct rank *r, const char *step)
{
	const char *colon = strchr(step, ':'), *arg = colon ? colon + 1 : "";
	char *end;

	if (strncmp(step, "sum:", 4) == 0)
		return rank_sum(r, strtoul(arg, NULL, 10));
	if (strncmp(step, "times:", 6) == 0) {
		unsigned long times = strtoul(arg, &end, 10);

		return rank_times(r, times, *end == ':' ? strtoul(end + 1, NULL, 10) : 1);
	}
	if (strncmp(step, "until:", 6) == 0 && strchr(arg, ':'))
		return rank_until(r, arg);
	if (strncmp(step, "post:", 5) == 0) {
		tally_request_t *req;

		return rank_post(r, strtoul(arg, NULL, 10), &req);
	}
	if (strncmp(step, "wait:", 5) == 0)
		return rank_wait(arg);
	if (strcmp(step, "barrier") == 0)
		return rank_barrier(r);
	if (strcmp(step, "rejoin") == 0)
		return tally_rejoin(r->comm);
	if (strcmp(step, "hold") == 0)
		rank_hold(r);
	fprintf(stderr, "rank: %s: no such step\n", step);
	exit(2);
}

static void rank_do(struct rank *r, const char *step)
{
	int err = rank_step(r, step);

	for (int tries = 0; err != TALLY_OK && r->persist && tries < TRIES; tries++) {
		printf("rank %d: %s again after: %s\n", tally_rank(r->comm), step,
		       tally_last_error(r->comm));
		err = tally_rejoin(r->comm);
		if (err == TALLY_OK)
			err = rank_step(r, step);
	}
	if ((err != TALLY_OK) != r->fails) {
		fprintf(stderr, "rank %d: %s: %s (%d): %s\n", tally_rank(r->comm), step,
			tally_strerror(err), err, tally_last_error(r->comm));
		exit(1);
	}
	printf("rank %d: %s %s%s\n", tally_rank(r->comm), step, err ? "failed: " : "right",
	       err ? tally_last_error(r->comm) : "");
	r->fails = r->persist = false;
}

int main(int argc, char **argv)
{
	struct rank rank = { 0 };
	bool persist;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	persist = argc > 1 && strcmp(argv[1], "persist") == 0;
	for (int tries = 0; (err = tally_open(&rank.comm, NULL)) != TALLY_OK; tries++) {
		fprintf(stderr, "rank: %s (%d): %s\n", tally_strerror(err), err,
			tally_last_error(NULL));
		if (!persist || tries == TRIES)
			return 1;
	}
	printf("rank %d: joined\n", tally_rank(rank.comm));
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "fails") == 0)
			rank.fails = true;
		else if (strcmp(argv[i], "persist") == 0)
			rank.persist = true;
		else if (strcmp(argv[i], "skip") == 0)
			rank.nr_sums++;
		else
			rank_do(&rank, argv[i]);
	}
	tally_close(rank.comm);
	free(rank.src);
	free(rank.dst);
	return 0;
}
