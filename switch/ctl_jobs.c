// SPDX-License-Identifier: BSD-3-Clause
/* ctl_jobs.c - questions about jobs, their members and single slots. */
#include "switch/ctl_jobs.h"

#include <arpa/inet.h>
#include <string.h>

#include "proto/crc32c.h"
#include "proto/print.h"
#include "switch/node.h"

enum { JOBS_LOOKED_AT = 256 /* entries of the table for one answer */ };

static double jobs_age_s(const struct lcore *lcore, uint64_t since_ns)
{
	return since_ns < lcore->now.now_ns ? (double)(lcore->now.now_ns - since_ns) / 1e9 : 0;
}

static void jobs_address(struct ctl_json *json, const char *key, const struct flow *flow)
{
	uint32_t be = htonl(flow->ip);
	char text[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &be, text, sizeof(text));
	ctl_json_format(json, key, "%s:%u", text, flow->udp_port);
}

static void jobs_span(struct ctl_json *json, unsigned first, unsigned nr, const struct flow *leaf)
{
	ctl_json_object(json, NULL);
	ctl_json_u64(json, "first", first);
	ctl_json_u64(json, "last", first + nr - 1);
	if (leaf)
		jobs_address(json, "leaf", leaf);
	ctl_json_close(json);
}

void ctl_ranks(struct ctl_json *json, const char *key, const struct job *job, uint64_t mask)
{
	ctl_json_array(json, key);
	for (unsigned i = 0, nr; i < job->nr_members; i += nr) {
		const struct job_member *member = &job->members[i];

		for (nr = 1; !job->tree && i + nr < job->nr_members; nr++)
			if ((mask >> i & 1) != (mask >> (i + nr) & 1))
				break;
		if (!(mask >> i & 1))
			continue;
		if (job->tree)
			jobs_span(json, member->range.first, member->range.nr, &member->flow);
		else
			jobs_span(json, member->range.first, nr, NULL);
	}
	ctl_json_close(json);
}

void ctl_range(struct ctl_json *json, const char *key, struct wire_range range)
{
	ctl_json_array(json, key);
	if (range.nr)
		jobs_span(json, range.first, range.nr, NULL);
	ctl_json_close(json);
}

/* Of switches that have not joined nothing is known but the ranks that nobody stands for. */
void ctl_awaited(struct ctl_json *json, const char *key, const struct job *job)
{
	struct wire_range awaited = job_awaited(job);

	if (awaited.nr == 0)
		ctl_range(json, key, job->up.awaited);
	else if (job->tree)
		ctl_range(json, key, awaited);
	else
		ctl_ranks(json, key, job, job->all & ~job->joined);
}

const struct cell *ctl_cell(const struct job *job, const struct slot *slot)
{
	const struct cell *best = NULL;

	for (unsigned i = 0; i < 2; i++) {
		const struct cell *cell = &slot->cell[i];

		if (cell->epoch == job->epoch && cell->have && (!best || cell->round > best->round))
			best = cell;
	}
	return best;
}

bool ctl_cell_waits(const struct job *job, const struct cell *cell)
{
	return cell->have != job->all || !cell->done;
}

/* The descriptor in front of a chunk of lane E; false: there is none, or not of this operation. */
static bool jobs_descriptor(const struct pipe *pipe, const struct job *job, unsigned slot,
			    uint32_t desc, struct wire_desc *out)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct cell *cell = &pipe_slot(pipe, job, slot)->cell[i];
		const uint8_t *values = pipe_values(pipe, job, slot, i);

		if (cell->epoch != job->epoch || !cell->have || cell->desc != desc ||
		    cell->kind != WIRE_MAX8 || !cell->filled || crc32c(values, WIRE_DESC) != desc)
			continue;
		wire_desc_parse(out, values);
		return true;
	}
	return false;
}

