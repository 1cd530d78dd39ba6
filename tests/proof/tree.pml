// SPDX-License-Identifier: BSD-3-Clause
/*
 * tree.pml - one slot in a tree of one root and two leaves with two workers each: rules 10 to 12 of
 * docs/protocol.md section 8, and the way epochs come down.
 *
 * The network is a set on each link: what was ever sent may arrive late, again, in any order, or
 * never. At any moment it may become fair, see session.pml; then all workers must finish.
 *
 *	K rounds in each epoch; E epochs, the root may go on to the next at any time
 *
 * How epochs are agreed is left to session.pml: here whatever is of an old epoch is answered by the
 * new one. Each MUT_ leaves one rule out, and must be found out.
 */
#define LEAVES 2
#define MEMBERS 2
#define N (LEAVES * MEMBERS)
#define PATIENCE (K * E + 8)

#define BIT(i) (1 << (i))
#define CHUNK(e, r) (1 << (((e) - 1) * K + (r)))
#define TAG(e, r) ((e) * K + (r) + 1)
#define LEAF(w) ((w) / MEMBERS)
#define PLACE(w) ((w) % MEMBERS)
#define HERE (BIT(MEMBERS) - 1)
#define ALL (BIT(LEAVES) - 1)

#ifdef MUT_TOTAL_AS_PARTIAL
#define DONE(l, v) false
#else
#define DONE(l, v) (leaves[l].cells[v].done)
#endif
#ifdef MUT_ANY_RESULT
#define AWAITED(l, v, e, r) true
#else
#define AWAITED(l, v, e, r) \
	(leaves[l].cells[v].epoch == e && leaves[l].cells[v].round == r && \
	 leaves[l].cells[v].have == HERE && !leaves[l].cells[v].done)
#endif

/* from: whose contributions the values hold, as TAG; 0: none. */
typedef cell { byte epoch; byte round; byte have; bool done; byte from[N] };
typedef switch_ { byte epoch; cell cells[2] };
switch_ leaves[LEAVES];
switch_ root;

byte in_epoch[N];
byte round[N];

/*
 * Sets of messages: workers to leaves, leaves to workers, leaves to the root, and back. What a leaf
 * says of one round is always the same, or rule 11 is broken: see leaf_partial.
 */
int data[N]; int result[N]; int partial[LEAVES]; int total[LEAVES];
/* Epochs that were told. */
byte told[N]; byte told_leaf[LEAVES];

bool over = false;
byte q, v, o, turn;

/* What a leaf's partial holds: its own members' contributions of this round, each once. */
inline leaf_partial(l, e, r)
{
	q = 0;
	do
	:: q < N ->
		assert(leaves[l].cells[v].from[q] == (LEAF(q) == l -> TAG(e, r) : 0));
		q++
	:: else -> q = 0; break
	od;
	partial[l] = partial[l] | CHUNK(e, r)
}

/* What reaches a worker holds everybody's. */
inline leaf_result(l, w, e, r)
{
	q = 0;
	do
	:: q < N -> assert(leaves[l].cells[v].from[q] == TAG(e, r)); q++
	:: else -> q = 0; break
	od;
	result[w] = result[w] | CHUNK(e, r)
}

/* Rule 2: never in these runs. The root has its result when the last leaf's partial has come. */
inline cell_begin(c, e, r, all)
{
	assert(r == 0 || (c.cells[1 - v].epoch == e && c.cells[1 - v].round == r - 1 &&
			  c.cells[1 - v].have == all && c.cells[1 - v].done));
	c.cells[v].epoch = e;
	c.cells[v].round = r;
	c.cells[v].have = 0;
	c.cells[v].done = false;
	q = 0;
	do
	:: q < N -> c.cells[v].from[q] = 0; q++
	:: else -> q = 0; break
	od
}

/* A contribution of w comes to its leaf. */
inline leaf_data(l, w, e, r)
{
	v = r & 1;
	if
	:: e != leaves[l].epoch -> told[w] = told[w] | BIT(leaves[l].epoch)
	:: else ->
		if
		:: leaves[l].cells[v].epoch != e || r > leaves[l].cells[v].round ->
			cell_begin(leaves[l], e, r, HERE)
		:: else
		fi;
		if
		:: r < leaves[l].cells[v].round
		:: r == leaves[l].cells[v].round && !(leaves[l].cells[v].have & BIT(PLACE(w))) ->
			assert(leaves[l].cells[v].from[w] == 0);
			leaves[l].cells[v].from[w] = TAG(e, r);
			leaves[l].cells[v].have = leaves[l].cells[v].have | BIT(PLACE(w));
			if
			:: leaves[l].cells[v].have == HERE -> leaf_partial(l, e, r)
			:: else
			fi
		:: r == leaves[l].cells[v].round && (leaves[l].cells[v].have & BIT(PLACE(w))) ->
			if
			:: leaves[l].cells[v].have == HERE && DONE(l, v) -> leaf_result(l, w, e, r)
			:: leaves[l].cells[v].have == HERE && !DONE(l, v) ->
#ifndef MUT_PARTIAL_ONCE
				leaf_partial(l, e, r)
#else
				skip
#endif
			:: else
			fi
		fi
	fi;
	v = 0
}

inline root_result(l, e, r)
{
	q = 0;
	do
	:: q < N -> assert(root.cells[v].from[q] == TAG(e, r)); q++
	:: else -> q = 0; break
	od;
	total[l] = total[l] | CHUNK(e, r)
}

inline root_add(l, e, r)
{
	q = 0;
	do
	:: q < N ->
		if
		:: LEAF(q) == l ->
			assert(root.cells[v].from[q] == 0);
			root.cells[v].from[q] = TAG(e, r)
		:: else
		fi;
		q++
	:: else -> q = 0; break
	od;
	root.cells[v].have = root.cells[v].have | BIT(l)
}

