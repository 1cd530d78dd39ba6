// SPDX-License-Identifier: BSD-3-Clause
/* tally-replay.c - replays captures through the switch and says whether it decides as it did. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "switch/conf.h"
#include "switch/io/outfile.h"
#include "switch/journal.h"
#include "switch/log.h"
#include "switch/quantity.h"
#include "switch/replay.h"

enum { EXIT_DIFFERENT = 1, EXIT_INPUT = 2 };
enum {
	OPT_IP = 256,
	OPT_MAC,
	OPT_PARENT,
	OPT_INC,
	OPT_MTU,
	OPT_JOBS,
	OPT_SLOTS,
	OPT_MEMORY,
	OPT_LOOSE,
	OPT_SOCKET,
	OPT_OUT,
	OPT_FORMAT,
	OPT_EXPECT,
	OPT_ANONYMISE
};

static const char help[] =
	"Usage: tally-replay [OPTION ...] DIR\n"
	"       tally-replay --ip ADDR [OPTION ...] CAPTURE ...\n"
	"Runs captured packets through the switch again, with their stamps for a clock, and compares what it\n"
	"sends with what it sent.  The result is the same in every run, byte by byte.\n"
	"\n"
	"DIR is what `tally-switch --pcap DIR` has made, or a directory of such directories, as\n"
	"`tally-fabric run|sim FILE --record DIR` makes; how the switch was set up is read from there.  A CAPTURE is\n"
	"a file of other origin, pcap or pcapng, one for each port of the switch, numbered from 1; packets in it\n"
	"that the switch itself sent are left out.\n"
	"\n"
	"      --expect FILE     compare with this capture, as an earlier --out; of a DIR without it, with what is\n"
	"                        there\n"
	"      --out FILE        write what the switch sends, all ports in one\n"
	"      --pcap-format F   of --out: pcap or pcapng (by its name, else pcap)\n"
	"  -v, --verbose         a line for each packet, with what became of it\n"
	"      --anonymise NEW   write a copy of DIR, of one switch, with other addresses, job names and values,\n"
	"                        which replays all the same\n"
	"\n"
	"The switch, if there is no DIR that says so; as the options of tally-switch:\n"
	"      --ip ADDR         its address\n"
	"      --mac MAC         its MAC address (02:74 and the IP address)\n"
	"      --parent IP[:PORT]  it is a leaf of this switch\n"
	"      --incarnation HEX   the leaf's own number, which its JOINs carry\n"
	"      --socket IP[:PORT]  the captures are of a udp port with this address\n"
	"      --mtu BYTES       of its ports (1500)\n"
	"      --jobs N          at most (64)\n"
	"      --slots N         of all jobs (16384)\n"
	"      --memory BYTES    for values (67108864)\n"
	"      --loose-ports     a worker is known by IP address and UDP port alone, not also by switch port and MAC\n"
	"  -h, --help            print this and exit\n"
	"  -V, --version         print the version and exit\n"
	"\n"
	"Exit status: 0 as expected, 1 something differs, 2 bad input.\n";

static const struct option options[] = {
	{ "ip", required_argument, NULL, OPT_IP },
	{ "mac", required_argument, NULL, OPT_MAC },
	{ "parent", required_argument, NULL, OPT_PARENT },
	{ "incarnation", required_argument, NULL, OPT_INC },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "jobs", required_argument, NULL, OPT_JOBS },
	{ "slots", required_argument, NULL, OPT_SLOTS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "loose-ports", no_argument, NULL, OPT_LOOSE },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "out", required_argument, NULL, OPT_OUT },
	{ "pcap-format", required_argument, NULL, OPT_FORMAT },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "anonymise", required_argument, NULL, OPT_ANONYMISE },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct arguments {
	struct replay_setup setup; /* from options */
	uint32_t socket_ip;
	uint16_t socket_port, mtu;
	bool mac_given, verbose, help, version, set_up;
	int format; /* -1: not given */
	const char *out, *expect, *anonymise;
};

static int complain(const char *text)
{
	fflush(stdout);
	fprintf(stderr, "tally-replay: %s\n", text);
	return -1;
}

