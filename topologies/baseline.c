// SPDX-License-Identifier: BSD-3-Clause
// A ring and a parameter server on the links of a topology, in virtual time: actors that only send and count.
#include "topologies/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "topologies/local.h"
#include "topologies/say.h"

enum {
	BASELINE_WINDOW = 4 /* chunks of a worker under way, and its part of what the links hold */
};

/* Where a packet goes; it lies in its data, and is no part of its length. */
struct tag {
	uint32_t node, number;
};

struct net;

struct router {
	struct actor actor;
	struct net *net;
	unsigned int node;
};

struct peer {
	struct actor actor;
	struct net *net;
	unsigned int rank, node;
	uint16_t port;
	uint32_t step, left;	  /* ring: that is received now, and its packets still to come */
	uint32_t nr_sent, nr_got; /* server: chunks */
	uint32_t *count;	  /* of each chunk at the server: who has sent it */
};

struct net {
	const struct baseline_plan *plan;
	struct vnet vnet;
	struct router *router;
	struct peer *peer;
	unsigned int *host_link; /* of each node that is a host */
	unsigned int nr, nr_done;
	uint32_t payload; /* bytes of the largest packet */
	uint32_t nr_chunks;
};

static unsigned int link_up(const struct net *net, unsigned int node)
{
	const struct topology_node *n = &net->plan->topology->node[node];

	return n->is_switch ? n->uplink : net->host_link[node];
}

/* The line from a switch towards a host. */
static struct line *router_line(struct net *net, unsigned int node, unsigned int to)
{
	const struct topology_node *nodes = net->plan->topology->node;
	unsigned int link = net->host_link[to];

	for (unsigned int at = to; nodes[at].parent != node;) {
		at = nodes[at].parent;
		link = nodes[at].uplink;
		if (nodes[at].parent == TOPOLOGY_NO_NODE) { // it is not below
			link = nodes[node].uplink;
			break;
		}
	}
	return vnet_line(&net->vnet, link, node);
}

static struct tag packet_tag(const struct packet *packet)
{
	struct tag tag;

	memcpy(&tag, packet->data, sizeof(tag));
	return tag;
}

static void router_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct router *r = (struct router *)actor;

	(void)port;
	(void)line_send(router_line(r->net, r->node, packet_tag(packet).node), packet);
}

static void peer_send(struct peer *from, const struct peer *to, uint32_t number, uint32_t len)
{
	const struct tag tag = { to->node, number };
	struct packet *packet = packet_get(&from->net->vnet.pool);

	if (!packet)
		abort(); // a simulation of some packets at a time
	memcpy(packet->data, &tag, sizeof(tag));
	packet->to = to->port;
	packet->len = len;
	(void)line_send(from->net->vnet.host[from->node].up, packet);
}

static void peer_done(struct peer *peer)
{
	peer->net->nr_done++;
}

static void peer_run(struct actor *actor)
{
	(void)actor; // all is done as it comes
}

static uint32_t packets_of(const struct net *net, uint64_t bytes)
{
	return bytes ? (uint32_t)((bytes + net->payload - 1) / net->payload) : 1;
}

/* --- Ring --------------------------------------------------------------------------------------- */

/* Of what a rank sends in a step. */
static uint64_t segment_bytes(const struct net *net, unsigned int rank, uint32_t step)
{
	const uint64_t n = net->nr, i = (rank + 2 * n - step % n) % n;

	return net->plan->bytes * (i + 1) / n - net->plan->bytes * i / n;
}

static void ring_send(struct peer *peer, uint32_t step)
{
	struct net *net = peer->net;
	uint64_t left = segment_bytes(net, peer->rank, step);
	uint32_t nr = packets_of(net, left);

	for (; nr; nr--) {
		const uint32_t len = left < net->payload ? (uint32_t)left : net->payload;

		peer_send(peer, &net->peer[(peer->rank + 1) % net->nr], step, len);
		left -= len;
	}
}

static void ring_await(struct peer *peer)
{
	const unsigned int before = (peer->rank + peer->net->nr - 1) % peer->net->nr;

	peer->left = packets_of(peer->net, segment_bytes(peer->net, before, peer->step));
}

static void ring_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct peer *peer = (struct peer *)actor;

	(void)port;
	packet_put(&peer->net->vnet.pool, packet);
	if (--peer->left)
		return;
	if (++peer->step == 2 * (peer->net->nr - 1)) {
		peer_done(peer);
		return;
	}
	ring_send(peer, peer->step);
	ring_await(peer);
}

/* --- Server ------------------------------------------------------------------------------------- */

static uint32_t chunk_bytes(const struct net *net, uint32_t i)
{
	const uint64_t left = net->plan->bytes - (uint64_t)i * net->payload;

	return left < net->payload ? (uint32_t)left : net->payload;
}

