// SPDX-License-Identifier: BSD-3-Clause
/* agg_join.c - JOIN: jobs are made, ranks enter epochs, epochs begin. */
#include "switch/core/agg.h"

/* One JOIN on its way through the checks. */
struct joining {
	struct agg *agg;
	struct agg_in *in;
	struct job *job; /* NULL until found or made */
	uint16_t wid;
	struct wire_join join;
};

/* What is wrong with a JOIN; cause 0: nothing. */
struct refusal {
	uint8_t cause;	/* enum wire_cause */
	uint8_t field;	/* enum wire_field */
	uint16_t wid_a; /* a rank that asked for value_a, WIRE_WID_NONE: the switch itself */
	uint64_t value_a, value_b;
};

static uint64_t join_bit(const struct joining *j)
{
	return UINT64_C(1) << j->wid;
}

/*
 * Anything else would let an off-path JOIN turn the results of a job towards a port that never
 * asked.
 */
static bool join_port_is_own(const struct joining *j)
{
	uint16_t offset = (uint16_t)(j->in->pkt->flow.udp_port - j->join.port);

	return offset < j->join.nr_ports;
}

static struct flow join_flow(const struct joining *j)
{
	struct flow flow = j->in->pkt->flow;

	flow.udp_port = j->join.port;
	return flow;
}

static bool join_is_from(const struct joining *j, const struct job_member *member)
{
	struct flow flow = join_flow(j);

	if (flow.ip != member->flow.ip || flow.udp_port != member->flow.udp_port)
		return false;
	return !j->agg->strict_ports || memcmp(&flow, &member->flow, sizeof(flow)) == 0;
}

static void join_refusal_status(const struct joining *j, const struct refusal *refusal,
				struct wire_status *status)
{
	if (j->job)
		agg_status(j->job, j->wid, j->in->now->now_ns, status);
	else
		*status = (struct wire_status){ .key = wire_job_key(j->join.name) };
	status->state = WIRE_REFUSED;
	status->cause = refusal->cause;
	status->wid_a = refusal->wid_a;
	status->wid_b = j->wid;
	status->ended = 0;
	status->field = refusal->field;
	status->value_a = refusal->value_a;
	status->value_b = refusal->value_b;
	memset(status->desc_a, 0, WIRE_DESC);
	memset(status->desc_b, 0, WIRE_DESC);
}

static enum counter join_refuse(const struct joining *j, const struct refusal *refusal)
{
	struct wire_status status;

	join_refusal_status(j, refusal, &status);
	agg_answer_with(j->agg, j->in, j->job, &status);
	return COUNTER_join;
}

/*
 * The ranks that joined must learn of it too, or they would wait for the asker until their time is
 * up.
 */
static enum counter join_refuse_all(const struct joining *j, const struct refusal *refusal)
{
	const struct job *job = j->job;
	struct outbox *outbox = &j->agg->outbox;
	struct outbox_room room = { .len = WIRE_BODY };
	struct wire_status status;

	join_refusal_status(j, refusal, &status);
	for (uint16_t wid = 0; wid < job->world; wid++) {
		const struct job_member *member = &job->members[wid];
		struct wire_msg msg = {
			.type = WIRE_STATUS,
			.job = job->handle,
			.epoch = job->epoch,
			.wid = wid,
		};

		if (!(job->joined >> wid & 1) || (wid == j->wid && join_is_from(j, member)))
			continue;
		status.inc = member->inc;
		if (outbox_allows(outbox, &member->flow, j->in->now->now_ns))
			outbox_put(outbox, &member->flow, &msg, &status, room);
	}
	return join_refuse(j, refusal);
}

/* What this switch cannot do for anybody. */
static struct refusal join_unfit(const struct joining *j)
{
	const struct wire_join *join = &j->join;
	struct refusal no = { .cause = WIRE_CAUSE_PARAMETERS, .wid_a = WIRE_WID_NONE };

