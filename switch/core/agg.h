/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agg.h - what becomes of a message: one handler per type.  pipe.c parses and dispatches; nobody
 * else calls these.
 *
 * Life of a job:
 *
 *	(none) --JOIN of an unknown name--> FORMING --JOIN of the last missing rank--> RUNNING
 *	RUNNING --END EPOCH(cause)--> FORMING, in a later epoch
 *	RUNNING --LEAVE of the last rank--> (none)
 *	FORMING --LEAVE of the last that joined, or all known are gone--> (none)
 *	FORMING --nobody joined, and its place is wanted--> (none)
 *
 * Epochs are never reused by any job of this switch, so whatever speaks of an older one is
 * recognised and answered by STATUS.  A JOIN names the epoch it wants to replace (its base): only
 * base = epoch ends a running epoch, only base = epoch - 1 enters a forming one.  Any other JOIN is
 * late, or comes from a rank that does not know the epoch yet, and changes nothing; its STATUS says
 * which base to use.  So the very first JOIN of a job makes the job but does not join it.
 *
 * At a leaf epochs are the parent's: agg_up.c has what differs there.
 *
 * END EPOCH takes the clock's next millisecond.  Where the clock has none to give, nothing is done
 * and the packet counts as too_early: whoever sent it repeats it.
 */
#ifndef SWITCH_CORE_AGG_H
#define SWITCH_CORE_AGG_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/core/outbox.h"
#include "switch/core/pipe.h"

#define AGG_MS UINT64_C(1000000)

/* Milliseconds. */
enum {
	AGG_BOOT_MS = 2,     /* no epochs are given so long after start */
	AGG_FRESH_MS = 1000, /* a rank heard within this, that waits, is alive */
	AGG_MADE_MS =
		20, /* nobody has joined it for so long: a job makes room for one of its owner's */
	AGG_POKE_MS = 200,     /* silent so long, members are asked, if others want room or rank */
	AGG_FORMING_MS = 5000, /* silent so long, a forming job makes room for another */
	AGG_IDLE_MS = 60000,   /* silent so long, a running job, or a rank of one, gives way */
	AGG_LOST_MS = 900000,  /* silent so long, it makes room for another */
	AGG_AHEAD_MS =
		5000, /* a base further ahead of the clock is nonsense: it would hold up all jobs */
	AGG_UP_MS = 1,	     /* between messages of one kind to the parent */
	AGG_PROBE_MS = 10,   /* between questions to it about a running epoch */
	AGG_DISOWN_MS = 100, /* between denials of jobs that it thinks are here */
};

/* Of a leaf. */
struct agg_parent {
	bool here;
	struct flow flow;
	uint16_t from; /* own UDP port */
	uint64_t inc;
	uint64_t nr_incs; /* taken from it so far */
	uint64_t disown_ns;
};

/* Epoch of a job at a leaf whose parent has not named one yet: none that ever runs. */
#define AGG_UP_EPOCH 1

struct agg {
	struct job_table table;
	struct slot *slots;
	uint8_t *values;
	const struct add_ops *ops;
	uint64_t last_epoch; /* the highest given */
	uint64_t boot_ns;
	uint16_t p_max, p_check; /* p_check: of jobs with CHECK */
	bool strict_ports;
	bool drains; /* makes no jobs any more */
	struct agg_parent parent;
	unsigned poke_next; /* job whose members are asked next */
	struct outbox outbox;
};

/* What is behind pipe.h; explorers look into it too. */
struct pipe {
	struct counters counters;
	struct agg agg;
};

/* A message that wire_parse() accepted. */
struct agg_in {
	struct pipe_pkt *pkt;
	const struct pipe_time *now;
	struct wire_msg msg;
};

/*
 * Handlers.  Each returns the counter the packet falls under; only agg_data() and agg_up_result()
 * may leave a verdict other than DROP.
 */
