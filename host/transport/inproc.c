// SPDX-License-Identifier: BSD-3-Clause
// inproc.c - the switch embedded in this process, for ranks that are threads of it.
//
// There is no switch thread: whoever sends a burst runs the switch on it, under the switch's lock,
// and puts the results into the receive rings of the ranks.  A packet is never copied: it is built
// in a buffer of its sender's pool, the switch turns it into the result in place, and the ranks
// read it there.
//
// A buffer's life: free (pool->idle) -> built by the owner -> switched -> free again, or in refs
// receive rings.  The last reader's decrement is the owner's permission to reuse it: owners look at
// the oldest buffers they lent out, so that nobody has to hand anything back.
#include "host/transport/transport.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "switch/core/pipe.h"

enum {
	INPROC_JOBS = 64,
	INPROC_SLOTS = 16384,
	INPROC_MEMBERS = 1024,
	INPROC_NAME = 64,
	INPROC_LINE = 64,
	INPROC_SPIN = 64, /* looks at the ring before the first sched_yield() */
	INPROC_YIELD = 4, /* sched_yield() before sleeping */
};
#define INPROC_VALUES ((size_t)64 << 20) /* touched only as far as jobs use it */
#define INPROC_IP UINT32_C(0x7f000001)

/* The packet starts so that its payload, WIRE_HEADER bytes further, is aligned to a cache line. */
struct inproc_buf {
	_Atomic uint32_t refs; /* rings it is in; owner and switch set it, readers decrement */
	uint32_t len;
	uint8_t pad[INPROC_LINE - WIRE_HEADER - 8];
	uint8_t data[];
};
_Static_assert(offsetof(struct inproc_buf, data) + WIRE_HEADER == INPROC_LINE, "payload alignment");

/* One rank's buffers.  Only its thread touches it, save the refs in the buffers. */
struct inproc_pool {
	struct inproc_pool *next; /* orphans of the switch */
	uint8_t *mem;
	uint32_t nr, cap, stride;
	uint32_t nr_idle;
	uint32_t lent_head, lent_nr;
	struct inproc_buf **idle; /* stack: the last one used is still in the cache */
	struct inproc_buf **lent; /* ring of nr, oldest first */
};

/* Receive ring: producers hold the switch's lock, the rank is the only consumer. */
struct inproc_ring {
	struct inproc_buf **buf;
	uint32_t mask;
	_Alignas(INPROC_LINE) _Atomic uint32_t tail; /* writer: producers */
	uint32_t next;				     /* tail before it is published */
	_Alignas(INPROC_LINE) _Atomic uint32_t head; /* writer: the rank */
	_Atomic uint32_t bell;			     /* futex word: grows with every wake-up */
	_Atomic uint32_t
		sleeping;	 /* set by the rank before it sleeps, cleared by whoever wakes it */
	_Atomic uint32_t called; /* wake(): set by anyone, cleared by the rank */
};

struct inproc {
	struct transport base;
	struct inproc_ring ring;
	struct inproc_switch *sw;
	struct inproc_pool *pool;
	struct inproc *dirty; /* list of ranks that got packets in this burst; under the lock */
	bool is_dirty;
	struct flow flow;
	uint32_t spin;
	uint32_t nr_lent; /* to our caller, from the ring's head on */
};

struct inproc_switch {
	struct inproc_switch *next; /* registry */
	char name[INPROC_NAME];
	unsigned users; /* under the registry's lock */
	pthread_mutex_t lock;
	/* Under the lock. */
	struct pipe *pipe;
	size_t pipe_bytes;
	struct inproc *members[INPROC_MEMBERS];
	uint16_t last_port;
	struct inproc_pool *orphans; /* of ranks that left while others read their buffers */
	uint8_t status[WIRE_MSG_MAX];
};

static pthread_mutex_t inproc_registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct inproc_switch *inproc_registry;

static struct pipe_time inproc_time(void)
{
	static _Atomic uint64_t base_ms; /* wall clock less monotonic clock, as first seen */
	struct timespec mono, wall;
	uint64_t now_ns, base = atomic_load(&base_ms), none = 0;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	now_ns = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec;
	if (!base) {
		clock_gettime(CLOCK_REALTIME, &wall);
		base = (uint64_t)wall.tv_sec * 1000u + (uint64_t)wall.tv_nsec / 1000000u -
		       now_ns / 1000000u;
		if (!atomic_compare_exchange_strong(&base_ms, &none, base))
			base = none;
	}
	/* Whoever sets the wall clock back stops no epochs. */
	return (struct pipe_time){ .now_ns = now_ns, .wall_ms = base + now_ns / 1000000u };
}

