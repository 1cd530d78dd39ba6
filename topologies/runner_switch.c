// SPDX-License-Identifier: BSD-3-Clause
// The switches of a run: start, readiness, output, restart, end.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "topologies/runner.h"
#include "topologies/say.h"

enum { LINES_SHOWN = 20, RESTARTS_MAX = 100 };

// A DPDK switch is ready 100 ms + 50 ms per packet port after its start, and stops in 35 ms per
// port, on an idle machine with 2 cores; on a busy one many times later.
static const double ready_s = 30, ready_port_s = 0.5, stop_s = 3, stop_port_s = 0.05,
		    restart_s = 0.2;

static void line_show(struct runner_switch *sw, struct switchlog_line *line)
{
	if (!line->shown)
		screen_line(&sw->runner->screen, STDERR_FILENO, sw->prefix, line->text);
	line->shown = true;
}

// Before it is ready, lines are kept back: if it fails, they belong below the error.
static void line_take(struct runner_switch *sw, const char *text, bool from_stderr)
{
	struct switchlog_line *line = switchlog_add(&sw->log, text, from_stderr);

	record_log(&sw->runner->options->record, sw->node->name, text);
	if (!sw->stopping && (sw->runner->options->verbose || (line->warning && sw->ready)))
		line_show(sw, line);
}

static void out_line(struct stream *s, const char *text)
{
	line_take(s->owner, text, false);
}

static void err_line(struct stream *s, const char *text)
{
	line_take(s->owner, text, true);
}

static void lines_show(struct runner_switch *sw, bool warnings_only)
{
	struct switchlog *l = &sw->log;
	unsigned int from = l->nr > LINES_SHOWN ? l->nr - LINES_SHOWN : 0;

	for (unsigned int i = from; i < l->nr; i++)
		if (!warnings_only || switchlog_get(l, i)->warning)
			line_show(sw, switchlog_get(l, i));
}

static int switch_start(struct runner_switch *sw)
{
	struct program_plan plan = { .ns = &sw->runner->fabric.node[sw->plan->node],
				     .argv = sw->plan->argv };
	int ready[2], rc;

	if (pipe2(ready, O_CLOEXEC | O_NONBLOCK))
		return say_error("pipe: %s", say_errno(errno));
	sw->program.out = (struct stream){ .fd = -1, .line_end = out_line, .owner = sw };
	sw->program.err = (struct stream){ .fd = -1, .line_end = err_line, .owner = sw };
	plan.pass[FABRIC_READY_FD - PROGRAM_FD] = ready[1];
	plan.pass[FABRIC_CTL_FD - PROGRAM_FD] = sw->plan->ctl_fd;
	plan.nr_pass = sw->plan->ctl_fd < 0 ? 1 : 2;
	sw->ready_fd = ready[0];
	sw->ready = false;
	program_plan_env(&plan, "FABRIC_HOST", sw->node->name); // by which it can be entered
	rc = program_start(&sw->program, &plan);
	close(ready[1]);
	return rc;
}

void runner_switch_ready(struct runner_switch *sw)
{
	ssize_t n;
	char byte;

	n = read(sw->ready_fd, &byte, 1);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(sw->ready_fd);
	sw->ready_fd = -1;
	if (n != 1) // it closed the pipe, most likely as it ends: that is said when it has
		return;
	sw->ready = true;
	say_note("switch %s is ready", sw->node->name);
	lines_show(sw, true);
}

/* The first that is not ready, NULL: all are. */
static struct runner_switch *switches_awaited(struct runner *r)
{
	for (unsigned int i = 0; i < r->nr_switches; i++)
		if (!r->sw[i].ready)
			return &r->sw[i];
	return NULL;
}

/* The first that has ended and stays away, NULL: none. */
static struct runner_switch *switches_failed(struct runner *r)
{
	for (unsigned int i = 0; i < r->nr_switches; i++)
		if (r->sw[i].program.ended && r->sw[i].start_at <= 0)
			return &r->sw[i];
	return NULL;
}

static int switches_wait(struct runner *r)
{
	double limit = ready_s + ready_port_s * r->options->topology->nr_links,
	       end = clock_s() + limit, left;
	struct runner_switch *sw;

	while (switches_awaited(r) && !switches_failed(r) && !r->nr_interrupts &&
	       (left = end - clock_s()) > 0)
		runner_turn(r, left);
	sw = switches_failed(r);
	if (r->nr_interrupts || (!sw && !switches_awaited(r)))
		return 0;
	if (sw) {
		say_error("switch %s %s before it was ready; its last output:", sw->node->name,
			  program_describe(sw->program.status).text);
	} else {
		sw = switches_awaited(r);
		say_error("switch %s is not ready after %.0f s; its last output:", sw->node->name,
			  limit);
	}
	lines_show(sw, false);
	return -1;
}

