// SPDX-License-Identifier: BSD-3-Clause
// A switch on the bench for the tests of its core.
#include "tests/unit/pipe_rig.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/print.h"

#define RIG_MS UINT64_C(1000000)
#define RIG_IP 0x0a000001

struct pipe_params rig_params(void)
{
	return (struct pipe_params){
		.jobs_max = 4,
		.slots_max = 200,
		.values_bytes = (size_t)200 * 2 * RIG_P,
		.p_max = RIG_P,
	};
}

void rig_open(struct rig *rig, const struct pipe_params *params)
{
	const struct pipe_time boot = { .now_ns = 5 * RIG_MS, .wall_ms = RIG_BOOT_MS };
	struct pipe_params usual = rig_params();
	size_t size;

	memset(rig, 0, sizeof(*rig));
	params = params ? params : &usual;
	size = (pipe_size(params) + 63) / 64 * 64;
	assert_true(size > 0);
	rig->mem = aligned_alloc(64, size);
	assert_non_null(rig->mem);
	memset(rig->mem, 0, size);
	rig->now = boot;
	rig->pipe = pipe_init(rig->mem, params, &boot);
	assert_non_null(rig->pipe);
	if (params->leaf) {
		const struct flow parent = rig_parent();

		pipe_set_parent(rig->pipe, &parent);
	}
	rig_wait(rig, RIG_NOW_MS - RIG_BOOT_MS);
}

struct flow rig_parent(void)
{
	return (struct flow){ .ip = 0x0a0000fe, .udp_port = WIRE_PORT };
}

void rig_close(struct rig *rig)
{
	rig_check_sum(rig);
	free(rig->mem);
}

void rig_wait(struct rig *rig, uint64_t ms)
{
	rig->now.now_ns += ms * RIG_MS;
	rig->now.wall_ms += ms;
}

struct flow rig_flow(unsigned wid)
{
	return (struct flow){
		.ip = RIG_IP + wid,
		.udp_port = (uint16_t)(40000 + 100 * wid),
		.port = (uint16_t)wid,
		.mac = { 2, 0, 0, 0, 0, (uint8_t)wid },
	};
}

__attribute__((format(printf, 2, 3))) static void rig_say(struct rig *rig, const char *format, ...)
{
	size_t len = strlen(rig->text);
	va_list args;

	va_start(args, format);
	vsnprintf(rig->text + len, sizeof(rig->text) - len, format, args);
	va_end(args);
}

static void rig_say_flow(struct rig *rig, const struct flow *flow)
{
	unsigned wid = flow->ip - RIG_IP;
	struct flow usual = rig_flow(wid);
	unsigned offset = (uint16_t)(flow->udp_port - usual.udp_port);

	if (flow->ip == rig_parent().ip && flow->udp_port == WIRE_PORT)
		rig_say(rig, " up");
	else if (wid >= WIRE_WORLD_MAX || offset >= 50)
		rig_say(rig, " %08" PRIx32 ":%u", flow->ip, flow->udp_port);
	else if (offset)
		rig_say(rig, " w%u+%u", wid, offset);
	else
		rig_say(rig, " w%u", wid);
}

static void rig_say_mask(struct rig *rig, const char *label, uint64_t mask)
{
	char text[256];

	if (!mask)
		return;
	print_ranks(text, sizeof(text), mask);
	rig_say(rig, " %s %s", label, text);
}

static void rig_say_wid(struct rig *rig, const char *label, uint16_t wid)
{
	if (wid != WIRE_WID_NONE)
		rig_say(rig, " %s %u", label, wid);
}

