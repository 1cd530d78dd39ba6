#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# faults.sh BUILD_DIR - ranks and switches that die, stop, come late or not at all.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tally-perf train tests/e2e/rank
rank=$build/tests/e2e/rank
digits=$top/host/examples/data/digits.csv
export TALLY_JOIN_TIMEOUT=$((patience / 2))

# A job of four on the same switch, which must not notice what was before.
next_job()
{
	workers "next_$1" "$1" 4 "$rank" sum:5000 barrier sum:1
	all_end "next_$1" 4 0
}

# survivors RANK...: they fail naming rank 3: as dead, where something that was sent to it told so, or as the one
# that they waited for.
survivors()
{
	local i

	for i; do
		ends "w$i" 1
		printed "w$i.err" 'rank 3 of 4 died: its process is gone|waiting for rank 3 of 4 for [45]\.'
	done
}

# w0, w1 and so on, whose rank 3 is called v3.
doomed()
{
	workers w job 4 env TALLY_TIMEOUT=5 "$@"
	pids[v3]=${pids[w3]}
	unset "pids[w3]"
	ln -s w3.out "$dir/v3.out"
	ln -s w3.err "$dir/v3.err"
}

switch()
{
	switch_start switch -i "1@udp:$address"
}

# Kills rank 3 once it has said WHAT, while the others go on.
killed()
{
	says v3 "$1"
	signal 9 v3
	ends v3 137
}

joined()
{
	signal USR1 switch
	sleep 0.05
	grep -qE " $1 " "$dir/switch.out"
}

# Its place is taken by the next process. It counts as joined, so that the job may begin without it.
case_killed-before-start()
{
	switch
	worker v3 job 3 4 "$rank" sum:1
	until_true joined join || fail "no JOIN comes to the switch"
	signal 9 v3
	ends v3 137
	workers w job 4 "$rank" persist sum:5000
	all_end w 4 0
	switch_stop switch
}

# The others have sent what they may without it.
case_killed-in-first-window()
{
	local i

	switch
	for i in 0 1 2; do
		worker "w$i" job "$i" 4 env TALLY_TIMEOUT=5 "$rank" sum:1000000
	done
	worker v3 job 3 4 "$rank" hold
	killed holding
	survivors 0 1 2
	next_job job
	switch_stop switch
}

case_killed-midway()
{
	local begin

	switch
	doomed "$rank" times:100000000:3000
	begin=$SECONDS
	killed '101 times right'
	begin=$SECONDS
	survivors 0 1 2
	[ $((SECONDS - begin)) -lt 12 ] || fail "the others took $((SECONDS - begin)) s to notice"
	next_job job
	next_job another
	switch_stop switch
}

case_killed-midway-of-an-operation()
{
	switch
	doomed "$build/tally-perf" -b 32M -e 32M -w 0 -n 10000 -c 0
	until_true joined completed || fail "nothing is added up"
	signal 9 v3
	ends v3 137
	survivors 0 1 2
	next_job job
	switch_stop switch
}

# It is done with what it took part in; the others wait in the next operation.
case_killed-at-the-end()
{
	local i

	switch
	for i in 0 1 2; do
		worker "w$i" job "$i" 4 env TALLY_TIMEOUT=5 "$rank" sum:5000 sum:5000
	done
	worker v3 job 3 4 "$rank" sum:5000 hold
	killed holding
	survivors 0 1 2
	printed w0.out 'sum:5000 right'
	next_job job
	switch_stop switch
}

# All of its job's work was done: other jobs go on, and the next job of this name begins.
case_killed-after-the-end()
{
	switch
	workers w pair 2 "$rank" sum:5000 "wait:$dir/killed" sum:5000
	worker v3 single 0 1 "$rank" sum:10 hold
	killed holding
	touch "$dir/killed"
	all_end w 2 0
	worker w0 single 0 1 "$rank" sum:10
	ends w0 0
	switch_stop switch
}

case_killed-in-barrier()
{
	local i

	switch
	for i in 0 1; do
		worker "w$i" job "$i" 4 env TALLY_TIMEOUT=5 "$rank" sum:10 barrier
	done
	worker w2 job 2 4 "$rank" sum:10 hold
	worker v3 job 3 4 "$rank" sum:10 barrier
	says w2 holding
	killed 'sum:10 right'
	# At once, while those of the old one are still there.
	next_job another
	for i in 0 1; do
		ends "w$i" 1
		printed "w$i.err" 'barrier.*(rank 3 of 4 died|waiting for rank.* of 4 for [45]\.)'
	done
	signal 9 w2
	ends w2 137
	next_job job
	switch_stop switch
}

# The survivors stay, and a new process takes the place of the one that died.
case_replaced()
{
	local i

	switch
	for i in 0 1 2; do
		worker "w$i" job "$i" 4 env TALLY_TIMEOUT=2 "$rank" sum:10 fails sum:5000 rejoin sum:700
	done
	worker v3 job 3 4 "$rank" sum:10 hold
	killed holding
	for i in 0 1 2; do
		says "w$i" 'sum:5000 failed: .*rank 3 of 4'
	done
	# Its count of sums, which the values depend on, is that of the others.
	worker w3 job 3 4 "$rank" skip sum:700
	all_end w 4 0
	switch_stop switch
}

