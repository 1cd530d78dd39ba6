#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The machines are pure: their objects call themselves, the layers below, mem* and abort.
# PURE holds "layer: folder folder; ...", the layers and where their symbols may come from.
. "${0%/*}/lib.sh"

build=$1
count=0
[ "${MODE:-release}" = release ] ||
	skip pure "MODE=$MODE adds calls of its own; MODE=release has this check"

libc='^(mem(cpy|move|set|cmp)|bcmp|abort|__assert_fail)$'
runtime='^(_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__cpu_(model|features2|indicator_init)|'
runtime+='__u?(div|mod|divmod|mul|cmp)[dt]i[0-9]|__(popcount|clz|ctz|ash[lr]|lshr)[dt]i[0-9])$'

# objects FOLDER...: what was built of these folders' sources.
objects()
{
	local folder file

	for folder; do
		for file in "$folder"/*.c; do
			[ ! -e "$build/${file%.c}.o" ] || echo "$build/${file%.c}.o"
		done
	done
}

while IFS=: read -r layer folders; do
	layer=${layer//[[:space:]]/}
	[ -n "$layer" ] || continue
	# shellcheck disable=SC2086 # a list of words
	own=" $(objects $folders | xargs -r nm -g --defined-only | awk 'NF == 3 { print $3 }' |
		tr '\n' ' ')"
	for object in $(objects "$layer"); do
		count=$((count + 1))
		for symbol in $(nm -u "$object" | awk '{ print $2 }'); do
			[[ $own != *" $symbol "* ]] || continue
			[[ ! $symbol =~ $libc && ! $symbol =~ $runtime ]] || continue
			complain "$object: $layer is pure and may not use $symbol"
		done
	done
done < <(tr ';' '\n' <<<"${PURE:?}")
finish pure "$count"
