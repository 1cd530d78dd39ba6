// SPDX-License-Identifier: BSD-3-Clause
/* stage.c - switches in virtual time between scripted ranks, which capture what they see and say. */
#include "tests/replay/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "switch/ingress.h"

enum {
	QUEUE = 256,
	ROOM = 2048,
	BUFFERS = 1024,
	TRIES = 40,
	STEP_NS = 7013, /* between packets */
	NET = 0x0a000000,
	RANK_PORT = 40000,
};
#define BEGIN_NS UINT64_C(1790000000123456789)
#define BOOT_NS UINT64_C(3000000)

/* What is on its way between switches. */
struct moving {
	struct node *node;
	unsigned port;
	uint32_t len;
	uint8_t frame[ROOM];
};

static struct {
	char where[200];
	uint64_t now_ns;
	bool burst;
	/* What came in it so far, all of one port. */
	struct node *burst_node;
	unsigned burst_port, nr_burst;
	struct pkt burst_pkts[PIPE_BURST];
	struct moving queue[QUEUE];
	unsigned head, tail;
	struct rank *ranks[4 * STAGE_RANKS];
	unsigned nr_ranks;
	struct pool_plain pool;
} stage;

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "make: %s\n", what);
	exit(1);
}

void stage_begin(const char *where)
{
	if (!stage.pool.mem)
		check(pool_plain_init(&stage.pool, BUFFERS, ROOM) == 0, "out of memory");
	snprintf(stage.where, sizeof(stage.where), "%s", where);
	stage.now_ns = BEGIN_NS;
	stage.burst = false;
	stage.head = stage.tail = stage.nr_ranks = 0;
}

/* --- Ranks listen ------------------------------------------------------------------------------- */

static void rank_hears(struct rank *rank, const struct wire_msg *msg)
{
	struct wire_status status;

	if (msg->type == WIRE_RESULT)
		rank->nr_results++;
	if (msg->type != WIRE_STATUS || wire_status_parse(&status, msg) != WIRE_OK)
		return;
	rank->state = status.state;
	rank->cause = status.cause;
	if (status.state == WIRE_UNKNOWN || status.state == WIRE_REFUSED)
		return;
	rank->epoch = msg->epoch;
	rank->job = msg->job;
	rank->base = msg->epoch - (status.state == WIRE_FORMING);
	/* It runs with a life before this one. */
	if (status.state == WIRE_RUNNING && status.inc != rank->inc)
		rank->state = WIRE_UNKNOWN;
}

static void ranks_hear(struct node *node, unsigned port, uint8_t *data, uint32_t len)
{
	struct wire_msg msg;
	struct frame frame;

	if (frame_parse(&frame, data, len, true) != FRAME_OK || frame.kind != FRAME_IS_UDP ||
	    wire_parse(&msg, frame.payload, frame.len) != WIRE_OK)
		return;
	for (unsigned i = 0; i < stage.nr_ranks; i++) {
		struct rank *rank = stage.ranks[i];

		if (rank->node == node && rank->port == port &&
		    rank_address(rank).port_src == frame.port_dst)
			rank_hears(rank, &msg);
	}
}

/* --- Switches ------------------------------------------------------------------------------------ */

static void node_says(struct node *node, unsigned port, uint8_t *data, uint32_t len)
{
	struct moving *moving = &stage.queue[stage.tail % QUEUE];

	if (!node->beyond[port]) {
		ranks_hear(node, port, data, len);
		return;
	}
	check(stage.tail - stage.head < QUEUE && len <= ROOM, "too much is on its way");
	moving->node = node->beyond[port];
	moving->port = node->beyond_port[port];
	moving->len = len;
	memcpy(moving->frame, data, len);
	stage.tail++;
}

static void port_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	struct node *node = port->priv;
	uint8_t frame[ROOM];

	for (unsigned i = 0; i < nr; i++) {
		const struct frame_udp udp = { .ip_src = port->spec.ip,
					       .port_src = port->spec.udp_port,
					       .ip_dst = pkts[i].flow.ip,
					       .port_dst = pkts[i].flow.udp_port };

		if (port->framed) {
			node_says(node, port->index, pkts[i].data, pkts[i].len);
			pkt_put(&pkts[i]);
			continue;
		}
		memcpy(frame + FRAME_HEADERS, pkts[i].data, pkts[i].len);
		node_says(node, port->index, frame,
			  (uint32_t)frame_udp_build(frame, &udp, pkts[i].len));
	}
}

