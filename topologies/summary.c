// SPDX-License-Identifier: BSD-3-Clause
// The tables at the end of a run, and its exit code.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "topologies/result.h"
#include "topologies/runner.h"
#include "topologies/say.h"

enum { EXIT_TIMEOUT = 124 /* as of timeout(1) */ };

double summary_cpu_s(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static int job_width(const struct topology *t)
{
	size_t width = strlen("job");

	for (unsigned int i = 0; i < t->nr_jobs; i++)
		if (strlen(t->job[i].name) > width)
			width = strlen(t->job[i].name);
	return (int)width;
}

static void ranks_print(FILE *out, const struct runner *r)
{
	int width = job_width(r->options->topology);

	fprintf(out, "\n%-*s  rank  %-15s  exit    wall s     cpu s\n", width, "job", "host");
	for (unsigned int i = 0; i < r->nr_ranks; i++) {
		const struct runner_rank *k = &r->rank[i];

		fprintf(out, "%-*s  %4u  %-15s  %4d  %8.2f  %8.2f\n", width, k->job->name, k->rank,
			k->node->name, program_code(k->program.status),
			k->program.end_s - k->program.start_s, summary_cpu_s(&k->program.usage));
	}
}

static bool switch_is_clean(const struct runner_switch *sw)
{
	return !sw->lost && !sw->killed && program_code(sw->program.status) == 0;
}

// Totals are what it printed after it was asked to end.
static void switch_print(FILE *out, struct runner_switch *sw)
{
	fprintf(out, "\nswitch %s:\n", sw->node->name);
	for (unsigned int i = switchlog_first(&sw->log, sw->log.mark);
	     sw->stopping && i < sw->log.nr; i++)
		if (!sw->lost && *switchlog_get(&sw->log, i)->text)
			fprintf(out, "  %s\n", switchlog_get(&sw->log, i)->text);
	if (sw->nr_restarts)
		fprintf(out, "  started again %u time%s\n", sw->nr_restarts,
			sw->nr_restarts == 1 ? "" : "s");
	if (!switch_is_clean(sw))
		fprintf(out, "  %s%s\n", program_describe(sw->program.status).text,
			sw->lost     ? " while the ranks were running"
			: sw->killed ? ": it did not end when asked to"
				     : "");
	fprintf(out, "  cpu %.2f s\n", summary_cpu_s(&sw->program.usage));
}

void summary_tables(FILE *out, struct runner *r)
{
	ranks_print(out, r);
	for (unsigned int i = 0; i < r->nr_switches; i++)
		switch_print(out, &r->sw[i]);
}

int summary_print(struct runner *r)
{
	int worst = 0, code;
	bool clean = true;

	for (unsigned int i = 0; i < r->nr_ranks; i++) {
		// how one ends that is told to says nothing
		code = r->rank[i].given_up || r->rank[i].stopped
			       ? 0
			       : program_code(r->rank[i].program.status);
		worst = code > worst ? code : worst;
	}
	if (!worst && r->timed_out)
		worst = EXIT_TIMEOUT;
	for (unsigned int i = 0; i < r->nr_switches; i++)
		clean = clean && switch_is_clean(&r->sw[i]);
	if (!worst && (r->failed || !clean))
		worst = 1;
	if (r->nr_interrupts && (!worst || !r->nr_ranks))
		worst = 128 + SIGINT;
	if (r->screen.unread)
		worst = 128 + SIGPIPE;
	if (r->options->shell_host)
		return r->nr_ranks && !r->timed_out ? program_code(r->rank[0].program.status)
						    : worst;
	if (!r->nr_ranks) // nothing was run, and that was said
		return worst;
	summary_tables(stdout, r);
	if (fflush(stdout) || ferror(stdout)) {
		say_error("standard output could not be written");
		return worst ? worst : 1;
	}
	return worst;
}

void summary_record(struct runner *r, int code)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (r->options->shell_host)
		return;
	out = open_memstream(&text, &len);
	if (out && r->nr_ranks)
		summary_tables(out, r);
	else if (out)
		fputs("no rank was started\n", out);
	if (!out || fclose(out))
		say_error("not enough memory for result.txt");
	else
		(void)result_write(&r->options->record, text, len, code);
	free(text);
}
