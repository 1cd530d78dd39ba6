// SPDX-License-Identifier: BSD-3-Clause
// failure.c - what is wrong and what to do about it, in one sentence and one status.
#include "host/failure.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/include/tally.h"
#include "proto/print.h"

enum { FAILURE_RANKS = 256, FAILURE_VALUE = 48, FAILURE_SWITCH = 160, FAILURE_HINT = 192 };

#define FAILURE_GO_ON " calls tally_rejoin() and goes on from a step they agree on"
#define FAILURE_REJOIN "; every rank" FAILURE_GO_ON
#define FAILURE_REPLACED "; every other rank" FAILURE_GO_ON
#define FAILURE_RESTART "; start it again, then every rank calls tally_rejoin()"
#define FAILURE_REPLACE "; start it again, then every other rank calls tally_rejoin()"
/* A rank or a switch. */
#define FAILURE_REVIVE "; start it again, then every rank that still runs calls tally_rejoin()"

static int failure_say(const struct failure *failure, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int failure_say(const struct failure *failure, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(failure->text, failure->cap, format, args);
	va_end(args);
	return status;
}

/* "rank 2 of 4", "rank 2 of 4 (this one)". */
static const char *failure_rank(const struct failure *failure, unsigned rank,
				char out[FAILURE_VALUE])
{
	snprintf(out, FAILURE_VALUE, "rank %u of %" PRIu64 "%s", rank, failure->config->size,
		 rank == failure->config->rank ? " (this one)" : "");
	return out;
}

static const char *failure_switch(const struct failure *failure, char out[FAILURE_SWITCH])
{
	if (failure->config->sw.inproc)
		snprintf(out, FAILURE_SWITCH, "the switch inside this process (%s)",
			 failure->config->sw.text);
	else
		snprintf(out, FAILURE_SWITCH, "the switch %s", failure->config->sw.text);
	return out;
}

uint64_t failure_bit(const struct config *config, unsigned rank)
{
	const struct wire_range own = config_own_range(config);
	const unsigned i = rank - (unsigned)own.first;

	return i < own.nr && i < WIRE_WORLD_MAX ? UINT64_C(1) << i : 0;
}

static struct wire_range failure_range(uint64_t value)
{
	return (struct wire_range){ (uint16_t)(value >> 16), (uint16_t)value };
}

struct wire_range failure_awaited(const struct wire_status *status)
{
	if (status->state == WIRE_REFUSED || status->field != WIRE_FIELD_RANGES)
		return (struct wire_range){ 0, 0 };
	return failure_range(status->value_a);
}

static const char *failure_span(struct wire_range range, char out[FAILURE_VALUE])
{
	if (range.nr > 1)
		snprintf(out, FAILURE_VALUE, "%u-%u", range.first, range.first + range.nr - 1);
	else if (range.nr)
		snprintf(out, FAILURE_VALUE, "%u", range.first);
	else
		snprintf(out, FAILURE_VALUE, "none");
	return out;
}

/*
 * "rank 2 of 4", "ranks 5-7, 9 of 16"; ranks behind another switch only if none of our own is
 * missing: "ranks 8-15 of 16 (behind another switch)".  False: nobody is.
 */
static bool failure_whom(const struct failure *failure, uint64_t missing, char out[FAILURE_RANKS])
{
	const unsigned first = config_own_range(failure->config).first;
	const uint64_t size = failure->config->size;
	char span[FAILURE_VALUE];
	const char *comma = "";
	int len;

	if (!missing) {
		snprintf(out, FAILURE_RANKS, "rank%s %s of %" PRIu64 " (behind another switch)",
			 failure->awaited.nr > 1 ? "s" : "", failure_span(failure->awaited, span),
			 size);
		return failure->awaited.nr > 0;
	}
	len = snprintf(out, FAILURE_RANKS, "rank%s", missing & (missing - 1) ? "s" : "");
	for (unsigned i = 0, n; i < WIRE_WORLD_MAX && len < FAILURE_RANKS; i += n) {
		n = 1;
		if (!(missing >> i & 1))
			continue;
		while (i + n < WIRE_WORLD_MAX && missing >> (i + n) & 1)
			n++;
		failure_span((struct wire_range){ (uint16_t)(first + i), (uint16_t)n }, span);
		len += snprintf(out + len, (size_t)(FAILURE_RANKS - len), "%s %s", comma, span);
		comma = ",";
	}
	if (len < FAILURE_RANKS)
		snprintf(out + len, (size_t)(FAILURE_RANKS - len), " of %" PRIu64, size);
	return true;
}

/* --- Ranks that disagree on an operation -------------------------------------------------------- */

static const char *failure_collective(unsigned collective)
{
	return collective == WIRE_ALLREDUCE ? "all-reduce"
	       : collective == WIRE_BARRIER ? "barrier"
					    : "unknown";
}

/* Of an operation without values there is none on the wire. */
static const char *failure_wire(unsigned width)
{
	return width == 4 ? "int32" : width == 2 ? "int16" : "nothing";
}

static const char *failure_switched(unsigned flag)
{
	return flag ? "asked for" : "not asked for";
}

/* A field of a descriptor; word: its value has a name. */
struct failure_field {
	const char *name;
	uint64_t a, b;
	const char *(*word)(unsigned value);
};

static const char *failure_value(const struct failure_field *field, uint64_t value,
				 char out[FAILURE_VALUE])
{
	if (field->word)
		snprintf(out, FAILURE_VALUE, "%s", field->word((unsigned)value));
	else
		snprintf(out, FAILURE_VALUE, "%" PRIu64, value);
	return out;
}

/* The first field that differs. */
static bool failure_differ(const struct wire_desc *a, const struct wire_desc *b,
			   struct failure_field *out)
{
	const struct failure_field fields[] = {
		{ "the collective", a->collective, b->collective, failure_collective },
		{ "its number", a->opno, b->opno, NULL },
		{ "the count", a->count, b->count, NULL },
		{ "the dtype", a->dtype, b->dtype, print_dtype },
		{ "the op", a->op, b->op, print_op },
		{ "the wire (TALLY_WIRE)", a->width, b->width, failure_wire },
		{ "the root", a->root, b->root, NULL },
		{ "the world size", a->world, b->world, NULL },
		{ "the chunk size", a->p, b->p, NULL },
		{ "saturation", a->flags & WIRE_DESC_SATURATE, b->flags & WIRE_DESC_SATURATE,
		  failure_switched },
		{ "a flag", a->flags, b->flags, NULL },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].a == fields[i].b)
			continue;
		*out = fields[i];
		return true;
	}
	return false;
}

