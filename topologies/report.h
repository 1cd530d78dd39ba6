/* SPDX-License-Identifier: BSD-3-Clause */
/* A page about a run, DIR/report.html: what it was, what came out, and plots; by itself, without a network. */
#ifndef TOPOLOGIES_REPORT_H
#define TOPOLOGIES_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host/tools/perf.h"
#include "topologies/sim_timeline.h"
#include "topologies/topology.h"

enum { REPORT_TEXTS = TOPOLOGY_JOBS_MAX + 1, REPORT_TEXT_MAX = 1 << 18 };

struct report_rank {
	const struct topology_job *job;
	unsigned int rank;
	const struct topology_node *node;
	bool ran;   /* it has come to its end */
	bool known; /* its counters and times are */
	int code;   /* how it ended */
	double done_s;
	double cpu_s;	   /* < 0: there is no such */
	double elements_s; /* of the timed operations; 0: none */
	uint64_t sent, again, received, rtt_ns;
	uint32_t window, chunk;
	struct perf_history history;
	int history_fd; /* where a process writes it; only while known is false */
};

/* What was printed, as it was. */
struct report_text {
	char title[TOPOLOGY_JOB_NAME_MAX + 32];
	char *text;
	size_t len;
	bool cut;
};

struct report {
	const char *dir; /* NULL: no page is wanted */
	int argc;	 /* the command */
	char *const *argv;
	uint64_t interval_ns; /* of the packets' plot; 0: as fits */
	/* By the fabric: */
	struct topology *topology;
	const char *fabric; /* "virtual time" */
	const char *done;   /* what done_s is, in words */
	char machine[256];  /* "": any would do the same */
	struct report_rank *rank;
	unsigned int nr_ranks;
	struct timeline timeline; /* its samples; none: those of the histories */
	bool sampled;		  /* they are those */
	struct report_text text[REPORT_TEXTS];
	unsigned int nr_texts;
};

/* Makes the directory: 0, or -1 after saying why there can be no page. */
int report_open(struct report *report, struct topology *t);
/* Of all jobs, in their order; ranks that are not changed did not run.  0, or -1 after saying why not. */
int report_ranks(struct report *report);
/* More of a text with this title. */
void report_text(struct report *report, const char *title, const char *text, size_t len);
/* This one. */
void report_machine(struct report *report);
/* What the history of a rank says that the fabric does not know. */
void report_rank_learn(struct report_rank *rank);
/* The page, whole or not at all, of a run with this exit code.  The code, or 1 if that was 0 and there is no page. */
int report_write(struct report *report, int code);
void report_free(struct report *report);

/* report_timeline.c: samples of the timeline from the histories, as many as a plot can show. */
int report_timeline_make(struct report *report);
/* Fewer samples, each of several intervals, if there are more than a plot can show. */
void report_timeline_thin(struct timeline *timeline, uint32_t most);

/* report_page.c: all of it; errors are to be found by ferror(). */
void report_page(const struct report *report, int code, FILE *out);
/* report_figures.c */
void report_figures(const struct report *report, FILE *out);

#endif
