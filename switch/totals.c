// SPDX-License-Identifier: BSD-3-Clause
/* totals.c - what the switch did, for people and for machines. */
#include "switch/totals.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "switch/io/outfile.h"

enum { TOTALS_TEXT = 256, TOTALS_ALWAYS = 3 };

void totals_read(struct totals *totals, struct node *node)
{
	struct lcore *lcore = &node->lcore;
	const struct counters *pipe = pipe_counters(lcore->pipe);
	struct timespec cpu;

	*totals = (struct totals){ .jobs = lcore->nr_jobs };
	for (unsigned i = 0; i < lcore->nr_ports; i++) {
		struct port *port = &lcore->ports[i].port;

		if (port->ops->read_stats)
			port->ops->read_stats(port);
		totals->rx += port->stats.rx;
	}
	for (unsigned i = 0; i < COUNTER_NR; i++) {
		totals->counters.v[i] = lcore->counters.v[i] + pipe->v[i];
		totals->verdicts += totals->counters.v[i];
	}
	totals->results = totals->counters.v[COUNTER_completed];
	lcore_time(lcore);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	totals->run_s = (double)(lcore->now.now_ns - node->start_ns) / 1e9;
	totals->busy_s = (double)lcore->busy_ns / 1e9;
	totals->cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
}

void totals_fault_list(const struct lcore_faults *faults, struct totals_fault list[TOTALS_FAULTS])
{
	const struct impair *impair = &faults->impair;
	const struct totals_fault now[TOTALS_FAULTS] = {
		{ "lost", "lost", impair->nr_lost },
		{ "duplicated", "duplicated", impair->nr_duped },
		{ "overtaken", "overtaken", impair->nr_reordered },
		{ "burst", "lost in bursts", impair->nr_burst },
		{ "down", "lost while down", impair->nr_down },
		{ "delayed", "delayed", impair->nr_delayed },
		{ "queue", "beyond the queue", impair->nr_queue_full },
		{ "corrupted", "corrupted", impair->nr_corrupted },
		{ "corrupted_checked", "corrupted under a right checksum",
		  impair->nr_corrupted_checked },
		{ "room", "without room to be held", faults->nr_room },
	};

	memcpy(list, now, sizeof(now));
}

static void totals_faults(const struct lcore_faults *faults, const char *direction, FILE *out)
{
	struct totals_fault list[TOTALS_FAULTS];
	bool any = faults->impair.active;

	totals_fault_list(faults, list);
	for (unsigned i = 0; i < TOTALS_FAULTS; i++)
		any |= list[i].nr > 0;
	if (!any)
		return;
	fprintf(out, "      on purpose, %s: ", direction);
	for (unsigned i = 0; i < TOTALS_FAULTS; i++)
		if (list[i].nr || i < TOTALS_ALWAYS)
			fprintf(out, "%s%" PRIu64 " %s", i ? ", " : "", list[i].nr, list[i].text);
	fprintf(out, "\n");
}

static void totals_port(const struct lcore_port *p, FILE *out)
{
	const struct port_stats *s = &p->port.stats;

	fprintf(out,
		"%5u %-24.24s %-14.14s %12" PRIu64 " %12" PRIu64 " %10.1f %10.1f %10" PRIu64
		" %10" PRIu64 "\n",
		p->port.spec.number, p->port.spec.text, p->port.driver, s->rx, s->tx,
		(double)s->rx_bytes / 1e6, (double)s->tx_bytes / 1e6, s->tx_dropped,
		s->dev_missed + s->dev_errors);
	if (s->tx_too_big)
		fprintf(out, "      %" PRIu64 " of the drops: larger than the MTU of the way out\n",
			s->tx_too_big);
	if (s->tx_single)
		fprintf(out,
			"      %" PRIu64
			" sent one by one because segmentation offload fails there\n",
			s->tx_single);
	totals_faults(&p->in, "in", out);
	totals_faults(&p->out, "out", out);
}

static size_t totals_span(char *text, size_t size, const char *before, struct wire_range range)
{
	int n = snprintf(text, size, range.nr > 1 ? "%s%u-%u" : "%s%u", before, range.first,
			 range.first + range.nr - 1);

	return n < (int)size ? (size_t)n : size - 1;
}

