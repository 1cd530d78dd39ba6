// SPDX-License-Identifier: BSD-3-Clause
// check.c - what every rank contributes, and whether what comes back is right, by naive loops.
//
// Contributions differ by rank, life, epoch, operation and element, so that whatever is added
// twice, left out, or taken from another epoch changes the sum.
#include "tests/sim/sim.h"

#include <string.h>

#include "proto/print.h"
#include "tests/sim/mutant.h"
#include "tests/sums.h"

enum { MARK = 32, BLOCK = 256 };

static uint32_t mix32(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x7feb352d);
	x ^= x >> 15;
	x *= UINT32_C(0x846ca68b);
	return x ^ x >> 16;
}

/* What a rank's salt makes of consecutive elements: all different, and no sum of them looks like one. */
static void elements(const struct sim_job *job, const struct piece *row, uint32_t salt,
		     uint32_t *out)
{
	const unsigned kind = job->work[row->op].kind;
	const bool floats = job->work[row->op].form == COLL_FLOAT;
	const uint32_t step = UINT32_C(0x9e3779b1);
	uint32_t next = mix32(salt + row->op * step) + row->first * step;
	uint32_t sign = 0;
	unsigned shift = 0;

	if (kind == WIRE_ADD32SAT) { /* of one sign, since the order of additions is not known */
		shift = row->op % 2 ? 1 : 5;
		sign = row->op % 4 < 2 ? 0 : ~UINT32_C(0);
	}
	for (uint32_t i = 0; i < row->count; i++, next += step) {
		uint32_t x = next ^ next >> 15;

		x += x << 7;
		out[i] = (x ^ x >> 12) >> shift ^ sign;
	}
	/* With CHECK as hosts do, so that no sum of floats of 64 ranks wraps; else it may. */
	for (uint32_t i = 0; kind == WIRE_ADD16 && i < row->count; i++)
		out[i] = job->check ? (out[i] >> 22) - 512 : out[i] >> 16;
	for (uint32_t i = 0; kind == WIRE_ADD32 && floats && job->check && i < row->count; i++)
		out[i] = (out[i] >> 6) - (UINT32_C(1) << 25);
}

static uint8_t exponent(uint32_t salt, unsigned op, uint32_t block)
{
	return (uint8_t)mix32(salt + op * UINT32_C(0x9e3779b1) + (block << 16) + 7);
}

/* Whether the rank has a value that is no number in the segment. */
static bool nonfinite(uint32_t salt, unsigned op, uint32_t first)
{
	return mix32(salt + op + first + 99) % 8 == 0;
}

/* --- Epochs ----------------------------------------------------------------------------------- */

static struct epoch *epoch_find(struct world *w, uint64_t epoch)
{
	unsigned kept = w->nr_epochs < SIM_EPOCHS ? w->nr_epochs : SIM_EPOCHS;

	for (unsigned i = 0; i < kept; i++)
		if (w->epochs[i].epoch == epoch)
			return &w->epochs[i];
	return NULL;
}

void check_enter(struct world *w, const struct sim_job *job, unsigned r)
{
	struct rank *rank = &w->job[job->index].rank[r];
	uint64_t number = rank->session.epoch;
	struct epoch *epoch = epoch_find(w, number);

	if (!epoch) {
		epoch = &w->epochs[w->nr_epochs++ % SIM_EPOCHS];
		*epoch = (struct epoch){ .epoch = number,
					 .job = job->index,
					 .nr_ops = w->closing ? 0 : job->nr_ops };
	}
	if (epoch->job != job->index)
		sim_fail(w, BY_EPOCH, "epoch %lu is given to %s and to %s", (unsigned long)number,
			 w->job[epoch->job].name, job->name);
	if (epoch->rank[r].entered)
		sim_fail(w, BY_EPOCH, "%s rank %u enters epoch %lu twice", job->name, r,
			 (unsigned long)number);
	/* With a clock that was set back nobody but a rank of before can know better. */
	if (w->seen[SEEN_CLOCK_BACK] && rank->last_life != rank->life)
		rank->last_epoch = 0;
	rank->last_life = rank->life;
	if (number <= rank->last_epoch)
		sim_fail(w, BY_EPOCH, "%s rank %u enters epoch %lu after %lu", job->name, r,
			 (unsigned long)number, (unsigned long)rank->last_epoch);
	rank->last_epoch = number;
	rank->epoch = epoch;
	epoch->rank[r] = (struct entry){
		.entered = true,
		.deviant = rank->deviant && job->deviance == DEVIANT_OP,
		.life = rank->life,
		.salt = (uint32_t)sim_mix(job->seed + number * 64 + r +
					  ((uint64_t)rank->life << 48)),
	};
}

