/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - membership of one rank in one job: JOIN, STATUS, END, LEAVE, epochs.  A pure machine.
 *
 * States:
 *	JOINING	 no epoch; JOIN is repeated until a STATUS lets us in, refuses us for 5 s, or time is up
 *	RUNNING	 in an epoch; silent, save that a switch that forgot us is asked for a new one (JOIN with our own
 *		 epoch as base) until it names one
 *	ENDED	 the epoch is over, by the switch's word or by ours; silent until session_rejoin()
 *	ENDING	 END is repeated until a newer epoch is seen, at most 200 ms; then ENDED
 *	LEAVING	 LEAVE is repeated until acknowledged, at most 200 ms; then LEFT
 *	LEFT	 over
 *	FAILED	 joining failed; session_failure() says why
 *
 * docs/protocol.md section "Sessions" has the rules; the models in tests/proof prove them.
 */
#ifndef HOST_CORE_SESSION_H
#define HOST_CORE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

enum session_state {
	SESSION_JOINING,
	SESSION_RUNNING,
	SESSION_ENDED,
	SESSION_ENDING,
	SESSION_LEAVING,
	SESSION_LEFT,
	SESSION_FAILED,
};

enum session_event {
	SESSION_NOTHING,
	SESSION_BEGUN, /* a new epoch runs: handle, epoch, P and S are in session_status() */
	SESSION_OVER,  /* our epoch is over: cause and ranks in session_status() */
	SESSION_REPLY, /* STATUS about our running epoch: answers a KEEPALIVE, or is news of who is silent */
	SESSION_GAVE_UP, /* now FAILED */
	SESSION_GONE,	 /* now LEFT */
	SESSION_SMALLER, /* P was lowered because the path does not carry it: session_chunk() */
};

/* Why joining failed. */
enum session_failure {
	SESSION_OK,
	SESSION_NO_ANSWER,     /* no STATUS ever came */
	SESSION_MISSING_RANKS, /* the switch answers; ranks are missing */
	SESSION_WAS_REFUSED,   /* refused for 5 s: cause, field and values in session_status() */
	SESSION_TOO_LARGE, /* the path does not carry the chunk asked for: session_chunk() is the largest that fits */
	SESSION_VERSION, /* the switch speaks another version */
};

struct session_params {
	const char *name; /* of the job, <= WIRE_NAME bytes; copied */
	uint64_t inc;	  /* 64 random bits, fresh at every open */
	uint16_t rank, world;
	uint16_t slots; /* S wanted */
	uint16_t p;	/* P at most */
	bool p_fixed;	/* the user asked for this P */
	bool check;	/* WIRE_JOB_CHECK */
	uint16_t port, nr_ports;
	uint64_t join_timeout_ns; /* 0: never */
};

struct session {
	enum session_state state;
	enum session_failure failure;
	struct wire_join join; /* what we ask for; base is kept here */
	uint16_t rank;
	uint64_t key;
	uint64_t epoch;	 /* entered; 0: none */
	uint64_t spoken; /* the epoch that END and LEAVE speak about: one we are in; 0: none */
	uint16_t job;	 /* handle */
	bool forgotten;	 /* RUNNING, but the switch answered UNKNOWN */
	bool p_fixed;
	bool answered;	  /* any STATUS since joining began */
	bool small;	  /* the next probe is a small one */
	bool reached;	  /* a small probe was answered */
	bool carried;	  /* the path carries P: a JOIN was answered since joining began */
	bool blameless;	  /* P is not why JOINs have no answer */
	uint16_t p_asked; /* before P was lowered */
	uint16_t fits;	  /* TOO_LARGE: the largest P that the path carries, as far as known */
	unsigned unanswered, found; /* JOINs in a row, and small probes answered meanwhile */
	struct wire_status status;  /* the last one of our job */
	uint64_t refused_ns;	    /* since when we are refused without a break; 0: not */
	uint64_t refused_last_ns;
	bool differs; /* another rank asked for something else, as `dissent` says */
	struct wire_status dissent;
	uint64_t since_ns; /* entered this state */
	uint64_t next_ns;  /* next message of our own */
	uint64_t retry_ns;
	uint64_t join_timeout_ns;
	uint8_t end_cause;
};

void session_init(struct session *session, const struct session_params *params, uint64_t now_ns);

/* Writes the next control message if one is due: its length, 0 if none.  buf has room for WIRE_MSG_MAX.  Call
 * until 0.  *event: GAVE_UP or GONE if time did it, else NOTHING. */
size_t session_output(struct session *session, void *buf, uint64_t now_ns,
		      enum session_event *event);

/* A parsed STATUS whose source is the switch. */
enum session_event session_input(struct session *session, const struct wire_msg *msg,
				 uint64_t now_ns);

/* The last message was larger than the local interface's MTU: the largest P that fits it. */
enum session_event session_too_large(struct session *session, uint16_t fits, uint64_t now_ns);

/* Our operations failed by our own judgement (deadline): the epoch is over for us.  Sends nothing. */
void session_fail(struct session *session, uint64_t now_ns);
/* Tells the others too: END, repeated. */
void session_abort(struct session *session, uint8_t cause, uint64_t now_ns);
void session_rejoin(struct session *session, uint64_t now_ns);
void session_leave(struct session *session, uint64_t now_ns);

/* When session_output() has something to do at the latest; UINT64_MAX: never. */
uint64_t session_deadline(const struct session *session);
static inline const struct wire_status *session_status(const struct session *session)
{
	return &session->status;
}
/* P asked for now, or the largest that fits. */
static inline uint16_t session_chunk(const struct session *session)
{
	return session->failure == SESSION_TOO_LARGE ? session->fits : session->join.p;
}

#endif
