// SPDX-License-Identifier: BSD-3-Clause
// A picture of a topology as SVG.
#include <string.h>

#include "topologies/draw.h"

enum { LINE = 12, PORT_ROOM = 16, CAPTION = 16, LETTER = 6 };

// Only of this picture: a page may have others beside it.
static const char style[] =
	"<style>\n"
	".network text { font-family: sans-serif; font-size: 10px; fill: #222 }\n"
	".network .name { font-size: 13px; font-weight: bold }\n"
	".network .middle { text-anchor: middle }\n"
	".network .end { text-anchor: end }\n"
	".network .port { font-size: 9px; fill: #666 }\n"
	".network .title { font-size: 14px; font-weight: bold }\n"
	".network rect { stroke-width: 1.2 }\n"
	".network .switch { fill: #dbe9f6; stroke: #2f5d8a }\n"
	".network .host { fill: #fff; stroke: #777 }\n"
	".network .paper { fill: #fff; stroke: none }\n"
	".network path { fill: none; stroke: #888; stroke-width: 1.2 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	".network text { fill: #e6e9ec } .network .port { fill: #9aa5b1 }\n"
	".network .switch { fill: #1f3a52; stroke: #7fb2de }\n"
	".network .host, .network .paper { fill: #14181c } }\n"
	"</style>\n";

static void escaped_put(const char *s, FILE *out)
{
	for (; *s; s++)
		if (strchr("<>&\"", *s))
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s < 0x20 || *s > 0x7e ? '?' : *s, out);
}

static void text_put(FILE *out, const char *class, int x, int y, const char *s)
{
	fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
	escaped_put(s, out);
	fputs("</text>\n", out);
}

static void rect_put(FILE *out, const char *class, const struct draw_box *b, int by)
{
	fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n",
		class, b->x - b->width / 2 + by, b->y + by, b->width, b->height);
}

static void box_put(const struct draw *d, const struct draw_box *b, FILE *out)
{
	const char *class = d->topology->node[b->node].is_switch ? "switch" : "host";
	struct draw_text text;

	draw_box_text(d, b, &text);
	if (b->nr > 1) // a pile of them
		rect_put(out, class, b, 4);
	rect_put(out, class, b, 0);
	if (b->stacked) {
		text_put(out, "name", b->x - b->width / 2 + 8, b->y + 16, text.line[0]);
		text_put(out, "end", b->x + b->width / 2 - 8, b->y + 15, text.line[1]);
		return;
	}
	text_put(out, "middle name", b->x, b->y + 16, text.line[0]);
	for (unsigned int i = 1; i < text.nr; i++)
		text_put(out, "middle", b->x, b->y + 17 + LINE * (int)i, text.line[i]);
}

/* A line, and where its text goes. */
struct line {
	int x[2], y[2];
	bool curved; /* from below to below */
};

static struct line line_of(const struct draw *d, const struct draw_link *l)
{
	const struct draw_box *a = &d->box[l->box[0]], *b = &d->box[l->box[1]];
	struct line line = { .curved = a->layer == b->layer };

	memcpy(line.x, l->x, sizeof(line.x));
	line.y[0] = a->y + a->height;
	line.y[1] = line.curved ? b->y + b->height : b->y;
	return line;
}

/* From the one line down that a stack has. */
static void stub_put(const struct draw *d, const struct draw_link *l, FILE *out)
{
	const struct draw_box *a = &d->box[l->box[0]], *b = &d->box[l->box[1]];
	int y = b->y + b->height / 2, x = b->x + b->width / 2 + 8;
	char port[DRAW_TEXT];
	struct draw_text text;

	fprintf(out, "<path d=\"M%d %d V%d H%d\"/>\n", b->hook, a->y + a->height, y,
		b->x - b->width / 2);
	draw_port_text(d, l, 0, port);
	text_put(out, "port", b->hook + 4, y - 3, port);
	draw_link_text(d, l, &text);
	for (unsigned int i = 0; i < text.nr; i++) {
		text_put(out, "", x, y + 4, text.line[i]);
		x += LETTER * (int)strlen(text.line[i]) + LINE;
	}
}

