// SPDX-License-Identifier: BSD-3-Clause
// capfile_test.c - capture files, read back by libpcap; disks that are full, directories that vanish.
#include <errno.h>
#include <pcap/pcap.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/io/capfile.h"

#define BEGIN_NS UINT64_C(1790000000123456789)

static char dir[64], path[128], partial[160];

static int dir_make(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tally-capfile.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.pcap", dir);
	snprintf(partial, sizeof(partial), "%s.partial", path);
	return 0;
}

static int dir_remove(void **state)
{
	(void)state;
	unlink(path);
	unlink(partial);
	rmdir(dir);
	return 0;
}

static uint32_t packet_len(unsigned i)
{
	return 60 + i * 37 % 1450;
}

static void packet_fill(uint8_t *to, unsigned i)
{
	for (uint32_t k = 0; k < packet_len(i); k++)
		to[k] = (uint8_t)(i * 7 + k * 13 + (k >> 8));
}

static struct capfile *file_open(enum capfile_format format)
{
	struct port_error err;
	struct capfile *file = capfile_open(path, format, "a comment", &err);

	assert_non_null(file);
	assert_int_equal(capfile_interface(file, "port7"), 0);
	assert_int_equal(capfile_interface(file, "port11"), 1);
	return file;
}

static void file_fill(struct capfile *file, unsigned nr)
{
	uint8_t data[2048];

	for (unsigned i = 0; i < nr; i++) {
		packet_fill(data, i);
		capfile_packet(file, i & 1, BEGIN_NS + i * 1000003ull, data, packet_len(i),
			       packet_len(i) + (i == 3));
	}
}

