// SPDX-License-Identifier: BSD-3-Clause
/*
 * session.pml - one slot and the sessions around it: docs/protocol.md sections 3 and 5 as
 * switch/core and host/core implement them.
 *
 * The network is a set: whatever was ever sent may arrive late, again, in any order, or never. At
 * any moment it may become fair: all that is under way is lost, and from then on each repeated
 * packet is answered at once. Then all workers must finish all rounds, in one epoch. So that no run
 * is stuck is an assertion too, and a search for assertion violations is all that is needed.
 *
 *	N workers, K rounds of the slot in each epoch
 *	RESTARTS	how often a worker dies and comes back
 *	BREAKS		how often the switch ends an epoch by itself (mismatch, END, LEAVE)
 *	FORGETS		how often the switch restarts and knows nothing
 *	JUMP		epochs come from a clock and may skip one
 *
 * Each MUT_ leaves one rule out, and must be found out.
 */
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef FORGETS
#define FORGETS 0
#endif
#ifdef JUMP
#define STEP 2
#else
#define STEP 1
#endif
/* Each fault ends at most one epoch. */
#define E ((RESTARTS + BREAKS + FORGETS) * STEP + 1)
#define INCS (RESTARTS + 2)	/* 0: none */
#define ALL ((1 << N) - 1)
#define PATIENCE (K + 8)	/* turns of all workers within which a fair network lets them finish */

#define BIT(w) (1 << (w))
#define CHUNK(e, r) (1 << (((e) - 1) * K + (r)))
#define ASK(i, b) (1 << ((i) * (E + 1) + (b)))
#define TOLD(e, ru, i) (1 << ((((e) - 1) * 2 + (ru)) * INCS + (i)))
#define TAG(e, r) ((e) * K + (r) + 1)

#ifdef MUT_ONE_CELL
#define CELL(r) 0
#else
#define CELL(r) ((r) & 1)
#endif
#ifdef MUT_ANY_INCARNATION
#define MINE(w, i) true
#else
#define MINE(w, i) ((i) == incarnation[w])
#endif
#ifdef MUT_ENTER_AGAIN
#define NEWER(w, e) ((e) >= base[w])
#else
#define NEWER(w, e) ((e) > base[w])
#endif
#ifdef MUT_ANY_BASE
#define ENDS(w, i, b) ((b) == epoch || (i) != member[w])
#else
#define ENDS(w, i, b) ((b) == epoch)
#endif
#ifdef MUT_LATE_JOIN
#define FITS(b) true
#else
#define FITS(b) ((b) == epoch - 1)
#endif
#ifdef MUT_ANY_EPOCH
#define CURRENT(e) (known && running)
#else
#define CURRENT(e) (known && running && (e) == epoch)
#endif

/* The switch. */
typedef cell {
	byte epoch; byte round; byte have;
	byte from[N]			/* the contribution that was added: TAG, 0: none */
};
cell cells[2];
bool known = false;			/* the job is */
bool running = false;
byte epoch = 0;				/* goes on when the switch forgets: it is the clock's */
byte joined = 0;
byte member[N];				/* incarnations */

/* The workers. */
byte in_epoch[N];			/* 0: none */
byte round[N];
byte incarnation[N];
byte base[N];

/* The network: sets of messages from and to each worker. */
int data[N]; int result[N]; int join[N]; int told[N]; int unknown[N];

/* Which life of a worker has entered an epoch; not known to anybody. */
typedef ghost { bool entered[E + 1] };
ghost was[N];

byte restarts, breaks, forgets;
bool over = false;
byte q, v, turn;

inline take_epoch()
{
#ifdef JUMP
	if
	:: epoch++
	:: epoch < E - 1 -> epoch = epoch + 2
	fi;
#else
	epoch++;
#endif
	assert(epoch <= E)
}

inline switch_tell(w)
{
	told[w] = told[w] | TOLD(epoch, running, member[w])
}

inline switch_tell_all()
{
	q = 0;
	do
	:: q < N ->
		if
		:: member[q] != 0 -> switch_tell(q)
		:: else
		fi;
		q++
	:: else -> q = 0; break
	od
}

inline end_epoch()
{
	take_epoch();
	running = false;
	joined = 0
}

inline switch_join(w, i, b)
{
	if
	:: !known -> known = true; end_epoch()
	:: else
	fi;
	if
	:: running && ENDS(w, i, b) ->
		end_epoch();
		joined = BIT(w);
#ifndef MUT_NO_MEMBER
		member[w] = i;
#endif
		switch_tell_all()
	:: !running && FITS(b) ->
		joined = joined | BIT(w);
		member[w] = i;
		if
		:: joined == ALL -> running = true; switch_tell_all()
		:: else
		fi
	:: else
	fi;
	switch_tell(w)
}

