// SPDX-License-Identifier: BSD-3-Clause
// config_source.c - where the text of an option comes from: file, environment, launcher.
#include "host/config_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_FILE_MAX = 1 << 20, CONFIG_LINE = 4096, CONFIG_GUESS = 3, CONFIG_WORD = 48 };

int config_find_env(const char *name, size_t len)
{
	size_t nr;
	const struct config_option *options = config_options(&nr);

	for (size_t i = 0; i < nr; i++)
		if (strlen(options[i].env) == len && strncmp(options[i].env, name, len) == 0)
			return (int)i;
	return -1;
}

/* Levenshtein's distance, ignoring case; words longer than CONFIG_WORD are far from everything. */
static unsigned config_distance(const char *a, const char *b)
{
	unsigned row[CONFIG_WORD + 1];
	const size_t nb = strlen(b);

	if (strlen(a) > CONFIG_WORD || nb > CONFIG_WORD)
		return CONFIG_WORD;
	for (unsigned j = 0; j <= nb; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned j = 0; j < nb; j++) {
			unsigned best = diagonal + (toupper((unsigned char)a[i]) !=
						    toupper((unsigned char)b[j]));

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[nb];
}

/* How many letters both begin with. */
static unsigned config_prefix(const char *a, const char *b)
{
	unsigned n = 0;

	while (a[n] && toupper((unsigned char)a[n]) == toupper((unsigned char)b[n]))
		n++;
	return n;
}

unsigned config_guess(const char *name, const struct config_option *guess[CONFIG_GUESSES])
{
	size_t nr;
	const struct config_option *options = config_options(&nr);
	unsigned best = CONFIG_GUESS, longest = 0, found = 0;

	if (strncasecmp(name, "TALLY_", 6) == 0)
		name += 6;
	for (size_t i = 0; i < nr; i++) {
		const unsigned distance = config_distance(name, options[i].key),
			       prefix = config_prefix(name, options[i].key);

		/* Half of the letters must be right. */
		if (distance >= CONFIG_GUESS || 2 * distance > strlen(options[i].key) ||
		    distance > best || (distance == best && prefix < longest))
			continue;
		if (distance < best || prefix > longest)
			found = 0;
		best = distance;
		longest = prefix;
		if (found < CONFIG_GUESSES)
			guess[found++] = &options[i];
	}
	return found;
}

const char *config_hint(const char *name, bool env, char out[CONFIG_HINT])
{
	const struct config_option *guess[CONFIG_GUESSES];
	const unsigned nr = config_guess(name, guess);
	const char *quote = env ? "" : "\"";
	int len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < nr; i++)
		len += snprintf(out + len, CONFIG_HINT - (size_t)len, "%s%s%s%s%s",
				i ? " or " : ": did you mean ", quote,
				env ? guess[i]->env : guess[i]->key, quote, i + 1 < nr ? "" : "?");
	return out;
}

void config_unknown(void (*warn)(const char *text))
{
	char text[256], name[128], hint[CONFIG_HINT];

	for (char **at = environ; at && *at; at++) {
		const char *equals = strchr(*at, '=');
		size_t len = equals ? (size_t)(equals - *at) : strlen(*at);

		if (strncmp(*at, "TALLY_", 6) != 0 || len >= sizeof(name) ||
		    config_find_env(*at, len) >= 0)
			continue;
		memcpy(name, *at, len);
		name[len] = '\0';
		snprintf(text, sizeof(text), "unknown variable %s is ignored%s", name,
			 config_hint(name, true, hint));
		warn(text);
	}
}

/* --- The file ---------------------------------------------------------------------------------- */

static char *config_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static int config_file_line(struct config_file *file, char *line, unsigned number,
			    struct config_error *error)
{
	char *name = config_trim(line), *equals = strchr(name, '='), *value;
	char hint[CONFIG_HINT];
	int i;

