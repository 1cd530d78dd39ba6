// SPDX-License-Identifier: BSD-3-Clause
// A run of a topology: one loop that waits for output, ends of programs, signals and deadlines.
//
// A rank that fails does not end the others: they must notice by themselves and say what they miss.
// From then on they have a grace time.  Signals go to the ranks first; the switches are stopped when
// no rank is left.
#include "topologies/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "topologies/say.h"

static const double grace_s = 400; // more than the 300 s after which operations end by themselves
static const double end_s = 5;	   // from a request to end until it is enforced
static const double progress_s = 0.5;
static const double orphans_s = 1;
static const double look_s = 0.3; // between two looks at the interfaces

enum { POLL_MAX = 2 * RUNNER_RANKS_MAX + 3 * TOPOLOGY_NETNS_NODES_MAX + 3 };

struct poll_set {
	struct pollfd fd[POLL_MAX];
	struct stream *stream[POLL_MAX];
	struct runner_switch *sw[POLL_MAX]; // whose readiness it tells
	nfds_t nr;
};

static void poll_add(struct poll_set *p, int fd, struct stream *s, struct runner_switch *sw)
{
	if (fd < 0)
		return;
	p->fd[p->nr] = (struct pollfd){ .fd = fd, .events = POLLIN };
	p->stream[p->nr] = s;
	p->sw[p->nr++] = sw;
}

static void poll_add_program(struct poll_set *p, struct program *program)
{
	poll_add(p, program->out.fd, &program->out, NULL);
	poll_add(p, program->err.fd, &program->err, NULL);
}

static void poll_fill(struct poll_set *p, struct runner *r)
{
	p->nr = 0;
	poll_add(p, r->box->signals, NULL, NULL);
	poll_add(p, r->box->lifeline, NULL, NULL);
	if (r->keeping && r->keep_input)
		poll_add(p, STDIN_FILENO, NULL, NULL);
	for (unsigned int i = 0; i < r->nr_switches; i++) {
		poll_add(p, r->sw[i].ready_fd, NULL, &r->sw[i]);
		poll_add_program(p, &r->sw[i].program);
	}
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		poll_add_program(p, &r->rank[i].program);
}

static void usage_add(struct rusage *to, const struct rusage *usage)
{
	timeradd(&to->ru_utime, &usage->ru_utime, &to->ru_utime);
	timeradd(&to->ru_stime, &usage->ru_stime, &to->ru_stime);
}

static bool program_take_end(struct program *p, pid_t pid, int status, const struct rusage *usage)
{
	if (p->pid != pid)
		return false;
	p->pid = 0;
	p->ended = true;
	p->status = status;
	usage_add(&p->usage, usage);
	p->end_s = clock_s();
	return true;
}

// What a shell that was killed had started: its time is the rank's.
static void orphan_take(struct runner *r, pid_t group, const struct rusage *usage)
{
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		if (r->rank[i].group == group)
			usage_add(&r->rank[i].program.usage, usage);
}

// Also reaps what lost its parent, which is process 1's duty.
static void programs_reap(struct runner *r)
{
	siginfo_t info = { .si_pid = 0 };
	struct rusage usage;
	pid_t pid, group;
	int status;

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		group = getpgid(info.si_pid); // until it is reaped
		pid = wait4(info.si_pid, &status, 0, &usage);
		if (group != pid)
			orphan_take(r, group, &usage);
		for (unsigned int i = 0; i < r->nr_switches; i++)
			if (program_take_end(&r->sw[i].program, pid, status, &usage))
				runner_switch_ended(&r->sw[i]);
		for (unsigned int i = 0; i < r->nr_ranks; i++)
			if (program_take_end(&r->rank[i].program, pid, status, &usage))
				runner_rank_ended(r, &r->rank[i]);
	}
}

static void interrupt_take(struct runner *r, int sig)
{
	if (r->keeping) { // that is what it waits for
		r->keeping = false;
		return;
	}
	if (r->nr_interrupts++) {
		runner_ranks_signal(r, SIGKILL);
		for (unsigned int i = 0; i < r->nr_switches; i++)
			program_signal(&r->sw[i].program, SIGKILL);
		return;
	}
	runner_ranks_signal(r, sig);
	runner_jobs_cancel(r);
	r->kill_s = clock_s() + end_s;
}

// As a program that prints what nobody reads any more: it ends.
static void unread_take(struct runner *r)
{
	if (!r->screen.unread || r->nr_interrupts)
		return;
	screen_say(&r->screen, "nobody reads standard output any more: the run ends");
	interrupt_take(r, SIGTERM);
}

