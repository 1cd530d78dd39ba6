// SPDX-License-Identifier: BSD-3-Clause
// leaf_rig.c - what a leaf and its parent usually say.
#include "tests/unit/leaf_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

void leaf_open(struct rig *rig)
{
	struct pipe_params params = rig_params();

	params.leaf = true;
	params.inc = INC;
	params.parent_from = RIG_PARENT_FROM;
	rig_open(rig, &params);
}

struct wire_join leaf_join(const struct rig *rig, unsigned wid)
{
	struct wire_join join = rig_join_of(rig, wid, WORLD);

	join.nr_ranges = 1;
	join.ranges[0] = (struct wire_range){ FIRST, NR };
	return join;
}

const char *leaf_join_usual(struct rig *rig, unsigned wid)
{
	const struct wire_join join = leaf_join(rig, wid);

	return rig_join(rig, wid, &join);
}

struct wire_status leaf_status(enum wire_state state)
{
	return (struct wire_status){
		.state = (uint8_t)state,
		.wid_a = WIRE_WID_NONE,
		.wid_b = WIRE_WID_NONE,
		.key = wire_job_key("job"),
		.inc = INC,
		.p = RIG_P,
		.slots = RIG_SLOTS,
	};
}

const char *leaf_told(struct rig *rig, uint64_t epoch, const struct wire_status *status)
{
	const struct wire_msg msg = {
		.type = WIRE_STATUS, .job = PARENT_JOB, .epoch = epoch, .wid = FIRST
	};
	const struct flow parent = rig_parent();
	const struct job *job = pipe_job(rig->pipe, 0);
	uint32_t len = (uint32_t)wire_status_build(rig->buf, &msg, status, WIRE_BODY);

	rig_wait(rig, 1);
	if (job && (job->flags & WIRE_JOB_CHECK))
		len = wire_seal(rig->buf, WIRE_BODY);
	return rig_send(rig, &parent, len);
}

const char *leaf_told_usual(struct rig *rig, uint64_t epoch, enum wire_state state)
{
	const struct wire_status status = leaf_status(state);

	return leaf_told(rig, epoch, &status);
}

void leaf_complete(struct rig *rig)
{
	leaf_join_usual(rig, FIRST);
	leaf_told_usual(rig, EPOCH, WIRE_FORMING);
	for (unsigned wid = FIRST; wid < FIRST + NR; wid++) {
		leaf_join_usual(rig, wid);
		rig_wait(rig, 2);
	}
}

void leaf_open_complete(struct rig *rig)
{
	leaf_open(rig);
	leaf_complete(rig);
}

void leaf_form(struct rig *rig)
{
	leaf_open_complete(rig);
	leaf_told_usual(rig, EPOCH, WIRE_RUNNING);
	assert_true(pipe_job(rig->pipe, 0)->running);
	rig_wait(rig, 20);
}

const char *leaf_result(struct rig *rig, uint32_t round, unsigned flags, uint32_t value)
{
	struct wire_msg msg = {
		.type = WIRE_RESULT,
		.kind = WIRE_ADD32,
		.flags = (uint8_t)flags,
		.job = PARENT_JOB,
		.epoch = EPOCH,
		.slot = WIRE_SE,
		.round = round,
		.desc = 7,
		.wid = WIRE_WID_NONE,
		.len = flags & WIRE_EMPTY ? WIRE_PAD : LEN,
	};
	const struct flow parent = rig_parent();
	uint8_t payload[LEN] = { 0 };

	for (unsigned i = 0; i < LEN / 4 && !(flags & WIRE_EMPTY); i++)
		wire_put32(payload + 4 * i, value + 3 * i);
	msg.payload = payload;
	return rig_send_from(rig, &parent, &msg);
}
