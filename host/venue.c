// SPDX-License-Identifier: BSD-3-Clause
// venue.c - the venue of an ordinary process: the kernel's clock, random numbers and sleep.
#include "host/venue.h"

#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

static uint64_t venue_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int venue_random(void *to, size_t len)
{
	return getrandom(to, len, 0) == (ssize_t)len ? 0 : -1;
}

static void venue_pause(uint64_t ns)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	nanosleep(&ts, NULL);
}

struct venue venue = {
	.clock = venue_clock,
	.random = venue_random,
	.pause = venue_pause,
};
