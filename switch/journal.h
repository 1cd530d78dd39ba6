/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * journal.h - what a capture cannot hold and a replay has to know: how the switch was set up, and what it was told
 * besides packets.
 *
 * DIR/switch.txt has a line for each: `key value`, and `at NS what` for what happened, NS since 1970.
 */
#ifndef SWITCH_JOURNAL_H
#define SWITCH_JOURNAL_H

#include <stdint.h>

#include "switch/core/pipe.h"
#include "switch/io/port.h"

#define JOURNAL_FILE "switch.txt"
#define JOURNAL_TITLE "tally-switch capture 1"
/* A line of a switch that came to nothing. */
#define JOURNAL_UNBEGUN "never served: the run ended before; what was printed says why"

struct lcore;
struct journal;

/* Makes the file; NULL and *err. */
struct journal *journal_open(const char *dir, struct port_error *err);
/* How the switch was set up; once, when everything is open.  suffix: of the capture files. */
void journal_setup(struct journal *journal, const struct lcore *lcore,
		   const struct pipe_params *params, const char *suffix);
/* What happens now.  journal may be NULL: nobody writes it. */
void journal_note(struct journal *journal, const struct lcore *lcore, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The switch ended in order.  0, or -1: it could not be written. */
int journal_close(struct journal *journal, const struct lcore *lcore);

#endif
