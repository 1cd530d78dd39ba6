/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h - the product's own machines in virtual time: hosts, switches and links that lose, repeat,
 * reorder, delay and corrupt; processes that crash, stop and start again.  One seed is one run.
 *
 * The topology is arrays of nodes and links; who reaches whom is a table.  Packets travel along one
 * link.  Nothing here knows the time of day, so that the same seed gives the same trace.
 *
 *	world.c	 a run: build, event loop, end	net.c	 links, faults, conservation
 *	draw.c	 what a seed draws		row.c	 the operations of a job
 *	chaos.c	 faults that happen at a time	foe.c	 packets that nobody should send
 *	host.c	 a rank and its application	check.c	 values, sums, epochs, blame
 *	node.c	 a switch			mutant.c what must be caught
 *	trace.c	 hash, text and pcap of a run	seen.c	 what has happened in how many runs
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/core/coll.h"
#include "host/core/session.h"
#include "switch/core/pipe.h"
#include "tests/sim/seen.h"

#define SIM_US UINT64_C(1000)
#define SIM_MS UINT64_C(1000000)
#define SIM_SECOND UINT64_C(1000000000)
#define SIM_IP 0x0a000000u
#define SIM_NEAR (2 * SIM_MS) /* an event within this is near */

enum {
	SIM_SWITCHES = 8,
	SIM_FOES = 2,
	SIM_NODES = 84,
	SIM_LINKS = 84,
	SIM_JOBS = 3,
	SIM_TABLE = SIM_JOBS + 2, /* jobs at a switch */
	SIM_RANKS = 64,		  /* of one job */
	SIM_OPS = 72,		  /* of one row */
	SIM_P = 256,
	SIM_ROOM = 320,	    /* bytes of the largest packet, rounded up */
	SIM_PACKETS = 4096, /* in flight and in inboxes */
	SIM_EVENTS = 8192,
	SIM_QUEUE = 1024,   /* events that are near */
	SIM_INBOX = 256,    /* packets that wait at a process; a power of two */
	SIM_MARKS = 17,	    /* words of bits, one for 32 elements of an operation */
	SIM_EPOCHS = 64,    /* remembered */
	SIM_EXPECTED = 256, /* sums remembered; a power of two */
	SIM_ACTS = 8,
	SIM_ABORTS = 4,	 /* of a rank, remembered */
	SIM_MOST = 5000, /* packets of a run */
	SIM_CROWD = 20,	 /* ranks, above which a run has few operations */
	SIM_GROUP = 8,	 /* nodes that are looked at together, for which has to run */
	SIM_GROUPS = 16, /* a multiple of that */
	SIM_NONE = 0xff,
	/* What a job with CHECK seals, and corruption that no other checksum sees may change. */
	SIM_SEALED = 0xfe,
};

/* Who finds fault with a run. */
enum checker {
	BY_SUM,
	BY_DELIVERY,
	BY_EXPONENT,
	BY_MEMBER,
	BY_EPOCH,
	BY_BLAME,
	BY_REFUSAL,
	BY_WIRE,
	BY_LINK,
	BY_COUNTER,
	BY_LEAK,
	BY_LIVENESS,
	BY_TRACE,
	BY_SIZE, /* of the simulator itself */
	BY_NR
};

/* --- Links ------------------------------------------------------------------------------------ */

struct packet {
	_Alignas(64) uint8_t data[SIM_ROOM];
	uint8_t from, to; /* nodes */
	uint8_t way;
	uint8_t as; /* the node whose address it has, mostly from */
	bool corrupt;
	bool flipped;	  /* corrupt, and the UDP checksum does not show it */
	bool unreachable; /* not a packet of ours: "nobody listens at src_port" */
	bool foe;	  /* a stranger's: no sum has anything of it */
	uint16_t src_port, dst_port;
	uint16_t index; /* in world.packets */
	uint32_t len;
};

enum lost { LOST_CHANCE, LOST_BURST, LOST_CUT, LOST_QUEUE, LOST_ROOM, LOST_NR };

/* One direction of a link.  Probabilities in 2^-20. */
struct way {
	/* A cache line of what each packet needs. */
	_Alignas(64) bool plain; /* nothing happens to packets but delay */
	bool bursting, cut;
	uint32_t loss, dup, reorder, corrupt, flip;
	uint32_t sent, delivered;
	uint64_t delay_ns, jitter_ns, reorder_ns;
	uint64_t byte_ns; /* 0: no limit of the rate */
	uint32_t burst_enter, burst_leave, burst_loss;
	uint32_t duped, reordered, delayed, lost[LOST_NR];
	uint64_t queue_ns; /* what does not fit the queue is lost */
	uint64_t free_ns;  /* when the queue is empty */
};

