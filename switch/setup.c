// SPDX-License-Identifier: BSD-3-Clause
/* setup.c - makes what a switch has besides its devices: faults, machine and captures, from its options. */
#include "switch/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "switch/log.h"

enum { SETUP_OVERHEAD = FRAME_IPV4 + FRAME_UDP + WIRE_HEADER };

void *setup_map(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

int setup_ports(struct node *node, const struct port_ops *(*ops_of)(unsigned form),
		struct port_error *err)
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
		p->port.ops = ops_of(p->port.spec.form);
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

int setup_captures(struct node *node, struct port_error *err)
{
	const char *dir = node->conf->pcap_dir;
	const struct capture_params params = {
		.dir = dir,
		.format = (enum capfile_format)node->conf->pcap_format,
		.comment = node->comment ? node->comment : "tally-switch " TALLY_VERSION,
	};

	if (!dir)
		return 0;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return port_fail(err, "--pcap %.200s: cannot make the directory: %s", dir,
				 strerror(errno));
	node->lcore.journal = journal_open(dir, err);
	if (!node->lcore.journal)
		return -1;
	for (unsigned i = 0; i < node->lcore.nr_ports; i++) {
		struct lcore_port *p = &node->lcore.ports[i];

		p->capture_in = capture_open(&params, p->port.spec.number, "in", err);
		p->capture_out = p->capture_in
					 ? capture_open(&params, p->port.spec.number, "out", err)
					 : NULL;
		if (!p->capture_out)
			return -1;
	}
	return 0;
}

/* The largest payload that every port carries with trailer bytes behind it. */
static uint16_t setup_p_max(const struct lcore *lcore, unsigned trailer)
{
	const unsigned overhead = SETUP_OVERHEAD + trailer;
	unsigned p = WIRE_P_MAX;

	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if (lcore->ports[i].port.mtu < p + overhead)
			p = lcore->ports[i].port.mtu - overhead;
	return (uint16_t)(p - p % WIRE_P_MIN);
}

static void setup_leaf(struct node *node, const struct setup_parent *parent,
		       struct pipe_params *pipe)
{
	const struct conf *conf = node->conf;
	const struct flow flow = {
		.ip = conf->parent_ip,
		.udp_port = conf->parent_port,
		.port = parent->port,
	};

	pipe->leaf = true;
	pipe->inc = parent->inc;
	pipe->parent_from = parent->from;
	parent_init(&node->lcore.parent, &flow, parent->framed);
}

int setup_pipe(struct node *node, const struct setup_parent *parent, struct port_error *err)
{
	const struct conf *conf = node->conf;
	struct lcore *lcore = &node->lcore;
	struct pipe_params pipe = {
		.jobs_max = (uint16_t)conf->jobs,
		.slots_max = conf->slots,
		.values_bytes = conf->memory,
		.p_max = setup_p_max(lcore, 0),
		.p_check = setup_p_max(lcore, WIRE_CRC),
		.strict_ports = !conf->loose_ports,
		.add = conf->add,
	};
	void *mem;

	if (parent)
		setup_leaf(node, parent, &pipe);
	lcore_time(lcore);
	node->pipe_bytes = pipe_size(&pipe);
	mem = node->pipe_bytes ? setup_map(node->pipe_bytes) : NULL;
	lcore->pipe = mem ? pipe_init(mem, &pipe, &lcore->now) : NULL;
	if (!lcore->pipe)
		return port_fail(
			err,
			"no memory for %u slots and %llu bytes of values: use less with --slots, "
			"--memory",
			conf->slots, (unsigned long long)conf->memory);
	if (lcore->parent.active)
		pipe_set_parent(lcore->pipe, &lcore->parent.flow);
	node->pipe_params = pipe;
	return 0;
}

static void setup_close_capture(const struct lcore_port *p, struct capture **capture)
{
	struct port_error err;

	if (capture_close(*capture, &err) && err.text[0])
		log_line(LOG_WARN, "port %u: the capture is not whole: %s", p->port.spec.number,
			 err.text);
	*capture = NULL;
}

void setup_close_captures(struct node *node)
{
	struct lcore *lcore = &node->lcore;

	if (journal_close(lcore->journal, lcore))
		log_line(LOG_WARN, "--pcap: " JOURNAL_FILE " could not be written");
	lcore->journal = NULL;
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		setup_close_capture(&lcore->ports[i], &lcore->ports[i].capture_in);
		setup_close_capture(&lcore->ports[i], &lcore->ports[i].capture_out);
	}
}

void setup_close_ports(struct node *node)
{
	struct lcore *lcore = &node->lcore;

	setup_close_captures(node);
	stage_fini(lcore);
	for (unsigned i = 0; i < lcore->nr_ports; i++)
		if (lcore->ports[i].port.checked)
			lcore->ports[i].port.ops->close(&lcore->ports[i].port);
}

void setup_free(struct node *node)
{
	struct lcore *lcore = &node->lcore;

	if (lcore->pipe)
		munmap(lcore->pipe, node->pipe_bytes);
	pool_plain_fini(&lcore->spares);
	free(lcore->ports);
	lcore->ports = NULL;
	lcore->nr_ports = 0;
}
