// SPDX-License-Identifier: BSD-3-Clause
// A run of a topology in one process: a thread for each rank and each switch.
#include "topologies/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "host/venue.h"
#include "switch/totals.h"
#include "topologies/local.h"
#include "topologies/report.h"
#include "topologies/program.h"
#include "topologies/say.h"
#include "topologies/cable.h"

enum {
	THREADS_FROM = 49152, /* the first UDP port of ranks */
	THREADS_BOOT_NS = 2500000,
	THREADS_STACK = 1 << 20,     /* touched as far as it is used */
	THREADS_SLICE_NS = 20000000, /* of waiting for a job's start */
	EXIT_TIMEOUT = 124,
};
/* Nothing is lost but what finds a full ring, and a thread may have to wait for a core. */
#define THREADS_RTO_NS UINT64_C(20000000)

struct threads_switch {
	struct threads *threads;
	struct local_switch *sw;
	struct cable_port *port;
	struct bell bell;
	volatile sig_atomic_t stopped;
	pthread_t thread;
	bool started;
	double cpu_s;
};

struct threads_rank {
	struct threads *threads;
	struct local_rank rank;
	struct cable cable;
	struct cable_seat seat;
	pthread_t thread;
	bool started;
	double begin_s, end_s, cpu_s;
	/* Guarded. */
	bool joined, ended; /* it has a communicator that others may abort; it is done */
};

struct threads {
	const struct topology *topology;
	struct report *report; /* NULL: no page is wanted */
	struct local local;
	struct threads_switch *switches;
	struct cable *uplink; /* of each switch but the root */
	struct threads_rank *ranks;
	unsigned int nr_ranks;
	struct local_job *jobs;
	unsigned int nr_jobs;
	double begin_s; /* the switches serve */
	atomic_bool stop;
	/* Guarded. */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned int nr_ended;
	double *stop_s; /* of each job, after begin_s; 0: not, or no longer */
};

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int threads_random(void *to, size_t len)
{
	return getrandom(to, len, 0) == (ssize_t)len ? 0 : -1;
}

/* --- Wires -------------------------------------------------------------------------------------- */

static int port_add(struct threads_switch *sw, unsigned int port, struct cable *cable,
		    unsigned int end)
{
	struct cable_port *p = &sw->port[port];

	if (p->nr == sizeof(p->cable) / sizeof(p->cable[0]))
		return say_error("%s: expected at most %zu ranks at one host, not more",
				 sw->threads->topology->path,
				 sizeof(p->cable) / sizeof(p->cable[0]));
	p->cable[p->nr] = cable;
	p->end[p->nr++] = end;
	cable->way[end].bell = &sw->bell;
	return 0;
}

static int rank_cable(struct threads *th, struct threads_rank *rank, unsigned int number)
{
	const struct topology *t = th->topology;
	const struct topology_node *n = rank->rank.node;
	const struct local_end end = local_host_end(t, (unsigned int)(n - t->node));
	const unsigned int i = th->local.of_node[n->parent];
	const int port = local_port(&th->local.switches[i], end.index);

	rank->cable.payload = local_payload(end.link);
	rank->cable.ip[0] = n->ip;
	rank->cable.ip[1] = t->node[n->parent].ip;
	rank->cable.udp_port[0] = (uint16_t)(THREADS_FROM + number);
	rank->cable.udp_port[1] = WIRE_PORT;
	rank->cable.way[0].bell = &rank->seat.bell;
	rank->seat.cable = &rank->cable;
	if (bell_open(&rank->seat.bell))
		return say_error("%s", say_errno(errno));
	if (port_add(&th->switches[i], (unsigned int)port, &rank->cable, 1))
		return -1;
	return cable_open(&rank->cable) ? say_error("not enough memory for the cables") : 0;
}

