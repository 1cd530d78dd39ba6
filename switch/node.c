// SPDX-License-Identifier: BSD-3-Clause
/*
 * node.c - a whole switch: its ports, machines and captures, from options to running and back.
 *
 * Everything that can be refused without DPDK is refused before DPDK starts: the user reads one sentence.
 */
#include "switch/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "switch/io/eal.h"
#include "switch/log.h"
#include "switch/setup.h"

enum {
	NODE_FDB = 4096,
	NODE_BOOT_NS = 2500000, /* the machine serves no earlier than 2 ms after it was made */
};
#define NODE_FDB_AGE_NS (UINT64_C(300) * 1000000000)

static int node_check(struct node *node, struct port_error *err)
{
	struct lcore *lcore = &node->lcore;

	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct port *port = &lcore->ports[i].port;

		if (port->ops->check(port, err))
			return -1;
		port->checked = true;
	}
	return 0;
}

static int node_eal(struct node *node, const struct port *ports, struct port_error *err)
{
	const struct conf *conf = node->conf;
	struct eal_params params = {
		.ports = ports,
		.nr_ports = node->lcore.nr_ports,
		.huge = conf->huge,
		.noise = conf->log_level >= LOG_DEBUG,
		.file_prefix = conf->file_prefix,
	};

	if (rundir_open(&node->rundir, err))
		return -1;
	params.runtime_dir = node->rundir.path;
	if (!conf->huge)
		log_line(LOG_INFO, "packets are in ordinary memory (hugepages: --huge)");
	return eal_open(&params, err);
}

/* All ports are half a megabyte, which a stack may not have. */
static int node_dpdk(struct node *node, struct port_error *err)
{
	struct port *ports;
	int rc;

	if (!node->dpdk)
		return 0;
	ports = calloc(node->lcore.nr_ports, sizeof(*ports));
	if (!ports)
		return port_fail(err, "out of memory");
	for (unsigned i = 0; i < node->lcore.nr_ports; i++)
		ports[i] = node->lcore.ports[i].port;
	rc = node_eal(node, ports, err);
	free(ports);
	return rc;
}

static int node_open_ports(struct node *node, const volatile sig_atomic_t *stop,
			   struct port_error *err)
{
	struct lcore *lcore = &node->lcore;

	for (unsigned i = 0; i < lcore->nr_ports && !*stop; i++) {
		struct port *port = &lcore->ports[i].port;

		if (port->ops->open(port, err))
			return -1;
		log_line(LOG_INFO, "port %u: %s, driver %s, MTU %u", port->spec.number,
			 port->spec.text, port->driver, port->mtu);
	}
	return 0;
}

/* Of framed ports the one that was named, or none; a socket is the only one. */
static uint16_t node_uplink(const struct node *node)
{
	const struct lcore *lcore = &node->lcore;

	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if ((int)lcore->ports[i].port.spec.number == node->conf->parent_number)
			return (uint16_t)i;
	return node->dpdk ? PARENT_NO_PORT : 0;
}

/* A framed port leads to the parent if there is one, else the first socket. */
static int node_pipe(struct node *node, struct port_error *err)
{
	struct setup_parent parent = {
		.framed = node->dpdk,
		.port = node_uplink(node),
		.from = node->dpdk ? WIRE_PORT : node->lcore.ports[0].port.spec.udp_port,
	};

	if (!node->conf->parent_ip)
		return setup_pipe(node, NULL, err);
	if (getrandom(&parent.inc, sizeof(parent.inc), 0) != sizeof(parent.inc))
		return port_fail(err, "--parent: no random number: %s", strerror(errno));
	return setup_pipe(node, &parent, err);
}

static int node_fwd(struct node *node, struct port_error *err)
{
	const struct conf *conf = node->conf;
	struct lcore *lcore = &node->lcore;
	struct fwd_params fwd = {
		.ip = conf->ip,
		.udp_port = WIRE_PORT,
		.nr_ports = (uint16_t)lcore->nr_ports,
		.fdb_max = NODE_FDB,
		.age_ns = NODE_FDB_AGE_NS,
	};
	void *mem;

	memcpy(fwd.mac, conf->mac, sizeof(fwd.mac));
	memcpy(lcore->mac, conf->mac, sizeof(lcore->mac));
	lcore->ip = conf->ip;
	if (!node->dpdk)
		return 0;
	node->fwd_bytes = fwd_size(&fwd);
	mem = node->fwd_bytes ? setup_map(node->fwd_bytes) : NULL;
	lcore->fwd = mem ? fwd_init(mem, &fwd) : NULL;
	return lcore->fwd ? 0 : port_fail(err, "no memory for the table of addresses");
}

/* Until the machine serves: an epoch of before a quick restart must lie in the past. */
static void node_boot_wait(struct node *node)
{
	uint64_t made = node->lcore.now.now_ns;
	struct timespec nap = { .tv_nsec = NODE_BOOT_NS };

	do {
		nanosleep(&nap, NULL);
		lcore_time(&node->lcore);
		nap.tv_nsec = 200000;
	} while (node->lcore.now.now_ns - made < NODE_BOOT_NS);
	node->start_ns = node->lcore.now.now_ns;
}

int node_open(struct node *node, const struct conf *conf, const volatile sig_atomic_t *stop,
	      struct port_error *err)
{
	node->conf = conf;
	node->lcore.spin = conf->spin;
	if (setup_ports(node, port_ops_of, err) || node_check(node, err) ||
	    setup_captures(node, err) || ctl_open(&node->ctl, node, err))
		return -1;
	if (*stop)
		return 0;
	if (node_dpdk(node, err) || node_open_ports(node, stop, err))
		return -1;
	/* Ports that are not open are not to be polled, not even to drain them. */
	if (*stop)
		return 0;
	if (node_pipe(node, err) || node_fwd(node, err))
		return -1;
	if (node->lcore.journal)
		journal_setup(node->lcore.journal, &node->lcore, &node->pipe_params,
			      capfile_suffix((enum capfile_format)conf->pcap_format));
	node_boot_wait(node);
	if (node->ctl.path[0])
		node->lcore.ctl = &node->ctl;
	return 0;
}

void node_close(struct node *node)
{
	struct lcore *lcore = &node->lcore;

	ctl_close(&node->ctl);
	setup_close_ports(node);
	if (node->dpdk)
		eal_close();
	rundir_close(&node->rundir);
	if (lcore->fwd)
		munmap(lcore->fwd, node->fwd_bytes);
	setup_free(node);
}
