// SPDX-License-Identifier: BSD-3-Clause
// train.c - data-parallel training over libtally: the example to copy from.
//
// What to copy: tally_open() once; in each step post the gradients of all layers as all-reduces and
// then wait for them (train_step.c); after an error that a new start can mend, tally_rejoin() and
// agreement on the step to go on from (train_run() here, train_agree()); tally_close().  Every rank
// does the same calls in the same order.  The result depends on the seed and the number of ranks,
// never on timing, loss or order of packets.
#include "host/examples/train.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct train_thread {
	const struct train_options *options;
	const struct digits *digits;
	int rank; /* -1: as the environment says */
	int result;
	pthread_t thread;
};

static double train_now(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * What a new start mends: a rank died, left, aborted or fell behind, or the switch was restarted.
 */
static bool train_is_mendable(int err)
{
	return err == TALLY_PEER || err == TALLY_LEFT || err == TALLY_ABORTED ||
	       err == TALLY_MISMATCH || err == TALLY_TIMEOUT || err == TALLY_PROTOCOL;
}

static int train_fail(const struct train *train, int err)
{
	const char *text = train->comm != NULL ? tally_last_error(train->comm) : "";
	char hint[80] = "";

	if (train_is_mendable(err) && train->options->restarts == 0)
		strcpy(hint, " (train joins again with --restarts N)");
	else if (train_is_mendable(err) && train->restarts == train->options->restarts)
		snprintf(hint, sizeof(hint), " (--restarts %u is used up)",
			 (unsigned int)train->restarts);
	if (err > 0)
		fprintf(stderr, "train: rank %d: the ranks' weights differ\n", train->rank);
	else
		fprintf(stderr, "train: rank %d: %s%s\n", train->rank,
			text[0] != '\0' ? text : tally_strerror(err), hint);
	return -1;
}

/* From the step the ranks agree on to the end. */
static int train_go(struct train *train)
{
	double start;
	int err = train_agree(train);

	start = train_now();
	while (err == TALLY_OK) {
		if (train->step > 0 && (uint32_t)train->step % train->steps_per_epoch == 0)
			err = train_report_epoch(train);
		if (err != TALLY_OK || (uint32_t)train->step == train->steps)
			break;
		err = train_step(train);
		train_report_step(train);
	}
	train->seconds += train_now() - start;
	return err != TALLY_OK ? err : train_report_end(train);
}

static int train_run(struct train *train)
{
	int err = train_go(train);

	while (train_is_mendable(err) && train->restarts < train->options->restarts) {
		train->restarts++;
		fprintf(stderr, "train: rank %d: %s; joining again after step %d\n", train->rank,
			tally_last_error(train->comm), train->step);
		/* Waits for all ranks, those of new processes too (option join_timeout). */
		err = tally_rejoin(train->comm);
		if (err == TALLY_OK)
			err = train_go(train);
	}
	return err == TALLY_OK ? 0 : train_fail(train, err);
}

static int train_set_number(tally_config_t *config, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned int)value);
	return tally_config_set(config, key, text);
}

/* What is not set here comes from TALLY_RANK, TALLY_SIZE, TALLY_SWITCH and so on. */
static int train_open(tally_t **comm, const struct train_thread *thread)
{
	tally_config_t *config = NULL;
	char name[48];
	int err = tally_config_new(&config);

	if (err == TALLY_OK && thread->rank >= 0)
		err = train_set_number(config, "rank", (uint32_t)thread->rank);
	if (err == TALLY_OK && thread->rank >= 0)
		err = train_set_number(config, "size", thread->options->nr_ranks);
	if (err == TALLY_OK && thread->options->inproc) {
		snprintf(name, sizeof(name), "inproc:train-%ld", (long)getpid());
		err = tally_config_set(config, "switch", name);
	}
	if (err == TALLY_OK && thread->options->wire != NULL)
		err = tally_config_set(config, "wire", thread->options->wire);
	if (err == TALLY_OK)
		err = tally_open(comm, config);
	tally_config_free(config);
	return err;
}