const char *failure_corruption(const struct config *config)
{
	return config->check ? "" : ", or packets were corrupted on the way: TALLY_CHECK=1 tells";
}

static int failure_mismatch(const struct failure *failure, const struct wire_status *status)
{
	static const uint8_t none[WIRE_DESC];
	char what[128], va[FAILURE_VALUE], vb[FAILURE_VALUE];
	struct failure_field field;
	struct wire_desc a, b;
	bool differ = false;

	if (memcmp(status->desc_a, none, WIRE_DESC) && memcmp(status->desc_b, none, WIRE_DESC)) {
		wire_desc_parse(&a, status->desc_a);
		wire_desc_parse(&b, status->desc_b);
		differ = failure_differ(&a, &b, &field);
	}
	if (!differ)
		return failure_say(
			failure, TALLY_MISMATCH,
			"ranks disagree on %s: rank %u sent something else than rank %u%s" FAILURE_REJOIN,
			failure->op ? failure->op : "an operation", status->wid_a, status->wid_b,
			failure_corruption(failure->config));
	if (a.collective == b.collective)
		snprintf(what, sizeof(what), "%s %" PRIu32, failure_collective(a.collective),
			 a.opno);
	else
		snprintf(what, sizeof(what), "operation %" PRIu32, a.opno);
	return failure_say(
		failure, TALLY_MISMATCH,
		"ranks disagree on %s: %s is %s on rank %u and %s on rank %u" FAILURE_REJOIN, what,
		field.name, failure_value(&field, field.a, va), status->wid_a,
		failure_value(&field, field.b, vb), status->wid_b);
}

