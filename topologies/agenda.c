// SPDX-License-Identifier: BSD-3-Clause
// What happens when in virtual time: a heap whose entries can be moved.
#include "topologies/agenda.h"

#include <stdlib.h>

enum { CHILDREN = 4 };

int agenda_init(struct agenda *agenda, uint32_t room)
{
	*agenda = (struct agenda){ .room = room };
	agenda->heap = calloc((size_t)room + 1, sizeof(struct event *));
	return agenda->heap ? 0 : -1;
}

void agenda_free(struct agenda *agenda)
{
	free(agenda->heap);
	agenda->heap = NULL;
}

static bool event_is_before(const struct event *a, const struct event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->seq < b->seq);
}

static void heap_put(struct agenda *agenda, uint32_t place, struct event *event)
{
	agenda->heap[place] = event;
	event->place = place;
}

static uint32_t heap_parent(uint32_t place)
{
	return (place - 2) / CHILDREN + 1;
}

static void heap_up(struct agenda *agenda, struct event *event)
{
	uint32_t place = event->place;

	while (place > 1 && event_is_before(event, agenda->heap[heap_parent(place)])) {
		heap_put(agenda, place, agenda->heap[heap_parent(place)]);
		place = heap_parent(place);
	}
	heap_put(agenda, place, event);
}

static void heap_down(struct agenda *agenda, struct event *event)
{
	uint32_t place = event->place;

	for (;;) {
		const uint32_t first = (place - 1) * CHILDREN + 2;
		uint32_t least = first;

		if (first > agenda->nr)
			break;
		for (uint32_t i = first + 1; i < first + CHILDREN && i <= agenda->nr; i++)
			if (event_is_before(agenda->heap[i], agenda->heap[least]))
				least = i;
		if (!event_is_before(agenda->heap[least], event))
			break;
		heap_put(agenda, place, agenda->heap[least]);
		place = least;
	}
	heap_put(agenda, place, event);
}

void agenda_clear(struct agenda *agenda, struct event *event)
{
	const uint32_t place = event->place;
	struct event *last;

	if (!place)
		return;
	event->place = 0;
	last = agenda->heap[agenda->nr--];
	if (last == event)
		return;
	heap_put(agenda, place, last);
	heap_down(agenda, last);
	heap_up(agenda, last);
}

void agenda_set(struct agenda *agenda, struct event *event, uint64_t at_ns)
{
	if (at_ns == AGENDA_NEVER) {
		agenda_clear(agenda, event);
		return;
	}
	event->at_ns = at_ns < agenda->now_ns ? agenda->now_ns : at_ns;
	event->seq = agenda->seq++;
	if (!event->place) {
		if (agenda->nr == agenda->room)
			abort();
		heap_put(agenda, ++agenda->nr, event);
		heap_up(agenda, event);
		return;
	}
	heap_down(agenda, event);
	heap_up(agenda, event);
}

uint64_t agenda_next(const struct agenda *agenda)
{
	return agenda->nr ? agenda->heap[1]->at_ns : AGENDA_NEVER;
}

void agenda_step(struct agenda *agenda)
{
	struct event *event = agenda->heap[1];

	agenda->now_ns = event->at_ns;
	agenda_clear(agenda, event);
	event->fire(event);
}
