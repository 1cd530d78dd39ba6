/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.h - the options of tally-switch: one table parses, validates and documents them. */
#ifndef SWITCH_CONF_H
#define SWITCH_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "switch/core/impair.h"
#include "switch/faults.h"
#include "switch/io/capfile.h"
#include "switch/io/port.h"

#ifndef TALLY_VERSION
#define TALLY_VERSION "0.1.0"
#endif

enum { CONF_IMPAIRS = 2 * PORT_MAX };

struct conf {
	unsigned nr_ports;
	unsigned nr_impairs;
	uint32_t ip;	    /* 0: none */
	uint32_t parent_ip; /* 0: none, this is no leaf */
	uint16_t parent_port;
	int parent_number; /* of the port that leads there; -1: it is sought */
	uint8_t mac[6];
	bool mac_set;
	uint64_t seed;
	double loss, dup, reorder;
	uint32_t jobs;
	uint32_t slots;
	uint64_t memory;
	uint32_t mtu;
	uint32_t log_level; /* enum log_level */
	int ready_fd;	    /* -1: none */
	int ctl_fd;	    /* likewise */
	bool loose_ports, spin, huge, help, version;
	uint32_t pcap_format;				   /* enum capfile_format */
	const char *add, *pcap_dir, *totals, *file_prefix; /* NULL: not given; of argv */
	const char *ctl; /* path, name or "none"; NULL: not given */
	struct port_spec ports[PORT_MAX];
	struct faults_change impairs[CONF_IMPAIRS];
};

/* 0, or -1 and a sentence that names the option and the value.  Opens nothing. */
int conf_parse(struct conf *conf, int argc, char *const *argv, struct port_error *err);
/* The text of --help, generated from the table. */
void conf_help(FILE *out);
/* Faults of one port and direction. */
void conf_faults(const struct conf *conf, unsigned number, bool out, struct impair_params *params);
bool conf_has_framed(const struct conf *conf);

#endif
