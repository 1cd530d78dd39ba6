/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology file as data: hosts, switches, the links between them, and the jobs to run. */
#ifndef TOPOLOGIES_TOPOLOGY_H
#define TOPOLOGIES_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	TOPOLOGY_NAME_MAX = 15, /* a node's name is also a host name and part of interface names */
	TOPOLOGY_NODES_MAX = 2048,
	TOPOLOGY_LINKS_MAX = 4096,
	TOPOLOGY_PORT_MAX = 255,
	TOPOLOGY_JOBS_MAX = 32,
	TOPOLOGY_RANKS_MAX = 1024, /* of one job */
	/* What real namespaces can show; all jobs together have so many ranks. */
	TOPOLOGY_NETNS_NODES_MAX = 250,
	TOPOLOGY_NETNS_LINKS_MAX = 500,
	TOPOLOGY_NETNS_RANKS_MAX = 256,
	TOPOLOGY_MTU_MIN = 256, /* PORT_MTU_MIN: what a switch takes */
	TOPOLOGY_MTU_MAX = 65535,
	TOPOLOGY_JOB_NAME_MAX = 63, /* what a JOIN message carries */
	TOPOLOGY_LIST_MAX = 256,    /* commands of a host */
	TOPOLOGY_SIZES_MAX = 64,
	TOPOLOGY_DTYPES_MAX = 4, /* of one run of tally-perf */
	TOPOLOGY_ENV_MAX = 32,
	TOPOLOGY_ENV_BYTES = 65536,  /* names and values of all variables of a job */
	TOPOLOGY_COMMAND_MAX = 8191, /* bytes */
	TOPOLOGY_SIM_WORKERS = 64,
	TOPOLOGY_FILE_MAX = 1 << 20,
	TOPOLOGY_FILES_MAX = 64, /* the first, all that are included, and lists of tensors */
	TOPOLOGY_NO_NODE = TOPOLOGY_NODES_MAX,
};

/* Where something stands in a file, both from 0. */
struct topology_place {
	size_t line, column;
	unsigned int file; /* index into topology.file */
};

struct topology_list {
	const char **item;
	unsigned int nr;
};

struct topology_node {
	const char *name;
	struct topology_place place;
	bool is_switch;
	bool restart; /* a switch: start it again when it dies */
	bool outside; /* a host: behind an interface, so that the fabric does not have it */
	/* Of a switch, 0: tally-switch's default. */
	unsigned int jobs, slots;
	uint64_t memory;     /* bytes, of the slots' values */
	bool ip_given;	     /* in the file, not chosen by us */
	uint32_t ip;	     /* host byte order */
	unsigned int prefix; /* bits */
	uint64_t mac;	     /* of eth0, in the low 48 bits */
	unsigned int nr_links;
	const char *parent_given; /* of a switch, NULL: found by its links */
	struct topology_place parent_place;
	/* Found in a good file: the switch above, TOPOLOGY_NO_NODE for the root; how many are above. */
	unsigned int parent, depth;
	unsigned int uplink;	       /* of a switch with a parent: index of the link */
	struct topology_list commands; /* run in a host before its ranks */
};

struct topology_end {
	unsigned int node; /* index into topology.node */
	unsigned int port; /* of a switch, from 1; of a host: its port-th link, from 0 */
};

/* What else a switch can do to a link's packets, as it is written in the file. */
enum topology_fault_key {
	TOPOLOGY_BURST,
	TOPOLOGY_DISTANCE,
	TOPOLOGY_JITTER,
	TOPOLOGY_QUEUE,
	TOPOLOGY_CORRUPT,
	TOPOLOGY_CORRUPT_CHECKED,
	TOPOLOGY_DOWN,
	TOPOLOGY_FAULTS
};

struct topology_fault {
	const char *text; /* NULL: not given */
	struct topology_place place;
};

/* Shares are 0 to 1. */
struct topology_link {
	struct topology_place place;
	struct topology_end end[2];
	bool delay_given, rate_given;
	uint64_t delay_ns, rate_bps;
	double loss, reorder, dup;
	struct topology_fault fault[TOPOLOGY_FAULTS];
	unsigned int mtu; /* 0: the default */
	/* Of the machine, that the ends stand on; NULL: none.  A host whose end alone has none is outside. */
	const char *interface[2];
	struct topology_list interfaces; /* as they are written */
	struct topology_place interface_place;
};

/* Ranks that compute factor times as long: those at the hosts, and each in an iteration by chance. */
struct topology_stragglers {
	bool given;
	struct topology_list hosts;
	struct topology_place *place;
	double probability, factor;
};