static void signals_take(struct runner *r)
{
	struct signalfd_siginfo info;

	while (read(r->box->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			programs_reap(r);
		else
			interrupt_take(r, (int)info.ssi_signo);
	}
}

void runner_failure(struct runner *r)
{
	double end = clock_s() + grace_s;

	if (!r->options->shell_host && (r->deadline_s <= 0 || r->deadline_s > end))
		r->deadline_s = end;
}

static void deadlines_check(struct runner *r)
{
	double now = clock_s();

	for (unsigned int i = 0; i < r->nr_switches; i++)
		if (r->sw[i].start_at > 0 && now >= r->sw[i].start_at)
			runner_switch_restart(&r->sw[i]);
	if (r->kill_s > 0 && now >= r->kill_s) {
		r->kill_s = 0;
		runner_ranks_signal(r, SIGKILL);
	}
	if (r->deadline_s <= 0 || now < r->deadline_s)
		return;
	r->deadline_s = 0;
	if (!runner_ranks_alive(r) && !runner_jobs_awaited(r))
		return;
	r->timed_out = r->options->timeout_s > 0 && now - r->begin_s >= r->options->timeout_s;
	if (r->options->shell_host)
		screen_say(&r->screen, "the %s still runs after %.0f s and is ended",
			   r->options->shell_argv[1] ? "command" : "shell", now - r->begin_s);
	else if (!runner_ranks_alive(r))
		screen_say(&r->screen, "no rank runs after %.0f s%s, and no more are started",
			   now - r->begin_s, r->timed_out ? " (--timeout)" : "");
	else
		screen_say(&r->screen, "%u of %u ranks still run after %.0f s%s and are ended%s",
			   runner_ranks_alive(r), r->nr_ranks, now - r->begin_s,
			   r->timed_out ? " (--timeout)" : "",
			   r->timed_out ? ": give a larger one for a run that takes longer"
					: ", as there was a failure 400 s ago");
	for (unsigned int i = 0; i < r->nr_ranks; i++)
		r->rank[i].given_up = r->rank[i].program.pid != 0;
	r->failed = true; // even if they end well when asked
	runner_jobs_cancel(r);
	runner_ranks_signal(r, SIGTERM);
	r->kill_s = now + end_s;
}

static void progress_say(struct runner *r)
{
	unsigned int nr_alive = runner_ranks_alive(r);
	char text[96];

	if (!r->screen.progress || !nr_alive || r->options->shell_host || clock_s() < r->say_s)
		return;
	r->say_s = clock_s() + progress_s;
	snprintf(text, sizeof(text), "%u of %u ranks running, %.0f s", nr_alive, r->nr_ranks,
		 clock_s() - r->begin_s);
	screen_progress(&r->screen, text);
}

static double earlier(double seconds, double at_s)
{
	double left = at_s - clock_s();

	return at_s <= 0 || left > seconds ? seconds : left > 0 ? left : 0;
}

void runner_turn(struct runner *r, double seconds)
{
	static struct poll_set set; // large, and filled anew each time
	int nr;

	for (unsigned int i = 0; i < r->nr_switches; i++)
		seconds = earlier(seconds, r->sw[i].start_at);
	seconds = earlier(seconds, r->kill_s);
	if (r->options->outer)
		seconds = earlier(seconds, clock_s() + look_s);
	seconds = earlier(seconds, r->deadline_s);
	seconds = earlier(seconds, runner_jobs_next(r));
	if (r->screen.progress && runner_ranks_alive(r) && !r->options->shell_host)
		seconds = earlier(seconds, clock_s() + progress_s);
	poll_fill(&set, r);
	nr = poll(set.fd, set.nr, (int)(seconds * 1e3) + 1);
	for (nfds_t i = 0; nr > 0 && i < set.nr; i++) {
		if (!set.fd[i].revents)
			continue;
		if (set.stream[i])
			stream_input(set.stream[i]);
		else if (set.fd[i].fd == r->box->lifeline)
			_exit(SANDBOX_FAILED); // nobody is outside: everything goes with us
		else if (set.fd[i].fd == STDIN_FILENO)
			runner_keep_input(r);
		else if (set.sw[i])
			runner_switch_ready(set.sw[i]);
	}
	if (nr > 0)
		signals_take(r); // last: it may close what was polled
	unread_take(r);
	deadlines_check(r);
	runner_jobs_check(r);
	if (r->options->outer && clock_s() >= r->look_s) {
		r->look_s = clock_s() + look_s;
		fabric_look(&r->fabric);
	}
	progress_say(r);
}

// They would end with us: a little earlier, so that their time is known.
static void orphans_end(struct runner *r)
{
	double end = clock_s() + orphans_s, left;
	siginfo_t info;

	if (getpid() == 1)
		kill(-1, SIGKILL);
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       (left = end - clock_s()) > 0)
		runner_turn(r, left);
}

static int runner_run(struct runner *r)
{
	const struct runner_options *o = r->options;

	if (o->renamed[0])
		say_line("other switches have these names, so for tallyctl %s", o->renamed);
	if (runner_page_begin(r))
		return -1;
	r->fabric.record = &o->record;
	r->fabric.outer = o->outer;
	if (fabric_build(&r->fabric, o->topology, o->udp, o->ctl_fds))
		return -1;
	say_note("%u links made", o->topology->nr_links);
	if (runner_switches_start(r))
		return -1;
	if (r->nr_interrupts) {
		screen_say(&r->screen,
			   "interrupted before all switches served: no rank is started");
	} else if (runner_ranks_start(r)) {
		r->failed = true;
		runner_ranks_signal(r, SIGKILL);
	}
	say_note("%u rank%s started", r->nr_ranks, r->nr_ranks == 1 ? "" : "s");
	while (runner_ranks_alive(r) || runner_jobs_awaited(r))
		runner_turn(r, 3600);
	screen_clear(&r->screen);
	if (o->keep && !r->nr_interrupts)
		runner_keep(r);
	runner_switches_stop(r);
	orphans_end(r);
	return 0;
}

int runner_main(const struct sandbox *box, void *context)
{
	struct runner *r = calloc(1, sizeof(*r));
	int code = SANDBOX_FAILED;

	if (!r) {
		say_error("not enough memory");
		return code;
	}
	r->options = context;
	r->box = box;
	screen_init(&r->screen);
	program_limits_raise();
	if (runner_run(r) == 0) {
		code = runner_page_write(r, summary_print(r));
		summary_record(r, code);
	}
	fabric_free(&r->fabric);
	free(r->sw);
	free(r->job);
	free(r);
	return code;
}
