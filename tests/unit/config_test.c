// SPDX-License-Identifier: BSD-3-Clause
// config_test.c - host/config.c and config_source.c: every option, source, precedence and refusal.
#include "host/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/config_source.h"

static const char *const launchers[] = {
	"RANK",		  "WORLD_SIZE",	  "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	"PMI_RANK",	  "PMI_SIZE",	  "TORCHELASTIC_RUN_ID",  "OMPI_MCA_ess_base_jobid",
	"PMIX_NAMESPACE", "SLURM_JOB_ID",
};

static char *own_conf;

/* Every test starts with an environment that says nothing. */
static int clean(void **state)
{
	size_t nr;
	const struct config_option *options = config_options(&nr);

	(void)state;
	for (size_t i = 0; i < nr; i++)
		unsetenv(options[i].env);
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		unsetenv(launchers[i]);
	return 0;
}

static int remove_conf(void **state)
{
	(void)state;
	if (own_conf) {
		unlink(own_conf);
		free(own_conf);
		own_conf = NULL;
	}
	return 0;
}

/* A file with this text, named by TALLY_CONF. */
static void write_conf(const char *text)
{
	char name[] = "/tmp/tally-config-test.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	own_conf = strdup(name);
	assert_non_null(own_conf);
	setenv("TALLY_CONF", name, 1);
}

static struct config resolve(const struct tally_config *set)
{
	struct config_error error = { "" };
	struct config config;

	if (config_resolve(&config, set, &error) < 0)
		fail_msg("%s", error.text);
	return config;
}

static void refuse(const struct tally_config *set, const char *want)
{
	struct config_error error = { "" };
	struct config config;

	assert_int_equal(config_resolve(&config, set, &error), -1);
	assert_string_equal(error.text, want);
}

static void config_options__complete(void **state)
{
	size_t nr;
	const struct config_option *options = config_options(&nr);

	(void)state;
	assert_true(nr >= 18);
	for (size_t i = 0; i < nr; i++) {
		char env[64] = "TALLY_";

		for (size_t j = 0; options[i].key[j]; j++) {
			env[6 + j] = options[i].key[j];
			if (env[6 + j] >= 'a' && env[6 + j] <= 'z')
				env[6 + j] = (char)(env[6 + j] - 'a' + 'A');
			env[7 + j] = '\0';
		}
		assert_string_equal(options[i].env, env);
		assert_true(options[i].meaning[0] && options[i].allowed[0]);
		assert_non_null(options[i].default_text);
		assert_non_null(options[i].unit_text);
	}
}

static void config_resolve__defaults(void **state)
{
	struct config config = resolve(NULL);

	(void)state;
	assert_int_equal(config.rank, 0);
	assert_int_equal(config.size, 1);
	assert_string_equal(config.job, "default");
	assert_true(config.sw.inproc);
	assert_false(config.sw.named);
	assert_int_equal(config.transport, CONFIG_INPROC);
	assert_int_equal(config.chunk, 0);
	assert_int_equal(config.slots, 0);
	assert_int_equal(config.window, 0);
	assert_int_equal(config.timeout_ns, UINT64_C(300000000000));
	assert_int_equal(config.join_timeout_ns, UINT64_C(30000000000));
	assert_int_equal(config.stall_warning_ns, UINT64_C(30000000000));
	assert_int_equal(config.rto_min_ns, 0);
	assert_int_equal(config.debug, 1);
	assert_int_equal(config.port, 0);
	assert_null(config_kernels(&config));
	assert_string_equal(config.ifname, "");
	assert_string_equal(config.debug_file, "");
}

