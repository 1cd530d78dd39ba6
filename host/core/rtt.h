/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtt.h - round trip times, and how long to wait before sending again.
 *
 * A RESULT waits for the slowest rank, and where packets are lost for the slowest rank's timeouts: an average
 * of such delays would grow with the timeouts that it is meant to set.  The lowest of the last seconds is the
 * path.  Samples come from chunks that were never sent again, and from KEEPALIVEs.
 */
#ifndef HOST_CORE_RTT_H
#define HOST_CORE_RTT_H

#include <stdint.h>

struct rtt {
	uint64_t rto_min_ns, rto_max_ns;
	uint64_t low_ns[2]; /* lowest of this and of the previous period; UINT64_MAX: none */
	uint64_t period_ns; /* start of this period */
};

void rtt_init(struct rtt *rtt, uint64_t rto_min_ns, uint64_t rto_max_ns);
void rtt_sample(struct rtt *rtt, uint64_t sample_ns, uint64_t now_ns);
uint64_t rtt_low(const struct rtt *rtt); /* 0: none yet */
uint64_t rtt_rto(const struct rtt *rtt);

#endif