static long inproc_futex(_Atomic uint32_t *word, int what, uint32_t value,
			 const struct timespec *ts)
{
	return syscall(SYS_futex, word, what | FUTEX_PRIVATE_FLAG, value, ts, NULL, 0);
}

/* --- Pools ------------------------------------------------------------------------------------ */

static void inproc_pool_free(struct inproc_pool *pool)
{
	free(pool->mem);
	free(pool->idle);
	free(pool->lent);
	free(pool);
}

static struct inproc_pool *inproc_pool_new(uint32_t nr, uint32_t cap)
{
	struct inproc_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->nr = nr;
	pool->cap = cap;
	pool->stride = (uint32_t)offsetof(struct inproc_buf, data) + cap;
	pool->stride = (pool->stride + INPROC_LINE - 1) / INPROC_LINE * INPROC_LINE;
	/* Buffers a multiple of 4 KB apart would fight for the same cache sets. */
	if (pool->stride / INPROC_LINE % 2 == 0)
		pool->stride += INPROC_LINE;
	pool->mem = aligned_alloc(INPROC_LINE, (size_t)pool->stride * nr);
	pool->idle = calloc(nr, sizeof(struct inproc_buf *));
	pool->lent = calloc(nr, sizeof(struct inproc_buf *));
	if (!pool->mem || !pool->idle || !pool->lent) {
		inproc_pool_free(pool);
		return NULL;
	}
	for (uint32_t i = 0; i < nr; i++) {
		void *at = pool->mem + (size_t)pool->stride * (nr - 1 - i);

		pool->idle[i] = at;
		atomic_init(&pool->idle[i]->refs, 0);
	}
	pool->nr_idle = nr;
	return pool;
}

static bool inproc_pool_unread(const struct inproc_pool *pool)
{
	for (uint32_t i = 0; i < pool->lent_nr; i++) {
		struct inproc_buf *buf = pool->lent[(pool->lent_head + i) % pool->nr];

		if (atomic_load_explicit(&buf->refs, memory_order_acquire) != 0)
			return false;
	}
	return true;
}

/* Takes back what all readers have released: the oldest in a row, or, if all, any. */
static void inproc_pool_reclaim(struct inproc_pool *pool, bool all)
{
	uint32_t nr = pool->lent_nr;

	for (uint32_t i = 0; i < nr; i++) {
		struct inproc_buf *buf = pool->lent[pool->lent_head];

		if (atomic_load_explicit(&buf->refs, memory_order_acquire) == 0) {
			pool->idle[pool->nr_idle++] = buf;
			pool->lent_nr--;
		} else if (all) {
			pool->lent[(pool->lent_head + pool->lent_nr) % pool->nr] = buf;
		} else {
			break;
		}
		pool->lent_head = (pool->lent_head + 1) % pool->nr;
	}
}

static struct inproc_buf *inproc_pool_get(struct inproc_pool *pool)
{
	return pool->nr_idle ? pool->idle[--pool->nr_idle] : NULL;
}

/* After the switch: into the stack, or, if rings have it, into the row of lent ones. */
static void inproc_pool_put(struct inproc_pool *pool, struct inproc_buf *buf, uint32_t refs)
{
	if (refs == 0)
		pool->idle[pool->nr_idle++] = buf;
	else
		pool->lent[(pool->lent_head + pool->lent_nr++) % pool->nr] = buf;
}

/* --- The registry ------------------------------------------------------------------------------ */

static void inproc_switch_free(struct inproc_switch *sw)
{
	struct inproc_pool *pool;

	while ((pool = sw->orphans) != NULL) {
		sw->orphans = pool->next;
		inproc_pool_free(pool);
	}
	munmap(sw->pipe, sw->pipe_bytes);
	pthread_mutex_destroy(&sw->lock);
	free(sw);
}

static struct inproc_switch *inproc_switch_new(const char *name)
{
	const struct pipe_params params = {
		.jobs_max = INPROC_JOBS,
		.slots_max = INPROC_SLOTS,
		.values_bytes = INPROC_VALUES,
		.p_max = WIRE_P_MAX,
	};
	const struct pipe_time boot = inproc_time();
	struct inproc_switch *sw = calloc(1, sizeof(*sw));
	void *mem;

