// SPDX-License-Identifier: BSD-3-Clause
// capture.c - turns a file descriptor to a file in memory for a while.
#include "tests/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

void capture_begin(struct capture *capture, int fd)
{
	fflush(NULL);
	capture->fd = fd;
	capture->kept = dup(fd);
	capture->file = memfd_create("capture", MFD_CLOEXEC);
	assert_true(capture->kept >= 0 && capture->file >= 0);
	assert_true(dup2(capture->file, fd) == fd);
}

char *capture_end(struct capture *capture)
{
	struct stat st;
	char *text;

	fflush(NULL);
	assert_true(dup2(capture->kept, capture->fd) == capture->fd);
	close(capture->kept);
	assert_int_equal(fstat(capture->file, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(pread(capture->file, text, (size_t)st.st_size, 0), st.st_size);
	close(capture->file);
	return text;
}
