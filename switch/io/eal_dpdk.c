// SPDX-License-Identifier: BSD-3-Clause
/*
 * eal_dpdk.c - starting DPDK once for all framed ports, and the packet buffers they share.
 *
 * DPDK is told to need nothing: no hugepages, no PCI unless a port names a device, no files outside our own
 * directory.  Its log is kept, not shown: its last error becomes part of our own sentence.
 */
#include "switch/io/eal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

enum {
	EAL_ARGS = 16 + 2 * PORT_MAX,
	EAL_MBUFS = 4095,     /* 2^n - 1 suits the ring beneath */
	EAL_MBUFS_NIC = 3072, /* more for the rings of a NIC */
	EAL_CACHE = 256,
	EAL_MEMORY_BASE = 48, /* MB beside packet buffers */
	EAL_FRAMES = 512,     /* of an af_packet ring, if it may be */
	EAL_FRAMES_MIN = 16,
	EAL_FILES = 16, /* that DPDK opens for itself, and for each port */
	EAL_FILES_PORT = 6,
	EAL_FILES_MAX = EAL_FILES + EAL_FILES_PORT * PORT_MAX,
	EAL_FRAME_SLACK =
		128, /* between an interface's MTU and its ring's frame, for the kernel's headers */
};

struct pool_mbuf {
	struct pool pool;
	struct rte_mempool *mempool;
};

static struct pool_mbuf eal_mbufs;
static unsigned eal_frames;
static bool eal_started;
static FILE *eal_log;
static bool eal_noise;
static char eal_line[256], eal_last[256];

static bool mbuf_get(struct pool *pool, struct pkt *pkt)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(((struct pool_mbuf *)pool)->mempool);

	if (!m)
		return false;
	pkt->data = rte_pktmbuf_mtod(m, uint8_t *);
	pkt->cap = rte_pktmbuf_tailroom(m);
	pkt->buf = m;
	pkt->pool = pool;
	return true;
}

static void mbuf_put(struct pool *pool, struct pkt *pkt)
{
	(void)pool;
	rte_pktmbuf_free(pkt->buf);
}

struct pool *eal_pool(void)
{
	return eal_mbufs.mempool ? &eal_mbufs.pool : NULL;
}

struct rte_mempool *eal_mempool(void)
{
	return eal_mbufs.mempool;
}

/* The af_packet driver wants frames that are a power of two, and buffers for all of one. */
uint32_t eal_room(const struct port *port)
{
	uint32_t need = port->mtu + 14U + EAL_FRAME_SLACK, room = 2048;

	while (room < need)
		room *= 2;
	return room;
}

unsigned eal_ring_frames(void)
{
	return eal_frames;
}

/* Nothing is touched, only counted. */
static bool eal_may_lock(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);

	return mem != MAP_FAILED && munmap(mem, bytes) == 0;
}

/* The af_packet driver locks its two rings per port, which counts against the user's limit. */
static int eal_rings(const struct eal_params *params, struct port_error *err)
{
	struct rlimit limit;
	size_t bytes = 0;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)!setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	for (unsigned i = 0; i < params->nr_ports; i++)
		if (params->ports[i].spec.form == PORT_NETDEV)
			bytes += 2 * (size_t)eal_room(&params->ports[i]);
	eal_frames = EAL_FRAMES;
	while (bytes && eal_frames >= EAL_FRAMES_MIN && !eal_may_lock(bytes * eal_frames))
		eal_frames /= 2;
	return eal_frames >= EAL_FRAMES_MIN
		       ? 0
		       : port_fail(err,
				   "too little memory may be locked for the rings "
				   "of the interfaces: at least %zu KB (`ulimit -l`)",
				   bytes * EAL_FRAMES_MIN >> 10);
}

/* Some of DPDK's threads end the process without a word where they get no file. */
static int eal_files(const struct eal_params *params, struct port_error *err)
{
	int fds[EAL_FILES_MAX];
	unsigned need = EAL_FILES, nr = 0;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)!setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (unsigned i = 0; i < params->nr_ports; i++)
		if (params->ports[i].framed)
			need += EAL_FILES_PORT;
	while (nr < need && (fds[nr] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		nr++;
	for (unsigned i = 0; i < nr; i++)
		close(fds[i]);
	return nr == need
		       ? 0
		       : port_fail(err,
				   "too few files may be open: DPDK and its ports need %u more than "
				   "the %u that are left (`ulimit -n`)",
				   need - nr, nr);
}

/* Lines come in pieces. */
static ssize_t eal_log_write(void *cookie, const char *buf, size_t size)
{
	(void)cookie;
	if (eal_noise)
		return (ssize_t)fwrite(buf, 1, size, stderr);
	for (size_t i = 0; i < size; i++) {
		size_t len = strlen(eal_line);

		if (buf[i] == '\n' && len) {
			memcpy(eal_last, eal_line, sizeof(eal_last));
			eal_line[0] = '\0';
		} else if (buf[i] != '\n' && len + 1 < sizeof(eal_line)) {
			eal_line[len] = buf[i];
			eal_line[len + 1] = '\0';
		}
	}
	return (ssize_t)size;
}

const char *eal_error(void)
{
	return eal_last;
}

static int eal_log_open(bool noise)
{
	static const cookie_io_functions_t io = { .write = eal_log_write };

	eal_noise = noise;
	eal_log = fopencookie(NULL, "w", io);
	if (!eal_log)
		return -1;
	setvbuf(eal_log, NULL, _IONBF, 0);
	return rte_openlog_stream(eal_log);
}

struct eal_args {
	int argc;
	char *argv[EAL_ARGS + 1];
	char text[EAL_ARGS][128];
};

__attribute__((format(printf, 2, 3))) static void eal_arg(struct eal_args *args, const char *fmt,
							  ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(args->text[args->argc], sizeof(args->text[0]), fmt, ap);
	va_end(ap);
	args->argv[args->argc] = args->text[args->argc];
	args->argc++;
}

static unsigned eal_first_cpu(const cpu_set_t *cpus)
{
	unsigned cpu = 0;

	while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, cpus))
		cpu++;
	return cpu < CPU_SETSIZE ? cpu : 0;
}

