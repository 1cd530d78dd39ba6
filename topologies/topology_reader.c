// SPDX-License-Identifier: BSD-3-Clause
// Errors with their place, and the scalars, lists and mappings of topology files.
#include "topologies/topology_reader.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "switch/faults.h"
#include "switch/quantity.h"

enum { ERRORS_SHOWN = 20, LINE_SHOWN = 100, LINE_BEFORE = 60, WORD_SHOWN = 40, NAMES_SIZE = 256 };

// Bytes of the character at p, at most 4; 0: control characters and what is not UTF-8, which a
// terminal should not get from us.
static size_t character_length(const char *p, const char *end)
{
	const unsigned char *c = (const unsigned char *)p;
	size_t len = c[0] >= 0x20 && c[0] < 0x7f ? 1
		     : c[0] >= 0xf0		 ? 4
		     : c[0] >= 0xe0		 ? 3
		     : c[0] >= 0xc2		 ? 2
						 : 0;

	if (c[0] > 0xf4 || (size_t)(end - p) < len || (c[0] == 0xc2 && len == 2 && c[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static const char *character_next(const char *p, const char *end)
{
	size_t len = character_length(p, end);

	return p + (len ? len : 1);
}

static void character_put(const char *p, const char *end, FILE *to)
{
	size_t len = character_length(p, end);

	if (len)
		(void)fwrite(p, 1, len, to);
	else
		fputc(*p == '\t' ? ' ' : '?', to);
}

// The line and a caret: many errors are plain once one sees the place.  libyaml counts characters.
static void line_show(const struct reader *r, struct topology_place at)
{
	const struct topology_file *f = &r->topology->file[at.file];
	const char *p = f->text, *end = p + f->size, *stop;
	size_t skip = 0, shown = 0;

	for (size_t line = 0; line < at.line && p < end; p++)
		line += *p == '\n';
	for (stop = p; stop < end && *stop != '\n' && *stop != '\r';)
		stop++;
	if (p == stop)
		return;
	if (stop - p > LINE_SHOWN && at.column > LINE_BEFORE)
		skip = at.column - LINE_BEFORE;
	for (size_t i = 0; i < skip && p < stop; i++)
		p = character_next(p, stop);
	fputs("  ", r->errors);
	for (; p < stop && shown < LINE_SHOWN; p = character_next(p, stop), shown++)
		character_put(p, stop, r->errors);
	fprintf(r->errors, "\n  %*s^\n", (int)(at.column - skip), "");
}

static void error_write(struct reader *r, struct topology_place at, const char *format, va_list ap)
{
	bool again = r->nr_errors && at.line == r->last.line && at.column == r->last.column &&
		     at.file == r->last.file;

	r->nr_errors++;
	r->last = at;
	if (again || r->nr_shown++ >= ERRORS_SHOWN || !r->errors)
		return;
	fprintf(r->errors, "%s:%zu:%zu: error: ", topology_path(r->topology, at), at.line + 1,
		at.column + 1);
	vfprintf(r->errors, format, ap);
	fputc('\n', r->errors);
	line_show(r, at);
}

void reader_error(struct reader *r, struct topology_place at, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	error_write(r, at, format, ap);
	va_end(ap);
}

void reader_error_node(struct reader *r, const yaml_node_t *n, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	error_write(r, reader_place(n), format, ap);
	va_end(ap);
}

struct topology_place reader_place(const yaml_node_t *n)
{
	return (struct topology_place){ n->start_mark.line, n->start_mark.column,
					(unsigned int)n->start_mark.index };
}

struct reader_words reader_describe(const yaml_node_t *n)
{
	struct reader_words w = { "nothing" };

	if (n->type == YAML_SEQUENCE_NODE) {
		snprintf(w.text, sizeof(w.text), "a list");
	} else if (n->type == YAML_MAPPING_NODE) {
		snprintf(w.text, sizeof(w.text), "a mapping");
	} else if (n->data.scalar.length) {
		const char *s = (const char *)n->data.scalar.value,
			   *end = s + n->data.scalar.length;
		size_t len = 1, bytes;

		w.text[0] = '\'';
		for (; s < end && len < WORD_SHOWN; s = character_next(s, end)) {
			bytes = character_length(s, end);
			memcpy(w.text + len, bytes ? s : "?", bytes ? bytes : 1);
			len += bytes ? bytes : 1;
		}
		snprintf(w.text + len, sizeof(w.text) - len, "'");
	}
	return w;
}

struct reader_words reader_line(const struct reader *r, struct topology_place of,
				struct topology_place seen_from)
{
	const char *path = topology_path(r->topology, of), *slash = strrchr(path, '/');
	struct reader_words w;

	snprintf(w.text, sizeof(w.text), "line %zu", of.line + 1);
	if (of.file != seen_from.file)
		snprintf(w.text, sizeof(w.text), "line %zu of %.40s", of.line + 1,
			 slash ? slash + 1 : path);
	return w;
}

bool reader_is_full(const struct reader *r)
{
	return r->nr_shown >= ERRORS_SHOWN;
}

void reader_expected(struct reader *r, const yaml_node_t *n, const char *expectation)
{
	reader_error_node(r, n, "expected %s, not %s", expectation, reader_describe(n).text);
}

const char *reader_text(const yaml_node_t *n)
{
	const char *s;

	if (n->type != YAML_SCALAR_NODE)
		return NULL;
	s = (const char *)n->data.scalar.value;
	return strlen(s) == n->data.scalar.length ? s : NULL;
}

bool reader_is_empty(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0;
}

unsigned int reader_list_length(const yaml_node_t *n)
{
	return (unsigned int)(n->data.sequence.items.top - n->data.sequence.items.start);
}

unsigned int reader_mapping_length(const yaml_node_t *n)
{
	return (unsigned int)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
}

yaml_node_t *reader_node(struct reader *r, int id)
{
	return yaml_document_get_node(r->document, id);
}

yaml_node_t *reader_list_item(struct reader *r, const yaml_node_t *n, unsigned int i)
{
	return reader_node(r, n->data.sequence.items.start[i]);
}

int topology_share_parse(const char *text, double *out)
{
	return text ? quantity_parse_fraction(text, out) : -1;
}

int topology_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	return text ? quantity_parse_whole(text, min, max, out) : -1;
}

struct topology_memory {
	struct topology_memory *next;
	max_align_t begin[];
};

void *reader_alloc(struct reader *r, size_t nr, size_t size)
{
	struct topology_memory *m = calloc(1, sizeof(*m) + (nr ? nr : 1) * size);

	if (!m) {
		reader_error(r, (struct topology_place){ 0, 0, 0 }, "not enough memory");
		return NULL;
	}
	m->next = r->topology->memory;
	r->topology->memory = m;
	return m->begin;
}

void reader_free(struct topology_memory *m)
{
	struct topology_memory *next;

	for (; m; m = next) {
		next = m->next;
		free(m);
	}
}

void reader_read_text(struct reader *r, yaml_node_t *n, void *to)
{
	const char *s = reader_text(n);

	if (!s || !*s)
		reader_expected(r, n, "text");
	else
		*(const char **)to = s;
}

void reader_read_command(struct reader *r, yaml_node_t *n, void *to)
{
	const char *s = reader_text(n);

	if (s && strlen(s) > TOPOLOGY_COMMAND_MAX)
		reader_error_node(r, n, "expected a command of at most %d bytes, not of %zu",
				  TOPOLOGY_COMMAND_MAX, strlen(s));
	else
		reader_read_text(r, n, to);
}

void reader_read_list(struct reader *r, yaml_node_t *n, void *to)
{
	struct topology_list *l = to;
	unsigned int nr;

	if (n->type != YAML_SEQUENCE_NODE) {
		reader_expected(r, n, "a list");
		return;
	}
	nr = reader_list_length(n);
	if (nr > TOPOLOGY_LIST_MAX) {
		reader_error_node(r, n, "expected a list of at most %d, not of %u",
				  TOPOLOGY_LIST_MAX, nr);
		return;
	}
	*l = (struct topology_list){ reader_alloc(r, nr, sizeof(*l->item)), 0 };
	for (unsigned int i = 0; i < nr && l->item; i++) {
		const char *text = NULL;

		reader_read_text(r, reader_list_item(r, n, i), &text);
		if (text)
			l->item[l->nr++] = text;
	}
}

// A number without a unit is in millions: of nanoseconds, or of bits a second.
static int plain_parse(const char *text, double least, double most, uint64_t *out)
{
	static const struct quantity_unit units[] = { { "", 6, 1 }, { NULL, 0, 0 } };
	double v;

	if (quantity_parse(text, units, &v) || v > most || (v < least && v > 0))
		return -1;
	*out = (uint64_t)(v + 0.5);
	return 0;
}

// With a unit both are what they are in an impairment of the switch's.
void reader_read_delay(struct reader *r, yaml_node_t *n, void *to)
{
	const char *text = reader_text(n);

	if (!text || (plain_parse(text, 0, 60e9, to) && faults_parse_time(text, to)))
		reader_expected(r, n,
				"a delay such as 5us or 1.5ms (plain numbers are ms; at most 60s)");
}

void reader_read_rate(struct reader *r, yaml_node_t *n, void *to)
{
	const char *text = reader_text(n);

	if (!text || (plain_parse(text, 1e3, 1e13, to) && faults_parse_rate(text, to)))
		reader_expected(r, n,
				"a rate such as 10G or 100M (bit/s; plain numbers are Mbit/s)");
}

// As a delay, but of any length.
void reader_read_time(struct reader *r, yaml_node_t *n, void *to)
{
	static const struct quantity_unit units[] = { { "ns", 0, 1 }, { "us", 3, 1 },
						      { "ms", 6, 1 }, { "s", 9, 1 },
						      { "", 6, 1 },   { NULL, 0, 0 } };
	const char *text = reader_text(n);
	double v;

	if (!text || quantity_parse(text, units, &v) || v > 1e15)
		reader_expected(r, n, "a time such as 500ms or 20s (plain numbers are ms)");
	else
		*(uint64_t *)to = (uint64_t)(v + 0.5);
}

void reader_read_size(struct reader *r, yaml_node_t *n, void *to)
{
	static const uint64_t least = UINT64_C(64) << 10, most = UINT64_C(1) << 40;
	static const char units[] = "KMG";
	const char *text = reader_text(n), *unit = NULL;
	char digits[16] = "";
	size_t len = text ? strspn(text, "0123456789") : 0;
	uint64_t v = 0, factor = 1;

	if (len && len < sizeof(digits)) {
		memcpy(digits, text, len);
		unit = text[len] ? strchr(units, text[len]) : NULL;
		factor = unit ? UINT64_C(1) << 10 * (unit - units + 1) : 1;
	}
	if (topology_number_parse(digits, 1, most / factor, &v) || v * factor < least ||
	    (text[len] && (!unit || text[len + 1])))
		reader_expected(r, n, "a size such as 64M, from 64K to 1024G");
	else
		*(uint64_t *)to = v * factor;
}

void reader_read_share(struct reader *r, yaml_node_t *n, void *to)
{
	double share;

	// Whoever writes 1 may mean 1 %.
	if (topology_share_parse(reader_text(n), &share) ||
	    (share >= 1 && !strchr(reader_text(n), '%')))
		reader_expected(r, n, "a share such as 0.1% or 0.001 (all: 100%)");
	else
		*(double *)to = share;
}

int reader_read_whole(struct reader *r, yaml_node_t *n, struct reader_whole range, uint64_t *to)
{
	char text[64];

	if (topology_number_parse(reader_text(n), range.min, range.max, to) == 0)
		return 0;
	snprintf(text, sizeof(text), "a whole number, %llu to %llu", (unsigned long long)range.min,
		 (unsigned long long)range.max);
	reader_expected(r, n, text);
	return -1;
}

void reader_read_seed(struct reader *r, yaml_node_t *n, void *to)
{
	(void)reader_read_whole(r, n, (struct reader_whole){ 0, UINT64_MAX }, to);
}

void reader_read_mac(struct reader *r, yaml_node_t *n, void *to)
{
	const char *s = reader_text(n);
	uint64_t mac = 0;

	if (!s || strlen(s) != 17 || strspn(s, "0123456789abcdefABCDEF:") != 17)
		goto out_expected;
	for (int i = 0; i < 6; i++) {
		if (s[3 * i] == ':' || s[3 * i + 1] == ':' || (i < 5 && s[3 * i + 2] != ':'))
			goto out_expected;
		mac = mac << 8 | strtoul(s + 3 * i, NULL, 16);
	}
	if (mac == 0 || mac >> 40 & 1) {
		reader_expected(r, n,
				"the MAC address of one interface (an even first byte, not all 0)");
		return;
	}
	*(uint64_t *)to = mac;
	return;
out_expected:
	reader_expected(r, n, "a MAC address such as \"08:00:00:00:01:11\" (in quotes)");
}

static const struct reader_key *key_find(const struct reader_key *keys, const char *name)
{
	for (; name && keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

// The number of letters to add, remove or change (Levenshtein 1966), for words shorter than the
// rows.
static unsigned int word_distance(const char *a, const char *b)
{
	unsigned int row[32], len = (unsigned int)strlen(b), corner, above;

	if (strlen(a) >= 32 || len >= 32)
		return 32;
	for (unsigned int k = 0; k <= len; k++)
		row[k] = k;
	for (unsigned int i = 0; a[i]; i++) {
		corner = row[0];
		row[0] = i + 1;
		for (unsigned int k = 0; k < len; k++) {
			above = row[k + 1];
			row[k + 1] = corner + (a[i] != b[k]);
			if (row[k + 1] > above + 1)
				row[k + 1] = above + 1;
			if (row[k + 1] > row[k] + 1)
				row[k + 1] = row[k] + 1;
			corner = above;
		}
	}
	return row[len];
}

// What there is instead of a word that nobody knows, one name after the other.
struct choice {
	const char *word; // NULL: no text
	const char *nearest;
	unsigned int best; // two slips at most, in less than half of the word
	char names[NAMES_SIZE];
	size_t len;
};

static void choice_add(struct choice *c, const char *name)
{
	unsigned int d = c->word ? word_distance(c->word, name) : 32;

	if (c->len < sizeof(c->names))
		c->len += (size_t)snprintf(c->names + c->len, sizeof(c->names) - c->len, "%s%s",
					   c->len ? ", " : "", name);
	if (d < c->best && 2 * d < strlen(name) + 1 && d < strlen(c->word)) {
		c->best = d;
		c->nearest = name;
	}
}

static void choice_say(const struct choice *c, struct reader *r, const yaml_node_t *n)
{
	char hint[64] = "";

	if (c->nearest)
		snprintf(hint, sizeof(hint), "; did you mean '%s'?", c->nearest);
	reader_error_node(r, n, "expected one of %s, not %s%s", c->names, reader_describe(n).text,
			  hint);
}

struct reader_hint reader_hint_node(const struct topology *t, const char *name)
{
	struct reader_hint hint = { "" };
	const char *nearest = NULL;
	unsigned int best = 3, d; // as for keys, but many short names differ by one digit
	size_t len = name ? strlen(name) : 0;

	for (unsigned int i = 0; i < t->nr_nodes && len; i++) {
		d = word_distance(name, t->node[i].name);
		if (d && d < best && 2 * d <= len && len > 2) {
			best = d;
			nearest = t->node[i].name;
		}
	}
	if (nearest)
		snprintf(hint.text, sizeof(hint.text), "; did you mean '%s'?", nearest);
	return hint;
}

void reader_expected_node(struct reader *r, const yaml_node_t *n, const char *expectation)
{
	reader_error_node(r, n, "expected %s, not %s%s", expectation, reader_describe(n).text,
			  reader_hint_node(r->topology, reader_text(n)).text);
}

static void key_unknown(struct reader *r, const yaml_node_t *k, const struct reader_key *keys)
{
	struct choice c = { .word = reader_text(k), .best = 3 };

	for (; keys->name; keys++)
		if (keys->offset != READER_REFUSED)
			choice_add(&c, keys->name);
	choice_say(&c, r, k);
}

const char *reader_choice(struct reader *r, const yaml_node_t *n, const char *const *words)
{
	struct choice c = { .word = reader_text(n), .best = 3 };

	for (const char *const *w = words; *w; w++) {
		if (c.word && strcmp(c.word, *w) == 0)
			return *w;
		choice_add(&c, *w);
	}
	choice_say(&c, r, n);
	return NULL;
}

bool reader_key_repeats(struct reader *r, const yaml_node_t *map, const yaml_node_pair_t *pair)
{
	const yaml_node_t *k = reader_node(r, pair->key), *o;

	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
		o = reader_node(r, p->key);
		if (!reader_text(o) || !reader_text(k) ||
		    strcmp(reader_text(o), reader_text(k)) != 0)
			continue;
		reader_error_node(r, k,
				  "expected %s once, not again: it is already given in line %zu",
				  reader_describe(k).text, o->start_mark.line + 1);
		return true;
	}
	return false;
}

static void *key_field(const struct reader_key *key, void *to)
{
	return key->offset == READER_REFUSED ? to : (char *)to + key->offset;
}

void reader_read_mapping(struct reader *r, yaml_node_t *n, const struct reader_key *keys, void *to,
			 const char *what)
{
	uint64_t given = 0;

	if (n->type != YAML_MAPPING_NODE) {
		reader_expected(r, n, what);
		return;
	}
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
	     p++) {
		yaml_node_t *k = reader_node(r, p->key);
		const struct reader_key *key = key_find(keys, reader_text(k));

		if (reader_is_full(r))
			return;
		if (!key) {
			key_unknown(r, k, keys);
		} else if (!reader_key_repeats(r, n, p)) {
			given |= UINT64_C(1) << (key - keys);
			if (key->read)
				key->read(r, reader_node(r, p->value), key_field(key, to));
		}
	}
	for (const struct reader_key *k = keys; k->name; k++)
		if (k->required && !r->defaults && !(given & UINT64_C(1) << (k - keys)))
			reader_error_node(r, n, "expected '%s' in %s", k->name, what);
}
