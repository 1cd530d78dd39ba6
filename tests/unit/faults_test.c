// SPDX-License-Identifier: BSD-3-Clause
// Faults on purpose as people write them: what is read, what is refused and why, and the same text back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "switch/faults.h"
#include "switch/lcore.h"

static struct lcore lcore;
static struct lcore_port ports[2];
static struct port_error err;

static int rig_open(void **state)
{
	(void)state;
	memset(&lcore, 0, sizeof(lcore));
	memset(ports, 0, sizeof(ports));
	ports[0].port.spec.number = 1;
	ports[1].port.spec.number = 255;
	lcore.ports = ports;
	lcore.nr_ports = 2;
	return 0;
}

static void apply(const char *text)
{
	if (faults_apply(&lcore, text, &err))
		fail_msg("%s: %s", text, err.text);
}

static void printed(unsigned index, bool out, const char *want)
{
	char text[FAULTS_TEXT];

	faults_print(&lcore, index, out, text, sizeof(text));
	assert_string_equal(text, want);
}

static void faults_apply__every_key(void **state)
{
	const struct impair_params *params = &ports[0].in.impair.params;

	(void)state;
	apply("1:loss=1%,burst=0.1%:10%:90%:0.5%,dup=.25,reorder=2.5%,distance=7,delay=2ms,jitter=500us,"
	      "rate=1.5Gbit,queue=64KB,corrupt=1e-3,corrupt-checked=0.2%,down=on");
	assert_true(params->loss == 0.01 && params->dup == 0.25 && params->reorder == 0.025);
	assert_true(params->burst_enter == 0.001 && params->burst_leave == 0.1);
	assert_true(params->burst_loss == 0.9 && params->burst_good == 0.005);
	assert_true(params->corrupt == 0.001 && params->corrupt_checked == 0.002);
	assert_int_equal(params->distance, 7);
	assert_int_equal(params->delay_ns, 2000000);
	assert_int_equal(params->jitter_ns, 500000);
	assert_int_equal(params->rate, 1500000000);
	assert_int_equal(params->queue, 65536);
	assert_true(params->queue_bytes && params->down);
	assert_memory_equal(params, &ports[0].out.impair.params, sizeof(*params));
	assert_true(ports[0].in.impair.active && !ports[1].in.impair.active);
}

static void faults_apply__others_stay(void **state)
{
	(void)state;
	apply("1:loss=1%,delay=2ms");
	apply("1:loss=5%,dir=in");
	apply("1:dir=out,dup=3%,delay=0");
	apply("255:queue=20,dir=both");
	printed(0, false, "1:loss=5%,delay=2ms,dir=in");
	printed(0, true, "1:loss=1%,dup=3%,dir=out");
	printed(1, true, "255:queue=20,dir=out");
	/* Off, by what turned it on. */
	apply("1:loss=0,delay=0");
	printed(0, false, "1:loss=0,dir=in");
	assert_false(ports[0].in.impair.active);
	assert_true(ports[0].out.impair.active);
}

/* What it says can be said to it, and says the same then. */
static void faults_print__reads_back(void **state)
{
	static const char *const texts[] = {
		("1:loss=1%,burst=0.1%:10%:100%:0%,dup=12.345%,reorder=2%,distance=1000,delay=1500us,"
		 "jitter=1ns,rate=10Gbit,queue=1024,corrupt=0.0001%,corrupt-checked=100%,down=on,dir=in"),
		"1:delay=60s,rate=1001bit,queue=64MB,dir=in",
		"1:queue=1500B,dir=in",
		"1:burst=100%:100%:0%:100%,dir=in",
		"1:loss=0,dir=in",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		rig_open(state);
		apply(texts[i]);
		printed(0, false, texts[i]);
		printed(0, true, "1:loss=0,dir=out");
	}
}

/* As in a topology file: with or without "bit". */
static void faults_apply__rates(void **state)
{
	(void)state;
	apply("1:rate=100M");
	printed(0, false, "1:rate=100Mbit,dir=in");
	apply("1:rate=1.5G");
	printed(0, false, "1:rate=1500Mbit,dir=in");
	apply("1:rate=1e1K");
	printed(0, false, "1:rate=10Kbit,dir=in");
	apply("1:rate=0");
	printed(0, false, "1:loss=0,dir=in");
}

static void faults_print__cut(void **state)
{
	char text[8] = "xxxxxxx";

	(void)state;
	apply("1:delay=2ms");
	faults_print(&lcore, 0, false, text, sizeof(text));
	assert_string_equal(text, "1:delay");
}

static void faults_apply__off_for_burst(void **state)
{
	(void)state;
	apply("1:burst=1%:10%");
	printed(0, false, "1:burst=1%:10%:100%:0%,dir=in");
	apply("1:burst=0");
	printed(0, false, "1:loss=0,dir=in");
}

struct refusal {
	const char *text, *why;
};

