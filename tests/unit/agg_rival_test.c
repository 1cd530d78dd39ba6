// SPDX-License-Identifier: BSD-3-Clause
// JOINs that differ from those of the ranks that wait: whoever is alone with what it wants is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

enum { WORLD = 4, WRONG = 5, STRANGER_PORT = 50000 };

static const char *join(struct rig *rig, unsigned wid, unsigned world)
{
	struct wire_join ask = rig_join_of(rig, wid, world);

	rig_wait(rig, 2);
	return rig_join(rig, wid, &ask);
}

/* From an address of its own. */
static const char *strange(struct rig *rig, unsigned wid, unsigned world)
{
	struct wire_join ask = rig_join_of(rig, wid, world);

	ask.inc = 666;
	ask.port = STRANGER_PORT;
	rig_wait(rig, 2);
	return rig_join(rig, wid, &ask);
}

/* Whatever the one asks for that differs, and for however long. */
static void agg_join__two_that_agree_are_not_disturbed(void **state)
{
	static const struct wire_join wrong[] = {
		{ .world = WRONG, .p = RIG_P },
		{ .world = WORLD, .p = RIG_P, .flags = WIRE_JOB_CHECK },
		{ .world = WORLD, .p = RIG_P, .flags = WIRE_JOB_CHUNK_FIXED },
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig rig;
		struct wire_join ask;

		rig_open(&rig, NULL);
		join(&rig, 0, WORLD);
		for (unsigned wid = 0; wid < 2; wid++) {
			ask = rig_join_of(&rig, wid, WORLD);
			ask.p = 128;
			rig_join(&rig, wid, &ask);
		}
		for (unsigned k = 0; k < 100; k++) {
			ask = rig_join_of(&rig, 3, WORLD);
			ask.inc = 666;
			ask.port = STRANGER_PORT;
			ask.world = wrong[i].world;
			ask.ranges[0].nr = ask.world;
			ask.p = wrong[i].p;
			ask.flags = wrong[i].flags;
			rig_wait(&rig, 2);
			rig_join(&rig, 3, &ask);
			has(rig.text, "STATUS REFUSED epoch 1012 wid 3 cause 8 a 0 b 3");
			has_not(rig.text, "STATUS REFUSED epoch 1012 wid 0");
			/* They know, but are not refused. */
			has(rig.text,
			    "STATUS FORMING epoch 1012 wid 0 inc 100 cause 8 a 0 b 3 field");
			has(rig.text,
			    "STATUS FORMING epoch 1012 wid 1 inc 101 cause 8 a 0 b 3 field");
		}
		join(&rig, 3, WORLD);
		has(join(&rig, 2, WORLD), "STATUS RUNNING epoch 1012 wid 2");
		rig_close(&rig);
	}
}

/* Nor is one whose rank the stranger claims. */
static void agg_join__one_is_not_disturbed_in_its_own_name(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	join(&rig, 1, WORLD);
	join(&rig, 1, WORLD);
	strange(&rig, 1, WRONG);
	has(rig.text, "STATUS REFUSED epoch 1012 wid 1 inc 101 cause 8 b 1");
	has_not(rig.text, "> w1");
	rig_close(&rig);
}

/* The first one was wrong. */
static void agg_join__two_that_agree_prevail_over_one(void **state)
{
	struct rig rig;
	struct wire_join ask;

	(void)state;
	rig_open(&rig, NULL);
	strange(&rig, 3, WRONG);
	strange(&rig, 3, WRONG);
	assert_int_equal(pipe_job(rig.pipe, 0)->joined, 8);
	/* One against one: both are refused. */
	for (unsigned i = 0; i < 3; i++) {
		join(&rig, 0, WORLD);
		has(rig.text, "STATUS REFUSED epoch 1012 wid 3");
		has(rig.text, "STATUS REFUSED epoch 1012 wid 0");
	}
	/* A second that does not know the epoch yet learns of it. */
	ask = rig_join_of(&rig, 1, WORLD);
	ask.base = 0;
	rig_wait(&rig, 2);
	has(rig_join(&rig, 1, &ask), "STATUS FORMING epoch 1012 wid 1");
	join(&rig, 0, WORLD);
	has(rig.text, "STATUS FORMING epoch 1024 wid 0 inc 100 cause 1 a 0");
	assert_int_equal(pipe_job(rig.pipe, 0)->world, WORLD);
	assert_int_equal(pipe_job(rig.pipe, 0)->joined, 1);
	for (unsigned wid = 1; wid < WORLD - 1; wid++) {
		strange(&rig, 3, WRONG);
		join(&rig, wid, WORLD);
	}
	has(strange(&rig, 3, WRONG), "STATUS FORMING epoch 1024 wid 0");
	has(join(&rig, 3, WORLD), "STATUS RUNNING epoch 1024");
	rig_close(&rig);
}

