// SPDX-License-Identifier: BSD-3-Clause
// The workload of a job in a topology file, and the command that its ranks run.
#include <stdarg.h>
#include <string.h>

#include "host/tools/perf.h"
#include "switch/quantity.h"
#include "topologies/topology.h"
#include "topologies/topology_reader.h"

// The words of tally-perf; "all" only by itself.
static const char *const dtype_words[] = { "float32", "float",	  "f32",  "float16", "half",
					   "f16",     "bfloat16", "bf16", "int32",   "int",
					   "i32",     "all",	  NULL };
static const char *const op_words[] = { "sum", "avg", "max", "min", "all", NULL };
static const char *const wire_words[] = { "int32", "int16", NULL };

static void read_dtypes(struct reader *r, yaml_node_t *n, void *to)
{
	bool list = n->type == YAML_SEQUENCE_NODE;
	unsigned int nr = list ? reader_list_length(n) : 1;
	struct topology_list *l = to;

	if (n->type == YAML_MAPPING_NODE || nr == 0 || nr > TOPOLOGY_DTYPES_MAX) {
		reader_expected(r, n, "a type, or a list of 1 to 4 such as [float16, int32]");
		return;
	}
	*l = (struct topology_list){ reader_alloc(r, nr, sizeof(*l->item)), 0 };
	for (unsigned int i = 0; i < nr && l->item; i++) {
		yaml_node_t *item = list ? reader_list_item(r, n, i) : n;
		const char *word = reader_choice(r, item, dtype_words);

		if (word && nr > 1 && strcmp(word, "all") == 0)
			reader_error_node(r, item, "expected 'all' alone, not in a list of %u", nr);
		else if (word)
			l->item[l->nr++] = word;
	}
}

static void read_op(struct reader *r, yaml_node_t *n, void *to)
{
	*(const char **)to = reader_choice(r, n, op_words);
}

static void read_wire(struct reader *r, yaml_node_t *n, void *to)
{
	*(const char **)to = reader_choice(r, n, wire_words);
}

// Digits and K, M or G: the text is later part of a command, so nothing else may be in it.
static bool size_is_good(const char *s)
{
	size_t len = s ? strspn(s, "0123456789") : 0;

	return len && len <= 12 && (!s[len] || (strchr("KMG", s[len]) && !s[len + 1]));
}

static void read_sizes(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_list *l = to;
	unsigned int nr = n->type == YAML_SEQUENCE_NODE ? reader_list_length(n) : 1;

	if (n->type == YAML_MAPPING_NODE || nr == 0 || nr > TOPOLOGY_SIZES_MAX) {
		reader_expected(r, n, "a list of 1 to 64 sizes such as [64K, 1M]");
		return;
	}
	*l = (struct topology_list){ reader_alloc(r, nr, sizeof(*l->item)), 0 };
	for (unsigned int i = 0; i < nr && l->item; i++) {
		yaml_node_t *item = n->type == YAML_SEQUENCE_NODE ? reader_list_item(r, n, i) : n;

		if (size_is_good(reader_text(item)))
			l->item[l->nr++] = reader_text(item);
		else
			reader_expected(r, item, "a size in bytes such as 1000, 64K or 1M");
	}
}

// The same list may be several jobs' and is read once.
static void read_file(struct reader *r, yaml_node_t *n, void *to)
{
	const unsigned int nr_before = r->topology->nr_files;
	const unsigned int list = reader_read_list_file(r, n);
	struct perf_trace_error error;
	struct perf_trace *trace;

	*(unsigned int *)to = list;
	if (!list || r->topology->nr_files == nr_before)
		return;
	trace = reader_alloc(r, 1, sizeof(*trace));
	if (trace && perf_trace_parse(r->topology->file[list].text, r->topology->file[list].size,
				      trace, &error))
		reader_error(r, (struct topology_place){ error.line - 1, error.column - 1, list },
			     "%s", error.text);
}

// One time, or the least and the most.
static void read_compute(struct reader *r, yaml_node_t *n, void *to)
{
	uint64_t *ns = to;

	if (n->type != YAML_SEQUENCE_NODE) {
		reader_read_time(r, n, &ns[0]);
		ns[1] = ns[0];
		return;
	}
	if (reader_list_length(n) != 2) {
		reader_expected(
			r, n, "a time such as 20ms, or the least and the most as in [18ms, 22ms]");
		return;
	}
	for (unsigned int i = 0; i < 2; i++)
		reader_read_time(r, reader_list_item(r, n, i), &ns[i]);
	if (ns[1] < ns[0])
		reader_error_node(r, n, "expected the lesser time first, not %g s and %g s",
				  (double)ns[0] / 1e9, (double)ns[1] / 1e9);
}

