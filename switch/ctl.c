// SPDX-License-Identifier: BSD-3-Clause
/* ctl.c - the control socket: clients, and which command a request is. */
#include "switch/ctl.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "switch/log.h"
#include "switch/node.h"

enum {
	CTL_LISTENER = CTL_CLIENTS,
	CTL_SPARE = 24576 /* room for one more entry of any list, and its end */
};

static void ctl_list(struct ctl_call *call)
{
	ctl_json_array(&call->json, call->command);
	for (const struct ctl_command *c = ctl_commands; c->name; c++)
		ctl_json_text(&call->json, NULL, c->name);
	ctl_json_close(&call->json);
}

static void ctl_help(struct ctl_call *call)
{
	ctl_json_object(&call->json, call->command);
	for (const struct ctl_command *c = ctl_commands; c->name; c++)
		if (!*call->params || strcmp(call->params, c->name) == 0)
			ctl_json_text(&call->json, c->name, c->help);
	ctl_json_close(&call->json);
}

static void ctl_greeting(struct ctl_json *json)
{
	ctl_json_text(json, "version", "Tally " TALLY_VERSION);
	ctl_json_u64(json, "pid", (uint64_t)getpid());
	ctl_json_u64(json, "max_output_len", CTL_ANSWER);
}

static void ctl_hello(struct ctl_call *call)
{
	ctl_json_object(&call->json, call->command);
	ctl_greeting(&call->json);
	ctl_json_close(&call->json);
}

const struct ctl_command ctl_commands[] = {
	{ "/", "all commands", ctl_list },
	{ "/help", "what a command does: /help,/tally/jobs", ctl_help },
	{ "/info", "the greeting again", ctl_hello },
	{ "/tally/info", "the switch: addresses, limits, times", ctl_info },
	{ "/tally/ports", "ports and what went through them, from the one at this place on: FROM",
	  ctl_ports },
	{ "/tally/counters", "what became of the packets that came in", ctl_counters },
	{ "/tally/fdb", "stations learned, from this place on: FROM", ctl_fdb },
	{ "/tally/jobs", "jobs, from this place on: FROM", ctl_jobs },
	{ "/tally/job", "a job and its members: NAME", ctl_job },
	{ "/tally/slot", "a slot of a job: SLOT,NAME", ctl_slot },
	{ "/tally/stalls",
	  "slots that have waited for so many milliseconds, from this place on: PLACE,MS",
	  ctl_stalls },
	{ "/tally/reset", "end the epoch of a job, if it is still this one: EPOCH,NAME",
	  ctl_reset },
	{ "/tally/drain", "whether jobs that are not there are refused from now on: on or off",
	  ctl_drain },
	{ "/tally/impair", "faults on purpose at a port: PORT:KEY=VALUE,...", ctl_impair },
	{ "/tally/impairments", "faults on purpose of ports, from the one at this place on: FROM",
	  ctl_impairments },
	{ NULL, NULL, NULL },
};

static void ctl_error(struct ctl_call *call, bool words, const char *format, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, ap);
	ctl_json_object(&call->json, call->command);
	ctl_json_text(&call->json, "error", text);
	if (words)
		ctl_json_bool(&call->json, "bad_request", true);
	ctl_json_close(&call->json);
}

void ctl_refuse(struct ctl_call *call, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	ctl_error(call, false, format, ap);
	va_end(ap);
}

void ctl_refuse_words(struct ctl_call *call, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	ctl_error(call, true, format, ap);
	va_end(ap);
}

bool ctl_number(const char *params, uint64_t *value, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)*params))
		return false;
	errno = 0;
	*value = strtoull(params, &end, 10);
	*rest = *end == ',' ? end + 1 : end;
	return errno == 0 && (*end == ',' || *end == '\0');
}

bool ctl_from(struct ctl_call *call, uint64_t *from)
{
	const char *rest = "";

	*from = 0;
	if (!*call->params || (ctl_number(call->params, from, &rest) && !*rest))
		return true;
	ctl_refuse_words(call, "\"%.40s\" is no place in a list: want a number", call->params);
	return false;
}

void ctl_next(struct ctl_call *call, bool more, uint64_t next)
{
	if (more)
		ctl_json_u64(&call->json, "next", next);
	else
		ctl_json_null(&call->json, "next");
}

