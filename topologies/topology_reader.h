/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files that read a topology share: errors with their place, scalars, lists and mappings.
 */
#ifndef TOPOLOGIES_TOPOLOGY_READER_H
#define TOPOLOGIES_TOPOLOGY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#include "topologies/topology.h"

/*
 * One pass over a libyaml document, into which all files are put: ranges of names are written out,
 * what is included is merged, and defaults are filled in before anything is read.  The document
 * keeps the place of every node, so an error points at the very word; the index of its mark is the
 * file's.  Reading goes on after an error, so that one run shows them all.  Aliases are nodes that
 * several places share, never copies, and nothing here descends further than the format is deep: a
 * file can neither loop nor explode.  A pointer to a node is good until one is added, its number
 * always.
 */
struct reader {
	struct topology *topology;
	yaml_document_t *document;
	FILE *errors; /* NULL: they are only counted */
	unsigned int nr_errors;
	/* Of all names that a range stands for, or others at one place, the first error is enough. */
	unsigned int nr_shown;
	struct topology_place last;
	unsigned int nr_names;	/* made of ranges */
	unsigned int nr_merged; /* keys of mappings */
	bool defaults;		/* these are read: no key of a mapping is required */
};

/* The offset of a key that is known in order to say why it cannot be had. */
#define READER_REFUSED SIZE_MAX

/* One key that a mapping may hold, and what reads its value into `to` + offset. */
struct reader_key {
	const char *name;
	void (*read)(struct reader *r, yaml_node_t *value,
		     void *to); /* NULL: known, not used here */
	size_t offset;
	bool required;
};

#define READER_PRINTF(f) __attribute__((format(printf, f, (f) + 1)))

READER_PRINTF(3)
void reader_error(struct reader *r, struct topology_place at, const char *format, ...);
READER_PRINTF(3)
void reader_error_node(struct reader *r, const yaml_node_t *n, const char *format, ...);

/* What a node is, for an error: 'text' in quotes, "a list", "a mapping", "nothing". */
struct reader_words {
	char text[64];
};
struct reader_words reader_describe(const yaml_node_t *n);

/* Enough errors for one run: what is left of a list or mapping need not be read. */
bool reader_is_full(const struct reader *r);

/* "expected <expectation>, not <what is there>" */
void reader_expected(struct reader *r, const yaml_node_t *n, const char *expectation);

/* The same for the name of a node, with the nearest there is. */
void reader_expected_node(struct reader *r, const yaml_node_t *n, const char *expectation);

/* "; did you mean 'host1'?", or "". */
struct reader_hint {
	char text[64];
};
struct reader_hint reader_hint_node(const struct topology *t, const char *name);

/* "line 4", or "line 4 of base.yaml" as seen from another file. */
struct reader_words reader_line(const struct reader *r, struct topology_place of,
				struct topology_place seen_from);

/* Zeroed, and freed with the topology; NULL after an error. */
void *reader_alloc(struct reader *r, size_t nr, size_t size);
void reader_free(struct topology_memory *m);

struct topology_place reader_place(const yaml_node_t *n);

/* NULL: no scalar, or a NUL inside. */
const char *reader_text(const yaml_node_t *n);
bool reader_is_empty(const yaml_node_t *n);

unsigned int reader_list_length(const yaml_node_t *n);
unsigned int reader_mapping_length(const yaml_node_t *n);
yaml_node_t *reader_list_item(struct reader *r, const yaml_node_t *n, unsigned int i);
yaml_node_t *reader_node(struct reader *r, int id);

/* The value of a mapping's key, 0: no such key, or no mapping. */
int reader_value(struct reader *r, int map, const char *name);
/* New nodes, by their numbers, with the place of another; 0 after an error. */
int reader_add_scalar(struct reader *r, const char *text, int place_of);
int reader_add_list(struct reader *r, int place_of);
int reader_add_mapping(struct reader *r, int place_of);
/* Return false after an error. */
bool reader_append_item(struct reader *r, int list, int item);
bool reader_append_pair(struct reader *r, int map, int key, int value);

struct reader_whole {
	uint64_t min, max;
};

