/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - the job table: names, members, incarnations, epochs, slot leases.
 *
 * docs/protocol.md section "Sessions" has the rules.  Only agg.c changes a job.
 */
#ifndef SWITCH_CORE_JOB_H
#define SWITCH_CORE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/wire.h"
#include "switch/core/flow.h"
#include "switch/core/lease.h"
#include "switch/core/slot.h"

struct job_member {
	uint64_t inc;	   /* accepted incarnation, 0: never joined */
	uint64_t heard_ns; /* when a packet of its identity last came */
	struct flow flow;  /* as of the accepted JOIN; udp_port is the base */
	uint16_t nr_ports; /* its data ports: udp_port .. udp_port + nr_ports - 1 */
	uint16_t slots;	   /* S wanted */
	uint16_t p;	   /* P at most */
	bool p_fixed;
	struct wire_range range; /* the ranks it stands for; its wid in packets is the first */
};

/* What a leaf knows of the job at its parent; unused elsewhere. */
struct job_up {
	uint64_t inc; /* as a member there: fresh whenever the job is made or gets other parameters */
	uint16_t handle; /* the parent's; 0: not known yet */
	uint16_t nr_ranges;
	struct wire_range ranges[WIRE_RANGES]; /* of the switches above, innermost first */
	/* Nothing of the kind before this. */
	uint64_t join_ns, ask_ns, end_ns, probe_ns, leave_ns;
	/* Ranks awaited behind the parent: while forming, or for (slot, round); nr 0: not known. */
	struct wire_range awaited;
	uint16_t awaited_slot;
	uint32_t awaited_round;
};

/* Room that is short: what others want of this job, and what it wants itself. */
struct job_want {
	uint64_t poked_ns; /* its silent members were last asked for a sign of life */
	uint64_t asked_ns; /* the same, for the first time since one of them was heard; 0: never */
	uint64_t since_ns; /* complete, and more slots might become free; 0: not */
};

/* Whoever was refused last while forming, and what it asked for. */
struct job_rival {
	uint64_t asked_ns; /* 0: nobody */
	struct flow flow;
	struct wire_range range;
	uint16_t wid, world, flags, p;
};

struct job {
	bool used;
	bool running;
	bool ran; /* an epoch, with these parameters */
	char name[WIRE_NAME + 1];
	uint64_t key;
	uint16_t handle;
	uint16_t world;		 /* ranks of the whole job */
	struct wire_range range; /* those of them below this switch */
	bool tree;		 /* members are switches */
	uint16_t nr_members;	 /* entries of members[], bits of the masks */
	uint16_t flags;		 /* all ranks must agree on */
	uint16_t p, slots;	 /* agreed, valid while running */
	uint64_t epoch;		 /* the running one, or the one being formed */
	uint64_t all;		 /* bits of the members; tree: known while running */
	uint64_t joined, left;
	uint64_t gone; /* said to be gone in a millisecond that had no epoch to give: tried again */
	uint64_t since_ns; /* created, or last reset */
	uint32_t owner; /* on whose share it is: who joined the epoch first, before that who asked for it */
	struct job_member members[WIRE_WORLD_MAX]; /* ranks: by wid; switches: as they came */
	struct job_up up;
	struct job_want want;
	struct job_rival rival;
	/* Why the epoch before ended: told to whoever still speaks of it. */
	struct {
		uint8_t cause;
		uint16_t wid_a, wid_b;
		uint64_t ended;
		uint8_t desc_a[WIRE_DESC], desc_b[WIRE_DESC];
	} last;
	/* Lease: nr slots from first, values at a multiple of 64 in the pool. */
	uint32_t lease_first, lease_nr; /* slots, WIRE_SE + slots; 0: none */
	size_t values_off;
	uint32_t stride; /* bytes of one cell's values */
};

struct job_table {
	struct job *jobs; /* jobs_max */
	uint64_t *keys;	  /* jobs_max: of the used ones, 0 of the others; for the search by name */
	uint16_t *by_handle; /* JOB_HANDLES: index + 1, 0: none */
	uint16_t *by_parent; /* the same by the parent's handle; NULL: not a leaf's */
	uint16_t jobs_max;
	struct lease_table slots;  /* unit: a slot */
	struct lease_table values; /* unit: JOB_VALUES bytes */
};