bool ctl_is_full(const struct ctl_call *call)
{
	return ctl_json_room(&call->json) < CTL_SPARE;
}

/* As DPDK answers what it does not know: with null. */
static void ctl_unknown(struct ctl_call *call)
{
	ctl_json_null(&call->json, call->command);
}

static size_t ctl_run(struct ctl *ctl, struct ctl_call *call)
{
	const struct ctl_command *c = ctl_commands;

	while (c->name && strcmp(c->name, call->command) != 0)
		c++;
	lcore_time(&ctl->node->lcore);
	ctl_json_start(&call->json, ctl->answer, sizeof(ctl->answer));
	ctl_json_object(&call->json, NULL);
	if (c->name)
		c->run(call);
	else
		ctl_unknown(call);
	ctl_json_close(&call->json);
	return ctl_json_end(&call->json);
}

static size_t ctl_answer(struct ctl *ctl, char *request)
{
	struct ctl_call call = { .node = ctl->node, .command = request, .params = "" };
	char *comma = strchr(request, ',');
	size_t len;

	if (comma) {
		*comma = '\0';
		call.params = comma + 1;
	}
	len = ctl_run(ctl, &call);
	if (len)
		return len;
	ctl_json_start(&call.json, ctl->answer, sizeof(ctl->answer));
	ctl_json_object(&call.json, NULL);
	ctl_refuse(&call, "the answer is too long");
	ctl_json_close(&call.json);
	return ctl_json_end(&call.json);
}

static void ctl_drop(struct ctl_client *client)
{
	/* Its end takes it out of the set that is waited for. */
	close(client->fd);
	client->fd = -1;
}

