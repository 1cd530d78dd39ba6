/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.h - faults on purpose as people write them: "1:loss=1%,delay=2ms,dir=in".
 *
 * A port's number, then keys and values.  Keys that are not given keep their values; dir says in which
 * direction, both unless given.  docs/man/tally-switch.8 describes the keys.
 */
#ifndef SWITCH_FAULTS_H
#define SWITCH_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "switch/core/impair.h"
#include "switch/io/port.h"

enum { FAULTS_TEXT = 512 }; /* room for whatever faults_print() writes */

struct lcore;

/* One such text. */
struct faults_change {
	uint16_t number; /* of the port */
	bool in, out;
	uint32_t given; /* keys, a bit each */
	struct impair_params params;
};

/* A time with its unit, as 2ms, at most 60s; a rate, as 100Mbit or 100M: in ns, and bits a second.  0, or -1. */
int faults_parse_time(const char *text, uint64_t *out);
int faults_parse_rate(const char *text, uint64_t *out);
/* 0, or -1 and one sentence. */
int faults_parse(struct faults_change *change, const char *text, struct port_error *err);
/* The keys given replace what is in params. */
void faults_merge(const struct faults_change *change, struct impair_params *params);
/* From the next packet on.  0, or -1 and one sentence; then nothing has changed. */
int faults_apply(struct lcore *lcore, const char *text, struct port_error *err);
/* One direction of a port as such a text; without faults it says loss=0. */
void faults_print(const struct lcore *lcore, unsigned port_index, bool out, char *buf, size_t size);

#endif
