// SPDX-License-Identifier: BSD-3-Clause
/* outfile.c - opens a file that the user named to be written, and keeps it apart from the standard ones. */
#include "switch/io/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Standard output may be a pipe, too, under whatever name, so pipes as such are no mistake. */
FILE *outfile_open(const char *path, bool truncate)
{
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (truncate ? O_TRUNC : 0);
	const int fd = open(path, flags, 0666);
	FILE *file;
	int why;

	if (fd < 0)
		return NULL;
	file = fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "w") : NULL;
	if (file)
		return file;
	why = errno;
	close(fd);
	errno = why;
	return NULL;
}

void outfile_keep_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The lowest that is free, which is this one. */
		(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

bool outfile_is(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool outfile_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

const char *outfile_error(int why)
{
	if (why == EMFILE)
		return "too many open files: raise the limit, as by `ulimit -n 4096`";
	return why == ENXIO ? "a pipe that nobody reads" : strerror(why);
}
