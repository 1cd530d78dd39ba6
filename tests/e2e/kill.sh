#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# kill.sh BUILD_DIR [all | CELL...] - ranks and switches of a tree that are killed, stopped or cut off at every
# stage of a job. A cell is VICTIM-FAULT-WHEN:
#   worker (rank 3, on h4), leaf (s2, above h3 and h4) or root (s0);
#   kill (SIGKILL; a launcher starts it again), stop (SIGSTOP, 10 s later SIGCONT) or link (down for 3 s);
#   WHEN as in kill_rank.c;
#   -udp behind it: with a UDP socket for each switch instead of packet ports.
# A training-VICTIM kills it twice (a worker once): the weights at the end are those of an undisturbed run.
# Without argument a selection that takes no minute; otherwise a table of outcomes and times ends it.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-fabric tally-switch train tests/e2e/kill_rank tests/e2e/rank tests/e2e/link
fabric_possible || skip_all "this user may not make namespaces"
digits=$top/host/examples/data/digits.csv
trainings=(training-{demo,leaf,root,worker})
victims=(worker leaf root)
faults=(kill stop link)
whens=(start window midway last end)
ranks=(0 1 2 3)

# Every switch is started again when it dies; so is the rank that is killed, unless its work was done.
make_fabric()
{
	cat >"$dir/kill.yaml" <<-END
		hosts: [h1, h2, h3, h4]
		switches: {s0: {ip: 10.0.0.254, restart: always}, s1: {ip: 10.0.0.253, restart: always}, s2: {ip: 10.0.0.252, restart: always}}
		links: [[h1, s1-p1], [h2, s1-p2], [h3, s2-p1], [h4, s2-p2], [s1-p9, s0-p1], [s2-p9, s0-p2]]
		jobs: [{name: kill, ranks: [h1, h2, h3, h4], run: "sh '$dir/rank'"}]
	END
	cat >"$dir/rank" <<-END
		exec >>'$dir/rank'\$TALLY_RANK.out 2>&1
		export TALLY_TIMEOUT=60 TALLY_JOIN_TIMEOUT=60
		[ $when.\$TALLY_RANK != last.3 ] || export TALLY_WINDOW=1
		'$build/tests/e2e/kill_rank' $when '$dir'
		rc=\$?
		if [ \$rc = 137 ] && [ $when != end ]; then
			'$build/tests/e2e/kill_rank' $when '$dir'
			rc=\$?
		fi
		echo "exit \$rc"
		unset TALLY_WINDOW
		TALLY_JOB=next exec '$build/tests/e2e/rank' sum:5000 barrier
	END
}

# Without programs of its own: what is looked for does not wait.
descendants()
{
	local children child

	read -r -a children <"/proc/$1/task/$1/children"
	for child in "${children[@]}"; do
		found+=("$child")
		descendants "$child"
	done
} 2>/dev/null

is_victim()
{
	local name words

	read -r name <"/proc/$1/comm" || return
	if [ "$victim" = worker ]; then
		[[ $name = @(kill_rank|train) ]] || return
		mapfile -d '' -t words <"/proc/$1/environ"
		[[ " ${words[*]} " = *' TALLY_RANK=3 '* ]]
	else
		[ "$name" = tally-switch ] || return
		mapfile -d '' -t words <"/proc/$1/cmdline"
		[[ " ${words[*]} " = *" --ip 10.0.0.25$([ "$victim" = leaf ] && echo 2 || echo 4) "* ]]
	fi
} 2>/dev/null

# The process that the fault is done to.
find_victim()
{
	local found=() p

	descendants "${pids[fabric]}"
	for p in "${found[@]}"; do
		is_victim "$p" && echo "$p" && return
	done
	return 1
}

# all_say PATTERN RANK...: each of these ranks has printed such a line.
all_say()
{
	local pattern=$1 i

	shift
	for i; do
		grep -qE -e "$pattern" "$dir/rank$i.out" || return 1
	done
}

# await PATTERN RANK...: waits until they have, or have no reason to do so any more.
await()
{
	until_true all_say "$1|^exit " "${@:2}"
	all_say "$1" "${@:2}" 2>/dev/null || fail "not every rank has said '$1'"
}

link()
{
	local interfaces=eth0

	case $victim in
	leaf) interfaces=p9 ;;
	root) interfaces='p1 p2' ;;
	esac
	# shellcheck disable=SC2086 # one or two
	"$build/tests/e2e/link" "$pid" "$1" $interfaces || fail "the link does not go $1"
}

