// SPDX-License-Identifier: BSD-3-Clause
/* conf.c - the options of tally-switch: one table parses, validates and documents them. */
#include "switch/conf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"
#include "switch/core/add.h"
#include "switch/ctl_path.h"
#include "switch/io/capfile.h"
#include "switch/io/outfile.h"
#include "switch/log.h"
#include "switch/quantity.h"

#define CONF_SIZE_MAX (UINT64_C(1) << 40)

struct conf_option {
	const char *name; /* without dashes */
	char letter;	  /* the short option, or 0 */
	const char *arg;  /* NULL: takes no value */
	const char *help;
	/* Reads the value.  On -1 *err has why, without the option's name. */
	int (*parse)(struct conf *conf, const struct conf_option *option, const char *value,
		     struct port_error *err);
	size_t off;	   /* of the field that generic parsers set */
	uint64_t min, max; /* of numbers */
};

static int conf_u64(const char *value, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 0);
	return !isdigit((unsigned char)value[0]) || *end || errno ? -1 : 0;
}

static int conf_number(struct conf *conf, const struct conf_option *option, const char *value,
		       struct port_error *err)
{
	uint32_t *field = (uint32_t *)(void *)((char *)conf + option->off);
	uint64_t v;

	if (conf_u64(value, &v) || v < option->min || v > option->max)
		return port_fail(err, "must be a number from %llu to %llu",
				 (unsigned long long)option->min, (unsigned long long)option->max);
	*field = (uint32_t)v;
	return 0;
}

static int conf_flag(struct conf *conf, const struct conf_option *option, const char *value,
		     struct port_error *err)
{
	(void)value;
	(void)err;
	*(bool *)((char *)conf + option->off) = true;
	return 0;
}

static int conf_text(struct conf *conf, const struct conf_option *option, const char *value,
		     struct port_error *err)
{
	if (!*value)
		return port_fail(err, "must not be empty");
	*(const char **)(void *)((char *)conf + option->off) = value;
	return 0;
}

static int conf_probability(struct conf *conf, const struct conf_option *option, const char *value,
			    struct port_error *err)
{
	double *field = (double *)(void *)((char *)conf + option->off);

	if (quantity_parse_fraction(value, field))
		return port_fail(err, "must be a probability, as 0.01 or 1%%");
	return 0;
}

static int conf_interface(struct conf *conf, const struct conf_option *option, const char *value,
			  struct port_error *err)
{
	struct port_spec *spec = &conf->ports[conf->nr_ports];

	(void)option;
	if (conf->nr_ports == PORT_MAX)
		return port_fail(err, "there are %d ports already", PORT_MAX);
	if (port_spec_parse(spec, value, err))
		return -1;
	for (unsigned i = 0; i < conf->nr_ports; i++) {
		if (conf->ports[i].number == spec->number)
			return port_fail(err, "port number %u is given twice", spec->number);
		if (port_spec_same(&conf->ports[i], spec))
			return port_fail(err, "port %u has this device already",
					 conf->ports[i].number);
	}
	conf->nr_ports++;
	return 0;
}

/* One station's. */
static int conf_address(const char *value, uint32_t *ip)
{
	struct in_addr addr;

	if (inet_pton(AF_INET, value, &addr) != 1 || addr.s_addr == 0 ||
	    IN_MULTICAST(ntohl(addr.s_addr)) || addr.s_addr == INADDR_BROADCAST)
		return -1;
	*ip = ntohl(addr.s_addr);
	return 0;
}

static int conf_ip(struct conf *conf, const struct conf_option *option, const char *value,
		   struct port_error *err)
{
	(void)option;
	if (conf_address(value, &conf->ip))
		return port_fail(err, "must be one IPv4 address, as 10.0.0.254");
	return 0;
}

static int conf_parent(struct conf *conf, const struct conf_option *option, const char *value,
		       struct port_error *err)
{
	const size_t number = strcspn(value, "@");
	const char *address = value[number] ? value + number + 1 : value;
	const size_t len = strcspn(address, ":");
	uint64_t port = WIRE_PORT, n = 0;
	char ip[INET_ADDRSTRLEN] = "", digits[4] = "";

