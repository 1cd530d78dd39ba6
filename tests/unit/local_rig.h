/* SPDX-License-Identifier: BSD-3-Clause */
/* local_rig.h - topologies that a test writes down, for fabrics in one process. */
#ifndef TESTS_UNIT_LOCAL_RIG_H
#define TESTS_UNIT_LOCAL_RIG_H

#include "topologies/topology.h"

/* A good file with this text, checked as for a run.  The caller frees it with topology_free(). */
struct topology *local_rig_load(const char *text);
/* The 16 digits behind "Result hash : " in what was printed, the n-th time from 0; "" if it is not there. */
struct local_rig_hash {
	char text[17];
};
struct local_rig_hash local_rig_hash(const char *output, unsigned int n);

/* Two leaves with two hosts each below a root, and a job of all four: 3 sizes, both modes, 2 iterations. */
extern const char local_rig_tree[];
/* The same hosts at one switch. */
extern const char local_rig_star[];

#endif
