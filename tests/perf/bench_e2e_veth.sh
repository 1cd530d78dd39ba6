#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# All-reduce of four hosts in namespaces: packets of ranks per CPU-second of all ranks and the switch together.
#
# usage: bench_e2e_veth.sh BUILD_DIR --json FILE
# The reference is the same ranks as threads of one process, in turn.  A short run is taken from a long one, so that
# starting, making data and joining have no part in the figure.  Exits with 77 and a reason where there is no network.

set -uo pipefail

if [ $# -ne 3 ] || [ "$2" != --json ]; then
	echo "usage: bench_e2e_veth.sh BUILD_DIR --json FILE" >&2
	exit 2
fi
build=$1 json=$3
short=2
ranks=4 bytes=4194304
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-bench.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

if [ ! -x "$build/tally-fabric" ] || [ ! -x "$build/tally-switch" ]; then
	echo "tally-fabric or tally-switch is not built"
	exit 77
fi

# topology ITERATIONS
topology()
{
	cat <<-EOF
		hosts: [h1, h2, h3, h4]
		switches:
		  s1: {ip: 10.0.0.254}
		links:
		  - [h1, s1-p1]
		  - [h2, s1-p2]
		  - [h3, s1-p3]
		  - [h4, s1-p4]
		jobs:
		  - name: bench
		    ranks: [h1, h2, h3, h4]
		    workload: {sizes: [$bytes], dtype: float32, op: sum, iterations: $1, warmup: 1, check: 0}
	EOF
}

# veth DRIVER ITERATIONS: CPU seconds of the ranks and the switch, and the contributions summed.
veth()
{
	local code=0

	timeout 40 "$build/tally-fabric" run "$tmp/$2.yaml" --driver "$1" >"$tmp/log" 2>&1 || code=$?
	echo "$code" >"$tmp/code"
	[ "$code" -eq 0 ] || return 1
	awk '
		$1 == "bench" && NF == 6 { cpu += $6 }
		$1 == "cpu" && $3 == "s" { cpu += $2 }
		$2 == "held" || $2 == "completed" { nr += $1 }
		END { if (nr > 0) print cpu, nr; else exit 1 }' "$tmp/log"
}

# inproc ITERATIONS: the same of the threads of one process, with the chunk that MTU 1500 carries, so that there are
# as many contributions.
inproc()
{
	local TIMEFORMAT='%U %S'

	{
		time timeout 40 env -u TALLY_SWITCH TALLY_CHUNK=1408 "$build/tally-perf" -t "$ranks" \
			--sizes "$bytes" -n "$1" -w 1 -c 0 >"$tmp/inproc" 2>&1
	} 2>"$tmp/time" || return 1
	awk '{ print $1 + $2 }' "$tmp/time"
}

# turn DRIVER ITERATIONS: one line "M packets/CPU-s over veth, in process".
turn()
{
	local a b c d

	a=$(veth "$1" $short) && b=$(veth "$1" "$2") && c=$(inproc $short) && d=$(inproc "$2") || return 1
	awk -v a="$a" -v b="$b" -v c="$c" -v d="$d" 'BEGIN {
		split(a, x, " "); split(b, y, " ")
		nr = (y[2] - x[2]) / 1e6
		if (y[1] > x[1] && d > c && nr > 0)
			print nr / (y[1] - x[1]), nr / (d - c)
	}'
}

topology $short >"$tmp/$short.yaml"
: >"$tmp/figures"
for driver in udp:3:14 af_packet:2:6; do
	IFS=: read -r driver turns long <<<"$driver"
	topology "$long" >"$tmp/$long.yaml"
	: >"$tmp/turns"
	for ((i = 0; i < turns; i++)); do
		turn "$driver" "$long" >>"$tmp/turns" || break
	done
	# Medians of each column and of the ratio.
	awk -v driver="$driver" '
		function median(v, nr,    i, j, t) {
			for (i = 2; i <= nr; i++)
				for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
					t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
				}
			return v[int((nr + 1) / 2)]
		}
		NF == 2 { nr++; a[nr] = $1; b[nr] = $2; r[nr] = $1 / $2 }
		END {
			if (nr)
				printf "  {\"name\": \"over veth, 4 hosts, --driver %s\", \"value\": %.4f, " \
				       "\"unit\": \"M/CPU-s\", \"reference\": \"in process, 4 threads\", " \
				       "\"reference_value\": %.4f, \"ratio\": %.4f}\n", driver, median(a, nr),
				       median(b, nr), median(r, nr)
		}' "$tmp/turns" >>"$tmp/figures"
done
if [ ! -s "$tmp/figures" ]; then
	cat "$tmp/log"
	# What tally-fabric ends with where it may not make a network.
	[ "$(cat "$tmp/code")" -eq 125 ] && exit 77
	exit 1
fi
{
	echo '['
	sed '$!s/$/,/' "$tmp/figures"
	echo ']'
} >"$json"
cat "$json"