static void eal_args_fill(struct eal_args *args, const struct eal_params *params, unsigned mb,
			  unsigned cpu)
{
	unsigned nr_pci = 0;

	eal_arg(args, "tally-switch");
	if (params->file_prefix)
		eal_arg(args, "--file-prefix=%s", params->file_prefix);
	else
		eal_arg(args, "--file-prefix=tally-%ld", (long)getpid());
	eal_arg(args, "--no-telemetry");
	eal_arg(args, "--no-shconf");
	eal_arg(args, "--lcores=0@%u", cpu);
	eal_arg(args, params->noise ? "--log-level=info" : "--log-level=error");
	if (params->huge) {
		/* Unlinked at once: a killed process leaves none behind. */
		eal_arg(args, "--huge-unlink");
	} else {
		eal_arg(args, "--no-huge");
		eal_arg(args, "-m");
		eal_arg(args, "%u", mb);
	}
	for (unsigned i = 0; i < params->nr_ports; i++)
		if (params->ports[i].spec.form == PORT_PCI) {
			eal_arg(args, "--allow=%s", params->ports[i].spec.dev);
			nr_pci++;
		}
	if (!nr_pci) {
		eal_arg(args, "--no-pci");
		eal_arg(args, "--iova-mode=va");
	}
	args->argv[args->argc] = NULL;
}

static void eal_size(const struct eal_params *params, uint32_t *room, unsigned *nr_mbufs)
{
	*room = 0;
	*nr_mbufs = EAL_MBUFS;
	for (unsigned i = 0; i < params->nr_ports; i++) {
		const struct port *port = &params->ports[i];

		if (!port->framed)
			continue;
		if (eal_room(port) > *room)
			*room = eal_room(port);
		if (port->spec.form == PORT_PCI || port->spec.form == PORT_VDEV)
			*nr_mbufs += EAL_MBUFS_NIC;
	}
	*room += RTE_PKTMBUF_HEADROOM;
}

/* DPDK starts threads, which are not to take our signals, and pins this one, which others share a CPU with. */
static int eal_start(struct eal_args *args, const cpu_set_t *cpus)
{
	FILE *err = stderr;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	/* What is fatal it also says on stderr by itself. */
	stderr = eal_noise ? err : eal_log;
	rc = rte_eal_init(args->argc, args->argv);
	stderr = err;
	sched_setaffinity(0, sizeof(*cpus), cpus);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int eal_open(const struct eal_params *params, struct port_error *err)
{
	static struct eal_args args;
	unsigned nr_mbufs, mb;
	cpu_set_t cpus;
	uint32_t room;

	CPU_ZERO(&cpus);
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return port_fail(err, "cannot read which CPUs are allowed: %s", strerror(errno));
	if (eal_rings(params, err) || eal_files(params, err))
		return -1;
	eal_size(params, &room, &nr_mbufs);
	mb = EAL_MEMORY_BASE + (unsigned)((uint64_t)nr_mbufs * (room + 320) >> 20);
	eal_args_fill(&args, params, mb, eal_first_cpu(&cpus));
	if (setenv("RUNTIME_DIRECTORY", params->runtime_dir, 1) || eal_log_open(params->noise))
		return port_fail(err, "cannot prepare DPDK's start: %s", strerror(errno));
	if (eal_start(&args, &cpus) < 0)
		return port_fail(err, "DPDK does not start%s%.300s%s", eal_last[0] ? ": " : "",
				 eal_last + (strncmp(eal_last, "EAL: ", 5) ? 0 : 5),
				 params->huge ? "; without --huge it needs no hugepages" : "");
	eal_started = true;
	eal_mbufs.pool = (struct pool){ .get = mbuf_get, .put = mbuf_put };
	eal_mbufs.mempool = rte_pktmbuf_pool_create("packets", nr_mbufs, EAL_CACHE, 0,
						    (uint16_t)room, SOCKET_ID_ANY);
	if (!eal_mbufs.mempool)
		return port_fail(err, "no memory for %u packet buffers of %u bytes: %s", nr_mbufs,
				 room, rte_strerror(rte_errno));
	return 0;
}

void eal_close(void)
{
	if (eal_started) {
		rte_mempool_free(eal_mbufs.mempool);
		eal_mbufs.mempool = NULL;
		rte_eal_cleanup();
		eal_started = false;
	}
	/* The stream stays open: DPDK's own threads may still write to it. */
}
