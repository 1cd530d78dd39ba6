// SPDX-License-Identifier: BSD-3-Clause
// The file of a topology and those it includes, merged into one mapping.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "switch/io/outfile.h"
#include "topologies/say.h"
#include "topologies/topology.h"
#include "topologies/topology_reader.h"

enum { INCLUDES_DEEP = 8 };

/* The files on the way to the one that is read, and the mappings of those that are done. */
struct includes {
	struct {
		unsigned int file, next;
		int top;
	} level[INCLUDES_DEEP + 1];
	unsigned int depth;
	int done[TOPOLOGY_FILES_MAX]; /* what is included before what includes it */
	unsigned int nr_done;
};

// A pipe that nobody writes to is an empty file, not one to wait for.
static FILE *file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	FILE *f = NULL;

	if (fd < 0)
		return NULL;
	if (fcntl(fd, F_SETFL, 0) == 0)
		f = fdopen(fd, "r");
	err = errno;
	if (!f)
		close(fd);
	errno = err;
	return f;
}

// The whole file: it is small, and errors quote it.
static int stream_read(FILE *stream, struct topology_file *f, bool included)
{
	struct stat st;

	if (fstat(fileno(stream), &st))
		return -errno;
	if (included && !S_ISREG(st.st_mode))
		return -EINVAL;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->text = malloc(TOPOLOGY_FILE_MAX + 1);
	if (!f->text)
		return -ENOMEM;
	f->size = fread(f->text, 1, TOPOLOGY_FILE_MAX + 1, stream);
	if (ferror(stream))
		return -errno;
	return f->size > TOPOLOGY_FILE_MAX ? -EFBIG : 0;
}

/* 0, or a negative errno. */
static int file_read(struct topology_file *f, bool included)
{
	FILE *stream = file_open(f->path);
	char *text;
	int rc;

	if (!stream)
		return -errno;
	rc = stream_read(stream, f, included);
	fclose(stream);
	if (rc == 0 && f->size) { // what is left over is given back
		text = realloc(f->text, f->size);
		f->text = text ? text : f->text;
	}
	return rc;
}

// Relative to the file that includes it.
static char *path_join(const char *from, const char *name)
{
	const char *slash = strrchr(from, '/');
	size_t dir = *name == '/' || !slash ? 0 : (size_t)(slash - from) + 1;
	char *path = malloc(dir + strlen(name) + 1);

	if (path) {
		memcpy(path, from, dir);
		memcpy(path + dir, name, strlen(name) + 1);
	}
	return path;
}

/* The one that is read already, NULL: none. */
static const struct topology_file *file_known(const struct topology *t,
					      const struct topology_file *f)
{
	for (unsigned int i = 0; i < t->nr_files; i++)
		if (t->file[i].device == f->device && t->file[i].inode == f->inode &&
		    t->file[i].list == f->list)
			return &t->file[i];
	return NULL;
}

const char *topology_reads(const struct topology *t, const char *path)
{
	for (unsigned int i = 0; i < t->nr_files; i++)
		if (outfile_is(path, t->file[i].path))
			return t->file[i].path;
	return NULL;
}

static void file_drop(struct topology_file *f)
{
	free(f->path);
	free(f->text);
	*f = (struct topology_file){ .path = NULL };
}

static void file_parse(struct reader *r, struct includes *in)
{
	struct topology *t = r->topology;
	unsigned int file = t->nr_files++;
	int top = reader_read_yaml(r, file);

	if (!top)
		return;
	if (reader_node(r, top)->type != YAML_MAPPING_NODE) {
		reader_expected(r, reader_node(r, top),
				"a topology (a mapping with hosts, switches and links)");
		return;
	}
	reader_expand(r, top);
	t->file[file].open = true;
	in->level[in->depth].file = file;
	in->level[in->depth].next = 0;
	in->level[in->depth++].top = top;
}

