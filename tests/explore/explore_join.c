// SPDX-License-Identifier: BSD-3-Clause
/*
 * explore_join.c - every way into an epoch of one switch: its own pipe and the ranks' own sessions,
 * two to five of them, under a network that delivers whatever was ever sent late, again, in any
 * order, or never; ranks and the switch are restarted, and a rank aborts.
 *
 * A state is what matters of the machines, packed, and what is in the network; those that differ in
 * the network alone, or in which rank is which, are explored as one.  The machines are made anew
 * from it for each step, and that nothing else mattered is checked again and again.  Time is not explored.
 *
 * Checked: no rank, in whichever of its lives, enters an epoch twice, or one that is not above its
 * base, or one that the switch runs with another incarnation; the epochs of a switch go up; and from every
 * state, once nothing is lost any more, all come to run one epoch together.  Then the explorer is
 * tried itself: without one of the rules it must find a violation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/core/session.h"
#include "switch/core/agg.h"
#include "tests/explore/merged.h"

enum {
	RANKS = 5,
	LIVES = 2,    /* of a rank */
	EPOCHS = 8,   /* numbers; 2 is the first that is given */
	STATUSES = 8, /* that an epoch has: runs or not, incarnation */
	HANDLE = 77,
	ROUNDS = 60, /* of a network that loses nothing */
	CHECKED = 8, /* every so many steps it is checked that a state says all */
	LIMIT = 400000,
};
#define NAME "explored"

enum fault { FAULT_NONE, FAULT_INC, FAULT_BASE, FAULT_UNKNOWN, FAULT_STAYS, FAULT_NR };

static const char *const fault_names[FAULT_NR] = {
	[FAULT_NONE] = "none",
	[FAULT_INC] = "a rank does not compare its incarnation",
	[FAULT_BASE] = "a rank forgets its base",
	[FAULT_UNKNOWN] = "a restarted switch does not answer UNKNOWN",
	[FAULT_STAYS] = "a switch does not end an epoch for a rank that comes again",
};

struct packed_rank {
	uint8_t life, running, base, epoch, forgotten;
	uint8_t inc, joined; /* at the switch */
	uint8_t entered;     /* bit per epoch */
};

/* Bit per message that was ever sent: JOINs by life and base, ENDs by base, STATUS. */
struct sent {
	uint64_t told;
	uint16_t joins;
	uint8_t ends;
	uint8_t zero[5];
};

struct state {
	uint8_t used, epoch, running, lease, last_epoch;
	uint8_t rank_lives, lives, aborts; /* so far */
	struct packed_rank ranks[RANKS];
	struct sent sent[RANKS];
};
enum { STATE_KEY = offsetof(struct state, sent) };

/* What may happen, at any time. */
struct setting {
	unsigned ranks, restarts, switch_restarts, aborts;
};

struct explorer {
	struct setting setting;
	enum fault fault;
	struct pipe *pipe;
	struct pipe_time now;
	struct session sessions[RANKS];
	uint8_t buf[WIRE_MSG_MAX];
	struct merged merged;
	/* The state that is expanded, as its network grows, and the messages that were tried before. */
	struct state from, tried;
	bool grown, again; /* again: only what was not tried */
	struct state *next;
	size_t nr_next, room_next;
	size_t transitions;
	const char *violation; /* NULL: none yet */
};

static struct flow rank_flow(unsigned rank)
{
	return (struct flow){ .ip = 10 + rank, .udp_port = 1000 };
}

static unsigned join_bit(unsigned inc, unsigned base)
{
	return (inc - 1) * EPOCHS + base;
}

static unsigned status_bit(unsigned epoch, bool running, unsigned inc)
{
	return epoch * STATUSES + running * (STATUSES / 2) + inc;
}

/* --- Machines from a state, and back -------------------------------------------------------------- */

static struct job *the_job(const struct explorer *e)
{
	return &e->pipe->agg.table.jobs[0];
}

