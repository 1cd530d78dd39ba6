// SPDX-License-Identifier: BSD-3-Clause
/* agg.c - epochs, STATUS and identity, which all handlers share. */
#include "switch/core/agg.h"

#include <string.h>

enum counter agg_wire_error(enum wire_error error)
{
	static const enum counter counters[] = {
		[WIRE_OK] = COUNTER_NR, /* is no error */
		[WIRE_TRUNCATED] = COUNTER_truncated,
		[WIRE_BAD_VERSION] = COUNTER_bad_version,
		[WIRE_BAD_TYPE] = COUNTER_bad_type,
		[WIRE_BAD_KIND] = COUNTER_bad_kind,
		[WIRE_BAD_FLAG] = COUNTER_bad_flag,
		[WIRE_BAD_LENGTH] = COUNTER_bad_length,
		[WIRE_BAD_CRC] = COUNTER_bad_crc,
		[WIRE_BAD_FIELD] = COUNTER_bad_field,
	};

	return counters[error];
}

bool agg_take_epoch(struct agg *agg, const struct pipe_time *now, uint64_t above, uint64_t *epoch)
{
	if (now->wall_ms <= agg->last_epoch || now->wall_ms <= above ||
	    now->wall_ms > WIRE_EPOCH_MAX)
		return false;
	agg->last_epoch = now->wall_ms;
	*epoch = now->wall_ms;
	return true;
}

static void agg_copy_desc(uint8_t to[WIRE_DESC], const uint8_t *from)
{
	if (from)
		memcpy(to, from, WIRE_DESC);
	else
		memset(to, 0, WIRE_DESC);
}

void agg_begin_forming(struct agg *agg, struct job *job, uint64_t epoch,
		       const struct agg_cause *why)
{
	uint64_t ended = job->epoch;

	job->epoch = epoch;
	job->last.cause = why->cause;
	job->last.wid_a = why->wid_a;
	job->last.wid_b = why->wid_b;
	job->last.ended = ended;
	agg_copy_desc(job->last.desc_a, why->desc_a);
	agg_copy_desc(job->last.desc_b, why->desc_b);
	job_unlease(&agg->table, job);
	for (uint64_t left = job->left; left; left &= left - 1) {
		/* Who has left is no member of what comes. */
		job->members[__builtin_ctzll(left)].inc = 0;
	}
	job->running = false;
	job->joined = 0;
	job->left = 0;
	job->gone = 0;
	job->want.since_ns = 0;
	job->up.awaited.nr = 0;
	if (job->tree)
		job->all = 0;
}

bool agg_end_epoch(struct agg *agg, struct job *job, const struct agg_cause *why,
		   const struct pipe_time *now)
{
	uint64_t epoch;

	if (!agg_take_epoch(agg, now, why->above, &epoch))
		return false;
	agg_begin_forming(agg, job, epoch, why);
	return true;
}

bool agg_break(struct agg *agg, struct job *job, const struct agg_cause *why,
	       const struct pipe_time *now)
{
	if (agg_is_leaf(agg)) {
		agg_up_end(agg, job, why, now);
		return true;
	}
	if (!agg_end_epoch(agg, job, why, now))
		return false;
	agg_tell(agg, job, 0, now);
	return true;
}

void agg_retry_gone(struct agg *agg, struct job *job, const struct pipe_time *now)
{
	struct agg_cause why = { .cause = WIRE_CAUSE_GONE, .wid_b = WIRE_WID_NONE };

	if (!job->gone || !job->running)
		return;
	why.wid_a = job_wid(job, (unsigned)__builtin_ctzll(job->gone));
	agg_break(agg, job, &why, now);
}

void agg_least(const struct job *job, uint64_t mask, uint16_t *p, uint16_t *slots)
{
	*p = 0;
	*slots = 0;
	for (; mask; mask &= mask - 1) {
		const struct job_member *member = &job->members[__builtin_ctzll(mask)];

		if (*p == 0 || member->p < *p)
			*p = member->p;
		if (*slots == 0 || member->slots < *slots)
			*slots = member->slots;
	}
}

/* Ranks that are awaited behind other switches: a mask of members cannot say which. */
static void agg_status_awaited(struct wire_range range, struct wire_status *status)
{
	if (range.nr == 0)
		return;
	status->field = WIRE_FIELD_RANGES;
	status->value_a = wire_range_value(range);
}

static void agg_status_forming(const struct job *job, struct wire_status *status)
{
	struct wire_range awaited = job_awaited(job);

	agg_least(job, job->joined, &status->p, &status->slots);
	if (awaited.nr == 0)
		agg_status_awaited(job->up.awaited, status);
	else if (job->tree)
		agg_status_awaited(awaited, status);
}

void agg_status(const struct job *job, unsigned i, uint64_t now_ns, struct wire_status *status)
{
	*status = (struct wire_status){
		.state = job->running ? WIRE_RUNNING : WIRE_FORMING,
		.cause = job->last.cause,
		.wid_a = job->last.wid_a,
		.wid_b = job->last.wid_b,
		.ended = job->last.ended,
		.key = job->key,
		.inc = i < job->nr_members ? job->members[i].inc : 0,
		.p = job->running ? job->p : 0,
		.slots = job->running ? job->slots : 0,
		.se = WIRE_SE,
		.world = job->world,
		.shards = 1,
		.flags = job->flags,
		.first = job->tree ? 0 : job->range.first,
		.joined = job->joined,
		.missing = job->all & ~job->joined,
		.silent = job_silent(job, now_ns, AGG_FRESH_MS * AGG_MS),
	};
	memcpy(status->desc_a, job->last.desc_a, WIRE_DESC);
	memcpy(status->desc_b, job->last.desc_b, WIRE_DESC);
	if (!job->running)
		agg_status_forming(job, status);
}

