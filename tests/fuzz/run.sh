#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs each libFuzzer target for some seconds, from its committed corpus on, as many at a time as
# there are CPUs; findings are left in BUILD_DIR.
#
# usage: tests/fuzz/run.sh BUILD_DIR SECONDS [NAME...]
# With FUZZ_KEEP=1 inputs that reach what no committed one does are added to tests/fuzz/corpus.
set -uo pipefail

build=$1
seconds=$2
shift 2
jobs=${JOBS:-$(nproc)}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# fuzz TARGET: leaves its line in BUILD_DIR/fuzz/NAME/line; fails if there is a finding.
fuzz()
{
	local target=$1 name=${1##*/fuzz_} rc=0 runs cover features own committed verdict

	own=$build/fuzz/$name committed=tests/fuzz/corpus/$name
	mkdir -p "$own/corpus" "$own/findings" "$committed"
	"$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -max_len=4096 \
		-dict=tests/fuzz/words.dict -print_final_stats=1 \
		-artifact_prefix="$own/findings/" "$own/corpus" "$committed" >"$own/log" 2>&1 || rc=1
	runs=$(awk '/stat::number_of_executed_units/ { n = $2 } /^#[0-9]/ { m = substr($1, 2) }
		END { print n ? n : m + 0 }' "$own/log")
	cover=$(grep -o 'cov: [0-9]*' "$own/log" | tail -n 1)
	features=$(grep -o 'ft: [0-9]*' "$own/log" | tail -n 1)
	verdict="no finding"
	[ "$rc" -eq 0 ] || verdict="FINDING, see $own/log; input in $own/findings"
	if [ "${FUZZ_KEEP:-0}" = 1 ] && [ "$rc" -eq 0 ]; then
		"$target" -merge=1 -max_len=4096 "$committed" "$own/corpus" >"$own/merge" 2>&1 || rc=1
	fi
	printf 'fuzz %-9s %10d executions, %5d edges, %6d features, %5d inputs (%d committed): %s\n' \
		"$name" "$runs" "${cover#cov: }" "${features#ft: }" "$(inputs "$own/corpus" "$committed")" \
		"$(inputs "$committed")" "$verdict" >"$own/line"
	return "$rc"
}

inputs()
{
	find "$@" -type f -printf '%f\n' | sort -u | wc -l
}

targets=()
for target in "$build"/tests/fuzz/fuzz_*; do
	if [ ! -x "$target" ] || [ ! -f "$target" ]; then
		continue
	fi
	name=${target##*/fuzz_}
	if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
		continue
	fi
	rm -f "$build/fuzz/$name/line"
	targets+=("$target")
done
if [ ${#targets[@]} -eq 0 ]; then
	echo "fuzz: no targets in $build/tests/fuzz${*:+ of the names $*}"
	exit 1
fi
for target in "${targets[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
		wait -n
	done
	fuzz "$target" &
done
wait

bad=0
for target in "${targets[@]}"; do
	own=$build/fuzz/${target##*/fuzz_}
	cat "$own/line" 2>/dev/null || echo "fuzz ${target##*/fuzz_}: did not run"
	grep -q ': no finding$' "$own/line" 2>/dev/null && continue
	bad=$((bad + 1))
	tail -n 40 "$own/log" | sed 's/^/    | /'
done
echo "fuzz: ${#targets[@]} targets, $seconds s each, $bad with a finding"
exit $((bad > 0))
