// SPDX-License-Identifier: BSD-3-Clause
// The same simulation with many seeds: each in a process, as many at a time as there are CPUs.
#include "topologies/sim_seeds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topologies/program.h"
#include "topologies/say.h"
#include "topologies/screen.h"

enum { SEEDS_CPUS = 256, SEEDS_BAR = 40, SEEDS_LINE = 400 };

struct seeds_child {
	pid_t pid;
	uint64_t i; /* which result is its */
	int log;    /* its stderr */
};

struct seeds {
	struct topology *topology;
	const struct sim_options *options;
	const struct sim_seeds *what;
	struct sim_result *result; /* shared with the children */
	struct seeds_child child[SEEDS_CPUS];
	unsigned int nr_cpus, nr_alive;
	uint64_t nr, nr_started, nr_ended, nr_failed;
	int64_t like; /* the first good result, that others must equal; -1: none yet */
	struct screen screen;
};

int sim_seeds_parse(struct sim_seeds *seeds, const char *text)
{
	char first[32];
	size_t len = strcspn(text, ".");
	const char *last = text[len] ? text + len + 2 : text;

	if (len >= sizeof(first) || (text[len] && strncmp(text + len, "..", 2) != 0))
		return -1;
	memcpy(first, text, len);
	first[len] = 0;
	if (topology_number_parse(first, 0, UINT64_MAX - 1, &seeds->first) ||
	    topology_number_parse(last, 0, UINT64_MAX - 1, &seeds->last))
		return -1;
	/* Backwards it is a very large number. */
	return seeds->last - seeds->first < SIM_SEEDS_MAX ? 0 : -1;
}

static unsigned int cpus_count(void)
{
	cpu_set_t cpus;
	int nr = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		nr = CPU_COUNT(&cpus);
	return nr < SEEDS_CPUS ? (unsigned int)nr : SEEDS_CPUS;
}

/* In the child: what a run prints is of no use here. */
static void child_main(struct seeds *s, uint64_t i, int log)
{
	struct sim_options options = *s->options;
	const int null = open("/dev/null", O_WRONLY);
	int code;

	options.result = &s->result[i];
	s->topology->seed_given = true;
	s->topology->seed = s->what->first + i;
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(1);
	code = sim_main(s->topology, &options);
	fflush(stdout);
	_exit(code);
}

static int child_start(struct seeds *s)
{
	struct seeds_child *child = s->child;

	while (child->pid)
		child++;
	child->log = memfd_create("seed", MFD_CLOEXEC);
	if (child->log < 0)
		return say_error("%s", say_errno(errno));
	child->i = s->nr_started;
	child->pid = fork();
	if (child->pid == 0)
		child_main(s, child->i, child->log);
	if (child->pid < 0) {
		child->pid = 0;
		close(child->log);
		return say_error("%s", say_errno(errno));
	}
	s->nr_started++;
	s->nr_alive++;
	return 0;
}

/* The last line that it wrote to stderr. */
static void log_line_read(int log, char text[SEEDS_LINE])
{
	const off_t bytes = lseek(log, 0, SEEK_END), from = bytes - (SEEDS_LINE - 1);
	const ssize_t len = pread(log, text, SEEDS_LINE - 1, from > 0 ? from : 0);
	char *at;

	text[len > 0 ? len : 0] = 0;
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = 0;
	at = strrchr(text, '\n');
	if (at)
		memmove(text, at + 1, strlen(at + 1) + 1);
}