	(void)option;
	if (len < sizeof(ip))
		memcpy(ip, address, len);
	if (address != value && number < sizeof(digits))
		memcpy(digits, value, number);
	if (conf_address(ip, &conf->parent_ip) ||
	    (address[len] && (conf_u64(address + len + 1, &port) || port < 1 || port > 65535)) ||
	    (address != value && (conf_u64(digits, &n) || n > 255)))
		return port_fail(err, "must be [N@]IP[:PORT], as 10.0.0.254, 10.0.0.254:48880 or, "
				      "behind port 9, 9@10.0.0.254");
	conf->parent_port = (uint16_t)port;
	conf->parent_number = address != value ? (int)n : -1;
	return 0;
}

static int conf_mac(struct conf *conf, const struct conf_option *option, const char *value,
		    struct port_error *err)
{
	const char *p = value;

	(void)option;
	for (unsigned i = 0; i < 6; i++, p += 3) {
		if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]) ||
		    p[2] != (i < 5 ? ':' : '\0'))
			return port_fail(err, "must be a MAC address, as 02:00:00:00:00:01");
		conf->mac[i] = (uint8_t)strtoul(p, NULL, 16);
	}
	if (conf->mac[0] & 1)
		return port_fail(err, "must be the address of one station, not of a group");
	conf->mac_set = true;
	return 0;
}

static int conf_seed(struct conf *conf, const struct conf_option *option, const char *value,
		     struct port_error *err)
{
	(void)option;
	return conf_u64(value, &conf->seed) ? port_fail(err, "must be a number") : 0;
}

static int conf_memory(struct conf *conf, const struct conf_option *option, const char *value,
		       struct port_error *err)
{
	uint64_t v = 0, unit = 1;
	size_t digits = strspn(value, "0123456789");
	const char *suffix = value + digits;

	for (size_t i = 0; i < digits; i++)
		v = v < CONF_SIZE_MAX ? v * 10 + (uint64_t)(value[i] - '0') : CONF_SIZE_MAX + 1;
	if (*suffix) {
		const char *at = strchr("KMG", toupper((unsigned char)*suffix));

		unit = at ? UINT64_C(1) << 10 * (at - "KMG" + 1) : 0;
		suffix++;
	}
	if (!digits || *suffix || !unit || v > option->max / unit || v * unit < option->min)
		return port_fail(err, "must be a size from 64K to 1024G, as 64M");
	conf->memory = v * unit;
	return 0;
}

static int conf_log_level(struct conf *conf, const struct conf_option *option, const char *value,
			  struct port_error *err)
{
	int level = log_level_parse(value);

	(void)option;
	if (level < 0)
		return port_fail(err, "must be none, warn, info or debug");
	conf->log_level = (uint32_t)level;
	return 0;
}

static int conf_poll(struct conf *conf, const struct conf_option *option, const char *value,
		     struct port_error *err)
{
	(void)option;
	conf->spin = strcmp(value, "spin") == 0;
	if (!conf->spin && strcmp(value, "adaptive") != 0)
		return port_fail(err, "must be adaptive or spin");
	return 0;
}

static int conf_add(struct conf *conf, const struct conf_option *option, const char *value,
		    struct port_error *err)
{
	(void)option;
	if (!add_select(value))
		return port_fail(
			err, "is no arithmetic that this CPU runs (known: scalar, avx2, avx512)");
	conf->add = value;
	return 0;
}

static int conf_ctl(struct conf *conf, const struct conf_option *option, const char *value,
		    struct port_error *err)
{
	(void)option;
	/* "@" in front is how names are shown, not a file's place. */
	if ((!strchr(value, '/') || value[0] == '@') && !ctl_path_is_name(value))
		return port_fail(err,
				 "must be a path with a slash, a name of at most %d letters, "
				 "digits, dots, dashes and underscores, or none",
				 CTL_NAME - 1);
	if (strlen(value) >= CTL_PATH)
		return port_fail(err, "is longer than the %d bytes that a socket's path may have",
				 CTL_PATH - 1);
	conf->ctl = value;
	return 0;
}

static int conf_pcap_format(struct conf *conf, const struct conf_option *option, const char *value,
			    struct port_error *err)
{
	int format = capfile_format_parse(value);

	(void)option;
	if (format < 0)
		return port_fail(err, "must be pcap or pcapng");
	conf->pcap_format = (uint32_t)format;
	return 0;
}

static int conf_fd(struct conf *conf, const struct conf_option *option, const char *value,
		   struct port_error *err)
{
	uint64_t v;

	if (conf_u64(value, &v) || v > option->max)
		return port_fail(err, "must be the number of an open file descriptor");
	*(int *)(void *)((char *)conf + option->off) = (int)v;
	return 0;
}

