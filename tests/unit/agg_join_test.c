// SPDX-License-Identifier: BSD-3-Clause
// JOIN: making jobs, entering epochs, taking ranks over, and every reason to be refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/agg.h"
#include "tests/unit/pipe_rig.h"

#define MINUTE UINT64_C(60000)

static void agg_join__first_one_makes_the_job_only(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	assert_string_equal(rig_join_usual(&rig, 1, 2),
			    "join | STATUS FORMING epoch 1010 wid 1 missing 0-1 len 256 > w1");
	assert_int_equal(pipe_job(rig.pipe, 0)->handle, 1010);
	assert_string_equal(rig_join_usual(&rig, 1, 2),
			    "join | STATUS FORMING epoch 1010 wid 1 inc 101 missing 0 len 256 > w1");
	rig_close(&rig);
}

static void agg_join__last_rank_starts_the_epoch(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig_join_usual(&rig, 0, 3);
	rig_join_usual(&rig, 0, 3);
	rig_join_usual(&rig, 2, 3);
	assert_string_equal(rig_join_usual(&rig, 1, 3),
			    "join | STATUS RUNNING epoch 1010 wid 0 inc 100 P 256 S 4 len 160 > w0"
			    " | STATUS RUNNING epoch 1010 wid 2 inc 102 P 256 S 4 len 160 > w2"
			    " | STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len 256 > w1");
	/* Again: its answer was lost.  Nothing changes. */
	rig_wait(&rig, 2);
	struct wire_join join = rig_join_of(&rig, 1, 3);
	join.base = 1009;
	assert_string_equal(rig_join(&rig, 1, &join),
			    "join | STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len 256 > w1");
	rig_close(&rig);
}

static void agg_join__world_of_one_starts_alone(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_job(&rig, 1);
	assert_string_equal(rig_data(&rig, 0, 0, 0),
			    "completed | RESULT ADD32 job 1010 epoch 1010 slot 32 round 0 "
			    "desc 00000007 len 128 > w0");
	rig_close(&rig);
}

static void agg_join__least_chunk_and_slots_are_agreed(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_join_usual(&rig, 0, 3);
	join = rig_join_of(&rig, 0, 3);
	join.p = 8832; /* more than the switch's: its own is the limit */
	join.slots = 60;
	rig_join(&rig, 0, &join);
	join = rig_join_of(&rig, 1, 3);
	join.p = 128;
	join.slots = 70;
	rig_join(&rig, 1, &join);
	join = rig_join_of(&rig, 2, 3);
	join.slots = 50;
	has(rig_join(&rig, 2, &join), "inc 102 P 128 S 50 len 256 > w2");
	rig_close(&rig);
}

static void agg_join__base_must_be_the_epoch_before(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_join_usual(&rig, 0, 2);
	join = rig_join_of(&rig, 1, 2);
	join.base = 1008;
	assert_string_equal(rig_join(&rig, 1, &join),
			    "join | STATUS FORMING epoch 1010 wid 1 missing 0-1 len 256 > w1");
	join.base = 0;
	rig_wait(&rig, 1);
	assert_string_equal(rig_join(&rig, 1, &join),
			    "join | STATUS FORMING epoch 1010 wid 1 missing 0-1 len 256 > w1");
	rig_close(&rig);
}

static void agg_join__restarted_rank_takes_its_place_over(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open_job(&rig, 2);
	join = rig_join_of(&rig, 1, 2);
	join.inc = 777;
	join.base = 0;
	assert_string_equal(rig_join(&rig, 1, &join),
			    "join | STATUS RUNNING epoch 1010 wid 1 inc 101 P 256 S 4 len 256 > w1");
	join.base = 1010;
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS FORMING epoch 1011 wid 0 inc 100 cause 1 a 1 ended 1010 missing 0 "
		"len 160 > w0 | STATUS FORMING epoch 1011 wid 1 inc 777 cause 1 a 1 ended 1010 "
		"missing 0 len 256 > w1");
	/* The other follows, and the next epoch runs. */
	rig_wait(&rig, 1);
	has(rig_join_usual(&rig, 0, 2), "STATUS RUNNING epoch 1011 wid 0");
	rig_close(&rig);
}

