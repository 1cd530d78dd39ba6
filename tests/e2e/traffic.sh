#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# traffic.sh BUILD_DIR - ordinary, strange and hostile frames beside an all-reduce.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-fabric tally-switch tally-perf tests/e2e/rank
fabric_possible || skip_all "this system allows no user namespaces (unshare -Urn)"
rank=$build/tests/e2e/rank
export PYTHONDONTWRITEBYTECODE=1 PATH=$PATH:/usr/sbin:/sbin

# topology JOBS: four hosts at one switch.
topology()
{
	cat >"$dir/net.yaml" <<-END
		hosts: [h1, h2, h3, h4]
		switches: {s1: {ip: 10.0.0.254}}
		links: [[h1, s1-p1], [h2, s1-p2], [h3, s1-p3], [h4, s1-p4]]
		jobs:
		$1
	END
}

# counted NAME: the switch's totals have this at least once.
counted()
{
	local name

	for name; do
		printed net.out "^ +[1-9][0-9]* +$name "
	done
}

ran()
{
	ends net 0
	printed net.out 'rx ([0-9]+) = sum of verdicts \1'
}

# Between the hosts that add up, between one of them and another, and to the switch.
case_ping()
{
	cat >"$dir/pings" <<-END
		until [ -e '$dir/begun' ]; do sleep 0.01; done
		for to in 10.0.0.1 10.0.0.2 10.0.0.254; do
			ping -n -c 40 -i 0.01 -W $patience \$to || exit 1
		done
		: >'$dir/done.'\$TALLY_JOB
	END
	cat >"$dir/sums" <<-END
		if [ \$TALLY_RANK = 0 ]; then
			{ until [ -e '$dir/done.outside' ] && [ -e '$dir/done.inside' ]; do sleep 0.01; done
			: >'$dir/done'; } &
		fi
		exec '$rank' sum:10 until:$dir/done:20000
	END
	topology "
- {name: sums, ranks: [h1, h2], run: \"sh '$dir/sums'\"}
- {name: mark, ranks: [h1], run: \"exec '$rank' barrier wait:$dir/pinging\"}
- {name: outside, ranks: [h3], run: \"sh '$dir/pings'\"}
- {name: inside, ranks: [h2], run: \"sh '$dir/pings'\"}"
	spawn net "$build/tally-fabric" run "$dir/net.yaml"
	says net 'sum:10 right'
	touch "$dir/begun" "$dir/pinging"
	ran
	[ "$(grep -c '40 packets transmitted, 40 received, 0% packet loss' "$dir/net.out")" -eq 6 ] ||
		fail "not all pings came back: $(grep -E 'packet loss' "$dir/net.out" | tr '\n' ' ')"
	printed net.out "rank 0: until:$dir/done:20000 right"
	counted echo_reply forwarded arp_reply
}

strange()
{
	local job

	job="exec python3 '$here/traffic.py' eth0 10.0.0.254 10.0.0.1 sums 3 '$dir/begun' '$dir/round' '$dir/stop'"
	topology "
- {name: sums, ranks: [h1, h2, h3], run: \"sh '$dir/sums'\"}
- {name: strange, ranks: [h4], run: \"ethtool -K eth0 tx on tso on gso on tx-udp-segmentation on >/dev/null; $job\"}"
	spawn net "$build/tally-fabric" run "$dir/net.yaml" "$@"
	ran
	printed net.out 'a round of strange traffic is over'
	# Not ip_fragment: on these ports the kernel has joined them.
	counted icmp_checksum bad_version bad_direction bad_kind frame_short ip_options ip_checksum ip_version ip_length not_mine bad_source link_local same_port spoofed arp_reply flooded
}

# All that time sums are right, and so are those of a run whose results are compared with others'.
case_strange-frames()
{
	local sizes='-n 3 -w 0 -d all -o all --counts 1,257,4096,100000'

	cat >"$dir/sums" <<-END
		if [ \$TALLY_RANK = 0 ]; then : >'$dir/begun'; fi
		'$rank' until:$dir/round:20000 || exit
		TALLY_JOB=more '$build/tally-perf' $sizes || exit
		[ \$TALLY_RANK != 0 ] || : >'$dir/stop'
	END
	# shellcheck disable=SC2086 # options
	spawn alone "$build/tally-perf" -t 3 $sizes
	ends alone 0
	strange
	same_hash net.out "$(hash_of alone.out)"
	printed net.out "rank 0: until:$dir/round:20000 right"
	! command -v ethtool >/dev/null || counted frame_long
}

case_strange-frames-and-faults()
{
	cat >"$dir/sums" <<-END
		if [ \$TALLY_RANK = 0 ]; then : >'$dir/begun'; fi
		'$rank' until:$dir/round:20000 || exit
		[ \$TALLY_RANK != 0 ] || : >'$dir/stop'
	END
	strange --loss 1% --dup 1% --reorder 1%
	printed net.out "rank 0: until:$dir/round:20000 right"
	counted impaired
}

cases=(ping)
command -v ping >/dev/null || { cases=() && echo "skip ping: ping is missing (Debian package iputils-ping)"; }
if command -v python3 >/dev/null; then
	cases+=(strange-frames strange-frames-and-faults)
else
	echo "skip strange-frames: python3 is missing"
fi
run_cases 1 "${cases[@]}"
exit $not_ok
