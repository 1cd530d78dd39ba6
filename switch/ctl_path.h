/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctl_path.h - where control sockets are: those that go by a name, and files.
 *
 * A name makes an abstract socket, "tally-UID/NAME" in the network namespace: it is no file and goes
 * with its last descriptor.  Its path is written as the kernel and ss write it, @tally-UID/NAME.
 */
#ifndef SWITCH_CTL_PATH_H
#define SWITCH_CTL_PATH_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "switch/io/port.h"

enum {
	CTL_PATH = sizeof(((struct sockaddr_un *)0)->sun_path), /* with the 0 at its end */
	CTL_NAME = 48,						/* likewise */
	CTL_NUMBERED = CTL_NAME + 4,				/* likewise, with "-100" */
};

/* Letters, digits, dot, dash and underscore; no dot in front. */
bool ctl_path_is_name(const char *text);
void ctl_path_of(uid_t uid, const char *name, char path[CTL_PATH]);
/* The reverse, for "UID/NAME" with or without "@tally-"; false: it is none. */
bool ctl_path_parse(const char *text, uid_t *uid, char name[CTL_NUMBERED]);
/* A line of /proc/net/unix: whether it is such a socket, listening, and whose by its name. */
bool ctl_path_parse_line(const char *line, uid_t *uid, char name[CTL_NUMBERED]);

/*
 * A listening socket, a file of this user alone; -1 and *err: a sentence without the path's name in
 * front.  The file of a switch that is dead makes room.
 */
int ctl_path_listen(const char *path, struct port_error *err);
/* The same by name, which becomes NAME-2 and so on if another has it. */
int ctl_path_listen_name(const char *name, char path[CTL_PATH], struct port_error *err);
/*
 * One that the parent process listens on: its path, as far as it has one, is for people.  0, or -1
 * and *err: a sentence without the number in front.
 */
int ctl_path_inherit(int fd, char path[CTL_PATH], struct port_error *err);

/* A connected socket, or -1 with errno. */
int ctl_path_connect(const char *path);
/* Who is at the other end: who called connect(), or listen(); (uid_t)-1: that cannot be told. */
uid_t ctl_path_peer(int fd);
/* This user, and root. */
bool ctl_path_trusts(uid_t peer);

#endif