static void agg_join__rejoining_rank_ends_its_own_epoch(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_job(&rig, 2);
	assert_string_equal(
		rig_join_usual(&rig, 0, 2),
		"join | STATUS FORMING epoch 1011 wid 1 inc 101 cause 1 a 0 ended 1010 missing 1 "
		"len 160 > w1 | STATUS FORMING epoch 1011 wid 0 inc 100 cause 1 a 0 ended 1010 "
		"missing 1 len 256 > w0");
	rig_close(&rig);
}

static void agg_join__taken_rank_is_refused_while_its_owner_speaks(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open_job(&rig, 2);
	join = rig_rival_of(&rig, 1, 2);
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS REFUSED epoch 1010 wid 1 inc 101 cause 9 a 1 b 1 field 4: "
		"10995116448932 1 len 256 > 0a000002:50000");
	/* Nor by somebody who has heard its incarnation. */
	join.inc = 101;
	rig_wait(&rig, 2);
	has(rig_join(&rig, 1, &join), "STATUS REFUSED epoch 1010");
	join.inc = 777;
	rig_wait(&rig, 2000);
	rig_data(&rig, 1, 0, 0);
	rig_wait(&rig, MINUTE);
	has(rig_join(&rig, 1, &join), "STATUS REFUSED");
	rig_wait(&rig, 1);
	has(rig_join(&rig, 1, &join), "STATUS FORMING epoch 63014 wid 1 inc 777");
	rig_close(&rig);
}

/* A rank that computes is silent, and so is one that is gone: the network knows. */
static void agg_join__who_holds_a_rank_is_asked(void **state)
{
	const struct flow holder = rig_flow(1);
	struct rig rig;
	struct wire_join join;
	const char *said;

	(void)state;
	rig_open_job(&rig, 2);
	join = rig_rival_of(&rig, 1, 2);
	rig_wait(&rig, 150);
	has_not(rig_join(&rig, 1, &join), "STATUS RUNNING");
	rig_wait(&rig, 100);
	said = rig_join(&rig, 1, &join);
	has(said, "STATUS RUNNING epoch 1010 wid 1 inc 101");
	has(said,
	    "STATUS REFUSED epoch 1010 wid 1 inc 101 cause 9 a 1 b 1 field 4: 10995116448932 251");
	rig_wait(&rig, 100);
	has_not(rig_join(&rig, 1, &join), "STATUS RUNNING");
	rig_wait(&rig, 100);
	has(rig_join(&rig, 1, &join), "STATUS RUNNING epoch 1010 wid 1 inc 101");
	assert_int_equal(pipe_gone(rig.pipe, &holder, &rig.now), COUNTER_gone);
	rig.nr_sent++;
	join.base = pipe_job(rig.pipe, 0)->epoch - 1;
	has(rig_join(&rig, 1, &join), "STATUS FORMING epoch 1461 wid 1 inc 777 cause 12 a 1");
	rig_close(&rig);
}

/* Its owner may have nothing to say but JOINs that come late. */
static void agg_join__late_ones_are_signs_of_life(void **state)
{
	struct rig rig;
	struct wire_join late, other;

	(void)state;
	rig_open_job(&rig, 2);
	late = rig_join_of(&rig, 1, 2);
	late.base = 0;
	other = rig_rival_of(&rig, 1, 2);
	rig_wait(&rig, MINUTE - 100);
	rig_join(&rig, 1, &late);
	rig_wait(&rig, MINUTE - 100);
	has(rig_join(&rig, 1, &other), "STATUS REFUSED");
	/* Those of the other are none. */
	other.base = 0;
	rig_join(&rig, 1, &other);
	other.base = 1010;
	rig_wait(&rig, 101);
	has(rig_join(&rig, 1, &other), "STATUS FORMING");
	rig_close(&rig);
}

static void agg_join__taken_rank_is_refused_while_forming(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_join_usual(&rig, 1, 2);
	rig_join_usual(&rig, 1, 2);
	join = rig_rival_of(&rig, 1, 2);
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS REFUSED epoch 1010 wid 1 inc 101 cause 9 a 1 b 1 field 4: "
		"10995116448932 0 missing 0 len 256 > 0a000002:50000");
	/* The same process anew, or silence, gives way. */
	join.port = rig_flow(1).udp_port;
	has(rig_join(&rig, 1, &join), "STATUS FORMING epoch 1010 wid 1 inc 777");
	rig_wait(&rig, 1001);
	join.inc = 778;
	join.port = 50000;
	has(rig_join(&rig, 1, &join), "STATUS FORMING epoch 1010 wid 1 inc 778");
	rig_close(&rig);
}