static const struct port_ops framed_ops = { .framed = true, .tx = port_tx };
static const struct port_ops socket_ops = { .framed = false, .tx = port_tx };

static void node_time(struct node *node)
{
	if (!stage.burst)
		stage.now_ns += STEP_NS;
	node->lcore.now.now_ns = stage.now_ns;
	node->lcore.now.wall_ms = stage.now_ns / 1000000;
}

static void node_port(struct node *node, const struct node_plan *plan, unsigned i)
{
	const struct capture_params params = {
		.dir = node->dir,
		.format = plan->ng ? CAPFILE_PCAPNG : CAPFILE_PCAP,
		.comment = "tally golden capture; time is virtual",
	};
	struct lcore_port *p = &node->ports[i];
	struct port_error err;

	p->port = (struct port){
		.ops = plan->socket ? &socket_ops : &framed_ops,
		.framed = !plan->socket,
		.index = (uint16_t)i,
		.mtu = 1500,
		.fd = -1,
		.priv = node,
		.pool = &stage.pool.pool,
		.spec = { .number = (uint16_t)(i + 1),
			  .ip = plan->ip,
			  .udp_port = WIRE_PORT,
			  .text = "virtual" },
	};
	p->capture_in = capture_open(&params, i + 1, "in", &err);
	p->capture_out = capture_open(&params, i + 1, "out", &err);
	check(p->capture_in && p->capture_out, node->dir);
}

static void node_machines(struct node *node, const struct node_plan *plan)
{
	const struct pipe_time boot = { .now_ns = stage.now_ns, .wall_ms = stage.now_ns / 1000000 };
	struct fwd_params fwd = {
		.ip = plan->ip,
		.udp_port = WIRE_PORT,
		.nr_ports = (uint16_t)plan->nr_ports,
		.fdb_max = 64,
		.age_ns = UINT64_C(300) * 1000000000,
	};

	node->params = (struct pipe_params){
		.jobs_max = 4,
		.slots_max = plan->slots ? plan->slots : 400,
		.values_bytes = 1 << 20,
		.p_max = 1408,
		.p_check = 1408,
		.strict_ports = plan->strict,
		.leaf = plan->parent != 0,
		.inc = plan->parent ? UINT64_C(0x1ea4000000000000) | plan->ip : 0,
		.parent_from = WIRE_PORT,
	};
	memcpy(fwd.mac, node->lcore.mac, FRAME_MAC);
	node->memory[0] = calloc(1, pipe_size(&node->params) + 64);
	node->memory[1] = calloc(1, fwd_size(&fwd));
	check(node->memory[0] && node->memory[1], "out of memory");
	node->lcore.pipe = pipe_init((void *)(((uintptr_t)node->memory[0] + 63) & ~(uintptr_t)63),
				     &node->params, &boot);
	node->lcore.fwd = fwd_init(node->memory[1], &fwd);
	check(node->lcore.pipe && node->lcore.fwd, "the switch's parameters");
}

void node_begin(struct node *node, const struct node_plan *plan)
{
	const struct flow parent = { .ip = plan->parent,
				     .udp_port = WIRE_PORT,
				     .port = plan->socket ? 0 : PARENT_NO_PORT };
	struct port_error err;

	memset(node, 0, sizeof(*node));
	snprintf(node->dir, sizeof(node->dir), "%s/%s", stage.where, plan->name);
	(void)mkdir(node->dir, 0777);
	node->lcore.ports = node->ports;
	node->lcore.nr_ports = plan->nr_ports;
	node->lcore.ip = plan->ip;
	memcpy(node->lcore.mac, (uint8_t[]){ 2, 0x74 }, 2);
	wire_put32(node->lcore.mac + 2, plan->ip);
	check(pool_plain_init(&node->lcore.spares, 64, WIRE_MSG_MAX) == 0, "out of memory");
	for (unsigned i = 0; i < plan->nr_ports; i++)
		node_port(node, plan, i);
	node_machines(node, plan);
	if (plan->parent) {
		parent_init(&node->lcore.parent, &parent, !plan->socket);
		pipe_set_parent(node->lcore.pipe, &node->lcore.parent.flow);
	}
	node->lcore.journal = journal_open(node->dir, &err);
	check(node->lcore.journal != NULL, node->dir);
	node->lcore.served = true;
	journal_setup(node->lcore.journal, &node->lcore, &node->params,
		      plan->ng ? ".pcapng" : ".pcap");
	stage.now_ns += BOOT_NS;
	node_time(node);
}

