// SPDX-License-Identifier: BSD-3-Clause
/*
 * capfile.c - writes a capture file, pcap or pcapng, with stamps in nanoseconds; only whole packets reach the disk.
 *
 * libpcap writes no pcapng and leaves half a packet where the disk is full: docs/adr/0008-captures.md.
 */
#include "switch/io/capfile.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "switch/io/outfile.h"

enum {
	CAPFILE_ROOM = 1 << 17, /* bytes that wait to be written */
	CAPFILE_PATH = 4096,
	CAPFILE_TEXT = 1024, /* of a comment or a name */
	CAPFILE_ETHERNET = 1,
	NG_SECTION = 0x0a0d0d0a, /* block types, options */
	NG_INTERFACE = 1,
	NG_PACKET = 6,
	NG_COMMENT = 1,
	NG_PROGRAM = 4,
	NG_NAME = 2,
	NG_RESOLUTION = 9,
};
#define CAPFILE_FLUSH_NS UINT64_C(200000000)
#define CAPFILE_SECOND UINT64_C(1000000000)

struct capfile {
	FILE *file;
	enum capfile_format format;
	bool partial; /* has another name until it is closed */
	bool failed;
	bool told;
	char path[CAPFILE_PATH + 16], final[CAPFILE_PATH];
	struct port_error why;
	unsigned nr_interfaces;
	uint64_t flushed_ns; /* stamp of the packet before which it was flushed last */
	uint64_t on_disk;    /* bytes */
	size_t len;
	uint8_t bytes[CAPFILE_ROOM];
};

int capfile_format_parse(const char *text)
{
	if (strcmp(text, "pcap") == 0)
		return CAPFILE_PCAP;
	return strcmp(text, "pcapng") == 0 ? CAPFILE_PCAPNG : -1;
}

const char *capfile_suffix(enum capfile_format format)
{
	return format == CAPFILE_PCAPNG ? ".pcapng" : ".pcap";
}

static void put16(struct capfile *file, uint32_t v)
{
	file->bytes[file->len++] = (uint8_t)v;
	file->bytes[file->len++] = (uint8_t)(v >> 8);
}

static void put32(struct capfile *file, uint32_t v)
{
	put16(file, v);
	put16(file, v >> 16);
}

/* Padded to 32 bits, as in pcapng. */
static void put_bytes(struct capfile *file, const void *data, size_t len)
{
	memcpy(file->bytes + file->len, data, len);
	for (file->len += len; file->format == CAPFILE_PCAPNG && len % 4; len++)
		file->bytes[file->len++] = 0;
}

static void put_option(struct capfile *file, unsigned code, const char *text)
{
	size_t len = strnlen(text, CAPFILE_TEXT);

	put16(file, code);
	put16(file, (uint32_t)len);
	put_bytes(file, text, len);
}

static size_t block_begin(struct capfile *file, uint32_t type)
{
	size_t at = file->len;

	put32(file, type);
	put32(file, 0);
	return at;
}

/* Its length stands at both ends. */
static void block_end(struct capfile *file, size_t at)
{
	uint32_t len = (uint32_t)(file->len + 4 - at);
	size_t end = file->len;

	put32(file, len);
	file->len = at + 4;
	put32(file, len);
	file->len = end + 4;
}

static void section_put(struct capfile *file, const char *comment)
{
	size_t at;

	if (file->format == CAPFILE_PCAP) {
		put32(file, 0xa1b23c4d); /* nanoseconds */
		put16(file, 2);
		put16(file, 4);
		put32(file, 0);
		put32(file, 0);
		put32(file, CAPFILE_MAX);
		put32(file, CAPFILE_ETHERNET);
		return;
	}
	at = block_begin(file, NG_SECTION);
	put32(file, 0x1a2b3c4d);
	put16(file, 1);
	put16(file, 0);
	put32(file, UINT32_MAX); /* 64 bits: the section's length is not said */
	put32(file, UINT32_MAX);
	if (comment)
		put_option(file, NG_COMMENT, comment);
	put_option(file, NG_PROGRAM, "tally");
	put_option(file, 0, "");
	block_end(file, at);
}

