// SPDX-License-Identifier: BSD-3-Clause
// Why a machine refuses to make namespaces, and what helps.
// One errno has many causes; the knobs under /proc tell them apart.
#include "topologies/refusal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "topologies/say.h"

static long knob_read(const char *path) // -1: not on this machine
{
	FILE *f = fopen(path, "re");
	long v;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

static bool seccomp_is_on(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	int mode = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (f)
		fclose(f);
	return mode == 2;
}

// Most particular cause first.
void refusal_explain(int err)
{
	const char *why = "the kernel refused (a chroot, or a security module: see dmesg); run it "
			  "outside of that, "
			  "or as root";

	if (err == EINVAL || err == ENOSYS)
		why = "this kernel lacks user, network or pid namespaces; use one with "
		      "CONFIG_USER_NS, CONFIG_NET_NS "
		      "and CONFIG_PID_NS";
	else if (knob_read("/proc/sys/user/max_user_namespaces") == 0)
		why = "user.max_user_namespaces is 0; as root: "
		      "sysctl user.max_user_namespaces=15000";
	else if (err == EAGAIN || err == ENOMEM)
		why = "a limit of this user's; end other programs, or raise `ulimit -u` and `ulimit -v`";
	else if (err == ENOSPC || err == EUSERS)
		why = "too many namespaces, or nested too deep; end other fabrics, or raise the "
		      "limits of sysctl user";
	else if (knob_read("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		why = "kernel.unprivileged_userns_clone is 0; as root: "
		      "sysctl kernel.unprivileged_userns_clone=1";
	else if (knob_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		why = "AppArmor forbids it to programs without a profile; as root: sysctl "
		      "kernel.apparmor_restrict_unprivileged_userns=0";
	else if (seccomp_is_on())
		why = "a seccomp filter forbids it (a container?); start the container with "
		      "--security-opt "
		      "seccomp=unconfined, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN and run "
		      "as root";
	say_error("cannot make namespaces (%s): %s", strerror(err), why);
}
