// SPDX-License-Identifier: BSD-3-Clause
/* agg_data.c - DATA: the path that every contribution takes. */
#include "switch/core/agg.h"

/* Of another epoch, from a stranger, or of no job at all. */
static enum counter data_refuse(struct agg *agg, struct agg_in *in)
{
	enum counter counter = COUNTER_old_epoch;
	unsigned i;
	struct job *job = agg_find(agg, in, &i, &counter);

	if (!job)
		return counter;
	agg_answer(agg, in, job);
	return counter;
}

/*
 * The ends of an epoch that a contribution may bring; if the clock has no other epoch yet, it will
 * be repeated.
 */
static enum counter data_break(struct agg *agg, struct agg_in *in, struct job *job,
			       const struct agg_cause *why, enum counter counter)
{
	return agg_break(agg, job, why, in->now) ? counter : COUNTER_too_early;
}

/*
 * Two operations under one number: both descriptors are at hand in lane E, where each chunk begins
 * with it.
 */
static enum counter data_mismatch(struct agg *agg, struct agg_in *in, struct job *job,
				  const struct cell *cell)
{
	const uint8_t *values = agg_values(agg, job, in->msg.slot);
	struct agg_cause why = {
		.cause = WIRE_CAUSE_MISMATCH,
		.wid_a = in->msg.wid,
		.wid_b = job_wid(job, (unsigned)__builtin_ctzll(cell->have)),
	};

	if (in->msg.kind == WIRE_MAX8 && !(in->msg.flags & WIRE_EMPTY))
		why.desc_a = in->msg.payload;
	if (cell->kind == WIRE_MAX8 && cell->filled)
		why.desc_b = values + (size_t)(cell->round & 1) * job->stride;
	return data_break(agg, in, job, &why, COUNTER_mismatch);
}

/* A rank that is further than the slot: it did not wait for the result before. */
static enum counter data_gap(struct agg *agg, struct agg_in *in, struct job *job)
{
	struct agg_cause why = {
		.cause = WIRE_CAUSE_PROTOCOL,
		.wid_a = in->msg.wid,
		.wid_b = WIRE_WID_NONE,
	};

	return data_break(agg, in, job, &why, COUNTER_gap);
}

static enum counter data_rounds(struct agg *agg, struct agg_in *in, struct job *job)
{
	struct agg_cause why = {
		.cause = WIRE_CAUSE_ROUNDS,
		.wid_a = WIRE_WID_NONE,
		.wid_b = WIRE_WID_NONE,
	};

	return data_break(agg, in, job, &why, COUNTER_rounds);
}

static bool data_left(struct agg *agg, struct agg_in *in, struct job *job, uint64_t lacking)
{
	struct agg_cause why = {
		.cause = WIRE_CAUSE_LEFT,
		.wid_a = job_wid(job, (unsigned)__builtin_ctzll(lacking)),
		.wid_b = WIRE_WID_NONE,
	};

	return agg_break(agg, job, &why, in->now);
}

/*
 * The chunk waits for others.  If one of these has left, it waits in vain, and the epoch ends:
 * here, because the epoch of a job whose ranks leave one after the other with everything done must
 * not.
 */
static enum counter data_wait(struct agg *agg, struct agg_in *in, struct job *job,
			      const struct cell *cell, enum counter counter)
{
	uint64_t lacking = job->left & ~cell->have;

	if (lacking && data_left(agg, in, job, lacking))
		return COUNTER_left;
	if (counter == COUNTER_held) {
		in->pkt->verdict = PIPE_HOLD;
		return counter;
	}
	agg_retry_gone(agg, job, in->now);
	/* The members lacking may be in a later epoch already. */
	if (agg_is_leaf(agg))
		agg_up_probe(agg, in, job);
	return counter;
}

/* The packet becomes the RESULT; job, epoch, slot and round stay as they are in it. */
static enum counter data_result(struct agg *agg, struct agg_in *in, const struct job *job,
				const struct slot_input *result, enum pipe_verdict verdict)
{
	struct pipe_pkt *pkt = in->pkt;

	in->msg.type = WIRE_RESULT;
	in->msg.kind = result->kind;
	in->msg.flags = result->flags;
	in->msg.desc = result->desc;
	in->msg.wid = WIRE_WID_NONE;
	wire_build(pkt->data, &in->msg);
	pkt->len = agg_seal(job, pkt->data, result->len);
	pkt->verdict = (uint8_t)verdict;
	pkt->job = (uint16_t)(job - agg->table.jobs);
	return verdict == PIPE_REPLY ? COUNTER_repeated : COUNTER_completed;
}

