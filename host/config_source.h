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
enum { CONFIG_GUESSES = 2, CONFIG_HINT = 160 };
/* The options that look most like name, of these the ones with the longest common beginning; returns how many. */
unsigned config_guess(const char *name, const struct config_option *guess[CONFIG_GUESSES]);
/* ": did you mean TALLY_SLOTS?", or its key in quotes; "" if nothing looks like name. */
const char *config_hint(const char *name, bool env, char out[CONFIG_HINT]);

/* What launchers say. */
struct config_launch {
	struct config_text rank, size, job;
	char job_text[WIRE_NAME + 1];
};
void config_launcher(struct config_launch *launch);

#endif
