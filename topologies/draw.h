/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of a topology: the root on top, hosts below, as SVG or as DOT for graphviz. */
#ifndef TOPOLOGIES_DRAW_H
#define TOPOLOGIES_DRAW_H

#include <stdbool.h>
#include <stdio.h>

#include "topologies/topology.h"

enum draw_format { DRAW_DOT, DRAW_SVG };

enum {
	DRAW_HOSTS_MAX = 100, /* with more, those of a switch are one box */
	DRAW_STACK_MIN = 17,  /* with so many, they stand below each other */
	DRAW_LINES = 16,
	DRAW_TEXT = 64,
	DRAW_NONE = TOPOLOGY_NO_NODE,
};

struct draw_text {
	char line[DRAW_LINES][DRAW_TEXT];
	unsigned int nr;
};

/* A switch, a host, or several hosts. */
struct draw_box {
	unsigned int node, last; /* the same but for several hosts */
	unsigned int nr;	 /* nodes */
	unsigned int layer;	 /* 0 is on top */
	unsigned int up;	 /* the box above, DRAW_NONE */
	unsigned int up_port;	 /* of that, by which boxes stand beside each other */
	int x, y, width, height; /* x is the middle, y the top */
	int slot;		 /* width of all that is below, at least its own */
	int hook;		 /* where its link upwards meets the box above */
	bool stacked;		 /* many hosts stand below each other, not side by side */
	unsigned int row;	 /* of these */
};

struct draw_link {
	const struct topology_link *link; /* the first of them */
	unsigned int nr;
	unsigned int box[2];  /* the upper one first */
	unsigned int side[2]; /* which end of the link is at it */
	unsigned int last_port;
	bool differ; /* their properties do */
	int x[2];
};

struct draw {
	const struct topology *topology;
	bool tree; /* of switches; otherwise any graph */
	bool stack;
	struct draw_box *box;
	struct draw_link *link;
	unsigned int nr_boxes, nr_links, nr_layers;
	unsigned int *box_of; /* of each node */
	struct draw_text all; /* what is the same of all links */
	int width, height;
};

/* 0, or -1: there is no memory.  What is written is to be checked by ferror(). */
int draw_topology(struct topology *t, enum draw_format format, FILE *out);

/* draw.c: which boxes and links there are. */
int draw_open(struct draw *d, struct topology *t);
void draw_close(struct draw *d);
/* draw_text.c: what is written at them. */
void draw_box_text(const struct draw *d, const struct draw_box *b, struct draw_text *to);
/* Properties, but those that all links have. */
void draw_link_text(const struct draw *d, const struct draw_link *l, struct draw_text *to);
/* "p1", "p1-p16", "eth0"; side 0 is the upper one. */
void draw_port_text(const struct draw *d, const struct draw_link *l, int side, char *to);
void draw_all_text(struct draw *d);
void draw_job_text(const struct draw *d, unsigned int job, char *to, size_t size);
/* draw_layout.c: where they stand. */
int draw_layout(struct draw *d);
/* draw_svg.c, draw_dot.c */
void draw_svg(const struct draw *d, FILE *out);
void draw_dot(const struct draw *d, FILE *out);

#endif
