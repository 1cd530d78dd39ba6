#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# perf-sizes.sh BUILD_DIR - every size that has an edge, right and with the same hash whatever carries it.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-perf tally-switch
perf=$build/tally-perf

# right NAME COMMAND...: tally-perf, all of whose rows have 0 wrong.
right()
{
	spawn "$@"
	ends "$1" 0
	printed "$1.out" '^# Out of bounds values : 0 OK$'
	awk '$3 ~ /^(float|int32)$/ { rows++; if ($9 != 0 || $13 != 0) bad++ }
		END { exit bad || rows < 1 }' "$dir/$1.out" || fail "$1: rows with wrong values, or none"
}

# counts_around N...: each with its neighbours.
counts_around()
{
	local n all=

	for n; do
		all+=",$((n - 1)),$n,$((n + 1))"
	done
	echo "${all#,}"
}

rows()
{
	[ "$(grep -cE '^ +[0-9]+ +[0-9]+ +(float|int32) ' "$dir/$1.out")" -eq "$2" ] || fail "$1: not $2 rows"
}

case_small()
{
	right all "$perf" -t 4 -n 2 -d all -o all --counts 0,1,2,255,256,257
	rows all 48
	printed all.out '^# Limited by +: '
	right eight "$perf" -t 8 -n 2 -d all --counts 0,1,255,256,257
	right one "$perf" -t 1 -n 2 -d all -o all --counts 0,1,255,256,257,100000
}

case_powers-of-two()
{
	right all "$perf" -t 4 -n 1 -w 0 -d float32,int32 -o all \
		--counts "$(counts_around 1 4 8 16 32 64 128 512 1024 2048 4096 8192 16384 32768)"
	rows all 336
}

case_powers-of-two-large()
{
	right all "$perf" -t 4 -n 1 -w 0 -d float32,int32 \
		--counts "$(counts_around 65536 131072 262144 524288 1048576 2097152)"
	rows all 36
}

case_largest()
{
	right sum "$perf" -t 4 -n 1 -w 0 -d float32,int32 --counts "$(counts_around 4194304)"
	right max "$perf" -t 4 -n 1 -w 0 -d float32 -o max --counts 4194303
}

# A chunk of 128 bytes holds 32 elements, a segment 16384.
case_around-chunk-and-window()
{
	local slots

	for slots in 1 2 3 5; do
		right "s$slots" env TALLY_CHUNK=128 TALLY_SLOTS="$slots" "$perf" -t 3 -n 2 -w 0 -d float32,int32 -o all \
			--counts "$(counts_around 32 64 $((32 * slots)) $((64 * slots)) 16384)"
	done
}

# Whatever carries the numbers, the results are the same bits.
case_same-hash()
{
	local args=(-n 1 -w 0 -d all -o all --counts '1,257,1000,16385,70001') chunk window hash

	right first "$perf" -t 4 "${args[@]}"
	hash=$(hash_of first.out)
	for chunk in 128 384 1408 8832; do
		for window in 1 3 7; do
			right "c$chunk" env TALLY_CHUNK="$chunk" TALLY_WINDOW="$window" TALLY_SLOTS=16 \
				"$perf" -t 4 "${args[@]}"
			same_hash "c$chunk.out" "$hash"
			printed "c$chunk.out" " chunks of $chunk B, 16 slots"
		done
	done
	right scalar env TALLY_KERNELS=scalar "$perf" -t 4 "${args[@]}"
	same_hash scalar.out "$hash"
	switch_start switch -i "1@udp:$address"
	workers w job 4 "$perf" "${args[@]}"
	all_end w 4 0
	same_hash w0.out "$hash"
	switch_stop switch
}

case_same-hash-with-faults()
{
	local args=(-n 1 -w 0 -d all -o all --counts '1,257,1000,16385,70001') hash

	right first "$perf" -t 4 "${args[@]}"
	hash=$(hash_of first.out)
	switch_start switch -i "1@udp:$address" --loss 2% --dup 2% --reorder 2% --add scalar
	workers w lossy 4 env TALLY_CHUNK=384 TALLY_WINDOW=7 "$perf" "${args[@]}"
	all_end w 4 0
	same_hash w0.out "$hash"
	printed w0.out '^# Retransmissions +: [1-9]'
	switch_stop switch
	printed switch.out ' [1-9][0-9]* +impaired '
}

