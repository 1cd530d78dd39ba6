// SPDX-License-Identifier: BSD-3-Clause
/* log.c - what the switch tells its user while it runs: lines on stderr, by level. */
#include "switch/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level log_max = LOG_WARN;

void log_level_set(enum log_level level)
{
	log_max = level;
}

enum log_level log_level_get(void)
{
	return log_max;
}

int log_level_parse(const char *name)
{
	static const char *const names[] = { "none", "warn", "info", "debug" };

	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	if (level > log_max || level == LOG_NONE)
		return;
	n = snprintf(line, sizeof(line), "tally-switch: ");
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n] = '\n';
	/* One write: lines of several programs do not mix. */
	(void)!write(STDERR_FILENO, line, (size_t)n + 1);
}