/* "rank 5", "ranks 4-5, 7". */
static size_t totals_ranks(const struct job *job, char *text, size_t size)
{
	uint64_t missing = job->all & ~job->joined;
	const char *before = missing & (missing - 1) ? "ranks " : "rank ";
	unsigned nr = job->range.nr < WIRE_WORLD_MAX ? job->range.nr : WIRE_WORLD_MAX;
	size_t at = 0;

	for (unsigned i = 0, n; i < nr; i += n) {
		for (n = 1; i + n < nr; n++)
			if ((missing >> i & 1) != (missing >> (i + n) & 1))
				break;
		if (!(missing >> i & 1))
			continue;
		at += totals_span(text + at, size - at, before,
				  (struct wire_range){ (uint16_t)(job->range.first + i),
						       (uint16_t)n });
		before = ", ";
	}
	return at;
}

void totals_awaited(const struct job *job, char *text, size_t size)
{
	struct wire_range awaited = job_awaited(job);
	bool all = awaited.nr == 0;
	size_t at;

	if (all)
		awaited = job->up.awaited;
	if (!awaited.nr) {
		snprintf(text, size, "the switch above, as all ranks below are there");
		return;
	}
	if (all || job->tree)
		at = totals_span(text, size, awaited.nr > 1 ? "ranks " : "rank ", awaited);
	else
		at = totals_ranks(job, text, size);
	if (all)
		snprintf(text + at, size - at, " behind the switch above");
}

static void totals_jobs(const struct node *node, FILE *out)
{
	char text[TOTALS_TEXT];

	for (unsigned i = 0; i < node->conf->jobs; i++) {
		const struct job *job = pipe_job(node->lcore.pipe, i);

		if (!job)
			continue;
		fprintf(out, "job %s of %u rank%s: ", job->name, job->world,
			job->world == 1 ? "" : "s");
		if (job->running)
			fprintf(out, "running, epoch %" PRIu64 "\n", job->epoch);
		if (job->running)
			continue;
		totals_awaited(job, text, sizeof(text));
		fprintf(out, "waiting for %s\n", text);
	}
}

static void totals_parent(const struct lcore *lcore, FILE *out)
{
	const struct parent *parent = &lcore->parent;
	uint32_t be = htonl(parent->flow.ip);
	char ip[INET_ADDRSTRLEN] = "";

	if (!parent->active)
		return;
	inet_ntop(AF_INET, &be, ip, sizeof(ip));
	fprintf(out, "leaf of %s:%u, ", ip, parent->flow.udp_port);
	if (parent->flow.port == PARENT_NO_PORT)
		fprintf(out, "which answers ARP at no port");
	else
		fprintf(out, "at port %u", lcore->ports[parent->flow.port].port.spec.number);
	if (parent->nr_early)
		fprintf(out, "; %" PRIu64 " packets for it before that was known",
			parent->nr_early);
	fprintf(out, "\n");
}

void totals_print(const struct totals *totals, const struct node *node, FILE *out)
{
	fprintf(out, "%5s %-24s %-14s %12s %12s %10s %10s %10s %10s\n", "port", "name", "driver",
		"rx", "tx", "rx MB", "tx MB", "tx drops", "rx missed");
	for (unsigned i = 0; i < node->lcore.nr_ports; i++)
		totals_port(&node->lcore.ports[i], out);
	fprintf(out, "\n");
	for (unsigned i = 0; i < COUNTER_NR; i++)
		if (totals->counters.v[i])
			fprintf(out, "%12" PRIu64 "  %-14s %s\n", totals->counters.v[i],
				counter_infos[i].name, counter_infos[i].text);
	totals_parent(&node->lcore, out);
	totals_jobs(node, out);
	fprintf(out, "rx %" PRIu64 " %s sum of verdicts %" PRIu64 "\n", totals->rx,
		totals->rx == totals->verdicts ? "=" : "IS NOT THE", totals->verdicts);
	fprintf(out,
		"%" PRIu64 " job%s, %" PRIu64
		" result%s, %.0f packets/s while busy, %s arithmetic\n",
		totals->jobs, totals->jobs == 1 ? "" : "s", totals->results,
		totals->results == 1 ? "" : "s",
		totals->busy_s > 0 ? (double)totals->rx / totals->busy_s : 0,
		pipe_add_name(node->lcore.pipe));
	fprintf(out, "%.3f s running, %.3f s busy, %.3f s CPU\n", totals->run_s, totals->busy_s,
		totals->cpu_s);
	fflush(out);
}