	if (join->world > WIRE_WORLD_MAX) {
		no.field = WIRE_FIELD_WORLD;
		no.value_a = WIRE_WORLD_MAX;
		no.value_b = join->world;
	} else if (j->wid >= join->world) {
		no.field = WIRE_FIELD_RANK;
		no.value_a = join->world;
		no.value_b = j->wid;
	} else if (join->nr_ranges > 1 ||
		   (join->nr_ranges == 1 &&
		    (join->ranges[0].first != 0 || join->ranges[0].nr != join->world))) {
		no.field = WIRE_FIELD_RANGES;
		no.value_a = join->world;
		no.value_b = join->nr_ranges > 1 ? join->nr_ranges : join->ranges[0].nr;
	} else if ((join->flags & WIRE_JOB_CHUNK_FIXED) && join->p > j->agg->p_max) {
		no.field = WIRE_FIELD_CHUNK;
		no.value_a = j->agg->p_max;
		no.value_b = join->p;
	} else {
		no.cause = WIRE_CAUSE_NONE;
	}
	return no;
}

/* A chunk size the user asked for is met exactly or not at all; one found by default gives way. */
static bool join_chunks_differ(const struct joining *j, const struct job_member *member)
{
	bool fixed = j->join.flags & WIRE_JOB_CHUNK_FIXED;

	if (fixed && member->p_fixed && j->join.p != member->p)
		return true;
	if (fixed && j->join.p > member->p)
		return true;
	return member->p_fixed && member->p > j->join.p;
}

/* What the asker and the ranks that joined disagree on. */
static struct refusal join_differs(const struct joining *j)
{
	const struct job *job = j->job;
	uint64_t others = job->joined & ~join_bit(j);
	uint16_t flags = j->join.flags & (uint16_t)~WIRE_JOB_CHUNK_FIXED;
	struct refusal no = { .cause = WIRE_CAUSE_PARAMETERS, .wid_a = WIRE_WID_NONE };

	if (others)
		no.wid_a = (uint16_t)__builtin_ctzll(others);
	if (j->join.world != job->world) {
		no.field = WIRE_FIELD_WORLD;
		no.value_a = job->world;
		no.value_b = j->join.world;
		return no;
	}
	if (flags != job->flags) {
		no.field = WIRE_FIELD_FLAGS;
		no.value_a = job->flags;
		no.value_b = flags;
		return no;
	}
	for (uint16_t wid = 0; wid < job->world; wid++) {
		if ((others >> wid & 1) && join_chunks_differ(j, &job->members[wid])) {
			no.field = WIRE_FIELD_CHUNK;
			no.wid_a = wid;
			no.value_a = job->members[wid].p;
			no.value_b = j->join.p;
			return no;
		}
	}
	return (struct refusal){ .cause = WIRE_CAUSE_NONE };
}

static void join_accept(const struct joining *j)
{
	j->job->members[j->wid] = (struct job_member){
		.inc = j->join.inc,
		.heard_ns = j->in->now->now_ns,
		.flow = join_flow(j),
		.nr_ports = j->join.nr_ports,
		.slots = j->join.slots,
		.p = j->join.p,
		.p_fixed = j->join.flags & WIRE_JOB_CHUNK_FIXED,
	};
	j->job->joined |= join_bit(j);
}

static enum counter join_answer(const struct joining *j)
{
	agg_answer(j->agg, j->in, j->job);
	return COUNTER_join;
}

/* END EPOCH because of this JOIN, which enters the next one if `enters`; all members are told. */
static enum counter join_break(const struct joining *j, enum wire_cause cause, bool enters)
{
	struct agg_cause why = {
		.cause = (uint8_t)cause,
		.wid_a = j->wid,
		.wid_b = WIRE_WID_NONE,
	};

	if (!agg_end_epoch(j->agg, j->job, &why, j->in->now))
		return COUNTER_too_early;
	if (enters)
		join_accept(j);
	agg_tell(j->agg, j->job, enters ? join_bit(j) : 0, j->in->now);
	return join_answer(j);
}

