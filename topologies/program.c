// SPDX-License-Identifier: BSD-3-Clause
// Starts a program in a node of the fabric, with namespaces, environment and pipes of its own.
#include "topologies/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "topologies/sandbox.h"
#include "topologies/say.h"

enum { EXIT_NO_EXEC = 126, EXIT_NOT_FOUND = 127 };

static struct rlimit files_given; // written once by program_limits_raise()

double clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void program_limits_raise(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &files_given))
		return;
	l = files_given;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l); // a fabric of usual size needs no more than usual
}

void program_plan_env(struct program_plan *plan, const char *key, const char *value)
{
	if (plan->nr_env < PROGRAM_ENV_MAX)
		plan->env[plan->nr_env++] = (struct topology_env){ key, value };
}

// The shell's own job control wants to begin as the terminal's foreground group.
void program_take_terminal(void)
{
	sigset_t s;

	setpgid(0, 0);
	sigemptyset(&s);
	sigaddset(&s, SIGTTOU);
	sigprocmask(SIG_BLOCK, &s, NULL);
	if (isatty(STDIN_FILENO))
		tcsetpgrp(STDIN_FILENO, getpgrp());
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static int fds_enter(const struct program_plan *plan, int out, int err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), copy[PROGRAM_PASS_MAX];

	// out of the way of the numbers that they and others are to have
	for (unsigned int i = 0; i < plan->nr_pass; i++) {
		copy[i] = fcntl(plan->pass[i], F_DUPFD_CLOEXEC, PROGRAM_FD + PROGRAM_PASS_MAX);
		if (copy[i] < 0)
			return -1;
	}
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return -1;
	if (out >= 0 && dup2(out, STDOUT_FILENO) < 0)
		return -1;
	if (err >= 0 && dup2(err, STDERR_FILENO) < 0)
		return -1;
	for (unsigned int i = 0; i < plan->nr_pass; i++)
		if (dup2(copy[i], PROGRAM_FD + (int)i) < 0)
			return -1;
	return 0;
}

// In the new process; does not return.
static void program_enter(const struct program_plan *plan, int out, int err)
{
	if (plan->interactive)
		program_take_terminal();
	else
		setsid(); // own group: one kill() reaches all of it, and Ctrl-C comes once, from us
	if (!plan->interactive && fds_enter(plan, out, err)) {
		say_error("%s: %s", plan->ns->name, say_errno(errno));
		_exit(SANDBOX_FAILED);
	}
	if (netns_enter(plan->ns) || sandbox_private_mounts(plan->ns->name))
		_exit(SANDBOX_FAILED);
	for (unsigned int i = 0; i < plan->nr_env; i++)
		if (setenv(plan->env[i].key, plan->env[i].value, 1))
			_exit(SANDBOX_FAILED);
	if (files_given.rlim_cur)
		(void)setrlimit(RLIMIT_NOFILE, &files_given);
	sandbox_unblock();
	signal(SIGXFSZ, SIG_DFL);
	execvp(plan->argv[0], plan->argv);
	say_error("%s: cannot start %s: %s", plan->ns->name, plan->argv[0], say_errno(errno));
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC);
}

int program_start(struct program *p, const struct program_plan *plan)
{
	int out = -1, err = -1;

	p->out.fd = p->err.fd = -1;
	if (!plan->interactive) {
		out = stream_open(&p->out);
		err = stream_open(&p->err);
		if (out < 0 || err < 0) {
			say_error("%s: pipe: %s", plan->ns->name, say_errno(errno));
			goto out_close;
		}
	}
	fflush(NULL);
	p->ended = false;
	p->start_s = clock_s();
	p->pid = fork();
	if (p->pid == 0)
		program_enter(plan, out, err);
	if (p->pid < 0) {
		say_error("%s: fork: %s", plan->ns->name, say_errno(errno));
		p->pid = 0;
	}
out_close:
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	return p->pid ? 0 : -1;
}

void program_signal(const struct program *p, int sig)
{
	if (p->pid && kill(-p->pid, sig)) // the group is not there yet in the first microseconds
		kill(p->pid, sig);
}

int program_run(const struct program_plan *plan, double limit_s)
{
	const struct timespec pause = { 0, 5000000 };
	double end_s = clock_s() + limit_s;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		program_enter(plan, -1, -1);
	if (pid < 0)
		return say_error("%s: fork: %s", plan->ns->name, say_errno(errno));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_s() > end_s) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return program_code(status);
}

int program_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct program_words program_describe(int status)
{
	struct program_words w;

	if (WIFSIGNALED(status))
		snprintf(w.text, sizeof(w.text), "was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(w.text, sizeof(w.text), "exited with %d", WEXITSTATUS(status));
	return w;
}