/* --- Contributions ---------------------------------------------------------------------------- */

static void put(uint8_t *at, const uint32_t *values, uint32_t nr, unsigned kind)
{
	uint32_t i = 0;

	if (kind == WIRE_ADD16) {
		for (; i < nr; i++)
			wire_put16(at + 2 * i, (uint16_t)values[i]);
		return;
	}
	/* Four at a time: runs spend much of their time here. */
	for (; i + 4 <= nr && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__; i += 4) {
		uint32_t v __attribute__((vector_size(16)));

		memcpy(&v, values + i, sizeof(v));
		v = (v & 0xff00ff00U) >> 8 | (v & 0x00ff00ffU) << 8;
		v = v >> 16 | v << 16;
		memcpy(at + 4 * i, &v, sizeof(v));
	}
	for (; i < nr; i++)
		wire_put32(at + 4 * i, values[i]);
}

void check_fill(const struct world *w, const struct sim_job *job, unsigned r, unsigned op,
		const struct coll_chunk *c, uint8_t *payload)
{
	const struct rank *rank = &job->rank[r];
	const struct piece row = { .op = op, .first = (uint32_t)c->first, .count = c->count };
	uint32_t salt = rank->epoch->rank[r].salt, width = c->kind == WIRE_ADD16 ? 2 : 4;
	uint32_t values[SIM_P / 2];

	if (w->mutant && !c->fresh)
		salt += mutant_salt(w);
	elements(job, &row, salt, values);
	put(payload, values, c->count, c->kind);
	memset(payload + c->count * width, 0, c->len - c->count * width);
}

void check_exponents(struct world *w, const struct sim_job *job, unsigned r, unsigned op,
		     const struct coll_chunk *c)
{
	uint32_t salt = job->rank[r].epoch->rank[r].salt;

	(void)w;
	for (uint32_t b = 0; b * BLOCK < c->count; b++)
		c->e[WIRE_E_EXP + b] = exponent(salt, op, (uint32_t)c->first / BLOCK + b);
	if (c->count && nonfinite(salt, op, (uint32_t)c->first))
		c->e[WIRE_E_ORIGIN + r / 255] = (uint8_t)(255 - r % 255);
}

/* --- Results ---------------------------------------------------------------------------------- */

static void fold(uint32_t *sums, const uint32_t *values, unsigned kind, struct expected *e)
{
	bool saturated = false;

	for (uint32_t i = 0; i < e->piece.count; i++)
		sums[i] = sums_add(kind, sums[i], values[i], &saturated);
	if (saturated)
		e->flags = WIRE_SATURATED;
}

/* All ranks of the epoch must be known: the sum needs them all. */
static void members_check(struct world *w, const struct sim_job *job, const struct epoch *epoch,
			  unsigned op)
{
	/* An operation without data holds up nobody else's. */
	bool held = op == job->deviant_op ||
		    (op > job->deviant_op && job->work[job->deviant_op].count);

	for (unsigned r = 0; r < job->world; r++) {
		if (!epoch->rank[r].entered)
			sim_fail(w, BY_MEMBER,
				 "%s: a result of epoch %lu, which rank %u never entered",
				 job->name, (unsigned long)epoch->epoch, r);
		if (epoch->rank[r].deviant && held)
			sim_fail(w, BY_MEMBER,
				 "%s: a result of operation %u, about which rank %u differs",
				 job->name, op, r);
	}
}

static void expect(struct world *w, const struct sim_job *job, const struct epoch *epoch,
		   struct expected *e)
{
	unsigned kind = job->work[e->piece.op].kind;
	uint32_t sums[SIM_P / 2], values[SIM_P / 2];

	members_check(w, job, epoch, e->piece.op);
	e->flags = 0;
	elements(job, &e->piece, epoch->rank[0].salt, sums);
	for (unsigned r = 1; r < job->world; r++) {
		elements(job, &e->piece, epoch->rank[r].salt, values);
		fold(sums, values, kind, e);
	}
	put(e->bytes, sums, e->piece.count, kind);
}

