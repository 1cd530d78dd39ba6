/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capfile.h - writes a capture file, pcap or pcapng, with stamps in nanoseconds; only whole packets reach the disk.
 *
 * The file is called NAME.partial until it was closed well, so that nothing half-written is taken for whole.
 */
#ifndef SWITCH_IO_CAPFILE_H
#define SWITCH_IO_CAPFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/io/port.h"

enum capfile_format { CAPFILE_PCAP, CAPFILE_PCAPNG };
enum { CAPFILE_MAX = 65535 }; /* bytes of a frame that are written */

struct capfile;

/* -1: no such format. */
int capfile_format_parse(const char *text);
/* With the dot. */
const char *capfile_suffix(enum capfile_format format);
/*
 * NULL and *err, which says why without the path.  comment: of the whole file, which only pcapng can hold.  A pipe or a
 * device is written as it is, without another name.
 */
struct capfile *capfile_open(const char *path, enum capfile_format format, const char *comment,
			     struct port_error *err);
/* What packets belong to; pcap does not tell them apart.  From 0 on. */
unsigned capfile_interface(struct capfile *file, const char *name);
/* wall_ns: since 1970.  whole: its length, at least len. */
void capfile_packet(struct capfile *file, unsigned interface, uint64_t wall_ns, const uint8_t *data,
		    uint32_t len, uint32_t whole);
/* What came so far is in the file afterwards. */
void capfile_flush(struct capfile *file);
/* Why the file does not grow any more, told once; NULL: it does, or that was told. */
const char *capfile_trouble(struct capfile *file);
/* What was to come into it does not come: it keeps the name that says so. */
void capfile_cut(struct capfile *file);
/* 0; -1 and *err, empty if that was told, if it is not whole: it keeps the name that says so. */
int capfile_close(struct capfile *file, struct port_error *err);

#endif
