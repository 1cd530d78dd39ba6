// SPDX-License-Identifier: BSD-3-Clause
/*
 * agg_up.c - a leaf as a member of its parent: what it asks there, and what it takes from there.
 *
 * A leaf has no timer.  Whatever it says to its parent is said again because of a later packet of a
 * member, who has one.  It ends no epoch and begins none: it asks for it, and follows.
 */
#include "switch/core/agg.h"

uint64_t agg_up_inc(struct agg *agg)
{
	uint64_t inc = agg->parent.inc + agg->parent.nr_incs++ * UINT64_C(0x9e3779b97f4a7c15);

	return inc ? inc : 1;
}

/* Whether one more message of its kind may go, and if so, when the next. */
static bool up_may(uint64_t *next_ns, const struct pipe_time *now, unsigned ms)
{
	if (now->now_ns < *next_ns)
		return false;
	*next_ns = now->now_ns + ms * AGG_MS;
	return true;
}

void agg_up_end(struct agg *agg, struct job *job, const struct agg_cause *why,
		const struct pipe_time *now)
{
	struct wire_msg msg = {
		.type = WIRE_END,
		.job = job->up.handle,
		.epoch = job->epoch,
		.wid = job->range.first,
	};
	struct wire_status body = {
		.cause = why->cause,
		.wid_a = why->wid_a,
		.wid_b = why->wid_b,
	};

	if (!up_may(&job->up.end_ns, now, AGG_UP_MS))
		return;
	if (why->desc_a)
		memcpy(body.desc_a, why->desc_a, WIRE_DESC);
	if (why->desc_b)
		memcpy(body.desc_b, why->desc_b, WIRE_DESC);
	outbox_put(&agg->outbox, &agg->parent.flow, &msg, &body, agg_room(job, WIRE_BODY));
}

/* The members as one, as far as they are here. */
static void up_join(const struct agg *agg, const struct job *job, uint64_t base,
		    struct wire_join *join)
{
	*join = (struct wire_join){
		.inc = job->up.inc,
		.base = base,
		.flags = job->flags,
		.world = job->world,
		.port = agg->parent.from,
		.nr_ports = 1,
		.nr_ranges = job->up.nr_ranges,
		.ranks = job->range.nr,
	};
	memcpy(join->ranges, job->up.ranges, sizeof(join->ranges));
	memcpy(join->name, job->name, sizeof(join->name));
	agg_least(job, job->joined, &join->p, &join->slots);
	if (job->lease_nr) {
		join->p = job->p;
		join->slots = job->slots;
	}
	if (join->p == 0 || join->p > agg_p_max(agg, job->flags))
		join->p = agg_p_max(agg, job->flags);
	if (join->slots == 0)
		join->slots = 1;
	for (uint64_t left = job->joined; left; left &= left - 1) {
		if (job->members[__builtin_ctzll(left)].p_fixed)
			join->flags |= WIRE_JOB_CHUNK_FIXED;
	}
}

static void up_ask(struct agg *agg, struct job *job, uint64_t base, const struct pipe_time *now)
{
	uint8_t msg[WIRE_HEADER + WIRE_BODY];
	struct wire_join join;

	if (!up_may(&job->up.ask_ns, now, AGG_UP_MS))
		return;
	up_join(agg, job, base, &join);
	wire_ask_build(msg, job->range.first, &join);
	outbox_put_raw(&agg->outbox, &agg->parent.flow, msg, agg_room(job, WIRE_BODY));
}

void agg_up_join(struct agg *agg, struct job *job, uint64_t base, const struct pipe_time *now)
{
	uint8_t msg[WIRE_HEADER + WIRE_BODY];
	struct outbox_room room = agg_room(job, WIRE_BODY);
	struct wire_join join;

	if (base >= job->epoch || job->lease_nr == 0 || !job_complete(job)) {
		up_ask(agg, job, base >= job->epoch ? base : job->epoch - 1, now);
		return;
	}
	if (!up_may(&job->up.join_ns, now, AGG_UP_MS))
		return;
	up_join(agg, job, job->epoch - 1, &join);
	wire_join_head(msg, job->range.first, &join);
	room.pad = (uint16_t)wire_join_size(&join);
	outbox_put_raw(&agg->outbox, &agg->parent.flow, msg, room);
}

