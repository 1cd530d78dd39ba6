// SPDX-License-Identifier: BSD-3-Clause
// row.c - the operations of a job: all forms and kinds, at and around every boundary there is.
#include "tests/sim/sim.h"

enum { MANY = 8 }; /* ranks, above which a row is short */

struct kind {
	uint8_t form, kind, width, nr;
	uint8_t dtype[3], op[2];
};

static const struct kind kinds[] = {
	{ COLL_OPEN, 0, 0, 1, { WIRE_F32, WIRE_F16, WIRE_I32 }, { WIRE_SUM, WIRE_MAX } },
	{ COLL_FLOAT, WIRE_ADD32, 4, 2, { WIRE_F32, WIRE_F32, WIRE_F32 }, { WIRE_SUM, WIRE_AVG } },
	{ COLL_RAW, WIRE_ADD32, 4, 1, { WIRE_I32, WIRE_F16, WIRE_BF16 }, { WIRE_SUM, WIRE_SUM } },
	{ COLL_RAW, WIRE_ADD32SAT, 4, 1, { WIRE_I32, WIRE_I32, WIRE_I32 }, { WIRE_SUM, WIRE_SUM } },
	{ COLL_FLOAT, WIRE_ADD16, 2, 2, { WIRE_F16, WIRE_BF16, WIRE_F32 }, { WIRE_SUM, WIRE_AVG } },
	{ COLL_RAW, WIRE_MAX32, 4, 1, { WIRE_F32, WIRE_I32, WIRE_BF16 }, { WIRE_MAX, WIRE_MIN } },
};

/* Elements of a data chunk. */
static uint32_t row_per(const struct sim_job *job, const struct work *work)
{
	return work->width ? job->p / work->width : 1U;
}

/* Whether CLOSE follows its data. */
static bool row_closes(const struct sim_job *job, const struct work *work)
{
	return job->check && work->count && (work->kind == WIRE_ADD32 || work->kind == WIRE_ADD16);
}

/* Contributions and results, if nothing is lost, on all links. */
static unsigned row_packets(const struct world *w, const struct sim_job *job,
			    const struct work *work)
{
	uint32_t per = row_per(job, work);

	return 2U * (job->world + w->nr_switches - 1) *
	       (1 + (work->count + per - 1) / per + row_closes(job, work));
}

unsigned row_all(const struct world *w, const struct sim_job *job)
{
	unsigned packets = 0;

	for (unsigned op = 0; op < job->nr_ops; op++)
		packets += row_packets(w, job, &job->work[op]);
	return packets;
}

/* One more or less than, or exactly, n: that is where things go wrong. */
static uint32_t row_near(struct world *w, uint32_t n)
{
	return n + sim_draw(w, 3) - (n > 0);
}

static uint32_t row_count(struct world *w, const struct sim_job *job, const struct work *work)
{
	static const uint16_t sizes[] = { 1,  31,  32,	33,  63,  64,  65,  96,
					  97, 127, 128, 255, 256, 257, 300, 513 };
	uint32_t per = row_per(job, work);

	switch (sim_draw(w, 8)) {
	case 0:
		return sim_draw(w, 2);
	case 1: /* the lane begins anew in the middle of it */
		return row_near(w, (job->slots * (1 + sim_draw(w, 4)) + sim_draw(w, 2)) * per);
	case 2:
	case 3: /* chunks */
		return row_near(w, (1 + sim_draw(w, 4)) * per);
	case 4: /* blocks, which have an exponent each */
		return row_near(w, (1 + sim_draw(w, 3)) * 256);
	default:
		return sizes[sim_draw(w, 16)];
	}
}

static struct work row_work(struct world *w, const struct sim_job *job, bool tiny)
{
	const struct kind *kind = &kinds[sim_draw(w, tiny ? 3 : 6)];
	struct work work = { .form = kind->form,
			     .kind = kind->kind,
			     .width = kind->width,
			     .dtype = kind->dtype[sim_draw(w, 3)],
			     .op = kind->op[sim_draw(w, 2)] };

	if (work.form == COLL_OPEN)
		return work;
	work.count = tiny ? 1 + sim_draw(w, row_per(job, &work)) : row_count(w, job, &work);
	return work;
}

/* One that ends at, or a little behind, the end of its first segment. */
static struct work row_segments(struct world *w, const struct sim_job *job)
{
	static const uint32_t more[] = { 0, 1, 31, 32, 33, 299 };

	const bool narrow = job->seed & 1;

	return (struct work){ .form = COLL_FLOAT,
			      .kind = narrow ? WIRE_ADD16 : WIRE_ADD32,
			      .width = narrow ? 2 : 4,
			      .dtype = WIRE_F32,
			      .op = WIRE_SUM,
			      .count = 128U * job->p - 1 + draw_coin(w, 4) + more[sim_draw(w, 6)] };
}

void row_draw(struct world *w, struct sim_job *job, unsigned packets, bool big)
{
	bool tiny = draw_coin(w, 5);
	bool tree = w->nr_switches > 1;
	unsigned least = job->world > MANY ? 1 + sim_draw(w, tree && job->world > SIM_CROWD ? 1 : 2)
					   : 1;
	unsigned used = 0;
	unsigned most = tiny ? SIM_OPS : 1 + sim_draw(w, 24);

	job->nr_ops = 0;
	if (big)
		job->work[job->nr_ops++] = row_segments(w, job);
	while (job->nr_ops < (big ? 1 : most)) {
		struct work work = row_work(w, job, tiny);

		if (job->nr_ops >= least && used + row_packets(w, job, &work) > packets)
			break;
		/* Of many ranks even one operation is many packets. */
		if (row_packets(w, job, &work) > packets)
			work.count = work.count ? row_near(w, row_per(job, &work)) : 0;
		used += row_packets(w, job, &work);
		job->work[job->nr_ops++] = work;
	}
}
