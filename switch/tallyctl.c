// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl.c - questions and orders to a running tally-switch: options, and which command it is. */
#include "switch/tallyctl.h"

#include <signal.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "switch/conf.h"

enum { ARGS_MAX = 8 };

struct command {
	const char *words; /* that name it */
	unsigned min, max; /* words that follow */
	const char *args, *help;
	int (*run)(struct tallyctl *ctl, char **args);
};

static const struct command commands[] = {
	{ "show ports", 0, 0, "", "ports and what went through them", show_ports },
	{ "show jobs", 0, 0, "", "jobs, their ranks, slots and memory", show_jobs },
	{ "show job", 1, 1, "JOB", "a job and each of its ranks", show_job },
	{ "show slot", 2, 2, "JOB N", "one slot of a job: both rounds it knows", show_slot },
	{ "show stalls", 0, 1, "[SECONDS]",
	  "who waits for whom, in which operation, for at least so long (0.1)", show_stalls },
	{ "show counters", 0, 0, "", "what became of the packets that came in", show_counters },
	{ "show fdb", 0, 0, "", "stations of ordinary traffic", show_fdb },
	{ "show impair", 0, 0, "", "faults on purpose, and what met them", show_impair },
	{ "set impair", 2, 2, "PORT KEY=VALUE,...",
	  "faults on purpose from now on, as --impair of tally-switch", set_impair },
	{ "reset job", 1, 1, "JOB", "end the job's epoch: its operations fail on all ranks",
	  reset_job },
	{ "drain", 0, 1, "[off]", "take no new jobs, and wait until those there are done", drain },
	{ "watch", 0, 0, "", "rates, jobs and whom they wait for, once a second", watch },
	{ "metrics", 0, 0, "", "everything that has a number, for Prometheus", metrics },
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void help(FILE *out)
{
	char left[64];

	fputs("Usage: tallyctl [-s PATH|NAME] [--json] COMMAND\n"
	      "Asks a running tally-switch how it is, or tells it what to do.\n\n",
	      out);
	for (unsigned i = 0; i < COMMANDS; i++) {
		snprintf(left, sizeof(left), "%s %s", commands[i].words, commands[i].args);
		fprintf(out, "  %-26s  %s\n", left, commands[i].help);
	}
	fputs("\n  -s, --switch PATH|NAME      its control socket (--ctl of tally-switch), if there are several\n"
	      "      --json                  pass on the switch's answer\n"
	      "      --                      ends the options: what follows is a word, even --help\n"
	      "  -h, --help                  print this and exit\n"
	      "  -V, --version               print the version and exit\n"
	      "\nExit status: 0 done, 1 no switch or it refuses, 2 a wrong command or argument.\n",
	      out);
}

static int refuse(const char *what, const char *word)
{
	fprintf(stderr, "tallyctl: %s \"%s\": tallyctl --help lists what there is\n", what, word);
	return TALLYCTL_USAGE;
}

/* How many of its words the line begins with all of; 0: another command. */
static unsigned command_words(const struct command *command, char *const *words, unsigned nr)
{
	const char *space = strchr(command->words, ' ');
	size_t len = space ? (size_t)(space - command->words) : strlen(command->words);

	if (!nr || strlen(words[0]) != len || strncmp(words[0], command->words, len) != 0)
		return 0;
	if (!space)
		return 1;
	return nr > 1 && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

/* Which of the words is wrong: the second of "show nothing". */
static const char *unknown_word(char *const *words, unsigned nr)
{
	size_t len = strlen(words[0]);

	for (unsigned i = 0; i < COMMANDS && nr > 1; i++)
		if (strncmp(commands[i].words, words[0], len) == 0 && commands[i].words[len] == ' ')
			return words[1];
	return words[0];
}

static int run(struct tallyctl *ctl, const char *where, char **words, unsigned nr)
{
	const struct command *command = commands;
	unsigned named = 0;
	int rc = -1;

	while (command < commands + COMMANDS && !(named = command_words(command, words, nr)))
		command++;
	if (!named)
		return refuse("unknown command", unknown_word(words, nr));
	if (nr - named < command->min || nr - named > command->max) {
		fprintf(stderr, "tallyctl: %s takes %s\n", command->words,
			*command->args ? command->args : "nothing more");
		return TALLYCTL_USAGE;
	}
	if (link_open(&ctl->link, where))
		rc = command->run(ctl, words + named);
	link_close(&ctl->link);
	if (rc && (rc == TALLYCTL_USAGE || ctl->link.usage))
		return TALLYCTL_USAGE;
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Output that nobody reads any more is no failure of what was ordered; beyond `ulimit -f` it could not be written. */
static void quiet_pipe(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigemptyset(&ignore.sa_mask);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

/* What could not be printed was not done. */
static int written(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "tallyctl: standard output: %s\n", strerror(errno));
	return code ? code : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static struct tallyctl ctl;
	char *words[ARGS_MAX + 1] = { NULL };
	const char *where = NULL;
	bool options = true;
	unsigned nr = 0;

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *option = options ? arg : "";

		if (strcmp(option, "--") == 0) {
			options = false;
			continue;
		}
		if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0) {
			help(stdout);
			return written(EXIT_SUCCESS);
		}
		if (strcmp(option, "-V") == 0 || strcmp(option, "--version") == 0) {
			printf("tallyctl " TALLY_VERSION "\n");
			return written(EXIT_SUCCESS);
		}
		if (strcmp(option, "--json") == 0) {
			ctl.json = true;
		} else if (strcmp(option, "-s") == 0 || strcmp(option, "--switch") == 0) {
			if (i + 1 == argc)
				return refuse("a path or name is to follow", arg);
			where = argv[++i];
		} else if (strncmp(option, "--switch=", 9) == 0) {
			where = arg + 9;
		} else if (option[0] == '-' && option[1] && nr == 0) {
			return refuse("unknown option", arg);
		} else if (nr == ARGS_MAX) {
			return refuse("too many words:", arg);
		} else {
			words[nr++] = argv[i];
		}
	}
	if (nr == 0) {
		help(stderr);
		return TALLYCTL_USAGE;
	}
	ctl.link.fd = -1;
	quiet_pipe();
	return written(run(&ctl, where, words, nr));
}
