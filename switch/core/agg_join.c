// SPDX-License-Identifier: BSD-3-Clause
/*
 * agg_join.c - JOIN: jobs are made, ranks enter epochs, epochs begin.
 *
 * The question of a switch about a job (wire_is_ask()) goes the same way and enters nothing.
 */
#include "switch/core/agg.h"

/* One JOIN on its way through the checks. */
struct joining {
	struct agg *agg;
	struct agg_in *in;
	struct job *job; /* NULL until found or made */
	uint16_t wid;
	unsigned i; /* its member, JOB_NONE: a switch not known yet */
	bool ask;
	struct wire_join join;
	struct wire_range range; /* of this switch, as the asker has it */
	struct wire_range own;	 /* ranks the asker stands for */
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
	return j->i == JOB_NONE ? 0 : UINT64_C(1) << j->i;
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

static bool join_is_from_host(const struct joining *j, const struct job_member *member)
{
	struct flow flow = join_flow(j);

	flow.udp_port = member->flow.udp_port;
	return j->agg->strict_ports ? memcmp(&flow, &member->flow, sizeof(flow)) == 0
				    : flow.ip == member->flow.ip;
}

static bool join_is_from(const struct joining *j, const struct job_member *member)
{
	return join_flow(j).udp_port == member->flow.udp_port && join_is_from_host(j, member);
}

static void join_refusal_status(const struct joining *j, const struct refusal *refusal,
				struct wire_status *status)
{
	if (j->job)
		agg_status(j->job, j->i, j->in->now->now_ns, status);
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
 * up.  state: REFUSED are they as well; FORMING: they are right, and know whom they wait for.
 */
static enum counter join_refuse_all(const struct joining *j, const struct refusal *refusal,
				    enum wire_state state)
{
	const struct job *job = j->job;
	uint64_t others = job->joined;
	struct wire_status status;

	if (j->i != JOB_NONE && join_is_from(j, &job->members[j->i]))
		others &= ~join_bit(j);
	join_refusal_status(j, refusal, &status);
	status.state = (uint8_t)state;
	agg_tell_members(j->agg, job, others, &status, j->in->now->now_ns);
	return join_refuse(j, refusal);
}

static bool join_within(struct wire_range inner, struct wire_range outer)
{
	return inner.first >= outer.first &&
	       (unsigned)inner.first + inner.nr <= (unsigned)outer.first + outer.nr;
}

/* Each range within the next; the outermost switch, which has no parent, has the whole world. */
static bool join_ranges_fit(const struct joining *j)
{
	const struct wire_join *join = &j->join;
	struct wire_range world = { 0, join->world };

	for (unsigned i = 0; i < join->nr_ranges; i++) {
		struct wire_range next = i + 1 < join->nr_ranges ? join->ranges[i + 1] : world;

		if (!join_within(join->ranges[i], next))
			return false;
	}
	return agg_is_leaf(j->agg) || (join->nr_ranges <= 1 && j->range.nr == join->world);
}

/* Two switches, each the other's parent: the asker's ranks would be below themselves. */
static bool join_from_parent(const struct joining *j)
{
	const struct agg_parent *parent = &j->agg->parent;
	const struct flow *from = &j->in->pkt->flow;

	return parent->here && from->ip == parent->flow.ip &&
	       from->udp_port == parent->flow.udp_port;
}

/* What this switch cannot do for anybody. */
static struct refusal join_unfit(const struct joining *j)
{
	const struct wire_join *join = &j->join;
	const uint16_t p_max = agg_p_max(j->agg, join->flags);
	struct refusal no = { .cause = WIRE_CAUSE_PARAMETERS, .wid_a = WIRE_WID_NONE };

