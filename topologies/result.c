// SPDX-License-Identifier: BSD-3-Clause
// What a recorded run says at its end: written under another name, which it keeps if it is not whole.
#include "topologies/result.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "switch/io/outfile.h"
#include "topologies/say.h"

#define RESULT "result.txt"
#define PARTIAL RESULT ".partial"
#define LOG "logs/tally-fabric.log"

enum { RESULT_PATH = 2 * RECORD_PATH };

static void path_of(const struct record *rec, const char *name, char path[RESULT_PATH])
{
	snprintf(path, RESULT_PATH, "%s/%s", rec->dir, name);
}

static FILE *file_open(const struct record *rec, const char *name)
{
	char path[RESULT_PATH];
	FILE *file;

	path_of(rec, name, path);
	file = fopen(path, "we");
	if (!file)
		say_error("%s: %s", path, strerror(errno));
	return file;
}

/* The exit code ends it; why: errno of what went wrong before. */
static int result_finish(const struct record *rec, FILE *file, int why, int code)
{
	char part[RESULT_PATH], path[RESULT_PATH];

	path_of(rec, PARTIAL, part);
	path_of(rec, RESULT, path);
	errno = 0;
	if (fprintf(file, "exit code %d\n", code) < 0 || fflush(file) || ferror(file))
		why = why ? why : errno ? errno : EIO;
	if (fclose(file) && !why)
		why = errno;
	if (!why && rename(part, path))
		why = errno;
	return why ? say_error("%s: %s: what this run said is not whole there", part,
			       outfile_error(why))
		   : 0;
}

int result_write(const struct record *rec, const char *text, size_t len, int code)
{
	FILE *file;
	int why;

	if (!rec->dir || !rec->whole)
		return 0;
	file = file_open(rec, PARTIAL);
	if (!file)
		return -1;
	errno = 0;
	why = fwrite(text, 1, len, file) == len && fflush(file) == 0 ? 0 : errno ? errno : EIO;
	return result_finish(rec, file, why, code);
}

/* --- What this process prints ---------------------------------------------------------------------- */

struct twice {
	FILE *first, *copy;
	int why; /* errno of what went wrong with the copy */
};

static struct twice result_out, result_err;

/* The copy first: nobody may read the other any more. */
static ssize_t twice_write(void *context, const char *bytes, size_t nr)
{
	struct twice *to = context;

	if (to->copy && !to->why && (fwrite(bytes, 1, nr, to->copy) != nr || fflush(to->copy)))
		to->why = errno ? errno : EIO;
	return fwrite(bytes, 1, nr, to->first) != nr || fflush(to->first) ? 0 : (ssize_t)nr;
}

static int twice_open(struct twice *to, FILE **stream, FILE *copy)
{
	FILE *both = copy ? fopencookie(to, "w", (cookie_io_functions_t){ .write = twice_write })
			  : NULL;

	if (!both)
		return copy ? say_error("not enough memory") : -1;
	(void)setvbuf(both, NULL, _IOLBF, BUFSIZ);
	*to = (struct twice){ *stream, copy, 0 };
	*stream = both;
	return 0;
}

static FILE *twice_take(struct twice *to, FILE *stream)
{
	FILE *copy = to->copy;

	fflush(stream);
	to->copy = NULL;
	return copy;
}

/* --- A signal that ends it --------------------------------------------------------------------------- */

static const int ends[] = { SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

static struct {
	int fd[3]; /* the result, the log, stderr */
	char text[2 * RESULT_PATH];
} last_words; /* written before there are other threads */

static void last_words_write(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return; // there is nobody left to tell
}

/* Only what a signal may do. */
static void on_end(int sig)
{
	const char *why = sig == SIGTERM  ? "interrupted by SIGTERM"
			  : sig == SIGHUP ? "interrupted by SIGHUP"
			  : sig == SIGQUIT
				  ? "interrupted by SIGQUIT"
				  : "interrupted by SIGPIPE: nobody reads standard output any more";

	last_words_write(last_words.fd[2], "tally-fabric: ");
	for (int i = 0; i < 3; i++) {
		last_words_write(last_words.fd[i], why);
		last_words_write(last_words.fd[i], i == 2 ? last_words.text : "\n");
	}
	(void)raise(sig); // as without us: SA_RESETHAND
}

static void last_words_prepare(const struct record *rec)
{
	struct sigaction action = { .sa_handler = on_end, .sa_flags = (int)SA_RESETHAND }, before;

	last_words.fd[0] = fileno(result_out.copy);
	last_words.fd[1] = fileno(result_err.copy);
	last_words.fd[2] = STDERR_FILENO;
	snprintf(last_words.text, sizeof(last_words.text),
		 ": what was known until then is in %s/" PARTIAL "\n", rec->dir);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			(void)sigaction(ends[i], &action, NULL);
}

static void last_words_forget(void)
{
	struct sigaction now;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == on_end)
			(void)signal(ends[i], SIG_DFL);
}

int result_output(const struct record *rec)
{
	if (!rec->dir || !rec->whole)
		return 0;
	if (twice_open(&result_out, &stdout, file_open(rec, PARTIAL)) ||
	    twice_open(&result_err, &stderr, file_open(rec, LOG)))
		return -1;
	last_words_prepare(rec);
	return 0;
}

/* --- The end ----------------------------------------------------------------------------------------- */

static bool is_there(const struct record *rec, const char *name)
{
	char path[RESULT_PATH];

	path_of(rec, name, path);
	return access(path, F_OK) == 0;
}

void result_close(const struct record *rec, int code)
{
	FILE *file;

	if (!rec->dir || !rec->whole)
		return;
	file = twice_take(&result_out, stdout);
	if (file)
		(void)result_finish(rec, file, result_out.why, code);
	else if (!is_there(rec, RESULT) &&
		 !is_there(rec, PARTIAL)) // else all is said, or that it is not
		(void)result_write(rec, "", 0, code);
	file = twice_take(&result_err, stderr);
	last_words_forget();
	if (!file)
		return;
	if (fclose(file) && !result_err.why)
		result_err.why = errno;
	if (result_err.why)
		say_error("%s/" LOG ": %s: it is not whole", rec->dir,
			  outfile_error(result_err.why));
}
