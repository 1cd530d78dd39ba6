// SPDX-License-Identifier: BSD-3-Clause
// config.c - every option of a communicator: one table that names, documents, parses and checks it.
#include "host/config.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/config_source.h"

#define CONFIG_OPT(k, e, t, f)                                                                     \
	.key = k, .env = "TALLY_" e, .type = t, .offset = offsetof(struct config, f)

static const struct config_option config_table[] = {
	{ CONFIG_OPT("rank", "RANK", CONFIG_UINT, rank), .default_text = "0", .unit_text = "",
	  .allowed = "a whole number below the size", .max = CONFIG_RANKS_MAX - 1,
	  .meaning =
		  "this process's place in the job; default from RANK, OMPI_COMM_WORLD_RANK or PMI_RANK" },
	{ CONFIG_OPT("size", "SIZE", CONFIG_UINT, size), .default_text = "1", .unit_text = "ranks",
	  .allowed = "1 to 1024", .min = 1, .max = CONFIG_RANKS_MAX,
	  .meaning =
		  "how many ranks the job has; default from WORLD_SIZE, OMPI_COMM_WORLD_SIZE or PMI_SIZE" },
	{ CONFIG_OPT("job", "JOB", CONFIG_PLAIN, job), .default_text = "default", .unit_text = "",
	  .allowed = "1 to 64 bytes, none of them a space or a control character", .min = 1,
	  .max = WIRE_NAME,
	  .meaning =
		  "the job's name, the same on all its ranks; default from the launcher's run id" },
	{ CONFIG_OPT("switch", "SWITCH", CONFIG_SWITCH, sw), .default_text = "inproc",
	  .unit_text = "", .allowed = "IP[:port] or inproc[:name]; host names are not resolved",
	  .meaning =
		  "the switch; inproc is the one inside this process, for ranks that are its threads" },
	{ CONFIG_OPT("transport", "TRANSPORT", CONFIG_CHOICE, transport), .default_text = "",
	  .unit_text = "", .allowed = "udp|inproc",
	  .meaning = "how packets reach the switch; default by what TALLY_SWITCH is" },
	{ CONFIG_OPT("ranges", "RANGES", CONFIG_RANGES, ranges), .default_text = "",
	  .unit_text = "", .allowed = "a range such as 0-3, or up to 3 such as 0-3,0-15",
	  .meaning =
		  "in a tree of switches: the ranks below this rank's switch, below the switch above it, and so "
		  "on; the root may be left out" },
	{ CONFIG_OPT("ifname", "IFNAME", CONFIG_TEXT, ifname), .default_text = "", .unit_text = "",
	  .allowed = "a network interface with an IPv4 address", .max = 15,
	  .meaning = "send from the address of this interface" },
	{ CONFIG_OPT("port", "PORT", CONFIG_UINT, port), .default_text = "0", .unit_text = "",
	  .allowed = "0 to 65535", .max = 65535, .meaning = "local UDP port; 0: any" },
	{ CONFIG_OPT("chunk", "CHUNK", CONFIG_UINT, chunk), .default_text = "0",
	  .unit_text = "bytes", .allowed = "0, or a multiple of 128 from 128 to 8832",
	  .max = WIRE_P_MAX, .multiple = WIRE_P_MIN,
	  .meaning = "payload of a packet; 0: what the path carries" },
	{ CONFIG_OPT("slots", "SLOTS", CONFIG_UINT, slots), .default_text = "0",
	  .unit_text = "chunks", .allowed = "0 to 16000", .max = 16000,
	  .meaning =
		  "places wanted at the switch; the least that a rank wants counts; 0: by transport (udp 512, "
		  "inproc 64)" },
	{ CONFIG_OPT("window", "WINDOW", CONFIG_UINT, window), .default_text = "0",
	  .unit_text = "chunks", .allowed = "0 to 16000", .max = 16000,
	  .meaning =
		  "chunks in flight at most: it starts at 64, grows with results and shrinks with "
		  "losses; 0: up to the slots" },
	{ CONFIG_OPT("timeout", "TIMEOUT", CONFIG_SECONDS, timeout_ns), .default_text = "300",
	  .unit_text = "s", .allowed = "0 (never) or up to 1000000", .max = 1e6,
	  .meaning = "an operation without progress for so long fails" },
	{ CONFIG_OPT("join_timeout", "JOIN_TIMEOUT", CONFIG_SECONDS, join_timeout_ns),
	  .default_text = "30", .unit_text = "s", .allowed = "0 (never) or up to 1000000",
	  .max = 1e6,
	  .meaning = "how long to wait for the switch and all ranks when a job starts" },
	{ CONFIG_OPT("stall_warning", "STALL_WARNING", CONFIG_SECONDS, stall_warning_ns),
	  .default_text = "30", .unit_text = "s", .allowed = "0 (never) or up to 1000000",
	  .max = 1e6,
	  .meaning =
		  "an operation without progress for so long is logged, with the ranks it waits for" },
	{ CONFIG_OPT("rto_min", "RTO_MIN", CONFIG_MICROS, rto_min_ns), .default_text = "0",
	  .unit_text = "us", .allowed = "0 to 100000", .max = 100000,
	  .meaning =
		  "a packet is not sent again before this time; 0: by transport (udp 1000, inproc 20000)" },
	{ CONFIG_OPT("check", "CHECK", CONFIG_UINT, check), .default_text = "0", .unit_text = "",
	  .allowed = "0 or 1", .max = 1,
	  .meaning =
		  "1: all packets carry a CRC32C, and sums are verified at their end; the same on all ranks" },
	{ CONFIG_OPT("wire", "WIRE", CONFIG_CHOICE, wire), .default_text = "int32", .unit_text = "",
	  .allowed = "int32|int16",
	  .meaning =
		  "as what sums and averages of floats travel, unless an operation says so itself; int16: half "
		  "the bytes, less exact" },
	{ CONFIG_OPT("kernels", "KERNELS", CONFIG_CHOICE, kernels), .default_text = "best",
	  .unit_text = "", .allowed = "best|scalar|avx2|avx512|avx512fp16",
	  .meaning = "instructions for the conversion of numbers; all give the same bits" },
	{ CONFIG_OPT("libcuda", "LIBCUDA", CONFIG_TEXT, libcuda), .default_text = "",
	  .unit_text = "", .allowed = "a file name", .max = CONFIG_PATH - 1,
	  .meaning =
		  "the CUDA driver, if it is not libcuda.so.1; asked only once it is loaded in this process" },
	{ CONFIG_OPT("debug", "DEBUG", CONFIG_CHOICE, debug), .default_text = "WARN",
	  .unit_text = "", .allowed = "NONE|WARN|INFO|TRACE", .meaning = "what the log says" },
	{ CONFIG_OPT("debug_file", "DEBUG_FILE", CONFIG_TEXT, debug_file), .default_text = "",
	  .unit_text = "", .allowed = "a file name; %h is the host, %p the process",
	  .max = CONFIG_PATH - 1, .meaning = "the log goes to this file instead of stderr" },
	{ CONFIG_OPT("conf", "CONF", CONFIG_TEXT, conf), .default_text = "", .unit_text = "",
	  .allowed = "a file name", .max = CONFIG_PATH - 1,
	  .meaning = "a file of VAR=VALUE lines that stand for variables not set" },
};

