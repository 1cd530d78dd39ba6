// SPDX-License-Identifier: BSD-3-Clause
// A leaf whose job has CHECK: all that goes up and down is sealed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/agg.h"
#include "tests/unit/leaf_rig.h"

static const char *leaf_say(struct rig *rig, enum wire_type type, unsigned wid)
{
	struct wire_msg msg = rig_msg(rig, type, wid, type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY);

	rig_wait(rig, 20);
	return rig_send_msg(rig, &msg);
}

/* Members with CHECK: what goes up and down is sealed, each hop with its own header. */
static void agg_up__sealed(void **state)
{
	struct wire_status status = leaf_status(WIRE_FORMING);
	const struct flow parent = rig_parent();
	struct wire_join join;
	struct rig rig;
	uint32_t len;

	(void)state;
	leaf_open(&rig);
	for (unsigned i = 0; i <= NR; i++) {
		const unsigned wid = FIRST + (i ? i - 1 : 0);

		join = leaf_join(&rig, wid);
		join.flags = WIRE_JOB_CHECK;
		rig_wait(&rig, 2);
		/* The rig looks at the length of a JOIN that goes up. */
		has(rig_join(&rig, wid, &join), i < NR ? "UP ASK wid 4" : "UP JOIN wid 4 ranks 3");
		has(rig.text, "world 16 flags 2 crc");
		if (i == 0)
			leaf_told(&rig, EPOCH, &status);
	}
	status = leaf_status(WIRE_RUNNING);
	leaf_told(&rig, EPOCH, &status);
	assert_true(pipe_job(rig.pipe, 0)->running);
	for (unsigned wid = FIRST; wid < FIRST + NR; wid++) {
		const struct flow flow = rig_flow(wid);
		struct wire_msg msg = rig_msg(&rig, WIRE_DATA, wid, LEN);
		const char *text;

		wire_build(rig.buf, &msg);
		memset(rig.buf + WIRE_HEADER, (int)wid, LEN);
		text = rig_send(&rig, &flow, wire_seal(rig.buf, LEN));
		if (wid == FIRST + NR - 1)
			has(text, "partial | DATA ADD32 PARTIAL job 7");
		else
			assert_string_equal(text, "held");
	}
	len = rig.pkt.len;
	assert_int_equal(len, WIRE_HEADER + LEN + WIRE_CRC);
	assert_string_equal(leaf_result(&rig, 0, 0, 5), "bad_length");
	leaf_result(&rig, 0, 0, 5);
	wire_seal(rig.buf, LEN);
	rig.buf[len - 9] ^= 1;
	assert_string_equal(rig_send(&rig, &parent, len), "bad_crc");
	leaf_result(&rig, 0, 0, 5);
	wire_seal(rig.buf, LEN);
	has(rig_send(&rig, &parent, len), "up_result | RESULT ADD32 job ");
	has(rig.text, " crc > w4 w5 w6");
	has(leaf_say(&rig, WIRE_KEEPALIVE, 5), "UP KEEPALIVE job 7 epoch 2000 wid 4 crc");
	has(leaf_say(&rig, WIRE_END, 5), "UP END job 7 epoch 2000 wid 4 cause 3 a 5 crc");
	for (unsigned wid = FIRST; wid < FIRST + NR; wid++)
		leaf_say(&rig, WIRE_LEAVE, wid);
	has(rig.text, "UP LEAVE job 7 epoch 2000 wid 4 crc");
	rig_close(&rig);
}

/* What the parent runs is not this job if only one of them has CHECK. */
static void agg_up__sealed_as_the_members_are(void **state)
{
	struct wire_status status = leaf_status(WIRE_RUNNING);
	const struct wire_msg told = {
		.type = WIRE_STATUS, .job = PARENT_JOB, .epoch = EPOCH + 1, .wid = FIRST
	};
	const struct flow parent = rig_parent();
	const struct job *job;
	struct rig rig;
	const char *text;

	(void)state;
	leaf_form(&rig);
	job = pipe_job(rig.pipe, 0);
	for (unsigned i = 0; i < 3; i++) {
		static const enum wire_state states[] = { WIRE_FORMING, WIRE_UNKNOWN,
							  WIRE_RUNNING };

		status.state = (uint8_t)states[i];
		rig_wait(&rig, 1000);
		wire_status_build(rig.buf, &told, &status, WIRE_BODY);
		text = rig_send(&rig, &parent, wire_seal(rig.buf, WIRE_BODY));
		assert_string_equal(text, i < 2 ? "up_status"
						: "up_status | UP END job 7 epoch 2001 wid 4 "
						  "UNKNOWN cause 1 a 4 crc");
		assert_true(job->running && job->epoch == EPOCH);
	}
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_up__sealed),
		cmocka_unit_test(agg_up__sealed_as_the_members_are),
	};

	return cmocka_run_group_tests_name("agg_up_seal", tests, NULL, NULL);
}
