// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_forest.c - what all switches of this user say, as far as they answer soon. */
#include <string.h>

#include "switch/tallyctl_tree.h"

enum { FOREST_WAIT_MS = 300 /* one that is stopped is not waited for */ };

/* A list without what is around it. */
static json_t *forest_list(struct link *link, const char *command, const char *key,
			   const char *rest)
{
	json_t *answer = link_list(link, command, key, rest);
	json_t *list = json_incref(json_object_get(answer, key));

	json_decref(answer);
	return list;
}

static void forest_add(struct tree *tree, struct link *link)
{
	json_t *info = link_ask(link, "/tally/info"), *jobs = NULL, *stalls = NULL;

	if (info)
		jobs = forest_list(link, "/tally/jobs", "jobs", NULL);
	if (jobs)
		stalls = forest_list(link, "/tally/stalls", "stalls", "0");
	tree_add(tree, link->name, info, jobs, stalls);
}

/* Whether other switches can know more. */
static bool forest_has_trees(const json_t *info, const json_t *jobs)
{
	const json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job) if (field_true(job, "tree")) return true;
	return *field_text(info, "parent");
}

static void forest_ask(struct tree *tree, const char *but)
{
	static char paths[LINK_PATHS][CTL_PATH];
	static struct link link;
	unsigned nr = link_paths(paths);

	for (unsigned i = 0; i < nr; i++) {
		if (strcmp(paths[i], but) == 0)
			continue;
		if (link_open_path(&link, paths[i], FOREST_WAIT_MS))
			forest_add(tree, &link);
		link_close(&link);
	}
}

void tree_complete(struct tallyctl *ctl, json_t *stalls)
{
	static struct tree tree;
	json_t *info, *jobs = NULL;
	bool trees;

	if (json_array_size(stalls) == 0)
		return;
	link_hush(true);
	info = link_ask(&ctl->link, "/tally/info");
	if (info)
		jobs = forest_list(&ctl->link, "/tally/jobs", "jobs", NULL);
	trees = jobs && forest_has_trees(info, jobs);
	tree_add(&tree, ctl->link.name, info, jobs, json_incref(stalls));
	if (trees) {
		forest_ask(&tree, ctl->link.path);
		tree_resolve(&tree);
	}
	tree_free(&tree);
	link_hush(false);
}
