// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_tree_join.c - every way into an epoch through a tree: the switches' own pipes and the
 * hosts' own sessions, a root, two leaves, two ranks below one of them and one below the other,
 * under a network that delivers whatever was ever sent late, again, in any order, or never; ranks,
 * leaves and the root are restarted.  A leaf whose root has forgotten the epoch forgets the job: to
 * the explorer that is one more restart of the leaf.
 *
 * A state is what matters of each machine, packed, and what is in the network; the machines are
 * made anew from it for each step, and that nothing else mattered is checked again and again.
 * Time is not explored: messages are so far apart that no limit counts, and so close that nobody
 * expires.
 *
 * Checked: no rank, in whichever of its lives, enters an epoch twice, and no leaf runs one twice;
 * and from every state, once nothing is lost any more, all come to run one epoch together.  Then
 * the explorer is tried itself: without one of the rules it must find a violation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/core/session.h"
#include "tests/explore/states.h"
#include "tests/explore/tree.h"

enum {
	RANKS = 3,
	EPOCHS = 6,   /* numbers 0 .. 6; 1 is a leaf's that knows none, 2 the first that runs */
	LIFE_MAX = 3, /* lives of a leaf; a rank has two */
	STATUSES = 2 * (LIFE_MAX + 1),		   /* that an epoch has */
	LIVES = 1 | 1 << EPOCHS | 1 << 2 * EPOCHS, /* a mask of bases, for all lives */
	HANDLE = 77,				   /* at both leaves */
	ROOT_HANDLE = 2,			   /* of the first epoch there */
	ROUNDS = 60,				   /* of a network that loses nothing */
	CHECKED = 8, /* every so many steps it is checked that a state says all */
};

enum fault {
	FAULT_NONE,
	FAULT_JOIN_END,
	FAULT_LEAF_INC,
	FAULT_RANK_INC,
	FAULT_OLD_STATUS,
	FAULT_NO_ASK,
	FAULT_NO_UNKNOWN,
	FAULT_ROOT_UNKNOWN,
	FAULT_NR
};

static const char *const fault_names[FAULT_NR] = {
	[FAULT_NONE] = "none",
	[FAULT_JOIN_END] = "a leaf ends an epoch by a JOIN that counts",
	[FAULT_LEAF_INC] = "a leaf does not compare its incarnation",
	[FAULT_RANK_INC] = "a rank does not compare its incarnation",
	[FAULT_OLD_STATUS] = "a leaf follows an older epoch",
	[FAULT_NO_ASK] = "a leaf does not ask its parent",
	[FAULT_NO_UNKNOWN] = "a restarted leaf does not answer UNKNOWN",
	[FAULT_ROOT_UNKNOWN] = "a leaf goes on in an epoch that its parent has forgotten",
};

struct packed_job {
	uint8_t used, epoch, running, joined;
	uint8_t inc[2];	 /* of the members: 0 none, else the life + 1 */
	uint8_t members; /* root: how many; | 0x80: leaf 1 came first */
	uint8_t lease, parent, last_epoch;
};

struct packed_rank {
	uint8_t life, running, base, epoch, forgotten;
};

/* The network: bit per message that was ever sent. */
struct state {
	struct packed_job jobs[TREE_SWITCHES];
	uint8_t life[TREE_LEAVES];
	struct packed_rank ranks[RANKS];
	uint8_t rank_lives, leaf_lives, root_lives; /* restarts so far */
	uint8_t entered[RANKS], ran[TREE_LEAVES];   /* bit per epoch */
	uint8_t ends[TREE_LEAVES];		    /* bit per base */
	uint8_t unknown[TREE_LEAVES];		    /* bit per epoch: the root's UNKNOWN */
	uint32_t joins[RANKS], leaf_joins[TREE_LEAVES];
	uint64_t told[RANKS], leaf_told[TREE_LEAVES];
};

struct explorer {
	unsigned rank_restarts, leaf_restarts, root_restarts;
	size_t limit;
	enum fault fault;
	struct tree tree;
	struct session sessions[RANKS];
	struct states states;
	size_t transitions;
	unsigned highest;
	const char *violation; /* NULL: none yet */
};

static const struct wire_range ranges[TREE_LEAVES] = { { 0, 2 }, { 2, 1 } };

static unsigned join_bit(unsigned inc, unsigned base)
{
	return (inc - 1) * EPOCHS + base;
}

static unsigned status_bit(unsigned epoch, bool running, unsigned inc)
{
	return (epoch * 2 + running) * (LIFE_MAX + 1) + inc;
}

