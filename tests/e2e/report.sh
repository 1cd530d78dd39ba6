#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# report.sh BUILD_DIR - a page about a run of each fabric: well-formed, with the numbers that were printed, or none.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-fabric tally-switch tally-perf
command -v python3 >/dev/null || skip_all "python3 is missing (Debian package python3)"
fabric=$build/tally-fabric
plots=("Packets sent" "Packets sent again" Window "Round trip" "Completion of each rank" "Rate of each rank"
	"Completion of an operation")

# page NAME [PLOT...]: of the run NAME, in $dir/NAME.page
page()
{
	local name=$1 said

	shift
	said=$("$here/report.py" "$dir/$name.page/report.html" "$dir/$name.out" "$@" 2>&1) || fail "$name: $said"
	[ "$(ls -A "$dir/$name.page")" = report.html ] || fail "$name: leaves other files"
}

case_sim()
{
	spawn sim "$fabric" sim "$top/topologies/two-jobs.yaml" --loss 1% --report "$dir/sim.page"
	ends sim 0
	printed sim.err "report: $dir/sim.page/report.html$"
	page sim "${plots[@]}"
	spawn again "$fabric" sim "$top/topologies/two-jobs.yaml" --loss 1% --report "$dir/sim.page" --timeline 10ms
	ends again 0
	grep -q 'packets of all ranks in each 10 ms' "$dir/sim.page/report.html" || fail "not each 10 ms"
	page sim "${plots[@]}"
}

case_inproc()
{
	spawn inproc "$fabric" run --fabric inproc "$top/topologies/one-switch-4-loss.yaml" --report "$dir/inproc.page"
	ends inproc 0
	page inproc "${plots[@]}"
}

case_netns()
{
	fabric_possible || {
		fail 'skip: no namespaces'
		return
	}
	spawn netns "$fabric" run "$top/topologies/two-level-2x2.yaml" --report "$dir/netns.page" --timeline 20ms
	ends netns 0
	page netns "${plots[@]}"
	grep -q 'packets of all ranks in each 20 ms' "$dir/netns.page/report.html" || fail "not each 20 ms"
}

# Of other programs their ends are known; what is not, is said.
case_programs()
{
	fabric_possible || {
		fail 'skip: no namespaces'
		return
	}
	printf '%s\n' 'hosts: [h1, h2]' 'switches: [s1]' 'links: [[h1, s1-p1], [h2, s1-p2]]' \
		'jobs: [{name: own, ranks: [h1, h2], run: "echo \"<&>\"; exit $TALLY_RANK"}]' >"$dir/own.yaml"
	spawn own "$fabric" run "$dir/own.yaml" --report "$dir/own.page"
	ends own 1
	page own "Completion of each rank"
	grep -q 'Job <b>own</b> runs a program of its own' "$dir/own.page/report.html" || fail "does not say what it lacks"
	grep -q '<pre>&#60;&#38;&#62;' "$dir/own.page/report.html" || fail "what was printed is not there"
}

# Said before the run where it can be, and nothing half-written is left.
case_refused()
{
	local file=$top/topologies/one-switch-2.yaml

	: >"$dir/file"
	spawn file "$fabric" sim "$file" --report "$dir/file"
	ends file 2
	printed file.err "^tally-fabric: --report $dir/file: (Not a directory|File exists)$"
	[ ! -s "$dir/file.out" ] || fail "it runs"
	spawn none "$fabric" sim "$file" --report "$dir/not/there"
	ends none 2
	printed none.err 'not/there: No such file or directory$'
	spawn many "$fabric" sim "$file" --report "$dir/many" --seeds 1..2
	ends many 2
	printed many.err '^tally-fabric: --pcap, --record and --report are of one run: give none of --seeds, --sweep, --workers, --compare$'
	spawn draw "$fabric" draw "$file" --report "$dir/many"
	ends draw 2
	printed draw.err '^tally-fabric: --report is an option of tally-fabric run and sim, not of draw '
	spawn run "$fabric" run "$file" --timeline 10ms
	ends run 2
	printed run.err '^tally-fabric: --timeline of tally-fabric run is the interval of its page: add --report DIR$'
	# One of an earlier run is not taken for that of a run whose time is up.
	mkdir "$dir/stale.page" && : >"$dir/stale.page/report.html"
	sed 's/iterations: 5/iterations: 100000/' "$file" >"$dir/long.yaml"
	spawn stale "$fabric" sim "$dir/long.yaml" --timeout 1 --report "$dir/stale.page"
	ends stale 124
	[ -z "$(ls -A "$dir/stale.page")" ] || fail "leaves an earlier page"
	# As of a full disk.
	spawn full sh -c "ulimit -f 8; exec '$fabric' sim '$file' --report '$dir/full.page' >/dev/null"
	ends full 1
	printed full.err 'full.page/report.html: .*: there is no page of this run$'
	[ -z "$(ls -A "$dir/full.page")" ] || fail "leaves $(ls -A "$dir/full.page")"
}

run_cases 2 sim inproc netns programs refused
exit "$not_ok"