static void unpack_switch(struct explorer *e, const struct state *s)
{
	struct agg *agg = &e->pipe->agg;
	struct job_table *table = &agg->table;
	struct job *job = the_job(e);
	const struct wire_range world = { 0, (uint16_t)e->setting.ranks };

	table->keys[0] = 0;
	table->slots.nr = table->values.nr = 0;
	table->by_handle[job->handle] = 0;
	memset(job, 0, sizeof(*job));
	agg->last_epoch = s->last_epoch;
	agg->outbox.head = agg->outbox.tail;
	if (!s->used)
		return;
	job_add(table, NAME, HANDLE);
	job->epoch = s->epoch;
	job->since_ns = e->now.now_ns;
	job_set_world(job, world.nr, world, false);
	for (unsigned i = 0; i < e->setting.ranks; i++) {
		if (s->ranks[i].inc)
			job->members[i] = (struct job_member){ .inc = s->ranks[i].inc,
							       .heard_ns = e->now.now_ns,
							       .flow = rank_flow(i),
							       .nr_ports = 1,
							       .slots = 1,
							       .p = WIRE_P_MIN,
							       .range = { (uint16_t)i, 1 } };
		job->joined |= (uint64_t)s->ranks[i].joined << i;
	}
	job->running = s->running;
	if (s->lease)
		job_lease(table, job, WIRE_P_MIN, 1);
}

static void pack(struct explorer *e, struct state *s)
{
	const struct job *job = the_job(e);

	s->last_epoch = (uint8_t)e->pipe->agg.last_epoch;
	s->used = job->used;
	s->epoch = (uint8_t)job->epoch;
	s->running = job->running;
	s->lease = job->lease_nr > 0;
	for (unsigned i = 0; i < e->setting.ranks; i++) {
		s->ranks[i].inc = (uint8_t)job->members[i].inc;
		s->ranks[i].joined = job->joined >> i & 1;
	}
	if (job->epoch >= EPOCHS)
		e->violation = "epochs without end";
}

/* What is not packed, and has no meaning for what is explored. */
static void forget(struct job *job)
{
	memset(&job->last, 0, sizeof(job->last));
	/* Who gives way where there is no room. */
	job->ran = false;
	job->owner = 0;
	job->since_ns = 0;
	for (unsigned i = 0; i < WIRE_WORLD_MAX; i++)
		job->members[i].heard_ns = 0;
	if (job->lease_nr == 0) {
		job->p = job->slots = 0;
		job->lease_first = 0;
		job->values_off = 0;
		job->stride = 0;
	}
}

static void pack_switch(struct explorer *e, struct state *s)
{
	struct job before, after;

	pack(e, s);
	if (e->transitions % CHECKED)
		return;
	memcpy(&before, the_job(e), sizeof(before));
	unpack_switch(e, s);
	memcpy(&after, the_job(e), sizeof(after));
	forget(&before);
	forget(&after);
	if ((before.used || after.used) && memcmp(&before, &after, sizeof(before)) != 0)
		e->violation = "the explorer's state lacks something of the switch";
}

static void unpack_rank(struct explorer *e, const struct state *s, unsigned rank)
{
	const struct packed_rank *from = &s->ranks[rank];
	struct session *session = &e->sessions[rank];
	const struct session_params params = {
		.name = NAME,
		.inc = from->life + 1U,
		.rank = (uint16_t)rank,
		.world = (uint16_t)e->setting.ranks,
		.slots = 1,
		.p = WIRE_P_MIN,
		.port = rank_flow(rank).udp_port,
		.nr_ports = 1,
	};

	session_init(session, &params, e->now.now_ns);
	session->join.base = from->base;
	session->job = HANDLE;
	if (!from->running)
		return;
	session->state = SESSION_RUNNING;
	session->epoch = session->spoken = from->epoch;
	session->forgotten = from->forgotten;
}

static void pack_rank(const struct explorer *e, struct state *s, unsigned rank)
{
	const struct session *session = &e->sessions[rank];
	struct packed_rank *to = &s->ranks[rank];

	to->running = session->state == SESSION_RUNNING;
	to->base = (uint8_t)session->join.base;
	to->epoch = to->running ? (uint8_t)session->epoch : 0;
	to->forgotten = to->running && session->forgotten;
}

/* --- Steps ---------------------------------------------------------------------------------------- */

