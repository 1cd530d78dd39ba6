// SPDX-License-Identifier: BSD-3-Clause
// foe.c - packets that nobody should send: of strangers, and of members whose process is broken.
//
// A stranger knows all that the switch knows, save incarnations: its packets are what a member's
// would be but for the one thing that gives them away.  None of them may become part of a sum, end
// an epoch, or hold up a job.
#include "tests/sim/sim.h"

#include <string.h>

enum { OWN_PORT = 900, OWN_WORLD = 2, FLOOD = 100 };

/* What says of a packet that is given to a switch at once that it is a stranger's. */
static struct packet foe_packet = { .foe = true };

/* What a stranger is about to send. */
struct lie {
	struct node *at; /* the switch */
	const struct job *job;
	struct sending s;
	struct wire_msg msg;
	size_t len;   /* of the payload */
	size_t total; /* of what is in buf already; 0: msg is what goes */
	bool unlike;  /* sealed if its job's are not, and the other way round */
	uint8_t buf[SIM_ROOM];
};

/* --- Lies ------------------------------------------------------------------------------------- */

static void lie_wid(struct world *w, struct lie *lie)
{
	lie->msg.wid =
		(uint16_t)(draw_coin(w, 3) ? WIRE_WID_NONE : lie->job->world + sim_draw(w, 70));
}

/* At its own address, perhaps from a member's port: nothing else is wrong. */
static void lie_stranger(struct world *w, struct lie *lie)
{
	if (draw_coin(w, 2))
		lie->s.src_port =
			lie->job->members[sim_draw(w, lie->job->nr_members)].flow.udp_port;
}

/* At a member's: only its port says otherwise, or, with strict ports, where it comes from. */
static void lie_spoof(struct world *w, struct lie *lie)
{
	const struct flow *flow = &lie->job->members[sim_draw(w, lie->job->nr_members)].flow;

	/* Of an epoch that does not run all are answered, and the answer would go to that member. */
	if (!lie->job->running || flow->ip < SIM_IP || flow->ip >= SIM_IP + w->nr_nodes)
		return;
	lie->s.as = (uint8_t)(flow->ip - SIM_IP + 1);
	lie->s.src_port = flow->udp_port;
	if (!lie->at->params.strict_ports || draw_coin(w, 3))
		lie->s.src_port ^= 0x4000;
}

/* A rank of another job, at its own address. */
static void lie_job(struct world *w, struct lie *lie)
{
	unsigned n = w->nr_switches + sim_draw(w, w->nr_nodes - w->nr_foes - w->nr_switches);
	const struct node *node = &w->node[n];

	if (!node->up || node->parent != lie->s.to || w->nr_jobs < 2 ||
	    strcmp(w->job[node->job].name, lie->job->name) == 0)
		return;
	lie->s.from = (uint8_t)n;
	lie->s.src_port = host_rank(w, n)->port;
	lie->msg.wid = node->rank;
	w->seen[SEEN_FOE_JOB] = true;
}

static void lie_epoch(struct world *w, struct lie *lie)
{
	lie->msg.epoch += draw_coin(w, 2) ? 1 + sim_draw(w, 1000) : -(uint64_t)sim_draw(w, 1000);
}

static void lie_length(struct world *w, struct lie *lie)
{
	static const uint8_t types[] = { WIRE_DATA,  WIRE_JOIN,	  WIRE_END,
					 WIRE_LEAVE, WIRE_STATUS, WIRE_KEEPALIVE };
	static const uint16_t lens[] = { 0, 1, 16, 31, 33, 100, 127, 129, 159, 161, 255, 288 };

	lie->msg.type = types[sim_draw(w, 6)];
	if (lie->msg.type != WIRE_DATA)
		lie->msg.kind = 0;
	lie->len = lens[sim_draw(w, 12)];
	if (lie->msg.type == WIRE_DATA && lie->len == 288 && draw_coin(w, 2))
		lie->msg.flags = WIRE_EMPTY; /* which is short */
	if (lie->msg.type == WIRE_LEAVE && draw_coin(w, 2))
		lie->len = 160;
}

