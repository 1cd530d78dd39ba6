// SPDX-License-Identifier: BSD-3-Clause
// tally-info.c - says what this libtally is, what this CPU runs, and every TALLY_ variable.
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "host/config.h"
#include "host/include/tally.h"
#include "host/quantizer.h"

#if defined(__clang__)
#define INFO_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define INFO_COMPILER "gcc " __VERSION__
#else
#define INFO_COMPILER "unknown compiler"
#endif

#if defined(__has_feature)
#define INFO_HAS(x) __has_feature(x)
#else
#define INFO_HAS(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || INFO_HAS(address_sanitizer)
#define INFO_MODE "with address sanitizer"
#elif defined(__SANITIZE_THREAD__) || INFO_HAS(thread_sanitizer)
#define INFO_MODE "with thread sanitizer"
#elif defined(__OPTIMIZE__)
#define INFO_MODE "optimised"
#else
#define INFO_MODE "not optimised"
#endif

static const char info_usage[] =
	"Usage: tally-info [-v] [-c]\n"
	"Without an option it prints all.\n"
	"\n"
	"  -v, --variables  version, build, and every TALLY_ variable: meaning, default, value now\n"
	"  -c, --cpu        the CPU and the kernels it runs\n"
	"  -h, --help       this text\n"
	"  -V, --version    the version\n"
	"\n"
	"Exit status: 0, 1 a variable has a bad value, 2 a bad option.\n";

static const struct option info_longopts[] = {
	{ "variables", no_argument, NULL, 'v' },
	{ "cpu", no_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char *const info_kernels[] = { "scalar", "avx2", "avx512", "avx512fp16" };

static void info_print_build(void)
{
	const char *text = tally_version();

	printf("tally %s\n", text);
	if (strcmp(text, TALLY_VERSION_STRING) != 0)
		printf("  header    %s\n", TALLY_VERSION_STRING);
	printf("  compiler  %s\n  build     %s\n", INFO_COMPILER, INFO_MODE);
}

/* The name Linux has for the CPU, or the architecture's. */
static void info_print_model(void)
{
	struct utsname name;
	char line[256], *colon;
	FILE *file = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
		colon = strchr(line, ':');
		found = colon != NULL && strncmp(line, "model name", 10) == 0;
		if (found)
			printf("CPU%s", colon + 1);
	}
	if (file != NULL)
		fclose(file);
	if (!found && uname(&name) == 0)
		printf("CPU %s\n", name.machine);
}

static void info_print_cpu(void)
{
	const struct quant_ops *best = quant_select(NULL), *ops;
	size_t i;

	info_print_model();
	for (i = 0; i < sizeof(info_kernels) / sizeof(info_kernels[0]); i++) {
		ops = quant_select(info_kernels[i]);
		printf("  kernels   %-7s %s\n", info_kernels[i],
		       ops == NULL   ? "not in this build, or not for this CPU"
		       : ops == best ? "chosen"
				     : "runs here");
	}
}

static void info_print_variable(const struct config_option *option)
{
	const char *value = getenv(option->env);

	printf("%s=%s%s%s\n", option->env, option->default_text,
	       option->unit_text[0] != '\0' ? " " : "", option->unit_text);
	printf("    %s\n    values: %s\n", option->meaning, option->allowed);
	if (value != NULL)
		printf("    set now: %s\n", value);
}

static void info_warn(const char *text)
{
	fprintf(stderr, "tally-info: warning: %s\n", text);
}

/* 0, or -1 if a variable has a value that tally_open() would refuse. */
static int info_print_variables(void)
{
	struct config_error error;
	static struct config config;
	const struct config_option *options;
	size_t i, nr;

	puts("Variables and their defaults:");
	options = config_options(&nr);
	for (i = 0; i < nr; i++)
		info_print_variable(&options[i]);
	fflush(stdout);
	config_unknown(info_warn);
	if (config_resolve(&config, NULL, &error) == 0)
		return 0;
	fprintf(stderr, "tally-info: %s\n", error.text);
	return -1;
}

/* What could not be printed was not done. */
static int info_end(int err)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return err == 0 ? 0 : 1;
	fprintf(stderr, "tally-info: standard output could not be written\n");
	return 1;
}

int main(int argc, char **argv)
{
	bool variables = false, cpu = false;
	int opt, err = 0;

	argv[0] = program_invocation_short_name; /* as getopt names us */
	while ((opt = getopt_long(argc, argv, "vchV", info_longopts, NULL)) != -1) {
		if (opt == 'h') {
			fputs(info_usage, stdout);
			return info_end(0);
		}
		if (opt == 'V') {
			printf("tally-info %s\n", tally_version());
			return info_end(0);
		}
		if (opt == '?') {
			fputs("tally-info: `tally-info --help` lists the options\n", stderr);
			return 2;
		}
		variables |= opt == 'v';
		cpu |= opt == 'c';
	}
	if (optind < argc) {
		fprintf(stderr, "tally-info: %s: not an option; `tally-info --help` lists them\n",
			argv[optind]);
		return 2;
	}
	if (variables || !cpu)
		info_print_build();
	if (cpu || !variables)
		info_print_cpu();
	if (variables || !cpu)
		err = info_print_variables();
	return info_end(err);
}