void ctl_operation(struct ctl_json *json, const struct pipe *pipe, const struct job *job,
		   const struct cell *cell)
{
	struct wire_desc desc;
	unsigned slot = 0;
	char text[128];

	while (slot < WIRE_SE && !jobs_descriptor(pipe, job, slot, cell->desc, &desc))
		slot++;
	if (slot == WIRE_SE) {
		ctl_json_null(json, "operation");
		return;
	}
	print_desc(text, sizeof(text), &desc);
	ctl_json_object(json, "operation");
	ctl_json_u64(json, "number", desc.opno);
	ctl_json_text(json, "text", text);
	ctl_json_u64(json, "count", desc.count);
	ctl_json_text(json, "dtype", desc.dtype ? print_dtype(desc.dtype) : "none");
	ctl_json_text(json, "op", desc.op ? print_op(desc.op) : "none");
	ctl_json_close(json);
}

void ctl_since(struct ctl_json *json, const struct lcore *lcore, uint64_t since_ns)
{
	ctl_json_u64(json, "since_ms", (lcore->wall_base_ns + since_ns) / 1000000);
	ctl_json_real(json, "age_s", jobs_age_s(lcore, since_ns));
}

/* An epoch is the wall clock of when it was made, save at a leaf that knows none yet. */
uint64_t ctl_formed_ns(const struct lcore *lcore, const struct job *job)
{
	const uint64_t formed_ns = job->epoch * 1000000;

	if (formed_ns > lcore->wall_base_ns && job->epoch <= lcore->now.wall_ms)
		return formed_ns - lcore->wall_base_ns;
	return job->since_ns;
}

static void jobs_cause(struct ctl_json *json, const struct job *job)
{
	if (!job->last.ended)
		return;
	ctl_json_object(json, "ended");
	ctl_json_u64(json, "epoch", job->last.ended);
	ctl_json_text(json, "cause", print_cause(job->last.cause));
	if (job->last.wid_a != WIRE_WID_NONE)
		ctl_json_u64(json, "rank", job->last.wid_a);
	if (job->last.wid_b != WIRE_WID_NONE)
		ctl_json_u64(json, "other_rank", job->last.wid_b);
	ctl_json_close(json);
}

/* The fields of a job, in an object that is open. */
static void jobs_fields(struct ctl_json *json, const struct lcore *lcore, const struct job *job)
{
	uint64_t silent = job_silent(job, lcore->now.now_ns, CTL_SILENT_NS);

	ctl_json_text(json, "name", job->name);
	ctl_json_text(json, "state", job->running ? "running" : "forming");
	ctl_json_u64(json, "ranks", job->world);
	ctl_json_u64(json, "first", job->range.first);
	ctl_json_u64(json, "nr", job->range.nr);
	ctl_json_bool(json, "tree", job->tree);
	ctl_json_u64(json, "epoch", job->epoch);
	ctl_json_u64(json, "chunk_bytes", job->lease_nr ? job->p : 0);
	ctl_json_u64(json, "slots", job->lease_nr);
	ctl_json_u64(json, "value_bytes", 2 * (uint64_t)job->lease_nr * job->stride);
	ctl_ranks(json, "joined", job, job->joined);
	if (job->running)
		ctl_range(json, "missing", (struct wire_range){ 0, 0 });
	else
		ctl_awaited(json, "missing", job);
	ctl_ranks(json, "left", job, job->left);
	ctl_ranks(json, "silent", job, silent & ~job->left);
	ctl_json_real(json, "heard_s", jobs_age_s(lcore, job_heard(job, UINT64_MAX)));
	jobs_cause(json, job);
}

void ctl_jobs(struct ctl_call *call)
{
	const struct lcore *lcore = &call->node->lcore;
	unsigned max = call->node->conf->jobs;
	struct ctl_json *json = &call->json;
	uint64_t i, end;

	if (!ctl_from(call, &i))
		return;
	if (i > max)
		i = max;
	end = i + JOBS_LOOKED_AT < max ? i + JOBS_LOOKED_AT : max;
	ctl_json_object(json, call->command);
	ctl_json_array(json, "jobs");
	for (; i < end && !ctl_is_full(call); i++) {
		const struct job *job = pipe_job(lcore->pipe, (unsigned)i);

		if (!job)
			continue;
		ctl_json_object(json, NULL);
		jobs_fields(json, lcore, job);
		ctl_json_close(json);
	}
	ctl_json_close(json);
	ctl_next(call, i < max, i);
	ctl_json_close(json);
}

