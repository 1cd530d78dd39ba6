// SPDX-License-Identifier: BSD-3-Clause
// rtt.c - round trip times, and how long to wait before sending again.
#include "host/core/rtt.h"

#define PERIOD_NS UINT64_C(1000000000)
#define INITIAL_RTO UINT64_C(10000000)

void rtt_init(struct rtt *rtt, uint64_t rto_min_ns, uint64_t rto_max_ns)
{
	*rtt = (struct rtt){ .rto_min_ns = rto_min_ns,
			     .rto_max_ns = rto_max_ns,
			     .low_ns = { UINT64_MAX, UINT64_MAX } };
}

void rtt_sample(struct rtt *rtt, uint64_t sample_ns, uint64_t now_ns)
{
	if (now_ns - rtt->period_ns >= PERIOD_NS) {
		rtt->low_ns[1] = rtt->low_ns[0];
		rtt->low_ns[0] = UINT64_MAX;
		rtt->period_ns = now_ns;
	}
	if (sample_ns < rtt->low_ns[0])
		rtt->low_ns[0] = sample_ns;
}

uint64_t rtt_low(const struct rtt *rtt)
{
	uint64_t low = rtt->low_ns[0] < rtt->low_ns[1] ? rtt->low_ns[0] : rtt->low_ns[1];

	return low == UINT64_MAX ? 0 : low;
}

uint64_t rtt_rto(const struct rtt *rtt)
{
	uint64_t low = rtt_low(rtt), rto = INITIAL_RTO;

	if (low)
		rto = low < rtt->rto_max_ns ? 4 * low : rtt->rto_max_ns;
	if (rto < rtt->rto_min_ns)
		return rtt->rto_min_ns;
	return rto > rtt->rto_max_ns ? rtt->rto_max_ns : rto;
}