/* A message of zeros. */
static void up_say(struct agg *agg, const struct job *job, struct wire_msg *msg, uint16_t len)
{
	uint8_t buf[WIRE_HEADER + WIRE_BODY] = { 0 };

	msg->job = job->up.handle;
	msg->wid = job->range.first;
	wire_build(buf, msg);
	outbox_put_raw(&agg->outbox, &agg->parent.flow, buf, agg_room(job, len));
}

void agg_up_probe(struct agg *agg, const struct agg_in *in, struct job *job)
{
	struct wire_msg msg = {
		.type = WIRE_KEEPALIVE,
		.epoch = job->epoch,
		.slot = in->msg.slot,
		.round = in->msg.round,
	};

	if (up_may(&job->up.probe_ns, in->now, AGG_PROBE_MS))
		up_say(agg, job, &msg, WIRE_BODY);
}

void agg_up_leave(struct agg *agg, struct job *job, uint64_t epoch, const struct pipe_time *now)
{
	struct wire_msg msg = { .type = WIRE_LEAVE, .epoch = epoch };

	if (job->up.handle && up_may(&job->up.leave_ns, now, AGG_UP_MS))
		up_say(agg, job, &msg, WIRE_PAD);
}

/* All members have left, and the parent knows. */
static void up_left(struct agg *agg, struct job *job, const struct pipe_time *now)
{
	struct wire_status status;

	agg_status(job, JOB_NONE, now->now_ns, &status);
	status.cause = WIRE_CAUSE_LEFT;
	status.wid_b = WIRE_WID_NONE;
	status.ended = 0;
	for (unsigned i = 0; i < job->nr_members; i++) {
		struct wire_msg msg = {
			.type = WIRE_STATUS,
			.job = job->handle,
			.epoch = job->epoch,
			.wid = job_wid(job, i),
		};

		status.wid_a = msg.wid;
		outbox_put(&agg->outbox, &job->members[i].flow, &msg, &status,
			   agg_room(job, WIRE_PAD));
	}
	job_del(&agg->table, job);
}

/*
 * The parent was restarted, or has freed the job: nobody ends this epoch any more.  Members hear of it as from a
 * switch that was restarted itself, and so does whoever speaks of the epoch later; what they say then begins anew.
 */
static void up_lost(struct agg *agg, struct job *job)
{
	const struct wire_status status = {
		.state = WIRE_UNKNOWN,
		.wid_a = WIRE_WID_NONE,
		.wid_b = WIRE_WID_NONE,
		.key = job->key,
	};

	for (unsigned i = 0; i < job->nr_members; i++) {
		const struct wire_msg msg = {
			.type = WIRE_STATUS,
			.job = job->handle,
			.epoch = job->epoch,
			.wid = job_wid(job, i),
		};

		if (job->members[i].inc)
			outbox_put(&agg->outbox, &job->members[i].flow, &msg, &status,
				   agg_room(job, WIRE_PAD));
	}
	job_del(&agg->table, job);
}

static void up_unknown(struct agg *agg, const struct agg_in *in)
{
	const struct wire_msg *msg = &in->msg;
	struct job *job = job_by_parent(&agg->table, msg->job);

	if (!job || msg->epoch != job->epoch || msg->wid != job->range.first ||
	    msg->sealed != agg_checks(job))
		return;
	if (!job->running)
		up_ask(agg, job, job->epoch - 1, in->now);
	else if (job->left == job->all)
		up_left(agg, job, in->now);
	else
		up_lost(agg, job);
}

