// SPDX-License-Identifier: BSD-3-Clause
// replay_source_test.c - packets of capture files: both resolutions, and files that are broken.
#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/replay.h"

static char dir[64], path[128];
static struct replay_source source;
static struct port_error err;

static int dir_make(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tally-source.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.pcap", dir);
	return 0;
}

static int dir_remove(void **state)
{
	(void)state;
	replay_source_close(&source);
	unlink(path);
	rmdir(dir);
	return 0;
}

struct one {
	long s, part;
	uint32_t len, whole;
};

static void file_make(int link, unsigned precision, const struct one *ones, unsigned nr)
{
	pcap_t *pcap = pcap_open_dead_with_tstamp_precision(link, 65535, precision);
	pcap_dumper_t *dumper = pcap_dump_open(pcap, path);
	uint8_t data[256];

	assert_non_null(dumper);
	for (unsigned i = 0; i < nr; i++) {
		const struct pcap_pkthdr header = { .ts = { ones[i].s, ones[i].part },
						    .caplen = ones[i].len,
						    .len = ones[i].whole };

		memset(data, (int)(0x10 + i), sizeof(data));
		pcap_dump((u_char *)dumper, &header, data);
	}
	pcap_dump_close(dumper);
	pcap_close(pcap);
}

static const struct one three[] = { { 5, 1, 60, 60 }, { 5, 999, 61, 61 }, { 7, 0, 62, 90 } };

static void reads(unsigned precision, uint64_t unit)
{
	file_make(DLT_EN10MB, precision, three, 3);
	assert_int_equal(replay_source_open(&source, path, &err), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(source.here);
		assert_int_equal(source.next.number, i + 1);
		assert_int_equal(source.next.ns, (uint64_t)three[i].s * 1000000000 +
							 (uint64_t)three[i].part * unit);
		assert_int_equal(source.next.len, three[i].len);
		assert_int_equal(source.next.whole, three[i].whole);
		assert_int_equal(source.next.data[59], 0x10 + i);
		assert_int_equal(replay_source_step(&source, &err), 0);
	}
	assert_false(source.here);
}

static void source__nanoseconds(void **state)
{
	(void)state;
	reads(PCAP_TSTAMP_PRECISION_NANO, 1);
}

static void source__microseconds(void **state)
{
	(void)state;
	reads(PCAP_TSTAMP_PRECISION_MICRO, 1000);
}

static void source__stamps_go_back(void **state)
{
	static const struct one back[] = { { 5, 7, 60, 60 }, { 5, 7, 60, 60 }, { 5, 4, 60, 60 } };

	(void)state;
	file_make(DLT_EN10MB, PCAP_TSTAMP_PRECISION_NANO, back, 3);
	assert_int_equal(replay_source_open(&source, path, &err), 0);
	assert_int_equal(replay_source_step(&source, &err), 0);
	assert_int_equal(replay_source_step(&source, &err), -1);
	assert_non_null(strstr(err.text, "a.pcap: packet 3: its stamp is 3 ns before"));
}

static void source__other_link(void **state)
{
	(void)state;
	file_make(DLT_RAW, PCAP_TSTAMP_PRECISION_NANO, three, 3);
	assert_int_equal(replay_source_open(&source, path, &err), -1);
	assert_non_null(strstr(err.text, "has packets of link type RAW"));
}

/* What the file has; less than a pipe holds. */
static void pipe_fill(int fd)
{
	char bytes[1024];
	FILE *file = fopen(path, "re");
	size_t n;

	assert_non_null(file);
	n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_int_equal(write(fd, bytes, n), n);
}

static void source__stamps_beyond(void **state)
{
	static const struct one far[] = { { 18446744072, 5, 60, 60 } };
	/* Version 1.0 and an interface of whole seconds, then a packet of 10^11 s. */
	static const uint32_t blocks[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 1,	   ~0u,		~0u, 28,     /* the section */
		1,	    32, 1,	    65535, 9 | 1 << 16, 0,   0,	 32, /* the interface */
		6,	    36, 0,	    23,	   0x4876e800,	4,   4,	 0x1234,
		36, /* the packet */
	};
	FILE *file;

	(void)state;
	file_make(DLT_EN10MB, PCAP_TSTAMP_PRECISION_NANO, far, 1);
	assert_int_equal(replay_source_open(&source, path, &err), 0); /* pcap has 32 bits of it */
	replay_source_close(&source);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(blocks, sizeof(blocks), 1, file), 1);
	fclose(file);
	assert_int_equal(replay_source_open(&source, path, &err), -1);
	assert_non_null(
		strstr(err.text, "a.pcap: packet 1: its stamp, 100000000000 s since 1970, is not"));
}

/* Nobody writes it, so reading it would not end. */
static void source__pipe(void **state)
{
	int fds[2];
	char name[32];

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(replay_source_open(&source, path, &err), -1);
	assert_non_null(strstr(err.text, "a.pcap: not a regular file"));
	unlink(path);
	/* One of a shell. */
	file_make(DLT_EN10MB, PCAP_TSTAMP_PRECISION_NANO, three, 3);
	assert_int_equal(pipe(fds), 0);
	pipe_fill(fds[1]);
	close(fds[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
	assert_int_equal(replay_source_open(&source, name, &err), 0);
	assert_true(source.here && source.next.len == 60);
	close(fds[0]);
}

/* Its writer was killed in the middle: what is there is taken, if the name says so. */
static void source__cut(void **state)
{
	char partial[160];

	(void)state;
	snprintf(partial, sizeof(partial), "%s.partial", path);
	file_make(DLT_EN10MB, PCAP_TSTAMP_PRECISION_NANO, three, 3);
	assert_int_equal(truncate(path, 24 + 2 * 16 + 60 + 40), 0);
	assert_int_equal(replay_source_open(&source, path, &err), 0);
	assert_int_equal(replay_source_step(&source, &err), -1);
	assert_non_null(strstr(err.text, "a.pcap: packet 2: the file ends inside it"));
	replay_source_close(&source);
	assert_int_equal(rename(path, partial), 0);
	assert_int_equal(replay_source_open(&source, partial, &err), 0);
	assert_true(source.partial && source.here && !source.cut);
	assert_int_equal(replay_source_step(&source, &err), 0);
	assert_true(source.cut && !source.here);
	unlink(partial);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(source__nanoseconds), TEST(source__microseconds), TEST(source__stamps_go_back),
		TEST(source__other_link),  TEST(source__cut),	       TEST(source__stamps_beyond),
		TEST(source__pipe),
	};

	return cmocka_run_group_tests_name("replay_source", tests, NULL, NULL);
}
