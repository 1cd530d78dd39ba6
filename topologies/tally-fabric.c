// SPDX-License-Identifier: BSD-3-Clause
// tally-fabric: runs the jobs of a topology file on a network made for them.
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/include/tally.h"
#include "switch/faults.h"
#include "switch/io/outfile.h"
#include "topologies/control.h"
#include "topologies/draw_file.h"
#include "topologies/enter.h"
#include "topologies/report.h"
#include "topologies/runner.h"
#include "topologies/sandbox.h"
#include "topologies/say.h"
#include "topologies/sim.h"
#include "topologies/sim_seeds.h"
#include "topologies/sim_sweep.h"
#include "topologies/threads.h"
#include "topologies/topology.h"

enum { EXIT_USAGE = 2, ARGUMENTS_KEPT = 256 };
#define LINK_RATE UINT64_C(100000000000)
#define LINK_DELAY_NS UINT64_C(1000)
enum {
	OPTION_LOSS = 256,
	OPTION_DUP,
	OPTION_REORDER,
	OPTION_SEED,
	OPTION_MTU,
	OPTION_DRIVER,
	OPTION_TIMEOUT,
	OPTION_FORMAT,
	OPTION_PCAP,
	OPTION_PCAP_FORMAT,
	OPTION_RECORD,
	OPTION_FABRIC,
	OPTION_LINK_RATE,
	OPTION_LINK_DELAY,
	OPTION_SEEDS,
	OPTION_WORKERS,
	OPTION_SWEEP,
	OPTION_COMPARE,
	OPTION_TIMELINE,
	OPTION_REPORT,
	OPTION_KEEP,
};

static const char help[] =
	"usage: tally-fabric run FILE [OPTION]... make the network of FILE and run its jobs there\n"
	"       tally-fabric sim FILE [OPTION]... run its jobs in virtual time, in one process\n"
	"       tally-fabric check FILE           only read FILE and say what is wrong with it\n"
	"       tally-fabric draw FILE [-o OUT]   draw the network: OUT.svg, or OUT.dot for graphviz\n"
	"       tally-fabric shell FILE HOST [-- COMMAND [ARG]...]\n"
	"                                         make the network, start the switches, and give a\n"
	"                                         shell (or run COMMAND) in HOST\n"
	"       tally-fabric enter HOST [-- COMMAND [ARG]...]\n"
	"                                         a shell (or COMMAND) in HOST, or in a switch, of a\n"
	"                                         network that runs already, as with --keep\n"
	"\n"
	"The network is made of private namespaces and virtual Ethernet pairs: no root is needed,\n"
	"and nothing is left when the program ends, however it ends.\n"
	"\n"
	"  --loss P             lose this share of the packets on every link, e.g. 1% or 0.01\n"
	"  --dup P              send this share twice\n"
	"  --reorder P          send this share late\n"
	"  --seed N             of the random numbers for these\n"
	"  --mtu N              of every link, 256 to 65535 bytes (1500)\n"
	"  --driver af_packet   a switch has a packet port per link (default)\n"
	"  --driver udp         a switch has one UDP socket; offloads stay on\n"
	"  --timeout S          end the ranks, or the shell, after S seconds (default: 400 s after a\n"
	"                       failure; a shell never); sim: seconds of virtual time\n"
	"  -o, --output OUT     of draw: the picture's file (standard output)\n"
	"  --format svg|dot     of the picture (by the end of its name; dot)\n"
	"  --pcap DIR           capture every link at its switches: DIR/h1-s1.in.pcap and so on; of\n"
	"                       sim the stamps are virtual time\n"
	"  --pcap-format F      of these: pcap or pcapng (pcap)\n"
	"  --record DIR         the same, and all that is needed to replay the run: tally-replay DIR\n"
	"  --report DIR         run, sim: DIR/report.html, a page about the run with plots\n"
	"  --fabric inproc      run: a thread for each rank and switch instead of a network\n"
	"  --link-rate R        sim: of links without a rate of their own (100G)\n"
	"  --link-delay T       sim: of links without a delay of their own (1us)\n"
	"  --seeds A..B         sim: once with each of these seeds, on all CPUs, and a summary\n"
	"  --sweep KEY=V,V,...  sim: once with each value, on all CPUs, and a table; KEY: rate, delay or\n"
	"                       loss of all links, window or chunk of all ranks, or workers\n"
	"  --workers N,N,...    sim: the same as --sweep workers=N,N,...: the job's first N ranks\n"
	"  --compare            sim: a ring and a parameter server on the same links beside it\n"
	"  --timeline T         sim: also the packets sent and sent again in each T, such as 10ms;\n"
	"                       with --report also of run: the interval of the page\n"
	"  --keep               run, shell: the network stays afterwards, until Enter or Ctrl-C\n"
	"  -v, --verbose        show the steps, and what all ranks and switches print\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n"
	"\n"
	"Exit code: 0 if all ranks and switches ended well, else the worst rank's; 1 if only a\n"
	"switch failed; 2 for bad input; 124 after --timeout; 125 without a network.\n";