/* Whoever does not read what it asked for is not asked to. */
static bool ctl_send(const struct ctl_client *client, const char *bytes, size_t len)
{
	return send(client->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

/* An end, nothing, what does not fit, and what is no text all end the conversation. */
static void ctl_read(struct ctl *ctl, struct ctl_client *client)
{
	char request[CTL_REQUEST + 1];
	ssize_t n = recv(client->fd, request, sizeof(request), MSG_DONTWAIT);
	size_t len;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	client->seen = ++ctl->nr_seen;
	if (n <= 0 || n > CTL_REQUEST || request[0] != '/' || memchr(request, '\0', (size_t)n)) {
		ctl_drop(client);
		return;
	}
	request[n] = '\0';
	len = ctl_answer(ctl, request);
	/* What this took is not spent on packets. */
	lcore_time(&ctl->node->lcore);
	if (!ctl_send(client, ctl->answer, len))
		ctl_drop(client);
}

static struct ctl_client *ctl_place(struct ctl *ctl)
{
	struct ctl_client *place = &ctl->clients[0];

	for (unsigned i = 0; i < CTL_CLIENTS; i++) {
		struct ctl_client *client = &ctl->clients[i];

		if (client->fd < 0)
			return client;
		if (client->seen < place->seen)
			place = client;
	}
	ctl_drop(place);
	return place;
}

static void ctl_accept(struct ctl *ctl)
{
	int fd = accept4(ctl->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	struct ctl_client *client;
	struct ctl_json json;
	char greeting[256];

	if (fd < 0)
		return;
	/* A socket that is no file is open to all who share the network namespace. */
	if (!ctl_path_trusts(ctl_path_peer(fd))) {
		ctl->nr_strangers++;
		close(fd);
		return;
	}
	client = ctl_place(ctl);
	*client = (struct ctl_client){ .fd = fd, .seen = ++ctl->nr_seen };
	event.data.u32 = (uint32_t)(client - ctl->clients);
	ctl_json_start(&json, greeting, sizeof(greeting));
	ctl_json_object(&json, NULL);
	ctl_greeting(&json);
	ctl_json_close(&json);
	if (epoll_ctl(ctl->epoll_fd, EPOLL_CTL_ADD, fd, &event) ||
	    !ctl_send(client, greeting, ctl_json_end(&json)))
		ctl_drop(client);
}

void ctl_serve(struct ctl *ctl)
{
	struct epoll_event event;

	if (epoll_wait(ctl->epoll_fd, &event, 1, 0) != 1)
		return;
	if (event.data.u32 == CTL_LISTENER)
		ctl_accept(ctl);
	else if (ctl->clients[event.data.u32].fd >= 0)
		ctl_read(ctl, &ctl->clients[event.data.u32]);
}

void ctl_look(struct ctl *ctl, uint64_t now_ns)
{
	if (now_ns < ctl->next_ns)
		return;
	ctl->next_ns = now_ns + CTL_EVERY_NS;
	ctl_serve(ctl);
}

int ctl_fd(const struct ctl *ctl)
{
	return ctl->epoll_fd;
}

static int ctl_start(struct ctl *ctl, struct port_error *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = CTL_LISTENER };

	ctl->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ctl->epoll_fd < 0 || epoll_ctl(ctl->epoll_fd, EPOLL_CTL_ADD, ctl->listen_fd, &event))
		return port_fail(err, "--ctl: no epoll: %s", strerror(errno));
	log_line(LOG_INFO, "control socket %s", ctl->path);
	return 0;
}

/* DPDK's prefix is the switch's name, if it can be one. */
static void ctl_default_name(const struct conf *conf, char name[CTL_NAME])
{
	if (conf->file_prefix && ctl_path_is_name(conf->file_prefix))
		snprintf(name, CTL_NAME, "%s", conf->file_prefix);
	else
		snprintf(name, CTL_NAME, "tally-%d", (int)getpid());
}

/* A switch without a control socket adds up all the same: whoever did not insist is only told. */
static void ctl_listen_name(struct ctl *ctl, const struct conf *conf)
{
	struct port_error err;
	char name[CTL_NAME];

	if (conf->ctl)
		snprintf(name, sizeof(name), "%s", conf->ctl);
	else
		ctl_default_name(conf, name);
	ctl->listen_fd = ctl_path_listen_name(name, ctl->path, &err);
	if (ctl->listen_fd >= 0)
		return;
	ctl->path[0] = '\0';
	log_line(conf->ctl ? LOG_WARN : LOG_INFO,
		 "no control socket for tallyctl: %s; --ctl PATH makes one that is a file",
		 err.text);
}

static int ctl_listen_file(struct ctl *ctl, const char *path, struct port_error *err)
{
	struct port_error why;
	struct stat st;

	ctl->listen_fd = ctl_path_listen(path, &why);
	if (ctl->listen_fd < 0)
		return port_fail(err, "--ctl %.200s: %.250s", path, why.text);
	snprintf(ctl->path, sizeof(ctl->path), "%s", path);
	if (lstat(path, &st) == 0) {
		ctl->dev = st.st_dev;
		ctl->ino = st.st_ino;
	}
	return 0;
}

static int ctl_listen(struct ctl *ctl, const struct conf *conf, struct port_error *err)
{
	struct port_error why;

	if (conf->ctl_fd >= 0) {
		if (ctl_path_inherit(conf->ctl_fd, ctl->path, &why))
			return port_fail(err, "--ctl-fd %d: %.250s", conf->ctl_fd, why.text);
		ctl->listen_fd = conf->ctl_fd;
		return 0;
	}
	if (conf->ctl && strcmp(conf->ctl, "none") == 0)
		return 0;
	if (conf->ctl && strchr(conf->ctl, '/'))
		return ctl_listen_file(ctl, conf->ctl, err);
	ctl_listen_name(ctl, conf);
	return 0;
}

int ctl_open(struct ctl *ctl, struct node *node, struct port_error *err)
{
	ctl->node = node;
	ctl->listen_fd = ctl->epoll_fd = -1;
	for (unsigned i = 0; i < CTL_CLIENTS; i++)
		ctl->clients[i].fd = -1;
	if (ctl_listen(ctl, node->conf, err))
		return -1;
	return ctl->listen_fd < 0 ? 0 : ctl_start(ctl, err);
}

static void ctl_remove_file(const struct ctl *ctl)
{
	struct stat st;

	if (ctl->ino && lstat(ctl->path, &st) == 0 && st.st_dev == ctl->dev &&
	    st.st_ino == ctl->ino)
		(void)unlink(ctl->path);
}

void ctl_close(struct ctl *ctl)
{
	if (!ctl->path[0])
		return;
	ctl_remove_file(ctl);
	for (unsigned i = 0; i < CTL_CLIENTS; i++)
		if (ctl->clients[i].fd >= 0)
			ctl_drop(&ctl->clients[i]);
	close(ctl->listen_fd);
	if (ctl->epoll_fd >= 0)
		close(ctl->epoll_fd);
	ctl->path[0] = '\0';
}