	if (!sw)
		return NULL;
	snprintf(sw->name, sizeof(sw->name), "%s", name);
	sw->pipe_bytes = pipe_size(&params);
	/* Anonymous memory is zero, and costs nothing where no job uses it. */
	mem = mmap(NULL, sw->pipe_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED) {
		free(sw);
		return NULL;
	}
	sw->pipe = pipe_init(mem, &params, &boot);
	if (!sw->pipe || pthread_mutex_init(&sw->lock, NULL) != 0) {
		munmap(mem, sw->pipe_bytes);
		free(sw);
		return NULL;
	}
	return sw;
}

/* A child process has copies of switches whose ranks are threads of its parent: it begins without. */
static void inproc_forked(void)
{
	pthread_mutex_init(&inproc_registry_lock, NULL);
	inproc_registry = NULL;
}

static void inproc_watch_fork(void)
{
	pthread_atfork(NULL, NULL, inproc_forked);
}

static struct inproc_switch *inproc_switch_get(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct inproc_switch *sw;

	pthread_once(&once, inproc_watch_fork);
	pthread_mutex_lock(&inproc_registry_lock);
	for (sw = inproc_registry; sw && strcmp(sw->name, name) != 0; sw = sw->next)
		;
	if (!sw) {
		sw = inproc_switch_new(name);
		if (sw) {
			sw->next = inproc_registry;
			inproc_registry = sw;
		}
	}
	if (sw)
		sw->users++;
	pthread_mutex_unlock(&inproc_registry_lock);
	return sw;
}

static void inproc_switch_put(struct inproc_switch *sw)
{
	struct inproc_switch **at;

	pthread_mutex_lock(&inproc_registry_lock);
	if (--sw->users == 0) {
		for (at = &inproc_registry; *at != sw; at = &(*at)->next)
			;
		*at = sw->next;
		inproc_switch_free(sw);
	}
	pthread_mutex_unlock(&inproc_registry_lock);
}

/* Pools of ranks that left, as soon as nobody reads them.  The lock is held. */
static void inproc_switch_sweep(struct inproc_switch *sw)
{
	struct inproc_pool **at = &sw->orphans, *pool;

	while ((pool = *at) != NULL) {
		if (!inproc_pool_unread(pool)) {
			at = &pool->next;
			continue;
		}
		*at = pool->next;
		inproc_pool_free(pool);
	}
}

/* An address of its own, so that a late packet for a rank that left finds nobody.  The lock is held. */
static int inproc_switch_add(struct inproc_switch *sw, struct inproc *member)
{
	for (uint16_t i = 0; i < INPROC_MEMBERS; i++) {
		if (sw->members[i])
			continue;
		sw->last_port = sw->last_port == UINT16_MAX ? 1 : (uint16_t)(sw->last_port + 1);
		member->flow = (struct flow){
			.ip = INPROC_IP,
			.udp_port = sw->last_port,
			.port = i,
		};
		sw->members[i] = member;
		return 0;
	}
	return -ENOSPC;
}

/* --- Receiving --------------------------------------------------------------------------------- */

static struct inproc *inproc_of(struct transport *transport)
{
	return (struct inproc *)transport;
}

static unsigned inproc_recv(struct transport *transport, struct transport_pkt *pkts, unsigned max)
{
	struct inproc *inproc = inproc_of(transport);
	struct inproc_ring *ring = &inproc->ring;
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed) + inproc->nr_lent;
	uint32_t nr = atomic_load_explicit(&ring->tail, memory_order_acquire) - head;

	if (nr > max)
		nr = max;
	for (uint32_t i = 0; i < nr; i++) {
		struct inproc_buf *buf = ring->buf[(head + i) & ring->mask];

		pkts[i] = (struct transport_pkt){ .data = buf->data, .len = buf->len };
	}
	inproc->nr_lent += nr;
	return nr;
}

static void inproc_release(struct transport *transport)
{
	struct inproc *inproc = inproc_of(transport);
	struct inproc_ring *ring = &inproc->ring;
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (uint32_t i = 0; i < inproc->nr_lent; i++)
		atomic_fetch_sub_explicit(&ring->buf[(head + i) & ring->mask]->refs, 1,
					  memory_order_release);
	atomic_store_explicit(&ring->head, head + inproc->nr_lent, memory_order_release);
	inproc->nr_lent = 0;
}

