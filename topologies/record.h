/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run leaves in a directory: captures of every link, and with --record all that replaying it needs. */
#ifndef TOPOLOGIES_RECORD_H
#define TOPOLOGIES_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include "topologies/topology.h"

enum { RECORD_PATH = 256 };

struct record {
	const char *dir; /* NULL: nothing is kept */
	bool whole;	 /* not only captures */
	bool ng;	 /* captures are pcapng */
};

/* Makes the directory; with --record also what is known before the run.  0, or -1 after saying why not. */
int record_open(const struct record *rec, const struct topology *t, int argc, char *const *argv);
/* Where a switch captures in its life, from 0 on; false if the name is too long. */
bool record_switch_dir(const struct record *rec, const struct topology_node *sw, unsigned int life,
		       char path[RECORD_PATH]);
/*
 * Names of the links for what the switch captures there: DIR/h1-s1.in.pcap, what comes into s1 from h1.  Where two links
 * would have one name, their nodes' names are joined by a '+' instead.
 */
void record_links(const struct record *rec, const struct topology *t, unsigned int sw,
		  unsigned int life);
/* A space, and the word as a shell would read it again. */
void record_word_print(FILE *file, const char *word);
/* A line that a node printed; name: of the node, and the rank. */
void record_log(const struct record *rec, const char *name, const char *line);
/* After the run: its exit code, and the last line, which names the command that replays it. */
void record_close(const struct record *rec, int code);

#endif
