// SPDX-License-Identifier: BSD-3-Clause
/* agg_data.c - DATA: the path that every contribution takes. */
#include "switch/core/agg.h"

/* Of another epoch, from a stranger, or of no job at all. */
static enum counter data_refuse(struct agg *agg, struct agg_in *in)
{
	enum counter counter = COUNTER_old_epoch;
	struct job *job = agg_find(agg, in, &counter);

	if (job)
		agg_answer(agg, in, job);
	return counter;
}

static uint8_t *data_values(const struct agg *agg, const struct job *job, uint16_t slot)
{
	return agg->values + job->values_off + (size_t)slot * 2 * job->stride;
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
	const uint8_t *values = data_values(agg, job, in->msg.slot);
	struct agg_cause why = {
		.cause = WIRE_CAUSE_MISMATCH,
		.wid_a = in->msg.wid,
		.wid_b = (uint16_t)__builtin_ctzll(cell->have),
	};

	if (in->msg.kind == WIRE_MAX8 && !(in->msg.flags & WIRE_EMPTY))
		why.desc_a = in->msg.payload;
	if (cell->kind == WIRE_MAX8 && cell->filled)
		why.desc_b = values + (size_t)(cell->round & 1) * job->stride;
	return data_break(agg, in, job, &why, COUNTER_mismatch);
}

/* A rank that is a round further than the slot: the slot's memory is not what it was. */
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
		.wid_a = (uint16_t)__builtin_ctzll(lacking),
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
	if (counter == COUNTER_held)
		in->pkt->verdict = PIPE_HOLD;
	else
		agg_retry_gone(agg, job, in->now);
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
	pkt->len = WIRE_HEADER + (uint32_t)result->len;
	pkt->verdict = (uint8_t)verdict;
	pkt->job = (uint16_t)(job - agg->table.jobs);
	return verdict == PIPE_REPLY ? COUNTER_repeated : COUNTER_completed;
}

static enum counter data_add(struct agg *agg, struct agg_in *in, struct job *job)
{
	const struct wire_msg *msg = &in->msg;
	struct slot *slot = &agg->slots[job->lease_first + msg->slot];
	struct cell *cell = &slot->cell[msg->round & 1];
	struct slot_input add = {
		.epoch = msg->epoch,
		.all = job->all,
		.round = msg->round,
		.desc = msg->desc,
		.wid = msg->wid,
		.len = (uint16_t)msg->len,
		.kind = msg->kind,
		.flags = msg->flags,
		.payload = in->pkt->data + WIRE_HEADER,
		.cap = in->pkt->cap - WIRE_HEADER,
	};

	switch (slot_add(slot, data_values(agg, job, msg->slot), job->stride, agg->ops, &add)) {
	case SLOT_HELD:
		return data_wait(agg, in, job, cell, COUNTER_held);
	case SLOT_COMPLETE:
		return data_result(agg, in, job, &add, PIPE_MULTICAST);
	case SLOT_REPEAT:
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

	if (msg->flags & WIRE_PARTIAL)
		return COUNTER_bad_flag;
	if (!job || msg->wid >= job->world || !job->running || msg->epoch != job->epoch ||
	    !agg_authorise(agg, in, job))
		return data_refuse(agg, in);
	if (msg->slot >= job->lease_nr)
		return COUNTER_bad_slot;
	if (msg->len > job->p)
		return COUNTER_no_room;
	if (msg->round >= WIRE_ROUND_END)
		return data_rounds(agg, in, job);
	return data_add(agg, in, job);
}
