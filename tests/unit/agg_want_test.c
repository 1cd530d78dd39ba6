// SPDX-License-Identifier: BSD-3-Clause
// Room for a job where others hold all there is: jobs that nobody is there of any more make room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/pipe_rig.h"

enum { SECOND = 1000, MINUTE = 60000, SLOTS = 20, LEFT_OVER = 5, PLACES = 20 };

/* Room for the slots of one job, and for a few besides. */
static void open_for(struct rig *rig, unsigned slots, unsigned jobs)
{
	struct pipe_params params = rig_params();

	params.slots_max = slots;
	params.jobs_max = (uint16_t)jobs;
	params.values_bytes = (size_t)slots * 2 * RIG_P;
	rig_open(rig, &params);
}

static const struct job *job_of(const struct rig *rig, const char *name)
{
	for (unsigned i = 0; i < PLACES; i++) {
		const struct job *job = pipe_job(rig->pipe, i);

		if (job && strcmp(job->name, name) == 0)
			return job;
	}
	return NULL;
}

/* One more JOIN of this rank, with the base that the job needs by now. */
static const char *join(struct rig *rig, const char *name, unsigned wid, unsigned world)
{
	struct wire_join ask = rig_join_of(rig, wid, world);
	const struct job *job = job_of(rig, name);

	memset(ask.name, 0, sizeof(ask.name));
	snprintf(ask.name, sizeof(ask.name), "%s", name);
	ask.base = job ? (job->running ? job->epoch : job->epoch - 1) : 0;
	ask.slots = SLOTS;
	/* Ranks of jobs with a letter for a name have ports of their own. */
	if (!name[1])
		ask.port = (uint16_t)(ask.port + RIG_PORTS * (name[0] - 'a'));
	rig_wait(rig, 2);
	return rig_join(rig, wid, &ask);
}

/* Runs; last is its highest rank. */
static const struct job *form(struct rig *rig, const char *name, unsigned last)
{
	join(rig, name, last, last + 1);
	for (unsigned wid = 0; wid <= last; wid++)
		join(rig, name, wid, last + 1);
	assert_true(job_of(rig, name)->running);
	return job_of(rig, name);
}

static enum counter gone(struct rig *rig, unsigned wid)
{
	const struct flow flow = rig_flow(wid);
	struct flow to;
	uint8_t buf[WIRE_MSG_MAX];
	enum counter counter = pipe_gone(rig->pipe, &flow, &rig->now);

	rig->nr_sent++;
	while (pipe_output(rig->pipe, &to, buf)) {}
	return counter;
}

/* At a leaf.  Handle and epochs are the parent's. */
static const char *told(struct rig *rig, const char *name, unsigned state, uint64_t epoch)
{
	const struct job *job = job_of(rig, name);
	const struct wire_msg msg = {
		.type = WIRE_STATUS, .job = (uint16_t)epoch, .epoch = epoch, .wid = 0
	};
	const struct wire_status status = { .state = (uint8_t)state,
					    .key = wire_job_key(name),
					    .inc = job->up.inc,
					    .p = RIG_P,
					    .slots = SLOTS };
	const struct flow parent = rig_parent();

	return rig_send(rig, &parent,
			(uint32_t)wire_status_build(rig->buf, &msg, &status, WIRE_BODY));
}

/* --- Slots -------------------------------------------------------------------------------------- */

static void agg_want_slots__of_a_job_whose_process_is_gone(void **state)
{
	struct rig rig;
	const char *text;

	(void)state;
	open_for(&rig, WIRE_SE + SLOTS + LEFT_OVER, 4);
	form(&rig, "dead", 1);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 0, 3);
	/* Heard a moment ago: not asked. */
	text = join(&rig, "new", 1, 3);
	has(text, "STATUS REFUSED");
	has(text, "cause 10");
	has_not(text, "RUNNING");
	rig_wait(&rig, 250);
	text = join(&rig, "new", 1, 3);
	has(text, "STATUS RUNNING epoch 1012 wid 0 inc 100");
	has(text, "STATUS RUNNING epoch 1012 wid 1 inc 101");
	/* Not again at once. */
	has_not(join(&rig, "new", 1, 3), "RUNNING");
	assert_int_equal(gone(&rig, 1), COUNTER_gone);
	has(join(&rig, "new", 1, 3), "STATUS RUNNING");
	assert_int_equal(job_of(&rig, "new")->slots, SLOTS);
	rig_close(&rig);
}

