// SPDX-License-Identifier: BSD-3-Clause
// One direction of a link in virtual time: a row of packets, of which the first has an event.
#include "topologies/line.h"

#include <stddef.h>
#include <stdlib.h>

#include "proto/wire.h"

#define LINE_SECOND UINT64_C(1000000000)

enum { PACKET_LINE = 64 };
_Static_assert((offsetof(struct packet, data) + WIRE_HEADER) % PACKET_LINE == 0, "alignment");

static size_t packet_bytes(const struct packet_pool *pool)
{
	return (offsetof(struct packet, data) + pool->room + PACKET_LINE - 1) / PACKET_LINE *
	       PACKET_LINE;
}

struct packet *packet_get(struct packet_pool *pool)
{
	struct packet *packet = pool->idle;

	if (packet) {
		pool->idle = packet->next;
	} else {
		packet = aligned_alloc(PACKET_LINE, packet_bytes(pool));
		if (!packet)
			return NULL;
		pool->nr_made++;
	}
	packet->next = NULL;
	pool->nr_out++;
	return packet;
}

void packet_put(struct packet_pool *pool, struct packet *packet)
{
	packet->next = pool->idle;
	pool->idle = packet;
	pool->nr_out--;
}

void packet_pool_free(struct packet_pool *pool)
{
	while (pool->idle) {
		struct packet *packet = pool->idle;

		pool->idle = packet->next;
		free(packet);
	}
}

static void line_fire(struct event *event)
{
	struct line *line = (struct line *)((char *)event - offsetof(struct line, event));
	const uint64_t now_ns = line->agenda->now_ns;

	while (line->first && line->first->arrives_ns <= now_ns) {
		struct packet *packet = line->first;

		if (line->waiting == packet) {
			line->waiting = packet->next;
			line->nr_waiting--;
		}
		line->first = packet->next;
		if (!line->first)
			line->last = NULL;
		packet->next = NULL;
		line->deliver(line, packet);
	}
	if (line->first)
		agenda_set(line->agenda, &line->event, line->first->arrives_ns);
}

void line_init(struct line *line, struct agenda *agenda, struct packet_pool *pool)
{
	line->event = (struct event){ .fire = line_fire };
	line->agenda = agenda;
	line->pool = pool;
	line->busy_ns = line->busy_part = 0;
	line->first = line->last = line->waiting = NULL;
	line->nr_waiting = 0;
	line->stats = (struct line_stats){ 0 };
}

uint32_t line_waiting(struct line *line)
{
	while (line->waiting && line->waiting->leaves_ns <= line->agenda->now_ns) {
		line->waiting = line->waiting->next;
		line->nr_waiting--;
	}
	return line->nr_waiting;
}

uint64_t line_half(const struct line *line)
{
	const uint64_t now_ns = line->agenda->now_ns;

	return line->busy_ns > now_ns ? now_ns + (line->busy_ns - now_ns) / 2 : now_ns;
}

/* Bytes that wait, as far as time tells. */
static uint64_t line_backlog(const struct line *line)
{
	const uint64_t now_ns = line->agenda->now_ns;

	if (line->busy_ns <= now_ns)
		return 0;
	return (uint64_t)((double)(line->busy_ns - now_ns) * (double)line->rate / 8e9);
}

/* An empty line takes any packet: it leaves at once. */
static bool line_is_full(struct line *line, uint32_t bytes)
{
	if (!line->queue || line->busy_ns <= line->agenda->now_ns)
		return false;
	if (line->queue_bytes)
		return line_backlog(line) + bytes > line->queue;
	return line_waiting(line) >= line->queue;
}

/* When the last bit has left. */
static uint64_t line_leaves(struct line *line, uint32_t bytes)
{
	const uint64_t now_ns = line->agenda->now_ns;
	uint64_t work;

	if (line->busy_ns < now_ns) {
		line->busy_ns = now_ns;
		line->busy_part = 0;
	}
	work = 8 * (uint64_t)bytes * LINE_SECOND + line->busy_part;
	line->busy_ns += work / line->rate;
	line->busy_part = work % line->rate;
	return line->busy_ns;
}

bool line_send(struct line *line, struct packet *packet)
{
	const uint32_t bytes = packet->len + LINE_OVERHEAD;
	uint64_t backlog;

	if (line_is_full(line, bytes)) {
		line->stats.dropped++;
		packet_put(line->pool, packet);
		return false;
	}
	packet->leaves_ns = line_leaves(line, bytes);
	packet->arrives_ns = packet->leaves_ns + line->delay_ns;
	packet->next = NULL;
	if (line->last)
		line->last->next = packet;
	else
		line->first = packet;
	line->last = packet;
	line_waiting(line);
	if (!line->waiting)
		line->waiting = packet;
	line->nr_waiting++;
	line->stats.packets++;
	line->stats.bytes += bytes;
	if (line->nr_waiting > line->stats.deepest)
		line->stats.deepest = line->nr_waiting;
	backlog = line_backlog(line);
	if (backlog > line->stats.deepest_bytes)
		line->stats.deepest_bytes = backlog;
	if (line->first == packet)
		agenda_set(line->agenda, &line->event, packet->arrives_ns);
	return true;
}

void line_empty(struct line *line)
{
	while (line->first) {
		struct packet *packet = line->first;

		line->first = packet->next;
		packet_put(line->pool, packet);
	}
	line->last = line->waiting = NULL;
	line->nr_waiting = 0;
	agenda_clear(line->agenda, &line->event);
}
