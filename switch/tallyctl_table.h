/* SPDX-License-Identifier: BSD-3-Clause */
/* tallyctl_table.h - aligned columns of text that is safe to show on a terminal. */
#ifndef SWITCH_TALLYCTL_TABLE_H
#define SWITCH_TALLYCTL_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 16, TABLE_CELL = 256 };

struct table {
	unsigned nr_columns;
	size_t nr_cells, cap;
	char **cells;	/* row by row, the heading first */
	unsigned right; /* bit per column: aligned to the right */
};

/* heading: columns between bars, those of numbers with > in front: "job|>ranks". */
void table_start(struct table *table, const char *heading);
/* The next cell; control characters become question marks. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t table_rows(const struct table *table);
/* Prints and frees it; where it has no rows, the sentence `empty` instead. */
void table_end(struct table *table, const char *empty);
void table_print(const struct table *table, FILE *out);
void table_free(struct table *table);

/* Control characters become question marks, in place. */
void table_clean(char *text);

#endif
