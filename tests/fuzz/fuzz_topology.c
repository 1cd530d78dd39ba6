// SPDX-License-Identifier: BSD-3-Clause
// fuzz_topology.c - any bytes as a topology file: a topology, or errors that say where.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "topologies/draw.h"
#include "topologies/topology.h"

/* More take too long, and show nothing else. */
enum { DRAWN_MAX = 200 };

static void look_at(struct topology *t, FILE *errors)
{
	char text[4096];

	fuzz_check(t->nr_nodes <= TOPOLOGY_NODES_MAX && t->nr_links <= TOPOLOGY_LINKS_MAX);
	for (unsigned int i = 0; i < t->nr_links; i++)
		for (unsigned int e = 0; e < 2; e++)
			fuzz_check(t->link[i].end[e].node < t->nr_nodes);
	for (unsigned int i = 0; i < t->nr_nodes; i++)
		fuzz_check(topology_node_find(t, t->node[i].name, strlen(t->node[i].name)) ==
			   (int)i);
	for (unsigned int i = 0; i < t->nr_jobs; i++) {
		fuzz_check(t->job[i].ranks.nr <= TOPOLOGY_RANKS_MAX);
		topology_job_command(t, &t->job[i], text, sizeof(text));
	}
	topology_check_netns(t, true, errors);
	if (t->nr_nodes + t->nr_links < DRAWN_MAX) {
		fuzz_check(draw_topology(t, DRAW_SVG, errors) == 0);
		fuzz_check(draw_topology(t, DRAW_DOT, errors) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *errors;
	struct topology *t;
	char path[64];
	int fd;

	if (!errors)
		errors = fopen("/dev/null", "we");
	fd = memfd_create("topology", MFD_CLOEXEC);
	fuzz_check(errors && fd >= 0);
	fuzz_check(size == 0 || write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	t = topology_load(path, errors);
	if (t)
		look_at(t, errors);
	topology_free(t);
	close(fd);
	return 0;
}
