// SPDX-License-Identifier: BSD-3-Clause
/*
 * ctl_stalls.c - the stall inspector: which job waits for whom, in which operation, since when.
 *
 * Jobs are looked through in pieces of so many slots, so that a question about large ones holds no
 * packet up; the answer says where the next question is to go on.
 */
#include "switch/ctl_jobs.h"
#include "switch/node.h"

enum {
	STALLS_SLOTS = 4096, /* looked at for one answer */
	STALLS_JOBS = 32,
	STALLS_LOOKED_AT = 256, /* entries of the table of jobs */
	STALLS_PLACE_SLOT = 16, /* a place is a job's entry above these bits, and a slot */
};

struct stalls {
	struct ctl_json *json;
	const struct lcore *lcore;
	uint64_t min_ns; /* what waits for less is not listed */
	unsigned nr_slots, nr_jobs;
	/* Of each job in this answer. */
	struct {
		const struct job *job;
		uint64_t waiting, chunks;
	} jobs[STALLS_JOBS];
};

/* At a leaf that has all its members' contributions, ranks behind other switches are awaited. */
static void stalls_missing(const struct stalls *stalls, const struct job *job, unsigned slot,
			   const struct cell *cell)
{
	uint64_t missing = job->all & ~cell->have,
		 silent = job_silent(job, stalls->lcore->now.now_ns, CTL_SILENT_NS);
	struct wire_range awaited = job->up.awaited;

	if (job->up.awaited_slot != slot || job->up.awaited_round != cell->round)
		awaited.nr = 0;
	ctl_json_text(stalls->json, "waits_for", missing ? "members" : "parent");
	if (missing)
		ctl_ranks(stalls->json, "missing", job, missing);
	else
		ctl_range(stalls->json, "missing", awaited);
	ctl_ranks(stalls->json, "silent", job, silent & missing);
}

static void stalls_slot(const struct stalls *stalls, const struct job *job, unsigned slot,
			const struct cell *cell)
{
	struct ctl_json *json = stalls->json;

	ctl_json_object(json, NULL);
	ctl_json_text(json, "job", job->name);
	ctl_json_text(json, "state", "running");
	ctl_json_u64(json, "slot", slot);
	ctl_json_text(json, "lane", slot < WIRE_SE ? "E" : "D");
	ctl_json_u64(json, "round", cell->round);
	ctl_json_format(json, "descriptor", "%08x", cell->desc);
	ctl_operation(json, stalls->lcore->pipe, job, cell);
	stalls_missing(stalls, job, slot, cell);
	ctl_since(json, stalls->lcore, cell_begin_ns(cell, stalls->lcore->now.now_ns));
	ctl_json_close(json);
}

static void stalls_forming(const struct stalls *stalls, const struct job *job)
{
	uint64_t since_ns = ctl_formed_ns(stalls->lcore, job);
	struct ctl_json *json = stalls->json;

	if (since_ns + stalls->min_ns > stalls->lcore->now.now_ns)
		return;
	ctl_json_object(json, NULL);
	ctl_json_text(json, "job", job->name);
	ctl_json_text(json, "state", "forming");
	ctl_json_text(json, "waits_for", job_complete(job) ? "parent" : "members");
	ctl_awaited(json, "missing", job);
	ctl_since(json, stalls->lcore, since_ns);
	ctl_json_close(json);
}

/* The slots from this one on; returns the first that was not looked at. */
static unsigned stalls_job(struct stalls *stalls, struct ctl_call *call, const struct job *job,
			   unsigned slot)
{
	uint64_t now_ns = stalls->lcore->now.now_ns;
	unsigned n = stalls->nr_jobs++;

	stalls->jobs[n].job = job;
	for (; slot < job->lease_nr && stalls->nr_slots < STALLS_SLOTS; slot++) {
		const struct cell *cell = ctl_cell(job, pipe_slot(stalls->lcore->pipe, job, slot));

		stalls->nr_slots++;
		if (!cell)
			continue;
		if (ctl_is_full(call))
			return slot;
		stalls->jobs[n].chunks += cell->round;
		if (!ctl_cell_waits(job, cell)) {
			stalls->jobs[n].chunks++;
			continue;
		}
		stalls->jobs[n].waiting++;
		if (cell_begin_ns(cell, now_ns) + stalls->min_ns <= now_ns)
			stalls_slot(stalls, job, slot, cell);
	}
	return slot;
}

/* The jobs of this answer. */
static void stalls_counts(const struct stalls *stalls)
{
	struct ctl_json *json = stalls->json;

	ctl_json_object(json, "jobs");
	for (unsigned i = 0; i < stalls->nr_jobs; i++) {
		ctl_json_object(json, stalls->jobs[i].job->name);
		ctl_json_u64(json, "waiting", stalls->jobs[i].waiting);
		ctl_json_u64(json, "chunks", stalls->jobs[i].chunks);
		ctl_json_close(json);
	}
	ctl_json_close(json);
}

static bool stalls_params(struct ctl_call *call, uint64_t *place, uint64_t *min_ms)
{
	const char *rest = "";

	*place = *min_ms = 0;
	if (*call->params && (!ctl_number(call->params, place, &rest) ||
			      (*rest && (!ctl_number(rest, min_ms, &rest) || *rest)))) {
		ctl_refuse_words(call, "\"%.40s\" is not PLACE,MILLISECONDS", call->params);
		return false;
	}
	if (*min_ms > UINT32_MAX)
		*min_ms = UINT32_MAX;
	return true;
}

void ctl_stalls(struct ctl_call *call)
{
	const struct lcore *lcore = &call->node->lcore;
	struct stalls stalls = { .json = &call->json, .lcore = lcore };
	uint64_t place, min_ms, max = call->node->conf->jobs, i;
	unsigned slot, looked = 0;

	if (!stalls_params(call, &place, &min_ms))
		return;
	stalls.min_ns = min_ms * 1000000;
	i = place >> STALLS_PLACE_SLOT;
	slot = place & ((1 << STALLS_PLACE_SLOT) - 1);
	ctl_json_object(&call->json, call->command);
	ctl_json_array(&call->json, "stalls");
	for (; i < max && looked < STALLS_LOOKED_AT; i++, slot = 0, looked++) {
		const struct job *job = pipe_job(lcore->pipe, (unsigned)i);

		if (!job)
			continue;
		if (stalls.nr_jobs == STALLS_JOBS || ctl_is_full(call))
			break;
		if (!job->running) {
			stalls_forming(&stalls, job);
			continue;
		}
		slot = stalls_job(&stalls, call, job, slot);
		if (slot < job->lease_nr)
			break;
	}
	ctl_json_close(&call->json);
	stalls_counts(&stalls);
	ctl_next(call, i < max, i << STALLS_PLACE_SLOT | slot);
	ctl_json_close(&call->json);
}
