// SPDX-License-Identifier: BSD-3-Clause
/* journal.c - what a capture cannot hold and a replay has to know, as lines of text beside the captures. */
#include "switch/journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "switch/conf.h"
#include "switch/io/outfile.h"
#include "switch/lcore.h"

struct journal {
	FILE *file;
	bool begun; /* how the switch was set up is there */
};

struct journal *journal_open(const char *dir, struct port_error *err)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	char path[4096];

	snprintf(path, sizeof(path), "%.4000s/" JOURNAL_FILE, dir);
	if (journal)
		journal->file = outfile_open(path, false);
	/* Emptied by the one that has it. */
	if (journal && journal->file && outfile_lock(fileno(journal->file)) &&
	    ftruncate(fileno(journal->file), 0) == 0)
		return journal;
	port_fail(err, "--pcap %.200s: cannot write " JOURNAL_FILE " there: %s", dir,
		  !journal		 ? "out of memory"
		  : errno == EWOULDBLOCK ? "another switch captures there: name another directory"
					 : outfile_error(errno));
	if (journal && journal->file)
		fclose(journal->file);
	free(journal);
	return NULL;
}

static void address_print(FILE *file, const char *key, uint32_t ip)
{
	fprintf(file, "%s%u.%u.%u.%u", key, ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

static bool port_spoils(const struct lcore_port *p)
{
	return p->in.impair.params.corrupt > 0 || p->in.impair.params.corrupt_checked > 0;
}

/* A packet socket's frames may have half a checksum; one that was spoilt on purpose is known to be wrong. */
static const char *port_checks(const struct lcore_port *p)
{
	if (!strstr(p->port.driver, "af_packet"))
		return "yes";
	return port_spoils(p) ? "some" : "no";
}

static void port_print(FILE *file, const struct lcore_port *p)
{
	const struct port_spec *spec = &p->port.spec;

	fprintf(file, "port %u ", spec->number);
	if (p->port.framed) {
		fprintf(file, "framed mtu %u checksums %s", p->port.mtu, port_checks(p));
	} else {
		address_print(file, "socket ", spec->ip);
		fprintf(file, ":%u", spec->udp_port);
	}
	fprintf(file, " device %s\n", spec->text);
}

void journal_setup(struct journal *journal, const struct lcore *lcore,
		   const struct pipe_params *params, const char *suffix)
{
	FILE *file = journal->file;
	const struct flow *parent = &lcore->parent.flow;

	journal->begun = true;
	fprintf(file, JOURNAL_TITLE "\nversion " TALLY_VERSION "\nsuffix %s\n", suffix);
	if (lcore->clock)
		fputs("clock virtual\n", file);
	fprintf(file, "jobs %u\nslots %u\nmemory %zu\nchunk %u\nchunk-check %u\nstrict-ports %u\n",
		params->jobs_max, params->slots_max, params->values_bytes, params->p_max,
		params->p_check, params->strict_ports);
	address_print(file, "ip ", lcore->ip);
	fprintf(file, "\nmac %02x:%02x:%02x:%02x:%02x:%02x\n", lcore->mac[0], lcore->mac[1],
		lcore->mac[2], lcore->mac[3], lcore->mac[4], lcore->mac[5]);
	if (lcore->parent.active) {
		address_print(file, "parent ", parent->ip);
		fprintf(file, ":%u from %u", parent->udp_port, params->parent_from);
		if (lcore->parent.uplink != PARENT_NO_PORT)
			fprintf(file, " port %u",
				lcore->ports[lcore->parent.uplink].port.spec.number);
		fprintf(file, "\nincarnation %016llx\n", (unsigned long long)params->inc);
	}
	for (unsigned i = 0; i < lcore->nr_ports; i++)
		port_print(file, &lcore->ports[i]);
	fflush(file);
}

void journal_note(struct journal *journal, const struct lcore *lcore, const char *fmt, ...)
{
	va_list ap;

	if (!journal)
		return;
	fprintf(journal->file, "at %llu ", (unsigned long long)lcore_wall_ns(lcore));
	va_start(ap, fmt);
	vfprintf(journal->file, fmt, ap);
	va_end(ap);
	fputc('\n', journal->file);
	fflush(journal->file);
}

int journal_close(struct journal *journal, const struct lcore *lcore)
{
	bool bad;

	if (!journal)
		return 0;
	if (!journal->begun)
		fputs(JOURNAL_TITLE "\n", journal->file);
	if (!lcore->served)
		fputs(JOURNAL_UNBEGUN "\n", journal->file);
	if (journal->begun)
		journal_note(journal, lcore, "end");
	bad = ferror(journal->file) != 0;
	bad |= fclose(journal->file) != 0;
	free(journal);
	return bad ? -1 : 0;
}
