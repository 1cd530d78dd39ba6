#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Searches all states of the models: those of the protocol must have no error, each mutant one.
#
# usage: tests/proof/check.sh
# Prints "ok NAME: ..." or "not ok NAME: ..." for each model, or one line "skip proof: reason".

set -uo pipefail

here=$(cd "${0%/*}" && pwd) || exit 1
for tool in spin gcc; do
	if ! command -v "$tool" >/dev/null; then
		echo "skip proof: $tool is missing (Debian package $tool)"
		exit 0
	fi
done
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-proof.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
failed=0

# search MODEL OPTIMISATION DEFINES...: leaves spin's verdict in $tmp/pan.log.
search()
{
	local model=$1 optimise=$2

	shift 2
	: >"$tmp/pan.log"
	(
		cd "$tmp" || exit 1
		rm -f pan*
		spin "$@" -a "$here/$model" >spin.log 2>&1 &&
			gcc "$optimise" -w -DSAFETY -DMEMLIM=2000 -o pan pan.c >>spin.log 2>&1 &&
			./pan -m1000000 >pan.log 2>>spin.log
	)
}

# verdict NAME EXPECTED_ERRORS: one line about the last search.
verdict()
{
	local errors states why word=ok

	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$tmp/pan.log")
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$tmp/pan.log")
	why=$(sed -n 's/^pan:1: assertion violated *\(.*\) (at depth.*/\1/p' "$tmp/pan.log" |
		cut -c 1-44)
	if grep -q 'max search depth too small\|out of memory\|Search not completed' "$tmp/pan.log" &&
		[ "$2" = 0 ]; then
		errors=incomplete
	fi
	if [ "$errors" != "$2" ]; then
		word="not ok" failed=$((failed + 1))
		[ -n "$errors" ] || sed 's/^/    | /' "$tmp/spin.log"
	fi
	printf '%-6s %-32s %9s states, %s\n' "$word" "$1:" "${states:-no}" \
		"$([ "$errors" = 1 ] && echo "found: $why" || echo "${errors:-no} errors")"
}

# holds NAME MODEL DEFINES...; breaks NAME MODEL DEFINES...
holds()
{
	search "$2" -O1 "${@:3}"
	verdict "$1" 0
}

breaks()
{
	search "$2" -O0 "${@:3}"
	verdict "mutant $1" 1
}

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

[ "$failed" -eq 0 ]
