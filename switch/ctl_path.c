// SPDX-License-Identifier: BSD-3-Clause
/* ctl_path.c - where control sockets are: those that go by a name, and files. */
#include "switch/ctl_path.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_PREFIX "@tally-"

enum {
	PATH_BACKLOG = 64,
	PATH_NAMES = 100,      /* NAME to NAME-100 */
	PATH_LISTENS = 1 << 16 /* the flag in /proc/net/unix */
};

static bool path_is_name(const char *text, size_t size)
{
	if (!*text || *text == '.' || strlen(text) >= size)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
			return false;
	return true;
}

bool ctl_path_is_name(const char *text)
{
	return path_is_name(text, CTL_NAME);
}

void ctl_path_of(uid_t uid, const char *name, char path[CTL_PATH])
{
	snprintf(path, CTL_PATH, PATH_PREFIX "%u/%.*s", (unsigned)uid, CTL_NUMBERED - 1, name);
}

bool ctl_path_parse(const char *text, uid_t *uid, char name[CTL_NUMBERED])
{
	unsigned long long v;
	char *end;

	if (strncmp(text, PATH_PREFIX, strlen(PATH_PREFIX)) == 0)
		text += strlen(PATH_PREFIX);
	if (!isdigit((unsigned char)*text))
		return false;
	v = strtoull(text, &end, 10);
	if (v >= (uid_t)-1 || *end != '/' || !path_is_name(end + 1, CTL_NUMBERED))
		return false;
	*uid = (uid_t)v;
	strcpy(name, end + 1);
	return true;
}

bool ctl_path_parse_line(const char *line, uid_t *uid, char name[CTL_NUMBERED])
{
	char path[CTL_PATH + 1];
	unsigned flags, type;

	if (sscanf(line, "%*s %*s %*s %x %x %*s %*s %108[^\n]", &flags, &type, path) != 3 ||
	    !(flags & PATH_LISTENS) || type != SOCK_SEQPACKET)
		return false;
	return path[0] == '@' && ctl_path_parse(path, uid, name);
}

/* 0: too long. */
static socklen_t path_address(const char *path, struct sockaddr_un *address)
{
	size_t len = strlen(path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len >= sizeof(address->sun_path))
		return 0;
	strcpy(address->sun_path, path);
	if (path[0] != '@')
		return sizeof(*address);
	address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int path_socket(int (*use)(int, const struct sockaddr *, socklen_t), const char *path)
{
	struct sockaddr_un address;
	socklen_t len = path_address(path, &address);
	int fd, error;

	if (!len) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || use(fd, (const struct sockaddr *)&address, len) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int ctl_path_connect(const char *path)
{
	return path_socket(connect, path);
}

static int path_bind(int fd, const struct sockaddr *address, socklen_t len)
{
	return bind(fd, address, len) || listen(fd, PATH_BACKLOG) ? -1 : 0;
}

/* A socket file at which nobody listens. */
static bool path_is_dead(const char *path)
{
	int fd = ctl_path_connect(path);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

int ctl_path_listen(const char *path, struct port_error *err)
{
	struct stat st;
	mode_t mask;
	int fd;

	if (strlen(path) >= CTL_PATH)
		return port_fail(err, "is longer than the %d bytes that a socket's path may have",
				 CTL_PATH - 1);
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return port_fail(
			err, "is there already and is no socket: remove it, or give another path");
	if (path_is_dead(path))
		(void)unlink(path);
	mask = umask(0177);
	fd = path_socket(path_bind, path);
	umask(mask);
	if (fd < 0 && errno == EADDRINUSE)
		return port_fail(err, "is in use by another switch: give each its own path");
	if (fd < 0)
		return port_fail(
			err, "cannot make it: %s; give another path, or none for no control socket",
			strerror(errno));
	return fd;
}

int ctl_path_listen_name(const char *name, char path[CTL_PATH], struct port_error *err)
{
	char numbered[CTL_NUMBERED];
	int fd = -1;

	errno = EADDRINUSE;
	for (unsigned i = 1; fd < 0 && errno == EADDRINUSE && i <= PATH_NAMES; i++) {
		snprintf(numbered, sizeof(numbered), i > 1 ? "%.*s-%u" : "%.*s", CTL_NAME - 1, name,
			 i);
		ctl_path_of(geteuid(), numbered, path);
		fd = path_socket(path_bind, path);
	}
	return fd < 0 ? port_fail(err, "%s: %s", path, strerror(errno)) : fd;
}

static bool path_has(int fd, int option, int want)
{
	socklen_t len = sizeof(int);
	int is;

	return getsockopt(fd, SOL_SOCKET, option, &is, &len) == 0 && is == want;
}

int ctl_path_inherit(int fd, char path[CTL_PATH], struct port_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(address), from = offsetof(struct sockaddr_un, sun_path);

	if (!path_has(fd, SO_DOMAIN, AF_UNIX) || !path_has(fd, SO_TYPE, SOCK_SEQPACKET) ||
	    !path_has(fd, SO_ACCEPTCONN, 1))
		return port_fail(err, "is no Unix socket of type SOCK_SEQPACKET that listens");
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ||
	    getsockname(fd, (struct sockaddr *)&address, &len))
		return port_fail(err, "cannot be used: %s", strerror(errno));
	snprintf(path, CTL_PATH, "fd %d", fd);
	if (len > from && len <= sizeof(address)) {
		if (!address.sun_path[0])
			address.sun_path[0] = '@';
		snprintf(path, CTL_PATH, "%.*s", (int)(len - from), address.sun_path);
	}
	return 0;
}

uid_t ctl_path_peer(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ? (uid_t)-1 : cred.uid;
}

bool ctl_path_trusts(uid_t peer)
{
	return peer == 0 || peer == geteuid();
}
