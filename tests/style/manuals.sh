#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Manual pages and --help have the same options, commands and variables; each page can be shown; no line is endless.
. "${0%/*}/lib.sh"

build=${1:?usage: $0 BUILD_DIR}
count=0

# differ WHAT PAGE HELP: two lists of words, sorted, are the same.
differ()
{
	local word

	while read -r word; do
		complain "$1: the page lacks $word, which --help has"
	done < <(comm -13 "$2" "$3")
	while read -r word; do
		complain "$1: --help lacks $word, which the page has"
	done < <(comm -23 "$2" "$3")
}

# Options that a page describes: those of the lists' heads.
page_options()
{
	grep '^\.It Fl' "$1" | tr ' ' '\n' |
		awk '/^(\.It|Ar|Cm|Ns|Op|No|\||[A-Z]+=.*)$/ { fl = 0 } fl && /^-?[A-Za-z][A-Za-z_-]*$/ { print "-" $0 }
			/^Fl$/ { fl = 1 }' | sort -u
}

help_options()
{
	"$build/$1" --help | grep -oE '^ +(-[A-Za-z],? )?(--[a-z][a-z_-]*)?' | grep -oE -- '--?[A-Za-z][a-z_-]*' | sort -u
}

page_commands()
{
	sed -nE 's/^\.It Cm ((show|set|reset) [a-z]+|[a-z]+).*/\1/p' "$1" | grep -vE '^(show|set|reset)$' | sort -u
}

help_commands()
{
	"$build/$1" --help | sed -nE 's/^  ((show|set|reset) [a-z]+|[a-z]+) .*/\1/p' | sort -u
}

# Of each variable: name, default, meaning and values, the meaning without its first letter's case.
page_variables()
{
	awk '/^\.Ss|^\.Sh/ { on = $2 == "ENVIRONMENT" }
		on && /^\.It Ev/ { name = $3; value = $0; sub(/^.*Pq /, "", value); sub(/^none$/, "", value)
			meaning = ""; next }
		on && name && /^Values: / { sub(/^Values: /, ""); sub(/\.$/, ""); print name "|" value "|" meaning "|" $0
			name = ""; next }
		on && name { sub(/\.$/, ""); meaning = meaning (meaning == "" ? tolower(substr($0, 1, 1)) substr($0, 2) : " " $0) }' \
		"$1" | sort
}

help_variables()
{
	env -i "$build/tally-info" -v | awk '/^TALLY_/ { name = $0; sub(/=.*/, "", name); value = $0; sub(/^[^=]*=/, "", value); next }
		/^    values: / { sub(/^    values: /, ""); print name "|" value "|" meaning "|" $0; next }
		/^    / { meaning = tolower(substr($0, 5, 1)) substr($0, 6) }' | sort
}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

for page in docs/man/{tally-{fabric,info,perf,train}.1,tally-switch.8,tallyctl.8}; do
	program=$(basename "${page%.*}")
	[ "$program" != tally-train ] || program=train
	[ -x "$build/$program" ] || continue
	page_options "$page" >"$tmp/page"
	help_options "$program" >"$tmp/help"
	differ "$page" "$tmp/page" "$tmp/help"
	[ -s "$tmp/page" ] || complain "$page: no options are found"
	count=$((count + 1))
done
if [ -x "$build/tallyctl" ]; then
	page_commands docs/man/tallyctl.8 >"$tmp/page"
	help_commands tallyctl >"$tmp/help"
	differ docs/man/tallyctl.8 "$tmp/page" "$tmp/help"
fi
page_variables docs/man/tally.7 >"$tmp/page"
help_variables >"$tmp/help"
differ docs/man/tally.7 "$tmp/page" "$tmp/help"

# As from a clone, before anything is installed.
for page in docs/man/*; do
	grep -q '^\.Sh SEE ALSO' "$page" || complain "$page: no SEE ALSO"
	while read -r name section; do
		[ -e "docs/man/$name.$section" ] || [[ $name.$section = @(fork.2|tc-netem.8) ]] ||
			complain "$page: there is no $name($section)"
	done < <(sed -nE 's/^\.Xr ([^ ]+) ([0-9]).*/\1 \2/p; s/.*[ (]Xr ([^ ]+) ([0-9]).*/\1 \2/p' "$page")
	if command -v man >/dev/null; then
		while read -r line; do
			complain "$page: $line"
		done < <(man -l --warnings "$page" 2>&1 >/dev/null | head -n 3)
	fi
	count=$((count + 1))
done

# Tables and code are as wide as they are.
for file in $(sources '*.md'); do
	while read -r line; do
		complain "$file:$line columns, at most 190"
	done < <(awk '/^ *```/ { code = !code } !code && !/^\|/ && length > 190 { print FNR ": " length }' "$file")
	count=$((count + 1))
done
finish manuals "$count"