/* Something to receive, or wake() was called.  Sequentially consistent: see inproc_wait(). */
static bool inproc_ready(struct inproc *inproc)
{
	struct inproc_ring *ring = &inproc->ring;

	return atomic_load(&ring->tail) !=
		       atomic_load_explicit(&ring->head, memory_order_relaxed) ||
	       atomic_load(&ring->called);
}

/*
 * Sleeping and waking never miss each other: the rank sets `sleeping` and then looks at the ring, a
 * producer moves the tail and then looks at `sleeping`, in one order for all.
 */
static void inproc_sleep(struct inproc *inproc, uint64_t timeout_ns)
{
	struct inproc_ring *ring = &inproc->ring;
	const uint32_t bell = atomic_load(&ring->bell);
	const struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};

	atomic_store(&ring->sleeping, 1);
	if (!inproc_ready(inproc))
		inproc_futex(&ring->bell, FUTEX_WAIT, bell, &ts);
	atomic_store(&ring->sleeping, 0);
}

static void inproc_wait(struct transport *transport, uint64_t timeout_ns)
{
	struct inproc *inproc = inproc_of(transport);
	const uint64_t hour_ns = UINT64_C(3600) * 1000000000u;
	bool ready = false;

	for (uint32_t i = 0; i < inproc->spin && !ready; i++)
		ready = inproc_ready(inproc);
	for (uint32_t i = 0; i < INPROC_YIELD && !ready && timeout_ns; i++) {
		sched_yield();
		ready = inproc_ready(inproc);
	}
	if (!ready && timeout_ns)
		inproc_sleep(inproc, timeout_ns < hour_ns ? timeout_ns : hour_ns);
	/* Reading it makes what the caller of wake() wrote before visible here. */
	atomic_exchange(&inproc->ring.called, 0);
}

static void inproc_ring_bell(struct inproc_ring *ring)
{
	if (!atomic_load(&ring->sleeping))
		return;
	atomic_store(&ring->sleeping, 0);
	atomic_fetch_add(&ring->bell, 1);
	inproc_futex(&ring->bell, FUTEX_WAKE, 1, NULL);
}

static void inproc_wake(struct transport *transport)
{
	struct inproc *inproc = inproc_of(transport);

	atomic_store(&inproc->ring.called, 1);
	inproc_ring_bell(&inproc->ring);
}

/* --- Sending ----------------------------------------------------------------------------------- */

static unsigned inproc_room(struct transport *transport)
{
	struct inproc_pool *pool = inproc_of(transport)->pool;

	inproc_pool_reclaim(pool, false);
	if (pool->nr_idle < TRANSPORT_BURST)
		inproc_pool_reclaim(pool, true);
	return pool->nr_idle < TRANSPORT_BURST ? pool->nr_idle : TRANSPORT_BURST;
}

static uint8_t *inproc_alloc(struct transport *transport, uint32_t len)
{
	struct inproc_pool *pool = inproc_of(transport)->pool;
	struct inproc_buf *buf;

	if (len > pool->cap)
		return NULL;
	if (!pool->nr_idle)
		inproc_pool_reclaim(pool, true);
	buf = inproc_pool_get(pool);
	return buf ? buf->data : NULL;
}

static struct inproc_buf *inproc_buf_of(uint8_t *data)
{
	return (struct inproc_buf *)(void *)(data - offsetof(struct inproc_buf, data));
}

/* One burst through the switch: whom it went to, and whom it could not find. */
struct inproc_burst {
	struct inproc_switch *sw;
	struct inproc *dirty;
	struct flow gone;
	bool has_gone;
};

/* Where a packet for this address goes; NULL: its rank has left. */
static struct inproc *inproc_find(struct inproc_burst *burst, const struct flow *flow)
{
	struct inproc *member = flow->port < INPROC_MEMBERS ? burst->sw->members[flow->port] : NULL;

	if (member && member->flow.udp_port == flow->udp_port)
		return member;
	burst->gone = *flow;
	burst->has_gone = true;
	return NULL;
}

/* Returns whether the ring took it.  Readers see it when the burst is over. */
static bool inproc_push(struct inproc_burst *burst, struct inproc *member, struct inproc_buf *buf)
{
	struct inproc_ring *ring = &member->ring;

	if (ring->next - atomic_load_explicit(&ring->head, memory_order_acquire) > ring->mask)
		return false;
	ring->buf[ring->next++ & ring->mask] = buf;
	if (!member->is_dirty) {
		member->is_dirty = true;
		member->dirty = burst->dirty;
		burst->dirty = member;
	}
	return true;
}

