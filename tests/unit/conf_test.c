// SPDX-License-Identifier: BSD-3-Clause
/* conf_test.c - every option of tally-switch, what each refuses, and that --help names them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/conf.h"
#include "switch/log.h"

enum { ARGS_MAX = 40 };

static struct conf conf;
static struct port_error err;
static char words[1024];

/* Parses a command line whose words are separated by single spaces. */
static int parse(const char *line)
{
	char *argv[ARGS_MAX] = { (char[]){ "tally-switch" } };
	char *save = NULL;
	int argc = 1;

	memset(&conf, 0xa5, sizeof(conf));
	memset(&err, 0, sizeof(err));
	assert_true(strlen(line) < sizeof(words));
	strcpy(words, line);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < ARGS_MAX);
		argv[argc++] = w;
	}
	return conf_parse(&conf, argc, argv, &err);
}

#define UDP "-i 1@udp:127.0.0.1 "

static void conf_parse__defaults(void **state)
{
	(void)state;
	assert_int_equal(parse(UDP), 0);
	assert_int_equal(conf.nr_ports, 1);
	assert_int_equal(conf.ip, 0);
	assert_int_equal(conf.seed, 1);
	assert_int_equal(conf.jobs, 64);
	assert_int_equal(conf.slots, 16384);
	assert_int_equal(conf.memory, 64 << 20);
	assert_int_equal(conf.mtu, 1500);
	assert_int_equal(conf.log_level, LOG_WARN);
	assert_int_equal(conf.ready_fd, -1);
	assert_int_equal(conf.ctl_fd, -1);
	assert_false(conf.loose_ports || conf.spin || conf.huge || conf.help || conf.version);
	assert_null(conf.add);
	assert_null(conf.pcap_dir);
	assert_int_equal(conf.pcap_format, CAPFILE_PCAP);
	assert_null(conf.totals);
	assert_null(conf.file_prefix);
	assert_null(conf.ctl);
	assert_true(conf.loss == 0 && conf.dup == 0 && conf.reorder == 0);
}

static void conf_parse__every_option(void **state)
{
	static const uint8_t mac[6] = { 0x02, 0xaB, 0, 0x10, 0x7f, 0xfe };

	(void)state;
	assert_int_equal(
		parse("--interface=7@veth1 -i8@udp:127.0.0.1 --ip 10.1.2.254 --mac 02:aB:00:10:7f:fe "
		      "--mtu 9000 --loose-ports --jobs 3 --slots=100"),
		0);
	assert_int_equal(conf.nr_ports, 2);
	assert_int_equal(conf.ports[0].number, 7);
	assert_int_equal(conf.ports[1].number, 8);
	assert_int_equal(conf.ports[0].mtu, 9000);
	assert_int_equal(conf.ip, 0x0a0102fe);
	assert_memory_equal(conf.mac, mac, 6);
	assert_true(conf.loose_ports);
	assert_int_equal(conf.jobs, 3);
	assert_int_equal(conf.slots, 100);
	assert_int_equal(
		parse(UDP
		      "--memory 3G --add scalar --poll spin --loss 1.5% --dup .25 --reorder 1 --seed 0x10 "
		      "--pcap d --pcap-format pcapng --totals t --log-level debug --ready-fd 0 --file-prefix p --huge --ctl ./c"),
		0);
	assert_true(conf.memory == UINT64_C(3) << 30);
	assert_string_equal(conf.add, "scalar");
	assert_true(conf.spin);
	assert_true(conf.loss == 0.015 && conf.dup == 0.25 && conf.reorder == 1);
	assert_int_equal(conf.seed, 16);
	assert_string_equal(conf.pcap_dir, "d");
	assert_int_equal(conf.pcap_format, CAPFILE_PCAPNG);
	assert_string_equal(conf.totals, "t");
	assert_int_equal(conf.log_level, LOG_DEBUG);
	assert_int_equal(conf.ready_fd, 0);
	assert_string_equal(conf.file_prefix, "p");
	assert_string_equal(conf.ctl, "./c");
	assert_true(conf.huge);
	assert_int_equal(parse(UDP "--ctl-fd 4 --ready-fd 3"), 0);
	assert_int_equal(conf.ctl_fd, 4);
	assert_int_equal(conf.ready_fd, 3);
	assert_int_equal(parse(UDP "--poll spin --poll adaptive --log-level none --memory 64k"), 0);
	assert_false(conf.spin);
	assert_int_equal(conf.log_level, LOG_NONE);
	assert_int_equal(conf.memory, 65536);
}

static void conf_parse__help_and_version_need_no_port(void **state)
{
	static const char *const lines[] = { "-h", "--help", "-V", "--version" };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(parse(lines[i]), 0);
		assert_int_equal(conf.help, i < 2);
		assert_int_equal(conf.version, i >= 2);
	}
}

