// SPDX-License-Identifier: BSD-3-Clause
// A simulation many times: each in a process, as many at a time as there are CPUs.
#include "topologies/sim_many.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topologies/program.h"
#include "topologies/say.h"
#include "topologies/screen.h"

enum { MANY_CPUS = 256, MANY_BAR = 40, MANY_LINE = 400 };

struct many_child {
	pid_t pid;
	uint64_t i; /* which result is its */
	int log;    /* its stderr */
};

struct runs {
	struct topology *topology;
	const struct sim_options *options;
	const struct sim_many *many;
	struct sim_result *result; /* shared with the children */
	struct many_child child[MANY_CPUS];
	unsigned int nr_cpus, nr_alive;
	uint64_t nr, nr_started, nr_ended, nr_failed, nr_rows;
	int64_t like; /* the first good result, that others must equal; -1: none yet */
	int code;     /* the worst */
	struct screen screen;
};

static unsigned int cpus_count(void)
{
	cpu_set_t cpus;
	int nr = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		nr = CPU_COUNT(&cpus);
	return nr < MANY_CPUS ? (unsigned int)nr : MANY_CPUS;
}

/* In the child: what a run prints is of no use here. */
static void child_main(struct runs *s, uint64_t i, int log)
{
	struct sim_options options = *s->options;
	const int null = open("/dev/null", O_WRONLY);
	int code;

	options.result = &s->result[i];
	options.quiet = true;
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
	    s->many->set(s->many->context, s->topology, &options, i))
		_exit(1);
	code = sim_main(s->topology, &options);
	if (code == 0 && s->many->also)
		code = s->many->also(s->many->context, s->topology, &options, i);
	fflush(stdout);
	_exit(code);
}

static int child_start(struct runs *s)
{
	struct many_child *child = s->child;

	while (child->pid)
		child++;
	child->log = memfd_create("log", MFD_CLOEXEC);
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
static void log_line_read(int log, char text[MANY_LINE])
{
	const off_t bytes = lseek(log, 0, SEEK_END), from = bytes - (MANY_LINE - 1);
	const ssize_t len = pread(log, text, MANY_LINE - 1, from > 0 ? from : 0);
	char *at;

	text[len > 0 ? len : 0] = 0;
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = 0;
	at = strrchr(text, '\n');
	if (at)
		memmove(text, at + 1, strlen(at + 1) + 1);
}

/* The rows of all that have ended, up to the first that has not. */
static void rows_say(struct runs *s)
{
	for (; s->nr_rows < s->nr; s->nr_rows++) {
		const struct sim_result *result = &s->result[s->nr_rows];

		if (!result->ended)
			return;
		screen_clear(&s->screen);
		if (s->many->row)
			s->many->row(s->many->context, s->nr_rows, result);
		fflush(stdout);
	}
}

static void child_ended(struct runs *s, struct many_child *child, int status)
{
	struct sim_result *result = &s->result[child->i];
	char text[MANY_LINE], option[SIM_MANY_OPTION];
	int code = program_code(status);

	log_line_read(child->log, text);
	close(child->log);
	child->pid = 0;
	s->nr_alive--;
	s->nr_ended++;
	if (!code && s->like < 0)
		s->like = (int64_t)child->i;
	if (!code && s->many->alike && result->hash != s->result[s->like].hash) {
		code = 1;
		snprintf(text, sizeof(text), "hash of the results %016" PRIx64 ", not %016" PRIx64,
			 result->hash, s->result[s->like].hash);
	}
	result->done = result->done && !code;
	result->failed = code != 0;
	result->ended = true;
	s->code = code > s->code ? code : s->code;
	if (!code)
		return;
	s->nr_failed++;
	s->many->option(s->many->context, child->i, option);
	screen_say(&s->screen, "%s %s%s%s; again: %s %s", option + strlen("--"),
		   program_describe(status).text, *text ? ": " : "", text, s->many->repeat, option);
}

static void progress_say(struct runs *s)
{
	const unsigned int done = (unsigned int)(s->nr_ended * MANY_BAR / s->nr);
	char bar[MANY_BAR + 1], text[160];

	memset(bar, '.', MANY_BAR);
	memset(bar, '#', done);
	bar[MANY_BAR] = 0;
	snprintf(text, sizeof(text), "[%s] %" PRIu64 " of %" PRIu64 " %s, %" PRIu64 " failed", bar,
		 s->nr_ended, s->nr, s->many->what, s->nr_failed);
	screen_progress(&s->screen, text);
}

static volatile sig_atomic_t many_interrupted;

static void on_signal(int sig)
{
	(void)sig;
	many_interrupted = 1;
}

static int many_run(struct runs *s)
{
	int status;
	pid_t pid;

	while (s->nr_ended < s->nr) {
		while (!many_interrupted && s->nr_alive < s->nr_cpus && s->nr_started < s->nr)
			if (child_start(s))
				return -1;
		if (!s->nr_alive)
			break;
		progress_say(s);
		pid = wait(&status);
		for (unsigned int i = 0; pid > 0 && i < s->nr_cpus; i++)
			if (s->child[i].pid == pid)
				child_ended(s, &s->child[i], status);
		rows_say(s);
	}
	screen_clear(&s->screen);
	return 0;
}

void *sim_many_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory != MAP_FAILED)
		return memory;
	say_error("not enough memory for the results");
	return NULL;
}

void sim_many_free(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

int sim_many_main(struct topology *t, const struct sim_options *options,
		  const struct sim_many *many, struct sim_result *result)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct runs s = {
		.topology = t,
		.options = options,
		.many = many,
		.result = result,
		.nr_cpus = cpus_count(),
		.nr = many->nr,
		.like = -1,
	};

	screen_init(&s.screen);
	sigaction(SIGINT, &action, NULL);
	fflush(stdout);
	if (many_run(&s) && !s.code)
		s.code = 1;
	return many_interrupted ? 128 + SIGINT : s.code;
}
