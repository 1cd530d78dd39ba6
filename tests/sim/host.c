// SPDX-License-Identifier: BSD-3-Clause
// host.c - a rank of a job: the product's session and operations, and an application above them.
//
// The application issues its row of operations, anew after each fault, and leaves when it is
// through: at once, or when all ranks are.  Whoever has left is started again if another has to
// begin anew.
#include "tests/sim/sim.h"

#include <string.h>

#include "tests/sim/mutant.h"
#include "tests/sums.h"

enum { BURST = 16 };

static const uint64_t probe_gap_ns = 50 * SIM_MS;
static const uint64_t farewell_ns = 300 * SIM_MS; /* END and LEAVE are repeated for 200 ms */

static struct sim_job *host_job(struct world *w, unsigned n)
{
	return &w->job[w->node[n].job];
}

/* --- Lives ------------------------------------------------------------------------------------ */

static void host_later(struct world *w, unsigned n, uint64_t at_ns)
{
	host_rank(w, n)->booting = true;
	world_event(w, &(struct event){ .type = EVENT_BOOT, .node = (uint8_t)n }, at_ns);
}

void host_visit(struct world *w, struct sim_job *job)
{
	job->calm = w->calm;
	for (unsigned r = 0; r < job->world; r++) {
		job->rank[r].done_epoch = 0;
		job->rank[r].lingers = false;
		host_later(w, job->node[r], w->now_ns + sim_span(w, 5 * SIM_MS));
	}
}

static uint16_t host_port(const struct world *w, unsigned n, const struct rank *rank)
{
	unsigned lives = w->traits.same_port ? 0 : rank->life % 1000;

	return (uint16_t)(1000 * (n + 1) + lives);
}

/* Which ranks the switches on the way have. */
static void host_ranges(struct world *w, unsigned n, uint16_t world)
{
	struct wire_join *join = &host_rank(w, n)->session.join;

	if (w->nr_switches == 1)
		return;
	for (unsigned at = w->node[n].parent; at != SIM_NONE; at = w->node[at].parent)
		join->ranges[join->nr_ranges++] = host_job(w, n)->below[at];
	join->ranges[join->nr_ranges - 1] = (struct wire_range){ 0, world };
}

void host_boot(struct world *w, unsigned n)
{
	struct sim_job *job = host_job(w, n);
	struct rank *rank = host_rank(w, n);
	struct node *node = &w->node[n];
	const struct coll_params cp = { .slots = job->want_slots[node->rank],
					.p = job->want_p[node->rank],
					.rto_min_ns = SIM_MS,
					.rto_max_ns = 100 * SIM_MS };
	bool deviant = rank->life ? rank->deviant : job->deviant == node->rank;
	bool wrong_world = deviant && job->deviance == DEVIANT_WORLD;
	bool wrong_check = deviant && job->deviance == DEVIANT_CHECK;
	struct rank next = { .coll = coll_init(rank->coll, &cp),
			     .life = rank->life + 1,
			     .deviant = deviant,
			     .inc = sim_mix(w->seed << 32 ^ (n << 16) ^ (rank->life + 1)) | 1,
			     .silent_ns = rank->silent_ns,
			     .last_epoch = rank->last_epoch,
			     .last_life = rank->last_life,
			     .blamed_restart = rank->life > 0,
			     .nr_aborts = rank->nr_aborts,
			     .corrupted = rank->corrupted,
			     .blamed_rounds = rank->blamed_rounds,
			     .blamed_early = rank->blamed_early,
			     .blamed_left = rank->blamed_left,
			     .blamed_gone = rank->blamed_gone,
			     .blamed_broken = rank->blamed_broken };

	memcpy(next.aborted, rank->aborted, sizeof(next.aborted));
	if (w->mutant == MUTANT_SAME_INC && rank->inc)
		next.inc = rank->inc;
	wrong_world = wrong_world || (w->mutant == MUTANT_WORLD && node->rank == 0);
	next.port = host_port(w, n, &next);
	*rank = next;
	session_init(&rank->session,
		     &(struct session_params){ .name = job->name,
					       .inc = rank->inc,
					       .rank = node->rank,
					       .world = (uint16_t)(job->world + wrong_world),
					       .slots = cp.slots,
					       .p = cp.p,
					       .p_fixed = deviant && job->deviance == DEVIANT_CHUNK,
					       .check = job->check != wrong_check,
					       .port = rank->port,
					       .nr_ports = 1 },
		     w->now_ns);
	host_ranges(w, n, (uint16_t)(job->world + wrong_world));
	node->up = true;
	node->paused = false;
	node->port = rank->port;
	trace_note(w, "rank boots", n, rank->life);
	if (rank->life > 1)
		host_again(w, job);
	world_ready(w, n);
}

