// SPDX-License-Identifier: BSD-3-Clause
// link.c - takes interfaces of another process's network namespace down or up.
//
// usage: link PID down|up INTERFACE...
// The namespaces may be an ordinary user's own: a program started in them would lose the capabilities that
// entering them gave, so that this one does it itself.
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int link_enter(const char *pid, const char *which, int type)
{
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, which);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = setns(fd, type);
	close(fd);
	return rc;
}

static int link_set(int fd, const char *name, int up)
{
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &request) != 0)
		return -1;
	if (up)
		request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	else
		request.ifr_flags = (short)(request.ifr_flags & ~IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 4 || (strcmp(argv[2], "up") != 0 && strcmp(argv[2], "down") != 0)) {
		fprintf(stderr, "usage: link PID down|up INTERFACE...\n");
		return 2;
	}
	/* Root may be in this user namespace already, which nobody can enter again. */
	if (link_enter(argv[1], "user", CLONE_NEWUSER) != 0 && errno != EINVAL) {
		fprintf(stderr, "link: user namespace of %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	fd = link_enter(argv[1], "net", CLONE_NEWNET) == 0 ? socket(AF_INET, SOCK_DGRAM, 0) : -1;
	if (fd < 0) {
		fprintf(stderr, "link: network namespace of %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (int i = 3; i < argc; i++) {
		if (link_set(fd, argv[i], strcmp(argv[2], "up") == 0) == 0)
			continue;
		fprintf(stderr, "link: %s %s: %s\n", argv[i], argv[2], strerror(errno));
		return 1;
	}
	close(fd);
	return 0;
}
