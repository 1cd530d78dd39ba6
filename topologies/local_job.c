// SPDX-License-Identifier: BSD-3-Clause
// Ranks of a fabric in one process: what tally-perf does, with the options that a process would get.
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "host/venue.h"
#include "topologies/fabric.h"
#include "topologies/local.h"
#include "topologies/report.h"
#include "topologies/say.h"

enum { JOB_COMMAND = 8192, JOB_KEY = 64 };

/* The command of the netns fabric, without the shell's word. */
static int job_options(struct local_job *job)
{
	static const char shell[] = "exec ";
	char text[JOB_COMMAND], *first;
	int rc;

	if (topology_job_command(job->topology, job->job, text, sizeof(text)))
		return say_error("the workload of job %s is too long", job->job->name);
	if (wordexp(text + strlen(shell), &job->words, WRDE_NOCMD | WRDE_UNDEF))
		return say_error("the workload of job %s is no command", job->job->name);
	optind = 0; // from the beginning again
	first = job->words.we_wordv[0];
	rc = perf_options_parse(&job->options, (int)job->words.we_wordc, job->words.we_wordv);
	job->words.we_wordv[0] = first; // which is another's name now, and not to be freed
	return rc == 0 ? 0 : -1;
}

static ssize_t both_write(void *context, const char *text, size_t len)
{
	struct local_job *job = context;

	fwrite(text, 1, len, job->kept);
	fflush(job->kept);
	fwrite(text, 1, len, stdout);
	fflush(stdout); // its errors are found at the end of the program
	return (ssize_t)len;
}

static int job_out(struct local_job *job, bool live, bool kept)
{
	const cookie_io_functions_t both = { .write = both_write };

	job->out = stdout;
	if (live && !kept)
		return 0;
	job->out = open_memstream(&job->text, &job->text_len);
	if (!live)
		return job->out ? 0 : -1;
	job->kept = job->out;
	job->out = job->kept ? fopencookie(job, "w", both) : NULL;
	return job->out ? 0 : -1;
}

int local_job_open(struct local_job *job, const struct topology *t, const struct topology_job *of,
		   uint64_t (*clock)(void), enum local_out out)
{
	*job = (struct local_job){ .topology = t, .job = of };
	if (job_options(job))
		return -1;
	/* Tables of several jobs do not mix. */
	if (job_out(job, out != LOCAL_LATER && t->nr_jobs == 1, out == LOCAL_KEPT))
		return say_error("not enough memory");
	job->options.out = job->out;
	job->options.clock = clock;
	job->options.pause = venue.pause;
	return 0;
}

void local_job_print(struct local_job *job)
{
	if (job->out == stdout || job->kept)
		return;
	fflush(job->out);
	if (job->topology->nr_jobs > 1)
		printf("\njob %s:\n", job->job->name);
	fwrite(job->text, 1, job->text_len, stdout);
}

void local_job_report(struct local_job *job, struct report *report)
{
	char title[TOPOLOGY_JOB_NAME_MAX + 16];

	if (job->out == stdout)
		return;
	fflush(job->out);
	snprintf(title, sizeof(title), "rank 0 of job %s", job->job->name);
	report_text(report, title, job->text, job->text_len);
}

void local_job_say_stopped(const struct topology_job *job, unsigned int nr)
{
	say_line("job %s is ended after %g s, as the file says: %u of %u ranks ran", job->name,
		 (double)job->stop_ns / 1e9, nr, job->ranks.nr);
}

void local_job_close(struct local_job *job)
{
	if (job->out && job->out != stdout)
		fclose(job->out);
	if (job->kept)
		fclose(job->kept);
	free(job->text);
	wordfree(&job->words);
	*job = (struct local_job){ .out = NULL };
}

static int rank_fail(struct local_rank *rank, const char *text)
{
	snprintf(rank->why, sizeof(rank->why), "%s", text);
	return -1;
}

static int rank_set(struct local_rank *rank, tally_config_t *config, const char *key,
		    const char *value)
{
	if (tally_config_set(config, key, value) == TALLY_OK)
		return 0;
	return rank_fail(rank, tally_last_error(NULL));
}

static int rank_set_number(struct local_rank *rank, tally_config_t *config, const char *key,
			   unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return rank_set(rank, config, key, text);
}

/* TALLY_WINDOW is the library's window; other variables are of no use here. */
static int rank_set_env(struct local_rank *rank, tally_config_t *config)
{
	static const char prefix[] = "TALLY_";
	const struct topology_job *j = rank->job->job;

	for (unsigned int i = 0; i < j->nr_env; i++) {
		const char *name = j->env[i].key;
		char key[JOB_KEY];
		size_t n = 0;

		if (strncmp(name, prefix, strlen(prefix)) != 0)
			continue;
		for (name += strlen(prefix); name[n] && n + 1 < sizeof(key); n++)
			key[n] = (char)tolower((unsigned char)name[n]);
		key[n] = 0;
		if (rank_set(rank, config, key, j->env[i].value))
			return -1;
	}
	return 0;
}

static int rank_configure(struct local_rank *rank, tally_config_t *config)
{
	const struct topology *t = rank->job->topology;
	const struct topology_job *j = rank->job->job;
	const struct topology_ranges ranges = topology_ranges(t, j, rank->rank);

	if (rank_set(rank, config, "job", j->name) ||
	    rank_set(rank, config, "switch", fabric_ip(&t->node[rank->node->parent]).text) ||
	    rank_set(rank, config, "transport", "udp") ||
	    rank_set_number(rank, config, "rank", rank->rank) ||
	    rank_set_number(rank, config, "size", j->ranks.nr) ||
	    (ranges.text[0] && rank_set(rank, config, "ranges", ranges.text)))
		return -1;
	return rank_set_env(rank, config);
}

static int rank_open(struct local_rank *rank, tally_config_t *config)
{
	if (rank_configure(rank, config))
		return -1;
	if (tally_open(&rank->perf.comm, config) != TALLY_OK)
		return rank_fail(rank, tally_last_error(NULL));
	rank->perf.options = &rank->job->options;
	rank->perf.wire = perf_wire(&rank->job->options, config);
	return 0;
}

int local_rank_open(struct local_rank *rank)
{
	tally_config_t *config = NULL;

	rank->result = tally_config_new(&config) == TALLY_OK ? rank_open(rank, config)
							     : rank_fail(rank, "out of memory");
	tally_config_free(config);
	rank->opened = rank->result == 0;
	return rank->result;
}

void local_rank_work(struct local_rank *rank)
{
	rank->result = perf_run_rank(&rank->perf);
	if (atomic_load(&rank->job->options.stopped))
		rank->result = 0; // whatever it was in the middle of
	rank->stats.size = sizeof(rank->stats);
	(void)tally_get_stats(rank->perf.comm, &rank->stats);
}

void local_rank_close(struct local_rank *rank)
{
	tally_close(rank->perf.comm);
	rank->perf.comm = NULL;
}