# More tensors than operations that may be outstanding, of all types and operations; loss and computing change no result.
case_steps()
{
	local list=$dir/list.csv

	awk 'BEGIN { print "name,numel"; for (i = 0; i < 100; i++) print "t" i "," 1 + i * 37 % 1400 }' >"$list"
	spawn first "$perf" -t 3 --trace "$list" -d all -o all -n 2
	ends first 0
	printed first.out '^# Out of bounds values : 0 OK$'
	printed first.out '^ +[0-9]+ +[0-9]+ +half +max +-1( +[0-9.]+){3} +0( +N/A){4}$'
	[ "$(grep -c '^ ' "$dir/first.out")" -eq 16 ] || fail "not a row for each type and operation"
	switch_start switch -i "1@udp:$address" --loss 2% --dup 2% --reorder 2%
	workers w steps 3 "$perf" --trace "$list" -d all -o all -n 2 --compute 1ms..3ms \
		--stragglers factor=3,ranks=1,probability=20%
	all_end w 3 0
	same_hash w0.out "$(hash_of first.out)"
	printed w0.out '^# of that computing +: +[0-9.]+ +[0-9.]+ +[0-9.]+ us$'
	printed w0.out '^# Retransmissions +: [1-9]'
	switch_stop switch
	spawn json "$perf" -t 2 --trace "$list" -n 2 --compute 1ms -J "$dir/steps.json"
	ends json 0
	python3 - "$dir/steps.json" <<-'END' || fail "the JSON file is not right"
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["computing_us"] == {"least": 1000, "mean": 1000, "most": 1000}
		assert d["iteration_us"]["least"] >= 1000 and d["waiting_us"]["most"] > 0
		assert len(d["rows"]) == 1
	END
}

case_other-seed()
{
	right one "$perf" -t 2 -n 1 --counts 1000
	right two "$perf" -t 2 -n 1 --counts 1000 --seed 2
	[ "$(hash_of one.out)" != "$(hash_of two.out)" ] || fail "another seed has the same hash"
}

# four COMMAND: the file of four hosts that run this.
four()
{
	cat >"$dir/four.yaml" <<-END
		hosts: [h1, h2, h3, h4]
		switches: {s1: {ip: 10.0.0.254}}
		links: [[h1, s1-p1], [h2, s1-p2], [h3, s1-p3], [h4, s1-p4]]
		jobs: [{name: sums, ranks: [h1, h2, h3, h4], run: "$1"}]
	END
}

no_fabric()
{
	if [ -x "$build/tally-fabric" ] && fabric_possible; then
		return 1
	fi
	fail "skip: this system allows no user namespaces, or tally-fabric is not built"
	return 0
}

# The same in a network of its own, with a DPDK switch and four processes.
case_fabric()
{
	local rest='-n 1 -w 0 -d all -o all --counts 0,1,255,256,257,4095,4096,4097,65535,65536,65537'

	no_fabric && return
	four "exec tally-perf $rest"
	# shellcheck disable=SC2086 # options
	right inside "$perf" -t 4 $rest
	right fabric "$build/tally-fabric" run "$dir/four.yaml"
	same_hash fabric.out "$(hash_of inside.out)"
	rows fabric 88
	printed fabric.out 'net_af_packet'
	printed fabric.out 'rx ([0-9]+) = sum of verdicts \1'
}

# Larger chunks than the links carry are refused by name, smaller and right ones are not.
case_fabric-chunks()
{
	no_fabric && return
	four 'exec tally-perf -n 2 --sizes 64K'
	spawn large env TALLY_CHUNK=1536 "$build/tally-fabric" run "$dir/four.yaml"
	ends large 1
	printed large.err 'TALLY_CHUNK=1536 does not fit the path to .*: the largest that fits is 1408'
	right small env TALLY_CHUNK=128 "$build/tally-fabric" run "$dir/four.yaml"
	printed small.out 'chunks of 128 B'
	right default "$build/tally-fabric" run "$dir/four.yaml"
	printed default.out 'chunks of 1408 B'
	right jumbo env TALLY_CHUNK=8832 "$build/tally-fabric" run "$dir/four.yaml" --mtu 9000
	printed jumbo.out 'chunks of 8832 B'
	same_hash jumbo.out "$(hash_of small.out)"
}

# The table goes into a file for programs as well.
case_json()
{
	right table "$perf" -t 2 -n 1 --counts 1,1000 -J "$dir/table.json"
	if command -v python3 >/dev/null; then
		python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$dir/table.json" ||
			fail "the file is no JSON"
	fi
}

run_cases 2 small powers-of-two powers-of-two-large largest around-chunk-and-window same-hash \
	same-hash-with-faults steps other-seed fabric fabric-chunks json
exit $not_ok
