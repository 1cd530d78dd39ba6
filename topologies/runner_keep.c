// SPDX-License-Identifier: BSD-3-Clause
// The network after a run, until the user ends it: a process in each node by which others can enter.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topologies/runner.h"
#include "topologies/say.h"

enum { NAMES_MAX = 200 };

static int holder_start(struct runner *r, unsigned int i, struct program *holder)
{
	const struct topology *t = r->options->topology;
	const struct topology_node *n = &t->node[i];
	char sleep[] = "sleep", infinity[] = "infinity", *argv[] = { sleep, infinity, NULL };
	struct program_plan plan = { .ns = &r->fabric.node[i], .argv = argv };
	struct fabric_ip ip = fabric_ip(n->is_switch ? n : &t->node[n->parent]);

	program_plan_env(&plan, "TALLY_SWITCH", ip.text);
	program_plan_env(&plan, "FABRIC_HOST", n->name);
	return program_start(holder, &plan);
}

static void keep_say(const struct runner *r)
{
	const struct topology *t = r->options->topology;
	char names[NAMES_MAX] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < t->nr_nodes; i++) {
		const char *name = t->node[i].name;

		if (t->node[i].outside)
			continue;
		if (len + strlen(name) + 8 > sizeof(names)) {
			snprintf(names + len, sizeof(names) - len, ", ...");
			break;
		}
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
					name);
	}
	if (r->options->record.whole)
		say_line("what each node printed is in %s/logs", r->options->record.dir);
	say_line("the network stays until %sCtrl-C or SIGTERM; a shell there, from any terminal: "
		 "`tally-fabric enter HOST`, of %s",
		 r->options->keep_enter ? "Enter, " : "", names);
}

// A shell had the terminal.
static void terminal_back(const struct runner *r)
{
	sigset_t s;

	if (!r->box->interactive || !isatty(STDIN_FILENO))
		return;
	setpgid(0, 0);
	sigemptyset(&s);
	sigaddset(&s, SIGTTOU);
	sigprocmask(SIG_BLOCK, &s, NULL);
	tcsetpgrp(STDIN_FILENO, getpgrp());
}

void runner_keep(struct runner *r)
{
	const struct topology *t = r->options->topology;
	struct program *holder = calloc(t->nr_nodes, sizeof(*holder));

	terminal_back(r);
	for (unsigned int i = 0; holder && i < t->nr_nodes; i++)
		if (!t->node[i].outside)
			(void)holder_start(r, i, &holder[i]); // which has said why not
	r->keeping = true;
	r->keep_input = r->options->keep_enter;
	keep_say(r);
	while (r->keeping && !r->screen.unread)
		runner_turn(r, 3600);
	for (unsigned int i = 0; holder && i < t->nr_nodes; i++)
		program_signal(&holder[i], SIGKILL);
	free(holder);
}

void runner_keep_input(struct runner *r)
{
	char text[256];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text));

	if (n <= 0)
		r->keep_input = false;
	else if (memchr(text, '\n', (size_t)n))
		r->keeping = false;
}
