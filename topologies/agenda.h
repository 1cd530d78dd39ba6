/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens when in virtual time: events in the order of their time, those of the same time in the order in which
 * they were set.
 *
 * An event is its owner's, and set for one time or none; setting it again moves it.
 */
#ifndef TOPOLOGIES_AGENDA_H
#define TOPOLOGIES_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

#define AGENDA_NEVER UINT64_MAX

/* Zeroed: not set. */
struct event {
	uint64_t at_ns, seq;
	uint32_t place; /* in the heap, from 1; 0: not set */
	void (*fire)(struct event *event);
};

struct agenda {
	uint64_t now_ns, seq;
	struct event **heap; /* four children each, from 1 */
	uint32_t nr, room;
};

/* room: events at most.  0, or -1: no memory. */
int agenda_init(struct agenda *agenda, uint32_t room);
void agenda_free(struct agenda *agenda);
/* Not before now.  AGENDA_NEVER: as agenda_clear(). */
void agenda_set(struct agenda *agenda, struct event *event, uint64_t at_ns);
void agenda_clear(struct agenda *agenda, struct event *event);
/* When the next event is; AGENDA_NEVER: there is none. */
uint64_t agenda_next(const struct agenda *agenda);
/* Now is the time of the next event, which fires.  There is one. */
void agenda_step(struct agenda *agenda);

#endif
