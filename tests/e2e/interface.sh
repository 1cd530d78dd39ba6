#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# interface.sh BUILD_DIR - links of a topology file that stand on interfaces of the machine: with a rank outside behind
# one, with both ends on one, what is left of them after each end of a run, and what is said of those that will not do.
# shellcheck disable=SC2034,SC2154 # lib.sh sets and reads them
. "${0%/*}/lib.sh"

require tally-switch tally-perf tally-fabric tests/e2e/rank
fabric=$build/tally-fabric
export PATH=$PATH:/usr/sbin:/sbin
command -v ip >/dev/null || skip_all "ip is missing (Debian package iproute2)"
if [ -z "${VETH_INSIDE-}" ]; then
	fabric_possible || skip_all "this system allows no user namespaces (unshare -Urn)"
	VETH_INSIDE=1 unshare -Urn "$0" "$build"
	exit
fi
ip link set lo up
ip link add probe type veth peer name other && ip link set probe up &&
	ip link add above link probe type macvlan mode passthru 2>/dev/null || skip_all "this kernel has no macvlan interfaces"
ip link del probe

# pair NR [MTU]: an interface vethNR here, whose other end is eth0 of a namespace of its own, host NR, at 10.0.0.NR.
pair()
{
	spawn "host$1" unshare -n sh -c 'echo there && exec sleep 1000'
	says "host$1" there
	ip link add "veth$1" mtu "${2-1500}" type veth peer name eth0 mtu "${2-1500}" netns "${pids[host$1]}"
	ip link set "veth$1" addrgenmode none # its address would come later
	ip addr add "192.168.$1.7/24" dev "veth$1"
	ip link set "veth$1" up
	nsenter -t "${pids[host$1]}" -n sh -c "ethtool -K eth0 tx off >/dev/null 2>&1; ip link set eth0 up; ip addr add 10.0.0.$1/24 dev eth0"
}

# What is to be the same before and after, without statistics.
state()
{
	ip -d addr show "$1" | grep -v valid_lft
}

# file LINK: one host inside, and one at LINK.
file()
{
	cat >"$dir/net.yaml" <<-END
		hosts: [h1, h2]
		switches: [s1]
		links: [[h1, s1-p1], $1]
		jobs: [{name: sums, ranks: [h1, h2], workload: {sizes: [4K, 256K], iterations: 5}}]
	END
}

# Rank 1 is started in another namespace by the line that the fabric prints.
outside()
{
	local line

	says run 'start rank 1 of job sums yourself at h2, with the address 10.0.0.2/24:$'
	line=$(grep -m 1 -E '^  TALLY_SWITCH=10\.0\.0\.254 TALLY_JOB=sums TALLY_RANK=1 TALLY_SIZE=2 tally-perf ' "$dir/run.err")
	[ -n "$line" ] || fail "no line to start rank 1 with: $(tail -n 1 "$dir/run.err")"
	spawn rank nsenter -t "${pids[host2]}" -n env PATH="$build:$PATH" sh -c "exec env $line"
}

case_rank-outside()
{
	pair 2
	file '[h2, s1-p2, {interface: veth2}]'
	state veth2 >"$dir/before"
	spawn run "$fabric" run "$dir/net.yaml" --timeout "$patience" "$@"
	outside
	ends rank 0
	ends run 0
	printed run.out '^# Out of bounds values : 0 OK'
	state veth2 >"$dir/after"
	cmp -s "$dir/before" "$dir/after" || fail "veth2 is not as it was: $(diff "$dir/before" "$dir/after" | tail -n 1)"
	ip link del veth2
}

case_rank-outside-udp()
{
	case_rank-outside --driver udp
}

# However the run ends.
case_left()
{
	local sig code

	pair 2
	file '[h2, s1-p2, {interface: veth2}]'
	state veth2 >"$dir/before"
	for sig in KILL:137 INT:130 TERM:130; do
		spawn run "$fabric" run "$dir/net.yaml" --timeout "$patience"
		says run 'start rank 1 of job sums'
		signal "${sig%:*}" run
		until_true gone run || fail "the run does not end by ${sig%:*}"
		end_state()
		{
			state veth2 | cmp -s - "$dir/before"
		}
		until_true end_state || fail "after ${sig%:*}: $(state veth2 | diff - "$dir/before" | head -n 2 | tail -n 1)"
		wait "${pids[run]}" 2>/dev/null
	done
	ip link del veth2
}

