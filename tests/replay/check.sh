#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Replays the golden captures: twice, byte-identical, as expected; finds what was changed in them; refuses broken files.
#
# usage: tests/replay/check.sh BUILD_DIR
# Prints "ok NAME" or "not ok NAME: why" for each case, and a verdict.

set -uo pipefail

build=$1
replay=$build/tally-replay
golden=$(dirname "$0")/golden
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-replay.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0

ok()
{
	echo "ok $1"
}

fail()
{
	bad=$((bad + 1))
	echo "not ok $1: $2"
}

# once DIR OUT: one replay, what it says and what it sends.
once()
{
	"$replay" -v --out "$2.pcap" "$1" >"$2.txt" 2>"$2.err"
}

# same NAME DIR: both runs are the same, and as committed.
same()
{
	local name=$1 dir=$2 rc

	once "$dir" "$tmp/a"
	rc=$?
	[ $rc -eq 0 ] || { fail "$name" "exit status $rc: $(grep -hm 1 DIFFERENT "$tmp/a.txt" || tail -n 1 "$tmp/a.err")"; return; }
	once "$dir" "$tmp/b" || { fail "$name" "exit status $? the second time"; return; }
	cmp -s "$tmp/a.pcap" "$tmp/b.pcap" || { fail "$name" "two runs sent different bytes"; return; }
	cmp -s "$tmp/a.txt" "$tmp/b.txt" || { fail "$name" "two runs said different things"; return; }
	cmp -s "$tmp/a.txt" "$dir/verdicts.txt" ||
		{ fail "$name" "$(diff "$dir/verdicts.txt" "$tmp/a.txt" | head -n 3 | tr '\n' ' ')"; return; }
	"$replay" --expect "$tmp/b.pcap" "$dir" >"$tmp/c.txt" 2>&1 ||
		{ fail "$name" "differs from its own --out"; return; }
	ok "$name"
}

# put FILE OFFSET BYTES: as octal escapes of printf.
put()
{
	# shellcheck disable=SC2059 # it is a format
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# copy CASE: its directory, to be changed, in $case.
copy()
{
	rm -rf "$tmp/case"
	cp -r "$golden/$1" "$tmp/case"
	case=$tmp/case
}

# flip FILE OFFSET: changes one bit.
flip()
{
	local byte

	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	put "$1" "$2" "\\$(printf %o $((byte ^ 4)))"
}

# said NAME RC WORDS COMMAND...: exit status and what it says.
said()
{
	local name=$1 want=$2 words=$3 rc

	shift 3
	"$@" >"$tmp/said" 2>&1
	rc=$?
	if [ $rc -ne "$want" ]; then
		fail "$name" "exit status $rc, not $want: $(tail -n 2 "$tmp/said" | tr '\n' ' ')"
	elif ! grep -qF -- "$words" "$tmp/said"; then
		fail "$name" "does not say \"$words\": $(head -n 2 "$tmp/said" | tr '\n' ' ')"
	else
		ok "$name"
	fi
}

# The start of the N-th packet's record in a pcap file, from 1 on.
packet()
{
	local at=24 i len

	for ((i = 1; i < $2; i++)); do
		len=$(od -An -tu4 -j $((at + 8)) -N 4 "$1")
		at=$((at + 16 + len))
	done
	echo $((at + 16))
}

nr=0
for dir in "$golden"/*/; do
	dir=${dir%/}
	nr=$((nr + 1))
	same "${dir##*/}" "$dir"
done
differences=$bad
[ $nr -ge 20 ] || fail "golden captures" "only $nr of them"

# The switch of today makes the same captures, from the same script.
mkdir "$tmp/made"
if "$build/tests/replay/make" "$tmp/made" && diff -r -x verdicts.txt -I '^version ' "$golden" "$tmp/made" >"$tmp/diff"; then
	ok "made anew"
else
	fail "made anew" "$(head -n 3 "$tmp/diff" | tr '\n' ' ')"
fi

