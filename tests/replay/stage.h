/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.h - switches in virtual time between scripted ranks, which capture what they see and say: the golden captures.
 *
 * Each switch is the product's own, from ingress to egress, and writes the directory that tally-switch --pcap would.
 */
#ifndef TESTS_REPLAY_STAGE_H
#define TESTS_REPLAY_STAGE_H

#include "switch/lcore.h"

enum { STAGE_P = 128, STAGE_SLOTS = 4, STAGE_RANKS = 8, STAGE_HOST = 1 };

struct node {
	struct lcore lcore; /* first, so that a port finds it */
	struct pipe_params params;
	struct lcore_port ports[8];
	struct node *beyond[8]; /* the switch at the other end of a port, NULL: a rank */
	unsigned beyond_port[8];
	void *memory[2];
	char dir[300];
};

struct node_plan {
	const char *name; /* of the directory */
	unsigned nr_ports;
	uint32_t ip, parent;
	uint32_t slots; /* 0: plenty */
	bool socket, strict, ng, sealed_only;
};

/* One of a job's ranks, behind a port of a switch. */
struct rank {
	struct node *node;
	unsigned port;
	uint16_t wid, world;
	struct wire_range ranges[WIRE_RANGES];
	unsigned nr_ranges;
	const char *name;
	uint64_t inc;
	uint16_t flags, p, slots;
	/* As the switch said last. */
	uint64_t base, epoch;
	uint16_t job;
	uint8_t state, cause;
	unsigned nr_results;
};

/* Where directories are made; the clock starts anew. */
void stage_begin(const char *where);
/* Starts a switch.  The caller has the memory, until node_end(). */
void node_begin(struct node *node, const struct node_plan *plan);
void node_end(struct node *node);
/* A cable between two switches; the first is the lower one. */
void node_link(struct node *leaf, unsigned leaf_port, struct node *root, unsigned root_port);
/* Something the operator does. */
void node_reset(struct node *node, const char *job, uint64_t epoch);
void node_drain(struct node *node, bool on);

void stage_wait_us(uint64_t us);
/* From here on packets have the same stamp: they come in one burst. */
void stage_burst(bool on);
/* What switches said to switches arrives. */
void stage_settle(void);

/* A frame comes in as it is. */
void node_frame(struct node *node, unsigned port, const uint8_t *frame, size_t len);
/* A rank's address: rank i has .1 + i, and MAC, whatever job it is of. */
struct frame_udp rank_address(const struct rank *rank);

void rank_begin(struct rank *rank, struct node *node, unsigned port, uint16_t wid, uint16_t world);
void rank_payload(const struct rank *rank, const uint8_t *payload, size_t len);
void rank_join(struct rank *rank);
/* All of them, until their epoch runs. */
void ranks_join(struct rank *ranks, unsigned nr);

/* A contribution: values depend on rank, slot, round and place. */
struct chunk {
	uint16_t slot;
	uint32_t round;
	uint8_t kind, flags;
	uint32_t desc;
	uint32_t len; /* 0: STAGE_P */
	bool spoilt;  /* a byte changes on the way, behind its CRC32C */
};
void rank_data(const struct rank *rank, const struct chunk *chunk);
void ranks_data(struct rank *ranks, unsigned nr, const struct chunk *chunk);
/* A message of this type about the rank's epoch. */
void rank_say(const struct rank *rank, uint8_t type, const struct chunk *chunk);
/* END with this cause and descriptors of two operations. */
void rank_end(const struct rank *rank, uint8_t cause);
/* The rank's host says that nobody listens there. */
void rank_unreachable(const struct rank *rank);

#endif
