// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_find.c - which switches there are: the kernel lists the sockets of a network namespace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "switch/tallyctl_link.h"

#define FIND_LIST "/proc/net/unix"

enum { FIND_MAX = LINK_PATHS };

static const char find_elsewhere[] =
	"switches in another network namespace are seen only from there";

struct find {
	uid_t uid;	  /* whose */
	bool any;	  /* or of any user */
	const char *name; /* NULL: of any name */
	unsigned nr;
	uid_t uids[FIND_MAX];
	char names[FIND_MAX][CTL_NUMBERED];
};

/* Anybody can take any name: it is to be of the user who it says, or of one who is trusted anyway. */
static bool find_is_owned(uid_t uid, const char *path)
{
	int fd = ctl_path_connect(path);
	uid_t owner;

	if (fd < 0) /* one that many want to talk to is a switch, too */
		return errno == EAGAIN;
	owner = ctl_path_peer(fd);
	close(fd);
	return owner == uid || ctl_path_trusts(owner);
}

static void find_add(struct find *find, uid_t uid, const char *name)
{
	char path[CTL_PATH];

	if (find->nr == FIND_MAX || (!find->any && uid != find->uid) ||
	    (find->name && strcmp(name, find->name) != 0))
		return;
	for (unsigned i = 0; i < find->nr; i++)
		if (find->uids[i] == uid && strcmp(find->names[i], name) == 0)
			return;
	ctl_path_of(uid, name, path);
	if (!find_is_owned(uid, path))
		return;
	find->uids[find->nr] = uid;
	strcpy(find->names[find->nr++], name);
}

static bool find_all(struct find *find)
{
	FILE *list = fopen(FIND_LIST, "re");
	char *line = NULL, name[CTL_NUMBERED];
	size_t size = 0;
	uid_t uid;

	if (!list)
		return link_complain(FIND_LIST ": %s: name the switch's socket with -s PATH",
				     strerror(errno));
	while (getline(&line, &size, list) > 0)
		if (ctl_path_parse_line(line, &uid, name))
			find_add(find, uid, name);
	free(line);
	fclose(list);
	return true;
}

/* Which of those found; nr: none, or not only one.  Root's own come before others of the name. */
static unsigned find_choose(const struct find *find)
{
	for (unsigned i = 0; find->name && i < find->nr; i++)
		if (find->uids[i] == geteuid())
			return i;
	return find->nr == 1 ? 0 : find->nr;
}

static void find_print(const struct find *find)
{
	for (unsigned i = 0; i < find->nr; i++)
		if (find->uids[i] == geteuid())
			fprintf(stderr, "  %s\n", find->names[i]);
		else
			fprintf(stderr, "  %u/%s\n", (unsigned)find->uids[i], find->names[i]);
}

/* There is none of this name: those there are. */
static bool find_refuse_name(const char *name)
{
	static struct find all;

	all = (struct find){ .uid = geteuid(), .any = geteuid() == 0 };
	if (!find_all(&all))
		return false;
	link_complain("there is no switch \"%s\"; a path has a slash in it; %s; %s", name,
		      find_elsewhere, all.nr ? "those there are:" : "there is no other, either");
	find_print(&all);
	return false;
}

static bool find_refuse(const struct find *find)
{
	if (find->nr == 0 && find->name)
		return find_refuse_name(find->name);
	if (find->nr == 0)
		return link_complain("no switch of %s is running: start one, as by\n"
				     "  tally-switch -i 1@udp:127.0.0.1\n"
				     "or name the socket of another (its --ctl) with -s PATH; %s",
				     find->any ? "any user" : "this user", find_elsewhere);
	link_complain("several switches are running: choose one with -s");
	find_print(find);
	return false;
}

bool link_find(struct link *link, const char *where)
{
	static struct find find;
	char name[CTL_NUMBERED];
	unsigned i;

	find = (struct find){ .uid = geteuid(), .any = geteuid() == 0, .name = where };
	if (where && ctl_path_parse(where, &find.uid, name)) {
		find.any = false;
		find.name = name;
	} else if (where && strchr(where, '/')) {
		link->usage = snprintf(link->path, CTL_PATH, "%s", where) >= CTL_PATH;
		return !link->usage || link_complain("-s %s: too long for a socket's path", where);
	}
	if (!find_all(&find))
		return false;
	i = find_choose(&find);
	if (i == find.nr)
		return find_refuse(&find);
	ctl_path_of(find.uids[i], find.names[i], link->path);
	return true;
}

unsigned link_paths(char paths[LINK_PATHS][CTL_PATH])
{
	static struct find find;

	find = (struct find){ .uid = geteuid(), .any = geteuid() == 0 };
	if (!find_all(&find))
		return 0;
	for (unsigned i = 0; i < find.nr; i++)
		ctl_path_of(find.uids[i], find.names[i], paths[i]);
	return find.nr;
}
