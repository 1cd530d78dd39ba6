// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_jobs.c - jobs, their members and their slots as tables. */
#include "switch/tallyctl.h"

#include <stdlib.h>
#include <string.h>

/* Why the epoch before ended: "a rank restarted (rank 2)". */
static void jobs_ended(const json_t *job, char text[TALLYCTL_TEXT])
{
	const json_t *ended = json_object_get(job, "ended");

	if (!ended)
		strcpy(text, "-");
	else if (json_object_get(ended, "rank"))
		snprintf(text, TALLYCTL_TEXT, "%.200s (rank %llu)", field_text(ended, "cause"),
			 field_u64(ended, "rank"));
	else
		snprintf(text, TALLYCTL_TEXT, "%.200s", field_text(ended, "cause"));
}

static void jobs_row(struct table *table, const json_t *job, const json_t *counts)
{
	char text[TALLYCTL_TEXT];

	table_cell(table, "%s", field_text(job, "name"));
	table_cell(table, "%s", field_text(job, "state"));
	table_cell(table, "%llu", field_u64(job, "ranks"));
	field_ranks(job, "missing", text);
	table_cell(table, "%s", text);
	field_ranks(job, "silent", text);
	table_cell(table, "%s", text);
	field_time(job, "epoch", text);
	table_cell(table, "%s", text);
	table_cell(table, "%llu", field_u64(job, "slots"));
	table_cell(table, "%llu", field_u64(job, "chunk_bytes"));
	table_cell(table, "%.1f", (double)field_u64(job, "value_bytes") / 1e6);
	table_cell(table, "%llu", field_u64(counts, "waiting"));
	age_text(field_real(job, "heard_s"), text);
	table_cell(table, "%s", text);
	jobs_ended(job, text);
	table_cell(table, "%s", text);
}

#define JOBS_HEADING                                                                               \
	"job|state|>ranks|missing|silent|epoch of|>slots|>chunk|>MB|>in flight|>heard before|"     \
	"last end"

/* Counts of slots come with the stalls, those of jobs that do not stall, too. */
int show_jobs(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_list(&ctl->link, "/tally/jobs", "jobs", NULL), *stalls, *job, *info;
	struct table table;
	size_t i;
	int rc;

	(void)args;
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	stalls = link_list(&ctl->link, "/tally/stalls", "stalls", "4000000000");
	table_start(&table, JOBS_HEADING);
	json_array_foreach(json_object_get(answer, "jobs"), i, job)
		jobs_row(&table, job,
			 json_object_get(json_object_get(stalls, "jobs"), field_text(job, "name")));
	table_end(&table, "no job is here");
	info = stalls ? link_ask(&ctl->link, "/tally/info") : NULL;
	if (field_true(info, "drains"))
		printf("\nno new jobs are taken (tallyctl drain off ends that)\n");
	rc = info ? 0 : -1;
	json_decref(info);
	json_decref(answer);
	json_decref(stalls);
	return rc;
}

static void jobs_member(struct table *table, const json_t *member)
{
	unsigned long long first = field_u64(member, "first"), last = field_u64(member, "last");
	char text[TALLYCTL_TEXT];

	if (first == last)
		table_cell(table, "%llu", first);
	else
		table_cell(table, "%llu-%llu", first, last);
	table_cell(table, "%s",
		   field_true(member, "left")	  ? "left"
		   : field_true(member, "joined") ? "joined"
						  : "missing");
	if (!*field_text(member, "address")) {
		for (unsigned i = 0; i < 4; i++)
			table_cell(table, "-");
		return;
	}
	table_cell(table, "%s", field_text(member, "address"));
	table_cell(table, "%llu", field_u64(member, "udp_ports"));
	table_cell(table, "%llu", field_u64(member, "port"));
	age_text(field_real(member, "heard_s"), text);
	table_cell(table, "%s", text);
}

int show_job(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_ask(&ctl->link, "/tally/job,%s", args[0]), *member;
	char text[TALLYCTL_TEXT];
	struct table table;
	size_t i;

	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	table_start(&table, JOBS_HEADING);
	jobs_row(&table, answer, NULL);
	/* Slots in flight are counted for all jobs alone. */
	free(table.cells[table.nr_cells - 3]);
	table.cells[table.nr_cells - 3] = strdup("-");
	table_end(&table, "nothing is there");
	field_ranks(answer, "left", text);
	printf("\nepoch %llu, left: %s\n\n", field_u64(answer, "epoch"), text);
	table_start(&table, field_true(answer, "tree")
				    ? ">ranks|state|leaf|>udp ports|>port|>heard before"
				    : ">rank|state|address|>udp ports|>port|>heard before");
	json_array_foreach(json_object_get(answer, "members"), i, member)
		jobs_member(&table, member);
	table_end(&table, "nothing is there");
	json_decref(answer);
	return 0;
}

static void jobs_cell(struct table *table, const json_t *cell)
{
	char text[TALLYCTL_TEXT];

	table_cell(table, "%llu", field_u64(cell, "round"));
	table_cell(table, "%s",
		   !field_true(cell, "complete") ? "waits"
		   : field_true(cell, "result")	 ? "result"
						 : "waits for the parent");
	field_ranks(cell, "have", text);
	table_cell(table, "%s", text);
	field_ranks(cell, "missing", text);
	table_cell(table, "%s", text);
	table_cell(table, "%s", field_text(cell, "kind"));
	table_cell(table, "%llu", field_u64(cell, "bytes"));
	if (json_is_object(json_object_get(cell, "operation")))
		table_cell(table, "%s", field_text(json_object_get(cell, "operation"), "text"));
	else
		table_cell(table, "descriptor %s", field_text(cell, "descriptor"));
	field_time(cell, "since_ms", text);
	table_cell(table, "%s", text);
	age_text(field_real(cell, "age_s"), text);
	table_cell(table, "%s", text);
}

int show_slot(struct tallyctl *ctl, char **args)
{
	json_t *answer, *cell;
	struct table table;
	size_t i;

	if (strspn(args[1], "0123456789") != strlen(args[1]) || !*args[1]) {
		fprintf(stderr, "tallyctl: %s: is no slot's number\n", args[1]);
		return TALLYCTL_USAGE;
	}
	answer = link_ask(&ctl->link, "/tally/slot,%s,%s", args[1], args[0]);
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	table_start(&table, ">round|state|have|missing|kind|>bytes|operation|began|>before");
	json_array_foreach(json_object_get(answer, "cells"), i, cell) if (field_true(cell, "used"))
		jobs_cell(&table, cell);
	printf("slot %llu, lane %s\n", field_u64(answer, "slot"), field_text(answer, "lane"));
	table_end(&table, "not used in this epoch");
	json_decref(answer);
	return 0;
}
