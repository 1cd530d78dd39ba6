#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the checks it is given, counts their cases and ends with one line: N passed, M failed.
#
# usage: tests/check.sh BUILD_DIR KIND:NAME...
#   unit:PROGRAM     a cmocka program; its TAP output is counted case by case
#   explore:PROGRAM  one case; its last line says what it covered
#   proof:SCRIPT     with arguments or without; prints "ok NAME", "not ok NAME" or "skip NAME" for each case
#   style:NAME       tests/style/NAME.sh; one case
#   e2e:SCRIPT       prints "ok NAME", "not ok NAME: why" or "skip NAME: reason" for each case
#   skip:WHAT:WHY    one case that this build does not run

set -uo pipefail

build=$1
shift
mode=${MODE:-release}
nobody=65534
passed=0 failed=0 skipped=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-check.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$tmp"

# Sanitisers slow a program down; a limit only has to end what would never end by itself.
slow=1
case $mode in asan | tsan | cov) slow=5 ;; esac
limit_unit=$((60 * slow))
seeds=${SEEDS:-0}
seeds=${seeds##*.}
[[ $seeds =~ ^[0-9]+$ ]] || seeds=0
limit_explore=$(((240 + 10#$seeds / 100) * slow))
limit_proof=900
limit_style=300
limit_e2e=$((240 * slow))

export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
asan_base=detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0

# Thread sanitiser of gcc 12 and clang 14 knows only the address layouts of up to 28 random bits.
layout=()
if [ "$mode" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
	layout=(setarch "$(uname -m)" -R)
fi

# report KIND NAME PASSED FAILED SKIPPED [NOTE]: adds to the totals and prints one line.
report()
{
	local line

	passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
	line=$(printf '%-8s %s: %d passed' "$1" "$2" "$3")
	[ "$4" -eq 0 ] || line+=", $4 FAILED"
	[ "$5" -eq 0 ] || line+=", $5 skipped"
	printf '%s%s\n' "$line" "${6:+ ($6)}"
}

# show FILE...: what a failed program printed, indented so that it is no result of ours.
show()
{
	local file

	for file; do
		tail -n 80 "$file" | sed 's/^/    | /'
	done
}

# bounded SECONDS COMMAND...: its output goes to $tmp/out and $tmp/err. The braces keep the shell's
# own remark about a crash away: the report says it.
bounded()
{
	{ timeout -k 20 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; } 2>/dev/null
}

# ended RC SECONDS: how a program ended, in words.
ended()
{
	case $1 in
	0) echo "ended normally" ;;
	124) echo "still running after $2 s" ;;
	137) echo "killed (SIGKILL, or still running after $2 s)" ;;
	*) if [ "$1" -gt 128 ]; then
		echo "died of signal $(kill -l $(($1 - 128)) 2>/dev/null || echo $(($1 - 128)))"
	else
		echo "exit status $1"
	fi ;;
	esac
}

# Counts TAP: "planned passed failed skipped"; every skip goes to the file `skips` with the line
# before it, which is where a test says why.
count_tap()
{
	awk -v skips="$2" '
		/^1\.\.[0-9]+$/ { plan += substr($0, 4); why = ""; next }
		/^(not )?ok [0-9]+ # SKIP/ {
			name = $0; sub(/^.*# SKIP */, "", name)
			print name ": " (why == "" ? "no reason given" : why) > skips
			skip++; why = ""; next
		}
		/^not ok [0-9]+/ { bad++; why = ""; next }
		/^ok [0-9]+/ { good++; why = ""; next }
		!/^#/ { why = $0 }
		END { print plan + 0, good + 0, bad + 0, skip + 0 }' "$1"
}

run_unit()
{
	local name=${1##*/} rc plan good bad skip missing note=

	: >"$tmp/skips"
	bounded "$limit_unit" env ASAN_OPTIONS=$asan_base:detect_leaks=1 \
		CMOCKA_MESSAGE_OUTPUT=TAP "${layout[@]}" "$1"
	rc=$?
	read -r plan good bad skip < <(count_tap "$tmp/out" "$tmp/skips")
	missing=$((plan - good - bad - skip))
	if [ "$plan" -eq 0 ]; then
		bad=$((bad + 1)) note="no test plan, $(ended $rc "$limit_unit")"
	elif [ "$missing" -gt 0 ]; then
		bad=$((bad + missing)) note="$missing never reported, $(ended $rc "$limit_unit")"
	elif [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1 note="every case passed, then: $(ended $rc "$limit_unit")"
	fi
	report unit "$name" "$good" "$bad" "$skip" "$note"
	sed "s/^/skip $name: /" "$tmp/skips"
	[ "$bad" -eq 0 ] || show "$tmp/out" "$tmp/err"
}

run_explore()
{
	local name=${1##*/} rc

	bounded "$limit_explore" env ASAN_OPTIONS=$asan_base:detect_leaks=1 "$1"
	rc=$?
	if [ "$rc" -eq 0 ] && [ -s "$tmp/out" ]; then
		report explore "$name" 1 0 0 "$(tail -n 1 "$tmp/out")"
		return
	fi
	[ -s "$tmp/out" ] || echo "printed no verdict" >>"$tmp/err"
	report explore "$name" 0 1 0 "$(ended $rc "$limit_explore")"
	show "$tmp/out" "$tmp/err"
}

run_proof()
{
	local name=${1%% *} rc good bad skip note

	name=${name#tests/}
	# shellcheck disable=SC2086 # its arguments are words
	bounded "$limit_proof" $1
	rc=$?
	good=$(grep -c '^ok ' "$tmp/out")
	bad=$(grep -c '^not ok ' "$tmp/out")
	skip=$(grep -c '^skip ' "$tmp/out")
	note=$(tail -n 1 "$tmp/out" | grep -Ev '^(not )?ok |^skip ')
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1 note=$(ended $rc "$limit_proof")
	elif [ $((good + bad + skip)) -eq 0 ]; then
		bad=1 note="printed no result"
	fi
	report proof "$name" "$good" "$bad" "$skip" "$note"
	grep "^skip " "$tmp/out"
	[ "$bad" -eq 0 ] || show "$tmp/out" "$tmp/err"
}

run_style()
{
	local rc last

	timeout -k 10 "$limit_style" "tests/style/$1.sh" "$build" >"$tmp/out" 2>&1 </dev/null
	rc=$?
	last=$(tail -n 1 "$tmp/out")
	if [ "$rc" -ne 0 ]; then
		report style "$1" 0 1 0 "$(ended $rc "$limit_style")"
		show "$tmp/out"
	elif [ "${last#skip }" != "$last" ]; then
		report style "$1" 0 0 1
		echo "$last"
	else
		last=${last#*: ok (}
		report style "$1" 1 0 0 "${last%)}"
	fi
}

# run_script LABEL COMMAND...: one end-to-end script as whoever the command makes it.
run_script()
{
	local label=$1 rc good bad skip note=

	shift
	bounded "$limit_e2e" "$@"
	rc=$?
	good=$(grep -c '^ok ' "$tmp/out")
	bad=$(grep -c '^not ok ' "$tmp/out")
	skip=$(grep -c '^skip ' "$tmp/out")
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1 note=$(ended $rc "$limit_e2e")
	elif [ $((good + bad + skip)) -eq 0 ]; then
		bad=1 note="printed no result"
	fi
	report e2e "$label" "$good" "$bad" "$skip" "$note"
	sed -n "s/^skip /skip $label: /p" "$tmp/out"
	[ "$bad" -eq 0 ] || show "$tmp/out" "$tmp/err"
}

# Another user may not be able to reach this tree, so what the scripts need is copied.
stage()
{
	local part parts=("$build")

	[ ! -d "$tmp/tree" ] || return 0
	mkdir -p "$tmp/tree" "$tmp/home" "$tmp/tmp" || return 1
	for part in Makefile tests/e2e tests/data tests/perf tests/second tests/sim/seeds.txt tests/unit/wire_golden.c docs/wireshark topologies host/examples data; do
		[ ! -e "$part" ] || parts+=("$part")
	done
	tar -cf - --exclude='*.o' --exclude='*.d' --exclude='*.a' --exclude="$build/tests/unit" \
		"${parts[@]}" | tar -xf - --no-same-owner -C "$tmp/tree" || return 1
	chmod -R a+rX "$tmp/tree" || return 1
	chown "$nobody:$nobody" "$tmp/home" "$tmp/tmp"
}

run_e2e()
{
	local name=${1##*/}

	name=${name%.sh}
	# EAL keeps what it allocated at start-up until the process ends, which is no leak of ours.
	export ASAN_OPTIONS=$asan_base:detect_leaks=0
	mkdir -p "$tmp/own"
	run_script "$name" env TMPDIR="$tmp/own" bash "$1" "$build"
	[ "$(id -u)" -eq 0 ] || return 0
	# Of some the answers cannot depend on the user, and they take long.
	! grep -q '^# For one user[.]' "$1" || return 0
	if ! command -v setpriv >/dev/null; then
		report e2e "$name (uid $nobody)" 0 0 1
		echo "skip $name (uid $nobody): setpriv is missing (Debian package util-linux)"
		return
	fi
	if ! stage; then
		report e2e "$name (uid $nobody)" 0 1 0 "cannot copy the tree to $tmp"
		return
	fi
	# The PATH that Debian gives an ordinary user.
	run_script "$name (uid $nobody)" env -i -C "$tmp/tree" \
		PATH=/usr/local/bin:/usr/bin:/bin HOME="$tmp/home" \
		TMPDIR="$tmp/tmp" LANG=C.UTF-8 MODE="$mode" ASAN_OPTIONS="$ASAN_OPTIONS" \
		UBSAN_OPTIONS="$UBSAN_OPTIONS" TSAN_OPTIONS="$TSAN_OPTIONS" \
		GCOV_PREFIX="$tmp/tmp/gcov" setpriv --reuid "$nobody" --regid "$nobody" \
		--clear-groups bash "$1" "$build"
}

run_skip()
{
	skipped=$((skipped + 1))
	echo "skip ${1%%:*}: ${1#*:}"
}

for check; do
	case $check in
	unit:* | explore:* | proof:* | style:* | e2e:* | skip:*) "run_${check%%:*}" "${check#*:}" ;;
	*) report "?" "$check" 0 1 0 "no such kind of check" ;;
	esac
done

echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