	if (!*name || *name == '#')
		return 0;
	if (!equals) {
		snprintf(error->text, sizeof(error->text),
			 "%.256s:%u: want VAR=VALUE, not \"%.64s\"", file->path, number, name);
		return -1;
	}
	*equals = '\0';
	name = config_trim(name);
	value = config_trim(equals + 1);
	i = config_find_env(name, strlen(name));
	if (i < 0) {
		snprintf(error->text, sizeof(error->text), "%.256s:%u: unknown variable %.64s%s",
			 file->path, number, name, config_hint(name, true, hint));
		return -1;
	}
	free(file->values[i]);
	file->values[i] = strdup(value);
	if (!file->values[i]) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return -1;
	}
	file->lines[i] = number;
	return 0;
}

int config_file_read(struct config_file *file, const char *path, struct config_error *error)
{
	char line[CONFIG_LINE];
	struct stat st;
	unsigned number = 0;
	/* A pipe that nobody writes to is not to be waited for. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	int rc = 0;

	memset(file, 0, sizeof(*file));
	snprintf(file->path, sizeof(file->path), "%s", path);
	if (!in) {
		if (fd >= 0)
			close(fd);
		snprintf(error->text, sizeof(error->text), "TALLY_CONF=%.256s: %s", path,
			 strerror(errno));
		return -1;
	}
	if (fstat(fileno(in), &st) || !S_ISREG(st.st_mode) || st.st_size > CONFIG_FILE_MAX) {
		snprintf(error->text, sizeof(error->text),
			 "TALLY_CONF=%.256s: want a regular file of at most %d bytes", path,
			 CONFIG_FILE_MAX);
		rc = -1;
	}
	while (rc == 0 && fgets(line, sizeof(line), in)) {
		if (strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n') {
			snprintf(error->text, sizeof(error->text),
				 "%.256s:%u: a line longer than %zu bytes", file->path, number + 1,
				 sizeof(line) - 2);
			rc = -1;
			break;
		}
		rc = config_file_line(file, line, ++number, error);
	}
	if (rc == 0 && ferror(in)) {
		snprintf(error->text, sizeof(error->text), "TALLY_CONF=%.256s: %s", path,
			 strerror(errno));
		rc = -1;
	}
	fclose(in);
	return rc;
}

void config_file_free(struct config_file *file)
{
	for (unsigned i = 0; i < CONFIG_NR_MAX; i++)
		free(file->values[i]);
	memset(file->values, 0, sizeof(file->values));
}

/* --- Launchers --------------------------------------------------------------------------------- */

static bool config_take(struct config_text *text, const char *name)
{
	text->value = getenv(name);
	snprintf(text->name, sizeof(text->name), "%s", name);
	snprintf(text->source, sizeof(text->source), "environment");
	if (text->value && !text->value[0])
		text->value = NULL;
	return text->value != NULL;
}

/* A run id of any length as a job name: as it is, or its hash. */
static void config_launch_job(struct config_launch *launch)
{
	static const char *const names[] = { "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE",
					     "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID" };
	const char *id;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!config_take(&launch->job, names[i]))
			continue;
		id = launch->job.value;
		if (strlen(id) <= WIRE_NAME)
			snprintf(launch->job_text, sizeof(launch->job_text), "%s", id);
		else
			snprintf(launch->job_text, sizeof(launch->job_text), "run-%016llx",
				 (unsigned long long)wire_job_key(id));
		launch->job.value = launch->job_text;
		return;
	}
}

void config_launcher(struct config_launch *launch)
{
	static const char *const pairs[][2] = {
		{ "RANK", "WORLD_SIZE" },
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
	};

	memset(launch, 0, sizeof(*launch));
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (config_take(&launch->rank, pairs[i][0]) &&
		    config_take(&launch->size, pairs[i][1]))
			break;
		launch->rank = launch->size = (struct config_text){ 0 };
	}
	if (!launch->rank.value) {
		snprintf(launch->rank.name, sizeof(launch->rank.name), "TALLY_RANK");
		snprintf(launch->size.name, sizeof(launch->size.name), "TALLY_SIZE");
	}
	config_launch_job(launch);
}
