/* SPDX-License-Identifier: BSD-3-Clause */
/* ctl_jobs.h - what answers about jobs, their slots and who is missing there have in common. */
#ifndef SWITCH_CTL_JOBS_H
#define SWITCH_CTL_JOBS_H

#include "switch/ctl.h"
#include "switch/lcore.h"

#define CTL_SILENT_NS UINT64_C(1000000000)

/* Ranks of the members in the mask: an array of {first, last}; those behind a switch with its address. */
void ctl_ranks(struct ctl_json *json, const char *key, const struct job *job, uint64_t mask);
/* Ranks in one range, nr 0: none. */
void ctl_range(struct ctl_json *json, const char *key, struct wire_range range);
/* Who has not joined a job that forms. */
void ctl_awaited(struct ctl_json *json, const char *key, const struct job *job);

/* The cell of the slot's latest round in the running epoch; NULL: the epoch has not used it. */
const struct cell *ctl_cell(const struct job *job, const struct slot *slot);
/* Whether ranks, or at a leaf the parent's result, are awaited there. */
bool ctl_cell_waits(const struct job *job, const struct cell *cell);
/* What the cell's operation is: an object, or null where no descriptor is at hand. */
void ctl_operation(struct ctl_json *json, const struct pipe *pipe, const struct job *job,
		   const struct cell *cell);
/* Keys since_ms (wall clock) and age_s. */
void ctl_since(struct ctl_json *json, const struct lcore *lcore, uint64_t since_ns);
/* When the epoch that a job forms was made. */
uint64_t ctl_formed_ns(const struct lcore *lcore, const struct job *job);

#endif
