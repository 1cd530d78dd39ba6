// SPDX-License-Identifier: BSD-3-Clause
// session.c - membership of one rank in one job: JOIN, STATUS, END, LEAVE, epochs.
#include "host/core/session.h"

#include <assert.h>
#include <string.h>

#define MS UINT64_C(1000000)

/*
 * Where JOINs are not answered, every other message is a small probe.  That a path does not carry P is
 * what explains so many of the former without an answer while that many of the latter have one: at a
 * loss of 30 % in both directions, chance does it once in 800 joinings, or less.
 */
enum {
	PROBES = 3,	  /* JOINs unanswered in a row, before the first probe */
	PROBES_LOST = 10, /* JOINs unanswered in a row, */
	PROBES_FOUND = 3, /* and probes answered meanwhile, before P is lowered */
};

static const uint64_t retry_first_ns = 5 * MS;
static const uint64_t retry_last_ns = 100 * MS;
static const uint64_t retry_probing_ns =
	20 * MS; /* as long as it is in question what the path carries */
static const uint64_t refused_for_ns = 5000 * MS; /* a quick rerun outlives its dead predecessor */
static const uint64_t refused_gap_ns = 1000 * MS; /* a refusal this old is withdrawn */
static const uint64_t farewell_ns = 200 * MS; /* END and LEAVE are repeated no longer than this */

static void session_enter(struct session *s, enum session_state state, uint64_t now_ns)
{
	s->state = state;
	s->since_ns = now_ns;
	s->next_ns = now_ns;
	s->retry_ns = retry_first_ns;
}

void session_init(struct session *s, const struct session_params *params, uint64_t now_ns)
{
	size_t len = 0;

	while (len <= WIRE_NAME && params->name[len])
		len++;
	assert(len > 0 && len <= WIRE_NAME);
	*s = (struct session){
		.join = { .inc = params->inc,
			  .flags = (params->p_fixed ? WIRE_JOB_CHUNK_FIXED : 0) |
				   (params->check ? WIRE_JOB_CHECK : 0),
			  .world = params->world,
			  .slots = params->slots,
			  .p = params->p,
			  .port = params->port,
			  .nr_ports = params->nr_ports },
		.rank = params->rank,
		.p_fixed = params->p_fixed,
		.p_asked = params->p,
		.join_timeout_ns = params->join_timeout_ns,
	};
	memcpy(s->join.name, params->name, len);
	s->key = wire_job_key(s->join.name);
	session_enter(s, SESSION_JOINING, now_ns);
}

static enum session_event session_give_up(struct session *s, enum session_failure why,
					  uint64_t now_ns)
{
	s->failure = why;
	session_enter(s, SESSION_FAILED, now_ns);
	return SESSION_GAVE_UP;
}

/* The path carries small packets and not ours: the next smaller P. */
static enum session_event session_shrink(struct session *s, uint16_t fits, uint64_t now_ns)
{
	s->fits = fits;
	if (s->p_fixed || fits < WIRE_P_MIN)
		return session_give_up(s, SESSION_TOO_LARGE, now_ns);
	s->join.p = fits;
	s->unanswered = s->found = 0;
	s->reached = false;
	s->small = false;
	s->next_ns = now_ns;
	s->retry_ns = retry_first_ns;
	return SESSION_SMALLER;
}

static uint16_t chunk_below(uint16_t p)
{
	static const uint16_t sizes[] = { 4096, 1408, 1024, 512, 256, 128 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] < p)
			return sizes[i];
	return 0;
}

/* Whether it is in question if the path carries P.  An answer is as long as its JOIN. */
static bool session_doubts(const struct session *s)
{
	return s->state == SESSION_JOINING && !s->carried && !s->blameless;
}

static void session_wait(struct session *s, uint64_t now_ns)
{
	const uint64_t last = session_doubts(s) && s->reached ? retry_probing_ns : retry_last_ns;

	s->next_ns = now_ns + (s->retry_ns < last ? s->retry_ns : last);
	s->retry_ns = 2 * s->retry_ns < last ? 2 * s->retry_ns : last;
}

/*
 * A JOIN may go unanswered for what it says, not for its length: a switch drops one whose base is
 * beyond its clock.  If it has no answer at any length, that is why, and P is what it was.  A P that
 * the user fixed cannot be tried so: with a base it is not blamed at all.
 */
static enum session_event session_measure(struct session *s, uint64_t now_ns)
{
	const uint16_t below = chunk_below(s->join.p);
	const bool found = s->found >= PROBES_FOUND || s->join.p <= WIRE_BODY;

