// SPDX-License-Identifier: BSD-3-Clause
// log.c - lines "host:pid:tid TALLY INFO text" to stderr, a file, or the program's own function.
#include "host/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOG_LINE = 1024, LOG_PATH = 4096, LOG_HOST = 65 };

/* Everything but the level is guarded by the mutex. */
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int log_now = TALLY_LOG_WARN;
static FILE *log_file; /* NULL: stderr */
static char log_path[LOG_PATH];
static void (*log_fn)(void *ctx, int level, const char *text);
static void *log_ctx;

int log_level(void)
{
	return atomic_load_explicit(&log_now, memory_order_relaxed);
}

static void log_host(char out[LOG_HOST])
{
	if (gethostname(out, LOG_HOST) != 0)
		snprintf(out, LOG_HOST, "localhost");
	out[LOG_HOST - 1] = '\0';
}

static int log_expand(char *out, size_t cap, const char *pattern)
{
	char part[LOG_HOST];
	size_t len = 0;

	for (; *pattern; pattern++) {
		snprintf(part, sizeof(part), "%c", *pattern);
		if (*pattern == '%' && pattern[1]) {
			pattern++;
			if (*pattern == 'h')
				log_host(part);
			else if (*pattern == 'p')
				snprintf(part, sizeof(part), "%ld", (long)getpid());
			else
				snprintf(part, sizeof(part), "%c", *pattern);
		}
		if (len + strlen(part) >= cap)
			return -ENAMETOOLONG;
		strcpy(out + len, part);
		len += strlen(part);
	}
	out[len] = '\0';
	return 0;
}

/*
 * -ENXIO for a pipe that nobody reads, instead of waiting for a reader.  Standard error may be a pipe,
 * too, under whatever name, so pipes as such are no mistake.
 */
static int log_append(FILE **file, const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
	int rc;

	if (fd < 0)
		return -errno;
	*file = fcntl(fd, F_SETFL, O_APPEND) == 0 ? fdopen(fd, "a") : NULL;
	if (*file)
		return 0;
	rc = -errno;
	close(fd);
	return rc;
}

/* The mutex is held. */
static int log_open(const char *pattern)
{
	char path[LOG_PATH] = "";
	FILE *file = NULL;
	int rc;

	if (pattern && pattern[0]) {
		rc = log_expand(path, sizeof(path), pattern);
		if (rc < 0)
			return rc;
		if (strcmp(path, log_path) == 0)
			return 0;
		rc = log_append(&file, path);
		if (rc < 0)
			return rc;
		setvbuf(file, NULL, _IOLBF, 0);
	}
	if (log_file)
		fclose(log_file);
	log_file = file;
	strcpy(log_path, path);
	return 0;
}

int log_setup(int level, const char *pattern)
{
	int rc;

	pthread_mutex_lock(&log_mutex);
	rc = log_open(pattern);
	if (rc == 0)
		atomic_store_explicit(&log_now, level, memory_order_relaxed);
	pthread_mutex_unlock(&log_mutex);
	return rc;
}

void tally_set_log(void (*fn)(void *ctx, int level, const char *text), void *ctx)
{
	pthread_mutex_lock(&log_mutex);
	log_fn = fn;
	log_ctx = ctx;
	pthread_mutex_unlock(&log_mutex);
}

void log_print(int level, const char *format, ...)
{
	static const char *const names[] = { "NONE", "WARN", "INFO", "TRACE" };
	void (*fn)(void *ctx, int level, const char *text);
	char text[LOG_LINE], host[LOG_HOST];
	void *ctx;
	va_list args;

	if (level > log_level())
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pthread_mutex_lock(&log_mutex);
	fn = log_fn;
	ctx = log_ctx;
	if (!fn) {
		log_host(host);
		fprintf(log_file ? log_file : stderr, "%s:%ld:%ld TALLY %s %s\n", host,
			(long)getpid(), (long)gettid(), names[level], text);
	}
	pthread_mutex_unlock(&log_mutex);
	/* Outside the mutex, so that the program's function may call us. */
	if (fn)
		fn(ctx, level, text);
}
