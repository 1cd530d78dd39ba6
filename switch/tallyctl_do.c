// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_do.c - orders to a switch. */
#include "switch/tallyctl.h"

#include <string.h>
#include <time.h>

enum { DO_TRIES = 50, DO_AGAIN_NS = 100000000 /* between them */ };

/* 1: the epoch is over, 0: not yet, -1: it cannot be. */
static int do_reset(struct tallyctl *ctl, const char *name, unsigned long long epoch)
{
	json_t *answer = link_ask(&ctl->link, "/tally/reset,%llu,%s", epoch, name);
	int over = answer ? field_true(answer, "over") : -1;

	json_decref(answer);
	return over;
}

/* A leaf asks its parent, whose answer comes later; what is lost on the way is asked again. */
int reset_job(struct tallyctl *ctl, char **args)
{
	const struct timespec nap = { .tv_nsec = DO_AGAIN_NS };
	json_t *job = link_ask(&ctl->link, "/tally/job,%s", args[0]);
	unsigned long long epoch = field_u64(job, "epoch");
	bool running = strcmp(field_text(job, "state"), "running") == 0;
	int over = 0;

	if (!job)
		return -1;
	json_decref(job);
	if (!running) {
		fprintf(stderr, "tallyctl: job %s is not running: it waits for ranks to join\n",
			args[0]);
		return -1;
	}
	for (unsigned i = 0; i < DO_TRIES && over == 0; i++) {
		if (i)
			nanosleep(&nap, NULL);
		over = do_reset(ctl, args[0], epoch);
		/* Once it was accepted, a job or a switch that is gone has ended all right. */
		if (i && over < 0)
			over = 1;
		link_hush(true);
	}
	if (over == 0)
		fprintf(stderr,
			"tallyctl: job %s: the epoch goes on: does the switch's parent, if it has one, "
			"run?\n",
			args[0]);
	if (over <= 0)
		return -1;
	if (ctl->json)
		printf("{\"job_reset\": true, \"epoch\": %llu}\n", epoch);
	else
		printf("job %s: its epoch %llu is over; its ranks fail by name and may rejoin\n",
		       args[0], epoch);
	return 0;
}

int set_impair(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_ask(&ctl->link, "/tally/impair,%s:%s", args[0], args[1]);

	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	json_decref(answer);
	return show_impair(ctl, args + 2);
}

/* What packets met there so far: "12 lost, 3 delayed". */
static void do_counts(json_t *one, char text[TALLYCTL_TEXT])
{
	static const char *const no_counts[] = { "port", "dir", "active", "faults" };
	const char *key;
	json_t *value;
	size_t len = 0;

	strcpy(text, "-");
	json_object_foreach(one, key, value)
	{
		bool is_count = json_is_integer(value) && json_integer_value(value) > 0;

		for (size_t i = 0; i < sizeof(no_counts) / sizeof(no_counts[0]); i++)
			is_count = is_count && strcmp(key, no_counts[i]) != 0;
		if (is_count && len + 64 < TALLYCTL_TEXT)
			len += (size_t)snprintf(text + len, TALLYCTL_TEXT - len, "%s%lld %.40s",
						len ? ", " : "",
						(long long)json_integer_value(value), key);
	}
}

int show_impair(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_list(&ctl->link, "/tally/impairments", "impairments", NULL), *one;
	char text[TALLYCTL_TEXT], faults[TALLYCTL_TEXT];
	struct table table;
	size_t i;

	(void)args;
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	table_start(&table, ">port|dir|faults|met so far");
	json_array_foreach(json_object_get(answer, "impairments"), i, one)
	{
		do_counts(one, text);
		if (!field_true(one, "active") && strcmp(text, "-") == 0)
			continue;
		table_cell(&table, "%llu", field_u64(one, "port"));
		table_cell(&table, "%s", field_text(one, "dir"));
		field_faults(one, faults);
		table_cell(&table, "%s", faults);
		table_cell(&table, "%s", text);
	}
	table_end(&table, "no port has faults on purpose");
	json_decref(answer);
	return 0;
}
