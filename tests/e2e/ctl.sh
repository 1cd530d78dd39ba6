#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ctl.sh BUILD_DIR - tallyctl and the control socket: what is shown, what orders do, and who cannot disturb.
# shellcheck disable=SC2154 # lib.sh sets them

# In a network of its own, where it sees no other switches; as root, or with users of one's own, for other users.
if [ -z "${CTL_NETWORK:-}" ]; then
	export CTL_NETWORK=shared
	own=()
	for flags in -Urn '-Urn --map-auto' -n; do
		read -ra try <<<"unshare $flags"
		! "${try[@]}" ip link set lo up 2>/dev/null || own=("${try[@]}") CTL_NETWORK=own
	done
	exec "${own[@]}" bash "$0" "$@"
fi
[ "$CTL_NETWORK" = shared ] || ip link set lo up

. "${0%/*}/lib.sh"

require tally-switch tallyctl tests/e2e/rank
rank=$build/tests/e2e/rank
export TALLY_JOIN_TIMEOUT=$((patience / 2)) TALLY_TIMEOUT=$((patience / 2))

# Cases that run at the same time name theirs.
named=
switch()
{
	switch_start switch -i "1@udp:$address" ${named:+--ctl "$named"} "$@"
}

ctl()
{
	"$build/tallyctl" ${named:+-s "$named"} "$@" >"$dir/ctl.out" 2>"$dir/ctl.err"
}

# shown PATTERN COMMAND...: tallyctl says a line like this, in the end.
shown()
{
	local pattern=$1

	shift
	until_true shows_now "$pattern" "$@" || fail "tallyctl $* does not show '$pattern': $(cat "$dir/ctl.out" "$dir/ctl.err")"
}

shows_now()
{
	ctl "${@:2}" && grep -qE -e "$1" "$dir/ctl.out"
}

# refused STATUS PATTERN COMMAND...
refused()
{
	local status

	ctl "${@:3}"
	status=$?
	[ "$status" -eq "$1" ] || fail "tallyctl ${*:3}: exit status $status, not $1"
	grep -qE -e "$2" "$dir/ctl.err" || fail "tallyctl ${*:3} lacks '$2': $(cat "$dir/ctl.err")"
}

counter()
{
	ctl show counters && awk -v name="$1" '$2 == name { n = $1 } END { print n + 0 }' "$dir/ctl.out"
}

rises()
{
	[ "$(counter "$1")" -gt "$2" ]
}

case_shown()
{
	local command

	refused 1 'no switch of (this|any) user is running: start one' show jobs
	printed ctl.err 'switches in another network namespace are seen only from there'
	switch
	shown 'no job is here' show jobs
	workers w job 3 "$rank" "until:$dir/done:3000"
	says w0 joined
	shown '^job +running +3 +none +none +20' show jobs
	shown '^ +1 +udp:'"$address"' +udp .* [1-9][0-9]* +[1-9]' show ports
	shown '^ *[1-9][0-9]* +completed +sum +contribution' show counters
	shown '^rx ([0-9]+) = sum of verdicts \1$' show counters
	shown '^ +2 +joined +127\.' show job job
	refused 1 'no job "--help"' show job -- --help
	shown '^ +[0-9]+ +(result|waits) .*all-reduce [0-9]+ ' show slot job 0
	shown '^tally_packets_total\{verdict="completed",class="sum"\} [1-9]' metrics
	shown '^tally_job_running\{job="job"\} 1$' metrics
	shown '"name": "job"' --json show jobs
	shown 'no station' show fdb
	shown 'no port has faults' show impair
	# Its reader goes, and it, too.
	timeout "$patience" "$build/tallyctl" watch | head -n 8 >"$dir/watch.out"
	[ "${PIPESTATUS[0]}" -ne 124 ] || fail "watch goes on without a reader"
	printed watch.out 'switch tally-[0-9]+ .*running for'
	for command in 'show ports' 'show jobs' 'show job job' 'show slot job 0' 'show stalls' 'show counters' 'show fdb' \
		'show impair' 'set impair 1 loss=0' metrics '--json show jobs'; do
		# shellcheck disable=SC2086 # words
		"$build/tallyctl" $command >/dev/full 2>"$dir/ctl.err" && fail "tallyctl $command >/dev/full ends well"
		printed ctl.err 'standard output: No space left'
	done
	timeout "$patience" "$build/tallyctl" watch >/dev/full 2>"$dir/ctl.err"
	[ $? -eq 1 ] || fail "watch >/dev/full does not fail"
	printed ctl.err 'standard output: No space left'
	refused 1 'no job "other"' show job other
	refused 1 'no such slot' show slot job 65000
	refused 2 'unknown command "nothing"' show nothing
	refused 2 'unknown command "nothing"' nothing special
	refused 2 'show job takes JOB' show job
	refused 2 'soon: is no number of seconds' show stalls soon
	refused 2 'is no slot.s number' show slot job x
	refused 2 'watch has no --json' --json watch
	refused 2 "too long for a socket's path" -s "/$(printf %0200d 0)" show ports
	refused 2 'a request is at most 1023 bytes' show job "$(printf %02000d 0)"
	touch "$dir/done"
	all_end w 3 0
	shown 'no job is here' show jobs
	switch_stop switch
}

