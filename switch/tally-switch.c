// SPDX-License-Identifier: BSD-3-Clause
/* tally-switch.c - the switch as a program: options, signals, life and totals. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "switch/conf.h"
#include "switch/io/outfile.h"
#include "switch/lcore.h"
#include "switch/log.h"
#include "switch/node.h"
#include "switch/totals.h"

enum { EXIT_OPTIONS = 2, TIMER_SLACK_NS = 1000 };

/* Written by handlers only, but for wake, which the main thread clears. */
static volatile sig_atomic_t stop, report, wake;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		report = 1;
	else
		stop = 1;
	wake = 1;
}

static int signals_open(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigemptyset(&action.sa_mask);
	sigemptyset(&ignore.sa_mask);
	return sigaction(SIGINT, &action, NULL) || sigaction(SIGTERM, &action, NULL) ||
	       sigaction(SIGUSR1, &action, NULL) || sigaction(SIGPIPE, &ignore, NULL) ||
	       sigaction(SIGXFSZ, &ignore, NULL);
}

static void flush_captures(struct node *node)
{
	for (unsigned i = 0; i < node->lcore.nr_ports; i++) {
		struct lcore_port *p = &node->lcore.ports[i];

		if (p->capture_in)
			capture_flush(p->capture_in);
		if (p->capture_out)
			capture_flush(p->capture_out);
	}
}

static int finish(struct node *node)
{
	const char *path = node->conf->totals;
	struct totals totals;
	bool written;

	lcore_drain(&node->lcore);
	totals_read(&totals, node);
	totals_print(&totals, node, stdout);
	written = !ferror(stdout);
	if (!written)
		log_line(LOG_WARN, "standard output: the totals could not be written");
	if (!path || totals_write(&totals, node, path) == 0)
		return written ? EXIT_SUCCESS : EXIT_FAILURE;
	log_line(LOG_WARN, "--totals %.200s: cannot write it: %s", path, outfile_error(errno));
	return EXIT_FAILURE;
}

static void serve(struct node *node)
{
	struct totals totals;

	while (!stop) {
		wake = 0;
		/* A signal may have come just before. */
		if (report || stop)
			wake = 1;
		lcore_run(&node->lcore, &wake);
		if (!report)
			continue;
		report = 0;
		flush_captures(node);
		totals_read(&totals, node);
		totals_print(&totals, node, stdout);
	}
}

static void announce(const struct node *node)
{
	const struct conf *conf = node->conf;
	char ip[INET_ADDRSTRLEN], parent[INET_ADDRSTRLEN] = "";
	uint32_t be = htonl(conf->ip ? conf->ip : conf->ports[0].ip);

	inet_ntop(AF_INET, &be, ip, sizeof(ip));
	be = htonl(conf->parent_ip);
	if (conf->parent_ip)
		inet_ntop(AF_INET, &be, parent, sizeof(parent));
	log_line(LOG_WARN, "ready, %u port%s, ip %s%s%s", conf->nr_ports,
		 conf->nr_ports == 1 ? "" : "s", ip, conf->parent_ip ? ", leaf of " : "", parent);
	if (conf->ready_fd >= 0)
		/* The reader may have gone: then nobody needs to know. */
		(void)!write(conf->ready_fd, "r", 1);
}

static int run(const struct conf *conf)
{
	static struct node node;
	struct port_error err;
	int rc = EXIT_FAILURE;

	if (node_open(&node, conf, &stop, &err)) {
		fprintf(stderr, "tally-switch: %s\n", err.text);
	} else if (!node.lcore.pipe) {
		/* Told to end before everything was up. */
		rc = EXIT_SUCCESS;
	} else {
		if (!stop)
			announce(&node);
		serve(&node);
		rc = finish(&node);
	}
	node_close(&node);
	return rc;
}

static bool is_open(const char *option, int fd)
{
	if (fd < 0 || fcntl(fd, F_GETFD) >= 0)
		return true;
	fprintf(stderr, "tally-switch: --%s %d: is not open\n", option, fd);
	return false;
}

/* What could not be printed was not done. */
static int written(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	fprintf(stderr, "tally-switch: standard output: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static struct conf conf;
	struct port_error err;

	outfile_keep_standard();
	if (conf_parse(&conf, argc, argv, &err)) {
		fprintf(stderr, "tally-switch: %s\n", err.text);
		return EXIT_OPTIONS;
	}
	if (conf.help) {
		conf_help(stdout);
		return written();
	}
	if (conf.version) {
		printf("tally-switch " TALLY_VERSION "\n");
		return written();
	}
	/* Before anything opens some of its own. */
	if (!is_open("ready-fd", conf.ready_fd) || !is_open("ctl-fd", conf.ctl_fd))
		return EXIT_OPTIONS;
	if (conf.totals && totals_check(conf.totals)) {
		fprintf(stderr, "tally-switch: --totals %s: %s\n", conf.totals,
			outfile_error(errno));
		return EXIT_FAILURE;
	}
	log_level_set((enum log_level)conf.log_level);
	if (signals_open()) {
		fprintf(stderr, "tally-switch: cannot handle signals: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	/* Short sleeps are meant to be short. */
	(void)!prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	return run(&conf);
}