static void conf_parse__mac_from_ip(void **state)
{
	static const uint8_t mac[6] = { 0x02, 0x74, 10, 0, 3, 254 };

	(void)state;
	assert_int_equal(parse("-i 1@veth1 --ip 10.0.3.254"), 0);
	assert_memory_equal(conf.mac, mac, 6);
}

static const struct {
	const char *line, *text;
} refusals[] = {
	{ "", "no port is given: use -i N@NETDEV" },
	{ "-i 1@veth1", "framed ports need --ip, the address that workers use as TALLY_SWITCH" },
	{ UDP "-i 2@vdev:net_ring0", "framed ports need --ip" },
	{ "--bogus", "unknown option \"--bogus\"" },
	{ UDP "stray", "\"stray\" is no option: a port is given by -i" },
	{ UDP "-", "unknown option \"-\"" },
	{ UDP "-x", "unknown option \"-x\"" },
	{ UDP "--i 2@udp:127.0.0.2", "unknown option \"--i\"" },
	{ UDP "--loss", "--loss needs a value: P" },
	{ UDP "--huge=1", "--huge takes no value, but has \"1\"" },
	{ "-i veth1", "--interface veth1: a port is written NUMBER@DEVICE" },
	{ "-i 256@veth1", "--interface 256@veth1: \"256\" is no port number (0 to 255)" },
	{ UDP "-i 1@veth1", "port number 1 is given twice" },
	{ UDP "-i 2@udp:127.0.0.1:48880", "port 1 has this device already" },
	{ "-i 1@veth1 -i 2@veth1 --ip 10.0.0.254", "port 1 has this device already" },
	{ UDP "--ip 10.0.0", "--ip 10.0.0: must be one IPv4 address" },
	{ UDP "--ip 0.0.0.0", "must be one IPv4 address" },
	{ UDP "--ip 224.0.0.1", "must be one IPv4 address" },
	{ UDP "--ip 255.255.255.255", "must be one IPv4 address" },
	{ UDP "--mac 02:00:00:00:00", "--mac 02:00:00:00:00: must be a MAC address" },
	{ UDP "--mac 02:00:00:00:00:0g", "must be a MAC address" },
	{ UDP "--mac 02:00:00:00:00:01:", "must be a MAC address" },
	{ UDP "--mac 01:00:00:00:00:01", "must be the address of one station" },
	{ UDP "--mtu 255", "--mtu 255: must be a number from 256 to 9216" },
	{ UDP "--mtu 9217", "must be a number from 256 to 9216" },
	{ UDP "--jobs 0", "--jobs 0: must be a number from 1 to 4096" },
	{ UDP "--jobs 4097", "must be a number from 1 to 4096" },
	{ UDP "--jobs 1x", "must be a number" },
	{ UDP "--jobs -1", "must be a number" },
	{ UDP "--slots 32", "--slots 32: must be a number from 33 to" },
	{ UDP "--slots 99999999999999999999", "must be a number" },
	{ UDP "--memory 1K", "--memory 1K: must be a size from 64K to 1024G" },
	{ UDP "--memory 64MB", "must be a size" },
	{ UDP "--memory M", "must be a size" },
	{ UDP "--memory 1025G", "must be a size" },
	{ UDP "--memory 99999999999999999999999G", "must be a size" },
	{ UDP "--add sse", "--add sse: is no arithmetic that this CPU runs" },
	{ UDP "--poll hard", "--poll hard: must be adaptive or spin" },
	{ UDP "--loss 1.1", "--loss 1.1: must be a probability, as 0.01 or 1%" },
	{ UDP "--dup 101%", "--dup 101%: must be a probability" },
	{ UDP "--reorder -1%", "--reorder -1%: must be a probability" },
	{ UDP "--loss nan", "must be a probability" },
	{ UDP "--loss 1%%", "must be a probability" },
	{ UDP "--seed x", "--seed x: must be a number" },
	{ UDP "--pcap=", "--pcap : must not be empty" },
	{ UDP "--pcap-format text", "--pcap-format text: must be pcap or pcapng" },
	{ UDP "--totals=", "must not be empty" },
	{ UDP "--file-prefix=", "must not be empty" },
	{ UDP "--log-level trace", "--log-level trace: must be none, warn, info or debug" },
	{ UDP "--ctl=", "must be a path with a slash, a name of at most 47" },
	{ UDP "--ctl .a", "--ctl .a: must be a path with a slash" },
	{ UDP "--ctl @tally-0/a", "--ctl @tally-0/a: must be a path with a slash" },
	{ UDP "--ctl-fd x", "--ctl-fd x: must be the number of an open file descriptor" },
	{ UDP "--ctl-fd 4 --ctl none", "--ctl-fd: --ctl is given, too: give one of the two" },
	{ UDP "--ready-fd -1", "--ready-fd -1: must be the number of an open file descriptor" },
	{ UDP "--impair 1", "--impair 1: must be PORT:KEY=VALUE" },
	{ UDP "--impair x:loss=1%", "\"x\" is no port number" },
	{ UDP "--impair 256:loss=1%", "\"256\" is no port number" },
	{ UDP "--impair 1:loss", "\"loss\" is not KEY=VALUE" },
	{ UDP "--impair 1:loss=2", "loss must be a probability, as 0.01 or 1%, not \"2\"" },
	{ UDP "--impair 1:late=2",
	  "--impair 1:late=2: unknown key \"late\" (known: loss, burst, dup" },
	{ UDP "--impair 1:delay=2", "delay must be a time up to 60s, as 500us or 2ms, not \"2\"" },
	{ UDP "--impair 1:loss=1%,,dir=in", "KEY=VALUE is missing before or after a comma" },
	{ UDP "--impair 1:dir=up", "dir must be in, out or both, not \"up\"" },
	{ UDP "--impair 2:loss=1%", "--impair: there is no port 2" },
};