static void child_ended(struct seeds *s, struct seeds_child *child, int status)
{
	const struct sim_result *result = &s->result[child->i];
	const uint64_t seed = s->what->first + child->i;
	char text[SEEDS_LINE];
	bool failed = program_code(status) != 0;

	log_line_read(child->log, text);
	close(child->log);
	child->pid = 0;
	s->nr_alive--;
	s->nr_ended++;
	if (!failed && s->like < 0)
		s->like = (int64_t)child->i;
	if (!failed && result->hash != s->result[s->like].hash) {
		failed = true;
		snprintf(text, sizeof(text), "result hash %016" PRIx64 ", not %016" PRIx64,
			 result->hash, s->result[s->like].hash);
	}
	if (!failed)
		return;
	s->nr_failed++;
	s->result[child->i].failed = true;
	screen_say(&s->screen, "seed %" PRIu64 " %s%s%s; again: %s --seed %" PRIu64, seed,
		   program_describe(status).text, *text ? ": " : "", text, s->what->repeat, seed);
}

static void progress_say(struct seeds *s)
{
	const unsigned int done = (unsigned int)(s->nr_ended * SEEDS_BAR / s->nr);
	char bar[SEEDS_BAR + 1], text[160];

	memset(bar, '.', SEEDS_BAR);
	memset(bar, '#', done);
	bar[SEEDS_BAR] = 0;
	snprintf(text, sizeof(text), "[%s] %" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " failed",
		 bar, s->nr_ended, s->nr, s->nr_failed);
	screen_progress(&s->screen, text);
}

static int result_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void median_print(const char *what, double *values, uint64_t nr)
{
	qsort(values, nr, sizeof(*values), result_compare);
	printf("%-24s %12.6g  %12.6g  %12.6g\n", what, values[0], values[nr / 2], values[nr - 1]);
}

static void summary_say(const struct seeds *s)
{
	double *values = malloc(s->nr * sizeof(*values));
	uint64_t nr;

	printf("%" PRIu64 " of %" PRIu64 " seeds run, %" PRIu64 " failed\n", s->nr_ended, s->nr,
	       s->nr_failed);
	for (int k = 0; k < 2 && values; k++) {
		nr = 0;
		for (uint64_t i = 0; i < s->nr; i++)
			if (s->result[i].done && !s->result[i].failed)
				values[nr++] = k ? (double)s->result[i].again
						 : s->result[i].completion_us;
		if (nr && !k)
			printf("%-24s %12s  %12s  %12s\n", "", "least", "median", "most");
		if (nr)
			median_print(k ? "packets sent again" : "completion, us", values, nr);
	}
	if (s->like >= 0)
		printf("result hash %016" PRIx64 "\n", s->result[s->like].hash);
	free(values);
}

static volatile sig_atomic_t seeds_interrupted;

static void on_signal(int sig)
{
	(void)sig;
	seeds_interrupted = 1;
}

static int seeds_run(struct seeds *s)
{
	int status;
	pid_t pid;

	while (s->nr_ended < s->nr) {
		while (!seeds_interrupted && s->nr_alive < s->nr_cpus && s->nr_started < s->nr)
			if (child_start(s))
				return -1;
		if (!s->nr_alive)
			break;
		progress_say(s);
		pid = wait(&status);
		for (unsigned int i = 0; pid > 0 && i < s->nr_cpus; i++)
			if (s->child[i].pid == pid)
				child_ended(s, &s->child[i], status);
	}
	screen_clear(&s->screen);
	return 0;
}

int sim_seeds_main(struct topology *t, const struct sim_options *options,
		   const struct sim_seeds *seeds)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct seeds s = {
		.topology = t,
		.options = options,
		.what = seeds,
		.nr_cpus = cpus_count(),
		.nr = seeds->last - seeds->first + 1,
		.like = -1,
	};
	const size_t bytes = s.nr * sizeof(*s.result);
	int code;

	s.result = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s.result == MAP_FAILED) {
		say_error("not enough memory for %" PRIu64 " results", s.nr);
		return 1;
	}
	screen_init(&s.screen);
	sigaction(SIGINT, &action, NULL);
	fflush(stdout);
	code = seeds_run(&s) || s.nr_failed ? 1 : 0;
	if (seeds_interrupted)
		code = 128 + SIGINT;
	summary_say(&s);
	munmap(s.result, bytes);
	return code;
}
