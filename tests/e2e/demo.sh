#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh BUILD_DIR - training in a network of its own: same weights as in one process, and nothing left behind.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-fabric tally-switch train tests/e2e/rank
fabric_possible || skip_all "this system allows no user namespaces (unshare -Urn)"
digits=$top/host/examples/data/digits.csv
fabric=$build/tally-fabric

# topology FILE COMMAND: four hosts at one switch, all of which run this.
topology()
{
	cat >"$1" <<-END
		hosts: [h1, h2, h3, h4]
		switches: {s1: {ip: 10.0.0.254}}
		links: [[h1, s1-p1], [h2, s1-p2], [h3, s1-p3], [h4, s1-p4]]
		jobs: [{name: demo, ranks: [h1, h2, h3, h4], run: "$2"}]
		seed: 7
	END
}

training="exec train --epochs 2 --data '$digits'"

# reference [EPOCHS]: sets $hash.
reference()
{
	spawn alone "$build/train" --ranks 4 --inproc --epochs "${1:-2}" --data "$digits"
	ends alone 0
	hash=$(hash_of alone.out)
	[ -n "$hash" ] || fail "no hash of the weights"
}

# Every port has moved frames through its DPDK driver, and every packet has one verdict.
trained()
{
	local port

	ends "$1" 0
	same_hash "$1.out" "$hash"
	printed "$1.out" '^epoch 2/2 +loss [0-9.]+ +test accuracy 0\.[89]'
	printed "$1.out" 'all 4 ranks equal'
	for port in 1 2 3 4; do
		printed "$1.out" "^ +$port p$port +net_af_packet +[1-9][0-9]{3,} +[1-9][0-9]{3,} "
	done
	printed "$1.out" 'rx ([0-9]+) = sum of verdicts \1'
}

case_same-weights()
{
	reference
	topology "$dir/demo.yaml" "$training"
	spawn plain "$fabric" run "$dir/demo.yaml"
	trained plain
	printed plain.out '^demo +3 +h4 +0 '
}

case_same-weights-with-loss()
{
	reference
	topology "$dir/demo.yaml" "$training"
	spawn lossy "$fabric" run "$dir/demo.yaml" --loss 1%
	trained lossy
	printed lossy.out '[1-9][0-9]* retransmissions'
	printed lossy.out 'on purpose, in: [1-9][0-9]* lost'
}

case_two-at-the-same-time()
{
	reference
	topology "$dir/demo.yaml" "$training"
	spawn one "$fabric" run "$dir/demo.yaml"
	spawn two "$fabric" run "$dir/demo.yaml"
	trained one
	trained two
}

case_one-core()
{
	local core

	reference
	topology "$dir/demo.yaml" "$training"
	core=$(taskset -cp $$ | sed 's/.*: //; s/[^0-9].*//')
	spawn pinned taskset -c "$core" "$fabric" run "$dir/demo.yaml"
	trained pinned
}

case_udp-driver()
{
	reference
	topology "$dir/demo.yaml" "$training"
	spawn udp "$fabric" run "$dir/demo.yaml" --driver udp
	ends udp 0
	same_hash udp.out "$hash"
	printed udp.out '^ +[0-9]+ udp:10.0.0.254:48880 +udp +[1-9]'
}

# As much is learnt as with floating-point gradients in one process.
case_accuracy()
{
	spawn ranks "$build/train" --ranks 4 --inproc --data "$digits"
	spawn plain "$build/train" --plain --data "$digits"
	ends ranks 0
	ends plain 0
	awk '/^test accuracy/ { a[n++] = $3 } END { d = a[0] - a[1]
		exit !(n == 2 && a[0] >= 0.95 && d <= 0.0050001 && d >= -0.0050001) }' \
		"$dir/ranks.out" "$dir/plain.out" ||
		fail "$(grep -h '^test accuracy' "$dir/ranks.out" "$dir/plain.out" | tr '\n' ' ')"
}