// One that is included twice, on two ways, is read once.
static void file_include(struct reader *r, struct includes *in, const yaml_node_t *n)
{
	struct topology *t = r->topology;
	struct topology_file *f = &t->file[t->nr_files];
	struct topology_file *by = &t->file[in->level[in->depth - 1].file];
	const char *name = reader_text(n);
	const struct topology_file *known;
	int rc;

	if (!name || !*name) {
		reader_expected(r, n, "the name of a file");
		return;
	}
	if (t->nr_files == TOPOLOGY_FILES_MAX || in->depth > INCLUDES_DEEP ||
	    by->nr_includes == TOPOLOGY_FILES_MAX) {
		reader_error_node(r, n,
				  "expected at most %d files, included %d deep, not '%s' as well",
				  TOPOLOGY_FILES_MAX, INCLUDES_DEEP, name);
		return;
	}
	f->path = path_join(by->path, name);
	rc = f->path ? file_read(f, true) : -ENOMEM;
	known = rc ? NULL : file_known(t, f);
	by->include[by->nr_includes++] = (unsigned char)((known ? known : f) - t->file);
	if (rc == -EINVAL)
		reader_error_node(r, n, "expected a file, not '%s', which is none", name);
	else if (rc == -EFBIG)
		reader_error_node(r, n,
				  "expected a file of at most 1 MiB, not '%s', which is larger",
				  name);
	else if (rc)
		reader_error_node(r, n, "expected a file that can be read, not '%s': %s", name,
				  strerror(-rc));
	else if (known && known->open)
		reader_error_node(r, n, "expected no circle of files, but '%s' includes this one",
				  name);
	if (rc || known)
		file_drop(f);
	else
		file_parse(r, in);
}

/* A place is one use, however many jobs have it by default. */
static void list_use(struct topology *t, struct topology_place at, unsigned int file)
{
	for (unsigned int i = 0; i < t->nr_uses; i++) {
		const struct topology_place *p = &t->use[i].place;

		if (p->file == at.file && p->line == at.line && p->column == at.column)
			return;
	}
	if (t->nr_uses < sizeof(t->use) / sizeof(t->use[0]))
		t->use[t->nr_uses++] = (struct topology_use){ at, file };
}

unsigned int reader_read_list_file(struct reader *r, const yaml_node_t *n)
{
	struct topology *t = r->topology;
	struct topology_file *f = &t->file[t->nr_files];
	const struct topology_place at = reader_place(n);
	const char *name = reader_text(n);
	const struct topology_file *known;
	int rc;

	if (!name || !*name) {
		reader_expected(r, n, "the name of a file");
		return 0;
	}
	if (t->nr_files == TOPOLOGY_FILES_MAX) {
		reader_error_node(r, n, "expected at most %d files, not '%s' as well",
				  TOPOLOGY_FILES_MAX, name);
		return 0;
	}
	*f = (struct topology_file){ .path = path_join(topology_path(t, at), name), .list = true };
	rc = f->path ? file_read(f, true) : -ENOMEM;
	known = rc ? NULL : file_known(t, f);
	if (rc)
		reader_error_node(r, n, "expected a file that can be read, not '%s': %s", name,
				  rc == -EINVAL ? "it is no regular file" : strerror(-rc));
	if (rc || known)
		file_drop(f);
	if (rc)
		return 0;
	if (!known)
		known = &t->file[t->nr_files++];
	list_use(t, at, (unsigned int)(known - t->file));
	return (unsigned int)(known - t->file);
}

/* NULL: there are no more. */
static const yaml_node_t *include_item(struct reader *r, int top, unsigned int i)
{
	int value = reader_value(r, top, "include");
	const yaml_node_t *n = value ? reader_node(r, value) : NULL;

	if (!n)
		return NULL;
	if (n->type == YAML_SEQUENCE_NODE)
		return i < reader_list_length(n) ? reader_list_item(r, n, i) : NULL;
	return i == 0 ? n : NULL;
}

static void include_next(struct reader *r, struct includes *in)
{
	struct topology *t = r->topology;
	unsigned int at = in->depth - 1;
	const yaml_node_t *n = include_item(r, in->level[at].top, in->level[at].next++);

	if (n) {
		file_include(r, in, n);
		return;
	}
	in->done[in->nr_done++] = in->level[at].top;
	t->file[in->level[at].file].open = false;
	in->depth--;
}

int reader_read_files(struct reader *r, const char *path)
{
	struct topology *t = r->topology;
	struct topology_file *f = &t->file[0];
	struct includes in = { .depth = 0 };
	int rc, top;

	f->path = strdup(path);
	t->path = f->path;
	rc = f->path ? file_read(f, false) : -ENOMEM;
	if (rc) {
		fprintf(r->errors, "%s: error: %s\n", path,
			rc == -EFBIG	? "expected a file of at most 1 MiB, not a larger one: use "
					  "ranges of names, or include files"
			: rc == -EMFILE ? say_errno(EMFILE)
					: strerror(-rc));
		file_drop(f);
		r->nr_errors++;
		return 0;
	}
	file_parse(r, &in);
	while (in.depth && r->nr_errors == 0)
		include_next(r, &in);
	if (r->nr_errors)
		return 0;
	top = in.done[0];
	for (unsigned int i = 1; i < in.nr_done && top; i++)
		top = reader_merge(r, top, in.done[i], READER_APPEND);
	return top;
}
