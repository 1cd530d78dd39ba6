/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay.h - runs captured packets through the switch again: its set-up, its packets in the order of their stamps, what
 * it sends, and how that differs from what is expected.
 *
 *	replay_setup.c	  what the switch was, from switch.txt or options
 *	replay_source.c	  the packets of one capture file
 *	replay_switch.c	  the switch's own code, with the stamps for a clock
 *	replay_expect.c	  what it sends, compared with captures
 *	replay_explain.c  the difference of two packets in words
 *	replay_hide.c	  copies without addresses, names and values of their own
 *	replay_record.c	  which switches of a record are gone
 *	replay_print.c	  a line for each packet, totals
 */
#ifndef SWITCH_REPLAY_H
#define SWITCH_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/frame.h"
#include "switch/core/counters.h"
#include "switch/core/pipe.h"
#include "switch/io/capfile.h"
#include "switch/io/port.h"

enum { REPLAY_PATH = 4096, REPLAY_TEXT = 1024, REPLAY_BURST = PIPE_BURST };

/* --- Set-up ------------------------------------------------------------------------------------- */

/* Whether the checksums of a port's frames are right: those of a packet socket may be half done, or spoilt. */
enum replay_checks { REPLAY_CHECKS_NO, REPLAY_CHECKS_SOME, REPLAY_CHECKS_YES };

struct replay_port {
	unsigned number;
	bool framed;
	uint16_t mtu;
	uint8_t checks; /* enum replay_checks */
	uint32_t ip;	/* of a socket */
	uint16_t udp_port;
	char in[REPLAY_PATH], out[REPLAY_PATH]; /* captures; empty: none */
};

enum replay_what { REPLAY_ASK, REPLAY_RESET, REPLAY_DRAIN, REPLAY_SPOIL, REPLAY_END };

/* Something that the switch was told besides packets, and when. */
struct replay_event {
	uint64_t ns;
	uint8_t what; /* enum replay_what */
	bool on;
	unsigned port; /* its index */
	uint64_t epoch;
	char name[WIRE_NAME + 1];
};

struct replay_setup {
	struct pipe_params pipe;
	uint32_t ip;
	uint8_t mac[FRAME_MAC];
	struct flow parent; /* ip 0: none */
	int parent_number;  /* of the port that leads there; -1: the first, or it is sought */
	bool virtual_time;  /* stamps are a simulator's */
	bool journal;	    /* from switch.txt: captures of the switch itself */
	bool ended;	    /* in order, so that its captures are whole */
	unsigned nr_ports, nr_events;
	struct replay_port *ports;   /* PORT_MAX */
	struct replay_event *events; /* in time's order */
	unsigned events_room;
};

/* 0, or -1: there is no memory. */
int replay_setup_init(struct replay_setup *setup);
void replay_setup_free(struct replay_setup *setup);
bool replay_setup_has(const char *dir);
/* DIR/switch.txt, and which captures there are beside it. */
int replay_setup_read(struct replay_setup *setup, const char *dir, struct port_error *err);
/* Of a capture with the same stamps: what it is. */
void replay_comment(const struct replay_setup *setup, const char *what, char text[REPLAY_TEXT]);
/* IP or IP:PORT; 0 or -1. */
int replay_address_parse(const char *text, uint32_t *ip, uint16_t *udp_port);
/* Hexadecimal. */
int replay_incarnation_parse(const char *text, uint64_t *inc);
int replay_mac_parse(const char *text, uint8_t mac[FRAME_MAC]);

/* --- Captures ------------------------------------------------------------------------------------ */

struct replay_packet {
	uint64_t ns;
	uint64_t number; /* in its file, from 1 */
	const uint8_t *data;
	uint32_t len, whole; /* captured, and as it was */
};

struct replay_source {
	void *pcap; /* NULL: not open */
	char path[REPLAY_PATH];
	bool partial; /* its writer did not end well */
	bool cut;     /* it ends inside a packet */
	struct replay_packet next;
	bool here; /* next is one */
};

/* Opens and reads the first packet: 0, or -1 and *err. */
int replay_source_open(struct replay_source *source, const char *path, struct port_error *err);
/* Reads the next: 0, also at the end; -1 and *err. */
int replay_source_step(struct replay_source *source, struct port_error *err);
void replay_source_close(struct replay_source *source);

/* --- What is expected ---------------------------------------------------------------------------- */

/* All it sends in one file, or each port in one of its own. */
struct replay_expect {
	bool active, each;
	bool open; /* the replay could not go on to the end */
	unsigned nr;
	struct replay_source *sources; /* one, or one for each port */
	uint64_t *compared;	       /* likewise */
	bool *stopped;		       /* a difference was said: what follows says nothing */
	uint64_t nr_same, nr_different, nr_beyond;
};

int replay_expect_open(struct replay_expect *expect, const struct replay_setup *setup,
		       const char *file, struct port_error *err);
struct replay_sent {
	unsigned port; /* index */
	unsigned number;
	uint64_t ns;
	const uint8_t *data;
	uint32_t len;
};
/* 0, or -1 and *err: the expectation cannot be read. */
int replay_expect_sent(struct replay_expect *expect, const struct replay_setup *setup,
		       const struct replay_sent *sent, struct port_error *err);
/* What was expected and not sent. */
void replay_expect_end(struct replay_expect *expect);
void replay_expect_close(struct replay_expect *expect);

/* The first field that differs, in words. */
void replay_explain(const struct replay_packet *expected, const struct replay_sent *sent,
		    char text[REPLAY_TEXT]);
/* What a frame is, in a line. */
void replay_describe(const uint8_t *data, uint32_t len, char text[REPLAY_TEXT]);

/* Writes what came in, with others in place of addresses, names and values, into a directory that it makes: 0, or -1. */
int replay_hide(const struct replay_setup *setup, const char *to, struct port_error *err);

/* Of a directory of switches' directories: whether one is gone that it had, which is then said. */
bool replay_record_lost(const char *dir);

/* --- The run --------------------------------------------------------------------------------------- */

struct replay_totals {
	uint64_t nr_in, nr_out, nr_own, nr_jobs, nr_epochs;
	uint64_t first_ns, last_ns;
	struct counters counters;
};

struct replay_plan {
	struct replay_setup *setup;
	struct replay_expect *expect;
	struct capfile *out;   /* NULL: not written */
	struct capfile **outs; /* likewise: each port in one of its own */
	bool verbose;
};

/* 0, or -1 and *err. */
int replay_run(const struct replay_plan *plan, struct replay_totals *totals,
	       struct port_error *err);
void replay_print_totals(const struct replay_totals *totals, const struct replay_expect *expect,
			 const struct replay_setup *setup);

#endif