/* --- Machines from a state and back ---------------------------------------------------------- */

static void unpack_member(struct explorer *e, struct job *job, unsigned i, unsigned sw, uint8_t inc)
{
	struct wire_range range = job->members[i].range;
	struct flow flow = sw == TREE_ROOT ? tree_switch(1) : tree_rank(range.first);

	if (sw == TREE_ROOT && range.first == ranges[1].first)
		flow = tree_switch(2);
	if (inc)
		job->members[i] = (struct job_member){ .inc = inc,
						       .heard_ns = e->tree.now.now_ns,
						       .flow = flow,
						       .nr_ports = 1,
						       .slots = 1,
						       .p = TREE_P,
						       .range = range };
}

static void unpack_job(struct explorer *e, const struct state *s, unsigned sw)
{
	const struct packed_job *from = &s->jobs[sw];
	struct agg *agg = &e->tree.pipes[sw]->agg;
	struct job_table *table = &agg->table;
	struct job *job = &table->jobs[0];
	struct wire_range world = { 0, RANKS };

	table->keys[0] = 0;
	table->slots.nr = table->values.nr = 0;
	table->by_handle[job->handle] = 0;
	if (sw != TREE_ROOT) {
		table->by_parent[job->up.handle] = 0;
		agg->parent.inc = s->life[sw - 1] + 1U;
		agg->parent.nr_incs = from->used;
	}
	memset(job, 0, sizeof(*job));
	agg->last_epoch = from->last_epoch;
	agg->outbox.head = agg->outbox.tail;
	if (!from->used)
		return;
	job_add(table, TREE_NAME, sw == TREE_ROOT ? ROOT_HANDLE : HANDLE);
	job->epoch = from->epoch;
	job->since_ns = e->tree.now.now_ns;
	job_set_world(job, RANKS, sw == TREE_ROOT ? world : ranges[sw - 1], sw == TREE_ROOT);
	if (sw == TREE_ROOT) {
		job->nr_members = from->members & 0x7f;
		job->members[0].range = ranges[from->members >> 7];
		job->members[1].range = ranges[!(from->members >> 7)];
	} else {
		job->up.inc = agg->parent.inc;
		if (from->parent)
			job_set_parent(table, job, ROOT_HANDLE);
	}
	for (unsigned i = 0; i < job->nr_members; i++)
		unpack_member(e, job, i, sw, from->inc[i]);
	job->joined = from->joined;
	job->running = from->running;
	if (job->tree && job->running)
		job->all = job->joined;
	if (from->lease)
		job_lease(table, job, TREE_P, 1);
}

static void pack_job(struct explorer *e, struct state *s, unsigned sw)
{
	const struct agg *agg = &e->tree.pipes[sw]->agg;
	const struct job *job = &agg->table.jobs[0];
	struct packed_job *to = &s->jobs[sw];

	*to = (struct packed_job){ .last_epoch = sw == TREE_ROOT ? (uint8_t)agg->last_epoch : 0 };
	if (!job->used)
		return;
	to->used = 1;
	to->epoch = (uint8_t)job->epoch;
	to->running = job->running;
	to->joined = (uint8_t)job->joined;
	for (unsigned i = 0; i < job->nr_members && i < 2; i++)
		to->inc[i] = (uint8_t)job->members[i].inc;
	to->lease = job->lease_nr > 0;
	if (sw == TREE_ROOT) {
		to->members = (uint8_t)job->nr_members;
		if (job->nr_members && job->members[0].range.first == ranges[1].first)
			to->members |= 0x80;
	} else {
		to->parent = job->up.handle != 0;
	}
	if (job->epoch >= EPOCHS)
		e->violation = "epochs without end";
	if (sw == TREE_ROOT && job->epoch > e->highest)
		e->highest = (unsigned)job->epoch;
}

/* What is not packed, and has no meaning for what is explored. */
static void forget(struct job *job)
{
	memset(&job->last, 0, sizeof(job->last));
	job->since_ns = 0;
	for (unsigned i = 0; i < WIRE_WORLD_MAX; i++) {
		if (job->members[i].inc == 0)
			job->members[i].range = (struct wire_range){ 0, 0 };
		job->members[i].heard_ns = 0;
	}
	job->up.join_ns = job->up.ask_ns = job->up.end_ns = job->up.probe_ns = 0;
	job->up.awaited = (struct wire_range){ 0, 0 };
	job->up.awaited_slot = 0;
	job->up.awaited_round = 0;
	if (job->lease_nr == 0) {
		job->p = job->slots = 0;
		job->lease_first = 0;
		job->values_off = 0;
		job->stride = 0;
	}
}

