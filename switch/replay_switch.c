// SPDX-License-Identifier: BSD-3-Clause
/*
 * replay_switch.c - the switch's own code between captures, with the packets' stamps for a clock.
 *
 * What has one stamp and one port came in one burst, as it did when it was captured; so every byte that is sent, and
 * the order of packets, are those of then.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "switch/egress.h"
#include "switch/ingress.h"
#include "switch/replay.h"

enum {
	BUFFERS = 2048,
	ROOM = 65536 + 192, /* not a power of two: buffers share no cache lines' places */
	FDB = 4096,
	MEMORIES = 2,
};
#define FDB_AGE_NS (UINT64_C(300) * 1000000000)
#define BOOT_NS UINT64_C(1000000000) /* before the first packet */

struct replay {
	/* First, so that the lcore's hooks find the rest. */
	struct lcore lcore;
	const struct replay_plan *plan;
	struct replay_totals *totals;
	struct port_error *err;
	struct pool_plain pool;
	struct replay_source sources[PORT_MAX];
	struct pkt pkts[REPLAY_BURST];
	uint64_t numbers[REPLAY_BURST];
	char (*texts)[REPLAY_TEXT]; /* verbose: what the packets are, before their bytes change */
	unsigned event;		    /* the next */
	bool failed;
	void *memory[MEMORIES];
	size_t sizes[MEMORIES];
	uint64_t talks; /* counters when the jobs were looked at last */
	uint64_t epochs[4096];
	uint16_t handles[4096]; /* never 0 */
	uint8_t frame[CAPFILE_MAX + 1];
};

/* --- What it sends ------------------------------------------------------------------------------------- */

static void send_print(const struct replay *r, const struct replay_sent *sent)
{
	char text[REPLAY_TEXT];

	replay_describe(sent->data, sent->len, text);
	printf("    to port %u: %s\n", r->plan->setup->ports[sent->port].number, text);
}

static void replay_sent(struct replay *r, unsigned port, const uint8_t *data, uint32_t len)
{
	const struct replay_sent sent = {
		.port = port,
		.ns = lcore_sent_ns(&r->lcore),
		.data = data,
		.len = len,
	};

	r->totals->nr_out++;
	if (r->plan->out)
		capfile_packet(r->plan->out, port, sent.ns, data, len, len);
	if (r->plan->outs)
		capfile_packet(r->plan->outs[port], 0, sent.ns, data, len, len);
	if (r->plan->verbose)
		send_print(r, &sent);
	if (r->plan->expect->active &&
	    replay_expect_sent(r->plan->expect, r->plan->setup, &sent, r->err))
		r->failed = true;
}

static void port_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	struct replay *r = port->priv;

	for (unsigned i = 0; i < nr; i++) {
		const struct frame_udp udp = {
			.ip_src = port->spec.ip,
			.port_src = port->spec.udp_port,
			.ip_dst = pkts[i].flow.ip,
			.port_dst = pkts[i].flow.udp_port,
		};

		if (port->framed) {
			replay_sent(r, port->index, pkts[i].data, pkts[i].len);
			pkt_put(&pkts[i]);
			continue;
		}
		memcpy(r->frame + FRAME_HEADERS, pkts[i].data, pkts[i].len);
		replay_sent(r, port->index, r->frame,
			    (uint32_t)frame_udp_build(r->frame, &udp, pkts[i].len));
	}
}

static const struct port_ops framed_ops = { .framed = true, .tx = port_tx };
static const struct port_ops socket_ops = { .framed = false, .tx = port_tx };

static void watch(struct lcore *lcore, const struct pkt *pkt, enum counter counter)
{
	struct replay *r = (struct replay *)lcore;
	const unsigned i = (unsigned)(pkt - r->pkts);

	printf("%s: %s\n", r->texts[i], counter_infos[counter].name);
}

/* --- Making it ----------------------------------------------------------------------------------------- */

static void *replay_map(struct replay *r, unsigned i, size_t bytes)
{
	void *mem = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
			  : MAP_FAILED;

	if (mem == MAP_FAILED)
		return NULL;
	r->memory[i] = mem;
	r->sizes[i] = bytes;
	return mem;
}

static void make_port(struct replay *r, unsigned i)
{
	const struct replay_port *from = &r->plan->setup->ports[i];
	struct port *port = &r->lcore.ports[i].port;

	*port = (struct port){
		.ops = from->framed ? &framed_ops : &socket_ops,
		.framed = from->framed,
		.index = (uint16_t)i,
		.mtu = from->framed ? from->mtu : UINT16_MAX,
		.fd = -1,
		.priv = r,
		.pool = &r->pool.pool,
		.spec = { .number = (uint16_t)from->number,
			  .ip = from->ip,
			  .udp_port = from->udp_port },
	};
}

