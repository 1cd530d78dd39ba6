// SPDX-License-Identifier: BSD-3-Clause
/*
 * driver.c - the switch's machine on a pipe, for the comparison with a second implementation.
 *
 * usage: driver JOBS SLOTS P_MAX P_CHECK
 *
 * Reads lines, all numbers decimal:
 *
 *	start NOW_NS WALL_MS			a switch that knows nothing
 *	packet NOW_NS WALL_MS IP PORT HEX	a UDP payload and who sent it
 *	gone NOW_NS WALL_MS IP PORT		an ICMP port-unreachable about that address
 *	close WIDTH P HEX			words of a sum as a host sends them, without padding
 *
 * and answers each with the name of the counter it fell under, a line "> IP PORT HEX" for each
 * packet that goes out, and a line "."; close with the payload of CLOSE as if it were a packet.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/core/coll.h"
#include "host/quantizer.h"
#include "switch/core/pipe.h"

enum { ROOM = 3 * WIRE_MSG_MAX, LINE = 2 * ROOM + 256, HEX = 16, SLOTS = 64, BURST = 16 };

struct driver {
	struct pipe_params params;
	size_t size;
	void *mem;
	struct pipe *pipe;
	uint8_t data[ROOM];
	char line[LINE];
};

static int driver_open(struct driver *driver, char **argv)
{
	unsigned long slots = strtoul(argv[2], NULL, 10);

	driver->params.jobs_max = (uint16_t)strtoul(argv[1], NULL, 10);
	driver->params.slots_max = (uint32_t)slots;
	driver->params.p_max = (uint16_t)strtoul(argv[3], NULL, 10);
	driver->params.p_check = (uint16_t)strtoul(argv[4], NULL, 10);
	driver->params.values_bytes = slots * 8 * driver->params.p_max;
	driver->size = (pipe_size(&driver->params) + 63) / 64 * 64;
	if (driver->size == 0)
		return -1;
	driver->mem = aligned_alloc(64, driver->size);
	return driver->mem ? 0 : -1;
}

static bool driver_start(struct driver *driver, const struct pipe_time *now)
{
	memset(driver->mem, 0, driver->size);
	driver->pipe = pipe_init(driver->mem, &driver->params, now);
	return driver->pipe;
}

static void print_packet(const struct flow *to, const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	printf("> %" PRIu32 " %u ", to->ip, to->udp_port);
	for (size_t i = 0; i < len; i++) {
		putchar(digits[data[i] >> 4]);
		putchar(digits[data[i] & 15]);
	}
	putchar('\n');
}

static void print_outcome(struct driver *driver, unsigned counter)
{
	static uint8_t buf[WIRE_MSG_MAX];
	struct flow to;
	size_t len;

	for (len = pipe_output(driver->pipe, &to, buf); len;
	     len = pipe_output(driver->pipe, &to, buf))
		print_packet(&to, buf, len);
	printf("= %s\n.\n", counter_infos[counter].name);
}

static size_t parse_hex(const char *text, uint8_t *out, size_t room)
{
	size_t nr = 0;

	while (nr < room && text[2 * nr] && text[2 * nr + 1]) {
		char digits[3] = { text[2 * nr], text[2 * nr + 1], 0 };

		out[nr] = (uint8_t)strtoul(digits, NULL, HEX);
		nr++;
	}
	return nr;
}

static void driver_packet(struct driver *driver, const struct pipe_time *now,
			  const struct flow *from, const char *hex)
{
	struct pipe_pkt pkt = { .data = driver->data, .cap = ROOM, .flow = *from };
	struct flow to[WIRE_WORLD_MAX];
	unsigned nr;

	pkt.len = (uint32_t)parse_hex(hex, driver->data, ROOM);
	pipe_input(driver->pipe, &pkt, 1, now);
	nr = pipe_dests(driver->pipe, &pkt, to);
	for (unsigned i = 0; i < nr; i++)
		print_packet(&to[i], pkt.data, pkt.len);
	print_outcome(driver, pkt.counter);
}

/* --- CLOSE, as a rank of one makes it ------------------------------------------------------------ */

static struct coll *coll_of(uint16_t p)
{
	const struct coll_params params = {
		.slots = SLOTS, .p = p, .rto_min_ns = 1000000, .rto_max_ns = 1000000
	};
	const struct coll_epoch epoch = { .epoch = 1, .slots = SLOTS, .p = p, .check = true };
	void *mem = aligned_alloc(64, (coll_size(&params) + 63) / 64 * 64);
	struct coll *coll = mem ? coll_init(mem, &params) : NULL;