/* One value of each, as a user would write it. */
static void config_resolve__every_variable(void **state)
{
	struct config config;

	(void)state;
	setenv("TALLY_RANK", "2", 1);
	setenv("TALLY_SIZE", "4", 1);
	setenv("TALLY_JOB", "sums", 1);
	setenv("TALLY_SWITCH", "10.0.0.254:1234", 1);
	setenv("TALLY_TRANSPORT", "UDP", 1);
	setenv("TALLY_IFNAME", "eth1", 1);
	setenv("TALLY_PORT", "7000", 1);
	setenv("TALLY_CHUNK", "1k", 1);
	setenv("TALLY_SLOTS", "4K", 1);
	setenv("TALLY_WINDOW", "64", 1);
	setenv("TALLY_TIMEOUT", "0.25", 1);
	setenv("TALLY_JOIN_TIMEOUT", "0", 1);
	setenv("TALLY_STALL_WARNING", "7", 1);
	setenv("TALLY_RTO_MIN", "250.5", 1);
	setenv("TALLY_KERNELS", "avx2", 1);
	setenv("TALLY_DEBUG", "trace", 1);
	setenv("TALLY_DEBUG_FILE", "/tmp/%h.%p", 1);
	config = resolve(NULL);
	assert_int_equal(config.rank, 2);
	assert_int_equal(config.size, 4);
	assert_string_equal(config.job, "sums");
	assert_int_equal(config.sw.ip, 0x0a0000fe);
	assert_int_equal(config.sw.port, 1234);
	assert_string_equal(config.sw.text, "10.0.0.254:1234");
	assert_true(config.sw.named);
	assert_false(config.sw.inproc);
	assert_int_equal(config.transport, CONFIG_UDP);
	assert_string_equal(config.ifname, "eth1");
	assert_int_equal(config.port, 7000);
	assert_int_equal(config.chunk, 1024);
	assert_int_equal(config.slots, 4096);
	assert_int_equal(config.window, 64);
	assert_int_equal(config.timeout_ns, 250000000);
	assert_int_equal(config.join_timeout_ns, 0);
	assert_int_equal(config.stall_warning_ns, UINT64_C(7000000000));
	assert_int_equal(config.rto_min_ns, 250500);
	assert_string_equal(config_kernels(&config), "avx2");
	assert_int_equal(config.debug, 3);
	assert_string_equal(config.debug_file, "/tmp/%h.%p");
}

static void config_resolve__switch_forms(void **state)
{
	struct config config;

	(void)state;
	setenv("TALLY_SWITCH", "127.0.0.1", 1);
	config = resolve(NULL);
	assert_string_equal(config.sw.text, "127.0.0.1:48880");
	setenv("TALLY_SWITCH", "inproc", 1);
	config = resolve(NULL);
	assert_true(config.sw.inproc && config.sw.named);
	assert_string_equal(config.sw.name, "");
	setenv("TALLY_SWITCH", "inproc:b", 1);
	config = resolve(NULL);
	assert_string_equal(config.sw.name, "b");
	assert_int_equal(config.transport, CONFIG_INPROC);
}

