// SPDX-License-Identifier: BSD-3-Clause
// rtt.c - round trip times, and how long to wait before sending again.
#include "host/core/rtt.h"

#define PERIOD_NS UINT64_C(1000000000)
#define SAMPLE_CAP UINT64_C(25000000) /* beyond this a rank was late, not the path slow */
#define INITIAL_RTO UINT64_C(10000000)

void rtt_init(struct rtt *rtt, uint64_t rto_min_ns, uint64_t rto_max_ns)
{
	*rtt = (struct rtt){ .rto_min_ns = rto_min_ns,
			     .rto_max_ns = rto_max_ns,
			     .low_ns = { UINT64_MAX, UINT64_MAX } };
}

void rtt_sample(struct rtt *rtt, uint64_t sample_ns, uint64_t now_ns)
{
	uint64_t s = sample_ns < SAMPLE_CAP ? sample_ns : SAMPLE_CAP, delta;

	if (now_ns - rtt->period_ns >= PERIOD_NS) {
		rtt->low_ns[1] = rtt->low_ns[0];
		rtt->low_ns[0] = UINT64_MAX;
		rtt->period_ns = now_ns;
	}
	if (sample_ns < rtt->low_ns[0])
		rtt->low_ns[0] = sample_ns;
	if (rtt->smooth_ns == 0) {
		rtt->smooth_ns = s;
		rtt->var_ns = s / 2;
		return;
	}
	delta = s > rtt->smooth_ns ? s - rtt->smooth_ns : rtt->smooth_ns - s;
	rtt->var_ns = (3 * rtt->var_ns + delta) / 4;
	rtt->smooth_ns = (7 * rtt->smooth_ns + s) / 8;
}

uint64_t rtt_low(const struct rtt *rtt)
{
	uint64_t low = rtt->low_ns[0] < rtt->low_ns[1] ? rtt->low_ns[0] : rtt->low_ns[1];

	return low == UINT64_MAX ? 0 : low;
}

uint64_t rtt_rto(const struct rtt *rtt)
{
	uint64_t low = rtt_low(rtt), rto = rtt->smooth_ns + 4 * rtt->var_ns;

	if (rtt->smooth_ns == 0)
		rto = INITIAL_RTO;
	if (low > rtt->rto_max_ns)
		low = rtt->rto_max_ns;
	if (rto < 4 * low)
		rto = 4 * low;
	if (rto < rtt->rto_min_ns)
		return rtt->rto_min_ns;
	return rto > rtt->rto_max_ns ? rtt->rto_max_ns : rto;
}