static const struct option options[] = {
	{ "loss", required_argument, NULL, OPTION_LOSS },
	{ "dup", required_argument, NULL, OPTION_DUP },
	{ "reorder", required_argument, NULL, OPTION_REORDER },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "mtu", required_argument, NULL, OPTION_MTU },
	{ "driver", required_argument, NULL, OPTION_DRIVER },
	{ "pcap", required_argument, NULL, OPTION_PCAP },
	{ "pcap-format", required_argument, NULL, OPTION_PCAP_FORMAT },
	{ "record", required_argument, NULL, OPTION_RECORD },
	{ "report", required_argument, NULL, OPTION_REPORT },
	{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
	{ "output", required_argument, NULL, 'o' },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "fabric", required_argument, NULL, OPTION_FABRIC },
	{ "seeds", required_argument, NULL, OPTION_SEEDS },
	{ "workers", required_argument, NULL, OPTION_WORKERS },
	{ "sweep", required_argument, NULL, OPTION_SWEEP },
	{ "compare", no_argument, NULL, OPTION_COMPARE },
	{ "timeline", required_argument, NULL, OPTION_TIMELINE },
	{ "link-rate", required_argument, NULL, OPTION_LINK_RATE },
	{ "link-delay", required_argument, NULL, OPTION_LINK_DELAY },
	{ "keep", no_argument, NULL, OPTION_KEEP },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct arguments {
	double loss, dup, reorder; /* < 0: not given */
	bool seed_given, udp, inproc, keep, verbose, help, version;
	const char *of_sim, *of_run; /* an option given that only this command has; NULL: none */
	uint64_t seed, mtu, timeout;
	const char *output, *format; /* NULL: not given */
	struct record record;
	struct report report;
	int argc; /* the whole command line */
	char *const *argv;
	struct vnet_options links; /* of sim */
	uint64_t timeline_ns;	   /* likewise; 0: none */
	struct sim_seeds seeds;	   /* likewise; repeat: NULL, one seed */
	struct sim_sweep sweep;	   /* likewise; nr: 0, not given */
	char *again;		   /* the command line without --seeds, --sweep and --workers */
};

static int value_bad(const char *name, const char *value, const char *expectation)
{
	return say_error("--%s: expected %s, not '%s'", name, expectation, value);
}

static int share_take(const char *name, double *to)
{
	if (topology_share_parse(optarg, to) || (*to >= 1 && !strchr(optarg, '%')))
		return value_bad(name, optarg, "a share such as 1% or 0.01 (all: 100%)");
	return 0;
}

static int record_take(struct record *rec, int c)
{
	if (c == OPTION_PCAP_FORMAT) {
		rec->ng = strcmp(optarg, "pcapng") == 0;
		if (!rec->ng && strcmp(optarg, "pcap") != 0)
			return value_bad("pcap-format", optarg, "pcap or pcapng");
		return 0;
	}
	if (rec->dir)
		return say_error("--pcap and --record name one directory: give it once");
	rec->dir = optarg;
	rec->whole = c == OPTION_RECORD;
	return *optarg ? 0 : say_error("--pcap, --record: expected a directory");
}