/* Packs what has become of a switch, and checks that nothing that mattered was left out. */
static void pack_checked(struct explorer *e, struct state *s, unsigned sw)
{
	struct job *job = tree_job(&e->tree, sw);
	struct job before, after;

	pack_job(e, s, sw);
	if (e->transitions % CHECKED)
		return;
	memcpy(&before, job, sizeof(before));
	unpack_job(e, s, sw);
	memcpy(&after, job, sizeof(after));
	forget(&before);
	forget(&after);
	if ((before.used || after.used) && memcmp(&before, &after, sizeof(before)) != 0)
		e->violation = "the explorer's state lacks something of a switch";
}

static void unpack_rank(struct explorer *e, const struct state *s, unsigned rank)
{
	const struct packed_rank *from = &s->ranks[rank];
	struct session *session = &e->sessions[rank];
	const struct session_params params = {
		.name = TREE_NAME,
		.inc = from->life + 1U,
		.rank = (uint16_t)rank,
		.world = RANKS,
		.slots = 1,
		.p = TREE_P,
		.port = tree_rank(rank).udp_port,
		.nr_ports = 1,
	};

	session_init(session, &params, e->tree.now.now_ns);
	session->join.nr_ranges = 1;
	session->join.ranges[0] = ranges[tree_leaf_of(&e->tree, rank)];
	session->join.base = from->base;
	session->job = HANDLE;
	if (!from->running)
		return;
	session->state = SESSION_RUNNING;
	session->epoch = session->spoken = from->epoch;
	session->forgotten = from->forgotten;
}

static void pack_rank(struct explorer *e, struct state *s, unsigned rank)
{
	const struct session *session = &e->sessions[rank];
	struct packed_rank *to = &s->ranks[rank];

	to->running = session->state == SESSION_RUNNING;
	to->base = (uint8_t)session->join.base;
	to->epoch = to->running ? (uint8_t)session->epoch : 0;
	to->forgotten = to->running && session->forgotten;
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* Wall clocks: the root always has one more epoch to give; a leaf's says its handle. */
static void input(struct explorer *e, unsigned sw, struct flow from, size_t len)
{
	uint64_t last = e->tree.pipes[TREE_ROOT]->agg.last_epoch;
	struct job_table *table = &e->tree.pipes[sw]->agg.table;
	struct job *job = &table->jobs[0];

	e->tree.now.wall_ms = sw == TREE_ROOT ? (last < 2 ? 2 : last + 1) : HANDLE;
	tree_input(&e->tree, sw, from, len);
	/* A restarted root's job may get the same handle, which tells its lives apart least. */
	if (sw == TREE_ROOT && job->used && job->handle != ROOT_HANDLE) {
		table->by_handle[ROOT_HANDLE] = table->by_handle[job->handle];
		table->by_handle[job->handle] = 0;
		job->handle = ROOT_HANDLE;
	}
}

static void send_status(struct explorer *e, unsigned leaf, unsigned epoch, bool running,
			unsigned inc)
{
	const struct wire_msg msg = {
		.type = WIRE_STATUS, .job = ROOT_HANDLE, .epoch = epoch, .wid = ranges[leaf].first
	};
	struct wire_status status = { .state = running ? WIRE_RUNNING : WIRE_FORMING,
				      .key = wire_job_key(TREE_NAME),
				      .inc = inc,
				      .p = TREE_P,
				      .slots = 1 };

	if (e->fault == FAULT_LEAF_INC)
		status.inc = tree_job(&e->tree, leaf + 1)->up.inc;
	input(e, leaf + 1, tree_switch(TREE_ROOT),
	      wire_status_build(e->tree.buf, &msg, &status, WIRE_BODY));
}

static void send_unknown(struct explorer *e, unsigned leaf, unsigned epoch)
{
	const struct wire_msg msg = {
		.type = WIRE_STATUS, .job = ROOT_HANDLE, .epoch = epoch, .wid = ranges[leaf].first
	};
	const struct wire_status status = { .state = WIRE_UNKNOWN };

	input(e, leaf + 1, tree_switch(TREE_ROOT),
	      wire_status_build(e->tree.buf, &msg, &status, WIRE_PAD));
}

/* A leaf asks about the epoch it runs. */
static void send_probe(struct explorer *e, unsigned leaf, unsigned epoch)
{
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = ROOT_HANDLE,
				      .epoch = epoch,
				      .wid = ranges[leaf].first };

	wire_build(e->tree.buf, &msg);
	memset(e->tree.buf + WIRE_HEADER, 0, WIRE_BODY);
	input(e, TREE_ROOT, tree_switch(leaf + 1), WIRE_HEADER + WIRE_BODY);
}

