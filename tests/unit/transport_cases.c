// SPDX-License-Identifier: BSD-3-Clause
// transport_cases.c - what every transport must do, tried with a job of one rank: every DATA comes back as RESULT.
#include "tests/unit/transport_cases.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "host/core/session.h"

enum { CASE_P = 1408, CASE_SLOTS = 64 };

struct job {
	uint16_t handle;
	uint64_t epoch;
	uint32_t round;
};

static uint64_t case_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void case_send(struct transport *transport, const struct transport_pkt *pkts, unsigned nr)
{
	const uint64_t end_ns = case_now() + UINT64_C(5000000000);
	unsigned done = 0;

	while (done < nr) {
		done += transport->ops->send(transport, pkts + done, nr - done);
		assert_true(case_now() < end_ns);
	}
}

/* What the session has to say now. */
static void case_talk(struct transport *transport, struct session *session)
{
	static uint8_t buf[WIRE_MSG_MAX];
	enum session_event event;
	struct transport_pkt pkt = { 0 };

	while ((pkt.len = (uint32_t)session_output(session, buf, case_now(), &event)) > 0) {
		pkt.data = transport->ops->alloc(transport, pkt.len);
		assert_non_null(pkt.data);
		memcpy(pkt.data, buf, pkt.len);
		case_send(transport, &pkt, 1);
	}
}

/* Returns whether anything came. */
static bool case_listen(struct transport *transport, struct session *session)
{
	struct transport_pkt pkts[4] = { 0 };
	unsigned nr;

	transport->ops->wait(transport, 1000000);
	nr = transport->ops->recv(transport, pkts, 4);
	for (unsigned i = 0; i < nr; i++) {
		struct wire_msg msg;

		assert_int_equal(wire_parse(&msg, pkts[i].data, pkts[i].len), WIRE_OK);
		session_input(session, &msg, case_now());
	}
	transport->ops->release(transport);
	return nr > 0;
}

/* Until the job runs and all is quiet. */
static struct job case_join(struct transport *transport)
{
	const struct session_params params = {
		.name = "case",
		.inc = 77,
		.world = 1,
		.slots = CASE_SLOTS,
		.p = CASE_P,
		.p_fixed = true,
		.port = transport->port,
		.nr_ports = 1,
		.join_timeout_ns = UINT64_C(5000000000),
	};
	struct session session;

	session_init(&session, &params, case_now());
	while (session.state == SESSION_JOINING) {
		case_talk(transport, &session);
		case_listen(transport, &session);
	}
	assert_int_equal(session.state, SESSION_RUNNING);
	while (case_listen(transport, &session))
		;
	return (struct job){ .handle = session.job, .epoch = session.epoch };
}

static uint8_t case_byte(unsigned slot, uint32_t round, uint32_t i)
{
	return (uint8_t)(slot * 31 + round * 7 + i * 13 + (i >> 8));
}

static void case_data(struct transport *transport, const struct job *job, unsigned slot,
		      uint32_t len, struct transport_pkt *pkt)
{
	const struct wire_msg msg = {
		.type = WIRE_DATA,
		.kind = WIRE_ADD32,
		.job = job->handle,
		.epoch = job->epoch,
		.slot = (uint16_t)slot,
		.round = job->round,
		.desc = 5,
		.wid = 0,
		.len = len,
	};

	pkt->len = WIRE_HEADER + len;
	pkt->data = transport->ops->alloc(transport, pkt->len);
	assert_non_null(pkt->data);
	wire_build(pkt->data, &msg);
	for (uint32_t i = 0; i < len; i++)
		pkt->data[WIRE_HEADER + i] = case_byte(slot, job->round, i);
}

static void case_check(const struct transport_pkt *pkt, const struct job *job, const uint32_t *lens,
		       bool *seen)
{
	struct wire_msg msg;

	assert_int_equal(wire_parse(&msg, pkt->data, pkt->len), WIRE_OK);
	assert_int_equal(msg.type, WIRE_RESULT);
	assert_int_equal(msg.round, job->round);
	assert_true(msg.slot < CASE_SLOTS);
	assert_false(seen[msg.slot]);
	seen[msg.slot] = true;
	assert_int_equal(msg.len, lens[msg.slot]);
	for (uint32_t i = 0; i < msg.len; i++)
		assert_int_equal(msg.payload[i], case_byte(msg.slot, job->round, i));
}