	if (!session_doubts(s) || s->unanswered < PROBES_LOST || !found)
		return SESSION_NOTHING;
	if (below && !(s->p_fixed && s->join.base))
		return session_shrink(s, below, now_ns);
	s->blameless = true;
	s->join.p = s->p_asked;
	return SESSION_NOTHING;
}

/* Whether somebody is missing because it asked for something else; the status then says so. */
static bool session_dissents(struct session *s)
{
	const unsigned i = (unsigned)s->dissent.wid_b - s->status.first;

	if (!s->differs || (i < 64 && !(s->status.missing >> i & 1)))
		return false;
	s->status = s->dissent;
	return true;
}

static enum session_event session_overdue(struct session *s, uint64_t now_ns)
{
	if (s->refused_ns && now_ns - s->refused_last_ns > refused_gap_ns)
		s->refused_ns = 0;
	if (s->refused_ns && now_ns - s->refused_ns >= refused_for_ns)
		return session_give_up(s, SESSION_WAS_REFUSED, now_ns);
	if (s->join_timeout_ns && now_ns - s->since_ns >= s->join_timeout_ns) {
		if (s->refused_ns || session_dissents(s))
			return session_give_up(s, SESSION_WAS_REFUSED, now_ns);
		return session_give_up(s, s->answered ? SESSION_MISSING_RANKS : SESSION_NO_ANSWER,
				       now_ns);
	}
	return session_measure(s, now_ns);
}

/* A header alone and a zeroed body. */
static size_t session_build(struct session *s, void *buf, uint8_t type, size_t body)
{
	struct wire_msg msg = { .type = type, .job = s->job, .epoch = s->spoken, .wid = s->rank };

	memset(buf, 0, WIRE_HEADER + body);
	wire_build(buf, &msg);
	return WIRE_HEADER + body;
}

static size_t session_ask(struct session *s, void *buf, uint64_t now_ns)
{
	session_wait(s, now_ns);
	if (session_doubts(s) && s->unanswered >= PROBES && !s->small && s->join.p > WIRE_BODY) {
		struct wire_msg msg = { .type = WIRE_KEEPALIVE, .wid = s->rank };

		s->small =
			true; /* handle 0: any switch answers UNKNOWN, and nothing changes there */
		memset(buf, 0, WIRE_HEADER + WIRE_BODY);
		wire_build(buf, &msg);
		return WIRE_HEADER + WIRE_BODY;
	}
	s->small = false;
	s->unanswered++;
	return wire_join_build(buf, s->rank, &s->join);
}

static size_t session_end(struct session *s, void *buf, uint64_t now_ns)
{
	struct wire_msg msg = {
		.type = WIRE_END, .job = s->job, .epoch = s->spoken, .wid = s->rank
	};
	struct wire_status status = { .cause = s->end_cause,
				      .wid_a = s->rank,
				      .wid_b = WIRE_WID_NONE };

	session_wait(s, now_ns);
	return wire_status_build(buf, &msg, &status, WIRE_BODY);
}

static bool session_checks(const struct session *s)
{
	return s->join.flags & WIRE_JOB_CHECK;
}

static size_t session_next(struct session *s, void *buf, uint64_t now_ns, enum session_event *event)
{
	*event = SESSION_NOTHING;
	if (s->state == SESSION_JOINING)
		*event = session_overdue(s, now_ns);
	if ((s->state == SESSION_ENDING || s->state == SESSION_LEAVING) &&
	    now_ns - s->since_ns >= farewell_ns) {
		*event = s->state == SESSION_LEAVING ? SESSION_GONE : SESSION_NOTHING;
		session_enter(s, s->state == SESSION_LEAVING ? SESSION_LEFT : SESSION_ENDED,
			      now_ns);
	}
	if (now_ns < s->next_ns)
		return 0;
	switch (s->state) {
	case SESSION_JOINING:
		return session_ask(s, buf, now_ns);
	case SESSION_RUNNING:
		if (!s->forgotten)
			return 0;
		session_wait(s, now_ns);
		return wire_join_build(buf, s->rank, &s->join);
	case SESSION_ENDING:
		return session_end(s, buf, now_ns);
	case SESSION_LEAVING:
		session_wait(s, now_ns);
		return session_build(s, buf, WIRE_LEAVE, WIRE_PAD);
	case SESSION_ENDED:
	case SESSION_LEFT:
	case SESSION_FAILED:
		return 0;
	}
	return 0;
}

size_t session_output(struct session *s, void *buf, uint64_t now_ns, enum session_event *event)
{
	size_t len = session_next(s, buf, now_ns, event);

	return len && session_checks(s) ? wire_seal(buf, (uint32_t)len - WIRE_HEADER) : len;
}

