// SPDX-License-Identifier: BSD-3-Clause
/* make.c - makes the golden captures: one small scenario each, of which tests/replay/check.sh replays what is committed. */
#include <stdio.h>
#include <string.h>

#include "tests/replay/stage.h"

enum { IP = 0x0a0000fe, IP_LEAF = 0x0a0000fd, IP_LEAF_2 = 0x0a0000fc, LANE_D = WIRE_SE };
static struct node node, leaf, leaf_2;
static struct rank r[STAGE_RANKS];

static void begin(const char *name, unsigned nr)
{
	const struct node_plan plan = { .name = name, .nr_ports = nr, .ip = IP };

	node_begin(&node, &plan);
}

static void two(const char *name)
{
	begin(name, 2);
	for (unsigned i = 0; i < 2; i++)
		rank_begin(&r[i], &node, i, (uint16_t)i, 2);
	ranks_join(r, 2);
}

static void two_leave(void)
{
	rank_say(&r[0], WIRE_LEAVE, NULL);
	rank_say(&r[1], WIRE_LEAVE, NULL);
	node_end(&node);
}

static const struct chunk d0 = { .slot = LANE_D }, d0r1 = { .slot = LANE_D, .round = 1 },
			  d0r2 = { .slot = LANE_D, .round = 2 };

/* Three ranks, both lanes, two rounds, an empty contribution. */
static void case_sums(void)
{
	const struct chunk chunks[] = {
		{ .slot = 0, .kind = WIRE_MAX8 },
		{ .slot = LANE_D, .kind = WIRE_ADD32 },
		{ .slot = LANE_D + 1 },
		{ .slot = LANE_D + 3, .kind = WIRE_MAX32 },
		{ .slot = LANE_D, .round = 1 },
		{ .slot = LANE_D + 1, .round = 1, .len = 64 },
		{ .slot = 1, .kind = WIRE_MAX8, .len = 128 },
	};
	const struct chunk empty = { .slot = LANE_D + 2, .flags = WIRE_EMPTY, .len = WIRE_PAD };
	struct chunk full = empty;

	begin("sums", 3);
	for (unsigned i = 0; i < 3; i++)
		rank_begin(&r[i], &node, i, (uint16_t)i, 3);
	ranks_join(r, 3);
	for (unsigned i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++)
		ranks_data(r, 3, &chunks[i]);
	full.flags = 0;
	rank_data(&r[0], &empty);
	rank_data(&r[1], &full);
	rank_data(&r[2], &empty);
	rank_say(&r[2], WIRE_LEAVE, NULL);
	two_leave();
}

static void case_int16(void)
{
	const struct chunk chunk = { .slot = LANE_D, .kind = WIRE_ADD16 };

	two("int16");
	ranks_data(r, 2, &chunk);
	two_leave();
}

static void case_saturating(void)
{
	const struct chunk chunk = { .slot = LANE_D + 1, .kind = WIRE_ADD32SAT };

	two("saturating");
	ranks_data(r, 2, &chunk);
	two_leave();
}

/* Lost on the way there, and on the way back. */
static void case_loss(void)
{
	two("loss");
	rank_data(&r[0], &d0);
	stage_wait_us(3000);
	rank_data(&r[0], &d0);
	rank_data(&r[1], &d0);
	stage_wait_us(3000);
	rank_data(&r[1], &d0);
	ranks_data(r, 2, &d0r1);
	two_leave();
}

static void case_duplicates(void)
{
	two("duplicates");
	for (unsigned i = 0; i < 3; i++)
		rank_data(&r[0], &d0);
	rank_data(&r[1], &d0);
	rank_data(&r[1], &d0);
	ranks_data(r, 2, &d0r1);
	ranks_data(r, 2, &d0r2);
	/* From two rounds ago. */
	rank_data(&r[0], &d0);
	two_leave();
}

static void case_restart_worker(void)
{
	two("restart-worker");
	rank_data(&r[0], &d0);
	r[1].inc += 0x100;
	r[1].base = 0;
	r[1].state = 0;
	rank_join(&r[1]);
	stage_wait_us(2000);
	rank_join(&r[1]);
	/* It does not know yet. */
	rank_data(&r[0], &d0);
	r[0].state = 0;
	ranks_join(r, 2);
	ranks_data(r, 2, &d0);
	two_leave();
}

/* What the life before knew is not here. */
static void case_restart_switch(void)
{
	begin("restart-switch", 2);
	for (unsigned i = 0; i < 2; i++) {
		rank_begin(&r[i], &node, i, (uint16_t)i, 2);
		r[i].job = 0x4711;
		r[i].epoch = r[i].base = UINT64_C(1789999999000);
	}
	rank_data(&r[0], &d0r2);
	rank_say(&r[1], WIRE_KEEPALIVE, &d0r2);
	rank_say(&r[1], WIRE_END, NULL);
	ranks_join(r, 2);
	ranks_data(r, 2, &d0);
	two_leave();
}

