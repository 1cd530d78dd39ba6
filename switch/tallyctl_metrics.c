// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_metrics.c - everything that has a number, as Prometheus reads it. */
#include "switch/tallyctl.h"

#include <string.h>

static void metrics_head(const char *name, const char *type, const char *help)
{
	printf("# HELP tally_%s %s\n# TYPE tally_%s %s\n", name, help, name, type);
}

/* A label's value, quoted. */
static void metrics_label(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", stdout);
			continue;
		}
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void metrics_one(const char *name, const char *type, const char *help, double value)
{
	metrics_head(name, type, help);
	printf("tally_%s %.15g\n", name, value);
}

static void metrics_switch(const json_t *info)
{
	metrics_head("switch_info", "gauge", "The switch: always 1.");
	fputs("tally_switch_info{version=", stdout);
	metrics_label(field_text(info, "version"));
	fputs(",ip=", stdout);
	metrics_label(field_text(info, "ip"));
	fputs(",add=", stdout);
	metrics_label(field_text(info, "add"));
	fputs("} 1\n", stdout);
	metrics_one("switch_running_seconds", "gauge", "Since it was ready.",
		    field_real(info, "run_s"));
	metrics_one("switch_busy_seconds_total", "counter", "Spent on bursts of packets.",
		    field_real(info, "busy_s"));
	metrics_one("switch_cpu_seconds_total", "counter", "CPU time of the process.",
		    field_real(info, "cpu_s"));
	metrics_one("switch_jobs_total", "counter", "Jobs seen.", (double)field_u64(info, "jobs"));
	metrics_one("switch_results_total", "counter", "Sums sent to all ranks.",
		    (double)field_u64(info, "results"));
	metrics_one("switch_drains", "gauge", "1 while it takes no new jobs.",
		    field_true(info, "drains"));
	metrics_one("ctl_strangers_total", "counter",
		    "Connections of other users to the control socket, closed.",
		    (double)field_u64(info, "strangers"));
}

static void metrics_counters(const json_t *answer)
{
	const json_t *counter;
	size_t i;

	metrics_head("packets_total", "counter",
		     "Packets that came in, each under what became of it.");
	json_array_foreach(json_object_get(answer, "counters"), i, counter)
		printf("tally_packets_total{verdict=\"%s\",class=\"%s\"} %llu\n",
		       field_text(counter, "name"), field_text(counter, "class"),
		       field_u64(counter, "value"));
}

static void metrics_ports(const json_t *ports)
{
	static const char *const metrics[][3] = {
		{ "rx", "port_rx_packets_total", "Packets received." },
		{ "rx_bytes", "port_rx_bytes_total", "Bytes received." },
		{ "tx", "port_tx_packets_total", "Packets sent." },
		{ "tx_bytes", "port_tx_bytes_total", "Bytes sent." },
		{ "tx_dropped", "port_tx_dropped_total", "Packets that the device did not take." },
		{ "missed", "port_rx_missed_total", "Packets lost before they were received." },
		{ "errors", "port_rx_errors_total", "Packets received broken." },
	};
	const json_t *port;
	size_t i;

	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		metrics_head(metrics[m][1], "counter", metrics[m][2]);
		json_array_foreach(ports, i, port)
		{
			printf("tally_%s{port=\"%llu\",name=", metrics[m][1],
			       field_u64(port, "number"));
			metrics_label(field_text(port, "name"));
			printf("} %llu\n", field_u64(port, metrics[m][0]));
		}
	}
}

static double metrics_waits(const json_t *stalls, const char *job)
{
	const json_t *stall;
	double most = 0;
	size_t i;

	json_array_foreach(stalls, i, stall) if (strcmp(field_text(stall, "job"), job) == 0 &&
						 field_real(stall, "age_s") > most)
		most = field_real(stall, "age_s");
	return most;
}

/* Of each job; which is the metric of this number. */
static double metrics_job(const json_t *job, const json_t *stalls, unsigned metric)
{
	const char *name = field_text(job, "name");
	const json_t *counts = json_object_get(json_object_get(stalls, "jobs"), name);

	switch (metric) {
	case 0:
		return strcmp(field_text(job, "state"), "running") == 0;
	case 1:
		return (double)field_u64(job, "ranks");
	case 2:
		return (double)field_nr_ranks(job, "missing");
	case 3:
		return (double)field_nr_ranks(job, "silent");
	case 4:
		return (double)field_u64(job, "slots");
	case 5:
		return (double)field_u64(job, "value_bytes");
	case 6:
		return (double)field_u64(counts, "waiting");
	case 7:
		return metrics_waits(json_object_get(stalls, "stalls"), name);
	default:
		return (double)field_u64(job, "epoch") / 1e3;
	}
}

static void metrics_jobs(const json_t *jobs, const json_t *stalls)
{
	static const char *const metrics[][2] = {
		{ "job_running", "1 while an epoch runs." },
		{ "job_ranks", "Ranks of the whole job." },
		{ "job_missing_ranks", "Ranks that have not joined." },
		{ "job_silent_ranks", "Ranks not heard for a second." },
		{ "job_slots", "Slots leased." },
		{ "job_value_bytes", "Memory leased for values." },
		{ "job_slots_in_flight", "Slots that wait for a contribution." },
		{ "job_longest_wait_seconds", "Longest that a slot, or a job that forms, waits." },
		{ "job_epoch_seconds", "When the epoch was made, seconds since 1970." },
	};
	const json_t *job;
	size_t i;

	for (unsigned m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		metrics_head(metrics[m][0], "gauge", metrics[m][1]);
		json_array_foreach(jobs, i, job)
		{
			printf("tally_%s{job=", metrics[m][0]);
			metrics_label(field_text(job, "name"));
			printf("} %.15g\n", metrics_job(job, stalls, m));
		}
	}
}

int metrics(struct tallyctl *ctl, char **args)
{
	struct link *link = &ctl->link;
	json_t *info = link_ask(link, "/tally/info"),
	       *counters = info ? link_ask(link, "/tally/counters") : NULL,
	       *ports = counters ? link_list(link, "/tally/ports", "ports", NULL) : NULL,
	       *jobs = ports ? link_list(link, "/tally/jobs", "jobs", NULL) : NULL,
	       *stalls = jobs ? link_list(link, "/tally/stalls", "stalls", "0") : NULL;
	int rc = stalls ? 0 : -1;

	(void)args;
	if (stalls) {
		metrics_switch(info);
		metrics_counters(counters);
		metrics_ports(json_object_get(ports, "ports"));
		metrics_jobs(json_object_get(jobs, "jobs"), stalls);
	}
	json_decref(info);
	json_decref(counters);
	json_decref(ports);
	json_decref(jobs);
	json_decref(stalls);
	return rc;
}
