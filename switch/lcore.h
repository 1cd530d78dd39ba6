/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lcore.h - the thread that moves packets between ports and the machines, from receiving to sending.
 *
 * One thread owns everything here.  ingress.c brings packets in, egress.c sends them, lcore.c goes round.
 */
#ifndef SWITCH_LCORE_H
#define SWITCH_LCORE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "switch/core/counters.h"
#include "switch/core/fwd.h"
#include "switch/core/pipe.h"
#include "switch/io/capture.h"
#include "switch/io/port.h"
#include "switch/journal.h"
#include "switch/parent.h"
#include "switch/stage.h"

enum {
	LCORE_QUEUE = 256, /* packets that wait for a port's next burst out */
	LCORE_LATE = 512,  /* buffers to give back once everything was sent */
	LCORE_SPARES = 512,
	LCORE_HANDLES = 65536,
};
struct ctl;

struct lcore_port {
	struct port port;
	struct lcore_faults in, out;
	struct capture *capture_in, *capture_out; /* NULL: none */
	bool told_train;			  /* the user was told of a train in one frame */
	unsigned nr_queued;
	struct pkt queue[LCORE_QUEUE];
};

struct lcore {
	/* Set by the owner before lcore_run(). */
	struct lcore_port *ports;
	unsigned nr_ports;
	struct pipe *pipe;
	struct fwd *fwd; /* NULL if there is no framed port */
	uint32_t ip;	 /* of the switch on framed ports */
	uint8_t mac[FRAME_MAC];
	bool spin;	   /* never sleep */
	uint64_t claim_ns; /* the user was told last of a station that claims our IP address */
	struct parent parent;
	struct pool_plain spares;
	struct stage stage;
	struct ctl *ctl;	 /* NULL: none */
	struct journal *journal; /* likewise */
	/* For a replay: what became of a packet, before its bytes change.  NULL: nobody looks. */
	void (*watch)(struct lcore *lcore, const struct pkt *pkt, enum counter counter);
	/* Monotonic, ns, with wall_base_ns set beside it; NULL: the kernel's. */
	uint64_t (*clock)(void);

	/* The loop's own. */
	struct counters counters; /* beside those of the pipe */
	struct pipe_time now;
	bool served;	       /* it has gone round */
	uint64_t wall_base_ns; /* wall clock of the start: whoever sets it back stops no epochs */
	unsigned nr_held;      /* packets held back in all ports and directions */
	unsigned nr_late;
	struct pkt late[LCORE_LATE];
	uint64_t busy_ns; /* spent on bursts */
	uint64_t nr_idle; /* rounds without a packet, in a row */
	uint64_t joins;	  /* counter when jobs were looked at last */
	uint64_t look_ns; /* when the interfaces are looked at next */
	uint64_t nr_jobs; /* seen so far */
	uint8_t handles[LCORE_HANDLES / 8];
};

/* Goes round until *wake is set by a signal handler. */
void lcore_run(struct lcore *lcore, const volatile sig_atomic_t *wake);
/* Goes on until nothing has come for some ms, 200 ms at most; then sends what is held back. */
void lcore_drain(struct lcore *lcore);
void lcore_time(struct lcore *lcore);
/* Of captures: a millisecond of it is now.wall_ms. */
static inline uint64_t lcore_wall_ns(const struct lcore *lcore)
{
	return lcore->wall_base_ns + lcore->now.now_ns;
}
/* Of captures of what is sent: behind what it answers, also where they are merged by their stamps. */
static inline uint64_t lcore_sent_ns(const struct lcore *lcore)
{
	return lcore_wall_ns(lcore) + 1;
}
/* One round without sleep, for whoever knows when packets come: when what is held back goes on, UINT64_MAX: nothing is. */
uint64_t lcore_turn(struct lcore *lcore);

#endif
