// SPDX-License-Identifier: BSD-3-Clause
/*
 * agg_want.c - room for a job where others hold all there is: slots, or a place in the job table.
 *
 * Silence alone proves nothing: a rank that computes is silent, too.  So members of other jobs that are silent are
 * sent a STATUS; where nobody is there any more, the network says so (agg_gone()).  It says nothing of hosts that
 * are gone: after 15 minutes of silence, with an unanswered STATUS at its end, a job is taken for dead.
 */
#include "switch/core/agg.h"

/* No owner. */
#define WANT_ALL UINT64_MAX

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
	return !job->running && want_silent_for(job_heard(job, UINT64_MAX), AGG_FORMING_MS, now);
}

static bool want_is_made(const struct job *job, const struct pipe_time *now)
{
	return !job->running && !job_known(job) && want_silent_for(job->since_ns, AGG_MADE_MS, now);
}

/* The one silent for longest of those that may go, of this owner's or, WANT_ALL, of all. */
static struct job *want_oldest(const struct agg *agg, uint64_t owner,
			       bool (*may_go)(const struct job *job, const struct pipe_time *now),
			       const struct pipe_time *now)
{
	struct job *oldest = NULL;
	uint64_t oldest_ns = 0;

	for (unsigned i = 0; i < agg->table.jobs_max; i++) {
		struct job *job = &agg->table.jobs[i];
		uint64_t heard_ns = job->used ? job_heard(job, UINT64_MAX) : 0;

		if (!job->used || (owner != WANT_ALL && owner != job->owner) || !may_go(job, now) ||
		    (oldest && heard_ns >= oldest_ns))
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
	struct job *job = want_oldest(agg, WANT_ALL, want_is_dead, now);

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
	struct job *job = want_oldest(agg, WANT_ALL, want_is_promise, now);

	if (job)
		job_unlease(&agg->table, job);
	return job || want_end(agg, now);
}

/* Names cost nothing, so what only one packet has made gives way to its owner's at once, and to no other's. */
bool agg_want_place(struct agg *agg, uint32_t owner, const struct pipe_time *now)
{
	while (!job_has_place(&agg->table, owner)) {
		struct job *job = want_oldest(agg, owner, want_is_made, now);

		if (!job)
			job = want_oldest(agg, WANT_ALL, want_is_idle, now);
		if (!job)
			job = want_end(agg, now);
		if (!job)
			return false;
		job_del(&agg->table, job);
	}
	return true;
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
