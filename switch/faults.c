// SPDX-License-Identifier: BSD-3-Clause
/* faults.c - faults on purpose as people write them: one table of keys reads and writes them. */
#include "switch/faults.h"

#include <stdio.h>
#include <string.h>

#include "switch/lcore.h"
#include "switch/quantity.h"

enum { FAULTS_ITEM = 96 };
#define FAULTS_TIME_MAX 60e9
#define FAULTS_RATE_MIN 1e3
#define FAULTS_RATE_MAX 1e13
#define FAULTS_BYTES_MAX (64 << 20)

static const struct quantity_unit faults_times[] = {
	{ "s", 9, 1 }, { "ms", 6, 1 }, { "us", 3, 1 }, { "ns", 0, 1 }, { NULL, 0, 0 },
};
/* Those behind the smallest are not written. */
static const struct quantity_unit faults_rates[] = {
	{ "Gbit", 9, 1 }, { "Mbit", 6, 1 }, { "Kbit", 3, 1 }, { "bit", 0, 1 },
	{ "G", 9, 1 },	  { "M", 6, 1 },    { "K", 3, 1 },    { NULL, 0, 0 },
};
static const struct quantity_unit faults_bytes[] = {
	{ "MB", 0, 1 << 20 },
	{ "KB", 0, 1 << 10 },
	{ "B", 0, 1 },
	{ NULL, 0, 0 },
};

struct faults_key {
	const char *name;
	const char *form; /* what its value must be */
	size_t off, size; /* in struct impair_params */
	/* to: the field.  0, or -1. */
	int (*parse)(void *to, const char *value);
	void (*print)(const void *from, char *buf, size_t size);
};

static int parse_fraction(void *to, const char *value)
{
	return quantity_parse_fraction(value, to);
}

static void print_fraction(const void *from, char *buf, size_t size)
{
	quantity_print_fraction(buf, size, *(const double *)from);
}

/* P:R[:LB[:LG]], as the four fields lie in struct impair_params. */
static int parse_burst(void *to, const char *value)
{
	double fields[4] = { 0, 0, 1, 0 };
	char part[FAULTS_ITEM];
	unsigned nr = 0;

	for (;; nr++) {
		size_t len = strcspn(value, ":");

		if (nr == 4 || len >= sizeof(part))
			return -1;
		memcpy(part, value, len);
		part[len] = '\0';
		if (quantity_parse_fraction(part, &fields[nr]))
			return -1;
		if (!value[len])
			break;
		value += len + 1;
	}
	/* A state without a way out is no burst. */
	if (fields[0] > 0 && !(fields[1] > 0))
		return -1;
	if (!(fields[0] > 0) && !(fields[3] > 0))
		memset(fields, 0, sizeof(fields));
	memcpy(to, fields, sizeof(fields));
	return 0;
}

static void print_burst(const void *from, char *buf, size_t size)
{
	double fields[4];
	size_t at = 0;

	memcpy(fields, from, sizeof(fields));
	for (unsigned i = 0; i < 4 && at < size; i++) {
		char text[32];

		quantity_print_fraction(text, sizeof(text), fields[i]);
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ":" : "", text);
	}
}

int faults_parse_time(const char *text, uint64_t *out)
{
	double ns;

	if (strcmp(text, "0") == 0)
		ns = 0;
	else if (quantity_parse(text, faults_times, &ns) || ns > FAULTS_TIME_MAX)
		return -1;
	*out = (uint64_t)(ns + 0.5);
	return 0;
}

static int parse_time(void *to, const char *value)
{
	return faults_parse_time(value, to);
}

static void print_time(const void *from, char *buf, size_t size)
{
	quantity_print(buf, size, faults_times, *(const uint64_t *)from);
}

int faults_parse_rate(const char *text, uint64_t *out)
{
	double rate = 0;

	if (strcmp(text, "0") != 0 && (quantity_parse(text, faults_rates, &rate) ||
				       rate < FAULTS_RATE_MIN || rate > FAULTS_RATE_MAX))
		return -1;
	*out = (uint64_t)(rate + 0.5);
	return 0;
}

static int parse_rate(void *to, const char *value)
{
	return faults_parse_rate(value, to);
}

static void print_rate(const void *from, char *buf, size_t size)
{
	quantity_print(buf, size, faults_rates, *(const uint64_t *)from);
}

