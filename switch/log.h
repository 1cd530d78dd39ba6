/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h - what the switch tells its user while it runs: lines on stderr, by level. */
#ifndef SWITCH_LOG_H
#define SWITCH_LOG_H

enum log_level { LOG_NONE, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_level_set(enum log_level level);
enum log_level log_level_get(void);
/* The level of that name, or -1. */
int log_level_parse(const char *name);

/* One line, with the program's name before it. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