# The demo's file as it is.
case_files()
{
	local file

	for file in "$top"/topologies/*.yaml; do
		spawn check "$fabric" check "$file"
		ends check 0
		printed check.out "$file: hosts [0-9]+, switches [0-9]+, links [0-9]+, jobs [12], ranks [0-9]+"
	done
}

# One rank says more than the others: it is killed, and named by them.
case_rank-killed()
{
	local i

	cat >"$dir/rank" <<-END
		if [ "\$TALLY_RANK" = 2 ]; then
			'$build/tests/e2e/rank' times:100000000:3000 >'$dir/victim' 2>&1 &
			until grep -q '101 times right' '$dir/victim'; do sleep 0.01; done
			kill -9 \$!
			: >'$dir/killed'
		else
			'$build/tests/e2e/rank' times:100000000:3000 >/dev/null
		fi
		echo "ended \$?" >&2
		TALLY_TIMEOUT=300 TALLY_JOB=next exec '$build/tests/e2e/rank' sum:5000 barrier sum:1
	END
	topology "$dir/killed.yaml" "sh '$dir/rank'"
	spawn killed env TALLY_TIMEOUT=5 "$fabric" run -v "$dir/killed.yaml"
	ends killed 0
	for i in 0 1 3; do
		printed killed.err "rank $i: times.*(rank 2 of 4 died|waiting for rank 2 of 4 for [45]\\.)"
	done
	cat "$dir/killed.out" "$dir/killed.err" >"$dir/both"
	[ "$(grep -c 'rank [0-3]: sum:1 right' "$dir/both")" -eq 4 ] || fail "the next job does not work"
}

# The switch of the fabric dies and is started again, by the file's word.
case_switch-killed()
{
	reference 8
	topology "$dir/demo.yaml" "exec train --epochs 8 --restarts 3 --data '$digits'"
	sed -i 's/ip: 10.0.0.254/ip: 10.0.0.254, restart: always/' "$dir/demo.yaml"
	spawn restarted "$fabric" run "$dir/demo.yaml"
	says restarted '^epoch 1/8'
	kill -9 "$(descendants "${pids[restarted]}" | xargs -I{} sh -c \
		'read -r name 2>/dev/null </proc/{}/comm && [ "$name" = tally-switch ] && echo {}')"
	ends restarted 0
	same_hash restarted.out "$hash"
	printed restarted.out 'started again 1 time$'
	printed restarted.out '(1 restart|[23] restarts)$'
}

# Whoever's time is up is told so, whatever it does about it.
case_timeout()
{
	topology "$dir/demo.yaml" "trap '' TERM; sleep 1000"
	sed -i 's/ranks: .*, run/ranks: [h1, h2], run/' "$dir/demo.yaml"
	spawn run "$fabric" run "$dir/demo.yaml" --timeout 1
	spawn shell "$fabric" shell "$dir/demo.yaml" h2 --timeout 1 -- sleep 1000
	ends shell 124
	printed shell.err 'tally-fabric: the command still runs after 1 s and is ended$'
	ends run 124
	printed run.err 'tally-fabric: 2 of 2 ranks still run after 1 s \(--timeout\) and are ended: give a larger one for a run'
	printed run.err 'rank 1 on h2 was killed by signal 9 \(Killed\) as its time was up'
	# One that failed before that says why.
	topology "$dir/failed.yaml" '[ $TALLY_RANK = 3 ] || sleep 1000; exit 7'
	spawn failed "$fabric" run "$dir/failed.yaml" --timeout 2
	ends failed 7
	printed failed.err 'rank 3 on h4 exited with 7'
}

# Time of what a rank's shell has started counts, whoever reaps it.
case_orphans()
{
	cat >"$dir/burn" <<-END
		(trap '' TERM; i=0; while [ \$i -lt 300000 ]; do i=\$((i+1)); done; touch '$dir/done'; sleep 1000) &
		until [ -e '$dir/done' ]; do sleep 0.1; done
		kill -9 \$\$
	END
	topology "$dir/demo.yaml" "exec sh '$dir/burn'"
	sed -i 's/ranks: .*, run/ranks: [h1], run/' "$dir/demo.yaml"
	spawn run "$fabric" run "$dir/demo.yaml" --timeout "$patience"
	ends run 137
	awk '$4 == 137 { exit $6 < 0.1 } END { exit !NR }' "$dir/run.out" ||
		fail "the time of what the shell started does not count"
}

children()
{
	cat /proc/"$1"/task/*/children 2>/dev/null
}

descendants()
{
	local child

	for child in $(children "$1"); do
		echo "$child"
		descendants "$child"
	done
}

# What can be left: namespaces are named by links below /proc, interfaces seen from here, files where programs
# put some. Those of other runs at the same time do not count: names with the run's own folder do.
namespaces_of()
{
	local pid

	for pid in $(descendants "$1"); do
		readlink "/proc/$pid"/ns/{net,mnt,pid,user} 2>/dev/null
	done | sort -u
}