enum {
	JOB_HANDLES = 65536,
	JOB_VALUES = 64,		       /* cells' values are aligned to this */
	JOB_SLOTS_MAX = JOB_HANDLES - WIRE_SE, /* data slots a slot number can name */
	JOB_NONE = WIRE_WORLD_MAX,	       /* index of no member */
	/* What an owner may have, however little is left. */
	JOB_OWN_PLACES = 8,
	JOB_OWN_SLOTS = WIRE_SE + 512,
};

/* NULL: no such job. */
static inline struct job *job_by_handle(const struct job_table *table, uint16_t handle)
{
	uint16_t i = table->by_handle[handle];

	return i ? &table->jobs[i - 1] : NULL;
}
/* By the parent's handle, at a leaf. */
static inline struct job *job_by_parent(const struct job_table *table, uint16_t handle)
{
	uint16_t i = table->by_parent[handle];

	return i ? &table->jobs[i - 1] : NULL;
}
void job_set_parent(struct job_table *table, struct job *job, uint16_t handle);
struct job *job_by_name(const struct job_table *table, const char *name);
/* By the key alone, which is all that a STATUS carries. */
struct job *job_by_key(const struct job_table *table, uint64_t key);

/*
 * Room is shared: beyond the least above an owner has no more places, slots and memory than it leaves free.  So none
 * takes all there is, however many jobs it makes, and the next one gets half of what is left.
 */

/* Whether there is a free entry for a job of this owner. */
bool job_has_place(const struct job_table *table, uint32_t owner);
/*
 * A forming job without members, in a free entry; NULL if there is none.  The handle comes from the
 * epoch, which is never reused, so that a handle from before a restart of the switch is most likely
 * unknown rather than another job's.  It is never 0.
 */
struct job *job_add(struct job_table *table, const char *name, uint64_t epoch);
/* Gives back the lease and the entry. */
void job_del(struct job_table *table, struct job *job);

/* Most data slots of P bytes a job of this owner that has none could get now. */
uint32_t job_slots_free(const struct job_table *table, uint32_t owner, uint16_t p);
/* False: not that many are free. */
bool job_lease(struct job_table *table, struct job *job, uint16_t p, uint16_t slots);
void job_unlease(struct job_table *table, struct job *job);

/* Its ranks as this JOIN has them, and what members there are; forgets all members. */
void job_set_world(struct job *job, uint16_t world, struct wire_range range, bool tree);

/* Index of the member that sends as wid; JOB_NONE: there is none. */
static inline unsigned job_index(const struct job *job, uint16_t wid)
{
	unsigned i = (uint16_t)(wid - job->range.first);

	if (!job->tree)
		return i < job->nr_members ? i : (unsigned)JOB_NONE;
	for (i = 0; i < job->nr_members; i++) {
		if (job->members[i].range.first == wid)
			return i;
	}
	return JOB_NONE;
}
/* Whether the rank is below this switch, member or not. */
static inline bool job_has_rank(const struct job *job, uint16_t wid)
{
	return (uint16_t)(wid - job->range.first) < job->range.nr;
}
static inline uint16_t job_wid(const struct job *job, unsigned i)
{
	return job->members[i].range.first;
}
/*
 * Index for a switch that stands for the range: its own, a new one, or one nobody uses; JOB_NONE:
 * all are in use.
 */
unsigned job_place(struct job *job, struct wire_range range);
/* Whether the members that joined stand for all ranks. */
bool job_complete(const struct job *job);
/* The lowest ranks that nobody who joined stands for; nr 0: there are none. */
struct wire_range job_awaited(const struct job *job);

/* Whether a packet from flow is one of member's.  strict: its switch port and MAC count too. */
static inline bool job_identity(const struct job_member *member, const struct flow *flow,
				bool strict)
{
	if (flow->ip != member->flow.ip)
		return false;
	if ((uint16_t)(flow->udp_port - member->flow.udp_port) >= member->nr_ports)
		return false;
	return !strict || (flow->port == member->flow.port &&
			   memcmp(flow->mac, member->flow.mac, sizeof(flow->mac)) == 0);
}

/* Those that are members or were, and are not known to be gone. */
uint64_t job_known(const struct job *job);
/* When a member of the mask was last heard; since_ns if none ever was. */
uint64_t job_heard(const struct job *job, uint64_t mask);
/* The members known so far that have been silent for longer than ns. */
uint64_t job_silent(const struct job *job, uint64_t now_ns, uint64_t ns);

#endif
