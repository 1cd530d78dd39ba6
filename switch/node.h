/* SPDX-License-Identifier: BSD-3-Clause */
/* node.h - a whole switch: its ports, machines and captures, from options to running and back. */
#ifndef SWITCH_NODE_H
#define SWITCH_NODE_H

#include <signal.h>

#include "switch/conf.h"
#include "switch/ctl.h"
#include "switch/io/rundir.h"
#include "switch/lcore.h"

struct node {
	const struct conf *conf;
	uint64_t start_ns; /* ready since */
	size_t pipe_bytes, fwd_bytes;
	bool dpdk;
	struct pipe_params pipe_params;
	const char *comment; /* of captures; NULL: who made them */
	struct rundir rundir;
	struct lcore lcore;
	struct ctl ctl;
};

/* Opens everything; on -1 node_close() is still to be called.  Stops early, with 0, once *stop is set. */
int node_open(struct node *node, const struct conf *conf, const volatile sig_atomic_t *stop,
	      struct port_error *err);
void node_close(struct node *node);

#endif
