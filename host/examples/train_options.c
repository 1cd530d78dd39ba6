// SPDX-License-Identifier: BSD-3-Clause
// train_options.c - the command line of the training example.
#include "host/examples/train.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option train_longopts[] = {
	{ "epochs", required_argument, NULL, 'e' },
	{ "batch", required_argument, NULL, 'b' },
	{ "lr", required_argument, NULL, 'l' },
	{ "seed", required_argument, NULL, 's' },
	{ "data", required_argument, NULL, 'd' },
	{ "ranks", required_argument, NULL, 'r' },
	{ "inproc", no_argument, NULL, 'i' },
	{ "plain", no_argument, NULL, 'p' },
	{ "restarts", required_argument, NULL, 'R' },
	{ "abort-at", required_argument, NULL, 'a' },
	{ "wire", required_argument, NULL, 'w' },
	{ "inject-inf", required_argument, NULL, 'I' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char train_usage[] =
	"Usage: train [options]\n"
	"Trains a small network on handwritten digits, data-parallel over libtally.\n"
	"Without --ranks it is one rank of the job that TALLY_RANK, TALLY_SIZE and TALLY_SWITCH describe.\n"
	"\n"
	"  --ranks N       N ranks as threads of this process, over TALLY_SWITCH\n"
	"  --inproc        over the switch inside this process (4 ranks unless --ranks says other)\n"
	"  --plain         one process and no communication: the run to compare with\n"
	"  --epochs N      passes over the training samples (30)\n"
	"  --batch N       samples per step, of all ranks together (128)\n"
	"  --lr X          learning rate at the start (0.06)\n"
	"  --seed N        seed of the weights and of the order of the samples (1)\n"
	"  --data FILE     the digits (default: the file that came with the program)\n"
	"  --restarts N    go on up to N times after a rank or the switch was lost (0): from the last\n"
	"                  step that all ranks have, to the same end\n"
	"  --abort-at S    the last rank aborts in step S, once, to show a restart\n"
	"  --wire W        gradients travel as int32 or int16, which is half the bytes (as TALLY_WIRE)\n"
	"  --inject-inf R:S\n"
	"                  a gradient of rank R is infinite in step S, to show that all ranks skip it\n"
	"  -h, --help      this text\n"
	"  -V, --version   the version\n"
	"\n"
	"Exit status: 0 trained and all ranks equal, 1 an error, 2 a bad option.\n";

static int train_bad(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "train: --%s %s: want %s\n", option, value, want);
	return -1;
}

static int train_take_number(const char *option, const char *text, uint32_t least, uint32_t most)
{
	unsigned long value;
	char want[64], *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && value >= least &&
	    value <= most)
		return (int)value;
	snprintf(want, sizeof(want), "a whole number from %u to %u", (unsigned int)least,
		 (unsigned int)most);
	return train_bad(option, text, want);
}

static int train_take_rate(struct train_options *options, const char *text)
{
	char *end;

	options->rate = strtof(text, &end);
	if (end == text || *end != '\0' || !(options->rate > 0 && options->rate <= 10))
		return train_bad("lr", text, "a number above 0, at most 10");
	return 0;
}

static int train_take_inf(struct train_options *options, const char *text)
{
	unsigned int rank, step;
	int end = -1;

	if (*text < '0' || *text > '9' || sscanf(text, "%4u:%9u%n", &rank, &step, &end) != 2 ||
	    text[end] != '\0' || rank >= TRAIN_RANKS_MAX)
		return train_bad("inject-inf", text, "a rank and a step, such as 2:40");
	options->inf_rank = (int)rank;
	options->inf_step = step;
	return 0;
}

static int train_take_wire(struct train_options *options, const char *text)
{
	if (strcmp(text, "int32") != 0 && strcmp(text, "int16") != 0)
		return train_bad("wire", text, "int32 or int16");
	options->wire = text;
	return 0;
}

static int train_take(struct train_options *options, int opt, const char *text)
{
	int value;

	switch (opt) {
	case 'e':
		value = train_take_number("epochs", text, 1, 10000);
		options->epochs = (uint32_t)value;
		return value < 0 ? -1 : 0;
	case 'b':
		value = train_take_number("batch", text, 1, DIGITS_TRAIN);
		options->batch = (uint32_t)value;
		return value < 0 ? -1 : 0;
	case 's':
		value = train_take_number("seed", text, 0, INT32_MAX);
		options->seed = (uint64_t)value;
		return value < 0 ? -1 : 0;
	case 'r':
		value = train_take_number("ranks", text, 1, TRAIN_RANKS_MAX);
		options->nr_ranks = (uint32_t)value;
		return value < 0 ? -1 : 0;
	case 'R':
		value = train_take_number("restarts", text, 0, 1000);
		options->restarts = (uint32_t)value;
		return value < 0 ? -1 : 0;
	case 'a':
		options->abort_at = train_take_number("abort-at", text, 0, INT32_MAX);
		return options->abort_at < 0 ? -1 : 0;
	case 'w':
		return train_take_wire(options, text);
	case 'I':
		return train_take_inf(options, text);
	case 'l':
		return train_take_rate(options, text);
	case 'd':
		options->data = text;
		return 0;
	case 'i':
		options->inproc = true;
		return 0;
	case 'p':
		options->plain = true;
		return 0;
	case 'h':
		fputs(train_usage, stdout);
		return 1;
	case 'V':
		printf("train (tally %s)\n", tally_version());
		return 1;
	default:
		fputs("train: `train --help` lists the options\n", stderr);
		return -1;
	}
}

static int train_options_finish(struct train_options *options)
{
	if (options->plain && (options->inproc || options->nr_ranks != 0)) {
		fputs("train: --plain has no ranks: leave out --ranks and --inproc\n", stderr);
		return -1;
	}
	if (options->plain && (options->wire != NULL || options->inf_step >= 0)) {
		fputs("train: --plain has no ranks: leave out --wire and --inject-inf\n", stderr);
		return -1;
	}
	if (options->inproc && options->nr_ranks == 0)
		options->nr_ranks = 4;
	return 0;
}

int train_options_parse(struct train_options *options, int argc, char **argv)
{
	int opt, err;

	*options = (struct train_options){
		.epochs = 30,
		.batch = 128,
		.rate = 0.06f,
		.momentum = 0.9f,
		.seed = 1,
		.abort_at = -1,
		.inf_step = -1,
	};
	argv[0] = program_invocation_short_name; /* as getopt names us */
	while ((opt = getopt_long(argc, argv, "hV", train_longopts, NULL)) != -1) {
		err = train_take(options, opt, optarg);
		if (err != 0)
			return err;
	}
	if (optind < argc) {
		fprintf(stderr, "train: %s: not an option; `train --help` lists them\n",
			argv[optind]);
		return -1;
	}
	return train_options_finish(options);
}
