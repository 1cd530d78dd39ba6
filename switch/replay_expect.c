// SPDX-License-Identifier: BSD-3-Clause
/* replay_expect.c - what the switch sends now, compared with what it is expected to send. */
#include <stdlib.h>
#include <string.h>

#include "switch/replay.h"

int replay_expect_open(struct replay_expect *expect, const struct replay_setup *setup,
		       const char *file, struct port_error *err)
{
	*expect = (struct replay_expect){ .active = true, .each = !file };
	expect->nr = file ? 1 : setup->nr_ports;
	expect->sources = calloc(expect->nr, sizeof(*expect->sources));
	expect->compared = calloc(expect->nr, sizeof(*expect->compared));
	expect->stopped = calloc(expect->nr, sizeof(*expect->stopped));
	if (!expect->sources || !expect->compared || !expect->stopped)
		return port_fail(err, "out of memory");
	for (unsigned i = 0; i < expect->nr; i++) {
		const char *path = file ? file : setup->ports[i].out;

		if (!path[0])
			return port_fail(err, "port %u: there is no capture of what it sent",
					 setup->ports[i].number);
		if (replay_source_open(&expect->sources[i], path, err))
			return -1;
	}
	return 0;
}

void replay_expect_close(struct replay_expect *expect)
{
	for (unsigned i = 0; expect->sources && i < expect->nr; i++)
		replay_source_close(&expect->sources[i]);
	free(expect->sources);
	free(expect->compared);
	free(expect->stopped);
	*expect = (struct replay_expect){ .active = false };
}

/* A capture that its switch could not end says nothing about what follows it. */
static bool expect_is_open(const struct replay_source *source)
{
	return source->partial;
}

static void expect_where(const struct replay_setup *setup, const struct replay_sent *sent,
			 uint64_t number)
{
	printf("DIFFERENT: packet %llu out of port %u, at %llu.%09llu: ",
	       (unsigned long long)number, setup->ports[sent->port].number,
	       (unsigned long long)(sent->ns / 1000000000),
	       (unsigned long long)(sent->ns % 1000000000));
}

static void expect_say_beyond(const struct replay_setup *setup, const struct replay_sent *sent,
			      uint64_t number)
{
	char text[REPLAY_TEXT];

	expect_where(setup, sent, number);
	replay_describe(sent->data, sent->len, text);
	printf("sent, but nothing more is expected\n  sent:     %s\n", text);
}

static void expect_say(const struct replay_setup *setup, const struct replay_sent *sent,
		       const struct replay_packet *expected)
{
	char text[REPLAY_TEXT];

	expect_where(setup, sent, expected->number);
	replay_explain(expected, sent, text);
	printf("%s\n", text);
	replay_describe(expected->data, expected->len, text);
	printf("  expected: %s\n", text);
	replay_describe(sent->data, sent->len, text);
	printf("  sent:     %s\n", text);
}

int replay_expect_sent(struct replay_expect *expect, const struct replay_setup *setup,
		       const struct replay_sent *sent, struct port_error *err)
{
	const unsigned i = expect->each ? sent->port : 0;
	struct replay_source *source = &expect->sources[i];
	const struct replay_packet *next = &source->next;

	if (!source->here) {
		if (expect_is_open(source))
			expect->nr_beyond++;
		else if (expect->nr_different++, !expect->stopped[i])
			expect_say_beyond(setup, sent, expect->compared[i] + 1);
		expect->stopped[i] = true;
		return 0;
	}
	expect->compared[i]++;
	if (next->len == sent->len && memcmp(next->data, sent->data, sent->len) == 0) {
		expect->nr_same++;
	} else {
		/* The first is the one that explains the others. */
		if (!expect->stopped[i])
			expect_say(setup, sent, next);
		expect->stopped[i] = true;
		expect->nr_different++;
	}
	return replay_source_step(source, err);
}

void replay_expect_end(struct replay_expect *expect)
{
	struct port_error err;

	for (unsigned i = 0; i < expect->nr; i++) {
		struct replay_source *source = &expect->sources[i];
		char text[REPLAY_TEXT];
		uint64_t nr = 0;

		if (!source->here)
			continue;
		replay_describe(source->next.data, source->next.len, text);
		do
			nr++;
		while (replay_source_step(source, &err) == 0 && source->here);
		if (expect->open) {
			expect->nr_beyond += nr;
			continue;
		}
		expect->nr_different += nr;
		if (!expect->stopped[i])
			printf("DIFFERENT: %.200s: packet %llu: expected, but nothing more is sent\n"
			       "  expected: %s\n",
			       source->path, (unsigned long long)expect->compared[i] + 1, text);
	}
}
