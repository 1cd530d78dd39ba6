/* SPDX-License-Identifier: BSD-3-Clause */
/* session_rig.h - a session of one rank, and STATUS as a switch would build it, for the tests of session.c. */
#ifndef TESTS_UNIT_SESSION_RIG_H
#define TESTS_UNIT_SESSION_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "host/core/session.h"

#define MS UINT64_C(1000000)

enum { RANK = 2, WORLD = 4, HANDLE = 77 };

static const uint64_t inc = 0x1122334455667788;

static inline struct session_params usual_params(void)
{
	return (struct session_params){ .name = "job-a",
					.inc = inc,
					.rank = RANK,
					.world = WORLD,
					.slots = 128,
					.p = 1408,
					.port = 5000,
					.nr_ports = 1,
					.join_timeout_ns = 30000 * MS };
}

static inline struct session joining_with(const struct session_params *params)
{
	struct session s;

	session_init(&s, params, MS);
	return s;
}

static inline struct session joining(uint16_t p, bool fixed)
{
	struct session_params params = usual_params();

	params.p = p;
	params.p_fixed = fixed;
	return joining_with(&params);
}

static inline struct wire_status status_of(uint8_t state, uint64_t member_inc)
{
	return (struct wire_status){ .state = state,
				     .key = wire_job_key("job-a"),
				     .inc = member_inc,
				     .p = 1408,
				     .slots = 64,
				     .world = WORLD,
				     .wid_a = WIRE_WID_NONE,
				     .wid_b = WIRE_WID_NONE };
}

/* The switch knows that this rank has left. */
static inline struct wire_status status_left(uint8_t state)
{
	struct wire_status status = status_of(state, inc);

	status.cause = WIRE_CAUSE_LEFT;
	status.wid_a = RANK;
	return status;
}

/* Delivers a STATUS as the switch would build it. */
static inline enum session_event deliver(struct session *s, uint64_t epoch,
					 const struct wire_status *status, uint64_t now)
{
	static uint8_t buf[WIRE_MSG_MAX];
	struct wire_msg msg = { .type = WIRE_STATUS, .job = HANDLE, .epoch = epoch, .wid = RANK };

	assert_int_equal(wire_parse(&msg, buf, wire_status_build(buf, &msg, status, WIRE_BODY)),
			 WIRE_OK);
	return session_input(s, &msg, now);
}

static inline enum session_event deliver_unknown(struct session *s, uint16_t job, uint64_t epoch,
						 uint64_t now)
{
	static uint8_t buf[WIRE_MSG_MAX];
	struct wire_msg msg = { .type = WIRE_STATUS, .job = job, .epoch = epoch, .wid = RANK };
	const struct wire_status status = { .state = WIRE_UNKNOWN };

	assert_int_equal(wire_parse(&msg, buf, wire_status_build(buf, &msg, &status, 32)), WIRE_OK);
	return session_input(s, &msg, now);
}

/* What a session has said; join is that of a JOIN. */
struct said {
	struct wire_msg msg;
	struct wire_join join;
};

/* The next message: its type, 0 if none. */
static inline unsigned next(struct session *s, uint64_t now, struct said *said)
{
	static uint8_t buf[WIRE_MSG_MAX];
	enum session_event event;
	size_t len = session_output(s, buf, now, &event);

	if (!len)
		return 0;
	assert_int_equal(wire_parse(&said->msg, buf, len), WIRE_OK);
	if (said->msg.type == WIRE_JOIN)
		assert_int_equal(wire_join_parse(&said->join, &said->msg), WIRE_OK);
	assert_int_equal(said->msg.wid, RANK);
	return said->msg.type;
}

/* What happens by the clock alone, whatever is said then. */
static inline enum session_event passes(struct session *s, uint64_t now)
{
	uint8_t buf[WIRE_MSG_MAX];
	enum session_event event;

	session_output(s, buf, now, &event);
	return event;
}

/* It has joined what the switch forms, until 2 MS. */
static inline struct session forming(uint64_t epoch)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_FORMING, inc);
	struct said said;

	assert_int_equal(next(&s, MS, &said), WIRE_JOIN);
	assert_int_equal(deliver(&s, epoch, &st, 2 * MS), SESSION_NOTHING);
	return s;
}

static inline struct session running(uint64_t epoch)
{
	struct session s = joining(1408, false);
	struct wire_status st = status_of(WIRE_RUNNING, inc);

	assert_int_equal(deliver(&s, epoch, &st, 2 * MS), SESSION_BEGUN);
	return s;
}

#endif
