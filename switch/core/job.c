// SPDX-License-Identifier: BSD-3-Clause
/* job.c - the job table: names, handles, leases. */
#include "switch/core/job.h"

#include <assert.h>

static bool job_named(const struct job *job, const char *name)
{
	const char *own = job->name;

	while (*own && *own == *name) {
		own++;
		name++;
	}
	return *own == *name;
}

struct job *job_by_name(const struct job_table *table, const char *name)
{
	uint64_t key = wire_job_key(name);

	for (unsigned i = 0; i < table->jobs_max; i++) {
		struct job *job = &table->jobs[i];

		if (table->keys[i] == key && job->used && job_named(job, name))
			return job;
	}
	return NULL;
}

struct job *job_by_key(const struct job_table *table, uint64_t key)
{
	for (unsigned i = 0; i < table->jobs_max; i++) {
		if (table->keys[i] == key && table->jobs[i].used)
			return &table->jobs[i];
	}
	return NULL;
}

static uint16_t job_free_handle(const struct job_table *table, uint64_t epoch)
{
	uint16_t handle = (uint16_t)epoch;

	/* Ends: there are more handles than jobs. */
	while (handle == 0 || table->by_handle[handle])
		handle++;
	return handle;
}

static unsigned job_free_entry(const struct job_table *table)
{
	unsigned i = 0;

	while (i < table->jobs_max && table->jobs[i].used)
		i++;
	return i;
}

bool job_has_place(const struct job_table *table, uint32_t owner)
{
	unsigned free = 0, own = 0;

	for (unsigned i = 0; i < table->jobs_max; i++) {
		const struct job *job = &table->jobs[i];

		free += !job->used;
		own += job->used && job->owner == owner;
	}
	return free && (own < JOB_OWN_PLACES || own + 1 < free);
}

struct job *job_add(struct job_table *table, const char *name, uint64_t epoch)
{
	struct job *job;
	unsigned i = job_free_entry(table), len = 0;

	if (i == table->jobs_max)
		return NULL;
	job = &table->jobs[i];
	memset(job, 0, sizeof(*job));
	job->used = true;
	while (len < WIRE_NAME && name[len])
		len++;
	memcpy(job->name, name, len);
	job->key = wire_job_key(name);
	job->epoch = epoch;
	job->handle = job_free_handle(table, epoch);
	job->last.wid_a = WIRE_WID_NONE;
	job->last.wid_b = WIRE_WID_NONE;
	table->keys[i] = job->key;
	table->by_handle[job->handle] = (uint16_t)(i + 1);
	return job;
}

void job_set_parent(struct job_table *table, struct job *job, uint16_t handle)
{
	uint16_t i = (uint16_t)(job - table->jobs + 1);

	if (table->by_parent[job->up.handle] == i)
		table->by_parent[job->up.handle] = 0;
	if (handle)
		table->by_parent[handle] = i;
	job->up.handle = handle;
}

void job_del(struct job_table *table, struct job *job)
{
	job_unlease(table, job);
	if (table->by_parent)
		job_set_parent(table, job, 0);
	table->by_handle[job->handle] = 0;
	table->keys[job - table->jobs] = 0;
	job->used = false;
	job->running = false;
}

WIRE_ASSERT(WIRE_P_MIN % (int)JOB_VALUES == 0, "every P is a whole number of units");

/* Units of JOB_VALUES that both cells of a slot take. */
static size_t job_slot_units(uint16_t p)
{
	return 2 * ((size_t)p / JOB_VALUES);
}

static size_t job_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Most that an owner may take of what is free, where it has own already and may have least in any case. */
static size_t job_share(size_t free, size_t own, size_t least)
{
	const size_t half = free > own ? (free - own) / 2 : 0;
	const size_t rest = least > own ? least - own : 0;

	return half > rest ? half : rest;
}

uint32_t job_slots_free(const struct job_table *table, uint32_t owner, uint16_t p)
{
	size_t slots = table->slots.total, own_slots = 0;
	size_t values = table->values.total, own_values = 0;
	size_t nr;

	for (unsigned i = 0; i < table->jobs_max; i++) {
		const struct job *job = &table->jobs[i];
		const size_t nr_slots = job->used ? job->lease_nr : 0;
		const size_t nr_values = nr_slots ? nr_slots * job_slot_units(job->p) : 0;

		slots -= nr_slots;
		values -= nr_values;
		own_slots += job->owner == owner ? nr_slots : 0;
		own_values += job->owner == owner ? nr_values : 0;
	}
	slots = job_share(slots, own_slots, JOB_OWN_SLOTS);
	values = job_share(values, own_values, JOB_OWN_SLOTS * job_slot_units(p));
	slots = job_least(slots, lease_longest(&table->slots));
	values = job_least(values, lease_longest(&table->values));
	nr = job_least(slots, values / job_slot_units(p));
	if (nr <= WIRE_SE)
		return 0;
	nr -= WIRE_SE;
	return nr < JOB_SLOTS_MAX ? (uint32_t)nr : JOB_SLOTS_MAX;
}