/* --- Nodes ------------------------------------------------------------------------------------ */

enum node_kind { NODE_HOST, NODE_SWITCH, NODE_FOE };

struct node {
	_Alignas(64) uint8_t kind;
	uint8_t parent; /* switch that it hangs on, SIM_NONE: none */
	uint8_t job;	/* of a host; of a foe its number */
	uint8_t rank;
	bool up, paused;
	uint16_t port;
	unsigned room; /* for packets that wait */
	uint32_t head, tail;
	uint64_t service_ns; /* how long after a packet the process looks */
	/* What became of packets that arrived. */
	uint64_t processed, nobody, full, bad_checksum;
	uint16_t inbox[SIM_INBOX];
	/* A switch. */
	struct pipe *pipe;
	void *mem;
	size_t mem_size; /* of what its pipe uses */
	struct pipe_params params;
	uint64_t wall_ms;	   /* its wall clock at the beginning */
	uint64_t down_ns;	   /* when it crashed */
	uint64_t given[SIM_TABLE]; /* epochs of its jobs, by place in the table */
	uint64_t rx;		   /* packets that its machine was given since it booted */
	unsigned boots;
};

/* --- Jobs ------------------------------------------------------------------------------------- */

/* What a checker knows of a rank's part in an epoch. */
struct entry {
	bool entered, deviant;
	unsigned life;
	uint32_t salt;
};

struct epoch {
	uint64_t epoch;
	uint8_t job;
	unsigned nr_ops; /* of the row, for ranks in this epoch */
	struct entry rank[SIM_RANKS];
};

/* An operation, the same on all ranks by the job's seed. */
struct work {
	uint8_t form, kind, width, dtype, op;
	uint32_t count;
};

/* Chunks of an operation that were delivered to a rank. */
struct mark {
	uint64_t bits[SIM_MARKS];
	uint32_t nr;
	bool spoilt; /* the chunk of the spoilt cell is one of them, or its CLOSE */
	bool wrong;  /* it showed */
};

/* A cell in a switch's memory in which bits have changed; epoch 0: none. */
struct spoilt {
	uint64_t epoch;
	uint32_t round;
	uint16_t slot;
};

struct rank {
	struct session session;
	struct coll *coll;
	unsigned life;
	bool in_epoch, deviant;
	uint16_t port;
	uint64_t inc;
	const struct epoch *epoch;
	unsigned posted, finished;
	uint64_t post_ns;   /* not before, the application computes */
	uint64_t silent_ns; /* posts nothing before */
	uint64_t probe_ns, leave_ns;
	uint64_t done_epoch; /* in which it finished the row, 0: none */
	bool booting;	     /* will be started */
	bool quits;	     /* leaves in the middle of its row */
	bool lingers;	     /* its LEAVE was not acknowledged */
	uint64_t last_epoch; /* of all its lives, entered in the last of these */
	unsigned last_life;
	uint64_t aborted[SIM_ABORTS]; /* epochs, at nr_aborts % SIM_ABORTS */
	unsigned nr_aborts;
	uint64_t corrupted; /* epoch in which CLOSE did not verify, the last one */
	bool blamed_restart, blamed_left, blamed_gone, blamed_broken, blamed_rounds, blamed_early;
};

/* What a rank gets wrong at first, until it is told. */
enum deviance { DEVIANT_OP, DEVIANT_WORLD, DEVIANT_CHUNK, DEVIANT_CHECK };

struct sim_job {
	uint8_t index, world;
	struct wire_range below[SIM_SWITCHES]; /* the ranks below each */
	bool calm;			       /* faults had ended when this visit began */
	uint8_t node[SIM_RANKS];
	char name[16];
	uint64_t seed;
	uint16_t slots, p; /* the least that a rank wants */
	uint16_t want_slots[SIM_RANKS], want_p[SIM_RANKS];
	unsigned nr_ops, visits;
	struct work work[SIM_OPS];
	bool wait;  /* ranks stay until all have finished, or each leaves by itself */
	bool check; /* with CHECK */
	bool done;
	uint8_t deviant; /* rank that is wrong at first, SIM_NONE: none */
	uint8_t deviance;
	unsigned deviant_op;
	unsigned mismatches;
	bool blamed_reset;
	struct rank rank[SIM_RANKS];
};

/* --- Faults at a time ------------------------------------------------------------------------- */