// What `sim` alone has.
static int sim_take(struct arguments *a, int c)
{
	switch (c) {
	case OPTION_SEEDS:
		a->of_sim = "seeds";
		a->seeds.repeat = a->again;
		if (sim_seeds_parse(&a->seeds, optarg))
			return value_bad("seeds", optarg,
					 "a range such as 1..100, of up to a million");
		return 0;
	case OPTION_WORKERS:
	case OPTION_SWEEP:
		a->of_sim = c == OPTION_SWEEP ? "sweep" : "workers";
		if (a->sweep.nr)
			return say_error("--sweep and --workers: give one list of values");
		a->sweep.repeat = a->again;
		return c == OPTION_SWEEP ? sim_sweep_parse(&a->sweep, optarg)
					 : sim_sweep_parse_workers(&a->sweep, optarg);
	case OPTION_COMPARE:
		a->of_sim = "compare";
		a->sweep.repeat = a->again;
		a->sweep.compare = true;
		return 0;
	case OPTION_TIMELINE:
		if (faults_parse_time(optarg, &a->timeline_ns) || !a->timeline_ns)
			return value_bad("timeline", optarg, "a time such as 10ms or 100us");
		return 0;
	case OPTION_LINK_RATE:
		a->of_sim = "link-rate";
		if (faults_parse_rate(optarg, &a->links.rate) || !a->links.rate)
			return value_bad("link-rate", optarg,
					 "bits a second such as 100G or 25Gbit");
		return 0;
	default: // OPTION_LINK_DELAY
		a->of_sim = "link-delay";
		if (faults_parse_time(optarg, &a->links.delay_ns))
			return value_bad("link-delay", optarg, "a time such as 1us or 500ns");
		return 0;
	}
}

static int fabric_take(struct arguments *a)
{
	a->of_run = "fabric";
	a->inproc = strcmp(optarg, "inproc") == 0;
	if (!a->inproc && strcmp(optarg, "netns") != 0)
		return value_bad("fabric", optarg, "netns or inproc");
	return 0;
}

static int argument_take(struct arguments *a, int c)
{
	switch (c) {
	case OPTION_LOSS:
		return share_take("loss", &a->loss);
	case OPTION_DUP:
		return share_take("dup", &a->dup);
	case OPTION_REORDER:
		return share_take("reorder", &a->reorder);
	case OPTION_SEED:
		a->seed_given = true;
		if (topology_number_parse(optarg, 0, UINT64_MAX, &a->seed))
			return value_bad("seed", optarg, "a whole number");
		return 0;
	case OPTION_MTU:
		if (topology_number_parse(optarg, TOPOLOGY_MTU_MIN, TOPOLOGY_MTU_MAX, &a->mtu))
			return value_bad("mtu", optarg, "256 to 65535 bytes");
		return 0;
	case OPTION_TIMEOUT:
		if (topology_number_parse(optarg, 1, 1000000000, &a->timeout))
			return value_bad(
				"timeout", optarg,
				"a whole number of seconds from 1 on (without it there is no limit)");
		return 0;
	case OPTION_DRIVER:
		a->udp = strcmp(optarg, "udp") == 0;
		if (!a->udp && strcmp(optarg, "af_packet") != 0)
			return value_bad("driver", optarg, "af_packet or udp");
		return 0;
	case OPTION_FORMAT:
		a->format = optarg;
		return 0;
	case 'o':
		a->output = optarg;
		return 0;
	case OPTION_PCAP:
	case OPTION_PCAP_FORMAT:
	case OPTION_RECORD:
		return record_take(&a->record, c);
	case OPTION_REPORT:
		a->report.dir = optarg;
		return *optarg ? 0 : say_error("--report: expected a directory");
	case OPTION_FABRIC:
		return fabric_take(a);
	case OPTION_SEEDS:
	case OPTION_WORKERS:
	case OPTION_SWEEP:
	case OPTION_COMPARE:
	case OPTION_TIMELINE:
	case OPTION_LINK_RATE:
	case OPTION_LINK_DELAY:
		return sim_take(a, c);
	case OPTION_KEEP:
		a->keep = true;
		return 0;
	case 'v':
		a->verbose = true;
		return 0;
	case 'h':
		a->help = true;
		return 0;
	case 'V':
		a->version = true;
		return 0;
	default: // getopt_long has said what is wrong
		return -1;
	}
}

