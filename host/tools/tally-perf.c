// SPDX-License-Identifier: BSD-3-Clause
// tally-perf.c - measures and checks all-reduce, as one rank of a job or as all its ranks in
// threads.
#include "host/tools/perf.h"

#include <stdio.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct perf_thread {
	const struct perf_options *options;
	int rank; /* -1: as the environment says */
	int result;
	struct perf_history *history; /* NULL: not wanted */
	pthread_t thread;
};

static void perf_on_signal(int signal)
{
	static const char text[] =
		"# interrupted: ending after this row; interrupt again to end now\n";

	(void)signal;
	perf_interrupted = 1;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}

/* While rows are measured, the first interrupt lets the one in progress end, on all ranks. */
static void perf_watch_signals(void)
{
	struct sigaction action = { .sa_handler = perf_on_signal, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

static int perf_config_number(tally_config_t *config, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned int)value);
	return tally_config_set(config, key, text);
}

/*
 * Threads are the ranks of TALLY_SWITCH, or of a switch in this process that no other process has.
 */
static int perf_config_thread(tally_config_t *config, const struct perf_thread *thread)
{
	const char *where = getenv("TALLY_SWITCH");
	char name[48];
	int err = perf_config_number(config, "rank", (uint32_t)thread->rank);

	if (err == TALLY_OK)
		err = perf_config_number(config, "size", thread->options->nr_threads);
	if (err != TALLY_OK || (where != NULL && where[0] != '\0'))
		return err;
	snprintf(name, sizeof(name), "inproc:perf-%ld", (long)getpid());
	err = tally_config_set(config, "switch", name);
	return err == TALLY_OK ? tally_config_set(config, "job", "tally-perf") : err;
}

static int perf_open(struct perf_rank *rank, const struct perf_thread *thread)
{
	tally_config_t *config = NULL;
	int err = tally_config_new(&config);

	if (err == TALLY_OK && thread->options->timeout != NULL)
		err = tally_config_set(config, "timeout", thread->options->timeout);
	if (err == TALLY_OK && thread->rank >= 0)
		err = perf_config_thread(config, thread);
	if (err == TALLY_OK)
		err = tally_open(&rank->comm, config);
	if (err == TALLY_OK)
		rank->wire = perf_wire(thread->options, config);
	tally_config_free(config);
	return err;
}

static void *perf_thread_run(void *arg)
{
	struct perf_thread *thread = arg;
	struct perf_rank rank = { .options = thread->options, .history = thread->history };
	const char *name = getenv("TALLY_RANK");
	const char *text;
	int err = perf_open(&rank, thread);

	thread->result = -1;
	if (err == TALLY_OK) {
		perf_watch_signals();
		thread->result = perf_run_rank(&rank);
		tally_close(rank.comm);
		return NULL;
	}
	text = tally_last_error(NULL);
	text = text[0] != '\0' ? text : tally_strerror(err);
	if (thread->rank >= 0)
		fprintf(stderr, "tally-perf: rank %d: %s\n", thread->rank, text);
	else if (name != NULL)
		fprintf(stderr, "tally-perf: rank %s: %s\n", name, text);
	else
		fprintf(stderr, "tally-perf: %s\n", text);
	return NULL;
}

/* Histories of nr ranks from this one on: 0, or -1 after an error was printed. */
static int perf_history_save(const struct perf_options *options, int first,
			     struct perf_history *history, uint32_t nr)
{
	FILE *file = history != NULL ? perf_json_open("history", options->history) : NULL;
	uint32_t i;

	for (i = 0; history != NULL && i < nr; i++) {
		if (file != NULL)
			perf_history_write(&history[i], first + (int)i, file);
		perf_history_free(&history[i]);
	}
	free(history);
	if (history == NULL)
		return 0;
	return file != NULL ? perf_json_close("history", options->history, file) : -1;
}

static int perf_history_make(const struct perf_options *options, uint32_t nr,
			     struct perf_history **history)
{
	if (options->history == NULL)
		return 0;
	*history = calloc(nr, sizeof(**history));
	if (*history != NULL)
		return 0;
	fputs("tally-perf: no memory for --history\n", stderr);
	return -1;
}

static int perf_run_self(const struct perf_options *options)
{
	struct perf_thread self = { .options = options, .rank = -1 };
	const char *name = getenv("TALLY_RANK");

	if (perf_history_make(options, 1, &self.history) != 0)
		return -1;
	perf_thread_run(&self);
	if (perf_history_save(options, name != NULL ? atoi(name) : 0, self.history, 1) != 0)
		self.result = -1;
	return self.result;
}

static int perf_run_threads(const struct perf_options *options)
{
	struct perf_thread threads[PERF_THREADS_MAX];
	struct perf_history *history = NULL;
	uint32_t i;
	int result = 0, err;

	if (perf_history_make(options, options->nr_threads, &history) != 0)
		return -1;
	for (i = 0; i < options->nr_threads; i++) {
		threads[i] = (struct perf_thread){ .options = options, .rank = (int)i };
		threads[i].history = history != NULL ? &history[i] : NULL;
		err = pthread_create(&threads[i].thread, NULL, perf_thread_run, &threads[i]);
		if (err == 0)
			continue;
		fprintf(stderr, "tally-perf: no thread for rank %u: %s\n", (unsigned int)i,
			strerror(err));
		/* The ranks that did start wait for this one: nothing is left but to leave. */
		exit(1);
	}
	for (i = 0; i < options->nr_threads; i++) {
		pthread_join(threads[i].thread, NULL);
		if (threads[i].result != 0)
			result = -1;
	}
	if (perf_history_save(options, 0, history, options->nr_threads) != 0)
		result = -1;
	return result;
}

int main(int argc, char **argv)
{
	static struct perf_options options;
	int err = perf_options_parse(&options, argc, argv), result = 0;

	signal(SIGXFSZ, SIG_IGN); /* a file beyond `ulimit -f` is as one on a full disk */
	if (err < 0)
		return 2;
	if (err == 0 && options.json != NULL && perf_json_check("json", options.json) != 0)
		return 1;
	if (err == 0 && options.history != NULL && perf_json_check("history", options.history) != 0)
		return 1;
	if (err == 0) /* else it was asked for words, which are printed */
		result = options.nr_threads > 0 ? perf_run_threads(&options)
						: perf_run_self(&options);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "tally-perf: standard output could not be written\n");
		return 1;
	}
	return result == 0 ? 0 : 1;
}
