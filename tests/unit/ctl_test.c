// SPDX-License-Identifier: BSD-3-Clause
// ctl_test.c - the control socket of a switch on the bench: its clients, and what it answers them.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/crc32c.h"
#include "switch/node.h"
#include "tests/unit/pipe_rig.h"

enum {
	TURNS = 64,
	WORLD = 3,
	PORTS = 4 /* one for each rank, as in the rig */,
	E_SLOT = 5,
	D_SLOT = WIRE_SE + 2,
	OPNO = 37
};

static char top[64], path[CTL_PATH];
static struct conf conf;
static struct node node;
static struct rig rig;
static struct lcore_port ports[PORTS];
static char answer[CTL_ANSWER + 1];

static unsigned no_rx(struct port *port, struct pkt *pkts, unsigned max)
{
	(void)port;
	(void)pkts;
	(void)max;
	return 0;
}

static unsigned nr_sent;
static void count_tx(struct port *port, struct pkt *pkts, unsigned nr)
{
	(void)port;
	(void)pkts;
	nr_sent += nr;
}

static const struct port_ops ops = { .rx = no_rx, .tx = count_tx };

/* A switch with socket ports, whose machine is the rig's; the rig's clock is ten seconds late. */
static void node_start(const struct pipe_params *params)
{
	struct port_error err;

	memset(&node, 0, sizeof(node));
	memset(ports, 0, sizeof(ports));
	nr_sent = 0;
	rig_open(&rig, params);
	conf = (struct conf){
		.nr_ports = PORTS, .jobs = 4, .slots = 200, .ctl = path, .ctl_fd = -1
	};
	node.conf = &conf;
	node.lcore.pipe = rig.pipe;
	node.lcore.ports = ports;
	node.lcore.nr_ports = PORTS;
	assert_int_equal(pool_plain_init(&node.lcore.spares, LCORE_SPARES, WIRE_MSG_MAX), 0);
	for (uint16_t i = 0; i < PORTS; i++) {
		ports[i].port = (struct port){ .ops = &ops, .index = i, .fd = -1, .mtu = 1500 };
		ports[i].port.spec.number = (uint16_t)(10 + i);
		strcpy(ports[i].port.spec.text, i ? "udp:\"b\"" : "udp:a");
		strcpy(ports[i].port.driver, "udp");
	}
	lcore_time(&node.lcore);
	rig.now = node.lcore.now;
	rig.now.now_ns -= UINT64_C(10000000000);
	rig.now.wall_ms -= 10000;
	assert_int_equal(ctl_open(&node.ctl, &node, &err), 0);
}

static int open_node(void **state)
{
	(void)state;
	strcpy(top, "/tmp/tally-test.XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof(path), "%s/ctl", top);
	node_start(NULL);
	return 0;
}

static void node_stop(void)
{
	struct stat st;

	ctl_close(&node.ctl);
	assert_int_not_equal(lstat(path, &st), 0);
	pool_plain_fini(&node.lcore.spares);
	rig_close(&rig);
}

static int close_node(void **state)
{
	(void)state;
	node_stop();
	return rmdir(top);
}

static void serve(void)
{
	for (unsigned i = 0; i < TURNS; i++)
		ctl_serve(&node.ctl);
}

/* What has come, without its end; -1: nothing, 0: the other side has closed. */
static ssize_t receive(int fd)
{
	ssize_t n = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);

	answer[n > 0 ? n : 0] = '\0';
	return n < 0 && errno == ECONNRESET ? 0 : n;
}

static int join(void)
{
	int fd = ctl_path_connect(path);

	assert_true(fd >= 0);
	serve();
	assert_true(receive(fd) > 0);
	return fd;
}

static const char *ask_on(int fd, const char *request)
{
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	serve();
	assert_true(receive(fd) > 0);
	return answer;
}

static const char *ask(const char *request)
{
	int fd = join();

	ask_on(fd, request);
	close(fd);
	serve();
	return answer;
}

static void assert_says(const char *request, const char *part)
{
	if (!strstr(ask(request), part))
		fail_msg("%s: \"%s\" lacks \"%s\"", request, answer, part);
}

static void ctl_serve__greets_as_dpdk(void **state)
{
	char want[256];
	int fd = ctl_path_connect(path);

	(void)state;
	serve();
	snprintf(want, sizeof(want),
		 "{\"version\": \"Tally " TALLY_VERSION "\", \"pid\": %d, \"max_output_len\": %d}",
		 (int)getpid(), CTL_ANSWER);
	assert_int_equal(receive(fd), strlen(want));
	assert_string_equal(answer, want);
	assert_string_equal(ask_on(fd, "/no/such,1"), "{\"/no/such\": null}");
	assert_non_null(strstr(ask_on(fd, "/"), "\"/tally/stalls\""));
	assert_string_equal(ask_on(fd, "/help,/info"),
			    "{\"/help\": {\"/info\": \"the greeting again\"}}");
	close(fd);
}