static void lie_header(struct world *w, struct lie *lie)
{
	static const uint8_t types[] = { 0, 8, 15, WIRE_JOIN, WIRE_END };

	switch (sim_draw(w, 4)) {
	case 0:
		lie->msg.type |= (uint8_t)((2 + sim_draw(w, 14)) << 4); /* becomes the version */
		break;
	case 1:
		lie->msg.type = types[sim_draw(w, 5)]; /* END and JOIN have no kind */
		break;
	case 2:
		lie->msg.kind = draw_coin(w, 2) ? 0 : WIRE_MAX8 + 1;
		break;
	default:
		lie->msg.flags = draw_coin(w, 2) ? 0x80 : WIRE_SATURATED;
	}
}

/* A seal that is missing, wrong, or not wanted. */
static void lie_seal(struct world *w, struct lie *lie)
{
	bool check = lie->job->flags & WIRE_JOB_CHECK;

	lie->unlike = !check || draw_coin(w, 2);
	if (lie->unlike)
		return;
	wire_build(lie->buf, &lie->msg);
	lie->total = wire_seal(lie->buf, (uint32_t)lie->len);
	lie->buf[lie->total - 1 - sim_draw(w, WIRE_CRC)] ^= (uint8_t)(1 + sim_draw(w, 255));
}

static void lie_talk(struct world *w, struct lie *lie)
{
	static const uint8_t types[] = { WIRE_END, WIRE_LEAVE, WIRE_KEEPALIVE };

	lie->msg.type = types[sim_draw(w, 3)];
	lie->msg.kind = lie->msg.flags = 0;
	lie->len = lie->msg.type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY;
	memset(lie->buf, 0, sizeof(lie->buf));
	if (draw_coin(w, 4))
		lie->msg.epoch = 0;
	/* Whoever is asked answers, and to a member's address. */
	if (lie->msg.type != WIRE_KEEPALIVE && draw_coin(w, 2))
		lie_spoof(w, lie);
}

static struct wire_join foe_join(struct world *w, const char *name)
{
	struct wire_join join = { .inc = sim_random(w) | 1,
				  .world = OWN_WORLD,
				  .slots = 8,
				  .p = WIRE_P_MIN,
				  .port = OWN_PORT,
				  .nr_ports = 1 };

	memcpy(join.name, name, strlen(name));
	return join;
}

/* The length of a JOIN or ASK of total bytes, sealed as its job's are. */
static uint32_t foe_seal(const struct wire_join *join, uint8_t *buf, size_t total)
{
	return net_seal(join->flags & WIRE_JOB_CHECK, buf, (uint32_t)total - WIRE_HEADER);
}

/* Of a job of others: too old to change anything, or not valid. */
static void lie_join(struct world *w, struct lie *lie)
{
	struct wire_join join = foe_join(w, lie->job->name);

	join.world = lie->job->world;
	join.flags = lie->job->flags;
	switch (sim_draw(w, 7)) {
	case 0:
		join.inc = 0;
		break;
	case 1:
		join.base = switch_time(w, lie->at).wall_ms + 6000 + sim_draw(w, 100000);
		break;
	case 2:
		join.port = join.port + 1 + (uint16_t)sim_draw(w, 9);
		break;
	case 3:
		join.nr_ports = 0;
		break;
	case 4:
		lie->msg.wid = join.world + (uint16_t)sim_draw(w, 9);
		break;
	case 5:
		join.world = 0;
		break;
	default: /* in a tree it would differ from what its ranks ask for */
		join.base = lie->job->epoch - 2 - sim_draw(w, 2);
		join.p = SIM_P;
		if (w->nr_switches > 1)
			join.inc = 0;
	}
	lie->total = wire_join_build(lie->buf, lie->msg.wid, &join);
	lie->total = foe_seal(&join, lie->buf, lie->total);
}