# Who sleeps, in which operation, at which slot, since when; and nothing is lost by it.
case_stalls()
{
	named=stalls
	switch
	workers w job 4 "$rank" "until:$dir/done:30000"
	worker h half 1 3 "$rank" sum:1
	says w0 joined
	signal STOP w2
	shown '^job +rank 2 \(silent\) +all-reduce [0-9]+ \(int32 (sum|max), [0-9]+ elements?\) +[ED] +[0-9-]+ +[0-9-]+ +20[0-9-]+ [0-9:]+ +[0-9]+\.[0-9] s$' \
		show stalls
	shown '^half +ranks 0, 2 +to join ' show stalls
	signal KILL h
	ends h 137
	ctl show stalls 3600
	grep -q 'nothing has waited for 1 h 0 min' "$dir/ctl.out" || fail "show stalls 3600 shows: $(cat "$dir/ctl.out")"
	shown '"missing": \[' --json show stalls
	timeout "$patience" "$build/tallyctl" -s stalls watch | grep -qm 1 'rank 2 (silent), for ' || fail "watch does not show it"
	signal CONT w2
	until_true no_stall || fail "the stall stays: $(cat "$dir/ctl.out")"
	touch "$dir/done"
	all_end w 4 0
	switch_stop switch
}

no_stall()
{
	ctl show stalls && ! grep -q '^job .*all-reduce' "$dir/ctl.out"
}

# Faults begin and end while the sums go on, and these stay right.
case_impair()
{
	local before

	named=impair
	switch
	workers w job 3 "$rank" "until:$dir/done:30000"
	says w0 joined
	before=$(counter impaired)
	[ "$before" -eq 0 ] || fail "packets are lost before it was ordered"
	ctl set impair 1 loss=5%,dir=in || fail "set impair: $(cat "$dir/ctl.err")"
	grep -qE '^ +1 +in +loss=[0-9.]+% ' "$dir/ctl.out" || fail "set impair shows: $(cat "$dir/ctl.out")"
	until_true rises impaired 50 || fail "nothing is lost on purpose"
	until_true rises duplicate 10 || fail "nothing is sent again"
	ctl set impair 1 loss=0,dir=in || fail "set impair: $(cat "$dir/ctl.err")"
	grep -qE '^ +1 +in +none +[0-9]+ ' "$dir/ctl.out" || fail "ended faults are shown as $(cat "$dir/ctl.out")"
	before=$(counter impaired)
	until_true rises completed $(($(counter completed) + 100)) || fail "the job does not go on"
	[ "$(counter impaired)" -eq "$before" ] || fail "packets are lost after that was ended"
	refused 1 'there is no port 7: tallyctl show ports lists' set impair 7 loss=1%
	refused 2 'unknown key "lost"' set impair 1 lost=1%
	refused 2 'rate must be from 1K to 10000G' set impair 1 rate=fast
	refused 2 '"x" is no port number' set impair x loss=1%
	touch "$dir/done"
	all_end w 3 0
	switch_stop switch
}

case_reset()
{
	local i

	named=reset
	switch
	workers w job 3 "$rank" "until:$dir/done:3000"
	workers x other 2 "$rank" "until:$dir/done:300"
	says w0 joined
	says x0 joined
	shown '^other +running ' show jobs
	shown '^job +running ' show jobs
	ctl reset job job || fail "reset: $(cat "$dir/ctl.err")"
	for i in 0 1 2; do
		ends "w$i" 1
		printed "w$i.err" "job job was reset by an operator at the switch $address:48880; every rank"
	done
	shown '^job +forming +3 .*reset by the operator' show jobs
	refused 1 'job job is not running' reset job job
	refused 1 'no job "none": tallyctl show jobs lists' reset job none
	# Ranks that rejoin go on in a new epoch, and other jobs have not noticed.
	workers w job 3 "$rank" sum:5000 barrier
	all_end w 3 0
	touch "$dir/done"
	all_end x 2 0
	switch_stop switch
}

