# SPDX-License-Identifier: BSD-3-Clause
# What the style checks share: the list of sources, and how a check ends. Read by `.`.
# shellcheck shell=bash

set -uo pipefail
export LC_ALL=C
bad=0

# sources PATTERN...: files of the tree whose names match; what is built or generated is not.
sources()
{
	local pattern args=()

	for pattern; do
		args+=(-o -name "$pattern")
	done
	find . \( -path ./build -o -path ./.git -o -path ./tests/data -o -name __pycache__ \) -prune \
		-o -type f \( "${args[@]:1}" \) -printf '%P\n' | sort
}

# Shell scripts go by their names or, without a suffix, by their first line.
shell_scripts()
{
	{
		sources '*.sh'
		find .ci -type f ! -name '*.*' -exec grep -lE '^#!.*sh' {} +
	} | sort
}

complain()
{
	echo "$*"
	bad=$((bad + 1))
}

# finish NAME COUNT: a check that looked at nothing has not passed.
finish()
{
	if [ "$bad" -eq 0 ] && [ "$2" -eq 0 ]; then
		complain "nothing to check: no file matched"
	fi
	if [ "$bad" -ne 0 ]; then
		echo "check-$1: $bad violations"
		exit 1
	fi
	echo "check-$1: ok ($2 files)"
	exit 0
}

skip()
{
	echo "skip check-$1: $2"
	exit 0
}