/* --- Epochs that ended -------------------------------------------------------------------------- */

bool failure_is_above(const struct session *session, const struct wire_msg *msg)
{
	struct wire_status status;

	return session->state == SESSION_RUNNING && wire_status_parse(&status, msg) == WIRE_OK &&
	       status.state == WIRE_UNKNOWN && status.key == session->key &&
	       msg->job == session->job && msg->epoch == session->epoch;
}

static int failure_lost(const struct failure *failure)
{
	const bool tree = failure->config->ranges.nr > 0;
	char sw[FAILURE_SWITCH];

	return failure_say(
		failure, TALLY_PROTOCOL,
		"%s%s%s lost the state of job %s: it was restarted, gave the job up, or has another process "
		"in this one's place" FAILURE_REJOIN,
		tree && failure->forgotten && failure->above ? "a switch above " : "",
		failure_switch(failure, sw),
		tree && !failure->forgotten ? ", or a switch above it," : "", failure->config->job);
}

static int failure_left(const struct failure *failure, unsigned rank)
{
	char a[FAILURE_VALUE];

	return failure_say(failure, TALLY_LEFT,
			   "%s left the job%s%s; the others go on without it only as a smaller job",
			   failure_rank(failure, rank, a), failure->op ? " before " : "",
			   failure->op ? failure->op : "");
}

/* No member is to blame: some switch has not the state that the others' is. */
static int failure_other(const struct failure *failure, const struct wire_status *status)
{
	const struct config *config = failure->config;
	char a[FAILURE_VALUE], sw[FAILURE_SWITCH];

	failure_switch(failure, sw);
	if (failure->forgotten)
		return failure_lost(failure);
	failure_rank(failure, status->wid_a, a);
	if (status->cause == WIRE_CAUSE_PROTOCOL && status->wid_a < config->size &&
	    !failure_bit(config, status->wid_a))
		return failure_say(
			failure, TALLY_PROTOCOL,
			"the switch of %s, or one above it, lost the state of job %s, or that "
			"rank did not wait for a result%s",
			a, config->job, FAILURE_REJOIN);
	if (status->cause == WIRE_CAUSE_PROTOCOL)
		return failure_say(
			failure, TALLY_PROTOCOL,
			"%s%s lost the state of job %s, or %s did not wait for a result%s", sw,
			config->ranges.nr ? ", or a switch above it," : "", config->job, a,
			FAILURE_REJOIN);
	if (config->ranges.nr)
		return failure_say(failure, TALLY_PROTOCOL,
				   "a switch above %s lost the state of job %s, or its ranks formed "
				   "anew without this one%s",
				   sw, config->job, FAILURE_REJOIN);
	return failure_say(failure, TALLY_PEER,
			   "the ranks of job %s formed anew without this one%s", config->job,
			   FAILURE_REJOIN);
}

/* To its parent a leaf whose process is gone is a member that is gone, and goes by its first rank. */
static int failure_gone(const struct failure *failure, unsigned rank)
{
	const struct config *config = failure->config;
	char a[FAILURE_VALUE], sw[FAILURE_SWITCH];
	bool first;

	failure_rank(failure, rank, a);
	failure_switch(failure, sw);
	first = config->ranges.nr && rank == config_own_range(config).first;
	if (first && rank == config->rank)
		return failure_say(failure, TALLY_PEER, "%s is gone, or was for a while%s", sw,
				   FAILURE_RESTART);
	if (first)
		return failure_say(failure, TALLY_PEER, "%s, or %s, is gone: no process answers%s",
				   a, sw, FAILURE_REVIVE);
	if (rank == config->rank)
		return failure_say(
			failure, TALLY_PEER,
			"%s was taken for dead: its UDP port could not be reached from %s%s", a, sw,
			FAILURE_REJOIN);
	if (config->ranges.nr && !failure_bit(config, rank))
		return failure_say(failure, TALLY_PEER,
				   "%s, or the switch it is behind, is gone: no process answers%s",
				   a, FAILURE_REVIVE);
	return failure_say(failure, TALLY_PEER, "%s died: its process is gone%s", a,
			   FAILURE_REPLACE);
}