# Who is there goes on, also anew; others are refused by name, until there is nobody any more.
case_drain()
{
	local i

	named=drain
	switch
	workers w job 2 "$rank" "until:$dir/done:3000"
	says w0 joined
	spawn drain "$build/tallyctl" -s drain drain
	says drain '^waiting for 1 job: job$'
	workers x new 2 "$rank" sum:1
	for i in 0 1; do
		ends "x$i" 1
		printed "x$i.err" 'takes no new jobs, and job new is one: its operator drains it'
	done
	shown '^no new jobs are taken' show jobs
	shown '^tally_switch_drains 1$' metrics
	refused 2 'want off, or nothing more' drain on
	alive drain || fail "drain ends before the job does"
	touch "$dir/done"
	all_end w 2 0
	ends drain 0
	printed drain.out '^switch drain has no job any more, and takes none: it can be stopped$'
	ctl drain off || fail "drain off: $(cat "$dir/ctl.err")"
	workers y new 2 "$rank" sum:5000 barrier
	all_end y 2 0
	shown '"drained": true' --json drain
	switch_stop switch
}

# At a leaf the order goes to the parent, and to the ranks behind the other leaf.
case_reset-in-a-tree()
{
	local root=$address leaf i leaves=()

	switch_start root -i "1@udp:$root" --ctl root
	for leaf in 0 1; do
		leaves[leaf]=$(random_address)
		switch_start "leaf$leaf" -i "1@udp:${leaves[leaf]}" --parent "$root" --ctl "leaf$leaf"
	done
	for i in 0 1 2 3; do
		address=${leaves[i / 2]}
		worker "w$i" job "$i" 4 env TALLY_RANGES="$((i / 2 * 2))-$((i / 2 * 2 + 1))" "$rank" "until:$dir/done:3000"
	done
	says w3 joined
	refused 1 'several switches are running: choose one' show jobs
	grep -q '^  leaf1$' "$dir/ctl.err" || fail "leaf1 is not listed"
	shown '^job +running +4 ' -s leaf1 show jobs
	shown '^ +0-1 +joined +127\.' -s root show job job
	for i in 0 1 2; do
		address=${leaves[i / 2]}
		worker "h$i" half "$i" 4 env TALLY_RANGES="$((i / 2 * 2))-$((i / 2 * 2 + 1))" "$rank" sum:1
	done
	shown "^half +rank 3 behind leaf1 at ${leaves[1]} +to join " -s root show stalls
	shown "^half +rank 3 behind leaf1 at ${leaves[1]} +to join " -s leaf0 show stalls
	shown "^half +rank 3 +to join " -s leaf1 show stalls
	for i in 0 1 2; do
		signal KILL "h$i"
		ends "h$i" 137
	done
	signal STOP w1
	shown '^job +rank 1 \(silent\) +all-reduce ' -s leaf0 show stalls
	# No switch knows it all by itself, but they do together.
	shown "^job +rank 1 behind leaf0 at ${leaves[0]} \\(silent\\) +all-reduce " -s root show stalls
	shown "^job +rank 1 behind leaf0 at ${leaves[0]} \\(silent\\) +all-reduce " -s leaf1 show stalls
	shown '"leaf": "127[0-9.]+:48880"' --json -s root show stalls
	timeout "$patience" "$build/tallyctl" -s root watch | grep -qm 1 'rank 1 behind leaf0 at .* (silent), for ' ||
		fail "watch does not show it"
	# One that does not answer is not waited for.
	signal STOP leaf0
	shown '^job +ranks 0-1 behind 127[0-9.]+:48880' -s root show stalls
	signal CONT leaf0
	signal CONT w1
	ctl -s leaf1 reset job job || fail "reset: $(cat "$dir/ctl.err")"
	for i in 0 1 2 3; do
		ends "w$i" 1
		printed "w$i.err" 'job job was reset by an operator; every rank'
	done
	switch_stop leaf0
	switch_stop leaf1
	switch_stop root
}