/* Between two epochs its process has nothing to say, and is about to be back. */
static void agg_join__another_host_takes_what_was_silent_for_a_second(void **state)
{
	static const char *const want[] = { "STATUS REFUSED epoch 1011 wid 1 inc 101 cause 9 a 1",
					    "STATUS RUNNING epoch 1011 wid 1 inc 777" };
	struct flow stranger = rig_flow(7);

	(void)state;
	for (unsigned silent = 0; silent < 2; silent++) {
		struct rig rig;
		struct wire_join join;

		rig_open_job(&rig, 2);
		join = rig_join_of(&rig, 0, 2);
		join.inc = 555;
		join.base = 1010;
		has(rig_join(&rig, 0, &join), "STATUS FORMING epoch 1011 wid 0 inc 555");
		rig_wait(&rig, silent * 1001);
		join = rig_rival_of(&rig, 1, 2);
		join.base = 1010;
		join.port = stranger.udp_port;
		has(rig_send(&rig, &stranger, (uint32_t)wire_join_build(rig.buf, 1, &join)),
		    want[silent]);
		/* Its own host's is taken at once, of another process, too. */
		join.port = 50000;
		if (!silent)
			has(rig_join(&rig, 1, &join), want[1]);
		rig_close(&rig);
	}
}

static void agg_join__rank_that_left_is_free(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open_job(&rig, 2);
	rig_leave(&rig, 1);
	join = rig_rival_of(&rig, 1, 2);
	has(rig_join(&rig, 1, &join), "STATUS FORMING epoch 1011 wid 1 inc 777");
	rig_close(&rig);
}

static void agg_join__base_ahead_means_that_state_was_lost(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open_job(&rig, 2);
	join = rig_join_of(&rig, 0, 2);
	join.base = 1015;
	rig_wait(&rig, 6);
	/* Nor by a stranger, while the rank is there. */
	join.inc = 666;
	join.port = 50000;
	has(rig_join(&rig, 0, &join), "STATUS REFUSED epoch 1010 wid 0");
	rig.now.wall_ms -= 6;
	join = rig_join_of(&rig, 0, 2);
	join.base = 1015;
	/* Not before the clock has an epoch above it. */
	assert_string_equal(rig_join(&rig, 0, &join), "too_early");
	rig_wait(&rig, 5);
	assert_string_equal(
		rig_join(&rig, 0, &join),
		"join | STATUS FORMING epoch 1016 wid 0 inc 100 cause 5 a 0 ended 1010 missing 0-1 "
		"len 160 > w0 | STATUS FORMING epoch 1016 wid 1 inc 101 cause 5 a 0 ended 1010 "
		"missing 0-1 len 160 > w1 | STATUS FORMING epoch 1016 wid 0 inc 100 cause 5 a 0 "
		"ended 1010 missing 0-1 len 256 > w0");
	join.base = 1020;
	rig_wait(&rig, 11);
	has(rig_join(&rig, 0, &join), "STATUS FORMING epoch 1027 wid 0");
	rig_close(&rig);
}

static void agg_join__base_far_ahead_is_nonsense(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 0, 2);
	join.base = RIG_NOW_MS + AGG_AHEAD_MS;
	assert_string_equal(rig_join(&rig, 0, &join), "bad_field");
	join.base--;
	assert_string_equal(rig_join(&rig, 0, &join), "too_early");
	rig_close(&rig);
}

static void agg_join__nothing_is_served_right_after_start(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	rig.now.now_ns -= (RIG_NOW_MS - RIG_BOOT_MS - 2) * UINT64_C(1000000) + 1;
	assert_string_equal(rig_join_usual(&rig, 0, 2), "too_early");
	assert_int_equal(rig_count(&rig, COUNTER_too_early), 1);
	rig.now.now_ns++;
	rig_assert_counter(rig_join_usual(&rig, 0, 2), "join");
	rig_close(&rig);
}