static void case_mismatch(void)
{
	const struct chunk other = { .slot = LANE_D, .desc = 0x0bad0002 };

	two("mismatch");
	rank_data(&r[0], &d0);
	rank_data(&r[1], &other);
	rank_end(&r[0], WIRE_CAUSE_MISMATCH);
	r[0].state = r[1].state = 0;
	ranks_join(r, 2);
	ranks_data(r, 2, &d0);
	rank_end(&r[1], WIRE_CAUSE_MISMATCH);
	node_end(&node);
}

static void case_abort(void)
{
	two("abort");
	rank_data(&r[0], &d0);
	rank_end(&r[1], WIRE_CAUSE_ABORTED);
	rank_data(&r[0], &d0);
	stage_wait_us(1500);
	rank_data(&r[0], &d0);
	two_leave();
}

static void case_leave(void)
{
	two("leave");
	ranks_data(r, 2, &d0);
	rank_say(&r[1], WIRE_LEAVE, NULL);
	/* Still its result, but nothing new without it. */
	rank_data(&r[0], &d0);
	rank_data(&r[0], &d0r1);
	rank_say(&r[0], WIRE_LEAVE, NULL);
	node_end(&node);
}

static void case_stall(void)
{
	two("stall");
	rank_data(&r[0], &d0);
	for (unsigned i = 0; i < 4; i++) {
		stage_wait_us(700000);
		rank_say(&r[0], WIRE_KEEPALIVE, &d0);
	}
	rank_data(&r[1], &d0);
	two_leave();
}

static void case_check_close(void)
{
	struct chunk spoilt = d0;

	begin("check-close", 2);
	for (unsigned i = 0; i < 2; i++) {
		rank_begin(&r[i], &node, i, (uint16_t)i, 2);
		r[i].flags = WIRE_JOB_CHECK;
	}
	ranks_join(r, 2);
	spoilt.spoilt = true;
	rank_data(&r[0], &d0);
	rank_data(&r[1], &spoilt);
	rank_data(&r[1], &d0);
	rank_say(&r[0], WIRE_KEEPALIVE, &d0r1);
	rank_end(&r[1], WIRE_CAUSE_CORRUPTED);
	two_leave();
}

static void case_refusal(void)
{
	begin("refusal", 3);
	for (unsigned i = 0; i < 3; i++)
		rank_begin(&r[i], &node, i, (uint16_t)i, 2);
	ranks_join(r, 2);
	/* Another size of the job, another taste for checks, and a rank that is taken. */
	r[2].wid = 2;
	r[2].world = 3;
	r[2].ranges[0].nr = 3;
	rank_join(&r[2]);
	r[2].wid = 1;
	r[2].world = 2;
	r[2].ranges[0].nr = 2;
	r[2].flags = WIRE_JOB_CHECK;
	stage_wait_us(2000);
	rank_join(&r[2]);
	r[2].flags = 0;
	stage_wait_us(2000);
	rank_join(&r[2]);
	two_leave();
}

static void case_no_slots(void)
{
	const struct node_plan plan = { .name = "no-slots", .nr_ports = 2, .ip = IP, .slots = 40 };

	node_begin(&node, &plan);
	for (unsigned i = 0; i < 2; i++) {
		rank_begin(&r[i], &node, i, (uint16_t)i, 1);
		r[i].ranges[0] = (struct wire_range){ 0, 1 };
		r[i].wid = 0;
		r[i].name = i ? "second" : "golden";
	}
	ranks_join(r, 1);
	for (unsigned i = 0; i < 4; i++) {
		rank_join(&r[1]);
		stage_wait_us(30000);
	}
	rank_say(&r[0], WIRE_LEAVE, NULL);
	ranks_join(r + 1, 1);
	rank_say(&r[1], WIRE_LEAVE, NULL);
	node_end(&node);
}

static void case_version(void)
{
	uint8_t buf[WIRE_HEADER + WIRE_BODY] = { 2 << 4 | WIRE_JOIN, 0 };

	two("version");
	rank_payload(&r[0], buf, sizeof(buf));
	buf[0] = 2 << 4 | WIRE_DATA;
	rank_payload(&r[1], buf, sizeof(buf));
	two_leave();
}

static void case_unreachable(void)
{
	two("unreachable");
	rank_data(&r[0], &d0);
	rank_unreachable(&r[1]);
	rank_data(&r[0], &d0);
	rank_say(&r[0], WIRE_LEAVE, NULL);
	node_end(&node);
}