enum counter agg_data(struct agg *agg, struct agg_in *in);
enum counter agg_join(struct agg *agg, struct agg_in *in);
enum counter agg_keepalive(struct agg *agg, struct agg_in *in);
enum counter agg_leave(struct agg *agg, struct agg_in *in);
enum counter agg_end(struct agg *agg, struct agg_in *in);
/* A JOIN of another protocol version, of which only type, job, epoch, wid and len are known. */
enum counter agg_version(struct agg *agg, struct agg_in *in);
enum counter agg_gone(struct agg *agg, const struct flow *flow, const struct pipe_time *now);
enum counter agg_wire_error(enum wire_error error);

/* RESULT and STATUS: at a leaf, from its parent. */
enum counter agg_up_result(struct agg *agg, struct agg_in *in);
enum counter agg_up_status(struct agg *agg, struct agg_in *in);

/* Shared by the handlers. */

/* Whether messages of the job are sealed. */
static inline bool agg_checks(const struct job *job)
{
	return job->flags & WIRE_JOB_CHECK;
}
/* For a message that nobody asked for. */
static inline struct outbox_room agg_room(const struct job *job, uint16_t len)
{
	return (struct outbox_room){ .len = len, .seal = agg_checks(job) };
}
/* The length of a message whose header and len bytes of payload are at data; seals it first if the
 * job wants that. */
static inline uint32_t agg_seal(const struct job *job, uint8_t *data, uint32_t len)
{
	return agg_checks(job) ? wire_seal(data, len) : WIRE_HEADER + len;
}
/* The largest P of a job with these flags. */
static inline uint16_t agg_p_max(const struct agg *agg, uint16_t flags)
{
	return flags & WIRE_JOB_CHECK ? agg->p_check : agg->p_max;
}

struct agg_cause {
	uint8_t cause; /* enum wire_cause */
	uint16_t wid_a, wid_b;
	const uint8_t *desc_a, *desc_b; /* NULL: none */
	uint64_t above;			/* so is the next epoch */
};
/*
 * Ends the epoch, or a forming one; false: the clock has no epoch to give yet, nothing was done.
 * Tells nobody.  Not at a leaf.
 */
bool agg_end_epoch(struct agg *agg, struct job *job, const struct agg_cause *why,
		   const struct pipe_time *now);
/* What that comes down to, whoever gives the epoch. */
void agg_begin_forming(struct agg *agg, struct job *job, uint64_t epoch,
		       const struct agg_cause *why);
/* The same, and tells all members; a leaf asks its parent for it, whatever becomes of that. */
bool agg_break(struct agg *agg, struct job *job, const struct agg_cause *why,
	       const struct pipe_time *now);
/* False: as above. */
bool agg_take_epoch(struct agg *agg, const struct pipe_time *now, uint64_t above, uint64_t *epoch);
static inline bool agg_booting(const struct agg *agg, const struct pipe_time *now)
{
	return now->now_ns < agg->boot_ns + AGG_BOOT_MS * AGG_MS;
}
static inline bool agg_is_leaf(const struct agg *agg)
{
	return agg->parent.here;
}

/*
 * To the parent, each kind once in AGG_UP_MS; lost, or held back, it is repeated by what comes
 * next.
 */
void agg_up_end(struct agg *agg, struct job *job, const struct agg_cause *why,
		const struct pipe_time *now);
/*
 * The job does not run: JOIN once all members are here, until then a question.  base: the latest
 * epoch that a member knows to be over, 0: none.
 */
void agg_up_join(struct agg *agg, struct job *job, uint64_t base, const struct pipe_time *now);
/* Who is missing in the slot there, and is the epoch still the parent's? */
void agg_up_probe(struct agg *agg, const struct agg_in *in, struct job *job);
/* epoch 0: of the one that the parent forms, if it does. */
void agg_up_leave(struct agg *agg, struct job *job, uint64_t epoch, const struct pipe_time *now);
/* Incarnation of a job that the parent must not take for one before it. */
uint64_t agg_up_inc(struct agg *agg);