/* Hosts that are gone, too: nobody says so.  14 minutes of silence are nothing. */
static void agg_want_slots__of_a_job_silent_for_long(void **state)
{
	struct rig rig;
	const char *text = "";

	(void)state;
	open_for(&rig, WIRE_SE + SLOTS, 4);
	form(&rig, "dead", 1);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 0, 3);
	for (unsigned ms = 0; ms < 15 * MINUTE - SECOND; ms += 98) {
		rig_wait(&rig, 98 - 2);
		text = join(&rig, "new", 1, 3);
		has(text, "cause 10");
	}
	assert_true(job_of(&rig, "dead")->running);
	rig_wait(&rig, 2 * SECOND);
	text = join(&rig, "new", 1, 3);
	/* It ends by name, should anybody be there after all. */
	has(text, "inc 100 cause 14 a 0 ended");
	has(text, "inc 101 cause 14 a 0 ended");
	has(text, "STATUS RUNNING");
	assert_false(job_of(&rig, "dead")->running);
	assert_true(job_of(&rig, "new")->running);
	rig_close(&rig);
}

/* Nobody is taken for dead who was not asked. */
static void agg_want_slots__not_before_its_ranks_were_asked(void **state)
{
	struct rig rig;

	(void)state;
	open_for(&rig, WIRE_SE + SLOTS, 4);
	form(&rig, "old", 1);
	rig_wait(&rig, 20 * MINUTE);
	join(&rig, "new", 0, 1);
	has(join(&rig, "new", 0, 1), "cause 10");
	rig_wait(&rig, 900);
	has(join(&rig, "new", 0, 1), "cause 10");
	rig_wait(&rig, 110);
	has(join(&rig, "new", 0, 1), "cause 14 a 0");
	assert_true(job_of(&rig, "new")->running);
	rig_close(&rig);
}

static void agg_want_slots__whoever_answers_keeps_them(void **state)
{
	struct wire_msg alive;
	struct rig rig;

	(void)state;
	open_for(&rig, WIRE_SE + SLOTS, 4);
	alive = (struct wire_msg){ .type = WIRE_KEEPALIVE,
				   .job = form(&rig, "old", 1)->handle,
				   .wid = 1,
				   .len = WIRE_BODY,
				   .payload = (const uint8_t[WIRE_BODY]){ 0 } };
	alive.epoch = job_of(&rig, "old")->epoch;
	rig_wait(&rig, 20 * MINUTE);
	join(&rig, "new", 0, 1);
	join(&rig, "new", 0, 1);
	rig_wait(&rig, 500);
	rig_send_msg(&rig, &alive);
	for (unsigned i = 0; i < 59; i++) {
		rig_wait(&rig, SECOND - 2);
		has(join(&rig, "new", 0, 1), "cause 10");
	}
	assert_true(job_of(&rig, "old")->running);
	rig_close(&rig);
}

/* Whoever left is not awaited. */
static void agg_want_slots__ranks_that_left_are_not_asked(void **state)
{
	struct wire_msg leave;
	struct rig rig;
	const char *text;

	(void)state;
	open_for(&rig, WIRE_SE + SLOTS, 4);
	form(&rig, "job", 1);
	leave = rig_msg(&rig, WIRE_LEAVE, 0, WIRE_PAD);
	rig_send_msg(&rig, &leave);
	rig_wait(&rig, SECOND);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 0, 3);
	text = join(&rig, "new", 1, 3);
	has(text, "STATUS RUNNING epoch 1012 wid 1 inc 101");
	has_not(text, "STATUS RUNNING epoch 1012 wid 0");
	rig_close(&rig);
}