static int failure_cause(const struct failure *failure, const struct wire_status *status)
{
	const bool tree = failure->config->ranges.nr > 0;
	char a[FAILURE_VALUE], sw[FAILURE_SWITCH];

	failure_rank(failure, status->wid_a, a);
	failure_switch(failure, sw);
	switch ((enum wire_cause)status->cause) {
	case WIRE_CAUSE_MISMATCH:
		return failure_mismatch(failure, status);
	case WIRE_CAUSE_RESTARTED:
		/* To its parent a leaf that lost its state is a member that restarted. */
		if (failure->forgotten)
			return failure_lost(failure);
		if (!failure_bit(failure->config, status->wid_a))
			return failure_say(failure, TALLY_PEER,
					   "%s, or the switch it is behind, restarted%s", a,
					   FAILURE_REJOIN);
		return failure_say(failure, TALLY_PEER,
				   "%s restarted: another process joined in its place%s", a,
				   FAILURE_REPLACED);
	case WIRE_CAUSE_GONE:
		return failure_gone(failure, status->wid_a);
	case WIRE_CAUSE_SILENT:
		return failure_say(
			failure, TALLY_PEER,
			"nothing was heard of %s, nor of any other rank of job %s, for 15 minutes, and another "
			"job needed the slots%s",
			a, failure->config->job, FAILURE_REJOIN);
	case WIRE_CAUSE_ABORTED:
		return failure_say(failure, TALLY_PEER, "%s aborted the job%s", a, FAILURE_REJOIN);
	case WIRE_CAUSE_LEFT:
		return failure_left(failure, status->wid_a);
	case WIRE_CAUSE_ROUNDS:
		return failure_say(failure, TALLY_PROTOCOL, "the epoch's 2^31 rounds are used up%s",
				   FAILURE_REJOIN);
	case WIRE_CAUSE_RESET:
		/* In a tree it may have been at any of the switches. */
		return failure_say(failure, TALLY_PROTOCOL, "job %s was reset by an operator%s%s%s",
				   failure->config->job, tree ? "" : " at ", tree ? "" : sw,
				   FAILURE_REJOIN);
	case WIRE_CAUSE_CORRUPTED:
		return failure_say(
			failure, TALLY_PROTOCOL,
			"%s found that a sum was corrupted on the way (its CLOSE chunk did not verify)%s",
			a, FAILURE_REJOIN);
	case WIRE_CAUSE_DEVICE:
		return failure_say(failure, TALLY_PEER,
				   "%s: its GPU failed: the words of its own error say how%s", a,
				   FAILURE_REJOIN);
	case WIRE_CAUSE_NONE:
	case WIRE_CAUSE_PROTOCOL:
	case WIRE_CAUSE_PARAMETERS:
	case WIRE_CAUSE_DUPLICATE_RANK:
	case WIRE_CAUSE_NO_SLOTS:
	case WIRE_CAUSE_VERSION:
		break;
	}
	return failure_other(failure, status);
}

/*
 * A rank that gives up waiting for another ends the epoch of all: those that were about to give up
 * as well name the one that everybody waited for, too.
 */
int failure_over(const struct failure *failure, const struct wire_status *status)
{
	const uint64_t missing = failure->missing,
		       cause = failure_bit(failure->config, status->wid_a);
	const unsigned behind = status->wid_a - (unsigned)failure->awaited.first;
	const int rc = failure_cause(failure, status);
	const size_t len = strlen(failure->text);
	char ranks[FAILURE_RANKS];

	if (!failure->missing_ns || missing & cause || rc == TALLY_MISMATCH)
		return rc;
	if ((!missing && behind < failure->awaited.nr) || !failure_whom(failure, missing, ranks))
		return rc;
	snprintf(failure->text + len, failure->cap - len,
		 "; until then %s was waiting for %s for %.1f s",
		 failure->op ? failure->op : "an operation", ranks,
		 (double)failure->missing_ns / 1e9);
	return rc;
}

/* --- Joining ------------------------------------------------------------------------------------ */