/* Publishes what was pushed, and remembers who sleeps: waking is for after the lock. */
static unsigned inproc_publish(struct inproc_burst *burst, struct inproc **asleep)
{
	unsigned nr = 0;

	for (struct inproc *member = burst->dirty; member; member = member->dirty) {
		member->is_dirty = false;
		atomic_store(&member->ring.tail, member->ring.next);
		if (atomic_load(&member->ring.sleeping) && nr < WIRE_WORLD_MAX)
			asleep[nr++] = member;
	}
	burst->dirty = NULL;
	return nr;
}

/* Readers may see the buffer only with its final count of references: set before it is published. */
static uint32_t inproc_deliver(struct inproc_burst *burst, const struct pipe_pkt *pkt,
			       const struct flow *dests, unsigned nr_dests)
{
	struct inproc_buf *buf = pkt->cookie;
	uint32_t refs = 0;

	buf->len = pkt->len;
	for (unsigned i = 0; i < nr_dests; i++) {
		struct inproc *member = inproc_find(burst, &dests[i]);

		if (member && inproc_push(burst, member, buf))
			refs++;
	}
	atomic_store_explicit(&buf->refs, refs, memory_order_relaxed);
	return refs;
}

/* The switch's own messages, in buffers of the rank that happens to run it. */
static void inproc_drain(struct inproc_burst *burst, struct inproc_pool *pool)
{
	struct inproc_switch *sw = burst->sw;
	struct flow to;
	size_t len;

	while ((len = pipe_output(sw->pipe, &to, sw->status)) > 0) {
		struct inproc *member = inproc_find(burst, &to);
		struct inproc_buf *buf = member && len <= pool->cap ? inproc_pool_get(pool) : NULL;
		uint32_t refs;

		if (!buf)
			continue;
		memcpy(buf->data, sw->status, len);
		buf->len = (uint32_t)len;
		refs = inproc_push(burst, member, buf);
		atomic_store_explicit(&buf->refs, refs, memory_order_relaxed);
		inproc_pool_put(pool, buf, refs);
	}
}

static void inproc_switch_run(struct inproc_burst *burst, struct inproc_pool *pool,
			      struct pipe_pkt *pkts, unsigned nr)
{
	const struct pipe_time now = inproc_time();
	struct pipe *pipe = burst->sw->pipe;
	struct flow dests[WIRE_WORLD_MAX];
	unsigned nr_dests = 0, job = UINT_MAX;

	pipe_input(pipe, pkts, nr, &now);
	for (unsigned i = 0; i < nr; i++) {
		uint32_t refs = 0;

		if (pkts[i].verdict == PIPE_REPLY) {
			refs = inproc_deliver(burst, &pkts[i], &pkts[i].flow, 1);
		} else if (pkts[i].verdict == PIPE_MULTICAST) {
			/* A burst's results mostly go to one job. */
			if (job != pkts[i].job) {
				nr_dests = pipe_dests(pipe, &pkts[i], dests);
				job = pkts[i].job;
			}
			refs = inproc_deliver(burst, &pkts[i], dests, nr_dests);
		}
		inproc_pool_put(pool, pkts[i].cookie, refs);
	}
	inproc_drain(burst, pool);
	if (burst->has_gone) {
		pipe_gone(pipe, &burst->gone, &now);
		inproc_drain(burst, pool);
	}
}

static unsigned inproc_send(struct transport *transport, const struct transport_pkt *pkts,
			    unsigned nr)
{
	struct inproc *inproc = inproc_of(transport);
	struct inproc_burst burst = { .sw = inproc->sw };
	struct inproc *asleep[WIRE_WORLD_MAX];
	struct pipe_pkt burst_pkts[PIPE_BURST];
	unsigned nr_asleep;

	if (nr > PIPE_BURST)
		nr = PIPE_BURST;
	if (nr == 0)
		return 0;
	for (unsigned i = 0; i < nr; i++)
		burst_pkts[i] = (struct pipe_pkt){
			.data = pkts[i].data,
			.len = pkts[i].len,
			.cap = inproc->pool->cap,
			.flow = inproc->flow,
			.cookie = inproc_buf_of(pkts[i].data),
		};
	pthread_mutex_lock(&inproc->sw->lock);
	inproc_switch_run(&burst, inproc->pool, burst_pkts, nr);
	nr_asleep = inproc_publish(&burst, asleep);
	/* A rank may leave as soon as the lock is free, so that its bell is rung before. */
	for (unsigned i = 0; i < nr_asleep; i++)
		inproc_ring_bell(&asleep[i]->ring);
	pthread_mutex_unlock(&inproc->sw->lock);
	return nr;
}

