/* SPDX-License-Identifier: BSD-3-Clause */
/* config_source.h - where the text of an option comes from: file, environment, launcher. */
#ifndef HOST_CONFIG_SOURCE_H
#define HOST_CONFIG_SOURCE_H

#include "host/config.h"

/* One option's text and who said so. */
struct config_text {
	const char *value;	       /* NULL: nobody */
	char source[CONFIG_PATH + 32]; /* e.g. "environment", "tally.conf:3" */
	char name[64];		       /* what the user would look for, e.g. "TALLY_RANK", "rank" */
};

/* A file of VAR=VALUE lines. */
struct config_file {
	char *values[CONFIG_NR_MAX];
	unsigned lines[CONFIG_NR_MAX];
	char path[CONFIG_PATH];
};

/* 0, or -1 and a sentence.  free: always safe after read. */
int config_file_read(struct config_file *file, const char *path, struct config_error *error);
void config_file_free(struct config_file *file);

/* The index of an option by its variable, -1: unknown. */
int config_find_env(const char *name, size_t len);
/* The option whose variable looks most like name, NULL if none does. */
const struct config_option *config_guess(const char *name);

/* What launchers say. */
struct config_launch {
	struct config_text rank, size, job;
	char job_text[WIRE_NAME + 1];
};
void config_launcher(struct config_launch *launch);

#endif
