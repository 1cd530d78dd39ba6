#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Functions have at most 70 lines between their braces' lines, these included; files 800.
. "${0%/*}/lib.sh"

count=0
for file in $(sources '*.[ch]' '*.cu' '*.cuh' '*.sh' '*.py') $(shell_scripts | grep '^\.ci/'); do
	count=$((count + 1))
	while read -r line; do
		complain "$line"
	done < <(awk -v most_fn=70 -v most_file=800 '
		/^\{/ { start = FNR }
		/^[A-Za-z_][A-Za-z0-9_]*\(\)[ \t]*\{/ { start = FNR }
		/^\}/ && start {
			if (FNR - start + 1 > most_fn)
				printf "%s:%d: a function of %d lines, at most %d\n", FILENAME,
				       start, FNR - start + 1, most_fn
			start = 0
		}
		END {
			if (FNR > most_file)
				printf "%s: %d lines, at most %d\n", FILENAME, FNR, most_file
		}' "$file")
done
finish size "$count"
