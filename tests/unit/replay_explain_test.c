// SPDX-License-Identifier: BSD-3-Clause
// replay_explain_test.c - the first field in which two frames differ, by its name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "switch/replay.h"

enum { ROOM = 512, NR = 32 };

static uint8_t a[ROOM], b[ROOM];
static uint32_t len;
static char text[REPLAY_TEXT];

static void frame_seal(uint32_t payload)
{
	const struct frame_udp udp = { .dst = { 2, 0, 0, 0, 0, 7 },
				       .src = { 2, 0, 0, 0, 0, 9 },
				       .ip_src = 0x0a0000fe,
				       .ip_dst = 0x0a000003,
				       .port_src = WIRE_PORT,
				       .port_dst = 40001 };

	len = (uint32_t)frame_udp_build(a, &udp, payload);
	memcpy(b, a, sizeof(b));
}

static void result_make(uint8_t kind)
{
	const struct wire_msg msg = { .type = WIRE_RESULT,
				      .kind = kind,
				      .job = 7,
				      .epoch = 1234567890123,
				      .slot = 33,
				      .round = 5,
				      .desc = 0xabcd,
				      .wid = WIRE_WID_NONE,
				      .len = 4 * NR };

	wire_build(a + FRAME_HEADERS, &msg);
	for (unsigned i = 0; i < 4 * NR; i++)
		a[FRAME_HEADERS + WIRE_HEADER + i] = (uint8_t)(i * 29 + 3);
	frame_seal(WIRE_HEADER + 4 * NR);
}

static void status_make(void)
{
	const struct wire_msg msg = { .type = WIRE_STATUS, .job = 7, .epoch = 99, .wid = 2 };
	const struct wire_status status = { .state = WIRE_RUNNING,
					    .cause = WIRE_CAUSE_LEFT,
					    .inc = 0x1234,
					    .p = 128,
					    .slots = 4,
					    .se = WIRE_SE,
					    .world = 4,
					    .shards = 1,
					    .joined = 0x0f,
					    .missing = 0x05 };

	wire_status_build(a + FRAME_HEADERS, &msg, &status, WIRE_BODY);
	frame_seal(WIRE_HEADER + WIRE_BODY);
}

static void explain(uint32_t len_b)
{
	const struct replay_packet expected = { .data = a, .len = len, .whole = len };
	const struct replay_sent sent = { .data = b, .len = len_b };

	replay_explain(&expected, &sent, text);
}

/* One byte of what was sent is another one. */
static void changed(unsigned at, uint8_t to, const char *want)
{
	const uint8_t was = b[at];

	b[at] = to;
	explain(len);
	b[at] = was;
	assert_string_equal(text, want);
}

static void explain__headers(void **state)
{
	(void)state;
	result_make(WIRE_ADD32);
	changed(5, 8, "Ethernet destination: expected 02:00:00:00:00:07, sent 02:00:00:00:00:08");
	changed(33, 4, "IPv4 destination: expected 10.0.0.3, sent 10.0.0.4");
	changed(37, 0x42, "UDP destination port: expected 40001, sent 40002");
	changed(42, 0x11, "message type: expected RESULT, sent DATA");
	changed(45, 9, "job handle: expected 7, sent 9");
	changed(53, 34, "slot: expected 33, sent 34");
	changed(57, 6, "round: expected 5, sent 6");
}

static void explain__values(void **state)
{
	const unsigned body = FRAME_HEADERS + WIRE_HEADER;

	(void)state;
	result_make(WIRE_ADD32);
	memset(a + body + 12, 0, 4);
	memset(b + body + 12, 0, 4);
	b[body + 15] = 7;
	explain(len);
	assert_string_equal(text, "value 3 of 32: expected 0, sent 7 (1 value differs)");
	memset(b + body + 12, 0xff, 4);
	b[body + 20] ^= 1;
	explain(len);
	assert_string_equal(text, "value 3 of 32: expected 0, sent -1 (2 values differ)");
	result_make(WIRE_MAX8);
	changed(body + 9, 250, "value 9 of 128: expected 8, sent 250 (1 value differs)");
	result_make(WIRE_ADD16);
	a[body + 10] = a[body + 11] = b[body + 10] = 0;
	b[body + 11] = 1;
	explain(len);
	assert_string_equal(text, "value 5 of 64: expected 0, sent 1 (1 value differs)");
}

static void explain__status(void **state)
{
	const unsigned body = FRAME_HEADERS + WIRE_HEADER;

	(void)state;
	status_make();
	changed(body + WIRE_STATUS_STATE, WIRE_FORMING, "state: expected RUNNING, sent FORMING");
	changed(body + WIRE_STATUS_CAUSE, WIRE_CAUSE_GONE,
		"cause: expected 4 (a rank left), sent 12 (a rank's process is gone)");
	changed(body + WIRE_STATUS_MISSING + 7, 0x07, "missing ranks: expected 0, 2, sent 0-2");
	changed(body + WIRE_STATUS_INC + 7, 0x35,
		"incarnation: expected 0000000000001234, sent 0000000000001235");
}

static void explain__length_and_bytes(void **state)
{
	(void)state;
	result_make(WIRE_ADD32);
	a[40] = 0x12;
	a[41] = 0x34;
	memcpy(b, a, sizeof(b));
	b[41] = 0x35;
	explain(len);
	assert_string_equal(text, "UDP checksum: expected 1234, sent 1235");
	memcpy(b, a, sizeof(b));
	explain(len - 4);
	assert_string_equal(text, "length: expected 192 bytes, sent 188");
	memset(a, 0x88, 60);
	memcpy(b, a, sizeof(b));
	len = 60;
	changed(50, 0x89, "byte 50: expected 88, sent 89");
}

static void describe__kinds(void **state)
{
	uint8_t arp[FRAME_MIN];
	const uint8_t mac[FRAME_MAC] = { 2, 0, 0, 0, 0, 1 };

	(void)state;
	result_make(WIRE_ADD32);
	replay_describe(a, len, text);
	assert_string_equal(text, "10.0.0.254:48880 > 10.0.0.3:40001 RESULT ADD32 job 7 epoch "
				  "1234567890123 slot 33 round 5 desc 0000abcd len 128");
	status_make();
	replay_describe(a, len, text);
	assert_non_null(strstr(text, " wid 2 len 160 RUNNING, cause: a rank left"));
	replay_describe(arp, (uint32_t)frame_arp_request(arp, mac, 0x0a000001, 0x0a000002), text);
	assert_string_equal(text, "10.0.0.1 > 10.0.0.2 ARP request");
	memset(a, 0, 20);
	replay_describe(a, 5, text);
	assert_string_equal(text, "5 bytes");
	replay_describe(a, 20, text);
	assert_string_equal(text, "frame of type 0000, 20 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explain__headers), cmocka_unit_test(explain__values),
		cmocka_unit_test(explain__status),  cmocka_unit_test(explain__length_and_bytes),
		cmocka_unit_test(describe__kinds),
	};

	return cmocka_run_group_tests_name("replay_explain", tests, NULL, NULL);
}