# One bit, in what was sent and in what came in.  42 bytes of framing, 22 of header.
copy sums
at=$(packet "$case/port2_out.pcap" 4)
flip "$case/port2_out.pcap" $((at + 64 + 21))
said "a value that was sent" 1 'value 21 of 128: expected' "$replay" "$case"
copy loss
at=$(packet "$case/port1_out.pcap" 4)
flip "$case/port1_out.pcap" $((at + 64 + 4 * 7 + 3))
said "a value, and where" 1 'packet 4 out of port 1, at 1790000000.' "$replay" "$case"
said "its index" 1 ': value 7 of 32: expected' "$replay" "$case"
copy loss
flip "$case/port1_out.pcap" $((at + 42 + 9))
said "the epoch" 1 'epoch: expected' "$replay" "$case"
copy loss
flip "$case/port1_out.pcap" $((at + 34 + 6))
said "a checksum" 1 'UDP checksum: expected' "$replay" "$case"
copy refusal
at=$(packet "$case/port3_out.pcap" 1)
flip "$case/port3_out.pcap" $((at + 64 + 1))
said "a cause" 1 'cause: expected' "$replay" "$case"
copy int16
at=$(packet "$case/port1_in.pcap" 3)
flip "$case/port1_in.pcap" $((at + 64 + 4 * 3 + 3))
said "a byte that came in" 1 'message type: expected RESULT, sent STATUS' "$replay" "$case"
said "what became of it" 1 ': udp_checksum' "$replay" -v "$case"
copy loss
at=$(packet "$case/port1_out.pcap" 2)
head -c $((at - 16)) "$case/port1_out.pcap" >"$tmp/short" && mv "$tmp/short" "$case/port1_out.pcap"
said "packets that are missing" 1 'sent, but nothing more is expected' "$replay" "$case"

# Bad input: one line, status 2.
copy loss
in=$case/port1_in.pcap
head -c 700 "$in" >"$tmp/cut.pcap"
said "cut inside a packet" 2 'the file ends inside it' "$replay" --ip 10.0.0.254 "$tmp/cut.pcap"
head -c 10 "$in" >"$tmp/cut.pcap"
said "cut inside its header" 2 'no capture that can be read' "$replay" --ip 10.0.0.254 "$tmp/cut.pcap"
: >"$tmp/empty.pcap"
said "an empty file" 2 'no capture that can be read' "$replay" --ip 10.0.0.254 "$tmp/empty.pcap"
said "no file" 2 'No such file' "$replay" --ip 10.0.0.254 "$tmp/nothing.pcap"
cp "$in" "$tmp/c.pcap" && put "$tmp/c.pcap" 20 '\161'
said "another link type" 2 'not Ethernet' "$replay" --ip 10.0.0.254 "$tmp/c.pcap"
cp "$in" "$tmp/c.pcap" && put "$tmp/c.pcap" 24 '\377\377\377\177'
said "stamps that go back" 2 'before that of the packet before it' "$replay" --ip 10.0.0.254 "$tmp/c.pcap"
cp "$in" "$tmp/c.pcap" && put "$tmp/c.pcap" 36 '\000\005'
said "a short snaplen" 2 'capture whole packets' "$replay" --ip 10.0.0.254 "$tmp/c.pcap"
cp "$in" "$tmp/c.pcap" && put "$tmp/c.pcap" 32 '\377\377\377\177'
said "a broken length" 2 'packet 1:' "$replay" --ip 10.0.0.254 "$tmp/c.pcap"
said "no address" 2 '--ip is missing' "$replay" "$in"
mkdir "$tmp/other"
said "a directory of something else" 2 'has neither a switch.txt' "$replay" "$tmp/other"
sed -i 's/^at .*/at noon end/' "$case/switch.txt"
said "a broken switch.txt" 2 'switch.txt:' "$replay" "$case"
copy loss
rm "$case/port2_in.pcap"
said "a capture that is missing" 2 'port2_in.pcap is missing' "$replay" "$case"