# The interface is deleted in the middle, and made again: the rank behind it goes on.
case_vanishes()
{
	pair 2
	file '[h2, s1-p2, {interface: veth2}]'
	sed -i 's|workload: .*}}|run: "exec '"'$build/tests/e2e/rank' 'until:$dir/over:3000'"' barrier", env: {TALLY_TIMEOUT: 60}}|' "$dir/net.yaml"
	nsenter -t "${pids[host2]}" -n ip link set eth0 address 02:00:00:00:00:02
	spawn run "$fabric" run "$dir/net.yaml" --timeout "$patience"
	says run 'start rank 1 of job sums yourself'
	spawn rank nsenter -t "${pids[host2]}" -n env TALLY_SWITCH=10.0.0.254 TALLY_JOB=sums TALLY_RANK=1 TALLY_SIZE=2 TALLY_TIMEOUT=60 \
		"$build/tests/e2e/rank" "until:$dir/over:3000" barrier
	says rank joined
	ip link del veth2
	says run 'interface veth2 is gone: the link of s1 waits until it is there again, and up$'
	ip link add veth2 type veth peer name eth0 address 02:00:00:00:00:02 netns "${pids[host2]}"
	nsenter -t "${pids[host2]}" -n sh -c "ip link set eth0 up; ip addr add 10.0.0.2/24 dev eth0"
	ip link set veth2 up
	says run 'interface veth2 is there again$'
	touch "$dir/over"
	ends rank 0
	ends run 0
	printed rank.out 'barrier right'
	ip link del veth2
}

# As two cabled ports of one machine.
case_both-ends()
{
	ip link add left type veth peer name right
	ethtool -K left tx off >/dev/null 2>&1
	ip link set left up
	ip link set right up
	file '[h2, s1-p2, {interface: [left, right], loss: 1%}]'
	spawn run "$fabric" run "$dir/net.yaml" --timeout "$patience"
	ends run 0
	printed run.out '^# Out of bounds values : 0 OK'
	printed run.out '^sums +1 +h2 +0 '
	ip link del left
}

# refused CODE PATTERN
refused()
{
	spawn run "$fabric" run "$dir/net.yaml" --timeout "$patience"
	ends run "$1"
	printed run.err "$2"
	[ "$(wc -l <"$dir/run.err")" -le 3 ] || fail "more than one line: $(cat "$dir/run.err")"
}

case_refused()
{
	pair 2
	file '[h2, s1-p2, {interface: vet2}]'
	refused 125 "there is no interface 'vet2' here; there are: veth2$"
	file '[h2, s1-p2, {interface: lo}]'
	refused 125 'interface lo is no Ethernet interface$'
	file '[h2, s1-p2, {interface: veth2, mtu: 9000}]'
	refused 125 'interface veth2 has an MTU of 1500, and the link at it one of 9000: .ip link set veth2 mtu 9000., or '
	file '[h2, s1-p2, {interface: veth2}]'
	ip link set veth2 down
	refused 125 'interface veth2 is down: .ip link set veth2 up.$'
	ip link set veth2 up
	ip link add bridge type bridge && ip link set veth2 master bridge && {
		refused 125 'interface veth2 is in use, as a port of a bridge or bond'
		ip link set veth2 nomaster
		ip link del bridge
	}
	ip route add default via 192.168.2.1 dev veth2
	refused 125 'interface veth2 is in use: the default route of this machine goes through it$'
	ip route del default
	ip link add above link veth2 type macvlan mode passthru
	refused 125 'interface veth2 is in use: by another fabric\?$'
	ip link del above
	spawn run unshare -U "$fabric" run "$dir/net.yaml"
	ends run 125
	printed run.err 'CAP_NET_ADMIN and CAP_SYS_ADMIN where the interface is: run it as root, or in a network namespace of your own'
	spawn run "$fabric" shell "$dir/net.yaml" h2
	ends run 2
	printed run.err 'host h2 is outside, behind an interface'
	spawn run "$fabric" run --fabric inproc "$dir/net.yaml"
	ends run 0
	printed run.err 'the interfaces of the file are not used: --fabric inproc makes all links'
	ip link del veth2
}

run_cases 1 rank-outside rank-outside-udp left vanishes both-ends refused
exit $not_ok
