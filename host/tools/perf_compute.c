// SPDX-License-Identifier: BSD-3-Clause
// perf_compute.c - how long each rank computes in an iteration: a time or one of a range, and stragglers.
#include "host/tools/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PERF_COMPUTE_MAX 1e15 /* ns: a million seconds */
#define PERF_FACTOR_MAX 1000.0

enum { PERF_DRAW_TIME, PERF_DRAW_SLOW };

/* A decimal number without a sign that is no more than most; *end is where it stops. */
static int perf_number_parse(const char *text, const char **end, double most, double *out)
{
	char *stop;

	if (*text < '0' || *text > '9' || text[1] == 'x' || text[1] == 'X')
		return -1;
	errno = 0;
	*out = strtod(text, &stop);
	*end = stop;
	return errno == 0 && *out <= most ? 0 : -1;
}

/* A time up to the end of the text, or up to "..". */
static int perf_time_parse(const char *text, size_t len, uint64_t *out)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char copy[32];
	const char *end;
	double value;
	size_t i;

	if (len >= sizeof(copy))
		return -1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (perf_number_parse(copy, &end, PERF_COMPUTE_MAX, &value) != 0)
		return -1;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0 && value * units[i].ns <= PERF_COMPUTE_MAX) {
			*out = (uint64_t)(value * units[i].ns + 0.5);
			return 0;
		}
	return -1;
}

int perf_compute_parse(struct perf_compute *compute, const char *text)
{
	const char *dots = strstr(text, "..");
	const size_t len = dots != NULL ? (size_t)(dots - text) : strlen(text);

	if (perf_time_parse(text, len, &compute->least_ns) != 0)
		return -1;
	compute->most_ns = compute->least_ns;
	if (dots != NULL && perf_time_parse(dots + 2, strlen(dots + 2), &compute->most_ns) != 0)
		return -1;
	return compute->most_ns >= compute->least_ns ? 0 : -1;
}

/* Numbers with '+' between. */
static int perf_ranks_parse(struct perf_compute *compute, const char *text, const char **end)
{
	unsigned long rank;
	char *stop;

	for (;; text = *end + 1) {
		if (*text < '0' || *text > '9')
			return -1;
		rank = strtoul(text, &stop, 10);
		*end = stop;
		if (rank >= PERF_RANKS_MAX)
			return -1;
		compute->slow[rank / 64] |= UINT64_C(1) << rank % 64;
		compute->slow_ranks = true;
		if (**end != '+')
			return 0;
	}
}

static int perf_probability_parse(const char *text, const char **end, double *out)
{
	if (perf_number_parse(text, end, 100, out) != 0)
		return -1;
	if (**end == '%') {
		*out /= 100;
		++*end;
	}
	return *out <= 1 ? 0 : -1;
}

int perf_stragglers_parse(struct perf_compute *compute, const char *text)
{
	const char *at = text;
	int err = -1;

	compute->factor = compute->probability = 0;
	compute->slow_ranks = false;
	memset(compute->slow, 0, sizeof(compute->slow));
	for (;; at++) {
		if (strncmp(at, "factor=", 7) == 0)
			err = perf_number_parse(at + 7, &at, PERF_FACTOR_MAX, &compute->factor);
		else if (strncmp(at, "ranks=", 6) == 0)
			err = perf_ranks_parse(compute, at + 6, &at);
		else if (strncmp(at, "probability=", 12) == 0)
			err = perf_probability_parse(at + 12, &at, &compute->probability);
		else
			return -1;
		if (err != 0 || (*at != ',' && *at != '\0'))
			return -1;
		if (*at == '\0')
			break;
	}
	return compute->factor >= 1 && (compute->slow_ranks || compute->probability > 0) ? 0 : -1;
}

/* From 0 on and below 1, another one for each iteration, rank and purpose. */
static double perf_draw(const struct perf_compute *compute, int rank, int64_t iteration, int what)
{
	const uint64_t seen[3] = { (uint64_t)rank, (uint64_t)iteration, (uint64_t)what };

	return (double)(perf_data_hash(compute->seed, seen, sizeof(seen)) >> 11) * 0x1p-53;
}

uint64_t perf_compute_ns(const struct perf_compute *compute, int rank, int64_t iteration)
{
	const double range = (double)(compute->most_ns - compute->least_ns);
	double ns = (double)compute->least_ns;
	bool slow = false;

	if (range > 0)
		ns += range * perf_draw(compute, rank, iteration, PERF_DRAW_TIME);
	if (compute->slow_ranks && rank < PERF_RANKS_MAX)
		slow = compute->slow[rank / 64] >> rank % 64 & 1;
	if (compute->probability > 0)
		slow = slow ||
		       perf_draw(compute, rank, iteration, PERF_DRAW_SLOW) < compute->probability;
	return (uint64_t)(slow ? ns * compute->factor : ns);
}