namespaces_in_use()
{
	readlink /proc/[0-9]*/ns/{net,mnt,pid,user} 2>/dev/null | sort -u
}

gone_namespaces()
{
	! namespaces_in_use | grep -qxFf "$dir/namespaces"
}

gone_processes()
{
	local pid

	for pid in $(cat "$dir/processes"); do
		[ ! -d "/proc/$pid" ] || ! tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "TMPDIR=$dir/tmp" ||
			return 1
	done
}

# used_by PID...: files and sockets that these processes have open or mapped, as they call them.
used_by()
{
	local pid

	for pid; do
		readlink "/proc/$pid"/fd/* "/proc/$pid/cwd"
		awk '$6 ~ "^/" { print $6 }' "/proc/$pid/maps"
		awk '$8 ~ "^/" { print $8 }' "/proc/$pid/net/unix"
	done 2>/dev/null | grep '^/' | grep -vE '^/(proc|sys|dev/null)|\(deleted\)$' | sort -u
}

# What the run has made and not removed: where programs are to put files, and whatever else it had in use. Other
# runs at the same time have files of their own.
files()
{
	local file

	find "$dir/tmp" "$dir/home" -mindepth 1
	while read -r file; do
		find "$file" -prune -type f,s,p -newer "$dir/begin" ! -path "$dir/fabric.*" 2>/dev/null
	done <"$dir/used"
}

# killed_with SIGNAL: everything goes with the runner, whatever ends it.
killed_with()
{
	local own

	topology "$dir/long.yaml" "exec '$build/tests/e2e/rank' times:100000000:3000"
	mkdir "$dir/tmp" "$dir/home"
	touch "$dir/begin"
	ip -o link | sed 's/^[0-9]*: //; s/:.*//' | sort >"$dir/links"
	# A shell lets its background programs ignore the interrupt.
	spawn fabric env --default-signal=INT TMPDIR="$dir/tmp" HOME="$dir/home" XDG_RUNTIME_DIR="$dir/tmp" "$fabric" run \
		"$dir/long.yaml"
	says fabric '101 times right'
	namespaces_of "${pids[fabric]}" >"$dir/all"
	# Its own are those that this shell is not in.
	readlink /proc/self/ns/{net,mnt,pid,user} | grep -vxFf - "$dir/all" >"$dir/namespaces"
	descendants "${pids[fabric]}" >"$dir/processes"
	mapfile -t own <"$dir/processes"
	used_by "${own[@]}" >"$dir/used"
	grep -q '/tally-switch\.' "$dir/used" || fail "the switch's own files are not seen: $(cat "$dir/used")"
	[ "$(grep -c net: "$dir/namespaces")" -ge 5 ] || fail "fewer than 5 networks: $(cat "$dir/all")"
	[ "$(wc -l <"$dir/processes")" -ge 6 ] || fail "fewer than 6 processes"
	signal "$1" fabric
	ends fabric "$2"
	until_true gone_processes || fail "processes are left"
	until_true gone_namespaces || fail "namespaces are left"
	ip -o link | sed 's/^[0-9]*: //; s/:.*//' | sort | grep -vxFf "$dir/links" | grep -E '^(p|eth|veth|tally)' &&
		fail "interfaces are left"
	files >"$dir/left.out"
	[ ! -s "$dir/left.out" ] || fail "files are left: $(head -n 3 "$dir/left.out")"
}

# Its reader goes: the run ends, and does not go on for nobody.
case_unread()
{
	cat >"$dir/u.yaml" <<-END
		hosts: [h1]
		switches: [s1]
		links: [[h1, s1-p1]]
		jobs: [{name: u, ranks: [h1], run: "while :; do echo again; sleep 0.1; done"}]
	END
	spawn fabric sh -c "{ '$fabric' run '$dir/u.yaml'; echo \$? >'$dir/code'; } | head -n 1"
	ends fabric 0
	grep -qx 141 "$dir/code" || fail "exit status $(cat "$dir/code"), not 141"
	printed fabric.err 'nobody reads standard output any more'
}

case_killed()
{
	killed_with KILL 137
}

case_interrupted()
{
	killed_with INT 130
}

case_terminated()
{
	killed_with TERM 143
}

run_cases 2 same-weights same-weights-with-loss two-at-the-same-time one-core udp-driver accuracy files \
	rank-killed switch-killed timeout orphans unread killed interrupted terminated
exit $not_ok
