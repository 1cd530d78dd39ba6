#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# vanish.sh BUILD_DIR - an interface of a switch that is deleted and made anew, or moved away and back, in the middle of
# a job: the switch says so by name, serves the other ports meanwhile, and takes the interface up again.
# shellcheck disable=SC2034,SC2154 # lib.sh sets and reads them
. "${0%/*}/lib.sh"

require tally-switch tally-perf tests/e2e/rank
export PATH=$PATH:/usr/sbin:/sbin
command -v ip >/dev/null || skip_all "ip is missing (Debian package iproute2)"
if [ -z "${VETH_INSIDE-}" ]; then
	fabric_possible || skip_all "this system allows no user namespaces (unshare -Urn)"
	VETH_INSIDE=1 unshare -Urn "$0" "$build"
	exit
fi
gone='port 2: interface veth2 is gone; '
back='port 2: interface veth2 is there again'

# inside NR COMMAND...: at that host.
inside()
{
	nsenter -t "${pids[host$1]}" -n "${@:2}"
}

# plug NR: veth NR here, and at the host eth0 with the address 10.0.0.NR; its MAC address is always the same.
plug()
{
	ip link add "veth$1" type veth peer name eth0 \
		address "02:00:00:00:00:0$1" netns "${pids[host$1]}" && ip link set "veth$1" up
	inside "$1" ethtool -K eth0 tx off >/dev/null 2>&1
	inside "$1" ip addr add "10.0.0.$1/24" dev eth0
	inside "$1" ip link set eth0 up
}

# The cases' networks follow each other.
unplug()
{
	local i

	for i in 1 2 3; do
		ip link del "veth$i" 2>/dev/null
	done
}

# A switch with three hosts, of which 1 and 2 work at the job `cut` until $dir/over is there.
begin()
{
	local i

	address=10.0.0.254
	unplug
	for i in 1 2 3; do
		spawn "host$i" unshare -n sh -c 'echo there && exec sleep 1000'
		says "host$i" there
		plug "$i"
	done
	switch_start switch -i 1@veth1 -i 2@veth2 -i 3@veth3 --ip 10.0.0.254 --ctl none
	for i in 0 1; do
		worker "cut$i" cut $i 2 env TALLY_TIMEOUT="$patience" nsenter -t "${pids[host$((i + 1))]}" -n \
			"$build/tests/e2e/rank" "until:$dir/over:3000" barrier
	done
	says cut0 'joined'
	says cut1 'joined'
}

# The third host's port carries a whole job while the second's is gone, in which the switch rests.
meanwhile()
{
	local before after

	worker other other 0 1 nsenter -t "${pids[host3]}" -n "$build/tally-perf" -b 4K -e 64K -n 5
	ends other 0
	printed other.out '^# Out of bounds values : 0 OK'
	read -r _ _ _ _ _ _ _ _ _ _ _ _ _ before after _ <"/proc/${pids[switch]}/stat"
	before=$((before + after))
	sleep 1
	read -r _ _ _ _ _ _ _ _ _ _ _ _ _ ticks after _ <"/proc/${pids[switch]}/stat"
	[ $((ticks + after - before)) -lt 60 ] || fail "the switch spins: $((ticks + after - before)) ticks in a second"
}

# once PATTERN: the switch has said so, and no more than that.
once()
{
	says switch "$1"
	[ "$(grep -c "$1" "$dir/switch.err")" -eq 1 ] || fail "the switch says more than once: $1"
}

# Both ranks come to the end, with right sums.
over()
{
	touch "$dir/over"
	ends cut0 0
	ends cut1 0
	printed cut0.out 'barrier right'
	! grep -hE '^wrong' "$dir"/cut?.out || fail "a wrong sum"
	switch_stop switch
}

case_deleted()
{
	begin
	ip link del veth2
	once "$gone"
	meanwhile
	plug 2
	once "$back"
	over
}

case_moved()
{
	begin
	ip link set veth2 netns "${pids[host3]}"
	once "$gone"
	meanwhile
	inside 3 ip link set veth2 netns $$
	once "$back"
	ip link set veth2 up
	over
}

# It stays away: the ranks of its job say whom they miss, and the switch ends well.
case_away()
{
	local i

	begin
	for i in 0 1; do
		signal KILL "cut$i"
	done
	for i in 0 1; do
		worker "cut$i" away $i 2 env TALLY_TIMEOUT=3 nsenter -t "${pids[host$((i + 1))]}" -n \
			"$build/tests/e2e/rank" "until:$dir/over:3000" barrier
	done
	says cut0 'joined'
	says cut1 'joined'
	ip link del veth2
	once "$gone"
	says cut0 'rank 1 of 2'
	says cut1 'the switch 10\.0\.0\.254'
	switch_stop switch
}

ip link set lo up
run_cases 1 deleted moved away
exit $not_ok