/* A new job under the name of an old one, whose members are told that their epoch is over. */
static enum counter join_replace(const struct joining *j)
{
	struct job *job = j->job;
	struct agg_cause why = {
		.cause = WIRE_CAUSE_RESTARTED,
		.wid_a = j->wid,
		.wid_b = WIRE_WID_NONE,
	};
	bool enters = j->join.base == (job->running ? job->epoch : job->epoch - 1);

	if (!agg_break(j->agg, job, &why, j->in->now))
		return COUNTER_too_early;
	job_set_world(job, j->join.world);
	job->flags = j->join.flags & (uint16_t)~WIRE_JOB_CHUNK_FIXED;
	job->since_ns = j->in->now->now_ns;
	if (enters)
		join_accept(j);
	return join_answer(j);
}

static enum counter join_settle_running(const struct joining *j, const struct refusal *refusal)
{
	const struct job *job = j->job;
	uint64_t quiet_ns = job_heard(job, job->all) + AGG_IDLE_MS * AGG_MS;

	/* Once a rank has left, the epoch is good for nothing but letting the others finish. */
	if (job->left || quiet_ns < j->in->now->now_ns)
		return join_replace(j);
	return join_refuse(j, refusal);
}

static enum counter join_settle_forming(const struct joining *j, const struct refusal *refusal)
{
	const struct job *job = j->job;
	uint64_t silent = job_silent(job, j->in->now->now_ns, AGG_FRESH_MS * AGG_MS);

	if (job->joined & ~silent)
		return join_refuse_all(j, refusal);
	/* Not by a late JOIN: the answer to it says which base to use. */
	if (j->join.base == job->epoch - 1)
		return join_replace(j);
	return join_answer(j);
}

/* Another process holds the rank: heard a moment ago, from elsewhere. */
static bool join_is_taken(const struct joining *j)
{
	const struct job_member *member = &j->job->members[j->wid];

	if (!member->inc || member->inc == j->join.inc || join_is_from(j, member))
		return false;
	return member->heard_ns + AGG_FRESH_MS * AGG_MS >= j->in->now->now_ns;
}

static enum counter join_refuse_taken(const struct joining *j)
{
	struct refusal no = {
		.cause = WIRE_CAUSE_DUPLICATE_RANK,
		.field = WIRE_FIELD_RANK,
		.wid_a = j->wid,
		.value_a = j->wid,
		.value_b = j->wid,
	};

	return join_refuse(j, &no);
}

static enum counter join_late(const struct joining *j)
{
	struct job_member *member = &j->job->members[j->wid];

	if (member->inc == j->join.inc && join_is_from(j, member))
		member->heard_ns = j->in->now->now_ns;
	return join_answer(j);
}

/* Slots and bytes as the least of what all asked for; fewer slots where fewer are free. */
static bool join_lease(const struct joining *j, uint16_t *wanted)
{
	struct job_table *table = &j->agg->table;
	uint16_t p = j->agg->p_max, slots = UINT16_MAX;
	uint32_t nr_free;

	for (unsigned wid = 0; wid < j->job->world; wid++) {
		const struct job_member *member = &j->job->members[wid];

		p = member->p < p ? member->p : p;
		slots = member->slots < slots ? member->slots : slots;
	}
	*wanted = slots;
	nr_free = job_slots_free(table, p);
	while (nr_free == 0 && agg_expire(j->agg, AGG_EXPIRED_MS, j->in->now))
		nr_free = job_slots_free(table, p);
	if (nr_free == 0)
		return false;
	return job_lease(table, j->job, p, nr_free < slots ? (uint16_t)nr_free : slots);
}

/* All ranks are here. */
static enum counter join_start(const struct joining *j)
{
	struct refusal no = {
		.cause = WIRE_CAUSE_NO_SLOTS,
		.field = WIRE_FIELD_SLOTS,
		.wid_a = WIRE_WID_NONE,
	};
	uint16_t wanted;