static int failure_no_answer(const struct failure *failure, const struct session *session,
			     double seconds)
{
	/* A switch gives no epoch below one that a rank knows: it counts the JOIN as bad_field. */
	const bool known = session->join.base != 0;
	const struct config_switch *to = &failure->config->sw;

	if (to->inproc)
		return failure_say(failure, TALLY_TIMEOUT,
				   "the switch inside this process (%s) did not answer for %.1f s",
				   to->text, seconds);
	if (failure->refused)
		return failure_say(
			failure, TALLY_TIMEOUT,
			"nothing listens on UDP %s: start tally-switch -i 1@udp:%s there, or set "
			"TALLY_SWITCH to where it runs",
			to->text, to->text);
	if (failure->unsent)
		return failure_say(
			failure, TALLY_TIMEOUT,
			"the switch %s does not answer, for %.1f s: packets to it cannot be sent from "
			"here: %s",
			to->text, seconds, strerror(failure->unsent));
	return failure_say(
		failure, TALLY_TIMEOUT,
		"the switch %s does not answer, for %.1f s: check that it runs, that TALLY_SWITCH is "
		"its address, and that nothing filters UDP port %u%s",
		to->text, seconds, to->port,
		known ? "; if it was restarted, that its clock was not set back (it counts bad_field then)"
		      : "");
}

static int failure_missing(const struct failure *failure, const struct wire_status *status,
			   double seconds)
{
	const unsigned nr = config_own_range(failure->config).nr;
	const uint64_t all = nr >= 64 ? UINT64_MAX : (UINT64_C(1) << nr) - 1;
	const uint64_t never = all & ~(status->joined | failure->joined);
	const uint64_t missing = never ? never : all & ~status->joined;
	const bool many = missing ? missing & (missing - 1) : failure->awaited.nr > 1;
	char ranks[FAILURE_RANKS], sw[FAILURE_SWITCH], hint[FAILURE_HINT];

	if (!failure_whom(failure, missing, ranks))
		return failure_say(
			failure, TALLY_TIMEOUT,
			"job %s: all ranks below %s are there, but the switch above it did not answer "
			"within %.1f s: check that it runs, and that --parent of tally-switch is its "
			"address",
			failure->config->job, failure_switch(failure, sw), seconds);
	if (!failure->config->sw.named)
		snprintf(hint, sizeof(hint),
			 "no TALLY_SWITCH is set, so the switch is the one inside this process, which only its own "
			 "threads reach; set TALLY_SWITCH to a switch that all ranks reach");
	else
		snprintf(hint, sizeof(hint), "start %s with the same TALLY_JOB, TALLY_SIZE and %s",
			 many ? "them" : "it",
			 failure->config->ranges.nr
				 ? "tree of switches"
				 : "TALLY_SWITCH, or set TALLY_RANGES if the switch is a leaf");
	return failure_say(failure, TALLY_TIMEOUT, "job %s: %s did not join within %.1f s: %s",
			   failure->config->job, ranks, seconds, hint);
}

/* What one switch cannot do, or ranges that contradict each other. */
static int failure_tree(const struct failure *failure, const struct wire_status *status)
{
	char a[FAILURE_VALUE], b[FAILURE_VALUE], sw[FAILURE_SWITCH];

	failure_switch(failure, sw);
	if (status->field == WIRE_FIELD_WORLD)
		return failure_say(failure, TALLY_MISMATCH,
				   "job %s: %s adds up at most %" PRIu64 " ranks, not %" PRIu64
				   ": use a tree of switches (tally-switch --parent, TALLY_RANGES)",
				   failure->config->job, sw, status->value_a, status->value_b);
	if (status->value_a == status->value_b)
		return failure_say(
			failure, TALLY_MISMATCH,
			"job %s: a switch has ranks and other switches below it at the same time, which it "
			"cannot add up, or is above itself: give all ranks the TALLY_SWITCH and TALLY_RANGES "
			"of a leaf, and no switch itself, or one below it, as --parent",
			failure->config->job);
	return failure_say(
		failure, TALLY_MISMATCH,
		"job %s: TALLY_RANGES do not fit together: ranks %s there, ranks %s here; "
		"each switch has ranks of its own, and the root has all %" PRIu64,
		failure->config->job, failure_span(failure_range(status->value_a), a),
		failure_span(failure_range(status->value_b), b), failure->config->size);
}