int runner_switches_start(struct runner *r)
{
	const struct topology *t = r->options->topology;

	r->sw = calloc(t->nr_switches, sizeof(*r->sw));
	if (!r->sw)
		return say_error("not enough memory");
	for (unsigned int i = 0; i < t->nr_switches; i++) {
		struct runner_switch *sw = &r->sw[i];

		sw->runner = r;
		sw->plan = &r->fabric.switches[i];
		sw->node = &t->node[t->switches[i]];
		sw->ready_fd = sw->program.out.fd = sw->program.err.fd = -1;
		snprintf(sw->prefix, sizeof(sw->prefix), "[%s] ", sw->node->name);
	}
	r->nr_switches = t->nr_switches;
	for (unsigned int i = 0; i < r->nr_switches; i++)
		if (switch_start(&r->sw[i]))
			return -1;
	return switches_wait(r);
}

static void ended_say(struct runner_switch *sw, const char *what)
{
	struct switchlog_line *line = sw->log.nr ? switchlog_get(&sw->log, sw->log.nr - 1) : NULL;
	const char *last = line && !line->shown ? line->text : "";

	screen_say(&sw->runner->screen, "switch %s %s%s%s%s", sw->node->name,
		   program_describe(sw->program.status).text, what,
		   *last ? "; its last words were: " : "", last);
}

static void switch_lose(struct runner_switch *sw)
{
	sw->lost = true;
	if (sw->plan->ctl_fd >= 0) // nobody is to wait for an answer
		(void)shutdown(sw->plan->ctl_fd, SHUT_RDWR);
	sw->runner->failed = true;
	runner_failure(sw->runner);
}

void runner_switch_ended(struct runner_switch *sw)
{
	bool was_ready = sw->ready || sw->nr_restarts;

	stream_finish(&sw->program.out);
	stream_finish(&sw->program.err);
	if (sw->ready_fd >= 0)
		close(sw->ready_fd);
	sw->ready_fd = -1;
	sw->ready = false;
	if (sw->stopping || !was_ready) // expected, or switches_wait() says it
		return;
	if (!sw->node->restart) {
		ended_say(sw, " while the ranks were running");
	} else if (sw->nr_restarts == RESTARTS_MAX) {
		ended_say(sw, " again, and is not started a 101st time");
	} else {
		double earliest = sw->program.start_s + restart_s, now = clock_s();

		ended_say(sw, " and is started again");
		sw->start_at = earliest > now ? earliest : now;
		return;
	}
	switch_lose(sw);
}

void runner_switch_restart(struct runner_switch *sw)
{
	sw->start_at = 0;
	sw->nr_restarts++;
	if (fabric_switch_life(&sw->runner->fabric,
			       &sw->runner->fabric.switches[sw - sw->runner->sw],
			       sw->nr_restarts) ||
	    switch_start(sw))
		switch_lose(sw);
}

/* The first that runs, NULL: none does. */
static struct runner_switch *switches_alive(struct runner *r)
{
	for (unsigned int i = 0; i < r->nr_switches; i++)
		if (r->sw[i].program.pid)
			return &r->sw[i];
	return NULL;
}

static void switch_stop(struct runner_switch *sw)
{
	sw->start_at = 0;
	sw->stopping = true;
	if (!sw->program.pid)
		return;
	stream_input(&sw->program.out); // what it printed until now are no totals
	stream_input(&sw->program.err);
	sw->log.mark = sw->log.nr;
	program_signal(&sw->program, SIGTERM);
}

static void switch_kill(struct runner_switch *sw, double limit)
{
	if (!sw->program.pid)
		return;
	sw->killed = true;
	sw->runner->failed = true;
	screen_say(&sw->runner->screen,
		   "switch %s did not end within %.0f s of SIGTERM and is killed", sw->node->name,
		   limit);
	program_signal(&sw->program, SIGKILL);
}

void runner_switches_stop(struct runner *r)
{
	double limit = stop_s + stop_port_s * r->options->topology->nr_links,
	       end = clock_s() + limit, left;

	for (unsigned int i = 0; i < r->nr_switches; i++)
		switch_stop(&r->sw[i]);
	while (switches_alive(r) && (left = end - clock_s()) > 0)
		runner_turn(r, left);
	for (unsigned int i = 0; i < r->nr_switches; i++)
		switch_kill(&r->sw[i], limit);
	for (end = clock_s() + stop_s; switches_alive(r) && (left = end - clock_s()) > 0;)
		runner_turn(r, left);
}