static int value_bad(const char *name, const char *expectation)
{
	fprintf(stderr, "tally-replay: --%s %.100s: must be %s\n", name, optarg, expectation);
	return -1;
}

static int number_take(const char *name, uint64_t min, uint64_t max, uint64_t *to)
{
	char text[80];

	if (quantity_parse_whole(optarg, min, max, to) == 0)
		return 0;
	snprintf(text, sizeof(text), "a number from %llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	return value_bad(name, text);
}

static int mac_take(struct arguments *a)
{
	if (replay_mac_parse(optarg, a->setup.mac))
		return value_bad("mac", "a MAC address, as 02:00:00:00:00:01");
	a->mac_given = true;
	return 0;
}

static int parent_take(struct arguments *a)
{
	struct flow *parent = &a->setup.parent;

	parent->udp_port = WIRE_PORT;
	a->setup.pipe.leaf = true;
	return replay_address_parse(optarg, &parent->ip, &parent->udp_port)
		       ? value_bad("parent", "IP[:PORT], as 10.0.0.254")
		       : 0;
}

/* How the switch is set up. */
static int switch_take(struct arguments *a, int c)
{
	struct pipe_params *pipe = &a->setup.pipe;
	uint64_t v = 0;
	int rc = 0;

	a->set_up = true;
	switch (c) {
	case OPT_IP:
		return replay_address_parse(optarg, &a->setup.ip, NULL)
			       ? value_bad("ip", "one IPv4 address, as 10.0.0.254")
			       : 0;
	case OPT_MAC:
		return mac_take(a);
	case OPT_PARENT:
		return parent_take(a);
	case OPT_INC:
		return replay_incarnation_parse(optarg, &a->setup.pipe.inc)
			       ? value_bad("incarnation", "a hexadecimal number of up to 16 digits")
			       : 0;
	case OPT_SOCKET:
		return replay_address_parse(optarg, &a->socket_ip, &a->socket_port)
			       ? value_bad("socket", "IP[:PORT], as 10.0.0.1:48880")
			       : 0;
	case OPT_MTU:
		rc = number_take("mtu", PORT_MTU_MIN, PORT_MTU_MAX, &v);
		a->mtu = (uint16_t)v;
		return rc;
	case OPT_JOBS:
		rc = number_take("jobs", 1, 4096, &v);
		pipe->jobs_max = (uint16_t)v;
		return rc;
	case OPT_SLOTS:
		rc = number_take("slots", WIRE_SE + 1, 1 << 22, &v);
		pipe->slots_max = (uint32_t)v;
		return rc;
	case OPT_MEMORY:
		rc = number_take("memory", 64 << 10, (uint64_t)1 << 40, &v);
		pipe->values_bytes = v;
		return rc;
	default:
		pipe->strict_ports = false;
		return 0;
	}
}

static int argument_take(struct arguments *a, int c)
{
	switch (c) {
	case OPT_OUT:
		a->out = optarg;
		return 0;
	case OPT_EXPECT:
		a->expect = optarg;
		return 0;
	case OPT_ANONYMISE:
		a->anonymise = optarg;
		return 0;
	case OPT_FORMAT:
		a->format = capfile_format_parse(optarg);
		return a->format < 0 ? value_bad("pcap-format", "pcap or pcapng") : 0;
	case 'v':
		a->verbose = true;
		return 0;
	case 'h':
		a->help = true;
		return 0;
	case 'V':
		a->version = true;
		return 0;
	case '?': /* getopt_long has said what is wrong */
		return -1;
	default:
		return switch_take(a, c);
	}
}

static int arguments_parse(struct arguments *a, int argc, char **argv)
{
	int c;

	*a = (struct arguments){ .format = -1, .mtu = PORT_MTU_DEFAULT, .socket_port = WIRE_PORT };
	if (replay_setup_init(&a->setup))
		return complain("out of memory");
	while ((c = getopt_long(argc, argv, "vhV", options, NULL)) != -1)
		if (argument_take(a, c))
			return -1;
	return 0;
}

/* --- One switch ---------------------------------------------------------------------------------------- */

/* Both are named: what is read is not written. */
static int out_is_input(const char *out, const char *in)
{
	char partial[REPLAY_PATH + 16];

	snprintf(partial, sizeof(partial), "%.4096s.partial", out);
	if (!outfile_is(out, in) && !outfile_is(partial, in))
		return 0;
	fprintf(stderr,
		"tally-replay: --out %.300s: would overwrite %.300s, which is read: name another file\n",
		out, in);
	return -1;
}

/* dir: NULL, the captures are files of other origin. */
static int out_check(const struct arguments *a, const struct replay_setup *setup, const char *dir)
{
	char path[REPLAY_PATH];
	int rc = 0;

	if (!a->out)
		return 0;
	if (dir) {
		snprintf(path, sizeof(path), "%.3900s/" JOURNAL_FILE, dir);
		rc = out_is_input(a->out, path);
	}
	if (rc == 0 && a->expect)
		rc = out_is_input(a->out, a->expect);
	for (unsigned i = 0; i < setup->nr_ports && rc == 0; i++)
		rc = out_is_input(a->out, setup->ports[i].in) ||
		     out_is_input(a->out, setup->ports[i].out);
	return rc;
}

static struct capfile *out_open(const struct arguments *a, const struct replay_setup *setup)
{
	const size_t len = strlen(a->out);
	const bool ng = len > 7 && strcmp(a->out + len - 7, ".pcapng") == 0;
	struct capfile *out;
	struct port_error err;
	char name[16], comment[REPLAY_TEXT];

	replay_comment(setup, "tally-replay " TALLY_VERSION, comment);
	out = capfile_open(a->out,
			   a->format >= 0 ? (enum capfile_format)a->format
			   : ng		  ? CAPFILE_PCAPNG
					  : CAPFILE_PCAP,
			   comment, &err);
	if (!out) {
		fprintf(stderr, "tally-replay: --out %.300s: cannot write it: %s\n", a->out,
			err.text);
		return NULL;
	}
	for (unsigned i = 0; i < setup->nr_ports; i++) {
		snprintf(name, sizeof(name), "port%u", setup->ports[i].number);
		capfile_interface(out, name);
	}
	return out;
}

static void rate_say(const struct replay_totals *totals, const struct timespec *begin)
{
	struct timespec end;
	double s, cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	cpu = (double)end.tv_sec + (double)end.tv_nsec / 1e9;
	clock_gettime(CLOCK_MONOTONIC, &end);
	s = (double)(end.tv_sec - begin->tv_sec) + (double)(end.tv_nsec - begin->tv_nsec) / 1e9;
	fflush(stdout);
	fprintf(stderr, "tally-replay: %llu packets in %.3f s, %.3f s of CPU: %.0f packets/s\n",
		(unsigned long long)totals->nr_in, s, cpu, s > 0 ? (double)totals->nr_in / s : 0);
}

static int switch_run(const struct arguments *a, struct replay_setup *setup, const char *dir)
{
	struct replay_expect expect = { .active = false };
	struct replay_totals totals;
	struct replay_plan plan = { .setup = setup, .expect = &expect, .verbose = a->verbose };
	struct port_error err;
	struct timespec begin;
	int rc = EXIT_INPUT, closed = 0;

	if (out_check(a, setup, dir))
		return EXIT_INPUT;
	if ((a->expect || setup->journal) && replay_expect_open(&expect, setup, a->expect, &err)) {
		complain(err.text);
		goto out;
	}
	plan.out = a->out ? out_open(a, setup) : NULL;
	if (a->out && !plan.out)
		goto out;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	rc = replay_run(&plan, &totals, &err) ? EXIT_INPUT : EXIT_SUCCESS;
	if (rc)
		complain(err.text);
	if (rc && plan.out)
		capfile_cut(plan.out);
	if (plan.out)
		closed = capfile_close(plan.out, &err);
	if (closed && !rc && complain(err.text))
		rc = EXIT_INPUT;
	if (rc)
		goto out;
	if (expect.active)
		replay_expect_end(&expect);
	replay_print_totals(&totals, &expect, setup);
	rate_say(&totals, &begin);
	rc = expect.nr_different ? EXIT_DIFFERENT : EXIT_SUCCESS;
out:
	replay_expect_close(&expect);
	return rc;
}

static int dir_run(const struct arguments *a, const char *dir)
{
	struct replay_setup setup;
	struct port_error err;
	int rc = EXIT_INPUT;

	if (replay_setup_init(&setup))
		complain("out of memory");
	else if (replay_setup_read(&setup, dir, &err))
		complain(err.text);
	else
		rc = switch_run(a, &setup, dir);
	replay_setup_free(&setup);
	return rc;
}

/* --- Copies without names ---------------------------------------------------------------------------------- */

/* What the switch sends for what came in there. */
static int copy_outs(struct replay_setup *setup, const char *dir, struct capfile **outs,
		     struct port_error *err)
{
	struct replay_expect none = { .active = false };
	const struct replay_plan plan = { .setup = setup, .expect = &none, .outs = outs };
	struct replay_totals totals;
	char path[REPLAY_PATH], comment[REPLAY_TEXT];
	int rc = 0;

	replay_comment(setup, "anonymised", comment);
	for (unsigned i = 0; i < setup->nr_ports && rc == 0; i++) {
		const bool ng = strstr(setup->ports[i].in, ".pcapng") != NULL;

		snprintf(path, sizeof(path), "%.3900s/port%u_out%s", dir, setup->ports[i].number,
			 ng ? ".pcapng" : ".pcap");
		outs[i] = capfile_open(path, ng ? CAPFILE_PCAPNG : CAPFILE_PCAP, comment, err);
		if (outs[i])
			capfile_interface(outs[i], "port");
		rc = outs[i] ? 0 : -1;
	}
	if (rc == 0)
		rc = replay_run(&plan, &totals, err);
	for (unsigned i = 0; i < setup->nr_ports; i++)
		if (outs[i] && capfile_close(outs[i], err))
			rc = -1;
	return rc;
}

/* It has its name when it is whole, as a capture. */
static int copy_name(const char *partial, const char *name, struct port_error *err)
{
	return rename(partial, name)
		       ? port_fail(err, "%.300s: cannot be given its name without .partial: %s",
				   partial, strerror(errno))
		       : 0;
}

/* Where the copy is made; -1 and *err: it cannot be there. */
static int copy_begin(const char *name, char partial[REPLAY_PATH], struct port_error *err)
{
	size_t len = strlen(name);

	while (len && name[len - 1] == '/')
		len--;
	if (!len || len > REPLAY_PATH - 16)
		return port_fail(err, "--anonymise: expected the name of a new directory");
	snprintf(partial, REPLAY_PATH, "%.*s.partial", (int)len, name);
	if (access(name, F_OK) == 0)
		return port_fail(err, "--anonymise %.300s: cannot make it: %s", name,
				 strerror(EEXIST));
	if (access(partial, F_OK) == 0)
		return port_fail(err,
				 "--anonymise %.300s: an unfinished copy is there: remove %.300s",
				 name, partial);
	return 0;
}

static int anonymise(const struct arguments *a, const char *dir)
{
	static struct capfile *outs[PORT_MAX];
	struct replay_setup setup, copy = { .ports = NULL };
	char partial[REPLAY_PATH];
	struct port_error err;
	int rc;

	if (replay_setup_init(&setup) || replay_setup_init(&copy))
		rc = port_fail(&err, "out of memory");
	else
		rc = replay_setup_read(&setup, dir, &err) ||
		     copy_begin(a->anonymise, partial, &err) ||
		     replay_hide(&setup, partial, &err) ||
		     replay_setup_read(&copy, partial, &err) ||
		     copy_outs(&copy, partial, outs, &err) ||
		     copy_name(partial, a->anonymise, &err);
	if (rc)
		complain(err.text);
	replay_setup_free(&setup);
	replay_setup_free(&copy);
	return rc ? EXIT_INPUT : EXIT_SUCCESS;
}

/* --- Directories, files -------------------------------------------------------------------------------- */

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int has_switch(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* A directory of switches' directories: each by itself, in the order of their names. */
static int dirs_run(const struct arguments *a, const char *dir)
{
	struct dirent **list;
	char path[REPLAY_PATH];
	unsigned found = 0;
	int nr = scandir(dir, &list, has_switch, alphasort), rc = 0, one;

	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%.3800s/%.200s", dir, list[i]->d_name);
		if (replay_setup_has(path)) {
			printf("%sswitch %s:\n", found++ > 0 ? "\n" : "", list[i]->d_name);
			one = dir_run(a, path);
			rc = one > rc ? one : rc;
		}
		free(list[i]);
	}
	if (nr >= 0)
		free(list);
	if (replay_record_lost(dir))
		rc = EXIT_INPUT;
	if (found)
		return rc;
	fprintf(stderr,
		"tally-replay: %.300s: has neither a switch.txt, as tally-switch --pcap writes it, nor "
		"directories that have; give the captures and --ip instead\n",
		dir);
	return EXIT_INPUT;
}

static int files_run(struct arguments *a, int argc, char **argv)
{
	struct replay_setup *setup = &a->setup;
	const unsigned overhead = FRAME_IPV4 + FRAME_UDP + WIRE_HEADER;
	const unsigned p = (unsigned)(a->mtu - overhead);

	if (argc > PORT_MAX) {
		complain("there are more captures than a switch has ports");
		return EXIT_INPUT;
	}
	if (!setup->ip && !a->socket_ip) {
		complain(
			"--ip is missing: the address of the switch that is to be replayed; or give the "
			"directory that tally-switch --pcap made");
		return EXIT_INPUT;
	}
	for (unsigned i = 0; i < 4 && !a->mac_given; i++)
		setup->mac[2 + i] = (uint8_t)(setup->ip >> 8 * (3 - i));
	setup->pipe.p_max = (uint16_t)((p < WIRE_P_MAX ? p : WIRE_P_MAX) / WIRE_P_MIN * WIRE_P_MIN);
	setup->pipe.p_check = (uint16_t)((p - WIRE_CRC < WIRE_P_MAX ? p - WIRE_CRC : WIRE_P_MAX) /
					 WIRE_P_MIN * WIRE_P_MIN);
	for (int i = 0; i < argc; i++) {
		struct replay_port *port = &setup->ports[setup->nr_ports++];

		*port = (struct replay_port){
			.number = setup->nr_ports,
			.framed = !a->socket_ip,
			.mtu = a->mtu,
			.ip = a->socket_ip,
			.udp_port = a->socket_port,
		};
		snprintf(port->in, sizeof(port->in), "%s", argv[i]);
	}
	return switch_run(a, setup, NULL);
}

static int replay_main(struct arguments *a, int argc, char **argv)
{
	if (argc == 0) {
		complain("give a DIR or captures (see --help)");
		return EXIT_INPUT;
	}
	for (int i = 0; i < argc; i++)
		if (access(argv[i], F_OK)) {
			fprintf(stderr, "tally-replay: %.300s: %s\n", argv[i], strerror(errno));
			return EXIT_INPUT;
		}
	if (!is_dir(argv[0]) && a->anonymise) {
		complain("--anonymise wants the directory that tally-switch --pcap made");
		return EXIT_INPUT;
	}
	if (!is_dir(argv[0]))
		return files_run(a, argc, argv);
	if (argc > 1 || a->set_up) {
		complain(
			argc > 1
				? "give one DIR, or files"
				: "a DIR says how its switch was set up: give no options for that");
		return EXIT_INPUT;
	}
	if (replay_setup_has(argv[0]))
		return a->anonymise ? anonymise(a, argv[0]) : dir_run(a, argv[0]);
	if (a->out || a->expect || a->anonymise) {
		complain("--out, --expect and --anonymise are of one switch: give its directory");
		return EXIT_INPUT;
	}
	return dirs_run(a, argv[0]);
}

int main(int argc, char **argv)
{
	static struct arguments a;
	int code = EXIT_SUCCESS;

	outfile_keep_standard();
	/* What the switch said then is in its log. */
	log_level_set(LOG_NONE);
	if (arguments_parse(&a, argc, argv))
		code = EXIT_INPUT;
	else if (a.help || a.version)
		fputs(a.help ? help : "tally-replay " TALLY_VERSION "\n", stdout);
	else
		code = replay_main(&a, argc - optind, argv + optind);
	replay_setup_free(&a.setup);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "tally-replay: standard output could not be written\n");
		return code ? code : EXIT_INPUT;
	}
	return code;
}
