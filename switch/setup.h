/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setup.h - makes what a switch has besides its devices: faults, machine and captures, from its options.
 *
 * What a process of its own and a switch among others in one process have in common.  Neither DPDK nor any
 * device is touched here.
 */
#ifndef SWITCH_SETUP_H
#define SWITCH_SETUP_H

#include "switch/node.h"

/* The ports as node->conf has them, with faults, still without a device. */
int setup_ports(struct node *node, const struct port_ops *(*ops_of)(unsigned form),
		struct port_error *err);
/* As --pcap says. */
int setup_captures(struct node *node, struct port_error *err);

/* A leaf's. */
struct setup_parent {
	uint64_t inc;  /* random bits, fresh at every start */
	uint16_t from; /* own UDP port that packets to the parent leave from */
	uint16_t port; /* index of the port that leads there; framed: or PARENT_NO_PORT */
	bool framed;   /* to be sought by ARP */
};
/* Once the ports' MTUs are known.  parent: NULL if node->conf has none. */
int setup_pipe(struct node *node, const struct setup_parent *parent, struct port_error *err);

/* The switch ended in order: its captures get their names.  What is closed already is left alone. */
void setup_close_captures(struct node *node);
/* All of these, and the devices: each half may be missing. */
void setup_close_ports(struct node *node);
void setup_free(struct node *node);

/* Zeroed pages, touched when used; NULL: there are none. */
void *setup_map(size_t bytes);

#endif
