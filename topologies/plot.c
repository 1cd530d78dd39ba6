// SPDX-License-Identifier: BSD-3-Clause
// A plot as SVG in a page: axes with units, and what is drawn between them.
#include "topologies/plot.h"

#include <math.h>
#include <string.h>

#include "topologies/html.h"

enum { WIDTH = 640, HEIGHT = 250, LEFT = 70, RIGHT = 14, TOP = 10, BOTTOM = 44, TICKS = 5 };

static double part_of(const struct plot_axis *a, double value)
{
	if (a->log)
		return (log10(value) - log10(a->least)) / (log10(a->most) - log10(a->least));
	return (value - a->least) / (a->most - a->least);
}

static double x_of(const struct plot *p, double value)
{
	return LEFT + part_of(&p->x, value) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct plot *p, double value)
{
	return HEIGHT - BOTTOM - part_of(&p->y, value) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten. */
static double step_find(const struct plot_axis *a)
{
	const double least = (a->most - a->least) / TICKS;
	double step = pow(10, floor(log10(least)));

	if (step < least)
		step *= step * 2 >= least ? 2 : step * 5 >= least ? 5 : 10;
	return a->whole && step < 1 ? 1 : step;
}

void plot_axis_log(struct plot_axis *a, double least, double most)
{
	a->log = true;
	a->least = pow(10, floor(log10(least)));
	a->most = pow(10, ceil(log10(most)));
	if (a->most <= a->least)
		a->most = 10 * a->least;
}

void plot_axis_zero(struct plot_axis *a, double most)
{
	double step;

	a->least = 0;
	a->most = most > 0 ? most : 1;
	step = step_find(a);
	a->most = step * ceil(1.02 * a->most / step);
	a->step = step;
}

/* --- Axes --------------------------------------------------------------------------------------- */

static void tick_put(const struct plot *p, bool is_y, double value, const char *text)
{
	if (is_y)
		fprintf(p->out,
			"<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"right\" x=\"%d\" "
			"y=\"%.1f\">%s</text>\n",
			LEFT, y_of(p, value), WIDTH - RIGHT, LEFT - 7, y_of(p, value) + 4, text);
	else
		fprintf(p->out,
			"<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"middle\" x=\"%.1f\" "
			"y=\"%d\">%s</text>\n",
			x_of(p, value), HEIGHT - BOTTOM, HEIGHT - BOTTOM + 4, x_of(p, value),
			HEIGHT - BOTTOM + 17, text);
}

static void ticks_put(const struct plot *p, bool is_y)
{
	const struct plot_axis *a = is_y ? &p->y : &p->x;
	const double step = a->step > 0 ? a->step : step_find(a),
		     first = step * ceil(a->least / step);
	char text[48];

	if (a->log) {
		for (double v = a->least; v < a->most * 1.5; v *= 10)
			tick_put(p, is_y, v,
				 strcmp(a->unit, "s") == 0 ? html_time(v * 1.0000001, 3).text
							   : html_number(v * 1.0000001, 3).text);
		return;
	}
	for (int i = 0; first + i * step <= a->most + step * 1e-6; i++) {
		const double v = first + i * step;

		/* Of a mere number the tick has the k or M, else the label has it. */
		snprintf(text, sizeof(text), "%.6g%s%s", v / a->scale,
			 *a->unit || v <= 0 || a->scale <= 1 ? "" : " ",
			 *a->unit || v <= 0 ? "" : html_unit(a->scale).name);
		tick_put(p, is_y, v, text);
	}
}

/* "time, ms", "packets, k". */
static void label_put(const struct plot *p, bool is_y)
{
	const struct plot_axis *a = is_y ? &p->y : &p->x;
	const bool is_time = strcmp(a->unit, "s") == 0;
	const char *prefix = a->log || a->whole || !*a->unit ? ""
			     : is_time			     ? html_unit_time(a->most).name
							     : html_unit(a->most).name;

	if (is_y)
		fprintf(p->out,
			"<text class=\"middle\" transform=\"translate(14 %d) rotate(-90)\">",
			TOP + (HEIGHT - TOP - BOTTOM) / 2);
	else
		fprintf(p->out, "<text class=\"middle\" x=\"%d\" y=\"%d\">",
			LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 6);
	html_text(p->out, a->label);
	if (is_time && *prefix)
		fprintf(p->out, ", %s", prefix);
	else if (*a->unit && !is_time)
		fprintf(p->out, ", %s%s%s", prefix, *prefix ? " " : "", a->unit);
	fputs("</text>\n", p->out);
}

static void axis_scale(struct plot_axis *a)
{
	a->scale = a->whole		       ? 1
		   : strcmp(a->unit, "s") == 0 ? html_unit_time(a->most).factor
					       : html_unit(a->most).factor;
}

void plot_begin(struct plot *p)
{
	axis_scale(&p->x);
	axis_scale(&p->y);
	fputs("<figure>\n<figcaption><b>", p->out);
	html_text(p->out, p->title);
	fputs("</b> ", p->out);
	html_text(p->out, p->note ? p->note : "");
	fprintf(p->out,
		"</figcaption>\n<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
		WIDTH, HEIGHT);
	html_text(p->out, p->title);
	fputs("</title>\n", p->out);
	ticks_put(p, true);
	ticks_put(p, false);
	label_put(p, true);
	label_put(p, false);
}

static void keys_put(const struct plot *p)
{
	fputs("<p class=\"keys\">", p->out);
	for (unsigned int i = 0; i < p->nr_keys; i++) {
		fprintf(p->out, "<span class=\"key c%u\"></span>", i % PLOT_COLOURS);
		html_text(p->out, p->key[i]);
		fputc('\n', p->out);
	}
	fputs("</p>\n", p->out);
}

void plot_end(const struct plot *p)
{
	fprintf(p->out, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n</svg>\n", LEFT, HEIGHT - BOTTOM,
		WIDTH - RIGHT);
	if (p->nr_keys)
		keys_put(p);
	fputs("</figure>\n", p->out);
}

/* --- What is drawn ------------------------------------------------------------------------------ */

void plot_steps(const struct plot *p, const double *value, uint32_t nr, double width,
		unsigned int colour)
{
	FILE *out = p->out;
	double at = 0;

	fprintf(out, "<path class=\"c%u area\" d=\"M%.1f %.1f", colour, x_of(p, p->x.least),
		y_of(p, 0));
	for (uint32_t i = 0; i < nr; i++) {
		const double y = value[i];

		if (i && fabs(y - at) <= 0)
			continue; // the same line goes on
		if (i)
			fprintf(out, "H%.1f", x_of(p, p->x.least + i * width));
		fprintf(out, "V%.1f", y_of(p, y));
		at = y;
	}
	fprintf(out, "H%.1fV%.1fZ\"/>\n", fmin(x_of(p, p->x.least + nr * width), WIDTH - RIGHT),
		y_of(p, 0));
}

static void band_part(const struct plot *p, const double (*value)[3], const uint32_t range[2],
		      double width, unsigned int colour)
{
	FILE *out = p->out;

	fprintf(out, "<path class=\"c%u band\" d=\"", colour);
	for (uint32_t i = range[0]; i < range[1]; i++)
		fprintf(out, "%s%.1f %.1f", i == range[0] ? "M" : "L",
			x_of(p, p->x.least + (i + 1) * width), y_of(p, value[i][2]));
	for (uint32_t i = range[1]; i-- > range[0];)
		fprintf(out, "L%.1f %.1f", x_of(p, p->x.least + (i + 1) * width),
			y_of(p, value[i][0]));
	fprintf(out, "Z\"/>\n<path class=\"c%u line\" d=\"", colour);
	for (uint32_t i = range[0]; i < range[1]; i++)
		fprintf(out, "%s%.1f %.1f", i == range[0] ? "M" : "L",
			x_of(p, p->x.least + (i + 1) * width), y_of(p, value[i][1]));
	fputs("\"/>\n", out);
}

void plot_band(const struct plot *p, const double (*value)[3], uint32_t nr, double width,
	       unsigned int colour)
{
	uint32_t range[2] = { 0, 0 };

	for (uint32_t i = 0; i <= nr; i++) {
		if (i < nr && !isnan(value[i][1]))
			continue;
		range[1] = i;
		if (range[1] > range[0])
			band_part(p, value, range, width, colour);
		range[0] = i + 1;
	}
}

static void title_put(FILE *out, const char *title)
{
	if (title)
		fprintf(out, "<title>%s</title>", title);
}

void plot_bar(const struct plot *p, double x, double value, unsigned int colour, const char *title)
{
	const double one = x_of(p, x + 1) - x_of(p, x), gap = one > 5 ? 2 : 0;
	const double width = one - gap < 48 ? one - gap : 48;

	fprintf(p->out, "<rect class=\"c%u\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">",
		colour, x_of(p, x) + (one - width) / 2, y_of(p, value), width,
		y_of(p, 0) - y_of(p, value));
	title_put(p->out, title);
	fputs("</rect>\n", p->out);
}

void plot_dot(const struct plot *p, double x, const double value[3], unsigned int colour,
	      const char *title)
{
	fprintf(p->out,
		"<g class=\"c%u\"><path class=\"line\" d=\"M%.1f %.1fV%.1f\"/><circle cx=\"%.1f\" "
		"cy=\"%.1f\" r=\"4\"/>",
		colour, x_of(p, x), y_of(p, value[0]), y_of(p, value[2]), x_of(p, x),
		y_of(p, value[1]));
	title_put(p->out, title);
	fputs("</g>\n", p->out);
}
