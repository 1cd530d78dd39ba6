// SPDX-License-Identifier: BSD-3-Clause
// Copies a topology's files side by side: whatever their directories were, the copies include each other.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "topologies/say.h"
#include "topologies/topology.h"

enum { COPY_NAME = 32, COPY_PATH = 4096 };

struct copy {
	const struct topology *topology;
	const struct topology_file *from;
	FILE *to;
	size_t done;	/* bytes that are copied */
	uint64_t chars; /* and characters, which libyaml counts */
};

static void copy_name(const struct topology *t, unsigned int file, char name[COPY_NAME])
{
	const char *dot = strrchr(t->file[file].path, '.');
	const char *suffix = dot && strcmp(dot, ".json") == 0 ? dot : ".yaml";

	if (t->file[file].list)
		snprintf(name, COPY_NAME, "list-%u.csv", file);
	else if (file)
		snprintf(name, COPY_NAME, "topology-%u%s", file, suffix);
	else
		snprintf(name, COPY_NAME, "topology%s", suffix);
}

/* The bytes before a character, of which what goes before is behind us already. */
static size_t copy_find(struct copy *c, uint64_t index)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t at = c->done;

	if (at == 0 && c->from->size >= 3 && memcmp(c->from->text, mark, 3) == 0)
		at = 3;
	for (; at < c->from->size; at++) {
		const bool begins = ((unsigned char)c->from->text[at] & 0xc0) != 0x80;

		if (begins && c->chars == index)
			break;
		c->chars += begins;
	}
	return at;
}

static void copy_replace(struct copy *c, const yaml_node_t *n, unsigned int file)
{
	const yaml_scalar_style_t style = n->data.scalar.style;
	const size_t at = copy_find(c, n->start_mark.index);
	char name[COPY_NAME];

	copy_name(c->topology, file, name);
	fwrite(c->from->text + c->done, 1, at - c->done, c->to);
	fprintf(c->to, "\"%s\"", name);
	if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE)
		fputc('\n', c->to); // its end is part of it
	c->done = at;
	c->done = copy_find(c, n->end_mark.index);
}

/* The value of a mapping's `include`, NULL: it has none. */
static const yaml_node_t *include_find(yaml_document_t *document)
{
	const yaml_node_t *top = yaml_document_get_root_node(document);
	const yaml_node_pair_t *p;

	if (!top || top->type != YAML_MAPPING_NODE)
		return NULL;
	for (p = top->data.mapping.pairs.start; p < top->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = yaml_document_get_node(document, p->key);

		if (key->type == YAML_SCALAR_NODE &&
		    strcmp((const char *)key->data.scalar.value, "include") == 0)
			return yaml_document_get_node(document, p->value);
	}
	return NULL;
}

/* The file that a node of the document names, 0: it names none. */
static unsigned int node_file(const struct copy *c, const yaml_document_t *document,
			      const yaml_node_t *include, const yaml_node_t *n)
{
	const struct topology *t = c->topology;

	for (unsigned int i = 0; include && i < c->from->nr_includes; i++) {
		const yaml_node_item_t *items = include->data.sequence.items.start;

		if (include->type == YAML_SEQUENCE_NODE ? n == document->nodes.start + items[i] - 1
							: n == include)
			return c->from->include[i];
	}
	for (unsigned int i = 0; n->type == YAML_SCALAR_NODE && i < t->nr_uses; i++) {
		const struct topology_place at = t->use[i].place;

		if (&t->file[at.file] == c->from && at.line == n->start_mark.line &&
		    at.column == n->start_mark.column)
			return t->use[i].file;
	}
	return 0;
}

/* Scalars are in the order of the text. */
static void copy_text(struct copy *c, yaml_document_t *document)
{
	const yaml_node_t *include = include_find(document);

	for (yaml_node_t *n = document->nodes.start; n < document->nodes.top; n++) {
		const unsigned int file = node_file(c, document, include, n);

		if (file)
			copy_replace(c, n, file);
	}
	fwrite(c->from->text + c->done, 1, c->from->size - c->done, c->to);
}

static int file_parse(const struct topology_file *f, yaml_document_t *document)
{
	yaml_parser_t parser;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return -1;
	yaml_parser_set_input_string(&parser, (const unsigned char *)f->text, f->size);
	rc = yaml_parser_load(&parser, document) ? 0 : -1;
	yaml_parser_delete(&parser);
	return rc;
}

static int file_copy(const struct topology *t, unsigned int file, const char *path)
{
	struct copy c = { .topology = t, .from = &t->file[file], .to = fopen(path, "we") };
	yaml_document_t document;
	bool bad;

	if (!c.to)
		return say_error("%s: %s", path, strerror(errno));
	bad = !c.from->list && file_parse(c.from, &document) != 0;
	if (c.from->list) {
		fwrite(c.from->text, 1, c.from->size, c.to);
	} else if (!bad) {
		copy_text(&c, &document);
		yaml_document_delete(&document);
	}
	bad |= ferror(c.to) != 0;
	bad |= fclose(c.to) != 0;
	return bad ? say_error("%s: the copy of %s could not be written", path, c.from->path) : 0;
}

/* An alias as the name of a file, for one, is no name any more. */
static int copy_check(const struct topology *t, const char *path)
{
	struct topology *copy = t->nr_files > 1 ? topology_load(path, stderr) : NULL;
	const bool good = t->nr_files == 1 || (copy && copy->nr_files == t->nr_files);

	topology_free(copy);
	return good ? 0
		    : say_error(
			      "%s: the copy of %s is no topology: in `include` and `file`, write plain "
			      "names in UTF-8",
			      path, t->path);
}

int topology_copy(const struct topology *t, const char *dir)
{
	char path[COPY_PATH], name[COPY_NAME];

	for (unsigned int i = 0; i < t->nr_files; i++) {
		copy_name(t, i, name);
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
			return say_error("%s: the path is too long", dir);
		if (file_copy(t, i, path))
			return -1;
	}
	copy_name(t, 0, name);
	snprintf(path, sizeof(path), "%.4000s/%s", dir, name);
	return copy_check(t, path);
}