/* What is promised stays so when a member asks again, and is not waited with. */
static void agg_want_hopes__not_once_a_leaf_has_promised(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;

	(void)state;
	params.slots_max = 2 * WIRE_SE + SLOTS + LEFT_OVER;
	params.leaf = true;
	params.inc = 900;
	params.parent_from = RIG_PARENT_FROM;
	rig_open(&rig, &params);
	rig_wait(&rig, 1000);
	for (unsigned i = 0; i < 3; i++) {
		join(&rig, "old", 0, 1);
		if (i != 1)
			told(&rig, "old", i ? WIRE_RUNNING : WIRE_FORMING, 5000);
	}
	assert_true(job_of(&rig, "old")->running);
	join(&rig, "new", 1, 2);
	told(&rig, "new", WIRE_FORMING, 6000);
	join(&rig, "new", 1, 2);
	join(&rig, "new", 0, 2);
	assert_int_equal(job_of(&rig, "new")->lease_nr, 0);
	rig_wait(&rig, 1000);
	for (unsigned i = 0; i < 3; i++) {
		join(&rig, "new", 0, 2);
		assert_int_equal(job_of(&rig, "new")->lease_nr, WIRE_SE + LEFT_OVER);
	}
	rig_close(&rig);
}

/* A job that would begin with fewer slots than it wants waits a moment for those of one that is gone. */
static void agg_want_hopes__fewer_slots_only_if_the_others_live(void **state)
{
	struct rig rig;
	struct wire_msg alive;

	(void)state;
	for (unsigned lives = 0; lives < 3; lives++) {
		open_for(&rig, 2 * WIRE_SE + SLOTS + LEFT_OVER, 4);
		form(&rig, "job", 1);
		join(&rig, "new", 0, 1);
		has(join(&rig, "new", 0, 1), "STATUS FORMING");
		rig_wait(&rig, 300);
		has(join(&rig, "new", 0, 1), "STATUS RUNNING epoch 1012 wid 0 inc 100");
		assert_false(job_of(&rig, "new")->running);
		if (lives == 0) {
			gone(&rig, 1);
		} else if (lives == 1) {
			alive = rig_msg(&rig, WIRE_KEEPALIVE, 1, WIRE_BODY);
			rig_send_msg(&rig, &alive);
		} else {
			/* It may compute: not waited for long. */
			rig_wait(&rig, 680);
			has(join(&rig, "new", 0, 1), "STATUS FORMING");
			rig_wait(&rig, 20);
		}
		has(join(&rig, "new", 0, 1), "STATUS RUNNING");
		assert_int_equal(job_of(&rig, "new")->slots, lives ? LEFT_OVER : SLOTS);
		rig_close(&rig);
	}
}

/* One JOIN draws no more than the queue holds, and what it does not ask the next does. */
static void agg_want_poke__some_at_a_time(void **state)
{
	char a[64], b[64], c[64];
	struct rig rig;
	const char *text;

	(void)state;
	open_for(&rig, 3 * (WIRE_SE + SLOTS), 4);
	snprintf(a, sizeof(a), "RUNNING epoch %u wid 39", (unsigned)form(&rig, "a", 39)->epoch);
	snprintf(b, sizeof(b), "RUNNING epoch %u wid 39", (unsigned)form(&rig, "b", 39)->epoch);
	snprintf(c, sizeof(c), "RUNNING epoch %u wid 39", (unsigned)form(&rig, "c", 39)->epoch);
	rig_wait(&rig, 300);
	join(&rig, "new", 50, 51);
	for (unsigned wid = 0; wid < 50; wid++)
		join(&rig, "new", wid, 51);
	has_not(rig.text, "RUNNING");
	text = join(&rig, "new", 50, 51);
	has(text, a);
	has(text, b);
	has_not(text, c);
	text = join(&rig, "new", 50, 51);
	has_not(text, a);
	has(text, c);
	has_not(join(&rig, "new", 50, 51), "RUNNING");
	rig_close(&rig);
}

