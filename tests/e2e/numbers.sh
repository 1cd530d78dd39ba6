#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# numbers.sh BUILD_DIR - dtypes and wires end to end: sums over a switch, training as int16, a rank with an Inf.
# For one user.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tally-perf train
digits=$top/host/examples/data/digits.csv
export TALLY_JOIN_TIMEOUT=$((patience / 2))

accuracy()
{
	sed -nE 's/^test accuracy ([0-9.]+)$/\1/p' "$dir/$1.out"
}

# least FILE VALUE: its accuracy is not less.
least()
{
	awk -v a="$(accuracy "$1")" -v least="$2" 'BEGIN { exit !(a >= least) }' ||
		fail "$1: accuracy $(accuracy "$1"), less than $2"
}

# Every type and operation, either wire, over a switch that loses packets; with TALLY_CHECK CLOSE is right, too.
case_types()
{
	local wire check

	for wire in int32 int16; do
		for check in 0 1; do
			switch_start switch -i "1@udp:$address" --impair 1:loss=1% --seed 3
			workers "w$wire$check" "$wire$check" 3 env TALLY_CHECK=$check TALLY_WIRE=$wire \
				"$build/tally-perf" -d all -o all --counts 1,1000,40001 -n 2 -w 0
			all_end "w$wire$check" 3 0
			printed "w$wire${check}0.out" '^# Out of bounds values : 0 OK'
			switch_stop switch
		done
		same_hash "w${wire}10.out" "$(hash_of "w${wire}00.out")"
	done
	[ "$(hash_of wint3200.out)" != "$(hash_of wint1600.out)" ] || fail "int16 has the bits of int32"
}

case_wires-differ()
{
	switch_start switch -i "1@udp:$address"
	worker w0 job 0 2 env TALLY_WIRE=int32 "$build/tally-perf" --counts 5 -n 1
	worker w1 job 1 2 env TALLY_WIRE=int16 "$build/tally-perf" --counts 5 -n 1
	ends w0 1
	ends w1 1
	printed w0.err 'the wire \(TALLY_WIRE\) is int(32 on rank 0 and int16 on rank 1|16 on rank 1 and int32 on rank 0)'
	switch_stop switch
}

# As a topology file says it; without `wire` TALLY_WIRE counts.
case_workload()
{
	local name

	fabric_possible || {
		fail "skip: this system allows no user namespaces (unshare -Urn)"
		return
	}
	[ -x "$build/tally-fabric" ] || {
		fail "skip: tally-fabric is not built"
		return
	}
	for name in key variable default; do
		cat >"$dir/$name.yaml" <<-END
			hosts: [h1, h2]
			switches: [s1]
			links: [[h1, s1-p1], [h2, s1-p2]]
			jobs:
			  - name: job
			    ranks: [h1, h2]
			    workload: {sizes: [1000, 64K], dtype: [bfloat16, half], op: all, iterations: 2}
		END
	done
	sed -i 's/op: all/&, wire: int16/' "$dir/key.yaml"
	echo '    env: {TALLY_WIRE: int16}' >>"$dir/variable.yaml"
	for name in key variable default; do
		spawn $name "$build/tally-fabric" run "$dir/$name.yaml" --timeout "$patience"
		ends $name 0
		printed $name.out '^# Out of bounds values : 0 OK'
		printed $name.out ' bfloat16 +min '
		printed $name.out ' half +avg '
	done
	same_hash variable.out "$(hash_of key.out)"
	[ "$(hash_of key.out)" != "$(hash_of default.out)" ] || fail "int16 has the bits of int32"
}

# Half the bytes, and as good: within half a point.
case_training()
{
	local wire a b

	for wire in int32 int16; do
		spawn $wire "$build/train" --ranks 4 --inproc --epochs 8 --wire $wire --data "$digits"
	done
	for wire in int32 int16; do
		ends $wire 0
		printed $wire.out '^weights hash .* \(all 4 ranks equal\)$'
	done
	a=$(accuracy int32) b=$(accuracy int16)
	awk -v a="$a" -v b="$b" 'BEGIN { exit !(a - b <= 0.005 && b - a <= 0.005 && b > 0.9) }' ||
		fail "accuracy $b as int16, $a as int32"
}

# A rank's Inf is everybody's NaN, with that rank's name: the step is worth nothing, the next one is.
case_inf()
{
	spawn inf "$build/train" --ranks 4 --inproc --epochs 5 --inject-inf 2:20 --wire int16 --data "$digits"
	ends inf 0
	printed inf.out '^step 20: Inf or NaN in the gradients of rank 2: all ranks skip it$'
	printed inf.out '^1 step skipped, by all ranks$'
	printed inf.out '^weights hash .* \(all 4 ranks equal\)$'
	least inf 0.93
}

case_inf-nowhere()
{
	spawn inf "$build/train" --ranks 2 --inproc --epochs 1 --inject-inf 2:20 --data "$digits"
	ends inf 1
	printed inf.err '^train: --inject-inf 2:20: there are ranks 0 to 1 and steps 0 to 11$'
}

run_cases 2 types wires-differ workload training inf inf-nowhere
exit "$not_ok"