enum { CONFIG_NR = sizeof(config_table) / sizeof(config_table[0]) };
_Static_assert((int)CONFIG_NR <= (int)CONFIG_NR_MAX, "arrays indexed by option");

const struct config_option *config_options(size_t *nr)
{
	*nr = CONFIG_NR;
	return config_table;
}

static int config_fail(struct config_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int config_fail(struct config_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -1;
}

/* --- One value --------------------------------------------------------------------------------- */

static bool config_parse_number(const char *text, bool whole, double *out)
{
	char *end;
	double value;

	if (*text < '0' || *text > '9')
		return false;
	value = whole ? (double)strtoull(text, &end, 10) : strtod(text, &end);
	if (whole && *end && strchr("kKmMgG", *end)) {
		value *= *end == 'k' || *end == 'K'   ? 0x1p10
			 : *end == 'm' || *end == 'M' ? 0x1p20
						      : 0x1p30;
		end++;
	}
	if (*end || !isfinite(value))
		return false;
	*out = value;
	return true;
}

static bool config_number(const struct config_option *option, const char *text, void *out)
{
	const double scale = option->type == CONFIG_SECONDS  ? 1e9
			     : option->type == CONFIG_MICROS ? 1e3
							     : 1;
	uint64_t result;
	double value;

	if (!config_parse_number(text, option->type == CONFIG_UINT, &value) ||
	    value < option->min || value > option->max)
		return false;
	result = (uint64_t)(value * scale + 0.5);
	if (value > 0 && !result)
		return false; /* 0 means something else */
	if (option->multiple && result % option->multiple)
		return false;
	memcpy(out, &result, sizeof(result));
	return true;
}

static bool config_choice(const struct config_option *option, const char *text, void *out)
{
	const size_t len = strlen(text);
	const char *word = option->allowed;

	for (uint64_t i = 0; word; i++) {
		if (strncasecmp(word, text, len) == 0 && (word[len] == '|' || !word[len])) {
			memcpy(out, &i, sizeof(i));
			return len > 0;
		}
		word = strchr(word, '|');
		word = word ? word + 1 : NULL;
	}
	return false;
}

static bool config_text(const struct config_option *option, const char *text, void *out)
{
	const size_t len = strlen(text);

	if ((double)len < option->min || (double)len > option->max)
		return false;
	memcpy(out, text, len + 1);
	return true;
}

static bool config_word(const struct config_option *option, const char *text, void *out)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return false;
	return config_text(option, text, out);
}