static int make_ports(struct replay *r)
{
	const struct replay_setup *setup = r->plan->setup;
	struct lcore *lcore = &r->lcore;

	lcore->ports = calloc(setup->nr_ports, sizeof(*lcore->ports));
	if (!lcore->ports || pool_plain_init(&r->pool, BUFFERS, ROOM) ||
	    pool_plain_init(&lcore->spares, LCORE_SPARES, WIRE_MSG_MAX))
		return -1;
	lcore->nr_ports = setup->nr_ports;
	for (unsigned i = 0; i < setup->nr_ports; i++)
		make_port(r, i);
	if (r->plan->verbose) {
		r->texts = calloc(REPLAY_BURST, sizeof(*r->texts));
		lcore->watch = watch;
	}
	return r->plan->verbose && !r->texts ? -1 : 0;
}

static int make_machines(struct replay *r, uint64_t first_ns)
{
	const struct replay_setup *setup = r->plan->setup;
	struct lcore *lcore = &r->lcore;
	struct fwd_params fwd = {
		.ip = setup->ip,
		.udp_port = WIRE_PORT,
		.nr_ports = (uint16_t)setup->nr_ports,
		.fdb_max = FDB,
		.age_ns = FDB_AGE_NS,
	};
	const uint64_t boot_ns = first_ns > BOOT_NS ? first_ns - BOOT_NS : 0;
	const struct pipe_time boot = { .now_ns = boot_ns, .wall_ms = boot_ns / 1000000 };
	bool framed = false;
	void *mem;

	for (unsigned i = 0; i < setup->nr_ports; i++)
		framed |= setup->ports[i].framed;
	lcore->now = boot;
	lcore->ip = setup->ip;
	memcpy(lcore->mac, setup->mac, sizeof(lcore->mac));
	memcpy(fwd.mac, setup->mac, sizeof(fwd.mac));
	mem = replay_map(r, 0, pipe_size(&setup->pipe));
	lcore->pipe = mem ? pipe_init(mem, &setup->pipe, &boot) : NULL;
	mem = replay_map(r, 1, fwd_size(&fwd));
	lcore->fwd = mem ? fwd_init(mem, &fwd) : NULL;
	if (!lcore->pipe || !lcore->fwd)
		return -1;
	if (setup->parent.ip) {
		struct flow parent = setup->parent;

		if (framed && setup->parent_number < 0)
			parent.port = PARENT_NO_PORT;
		parent_init(&lcore->parent, &parent, framed);
		pipe_set_parent(lcore->pipe, &lcore->parent.flow);
	}
	return 0;
}

static void replay_free(struct replay *r)
{
	for (unsigned i = 0; i < MEMORIES; i++)
		if (r->memory[i])
			munmap(r->memory[i], r->sizes[i]);
	for (unsigned i = 0; i < r->plan->setup->nr_ports; i++)
		replay_source_close(&r->sources[i]);
	pool_plain_fini(&r->pool);
	pool_plain_fini(&r->lcore.spares);
	free(r->lcore.ports);
	free(r->texts);
	free(r);
}

/* --- What comes in ------------------------------------------------------------------------------------- */

/* The port whose next packet is the earliest, the first of several; nr_ports: none has any. */
static unsigned source_next(const struct replay *r)
{
	const unsigned nr = r->plan->setup->nr_ports;
	unsigned first = nr;

	for (unsigned i = 0; i < nr; i++)
		if (r->sources[i].here &&
		    (first == nr || r->sources[i].next.ns < r->sources[first].next.ns))
			first = i;
	return first;
}

static void replay_set_time(struct replay *r, uint64_t ns)
{
	r->lcore.now.now_ns = ns;
	r->lcore.now.wall_ms = ns / 1000000;
}

/* Half a UDP checksum, of addresses and length alone, as packet sockets show it. */
static bool checksum_is_half(const uint8_t *frame, const struct frame *parsed)
{
	const uint32_t sum = frame_checksum_add(FRAME_PROTO_UDP + FRAME_UDP + parsed->len,
						frame + FRAME_OFF_IP_SRC, 8);
	const uint16_t half = (uint16_t)~frame_checksum_fold(sum);

	return half == wire_get16(frame + FRAME_OFF_UDP_SUM);
}

static bool packet_verify(const struct replay_port *port, struct pkt *pkt)
{
	struct frame frame;

	if (port->checks != REPLAY_CHECKS_SOME)
		return port->checks == REPLAY_CHECKS_YES;
	return frame_parse(&frame, pkt->data, pkt->len, false) != FRAME_OK ||
	       frame.kind != FRAME_IS_UDP || !checksum_is_half(pkt->data, &frame);
}

