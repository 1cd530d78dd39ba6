// SPDX-License-Identifier: BSD-3-Clause
// Where the boxes of a picture stand.
//
// A switch of a tree is as wide as all that hangs below it, so that its links go straight down, each
// with its port and its properties beside it.  In other graphs a switch stands above the middle of
// what it is linked to.
#include <stdlib.h>
#include <string.h>

#include "topologies/draw.h"

enum {
	MARGIN = 16,
	TITLE = 34,
	BOX_MIN = 48,
	BOX_PAD = 16,
	GAP = 12,	  /* between boxes beside each other */
	PORT_WIDTH = 30,  /* of a switch, for a link */
	LEVEL_GAP = 44,	  /* for the ports */
	LINE_HEIGHT = 12, /* of small text */
	CAPTION = 16,
	LETTER = 6,
	LETTER_BOLD = 8,
	STACK_HOOK = 24,
	STACK_LEFT = 60, /* of boxes in a stack, for the port */
	STACK_HEIGHT = 22,
	STACK_STEP = 28,
};

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static int lines_width(const struct draw_text *t, unsigned int from)
{
	int width = 0;

	for (unsigned int i = from; i < t->nr; i++)
		width = larger(width, LETTER * (int)strlen(t->line[i]));
	return width;
}

static void box_size(const struct draw *d, struct draw_box *b)
{
	struct draw_text text;

	draw_box_text(d, b, &text);
	if (b->stacked) { // all in one line
		b->width = LETTER_BOLD * (int)strlen(text.line[0]) + lines_width(&text, 1) +
			   BOX_PAD + LETTER;
		b->height = STACK_HEIGHT;
		return;
	}
	b->width = larger(LETTER_BOLD * (int)strlen(text.line[0]), lines_width(&text, 1));
	b->width = larger(b->width + BOX_PAD, BOX_MIN);
	b->height = 14 + LINE_HEIGHT * (int)text.nr;
}

static bool is_uplink(const struct draw *d, const struct draw_link *l)
{
	return d->box[l->box[1]].up == l->box[0];
}

/* Room for the text of the link upwards; returns how many lines that has. */
static int link_room(struct draw *d, const struct draw_link *l)
{
	struct draw_box *lower = &d->box[l->box[1]];
	struct draw_text text;
	char port[DRAW_TEXT];

	draw_link_text(d, l, &text);
	draw_port_text(d, l, 0, port);
	if (lower->stacked) {
		for (unsigned int i = 0; i < text.nr; i++)
			lower->slot += LETTER * (int)strlen(text.line[i]) + GAP;
		return 0;
	}
	if (is_uplink(d, l)) {
		lower->slot = larger(lower->slot, lines_width(&text, 0) + GAP);
		// It stands right of the middle.
		lower->slot = larger(lower->slot, 2 * LETTER * (int)strlen(port) + GAP);
	}
	return (int)text.nr;
}

static unsigned int ends_count(const struct draw *d, unsigned int box)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < d->nr_links; i++)
		nr += d->link[i].box[0] == box || d->link[i].box[1] == box;
	return nr;
}

static void sizes_find(struct draw *d)
{
	for (unsigned int i = 0; i < d->nr_boxes; i++) {
		struct draw_box *b = &d->box[i];

		box_size(d, b);
		if (!d->tree && d->topology->node[b->node].is_switch)
			b->width = larger(b->width, PORT_WIDTH * (int)ends_count(d, i) / 2);
		b->slot = (b->stacked ? STACK_LEFT : 0) + b->width + GAP;
	}
}

/* The next below `up` in the order of its ports, from `last` on; DRAW_NONE: there is no other. */
static unsigned int child_next(const struct draw *d, unsigned int up, unsigned int last)
{
	unsigned int best = DRAW_NONE;
	const struct draw_box *b = d->box;

	for (unsigned int i = 0; i < d->nr_boxes; i++) {
		bool after = last == DRAW_NONE || b[i].up_port > b[last].up_port ||
			     (b[i].up_port == b[last].up_port && i > last);

		if (b[i].up == up && after && (best == DRAW_NONE || b[i].up_port < b[best].up_port))
			best = i;
	}
	return best;
}