/* Slots promised to the parent are those of ranks that go on asking; then a job is the parent's to end. */
static void agg_want_slots__at_a_leaf(void **state)
{
	struct pipe_params params = rig_params();
	struct rig rig;

	(void)state;
	params.slots_max = WIRE_SE + SLOTS;
	params.leaf = true;
	params.inc = 900;
	params.parent_from = RIG_PARENT_FROM;
	rig_open(&rig, &params);
	rig_wait(&rig, 1000);
	join(&rig, "job", 0, 2);
	told(&rig, "job", WIRE_FORMING, 5000);
	join(&rig, "job", 0, 2);
	join(&rig, "job", 1, 2);
	assert_int_equal(job_of(&rig, "job")->lease_nr, WIRE_SE + SLOTS);
	join(&rig, "new", 2, 3);
	told(&rig, "new", WIRE_FORMING, 6000);
	join(&rig, "new", 2, 3);
	join(&rig, "new", 0, 3);
	has(join(&rig, "new", 1, 3), "cause 10");
	rig_wait(&rig, 1000);
	/* One of them still asks: the other is not there. */
	join(&rig, "job", 0, 2);
	has_not(join(&rig, "new", 1, 3), "cause 10");
	assert_int_equal(job_of(&rig, "job")->lease_nr, 0);
	assert_int_equal(job_of(&rig, "new")->lease_nr, WIRE_SE + SLOTS);
	told(&rig, "new", WIRE_RUNNING, 6000);
	assert_true(job_of(&rig, "new")->running);
	rig_wait(&rig, 15 * MINUTE);
	has(join(&rig, "job", 0, 2), "STATUS RUNNING epoch 6000 wid 1 inc 101");
	rig_wait(&rig, 1000);
	has(join(&rig, "job", 1, 2), "UP END job 6000 epoch 6000 wid 0 cause 14 a 0");
	assert_true(job_of(&rig, "new")->running);
	told(&rig, "new", WIRE_FORMING, 7000);
	has_not(join(&rig, "job", 1, 2), "cause 10");
	assert_int_equal(job_of(&rig, "job")->lease_nr, WIRE_SE + SLOTS);
	rig_close(&rig);
}

/* --- Places ------------------------------------------------------------------------------------- */

/* The table is full of what one packet each has made. */
static void agg_want_place__of_jobs_that_nobody_joined(void **state)
{
	static const char *const names[] = { "one", "two", "three" };
	struct rig rig;

	(void)state;
	open_for(&rig, 200, 4);
	join(&rig, "mine", 0, 2);
	join(&rig, "mine", 0, 2);
	for (unsigned i = 0; i < 3; i++)
		join(&rig, names[i], 1, 2);
	has(join(&rig, "new", 1, 2), "cause 10");
	rig_wait(&rig, 20);
	/* That was the oldest of them; who has joined stays. */
	has(join(&rig, "new", 1, 2), "STATUS FORMING");
	assert_null(job_of(&rig, "one"));
	assert_non_null(job_of(&rig, "two"));
	assert_non_null(job_of(&rig, "mine"));
	has(join(&rig, "new", 1, 2), "inc 101");
	has(join(&rig, "newer", 1, 2), "STATUS FORMING");
	has(join(&rig, "newer", 1, 2), "inc 101");
	assert_null(job_of(&rig, "two"));
	has(join(&rig, "newest", 1, 2), "STATUS FORMING");
	has(join(&rig, "newest", 1, 2), "inc 101");
	assert_null(job_of(&rig, "three"));
	has(join(&rig, "none", 1, 2), "cause 10");
	/* Those that joined and do not ask any more. */
	rig_wait(&rig, 5 * SECOND);
	has(join(&rig, "none", 1, 2), "STATUS FORMING");
	assert_null(job_of(&rig, "mine"));
	rig_close(&rig);
}

