// SPDX-License-Identifier: BSD-3-Clause
/* replay_record.c - a directory of switches' directories, as tally-fabric leaves it: which of them are gone. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "switch/journal.h"
#include "switch/replay.h"

/* by: what says that there was one. */
static bool switch_is_lost(const char *dir, const char *name, const char *by)
{
	char path[REPLAY_PATH];

	snprintf(path, sizeof(path), "%.3600s/%.255s", dir, name);
	if (replay_setup_has(path))
		return false;
	fprintf(stderr,
		"tally-replay: %.300s: there is no %.255s/" JOURNAL_FILE
		", but %.300s: that switch cannot be replayed\n",
		dir, name, by);
	return true;
}

/* Links are called as those at their ends, and lead to NAME/port1_in.pcap and the like. */
static bool link_is_lost(const char *dir, const char *name)
{
	char path[REPLAY_PATH], target[256], by[600], *slash;
	ssize_t len;

	snprintf(path, sizeof(path), "%.3800s/%.255s", dir, name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	snprintf(by, sizeof(by), "%.255s leads to %s", name, target);
	slash = strchr(target, '/');
	if (!slash || slash == target)
		return false;
	*slash = '\0';
	return switch_is_lost(dir, target, by);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool links_are_lost(const char *dir)
{
	struct dirent **list;
	int nr = scandir(dir, &list, not_hidden, alphasort);
	bool lost = false;

	for (int i = 0; i < nr; i++) {
		lost |= link_is_lost(dir, list[i]->d_name);
		free(list[i]);
	}
	if (nr >= 0)
		free(list);
	return lost;
}

bool replay_record_lost(const char *dir)
{
	char path[REPLAY_PATH], line[2048];
	bool lost = false;
	FILE *file;

	fflush(stdout);
	snprintf(path, sizeof(path), "%.3900s/run.txt", dir);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "switch ", 7) == 0)
			lost |= switch_is_lost(dir, line + 7, "run.txt names it");
	}
	if (file)
		fclose(file);
	/* What run.txt does not know: another life of a switch, and all without it. */
	return lost || links_are_lost(dir);
}
