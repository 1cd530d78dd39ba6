// SPDX-License-Identifier: BSD-3-Clause
// What the tests of topology files share: loading one, and what is said about it.
#include "tests/unit/topology_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct topology *topology_rig_load(const char *path, char **errors)
{
	size_t size;
	FILE *f = open_memstream(errors, &size);
	struct topology *t;

	assert_non_null(f);
	t = topology_load(path, f);
	fclose(f);
	return t;
}

struct topology *topology_rig_good(const char *path)
{
	char *errors;
	struct topology *t = topology_rig_load(path, &errors);

	assert_string_equal(errors, "");
	assert_non_null(t);
	free(errors);
	return t;
}

char *topology_rig_netns(struct topology *t, bool with_jobs, int expected_rc)
{
	char *errors;
	size_t size;
	FILE *f = open_memstream(&errors, &size);

	assert_non_null(f);
	assert_int_equal(topology_check_netns(t, with_jobs, f), expected_rc);
	fclose(f);
	return errors;
}

const struct topology_node *topology_rig_node(const struct topology *t, const char *name)
{
	int i = topology_node_find(t, name, strlen(name));

	assert_true(i >= 0);
	return &t->node[i];
}
