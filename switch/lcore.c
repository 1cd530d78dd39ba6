// SPDX-License-Identifier: BSD-3-Clause
/*
 * lcore.c - the loop: every port in turn, from receiving to sending, and rest when there is nothing to do.
 *
 * Idle in three steps, because the workers may need this very CPU: some rounds of polling, some in which the
 * CPU is offered to others, then sleep.  Where every port has a socket beneath, the kernel wakes the loop; other
 * DPDK devices cannot, so there the sleep is short.
 */
#include "switch/lcore.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include "switch/ctl.h"
#include "switch/egress.h"
#include "switch/ingress.h"
#include "switch/log.h"

enum {
	LCORE_POLLS = 64,   /* rounds before the CPU is offered */
	LCORE_YIELDS = 256, /* rounds before sleep */
	LCORE_NAPS = 4096,  /* short sleeps before longer ones */
	LCORE_NAP_NS = 50000,
	LCORE_LONG_NAP_NS =
		100000, /* about what a datagram spends on its way up a kernel's stack anyway */
	LCORE_WAIT_NS = 100000000, /* a signal that comes just before the wait is seen after it */
	LCORE_LOOK_NS = 100000000, /* between two looks at the interfaces */
	LCORE_DRAIN_NS = 200000000,
	LCORE_QUIET_NS = 5000000,
};

void lcore_time(struct lcore *lcore)
{
	struct timespec ts;

	if (lcore->clock) {
		lcore->now.now_ns = lcore->clock();
	} else {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		lcore->now.now_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
	if (!lcore->wall_base_ns) {
		clock_gettime(CLOCK_REALTIME, &ts);
		lcore->wall_base_ns =
			(uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec - lcore->now.now_ns;
	}
	lcore->now.wall_ms = lcore_wall_ns(lcore) / 1000000;
}

/* Jobs may be gone before anybody asks how many there were. */
static void lcore_count_jobs(struct lcore *lcore)
{
	uint64_t joins = pipe_counters(lcore->pipe)->v[COUNTER_join];
	const struct job *job;

	if (joins == lcore->joins)
		return;
	lcore->joins = joins;
	for (unsigned i = 0; i < 4096; i++) {
		job = pipe_job(lcore->pipe, i);
		if (!job || lcore->handles[job->handle / 8] & 1 << job->handle % 8)
			continue;
		lcore->handles[job->handle / 8] |= (uint8_t)(1 << job->handle % 8);
		lcore->nr_jobs++;
		log_line(LOG_INFO, "job \"%s\" of %u rank%s", job->name, job->world,
			 job->world == 1 ? "" : "s");
	}
}

static void lcore_note_capture(const struct port *port, struct capture *capture)
{
	const char *trouble = capture_trouble(capture);

	if (trouble)
		log_line(LOG_WARN, "port %u: the capture ends, the switch goes on: %s",
			 port->spec.number, trouble);
}

static void lcore_notes(struct lcore *lcore)
{
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct port *port = &lcore->ports[i].port;

		lcore_note_capture(port, lcore->ports[i].capture_in);
		lcore_note_capture(port, lcore->ports[i].capture_out);
		if (!port->note[0])
			continue;
		log_line(LOG_INFO, "port %u: %s", port->spec.number, port->note);
		port->note[0] = '\0';
	}
}

static void lcore_look(struct lcore *lcore)
{
	if (lcore->look_ns > lcore->now.now_ns)
		return;
	lcore->look_ns = lcore->now.now_ns + LCORE_LOOK_NS;
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct port *port = &lcore->ports[i].port;
		bool was_gone = port->gone;

		if (!port->ops->look)
			continue;
		port->ops->look(port);
		if (port->gone != was_gone)
			log_line(LOG_WARN, "port %u: interface %.15s is %s", port->spec.number,
				 port->spec.dev,
				 port->gone
					 ? "gone; the port goes on when one of this name is there "
					   "again, and the others meanwhile"
					 : "there again");
	}
}

