#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Nothing is left for later in the sources: what is missing is an issue, not a remark.
. "${0%/*}/lib.sh"

words="TO""DO|FIX""ME|X""XX"
count=0
for file in $(sources '*.[ch]' '*.cu' '*.cuh' '*.def' '*.map' '*.sh' '*.py' '*.lua' '*.yaml' \
	'*.pml' '*.md' Makefile) $(shell_scripts | grep '^\.ci/'); do
	count=$((count + 1))
	while IFS= read -r line; do
		complain "$file:$line"
	done < <(grep -nwE "$words" "$file")
done
finish words "$count"