/* Of 20 places one address has no more than 10, though its jobs run; its names do not count, nor ports where they hide. */
static void agg_want_place__no_owner_has_all(void **state)
{
	char name[] = "a";
	struct rig rig;

	(void)state;
	open_for(&rig, 2000, PLACES);
	for (unsigned i = 0; i < 10; i++) {
		name[0] = (char)('a' + (int)i);
		form(&rig, name, 0);
	}
	has(join(&rig, "k", 0, 1), "cause 10 b 0 field 5: 20 0");
	/* Rank 1 has another address, so it is another owner; whoever joins first has the job on its share. */
	for (unsigned i = 0; i < 8; i++) {
		name[0] = (char)('k' + (int)i);
		has(join(&rig, name, 1, 2), "STATUS FORMING");
	}
	has(join(&rig, "s", 1, 2), "cause 10");
	join(&rig, "k", 0, 2);
	assert_int_equal(job_of(&rig, "k")->owner, rig_flow(0).ip);
	has(join(&rig, "s", 1, 2), "STATUS FORMING");
	for (unsigned i = 0; i < 10; i++) {
		name[0] = (char)('a' + (int)i);
		assert_true(job_of(&rig, name)->running);
	}
	rig_close(&rig);
}

/* Where switch ports are known, addresses do not count: whoever makes them up has the share of one port. */
static void agg_want_place__of_a_port(void **state)
{
	struct pipe_params params = rig_params();
	unsigned nr = 0;
	struct rig rig;

	(void)state;
	params.jobs_max = PLACES;
	params.strict_ports = true;
	rig_open(&rig, &params);
	for (unsigned i = 0; i < PLACES; i++) {
		struct wire_join ask = rig_join_of(&rig, i, 64);
		struct flow flow = rig_flow(i);
		uint32_t len;

		memset(ask.name, 0, sizeof(ask.name));
		ask.name[0] = (char)('a' + (int)i);
		flow.port = 3;
		rig_wait(&rig, 1);
		len = (uint32_t)wire_join_build(rig.buf, (uint16_t)i, &ask);
		nr += strstr(rig_send(&rig, &flow, len), "FORMING") != NULL;
	}
	assert_int_equal(nr, PLACES / 2);
	rig_close(&rig);
}

/* What one packet has made gives way to its owner's at once; to another's as late as one that somebody joined. */
static void agg_want_place__made_by_another(void **state)
{
	struct rig rig;

	(void)state;
	open_for(&rig, 200, 2);
	join(&rig, "one", 1, 2);
	join(&rig, "two", 1, 2);
	rig_wait(&rig, 30);
	has(join(&rig, "new", 0, 2), "cause 10");
	has(join(&rig, "three", 1, 2), "STATUS FORMING");
	assert_null(job_of(&rig, "one"));
	rig_wait(&rig, 5 * SECOND);
	has(join(&rig, "new", 0, 2), "STATUS FORMING");
	assert_null(job_of(&rig, "two"));
	rig_close(&rig);
}

/* Asks for all slots until it is clear what it gets. */
static void grab(struct rig *rig, const char *name, unsigned wid, unsigned world)
{
	struct wire_join ask = rig_join_of(rig, wid, world);

	memset(ask.name, 0, sizeof(ask.name));
	snprintf(ask.name, sizeof(ask.name), "%s", name);
	ask.slots = 5000;
	for (unsigned i = 0; i < 4 && !(job_of(rig, name) && job_of(rig, name)->running); i++) {
		ask.base = job_of(rig, name) ? job_of(rig, name)->epoch - 1 : 0;
		rig_wait(rig, SECOND / 2 + 1);
		rig_join(rig, wid, &ask);
	}
}

/* A job takes half of the slots, and so does another owner's of what is left; one more of the same owner none. */
static void agg_want_slots__no_owner_has_all(void **state)
{
	struct rig rig;

	(void)state;
	open_for(&rig, 2400, 4);
	grab(&rig, "a", 0, 1);
	grab(&rig, "b", 0, 1);
	grab(&rig, "c", 1, 2);
	grab(&rig, "c", 0, 2);
	assert_int_equal(job_of(&rig, "a")->slots, 1200 - WIRE_SE);
	assert_int_equal(job_of(&rig, "b")->lease_nr, 0);
	assert_int_equal(job_of(&rig, "c")->slots, 600 - WIRE_SE);
	rig_close(&rig);
}

