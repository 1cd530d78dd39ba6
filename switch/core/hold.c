// SPDX-License-Identifier: BSD-3-Clause
/* hold.c - what is held back: a binary heap by time, and a list of those that wait for others. */
#include "switch/core/hold.h"

#include <string.h>

void hold_init(struct hold *hold, void *mem)
{
	*hold = (struct hold){
		.heap = mem,
		.late = (void *)((uint8_t *)mem + HOLD_MAX * sizeof(struct hold_entry)),
	};
}

/* Sequence numbers may wrap: fewer than 2^31 are between any two that are held. */
static bool hold_before(const struct hold_entry *a, const struct hold_entry *b)
{
	if (a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns;
	return (int32_t)(a->seq - b->seq) < 0;
}

static void hold_push(struct hold *hold, const struct hold_entry *entry)
{
	uint32_t i = hold->nr++;

	for (; i > 0 && hold_before(entry, &hold->heap[(i - 1) / 2]); i = (i - 1) / 2)
		hold->heap[i] = hold->heap[(i - 1) / 2];
	hold->heap[i] = *entry;
}

static uint16_t hold_pop(struct hold *hold)
{
	struct hold_entry last = hold->heap[--hold->nr];
	uint16_t item = hold->heap[0].item;
	uint32_t i = 0, child;

	for (child = 1; child < hold->nr; child = 2 * i + 1) {
		if (child + 1 < hold->nr && hold_before(&hold->heap[child + 1], &hold->heap[child]))
			child++;
		if (!hold_before(&hold->heap[child], &last))
			break;
		hold->heap[i] = hold->heap[child];
		i = child;
	}
	hold->heap[i] = last;
	return item;
}

/* One more goes before those that wait; whoever has waited long enough is behind it. */
static void hold_overtake(struct hold *hold, uint64_t due_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < hold->nr_late; i++) {
		struct hold_late *late = &hold->late[i];

		if (--late->left) {
			hold->late[kept++] = *late;
			continue;
		}
		if (due_ns < late->entry.due_ns)
			late->entry.due_ns = due_ns;
		late->entry.seq = hold->seq++;
		hold_push(hold, &late->entry);
	}
	hold->nr_late = kept;
}

bool hold_put(struct hold *hold, uint16_t item, uint64_t due_ns)
{
	struct hold_entry entry = { .due_ns = due_ns, .seq = hold->seq, .item = item };

	if (!hold->heap || hold_count(hold) == HOLD_MAX)
		return false;
	hold->seq++;
	hold_push(hold, &entry);
	hold_overtake(hold, due_ns);
	return true;
}

bool hold_put_late(struct hold *hold, uint16_t item, uint64_t due_ns, uint32_t distance)
{
	if (!hold->heap || hold_count(hold) == HOLD_MAX || hold->nr_late == HOLD_LATE)
		return false;
	hold->late[hold->nr_late++] = (struct hold_late){
		.entry = { .due_ns = due_ns, .seq = hold->seq++, .item = item },
		.left = distance ? distance : 1,
	};
	return true;
}

/* The first of those that wait, by time; nr_late if there is none. */
static uint32_t hold_late_first(const struct hold *hold)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < hold->nr_late; i++)
		if (hold_before(&hold->late[i].entry, &hold->late[first].entry))
			first = i;
	return first;
}

int hold_take(struct hold *hold, uint64_t now_ns)
{
	uint32_t first = hold_late_first(hold);
	const struct hold_late *late = hold->nr_late ? &hold->late[first] : NULL;
	uint16_t item;

	if (late && (!hold->nr || hold_before(&late->entry, &hold->heap[0]))) {
		if (late->entry.due_ns > now_ns)
			return HOLD_NONE;
		item = late->entry.item;
		hold->nr_late--;
		memmove(&hold->late[first], &hold->late[first + 1],
			(hold->nr_late - first) * sizeof(*hold->late));
		return item;
	}
	if (!hold->nr || hold->heap[0].due_ns > now_ns)
		return HOLD_NONE;
	return hold_pop(hold);
}

/* What is taken from the heap leaves room behind it: the last one taken lies first there. */
static uint32_t hold_sort(struct hold *hold)
{
	uint32_t nr = hold->nr;

	while (hold->nr) {
		struct hold_entry first = hold->heap[0];

		hold_pop(hold);
		hold->heap[hold->nr] = first;
	}
	for (uint32_t i = 0; i < nr / 2; i++) {
		struct hold_entry entry = hold->heap[i];

		hold->heap[i] = hold->heap[nr - 1 - i];
		hold->heap[nr - 1 - i] = entry;
	}
	return nr;
}

void hold_retime(struct hold *hold, uint64_t (*due)(void *context, uint16_t item, uint64_t due_ns),
		 void *context)
{
	uint32_t nr = hold_sort(hold);

	for (uint32_t i = 0; i < nr; i++) {
		struct hold_entry entry = hold->heap[i];

		entry.due_ns = due(context, entry.item, entry.due_ns);
		entry.seq = hold->seq++;
		hold_push(hold, &entry);
	}
	for (uint32_t i = 0; i < hold->nr_late; i++) {
		struct hold_entry *entry = &hold->late[i].entry;

		entry->due_ns = due(context, entry->item, entry->due_ns);
		entry->seq = hold->seq++;
	}
}

uint64_t hold_due(const struct hold *hold)
{
	uint64_t due_ns = hold->nr ? hold->heap[0].due_ns : UINT64_MAX;

	if (hold->nr_late) {
		uint64_t late_ns = hold->late[hold_late_first(hold)].entry.due_ns;

		due_ns = late_ns < due_ns ? late_ns : due_ns;
	}
	return due_ns;
}
