#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# replay.sh BUILD_DIR - captures of live runs, replayed: the same bytes; also of the
# simulator and of threads; disks that are full, directories that vanish.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tally-replay tally-perf tallyctl
fabric=$build/tally-fabric

# replayed NAME DIR: as it was.
replayed()
{
	spawn "$1" "$build/tally-replay" "$2"
	ends "$1" 0
	printed "$1.out" '^as expected: [1-9][0-9]* packets?, 0 differences$'
	! grep -q DIFFERENT "$dir/$1.out" || fail "$1: $(grep DIFFERENT "$dir/$1.out" | head -n 1)"
}

perf()
{
	spawn perf env TALLY_SWITCH="$address" "$build/tally-perf" -t 3 -b 16K -e 64K -n 2 -w 1 -c 1
}

# One socket, faults on purpose, orders: and what is sent is the same file.
case_socket()
{
	switch_start switch -i "1@udp:$address" --pcap "$dir/caps" --loss 2% --dup 1% --reorder 2% --seed 3 \
		--ctl "$dir/ctl"
	[ -e "$dir/caps/port1_in.pcap.partial" ] || fail "no port1_in.pcap.partial while it runs"
	perf
	ends perf 0
	"$build/tallyctl" -s "$dir/ctl" drain >/dev/null 2>&1
	spawn late env TALLY_SWITCH="$address" TALLY_TIMEOUT=1 "$build/tally-perf" -t 1 -b 16K -n 1
	until_true gone late || fail "a job that is refused goes on"
	"$build/tallyctl" -s "$dir/ctl" drain off >/dev/null 2>&1
	grep -q '^at [0-9]* drain on$' "$dir/caps/switch.txt" || fail "no order in switch.txt"
	perf
	ends perf 0
	switch_stop switch
	[ ! -e "$dir/caps/port1_in.pcap.partial" ] || fail "port1_in.pcap.partial stays"
	grep -q '^at [0-9]* end$' "$dir/caps/switch.txt" || fail "switch.txt has no end"
	replayed replay "$dir/caps"
	"$build/tally-replay" --out "$dir/out.pcap" "$dir/caps" >/dev/null 2>&1
	cmp -s "$dir/out.pcap" "$dir/caps/port1_out.pcap" || fail "other bytes than the switch captured"
}

case_pcapng()
{
	switch_start switch -i "1@udp:$address" --pcap "$dir/caps" --pcap-format pcapng
	perf
	ends perf 0
	switch_stop switch
	[ "$(od -An -tx4 -N 4 "$dir/caps/port1_in.pcapng")" = " 0a0d0d0a" ] || fail "no pcapng"
	grep -aq 'tally-switch [0-9]' "$dir/caps/port1_in.pcapng" || fail "no version in it"
	replayed replay "$dir/caps"
}

# A file can have 200 KiB, as on a full disk: said once by name, the switch goes on, and nothing is taken for whole.
case_full()
{
	spawn switch bash -c "ulimit -f 200; exec '$build/tally-switch' -i '1@udp:$address' --pcap '$dir/caps'"
	says switch 'ready, '
	perf
	ends perf 0
	says switch 'port1_in.pcap.partial: cannot be written any further: File too large'
	signal TERM switch
	ends switch 0
	[ "$(grep -c 'port1_in.*the capture ends, the switch goes on' "$dir/switch.err" || :)" -le 1 ] || fail "said again"
	[ ! -e "$dir/caps/port1_in.pcap" ] || fail "it is taken for whole"
	spawn replay "$build/tally-replay" "$dir/caps"
	ends replay 0
	printed replay.out 'the captures are not whole'
}

# Somebody removes the directory.
case_vanished()
{
	switch_start switch -i "1@udp:$address" --pcap "$dir/caps"
	rm -rf "$dir/caps"
	perf
	ends perf 0
	signal TERM switch
	ends switch 0
	printed switch.err 'port1_in.pcap.partial: cannot be given its name without .partial: No such file'
}

# topology COMMAND: a tree with loss.
topology()
{
	cat >"$dir/tree.yaml" <<-END
		hosts: [h1, h2, h3]
		switches: {s0: {ip: 10.0.0.254}, s1: {ip: 10.0.0.253, restart: always}, s2: {ip: 10.0.0.252}}
		links:
		  - [h1, s1-p1, {loss: 1%}]
		  - [h2, s1-p2, {delay: 100us, jitter: 200us}]
		  - [h3, s2-p1, {corrupt: 1%}]
		  - [s1-p9, s0-p1, {reorder: 2%}]
		  - [s2-p9, s0-p2]
		jobs: [{name: sums, ranks: [h1, h2, h3], $1}]
		seed: 7
	END
}