/* Receives nr results, at most max at a time. */
static void case_results(struct transport *transport, const struct job *job, const uint32_t *lens,
			 unsigned nr, unsigned max)
{
	const uint64_t end_ns = case_now() + UINT64_C(5000000000);
	struct transport_pkt pkts[TRANSPORT_BURST] = { 0 };
	bool seen[CASE_SLOTS] = { false };
	unsigned got = 0;

	while (got < nr) {
		unsigned n;

		transport->ops->wait(transport, 10000000);
		n = transport->ops->recv(transport, pkts, max);
		assert_true(n <= max);
		for (unsigned i = 0; i < n; i++)
			case_check(&pkts[i], job, lens, seen);
		transport->ops->release(transport);
		got += n;
		assert_true(case_now() < end_ns);
	}
}

static void case_round(struct transport *transport, const struct job *job, const uint32_t *lens,
		       unsigned nr, unsigned max)
{
	struct transport_pkt pkts[TRANSPORT_BURST] = { 0 };

	for (unsigned i = 0; i < nr; i++)
		case_data(transport, job, i, lens[i], &pkts[i]);
	case_send(transport, pkts, nr);
	case_results(transport, job, lens, nr, max);
}

void transport_case_join(struct transport *transport)
{
	case_join(transport);
	assert_true(transport->port != 0);
	assert_true(transport->p >= WIRE_P_MIN && transport->p % WIRE_P_MIN == 0);
	assert_true(transport->text[0] != '\0');
}

void transport_case_burst(struct transport *transport)
{
	struct job job = case_join(transport);
	uint32_t lens[CASE_SLOTS];

	for (unsigned i = 0; i < CASE_SLOTS; i++)
		lens[i] = CASE_P;
	for (; job.round < 20; job.round++)
		case_round(transport, &job, lens, TRANSPORT_BURST, TRANSPORT_BURST);
	assert_int_equal(transport->lost, 0);
}

/* Runs of equal sizes, a shorter last one, and sizes that change all the time. */
void transport_case_sizes(struct transport *transport)
{
	struct job job = case_join(transport);
	uint32_t lens[CASE_SLOTS];

	for (; job.round < 12; job.round++) {
		for (unsigned i = 0; i < CASE_SLOTS; i++)
			lens[i] = job.round % 3 == 0   ? 32 * (1 + (i * 7 + job.round) % 44)
				  : job.round % 3 == 1 ? (i % 9 == 8 ? 64 : 640)
						       : (i == CASE_SLOTS - 1 ? 32 : CASE_P);
		case_round(transport, &job, lens, TRANSPORT_BURST, TRANSPORT_BURST);
	}
}

/* A train is handed out in as many pieces as the caller likes. */
void transport_case_few(struct transport *transport)
{
	struct job job = case_join(transport);
	uint32_t lens[CASE_SLOTS];

	for (unsigned i = 0; i < CASE_SLOTS; i++)
		lens[i] = 96;
	for (; job.round < 8; job.round++)
		case_round(transport, &job, lens, 40, 1 + job.round * 3);
}

/* There is room for a burst again and again: nothing leaks. */
void transport_case_room(struct transport *transport)
{
	struct job job = case_join(transport);
	uint32_t lens[CASE_SLOTS];

	for (unsigned i = 0; i < CASE_SLOTS; i++)
		lens[i] = 128;
	for (; job.round < 200; job.round++) {
		assert_int_equal(transport->ops->room(transport), TRANSPORT_BURST);
		case_round(transport, &job, lens, 7, TRANSPORT_BURST);
	}
}

void transport_case_too_large(struct transport *transport)
{
	assert_null(transport->ops->alloc(transport, WIRE_MSG_MAX + 1));
}

void transport_case_wait(struct transport *transport)
{
	struct transport_pkt pkt;
	uint64_t begin_ns = case_now();

	transport->ops->wait(transport, 2000000);
	assert_true(case_now() - begin_ns >= 2000000);
	assert_int_equal(transport->ops->recv(transport, &pkt, 1), 0);
	begin_ns = case_now();
	transport->ops->wait(transport, 0);
	assert_true(case_now() - begin_ns < UINT64_C(1000000000));
}

static void *case_waker(void *arg)
{
	struct transport *transport = arg;

	transport->ops->wake(transport);
	return NULL;
}

void transport_case_wake(struct transport *transport)
{
	const uint64_t begin_ns = case_now();

	for (unsigned i = 0; i < 50; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, case_waker, transport), 0);
		transport->ops->wait(transport, UINT64_C(20000000000));
		pthread_join(thread, NULL);
	}
	assert_true(case_now() - begin_ns < UINT64_C(10000000000));
}
