// SPDX-License-Identifier: BSD-3-Clause
/* pool_test.c - the pool of plain memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "switch/io/pool.h"

static void pool_plain__gives_each_buffer_once(void **state)
{
	struct pool_plain plain;
	struct pkt pkts[5];

	(void)state;
	assert_int_equal(pool_plain_init(&plain, 4, 100), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(plain.pool.get(&plain.pool, &pkts[i]));
		assert_int_equal(pkts[i].cap, 100);
		memset(pkts[i].data, (int)i, 100);
	}
	assert_false(plain.pool.get(&plain.pool, &pkts[4]));
	for (unsigned i = 0; i < 4; i++)
		assert_true(pkts[i].data[0] == i && pkts[i].data[99] == i);
	pkt_put(&pkts[2]);
	assert_true(plain.pool.get(&plain.pool, &pkts[4]));
	assert_ptr_equal(pkts[4].buf, pkts[2].buf);
	pool_plain_fini(&plain);
}

static void pkt_put__borrowed_is_nobodys(void **state)
{
	struct pkt pkt = { .data = (uint8_t[4]){ 1 }, .len = 4 };

	(void)state;
	pkt_put(&pkt);
	assert_null(pkt.pool);
}

static void pkt_copy__keeps_what_is_known(void **state)
{
	struct pool_plain plain;
	uint8_t bytes[101] = "payload";
	struct pkt src = { .data = bytes,
			   .len = 100,
			   .cap = 100,
			   .flow = { .ip = 7, .port = 3 },
			   .verify = true };
	struct pkt out = { .len = 0 }, more;

	(void)state;
	assert_int_equal(pool_plain_init(&plain, 1, 100), 0);
	assert_true(pkt_copy(&out, &plain.pool, &src));
	assert_ptr_not_equal(out.data, bytes);
	assert_memory_equal(out.data, bytes, 100);
	assert_int_equal(out.len, 100);
	assert_int_equal(out.flow.ip, 7);
	assert_true(out.verify);
	assert_false(pkt_copy(&more, &plain.pool, &src));
	pkt_put(&out);
	/* One that is too small goes back at once. */
	src.len = 101;
	assert_false(pkt_copy(&more, &plain.pool, &src));
	assert_int_equal(plain.nr_free, 1);
	pool_plain_fini(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_plain__gives_each_buffer_once),
		cmocka_unit_test(pkt_put__borrowed_is_nobodys),
		cmocka_unit_test(pkt_copy__keeps_what_is_known),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
