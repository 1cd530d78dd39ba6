/* SPDX-License-Identifier: BSD-3-Clause */
/* capture.h - what a tested function writes to stdout or stderr. */
#ifndef TESTS_UNIT_CAPTURE_H
#define TESTS_UNIT_CAPTURE_H

struct capture {
	int fd, kept, file;
};

/* No assertion between the two: its words would be captured as well. */
void capture_begin(struct capture *capture, int fd);
/* The caller frees the text. */
char *capture_end(struct capture *capture);

#endif
