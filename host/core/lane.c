// SPDX-License-Identifier: BSD-3-Clause
// lane.c - one lane: slots in flight, what to send again and when.
#include "host/core/lane.h"

#include <assert.h>
#include <string.h>

static uint32_t log_len(unsigned len)
{
	uint32_t n = 16;

	while (n < 4 * len)
		n *= 2;
	return n;
}

static size_t align64(size_t n)
{
	return (n + 63) / 64 * 64;
}

size_t lane_size(unsigned len)
{
	return align64(len * sizeof(struct flight)) + align64(log_len(len) * sizeof(uint16_t)) +
	       align64(len * sizeof(uint16_t));
}

size_t lane_init(struct lane *lane, void *mem, unsigned len)
{
	uint8_t *p = mem;

	*lane = (struct lane){ .log_len = log_len(len) };
	lane->flights = (void *)p;
	p += align64(len * sizeof(struct flight));
	lane->log = (void *)p;
	p += align64(lane->log_len * sizeof(uint16_t));
	lane->again = (void *)p;
	return lane_size(len);
}

void lane_begin(struct lane *lane, unsigned base, unsigned len)
{
	memset(lane->flights, 0, len * sizeof(struct flight));
	lane->base = (uint16_t)base;
	lane->len = (uint16_t)len;
	lane->shift = (int8_t)(len & (len - 1) ? -1 : __builtin_ctz(len));
	lane->next = 0;
	lane->flying = 0;
	lane->head = lane->tail = 0;
	lane->again_head = lane->nr_again = 0;
	lane->backoff = 0;
	lane->timed_out_ns = 0;
	lane->burst = 1;
	lane->helped = false;
}

struct flight *lane_free(struct lane *lane)
{
	struct flight *f = lane_flight(lane, lane->next);

	return f->flying ? NULL : f;
}

static void lane_queue(struct lane *lane, struct flight *f)
{
	if (f->again)
		return;
	f->again = true;
	assert(lane->nr_again < lane->len);
	lane->again[(lane->again_head + lane->nr_again++) % lane->len] =
		(uint16_t)(f - lane->flights);
}

/* The oldest record's flight if it is live: neither taken, nor sent again since, nor queued for it. */
static struct flight *lane_head(struct lane *lane)
{
	for (; lane->head != lane->tail; lane->head++) {
		struct flight *f = &lane->flights[lane->log[lane->head & (lane->log_len - 1)]];

		if (f->flying && f->seq == lane->head && !f->again)
			return f;
	}
	return NULL;
}

void lane_send(struct lane *lane, struct flight *f, uint64_t now_ns)
{
	struct flight *oldest;

	if (lane->tail - lane->head == lane->log_len) { /* make room: what is that old is lost */
		oldest = lane_head(lane);
		if (oldest && lane->tail - lane->head == lane->log_len) {
			lane_queue(lane, oldest);
			lane->head++;
		}
	}
	f->seq = lane->tail;
	f->sent_ns = now_ns;
	if (f->tries++ == 0)
		f->first_seq = f->seq;
	lane->log[lane->tail++ & (lane->log_len - 1)] = (uint16_t)(f - lane->flights);
}

unsigned lane_take(struct lane *lane, struct flight *f, unsigned window)
{
	uint64_t seq = f->first_seq;
	struct flight *oldest;
	unsigned nr = 0;

	f->flying = false;
	lane->flying--;
	lane->backoff = 0;
	if (f->tries > 1)
		lane->helped = true;
	else
		lane->burst = 1;
	while ((oldest = lane_head(lane)) != NULL) {
		if (lane->head + LANE_REORDER + (oldest->tries > 1 ? window : 0) > seq)
			break;
		lane_queue(lane, oldest);
		nr++;
	}
	return nr;
}

struct flight *lane_again(struct lane *lane)
{
	while (lane->nr_again) {
		struct flight *f = &lane->flights[lane->again[lane->again_head]];

		lane->again_head = (lane->again_head + 1) % lane->len;
		lane->nr_again--;
		if (!f->again)
			continue;
		f->again = false;
		if (f->flying)
			return f;
	}
	return NULL;
}

static uint64_t lane_rto(const struct lane *lane, uint64_t rto_ns, uint64_t rto_max_ns)
{
	rto_ns <<= lane->backoff;
	return rto_ns < rto_max_ns ? rto_ns : rto_max_ns;
}

/* Queues the lowest chunks in flight, at most max. */
static unsigned lane_queue_lowest(struct lane *lane, unsigned max)
{
	uint64_t g = lane->next > lane->len ? lane->next - lane->len : 0;
	unsigned nr = 0;

	for (; g < lane->next && nr < max; g++) {
		struct flight *f = lane_flight(lane, g);

		if (f->flying && f->g == g && !f->again) {
			lane_queue(lane, f);
			nr++;
		}
	}
	return nr;
}

/*
 * A result waits for the slowest rank, so silence mostly means that somebody is late, not that packets are lost:
 * a timeout sends only the lowest chunk again, the next one waits twice as long.  If that helped, and nothing
 * else arrives until the next timeout, many were lost: it sends twice as many each time.
 */
unsigned lane_expire(struct lane *lane, uint64_t rto_ns, uint64_t rto_max_ns, uint64_t now_ns)
{
	uint64_t rto = lane_rto(lane, rto_ns, rto_max_ns);
	struct flight *f = lane_head(lane);

	if (!f || now_ns < f->sent_ns + rto || now_ns < lane->timed_out_ns + rto)
		return 0;
	lane->timed_out_ns = now_ns;
	lane->burst = lane->helped ? 2 * lane->burst : 1;
	lane->helped = false;
	if (lane->burst > lane->len)
		lane->burst = lane->len;
	if (lane->backoff < LANE_BACKOFF_MAX)
		lane->backoff++;
	return lane_queue_lowest(lane, lane->burst);
}

uint64_t lane_deadline(struct lane *lane, uint64_t rto_ns, uint64_t rto_max_ns)
{
	uint64_t rto = lane_rto(lane, rto_ns, rto_max_ns), since = lane->timed_out_ns;
	struct flight *oldest;

	if (lane->nr_again)
		return 0;
	if (!lane->flying)
		return UINT64_MAX;
	oldest = lane_head(lane);
	if (oldest && oldest->sent_ns > since)
		since = oldest->sent_ns;
	return since + rto;
}

struct flight *lane_lowest(const struct lane *lane)
{
	struct flight *low = NULL;

	for (unsigned i = 0; i < lane->len; i++) {
		struct flight *f = &lane->flights[i];

		if (f->flying && (!low || f->g < low->g))
			low = f;
	}
	return low;
}
