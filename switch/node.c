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
#include <sys/random.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "switch/io/eal.h"
#include "switch/log.h"

enum {
	NODE_FDB = 4096,
	NODE_BOOT_NS = 2500000, /* the machine serves no earlier than 2 ms after it was made */
	NODE_OVERHEAD = FRAME_IPV4 + FRAME_UDP + WIRE_HEADER,
};
#define NODE_FDB_AGE_NS (UINT64_C(300) * 1000000000)

/* Zeroed pages, touched when used. */
static void *node_map(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static int node_ports(struct node *node, struct port_error *err)
{
	const struct conf *conf = node->conf;
	struct lcore *lcore = &node->lcore;
	struct impair_params params;

	lcore->ports = calloc(conf->nr_ports, sizeof(*lcore->ports));
	if (!lcore->ports || pool_plain_init(&lcore->spares, LCORE_SPARES, WIRE_MSG_MAX))
		return port_fail(err, "out of memory");
	for (unsigned i = 0; i < conf->nr_ports; i++) {
		struct lcore_port *p = &lcore->ports[i];

		p->port.spec = conf->ports[i];
		p->port.ops = port_ops_of(p->port.spec.form);
		p->port.framed = p->port.ops->framed;
		p->port.index = (uint16_t)i;
		p->port.fd = -1;
		conf_faults(conf, p->port.spec.number, false, &params);
		impair_init(&p->in.impair, &params);
		conf_faults(conf, p->port.spec.number, true, &params);
		impair_init(&p->out.impair, &params);
		node->dpdk |= p->port.framed;
	}
	lcore->nr_ports = conf->nr_ports;
	return stage_init(lcore) ? port_fail(err, "out of memory") : 0;
}

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

static int node_captures(struct node *node, struct port_error *err)
{
	const char *dir = node->conf->pcap_dir;

	if (!dir)
		return 0;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return port_fail(err, "--pcap %.200s: cannot make the directory: %s", dir,
				 strerror(errno));
	for (unsigned i = 0; i < node->lcore.nr_ports; i++) {
		struct lcore_port *p = &node->lcore.ports[i];

		p->capture_in = capture_open(dir, p->port.spec.number, "in", err);
		p->capture_out = p->capture_in ? capture_open(dir, p->port.spec.number, "out", err)
					       : NULL;
		if (!p->capture_out)
			return -1;
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

/* The largest payload that every port carries with trailer bytes behind it. */
static uint16_t node_p_max(const struct lcore *lcore, unsigned trailer)
{
	const unsigned overhead = NODE_OVERHEAD + trailer;
	unsigned p = WIRE_P_MAX;

	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if (lcore->ports[i].port.mtu < p + overhead)
			p = lcore->ports[i].port.mtu - overhead;
	return (uint16_t)(p - p % WIRE_P_MIN);
}

/* A framed port leads to the parent if there is one, else the first socket. */
static int node_parent(struct node *node, struct pipe_params *pipe, struct port_error *err)
{
	const struct conf *conf = node->conf;
	const struct flow flow = { .ip = conf->parent_ip, .udp_port = conf->parent_port };

	if (!conf->parent_ip)
		return 0;
	pipe->leaf = true;
	pipe->parent_from = node->dpdk ? WIRE_PORT : node->lcore.ports[0].port.spec.udp_port;
	if (getrandom(&pipe->inc, sizeof(pipe->inc), 0) != sizeof(pipe->inc))
		return port_fail(err, "--parent: no random number: %s", strerror(errno));
	parent_init(&node->lcore.parent, &flow, node->dpdk);
	return 0;
}

static int node_pipe(struct node *node, struct port_error *err)
{
	const struct conf *conf = node->conf;
	struct lcore *lcore = &node->lcore;
	struct pipe_params pipe = {
		.jobs_max = (uint16_t)conf->jobs,
		.slots_max = conf->slots,
		.values_bytes = conf->memory,
		.p_max = node_p_max(lcore, 0),
		.p_check = node_p_max(lcore, WIRE_CRC),
		.strict_ports = !conf->loose_ports,
		.add = conf->add,
	};
	void *mem;

	if (node_parent(node, &pipe, err))
		return -1;
	lcore_time(lcore);
	node->pipe_bytes = pipe_size(&pipe);
	mem = node->pipe_bytes ? node_map(node->pipe_bytes) : NULL;
	lcore->pipe = mem ? pipe_init(mem, &pipe, &lcore->now) : NULL;
	if (!lcore->pipe)
		return port_fail(
			err,
			"no memory for %u slots and %llu bytes of values: use less with --slots, "
			"--memory",
			conf->slots, (unsigned long long)conf->memory);
	if (lcore->parent.active)
		pipe_set_parent(lcore->pipe, &lcore->parent.flow);
	return 0;
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
	mem = node->fwd_bytes ? node_map(node->fwd_bytes) : NULL;
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
	if (node_ports(node, err) || node_check(node, err) || node_captures(node, err) ||
	    ctl_open(&node->ctl, node, err))
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
	node_boot_wait(node);
	if (node->ctl.path[0])
		node->lcore.ctl = &node->ctl;
	return 0;
}

static void node_close_port(struct lcore_port *p)
{
	if (capture_close(p->capture_in) | capture_close(p->capture_out))
		log_line(
			LOG_WARN,
			"port %u: its captures are not complete: is the disk full, or are files limited (ulimit -f)?",
			p->port.spec.number);
	if (p->port.checked)
		p->port.ops->close(&p->port);
}

void node_close(struct node *node)
{
	struct lcore *lcore = &node->lcore;

	ctl_close(&node->ctl);
	stage_fini(lcore);
	for (unsigned i = 0; i < lcore->nr_ports; i++)
		node_close_port(&lcore->ports[i]);
	if (node->dpdk)
		eal_close();
	rundir_close(&node->rundir);
	if (lcore->pipe)
		munmap(lcore->pipe, node->pipe_bytes);
	if (lcore->fwd)
		munmap(lcore->fwd, node->fwd_bytes);
	pool_plain_fini(&lcore->spares);
	free(lcore->ports);
	lcore->ports = NULL;
	lcore->nr_ports = 0;
}
