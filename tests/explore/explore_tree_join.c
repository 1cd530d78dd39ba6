// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_tree_join.c - every way into an epoch through a tree: the switches' own pipes and the
 * hosts' own sessions, a root, two leaves, two ranks below one of them and one or two below the other,
 * under a network that delivers whatever was ever sent late, again, in any order, or never; ranks,
 * leaves and the root are restarted.  A leaf whose root has forgotten the epoch forgets the job: to
 * the explorer that is one more restart of the leaf.
 *
 * A state is what matters of each machine, packed, and what is in the network; those that differ in the network
 * alone are explored as one, with all that any way to it has sent: more than can happen, so that no violation
 * is missed.  The machines are made anew from it for each step, and that nothing else mattered is
 * checked again and again.
 * Time is not explored: messages are so far apart that no limit counts, and so close that nobody
 * expires.
 *
 * Checked: no rank, in whichever of its lives, enters an epoch twice, and no leaf runs one twice;
 * and from every state, once nothing is lost any more, all come to run one epoch together.  Then
 * the explorer is tried itself: without one of the rules it must find a violation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/explore/tree_join.h"

static const char *const fault_names[FAULT_NR] = {
	[FAULT_NONE] = "none",
	[FAULT_JOIN_END] = "a leaf ends an epoch by a JOIN that counts",
	[FAULT_LEAF_INC] = "a leaf does not compare its incarnation",
	[FAULT_RANK_INC] = "a rank does not compare its incarnation",
	[FAULT_OLD_STATUS] = "a leaf follows an older epoch",
	[FAULT_NO_ASK] = "a leaf does not ask its parent",
	[FAULT_NO_UNKNOWN] = "a restarted leaf does not answer UNKNOWN",
	[FAULT_DISOWN] = "a leaf without the job ends whatever its parent runs",
	[FAULT_ROOT_UNKNOWN] = "a leaf goes on in an epoch that its parent has forgotten",
};

static const struct wire_range ranges_2_1[TREE_LEAVES] = { { 0, 2 }, { 2, 1 } };
static const struct wire_range ranges_2_2[TREE_LEAVES] = { { 0, 2 }, { 2, 2 } };

static unsigned join_bit(unsigned inc, unsigned base)
{
	return (inc - 1) * EPOCHS + base;
}