/* What was computed for one rank is kept for the others. */
static const struct expected *expected(struct world *w, const struct sim_job *job,
				       const struct epoch *epoch, unsigned op,
				       const struct coll_chunk *c)
{
	const struct piece piece = { .op = op, .first = (uint32_t)c->first, .count = c->count };
	struct expected *e =
		&w->expected[(piece.first / MARK + op * 37 + job->index * 85) % SIM_EXPECTED];

	if (e->run == w->run && e->epoch == epoch->epoch && e->job == job->index &&
	    memcmp(&e->piece, &piece, sizeof(piece)) == 0)
		return e;
	e->run = w->run;
	e->epoch = epoch->epoch;
	e->job = job->index;
	e->piece = piece;
	expect(w, job, epoch, e);
	return e;
}

static void mark(struct world *w, const struct sim_job *job, unsigned r, unsigned op,
		 uint32_t first)
{
	struct mark *mark = &w->marks[job->index][r][op % COLL_OPS];
	uint32_t bit = first / MARK;

	if (bit / 64 >= SIM_MARKS || first % MARK)
		sim_fail(w, BY_DELIVERY, "%s rank %u: a chunk at element %u", job->name, r, first);
	if (mark->bits[bit / 64] >> bit % 64 & 1)
		sim_fail(w, BY_DELIVERY, "%s rank %u: operation %u element %u is delivered twice",
			 job->name, r, op, first);
	mark->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	mark->nr++;
}

void check_spoilt(struct world *w, struct sim_job *job, unsigned r, unsigned op,
		  const struct coll_chunk *c)
{
	if (w->spoilt.epoch == job->rank[r].epoch->epoch && w->spoilt.slot == c->slot &&
	    w->spoilt.round == c->round)
		w->marks[job->index][r][op % COLL_OPS].spoilt = true;
}

/* If it was in the spoilt cell, CLOSE has to find it. */
static void wrong_sum(struct world *w, const struct sim_job *job, unsigned r, unsigned op,
		      const struct coll_chunk *c)
{
	struct mark *mark = &w->marks[job->index][r][op % COLL_OPS];
	unsigned long epoch = job->rank[r].epoch->epoch;

	if (w->spoilt.epoch != epoch || w->spoilt.slot != c->slot || w->spoilt.round != c->round)
		sim_fail(w, BY_SUM,
			 "%s rank %u: wrong sum, epoch %lu operation %u, elements from %lu",
			 job->name, r, epoch, op, (unsigned long)c->first);
	mark->wrong = true;
}

static uint8_t agreed(const struct sim_job *job, const struct epoch *epoch, unsigned op,
		      uint32_t block)
{
	uint8_t max = 0;

	for (unsigned i = 0; i < job->world; i++) {
		uint8_t e = exponent(epoch->rank[i].salt, op, block);

		max = e > max ? e : max;
	}
	return max;
}

/* What is delivered with the exponent of another block is another number. */
static void scale_check(struct world *w, const struct sim_job *job, unsigned op,
			const struct coll_chunk *c, const struct epoch *epoch)
{
	uint32_t block = (uint32_t)c->first / BLOCK;

	if (job->work[op].form == COLL_FLOAT && *c->e != agreed(job, epoch, op, block))
		sim_fail(w, BY_EXPONENT,
			 "%s: operation %u element %lu is scaled by another block's exponent",
			 job->name, op, (unsigned long)c->first);
}

void check_data(struct world *w, struct sim_job *job, unsigned r, unsigned op,
		const struct coll_chunk *c, const uint8_t *payload)
{
	const struct epoch *epoch = job->rank[r].epoch;
	const struct expected *e;
	size_t len;

	if (op >= job->nr_ops || c->first + c->count > job->work[op].count)
		sim_fail(w, BY_DELIVERY, "%s rank %u: a result of operation %u element %lu",
			 job->name, r, op, (unsigned long)c->first);
	e = expected(w, job, epoch, op, c);
	len = (size_t)c->count * job->work[op].width;
	if (memcmp(payload, e->bytes, len) != 0)
		wrong_sum(w, job, r, op, c);
	scale_check(w, job, op, c, epoch);
	if (c->flags != e->flags)
		sim_fail(w, BY_SUM, "%s rank %u: operation %u has flags %x instead of %x",
			 job->name, r, op, c->flags, e->flags);
	mark(w, job, r, op, e->piece.first);
	w->seen[SEEN_SATURATED] |= e->flags != 0;
	w->checked += c->count;
}