/* A udp port, which is told of such by its kernel; and pcapng. */
static void case_socket(void)
{
	const struct node_plan plan = {
		.name = "socket", .nr_ports = 1, .ip = IP, .socket = true, .ng = true
	};

	node_begin(&node, &plan);
	for (unsigned i = 0; i < 2; i++)
		rank_begin(&r[i], &node, 0, (uint16_t)i, 2);
	ranks_join(r, 2);
	ranks_data(r, 2, &d0);
	rank_data(&r[1], &d0r1);
	rank_unreachable(&r[0]);
	rank_say(&r[1], WIRE_LEAVE, NULL);
	node_end(&node);
}

static void case_two_jobs(void)
{
	begin("two-jobs", 4);
	for (unsigned i = 0; i < 4; i++) {
		rank_begin(&r[i], &node, i, (uint16_t)(i & 1), 2);
		r[i].name = i < 2 ? "golden" : "other";
		r[i].inc = 0x2000 + i;
	}
	ranks_join(r, 2);
	ranks_join(r + 2, 2);
	rank_data(&r[0], &d0);
	rank_data(&r[2], &d0);
	rank_data(&r[3], &d0);
	rank_data(&r[1], &d0);
	/* The other job's rank in this one's epoch. */
	r[2].job = r[0].job;
	r[2].epoch = r[0].epoch;
	rank_data(&r[2], &d0r1);
	two_leave();
}

/* Ranks 0 and 1 below one leaf, rank 2 below another. */
static void tree_begin(void)
{
	static const struct node_plan plans[] = {
		{ .name = "tree-root", .nr_ports = 2, .ip = IP },
		{ .name = "tree-leaf", .nr_ports = 3, .ip = IP_LEAF, .parent = IP },
		{ .name = "tree-leaf-2", .nr_ports = 2, .ip = IP_LEAF_2, .parent = IP },
	};

	node_begin(&node, &plans[0]);
	node_begin(&leaf, &plans[1]);
	node_begin(&leaf_2, &plans[2]);
	node_link(&leaf, 2, &node, 0);
	node_link(&leaf_2, 1, &node, 1);
	for (unsigned i = 0; i < 3; i++) {
		rank_begin(&r[i], i < 2 ? &leaf : &leaf_2, i % 2, (uint16_t)i, 3);
		r[i].ranges[0] = i < 2 ? (struct wire_range){ 0, 2 } : (struct wire_range){ 2, 1 };
		r[i].ranges[1] = (struct wire_range){ 0, 3 };
		r[i].nr_ranges = 2;
	}
}

static void case_tree(void)
{
	tree_begin();
	ranks_join(r, 3);
	ranks_data(r, 3, &d0);
	ranks_data(r, 3, &d0r1);
	rank_data(&r[0], &d0r1);
	rank_data(&r[0], &d0r2);
	rank_say(&r[0], WIRE_KEEPALIVE, &d0r2);
	stage_wait_us(15000);
	rank_data(&r[1], &d0r2);
	rank_data(&r[1], &d0r2);
	rank_data(&r[2], &d0r2);
	rank_end(&r[2], WIRE_CAUSE_ABORTED);
	r[0].state = r[1].state = r[2].state = 0;
	ranks_join(r, 3);
	ranks_data(r, 3, &d0);
	for (unsigned i = 0; i < 3; i++)
		rank_say(&r[i], WIRE_LEAVE, NULL);
	node_end(&leaf_2);
	node_end(&leaf);
	node_end(&node);
}

/* Frames that are nothing for the aggregation, or that are broken. */
static void stray_frames(const struct rank *rank)
{
	static const uint8_t v6[80] = { 0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 1, 9, 0x86, 0xdd, 0x60 };
	struct frame_udp udp = rank_address(rank);
	uint8_t frame[256] = { 0 };
	size_t len;

	len = frame_arp_request(frame, udp.src, udp.ip_src, udp.ip_dst);
	node_frame(rank->node, rank->port, frame, len);
	len = frame_arp_request(frame, udp.src, udp.ip_src, udp.ip_src + 1);
	node_frame(rank->node, rank->port, frame, len);
	node_frame(rank->node, rank->port, v6, sizeof(v6));
	node_frame(rank->node, rank->port, v6, 10);
	udp.port_dst = 53;
	memset(frame, 0x41, sizeof(frame));
	len = frame_udp_build(frame, &udp, 37);
	node_frame(rank->node, rank->port, frame, len);
	frame[FRAME_ETH + 6] = 0x20; /* a fragment; its header's checksum is right again */
	wire_put16(frame + FRAME_ETH + 10, 0);
	wire_put16(frame + FRAME_ETH + 10,
		   frame_checksum_fold(frame_checksum_add(0, frame + FRAME_ETH, FRAME_IPV4)));
	node_frame(rank->node, rank->port, frame, len);
	frame[FRAME_ETH + 10] ^= 0xff;
	node_frame(rank->node, rank->port, frame, len);
	memcpy(frame, r[1 - rank->wid].node->lcore.mac, FRAME_MAC);
	udp.ip_dst++;
	memcpy(udp.dst, (uint8_t[]){ 2, 0, 0, 0, 1, (uint8_t)(1 - rank->wid) }, FRAME_MAC);
	len = frame_udp_build(frame, &udp, 37);
	node_frame(rank->node, rank->port, frame, len);
}

