// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_watch.c - once a second: what goes through the switch, and which jobs wait for whom. */
#include "switch/tallyctl_tree.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { WATCH_EVERY_MS = 1000 };

struct watch_sample {
	json_t *info, *ports, *jobs, *stalls, *long_stalls;
};

static void watch_free(struct watch_sample *sample)
{
	json_decref(sample->info);
	json_decref(sample->ports);
	json_decref(sample->jobs);
	json_decref(sample->stalls);
	json_decref(sample->long_stalls);
	*sample = (struct watch_sample){ 0 };
}

static bool watch_take(struct tallyctl *ctl, struct watch_sample *sample)
{
	sample->info = link_ask(&ctl->link, "/tally/info");
	sample->ports = sample->info ? link_list(&ctl->link, "/tally/ports", "ports", NULL) : NULL;
	sample->jobs = sample->ports ? link_list(&ctl->link, "/tally/jobs", "jobs", NULL) : NULL;
	sample->stalls = sample->jobs
				 ? link_list(&ctl->link, "/tally/stalls", "stalls", "4000000000")
				 : NULL;
	sample->long_stalls =
		sample->stalls ? link_list(&ctl->link, "/tally/stalls", "stalls", "1000") : NULL;
	if (sample->long_stalls)
		tree_complete(ctl, json_object_get(sample->long_stalls, "stalls"));
	return sample->long_stalls;
}

/* Per second; < 0: whatever counts anew has no rate yet. */
static double watch_rate(const json_t *now, const json_t *before, const char *key, double seconds)
{
	unsigned long long a = field_u64(before, key), b = field_u64(now, key);

	return before && b >= a && seconds > 0 ? (double)(b - a) / seconds : -1;
}

static void watch_cell(struct table *table, double rate, int decimals)
{
	if (rate < 0)
		table_cell(table, "-");
	else
		table_cell(table, "%.*f", decimals, rate);
}

static const json_t *watch_find(const json_t *list, const char *key, const json_t *like)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) if (json_equal(json_object_get(one, key),
							json_object_get(like, key))) return one;
	return NULL;
}

static void watch_ports(const struct watch_sample *now, const struct watch_sample *before,
			double seconds)
{
	const json_t *olds = json_object_get(before->ports, "ports"), *port, *old;
	struct table table;
	size_t i;

	table_start(&table, ">port|name|>rx/s|>tx/s|>rx MB/s|>tx MB/s|>tx drops/s|>rx missed/s");
	json_array_foreach(json_object_get(now->ports, "ports"), i, port)
	{
		old = watch_find(olds, "number", port);
		table_cell(&table, "%llu", field_u64(port, "number"));
		table_cell(&table, "%s", field_text(port, "name"));
		watch_cell(&table, watch_rate(port, old, "rx", seconds), 0);
		watch_cell(&table, watch_rate(port, old, "tx", seconds), 0);
		watch_cell(&table, watch_rate(port, old, "rx_bytes", seconds) / 1e6, 1);
		watch_cell(&table, watch_rate(port, old, "tx_bytes", seconds) / 1e6, 1);
		watch_cell(&table, watch_rate(port, old, "tx_dropped", seconds), 0);
		watch_cell(&table, watch_rate(port, old, "missed", seconds), 0);
	}
	table_end(&table, "nothing is there");
}

/* The oldest stall of a job says whom it waits for. */
static void watch_waits(const struct watch_sample *now, const char *job, char text[TALLYCTL_TEXT])
{
	const json_t *stall, *oldest = NULL;
	char age[TALLYCTL_TEXT];
	size_t i;

	json_array_foreach(json_object_get(now->long_stalls, "stalls"), i,
			   stall) if (strcmp(field_text(stall, "job"), job) == 0 &&
				      (!oldest ||
				       field_real(stall, "age_s") > field_real(oldest, "age_s")))
		oldest = stall;
	strcpy(text, "-");
	if (!oldest)
		return;
	stall_whom(oldest, text);
	age_text(field_real(oldest, "age_s"), age);
	snprintf(text + strlen(text), TALLYCTL_TEXT - strlen(text), ", for %.20s", age);
}

static void watch_jobs(const struct watch_sample *now, const struct watch_sample *before,
		       double seconds)
{
	const json_t *counts = json_object_get(now->stalls, "jobs"),
		     *olds = json_object_get(before->stalls, "jobs"), *job, *count;
	char text[TALLYCTL_TEXT];
	struct table table;
	double chunks;
	size_t i;

	table_start(&table, "job|state|>ranks|>chunks/s|>MB/s|>in flight|waits for");
	json_array_foreach(json_object_get(now->jobs, "jobs"), i, job)
	{
		const char *name = field_text(job, "name");

		count = json_object_get(counts, name);
		chunks = watch_rate(count, json_object_get(olds, name), "chunks", seconds);
		table_cell(&table, "%s", name);
		table_cell(&table, "%s", field_text(job, "state"));
		table_cell(&table, "%llu", field_u64(job, "ranks"));
		watch_cell(&table, chunks, 0);
		watch_cell(&table,
			   chunks < 0 ? -1 : chunks * (double)field_u64(job, "chunk_bytes") / 1e6,
			   1);
		table_cell(&table, "%llu", field_u64(count, "waiting"));
		watch_waits(now, name, text);
		table_cell(&table, "%s", text);
	}
	table_end(&table, "nothing is there");
}

static void watch_print(const struct tallyctl *ctl, const struct watch_sample *now,
			const struct watch_sample *before)
{
	double run_s = field_real(now->info, "run_s"),
	       seconds = before->info ? run_s - field_real(before->info, "run_s") : 0;
	char time[TALLYCTL_TEXT], age[TALLYCTL_TEXT];

	field_time(now->info, "wall_ms", time);
	age_text(run_s, age);
	if (isatty(STDOUT_FILENO))
		printf("\033[H\033[J");
	printf("%s  switch %s (pid %ld) running for %s", time, ctl->link.name, ctl->link.pid, age);
	if (seconds > 0)
		printf(", busy %.0f %%, %.0f packets/s, %.0f results/s",
		       100 * (field_real(now->info, "busy_s") - field_real(before->info, "busy_s")) /
			       seconds,
		       watch_rate(now->info, before->info, "rx", seconds),
		       watch_rate(now->info, before->info, "results", seconds));
	printf("\n\n");
	watch_ports(now, before, seconds);
	putchar('\n');
	if (json_array_size(json_object_get(now->jobs, "jobs")))
		watch_jobs(now, before, seconds);
	else
		printf("no job is here\n");
	putchar('\n');
}

/* False: whoever read the output has gone. */
static bool watch_pause(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	if (fflush(stdout) || ferror(stdout))
		return false;
	return poll(&out, 1, WATCH_EVERY_MS) == 0;
}

int watch(struct tallyctl *ctl, char **args)
{
	struct watch_sample now = { 0 }, before = { 0 };
	int rc = 0;

	(void)args;
	if (ctl->json) {
		fprintf(stderr, "tallyctl: watch has no --json: use show or metrics\n");
		return TALLYCTL_USAGE;
	}
	do {
		if (!watch_take(ctl, &now)) {
			rc = -1;
			break;
		}
		watch_print(ctl, &now, &before);
		watch_free(&before);
		before = now;
		now = (struct watch_sample){ 0 };
	} while (watch_pause());
	watch_free(&now);
	watch_free(&before);
	return rc;
}
