// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a run: their environment, output and end.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topologies/runner.h"
#include "topologies/say.h"

static const double host_command_s = 10;

// Rank 0 speaks for the job: what it prints, such as a table, stays as it is.
static void rank_pass_out(struct stream *s, const char *text, size_t len)
{
	struct runner_rank *k = s->owner;

	runner_speak(k, text, len);
	runner_page_text(k, text, len);
}

// Whatever rank of whatever job it is then has to be said.
static bool rank_is_one_of_many(const struct runner_rank *k)
{
	return k->rank || k->runner->options->topology->nr_jobs > 1;
}

static void rank_pass_err(struct stream *s, const char *text, size_t len)
{
	struct runner_rank *k = s->owner;

	if (!rank_is_one_of_many(k))
		screen_pass(&k->runner->screen, STDERR_FILENO, text, len);
}

void runner_rank_name(const struct runner_rank *k, char *name, size_t size)
{
	snprintf(name, size, "%s-%u", k->job ? k->job->name : "shell", k->rank);
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '_';
}

static void rank_log(const struct runner_rank *k, const char *line)
{
	char name[RUNNER_LABEL];

	if (!k->runner->options->record.whole)
		return;
	runner_rank_name(k, name, sizeof(name));
	record_log(&k->runner->options->record, name, line);
}

static void rank_line_out(struct stream *s, const char *line)
{
	struct runner_rank *k = s->owner;

	rank_log(k, line);
	if (k->rank && k->runner->options->verbose)
		screen_line(&k->runner->screen, STDOUT_FILENO, k->prefix, line);
}

static void rank_line_err(struct stream *s, const char *line)
{
	struct runner_rank *k = s->owner;

	rank_log(k, line);
	if (rank_is_one_of_many(k))
		screen_line(&k->runner->screen, STDERR_FILENO, k->prefix, line);
}

static void rank_describe(struct runner *r, struct runner_rank *k)
{
	const char *job = r->options->topology->nr_jobs > 1 ? k->job->name : "",
		   *space = *job ? " " : "";

	snprintf(k->label, sizeof(k->label), "%s%srank %u on %s", job, space, k->rank,
		 k->node->name);
	snprintf(k->prefix, sizeof(k->prefix), "[%s %s%srank %u] ", k->node->name, job, space,
		 k->rank);
}

// Whoever is there starts it, with what it would find here.
static int rank_outside_say(struct runner *r, const struct topology_job *j, unsigned int rank)
{
	const struct topology *t = r->options->topology;
	const struct topology_node *n = &t->node[j->rank_node[rank]];
	struct topology_ranges ranges = topology_ranges(t, j, rank);
	struct fabric_ip own = fabric_ip(n), ip = fabric_ip(&t->node[n->parent]);
	static char command[RUNNER_COMMAND]; // a stack may be small
	char more[64] = "";

	if (topology_job_command(t, j, command, sizeof(command)))
		return say_error("the command of job %s is longer than %d bytes", j->name,
				 RUNNER_COMMAND - 1);
	if (*ranges.text)
		snprintf(more, sizeof(more), "TALLY_RANGES=%s ", ranges.text);
	say_line("start rank %u of job %s yourself at %s, with the address %s/%u:\n"
		 "  TALLY_SWITCH=%s %sTALLY_JOB=%s TALLY_RANK=%u TALLY_SIZE=%u %s",
		 rank, j->name, n->name, own.text, n->prefix, ip.text, more, j->name, rank,
		 j->ranks.nr, command + (strncmp(command, "exec ", 5) == 0 ? 5 : 0));
	return 0;
}