/* A STATUS at a rank, which starts over whenever it must. */
static void rank_takes(struct explorer *e, struct state *s, unsigned rank,
		       const struct wire_msg *msg)
{
	struct session *session = &e->sessions[rank];
	const struct job *job = the_job(e);
	uint64_t base = session->join.base;
	enum session_event event;

	if (e->fault == FAULT_UNKNOWN && msg->payload[WIRE_STATUS_STATE] == WIRE_UNKNOWN)
		return;
	if (e->fault == FAULT_BASE)
		session->join.base = 0;
	event = session_input(session, msg, e->now.now_ns);
	if (event == SESSION_OVER)
		session_rejoin(session, e->now.now_ns);
	if (session->join.base < base && e->fault != FAULT_BASE)
		e->violation = "the base of a rank falls";
	if (event != SESSION_BEGUN)
		return;
	if (session->epoch <= base || (s->ranks[rank].entered >> session->epoch & 1))
		e->violation = "a rank enters an epoch twice";
	if (job->used && job->running && job->epoch == session->epoch &&
	    job->members[rank].inc != session->join.inc)
		e->violation = "a rank enters an epoch that runs with another life of it";
	s->ranks[rank].entered |= (uint8_t)(1 << session->epoch);
}

static void rank_told(struct explorer *e, struct state *s, unsigned rank, unsigned bit)
{
	uint8_t buf[WIRE_MSG_MAX];
	const struct wire_msg header = {
		.type = WIRE_STATUS, .job = HANDLE, .epoch = bit / STATUSES, .wid = (uint16_t)rank
	};
	const struct wire_status status = {
		.state = bit / (STATUSES / 2) % 2 ? WIRE_RUNNING : WIRE_FORMING,
		.key = wire_job_key(NAME),
		.inc = e->fault == FAULT_INC ? s->ranks[rank].life + 1U : bit % (STATUSES / 2),
		.p = WIRE_P_MIN,
		.slots = 1,
	};
	struct wire_msg msg;
	size_t len = wire_status_build(buf, &header, &status, WIRE_BODY);

	if (wire_parse(&msg, buf, len) == WIRE_OK)
		rank_takes(e, s, rank, &msg);
}

/* The switch's clock always has one more epoch to give. */
static void input(struct explorer *e, unsigned rank, size_t len)
{
	struct job_table *table = &e->pipe->agg.table;
	uint64_t last = e->pipe->agg.last_epoch;
	struct job *job = the_job(e);
	struct pipe_pkt pkt = {
		.data = e->buf, .len = (uint32_t)len, .cap = sizeof(e->buf), .flow = rank_flow(rank)
	};

	e->now.now_ns += 20 * AGG_MS;
	e->now.wall_ms = last < 2 ? 2 : last + 1;
	pipe_input(e->pipe, &pkt, 1, &e->now);
	/* A restarted switch's job may get the same handle, which tells its lives apart least. */
	if (job->used && job->handle != HANDLE) {
		table->by_handle[HANDLE] = table->by_handle[job->handle];
		table->by_handle[job->handle] = 0;
		job->handle = HANDLE;
	}
}

static void send_join(struct explorer *e, unsigned rank, unsigned bit)
{
	const struct wire_join join = { .inc = bit / EPOCHS + 1,
					.base = bit % EPOCHS,
					.world = (uint16_t)e->setting.ranks,
					.slots = 1,
					.p = WIRE_P_MIN,
					.port = rank_flow(rank).udp_port,
					.nr_ports = 1,
					.name = NAME };

	input(e, rank, wire_join_build(e->buf, (uint16_t)rank, &join));
}

static void send_end(struct explorer *e, unsigned rank, unsigned base)
{
	const struct wire_msg msg = {
		.type = WIRE_END, .job = HANDLE, .epoch = base, .wid = (uint16_t)rank
	};
	const struct wire_status body = { .cause = WIRE_CAUSE_ABORTED };

	input(e, rank, wire_status_build(e->buf, &msg, &body, WIRE_BODY));
}

static void send_keepalive(struct explorer *e, unsigned rank)
{
	const struct wire_msg msg = { .type = WIRE_KEEPALIVE,
				      .job = HANDLE,
				      .epoch = e->sessions[rank].epoch,
				      .wid = (uint16_t)rank };

	wire_build(e->buf, &msg);
	memset(e->buf + WIRE_HEADER, 0, WIRE_BODY);
	input(e, rank, WIRE_HEADER + WIRE_BODY);
}

