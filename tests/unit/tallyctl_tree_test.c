// SPDX-License-Identifier: BSD-3-Clause
// tallyctl_tree_test.c - whom a tree waits for, as its switches together know it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "switch/tallyctl_tree.h"

static struct tree tree;

static json_t *parse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static json_t *parse(const char *format, ...)
{
	static char text[4096];
	json_t *value;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	value = json_loads(text, 0, NULL);
	if (!value)
		fail_msg("no JSON: %s", text);
	return value;
}

/* Its last byte is the address's; the job's epoch is the one whose ranks it has, FORMING: one that forms. */
enum { NO_PARENT = 0, EPOCH = 77, FORMING = 0 };

struct plan {
	const char *name;
	unsigned address, parent, epoch, first, nr;
	bool is_tree;
	const char *stall; /* what goes on behind the job, or NULL */
};

static void add(const struct plan *plan)
{
	json_t *info = parse("{'addresses': ['10.0.0.%u:48880', '10.1.0.%u:50000']}", plan->address,
			     plan->address);

	if (plan->parent)
		json_object_set_new(info, "parent", json_sprintf("10.0.0.%u:48880", plan->parent));
	tree_add(
		&tree, plan->name, info,
		parse("[{'name': 'other', 'epoch': 5, 'state': 'running', 'first': 0, 'nr': 64}, "
		      "{'name': 'sgd', 'epoch': %u, 'state': '%s', 'first': %u, 'nr': %u, 'tree': %s}]",
		      plan->epoch, plan->epoch ? "running" : "forming", plan->first, plan->nr,
		      plan->is_tree ? "true" : "false"),
		plan->stall
			? parse("[{'job': 'other', 'state': 'running', 'slot': 9, 'round': 4, "
				"'waits_for': 'members', 'missing': [{'first': 60, 'last': 61}]}, "
				"{'job': 'sgd', 'state': '%s', %s}]",
				plan->epoch ? "running" : "forming", plan->stall)
			: parse("[]"));
}

/* Whom the job sgd waits for, as the first switch says it in the end. */
static void waits(const char *want)
{
	char text[TALLYCTL_TEXT];

	tree_resolve(&tree);
	stall_whom(json_array_get(tree.switches[0].stalls, 1), text);
	assert_string_equal(text, want);
	/* Another job's stall is not touched. */
	stall_whom(json_array_get(tree.switches[0].stalls, 0), text);
	assert_string_equal(text, "ranks 60-61");
}

static int forget(void **state)
{
	(void)state;
	tree_free(&tree);
	return 0;
}

#define AT "'slot': 9, 'round': 4, "
#define MEMBERS "'waits_for': 'members', "
#define PARENT "'waits_for': 'parent', "
#define ONE(rank) "{'first': " #rank ", 'last': " #rank "}"
#define SPAN(first_, last_) "{'first': " #first_ ", 'last': " #last_ "}"
#define LEAF(first_, last_, address)                                                               \
	"{'first': " #first_ ", 'last': " #last_ ", 'leaf': '10.0.0." #address ":48880'}"

static const struct plan root = {
	"s0",
	254,
	NO_PARENT,
	EPOCH,
	0,
	8,
	true,
	AT MEMBERS
	"'missing': [" LEAF(0, 3, 1) ", " LEAF(4, 7, 2) "], 'silent': [" LEAF(0, 3, 1) "]"
};
static const struct plan left = {
	"s1", 1, 254,	EPOCH,
	0,    4, false, AT MEMBERS "'missing': [" ONE(1) ", " ONE(3) "], 'silent': [" ONE(3) "]"
};
static const struct plan right = { "s2", 2, 254,   EPOCH,
				   4,	 4, false, AT PARENT "'missing': [], 'silent': []" };

static void tree_resolve__root_asks_its_leaf(void **state)
{
	(void)state;
	add(&root);
	add(&left);
	waits("ranks 1, 3 behind s1 at 10.0.0.1, 4-7 behind 10.0.0.2:48880 (silent: 3)");
}

/* A leaf that has all of its own is the one whose packets do not arrive. */
static void tree_resolve__leaf_that_has_all(void **state)
{
	(void)state;
	add(&root);
	add(&right);
	waits("ranks 0-3 behind 10.0.0.1:48880, 4-7 behind s2 at 10.0.0.2 (silent: 0-3)");
}

static void tree_resolve__leaf_asks_the_others(void **state)
{
	(void)state;
	add(&right);
	add(&left);
	add(&root);
	waits("ranks 1, 3 behind s1 at 10.0.0.1, 4-7 (silent: 3)");
}

static void tree_resolve__without_the_parent(void **state)
{
	(void)state;
	add(&right);
	add(&left);
	waits("the parent");
}