// The first of a stack has its room.
static void stacks_find(struct draw *d)
{
	for (unsigned int up = 0; up < d->nr_boxes; up++) {
		unsigned int first = DRAW_NONE, row = 0;

		for (unsigned int i = child_next(d, up, DRAW_NONE); i != DRAW_NONE;
		     i = child_next(d, up, i)) {
			struct draw_box *b = &d->box[i];

			if (!b->stacked)
				continue;
			first = first == DRAW_NONE ? i : first;
			b->row = row++;
			if (i == first)
				continue;
			d->box[first].slot = larger(d->box[first].slot, b->slot);
			b->slot = 0;
		}
	}
}

// From the bottom up: a box needs the room of all below it.
static void slots_sum(struct draw *d)
{
	int below[TOPOLOGY_NODES_MAX];

	memset(below, 0, sizeof(below));
	for (unsigned int layer = d->nr_layers; layer-- > 0;)
		for (unsigned int i = 0; i < d->nr_boxes; i++) {
			struct draw_box *b = &d->box[i];

			if (b->layer != layer)
				continue;
			b->slot = larger(b->slot, below[i]);
			if (b->up != DRAW_NONE)
				below[b->up] += b->slot;
		}
}

/* Those below a box, or those with nothing above, side by side from `left` on. */
static void children_place(struct draw *d, unsigned int up, int left, int room)
{
	unsigned int first = child_next(d, up, DRAW_NONE);
	int sum = 0, stack = 0, half = 0;

	for (unsigned int i = first; i != DRAW_NONE; i = child_next(d, up, i))
		sum += d->box[i].slot;
	left += larger(0, room - sum) / 2;
	for (unsigned int i = first; i != DRAW_NONE; i = child_next(d, up, i)) {
		struct draw_box *b = &d->box[i];

		if (b->stacked && b->row == 0)
			stack = left;
		b->x = b->stacked ? stack + STACK_LEFT + b->width / 2 : left + b->slot / 2;
		b->hook = b->stacked ? stack + STACK_HOOK : b->x;
		left += b->slot;
		if (up != DRAW_NONE)
			half = larger(half, abs(b->hook - d->box[up].x));
	}
	if (up != DRAW_NONE && first != DRAW_NONE && d->tree)
		d->box[up].width = larger(d->box[up].width, 2 * half + PORT_WIDTH);
}

static void columns_place(struct draw *d)
{
	children_place(d, DRAW_NONE, MARGIN, 0);
	for (unsigned int layer = 0; layer < d->nr_layers; layer++)
		for (unsigned int i = 0; i < d->nr_boxes; i++)
			if (d->box[i].layer == layer)
				children_place(d, i, d->box[i].x - d->box[i].slot / 2,
					       d->box[i].slot);
}

/* The middle of what a box is linked to below, or where it is. */
static int middle_below(const struct draw *d, unsigned int box)
{
	int sum = 0, nr = 0;

	for (unsigned int i = 0; i < d->nr_links; i++) {
		const struct draw_link *l = &d->link[i];

		if (l->box[0] != box || d->box[l->box[1]].layer <= d->box[box].layer)
			continue;
		sum += d->box[l->box[1]].x;
		nr++;
	}
	return nr ? sum / nr : d->box[box].x;
}

static unsigned int leftmost(const struct draw *d, unsigned int layer, const int *wish,
			     const bool *done)
{
	unsigned int best = DRAW_NONE;

	for (unsigned int i = 0; i < d->nr_boxes; i++)
		if (d->box[i].layer == layer && !done[i] &&
		    (best == DRAW_NONE || wish[i] < wish[best]))
			best = i;
	return best;
}

