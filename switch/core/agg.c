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
		[WIRE_BAD_FIELD] = COUNTER_bad_field,
	};

	return counters[error];
}

bool agg_take_epoch(struct agg *agg, const struct pipe_time *now, uint64_t *epoch)
{
	if (agg->last_epoch + 1 > now->wall_ms || now->wall_ms > WIRE_EPOCH_MAX)
		return false;
	agg->last_epoch = now->wall_ms;
	*epoch = now->wall_ms;
	return true;
}

void agg_raise_epoch(struct agg *agg, uint64_t base, const struct pipe_time *now)
{
	if (base > agg->last_epoch && base < now->wall_ms + AGG_AHEAD_MS)
		agg->last_epoch = base;
}

static void agg_copy_desc(uint8_t to[WIRE_DESC], const uint8_t *from)
{
	if (from)
		memcpy(to, from, WIRE_DESC);
	else
		memset(to, 0, WIRE_DESC);
}

bool agg_end_epoch(struct agg *agg, struct job *job, const struct agg_cause *why,
		   const struct pipe_time *now)
{
	uint64_t ended = job->epoch;

	if (!agg_take_epoch(agg, now, &job->epoch))
		return false;
	job->last.cause = why->cause;
	job->last.wid_a = why->wid_a;
	job->last.wid_b = why->wid_b;
	job->last.ended = ended;
	agg_copy_desc(job->last.desc_a, why->desc_a);
	agg_copy_desc(job->last.desc_b, why->desc_b);
	job_unlease(&agg->table, job);
	for (unsigned wid = 0; wid < job->world; wid++) {
		/* Who has left is no member of what comes. */
		if (job->left >> wid & 1)
			job->members[wid].inc = 0;
	}
	job->running = false;
	job->joined = 0;
	job->left = 0;
	job->gone = 0;
	return true;
}

bool agg_break(struct agg *agg, struct job *job, const struct agg_cause *why,
	       const struct pipe_time *now)
{
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
	why.wid_a = (uint16_t)__builtin_ctzll(job->gone);
	agg_break(agg, job, &why, now);
}

/* What the ranks that joined so far ask for. */
static void agg_status_forming(const struct job *job, struct wire_status *status)
{
	for (unsigned wid = 0; wid < job->world; wid++) {
		const struct job_member *member = &job->members[wid];

		if (!(job->joined >> wid & 1))
			continue;
		if (status->p == 0 || member->p < status->p)
			status->p = member->p;
		if (status->slots == 0 || member->slots < status->slots)
			status->slots = member->slots;
	}
}

void agg_status(const struct job *job, uint16_t wid, uint64_t now_ns, struct wire_status *status)
{
	*status = (struct wire_status){
		.state = job->running ? WIRE_RUNNING : WIRE_FORMING,
		.cause = job->last.cause,
		.wid_a = job->last.wid_a,
		.wid_b = job->last.wid_b,
		.ended = job->last.ended,
		.key = job->key,
		.inc = wid < job->world ? job->members[wid].inc : 0,
		.p = job->running ? job->p : 0,
		.slots = job->running ? job->slots : 0,
		.se = WIRE_SE,
		.world = job->world,
		.shards = 1,
		.flags = job->flags,
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
	struct outbox_room room = { .len = WIRE_BODY };
	struct wire_status status;

	agg_status(job, 0, now->now_ns, &status);
	for (uint16_t wid = 0; wid < job->world; wid++) {
		const struct job_member *member = &job->members[wid];
		struct wire_msg msg = {
			.type = WIRE_STATUS,
			.job = job->handle,
			.epoch = job->epoch,
			.wid = wid,
		};

		if (!member->inc || (except >> wid & 1))
			continue;
		status.inc = member->inc;
		outbox_put(&agg->outbox, &member->flow, &msg, &status, room);
	}
}

/* A member's questions about its session are all answered; any other source once in a while. */
static bool agg_may_answer(struct agg *agg, const struct agg_in *in, const struct job *job)
{
	const struct wire_msg *msg = &in->msg;

	if (job && msg->type != WIRE_DATA && msg->wid < job->world && job->members[msg->wid].inc &&
	    job_identity(&job->members[msg->wid], &in->pkt->flow, agg->strict_ports))
		return true;
	return outbox_allows(&agg->outbox, &in->pkt->flow, in->now->now_ns);
}

void agg_answer_with(struct agg *agg, const struct agg_in *in, const struct job *job,
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
	uint16_t len = in->msg.len < WIRE_P_MAX ? (uint16_t)in->msg.len : WIRE_P_MAX;
	struct outbox_room room = { .len = len };

	/* So that a path too small for the chunks shows at the JOIN already. */
	if (in->msg.type == WIRE_JOIN && len > WIRE_BODY)
		room.pad = len;
	if (agg_may_answer(agg, in, job))
		outbox_put(&agg->outbox, &in->pkt->flow, &msg, status, room);
}

void agg_answer(struct agg *agg, const struct agg_in *in, const struct job *job)
{
	const struct wire_msg *msg = &in->msg;
	struct wire_status status;

	agg_status(job, msg->wid, in->now->now_ns, &status);
	if ((msg->type == WIRE_DATA || msg->type == WIRE_KEEPALIVE) && job->running &&
	    msg->epoch == job->epoch && msg->slot < job->lease_nr)
		status.missing = slot_missing(&agg->slots[job->lease_first + msg->slot], job->epoch,
					      msg->round, job->all);
	agg_answer_with(agg, in, job, &status);
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
struct job *agg_find(struct agg *agg, const struct agg_in *in, enum counter *counter)
{
	struct job *job = job_by_handle(&agg->table, in->msg.job);
	bool current = job && job->running && in->msg.epoch == job->epoch;
	bool inside = job && in->msg.wid < job->world;

	if (inside && agg_authorise(agg, in, job))
		return job;
	if (!current)
		agg_answer_unknown(agg, in, 0);
	if (!job)
		*counter = COUNTER_unknown_job;
	else if (!inside)
		*counter = COUNTER_bad_wid;
	else
		*counter = current ? COUNTER_spoofed : COUNTER_unknown_job;
	return NULL;
}

bool agg_expire(struct agg *agg, uint64_t forming_ms, const struct pipe_time *now)
{
	struct job *oldest = NULL;
	uint64_t oldest_ns = 0;

	for (unsigned i = 0; i < agg->table.jobs_max; i++) {
		struct job *job = &agg->table.jobs[i];
		uint64_t limit_ms, heard_ns;

		if (!job->used)
			continue;
		limit_ms = job->running ? AGG_EXPIRED_MS : forming_ms;
		heard_ns = job_heard(job, UINT64_MAX);
		if (heard_ns + limit_ms * AGG_MS >= now->now_ns)
			continue;
		if (!oldest || heard_ns < oldest_ns) {
			oldest = job;
			oldest_ns = heard_ns;
		}
	}
	if (!oldest)
		return false;
	job_del(&agg->table, oldest);
	return true;
}