/* The switch does not know our handle, or a small probe was answered. */
static enum session_event session_unknown(struct session *s, const struct wire_msg *msg,
					  uint64_t now_ns)
{
	if (s->state == SESSION_JOINING && msg->job == 0) {
		if (!s->reached)
			s->unanswered = 0; /* it may just have started: JOIN gets its tries anew */
		else
			s->found++;
		s->reached = true;
		return SESSION_NOTHING;
	}
	if (msg->job != s->job || msg->epoch != s->spoken || s->job == 0)
		return SESSION_NOTHING;
	switch (s->state) {
	case SESSION_RUNNING:
		if (!s->forgotten)
			session_enter(s, SESSION_RUNNING, now_ns);
		s->forgotten = true;
		return SESSION_NOTHING;
	case SESSION_ENDING:
		session_enter(s, SESSION_ENDED, now_ns);
		return SESSION_NOTHING;
	case SESSION_LEAVING:
		/* As long as a LEAVE: a longer one answers a packet from before the job began. */
		if (msg->len != WIRE_PAD)
			return SESSION_NOTHING;
		session_enter(s, SESSION_LEFT, now_ns);
		return SESSION_GONE;
	case SESSION_JOINING:
	case SESSION_ENDED:
	case SESSION_LEFT:
	case SESSION_FAILED:
		return SESSION_NOTHING;
	}
	return SESSION_NOTHING;
}

/* What a JOIN is answered with tells that P passes, both ways, if it is as long. */
static void session_heard(struct session *s, const struct wire_msg *msg)
{
	s->answered = true;
	s->unanswered = s->found = 0;
	if (msg->len < s->join.p)
		return;
	s->carried = true;
	s->p_asked = s->join.p;
}

static enum session_event session_refused(struct session *s, const struct wire_msg *msg,
					  const struct wire_status *status, uint64_t now_ns)
{
	if (s->state != SESSION_JOINING)
		return SESSION_NOTHING;
	session_heard(s, msg);
	s->status = *status;
	if (status->cause == WIRE_CAUSE_VERSION)
		return session_give_up(s, SESSION_VERSION, now_ns);
	if (!s->refused_ns || now_ns - s->refused_last_ns > refused_gap_ns)
		s->refused_ns = now_ns;
	s->refused_last_ns = now_ns;
	return SESSION_NOTHING;
}

static enum session_event session_begin(struct session *s, const struct wire_msg *msg,
					const struct wire_status *status, uint64_t now_ns)
{
	session_enter(s, SESSION_RUNNING, now_ns);
	s->status = *status;
	s->epoch = s->spoken = s->join.base = msg->epoch;
	s->job = msg->job;
	s->forgotten = false;
	s->refused_ns = 0;
	s->differs = false;
	return SESSION_BEGUN;
}

/* The base our next JOIN names: the epoch to replace.  Returns whether it is news. */
static bool session_raise(struct session *s, uint64_t base)
{
	if (base <= s->join.base)
		return false;
	s->join.base = base;
	return true;
}

static enum session_event session_joining(struct session *s, const struct wire_msg *msg,
					  const struct wire_status *status, uint64_t now_ns)
{
	bool running = status->state == WIRE_RUNNING;

	session_heard(s, msg);
	if (running && status->inc == s->join.inc && msg->epoch > s->join.base)
		return session_begin(s, msg, status, now_ns);
	if (!running && status->cause == WIRE_CAUSE_PARAMETERS) {
		s->differs = true;
		s->dissent = *status;
	} else if (!s->refused_ns) {
		s->status = *status;
	}
	s->job = msg->job;
	if (msg->epoch > s->spoken)
		s->spoken = 0;
	if (session_raise(s, running ? msg->epoch : msg->epoch - 1)) {
		s->next_ns = now_ns;
		s->retry_ns = retry_first_ns;
	}
	return SESSION_NOTHING;
}

static enum session_event session_running(struct session *s, const struct wire_msg *msg,
					  const struct wire_status *status, uint64_t now_ns)
{
	if (msg->epoch < s->epoch)
		return SESSION_NOTHING;
	if (msg->epoch == s->epoch) {
		if (status->state != WIRE_RUNNING)
			return SESSION_NOTHING;
		s->status = *status;
		return SESSION_REPLY;
	}
	s->status = *status;
	if (status->ended != s->epoch) /* several epochs went by: this cause is not about ours */
		s->status.cause = WIRE_CAUSE_NONE;
	session_fail(s, now_ns);
	s->spoken = 0;
	s->job = msg->job;
	return SESSION_OVER;
}

