#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# impair.sh BUILD_DIR - faults on purpose, each alone and all together: they happen, and every sum is exact.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tally-perf tests/e2e/rank
rank=$build/tests/e2e/rank
perf=$build/tally-perf
sizes=(-b 4K -e 256K -f 8 -n 3 -w 0)
export TALLY_JOIN_TIMEOUT=$((patience / 2))

# What all of these come to without any fault.
"$perf" -t 3 "${sizes[@]}" >"$work/alone.out" 2>&1 || skip_all "tally-perf does not run"
want=$(sed -nE 's/^# Result hash : ([0-9a-f]{16})$/\1/p' "$work/alone.out")

exact()
{
	printed "$1" '^# Out of bounds values : 0 OK'
	same_hash "$1" "$want"
}

# number NAME KEY: of the totals.
number()
{
	awk -v key="$2" '$1 == key { print $2 }' "$dir/$1.totals"
}

# happened NAME KEY...: the totals have these more than 0 times.
happened()
{
	local key

	for key in "${@:2}"; do
		[ "$(number "$1" "$key")" -gt 0 ] 2>/dev/null || fail "$1: $key is $(number "$1" "$key")"
	done
}

# socket FAULTS KEY...: three ranks at a UDP port with these faults; the KEYs have happened in both directions.
socket()
{
	local faults=$1 key

	shift
	switch_start switch -i "1@udp:$address" --impair "1:$faults" --seed 5
	workers w job 3 env "${with[@]}" "$perf" "${sizes[@]}"
	all_end w 3 0
	switch_stop switch
	exact w0.out
	for key; do
		happened switch "port.1.in_$key" "port.1.out_$key"
	done
}

with=(TALLY_WINDOW=32)

case_udp-loss() { socket loss=3% lost; }
case_udp-burst() { socket burst=2%:25%:90%:0.5% burst; }
case_udp-dup() { socket dup=10% duplicated; }
case_udp-reorder() { socket reorder=10%,distance=8 overtaken; }
case_udp-jitter() { socket jitter=2ms delayed; }

# The ranks send more at once than the queue takes.
case_udp-queue()
{
	socket rate=50Mbit,queue=20,dir=in
	happened switch port.1.in_queue port.1.in_delayed counter.impaired_queue
}
case_udp-queue-of-bytes()
{
	socket rate=50Mbit,queue=30KB,dir=in
	happened switch port.1.in_queue port.1.in_delayed counter.impaired_queue
}

case_udp-everything()
{
	socket loss=1%,burst=1%:30%,dup=3%,reorder=3%,distance=5,delay=300us,jitter=500us,rate=200Mbit,queue=200 \
		lost burst duplicated overtaken delayed
}

# Whatever the CPU does, a round trip takes no less than the delay of both directions.
case_udp-delay()
{
	sizes=(-b 4K -e 4K -n 4 -w 0)
	switch_start switch -i "1@udp:$address" --impair 1:delay=5ms
	workers w job 2 "$perf" "${sizes[@]}"
	all_end w 2 0
	switch_stop switch
	printed w0.out '^# Out of bounds values : 0 OK'
	happened switch port.1.in_delayed port.1.out_delayed
	awk '$3 == "float" { n++; if ($6 < 10000 || $10 < 10000) bad = 1 } END { exit bad || n != 1 }' "$dir/w0.out" ||
		fail "faster than the delay: $(grep float "$dir/w0.out")"
	awk '/^# Round trip/ { n++; if ($5 < 10000) bad = 1 } END { exit bad || n != 1 }' "$dir/w0.out" ||
		fail "faster than the delay: $(grep 'Round trip' "$dir/w0.out")"
}

# No more gets through than the rate allows, but for a queue that is given up at the end.
case_udp-rate()
{
	local bytes seconds

	socket rate=40Mbit,queue=64KB,dir=out
	happened switch port.1.out_delayed
	bytes=$(number switch port.1.tx_bytes)
	seconds=$(number switch run_s)
	awk -v b="$bytes" -v s="$seconds" 'BEGIN { exit (b - 65536) * 8 > s * 40e6 }' ||
		fail "$bytes bytes in $seconds s are more than 40 Mbit/s"
}

# A kernel's socket has no checksum left that would tell: the ranks' own does.
case_udp-corrupt()
{
	with+=(TALLY_CHECK=1)
	socket corrupt=2% corrupted
	happened switch counter.bad_crc
}

# set FAULTS: at run time.
set_faults()
{
	"$build/tallyctl" -s "$dir/ctl" set impair 1 "$1" >"$dir/ctl.out" 2>&1 || fail "tallyctl: $(cat "$dir/ctl.out")"
}

# met PATTERN: packets have met this fault, as the switch says when asked.
met()
{
	signal USR1 switch
	sleep 0.05
	grep -qE "on purpose, in: (.* )?[1-9][0-9]* $1" "$dir/switch.out"
}

# dropped SWITCH COUNTER: it has counted some.
dropped()
{
	"$build/tallyctl" -s "$1" show counters | grep -qE "[1-9][0-9]* +$2 "
}

