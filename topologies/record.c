// SPDX-License-Identifier: BSD-3-Clause
// What a run leaves in a directory: captures of every link, and with --record all that replaying it needs.
#include "topologies/record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/include/tally.h"
#include "switch/journal.h"
#include "topologies/result.h"
#include "topologies/say.h"

// name: below the directory, and what follows it.
static FILE *file_open(const struct record *rec, const char *mode, const char *name,
		       const char *suffix)
{
	char path[3 * RECORD_PATH];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", rec->dir, name, suffix);
	file = fopen(path, mode);
	if (!file)
		say_error("%s: %s", path, strerror(errno));
	return file;
}

static int file_close(FILE *file, const char *name)
{
	const bool bad = ferror(file) != 0;

	if (fclose(file) || bad)
		return say_error("%s could not be written", name);
	return 0;
}

static bool dir_is_empty(const char *path)
{
	const struct dirent *entry;
	bool empty = true;
	DIR *dir = opendir(path);

	if (!dir)
		return true; // mkdir says what is wrong
	while ((entry = readdir(dir)))
		empty = empty &&
			(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	closedir(dir);
	return empty;
}

void record_word_print(FILE *file, const char *word)
{
	bool plain = *word != 0;

	for (const char *p = word; *p; p++)
		plain = plain && (isalnum((unsigned char)*p) || strchr("_-./=:,%@+", *p));
	if (plain) {
		fprintf(file, " %s", word);
		return;
	}
	fputs(" '", file);
	for (const char *p = word; *p; p++)
		fputs(*p == '\'' ? "'\\''" : (const char[]){ *p, 0 }, file);
	fputc('\'', file);
}

static int run_write(const struct record *rec, const struct topology *t, int argc,
		     char *const *argv)
{
	FILE *file = file_open(rec, "we", "run.txt", "");
	struct utsname name;

	if (!file)
		return -1;
	fputs("command", file);
	for (int i = 0; i < argc; i++)
		record_word_print(file, argv[i]);
	fprintf(file, "\nversion %s\nseed %llu%s\n", TALLY_VERSION_STRING,
		(unsigned long long)(t->seed_given ? t->seed : 1),
		t->seed_given ? "" : " (default)");
	if (uname(&name) == 0)
		fprintf(file, "machine %s %s %s\n", name.sysname, name.release, name.machine);
	return file_close(file, "run.txt");
}

int record_open(const struct record *rec, const struct topology *t, int argc, char *const *argv)
{
	const char *option = rec->whole ? "record" : "pcap";
	char logs[RECORD_PATH];

	if (!rec->dir)
		return 0;
	if (strlen(rec->dir) >= RECORD_PATH / 2)
		return say_error("--%s: the name of the directory is longer than %d bytes", option,
				 RECORD_PATH / 2 - 1);
	// What another run left would be taken for this one's.
	if (!dir_is_empty(rec->dir))
		return say_error("--%s %s: is not empty: name another directory, or remove it",
				 option, rec->dir);
	if (mkdir(rec->dir, 0777) && errno != EEXIST)
		return say_error("--%s %s: %s", option, rec->dir, strerror(errno));
	if (!rec->whole)
		return 0;
	snprintf(logs, sizeof(logs), "%s/logs", rec->dir);
	if (mkdir(logs, 0777))
		return say_error("--record %s: %s", logs, strerror(errno));
	return run_write(rec, t, argc, argv) || topology_copy(t, rec->dir) ? -1 : 0;
}

bool record_switch_dir(const struct record *rec, const struct topology_node *sw, unsigned int life,
		       char path[RECORD_PATH])
{
	int len = snprintf(path, RECORD_PATH, "%s/%s", rec->dir, sw->name);

	if (life && len > 0 && len < RECORD_PATH)
		len += snprintf(path + len, (size_t)(RECORD_PATH - len), ".%u", life + 1);
	return len > 0 && len < RECORD_PATH;
}

static bool ends_meet(const struct topology_link *l, unsigned int a, unsigned int b)
{
	return (l->end[0].node == a && l->end[1].node == b) ||
	       (l->end[0].node == b && l->end[1].node == a);
}

// Two links between the same nodes have the port in their names.
static bool link_is_single(const struct topology *t, const struct topology_link *link)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < t->nr_links; i++)
		nr += ends_meet(&t->link[i], link->end[0].node, link->end[1].node);
	return nr == 1;
}