static void line_put(const struct line *l, FILE *out)
{
	fprintf(out, "<path d=\"M%d %d", l->x[0], l->y[0]);
	if (l->curved)
		fprintf(out, " C%d %d %d %d", l->x[0], l->y[0] + 40, l->x[1], l->y[1] + 40);
	else
		fputs(" L", out);
	fprintf(out, " %d %d\"/>\n", l->x[1], l->y[1]);
}

/* On a slanted line nearer to the lower end, where lines are further apart. */
static void link_text_put(const struct draw *d, const struct draw_link *l, const struct line *line,
			  FILE *out)
{
	int lower = line->x[0] == line->x[1] || line->curved ? 50 : 64, width = 0, x, y;
	struct draw_text text;

	draw_link_text(d, l, &text);
	if (!text.nr)
		return;
	for (unsigned int i = 0; i < text.nr; i++) {
		int len = LETTER * (int)strlen(text.line[i]);

		width = len > width ? len : width;
	}
	x = (line->x[0] * (100 - lower) + line->x[1] * lower) / 100;
	y = (line->y[0] * (100 - lower) + line->y[1] * lower) / 100 + (line->curved ? 30 : 0);
	y -= LINE * (int)text.nr / 2;
	fprintf(out, "<rect class=\"paper\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
		x - width / 2, y, width, LINE * (int)text.nr);
	for (unsigned int i = 0; i < text.nr; i++)
		text_put(out, "middle", x, y + 9 + LINE * (int)i, text.line[i]);
}

static void ports_put(const struct draw *d, const struct draw_link *l, const struct line *line,
		      FILE *out)
{
	char port[DRAW_TEXT];

	for (int k = 0; k < 2; k++) {
		draw_port_text(d, l, k, port);
		text_put(out, "port", line->x[k] + 3,
			 line->y[k] + (k == 0 || line->curved ? PORT_ROOM - 6 : -4), port);
	}
}

static void caption_put(const struct draw *d, FILE *out)
{
	int y = d->height - CAPTION * (int)(d->topology->nr_jobs + (d->all.nr > 0));
	char text[512] = "every link: ";
	size_t len = strlen(text);

	for (unsigned int i = 0; i < d->all.nr && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? ", " : "",
					d->all.line[i]);
	if (d->all.nr) {
		text_put(out, "", CAPTION, y, text);
		y += CAPTION;
	}
	for (unsigned int i = 0; i < d->topology->nr_jobs; i++, y += CAPTION) {
		draw_job_text(d, i, text, sizeof(text));
		text_put(out, "", CAPTION, y, text);
	}
}

void draw_svg(const struct draw *d, FILE *out)
{
	const char *path = d->topology->path, *slash = strrchr(path, '/');

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"network\" role=\"img\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<title>the network</title>\n%s<rect class=\"paper\" width=\"100%%\" "
		"height=\"100%%\"/>\n",
		d->width, d->height, d->width, d->height, style);
	text_put(out, "title", CAPTION, 20, slash ? slash + 1 : path);
	for (unsigned int i = 0; i < d->nr_links; i++) {
		struct line line = line_of(d, &d->link[i]);

		if (!d->box[d->link[i].box[1]].stacked)
			line_put(&line, out);
	}
	for (unsigned int i = 0; i < d->nr_links; i++) {
		struct line line = line_of(d, &d->link[i]);

		if (d->box[d->link[i].box[1]].stacked) {
			stub_put(d, &d->link[i], out);
			continue;
		}
		link_text_put(d, &d->link[i], &line, out);
		ports_put(d, &d->link[i], &line, out);
	}
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		box_put(d, &d->box[i], out);
	caption_put(d, out);
	fputs("</svg>\n", out);
}
