#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shell scripts parse, and shellcheck has no warning about them where it is installed.
. "${0%/*}/lib.sh"

count=0
shellcheck=$(command -v shellcheck)
for file in $(shell_scripts); do
	count=$((count + 1))
	bash -n "$file" || complain "$file: does not parse"
	[ -z "$shellcheck" ] || shellcheck -S warning -e SC1091 "$file" ||
		complain "$file: shellcheck has warnings"
done
finish shell "$count"