static int conf_impair(struct conf *conf, const struct conf_option *option, const char *value,
		       struct port_error *err)
{
	(void)option;
	if (conf->nr_impairs == CONF_IMPAIRS)
		return port_fail(err, "there are %d of these already", CONF_IMPAIRS);
	if (faults_parse(&conf->impairs[conf->nr_impairs], value, err))
		return -1;
	conf->nr_impairs++;
	return 0;
}

#define OFF(field) offsetof(struct conf, field)
static const struct conf_option conf_options[] = {
	{ "interface", 'i', "N@DEVICE",
	  "a port, its number from 0 to 255; may be given again:", conf_interface, 0, 0, 0 },
	{ "ip", 0, "ADDR",
	  "the switch's address on framed ports (all but udp:): workers' TALLY_SWITCH", conf_ip, 0,
	  0, 0 },
	{ "parent", 0, "[N@]IP[:PORT]",
	  "be a leaf: sums go on to this switch; it is behind port N (whichever it answers at)",
	  conf_parent, 0, 0, 0 },
	{ "mac", 0, "MAC", "its MAC address (02:74 and the IP address)", conf_mac, 0, 0, 0 },
	{ "mtu", 0, "BYTES", "of ports without an interface: memif:, vdev:, pcap:, PCI (1500)",
	  conf_number, OFF(mtu), PORT_MTU_MIN, PORT_MTU_MAX },
	{ "loose-ports", 0, NULL,
	  "a worker is known by IP address and UDP port alone, not also by switch port and MAC",
	  conf_flag, OFF(loose_ports), 0, 0 },
	{ "jobs", 0, "N", "jobs at the same time (64)", conf_number, OFF(jobs), 1, 4096 },
	{ "slots", 0, "N", "slots for all jobs; a job takes 32 + its window (16384)", conf_number,
	  OFF(slots), 33, 1 << 22 },
	{ "memory", 0, "SIZE", "for the slots' values, touched when used (64M)", conf_memory, 0,
	  64 << 10, CONF_SIZE_MAX },
	{ "add", 0, "NAME", "arithmetic: scalar, avx2 or avx512 (the best)", conf_add, 0, 0, 0 },
	{ "poll", 0, "HOW", "adaptive: sleep when idle; spin: never (adaptive)", conf_poll, 0, 0,
	  0 },
	{ "loss", 0, "P", "lose packets on purpose, all ports, both directions; P as 0.01 or 1%",
	  conf_probability, OFF(loss), 0, 0 },
	{ "dup", 0, "P", "duplicate packets on purpose", conf_probability, OFF(dup), 0, 0 },
	{ "reorder", 0, "P", "let packets be overtaken on purpose", conf_probability, OFF(reorder),
	  0, 0 },
	{ "impair", 0, "N:KEY=V,...",
	  "for port N alone: loss, burst, dup, reorder, distance, delay, jitter,\n"
	  "                              rate, queue, corrupt, corrupt-checked, down, dir=in|out|both",
	  conf_impair, 0, 0, 0 },
	{ "seed", 0, "N", "of these faults: the same packets meet the same faults (1)", conf_seed,
	  0, 0, 0 },
	{ "pcap", 0, "DIR", "capture each port and direction: DIR/port1_in.pcap", conf_text,
	  OFF(pcap_dir), 0, 0 },
	{ "pcap-format", 0, "FORMAT", "of these: pcap or pcapng (pcap)", conf_pcap_format, 0, 0,
	  0 },
	{ "totals", 0, "FILE", "write the totals at the end as `key value` lines", conf_text,
	  OFF(totals), 0, 0 },
	{ "ctl", 0, "NAME", "control socket for tallyctl: name, path, or none (tally-PID)",
	  conf_ctl, 0, 0, 0 },
	{ "ctl-fd", 0, "FD", "the control socket, inherited: a listening one", conf_fd, OFF(ctl_fd),
	  0, 1 << 20 },
	{ "log-level", 0, "LEVEL", "none, warn, info or debug (warn)", conf_log_level, 0, 0, 0 },
	{ "ready-fd", 0, "FD", "write one byte there when all ports are up", conf_fd, OFF(ready_fd),
	  0, 1 << 20 },
	{ "file-prefix", 0, "NAME", "DPDK's (tally-PID)", conf_text, OFF(file_prefix), 0, 0 },
	{ "huge", 0, NULL, "use hugepages for packets; without, ordinary memory", conf_flag,
	  OFF(huge), 0, 0 },
	{ "help", 'h', NULL, "print this and exit", conf_flag, OFF(help), 0, 0 },
	{ "version", 'V', NULL, "print the version and exit", conf_flag, OFF(version), 0, 0 },
};
#undef OFF

