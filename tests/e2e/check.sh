#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check.sh BUILD_DIR - TALLY_CHECK: sums are right where packets are corrupted and no other checksum tells.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tally-perf tests/e2e/rank
rank=$build/tests/e2e/rank
export TALLY_JOIN_TIMEOUT=$((patience / 2))

switch()
{
	switch_start switch -i "1@udp:$address" "$@"
}

# counted NAME: the switch's totals have this at least once.
counted()
{
	printed switch.totals "^counter\.$1 [1-9]"
}

# perf NAME RANKS OPTION...: all ranks right; the hash is in $hash.
perf()
{
	local name=$1 size=$2

	shift 2
	workers "$name" "$name" "$size" "$build/tally-perf" -d all -o all --counts 1,1000,70001 -n 2 -w 0 "$@"
	all_end "$name" "$size" 0
	printed "${name}0.out" '^# Out of bounds values : 0 OK'
	hash=$(hash_of "${name}0.out")
}

# The same bits with and without, whatever the chunks.
case_same-hash()
{
	local want chunk

	switch
	perf without 3
	want=$hash
	for chunk in 128 1408 8832; do
		TALLY_CHECK=1 TALLY_CHUNK=$chunk perf "with$chunk" 3
		same_hash "with${chunk}0.out" "$want"
	done
	switch_stop switch
}

case_inproc()
{
	local check

	for check in 0 1; do
		spawn "threads$check" env TALLY_CHECK=$check "$build/tally-perf" -t 4 -d all -o all -b 4 -e 256K -f 16 -n 2
		ends "threads$check" 0
		printed "threads$check.out" '^# Out of bounds values : 0 OK'
	done
	same_hash threads1.out "$(hash_of threads0.out)"
}

# One packet in fifty has a byte changed, at the switch's socket, where no checksum is looked at any more.
case_corruption()
{
	switch --impair 1:corrupt=2% --seed 5
	export TALLY_CHECK=1
	workers w job 4 "$rank" times:40:20000 sum:300000
	all_end w 4 0
	workers p job2 4 "$build/tally-perf" -d all -o all --counts 1,1000,70001 -n 2 -w 0
	all_end p 4 0
	printed p0.out '^# Out of bounds values : 0 OK'
	switch_stop switch
	counted bad_crc
}

case_corruption-without()
{
	local i wrong=0

	switch --impair 1:corrupt=2% --seed 5
	workers w job 2 env TALLY_TIMEOUT=5 "$rank" times:40:20000
	for i in 0 1; do
		until_true gone "w$i" || kill -9 "${pids[w$i]}"
		wait "${pids[w$i]}" || wrong=1
		unset "pids[w$i]"
	done
	[ "$wrong" -eq 1 ] || fail "the corruption of packets makes no difference"
	switch_stop switch
}

case_ranks-differ()
{
	switch
	worker w0 job 0 2 env TALLY_CHECK=1 "$rank" sum:1
	worker w1 job 1 2 env TALLY_CHECK=0 "$rank" sum:1
	ends w0 1
	ends w1 1
	printed w0.err 'ranks disagree on job job: check \(TALLY_CHECK\) is [01] for rank [01] and [01] for rank [01]'
	printed w1.err 'ranks disagree on job job: check \(TALLY_CHECK\) is [01] for rank [01] and [01] for rank [01]'
	switch_stop switch
}

case_bad-value()
{
	spawn w env TALLY_CHECK=2 "$rank" sum:1
	ends w 1
	printed w.err 'TALLY_CHECK=2 \(environment\): want 0 or 1'
}

# 1458 bytes hold 1408 of payload, and no checksum behind them.
case_mtu()
{
	local check want

	fabric_possible || {
		fail "skip: this system allows no user namespaces (unshare -Urn)"
		return
	}
	cat >"$dir/mtu" <<-END
		ip link set lo mtu 1458 up || exit 99
		'$build/tally-switch' -i 1@udp:127.0.0.1 --ready-fd 3 3>'$dir/ready' &
		until [ -s '$dir/ready' ]; do sleep 0.02; done
		TALLY_SWITCH=127.0.0.1 TALLY_SIZE=1 TALLY_DEBUG=INFO '$rank' sum:5000
		status=\$?
		kill %1
		exit \$status
	END
	for check in 0 1; do
		want=1408
		[ $check = 0 ] || want=1280
		spawn "mtu$check" env TALLY_CHECK=$check PATH="$PATH:/sbin:/usr/sbin" unshare -Urn bash "$dir/mtu"
		ends "mtu$check" 0
		printed "mtu$check.err" "chunk $want, check $check,"
		rm -f "$dir/ready"
	done
	spawn fixed env TALLY_CHECK=1 TALLY_CHUNK=1408 PATH="$PATH:/sbin:/usr/sbin" unshare -Urn bash "$dir/mtu"
	ends fixed 1
	printed fixed.err 'TALLY_CHUNK=1408 does not fit the path .* the largest that fits is 1280'
}

# A leaf makes new seals, both ways.
tree()
{
	spawn "$1" "$build/tally-fabric" run "$dir/$1.yaml" --timeout "$patience"
	ends "$1" 0
	printed "$1.out" '^# Out of bounds values : 0 OK'
	same_hash "$1.out" "$2"
}
case_tree()
{
	local want

	fabric_possible || {
		fail "skip: this system allows no user namespaces (unshare -Urn)"
		return
	}
	[ -x "$build/tally-fabric" ] || {
		fail "skip: tally-fabric is not built"
		return
	}
	sed '/name: sums/a\    env: {TALLY_CHECK: 1}' topologies/two-level-2x2.yaml >"$dir/tree.yaml"
	sed -E 's/(\[s[12]-p9, s0-p[12]|\[h[14], s[12]-p[12])\]/\1, {corrupt-checked: 1%}]/' \
		"$dir/tree.yaml" >"$dir/bad.yaml"
	spawn plain "$build/tally-fabric" run topologies/two-level-2x2.yaml --timeout "$patience"
	ends plain 0
	want=$(hash_of plain.out)
	tree tree "$want"
	tree bad "$want"
	printed bad.out '[1-9][0-9]* +bad_crc '
}

run_cases 2 same-hash inproc corruption corruption-without ranks-differ bad-value mtu tree
exit "$not_ok"