static bool option_is_many(int c)
{
	return c == OPTION_SEEDS || c == OPTION_SWEEP || c == OPTION_WORKERS;
}

// What repeats this command with another seed, or one value: as getopt_long reads it, abbreviations and all.
static int arguments_keep(struct arguments *a, int argc, char **argv)
{
	size_t size = 0;
	FILE *memory = open_memstream(&a->again, &size);
	int c, done = 1;

	if (!memory)
		return say_error("not enough memory");
	fputs("tally-fabric", memory);
	opterr = 0;
	do {
		c = getopt_long(argc, argv, "-vhVo:", options, NULL);
		for (; done < (c == -1 ? argc : optind); done++)
			if (!option_is_many(c))
				record_word_print(memory, argv[done]);
	} while (c != -1);
	opterr = 1;
	optind = 0; // from the start again
	return fclose(memory) ? say_error("not enough memory") : 0;
}

static int arguments_parse(struct arguments *a, int argc, char **argv)
{
	static char *words[ARGUMENTS_KEPT + 1]; // getopt_long changes the order

	for (int i = 0; i < argc && i < ARGUMENTS_KEPT; i++)
		words[i] = argv[i];
	*a = (struct arguments){
		.loss = -1,
		.dup = -1,
		.reorder = -1,
		.links = { LINK_RATE, LINK_DELAY_NS },
		.argc = argc < ARGUMENTS_KEPT ? argc : ARGUMENTS_KEPT,
		.argv = words,
		.report = { .argc = argc < ARGUMENTS_KEPT ? argc : ARGUMENTS_KEPT, .argv = words },
	};
	if (arguments_keep(a, argc, argv))
		return -1;
	for (int c; (c = getopt_long(argc, argv, "vhVo:", options, NULL)) != -1;)
		if (argument_take(a, c))
			return -1;
	a->report.interval_ns = a->timeline_ns;
	if (a->timeline_ns && !a->report.dir)
		a->of_sim = "timeline";
	return 0;
}

// The command line overrides every link of the file.
static void topology_override(struct topology *t, const struct arguments *a)
{
	for (unsigned int i = 0; i < t->nr_links; i++) {
		struct topology_link *l = &t->link[i];

		l->loss = a->loss >= 0 ? a->loss : l->loss;
		l->dup = a->dup >= 0 ? a->dup : l->dup;
		l->reorder = a->reorder >= 0 ? a->reorder : l->reorder;
		l->mtu = a->mtu ? (unsigned int)a->mtu : l->mtu;
	}
	if (a->seed_given) {
		t->seed_given = true;
		t->seed = a->seed;
	}
}

// tally-switch and tally-perf are found beside this program, before any others; examples where they are installed.
static int path_extend(void)
{
	char self[PATH_MAX], all[2 * PATH_MAX];
	const char *path = getenv("PATH");
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return say_error("/proc/self/exe cannot be read: is /proc mounted?");
	self[len] = 0;
	slash = strrchr(self, '/');
	if (!slash)
		return 0;
	*slash = 0;
	if ((size_t)snprintf(all, sizeof(all), "%s:%s/../lib/tally/examples:%s", self, self,
			     path ? path : "/usr/bin:/bin") >= sizeof(all))
		return say_error("PATH is too long");
	return setenv("PATH", all, 1);
}

static int check_main(const struct topology *t)
{
	unsigned int nr_switches = 0, nr_ranks = 0;

	for (unsigned int i = 0; i < t->nr_nodes; i++)
		nr_switches += t->node[i].is_switch;
	for (unsigned int i = 0; i < t->nr_jobs; i++)
		nr_ranks += t->job[i].ranks.nr;
	printf("%s: hosts %u, switches %u, links %u, jobs %u, ranks %u\n", t->path,
	       t->nr_nodes - nr_switches, nr_switches, t->nr_links, t->nr_jobs, nr_ranks);
	return 0;
}