case_missing-rank()
{
	local i

	switch
	for i in 0 1 3; do
		worker "w$i" job "$i" 4 env TALLY_JOIN_TIMEOUT=2 "$rank" sum:10
	done
	for i in 0 1 3; do
		ends "w$i" 1
		printed "w$i.err" 'did not answer in time.*rank 2 of 4 did not join within 2\.'
	done
	next_job job
	switch_stop switch
}

case_no-switch()
{
	worker w0 job 0 2 env TALLY_JOIN_TIMEOUT=1 "$rank" sum:10
	ends w0 1
	printed w0.err "nothing listens on UDP $address:48880: start tally-switch"
}

# Rank 2 never calls the third all-reduce.
case_stall()
{
	local i

	switch
	for i in 0 1 3; do
		worker "w$i" job "$i" 4 env TALLY_STALL_WARNING=1 TALLY_TIMEOUT=3 "$rank" sum:10 sum:20 sum:3000
	done
	worker w2 job 2 4 "$rank" sum:10 sum:20 hold
	for i in 0 1 3; do
		ends "w$i" 1
		printed "w$i.err" 'TALLY WARN .*all-reduce 2 .*3000.*waiting for (rank 2 of 4|results of .*) for [12]\.'
		printed "w$i.err" 'all-reduce 2 .*3000.*waiting for rank 2 of 4 for [23]\.'
	done
	switch_stop switch
}

# The deadline is longer than the pause: nothing fails.
case_stopped()
{
	switch
	workers w job 4 "$rank" times:300:3000
	says w1 '101 times right'
	signal STOP w1
	sleep 2
	signal CONT w1
	all_end w 4 0
	switch_stop switch
}

case_switch-killed()
{
	local i

	switch
	workers w job 4 "$rank" times:100000000:3000
	says w0 '101 times right'
	signal 9 switch
	ends switch 137
	switch
	for i in 0 1 2 3; do
		ends "w$i" 1
		printed "w$i.err" "the switch $address:48880 lost the state of job job: it was restarted"
	done
	next_job job
	switch_stop switch
}

case_switch-gone()
{
	local i

	switch
	workers w job 4 env TALLY_TIMEOUT=2 "$rank" times:100000000:3000
	says w0 '101 times right'
	signal 9 switch
	ends switch 137
	for i in 0 1 2 3; do
		ends "w$i" 1
		printed "w$i.err" "all-reduce.* nothing listens at the switch $address:48880 any more"
	done
}

case_switch-restarted-while-training()
{
	local hash

	spawn alone "$build/train" --ranks 4 --inproc --epochs 6 --data "$digits"
	ends alone 0
	hash=$(hash_of alone.out)
	switch
	workers w job 4 "$build/train" --epochs 6 --restarts 3 --data "$digits"
	says w0 'epoch 1/6'
	signal 9 switch
	ends switch 137
	switch
	all_end w 4 0
	same_hash w0.out "$hash"
	printed w0.out '(1 restart|[23] restarts)$'
	switch_stop switch
}

case_aborted-while-training()
{
	spawn alone "$build/train" --ranks 3 --inproc --epochs 2 --data "$digits"
	spawn aborted "$build/train" --ranks 3 --inproc --epochs 2 --data "$digits" --abort-at 9 --restarts 1
	spawn given_up "$build/train" --ranks 3 --inproc --epochs 2 --data "$digits" --abort-at 9
	ends alone 0
	ends aborted 0
	same_hash aborted.out "$(hash_of alone.out)"
	printed aborted.err 'rank 2: aborted by tally_abort\(\); joining again after step 9'
	printed aborted.err 'rank 0: rank 2 of 3 aborted the job'
	ends given_up 1
	printed given_up.err 'rank 1: rank 2 of 3 aborted the job'
	printed given_up.err 'rank 2: aborted by tally_abort\(\) \(train joins again with --restarts N\)$'
}

case_rank-restarted-while-training()
{
	local i hash

	spawn alone "$build/train" --ranks 4 --inproc --epochs 6 --data "$digits"
	ends alone 0
	hash=$(hash_of alone.out)
	switch
	workers w job 4 "$build/train" --epochs 6 --restarts 3 --data "$digits"
	says w0 'epoch 1/6'
	signal 9 w2
	ends w2 137
	worker w2 job 2 4 "$build/train" --epochs 6 --restarts 3 --data "$digits"
	for i in 0 1 3 2; do
		ends "w$i" 0
	done
	same_hash w0.out "$hash"
	switch_stop switch
}

run_cases 5 killed-before-start killed-in-first-window killed-midway killed-midway-of-an-operation \
	killed-at-the-end killed-after-the-end killed-in-barrier replaced missing-rank no-switch stall \
	stopped switch-killed switch-gone switch-restarted-while-training \
	rank-restarted-while-training aborted-while-training
exit $not_ok