static void config_resolve__bad_values(void **state)
{
	static const char *const cases[][3] = {
		{ "TALLY_RANK", "-1",
		  "TALLY_RANK=-1 (environment): want a whole number below the size" },
		{ "TALLY_SIZE", "0", "TALLY_SIZE=0 (environment): want 1 to 1024, in ranks" },
		{ "TALLY_SIZE", "1025", "TALLY_SIZE=1025 (environment): want 1 to 1024, in ranks" },
		{ "TALLY_SIZE", "two", "TALLY_SIZE=two (environment): want 1 to 1024, in ranks" },
		{ "TALLY_SWITCH", "leaf1",
		  "TALLY_SWITCH=leaf1 (environment): want IP[:port] or inproc[:name]; host names are not resolved" },
		{ "TALLY_SWITCH", "10.0.0.1:0",
		  "TALLY_SWITCH=10.0.0.1:0 (environment): want IP[:port] or inproc[:name]; host names are not "
		  "resolved" },
		{ "TALLY_SWITCH", "10.0.0.1:99999",
		  "TALLY_SWITCH=10.0.0.1:99999 (environment): want IP[:port] or inproc[:name]; host names are not "
		  "resolved" },
		{ "TALLY_SWITCH", "inproc:",
		  "TALLY_SWITCH=inproc: (environment): want IP[:port] or inproc[:name]; host names are not resolved" },
		{ "TALLY_TRANSPORT", "tcp",
		  "TALLY_TRANSPORT=tcp (environment): want one of udp|inproc" },
		{ "TALLY_IFNAME", "a-name-that-is-long",
		  "TALLY_IFNAME=a-name-that-is-long (environment): want a network interface with an IPv4 address" },
		{ "TALLY_PORT", "70000", "TALLY_PORT=70000 (environment): want 0 to 65535" },
		{ "TALLY_CHUNK", "1000",
		  "TALLY_CHUNK=1000 (environment): want 0, or a multiple of 128 from 128 to 8832, in bytes" },
		{ "TALLY_CHUNK", "9K",
		  "TALLY_CHUNK=9K (environment): want 0, or a multiple of 128 from 128 to 8832, in bytes" },
		{ "TALLY_SLOTS", "16001",
		  "TALLY_SLOTS=16001 (environment): want 0 to 16000, in chunks" },
		{ "TALLY_WINDOW", "1.5",
		  "TALLY_WINDOW=1.5 (environment): want 0 to 16000, in chunks" },
		{ "TALLY_TIMEOUT", "-3",
		  "TALLY_TIMEOUT=-3 (environment): want 0 (never) or up to 1000000, in s" },
		{ "TALLY_TIMEOUT", "5s",
		  "TALLY_TIMEOUT=5s (environment): want 0 (never) or up to 1000000, in s" },
		{ "TALLY_JOIN_TIMEOUT", "1e9",
		  "TALLY_JOIN_TIMEOUT=1e9 (environment): want 0 (never) or up to 1000000, in s" },
		{ "TALLY_STALL_WARNING", "x",
		  "TALLY_STALL_WARNING=x (environment): want 0 (never) or up to 1000000, in s" },
		{ "TALLY_RTO_MIN", "200000",
		  "TALLY_RTO_MIN=200000 (environment): want 0 to 100000, in us" },
		{ "TALLY_KERNELS", "neon",
		  "TALLY_KERNELS=neon (environment): want one of best|scalar|avx2|avx512|avx512fp16" },
		{ "TALLY_DEBUG", "LOUD",
		  "TALLY_DEBUG=LOUD (environment): want one of NONE|WARN|INFO|TRACE" },
		{ "TALLY_DEBUG", "INF",
		  "TALLY_DEBUG=INF (environment): want one of NONE|WARN|INFO|TRACE" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clean(state);
		setenv("TALLY_RANK", "0", 1);
		setenv("TALLY_SIZE", "2", 1);
		setenv(cases[i][0], cases[i][1], 1);
		refuse(NULL, cases[i][2]);
	}
}

static void config_resolve__ranges(void **state)
{
	struct config config;

	(void)state;
	setenv("TALLY_SWITCH", "10.0.0.9", 1);
	setenv("TALLY_RANK", "700", 1);
	setenv("TALLY_SIZE", "1024", 1);
	setenv("TALLY_RANGES", "650-713,512-1023,0-1023", 1);
	config = resolve(NULL);
	assert_int_equal(config.ranges.nr, 3);
	assert_int_equal(config.ranges.range[0].first, 650);
	assert_int_equal(config.ranges.range[0].nr, 64);
	assert_int_equal(config.ranges.range[1].first, 512);
	assert_int_equal(config.ranges.range[1].nr, 512);
	assert_int_equal(config.ranges.range[2].nr, 1024);
	assert_int_equal(config_own_range(&config).first, 650);
	setenv("TALLY_RANGES", "", 1);
	setenv("TALLY_SIZE", "64", 1);
	setenv("TALLY_RANK", "63", 1);
	config = resolve(NULL);
	assert_int_equal(config.ranges.nr, 0);
	assert_int_equal(config_own_range(&config).first, 0);
	assert_int_equal(config_own_range(&config).nr, 64);
	setenv("TALLY_SWITCH", "inproc", 1);
	setenv("TALLY_RANGES", "0-63", 1);
	assert_int_equal(resolve(NULL).ranges.nr, 1);
}

static void config_resolve__bad_ranges(void **state)
{
#define WANT " (environment): want a range such as 0-3, or up to 3 such as 0-3,0-15"
	static const struct {
		const char *sw, *rank, *size, *ranges, *want;
	} cases[] = {
		{ "10.0.0.9", "0", "8", "0", "TALLY_RANGES=0" WANT },
		{ "10.0.0.9", "0", "8", "0-", "TALLY_RANGES=0-" WANT },
		{ "10.0.0.9", "0", "8", "-3", "TALLY_RANGES=-3" WANT },
		{ "10.0.0.9", "0", "8", "3-0", "TALLY_RANGES=3-0" WANT },
		{ "10.0.0.9", "0", "8", "0-3,", "TALLY_RANGES=0-3," WANT },
		{ "10.0.0.9", "0", "8", "0-3 ", "TALLY_RANGES=0-3 " WANT },
		{ "10.0.0.9", "0", "8", "0- 3", "TALLY_RANGES=0- 3" WANT },
		{ "10.0.0.9", "0", "8", "0-65535", "TALLY_RANGES=0-65535" WANT },
		{ "10.0.0.9", "0", "8", "0-1,0-2,0-3,0-4", "TALLY_RANGES=0-1,0-2,0-3,0-4" WANT },
		{ "10.0.0.9", "4", "8", "0-3",
		  "TALLY_RANGES=0-3 (environment): rank 4 is not among 0-3, the ranks below its own "
		  "switch" },
		{ "10.0.0.9", "3", "8", "4-7",
		  "TALLY_RANGES=4-7 (environment): rank 3 is not among 4-7, the ranks below its own "
		  "switch" },
		{ "10.0.0.9", "0", "8", "0-3,1-7",
		  "TALLY_RANGES=0-3,1-7 (environment): 0-3 is not within 1-7: name the switch of this "
		  "rank first, then those above it" },
		{ "10.0.0.9", "7", "8", "4-8",
		  "TALLY_RANGES=4-8 (environment): 4-8 reaches beyond the job, which has ranks 0-7 by "
		  "TALLY_SIZE" },
		{ "10.0.0.9", "7", "8", "4-7,0-8",
		  "TALLY_RANGES=4-7,0-8 (environment): 0-8 reaches beyond the job, which has ranks 0-7 "
		  "by TALLY_SIZE" },
		{ "10.0.0.9", "0", "65", "",
		  "TALLY_SIZE=65 (environment): one switch adds up at most 64 ranks: use a tree "
		  "(tally-switch --parent) and set TALLY_RANGES to the ranks below this one's switch" },
		{ "10.0.0.9", "10", "100", "5-69",
		  "TALLY_RANGES=5-69 (environment): 5-69 are 65 ranks, but one switch adds up at most "
		  "64: use more switches" },
		{ "inproc", "0", "8", "0-3",
		  "TALLY_RANGES=0-3 (environment): the switch inside this process has no parent: set "
		  "TALLY_SWITCH=IP[:port] to a leaf" },
	};
#undef WANT

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clean(state);
		setenv("TALLY_SWITCH", cases[i].sw, 1);
		setenv("TALLY_RANK", cases[i].rank, 1);
		setenv("TALLY_SIZE", cases[i].size, 1);
		setenv("TALLY_RANGES", cases[i].ranges, 1);
		refuse(NULL, cases[i].want);
	}
}