unsigned capfile_interface(struct capfile *file, const char *name)
{
	size_t at;

	if (file->format == CAPFILE_PCAPNG && !file->failed) {
		if (file->len > CAPFILE_ROOM - 2 * CAPFILE_TEXT)
			capfile_flush(file);
		at = block_begin(file, NG_INTERFACE);
		put16(file, CAPFILE_ETHERNET);
		put16(file, 0);
		put32(file, CAPFILE_MAX);
		put_option(file, NG_NAME, name);
		put_option(file, NG_RESOLUTION, "\t"); /* the byte 9: 10^-9 s */
		put_option(file, 0, "");
		block_end(file, at);
	}
	return file->nr_interfaces++;
}

static void capfile_fail(struct capfile *file, const char *what, int why)
{
	if (file->failed)
		return;
	file->failed = true;
	port_fail(&file->why, "%.300s: %s: %s", file->path, what, outfile_error(why));
}

void capfile_packet(struct capfile *file, unsigned interface, uint64_t wall_ns, const uint8_t *data,
		    uint32_t len, uint32_t whole)
{
	size_t at;

	if (len > CAPFILE_MAX)
		len = CAPFILE_MAX;
	if (file->len > CAPFILE_ROOM - CAPFILE_MAX - 64 ||
	    wall_ns - file->flushed_ns > CAPFILE_FLUSH_NS) {
		capfile_flush(file);
		file->flushed_ns = wall_ns;
	}
	if (file->format == CAPFILE_PCAP && wall_ns / CAPFILE_SECOND > UINT32_MAX)
		capfile_fail(file, "a stamp is beyond the year 2106, which pcapng alone holds",
			     EOVERFLOW);
	if (file->failed)
		return;
	if (file->format == CAPFILE_PCAP) {
		put32(file, (uint32_t)(wall_ns / CAPFILE_SECOND));
		put32(file, (uint32_t)(wall_ns % CAPFILE_SECOND));
		put32(file, len);
		put32(file, whole);
		put_bytes(file, data, len);
		return;
	}
	at = block_begin(file, NG_PACKET);
	put32(file, interface);
	put32(file, (uint32_t)(wall_ns >> 32));
	put32(file, (uint32_t)wall_ns);
	put32(file, len);
	put32(file, whole);
	put_bytes(file, data, len);
	block_end(file, at);
}

void capfile_flush(struct capfile *file)
{
	const int fd = fileno(file->file);
	size_t done = 0;
	ssize_t n;

	while (!file->failed && done < file->len) {
		n = write(fd, file->bytes + done, file->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		capfile_fail(file, "cannot be written any further", n < 0 ? errno : ENOSPC);
		/* Of a packet there is all or nothing.  A pipe cannot be cut, and has no other name. */
		(void)!ftruncate(fd, (off_t)file->on_disk);
	}
	if (!file->failed)
		file->on_disk += file->len;
	file->len = 0;
}

const char *capfile_trouble(struct capfile *file)
{
	if (!file->failed || file->told)
		return NULL;
	file->told = true;
	return file->why.text;
}

static bool path_is_other(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

struct capfile *capfile_open(const char *path, enum capfile_format format, const char *comment,
			     struct port_error *err)
{
	struct capfile *file = malloc(sizeof(*file));

	if (!file) {
		port_fail(err, "out of memory");
		return NULL;
	}
	memset(file, 0, offsetof(struct capfile, bytes));
	file->format = format;
	file->partial = !path_is_other(path);
	if ((size_t)snprintf(file->final, sizeof(file->final), "%s", path) >= sizeof(file->final)) {
		port_fail(err, "the path is too long");
		free(file);
		return NULL;
	}
	snprintf(file->path, sizeof(file->path), "%s%s", path, file->partial ? ".partial" : "");
	file->file = outfile_open(file->path, true);
	if (!file->file) {
		port_fail(err, "%s", outfile_error(errno));
		free(file);
		return NULL;
	}
	/* What an earlier run left is not to be taken for this one's. */
	if (file->partial)
		(void)unlink(file->final);
	section_put(file, comment);
	return file;
}

void capfile_cut(struct capfile *file)
{
	capfile_flush(file);
	file->failed = true;
	file->told = true;
}

int capfile_close(struct capfile *file, struct port_error *err)
{
	int rc = 0;

	if (!file)
		return 0;
	capfile_flush(file);
	if (fclose(file->file))
		capfile_fail(file, "cannot be written", errno);
	if (!file->failed && file->partial && rename(file->path, file->final))
		capfile_fail(file, "cannot be given its name without .partial", errno);
	if (file->failed) {
		*err = file->why;
		if (file->told)
			err->text[0] = '\0';
		rc = -1;
	}
	free(file);
	return rc;
}
