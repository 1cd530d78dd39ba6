/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.h - every option of a communicator: one table that names, documents, parses and checks it.
 *
 * Precedence: tally_config_set(), environment, the file named by TALLY_CONF, what the launcher says
 * (rank, size, job), default.
 */
#ifndef HOST_CONFIG_H
#define HOST_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

enum config_type {
	CONFIG_UINT,	/* whole number; K, M, G multiply by 1024 */
	CONFIG_SECONDS, /* decimal, kept as ns */
	CONFIG_MICROS,	/* decimal, kept as ns */
	CONFIG_CHOICE,	/* one of the words in `allowed`, kept as its index; any case */
	CONFIG_TEXT,
	CONFIG_PLAIN, /* text without spaces and control characters */
	CONFIG_SWITCH,
	CONFIG_RANGES, /* "0-3,0-15" */
};

struct config_option {
	const char *key; /* of tally_config_set(); TALLY_ and the key in capitals is its variable */
	const char *env;
	const char *default_text; /* as a user would write it, "" if there is none */
	const char *unit_text;	  /* "" if it has none */
	const char *allowed;	  /* what a value may be, in words; CHOICE: "a|b|c" */
	const char *meaning;	  /* one sentence */
	enum config_type type;
	double min, max;   /* numbers: as written; TEXT: max bytes */
	uint32_t multiple; /* numbers: of what, 0: anything */
	size_t offset;	   /* in struct config */
};

const struct config_option *config_options(size_t *nr);

enum { CONFIG_NR_MAX = 32, CONFIG_PATH = 1024, CONFIG_RANKS_MAX = 1024 };

enum config_transport { CONFIG_UDP, CONFIG_INPROC };

/* As what float sums and averages travel. */
enum config_wire { CONFIG_INT32, CONFIG_INT16 };

struct config_switch {
	bool named;  /* the user named one */
	bool inproc; /* or none was named */
	uint32_t ip; /* host byte order */
	uint16_t port;
	char name[WIRE_NAME];	   /* of the embedded switch */
	char text[WIRE_NAME + 32]; /* "10.0.0.254:48880", "inproc:name" */
};

/* The ranks below each switch on the way to the root, innermost first; nr 0: one switch has all. */
struct config_ranges {
	unsigned nr;
	struct wire_range range[WIRE_RANGES];
};

/* The values in force. */
struct config {
	uint64_t rank, size;
	bool sized; /* somebody said how many ranks there are */
	char job[WIRE_NAME + 1];
	struct config_switch sw;
	struct config_ranges ranges;
	uint64_t transport; /* enum config_transport */
	char ifname[16];
	uint64_t window;					/* 0: as many as slots */
	uint64_t chunk;						/* P; 0: what the path carries */
	uint64_t timeout_ns, join_timeout_ns, stall_warning_ns; /* 0: never */
	uint64_t rto_min_ns;					/* 0: by transport */
	uint64_t slots;						/* 0: by transport */
	uint64_t debug;						/* enum tally_log_level */
	char debug_file[CONFIG_PATH];
	char conf[CONFIG_PATH];
	char libcuda[CONFIG_PATH];
	uint64_t kernels; /* 0: best */
	uint64_t port;
	uint64_t wire;	/* enum config_wire */
	uint64_t check; /* 1: CRC32C in every packet, CLOSE behind every sum */
};

struct config_error {
	char text[512];
};

/* What tally_config_set() was told; indexes as in config_options(). */
struct tally_config {
	char *set[CONFIG_NR_MAX];
};

/* 0, or -1 and a sentence.  Checks the value, copies it; config is the caller's. */
int config_set(struct tally_config *config, const char *key, const char *value,
	       struct config_error *error);
void config_clear(struct tally_config *config);

/* set may be NULL.  0, or -1 and a sentence; *config is written only on success. */
int config_resolve(struct config *config, const struct tally_config *set,
		   struct config_error *error);

/* Calls warn with a sentence for each variable of the environment that looks like ours and is not. */
void config_unknown(void (*warn)(const char *text));

/* The ranks that meet at this rank's own switch. */
struct wire_range config_own_range(const struct config *config);

/* The name quant_select() knows, NULL for the best. */
const char *config_kernels(const struct config *config);

#endif
