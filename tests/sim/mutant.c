// SPDX-License-Identifier: BSD-3-Clause
// mutant.c - a stand-in of the switch whose rules can be broken one by one.
#include "tests/sim/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const mutant_names[MUTANT_NR] = {
	[MUTANT_NONE] = "none",
	[MUTANT_SOUND] = "switch: stand-in, nothing broken",
	[MUTANT_VERSION] = "switch: a version bit instead of the round",
	[MUTANT_ADDS_TWICE] = "switch: adds a duplicate again",
	[MUTANT_OVERWRITES_NOT] = "switch: begins a round with the old sum",
	[MUTANT_REPEATS_NOT] = "switch: never sends a result again",
	[MUTANT_EPOCH] = "switch: cells outlive their epoch",
	[MUTANT_STALE] = "switch: an earlier round overwrites a later one",
	[MUTANT_SIGNED] = "switch: compares exponents as signed",
	[MUTANT_COMPARES_NOT] = "switch: sums different operations",
	[MUTANT_FRESH] = "host: sends other bytes again",
	[MUTANT_SAME_INC] = "host: restarts with its old incarnation",
	[MUTANT_NO_LEAVE] = "host: goes without LEAVE",
	[MUTANT_TWICE] = "host: delivers a result twice",
	[MUTANT_BLAME] = "host: names another cause",
	[MUTANT_UNCOUNTED] = "link: a lost packet is not counted",
	[MUTANT_MISCOUNT] = "switch: a packet is counted twice",
	[MUTANT_DEAF] = "process: stops for ever",
	[MUTANT_CLOCK] = "simulator: depends on the time of day",
};

enum { CELLS = 2 * 1024 };

struct standin_cell {
	uint64_t epoch, have;
	uint32_t round, desc, len;
	uint8_t kind, flags;
	uint8_t bytes[SIM_P]; /* as on the wire */
};

struct standin {
	struct standin_cell cells[SIM_JOBS + 1][CELLS];
};

void mutant_open(struct world *w)
{
	w->standin = calloc(1, sizeof(struct standin));
	if (!w->standin) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
}

void mutant_close(struct world *w)
{
	free(w->standin);
}

void mutant_boot(struct world *w)
{
	if (mutant_is_standin(w->mutant))
		memset(w->standin, 0, sizeof(struct standin));
}

/* --- A sum by the book ------------------------------------------------------------------------ */

static uint32_t sum32(uint32_t a, uint32_t b, unsigned kind, uint8_t *flags)
{
	int64_t sum = (int64_t)(int32_t)a + (int32_t)b;

	if (kind == WIRE_MAX32)
		return (int32_t)a > (int32_t)b ? a : b;
	if (kind == WIRE_ADD32SAT && sum > INT32_MAX) {
		*flags |= WIRE_SATURATED;
		return INT32_MAX;
	}
	return a + b;
}

static void standin_add(struct world *w, struct standin_cell *cell, const uint8_t *in)
{
	for (uint32_t i = 0; i < cell->len; i += cell->kind == WIRE_MAX8 ? 1 : 4) {
		uint8_t *at = cell->bytes + i;

		if (cell->kind == WIRE_MAX8) {
			bool more = w->mutant == MUTANT_SIGNED ? (int8_t)in[i] > (int8_t)*at
							       : in[i] > *at;

			*at = more ? in[i] : *at;
		} else if (cell->kind == WIRE_ADD16) {
			wire_put16(at, (uint16_t)(wire_get16(at) + wire_get16(in + i)));
			wire_put16(at + 2, (uint16_t)(wire_get16(at + 2) + wire_get16(in + i + 2)));
		} else {
			wire_put32(at, sum32(wire_get32(at), wire_get32(in + i), cell->kind,
					     &cell->flags));
		}
	}
}

static bool standin_differs(const struct world *w, const struct standin_cell *cell,
			    const struct wire_msg *msg)
{
	return w->mutant != MUTANT_COMPARES_NOT &&
	       (cell->kind != msg->kind || cell->desc != msg->desc || cell->len != msg->len);
}

/* Whether the contribution begins its round. */
static bool standin_begins(const struct world *w, const struct standin_cell *cell,
			   const struct wire_msg *msg)
{
	if (w->mutant == MUTANT_VERSION)
		return cell->epoch != msg->epoch || cell->have == 0;
	if (!cell->have)
		return true;
	if (cell->epoch != msg->epoch && w->mutant != MUTANT_EPOCH)
		return true;
	return w->mutant == MUTANT_STALE ? msg->round != cell->round : msg->round > cell->round;
}