static void agg_join__one_epoch_a_millisecond(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_join_usual(&rig, 0, 2);
	join = rig_join_of(&rig, 1, 2);
	snprintf(join.name, sizeof(join.name), "other");
	assert_string_equal(rig_join(&rig, 1, &join), "too_early");
	rig_wait(&rig, 1);
	has(rig_join(&rig, 1, &join), "STATUS FORMING epoch 1011");
	assert_int_equal(pipe_job(rig.pipe, 1)->handle, 1011);
	rig_close(&rig);
}

static void agg_join__unlike_worlds_are_named_to_both_sides(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	rig_join_usual(&rig, 0, 2);
	rig_join_usual(&rig, 0, 2);
	join = rig_join_of(&rig, 1, 3);
	rig_wait(&rig, 2);
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS REFUSED epoch 1010 wid 0 inc 100 cause 8 a 0 b 1 field 1: 2 3 "
		"missing 1 len 160 > w0 | STATUS REFUSED epoch 1010 wid 1 cause 8 a 0 b 1 field 1: "
		"2 3 missing 1 len 256 > w1");
	/* Not more than once a millisecond each. */
	assert_string_equal(rig_join(&rig, 1, &join), "join");
	/* Once the first has been silent for a second, the others prevail. */
	rig_wait(&rig, 1000);
	join.base = 1000;
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS FORMING epoch 1010 wid 1 missing 1 silent 0 len 256 > w1");
	join.base = 1009;
	rig_wait(&rig, 1);
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS FORMING epoch 2013 wid 0 inc 100 cause 1 a 1 ended 1010 missing 0-1 "
		"silent 0 len 160 > w0 | STATUS FORMING epoch 2013 wid 1 inc 101 cause 1 a 1 ended "
		"1010 missing 0, 2 len 256 > w1");
	assert_int_equal(pipe_job(rig.pipe, 0)->world, 3);
	rig_close(&rig);
}

static void agg_join__unlike_world_is_refused_while_running(void **state)
{
	struct rig rig;
	struct wire_join join;
	const char *said;

	(void)state;
	rig_open_job(&rig, 2);
	join = rig_join_of(&rig, 1, 3);
	join.port = 50000;
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS REFUSED epoch 1010 wid 1 inc 101 cause 8 a 0 b 1 field 1: "
		"2 3 len 256 > 0a000002:50000");
	rig_wait(&rig, MINUTE - 1);
	said = rig_join(&rig, 1, &join);
	has(said, "STATUS REFUSED");
	/* Should their processes be gone, the network now has something to say so. */
	has(said, "STATUS RUNNING epoch 1010 wid 0 inc 100");
	has(said, "STATUS RUNNING epoch 1010 wid 1 inc 101");
	rig_wait(&rig, 1);
	join.base = 5;
	assert_string_equal(
		rig_join(&rig, 1, &join),
		"join | STATUS FORMING epoch 61011 wid 0 inc 100 cause 1 a 1 ended 1010 missing 0-1 "
		"silent 0-1 len 160 > w0 | STATUS FORMING epoch 61011 wid 1 inc 101 cause 1 a 1 "
		"ended 1010 missing 0-1 silent 0-1 len 160 > w1 | STATUS FORMING epoch 61011 wid 1 "
		"cause 1 a 1 ended 1010 missing 0-2 len 256 > 0a000002:50000");
	rig_close(&rig);
}

static void agg_join__job_that_somebody_left_gives_way(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open_job(&rig, 2);
	rig_leave(&rig, 0);
	join = rig_join_of(&rig, 2, 3);
	rig_wait(&rig, 1001);
	assert_string_equal(
		rig_join(&rig, 2, &join),
		"join | STATUS FORMING epoch 2012 wid 1 inc 101 cause 1 a 2 ended 1010 missing 0-1 "
		"silent 1 len 160 > w1 | STATUS FORMING epoch 2012 wid 2 inc 102 cause 1 a 2 ended "
		"1010 missing 0-1 len 256 > w2");
	rig_close(&rig);
}

struct chunk_case {
	uint16_t p_first, p_second;
	bool fixed_first, fixed_second;
	const char *refusal; /* NULL: agreed */
};

