#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mismatch.sh BUILD_DIR - ranks that disagree, and variables that make no sense: refused by name on every rank.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tally-perf tests/e2e/rank
perf=("$build/tally-perf" -n 3 -w 0)
export TALLY_JOIN_TIMEOUT=$((patience / 2)) TALLY_TIMEOUT=$((patience / 2))

switch()
{
	switch_start switch -i "1@udp:$address"
}

no_rows()
{
	local i

	for i; do
		! grep -qE '^ +[0-9]' "$dir/$i.out" || fail "$i has rows in its table"
	done
}

# disagree PATTERN OPTION...: three ranks, of which the last has these options on top. All say the same.
disagree()
{
	local i

	switch
	worker w0 job 0 3 "${perf[@]}" --sizes 64K -d float32 -o sum
	worker w1 job 1 3 "${perf[@]}" --sizes 64K -d float32 -o sum
	worker w2 job 2 3 "${perf[@]}" --sizes 64K -d float32 -o sum "${@:2}"
	for i in 0 1 2; do
		ends "w$i" 1
		printed "w$i.err" "$1"
		printed "w$i.err" "rank $i: "
	done
	no_rows w0 w1 w2
	workers next job 3 "${perf[@]}" --sizes 64K
	all_end next 3 0
	switch_stop switch
	printed switch.out ' [1-9][0-9]* +mismatch '
}

# either FIELD VALUE VALUE: the pattern of a sentence that may begin with any of the two that differ.
either()
{
	local other='rank [01]'

	echo "ranks disagree on all-reduce [0-9]+: the $1 is" \
		"($2 on $other and $3 on rank 2|$3 on rank 2 and $2 on $other)"
}

case_count()
{
	disagree "$(either count 16384 16385)" --counts 16385
}

case_dtype()
{
	disagree "$(either dtype float32 int32)" -d int32
}

case_op()
{
	disagree "$(either op sum max)" -o max
}

case_op-average()
{
	disagree "$(either op sum avg)" -o avg
}

# One rank waits in a barrier, the others add up.
case_collective()
{
	local i

	switch
	worker w0 job 0 3 "$rank" sum:100 sum:100
	worker w1 job 1 3 "$rank" sum:100 sum:100
	worker w2 job 2 3 "$rank" sum:100 barrier
	for i in 0 1 2; do
		ends "w$i" 1
		printed "w$i.err" 'ranks disagree on (it|operation 1|the job): the collective is (barrier on rank 2 and all-reduce|all-reduce on rank [01] and barrier on rank 2)'
	done
	switch_stop switch
}

# The second operation differs in its length, when the first is done on some rank.
case_second-operation()
{
	local i

	switch
	worker w0 job 0 2 "$rank" sum:1000 sum:70000
	worker w1 job 1 2 "$rank" sum:1000 sum:140000
	for i in 0 1; do
		ends "w$i" 1
		printed "w$i.err" 'ranks disagree on all-reduce 1: the count is (70000 on rank 0 and 140000 on rank 1|140000 on rank 1 and 70000 on rank 0)'
	done
	switch_stop switch
}

# Refused while the job forms: to everybody, after the seconds in which a quick rerun might resolve it.
case_world-size()
{
	switch
	worker w0 job 0 2 "$rank" sum:10
	worker w1 job 1 3 "$rank" sum:10
	ends w0 1
	ends w1 1
	for i in 0 1; do
		printed "w$i.err" 'ranks disagree on (the job|.*).*: size \(TALLY_SIZE\) is (2 for rank 0 and 3 for rank 1|3 for rank 1 and 2 for rank 0)'
		! grep -q right "$dir/w$i.out" || fail "rank $i has a sum"
	done
	switch_stop switch
}

