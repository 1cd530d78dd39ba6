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
	agg_status(job, JOB_NONE, in->now->now_ns, &status);
	status.missing = slot_missing(&agg->slots[job->lease_first + msg.slot], job->epoch,
				      msg.round, job->all);
	msg.type = WIRE_STATUS;
	for (silent = status.silent & status.missing & ~job->left; silent; silent &= silent - 1) {
		const struct job_member *member = &job->members[__builtin_ctzll(silent)];

		msg.wid = member->range.first;
		status.inc = member->inc;
		if (outbox_allows(&agg->outbox, &member->flow, false, in->now->now_ns))
			outbox_put(&agg->outbox, &member->flow, &msg, &status,
				   agg_room(job, WIRE_BODY));
	}
}

/* Without a job it is a probe of the path. */
enum counter agg_keepalive(struct agg *agg, struct agg_in *in)
{
	struct job *job = job_by_handle(&agg->table, in->msg.job);
	unsigned i = job ? job_index(job, in->msg.wid) : (unsigned)JOB_NONE;

	if (wire_is_ask(&in->msg))
		return agg_join(agg, in);
	if (!job) {
		agg_answer_unknown(agg, in, 0);
		return in->msg.job == 0 ? COUNTER_keepalive : COUNTER_unknown_job;
	}
	if (in->msg.epoch != job->epoch || i == JOB_NONE) {
		enum counter counter = COUNTER_keepalive;

		job = agg_find(agg, in, &i, &counter);
		if (!job)
			return counter;
	} else if (!agg_is_sealed_right(job, &in->msg)) {
		return COUNTER_bad_length;
	} else if (agg_authorise(agg, in, job, i)) {
		agg_retry_gone(agg, job, in->now);
		if (agg_is_leaf(agg) && job->running)
			agg_up_probe(agg, in, job);
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

	/* The job must be gone at the parent before it is here: its acknowledgement ends both. */
	if (empty && agg_is_leaf(agg) && job->running) {
		agg_up_leave(agg, job, job->epoch, in->now);
		return COUNTER_leave;
	}
	if (empty) {
		if (agg_is_leaf(agg))
			agg_up_leave(agg, job, 0, in->now);
		job_del(&agg->table, job);
		agg_answer_unknown(agg, in, key);
		return COUNTER_leave;
	}
	agg_status(job, job_index(job, in->msg.wid), in->now->now_ns, &status);
	status.cause = WIRE_CAUSE_LEFT;
	status.wid_a = in->msg.wid;
	status.wid_b = WIRE_WID_NONE;
	status.ended = 0;
	agg_answer_with(agg, in, job, &status);
	return COUNTER_leave;
}

/*
 * The epoch goes on without the rank until a contribution needs it.  While forming, a rank in no
 * epoch (0) may leave too; should such a LEAVE be a late one, the rank's next JOIN repairs it.  One
 * that named the epoch that forms would leave it, if it came when that runs.
 */
enum counter agg_leave(struct agg *agg, struct agg_in *in)
{
	enum counter counter = COUNTER_leave;
	unsigned i;
	struct job *job = agg_find(agg, in, &i, &counter);
	uint64_t bit;

	if (!job)
		return counter;
	bit = UINT64_C(1) << i;
	if (job->running && in->msg.epoch == job->epoch) {
		job->left |= bit;
		return leave_answer(agg, in, job, job->left == job->all);
	}
	if (!job->running && (in->msg.epoch == job->epoch || in->msg.epoch == 0)) {
		job->joined &= ~bit;
		job_unlease(&agg->table, job); /* a leaf's, for all of them */
		return leave_answer(agg, in, job, job->joined == 0);
	}
	agg_answer(agg, in, job);
	return COUNTER_leave;
}

/* A switch speaks for its ranks, about anything that can happen among them. */
static void end_cause_switch(const struct job *job, const struct wire_status *body,
			     struct agg_cause *why)
{
	switch ((enum wire_cause)body->cause) {
	case WIRE_CAUSE_RESTARTED:
	case WIRE_CAUSE_MISMATCH:
	case WIRE_CAUSE_LEFT:
	case WIRE_CAUSE_PROTOCOL:
	case WIRE_CAUSE_ROUNDS:
	case WIRE_CAUSE_RESET:
	case WIRE_CAUSE_GONE:
	case WIRE_CAUSE_CORRUPTED:
	case WIRE_CAUSE_SILENT:
	case WIRE_CAUSE_DEVICE:
		why->cause = body->cause;
		break;
	case WIRE_CAUSE_NONE:
	case WIRE_CAUSE_ABORTED:
	case WIRE_CAUSE_PARAMETERS:
	case WIRE_CAUSE_DUPLICATE_RANK:
	case WIRE_CAUSE_NO_SLOTS:
	case WIRE_CAUSE_VERSION:
		break;
	}
	why->wid_a = body->wid_a < job->world ? body->wid_a : WIRE_WID_NONE;
	why->wid_b = body->wid_b < job->world ? body->wid_b : WIRE_WID_NONE;
	why->desc_a = body->desc_a;
	why->desc_b = body->desc_b;
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
	if (job->tree) {
		end_cause_switch(job, body, why);
		return;
	}
	if (body->cause == WIRE_CAUSE_CORRUPTED || body->cause == WIRE_CAUSE_DEVICE)
		why->cause = body->cause;
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
	unsigned i;
	enum wire_error error = wire_status_parse(&body, &in->msg);