static int switch_cable(struct threads *th, unsigned int i)
{
	const struct topology *t = th->topology;
	const struct topology_node *n = &t->node[th->local.switches[i].index];
	struct cable *cable = &th->uplink[i];
	unsigned int above;
	int low, high;

	if (n->parent == TOPOLOGY_NO_NODE)
		return 0;
	above = th->local.of_node[n->parent];
	low = local_port(&th->local.switches[i], n->uplink);
	high = local_port(&th->local.switches[above], n->uplink);
	cable->payload = local_payload(&t->link[n->uplink]);
	cable->ip[0] = n->ip;
	cable->ip[1] = t->node[n->parent].ip;
	cable->udp_port[0] = cable->udp_port[1] = WIRE_PORT;
	if (port_add(&th->switches[i], (unsigned int)low, cable, 0) ||
	    port_add(&th->switches[above], (unsigned int)high, cable, 1))
		return -1;
	return cable_open(cable) ? say_error("not enough memory for the cables") : 0;
}

static int switch_plug(void *context, struct local_switch *local, unsigned int port)
{
	struct threads *th = context;
	struct threads_switch *sw = &th->switches[local - th->local.switches];
	struct port *p = &local->node.lcore.ports[port].port;

	if (!sw->port) {
		sw->threads = th;
		sw->sw = local;
		sw->port = calloc(local->node.lcore.nr_ports, sizeof(*sw->port));
		if (!sw->port || bell_open(&sw->bell))
			return say_error("%s", say_errno(errno));
	}
	sw->port[port].bell = &sw->bell;
	sw->port[port].stop = &th->stop;
	sw->port[port].stopped = &sw->stopped;
	p->priv = &sw->port[port];
	p->fd = sw->bell.fd;
	snprintf(p->driver, sizeof(p->driver), "cable");
	return 0;
}

/* --- Threads ------------------------------------------------------------------------------------ */

static void *switch_thread(void *context)
{
	struct threads_switch *sw = context;

	lcore_run(&sw->sw->node.lcore, &sw->stopped);
	sw->cpu_s = cpu_s();
	return NULL;
}

/* An interrupt ends the waiting; the rank sees it then. */
static void job_await(const struct threads *th, uint64_t start_ns)
{
	const double at_s = th->begin_s + (double)start_ns / 1e9;

	while (!perf_interrupted && clock_s() < at_s) {
		const struct timespec slice = { .tv_nsec = THREADS_SLICE_NS };
		const double left_s = at_s - clock_s();

		if (left_s * 1e9 > THREADS_SLICE_NS)
			nanosleep(&slice, NULL);
		else if (left_s > 0)
			nanosleep(&(struct timespec){ .tv_nsec = (long)(left_s * 1e9) }, NULL);
	}
}

/* Whether it may be aborted from now on; false: its job's time was up before. */
static bool rank_join(struct threads_rank *rank, bool joined)
{
	struct threads *th = rank->threads;
	bool stopped;

	pthread_mutex_lock(&th->lock);
	rank->joined = joined;
	stopped = rank->rank.stopped;
	pthread_mutex_unlock(&th->lock);
	return !stopped;
}

/* With the lock: its ranks see at once, or when they have joined, that they are to end, and say nothing of it. */
static void job_stop(struct threads *th, unsigned int job)
{
	unsigned int nr = 0;

	th->stop_s[job] = 0;
	atomic_store(&th->jobs[job].options.stopped, true);
	for (unsigned int i = 0; i < th->nr_ranks; i++) {
		struct threads_rank *rank = &th->ranks[i];

		if (rank->rank.job != &th->jobs[job] || rank->ended)
			continue;
		rank->rank.stopped = true;
		if (rank->joined)
			(void)tally_abort(rank->rank.perf.comm);
		nr++;
	}
	if (nr)
		local_job_say_stopped(th->jobs[job].job, nr);
}

