// SPDX-License-Identifier: BSD-3-Clause
// Jobs of a topology file: who takes part, what they run, and when.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

static void read_job_name(struct reader *r, yaml_node_t *n, void *to)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	struct topology_job *j = to;
	const char *s = reader_text(n);

	if (!s || !*s || strlen(s) > TOPOLOGY_JOB_NAME_MAX || strspn(s, letters) != strlen(s)) {
		reader_expected(r, n, "a job's name: 1 to 63 letters, digits, '-', '_' and '.'");
		return;
	}
	for (unsigned int i = 0; i < r->topology->nr_jobs; i++) {
		const struct topology_job *o = &r->topology->job[i];

		if (o != j && o->name && strcmp(o->name, s) == 0) {
			reader_error_node(r, n,
					  "expected a new job name, not '%s': the job of %s has it",
					  s, reader_line(r, o->place, reader_place(n)).text);
			return;
		}
	}
	j->name = s;
}

static void read_rank(struct reader *r, yaml_node_t *n, struct topology_job *j)
{
	const char *name = reader_text(n);
	int i = name ? topology_node_find(r->topology, name, strlen(name)) : -1;

	if (i < 0) {
		reader_expected_node(r, n, "the name of a host");
	} else if (r->topology->node[i].is_switch) {
		reader_error_node(r, n, "expected a host, not switch %s", name);
	} else {
		j->rank_node[j->ranks.nr] = (unsigned int)i;
		j->rank_place[j->ranks.nr] = reader_place(n);
		j->ranks.item[j->ranks.nr++] = name;
	}
}

static void read_ranks(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_job *j = to;
	unsigned int nr = n->type == YAML_SEQUENCE_NODE ? reader_list_length(n) : 0;

	if (n->type != YAML_SEQUENCE_NODE) {
		reader_expected(r, n, "a list");
		return;
	}
	if (nr == 0)
		reader_error_node(r, n, "expected at least one rank, not an empty list");
	if (nr > TOPOLOGY_RANKS_MAX) {
		reader_error_node(r, n, "expected at most %d ranks, not %u", TOPOLOGY_RANKS_MAX,
				  nr);
		return;
	}
	j->ranks.item = reader_alloc(r, nr, sizeof(*j->ranks.item));
	j->rank_node = reader_alloc(r, nr, sizeof(*j->rank_node));
	j->rank_place = reader_alloc(r, nr, sizeof(*j->rank_place));
	if (!j->ranks.item || !j->rank_node || !j->rank_place)
		return;
	for (unsigned int k = 0; k < nr && !reader_is_full(r); k++)
		read_rank(r, reader_list_item(r, n, k), j);
}

static bool env_key_is_good(const char *s)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return s && *s && strspn(s, letters) == strlen(s) && (*s < '0' || *s > '9');
}

static void read_env(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_job *j = to;
	size_t bytes = 0;

	if (n->type != YAML_MAPPING_NODE) {
		reader_expected(r, n,
				"a mapping of environment variables such as {TALLY_WINDOW: 64}");
		return;
	}
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
	     p < n->data.mapping.pairs.top && !reader_is_full(r); p++) {
		yaml_node_t *k = reader_node(r, p->key), *v = reader_node(r, p->value);

		if (!env_key_is_good(reader_text(k))) {
			reader_expected(r, k, "the name of an environment variable");
		} else if (!reader_text(v)) {
			reader_expected(r, v, "text");
		} else if (j->nr_env == TOPOLOGY_ENV_MAX) {
			reader_error_node(r, k, "expected at most %d variables, not more",
					  TOPOLOGY_ENV_MAX);
			return;
		} else if ((bytes += strlen(reader_text(k)) + strlen(reader_text(v)) + 2) >
			   TOPOLOGY_ENV_BYTES) {
			reader_error_node(r, v,
					  "expected at most %d bytes of names and values of all "
					  "variables of a job, not %zu up to here",
					  TOPOLOGY_ENV_BYTES, bytes);
			return;
		} else if (!reader_key_repeats(r, n, p)) {
			j->env[j->nr_env++] =
				(struct topology_env){ reader_text(k), reader_text(v) };
		}
	}
}

static void read_stop(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_job *j = to;

	j->stop_place = reader_place(n);
	reader_read_time(r, n, &j->stop_ns);
}

static const struct reader_key job_keys[] = {
	{ "name", read_job_name, 0, true }, // these two see the whole job
	{ "ranks", read_ranks, 0, true },
	{ "run", reader_read_command, offsetof(struct topology_job, run), false },
	{ "workload", reader_read_workload, offsetof(struct topology_job, workload), false },
	{ "env", read_env, 0, false },
	{ "start", reader_read_time, offsetof(struct topology_job, start_ns), false },
	{ "stop", read_stop, 0, false },
	{ NULL, NULL, 0, false },
};

static const struct reader_key job_defaults[] = {
	{ "run", reader_read_command, offsetof(struct topology_job, run), false },
	{ "workload", reader_read_workload, offsetof(struct topology_job, workload), false },
	{ "env", read_env, 0, false },
	{ "start", reader_read_time, offsetof(struct topology_job, start_ns), false },
	{ "stop", read_stop, 0, false },
	{ NULL, NULL, 0, false },
};

void reader_check_job_defaults(struct reader *r, yaml_node_t *n, void *unused)
{
	struct topology_job scratch = { .name = "" };

	(void)unused;
	reader_read_mapping(r, n, job_defaults, &scratch,
			    "a mapping such as {workload: {iterations: 5}}");
}

void reader_read_job(struct reader *r, yaml_node_t *n)
{
	struct topology *t = r->topology;
	struct topology_job *j = &t->job[t->nr_jobs];
	unsigned int before = r->nr_errors;

	if (t->nr_jobs == TOPOLOGY_JOBS_MAX) {
		reader_error_node(r, n, "expected at most %d jobs, not more", TOPOLOGY_JOBS_MAX);
		return;
	}
	t->nr_jobs++;
	j->place = reader_place(n);
	reader_read_mapping(r, n, job_keys, j,
			    "a job such as {name: sums, ranks: [h1, h2], run: command}");
	if (r->nr_errors != before)
		return;
	reader_check_workload(r, j);
	if (!j->run == !j->workload.given)
		reader_error_node(r, n, "expected either 'run' or 'workload' in job %s, not %s",
				  j->name, j->run ? "both" : "neither");
	if (j->stop_ns && j->stop_ns <= j->start_ns)
		reader_error(r, j->stop_place,
			     "expected job %s to stop after its start, %g s, not at %g s", j->name,
			     (double)j->start_ns / 1e9, (double)j->stop_ns / 1e9);
}
