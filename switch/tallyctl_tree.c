// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_tree.c - which rank, below which switch, a tree waits for. */
#include "switch/tallyctl_tree.h"

#include <stdlib.h>
#include <string.h>

enum { TREE_DEPTH = 8 /* more than there are levels of switches */ };
#define TREE_PORT ":48880" /* the usual one is not told */

/* One stall while it is looked into. */
struct tree_look {
	const struct tree *tree;
	const json_t *stall; /* of the switch that was asked */
	const char *job;
	bool forming;
	unsigned long long epoch;
	json_t *silent; /* ranks, as far as known */
};

void tree_add(struct tree *tree, const char *name, json_t *info, json_t *jobs, json_t *stalls)
{
	struct tree_switch *sw = &tree->switches[tree->nr];

	if (tree->nr == TREE_SWITCHES || !info || !jobs || !stalls) {
		json_decref(info);
		json_decref(jobs);
		json_decref(stalls);
		return;
	}
	*sw = (struct tree_switch){ .info = info, .jobs = jobs, .stalls = stalls };
	snprintf(sw->name, sizeof(sw->name), "%s", name);
	tree->nr++;
}

void tree_free(struct tree *tree)
{
	for (unsigned i = 0; i < tree->nr; i++) {
		json_decref(tree->switches[i].info);
		json_decref(tree->switches[i].jobs);
		json_decref(tree->switches[i].stalls);
	}
	tree->nr = 0;
}

static const json_t *tree_job(const struct tree_switch *sw, const char *name)
{
	const json_t *job;
	size_t i;

	json_array_foreach(sw->jobs, i,
			   job) if (strcmp(field_text(job, "name"), name) == 0) return job;
	return NULL;
}

static bool tree_has_address(const struct tree_switch *sw, const char *address)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(sw->info, "addresses"), i, one)
	{
		if (strcmp(json_string_value(one) ? json_string_value(one) : "", address) == 0)
			return true;
	}
	return false;
}

/* Whether it is in this epoch of the job, or forms one: another network may have the same addresses. */
static bool tree_fits(const struct tree_look *look, const struct tree_switch *sw)
{
	const json_t *job = tree_job(sw, look->job);

	if (look->forming)
		return strcmp(field_text(job, "state"), "forming") == 0;
	return job && field_u64(job, "epoch") == look->epoch;
}

/* NULL: none, or not only one. */
static const struct tree_switch *tree_at(const struct tree_look *look, const char *address)
{
	const struct tree_switch *found = NULL;

	for (unsigned i = 0; i < look->tree->nr; i++) {
		const struct tree_switch *sw = &look->tree->switches[i];

		if (!tree_has_address(sw, address) || !tree_fits(look, sw))
			continue;
		if (found)
			return NULL;
		found = sw;
	}
	return found;
}

/* The same slot and round there, or the same job if it forms. */
static const json_t *tree_stall(const struct tree_look *look, const struct tree_switch *sw)
{
	const json_t *stall;
	size_t i;

	json_array_foreach(sw->stalls, i, stall)
	{
		if (strcmp(field_text(stall, "job"), look->job) != 0 ||
		    look->forming != (strcmp(field_text(stall, "state"), "forming") == 0))
			continue;
		if (look->forming || (field_u64(stall, "slot") == field_u64(look->stall, "slot") &&
				      field_u64(stall, "round") == field_u64(look->stall, "round")))
			return stall;
	}
	return NULL;
}

static bool tree_waits_for_parent(const json_t *stall)
{
	return strcmp(field_text(stall, "waits_for"), "parent") == 0;
}

/* Spans that are still to be looked into have the number of the switch that named them as `of`. */
static void tree_put(json_t *spans, unsigned long long first, unsigned long long last, int of)
{
	json_t *span = json_object();

	json_object_set_new(span, "first", json_integer((json_int_t)first));
	json_object_set_new(span, "last", json_integer((json_int_t)last));
	if (of >= 0)
		json_object_set_new(span, "of", json_integer(of));
	json_array_append_new(spans, span);
}

