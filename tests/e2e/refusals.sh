#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# refusals.sh BUILD_DIR - what a user can get wrong: one sentence that says so, the right exit status, nothing left.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-perf train
digits=$top/host/examples/data/digits.csv
switch=$build/tally-switch perf=$build/tally-perf train=$build/train fabric=$build/tally-fabric
export PATH=$PATH:/usr/sbin:/sbin

# refused STATUS PATTERN COMMAND...: one line on stderr (getopt's own complaints may have two), nothing on stdout, no
# words of DPDK's, no files.
refused()
{
	local status=$1 pattern=$2 lines

	shift 2
	mkdir -p "$dir/tmp"
	spawn refused env TMPDIR="$dir/tmp" "$@"
	ends refused "$status" || fail "$* (status)"
	printed refused.err "$pattern" || fail "$*"
	lines=$(wc -l <"$dir/refused.err")
	if [ "$lines" -eq 2 ] && grep -qE 'unrecognized|invalid|requires an' "$dir/refused.err"; then
		lines=1
	fi
	[ "$lines" -eq 1 ] || fail "$*: not one line but $lines: $(head -n 3 "$dir/refused.err")"
	! grep -qE 'EAL|rte_' "$dir/refused.err" || fail "$*: DPDK's words: $(cat "$dir/refused.err")"
	[ ! -s "$dir/refused.out" ] || fail "$*: goes on: $(head -n 1 "$dir/refused.out")"
	[ -z "$(ls -A "$dir/tmp")" ] || fail "$*: leaves $(ls -A "$dir/tmp")"
}

case_switch-options()
{
	local u="-i 1@udp:$address" form

	refused 2 'no port is given: use -i N@' "$switch"
	refused 2 'unknown option "-x": tally-switch --help' "$switch" -x
	refused 2 'unknown option "--nosuch=1"' "$switch" --nosuch=1
	refused 2 '"stray" is no option: a port is given by -i' "$switch" stray
	refused 2 '--interface needs a value' "$switch" -i
	for form in 1 udp:127.0.0.1 @lo; do
		refused 2 'a port is written NUMBER@DEVICE|is no port number' "$switch" -i "$form"
	done
	refused 2 '"300" is no port number \(0 to 255\)' "$switch" -i 300@udp:127.0.0.1
	refused 2 'binds one specific address, not 0\.0\.0\.0' "$switch" -i 1@udp:0.0.0.0
	refused 2 '"localhost" is no IPv4 address' "$switch" -i 1@udp:localhost
	refused 2 '"70000" is no UDP port' "$switch" -i 1@udp:127.0.0.1:70000
	refused 2 'unknown setting' "$switch" -i 1@udp:127.0.0.1,fast
	refused 2 'port number 1 is given twice' "$switch" -i 1@udp:127.0.0.1 -i 1@udp:127.0.0.2
	refused 2 'port 1 has this device already' "$switch" -i 1@udp:127.0.0.1 -i 2@udp:127.0.0.1
	refused 2 '"a b" is no form of port' "$switch" -i '1@a b'
	refused 2 'is no interface name' "$switch" -i 1@a-name-that-is-far-too-long
	refused 2 'needs two files' "$switch" -i 1@pcap:in --ip 10.0.0.1
	refused 2 'framed ports need --ip' "$switch" -i 1@veth0
	refused 2 '--ip 224\.0\.0\.1: must be one IPv4 address' "$switch" -i "1@memif:$dir/x" --ip 224.0.0.1
	refused 2 '--mac 01.*not of a group' "$switch" -i "1@memif:$dir/x" --ip 10.0.0.1 --mac 01:00:00:00:00:01
	# shellcheck disable=SC2086 # two words
	{
		refused 2 '--loss 2: must be a probability' "$switch" $u --loss 2
		refused 2 '--reorder -1%: must be a probability' "$switch" $u --reorder -1%
		refused 2 '--impair: there is no port 2' "$switch" $u --impair 2:loss=1%
		refused 2 '--impair .*unknown key "late"' "$switch" $u --impair 1:late=1
		refused 2 '--impair .*delay must be a time' "$switch" $u --impair 1:delay=1
		refused 2 '--memory 1: must be a size' "$switch" $u --memory 1
		refused 2 '--slots 3: must be a number from 33' "$switch" $u --slots 3
		refused 2 '--add abacus: is no arithmetic' "$switch" $u --add abacus
		refused 2 '--poll now: must be adaptive or spin' "$switch" $u --poll now
		refused 2 '--log-level loud: must be none, warn, info or debug' "$switch" $u --log-level loud
		refused 2 '--ready-fd 77: is not open' "$switch" $u --ready-fd 77
		refused 2 '--help takes no value' "$switch" $u --help=1
	}
}

