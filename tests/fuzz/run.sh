#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs each libFuzzer target for some seconds on its committed corpus, as many at a time as there are CPUs;
# findings are left in BUILD_DIR.
#
# usage: tests/fuzz/run.sh BUILD_DIR SECONDS
set -uo pipefail

build=$1
seconds=$2

export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# fuzz TARGET: one line about it, and more if it has found something.
fuzz()
{
	local target=$1 name=${1##*/fuzz_} verdict="no finding" own runs cover inputs

	own=$build/fuzz/$name
	mkdir -p "$own/corpus" "$own/findings"
	"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
		-dict=tests/fuzz/words.dict -print_final_stats=1 -artifact_prefix="$own/findings/" "$own/corpus" \
		"tests/fuzz/corpus/$name" >"$own/log" 2>&1 ||
		verdict="FINDING, see $own/log; input in $own/findings"
	runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$own/log")
	cover=$(grep -o 'cov: [0-9]*' "$own/log" | tail -n 1)
	inputs=$(find "$own/corpus" "tests/fuzz/corpus/$name" -type f | wc -l)
	printf 'fuzz %-10s %10s runs, %5s edges, %5s inputs: %s\n' "$name" "${runs:-0}" "${cover#cov: }" "$inputs" \
		"$verdict"
	[ "$verdict" = "no finding" ] && return
	tail -n 40 "$own/log" | sed 's/^/    | /'
	return 1
}

bad=0
running=0
for target in "$build"/tests/fuzz/fuzz_*; do
	if [ ! -x "$target" ] || [ ! -f "$target" ]; then
		continue
	fi
	if [ "$running" -ge "$(nproc)" ]; then
		wait -n || bad=1
		running=$((running - 1))
	fi
	fuzz "$target" &
	running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
	wait -n || bad=1
	running=$((running - 1))
done
exit "$bad"
