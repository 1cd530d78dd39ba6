/* SPDX-License-Identifier: BSD-3-Clause */
/* A plot as SVG in a page: axes with units, and what is drawn between them. */
#ifndef TOPOLOGIES_PLOT_H
#define TOPOLOGIES_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PLOT_COLOURS = 7 };

struct plot_axis {
	const char *label; /* "time after the first rank had joined" */
	const char *unit;  /* "s": any of time; else "elements/s" and such; "": a number */
	double least, most;
	bool log;   /* least and most are whole powers of ten; plot_axis_log() */
	bool whole; /* no ticks between whole numbers, and no k and M */
	/* The plot's own: of the unit that is written, and from tick to tick. */
	double scale, step;
};

struct plot {
	FILE *out;
	const char *title, *note; /* the second: one sentence below it */
	const char *const *key;	  /* words for the colours, from 0 on */
	unsigned int nr_keys;
	struct plot_axis x, y;
};

/* Of a logarithmic axis: powers of ten around these. */
void plot_axis_log(struct plot_axis *axis, double least, double most);
/* From 0 to a bit more than this. */
void plot_axis_zero(struct plot_axis *axis, double most);

void plot_begin(struct plot *plot);
/* Steps: value i from x.least + i * width on. */
void plot_steps(const struct plot *plot, const double *value, uint32_t nr, double width,
		unsigned int colour);
/* Lines of three values each, NaN for a gap: the second, and what is between the first and the third. */
void plot_band(const struct plot *plot, const double (*value)[3], uint32_t nr, double width,
	       unsigned int colour);
/* From 0 up, one wide; title: what it says of itself, escaped already, or NULL. */
void plot_bar(const struct plot *plot, double x, double value, unsigned int colour,
	      const char *title);
/* A dot with the least and the most. */
void plot_dot(const struct plot *plot, double x, const double value[3], unsigned int colour,
	      const char *title);
void plot_end(const struct plot *plot);

#endif
