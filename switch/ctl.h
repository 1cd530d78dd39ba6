/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctl.h - the control socket: questions and orders to a running switch, answered between bursts.
 *
 * A Unix socket of type SOCK_SEQPACKET that speaks the protocol of DPDK's telemetry, version 2
 * (docs/adr/0005).  The thread that moves packets serves it, one message at a time and never more
 * than a bounded amount of work, so nothing is locked and no client can hold the switch up.
 */
#ifndef SWITCH_CTL_H
#define SWITCH_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/ctl_json.h"
#include "switch/ctl_path.h"

struct node;

enum {
	CTL_CLIENTS = 8,	/* the one quiet for longest makes room for another */
	CTL_REQUEST = 1024,	/* bytes of a request */
	CTL_ANSWER = 64 * 1024, /* bytes of an answer */
};
#define CTL_EVERY_NS UINT64_C(1000000) /* how often a busy switch looks */

struct ctl_client {
	int fd; /* -1: none */
	uint64_t seen;
};

struct ctl {
	struct node *node;
	int listen_fd, epoll_fd;
	uint64_t next_ns, nr_seen;
	uint64_t dev, ino;     /* of the file, so that nobody else's is removed; 0: there is none */
	uint64_t nr_strangers; /* closed: other users */
	struct ctl_client clients[CTL_CLIENTS];
	char path[CTL_PATH]; /* empty: there is no socket */
	char answer[CTL_ANSWER];
};

/* A request while it is answered: the answer is one value, of key ctl_call.command. */
struct ctl_call {
	struct node *node;
	const char *command;
	const char *params; /* what stands after the first comma; empty: nothing */
	struct ctl_json json;
};

struct ctl_command {
	const char *name, *help;
	void (*run)(struct ctl_call *call);
};
extern const struct ctl_command ctl_commands[]; /* up to one without a name */

/*
 * The socket of --ctl-fd, the one that --ctl names, or the usual one.  0 also if there is none: by
 * request, or because one by a name cannot be had, which is said.
 */
int ctl_open(struct ctl *ctl, struct node *node, struct port_error *err);
void ctl_close(struct ctl *ctl);

/* To poll for input. */
int ctl_fd(const struct ctl *ctl);
/* Handles one event, if there is one. */
void ctl_serve(struct ctl *ctl);
/* The same, unless it was done less than a millisecond ago. */
void ctl_look(struct ctl *ctl, uint64_t now_ns);

/* The answer of a request that cannot be met: an object with a sentence in `error`. */
void ctl_refuse(struct ctl_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, for one that no switch could meet: with `bad_request`. */
void ctl_refuse_words(struct ctl_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A place in a list: all of params, 0 without any; false: it is none, and that is the answer. */
bool ctl_from(struct ctl_call *call, uint64_t *from);
/* The number before the first comma, or at the end; *rest is what follows it.  False: it is none. */
bool ctl_number(const char *params, uint64_t *value, const char **rest);
/* The key `next`: where the list goes on, or null. */
void ctl_next(struct ctl_call *call, bool more, uint64_t next);
/* Whether a list is to end here and to go on in another answer, as there may be no room for more. */
bool ctl_is_full(const struct ctl_call *call);

/* ctl_show.c, ctl_jobs.c, ctl_stalls.c, ctl_do.c: the commands. */
void ctl_info(struct ctl_call *call);
void ctl_ports(struct ctl_call *call);
void ctl_counters(struct ctl_call *call);
void ctl_fdb(struct ctl_call *call);
void ctl_jobs(struct ctl_call *call);
void ctl_job(struct ctl_call *call);
void ctl_slot(struct ctl_call *call);
void ctl_stalls(struct ctl_call *call);
void ctl_reset(struct ctl_call *call);
void ctl_drain(struct ctl_call *call);
void ctl_impair(struct ctl_call *call);
void ctl_impairments(struct ctl_call *call);

#endif