	if (!join_lease(j, &wanted)) {
		no.value_b = wanted;
		return join_refuse_all(j, &no);
	}
	j->job->running = true;
	agg_tell(j->agg, j->job, join_bit(j), j->in->now);
	return join_answer(j);
}

static enum counter join_running(const struct joining *j)
{
	struct job *job = j->job;

	if (j->join.base > job->epoch)
		return join_break(j, WIRE_CAUSE_PROTOCOL, false);
	if (j->join.base < job->epoch)
		return join_late(j);
	if (!(job->left & join_bit(j)) && join_is_taken(j))
		return join_refuse_taken(j);
	return join_break(j, WIRE_CAUSE_RESTARTED, true);
}

static enum counter join_forming(const struct joining *j)
{
	struct job *job = j->job;

	if (j->join.base >= job->epoch)
		return join_break(j, WIRE_CAUSE_PROTOCOL, false);
	if (j->join.base < job->epoch - 1)
		return join_late(j);
	if ((job->joined & join_bit(j)) && join_is_taken(j))
		return join_refuse_taken(j);
	join_accept(j);
	return job->joined == job->all ? join_start(j) : join_answer(j);
}

/* COUNTER_join: the job is there, still without members. */
static enum counter join_make(struct joining *j)
{
	struct agg *agg = j->agg;
	const struct pipe_time *now = j->in->now;
	struct refusal full = {
		.cause = WIRE_CAUSE_NO_SLOTS,
		.field = WIRE_FIELD_SLOTS,
		.wid_a = WIRE_WID_NONE,
		.value_b = j->join.slots,
	};
	uint64_t epoch;

	if (!agg_take_epoch(agg, now, &epoch))
		return COUNTER_too_early;
	j->job = job_add(&agg->table, j->join.name, epoch);
	if (!j->job && agg_expire(agg, AGG_FORMING_MS, now))
		j->job = job_add(&agg->table, j->join.name, epoch);
	if (!j->job)
		return join_refuse(j, &full);
	job_set_world(j->job, j->join.world);
	j->job->flags = j->join.flags & (uint16_t)~WIRE_JOB_CHUNK_FIXED;
	j->job->since_ns = now->now_ns;
	return COUNTER_join;
}

/* COUNTER_join: go on. */
static enum counter join_check(struct joining *j)
{
	const struct agg_in *in = j->in;
	enum wire_error error = wire_join_parse(&j->join, &in->msg);

	if (error != WIRE_OK)
		return agg_wire_error(error);
	if (agg_booting(j->agg, in->now))
		return COUNTER_too_early;
	if (j->join.inc == 0 || j->join.base >= in->now->wall_ms + AGG_AHEAD_MS)
		return COUNTER_bad_field;
	return join_port_is_own(j) ? COUNTER_join : COUNTER_spoofed;
}

enum counter agg_join(struct agg *agg, struct agg_in *in)
{
	struct joining j = { .agg = agg, .in = in, .wid = in->msg.wid };
	enum counter counter = join_check(&j);
	struct refusal no;

	if (counter != COUNTER_join)
		return counter;
	no = join_unfit(&j);
	if (no.cause != WIRE_CAUSE_NONE) {
		join_refuse(&j, &no);
		return no.field == WIRE_FIELD_RANK ? COUNTER_bad_wid : COUNTER_join;
	}
	agg_raise_epoch(agg, j.join.base, in->now);
	j.job = job_by_name(&agg->table, j.join.name);
	if (!j.job) {
		counter = join_make(&j);
		if (!j.job)
			return counter;
	}
	no = join_differs(&j);
	if (no.cause != WIRE_CAUSE_NONE)
		return j.job->running ? join_settle_running(&j, &no) : join_settle_forming(&j, &no);
	return j.job->running ? join_running(&j) : join_forming(&j);
}