/* The same addresses in another network; then in one that cannot be told from this. */
static void tree_resolve__other_networks(void **state)
{
	struct plan other = left;

	(void)state;
	other.name = "s1-2";
	other.epoch = EPOCH + 1;
	add(&root);
	add(&other);
	waits("ranks 0-3 behind 10.0.0.1:48880, 4-7 behind 10.0.0.2:48880 (silent: 0-3)");
	forget(state);
	other.epoch = EPOCH;
	add(&root);
	add(&left);
	add(&other);
	waits("ranks 0-3 behind 10.0.0.1:48880, 4-7 behind 10.0.0.2:48880 (silent: 0-3)");
}

/* Another slot or round there says nothing of this one. */
static void tree_resolve__other_slots(void **state)
{
	struct plan other = left;

	(void)state;
	other.stall = "'slot': 9, 'round': 5, " MEMBERS "'missing': [" ONE(1) "]";
	add(&root);
	add(&other);
	waits("ranks 0-3 behind s1 at 10.0.0.1, 4-7 behind 10.0.0.2:48880 (silent: 0-3)");
}

static void tree_resolve__three_levels(void **state)
{
	static const struct plan levels[] = {
		{ "s0", 254, NO_PARENT, EPOCH, 0, 8, true,
		  AT MEMBERS "'missing': [" LEAF(4, 7, 20) "], 'silent': []" },
		{ "m2", 20, 254, EPOCH, 4, 4, true,
		  AT MEMBERS "'missing': [" LEAF(6, 7, 5) "], 'silent': [" LEAF(6, 7, 5) "]" },
		{ "s5", 5, 20, EPOCH, 6, 2, false,
		  AT MEMBERS "'missing': [" ONE(7) "], 'silent': [" ONE(7) "]" },
	};
	static const struct plan far = {
		"s1", 1, 10,	EPOCH,
		0,    2, false, AT PARENT "'missing': [" SPAN(4, 7) "], 'silent': []"
	};
	static const struct plan middle = {
		"m1", 10, 254,	EPOCH,
		0,    4,  true, AT PARENT "'missing': [" SPAN(4, 7) "], 'silent': []"
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add(&levels[i]);
	waits("rank 7 behind s5 at 10.0.0.5 (silent)");
	forget(state);
	add(&far);
	add(&middle);
	for (unsigned i = 0; i < 3; i++)
		add(&levels[i]);
	waits("rank 7 behind s5 at 10.0.0.5 (silent)");
	forget(state);
	/* As far as is known. */
	add(&far);
	for (unsigned i = 0; i < 3; i++)
		add(&levels[i]);
	waits("ranks 4-7 behind the parent");
}

/* Nobody stands for ranks 2-7 at the root: one leaf waits for a rank, one is complete, one is not there. */
static void tree_resolve__forming(void **state)
{
	static const struct plan plans[] = {
		{ "s0", 254, NO_PARENT, FORMING, 0, 8, true,
		  MEMBERS "'missing': [" SPAN(2, 7) "]" },
		{ "s2", 2, 254, FORMING, 2, 2, false, MEMBERS "'missing': [" ONE(3) "]" },
		{ "s4", 4, 254, FORMING, 6, 2, false, PARENT "'missing': []" },
		/* Of other trees, or other states. */
		{ "s3", 3, 253, FORMING, 4, 2, false, MEMBERS "'missing': [" ONE(4) "]" },
		{ "s5", 5, 254, EPOCH, 4, 2, false, AT MEMBERS "'missing': [" ONE(4) "]" },
	};

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		add(&plans[i]);
	waits("ranks 3 behind s2 at 10.0.0.2, 4-5, 6-7 behind s4 at 10.0.0.4");
	forget(state);
	add(&plans[2]);
	add(&plans[1]);
	add(&plans[0]);
	waits("ranks 3 behind s2 at 10.0.0.2, 4-5 behind s0 at 10.0.0.254, 6-7");
}

static void tree_add__no_room(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TREE_SWITCHES + 2; i++)
		add(&left);
	assert_int_equal(tree.nr, TREE_SWITCHES);
	tree_free(&tree);
	tree_add(&tree, "x", json_object(), NULL, json_array());
	assert_int_equal(tree.nr, 0);
	tree_resolve(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(tree_resolve__root_asks_its_leaf, forget),
		cmocka_unit_test_teardown(tree_resolve__leaf_that_has_all, forget),
		cmocka_unit_test_teardown(tree_resolve__leaf_asks_the_others, forget),
		cmocka_unit_test_teardown(tree_resolve__without_the_parent, forget),
		cmocka_unit_test_teardown(tree_resolve__other_networks, forget),
		cmocka_unit_test_teardown(tree_resolve__other_slots, forget),
		cmocka_unit_test_teardown(tree_resolve__three_levels, forget),
		cmocka_unit_test_teardown(tree_resolve__forming, forget),
		cmocka_unit_test_teardown(tree_add__no_room, forget),
	};

	return cmocka_run_group_tests_name("tallyctl_tree", tests, NULL, NULL);
}
