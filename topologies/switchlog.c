// SPDX-License-Identifier: BSD-3-Clause
// The last lines that a switch printed, and which of them are warnings.
#include "topologies/switchlog.h"

#include <stdio.h>
#include <string.h>

// Lines of the log name their level; what is on stderr without one comes from before the log was
// there.
static bool line_is_warning(const char *text, bool from_stderr)
{
	if (strstr(text, " WARN ") || strstr(text, " ERROR ") || strstr(text, "Sanitizer"))
		return true;
	if (strncmp(text, "tally-switch: ready,", strlen("tally-switch: ready,")) == 0)
		return false;
	return from_stderr && *text && !strstr(text, " INFO ") && !strstr(text, " TRACE ");
}

struct switchlog_line *switchlog_add(struct switchlog *l, const char *text, bool from_stderr)
{
	struct switchlog_line *line = &l->line[l->nr++ % SWITCHLOG_LINES];

	snprintf(line->text, sizeof(line->text), "%s", text);
	line->warning = line_is_warning(text, from_stderr);
	line->shown = false;
	return line;
}

unsigned int switchlog_first(const struct switchlog *l, unsigned int from)
{
	return l->nr - from > SWITCHLOG_LINES ? l->nr - SWITCHLOG_LINES : from;
}

struct switchlog_line *switchlog_get(struct switchlog *l, unsigned int i)
{
	return &l->line[i % SWITCHLOG_LINES];
}
