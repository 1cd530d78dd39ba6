// SPDX-License-Identifier: BSD-3-Clause
// replay_setup_test.c - how a captured switch was: its switch.txt, right and wrong.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/replay.h"

#define TITLE "tally-switch capture 1\n"
#define PORT "port 3 framed mtu 1400 checksums some device eth0\n"

static char dir[64];
static struct replay_setup setup;
static struct port_error err;

static void file_write(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int dir_make(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tally-setup.XXXXXX");
	assert_non_null(mkdtemp(dir));
	file_write("port3_in.pcap", "");
	file_write("port3_out.pcap.partial", "");
	file_write("port4_in.pcap", "");
	assert_int_equal(replay_setup_init(&setup), 0);
	return 0;
}

static int dir_remove(void **state)
{
	static const char *const names[] = { "port3_in.pcap", "port3_out.pcap.partial",
					     "port4_in.pcap", "switch.txt" };
	char path[128];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
	replay_setup_free(&setup);
	return 0;
}

static void setup__all(void **state)
{
	const struct replay_port *port = setup.ports;
	char text[REPLAY_TEXT];

	(void)state;
	assert_false(replay_setup_has(dir));
	file_write(
		"switch.txt", TITLE
		"version 9.9\nsuffix .pcap\njobs 5\nslots 77\nmemory 123456\nchunk 256\n"
		"chunk-check 128\nstrict-ports 1\nip 10.1.2.3\nmac 02:74:0a:01:02:0f\n"
		"parent 10.1.2.9:4711 from 4712 port 4\nclock virtual\nincarnation 00c0ffee12345678\n" PORT
		"port 4 socket 10.1.2.3:4713 device udp:10.1.2.3\n"
		"at 17 ask\nat 18 reset 99 a name\nat 19 drain on\nat 20 drain off\n"
		"at 21 impair 3:corrupt=1%\nat 22 end\n");
	assert_true(replay_setup_has(dir));
	assert_int_equal(replay_setup_read(&setup, dir, &err), 0);
	assert_true(setup.journal && setup.ended && setup.pipe.leaf && setup.pipe.strict_ports);
	assert_int_equal(setup.pipe.jobs_max, 5);
	assert_int_equal(setup.pipe.slots_max, 77);
	assert_int_equal(setup.pipe.values_bytes, 123456);
	assert_int_equal(setup.pipe.p_max, 256);
	assert_int_equal(setup.pipe.p_check, 128);
	assert_int_equal(setup.ip, 0x0a010203);
	assert_int_equal(setup.mac[5], 15);
	assert_int_equal(setup.parent.ip, 0x0a010209);
	assert_int_equal(setup.parent.udp_port, 4711);
	assert_int_equal(setup.pipe.parent_from, 4712);
	assert_int_equal(setup.parent.port, 1);
	assert_true(setup.virtual_time);
	replay_comment(&setup, "this", text);
	assert_string_equal(text, "this; stamps are virtual time");
	assert_int_equal(setup.pipe.inc, UINT64_C(0x00c0ffee12345678));
	assert_int_equal(setup.nr_ports, 2);
	assert_true(port[0].framed && port[0].number == 3 && port[0].mtu == 1400);
	assert_int_equal(port[0].checks, REPLAY_CHECKS_SOME);
	assert_non_null(strstr(port[0].in, "/port3_in.pcap"));
	assert_non_null(strstr(port[0].out, "/port3_out.pcap.partial"));
	assert_true(!port[1].framed && port[1].ip == 0x0a010203 && port[1].udp_port == 4713);
	assert_string_equal(port[1].out, "");
	assert_int_equal(setup.nr_events, 6);
	assert_int_equal(setup.events[1].what, REPLAY_RESET);
	assert_int_equal(setup.events[1].epoch, 99);
	assert_string_equal(setup.events[1].name, "a name");
	assert_true(setup.events[2].on && !setup.events[3].on);
	assert_int_equal(setup.events[4].what, REPLAY_SPOIL);
	assert_int_equal(setup.events[4].port, 0);
	assert_int_equal(setup.events[5].ns, 22);
}

static void setup__killed(void **state)
{
	(void)state;
	/* The last line was not finished. */
	file_write("switch.txt", TITLE "parent 1.2.3.4 from 7\n" PORT "at 17 ask\nat 1");
	assert_int_equal(replay_setup_read(&setup, dir, &err), 0);
	assert_false(setup.ended || setup.virtual_time);
	assert_int_equal(setup.parent.port, 0);
	assert_int_equal(setup.nr_events, 1);
}

static void setup__refuses(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", ":0: names no port" },
		{ "hello\n", ":1: is not what a switch writes" },
		{ TITLE, ":1: names no port" },
		{ TITLE "jobs x\n", ":2: expected a number from 1 to 4096, not 'x'" },
		{ TITLE "jobs 0\n", ":2: expected a number from 1 to 4096, not '0'" },
		{ TITLE "jobs 70000\n", ":2: expected a number from 1 to 4096, not '70000'" },
		{ TITLE "jobs 5\njobs 6\n",
		  ":3: expected each key but port and at once, not 'jobs'" },
		{ TITLE "slots 32\n", ":2: expected a number from 33 to 4194304, not '32'" },
		{ TITLE "memory 1\n", ":2: expected a number from 65536 to 1099511627776" },
		{ TITLE "chunk 127\n", ":2: expected a number from 128 to 8832" },
		{ TITLE "chunk-check 9000\n", ":2: expected a number from 128 to 8832" },
		{ TITLE "strict-ports 2\n", ":2: expected a number from 0 to 1, not '2'" },
		{ TITLE "clock real\n", ":2: expected virtual, not 'real'" },
		{ TITLE "incarnation 12g\n", ":2: expected a hexadecimal number" },
		{ TITLE "incarnation 12345678901234567\n", ":2: expected a hexadecimal number" },
		{ TITLE "mac 02:00:00:00:00:01x\n", ":2: expected a MAC address, not '02:" },
		{ TITLE "later unknown\n", ":2: expected version, jobs, slots" },
		{ TITLE "later unknown\n", "port or at, not 'later'" },
		{ TITLE "parent 1.2.3.4 from 7 port 4 more\n", ":2: expected IP:PORT from PORT" },
		{ TITLE "parent 1.2.3.4 from 7 port 256\n", ":2: expected IP:PORT from PORT" },
		{ TITLE "nonsense\n", ":2: expected a key and a value" },
		{ TITLE "mac 1:2\n", ":2: expected a MAC address" },
		{ TITLE "ip 1.2.3\n", ":2: expected an IPv4 address" },
		{ TITLE "parent 1.2.3.4\n", ":2: expected IP:PORT from PORT" },
		{ TITLE "parent 1.2.3.4 from 7 port 4\n" PORT, "has no port 4, which leads to" },
		{ TITLE "suffix .txt\n", ":2: expected .pcap or .pcapng" },
		{ TITLE "port 3 hollow\n", ":2: expected NUMBER (0 to 255)" },
		{ TITLE "port 300 framed mtu 1500 checksums no device e\n",
		  ":2: expected NUMBER (0 to 255)" },
		{ TITLE "port 3 framed mtu 70000 checksums no device e\n",
		  ":2: expected NUMBER (0 to 255) framed mtu BYTES (256 to 65535)" },
		{ TITLE "port 3 framed mtu 255 checksums no device e\n", ":2: expected NUMBER" },
		{ TITLE "port 3 framed mtu 1500 checksums maybe device e\n", "not '3 framed" },
		{ TITLE PORT PORT, ":3: expected each port once, not '3 framed" },
		{ TITLE "port 8 framed mtu 1500 checksums no device e\n",
		  "port8_in.pcap is missing" },
		{ TITLE PORT "at noon ask\n", ":3: expected a time" },
		{ TITLE PORT "at -5 ask\n", ":3: expected a time" },
		{ TITLE PORT "at 5\n", ":3: expected a time" },
		{ TITLE PORT "at 5 dance\n", ":3: expected ask, reset" },
		{ TITLE PORT "at 5 drain perhaps\n", ", or end, not 'drain perhaps'" },
		{ TITLE PORT "at 5 reset 7\n", ":3: expected ask, reset" },
		{ TITLE PORT "at 5 impair 4:loss=1%\n", ":3: expected ask, reset" },
		{ TITLE PORT "at 5 impair 3:loss=200%\n", ":3: expected ask, reset" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		replay_setup_free(&setup);
		assert_int_equal(replay_setup_init(&setup), 0);
		file_write("switch.txt", cases[i].text);
		assert_int_equal(replay_setup_read(&setup, dir, &err), -1);
		if (!strstr(err.text, cases[i].want))
			fail_msg("\"%s\" lacks \"%s\"", err.text, cases[i].want);
	}
}

/* A key and a value that are not what any switch writes. */
static void setup__long_line(void **state)
{
	char text[4096] = TITLE "version ";
	const size_t len = strlen(text);

	(void)state;
	memset(text + len, '7', 3000);
	strcpy(text + len + 3000, "\n" PORT);
	file_write("switch.txt", text);
	assert_int_equal(replay_setup_read(&setup, dir, &err), -1);
	assert_non_null(strstr(err.text, ":2: expected lines of up to 2046 bytes"));
	text[len + 3000] = '\0'; /* nor one that its writer was killed in */
	file_write("switch.txt", text);
	assert_int_equal(replay_setup_read(&setup, dir, &err), -1);
	assert_non_null(strstr(err.text, ":2: expected lines of up to 2046 bytes"));
}

static void address__forms(void **state)
{
	uint32_t ip = 0;
	uint16_t port = 7;

	(void)state;
	assert_int_equal(replay_address_parse("10.0.0.7", &ip, &port), 0);
	assert_int_equal(ip, 0x0a000007);
	assert_int_equal(port, 7);
	assert_int_equal(replay_address_parse("10.0.0.8:99", &ip, &port), 0);
	assert_int_equal(port, 99);
	assert_int_equal(replay_address_parse("10.0.0.8:99", &ip, NULL), -1);
	assert_int_equal(replay_address_parse("10.0.0.8:0", &ip, &port), -1);
	assert_int_equal(replay_address_parse("10.0.0.8:99x", &ip, &port), -1);
	assert_int_equal(replay_address_parse("0.0.0.0", &ip, &port), -1);
	assert_int_equal(replay_address_parse("host", &ip, &port), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(setup__all),
		TEST(setup__killed),
		TEST(setup__refuses),
		TEST(setup__long_line),
		cmocka_unit_test(address__forms),
	};

	return cmocka_run_group_tests_name("replay_setup", tests, NULL, NULL);
}
