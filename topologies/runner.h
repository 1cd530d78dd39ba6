/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a topology: the switches, every rank of every job, what they print and how they end. */
#ifndef TOPOLOGIES_RUNNER_H
#define TOPOLOGIES_RUNNER_H

#include <stdbool.h>
#include <stdio.h>

#include "topologies/fabric.h"
#include "topologies/program.h"
#include "topologies/sandbox.h"
#include "topologies/screen.h"
#include "topologies/switchlog.h"
#include "topologies/topology.h"

enum { RUNNER_RANKS_MAX = TOPOLOGY_NETNS_RANKS_MAX, RUNNER_LABEL = 96, RUNNER_COMMAND = 8192 };

struct runner_options {
	struct topology *topology;
	bool udp, verbose;
	struct record record;
	struct report *report; /* a page; NULL: none */
	bool keep, keep_enter; /* the network stays after the run; also until Enter is pressed */
	struct netns *outer;   /* has the interfaces of the file, NULL: it names none */
	int ctl_fds[TOPOLOGY_NETNS_NODES_MAX]; /* of the switches; -1: none */
	const char *renamed;		       /* which names tallyctl does not know them by */
	double timeout_s;	/* of the whole run; 0: none, but a grace time after a failure */
	const char *shell_host; /* run no jobs but shell_argv there; NULL: run the jobs */
	char *const *shell_argv;
};

struct runner_rank {
	struct runner *runner;
	struct program program;
	pid_t group;			/* of its processes, also of those that outlive it */
	const struct topology_job *job; /* NULL: the shell */
	unsigned int rank;
	const struct topology_node *node;
	char *kept; /* of what it printed, not yet passed on */
	size_t kept_len;
	char label[RUNNER_LABEL];  /* "rank 2 on h3" */
	char prefix[RUNNER_LABEL]; /* of its lines: "[h3 rank 2] " */
	bool given_up;		   /* killed by us, as its time was up */
	bool stopped;		   /* ended by us, as the file says when */
};

/* Times are of the monotonic clock, 0: not, or no longer. */
struct runner_job {
	const struct topology_job *job;
	double start_at, stop_at, kill_at;
};

struct runner_switch {
	struct runner *runner;
	struct program program;
	const struct topology_node *node;
	const struct fabric_switch *plan;
	char prefix[RUNNER_LABEL];
	struct switchlog log;
	int ready_fd; /* -1: it is ready, or has ended */
	bool ready;
	bool stopping;	 /* SIGTERM is sent */
	bool killed;	 /* it did not follow */
	bool lost;	 /* it ended by itself and stays away */
	double start_at; /* when to start it again; 0: not at all */
	unsigned int nr_restarts;
};

struct runner {
	const struct runner_options *options;
	const struct sandbox *box;
	struct screen screen;
	const struct runner_rank *speaker; /* whose output was passed on last; NULL: nobody's */
	struct fabric fabric;
	struct runner_switch *sw; /* root first */
	unsigned int nr_switches;
	struct runner_rank rank[RUNNER_RANKS_MAX];
	unsigned int nr_ranks; /* started until now */
	struct runner_job *job;
	unsigned int nr_jobs;
	unsigned int nr_interrupts; /* signals that asked us to end */
	bool failed;		    /* one line has said why; the ranks' codes do not show it */
	bool keeping, keep_input;   /* nothing runs but the network; stdin may end that */
	bool timed_out;		    /* ranks were ended because of --timeout */
	double begin_s;		    /* of the ranks */
	double deadline_s;	    /* then the ranks must end; 0: none */
	double kill_s;		    /* then they are killed; 0: nobody asked them to end */
	double look_s;		    /* the next look at the interfaces */
	double say_s;		    /* the next progress line */
};

/* A sandbox_main: context is the options. */
int runner_main(const struct sandbox *box, void *context);

/* runner_switch.c */
/* All of them, and waits until they serve; -1 after saying what one printed that does not. */
int runner_switches_start(struct runner *r);
void runner_switch_ready(struct runner_switch *sw);
void runner_switch_ended(struct runner_switch *sw);
void runner_switch_restart(struct runner_switch *sw);
/* SIGTERM, time, SIGKILL. */
void runner_switches_stop(struct runner *r);

/* runner_rank.c */
/* Every rank of every job that starts at once, or the shell; -1 after saying why. */
int runner_ranks_start(struct runner *r);
int runner_rank_start(struct runner *r, const struct topology_job *j, unsigned int rank);
void runner_rank_ended(struct runner *r, struct runner_rank *k);
unsigned int runner_ranks_alive(const struct runner *r);
void runner_ranks_signal(struct runner *r, int sig);

/* runner_job.c */
/* Sets the times, and starts what starts at once; -1 after saying why. */
int runner_jobs_start(struct runner *r);
/* Starts and ends what is due. */
void runner_jobs_check(struct runner *r);
/* When that is next to be called; 0: no more. */
double runner_jobs_next(const struct runner *r);
/* How many are still to start. */
unsigned int runner_jobs_awaited(const struct runner *r);
/* These do not. */
void runner_jobs_cancel(struct runner *r);

/* runner_keep.c */
/* Waits until the user wants the network no more. */
void runner_keep(struct runner *r);
void runner_keep_input(struct runner *r);

/* runner.c */
/* Waits for an event, at most so long, and handles it. */
void runner_turn(struct runner *r, double seconds);
/* From the first failure on the others have a grace time. */
void runner_failure(struct runner *r);

/* runner_speak.c: what a rank 0 prints, with the job's name above it if there are several; and when it has ended. */
void runner_speak(struct runner_rank *k, const char *text, size_t len);
void runner_speak_end(struct runner_rank *k);

/* runner_rank.c: the name of its log. */
void runner_rank_name(const struct runner_rank *k, char *name, size_t size);

/* summary.c: the tables at the end; returns the exit code. */
int summary_print(struct runner *r);
void summary_tables(FILE *out, struct runner *r);
/* The same into the record, with the exit code. */
void summary_record(struct runner *r, int code);
double summary_cpu_s(const struct rusage *usage);

/* runner_page.c: what goes into the page of --report, if there is to be one. */
int runner_page_begin(struct runner *r);
/* Has a rank that is about to start leave what it counted; -1 after saying why it cannot. */
int runner_page_rank(struct runner *r, const struct runner_rank *k, struct program_plan *plan,
		     char *command, size_t size);
void runner_page_text(const struct runner_rank *k, const char *text, size_t len);
int runner_page_write(struct runner *r, int code);

#endif
