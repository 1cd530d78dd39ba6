#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the golden captures anew, and what tally-replay says of them: look at the difference before you commit it.
#
# usage: tests/replay/golden.sh BUILD_DIR

set -euo pipefail

build=$1
golden=$(dirname "$0")/golden

rm -rf "$golden"
mkdir -p "$golden"
"$build/tests/replay/make" "$golden"
for dir in "$golden"/*/; do
	"$build/tally-replay" -v "$dir" 2>/dev/null >"$dir/verdicts.txt"
done
git diff --stat -- "$golden"