/* The switch has taken one message: what it is now, and what it has sent. */
static void settle(struct explorer *e, struct state *s)
{
	const struct job *job = the_job(e);
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_status status;
	struct wire_msg msg;
	struct flow to;
	size_t len;

	while ((len = pipe_output(e->pipe, &to, buf)) != 0) {
		if (wire_parse(&msg, buf, len) != WIRE_OK ||
		    wire_status_parse(&status, &msg) != WIRE_OK || status.state == WIRE_REFUSED ||
		    msg.wid >= e->setting.ranks)
			e->violation = "a message that is not valid, or a refusal";
		else if (msg.epoch < EPOCHS && status.state != WIRE_UNKNOWN)
			s->sent[msg.wid].told |= UINT64_C(1)
						 << status_bit((unsigned)msg.epoch,
							       status.state == WIRE_RUNNING,
							       (unsigned)status.inc);
	}
	if (s->used && job->used && job->epoch < s->epoch)
		e->violation = "the epoch of a switch falls";
	pack_switch(e, s);
}

/* --- Reached states ------------------------------------------------------------------------------- */

/* Epochs that were entered and cannot be again: rank_takes() sees to it that no base falls. */
static void prune(const struct explorer *e, struct state *s)
{
	for (unsigned i = 0; i < e->setting.ranks; i++) {
		struct packed_rank *r = &s->ranks[i];
		unsigned newest = r->epoch > r->base ? r->epoch : r->base;

		if (s->rank_lives == e->setting.restarts || r->life + 1 == LIVES)
			r->entered &= (uint8_t) ~((2U << newest) - 1);
	}
}

/* Ranks are alike: which is which does not matter. */
static void sort(const struct explorer *e, struct state *s)
{
	for (unsigned i = 1; i < e->setting.ranks; i++) {
		for (unsigned k = i; k > 0; k--) {
			struct packed_rank rank = s->ranks[k];
			struct sent sent = s->sent[k];
			int order = memcmp(&s->ranks[k - 1], &s->ranks[k], sizeof(rank));

			if (order < 0 ||
			    (order == 0 && memcmp(&s->sent[k - 1], &sent, sizeof(sent)) <= 0))
				break;
			s->ranks[k] = s->ranks[k - 1];
			s->sent[k] = s->sent[k - 1];
			s->ranks[k - 1] = rank;
			s->sent[k - 1] = sent;
		}
	}
}

static void sent_merge(struct state *to, const struct state *from)
{
	for (unsigned i = 0; i < RANKS; i++) {
		to->sent[i].told |= from->sent[i].told;
		to->sent[i].joins |= from->sent[i].joins;
		to->sent[i].ends |= from->sent[i].ends;
	}
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
		sent_merge(&grown, s);
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

/* What a switch without its rule would not take as a reason to end the epoch. */
static bool join_lost(const struct explorer *e, unsigned base)
{
	const struct job *job = the_job(e);

	return e->fault == FAULT_STAYS && job->used && job->running && base == job->epoch;
}

/* --- From every state all must come together ------------------------------------------------------ */

static bool together(const struct explorer *e)
{
	const struct job *job = the_job(e);

	for (unsigned i = 0; i < e->setting.ranks; i++)
		if (e->sessions[i].state != SESSION_RUNNING || e->sessions[i].epoch != job->epoch)
			return false;
	return job->running;
}

/* Each rank sends in turn, and everything that is sent arrives. */
static bool converges(struct explorer *e, const struct state *from)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_msg msg;
	struct state s;
	struct flow to;
	size_t len;

	memcpy(&s, from, sizeof(s));
	unpack_switch(e, &s);
	for (unsigned i = 0; i < e->setting.ranks; i++)
		unpack_rank(e, &s, i);
	for (unsigned k = 0; k < ROUNDS && !together(e) && !e->violation; k++) {
		unsigned rank = k % e->setting.ranks;
		enum session_event event;

		e->now.now_ns += 100 * AGG_MS;
		len = session_output(&e->sessions[rank], e->buf, e->now.now_ns, &event);
		if (len && join_lost(e, (unsigned)e->sessions[rank].join.base))
			continue;
		if (len)
			input(e, rank, len);
		else
			send_keepalive(e, rank);
		while ((len = pipe_output(e->pipe, &to, buf)) != 0) {
			if (wire_parse(&msg, buf, len) != WIRE_OK)
				return false;
			rank_takes(e, &s, msg.wid, &msg);
		}
	}
	return together(e);
}