static int train_alloc(struct train *train)
{
	int i;

	for (i = 0; i < 2; i++) {
		train->states[i].step = -1;
		train->states[i].values = calloc(1, sizeof(*train->states[i].values));
	}
	train->grads = calloc(MLP_PARAMS, sizeof(*train->grads));
	if (train->states[0].values != NULL && train->states[1].values != NULL &&
	    train->grads != NULL)
		return 0;
	fputs("train: out of memory\n", stderr);
	return -1;
}

static void train_free(struct train *train)
{
	free(train->states[0].values);
	free(train->states[1].values);
	free(train->grads);
}

/* A rank or a step that there is not would show nothing. */
static int train_check_inf(const struct train *train)
{
	const struct train_options *options = train->options;

	if (options->inf_step < 0 ||
	    (options->inf_rank < train->nr_ranks && options->inf_step < train->steps))
		return 0;
	if (train->rank == 0)
		fprintf(stderr,
			"train: --inject-inf %d:%d: there are ranks 0 to %d and steps 0 to %u\n",
			options->inf_rank, (int)options->inf_step, train->nr_ranks - 1,
			(unsigned int)train->steps - 1);
	return -1;
}

static int train_rank(const struct train_thread *thread)
{
	struct train train = { .options = thread->options, .digits = thread->digits };
	const char *text;
	int err;

	train.nr_ranks = 1;
	train.step = -1;
	train.order_epoch = -1;
	train.steps_per_epoch = (DIGITS_TRAIN + train.options->batch - 1) / train.options->batch;
	train.steps = train.options->epochs * train.steps_per_epoch;
	if (!train.options->plain) {
		err = train_open(&train.comm, thread);
		if (err != TALLY_OK) {
			text = tally_last_error(NULL);
			fprintf(stderr, "train: %s\n",
				text[0] != '\0' ? text : tally_strerror(err));
			return -1;
		}
		train.rank = tally_rank(train.comm);
		train.nr_ranks = tally_size(train.comm);
	}
	err = train_check_inf(&train);
	if (err == 0)
		err = train_alloc(&train);
	if (err == 0)
		err = train_run(&train);
	tally_close(train.comm);
	train_free(&train);
	return err;
}

static void *train_thread_run(void *arg)
{
	struct train_thread *thread = arg;

	thread->result = train_rank(thread);
	return NULL;
}

static int train_run_threads(const struct train_thread *self)
{
	struct train_thread threads[TRAIN_RANKS_MAX];
	uint32_t i, nr = self->options->nr_ranks;
	int result = 0, err;

	for (i = 0; i < nr; i++) {
		threads[i] = *self;
		threads[i].rank = (int)i;
		err = pthread_create(&threads[i].thread, NULL, train_thread_run, &threads[i]);
		if (err == 0)
			continue;
		fprintf(stderr, "train: no thread for rank %u: %s\n", (unsigned int)i,
			strerror(err));
		/* The ranks that did start wait for this one: nothing is left but to leave. */
		exit(1);
	}
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i].thread, NULL);
		if (threads[i].result != 0)
			result = -1;
	}
	return result;
}

int main(int argc, char **argv)
{
	static struct train_options options;
	static struct digits digits;
	struct train_thread self = { .options = &options, .digits = &digits, .rank = -1 };
	int err = train_options_parse(&options, argc, argv);

	if (err < 0)
		return 2;
	if (err == 0 && digits_load(&digits, options.data) != 0)
		return 1;
	if (err == 0)
		err = options.nr_ranks > 0 ? train_run_threads(&self) : train_rank(&self);
	else
		err = 0; /* it was asked for words, which are printed */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "train: standard output could not be written\n");
		return 1;
	}
	return err == 0 ? 0 : 1;
}
