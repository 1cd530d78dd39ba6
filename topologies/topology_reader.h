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
 * One pass over a libyaml document.  The document keeps the place of every node, so an error points
 * at the very word.  Reading goes on after an error, so that one run shows them all.  Aliases are
 * nodes that several places share, never copies, and nothing here descends further than the format
 * is deep: a file can neither loop nor explode.
 */
struct reader {
	struct topology *topology;
	yaml_document_t *document;
	FILE *errors;
	unsigned int nr_errors;
};

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

/* Enough errors for one run: what is left of a list or mapping need not be read. */
bool reader_is_full(const struct reader *r);

/* "expected <expectation>, not <what is there>" */
void reader_expected(struct reader *r, const yaml_node_t *n, const char *expectation);

/* What a node is, for an error: 'text' in quotes, "a list", "a mapping", "nothing". */
struct reader_words {
	char text[64];
};
struct reader_words reader_describe(const yaml_node_t *n);

struct topology_place reader_place(const yaml_node_t *n);

/* NULL: no scalar, or a NUL inside. */
const char *reader_text(const yaml_node_t *n);
bool reader_is_empty(const yaml_node_t *n);

unsigned int reader_list_length(const yaml_node_t *n);
yaml_node_t *reader_list_item(struct reader *r, const yaml_node_t *n, unsigned int i);
yaml_node_t *reader_node(struct reader *r, int id);

struct reader_whole {
	uint64_t min, max;
};

/* Callbacks of struct reader_key; `to` is what the name says. */
void reader_read_text(struct reader *r, yaml_node_t *n, void *to);  /* const char * */
void reader_read_list(struct reader *r, yaml_node_t *n, void *to);  /* struct topology_list */
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

/* topology_job.c: one item of `jobs:`. */
void reader_read_job(struct reader *r, yaml_node_t *n);
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
