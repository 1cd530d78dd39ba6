// SPDX-License-Identifier: BSD-3-Clause
// udp_switch.c - a switch on a loopback socket for tests, with packets lost on demand.
#include "tests/unit/udp_switch.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "switch/core/pipe.h"

struct udp_switch {
	int fd;
	uint16_t port;
	struct pipe *pipe;
	void *mem;
	pthread_t thread;
	atomic_bool stop;
	bool (*lose)(void *ctx, uint64_t number);
	void *ctx;
	void (*_Atomic tamper)(void *ctx, uint8_t *data, size_t len);
	void *tamper_ctx;
	_Atomic uint64_t packets;
	uint8_t buf[WIRE_MSG_MAX];
};

static struct pipe_time udp_switch_time(void)
{
	struct timespec mono, wall;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &wall);
	return (struct pipe_time){
		.now_ns = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec,
		.wall_ms = (uint64_t)wall.tv_sec * 1000u + (uint64_t)wall.tv_nsec / 1000000u,
	};
}

static bool udp_switch_lost(struct udp_switch *sw)
{
	const uint64_t number = atomic_fetch_add(&sw->packets, 1);

	return sw->lose && sw->lose(sw->ctx, number);
}

static void udp_switch_tx(struct udp_switch *sw, const struct flow *to, const void *data,
			  size_t len)
{
	const struct sockaddr_in peer = {
		.sin_family = AF_INET,
		.sin_port = htons(to->udp_port),
		.sin_addr.s_addr = htonl(to->ip),
	};

	uint8_t copy[WIRE_MSG_MAX];

	if (udp_switch_lost(sw))
		return;
	if (atomic_load(&sw->tamper)) {
		memcpy(copy, data, len);
		atomic_load (&sw->tamper)(sw->tamper_ctx, copy, len);
		data = copy;
	}
	/* A rank may have closed its socket: that is its business. */
	if (sendto(sw->fd, data, len, 0, (const struct sockaddr *)&peer, sizeof(peer)) < 0)
		return;
}

static void udp_switch_packet(struct udp_switch *sw, const struct sockaddr_in *peer, uint32_t len)
{
	const struct pipe_time now = udp_switch_time();
	struct pipe_pkt pkt = {
		.data = sw->buf,
		.len = len,
		.cap = sizeof(sw->buf),
		.flow = { .ip = ntohl(peer->sin_addr.s_addr), .udp_port = ntohs(peer->sin_port) },
	};
	struct flow dests[WIRE_WORLD_MAX], to;
	unsigned nr;
	size_t out;

	if (udp_switch_lost(sw))
		return;
	pipe_input(sw->pipe, &pkt, 1, &now);
	if (pkt.verdict == PIPE_REPLY || pkt.verdict == PIPE_MULTICAST) {
		nr = pipe_dests(sw->pipe, &pkt, dests);
		for (unsigned i = 0; i < nr; i++)
			udp_switch_tx(sw, &dests[i], pkt.data, pkt.len);
	}
	while ((out = pipe_output(sw->pipe, &to, sw->buf)) > 0)
		udp_switch_tx(sw, &to, sw->buf, out);
}

static void *udp_switch_run(void *arg)
{
	struct udp_switch *sw = arg;
	struct pollfd fd = { .fd = sw->fd, .events = POLLIN };

	while (!atomic_load(&sw->stop)) {
		struct sockaddr_in peer;
		socklen_t size = sizeof(peer);
		ssize_t len;

		if (poll(&fd, 1, 5) <= 0)
			continue;
		len = recvfrom(sw->fd, sw->buf, sizeof(sw->buf), MSG_DONTWAIT,
			       (struct sockaddr *)&peer, &size);
		if (len > 0)
			udp_switch_packet(sw, &peer, (uint32_t)len);
	}
	return NULL;
}

struct udp_switch *udp_switch_start(bool (*lose)(void *ctx, uint64_t number), void *ctx)
{
	const struct pipe_params params = {
		.jobs_max = 8, .slots_max = 4096, .values_bytes = 16 << 20, .p_max = WIRE_P_MAX
	};
	const struct pipe_time boot = udp_switch_time();
	struct udp_switch *sw = calloc(1, sizeof(*sw));
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	const int bytes = 4 << 20;
	size_t size = (pipe_size(&params) + 63) / 64 * 64;

	assert(sw);
	sw->mem = aligned_alloc(64, size);
	assert(sw->mem);
	memset(sw->mem, 0, size);
	sw->pipe = pipe_init(sw->mem, &params, &boot);
	assert(sw->pipe);
	sw->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert(sw->fd >= 0);
	setsockopt(sw->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(sw->fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    getsockname(sw->fd, (struct sockaddr *)&addr, &len) != 0)
		abort();
	sw->port = ntohs(addr.sin_port);
	sw->lose = lose;
	sw->ctx = ctx;
	if (pthread_create(&sw->thread, NULL, udp_switch_run, sw) != 0)
		abort();
	return sw;
}

void udp_switch_tamper(struct udp_switch *sw, void (*tamper)(void *ctx, uint8_t *data, size_t len),
		       void *ctx)
{
	sw->tamper_ctx = ctx;
	atomic_store(&sw->tamper, tamper);
}

uint16_t udp_switch_port(const struct udp_switch *sw)
{
	return sw->port;
}

uint64_t udp_switch_packets(const struct udp_switch *sw)
{
	return atomic_load(&sw->packets);
}

void udp_switch_stop(struct udp_switch *sw)
{
	atomic_store(&sw->stop, true);
	pthread_join(sw->thread, NULL);
	close(sw->fd);
	free(sw->mem);
	free(sw);
}
