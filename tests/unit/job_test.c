// SPDX-License-Identifier: BSD-3-Clause
// The job table: names, handles, identities, leases.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "switch/core/job.h"

enum { JOBS = 3, PLACES = 21 };

struct fixture {
	struct job jobs[PLACES];
	uint64_t keys[PLACES];
	uint16_t by_handle[JOB_HANDLES];
	struct lease slots[PLACES], values[PLACES];
	struct job_table table;
};

static struct job_table *table_of(struct fixture *f, size_t slots, size_t bytes)
{
	memset(f, 0, sizeof(*f));
	f->table = (struct job_table){
		.jobs = f->jobs,
		.keys = f->keys,
		.by_handle = f->by_handle,
		.jobs_max = JOBS,
		.slots = { .leases = f->slots, .max = JOBS, .total = slots },
		.values = { .leases = f->values, .max = JOBS, .total = bytes / JOB_VALUES },
	};
	return &f->table;
}

static void job_add__found_by_name_and_handle(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 100, 100000);
	char longest[WIRE_NAME + 1];
	struct job *a, *b;

	(void)state;
	memset(longest, 'x', WIRE_NAME);
	longest[WIRE_NAME] = '\0';
	a = job_add(table, "a", 0x123456789);
	b = job_add(table, longest, 0x1abcd);
	assert_ptr_equal(job_by_name(table, "a"), a);
	assert_ptr_equal(job_by_name(table, longest), b);
	assert_null(job_by_name(table, "xxx"));
	assert_null(job_by_name(table, ""));
	assert_int_equal(a->handle, 0x6789);
	assert_int_equal(b->handle, 0xabcd);
	assert_ptr_equal(job_by_handle(table, 0x6789), a);
	assert_ptr_equal(job_by_handle(table, 0xabcd), b);
	assert_null(job_by_handle(table, 0));
	assert_null(job_by_handle(table, 0x678a));
	assert_string_equal(b->name, longest);
	job_del(table, a);
	assert_null(job_by_name(table, "a"));
	assert_null(job_by_handle(table, 0x6789));
	assert_ptr_equal(job_by_name(table, longest), b);
}

static void job_add__handles_are_never_zero_and_never_two(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 100, 100000);

	(void)state;
	assert_int_equal(job_add(table, "a", 0x7ffff)->handle, 0xffff);
	assert_int_equal(job_add(table, "b", 0x8ffff)->handle, 1);
	assert_int_equal(job_add(table, "c", 0x90000)->handle, 2);
	assert_null(job_add(table, "d", 0x90005));
	job_del(table, job_by_name(table, "b"));
	assert_int_equal(job_add(table, "d", 0x90000)->handle, 1);
}

static void job_lease__slots_and_values_do_not_overlap(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 200, (size_t)100 * 2 * 1024);
	struct job *a = job_add(table, "a", 1), *b = job_add(table, "b", 2);

	(void)state;
	b->owner = 9;
	assert_int_equal(job_slots_free(table, 0, 1024), 100 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 0, 128), 200 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 0, WIRE_P_MAX), 0);
	assert_true(job_lease(table, a, 1024, 8));
	assert_int_equal(a->lease_nr, WIRE_SE + 8);
	assert_int_equal(a->stride, 1024);
	assert_int_equal(job_slots_free(table, 0, 1024), 60 - WIRE_SE);
	assert_false(job_lease(table, b, 1024, 60 - WIRE_SE + 1));
	assert_int_equal(b->lease_nr, 0);
	assert_true(job_lease(table, b, 1024, 60 - WIRE_SE));
	assert_int_equal(b->lease_first, WIRE_SE + 8);
	assert_int_equal(b->values_off, a->values_off + (WIRE_SE + 8) * (size_t)2 * 1024);
	assert_int_equal(b->values_off % JOB_VALUES, 0);
	job_del(table, a);
	assert_int_equal(job_slots_free(table, 0, 128), 100 - WIRE_SE);
	job_unlease(table, b);
	job_unlease(table, b);
	assert_int_equal(job_slots_free(table, 0, 1024), 100 - WIRE_SE);
}

static void job_lease__no_more_slots_than_a_slot_number_names(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 1 << 20, (size_t)1 << 30);

	(void)state;
	assert_int_equal(job_slots_free(table, 0, 128), 65536 - WIRE_SE);
}

/* Half of what is free, and never more than is left after it: 7 and 9 are two owners. */
static void job_slots_free__an_owner_leaves_as_many_as_it_has(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 4096, (size_t)1 << 30);
	struct job *a = job_add(table, "a", 1), *b = job_add(table, "b", 2);

	(void)state;
	a->owner = 7;
	b->owner = 9;
	assert_int_equal(job_slots_free(table, 7, 1024), 4096 / 2 - WIRE_SE);
	assert_true(job_lease(table, a, 1024, 1000 - WIRE_SE));
	assert_int_equal(job_slots_free(table, 7, 1024), (3096 - 1000) / 2 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 9, 1024), 3096 / 2 - WIRE_SE);
	assert_true(job_lease(table, b, 128, 1500 - WIRE_SE));
	assert_int_equal(job_slots_free(table, 7, 1024), (1596 - 1000) / 2 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 9, 1024), (1596 - 1500) / 2 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 1, 1024), 1596 / 2 - WIRE_SE);
	job_del(table, b);
	assert_int_equal(job_slots_free(table, 9, 1024), 3096 / 2 - WIRE_SE);
}

