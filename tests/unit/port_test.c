// SPDX-License-Identifier: BSD-3-Clause
/* port_test.c - the forms of a port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire.h"
#include "switch/io/port.h"

static struct port_spec spec;
static struct port_error err;

static void good(const char *text, enum port_form form, const char *dev, const char *args)
{
	memset(&spec, 0xa5, sizeof(spec));
	if (port_spec_parse(&spec, text, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(spec.form, form);
	assert_string_equal(spec.text, strchr(text, '@') + 1);
	assert_string_equal(spec.dev, dev);
	assert_string_equal(spec.args, args);
}

static void port_spec_parse__forms(void **state)
{
	(void)state;
	good("0@veth1", PORT_NETDEV, "veth1", "");
	assert_int_equal(spec.number, 0);
	good("255@fifteen-letters", PORT_NETDEV, "fifteen-letters", "");
	assert_int_equal(spec.number, 255);
	good("1@memif:/run/a.sock", PORT_MEMIF, "/run/a.sock", "");
	good("1@pcap:in.pcap,/tmp/out.pcap", PORT_PCAP, "in.pcap", "/tmp/out.pcap");
	good("1@vdev:net_ring0", PORT_VDEV, "net_ring0", "");
	good("1@vdev:net_memif3,role=client,id=0", PORT_VDEV, "net_memif3", "role=client,id=0");
	good("1@0000:3b:00.0", PORT_PCI, "0000:3b:00.0", "");
	good("1@3b:00.1", PORT_PCI, "0000:3b:00.1", "");
}

static void port_spec_parse__udp(void **state)
{
	(void)state;
	good("1@udp:127.0.0.1", PORT_UDP, "", "");
	assert_int_equal(spec.ip, 0x7f000001);
	assert_int_equal(spec.udp_port, WIRE_PORT);
	assert_false(spec.no_gso);
	good("1@udp:10.1.2.3:65535", PORT_UDP, "", "");
	assert_int_equal(spec.ip, 0x0a010203);
	assert_int_equal(spec.udp_port, 65535);
	good("1@udp:10.1.2.3:1,gso=off", PORT_UDP, "", "");
	assert_int_equal(spec.udp_port, 1);
	assert_true(spec.no_gso);
	good("1@udp:10.1.2.3,gso=on", PORT_UDP, "", "");
	assert_false(spec.no_gso);
}

static void port_spec_parse__refusals(void **state)
{
	static const struct {
		const char *spec, *text;
	} cases[] = {
		{ "veth1", "NUMBER@DEVICE: N@NETDEV, N@udp:" },
		{ "@veth1", "\"\" is no port number (0 to 255)" },
		{ "256@veth1", "\"256\" is no port number" },
		{ "-1@veth1", "\"-1\" is no port number" },
		{ "1x@veth1", "\"1x\" is no port number" },
		{ "000001@veth1", "is no port number" },
		{ "1@", "\"\" is no form of port" },
		{ "1@foo:bar", "\"foo:bar\" is no form of port; use N@NETDEV" },
		{ "1@a/b", "is no form of port" },
		{ "1@0000:3b:00", "is no form of port" },
		{ "1@0000:3b:00.0x", "is no form of port" },
		{ "1@sixteen--letters", "these have at most 15 bytes" },
		{ "1@udp:", "\"\" is no IPv4 address" },
		{ "1@udp:localhost", "\"localhost\" is no IPv4 address" },
		{ "1@udp:1.2.3.4.5.6.7.8.9.10", "is no IPv4 address" },
		{ "1@udp:0.0.0.0", "binds one specific address, not 0.0.0.0" },
		{ "1@udp:127.0.0.1:", "\"\" is no UDP port (1 to 65535)" },
		{ "1@udp:127.0.0.1:0", "\"0\" is no UDP port" },
		{ "1@udp:127.0.0.1:65536", "\"65536\" is no UDP port" },
		{ "1@udp:127.0.0.1:7,gro=1", "unknown setting \"gro=1\"" },
		{ "1@memif:", "the path of the memif socket is missing" },
		{ "1@pcap:", "the capture to read is missing" },
		{ "1@pcap:in", "needs two files, pcap:IN,OUT" },
		{ "1@pcap:in,", "needs two files" },
		{ "1@pcap:in,out,more", "needs two files" },
		{ "1@vdev:", "the name of the driver is missing" },
		{ "1@vdev:net_memif-a-name-that-goes-on-and-on-and-on-and-on-and-on-for-ever",
		  "longer than 63 bytes" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(port_spec_parse(&spec, cases[i].spec, &err), -1);
		if (!strstr(err.text, cases[i].text))
			fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].spec, err.text, cases[i].text);
	}
}

static void port_spec_parse__lengths(void **state)
{
	char text[PORT_TEXT + 16] = "1@memif:";

	(void)state;
	memset(text + 8, 'a', 107);
	assert_int_equal(port_spec_parse(&spec, text, &err), 0);
	text[8 + 107] = 'a';
	assert_int_equal(port_spec_parse(&spec, text, &err), -1);
	assert_non_null(strstr(err.text, "longer than 107 bytes"));
	memset(text + 8, 'a', PORT_TEXT - 6);
	assert_int_equal(port_spec_parse(&spec, text, &err), -1);
	assert_non_null(strstr(err.text, "the device is longer than 511 bytes"));
}

static void port_spec_same__cases(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "1@veth1", "2@veth1", true },
		{ "1@veth1", "2@veth2", false },
		{ "1@udp:127.0.0.1", "2@udp:127.0.0.1:48880,gso=off", true },
		{ "1@udp:127.0.0.1", "2@udp:127.0.0.2", false },
		{ "1@udp:127.0.0.1", "2@udp:127.0.0.1:48881", false },
		{ "1@memif:veth1", "2@veth1", false },
		{ "1@vdev:net_ring0", "2@vdev:net_ring0,x=1", true },
		{ "1@3b:00.0", "2@0000:3b:00.0", true },
	};
	struct port_spec other;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(port_spec_parse(&spec, cases[i].a, &err), 0);
		assert_int_equal(port_spec_parse(&other, cases[i].b, &err), 0);
		assert_int_equal(port_spec_same(&spec, &other), cases[i].same);
	}
}

static void port_refuse__names_the_port(void **state)
{
	struct port port = { .spec = { .number = 3, .text = "veth1" } };

	(void)state;
	assert_int_equal(port_refuse(&port, &err, "is %s", "down"), -1);
	assert_string_equal(err.text, "port 3 (veth1): is down");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_spec_parse__forms),
		cmocka_unit_test(port_spec_parse__udp),
		cmocka_unit_test(port_spec_parse__refusals),
		cmocka_unit_test(port_spec_parse__lengths),
		cmocka_unit_test(port_spec_same__cases),
		cmocka_unit_test(port_refuse__names_the_port),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