void host_crash(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	w->node[n].up = false;
	net_flush(w, &w->node[n]);
	rank->blamed_gone = true;
	rank->done_epoch = 0;
	rank->booting = true;
}

void host_again(struct world *w, struct sim_job *job)
{
	for (unsigned r = 0; r < job->world; r++) {
		struct rank *rank = &job->rank[r];

		if (rank->booting || !rank->blamed_left || !rank->done_epoch)
			continue;
		if (w->node[job->node[r]].up && rank->session.state != SESSION_LEAVING)
			continue;
		host_crash(w, job->node[r]);
		host_later(w, job->node[r], w->now_ns + sim_span(w, 20 * SIM_MS));
	}
}

/* All have left: perhaps once more, and if the switch may not know it, certainly. */
static void host_left(struct world *w, struct sim_job *job)
{
	bool again = false;

	for (unsigned r = 0; r < job->world; r++) {
		const struct rank *rank = &job->rank[r];

		if (rank->booting || w->node[job->node[r]].up || !rank->done_epoch)
			return;
		again = again || rank->lingers;
	}
	/* What a leaf says of leaving to its parent it says once: if that is lost, a visit repairs it. */
	again = again || (w->nr_switches > 1 && !job->calm);
	if (job->visits > 1 && !w->calm) {
		job->visits--;
		w->seen[SEEN_AGAIN] = true;
		again = true;
	}
	/* Which is for the switch's sake; of many ranks in a tree each operation is many packets. */
	if (again && w->calm && w->nr_switches > 1 && job->world > SIM_CROWD)
		job->nr_ops = 1;
	if (again)
		host_visit(w, job);
	w->undone -= !again && !job->done;
	job->done = !again;
}

/* Whether a rank waits for an epoch after the one that others have left with all done. */
static bool host_awaited(const struct world *w, const struct sim_job *job)
{
	for (unsigned r = 0; r < job->world; r++)
		if (w->node[job->node[r]].up && !job->rank[r].done_epoch &&
		    job->rank[r].session.state != SESSION_RUNNING)
			return true;
	return false;
}

static void host_exit(struct world *w, unsigned n, bool acknowledged)
{
	struct rank *rank = host_rank(w, n);

	w->node[n].up = false;
	net_flush(w, &w->node[n]);
	rank->blamed_gone = true;
	rank->lingers = !acknowledged;
	trace_note(w, "rank has left", n, acknowledged);
	/* The others wait for it, and nobody has told them. */
	if (rank->quits && !acknowledged) {
		rank->done_epoch = 0;
		host_later(w, n, w->now_ns + sim_span(w, 20 * SIM_MS));
		return;
	}
	if (host_awaited(w, host_job(w, n)))
		host_again(w, host_job(w, n));
	else
		host_left(w, host_job(w, n));
}

/* --- Sending ---------------------------------------------------------------------------------- */

static void host_send(struct world *w, unsigned n, const void *data, size_t len)
{
	const struct sending s = { .from = (uint8_t)n,
				   .to = w->node[n].parent,
				   .src_port = host_rank(w, n)->port,
				   .dst_port = WIRE_PORT,
				   .data = data,
				   .len = len };

	net_send(w, &s);
}

