// SPDX-License-Identifier: BSD-3-Clause
/* ctl_do.c - orders to a running switch: end an epoch, faults on purpose. */
#include <string.h>

#include "switch/ctl_jobs.h"
#include "switch/egress.h"
#include "switch/faults.h"
#include "switch/ingress.h"
#include "switch/node.h"
#include "switch/totals.h"

static const struct job *do_find(const struct node *node, const char *name)
{
	for (unsigned i = 0; i < node->conf->jobs; i++) {
		const struct job *job = pipe_job(node->lcore.pipe, i);

		if (job && strcmp(job->name, name) == 0)
			return job;
	}
	return NULL;
}

/*
 * The epoch named is over or it is not: whoever gave the order repeats it until it is, as a leaf's
 * question to its parent may be lost and a clock may have no epoch to give yet.
 */
void ctl_reset(struct ctl_call *call)
{
	struct lcore *lcore = &call->node->lcore;
	struct ctl_json *json = &call->json;
	const struct job *job;
	const char *name;
	uint64_t epoch;

	if (!ctl_number(call->params, &epoch, &name) || !*name) {
		ctl_refuse_words(call, "\"%.40s\" is not EPOCH,NAME", call->params);
		return;
	}
	if (!do_find(call->node, name)) {
		ctl_refuse(call,
			   "there is no job \"%.64s\": tallyctl show jobs lists those there are",
			   name);
		return;
	}
	journal_note(lcore->journal, lcore, "reset %llu %s", (unsigned long long)epoch, name);
	pipe_reset(lcore->pipe, name, epoch, &lcore->now);
	egress_status(lcore);
	egress_flush(lcore);
	job = do_find(call->node, name);
	ctl_json_object(json, call->command);
	ctl_json_bool(json, "over", !job || !job->running || job->epoch != epoch);
	ctl_json_bool(json, "asks_parent", pipe_is_leaf(lcore->pipe));
	ctl_json_close(json);
}

void ctl_drain(struct ctl_call *call)
{
	bool on = strcmp(call->params, "on") == 0;

	if (!on && strcmp(call->params, "off") != 0) {
		ctl_refuse_words(call, "\"%.40s\" is neither on nor off", call->params);
		return;
	}
	journal_note(call->node->lcore.journal, &call->node->lcore, "drain %s", call->params);
	pipe_drain(call->node->lcore.pipe, on);
	ctl_json_object(&call->json, call->command);
	ctl_json_bool(&call->json, "drains", on);
	ctl_json_close(&call->json);
}

void ctl_impair(struct ctl_call *call)
{
	struct lcore *lcore = &call->node->lcore;
	struct faults_change change;
	struct port_error err;

	if (faults_parse(&change, call->params, &err)) {
		ctl_refuse_words(call, "%s", err.text);
		return;
	}
	if (faults_apply(lcore, call->params, &err)) {
		ctl_refuse(call, "%s", err.text);
		return;
	}
	journal_note(lcore->journal, lcore, "impair %s", call->params);
	/* What need not wait any more goes before what comes now. */
	ingress_expire(lcore, false);
	egress_expire(lcore, false);
	egress_flush(lcore);
	ctl_json_object(&call->json, call->command);
	ctl_json_bool(&call->json, "done", true);
	ctl_json_close(&call->json);
}

static void do_direction(struct ctl_json *json, const struct lcore *lcore, unsigned port, bool out)
{
	const struct lcore_port *p = &lcore->ports[port];
	struct totals_fault list[TOTALS_FAULTS];
	char text[FAULTS_TEXT];

	faults_print(lcore, port, out, text, sizeof(text));
	totals_fault_list(out ? &p->out : &p->in, list);
	ctl_json_object(json, NULL);
	ctl_json_u64(json, "port", p->port.spec.number);
	ctl_json_text(json, "dir", out ? "out" : "in");
	ctl_json_bool(json, "active", (out ? &p->out : &p->in)->impair.active);
	ctl_json_text(json, "faults", text);
	for (unsigned i = 0; i < TOTALS_FAULTS; i++)
		ctl_json_u64(json, list[i].name, list[i].nr);
	ctl_json_close(json);
}

void ctl_impairments(struct ctl_call *call)
{
	const struct lcore *lcore = &call->node->lcore;
	uint64_t i;

	if (!ctl_from(call, &i))
		return;
	ctl_json_object(&call->json, call->command);
	ctl_json_array(&call->json, "impairments");
	for (; i < lcore->nr_ports && !ctl_is_full(call); i++) {
		do_direction(&call->json, lcore, (unsigned)i, false);
		do_direction(&call->json, lcore, (unsigned)i, true);
	}
	ctl_json_close(&call->json);
	ctl_next(call, i < lcore->nr_ports, i);
	ctl_json_close(&call->json);
}
