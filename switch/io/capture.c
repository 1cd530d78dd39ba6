// SPDX-License-Identifier: BSD-3-Clause
/* capture.c - writes the packets of one port and direction into a pcap file. */
#include "switch/io/capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "switch/io/outfile.h"

enum { CAPTURE_MAX = 65535 };

struct capture {
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	uint8_t frame[CAPTURE_MAX + 1];
};

static void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	if (capture->dumper)
		pcap_dump_close(capture->dumper);
	if (capture->pcap)
		pcap_close(capture->pcap);
	free(capture);
}

struct capture *capture_open(const char *dir, unsigned port, const char *direction,
			     struct port_error *err)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	char path[4096];
	FILE *file;

	if (!capture) {
		port_fail(err, "out of memory");
		return NULL;
	}
	snprintf(path, sizeof(path), "%.4000s/port%u_%s.pcap", dir, port, direction);
	capture->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, CAPTURE_MAX,
							     PCAP_TSTAMP_PRECISION_NANO);
	errno = 0;
	file = capture->pcap ? outfile_open(path, true) : NULL;
	capture->dumper = file ? pcap_dump_fopen(capture->pcap, file) : NULL;
	if (capture->dumper)
		return capture;
	if (file)
		fclose(file);
	port_fail(err, "--pcap %.200s: cannot write port%u_%s.pcap there: %s", dir, port, direction,
		  errno ? outfile_error(errno) : "libpcap refuses");
	capture_free(capture);
	return NULL;
}

void capture_frame(struct capture *capture, const uint8_t *data, uint32_t len)
{
	struct pcap_pkthdr header = { .caplen = len, .len = len };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	header.ts.tv_sec = now.tv_sec;
	/* Nanoseconds, as the precision says. */
	header.ts.tv_usec = now.tv_nsec;
	pcap_dump((u_char *)capture->dumper, &header, data);
}

void capture_payload(struct capture *capture, const struct frame_udp *udp, const struct pkt *pkt)
{
	size_t len;

	/* A payload so large that no frame holds it with its headers cannot be written. */
	if (pkt->len > CAPTURE_MAX - FRAME_HEADERS)
		return;
	memcpy(capture->frame + FRAME_HEADERS, pkt->data, pkt->len);
	len = frame_udp_build(capture->frame, udp, pkt->len);
	if (len)
		capture_frame(capture, capture->frame, (uint32_t)len);
}

void capture_flush(struct capture *capture)
{
	(void)!pcap_dump_flush(capture->dumper);
}

int capture_close(struct capture *capture)
{
	bool bad;

	if (!capture)
		return 0;
	bad = pcap_dump_flush(capture->dumper) != 0 || ferror(pcap_dump_file(capture->dumper));
	capture_free(capture);
	return bad ? -1 : 0;
}