static void rig_say_body(struct rig *rig, const struct wire_status *status, uint32_t len)
{
	static const uint8_t none[WIRE_DESC];

	if (status->cause) {
		rig_say(rig, " cause %u", status->cause);
		rig_say_wid(rig, "a", status->wid_a);
		rig_say_wid(rig, "b", status->wid_b);
	}
	if (status->ended)
		rig_say(rig, " ended %" PRIu64, status->ended);
	if (status->state == WIRE_RUNNING)
		rig_say(rig, " P %u S %u", status->p, status->slots);
	if (len < 96)
		return;
	if (status->field)
		rig_say(rig, " field %u: %" PRIu64 " %" PRIu64, status->field, status->value_a,
			status->value_b);
	rig_say_mask(rig, "missing", status->missing);
	rig_say_mask(rig, "silent", status->silent);
	if (memcmp(status->desc_a, none, WIRE_DESC) != 0 ||
	    memcmp(status->desc_b, none, WIRE_DESC) != 0)
		rig_say(rig, " desc %u %u", status->desc_a[3], status->desc_b[3]);
}

static void rig_say_join(struct rig *rig, const struct wire_msg *msg)
{
	struct wire_join join;

	assert_int_equal(wire_join_parse(&join, msg), WIRE_OK);
	assert_int_equal(join.port, RIG_PARENT_FROM);
	assert_int_equal(join.nr_ports, 1);
	rig_say(rig, "%s wid %u ranks %u inc %" PRIu64 " base %" PRIu64 " P %u S %u world %u",
		msg->type == WIRE_JOIN ? "JOIN" : "ASK", msg->wid, join.ranks, join.inc, join.base,
		join.p, join.slots, join.world);
	if (strcmp(join.name, "job") != 0)
		rig_say(rig, " name %s", join.name);
	if (join.flags)
		rig_say(rig, " flags %u", join.flags);
	for (unsigned i = 0; i < join.nr_ranges; i++)
		rig_say(rig, " %u+%u", join.ranges[i].first, join.ranges[i].nr);
	if (msg->sealed)
		rig_say(rig, " crc");
	if (msg->type == WIRE_JOIN)
		assert_int_equal(msg->len, wire_join_size(&join));
}

static void rig_say_up(struct rig *rig, const uint8_t *buf, size_t len)
{
	struct wire_status body;
	struct wire_msg msg;

	assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
	rig_say(rig, " | UP ");
	if (msg.type == WIRE_JOIN || wire_is_ask(&msg)) {
		rig_say_join(rig, &msg);
		return;
	}
	rig_say(rig, "%s job %u epoch %" PRIu64 " wid %u", print_type(msg.type), msg.job, msg.epoch,
		msg.wid);
	if (msg.slot || msg.round)
		rig_say(rig, " slot %u round %" PRIu32, msg.slot, msg.round);
	if (msg.type == WIRE_END) {
		assert_int_equal(wire_status_parse(&body, &msg), WIRE_OK);
		rig_say(rig, "%s", body.state == WIRE_UNKNOWN ? " UNKNOWN" : "");
		rig_say_body(rig, &body, msg.len);
	}
	if (msg.sealed)
		rig_say(rig, " crc");
}

static void rig_say_status(struct rig *rig, const struct flow *to, const uint8_t *buf, size_t len)
{
	struct wire_status status;
	struct wire_msg msg;

	assert_int_equal(wire_parse(&msg, buf, len), WIRE_OK);
	if (msg.type != WIRE_STATUS) {
		assert_int_equal(to->ip, rig_parent().ip);
		rig_say_up(rig, buf, len);
		return;
	}
	assert_int_equal(msg.type, WIRE_STATUS);
	assert_int_equal(wire_status_parse(&status, &msg), WIRE_OK);
	rig_say(rig, " | STATUS %s epoch %" PRIu64, print_state(status.state), msg.epoch);
	if (msg.slot || msg.round)
		rig_say(rig, " slot %u round %" PRIu32, msg.slot, msg.round);
	rig_say_wid(rig, "wid", msg.wid);
	if (status.inc)
		rig_say(rig, " inc %" PRIu64, status.inc);
	rig_say_body(rig, &status, msg.len);
	rig_say(rig, " len %" PRIu32 "%s >", msg.len, msg.sealed ? " crc" : "");
	rig_say_flow(rig, to);
}