/* What TALLY_CHECK is where a job has these flags; ranks differ in no other. */
static uint64_t failure_checks(uint64_t flags)
{
	return flags & WIRE_JOB_CHECK ? 1 : 0;
}

static int failure_parameters(const struct failure *failure, const struct wire_status *status)
{
	static const char *const names[] = {
		[WIRE_FIELD_NONE] = "parameters",
		[WIRE_FIELD_WORLD] = "size (TALLY_SIZE)",
		[WIRE_FIELD_CHUNK] = "chunk (TALLY_CHUNK)",
		[WIRE_FIELD_FLAGS] = "check (TALLY_CHECK)",
		[WIRE_FIELD_RANK] = "rank (TALLY_RANK)",
		[WIRE_FIELD_SLOTS] = "slots (TALLY_SLOTS)",
	};
	const char *name = status->field < sizeof(names) / sizeof(names[0]) ? names[status->field]
									    : "parameters";
	const bool flags = status->field == WIRE_FIELD_FLAGS;
	const uint64_t theirs = flags ? failure_checks(status->value_a) : status->value_a;
	const uint64_t ours = flags ? failure_checks(status->value_b) : status->value_b;
	char other[32] = "the job";

	if (status->wid_a != WIRE_WID_NONE)
		snprintf(other, sizeof(other), "rank %u", status->wid_a);
	return failure_say(failure, TALLY_MISMATCH,
			   "ranks disagree on job %s: %s is %" PRIu64 " for %s and %" PRIu64
			   " for rank %u; "
			   "give all ranks the same, or this job another TALLY_JOB",
			   failure->config->job, name, theirs, other, ours,
			   status->wid_b != WIRE_WID_NONE ? status->wid_b
							  : (unsigned)failure->config->rank);
}

static int failure_taken(const struct failure *failure, const struct wire_status *status)
{
	const uint64_t at = status->value_a;

	return failure_say(
		failure, TALLY_MISMATCH,
		"rank %" PRIu64
		" of job %s is taken by another process, at %u.%u.%u.%u:%u, last heard "
		"%.1f s ago: give each process its own TALLY_RANK, or this job another TALLY_JOB; if "
		"that process is not wanted, end it, or give its job up (tallyctl reset job %s); if its "
		"host is gone, wait until it was silent for 60 s",
		failure->config->rank, failure->config->job, (unsigned)(at >> 40 & 0xff),
		(unsigned)(at >> 32 & 0xff), (unsigned)(at >> 24 & 0xff),
		(unsigned)(at >> 16 & 0xff), (unsigned)(at & 0xffff), (double)status->value_b / 1e3,
		failure->config->job);
}

static int failure_refused(const struct failure *failure, const struct wire_status *status)
{
	const struct config *config = failure->config;
	char sw[FAILURE_SWITCH];

	failure_switch(failure, sw);
	if (status->cause == WIRE_CAUSE_PARAMETERS &&
	    (status->field == WIRE_FIELD_RANGES ||
	     (status->field == WIRE_FIELD_WORLD && status->value_a == WIRE_WORLD_MAX &&
	      status->wid_a == WIRE_WID_NONE)))
		return failure_tree(failure, status);
	if (status->cause == WIRE_CAUSE_PARAMETERS)
		return failure_parameters(failure, status);
	if (status->cause == WIRE_CAUSE_DUPLICATE_RANK)
		return failure_taken(failure, status);
	if (status->cause == WIRE_CAUSE_NO_SLOTS && status->field == WIRE_FIELD_NONE)
		return failure_say(
			failure, TALLY_NO_SLOTS,
			"%s%s takes no new jobs, and job %s is one: its operator drains it (tallyctl "
			"drain); take another switch, or wait until that is over",
			sw, config->ranges.nr ? ", or a switch above it," : "", config->job);
	/* What is wanted is a place for a job, not slots. */
	if (status->cause == WIRE_CAUSE_NO_SLOTS && status->value_a && !status->value_b)
		return failure_say(
			failure, TALLY_NO_SLOTS,
			"%s has no place free for job %s: other jobs, which run or wait for ranks, hold "
			"all %" PRIu64
			", or those that came in by the same port hold half (tallyctl show jobs); wait "
			"until one ends, or start it with more --jobs",
			sw, config->job, status->value_a);
	if (status->cause == WIRE_CAUSE_NO_SLOTS)
		return failure_say(
			failure, TALLY_NO_SLOTS,
			"%s has no slots free for job %s: other jobs hold them, or those that came in by "
			"the same port hold half (tallyctl show jobs); wait until one ends, or start it "
			"with more --slots and --memory",
			sw, config->job);
	return failure_say(failure, TALLY_PROTOCOL, "%s refused rank %" PRIu64 " of job %s: %s", sw,
			   config->rank, config->job, print_cause(status->cause));
}