/* What a leaf's life says to the root for all its ranks. */
static void send_leaf_join(struct explorer *e, unsigned leaf, unsigned inc, unsigned base, bool ask)
{
	const struct wire_join join = {
		.inc = inc,
		.base = base,
		.world = RANKS,
		.slots = 1,
		.p = TREE_P,
		.port = WIRE_PORT,
		.nr_ports = 1,
		.ranks = ranges[leaf].nr,
		.name = TREE_NAME,
	};
	size_t len = ask ? wire_ask_build(e->tree.buf, ranges[leaf].first, &join)
			 : wire_join_build(e->tree.buf, ranges[leaf].first, &join);

	input(e, TREE_ROOT, tree_switch(leaf + 1), len);
}

static void send_end(struct explorer *e, unsigned leaf, unsigned base)
{
	const struct wire_msg msg = {
		.type = WIRE_END, .job = ROOT_HANDLE, .epoch = base, .wid = ranges[leaf].first
	};
	const struct wire_status body = { .cause = WIRE_CAUSE_RESTARTED };

	input(e, TREE_ROOT, tree_switch(leaf + 1),
	      wire_status_build(e->tree.buf, &msg, &body, WIRE_BODY));
}

static void send_keepalive(struct explorer *e, unsigned rank)
{
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = HANDLE,
				      .epoch = e->sessions[rank].epoch,
				      .wid = (uint16_t)rank };

	wire_build(e->tree.buf, &msg);
	memset(e->tree.buf + WIRE_HEADER, 0, WIRE_BODY);
	input(e, tree_leaf_of(&e->tree, rank) + 1, tree_rank(rank), WIRE_HEADER + WIRE_BODY);
}

/* A STATUS at a rank, which starts over whenever it must. */
static void rank_takes(struct explorer *e, struct state *s, unsigned rank,
		       const struct wire_msg *msg)
{
	struct session *session = &e->sessions[rank];
	enum session_event event;

	if (e->fault == FAULT_NO_UNKNOWN && msg->payload[WIRE_STATUS_STATE] == WIRE_UNKNOWN)
		return;
	event = session_input(session, msg, e->tree.now.now_ns);
	if (event == SESSION_OVER)
		session_rejoin(session, e->tree.now.now_ns);
	if (event == SESSION_BEGUN) {
		if (s->entered[rank] >> session->epoch & 1)
			e->violation = "a rank enters an epoch twice";
		s->entered[rank] |= (uint8_t)(1 << session->epoch);
	}
}

static void rank_told(struct explorer *e, struct state *s, unsigned rank, unsigned epoch,
		      bool running, unsigned inc)
{
	uint8_t buf[WIRE_MSG_MAX];
	const struct wire_msg header = {
		.type = WIRE_STATUS, .job = HANDLE, .epoch = epoch, .wid = (uint16_t)rank
	};
	const struct wire_status status = {
		.state = running ? WIRE_RUNNING : WIRE_FORMING,
		.key = wire_job_key(TREE_NAME),
		.inc = e->fault == FAULT_RANK_INC ? s->ranks[rank].life + 1U : inc,
		.p = TREE_P,
		.slots = 1,
	};
	struct wire_msg msg;
	size_t len = wire_status_build(buf, &header, &status, WIRE_BODY);

	if (wire_parse(&msg, buf, len) == WIRE_OK)
		rank_takes(e, s, rank, &msg);
}

/* What a switch has sent to a rank or a leaf is in the network from now on. */
static void sent_status(struct explorer *e, struct state *s, const struct wire_msg *msg)
{
	unsigned rank = msg->wid, leaf = tree_leaf_of(&e->tree, rank);
	struct wire_status status;

	if (wire_status_parse(&status, msg) != WIRE_OK || status.state == WIRE_REFUSED) {
		e->violation = "a refusal";
		return;
	}
	if (msg->epoch >= EPOCHS)
		return;
	if (status.state == WIRE_UNKNOWN) {
		/* A rank's comes when it asks: expand_rank_sends(). */
		if (e->tree.pkt.flow.port == TREE_ROOT)
			s->unknown[leaf] |= (uint8_t)(1 << msg->epoch);
		return;
	}
	if (e->tree.pkt.flow.port == TREE_ROOT)
		s->leaf_told[leaf] |= UINT64_C(1) << status_bit((unsigned)msg->epoch,
								status.state == WIRE_RUNNING,
								(unsigned)status.inc);
	else
		s->told[rank] |= UINT64_C(1)
				 << status_bit((unsigned)msg->epoch, status.state == WIRE_RUNNING,
					       (unsigned)status.inc);
}