static enum session_event session_leaving(struct session *s, const struct wire_msg *msg,
					  const struct wire_status *status, uint64_t now_ns)
{
	/* With an ended epoch it says that this rank's life before has left, and is no answer. */
	const bool left = status->cause == WIRE_CAUSE_LEFT && status->wid_a == s->rank &&
			  status->ended == 0;

	/* We were joining, and it has begun with us. */
	if (!left && status->state == WIRE_RUNNING && status->inc == s->join.inc &&
	    session_raise(s, msg->epoch)) {
		s->spoken = msg->epoch;
		s->next_ns = now_ns;
		return SESSION_NOTHING;
	}
	if (left ? msg->epoch < (s->spoken ? s->spoken : s->join.base + 1)
		 : !s->spoken || msg->epoch <= s->spoken)
		return SESSION_NOTHING;
	session_enter(s, SESSION_LEFT, now_ns);
	return SESSION_GONE;
}

enum session_event session_input(struct session *s, const struct wire_msg *msg, uint64_t now_ns)
{
	struct wire_status status;
	enum session_event event = SESSION_NOTHING;

	if (msg->type != WIRE_STATUS || msg->sealed != session_checks(s) ||
	    wire_status_parse(&status, msg) != WIRE_OK)
		return SESSION_NOTHING;
	if (status.state == WIRE_UNKNOWN)
		return session_unknown(s, msg, now_ns);
	if (status.key != s->key &&
	    !(status.state == WIRE_REFUSED && status.cause == WIRE_CAUSE_VERSION))
		return SESSION_NOTHING;
	if (status.state == WIRE_REFUSED)
		return session_refused(s, msg, &status, now_ns);
	if (msg->epoch == 0) /* no switch has such an epoch */
		return SESSION_NOTHING;

	switch (s->state) {
	case SESSION_JOINING:
		return session_joining(s, msg, &status, now_ns);
	case SESSION_RUNNING:
		event = session_running(s, msg, &status, now_ns);
		break;
	case SESSION_ENDING:
		if (msg->epoch > s->spoken)
			session_enter(s, SESSION_ENDED, now_ns);
		break;
	case SESSION_LEAVING:
		return session_leaving(s, msg, &status, now_ns);
	case SESSION_ENDED:
	case SESSION_LEFT:
	case SESSION_FAILED:
		break;
	}
	/* An epoch that runs with our incarnation is one to enter, not one to replace. */
	if (s->state == SESSION_ENDED && !(status.state == WIRE_RUNNING &&
					   status.inc == s->join.inc && msg->epoch > s->join.base))
		session_raise(s, status.state == WIRE_RUNNING ? msg->epoch : msg->epoch - 1);
	return event;
}

enum session_event session_too_large(struct session *s, uint16_t fits, uint64_t now_ns)
{
	if (s->state != SESSION_JOINING || fits >= s->join.p)
		return SESSION_NOTHING;
	s->p_asked = (uint16_t)(fits / WIRE_P_MIN * WIRE_P_MIN);
	return session_shrink(s, s->p_asked, now_ns);
}

void session_fail(struct session *s, uint64_t now_ns)
{
	assert(s->state == SESSION_RUNNING);
	session_enter(s, SESSION_ENDED, now_ns);
	s->epoch = 0;
	s->forgotten = false;
}

void session_abort(struct session *s, uint8_t cause, uint64_t now_ns)
{
	if (s->state != SESSION_RUNNING)
		return;
	session_fail(s, now_ns);
	s->end_cause = cause;
	session_enter(s, SESSION_ENDING, now_ns);
}

void session_rejoin(struct session *s, uint64_t now_ns)
{
	assert(s->state == SESSION_ENDED || s->state == SESSION_ENDING ||
	       s->state == SESSION_FAILED);
	s->failure = SESSION_OK;
	s->answered = false;
	s->unanswered = s->found = 0;
	s->small = false;
	s->reached = false;
	s->carried = s->blameless = false;
	s->refused_ns = 0;
	s->differs = false;
	session_enter(s, SESSION_JOINING, now_ns);
}

void session_leave(struct session *s, uint64_t now_ns)
{
	if (s->state == SESSION_LEFT || s->state == SESSION_LEAVING)
		return;
	session_enter(s, s->job ? SESSION_LEAVING : SESSION_LEFT, now_ns);
}

uint64_t session_deadline(const struct session *s)
{
	uint64_t end = UINT64_MAX;

	switch (s->state) {
	case SESSION_JOINING:
		if (s->join_timeout_ns)
			end = s->since_ns + s->join_timeout_ns;
		break;
	case SESSION_RUNNING:
		return s->forgotten ? s->next_ns : UINT64_MAX;
	case SESSION_ENDING:
	case SESSION_LEAVING:
		end = s->since_ns + farewell_ns;
		break;
	case SESSION_ENDED:
	case SESSION_LEFT:
	case SESSION_FAILED:
		return UINT64_MAX;
	}
	return s->next_ns < end ? s->next_ns : end;
}
