// SPDX-License-Identifier: BSD-3-Clause
// seen.c - what has happened in a run.
#include "tests/sim/seen.h"

#include "tests/sim/sim.h"

const char *const seen_names[SEEN_NR] = {
#define X(name, text) [SEEN_##name] = (text),
	SEEN_MAP(X)
#undef X
};

static void seen_way(struct world *w, const struct way *way, bool between)
{
	static const uint8_t kinds[] = { [LOST_CHANCE] = SEEN_LOSS,
					 [LOST_BURST] = SEEN_BURST,
					 [LOST_CUT] = SEEN_CUT,
					 [LOST_QUEUE] = SEEN_QUEUE };
	bool lost = false;

	for (unsigned l = 0; l < LOST_ROOM; l++) {
		w->seen[kinds[l]] |= way->lost[l] > 0;
		lost = lost || way->lost[l];
	}
	w->seen[SEEN_LINK_SWITCH] |= lost && between;
	w->seen[SEEN_DUP] |= way->duped > 0;
	w->seen[SEEN_REORDER] |= way->reordered > 0;
	w->seen[SEEN_JITTER] |= way->delayed > 0;
}

static void seen_nodes(struct world *w)
{
	for (unsigned i = 0; i < w->nr_links; i++) {
		bool between = w->node[w->link[i][0]].kind == NODE_SWITCH;

		seen_way(w, &w->way[2 * i], between);
		seen_way(w, &w->way[2 * i + 1], between);
	}
	for (unsigned n = 0; n < w->nr_nodes; n++) {
		w->seen[SEEN_CORRUPT] |= w->node[n].bad_checksum > 0;
		w->seen[SEEN_INBOX] |= w->node[n].full > 0;
		w->seen[SEEN_SLOW] |= w->node[n].kind == NODE_HOST &&
				      w->node[n].service_ns > 100 * SIM_US;
	}
}

static void seen_work(struct world *w, const struct sim_job *job)
{
	static const uint8_t kinds[] = { [WIRE_ADD32] = SEEN_ADD32,
					 [WIRE_ADD32SAT] = SEEN_ADD32SAT,
					 [WIRE_ADD16] = SEEN_ADD16,
					 [WIRE_MAX32] = SEEN_MAX32 };
	uint32_t chunks = 0;

	for (unsigned op = 0; op < job->nr_ops; op++) {
		const struct work *work = &job->work[op];

		if (work->form == COLL_OPEN) {
			w->seen[SEEN_BARRIER] = true;
			continue;
		}
		w->seen[SEEN_FLOAT] |= work->form == COLL_FLOAT;
		if (work->form != COLL_FLOAT || work->kind != WIRE_ADD32)
			w->seen[kinds[work->kind]] = true;
		w->seen[SEEN_EMPTY_OP] |= work->count == 0;
		w->seen[SEEN_SEGMENTS] |= work->form == COLL_FLOAT && work->count > 128U * job->p;
		chunks += (work->count * work->width + job->p - 1) / job->p;
	}
	w->seen[SEEN_D_WRAPS] |= chunks > job->slots;
	w->seen[SEEN_E_WRAPS] |= job->nr_ops > WIRE_SE;
	w->seen[SEEN_OPS_MANY] |= job->nr_ops > COLL_OPS;
}

static void seen_job(struct world *w, const struct sim_job *job)
{
	unsigned world = job->world;

	w->seen[SEEN_RANKS_1] |= world == 1;
	w->seen[SEEN_RANKS_2] |= world > 1 && world < 9;
	w->seen[SEEN_RANKS_9] |= world > 8 && world < 32;
	w->seen[SEEN_RANKS_32] |= world > 31 && world < 64;
	w->seen[SEEN_RANKS_64] |= world == 64;
	w->seen[SEEN_CHECK] |= job->check;
	w->seen[SEEN_S_1] |= job->slots == 1;
	w->seen[SEEN_S_SMALL] |= job->slots > 1 && job->slots < 5;
	for (unsigned r = 0; r < world; r++) {
		w->seen[SEEN_S_DIFFERS] |= job->want_slots[r] != job->slots;
		w->seen[SEEN_P_DIFFERS] |= job->want_p[r] != job->p;
	}
	seen_work(w, job);
}

void seen_collect(struct world *w)
{
	seen_nodes(w);
	for (unsigned j = 0; j < w->nr_jobs; j++)
		seen_job(w, &w->job[j]);
	w->seen[SEEN_JOBS] |= w->nr_jobs > 1;
	w->seen[SEEN_DEPTH_2] |= w->depth == 2;
	w->seen[SEEN_DEPTH_3] |= w->depth == 3;
	w->seen[SEEN_STRICT] |= w->node[0].params.strict_ports;
}