case_switch-devices()
{
	local ip='--ip 10.0.0.1'

	# shellcheck disable=SC2086 # two words
	{
		refused 1 'nosuch0\): there is no such interface' "$switch" -i 1@nosuch0 $ip
		refused 1 '192\.0\.2\.1 is no address of this machine' "$switch" -i 1@udp:192.0.2.1
		refused 1 'cannot make a socket in the directory' "$switch" -i 1@memif:/nowhere/x.sock $ip
		refused 1 'cannot read /nowhere/in.pcap' "$switch" -i "1@pcap:/nowhere/in.pcap,$dir/out.pcap" $ip
		refused 1 'DPDK has no such driver' "$switch" -i 1@vdev:net_nosuch0 $ip
		refused 1 'bind it to vfio-pci' "$switch" -i 1@0000:ff:1f.7 $ip
		refused 1 'cannot make the directory' "$switch" -i "1@udp:$address" --pcap /nowhere/captures
		refused 1 'cannot make a directory for run-time files' env TMPDIR=/nowhere "$switch" \
			-i "1@memif:$dir/x.sock" $ip
	}
	if [ "$(id -u)" -ne 0 ]; then
		refused 1 'UDP port 80 is privileged: use one from 1024' "$switch" -i "1@udp:$address:80"
	fi
}

case_no-hugepages()
{
	if [ "$(cat /sys/kernel/mm/hugepages/hugepages-*/free_hugepages 2>/dev/null | sort -n | tail -n 1)" != 0 ] &&
		[ -d /sys/kernel/mm/hugepages ]; then
		fail "skip: this machine has hugepages"
		return
	fi
	refused 1 'without --huge it needs no hugepages' "$switch" -i "1@memif:$dir/x.sock" --ip 10.0.0.1 --huge
	switch_start switch -i "1@memif:$dir/x.sock" --ip 10.0.0.1 --log-level info
	printed switch.err 'packets are in ordinary memory \(hugepages: --huge\)'
	switch_stop switch
}

# A packet port without the capability: its name, and the forms of port that need none.
case_no-capability()
{
	if ! unshare -Urn true 2>/dev/null; then
		fail "skip: this system allows no user namespaces (unshare -Urn)"
		return
	fi
	cat >"$dir/inside" <<-END
		ip link add v1 type veth peer name v2 && ip link set v1 up && ip link set v2 up &&
		exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all '$switch' -i 1@v1 --ip 10.0.0.1
	END
	refused 1 'port 1 \(v1\): .*CAP_NET_RAW.*udp:' unshare -Urn sh "$dir/inside"
}

# DPDK's threads would end the process without a word.
case_few-files()
{
	local files

	for files in 8 9 12 16 20; do
		refused 1 'too few|Too many open files' sh -c "ulimit -n $files; exec '$switch' -i '1@memif:$dir/s' --ip 10.0.0.1 --ctl none"
	done
	printed refused.err 'too few files may be open: .*ulimit -n'
}

case_small-mtu()
{
	if ! unshare -Urn true 2>/dev/null; then
		fail "skip: this system allows no user namespaces (unshare -Urn)"
		return
	fi
	refused 1 'the way to the switch 127\.0\.0\.1:48880 carries packets of 209 bytes, and 210 are needed: raise the MTU' \
		unshare -Urn env TALLY_SWITCH=127.0.0.1 TALLY_RANK=0 TALLY_SIZE=1 sh -c \
		"ip link set lo mtu 209 up && exec '$perf' -b 4 -e 4"
}

case_address-in-use()
{
	switch_start one -i "1@udp:$address"
	refused 1 "UDP port 48880 at $address is in use: by another tally-switch\\?" "$switch" -i "1@udp:$address"
	worker w job 0 1 "$perf" --sizes 64K -n 1
	ends w 0
	switch_stop one
	switch_start memif -i "1@memif:$dir/m.sock" --ip 10.0.0.1
	mkdir -p "$dir/tmp"
	refused 1 'm\.sock\): .*(in use|another)' "$switch" -i "1@memif:$dir/m.sock" --ip 10.0.0.1
	switch_stop memif
	[ ! -e "$dir/m.sock" ] || fail "the socket is left"
}