/* A capture taken beside the switch also has what the switch sent. */
static bool packet_is_own(const struct replay *r, const struct replay_packet *packet)
{
	const struct replay_setup *setup = r->plan->setup;

	if (setup->journal || packet->len < FRAME_ETH + FRAME_IPV4)
		return false;
	return memcmp(packet->data + FRAME_MAC, setup->mac, FRAME_MAC) == 0 ||
	       (setup->ip && wire_get16(packet->data + 2 * FRAME_MAC) == FRAME_TYPE_IPV4 &&
		wire_get32(packet->data + FRAME_OFF_IP_SRC) == setup->ip);
}

/* Into a buffer of ours: 0, or -1 and the error: its end is missing. */
static int packet_take(struct replay *r, unsigned port, struct pkt *pkt)
{
	const struct replay_packet *packet = &r->sources[port].next;
	const struct replay_port *p = &r->plan->setup->ports[port];
	bool cut = packet->len < packet->whole;

	*pkt = (struct pkt){ .flow = { .port = (uint16_t)port } };
	if (cut && !(p->framed && packet->len > p->mtu + (uint32_t)FRAME_ETH))
		return port_fail(
			r->err,
			"%.200s: packet %llu: only %u of its %u bytes are captured: capture whole "
			"packets (tcpdump -s 0)",
			r->sources[port].path, (unsigned long long)packet->number, packet->len,
			packet->whole);
	if (packet->len > ROOM - 192 || !r->pool.pool.get(&r->pool.pool, pkt))
		return port_fail(r->err,
				 "%.200s: packet %llu: its %u bytes are more than any frame has",
				 r->sources[port].path, (unsigned long long)packet->number,
				 packet->len);
	memcpy(pkt->data, packet->data, packet->len);
	pkt->len = packet->len;
	pkt->too_long = cut;
	if (p->framed)
		pkt->verify = packet_verify(p, pkt);
	return 0;
}

/* A socket sees payloads, and is told of peers that are gone.  False: this is neither. */
static bool packet_to_socket(const struct replay_port *p, struct pkt *pkt, bool *gone)
{
	struct frame frame;
	const uint8_t *quote;

	if (frame_parse(&frame, pkt->data, pkt->len, true) != FRAME_OK || frame.ip_dst != p->ip)
		return false;
	*gone = frame.kind == FRAME_IS_ICMP && frame.len >= FRAME_ICMP + FRAME_IPV4 + FRAME_UDP &&
		frame.payload[0] == 3 && frame.payload[1] == 3;
	if (*gone) {
		quote = frame.payload + FRAME_ICMP;
		pkt->flow.ip = wire_get32(quote + FRAME_OFF_IP_DST - FRAME_OFF_IP);
		pkt->flow.udp_port = wire_get16(quote + FRAME_IPV4 + 2);
		return true;
	}
	if (frame.kind != FRAME_IS_UDP || frame.port_dst != p->udp_port)
		return false;
	pkt->flow.ip = frame.ip_src;
	pkt->flow.udp_port = frame.port_src;
	pkt->cap -= (uint32_t)(frame.payload - pkt->data);
	pkt->data = frame.payload;
	pkt->len = frame.len;
	return true;
}

static void packet_text(struct replay *r, unsigned port, unsigned i)
{
	const struct replay_packet *packet = &r->sources[port].next;
	const uint64_t ns = packet->ns - r->totals->first_ns;
	char text[REPLAY_TEXT];

	replay_describe(packet->data, packet->len, text);
	snprintf(r->texts[i], REPLAY_TEXT, "port %u packet %llu at %llu.%09llu s: %.900s",
		 r->plan->setup->ports[port].number, (unsigned long long)packet->number,
		 (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000),
		 text);
}

/* One packet of the turn.  -1: an error; 1: it is in pkts[nr]; 0: it was nothing for the machines, or is done. */
static int turn_packet(struct replay *r, unsigned port, unsigned nr)
{
	const struct replay_port *p = &r->plan->setup->ports[port];
	struct pkt *pkt = &r->pkts[nr];
	bool gone = false;

	if (packet_is_own(r, &r->sources[port].next)) {
		r->totals->nr_own++;
		return 0;
	}
	r->totals->nr_in++;
	if (r->plan->verbose)
		packet_text(r, port, nr);
	if (packet_take(r, port, pkt))
		return -1;
	if (p->framed || packet_to_socket(p, pkt, &gone)) {
		if (!gone)
			return 1;
		ingress_gone_turn(&r->lcore, pkt);
	} else {
		r->totals->nr_own++;
		r->totals->nr_in--;
	}
	pkt_put(pkt);
	return 0;
}

/* Up to a burst of what has one stamp and port; *more: there is more of it. */
static int turn_burst(struct replay *r, unsigned port, uint64_t ns, bool *more)
{
	struct replay_source *source = &r->sources[port];
	unsigned nr = 0;

	do {
		int rc = turn_packet(r, port, nr);

		if (rc < 0 || replay_source_step(source, r->err))
			return -1;
		nr += (unsigned)rc;
		*more = source->here && source->next.ns == ns;
	} while (*more && nr < REPLAY_BURST);
	ingress_turn(&r->lcore, &r->lcore.ports[port], r->pkts, nr, !*more);
	return 0;
}

