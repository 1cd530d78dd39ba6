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
#include "topologies/result.h"
#include "topologies/runner.h"
#include "topologies/sandbox.h"
#include "topologies/say.h"
#include "topologies/sim.h"
#include "topologies/sim_seeds.h"
#include "topologies/sim_sweep.h"
#include "topologies/threads.h"
#include "topologies/topology.h"
#include "topologies/verb.h"

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
	"Of run, sim and shell:\n"
	"  --loss P             lose this share of the packets on every link, e.g. 1% or 0.01\n"
	"  --dup P              send this share twice\n"
	"  --reorder P          send this share late\n"
	"  --seed N             of the random numbers for these\n"
	"  --mtu N              of every link, 256 to 65535 bytes (1500)\n"
	"  --timeout S          end the ranks, or the shell, after S seconds (default: 400 s after a\n"
	"                       failure; a shell never); sim: seconds of virtual time\n"
	"  --pcap DIR           capture every link at its switches: DIR/h1-s1.in.pcap and so on; of\n"
	"                       sim the stamps are virtual time\n"
	"  --record DIR         the same, and all that is needed to replay the run: tally-replay DIR\n"
	"  --pcap-format F      of --pcap and --record: pcap or pcapng (pcap)\n"
	"Of run and sim:\n"
	"  --report DIR         DIR/report.html, a page about the run with plots\n"
	"  --timeline T         with --report, the interval of the page, such as 10ms; of sim also\n"
	"                       print the packets sent and sent again in each T\n"
	"Of run:\n"
	"  --fabric netns       namespaces (default)\n"
	"  --fabric inproc      a thread for each rank and switch instead of a network\n"
	"Of run, with namespaces, and shell:\n"
	"  --driver af_packet   a switch has a packet port per link (default)\n"
	"  --driver udp         a switch has one UDP socket; offloads stay on\n"
	"  --keep               the network stays afterwards, until Enter or Ctrl-C\n"
	"Of sim:\n"
	"  --link-rate R        of links without a rate of their own (100G)\n"
	"  --link-delay T       of links without a delay of their own (1us)\n"
	"  --seeds A..B         once with each of these seeds, on all CPUs, and a summary\n"
	"  --sweep KEY=V,V,...  once with each value, on all CPUs, and a table; KEY: rate, delay or\n"
	"                       loss of all links, window or chunk of all ranks, or workers\n"
	"  --sweep none         one run, also of a file that asks for a table\n"
	"  --workers N,N,...    the same as --sweep workers=N,N,...: the job's first N ranks\n"
	"  --compare            a ring and a parameter server on the same links beside it\n"
	"Of draw:\n"
	"  -o, --output OUT     the picture's file (standard output)\n"
	"  --format svg|dot     of the picture (by the end of its name; dot)\n"
	"Of run, sim, shell and enter:\n"
	"  -v, --verbose        show the steps, and what all ranks and switches print\n"
	"Of all:\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n"
	"An option of other commands is refused.\n"
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
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

struct arguments {
	double loss, dup, reorder; /* < 0: not given */
	bool seed_given, udp, inproc, keep, verbose, help, version;
	bool given[OPTIONS]; /* of options[] */
	bool once;	     /* --sweep none */
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
		a->seeds.repeat = a->again;
		if (sim_seeds_parse(&a->seeds, optarg))
			return value_bad("seeds", optarg,
					 "a range such as 1..100, of up to a million numbers below "
					 "18446744073709551616");
		return 0;
	case OPTION_WORKERS:
	case OPTION_SWEEP:
		if (a->sweep.nr || a->once)
			return say_error("--sweep and --workers: give one list of values");
		a->once = strcmp(optarg, "none") == 0;
		if (a->once)
			return 0;
		a->sweep.repeat = a->again;
		return c == OPTION_SWEEP ? sim_sweep_parse(&a->sweep, optarg)
					 : sim_sweep_parse_workers(&a->sweep, optarg);
	case OPTION_COMPARE:
		a->sweep.repeat = a->again;
		a->sweep.compare = true;
		return 0;
	case OPTION_TIMELINE:
		if (faults_parse_time(optarg, &a->timeline_ns) || !a->timeline_ns)
			return value_bad("timeline", optarg, "a time such as 10ms or 100us");
		return 0;
	case OPTION_LINK_RATE:
		if (faults_parse_rate(optarg, &a->links.rate) || !a->links.rate)
			return value_bad("link-rate", optarg,
					 "bits a second such as 100G or 25Gbit");
		return 0;
	default: // OPTION_LINK_DELAY
		if (faults_parse_time(optarg, &a->links.delay_ns))
			return value_bad("link-delay", optarg, "a time such as 1us or 500ns");
		return 0;
	}
}

static int fabric_take(struct arguments *a)
{
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
	for (int c; (c = getopt_long(argc, argv, "vhVo:", options, NULL)) != -1;) {
		if (argument_take(a, c))
			return -1;
		for (int i = 0; i < OPTIONS; i++)
			a->given[i] |= options[i].name && options[i].val == c;
	}
	a->report.interval_ns = a->timeline_ns;
	return 0;
}

static bool is_given(const struct arguments *a, int option)
{
	for (int i = 0; i < OPTIONS; i++)
		if (options[i].val == option)
			return a->given[i];
	return false;
}