	if (error != WIRE_OK)
		return agg_wire_error(error);
	if (agg_booting(agg, in->now))
		return COUNTER_too_early;
	job = agg_find(agg, in, &i, &counter);
	if (!job)
		return counter;
	/* A switch without the job because all its ranks have left ends nothing, and is not to be told again. */
	if (body.state == WIRE_UNKNOWN && (job->left >> i & 1))
		return COUNTER_end;
	if (job->running && in->msg.epoch == job->epoch) {
		end_cause(in, job, &body, &why);
		if (agg_is_leaf(agg))
			agg_up_end(agg, job, &why, in->now);
		else if (!agg_end_epoch(agg, job, &why, in->now))
			return COUNTER_too_early;
		else
			agg_tell(agg, job, UINT64_C(1) << i, in->now);
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

/* While forming: who is gone is no member of what comes, and without members there is no job. */
static void gone_forget(struct agg *agg, struct job *job, unsigned i, const struct pipe_time *now)
{
	job->joined &= ~(UINT64_C(1) << i);
	job->members[i].inc = 0;
	job_unlease(&agg->table, job);
	if (job_known(job))
		return;
	/* If the parent runs it already, this is no leaving, and it learns that the job is not here. */
	if (agg_is_leaf(agg))
		agg_up_leave(agg, job, 0, now);
	job_del(&agg->table, job);
}

/* The member whose address it is and who may still be needed; nr_members: none. */
static unsigned gone_member(const struct job *job, const struct flow *flow, bool strict)
{
	unsigned i = 0;

	while (i < job->nr_members && !(job->members[i].inc && !(job->left >> i & 1) &&
					job_identity(&job->members[i], flow, strict)))
		i++;
	return i;
}

/* COUNTER_NR: the job has no such member, or does not need it. */
static enum counter gone_from(struct agg *agg, struct job *job, const struct flow *flow,
			      const struct pipe_time *now)
{
	struct agg_cause why = { .cause = WIRE_CAUSE_GONE, .wid_b = WIRE_WID_NONE };
	const unsigned i = gone_member(job, flow, agg->strict_ports);
	bool ended;

	if (i == job->nr_members)
		return gone_member(job, flow, false) < i ? COUNTER_spoofed : COUNTER_NR;
	if (!job->running) {
		gone_forget(agg, job, i, now);
		return COUNTER_gone;
	}
	why.wid_a = job_wid(job, i);
	ended = agg_break(agg, job, &why, now);
	/* Nobody repeats this message, so the job remembers it until the epoch is over. */
	if (job->running)
		job->gone |= UINT64_C(1) << i;
	return ended ? COUNTER_gone : COUNTER_too_early;
}

enum counter agg_gone(struct agg *agg, const struct flow *flow, const struct pipe_time *now)
{
	enum counter counter = COUNTER_not_mine;

	for (unsigned i = 0; i < agg->table.jobs_max; i++) {
		struct job *job = &agg->table.jobs[i];
		enum counter one;

		if (!job->used)
			continue;
		one = gone_from(agg, job, flow, now);
		if (one != COUNTER_NR && counter != COUNTER_gone)
			counter = one;
	}
	return counter;
}
