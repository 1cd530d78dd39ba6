// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_link.c - the conversation with a switch: connect, ask, and put long lists together. */
#include "switch/tallyctl_link.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	LINK_WAIT_MS = 5000, /* a switch that does not answer in this time is stopped, or stuck */
	LINK_TRIES = 20,     /* a crowd of clients may push this one out */
	LINK_AGAIN = 2500,
	LINK_AGAIN_NS = 2000000,
};

static bool link_hushed;

void link_hush(bool hush)
{
	link_hushed = hush;
}

bool link_complain(const char *format, ...)
{
	va_list ap;

	if (link_hushed)
		return false;
	fputs("tallyctl: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return false;
}

/* One message; its length, -1: none in time, 0: the switch has closed the connection. */
static ssize_t link_receive(struct link *link)
{
	struct pollfd pollfd = { .fd = link->fd, .events = POLLIN };
	ssize_t n;

	if (poll(&pollfd, 1, link->wait_ms) <= 0)
		return -1;
	n = recv(link->fd, link->answer, sizeof(link->answer), 0);
	return n < 0 && errno == ECONNRESET ? 0 : n;
}

static bool link_greeted(struct link *link)
{
	ssize_t n = link_receive(link);
	json_t *greeting = n > 0 ? json_loadb(link->answer, (size_t)n, 0, NULL) : NULL;
	bool ok = json_is_integer(json_object_get(greeting, "pid"));

	if (ok)
		link->pid = (long)json_integer_value(json_object_get(greeting, "pid"));
	json_decref(greeting);
	if (n == 0)
		return link_complain(
			"%s: closed at once: a switch serves only its own user and root",
			link->path);
	return ok || link_complain("%s: it does not answer as a switch within %d s", link->path,
				   link->wait_ms / 1000);
}

/* Others may be waiting to be let in. */
static int link_queue(const char *path)
{
	const struct timespec nap = { .tv_nsec = LINK_AGAIN_NS };
	int fd = ctl_path_connect(path);

	for (unsigned i = 0; fd < 0 && errno == EAGAIN && i < LINK_AGAIN; i++) {
		nanosleep(&nap, NULL);
		fd = ctl_path_connect(path);
	}
	return fd;
}

/* Root may be unknown in the switch's user namespace, and therefore comes as the switch's user. */
static int link_dial(const char *path)
{
	const uid_t self = geteuid();
	int fd = link_queue(path), err;
	uid_t owner;

	if (fd < 0)
		return -1;
	owner = ctl_path_peer(fd);
	if (ctl_path_trusts(owner) || (self == 0 && seteuid(owner)))
		return fd;
	close(fd);
	errno = EACCES;
	fd = geteuid() == owner ? link_queue(path) : -1;
	err = errno;
	/* The next switch may be another user's. */
	if (geteuid() != self && seteuid(self)) {
		close(fd);
		return -1;
	}
	errno = err;
	return fd;
}

static bool link_connect(struct link *link)
{
	link->fd = link_dial(link->path);
	if (link->fd >= 0)
		return link_greeted(link);
	switch (errno) {
	case ECONNREFUSED:
		return link_complain("%s: its switch has ended", link->path);
	case ENOENT:
		return link_complain(
			"%s: there is no such socket: is the switch running, and with this --ctl?",
			link->path);
	case EACCES:
		return link_complain(
			"%s: permission denied: the switch is another user's; run tallyctl as that user",
			link->path);
	case EAGAIN:
		return link_complain("%s: the switch does not take new connections: is it stopped?",
				     link->path);
	default:
		return link_complain("%s: %s", link->path, strerror(errno));
	}
}

void link_close(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

static bool link_start(struct link *link)
{
	const char *slash = strrchr(link->path, '/');

	snprintf(link->name, sizeof(link->name), "%s", slash ? slash + 1 : link->path);
	return link_connect(link);
}

bool link_open(struct link *link, const char *where)
{
	link->fd = -1;
	link->wait_ms = LINK_WAIT_MS;
	return link_find(link, where) && link_start(link);
}

bool link_open_path(struct link *link, const char *path, int wait_ms)
{
	link->fd = -1;
	link->wait_ms = wait_ms;
	snprintf(link->path, sizeof(link->path), "%s", path);
	return link_start(link);
}

/* The answer's only value; NULL: this was no answer. */
static json_t *link_value(const char *answer, size_t len)
{
	json_t *object = json_loadb(answer, len, JSON_ALLOW_NUL, NULL);
	json_t *value = json_object_iter_value(json_object_iter(object));

	json_incref(value);
	json_decref(object);
	return value;
}

static json_t *link_judge(struct link *link, const char *request, json_t *value)
{
	const char *error = json_string_value(json_object_get(value, "error"));

	link->usage = json_is_true(json_object_get(value, "bad_request"));
	if (!value)
		link_complain("%s: the answer to %s is not what a switch says", link->path,
			      request);
	else if (json_is_null(value))
		link_complain("%s: the switch does not know %s: it is of another version",
			      link->path, request);
	else if (error)
		link_complain("%s", error);
	else
		return value;
	json_decref(value);
	return NULL;
}

static json_t *link_request(struct link *link, const char *request)
{
	ssize_t n;

	for (unsigned i = 0; i < LINK_TRIES; i++) {
		if (i > 0) {
			link_close(link);
			if (!link_connect(link))
				return NULL;
		}
		if (send(link->fd, request, strlen(request), MSG_NOSIGNAL) < 0)
			continue;
		n = link_receive(link);
		if (n > 0)
			return link_judge(link, request, link_value(link->answer, (size_t)n));
		if (n < 0) {
			link_complain("%s: no answer within %d s: is the switch stopped?",
				      link->path, LINK_WAIT_MS / 1000);
			return NULL;
		}
	}
	link_complain("%s: the switch closes the connection", link->path);
	return NULL;
}

json_t *link_ask(struct link *link, const char *format, ...)
{
	char request[CTL_REQUEST];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(request, sizeof(request), format, ap);
	va_end(ap);
	if (len < (int)sizeof(request))
		return link_request(link, request);
	link->usage = true;
	link_complain("a request is at most %d bytes", CTL_REQUEST - 1);
	return NULL;
}

/* A job in several answers: its counts belong together. */
static void link_add_jobs(json_t *all, json_t *jobs)
{
	const char *name, *key;
	json_t *counts, *count;

	json_object_foreach(jobs, name, counts)
	{
		json_t *sum = json_object_get(all, name);

		if (!sum) {
			json_object_set(all, name, counts);
			continue;
		}
		json_object_foreach(counts, key, count)
			json_object_set_new(sum, key,
					    json_integer(
						    json_integer_value(json_object_get(sum, key)) +
						    json_integer_value(count)));
	}
}

json_t *link_list(struct link *link, const char *command, const char *key, const char *rest)
{
	json_t *all = json_object(), *list = json_array(), *jobs = json_object(), *part, *next;
	json_int_t place = 0;
	bool more = true;

	json_object_set_new(all, key, list);
	while (more) {
		part = link_ask(link, "%s,%lld%s%s", command, (long long)place, rest ? "," : "",
				rest ? rest : "");
		if (!part) {
			json_decref(jobs);
			json_decref(all);
			return NULL;
		}
		json_array_extend(list, json_object_get(part, key));
		link_add_jobs(jobs, json_object_get(part, "jobs"));
		next = json_object_get(part, "next");
		/* A place that does not go on would never end. */
		more = json_is_integer(next) && json_integer_value(next) > place;
		place = json_integer_value(next);
		json_decref(part);
	}
	if (json_object_size(jobs))
		json_object_set(all, "jobs", jobs);
	json_decref(jobs);
	return all;
}