# Stale sockets and folders are no obstacle, and the next start removes them.
case_restart-after-kill()
{
	local i

	for i in 1 2 3; do
		switch_start switch -i "1@memif:$dir/m.sock" -i "2@udp:$address" --ip 10.0.0.1
		[ "$(find "$dir" -maxdepth 1 -name 'tally-switch.*' | wc -l)" -eq 1 ] ||
			fail "start $i: folders of those before are left"
		[ "$i" = 3 ] || { signal 9 switch && ends switch 137; }
	done
	switch_stop switch
	[ -z "$(find "$dir" -maxdepth 1 -name 'tally-switch.*')" ] || fail "its folder is left"
	[ ! -e "$dir/m.sock" ] || fail "its socket is left"
}

case_two-switches()
{
	local other

	other=$(random_address)
	switch_start one -i "1@udp:$address" -i "2@memif:$dir/1.sock" --ip 10.0.0.1
	switch_start two -i "1@udp:$other" -i "2@memif:$dir/2.sock" --ip 10.0.0.1
	workers a job 4 "$perf" --sizes 64K,1M -n 2
	address=$other
	workers b job 4 "$perf" --sizes 64K,1M -n 2
	all_end a 4 0
	all_end b 4 0
	same_hash b0.out "$(hash_of a0.out)"
	switch_stop one
	switch_stop two
}

case_perf-options()
{
	refused 2 'invalid option|lists the options' "$perf" -x
	refused 2 "unrecognized option '--nosuch'" "$perf" --nosuch
	refused 2 'stray: not an option' "$perf" stray
	refused 2 '--minbytes 4X: want a size such as' "$perf" -b 4X
	refused 2 '--maxbytes 4 is less than --minbytes' "$perf" -b 4M -e 4
	refused 2 '--nthreads 65: want a whole number from 1 to 64' "$perf" -t 65
	refused 2 '--nthreads 0: ' "$perf" -t 0
	refused 2 '--datatype float64: want float32, float16, bfloat16, int32' "$perf" -d float64
	refused 2 '--op prod: want sum, avg, max, min or all' "$perf" -o prod
	refused 2 '--stepfactor 1: ' "$perf" -f 1
	refused 2 'give --stepfactor or --stepbytes, not both' "$perf" -i 4 -f 2
	refused 2 '--check 2: ' "$perf" -c 2
	refused 2 '--counts 1,x: ' "$perf" --counts 1,x
	refused 2 '--inplace 2: ' "$perf" --inplace 2
	refused 2 '--iters 0: ' "$perf" -n 0
	refused 2 '--timeout soon: ' "$perf" -T soon
}

case_train-options()
{
	refused 2 "unrecognized option '--nosuch'" "$train" --nosuch
	refused 2 '--epochs 0: want a whole number' "$train" --epochs 0
	refused 2 '--ranks 0: want a whole number from 1 to 64' "$train" --ranks 0
	refused 2 '--batch 0: ' "$train" --batch 0
	refused 2 '--lr x: want a number' "$train" --lr x
	refused 2 '--plain has no ranks' "$train" --plain --inproc
	refused 2 'stray: not an option' "$train" stray
	refused 1 '/nowhere: No such file.*--data FILE' "$train" --data /nowhere --inproc
	head -n 100 "$digits" >"$dir/short.csv"
	refused 1 "$dir/short.csv" "$train" --data "$dir/short.csv" --inproc
	sed '7s/,/;/' "$digits" >"$dir/broken.csv"
	refused 1 "$dir/broken.csv.*7" "$train" --data "$dir/broken.csv" --inproc
}

case_fabric-options()
{
	local file=$top/topologies/one-switch-2.yaml

	if [ ! -x "$fabric" ]; then
		fail "skip: tally-fabric is not built"
		return
	fi
	refused 2 "expected run, sim, check, draw, shell or enter, not 'nosuch'" "$fabric" nosuch
	refused 2 'expected one FILE after run' "$fabric" run
	refused 2 'expected one FILE after run' "$fabric" run "$file" stray
	refused 2 '/nowhere\.yaml: .*No such file' "$fabric" run /nowhere.yaml
	refused 2 "--loss: expected a share such as 1% or 0.01 \(all: 100%\), not '2'" "$fabric" run "$file" --loss 2
	refused 2 "--driver: expected af_packet or udp, not 'x'" "$fabric" run "$file" --driver x
	refused 2 "--mtu: expected 256 to 65535 bytes, not '255'" "$fabric" run "$file" --mtu 255
	refused 2 "--timeout: expected a whole number of seconds from 1 on .without it there is no limit., not '0'" "$fabric" run "$file" --timeout 0
	refused 2 'expected a FILE and a HOST after shell' "$fabric" shell "$file"
	refused 2 "expected the name of a host, not 'h9'" "$fabric" shell "$file" h9 -- true
	refused 2 "unrecognized option '--nosuch'" "$fabric" --nosuch
}

