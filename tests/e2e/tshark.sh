#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tshark.sh BUILD_DIR - the Wireshark dissector reads captures of the switch, the golden messages, and noise.
# For one user.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

for program in tshark mergecap capinfos python3; do
	command -v $program >/dev/null || skip_all "$program is missing (Debian package ${program/*ca*p*/tshark})"
done
tshark -v 2>/dev/null | tr '\n' ' ' | grep -q 'with Lua' || skip_all "this tshark has no Lua"
require tally-switch tally-perf tally-fabric tests/e2e/rank
dissector=$top/docs/wireshark/tally.lua
golden=$top/tests/unit/wire_golden.c
rank=$build/tests/e2e/rank
export TALLY_JOIN_TIMEOUT=$((patience / 2)) TALLY_TIMEOUT=$((patience / 2))

switch()
{
	switch_start switch -i "1@udp:$address" --pcap "$dir/captures" "$@"
}

# decode NAME WORD...: what that switch captured, against its counters; see tshark.py.
decode()
{
	local captures=$dir/captures

	[ "$1" = switch ] || captures=$dir/captures-$1
	spawn "decode-$1" python3 "$here/tshark.py" "$dissector" run "$dir/$1.totals" "$captures" "${@:2}"
	ends "decode-$1" 0
	printed "decode-$1.out" '^[1-9][0-9]* packets: '
}

case_golden()
{
	spawn golden python3 "$here/tshark.py" "$dissector" golden "$golden" "$dir"
	ends golden 0
	printed golden.out '^13 messages, '
}

case_noise()
{
	spawn noise python3 "$here/tshark.py" "$dissector" noise "$golden" "$dir"
	ends noise 0
	printed noise.out '^4000 packets; '
}

# Seals, CLOSE, and values of 16 bits.
case_check()
{
	switch
	workers w sums 3 env TALLY_CHECK=1 "$build/tally-perf" -d float32,int32 --counts 1,1000,9001 -n 2 -w 0
	all_end w 3 0
	workers v half 2 env TALLY_WIRE=int16 "$build/tally-perf" -d float32 --counts 1000 -n 2 -w 0
	all_end v 2 0
	switch_stop switch
	decode switch exact 'sealed>0' 'close.sum>0' 'value16>0' 'job_name>0' seal=0 desc_crc=0 stale=0 \
		mismatch=0 refused=0 ended=0
}

# Of what the switch sends: so that what it captures on the way in is what it counts.
case_loss()
{
	switch --impair 1:loss=10%,dir=out --seed 7
	workers w job 3 "$rank" times:30:20000
	all_end w 3 0
	switch_stop switch
	decode switch exact 'duplicate>0' 'resent>0' mismatch=0 ended=0 \
		'~duplicate of frame [0-9]+, whose result is in frame [0-9]+' '~the result in frame [0-9]+ sent again'
}

# Rank 2 comes to the second sum when the others have long asked where it is.
case_waiting()
{
	switch
	worker w0 job 0 3 env TALLY_STALL_WARNING=1 "$rank" sum:10 sum:5000
	worker w1 job 1 3 env TALLY_STALL_WARNING=1 "$rank" sum:10 sum:5000
	worker w2 job 2 3 "$rank" sum:10 "wait:$dir/there" sum:5000
	says w0 'waiting for rank 2'
	touch "$dir/there"
	all_end w 3 0
	switch_stop switch
	decode switch exact 'missing>0' 'retransmission>0' 'late>0' mismatch=0 \
		'~slot [0-9]+, round 0 waits for rank 2' '~no result yet, missing: rank 2' \
		'~ms after the first contribution .frame [0-9]+, rank [01].; the last was of rank 2'
}

case_mismatch()
{
	switch
	worker w0 job 0 2 "$rank" sum:1000 sum:70000
	worker w1 job 1 2 "$rank" sum:1000 sum:140000
	ends w0 1
	ends w1 1
	switch_stop switch
	decode switch 'mismatch>1' 'ended>0' '~differs from frame .*the count is (70000 and 140000|140000 and 70000) for ranks' \
		'~epoch [0-9]+ ended: ranks disagree on an operation .ranks (0 and 1|1 and 0)' \
		'~all-reduce 1 .int32 sum, (70000|140000) elements. .rank [01]. and all-reduce 1'
}

case_killed()
{
	switch
	workers w job 3 "$rank" times:100000000:3000
	says w2 '101 times right'
	signal 9 w2
	ends w2 137
	ends w0 1
	ends w1 1
	switch_stop switch
	decode switch 'ended>0' "~epoch [0-9]+ ended: a rank's process is gone .rank 2"
}

case_refused()
{
	switch
	worker w0 job 0 2 env TALLY_CHECK=1 "$rank" sum:1
	worker w1 job 1 2 env TALLY_CHECK=0 "$rank" sum:1
	ends w0 1
	ends w1 1
	switch_stop switch
	decode switch 'refused>0' '~refused: ranks disagree on the job: flags is 0x000[02] for rank [01] and 0x000[02]'
}

case_tree()
{
	local root=$address leaf i leaves=()

	switch_start root -i "1@udp:$root" --pcap "$dir/captures-root"
	for leaf in 0 1; do
		leaves[leaf]=$(random_address)
		switch_start "leaf$leaf" -i "1@udp:${leaves[leaf]}" --parent "$root" --pcap "$dir/captures-leaf$leaf"
	done
	for i in 0 1 2 3; do
		address=${leaves[i / 2]}
		worker "w$i" job "$i" 4 env TALLY_CHECK=1 TALLY_RANGES="$((i / 2 * 2))-$((i / 2 * 2 + 1))" "$rank" times:5:9000
	done
	all_end w 4 0
	for i in leaf0 leaf1 root; do
		switch_stop $i
		decode $i exact 'partial>0' 'sealed>0' mismatch=0 seal=0
	done
}

# Without a word about the port.
case_another-port()
{
	switch_start switch -i "1@udp:$address:40123" --pcap "$dir/captures"
	address+=:40123
	workers w job 2 "$rank" sum:3000 barrier
	all_end w 2 0
	switch_stop switch
	decode switch exact mismatch=0
}

# In virtual time, which the capture says.
case_virtual()
{
	cat >"$dir/lossy.yaml" <<-'END'
		hosts: [h1, h2, h3]
		switches: [s1]
		links: [[h1, s1-p1, {loss: 2%}], [h2, s1-p2, {dup: 2%}], [h3, s1-p3, {reorder: 2%}]]
		jobs: [{name: sums, ranks: [h1, h2, h3], workload: {sizes: [64K], iterations: 2}, env: {TALLY_CHECK: 1}}]
	END
	spawn sim "$build/tally-fabric" sim "$dir/lossy.yaml" --pcap "$dir/rec" --pcap-format pcapng
	ends sim 0
	spawn read python3 "$here/tshark.py" "$dissector" record "$dir/rec/s1"
	ends read 0
	printed read.out "^[1-9][0-9]* packets: .*'DATA': [1-9].* 0 malformed$"
	spawn info capinfos -k "$dir/rec/h1-s1.in.pcapng"
	ends info 0
	printed info.out 'tally-fabric sim [0-9.]+; stamps are virtual time, from 2026-01-01 00:00:01 UTC on'
}

run_cases 3 virtual golden noise check loss waiting mismatch killed refused tree another-port
exit "$not_ok"
