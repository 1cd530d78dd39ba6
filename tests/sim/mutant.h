/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutant.h - machines that break a rule on purpose: the checkers must catch each of them.
 *
 * The stand-in of a switch sums by rules of its own, a switch for each of them; without a broken
 * rule it must pass.
 */
#ifndef TESTS_SIM_MUTANT_H
#define TESTS_SIM_MUTANT_H

#include "tests/sim/sim.h"

enum mutant {
	MUTANT_NONE,
	/* Stand-ins of the switch. */
	MUTANT_SOUND,	       /* breaks nothing */
	MUTANT_VERSION,	       /* a version bit instead of the round, as published */
	MUTANT_ADDS_TWICE,     /* does not look whether a rank's bit is set */
	MUTANT_OVERWRITES_NOT, /* the first contribution of a round is added to the old sum */
	MUTANT_REPEATS_NOT,    /* a lost result is never sent again */
	MUTANT_EPOCH,	       /* cells outlive their epoch */
	MUTANT_STALE,	       /* an earlier round overwrites a later one */
	MUTANT_SIGNED,	       /* exponents are compared as signed */
	MUTANT_COMPARES_NOT,   /* different operations are summed */
	MUTANT_HASTY,	       /* the last rank is not waited for */
	/* Hosts. */
	MUTANT_FRESH,	      /* what is sent again has other bytes */
	MUTANT_SAME_INC,      /* a restarted rank has the incarnation of its life before */
	MUTANT_NO_LEAVE,      /* a rank goes without a word */
	MUTANT_TWICE,	      /* a result is delivered twice */
	MUTANT_SKIPS,	      /* a result is not delivered */
	MUTANT_BLAME,	      /* an epoch's end is blamed on another cause */
	MUTANT_WORLD,	      /* a rank joins with another world */
	MUTANT_CLOSE_NOT,     /* CLOSE's verdict is not looked at */
	MUTANT_COUNTS_AGAIN,  /* CLOSE counts what is sent again */
	MUTANT_HOST_SEAL_NOT, /* seals are not looked at */
	/* The switch. */
	MUTANT_LEAVE,	 /* LEAVE is acknowledged and forgotten */
	MUTANT_NONSENSE, /* a result is no message */
	MUTANT_STRANGER, /* any address is taken for a member's */
	MUTANT_SEAL_NOT, /* seals are not looked at */
	/* The simulator itself. */
	MUTANT_UNCOUNTED, /* a lost packet is not counted */
	MUTANT_MISCOUNT,  /* a packet is counted twice at the switch */
	MUTANT_DEAF,	  /* a process stops for ever */
	MUTANT_CORRUPT,	  /* corruption that the UDP checksum does not show */
	MUTANT_CLOCK,	  /* what happens depends on the time of day */
	MUTANT_NR
};

struct mutant_info {
	const char *name, *text;
	uint8_t by; /* enum checker: who has to catch it */
};
extern const struct mutant_info mutant_infos[MUTANT_NR];
/* 0: there is none of that name. */
unsigned mutant_find(const char *name);
static inline bool mutant_is_standin(unsigned mutant)
{
	return mutant >= MUTANT_SOUND && mutant < MUTANT_FRESH;
}

void mutant_open(struct world *w);
void mutant_close(struct world *w);
/* The switch has lost its memory. */
void mutant_boot(struct world *w);
/* True: the stand-in has taken the one packet and left its verdict. */
bool mutant_switch(struct world *w, unsigned node, struct pipe_pkt *pkt);
/* What comes, if it is DATA or RESULT, has the seal that its bytes should have. */
void mutant_seal(struct packet *p);
/* Added to the salt of what is sent again. */
uint32_t mutant_salt(const struct world *w);
bool mutant_blames(const struct world *w);
/* At the end of a run. */
void mutant_check(struct world *w);

#endif
