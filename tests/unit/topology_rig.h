/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of topology files share: loading one, and what is said about it. */
#ifndef TESTS_UNIT_TOPOLOGY_RIG_H
#define TESTS_UNIT_TOPOLOGY_RIG_H

#include "topologies/topology.h"

#define DATA "tests/data/topology/"

/* The caller frees *errors. */
struct topology *topology_rig_load(const char *path, char **errors);
/* One without errors. */
struct topology *topology_rig_good(const char *path);
/* What topology_check_netns() says; the caller frees it. */
char *topology_rig_netns(struct topology *t, bool with_jobs, int expected_rc);
const struct topology_node *topology_rig_node(const struct topology *t, const char *name);

#endif