# Durations are those of the fault; everything else waits for events.
do_fault()
{
	local pid

	pid=$(find_victim) || fail "no $victim is there" || return
	# A rank may be done before its link is up again; the shell that runs it is not.
	[ "$fault-$victim" != link-worker ] || read -r _ _ _ pid _ <"/proc/$pid/stat"
	case $fault in
	kill) kill -9 "$pid"
		touch "$dir/go" ;;
	stop) kill -STOP "$pid"
		touch "$dir/go"
		sleep 10
		kill -CONT "$pid" ;;
	link) link down
		touch "$dir/go"
		sleep 3
		link up ;;
	esac
}

# who_fails: ranks whose operations are to fail, each of which names the culprit as $culprit says.
who_fails()
{
	case $fault-$when-$victim in
	kill-start-* | kill-end-*) ;;
	kill-*-worker) echo 0 1 2 ;;
	kill-*) echo 0 1 2 3 ;;
	esac
}

# culprit RANK: what its failures say.
culprit()
{
	case $victim-$1 in
	worker-*) echo 'rank 3 of 4(,| died| restarted)' ;;
	leaf-[01]) echo 'rank [23] of 4, or the switch it is behind, (restarted|is gone)|the switch of rank [23] of 4, or one above it, lost the state of job kill' ;;
	leaf-*) echo ': (rank 2 of 4, or )?the switch 10.0.0.252:48880,? (lost the state of job kill|is gone)' ;;
	root-*) echo 'a switch above the switch 10.0.0.25[23]:48880 lost the state of job kill' ;;
	esac
}

# All failures there were are those that the fault explains.
check_failures()
{
	local i failing

	failing=$(who_fails)
	for i in "${ranks[@]}"; do
		if [[ $failing != *$i* ]]; then
			! grep -E '^(failed|given up|not joined)' "$dir/rank$i.out" >"$dir/odd.out" ||
				fail "rank $i: $(head -n 1 "$dir/odd.out")"
		else
			grep -q '^failed: ' "$dir/rank$i.out" || fail "rank $i did not fail"
			! grep -E '^(failed|given up)' "$dir/rank$i.out" | grep -vE -e "$(culprit "$i")" >"$dir/odd.out" ||
				fail "rank $i does not name the culprit: $(head -n 1 "$dir/odd.out")"
		fi
	done
}

