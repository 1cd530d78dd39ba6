#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The numbers: the vectors of docs/numerics.md, expected and seen, and every pair of ways to compute them, bit for bit.
#
# usage: tests/numerics/check.sh BUILD_DIR [all]
#   all: 20 million random comparisons a pair instead of 1, and the kernels for GPUs in their emulators
#
# Prints "ok NAME", "not ok NAME" or "skip NAME" for each case, and what was compared in the end: a line
# "pair LEFT = RIGHT: N comparisons" each, and a last line that sums all up.

set -uo pipefail

if [ $# -lt 1 ] || [ ! -d "$1" ]; then
	echo "usage: tests/numerics/check.sh BUILD_DIR [all]" >&2
	exit 2
fi
build=$1
all=${2-}
tests=$build/tests
millions=1 ptx_elements=100000
[ -z "$all" ] || millions=20
good=0 bad=0
summary=() pairs=()

# count FILE STATUS NAME: prints what a program printed and counts its cases; its last line goes to the summary.
count()
{
	local ok not last

	sed 's/^ok .*# SKIP/skip/' "$1" | tee "$1.said"
	ok=$(grep -c '^ok ' "$1.said")
	not=$(grep -c '^not ok ' "$1.said")
	last=$(tail -n 1 "$1.said" | grep -vE '^(not )?ok |^skip |^#')
	if [ "$ok" -eq 0 ] && [ "$not" -eq 0 ] && [ "$2" -eq 0 ] && ! grep -q '^skip ' "$1.said"; then
		echo "ok $3"
		ok=1
	elif [ "$2" -ne 0 ] && [ "$not" -eq 0 ]; then
		echo "not ok $3: exit status $2"
		not=1
	fi
	good=$((good + ok)) bad=$((bad + not))
	mapfile -t -O "${#pairs[@]}" pairs < <(grep -E '^pair |^(not )?ok .* mutants: ' "$1.said")
	case $last in
	"" | pair\ *) ;;
	*) summary+=("$last") ;;
	esac
}

# enough: every pair has as many comparisons as it should have; a pair of PTX, for each kernel.
enough()
{
	local pair nr kernels wanted

	for pair in "${pairs[@]}"; do
		[[ $pair =~ ^pair\ .*:\ ([0-9]+)\ comparisons(, ([0-9]+) kernels)? ]] || continue
		nr=${BASH_REMATCH[1]} kernels=${BASH_REMATCH[3]:-0} wanted=$((millions * 1000000))
		[[ $pair != "pair PTX "* ]] || wanted=$((ptx_elements * kernels))
		if [ "$nr" -lt "$wanted" ]; then
			echo "not ok ${pair%% comparisons*} comparisons, not $wanted"
			bad=$((bad + 1))
		fi
	done
}

# part NAME COMMAND...
part()
{
	local name=$1 status=0

	shift
	"$@" >"$out" 2>&1 || status=$?
	count "$out" "$status" "$name"
}

out=$(mktemp "${TMPDIR:-/tmp}/tally-numerics.XXXXXX") || exit 1
trap 'rm -f "$out" "$out.said"' EXIT

if command -v python3 >/dev/null; then
	part "the table is what exact fractions give" tests/numerics/vectors.py
else
	echo "skip the table is what exact fractions give: python3 is missing (Debian package python3)"
fi
part "vectors" "$tests/numerics/check_vectors"
part "tables of kernels are equal" "$tests/numerics/check_equal" "$millions"
if [ -n "$all" ]; then
	# Each of these compares its own way with the scalar table.
	if [ -x "$tests/cuda/emulate" ]; then
		part "kernels for GPUs, their source emulated" "$tests/cuda/emulate" 1
	else
		echo "skip kernels for GPUs, their source emulated: tests/cuda/emulate is not built (C++ compiler)"
	fi
	if [ -x tests/cuda/ptx.sh ]; then
		part "kernels for GPUs, their PTX interpreted" tests/cuda/ptx.sh "$build" "$ptx_elements" 150
	else
		echo "skip kernels for GPUs, their PTX interpreted: there is no tests/cuda/ptx.sh"
	fi
	if [ -x "$tests/unit/gpu_allreduce_test" ]; then
		part "tensors of a GPU, through a driver that is faked" env CMOCKA_MESSAGE_OUTPUT=TAP \
			"$tests/unit/gpu_allreduce_test" "$millions"
	else
		echo "skip tensors of a GPU, through a driver that is faked: gpu_allreduce_test is not built"
	fi
fi
enough
printf -v text '%s; ' "${summary[@]}"
if [ -n "$all" ]; then
	echo
	printf '%s\n' "${summary[@]}" "${pairs[@]}"
	echo "$good passed, $bad failed"
else
	echo "${text%; }"
fi
[ "$bad" -eq 0 ] && [ "$good" -gt 0 ]