/* The last one put is final: ranks of this switch, or behind it. */
static void tree_name(const struct tree_look *look, json_t *spans, const struct tree_switch *sw)
{
	json_t *span = json_array_get(spans, json_array_size(spans) - 1);
	const char *address =
		json_string_value(json_array_get(json_object_get(sw->info, "addresses"), 0));
	char text[TALLYCTL_TEXT];
	size_t len = address ? strlen(address) : 0, port = strlen(TREE_PORT);

	if (sw == look->tree->switches || !address)
		return;
	if (len > port && strcmp(address + len - port, TREE_PORT) == 0)
		len -= port;
	snprintf(text, sizeof(text), "%.100s at %.*s", sw->name, (int)(len < 40 ? len : 40),
		 address);
	json_object_set_new(span, "leaf", json_string(text));
}

static int tree_index(const struct tree_look *look, const struct tree_switch *sw)
{
	return (int)(sw - look->tree->switches);
}

static void tree_put_all(const struct tree_look *look, json_t *to, const json_t *from,
			 const struct tree_switch *sw)
{
	const json_t *span;
	json_t *mine;
	size_t i;

	json_array_foreach(from, i, span)
	{
		tree_put(to, field_u64(span, "first"), field_u64(span, "last"),
			 tree_index(look, sw));
		mine = json_array_get(to, json_array_size(to) - 1);
		if (*field_text(span, "leaf"))
			json_object_set(mine, "leaf", json_object_get(span, "leaf"));
	}
}

/* What a switch knows better about these ranks than the one above it. */
static void tree_silence(struct tree_look *look, unsigned long long first, unsigned long long last,
			 const json_t *silent)
{
	json_t *all = json_array();
	const json_t *span;
	size_t i;

	json_array_foreach(look->silent, i, span)
	{
		if (field_u64(span, "first") < first || field_u64(span, "last") > last)
			tree_put(all, field_u64(span, "first"), field_u64(span, "last"), -1);
	}
	json_array_foreach(silent, i, span)
		tree_put(all, field_u64(span, "first"), field_u64(span, "last"), -1);
	json_decref(look->silent);
	look->silent = all;
}

/* Ranks first to last are all behind a switch, which may know more. */
static void tree_put_behind(struct tree_look *look, json_t *to, const struct tree_switch *sw,
			    const json_t *span)
{
	const json_t *stall = tree_stall(look, sw), *missing = json_object_get(stall, "missing");
	unsigned long long first = field_u64(span, "first"), last = field_u64(span, "last");

	if (stall && !tree_waits_for_parent(stall) && json_array_size(missing)) {
		tree_put_all(look, to, missing, sw);
		tree_silence(look, first, last, json_object_get(stall, "silent"));
		return;
	}
	tree_put(to, first, last, -1);
	tree_name(look, to, sw);
}

static bool tree_is_child(const struct tree_look *look, const struct tree_switch *sw,
			  const struct tree_switch *parent)
{
	return sw != parent && tree_has_address(parent, field_text(sw->info, "parent")) &&
	       tree_fits(look, sw);
}

/* The only switch below this one that has the rank; NULL: none, or not only one. */
static const struct tree_switch *
tree_child(const struct tree_look *look, const struct tree_switch *parent, unsigned long long rank)
{
	const struct tree_switch *found = NULL;

	for (unsigned i = 0; i < look->tree->nr; i++) {
		const struct tree_switch *sw = &look->tree->switches[i];
		const json_t *job = tree_job(sw, look->job);
		unsigned long long first = field_u64(job, "first");

		if (!tree_is_child(look, sw, parent) || rank < first ||
		    rank >= first + field_u64(job, "nr"))
			continue;
		if (found)
			return NULL;
		found = sw;
	}
	return found;
}