static void config_resolve__job_too_long(void **state)
{
	struct config_error error;
	struct config config;
	char name[66];

	(void)state;
	memset(name, 'j', 65);
	name[65] = '\0';
	setenv("TALLY_JOB", name, 1);
	assert_int_equal(config_resolve(&config, NULL, &error), -1);
	assert_non_null(strstr(error.text, "(environment): want 1 to 64 bytes"));
	setenv("TALLY_JOB", "two words", 1);
	assert_int_equal(config_resolve(&config, NULL, &error), -1);
	assert_non_null(strstr(error.text, "none of them a space"));
	setenv("TALLY_JOB", "line\n", 1);
	assert_int_equal(config_resolve(&config, NULL, &error), -1);
	name[64] = '\0';
	setenv("TALLY_JOB", name, 1);
	config = resolve(NULL);
	assert_string_equal(config.job, name);
}

static void config_resolve__rank_and_size(void **state)
{
	(void)state;
	setenv("TALLY_RANK", "4", 1);
	setenv("TALLY_SIZE", "4", 1);
	refuse(NULL,
	       "TALLY_RANK=4 (environment) is not below TALLY_SIZE=4 (environment): ranks count from 0");
	unsetenv("TALLY_SIZE");
	refuse(NULL,
	       "TALLY_RANK=4 (environment) without a size: set TALLY_SIZE to the number of ranks");
	unsetenv("TALLY_RANK");
	setenv("TALLY_SIZE", "4", 1);
	refuse(NULL,
	       "TALLY_SIZE=4 (environment) without a rank: set TALLY_RANK, from 0 to one less than that, differently in each "
	       "process");
	setenv("TALLY_SIZE", "1", 1);
	assert_int_equal(resolve(NULL).size, 1);
	unsetenv("TALLY_SIZE");
	setenv("TALLY_RANK", "0", 1);
	assert_int_equal(resolve(NULL).size, 1);
}

static void config_resolve__contradictions(void **state)
{
	(void)state;
	setenv("TALLY_TRANSPORT", "udp", 1);
	refuse(NULL,
	       "TALLY_TRANSPORT=udp (environment) needs the switch's address: set TALLY_SWITCH=IP[:port]");
	setenv("TALLY_TRANSPORT", "inproc", 1);
	setenv("TALLY_SWITCH", "10.0.0.1", 1);
	refuse(NULL,
	       "TALLY_TRANSPORT=inproc (environment) contradicts TALLY_SWITCH=10.0.0.1 (environment)");
}

