#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The shared library exports names that begin with tally_, and nothing else.
. "${0%/*}/lib.sh"

lib=$1/libtally.so.0
[ -e "$lib" ] || complain "$lib: was not built"
count=0
for symbol in $([ ! -e "$lib" ] || nm -D --defined-only "$lib" | awk '$2 != "A" { print $3 }'); do
	count=1
	[[ $symbol == tally_* ]] || complain "$lib: exports $symbol"
done
finish exports "$count"