// Two that say the same, of which one would be without effect.
static int options_meet(const struct arguments *a)
{
	static const struct {
		enum sim_sweep_key key;
		int option;
	} swept[] = { { SIM_SWEEP_RATE, OPTION_LINK_RATE },
		      { SIM_SWEEP_DELAY, OPTION_LINK_DELAY },
		      { SIM_SWEEP_LOSS, OPTION_LOSS } };

	if (a->seeds.repeat && a->seed_given)
		return say_error("--seed and --seeds: give one of them");
	for (size_t i = 0; i < sizeof(swept) / sizeof(swept[0]); i++)
		if (a->sweep.nr && a->sweep.key == swept[i].key && is_given(a, swept[i].option))
			return say_error("--sweep sets what another option sets, too, the %s: give "
					 "one of them",
					 swept[i].key == SIM_SWEEP_RATE	   ? "rate of links"
					 : swept[i].key == SIM_SWEEP_DELAY ? "delay of links"
									   : "--loss");
	return a->once && a->sweep.compare
		       ? say_error("--sweep none and --compare: give one of them")
		       : 0;
}

// Nothing is accepted that then would do nothing.
static int options_check(const struct arguments *a, enum verb verb)
{
	for (int i = 0; i < OPTIONS; i++)
		if (a->given[i] && verb_option_check(verb, options[i].name))
			return -1;
	if (is_given(a, OPTION_PCAP_FORMAT) && !a->record.dir)
		return say_error("--pcap-format is of captures: add --pcap DIR or --record DIR");
	if (a->timeline_ns && verb != VERB_SIM && !a->report.dir)
		return say_error("--timeline of tally-fabric run is the interval of its page: add "
				 "--report DIR");
	return options_meet(a);
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

	if (record_open(&a->record, t, a->argc, a->argv) || result_output(&a->record))
		return EXIT_USAGE;
	code = sim ? sim_main(t, o) : threads_main(t, o->timeout_s, &a->record, &a->report);
	record_close(&a->record, code);
	return code;
}

// What the file asks for, if no option asks for something else.
static int sweep_of_file(const struct topology *t, struct arguments *a)
{
	const struct topology_list *workers = &t->sim.workers;
	char text[TOPOLOGY_SIM_WORKERS * 5 + 1];
	size_t len = 0;
	uint64_t nr = 0;

	if (a->once || a->seeds.repeat || a->sweep.repeat || a->timeline_ns || a->record.dir ||
	    a->report.dir || (!workers->nr && !t->sim.compare))
		return 0;
	a->sweep.repeat = a->again;
	a->sweep.compare = t->sim.compare;
	for (unsigned int i = 0; i < workers->nr; i++) {
		(void)topology_number_parse(workers->item[i], 2, TOPOLOGY_RANKS_MAX, &nr);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u", i ? "," : "",
					(unsigned int)nr);
	}
	say_line("the file asks for this table; one run and all that it tells: --sweep none");
	return workers->nr ? sim_sweep_parse_workers(&a->sweep, text) : 0;
}

// Links that have their own are not changed by these.
static int link_options_check(const struct topology *t, const struct arguments *a)
{
	unsigned int nr_rates = 0, nr_delays = 0;

	for (unsigned int i = 0; i < t->nr_links; i++) {
		nr_rates += t->link[i].rate_bps != 0;
		nr_delays += t->link[i].delay_given;
	}
	if (is_given(a, OPTION_LINK_RATE) && nr_rates == t->nr_links)
		return say_error("--link-rate: all links of %s have a rate of their own: use "
				 "--sweep rate=RATE",
				 t->path);
	if (is_given(a, OPTION_LINK_DELAY) && nr_delays == t->nr_links)
		return say_error("--link-delay: all links of %s have a delay of their own: use "
				 "--sweep delay=TIME",
				 t->path);
	return 0;
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
	bool many;

	if (sim && (link_options_check(t, a) || sweep_of_file(t, a)))
		return EXIT_USAGE;
	many = a->seeds.repeat || a->sweep.repeat;
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

static int topology_main(struct arguments *a, enum verb verb, char **words)
{
	struct topology *t = topology_load(words[0], stderr);
	int rc;

	if (!t)
		return EXIT_USAGE;
	if (verb == VERB_CHECK)
		rc = check_main(t);
	else if (verb == VERB_DRAW)
		rc = draw_main(t, a);
	else if (verb == VERB_SIM || verb == VERB_INPROC)
		rc = local_main(t, a, verb == VERB_SIM);
	else
		rc = fabric_main(t, a, verb == VERB_SHELL ? words + 1 : NULL);
	report_free(&a->report);
	topology_free(t);
	return rc;
}

static int command_main(int argc, char **argv, struct arguments *a)
{
	enum verb verb = (enum verb)verb_find(argv[0]);
	bool shell = verb == VERB_SHELL;

	if (!verb) {
		say_error("expected run, sim, check, draw, shell or enter, not '%s' (see --help)",
			  argv[0]);
		return EXIT_USAGE;
	}
	if (verb == VERB_RUN && a->inproc)
		verb = VERB_INPROC;
	if (options_check(a, verb))
		return EXIT_USAGE;
	if (verb == VERB_ENTER && argc > 1)
		return enter_main(argv[1], argc > 2 ? argv + 2 : own_shell());
	if (argc < 2 + shell || (!shell && argc > 2)) {
		say_error("expected %s after %s (see --help)",
			  shell		       ? "a FILE and a HOST"
			  : verb == VERB_ENTER ? "a HOST"
					       : "one FILE",
			  argv[0]);
		return EXIT_USAGE;
	}
	return topology_main(a, verb, argv + 1);
}

int main(int argc, char **argv)
{
	static struct arguments a; // a stack may be small
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