static unsigned status_bit(unsigned epoch, bool running, unsigned inc)
{
	return (epoch * 2 + running) * (LIFE_MAX + 1) + inc;
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* A STATUS at a rank, which starts over whenever it must. */
static void rank_takes(struct explorer *e, struct state *s, unsigned rank,
		       const struct wire_msg *msg)
{
	struct session *session = &e->sessions[rank];
	uint64_t base = session->join.base;
	enum session_event event;

	if (e->fault == FAULT_NO_UNKNOWN && msg->payload[WIRE_STATUS_STATE] == WIRE_UNKNOWN)
		return;
	event = session_input(session, msg, e->tree.now.now_ns);
	if (event == SESSION_OVER)
		session_rejoin(session, e->tree.now.now_ns);
	if (session->join.base < base)
		e->violation = "the base of a rank falls";
	if (event == SESSION_BEGUN) {
		if (session->epoch <= base || (s->entered[rank] >> session->epoch & 1))
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
	uint64_t bit;

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
	bit = UINT64_C(1) << status_bit((unsigned)msg->epoch, status.state == WIRE_RUNNING,
					(unsigned)status.inc);
	if (e->tree.pkt.flow.port != TREE_ROOT)
		s->told[rank] |= bit;
	else
		s->leaf_told[leaf][status.state == WIRE_RUNNING && status.slots > 1] |= bit;
}

static void sent_up(struct explorer *e, struct state *s, unsigned leaf, const struct wire_msg *msg)
{
	struct wire_join join;
	struct wire_status end;

	if (msg->type == WIRE_JOIN && wire_join_parse(&join, msg) == WIRE_OK) {
		s->leaf_joins[leaf][join.slots > 1] |=
			1U << join_bit((unsigned)join.inc, (unsigned)join.base);
	} else if (msg->type == WIRE_END && e->fault == FAULT_JOIN_END) {
		s->leaf_joins[leaf][0] |= 1U << join_bit(s->life[leaf] + 1U, (unsigned)msg->epoch);
	} else if (msg->type == WIRE_END && wire_status_parse(&end, msg) == WIRE_OK) {
		if (end.state == WIRE_UNKNOWN)
			s->disowns[leaf] |= (uint8_t)(1 << msg->epoch);
		else
			s->ends[leaf] |= (uint8_t)(1 << msg->epoch);
	} else if (msg->type == WIRE_LEAVE && msg->epoch == 0) {
		s->leaving |= (uint8_t)(1 << leaf);
	} else if (msg->type != WIRE_KEEPALIVE) {
		/* Questions are a move of their own, possible at any time. */
		e->violation = "a leaf sends what it should not";
	}
}

static void check_running(struct explorer *e, const struct job *job)
{
	if (job->all != (UINT64_C(1) << job->nr_members) - 1)
		e->violation = "a leaf runs without one of its ranks";
	for (unsigned i = 0; i < job->nr_members; i++)
		if (job->slots > job->members[i].slots)
			e->violation = "a leaf runs with more slots than a rank has";
}

/* The switch has taken one message: what it is now, and what it has sent. */
static void settle(struct explorer *e, struct state *s, unsigned sw)
{
	const struct job *job = tree_job(&e->tree, sw);
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
	if (s->jobs[sw].used && job->used && job->epoch < s->jobs[sw].epoch)
		e->violation = "the epoch of a switch falls";
	if (sw != TREE_ROOT && job->running)
		check_running(e, job);
	if (sw != TREE_ROOT && job->running && !s->jobs[sw].running) {
		uint8_t bit = (uint8_t)(1 << job->epoch);

		if (s->ran[sw - 1] & bit)
			e->violation = "a leaf runs an epoch twice";
		s->ran[sw - 1] |= bit;
	}
	pack_job(e, s, sw);
}

/*
 * Epochs that were entered or run and cannot be again, by those who do not start over, are taken out, so that
 * states differ only where it matters: rank_takes() and settle() see to it that no base and no epoch falls.
 */
static void prune(const struct explorer *e, struct state *s)
{
	for (unsigned rank = 0; rank < e->nr_ranks; rank++) {
		const struct packed_rank *r = &s->ranks[rank];
		unsigned newest = r->epoch > r->base ? r->epoch : r->base;

		if (s->rank_lives == e->rank_restarts || r->life == 1)
			s->entered[rank] &= (uint8_t) ~((2U << newest) - 1);
	}
	for (unsigned leaf = 0; leaf < TREE_LEAVES; leaf++) {
		const struct packed_job *job = &s->jobs[leaf + 1];

		if (job->used && s->leaf_lives == e->leaf_restarts && s->gones == e->gones &&
		    e->root_restarts == 0)
			s->ran[leaf] &= (uint8_t) ~((1U << job->epoch) - 1);
	}
}

static void state_merge(struct state *to, const struct state *bits)
{
	uint64_t a[(sizeof(*to) - STATE_KEY) / sizeof(uint64_t)], b[sizeof(a) / sizeof(*a)];

	memcpy(a, (uint8_t *)to + STATE_KEY, sizeof(a));
	memcpy(b, (const uint8_t *)bits + STATE_KEY, sizeof(b));
	for (size_t i = 0; i < sizeof(a) / sizeof(*a); i++)
		a[i] |= b[i];
	memcpy((uint8_t *)to + STATE_KEY, a, sizeof(a));
}

/* A move that changes no machine only adds to the network: it may as well be made first. */
static void reached(struct explorer *e, struct state *s)
{
	struct state grown;

	e->transitions++;
	if (e->violation)
		return;
	prune(e, s);
	if (memcmp(s, &e->from, STATE_KEY) == 0) {
		memcpy(&grown, &e->from, sizeof(grown));
		state_merge(&grown, s);
		e->grown |= memcmp(&grown, &e->from, sizeof(grown)) != 0;
		memcpy(&e->from, &grown, sizeof(grown));
		return;
	}
	if (e->nr_next == e->room_next) {
		e->room_next = e->room_next ? 2 * e->room_next : 64;
		e->next = realloc(e->next, e->room_next * sizeof(*e->next));
		if (!e->next)
			abort();
	}
	memcpy(&e->next[e->nr_next++], s, sizeof(*s));
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
				join_input(e, to.ip - tree_switch(TREE_ROOT).ip, tree_switch(sw),
					   len);
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
	for (unsigned rank = 0; rank < e->nr_ranks; rank++) {
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
	for (unsigned rank = 0; rank < e->nr_ranks; rank++)
		unpack_rank(e, &s, rank);
	for (unsigned k = 0; k < ROUNDS && !together(e) && !e->violation; k++) {
		unsigned rank = k % e->nr_ranks;
		enum session_event event;
		size_t len;

		e->tree.now.now_ns += 100 * AGG_MS;
		len = session_output(&e->sessions[rank], e->tree.buf, e->tree.now.now_ns, &event);
		if (len)
			join_input(e, tree_leaf_of(&e->tree, rank) + 1, tree_rank(rank), len);
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
	unsigned leaf = tree_leaf_of(&e->tree, rank), i = rank - e->ranges[leaf].first;
	struct state s;

	memcpy(&s, from, sizeof(s));
	if (!r->running || r->forgotten) {
		s.joins[rank] |= 1U << join_bit(r->life + 1U, r->base);
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

	if (!e->again)
		expand_rank_sends(e, from, rank);
	for (unsigned bit = 0; bit < 2 * EPOCHS && !e->violation; bit++) {
		if (!((from->joins[rank] & ~e->tried.joins[rank]) >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, leaf + 1);
		e->tree.now.wall_ms = HANDLE;
		tree_join(&e->tree, rank, bit / EPOCHS + 1, bit % EPOCHS);
		settle(e, &s, leaf + 1);
		reached(e, &s);
	}
	for (unsigned bit = 0; bit < STATUSES * EPOCHS && !e->violation; bit++) {
		if (!((from->told[rank] & ~e->tried.told[rank]) >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_rank(e, &s, rank);
		rank_told(e, &s, rank, bit / STATUSES, bit / (LIFE_MAX + 1) % 2,
			  bit % (LIFE_MAX + 1));
		pack_rank(e, &s, rank);
		reached(e, &s);
	}
	if (from->gones < e->gones && from->jobs[leaf + 1].used && !e->again) {
		const struct flow flow = tree_rank(rank);

		/* The network says that nobody is at its address: of an earlier packet, or it is wrong. */
		memcpy(&s, from, sizeof(s));
		s.gones++;
		unpack_job(e, &s, leaf + 1);
		pipe_gone(e->tree.pipes[leaf + 1], &flow, &e->tree.now);
		settle(e, &s, leaf + 1);
		/* Nobody is left of those that it waited for: what comes is another life. */
		if (!s.jobs[leaf + 1].used && ++s.life[leaf] >= LIFE_MAX)
			e->violation = "a leaf forgets again and again";
		reached(e, &s);
	}
	if (from->rank_lives < e->rank_restarts && from->ranks[rank].life == 0 && !e->again) {
		memcpy(&s, from, sizeof(s));
		s.rank_lives++;
		s.ranks[rank] = (struct packed_rank){ .life = 1 };
		reached(e, &s);
	}
}

static void expand_leaf_ends(struct explorer *e, const struct state *from, unsigned leaf, int bases,
			     bool disown)
{
	struct state s;

	for (unsigned base = 0; base < EPOCHS && !e->violation; base++) {
		if (!(bases >> base & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, TREE_ROOT);
		if (disown && e->fault == FAULT_DISOWN)
			send_end(e, leaf, from->jobs[TREE_ROOT].epoch, true);
		else
			send_end(e, leaf, base, disown);
		settle(e, &s, TREE_ROOT);
		reached(e, &s);
	}
}

static void expand_leaf_joins(struct explorer *e, const struct state *from, unsigned leaf,
			      unsigned slots)
{
	const uint32_t bits = from->leaf_joins[leaf][slots - 1] &
			      ~e->tried.leaf_joins[leaf][slots - 1];
	struct state s;

	for (unsigned bit = 0; bit < LIFE_MAX * EPOCHS && !e->violation; bit++) {
		if (!(bits >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, TREE_ROOT);
		send_leaf_join(e, leaf, bit, slots, false);
		settle(e, &s, TREE_ROOT);
		reached(e, &s);
	}
}

static void expand_leaf_up(struct explorer *e, const struct state *from, unsigned leaf)
{
	const struct packed_job *job = &from->jobs[leaf + 1];
	struct state s;
	for (unsigned slots = 1; slots <= TREE_SLOTS; slots++)
		expand_leaf_joins(e, from, leaf, slots);
	expand_leaf_ends(e, from, leaf, from->ends[leaf] & ~e->tried.ends[leaf], false);
	expand_leaf_ends(e, from, leaf, from->disowns[leaf] & ~e->tried.disowns[leaf], true);
	if ((from->leaving >> leaf & 1) && !e->again && !e->violation) {
		memcpy(&s, from, sizeof(s));
		s.leaving &= (uint8_t) ~(1 << leaf);
		unpack_job(e, &s, TREE_ROOT);
		send_leave(e, leaf);
		settle(e, &s, TREE_ROOT);
		reached(e, &s);
	}
	if (e->again)
		return;
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
	send_leaf_join(e, leaf,
		       join_bit(from->life[leaf] + 1U, job->running ? job->epoch : job->epoch - 1U),
		       1, true);
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

static void expand_leaf_told(struct explorer *e, const struct state *from, unsigned leaf,
			     unsigned slots)
{
	const uint64_t bits = from->leaf_told[leaf][slots - 1] &
			      ~e->tried.leaf_told[leaf][slots - 1];
	struct state s;

	for (unsigned bit = 0; bit < STATUSES * EPOCHS && !e->violation; bit++) {
		/* Without the job only what says that the parent runs it has an effect. */
		if (!(bits >> bit & 1) ||
		    (!from->jobs[leaf + 1].used && bit / (LIFE_MAX + 1) % 2 == 0))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_job(e, &s, leaf + 1);
		if (e->fault == FAULT_OLD_STATUS && bit / STATUSES < s.jobs[leaf + 1].epoch) {
			tree_job(&e->tree, leaf + 1)->epoch = bit / STATUSES;
			tree_job(&e->tree, leaf + 1)->running = false;
			s.jobs[leaf + 1].running = 0;
		}
		send_status(e, leaf, bit, slots);
		settle(e, &s, leaf + 1);
		reached(e, &s);
	}
}

static void expand_leaf(struct explorer *e, const struct state *from, unsigned leaf)
{
	struct state s;

	expand_leaf_up(e, from, leaf);
	expand_leaf_forgets(e, from, leaf);
	for (unsigned slots = 1; slots <= TREE_SLOTS; slots++)
		expand_leaf_told(e, from, leaf, slots);
	if (from->leaf_lives < e->leaf_restarts && !e->violation && !e->again) {
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

	if (from->root_lives == e->root_restarts || e->violation || e->again)
		return;
	memcpy(&s, from, sizeof(s));
	s.root_lives++;
	s.jobs[TREE_ROOT] = (struct packed_job){ .last_epoch = from->jobs[TREE_ROOT].last_epoch };
	reached(e, &s);
}

/* The state follows the i-th; what is in the network has no part in whether all come together. */
static void follow(struct explorer *e, size_t i, struct state *s)
{
	bool is_new;

	state_merge(s, &e->from);
	merged_follow(&e->merged, i, merged_add(&e->merged, s, &is_new));
	if (is_new && !converges(e, s) && !e->violation)
		e->violation = "not together in a network that loses nothing";
}

/* All that follows from the i-th state, whose own network is made as full as it gets first. */
static void expand(struct explorer *e, size_t i)
{
	struct state from, s;

	e->nr_next = 0;
	do {
		memcpy(&from, &e->from, sizeof(from));
		e->grown = false;
		for (unsigned rank = 0; rank < e->nr_ranks && !e->violation; rank++)
			expand_rank(e, &from, rank);
		for (unsigned leaf = 0; leaf < TREE_LEAVES && !e->violation; leaf++)
			expand_leaf(e, &from, leaf);
		expand_root(e, &from);
		memcpy(&e->tried, &from, sizeof(from));
		e->again = true;
	} while (e->grown && !e->violation);
	merged_tried(&e->merged, i, &e->from);
	for (uint32_t at = e->merged.first[i]; at && !e->violation;
	     at = e->merged.edges[at - 1].next) {
		merged_get(&e->merged, e->merged.edges[at - 1].to, &s);
		follow(e, i, &s);
	}
	for (size_t k = 0; k < e->nr_next && !e->violation; k++)
		follow(e, i, &e->next[k]);
}

static void explore(struct explorer *e)
{
	static const uint64_t inc[TREE_LEAVES] = { 1, 1 };
	static const uint8_t none[sizeof(struct state) - STATE_KEY];
	struct state s;
	bool is_new;
	size_t i;

	tree_open(&e->tree, e->nr_ranks, e->ranges, inc);
	e->tree.now.now_ns += 1000 * AGG_MS;
	memset(&s, 0, sizeof(s));
	merged_init(&e->merged, sizeof(s), STATE_KEY);
	merged_add(&e->merged, &s, &is_new);
	while (e->merged.nr < e->limit && !e->violation &&
	       (i = merged_next(&e->merged, &e->from, &e->tried)) != SIZE_MAX) {
		/* Once expanded it has sent something: ranks that do not run send JOIN at least. */
		e->again = memcmp((uint8_t *)&e->tried + STATE_KEY, none, sizeof(none)) != 0;
		expand(e, i);
	}
	merged_fini(&e->merged);
	free(e->next);
	tree_close(&e->tree);
}

/* How many of each are restarted, and said to be gone, at any time. */
struct restarts {
	unsigned ranks, leaves, root, gones;
	bool shrinks; /* a rank's second life wants fewer slots */
};

static int explore_restarts(const struct wire_range *ranges, struct restarts r, size_t limit)
{
	struct explorer e = {
		.ranges = ranges,
		.nr_ranks = (unsigned)ranges[0].nr + ranges[1].nr,
		.rank_restarts = r.ranks,
		.leaf_restarts = r.leaves,
		.root_restarts = r.root,
		.gones = r.gones,
		.tree.shrinks = r.shrinks,
		.limit = limit,
	};

	explore(&e);
	printf("explore_tree_join: %u+%u ranks, restarts: %u of ranks%s, %u of leaves, %u of the root, %u "
	       "gone: ",
	       ranges[0].nr, ranges[1].nr, r.ranks, r.shrinks ? " with fewer slots" : "", r.leaves,
	       r.root, r.gones);
	printf("%s%zu states, %zu transitions, highest epoch %u, %s%s\n",
	       e.merged.nr >= limit ? "bounded at " : "exhausted, ", e.merged.nr, e.transitions,
	       e.highest, e.violation ? "VIOLATION: " : "no violation",
	       e.violation ? e.violation : "");
	return e.violation != NULL;
}

/* Each where its absence shows soonest. */
static int explore_faults(void)
{
	static const struct {
		enum fault fault;
		struct restarts r;
	} tries[] = {
		{ FAULT_JOIN_END, { 1, 0, 0, 0, false } },
		{ FAULT_LEAF_INC, { 0, 1, 0, 0, false } },
		{ FAULT_RANK_INC, { 1, 0, 0, 0, false } },
		{ FAULT_OLD_STATUS, { 1, 0, 0, 0, false } },
		{ FAULT_NO_ASK, { 1, 1, 0, 0, false } },
		{ FAULT_NO_UNKNOWN, { 0, 1, 0, 0, false } },
		{ FAULT_ROOT_UNKNOWN, { 0, 0, 1, 0, false } },
		{ FAULT_DISOWN, { 0, 1, 0, 0, false } },
	};
	int missed = 0;

	for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct explorer e = {
			.ranges = ranges_2_1,
			.nr_ranks = 3,
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

/* usage: explore_tree_join [LIMIT]: of states, of each of the larger explorations. */
int main(int argc, char **argv)
{
	static const struct restarts restarts[] = {
		{ 1, 0, 0, 0, true },  { 0, 1, 0, 0, false }, { 0, 0, 1, 0, false },
		{ 0, 0, 0, 1, false }, { 1, 0, 0, 1, true },  { 1, 1, 0, 0, true },
		{ 0, 1, 0, 1, false }, { 0, 0, 1, 1, false }, { 1, 0, 1, 0, false },
		{ 0, 1, 1, 0, false }, { 1, 1, 1, 0, false },
	};
	const size_t limit = argc > 1 ? strtoul(argv[1], NULL, 10) : LIMIT;
	int failures = 0;

	setvbuf(stdout, NULL, _IOLBF, 0); /* a line tells of minutes */
	for (unsigned i = 0; i < 10; i++)
		failures += explore_restarts(ranges_2_1, restarts[i], limit);
	for (unsigned i = 0; i < 11; i++)
		failures += explore_restarts(ranges_2_2, restarts[i], limit);
	failures += explore_faults();
	return failures != 0;
}
