// SPDX-License-Identifier: BSD-3-Clause
// The text of one file as nodes of the reader's document.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { DEPTH_MAX = 32, ALIASES_MAX = 1000 };

/* A file while it is parsed; libyaml knows nothing of others. */
struct source {
	struct reader *reader;
	unsigned int file;
	unsigned int depth, nr_anchors;
	bool end;
};

static struct topology_place mark_place(const struct source *s, const yaml_mark_t *m)
{
	return (struct topology_place){ m->line, m->column, s->file };
}

// A reader error (bad UTF-8, control characters) has an offset but no mark.
static struct topology_place offset_place(const struct source *s, size_t offset)
{
	const struct topology_file *f = &s->reader->topology->file[s->file];
	struct topology_place at = { 0, 0, s->file };

	for (size_t i = 0; i < offset && i < f->size; i++) {
		at.column += ((unsigned char)f->text[i] & 0xc0) != 0x80;
		if (f->text[i] == '\n')
			at = (struct topology_place){ at.line + 1, 0, s->file };
	}
	return at;
}

static void syntax_error(const struct source *s, const yaml_parser_t *p)
{
	struct topology_place at = mark_place(s, &p->problem_mark);
	const char *problem = p->problem ? p->problem : "not enough memory";

	if (p->error == YAML_READER_ERROR)
		reader_error(s->reader, offset_place(s, p->problem_offset),
			     "expected UTF-8 text, not this: %s", problem);
	else if (p->context)
		reader_error(s->reader, at, "%s %s (begun in line %zu)%s", problem, p->context,
			     p->context_mark.line + 1,
			     strstr(problem, "cannot start any token")
				     ? "; YAML is indented by blanks, not tabs"
				     : "");
	else
		reader_error(s->reader, at, "%s", problem);
}

static bool event_has_anchor(const yaml_event_t *e)
{
	switch ((int)e->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor;
	default:
		return false;
	}
}

static void event_check(struct source *s, const yaml_event_t *e)
{
	struct topology_place at = mark_place(s, &e->start_mark);

	if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT)
		s->depth++;
	else if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT)
		s->depth--;
	s->nr_anchors += event_has_anchor(e);
	s->end = e->type == YAML_STREAM_END_EVENT;
	if (s->depth > DEPTH_MAX)
		reader_error(s->reader, at,
			     "expected lists and mappings in each other %d deep at most, "
			     "not deeper",
			     DEPTH_MAX);
	else if (s->nr_anchors > ALIASES_MAX)
		reader_error(s->reader, at, "expected at most %d anchors and aliases, not more",
			     ALIASES_MAX);
}

static int parser_open(const struct source *s, yaml_parser_t *p)
{
	const struct topology_file *f = &s->reader->topology->file[s->file];

	if (!yaml_parser_initialize(p)) {
		reader_error(s->reader, (struct topology_place){ .file = s->file },
			     "not enough memory");
		return -1;
	}
	yaml_parser_set_input_string(p, (const unsigned char *)f->text, f->size);
	return 0;
}

// libyaml's time grows with the square of the depth and of the number of anchors (20,000 deep: 5
// s), so both are limited before it makes a document.
static void limits_check(struct source *s)
{
	yaml_parser_t p;
	yaml_event_t e;

	if (parser_open(s, &p))
		return;
	while (!s->end && s->reader->nr_errors == 0) {
		if (!yaml_parser_parse(&p, &e)) {
			syntax_error(s, &p);
			break;
		}
		event_check(s, &e);
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&p);
}

// Also finds what is wrong behind the first document.
static void document_end_check(const struct source *s, yaml_parser_t *p)
{
	yaml_document_t more;
	const yaml_node_t *top;

	if (!yaml_parser_load(p, &more)) {
		syntax_error(s, p);
		return;
	}
	top = yaml_document_get_root_node(&more);
	if (top)
		reader_error(s->reader, mark_place(s, &top->start_mark),
			     "expected the end of the file, not a second document");
	yaml_document_delete(&more);
}

// Lists and mappings get what is in them later, as all numbers must be known.
static int node_copy(struct source *s, const yaml_node_t *n)
{
	yaml_document_t *to = s->reader->document;
	yaml_node_t *copy;
	int id = 0;

	switch ((int)n->type) {
	case YAML_SCALAR_NODE:
		id = yaml_document_add_scalar(to, n->tag, n->data.scalar.value,
					      (int)n->data.scalar.length, n->data.scalar.style);
		break;
	case YAML_SEQUENCE_NODE:
		id = yaml_document_add_sequence(to, n->tag, n->data.sequence.style);
		break;
	case YAML_MAPPING_NODE:
		id = yaml_document_add_mapping(to, n->tag, n->data.mapping.style);
		break;
	default:
		break;
	}
	if (!id)
		return -1;
	copy = yaml_document_get_node(to, id);
	copy->start_mark = n->start_mark;
	copy->start_mark.index = s->file;
	return 0;
}

static int content_copy(struct source *s, const yaml_node_t *n, int id, int offset)
{
	yaml_document_t *to = s->reader->document;

	if (n->type == YAML_SEQUENCE_NODE)
		for (yaml_node_item_t *i = n->data.sequence.items.start;
		     i < n->data.sequence.items.top; i++)
			if (!yaml_document_append_sequence_item(to, id, *i + offset))
				return -1;
	if (n->type == YAML_MAPPING_NODE)
		for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
		     p < n->data.mapping.pairs.top; p++)
			if (!yaml_document_append_mapping_pair(to, id, p->key + offset,
							       p->value + offset))
				return -1;
	return 0;
}

/* The number of its root, 0 after an error. */
static int document_copy(struct source *s, yaml_document_t *from)
{
	const yaml_document_t *to = s->reader->document;
	int offset = (int)(to->nodes.top - to->nodes.start), rc = 0;

	for (const yaml_node_t *n = from->nodes.start; n < from->nodes.top && !rc; n++)
		rc = node_copy(s, n);
	for (const yaml_node_t *n = from->nodes.start; n < from->nodes.top && !rc; n++)
		rc = content_copy(s, n, (int)(n - from->nodes.start) + 1 + offset, offset);
	if (rc)
		reader_error(s->reader, (struct topology_place){ .file = s->file },
			     "not enough memory");
	return rc ? 0 : 1 + offset;
}

static int document_take(struct source *s, yaml_parser_t *p)
{
	yaml_document_t document;
	int top = 0;

	if (!yaml_parser_load(p, &document)) {
		syntax_error(s, p);
		return 0;
	}
	document_end_check(s, p);
	if (s->reader->nr_errors == 0) {
		if (yaml_document_get_root_node(&document))
			top = document_copy(s, &document);
		else
			reader_error(s->reader, (struct topology_place){ .file = s->file },
				     "expected a mapping with hosts, switches and links, "
				     "not an empty file");
	}
	yaml_document_delete(&document);
	return top;
}

int reader_read_yaml(struct reader *r, unsigned int file)
{
	struct source s = { .reader = r, .file = file };
	yaml_parser_t p;
	int top;

	limits_check(&s);
	if (r->nr_errors || parser_open(&s, &p))
		return 0;
	top = document_take(&s, &p);
	yaml_parser_delete(&p);
	return top;
}
