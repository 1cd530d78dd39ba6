/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port.h - a port of the switch: what users write after -i, and the operations every backend offers.
 *
 * Two kinds.  A framed port moves whole Ethernet frames (any DPDK ethdev); a socket port moves UDP payloads
 * and knows its peers by IP and UDP port.  Everything goes in bursts.  One thread uses a port.
 */
#ifndef SWITCH_IO_PORT_H
#define SWITCH_IO_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "switch/io/pool.h"

enum {
	PORT_NUMBER_MAX = 255,
	PORT_MAX = PORT_NUMBER_MAX + 1,
	PORT_TEXT = 512,	 /* bytes of what stands after the @ */
	PORT_MTU_DEFAULT = 1500, /* of ports that have none of their own */
	PORT_MTU_MIN = 256,
	PORT_MTU_MAX = 9216,
	PORT_RETRIES = 8, /* of a burst that a full device takes only in part */
};

#define PORT_FORMS                                                                                 \
	"N@NETDEV, N@udp:IP[:PORT], N@memif:SOCKET, N@pcap:IN,OUT, N@vdev:DRIVER[,ARGS] or "       \
	"N@PCI-ADDRESS"

enum port_form { PORT_NETDEV, PORT_UDP, PORT_MEMIF, PORT_PCAP, PORT_VDEV, PORT_PCI };

/* One sentence for the user, without the program's name and without a newline. */
struct port_error {
	char text[512];
};

/* What the user asked for.  Strings are copies. */
struct port_spec {
	uint16_t number; /* the user's name for it */
	uint8_t form;	 /* enum port_form */
	bool no_gso;	 /* udp: one packet per message */
	uint16_t udp_port;
	uint32_t ip;
	uint16_t mtu;	      /* for ports that have none of their own */
	char text[PORT_TEXT]; /* as given after the @ */
	char dev[PORT_TEXT];  /* netdev, socket path, input file, driver name or PCI address */
	char args[PORT_TEXT]; /* output file, or arguments of the driver */
};

struct port_stats {
	uint64_t rx, rx_bytes; /* packets taken in, duplicates made on purpose included */
	uint64_t tx, tx_bytes;
	uint64_t tx_dropped; /* the device did not take them, or they do not fit it */
	uint64_t tx_too_big; /* of these: larger than the path's MTU (EMSGSIZE) */
	uint64_t tx_single;  /* sent without segmentation offload although there were several */
	uint64_t dev_missed, dev_errors; /* the device's own: no buffer in time; broken */
};

struct port_ops;

struct port {
	const struct port_ops *ops;
	struct port_spec spec;
	struct port_stats stats;
	uint16_t index;
	uint16_t mtu; /* IP bytes */
	bool framed;
	bool checked;	   /* check() succeeded: close() has something to do */
	bool gone;	   /* its interface is not there; what is to be sent is dropped */
	int fd;		   /* to poll for input, -1: none */
	void *priv;	   /* the backend's */
	struct pool *pool; /* where packets to send on this port, and copies of its own, come from */
	char driver[32];
	char note[256]; /* something the user should be told once; the reader empties it */
};

struct port_ops {
	bool framed;
	/* Before any driver is loaded: privileges, files, names.  Sets mtu.  0 or -1 and *err. */
	int (*check)(struct port *port, struct port_error *err);
	/* Makes it able to carry packets. */
	int (*open)(struct port *port, struct port_error *err);
	/* Up to max packets; at most 64 at a time. */
	unsigned (*rx)(struct port *port, struct pkt *pkts, unsigned max);
	/* Sends; what the device does not take is dropped and counted.  A framed port takes the buffers over; a
	 * socket port leaves them to the caller. */
	void (*tx)(struct port *port, struct pkt *pkts, unsigned nr);
	/* A peer (ip, udp_port) at which no process listens any more; false: none to tell.  May be NULL. */
	bool (*gone)(struct port *port, struct flow *peer);
	/* Now and then: finds out whether the interface is gone, and takes one of its name up again.  May be NULL. */
	void (*look)(struct port *port);
	/* Reads the device's own counters into stats.  May be NULL. */
	void (*read_stats)(struct port *port);
	void (*close)(struct port *port);
};

extern const struct port_ops port_udp_ops, port_ethdev_ops;

/* Reads "N@...": 0, or -1 and a sentence that names what is wrong. */
int port_spec_parse(struct port_spec *spec, const char *text, struct port_error *err);
const struct port_ops *port_ops_of(unsigned form);
static inline bool port_form_framed(unsigned form)
{
	return form != PORT_UDP;
}
/* Whether both mean the same device. */
bool port_spec_same(const struct port_spec *a, const struct port_spec *b);

/* Always -1, so that callers can return it. */
int port_fail(struct port_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, with "port N (text): " before it. */
int port_refuse(const struct port *port, struct port_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
