#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Trees of switches: the same results as one switch with all hosts, with and without loss.
# For one user.
# usage: tests/e2e/tree.sh BUILD_DIR
set -u

build=$1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-tree.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

ok() { echo "ok $1"; }
not_ok()
{
	echo "not ok $1: $2"
	failed=1
}

for program in tally-fabric tally-switch tally-perf; do
	if [ ! -x "$build/$program" ]; then
		echo "skip tree: $program is not built"
		exit 0
	fi
done

# fabric FILE [OPTION...]: its output is in $tmp/out.
fabric() { timeout 120 "$build/tally-fabric" run "$@" >"$tmp/out" 2>&1; }

fabric topologies/one-switch-2.yaml --timeout 60
if [ $? -eq 125 ]; then
	echo "skip tree: $(head -n 1 "$tmp/out")"
	exit 0
fi

said() { grep -E 'error|exited|killed|waiting|IS NOT' "$tmp/out" | head -n 3 | tr '\n' ' '; }
hash() { sed -n 's/^# Result hash : //p' "$tmp/out"; }

# sums NAME WANT FILE [OPTION...]: exact, and the hash is WANT unless that is empty.
sums()
{
	local name=$1 want=$2

	shift 2
	if ! fabric "$@" --timeout 100; then
		not_ok "$name" "$(said)"
	elif ! grep -q '^# Out of bounds values : 0 OK' "$tmp/out"; then
		not_ok "$name" "$(grep 'Out of bounds' "$tmp/out")"
	elif [ -n "$want" ] && [ "$(hash)" != "$want" ]; then
		not_ok "$name" "result hash $(hash), not $want as with one switch"
	elif grep -q 'IS NOT THE' "$tmp/out"; then
		not_ok "$name" "$(said)"
	else
		ok "$name"
	fi
}

# Each tree beside its hosts and its job at one switch.
for pair in 'one-switch-8 three-level-2x2x2' 'one-switch-32 two-level-4x8' 'one-switch-4 two-level-2x2'; do
	tree=${pair#* }
	sums "tree-flat-$tree" '' "topologies/${pair% *}.yaml"
	want=$(hash)
	sums "tree-$tree" "$want" "topologies/$tree.yaml"
	sums "tree-loss-$tree" "$want" "topologies/$tree.yaml" --loss 1%
done
sums tree-faults "$want" topologies/two-level-2x2.yaml --loss 1% --dup 1% --reorder 1% --seed 11
sums tree-udp "$want" topologies/two-level-2x2.yaml --driver udp

# Links and their ends are written the other way round, and some switches have one member.
cat >"$tmp/three.yaml" <<'YAML'
hosts: [h1, h2, h3, h4]
switches: {s0: , m1: {parent: s0}, m2: , s1: {parent: m1}, s2: {parent: m1}, s3: {parent: m2}}
links:
  - [h1, s1-p1]
  - [h2, s1-p2]
  - [h3, s2-p1]
  - [h4, s3-p1]
  - [m1-p1, s1-p9]
  - [m1-p2, s2-p9]
  - [m2-p1, s3-p9]
  - [m1-p9, s0-p1]
  - [m2-p9, s0-p2]
jobs:
  - name: sums
    ranks: [h1, h2, h3, h4]
    workload: {sizes: [4K, 64K, 1M], dtype: float32, op: sum, iterations: 5, check: 1}
YAML
sums tree-uneven "$want" "$tmp/three.yaml" --loss 1%

# What is wrong is said by name.
sed 's/ranks: \[h1, h2, h3, h4\]/ranks: [h1, h3, h2, h4]/' topologies/two-level-2x2.yaml >"$tmp/order.yaml"
fabric "$tmp/order.yaml"
if [ $? -eq 2 ] && grep -q 'order.yaml:.*rank 2 (h2) apart from rank 0; this order works: \[h1, h2, h3, h4\]' "$tmp/out"; then
	ok tree-order-refused
else
	not_ok tree-order-refused "$(head -n 3 "$tmp/out" | tr '\n' ' ')"
fi

# job COMMAND [ENV]: the 2x2 tree in $tmp/job.yaml with another job, and switches that are started again.
job()
{
	sed -e '/^jobs:/,$d' -e '/^  s[0-9]:/s/}/, restart: always}/' topologies/two-level-2x2.yaml
	printf 'jobs:\n  - name: job\n    ranks: [h1, h2, h3, h4]\n    env: {%s}\n    run: |\n' "${2-}"
	printf '%s\n' "$1" | sed 's/^/      /'
}

# named NAME RANKS TEXT: the ranks that are there name those that are not.
named()
{
	job "case \$TALLY_RANK in $2) exec tally-perf -b 4K -e 4K -n 1;; esac" \
		'TALLY_JOIN_TIMEOUT: 1' >"$tmp/job.yaml"
	fabric "$tmp/job.yaml"
	if grep -qF -- "$3" "$tmp/out"; then
		ok "$1"
	else
		not_ok "$1" "$(said)"
	fi
}
named tree-absent-leaf '0|1' 'ranks 2-3 of 4 (behind another switch) did not join within 1.0 s'
named tree-absent-rank '0|1|2' 'rank 3 of 4 did not join within 1.0 s'

exit $failed