static void host_probe(struct world *w, unsigned n, uint16_t slot, uint32_t round)
{
	struct rank *rank = host_rank(w, n);
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = rank->session.job,
				      .epoch = rank->session.epoch,
				      .slot = slot,
				      .round = round,
				      .wid = w->node[n].rank };
	uint8_t buf[SIM_ROOM] = { 0 };

	wire_build(buf, &msg);
	rank->probe_ns = w->now_ns;
	host_send(w, n, buf, net_seal(host_job(w, n)->check, buf, WIRE_BODY));
}

static unsigned host_op(const struct rank *rank, const struct coll_chunk *chunk)
{
	return rank->finished + (chunk->op + COLL_OPS - rank->finished % COLL_OPS) % COLL_OPS;
}

/* What CLOSE sums over. */
static void host_count(struct rank *rank, const struct coll_chunk *chunk, const uint8_t *payload)
{
	uint64_t sums[2];

	sums_close(sums, chunk->kind, payload, chunk->count);
	coll_count(rank->coll, chunk, sums);
}

static void host_payload(struct world *w, unsigned n, const struct coll_chunk *chunk,
			 uint8_t *payload)
{
	struct rank *rank = host_rank(w, n);
	unsigned r = w->node[n].rank;
	struct coll_chunk again = *chunk;

	if (chunk->lane == COLL_E) {
		if (chunk->fresh)
			check_exponents(w, host_job(w, n), r, host_op(rank, chunk), chunk);
		memcpy(payload, chunk->e, chunk->len);
		return;
	}
	if (chunk->close) {
		coll_close(rank->coll, chunk, payload);
		return;
	}
	check_fill(w, host_job(w, n), r, host_op(rank, chunk), chunk, payload);
	again.fresh = true;
	if (chunk->counted || (w->mutant == MUTANT_COUNTS_AGAIN && host_job(w, n)->check))
		host_count(rank, &again, payload);
}

static void host_transmit(struct world *w, unsigned n, const struct coll_chunk *chunk)
{
	struct rank *rank = host_rank(w, n);
	const struct wire_msg msg = { .type = WIRE_DATA,
				      .kind = chunk->kind,
				      .job = rank->session.job,
				      .epoch = rank->session.epoch,
				      .slot = chunk->slot,
				      .round = chunk->round,
				      .desc = chunk->desc,
				      .wid = w->node[n].rank };
	uint8_t *buf = net_room(w);

	host_payload(w, n, chunk, buf + WIRE_HEADER);
	wire_build(buf, &msg);
	host_send(w, n, buf, net_seal(host_job(w, n)->check, buf, chunk->len));
	if (chunk->probe)
		host_probe(w, n, chunk->slot, chunk->round);
}

/* --- The application -------------------------------------------------------------------------- */

/* The row begins anew, with whoever has left. */
static void host_over(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	rank->in_epoch = false;
	rank->posted = rank->finished = 0;
	rank->done_epoch = 0;
	host_again(w, host_job(w, n));
}

/* In one of the things that an operation's descriptor says. */
static void host_differ(struct coll_args *args, uint64_t seed)
{
	switch (seed % 4) {
	case 0:
		args->desc.op ^= 7;
		break;
	case 1:
		args->desc.dtype ^= 7;
		break;
	default:
		args->desc.count += args->desc.count > 0;
		args->desc.root = args->desc.count == 0;
	}
}

