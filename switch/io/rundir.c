// SPDX-License-Identifier: BSD-3-Clause
/*
 * rundir.c - a private directory for DPDK's run-time files, gone when the process is.
 *
 * Each directory is locked by its process.  One that can be locked belongs to a process that was killed: this
 * holds in every pid namespace, which a pid in the name would not.
 */
#include "switch/io/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNDIR_PREFIX "tally-switch."

static int rundir_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	(void)!remove(path);
	return 0;
}

static void rundir_remove(const char *path)
{
	nftw(path, rundir_remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Opened and locked, if it is this user's and nobody holds it; -1 otherwise. */
static int rundir_lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	/* Nobody may have removed it in between. */
	if (fstat(fd, &st) || st.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) ||
	    fstat(fd, &st) || st.st_nlink == 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void rundir_sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;
	char path[512];
	int fd;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, RUNDIR_PREFIX, strlen(RUNDIR_PREFIX)) != 0)
			continue;
		snprintf(path, sizeof(path), "%.200s/%.255s", parent, entry->d_name);
		fd = rundir_lock(path);
		if (fd < 0)
			continue;
		rundir_remove(path);
		close(fd);
	}
	closedir(dir);
}

/* A directory that a variable names, if it can be one: not a list, and not too long. */
static const char *rundir_parent(const char *variable)
{
	const char *parent = getenv(variable);

	return parent && parent[0] == '/' && !strchr(parent, ':') && strlen(parent) <= 200 ? parent
											   : NULL;
}

int rundir_open(struct rundir *rundir, struct port_error *err)
{
	const char *parent = rundir_parent("RUNTIME_DIRECTORY");

	if (!parent)
		parent = rundir_parent("TMPDIR");
	if (!parent)
		parent = "/tmp";
	rundir_sweep(parent);
	/* Another switch's sweep may take the directory before it is locked: then the next one. */
	for (unsigned tries = 0; tries < 16; tries++) {
		snprintf(rundir->path, sizeof(rundir->path), "%.200s/" RUNDIR_PREFIX "XXXXXX",
			 parent);
		if (!mkdtemp(rundir->path)) {
			rundir->path[0] = '\0';
			return port_fail(
				err,
				"cannot make a directory for run-time files in %.200s: %s (TMPDIR "
				"names another place)",
				parent, strerror(errno));
		}
		rundir->fd = rundir_lock(rundir->path);
		if (rundir->fd >= 0)
			return 0;
	}
	rundir->path[0] = '\0';
	return port_fail(err, "cannot lock a directory for run-time files in %.200s", parent);
}

void rundir_close(struct rundir *rundir)
{
	if (!rundir->path[0])
		return;
	rundir_remove(rundir->path);
	close(rundir->fd);
	rundir->path[0] = '\0';
}
