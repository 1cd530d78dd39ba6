// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_drain.c - a switch that takes no new jobs: until it has none any more. */
#include "switch/tallyctl.h"

#include <string.h>
#include <time.h>

enum {
	DRAIN_EVERY_NS = 200000000,
	DRAIN_DEAD_S = 10 /* ranks that want to join ask all the time */
};

static int drain_order(struct tallyctl *ctl, const char *how)
{
	json_t *answer = link_ask(&ctl->link, "/tally/drain,%s", how);
	int rc = answer ? 0 : -1;

	json_decref(answer);
	return rc;
}

/* Jobs that somebody is in, as "sgd, eval"; ghosts that form and of which nobody is heard are none. */
static unsigned drain_jobs(const json_t *jobs, char text[TALLYCTL_TEXT])
{
	const json_t *job;
	unsigned nr = 0;
	size_t i, len;

	text[0] = '\0';
	json_array_foreach(jobs, i, job)
	{
		if (strcmp(field_text(job, "state"), "forming") == 0 &&
		    field_real(job, "heard_s") > DRAIN_DEAD_S)
			continue;
		len = strlen(text);
		if (len + 80 < TALLYCTL_TEXT)
			snprintf(text + len, TALLYCTL_TEXT - len, "%s%.64s", nr ? ", " : "",
				 field_text(job, "name"));
		else if (len + 4 < TALLYCTL_TEXT && strcmp(text + len - 3, "...") != 0)
			strcpy(text + len, "...");
		nr++;
	}
	table_clean(text);
	return nr;
}

/* Whenever others are there than before; *nr of them. */
static int drain_look(struct tallyctl *ctl, char said[TALLYCTL_TEXT], unsigned *nr)
{
	json_t *answer = link_list(&ctl->link, "/tally/jobs", "jobs", NULL);
	char text[TALLYCTL_TEXT];

	if (!answer)
		return -1;
	*nr = drain_jobs(json_object_get(answer, "jobs"), text);
	json_decref(answer);
	if (*nr && strcmp(text, said) != 0 && !ctl->json) {
		printf("waiting for %u job%s: %s\n", *nr, *nr == 1 ? "" : "s", text);
		fflush(stdout);
	}
	strcpy(said, text);
	return 0;
}

int drain(struct tallyctl *ctl, char **args)
{
	const struct timespec nap = { .tv_nsec = DRAIN_EVERY_NS };
	bool off = args[0] && strcmp(args[0], "off") == 0;
	char said[TALLYCTL_TEXT] = "";
	unsigned nr = 0;
	int rc;

	if (args[0] && !off) {
		fprintf(stderr, "tallyctl: drain %s: want off, or nothing more\n", args[0]);
		return TALLYCTL_USAGE;
	}
	rc = drain_order(ctl, off ? "off" : "on");
	if (rc == 0 && off && !ctl->json)
		printf("switch %s takes new jobs\n", ctl->link.name);
	if (rc || off)
		return rc;
	for (rc = drain_look(ctl, said, &nr); rc == 0 && nr; rc = drain_look(ctl, said, &nr))
		nanosleep(&nap, NULL);
	if (rc == 0 && ctl->json)
		printf("{\"drained\": true}\n");
	else if (rc == 0)
		printf("switch %s has no job any more, and takes none: it can be stopped\n",
		       ctl->link.name);
	return rc;
}
