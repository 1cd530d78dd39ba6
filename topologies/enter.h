/* SPDX-License-Identifier: BSD-3-Clause */
/* A shell in a host of a network that runs already. */
#ifndef TOPOLOGIES_ENTER_H
#define TOPOLOGIES_ENTER_H

/* place: the name of a host or switch, or the number of a process there.  Returns the exit code. */
int enter_main(const char *place, char *const *argv);

#endif
