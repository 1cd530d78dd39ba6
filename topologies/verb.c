// SPDX-License-Identifier: BSD-3-Clause
// Which of tally-fabric's options belong to which of its commands: one that would do nothing is refused.
#include "topologies/verb.h"

#include <stdio.h>
#include <string.h>

#include "topologies/say.h"

enum {
	NETWORK = VERB_RUN | VERB_SHELL,
	JOBS = VERB_RUN | VERB_INPROC | VERB_SIM,
	LINKS = JOBS | VERB_SHELL,
	ALL = LINKS | VERB_CHECK | VERB_DRAW | VERB_ENTER
};

static const struct {
	enum verb verb;
	const char *name;
} verbs[] = {
	{ VERB_RUN, "run" },
	{ VERB_SIM, "sim" },
	{ VERB_CHECK, "check" },
	{ VERB_DRAW, "draw" },
	{ VERB_SHELL, "shell" },
	{ VERB_ENTER, "enter" },
	{ VERB_INPROC, "run --fabric inproc" },
};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static const struct {
	const char *option;
	unsigned int verbs;
} takes[] = {
	{ "loss", LINKS },
	{ "dup", LINKS },
	{ "reorder", LINKS },
	{ "seed", LINKS },
	{ "mtu", LINKS },
	{ "timeout", LINKS },
	{ "pcap", LINKS },
	{ "pcap-format", LINKS },
	{ "record", LINKS },
	{ "report", JOBS },
	{ "timeline", JOBS },
	{ "fabric", VERB_RUN | VERB_INPROC },
	{ "driver", NETWORK },
	{ "keep", NETWORK },
	{ "output", VERB_DRAW },
	{ "format", VERB_DRAW },
	{ "seeds", VERB_SIM },
	{ "workers", VERB_SIM },
	{ "sweep", VERB_SIM },
	{ "compare", VERB_SIM },
	{ "link-rate", VERB_SIM },
	{ "link-delay", VERB_SIM },
	{ "verbose", LINKS | VERB_ENTER },
	{ "help", ALL },
	{ "version", ALL },
};

unsigned int verb_find(const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (verbs[i].verb != VERB_INPROC && strcmp(verbs[i].name, name) == 0)
			return verbs[i].verb;
	return 0;
}

static const char *verb_name(enum verb verb)
{
	for (size_t i = 0; i < VERBS; i++)
		if (verbs[i].verb == verb)
			return verbs[i].name;
	return "";
}

/* "run, sim and shell" */
static void verbs_list(unsigned int which, char *text, size_t size)
{
	size_t len = 0;

	text[0] = 0;
	which &= ~(unsigned int)VERB_INPROC;
	for (size_t i = 0; i < VERBS && len < size; i++) {
		if (!(which & verbs[i].verb))
			continue;
		which &= ~(unsigned int)verbs[i].verb;
		len += (size_t)snprintf(text + len, size - len, "%s%s",
					!len	? ""
					: which ? ", "
						: " and ",
					verbs[i].name);
	}
}

int verb_option_check(enum verb verb, const char *option)
{
	unsigned int which = 0;
	char text[64];

	for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); i++)
		if (strcmp(takes[i].option, option) == 0)
			which = takes[i].verbs;
	if (which & verb)
		return 0;
	verbs_list(which, text, sizeof(text));
	return say_error("--%s is an option of tally-fabric %s, not of %s (see --help)", option,
			 text, verb_name(verb));
}
