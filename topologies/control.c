// SPDX-License-Identifier: BSD-3-Clause
// The switches' control sockets, made outside the fabric, where tallyctl looks for them.
#include "topologies/control.h"

#include <stdio.h>
#include <string.h>

#include "switch/ctl_path.h"
#include "topologies/say.h"

enum { RENAMED = 2 * CTL_NUMBERED };

static void renamed_add(char *text, const char *name, const char *path)
{
	const char *taken = strrchr(path, '/') + 1;
	size_t len = strlen(text);

	if (strcmp(taken, name) != 0)
		snprintf(text + len, RENAMED, "%s%s is %s", len ? ", " : "", name, taken);
}

const char *control_open(const struct topology *t, int fds[TOPOLOGY_NETNS_NODES_MAX])
{
	static char renamed[TOPOLOGY_NETNS_NODES_MAX * RENAMED];
	char path[CTL_PATH];
	struct port_error err;

	for (unsigned int i = 0; i < t->nr_switches; i++) {
		const char *name = t->node[t->switches[i]].name;

		fds[i] = ctl_path_listen_name(name, path, &err);
		if (fds[i] < 0)
			say_note("switch %s has no control socket: %s", name, err.text);
		else
			renamed_add(renamed, name, path);
	}
	return renamed;
}