/* queue and queue_bytes. */
static int parse_queue(void *to, const char *value)
{
	struct impair_params *params = (void *)((char *)to - offsetof(struct impair_params, queue));
	uint64_t packets = 0;
	double bytes = 0;
	bool whole = quantity_parse_whole(value, 1, IMPAIR_QUEUE_MAX, &packets) == 0;

	if (!whole &&
	    (quantity_parse(value, faults_bytes, &bytes) || bytes < 1 || bytes > FAULTS_BYTES_MAX))
		return -1;
	params->queue = whole ? (uint32_t)packets : (uint32_t)bytes;
	params->queue_bytes = !whole;
	return 0;
}

static void print_queue(const void *from, char *buf, size_t size)
{
	const struct impair_params *params =
		(const void *)((const char *)from - offsetof(struct impair_params, queue));

	if (params->queue_bytes)
		quantity_print(buf, size, faults_bytes, params->queue);
	else
		snprintf(buf, size, "%u", params->queue);
}

static int parse_distance(void *to, const char *value)
{
	uint64_t distance;

	if (quantity_parse_whole(value, 1, IMPAIR_DISTANCE_MAX, &distance))
		return -1;
	*(uint16_t *)to = (uint16_t)distance;
	return 0;
}

static void print_distance(const void *from, char *buf, size_t size)
{
	snprintf(buf, size, "%u", *(const uint16_t *)from);
}

static int parse_switch(void *to, const char *value)
{
	bool on = strcmp(value, "on") == 0;

	if (!on && strcmp(value, "off") != 0)
		return -1;
	*(bool *)to = on;
	return 0;
}

static void print_switch(const void *from, char *buf, size_t size)
{
	snprintf(buf, size, "%s", *(const bool *)from ? "on" : "off");
}

#define FIELDS(first, last)                                                                        \
	offsetof(struct impair_params, first), offsetof(struct impair_params, last) +              \
						       sizeof(((struct impair_params *)0)->last) - \
						       offsetof(struct impair_params, first)
#define FRACTION "a probability, as 0.01 or 1%"
#define TIME "a time up to 60s, as 500us or 2ms"
static const struct faults_key faults_keys[] = {
	{ "loss", FRACTION, FIELDS(loss, loss), parse_fraction, print_fraction },
	{ "burst",
	  "P:R[:LB[:LG]], probabilities to enter and to leave bursts (R not 0) and of loss in and between "
	  "them, as 0.1%:10%, or 0",
	  FIELDS(burst_enter, burst_good), parse_burst, print_burst },
	{ "dup", FRACTION, FIELDS(dup, dup), parse_fraction, print_fraction },
	{ "reorder", FRACTION, FIELDS(reorder, reorder), parse_fraction, print_fraction },
	{ "distance", "a number of packets from 1 to 1000", FIELDS(distance, distance),
	  parse_distance, print_distance },
	{ "delay", TIME, FIELDS(delay_ns, delay_ns), parse_time, print_time },
	{ "jitter", TIME, FIELDS(jitter_ns, jitter_ns), parse_time, print_time },
	{ "rate", "from 1K to 10000G bits a second, as 100M, 100Mbit or 1.5G, or 0 for no limit",
	  FIELDS(rate, rate), parse_rate, print_rate },
	{ "queue", "a number of packets from 1 to 1024, or bytes up to 64MB, as 1500B or 64KB",
	  FIELDS(queue, queue_bytes), parse_queue, print_queue },
	{ "corrupt", FRACTION, FIELDS(corrupt, corrupt), parse_fraction, print_fraction },
	{ "corrupt-checked", FRACTION, FIELDS(corrupt_checked, corrupt_checked), parse_fraction,
	  print_fraction },
	{ "down", "on or off", FIELDS(down, down), parse_switch, print_switch },
};
#undef FIELDS
enum { FAULTS_KEYS = sizeof(faults_keys) / sizeof(faults_keys[0]) };

static int faults_set_dir(struct faults_change *change, const char *value, struct port_error *err)
{
	bool both = strcmp(value, "both") == 0;

	change->in = both || strcmp(value, "in") == 0;
	change->out = both || strcmp(value, "out") == 0;
	return change->in || change->out
		       ? 0
		       : port_fail(err, "dir must be in, out or both, not \"%s\"", value);
}

