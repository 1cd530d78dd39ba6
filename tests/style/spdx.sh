#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every source names its licence in its first line, or in the second after a #! line.
. "${0%/*}/lib.sh"

count=0
for file in $(sources '*.[ch]' '*.cu' '*.cuh' '*.def' '*.map' '*.sh' '*.py' '*.lua' '*.yaml' \
	'*.pml' Makefile) $(shell_scripts | grep '^\.ci/'); do
	count=$((count + 1))
	head -n 2 "$file" | awk 'NR == 1 && /^#!/ { next } { print; exit }' |
		grep -q 'SPDX-License-Identifier: BSD-3-Clause' ||
		complain "$file:1: the line SPDX-License-Identifier: BSD-3-Clause is missing"
done
finish spdx "$count"
