/* SPDX-License-Identifier: BSD-3-Clause */
/* train.h - what the parts of the training example share. */
#ifndef HOST_EXAMPLES_TRAIN_H
#define HOST_EXAMPLES_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/examples/digits.h"
#include "host/examples/mlp.h"
#include "host/include/tally.h"

#define TRAIN_RANKS_MAX 64

struct train_options {
	uint32_t epochs, batch;
	float rate, momentum;
	uint64_t seed;
	const char *data;  /* file, NULL: the one that came with the program */
	uint32_t nr_ranks; /* threads of this process; 0: one rank, as the environment says */
	bool inproc;	   /* over the switch inside this process */
	bool plain;	   /* one process, no communicator: the reference */
	uint32_t restarts; /* how often to go on after a rank was lost */
	int64_t abort_at;  /* step in which the last rank aborts once, to show that; -1: none */
	const char *wire;  /* as what gradients travel, NULL: as the library is told */
	int64_t inf_step; /* step in which a gradient of inf_rank is infinite, to show that; -1: none */
	int inf_rank;
};

/* All that a step reads and writes, in one row so that it can be copied and sent as one. */
struct train_state {
	int32_t step; /* steps completed; -1: nothing here */
	struct train_values {
		float params[MLP_PARAMS];
		float velocity[MLP_PARAMS];
		float loss;	 /* sum of this epoch's steps */
		int32_t skipped; /* steps whose gradients were not all finite */
	} * values;
};

/* One rank. */
struct train {
	const struct train_options *options;
	const struct digits *digits;
	tally_t *comm; /* NULL: plain */
	int rank, nr_ranks;
	uint32_t steps, steps_per_epoch;
	struct train_state states[2]; /* after step s in states[s % 2]: the last two */
	int32_t step;		      /* the state to go on from, -1: none yet */
	float *grads;
	uint32_t order[DIGITS_TRAIN]; /* of the samples in order_epoch */
	int64_t order_epoch;
	uint32_t printed; /* epochs printed */
	uint32_t restarts;
	bool aborted;
	double seconds;
};

/*
 * train_options.c: 0, 1 when there is nothing left to do (-h, -V), -1 after an error was printed.
 */
int train_options_parse(struct train_options *options, int argc, char **argv);

/* train_share.c: 0 or a negative enum tally_status. */
#define TRAIN_POSTS 8
/*
 * Posts several all-reduces in place, then waits for all: while one travels the next is on its way.
 */
struct train_posts {
	struct {
		void *values;
		size_t count;
		enum tally_dtype dtype;
		enum tally_op op;
	} posts[TRAIN_POSTS];
	uint32_t nr;
	int nonfinite_rank; /* afterwards: the lowest that had Inf or NaN in one of them, -1: none */
};
int train_share(tally_t *comm, struct train_posts *posts);
int train_share_ints(tally_t *comm, int32_t *values, size_t count, enum tally_op op);

/* train_step.c */
int train_step(struct train *train);
int train_agree(struct train *train);

/* train_report.c */
int train_report_epoch(struct train *train);
int train_report_end(struct train *train);
void train_report_step(const struct train *train);
void train_report_skip(const struct train *train, int rank);

#endif
