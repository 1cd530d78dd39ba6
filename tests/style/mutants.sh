#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each rule of docs/protocol.md has a mutant, and the text that each mutant changes is in its file.
. "${0%/*}/lib.sh"

command -v python3 >/dev/null || skip mutants "python3 is missing (Debian package python3)"
if ! listed=$(tests/mutants/run.py --list 2>&1); then
	complain "$listed"
fi
finish mutants "$(sed -n '$s/^\([0-9]*\) mutants.*/\1/p' <<<"$listed")"
