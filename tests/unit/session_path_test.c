// SPDX-License-Identifier: BSD-3-Clause
// Tests of host/core/session.c: the largest packet that a path carries.
#include "tests/unit/session_rig.h"

/* Runs a session against a path that carries nothing above max bytes of payload and a switch that answers. */
static enum session_event narrow_path(struct session *s, uint32_t max, uint64_t deaf_until)
{
	uint64_t now = MS;
	struct wire_msg msg;
	struct wire_join join;
	enum session_event last = SESSION_NOTHING;

	for (; now < 5000 * MS && s->state == SESSION_JOINING; now += MS) {
		uint8_t buf[WIRE_MSG_MAX];
		enum session_event event;
		size_t len = session_output(s, buf, now, &event);

		if (event != SESSION_NOTHING)
			last = event;
		if (!len || len > WIRE_HEADER + max || now < deaf_until)
			continue;
		assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
		if (msg.type == WIRE_KEEPALIVE) {
			assert_int_equal(msg.job, 0);
			deliver_unknown(s, 0, 0, now);
		} else {
			struct wire_status st = status_of(WIRE_RUNNING, inc);

			wire_join_parse(&join, &msg);
			st.p = join.p;
			deliver(s, 901, &st, now);
		}
	}
	return last;
}

static void session__path_too_small_lowers_p(void **state)
{
	struct session s = joining(8832, false);

	(void)state;
	assert_int_equal(narrow_path(&s, 1424, 0), SESSION_SMALLER);
	assert_int_equal(s.state, SESSION_RUNNING);
	assert_int_equal(session_status(&s)->p, 1408);
}

static void session__path_too_small_for_a_fixed_p(void **state)
{
	struct session s = joining(8832, true);

	(void)state;
	assert_int_equal(narrow_path(&s, 4200, 0), SESSION_GAVE_UP);
	assert_int_equal(s.failure, SESSION_TOO_LARGE);
	assert_int_equal(session_chunk(&s), 4096);
}

static void session__switch_that_starts_late_does_not_lower_p(void **state)
{
	struct session s = joining(1408, false);

	(void)state;
	for (uint64_t late = 2; late < 400; late += 3) {
		s = joining(1408, false);
		assert_int_equal(narrow_path(&s, 9000, late * MS), SESSION_NOTHING);
		assert_int_equal(s.state, SESSION_RUNNING);
		assert_int_equal(session_status(&s)->p, 1408);
	}
}

/* A path that loses, of a seed, and a switch behind it whose last rank joins late. */
struct lossy {
	uint64_t seed;
	unsigned percent;   /* lost, each way */
	uint32_t max;	    /* payload bytes that the path carries */
	uint64_t begins_ns; /* until then the job forms */
	uint64_t drops_ns;  /* until then the switch drops every JOIN */
	uint64_t now;
};

static bool loses(struct lossy *path)
{
	path->seed = path->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (path->seed >> 33) % 100 < path->percent;
}

/* The switch's answer to a JOIN, as long as that is. */
static void lossy_join(struct session *s, const struct lossy *path, const struct wire_join *join)
{
	static uint8_t buf[WIRE_MSG_MAX];
	const bool begins = path->now >= path->begins_ns;
	struct wire_status st = status_of(begins ? WIRE_RUNNING : WIRE_FORMING, inc);
	struct wire_msg msg = { .type = WIRE_STATUS, .job = HANDLE, .epoch = 901, .wid = RANK };
	const size_t len = WIRE_HEADER + (join->p > WIRE_BODY ? join->p : WIRE_BODY);

	memset(buf, 0, sizeof(buf));
	st.p = join->p;
	wire_status_build(buf, &msg, &st, WIRE_BODY);
	assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
	session_input(s, &msg, path->now);
}

/* Until it joined or gave up, at most until the end; how often P was lowered. */
static unsigned lossy_run(struct session *s, struct lossy *path, uint64_t end_ns)
{
	unsigned lowered = 0;

	for (; path->now < end_ns && s->state == SESSION_JOINING; path->now += MS) {
		uint8_t buf[WIRE_MSG_MAX];
		enum session_event event;
		size_t len = session_output(s, buf, path->now, &event);
		struct wire_join join;
		struct wire_msg msg;

		lowered += event == SESSION_SMALLER;
		if (!len || len > WIRE_HEADER + path->max || loses(path) || loses(path))
			continue;
		assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
		if (msg.type == WIRE_KEEPALIVE) {
			deliver_unknown(s, 0, 0, path->now);
		} else if (path->now >= path->drops_ns) {
			assert_int_equal(wire_join_parse(&join, &msg), WIRE_OK);
			lossy_join(s, path, &join);
		}
	}
	return lowered;
}