/* --- All that may happen next --------------------------------------------------------------------- */

static void expand_rank_sends(struct explorer *e, const struct state *from, unsigned rank)
{
	const struct packed_rank *r = &from->ranks[rank];
	struct state s;

	memcpy(&s, from, sizeof(s));
	if (!r->running || r->forgotten) {
		s.sent[rank].joins |= (uint16_t)(1U << join_bit(r->life + 1U, r->base));
		reached(e, &s);
		return;
	}
	/* Asks in its epoch: the answer is on its way, or the switch has forgotten all about it. */
	unpack_switch(e, &s);
	unpack_rank(e, &s, rank);
	if (!s.used || r->inc == 0 || (!s.running && s.epoch == r->epoch)) {
		if (e->fault == FAULT_UNKNOWN)
			return;
		s.ranks[rank].forgotten = 1;
	} else {
		send_keepalive(e, rank);
		settle(e, &s);
	}
	reached(e, &s);
}

/* It starts again, or aborts the epoch it is in and joins the next. */
static void expand_rank_faults(struct explorer *e, const struct state *from, unsigned rank)
{
	const struct packed_rank *r = &from->ranks[rank];
	struct state s;

	if (from->rank_lives < e->setting.restarts && r->life + 1 < LIVES) {
		memcpy(&s, from, sizeof(s));
		s.rank_lives++;
		s.ranks[rank] = (struct packed_rank){ .life = (uint8_t)(r->life + 1),
						      .inc = r->inc,
						      .joined = r->joined,
						      .entered = r->entered };
		reached(e, &s);
	}
	if (from->aborts < e->setting.aborts && r->running) {
		memcpy(&s, from, sizeof(s));
		s.aborts++;
		unpack_switch(e, &s);
		unpack_rank(e, &s, rank);
		session_abort(&e->sessions[rank], WIRE_CAUSE_ABORTED, e->now.now_ns);
		session_rejoin(&e->sessions[rank], e->now.now_ns);
		s.sent[rank].ends |= (uint8_t)(1 << r->epoch);
		pack_rank(e, &s, rank);
		reached(e, &s);
	}
}