static void worker_send(struct peer *peer)
{
	const uint32_t i = peer->nr_sent++;

	peer_send(peer, &peer->net->peer[0], i, chunk_bytes(peer->net, i));
}

static void worker_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct peer *peer = (struct peer *)actor;

	(void)port;
	packet_put(&peer->net->vnet.pool, packet);
	if (peer->nr_sent < peer->net->nr_chunks)
		worker_send(peer);
	if (++peer->nr_got == peer->net->nr_chunks)
		peer_done(peer);
}

static void server_receive(struct actor *actor, unsigned int port, struct packet *packet)
{
	struct peer *server = (struct peer *)actor;
	struct net *net = server->net;
	const uint32_t i = packet_tag(packet).number;

	(void)port;
	packet_put(&net->vnet.pool, packet);
	if (++server->count[i] < net->nr - 1)
		return;
	for (unsigned int k = 1; k < net->nr; k++)
		peer_send(server, &net->peer[k], i, chunk_bytes(net, i));
}

/* --- What theory says --------------------------------------------------------------------------- */

struct path {
	uint64_t rate;	/* of the slowest line */
	double delay_s; /* of a packet, without its time on the first line */
	unsigned int nr;
};

static unsigned int node_depth(const struct net *net, unsigned int node)
{
	const struct topology_node *nodes = net->plan->topology->node;

	return nodes[node].is_switch ? nodes[node].depth : nodes[nodes[node].parent].depth + 1;
}

static void path_add(struct path *path, const struct line *line, uint64_t bytes)
{
	if (!path->nr || line->rate < path->rate)
		path->rate = line->rate;
	path->delay_s += (double)line->delay_ns / 1e9;
	if (path->nr++)
		path->delay_s += 8.0 * (double)(bytes + LINE_OVERHEAD) / (double)line->rate;
}

static struct path path_between(struct net *net, unsigned int a, unsigned int b, uint64_t bytes)
{
	const struct topology_node *nodes = net->plan->topology->node;
	struct path path = { .nr = 0 };

	if (bytes > net->payload)
		bytes = net->payload;
	while (a != b) {
		const bool up = node_depth(net, a) >= node_depth(net, b);
		const unsigned int low = up ? a : b, high = nodes[low].parent;

		path_add(&path, vnet_line(&net->vnet, link_up(net, low), up ? low : high), bytes);
		if (up)
			a = high;
		else
			b = high;
	}
	return path;
}

static double wire_bits(const struct net *net, uint64_t bytes)
{
	return 8.0 * ((double)bytes + (double)packets_of(net, bytes) * LINE_OVERHEAD);
}

/* 2 (n - 1) times: the n-th part at the slowest rate, and the mean latency from a rank to the next. */
static double ring_formula_s(struct net *net)
{
	const uint64_t part = net->plan->bytes / net->nr;
	double latency_s = 0;
	uint64_t rate = UINT64_MAX;

	for (unsigned int i = 0; i < net->nr; i++) {
		const struct path path = path_between(net, net->peer[i].node,
						      net->peer[(i + 1) % net->nr].node, part);

		latency_s += path.delay_s / net->nr;
		rate = path.rate < rate ? path.rate : rate;
	}
	return 2.0 * (net->nr - 1) * (wire_bits(net, part) / (double)rate + latency_s);
}

/* All that the others send at the rate of the server's link, and once the way there and back. */
static double server_formula_s(struct net *net)
{
	struct path path, longest = { .nr = 0 };

	for (unsigned int i = 1; i < net->nr; i++) {
		path = path_between(net, net->peer[i].node, net->peer[0].node, net->plan->bytes);
		if (path.delay_s > longest.delay_s)
			longest = path;
	}
	return (net->nr - 1) * wire_bits(net, net->plan->bytes) /
		       (double)net->vnet.host[net->peer[0].node].up->rate +
	       2 * longest.delay_s;
}

/* --- A run -------------------------------------------------------------------------------------- */

int baseline_check(const struct topology *t, const struct topology_job *job)
{
	struct topology_faults_text faults;

	for (unsigned int i = 0; i < t->nr_links; i++) {
		struct topology_link link = t->link[i];

		link.delay_ns = link.rate_bps = 0;
		link.fault[TOPOLOGY_QUEUE].text = NULL;
		topology_faults(&link, &faults);
		if (faults.text[0])
			return say_error(
				"%s:%zu: a ring and a parameter server are simulated without loss and "
				"other faults, and this link has them (%s): leave --compare out",
				topology_path(t, link.place), link.place.line + 1, faults.text);
	}
	for (unsigned int i = 0; i < job->ranks.nr; i++)
		for (unsigned int k = 0; k < i; k++)
			if (job->rank_node[i] == job->rank_node[k])
				return say_error(
					"%s:%zu: job %s has two ranks at %s, and a ring and a parameter "
					"server each rank at a host of its own: leave --compare out",
					t->path, job->place.line + 1, job->name,
					job->ranks.item[i]);
	return 0;
}