static void conf_parse__refusals(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		assert_int_equal(parse(refusals[i].line), -1);
		if (!strstr(err.text, refusals[i].text))
			fail_msg("%s: \"%s\" lacks \"%s\"", refusals[i].line, err.text,
				 refusals[i].text);
		assert_null(strchr(err.text, '\n'));
	}
}

static void conf_parse__as_many_ports_as_numbers(void **state)
{
	static char text[PORT_MAX + 1][32];
	static char *argv[2 * PORT_MAX + 4];
	int argc = 0;

	(void)state;
	argv[argc++] = text[PORT_MAX];
	for (unsigned i = 0; i < PORT_MAX; i++) {
		snprintf(text[i], sizeof(text[i]), "-i%u@udp:127.0.1.%u", i, i);
		argv[argc++] = text[i];
	}
	assert_int_equal(conf_parse(&conf, argc, argv, &err), 0);
	assert_int_equal(conf.nr_ports, PORT_MAX);
	strcpy(text[PORT_MAX], "-i9@udp:127.0.2.1");
	argv[argc++] = text[PORT_MAX];
	assert_int_equal(conf_parse(&conf, argc, argv, &err), -1);
	assert_non_null(strstr(err.text, "there are 256 ports already"));
}

static void conf_faults__global_then_per_port(void **state)
{
	struct impair_params in, out, other;

	(void)state;
	assert_int_equal(
		parse(UDP
		      "-i 3@udp:127.0.0.2 --impair 3:loss=50%,dir=in --loss 1% --dup 2% --impair "
		      "3:reorder=.5,dup=0 --seed 9"),
		0);
	conf_faults(&conf, 3, false, &in);
	conf_faults(&conf, 3, true, &out);
	conf_faults(&conf, 1, true, &other);
	assert_true(in.loss == 0.5 && in.dup == 0 && in.reorder == 0.5);
	assert_true(out.loss == 0.01 && out.dup == 0 && out.reorder == 0.5);
	assert_true(other.loss == 0.01 && other.dup == 0.02 && other.reorder == 0);
	assert_true(in.seed != out.seed && out.seed != other.seed && in.seed != other.seed);
}

static void conf_has_framed__cases(void **state)
{
	(void)state;
	assert_int_equal(parse(UDP), 0);
	assert_false(conf_has_framed(&conf));
	assert_int_equal(parse(UDP "-i 2@pcap:a,b --ip 10.0.0.254"), 0);
	assert_true(conf_has_framed(&conf));
}

