#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every benchmark and prints one table; what is beside a figure was measured in the same run, in turn with it.
#
# usage: tests/perf/run.sh BUILD_DIR
#   BUILD_DIR/../bench/*.json  the figures, and machine.json: the state of the machine they were taken on
#   BUILD_DIR/../bench/*.txt   what the programs printed

set -uo pipefail

here=$(dirname -- "$0")
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
	echo "usage: tests/perf/run.sh BUILD_DIR" >&2
	exit 2
fi
build=$1
out=$build/../bench
mkdir -p -- "$out" || exit 1
out=$(cd -- "$out" && pwd)
rm -f -- "$out"/{machine,add,quant,gpu,e2e,veth}.{json,txt} || exit 1
status=0

# skip NAME REASON
skip()
{
	printf 'skipped %s: %s\n' "$1" "$2"
}

# measure NAME COMMAND...: its figures go to NAME.json, the rest of what it prints to NAME.txt; 77: it cannot run here.
measure()
{
	local name=$1 code=0

	shift
	timeout 60 "$@" --json "$out/$name.json" >"$out/$name.txt" 2>&1 || code=$?
	case $code in
	0) ;;
	77) skip "$name" "$(tail -n 1 "$out/$name.txt")" ;;
	*)
		printf 'FAILED %s, exit %d: %s\n' "$name" "$code" "$(tail -n 1 "$out/$name.txt")"
		status=1
		;;
	esac
}

# The first value of a key of /proc/cpuinfo.
cpuinfo()
{
	sed -n "s/^$1[[:space:]]*: //p" /proc/cpuinfo | head -n 1
}

machine()
{
	local dpdk load

	dpdk=$("${PKG_CONFIG:-pkg-config}" --modversion libdpdk 2>/dev/null)
	load=$(cut -d ' ' -f 1-3 /proc/loadavg)
	cat <<-EOF
		{
		  "date": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
		  "cores": $(nproc),
		  "model": "$(cpuinfo 'model name')",
		  "kernel": "$(uname -r)",
		  "dpdk": "${dpdk:-none}",
		  "load": "$load",
		  "user": $(id -u)
		}
	EOF
}

# Goals by the name of the figure: "at most" for times, "at least" for rates.
goals()
{
	cat <<-'EOF'
		avx512 add32, 1 KiB|P1 <= 1.10
		avx512 add32 saturating, 1 KiB|P1 <= 1.35
		avx2 add32, 1 KiB|P1 <= 1.10
		avx2 add32 saturating, 1 KiB|P1 <= 1.35
		scalar add32, 1 KiB, beside the best|P1 >= 3.50
		quantize_f32 int32, L2, avx512|P3 >= 0.90
		dequantize_f32 int32, L2, avx512|P3 >= 0.90
		quantize_f32 int16, L2, avx512|P3 >= 0.90
		dequantize_f32 int16, L2, avx512|P3 >= 0.90
		quantize_f16 int32, L2, avx512|P3 >= 0.90
		dequantize_f16 int32, L2, avx512|P3 >= 0.90
		quantize_f32 int32, L2, avx512fp16|P3 >= 0.90
		dequantize_f32 int32, L2, avx512fp16|P3 >= 0.90
		quantize_f32 int16, L2, avx512fp16|P3 >= 0.90
		dequantize_f32 int16, L2, avx512fp16|P3 >= 0.90
		quantize_f16 int32, L2, avx512fp16|P3 >= 0.90
		dequantize_f16 int32, L2, avx512fp16|P3 >= 0.90
		quantize_f16 int16, L2, avx512fp16|P3 >= 0.90
		dequantize_f16 int16, L2, avx512fp16|P3 >= 0.90
		quantize_bf16 int32, L2, avx512fp16|P3 >= 0.90
		dequantize_bf16 int32, L2, avx512fp16|P3 >= 0.90
		quantize_bf16 int16, L2, avx512fp16|P3 >= 0.90
		dequantize_bf16 int16, L2, avx512fp16|P3 >= 0.90
		quantize_f32 int32, L1, beside scalar|P3 >= 8.00
		quantize_f32 int16, L1, beside scalar|P3 >= 8.00
		quantize_f16 int32, L1, beside scalar|P3 >= 8.00
		quantize_bf16 int32, L1, beside scalar|P3 >= 8.00
		in process, 4 ranks, one thread, 256 elements|P4 >= 0.90
		over veth, 4 hosts, --driver udp|P5 >= 0.45
	EOF
}

# Every line of the figures' files is one figure.
table()
{
	printf '%-48s %9s %-8s %-28s %9s %6s  %s\n' figure value unit 'beside it' value ratio goal
	goals | awk -F '|' '
		function field(name,    at, rest) {
			at = index($0, "\"" name "\": ")
			if (!at)
				return ""
			rest = substr($0, at + length(name) + 4)
			if (substr(rest, 1, 1) == "\"") {
				rest = substr(rest, 2)
				return substr(rest, 1, index(rest, "\"") - 1)
			}
			match(rest, /^[-+.0-9e]+/)
			return substr(rest, 1, RLENGTH)
		}
		function verdict(ratio, goal,    part) {
			split(goal, part, " ")
			if (part[2] == "<=" ? ratio + 0 <= part[3] + 0 : ratio + 0 >= part[3] + 0)
				return goal " met"
			return goal " MISSED"
		}
		FILENAME == "-" { goal[$1] = $2; next }
		/"name":/ {
			name = field("name")
			printf "%-48s %9.2f %-8s %-28s %9.2f %6.2f  %s\n", name, field("value"), field("unit"),
			       field("reference"), field("reference_value"), field("ratio"),
			       name in goal ? verdict(field("ratio"), goal[name]) : ""
		}' - "$@"
}

machine >"$out/machine.json"
printf 'machine: '
sed -n 's/^  "\([a-z]*\)": "\{0,1\}\([^",]*\).*/\1 \2/p' "$out/machine.json" | paste -s -d ';' | sed 's/;/; /g'

for name in add quant gpu e2e; do
	if [ -x "$build/tests/perf/bench_$name" ]; then
		measure "$name" "$build/tests/perf/bench_$name"
	else
		skip "$name" "tests/perf/bench_$name is not built"
	fi
done
measure veth "$here/bench_e2e_veth.sh" "$build"

figures=()
for name in add quant gpu e2e veth; do
	[ -s "$out/$name.json" ] && figures+=("$out/$name.json")
done
[ ${#figures[@]} -gt 0 ] && table "${figures[@]}"
printf 'load now %s; figures: %s\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)" "$out/*.json"
exit "$status"
