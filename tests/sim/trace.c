// SPDX-License-Identifier: BSD-3-Clause
// trace.c - a run as a hash, as text, and as a capture file.
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/print.h"
#include "tests/sim/sim.h"

static void trace_hash(struct world *w, uint64_t a, uint64_t b)
{
	uint64_t z = (w->trace.hash ^ a) * UINT64_C(0xbf58476d1ce4e5b9) + b;

	w->trace.hash = z ^ z >> 29;
}

static char node_letter(const struct world *w, unsigned n)
{
	return "hsf"[w->node[n].kind];
}

static void trace_time(const struct world *w)
{
	printf("%12.6f ms  ", (double)(w->now_ns - SIM_SECOND) / 1e6);
}

static void trace_print(const struct world *w, const char *what, const struct packet *p)
{
	struct wire_status st;
	struct wire_msg msg;
	char text[256] = "port unreachable";
	enum wire_error error = p->unreachable ? WIRE_OK : wire_parse(&msg, p->data, p->len);

	if (error != WIRE_OK) {
		snprintf(text, sizeof(text), "not a message: %s", print_wire_error(error));
	} else if (!p->unreachable) {
		size_t len = print_msg(text, sizeof(text), &msg);

		if (msg.type == WIRE_STATUS && wire_status_parse(&st, &msg) == WIRE_OK)
			snprintf(text + len, sizeof(text) - len, " %s, %s", print_state(st.state),
				 print_cause(st.cause));
	}
	trace_time(w);
	printf("%c%u:%u > %c%u:%u %s%s%s%s%s\n", node_letter(w, p->from), p->from, p->src_port,
	       node_letter(w, p->to), p->to, p->dst_port, what, p->corrupt ? "corrupt " : "",
	       p->flipped ? "corrupt, unseen by UDP: " : "", p->foe ? "a stranger's " : "", text);
}

static void trace_dump(struct world *w, const struct packet *p)
{
	uint8_t frame[FRAME_HEADERS + SIM_ROOM];
	struct frame_udp udp = { .dst = { 2, 0, 0, 0, 0, p->to },
				 .src = { 2, 0, 0, 0, 0, p->from },
				 .ip_src = SIM_IP + p->from,
				 .ip_dst = SIM_IP + p->to,
				 .port_src = p->src_port,
				 .port_dst = p->dst_port };
	struct pcap_pkthdr header = { .ts = { .tv_sec = (time_t)(w->now_ns / SIM_SECOND),
					      .tv_usec = (suseconds_t)(w->now_ns % SIM_SECOND) } };

	memcpy(frame + FRAME_HEADERS, p->data, p->len);
	header.len = header.caplen = (bpf_u_int32)frame_udp_build(frame, &udp, p->len);
	if (p->corrupt) /* shows as a wrong checksum */
		frame[FRAME_HEADERS - 1] ^= 0x55;
	pcap_dump(w->trace.dump, &header, frame);
}

/* At its arrival. */
void trace_packet(struct world *w, const char *what, const struct packet *p)
{
	uint64_t a = 0, b = 0;

	if (p->len >= 16) {
		memcpy(&a, p->data, sizeof(a));
		memcpy(&b, p->data + p->len / 2, sizeof(b));
	}
	trace_hash(w, w->now_ns ^ (uint64_t)p->from << 56 ^ (uint64_t)p->to << 48,
		   a ^ b << 1 ^ p->len);
	if (w->trace.text)
		trace_print(w, what, p);
	if (w->trace.dump && !p->unreachable)
		trace_dump(w, p);
}

void trace_note(struct world *w, const char *what, unsigned who, uint64_t detail)
{
	trace_hash(w, w->now_ns ^ (uint64_t)who << 56, detail);
	if (!w->trace.text)
		return;
	trace_time(w);
	printf("-- %s: %c%u %lu\n", what, node_letter(w, who), who, (unsigned long)detail);
}

int trace_open(struct trace *trace, const char *path)
{
	trace->pcap =
		pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	if (!trace->pcap)
		return -1;
	trace->dump = pcap_dump_open(trace->pcap, path);
	if (trace->dump)
		return 0;
	fprintf(stderr, "sim: %s\n", pcap_geterr(trace->pcap));
	pcap_close(trace->pcap);
	trace->pcap = NULL;
	return -1;
}

void trace_close(struct trace *trace)
{
	if (!trace->dump)
		return;
	pcap_dump_close(trace->dump);
	pcap_close(trace->pcap);
	trace->dump = trace->pcap = NULL;
}
