/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * impair.h - faults on purpose, seeded, per port and direction: what becomes of each packet.
 *
 * Pure decision-making: the shell holds packets, changes bytes and knows the time.  The same seed
 * and the same packets at the same times give the same faults.  Every packet goes, in this order,
 * through down, burst loss, loss, duplication; then each of its copies through corruption, the
 * queue of a limited rate, delay and jitter, and reordering.
 *
 * Burst loss is a Markov chain of two states, good and bad, that takes a step with each packet: from
 * good to bad with probability enter, back with leave, and loses with a probability of the state's
 * own (Gilbert 1960; Elliott 1963; tc-netem(8) calls the four p, r, 1-h and 1-k).  In the long run
 * enter / (enter + leave) of the packets meet the bad state, 1 / leave of them in a row.
 */
#ifndef SWITCH_CORE_IMPAIR_H
#define SWITCH_CORE_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

enum {
	IMPAIR_QUEUE_MAX = 1024, /* packets that wait for a limited rate */
	IMPAIR_QUEUE = 100,	 /* if not said otherwise */
	IMPAIR_DISTANCE_MAX = 1000,
	IMPAIR_LATE_NS = 2000000,    /* an overtaken packet waits so long for others, or ... */
	IMPAIR_LATE_EACH_NS = 20000, /* ... so long for each of them, if that is more */
};

/* Probabilities are 0 .. 1.  All zero: no faults. */
struct impair_params {
	double loss, dup, reorder;
	double corrupt;		/* one byte is changed, as on a bad wire */
	double corrupt_checked; /* the same, and the UDP checksum does not show it */
	double burst_enter, burst_leave;
	double burst_loss, burst_good; /* loss in the bad state, and in the good one */
	uint64_t delay_ns;
	uint64_t jitter_ns; /* 0 .. this, uniform, is added to the delay */
	uint64_t rate;	    /* bits per second; 0: not limited */
	uint32_t queue; /* packets or bytes that may wait for the rate; 0: IMPAIR_QUEUE packets */
	bool queue_bytes;
	uint16_t distance; /* packets that overtake one that is reordered; 0: 1 */
	bool down;	   /* everything is lost */
	uint64_t seed;
};

struct impair {
	bool active;
	struct impair_params params;
	uint64_t rng;
	/* Thresholds out of 2^53. */
	uint64_t loss, dup, reorder, corrupt, corrupt_checked;
	uint64_t burst_enter, burst_leave, burst_loss, burst_good;
	bool bad; /* state of the burst loss */
	/* Of a limited rate: busy until then, and the part of a nanosecond beyond. */
	uint64_t busy_ns, busy_part;
	uint32_t first, nr_waiting; /* ring of the times when those that wait have left */
	uint64_t leaves[IMPAIR_QUEUE_MAX];
	/* Packets that met each. */
	uint64_t nr_down, nr_burst, nr_lost, nr_duped, nr_reordered;
	uint64_t nr_corrupted, nr_corrupted_checked, nr_queue_full, nr_delayed;
};

enum impair_corrupt { IMPAIR_INTACT, IMPAIR_CORRUPT, IMPAIR_CORRUPT_CHECKED };

/* One copy of a packet. */
struct impair_copy {
	bool queue_full; /* dropped; the rest does not matter */
	bool late; /* to be overtaken by params.distance packets, or by those of impair_late_ns() */
	uint8_t corrupt; /* enum impair_corrupt */
	uint64_t noise;	 /* decides which byte is changed, and how */
	uint64_t due_ns; /* when it goes on; not after now: at once */
};

struct impair_fate {
	unsigned nr; /* copies; 0: lost */
	struct impair_copy copies[2];
};

void impair_init(struct impair *impair, const struct impair_params *params);
/* From the next packet on; counters and random numbers go on.  params->seed is not looked at. */
void impair_set(struct impair *impair, const struct impair_params *params);
/* bytes: its length, as far as the rate counts it. */
void impair_next(struct impair *impair, uint64_t now_ns, uint32_t bytes, struct impair_fate *fate);
/*
 * When one that waits for the rate leaves instead, now that impair_set() has made it another; it stays in the queue
 * however full that is.
 */
uint64_t impair_requeue(struct impair *impair, uint64_t now_ns, uint32_t bytes);
/* The longest that an overtaken packet waits for others. */
uint64_t impair_late_ns(const struct impair *impair);

#endif
