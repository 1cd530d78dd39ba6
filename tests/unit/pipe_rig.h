/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe_rig.h - a switch on the bench: messages are sent to it in one call, what it does comes back
 * as one text.
 *
 * The text is the packet's counter, then the packet as it goes out (if it does) with its
 * destinations, then each STATUS in the queue:
 *	"completed | RESULT ADD32 job 1010 epoch 1010 slot 32 round 0 desc 00000007 len 128 > w0 w1"
 *	"join | STATUS FORMING epoch 1010 wid 0 inc 100 missing 1 len 160 > w0"
 * What a leaf says to its parent begins with UP and has the fields that count:
 *	"join | STATUS FORMING ... > w4 | UP ASK wid 4 ranks 3 inc 900 base 0 P 256 S 1 world 16"
 *	"partial | DATA ADD32 PARTIAL job 7 epoch 2000 slot 32 round 0 wid 4 ... > up"
 * w<n> is the usual address of rank n; w<n>+k is k ports above.  Of a STATUS only what is not the
 * usual is said.
 */
#ifndef TESTS_UNIT_PIPE_RIG_H
#define TESTS_UNIT_PIPE_RIG_H

#include "switch/core/pipe.h"

enum {
	RIG_P = 256,	    /* the switch's largest P */
	RIG_SLOTS = 4,	    /* data slots the usual JOIN wants */
	RIG_PORTS = 2,	    /* data ports of each rank */
	RIG_BOOT_MS = 1000, /* wall clock at start; the rig then waits until RIG_NOW_MS */
	RIG_NOW_MS = 1010,
	RIG_PARENT_FROM = 48880, /* own UDP port of a leaf */
	RIG_TEXT = 16384,
};

struct rig {
	struct pipe *pipe;
	void *mem;
	struct pipe_time now;
	uint8_t buf[WIRE_MSG_MAX]; /* the packet to be sent, and what became of it */
	struct pipe_pkt pkt;
	uint64_t nr_sent;
	char text[RIG_TEXT];
};

/* Room for 4 jobs and 200 slots of RIG_P. */
struct pipe_params rig_params(void);
void rig_open(struct rig *rig, const struct pipe_params *params);
/* A usual one, with the usual job of so many ranks. */
void rig_open_job(struct rig *rig, unsigned world);
void rig_close(struct rig *rig);
/* Both clocks go on. */
void rig_wait(struct rig *rig, uint64_t ms);

struct flow rig_flow(unsigned wid);
/* Of the switch above a rig whose parameters say that it is a leaf. */
struct flow rig_parent(void);
/* len bytes of buf, from flow. */
const char *rig_send(struct rig *rig, const struct flow *flow, uint32_t len);
/* What a JOIN of this rank usually says: inc 100 + wid, base as the job named "job" needs it. */
struct wire_join rig_join_of(const struct rig *rig, unsigned wid, unsigned world);
const char *rig_join(struct rig *rig, unsigned wid, const struct wire_join *join);
const char *rig_join_usual(struct rig *rig, unsigned wid, unsigned world);
/* The same of another process, at another port: inc 777. */
struct wire_join rig_rival_of(const struct rig *rig, unsigned wid, unsigned world);
/* The job "job" with all its ranks, running; a millisecond later. */
const struct job *rig_form(struct rig *rig, unsigned world);
/* The same with CHECK. */
const struct job *rig_form_checked(struct rig *rig, unsigned world);
/*
 * A message of this job and rank with a zero payload of len bytes, to be changed at will before
 * rig_send_msg().
 */
struct wire_msg rig_msg(const struct rig *rig, enum wire_type type, unsigned wid, uint32_t len);
/* Sealed if the message says so, as rig_msg() does for a job with CHECK. */
const char *rig_send_msg(struct rig *rig, const struct wire_msg *msg);
const char *rig_send_from(struct rig *rig, const struct flow *flow, const struct wire_msg *msg);
const char *rig_leave(struct rig *rig, unsigned wid);
/* 128 bytes of ADD32 into a data slot, element i = rig_element(wid, round, i). */
const char *rig_data(struct rig *rig, unsigned wid, unsigned slot, uint32_t round);
uint32_t rig_element(unsigned wid, uint32_t round, unsigned i);

uint64_t rig_count(const struct rig *rig, enum counter counter);
/* Every packet sent is counted under exactly one name. */
void rig_check_sum(const struct rig *rig);
/* The first word of a text. */
void rig_assert_counter(const char *text, const char *counter);

/* Fails unless the text has the part, or has it not. */
void has(const char *text, const char *part);
void has_not(const char *text, const char *part);

#endif