/* The packet becomes this switch's own contribution to its parent. */
static enum counter data_partial(struct agg *agg, struct agg_in *in, const struct job *job,
				 const struct slot_input *sum, enum counter counter)
{
	struct pipe_pkt *pkt = in->pkt;

	in->msg.job = job->up.handle;
	in->msg.kind = sum->kind;
	in->msg.flags = sum->flags | WIRE_PARTIAL;
	in->msg.desc = sum->desc;
	in->msg.wid = job->range.first;
	wire_build(pkt->data, &in->msg);
	pkt->len = agg_seal(job, pkt->data, sum->len);
	pkt->verdict = PIPE_UP;
	pkt->job = (uint16_t)(job - agg->table.jobs);
	return counter;
}

static enum counter data_complete(struct agg *agg, struct agg_in *in, const struct job *job,
				  const struct slot_input *sum)
{
	if (agg_is_leaf(agg))
		return data_partial(agg, in, job, sum, COUNTER_partial);
	return data_result(agg, in, job, sum, PIPE_MULTICAST);
}

static enum counter data_add(struct agg *agg, struct agg_in *in, struct job *job, unsigned i)
{
	const struct wire_msg *msg = &in->msg;
	struct slot *slot = &agg->slots[job->lease_first + msg->slot];
	struct cell *cell = &slot->cell[msg->round & 1];
	struct slot_input add = {
		.epoch = msg->epoch,
		.all = job->all,
		.now_ns = in->now->now_ns,
		.round = msg->round,
		.desc = msg->desc,
		.wid = (uint16_t)i,
		.len = (uint16_t)msg->len,
		.kind = msg->kind,
		.flags = msg->flags,
		.leaf = agg_is_leaf(agg),
		.payload = in->pkt->data + WIRE_HEADER,
		.cap = in->pkt->cap - WIRE_HEADER - (agg_checks(job) ? WIRE_CRC : 0),
	};

	switch (slot_add(slot, agg_values(agg, job, msg->slot), job->stride, agg->ops, &add)) {
	case SLOT_HELD:
		return data_wait(agg, in, job, cell, COUNTER_held);
	case SLOT_COMPLETE:
		return data_complete(agg, in, job, &add);
	case SLOT_REPEAT:
		if (!cell->done)
			return data_partial(agg, in, job, &add, COUNTER_partial_again);
		return data_result(agg, in, job, &add, PIPE_REPLY);
	case SLOT_DUPLICATE:
		return data_wait(agg, in, job, cell, COUNTER_duplicate);
	case SLOT_STALE:
		return COUNTER_stale;
	case SLOT_NO_ROOM:
		return COUNTER_no_room;
	case SLOT_MISMATCH:
		return data_mismatch(agg, in, job, cell);
	case SLOT_GAP:
		break;
	}
	return data_gap(agg, in, job);
}

enum counter agg_data(struct agg *agg, struct agg_in *in)
{
	const struct wire_msg *msg = &in->msg;
	struct job *job = job_by_handle(&agg->table, msg->job);
	unsigned i = job ? job_index(job, msg->wid) : (unsigned)JOB_NONE;

	if (i == JOB_NONE || !job->running || msg->epoch != job->epoch ||
	    !agg_is_sealed_right(job, msg) || !agg_authorise(agg, in, job, i))
		return data_refuse(agg, in);
	/* Sums of switches come to a switch of switches, and nothing else. */
	if (((msg->flags & WIRE_PARTIAL) != 0) != job->tree)
		return COUNTER_bad_flag;
	if (msg->slot >= job->lease_nr)
		return COUNTER_bad_slot;
	if (msg->len > job->p)
		return COUNTER_no_room;
	if (msg->round >= WIRE_ROUND_END)
		return data_rounds(agg, in, job);
	return data_add(agg, in, job, i);
}