static void host_post(struct world *w, struct sim_job *job, struct rank *rank)
{
	while (rank->posted < rank->epoch->nr_ops && w->now_ns >= rank->post_ns &&
	       w->now_ns >= rank->silent_ns && coll_outstanding(rank->coll) < COLL_OPS) {
		const struct work *work = &job->work[rank->posted];
		bool wrong = rank->deviant && job->deviance == DEVIANT_OP &&
			     rank->posted == job->deviant_op;
		struct coll_args args = { .desc = { .count = work->count,
						    .collective = work->form == COLL_OPEN
									  ? WIRE_BARRIER
									  : WIRE_ALLREDUCE,
						    .dtype = work->dtype,
						    .op = work->op,
						    .world = job->world },
					  .form = work->form,
					  .kind = work->kind,
					  .width = work->width };

		if (wrong)
			host_differ(&args, job->seed);

		if (coll_start(rank->coll, &args) < 0)
			sim_fail(w, BY_WIRE, "an operation is refused");
		w->marks[job->index][rank - job->rank][rank->posted % COLL_OPS] =
			(struct mark){ .nr = 0 };
		rank->posted++;
		rank->post_ns = w->now_ns + sim_span(w, w->traits.think_ns);
	}
}

static bool host_all_finished(const struct sim_job *job)
{
	for (unsigned r = 0; r < job->world; r++)
		if (!job->rank[r].done_epoch || job->rank[r].done_epoch != job->rank[0].done_epoch)
			return false;
	return true;
}

static void host_leave(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	rank->blamed_left = true;
	rank->in_epoch = false;
	w->seen[SEEN_LEAVES_EARLY] |= !host_all_finished(host_job(w, n));
	if (w->mutant == MUTANT_NO_LEAVE)
		host_exit(w, n, true);
	else
		session_leave(&rank->session, w->now_ns);
}

/* Between operations a rank is silent and would not learn that the others begin anew. */
static void host_finished(struct world *w, unsigned n)
{
	struct sim_job *job = host_job(w, n);
	struct rank *rank = host_rank(w, n);

	if (!rank->done_epoch) {
		rank->done_epoch = rank->session.epoch;
		rank->leave_ns = w->now_ns + sim_span(w, 2 * SIM_MS);
	}
	if (job->wait && !host_all_finished(job)) {
		if (w->now_ns >= rank->probe_ns + probe_gap_ns)
			host_probe(w, n, 0, 0);
	} else if (w->now_ns >= rank->leave_ns) {
		host_leave(w, n);
	}
}

/* As the product does: the sum is void, here and everywhere. */
static void host_corrupted(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	rank->corrupted = rank->session.epoch;
	session_abort(&rank->session, WIRE_CAUSE_CORRUPTED, w->now_ns);
	rank->blamed_restart = true; /* should END be lost for long */
	host_over(w, n);
	world_ready(w, n);
}

/* False: one of them is corrupted. */
static bool host_complete(struct world *w, unsigned n)
{
	struct sim_job *job = host_job(w, n);
	struct rank *rank = host_rank(w, n);
	int i;

	while ((i = coll_finish(rank->coll)) >= 0) {
		if (job->check) {
			bool verified = coll_verified(rank->coll, i) ||
					w->mutant == MUTANT_CLOSE_NOT;

			check_verdict(w, job, w->node[n].rank, verified);
			if (!verified) {
				host_corrupted(w, n);
				return false;
			}
		}
		check_finished(w, job, w->node[n].rank);
		rank->finished++;
	}
	return true;
}

static void host_operations(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);
	struct coll_chunk out[BURST];
	unsigned nr;

	host_post(w, host_job(w, n), rank);
	do {
		nr = coll_output(rank->coll, out, BURST, w->now_ns);
		for (unsigned i = 0; i < nr; i++)
			host_transmit(w, n, &out[i]);
	} while (nr == BURST);
	if (host_complete(w, n) && rank->finished == rank->epoch->nr_ops)
		host_finished(w, n);
}

/* --- Receiving -------------------------------------------------------------------------------- */