static void read_factor(struct reader *r, yaml_node_t *n, void *to)
{
	static const struct quantity_unit none[] = { { "", 0, 1 }, { NULL, 0, 0 } };
	const char *text = reader_text(n);
	double v;

	if (!text || quantity_parse(text, none, &v) || v < 1 || v > 1000)
		reader_expected(r, n, "how many times as long it takes, 1 to 1000");
	else
		*(double *)to = v;
}

// Names of hosts; whether these have ranks of the job is known at its end.
static void read_slow(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_stragglers *s = to;
	bool list = n->type == YAML_SEQUENCE_NODE;
	unsigned int nr = list ? reader_list_length(n) : 1;

	if (n->type == YAML_MAPPING_NODE || nr == 0 || nr > TOPOLOGY_RANKS_MAX) {
		reader_expected(r, n, "a host, or a list of 1 to 1024 such as [h3, h4]");
		return;
	}
	s->hosts = (struct topology_list){ reader_alloc(r, nr, sizeof(*s->hosts.item)), 0 };
	s->place = reader_alloc(r, nr, sizeof(*s->place));
	for (unsigned int i = 0; i < nr && s->hosts.item && s->place; i++) {
		yaml_node_t *item = list ? reader_list_item(r, n, i) : n;

		if (!reader_text(item) || !*reader_text(item)) {
			reader_expected(r, item, "the name of a host");
			continue;
		}
		s->place[s->hosts.nr] = reader_place(item);
		s->hosts.item[s->hosts.nr++] = reader_text(item);
	}
}

static const struct reader_key straggler_keys[] = {
	{ "ranks", read_slow, 0, false },
	{ "probability", reader_read_share, offsetof(struct topology_stragglers, probability),
	  false },
	{ "factor", read_factor, offsetof(struct topology_stragglers, factor), true },
	{ NULL, NULL, 0, false },
};

static void read_stragglers(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_stragglers *s = to;
	const unsigned int before = r->nr_errors;

	*s = (struct topology_stragglers){ .given = true };
	reader_read_mapping(
		r, n, straggler_keys, s,
		"stragglers such as {ranks: h3, factor: 2} or {probability: 1%, factor: 3}");
	if (r->nr_errors == before && !s->hosts.nr && s->probability <= 0 && !r->defaults)
		reader_error_node(
			r, n, "expected 'ranks', 'probability' or both of stragglers, not neither");
}

static void read_iterations(struct reader *r, yaml_node_t *n, void *to)
{
	(void)reader_read_whole(r, n, (struct reader_whole){ 1, 1000000 }, to);
}

static void read_warmup(struct reader *r, yaml_node_t *n, void *to)
{
	(void)reader_read_whole(r, n, (struct reader_whole){ 0, 1000000 }, to);
}

static void read_check(struct reader *r, yaml_node_t *n, void *to)
{
	(void)reader_read_whole(r, n, (struct reader_whole){ 0, 1 }, to);
}

static const struct reader_key workload_keys[] = {
	{ "sizes", read_sizes, offsetof(struct topology_workload, sizes), false },
	{ "file", read_file, offsetof(struct topology_workload, list), false },
	{ "compute", read_compute, offsetof(struct topology_workload, compute_ns), false },
	{ "stragglers", read_stragglers, offsetof(struct topology_workload, stragglers), false },
	{ "dtype", read_dtypes, offsetof(struct topology_workload, dtypes), false },
	{ "op", read_op, offsetof(struct topology_workload, op), false },
	{ "wire", read_wire, offsetof(struct topology_workload, wire), false },
	{ "iterations", read_iterations, offsetof(struct topology_workload, iterations), false },
	{ "warmup", read_warmup, offsetof(struct topology_workload, warmup), false },
	{ "check", read_check, offsetof(struct topology_workload, check), false },
	{ NULL, NULL, 0, false },
};

void reader_read_workload(struct reader *r, yaml_node_t *n, void *to)
{
	static const char *dtypes[] = { "float32" };
	struct topology_workload *w = to;
	const unsigned int before = r->nr_errors;

	*w = (struct topology_workload){ .given = true,
					 .dtypes = { .item = dtypes, .nr = 1 },
					 .op = "sum",
					 .iterations = 20,
					 .warmup = 1,
					 .check = 1 };
	reader_read_mapping(r, n, workload_keys, w, "a workload such as {sizes: [64K, 1M]}");
	if (n->type != YAML_MAPPING_NODE || r->defaults || r->nr_errors != before)
		return;
	if (!w->sizes.nr == !w->list)
		reader_error_node(r, n, "expected either 'sizes' or 'file' in a workload, not %s",
				  w->list ? "both" : "neither");
	else if (!w->list && (w->compute_ns[1] || w->stragglers.given))
		reader_error_node(
			r, n,
			"expected 'file' in a workload with '%s', which is for lists of tensors",
			w->compute_ns[1] ? "compute" : "stragglers");
	else if (w->stragglers.given && !w->compute_ns[1])
		reader_error_node(
			r, n,
			"expected 'compute' in a workload with 'stragglers', who take longer for it");
}

