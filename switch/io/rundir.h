/* SPDX-License-Identifier: BSD-3-Clause */
/* rundir.h - a private directory for DPDK's run-time files, gone when the process is. */
#ifndef SWITCH_IO_RUNDIR_H
#define SWITCH_IO_RUNDIR_H

#include "switch/io/port.h"

struct rundir {
	int fd; /* locked as long as the process lives */
	char path[256];
};

/* Makes one, and removes what killed processes of this user left behind. */
int rundir_open(struct rundir *rundir, struct port_error *err);
void rundir_close(struct rundir *rundir);

#endif
