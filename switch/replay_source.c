// SPDX-License-Identifier: BSD-3-Clause
/* replay_source.c - the packets of one capture file, one after the other, through libpcap. */
#include <errno.h>
#include <linux/magic.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "switch/replay.h"

#define SECONDS_MAX (UINT64_MAX / 1000000000) /* what 64 bits of nanoseconds hold */

enum { SOURCE_BUFFER = 1 << 18 }; /* large reads: half the time goes into them */

static const char *name_of(const char *path)
{
	const size_t len = strlen(path);

	/* The end says more than the beginning. */
	return len > 120 ? path + len - 120 : path;
}

static int source_fail(const struct replay_source *source, struct port_error *err, const char *why)
{
	return port_fail(err, "%s: packet %llu: %.300s", name_of(source->path),
			 (unsigned long long)source->next.number, why);
}

int replay_source_step(struct replay_source *source, struct port_error *err)
{
	struct replay_packet *next = &source->next;
	const uint64_t before_ns = next->ns;
	struct pcap_pkthdr *header;
	const u_char *data;
	int rc = pcap_next_ex(source->pcap, &header, &data);

	source->here = false;
	if (rc == PCAP_ERROR_BREAK)
		return 0;
	next->number++;
	if (rc != 1) {
		source->cut = true;
		if (source->partial)
			return 0;
		return port_fail(err,
				 "%s: packet %llu: the file ends inside it, or is broken: %.200s",
				 name_of(source->path), (unsigned long long)next->number,
				 pcap_geterr(source->pcap));
	}
	if (header->ts.tv_sec < 0 || (uint64_t)header->ts.tv_sec >= SECONDS_MAX)
		return port_fail(
			err,
			"%s: packet %llu: its stamp, %lld s since 1970, is not from 1970 to 2554: correct "
			"the capture (editcap -t) first",
			name_of(source->path), (unsigned long long)next->number,
			(long long)header->ts.tv_sec);
	next->ns = (uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec;
	next->data = data;
	next->len = header->caplen;
	next->whole = header->len;
	if (next->whole < next->len)
		return source_fail(source, err,
				   "more bytes are captured than it has: a broken file");
	if (next->number > 1 && next->ns < before_ns)
		return port_fail(
			err,
			"%s: packet %llu: its stamp is %llu ns before that of the packet before it: "
			"sort the capture (reordercap) first",
			name_of(source->path), (unsigned long long)next->number,
			(unsigned long long)(before_ns - next->ns));
	source->here = true;
	return 0;
}

int replay_source_open(struct replay_source *source, const char *path, struct port_error *err)
{
	const size_t len = strlen(path), tail = strlen(".partial");
	char why[PCAP_ERRBUF_SIZE];
	const char *type;
	struct statfs system;
	struct stat st;
	FILE *file;

	*source = (struct replay_source){ .pcap = NULL };
	snprintf(source->path, sizeof(source->path), "%s", path);
	source->partial = len > tail && strcmp(path + len - tail, ".partial") == 0;
	/* One without a name, as a shell's, has somebody who writes; another may wait for him for ever. */
	if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode) && statfs(path, &system) == 0 &&
	    system.f_type != PIPEFS_MAGIC)
		return port_fail(err, "%s: not a regular file: read the pipe by <(cat PIPE)",
				 name_of(path));
	file = fopen(path, "re");
	if (!file)
		return port_fail(err, "%s: no capture that can be read: %s", name_of(path),
				 strerror(errno));
	(void)setvbuf(file, NULL, _IOFBF, SOURCE_BUFFER);
	source->pcap =
		pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
	if (!source->pcap)
		fclose(file);
	if (!source->pcap)
		return port_fail(err, "%s: no capture that can be read: %.200s", name_of(path),
				 why);
	if (pcap_datalink(source->pcap) == DLT_EN10MB)
		return replay_source_step(source, err);
	type = pcap_datalink_val_to_name(pcap_datalink(source->pcap));
	return port_fail(
		err,
		"%s: has packets of link type %s (%d), not Ethernet: capture on an interface, "
		"not on \"any\"",
		name_of(path), type ? type : "unknown", pcap_datalink(source->pcap));
}

void replay_source_close(struct replay_source *source)
{
	if (source->pcap)
		pcap_close(source->pcap);
	source->pcap = NULL;
	source->here = false;
}
