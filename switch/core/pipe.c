// SPDX-License-Identifier: BSD-3-Clause
/* pipe.c - the switch's machine: memory, bursts, dispatch, counters. */
#include "switch/core/pipe.h"

#include <string.h>

#include "switch/core/agg.h"

enum { PIPE_ALIGN = 64, PIPE_JOBS_MAX = 4096, PIPE_SLOTS_MAX = 1 << 24 };

/* Where things lie behind struct pipe, in bytes from its start. */
struct pipe_layout {
	size_t slots, jobs, keys, by_handle, by_parent, leases, values, total;
};

static size_t pipe_place(size_t *at, size_t bytes)
{
	size_t here = *at;

	*at = (here + bytes + PIPE_ALIGN - 1) / PIPE_ALIGN * PIPE_ALIGN;
	return here;
}

static bool pipe_params_valid(const struct pipe_params *params)
{
	if (params->jobs_max < 1 || params->jobs_max > PIPE_JOBS_MAX)
		return false;
	if (params->slots_max <= WIRE_SE || params->slots_max > PIPE_SLOTS_MAX)
		return false;
	if (params->values_bytes > SIZE_MAX / 2 || (params->leaf && params->parent_from == 0))
		return false;
	return params->p_max >= WIRE_P_MIN && params->p_max <= WIRE_P_MAX &&
	       params->p_max % WIRE_P_MIN == 0 && params->p_check <= params->p_max &&
	       params->p_check % WIRE_P_MIN == 0;
}

static struct pipe_layout pipe_layout(const struct pipe_params *params)
{
	struct pipe_layout layout = { .total = 0 };
	size_t *at = &layout.total;

	pipe_place(at, sizeof(struct pipe));
	layout.slots = pipe_place(at, params->slots_max * sizeof(struct slot));
	layout.jobs = pipe_place(at, params->jobs_max * sizeof(struct job));
	layout.keys = pipe_place(at, params->jobs_max * sizeof(uint64_t));
	layout.by_handle = pipe_place(at, JOB_HANDLES * sizeof(uint16_t));
	layout.by_parent = pipe_place(at, params->leaf ? JOB_HANDLES * sizeof(uint16_t) : 0);
	layout.leases = pipe_place(at, 2 * params->jobs_max * sizeof(struct lease));
	layout.values = pipe_place(at, params->values_bytes);
	return layout;
}

size_t pipe_size(const struct pipe_params *params)
{
	return pipe_params_valid(params) ? pipe_layout(params).total : 0;
}

static void pipe_init_table(struct job_table *table, uint8_t *mem, const struct pipe_layout *layout,
			    const struct pipe_params *params)
{
	struct lease *leases = (void *)(mem + layout->leases);

	*table = (struct job_table){
		.jobs = (void *)(mem + layout->jobs),
		.keys = (void *)(mem + layout->keys),
		.by_handle = (void *)(mem + layout->by_handle),
		.by_parent = params->leaf ? (void *)(mem + layout->by_parent) : NULL,
		.jobs_max = params->jobs_max,
		.slots = {
			.leases = leases,
			.max = params->jobs_max,
			.total = params->slots_max,
		},
		.values = {
			.leases = leases + params->jobs_max,
			.max = params->jobs_max,
			.total = params->values_bytes / JOB_VALUES,
		},
	};
}

struct pipe *pipe_init(void *mem, const struct pipe_params *params, const struct pipe_time *boot)
{
	struct pipe *pipe = mem;
	const struct add_ops *ops = add_select(params->add);
	struct pipe_layout layout;

	if (!pipe_params_valid(params) || !ops)
		return NULL;
	layout = pipe_layout(params);
	pipe_init_table(&pipe->agg.table, mem, &layout, params);
	pipe->agg.slots = (void *)((uint8_t *)mem + layout.slots);
	pipe->agg.values = (uint8_t *)mem + layout.values;
	pipe->agg.ops = ops;
	pipe->agg.boot_ns = boot->now_ns;
	pipe->agg.p_max = params->p_max;
	pipe->agg.p_check = params->p_check ? params->p_check : params->p_max;
	pipe->agg.strict_ports = params->strict_ports;
	pipe->agg.parent = (struct agg_parent){
		.here = params->leaf,
		.from = params->parent_from,
		.inc = params->inc,
	};
	return pipe;
}

static enum counter pipe_refuse(struct pipe *pipe, struct agg_in *in, enum wire_error error)
{
	struct wire_msg msg = { .type = in->msg.type };

	if (error != WIRE_BAD_VERSION || msg.type != WIRE_JOIN)
		return agg_wire_error(error);
	/* No more than this is known of a message of another version. */
	msg.job = in->msg.job;
	msg.epoch = in->msg.epoch;
	msg.wid = in->msg.wid;
	msg.len = in->msg.len;
	msg.sealed = in->msg.sealed;
	in->msg = msg;
	return agg_version(&pipe->agg, in);
}

static bool pipe_is_parent(const struct agg *agg, const struct agg_in *in)
{
	const struct flow *parent = &agg->parent.flow, *flow = &in->pkt->flow;

	return agg->parent.here && memcmp(flow, parent, sizeof(*flow)) == 0;
}

