// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_stalls.c - who waits for whom, in which operation, since when: a table. */
#include "switch/tallyctl_tree.h"

#include <string.h>

#include "switch/quantity.h"

enum { STALLS_MIN_MS = 100 /* what waits for less is on its way */ };

/* Neighbouring slots that wait for the same ranks in the same operation make one line. */
struct stalls_line {
	char job[TALLYCTL_TEXT], whom[TALLYCTL_TEXT], operation[TALLYCTL_TEXT];
	const char *lane;
	unsigned long long first, last, round, last_round;
	double age_s;
	const json_t *oldest;
};

static void stalls_read(struct stalls_line *line, const json_t *stall)
{
	const json_t *operation = json_object_get(stall, "operation");

	*line = (struct stalls_line){
		.lane = field_text(stall, "lane"),
		.first = field_u64(stall, "slot"),
		.last = field_u64(stall, "slot"),
		.round = field_u64(stall, "round"),
		.last_round = field_u64(stall, "round"),
		.age_s = field_real(stall, "age_s"),
		.oldest = stall,
	};
	snprintf(line->job, sizeof(line->job), "%.200s", field_text(stall, "job"));
	stall_whom(stall, line->whom);
	if (strcmp(field_text(stall, "state"), "forming") == 0)
		strcpy(line->operation, "to join");
	else if (json_is_object(operation))
		snprintf(line->operation, sizeof(line->operation), "%.200s",
			 field_text(operation, "text"));
	else
		snprintf(line->operation, sizeof(line->operation), "descriptor %.16s",
			 field_text(stall, "descriptor"));
}

static bool stalls_join(struct stalls_line *line, const struct stalls_line *next)
{
	if (!*line->lane || strcmp(line->lane, next->lane) != 0 || next->first != line->last + 1 ||
	    strcmp(line->job, next->job) != 0 || strcmp(line->whom, next->whom) != 0 ||
	    strcmp(line->operation, next->operation) != 0)
		return false;
	line->last = next->last;
	if (next->round < line->round)
		line->round = next->round;
	if (next->last_round > line->last_round)
		line->last_round = next->last_round;
	if (next->age_s > line->age_s) {
		line->age_s = next->age_s;
		line->oldest = next->oldest;
	}
	return true;
}

static void stalls_span(struct table *table, unsigned long long first, unsigned long long last)
{
	if (first == last)
		table_cell(table, "%llu", first);
	else
		table_cell(table, "%llu-%llu", first, last);
}

static void stalls_row(struct table *table, const struct stalls_line *line)
{
	char text[TALLYCTL_TEXT];

	table_cell(table, "%s", line->job);
	table_cell(table, "%s", line->whom);
	table_cell(table, "%s", line->operation);
	if (*line->lane) {
		table_cell(table, "%s", line->lane);
		stalls_span(table, line->first, line->last);
		stalls_span(table, line->round, line->last_round);
	} else {
		for (unsigned i = 0; i < 3; i++)
			table_cell(table, "-");
	}
	field_time(line->oldest, "since_ms", text);
	table_cell(table, "%s", text);
	age_text(line->age_s, text);
	table_cell(table, "%s", text);
}

static void stalls_table(const json_t *stalls)
{
	struct stalls_line line = { .lane = "" }, next;
	struct table table;
	const json_t *stall;
	size_t i;

	table_start(&table, "job|waits for|operation|lane|slot|round|since|>for");
	json_array_foreach(stalls, i, stall)
	{
		stalls_read(&next, stall);
		if (line.oldest && stalls_join(&line, &next))
			continue;
		if (line.oldest)
			stalls_row(&table, &line);
		line = next;
	}
	if (line.oldest)
		stalls_row(&table, &line);
	table_end(&table, "nothing is there");
}

int show_stalls(struct tallyctl *ctl, char **args)
{
	static const struct quantity_unit units[] = {
		{ "", 0, 1 }, { "s", 0, 1 }, { "ms", -3, 1 }, { NULL, 0, 0 }
	};
	double seconds = STALLS_MIN_MS / 1e3;
	char ms[32], text[TALLYCTL_TEXT];
	json_t *answer;

	if (args[0] && (quantity_parse(args[0], units, &seconds) || seconds > 1e6)) {
		fprintf(stderr,
			"tallyctl: %s: is no number of seconds: want one up to 1000000, as 0.5\n",
			args[0]);
		return TALLYCTL_USAGE;
	}
	snprintf(ms, sizeof(ms), "%.0f", seconds * 1e3);
	answer = link_list(&ctl->link, "/tally/stalls", "stalls", ms);
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	tree_complete(ctl, json_object_get(answer, "stalls"));
	if (json_array_size(json_object_get(answer, "stalls"))) {
		stalls_table(json_object_get(answer, "stalls"));
	} else {
		age_text(seconds, text);
		printf("nothing has waited for %s or longer\n", text);
	}
	json_decref(answer);
	return 0;
}
