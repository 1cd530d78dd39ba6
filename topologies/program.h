/* SPDX-License-Identifier: BSD-3-Clause */
/* A program in a node of the fabric. */
#ifndef TOPOLOGIES_PROGRAM_H
#define TOPOLOGIES_PROGRAM_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "topologies/netns.h"
#include "topologies/stream.h"
#include "topologies/topology.h"

enum {
	PROGRAM_ENV_MAX = TOPOLOGY_ENV_MAX + 8,
	PROGRAM_FD = 3, /* the first that is passed on */
	PROGRAM_PASS_MAX = 2,
};

struct program {
	pid_t pid; /* also its process group; 0: not running */
	bool ended;
	int status; /* as from wait() */
	struct rusage usage;
	double start_s, end_s;	/* monotonic clock */
	struct stream out, err; /* whose callbacks the owner sets */
};

struct program_plan {
	const struct netns *ns;
	char *const *argv;
	struct topology_env env[PROGRAM_ENV_MAX];
	unsigned int nr_env;
	int pass[PROGRAM_PASS_MAX]; /* the program's PROGRAM_FD and so on */
	unsigned int nr_pass;
	bool interactive; /* has our stdin, stdout and stderr, and the terminal */
};

double clock_s(void);

void program_plan_env(struct program_plan *plan, const char *key, const char *value);
/*
 * 0, or -1 after saying why.  The program may still fail in its own process: exit code 125, 126 or
 * 127.
 */
int program_start(struct program *p, const struct program_plan *plan);
/* Of a program that is about to be executed: its own group has the terminal, if there is one. */
void program_take_terminal(void);
/* To the program and its children; does nothing when it is not running. */
void program_signal(const struct program *p, int sig);
/*
 * Runs it to its end, with our stdout and stderr; exit code as program_code(), or -1 after
 * `limit_s`.
 */
int program_run(const struct program_plan *plan, double limit_s);

/* The exit code as a shell would give it: 128 + signal for the killed. */
int program_code(int status);
struct program_words {
	char text[80];
};
/* "exited with 1", "was killed by signal 9 (Killed)" */
struct program_words program_describe(int status);

/* Allows many open files here; programs get back what we were given.  Call once. */
void program_limits_raise(void);

#endif