# Clients that say nonsense, do not read, come in crowds, or vanish.
case_crowd()
{
	command -v python3 >/dev/null || { fail "skip: python3 is missing"; return; }
	named=crowd
	switch
	workers w job 3 "$rank" "until:$dir/done:3000"
	says w0 joined
	spawn crowd python3 "$here/ctl_crowd.py" "@tally-$(id -u)/crowd"
	says crowd '^[1-9][0-9]* conversations'
	until_true rises completed 200 || fail "the job does not go on"
	shown '^job +running +3 ' show jobs
	signal TERM crowd
	ends crowd 0
	shown '^job +running +3 ' show jobs
	touch "$dir/done"
	all_end w 3 0
	switch_stop switch
}

# no_switch PATTERN STATUS PATH: --ctl PATH is refused in one sentence.
no_switch()
{
	spawn refused "$build/tally-switch" -i "1@udp:$(random_address)" --ctl "$3"
	ends refused "$2"
	printed refused.err "tally-switch: --ctl .*$1" || fail "$3: $(cat "$dir/refused.err")"
	[ "$(wc -l <"$dir/refused.err")" -eq 1 ] || fail "$3: more than one line"
}

case_places()
{
	switch --ctl "$dir/ctl"
	no_switch 'in use by another switch: give each its own path' 1 "$dir/ctl"
	no_switch 'No such file or directory; give another path' 1 "$dir/none/ctl"
	no_switch 'longer than the 107 bytes' 2 "/$(printf %0200d 0)"
	no_switch 'must be a path with a slash' 2 'a b'
	touch "$dir/file"
	no_switch 'is no socket: remove it' 1 "$dir/file"
	shown "udp:$address" -s "$dir/ctl" show ports
	# Killed, it leaves its file, and the next takes its place.
	signal 9 switch
	ends switch 137
	[ -S "$dir/ctl" ] || fail "a killed switch takes its socket along"
	refused 1 'its switch has ended' -s "$dir/ctl" show ports
	refused 1 'no such socket' -s "$dir/never" show ports
	switch --ctl "$dir/ctl"
	shown "udp:$address" -s "$dir/ctl" show ports
	switch_stop switch
	[ ! -e "$dir/ctl" ] || fail "a switch that has ended leaves its socket"
	# By name; a second one of the name has a number.
	switch --ctl here
	shown "udp:$address" -s here show ports
	shown "udp:$address" show ports
	address=$(random_address)
	switch_start second -i "1@udp:$address" --ctl here
	shown "udp:$address" -s here-2 show ports
	refused 1 'there is no switch "there"' -s there show ports
	signal 9 second
	ends second 137
	refused 1 'there is no switch "here-2"' -s here-2 show ports
	switch_stop switch
	switch --ctl none
	refused 1 'no switch of (this|any) user is running' show ports
	switch_stop switch
	# Nothing but the file of a killed switch has ever been one.
	[ -z "$(find "$dir" -type s)" ] || fail "sockets are left: $(find "$dir" -type s)"
}

# as_user COMMAND...: as somebody else; status 1 if that cannot be.
as_user()
{
	[ "$(id -u)" -eq 0 ] && setpriv --reuid 54321 --clear-groups "$@"
}

# A name is open to all in the network namespace, and therefore looks at who comes, and tallyctl at who listens.
case_strangers()
{
	local own

	as_user true 2>/dev/null || { fail "skip: only root can be several users"; return; }
	own=$(id -u)
	cp "$build/tallyctl" "$dir/" && chmod 755 "$dir"
	switch --ctl mine
	as_user "$dir/tallyctl" -s "@tally-$own/mine" show ports >"$dir/user.out" 2>&1 && fail "a stranger is served"
	printed user.out 'closed at once: a switch serves only its own user and root'
	as_user "$dir/tallyctl" show ports >"$dir/user.out" 2>&1 && fail "a stranger finds a switch"
	printed user.out 'no switch of this user is running'
	shown '^tally_ctl_strangers_total [1-9]' -s mine metrics
	# One that says it is root's.
	spawn forger python3 -c '
import os, socket
os.setuid(54321)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\0tally-0/forged")
s.listen()
print("listens", flush=True)
while True:
    try:
        s.accept()[0].send(b"{\"pid\": 1}")
    except OSError:
        pass
'
	says forger listens
	refused 1 'there is no switch "forged"' -s forged show ports
	grep -q '^  mine$' "$dir/ctl.err" || fail "the one that runs is not listed: $(cat "$dir/ctl.err")"
	shown "udp:$address" show ports
	switch_stop switch
	# Root is let in to what is another user's, also where root is nobody.
	address=$(random_address)
	spawn theirs setpriv --reuid 54321 --clear-groups unshare -Uc "$build/tally-switch" -i "1@udp:$address" --ctl theirs
	says theirs 'ready, '
	shown "udp:$address" -s theirs show ports
	shown "udp:$address" -s 54321/theirs show ports
}

