// SPDX-License-Identifier: BSD-3-Clause
// stream.c - the fake driver's streams: work runs late, and in any order that streams and events allow.
#include "tests/cuda/fake/world.h"

#include <stdlib.h>
#include <string.h>

enum { TICK_WORKS = 5, FINISH_TICKS = 1000000 };

static struct fake_stream *streams;

struct fake_stream *fake_stream_new(struct fake_context *context)
{
	struct fake_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		abort();
	stream->context = context;
	stream->last = &stream->first;
	stream->next = streams;
	streams = stream;
	return stream;
}

struct fake_stream *fake_stream_of(struct fake_stream *handle, struct fake_context *context)
{
	if (!handle)
		return context ? context->null : NULL;
	for (struct fake_stream *stream = streams; stream; stream = stream->next)
		if (stream == handle)
			return stream->destroyed ? NULL : stream;
	return NULL;
}

void fake_stream_push(struct fake_stream *stream, const struct fake_work *work)
{
	struct fake_work *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *work;
	copy->next = NULL;
	*stream->last = copy;
	stream->last = &copy->next;
}

static void work_run(const struct fake_work *work)
{
	void *to, *from;

	switch (work->kind) {
	case FAKE_COPY:
		to = fake_translate(work->to, work->bytes, "copy to");
		from = fake_translate(work->from, work->bytes, "copy from");
		if (to && from)
			memcpy(to, from, work->bytes);
		break;
	case FAKE_KERNEL:
		fake_kernel_run(work);
		break;
	case FAKE_RECORD:
		work->event->completed = work->mark;
		break;
	case FAKE_WAIT:
		break;
	}
}

/* Does the first thing in a stream, if that can be done. */
static bool stream_run(struct fake_stream *stream)
{
	struct fake_work *work = stream->first;

	if (!work || stream->held ||
	    (work->kind == FAKE_WAIT && work->event->completed < work->mark))
		return false;
	stream->first = work->next;
	if (!stream->first)
		stream->last = &stream->first;
	work_run(work);
	free(work);
	return true;
}

/* Streams that are destroyed and have nothing to do are forgotten. */
static void streams_sweep(void)
{
	struct fake_stream **at = &streams;

	while (*at) {
		struct fake_stream *stream = *at;

		stream->held -= stream->held > 0;
		if (stream->first || !stream->destroyed) {
			at = &stream->next;
			continue;
		}
		*at = stream->next;
		free(stream);
	}
}

static unsigned streams_busy(void)
{
	unsigned nr = 0;

	for (const struct fake_stream *stream = streams; stream; stream = stream->next)
		nr += stream->first != NULL;
	return nr;
}

static struct fake_stream *streams_pick(uint64_t nth)
{
	struct fake_stream *stream = streams;

	while (!stream->first || nth--)
		stream = stream->next;
	return stream;
}

void fake_tick(void)
{
	const uint64_t nr = fake_draw(TICK_WORKS);

	streams_sweep();
	for (uint64_t i = 0; i < nr && streams_busy(); i++) {
		struct fake_stream *stream = streams_pick(fake_draw(streams_busy()));

		/* A burst, so that one is far ahead of the others now and then. */
		for (uint64_t burst = 1 + fake_draw(4); burst && stream_run(stream); burst--)
			continue;
	}
}

void fake_stream_finish(struct fake_stream *stream)
{
	for (unsigned i = 0; stream->first && i < FINISH_TICKS; i++)
		fake_tick();
	if (stream->first)
		fake_violation("a stream waits for what never comes");
}

unsigned fake_streams(void)
{
	unsigned nr = 0;

	for (const struct fake_stream *stream = streams; stream; stream = stream->next)
		nr += !stream->destroyed && stream != stream->context->null;
	return nr;
}

static bool block_has(const struct fake_block *block, uint64_t pointer)
{
	const uint64_t base = (uint64_t)(uintptr_t)block->base;

	return pointer >= base && pointer < base + block->bytes;
}

bool fake_block_awaited(const struct fake_block *block)
{
	for (const struct fake_stream *stream = streams; stream; stream = stream->next)
		for (const struct fake_work *work = stream->first; work; work = work->next)
			if ((work->kind == FAKE_COPY &&
			     (block_has(block, work->to) || block_has(block, work->from))) ||
			    (work->kind == FAKE_KERNEL && fake_kernel_touches(work, block)))
				return true;
	return false;
}
