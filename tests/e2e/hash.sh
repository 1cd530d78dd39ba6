#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hash.sh BUILD_DIR - one hash for the same data: arrival orders, losses, chunks and switches change no bit.
# For one user.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-switch tests/e2e/hash
chunks=(128 1408 8192)
export TALLY_JOIN_TIMEOUT=$((patience / 2)) TALLY_TIMEOUT=$patience

# hashes NAME VAR=VALUE...: what hash.c prints, without how many results there were.
hashes()
{
	local name=$1

	shift
	spawn "$name" env "$@" "$build/tests/e2e/hash" "${chunks[@]}"
	ends "$name" 0
	sed 's/  .*//' "$dir/$name.out" >"$work/$name.hashes"
	[ "$(wc -l <"$work/$name.hashes")" -eq 16 ] || fail "$name: not all sums were there: $(tail -n 1 "$dir/$name.out")"
}

# switches NAME NR LOSS: NR switches, of which one is the root if there are several.
switches()
{
	local name=$1 nr=$2 i leaves=$address loss=()

	[ "$3" = 0% ] || loss=(--impair "1:loss=$3" --seed 7)
	switch_start root -i "1@udp:$address" "${loss[@]}"
	[ "$nr" = 1 ] || leaves=
	for ((i = 1; i < nr; i++)); do
		leaves=$leaves${leaves:+,}$(random_address)
		switch_start "leaf$i" -i "1@udp:${leaves##*,}" --parent "$address" "${loss[@]}"
	done
	if [ "$nr" = 1 ]; then
		hashes "$name" HASH_SWITCHES="$leaves"
	else
		hashes "$name" HASH_SWITCHES="$leaves" HASH_TREE=1
	fi
	for ((i = 1; i < nr; i++)); do
		switch_stop "leaf$i"
	done
	switch_stop root
}

case_inproc() { hashes inproc A=; }
case_switches-1() { switches switches-1 1 0%; }
case_switches-1-loss() { switches switches-1-loss 1 5%; }
case_switches-2() { switches switches-2 2 0%; }
case_switches-2-loss() { switches switches-2-loss 2 5%; }
case_switches-3() { switches switches-3 3 0%; }
case_switches-3-loss() { switches switches-3-loss 3 5%; }

# All of these have printed the same lines.
case_same()
{
	local file

	for file in "$work"/switches-*.hashes; do
		cmp -s "$file" "$work/inproc.hashes" ||
			fail "$(basename "$file"): $(diff "$work/inproc.hashes" "$file" | sed -n 2p)"
	done
}

run_cases 2 inproc switches-1 switches-1-loss switches-2 switches-2-loss switches-3 switches-3-loss
run_cases 1 same
cat "$work/inproc.hashes"
exit "$not_ok"
