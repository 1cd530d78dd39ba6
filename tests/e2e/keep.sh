#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# keep.sh BUILD_DIR - a network that stays after its run, shells in it from outside, and that nothing is left of it.
# shellcheck disable=SC2034,SC2154 # lib.sh sets and reads them
. "${0%/*}/lib.sh"

require tally-switch tally-perf tally-fabric
fabric=$build/tally-fabric
fabric_possible || skip_all "this system allows no user namespaces (unshare -Urn)"

# file NAME COMMAND: hosts with names that no other case has.
file()
{
	cat >"$dir/net.yaml" <<-END
		hosts: [$1-1, $1-2]
		switches: [$1-s]
		links: [[$1-1, $1-s-p1], [$1-2, $1-s-p2]]
		jobs: [{name: sums, ranks: [$1-1, $1-2], run: "$2"}]
	END
}

# enter PLACE COMMAND...
enter()
{
	spawn enter "$fabric" enter "$1" -- "${@:2}"
	ends enter 0
}

# Where the network has been, none is.
nothing_left()
{
	spawn enter "$fabric" enter "$1" -- true
	ends enter 125
	printed enter.err "no network of this user runs with a process in $1: "
}

# Ended by SIGTERM, with the result of its ranks.
case_kept()
{
	file a "exit \$((TALLY_RANK * 3))"
	spawn run "$fabric" run "$dir/net.yaml" --keep --record "$dir/record"
	says run 'rank 1 on a-2 exited with 3$'
	says run 'the network stays until Ctrl-C or SIGTERM; a shell there, from any terminal: .tally-fabric enter HOST., of a-1, a-2, a-s$'
	printed run.err "what each node printed is in $dir/record/logs$"
	enter a-1 sh -c 'cat /proc/net/dev; echo $FABRIC_HOST $TALLY_SWITCH $(hostname) $(pwd)'
	printed enter.out ' eth0:'
	printed enter.out "^a-1 10.0.0.254 a-1 $PWD\$"
	enter a-s cat /proc/net/dev
	printed enter.out ' p2:'
	spawn one "$fabric" enter a-1 -- sh -c "TALLY_JOB=more TALLY_RANK=0 TALLY_SIZE=2 exec tally-perf -b 4K -e 4K -n 3"
	spawn two "$fabric" enter a-2 -- sh -c "TALLY_JOB=more TALLY_RANK=1 TALLY_SIZE=2 exec tally-perf -b 4K -e 4K -n 3"
	ends one 0
	ends two 0
	printed one.out '^# Out of bounds values : 0 OK'
	# What runs there when the network ends, ends.
	spawn stays "$fabric" enter a-2 -- sh -c 'echo there; exec sleep 1000'
	says stays there
	signal TERM run
	ends run 3
	ends stays 137
	printed run.out '^sums +1 +a-2 +3 '
	printed run.out 'cpu '
	nothing_left a-1
}

case_interrupted()
{
	file b true
	spawn run "$fabric" run "$dir/net.yaml" --keep
	says run 'the network stays until'
	signal INT run
	ends run 0
	nothing_left b-1
}

case_killed()
{
	file c true
	spawn run "$fabric" run "$dir/net.yaml" --keep
	says run 'the network stays until'
	signal KILL run
	ends run 137
	is_left()
	{
		! "$fabric" enter c-1 -- true
	}
	until_true is_left || fail "the network outlives its run"
}

# A run that goes on can be entered as well, and two of one name are told apart.
case_two()
{
	file d "echo on; exec sleep 1000"
	spawn run "$fabric" run "$dir/net.yaml"
	says run '^on$'
	enter d-2 hostname
	printed enter.out '^d-2$'
	spawn again "$fabric" run "$dir/net.yaml"
	says again '^on$'
	spawn enter "$fabric" enter d-2 -- true
	ends enter 125
	printed enter.err '2 networks have a d-2: enter that of a process, one of [0-9]+, [0-9]+: .tally-fabric enter [0-9]+.$'
	enter "$(sed -n 's/.*fabric enter \([0-9]*\)`$/\1/p' "$dir/enter.err")" hostname
	printed enter.out '^d-2$'
	signal TERM run
	signal TERM again
	ends run 143
	ends again 143
}

# At a terminal Enter is enough.
case_terminal()
{
	command -v script >/dev/null || { why='skip: script is missing' && return; }
	file e true
	mkfifo "$dir/keys"
	script -qec "'$fabric' run '$dir/net.yaml' --keep" /dev/null <"$dir/keys" >"$dir/run.out" 2>&1 &
	pids[run]=$!
	: >"$dir/run.err"
	exec 9>"$dir/keys"
	says run 'the network stays until Enter, Ctrl-C or SIGTERM'
	echo >&9
	ends run 0
	exec 9>&-
	nothing_left e-1
}

# After a shell, too.
case_shell()
{
	file f true
	spawn run "$fabric" shell "$dir/net.yaml" f-1 --keep -- sh -c 'echo in; exit 4'
	says run 'the network stays until'
	printed run.out '^in$'
	enter f-2 hostname
	printed enter.out '^f-2$'
	signal TERM run
	ends run 4
	nothing_left f-1
	spawn run "$fabric" check "$dir/net.yaml" --keep
	ends run 2
	printed run.err '^tally-fabric: --keep is an option of tally-fabric run and shell'
}

run_cases 2 kept interrupted killed two terminal shell
exit $not_ok