/* Tries again to end an epoch for a member known to be gone. */
void agg_retry_gone(struct agg *agg, struct job *job, const struct pipe_time *now);

/* STATUS of a job, as it is for the i-th member; JOB_NONE: for no member. */
void agg_status(const struct job *job, unsigned i, uint64_t now_ns, struct wire_status *status);
/* The least that the members of the mask ask for; 0 if there are none. */
void agg_least(const struct job *job, uint64_t mask, uint16_t *p, uint16_t *slots);
/* STATUS to all members known but those of the mask except; unasked, so never limited. */
void agg_tell(struct agg *agg, const struct job *job, uint64_t except, const struct pipe_time *now);
/*
 * STATUS to the packet's source, never longer than the packet.  A leaf whose job does not run asks
 * its parent too.
 */
void agg_answer(struct agg *agg, const struct agg_in *in, struct job *job);
/* STATUS(UNKNOWN): echoes what the packet says. */
void agg_answer_unknown(struct agg *agg, const struct agg_in *in, uint64_t key);
/* STATUS to the packet's source with a body of the caller's; job may be NULL. */
void agg_answer_with(struct agg *agg, const struct agg_in *in, struct job *job,
		     const struct wire_status *status);

/* STATUS to all members of the mask, at most one per member and ms. */
void agg_tell_members(struct agg *agg, const struct job *job, uint64_t mask,
		      struct wire_status *status, uint64_t now_ns);

/*
 * What can change something is sealed if the job has CHECK, and only then.  Anything else is answered as it asks: it
 * may be about a job with other flags, which had this handle before.
 */
static inline bool agg_is_sealed_right(const struct job *job, const struct wire_msg *msg)
{
	bool changes = job->running ? msg->epoch == job->epoch : msg->type == WIRE_LEAVE;

	return !changes || msg->sealed == agg_checks(job);
}
/* Whether the packet comes from the i-th member's address, which is then marked as heard. */
static inline bool agg_authorise(const struct agg *agg, const struct agg_in *in, struct job *job,
				 unsigned i)
{
	struct job_member *member = &job->members[i];

	if (!member->inc || !job_identity(member, &in->pkt->flow, agg->strict_ports))
		return false;
	member->heard_ns = in->now->now_ns;
	return true;
}
/*
 * On whose share of the room a job is: the switch port that packets come in through, which nobody can make up; where
 * a worker may come through several, or the kernel hides it, the IP address.
 */
static inline uint32_t agg_owner(const struct agg *agg, const struct flow *flow)
{
	return agg->strict_ports ? flow->port : flow->ip;
}
static inline uint8_t *agg_values(const struct agg *agg, const struct job *job, uint16_t slot)
{
	return agg->values + job->values_off + (size_t)slot * 2 * job->stride;
}
/*
 * Finds the job of a message about an epoch; NULL: *counter says what became of the packet, and it
 * is answered. Otherwise the packet is the i-th member's own.
 */
struct job *agg_find(struct agg *agg, const struct agg_in *in, unsigned *i, enum counter *counter);

/*
 * Room for a job, which may be NULL, where others hold all there is.  The first asks silent members
 * of others for a sign of life: of those that have slots, or of all.
 */
void agg_want_poke(struct agg *agg, const struct job *job, bool slots, const struct pipe_time *now);
/*
 * The slots of a job that nobody is there of any more; false: there is none.  A place for a job of this owner, made
 * of such jobs if need be; false: there is none.
 */
bool agg_want_slots(struct agg *agg, const struct pipe_time *now);
bool agg_want_place(struct agg *agg, uint32_t owner, const struct pipe_time *now);
/* Whether it may yet turn out that others are not there any more, and the job does well to wait. */
bool agg_want_hopes(const struct agg *agg, struct job *job, const struct pipe_time *now);
/* Asks the silent members of one job, not too often. Returns how many. */
unsigned agg_poke(struct agg *agg, struct job *job, const struct pipe_time *now);

#endif