/* The one that was first is of a run before, and has the rank of one of them. */
static void agg_join__two_that_agree_prevail_over_a_leftover(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	strange(&rig, 0, WRONG);
	strange(&rig, 0, WRONG);
	join(&rig, 0, WORLD);
	has(rig.text, "STATUS REFUSED epoch 1012 wid 0");
	join(&rig, 1, WORLD);
	has(rig.text, "STATUS FORMING epoch");
	assert_int_equal(pipe_job(rig.pipe, 0)->world, WORLD);
	for (unsigned wid = 0; wid < WORLD; wid++) {
		strange(&rig, 0, WRONG);
		join(&rig, wid, WORLD);
	}
	has(rig.text, "STATUS RUNNING");
	rig_close(&rig);
}

/* Neither the same one again, nor from one address, nor of another mind, nor late. */
static void agg_join__one_alone_does_not_prevail(void **state)
{
	struct rig rig;
	struct wire_join ask;

	(void)state;
	rig_open(&rig, NULL);
	join(&rig, 0, WORLD);
	join(&rig, 0, WORLD);
	strange(&rig, 3, WRONG);
	has(strange(&rig, 3, WRONG), "STATUS REFUSED epoch 1012 wid 0");
	ask = rig_join_of(&rig, 2, WRONG);
	ask.port = STRANGER_PORT;
	struct flow flow = rig_flow(3);
	flow.udp_port = STRANGER_PORT;
	rig_wait(&rig, 2);
	rig_send(&rig, &flow, (uint32_t)wire_join_build(rig.buf, 2, &ask));
	has(rig.text, "STATUS REFUSED epoch 1012 wid 0");
	has(strange(&rig, 1, WRONG + 1), "STATUS REFUSED epoch 1012 wid 0");
	rig_wait(&rig, 800);
	join(&rig, 0, WORLD);
	rig_wait(&rig, 300);
	has(strange(&rig, 3, WRONG + 1), "STATUS REFUSED epoch 1012 wid 0");
	assert_int_equal(pipe_job(rig.pipe, 0)->world, WORLD);
	rig_close(&rig);
}

/* Ranks that are about to leave finish what they do. */
static void agg_join__ranks_that_are_left_finish(void **state)
{
	struct wire_msg leave;
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	leave = rig_msg(&rig, WIRE_LEAVE, 0, WIRE_PAD);
	rig_send_msg(&rig, &leave);
	rig_wait(&rig, 900);
	rig_data(&rig, 1, 0, 0);
	assert_false(pipe_job(rig.pipe, 0)->running); /* this one needs the rank that left */
	rig_close(&rig);
	rig_open(&rig, NULL);
	rig_form(&rig, 2);
	rig_send_msg(&rig, &leave);
	rig_wait(&rig, 900);
	has(strange(&rig, 2, 3), "STATUS REFUSED");
	assert_true(pipe_job(rig.pipe, 0)->running);
	rig_wait(&rig, 110);
	has(strange(&rig, 2, 3), "STATUS FORMING");
	assert_int_equal(pipe_job(rig.pipe, 0)->world, 3);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_join__two_that_agree_are_not_disturbed),
		cmocka_unit_test(agg_join__one_is_not_disturbed_in_its_own_name),
		cmocka_unit_test(agg_join__two_that_agree_prevail_over_one),
		cmocka_unit_test(agg_join__two_that_agree_prevail_over_a_leftover),
		cmocka_unit_test(agg_join__one_alone_does_not_prevail),
		cmocka_unit_test(agg_join__ranks_that_are_left_finish),
	};

	return cmocka_run_group_tests_name("agg_rival", tests, NULL, NULL);
}
