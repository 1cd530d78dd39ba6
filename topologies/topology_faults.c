// SPDX-License-Identifier: BSD-3-Clause
// Faults of a link, in the words of tally-switch --impair.
#include <stdarg.h>
#include <string.h>

#include "switch/faults.h"
#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { ITEM_MAX = 128 };

static const char *const names[TOPOLOGY_FAULTS] = {
	[TOPOLOGY_BURST] = "burst",	[TOPOLOGY_DISTANCE] = "distance",
	[TOPOLOGY_JITTER] = "jitter",	[TOPOLOGY_QUEUE] = "queue",
	[TOPOLOGY_CORRUPT] = "corrupt", [TOPOLOGY_CORRUPT_CHECKED] = "corrupt-checked",
	[TOPOLOGY_DOWN] = "down",
};

// The switch's own parser says what it would refuse.
void reader_check_faults(struct reader *r, const struct topology_link *l)
{
	for (int i = 0; i < TOPOLOGY_FAULTS; i++) {
		const struct topology_fault *f = &l->fault[i];
		struct faults_change change;
		struct port_error err;
		char item[ITEM_MAX];

		if (!f->text)
			continue;
		if ((size_t)snprintf(item, sizeof(item), "0:%s=%s", names[i], f->text) >=
			    sizeof(item) ||
		    strchr(f->text, ','))
			reader_error(r, f->place, "expected a shorter value of %s, without commas",
				     names[i]);
		else if (faults_parse(&change, item, &err))
			reader_error(r, f->place, "%s", err.text);
	}
}

const char *topology_fault_name(enum topology_fault_key key)
{
	return names[key];
}

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void text_add(struct text *t, const char *format, ...)
{
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(t->at, t->left, format, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= t->left)
		len = (int)t->left - 1;
	t->at += len;
	t->left -= (size_t)len;
}

void topology_faults(const struct topology_link *l, struct topology_faults_text *to)
{
	struct text t = { to->text, sizeof(to->text) };

	to->text[0] = 0;
	if (l->loss > 0)
		text_add(&t, "loss=%.9g,", l->loss);
	if (l->dup > 0)
		text_add(&t, "dup=%.9g,", l->dup);
	if (l->reorder > 0)
		text_add(&t, "reorder=%.9g,", l->reorder);
	if (l->delay_ns)
		text_add(&t, "delay=%lluns,", (unsigned long long)l->delay_ns);
	if (l->rate_bps)
		text_add(&t, "rate=%llubit,", (unsigned long long)l->rate_bps);
	for (int i = 0; i < TOPOLOGY_FAULTS; i++)
		if (l->fault[i].text)
			text_add(&t, "%s=%s,", names[i], l->fault[i].text);
	if (t.at > to->text)
		t.at[-1] = 0;
}