void node_end(struct node *node)
{
	struct port_error err;

	node_time(node);
	check(journal_close(node->lcore.journal, &node->lcore) == 0, "switch.txt");
	for (unsigned i = 0; i < node->lcore.nr_ports; i++) {
		check(capture_close(node->ports[i].capture_in, &err) == 0, err.text);
		check(capture_close(node->ports[i].capture_out, &err) == 0, err.text);
	}
	pool_plain_fini(&node->lcore.spares);
	free(node->memory[0]);
	free(node->memory[1]);
}

void node_link(struct node *leaf, unsigned leaf_port, struct node *root, unsigned root_port)
{
	leaf->beyond[leaf_port] = root;
	leaf->beyond_port[leaf_port] = root_port;
	root->beyond[root_port] = leaf;
	root->beyond_port[root_port] = leaf_port;
	node_time(leaf);
	parent_tick(&leaf->lcore);
	stage_settle();
}

void node_reset(struct node *node, const char *job, uint64_t epoch)
{
	node_time(node);
	journal_note(node->lcore.journal, &node->lcore, "reset %llu %s", (unsigned long long)epoch,
		     job);
	pipe_reset(node->lcore.pipe, job, epoch, &node->lcore.now);
	ingress_turn(&node->lcore, &node->ports[0], NULL, 0, true);
}

void node_drain(struct node *node, bool on)
{
	node_time(node);
	journal_note(node->lcore.journal, &node->lcore, "drain %s", on ? "on" : "off");
	pipe_drain(node->lcore.pipe, on);
}

/* --- Time and packets ---------------------------------------------------------------------------- */

void stage_wait_us(uint64_t us)
{
	stage.now_ns += us * 1000;
}

void stage_burst(bool on)
{
	struct node *node = stage.burst_node;

	stage.now_ns += STEP_NS;
	if (!on && stage.nr_burst) {
		node_time(node);
		ingress_turn(&node->lcore, &node->ports[stage.burst_port], stage.burst_pkts,
			     stage.nr_burst, true);
	}
	stage.burst = on;
	stage.nr_burst = 0;
}

/* A socket is told by its kernel. */
static void node_gone(struct node *node, struct lcore_port *p, struct pkt *pkt)
{
	const uint8_t *quote = pkt->data + FRAME_ETH + FRAME_IPV4 + 8;
	const struct frame_udp udp = {
		.ip_src = wire_get32(quote + 16),
		.port_src = wire_get16(quote + FRAME_IPV4 + 2),
		.ip_dst = p->port.spec.ip,
		.port_dst = p->port.spec.udp_port,
	};

	pkt->flow.ip = udp.ip_src;
	pkt->flow.udp_port = udp.port_src;
	capture_unreachable(p->capture_in, lcore_wall_ns(&node->lcore), &udp);
	ingress_gone_turn(&node->lcore, pkt);
	pkt_put(pkt);
}

static void node_takes(struct node *node, unsigned port, const uint8_t *frame, size_t len)
{
	struct lcore_port *p = &node->ports[port];
	struct pkt pkt = { .flow = { .port = (uint16_t)port } };
	struct frame parsed;

	check(len <= ROOM && stage.pool.pool.get(&stage.pool.pool, &pkt), "no buffer");
	memcpy(pkt.data, frame, len);
	pkt.len = (uint32_t)len;
	node_time(node);
	if (!p->port.framed) {
		check(frame_parse(&parsed, pkt.data, len, true) == FRAME_OK, "no datagram");
		if (parsed.kind == FRAME_IS_ICMP) {
			node_gone(node, p, &pkt);
			return;
		}
		pkt.flow.ip = parsed.ip_src;
		pkt.flow.udp_port = parsed.port_src;
		pkt.data = parsed.payload;
		pkt.len = parsed.len;
		pkt.cap -= FRAME_HEADERS;
	}
	if (!stage.burst) {
		ingress_turn(&node->lcore, p, &pkt, 1, true);
		return;
	}
	check(stage.nr_burst < PIPE_BURST, "a burst is shorter");
	stage.burst_node = node;
	stage.burst_port = port;
	stage.burst_pkts[stage.nr_burst++] = pkt;
}

void stage_settle(void)
{
	while (stage.head != stage.tail) {
		struct moving moving = stage.queue[stage.head++ % QUEUE];

		node_takes(moving.node, moving.port, moving.frame, moving.len);
	}
}

void node_frame(struct node *node, unsigned port, const uint8_t *frame, size_t len)
{
	node_takes(node, port, frame, len);
	stage_settle();
}

