// SPDX-License-Identifier: BSD-3-Clause
// local_rig.c - topologies that a test writes down, for fabrics in one process.
#include "tests/unit/local_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#define JOB                                                                                        \
	"jobs:\n"                                                                                  \
	"  - name: sums\n"                                                                         \
	"    ranks: [h1, h2, h3, h4]\n"                                                            \
	"    workload: {sizes: [100, 5000, 200K], iterations: 2, warmup: 1, check: 1}\n"

const char local_rig_tree[] = "hosts: [h1, h2, h3, h4]\n"
			      "switches: [s0, s1, s2]\n"
			      "links: [[h1, s1-p1], [h2, s1-p2], [h3, s2-p1], [h4, s2-p2],\n"
			      "  [s1-p9, s0-p1], [s2-p9, s0-p2]]\n" JOB;
const char local_rig_star[] = "hosts: [h1, h2, h3, h4]\n"
			      "switches: [s0]\n"
			      "links: [[h1, s0-p1], [h2, s0-p2], [h3, s0-p3], [h4, s0-p4]]\n" JOB;

struct topology *local_rig_load(const char *text)
{
	char path[] = "/tmp/tally-local.XXXXXX";
	const int fd = mkstemp(path);
	struct topology *t;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	t = topology_load(path, stderr);
	unlink(path);
	assert_non_null(t);
	assert_int_equal(topology_check_netns(t, true, stderr), 0);
	return t;
}

struct local_rig_hash local_rig_hash(const char *output, unsigned int n)
{
	static const char before[] = "\n# Result hash : ";
	struct local_rig_hash hash = { "" };
	const char *at = output;

	do {
		at = strstr(at, before);
		if (!at)
			return hash;
		at += strlen(before);
	} while (n-- > 0);
	memcpy(hash.text, at, 16);
	return hash;
}
