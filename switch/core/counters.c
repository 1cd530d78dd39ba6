// SPDX-License-Identifier: BSD-3-Clause
/* counters.c - names and texts of the counters. */
#include "switch/core/counters.h"

const struct counter_info counter_infos[COUNTER_NR] = {
#define X(name_, class_, text_)                                                                    \
	[COUNTER_##name_] = { .name = #name_, .class = COUNTER_##class_, .text = (text_) },
#include "switch/core/counters.def"
#undef X
};