# A partition that heals: the ranks wait, and go on.
case_udp-down-and-up()
{
	switch_start switch -i "1@udp:$address" --ctl "$dir/ctl"
	workers w job 3 "$rank" "until:$dir/enough:3000"
	says w0 joined
	set_faults down=on
	until_true met 'lost while down' || fail "nothing is lost while down"
	alive w0 || fail "a rank ends while it is cut off"
	set_faults down=off
	touch "$dir/enough"
	all_end w 3 0
	switch_stop switch
}

# From bad to worse to none; what is held back then still comes.
case_udp-changed()
{
	switch_start switch -i "1@udp:$address" --ctl "$dir/ctl" --impair 1:loss=2%
	workers w job 3 "$rank" "until:$dir/enough:3000"
	until_true met lost || fail "nothing is lost"
	set_faults loss=0,delay=2ms,dup=20%,reorder=20%
	until_true met duplicated || fail "nothing is duplicated"
	until_true met overtaken || fail "nothing is overtaken"
	set_faults delay=0,dup=0,reorder=0
	touch "$dir/enough"
	all_end w 3 0
	"$build/tallyctl" -s "$dir/ctl" set impair 1 loss=1%,, >"$dir/bad.out" 2>&1 && fail "a wrong order is taken"
	printed bad.out 'KEY=VALUE is missing before or after a comma'
	switch_stop switch
}

# namespaces FAULTS KEY...: three hosts, one of them behind a link with these faults, which happen there.
namespaces()
{
	cat >"$dir/net.yaml" <<-END
		hosts: [h1, h2, h3]
		switches: [s1]
		links: [[h1, s1-p1], [h2, s1-p2, {$1}], [h3, s1-p3]]
		jobs:
		  - name: sums
		    ranks: [h1, h2, h3]
		    run: "exec env ${with[*]} tally-perf ${sizes[*]}"
	END
	shift
	spawn net "$build/tally-fabric" run "$dir/net.yaml" --seed 5
	ends net 0
	exact net.out
	printed net.out '^ *rx ([0-9]+) = sum of verdicts \1$'
	for key; do
		printed net.out "on purpose, (in|out): (.* )?[1-9][0-9]* $key(,|$)"
	done
}

case_netns-loss() { namespaces "loss: 2%, burst: 1%:30%" lost "lost in bursts"; }
case_netns-order() { namespaces "dup: 10%, reorder: 10%, distance: 4, jitter: 1ms" duplicated overtaken delayed; }
case_netns-delay() { namespaces "delay: 2ms" delayed; }
case_netns-rate() { namespaces "rate: 50M, queue: 20" delayed "beyond the queue"; }
# Whatever part of a frame is changed: a checksum tells.
case_netns-corrupt()
{
	namespaces "corrupt: 5%" corrupted
	printed net.out '^ +[1-9][0-9]* +udp_checksum '
}
# On its way to the next switch, whose port is an interface: the kernel there has not looked either.
case_netns-corrupt-out()
{
	local root=r$BASHPID leaf=l$BASHPID other=o$BASHPID

	cat >"$dir/net.yaml" <<-END
		hosts: [h1, h2, h3, h4]
		switches: [$root, $leaf, $other]
		links: [[h1, $leaf-p1], [h2, $leaf-p2], [h3, $other-p1], [h4, $other-p2], [$leaf-p9, $root-p1], [$other-p9, $root-p2]]
		jobs: [{name: sums, ranks: [h1, h2, h3, h4], run: "exec '$rank' until:$dir/enough:3000"}]
	END
	spawn net "$build/tally-fabric" run "$dir/net.yaml"
	until_true "$build/tallyctl" -s "$leaf" set impair 9 corrupt=2%,dir=out >/dev/null 2>&1 || fail "no leaf"
	until_true dropped "$root" udp_checksum || fail "no wrong checksum is dropped"
	touch "$dir/enough"
	ends net 0
	printed net.out "rank 0: until:$dir/enough:3000 right"
}
case_netns-corrupt-checked()
{
	with+=(TALLY_CHECK=1)
	namespaces "corrupt-checked: 2%" "corrupted under a right checksum"
	printed net.out '^ +[1-9][0-9]* +bad_crc '
}
case_netns-everything()
{
	namespaces "loss: 1%, burst: 1%:30%, dup: 3%, reorder: 3%, distance: 5, delay: 300us, jitter: 500us, \
rate: 200M, queue: 256KB, corrupt: 2%" \
		lost "lost in bursts" duplicated overtaken delayed corrupted
}

cases=(udp-loss udp-burst udp-dup udp-reorder udp-jitter udp-queue udp-queue-of-bytes udp-rate udp-delay
	udp-corrupt udp-everything)
if [ -x "$build/tallyctl" ]; then
	cases+=(udp-down-and-up udp-changed)
else
	echo "skip udp-down-and-up: tallyctl is not built"
fi
run_cases 3 "${cases[@]}"
if fabric_possible && [ -x "$build/tally-fabric" ]; then
	cases=(netns-loss netns-order netns-delay netns-rate netns-corrupt netns-corrupt-checked netns-everything)
	[ ! -x "$build/tallyctl" ] || cases+=(netns-corrupt-out)
	run_cases 2 "${cases[@]}"
else
	echo "skip netns: this system allows no user namespaces (unshare -Urn)"
fi
exit $not_ok