/* Jobs and epochs that there have been. */
static void replay_look(struct replay *r)
{
	const struct counters *counters = pipe_counters(r->lcore.pipe);
	const uint64_t talks = counters->v[COUNTER_join] + counters->v[COUNTER_up_status];

	if (talks == r->talks)
		return;
	r->talks = talks;
	for (unsigned i = 0; i < r->plan->setup->pipe.jobs_max; i++) {
		const struct job *job = pipe_job(r->lcore.pipe, i);

		if (!job)
			continue;
		if (job->handle != r->handles[i])
			r->totals->nr_jobs++;
		r->handles[i] = job->handle;
		if (!job->running || job->epoch == r->epochs[i])
			continue;
		r->epochs[i] = job->epoch;
		r->totals->nr_epochs++;
	}
}

static void event_do(struct replay *r, const struct replay_event *event)
{
	struct lcore *lcore = &r->lcore;

	replay_set_time(r, event->ns);
	switch ((enum replay_what)event->what) {
	case REPLAY_ASK:
		lcore->parent.next_ns = 0;
		parent_tick(lcore);
		return;
	case REPLAY_RESET:
		pipe_reset(lcore->pipe, event->name, event->epoch, &lcore->now);
		egress_status(lcore);
		egress_flush(lcore);
		return;
	case REPLAY_DRAIN:
		pipe_drain(lcore->pipe, event->on);
		return;
	case REPLAY_SPOIL:
		if (event->on && event->port < r->plan->setup->nr_ports &&
		    r->plan->setup->ports[event->port].checks == REPLAY_CHECKS_NO)
			r->plan->setup->ports[event->port].checks = REPLAY_CHECKS_SOME;
		return;
	case REPLAY_END:
		return;
	}
}

/* Those that happened before this time. */
static void events_do(struct replay *r, uint64_t ns)
{
	const struct replay_setup *setup = r->plan->setup;

	while (r->event < setup->nr_events && setup->events[r->event].ns < ns)
		event_do(r, &setup->events[r->event++]);
}

/* Of a port whose capture is not whole nobody knows what came next: nothing after it can be said. */
static bool sources_know(const struct replay *r)
{
	for (unsigned i = 0; i < r->plan->setup->nr_ports; i++)
		if (r->sources[i].partial && !r->sources[i].here)
			return false;
	return true;
}

static int replay_packets(struct replay *r)
{
	const unsigned nr_ports = r->plan->setup->nr_ports;
	unsigned port;

	while (sources_know(r) && (port = source_next(r)) < nr_ports && !r->failed) {
		const uint64_t ns = r->sources[port].next.ns;
		bool more = true;

		events_do(r, ns);
		replay_set_time(r, ns);
		r->totals->last_ns = ns;
		while (more)
			if (turn_burst(r, port, ns, &more))
				return -1;
		replay_look(r);
	}
	r->plan->expect->open = !sources_know(r);
	if (sources_know(r))
		events_do(r, UINT64_MAX);
	return r->failed ? -1 : 0;
}

static int replay_open(struct replay *r)
{
	const struct replay_setup *setup = r->plan->setup;
	unsigned first;

	for (unsigned i = 0; i < setup->nr_ports; i++)
		if (replay_source_open(&r->sources[i], setup->ports[i].in, r->err))
			return -1;
	first = source_next(r);
	r->totals->first_ns = first < setup->nr_ports ? r->sources[first].next.ns : 0;
	if (setup->nr_events && setup->events[0].ns < r->totals->first_ns)
		r->totals->first_ns = setup->events[0].ns;
	if (make_ports(r) || make_machines(r, r->totals->first_ns))
		return port_fail(r->err, "no memory for %u slots and %zu bytes of values",
				 setup->pipe.slots_max, setup->pipe.values_bytes);
	return 0;
}

int replay_run(const struct replay_plan *plan, struct replay_totals *totals, struct port_error *err)
{
	struct replay *r = calloc(1, sizeof(*r));
	int rc;

	*totals = (struct replay_totals){ .nr_in = 0 };
	if (!r)
		return port_fail(err, "out of memory");
	r->plan = plan;
	r->totals = totals;
	r->err = err;
	rc = replay_open(r);
	if (rc == 0)
		rc = replay_packets(r);
	for (unsigned i = 0; r->lcore.pipe && i < COUNTER_NR; i++)
		totals->counters.v[i] = pipe_counters(r->lcore.pipe)->v[i] + r->lcore.counters.v[i];
	replay_free(r);
	return rc;
}