static void host_result(struct world *w, unsigned n, const struct wire_msg *msg)
{
	struct sim_job *job = host_job(w, n);
	struct rank *rank = host_rank(w, n);
	unsigned r = w->node[n].rank;
	struct coll_chunk chunk;

	switch (coll_input(rank->coll, msg, &chunk, w->now_ns)) {
	case COLL_TAKEN_D:
		if (w->spoilt.epoch)
			check_spoilt(w, job, r, host_op(rank, &chunk), &chunk);
		if (chunk.counted)
			host_count(rank, &chunk, msg->payload);
		if (chunk.close || (w->mutant == MUTANT_SKIPS && sim_draw(w, 50) == 0))
			break;
		check_data(w, job, r, host_op(rank, &chunk), &chunk, msg->payload);
		if (w->mutant == MUTANT_TWICE && sim_draw(w, 50) == 0)
			check_data(w, job, r, host_op(rank, &chunk), &chunk, msg->payload);
		break;
	case COLL_TAKEN_E:
		check_agreed(w, job, r, host_op(rank, &chunk), &chunk);
		break;
	case COLL_DROPPED:
		break;
	case COLL_MISMATCH:
		sim_fail(w, BY_WIRE, "node %u: a result with another descriptor", n);
	case COLL_BROKEN:
		sim_fail(w, BY_WIRE, "node %u: a result without values", n);
	}
}

/* The first epoch runs: the switch is restarted in the very same millisecond. */
static void host_blink(struct world *w)
{
	if (!w->traits.blinks || w->calm)
		return;
	w->traits.blinks = false;
	w->acts[0] = (struct act){ .kind = ACT_SWITCH_CRASH,
				   .for_ns = 10 * SIM_US + sim_span(w, 200 * SIM_US) };
	world_event(w, &(struct event){ .type = EVENT_ACT, .arg = 0 },
		    w->now_ns + sim_span(w, 200 * SIM_US));
}

static void host_begun(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);
	const struct wire_status *st = session_status(&rank->session);
	const struct coll_epoch epoch = { .job = rank->session.job,
					  .epoch = rank->session.epoch,
					  .wid = w->node[n].rank,
					  .slots = st->slots,
					  .p = st->p,
					  .check = host_job(w, n)->check };

	if (!st->slots || st->slots > host_job(w, n)->want_slots[w->node[n].rank] ||
	    st->p < WIRE_P_MIN || st->p > host_job(w, n)->want_p[w->node[n].rank])
		sim_fail(w, BY_WIRE, "node %u: %u slots of %u bytes, which was not asked for", n,
			 st->slots, st->p);
	if (rank->session.p_fixed && st->p != rank->session.join.p)
		sim_fail(w, BY_REFUSAL, "node %u: P is %u, and %u was asked for and no other", n,
			 st->p, rank->session.join.p);
	host_over(w, n);
	host_blink(w);
	check_enter(w, host_job(w, n), w->node[n].rank);
	coll_begin(rank->coll, &epoch);
	rank->in_epoch = true;
	rank->post_ns = w->now_ns;
	trace_note(w, "rank enters an epoch", n, rank->session.epoch);
}

/*
 * Expected only if somebody is wrong on purpose, or slots are short, which is then put right; or
 * if packets of the rank's life before arrive that late that it seems to live on.
 */