static void rig_say_result(struct rig *rig)
{
	struct flow to[WIRE_WORLD_MAX];
	struct wire_msg msg;
	char text[256];
	unsigned nr;

	assert_int_equal(wire_parse(&msg, rig->pkt.data, rig->pkt.len), WIRE_OK);
	assert_int_equal(msg.type, rig->pkt.verdict == PIPE_UP ? WIRE_DATA : WIRE_RESULT);
	print_msg(text, sizeof(text), &msg);
	rig_say(rig, " | %s >", text);
	nr = pipe_dests(rig->pipe, &rig->pkt, to);
	for (unsigned i = 0; i < nr; i++)
		rig_say_flow(rig, &to[i]);
}

const char *rig_send(struct rig *rig, const struct flow *flow, uint32_t len)
{
	uint8_t status[WIRE_MSG_MAX];
	struct flow to;
	size_t n;

	rig->pkt = (struct pipe_pkt){
		.data = rig->buf,
		.len = len,
		.cap = sizeof(rig->buf),
		.flow = *flow,
		.verdict = 0xff,
	};
	pipe_input(rig->pipe, &rig->pkt, 1, &rig->now);
	rig->nr_sent++;
	rig->text[0] = '\0';
	rig_say(rig, "%s", counter_infos[rig->pkt.counter].name);
	if (rig->pkt.verdict == PIPE_MULTICAST || rig->pkt.verdict == PIPE_REPLY ||
	    rig->pkt.verdict == PIPE_UP)
		rig_say_result(rig);
	else
		assert_int_equal(rig->pkt.verdict,
				 strcmp(rig->text, "held") ? PIPE_DROP : PIPE_HOLD);
	for (n = pipe_output(rig->pipe, &to, status); n; n = pipe_output(rig->pipe, &to, status))
		rig_say_status(rig, &to, status, n);
	return rig->text;
}

static const struct job *rig_job(const struct rig *rig)
{
	for (unsigned i = 0; i < rig_params().jobs_max; i++) {
		const struct job *job = pipe_job(rig->pipe, i);

		if (job && strcmp(job->name, "job") == 0)
			return job;
	}
	return NULL;
}

struct wire_join rig_join_of(const struct rig *rig, unsigned wid, unsigned world)
{
	const struct job *job = rig_job(rig);
	struct wire_join join = {
		.inc = 100 + wid,
		.world = (uint16_t)world,
		.slots = RIG_SLOTS,
		.p = RIG_P,
		.port = rig_flow(wid).udp_port,
		.nr_ports = RIG_PORTS,
		.nr_ranges = 1,
		.ranges = { { 0, (uint16_t)world } },
		.name = "job",
	};

	if (job)
		join.base = job->running ? job->epoch : job->epoch - 1;
	return join;
}

const char *rig_join(struct rig *rig, unsigned wid, const struct wire_join *join)
{
	struct flow flow = rig_flow(wid);
	uint32_t len = (uint32_t)wire_join_build(rig->buf, (uint16_t)wid, join);

	flow.udp_port = join->port;
	if (join->flags & WIRE_JOB_CHECK)
		len = wire_seal(rig->buf, len - WIRE_HEADER);
	return rig_send(rig, &flow, len);
}

const char *rig_join_usual(struct rig *rig, unsigned wid, unsigned world)
{
	const struct wire_join join = rig_join_of(rig, wid, world);

	return rig_join(rig, wid, &join);
}

struct wire_join rig_rival_of(const struct rig *rig, unsigned wid, unsigned world)
{
	struct wire_join join = rig_join_of(rig, wid, world);

	join.inc = 777;
	join.port = 50000;
	return join;
}

