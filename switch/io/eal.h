/* SPDX-License-Identifier: BSD-3-Clause */
/* eal.h - starting DPDK once for all framed ports, and the packet buffers they share. */
#ifndef SWITCH_IO_EAL_H
#define SWITCH_IO_EAL_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/io/port.h"

enum { EAL_ROOM_MAX = 65535 - 256 };

struct eal_params {
	const struct port *ports;
	unsigned nr_ports;
	bool huge;		 /* use hugepages; without: ordinary memory */
	bool noise;		 /* pass DPDK's own log through to stderr */
	const char *file_prefix; /* NULL: one of this process' own */
	const char *runtime_dir;
};

/* Starts DPDK and makes the pool.  0, or -1 and *err. */
int eal_open(const struct eal_params *params, struct port_error *err);
/* Packet buffers for framed ports; NULL before eal_open(). */
struct pool *eal_pool(void);
void eal_close(void);

/* DPDK's last error line, "" if there is none: for the end of a sentence. */
const char *eal_error(void);
/* Frames in each ring of an af_packet port: as many as this user may lock in memory. */
unsigned eal_ring_frames(void);
/* Bytes of a frame buffer that a port of this MTU needs. */
uint32_t eal_room(const struct port *port);

/* Only for the other files of DPDK. */
struct rte_mempool;
struct rte_mempool *eal_mempool(void);

#endif