static void host_gave_up(struct world *w, unsigned n)
{
	static const struct {
		uint8_t field, seen;
	} fields[] = { [DEVIANT_WORLD] = { WIRE_FIELD_WORLD, SEEN_WORLD_DIFFERS },
		       [DEVIANT_CHUNK] = { WIRE_FIELD_CHUNK, SEEN_CHUNK_DIFFERS },
		       [DEVIANT_CHECK] = { WIRE_FIELD_FLAGS, SEEN_CHECK_DIFFERS } };
	struct sim_job *job = host_job(w, n);
	struct rank *rank = host_rank(w, n);
	const struct wire_status *st = session_status(&rank->session);

	/* Ten JOINs in a row are lost, and three small probes are not. */
	if (rank->session.failure == SESSION_TOO_LARGE && rank->session.p_fixed) {
		host_crash(w, n);
		host_later(w, n, w->now_ns + sim_span(w, 20 * SIM_MS));
		return;
	}
	if (rank->session.failure != SESSION_WAS_REFUSED)
		sim_fail(w, BY_REFUSAL, "node %u: joining failed, why: %u", n,
			 rank->session.failure);
	if (!(st->cause == WIRE_CAUSE_PARAMETERS && job->deviant != SIM_NONE &&
	      job->deviance != DEVIANT_OP) &&
	    !(st->cause == WIRE_CAUSE_NO_SLOTS && w->tight) &&
	    !(st->cause == WIRE_CAUSE_DUPLICATE_RANK && rank->life > 1))
		sim_fail(w, BY_REFUSAL, "node %u: refused for 5 s, cause %u", n, st->cause);
	if (st->cause == WIRE_CAUSE_PARAMETERS && st->field != fields[job->deviance].field)
		sim_fail(w, BY_REFUSAL, "node %u: refused because of field %u", n, st->field);
	job->mismatches++;
	if (st->cause == WIRE_CAUSE_PARAMETERS) {
		w->seen[fields[job->deviance].seen] = true;
		rank->deviant = false;
	}
	host_crash(w, n);
	host_later(w, n, w->now_ns + sim_span(w, 20 * SIM_MS));
}

/* The switch does not know the rank's epoch any more, or so it thinks. */
static void host_forgotten(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);
	const struct node *at = &w->node[w->node[n].parent];

	rank->blamed_restart = true;
	for (unsigned i = 0; i < SIM_TABLE && at->up && !rank->blamed_early; i++) {
		const struct job *job = pipe_job(at->pipe, i);

		if (job && job->running && job->epoch == rank->session.epoch &&
		    job->key == rank->session.key)
			sim_fail(w, BY_EPOCH,
				 "node %u: epoch %lu is not known, and the switch runs it", n,
				 (unsigned long)job->epoch);
	}
}

static void host_event(struct world *w, unsigned n, enum session_event event,
		       const struct wire_msg *msg)
{
	struct rank *rank = host_rank(w, n);

	switch (event) {
	case SESSION_BEGUN:
		host_begun(w, n);
		break;
	case SESSION_OVER:
		check_blame(w, host_job(w, n), w->node[n].rank, session_status(&rank->session));
		host_over(w, n);
		w->overs++;
		break;
	case SESSION_REPLY:
		if (rank->in_epoch)
			coll_answer(rank->coll, session_status(&rank->session), msg->slot,
				    msg->round, rank->probe_ns, w->now_ns);
		break;
	case SESSION_GAVE_UP:
		host_gave_up(w, n);
		break;
	case SESSION_GONE:
		host_exit(w, n, msg != NULL);
		break;
	case SESSION_SMALLER: /* what it asked for before does not hold any more */
		rank->blamed_restart = true;
		break;
	case SESSION_NOTHING:
		break;
	}
	if (rank->session.forgotten)
		host_forgotten(w, n);
}

static void host_refusal(struct world *w, const struct wire_msg *msg)
{
	uint8_t cause = msg->payload[WIRE_STATUS_CAUSE];

	if (msg->type != WIRE_STATUS || msg->payload[WIRE_STATUS_STATE] != WIRE_REFUSED)
		return;
	w->seen[SEEN_NO_SLOTS] |= cause == WIRE_CAUSE_NO_SLOTS;
	w->seen[SEEN_DUPLICATE] |= cause == WIRE_CAUSE_DUPLICATE_RANK;
}

static void host_input(struct world *w, unsigned n, struct packet *p)
{
	struct rank *rank = host_rank(w, n);
	struct wire_msg msg;

	if (w->mutant == MUTANT_HOST_SEAL_NOT)
		mutant_seal(p);
	if (wire_parse(&msg, p->data, p->len) != WIRE_OK) {
		if (!p->flipped)
			sim_fail(w, BY_WIRE, "node %u: the switch sent nonsense", n);
		return;
	}
	host_refusal(w, &msg);
	if (msg.type == WIRE_RESULT && rank->in_epoch)
		host_result(w, n, &msg);
	else if (msg.type == WIRE_STATUS)
		host_event(w, n, session_input(&rank->session, &msg, w->now_ns), &msg);
}