static void expand_rank(struct explorer *e, const struct state *from, unsigned rank)
{
	const struct sent *sent = &from->sent[rank], *tried = &e->tried.sent[rank];
	struct state s;

	if (!e->again) {
		expand_rank_sends(e, from, rank);
		expand_rank_faults(e, from, rank);
	}
	for (unsigned bit = 0; bit < LIVES * EPOCHS && !e->violation; bit++) {
		if (!((sent->joins & ~tried->joins) >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_switch(e, &s);
		if (join_lost(e, bit % EPOCHS))
			continue;
		send_join(e, rank, bit);
		settle(e, &s);
		reached(e, &s);
	}
	for (unsigned base = 0; base < EPOCHS && !e->violation; base++) {
		if (!((sent->ends & ~tried->ends) >> base & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_switch(e, &s);
		send_end(e, rank, base);
		settle(e, &s);
		reached(e, &s);
	}
	for (unsigned bit = 0; bit < STATUSES * EPOCHS && !e->violation; bit++) {
		if (!((sent->told & ~tried->told) >> bit & 1))
			continue;
		memcpy(&s, from, sizeof(s));
		unpack_switch(e, &s);
		unpack_rank(e, &s, rank);
		rank_told(e, &s, rank, bit);
		pack_rank(e, &s, rank);
		reached(e, &s);
	}
}

/* Its clock goes on: what it gives later is above all that it gave. */
static void expand_switch(struct explorer *e, const struct state *from)
{
	struct state s;

	if (from->lives == e->setting.switch_restarts || e->violation || e->again)
		return;
	memcpy(&s, from, sizeof(s));
	s.lives++;
	s.used = s.epoch = s.running = s.lease = 0;
	for (unsigned i = 0; i < e->setting.ranks; i++)
		s.ranks[i].inc = s.ranks[i].joined = 0;
	reached(e, &s);
}

/*
 * All that follows from a state, whose own network is made as full as it gets first.  If it gets
 * more later, all of it is done again: ranks have changed places on the way to what follows.
 */
static void expand(struct explorer *e, size_t i)
{
	struct state from;
	bool is_new;

	e->nr_next = 0;
	e->again = false;
	memset(&e->tried, 0, sizeof(e->tried));
	do {
		memcpy(&from, &e->from, sizeof(from));
		e->grown = false;
		for (unsigned rank = 0; rank < e->setting.ranks && !e->violation; rank++)
			expand_rank(e, &from, rank);
		expand_switch(e, &from);
		memcpy(&e->tried, &from, sizeof(from));
		e->again = true;
	} while (e->grown && !e->violation);
	merged_tried(&e->merged, i, &e->from);
	for (size_t k = 0; k < e->nr_next && !e->violation; k++) {
		struct state *s = &e->next[k];

		sent_merge(s, &e->from);
		sort(e, s);
		merged_add(&e->merged, s, &is_new);
		/* What is in the network has no part in that. */
		if (is_new && !converges(e, s) && !e->violation)
			e->violation = "not together in a network that loses nothing";
	}
}

static struct pipe *open_switch(struct explorer *e)
{
	const struct pipe_params params = {
		.jobs_max = 1,
		.slots_max = WIRE_SE + 1,
		.values_bytes = (size_t)(WIRE_SE + 1) * 2 * WIRE_P_MIN,
		.p_max = WIRE_P_MIN,
		.add = "scalar",
	};
	const size_t size = (pipe_size(&params) + 63) / 64 * 64;
	void *mem = aligned_alloc(64, size);

	if (!mem)
		abort();
	memset(mem, 0, size);
	e->now = (struct pipe_time){ .now_ns = AGG_MS, .wall_ms = 2 };
	if (!pipe_init(mem, &params, &e->now))
		abort();
	e->now.now_ns += 1000 * AGG_MS;
	return mem;
}

static void explore(struct explorer *e, size_t limit)
{
	struct state s;
	bool is_new;
	size_t i;

	e->pipe = open_switch(e);
	memset(&s, 0, sizeof(s));
	merged_init(&e->merged, sizeof(s), STATE_KEY);
	merged_add(&e->merged, &s, &is_new);
	while (e->merged.nr < limit && !e->violation &&
	       (i = merged_next(&e->merged, &e->from, &e->tried)) != SIZE_MAX)
		expand(e, i);
	merged_fini(&e->merged);
	free(e->next);
	free(e->pipe);
}

static int explore_setting(const struct setting *setting, size_t limit)
{
	struct explorer e = { .setting = *setting };

	explore(&e, limit);
	printf("explore_join: n=%u, restarts: %u of ranks, %u of the switch, %u aborts: ",
	       setting->ranks, setting->restarts, setting->switch_restarts, setting->aborts);
	printf("%s%zu states, %zu transitions, %s%s\n",
	       e.merged.nr >= limit ? "bounded at " : "exhausted, ", e.merged.nr, e.transitions,
	       e.violation ? "VIOLATION: " : "no violation", e.violation ? e.violation : "");
	return e.violation != NULL;
}

static int explore_fault(enum fault fault)
{
	struct explorer e = {
		.setting = { 2, 1, fault == FAULT_UNKNOWN, fault == FAULT_BASE },
		.fault = fault,
	};

	explore(&e, LIMIT);
	printf("explore_join: without a rule, %s: %s%s\n", fault_names[fault],
	       e.violation ? "found: " : "NOT FOUND", e.violation ? e.violation : "");
	return e.violation == NULL;
}

/* usage: explore_join [LIMIT]: of states, of each exploration. */
int main(int argc, char **argv)
{
	static const struct setting settings[] = {
		{ 2, 2, 2, 1 }, { 3, 2, 2, 0 }, { 3, 1, 1, 1 }, { 4, 2, 1, 0 }, { 4, 1, 1, 1 },
		{ 5, 1, 1, 0 }, { 5, 1, 0, 1 }, { 5, 2, 0, 0 }, { 5, 0, 2, 0 },
	};
	const size_t limit = argc > 1 ? strtoul(argv[1], NULL, 10) : LIMIT;
	int failures = 0;

	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		failures += explore_setting(&settings[i], limit);
	for (enum fault fault = FAULT_NONE + 1; fault < FAULT_NR; fault++)
		failures += explore_fault(fault);
	return failures != 0;
}