static const struct job *rig_form_with(struct rig *rig, unsigned world, uint16_t flags)
{
	const struct job *job;

	/* The first JOIN makes the job. */
	for (unsigned n = 0; n <= world; n++) {
		const unsigned wid = n ? n - 1 : 0;
		struct wire_join join = rig_join_of(rig, wid, world);

		join.flags = flags;
		rig_join(rig, wid, &join);
	}
	job = rig_job(rig);
	assert_non_null(job);
	assert_true(job->running);
	rig_wait(rig, 1);
	return job;
}

const struct job *rig_form(struct rig *rig, unsigned world)
{
	return rig_form_with(rig, world, 0);
}

void rig_open_job(struct rig *rig, unsigned world)
{
	rig_open(rig, NULL);
	rig_form(rig, world);
}

const struct job *rig_form_checked(struct rig *rig, unsigned world)
{
	return rig_form_with(rig, world, WIRE_JOB_CHECK);
}

struct wire_msg rig_msg(const struct rig *rig, enum wire_type type, unsigned wid, uint32_t len)
{
	static const uint8_t zero[WIRE_P_MAX];
	const struct job *job = rig_job(rig);
	struct wire_msg msg = {
		.type = (uint8_t)type,
		.wid = (uint16_t)wid,
		.len = len,
		.payload = zero,
	};

	if (job) {
		msg.job = job->handle;
		msg.epoch = job->epoch;
		msg.sealed = job->flags & WIRE_JOB_CHECK;
	}
	if (type == WIRE_DATA) {
		msg.kind = WIRE_ADD32;
		msg.desc = 7;
		msg.slot = WIRE_SE;
	}
	return msg;
}

const char *rig_send_from(struct rig *rig, const struct flow *flow, const struct wire_msg *msg)
{
	wire_build(rig->buf, msg);
	memcpy(rig->buf + WIRE_HEADER, msg->payload, msg->len);
	return rig_send(rig, flow,
			msg->sealed ? wire_seal(rig->buf, msg->len) : WIRE_HEADER + msg->len);
}

const char *rig_send_msg(struct rig *rig, const struct wire_msg *msg)
{
	struct flow flow = rig_flow(msg->wid);

	return rig_send_from(rig, &flow, msg);
}

const char *rig_leave(struct rig *rig, unsigned wid)
{
	const struct wire_msg msg = rig_msg(rig, WIRE_LEAVE, wid, WIRE_PAD);

	return rig_send_msg(rig, &msg);
}

uint32_t rig_element(unsigned wid, uint32_t round, unsigned i)
{
	uint64_t x = ((uint64_t)wid << 48 ^ (uint64_t)round << 16 ^ i) * 0x9e3779b97f4a7c15;

	return (uint32_t)(x >> 29);
}

const char *rig_data(struct rig *rig, unsigned wid, unsigned slot, uint32_t round)
{
	struct wire_msg msg = rig_msg(rig, WIRE_DATA, wid, 128);
	uint8_t payload[128];

	for (unsigned i = 0; i < 32; i++) {
		uint32_t v = rig_element(wid, round, i);

		payload[4 * i] = (uint8_t)(v >> 24);
		payload[4 * i + 1] = (uint8_t)(v >> 16);
		payload[4 * i + 2] = (uint8_t)(v >> 8);
		payload[4 * i + 3] = (uint8_t)v;
	}
	msg.slot = (uint16_t)(WIRE_SE + slot);
	msg.round = round;
	msg.payload = payload;
	return rig_send_msg(rig, &msg);
}

uint64_t rig_count(const struct rig *rig, enum counter counter)
{
	return pipe_counters(rig->pipe)->v[counter];
}

void rig_check_sum(const struct rig *rig)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < COUNTER_NR; i++)
		sum += pipe_counters(rig->pipe)->v[i];
	assert_int_equal(sum, rig->nr_sent);
}

void rig_assert_counter(const char *text, const char *counter)
{
	size_t len = strcspn(text, " ");

	if (len != strlen(counter) || strncmp(text, counter, len) != 0)
		fail_msg("\"%s\" instead of %s", text, counter);
}

void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in \"%s\"", part, text);
}
