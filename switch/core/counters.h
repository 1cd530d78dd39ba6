/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.h - names and classes of what becomes of a packet that comes in. */
#ifndef SWITCH_CORE_COUNTERS_H
#define SWITCH_CORE_COUNTERS_H

#include <stdint.h>

enum counter {
#define X(name, class, text) COUNTER_##name,
#include "switch/core/counters.def"
#undef X
	COUNTER_NR
};

enum counter_class { COUNTER_SUM, COUNTER_TALK, COUNTER_FORWARD, COUNTER_DROP };

/* One writer (the lcore that owns the port); readers may be late. */
struct counters {
	uint64_t v[COUNTER_NR];
};

struct counter_info {
	const char *name;
	enum counter_class class;
	const char *text;
};
extern const struct counter_info counter_infos[COUNTER_NR];

#endif