static void case_stray(void)
{
	uint8_t junk[WIRE_HEADER + WIRE_PAD];
	struct wire_msg msg = {
		.type = WIRE_RESULT, .kind = WIRE_ADD32, .wid = WIRE_WID_NONE, .len = WIRE_PAD
	};

	two("stray");
	rank_data(&r[0], &d0);
	stray_frames(&r[0]);
	stray_frames(&r[1]);
	memset(junk, 0xa5, sizeof(junk));
	rank_payload(&r[0], junk, sizeof(junk));
	rank_payload(&r[0], junk, 5);
	msg.job = r[0].job;
	msg.epoch = r[0].epoch;
	wire_build(junk, &msg);
	rank_payload(&r[0], junk, sizeof(junk));
	rank_data(&r[1], &d0);
	two_leave();
}

/* Rank 1's contribution comes out of rank 0's port. */
static void case_strict_ports(void)
{
	const struct node_plan plan = {
		.name = "strict-ports", .nr_ports = 2, .ip = IP, .strict = true
	};
	struct rank thief;

	node_begin(&node, &plan);
	for (unsigned i = 0; i < 2; i++)
		rank_begin(&r[i], &node, i, (uint16_t)i, 2);
	ranks_join(r, 2);
	thief = r[1];
	thief.port = 0;
	rank_data(&thief, &d0);
	rank_unreachable(&thief);
	ranks_data(r, 2, &d0);
	two_leave();
}

static void case_operator(void)
{
	two("operator");
	ranks_data(r, 2, &d0);
	stage_wait_us(2000);
	node_reset(&node, r[0].name, r[0].epoch);
	node_drain(&node, true);
	r[0].state = r[1].state = 0;
	ranks_join(r, 2);
	/* No new job while it drains. */
	rank_begin(&r[2], &node, 1, 0, 1);
	r[2].name = "late";
	r[2].ranges[0].nr = 1;
	rank_join(&r[2]);
	node_drain(&node, false);
	stage_wait_us(2000);
	ranks_join(r + 2, 1);
	two_leave();
}

/* All of it has one stamp: the epoch ends while its results wait to be sent. */
static void case_burst(void)
{
	begin("burst", 1);
	for (unsigned i = 0; i < 2; i++)
		rank_begin(&r[i], &node, 0, (uint16_t)i, 2);
	ranks_join(r, 2);
	stage_wait_us(2000);
	stage_burst(true);
	for (unsigned i = 0; i < 4; i++) {
		const struct chunk chunk = { .slot = (uint16_t)(LANE_D + i) };

		ranks_data(r, i < 3 ? 2 : 1, &chunk);
	}
	rank_end(&r[1], WIRE_CAUSE_ABORTED);
	stage_burst(false);
	rank_data(&r[0], &d0);
	two_leave();
}

static void case_rounds(void)
{
	const struct chunk last = { .slot = LANE_D, .round = WIRE_ROUND_END };

	two("rounds");
	rank_data(&r[0], &last);
	/* A round whose predecessor nobody has seen. */
	r[0].state = r[1].state = 0;
	ranks_join(r, 2);
	rank_data(&r[0], &d0r2);
	node_end(&node);
}

int main(int argc, char **argv)
{
	static void (*const cases[])(void) = {
		case_sums,	   case_int16,		case_saturating,     case_loss,
		case_duplicates,   case_restart_worker, case_restart_switch, case_mismatch,
		case_abort,	   case_leave,		case_stall,	     case_check_close,
		case_refusal,	   case_no_slots,	case_version,	     case_unreachable,
		case_socket,	   case_two_jobs,	case_tree,	     case_stray,
		case_strict_ports, case_operator,	case_burst,	     case_rounds,
	};

	if (argc != 2) {
		fprintf(stderr,
			"usage: make DIR: makes the golden captures there (tests/replay/golden.sh)\n");
		return 2;
	}
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stage_begin(argv[1]);
		cases[i]();
	}
	return 0;
}