static int net_routers(struct net *net)
{
	const struct topology *t = net->plan->topology;

	net->router = calloc(t->nr_switches, sizeof(*net->router));
	if (!net->router)
		return -1;
	for (unsigned int i = 0; i < t->nr_switches; i++) {
		struct router *r = &net->router[i];

		actor_init(&r->actor, &net->vnet);
		r->actor.receive = router_receive;
		r->actor.run = peer_run;
		r->net = net;
		r->node = t->switches[i];
		net->vnet.at_switch[r->node] = &r->actor;
	}
	return 0;
}

static int net_peers(struct net *net,
		     void (*receive)(struct actor *, unsigned int, struct packet *))
{
	net->peer = calloc(net->nr, sizeof(*net->peer));
	if (!net->peer)
		return -1;
	for (unsigned int i = 0; i < net->nr; i++) {
		struct peer *peer = &net->peer[i];

		actor_init(&peer->actor, &net->vnet);
		peer->actor.receive = receive;
		peer->actor.run = peer_run;
		peer->net = net;
		peer->rank = i;
		peer->node = net->plan->job->rank_node[i];
		peer->port = vnet_attach(&net->vnet, peer->node, &peer->actor);
		if (!peer->port)
			return -1;
	}
	return 0;
}

static int net_open(struct net *net, const struct baseline_plan *plan,
		    void (*receive)(struct actor *, unsigned int, struct packet *))
{
	const struct topology *t = plan->topology;

	*net = (struct net){ .plan = plan, .nr = plan->job->ranks.nr, .payload = UINT32_MAX };
	if (vnet_open(&net->vnet, t, &plan->links, net->nr + t->nr_switches))
		return -1;
	for (unsigned int i = 0; i < t->nr_links; i++) {
		net->vnet.link[i].way[0].queue = net->vnet.link[i].way[1].queue = 0;
		if (local_payload(&t->link[i]) < net->payload)
			net->payload = local_payload(&t->link[i]);
	}
	net->nr_chunks = packets_of(net, plan->bytes);
	net->host_link = calloc(t->nr_nodes, sizeof(*net->host_link));
	if (!net->host_link || net_routers(net) || net_peers(net, receive))
		return say_error("not enough memory");
	for (unsigned int i = 0; i < net->nr; i++)
		net->host_link[net->peer[i].node] = local_host_end(t, net->peer[i].node).index;
	return 0;
}

static int net_run(struct net *net, unsigned int nr, struct baseline_time *time, double formula_s)
{
	while (net->nr_done < nr)
		if (!vnet_step(&net->vnet))
			return say_error("nothing will happen any more, but %u of %u wait",
					 nr - net->nr_done, nr);
	time->us = (double)net->vnet.agenda.now_ns / 1e3;
	time->formula_us = formula_s * 1e6;
	return 0;
}

static void net_close(struct net *net)
{
	if (net->peer)
		free(net->peer[0].count);
	vnet_free(&net->vnet);
	free(net->router);
	free(net->peer);
	free(net->host_link);
}

int baseline_ring(const struct baseline_plan *plan, struct baseline_time *time)
{
	struct net net;
	int rc = net_open(&net, plan, ring_receive);

	for (unsigned int i = 0; rc == 0 && i < net.nr; i++) {
		ring_await(&net.peer[i]);
		ring_send(&net.peer[i], 0);
	}
	if (rc == 0)
		rc = net_run(&net, net.nr, time, ring_formula_s(&net));
	net_close(&net);
	return rc;
}

/* As many as keep the links busy, and not more: they would wait at the server's switch. */
static uint32_t server_window(struct net *net)
{
	double most = 0;

	for (unsigned int i = 1; i < net->nr; i++) {
		const struct path path =
			path_between(net, net->peer[i].node, net->peer[0].node, net->payload);
		const double held =
			2 * path.delay_s * (double)path.rate / wire_bits(net, net->payload);

		most = held > most ? held : most;
	}
	return BASELINE_WINDOW * (1 + (uint32_t)(most / (net->nr - 1)));
}

int baseline_server(const struct baseline_plan *plan, struct baseline_time *time)
{
	struct net net;
	int rc = net_open(&net, plan, worker_receive);

	if (rc == 0) {
		const uint32_t window = server_window(&net);

		net.peer[0].actor.receive = server_receive;
		net.peer[0].count = calloc(net.nr_chunks, sizeof(*net.peer[0].count));
		if (!net.peer[0].count)
			rc = say_error("not enough memory");
		for (uint32_t k = 0; rc == 0 && k < window && k < net.nr_chunks; k++)
			for (unsigned int i = 1; i < net.nr; i++)
				worker_send(&net.peer[i]);
	}
	if (rc == 0)
		rc = net_run(&net, net.nr - 1, time, server_formula_s(&net));
	net_close(&net);
	return rc;
}