static const struct job *jobs_find(struct ctl_call *call, const char *name)
{
	for (unsigned i = 0; i < call->node->conf->jobs; i++) {
		const struct job *job = pipe_job(call->node->lcore.pipe, i);

		if (job && strcmp(job->name, name) == 0)
			return job;
	}
	ctl_refuse(call, "there is no job \"%.64s\": tallyctl show jobs lists those there are",
		   name);
	return NULL;
}

static void jobs_member(struct ctl_json *json, const struct lcore *lcore, const struct job *job,
			unsigned i)
{
	const struct job_member *member = &job->members[i];

	ctl_json_object(json, NULL);
	ctl_json_u64(json, "first", member->range.first);
	ctl_json_u64(json, "last", (uint64_t)member->range.first + member->range.nr - 1);
	ctl_json_bool(json, "joined", job->joined >> i & 1);
	ctl_json_bool(json, "left", job->left >> i & 1);
	if (member->inc) {
		jobs_address(json, "address", &member->flow);
		ctl_json_u64(json, "udp_ports", member->nr_ports);
		ctl_json_u64(json, "port", lcore->ports[member->flow.port].port.spec.number);
		ctl_json_format(json, "incarnation", "%016llx", (unsigned long long)member->inc);
		ctl_json_real(json, "heard_s", jobs_age_s(lcore, member->heard_ns));
	}
	ctl_json_close(json);
}

void ctl_job(struct ctl_call *call)
{
	const struct job *job = jobs_find(call, call->params);
	const struct lcore *lcore = &call->node->lcore;
	struct ctl_json *json = &call->json;

	if (!job)
		return;
	ctl_json_object(json, call->command);
	jobs_fields(json, lcore, job);
	ctl_json_array(json, "members");
	for (unsigned i = 0; i < job->nr_members; i++)
		jobs_member(json, lcore, job, i);
	ctl_json_close(json);
	ctl_json_close(json);
}

static void jobs_cell(struct ctl_json *json, const struct lcore *lcore, const struct job *job,
		      const struct cell *cell)
{
	uint64_t have = cell->have & job->all;
	bool used = cell->epoch == job->epoch && cell->have;

	ctl_json_object(json, NULL);
	ctl_json_bool(json, "used", used);
	if (used) {
		ctl_json_u64(json, "round", cell->round);
		ctl_json_text(json, "kind", print_kind(cell->kind));
		ctl_json_u64(json, "bytes", cell->filled ? cell->len : 0);
		ctl_json_format(json, "descriptor", "%08x", cell->desc);
		ctl_operation(json, lcore->pipe, job, cell);
		ctl_json_bool(json, "complete", have == job->all);
		ctl_json_bool(json, "result", have == job->all && cell->done);
		ctl_ranks(json, "have", job, have);
		ctl_ranks(json, "missing", job, job->all & ~have);
		ctl_since(json, lcore, cell_begin_ns(cell, lcore->now.now_ns));
	}
	ctl_json_close(json);
}

void ctl_slot(struct ctl_call *call)
{
	const struct lcore *lcore = &call->node->lcore;
	struct ctl_json *json = &call->json;
	const struct slot *slot;
	const struct job *job;
	const char *name;
	uint64_t number;

	if (!ctl_number(call->params, &number, &name)) {
		ctl_refuse_words(call, "\"%.40s\" is not SLOT,NAME", call->params);
		return;
	}
	job = jobs_find(call, name);
	if (!job)
		return;
	slot = job->running && number < job->lease_nr
		       ? pipe_slot(lcore->pipe, job, (unsigned)number)
		       : NULL;
	if (!slot) {
		ctl_refuse(call, "job \"%.64s\" %s", name,
			   job->running ? "has no such slot" : "is not running: it has no slots");
		return;
	}
	ctl_json_object(json, call->command);
	ctl_json_text(json, "job", job->name);
	ctl_json_u64(json, "slot", number);
	ctl_json_text(json, "lane", number < WIRE_SE ? "E" : "D");
	ctl_json_array(json, "cells");
	for (unsigned i = 0; i < 2; i++)
		jobs_cell(json, lcore, job, &slot->cell[i]);
	ctl_json_close(json);
	ctl_json_close(json);
}
