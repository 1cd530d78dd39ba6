// SPDX-License-Identifier: BSD-3-Clause
/*
 * agg_want.c - room for a job where others hold all there is: slots, or a place in the job table.
 *
 * Silence alone proves nothing: a rank that computes is silent, too.  So members of other jobs that are silent are
 * sent a STATUS; where nobody is there any more, the network says so (agg_gone()).  It says nothing of hosts that
 * are gone: after 15 minutes of silence, with an unanswered STATUS at its end, a job is taken for dead.
 */
#include "switch/core/agg.h"

unsigned agg_poke(struct agg *agg, struct job *job, const struct pipe_time *now)
{
	uint64_t silent = job_silent(job, now->now_ns, AGG_POKE_MS * AGG_MS) & ~job->left;
	struct wire_status status;

	if (!silent || now->now_ns < job->want.poked_ns + AGG_POKE_MS * AGG_MS)
		return 0;
	if (job_heard(job, ~job->left) >= job->want.asked_ns)
		job->want.asked_ns = now->now_ns;
	job->want.poked_ns = now->now_ns;
	agg_status(job, JOB_NONE, now->now_ns, &status);
	agg_tell_members(agg, job, silent, &status, now->now_ns);
	return (unsigned)__builtin_popcountll(silent);
}

/* Some of them at a time: one JOIN is not to draw more than the outbox holds. */
void agg_want_poke(struct agg *agg, const struct job *job, bool slots, const struct pipe_time *now)
{
	const struct job_table *table = &agg->table;
	unsigned nr = 0;

	for (unsigned i = 0; i < table->jobs_max && nr < WIRE_WORLD_MAX; i++) {
		struct job *other = &table->jobs[agg->poke_next];

		agg->poke_next = (agg->poke_next + 1) % table->jobs_max;
		if (other->used && other != job && (other->lease_nr || !slots))
			nr += agg_poke(agg, other, now);
	}
}

static bool want_silent_for(uint64_t heard_ns, uint64_t ms, const struct pipe_time *now)
{
	return heard_ns + ms * AGG_MS < now->now_ns;
}

/* The members that a running job still needs. */
static uint64_t want_needed(const struct job *job)
{
	return job->all & ~job->left;
}

/* Nobody is there, as far as can be known. */
static bool want_is_dead(const struct job *job, const struct pipe_time *now)
{
	uint64_t heard_ns = job_heard(job, want_needed(job));

	if (!job->running || !want_silent_for(heard_ns, AGG_LOST_MS, now))
		return false;
	/* A leaf whose members have all left waits for its parent alone. */
	if (!want_needed(job))
		return true;
	return job->want.asked_ns > heard_ns &&
	       job->want.asked_ns + AGG_FRESH_MS * AGG_MS <= now->now_ns;
}

/* A leaf has promised slots to its parent; ranks that wait for the job repeat their JOIN. */
static bool want_is_promise(const struct job *job, const struct pipe_time *now)
{
	return !job->running && job->lease_nr &&
	       (job->joined & job_silent(job, now->now_ns, AGG_FRESH_MS * AGG_MS));
}

static bool want_is_idle(const struct job *job, const struct pipe_time *now)
{
	uint64_t most_ms = job_known(job) ? AGG_FORMING_MS : AGG_MADE_MS;

	return !job->running && want_silent_for(job_heard(job, UINT64_MAX), most_ms, now);
}

/* The one silent for longest of those that may go. */
static struct job *want_oldest(const struct agg *agg,
			       bool (*may_go)(const struct job *job, const struct pipe_time *now),
			       const struct pipe_time *now)
{
	struct job *oldest = NULL;
	uint64_t oldest_ns = 0;

	for (unsigned i = 0; i < agg->table.jobs_max; i++) {
		struct job *job = &agg->table.jobs[i];
		uint64_t heard_ns = job->used ? job_heard(job, UINT64_MAX) : 0;

		if (!job->used || !may_go(job, now) || (oldest && heard_ns >= oldest_ns))
			continue;
		oldest = job;
		oldest_ns = heard_ns;
	}
	return oldest;
}

/* Its members, should they be there after all, learn why.  NULL: there is none, or it goes on. */
static struct job *want_end(struct agg *agg, const struct pipe_time *now)
{
	struct agg_cause why = { .cause = WIRE_CAUSE_SILENT, .wid_b = WIRE_WID_NONE };
	struct job *job = want_oldest(agg, want_is_dead, now);

	if (!job)
		return NULL;
	why.wid_a = job->range.first;
	if (want_needed(job))
		why.wid_a = job_wid(job, (unsigned)__builtin_ctzll(want_needed(job)));
	agg_break(agg, job, &why, now);
	return job->running ? NULL : job;
}

bool agg_want_slots(struct agg *agg, const struct pipe_time *now)
{
	struct job *job = want_oldest(agg, want_is_promise, now);

	if (job)
		job_unlease(&agg->table, job);
	return job || want_end(agg, now);
}

/* Whose a job is that never ran: its first member's, else the one's that asked for it. */
static uint32_t want_owner(const struct job *job)
{
	const uint64_t known = job_known(job);

	return known ? job->members[__builtin_ctzll(known)].flow.ip : job->maker_ip;
}

static bool want_never_ran(const struct job *job)
{
	return job->used && !job->running && !job->ran;
}

/*
 * Names cost nothing: whoever JOINs under many would keep all others out.  One job is looked at for each JOIN, the
 * next of those that never ran and are another's; its owner is left with no fewer than ip has then.
 */
static struct job *want_share(struct agg *agg, uint32_t ip)
{
	const struct job_table *table = &agg->table;
	struct job *found = NULL;
	unsigned theirs = 0, own = 0;

	for (unsigned i = 0; i < table->jobs_max && !found; i++) {
		struct job *job = &table->jobs[agg->share_next];

		agg->share_next = (agg->share_next + 1) % table->jobs_max;
		if (want_never_ran(job) && want_owner(job) != ip)
			found = job;
	}
	for (unsigned i = 0; i < table->jobs_max && found; i++) {
		const struct job *job = &table->jobs[i];

		theirs += want_never_ran(job) && want_owner(job) == want_owner(found);
		own += want_never_ran(job) && want_owner(job) == ip;
	}
	return theirs > own + 1 ? found : NULL;
}

bool agg_want_place(struct agg *agg, uint32_t ip, const struct pipe_time *now)
{
	struct job *job = want_oldest(agg, want_is_idle, now);

	if (!job)
		job = want_share(agg, ip);
	if (!job)
		job = want_end(agg, now);
	if (job)
		job_del(&agg->table, job);
	return job;
}

bool agg_want_hopes(const struct agg *agg, struct job *job, const struct pipe_time *now)
{
	if (!job->want.since_ns)
		job->want.since_ns = now->now_ns;
	if (want_silent_for(job->want.since_ns, AGG_FRESH_MS, now))
		return false;
	for (unsigned i = 0; i < agg->table.jobs_max; i++) {
		const struct job *other = &agg->table.jobs[i];

		if (other->used && other != job && other->lease_nr &&
		    job_heard(other, ~other->left) <= job->want.since_ns)
			return true;
	}
	return false;
}
