// SPDX-License-Identifier: BSD-3-Clause
// table.c - the vectors of docs/numerics.md, read from its text.
#include "tests/numerics/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BEGIN "<!-- vectors -->\n"
#define TABLE_END "<!-- end of vectors -->\n"
#define TABLE_CELLS 7
#define TABLE_ONE 0x3f800000u

static const char *const table_types[] = { "f32", "f16", "bf16", "i32" };
static const char *const table_ops[] = { "sum", "avg", "max", "min" };

/* --- Text ---------------------------------------------------------------------------------------- */

/* The cell without blanks and back quotes around it. */
static char *cell_trim(char *cell)
{
	size_t len;

	cell += strspn(cell, " `");
	len = strlen(cell);
	while (len && strchr(" `\n", cell[len - 1]))
		cell[--len] = '\0';
	return cell;
}

static size_t line_split(char *line, char *cells[TABLE_CELLS + 1])
{
	size_t nr = 0;
	char *cell;

	for (line++; nr <= TABLE_CELLS && (cell = strsep(&line, "|")) && line;)
		cells[nr++] = cell_trim(cell);
	return nr;
}

static int word_find(const char *word, const char *const words[], size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(word, words[i]) == 0)
			return (int)i;
	return -1;
}

/* --- What ranks have ----------------------------------------------------------------------------- */

static bool parse_runs(struct table_group *group, char *text)
{
	char *word, *end;

	while ((word = strsep(&text, " "))) {
		if (*word == 'x' && group->nr) {
			group->runs[group->nr - 1].times = (uint32_t)strtoul(word + 1, &end, 10);
		} else if (*word) {
			if (group->nr == TABLE_RUNS)
				return false;
			group->runs[group->nr].bits = (uint32_t)strtoul(word, &end, 16);
			group->runs[group->nr++].times = 1;
		} else {
			continue;
		}
		if (*end)
			return false;
	}
	return group->nr > 0;
}

/* "0-2: 3f800000 x4; 3: 00000000 x4", "*: ..." for all ranks. */
static bool parse_groups(struct table_vector *vector, char *text)
{
	struct table_group *group;
	char *part, *ranks;

	while ((part = strsep(&text, ";"))) {
		ranks = strsep(&part, ":");
		if (!part || vector->nr_groups == TABLE_GROUPS)
			return false;
		group = &vector->groups[vector->nr_groups++];
		ranks = cell_trim(ranks);
		group->last = vector->world - 1;
		if (strcmp(ranks, "*") != 0) {
			group->first = (uint32_t)strtoul(ranks, &ranks, 10);
			group->last = *ranks == '-' ? (uint32_t)strtoul(ranks + 1, NULL, 10)
						    : group->first;
		}
		if (!parse_runs(group, part))
			return false;
	}
	vector->nr_counts = 1;
	for (uint32_t r = 0; r < vector->groups[0].nr; r++)
		vector->counts[0] += vector->groups[0].runs[r].times;
	return vector->counts[0] <= TABLE_ELEMENTS;
}

/* "mix SEED: 0 1 5-9": tensors of these counts. */
static bool parse_mix(struct table_vector *vector, char *text)
{
	char *word;

	vector->mixed = true;
	vector->seed = (uint32_t)strtoul(text, &text, 10);
	if (*text++ != ':')
		return false;
	while ((word = strsep(&text, " "))) {
		unsigned long first, last;

		if (!*word)
			continue;
		first = last = strtoul(word, &word, 10);
		if (*word == '-')
			last = strtoul(word + 1, &word, 10);
		if (*word || last > TABLE_ELEMENTS)
			return false;
		for (; first <= last; first++) {
			if (vector->nr_counts == TABLE_COUNTS)
				return false;
			vector->counts[vector->nr_counts++] = (uint32_t)first;
		}
	}
	return vector->nr_counts > 0;
}

static bool parse_op(struct table_vector *vector, char *text)
{
	char *word = strsep(&text, " ");
	int op = word_find(word, table_ops, 4);

	if (op < 0)
		return false;
	vector->op = (enum table_op)op;
	vector->pre = vector->post = TABLE_ONE;
	while ((word = strsep(&text, " "))) {
		if (strcmp(word, "saturating") == 0)
			vector->saturate = true;
		else if (strncmp(word, "pre=", 4) == 0)
			vector->pre = (uint32_t)strtoul(word + 4, NULL, 16);
		else if (strncmp(word, "post=", 5) == 0)
			vector->post = (uint32_t)strtoul(word + 5, NULL, 16);
		else
			return false;
	}
	return true;
}

static bool parse_vector(struct table_vector *vector, char *cells[TABLE_CELLS])
{
	int type = word_find(cells[1], table_types, 4);

	memset(vector, 0, sizeof(*vector));
	snprintf(vector->name, sizeof(vector->name), "%s", cells[0]);
	snprintf(vector->values, sizeof(vector->values), "%s", cells[5]);
	snprintf(vector->result, sizeof(vector->result), "%s", cells[6]);
	vector->type = (enum table_type)type;
	vector->wire = strcmp(cells[3], "16") == 0 ? QUANT_WIRE_16 : QUANT_WIRE_32;
	vector->world = (uint32_t)strtoul(cells[4], NULL, 10);
	if (type < 0 || !vector->world || !parse_op(vector, cells[2]))
		return false;
	if (strncmp(cells[5], "mix ", 4) == 0)
		return parse_mix(vector, cells[5] + 4);
	return parse_groups(vector, cells[5]);
}