static void sent_up(struct explorer *e, struct state *s, unsigned leaf, const struct wire_msg *msg)
{
	struct wire_join join;

	if (msg->type == WIRE_JOIN && wire_join_parse(&join, msg) == WIRE_OK) {
		s->leaf_joins[leaf] |= (1U << join_bit((unsigned)join.inc, (unsigned)join.base));
	} else if (msg->type == WIRE_END && e->fault == FAULT_JOIN_END) {
		s->leaf_joins[leaf] |= (1U << join_bit(s->life[leaf] + 1U, (unsigned)msg->epoch));
	} else if (msg->type == WIRE_END) {
		s->ends[leaf] |= (uint8_t)(1 << msg->epoch);
	} else if (msg->type != WIRE_KEEPALIVE) {
		/* Questions are a move of their own, possible at any time. */
		e->violation = "a leaf sends what it should not";
	}
}

/* The switch has taken one message: what it is now, and what it has sent. */
static void settle(struct explorer *e, struct state *s, unsigned sw)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_msg msg;
	struct flow to;
	size_t len;

	while ((len = pipe_output(e->tree.pipes[sw], &to, buf)) != 0) {
		if (wire_parse(&msg, buf, len) != WIRE_OK) {
			e->violation = "a message that is not valid";
		} else if (to.ip == tree_switch(TREE_ROOT).ip) {
			sent_up(e, s, sw - 1, &msg);
		} else {
			e->tree.pkt.flow.port = (uint16_t)sw;
			sent_status(e, s, &msg);
		}
	}
	if (sw != TREE_ROOT && tree_job(&e->tree, sw)->running && !s->jobs[sw].running) {
		uint8_t bit = (uint8_t)(1 << tree_job(&e->tree, sw)->epoch);

		if (s->ran[sw - 1] & bit)
			e->violation = "a leaf runs an epoch twice";
		s->ran[sw - 1] |= bit;
	}
	pack_checked(e, s, sw);
}

/* Whether the leaf may yet hear that its root knows nothing of the epoch. */
static bool may_forget(const struct explorer *e, const struct state *s, unsigned leaf)
{
	const struct packed_job *job = &s->jobs[leaf + 1], *root = &s->jobs[TREE_ROOT];
	unsigned i = leaf ^ (root->members >> 7);

	if (s->root_lives < e->root_restarts || s->unknown[leaf])
		return true;
	return job->used && job->running && (!root->used || root->inc[i] == 0);
}

/*
 * Messages that can have no effect any more but an answer, which may also be had for the asking,
 * are taken out, so that states differ only where it matters.
 */
static void prune(const struct explorer *e, struct state *s)
{
	for (unsigned rank = 0; rank < RANKS; rank++) {
		const struct packed_rank *r = &s->ranks[rank];
		const struct packed_job *job = &s->jobs[tree_leaf_of(&e->tree, rank) + 1];
		unsigned newest = r->epoch > r->base ? r->epoch : r->base;

		if (s->rank_lives == e->rank_restarts || r->life == 1)
			s->told[rank] &=
				~((UINT64_C(1) << status_bit(newest + (r->epoch > 0), 0, 0)) - 1);
		if (job->used && job->epoch && s->leaf_lives == e->leaf_restarts &&
		    !may_forget(e, s, tree_leaf_of(&e->tree, rank)))
			s->joins[rank] &= ~(((1U << (job->epoch - 1)) - 1) * LIVES);
	}
	for (unsigned leaf = 0; leaf < TREE_LEAVES; leaf++) {
		const struct packed_job *job = &s->jobs[leaf + 1], *root = &s->jobs[TREE_ROOT];

		if (job->used && e->fault != FAULT_OLD_STATUS &&
		    (s->leaf_lives == e->leaf_restarts || s->life[leaf] == 1) &&
		    !may_forget(e, s, leaf))
			s->leaf_told[leaf] &= ~((UINT64_C(1) << status_bit(job->epoch, 0, 0)) - 1);
		if (!job->used || !job->running)
			s->unknown[leaf] = 0;
		else
			s->unknown[leaf] &= (uint8_t)(1 << job->epoch);
		if (root->used && s->root_lives == e->root_restarts) {
			s->ends[leaf] &= (uint8_t) ~((1U << root->epoch) - 1);
			s->leaf_joins[leaf] &= ~(((1U << (root->epoch - 1)) - 1) * LIVES);
		}
	}
}