/* Nobody stands for these ranks in a job that forms: whoever is to may be there and wait for some of them. */
static void tree_put_forming(struct tree_look *look, json_t *to, const struct tree_switch *of,
			     const json_t *span)
{
	unsigned long long rank = field_u64(span, "first"), last = field_u64(span, "last"), end;

	for (; rank <= last; rank = end + 1) {
		const struct tree_switch *sw = tree_child(look, of, rank);
		const json_t *job = sw ? tree_job(sw, look->job) : NULL;
		json_t *part = json_array();

		end = rank;
		if (sw)
			end = field_u64(job, "first") + field_u64(job, "nr") - 1;
		while (!sw && end < last && !tree_child(look, of, end + 1))
			end++;
		end = end < last ? end : last;
		tree_put(part, rank, end, -1);
		if (sw) {
			tree_put_behind(look, to, sw, json_array_get(part, 0));
		} else {
			tree_put(to, rank, end, -1);
			tree_name(look, to, of);
		}
		json_decref(part);
	}
}

/* One level further down; *more: there may be another. */
static json_t *tree_down(struct tree_look *look, const json_t *spans, bool *more)
{
	json_t *all = json_array(), *span;
	size_t i;

	*more = false;
	json_array_foreach(spans, i, span)
	{
		const struct tree_switch *of = &look->tree->switches[field_u64(span, "of")], *leaf;
		const char *address = field_text(span, "leaf");

		if (!json_object_get(span, "of")) {
			json_array_append(all, span);
			continue;
		}
		*more = true;
		leaf = *address ? tree_at(look, address) : NULL;
		if (leaf && leaf != of) {
			tree_put_behind(look, all, leaf, span);
		} else if (look->forming && field_true(tree_job(of, look->job), "tree")) {
			tree_put_forming(look, all, of, span);
		} else {
			tree_put(all, field_u64(span, "first"), field_u64(span, "last"), -1);
			tree_name(look, all, of);
			if (*address)
				json_object_set(json_array_get(all, json_array_size(all) - 1),
						"leaf", json_object_get(span, "leaf"));
		}
	}
	return all;
}

/* The switch upwards that does not wait for its parent, and its stall; NULL: it is not known. */
static const struct tree_switch *tree_up(const struct tree_look *look, const json_t **stall)
{
	const struct tree_switch *sw = look->tree->switches;

	*stall = look->stall;
	for (unsigned i = 0; i < TREE_DEPTH && tree_waits_for_parent(*stall); i++) {
		sw = tree_at(look, field_text(sw->info, "parent"));
		*stall = sw ? tree_stall(look, sw) : NULL;
		if (!*stall)
			return NULL;
	}
	return tree_waits_for_parent(*stall) ? NULL : sw;
}

static void tree_resolve_one(const struct tree *tree, json_t *stall)
{
	struct tree_look look = { .tree = tree, .stall = stall, .job = field_text(stall, "job") };
	const struct tree_switch *top;
	json_t *spans, *next;
	const json_t *from;
	bool more = true;

	look.forming = strcmp(field_text(stall, "state"), "forming") == 0;
	look.epoch = field_u64(tree_job(tree->switches, look.job), "epoch");
	top = tree_up(&look, &from);
	if (!top || json_array_size(json_object_get(from, "missing")) == 0)
		return;
	look.silent = json_array();
	tree_silence(&look, 1, 0, json_object_get(from, "silent"));
	spans = json_array();
	tree_put_all(&look, spans, json_object_get(from, "missing"), top);
	for (unsigned i = 0; i < TREE_DEPTH && more; i++) {
		next = tree_down(&look, spans, &more);
		json_decref(spans);
		spans = next;
	}
	json_object_set_new(stall, "missing", spans);
	json_object_set_new(stall, "silent", look.silent);
	json_object_set_new(stall, "waits_for", json_string("members"));
}

void tree_resolve(const struct tree *tree)
{
	json_t *stall;
	size_t i;

	if (tree->nr)
		json_array_foreach(tree->switches[0].stalls, i, stall)
			tree_resolve_one(tree, stall);
}