// Each where it wishes, but no two at one place; the row as a whole keeps its middle.
static void row_place(struct draw *d, unsigned int layer)
{
	int wish[TOPOLOGY_NODES_MAX], right = INT32_MIN / 2, error = 0, nr = 0;
	bool done[TOPOLOGY_NODES_MAX] = { false };

	for (unsigned int i = 0; i < d->nr_boxes; i++)
		wish[i] = d->box[i].layer == layer ? middle_below(d, i) : 0;
	for (unsigned int i; (i = leftmost(d, layer, wish, done)) != DRAW_NONE; nr++) {
		struct draw_box *b = &d->box[i];

		done[i] = true;
		b->x = larger(wish[i], right + b->width / 2);
		right = b->x + b->width / 2 + 3 * GAP;
		error += b->x - wish[i];
	}
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		if (d->box[i].layer == layer)
			d->box[i].x -= error / nr;
}

static void rows_place(struct draw *d)
{
	int left = INT32_MAX;

	for (unsigned int layer = d->nr_layers - 1; layer-- > 0;)
		row_place(d, layer);
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		left = d->box[i].x - d->box[i].width / 2 < left ? d->box[i].x - d->box[i].width / 2
								: left;
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		d->box[i].x += MARGIN - left;
}

static int box_right(const struct draw_box *b)
{
	return b->stacked ? b->hook + b->slot : b->x + larger(b->width, b->slot) / 2;
}

// The space above a layer has room for what its links say.
static void layers_place(struct draw *d, const int *lines)
{
	int y = TITLE;

	for (unsigned int layer = 0; layer < d->nr_layers; layer++) {
		int height = 0;

		y += layer ? LEVEL_GAP + LINE_HEIGHT * lines[layer] : 0;
		for (unsigned int i = 0; i < d->nr_boxes; i++) {
			if (d->box[i].layer != layer)
				continue;
			d->box[i].y = y + STACK_STEP * (int)d->box[i].row;
			height = larger(height, d->box[i].y + d->box[i].height - y);
		}
		y += height;
	}
	d->height = y + LEVEL_GAP + CAPTION * (int)(d->topology->nr_jobs + (d->all.nr > 0));
	for (unsigned int i = 0; i < d->nr_boxes; i++)
		d->width = larger(d->width, box_right(&d->box[i]));
	d->width = larger(d->width + MARGIN, 40 * LETTER_BOLD);
}

/* Where a link's end is: below its box, but for the lower end of one that goes down. */
static bool end_is_below(const struct draw *d, const struct draw_link *l, int k)
{
	return k == 0 || d->box[l->box[0]].layer == d->box[l->box[1]].layer;
}

static int other_x(const struct draw *d, const struct draw_link *l, int k)
{
	return d->box[l->box[1 - k]].x;
}

/* Spread over the box's side, in the order of where the links go. */
static int end_x(const struct draw *d, const struct draw_link *l, int k)
{
	const struct draw_box *b = &d->box[l->box[k]];
	int nr = 0, before = 0;

	if (d->tree && is_uplink(d, l))
		return d->box[l->box[1]].hook;
	for (unsigned int i = 0; i < 2 * d->nr_links; i++) {
		const struct draw_link *o = &d->link[i / 2];
		int side = (int)(i % 2), dx = other_x(d, o, side) - other_x(d, l, k);

		if (o->box[side] != l->box[k] || (d->tree && is_uplink(d, o)) ||
		    end_is_below(d, o, side) != end_is_below(d, l, k))
			continue;
		nr++;
		before += dx < 0 || (dx == 0 && o < l);
	}
	return b->x - b->width / 2 + (before + 1) * b->width / (nr + 1);
}

int draw_layout(struct draw *d)
{
	int lines[TOPOLOGY_NODES_MAX + 1] = { 0 };

	sizes_find(d);
	for (unsigned int i = 0; i < d->nr_links; i++) {
		int nr = link_room(d, &d->link[i]);
		unsigned int layer = d->box[d->link[i].box[1]].layer;

		lines[layer] = larger(lines[layer], nr);
	}
	stacks_find(d);
	slots_sum(d);
	columns_place(d);
	if (!d->tree && d->nr_layers)
		rows_place(d);
	layers_place(d, lines);
	for (unsigned int i = 0; i < d->nr_links; i++)
		for (int k = 0; k < 2; k++)
			d->link[i].x[k] = end_x(d, &d->link[i], k);
	return 0;
}