case_tree()
{
	fabric_possible || { fail "skip: this system allows no user namespaces (unshare -Urn)"; return; }
	topology 'workload: {sizes: [4K, 64K], iterations: 3, check: 1}'
	spawn run "$fabric" run "$dir/tree.yaml" --record "$dir/rec"
	ends run 0
	[ "$(tail -n 1 "$dir/run.err")" = "tally-replay $dir/rec" ] || fail "the last line is no command"
	[ -s "$dir/rec/h1-s1.in.pcap" ] && [ -s "$dir/rec/s0-s1.out.pcap" ] || fail "links have no names"
	cmp -s "$dir/tree.yaml" "$dir/rec/topology.yaml" || fail "no topology file"
	grep -q '^seed 7$' "$dir/rec/run.txt" || fail "no seed"
	[ -s "$dir/rec/logs/s1.log" ] && [ -s "$dir/rec/logs/sums-0.log" ] || fail "no logs"
	printed rec/result.txt '^exit code 0$'
	spawn replay "$build/tally-replay" "$dir/rec"
	ends replay 0
	[ "$(grep -c '^as expected: .* 0 differences$' "$dir/replay.out")" -eq 3 ] || fail "not all three switches"
	spawn again "$fabric" run "$dir/tree.yaml" --record "$dir/rec"
	ends again 2
	printed again.err 'is not empty'
}

# Rank 1 fails, and a leaf is killed: recorded all the same, each life of the leaf by itself.
case_failing()
{
	fabric_possible || { fail "skip: this system allows no user namespaces (unshare -Urn)"; return; }
	cat >"$dir/rank.sh" <<-'END'
		[ "$TALLY_RANK" != 1 ] || exit 3
		[ "$TALLY_RANK" = 0 ] || exit 0
		for process in /proc/[0-9]*; do
			case $(tr '\0' ' ' <"$process/cmdline") in
			tally-switch*"--ip 10.0.0.253 "*) kill -9 "${process#/proc/}" ;;
			esac
		done
		until [ -s "$1/s1.2/switch.txt" ]; do sleep 0.05; done
	END
	topology "run: \"exec bash $dir/rank.sh $dir/rec\""
	spawn run "$fabric" run "$dir/tree.yaml" --record "$dir/rec"
	ends run 3
	printed rec/result.txt '^exit code 3$'
	[ "$(tail -n 1 "$dir/run.err")" = "tally-replay $dir/rec" ] || fail "the last line is no command"
	[ -e "$dir/rec/s1/port1_in.pcap.partial" ] || fail "what a killed switch captured is taken for whole"
	spawn replay "$build/tally-replay" "$dir/rec"
	ends replay 0
	printed replay.out '^switch s1.2:$'
	printed replay.out 'not whole'
}

# in_process NAME ARGUMENT...: a lossy tree of two files in one process; what it leaves replays, and loads again.
in_process()
{
	local name=$1

	shift
	topology 'workload: {sizes: [4K, 64K], iterations: 3, check: 1}'
	sed -i 's/corrupt: 1%/dup: 2%, jitter: 5us/' "$dir/tree.yaml"
	mkdir -p "$dir/sub"
	echo 'include: ../tree.yaml' >"$dir/sub/main.yaml"
	spawn "$name" "$fabric" "$@" "$dir/sub/main.yaml" --record "$dir/rec"
	ends "$name" 0
	[ "$(tail -n 1 "$dir/$name.err")" = "tally-replay $dir/rec" ] || fail "the last line is no command"
	printed "$name.out" '^# Retransmissions +: [1-9]'
	printed rec/result.txt '^exit code 0$'
	cmp -s "$dir/$name.out" <(sed '$d' "$dir/rec/result.txt") || fail "result.txt is not what was printed"
	[ -s "$dir/rec/h1-s1.in.pcap" ] && [ -s "$dir/rec/s0-s1.out.pcap" ] || fail "links have no names"
	spawn replay "$build/tally-replay" "$dir/rec"
	ends replay 0
	[ "$(grep -c '^as expected: [1-9].* 0 differences$' "$dir/replay.out")" -eq 3 ] || fail "not all three switches"
	spawn sent "$build/tally-replay" --out "$dir/sent.pcap" "$dir/rec/s2"
	spawn again "$build/tally-replay" --out "$dir/again.pcap" "$dir/rec/s2"
	ends sent 0
	ends again 0
	cmp -s "$dir/sent.pcap" "$dir/again.pcap" || fail "two replays send different bytes"
	rm "$dir/tree.yaml"
	spawn check "$fabric" check "$dir/rec/topology.yaml"
	ends check 0
	printed check.out 'topology.yaml: hosts 3, switches 3, links 5, jobs 1, ranks 3$'
}

case_virtual()
{
	in_process sim sim
	grep -q '^clock virtual$' "$dir/rec/s1/switch.txt" || fail "virtual time is not marked"
	printed replay.out ' s of virtual time: '
	topology 'workload: {sizes: [4K, 64K], iterations: 3, check: 1}'
	sed -i 's/corrupt: 1%/dup: 2%, jitter: 5us/' "$dir/tree.yaml"
	spawn plain "$fabric" sim "$dir/tree.yaml"
	ends plain 0
	cmp -s "$dir/sim.out" "$dir/plain.out" || fail "a run that is recorded is another one"
	spawn many "$fabric" sim "$dir/tree.yaml" --seeds 1..2 --pcap "$dir/many"
	ends many 2
	printed many.err '^tally-fabric: --pcap, --record and --report are of one run: give none of --seeds, --sweep, --workers, --compare$'
}