static void agg_join__chunks_asked_for_must_agree(void **state)
{
	static const struct chunk_case cases[] = {
		{ 128, 256, false, false, NULL },
		{ 256, 128, false, true, NULL },
		{ 128, 256, true, false, NULL },
		{ 128, 128, true, true, NULL },
		{ 256, 128, true, true, "cause 8 a 0 b 1 field 2: 256 128" },
		{ 128, 256, true, true, "cause 8 a 0 b 1 field 2: 128 256" },
		{ 128, 256, false, true, "cause 8 a 0 b 1 field 2: 128 256" },
		{ 256, 128, true, false, "cause 8 a 0 b 1 field 2: 256 128" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig rig;
		struct wire_join join;
		const char *text;

		rig_open(&rig, NULL);
		rig_join_usual(&rig, 0, 2);
		join = rig_join_of(&rig, 0, 2);
		join.p = cases[i].p_first;
		join.flags = cases[i].fixed_first ? WIRE_JOB_CHUNK_FIXED : 0;
		rig_join(&rig, 0, &join);
		join = rig_join_of(&rig, 1, 2);
		join.p = cases[i].p_second;
		join.flags = cases[i].fixed_second ? WIRE_JOB_CHUNK_FIXED : 0;
		text = rig_join(&rig, 1, &join);
		if (cases[i].refusal)
			has(text, cases[i].refusal);
		else
			has(text, "STATUS RUNNING epoch 1010 wid 1 inc 101 P 128");
		rig_close(&rig);
	}
}

static void agg_join__chunk_asked_for_must_fit_the_switch(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 0, 2);
	join.p = 384;
	join.flags = WIRE_JOB_CHUNK_FIXED;
	assert_string_equal(
		rig_join(&rig, 0, &join),
		"join | STATUS REFUSED epoch 0 wid 0 cause 8 b 0 field 2: 256 384 len 384 > w0");
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

static void agg_join__check_must_agree(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		rig_open(&rig, NULL);
		for (unsigned i = 0; i < 3; i++) {
			const unsigned wid = i / 2;
			const char *text;

			join = rig_join_of(&rig, wid, 2);
			join.flags = wid == first ? WIRE_JOB_CHECK : 0;
			text = rig_join(&rig, wid, &join);
			if (wid == 1)
				has(text, first ? "cause 8 a 0 b 1 field 3: 0 2"
						: "cause 8 a 0 b 1 field 3: 2 0");
		}
		assert_false(pipe_job(rig.pipe, 0)->running);
		rig_close(&rig);
	}
}

/* With the CRC32C behind it a chunk may not fit that does without. */
static void agg_join__chunk_with_check_must_fit_the_switch(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;
	struct wire_join join;

	(void)state;
	params.p_check = 128;
	rig_open(&rig, &params);
	join = rig_join_of(&rig, 0, 1);
	join.flags = WIRE_JOB_CHECK | WIRE_JOB_CHUNK_FIXED;
	has(rig_join(&rig, 0, &join), "field 2: 128 256 len 256 crc > w0");
	assert_null(pipe_job(rig.pipe, 0));
	join.flags = WIRE_JOB_CHECK;
	rig_join(&rig, 0, &join);
	join = rig_join_of(&rig, 0, 1);
	join.flags = WIRE_JOB_CHECK;
	has(rig_join(&rig, 0, &join), "STATUS RUNNING epoch 1010 wid 0 inc 100 P 128");
	rig_close(&rig);
	rig_open(&rig, &params);
	rig_join_usual(&rig, 0, 1);
	has(rig_join_usual(&rig, 0, 1), "STATUS RUNNING epoch 1010 wid 0 inc 100 P 256");
	rig_close(&rig);
}

static void agg_join__world_above_64_is_refused(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 0, 65);
	assert_string_equal(
		rig_join(&rig, 0, &join),
		"join | STATUS REFUSED epoch 0 wid 0 cause 8 b 0 field 1: 64 65 len 256 > w0");
	rig_close(&rig);
}

static void agg_join__rank_outside_the_world_is_refused(void **state)
{
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 2, 2);
	assert_string_equal(
		rig_join(&rig, 2, &join),
		"bad_wid | STATUS REFUSED epoch 0 wid 2 cause 8 b 2 field 4: 2 2 len 256 > w2");
	assert_int_equal(rig_count(&rig, COUNTER_bad_wid), 1);
	rig_close(&rig);
}