/* --- Ranks speak --------------------------------------------------------------------------------- */

struct frame_udp rank_address(const struct rank *rank)
{
	struct frame_udp udp = {
		.src = { 2, 0, 0, 0, 1, (uint8_t)rank->wid },
		.ip_src = NET + STAGE_HOST + rank->wid,
		.ip_dst = rank->node->lcore.ip,
		.port_src = (uint16_t)(RANK_PORT + 100 * rank->wid + rank->name[0]),
		.port_dst = WIRE_PORT,
	};

	memcpy(udp.dst, rank->node->lcore.mac, FRAME_MAC);
	return udp;
}

void rank_begin(struct rank *rank, struct node *node, unsigned port, uint16_t wid, uint16_t world)
{
	*rank = (struct rank){
		.node = node,
		.port = port,
		.wid = wid,
		.world = world,
		.ranges = { { 0, world } },
		.nr_ranges = 1,
		.name = "golden",
		.inc = UINT64_C(0x1000) + wid,
		.p = STAGE_P,
		.slots = STAGE_SLOTS,
	};
	check(stage.nr_ranks < 4 * STAGE_RANKS, "too many ranks");
	stage.ranks[stage.nr_ranks++] = rank;
}

void rank_payload(const struct rank *rank, const uint8_t *payload, size_t len)
{
	const struct frame_udp udp = rank_address(rank);
	uint8_t frame[ROOM];

	memcpy(frame + FRAME_HEADERS, payload, len);
	node_frame(rank->node, rank->port, frame, frame_udp_build(frame, &udp, len));
}

static void rank_seals(const struct rank *rank, uint8_t *buf, size_t len)
{
	if (rank->flags & WIRE_JOB_CHECK)
		len = wire_seal(buf, (uint32_t)len - WIRE_HEADER);
	rank_payload(rank, buf, len);
}

void rank_join(struct rank *rank)
{
	struct wire_join join = {
		.inc = rank->inc,
		.base = rank->base,
		.flags = rank->flags,
		.world = rank->world,
		.slots = rank->slots,
		.p = rank->p,
		.port = rank_address(rank).port_src,
		.nr_ports = 1,
		.nr_ranges = (uint16_t)rank->nr_ranges,
	};
	uint8_t buf[WIRE_MSG_MAX];

	memcpy(join.ranges, rank->ranges, sizeof(join.ranges));
	snprintf(join.name, sizeof(join.name), "%s", rank->name);
	rank_seals(rank, buf, wire_join_build(buf, rank->wid, &join));
}

static bool ranks_run(const struct rank *ranks, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		if (ranks[i].state != WIRE_RUNNING || ranks[i].epoch != ranks[0].epoch)
			return false;
	return true;
}

void ranks_join(struct rank *ranks, unsigned nr)
{
	for (unsigned tries = 0; tries < TRIES && !ranks_run(ranks, nr); tries++) {
		for (unsigned i = 0; i < nr; i++)
			if (ranks[i].state != WIRE_RUNNING)
				rank_join(&ranks[i]);
		stage_wait_us(2000);
	}
	check(ranks_run(ranks, nr), "the ranks are in no epoch");
}

static uint8_t value_byte(const struct rank *rank, const struct chunk *chunk, unsigned i)
{
	uint32_t z = (rank->wid + 1u) * 2654435761u ^ (chunk->slot + 1u) * 2246822519u ^
		     (chunk->round + 1u) * 3266489917u ^ (i + 1u) * 668265263u;

	return (uint8_t)(z ^ z >> 15 ^ z >> 23);
}

static void values_build(uint8_t *to, const struct rank *rank, const struct chunk *chunk,
			 uint32_t len)
{
	struct wire_desc desc = { .opno = chunk->round,
				  .count = 777,
				  .collective = WIRE_ALLREDUCE,
				  .dtype = WIRE_F32,
				  .op = WIRE_SUM,
				  .width = 4,
				  .world = rank->world,
				  .p = rank->p };

	for (unsigned i = 0; i < len; i++)
		to[i] = value_byte(rank, chunk, i);
	/* Sums that do not saturate unless they are to. */
	for (unsigned i = 0; i < len && chunk->kind == WIRE_ADD32; i += 4)
		to[i] = (uint8_t)(to[i] & 0x0f);
	/* Lane E: what operation it is, then exponents. */
	if (chunk->kind == WIRE_MAX8)
		wire_desc_build(to, &desc);
}