/* That these members disagree with others: REFUSED are they, FORMING: others are. */
static bool up_is_refusal(const struct wire_status *status)
{
	return status->state == WIRE_REFUSED ||
	       (status->state == WIRE_FORMING && status->cause == WIRE_CAUSE_PARAMETERS);
}

/* What this switch's members asked for as one cannot be had: each of them has to know. */
static void up_refused(struct agg *agg, const struct agg_in *in, const struct job *job,
		       const struct wire_status *refusal)
{
	struct wire_status status;

	if (job->running)
		return;
	agg_status(job, JOB_NONE, in->now->now_ns, &status);
	status.state = refusal->state;
	status.cause = refusal->cause;
	status.wid_a = refusal->wid_a;
	status.wid_b = refusal->wid_b;
	status.ended = 0;
	status.field = refusal->field;
	status.value_a = refusal->value_a;
	status.value_b = refusal->value_b;
	agg_tell_members(agg, job, job->joined, &status, in->now->now_ns);
}

/* Slots and bytes as agreed over the tree; what was promised to the parent is leased already. */
static bool up_lease(struct agg *agg, struct job *job, const struct wire_status *status)
{
	if (job->lease_nr == 0 || status->p > job->p || status->slots > job->slots)
		return false;
	if (status->p == job->p && status->slots == job->slots)
		return true;
	job_unlease(&agg->table, job);
	return job_lease(&agg->table, job, status->p, status->slots);
}

/*
 * The parent runs an epoch with a job that is not here: with a life of it, or of this switch, before, and whoever was to
 * end it may have left since.  If all ranks here have left, the parent knows, and this changes nothing.
 */
static void up_disown(struct agg *agg, const struct agg_in *in)
{
	struct outbox_room room = { .len = WIRE_BODY, .seal = in->msg.sealed };
	const struct wire_msg msg = {
		.type = WIRE_END,
		.job = in->msg.job,
		.epoch = in->msg.epoch,
		.wid = in->msg.wid,
	};
	const struct wire_status body = {
		.state = WIRE_UNKNOWN,
		.cause = WIRE_CAUSE_RESTARTED,
		.wid_a = in->msg.wid,
		.wid_b = WIRE_WID_NONE,
	};

	if (up_may(&agg->parent.disown_ns, in->now, AGG_DISOWN_MS))
		outbox_put(&agg->outbox, &agg->parent.flow, &msg, &body, room);
}

/*
 * The parent runs this epoch: with this life of the job and all its members, or it has to end.  A life before is not
 * here; but if its ranks have left, the epoch is the others' until all members are here again.
 */
static void up_run(struct agg *agg, const struct agg_in *in, struct job *job,
		   const struct wire_status *status)
{
	struct wire_range awaited = job_awaited(job);
	bool ours = status->inc == job->up.inc;
	struct agg_cause why = {
		.cause = WIRE_CAUSE_RESTARTED,
		.wid_a = awaited.nr ? awaited.first : job->range.first,
		.wid_b = WIRE_WID_NONE,
	};

	if (!ours && awaited.nr) {
		up_disown(agg, in);
		return;
	}
	if (!ours || awaited.nr || !up_lease(agg, job, status)) {
		agg_up_end(agg, job, &why, in->now);
		return;
	}
	job->all = job->joined;
	job->ran = true;
	job->running = true;
	agg_tell(agg, job, 0, in->now);
}

static void up_follow(struct agg *agg, const struct agg_in *in, struct job *job,
		      const struct wire_status *status)
{
	struct agg_cause why = {
		.cause = status->cause,
		.wid_a = status->wid_a,
		.wid_b = status->wid_b,
		.desc_a = status->desc_a,
		.desc_b = status->desc_b,
	};

	/* A refusal's cause is not why the epoch before ended. */
	if (up_is_refusal(status))
		why = (struct agg_cause){ .wid_a = WIRE_WID_NONE, .wid_b = WIRE_WID_NONE };
	agg_begin_forming(agg, job, in->msg.epoch, &why);
	job->last.ended = status->ended;
	agg_tell(agg, job, 0, in->now);
}