	if (coll)
		coll_begin(coll, &epoch);
	return coll;
}

/* Sends a chunk and takes it back as the result; the payload of CLOSE is printed. */
static void close_chunk(struct coll *coll, const struct coll_chunk *chunk, const uint8_t *words,
			unsigned width)
{
	const struct quantizer quantizer = { .ops = quant_select(NULL), .world = 1 };
	uint8_t payload[WIRE_P_MAX] = { 0 };
	struct wire_msg msg = { .kind = chunk->kind,
				.epoch = 1,
				.slot = chunk->slot,
				.round = chunk->round,
				.desc = chunk->desc,
				.len = chunk->len,
				.sealed = true,
				.payload = payload };
	struct coll_chunk taken;
	uint64_t sums[2];

	if (chunk->lane == COLL_E)
		memcpy(payload, chunk->e, chunk->len);
	else if (chunk->close)
		coll_close(coll, chunk, payload);
	else
		memcpy(payload, words + chunk->first * width, (size_t)chunk->count * width);
	if (chunk->counted) {
		quantizer_sum(&quantizer, chunk, payload, sums);
		coll_count(coll, chunk, sums);
	}
	if (chunk->close)
		print_packet(&(struct flow){ .udp_port = chunk->kind }, payload, chunk->len);
	if (coll_input(coll, &msg, &taken, 0) == COLL_TAKEN_D && taken.counted) {
		quantizer_sum(&quantizer, &taken, payload, sums);
		coll_count(coll, &taken, sums);
	}
}

static bool driver_close(struct driver *driver, unsigned width, uint16_t p, const char *hex)
{
	const size_t bytes = parse_hex(hex, driver->data, ROOM);
	const struct coll_args args = {
		.desc = { .count = bytes / width, .collective = WIRE_ALLREDUCE, .world = 1 },
		.form = width == 2 ? COLL_FLOAT : COLL_RAW,
		.kind = width == 2 ? WIRE_ADD16 : WIRE_ADD32,
		.width = (uint8_t)width,
	};
	struct coll *coll = coll_of(p);
	struct coll_chunk chunks[BURST];
	bool verified = false;
	unsigned nr = 1;

	if (!coll)
		return false;
	coll_start(coll, &args);
	while (nr) {
		nr = coll_output(coll, chunks, BURST, 0);
		for (unsigned i = 0; i < nr; i++)
			close_chunk(coll, &chunks[i], driver->data, width);
	}
	if (coll_finish(coll) == 0)
		verified = coll_verified(coll, 0);
	free(coll);
	return verified && puts(".") >= 0;
}

/* False: not a line of ours. */
static bool driver_line(struct driver *driver)
{
	char word[8] = "";
	struct pipe_time now;
	struct flow from = { .port = 0 };
	unsigned width;
	uint16_t p;
	int at = 0, nr;

	driver->line[strcspn(driver->line, "\n")] = '\0';
	if (sscanf(driver->line, "close %u %" SCNu16 " %n", &width, &p, &at) == 2)
		return driver_close(driver, width, p, driver->line + at);
	nr = sscanf(driver->line, "%7s %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu16 " %n", word,
		    &now.now_ns, &now.wall_ms, &from.ip, &from.udp_port, &at);
	if (nr >= 3 && strcmp(word, "start") == 0)
		return driver_start(driver, &now) && puts(".") >= 0;
	if (nr < 5 || !driver->pipe)
		return false;
	if (strcmp(word, "gone") == 0) {
		print_outcome(driver, pipe_gone(driver->pipe, &from, &now));
		return true;
	}
	if (strcmp(word, "packet") != 0)
		return false;
	driver_packet(driver, &now, &from, driver->line + at);
	return true;
}

int main(int argc, char **argv)
{
	static struct driver driver;

	if (argc != 5 || driver_open(&driver, argv) < 0) {
		fprintf(stderr, "usage: driver JOBS SLOTS P_MAX P_CHECK\n");
		return 1;
	}
	while (fgets(driver.line, sizeof(driver.line), stdin)) {
		if (!driver_line(&driver)) {
			fprintf(stderr, "driver: cannot read this line: %.60s\n", driver.line);
			return 1;
		}
		fflush(stdout);
	}
	free(driver.mem);
	return 0;
}
