// SPDX-License-Identifier: BSD-3-Clause
// kill_rank.c - one rank of a job in which something is killed: says how far it has come, and mends what fails.
//
// usage: kill_rank WHEN DIR
// WHEN is where the job waits for the file DIR/go, and what the last rank then has done:
//   start   it has not joined
//   window  it has begun a long sum and sends no data yet: the others have sent their first window
//   midway  sums follow each other until there is DIR/over
//   last    it has sent all data of a sum but the last packet
//   end     all sums are done, and all ranks know
// A failure is printed.  Then the ranks join anew and go on from the lowest step that one of them has reached:
// the values depend on the step, so that every sum is checked whatever happened.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/include/tally.h"

enum { STEPS = 12, STAGED = 5, WAIT_S = 200, TRIES = 5 };
enum { COUNT = 3000, COUNT_LONG = 1000000, COUNT_LAST = 5600, COUNT_MIDWAY = 30000 };
enum { MIDWAY = 20, WINDOW = 20 };

struct cell {
	const char *when, *dir;
	tally_t *comm;
	int32_t step; // sums done, -1: not known yet
	bool last;    // of the ranks
	bool staged;  // it has waited
	int32_t src[COUNT_LONG], dst[COUNT_LONG];
};

static bool cell_at(const struct cell *cell, const char *when)
{
	return strcmp(cell->when, when) == 0;
}

static bool cell_told(const struct cell *cell, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", cell->dir, name);
	return access(path, F_OK) == 0;
}

static void cell_hold(const struct cell *cell, const char *what)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	const time_t end = time(NULL) + WAIT_S;

	printf("%s\n", what);
	while (!cell_told(cell, "go")) {
		if (time(NULL) > end) {
			printf("nobody says go\n");
			exit(4);
		}
		nanosleep(&pause, NULL);
	}
}

// Unlike for every rank, step and element.
static uint32_t cell_value(int rank, int32_t step, size_t i)
{
	return ((uint32_t)rank + 1) * UINT32_C(1000003) + (uint32_t)step * UINT32_C(7919) +
	       (uint32_t)i * 31u;
}

static int cell_post(struct cell *cell, size_t count, tally_request_t **req)
{
	struct tally_args args = { .size = sizeof(args),
				   .src = cell->src,
				   .dst = cell->dst,
				   .count = count,
				   .dtype = TALLY_I32,
				   .op = TALLY_SUM };
	const int rank = tally_rank(cell->comm);

	for (size_t i = 0; i < count; i++)
		cell->src[i] = (int32_t)cell_value(rank, cell->step, i);
	memset(cell->dst, 0, count * sizeof(*cell->dst));
	return tally_allreduce(cell->comm, &args, req);
}

static int cell_finish(tally_request_t *req)
{
	const int err = tally_wait(req, -1);

	tally_release(req);
	return err;
}

static void cell_check(const struct cell *cell, size_t count)
{
	const int size = tally_size(cell->comm);

	for (size_t i = 0; i < count; i++) {
		uint32_t want = 0;

		for (int rank = 0; rank < size; rank++)
			want += cell_value(rank, cell->step, i);
		if ((uint32_t)cell->dst[i] == want)
			continue;
		printf("wrong: step %d: element %zu is %d, not %d\n", cell->step, i, cell->dst[i],
		       (int32_t)want);
		exit(3);
	}
}

static int cell_int(struct cell *cell, int32_t *value, enum tally_op op)
{
	struct tally_args args = { .size = sizeof(args),
				   .src = value,
				   .dst = value,
				   .count = 1,
				   .dtype = TALLY_I32,
				   .op = op };
	tally_request_t *req;
	const int err = tally_allreduce(cell->comm, &args, &req);

	return err == TALLY_OK ? cell_finish(req) : err;
}

// Packets sent for the first time.
static uint64_t cell_sent(const struct cell *cell, uint32_t *chunk)
{
	struct tally_stats stats = { .size = sizeof(stats) };

	if (tally_get_stats(cell->comm, &stats) != TALLY_OK) {
		printf("no statistics: %s\n", tally_last_error(cell->comm));
		exit(1);
	}
	*chunk = stats.chunk;
	return stats.tx_packets - stats.retransmits;
}

// Until so many packets of the operation, the descriptor's among them, are sent.
static int cell_drive(struct cell *cell, uint64_t before, uint64_t packets)
{
	uint32_t chunk;
	int rc = 0;

	while (rc >= 0 && cell_sent(cell, &chunk) < before + packets)
		rc = tally_progress(cell->comm);
	return rc < 0 ? rc : TALLY_OK;
}

