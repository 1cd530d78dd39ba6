// SPDX-License-Identifier: BSD-3-Clause
/* agg_talk.c - KEEPALIVE, LEAVE, END, and what the network says of a member. */
#include "switch/core/agg.h"

/*
 * A rank that is missing and silent may be gone, and the switch may have had nothing to send to it since: the answer
 * goes to its address, too, and if nobody is there the network will say so.
 */
static void keepalive_poke(struct agg *agg, const struct agg_in *in, const struct job *job)
{
	struct wire_msg msg = in->msg;
	struct wire_status status;
	uint64_t silent;

	if (!job->running || msg.epoch != job->epoch || msg.slot >= job->lease_nr)
		return;
	agg_status(job, msg.wid, in->now->now_ns, &status);
	status.missing = slot_missing(&agg->slots[job->lease_first + msg.slot], job->epoch,
				      msg.round, job->all);
	msg.type = WIRE_STATUS;
	for (silent = status.silent & status.missing & ~job->left; silent; silent &= silent - 1) {
		const struct job_member *member;

		msg.wid = (uint16_t)__builtin_ctzll(silent);
		member = &job->members[msg.wid];
		status.inc = member->inc;
		if (outbox_allows(&agg->outbox, &member->flow, in->now->now_ns))
			outbox_put(&agg->outbox, &member->flow, &msg, &status,
				   (struct outbox_room){ .len = WIRE_BODY });
	}
}

/* Without a job it is a probe of the path. */
enum counter agg_keepalive(struct agg *agg, struct agg_in *in)
{
	struct job *job = job_by_handle(&agg->table, in->msg.job);

	if (!job) {
		agg_answer_unknown(agg, in, 0);
		return in->msg.job == 0 ? COUNTER_keepalive : COUNTER_unknown_job;
	}
	if (in->msg.epoch != job->epoch || in->msg.wid >= job->world) {
		enum counter counter = COUNTER_keepalive;

		job = agg_find(agg, in, &counter);
		if (!job)
			return counter;
	} else if (agg_authorise(agg, in, job)) {
		agg_retry_gone(agg, job, in->now);
		keepalive_poke(agg, in, job);
	}
	agg_answer(agg, in, job);
	return COUNTER_keepalive;
}

/*
 * Whoever leaves is told so as long as anybody is left; of a job without ranks there is nothing to
 * tell.
 */
static enum counter leave_answer(struct agg *agg, struct agg_in *in, struct job *job, bool empty)
{
	struct wire_status status;
	uint64_t key = job->key;

	if (empty) {
		job_del(&agg->table, job);
		agg_answer_unknown(agg, in, key);
		return COUNTER_leave;
	}
	agg_status(job, in->msg.wid, in->now->now_ns, &status);
	status.cause = WIRE_CAUSE_LEFT;
	status.wid_a = in->msg.wid;
	status.wid_b = WIRE_WID_NONE;
	status.ended = 0;
	agg_answer_with(agg, in, job, &status);
	return COUNTER_leave;
}

/*
 * The epoch goes on without the rank until a contribution needs it.  While forming, a rank in no
 * epoch (0) may leave too; should such a LEAVE be a late one, the rank's next JOIN repairs it.
 */
enum counter agg_leave(struct agg *agg, struct agg_in *in)
{
	enum counter counter = COUNTER_leave;
	struct job *job = agg_find(agg, in, &counter);
	uint64_t bit;

	if (!job)
		return counter;
	bit = UINT64_C(1) << in->msg.wid;
	if (job->running && in->msg.epoch == job->epoch) {
		job->left |= bit;
		return leave_answer(agg, in, job, job->left == job->all);
	}
	if (!job->running && (in->msg.epoch == job->epoch || in->msg.epoch == 0)) {
		job->joined &= ~bit;
		return leave_answer(agg, in, job, job->joined == 0);
	}
	agg_answer(agg, in, job);
	return COUNTER_leave;
}

/* A rank names only causes it can judge itself. */
static void end_cause(const struct agg_in *in, const struct job *job,
		      const struct wire_status *body, struct agg_cause *why)
{
	*why = (struct agg_cause){
		.cause = WIRE_CAUSE_ABORTED,
		.wid_a = in->msg.wid,
		.wid_b = WIRE_WID_NONE,
	};
	if (body->cause != WIRE_CAUSE_MISMATCH)
		return;
	why->cause = WIRE_CAUSE_MISMATCH;
	if (body->wid_b < job->world)
		why->wid_b = body->wid_b;
	why->desc_a = body->desc_a;
	why->desc_b = body->desc_b;
}

enum counter agg_end(struct agg *agg, struct agg_in *in)
{
	enum counter counter = COUNTER_end;
	struct wire_status body;
	struct agg_cause why;
	struct job *job;
	enum wire_error error = wire_status_parse(&body, &in->msg);

	if (error != WIRE_OK)
		return agg_wire_error(error);
	if (agg_booting(agg, in->now))
		return COUNTER_too_early;
	job = agg_find(agg, in, &counter);
	if (!job)
		return counter;
	agg_raise_epoch(agg, in->msg.epoch, in->now);
	if (job->running && in->msg.epoch == job->epoch) {
		end_cause(in, job, &body, &why);
		if (!agg_end_epoch(agg, job, &why, in->now))
			return COUNTER_too_early;
		agg_tell(agg, job, UINT64_C(1) << in->msg.wid, in->now);
	}
	agg_answer(agg, in, job);
	return COUNTER_end;
}

enum counter agg_version(struct agg *agg, struct agg_in *in)
{
	struct wire_status status = {
		.state = WIRE_REFUSED,
		.cause = WIRE_CAUSE_VERSION,
		.wid_a = WIRE_WID_NONE,
		.wid_b = in->msg.wid,
		.value_a = WIRE_VERSION,
	};

	agg_answer_with(agg, in, NULL, &status);
	return COUNTER_bad_version;
}

/* COUNTER_NR: the job has no such member, or does not need it. */
static enum counter gone_from(struct agg *agg, struct job *job, const struct flow *flow,
			      const struct pipe_time *now)
{
	struct agg_cause why = { .cause = WIRE_CAUSE_GONE, .wid_b = WIRE_WID_NONE };
	uint16_t wid = 0;

	while (wid < job->world && !(job->members[wid].inc && !(job->left >> wid & 1) &&
				     job_identity(&job->members[wid], flow, false)))
		wid++;
	if (wid == job->world)
		return COUNTER_NR;
	if (!job->running) {
		job->joined &= ~(UINT64_C(1) << wid);
		return COUNTER_gone;
	}
	why.wid_a = wid;
	if (agg_break(agg, job, &why, now))
		return COUNTER_gone;
	/* Nobody repeats this message, so the job remembers it. */
	job->gone |= UINT64_C(1) << wid;
	return COUNTER_too_early;
}

enum counter agg_gone(struct agg *agg, uint32_t ip, uint16_t udp_port, const struct pipe_time *now)
{
	struct flow flow = { .ip = ip, .udp_port = udp_port };
	enum counter counter = COUNTER_not_mine;

	for (unsigned i = 0; i < agg->table.jobs_max; i++) {
		struct job *job = &agg->table.jobs[i];
		enum counter one;

		if (!job->used)
			continue;
		one = gone_from(agg, job, &flow, now);
		if (one != COUNTER_NR && counter != COUNTER_gone)
			counter = one;
	}
	return counter;
}