static void conf_help__names_every_option(void **state)
{
	static const char *const names[] = {
		"-i, --interface N@DEVICE",
		"--ip ADDR",
		"--mac MAC",
		"--mtu BYTES",
		"--loose-ports",
		"--jobs N",
		"--slots N",
		"--memory SIZE",
		"--add NAME",
		"--poll HOW",
		"--loss P",
		"--dup P",
		"--reorder P",
		"--impair N:",
		"--seed N",
		"--pcap DIR",
		"--pcap-format FORMAT",
		"--totals FILE",
		"--ctl NAME",
		"--ctl-fd FD",
		"--log-level LEVEL",
		"--ready-fd FD",
		"--file-prefix NAME",
		"--huge",
		"-h, --help",
		"--version",
		"N@udp:IP[:PORT]",
		"N@memif:SOCKET",
		"N@pcap:IN,OUT",
		"N@vdev:",
		"N@0000:3b:00.0",
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	conf_help(out);
	assert_int_equal(fclose(out), 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strstr(text, names[i]))
			fail_msg("--help lacks \"%s\"", names[i]);
	free(text);
}

static void conf_parse__parent(void **state)
{
	static const struct {
		const char *line, *want;
	} bad[] = {
		{ UDP "--parent 10.0.0",
		  "--parent 10.0.0: must be [N@]IP[:PORT], as 10.0.0.254, " },
		{ UDP "--parent 10.0.0.1:", "--parent 10.0.0.1:: must be [N@]IP[:PORT]" },
		{ UDP "--parent 10.0.0.1:65536", "must be [N@]IP[:PORT]" },
		{ UDP "--parent 224.0.0.1", "must be [N@]IP[:PORT]" },
		{ UDP "--parent 100.100.100.100.100:1", "must be [N@]IP[:PORT]" },
		{ UDP "--parent 127.0.0.1", "--parent: this is the switch's own address" },
		{ "-i 1@v1 --ip 10.0.0.9 --parent 10.0.0.9:48880", "the switch's own address" },
		{ "-i 1@v1 --ip 10.0.0.9 --parent 2@10.0.0.8", "there is no framed port 2" },
		{ UDP "--parent 1@10.0.0.8", "--parent 1@...: there is no framed port 1" },
		{ "-i 1@v1 --ip 10.0.0.9 --parent 256@10.0.0.8", "must be [N@]IP[:PORT]" },
		{ "-i 1@v1 --ip 10.0.0.9 --parent @10.0.0.8", "must be [N@]IP[:PORT]" },
		{ "-i 1@v1 --ip 10.0.0.9 --parent 1001@10.0.0.8", "must be [N@]IP[:PORT]" },
	};

	(void)state;
	assert_int_equal(parse(UDP), 0);
	assert_int_equal(conf.parent_ip, 0);
	assert_int_equal(parse(UDP "--parent 10.2.3.4"), 0);
	assert_int_equal(conf.parent_ip, 0x0a020304);
	assert_int_equal(conf.parent_port, 48880);
	assert_int_equal(parse(UDP "--parent=127.0.0.1:777"), 0);
	assert_int_equal(conf.parent_ip, 0x7f000001);
	assert_int_equal(conf.parent_port, 777);
	assert_int_equal(conf.parent_number, -1);
	assert_int_equal(parse("-i 1@v1 -i 9@v9 --ip 10.0.0.9 --parent 9@10.0.0.8:49000"), 0);
	assert_int_equal(conf.parent_number, 9);
	assert_int_equal(conf.parent_ip, 0x0a000008);
	assert_int_equal(conf.parent_port, 49000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].line), -1);
		if (!strstr(err.text, bad[i].want))
			fail_msg("%s: expected '%s' in '%s'", bad[i].line, bad[i].want, err.text);
	}
}

/* What a port reads, by whatever name. */
static void conf_parse__files_that_are_read(void **state)
{
	static const struct {
		const char *out; /* dir for %s */
		const char *option;
	} cases[] = {
		{ "-i 1@pcap:%1$s/port3_in.pcap,%1$s/link", "-i: " },
		{ "-i 1@pcap:%1$s/port3_in.pcap,%1$s/o -i 2@pcap:%1$s/link,%1$s/port3_in.pcap",
		  "-i: " },
		{ "-i 1@pcap:%1$s/port3_in.pcap,%1$s/o --totals %1$s/link", "--totals: " },
		{ "-i 3@pcap:%1$s/link,%1$s/o --pcap %1$s", "--pcap: " },
	};
	char dir[] = "/tmp/tally-conf.XXXXXX", line[512], in[64], link[64];
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(in, sizeof(in), "%s/port3_in.pcap", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	file = fopen(in, "we");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(symlink(in, link), 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), cases[i].out, dir);
		strcat(line, " --ip 10.0.0.254");
		assert_int_equal(parse(line), -1);
		if (strncmp(err.text, cases[i].option, strlen(cases[i].option)) != 0 ||
		    !strstr(err.text, ": would overwrite "))
			fail_msg("%s: \"%s\"", line, err.text);
	}
	snprintf(line, sizeof(line), "-i 1@pcap:%s,%s/o --ip 10.0.0.254 --pcap %s", in, dir, dir);
	assert_int_equal(parse(line), 0);
	unlink(link);
	unlink(in);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conf_parse__defaults),
		cmocka_unit_test(conf_parse__parent),
		cmocka_unit_test(conf_parse__every_option),
		cmocka_unit_test(conf_parse__help_and_version_need_no_port),
		cmocka_unit_test(conf_parse__mac_from_ip),
		cmocka_unit_test(conf_parse__refusals),
		cmocka_unit_test(conf_parse__as_many_ports_as_numbers),
		cmocka_unit_test(conf_faults__global_then_per_port),
		cmocka_unit_test(conf_has_framed__cases),
		cmocka_unit_test(conf_help__names_every_option),
		cmocka_unit_test(conf_parse__files_that_are_read),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