static void reached(struct explorer *e, struct state *s)
{
	e->transitions++;
	if (e->violation)
		return;
	prune(e, s);
	states_add(&e->states, s);
}

/* --- From every state all must come together ------------------------------------------------- */

/* What a switch without one of its rules would not have sent, or taken. */
static bool carry_loses(const struct explorer *e, unsigned sw, const struct wire_msg *msg)
{
	if (e->fault == FAULT_NO_ASK)
		return sw != TREE_ROOT && msg->type == WIRE_KEEPALIVE;
	return e->fault == FAULT_ROOT_UNKNOWN && sw == TREE_ROOT &&
	       msg->payload[WIRE_STATUS_STATE] == WIRE_UNKNOWN;
}

/* Everything that is sent arrives at once, until all are silent. */
static void carry(struct explorer *e, struct state *s)
{
	uint8_t buf[WIRE_MSG_MAX];
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned sw = 0; sw < TREE_SWITCHES; sw++) {
			struct wire_msg msg;
			struct flow to;
			size_t len = pipe_output(e->tree.pipes[sw], &to, buf);

			if (len == 0)
				continue;
			moved = true;
			if (wire_parse(&msg, buf, len) != WIRE_OK)
				return;
			if (to.ip < tree_switch(TREE_ROOT).ip) {
				rank_takes(e, s, msg.wid, &msg);
			} else if (!carry_loses(e, sw, &msg)) {
				memcpy(e->tree.buf, buf, len);
				input(e, to.ip - tree_switch(TREE_ROOT).ip, tree_switch(sw), len);
			}
		}
	}
}

static bool together(const struct explorer *e)
{
	uint64_t epoch = tree_job(&e->tree, TREE_ROOT)->epoch;

	for (unsigned sw = 0; sw < TREE_SWITCHES; sw++) {
		const struct job *job = tree_job(&e->tree, sw);

		if (!job->running || job->epoch != epoch)
			return false;
	}
	for (unsigned rank = 0; rank < RANKS; rank++) {
		if (e->sessions[rank].state != SESSION_RUNNING || e->sessions[rank].epoch != epoch)
			return false;
	}
	return true;
}

static bool converges(struct explorer *e, const struct state *from)
{
	struct state s;

	memcpy(&s, from, sizeof(s));
	for (unsigned sw = 0; sw < TREE_SWITCHES; sw++)
		unpack_job(e, &s, sw);
	for (unsigned rank = 0; rank < RANKS; rank++)
		unpack_rank(e, &s, rank);
	for (unsigned k = 0; k < ROUNDS && !together(e) && !e->violation; k++) {
		unsigned rank = k % RANKS;
		enum session_event event;
		size_t len;

		e->tree.now.now_ns += 100 * AGG_MS;
		len = session_output(&e->sessions[rank], e->tree.buf, e->tree.now.now_ns, &event);
		if (len)
			input(e, tree_leaf_of(&e->tree, rank) + 1, tree_rank(rank), len);
		else
			send_keepalive(e, rank);
		carry(e, &s);
	}
	return together(e);
}

/* --- All that may happen next ---------------------------------------------------------------- */

static void expand_rank_sends(struct explorer *e, const struct state *from, unsigned rank)
{
	const struct packed_rank *r = &from->ranks[rank];
	unsigned leaf = tree_leaf_of(&e->tree, rank), i = rank - ranges[leaf].first;
	struct state s;

	memcpy(&s, from, sizeof(s));
	if (!r->running || r->forgotten) {
		s.joins[rank] |= (1U << join_bit(r->life + 1U, r->base));
		reached(e, &s);
		return;
	}
	/* Asks in its epoch: the answer is on its way, or the leaf has forgotten all about it. */
	unpack_job(e, &s, leaf + 1);
	unpack_rank(e, &s, rank);
	if (!s.jobs[leaf + 1].used || s.jobs[leaf + 1].inc[i] == 0 ||
	    (!s.jobs[leaf + 1].running && s.jobs[leaf + 1].epoch == r->epoch)) {
		if (e->fault == FAULT_NO_UNKNOWN)
			return;
		s.ranks[rank].forgotten = 1;
	} else {
		send_keepalive(e, rank);
		settle(e, &s, leaf + 1);
	}
	reached(e, &s);
}

