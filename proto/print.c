// SPDX-License-Identifier: BSD-3-Clause
/* print.c - messages, descriptors and masks of ranks as text, without libc. */
#include "proto/print.h"

#define PRINT_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PRINT_NAME(names, i) print_name(names, PRINT_COUNT(names), i)

/* Text that grows in the caller's buffer; what does not fit is cut. */
struct print {
	char *out;
	size_t cap, len;
};

static void print_start(struct print *print, char *out, size_t cap)
{
	*print = (struct print){ .out = out, .cap = cap };
	if (cap)
		out[0] = '\0';
}

static void print_char(struct print *print, char c)
{
	if (print->len + 1 >= print->cap)
		return;
	print->out[print->len++] = c;
	print->out[print->len] = '\0';
}

static void print_text(struct print *print, const char *text)
{
	while (*text)
		print_char(print, *text++);
}

static void print_number(struct print *print, uint64_t value)
{
	char digits[20];
	unsigned nr = 0;

	do {
		digits[nr++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (nr)
		print_char(print, digits[--nr]);
}

static void print_labelled(struct print *print, const char *label, uint64_t value)
{
	print_text(print, label);
	print_number(print, value);
}

static void print_hex32(struct print *print, uint32_t value)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		print_char(print, "0123456789abcdef"[value >> shift & 0x0f]);
}

static const char *print_name(const char *const *names, size_t nr, unsigned i)
{
	return i < nr && names[i] ? names[i] : "unknown";
}

const char *print_type(unsigned type)
{
	static const char *const names[] = {
		[WIRE_DATA] = "DATA",		[WIRE_RESULT] = "RESULT", [WIRE_JOIN] = "JOIN",
		[WIRE_STATUS] = "STATUS",	[WIRE_END] = "END",	  [WIRE_LEAVE] = "LEAVE",
		[WIRE_KEEPALIVE] = "KEEPALIVE",
	};

	return PRINT_NAME(names, type);
}

const char *print_kind(unsigned kind)
{
	static const char *const names[] = {
		[0] = "none",		[WIRE_ADD32] = "ADD32", [WIRE_ADD32SAT] = "ADD32SAT",
		[WIRE_ADD16] = "ADD16", [WIRE_MAX32] = "MAX32", [WIRE_MAX8] = "MAX8",
	};

	return PRINT_NAME(names, kind);
}

const char *print_state(unsigned state)
{
	static const char *const names[] = {
		[WIRE_UNKNOWN] = "UNKNOWN",
		[WIRE_FORMING] = "FORMING",
		[WIRE_RUNNING] = "RUNNING",
		[WIRE_REFUSED] = "REFUSED",
	};

	return PRINT_NAME(names, state);
}

const char *print_cause(unsigned cause)
{
	static const char *const names[] = {
#define X(name, value, text) [value] = (text),
		WIRE_CAUSE_MAP(X)
#undef X
	};

	return PRINT_NAME(names, cause);
}

const char *print_field(unsigned field)
{
	static const char *const names[] = {
		[WIRE_FIELD_NONE] = "none",	[WIRE_FIELD_WORLD] = "world",
		[WIRE_FIELD_CHUNK] = "chunk",	[WIRE_FIELD_FLAGS] = "flags",
		[WIRE_FIELD_RANK] = "rank",	[WIRE_FIELD_SLOTS] = "slots",
		[WIRE_FIELD_RANGES] = "ranges",
	};

	return PRINT_NAME(names, field);
}

const char *print_wire_error(unsigned error)
{
	static const char *const names[] = {
#define X(name, text) text,
		WIRE_ERROR_MAP(X)
#undef X
	};

	return PRINT_NAME(names, error);
}

const char *print_dtype(unsigned dtype)
{
	static const char *const names[] = {
		[WIRE_F32] = "float32",
		[WIRE_F16] = "float16",
		[WIRE_BF16] = "bfloat16",
		[WIRE_I32] = "int32",
	};

	return PRINT_NAME(names, dtype);
}

const char *print_op(unsigned op)
{
	static const char *const names[] = {
		[WIRE_SUM] = "sum",
		[WIRE_AVG] = "avg",
		[WIRE_MAX] = "max",
		[WIRE_MIN] = "min",
	};

	return PRINT_NAME(names, op);
}

static void print_flags(struct print *print, unsigned flags)
{
	if (flags & WIRE_EMPTY)
		print_text(print, " EMPTY");
	if (flags & WIRE_PARTIAL)
		print_text(print, " PARTIAL");
	if (flags & WIRE_SATURATED)
		print_text(print, " SATURATED");
}

/* What a message type does not use is left out: kind and desc if 0, wid if none. */
size_t print_msg(char *out, size_t cap, const struct wire_msg *msg)
{
	struct print print;

	print_start(&print, out, cap);
	print_text(&print, print_type(msg->type));
	if (msg->kind) {
		print_char(&print, ' ');
		print_text(&print, print_kind(msg->kind));
	}
	print_flags(&print, msg->flags);
	print_labelled(&print, " job ", msg->job);
	print_labelled(&print, " epoch ", msg->epoch);
	print_labelled(&print, " slot ", msg->slot);
	print_labelled(&print, " round ", msg->round);
	if (msg->wid != WIRE_WID_NONE)
		print_labelled(&print, " wid ", msg->wid);
	if (msg->desc || msg->kind) {
		print_text(&print, " desc ");
		print_hex32(&print, msg->desc);
	}
	print_labelled(&print, " len ", msg->len);
	if (msg->sealed)
		print_text(&print, " crc");
	return print.len;
}

static const char *print_collective(unsigned collective)
{
	static const char *const names[] = {
		[WIRE_ALLREDUCE] = "all-reduce",
		[WIRE_BARRIER] = "barrier",
	};

	return PRINT_NAME(names, collective);
}

size_t print_desc(char *out, size_t cap, const struct wire_desc *desc)
{
	struct print print;

	print_start(&print, out, cap);
	print_text(&print, print_collective(desc->collective));
	print_labelled(&print, " ", desc->opno);
	if (desc->collective == WIRE_BARRIER)
		return print.len;
	print_text(&print, " (");
	print_text(&print, print_dtype(desc->dtype));
	print_char(&print, ' ');
	print_text(&print, print_op(desc->op));
	print_labelled(&print, ", ", desc->count);
	print_text(&print, desc->count == 1 ? " element)" : " elements)");
	return print.len;
}

/* Writes the run of set bits that starts at first; returns the bit after it. */
static unsigned print_run(struct print *print, uint64_t mask, unsigned first)
{
	unsigned end = first + 1;

	while (end < 64 && mask >> end & 1)
		end++;
	if (print->len)
		print_text(print, ", ");
	print_number(print, first);
	if (end - first > 1)
		print_labelled(print, "-", end - 1);
	return end;
}

size_t print_ranks(char *out, size_t cap, uint64_t mask)
{
	struct print print;
	unsigned bit = 0;

	print_start(&print, out, cap);
	while (bit < 64)
		bit = mask >> bit & 1 ? print_run(&print, mask, bit) : bit + 1;
	if (mask == 0)
		print_text(&print, "none");
	return print.len;
}
