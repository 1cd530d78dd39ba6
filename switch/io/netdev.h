/* SPDX-License-Identifier: BSD-3-Clause */
/* netdev.h - what can be known about a network interface before a driver opens it. */
#ifndef SWITCH_IO_NETDEV_H
#define SWITCH_IO_NETDEV_H

#include "switch/io/port.h"

/* Checks that the port's interface exists, is Ethernet and up, and that packet sockets are allowed; sets mtu.
 * Returns a socket that keeps the interface promiscuous as long as it is open, or -1 and *err. */
int netdev_open(struct port *port, struct port_error *err);

/* The packet socket of this process that receives from the interface, -1 if there is none.  It is the driver's: to
 * poll() for input, nothing else. */
int netdev_socket_find(const char *name);

/* Whether the interface of a packet socket is still in this network namespace. */
bool netdev_is_there(int fd);
/* Whether there is one of the port's name again, which is then made promiscuous by the socket of netdev_open(). */
bool netdev_is_back(struct port *port, int promisc_fd);

#endif