enum act_kind {
	ACT_CRASH,
	ACT_SWITCH_CRASH,
	ACT_PAUSE,
	ACT_SWITCH_PAUSE,
	ACT_CUT,
	ACT_ABORT,
	ACT_FAIL,
	ACT_SILENCE,
	ACT_BROKEN, /* a rank sends a packet that it should not */
	ACT_RESET,  /* the operator ends a job's epoch */
	ACT_QUIT,   /* a rank leaves in the middle of its row */
	ACT_NR,
};

struct act {
	uint8_t kind;
	uint8_t node; /* or link */
	uint64_t for_ns;
};

#define SIM_ORDER 24	/* low bits of a key */
#define SIM_NODE_BITS 7 /* of when a node has to run */

enum event_type { EVENT_PACKET, EVENT_ACT, EVENT_BOOT, EVENT_RESUME, EVENT_HEAL, EVENT_CALM };

/* Sorted by time, and by the order in which they were made. */
struct event {
	uint64_t key;
	uint8_t type; /* enum event_type */
	uint8_t node; /* or link */
	uint16_t arg; /* packet, or act */
};

/* What a run draws besides the links' faults. */
struct traits {
	bool icmp; /* packets to a dead port are answered by port unreachable also before calm */
	bool same_port;	  /* a restarted rank has the port of its life before */
	bool clock_ahead; /* a restarted switch's wall clock has gone ahead */
	bool clock_back;  /* or back */
	bool blinks;	  /* the switch restarts at once when the first epoch begins */
	unsigned spoils; /* packets of a job with CHECK after which a switch's memory changes, 0: none */
	uint64_t think_ns; /* between operations, at most */
};

/* A process that is no member of anything, at a switch. */
struct foe {
	uint32_t kinds; /* mask of what it does: enum foe_kind */
	unsigned left;	/* packets it will still send */
	uint64_t next_ns, gap_ns;
};

/* Consecutive elements of an operation: a data chunk's. */
struct piece {
	uint32_t op, first, count;
};

struct expected {
	uint64_t epoch, run;
	struct piece piece;
	uint8_t job, flags;
	uint8_t bytes[SIM_P];
};

struct trace {
	uint64_t hash;
	bool text;
	void *pcap, *dump; /* pcap_t, pcap_dumper_t */
};

struct world {
	const uint8_t *tape; /* decisions instead of the seed's, as long as it lasts; NULL: none */
	size_t tape_left;
	uint64_t seed, run, rng, now_ns; /* run: how many before */
	struct traits traits;
	bool calm; /* no fault happens any more */
	uint64_t calm_ns;
	unsigned budget; /* packets after which that is so */
	unsigned last;	 /* packets after which nothing new is begun */
	unsigned alarm;	 /* the next of these */
	bool closing;	 /* that is so */
	bool switch_crashed, tight;
	bool crowd; /* a job of many ranks */
	struct spoilt spoilt;
	unsigned nr_acts;
	struct act acts[SIM_ACTS];
	uint64_t act_ns[SIM_ACTS];

	unsigned nr_nodes, nr_switches, nr_links, nr_jobs; /* switches are the first nodes */
	unsigned undone;				   /* jobs */
	unsigned nr_foes;				   /* and foes the last */
	unsigned depth;					   /* levels of switches */
	struct foe foe[SIM_FOES];
	struct node node[SIM_NODES];
	struct way way[2 * SIM_LINKS];	     /* of link i 2 i, from its first node, and 2 i + 1 */
	uint8_t link[SIM_LINKS][2];	     /* its nodes */
	uint8_t route[SIM_NODES][SIM_NODES]; /* the way between two nodes, SIM_NONE: none */
	struct sim_job job[SIM_JOBS];

	uint64_t ready[2]; /* nodes that run now */
	/* When each has to run at the latest, << SIM_NODE_BITS | node; the first of a group. */
	_Alignas(64) uint64_t wake[SIM_GROUPS * SIM_GROUP], group[SIM_GROUPS];
	uint64_t first; /* of all; 0: to be looked for */
	uint32_t stale; /* groups whose first is to be looked for */
	/*
	 * Events: those that are near, in order, and behind them one that is none; the others are a
	 * heap, whose first lies so that four that are compared share a cache line.
	 */
	unsigned head, tail;
	struct event queue[SIM_QUEUE + 1];
	_Alignas(64) struct event pad[3];
	struct event events[SIM_EVENTS + 4];
	unsigned nr_events; /* of the heap */
	uint32_t order;
	struct packet packets[SIM_PACKETS];
	uint16_t free[SIM_PACKETS];
	unsigned nr_free, fresh; /* packets from fresh on were never used */
	uint8_t spare[SIM_ROOM]; /* instead of a packet's bytes, if there is none */

