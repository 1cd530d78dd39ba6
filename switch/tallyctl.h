/* SPDX-License-Identifier: BSD-3-Clause */
/* tallyctl.h - what the commands of tallyctl share: how they are called, and fields of answers. */
#ifndef SWITCH_TALLYCTL_H
#define SWITCH_TALLYCTL_H

#include "switch/tallyctl_link.h"
#include "switch/tallyctl_table.h"

enum { TALLYCTL_TEXT = 256, TALLYCTL_USAGE = 2 };

struct tallyctl {
	struct link link;
	bool json; /* pass the answers on as they are */
};

/* Commands: 0, or after a sentence on stderr -1, or TALLYCTL_USAGE if an argument is wrong. */
int show_ports(struct tallyctl *ctl, char **args);
int show_jobs(struct tallyctl *ctl, char **args);
int show_job(struct tallyctl *ctl, char **args);
int show_slot(struct tallyctl *ctl, char **args);
int show_counters(struct tallyctl *ctl, char **args);
int show_fdb(struct tallyctl *ctl, char **args);
int show_stalls(struct tallyctl *ctl, char **args);
int show_impair(struct tallyctl *ctl, char **args);
int set_impair(struct tallyctl *ctl, char **args);
int reset_job(struct tallyctl *ctl, char **args);
int drain(struct tallyctl *ctl, char **args);
int watch(struct tallyctl *ctl, char **args);
int metrics(struct tallyctl *ctl, char **args);

/* Prints and frees an answer that is to be passed on; false: it is to be made into a table. */
bool tallyctl_pass(const struct tallyctl *ctl, json_t *answer);

/* Fields, and what stands for those that are not there: "", 0. */
const char *field_text(const json_t *object, const char *key);
unsigned long long field_u64(const json_t *object, const char *key);
double field_real(const json_t *object, const char *key);
bool field_true(const json_t *object, const char *key);
/* Ranks: "none", "2", "0-3, 5", "4-7 behind 10.0.0.2:48880". */
void field_ranks(const json_t *object, const char *key, char text[TALLYCTL_TEXT]);
size_t field_nr_ranks(const json_t *object, const char *key);
/* A wall clock in ms as local time. */
/* "1:loss=5%,dir=in" without port and direction, which have columns of their own; "none". */
void field_faults(const json_t *one, char text[TALLYCTL_TEXT]);
void field_time(const json_t *object, const char *key, char text[TALLYCTL_TEXT]);
/* "0.8 s", "12 min 3 s", "3 h 12 min". */
void age_text(double seconds, char text[TALLYCTL_TEXT]);
/* Whom a stall waits for: its ranks, those of them that are silent, or the parent. */
void stall_whom(const json_t *stall, char text[TALLYCTL_TEXT]);

#endif
