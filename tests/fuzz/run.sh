#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs each libFuzzer target for some seconds on its committed corpus; findings are left in BUILD_DIR.
#
# usage: tests/fuzz/run.sh BUILD_DIR SECONDS
set -uo pipefail

build=$1
seconds=$2
bad=0

export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
for target in "$build"/tests/fuzz/fuzz_*; do
	if [ ! -x "$target" ] || [ ! -f "$target" ]; then
		continue
	fi
	name=${target##*/fuzz_}
	own=$build/fuzz/$name
	mkdir -p "$own/corpus" "$own/findings"
	if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
		-dict=tests/fuzz/words.dict -print_final_stats=1 -artifact_prefix="$own/findings/" "$own/corpus" \
		"tests/fuzz/corpus/$name" >"$own/log" 2>&1; then
		verdict="no finding"
	else
		verdict="FINDING, see $own/log; input in $own/findings"
		bad=$((bad + 1))
	fi
	runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$own/log")
	cover=$(grep -o 'cov: [0-9]*' "$own/log" | tail -n 1)
	printf 'fuzz %-10s %10s runs, %s edges: %s\n' "$name" "${runs:-0}" "${cover#cov: }" "$verdict"
	[ "$verdict" = "no finding" ] || tail -n 40 "$own/log" | sed 's/^/    | /'
done
exit $((bad > 0))
