// SPDX-License-Identifier: BSD-3-Clause
// fuzz_wire.c - any bytes as a message: refused, or parsed and built again the same.
#include <string.h>

#include "proto/print.h"
#include "tests/fuzz/fuzz.h"

static void header_again(const uint8_t *data, const struct wire_msg *msg)
{
	uint8_t head[WIRE_HEADER];

	wire_build(head, msg);
	fuzz_check(memcmp(head, data, WIRE_HEADER) == 0);
	fuzz_check(msg->payload == data + WIRE_HEADER);
}

static void seal_again(const uint8_t *data, const struct wire_msg *msg)
{
	uint8_t buf[WIRE_MSG_MAX];

	memcpy(buf, data, WIRE_HEADER + msg->len);
	fuzz_check(wire_seal(buf, msg->len) == WIRE_HEADER + msg->len + WIRE_CRC);
	fuzz_check(memcmp(buf, data, WIRE_HEADER + msg->len + WIRE_CRC) == 0);
}

static void join_again(const struct wire_msg *msg)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_join join, second;
	struct wire_msg again;
	size_t len;

	if (wire_join_parse(&join, msg) != WIRE_OK)
		return;
	len = wire_join_build(buf, msg->wid, &join);
	fuzz_check(len == WIRE_HEADER + msg->len);
	fuzz_check(msg->sealed == ((join.flags & WIRE_JOB_CHECK) != 0));
	if (msg->sealed)
		len = wire_seal(buf, msg->len);
	fuzz_check(wire_parse(&again, buf, len) == WIRE_OK);
	fuzz_check(wire_join_parse(&second, &again) == WIRE_OK);
	fuzz_check(memcmp(&join, &second, sizeof(join)) == 0);
	fuzz_check(strlen(join.name) <= WIRE_NAME && join.name[0]);
	fuzz_check(wire_job_key(join.name) == wire_job_key(second.name));
}

static void status_again(const struct wire_msg *msg)
{
	uint8_t buf[WIRE_MSG_MAX];
	struct wire_status status, second;
	struct wire_msg again;
	size_t len;

	if (wire_status_parse(&status, msg) != WIRE_OK)
		return;
	len = wire_status_build(buf, msg, &status, msg->len);
	fuzz_check(len == WIRE_HEADER + msg->len);
	fuzz_check(wire_parse(&again, buf, len) == WIRE_OK);
	fuzz_check(wire_status_parse(&second, &again) == WIRE_OK);
	fuzz_check(memcmp(&status, &second, sizeof(status)) == 0);
}

static void chunk_looked_at(const struct wire_msg *msg)
{
	uint8_t origin[WIRE_E_ORIGIN_LEN], again[WIRE_DESC];
	struct wire_desc desc;
	char text[96];
	int rank;

	fuzz_check(msg->len % WIRE_PAD == 0 && msg->len >= WIRE_PAD && msg->len <= WIRE_P_MAX);
	wire_desc_parse(&desc, msg->payload);
	wire_desc_build(again, &desc);
	/* Behind its fields a descriptor is zero. */
	fuzz_check(memcmp(again, msg->payload, WIRE_DESC_FLAGS + 2) == 0);
	print_desc(text, sizeof(text), &desc);
	if (msg->len < WIRE_E_EXP)
		return;
	memcpy(origin, msg->payload + WIRE_E_ORIGIN, sizeof(origin));
	rank = wire_origin_rank(origin);
	fuzz_check(rank >= -1 && rank < WIRE_E_ORIGIN_LEN * 255);
	wire_origin_mark(origin, msg->wid);
	fuzz_check(rank < 0 || wire_origin_rank(origin) <= rank);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_msg msg = { 0 };
	char text[64];
	size_t cap = size % sizeof(text);
	enum wire_error error = wire_parse(&msg, data, size);

	fuzz_check(print_wire_error(error) != NULL);
	if (error != WIRE_OK)
		return 0;
	header_again(data, &msg);
	fuzz_check(print_msg(text, cap, &msg) <= cap);
	if (msg.sealed)
		seal_again(data, &msg);
	switch ((enum wire_type)msg.type) {
	case WIRE_JOIN:
		join_again(&msg);
		break;
	case WIRE_STATUS:
	case WIRE_END:
		status_again(&msg);
		break;
	case WIRE_DATA:
	case WIRE_RESULT:
		chunk_looked_at(&msg);
		break;
	case WIRE_LEAVE:
	case WIRE_KEEPALIVE:
		break;
	}
	return 0;
}