/* Ends the jobs whose time it is: when the next one's is; 0: there is none. */
static double jobs_stop(struct threads *th)
{
	const double now_s = clock_s();
	double next_s = 0;

	for (unsigned int i = 0; i < th->nr_jobs; i++) {
		if (th->stop_s[i] <= 0)
			continue;
		if (th->stop_s[i] <= now_s)
			job_stop(th, i);
		else if (next_s <= 0 || th->stop_s[i] < next_s)
			next_s = th->stop_s[i];
	}
	return next_s;
}

static void *rank_thread(void *context)
{
	struct threads_rank *rank = context;
	struct threads *th = rank->threads;

	cable_seat = &rank->seat;
	job_await(th, rank->rank.job->job->start_ns);
	rank->begin_s = clock_s();
	if (local_rank_open(&rank->rank) == 0) {
		if (rank_join(rank, true))
			local_rank_work(&rank->rank);
		(void)rank_join(rank, false);
		local_rank_close(&rank->rank);
	} else if (rank_join(rank, false)) {
		say_error("rank %u of job %s: %s", rank->rank.rank, rank->rank.job->job->name,
			  rank->rank.why);
	} else {
		rank->rank.result = 0;
	}
	rank->end_s = clock_s();
	rank->cpu_s = cpu_s();
	pthread_mutex_lock(&th->lock);
	rank->ended = true;
	th->nr_ended++;
	pthread_cond_signal(&th->ended);
	pthread_mutex_unlock(&th->lock);
	return NULL;
}

/* Whatever `ulimit -s` says. */
static int thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	pthread_attr_t attr;
	int rc;

	if (pthread_attr_init(&attr))
		return -1;
	rc = pthread_attr_setstacksize(&attr, THREADS_STACK) ||
			     pthread_create(thread, &attr, run, context)
		     ? -1
		     : 0;
	(void)pthread_attr_destroy(&attr);
	return rc;
}

static int threads_start(struct threads *th)
{
	for (unsigned int i = 0; i < th->local.nr_switches; i++) {
		struct threads_switch *sw = &th->switches[i];

		if (thread_start(&sw->thread, switch_thread, sw))
			return say_error("no thread for a switch: %s", say_errno(EAGAIN));
		sw->started = true;
	}
	for (unsigned int i = 0; i < th->nr_ranks; i++) {
		struct threads_rank *rank = &th->ranks[i];

		if (thread_start(&rank->thread, rank_thread, rank))
			return say_error("no thread for a rank: %s", say_errno(EAGAIN));
		rank->started = true;
	}
	return 0;
}

/* For a rank that ends, or a time; 0: for that alone. */
static void wait_until(struct threads *th, double at_s)
{
	const double left_s = at_s - clock_s();
	struct timespec end;

	if (at_s <= 0) {
		pthread_cond_wait(&th->ended, &th->lock);
		return;
	}
	if (left_s <= 0)
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)left_s;
	end.tv_nsec += (long)((left_s - (double)(time_t)left_s) * 1e9);
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&th->ended, &th->lock, &end);
}

/* False: their time was up first. */
static bool threads_wait(struct threads *th, double timeout_s)
{
	const double end_s = timeout_s > 0 ? clock_s() + timeout_s : 0;
	double at_s;
	bool all;

	pthread_mutex_lock(&th->lock);
	for (;;) {
		at_s = jobs_stop(th);
		if (th->nr_ended == th->nr_ranks || (end_s > 0 && clock_s() >= end_s))
			break;
		if (end_s > 0 && (at_s <= 0 || end_s < at_s))
			at_s = end_s;
		wait_until(th, at_s);
	}
	all = th->nr_ended == th->nr_ranks;
	pthread_mutex_unlock(&th->lock);
	return all;
}

static void ranks_await(struct threads *th)
{
	for (unsigned int i = 0; i < th->nr_ranks; i++)
		if (th->ranks[i].started)
			pthread_join(th->ranks[i].thread, NULL);
}

