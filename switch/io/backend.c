// SPDX-License-Identifier: BSD-3-Clause
/* backend.c - the table of backends: which one serves which form of port. */
#include "switch/io/port.h"

const struct port_ops *port_ops_of(unsigned form)
{
	static const struct port_ops *const backends[] = {
		[PORT_NETDEV] = &port_ethdev_ops, [PORT_UDP] = &port_udp_ops,
		[PORT_MEMIF] = &port_ethdev_ops,  [PORT_PCAP] = &port_ethdev_ops,
		[PORT_VDEV] = &port_ethdev_ops,	  [PORT_PCI] = &port_ethdev_ops,
	};

	return backends[form];
}
