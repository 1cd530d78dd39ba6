// SPDX-License-Identifier: BSD-3-Clause
// A picture of a topology in graphviz's language.
#include "topologies/draw.h"

static void text_put(const struct draw_text *t, FILE *out)
{
	for (unsigned int i = 0; i < t->nr; i++) {
		fputs(i ? "\\n" : "", out);
		for (const char *p = t->line[i]; *p; p++)
			if (*p == '"' || *p == '\\')
				fprintf(out, "\\%c", *p);
			else
				fputc((unsigned char)*p < 0x20 ? '?' : *p, out);
	}
}

static const char *box_name(const struct draw *d, unsigned int box)
{
	return d->topology->node[d->box[box].node].name;
}

static void box_put(const struct draw *d, unsigned int i, FILE *out)
{
	const struct draw_box *b = &d->box[i];
	struct draw_text text;

	draw_box_text(d, b, &text);
	fprintf(out, "\t\"%s\" [%slabel=\"", box_name(d, i),
		d->topology->node[b->node].is_switch
			? "style=\"rounded,filled\", fillcolor=\"#dbe9f6\", "
			: "");
	text_put(&text, out);
	fputs("\"];\n", out);
}

static void link_put(const struct draw *d, const struct draw_link *l, FILE *out)
{
	struct draw_text text;
	char port[2][DRAW_TEXT];

	draw_link_text(d, l, &text);
	draw_port_text(d, l, 0, port[0]);
	draw_port_text(d, l, 1, port[1]);
	fprintf(out, "\t\"%s\" -- \"%s\" [taillabel=\"%s\", headlabel=\"%s\", label=\"",
		box_name(d, l->box[0]), box_name(d, l->box[1]), port[0], port[1]);
	text_put(&text, out);
	fputs("\"];\n", out);
}

static void caption_put(const struct draw *d, FILE *out)
{
	char job[256];

	fputs("\tlabel=\"", out);
	if (d->all.nr) {
		fputs("every link: ", out);
		for (unsigned int i = 0; i < d->all.nr; i++)
			fprintf(out, "%s%s", i ? ", " : "", d->all.line[i]);
		fputs("\\l", out);
	}
	for (unsigned int i = 0; i < d->topology->nr_jobs; i++) {
		draw_job_text(d, i, job, sizeof(job));
		fprintf(out, "%s\\l", job);
	}
	fputs("\";\n", out);
}

void draw_dot(const struct draw *d, FILE *out)
{
	fputs("graph topology {\n"
	      "\tgraph [rankdir=TB, nodesep=0.3, ranksep=0.9, fontname=\"sans-serif\", "
	      "fontsize=11, labeljust=l];\n"
	      "\tnode [shape=box, fontname=\"sans-serif\", fontsize=11];\n"
	      "\tedge [fontname=\"sans-serif\", fontsize=9];\n",
	      out);
	for (unsigned int layer = 0; layer < d->nr_layers; layer++) {
		fputs("\t{ rank=same;", out);
		for (unsigned int i = 0; i < d->nr_boxes; i++)
			if (d->box[i].layer == layer)
				fprintf(out, " \"%s\";", box_name(d, i));
		fputs(" }\n", out);
	}
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		box_put(d, i, out);
	for (unsigned int i = 0; i < d->nr_links; i++)
		link_put(d, &d->link[i], out);
	caption_put(d, out);
	fputs("}\n", out);
}
