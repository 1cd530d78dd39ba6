// SPDX-License-Identifier: BSD-3-Clause
// What a topology file asks of `tally-fabric sim`: a table of the job with more and more workers.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

static void read_workers(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_sim *sim = to;
	unsigned int nr = n->type == YAML_SEQUENCE_NODE ? reader_list_length(n) : 0;
	uint64_t v;

	if (nr == 0 || nr > TOPOLOGY_SIM_WORKERS) {
		reader_expected(r, n, "a list of 1 to 64 numbers of workers such as [2, 4, 8]");
		return;
	}
	sim->place = reader_place(n);
	sim->workers = (struct topology_list){ reader_alloc(r, nr, sizeof(*sim->workers.item)), 0 };
	for (unsigned int i = 0; i < nr && sim->workers.item; i++) {
		yaml_node_t *item = reader_list_item(r, n, i);

		if (reader_read_whole(r, item, (struct reader_whole){ 2, TOPOLOGY_RANKS_MAX },
				      &v) == 0)
			sim->workers.item[sim->workers.nr++] = reader_text(item);
	}
}

static void read_compare(struct reader *r, yaml_node_t *n, void *to)
{
	uint64_t v;

	if (reader_read_whole(r, n, (struct reader_whole){ 0, 1 }, &v) == 0)
		((struct topology_sim *)to)->compare = v;
}

static const struct reader_key sim_keys[] = {
	{ "workers", read_workers, 0, false }, // has two fields
	{ "compare", read_compare, 0, false },
	{ NULL, NULL, 0, false },
};

void reader_read_sim(struct reader *r, yaml_node_t *n, void *to)
{
	reader_read_mapping(r, n, sim_keys, to,
			    "a mapping such as {workers: [2, 4, 8], compare: 1}");
}

void reader_check_sim(struct reader *r)
{
	const struct topology *t = r->topology;
	uint64_t v;

	for (unsigned int i = 0; i < t->sim.workers.nr; i++) {
		if (t->nr_jobs != 1) {
			reader_error(r, t->sim.place, "expected one job for these workers, not %u",
				     t->nr_jobs);
			return;
		}
		if (topology_number_parse(t->sim.workers.item[i], 2, t->job->ranks.nr, &v)) {
			reader_error(r, t->sim.place,
				     "expected at most the %u ranks of job %s, not %s workers",
				     t->job->ranks.nr, t->job->name, t->sim.workers.item[i]);
			return;
		}
	}
}