# Where namespaces are forbidden: which knob, and nothing half made.
case_fabric-forbidden()
{
	if [ ! -x "$fabric" ] || ! unshare -Ur true 2>/dev/null; then
		fail "skip: this system allows no user namespaces"
		return
	fi
	cat >"$dir/inside" <<-END
		echo 0 >/proc/sys/user/max_user_namespaces &&
		exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all '$fabric' run \
			'$top/topologies/one-switch-2.yaml'
	END
	refused 125 'cannot make namespaces .*user\.max_user_namespaces' unshare -Ur sh "$dir/inside"
}

# A file is refused at its place: line and column, what was expected, and the line itself.
case_fabric-files()
{
	local file

	if [ ! -x "$fabric" ]; then
		fail "skip: tally-fabric is not built"
		return
	fi
	for file in "$top"/tests/data/topology/bad/*.yaml "$top"/tests/data/topology/bad/*.json; do
		spawn bad "$fabric" run "$file"
		ends bad 2 || fail "$file (status)"
		printed bad.err ': (error|expected|[0-9]+)' || fail "$file"
		[ ! -s "$dir/bad.out" ] || fail "$file: goes on"
	done
}

# What is named is a pipe, and nobody is at its other end: said at once, not waited for.
case_pipes()
{
	local pipe=$dir/pipe nobody='a pipe that nobody reads'

	mkfifo "$pipe"
	refused 1 "TALLY_CONF=$pipe: want a regular file" env TALLY_CONF="$pipe" "$perf" -t 1
	refused 1 "TALLY_DEBUG_FILE=$pipe: $nobody" env TALLY_DEBUG_FILE="$pipe" "$perf" -t 1
	refused 1 "--json $pipe: $nobody" "$perf" -t 1 --json "$pipe"
	refused 1 "$pipe" "$train" --inproc --ranks 2 --data "$pipe"
	if [ -x "$switch" ]; then
		refused 1 "--totals $pipe: $nobody" "$switch" -i "1@udp:$address" --totals "$pipe"
		mkdir "$dir/captures" && mkfifo "$dir/captures/port1_in.pcap"
		refused 1 "port1_in.pcap there: $nobody" "$switch" -i "1@udp:$address" --pcap "$dir/captures"
		refused 1 "$pipe is a pipe, not a file" "$switch" -i "1@pcap:$pipe,$dir/out.pcap" --ip 10.0.0.1
		: >"$dir/in.pcap"
		refused 1 "$pipe is a pipe, not a file" "$switch" -i "1@pcap:$dir/in.pcap,$pipe" --ip 10.0.0.1
	fi
	# These are, or may be, no files, and are meant.
	for pipe in /dev/null /dev/stderr; do
		spawn meant env TALLY_DEBUG=info TALLY_DEBUG_FILE=$pipe "$perf" -t 2 -b 4 -e 4 --json /dev/null
		ends meant 0
	done
	printed meant.err 'TALLY INFO'
	TALLY_DEBUG=info TALLY_DEBUG_FILE=/dev/stderr "$perf" -t 2 -b 4 -e 4 2>&1 >/dev/null | grep 'TALLY INFO' >/dev/null ||
		fail "TALLY_DEBUG_FILE=/dev/stderr says nothing into a pipe"
}

case_sim-options()
{
	local sim=$build/tests/sim/sim seed

	if [ ! -x "$sim" ]; then
		fail "skip: the simulator is not built"
		return
	fi
	refused 2 '--seed x: want a whole number' "$sim" --seed x
	refused 2 '--seed 1x: want' "$sim" --seed 1x
	refused 2 '--seed -1: want' "$sim" --seed -1
	refused 2 '--seed 99999999999999999999: want' "$sim" --seed 99999999999999999999
	refused 2 '--seeds 9\.\.1: want N, from 1 on, or A\.\.B' "$sim" --seeds 9..1
	refused 2 '--seeds abc: want' "$sim" --seeds abc
	refused 2 '--seeds 0: want' "$sim" --seeds 0
	refused 2 '--mutant nosuch: no such mutant; --mutants lists' "$sim" --mutant nosuch
	refused 2 'SEEDS 5x: want' env SEEDS=5x "$sim"
	# Of one that fails, too, when that was.
	seed=$(awk '$2 == "version" { print $1 }' "$top/tests/sim/seeds.txt")
	"$sim" --seed "$seed" --mutant version >"$dir/sim.out"
	grep -qE 'seed [0-9]+: FAILED, .* ([1-9][0-9]*\.[0-9]+|0\.[0-9]*[1-9][0-9]*) ms' "$dir/sim.out" ||
		fail "a run that failed: $(tail -n 1 "$dir/sim.out")"
}

case_second-without-driver()
{
	if ! command -v python3 >/dev/null; then
		fail "skip: python3 is missing"
		return
	fi
	refused 1 '/nowhere: No such file.*make check-explore. builds it' \
		env SECOND_DRIVER=/nowhere python3 "$top/tests/second/second.py"
}

# unwritten COMMAND...: what could not be printed was not done.
unwritten()
{
	local status

	"$@" >/dev/full 2>"$dir/full.err"
	status=$?
	[ "$status" -eq 1 ] || fail "$* >/dev/full: exit status $status, not 1"
	grep -q "^${1##*/}: .*standard output" "$dir/full.err" || fail "$* >/dev/full says: $(cat "$dir/full.err")"
}