/* The others take their time, and a path that loses packets carries all the same. */
static void session__loss_does_not_lower_p(void **state)
{
	unsigned lowered = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct session s = joining(8832, false);
		struct lossy path = { .seed = seed,
				      .percent = 10 + 10 * (unsigned)(seed % 3),
				      .max = 9000,
				      .begins_ns = 29000 * MS,
				      .now = MS };

		lowered += lossy_run(&s, &path, 30000 * MS);
		assert_int_equal(s.state, SESSION_RUNNING);
	}
	/* Chance may do it once, at 30 %. */
	assert_true(lowered <= 1);
}

/* Of no length once it was answered: whatever is lost then. */
static void session__what_was_answered_is_carried(void **state)
{
	struct session s = joining(8832, false);
	struct lossy path = { .max = 9000, .begins_ns = 20000 * MS, .now = MS };

	(void)state;
	lossy_run(&s, &path, 20 * MS);
	path.max = 4000;
	assert_int_equal(lossy_run(&s, &path, 20000 * MS), 0);
	path.max = 9000;
	lossy_run(&s, &path, 21000 * MS);
	assert_int_equal(s.state, SESSION_RUNNING);
	assert_int_equal(session_status(&s)->p, 8832);
	/* Another time it may be another path. */
	session_fail(&s, path.now);
	session_rejoin(&s, path.now);
	s.join.base = 900;
	path.max = 4000;
	lossy_run(&s, &path, path.now + 5000 * MS);
	assert_int_equal(session_status(&s)->p, 1408);
}

/* In a few seconds, with all kinds of loss on it. */
static void session__path_too_small_and_lossy(void **state)
{
	static const uint16_t want[] = { 4096, 1408, 512, 128 };
	static const uint32_t max[] = { 4200, 1424, 550, 200 };

	(void)state;
	for (uint64_t seed = 1; seed <= 160; seed++) {
		struct session s = joining(8832, false);
		struct lossy path = { .seed = seed,
				      .percent = 10 * (unsigned)(seed % 4),
				      .max = max[seed / 4 % 4],
				      .now = MS };

		lossy_run(&s, &path, 8000 * MS);
		assert_int_equal(s.state, SESSION_RUNNING);
		assert_true(session_status(&s)->p <= want[seed / 4 % 4]);
		if (path.percent < 30)
			assert_int_equal(session_status(&s)->p, want[seed / 4 % 4]);
		if (seed / 4 % 4 == 1)
			assert_true(path.now < (path.percent ? 4000 : 1500) * MS);
	}
}

/* A switch whose clock was set back drops JOINs of any length, and answers probes. */
static void session__switch_that_drops_joins_does_not_lower_p(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct session s = joining(8832, i == 1);
		struct lossy path = { .max = 9000, .now = 2 * MS };

		lossy_run(&s, &path, 10 * MS);
		assert_int_equal(s.state, SESSION_RUNNING);
		session_fail(&s, path.now);
		session_rejoin(&s, path.now);
		s.join.base = 900;
		path.drops_ns = 20000 * MS;
		assert_in_range(lossy_run(&s, &path, 20000 * MS), 0, 6);
		assert_int_equal(s.state, SESSION_JOINING);
		assert_int_equal(session_chunk(&s), 8832);
		lossy_run(&s, &path, 21000 * MS);
		assert_int_equal(s.state, SESSION_RUNNING);
		assert_int_equal(session_status(&s)->p, 8832);
	}
}

static void session_too_large__local_mtu(void **state)
{
	struct session s = joining(8832, false), fixed = joining(8832, true);

	(void)state;
	assert_int_equal(session_too_large(&s, 1450, 2 * MS), SESSION_SMALLER);
	assert_int_equal(session_chunk(&s), 1408);
	assert_int_equal(session_too_large(&fixed, 1450, 2 * MS), SESSION_GAVE_UP);
	assert_int_equal(session_chunk(&fixed), 1408);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session__path_too_small_lowers_p),
		cmocka_unit_test(session__path_too_small_for_a_fixed_p),
		cmocka_unit_test(session__switch_that_starts_late_does_not_lower_p),
		cmocka_unit_test(session__loss_does_not_lower_p),
		cmocka_unit_test(session__what_was_answered_is_carried),
		cmocka_unit_test(session__path_too_small_and_lossy),
		cmocka_unit_test(session__switch_that_drops_joins_does_not_lower_p),
		cmocka_unit_test(session_too_large__local_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