/* Slots enough, but memory: in units of 64 bytes, 2 P each. */
static void job_slots_free__memory_is_shared_too(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 1 << 20, (size_t)3000 * 2 * 1024);
	struct job *a = job_add(table, "a", 1);

	(void)state;
	a->owner = 7;
	assert_int_equal(job_slots_free(table, 7, 1024), 1500 - WIRE_SE);
	assert_true(job_lease(table, a, 2048, 400 - WIRE_SE));
	assert_int_equal(job_slots_free(table, 7, 1024), (2200 - 800) / 2 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 9, 1024), 2200 / 2 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 9, 256), 4 * 2200 / 2 - WIRE_SE);
}

/* Of few slots a job of a usual size may have all; more than that of its owner's may not. */
static void job_slots_free__the_least_of_an_owner(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 700, (size_t)1 << 30);
	struct job *a = job_add(table, "a", 1);

	(void)state;
	a->owner = 7;
	assert_int_equal(job_slots_free(table, 7, 1024), 512);
	assert_true(job_lease(table, a, 1024, 400));
	assert_int_equal(job_slots_free(table, 7, 1024), 512 - 400 - WIRE_SE);
	assert_int_equal(job_slots_free(table, 9, 1024), 700 - 400 - 2 * WIRE_SE);
}

/* Of 21: one has 10 of them, the next half of what is left, but 8 in any case. */
static void job_has_place__an_owner_leaves_as_many_as_it_has(void **state)
{
	static struct fixture f;
	struct job_table *table = table_of(&f, 100, 100000);
	const unsigned owners[] = { 7, 9, 1 };
	unsigned nr[3] = { 0 };

	(void)state;
	table->jobs_max = PLACES;
	for (unsigned i = 0; i < 3; i++) {
		while (job_has_place(table, owners[i])) {
			const char name[] = { (char)('a' + (int)i), (char)('a' + (int)nr[i]), 0 };

			job_add(table, name, 100 * i + ++nr[i])->owner = owners[i];
		}
	}
	assert_int_equal(nr[0], 10);
	assert_int_equal(nr[1], 8);
	assert_int_equal(nr[2], 3);
	job_del(table, job_by_name(table, "aa"));
	assert_true(job_has_place(table, 1));
	assert_false(job_has_place(table, 7));
	assert_false(job_has_place(table, 9));
}

static void job_set_world__bits(void **state)
{
	struct job job = { 0 };

	(void)state;
	job.members[3].inc = 5;
	job_set_world(&job, 1, (struct wire_range){ 0, 1 }, false);
	assert_int_equal(job.all, 1);
	assert_int_equal(job.members[3].inc, 0);
	job_set_world(&job, 64, (struct wire_range){ 0, 64 }, false);
	assert_true(job.all == UINT64_MAX);
	job_set_world(&job, 33, (struct wire_range){ 0, 33 }, false);
	assert_true(job.all == UINT64_C(0x1ffffffff));
}

static void job_identity__address_and_port_range(void **state)
{
	struct job_member member = {
		.flow = { .ip = 7, .udp_port = 65534, .port = 3, .mac = { 2 } },
		.nr_ports = 2,
	};
	struct flow flow = member.flow;

	(void)state;
	assert_true(job_identity(&member, &flow, true));
	flow.udp_port = 65535;
	assert_true(job_identity(&member, &flow, true));
	flow.udp_port = 0;
	assert_false(job_identity(&member, &flow, false));
	flow.udp_port = 65533;
	assert_false(job_identity(&member, &flow, false));
	flow.udp_port = 65534;
	flow.port = 4;
	assert_true(job_identity(&member, &flow, false));
	assert_false(job_identity(&member, &flow, true));
	flow.port = 3;
	flow.mac[5] = 1;
	assert_true(job_identity(&member, &flow, false));
	assert_false(job_identity(&member, &flow, true));
	flow.mac[5] = 0;
	flow.ip = 8;
	assert_false(job_identity(&member, &flow, false));
}

static void job_silent__and_when_it_was_heard(void **state)
{
	struct job job = { .since_ns = 50 };

	(void)state;
	job_set_world(&job, 3, (struct wire_range){ 0, 3 }, false);
	assert_int_equal(job_heard(&job, 7), 50);
	assert_int_equal(job_silent(&job, 1000, 10), 0);
	job.members[0] = (struct job_member){ .inc = 1, .heard_ns = 100 };
	job.members[2] = (struct job_member){ .inc = 3, .heard_ns = 300 };
	assert_int_equal(job_heard(&job, 7), 300);
	assert_int_equal(job_heard(&job, 3), 100);
	assert_int_equal(job_silent(&job, 200, 100), 0);
	assert_int_equal(job_silent(&job, 201, 100), 1);
	assert_int_equal(job_silent(&job, 401, 100), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job_add__found_by_name_and_handle),
		cmocka_unit_test(job_add__handles_are_never_zero_and_never_two),
		cmocka_unit_test(job_lease__slots_and_values_do_not_overlap),
		cmocka_unit_test(job_lease__no_more_slots_than_a_slot_number_names),
		cmocka_unit_test(job_slots_free__an_owner_leaves_as_many_as_it_has),
		cmocka_unit_test(job_slots_free__memory_is_shared_too),
		cmocka_unit_test(job_slots_free__the_least_of_an_owner),
		cmocka_unit_test(job_has_place__an_owner_leaves_as_many_as_it_has),
		cmocka_unit_test(job_set_world__bits),
		cmocka_unit_test(job_identity__address_and_port_range),
		cmocka_unit_test(job_silent__and_when_it_was_heard),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
