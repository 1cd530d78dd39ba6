/* SPDX-License-Identifier: BSD-3-Clause */
/* What tally-fabric can be told to do, and which options mean something there. */
#ifndef TOPOLOGIES_VERB_H
#define TOPOLOGIES_VERB_H

/* The last is VERB_RUN with --fabric inproc. */
enum verb {
	VERB_RUN = 1,
	VERB_SIM = 2,
	VERB_CHECK = 4,
	VERB_DRAW = 8,
	VERB_SHELL = 16,
	VERB_ENTER = 32,
	VERB_INPROC = 64
};

/* 0: there is none of this name. */
unsigned int verb_find(const char *name);
/* 0, or -1 after saying that this option, a long name, means nothing there. */
int verb_option_check(enum verb verb, const char *option);

#endif