inline check_result(e, r)
{
	q = 0;
	do
	:: q < N -> assert(cells[v].from[q] == TAG(e, r)); q++
	:: else -> q = 0; break
	od
}

/* Rule 6: nobody in the epoch may still wait for what is overwritten. */
inline check_reuse()
{
	q = 0;
	do
	:: q < N ->
		assert(cells[v].have == 0 || in_epoch[q] != cells[v].epoch ||
		       cells[v].epoch != epoch || round[q] > cells[v].round);
		q++
	:: else -> q = 0; break
	od
}

inline cell_begin(w, e, r)
{
#ifndef MUT_ONE_CELL
	/* Rule 2: never in these runs. */
	assert(r == 0 || (cells[1 - v].epoch == e && cells[1 - v].round == r - 1 &&
			  cells[1 - v].have == ALL));
#endif
	check_reuse();
	cells[v].epoch = e;
	cells[v].round = r;
	cells[v].have = BIT(w);
	q = 0;
	do
	:: q < N -> cells[v].from[q] = 0; q++
	:: else -> q = 0; break
	od;
	cells[v].from[w] = TAG(e, r)
}

inline cell_join(w, e, r)
{
	assert(cells[v].from[w] == 0);
	cells[v].have = cells[v].have | BIT(w);
	cells[v].from[w] = TAG(e, r)
}

inline cell_complete(e, r)
{
	if
	:: cells[v].have == ALL ->
		check_result(e, r);
		do
		:: q < N -> result[q] = result[q] | CHUNK(e, r); q++
		:: else -> q = 0; break
		od
	:: else
	fi
}

inline cell_repeat(w, e, r)
{
#ifndef MUT_NO_REPEAT
	if
	:: cells[v].have == ALL -> check_result(e, r); result[w] = result[w] | CHUNK(e, r)
	:: else
	fi
#else
	skip
#endif
}

inline slot_add(w, e, r)
{
	v = CELL(r);
	if
	:: cells[v].epoch != e || r > cells[v].round || cells[v].have == 0 ->
		cell_begin(w, e, r);
		cell_complete(e, r)
	:: else ->
		if
		:: r < cells[v].round ->
#ifdef MUT_NO_STALE
			cell_begin(w, e, r)
#else
			skip
#endif
#ifdef MUT_NO_DUPLICATE
		:: r == cells[v].round -> cell_join(w, e, r); cell_complete(e, r)
#else
		:: r == cells[v].round && (cells[v].have & BIT(w)) -> cell_repeat(w, e, r)
		:: r == cells[v].round && !(cells[v].have & BIT(w)) ->
			cell_join(w, e, r);
			cell_complete(e, r)
#endif
		fi
	fi;
	v = 0
}

inline switch_data(w, e, r)
{
	if
	:: !known -> unknown[w] = unknown[w] | BIT(e)
	:: known && CURRENT(e) -> slot_add(w, e, r)
	:: else ->
#ifdef MUT_SILENT
		skip
#else
		if
		:: member[w] != 0 -> switch_tell(w)
		:: else -> unknown[w] = unknown[w] | BIT(e)
		fi
#endif
	fi
}

/* What a worker repeats until it is answered. */
inline worker_send(w)
{
	if
	:: in_epoch[w] == 0 -> join[w] = join[w] | ASK(incarnation[w], base[w])
	:: in_epoch[w] != 0 && round[w] < K -> data[w] = data[w] | CHUNK(in_epoch[w], round[w])
	:: else
	fi
}

inline worker_enter(w, e)
{
	assert(!was[w].entered[e]);
	was[w].entered[e] = true;
	in_epoch[w] = e;
	round[w] = 0;
	base[w] = e;
	worker_send(w)
}

inline worker_raise(w, b)
{
	if
	:: b > base[w] -> base[w] = b
	:: else
	fi;
	worker_send(w)
}

inline worker_status(w, e, ru, i)
{
	if
	:: in_epoch[w] != 0 && e > in_epoch[w] ->
		in_epoch[w] = 0;
		round[w] = 0;
		if
		:: ru && MINE(w, i) && NEWER(w, e) -> worker_send(w)
		:: else -> worker_raise(w, e - 1 + ru)
		fi
	:: in_epoch[w] == 0 && ru && MINE(w, i) && NEWER(w, e) -> worker_enter(w, e)
	:: in_epoch[w] == 0 && !(ru && MINE(w, i) && NEWER(w, e)) ->
		worker_raise(w, e - 1 + ru)
	:: else
	fi
}

/* A worker whose epoch the switch does not know asks for one that replaces it. */
inline worker_unknown(w, e)
{
#ifndef MUT_UNKNOWN_IGNORED
	if
	:: in_epoch[w] == e -> join[w] = join[w] | ASK(incarnation[w], base[w])
	:: else
	fi
#else
	skip
#endif
}