	struct epoch epochs[SIM_EPOCHS];
	unsigned nr_epochs; /* so far; the last SIM_EPOCHS are kept */
	struct expected expected[SIM_EXPECTED];
	struct mark marks[SIM_JOBS][SIM_RANKS][COLL_OPS]; /* by operation number % COLL_OPS */

	unsigned mutant; /* enum mutant */
	void *standin;	 /* of mutant.c */
	struct trace trace;
	uint64_t packets_sent, nr_steps, checked, overs;
	uint64_t counters[COUNTER_NR]; /* of all switches' lives */
	bool seen[SEEN_NR];	       /* in this run */
	jmp_buf failed;
	enum checker by;
	char why[512];
};

/* The run has failed; does not come back. */
_Noreturn void sim_fail(struct world *w, enum checker by, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
extern const char *const checker_names[BY_NR];

/* SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t sim_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t sim_random(struct world *w)
{
	if (w->tape_left) {
		w->tape_left--;
		return *w->tape++ * UINT64_C(0x0101010101010101);
	}
	return sim_mix(w->rng += UINT64_C(0x9e3779b97f4a7c15));
}

/* In [0, n). */
static inline uint32_t sim_draw(struct world *w, uint32_t n)
{
	return (uint32_t)((sim_random(w) >> 32) * n >> 32);
}

static inline uint64_t sim_span(struct world *w, uint64_t ns)
{
	return ns ? sim_random(w) % ns : 0;
}

/* world.c */
struct result {
	uint64_t hash, packets, steps, checked, overs, over_ns;
	bool closed; /* at the end nothing new was begun, lest it be too many packets */
	bool failed;
	enum checker by; /* who found it */
	char why[512];
};
/* Runs the world of w->seed and w->mutant; w->trace says what to tell. */
struct result world_run(struct world *w);
/* Memory of the nodes; once, before the first run. */
void world_open(struct world *w);
void world_close(struct world *w);
void world_event_far(struct world *w, const struct event *event);
/* One that is near waits in the queue, most often not far from its end. */
static inline void world_event(struct world *w, const struct event *event, uint64_t at_ns)
{
	struct event e = *event;
	unsigned i = w->tail;

	e.key = at_ns << SIM_ORDER | w->order++;
	if (at_ns - w->now_ns > SIM_NEAR || i == SIM_QUEUE) {
		world_event_far(w, &e);
		return;
	}
	w->tail++;
	w->queue[i + 1].key = UINT64_MAX;
	for (; i > w->head && e.key < w->queue[i - 1].key; i--)
		w->queue[i] = w->queue[i - 1];
	w->queue[i] = e;
}
/* Events there are now, and one of them. */
static inline unsigned world_nr_events(const struct world *w)
{
	return w->tail - w->head + w->nr_events;
}
static inline const struct event *world_event_at(const struct world *w, unsigned i)
{
	return i < w->tail - w->head ? &w->queue[w->head + i] : &w->events[i - (w->tail - w->head)];
}
static inline void world_ready(struct world *w, unsigned node)
{
	w->ready[node / 64] |= UINT64_C(1) << node % 64;
}
/* The node's process runs at this time at the latest. */
static inline void world_wake(struct world *w, unsigned node, uint64_t at_ns)
{
	uint64_t key = at_ns << SIM_NODE_BITS | node;

	if (at_ns <= w->now_ns) {
		world_ready(w, node);
		return;
	}
	if (key >= w->wake[node] || at_ns >> (64 - SIM_NODE_BITS))
		return;
	w->wake[node] = key;
	if (key < w->group[node / SIM_GROUP])
		w->group[node / SIM_GROUP] = key;
	if (key < w->first)
		w->first = key;
}

/* draw.c */
void draw_world(struct world *w);
static inline bool draw_coin(struct world *w, unsigned of)
{
	return sim_draw(w, of) == 0;
}

/* row.c */
/* A job's operations, for about so many packets; so many operations at least. */
void row_draw(struct world *w, struct sim_job *job, unsigned packets, bool big);
/* Packets of all of them, if nothing is lost. */
unsigned row_all(const struct world *w, const struct sim_job *job);

/* foe.c */
void foe_draw(struct world *w);
void foe_run(struct world *w, unsigned node);
/* A rank's process sends packets that it should not. */
void foe_broken(struct world *w, unsigned node);

/* chaos.c */
void chaos_act(struct world *w, unsigned act);
void chaos_boot(struct world *w, unsigned node);
void chaos_resume(struct world *w, unsigned node);
void chaos_heal(struct world *w, unsigned link);
void chaos_calm(struct world *w);
/* No operation is begun any more; those that have begun are completed. */
void chaos_close(struct world *w);
/* A switch has been given a packet of a job with CHECK. */
void chaos_spoil(struct world *w, unsigned node);

/* net.c */
struct sending {
	uint8_t from, to;
	uint8_t as; /* the node whose address it claims, plus 1; 0: its own */
	uint16_t src_port, dst_port;
	const uint8_t *data;
	size_t len;
	bool unreachable, foe;
};
void net_send(struct world *w, const struct sending *sending);
void net_arrive(struct world *w, unsigned packet);
/* Next packet that waits at a node, NULL: none.  The caller gives it back. */
static inline struct packet *net_take(struct world *w, struct node *node)
{
	if (node->head == node->tail)
		return NULL;
	node->processed++;
	return &w->packets[node->inbox[node->head++ & (SIM_INBOX - 1)]];
}
static inline void net_give_back(struct world *w, const struct packet *packet)
{
	w->free[w->nr_free++] = packet->index;
}
/* Where the next packet's bytes will lie: what is written there is sent without a copy. */
uint8_t *net_room(struct world *w);
/* The length of the message whose header and len bytes of payload are at buf; seals it if it is of
 * a job with CHECK. */
static inline uint32_t net_seal(bool check, uint8_t *buf, uint32_t len)
{
	return check && (SIM_SEALED >> (buf[0] & 15) & 1) ? wire_seal(buf, len) : WIRE_HEADER + len;
}
/* All that waits at a process that ends is gone. */
void net_flush(struct world *w, struct node *node);
void net_check(struct world *w);

/* host.c */
void host_boot(struct world *w, unsigned node);
void host_crash(struct world *w, unsigned node);
void host_run(struct world *w, unsigned node);
/* Ranks of the job that have left begin anew, since this one has to. */
void host_again(struct world *w, struct sim_job *job);
void host_abort(struct world *w, unsigned node);
void host_fail(struct world *w, unsigned node);
void host_quit(struct world *w, unsigned node);
void host_visit(struct world *w, struct sim_job *job);
static inline struct rank *host_rank(struct world *w, unsigned node)
{
	return &w->job[w->node[node].job].rank[w->node[node].rank];
}

/* node.c */
void switch_boot(struct world *w, unsigned node);
void switch_run(struct world *w, unsigned node);
/* One packet that arrives right now, a stranger's: the switch has nothing before it. */
void switch_take(struct world *w, unsigned node, struct pipe_pkt *pkt);
/* What the switch has to say of itself goes out. */
void switch_flush(struct world *w, unsigned node);
/* After the last rank has left: no slot is leased, no job runs. */
void switch_check(struct world *w, unsigned node);
struct pipe_time switch_time(const struct world *w, const struct node *node);

/* check.c: none of it calls the code under test, save to read bytes. */
void check_enter(struct world *w, const struct sim_job *job, unsigned rank);
void check_fill(const struct world *w, const struct sim_job *job, unsigned rank, unsigned op,
		const struct coll_chunk *chunk, uint8_t *payload);
void check_exponents(struct world *w, const struct sim_job *job, unsigned rank, unsigned op,
		     const struct coll_chunk *chunk);
void check_data(struct world *w, struct sim_job *job, unsigned rank, unsigned op,
		const struct coll_chunk *chunk, const uint8_t *payload);
void check_agreed(struct world *w, struct sim_job *job, unsigned rank, unsigned op,
		  const struct coll_chunk *chunk);
/* A result that may be of the cell that was spoilt. */
void check_spoilt(struct world *w, struct sim_job *job, unsigned rank, unsigned op,
		  const struct coll_chunk *chunk);
void check_finished(struct world *w, struct sim_job *job, unsigned rank);
/* What CLOSE says of the operation that is finished next. */
void check_verdict(struct world *w, struct sim_job *job, unsigned rank, bool verified);
void check_blame(struct world *w, struct sim_job *job, unsigned rank, const struct wire_status *st);

/* seen.c: what has happened in the run that is over. */
void seen_collect(struct world *w);

/* trace.c */
void trace_packet(struct world *w, const char *what, const struct packet *p);
void trace_note(struct world *w, const char *what, unsigned who, uint64_t detail);
int trace_open(struct trace *trace, const char *path);
void trace_close(struct trace *trace);

#endif
