// SPDX-License-Identifier: BSD-3-Clause
// Namespaces that vanish by themselves, with and without root.
#include "topologies/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "topologies/refusal.h"
#include "topologies/say.h"

#define RUN_DIRECTORY "/dev/shm/run"

static sigset_t signal_set(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	sigset_t s;

	sigemptyset(&s);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&s, signals[i]);
	return s;
}

void sandbox_unblock(void)
{
	sigset_t s = signal_set();

	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	err = errno;
	close(fd);
	errno = err;
	return n < 0 ? -1 : 0;
}

// Root maps every id it has, so that its commands can go on using files of other owners.
static int map_write_all(pid_t pid, const char *which)
{
	char path[64], text[2048];
	unsigned long first, count;
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/%s", which);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (len < sizeof(text) - 64 && fscanf(f, "%lu %*u %lu", &first, &count) == 2)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%lu %lu %lu\n", first,
					first, count);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, which);
	return len ? file_write(path, text) : -1;
}

// Others may only map themselves.
static int map_write(pid_t pid, const char *which, unsigned int id)
{
	char path[64], text[64];

	if (geteuid() == 0 && map_write_all(pid, which) == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, which);
	snprintf(text, sizeof(text), "%u %u 1\n", id, id);
	return file_write(path, text);
}

static int maps_write(pid_t pid)
{
	char path[64];

	if (geteuid() != 0) { // else a group that is denied access could be dropped (CVE-2014-8989)
		snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
		if (file_write(path, "deny") && errno != ENOENT)
			return -1;
	}
	return map_write(pid, "uid_map", geteuid()) || map_write(pid, "gid_map", getegid()) ? -1
											    : 0;
}

// Without user id 0 capabilities would be lost when a program is executed; ambient ones are kept.
int sandbox_keep_capabilities(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	d[0].inheritable = d[0].permitted;
	d[1].inheritable = d[1].permitted;
	if (syscall(SYS_capset, &h, d))
		return -1;
	for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0);
	return 0;
}

// Process 1.  The read comes after PDEATHSIG, so a caller that died before it is noticed as well.
static int sandbox_enter(struct sandbox *box)
{
	sigset_t s = signal_set();
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(box->lifeline, &go, 1) != 1) // or our ids could not be mapped: that was explained
		return -1;
	box->signals = signalfd(-1, &s, SFD_CLOEXEC | SFD_NONBLOCK);
	if (box->signals < 0)
		return say_error("signalfd: %s", say_errno(errno));
	if (!box->interactive)
		setsid();
	if (geteuid() != 0 && sandbox_keep_capabilities())
		return say_error("cannot keep capabilities: %s", strerror(errno));
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE,
		  NULL)) { // AppArmor lets us in, then takes capabilities
		refusal_explain(errno);
		return -1;
	}
	// A container that hides parts of /proc lets nobody mount a fresh one.  The old one will
	// do: /proc/self is right in it, only the numbers are those of the outer namespace.
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		say_note("no /proc of its own (%s): process numbers are those outside",
			 strerror(errno));
	return 0;
}

static pid_t init_clone(unsigned long namespaces)
{
	// as fork() with flags, which glibc does not offer
	return (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, 0);
}

static int init_wait(pid_t init)
{
	sigset_t s = signal_set();
	int status, sig;

	while (waitpid(init, &status, WNOHANG) == 0)
		if (sigwait(&s, &sig) == 0 && sig != SIGCHLD)
			kill(init, sig);
	if (WIFSIGNALED(status)) {
		say_error("the fabric's first process was killed by signal %d, and all with it",
			  WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

static void terminal_take(pid_t group)
{
	sigset_t s, old;

	if (group <= 0)
		return;
	sigemptyset(&s); // a background process that writes here would be stopped
	sigaddset(&s, SIGTTOU);
	sigprocmask(SIG_BLOCK, &s, &old);
	tcsetpgrp(STDIN_FILENO, group);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

int sandbox_run(sandbox_main *inside, unsigned int how, void *context)
{
	bool interactive = how & SANDBOX_INTERACTIVE, own_user = !(how & SANDBOX_SAME_USER);
	unsigned long ns = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC;
	pid_t group = interactive && isatty(STDIN_FILENO) ? tcgetpgrp(STDIN_FILENO) : -1, init;
	struct sandbox box = { .interactive = interactive };
	sigset_t s = signal_set();
	int life[2], rc;

	sigprocmask(SIG_BLOCK, &s, NULL);
	if (pipe2(life, O_CLOEXEC)) {
		say_error("pipe: %s", say_errno(errno));
		return SANDBOX_FAILED;
	}
	fflush(NULL);
	init = init_clone(own_user ? ns | CLONE_NEWUSER : ns);
	if (init < 0 && geteuid() == 0 &&
	    own_user) { // root needs none, and may be allowed the rest
		own_user = false;
		init = init_clone(ns);
	}
	if (init == 0) {
		close(life[1]);
		box.lifeline = life[0];
		rc = sandbox_enter(&box) ? SANDBOX_FAILED : inside(&box, context);
		fflush(NULL);
		_exit(rc);
	}
	close(life[0]);
	if (init < 0 || (own_user && maps_write(init))) {
		refusal_explain(errno);
		close(life[1]); // process 1 reads the end of the file and leaves
		return SANDBOX_FAILED;
	}
	if (write(life[1], "g", 1) != 1)
		say_error("first process: %s", strerror(errno));
	rc = init_wait(init);
	terminal_take(group);
	return rc;
}

// /sys/class/net shows the network namespace of whoever mounted it.  The old mount stays beneath: a
// user namespace may not unmount what it inherited.  The new one has no cgroup tree, so that is
// brought along.
static void sys_mount(void)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	int cgroup = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[64];

	if (mount("sysfs", "/sys", "sysfs", flags, NULL) &&
	    mount("sysfs", "/sys", "sysfs", flags | MS_RDONLY,
		  NULL)) { // containers: /sys is read-only
		say_note("/sys/class/net shows other interfaces: %s", strerror(errno));
	} else if (cgroup >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", cgroup);
		if (mount(path, "/sys/fs/cgroup", NULL, MS_BIND | MS_REC, NULL))
			say_note("no /sys/fs/cgroup: %s", strerror(errno));
	}
	if (cgroup >= 0)
		close(cgroup);
}

// Hosts cannot talk through shared memory, and what a killed program leaves there vanishes.  It is
// also the one directory that a program may rely on for its run-time files.
int sandbox_private_mounts(const char *hostname)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) || sethostname(hostname, strlen(hostname)))
		return say_error("%s: no mounts and host name of its own: %s", hostname,
				 strerror(errno));
	sys_mount();
	if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") ||
	    mkdir(RUN_DIRECTORY, 0700))
		return say_error("%s: no private /dev/shm: %s", hostname, strerror(errno));
	return setenv("RUNTIME_DIRECTORY", RUN_DIRECTORY, 1);
}
