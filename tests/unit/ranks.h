/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - a job whose ranks are threads of the test, and the data they reduce. */
#ifndef TESTS_UNIT_RANKS_H
#define TESTS_UNIT_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/include/tally.h"

enum { RANKS_MAX = 8, RANKS_OPTIONS = 8 };

/* One rank.  An assertion of the test framework must not fail outside its own thread, so that a rank keeps
 * the first thing that went wrong as text. */
struct rank {
	int rank, size;
	const struct ranks *ranks;
	tally_t *comm;
	int status; /* of tally_open() */
	char error[512];
};

struct ranks {
	int size;
	const char *sw; /* TALLY_SWITCH; NULL: an embedded one of this job's own */
	const char *options[RANKS_OPTIONS][2]; /* key, value; ends at NULL */
	const char *rank_option[2];	       /* key, value, of the last rank alone; NULL: none */
	int absent;			       /* rank that is not started, -1: none */
	bool may_fail;			       /* to open: status is for the test to look at */
	void (*fn)(struct rank *rank, void *ctx);
	void *ctx;
	struct rank rank[RANKS_MAX];
};

/* Runs fn in every rank between open and close; fails the test with the words of the ranks that failed. */
void ranks_run(struct ranks *ranks);

#define rank_check(rank, condition) rank_check_at(rank, condition, #condition, __FILE__, __LINE__)
/* Also that text is in the words of the communicator's last error. */
#define rank_says(rank, text) rank_says_at(rank, text, __FILE__, __LINE__)
bool rank_check_at(struct rank *rank, bool condition, const char *text, const char *file, int line);
bool rank_says_at(struct rank *rank, const char *text, const char *file, int line);

/* An all-reduce described by where its data come from: every rank, element and seed has its own value. */
struct reduction {
	size_t count;
	enum tally_dtype dtype;
	enum tally_op op;
	bool in_place;
	unsigned misalign; /* bytes */
	uint32_t seed;
	int nan_rank; /* -1: none; has a NaN at nan_at */
	size_t nan_at;
};

uint32_t reduction_bits(const struct reduction *reduction, int rank, size_t i);
/* Posts, waits, compares with naive loops; the result is the caller's if not NULL. */
void reduction_run(struct rank *rank, const struct reduction *reduction,
		   struct tally_result *result);

#endif