static void ctl_serve__garbage_costs_the_connection(void **state)
{
	static const char zero[] = "/tally\0/jobs";
	char big[CTL_REQUEST + 1];
	const struct {
		const void *bytes;
		size_t len;
	} cases[] = {
		{ "x", 1 },	      { "", 0 }, { zero, sizeof(zero) - 1 }, { "\xff\xfe", 2 },
		{ big, sizeof(big) },
	};

	(void)state;
	memset(big, '/', sizeof(big));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = join();

		assert_int_equal(send(fd, cases[i].bytes, cases[i].len, 0), cases[i].len);
		serve();
		assert_int_equal(receive(fd), 0);
		close(fd);
	}
	assert_says("/tally/jobs", "\"jobs\": []");
}

/* The longest request there may be is answered, whatever is in it. */
static void ctl_serve__longest_request(void **state)
{
	char big[CTL_REQUEST + 1];

	(void)state;
	memset(big, '\x01', sizeof(big) - 1);
	big[0] = '/';
	big[CTL_REQUEST] = '\0';
	assert_says(big, "\\u0001\": null}");
}

static void ctl_serve__crowd(void **state)
{
	int fds[CTL_CLIENTS + 3];

	(void)state;
	for (unsigned i = 0; i < CTL_CLIENTS; i++)
		fds[i] = join();
	/* The first has something to say, so that the second is quiet for longest. */
	ask_on(fds[0], "/info");
	fds[CTL_CLIENTS] = join();
	assert_int_equal(receive(fds[1]), 0);
	ask_on(fds[0], "/info");
	for (unsigned i = 2; i <= CTL_CLIENTS; i++)
		ask_on(fds[i], "/info");
	for (unsigned i = 0; i <= CTL_CLIENTS; i++)
		close(fds[i]);
	serve();
	for (unsigned i = 0; i < CTL_CLIENTS; i++)
		assert_int_equal(node.ctl.clients[i].fd, -1);
}

