// SPDX-License-Identifier: BSD-3-Clause
// What is written at the boxes and links of a picture.
#include <stdarg.h>
#include <string.h>

#include "switch/quantity.h"
#include "topologies/draw.h"

__attribute__((format(printf, 2, 3))) static void line_add(struct draw_text *t, const char *format,
							   ...)
{
	va_list ap;

	if (t->nr == DRAW_LINES)
		return;
	va_start(ap, format);
	vsnprintf(t->line[t->nr++], DRAW_TEXT, format, ap);
	va_end(ap);
}

static void share_add(struct draw_text *t, const char *name, double share)
{
	char text[32];

	if (share <= 0)
		return;
	quantity_print_fraction(text, sizeof(text), share);
	line_add(t, "%s %s", name, text);
}

/* The largest unit of which it is one or more; they go from large to small. */
static void quantity_add(struct draw_text *t, const char *name, const struct quantity_unit *units,
			 uint64_t v)
{
	double of = 1;

	if (!v)
		return;
	for (; units->name; units++) {
		of = units->factor;
		for (int i = 0; i < units->exponent; i++)
			of *= 10;
		if ((double)v >= of)
			break;
	}
	line_add(t, "%s%.9g%s", name, (double)v / (units->name ? of : 1),
		 units->name ? units->name : "");
}

static void properties_add(const struct topology_link *l, struct draw_text *t)
{
	static const struct quantity_unit rates[] = {
		{ "G", 9, 1 }, { "M", 6, 1 }, { "K", 3, 1 }, { NULL, 0, 0 }
	};
	static const struct quantity_unit times[] = {
		{ " s", 9, 1 }, { " ms", 6, 1 }, { " us", 3, 1 }, { " ns", 0, 1 }, { NULL, 0, 0 }
	};

	quantity_add(t, "", rates, l->rate_bps);
	quantity_add(t, "", times, l->delay_ns);
	share_add(t, "loss", l->loss);
	share_add(t, "dup", l->dup);
	share_add(t, "reorder", l->reorder);
	for (int i = 0; i < TOPOLOGY_FAULTS; i++)
		if (l->fault[i].text)
			line_add(t, "%s %s", topology_fault_name((enum topology_fault_key)i),
				 l->fault[i].text);
	if (l->mtu)
		line_add(t, "mtu %u", l->mtu);
}

static bool text_has(const struct draw_text *t, const char *line)
{
	for (unsigned int i = 0; i < t->nr; i++)
		if (strcmp(t->line[i], line) == 0)
			return true;
	return false;
}

void draw_link_text(const struct draw *d, const struct draw_link *l, struct draw_text *to)
{
	struct draw_text own = { .nr = 0 };

	to->nr = 0;
	if (l->nr > 1)
		line_add(to, "%u links", l->nr);
	if (l->differ) {
		line_add(to, "not alike");
		return;
	}
	properties_add(l->link, &own);
	for (unsigned int i = 0; i < own.nr; i++)
		if (!text_has(&d->all, own.line[i]))
			line_add(to, "%s", own.line[i]);
}

// Said once, below the picture, what each link would say.
void draw_all_text(struct draw *d)
{
	const struct topology *t = d->topology;
	struct draw_text first = { .nr = 0 };

	d->all.nr = 0;
	if (t->nr_links < 2)
		return;
	properties_add(&t->link[0], &first);
	for (unsigned int i = 0; i < first.nr; i++) {
		bool of_all = true;

		for (unsigned int k = 1; k < t->nr_links && of_all; k++) {
			struct draw_text own = { .nr = 0 };

			properties_add(&t->link[k], &own);
			of_all = text_has(&own, first.line[i]);
		}
		if (of_all)
			line_add(&d->all, "%s", first.line[i]);
	}
}

void draw_box_text(const struct draw *d, const struct draw_box *b, struct draw_text *to)
{
	const struct topology_node *n = &d->topology->node[b->node];
	static const struct quantity_unit sizes[] = {
		{ "G", 0, 1 << 30 }, { "M", 0, 1 << 20 }, { "K", 0, 1 << 10 }, { NULL, 0, 0 }
	};

	to->nr = 0;
	if (b->nr > 1) {
		line_add(to, "%u hosts", b->nr);
		line_add(to, "%s ... %s", n->name, d->topology->node[b->last].name);
		return;
	}
	line_add(to, "%s", n->name);
	line_add(to, "%u.%u.%u.%u", n->ip >> 24, n->ip >> 16 & 255, n->ip >> 8 & 255, n->ip & 255);
	if (n->restart)
		line_add(to, "restarts");
	if (n->jobs)
		line_add(to, "%u jobs", n->jobs);
	if (n->slots)
		line_add(to, "%u slots", n->slots);
	quantity_add(to, "memory ", sizes, n->memory);
}

void draw_port_text(const struct draw *d, const struct draw_link *l, int side, char *to)
{
	const struct topology_end *e = &l->link->end[l->side[side]];
	bool is_switch = d->topology->node[e->node].is_switch;

	*to = 0;
	if (is_switch && l->nr > 1 && side == 0)
		snprintf(to, DRAW_TEXT, "p%u ... p%u", e->port, l->last_port);
	else if (is_switch)
		snprintf(to, DRAW_TEXT, "p%u", e->port);
	else if (d->topology->node[e->node].nr_links > 1)
		snprintf(to, DRAW_TEXT, "eth%u", e->port);
}

void draw_job_text(const struct draw *d, unsigned int job, char *to, size_t size)
{
	const struct topology_job *j = &d->topology->job[job];
	size_t len = (size_t)snprintf(to, size, "job %s: %u rank%s on", j->name, j->ranks.nr,
				      j->ranks.nr == 1 ? "" : "s");
	unsigned int shown = j->ranks.nr > 8 ? 3 : j->ranks.nr;

	for (unsigned int k = 0; k < shown && len < size; k++)
		len += (size_t)snprintf(to + len, size - len, "%s %s", k ? "," : "",
					j->ranks.item[k]);
	if (shown < j->ranks.nr && len < size)
		snprintf(to + len, size - len, " ... %s", j->ranks.item[j->ranks.nr - 1]);
}
