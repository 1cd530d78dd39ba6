// SPDX-License-Identifier: BSD-3-Clause
// A page about a run: what the fabrics put into it, and the file, which is there whole or not at all.
#include "topologies/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "switch/io/outfile.h"
#include "topologies/say.h"

enum { REPORT_PATH = 4096, REPORT_SHOWN = 1000 };

int report_open(struct report *report, struct topology *t)
{
	char path[REPORT_PATH];

	report->topology = t;
	if (!report->dir)
		return 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/report.html.XXXXXX", report->dir) >=
	    sizeof(path))
		return say_error("--report: the name of the directory is longer than %d bytes",
				 REPORT_PATH - 20);
	if (mkdir(report->dir, 0777) && errno != EEXIST)
		return say_error("--report %s: %s", report->dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/.", report->dir); // it may be a file
	if (access(path, W_OK | X_OK))
		return say_error("--report %s: %s", report->dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/report.html", report->dir);
	if (topology_reads(t, path))
		return say_error("--report %s: report.html there is the topology that is read: name "
				 "another directory",
				 report->dir);
	// What another run left would be taken for this one's, if this one comes to no page.
	if (unlink(path) && errno != ENOENT)
		return say_error("--report %s: the page of an earlier run cannot be removed: %s",
				 path, strerror(errno));
	return 0;
}

int report_ranks(struct report *report)
{
	const struct topology *t = report->topology;
	unsigned int nr = 0;

	for (unsigned int j = 0; j < t->nr_jobs; j++)
		nr += t->job[j].ranks.nr;
	report->rank = calloc(nr, sizeof(*report->rank));
	if (!report->rank)
		return say_error("not enough memory");
	for (unsigned int j = 0; j < t->nr_jobs; j++)
		for (unsigned int k = 0; k < t->job[j].ranks.nr; k++)
			report->rank[report->nr_ranks++] = (struct report_rank){
				.job = &t->job[j],
				.rank = k,
				.node = &t->node[t->job[j].rank_node[k]],
				.cpu_s = -1,
				.history_fd = -1,
			};
	return 0;
}

static struct report_text *text_of(struct report *report, const char *title)
{
	struct report_text *to;

	for (unsigned int i = 0; i < report->nr_texts; i++)
		if (strcmp(report->text[i].title, title) == 0)
			return &report->text[i];
	if (report->nr_texts == REPORT_TEXTS)
		return NULL;
	to = &report->text[report->nr_texts++];
	snprintf(to->title, sizeof(to->title), "%s", title);
	return to;
}

void report_text(struct report *report, const char *title, const char *text, size_t len)
{
	struct report_text *to = report->dir && len ? text_of(report, title) : NULL;
	char *more;

	if (!to || to->cut)
		return;
	to->cut = len > REPORT_TEXT_MAX - to->len;
	len = to->cut ? REPORT_TEXT_MAX - to->len : len;
	more = realloc(to->text, to->len + len + 1);
	if (!more) {
		to->cut = true;
		return;
	}
	memcpy(more + to->len, text, len);
	to->text = more;
	to->len += len;
	to->text[to->len] = 0;
}

void report_machine(struct report *report)
{
	struct utsname name;

	if (uname(&name) == 0)
		snprintf(report->machine, sizeof(report->machine), "%s %s %s, %ld CPUs",
			 name.sysname, name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN));
}

void report_rank_learn(struct report_rank *rank)
{
	const struct perf_point *last = &rank->history.last;

	rank->known = true;
	rank->elements_s = perf_history_speed(&rank->history);
	rank->sent = last->sent;
	rank->again = last->again;
	rank->received = last->received;
	rank->rtt_ns = last->rtt_ns;
	rank->window = last->window;
	rank->chunk = rank->history.chunk;
}

/* What processes have written of themselves. */
static void histories_read(struct report *report)
{
	for (unsigned int i = 0; i < report->nr_ranks; i++) {
		struct report_rank *rank = &report->rank[i];
		FILE *file;

		if (rank->history_fd < 0)
			continue;
		file = lseek(rank->history_fd, 0, SEEK_SET) == 0 ? fdopen(rank->history_fd, "r")
								 : NULL;
		if (file && perf_history_read(&rank->history, file) == 0)
			report_rank_learn(rank);
		if (file)
			fclose(file);
		else
			close(rank->history_fd);
		rank->history_fd = -1;
	}
}

/* Its mode is that of any new file. */
static FILE *part_open(char path[REPORT_PATH], const char *dir)
{
	const mode_t mask = umask(0);
	int fd;

	umask(mask);
	snprintf(path, REPORT_PATH, "%s/report.html.XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	(void)fchmod(fd, 0666 & ~mask);
	return fdopen(fd, "w");
}

static int page_fail(const struct report *report, int why)
{
	say_error("%s/report.html: %s: there is no page of this run", report->dir,
		  outfile_error(why));
	return -1;
}

static int page_write(const struct report *report, int code)
{
	char part[REPORT_PATH], path[REPORT_PATH];
	FILE *out = part_open(part, report->dir);
	int why;

	if (!out)
		return page_fail(report, errno);
	errno = 0;
	report_page(report, code, out);
	why = fflush(out) || ferror(out) ? errno ? errno : EIO : 0;
	if (fclose(out) && !why)
		why = errno;
	snprintf(path, sizeof(path), "%s/report.html", report->dir);
	if (!why && rename(part, path))
		why = errno;
	if (!why)
		return 0;
	(void)unlink(part);
	return page_fail(report, why);
}

int report_write(struct report *report, int code)
{
	int rc;

	if (!report->dir)
		return code;
	histories_read(report);
	report->sampled = !report->timeline.nr;
	rc = report->sampled ? report_timeline_make(report) : 0;
	report_timeline_thin(&report->timeline, REPORT_SHOWN);
	if (rc == 0)
		rc = page_write(report, code);
	fflush(stdout);
	if (rc == 0)
		say_line("report: %s/report.html", report->dir);
	return rc && !code ? 1 : code;
}

void report_free(struct report *report)
{
	for (unsigned int i = 0; i < report->nr_ranks; i++) {
		perf_history_free(&report->rank[i].history);
		if (report->rank[i].history_fd >= 0)
			close(report->rank[i].history_fd);
	}
	for (unsigned int i = 0; i < report->nr_texts; i++)
		free(report->text[i].text);
	sim_timeline_free(&report->timeline);
	free(report->rank);
	report->rank = NULL;
	report->nr_ranks = report->nr_texts = 0;
}
