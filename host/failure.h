/* SPDX-License-Identifier: BSD-3-Clause */
/* failure.h - what is wrong and what to do about it, in one sentence and one status. */
#ifndef HOST_FAILURE_H
#define HOST_FAILURE_H

#include <stddef.h>
#include <stdint.h>

#include "host/config.h"
#include "host/core/session.h"

/* Masks of ranks have a bit for each below our own switch: rank - first. */
struct failure {
	char *text; /* the sentence */
	size_t cap;
	const struct config *config;
	const char *op;		   /* the oldest operation in words, NULL: none outstanding */
	uint64_t missing;	   /* other ranks that it was waiting for, as far as known */
	uint64_t missing_ns;	   /* for so long */
	uint64_t joined;	   /* ranks that were seen in the job, even if they gave up since */
	struct wire_range awaited; /* ranks behind another switch that are waited for; nr 0: none */
	bool refused;		   /* nobody listens at the switch's address */
	bool forgotten;		   /* the switch had lost the job */
	bool above;		   /* and has said that this is because a switch above it had */
	int unsent; /* errno of a packet that could not go, if nothing came since; 0: none */
};

/* The bit of a rank, 0 if it is not below our own switch. */
uint64_t failure_bit(const struct config *config, unsigned rank);
/* Ranks that a STATUS says to be awaited behind another switch. */
struct wire_range failure_awaited(const struct wire_status *status);

/*
 * Whether a leaf says with this message that it gives up the epoch, since the switch above it has lost the job.  One
 * that has lost it itself has no more than the number by which it was asked.
 */
bool failure_is_above(const struct session *session, const struct wire_msg *msg);

/* A remark on ranks that disagree, as packets that were corrupted look the same; "" where they are found. */
const char *failure_corruption(const struct config *config);

/* An epoch was ended by the switch's word.  Returns a negative enum tally_status. */
int failure_over(const struct failure *failure, const struct wire_status *status);
/* Joining failed. */
int failure_join(const struct failure *failure, const struct session *session);

struct failure_stall {
	uint64_t for_ns;
	bool known;  /* missing and slot are */
	bool silent; /* nothing came from the switch for that long */
	uint64_t missing;
	uint16_t slot;
};
/* The oldest operation waits. */
int failure_stall(const struct failure *failure, const struct failure_stall *stall);

#endif