/* A client that asks and asks and does not read what it is told. */
static void ctl_serve__who_does_not_read_is_left(void **state)
{
	int fd = join();
	unsigned nr = 0;

	(void)state;
	while (nr < 100000 && send(fd, "/tally/counters", 15, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
		ctl_serve(&node.ctl);
		nr++;
	}
	assert_in_range(nr, 1, 10000);
	assert_says("/tally/jobs", "\"jobs\": []");
	close(fd);
}

static void ctl_look__once_a_millisecond(void **state)
{
	int fd = ctl_path_connect(path);

	(void)state;
	assert_true(fd >= 0);
	node.ctl.next_ns = 5 * CTL_EVERY_NS;
	ctl_look(&node.ctl, 5 * CTL_EVERY_NS - 1);
	assert_int_equal(receive(fd), -1);
	ctl_look(&node.ctl, 5 * CTL_EVERY_NS);
	assert_true(receive(fd) > 0);
	assert_int_equal(send(fd, "/info", 5, 0), 5);
	ctl_look(&node.ctl, 6 * CTL_EVERY_NS - 1);
	assert_int_equal(receive(fd), -1);
	ctl_look(&node.ctl, 6 * CTL_EVERY_NS);
	assert_true(receive(fd) > 0);
	close(fd);
}

static void ctl_open__none_or_in_use(void **state)
{
	static struct node other;
	struct conf other_conf = conf;
	struct port_error err;
	struct stat st;

	(void)state;
	other_conf.ctl = "none";
	other.conf = &other_conf;
	assert_int_equal(ctl_open(&other.ctl, &other, &err), 0);
	assert_string_equal(other.ctl.path, "");
	other_conf.ctl = path;
	assert_int_equal(ctl_open(&other.ctl, &other, &err), -1);
	assert_non_null(strstr(err.text, "--ctl /tmp/tally-test."));
	assert_non_null(strstr(err.text, "in use by another switch: give each its own path"));
	/* That it ends is no reason to take the other's away. */
	ctl_close(&other.ctl);
	assert_int_equal(lstat(path, &st), 0);
}

/* What the parent process listens on is used, and not taken away. */
static void ctl_open__inherited(void **state)
{
	static struct node other;
	struct conf other_conf = conf;
	char file[CTL_PATH];
	struct port_error err;
	struct stat st;

	(void)state;
	snprintf(file, sizeof(file), "%s/fd", top);
	other_conf.ctl = NULL;
	other_conf.ctl_fd = ctl_path_listen(file, &err);
	other.conf = &other_conf;
	assert_int_equal(ctl_open(&other.ctl, &other, &err), 0);
	assert_string_equal(other.ctl.path, file);
	assert_int_equal(other.ctl.listen_fd, other_conf.ctl_fd);
	ctl_close(&other.ctl);
	assert_int_equal(lstat(file, &st), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(ctl_open(&other.ctl, &other, &err), -1);
	assert_non_null(strstr(err.text, " is no Unix socket of type SOCK_SEQPACKET"));
}

static void ctl_open__by_name(void **state)
{
	static struct node other;
	struct conf other_conf = conf;
	char name[CTL_NAME], want[CTL_PATH];
	struct port_error err;

	(void)state;
	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	snprintf(want, sizeof(want), "@tally-%u/%s", (unsigned)geteuid(), name);
	other_conf.ctl = NULL;
	other_conf.file_prefix = name;
	other.conf = &other_conf;
	assert_int_equal(ctl_open(&other.ctl, &other, &err), 0);
	assert_string_equal(other.ctl.path, want);
	ctl_close(&other.ctl);
	assert_int_equal(ctl_path_connect(want), -1);
}

static void ctl_ports__and_counters(void **state)
{
	(void)state;
	ports[1].port.stats.rx = 0;
	ports[1].port.stats.tx_bytes = 4711;
	assert_says("/tally/ports",
		    "{\"number\": 10, \"name\": \"udp:a\", \"driver\": \"udp\", \"mtu\": 1500");
	assert_says("/tally/ports,1", "{\"ports\": [{\"number\": 11, \"name\": \"udp:\\\"b\\\"\"");
	assert_says("/tally/ports", "\"tx_bytes\": 4711");
	assert_says("/tally/ports", "\"next\": null}");
	assert_says("/tally/ports,x", "\"error\": \"\\\"x\\\" is no place in a list");
	rig_form(&rig, 2);
	assert_says("/tally/counters", "{\"name\": \"join\", \"class\": \"talk\", \"value\": 3, ");
	assert_says("/tally/fdb", "{\"fdb\": [], \"next\": null}");
}

/* An E chunk that begins with the descriptor of an operation, or a chunk of its data. */
static uint32_t wrong_desc; /* 0: the CRC is that of the descriptor */
static void contribute(unsigned wid, unsigned slot, uint32_t round)
{
	const struct wire_desc desc = {
		.opno = OPNO,
		.count = 5000,
		.collective = WIRE_ALLREDUCE,
		.dtype = WIRE_F32,
		.op = WIRE_SUM,
		.width = 4,
		.world = WORLD,
		.p = RIG_P,
	};
	struct wire_msg msg = rig_msg(&rig, WIRE_DATA, wid, 128);
	uint8_t bytes[128] = { 0 };

	wire_desc_build(bytes, &desc);
	msg.desc = crc32c(bytes, WIRE_DESC) + wrong_desc;
	msg.kind = slot < WIRE_SE ? WIRE_MAX8 : WIRE_ADD32;
	msg.slot = (uint16_t)slot;
	msg.round = round;
	if (slot < WIRE_SE)
		msg.payload = bytes;
	rig_send_msg(&rig, &msg);
}

static void ctl_jobs__running_and_forming(void **state)
{
	struct wire_join half = rig_join_of(&rig, 1, 4);

	(void)state;
	rig_form(&rig, WORLD);
	strcpy(half.name, "half\"2");
	half.base = 0;
	rig_join(&rig, 1, &half);
	half.base = pipe_job(rig.pipe, 1)->epoch - 1;
	rig_join(&rig, 1, &half);
	assert_says("/tally/jobs", "{\"name\": \"job\", \"state\": \"running\", \"ranks\": 3, ");
	assert_says("/tally/jobs",
		    "{\"name\": \"half\\\"2\", \"state\": \"forming\", \"ranks\": 4, ");
	assert_says("/tally/jobs",
		    "\"missing\": [{\"first\": 0, \"last\": 0}, {\"first\": 2, \"last\": 3}]");
	assert_says("/tally/jobs,1", "{\"jobs\": [{\"name\": \"half");
	assert_says("/tally/job,job",
		    "\"address\": \"10.0.0.2:40100\", \"udp_ports\": 2, \"port\": 11");
	assert_says(
		"/tally/job,jo",
		"{\"error\": \"there is no job \\\"jo\\\": tallyctl show jobs lists those there are\"}");
	assert_says("/tally/stalls,0,3600000", "{\"stalls\": [], ");
	assert_says("/tally/stalls",
		    "{\"job\": \"half\\\"2\", \"state\": \"forming\", \"waits_for\": "
		    "\"members\", \"missing\": [{\"first\": 0, ");
}

static void ctl_stalls__names_all_of_it(void **state)
{
	char want[256];
	uint64_t begin_ns;

	(void)state;
	rig_form(&rig, WORLD);
	assert_says("/tally/stalls",
		    "{\"stalls\": [], \"jobs\": {\"job\": {\"waiting\": 0, \"chunks\": 0}}");
	for (unsigned wid = 0; wid < WORLD; wid++)
		contribute(wid, E_SLOT, 0);
	for (unsigned wid = 0; wid < WORLD; wid++)
		contribute(wid, D_SLOT, 0);
	assert_says("/tally/stalls",
		    "{\"stalls\": [], \"jobs\": {\"job\": {\"waiting\": 0, \"chunks\": 2}}");
	rig_wait(&rig, 1000);
	begin_ns = rig.now.now_ns >> CELL_TICK << CELL_TICK;
	contribute(1, D_SLOT, 1);
	/* Later ones do not make it younger. */
	rig_wait(&rig, 2000);
	contribute(0, D_SLOT, 1);
	contribute(1, D_SLOT, 1);
	snprintf(
		want, sizeof(want),
		"{\"job\": \"job\", \"state\": \"running\", \"slot\": %d, \"lane\": \"D\", \"round\": 1, ",
		D_SLOT);
	assert_says("/tally/stalls", want);
	assert_says("/tally/stalls",
		    "\"operation\": {\"number\": 37, \"text\": \"all-reduce 37 (float32 sum, 5000 "
		    "elements)\"");
	assert_says("/tally/stalls",
		    "\"waits_for\": \"members\", \"missing\": [{\"first\": 2, \"last\": 2}]");
	snprintf(want, sizeof(want), "\"since_ms\": %llu, \"age_s\": ",
		 (unsigned long long)((node.lcore.wall_base_ns + begin_ns) / 1000000));
	assert_says("/tally/stalls", want);
	assert_in_range((unsigned)strtod(strstr(answer, want) + strlen(want), NULL), 8, 60);
	assert_says("/tally/stalls", "\"jobs\": {\"job\": {\"waiting\": 1, \"chunks\": 2}}");
	assert_says("/tally/stalls,0,8000", want);
	assert_says("/tally/stalls,0,3600000", "{\"stalls\": [], ");
	assert_says("/tally/stalls,zero", "\"error\": ");
	contribute(2, D_SLOT, 1);
	assert_says("/tally/stalls",
		    "{\"stalls\": [], \"jobs\": {\"job\": {\"waiting\": 0, \"chunks\": 3}}");
}

/* The operation of an E chunk is in itself; that of data whose descriptor is nowhere is not made up. */
static void ctl_stalls__operation(void **state)
{
	(void)state;
	rig_form(&rig, WORLD);
	contribute(0, D_SLOT, 0);
	assert_says("/tally/stalls", "\"operation\": null, ");
	/* Nor is one made up from a descriptor that is another's. */
	wrong_desc = 1;
	contribute(0, E_SLOT + 1, 0);
	wrong_desc = 0;
	assert_null(strstr(ask("/tally/stalls"), "\"number\": "));
	contribute(0, E_SLOT, 0);
	assert_says("/tally/stalls",
		    "\"slot\": 5, \"lane\": \"E\", \"round\": 0, \"descriptor\": ");
	assert_says("/tally/slot,5,job", "\"number\": 37");
	assert_says("/tally/slot,5,job",
		    "\"have\": [{\"first\": 0, \"last\": 0}], \"missing\": [{\"first\": 1, "
		    "\"last\": 2}]");
	assert_says("/tally/slot,5,job", "{\"used\": false}");
	assert_says("/tally/slot,4000,job", "\"job \\\"job\\\" has no such slot\"");
	assert_says("/tally/slot,5", "\"there is no job \\\"\\\": ");
}

/* Of a long list each slot comes exactly once, over several answers. */
static void ctl_stalls__in_pieces(void **state)
{
	struct pipe_params params = {
		.jobs_max = 2, .slots_max = 2000, .values_bytes = 1 << 22, .p_max = RIG_P
	};
	bool seen[700] = { false };
	unsigned nr = 0, answers = 0;
	unsigned long long place = 0;
	struct wire_join wide;
	char request[64];

	(void)state;
	node_stop();
	node_start(&params);
	for (unsigned k = 0; k <= 2; k++) {
		unsigned wid = k ? k - 1 : 0;

		wide = rig_join_of(&rig, wid, 2);
		wide.slots = 600;
		wide.p = 128;
		rig_join(&rig, wid, &wide);
	}
	rig_wait(&rig, 1);
	assert_true(pipe_job(rig.pipe, 0)->running);
	for (unsigned slot = WIRE_SE; slot < 632; slot++)
		contribute(0, slot, 0);
	do {
		const char *at;

		snprintf(request, sizeof(request), "/tally/stalls,%llu,0", place);
		ask(request);
		for (at = answer; (at = strstr(at, "\"slot\": ")); at++) {
			unsigned slot = (unsigned)strtoul(at + 8, NULL, 10);

			assert_true(slot < 700 && !seen[slot]);
			seen[slot] = true;
			nr++;
		}
		at = strstr(answer, "\"next\": ");
		assert_non_null(at);
		place = strtoull(at + 8, NULL, 10);
		answers++;
	} while (place && answers < 100);
	assert_int_equal(nr, 600);
	assert_in_range(answers, 2, 50);
}

static void ctl_reset__ends_this_epoch_alone(void **state)
{
	const struct job *job;
	char request[64];

	(void)state;
	job = rig_form(&rig, 2);
	assert_says("/tally/reset,12,job", "{\"over\": true, \"asks_parent\": false}");
	assert_true(job->running);
	assert_says("/tally/reset,12,other", "there is no job \\\"other\\\"");
	assert_says("/tally/reset,job", "is not EPOCH,NAME");
	assert_true(job->lease_nr > 0);
	nr_sent = 0;
	snprintf(request, sizeof(request), "/tally/reset,%llu,job", (unsigned long long)job->epoch);
	assert_says(request, "{\"over\": true, ");
	assert_false(job->running);
	assert_int_equal(job->last.cause, WIRE_CAUSE_RESET);
	/* Both ranks are told, and the slots are free. */
	assert_int_equal(nr_sent, 2);
	assert_int_equal(job->lease_nr, 0);
	assert_says("/tally/job,job", "\"cause\": \"reset by the operator\"");
}

static void ctl_drain__on_and_off(void **state)
{
	(void)state;
	assert_says("/tally/info", "\"drains\": false");
	assert_says("/tally/drain,on", "{\"drains\": true}");
	assert_true(pipe_drains(rig.pipe));
	assert_says("/tally/info", "\"drains\": true");
	assert_says("/tally/drain,maybe",
		    "\"error\": \"\\\"maybe\\\" is neither on nor off\", \"bad_request\": true");
	assert_says("/tally/drain", "\"bad_request\": true");
	assert_true(pipe_drains(rig.pipe));
	assert_says("/tally/drain,off", "{\"drains\": false}");
	assert_false(pipe_drains(rig.pipe));
}

static void ctl_impair__from_now_on(void **state)
{
	(void)state;
	assert_says("/tally/impair,11:loss=25%,dir=in", "{\"done\": true}");
	assert_true(ports[1].in.impair.active);
	assert_false(ports[1].out.impair.active || ports[0].in.impair.active);
	assert_says("/tally/impairments,1",
		    "\"port\": 11, \"dir\": \"in\", \"active\": true, \"faults\": \"11:loss=");
	assert_says("/tally/impair,14:loss=1%", "\"error\": \"there is no port 14: ");
	assert_says("/tally/impair,11:loss=2", "\"error\": ");
	assert_says("/tally/impair,11:loss=0,dir=in", "{\"done\": true}");
	assert_false(ports[1].in.impair.active);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(ctl_serve__greets_as_dpdk),
		TEST(ctl_serve__garbage_costs_the_connection),
		TEST(ctl_serve__longest_request),
		TEST(ctl_serve__crowd),
		TEST(ctl_serve__who_does_not_read_is_left),
		TEST(ctl_look__once_a_millisecond),
		TEST(ctl_open__none_or_in_use),
		TEST(ctl_open__inherited),
		TEST(ctl_open__by_name),
		TEST(ctl_ports__and_counters),
		TEST(ctl_jobs__running_and_forming),
		TEST(ctl_stalls__names_all_of_it),
		TEST(ctl_stalls__operation),
		TEST(ctl_stalls__in_pieces),
		TEST(ctl_reset__ends_this_epoch_alone),
		TEST(ctl_drain__on_and_off),
		TEST(ctl_impair__from_now_on),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