static const struct job *foe_find(const struct node *at, const char *name)
{
	for (unsigned i = 0; i < at->params.jobs_max; i++)
		if (pipe_job(at->pipe, i) && strcmp(pipe_job(at->pipe, i)->name, name) == 0)
			return pipe_job(at->pipe, i);
	return NULL;
}

/* A job of one's own, which the second rank never joins. */
static void lie_own(struct world *w, struct lie *lie)
{
	struct wire_join join = foe_join(w, "foe");
	const struct job *own = foe_find(lie->at, join.name);

	join.flags = draw_coin(w, 4) ? WIRE_JOB_CHECK : 0;
	if (own)
		join.base = own->epoch - 1;
	lie->total = draw_coin(w, 4) ? wire_ask_build(lie->buf, 0, &join)
				     : wire_join_build(lie->buf, 0, &join);
	lie->total = foe_seal(&join, lie->buf, lie->total);
}

static void lie_up(struct world *w, struct lie *lie)
{
	lie->msg.type = WIRE_RESULT;
	if (draw_coin(w, 2))
		return;
	lie->msg.type = WIRE_STATUS;
	lie->msg.kind = lie->msg.flags = 0;
	lie->len = WIRE_BODY;
}

/* A packet that is on its way to the switch. */
static void lie_replay(struct world *w, struct lie *lie)
{
	const struct event *event = world_event_at(w, sim_draw(w, world_nr_events(w)));
	const struct packet *p = &w->packets[event->arg];

	if (event->type != EVENT_PACKET || p->to != lie->s.to || p->unreachable || p->foe ||
	    p->len < WIRE_HEADER)
		return;
	memcpy(lie->buf, p->data, p->len);
	lie->total = p->len;
}

static void lie_noise(struct world *w, struct lie *lie)
{
	lie->total = 1 + sim_draw(w, draw_coin(w, 2) ? WIRE_HEADER : SIM_ROOM);
	for (size_t i = 0; i < lie->total; i++)
		lie->buf[i] = (uint8_t)sim_random(w);
}

static const struct {
	void (*tell)(struct world *w, struct lie *lie);
	uint8_t seen;
	bool any; /* needs no job */
} lies[] = {
	{ lie_wid, SEEN_FOE_WID, false },	{ lie_stranger, SEEN_FOE_STRANGER, false },
	{ lie_spoof, SEEN_FOE_SPOOF, false },	{ lie_job, SEEN_NR, false },
	{ lie_epoch, SEEN_FOE_EPOCH, false },	{ lie_length, SEEN_FOE_LENGTH, false },
	{ lie_header, SEEN_FOE_HEADER, false }, { lie_talk, SEEN_FOE_TALK, false },
	{ lie_seal, SEEN_FOE_SEAL, false },	{ lie_join, SEEN_FOE_JOIN, false },
	{ lie_own, SEEN_FOE_OWN, true },	{ lie_up, SEEN_FOE_UP, false },
	{ lie_replay, SEEN_FOE_REPLAY, false }, { lie_noise, SEEN_FOE_NOISE, true },
};

enum { LIES = sizeof(lies) / sizeof(lies[0]) };

/* Whether the switch has taken all that has come. */
static bool foe_idle(const struct world *w, unsigned n)
{
	const struct node *at = &w->node[w->node[n].parent];

	return at->up && !at->paused && at->head == at->tail;
}

static struct flow foe_flow(const struct world *w, unsigned n, uint16_t port)
{
	return (struct flow){ .ip = SIM_IP + n,
			      .udp_port = port,
			      .port = w->route[n][w->node[n].parent] / 2,
			      .mac = { 2, 0, 0, 0, 0, (uint8_t)n } };
}

/*
 * A JOIN that would enter, of a rank that somebody has, or one that would make another job of it: at
 * the very moment, so that nothing can make it right on its way.
 */
