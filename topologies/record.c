// SPDX-License-Identifier: BSD-3-Clause
// What a run leaves in a directory: captures of every link, and with --record all that replaying it needs.
#include "topologies/record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/include/tally.h"
#include "switch/io/outfile.h"
#include "switch/journal.h"
#include "topologies/result.h"
#include "topologies/say.h"

enum { STEM = 2 * (TOPOLOGY_NAME_MAX + 2) + 16 };

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
		return true; // that it cannot be read is said already
	while ((entry = readdir(dir)))
		empty = empty &&
			(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	closedir(dir);
	return empty;
}

/* -1: nobody has it. */
static int dir_lock = -1;

static void dir_free(void)
{
	if (dir_lock >= 0)
		close(dir_lock);
	dir_lock = -1;
}

// Of two runs that start together one has it, until its process ends, however it does.
static int dir_take(const char *path, const char *option)
{
	dir_free();
	if (mkdir(path, 0777) && errno != EEXIST)
		return say_error("--%s %s: %s", option, path, strerror(errno));
	dir_lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_lock < 0)
		return say_error("--%s %s: %s", option, path, strerror(errno));
	if (!outfile_lock(dir_lock))
		return say_error("--%s %s: another run writes there: name another directory, or "
				 "wait until it has ended",
				 option, path);
	// What another run left would be taken for this one's.
	if (!dir_is_empty(path))
		return say_error("--%s %s: is not empty: name another directory, or remove it",
				 option, path);
	return 0;
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
	for (unsigned int i = 0; i < t->nr_switches; i++)
		fprintf(file, "switch %s\n", t->node[t->switches[i]].name);
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
	for (unsigned int i = 0; rec->whole && i < t->nr_switches; i++)
		if (strcmp(t->node[t->switches[i]].name, "logs") == 0)
			return say_error(
				"--record: a switch is called logs, as the directory of the "
				"logs is: give it another name, or use --pcap");
	if (dir_take(rec->dir, option))
		return -1;
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

/* Names have no separator that is a '+', but many have a '-'. */
static void stem_make(const struct topology *t, const struct topology_link *l, int side,
		      char separator, char stem[STEM])
{
	const struct topology_end *here = &l->end[side], *there = &l->end[1 - side];
	int len = snprintf(stem, STEM, "%s%c%s", t->node[there->node].name, separator,
			   t->node[here->node].name);

	if (!link_is_single(t, l))
		snprintf(stem + len, STEM - (size_t)len, "%cp%u", separator, here->port);
}

/* a-b and c have the same as a and b-c. */
static bool stem_is_twice(const struct topology *t, const char *stem)
{
	unsigned int nr = 0;
	char other[STEM];

	for (unsigned int i = 0; i < t->nr_links; i++)
		for (int side = 0; side < 2; side++) {
			const char *name = t->node[t->link[i].end[1 - side].node].name;

			if (strncmp(stem, name, strlen(name)) != 0)
				continue;
			stem_make(t, &t->link[i], side, '-', other);
			nr += strcmp(other, stem) == 0;
		}
	return nr > 1;
}

static void link_name(const struct record *rec, const struct topology *t,
		      const struct topology_link *l, int side, unsigned int life)
{
	static const char *const ways[] = { "in", "out" };
	const unsigned int port = l->end[side].port;
	const char *suffix = rec->ng ? "pcapng" : "pcap", *sw = t->node[l->end[side].node].name;
	char path[4 * RECORD_PATH], target[2 * RECORD_PATH], stem[STEM], again[24] = "";

	stem_make(t, l, side, '-', stem);
	if (stem_is_twice(t, stem))
		stem_make(t, l, side, '+', stem);
	if (life)
		snprintf(again, sizeof(again), ".%u", life + 1);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s%s.%s.%s", rec->dir, stem, again, ways[i],
			 suffix);
		snprintf(target, sizeof(target), "%s%s/port%u_%s.%s", sw, again, port, ways[i],
			 suffix);
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

/* A link to a capture that is not whole is named as it; of one that there is not at all, nothing stays. */
static void link_mend(const char *path)
{
	char target[RECORD_PATH], there[4 * RECORD_PATH], name[4 * RECORD_PATH];
	const ssize_t len = readlink(path, target, sizeof(target) - sizeof(".partial"));
	const char *slash = strrchr(path, '/');

	if (len <= 0 || !slash || access(path, F_OK) == 0)
		return;
	strcpy(target + len, ".partial");
	snprintf(there, sizeof(there), "%.*s/%s", (int)(slash - path), path, target);
	snprintf(name, sizeof(name), "%s.partial", path);
	if (access(there, F_OK) == 0 && symlink(target, name))
		say_note("%s: %s", name, strerror(errno));
	else
		(void)unlink(path);
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
		link_mend(path);
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
	char word[RECORD_PATH + 2]; // no option

	if (!rec->dir)
		return;
	dir_free();
	fflush(stdout);
	partial_say(rec);
	result_close(rec, code);
	fflush(stdout);
	if (!switches_served(rec)) {
		say_line(
			"%s, exit code %d; no switch served, so that there is nothing to replay in %s",
			rec->whole ? "recorded" : "captured", code, rec->dir);
		return;
	}
	fprintf(stderr,
		"tally-fabric: %s, exit code %d; to replay what its switches did:\ntally-replay",
		rec->whole ? "recorded" : "captured", code);
	snprintf(word, sizeof(word), "%s%s", *rec->dir == '-' ? "./" : "", rec->dir);
	record_word_print(stderr, word);
	fputc('\n', stderr);
}
