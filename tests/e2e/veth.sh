#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# veth.sh BUILD_DIR - a switch on plain virtual links, set up by hand: segmentation offload is on, as it is by default.
# shellcheck disable=SC2034,SC2154 # lib.sh sets and reads them
. "${0%/*}/lib.sh"

require tally-switch tally-perf
export PATH=$PATH:/usr/sbin:/sbin
command -v ip >/dev/null || skip_all "ip is missing (Debian package iproute2)"
if [ -z "${VETH_INSIDE-}" ]; then
	fabric_possible || skip_all "this system allows no user namespaces (unshare -Urn)"
	VETH_INSIDE=1 unshare -Urn "$0" "$build"
	exit
fi

# host NR: a network of its own, with eth0 at 10.0.0.NR and its other end, veth NR, here.
host()
{
	spawn "host$1" unshare -n sh -c 'echo there && exec sleep 1000'
	says "host$1" there
	ip link add "veth$1" type veth peer name eth0 netns "${pids[host$1]}" && ip link set "veth$1" up
	inside "$1" ip addr add "10.0.0.$1/24" dev eth0
	inside "$1" ip link set eth0 up
}

# inside NR COMMAND...: at that host.
inside()
{
	nsenter -t "${pids[host$1]}" -n "${@:2}"
}

perf()
{
	local i

	address=10.0.0.254
	for i in 0 1; do
		worker "$1$i" "$1" $i 2 env TALLY_DEBUG=info nsenter -t "${pids[host$((i + 1))]}" -n \
			"$build/tally-perf" -b "$2" -e "$2" -n 8
	done
	all_end "$1" 2 0
	printed "${1}0.out" '^# Out of bounds values : 0 OK'
}

# Trains do not arrive: slow at first, and said on both sides.
case_offload-on()
{
	host 1
	host 2
	switch_start switch -i 1@veth1 -i 2@veth2 --ip 10.0.0.254
	perf small 4K
	perf large 1M
	printed large0.err 'as a train .* do not arrive, single ones do: sending single packets'
	printed large1.err 'as a train .* do not arrive, single ones do: sending single packets'
	switch_stop switch
	for i in 1 2; do
		[ "$(grep -c "port $i: a frame longer .* trains (segmentation offload)" "$dir/switch.err")" -eq 1 ] ||
			fail "the switch did not warn once of port $i"
	done
}

# What the warning asks for.
case_offload-off()
{
	command -v ethtool >/dev/null || { why='skip: ethtool is missing' && return; }
	host 1
	host 2
	inside 1 ethtool -K eth0 tx off >/dev/null
	inside 2 ethtool -K eth0 tx off >/dev/null
	switch_start switch -i 1@veth1 -i 2@veth2 --ip 10.0.0.254
	perf large 1M
	! grep -q 'single packets' "$dir/large0.err" || fail "trains were given up although they arrive"
	switch_stop switch
	printed switch.totals '^counter\.frame_long 0'
}

ip link set lo up
run_cases 1 offload-on offload-off
exit $not_ok