static void switches_stop(struct threads *th)
{
	atomic_store(&th->stop, true);
	for (unsigned int i = 0; i < th->local.nr_switches; i++) {
		if (!th->switches[i].started)
			continue;
		bell_ring(&th->switches[i].bell);
		pthread_join(th->switches[i].thread, NULL);
	}
}

/* --- A run -------------------------------------------------------------------------------------- */

static int threads_open(struct threads *th, const struct topology *t, const struct record *record)
{
	const struct local_ways ways = {
		.ops = &cable_port_ops,
		.plug = switch_plug,
		.context = th,
		.random = threads_random,
		.record = record,
		.comment = "tally-fabric run --fabric inproc " TALLY_VERSION_STRING,
	};
	const struct timespec boot = { .tv_nsec = THREADS_BOOT_NS };
	unsigned int nr = 0;

	th->topology = t;
	if (th->report && report_ranks(th->report))
		return -1;
	for (unsigned int i = 0; i < t->nr_jobs; i++)
		th->nr_ranks += t->job[i].ranks.nr;
	th->jobs = calloc(t->nr_jobs, sizeof(*th->jobs));
	th->stop_s = calloc(t->nr_jobs, sizeof(*th->stop_s));
	th->ranks = aligned_alloc(CABLE_CACHE, th->nr_ranks * sizeof(*th->ranks));
	th->uplink = aligned_alloc(CABLE_CACHE, t->nr_switches * sizeof(*th->uplink));
	th->switches = calloc(t->nr_switches, sizeof(*th->switches));
	if (!th->jobs || !th->stop_s || !th->ranks || !th->uplink || !th->switches)
		return say_error("not enough memory");
	memset(th->ranks, 0, th->nr_ranks * sizeof(*th->ranks));
	memset(th->uplink, 0, t->nr_switches * sizeof(*th->uplink));
	if (local_open(&th->local, t, &ways))
		return -1;
	for (unsigned int i = 0; i < th->local.nr_switches; i++)
		if (switch_cable(th, i))
			return -1;
	for (; th->nr_jobs < t->nr_jobs; th->nr_jobs++) {
		const struct topology_job *j = &t->job[th->nr_jobs];

		if (local_job_open(&th->jobs[th->nr_jobs], t, j, NULL,
				   th->report ? LOCAL_KEPT : LOCAL_LIVE))
			return -1;
		for (unsigned int k = 0; k < j->ranks.nr; k++, nr++) {
			struct threads_rank *rank = &th->ranks[nr];

			rank->threads = th;
			rank->rank.job = &th->jobs[th->nr_jobs];
			rank->rank.rank = k;
			rank->rank.node = &t->node[j->rank_node[k]];
			if (th->report)
				rank->rank.perf.history = &th->report->rank[nr].history;
			if (rank_cable(th, rank, nr))
				return -1;
		}
	}
	nanosleep(&boot, NULL); // a switch serves no earlier
	th->begin_s = clock_s();
	for (unsigned int i = 0; i < th->nr_jobs; i++)
		if (t->job[i].stop_ns)
			th->stop_s[i] = th->begin_s + (double)t->job[i].stop_ns / 1e9;
	return 0;
}

static void threads_close(struct threads *th)
{
	local_close(&th->local);
	for (unsigned int i = 0; th->switches && i < th->topology->nr_switches; i++) {
		if (th->switches[i].port)
			bell_close(&th->switches[i].bell);
		free(th->switches[i].port);
		cable_close(&th->uplink[i]);
	}
	for (unsigned int i = 0; th->ranks && i < th->nr_ranks; i++) {
		if (th->ranks[i].seat.cable)
			bell_close(&th->ranks[i].seat.bell);
		cable_close(&th->ranks[i].cable);
	}
	for (unsigned int i = 0; i < th->nr_jobs; i++)
		local_job_close(&th->jobs[i]);
	free(th->jobs);
	free(th->stop_s);
	free(th->ranks);
	free(th->uplink);
	free(th->switches);
}

