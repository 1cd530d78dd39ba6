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
	char path[CTL_PATH];
	char name[CTL_PATH]; /* for people */
	char answer[CTL_ANSWER];
};

/*
 * where: a path, a name, or NULL: the only switch there is.  On false a sentence, or a list to
 * choose from, is on stderr; so with all below.
 */
bool link_open(struct link *link, const char *where);
void link_close(struct link *link);
/* From now on nothing is said of a switch that does not answer: that is an answer, too. */
void link_hush(void);

/* tallyctl_find.c: the path that link_open() is to take. */
bool link_find(struct link *link, const char *where);
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
