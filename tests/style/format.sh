#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# clang-format has nothing to change; `make format` makes the changes.
. "${0%/*}/lib.sh"

# Each version lays some lines out differently, so that one has to be the judge.
want=14
tool=
for name in clang-format-$want clang-format; do
	if [ -z "$tool" ] && command -v $name >/dev/null &&
		[[ $($name --version) =~ version\ $want\. ]]; then
		tool=$name
	fi
done
[ -n "$tool" ] || skip format "clang-format $want is missing (Debian package clang-format-$want)"

count=0
for file in $(sources '*.[ch]'); do
	count=$((count + 1))
	$tool --dry-run -Werror "$file" 2>&1 | head -n 20
	[ "${PIPESTATUS[0]}" -eq 0 ] || complain "$file: differs from clang-format's layout"
done
finish format "$count"