/* How many whole packets are there, all of them as they were written. */
static unsigned packets_check(const char *name)
{
	char why[PCAP_ERRBUF_SIZE];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(name, PCAP_TSTAMP_PRECISION_NANO, why);
	struct pcap_pkthdr *header;
	const u_char *data;
	uint8_t want[2048];
	unsigned nr = 0;
	int rc;

	assert_non_null(pcap);
	assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
	while ((rc = pcap_next_ex(pcap, &header, &data)) == 1) {
		const uint64_t ns =
			(uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec;

		packet_fill(want, nr);
		assert_int_equal(ns, BEGIN_NS + nr * 1000003ull);
		assert_int_equal(header->caplen, packet_len(nr));
		assert_int_equal(header->len, packet_len(nr) + (nr == 3));
		assert_memory_equal(data, want, packet_len(nr));
		nr++;
	}
	assert_int_equal(rc, PCAP_ERROR_BREAK);
	pcap_close(pcap);
	return nr;
}

static bool there(const char *name)
{
	return access(name, F_OK) == 0;
}

static void round_trip(enum capfile_format format)
{
	struct port_error err;
	struct capfile *file = file_open(format);

	assert_true(there(partial) && !there(path));
	file_fill(file, 500);
	assert_null(capfile_trouble(file));
	assert_int_equal(capfile_close(file, &err), 0);
	assert_true(there(path) && !there(partial));
	assert_int_equal(packets_check(path), 500);
}

static void pcap__round_trip(void **state)
{
	(void)state;
	round_trip(CAPFILE_PCAP);
}

static void pcapng__round_trip(void **state)
{
	uint8_t bytes[512];
	FILE *file;

	(void)state;
	round_trip(CAPFILE_PCAPNG);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	fclose(file);
	assert_non_null(memmem(bytes, sizeof(bytes), "a comment", 9));
	assert_non_null(memmem(bytes, sizeof(bytes), "port7", 5));
	assert_non_null(memmem(bytes, sizeof(bytes), "port11", 6));
}

static void flush__shows_what_came(void **state)
{
	struct port_error err;
	struct capfile *file = file_open(CAPFILE_PCAP);

	(void)state;
	file_fill(file, 9);
	capfile_flush(file);
	assert_int_equal(packets_check(partial), 9);
	assert_int_equal(capfile_close(file, &err), 0);
}

/* What an earlier run left is not this one's. */
static void open__removes_the_old(void **state)
{
	struct port_error err;
	struct capfile *file = file_open(CAPFILE_PCAP);

	(void)state;
	assert_int_equal(capfile_close(file, &err), 0);
	assert_true(there(path));
	file = file_open(CAPFILE_PCAP);
	assert_false(there(path));
	assert_int_equal(capfile_close(file, &err), 0);
}

static void open__refuses(void **state)
{
	char name[5000];
	struct port_error err;

	(void)state;
	snprintf(name, sizeof(name), "%s/nowhere/a.pcap", dir);
	assert_null(capfile_open(name, CAPFILE_PCAP, NULL, &err));
	assert_string_equal(err.text, strerror(ENOENT));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(capfile_open(name, CAPFILE_PCAP, NULL, &err));
	assert_string_equal(err.text, "the path is too long");
}

/* A limit of the file's size stands for a full disk. */
static void full(enum capfile_format format)
{
	struct rlimit old, small;
	struct port_error err;
	struct capfile *file;
	const char *trouble;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 200001;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	file = file_open(format);
	file_fill(file, 3000);
	trouble = capfile_trouble(file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(trouble);
	assert_non_null(
		strstr(trouble, "a.pcap.partial: cannot be written any further: File too large"));
	assert_null(capfile_trouble(file));
	assert_int_equal(capfile_close(file, &err), -1);
	assert_string_equal(err.text, "");
	assert_true(there(partial) && !there(path));
	assert_in_range(packets_check(partial), 50, 2999);
}

static void pcap__full_disk(void **state)
{
	(void)state;
	full(CAPFILE_PCAP);
}

static void pcapng__full_disk(void **state)
{
	(void)state;
	full(CAPFILE_PCAPNG);
}

static void close__directory_gone(void **state)
{
	struct port_error err;
	struct capfile *file = file_open(CAPFILE_PCAP);

	(void)state;
	file_fill(file, 5);
	assert_int_equal(unlink(partial), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(capfile_close(file, &err), -1);
	assert_non_null(
		strstr(err.text, "cannot be given its name without .partial: No such file"));
}

static void cut__keeps_the_name(void **state)
{
	struct port_error err;
	struct capfile *file = file_open(CAPFILE_PCAP);

	(void)state;
	file_fill(file, 7);
	capfile_cut(file);
	assert_int_equal(capfile_close(file, &err), -1);
	assert_string_equal(err.text, "");
	assert_true(there(partial) && !there(path));
	assert_int_equal(packets_check(partial), 7);
}

/* Pcap has 32 bits of seconds. */
static void packet__year_2107(void **state)
{
	static const uint8_t data[60] = { 1 };
	const uint64_t last_ns = UINT64_C(4294967295999999999);
	struct port_error err;
	struct capfile *file = file_open(CAPFILE_PCAP);

	(void)state;
	capfile_packet(file, 0, last_ns, data, 60, 60);
	assert_null(capfile_trouble(file));
	capfile_packet(file, 0, last_ns + 1, data, 60, 60);
	assert_int_equal(capfile_close(file, &err), -1);
	assert_non_null(strstr(err.text, "a stamp is beyond the year 2106"));
	file = file_open(CAPFILE_PCAPNG);
	capfile_packet(file, 0, last_ns + 1, data, 60, 60);
	assert_int_equal(capfile_close(file, &err), 0);
}

static void format__names(void **state)
{
	(void)state;
	assert_int_equal(capfile_format_parse("pcap"), CAPFILE_PCAP);
	assert_int_equal(capfile_format_parse("pcapng"), CAPFILE_PCAPNG);
	assert_int_equal(capfile_format_parse("pcapn"), -1);
	assert_string_equal(capfile_suffix(CAPFILE_PCAP), ".pcap");
	assert_string_equal(capfile_suffix(CAPFILE_PCAPNG), ".pcapng");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dir_make, dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pcap__round_trip),	      TEST(pcapng__round_trip),
		TEST(flush__shows_what_came), TEST(open__removes_the_old),
		TEST(open__refuses),	      TEST(pcap__full_disk),
		TEST(pcapng__full_disk),      TEST(close__directory_gone),
		TEST(cut__keeps_the_name),    TEST(packet__year_2107),
		TEST(format__names),
	};

	return cmocka_run_group_tests_name("capfile", tests, NULL, NULL);
}