int failure_join(const struct failure *failure, const struct session *session)
{
	const struct wire_status *status = session_status(session);
	const double seconds = (double)session->join_timeout_ns / 1e9;
	char sw[FAILURE_SWITCH];

	failure_switch(failure, sw);
	switch (session->failure) {
	case SESSION_NO_ANSWER:
		return failure_no_answer(failure, session, seconds);
	case SESSION_MISSING_RANKS:
		return failure_missing(failure, status, seconds);
	case SESSION_WAS_REFUSED:
		return failure_refused(failure, status);
	case SESSION_TOO_LARGE:
		return failure_say(failure, TALLY_INVALID,
				   "TALLY_CHUNK=%" PRIu64
				   " does not fit the path to %s: the largest that fits is %u",
				   failure->config->chunk, sw, session_chunk(session));
	case SESSION_VERSION:
		return failure_say(
			failure, TALLY_PROTOCOL,
			"%s speaks another version of the protocol than this library (%d)", sw,
			WIRE_VERSION);
	case SESSION_OK:
		break;
	}
	return failure_say(failure, TALLY_PROTOCOL, "joining job %s at %s failed",
			   failure->config->job, sw);
}

/* --- Waiting ------------------------------------------------------------------------------------ */

int failure_stall(const struct failure *failure, const struct failure_stall *stall)
{
	const double seconds = (double)stall->for_ns / 1e9;
	const char *op = failure->op ? failure->op : "an operation", *job = failure->config->job;
	char ranks[FAILURE_RANKS], sw[FAILURE_SWITCH];

	failure_switch(failure, sw);
	if (failure->refused)
		return failure_say(failure, TALLY_TIMEOUT,
				   "job %s: %s: nothing listens at %s any more, for %.1f s", job,
				   op, sw, seconds);
	if (failure->forgotten)
		return failure_say(
			failure, TALLY_TIMEOUT,
			"job %s: %s: %s%s lost the state of the job and lets no rank into a new epoch, for %.1f "
			"s: check that it was not restarted with its clock set back (it counts bad_field then)",
			job, op,
			failure->config->ranges.nr && failure->above ? "a switch above " : "", sw,
			seconds);
	if (stall->silent)
		return failure_say(failure, TALLY_TIMEOUT,
				   "job %s: %s: %s does not answer, for %.1f s%s%s", job, op, sw,
				   seconds,
				   failure->unsent ? ": packets to it cannot be sent from here: "
						   : "",
				   failure->unsent ? strerror(failure->unsent) : "");
	if (stall->known && !stall->missing && !failure->awaited.nr && failure->config->ranges.nr)
		return failure_say(
			failure, TALLY_TIMEOUT,
			"job %s: %s: all ranks below %s have sent theirs, but a switch above it does not "
			"answer, for %.1f s",
			job, op, sw, seconds);
	if (!stall->known || !failure_whom(failure, stall->missing, ranks))
		return failure_say(failure, TALLY_TIMEOUT,
				   "job %s: %s: waiting for results of %s for %.1f s", job, op, sw,
				   seconds);
	return failure_say(failure, TALLY_TIMEOUT,
			   "job %s: %s: waiting for %s for %.1f s; slot %u%s", job, op, ranks,
			   seconds, stall->slot,
			   !stall->missing && failure->awaited.nr > 1
				   ? "; tallyctl show stalls says which of them"
				   : "");
}
