/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a function as process 1 of namespaces of its own, so that nothing outlives it. */
#ifndef TOPOLOGIES_SANDBOX_H
#define TOPOLOGIES_SANDBOX_H

#include <signal.h>
#include <stdbool.h>

enum { SANDBOX_FAILED = 125 }; /* exit code: there is no fabric */
enum {
	SANDBOX_INTERACTIVE = 1, /* for a shell */
	SANDBOX_SAME_USER =
		2, /* no user namespace: what the caller may do outside is still allowed */
};

struct sandbox {
	int lifeline;	  /* readable: the process outside is gone */
	int signals;	  /* signalfd: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD */
	bool interactive; /* stay in the terminal's session: for a shell */
};

/* What runs inside; returns the exit code. */
typedef int sandbox_main(const struct sandbox *box, void *context);

/*
 * Makes user (where possible or needed), mount, network, pid and ipc namespaces and runs `inside`
 * there, as a child.  Signals that the caller gets are passed on.  Returns inside's exit code.
 *
 * Cleaning up is the kernel's work: when process 1 dies, every process below is killed, and network
 * and mount namespaces go with their last process.  Process 1 dies with the caller, however that
 * ends.
 */
int sandbox_run(sandbox_main *inside, unsigned int how, void *context);

/* Private /sys, /dev/shm (with RUNTIME_DIRECTORY in it) and host name for the calling process. */
int sandbox_private_mounts(const char *hostname);

/* Programs that are executed have the capabilities of this process; 0 or -1. */
int sandbox_keep_capabilities(void);

/* Lets the signals through that sandbox_run() holds back, for a program that is to be executed. */
void sandbox_unblock(void);

#endif
