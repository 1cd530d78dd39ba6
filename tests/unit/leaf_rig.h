/* SPDX-License-Identifier: BSD-3-Clause */
/* leaf_rig.h - a leaf on the bench (pipe_rig.h), and its parent's words. */
#ifndef TESTS_UNIT_LEAF_RIG_H
#define TESTS_UNIT_LEAF_RIG_H

#include "tests/unit/pipe_rig.h"

/* Ranks 4, 5 and 6 of 16 are here; the parent's epochs and handle are these. */
enum { WORLD = 16, FIRST = 4, NR = 3, EPOCH = 2000, PARENT_JOB = 7, INC = 900, LEN = 128 };

void leaf_open(struct rig *rig);
struct wire_join leaf_join(const struct rig *rig, unsigned wid);
const char *leaf_join_usual(struct rig *rig, unsigned wid);
/* What the parent usually says: forming, and all that joined is known. */
struct wire_status leaf_status(enum wire_state state);
const char *leaf_told(struct rig *rig, uint64_t epoch, const struct wire_status *status);
const char *leaf_told_usual(struct rig *rig, uint64_t epoch, enum wire_state state);
/* All members have joined the epoch that the parent forms. */
void leaf_complete(struct rig *rig);
void leaf_open_complete(struct rig *rig);
/* It runs. */
void leaf_form(struct rig *rig);
const char *leaf_result(struct rig *rig, uint32_t round, unsigned flags, uint32_t value);

#endif