# listed_before NAME OTHER: in the kernel's list, whose order is that of a hash over the names.
listed_before()
{
	awk -v a="@tally-$1" -v b="@tally-$2" '$8 == a { seen = 1 } $8 == b { exit !seen } END { if (!seen) exit 1 }' \
		/proc/net/unix
}

# Root asks a switch as its user, and the next one as root again: each knows whom of its ranks it waits for.
case_neighbours()
{
	local root=$address theirs mine i

	as_user true 2>/dev/null || { fail "skip: only root can be several users"; return; }
	theirs=$(random_address) mine=$(random_address)
	switch_start root -i "1@udp:$root" --ctl root
	for ((i = 1; i < 30; i++)); do
		spawn theirs setpriv --reuid 54321 --clear-groups unshare -Uc "$build/tally-switch" -i "1@udp:$theirs" \
			--parent "$root" --ctl "theirs$i"
		switch_start mine -i "1@udp:$mine" --parent "$root" --ctl "mine$i"
		says theirs 'ready, '
		! listed_before "54321/theirs$i" "$(id -u)/mine$i" || break
		switch_stop mine
		switch_stop theirs
	done
	[ "$i" -lt 30 ] || { fail "the other user's switch is always the later one"; return; }
	# Of the job one rank is missing below theirs, of the other one below mine.
	address=$theirs worker a1 one 1 4 env TALLY_RANGES=0-1 "$rank" sum:1
	address=$mine workers_below one 2 3
	address=$theirs workers_below two 0 1
	address=$mine worker b2 two 2 4 env TALLY_RANGES=2-3 "$rank" sum:1
	shown "^one +rank 0 behind theirs$i at $theirs +to join " -s root show stalls
	shown "^two +rank 3 behind mine$i at $mine +to join " -s root show stalls
}

# workers_below JOB FIRST LAST: of its 4 ranks these, at the leaf $address.
workers_below()
{
	local i

	for ((i = $2; i <= $3; i++)); do
		worker "$1$i" "$1" "$i" 4 env TALLY_RANGES="$2-$3" "$rank" sum:1
	done
}

# The fabric's switches answer outside, before and after they are started again, and nowhere when they are gone.
case_fabric()
{
	local fabric

	[ -x "$build/tally-fabric" ] || { fail "skip: tally-fabric is not built"; return; }
	cat >"$dir/two.yaml" <<-END
		hosts: [h1, h2]
		switches: {s0: {ip: 10.0.0.254, restart: always}}
		links: [[h1, s0-p1], [h2, s0-p2]]
		jobs: [{name: job, ranks: [h1, h2], run: "until [ -e '$dir/done' ]; do sleep 0.05; done"}]
	END
	spawn one "$build/tally-fabric" run "$dir/two.yaml"
	shown '^ +1 +p1 +net_af_packet ' -s s0 show ports
	spawn two "$build/tally-fabric" run -v "$dir/two.yaml"
	says two 'for tallyctl s0 is s0-2$'
	shown '^ +1 +p1 +net_af_packet ' -s s0-2 show ports
	fabric=${pids[one]}
	kill -9 "$(switch_below "$fabric")"
	says one 'switch s0 was killed .* and is started again(; its last words were: .*)?$'
	shown '^ +1 +p1 +net_af_packet ' -s s0 show ports
	kill -9 "$fabric"
	ends one 137
	until_true not_seen s0 || fail "a killed fabric's switch is still there"
	touch "$dir/done"
	ends two 0
	refused 1 'no switch of (this|any) user is running' show ports
}

# switch_below PID: the tally-switch among the descendants of a process.
switch_below()
{
	local child

	for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
		[ "$(cat "/proc/$child/comm")" != tally-switch ] || echo "$child"
		switch_below "$child"
	done
}

not_seen()
{
	! grep -q "@tally-$(id -u)/$1\$" /proc/net/unix
}

run_cases 4 stalls impair reset crowd drain
run_cases 1 shown reset-in-a-tree places strangers neighbours fabric
exit $not_ok