void check_agreed(struct world *w, struct sim_job *job, unsigned r, unsigned op,
		  const struct coll_chunk *c)
{
	const struct epoch *epoch = job->rank[r].epoch;
	uint8_t origin[WIRE_E_ORIGIN_LEN] = { 0 };

	if (op >= job->nr_ops)
		sim_fail(w, BY_DELIVERY, "%s rank %u: exponents of operation %u", job->name, r, op);
	for (unsigned i = 0; i < job->world; i++)
		if (epoch->rank[i].deviant && op == job->deviant_op)
			sim_fail(w, BY_MEMBER,
				 "%s rank %u: operation %u is agreed, and rank %u differs",
				 job->name, r, op, i);
	for (uint32_t b = 0; b * BLOCK < c->count; b++) {
		uint32_t block = (uint32_t)c->first / BLOCK + b;
		uint8_t max = agreed(job, epoch, op, block);

		if (c->e[WIRE_E_EXP + b] != max)
			sim_fail(w, BY_EXPONENT,
				 "%s rank %u: wrong exponent, operation %u block %u: %u, not %u",
				 job->name, r, op, block, c->e[WIRE_E_EXP + b], max);
	}
	for (unsigned i = job->world; c->count && i-- > 0;)
		if (nonfinite(epoch->rank[i].salt, op, (uint32_t)c->first))
			origin[0] = (uint8_t)(255 - i);
	w->seen[SEEN_ORIGIN] |= origin[0] != 0;
	if (c->count && memcmp(c->e + WIRE_E_ORIGIN, origin, sizeof(origin)) != 0)
		sim_fail(w, BY_EXPONENT, "%s rank %u: operation %u names another rank's NaN",
			 job->name, r, op);
	w->checked++;
}

/* Every chunk of the operation was delivered, once. */
void check_finished(struct world *w, struct sim_job *job, unsigned r)
{
	const struct rank *rank = &job->rank[r];
	const struct work *work = &job->work[rank->finished];
	uint32_t p = session_status(&rank->session)->p, per;
	uint32_t nr = w->marks[job->index][r][rank->finished % COLL_OPS].nr;

	per = work->width ? p / work->width : 1;
	if (nr != (work->count + per - 1) / per)
		sim_fail(w, BY_DELIVERY, "%s rank %u: operation %u ends after %u of %u chunks",
			 job->name, r, rank->finished, nr, (work->count + per - 1) / per);
}

void check_verdict(struct world *w, struct sim_job *job, unsigned r, bool verified)
{
	unsigned op = job->rank[r].finished;
	const struct mark *mark = &w->marks[job->index][r][op % COLL_OPS];

	if (verified && mark->wrong)
		sim_fail(w, BY_SUM, "%s rank %u: operation %u is wrong, and CLOSE has verified it",
			 job->name, r, op);
	if (!verified && !mark->spoilt)
		sim_fail(w, BY_SUM,
			 "%s rank %u: CLOSE does not verify operation %u, which is right",
			 job->name, r, op);
	w->seen[SEEN_CLOSED] |= verified && job->work[op].kind == WIRE_ADD32 && mark->nr;
	w->seen[SEEN_CLOSED16] |= verified && job->work[op].kind == WIRE_ADD16 && mark->nr;
}

/* --- Blame ------------------------------------------------------------------------------------ */

/* Whether the rank is meant by that name: a switch speaks for those below it by its first. */
static bool blame_means(const struct world *w, const struct sim_job *job, unsigned r, unsigned wid)
{
	if (r == wid)
		return true;
	for (unsigned n = 1; n < w->nr_switches; n++) {
		struct wire_range range = job->below[n];

		if (range.nr && wid == range.first && r - range.first < range.nr)
			return true;
	}
	return false;
}

/* A leaf finds that a rank of its is not there when the epoch begins, whatever the reason is. */
static bool blamed_restart(const struct world *w, const struct sim_job *job, unsigned wid)
{
	for (unsigned r = 0; r < job->world; r++) {
		const struct rank *rank = &job->rank[r];
		bool gone = w->nr_switches > 1 && (rank->blamed_gone || rank->blamed_left);

		if ((rank->blamed_restart || gone) && blame_means(w, job, r, wid))
			return true;
	}
	return job->deviant != SIM_NONE && job->deviance != DEVIANT_OP;
}

/* What a rank's broken process has asked for. */
static bool blamed_broken(const struct world *w, const struct sim_job *job, unsigned wid)
{
	for (unsigned r = 0; r < job->world; r++)
		if (job->rank[r].blamed_broken && blame_means(w, job, r, wid))
			return true;
	return false;
}

static bool blamed_rounds(const struct sim_job *job)
{
	for (unsigned r = 0; r < job->world; r++)
		if (job->rank[r].blamed_rounds)
			return true;
	return false;
}