static void foe_take(struct world *w, unsigned n)
{
	struct node *at = &w->node[w->node[n].parent];
	const struct job *job = pipe_job(at->pipe, sim_draw(w, at->params.jobs_max));
	struct wire_join join = { .inc = sim_random(w) | 1, .slots = 8, .p = SIM_P };
	uint8_t buf[SIM_ROOM];
	struct pipe_pkt pkt = { .data = buf,
				.cap = sizeof(buf),
				.flow = foe_flow(w, n, OWN_PORT),
				.cookie = &foe_packet };
	unsigned i;

	if (!job || job->tree || job->left || w->nr_switches > 1)
		return;
	i = sim_draw(w, job->nr_members);
	if (!job->members[i].inc ||
	    w->now_ns > job->members[i].heard_ns + (job->running ? 59000 : 900) * SIM_MS ||
	    (!job->running && !(job->joined >> i & 1)))
		return;
	memcpy(join.name, job->name, strlen(job->name));
	join.world = (uint16_t)(job->world + (job->running && draw_coin(w, 2)));
	join.flags = job->flags;
	join.port = OWN_PORT;
	join.nr_ports = 1;
	join.base = job->running ? job->epoch : job->epoch - 1;
	pkt.len = foe_seal(&join, buf, wire_join_build(buf, (uint16_t)i, &join));
	w->seen[SEEN_FOE_TAKE] = true;
	switch_take(w, w->node[n].parent, &pkt);
}

/* --- A stranger ------------------------------------------------------------------------------- */

/* What a member would send next; the job is one at random. */
static void foe_honest(struct world *w, unsigned n, struct lie *lie)
{
	const struct slot *slot;
	uint16_t nr;

	*lie = (struct lie){ .at = &w->node[w->node[n].parent],
			     .s = { .from = (uint8_t)n,
				    .to = w->node[n].parent,
				    .src_port = OWN_PORT,
				    .dst_port = WIRE_PORT,
				    .foe = true },
			     .msg = { .type = WIRE_DATA, .kind = WIRE_ADD32 },
			     .len = 128 };
	lie->job = pipe_job(lie->at->pipe, sim_draw(w, lie->at->params.jobs_max));
	if (!lie->job)
		return;
	lie->msg.job = lie->job->handle;
	lie->msg.epoch = lie->job->epoch;
	lie->msg.wid = (uint16_t)(lie->job->range.first + sim_draw(w, lie->job->range.nr));
	if (lie->job->tree)
		lie->msg.flags = WIRE_PARTIAL;
	nr = (uint16_t)lie->job->lease_nr;
	lie->msg.slot = (uint16_t)(nr ? sim_draw(w, nr) : 0);
	slot = pipe_slot(lie->at->pipe, lie->job, lie->msg.slot);
	if (!slot)
		return;
	lie->msg.round = slot->cell[0].round > slot->cell[1].round ? slot->cell[0].round
								   : slot->cell[1].round;
	lie->msg.round += sim_draw(w, 2);
	lie->msg.kind = slot->cell[lie->msg.round & 1].kind;
	lie->msg.kind = lie->msg.kind ? lie->msg.kind : WIRE_ADD32;
	lie->msg.desc = slot->cell[lie->msg.round & 1].desc;
	memset(lie->buf, 0x5a, sizeof(lie->buf));
}

static void foe_send(struct world *w, unsigned n, unsigned kind)
{
	struct lie lie;
	bool check;

	foe_honest(w, n, &lie);
	if (!lie.at->up || (!lie.job && !lies[kind].any))
		return;
	lies[kind].tell(w, &lie);
	if (!lie.total) {
		wire_build(lie.buf, &lie.msg);
		check = lie.job && (lie.job->flags & WIRE_JOB_CHECK);
		lie.total = net_seal(check != lie.unlike, lie.buf, (uint32_t)lie.len);
	}
	lie.s.data = lie.buf;
	lie.s.len = lie.total;
	if (lies[kind].seen != SEEN_NR)
		w->seen[lies[kind].seen] = true;
	net_send(w, &lie.s);
}