int runner_rank_start(struct runner *r, const struct topology_job *j, unsigned int rank)
{
	const struct topology *t = r->options->topology;
	struct topology_ranges ranges = topology_ranges(t, j, rank);
	struct fabric_ip ip;
	struct runner_rank *k = &r->rank[r->nr_ranks];
	char command[RUNNER_COMMAND], rank_text[16], size_text[16], sh[] = "/bin/sh", c[] = "-c";
	char *argv[] = { sh, c, command, NULL };
	struct program_plan plan = { .ns = &r->fabric.node[j->rank_node[rank]], .argv = argv };

	if (t->node[j->rank_node[rank]].outside)
		return rank_outside_say(r, j, rank);
	*k = (struct runner_rank){ .runner = r, .job = j, .rank = rank };
	k->node = &t->node[j->rank_node[rank]];
	ip = fabric_ip(&t->node[k->node->parent]);
	rank_describe(r, k);
	k->program.out = (struct stream){ .pass = rank ? NULL : rank_pass_out,
					  .line_end = rank_line_out,
					  .owner = k };
	k->program.err = (struct stream){ .pass = rank ? NULL : rank_pass_err,
					  .line_end = rank_line_err,
					  .owner = k };
	if (topology_job_command(t, j, command, sizeof(command)))
		return say_error("the command of job %s is longer than %d bytes", j->name,
				 RUNNER_COMMAND - 1);
	snprintf(rank_text, sizeof(rank_text), "%u", rank);
	snprintf(size_text, sizeof(size_text), "%u", j->ranks.nr);
	program_plan_env(&plan, "TALLY_SWITCH", ip.text);
	if (*ranges.text)
		program_plan_env(&plan, "TALLY_RANGES", ranges.text);
	program_plan_env(&plan, "TALLY_JOB", j->name);
	program_plan_env(&plan, "TALLY_RANK", rank_text);
	program_plan_env(&plan, "TALLY_SIZE", size_text);
	program_plan_env(&plan, "FABRIC_HOST", k->node->name); // TALLY_* names belong to libtally
	for (unsigned int i = 0; i < j->nr_env; i++)
		program_plan_env(&plan, j->env[i].key, j->env[i].value);
	if (runner_page_rank(r, k, &plan, command, sizeof(command)) ||
	    program_start(&k->program, &plan))
		return -1;
	k->group = k->program.pid;
	r->nr_ranks++;
	return 0;
}

static int shell_start(struct runner *r)
{
	const struct runner_options *o = r->options;
	int i = topology_node_find(o->topology, o->shell_host, strlen(o->shell_host));
	struct runner_rank *k = &r->rank[0];
	struct program_plan plan = { .ns = &r->fabric.node[i], .argv = o->shell_argv };
	struct fabric_ip ip;

	*k = (struct runner_rank){ .runner = r, .node = &o->topology->node[i] };
	k->program.out = (struct stream){ .fd = -1, .line_end = rank_line_out, .owner = k };
	k->program.err = (struct stream){ .fd = -1, .line_end = rank_line_err, .owner = k };
	plan.interactive = true;
	ip = fabric_ip(&o->topology->node[k->node->parent]);
	program_plan_env(&plan, "TALLY_SWITCH", ip.text);
	program_plan_env(&plan, "FABRIC_HOST", k->node->name);
	if (program_start(&k->program, &plan))
		return -1;
	k->group = k->program.pid;
	r->nr_ranks++;
	return 0;
}

// Routes and the like.  A failure is said, but is no reason not to try the jobs.
static void host_commands_run(struct runner *r)
{
	const struct topology *t = r->options->topology;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		for (unsigned int k = 0; k < t->node[i].commands.nr; k++) {
			static char command[RUNNER_COMMAND]; // likewise
			char sh[] = "/bin/sh", c[] = "-c";
			char *argv[] = { sh, c, command, NULL };
			struct program_plan plan = { .ns = &r->fabric.node[i], .argv = argv };
			int code, len = snprintf(command, sizeof(command), "%s",
						 t->node[i].commands.item[k]);

			if ((size_t)len >= sizeof(command)) {
				screen_say(&r->screen,
					   "%s: a command longer than %d bytes is not run",
					   t->node[i].name, RUNNER_COMMAND - 1);
				continue;
			}
			code = program_run(&plan, host_command_s);
			if (code)
				screen_say(&r->screen, "%s: '%s' %s (%d)", t->node[i].name, command,
					   code < 0 ? "did not end in 10 s" : "failed", code);
		}
	}
}

int runner_ranks_start(struct runner *r)
{
	host_commands_run(r);
	r->begin_s = clock_s();
	if (r->options->timeout_s > 0)
		r->deadline_s = r->begin_s + r->options->timeout_s;
	if (r->options->shell_host)
		return shell_start(r);
	return runner_jobs_start(r);
}

void runner_rank_ended(struct runner *r, struct runner_rank *k)
{
	stream_finish(&k->program.out);
	stream_finish(&k->program.err);
	runner_speak_end(k);
	if (!k->job || k->stopped || program_code(k->program.status) == 0)
		return;
	// What it said of it is on the screen already.
	screen_say(&r->screen, "%s %s%s", k->label, program_describe(k->program.status).text,
		   k->given_up ? " as its time was up" : "");
	runner_failure(r);
}

unsigned int runner_ranks_alive(const struct runner *r)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->nr_ranks; i++)
		nr += r->rank[i].program.pid != 0;
	return nr;
}

void runner_ranks_signal(struct runner *r, int sig)
{
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		program_signal(&r->rank[i].program, sig);
}