said "a directory that is not there" 2 "$tmp/nowhere: No such file" "$replay" "$tmp/nowhere"
mkfifo "$tmp/fifo"
said "a named pipe" 2 'fifo: not a regular file' timeout 20 "$replay" --ip 10.0.0.254 "$tmp/fifo"
said "a shell's pipe" 0 'as it is' "$replay" --ip 10.0.0.254 <(cat "$in")

# What is read is not written, by whatever name.
copy loss
ln -s "$case/port1_in.pcap" "$tmp/symbolic.pcap"
ln "$case/port2_out.pcap" "$tmp/hard.pcap"
cp "$golden/loss/port1_in.pcap" "$tmp/killed.pcap.partial"
"$replay" --out "$tmp/expected.pcap" "$case" >"$tmp/said" 2>&1 || fail "an expectation" "$(cat "$tmp/said")"
cp "$tmp/expected.pcap" "$tmp/kept.pcap"
for out in port1_in.pcap ../case/port2_out.pcap ../symbolic.pcap ../hard.pcap switch.txt; do
	said "--out onto ${out##*/}" 2 "is read: name another file" "$replay" --out "$case/$out" "$case"
done
said "it names both" 2 "--out $tmp/symbolic.pcap: would overwrite $case/port1_in.pcap, which" \
	"$replay" --out "$tmp/symbolic.pcap" "$case"
said "--out onto --expect" 2 "is read: name another file" \
	"$replay" --expect "$tmp/expected.pcap" --out "$tmp/expected.pcap" "$case"
said "--out onto a file" 2 "is read: name another file" \
	"$replay" --ip 10.0.0.254 --out "$tmp/symbolic.pcap" "$case/port1_in.pcap"
said "--out onto what is not whole" 2 "killed.pcap.partial, which is read" \
	"$replay" --ip 10.0.0.254 --out "$tmp/killed.pcap" "$tmp/killed.pcap.partial"
if diff -r -x verdicts.txt "$golden/loss" "$case" >"$tmp/diff" && cmp -s "$tmp/kept.pcap" "$tmp/expected.pcap" &&
	cmp -s "$golden/loss/port1_in.pcap" "$tmp/killed.pcap.partial" && [ -L "$tmp/symbolic.pcap" ]; then
	ok "all of them are as they were"
else
	fail "all of them are as they were" "$(cat "$tmp/diff")"
fi

# What ends in the middle has no whole name.
head -c 700 "$case/port1_in.pcap" >"$tmp/cut.pcap"
said "--out of a file that is cut" 2 'the file ends inside it' \
	"$replay" --ip 10.0.0.254 --out "$tmp/half.pcap" "$tmp/cut.pcap"
if [ ! -e "$tmp/half.pcap" ] && [ -s "$tmp/half.pcap.partial" ]; then
	ok "it is named so"
else
	fail "it is named so" "$(echo "$tmp"/half*)"
fi
head -c 700 "$golden/loss/port1_in.pcap" >"$case/port1_in.pcap"
said "--anonymise of one" 2 'the file ends inside it' "$replay" --anonymise "$tmp/half/" "$case"
said "the same again" 2 "an unfinished copy is there: remove $tmp/half.partial" "$replay" --anonymise "$tmp/half" "$case"
if [ ! -e "$tmp/half" ]; then
	ok "it has no whole name"
else
	fail "it has no whole name" "$(ls "$tmp/half")"
fi

# A record that lost a switch, or what its captures are.
mkdir "$tmp/record"
cp -r "$golden/loss" "$tmp/record/s1"
cp -r "$golden/sums" "$tmp/record/s2"
ln -s s1/port1_in.pcap "$tmp/record/h1-s1.in.pcap"
ln -s s2/port1_in.pcap "$tmp/record/h2-s2.in.pcap"
said "a record" 0 'switch s2:' "$replay" "$tmp/record"
mv "$tmp/record/s2/switch.txt" "$tmp/moved"
said "a record without a switch.txt" 2 "there is no s2/switch.txt, but h2-s2.in.pcap leads to s2/port1_in.pcap" \
	"$replay" "$tmp/record"