static enum counter pipe_input_one(struct pipe *pipe, struct agg_in *in)
{
	struct agg *agg = &pipe->agg;
	enum wire_error error = wire_parse(&in->msg, in->pkt->data, in->pkt->len);

	if (error != WIRE_OK)
		return pipe_refuse(pipe, in, error);
	switch ((enum wire_type)in->msg.type) {
	case WIRE_DATA:
		return agg_data(agg, in);
	case WIRE_JOIN:
		return agg_join(agg, in);
	case WIRE_END:
		return agg_end(agg, in);
	case WIRE_LEAVE:
		return agg_leave(agg, in);
	case WIRE_KEEPALIVE:
		return agg_keepalive(agg, in);
	case WIRE_RESULT:
		return pipe_is_parent(agg, in) ? agg_up_result(agg, in) : COUNTER_bad_direction;
	case WIRE_STATUS:
		break;
	}
	return pipe_is_parent(agg, in) ? agg_up_status(agg, in) : COUNTER_bad_direction;
}

void pipe_set_parent(struct pipe *pipe, const struct flow *parent)
{
	pipe->agg.parent.flow = *parent;
}

void pipe_input(struct pipe *pipe, struct pipe_pkt *pkts, unsigned nr, const struct pipe_time *now)
{
	struct agg_in in = { .now = now };

	for (unsigned i = 0; i < nr; i++) {
		enum counter counter;

		if (i + 1 < nr)
			__builtin_prefetch(pkts[i + 1].data);
		in.pkt = &pkts[i];
		in.pkt->verdict = PIPE_DROP;
		counter = pipe_input_one(pipe, &in);
		in.pkt->counter = (uint8_t)counter;
		pipe->counters.v[counter]++;
	}
}

/*
 * If a later packet of the burst has ended the epoch, the result is of no use to anybody any more:
 * it is lost, as any packet may be.
 */
unsigned pipe_dests(const struct pipe *pipe, const struct pipe_pkt *pkt,
		    struct flow out[WIRE_WORLD_MAX])
{
	const struct job *job = &pipe->agg.table.jobs[pkt->job];
	uint16_t slot = wire_get16(pkt->data + WIRE_OFF_SLOT);
	unsigned nr = 0;
	uint64_t to;

	if (pkt->verdict == PIPE_REPLY || pkt->verdict == PIPE_UP) {
		out[0] = pkt->verdict == PIPE_UP ? pipe->agg.parent.flow : pkt->flow;
		return 1;
	}
	if (pkt->verdict != PIPE_MULTICAST || !job->running ||
	    job->epoch != wire_get48(pkt->data + WIRE_OFF_EPOCH))
		return 0;
	for (to = job->all & ~job->left; to; to &= to - 1) {
		const struct job_member *member = &job->members[__builtin_ctzll(to)];

		out[nr] = member->flow;
		out[nr].udp_port = (uint16_t)(out[nr].udp_port + slot % member->nr_ports);
		nr++;
	}
	return nr;
}

size_t pipe_output(struct pipe *pipe, struct flow *to, uint8_t *buf)
{
	return outbox_take(&pipe->agg.outbox, to, buf);
}

enum counter pipe_gone(struct pipe *pipe, const struct flow *flow, const struct pipe_time *now)
{
	enum counter counter = agg_gone(&pipe->agg, flow, now);

	pipe->counters.v[counter]++;
	return counter;
}

void pipe_drain(struct pipe *pipe, bool on)
{
	pipe->agg.drains = on;
}

bool pipe_drains(const struct pipe *pipe)
{
	return pipe->agg.drains;
}

bool pipe_reset(struct pipe *pipe, const char *name, uint64_t epoch, const struct pipe_time *now)
{
	struct agg_cause why = {
		.cause = WIRE_CAUSE_RESET,
		.wid_a = WIRE_WID_NONE,
		.wid_b = WIRE_WID_NONE,
	};
	struct job *job = job_by_name(&pipe->agg.table, name);

	if (!job || !job->running || job->epoch != epoch)
		return true;
	return agg_break(&pipe->agg, job, &why, now);
}

const struct counters *pipe_counters(const struct pipe *pipe)
{
	return &pipe->counters;
}

const struct job *pipe_job(const struct pipe *pipe, unsigned i)
{
	const struct job_table *table = &pipe->agg.table;

	return i < table->jobs_max && table->jobs[i].used ? &table->jobs[i] : NULL;
}

const struct slot *pipe_slot(const struct pipe *pipe, const struct job *job, unsigned slot)
{
	return slot < job->lease_nr ? &pipe->agg.slots[job->lease_first + slot] : NULL;
}

const uint8_t *pipe_values(const struct pipe *pipe, const struct job *job, unsigned slot,
			   unsigned cell)
{
	return agg_values(&pipe->agg, job, (uint16_t)slot) + (size_t)cell * job->stride;
}

bool pipe_is_leaf(const struct pipe *pipe)
{
	return agg_is_leaf(&pipe->agg);
}

const char *pipe_add_name(const struct pipe *pipe)
{
	return pipe->agg.ops->name;
}