# In hundredths of a second.
now()
{
	local t=$EPOCHREALTIME

	echo $((${t%[.,]*} * 100 + 10#${t#*[.,]} / 10000))
}

run_cell()
{
	local i begin took driver outcome=completes dead=

	IFS=- read -r victim fault when driver <<<"$1"
	make_fabric
	for i in "${ranks[@]}"; do
		: >"$dir/rank$i.out"
	done
	spawn fabric "$build/tally-fabric" run "$dir/kill.yaml" --driver "${driver:-af_packet}" --timeout $((patience + 60))
	await "^$when" "${ranks[@]}"
	[ "$fault-$when-$victim" = kill-end-worker ] && dead=3
	begin=$(now)
	do_fault
	# shellcheck disable=SC2046 # a list of ranks
	[ -z "$(who_fails)" ] || await '^failed: ' $(who_fails)
	touch "$dir/over"
	for i in "${ranks[@]}"; do
		[ "$i" = "$dead" ] || await '^exit 0' "$i"
	done
	took=$(($(now) - begin))
	check_failures
	[ -z "$(who_fails)" ] || outcome='fails by name, goes on'
	ends fabric 0
	for i in "${ranks[@]}"; do
		printed "rank$i.out" 'barrier right'
		! grep -hE '^wrong|sum .*element .* is ' "$dir/rank$i.out" || fail "a wrong sum"
	done
	sed -n 's/^failed: //p' "$dir"/rank[0-3].out | sort | uniq -c >"$dir/words"
	printf '%s %d.%02d s\n' "${why:+NOT as expected: }$outcome" $((took / 100)) $((took % 100)) >"$dir/cell"
}

# start_training FILE: on its fabric; sets $hash to what undisturbed ones end with.
start_training()
{
	local epochs=7

	spawn alone "$build/train" --ranks 4 --inproc --epochs $epochs --data "$digits"
	ends alone 0
	hash=$(hash_of alone.out)
	[ -n "$hash" ] || fail "no hash of the weights"
	cat >"$dir/rank" <<-END
		train --epochs $epochs --restarts 5 --data '$digits' && exit
		[ \$? = 137 ] && exec train --epochs $epochs --restarts 5 --data '$digits'
	END
	sed -e '/^jobs:/,$d' -e 's/, restart: always//' -e '/^  s[0-9]:/s/}/, restart: always}/' "$1" >"$dir/kill.yaml"
	printf 'jobs: [{name: demo, ranks: [h1, h2, h3, h4], run: "sh %s"}]\n' "'$dir/rank'" >>"$dir/kill.yaml"
	spawn fabric "$build/tally-fabric" run "$dir/kill.yaml" --timeout $((patience + 60))
}

# trained TIMES: the end is that of an undisturbed run.
trained()
{
	ends fabric 0
	same_hash fabric.out "$hash"
	printed fabric.out 'all 4 ranks equal'
	printed fabric.out "; [$1-5] restarts?$"
}

# kill_training VICTIM FILE: twice in the middle.
kill_training()
{
	local epoch pid

	victim=$1
	start_training "$2"
	for epoch in 1 2; do
		says fabric "^epoch $epoch/7"
		pid=$(find_victim) && kill -9 "$pid" || fail "no $victim is there"
	done
	trained 2
}

case_training-demo()
{
	kill_training root "$top/topologies/demo.yaml"
	printed fabric.out 'started again 2 times'
}

case_training-leaf()
{
	kill_training leaf "$top/topologies/two-level-2x2.yaml"
	printed fabric.out 'started again 2 times'
}

case_training-root()
{
	kill_training root "$top/topologies/two-level-2x2.yaml"
	printed fabric.out 'started again 2 times'
}

# A new process is given the weights by the others.
case_training-worker()
{
	local pid

	victim=worker
	start_training "$top/topologies/demo.yaml"
	says fabric '^epoch 1/7'
	pid=$(find_victim) && kill -9 "$pid" || fail "no worker is there"
	trained 1
}

# A root that is silent for good: every rank says that it is not its own switch, which answers.
case_silent-root()
{
	local pid i

	victim=root when=none
	make_fabric
	echo "TALLY_TIMEOUT=3 exec '$build/tests/e2e/rank' 'until:$dir/never:3000'" >"$dir/rank"
	spawn fabric "$build/tally-fabric" run "$dir/kill.yaml" --timeout "$patience"
	says fabric 'rank 0: joined'
	pid=$(find_victim) && kill -STOP "$pid" || fail "no root is there" || return
	for i in 0 1; do
		says fabric "all ranks below the switch 10.0.0.25$((3 - i)):48880 have sent theirs, but a switch above it does not answer, for 3"
	done
	kill -CONT "$pid"
	ends fabric 1
}

names=()
cases()
{
	local name

	for name; do
		[[ $name = training-* || $name = silent-* ]] || eval "case_$name() { run_cell $name; }"
		names+=("$name")
	done
}

# row CELLS-OF [SUFFIX]
row()
{
	local suffix=${2-} w

	[[ " ${names[*]} " =~ \ $1-[a-z]+$suffix\  ]] || return
	printf '%-16s' "${1//-/ }${suffix/-/, }"
	for w in "${whens[@]}"; do
		printf ' | %-30s' "$(cat "$work/$1-$w$suffix/cell" 2>/dev/null || echo -)"
	done
	printf '\n'
}

table()
{
	local v f

	printf '\n%-16s' ''
	printf ' | %-30s' 'before JOIN' 'in the first window' midway 'at the last packet' 'after the end'
	printf '\n'
	for v in "${victims[@]}"; do
		for f in "${faults[@]}"; do
			row "$v-$f"
			row "$v-$f" -udp
		done
	done
	printf '\nWhat the failures say:\n'
	for v in "${names[@]}"; do
		[ ! -s "$work/$v/words" ] || { echo "$v" && cat "$work/$v/words"; }
	done
}

case ${2-} in
'') cases worker-kill-{window,last} leaf-kill-{start,midway} root-kill-{window,midway,end} \
	worker-link-midway leaf-link-window {leaf,root}-kill-midway-udp
	names+=(silent-root "${trainings[@]}") ;;
all) for victim in "${victims[@]}"; do
	for fault in "${faults[@]}"; do
		cases "$victim-$fault"-{start,window,midway,last,end}
	done
done
	cases {leaf,root}-kill-{start,window,midway,last,end}-udp
	names+=(silent-root "${trainings[@]}") ;;
training-* | silent-*) names=("${@:2}") ;;
*) cases "${@:2}" ;;
esac
run_cases 3 "${names[@]}"
[ -z "${2-}" ] || table
exit $not_ok