case_threads()
{
	in_process inproc run --fabric inproc
	! grep -q '^clock' "$dir/rec/s1/switch.txt" || fail "real time is marked as another"
}

# As on a full disk: the runs end well and say that, and name each file so.
case_full_inside()
{
	local name

	for name in sim run; do
		spawn "$name" bash -c "ulimit -f 200; exec '$fabric' $name \
			$([ $name = sim ] || echo --fabric inproc) topologies/one-switch-2.yaml --pcap '$dir/$name'"
		ends "$name" 0
		printed "$name.err" "/$name/s1/port1_in.pcap.partial: cannot be written any further: File too large"
		printed "$name.err" '^tally-fabric: 4 of the captures are not whole, and named so: .*partial and others$'
		[ ! -e "$dir/$name/s1/port1_in.pcap" ] || fail "it is taken for whole"
		spawn "replay-$name" "$build/tally-replay" "$dir/$name"
		ends "replay-$name" 0
		printed "replay-$name.out" 'the captures are not whole'
	done
}

# Ranks that run when the time is up: what was captured until then is whole.
case_time_up()
{
	sed 's/sizes: [^]]*\]/sizes: [4K]/; s/iterations: 5/iterations: 100000/' topologies/one-switch-2.yaml >"$dir/long.yaml"
	spawn sim "$fabric" sim --timeout 1 "$dir/long.yaml" --record "$dir/sim-rec"
	spawn run "$fabric" run --fabric inproc --timeout 1 "$dir/long.yaml" --record "$dir/run-rec"
	ends sim 124
	ends run 124
	printed run-rec/result.txt '^exit code 124$'
	printed run-rec/logs/tally-fabric.log '2 of 2 ranks still run after 1 s'
	replayed replay-sim "$dir/sim-rec"
	replayed replay-run "$dir/run-rec"
	! grep -q 'not whole' "$dir/replay-sim.out" "$dir/replay-run.out" || fail "captures are not whole"
}

# Of runs that start at once, one has the directory; it is free again when its process is dead.
case_together()
{
	local nr=0 name

	mkdir "$dir/caps"
	for name in a b c d; do
		spawn "$name" "$fabric" sim topologies/one-switch-2.yaml --pcap "$dir/caps"
	done
	for name in a b c d; do
		until_true gone "$name" || fail "$name does not end"
		if grep -qE "^tally-fabric: --pcap $dir/caps: (another run writes there: name another directory, or wait until|is not empty: name)" \
			"$dir/$name.err"; then
			ends "$name" 2
		else
			ends "$name" 0
			nr=$((nr + 1))
		fi
	done
	[ "$nr" -eq 1 ] || fail "$nr runs have written into one directory"
	replayed replay "$dir/caps"
	switch_start switch -i "1@udp:$address" --pcap "$dir/own"
	spawn second "$build/tally-switch" -i "1@udp:$(random_address)" --pcap "$dir/own"
	ends second 1
	printed second.err 'another switch captures there: name another directory'
	signal KILL switch
	ends switch 137
	switch_start switch -i "1@udp:$address" --pcap "$dir/own"
	switch_stop switch
	# Each fabric looks.
	mkdir "$dir/held"
	for name in sim "run --fabric inproc" run; do
		# shellcheck disable=SC2086 # words
		spawn held flock -n "$dir/held" "$fabric" $name topologies/one-switch-2.yaml --pcap "$dir/held"
		ends held 2
		printed held.err 'another run writes there'
	done
}

# A name that a shell would read as something else, and a switch whose captures are gone.
case_lost()
{
	topology 'workload: {sizes: [4K], iterations: 2, check: 1}'
	spawn sim "$fabric" sim "$dir/tree.yaml" --record "$dir/it's \$a record"
	ends sim 0
	spawn replay bash -c "PATH=$build:\$PATH; $(tail -n 1 "$dir/sim.err")"
	ends replay 0
	rm -r "$dir/it's \$a record/s2"
	spawn lost bash -c "PATH=$build:\$PATH; $(tail -n 1 "$dir/sim.err")"
	ends lost 2
	printed lost.err 'there is no s2/switch.txt, but run.txt names it'
}

# The command that repeats one of several runs, however it was written.
case_again()
{
	cp topologies/one-switch-2.yaml "$dir/it's a file.yaml"
	spawn many "$fabric" sim --sw=loss=100% "$dir/it's a file.yaml" --timeo 1
	until_true gone many || fail "it does not end"
	ends many 124
	sed -n "s/.*again: \(tally-fabric .*\)/\1/p" "$dir/many.err" >"$dir/command"
	[ "$(cat "$dir/command")" = "tally-fabric sim '$dir/it'\\''s a file.yaml' --timeo 1 --sweep loss=100%" ] ||
		fail "another command: $(cat "$dir/command")"
	spawn again bash -c "PATH=$build:\$PATH; $(cat "$dir/command")"
	ends again 124
}

run_cases 2 socket pcapng full vanished tree failing virtual threads full_inside time_up together lost again
exit "$not_ok"