struct topology_workload {
	bool given;
	struct topology_list sizes, dtypes;
	unsigned int list;	/* of tensors, an index into topology.file; 0: sizes */
	uint64_t compute_ns[2]; /* of an iteration, the least and the most */
	struct topology_stragglers stragglers;
	const char *op;
	const char *wire; /* NULL: as TALLY_WIRE says */
	uint64_t iterations, warmup, check;
};

struct topology_env {
	const char *key, *value;
};

struct topology_job {
	struct topology_place place;
	const char *name;
	struct topology_list ranks; /* names of hosts */
	unsigned int *rank_node;    /* the same as indices */
	struct topology_place *rank_place;
	const char *run; /* NULL: the workload */
	/* Both from when the network is ready; ranks that run at the second are ended, 0: never. */
	uint64_t start_ns, stop_ns;
	struct topology_place stop_place;
	struct topology_workload workload;
	struct topology_env env[TOPOLOGY_ENV_MAX];
	unsigned int nr_env;
};

/* What `tally-fabric sim` makes of the file, if no option says otherwise: a table. */
struct topology_sim {
	struct topology_list workers; /* a line each */
	struct topology_place place;  /* of these */
	bool compare;		      /* also a ring and a parameter server */
};

struct topology_file {
	char *path, *text;
	size_t size;
	uint64_t device, inode;
	bool open; /* while those that it includes are read */
	bool list; /* of tensors, and no part of the topology's text */
	/* Those that it includes, in the order of its text: indices into topology.file. */
	unsigned char include[TOPOLOGY_FILES_MAX];
	unsigned int nr_includes;
};

/* Where the name of a list of tensors stands, and which file that is. */
struct topology_use {
	struct topology_place place;
	unsigned int file;
};

struct topology {
	unsigned int nr_nodes, nr_links, nr_jobs;
	bool seed_given;
	uint64_t seed;
	struct topology_sim sim;
	struct topology_node *node;
	struct topology_link *link;
	struct topology_job *job;
	unsigned int *switches; /* in a good file: the root first, parents before children */
	unsigned int nr_switches;
	const char *path; /* of the first file */
	struct topology_file file[TOPOLOGY_FILES_MAX];
	unsigned int nr_files;
	struct topology_use use[TOPOLOGY_JOBS_MAX + TOPOLOGY_FILES_MAX];
	unsigned int nr_uses;
	/* These two are ours: strings above point into document, arrays lie in memory. */
	void *document;
	struct topology_memory *memory;
};

/*
 * Reads a file and fills in what it leaves out.  Errors go to `errors` as file:line:column: error:
 * ..., with the line and a caret, at most 20; then NULL comes back.  The caller frees the result.
 */
struct topology *topology_load(const char *path, FILE *errors);
void topology_free(struct topology *t);

/*
 * topology_copy.c: writes DIR/topology.yaml (or .json) and, as topology-1.yaml and so on, what it includes, and lists of
 * tensors as list-2.csv and so on, so that they name each other there.  0, or -1 after saying why not.
 */
int topology_copy(const struct topology *t, const char *dir);

/* The one of its files that a path names, too; NULL: none. */
const char *topology_reads(const struct topology *t, const char *path);

/* The file of a place, as it was named. */
const char *topology_path(const struct topology *t, struct topology_place at);

/*
 * 0 if real namespaces can show this topology, -1 after saying why not.  with_jobs: there is also
 * work.
 */
int topology_check_netns(struct topology *t, bool with_jobs, FILE *errors);
/* The same of one process that has all ranks; max_ranks: of all jobs together, 0: any number. */
int topology_check_local(struct topology *t, unsigned int max_ranks, FILE *errors);

/* TALLY_RANGES of a rank, "" below the root itself. */
struct topology_ranges {
	char text[48];
};
struct topology_ranges topology_ranges(const struct topology *t, const struct topology_job *j,
				       unsigned int rank);

/* KEY=VALUE,... of a link's faults, "" if it has none. */
struct topology_faults_text {
	char text[1024];
};
void topology_faults(const struct topology_link *l, struct topology_faults_text *to);

const char *topology_fault_name(enum topology_fault_key key);

/* 0 if the switches form one tree, whose parents and depths are then known; else -1, silently. */
int topology_tree(struct topology *t);

/* The index of a node by its name, -1: none. */
int topology_node_find(const struct topology *t, const char *name, size_t len);

/*
 * A share such as 1% or 0.01 (0 to 1), or a whole number in [min, max]; 0, or -1 and *out
 * untouched.
 */
int topology_share_parse(const char *text, double *out);
int topology_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* The shell command of each rank of a job; 0, or -1 if it does not fit. */
int topology_job_command(const struct topology *t, const struct topology_job *j, char *text,
			 size_t size);

#endif