static void agg_join__part_of_a_world_is_refused(void **state)
{
	static const struct wire_range parts[] = { { 1, 3 }, { 0, 3 }, { 0, 5 } };
	struct rig rig;
	struct wire_join join;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned i = 0; i < 3; i++) {
		rig_wait(&rig, 1);
		join = rig_join_of(&rig, 1, 4);
		join.ranges[0] = parts[i];
		has(rig_join(&rig, 1, &join),
		    "STATUS REFUSED epoch 0 wid 1 cause 8 b 1 field 6: 4");
	}
	join = rig_join_of(&rig, 2, 4);
	join.nr_ranges = 2;
	join.ranges[1] = (struct wire_range){ 0, 4 };
	assert_string_equal(
		rig_join(&rig, 2, &join),
		"join | STATUS REFUSED epoch 0 wid 2 cause 8 b 2 field 6: 4 2 len 256 > w2");
	join.nr_ranges = 0;
	rig_wait(&rig, 1);
	has(rig_join(&rig, 2, &join), "STATUS FORMING");
	rig_close(&rig);
}

static void agg_join__fewer_slots_than_wanted(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;
	struct wire_join join;

	(void)state;
	params.slots_max = WIRE_SE + 3;
	rig_open(&rig, &params);
	rig_form(&rig, 2);
	assert_int_equal(pipe_job(rig.pipe, 0)->slots, 3);
	rig_close(&rig);
	/* The same of memory: room for 32 + 2 slots of 256 bytes, or for 32 + 36 of 128. */
	params.slots_max = 200;
	params.values_bytes = (WIRE_SE + 2) * 2 * RIG_P + 64;
	rig_open(&rig, &params);
	rig_form(&rig, 2);
	assert_int_equal(pipe_job(rig.pipe, 0)->slots, 2);
	rig_close(&rig);
	rig_open(&rig, &params);
	rig_join_usual(&rig, 0, 1);
	join = rig_join_of(&rig, 0, 1);
	join.p = 128;
	join.slots = 100;
	rig_join(&rig, 0, &join);
	assert_int_equal(pipe_job(rig.pipe, 0)->slots, 36);
	rig_close(&rig);
}

static void agg_join__no_slots_is_said_to_all(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;
	struct wire_join join;

	(void)state;
	params.slots_max = 2 * WIRE_SE + 4;
	rig_open(&rig, &params);
	rig_form(&rig, 1);
	join = rig_join_of(&rig, 1, 2);
	snprintf(join.name, sizeof(join.name), "other");
	join.base = 0;
	rig_join(&rig, 1, &join);
	join.base = 1010;
	rig_join(&rig, 1, &join);
	join = rig_join_of(&rig, 0, 2);
	snprintf(join.name, sizeof(join.name), "other");
	join.base = 1010;
	rig_wait(&rig, 1);
	assert_string_equal(
		rig_join(&rig, 0, &join),
		"join | STATUS REFUSED epoch 1011 wid 1 inc 101 cause 10 b 0 field 5: 0 4 len 160 > "
		"w1 | STATUS REFUSED epoch 1011 wid 0 inc 100 cause 10 b 0 field 5: 0 4 len 256 > w0");
	rig_close(&rig);
}

static void agg_join__ports_must_be_the_senders_own(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct flow flow = rig_flow(0);
	uint32_t len;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 0, 2);
	len = (uint32_t)wire_join_build(rig.buf, 0, &join);
	flow.udp_port = (uint16_t)(join.port + RIG_PORTS);
	assert_string_equal(rig_send(&rig, &flow, len), "spoofed");
	flow.udp_port = (uint16_t)(join.port - 1);
	assert_string_equal(rig_send(&rig, &flow, len), "spoofed");
	flow.udp_port = (uint16_t)(join.port + RIG_PORTS - 1);
	has(rig_send(&rig, &flow, len),
	    "STATUS FORMING epoch 1010 wid 0 missing 0-1 len 256 > w0+1");
	rig_close(&rig);
}

