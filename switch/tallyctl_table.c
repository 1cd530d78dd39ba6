// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_table.c - aligned columns of text that is safe to show on a terminal. */
#include "switch/tallyctl_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void *table_need(void *mem)
{
	if (mem)
		return mem;
	fputs("tallyctl: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

void table_clean(char *text)
{
	unsigned char *s = (unsigned char *)text;

	for (; *s; s++) {
		if (*s < 0x20 || *s == 0x7f)
			*s = '?';
		/* C1 controls in UTF-8: two bytes, which become two question marks. */
		if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
			s[0] = s[1] = '?';
	}
}

static void table_add(struct table *table, const char *text)
{
	if (table->nr_cells == table->cap) {
		table->cap = table->cap ? 2 * table->cap : 64;
		table->cells =
			table_need(realloc(table->cells, table->cap * sizeof(*table->cells)));
	}
	table->cells[table->nr_cells++] = table_need(strdup(text));
}

void table_start(struct table *table, const char *heading)
{
	char text[TABLE_CELL], *save = NULL;

	*table = (struct table){ 0 };
	snprintf(text, sizeof(text), "%s", heading);
	for (char *c = strtok_r(text, "|", &save); c && table->nr_columns < TABLE_COLUMNS;
	     c = strtok_r(NULL, "|", &save)) {
		if (*c == '>')
			table->right |= 1u << table->nr_columns;
		table_add(table, c + (*c == '>'));
		table->nr_columns++;
	}
}

void table_cell(struct table *table, const char *format, ...)
{
	char text[TABLE_CELL];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	table_clean(text);
	table_add(table, text);
}

size_t table_rows(const struct table *table)
{
	return table->nr_cells / table->nr_columns - 1;
}

/* Characters, not bytes. */
static int table_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void table_row(const struct table *table, size_t row, const int *widths, FILE *out)
{
	for (unsigned c = 0; c < table->nr_columns; c++) {
		const char *text = table->cells[row * table->nr_columns + c];
		int pad = widths[c] - table_width(text);

		if (c)
			fputs("  ", out);
		if (table->right >> c & 1)
			fprintf(out, "%*s%s", pad, "", text);
		else
			fprintf(out, "%s%*s", text, c + 1 < table->nr_columns ? pad : 0, "");
	}
	fputc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
	int widths[TABLE_COLUMNS] = { 0 };

	for (size_t i = 0; i < table->nr_cells; i++) {
		int width = table_width(table->cells[i]);

		if (width > widths[i % table->nr_columns])
			widths[i % table->nr_columns] = width;
	}
	for (size_t row = 0; row < table->nr_cells / table->nr_columns; row++)
		table_row(table, row, widths, out);
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->nr_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){ 0 };
}

void table_end(struct table *table, const char *empty)
{
	if (table_rows(table))
		table_print(table, stdout);
	else
		printf("%s\n", empty);
	table_free(table);
}