static bool config_switch_ip(struct config_switch *sw, const char *text)
{
	const char *colon = strchr(text, ':');
	char ip[INET_ADDRSTRLEN];
	struct in_addr addr;
	double port = WIRE_PORT;
	size_t len = colon ? (size_t)(colon - text) : strlen(text);

	if (len >= sizeof(ip))
		return false;
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(AF_INET, ip, &addr) != 1)
		return false;
	if (colon && (!config_parse_number(colon + 1, true, &port) || port < 1 || port > 65535))
		return false;
	sw->ip = ntohl(addr.s_addr);
	sw->port = (uint16_t)port;
	snprintf(sw->text, sizeof(sw->text), "%s:%u", ip, sw->port);
	return true;
}

static bool config_switch(const char *text, struct config_switch *out)
{
	struct config_switch sw = { .named = true };

	if (strncmp(text, "inproc", 6) == 0 && (!text[6] || text[6] == ':')) {
		sw.inproc = true;
		if (text[6] && (!text[7] || strlen(text + 7) >= sizeof(sw.name)))
			return false;
		snprintf(sw.name, sizeof(sw.name), "%s", text[6] ? text + 7 : "");
		snprintf(sw.text, sizeof(sw.text), "%s", text);
	} else if (!config_switch_ip(&sw, text)) {
		return false;
	}
	*out = sw;
	return true;
}

/* "0-3": *text is what follows it. */
static bool config_range(const char **text, struct wire_range *range)
{
	unsigned first, last;
	int len = 0;

	if (**text < '0' || **text > '9' || sscanf(*text, "%5u-%n", &first, &len) != 1 || !len)
		return false;
	*text += len;
	if (**text < '0' || **text > '9' || sscanf(*text, "%5u%n", &last, &len) != 1)
		return false;
	*text += len;
	if (last < first || last >= WIRE_RANKS_MAX)
		return false;
	*range = (struct wire_range){ (uint16_t)first, (uint16_t)(last - first + 1) };
	return true;
}

static bool config_ranges(const char *text, struct config_ranges *out)
{
	struct config_ranges ranges = { 0 };

	do {
		if (ranges.nr == WIRE_RANGES || !config_range(&text, &ranges.range[ranges.nr++]))
			return false;
	} while (*text++ == ',');
	if (text[-1])
		return false;
	*out = ranges;
	return true;
}

static bool config_parse(struct config *config, const struct config_option *option,
			 const char *text)
{
	void *out = (char *)config + option->offset;

	switch (option->type) {
	case CONFIG_UINT:
	case CONFIG_SECONDS:
	case CONFIG_MICROS:
		return config_number(option, text, out);
	case CONFIG_CHOICE:
		return config_choice(option, text, out);
	case CONFIG_TEXT:
		return config_text(option, text, out);
	case CONFIG_PLAIN:
		return config_word(option, text, out);
	case CONFIG_SWITCH:
		return config_switch(text, out);
	case CONFIG_RANGES:
		return config_ranges(text, out);
	}
	return false;
}

static int config_bad(const struct config_option *option, const struct config_text *text,
		      struct config_error *error)
{
	return config_fail(error, "%s=%s (%s): want %s%s%s%s", text->name, text->value,
			   text->source, option->type == CONFIG_CHOICE ? "one of " : "",
			   option->allowed, option->unit_text[0] ? ", in " : "", option->unit_text);
}

/* --- tally_config_set() ------------------------------------------------------------------------ */

int config_set(struct tally_config *config, const char *key, const char *value,
	       struct config_error *error)
{
	struct config scratch;
	struct config_text text = { .value = value, .source = "tally_config_set" };
	char hint[CONFIG_HINT], *copy;

