#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A switch without privileges and two ranks started by hand, over loopback; then what happens to those who are left.
# usage: tests/e2e/two-shells.sh BUILD_DIR
set -u

build=$1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-two-shells.XXXXXX") || exit 1
failed=0
pids=()

# shellcheck disable=SC2317 # called by the trap
finish()
{
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT

ok() { echo "ok $1"; }
not_ok()
{
	echo "not ok $1: $2"
	failed=1
}

for program in tally-switch tally-perf; do
	if [ ! -x "$build/$program" ]; then
		echo "skip two-shells: $program is not built"
		exit 0
	fi
done

# start_switch PORT: 0 when it serves, else what it said is in $tmp/switch.
start_switch()
{
	local ready

	rm -f "$tmp/ready"
	mkfifo "$tmp/ready" || return 1
	"$build/tally-switch" -i "1@udp:127.0.0.1:$1" --ready-fd 3 \
		>"$tmp/switch" 2>&1 3>"$tmp/ready" &
	switch=$!
	# Its end of the pipe closes when it is ready, and when it dies.
	read -r -n 1 -t 20 ready <"$tmp/ready"
	if kill -0 "$switch" 2>/dev/null && [ -n "${ready-}" ]; then
		pids+=("$switch")
		return 0
	fi
	kill "$switch" 2>/dev/null
	wait "$switch" 2>/dev/null
	return 1
}

# A port that nobody has: the switch refuses one that is taken.
find_port()
{
	local try

	for try in 1 2 3 4 5 6 7 8; do
		port=$((20000 + (RANDOM + try) % 20000))
		start_switch "$port" && return 0
	done
	return 1
}

# rank RANK SIZE [VAR=VALUE...]: one rank in the background; its output is in $tmp/rank.RANK.
rank()
{
	local number=$1 size=$2

	shift 2
	env TALLY_SWITCH="127.0.0.1:$port" TALLY_SIZE="$size" TALLY_RANK="$number" "$@" \
		"$build/tally-perf" "${perf[@]}" >"$tmp/rank.$number" 2>&1 &
	ranks[number]=$!
}

# both WANT NAME: both ranks end with this exit status.
both()
{
	local number rc all=1

	for number in 0 1; do
		wait "${ranks[$number]}"
		rc=$?
		if [ "$rc" -ne "$1" ]; then
			not_ok "$2" "rank $number: exit status $rc: $(tail -n 3 "$tmp/rank.$number" | tr '\n' ' ')"
			all=0
		fi
	done
	[ "$all" -eq 1 ]
}

says() { grep -q -- "$2" "$tmp/rank.$1"; }

ranks=()
if ! find_port; then
	not_ok two-shells-switch "the switch does not start: $(tail -n 3 "$tmp/switch" | tr '\n' ' ')"
	exit 1
fi
ok two-shells-switch

perf=(-b 4 -e 1M -f 8 -n 3 -w 1 -c 1)
rank 0 2
rank 1 2
if both 0 two-shells-sums; then
	if says 0 'Out of bounds values : 0 OK'; then
		ok two-shells-sums
	else
		not_ok two-shells-sums "$(tail -n 5 "$tmp/rank.0" | tr '\n' ' ')"
	fi
fi

# The switch may start after the ranks.
perf=(-b 4K -e 4K -n 1 -w 0 -c 1)
kill "$switch" && wait "$switch" 2>/dev/null
pids=()
rank 0 2
rank 1 2
sleep 0.3
if start_switch "$port"; then
	both 0 two-shells-late-switch && ok two-shells-late-switch
else
	not_ok two-shells-late-switch "the switch does not start again: $(tail -n 1 "$tmp/switch")"
fi

# Nobody there: one sentence with the remedy.
kill "$switch" && wait "$switch" 2>/dev/null
pids=()
rank 0 2 TALLY_JOIN_TIMEOUT=0.5
rank 1 2 TALLY_JOIN_TIMEOUT=0.5
if both 1 two-shells-no-switch; then
	if says 0 "nothing listens on UDP 127.0.0.1:$port: start tally-switch -i 1@udp:127.0.0.1:$port"; then
		ok two-shells-no-switch
	else
		not_ok two-shells-no-switch "$(tail -n 1 "$tmp/rank.0")"
	fi
fi

if ! start_switch "$port"; then
	not_ok two-shells-missing-rank "the switch does not start again: $(tail -n 1 "$tmp/switch")"
	exit 1
fi
rank 0 2 TALLY_JOIN_TIMEOUT=0.5
wait "${ranks[0]}"
if says 0 'rank 1 of 2 did not join within 0.5 s'; then
	ok two-shells-missing-rank
else
	not_ok two-shells-missing-rank "$(tail -n 1 "$tmp/rank.0")"
fi

# kill -9 one of two in the middle: the other names it within its deadline, and a new job works.
perf=(-b 4M -e 4M -n 100000 -w 0 -c 0)
rank 0 2 TALLY_TIMEOUT=3
rank 1 2 TALLY_TIMEOUT=3
sleep 1
kill -9 "${ranks[1]}"
wait "${ranks[1]}" 2>/dev/null
begin=$SECONDS
wait "${ranks[0]}"
if [ $((SECONDS - begin)) -gt 5 ]; then
	not_ok two-shells-killed-rank "took $((SECONDS - begin)) s with TALLY_TIMEOUT=3"
elif says 0 'rank 1 of 2'; then
	ok two-shells-killed-rank
else
	not_ok two-shells-killed-rank "$(tail -n 2 "$tmp/rank.0" | tr '\n' ' ')"
fi
perf=(-b 64K -e 64K -n 2 -w 0 -c 1)
rank 0 2
rank 1 2
both 0 two-shells-next-job && ok two-shells-next-job
exit $failed