# Two that agree: the one that does not is refused, and they wait for the right one.
case_world-size-of-one()
{
	local i

	switch
	worker w0 job 0 3 "$rank" sum:10
	worker w1 job 1 3 "$rank" sum:10
	worker wrong job 2 4 "$rank" sum:10
	ends wrong 1
	printed wrong.err 'size \(TALLY_SIZE\) is 3 for rank [01] and 4 for rank 2'
	worker w2 job 2 3 "$rank" sum:10
	all_end w 3 0
	workers two again 2 env TALLY_JOIN_TIMEOUT=8 TALLY_SIZE=3 "$rank" sum:10
	worker wrong again 2 4 "$rank" sum:10
	for i in wrong two0 two1; do
		ends $i 1
		printed $i.err 'size \(TALLY_SIZE\) is 3 for rank [01] and 4 for rank 2'
	done
	switch_stop switch
}

case_chunk-size()
{
	local i

	switch
	worker w0 job 0 2 env TALLY_CHUNK=512 "${perf[@]}" --sizes 64K
	worker w1 job 1 2 env TALLY_CHUNK=1024 "${perf[@]}" --sizes 64K
	for i in 0 1; do
		ends "w$i" 1
		printed "w$i.err" 'chunk \(TALLY_CHUNK\) is (512 for rank 0 and 1024 for rank 1|1024 for rank 1 and 512 for rank 0)'
	done
	no_rows w0 w1
	switch_stop switch
}

case_slots()
{
	switch
	worker w0 job 0 2 env TALLY_SLOTS=5 "${perf[@]}" --sizes 64K
	worker w1 job 1 2 env TALLY_SLOTS=100 TALLY_WINDOW=50 TALLY_DEBUG=INFO "${perf[@]}" --sizes 64K
	ends w0 0
	ends w1 0
	printed w1.err '5 slots instead of the 100 asked for'
	printed w1.err 'window 50 is reduced to the 5 slots'
	switch_stop switch
}

# The job that runs is not disturbed.
case_duplicate-rank()
{
	switch
	workers w job 2 "$rank" "until:$dir/done:1000"
	says w0 joined
	says w1 joined
	worker again job 1 2 "$rank" sum:10
	ends again 1
	printed again.err 'ranks disagree.*rank 1 of job job is taken by another process, at .*TALLY_RANK'
	touch "$dir/done"
	all_end w 2 0
	switch_stop switch
}

# Nor is one whose ranks compute: for all 5 s that the other asks they say nothing.
case_duplicate-rank-silent()
{
	switch
	workers w job 2 "$rank" sum:10 "wait:$dir/done" sum:1000
	says w0 'sum:10 right'
	says w1 'sum:10 right'
	worker again job 1 2 "$rank" sum:10
	ends again 1
	printed again.err 'rank 1 of job job is taken by another process, at [0-9.:]*, last heard [5-9]\.[0-9] s ago'
	touch "$dir/done"
	all_end w 2 0
	switch_stop switch
}

# Two processes claim a rank while the job forms.
case_duplicate-rank-forming()
{
	switch
	worker w0 job 0 3 env TALLY_JOIN_TIMEOUT=8 "$rank" sum:10
	worker w1 job 0 3 env TALLY_JOIN_TIMEOUT=8 "$rank" sum:10
	ends w0 1
	ends w1 1
	cat "$dir/w0.err" "$dir/w1.err" >"$dir/both.err"
	printed both.err 'rank 0 of job job is taken by another process'
	end_all
}

case_no-slots()
{
	switch_start switch -i "1@udp:$address" --slots 100
	worker w0 job 0 1 env TALLY_SLOTS=60 "$rank" sum:10 hold
	says w0 holding
	worker w1 other 0 1 "$rank" sum:10
	ends w1 1
	printed w1.err 'no slots free.*other jobs hold them'
	signal 9 w0
	ends w0 137
	switch_stop switch
}

case_unknown-variable()
{
	spawn w env TALLY_RNAK=1 TALLY_SIZE=1 TALLY_RANK=0 "$build/tally-perf" -t 2 --sizes 4 -n 1
	ends w 0
	printed w.err 'TALLY WARN unknown variable TALLY_RNAK is ignored: did you mean TALLY_RANK\?'
}