rm -r "$tmp/record/s2"
said "a record without a switch" 2 "there is no s2/switch.txt, but h2-s2.in.pcap leads to s2/port1_in.pcap" \
	"$replay" "$tmp/record"
rm "$tmp/record/h2-s2.in.pcap"
said "nothing says that it was" 0 'as expected: ' "$replay" "$tmp/record"
printf 'command tally-fabric run\nswitch s1\nswitch s2\n' >"$tmp/record/run.txt"
said "a record that names it" 2 "there is no s2/switch.txt, but run.txt names it" "$replay" "$tmp/record"
said "the others are replayed" 2 'as expected: ' "$replay" "$tmp/record"

# A switch that was killed: what is there agrees, and it is said that this is not all.
copy loss
sed -i '/end$/d' "$case/switch.txt"
mv "$case/port1_out.pcap" "$case/port1_out.pcap.partial"
head -c 900 "$case/port2_out.pcap" >"$case/port2_out.pcap.partial" && rm "$case/port2_out.pcap"
said "captures that are not whole" 0 "the captures are not whole" "$replay" "$case"

# Files of other origin: the ports' captures without what is beside them, and other traffic.
copy duplicates
"$replay" --out "$tmp/all.pcap" "$case" >/dev/null 2>&1
said "files" 0 'as expected: 14 packets, 0 differences' "$replay" --ip 10.0.0.254 --expect "$tmp/all.pcap" \
	"$case/port1_in.pcap" "$case/port2_in.pcap"
"$replay" --out "$tmp/strict.pcap" "$golden/strict-ports" >/dev/null 2>&1
said "files, strict" 0 'as expected: ' "$replay" --ip 10.0.0.254 --expect "$tmp/strict.pcap" \
	"$golden/strict-ports/port1_in.pcap" "$golden/strict-ports/port2_in.pcap"
said "files, loose" 1 'DIFFERENT: ' "$replay" --ip 10.0.0.254 --loose-ports --expect "$tmp/strict.pcap" \
	"$golden/strict-ports/port1_in.pcap" "$golden/strict-ports/port2_in.pcap"
said "a file of both directions" 0 '7 more left out' "$replay" --ip 10.0.0.254 "$case/port1_out.pcap"
said "other traffic" 0 'as it is' "$replay" --ip 10.9.9.9 "$case/port1_in.pcap"
said "a directory of switches" 0 'switch tree-leaf-2:' "$replay" "$golden"
# Copies without addresses, names and values: they replay, and decide the same.
hidden()
{
	local name=$1

	rm -rf "$tmp/new"
	"$replay" --anonymise "$tmp/new" "$golden/$name" >"$tmp/said" 2>&1 || { echo "$name: $(cat "$tmp/said")"; return; }
	"$replay" -v "$tmp/new" >"$tmp/new.txt" 2>/dev/null || { echo "$name: $(grep -m 1 DIFFERENT "$tmp/new.txt")"; return; }
	grep -qaE 'golden|10\.0\.0\.' "$tmp/new.txt" "$tmp/new"/* && echo "$name: something of it is left"
	[ ! -e "$tmp/new.partial" ] || echo "$name: new.partial stays"
	diff <(grep -oE '^port .*: [a-z_]+$' "$golden/$name/verdicts.txt" | sed 's/.*: //') \
		<(grep -oE '^port .*: [a-z_]+$' "$tmp/new.txt" | sed 's/.*: //') >/dev/null || echo "$name: other verdicts"
}
for dir in "$golden"/*/; do
	dir=${dir%/}
	hidden "${dir##*/}"
done >"$tmp/hidden"
if [ -s "$tmp/hidden" ]; then
	fail "anonymised" "$(tr '\n' ' ' <"$tmp/hidden")"
else
	ok "anonymised"
fi
said "anonymised twice" 2 'File exists' "$replay" --anonymise "$tmp/new" "$golden/sums"

echo "$nr captures, $differences differences, $bad failed"
[ $bad -eq 0 ]
