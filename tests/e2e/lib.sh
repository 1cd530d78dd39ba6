# SPDX-License-Identifier: BSD-3-Clause
# What the end-to-end tests share: cases, programs in the background, waiting for events. Read by `.`.
#
# A case is a function; `fail WHY` says what is wrong and the case goes on to its end. Programs that a case
# starts are ended with it. A bound only has to end what would never end by itself: the machine may be slow.
# shellcheck shell=bash disable=SC2034

set -uo pipefail
umask 022
top=$PWD
build=$(cd "${1:?usage: $0 BUILD_DIR}" && pwd) || exit 2
here=$top/tests/e2e
patience=${E2E_PATIENCE:-100}
case ${MODE:-release} in asan | tsan | cov) patience=$((patience * 4)) ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tally-e2e.XXXXXX") || exit 2
chmod 755 "$work"
declare -A pids=()
not_ok=0 why=
for variable in ${!TALLY_@} RANK WORLD_SIZE; do
	unset "$variable"
done

# Of its own for each case, so that several at the same time do not meet. Its port is the usual one.
random_address()
{
	echo "127.$((1 + RANDOM % 250)).$((RANDOM % 256)).$((1 + RANDOM % 254))"
}

fail()
{
	[ -n "$why" ] || why=$*
	return 1
}

# run_case NAME: the function case_NAME, with a folder of its own, $dir, and an $address.
run_case()
{
	local file

	why=
	dir=$work/$1
	address=$(random_address)
	mkdir -p "$dir"
	"case_$1"
	end_all
	case $why in
	'') echo "ok $1" ;;
	'skip: '*) echo "skip $1: ${why#skip: }" ;;
	*) echo "not ok $1: $why"
		for file in "$dir"/*.out "$dir"/*.err; do
			[ ! -s "$file" ] || { echo "--- ${file##*/}" && tail -n 12 "$file"; }
		done >&2 ;;
	esac
}

# run_cases NR NAME...: up to NR at a time, which mostly wait; prints their results in order.
run_cases()
{
	local most=$1 name

	shift
	for name; do
		while [ "$(jobs -pr | wc -l)" -ge "$most" ]; do
			wait -n
		done
		(
			trap end_all EXIT
			trap 'exit 130' INT TERM
			run_case "$name"
		) >"$work/$name.result" 2>"$work/$name.log" &
	done
	wait
	for name; do
		cat "$work/$name.result"
		if ! grep -qE '^(ok|skip) ' "$work/$name.result"; then
			not_ok=1
			cat "$work/$name.log" >&2
		fi
	done
}

# spawn NAME COMMAND...: in the background; its output is $dir/NAME.out and $dir/NAME.err.
spawn()
{
	local name=$1

	shift
	# Not by the child alone: what one before it of this name has said is not to be seen as its own.
	: >"$dir/$name.out" 2>"$dir/$name.err"
	"$@" >"$dir/$name.out" 2>"$dir/$name.err" </dev/null &
	pids[$name]=$!
}

alive()
{
	local state

	read -r _ _ state _ 2>/dev/null <"/proc/${pids[$1]}/stat" && [ "$state" != Z ]
}

gone()
{
	! alive "$1"
}

# until_true COMMAND...: waits for an event; fails if it does not come.
until_true()
{
	local end=$((SECONDS + patience))

	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

# says NAME PATTERN: waits until the program has printed a line like this, or has ended without.
says()
{
	local end=$((SECONDS + patience))

	until grep -qE -e "$2" "$dir/$1.out" "$dir/$1.err"; do
		if gone "$1" || [ "$SECONDS" -ge "$end" ]; then
			grep -qE -e "$2" "$dir/$1.out" "$dir/$1.err" && return
			fail "$1 does not say '$2'"
			return
		fi
		sleep 0.02
	done
}

# ends NAME STATUS: waits for the end of a program, which is to have this exit status.
ends()
{
	local status

	until_true gone "$1" || kill -9 "${pids[$1]}" 2>/dev/null
	wait "${pids[$1]}" 2>/dev/null
	status=$?
	unset "pids[$1]"
	[ "$status" -eq "$2" ] || fail "$1: exit status $status, not $2: $(tail -n 1 "$dir/$1.err")"
}

signal()
{
	kill "-$1" "${pids[$2]}"
}

end_all()
{
	local name

	for name in "${!pids[@]}"; do
		kill -CONT "${pids[$name]}" 2>/dev/null
		kill -9 "${pids[$name]}" 2>/dev/null
		wait "${pids[$name]}" 2>/dev/null
	done
	pids=()
}

# printed FILE PATTERN: the program has printed a line like this.
printed()
{
	grep -qE -e "$2" "$dir/$1" || fail "$1 lacks '$2'"
}

hash_of()
{
	sed -nE 's/^# Result hash : ([0-9a-f]{16})$/\1/p; s/^weights hash ([0-9a-f]{16}) .*/\1/p' "$dir/$1"
}

# same_hash FILE HASH
same_hash()
{
	local hash

	hash=$(hash_of "$1")
	[ -n "$hash" ] && [ "$hash" = "$2" ] || fail "$1: hash '$hash', not '$2'"
}

# switch_start NAME OPTION...: a tally-switch that is ready.
switch_start()
{
	local name=$1

	shift
	spawn "$name" env TMPDIR="$dir" "$build/tally-switch" "$@" --totals "$dir/$name.totals"
	says "$name" 'ready, '
}

# switch_stop NAME: it ends well, and has counted every packet once.
switch_stop()
{
	signal TERM "$1"
	ends "$1" 0
	printed "$1.out" '^rx ([0-9]+) = sum of verdicts \1$'
}

# worker NAME JOB RANK SIZE COMMAND...: one rank at the switch $address.
worker()
{
	local name=$1

	spawn "$name" env TALLY_SWITCH="$address" TALLY_JOB="$2" TALLY_RANK="$3" TALLY_SIZE="$4" "${@:5}"
}

# workers PREFIX JOB SIZE COMMAND...: all ranks, PREFIX0 and so on.
workers()
{
	local i

	for ((i = 0; i < $3; i++)); do
		worker "$1$i" "$2" "$i" "$3" "${@:4}"
	done
}

# all_end PREFIX SIZE STATUS
all_end()
{
	local i

	for ((i = 0; i < $2; i++)); do
		ends "$1$i" "$3"
	done
}

require()
{
	local program how

	for program; do
		how="\`make\` builds it, where what it needs is there"
		[[ $program != tests/* ]] || how="\`make tests\` builds it"
		[ -x "$build/$program" ] || skip_all "$program is not built: $how"
	done
}

skip_all()
{
	echo "skip $(basename "$0" .sh): $*"
	exit "$not_ok"
}

# May this user make network namespaces?
fabric_possible()
{
	unshare -Urn true 2>/dev/null || [ "$(id -u)" -eq 0 ]
}

finish()
{
	local children

	children=$(jobs -pr)
	# shellcheck disable=SC2086 # a list of numbers
	[ -z "$children" ] || kill $children 2>/dev/null
	wait
	rm -rf "$work"
}

trap finish EXIT
trap 'exit 130' INT TERM