enum { CONF_OPTIONS = sizeof(conf_options) / sizeof(conf_options[0]) };

void conf_help(FILE *out)
{
	char left[64];

	fprintf(out,
		"Usage: tally-switch -i N@DEVICE [-i N@DEVICE ...] [OPTION ...]\n"
		"Adds up the gradients of data-parallel training jobs on their way through, and switches "
		"ordinary\ntraffic beside them.\n\n");
	for (unsigned i = 0; i < CONF_OPTIONS; i++) {
		const struct conf_option *o = &conf_options[i];

		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
		fprintf(out, "  %-26s  %s\n", left, o->help);
		if (o->parse != conf_interface)
			continue;
		fprintf(out,
			"%30sN@veth1                  a network interface (needs CAP_NET_RAW)\n"
			"%30sN@udp:IP[:PORT]          a kernel UDP socket, port %d: no privilege\n"
			"%30sN@memif:SOCKET           shared memory, this side listens: no privilege\n"
			"%30sN@pcap:IN,OUT            packets of a capture, into another\n"
			"%30sN@vdev:net_NAME,ARGS     any virtual device of DPDK\n"
			"%30sN@0000:3b:00.0           a PCI device bound to vfio-pci\n",
			"", "", WIRE_PORT, "", "", "", "");
	}
	fprintf(out,
		"\nCtrl-C prints totals and ends; SIGUSR1 prints them at any time.  Exit status: 0 done, "
		"1 a port or\nDPDK does not start, 2 a wrong option.\n\n"
		"  tally-switch -i 1@udp:127.0.0.1\n"
		"  tally-switch -i 1@veth1 -i 2@veth2 --ip 10.0.0.254\n");
}

static const struct conf_option *conf_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < CONF_OPTIONS; i++)
		if (strlen(conf_options[i].name) == len &&
		    memcmp(conf_options[i].name, name, len) == 0)
			return &conf_options[i];
	return NULL;
}

static const struct conf_option *conf_find_short(char letter)
{
	for (unsigned i = 0; letter && i < CONF_OPTIONS; i++)
		if (conf_options[i].letter == letter)
			return &conf_options[i];
	return NULL;
}

/* Splits --name=value, --name, -x and -xvalue; *value is NULL if it is not part of arg. */
static const struct conf_option *conf_split(const char *arg, const char **value)
{
	size_t len;

	*value = NULL;
	if (arg[0] != '-' || !arg[1])
		return NULL;
	if (arg[1] != '-') {
		*value = arg[2] ? arg + 2 : NULL;
		return conf_find_short(arg[1]);
	}
	len = strcspn(arg + 2, "=");
	*value = arg[2 + len] ? arg + 3 + len : NULL;
	return conf_find(arg + 2, len);
}

/* Whether there is a framed port of the parent's number. */
static bool conf_framed_port(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nr_ports; i++)
		if ((int)conf->ports[i].number == conf->parent_number)
			return conf->ports[i].form != PORT_UDP;
	return false;
}

/* Nobody is one's own parent, by any of one's addresses. */
static int conf_check_parent(const struct conf *conf, struct port_error *err)
{
	bool own = conf->ip && conf->parent_ip == conf->ip && conf->parent_port == WIRE_PORT;

	for (unsigned i = 0; i < conf->nr_ports; i++)
		own |= conf->ports[i].form == PORT_UDP && conf->ports[i].ip == conf->parent_ip &&
		       conf->ports[i].udp_port == conf->parent_port;
	if (conf->parent_ip && own)
		return port_fail(err, "--parent: this is the switch's own address; give that of "
				      "the switch above it");
	if (conf->parent_ip && conf->parent_number >= 0 && !conf_framed_port(conf))
		return port_fail(err, "--parent %d@...: there is no framed port %d",
				 conf->parent_number, conf->parent_number);
	return 0;
}

/* What is written is nothing that a pcap port reads; option: by which it is written. */
static int conf_check_out(const struct conf *conf, const char *option, const char *out,
			  struct port_error *err)
{
	for (unsigned i = 0; i < conf->nr_ports; i++)
		if (conf->ports[i].form == PORT_PCAP && outfile_is(out, conf->ports[i].dev))
			return port_fail(
				err,
				"%s: would overwrite %.150s, which port %u reads: name another",
				option, conf->ports[i].dev, conf->ports[i].number);
	return 0;
}