// Posting has sent the descriptor.  Data follow only once that of every rank has come back.
static int cell_stage(struct cell *cell, uint64_t before)
{
	uint32_t chunk;
	int err = TALLY_OK;

	cell->staged = true;
	if (cell_at(cell, "window") && !cell->last) {
		err = cell_drive(cell, before, WINDOW);
		printf("window\n");
	} else if (cell_at(cell, "window")) {
		cell_hold(cell, "window");
	} else if (cell->last) {
		cell_sent(cell, &chunk);
		err = cell_drive(cell, before, (COUNT_LAST * sizeof(int32_t) + chunk - 1) / chunk);
		if (err == TALLY_OK)
			cell_hold(cell, "last");
	} else {
		printf("last\n");
	}
	return err;
}

static int cell_sum(struct cell *cell, size_t count, bool stage)
{
	tally_request_t *req;
	uint32_t chunk;
	const uint64_t before = cell_sent(cell, &chunk);
	int err = cell_post(cell, count, &req), staged = TALLY_OK;

	if (err != TALLY_OK)
		return err;
	if (stage && !cell->staged && !cell_told(cell, "go"))
		staged = cell_stage(cell, before);
	err = cell_finish(req);
	if (err == TALLY_OK)
		cell_check(cell, count);
	return err != TALLY_OK ? err : staged;
}

// Sums until some rank has been told that it is over.
static int cell_midway(struct cell *cell)
{
	int32_t over = 0;
	int err;

	for (unsigned sums = 1; !over; sums++) {
		err = cell_sum(cell, COUNT_MIDWAY, false);
		over = cell_told(cell, "over");
		if (err == TALLY_OK)
			err = cell_int(cell, &over, TALLY_MAX);
		if (err != TALLY_OK)
			return err;
		if (sums == MIDWAY)
			printf("midway\n");
	}
	return TALLY_OK;
}

static int cell_step(struct cell *cell)
{
	if (cell->step != STAGED)
		return cell_sum(cell, COUNT, false);
	if (cell_at(cell, "midway"))
		return cell_midway(cell);
	if (cell_at(cell, "window"))
		return cell_sum(cell, COUNT_LONG, true);
	return cell_sum(cell, COUNT_LAST, cell_at(cell, "last"));
}

// A new process has no step: it goes on from where the others are.
static int cell_go(struct cell *cell)
{
	int32_t lowest = cell->step >= 0 ? cell->step : INT32_MAX;
	tally_request_t *req;
	int err = cell_int(cell, &lowest, TALLY_MIN);

	if (err != TALLY_OK)
		return err;
	cell->step = lowest == INT32_MAX ? 0 : lowest;
	while (err == TALLY_OK && cell->step < STEPS) {
		err = cell_step(cell);
		cell->step += err == TALLY_OK;
	}
	if (err == TALLY_OK)
		err = tally_barrier(cell->comm, &req);
	return err == TALLY_OK ? cell_finish(req) : err;
}

static int cell_run(struct cell *cell)
{
	int err = cell_go(cell);

	for (int tries = 0; err != TALLY_OK && tries < TRIES; tries++) {
		printf("failed: %s: %s\n", tally_strerror(err), tally_last_error(cell->comm));
		err = tally_rejoin(cell->comm);
		if (err == TALLY_OK)
			err = cell_go(cell);
	}
	if (err != TALLY_OK) {
		printf("given up: %s: %s\n", tally_strerror(err), tally_last_error(cell->comm));
		return 1;
	}
	if (cell_at(cell, "end"))
		cell_hold(cell, "end");
	return 0;
}

int main(int argc, char **argv)
{
	static struct cell cell = { .step = -1 };
	const char *rank = getenv("TALLY_RANK"), *size = getenv("TALLY_SIZE");
	int rc;

	if (argc != 3 || !rank || !size)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	cell.when = argv[1];
	cell.dir = argv[2];
	cell.last = atoi(rank) + 1 == atoi(size);
	if (cell_at(&cell, "start") && cell.last)
		cell_hold(&cell, "start");
	else
		printf("start\n");
	rc = tally_open(&cell.comm, NULL);
	if (rc != TALLY_OK) {
		printf("not joined: %s: %s\n", tally_strerror(rc), tally_last_error(NULL));
		return 1;
	}
	rc = cell_run(&cell);
	tally_close(cell.comm);
	if (rc == 0)
		printf("done\n");
	return rc;
}