/* A job that ran is nobody's to take, though its ranks form it anew. */
static void agg_want_place__not_of_a_job_that_ran(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	struct rig rig;

	(void)state;
	open_for(&rig, 400, 3);
	for (unsigned i = 0; i < 3; i++) {
		form(&rig, names[i], 1);
		join(&rig, names[i], 0, 2);
		assert_false(job_of(&rig, names[i])->running);
	}
	for (unsigned i = 0; i < 6; i++)
		has(join(&rig, "k", 1, 2), "cause 10");
	rig_close(&rig);
}

static void agg_want_place__of_a_job_whose_processes_are_gone(void **state)
{
	struct rig rig;
	const char *text;

	(void)state;
	open_for(&rig, 200, 1);
	form(&rig, "dead", 1);
	rig_wait(&rig, 300);
	text = join(&rig, "new", 0, 1);
	has(text, "STATUS RUNNING epoch 1012 wid 0");
	has(text, "STATUS RUNNING epoch 1012 wid 1");
	has(text, "cause 10");
	/* Each of them draws an answer of the network's, and so does what they are told then. */
	gone(&rig, 1);
	gone(&rig, 1);
	assert_non_null(job_of(&rig, "dead"));
	assert_false(job_of(&rig, "dead")->running);
	gone(&rig, 0);
	assert_null(job_of(&rig, "dead"));
	has(join(&rig, "new", 0, 1), "STATUS FORMING");
	rig_close(&rig);
}

static void agg_want_place__of_a_job_silent_for_long(void **state)
{
	struct rig rig;

	(void)state;
	open_for(&rig, 200, 1);
	form(&rig, "dead", 1);
	rig_wait(&rig, 15 * MINUTE - SECOND);
	has(join(&rig, "new", 0, 1), "cause 10");
	rig_wait(&rig, 2 * SECOND);
	has(join(&rig, "new", 0, 1), "cause 14 a 0");
	assert_null(job_of(&rig, "dead"));
	has(join(&rig, "new", 0, 1), "STATUS FORMING");
	has(join(&rig, "new", 0, 1), "STATUS RUNNING");
	rig_close(&rig);
}

/* --- Gone while forming ------------------------------------------------------------------------- */

static void agg_gone__the_last_that_waits_ends_the_job(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, NULL);
	join(&rig, "job", 0, 3);
	join(&rig, "job", 0, 3);
	join(&rig, "job", 2, 3);
	assert_int_equal(gone(&rig, 2), COUNTER_gone);
	assert_int_equal(job_of(&rig, "job")->joined, 1);
	assert_int_equal(gone(&rig, 2), COUNTER_not_mine);
	assert_int_equal(gone(&rig, 0), COUNTER_gone);
	assert_null(job_of(&rig, "job"));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agg_want_slots__of_a_job_whose_process_is_gone),
		cmocka_unit_test(agg_want_slots__of_a_job_silent_for_long),
		cmocka_unit_test(agg_want_slots__not_before_its_ranks_were_asked),
		cmocka_unit_test(agg_want_slots__whoever_answers_keeps_them),
		cmocka_unit_test(agg_want_slots__ranks_that_left_are_not_asked),
		cmocka_unit_test(agg_want_slots__at_a_leaf),
		cmocka_unit_test(agg_want_slots__no_owner_has_all),
		cmocka_unit_test(agg_want_hopes__not_once_a_leaf_has_promised),
		cmocka_unit_test(agg_want_hopes__fewer_slots_only_if_the_others_live),
		cmocka_unit_test(agg_want_poke__some_at_a_time),
		cmocka_unit_test(agg_want_place__of_jobs_that_nobody_joined),
		cmocka_unit_test(agg_want_place__no_owner_has_all),
		cmocka_unit_test(agg_want_place__of_a_port),
		cmocka_unit_test(agg_want_place__made_by_another),
		cmocka_unit_test(agg_want_place__not_of_a_job_that_ran),
		cmocka_unit_test(agg_want_place__of_a_job_whose_processes_are_gone),
		cmocka_unit_test(agg_want_place__of_a_job_silent_for_long),
		cmocka_unit_test(agg_gone__the_last_that_waits_ends_the_job),
	};

	return cmocka_run_group_tests_name("agg_want", tests, NULL, NULL);
}