static void expand_rank(struct explorer *e, const struct state *from, unsigned rank)
{
	unsigned leaf = tree_leaf_of(&e->tree, rank);
	struct state s;

	expand_rank_sends(e, from, rank);
	for (unsigned bit = 0; bit < 2 * EPOCHS && !e->violation; bit++) {
		if (!(from->joins[rank] >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, leaf + 1);
		tree_join(&e->tree, rank, bit / EPOCHS + 1, bit % EPOCHS);
		settle(e, &s, leaf + 1);
		reached(e, &s);
	}
	for (unsigned bit = 0; bit < STATUSES * EPOCHS && !e->violation; bit++) {
		if (!(from->told[rank] >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_rank(e, &s, rank);
		rank_told(e, &s, rank, bit / STATUSES, bit / (LIFE_MAX + 1) % 2,
			  bit % (LIFE_MAX + 1));
		pack_rank(e, &s, rank);
		reached(e, &s);
	}
	if (from->rank_lives < e->rank_restarts && from->ranks[rank].life == 0) {
		memcpy(&s, from, sizeof(s));
		s.rank_lives++;
		s.ranks[rank] = (struct packed_rank){ .life = 1 };
		reached(e, &s);
	}
}

static void expand_leaf_up(struct explorer *e, const struct state *from, unsigned leaf)
{
	const struct packed_job *job = &from->jobs[leaf + 1];
	struct state s;

	for (unsigned bit = 0; bit < LIFE_MAX * EPOCHS && !e->violation; bit++) {
		if (!(from->leaf_joins[leaf] >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, TREE_ROOT);
		send_leaf_join(e, leaf, bit / EPOCHS + 1, bit % EPOCHS, false);
		settle(e, &s, TREE_ROOT);
		reached(e, &s);
	}
	for (unsigned base = 0; base < EPOCHS && !e->violation; base++) {
		if (!(from->ends[leaf] >> base & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, TREE_ROOT);
		send_end(e, leaf, base);
		settle(e, &s, TREE_ROOT);
		reached(e, &s);
	}
	if (job->used && job->running && !e->violation) {
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, TREE_ROOT);
		send_probe(e, leaf, job->epoch);
		settle(e, &s, TREE_ROOT);
		reached(e, &s);
	}
	if (!job->used || e->fault == FAULT_NO_ASK || e->violation)
		return;
	memcpy(&s, from, sizeof(s));
	unpack_job(e, &s, TREE_ROOT);
	send_leaf_join(e, leaf, from->life[leaf] + 1U, job->running ? job->epoch : job->epoch - 1U,
		       true);
	settle(e, &s, TREE_ROOT);
	reached(e, &s);
}

/* The root has forgotten the epoch that the leaf runs, which forgets the job: from now on another life. */
static void expand_leaf_forgets(struct explorer *e, const struct state *from, unsigned leaf)
{
	const struct packed_job *job = &from->jobs[leaf + 1];
	struct state s;

	if (!job->used || !job->running || !(from->unknown[leaf] >> job->epoch & 1) ||
	    e->fault == FAULT_ROOT_UNKNOWN)
		return;
	memcpy(&s, from, sizeof(s));
	unpack_job(e, &s, leaf + 1);
	send_unknown(e, leaf, job->epoch);
	settle(e, &s, leaf + 1);
	if (s.jobs[leaf + 1].used)
		e->violation = "a leaf goes on without its parent";
	if (++s.life[leaf] >= LIFE_MAX)
		e->violation = "a leaf forgets again and again";
	reached(e, &s);
}

static void expand_leaf(struct explorer *e, const struct state *from, unsigned leaf)
{
	struct state s;

	expand_leaf_up(e, from, leaf);
	expand_leaf_forgets(e, from, leaf);
	for (unsigned bit = 0; bit < STATUSES * EPOCHS && !e->violation; bit++) {
		if (!(from->leaf_told[leaf] >> bit & 1) || !from->jobs[leaf + 1].used)
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, leaf + 1);
		if (e->fault == FAULT_OLD_STATUS && bit / STATUSES < s.jobs[leaf + 1].epoch) {
			tree_job(&e->tree, leaf + 1)->epoch = bit / STATUSES;
			tree_job(&e->tree, leaf + 1)->running = false;
			s.jobs[leaf + 1].running = 0;
		}
		send_status(e, leaf, bit / STATUSES, bit / (LIFE_MAX + 1) % 2,
			    bit % (LIFE_MAX + 1));
		settle(e, &s, leaf + 1);
		reached(e, &s);
	}
	if (from->leaf_lives < e->leaf_restarts && !e->violation) {
		memcpy(&s, from, sizeof(s));
		s.leaf_lives++;
		s.life[leaf]++;
		memset(&s.jobs[leaf + 1], 0, sizeof(s.jobs[leaf + 1]));
		reached(e, &s);
	}
}

/* Its clock goes on: what it gives later is above all that it gave. */
static void expand_root(struct explorer *e, const struct state *from)
{
	struct state s;

	if (from->root_lives == e->root_restarts || e->violation)
		return;
	memcpy(&s, from, sizeof(s));
	s.root_lives++;
	s.jobs[TREE_ROOT] = (struct packed_job){ .last_epoch = from->jobs[TREE_ROOT].last_epoch };
	reached(e, &s);
}

static void explore(struct explorer *e)
{
	static const uint64_t inc[TREE_LEAVES] = { 1, 1 };
	struct state s;

	tree_open(&e->tree, RANKS, ranges, inc);
	e->tree.now.now_ns += 1000 * AGG_MS;
	memset(&s, 0, sizeof(s));
	states_init(&e->states, sizeof(s));
	states_add(&e->states, &s);
	for (size_t i = 0; i < e->states.nr && e->states.nr < e->limit && !e->violation; i++) {
		memcpy(&s, states_get(&e->states, i), sizeof(s));
		for (unsigned rank = 0; rank < RANKS && !e->violation; rank++)
			expand_rank(e, &s, rank);
		for (unsigned leaf = 0; leaf < TREE_LEAVES && !e->violation; leaf++)
			expand_leaf(e, &s, leaf);
		expand_root(e, &s);
		if (!e->violation && !converges(e, &s) && !e->violation)
			e->violation = "not together in a network that loses nothing";
	}
	states_fini(&e->states);
	tree_close(&e->tree);
}

/* How many of each are restarted, at any time. */
struct restarts {
	unsigned ranks, leaves, root;
};

static int explore_restarts(struct restarts r, size_t limit)
{
	struct explorer e = {
		.rank_restarts = r.ranks,
		.leaf_restarts = r.leaves,
		.root_restarts = r.root,
		.limit = limit,
	};

	explore(&e);
	printf("explore_tree_join: 2+1 ranks, restarts: %u of ranks, %u of leaves, %u of the root: "
	       "%zu states%s, ",
	       r.ranks, r.leaves, r.root, e.states.nr, e.states.nr >= limit ? " (limit)" : "");
	printf("%zu transitions, highest epoch %u, %s%s\n", e.transitions, e.highest,
	       e.violation ? "VIOLATION: " : "no violation", e.violation ? e.violation : "");
	return e.violation != NULL;
}

/* Each where its absence shows soonest. */
static int explore_faults(void)
{
	static const struct {
		enum fault fault;
		struct restarts r;
	} tries[] = {
		{ FAULT_JOIN_END, { 1, 0, 0 } },     { FAULT_LEAF_INC, { 0, 1, 0 } },
		{ FAULT_RANK_INC, { 1, 0, 0 } },     { FAULT_OLD_STATUS, { 1, 0, 0 } },
		{ FAULT_NO_ASK, { 1, 1, 0 } },	     { FAULT_NO_UNKNOWN, { 0, 1, 0 } },
		{ FAULT_ROOT_UNKNOWN, { 0, 0, 1 } },
	};
	int missed = 0;

	for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct explorer e = {
			.rank_restarts = tries[i].r.ranks,
			.leaf_restarts = tries[i].r.leaves,
			.root_restarts = tries[i].r.root,
			.limit = 200000,
			.fault = tries[i].fault,
		};

		explore(&e);
		printf("explore_tree_join: without a rule, %s: %s%s\n", fault_names[e.fault],
		       e.violation ? "found: " : "NOT FOUND", e.violation ? e.violation : "");
		missed += !e.violation;
	}
	return missed;
}

/* usage: explore_tree_join [LIMIT]: of states, for the largest explorations. */
int main(int argc, char **argv)
{
	size_t limit = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000;
	int failures;

	failures = explore_restarts((struct restarts){ 1, 0, 0 }, SIZE_MAX);
	failures += explore_restarts((struct restarts){ 0, 1, 0 }, SIZE_MAX);
	failures += explore_restarts((struct restarts){ 0, 0, 1 }, SIZE_MAX);
	failures += explore_restarts((struct restarts){ 1, 1, 0 }, limit);
	failures += explore_restarts((struct restarts){ 1, 0, 1 }, limit);
	failures += explore_restarts((struct restarts){ 0, 1, 1 }, limit);
	failures += explore_faults();
	return failures != 0;
}
