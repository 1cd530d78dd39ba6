// SPDX-License-Identifier: BSD-3-Clause
// Writes the picture of a topology where the user wants it: all of it, or nothing.
#include "topologies/draw_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "switch/io/outfile.h"
#include "topologies/say.h"

static bool ends_with(const char *path, const char *ending)
{
	size_t len = path ? strlen(path) : 0, of = strlen(ending);

	return len > of && strcmp(path + len - of, ending) == 0;
}

int draw_format_choose(const char *format, const char *path, enum draw_format *to)
{
	*to = format ? DRAW_DOT : ends_with(path, ".svg") ? DRAW_SVG : DRAW_DOT;
	if (!format || strcmp(format, "dot") == 0)
		return 0;
	*to = DRAW_SVG;
	return strcmp(format, "svg") == 0 ? 0 : -1;
}

// Half a picture is not to be taken for a whole one.
static int half_remove(const char *path, int why)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		(void)unlink(path);
	return say_error("%s: %s: nothing is left there", path, outfile_error(why));
}

static int text_write(const char *text, size_t size, const char *path)
{
	FILE *out = path ? outfile_open(path, true) : stdout;
	int why;

	if (!out)
		return say_error("%s: %s", path, outfile_error(errno));
	errno = 0;
	why = fwrite(text, 1, size, out) == size && fflush(out) == 0 ? 0 : errno;
	if (!path) // its errors are found at the end of the program
		return 0;
	if (fclose(out) && !why)
		why = errno;
	return why ? half_remove(path, why) : 0;
}

int draw_file(struct topology *t, enum draw_format format, const char *path)
{
	char *text = NULL;
	size_t size = 0;
	const char *read = path ? topology_reads(t, path) : NULL;
	FILE *memory;
	int rc = -1;

	if (read)
		return say_error("-o %s: would overwrite %s, which is read: name another file",
				 path, read);
	memory = open_memstream(&text, &size);
	if (memory) {
		rc = draw_topology(t, format, memory);
		if (ferror(memory))
			rc = -1;
		if (fclose(memory))
			rc = -1;
	}
	rc = rc ? say_error("not enough memory") : text_write(text, size, path);
	free(text);
	return rc;
}