static void totals_write_parent(const struct lcore *lcore, FILE *out)
{
	const struct parent *parent = &lcore->parent;
	uint32_t be = htonl(parent->flow.ip);
	char ip[INET_ADDRSTRLEN] = "";

	if (!parent->active)
		return;
	inet_ntop(AF_INET, &be, ip, sizeof(ip));
	fprintf(out, "parent.address %s:%u\nparent.early %" PRIu64 "\n", ip, parent->flow.udp_port,
		parent->nr_early);
	if (parent->flow.port != PARENT_NO_PORT)
		fprintf(out, "parent.port %u\n", lcore->ports[parent->flow.port].port.spec.number);
}

static void totals_write_port(const struct lcore_port *p, FILE *out)
{
	const struct port_stats *s = &p->port.stats;
	struct totals_fault list[TOTALS_FAULTS];
	unsigned n = p->port.spec.number;

	fprintf(out, "port.%u.name %s\nport.%u.driver %s\nport.%u.mtu %u\n", n, p->port.spec.text,
		n, p->port.driver, n, p->port.mtu);
	fprintf(out, "port.%u.rx %" PRIu64 "\nport.%u.rx_bytes %" PRIu64 "\n", n, s->rx, n,
		s->rx_bytes);
	fprintf(out, "port.%u.tx %" PRIu64 "\nport.%u.tx_bytes %" PRIu64 "\n", n, s->tx, n,
		s->tx_bytes);
	fprintf(out, "port.%u.tx_dropped %" PRIu64 "\nport.%u.tx_too_big %" PRIu64 "\n", n,
		s->tx_dropped, n, s->tx_too_big);
	fprintf(out, "port.%u.tx_single %" PRIu64 "\n", n, s->tx_single);
	fprintf(out, "port.%u.missed %" PRIu64 "\nport.%u.errors %" PRIu64 "\n", n, s->dev_missed,
		n, s->dev_errors);
	totals_fault_list(&p->in, list);
	for (unsigned i = 0; i < TOTALS_FAULTS; i++)
		fprintf(out, "port.%u.in_%s %" PRIu64 "\n", n, list[i].name, list[i].nr);
	totals_fault_list(&p->out, list);
	for (unsigned i = 0; i < TOTALS_FAULTS; i++)
		fprintf(out, "port.%u.out_%s %" PRIu64 "\n", n, list[i].name, list[i].nr);
}

int totals_check(const char *path)
{
	FILE *out = outfile_open(path, false);

	return out && fclose(out) == 0 ? 0 : -1;
}

int totals_write(const struct totals *totals, const struct node *node, const char *path)
{
	FILE *out = outfile_open(path, true);
	int bad;

	if (!out)
		return -1;
	fprintf(out,
		"rx %" PRIu64 "\nverdicts %" PRIu64 "\njobs %" PRIu64 "\nresults %" PRIu64 "\n",
		totals->rx, totals->verdicts, totals->jobs, totals->results);
	fprintf(out, "run_s %.6f\nbusy_s %.6f\ncpu_s %.6f\nadd %s\n", totals->run_s, totals->busy_s,
		totals->cpu_s, pipe_add_name(node->lcore.pipe));
	for (unsigned i = 0; i < node->lcore.nr_ports; i++)
		totals_write_port(&node->lcore.ports[i], out);
	totals_write_parent(&node->lcore, out);
	for (unsigned i = 0; i < COUNTER_NR; i++)
		fprintf(out, "counter.%s %" PRIu64 "\n", counter_infos[i].name,
			totals->counters.v[i]);
	bad = ferror(out);
	return fclose(out) || bad ? -1 : 0;
}
