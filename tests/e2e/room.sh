#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# room.sh BUILD_DIR - a job that holds nearly all that a switch has is killed, and the next one, started at once,
# gets what it needs; a job that lives keeps what it has.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tests/e2e/rank
rank=$build/tests/e2e/rank
slots=150

# holder OPTION...: a switch, and a job of three ranks with 32 + 150 of its slots, which adds up without an end.
holder()
{
	local i

	switch_start switch -i "1@udp:$address" "$@"
	workers old old 3 env TALLY_SLOTS=$slots "$rank" "until:$dir/never:1000"
	for i in 0 1 2; do
		says "old$i" joined
	done
}

kill_holder()
{
	local i

	for i in 0 1 2; do
		signal 9 "old$i"
	done
	for i in 0 1 2; do
		ends "old$i" 137
	done
}

# successor: two ranks that want as many slots, and get them within the time that joining may take anyway.
successor()
{
	local i

	workers new new 2 env TALLY_SLOTS=$slots TALLY_DEBUG=INFO "$rank" sum:20000 barrier
	all_end new 2 0
	for i in 0 1; do
		printed "new$i.out" 'barrier right'
		! grep -q 'slots instead of' "$dir/new$i.err" || fail "rank $i has fewer slots than it wants"
	done
}

# Nothing is left for another job.
case_no-slots()
{
	holder --slots $((32 + slots + 20))
	kill_holder
	successor
	switch_stop switch
	printed switch.out ' [1-9][0-9]* +gone '
}

# A few are left, on which a job could run, slowly.
case_few-slots()
{
	holder --slots $((2 * 32 + slots + 20))
	kill_holder
	successor
	switch_stop switch
}

case_no-place()
{
	holder --jobs 1
	kill_holder
	successor
	switch_stop switch
}

# Ranks that do nothing for a while are there, and so are those that are stopped for a while.
case_living()
{
	local i

	switch_start switch -i "1@udp:$address" --slots $((32 + slots + 20))
	workers old old 2 env TALLY_SLOTS=$slots "$rank" sum:1000 "wait:$dir/go" sum:1000
	for i in 0 1; do
		says "old$i" 'sum:1000 right'
	done
	signal STOP old1
	workers new new 2 env TALLY_SLOTS=$slots "$rank" sum:1000
	all_end new 2 1
	for i in 0 1; do
		printed "new$i.err" 'no slots free.*other jobs hold them'
	done
	signal CONT old1
	touch "$dir/go"
	all_end old 2 0
	successor
	switch_stop switch
}

# The same behind links of their own: here the network's word comes as a packet, or does not come for each.
case_namespaces()
{
	local i

	if ! fabric_possible; then
		fail "skip: this user may not make namespaces"
		return
	fi
	cat >"$dir/room.yaml" <<-END
		hosts: [h1, h2, h3, h4]
		switches: {s0: {ip: 10.0.0.254}, s1: {ip: 10.0.0.253}, s2: {ip: 10.0.0.252}}
		links: [[h1, s1-p1], [h2, s1-p2], [h3, s2-p1], [h4, s2-p2], [s1-p9, s0-p1], [s2-p9, s0-p2]]
		jobs: [{name: old, ranks: [h1, h2, h3, h4], run: "sh '$dir/rank'"}]
	END
	cat >"$dir/rank" <<-END
		export TALLY_SLOTS=8000 TALLY_DEBUG=INFO
		'$rank' 'until:$dir/never:1000' >'$dir/old'\$TALLY_RANK.out 2>&1 &
		while ! [ -e '$dir/go' ]; do sleep 0.02; done
		kill -9 \$!
		wait
		TALLY_JOB=new exec '$rank' sum:5000 barrier >'$dir/new'\$TALLY_RANK.out 2>&1
	END
	spawn fabric "$build/tally-fabric" run "$dir/room.yaml" --timeout $((patience + 60))
	for i in 0 1 2 3; do
		until_true grep -q joined "$dir/old$i.out" || fail "old rank $i does not join"
	done
	touch "$dir/go"
	ends fabric 0
	for i in 0 1 2 3; do
		printed "new$i.out" 'barrier right'
		! grep -q 'slots instead of' "$dir/new$i.out" || fail "rank $i has fewer slots than it wants"
	done
}

run_cases 3 no-slots few-slots no-place living namespaces
exit $not_ok
