// SPDX-License-Identifier: BSD-3-Clause
// New nodes in the reader's document.
#include <string.h>

#include "topologies/topology.h"
#include "topologies/topology_reader.h"

int reader_value(struct reader *r, int map, const char *name)
{
	const yaml_node_t *n = reader_node(r, map);

	for (unsigned int i = 0; n->type == YAML_MAPPING_NODE && i < reader_mapping_length(n);
	     i++) {
		const char *key = reader_text(reader_node(r, n->data.mapping.pairs.start[i].key));

		if (key && strcmp(key, name) == 0)
			return n->data.mapping.pairs.start[i].value;
	}
	return 0;
}

static int node_finish(struct reader *r, int id, int place_of)
{
	const yaml_node_t *from = reader_node(r, place_of);

	if (id)
		reader_node(r, id)->start_mark = from->start_mark;
	else
		reader_error_node(r, from, "not enough memory");
	return id;
}

int reader_add_scalar(struct reader *r, const char *text, int place_of)
{
	return node_finish(r,
			   yaml_document_add_scalar(r->document, NULL, (const yaml_char_t *)text,
						    (int)strlen(text), YAML_PLAIN_SCALAR_STYLE),
			   place_of);
}

int reader_add_list(struct reader *r, int place_of)
{
	return node_finish(r,
			   yaml_document_add_sequence(r->document, NULL, YAML_FLOW_SEQUENCE_STYLE),
			   place_of);
}

int reader_add_mapping(struct reader *r, int place_of)
{
	return node_finish(r, yaml_document_add_mapping(r->document, NULL, YAML_FLOW_MAPPING_STYLE),
			   place_of);
}

bool reader_append_item(struct reader *r, int list, int item)
{
	return item && (yaml_document_append_sequence_item(r->document, list, item) ||
			node_finish(r, 0, list));
}

bool reader_append_pair(struct reader *r, int map, int key, int value)
{
	return key && value &&
	       (yaml_document_append_mapping_pair(r->document, map, key, value) ||
		node_finish(r, 0, map));
}