inline worker_die(w)
{
	restarts++;
#ifndef MUT_INCARNATION_REUSED
	incarnation[w]++;
#endif
	in_epoch[w] = 0;
	round[w] = 0;
	base[w] = 0;
	worker_send(w)
}

inline switch_forget()
{
	forgets++;
	known = false;
	running = false;
	joined = 0;
	q = 0;
	do
	:: q < N ->
		member[q] = 0;
		cells[0].from[q] = 0;
		cells[1].from[q] = 0;
		q++
	:: else -> q = 0; break
	od;
	cells[0].epoch = 0; cells[0].round = 0; cells[0].have = 0;
	cells[1].epoch = 0; cells[1].round = 0; cells[1].have = 0
}

inline fair_join(w)
{
	switch_join(w, incarnation[w], base[w]);
	worker_status(w, epoch, running, member[w])
}

/* What worker w repeats now arrives, and so does the answer. */
inline fair_turn(w)
{
	if
	:: in_epoch[w] == 0 -> fair_join(w)
	:: in_epoch[w] != 0 && (!known || (!CURRENT(in_epoch[w]) && member[w] == 0)) ->
#ifndef MUT_UNKNOWN_IGNORED
		fair_join(w)
#else
		skip
#endif
	:: in_epoch[w] != 0 && known && !CURRENT(in_epoch[w]) && member[w] != 0 ->
#ifndef MUT_SILENT
		worker_status(w, epoch, running, member[w])
#else
		skip
#endif
	:: in_epoch[w] != 0 && CURRENT(in_epoch[w]) && round[w] < K ->
		switch_data(w, in_epoch[w], round[w]);
		if
		:: result[w] & CHUNK(in_epoch[w], round[w]) -> round[w]++
		:: else
		fi
	:: else
	fi
}

inline network_lose()
{
	do
	:: q < N ->
		data[q] = 0; result[q] = 0; join[q] = 0; told[q] = 0; unknown[q] = 0;
		q++
	:: else -> q = 0; break
	od
}

inline fair_rounds()
{
	turn = 0;
	do
	:: turn < PATIENCE * N ->
		w = (down -> N - 1 - turn % N : turn % N);
		fair_turn(w);
		turn++
	:: else -> turn = 0; w = 0; break
	od
}

inline check_done()
{
	do
	:: q < N ->
		assert(known && running && in_epoch[q] == epoch && round[q] == K);
		q++
	:: else -> q = 0; break
	od
}

/* Workers take turns upwards or downwards. */
proctype Fair()
{
	byte w;
	bit down;

	if
	:: down = 0
	:: down = 1
	fi;
	d_step { !over -> over = true; network_lose(); fair_rounds(); check_done() }
}

/* The faults and deliveries that concern worker w. */
proctype Worker(byte w)
{
	byte e, r, i, b;
	bit ru;
end:
	do
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		r = 0; do :: r < K - 1 -> r++ :: break od;
		if :: data[w] & CHUNK(e, r) -> switch_data(w, e, r) :: else fi;
		e = 0; r = 0 }
	:: atomic { !over && in_epoch[w] != 0 && round[w] < K &&
		    (result[w] & CHUNK(in_epoch[w], round[w])) ->
		round[w]++; worker_send(w) }
	:: atomic { !over ->
		i = 1; do :: i < INCS - 1 -> i++ :: break od;
		b = 0; do :: b < E -> b++ :: break od;
		if :: join[w] & ASK(i, b) -> switch_join(w, i, b) :: else fi;
		i = 0; b = 0 }
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		i = 0; do :: i < INCS - 1 -> i++ :: break od;
		if :: ru = 0 :: ru = 1 fi;
		if :: told[w] & TOLD(e, ru, i) -> worker_status(w, e, ru, i) :: else fi;
		e = 0; i = 0; ru = 0 }
#if FORGETS > 0
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		if :: unknown[w] & BIT(e) -> worker_unknown(w, e) :: else fi;
		e = 0 }
	:: atomic { !over && w == 0 && forgets < FORGETS -> switch_forget() }
#endif
#if RESTARTS > 0
	:: atomic { !over && restarts < RESTARTS -> worker_die(w) }
#endif
#if BREAKS > 0
	:: atomic { !over && w == 0 && running && breaks < BREAKS ->
		breaks++; end_epoch(); switch_tell_all() }
#endif
	od
}

init {
	byte w;

	atomic {
		do
		:: w < N -> incarnation[w] = 1; worker_send(w); run Worker(w); w++
		:: else -> w = 0; break
		od;
		run Fair()
	}
}
