// SPDX-License-Identifier: BSD-3-Clause
/* stage.c - packets meet faults on purpose: they are lost, doubled, changed, and wait. */
#include "switch/stage.h"

#include <stdlib.h>

#include "proto/frame.h"
#include "switch/core/corrupt.h"
#include "switch/lcore.h"

/* One direction of one port. */
struct stage_way {
	struct lcore *lcore;
	struct lcore_port *p;
	struct lcore_faults *faults;
};

int stage_init(struct lcore *lcore)
{
	struct stage *stage = &lcore->stage;
	uint8_t *mem;

	*stage = (struct stage){
		.pkts = calloc(STAGE_PKTS, sizeof(*stage->pkts)),
		.free = calloc(STAGE_PKTS, sizeof(*stage->free)),
		.mem = calloc(2 * (size_t)lcore->nr_ports, HOLD_BYTES),
	};
	if (!stage->pkts || !stage->free || !stage->mem ||
	    pool_plain_init(&stage->buffers, STAGE_BUFFERS, STAGE_ROOM)) {
		stage_fini(lcore);
		return -1;
	}
	while (stage->nr_free < STAGE_PKTS) {
		stage->free[stage->nr_free] = (uint16_t)(STAGE_PKTS - 1 - stage->nr_free);
		stage->nr_free++;
	}
	mem = stage->mem;
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		hold_init(&lcore->ports[i].in.hold, mem + 2 * i * HOLD_BYTES);
		hold_init(&lcore->ports[i].out.hold, mem + (2 * i + 1) * HOLD_BYTES);
	}
	return 0;
}

static void stage_empty(struct lcore *lcore, struct lcore_faults *faults)
{
	int item;

	while ((item = hold_take(&faults->hold, UINT64_MAX)) != HOLD_NONE) {
		pkt_put(&lcore->stage.pkts[item]);
		lcore->nr_held--;
	}
	faults->hold = (struct hold){ .heap = NULL };
}

void stage_fini(struct lcore *lcore)
{
	struct stage *stage = &lcore->stage;

	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		stage_empty(lcore, &lcore->ports[i].in);
		stage_empty(lcore, &lcore->ports[i].out);
	}
	pool_plain_fini(&stage->buffers);
	free(stage->pkts);
	free(stage->free);
	free(stage->mem);
	*stage = (struct stage){ .nr_free = 0 };
}

/* As far as a rate counts them. */
static uint32_t stage_bytes(const struct stage_way *way, const struct pkt *pkt)
{
	return pkt->len + (way->p->port.framed ? 0 : FRAME_HEADERS);
}

/* What came in is counted, whatever becomes of it. */
static void stage_drop(const struct stage_way *way, struct pkt *pkt, enum counter counter)
{
	struct port_stats *stats = &way->p->port.stats;

	if (counter == COUNTER_impaired_room)
		way->faults->nr_room++;
	if (way->faults == &way->p->in) {
		way->lcore->counters.v[counter]++;
		stats->rx++;
		stats->rx_bytes += pkt->len;
	}
	pkt_put(pkt);
}

/* Into a buffer of the stage's, unless it is larger than any and has one already. */
static bool stage_own(const struct stage_way *way, struct pkt *pkt)
{
	struct pool *pool = &way->lcore->stage.buffers.pool;
	struct pkt own;

	if (pkt->pool == pool || (pkt->pool && pkt->len > STAGE_ROOM))
		return true;
	if (!pool->get || !pkt_copy(&own, pool, pkt))
		return false;
	pkt_put(pkt);
	*pkt = own;
	return true;
}

/* False: it was dropped. */
static bool stage_corrupt(const struct stage_way *way, struct pkt *pkt,
			  const struct impair_copy *copy)
{
	bool checked = copy->corrupt == IMPAIR_CORRUPT_CHECKED;

	/* What goes out of a socket shares its bytes with what goes to others. */
	if (!pkt->pool && way->faults == &way->p->out && !stage_own(way, pkt)) {
		stage_drop(way, pkt, COUNTER_impaired_room);
		return false;
	}
	if (!way->p->port.framed) {
		corrupt_payload(pkt->data, pkt->len, copy->noise);
		return true;
	}
	if (!corrupt_frame(pkt->data, pkt->len, copy->noise, checked)) {
		stage_drop(way, pkt, COUNTER_impaired);
		return false;
	}
	pkt->verify = true;
	return true;
}