static const struct refusal refusals[] = {
	{ "", "must be PORT:KEY=VALUE" },
	{ "1", "must be PORT:KEY=VALUE,..., as 1:loss=1%,dir=in" },
	{ "loss=1%", "must be PORT:KEY=VALUE" },
	{ ":loss=1%", "\"\" is no port number from 0 to 255" },
	{ "x:loss=1%", "\"x\" is no port number" },
	{ "0x1:loss=1%", "\"0x1\" is no port number" },
	{ "256:loss=1%", "\"256\" is no port number" },
	{ "00000000000000000000000000001:loss=1%", "is no port number" },
	{ "2:loss=1%", "there is no port 2" },
	{ "1:", "KEY=VALUE is missing" },
	{ "1:,", "KEY=VALUE is missing" },
	{ "1:loss=1%,", "KEY=VALUE is missing before or after a comma" },
	{ "1:loss=1%,,dir=in", "KEY=VALUE is missing before or after a comma" },
	{ "1:,loss=1%", "KEY=VALUE is missing" },
	{ "1:loss", "\"loss\" is not KEY=VALUE" },
	{ "1:=1%", "unknown key \"\"" },
	{ "1:Loss=1%",
	  "unknown key \"Loss\" (known: loss, burst, dup, reorder, distance, delay, jitter, "
	  "rate, queue, corrupt, corrupt-checked, down, dir)" },
	{ "1: loss=1%", "unknown key \" loss\"" },
	{ "1:loss=1%,loss=2%", "loss is given twice" },
	{ "1:dir=in,loss=1%,dir=out", "dir is given twice" },
	{ "1:dir=in", "no fault is given" },
	{ "1:dir=up,loss=1%", "dir must be in, out or both, not \"up\"" },
	{ "1:loss=", "loss must be a probability, as 0.01 or 1%, not \"\"" },
	{ "1:loss=2", "loss must be a probability, as 0.01 or 1%, not \"2\"" },
	{ "1:loss=-1%", "loss must be a probability" },
	{ "1:loss=1%%", "loss must be a probability" },
	{ "1:loss=nan", "loss must be a probability" },
	{ "1:loss=1;5%", "loss must be a probability" },
	{ "1:dup=1 %", "dup must be a probability" },
	{ "1:corrupt=on", "corrupt must be a probability" },
	{ "1:delay=2", "delay must be a time up to 60s, as 500us or 2ms, not \"2\"" },
	{ "1:delay=61s", "delay must be a time up to 60s" },
	{ "1:jitter=5m", "jitter must be a time" },
	{ "1:distance=0", "distance must be a number of packets from 1 to 1000, not \"0\"" },
	{ "1:distance=1001", "distance must be" },
	{ "1:distance=1.5", "distance must be" },
	{ "1:rate=100",
	  "rate must be from 1K to 10000G bits a second, as 100M, 100Mbit or 1.5G, or 0" },
	{ "1:rate=999bit", "rate must be" },
	{ "1:rate=10001Gbit", "rate must be" },
	{ "1:rate=10001G", "rate must be" },
	{ "1:rate=5m", "rate must be" },
	{ "1:rate=5MB", "rate must be" },
	{ "1:queue=0", "queue must be a number of packets from 1 to 1024, or bytes up to 64MB" },
	{ "1:queue=1025", "queue must be" },
	{ "1:queue=65MB", "queue must be" },
	{ "1:queue=0.5B", "queue must be" },
	{ "1:burst=1%", "burst must be P:R[:LB[:LG]]" },
	{ "1:burst=1%:0", "burst must be P:R[:LB[:LG]], probabilities" },
	{ "1:burst=1%:10%:", "burst must be" },
	{ "1:burst=1%:10%:1:0:0", "burst must be" },
	{ "1:burst=1%:110%", "burst must be" },
	{ "1:down=1", "down must be on or off, not \"1\"" },
	{ "1:loss=0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	  "00000000000.1",
	  "is too long for KEY=VALUE" },
};

/* One sentence, and nothing has changed, not even what stood before the mistake. */
static void faults_apply__refusals(void **state)
{
	(void)state;
	apply("1:loss=50%");
	for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (faults_apply(&lcore, refusals[i].text, &err) == 0)
			fail_msg("%s is taken", refusals[i].text);
		if (!strstr(err.text, refusals[i].why))
			fail_msg("%s: \"%s\" lacks \"%s\"", refusals[i].text, err.text,
				 refusals[i].why);
		assert_null(strchr(err.text, '\n'));
		printed(0, false, "1:loss=50%,dir=in");
		printed(0, true, "1:loss=50%,dir=out");
	}
}

#define TEST(name) cmocka_unit_test_setup(name, rig_open)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(faults_apply__every_key),	TEST(faults_apply__others_stay),
		TEST(faults_print__reads_back), TEST(faults_print__cut),
		TEST(faults_apply__rates),	TEST(faults_apply__off_for_burst),
		TEST(faults_apply__refusals),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
