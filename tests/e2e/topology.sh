#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# topology.sh BUILD_DIR - topology files: what is said of broken ones, pictures of good ones, and jobs that start
# and end at their times.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-fabric
fabric=$build/tally-fabric
data=$top/tests/data/topology

# Each line `FILE:LINE:COLUMN: error: what was expected, and found`, with the line and a mark below; nothing else.
case_broken-files()
{
	local file name nr=0

	cd "$data/bad" || return
	for file in *.yaml *.json; do
		name=$file
		spawn "$name" "$fabric" check "$file"
		ends "$name" 2
		cmp -s "$dir/$name.err" "$file.expected" ||
			fail "$file: $(diff "$dir/$name.err" "$file.expected" | head -n 2 | tail -n 1)"
		[ ! -s "$dir/$name.out" ] || fail "$file: something is on standard output"
		head -n 1 "$dir/$name.err" | grep -qE '^[^ :]+:[0-9]+:[0-9]+: error: ..' ||
			fail "$file: the first line has no place: $(head -n 1 "$dir/$name.err")"
		nr=$((nr + 1))
	done
	[ "$nr" -ge 60 ] || fail "only $nr broken files"
}

case_good-files()
{
	local file

	for file in "$data"/good/*.yaml "$data"/good/*.json; do
		spawn "${file##*/}" "$fabric" check "$file"
		ends "${file##*/}" 0
		printed "${file##*/}.out" 'hosts [0-9]+, switches [0-9]+, links [0-9]+, jobs [0-9]+, ranks [0-9]+$'
	done
	printed scale.yaml.out 'hosts 1024, switches 65, links 1088, jobs 1, ranks 1024$'
}

# Files of other directories include with paths of their own.
case_include-elsewhere()
{
	cd / || return
	spawn there "$fabric" check "$data/good/include.yaml"
	ends there 0
	printed there.out 'hosts 5, switches 1, links 5, jobs 1, ranks 5$'
}

# The format is that of the name's end, or as told; on standard output DOT.
case_pictures()
{
	local file=$data/good/tree.yaml name

	spawn svg "$fabric" draw "$file" -o "$dir/tree.svg"
	ends svg 0
	[ ! -s "$dir/svg.out" ] || fail "draw -o writes to standard output"
	printed tree.svg '^<svg xmlns='
	printed tree.svg '^</svg>$'
	spawn dot "$fabric" draw "$file" -o "$dir/tree.dot"
	ends dot 0
	printed tree.dot '^graph topology \{$'
	spawn pipe "$fabric" draw "$file"
	ends pipe 0
	cmp -s "$dir/pipe.out" "$dir/tree.dot" || fail "the picture on a pipe is another"
	spawn told "$fabric" draw --format svg "$file"
	ends told 0
	cmp -s "$dir/told.out" "$dir/tree.svg" || fail "--format svg makes another picture"
	spawn other "$fabric" draw --format png "$file"
	ends other 2
	printed other.err "^tally-fabric: --format: expected svg or dot, not 'png'$"
	spawn none "$fabric" draw "$file" -o "$dir/no/tree.svg"
	ends none 1
	printed none.err 'no/tree.svg: No such file or directory$'
	[ ! -c /dev/full ] || {
		spawn full "$fabric" draw "$file" -o /dev/full
		ends full 1
		printed full.err '/dev/full: No space left on device'
	}
	cp "$file" "$dir/own.yaml"
	echo 'include: own.yaml' >"$dir/main.yaml"
	ln -s own.yaml "$dir/own.svg"
	for name in own.yaml own.svg main.yaml; do
		spawn own "$fabric" draw "$dir/main.yaml" -o "$dir/$name"
		ends own 1
		printed own.err "^tally-fabric: -o $dir/$name: would overwrite $dir/(own|main).yaml, which is read: name another file$"
	done
	cmp -s "$file" "$dir/own.yaml" || fail "the picture of a topology is in its place"
	cp topologies/one-switch-2.yaml "$dir/report.html"
	spawn page "$fabric" sim "$dir/report.html" --report "$dir"
	ends page 2
	printed page.err "^tally-fabric: --report $dir: report.html there is the topology that is read"
	spawn bad "$fabric" draw "$data/bad/mac.yaml" -o "$dir/bad.svg"
	ends bad 2
	[ ! -e "$dir/bad.svg" ] || fail "there is a picture of a broken file"
}

# A job is started and ended at its times, each of them from when the switches serve; how it ends then is no
# failure. The second of the ranks of `deaf` does not end when asked.
case_job-times()
{
	cat >"$dir/times.yaml" <<-END
		hosts: ["h[1-2]"]
		switches: [s1]
		links: [["h[1-2]", "s1-p[1-2]"]]
		jobs:
		  - {name: first, ranks: [h1], run: "date +first=%s%N"}
		  - {name: later, ranks: [h2], start: 1500ms, run: "date +later=%s%N"}
		  - {name: deaf, ranks: [h1, h2], start: 300ms, stop: 2s,
		     run: "trap 'exit 9' TERM; [ \$TALLY_RANK = 0 ] || trap '' TERM; while :; do sleep 0.1; done"}
		  - {name: over, ranks: [h1], stop: 100s, run: "true"}
	END
	spawn times "$fabric" run "$dir/times.yaml" --timeout "$patience"
	ends times 0
	printed times.err 'job deaf is ended after 2 s, as the file says: 2 of 2 ranks ran$'
	printed times.out '^deaf +0 +h1 +9 '
	printed times.out '^deaf +1 +h2 +137 '
	printed times.out '^over +0 +h1 +0 '
	local first later
	first=$(sed -n 's/^first=//p' "$dir/times.out")
	later=$(sed -n 's/^later=//p' "$dir/times.out")
	[ $((later - first)) -ge 1000000000 ] || fail "later started $((later - first)) ns after first"
}

# The switch is started with what the file says.
case_switch-options()
{
	cat >"$dir/options.yaml" <<-END
		hosts: [h1]
		switches: {s1: {jobs: 5, slots: 700, memory: 1M}}
		links: [[h1, s1-p1]]
		jobs:
		  - name: look
		    ranks: [h1]
		    run: "cat /proc/[0-9]*/cmdline | tr '\\\\0' ' '"
	END
	spawn options "$fabric" run "$dir/options.yaml" --timeout "$patience"
	ends options 0
	printed options.out 'tally-switch .*--jobs 5 --slots 700 --memory 1048576 '
}

# What has not started when the run's time is up does not start.
case_timeout-before-start()
{
	cat >"$dir/late.yaml" <<-END
		hosts: [h1]
		switches: [s1]
		links: [[h1, s1-p1]]
		jobs: [{name: late, ranks: [h1], start: 1000s, run: "true"}]
	END
	spawn late "$fabric" run "$dir/late.yaml" --timeout 1
	ends late 124
	printed late.err 'no rank runs after 1 s \(--timeout\), and no more are started$'
	printed late.err 'job late is not started any more$'
	spawn late "$fabric" run -v "$dir/late.yaml"
	says late 'switch s1 is ready$'
	signal INT late
	ends late 130
}

cases=(broken-files good-files include-elsewhere pictures)
if fabric_possible && [ -x "$build/tally-switch" ]; then
	cases+=(job-times switch-options timeout-before-start)
else
	echo "skip job-times, switch-options, timeout-before-start: no user namespaces, or no tally-switch"
fi
run_cases 2 "${cases[@]}"
exit "$not_ok"