/* That very epoch. */
static bool blamed_abort(const struct rank *rank, uint64_t epoch)
{
	for (unsigned i = 0; i < SIM_ABORTS; i++)
		if (rank->aborted[i] == epoch)
			return true;
	return false;
}

/* Whether a rank that is named did what is said of it. */
static bool blame_is_right(const struct world *w, const struct sim_job *job,
			   const struct wire_status *st)
{
	const struct rank *culprit = &job->rank[st->wid_a < job->world ? st->wid_a : 0];

	if (st->cause == WIRE_CAUSE_RESET)
		return job->blamed_reset;
	if (st->cause == WIRE_CAUSE_ROUNDS)
		return blamed_rounds(job);
	if (st->cause == WIRE_CAUSE_PROTOCOL)
		return w->switch_crashed || blamed_broken(w, job, st->wid_a);
	if (st->cause == WIRE_CAUSE_MISMATCH &&
	    (blamed_broken(w, job, st->wid_a) || blamed_broken(w, job, st->wid_b)))
		return true;
	if (st->wid_a >= job->world)
		return false;
	switch ((enum wire_cause)st->cause) {
	case WIRE_CAUSE_RESTARTED:
		return blamed_restart(w, job, st->wid_a);
	case WIRE_CAUSE_ABORTED:
		return blamed_abort(culprit, st->ended);
	case WIRE_CAUSE_LEFT:
		return culprit->blamed_left;
	case WIRE_CAUSE_GONE:
		return culprit->blamed_gone;
	case WIRE_CAUSE_MISMATCH:
		return job->deviance == DEVIANT_OP &&
		       (job->deviant == st->wid_a || job->deviant == st->wid_b);
	case WIRE_CAUSE_CORRUPTED:
		return culprit->corrupted == st->ended;
	case WIRE_CAUSE_NONE:
	case WIRE_CAUSE_PROTOCOL:
	case WIRE_CAUSE_ROUNDS:
	case WIRE_CAUSE_RESET:
	case WIRE_CAUSE_PARAMETERS:
	case WIRE_CAUSE_DUPLICATE_RANK:
	case WIRE_CAUSE_NO_SLOTS:
	case WIRE_CAUSE_VERSION:
	case WIRE_CAUSE_SILENT: /* nobody waits that long */
	case WIRE_CAUSE_DEVICE: /* nobody has one */
		break;
	}
	return false;
}

static void blame_seen(struct world *w, uint8_t cause)
{
	static const uint8_t kinds[] = { [WIRE_CAUSE_RESTARTED] = SEEN_OVER_RESTARTED,
					 [WIRE_CAUSE_MISMATCH] = SEEN_OVER_MISMATCH,
					 [WIRE_CAUSE_ABORTED] = SEEN_OVER_ABORTED,
					 [WIRE_CAUSE_LEFT] = SEEN_OVER_LEFT,
					 [WIRE_CAUSE_PROTOCOL] = SEEN_OVER_PROTOCOL,
					 [WIRE_CAUSE_ROUNDS] = SEEN_OVER_ROUNDS,
					 [WIRE_CAUSE_RESET] = SEEN_OVER_RESET,
					 [WIRE_CAUSE_GONE] = SEEN_OVER_GONE,
					 [WIRE_CAUSE_CORRUPTED] = SEEN_OVER_CORRUPTED };

	if (cause < sizeof(kinds) && cause != WIRE_CAUSE_NONE && kinds[cause])
		w->seen[kinds[cause]] = true;
}

void check_blame(struct world *w, struct sim_job *job, unsigned r, const struct wire_status *status)
{
	struct wire_status st = *status;
	/* A leaf that restarts speaks for its ranks. */
	bool leaf = w->nr_switches > 1 && w->switch_crashed;

	if (w->mutant && mutant_blames(w))
		st.cause = WIRE_CAUSE_ABORTED;
	if (st.cause == WIRE_CAUSE_NONE)
		return;
	blame_seen(w, st.cause);
	if (!blame_is_right(w, job, &st) && !leaf)
		sim_fail(w, BY_BLAME,
			 "%s rank %u: its epoch is over, %s, rank %u: but that is not so",
			 job->name, r, print_cause(st.cause), st.wid_a);
	if (st.cause != WIRE_CAUSE_MISMATCH)
		return;
	job->mismatches++;
	w->seen[SEEN_OP_DIFFERS] |= job->deviant != SIM_NONE && job->deviance == DEVIANT_OP;
	if (job->deviant == r)
		job->rank[r].deviant = false;
}