case_full-disk()
{
	local program

	for program in "$switch" "$build/tallyctl" "$perf" "$build/tally-info" "$train" "$fabric"; do
		[ -x "$program" ] || continue
		unwritten "$program" --help
		unwritten "$program" --version
		unwritten "$program" -V
	done
	unwritten "$build/tally-info"
	unwritten "$build/tally-info" -c
	unwritten "$perf" -t 2 -b 4K -e 4K -n 1
	unwritten "$train" --inproc --ranks 2 --epochs 1 --data "$digits"
	[ ! -x "$fabric" ] || unwritten "$fabric" check "$top/topologies/one-switch-2.yaml"
	if [ -x "$switch" ]; then
		spawn switch sh -c "exec '$switch' -i '1@udp:$address' >/dev/full"
		says switch 'ready, '
		signal TERM switch
		ends switch 1
		printed switch.err 'standard output: the totals could not be written'
	fi
}

# A file beyond the limit is as one on a full disk: a job goes on, and what is not complete is said at the end.
case_file-limit()
{
	local i

	spawn switch sh -c "ulimit -f 20; exec '$switch' -i '1@udp:$address' --ctl none --pcap '$dir/pcap'"
	says switch 'ready, '
	for i in 0 1; do
		worker "w$i" job "$i" 2 "$perf" -b 256K -e 256K -n 3 -w 0
	done
	all_end w 2 0
	signal TERM switch
	ends switch 0
	printed switch.err 'port 1: the capture ends, the switch goes on: .*File too large'
	refused 1 'j\.json.*File too large' sh -c "ulimit -f 1; exec '$perf' -t 1 -b 1K -e 64K -n 1 -J '$dir/j.json' >/dev/null"
}

case_small-stack()
{
	spawn switch sh -c "ulimit -s 128; exec '$switch' -i '1@udp:$address' --ctl none"
	says switch 'ready, '
	signal TERM switch
	ends switch 0
}

# Closed standard files are not taken for others: a capture holds packets, not words.
case_closed-standard-files()
{
	local program=$switch file

	spawn switch sh -c "exec '$switch' -i '1@udp:$address' --pcap '$dir/captures' --ctl '$dir/ctl' \
		--totals '$dir/totals' <&- >&- 2>&-"
	until_true [ -S "$dir/ctl" ] || fail "does not serve"
	signal USR1 switch
	signal TERM switch
	until_true gone switch || fail "does not end"
	for file in in out; do
		[ "$(wc -c <"$dir/captures/port1_$file.pcap")" -eq 24 ] || fail "words in port1_$file.pcap"
	done
	for program in "$switch" "$fabric"; do
		[ ! -x "$program" ] || ! "$program" --help >&- 2>"$dir/closed.err" || fail "$program: nothing was wrong"
		printed closed.err 'standard output'
	done
}

cases=(full-disk pipes perf-options train-options fabric-options fabric-forbidden fabric-files sim-options
	second-without-driver)
if [ -x "$switch" ]; then
	cases+=(closed-standard-files file-limit small-stack few-files switch-options switch-devices no-hugepages no-capability small-mtu address-in-use restart-after-kill two-switches)
else
	echo "skip refusals of tally-switch: it is not built (DPDK is missing)"
fi
run_cases 2 "${cases[@]}"
exit $not_ok
