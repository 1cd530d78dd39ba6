/* SPDX-License-Identifier: BSD-3-Clause */
/* tallyctl_link.h - the conversation with a switch: find it, connect, ask, and put long lists together. */
#ifndef SWITCH_TALLYCTL_LINK_H
#define SWITCH_TALLYCTL_LINK_H

#include <jansson.h>
#include <stdbool.h>

#include "switch/ctl.h"

struct link {
	int fd;
	bool usage; /* what failed was given wrong, or the switch says so */
	long pid;
	int wait_ms; /* for an answer */
	char path[CTL_PATH];
	char name[CTL_PATH]; /* for people */
	char answer[CTL_ANSWER];
};

/*
 * where: a path, a name, or NULL: the only switch there is.  On false a sentence, or a list to
 * choose from, is on stderr; so with all below.
 */
bool link_open(struct link *link, const char *where);
/* A path that is known to be a switch's, which is not waited for any longer than this. */
bool link_open_path(struct link *link, const char *path, int wait_ms);
void link_close(struct link *link);
/* Whether nothing is said from now on of a switch that does not answer: that is an answer, too. */
void link_hush(bool hush);

/* tallyctl_find.c: the path that link_open() is to take. */
bool link_find(struct link *link, const char *where);
/* Those of all switches that this user may talk to, of which nothing is said; returns how many. */
enum { LINK_PATHS = 64 };
unsigned link_paths(char paths[LINK_PATHS][CTL_PATH]);
/* A line on stderr; always false. */
bool link_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The value in the answer, to be given back; NULL: as above. */
json_t *link_ask(struct link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * The whole of a list, from answer to answer: an object with the array of this key.  rest: what is
 * to follow the place in the request, or NULL.  Counts in an object `jobs` are added up.
 */
json_t *link_list(struct link *link, const char *command, const char *key, const char *rest);

#endif