static int draw_main(struct topology *t, const struct arguments *a)
{
	enum draw_format format;

	if (draw_format_choose(a->format, a->output, &format)) {
		value_bad("format", a->format, "svg or dot");
		return EXIT_USAGE;
	}
	return draw_file(t, format, a->output) ? EXIT_FAILURE : 0;
}

static int host_check(const struct topology *t, const char *name)
{
	int i = topology_node_find(t, name, strlen(name));

	if (i >= 0 && t->node[i].outside)
		return say_error("%s: host %s is outside, behind an interface: no shell is there",
				 t->path, name);
	if (i >= 0 && !t->node[i].is_switch)
		return 0;
	return say_error("%s: expected the name of a host, not '%s'", t->path, name);
}

// What a shell is to run where no command is given.
static char *const *own_shell(void)
{
	static char sh[] = "/bin/sh", *argv[2];
	char *own = getenv("SHELL");

	argv[0] = own && *own == '/' ? own : sh;
	return argv;
}

static bool all_are_outside(const struct topology *t)
{
	for (unsigned int i = 0; i < t->nr_jobs; i++)
		for (unsigned int k = 0; k < t->job[i].ranks.nr; k++)
			if (!t->node[t->job[i].rank_node[k]].outside)
				return false;
	return true;
}

static int fabric_main(struct topology *t, struct arguments *a, char **shell)
{
	struct runner_options o = { .topology = t, .udp = a->udp, .verbose = a->verbose };
	struct netns outer = { .fd = -1 };
	int code;

	if (shell) {
		o.shell_host = shell[0];
		o.shell_argv = shell[1] ? shell + 1 : own_shell();
		if (host_check(t, o.shell_host))
			return EXIT_USAGE;
	}
	topology_override(t, a);
	if (topology_check_netns(t, !shell, stderr))
		return EXIT_USAGE;
	if (fabric_check(t, a->udp) || path_extend())
		return EXIT_USAGE;
	if (!shell && !a->keep && all_are_outside(t)) {
		say_error("%s: all ranks are outside, so that nothing would keep the network: add "
			  "--keep",
			  t->path);
		return EXIT_USAGE;
	}
	o.keep = a->keep;
	// Not in the background, where it would take what others are to read.
	o.keep_enter = a->keep && isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
	o.timeout_s = (double)a->timeout;
	o.record = a->record;
	o.report = &a->report;
	if (record_open(&o.record, t, a->argc, a->argv) || report_open(&a->report, t))
		return EXIT_USAGE;
	o.renamed = control_open(t, o.ctl_fds);
	o.outer = lower_is_used(t) ? &outer : NULL;
	if (o.outer && lower_open(o.outer))
		code = SANDBOX_FAILED;
	else
		code = sandbox_run(runner_main,
				   (shell ? SANDBOX_INTERACTIVE : 0) |
					   (o.outer ? SANDBOX_SAME_USER : 0),
				   &o);
	netns_close(&outer);
	record_close(&o.record, code);
	return code;
}

static int local_run(struct topology *t, struct arguments *a, const struct sim_options *o, bool sim)
{
	int code;

	if (record_open(&a->record, t, a->argc, a->argv) || record_output(&a->record))
		return EXIT_USAGE;
	code = sim ? sim_main(t, o) : threads_main(t, o->timeout_s, &a->record, &a->report);
	record_close(&a->record, code);
	return code;
}