/* Callbacks of struct reader_key; `to` is what the name says. */
void reader_read_text(struct reader *r, yaml_node_t *n, void *to); /* const char * */
/* The same, of a length that can be run. */
void reader_read_command(struct reader *r, yaml_node_t *n, void *to);
void reader_read_list(struct reader *r, yaml_node_t *n, void *to);  /* struct topology_list */
void reader_read_time(struct reader *r, yaml_node_t *n, void *to);  /* uint64_t, ns */
void reader_read_size(struct reader *r, yaml_node_t *n, void *to);  /* uint64_t, bytes */
void reader_read_delay(struct reader *r, yaml_node_t *n, void *to); /* uint64_t, ns */
void reader_read_rate(struct reader *r, yaml_node_t *n, void *to);  /* uint64_t, bit/s */
void reader_read_share(struct reader *r, yaml_node_t *n, void *to); /* double */
void reader_read_seed(struct reader *r, yaml_node_t *n, void *to);  /* uint64_t */
void reader_read_mac(struct reader *r, yaml_node_t *n, void *to);   /* uint64_t */

/* One of the words, which end with NULL.  NULL: none of them, and it was said. */
const char *reader_choice(struct reader *r, const yaml_node_t *n, const char *const *words);

/* Returns -1 after an error, and leaves *to alone. */
int reader_read_whole(struct reader *r, yaml_node_t *n, struct reader_whole range, uint64_t *to);

/*
 * Reads `n` by the table, which ends with a NULL name; `what` is said where no mapping or no key
 * is.
 */
void reader_read_mapping(struct reader *r, yaml_node_t *n, const struct reader_key *keys, void *to,
			 const char *what);

/* Says so and returns true if an earlier key of the mapping has the same text as `pair`'s. */
bool reader_key_repeats(struct reader *r, const yaml_node_t *map, const yaml_node_pair_t *pair);

/* topology_yaml.c: a file's text; the number of its top node, 0 after an error. */
int reader_read_yaml(struct reader *r, unsigned int file);
/*
 * topology_file.c: the file and those it includes, merged.  The number of the mapping they make, 0
 * after an error.
 */
int reader_read_files(struct reader *r, const char *path);
/* topology_range.c: writes out the ranges of a file's names. */
void reader_expand(struct reader *r, int top);
/* topology_merge.c: whose scalars win in `above`; lists are put behind each other, or replaced. */
enum reader_lists { READER_APPEND, READER_REPLACE };
int reader_merge(struct reader *r, int below, int above, enum reader_lists lists);
/* topology_defaults.c: fills in what `defaults` says. */
void reader_apply_defaults(struct reader *r, int top);
/* topology_node.c */
void reader_read_hosts(struct reader *r, yaml_node_t *n, void *topology);
void reader_read_switches(struct reader *r, yaml_node_t *n, void *topology);
void reader_check_host_defaults(struct reader *r, yaml_node_t *n, void *unused);
void reader_check_switch_defaults(struct reader *r, yaml_node_t *n, void *unused);
/* topology_link.c: one item of `links:`. */
void reader_read_link(struct reader *r, yaml_node_t *n);
void reader_check_link_defaults(struct reader *r, yaml_node_t *n, void *unused);
/* topology_job.c: one item of `jobs:`. */
void reader_read_job(struct reader *r, yaml_node_t *n);
/* topology_sim.c: of struct topology_sim, and whether there are so many workers. */
void reader_read_sim(struct reader *r, yaml_node_t *n, void *to);
void reader_check_sim(struct reader *r);
void reader_check_job_defaults(struct reader *r, yaml_node_t *n, void *unused);
/* topology_workload.c: of a job; and whether that fits the job's ranks. */
void reader_read_workload(struct reader *r, yaml_node_t *n,
			  void *to); /* struct topology_workload */
void reader_check_workload(struct reader *r, const struct topology_job *j);
/* topology_file.c: the list of tensors that a node names, an index into topology.file; 0 after an error. */
unsigned int reader_read_list_file(struct reader *r, const yaml_node_t *n);
/*
 * topology_tree.c: which switch is above which, and whether the ranks of all jobs fit that.  The
 * second only if the first found nothing.
 */
void reader_tree(struct reader *r);
void reader_tree_jobs(struct reader *r);
/* topology_faults.c: what a switch would refuse of a link's faults. */
void reader_check_faults(struct reader *r, const struct topology_link *l);
/* topology_check.c: what no single key can tell; also chooses addresses. */
void reader_complete(struct reader *r);

#endif