void foe_run(struct world *w, unsigned n)
{
	struct foe *foe = &w->foe[w->node[n].job];
	unsigned kind, nr;
	struct packet *p;

	while ((p = net_take(w, &w->node[n])) != NULL)
		net_give_back(w, p);
	if (w->calm || !foe->left)
		return;
	if (w->now_ns >= foe->next_ns) {
		do
			kind = sim_draw(w, LIES);
		while (!(foe->kinds >> kind & 1));
		nr = 1 + sim_draw(w, 4);
		if (draw_coin(w, 16) && foe->left > 40) {
			nr = 40 + sim_draw(w, FLOOD);
			w->seen[SEEN_FOE_FLOOD] = true;
		}
		for (; nr && foe->left; nr--, foe->left--)
			foe_send(w, n, kind);
		if (draw_coin(w, 4) && foe_idle(w, n))
			foe_take(w, n);
		foe->next_ns = w->now_ns + 1 + sim_span(w, 2 * foe->gap_ns);
	}
	world_wake(w, n, foe->next_ns);
}

/* --- A member --------------------------------------------------------------------------------- */

/* What ends the epoch by this rank's fault. */
static void broken_harm(struct world *w, struct rank *rank, struct wire_msg *msg, unsigned how)
{
	rank->blamed_broken |= how != 0;
	rank->blamed_rounds |= how == 0;
	if (how == 0) {
		msg->round |= UINT32_C(1) << 31;
		w->seen[SEEN_BROKEN_ROUND] = true;
	} else if (how == 1) {
		msg->round += 3 + sim_draw(w, 9);
		w->seen[SEEN_BROKEN_GAP] = true;
	} else {
		msg->desc ^= 1;
		w->seen[SEEN_BROKEN_DESC] = true;
	}
}

/* What is dropped by name; how long it is. */
static size_t broken_lie(struct world *w, const struct sim_job *job, unsigned n,
			 struct wire_msg *msg)
{
	const struct rank *rank = host_rank(w, n);
	unsigned p = session_status(&rank->session)->p;

	w->seen[SEEN_BROKEN] = true;
	switch (sim_draw(w, 8)) {
	case 6:
	case 7: /* END of an epoch that is over, or that nobody will live to see */
		msg->type = WIRE_END;
		msg->kind = 0;
		msg->epoch += draw_coin(w, 2) ? UINT64_C(7000) << sim_draw(w, 20)
					      : -(uint64_t)(1 + sim_draw(w, 1000));
		return WIRE_BODY;
	case 0:
		msg->slot = (uint16_t)(WIRE_SE + session_status(&rank->session)->slots +
				       sim_draw(w, 1000));
		return 128;
	case 1:
		return p + 32;
	case 2:
		msg->flags |= WIRE_PARTIAL;
		return 128;
	case 3:
		msg->wid = (uint16_t)(job->world + sim_draw(w, 9));
		return 128;
	case 4: /* another rank of its own job */
		msg->wid = (uint16_t)((msg->wid + 1) % job->world);
		msg->flags |= job->world == 1 ? WIRE_PARTIAL : 0;
		return 128;
	default:
		msg->epoch -= 1 + sim_draw(w, 1000);
		return 128;
	}
}

/* One that is used soon. */
static uint16_t broken_slot(struct world *w, const struct sim_job *job)
{
	if (draw_coin(w, 2))
		return (uint16_t)sim_draw(w, job->nr_ops < WIRE_SE ? job->nr_ops : WIRE_SE);
	return (uint16_t)(WIRE_SE + sim_draw(w, job->slots < 4 ? job->slots : 4));
}

/* The round behind one that this switch has no result of yet; false: it has, or the rank has not begun. */
static bool broken_ahead(const struct node *at, const struct job *job, const struct rank *rank,
			 struct wire_msg *msg)
{
	const struct slot *slot;
	const struct cell *last;

	if (rank->session.epoch != job->epoch || msg->slot >= job->lease_nr)
		return false;
	slot = pipe_slot(at->pipe, job, msg->slot);
	last = &slot->cell[slot->cell[1].epoch == job->epoch &&
			   (slot->cell[0].epoch != job->epoch ||
			    slot->cell[0].round < slot->cell[1].round)];
	if (last->epoch != job->epoch || (last->have == job->all && last->done))
		return false;
	msg->round = last->round + 1;
	return true;
}

