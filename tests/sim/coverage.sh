#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs programs built with MODE=cov and prints which share of the machines' lines they ran.
#
# usage: tests/sim/coverage.sh BUILD_DIR "LAYER: FOLDERS; ..." PROGRAM...
set -uo pipefail

build=$1
layers=$2
shift 2
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-cov.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
find "$build" -name '*.gcda' -delete

for program; do
	"$program" >"$tmp/out" 2>&1 </dev/null && continue
	echo "coverage: ${program##*/} failed"
	tail -n 20 "$tmp/out" | sed 's/^/    | /'
	exit 1
done
for layer in $layers; do
	for source in "$layer"/*.c; do
		[ -e "$build/${source%.c}.gcno" ] || continue
		# Only the file itself, not what it includes: "File 'x'" and then its share of lines.
		gcov -n -o "$build/${source%/*}" "$source" 2>"$tmp/err" |
			awk -v layer="$layer" -v source="$source" '
				/^File / { mine = index($0, "\047" source "\047") }
				/^Lines executed:/ && mine {
					split($0, a, /[:% ]+/)
					printf "%s %s %s %s\n", layer, source, a[3], a[5]
				}'
	done
done >"$tmp/files"
awk '
	{ lines[$1] += $4; run[$1] += $3 * $4 / 100; all += $4; ran += $3 * $4 / 100 }
	$3 < 95 { printf "coverage: %-24s %6.2f %% of %d lines\n", $2, $3, $4 }
	END {
		for (l in lines) {
			low += run[l] / lines[l] < 0.95
			printf "coverage: %-24s %6.2f %% of %d lines\n", l, 100 * run[l] / lines[l],
			       lines[l]
		}
		if (!all)
			exit 1
		printf "coverage: %-24s %6.2f %% of %d lines, %d of %d layers below 95 %%\n", "all",
		       100 * ran / all, all, low, length(lines)
		exit low > 0
	}' "$tmp/files"