static uint64_t host_deadline(struct world *w, unsigned n)
{
	const struct sim_job *job = host_job(w, n);
	struct rank *rank = host_rank(w, n);
	uint64_t at = session_deadline(&rank->session), other;

	if (!rank->in_epoch || rank->session.forgotten)
		return at;
	other = coll_deadline(rank->coll);
	at = other < at ? other : at;
	if (rank->posted < rank->epoch->nr_ops && coll_outstanding(rank->coll) < COLL_OPS) {
		other = rank->post_ns > rank->silent_ns ? rank->post_ns : rank->silent_ns;
		at = other < at ? other : at;
	}
	if (rank->finished == rank->epoch->nr_ops) {
		other = job->wait && !host_all_finished(job) ? rank->probe_ns + probe_gap_ns
							     : rank->leave_ns;
		at = other < at ? other : at;
	}
	return at;
}

void host_run(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);
	struct node *node = &w->node[n];
	uint8_t buf[WIRE_MSG_MAX];
	enum session_event event;
	uint64_t at_ns;
	struct packet *p;
	size_t len;

	while (node->up && (p = net_take(w, node)) != NULL) {
		host_input(w, n, p);
		net_give_back(w, p);
	}
	while (node->up) {
		len = session_output(&rank->session, buf, w->now_ns, &event);
		if (event != SESSION_NOTHING || rank->session.forgotten)
			host_event(w, n, event, NULL);
		if (len)
			host_send(w, n, buf, len);
		else if (node->up && rank->session.state == SESSION_ENDED)
			session_rejoin(&rank->session, w->now_ns);
		else
			break;
	}
	if (node->up && rank->in_epoch && !rank->session.forgotten)
		host_operations(w, n);
	if (!node->up)
		return;
	if ((rank->session.state == SESSION_LEAVING || rank->session.state == SESSION_ENDING) &&
	    w->now_ns - rank->session.since_ns > farewell_ns)
		sim_fail(w, BY_LIVENESS, "node %u: END or LEAVE for more than %lu ms", n,
			 (unsigned long)(farewell_ns / SIM_MS));
	at_ns = host_deadline(w, n);
	world_wake(w, n, at_ns > w->now_ns ? at_ns : w->now_ns + SIM_US);
}

/* --- Faults of its own ------------------------------------------------------------------------ */

void host_abort(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	if (!w->node[n].up || w->node[n].paused || rank->session.state != SESSION_RUNNING)
		return;
	rank->aborted[rank->nr_aborts++ % SIM_ABORTS] = rank->session.epoch;
	w->seen[SEEN_ABORT] = true;
	session_abort(&rank->session, WIRE_CAUSE_ABORTED, w->now_ns);
	rank->blamed_restart = true; /* should END be lost for long, or not even be waited for */
	if (sim_draw(w, 2))
		session_rejoin(&rank->session, w->now_ns);
	host_over(w, n);
	world_ready(w, n);
}

void host_fail(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	if (!w->node[n].up || w->node[n].paused || rank->session.state != SESSION_RUNNING)
		return;
	rank->blamed_restart = true;
	w->seen[SEEN_FAIL] = true;
	session_fail(&rank->session, w->now_ns);
	host_over(w, n);
	world_ready(w, n);
}

/* Its row counts as finished until the others need it and it comes again. */
void host_quit(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);

	if (!w->node[n].up || w->node[n].paused || !rank->in_epoch || rank->done_epoch)
		return;
	w->seen[SEEN_QUIT] = true;
	rank->quits = true;
	rank->done_epoch = rank->session.epoch;
	host_leave(w, n);
	world_ready(w, n);
}