static bool rank_is_at(const struct topology_job *j, const char *host)
{
	for (unsigned int i = 0; i < j->ranks.nr; i++)
		if (strcmp(j->ranks.item[i], host) == 0)
			return true;
	return false;
}

void reader_check_workload(struct reader *r, const struct topology_job *j)
{
	const struct topology_stragglers *s = &j->workload.stragglers;

	for (unsigned int i = 0; i < s->hosts.nr; i++)
		if (!rank_is_at(j, s->hosts.item[i]))
			reader_error(r, s->place[i],
				     "expected a host with a rank of job %s, not '%s'", j->name,
				     s->hosts.item[i]);
}

struct command {
	char *text;
	size_t len, size;
};

__attribute__((format(printf, 2, 3))) static void command_add(struct command *c, const char *format,
							      ...)
{
	va_list ap;

	if (c->len >= c->size)
		return;
	va_start(ap, format);
	c->len += (size_t)vsnprintf(c->text + c->len, c->size - c->len, format, ap);
	va_end(ap);
}

static void command_add_list(struct command *c, const char *option, const struct topology_list *l)
{
	command_add(c, " %s ", option);
	for (unsigned int i = 0; i < l->nr; i++)
		command_add(c, "%s%s", i ? "," : "", l->item[i]);
}

/* For a shell. */
static void command_add_quoted(struct command *c, const char *text)
{
	command_add(c, "'");
	for (; *text; text++)
		if (*text == '\'')
			command_add(c, "'\\''");
		else
			command_add(c, "%c", *text);
	command_add(c, "'");
}

static bool rank_is_slow(const struct topology_job *j, unsigned int rank)
{
	const struct topology_list *hosts = &j->workload.stragglers.hosts;

	for (unsigned int i = 0; i < hosts->nr; i++)
		if (strcmp(hosts->item[i], j->ranks.item[rank]) == 0)
			return true;
	return false;
}

/* Of a sweep's first ranks none may be one. */
static void command_add_stragglers(struct command *c, const struct topology_job *j)
{
	const struct topology_stragglers *s = &j->workload.stragglers;
	const struct command before = *c;
	bool any = s->probability > 0, listed = false;

	command_add(c, " --stragglers factor=%.9g", s->factor);
	if (any)
		command_add(c, ",probability=%.9g", s->probability);
	for (unsigned int i = 0; i < j->ranks.nr; i++) {
		if (!rank_is_slow(j, i))
			continue;
		command_add(c, "%s%u", listed ? "+" : ",ranks=", i);
		any = listed = true;
	}
	if (!any)
		*c = before;
}

static void command_add_steps(struct command *c, const struct topology *t,
			      const struct topology_job *j)
{
	const uint64_t *ns = j->workload.compute_ns;

	command_add(c, " --trace ");
	command_add_quoted(c, t->file[j->workload.list].path);
	if (ns[1])
		command_add(c, " --compute %lluns..%lluns", (unsigned long long)ns[0],
			    (unsigned long long)ns[1]);
	if (j->workload.stragglers.given)
		command_add_stragglers(c, j);
	if (ns[1] > ns[0] || j->workload.stragglers.probability > 0)
		command_add(c, " --compute-seed %llu",
			    (unsigned long long)(t->seed_given ? t->seed : 1));
}

int topology_job_command(const struct topology *t, const struct topology_job *j, char *text,
			 size_t size)
{
	const struct topology_workload *w = &j->workload;
	struct command c = { text, 0, size };

	if (j->run) {
		command_add(&c, "%s", j->run);
		return c.len < size ? 0 : -1;
	}
	command_add(&c, "exec tally-perf");
	if (w->list)
		command_add_steps(&c, t, j);
	else
		command_add_list(&c, "--sizes", &w->sizes);
	command_add_list(&c, "-d", &w->dtypes);
	if (w->wire)
		command_add(&c, " --wire %s", w->wire);
	command_add(&c, " -o %s -n %llu -w %llu -c %llu", w->op, (unsigned long long)w->iterations,
		    (unsigned long long)w->warmup, (unsigned long long)w->check);
	return c.len < size ? 0 : -1;
}