static int conf_check_files(const struct conf *conf, struct port_error *err)
{
	const char *suffix = capfile_suffix((enum capfile_format)conf->pcap_format);
	char path[4096];

	if (conf->totals && conf_check_out(conf, "--totals", conf->totals, err))
		return -1;
	for (unsigned i = 0; i < conf->nr_ports; i++) {
		const struct port_spec *spec = &conf->ports[i];

		if (spec->form == PORT_PCAP && conf_check_out(conf, "-i", spec->args, err))
			return -1;
		for (unsigned k = 0; k < 4 && conf->pcap_dir; k++) {
			snprintf(path, sizeof(path), "%.4000s/port%u_%s%s%s", conf->pcap_dir,
				 spec->number, k & 1 ? "out" : "in", suffix,
				 k & 2 ? ".partial" : "");
			if (conf_check_out(conf, "--pcap", path, err))
				return -1;
		}
	}
	return 0;
}

/* Rules between options. */
static int conf_check(struct conf *conf, struct port_error *err)
{
	bool found;

	if (conf->help || conf->version)
		return 0;
	if (!conf->nr_ports)
		return port_fail(err, "no port is given: use -i " PORT_FORMS);
	if (conf_has_framed(conf) && !conf->ip)
		return port_fail(
			err,
			"framed ports need --ip, the address that workers use as TALLY_SWITCH");
	if (conf->ctl && conf->ctl_fd >= 0)
		return port_fail(err, "--ctl-fd: --ctl is given, too: give one of the two");
	if (conf_check_parent(conf, err) || conf_check_files(conf, err))
		return -1;
	for (unsigned i = 0; i < conf->nr_impairs; i++) {
		found = false;
		for (unsigned k = 0; k < conf->nr_ports; k++)
			found |= conf->ports[k].number == conf->impairs[i].number;
		if (!found)
			return port_fail(err, "--impair: there is no port %u",
					 conf->impairs[i].number);
	}
	for (unsigned k = 0; k < conf->nr_ports; k++)
		conf->ports[k].mtu = (uint16_t)conf->mtu;
	for (unsigned i = 0; i < 4 && !conf->mac_set; i++)
		conf->mac[2 + i] = (uint8_t)(conf->ip >> 8 * (3 - i));
	return 0;
}

int conf_parse(struct conf *conf, int argc, char *const *argv, struct port_error *err)
{
	struct port_error why;

	*conf = (struct conf){
		.mac = { 0x02, 0x74 },
		.seed = 1,
		.jobs = 64,
		.slots = 16384,
		.memory = 64 << 20,
		.mtu = PORT_MTU_DEFAULT,
		.log_level = LOG_WARN,
		.ready_fd = -1,
		.ctl_fd = -1,
		.parent_number = -1,
	};
	for (int i = 1; i < argc; i++) {
		const char *value;
		const struct conf_option *o = conf_split(argv[i], &value);

		if (!o && argv[i][0] != '-')
			return port_fail(err,
					 "\"%.100s\" is no option: a port is given by -i, as "
					 "-i 1@udp:127.0.0.1; tally-switch --help lists the options",
					 argv[i]);
		if (!o)
			return port_fail(err,
					 "unknown option \"%.100s\": tally-switch --help lists them",
					 argv[i]);
		if (!o->arg && value)
			return port_fail(err, "--%s takes no value, but has \"%.100s\"", o->name,
					 value);
		if (o->arg && !value && i + 1 < argc)
			value = argv[++i];
		if (o->arg && !value)
			return port_fail(err, "--%s needs a value: %s", o->name, o->arg);
		if (o->parse(conf, o, value, &why))
			return port_fail(err, "--%s %.100s: %.350s", o->name, value, why.text);
	}
	return conf_check(conf, err);
}

void conf_faults(const struct conf *conf, unsigned number, bool out, struct impair_params *params)
{
	*params = (struct impair_params){
		.loss = conf->loss,
		.dup = conf->dup,
		.reorder = conf->reorder,
		/* Far apart: neighbouring ports do not meet each other's faults. */
		.seed = conf->seed ^
			(2 * (uint64_t)number + out + 1) * UINT64_C(0xd1342543de82ef95),
	};
	for (unsigned i = 0; i < conf->nr_impairs; i++) {
		const struct faults_change *impair = &conf->impairs[i];

		if (impair->number == number && (out ? impair->out : impair->in))
			faults_merge(impair, params);
	}
}

bool conf_has_framed(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nr_ports; i++)
		if (port_form_framed(conf->ports[i].form))
			return true;
	return false;
}