/* Whom the parent waits for, if that is not us. */
static void up_awaited(const struct agg_in *in, struct job *job, const struct wire_status *status)
{
	struct job_up *up = &job->up;

	up->awaited = (struct wire_range){ 0, 0 };
	if (status->field == WIRE_FIELD_RANGES)
		up->awaited = (struct wire_range){ (uint16_t)(status->value_a >> 16),
						   (uint16_t)status->value_a };
	if (up->awaited.first == job->range.first)
		up->awaited.nr = 0;
	up->awaited_slot = in->msg.slot;
	up->awaited_round = in->msg.round;
}

/* The parent may want to know whether anybody is there. */
static void up_poked(struct agg *agg, struct job *job, const struct pipe_time *now)
{
	if (job->left == job->all)
		agg_up_leave(agg, job, job->epoch, now);
	else
		agg_poke(agg, job, now);
}

enum counter agg_up_status(struct agg *agg, struct agg_in *in)
{
	struct wire_status status;
	struct job *job;
	enum wire_error error = wire_status_parse(&status, &in->msg);

	if (error != WIRE_OK)
		return agg_wire_error(error);
	if (status.state == WIRE_UNKNOWN) {
		up_unknown(agg, in);
		return COUNTER_up_status;
	}
	job = job_by_key(&agg->table, status.key);
	/* One with and one without CHECK are two jobs, and so are those of other ranks. */
	if (job && (in->msg.sealed != agg_checks(job) || in->msg.wid != job->range.first))
		job = NULL;
	if (!job && status.state == WIRE_RUNNING)
		up_disown(agg, in);
	if (!job)
		return COUNTER_up_status;
	if (in->msg.epoch < job->epoch) {
		/* A parent that cannot even make the job has no epoch to name. */
		if (status.state == WIRE_REFUSED && in->msg.epoch == 0)
			up_refused(agg, in, job, &status);
		return COUNTER_up_status;
	}
	job_set_parent(&agg->table, job, in->msg.job);
	if (in->msg.epoch > job->epoch)
		up_follow(agg, in, job, &status);
	if (up_is_refusal(&status)) {
		up_refused(agg, in, job, &status);
		return COUNTER_up_status;
	}
	if (job->running && job->left == job->all && status.cause == WIRE_CAUSE_LEFT &&
	    status.wid_a == job->range.first && status.ended == 0) {
		up_left(agg, job, in->now);
		return COUNTER_up_status;
	}
	up_awaited(in, job, &status);
	if (job->running)
		up_poked(agg, job, in->now);
	if (status.state == WIRE_RUNNING && !job->running)
		up_run(agg, in, job, &status);
	return COUNTER_up_status;
}

enum counter agg_up_result(struct agg *agg, struct agg_in *in)
{
	const struct wire_msg *msg = &in->msg;
	struct job *job = job_by_parent(&agg->table, msg->job);
	struct slot_input result = {
		.epoch = msg->epoch,
		.round = msg->round,
		.desc = msg->desc,
		.len = (uint16_t)msg->len,
		.kind = msg->kind,
		.flags = msg->flags,
		.payload = in->pkt->data + WIRE_HEADER,
	};

	if (!job || !job->running || msg->epoch != job->epoch || msg->slot >= job->lease_nr)
		return COUNTER_up_stale;
	if (msg->sealed != agg_checks(job))
		return COUNTER_bad_length;
	result.all = job->all;
	if (!slot_result(&agg->slots[job->lease_first + msg->slot], agg_values(agg, job, msg->slot),
			 job->stride, agg->ops, &result))
		return COUNTER_up_stale;
	wire_put16(in->pkt->data + WIRE_OFF_JOB, job->handle);
	in->pkt->len = agg_seal(job, in->pkt->data, msg->len);
	in->pkt->verdict = PIPE_MULTICAST;
	in->pkt->job = (uint16_t)(job - agg->table.jobs);
	return COUNTER_up_result;
}