static int table_add(struct table *table, char *line, const char *path)
{
	char *cells[TABLE_CELLS + 1], text[64];

	snprintf(text, sizeof(text), "%.60s", line);
	if (line_split(line, cells) != TABLE_CELLS || strcmp(cells[1], "type") == 0 ||
	    strcmp(cells[1], "---") == 0)
		return 0;
	if (table->nr < TABLE_VECTORS && parse_vector(&table->vectors[table->nr], cells)) {
		table->nr++;
		return 0;
	}
	fprintf(stderr, "%s: this vector is not understood, or is one too many: %s\n", path, text);
	return -1;
}

int table_read(struct table *table, const char *path)
{
	FILE *file = fopen(path, "re");
	bool inside = false;
	char line[1024];
	int err = 0;

	table->nr = 0;
	if (!file) {
		fprintf(stderr, "%s cannot be read\n", path);
		return -1;
	}
	while (err == 0 && fgets(line, sizeof(line), file)) {
		inside = strcmp(line, TABLE_BEGIN) == 0 || (inside && strcmp(line, TABLE_END) != 0);
		if (inside && *line == '|')
			err = table_add(table, line, path);
	}
	fclose(file);
	if (err == 0 && table->nr == 0) {
		fprintf(stderr, "%s has no vectors\n", path);
		err = -1;
	}
	return err;
}

/* --- Elements and results ------------------------------------------------------------------------ */

size_t table_bytes(const struct table_vector *vector)
{
	return vector->type == TABLE_F32 || vector->type == TABLE_I32 ? 4 : 2;
}

/* Every rank, element and seed has its own value; blocks differ in magnitude. */
static uint32_t element_mixed(const struct table_vector *vector, uint32_t rank, size_t i)
{
	uint32_t h = (uint32_t)i * 2654435761u + rank * 40503u + vector->seed;
	uint32_t block = (uint32_t)i / QUANT_BLOCK;

	h ^= h >> 16;
	h *= 0x7feb352du;
	h ^= h >> 15;
	h *= 0x846ca68bu;
	h ^= h >> 16;
	switch (vector->type) {
	case TABLE_F32:
		return (h & 0x807fffffu) | (90 + block % 40 + (h >> 23 & 7)) << 23;
	case TABLE_BF16:
		return (h >> 16 & 0x807fu) | (90 + block % 40 + (h >> 8 & 7)) << 7;
	case TABLE_F16:
		return (h >> 16 & 0x83ffu) | (5 + block % 8 + (h >> 8 & 7)) << 10;
	case TABLE_I32:
		break;
	}
	return h;
}

uint32_t table_element(const struct table_vector *vector, uint32_t rank, size_t i)
{
	if (vector->mixed)
		return element_mixed(vector, rank, i);
	for (uint32_t g = 0; g < vector->nr_groups; g++) {
		const struct table_group *group = &vector->groups[g];

		for (uint32_t r = 0; rank >= group->first && rank <= group->last && r < group->nr;
		     r++) {
			if (i < group->runs[r].times)
				return group->runs[r].bits;
			i -= group->runs[r].times;
		}
	}
	return 0;
}

void table_result_init(struct table_result *result)
{
	result->hash = UINT64_C(0xcbf29ce484222325);
	result->text[0] = '\0';
}

static uint32_t element_load(const void *elements, size_t bytes, size_t i)
{
	uint32_t word;
	uint16_t half;

	if (bytes == 4) {
		memcpy(&word, (const char *)elements + 4 * i, 4);
		return word;
	}
	memcpy(&half, (const char *)elements + 2 * i, 2);
	return half;
}

static void result_spell(struct table_result *result, const char *format, ...)
{
	size_t len = strlen(result->text);
	va_list args;

	va_start(args, format);
	vsnprintf(result->text + len, sizeof(result->text) - len, format, args);
	va_end(args);
}

void table_result_add(struct table_result *result, const struct table_vector *vector,
		      const void *elements, size_t count)
{
	const size_t bytes = table_bytes(vector);
	uint32_t bits, times;

	for (size_t i = 0; i < count; i++) {
		bits = element_load(elements, bytes, i);
		for (size_t b = 0; b < bytes; b++)
			result->hash =
				(result->hash ^ (bits >> 8 * b & 255)) * UINT64_C(0x100000001b3);
	}
	for (size_t i = 0; i < count && !vector->mixed; i += times) {
		bits = element_load(elements, bytes, i);
		for (times = 1;
		     i + times < count && element_load(elements, bytes, i + times) == bits;)
			times++;
		result_spell(result, "%s%0*x", i ? " " : "", (int)(2 * bytes), bits);
		if (times > 1)
			result_spell(result, " x%u", times);
	}
}

void table_result_end(struct table_result *result, const struct table_vector *vector,
		      uint64_t nonfinite, int origin)
{
	if (vector->mixed)
		snprintf(result->text, sizeof(result->text), "hash %016llx",
			 (unsigned long long)result->hash);
	if (nonfinite)
		result_spell(result, "; NaN %llu by %d", (unsigned long long)nonfinite, origin);
}
