// SPDX-License-Identifier: BSD-3-Clause
// What ranks 0 print, so that it can be told of which of several jobs it is.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topologies/runner.h"

enum { KEPT_MAX = 1 << 18 }; // a table is smaller

static void speak(struct runner_rank *k, const char *text, size_t len)
{
	struct runner *r = k->runner;
	char heading[TOPOLOGY_JOB_NAME_MAX + 2];

	if (r->speaker != k) {
		snprintf(heading, sizeof(heading), "%s:", k->job->name);
		screen_line(&r->screen, STDOUT_FILENO, "\njob ", heading);
	}
	r->speaker = k;
	screen_pass(&r->screen, STDOUT_FILENO, text, len);
}

static int keep(struct runner_rank *k, const char *text, size_t len)
{
	char *more = k->kept_len + len > KEPT_MAX ? NULL : realloc(k->kept, k->kept_len + len);

	if (!more)
		return -1;
	memcpy(more + k->kept_len, text, len);
	k->kept = more;
	k->kept_len += len;
	return 0;
}

// A table comes in one piece; what a program of the user's prints is not held back.
void runner_speak(struct runner_rank *k, const char *text, size_t len)
{
	if (k->runner->options->topology->nr_jobs < 2) {
		screen_pass(&k->runner->screen, STDOUT_FILENO, text, len);
		return;
	}
	if (!k->job->run && keep(k, text, len) == 0)
		return;
	runner_speak_end(k);
	speak(k, text, len);
}

void runner_speak_end(struct runner_rank *k)
{
	if (k->kept_len)
		speak(k, k->kept, k->kept_len);
	free(k->kept);
	k->kept = NULL;
	k->kept_len = 0;
}