	if (!key || !value)
		return config_fail(error, "tally_config_set: key and value must not be NULL");
	for (unsigned i = 0; i < CONFIG_NR; i++) {
		if (strcmp(config_table[i].key, key) != 0)
			continue;
		snprintf(text.name, sizeof(text.name), "%s", key);
		if (!config_parse(&scratch, &config_table[i], value))
			return config_bad(&config_table[i], &text, error);
		copy = strdup(value);
		if (!copy)
			return config_fail(error, "%s: out of memory", key);
		free(config->set[i]);
		config->set[i] = copy;
		return 0;
	}
	return config_fail(error, "unknown option \"%s\"%s; tally(7) lists them", key,
			   config_hint(key, false, hint));
}

void config_clear(struct tally_config *config)
{
	for (unsigned i = 0; i < CONFIG_NR_MAX; i++) {
		free(config->set[i]);
		config->set[i] = NULL;
	}
}

/* --- All of them ------------------------------------------------------------------------------- */

/* Who says what option i is, in order of precedence; launcher and default come after. */
static void config_lookup(unsigned i, const struct tally_config *set,
			  const struct config_file *file, struct config_text *text)
{
	const struct config_option *option = &config_table[i];

	snprintf(text->name, sizeof(text->name), "%s", option->env);
	if (set && set->set[i]) {
		text->value = set->set[i];
		snprintf(text->name, sizeof(text->name), "%s", option->key);
		snprintf(text->source, sizeof(text->source), "tally_config_set");
		return;
	}
	text->value = getenv(option->env);
	/* An empty variable is one that is not set, as shells leave them. */
	if (text->value && text->value[0]) {
		snprintf(text->source, sizeof(text->source), "environment");
		return;
	}
	text->value = file ? file->values[i] : NULL;
	if (text->value)
		snprintf(text->source, sizeof(text->source), "%s:%u", file->path, file->lines[i]);
}

enum { CONFIG_RANK, CONFIG_SIZE, CONFIG_JOB, CONFIG_SW, CONFIG_TRANSPORT, CONFIG_BELOW };

/* Rank and size belong together: half of the pair is a mistake, unless the other half is clear. */
static int config_pair(struct config_text *texts, const struct config_launch *launch,
		       struct config_error *error)
{
	struct config_text *rank = &texts[CONFIG_RANK], *size = &texts[CONFIG_SIZE];

	if (!rank->value)
		*rank = launch->rank;
	if (!size->value)
		*size = launch->size;
	if (size->value && !rank->value && strcmp(size->value, "1") != 0)
		return config_fail(error,
				   "%s=%s (%s) without a rank: set TALLY_RANK, from 0 to one less "
				   "than that, differently in each process",
				   size->name, size->value, size->source);
	if (rank->value && !size->value && strcmp(rank->value, "0") != 0)
		return config_fail(
			error, "%s=%s (%s) without a size: set TALLY_SIZE to the number of ranks",
			rank->name, rank->value, rank->source);
	return 0;
}

struct wire_range config_own_range(const struct config *config)
{
	if (config->ranges.nr)
		return config->ranges.range[0];
	return (struct wire_range){ 0, (uint16_t)config->size };
}

static unsigned config_last(struct wire_range range)
{
	return range.first + range.nr - 1u;
}

/* Each range lies within the next, and the last within the world. */
static int config_check_nested(const struct config *config, const struct config_text *text,
			       struct config_error *error)
{
	const struct config_ranges *ranges = &config->ranges;

	for (unsigned i = 0; i < ranges->nr; i++) {
		const struct wire_range in = ranges->range[i];
		const struct wire_range out =
			i + 1 < ranges->nr ? ranges->range[i + 1]
					   : (struct wire_range){ 0, (uint16_t)config->size };

		if (in.first >= out.first && config_last(in) <= config_last(out))
			continue;
		if (i + 1 == ranges->nr)
			return config_fail(
				error,
				"%s=%s (%s): %u-%u reaches beyond the job, which has ranks "
				"0-%" PRIu64 " by TALLY_SIZE",
				text->name, text->value, text->source, in.first, config_last(in),
				config->size - 1);
		return config_fail(error,
				   "%s=%s (%s): %u-%u is not within %u-%u: name the switch of this "
				   "rank first, then those above it",
				   text->name, text->value, text->source, in.first, config_last(in),
				   out.first, config_last(out));
	}
	return 0;
}

/* The way up a tree of switches; too many ranks for one switch need one. */
static int config_check_ranges(const struct config *config, const struct config_text *texts,
			       struct config_error *error)
{
	const struct config_text *text = &texts[CONFIG_BELOW], *size = &texts[CONFIG_SIZE];
	const struct wire_range own = config_own_range(config);