/* --- Opening and closing ------------------------------------------------------------------------ */

static void inproc_free(struct inproc *inproc)
{
	if (inproc->pool)
		inproc_pool_free(inproc->pool);
	free(inproc->ring.buf);
	free(inproc);
}

static void inproc_close(struct transport *transport)
{
	struct inproc *inproc = inproc_of(transport);
	struct inproc_switch *sw = inproc->sw;
	struct transport_pkt pkts[TRANSPORT_BURST];

	pthread_mutex_lock(&sw->lock);
	sw->members[inproc->flow.port] = NULL;
	do
		inproc_release(transport);
	while (inproc_recv(transport, pkts, TRANSPORT_BURST));
	inproc->pool->next = sw->orphans;
	sw->orphans = inproc->pool;
	inproc->pool = NULL;
	inproc_switch_sweep(sw);
	pthread_mutex_unlock(&sw->lock);
	inproc_free(inproc);
	inproc_switch_put(sw);
}

static uint32_t inproc_spin(void)
{
	cpu_set_t cpus;

	/* Alone on a core, looking again changes nothing. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1)
		return 1;
	return INPROC_SPIN;
}

static struct inproc *inproc_new(const struct transport_params *params, uint16_t p)
{
	const uint32_t slots = (uint32_t)params->slots + WIRE_SE;
	const uint32_t body = (p > WIRE_BODY ? p : WIRE_BODY) + params->trailer;
	struct inproc *inproc = aligned_alloc(INPROC_LINE, sizeof(*inproc));
	uint32_t ring = 256;

	if (!inproc)
		return NULL;
	memset(inproc, 0, sizeof(*inproc));
	/* Every slot's result may wait in a ring, and be repeated. */
	while (ring < 2 * slots)
		ring *= 2;
	inproc->ring.mask = ring - 1;
	inproc->ring.buf = calloc(ring, sizeof(struct inproc_buf *));
	inproc->pool = inproc_pool_new(slots + 4 * TRANSPORT_BURST, WIRE_HEADER + body);
	if (!inproc->ring.buf || !inproc->pool) {
		inproc_free(inproc);
		return NULL;
	}
	inproc->spin = inproc_spin();
	inproc->base.ops = &transport_inproc;
	inproc->base.p = p;
	return inproc;
}

static int inproc_fail(struct transport_error *error, int rc, const char *what)
{
	snprintf(error->text, sizeof(error->text), "embedded switch: %s", what);
	return rc;
}

static int inproc_open(struct transport **out, const struct transport_params *params,
		       struct transport_error *error)
{
	const char *name = params->name ? params->name : "";
	const uint16_t p = params->p ? params->p : WIRE_P_MAX;
	struct inproc *inproc;
	int rc;

	if (strlen(name) >= INPROC_NAME)
		return inproc_fail(error, -EINVAL, "its name has more than 63 bytes");
	inproc = inproc_new(params, p);
	if (!inproc)
		return inproc_fail(error, -ENOMEM, "out of memory");
	inproc->sw = inproc_switch_get(name);
	if (!inproc->sw) {
		inproc_free(inproc);
		return inproc_fail(error, -ENOMEM, "out of memory for its tables (64 MiB)");
	}
	pthread_mutex_lock(&inproc->sw->lock);
	inproc_switch_sweep(inproc->sw);
	rc = inproc_switch_add(inproc->sw, inproc);
	pthread_mutex_unlock(&inproc->sw->lock);
	if (rc < 0) {
		inproc_switch_put(inproc->sw);
		inproc_free(inproc);
		return inproc_fail(error, rc, "all of its 1024 ports are taken");
	}
	inproc->base.port = inproc->flow.udp_port;
	snprintf(inproc->base.text, sizeof(inproc->base.text), "inproc");
	*out = &inproc->base;
	return 0;
}

const struct transport_ops transport_inproc = {
	.name = "inproc",
	.open = inproc_open,
	.room = inproc_room,
	.alloc = inproc_alloc,
	.send = inproc_send,
	.recv = inproc_recv,
	.release = inproc_release,
	.wait = inproc_wait,
	.wake = inproc_wake,
	.close = inproc_close,
};