static void config_resolve__launchers(void **state)
{
	struct config config;

	(void)state;
	setenv("PMI_RANK", "1", 1);
	setenv("PMI_SIZE", "2", 1);
	assert_int_equal(resolve(NULL).size, 2);
	setenv("OMPI_COMM_WORLD_RANK", "2", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
	assert_int_equal(resolve(NULL).size, 3);
	setenv("RANK", "3", 1);
	/* Half a pair is none. */
	assert_int_equal(resolve(NULL).rank, 2);
	setenv("WORLD_SIZE", "4", 1);
	config = resolve(NULL);
	assert_int_equal(config.rank, 3);
	assert_int_equal(config.size, 4);
	setenv("RANK", "5", 1);
	refuse(NULL,
	       "RANK=5 (environment) is not below WORLD_SIZE=4 (environment): ranks count from 0");
	setenv("TALLY_RANK", "0", 1);
	setenv("TALLY_SIZE", "2", 1);
	config = resolve(NULL);
	assert_int_equal(config.rank, 0);
	assert_int_equal(config.size, 2);
}

static void config_resolve__launcher_job(void **state)
{
	char id[100];

	(void)state;
	setenv("SLURM_JOB_ID", "991", 1);
	assert_string_equal(resolve(NULL).job, "991");
	setenv("OMPI_MCA_ess_base_jobid", "77", 1);
	assert_string_equal(resolve(NULL).job, "77");
	setenv("PMIX_NAMESPACE", "ns.1", 1);
	assert_string_equal(resolve(NULL).job, "ns.1");
	setenv("TORCHELASTIC_RUN_ID", "run7", 1);
	assert_string_equal(resolve(NULL).job, "run7");
	memset(id, 'r', 99);
	id[99] = '\0';
	setenv("TORCHELASTIC_RUN_ID", id, 1);
	assert_memory_equal(resolve(NULL).job, "run-", 4);
	assert_int_equal(strlen(resolve(NULL).job), 20);
	setenv("TALLY_JOB", "mine", 1);
	assert_string_equal(resolve(NULL).job, "mine");
}

static void config_resolve__precedence(void **state)
{
	struct config_error error;
	struct tally_config set = { { NULL } };

	(void)state;
	assert_int_equal(resolve(NULL).slots, 0);
	write_conf("TALLY_SLOTS=100\nTALLY_WINDOW=9\n");
	assert_int_equal(resolve(NULL).slots, 100);
	setenv("TALLY_SLOTS", "200", 1);
	assert_int_equal(resolve(NULL).slots, 200);
	assert_int_equal(config_set(&set, "slots", "300", &error), 0);
	assert_int_equal(resolve(&set).slots, 300);
	assert_int_equal(config_set(&set, "slots", "301", &error), 0);
	assert_int_equal(resolve(&set).slots, 301);
	assert_int_equal(resolve(&set).window, 9);
	/* An empty variable is one that is not set. */
	setenv("TALLY_SLOTS", "", 1);
	assert_int_equal(resolve(NULL).slots, 100);
	config_clear(&set);
}

static void config_resolve__file(void **state)
{
	char want[256];

	(void)state;
	write_conf("# comment\n\n  TALLY_JOB = from-file  \nTALLY_SLOTS=1\nTALLY_SLOTS=7\n");
	assert_string_equal(resolve(NULL).job, "from-file");
	assert_int_equal(resolve(NULL).slots, 7);
	remove_conf(state);

	write_conf("TALLY_JOB=a\nTALLY_SLOTS=none\n");
	snprintf(want, sizeof(want), "TALLY_SLOTS=none (%s:2): want 0 to 16000, in chunks",
		 own_conf);
	refuse(NULL, want);
	remove_conf(state);

	write_conf("TALLY_WINDOWS=3\n");
	snprintf(want, sizeof(want),
		 "%s:1: unknown variable TALLY_WINDOWS: did you mean TALLY_WINDOW?", own_conf);
	refuse(NULL, want);
	remove_conf(state);

	write_conf("\nslots 3\n");
	snprintf(want, sizeof(want), "%s:2: want VAR=VALUE, not \"slots 3\"", own_conf);
	refuse(NULL, want);
	remove_conf(state);

	setenv("TALLY_CONF", "/nonexistent/tally.conf", 1);
	refuse(NULL, "TALLY_CONF=/nonexistent/tally.conf: No such file or directory");
}

static void config_set__refusals(void **state)
{
	struct tally_config set = { { NULL } };
	struct config_error error;

	(void)state;
	assert_int_equal(config_set(&set, "time_out", "3", &error), -1);
	assert_string_equal(
		error.text,
		"unknown option \"time_out\": did you mean \"timeout\"?; tally(7) lists them");
	assert_int_equal(config_set(&set, "colour", "3", &error), -1);
	assert_string_equal(error.text, "unknown option \"colour\"; tally(7) lists them");
	assert_int_equal(config_set(&set, "size", "many", &error), -1);
	assert_string_equal(error.text, "size=many (tally_config_set): want 1 to 1024, in ranks");
	assert_int_equal(config_set(&set, "size", NULL, &error), -1);
	assert_int_equal(config_set(&set, NULL, "1", &error), -1);
	assert_int_equal(config_set(&set, "size", "2", &error), 0);
	refuse(&set,
	       "size=2 (tally_config_set) without a rank: set TALLY_RANK, from 0 to one less than that, differently in each "
	       "process");
	config_clear(&set);
}

static char warnings[1024];

static void collect(const char *text)
{
	strcat(warnings, text);
	strcat(warnings, "\n");
}

static void config_unknown__named(void **state)
{
	(void)state;
	warnings[0] = '\0';
	setenv("TALLY_SLOTS", "7", 1);
	config_unknown(collect);
	assert_string_equal(warnings, "");
	setenv("TALLY_SOLTS", "7", 1);
	config_unknown(collect);
	assert_string_equal(warnings,
			    "unknown variable TALLY_SOLTS is ignored: did you mean TALLY_SLOTS?\n");
	unsetenv("TALLY_SOLTS");
	warnings[0] = '\0';
	setenv("TALLY_BREAKFAST", "egg", 1);
	config_unknown(collect);
	assert_string_equal(warnings, "unknown variable TALLY_BREAKFAST is ignored\n");
	unsetenv("TALLY_BREAKFAST");
}

static void config_guess__near_and_far(void **state)
{
	const struct config_option *guess[CONFIG_GUESSES];

	(void)state;
	assert_int_equal(config_guess("TALLY_RNAK", guess), 1);
	assert_string_equal(guess[0]->key, "rank");
	assert_int_equal(config_guess("Debug_Fil", guess), 1);
	assert_string_equal(guess[0]->key, "debug_file");
	assert_int_equal(config_guess("TALLY_X", guess), 0);
	assert_int_equal(config_guess("", guess), 0);
	/* The shorter distance first, then the longer beginning in common; then there is nothing to choose by. */
	assert_int_equal(config_guess("TALLY_CHCK", guess), 1);
	assert_string_equal(guess[0]->key, "check");
	assert_int_equal(config_guess("TALLY_CHEK", guess), 1);
	assert_string_equal(guess[0]->key, "check");
	assert_int_equal(config_guess("TALLY_CHUK", guess), 1);
	assert_string_equal(guess[0]->key, "chunk");
	assert_int_equal(config_guess("TALLY_CHENK", guess), 1);
	assert_string_equal(guess[0]->key, "check");
	assert_int_equal(config_guess("TALLY_CHUCK", guess), 1);
	assert_string_equal(guess[0]->key, "chunk");
	assert_int_equal(config_guess("TALLY_CHK", guess), 2);
}

static void config_hint__in_words(void **state)
{
	char out[CONFIG_HINT];

	(void)state;
	assert_string_equal(config_hint("TALLY_SOLTS", true, out), ": did you mean TALLY_SLOTS?");
	assert_string_equal(config_hint("TALLY_CHK", true, out),
			    ": did you mean TALLY_CHUNK or TALLY_CHECK?");
	assert_string_equal(config_hint("chk", false, out),
			    ": did you mean \"chunk\" or \"check\"?");
	assert_string_equal(config_hint("colour", true, out), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(config_options__complete, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__defaults, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__every_variable, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__switch_forms, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__bad_values, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__ranges, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__bad_ranges, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__job_too_long, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__rank_and_size, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__contradictions, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__launchers, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__launcher_job, clean, NULL),
		cmocka_unit_test_setup_teardown(config_resolve__precedence, clean, remove_conf),
		cmocka_unit_test_setup_teardown(config_resolve__file, clean, remove_conf),
		cmocka_unit_test_setup_teardown(config_set__refusals, clean, NULL),
		cmocka_unit_test_setup_teardown(config_unknown__named, clean, NULL),
		cmocka_unit_test_setup_teardown(config_guess__near_and_far, clean, NULL),
		cmocka_unit_test_setup_teardown(config_hint__in_words, clean, NULL),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