	if (!join->ranks && j->range.nr > WIRE_WORLD_MAX) {
		no.field = WIRE_FIELD_WORLD;
		no.value_a = WIRE_WORLD_MAX;
		no.value_b = j->range.nr;
	} else if (j->wid >= join->world) {
		no.field = WIRE_FIELD_RANK;
		no.value_a = join->world;
		no.value_b = j->wid;
	} else if (!join_ranges_fit(j)) {
		no.field = WIRE_FIELD_RANGES;
		no.value_a = join->world;
		no.value_b = join->nr_ranges > 1 ? join->nr_ranges : wire_range_value(j->range);
	} else if (join_from_parent(j)) {
		no.field = WIRE_FIELD_RANGES;
		no.value_a = no.value_b = wire_range_value(j->own);
	} else if (!join_within(j->own, j->range)) {
		no.field = WIRE_FIELD_RANGES;
		no.value_a = wire_range_value(j->range);
		no.value_b = wire_range_value(j->own);
	} else if ((join->flags & WIRE_JOB_CHUNK_FIXED) && join->p > p_max) {
		no.field = WIRE_FIELD_CHUNK;
		no.value_a = p_max;
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

/* The ranges of switches above are the parent's to judge, but all members must mean the same. */
static bool join_ranges_differ(const struct joining *j, struct refusal *no)
{
	const struct job *job = j->job;
	unsigned nr_above = j->join.nr_ranges ? j->join.nr_ranges - 1U : 0;

	no->field = WIRE_FIELD_RANGES;
	no->value_a = wire_range_value(job->range);
	no->value_b = wire_range_value(j->range);
	if (no->value_a != no->value_b)
		return true;
	if (job->tree != (j->join.ranks > 0)) {
		no->value_b = wire_range_value(j->own);
		return true;
	}
	for (unsigned i = 0; agg_is_leaf(j->agg) && i < WIRE_RANGES - 1; i++) {
		struct wire_range above = { 0, 0 };

		if (i < nr_above)
			above = j->join.ranges[i + 1];
		no->value_a = wire_range_value(job->up.ranges[i]);
		no->value_b = wire_range_value(above);
		if (no->value_a != no->value_b)
			return true;
	}
	return false;
}

/* Two switches that stand for the same rank. */
static bool join_overlaps(const struct joining *j, uint64_t others, struct refusal *no)
{
	for (; others; others &= others - 1) {
		struct wire_range range = j->job->members[__builtin_ctzll(others)].range;

		if (range.first + range.nr <= j->own.first ||
		    j->own.first + j->own.nr <= range.first)
			continue;
		no->field = WIRE_FIELD_RANGES;
		no->wid_a = range.first;
		no->value_a = wire_range_value(range);
		no->value_b = wire_range_value(j->own);
		return true;
	}
	return false;
}

/* What the asker and the ranks that joined disagree on. */
static struct refusal join_differs(const struct joining *j)
{
	const struct job *job = j->job;
	uint64_t others = job->joined & ~join_bit(j);
	uint16_t flags = j->join.flags & (uint16_t)~WIRE_JOB_CHUNK_FIXED;
	struct refusal no = { .cause = WIRE_CAUSE_PARAMETERS, .wid_a = WIRE_WID_NONE };

	if (others)
		no.wid_a = job_wid(job, (unsigned)__builtin_ctzll(others));
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
	if (join_ranges_differ(j, &no) || join_overlaps(j, others, &no))
		return no;
	for (; others; others &= others - 1) {
		const struct job_member *member = &job->members[__builtin_ctzll(others)];

		if (join_chunks_differ(j, member)) {
			no.field = WIRE_FIELD_CHUNK;
			no.wid_a = member->range.first;
			no.value_a = member->p;
			no.value_b = j->join.p;
			return no;
		}
	}
	return (struct refusal){ .cause = WIRE_CAUSE_NONE };
}

/* False: a switch too many. */
static bool join_accept(struct joining *j)
{
	if (j->i == JOB_NONE)
		j->i = job_place(j->job, j->own);
	if (j->i == JOB_NONE)
		return false;
	if (!j->job->joined)
		j->job->owner = agg_owner(j->agg, &j->in->pkt->flow);
	j->job->members[j->i] = (struct job_member){
		.inc = j->join.inc,
		.heard_ns = j->in->now->now_ns,
		.flow = join_flow(j),
		.nr_ports = j->join.nr_ports,
		.slots = j->join.slots,
		.p = j->join.p,
		.p_fixed = j->join.flags & WIRE_JOB_CHUNK_FIXED,
		.range = j->own,
	};
	j->job->joined |= join_bit(j);
	return true;
}

static enum counter join_refuse_more(const struct joining *j)
{
	struct refusal no = {
		.cause = WIRE_CAUSE_PARAMETERS,
		.field = WIRE_FIELD_WORLD,
		.wid_a = WIRE_WID_NONE,
		.value_a = WIRE_WORLD_MAX,
		.value_b = WIRE_WORLD_MAX + 1,
	};

	return join_refuse(j, &no);
}

static enum counter join_answer(const struct joining *j)
{
	agg_answer(j->agg, j->in, j->job);
	return COUNTER_join;
}

/* END EPOCH because of this JOIN, which enters the next one if `enters`; all members are told. */
static enum counter join_break(struct joining *j, enum wire_cause cause, bool enters)
{
	struct agg_cause why = {
		.cause = (uint8_t)cause,
		.wid_a = j->wid,
		.wid_b = WIRE_WID_NONE,
		.above = j->join.base,
	};

	if (agg_is_leaf(j->agg)) {
		/* Who knows an epoch later than the parent's has it from the parent before. */
		why.cause = WIRE_CAUSE_RESTARTED;
		if (enters || j->join.base == j->job->epoch)
			agg_up_end(j->agg, j->job, &why, j->in->now);
		if (!enters)
			agg_up_join(j->agg, j->job, j->join.base, j->in->now);
		return join_answer(j);
	}
	if (!agg_end_epoch(j->agg, j->job, &why, j->in->now))
		return COUNTER_too_early;
	if (enters)
		enters = join_accept(j);
	agg_tell(j->agg, j->job, enters ? join_bit(j) : 0, j->in->now);
	return join_answer(j);
}

/* Job, members and what is above as this JOIN has them. */
static void join_set(struct joining *j)
{
	struct job *job = j->job;

	job_set_world(job, j->join.world, j->range, j->join.ranks > 0);
	job->flags = j->join.flags & (uint16_t)~WIRE_JOB_CHUNK_FIXED;
	job->since_ns = j->in->now->now_ns;
	job->owner = agg_owner(j->agg, &j->in->pkt->flow);
	job->ran = false;
	job->rival = (struct job_rival){ .asked_ns = 0 };
	job->want = (struct job_want){ .poked_ns = 0 };
	j->i = job_index(job, j->wid);
	if (!agg_is_leaf(j->agg))
		return;
	job_unlease(&j->agg->table, job);
	job->up.inc = agg_up_inc(j->agg);
	job->up.nr_ranges = 0;
	memset(job->up.ranges, 0, sizeof(job->up.ranges));
	for (unsigned i = 1; i < j->join.nr_ranges; i++)
		job->up.ranges[job->up.nr_ranges++] = j->join.ranges[i];
}

/* A new job under the name of an old one, whose members are told that their epoch is over. */
static enum counter join_replace(struct joining *j)
{
	struct job *job = j->job;
	struct agg_cause why = {
		.cause = WIRE_CAUSE_RESTARTED,
		.wid_a = j->wid,
		.wid_b = WIRE_WID_NONE,
	};
	bool enters = j->join.base == (job->running ? job->epoch : job->epoch - 1);

	if (!agg_is_leaf(j->agg) || job->running) {
		if (!agg_break(j->agg, job, &why, j->in->now))
			return COUNTER_too_early;
		/* At a leaf the parent has not done it yet; the JOIN will come again. */
		if (job->running)
			return join_answer(j);
	}
	join_set(j);
	if (enters && !join_accept(j))
		return join_refuse_more(j);
	return join_answer(j);
}

static enum counter join_settle_running(struct joining *j, const struct refusal *refusal)
{
	const struct job *job = j->job;
	uint64_t heard_ns = job_heard(job, job->all & ~job->left);
	/* Once a rank has left, the epoch is good for nothing but letting the others finish. */
	uint64_t quiet_ms = job->left ? AGG_FRESH_MS : AGG_IDLE_MS;

	if (!j->ask && heard_ns + quiet_ms * AGG_MS < j->in->now->now_ns)
		return join_replace(j);
	/* Of ranks that are gone the network may say so, if it has something to deliver. */
	agg_poke(j->agg, j->job, j->in->now);
	return join_refuse(j, refusal);
}

/*
 * Another process holds the rank, from elsewhere: while the job forms, it says so all the time; once it runs, it may
 * compute.  Its incarnation is no secret, and proves nothing.
 */
static bool join_is_taken(const struct joining *j)
{
	const uint64_t quiet_ms = j->job->running ? AGG_IDLE_MS : AGG_FRESH_MS;
	const struct job_member *member;

	if (j->i == JOB_NONE)
		return false;
	member = &j->job->members[j->i];
	if (!member->inc || join_is_from(j, member))
		return false;
	return member->heard_ns + quiet_ms * AGG_MS >= j->in->now->now_ns;
}

/* Should its holder be gone, the network can say so, and the rank is free at once. */
static enum counter join_refuse_taken(const struct joining *j)
{
	const struct job_member *holder = &j->job->members[j->i];
	struct refusal no = {
		.cause = WIRE_CAUSE_DUPLICATE_RANK,
		.field = WIRE_FIELD_RANK,
		.wid_a = j->wid,
		.value_a = (uint64_t)holder->flow.ip << 16 | holder->flow.udp_port,
		.value_b = (j->in->now->now_ns - holder->heard_ns) / AGG_MS,
	};

	if (j->job->running)
		agg_poke(j->agg, j->job, j->in->now);
	return join_refuse(j, &no);
}

/*
 * Notes whom the job refuses, and says whether another that asked for the same was refused within
 * the last second: these are two that agree.
 */
static bool join_seconds(const struct joining *j)
{
	struct job_rival now = {
		.asked_ns = j->in->now->now_ns,
		.flow = join_flow(j),
		.range = j->range,
		.wid = j->wid,
		.world = j->join.world,
		.flags = j->join.flags,
		.p = j->join.flags & WIRE_JOB_CHUNK_FIXED ? j->join.p : 0,
	};
	struct job_rival last = j->job->rival;

	if (j->ask)
		return false;
	j->job->rival = now;
	return last.asked_ns && last.asked_ns + AGG_FRESH_MS * AGG_MS >= now.asked_ns &&
	       last.wid != now.wid && last.world == now.world && last.flags == now.flags &&
	       last.p == now.p && wire_range_value(last.range) == wire_range_value(now.range) &&
	       (last.flow.ip != now.flow.ip || last.flow.udp_port != now.flow.udp_port);
}

/*
 * Of two that differ nobody knows who is right, so both are refused.  Two that agree are not
 * disturbed by a third, and prevail over one that was first.
 */
static enum counter join_settle_forming(struct joining *j, const struct refusal *refusal)
{
	const struct job *job = j->job;
	uint64_t living = job->joined & ~job_silent(job, j->in->now->now_ns, AGG_FRESH_MS * AGG_MS);

	if (living) {
		const bool alone = !(living & (living - 1));
		const bool seconds = alone && join_seconds(j);

		/* Its rank is here already, and waits with the others. */
		if (!seconds && (job->joined & join_bit(j)) && join_is_taken(j))
			return join_refuse(j, refusal);
		if (!alone)
			return join_refuse_all(j, refusal, WIRE_FORMING);
		if (!seconds)
			return join_refuse_all(j, refusal, WIRE_REFUSED);
	}
	/* Not by a late JOIN: the answer to it says which base to use. */
	if (!j->ask && j->join.base == job->epoch - 1)
		return join_replace(j);
	return join_answer(j);
}

static enum counter join_late(const struct joining *j)
{
	struct job_member *member;

	if (j->i == JOB_NONE)
		return join_answer(j);
	member = &j->job->members[j->i];
	if (member->inc == j->join.inc && join_is_from(j, member))
		member->heard_ns = j->in->now->now_ns;
	return join_answer(j);
}

/* Slots of P bytes that the job, which has none, can have, if others make room for it as far as they may. */
static uint32_t join_slots(const struct joining *j, uint16_t p, uint16_t wanted)
{
	struct job_table *table = &j->agg->table;
	const uint32_t owner = j->job->owner;
	uint32_t nr_free = job_slots_free(table, owner, p);

	if (nr_free < wanted)
		agg_want_poke(j->agg, j->job, true, j->in->now);
	while (nr_free == 0 && agg_want_slots(j->agg, j->in->now))
		nr_free = job_slots_free(table, owner, p);
	return nr_free;
}

/* All ranks are here.  Slots and bytes are the least of what they asked for. */
static enum counter join_start(const struct joining *j)
{
	struct refusal no = {
		.cause = WIRE_CAUSE_NO_SLOTS,
		.field = WIRE_FIELD_SLOTS,
		.wid_a = WIRE_WID_NONE,
	};
	const uint16_t p_max = agg_p_max(j->agg, j->job->flags);
	/* A leaf has had one if a member came again: the parent may count on it. */
	const bool promised = j->job->lease_nr;
	uint16_t p, slots;
	uint32_t nr_free;

	job_unlease(&j->agg->table, j->job);
	agg_least(j->job, j->job->joined, &p, &slots);
	p = p_max < p ? p_max : p;
	no.value_b = slots;
	nr_free = join_slots(j, p, slots);
	if (nr_free < slots && nr_free && !promised && agg_want_hopes(j->agg, j->job, j->in->now))
		return join_answer(j);
	if (nr_free < slots)
		slots = (uint16_t)nr_free;
	if (slots == 0 || !job_lease(&j->agg->table, j->job, p, slots))
		return join_refuse_all(j, &no, WIRE_REFUSED);
	j->job->want.since_ns = 0;
	if (agg_is_leaf(j->agg)) {
		agg_up_join(j->agg, j->job, 0, j->in->now);
		return join_answer(j);
	}
	j->job->all = j->job->joined;
	j->job->ran = true;
	j->job->running = true;
	agg_tell(j->agg, j->job, join_bit(j), j->in->now);
	return join_answer(j);
}

static enum counter join_running(struct joining *j)
{
	struct job *job = j->job;

	if (j->join.base < job->epoch || (j->ask && j->join.base == job->epoch))
		return join_late(j);
	if (!(job->left & join_bit(j)) && join_is_taken(j))
		return join_refuse_taken(j);
	if (j->join.base > job->epoch)
		return join_break(j, WIRE_CAUSE_PROTOCOL, false);
	return join_break(j, WIRE_CAUSE_RESTARTED, true);
}

static enum counter join_forming(struct joining *j)
{
	struct job *job = j->job;

	if (j->join.base < job->epoch - 1 || (j->ask && j->join.base < job->epoch))
		return join_late(j);
	/* Of the epoch that has ended another host does not take what its process is about to join again. */
	if (join_is_taken(j) &&
	    ((job->joined & join_bit(j)) || !join_is_from_host(j, &job->members[j->i])))
		return join_refuse_taken(j);
	if (j->join.base >= job->epoch)
		return join_break(j, WIRE_CAUSE_PROTOCOL, false);
	if (!join_accept(j))
		return join_refuse_more(j);
	return job_complete(job) ? join_start(j) : join_answer(j);
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
	uint64_t epoch = now->wall_ms;

	if (agg->drains) {
		full.field = WIRE_FIELD_NONE;
		return join_refuse(j, &full);
	}
	if (!agg_want_place(agg, agg_owner(agg, &j->in->pkt->flow), now)) {
		/* Not slots are short. */
		full.value_a = agg->table.jobs_max;
		full.value_b = 0;
		agg_want_poke(agg, NULL, false, now);
		return join_refuse(j, &full);
	}
	/* At a leaf only the handle comes from it. */
	if (!agg_is_leaf(agg) && !agg_take_epoch(agg, now, j->join.base, &epoch))
		return COUNTER_too_early;
	j->job = job_add(&agg->table, j->join.name, epoch);
	if (agg_is_leaf(agg))
		j->job->epoch = AGG_UP_EPOCH;
	join_set(j);
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
	if (j->join.inc == 0)
		return COUNTER_bad_field;
	/* A leaf's clock says nothing about epochs: they are those of the root's. */
	if (!agg_is_leaf(j->agg) && j->join.base >= in->now->wall_ms + AGG_AHEAD_MS)
		return COUNTER_bad_field;
	if (j->join.nr_ranges)
		j->range = j->join.ranges[0];
	else
		j->range = (struct wire_range){ 0, j->join.world };
	j->own = (struct wire_range){ j->wid, j->join.ranks ? j->join.ranks : 1 };
	return join_port_is_own(j) ? COUNTER_join : COUNTER_spoofed;
}

static enum counter join_enter(struct joining *j)
{
	struct refusal no = join_differs(j);

	if (no.cause != WIRE_CAUSE_NONE)
		return j->job->running ? join_settle_running(j, &no) : join_settle_forming(j, &no);
	return j->job->running ? join_running(j) : join_forming(j);
}

enum counter agg_join(struct agg *agg, struct agg_in *in)
{
	struct joining j = {
		.agg = agg,
		.in = in,
		.wid = in->msg.wid,
		.i = JOB_NONE,
		.ask = in->msg.type == WIRE_KEEPALIVE,
	};
	enum counter counter = join_check(&j);
	struct refusal no;

	if (counter != COUNTER_join)
		return counter;
	no = join_unfit(&j);
	if (no.cause != WIRE_CAUSE_NONE) {
		join_refuse(&j, &no);
		return no.field == WIRE_FIELD_RANK ? COUNTER_bad_wid : COUNTER_join;
	}
	j.job = job_by_name(&agg->table, j.join.name);
	if (!j.job) {
		counter = join_make(&j);
		if (!j.job)
			return counter;
	}
	j.i = job_index(j.job, j.wid);
	counter = join_enter(&j);
	return counter == COUNTER_join && j.ask ? COUNTER_keepalive : counter;
}
