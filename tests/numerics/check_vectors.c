// SPDX-License-Identifier: BSD-3-Clause
// The vectors of docs/numerics.md by every table of kernels and by the library: expected and seen bits.
#include <stdio.h>
#include <string.h>

#include "tests/numerics/by_kernels.h"
#include "tests/numerics/by_library.h"

#define DOC "docs/numerics.md"
#define WAYS 12
#define PIECE_ODD 37

struct way {
	char name[40];
	struct table_result results[TABLE_VECTORS]; /* text "": not this way */
};

static struct table table;
static struct way ways[WAYS];
static size_t nr_ways;

static struct way *way_new(const char *name, const char *how)
{
	struct way *way = &ways[nr_ways++];

	snprintf(way->name, sizeof(way->name), "%s%s", name, how);
	return way;
}

static void go_kernels(const char *name)
{
	const struct quant_ops *ops = quant_select(name);
	struct way *whole, *pieces;

	if (!ops)
		return;
	whole = way_new(name, "");
	pieces = way_new(name, " in pieces");
	for (size_t v = 0; v < table.nr; v++) {
		by_kernels(&table.vectors[v], ops, TABLE_ELEMENTS, &whole->results[v]);
		by_kernels(&table.vectors[v], ops, PIECE_ODD, &pieces->results[v]);
	}
}

static void go_library(const char *name, const struct library_options *options)
{
	bool done[LIBRARY_WORLD + 1] = { false };
	struct way *way = way_new(name, "");

	for (size_t v = 0; v < table.nr; v++) {
		uint32_t world = table.vectors[v].world;

		if (world > LIBRARY_WORLD || done[world])
			continue;
		done[world] = true;
		by_library(&table, world, options, way->results);
	}
}

/* One line: who has the bits that the table states, and what the others have. */
static bool vector_report(size_t v)
{
	const struct table_vector *vector = &table.vectors[v];
	bool ok = true;

	for (size_t w = 0; w < nr_ways; w++)
		ok = ok && (!ways[w].results[v].text[0] ||
			    strcmp(ways[w].results[v].text, vector->result) == 0);
	printf("%s %s: expected %s, seen", ok ? "ok" : "not ok", vector->name, vector->result);
	for (size_t w = 0; w < nr_ways; w++) {
		const char *text = ways[w].results[v].text;

		if (text[0] && !ok)
			printf("%s %s by %s", w ? ";" : "", text, ways[w].name);
	}
	if (ok) {
		printf(" the same by ");
		for (size_t w = 0; w < nr_ways; w++)
			if (ways[w].results[v].text[0])
				printf("%s%s", w ? ", " : "", ways[w].name);
	}
	printf("\n");
	return ok;
}

int main(int argc, char **argv)
{
	static const struct library_options plain = { "best", "0" }, sealed = { "scalar", "1" };
	size_t bad = 0, results = 0;

	if (table_read(&table, argc > 1 ? argv[1] : DOC) < 0)
		return 2;
	go_kernels("scalar");
	go_kernels("avx2");
	go_kernels("avx512");
	go_kernels("avx512fp16");
	go_library("library", &plain);
	go_library("library with CHECK", &sealed);
	for (size_t v = 0; v < table.nr; v++) {
		bad += !vector_report(v);
		for (size_t w = 0; w < nr_ways; w++)
			results += ways[w].results[v].text[0] != '\0';
	}
	printf("%zu vectors, %zu results by %zu ways, %zu vectors differ\n", table.nr, results,
	       nr_ways, bad);
	return bad != 0;
}