static unsigned lcore_round(struct lcore *lcore)
{
	uint64_t start = lcore->now.now_ns;
	unsigned nr = 0;

	for (unsigned i = 0; i < lcore->nr_ports; i++)
		nr += ingress_poll(lcore, &lcore->ports[i]);
	if (nr) {
		/* A round after idle ones starts when its first burst does. */
		if (lcore->nr_idle)
			start = lcore->now.now_ns;
		lcore_time(lcore);
		lcore->busy_ns += lcore->now.now_ns - start;
		lcore_count_jobs(lcore);
		lcore_look(lcore);
		if (lcore->parent.asks)
			parent_tick(lcore);
		if (lcore->ctl)
			ctl_look(lcore->ctl, lcore->now.now_ns);
	}
	if (lcore->nr_held) {
		lcore_time(lcore);
		ingress_expire(lcore, false);
		egress_expire(lcore, false);
		egress_flush(lcore);
	}
	return nr;
}

uint64_t lcore_turn(struct lcore *lcore)
{
	lcore->served = true;
	lcore_time(lcore);
	lcore_round(lcore);
	return stage_due(lcore);
}

/* So long at most, and not beyond the time when a packet that is held back goes on. */
static struct timespec lcore_rest(struct lcore *lcore, uint64_t ns)
{
	if (lcore->nr_held) {
		uint64_t due_ns = stage_due(lcore), left;

		lcore_time(lcore);
		left = due_ns > lcore->now.now_ns ? due_ns - lcore->now.now_ns : 0;
		ns = left < ns ? left : ns;
	}
	return (struct timespec){ .tv_nsec = (long)ns };
}

/* Sleeps until a socket has something, or a packet that is held back goes on; false if a port has none to wait for. */
static bool lcore_wait(struct lcore *lcore)
{
	struct pollfd fds[PORT_MAX + 1];
	struct timespec wait = lcore_rest(lcore, LCORE_WAIT_NS);
	socklen_t len = sizeof(int);
	unsigned nr = lcore->nr_ports;
	int error;

	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		if (lcore->ports[i].port.fd < 0)
			return false;
		fds[i] = (struct pollfd){ .fd = lcore->ports[i].port.fd, .events = POLLIN };
	}
	if (lcore->ctl)
		fds[nr++] = (struct pollfd){ .fd = ctl_fd(lcore->ctl), .events = POLLIN };
	if (ppoll(fds, nr, &wait, NULL) <= 0)
		return true;
	if (lcore->ctl && fds[nr - 1].revents)
		ctl_serve(lcore->ctl);
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		if (!(fds[i].revents & (POLLERR | POLLNVAL)) || !lcore->ports[i].port.framed)
			continue;
		/* An interface that went down or away: told again and again unless read.  A UDP socket's errors are
		 * read by its port. */
		(void)!getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
		lcore->look_ns = 0;
		return false;
	}
	return true;
}

static void lcore_idle(struct lcore *lcore)
{
	uint64_t n = ++lcore->nr_idle;
	struct timespec nap;

	if (n <= LCORE_POLLS)
		return;
	lcore_time(lcore);
	lcore_look(lcore);
	if (lcore->parent.asks)
		parent_tick(lcore);
	if (lcore->ctl)
		ctl_look(lcore->ctl, lcore->now.now_ns);
	if (lcore->spin || n <= LCORE_POLLS + LCORE_YIELDS) {
		sched_yield();
		return;
	}
	lcore_notes(lcore);
	if (lcore_wait(lcore))
		return;
	nap = lcore_rest(lcore, n > LCORE_NAPS ? LCORE_LONG_NAP_NS : LCORE_NAP_NS);
	nanosleep(&nap, NULL);
}

void lcore_run(struct lcore *lcore, const volatile sig_atomic_t *wake)
{
	lcore->served = true;
	lcore_time(lcore);
	while (!*wake) {
		if (lcore_round(lcore))
			lcore->nr_idle = 0;
		else
			lcore_idle(lcore);
	}
	lcore_notes(lcore);
}

void lcore_drain(struct lcore *lcore)
{
	uint64_t start, heard;

	lcore_time(lcore);
	start = heard = lcore->now.now_ns;
	while (lcore->now.now_ns - start < LCORE_DRAIN_NS &&
	       lcore->now.now_ns - heard < LCORE_QUIET_NS) {
		if (lcore_round(lcore))
			heard = lcore->now.now_ns;
		else
			nanosleep(&(struct timespec){ .tv_nsec = LCORE_NAP_NS }, NULL);
		lcore_time(lcore);
	}
	ingress_expire(lcore, true);
	egress_expire(lcore, true);
	egress_flush(lcore);
	/* It may have been told to end before it went round once. */
	lcore_notes(lcore);
}