static bool stage_hold(const struct stage_way *way, const struct pkt *pkt,
		       const struct impair_copy *copy)
{
	const struct impair *impair = &way->faults->impair;
	struct stage *stage = &way->lcore->stage;
	struct hold *hold = &way->faults->hold;
	uint16_t item;

	if (!stage->nr_free)
		return false;
	item = stage->free[stage->nr_free - 1];
	/* If too many wait for others already, it is not overtaken. */
	if (!(copy->late && hold_put_late(hold, item, copy->due_ns + impair_late_ns(impair),
					  impair->params.distance)) &&
	    !hold_put(hold, item, copy->due_ns))
		return false;
	stage->nr_free--;
	stage->pkts[item] = *pkt;
	way->lcore->nr_held++;
	return true;
}

static void stage_put_copy(const struct stage_way *way, struct pkt *pkt,
			   const struct impair_copy *copy)
{
	bool waits = copy->late || copy->due_ns > way->lcore->now.now_ns;

	if (copy->queue_full) {
		stage_drop(way, pkt, COUNTER_impaired_queue);
		return;
	}
	if (copy->corrupt != IMPAIR_INTACT && !stage_corrupt(way, pkt, copy))
		return;
	if ((waits && !stage_own(way, pkt)) || !stage_hold(way, pkt, copy))
		stage_drop(way, pkt, COUNTER_impaired_room);
}

void stage_put(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults,
	       struct pkt *pkt)
{
	const struct stage_way way = { lcore, p, faults };
	struct pkt twin = *pkt;
	struct impair_fate fate;
	bool twice;

	impair_next(&faults->impair, lcore->now.now_ns, stage_bytes(&way, pkt), &fate);
	if (!fate.nr) {
		stage_drop(&way, pkt, COUNTER_impaired);
		return;
	}
	/* Before anything changes the bytes. */
	twin.pool = NULL;
	twice = fate.nr > 1 && stage_own(&way, &twin);
	stage_put_copy(&way, pkt, &fate.copies[0]);
	if (twice)
		stage_put_copy(&way, &twin, &fate.copies[1]);
	else if (fate.nr > 1)
		stage_drop(&way, &twin, COUNTER_impaired_room);
}

bool stage_take(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults, bool all,
		struct pkt *pkt)
{
	const struct stage_way way = { lcore, p, faults };
	struct stage *stage = &lcore->stage;
	struct pkt own;
	int item;

	while ((item = hold_take(&faults->hold, all ? UINT64_MAX : lcore->now.now_ns)) !=
	       HOLD_NONE) {
		*pkt = stage->pkts[item];
		stage->free[stage->nr_free++] = (uint16_t)item;
		lcore->nr_held--;
		if (!p->port.framed || pkt->pool != &stage->buffers.pool)
			return true;
		if (pkt_copy(&own, p->port.pool, pkt)) {
			pkt_put(pkt);
			*pkt = own;
			return true;
		}
		stage_drop(&way, pkt, COUNTER_impaired_room);
	}
	return false;
}

/* What becomes of packets that wait when the rate changes. */
struct stage_change {
	const struct stage_way *way;
	uint64_t sent_ns; /* what is due by then is behind the rate's queue already */
};

static uint64_t stage_requeue(void *context, uint16_t item, uint64_t due_ns)
{
	const struct stage_change *change = context;
	const struct stage_way *way = change->way;
	struct impair *impair = &way->faults->impair;

	if (due_ns <= change->sent_ns)
		return due_ns;
	return impair_requeue(impair, way->lcore->now.now_ns,
			      stage_bytes(way, &way->lcore->stage.pkts[item])) +
	       impair->params.delay_ns;
}

void stage_retime(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults,
		  const struct impair_params *before)
{
	const struct stage_way way = { lcore, p, faults };
	struct stage_change change = {
		.way = &way,
		.sent_ns = lcore->now.now_ns + before->delay_ns + before->jitter_ns,
	};

	hold_retime(&faults->hold, stage_requeue, &change);
}

uint64_t stage_due(const struct lcore *lcore)
{
	uint64_t due_ns = UINT64_MAX;

	for (unsigned i = 0; i < lcore->nr_ports && lcore->nr_held; i++) {
		uint64_t in = hold_due(&lcore->ports[i].in.hold);
		uint64_t out = hold_due(&lcore->ports[i].out.hold);

		due_ns = in < due_ns ? in : due_ns;
		due_ns = out < due_ns ? out : due_ns;
	}
	return due_ns;
}
