// SPDX-License-Identifier: BSD-3-Clause
// ctl_path_test.c - control sockets: names, files, who may have one, and who is at the other end.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "switch/ctl_path.h"

static char top[64], path[CTL_PATH];
static struct port_error err;

static int open_top(void **state)
{
	(void)state;
	strcpy(top, "/tmp/tally-test.XXXXXX");
	assert_non_null(mkdtemp(top));
	return 0;
}

static int close_top(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static bool is_there(const char *file)
{
	struct stat st;

	return lstat(file, &st) == 0;
}

/* A socket file whose switch was killed. */
static void leave_dead(const char *file)
{
	int fd = ctl_path_listen(file, &err);

	assert_true(fd >= 0);
	close(fd);
	assert_true(is_there(file));
}

static void ctl_path_is_name__which(void **state)
{
	char name[CTL_NAME + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[CTL_NAME] = '\0';
	assert_false(ctl_path_is_name(name));
	name[CTL_NAME - 1] = '\0';
	assert_true(ctl_path_is_name(name));
	assert_true(ctl_path_is_name("s0-A_b.9"));
	assert_false(ctl_path_is_name(""));
	assert_false(ctl_path_is_name(".hidden"));
	assert_false(ctl_path_is_name("a/b"));
	assert_false(ctl_path_is_name("a b"));
	assert_false(ctl_path_is_name("a\nb"));
}

static void ctl_path_parse__which(void **state)
{
	char name[CTL_NUMBERED], longest[CTL_NUMBERED + 4];
	uid_t uid = 1;

	(void)state;
	assert_true(ctl_path_parse("@tally-4711/s0", &uid, name));
	assert_int_equal(uid, 4711);
	assert_string_equal(name, "s0");
	assert_true(ctl_path_parse("0/leaf-2", &uid, name));
	assert_int_equal(uid, 0);
	assert_string_equal(name, "leaf-2");
	assert_true(ctl_path_parse("4294967294/a", &uid, name));
	assert_true(uid == 4294967294U);
	assert_false(ctl_path_parse("4294967295/a", &uid, name));
	assert_false(ctl_path_parse("/a", &uid, name));
	assert_false(ctl_path_parse("1/", &uid, name));
	assert_false(ctl_path_parse("1/a/b", &uid, name));
	assert_false(ctl_path_parse("1x/a", &uid, name));
	assert_false(ctl_path_parse("-1/a", &uid, name));
	assert_false(ctl_path_parse("tally-1/a", &uid, name));
	memset(longest, 'b', sizeof(longest));
	memcpy(longest, "7/", 2);
	longest[2 + CTL_NUMBERED - 1] = '\0';
	assert_true(ctl_path_parse(longest, &uid, name));
	longest[2 + CTL_NUMBERED - 1] = 'b';
	longest[2 + CTL_NUMBERED] = '\0';
	assert_false(ctl_path_parse(longest, &uid, name));
}

static void ctl_path_parse_line__which(void **state)
{
	static const char *const others[] = {
		"Num       RefCount Protocol Flags    Type St Inode Path\n",
		/* a conversation with it, other types, no name, a file, names of others */
		"0000000000000000: 00000003 00000000 00000000 0005 03 7217 @tally-12/s0\n",
		"0000000000000000: 00000002 00000000 00010000 0001 01 7217 @tally-12/s0\n",
		"0000000000000000: 00000002 00000000 00010000 0005 01 7217\n",
		"0000000000000000: 00000002 00000000 00010000 0005 01 7217 12/s0\n",
		"0000000000000000: 00000002 00000000 00010000 0005 01 7217 @tally-12/s0 x\n",
		"0000000000000000: 00000002 00000000 00010000 0005 01 7217 @tally-12/s\033[0m\n",
		"",
	};
	char name[CTL_NUMBERED];
	uid_t uid;

	(void)state;
	assert_true(ctl_path_parse_line(
		"00000000a5f0c3e1: 00000002 00000000 00010000 0005 01 7217 @tally-12/s0\n", &uid,
		name));
	assert_int_equal(uid, 12);
	assert_string_equal(name, "s0");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ctl_path_parse_line(others[i], &uid, name))
			fail_msg("taken: %s", others[i]);
}

static void ctl_path_listen__for_this_user_alone(void **state)
{
	struct stat st;
	int fd, client;

	(void)state;
	snprintf(path, sizeof(path), "%s/a", top);
	fd = ctl_path_listen(path, &err);
	assert_true(fd >= 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	client = ctl_path_connect(path);
	assert_true(client >= 0);
	close(client);
	/* Of a living switch. */
	assert_int_equal(ctl_path_listen(path, &err), -1);
	assert_non_null(strstr(err.text, "in use by another switch"));
	client = ctl_path_connect(path);
	assert_true(client >= 0);
	close(client);
	close(fd);
}

static void ctl_path_listen__after_a_dead_one(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/a", top);
	leave_dead(path);
	fd = ctl_path_listen(path, &err);
	assert_true(fd >= 0);
	close(fd);
}

static void ctl_path_listen__refusals(void **state)
{
	char longer[300];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", top);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(ctl_path_listen(path, &err), -1);
	assert_non_null(strstr(err.text, "is no socket: remove it, or give another path"));
	assert_true(is_there(path));
	snprintf(path, sizeof(path), "%s/none/a", top);
	assert_int_equal(ctl_path_listen(path, &err), -1);
	assert_non_null(strstr(err.text, "No such file or directory; give another path"));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(ctl_path_listen(longer, &err), -1);
	assert_non_null(strstr(err.text, "longer than the 107 bytes"));
}

/* A name of this process alone. */
static const char *own_name(void)
{
	static char name[CTL_NAME];

	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	return name;
}

/* A second switch of the name gets a number; what has ended has left nothing. */
static void ctl_path_listen_name__numbers(void **state)
{
	char want[CTL_PATH];
	int fds[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		fds[i] = ctl_path_listen_name(own_name(), path, &err);
		assert_true(fds[i] >= 0);
		snprintf(want, sizeof(want), i ? "@tally-%u/%s-%u" : "@tally-%u/%s",
			 (unsigned)geteuid(), own_name(), i + 1);
		assert_string_equal(path, want);
		assert_false(is_there(path));
	}
	close(fds[1]);
	fds[1] = ctl_path_listen_name(own_name(), path, &err);
	snprintf(want, sizeof(want), "@tally-%u/%s-2", (unsigned)geteuid(), own_name());
	assert_string_equal(path, want);
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
	assert_int_equal(ctl_path_connect(path), -1);
}

static bool is_listed(const char *want)
{
	FILE *list = fopen("/proc/net/unix", "r");
	char line[512], name[CTL_NUMBERED];
	bool listed = false;
	uid_t uid;

	assert_non_null(list);
	while (fgets(line, sizeof(line), list))
		if (ctl_path_parse_line(line, &uid, name) && uid == geteuid())
			listed |= strcmp(name, want) == 0;
	fclose(list);
	return listed;
}

static void ctl_path_listen_name__the_kernel_lists_it(void **state)
{
	int fd;

	(void)state;
	assert_false(is_listed(own_name()));
	fd = ctl_path_listen_name(own_name(), path, &err);
	assert_true(is_listed(own_name()));
	close(fd);
	assert_false(is_listed(own_name()));
}

static void ctl_path_inherit__which(void **state)
{
	char want[CTL_PATH];
	int fds[2], fd;

	(void)state;
	fd = ctl_path_listen_name(own_name(), want, &err);
	assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(ctl_path_inherit(fd, path, &err), 0);
	assert_string_equal(path, want);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	snprintf(want, sizeof(want), "%s/a", top);
	fd = ctl_path_listen(want, &err);
	assert_int_equal(ctl_path_inherit(fd, path, &err), 0);
	assert_string_equal(path, want);
	close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	assert_int_equal(ctl_path_inherit(fds[0], path, &err), -1);
	assert_string_equal(err.text, "is no Unix socket of type SOCK_SEQPACKET that listens");
	close(fds[0]);
	assert_int_equal(ctl_path_inherit(fds[0], path, &err), -1);
	fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(listen(fds[0], 1), -1);
	assert_int_equal(ctl_path_inherit(fds[0], path, &err), -1);
	close(fds[0]);
	close(fds[1]);
}

static void ctl_path_trusts__this_user_and_root(void **state)
{
	int fd = ctl_path_listen_name(own_name(), path, &err), client;

	(void)state;
	client = ctl_path_connect(path);
	assert_int_equal(ctl_path_peer(client), geteuid());
	assert_true(ctl_path_trusts(ctl_path_peer(client)));
	assert_true(ctl_path_trusts(0));
	assert_false(ctl_path_trusts(geteuid() + 1));
	close(client);
	close(fd);
	assert_true(ctl_path_peer(fd) == (uid_t)-1);
	assert_false(ctl_path_trusts((uid_t)-1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_top, close_top)
	const struct CMUnitTest tests[] = {
		TEST(ctl_path_is_name__which),
		TEST(ctl_path_parse__which),
		TEST(ctl_path_parse_line__which),
		TEST(ctl_path_listen__for_this_user_alone),
		TEST(ctl_path_listen__after_a_dead_one),
		TEST(ctl_path_listen__refusals),
		TEST(ctl_path_listen_name__numbers),
		TEST(ctl_path_listen_name__the_kernel_lists_it),
		TEST(ctl_path_inherit__which),
		TEST(ctl_path_trusts__this_user_and_root),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