static void agg_join__strict_ports_include_port_and_mac(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;
	struct wire_join join;
	struct flow flow;
	uint32_t len;

	(void)state;
	params.strict_ports = true;
	rig_open(&rig, &params);
	rig_form(&rig, 2);
	join = rig_join_of(&rig, 1, 2);
	join.inc = 777;
	len = (uint32_t)wire_join_build(rig.buf, 1, &join);
	flow = rig_flow(1);
	flow.mac[5] ^= 1;
	has(rig_send(&rig, &flow, len), "STATUS REFUSED");
	rig_wait(&rig, 1);
	flow = rig_flow(1);
	flow.port++;
	has(rig_send(&rig, &flow, len), "STATUS REFUSED");
	rig_wait(&rig, 1);
	flow = rig_flow(1);
	has(rig_send(&rig, &flow, len), "STATUS FORMING");
	rig_close(&rig);
}

static void agg_join__malformed_ones_are_counted_by_name(void **state)
{
	struct rig rig;
	struct wire_join join;
	struct flow flow = rig_flow(0);
	uint32_t len;

	(void)state;
	rig_open(&rig, NULL);
	join = rig_join_of(&rig, 0, 2);
	join.inc = 0;
	assert_string_equal(rig_join(&rig, 0, &join), "bad_field");
	join.inc = 1;
	len = (uint32_t)wire_join_build(rig.buf, 0, &join);
	assert_string_equal(rig_send(&rig, &flow, len - 1), "bad_length");
	rig.buf[WIRE_HEADER + WIRE_JOIN_FLAGS] = 0x80;
	assert_string_equal(rig_send(&rig, &flow, len), "bad_flag");
	len = (uint32_t)wire_join_build(rig.buf, 0, &join);
	wire_put16(rig.buf + WIRE_HEADER + WIRE_JOIN_WORLD, 0);
	assert_string_equal(rig_send(&rig, &flow, len), "bad_field");
	assert_null(pipe_job(rig.pipe, 0));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_join__first_one_makes_the_job_only),
		cmocka_unit_test(agg_join__last_rank_starts_the_epoch),
		cmocka_unit_test(agg_join__world_of_one_starts_alone),
		cmocka_unit_test(agg_join__least_chunk_and_slots_are_agreed),
		cmocka_unit_test(agg_join__base_must_be_the_epoch_before),
		cmocka_unit_test(agg_join__restarted_rank_takes_its_place_over),
		cmocka_unit_test(agg_join__rejoining_rank_ends_its_own_epoch),
		cmocka_unit_test(agg_join__taken_rank_is_refused_while_its_owner_speaks),
		cmocka_unit_test(agg_join__who_holds_a_rank_is_asked),
		cmocka_unit_test(agg_join__late_ones_are_signs_of_life),
		cmocka_unit_test(agg_join__taken_rank_is_refused_while_forming),
		cmocka_unit_test(agg_join__another_host_takes_what_was_silent_for_a_second),
		cmocka_unit_test(agg_join__rank_that_left_is_free),
		cmocka_unit_test(agg_join__base_ahead_means_that_state_was_lost),
		cmocka_unit_test(agg_join__base_far_ahead_is_nonsense),
		cmocka_unit_test(agg_join__nothing_is_served_right_after_start),
		cmocka_unit_test(agg_join__one_epoch_a_millisecond),
		cmocka_unit_test(agg_join__unlike_worlds_are_named_to_both_sides),
		cmocka_unit_test(agg_join__unlike_world_is_refused_while_running),
		cmocka_unit_test(agg_join__job_that_somebody_left_gives_way),
		cmocka_unit_test(agg_join__chunks_asked_for_must_agree),
		cmocka_unit_test(agg_join__chunk_asked_for_must_fit_the_switch),
		cmocka_unit_test(agg_join__check_must_agree),
		cmocka_unit_test(agg_join__chunk_with_check_must_fit_the_switch),
		cmocka_unit_test(agg_join__world_above_64_is_refused),
		cmocka_unit_test(agg_join__rank_outside_the_world_is_refused),
		cmocka_unit_test(agg_join__part_of_a_world_is_refused),
		cmocka_unit_test(agg_join__fewer_slots_than_wanted),
		cmocka_unit_test(agg_join__no_slots_is_said_to_all),
		cmocka_unit_test(agg_join__ports_must_be_the_senders_own),
		cmocka_unit_test(agg_join__strict_ports_include_port_and_mac),
		cmocka_unit_test(agg_join__malformed_ones_are_counted_by_name),
	};

	return cmocka_run_group_tests_name("agg_join", tests, NULL, NULL);
}
