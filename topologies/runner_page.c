// SPDX-License-Identifier: BSD-3-Clause
// What a run in namespaces puts into the page about it: its ranks are programs, which leave what they counted.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "topologies/report.h"
#include "topologies/runner.h"
#include "topologies/say.h"

static struct report *page_of(const struct runner *r)
{
	struct report *report = r->options->report;

	return report && report->dir && !r->options->shell_host ? report : NULL;
}

int runner_page_begin(struct runner *r)
{
	struct report *report = page_of(r);

	return report ? report_ranks(report) : 0;
}

static struct report_rank *rank_find(struct report *report, const struct topology_job *job,
				     unsigned int rank)
{
	for (unsigned int i = 0; i < report->nr_ranks; i++)
		if (report->rank[i].job == job && report->rank[i].rank == rank)
			return &report->rank[i];
	return NULL;
}

int runner_page_rank(struct runner *r, const struct runner_rank *k, struct program_plan *plan,
		     char *command, size_t size)
{
	struct report *report = page_of(r);
	struct report_rank *to = report && !k->job->run ? rank_find(report, k->job, k->rank) : NULL;
	const size_t len = strlen(command);

	if (!to)
		return 0;
	to->history_fd = memfd_create("history", MFD_CLOEXEC);
	if (to->history_fd < 0)
		return say_error("--report: %s", say_errno(errno));
	if ((size_t)snprintf(command + len, size - len, " --history /proc/self/fd/%u",
			     PROGRAM_FD + plan->nr_pass) >= size - len)
		return say_error("--report: the command of job %s is too long", k->job->name);
	plan->pass[plan->nr_pass++] = to->history_fd;
	return 0;
}

void runner_page_text(const struct runner_rank *k, const char *text, size_t len)
{
	struct report *report = page_of(k->runner);
	char title[TOPOLOGY_JOB_NAME_MAX + 16];

	if (!report || !k->job)
		return;
	snprintf(title, sizeof(title), "rank 0 of job %s", k->job->name);
	report_text(report, title, text, len);
}

static void page_add_tables(struct report *report, struct runner *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out)
		summary_tables(out, r);
	if (out && fclose(out) == 0)
		report_text(report, "ranks and switches", text, len);
	free(text);
}

int runner_page_write(struct runner *r, int code)
{
	struct report *report = page_of(r);

	if (!report || !r->nr_ranks)
		return code;
	report->fabric = r->options->udp ? "namespaces, a UDP socket for each switch"
					 : "namespaces, a packet port for each link of a switch";
	report->done = "From the start of its program to the end.";
	report_machine(report);
	for (unsigned int i = 0; i < r->nr_ranks; i++) {
		const struct runner_rank *k = &r->rank[i];
		struct report_rank *to = rank_find(report, k->job, k->rank);

		if (!to)
			continue;
		to->ran = k->program.ended;
		to->code = program_code(k->program.status);
		to->done_s = k->program.end_s - k->program.start_s;
		to->cpu_s = summary_cpu_s(&k->program.usage);
	}
	page_add_tables(report, r);
	return report_write(report, code);
}