static void link_name(const struct record *rec, const struct topology *t,
		      const struct topology_link *l, int side, unsigned int life)
{
	static const char *const ways[] = { "in", "out" };
	const struct topology_end *here = &l->end[side], *there = &l->end[1 - side];
	const char *suffix = rec->ng ? "pcapng" : "pcap", *sw = t->node[here->node].name;
	char path[4 * RECORD_PATH], target[2 * RECORD_PATH], port[24] = "", again[24] = "";

	if (!link_is_single(t, l))
		snprintf(port, sizeof(port), "-p%u", here->port);
	if (life)
		snprintf(again, sizeof(again), ".%u", life + 1);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s-%s%s%s.%s.%s", rec->dir,
			 t->node[there->node].name, sw, port, again, ways[i], suffix);
		snprintf(target, sizeof(target), "%s%s/port%u_%s.%s", sw, again, here->port,
			 ways[i], suffix);
		// The captures are there, whatever they are called.
		if (symlink(target, path) && errno != EEXIST)
			say_note("%s: %s", path, strerror(errno));
	}
}

void record_links(const struct record *rec, const struct topology *t, unsigned int sw,
		  unsigned int life)
{
	for (unsigned int i = 0; rec->dir && i < t->nr_links; i++)
		for (int side = 0; side < 2; side++)
			if (t->link[i].end[side].node == sw)
				link_name(rec, t, &t->link[i], side, life);
}

void record_log(const struct record *rec, const char *name, const char *line)
{
	static bool failed; // said once
	char path[3 * RECORD_PATH];
	FILE *file;
	bool bad;

	if (!rec->dir || !rec->whole)
		return;
	snprintf(path, sizeof(path), "%s/logs/%s.log", rec->dir, name);
	file = fopen(path, "ae");
	bad = !file || fprintf(file, "%s\n", line) < 0;
	if (file && fclose(file))
		bad = true;
	if (bad && !failed)
		say_error("%s: %s: the logs of this run are not whole", path, strerror(errno));
	failed = failed || bad;
}

/* --- The end ----------------------------------------------------------------------------------------- */

/* Of a directory of a switch: the name of the first, "" if there are none. */
static unsigned int partial_count(const char *dir, char first[RECORD_PATH])
{
	static const char tail[] = ".partial";
	const struct dirent *entry;
	DIR *open = opendir(dir);
	unsigned int nr = 0;

	while (open && (entry = readdir(open))) {
		const size_t len = strlen(entry->d_name);

		if (len < sizeof(tail) || strcmp(entry->d_name + len + 1 - sizeof(tail), tail) != 0)
			continue;
		if (nr++ == 0)
			snprintf(first, RECORD_PATH, "%s", entry->d_name);
	}
	if (open)
		closedir(open);
	return nr;
}

/* A disk was full, or a switch was killed. */
static void partial_say(const struct record *rec)
{
	char path[3 * RECORD_PATH], name[RECORD_PATH], first[4 * RECORD_PATH];
	const struct dirent *entry;
	DIR *open = opendir(rec->dir);
	unsigned int nr = 0, more;

	while (open && (entry = readdir(open))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", rec->dir, entry->d_name);
		more = partial_count(path, name);
		if (more && !nr)
			snprintf(first, sizeof(first), "%s/%s", path, name);
		nr += more;
	}
	if (open)
		closedir(open);
	if (nr)
		say_line("%u of the captures %s not whole, and named so: %s%s", nr,
			 nr == 1 ? "is" : "are", first, nr == 1 ? "" : " and others");
}

static bool switch_served(FILE *journal)
{
	char line[256];
	bool told = false;

	while (fgets(line, sizeof(line), journal)) {
		if (strcmp(line, JOURNAL_UNBEGUN "\n") == 0)
			return false;
		told = told || strncmp(line, "port ", 5) == 0;
	}
	return told;
}

/* Nothing else is there to replay. */
static bool switches_served(const struct record *rec)
{
	const struct dirent *entry;
	DIR *open = opendir(rec->dir);
	char path[3 * RECORD_PATH];
	bool served = false;

	while (open && !served && (entry = readdir(open))) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s/" JOURNAL_FILE, rec->dir, entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		served = file && switch_served(file);
		if (file)
			fclose(file);
	}
	if (open)
		closedir(open);
	return served;
}

void record_close(const struct record *rec, int code)
{
	if (!rec->dir)
		return;
	fflush(stdout);
	partial_say(rec);
	result_close(rec, code);
	fflush(stdout);
	if (!switches_served(rec))
		say_line(
			"%s, exit code %d; no switch served, so that there is nothing to replay in %s",
			rec->whole ? "recorded" : "captured", code, rec->dir);
	else
		say_line("%s, exit code %d; to replay what its switches did:\ntally-replay %s",
			 rec->whole ? "recorded" : "captured", code, rec->dir);
}