bool job_lease(struct job_table *table, struct job *job, uint16_t p, uint16_t slots)
{
	size_t nr = (size_t)WIRE_SE + slots;
	size_t first, unit;

	assert(job->lease_nr == 0);
	if (!lease_take(&table->slots, nr, &first))
		return false;
	if (!lease_take(&table->values, nr * job_slot_units(p), &unit)) {
		lease_give(&table->slots, first);
		return false;
	}
	job->p = p;
	job->slots = slots;
	job->lease_first = (uint32_t)first;
	job->lease_nr = (uint32_t)nr;
	job->values_off = unit * JOB_VALUES;
	job->stride = p;
	return true;
}

void job_unlease(struct job_table *table, struct job *job)
{
	if (job->lease_nr == 0)
		return;
	lease_give(&table->slots, job->lease_first);
	lease_give(&table->values, job->values_off / JOB_VALUES);
	job->lease_nr = 0;
}

void job_set_world(struct job *job, uint16_t world, struct wire_range range, bool tree)
{
	assert(range.nr >= 1 && (tree || range.nr <= WIRE_WORLD_MAX));
	job->world = world;
	job->range = range;
	job->tree = tree;
	job->nr_members = tree ? 0 : range.nr;
	job->all = tree ? 0 : UINT64_MAX >> (64 - range.nr);
	job->joined = 0;
	job->left = 0;
	job->gone = 0;
	memset(job->members, 0, sizeof(job->members));
	for (unsigned i = 0; i < job->nr_members; i++)
		job->members[i].range = (struct wire_range){ (uint16_t)(range.first + i), 1 };
}

unsigned job_place(struct job *job, struct wire_range range)
{
	unsigned i = job_index(job, range.first);

	if (i != JOB_NONE)
		return i;
	if (job->nr_members < WIRE_WORLD_MAX)
		return job->nr_members++;
	return ~job->joined ? (unsigned)__builtin_ctzll(~job->joined) : (unsigned)JOB_NONE;
}

bool job_complete(const struct job *job)
{
	return job_awaited(job).nr == 0;
}

struct wire_range job_awaited(const struct job *job)
{
	unsigned from = job->range.first, end = from + job->range.nr, next;
	bool found = true;

	/* Ranges that joined do not overlap, so one that begins here is the only one. */
	while (found && from < end) {
		found = false;
		next = end;
		for (uint64_t left = job->joined; left && !found; left &= left - 1) {
			const struct wire_range *range = &job->members[__builtin_ctzll(left)].range;

			found = range->first == from;
			if (found)
				from += range->nr;
			else if (range->first > from && range->first < next)
				next = range->first;
		}
	}
	if (from >= end)
		return (struct wire_range){ 0, 0 };
	return (struct wire_range){ (uint16_t)from, (uint16_t)(next - from) };
}

uint64_t job_known(const struct job *job)
{
	uint64_t known = 0;

	for (unsigned i = 0; i < job->nr_members; i++) {
		if (job->members[i].inc)
			known |= UINT64_C(1) << i;
	}
	return known;
}

uint64_t job_heard(const struct job *job, uint64_t mask)
{
	uint64_t heard_ns = job->since_ns;

	for (unsigned i = 0; i < job->nr_members; i++) {
		const struct job_member *member = &job->members[i];

		if ((mask >> i & 1) && member->inc && member->heard_ns > heard_ns)
			heard_ns = member->heard_ns;
	}
	return heard_ns;
}

uint64_t job_silent(const struct job *job, uint64_t now_ns, uint64_t ns)
{
	uint64_t silent = 0;

	for (unsigned i = 0; i < job->nr_members; i++) {
		const struct job_member *member = &job->members[i];

		if (member->inc && member->heard_ns + ns < now_ns)
			silent |= UINT64_C(1) << i;
	}
	return silent;
}
