// SPDX-License-Identifier: BSD-3-Clause
// perf_trace.c - a list of tensors or of buckets, one a line of a CSV file: how many elements each has.
#include "host/tools/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PERF_TRACE_BYTES (1 << 20) /* of a file */

static const char perf_trace_column[] = "numel";

struct perf_csv {
	const char *at, *end;
	uint32_t line; /* from 1 */
	const char *begin;
	bool more; /* there is a field after the last one */
	struct perf_trace_error *error;
};

struct perf_field {
	const char *text;
	size_t len;
};

static bool perf_csv_at_end(const struct perf_csv *csv)
{
	return csv->at == csv->end || *csv->at == '\n' || *csv->at == '\r';
}

/* At a place of the line: columns count characters. */
static int perf_csv_fail(const struct perf_csv *csv, const char *place, const char *want,
			 const struct perf_field *found)
{
	struct perf_trace_error *error = csv->error;
	size_t len = found != NULL && found->len < 40 ? found->len : 40;
	const char *p;

	error->line = csv->line;
	error->column = 1;
	for (p = csv->begin; p < place; p++)
		error->column += ((unsigned char)*p & 0xc0) != 0x80;
	if (found == NULL)
		snprintf(error->text, sizeof(error->text), "expected %s", want);
	else if (found->len == 0)
		snprintf(error->text, sizeof(error->text), "expected %s, not nothing", want);
	else
		snprintf(error->text, sizeof(error->text), "expected %s, not '%.*s'", want,
			 (int)len, found->text);
	for (char *c = error->text; *c != '\0'; c++)
		*c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
	return -1;
}

/* The next of a line; what a quoted one has inside counts as it is written. */
static struct perf_field perf_csv_field(struct perf_csv *csv)
{
	struct perf_field field = { .text = csv->at };
	bool quoted = false;

	for (; !perf_csv_at_end(csv) && (quoted || *csv->at != ','); csv->at++)
		quoted ^= *csv->at == '"';
	field.len = (size_t)(csv->at - field.text);
	csv->more = csv->at < csv->end && *csv->at == ',';
	csv->at += csv->more;
	return field;
}

/* To the next line that says something; false: there is none. */
static bool perf_csv_line(struct perf_csv *csv)
{
	for (;;) {
		csv->begin = csv->at;
		if (csv->at == csv->end)
			return false;
		if (*csv->at != '#' && !perf_csv_at_end(csv))
			return true;
		while (csv->at < csv->end && *csv->at != '\n')
			csv->at++;
		if (csv->at < csv->end)
			csv->at++;
		csv->line++;
	}
}

/* How many columns there are, and which of them counts: 0, or -1. */
static int perf_csv_head(struct perf_csv *csv, uint32_t *nr, uint32_t *which)
{
	bool found = false;

	*nr = 0;
	if (!perf_csv_line(csv))
		return perf_csv_fail(csv, csv->at, "a header with a column 'numel', not nothing",
				     NULL);
	do {
		const struct perf_field field = perf_csv_field(csv);

		if (field.len == strlen(perf_trace_column) &&
		    memcmp(field.text, perf_trace_column, field.len) == 0) {
			if (found)
				return perf_csv_fail(csv, field.text, "one column 'numel', not two",
						     NULL);
			found = true;
			*which = *nr;
		}
		++*nr;
	} while (csv->more);
	if (found)
		return 0;
	return perf_csv_fail(csv, csv->begin, "a header with a column 'numel'",
			     &(struct perf_field){ csv->begin, (size_t)(csv->at - csv->begin) });
}

static int perf_csv_number(const struct perf_csv *csv, const struct perf_field *field,
			   uint64_t *out)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < field->len && value <= PERF_TRACE_ELEMENTS; i++) {
		if (field->text[i] < '0' || field->text[i] > '9')
			break;
		value = value * 10 + (uint64_t)(field->text[i] - '0');
	}
	if (i < field->len || value == 0 || value > PERF_TRACE_ELEMENTS)
		return perf_csv_fail(csv, field->text, "elements from 1 to 274877906944", field);
	*out = value;
	return 0;
}

/* A line that is not the head. */
static int perf_csv_row(struct perf_csv *csv, uint32_t nr_columns, uint32_t which, uint64_t *out)
{
	struct perf_field field;
	char want[64];
	uint32_t nr = 0;

	do {
		field = perf_csv_field(csv);
		if (nr == which && perf_csv_number(csv, &field, out) != 0)
			return -1;
		nr++;
	} while (nr <= nr_columns && csv->more);
	if (nr == nr_columns)
		return 0;
	snprintf(want, sizeof(want), "%u values as in the header, not %s", (unsigned int)nr_columns,
		 nr > nr_columns ? "more" : "fewer");
	return perf_csv_fail(csv, nr > nr_columns ? field.text : csv->at, want, NULL);
}

int perf_trace_parse(const char *text, size_t len, struct perf_trace *trace,
		     struct perf_trace_error *error)
{
	struct perf_csv csv = { .at = text, .end = text + len, .line = 1, .error = error };
	uint32_t nr_columns, which = 0;
	uint64_t left = PERF_TRACE_ELEMENTS;

	trace->nr = 0;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		csv.at += 3;
	if (perf_csv_head(&csv, &nr_columns, &which) != 0)
		return -1;
	for (; perf_csv_line(&csv); left -= trace->count[trace->nr++]) {
		if (trace->nr == PERF_TRACE_MAX)
			return perf_csv_fail(&csv, csv.begin, "at most 4096 tensors, not more",
					     NULL);
		trace->count[trace->nr] = 0;
		if (perf_csv_row(&csv, nr_columns, which, &trace->count[trace->nr]) != 0)
			return -1;
		if (trace->count[trace->nr] > left)
			return perf_csv_fail(&csv, csv.begin,
					     "at most 274877906944 elements of all tensors, not "
					     "more",
					     NULL);
	}
	if (trace->nr != 0)
		return 0;
	return perf_csv_fail(&csv, csv.begin, "a line for each tensor, not a header alone", NULL);
}

static int perf_trace_failed(const char *path, const char *what)
{
	fprintf(stderr, "tally-perf: --trace %s: %s\n", path, what);
	return -1;
}

/* A pipe that nobody writes to is an empty file, not one to wait for. */
static FILE *perf_trace_open(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 || fcntl(fd, F_SETFL, 0) != 0 ? NULL : fdopen(fd, "r");
}

int perf_trace_read(const char *path, struct perf_trace *trace)
{
	struct perf_trace_error error;
	FILE *file = perf_trace_open(path);
	char *text = file != NULL ? malloc(PERF_TRACE_BYTES + 1) : NULL;
	size_t len = text != NULL ? fread(text, 1, PERF_TRACE_BYTES + 1, file) : 0;
	int err = 0;

	if (file == NULL || (text != NULL && ferror(file)))
		err = perf_trace_failed(path, strerror(errno));
	else if (text == NULL)
		err = perf_trace_failed(path, "no memory");
	else if (len > PERF_TRACE_BYTES)
		err = perf_trace_failed(path, "want a file of at most 1 MiB");
	else if (perf_trace_parse(text, len, trace, &error) != 0) {
		fprintf(stderr, "tally-perf: --trace %s:%u:%u: %s\n", path,
			(unsigned int)error.line, (unsigned int)error.column, error.text);
		err = -1;
	}
	free(text);
	if (file != NULL)
		fclose(file);
	return err;
}