/* The partial of leaf l comes to the root: the rule of one switch. */
inline root_data(l, e, r)
{
	v = r & 1;
	if
	:: e != root.epoch -> told_leaf[l] = told_leaf[l] | BIT(root.epoch)
	:: else ->
		if
		:: root.cells[v].epoch != e || r > root.cells[v].round ->
			cell_begin(root, e, r, ALL)
		:: else
		fi;
		if
		:: r < root.cells[v].round
		:: r == root.cells[v].round && !(root.cells[v].have & BIT(l)) ->
			root_add(l, e, r);
			if
			:: root.cells[v].have == ALL ->
				root.cells[v].done = true;
				root_result(0, e, r);
				root_result(1, e, r)
			:: else
			fi
		:: r == root.cells[v].round && (root.cells[v].have & BIT(l)) ->
			if
			:: root.cells[v].have == ALL -> root_result(l, e, r)
			:: else
			fi
		fi
	fi;
	v = 0
}

/* The root's result comes to leaf l. */
inline leaf_total(l, e, r)
{
	v = r & 1;
	if
	:: e == leaves[l].epoch && AWAITED(l, v, e, r) ->
		q = 0;
		do
		:: q < N -> leaves[l].cells[v].from[q] = TAG(e, r); q++
		:: else -> q = 0; break
		od;
		leaves[l].cells[v].done = true;
		o = l * MEMBERS;
		do
		:: o < (l + 1) * MEMBERS -> leaf_result(l, o, e, r); o++
		:: else -> o = 0; break
		od
	:: else
	fi;
	v = 0
}

inline leaf_status(l, e)
{
	if
#ifdef MUT_OLD_EPOCH
	:: e != leaves[l].epoch -> leaves[l].epoch = e
#else
	:: e > leaves[l].epoch -> leaves[l].epoch = e
#endif
	:: else
	fi
}

inline worker_send(w)
{
	if
	:: round[w] < K -> data[w] = data[w] | CHUNK(in_epoch[w], round[w])
	:: else
	fi
}

inline worker_status(w, e)
{
	if
	:: e > in_epoch[w] -> in_epoch[w] = e; round[w] = 0; worker_send(w)
	:: else
	fi
}

inline network_lose()
{
	do
	:: q < N -> data[q] = 0; result[q] = 0; told[q] = 0; q++
	:: else -> q = 0; break
	od;
	do
	:: q < LEAVES -> partial[q] = 0; total[q] = 0; told_leaf[q] = 0; q++
	:: else -> q = 0; break
	od
}

/* What worker w repeats arrives, and so do all messages that this makes switches send. */
inline fair_turn(w, l)
{
	if
	:: leaves[l].epoch < root.epoch -> e = root.epoch; leaf_status(l, e)
	:: else
	fi;
	if
	:: in_epoch[w] < leaves[l].epoch -> e = leaves[l].epoch; worker_status(w, e)
	:: else
	fi;
	if
	:: round[w] < K ->
		partial[l] = 0;
		leaf_data(l, w, in_epoch[w], round[w]);
		if
		:: partial[l] -> root_data(l, in_epoch[w], round[w])
		:: else
		fi;
		if
		:: total[l] & CHUNK(in_epoch[w], round[w]) -> leaf_total(l, in_epoch[w], round[w])
		:: else
		fi;
		if
		:: result[w] & CHUNK(in_epoch[w], round[w]) -> round[w]++
		:: else
		fi
	:: else
	fi
}

proctype Fair()
{
	byte w, e;

	d_step {
		!over -> over = true;
		network_lose();
		do
		:: turn < PATIENCE * N -> w = turn % N; fair_turn(w, LEAF(w)); turn++
		:: else -> turn = 0; w = 0; e = 0; break
		od;
		do
		:: q < N -> assert(in_epoch[q] == root.epoch && round[q] == K); q++
		:: else -> q = 0; break
		od
	}
}

proctype Worker(byte w)
{
	byte e, r;
end:
	do
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		r = 0; do :: r < K - 1 -> r++ :: break od;
		if :: data[w] & CHUNK(e, r) -> leaf_data(LEAF(w), w, e, r) :: else fi;
		e = 0; r = 0 }
	:: atomic { !over && round[w] < K && (result[w] & CHUNK(in_epoch[w], round[w])) ->
		round[w]++; worker_send(w) }
#if E > 1
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		if :: told[w] & BIT(e) -> worker_status(w, e) :: else fi;
		e = 0 }
#endif
	od
}

proctype Leaf(byte l)
{
	byte e, r;
end:
	do
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		r = 0; do :: r < K - 1 -> r++ :: break od;
		if
		:: partial[l] & CHUNK(e, r) -> root_data(l, e, r)
		:: total[l] & CHUNK(e, r) -> leaf_total(l, e, r)
		:: else
		fi;
		e = 0; r = 0 }
#if E > 1
	:: atomic { !over ->
		e = 1; do :: e < E -> e++ :: break od;
		if :: told_leaf[l] & BIT(e) -> leaf_status(l, e) :: else fi;
		e = 0 }
	:: atomic { !over && l == 0 && root.epoch < E -> root.epoch++ }
#endif
	od
}

init {
	byte w;

	atomic {
		root.epoch = 1;
		do
		:: w < LEAVES -> leaves[w].epoch = 1; run Leaf(w); w++
		:: else -> w = 0; break
		od;
		do
		:: w < N -> in_epoch[w] = 1; worker_send(w); run Worker(w); w++
		:: else -> w = 0; break
		od;
		run Fair()
	}
}
