// SPDX-License-Identifier: BSD-3-Clause
// mutant.c - a stand-in of the switch whose rules can be broken one by one.
#include "tests/sim/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sums.h"

const struct mutant_info mutant_infos[MUTANT_NR] = {
	[MUTANT_NONE] = { "-", "none", BY_NR },
	[MUTANT_SOUND] = { "sound", "switch: stand-in, nothing broken", BY_NR },
	[MUTANT_VERSION] = { "version", "switch: a version bit instead of the round", BY_SUM },
	[MUTANT_ADDS_TWICE] = { "adds-twice", "switch: adds a duplicate again", BY_SUM },
	[MUTANT_OVERWRITES_NOT] = { "overwrites-not", "switch: begins a round with the old sum",
				    BY_SUM },
	[MUTANT_REPEATS_NOT] = { "repeats-not", "switch: never sends a result again", BY_LIVENESS },
	[MUTANT_EPOCH] = { "epoch", "switch: cells outlive their epoch", BY_SUM },
	[MUTANT_STALE] = { "stale", "switch: an earlier round overwrites a later one",
			   BY_LIVENESS },
	[MUTANT_SIGNED] = { "signed", "switch: compares exponents as signed", BY_EXPONENT },
	[MUTANT_COMPARES_NOT] = { "compares-not", "switch: sums different operations", BY_MEMBER },
	[MUTANT_HASTY] = { "hasty", "switch: does not wait for the last rank", BY_MEMBER },
	[MUTANT_FRESH] = { "fresh", "host: sends other bytes again", BY_SUM },
	[MUTANT_SAME_INC] = { "same-inc", "host: restarts with its old incarnation", BY_EPOCH },
	[MUTANT_NO_LEAVE] = { "no-leave", "host: goes without LEAVE", BY_LEAK },
	[MUTANT_TWICE] = { "twice", "host: delivers a result twice", BY_DELIVERY },
	[MUTANT_SKIPS] = { "skips", "host: does not deliver a result", BY_DELIVERY },
	[MUTANT_BLAME] = { "blame", "host: names another cause", BY_BLAME },
	[MUTANT_WORLD] = { "world", "host: joins with another world", BY_REFUSAL },
	[MUTANT_CLOSE_NOT] = { "close-not", "host: does not look at what CLOSE says", BY_SUM },
	[MUTANT_COUNTS_AGAIN] = { "counts-again", "host: CLOSE counts what is sent again", BY_SUM },
	[MUTANT_HOST_SEAL_NOT] = { "host-seal-not", "host: does not look at seals", BY_SUM },
	[MUTANT_SEAL_NOT] = { "seal-not", "switch: does not look at seals", BY_SUM },
	[MUTANT_LEAVE] = { "leave", "switch: acknowledges LEAVE and forgets it", BY_LEAK },
	[MUTANT_NONSENSE] = { "nonsense", "switch: sends what is no message", BY_WIRE },
	[MUTANT_STRANGER] = { "stranger", "switch: takes any address for a member's", BY_COUNTER },
	[MUTANT_UNCOUNTED] = { "uncounted", "link: a lost packet is not counted", BY_LINK },
	[MUTANT_MISCOUNT] = { "miscount", "switch: a packet is counted twice", BY_COUNTER },
	[MUTANT_DEAF] = { "deaf", "process: stops for ever", BY_LIVENESS },
	[MUTANT_CORRUPT] = { "corrupt", "link: corruption that UDP does not show", BY_SUM },
	[MUTANT_CLOCK] = { "clock", "simulator: depends on the time of day", BY_TRACE },
};

unsigned mutant_find(const char *name)
{
	for (unsigned m = MUTANT_NONE + 1; m < MUTANT_NR; m++)
		if (strcmp(mutant_infos[m].name, name) == 0)
			return m;
	return MUTANT_NONE;
}

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

static void standin_add(struct world *w, struct standin_cell *cell, const uint8_t *in)
{
	bool saturated = false;

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
			wire_put32(at, sums_add(cell->kind, wire_get32(at), wire_get32(in + i),
						&saturated));
		}
	}
	if (saturated)
		cell->flags |= WIRE_SATURATED;
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
	pkt->len = net_seal(msg->sealed, pkt->data, cell->len);
	pkt->verdict = (uint8_t)verdict;
}

static bool standin_done(const struct world *w, const struct standin_cell *cell,
			 const struct job *job, uint64_t bit)
{
	uint64_t last = UINT64_C(1) << (job->world - 1);

	if (w->mutant == MUTANT_HASTY && job->world > 1 && bit != last)
		return cell->have == (job->all & ~last);
	return cell->have == job->all;
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
	if (standin_done(w, cell, job, bit))
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
	struct pipe_time now = switch_time(w, &w->node[n]);

	wire_status_build(buf, &end, &body, WIRE_BODY);
	own.len = net_seal(msg->sealed, buf, WIRE_BODY);
	pipe_input(w->node[n].pipe, &own, 1, &now);
	w->node[n].rx++;
}

static const struct job *job_of(const struct world *w, unsigned n, uint16_t handle)
{
	for (unsigned i = 0; i < w->node[n].params.jobs_max; i++) {
		const struct job *job = pipe_job(w->node[n].pipe, i);

		if (job && job->handle == handle)
			return job;
	}
	return NULL;
}

/* LEAVE is answered as if it had been heeded. */
static bool mutant_leave(const struct world *w, unsigned n, struct pipe_pkt *pkt)
{
	struct wire_status status = { .state = WIRE_RUNNING,
				      .cause = WIRE_CAUSE_LEFT,
				      .wid_b = WIRE_WID_NONE,
				      .p = WIRE_P_MIN,
				      .slots = 1 };
	const struct job *job;
	struct wire_msg msg;

	if (wire_parse(&msg, pkt->data, pkt->len) != WIRE_OK || msg.type != WIRE_LEAVE)
		return false;
	job = job_of(w, n, msg.job);
	if (!job || msg.epoch != job->epoch)
		return false;
	status.key = job->key;
	status.wid_a = msg.wid;
	msg.type = WIRE_STATUS;
	wire_status_build(pkt->data, &msg, &status, WIRE_PAD);
	pkt->len = net_seal(msg.sealed, pkt->data, WIRE_PAD);
	pkt->verdict = PIPE_REPLY;
	return true;
}

/* The address of the member whose rank the packet names, whatever its own is. */
static void mutant_stranger(const struct world *w, unsigned n, struct pipe_pkt *pkt)
{
	const struct job *job;
	struct wire_msg msg;

	if (wire_parse(&msg, pkt->data, pkt->len) != WIRE_OK || msg.type != WIRE_DATA)
		return;
	job = job_of(w, n, msg.job);
	if (job && msg.wid < job->nr_members)
		pkt->flow = job->members[msg.wid].flow;
}

void mutant_seal(struct packet *p)
{
	if (p->flipped && (p->data[WIRE_OFF_TYPE] & 15) <= WIRE_RESULT)
		wire_seal(p->data, p->len - WIRE_HEADER - WIRE_CRC);
}

bool mutant_switch(struct world *w, unsigned n, struct pipe_pkt *pkt)
{
	struct standin *standin = w->standin;
	struct standin_cell *pair;
	struct wire_msg msg;

	if (w->mutant == MUTANT_LEAVE)
		return mutant_leave(w, n, pkt);
	if (w->mutant == MUTANT_SEAL_NOT)
		mutant_seal(pkt->cookie);
	if (w->mutant == MUTANT_STRANGER)
		mutant_stranger(w, n, pkt);
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
