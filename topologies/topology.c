// SPDX-License-Identifier: BSD-3-Clause
// Reads a topology file with libyaml.
// JSON is read by the same code, as YAML contains it.  There are two passes, as links and jobs name
// hosts and switches wherever in the file those stand.
#include "topologies/topology.h"

#include <stdlib.h>
#include <string.h>

#include "topologies/topology_reader.h"

static void read_seed(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology *t = to;

	t->seed_given = true;
	reader_read_seed(r, n, &t->seed);
}

static const struct reader_key top_keys[] = {
	{ "hosts", reader_read_hosts, 0, true },
	{ "switches", reader_read_switches, 0, true },
	{ "links", NULL, 0, true }, // when all hosts and switches are known
	{ "jobs", NULL, 0, false },
	{ "seed", read_seed, 0, false },
	{ "sim", reader_read_sim, offsetof(struct topology, sim), false },
	{ "include", NULL, 0, false },	// done before
	{ "defaults", NULL, 0, false }, // likewise
	{ NULL, NULL, 0, false },
};

static void read_second_pass(struct reader *r, yaml_node_t *n, const char *what,
			     void (*read)(struct reader *r, yaml_node_t *n))
{
	if (n->type != YAML_SEQUENCE_NODE) {
		reader_expected(r, n, what);
		return;
	}
	for (unsigned int i = 0; i < reader_list_length(n) && !reader_is_full(r); i++)
		read(r, reader_list_item(r, n, i));
}

static void links_read(struct reader *r, yaml_node_t *n)
{
	if (n->type == YAML_SEQUENCE_NODE) {
		unsigned int nr = reader_list_length(n);

		r->topology->link = reader_alloc(r,
						 nr < TOPOLOGY_LINKS_MAX ? nr : TOPOLOGY_LINKS_MAX,
						 sizeof(*r->topology->link));
		if (!r->topology->link)
			return;
	}
	read_second_pass(r, n, "a list of links such as [h1, s1-p1]", reader_read_link);
}

static void jobs_read(struct reader *r, yaml_node_t *n)
{
	if (n->type == YAML_SEQUENCE_NODE) {
		unsigned int nr = reader_list_length(n);

		r->topology->job = reader_alloc(r, nr < TOPOLOGY_JOBS_MAX ? nr : TOPOLOGY_JOBS_MAX,
						sizeof(*r->topology->job));
		if (!r->topology->job)
			return;
	}
	read_second_pass(r, n, "a list of jobs such as {name: sums, ranks: [h1, h2], run: command}",
			 reader_read_job);
}

static void read_top(struct reader *r, int top)
{
	int links = reader_value(r, top, "links"), jobs = reader_value(r, top, "jobs");

	reader_read_mapping(r, reader_node(r, top), top_keys, r->topology,
			    "a topology (a mapping with hosts, switches and links)");
	if (links)
		links_read(r, reader_node(r, links));
	if (jobs)
		jobs_read(r, reader_node(r, jobs));
	if (r->nr_errors == 0)
		reader_complete(r);
}

struct topology *topology_load(const char *path, FILE *errors)
{
	struct topology *t = calloc(1, sizeof(*t));
	struct reader r = { .topology = t,
			    .errors = errors,
			    .document = calloc(1, sizeof(*r.document)) };
	int top;

	if (!t || !r.document || !yaml_document_initialize(r.document, NULL, NULL, NULL, 1, 1)) {
		fprintf(errors, "%s: error: not enough memory\n", path);
		free(r.document);
		free(t);
		return NULL;
	}
	t->document = r.document;
	top = reader_read_files(&r, path);
	if (r.nr_errors == 0)
		reader_apply_defaults(&r, top);
	if (r.nr_errors == 0)
		read_top(&r, top);
	if (r.nr_errors == 0)
		return t;
	topology_free(t);
	return NULL;
}

const char *topology_path(const struct topology *t, struct topology_place at)
{
	return t->file[at.file].path;
}

void topology_free(struct topology *t)
{
	if (!t)
		return;
	yaml_document_delete(t->document);
	free(t->document);
	for (unsigned int i = 0; i < t->nr_files; i++) {
		free(t->file[i].path);
		free(t->file[i].text);
	}
	reader_free(t->memory);
	free(t);
}