# variable NAME=VALUE... PATTERN: refused in one sentence, which is about this.
variable()
{
	local pattern=${!#}

	spawn w env "${@:1:$#-1}" "$rank" sum:1
	ends w 1
	printed w.err "invalid argument.*$pattern" || fail "$1: $(cat "$dir/w.err")"
	[ "$(wc -l <"$dir/w.err")" -eq 1 ] || fail "$1: more than one line"
	[ ! -s "$dir/w.out" ] || fail "$1: goes on"
}

case_variables()
{
	local chunk

	variable TALLY_RANK=two TALLY_SIZE=2 'TALLY_RANK=two \(environment\): want a whole number'
	variable TALLY_RANK=-1 TALLY_SIZE=2 'TALLY_RANK=-1 '
	variable TALLY_RANK=2 TALLY_SIZE=2 'TALLY_RANK=2 .*is not below TALLY_SIZE=2 '
	variable TALLY_RANK=3 'TALLY_RANK=3 \(environment\) without a size: set TALLY_SIZE'
	variable TALLY_SIZE=2 'TALLY_SIZE=2 \(environment\) without a rank: set TALLY_RANK, from 0 to one less'
	variable TALLY_RANK=0 TALLY_SIZE=0 'TALLY_SIZE=0 '
	variable TALLY_RANK=0 TALLY_SIZE=65 'TALLY_SIZE=65 '
	for chunk in 127 129 100 8960 64 1x; do
		variable "TALLY_CHUNK=$chunk" "TALLY_CHUNK=$chunk .*multiple of 128 from 128 to 8832"
	done
	variable TALLY_SLOTS=16001 'TALLY_SLOTS=16001 .*to 16000'
	variable TALLY_WINDOW=many 'TALLY_WINDOW=many '
	variable TALLY_TIMEOUT=-1 'TALLY_TIMEOUT=-1 '
	variable TALLY_DEBUG=loud 'TALLY_DEBUG=loud .*NONE\|WARN\|INFO\|TRACE'
	variable TALLY_KERNELS=mmx 'TALLY_KERNELS=mmx .*scalar'
	variable TALLY_TRANSPORT=pigeon 'TALLY_TRANSPORT=pigeon .*udp\|inproc'
	variable TALLY_TRANSPORT=udp "TALLY_TRANSPORT=udp .*needs the switch's address"
	variable TALLY_SWITCH=nowhere.example 'TALLY_SWITCH=nowhere.example .*host names are not resolved'
	variable TALLY_SWITCH=10.0.0.300 'TALLY_SWITCH=10.0.0.300 '
	variable TALLY_SWITCH=10.0.0.1:99999 'TALLY_SWITCH=10.0.0.1:99999 '
	variable TALLY_JOB="$(printf %065d 0)" 'TALLY_JOB=0+ .*1 to 64 bytes'
	variable TALLY_CONF="$dir/none.conf" "$dir/none.conf"
}

# Long before joining fails: each process has a switch of its own.
case_no-switch()
{
	spawn w env TALLY_SIZE=2 TALLY_RANK=0 TALLY_JOIN_TIMEOUT=4 "$rank" barrier
	ends w 1
	printed w.err 'WARN rank 0: still waiting for other ranks of job .* no TALLY_SWITCH is set'
}

case_configuration-file()
{
	printf 'TALLY_SLOTS=9\n# a remark\n\nTALLY_CHUNK=256\n' >"$dir/good.conf"
	spawn w env TALLY_CONF="$dir/good.conf" TALLY_CHUNK=512 "$build/tally-perf" -t 2 --sizes 64K -n 1
	ends w 0
	printed w.out ' chunks of 512 B, 9 slots'
	printf 'TALLY_SLOTS=9\nTALLY_CHUNK=255\n' >"$dir/bad.conf"
	variable TALLY_CONF="$dir/bad.conf" "TALLY_CHUNK=255 \\($dir/bad.conf:2\\)"
	printf 'TALLY_SLOTS\n' >"$dir/bad.conf"
	variable TALLY_CONF="$dir/bad.conf" "$dir/bad.conf:1"
}

rank=$build/tests/e2e/rank
run_cases 5 world-size world-size-of-one duplicate-rank duplicate-rank-silent duplicate-rank-forming no-slots count dtype op op-average collective \
	second-operation chunk-size slots unknown-variable variables configuration-file no-switch
exit $not_ok