static void standin_begin(struct world *w, struct standin_cell *cell, const struct wire_msg *msg)
{
	cell->epoch = msg->epoch;
	cell->round = msg->round;
	cell->desc = msg->desc;
	cell->kind = msg->kind;
	cell->len = msg->len;
	cell->flags = 0;
	cell->have = UINT64_C(1) << msg->wid;
	if (w->mutant == MUTANT_OVERWRITES_NOT)
		standin_add(w, cell, msg->payload);
	else
		memcpy(cell->bytes, msg->payload, msg->len);
}

static void standin_result(struct pipe_pkt *pkt, const struct standin_cell *cell,
			   struct wire_msg *msg, enum pipe_verdict verdict)
{
	msg->type = WIRE_RESULT;
	msg->kind = cell->kind;
	msg->flags = cell->flags;
	msg->desc = cell->desc;
	msg->wid = WIRE_WID_NONE;
	wire_build(pkt->data, msg);
	memcpy(pkt->data + WIRE_HEADER, cell->bytes, cell->len);
	pkt->len = WIRE_HEADER + cell->len;
	pkt->verdict = (uint8_t)verdict;
}

/* False: this is for the real one, to end the epoch. */
static bool standin_data(struct world *w, struct standin_cell *pair, const struct job *job,
			 struct pipe_pkt *pkt, struct wire_msg *msg)
{
	struct standin_cell *cell = &pair[msg->round & 1];
	uint64_t bit = UINT64_C(1) << msg->wid;

	if (w->mutant == MUTANT_VERSION && pair[(msg->round & 1) ^ 1].epoch == msg->epoch &&
	    !(cell->epoch == msg->epoch && (cell->have & bit)))
		pair[(msg->round & 1) ^ 1].have &= ~bit;
	if (standin_begins(w, cell, msg)) {
		standin_begin(w, cell, msg);
	} else if (msg->round < cell->round && w->mutant != MUTANT_VERSION) {
		return true;
	} else if ((cell->have & bit) &&
		   (cell->have == job->all || w->mutant != MUTANT_ADDS_TWICE)) {
		if (cell->have == job->all && w->mutant != MUTANT_REPEATS_NOT)
			standin_result(pkt, cell, msg, PIPE_REPLY);
		return true;
	} else if (standin_differs(w, cell, msg)) {
		return false;
	} else {
		standin_add(w, cell, msg->payload);
		cell->have |= bit;
	}
	if (cell->have == job->all)
		standin_result(pkt, cell, msg, PIPE_MULTICAST);
	return true;
}

/* A mismatch that only the stand-in sees: the epoch is ended as an abort of the sender's would. */
static void standin_mismatch(struct world *w, unsigned n, const struct pipe_pkt *pkt,
			     const struct wire_msg *msg, uint64_t have)
{
	const struct wire_msg end = {
		.type = WIRE_END, .job = msg->job, .epoch = msg->epoch, .wid = msg->wid
	};
	const struct wire_status body = { .cause = WIRE_CAUSE_MISMATCH,
					  .wid_b = (uint16_t)__builtin_ctzll(have) };
	uint8_t buf[WIRE_MSG_MAX];
	struct pipe_pkt own = { .data = buf, .cap = sizeof(buf), .flow = pkt->flow };
	struct pipe_time now = sim_time(w);

	own.len = (uint32_t)wire_status_build(buf, &end, &body, WIRE_BODY);
	pipe_input(w->node[n].pipe, &own, 1, &now);
	w->node[n].rx++;
}

bool mutant_switch(struct world *w, unsigned n, struct pipe_pkt *pkt)
{
	struct standin *standin = w->standin;
	struct standin_cell *pair;
	struct wire_msg msg;

	if (!mutant_is_standin(w->mutant) || wire_parse(&msg, pkt->data, pkt->len) != WIRE_OK ||
	    msg.type != WIRE_DATA)
		return false;
	for (unsigned i = 0; i < SIM_JOBS + 1; i++) {
		const struct job *job = pipe_job(w->node[n].pipe, i);

		if (!job || job->handle != msg.job || !job->running || job->epoch != msg.epoch ||
		    msg.wid >= job->world || msg.slot >= job->lease_nr ||
		    !job_identity(&job->members[msg.wid], &pkt->flow, false))
			continue;
		pkt->job = (uint16_t)i;
		pkt->verdict = PIPE_DROP;
		pair = &standin->cells[i][2 * msg.slot];
		if (!standin_data(w, pair, job, pkt, &msg))
			standin_mismatch(w, n, pkt, &msg, pair[msg.round & 1].have);
		return true;
	}
	return false;
}

/* --- The others ------------------------------------------------------------------------------- */

uint32_t mutant_salt(const struct world *w)
{
	return w->mutant == MUTANT_FRESH;
}

bool mutant_blames(const struct world *w)
{
	return w->mutant == MUTANT_BLAME;
}

void mutant_check(struct world *w)
{
	struct timespec now;

	if (w->mutant != MUTANT_CLOCK)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	w->trace.hash += (uint64_t)now.tv_nsec;
}