	if (!config->ranges.nr && own.nr > WIRE_WORLD_MAX)
		return config_fail(
			error,
			"%s=%s (%s): one switch adds up at most %d ranks: use a tree "
			"(tally-switch --parent) and set TALLY_RANGES to the ranks below this "
			"one's switch",
			size->name, size->value, size->source, WIRE_WORLD_MAX);
	if (!config->ranges.nr)
		return 0;
	if (config->rank < own.first || config->rank > config_last(own))
		return config_fail(error,
				   "%s=%s (%s): rank %" PRIu64
				   " is not among %u-%u, the ranks below its "
				   "own switch",
				   text->name, text->value, text->source, config->rank, own.first,
				   config_last(own));
	if (config_check_nested(config, text, error) < 0)
		return -1;
	if (own.nr > WIRE_WORLD_MAX)
		return config_fail(
			error,
			"%s=%s (%s): %u-%u are %u ranks, but one switch adds up at most %d: "
			"use more switches",
			text->name, text->value, text->source, own.first, config_last(own), own.nr,
			WIRE_WORLD_MAX);
	if (config->sw.inproc && own.nr != config->size)
		return config_fail(error,
				   "%s=%s (%s): the switch inside this process has no parent: set "
				   "TALLY_SWITCH=IP[:port] to a leaf",
				   text->name, text->value, text->source);
	return 0;
}

static int config_check(struct config *config, const struct config_text *texts,
			struct config_error *error)
{
	const struct config_text *rank = &texts[CONFIG_RANK], *size = &texts[CONFIG_SIZE];
	const bool stated = texts[CONFIG_TRANSPORT].value != NULL;

	config->sw.named = texts[CONFIG_SW].value != NULL;
	config->sized = size->value != NULL;
	if (config->rank >= config->size)
		return config_fail(error, "%s=%s (%s) is not below %s=%s (%s): ranks count from 0",
				   rank->name, rank->value ? rank->value : "0",
				   rank->value ? rank->source : "default", size->name,
				   size->value ? size->value : "1",
				   size->value ? size->source : "default");
	if (!stated)
		config->transport = config->sw.inproc ? CONFIG_INPROC : CONFIG_UDP;
	else if (config->transport == CONFIG_UDP && config->sw.inproc)
		return config_fail(
			error, "%s=udp (%s) needs the switch's address: set TALLY_SWITCH=IP[:port]",
			texts[CONFIG_TRANSPORT].name, texts[CONFIG_TRANSPORT].source);
	else if (config->transport == CONFIG_INPROC && !config->sw.inproc)
		return config_fail(error, "%s=inproc (%s) contradicts %s=%s (%s)",
				   texts[CONFIG_TRANSPORT].name, texts[CONFIG_TRANSPORT].source,
				   texts[CONFIG_SW].name, texts[CONFIG_SW].value,
				   texts[CONFIG_SW].source);
	return config_check_ranges(config, texts, error);
}

static int config_values(struct config *config, struct config_text *texts,
			 struct config_error *error)
{
	struct config_launch launch;

	config_launcher(&launch);
	if (config_pair(texts, &launch, error) < 0)
		return -1;
	if (!texts[CONFIG_JOB].value)
		texts[CONFIG_JOB] = launch.job;
	for (unsigned i = 0; i < CONFIG_NR; i++) {
		const struct config_option *option = &config_table[i];

		if (texts[i].value) {
			if (!config_parse(config, option, texts[i].value))
				return config_bad(option, &texts[i], error);
		} else if (option->default_text[0] &&
			   !config_parse(config, option, option->default_text)) {
			return config_fail(error, "%s: bad default %s", option->env,
					   option->default_text);
		}
	}
	return config_check(config, texts, error);
}

int config_resolve(struct config *config, const struct tally_config *set,
		   struct config_error *error)
{
	struct config_text texts[CONFIG_NR] = { { 0 } };
	struct config_file file = { .path = "" };
	struct config result = { 0 };
	struct config_text conf = { 0 };
	int rc = 0;

	for (unsigned i = 0; i < CONFIG_NR; i++)
		if (config_table[i].offset == offsetof(struct config, conf))
			config_lookup(i, set, NULL, &conf);
	if (conf.value && conf.value[0])
		rc = config_file_read(&file, conf.value, error);
	for (unsigned i = 0; rc == 0 && i < CONFIG_NR; i++)
		config_lookup(i, set, &file, &texts[i]);
	if (rc == 0)
		rc = config_values(&result, texts, error);
	config_file_free(&file);
	if (rc == 0)
		*config = result;
	return rc;
}

const char *config_kernels(const struct config *config)
{
	static const char *const names[] = { NULL, "scalar", "avx2", "avx512", "avx512fp16" };

	return names[config->kernels];
}