/* The epoch, or the round, is yet to begin: what is contributed now is refused. */
static void broken_early(struct world *w, unsigned n)
{
	struct rank *rank = host_rank(w, n);
	unsigned at = w->node[n].parent;
	const struct job *job = foe_find(&w->node[at], w->job[w->node[n].job].name);
	struct wire_msg msg = { .type = WIRE_DATA,
				.kind = WIRE_ADD32,
				.slot = broken_slot(w, &w->job[w->node[n].job]),
				.desc = 1,
				.wid = w->node[n].rank };
	uint8_t buf[SIM_ROOM] = { 0 };
	struct pipe_pkt pkt = { .data = buf, .cap = sizeof(buf), .cookie = &foe_packet };

	if (!foe_idle(w, n) || !job ||
	    (job->running && !broken_ahead(&w->node[at], job, rank, &msg)))
		return;
	w->seen[job->running ? SEEN_BROKEN_AHEAD : SEEN_BROKEN_EARLY] = true;
	/* The answer, if it is late, speaks of what has begun by then. */
	rank->blamed_early |= !job->running;
	rank->blamed_broken |= job->running;
	msg.job = job->handle;
	msg.epoch = job->epoch;
	wire_build(buf, &msg);
	pkt.len = net_seal(job->flags & WIRE_JOB_CHECK, buf, 128);
	pkt.flow = foe_flow(w, n, rank->port);
	switch_take(w, at, &pkt);
}

static void broken_send(struct world *w, unsigned n)
{
	const struct sim_job *job = &w->job[w->node[n].job];
	struct rank *rank = host_rank(w, n);
	struct sending s = { .from = (uint8_t)n,
			     .to = w->node[n].parent,
			     .src_port = rank->port,
			     .dst_port = WIRE_PORT };
	struct wire_msg msg = { .type = WIRE_DATA,
				.kind = WIRE_ADD32,
				.job = rank->session.job,
				.epoch = rank->session.epoch,
				.slot = broken_slot(w, job),
				.round = sim_draw(w, 3),
				.desc = (uint32_t)sim_random(w),
				.wid = w->node[n].rank };
	uint8_t buf[SIM_ROOM] = { 0 };
	bool unlike = draw_coin(w, 8);
	size_t len = 128;

	w->seen[SEEN_BROKEN_SEAL] |= unlike;
	if (draw_coin(w, 4) && job->world > 1)
		broken_harm(w, rank, &msg, sim_draw(w, 3));
	else
		len = broken_lie(w, job, n, &msg);
	wire_build(buf, &msg);
	s.data = buf;
	s.len = net_seal(job->check != unlike, buf, (uint32_t)len);
	net_send(w, &s);
}

void foe_broken(struct world *w, unsigned n)
{
	const struct rank *rank = host_rank(w, n);

	if (!w->node[n].up || w->calm)
		return;
	broken_early(w, n);
	if (rank->session.state != SESSION_RUNNING || !rank->in_epoch)
		return;
	for (unsigned nr = 1 + sim_draw(w, 5); nr; nr--)
		broken_send(w, n);
}

/* --- Drawing ---------------------------------------------------------------------------------- */

/* The nodes are there already, the last of them. */
void foe_draw(struct world *w)
{
	for (unsigned i = 0; i < w->nr_foes; i++) {
		unsigned n = w->nr_nodes - w->nr_foes + i;
		uint64_t gap_ns = 10 * SIM_US;

		for (unsigned digits = sim_draw(w, 4); digits; digits--)
			gap_ns *= 10;
		w->node[n].job = (uint8_t)i;
		w->node[n].up = true;
		w->foe[i] = (struct foe){ .kinds = 1 + sim_draw(w, (1U << LIES) - 1),
					  .left = 10 + sim_draw(w, 150),
					  .next_ns = w->now_ns + sim_span(w, 20 * SIM_MS),
					  .gap_ns = gap_ns };
		world_wake(w, n, w->foe[i].next_ns);
	}
}