static int ranks_print(const struct threads *th, FILE *out)
{
	int worst = 0;

	fprintf(out, "\njob              rank  host             exit    wall s     cpu s\n");
	for (unsigned int i = 0; i < th->nr_ranks; i++) {
		const struct threads_rank *rank = &th->ranks[i];

		fprintf(out, "%-15s  %4u  %-15s  %4d  %8.2f  %8.2f\n", rank->rank.job->job->name,
			rank->rank.rank, rank->rank.node->name, rank->rank.result ? 1 : 0,
			rank->end_s - rank->begin_s, rank->cpu_s);
		worst = rank->rank.result ? 1 : worst;
	}
	return worst;
}

static int tables_print(struct threads *th, FILE *out)
{
	struct totals totals;
	const int worst = ranks_print(th, out);

	for (unsigned int i = 0; i < th->local.nr_switches; i++) {
		struct node *node = &th->local.switches[i].node;

		fprintf(out, "\nswitch %s:\n", th->topology->node[th->topology->switches[i]].name);
		totals_read(&totals, node);
		totals.cpu_s = th->switches[i].cpu_s;
		totals_print(&totals, node, out);
	}
	return worst;
}

static int threads_print(struct threads *th)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int worst;

	for (unsigned int i = 0; i < th->nr_jobs; i++) {
		local_job_print(&th->jobs[i]);
		if (th->report)
			local_job_report(&th->jobs[i], th->report);
	}
	worst = tables_print(th, out ? out : stdout);
	if (out && fclose(out) == 0) {
		fwrite(text, 1, len, stdout);
		if (th->report)
			report_text(th->report, "ranks and switches", text, len);
	}
	free(text);
	return worst;
}

static int page_write(struct threads *th, int code)
{
	if (!th->report)
		return code;
	th->report->fabric = "one process, a thread for each rank and switch";
	th->report->done = "From the start of its thread to the end.";
	report_machine(th->report);
	for (unsigned int i = 0; i < th->nr_ranks; i++) {
		const struct threads_rank *rank = &th->ranks[i];
		struct report_rank *to = &th->report->rank[i];

		to->ran = true;
		to->code = rank->rank.result ? 1 : 0;
		to->done_s = rank->end_s - rank->begin_s;
		to->cpu_s = rank->cpu_s;
		if (rank->rank.opened)
			report_rank_learn(to);
	}
	return report_write(th->report, code);
}

static void on_signal(int sig)
{
	(void)sig;
	perf_interrupted = 1;
}

/* Its ranks cannot be ended one by one, but what the switches captured is whole. */
static void threads_abandon(struct threads *th, const struct record *record, int code)
{
	switches_stop(th);
	local_captures_close(&th->local);
	fflush(stdout);
	record_close(record, code);
	_exit(code);
}

int threads_main(const struct topology *t, double timeout_s, const struct record *record,
		 struct report *report)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	const struct venue before = venue;
	struct threads th = { .lock = PTHREAD_MUTEX_INITIALIZER,
			      .ended = PTHREAD_COND_INITIALIZER,
			      .report = report && report->dir ? report : NULL };
	int code = 125;

	venue.transport = &cable_transport;
	venue.rto_min_ns = THREADS_RTO_NS;
	program_limits_raise();
	sigaction(SIGINT, &action, NULL);
	if (threads_open(&th, t, record) == 0) {
		if (threads_start(&th)) // those that did start wait for the others for ever
			threads_abandon(&th, record, code);
		if (!threads_wait(&th, timeout_s)) {
			say_error("%u of %u ranks still run after %.0f s (--timeout) and are ended",
				  th.nr_ranks - th.nr_ended, th.nr_ranks, timeout_s);
			threads_abandon(&th, record, EXIT_TIMEOUT);
		}
		ranks_await(&th);
		switches_stop(&th);
		code = page_write(&th, threads_print(&th));
	}
	threads_close(&th);
	venue = before;
	return code;
}