static void message_send(const struct rank *rank, const struct wire_msg *msg, uint8_t *buf,
			 bool spoilt)
{
	size_t len = WIRE_HEADER + msg->len;

	wire_build(buf, msg);
	if (rank->flags & WIRE_JOB_CHECK)
		len = wire_seal(buf, msg->len);
	if (spoilt)
		buf[WIRE_HEADER + 9] ^= 0x10;
	rank_payload(rank, buf, len);
}

void rank_data(const struct rank *rank, const struct chunk *chunk)
{
	const uint32_t len = chunk->len ? chunk->len : STAGE_P;
	const struct wire_msg msg = {
		.type = WIRE_DATA,
		.kind = chunk->kind ? chunk->kind : WIRE_ADD32,
		.flags = chunk->flags,
		.job = rank->job,
		.epoch = rank->epoch,
		.slot = chunk->slot,
		.round = chunk->round,
		.desc = chunk->desc ? chunk->desc : 0x5eed0001,
		.wid = rank->wid,
		.len = len,
	};
	struct chunk what = *chunk;
	uint8_t buf[WIRE_MSG_MAX];

	what.kind = msg.kind;
	values_build(buf + WIRE_HEADER, rank, &what, len);
	message_send(rank, &msg, buf, chunk->spoilt);
}

void ranks_data(struct rank *ranks, unsigned nr, const struct chunk *chunk)
{
	for (unsigned i = 0; i < nr; i++)
		rank_data(&ranks[i], chunk);
}

void rank_say(const struct rank *rank, uint8_t type, const struct chunk *chunk)
{
	const struct wire_msg msg = {
		.type = type,
		.job = rank->job,
		.epoch = rank->epoch,
		.slot = chunk ? chunk->slot : 0,
		.round = chunk ? chunk->round : 0,
		.wid = rank->wid,
		.len = type == WIRE_LEAVE ? WIRE_PAD : WIRE_BODY,
	};
	uint8_t buf[WIRE_MSG_MAX] = { 0 };

	message_send(rank, &msg, buf, false);
}

void rank_end(const struct rank *rank, uint8_t cause)
{
	const struct wire_msg msg = {
		.type = WIRE_END, .job = rank->job, .epoch = rank->epoch, .wid = rank->wid
	};
	struct wire_status status = { .state = WIRE_RUNNING, .cause = cause };
	struct wire_desc desc = { .opno = 3,
				  .count = 777,
				  .collective = WIRE_ALLREDUCE,
				  .dtype = WIRE_F32,
				  .op = WIRE_SUM,
				  .width = 4 };
	uint8_t buf[WIRE_MSG_MAX];

	status.wid_a = rank->wid;
	status.wid_b = (uint16_t)(rank->wid ? 0 : 1);
	wire_desc_build(status.desc_a, &desc);
	desc.count = 778;
	wire_desc_build(status.desc_b, &desc);
	rank_seals(rank, buf, wire_status_build(buf, &msg, &status, WIRE_BODY));
}

void rank_unreachable(const struct rank *rank)
{
	const struct frame_udp to = rank_address(rank);
	struct frame_udp back = to;
	uint8_t frame[ROOM], *icmp = frame + FRAME_ETH + FRAME_IPV4, quote[ROOM];
	const size_t len = FRAME_ETH + FRAME_IPV4 + 8 + FRAME_IPV4 + FRAME_UDP;

	frame_udp_build(frame, &to, 0);
	back.ip_src = to.ip_dst;
	back.ip_dst = to.ip_src;
	back.port_src = to.port_dst;
	back.port_dst = to.port_src;
	frame_udp_build(quote, &back, 0);
	memset(icmp, 0, 8);
	icmp[0] = icmp[1] = 3;
	memcpy(icmp + 8, quote + FRAME_ETH, FRAME_IPV4 + FRAME_UDP);
	wire_put16(icmp + 2,
		   frame_checksum_fold(frame_checksum_add(0, icmp, 8 + FRAME_IPV4 + FRAME_UDP)));
	wire_put16(frame + FRAME_ETH + 2, (uint16_t)(len - FRAME_ETH));
	frame[FRAME_ETH + 9] = 1;
	wire_put16(frame + FRAME_ETH + 10, 0);
	wire_put16(frame + FRAME_ETH + 10,
		   frame_checksum_fold(frame_checksum_add(0, frame + FRAME_ETH, FRAME_IPV4)));
	node_frame(rank->node, rank->port, frame, len);
}