static int local_main(struct topology *t, struct arguments *a, bool sim)
{
	const struct sim_options o = {
		.report = &a->report,
		.links = a->links,
		.timeout_s = (double)a->timeout,
		.timeline_ns = a->timeline_ns,
		.record = &a->record,
	};
	const bool many = a->seeds.repeat || a->sweep.repeat;

	topology_override(t, a);
	if (topology_check_local(t, sim ? 0 : THREADS_RANKS_MAX, stderr) ||
	    local_check(t, sim ? "tally-fabric sim" : "--fabric inproc"))
		return EXIT_USAGE;
	if ((a->seeds.repeat != NULL) + (a->sweep.repeat != NULL) + (a->timeline_ns != 0) > 1) {
		say_error("--seeds, --sweep (or --workers, --compare) and --timeline: give one of "
			  "them");
		return EXIT_USAGE;
	}
	if (many && (a->record.dir || a->report.dir)) {
		say_error(
			"--pcap, --record and --report are of one run: give none of --seeds, --sweep, "
			"--workers, --compare");
		return EXIT_USAGE;
	}
	if (report_open(&a->report, t))
		return EXIT_USAGE;
	if (sim && a->sweep.repeat)
		return sim_sweep_main(t, &o, &a->sweep);
	if (sim && a->seeds.repeat)
		return sim_seeds_main(t, &o, &a->seeds);
	return local_run(t, a, &o, sim);
}

static int command_main(int argc, char **argv, struct arguments *a)
{
	const char *command = argv[0];
	bool shell = strcmp(command, "shell") == 0, run = strcmp(command, "run") == 0;
	struct topology *t;
	int rc;

	if (strcmp(command, "enter") == 0 && argc > 1 && !a->keep)
		return enter_main(argv[1], argc > 2 ? argv + 2 : own_shell());
	if (strcmp(command, "enter") == 0) {
		say_error("expected a HOST after enter, and not --keep (see --help)");
		return EXIT_USAGE;
	}
	if (!shell && !run && strcmp(command, "sim") != 0 && strcmp(command, "check") != 0 &&
	    strcmp(command, "draw") != 0) {
		say_error("expected run, sim, check, draw, shell or enter, not '%s' (see --help)",
			  command);
		return EXIT_USAGE;
	}
	if ((a->of_sim && strcmp(command, "sim") != 0) ||
	    (a->of_run && strcmp(command, "run") != 0)) {
		say_error("--%s is an option of tally-fabric %s, not of %s",
			  a->of_sim && strcmp(command, "sim") != 0 ? a->of_sim : a->of_run,
			  a->of_sim && strcmp(command, "sim") != 0 ? "sim" : "run", command);
		return EXIT_USAGE;
	}
	if (a->report.dir && strcmp(command, "run") != 0 && strcmp(command, "sim") != 0) {
		say_error("--report is an option of tally-fabric run and sim, not of %s", command);
		return EXIT_USAGE;
	}
	if (a->keep && ((!run && !shell) || a->inproc)) {
		say_error("--keep is an option of tally-fabric run and shell, with a network of "
			  "namespaces");
		return EXIT_USAGE;
	}
	if (argc < 2 + shell || (!shell && argc > 2)) {
		say_error("expected %s after %s (see --help)",
			  shell ? "a FILE and a HOST" : "one FILE", command);
		return EXIT_USAGE;
	}
	t = topology_load(argv[1], stderr);
	if (!t)
		return EXIT_USAGE;
	if (strcmp(command, "check") == 0)
		rc = check_main(t);
	else if (strcmp(command, "draw") == 0)
		rc = draw_main(t, a);
	else if (strcmp(command, "sim") == 0 || a->inproc)
		rc = local_main(t, a, strcmp(command, "sim") == 0);
	else
		rc = fabric_main(t, a, shell ? argv + 2 : NULL);
	report_free(&a->report);
	topology_free(t);
	return rc;
}

int main(int argc, char **argv)
{
	static struct arguments a;
	int code;

	outfile_keep_standard();
	signal(SIGXFSZ, SIG_IGN); // a file beyond `ulimit -f` is as one on a full disk
	if (arguments_parse(&a, argc, argv))
		return EXIT_USAGE;
	say_init(a.verbose);
	if (a.help || a.version) {
		fputs(a.help ? help : "tally-fabric " TALLY_VERSION_STRING "\n", stdout);
		code = 0;
	} else if (optind == argc) {
		fputs(help, stderr);
		return EXIT_USAGE;
	} else {
		code = command_main(argc - optind, argv + optind, &a);
	}
	if (fflush(stdout) || ferror(stdout)) {
		say_error("standard output could not be written");
		return code ? code : EXIT_FAILURE;
	}
	return code;
}