void agg_tell(struct agg *agg, const struct job *job, uint64_t except, const struct pipe_time *now)
{
	struct wire_status status;

	agg_status(job, JOB_NONE, now->now_ns, &status);
	for (unsigned i = 0; i < job->nr_members; i++) {
		const struct job_member *member = &job->members[i];
		struct wire_msg msg = {
			.type = WIRE_STATUS,
			.job = job->handle,
			.epoch = job->epoch,
			.wid = member->range.first,
		};

		if (!member->inc || (except >> i & 1))
			continue;
		status.inc = member->inc;
		outbox_put(&agg->outbox, &member->flow, &msg, &status, agg_room(job, WIRE_BODY));
	}
}

/* A member's questions about its session are all answered; any other source once in a while. */
static bool agg_may_answer(struct agg *agg, const struct agg_in *in, const struct job *job)
{
	unsigned i = job ? job_index(job, in->msg.wid) : (unsigned)JOB_NONE;
	bool join = in->msg.type == WIRE_JOIN || wire_is_ask(&in->msg);

	if (i != JOB_NONE && in->msg.type != WIRE_DATA && job->members[i].inc &&
	    job_identity(&job->members[i], &in->pkt->flow, agg->strict_ports))
		return true;
	return outbox_allows(&agg->outbox, &in->pkt->flow, join, in->now->now_ns);
}

void agg_answer_with(struct agg *agg, const struct agg_in *in, struct job *job,
		     const struct wire_status *status)
{
	struct wire_msg msg = {
		.type = WIRE_STATUS,
		.job = job ? job->handle : in->msg.job,
		.epoch = job ? job->epoch : in->msg.epoch,
		.slot = in->msg.slot,
		.round = in->msg.round,
		.wid = in->msg.wid,
	};
	uint16_t len = (uint16_t)(in->msg.len < WIRE_P_MAX ? in->msg.len : WIRE_P_MAX);
	struct outbox_room room = { .len = len, .seal = in->msg.sealed };

	/* So that a path too small for the chunks shows at the JOIN already. */
	if (in->msg.type == WIRE_JOIN && len > WIRE_BODY)
		room.pad = len;
	if (agg_may_answer(agg, in, job))
		outbox_put(&agg->outbox, &in->pkt->flow, &msg, status, room);
}

void agg_tell_members(struct agg *agg, const struct job *job, uint64_t mask,
		      struct wire_status *status, uint64_t now_ns)
{
	for (; mask; mask &= mask - 1) {
		const struct job_member *member = &job->members[__builtin_ctzll(mask)];
		struct wire_msg msg = {
			.type = WIRE_STATUS,
			.job = job->handle,
			.epoch = job->epoch,
			.wid = member->range.first,
		};

		status->inc = member->inc;
		if (outbox_allows(&agg->outbox, &member->flow, false, now_ns))
			outbox_put(&agg->outbox, &member->flow, &msg, status,
				   agg_room(job, WIRE_BODY));
	}
}

/* Who is missing in the slot that the packet is about. */
static void agg_status_slot(const struct agg *agg, const struct wire_msg *msg,
			    const struct job *job, struct wire_status *status)
{
	const struct job_up *up = &job->up;

	status->missing = slot_missing(&agg->slots[job->lease_first + msg->slot], job->epoch,
				       msg->round, job->all);
	if (status->missing == 0) {
		if (up->awaited_slot == msg->slot && up->awaited_round == msg->round)
			agg_status_awaited(up->awaited, status);
	} else if (job->tree) {
		agg_status_awaited(job->members[__builtin_ctzll(status->missing)].range, status);
	}
}

void agg_answer(struct agg *agg, const struct agg_in *in, struct job *job)
{
	const struct wire_msg *msg = &in->msg;
	struct wire_status status;

	agg_status(job, job_index(job, msg->wid), in->now->now_ns, &status);
	if ((msg->type == WIRE_DATA || msg->type == WIRE_KEEPALIVE) && job->running &&
	    msg->epoch == job->epoch && msg->slot < job->lease_nr)
		agg_status_slot(agg, msg, job, &status);
	agg_answer_with(agg, in, job, &status);
	if (agg_is_leaf(agg) && !job->running)
		agg_up_join(agg, job, 0, in->now);
}

void agg_answer_unknown(struct agg *agg, const struct agg_in *in, uint64_t key)
{
	struct wire_status status = {
		.state = WIRE_UNKNOWN,
		.wid_a = WIRE_WID_NONE,
		.wid_b = WIRE_WID_NONE,
		.key = key,
	};

	agg_answer_with(agg, in, NULL, &status);
}

/*
 * A stranger that speaks of another epoch may hold a handle that was given to another job since,
 * and must learn that its own is unknown.  One that speaks of the running epoch is after this job:
 * it learns nothing.
 */
struct job *agg_find(struct agg *agg, const struct agg_in *in, unsigned *i, enum counter *counter)
{
	struct job *job = job_by_handle(&agg->table, in->msg.job);
	bool current = job && job->running && in->msg.epoch == job->epoch;
	bool inside;

	*i = job ? job_index(job, in->msg.wid) : (unsigned)JOB_NONE;
	inside = *i != JOB_NONE;
	if (inside && !agg_is_sealed_right(job, &in->msg)) {
		*counter = COUNTER_bad_length;
		return NULL;
	}
	if (inside && agg_authorise(agg, in, job, *i))
		return job;
	if (!current)
		agg_answer_unknown(agg, in, 0);
	if (!job)
		*counter = COUNTER_unknown_job;
	else if (!inside && !job_has_rank(job, in->msg.wid))
		*counter = COUNTER_bad_wid;
	else
		*counter = current ? COUNTER_spoofed : COUNTER_unknown_job;
	return NULL;
}
