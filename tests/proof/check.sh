#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Searches all states of the models: those of the protocol must have no error, each mutant one.
#
# usage: tests/proof/check.sh [EXPLORER [LIMIT]]...
# Prints "ok NAME: ..." or "not ok NAME: ..." for each model, and then for each explorer, behind what
# it says itself; or one line "skip proof: reason". As many models at a time as there are CPUs, or JOBS.

set -uo pipefail

here=$(cd "${0%/*}" && pwd) || exit 1
jobs=${JOBS:-$(nproc)}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-proof.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
failed=0
names=() expected=()

# search DIR MODEL OPTIMISATION DEFINES...: leaves spin's verdict in pan.log there.
search()
{
	local model=$2 optimise=$3

	cd "$1" || exit 1
	shift 3
	spin "$@" -a "$here/$model" >spin.log 2>&1 &&
		gcc "$optimise" -w -DSAFETY -DMEMLIM=2000 -o pan pan.c >>spin.log 2>&1 &&
		./pan -m1000000 >pan.log 2>>spin.log
}

# begin EXPECTED_ERRORS NAME MODEL OPTIMISATION DEFINES...
begin()
{
	local dir=$tmp/${#names[@]}

	expected+=("$1") names+=("$2")
	mkdir "$dir" && : >"$dir/pan.log"
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
		wait -n
	done
	search "$dir" "${@:3}" &
}

# verdict NUMBER: one line about that search.
verdict()
{
	local dir=$tmp/$1 want=${expected[$1]} errors states why word=ok

	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$dir/pan.log")
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$dir/pan.log")
	why=$(sed -n 's/^pan:1: assertion violated *\(.*\) (at depth.*/\1/p' "$dir/pan.log" |
		cut -c 1-44)
	if grep -q 'max search depth too small\|out of memory\|Search not completed' "$dir/pan.log" &&
		[ "$want" = 0 ]; then
		errors=incomplete
	fi
	if [ "$errors" != "$want" ]; then
		word="not ok" failed=$((failed + 1))
		[ -n "$errors" ] || sed 's/^/    | /' "$dir/spin.log"
	fi
	printf '%-6s %-32s %9s states, %s\n' "$word" "${names[$1]}:" "${states:-no}" \
		"$([ "$errors" = 1 ] && echo "found: $why" || echo "${errors:-no} errors")"
}

# holds NAME MODEL DEFINES...; breaks NAME MODEL DEFINES...
holds()
{
	begin 0 "$1" "$2" -O1 "${@:3}"
}

breaks()
{
	begin 1 "mutant $1" "$2" -O0 "${@:3}"
}

models()
{
	local mutant

	holds "slot, 3 workers" session.pml -DN=3 -DK=6
	holds "a worker restarts" session.pml -DN=2 -DK=3 -DRESTARTS=1
	holds "one of three restarts" session.pml -DN=3 -DK=1 -DRESTARTS=1
	holds "the switch ends epochs" session.pml -DN=2 -DK=2 -DBREAKS=2
	holds "breaks and restarts" session.pml -DN=2 -DK=2 -DBREAKS=1 -DRESTARTS=1
	holds "breaks, epochs jump" session.pml -DN=2 -DK=2 -DBREAKS=1 -DJUMP
	holds "the switch restarts" session.pml -DN=2 -DK=3 -DFORGETS=1
	holds "switch and worker restart" session.pml -DN=2 -DK=1 -DFORGETS=1 -DRESTARTS=1
	holds "tree, 2 x 2" tree.pml -DK=6 -DE=1
	holds "tree, epochs change" tree.pml -DK=2 -DE=2

	for mutant in ONE_CELL NO_STALE NO_DUPLICATE NO_REPEAT ANY_EPOCH SILENT ANY_INCARNATION \
		ENTER_AGAIN ANY_BASE LATE_JOIN NO_MEMBER INCARNATION_REUSED; do
		breaks "$mutant" session.pml -DN=2 -DK=3 -DRESTARTS=1 "-DMUT_$mutant"
	done
	breaks UNKNOWN_IGNORED session.pml -DN=2 -DK=3 -DFORGETS=1 -DMUT_UNKNOWN_IGNORED
	for mutant in TOTAL_AS_PARTIAL ANY_RESULT PARTIAL_ONCE; do
		breaks "$mutant" tree.pml -DK=3 -DE=1 "-DMUT_$mutant"
	done
	breaks OLD_EPOCH tree.pml -DK=1 -DE=3 -DMUT_OLD_EPOCH
}

missing=
for tool in spin gcc; do
	command -v "$tool" >/dev/null || missing=$tool
done
if [ -n "$missing" ]; then
	echo "skip proof: $missing is missing (Debian package $missing)"
else
	models
	wait
	for i in "${!names[@]}"; do
		verdict "$i"
	done
fi
while [ $# -gt 0 ]; do
	explorer=$1
	shift
	limit=()
	if [[ ${1-} =~ ^[0-9]+$ ]]; then
		limit=("$1")
		shift
	fi
	if "$explorer" "${limit[@]}"; then
		echo "ok     ${explorer##*/}"
	else
		echo "not ok ${explorer##*/}"
		failed=$((failed + 1))
	fi
done
[ "$failed" -eq 0 ]
