// SPDX-License-Identifier: BSD-3-Clause
// A shell in a host of a network that runs already: it goes to the namespaces of a process that is there.
#include "topologies/enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topologies/program.h"
#include "topologies/sandbox.h"
#include "topologies/say.h"
#include "topologies/topology.h"

enum { ENVIRON_MAX = 1 << 17, NS_TEXT = 64, LIST_MAX = 256, LIFE_MAX = 4194304 };

struct environ_text {
	char text[ENVIRON_MAX];
	size_t len;
};

/* What was found of a host's name. */
struct search {
	long pid;	       /* of a process there; 0: none */
	char network[NS_TEXT]; /* which of several networks of the same names */
	char others[LIST_MAX]; /* a process of each */
	unsigned int nr_networks;
};

static int environ_read(long pid, struct environ_text *e)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, e->text, sizeof(e->text) - 1);
		close(fd);
	}
	e->len = n > 0 ? (size_t)n : 0;
	e->text[e->len] = 0;
	return n > 0 ? 0 : -1;
}

static const char *environ_get(const struct environ_text *e, const char *key)
{
	const size_t len = strlen(key);

	for (size_t at = 0; at < e->len; at += strlen(e->text + at) + 1)
		if (strncmp(e->text + at, key, len) == 0 && e->text[at + len] == '=')
			return e->text + at + len + 1;
	return NULL;
}

static void namespace_read(const char *pid, const char *kind, char text[NS_TEXT])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/ns/%s", pid, kind);
	n = readlink(path, text, NS_TEXT - 1);
	text[n > 0 ? n : 0] = 0;
}

static void search_take(struct search *s, const char *pid)
{
	char network[NS_TEXT], own[NS_TEXT];
	size_t len = strlen(s->others);

	namespace_read("self", "pid", own);
	namespace_read(pid, "pid", network);
	if (!network[0] || strcmp(network, own) == 0 || strcmp(network, s->network) == 0)
		return;
	s->pid = strtol(pid, NULL, 10);
	snprintf(s->network, sizeof(s->network), "%s", network);
	s->nr_networks++;
	snprintf(s->others + len, sizeof(s->others) - len, "%s%s", len ? ", " : "", pid);
}

static int search_host(struct search *s, const char *host)
{
	static struct environ_text e;
	DIR *proc = opendir("/proc");
	struct dirent *d;
	uint64_t pid;

	if (!proc)
		return say_error("/proc: %s", strerror(errno));
	while ((d = readdir(proc))) {
		const char *name;

		if (topology_number_parse(d->d_name, 1, LIFE_MAX, &pid) ||
		    environ_read((long)pid, &e))
			continue;
		name = environ_get(&e, "FABRIC_HOST");
		if (name && strcmp(name, host) == 0)
			search_take(s, d->d_name);
	}
	closedir(proc);
	return 0;
}

static int place_find(const char *place, long *to)
{
	struct search s = { .pid = 0 };
	uint64_t pid;

	if (search_host(&s, place))
		return -1;
	*to = s.pid;
	if (s.nr_networks == 1)
		return 0;
	if (s.nr_networks)
		return say_error("%u networks have a %s: enter that of a process, one of %s: "
				 "`tally-fabric enter %ld`",
				 s.nr_networks, place, s.others, s.pid);
	*to = 0;
	if (topology_number_parse(place, 1, LIFE_MAX, &pid) == 0)
		*to = (long)pid;
	if (*to)
		return 0;
	return say_error("no network of this user runs with a process in %s: `tally-fabric run "
			 "--keep` keeps one",
			 place);
}

static void variables_take(long pid)
{
	static const char *const keys[] = { "FABRIC_HOST", "TALLY_SWITCH", "RUNTIME_DIRECTORY",
					    "PATH" };
	static struct environ_text e;

	if (environ_read(pid, &e))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (environ_get(&e, keys[i]))
			(void)setenv(keys[i], environ_get(&e, keys[i]), 1);
}

static int namespaces_enter(long pid)
{
	static const char *const kinds[] = { "user", "ipc", "uts", "net", "pid", "mnt" };
	enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
	char path[64], number[32], own[NS_TEXT], there[NS_TEXT];
	int fd[KINDS];

	snprintf(number, sizeof(number), "%ld", pid);
	for (int i = 0; i < KINDS; i++) {
		snprintf(path, sizeof(path), "/proc/%ld/ns/%s", pid, kinds[i]);
		namespace_read("self", kinds[i], own);
		namespace_read(number, kinds[i], there);
		fd[i] = strcmp(own, there) == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		if (fd[i] < 0 && strcmp(own, there) != 0)
			return say_error("%s: %s", path, strerror(errno));
	}
	for (int i = 0; i < KINDS; i++) {
		if (fd[i] >= 0 && setns(fd[i], 0))
			return say_error("cannot enter the %s namespace of process %ld: %s (is it "
					 "this user's?)",
					 kinds[i], pid, strerror(errno));
		if (fd[i] >= 0)
			close(fd[i]);
	}
	return 0;
}

int enter_main(const char *place, char *const *argv)
{
	char cwd[4096];
	int status;
	long pid;
	pid_t child;

	if (place_find(place, &pid))
		return SANDBOX_FAILED;
	variables_take(pid);
	if (!getcwd(cwd, sizeof(cwd)))
		snprintf(cwd, sizeof(cwd), "/");
	if (namespaces_enter(pid))
		return SANDBOX_FAILED;
	if (chdir(cwd))
		say_line("%s is not there: %s", cwd, strerror(errno));
	child = fork(); // a process never changes its own process namespace
	if (child == 0) {
		program_take_terminal();
		if (geteuid() != 0 && sandbox_keep_capabilities())
			say_note("without capabilities: %s", strerror(errno));
		execvp(argv[0], argv);
		say_error("cannot start %s: %s", argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (child < 0) {
		say_error("fork: %s", say_errno(errno));
		return SANDBOX_FAILED;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	fflush(NULL);
	_exit(program_code(status)); // nothing that runs at exit could make a thread here
}
