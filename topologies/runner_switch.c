// SPDX-License-Identifier: BSD-3-Clause
// The switch of a run: start, readiness, output, restart, end.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "topologies/runner.h"
#include "topologies/say.h"

enum { LINES_SHOWN = 20, RESTARTS_MAX = 100 };

// A DPDK switch is ready 100 ms + 50 ms per packet port after its start, and stops in 35 ms per
// port, on an idle machine with 2 cores; on a busy one many times later.
static const double ready_s = 30, ready_port_s = 0.5, stop_s = 3, stop_port_s = 0.05,
		    restart_s = 0.2;

static void line_show(struct runner *r, struct switchlog_line *line)
{
	if (!line->shown)
		screen_line(&r->screen, STDERR_FILENO, r->sw.prefix, line->text);
	line->shown = true;
}

// Before it is ready, lines are kept back: if it fails, they belong below the error.
static void line_take(struct runner *r, const char *text, bool from_stderr)
{
	struct switchlog_line *line = switchlog_add(&r->sw.log, text, from_stderr);

	if (!r->sw.stopping && (r->options->verbose || (line->warning && r->sw.ready)))
		line_show(r, line);
}

static void out_line(struct stream *s, const char *text)
{
	line_take(s->owner, text, false);
}

static void err_line(struct stream *s, const char *text)
{
	line_take(s->owner, text, true);
}

static void lines_show(struct runner *r, bool warnings_only)
{
	struct switchlog *l = &r->sw.log;
	unsigned int from = l->nr > LINES_SHOWN ? l->nr - LINES_SHOWN : 0;

	for (unsigned int i = from; i < l->nr; i++)
		if (!warnings_only || switchlog_get(l, i)->warning)
			line_show(r, switchlog_get(l, i));
}

int runner_switch_start(struct runner *r)
{
	struct runner_switch *sw = &r->sw;
	struct program_plan plan = { .ns = &r->fabric.node[r->fabric.switch_node],
				     .argv = r->fabric.argv };
	int ready[2], rc;

	if (pipe2(ready, O_CLOEXEC | O_NONBLOCK))
		return say_error("pipe: %s", strerror(errno));
	sw->node = &r->options->topology->node[r->fabric.switch_node];
	snprintf(sw->prefix, sizeof(sw->prefix), "[%s] ", sw->node->name);
	sw->program.out = (struct stream){ .fd = -1, .line_end = out_line, .owner = r };
	sw->program.err = (struct stream){ .fd = -1, .line_end = err_line, .owner = r };
	plan.ready_fd = ready[1];
	sw->ready_fd = ready[0];
	sw->ready = false;
	rc = program_start(&sw->program, &plan);
	close(ready[1]);
	return rc;
}

void runner_switch_ready(struct runner *r)
{
	ssize_t n;
	char byte;

	n = read(r->sw.ready_fd, &byte, 1);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(r->sw.ready_fd);
	r->sw.ready_fd = -1;
	if (n != 1) // it closed the pipe, most likely as it ends: that is said when it has
		return;
	r->sw.ready = true;
	say_note("switch %s is ready", r->sw.node->name);
	lines_show(r, true);
}

int runner_switch_wait(struct runner *r)
{
	double limit = ready_s + ready_port_s * r->options->topology->nr_links,
	       end = clock_s() + limit, left;

	while (!r->sw.ready && !r->sw.program.ended && !r->nr_interrupts &&
	       (left = end - clock_s()) > 0)
		runner_turn(r, left);
	if (r->sw.ready || r->nr_interrupts)
		return 0;
	if (r->sw.program.ended)
		say_error("switch %s %s before it was ready; its last output:", r->sw.node->name,
			  program_describe(r->sw.program.status).text);
	else
		say_error("switch %s is not ready after %.0f s; its last output:", r->sw.node->name,
			  limit);
	lines_show(r, false);
	return -1;
}

static void ended_say(struct runner *r, const char *what)
{
	struct runner_switch *sw = &r->sw;
	struct switchlog_line *line = sw->log.nr ? switchlog_get(&sw->log, sw->log.nr - 1) : NULL;
	const char *last = line && !line->shown ? line->text : "";

	screen_say(&r->screen, "switch %s %s%s%s%s", sw->node->name,
		   program_describe(sw->program.status).text, what, *last ? ": " : "", last);
}

void runner_switch_ended(struct runner *r)
{
	struct runner_switch *sw = &r->sw;
	bool was_ready = sw->ready || sw->nr_restarts;

	stream_finish(&sw->program.out);
	stream_finish(&sw->program.err);
	if (sw->ready_fd >= 0)
		close(sw->ready_fd);
	sw->ready_fd = -1;
	sw->ready = false;
	if (sw->stopping || !was_ready) // expected, or runner_switch_wait() says it
		return;
	if (!sw->node->restart) {
		ended_say(r, " while the ranks were running");
	} else if (sw->nr_restarts == RESTARTS_MAX) {
		ended_say(r, " again, and is not started a 101st time");
	} else {
		double earliest = sw->program.start_s + restart_s, now = clock_s();

		ended_say(r, " and is started again");
		sw->start_at = earliest > now ? earliest : now;
		return;
	}
	sw->lost = true;
	r->failed = true;
	runner_failure(r);
}

void runner_switch_restart(struct runner *r)
{
	r->sw.start_at = 0;
	r->sw.nr_restarts++;
	if (runner_switch_start(r) == 0)
		return;
	r->sw.lost = true;
	r->failed = true;
	runner_failure(r);
}

void runner_switch_stop(struct runner *r)
{
	struct runner_switch *sw = &r->sw;
	double limit = stop_s + stop_port_s * r->options->topology->nr_links,
	       end = clock_s() + limit, left;

	sw->start_at = 0;
	sw->stopping = true;
	if (!sw->program.pid)
		return;
	stream_input(&sw->program.out); // what it printed until now are no totals
	stream_input(&sw->program.err);
	sw->log.mark = sw->log.nr;
	program_signal(&sw->program, SIGTERM);
	while (sw->program.pid && (left = end - clock_s()) > 0)
		runner_turn(r, left);
	if (!sw->program.pid)
		return;
	sw->killed = true;
	r->failed = true;
	screen_say(&r->screen, "switch %s did not end within %.0f s of SIGTERM and is killed",
		   sw->node->name, limit);
	program_signal(&sw->program, SIGKILL);
	for (end = clock_s() + stop_s; sw->program.pid && (left = end - clock_s()) > 0;)
		runner_turn(r, left);
}