static int faults_unknown(const char *key, struct port_error *err)
{
	char known[160] = "";
	size_t at = 0;

	for (unsigned i = 0; i < FAULTS_KEYS; i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s, ", faults_keys[i].name);
	return port_fail(err, "unknown key \"%s\" (known: %sdir)", key, known);
}

/* One KEY=VALUE, cut into its two. */
static int faults_set(struct faults_change *change, const char *name, const char *value,
		      struct port_error *err)
{
	const struct faults_key *key = NULL;
	uint32_t bit = UINT32_C(1) << FAULTS_KEYS;

	for (unsigned i = 0; i < FAULTS_KEYS && !key; i++)
		if (strcmp(name, faults_keys[i].name) == 0) {
			key = &faults_keys[i];
			bit = UINT32_C(1) << i;
		}
	if (!key && strcmp(name, "dir") != 0)
		return faults_unknown(name, err);
	if (change->given & bit)
		return port_fail(err, "%s is given twice", name);
	change->given |= bit;
	if (!key)
		return faults_set_dir(change, value, err);
	if (key->parse((char *)&change->params + key->off, value))
		return port_fail(err, "%s must be %s, not \"%s\"", name, key->form, value);
	return 0;
}

static int faults_parse_items(struct faults_change *change, const char *text,
			      struct port_error *err)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		char item[FAULTS_ITEM], *eq;

		if (!len)
			return port_fail(err, "KEY=VALUE is missing before or after a comma, or "
					      "behind the port");
		if (len >= sizeof(item))
			return port_fail(err, "\"%.40s...\" is too long for KEY=VALUE", text);
		memcpy(item, text, len);
		item[len] = '\0';
		eq = strchr(item, '=');
		if (!eq)
			return port_fail(err, "\"%s\" is not KEY=VALUE", item);
		*eq = '\0';
		if (faults_set(change, item, eq + 1, err))
			return -1;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

int faults_parse(struct faults_change *change, const char *text, struct port_error *err)
{
	const char *colon = strchr(text, ':');
	char port[16] = "";
	uint64_t number;

	*change = (struct faults_change){ .in = true, .out = true };
	if (!colon)
		return port_fail(err, "must be PORT:KEY=VALUE,..., as 1:loss=1%%,dir=in");
	if ((size_t)(colon - text) < sizeof(port))
		memcpy(port, text, (size_t)(colon - text));
	if (quantity_parse_whole(port, 0, PORT_NUMBER_MAX, &number))
		return port_fail(err, "\"%.*s\" is no port number from 0 to %d",
				 (int)(colon - text < 40 ? colon - text : 40), text,
				 PORT_NUMBER_MAX);
	change->number = (uint16_t)number;
	if (faults_parse_items(change, colon + 1, err))
		return -1;
	if (change->given == UINT32_C(1) << FAULTS_KEYS)
		return port_fail(err, "dir says for which direction, but no fault is given: add "
				      "one, as loss=1%%");
	return 0;
}

void faults_merge(const struct faults_change *change, struct impair_params *params)
{
	for (unsigned i = 0; i < FAULTS_KEYS; i++)
		if (change->given >> i & 1)
			memcpy((char *)params + faults_keys[i].off,
			       (const char *)&change->params + faults_keys[i].off,
			       faults_keys[i].size);
}

static void faults_change(struct lcore *lcore, struct lcore_port *p, struct lcore_faults *faults,
			  const struct faults_change *change)
{
	const struct impair_params before = faults->impair.params;
	struct impair_params params = before;

	faults_merge(change, &params);
	impair_set(&faults->impair, &params);
	if (params.rate != before.rate)
		stage_retime(lcore, p, faults, &before);
}

int faults_apply(struct lcore *lcore, const char *text, struct port_error *err)
{
	struct faults_change change;

	if (faults_parse(&change, text, err))
		return -1;
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct lcore_port *p = &lcore->ports[i];

		if (p->port.spec.number != change.number)
			continue;
		if (change.in)
			faults_change(lcore, p, &p->in, &change);
		if (change.out)
			faults_change(lcore, p, &p->out, &change);
		return 0;
	}
	return port_fail(err, "there is no port %u: tallyctl show ports lists those there are",
			 change.number);
}

void faults_print(const struct lcore *lcore, unsigned port_index, bool out, char *buf, size_t size)
{
	const struct lcore_port *p = &lcore->ports[port_index];
	const char *params = (const char *)&(out ? &p->out : &p->in)->impair.params;
	static const struct impair_params none;
	char text[FAULTS_TEXT] = "";
	size_t at = 0;

	for (unsigned i = 0; i < FAULTS_KEYS; i++) {
		const struct faults_key *key = &faults_keys[i];
		char value[128];

		if (memcmp(params + key->off, (const char *)&none + key->off, key->size) == 0)
			continue;
		key->print(params + key->off, value, sizeof(value));
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s=%s,", key->name, value);
	}
	snprintf(buf, size, "%u:%sdir=%s", p->port.spec.number, at ? text : "loss=0,",
		 out ? "out" : "in");
}
