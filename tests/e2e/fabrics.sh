#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fabrics.sh BUILD_DIR - one file, three fabrics: the same results, and without loss the same packets sent first.
# shellcheck disable=SC2154 # lib.sh sets them
. "${0%/*}/lib.sh"

require tally-fabric tally-switch tally-perf
fabric=$build/tally-fabric

# What must be equal: jobs as they come may print in another order.
hashes()
{
	sed -n 's/^# Result hash : //p' "$dir/$1.out" | sort
}

firsts()
{
	sed -n 's/^# First transmissions *: //p' "$dir/$1.out" | sort
}

# fabric NAME ARGUMENT...: a run that ends well and is right, for as many jobs as $jobs says.
fabric()
{
	local name=$1

	shift
	spawn "$name" "$fabric" "$@"
	ends "$name" 0
	[ "$(grep -c '^# Out of bounds values : 0 OK' "$dir/$name.out")" -eq "$jobs" ] ||
		fail "$name: not $jobs jobs are right"
	[ "$(hashes "$name" | wc -l)" -eq "$jobs" ] || fail "$name: not $jobs hashes"
}

# equal FILE JOBS: in all fabrics that this system has.
equal()
{
	local file=$top/topologies/$1.yaml other
	local jobs=$2

	fabric sim sim "$file"
	fabric inproc run --fabric inproc "$file"
	if fabric_possible; then
		fabric netns run "$file"
	else
		cp "$dir/inproc.out" "$dir/netns.out"
	fi
	for other in inproc netns; do
		[ "$(hashes sim)" = "$(hashes "$other")" ] ||
			fail "hashes of sim and $other: $(hashes sim | xargs), $(hashes "$other" | xargs)"
		[ "$(firsts sim)" = "$(firsts "$other")" ] ||
			fail "sim and $other: $(firsts sim | xargs), $(firsts "$other" | xargs)"
	done
}

case_one-switch()
{
	equal one-switch-2 1
	printed sim.out '^# Retransmissions +: 0$'
}

case_tree()
{
	equal two-level-2x2 1
	printed sim.out '^# Retransmissions +: 0$'
	printed sim.out '^switch up +2 '
}

# The numbers of first transmissions are equal here, too: what is sent again is counted apart.
case_lossy()
{
	equal one-switch-4-loss 1
	printed sim.out '^# Retransmissions +: [1-9]'
	printed inproc.out '^# Retransmissions +: [1-9]'
}

case_two-jobs()
{
	equal two-jobs 2
	printed sim.out '^job floats:$'
	printed sim.out '^job whole:$'
}

# Tensors of a list, while ranks compute: the same in real and in virtual time, where only that counts.
case_training()
{
	equal training-small 1
	printed sim.out '^# each iteration reduces the 8 tensors of .*/digits-tensors.csv, while each rank computes 4 to 6 ms, 2 times'
	awk '/^# Iteration / { i = $4; most = $6 } /^# of that computing/ { c = $6; slow = $8 } /^# of that only waiting/ { w = $7 }
		END { exit !(i > 8000 && most > slow && most < slow + 500 && c > 4000 && slow > 8000 && slow < 12000 && w > 0) }' \
		"$dir/sim.out" || fail "$(grep '^# \(Iteration\|of that\)' "$dir/sim.out" | tr '\n' ';')"
	[ "$(grep '^# of that computing' "$dir/sim.out")" = "$(grep '^# of that computing' "$dir/netns.out")" ] ||
		fail "the ranks computed $(grep -h '^# of that computing' "$dir/sim.out" "$dir/netns.out" | xargs)"
}

# The same bytes each time; other packets are lost with another seed, and the results are the same.
case_repeats()
{
	local file=$top/topologies/two-level-2x2.yaml

	spawn one "$fabric" sim "$file" --loss 1%
	spawn two "$fabric" sim "$file" --loss 1%
	spawn other "$fabric" sim "$file" --loss 1% --seed 8
	ends one 0
	ends two 0
	ends other 0
	cmp -s "$dir/one.out" "$dir/two.out" || fail "two runs print different bytes"
	! cmp -s "$dir/one.out" "$dir/other.out" || fail "the seed makes no difference"
	[ "$(hashes one)" = "$(hashes other)" ] || fail "the seed changes results"
}

case_seeds()
{
	local file=$top/topologies/two-level-2x2.yaml

	spawn seeds "$fabric" sim "$file" --loss 1% --seeds 5..12
	ends seeds 0
	printed seeds.out '^8 of 8 seeds run, 0 failed$'
	printed seeds.out '^completion, us( +[0-9.e+]+){3}$'
	spawn bad "$fabric" sim "$file" --loss 100% --seeds 5..6
	ends bad 1
	printed bad.err "seed 5 exited with 1: .*does not answer.*; again: tally-fabric sim $file --loss 100% --seed 5$"
	printed bad.out '^2 of 2 seeds run, 2 failed$'
}

# A faster link is faster, and so is a shorter one.
case_links()
{
	local file=$top/topologies/one-switch-2.yaml

	spawn slow "$fabric" sim "$file" --link-rate 10G
	spawn fast "$fabric" sim "$file" --link-rate 40G
	spawn far "$fabric" sim "$file" --link-rate 40G --link-delay 30us
	ends slow 0
	ends fast 0
	ends far 0
	awk '/^ +16777216 / { us[FILENAME] = $6 } /^ +4096 / { short[FILENAME] = $6 }
		END { d = ARGV[1]; f = ARGV[2]; far = ARGV[3]
			exit !(us[d] > 3.9 * us[f] && us[d] < 4.1 * us[f] && us[f] > 3355 &&
			       short[far] > short[f] + 100 && us[far] > us[f]) }' \
		"$dir/slow.out" "$dir/fast.out" "$dir/far.out" ||
		fail "$(grep -h '^ *\(4096\|16777216\) ' "$dir"/{slow,fast,far}.out | cut -c1-70 | tr '\n' ';')"
}

# The same speed for each number of workers, while a ring and a parameter server fall as theory says.
case_workers()
{
	local file=$top/topologies/scale-1024.yaml

	spawn scale "$fabric" sim "$file" --workers 2,16,48 --compare
	ends scale 0
	awk '!/^#/ { n++; if ($1 == 2) speed = $3
			bad += $3 < 0.95 * speed || $3 > 1.05 * speed || $4 != 0
			bad += $5 < 0.98 * $6 || $5 > 1.02 * $6 || $8 < 0.98 * $9 || $8 > 1.02 * $9
			ring = $7; server = $10 }
		END { exit !(n == 3 && !bad && ring < speed / 2 && server < speed / 30) }' "$dir/scale.out" ||
		fail "$(tr '\n' ';' <"$dir/scale.out")"
	spawn lossy "$fabric" sim "$file" --loss 1%
	ends lossy 2
	printed lossy.err '^tally-fabric: the file asks for this table; one run and all that it tells: --sweep none$'
	printed lossy.err 'scale-1024.yaml:[0-9]+: a ring and a parameter server are simulated without loss'
}

# One run for each value: the faster the links the sooner it is done; what is wrong is refused by name.
case_sweep()
{
	local file=$top/topologies/two-level-2x2.yaml

	spawn rate "$fabric" sim "$file" --sweep rate=10G,100G,400G
	ends rate 0
	awk '!/^#/ { names = names $1 " "; ok += (!last || $2 < last) && $4 == 0 && $5 > $2 && $6 > 1 && $7 <= 100
			last = $2 }
		END { exit !(names == "10G 100G 400G " && ok == 3) }' "$dir/rate.out" ||
		fail "$(tr '\n' ';' <"$dir/rate.out")"
	spawn bad "$fabric" sim "$file" --sweep rate=10G,fast
	ends bad 2
	printed bad.err "^tally-fabric: --sweep rate: expected bits a second such as 10G,100G,400G, not 'fast'$"
	spawn two "$fabric" sim "$file" --sweep rate=10G --workers 2
	ends two 2
	printed two.err '^tally-fabric: --sweep and --workers: give one list of values$'
}

# What a timeline has, and a job that begins later; both fabrics begin it then.
case_times()
{
	local file=$dir/later.yaml

	sed 's/- name: whole/- name: whole\n    start: 300ms/' "$top/topologies/two-jobs.yaml" >"$file"
	spawn sim "$fabric" sim "$file" --timeline 50ms
	spawn inproc "$fabric" run --fabric inproc "$file"
	ends sim 0
	ends inproc 0
	awk '/^# +from us/ { on = 1; next } on && NF == 4 { n++; if ($2) last = $1 }
		END { exit !(n == 7 && last == 300000) }' "$dir/sim.out" ||
		fail "$(tail -12 "$dir/sim.out" | tr '\n' ';')"
	[ "$(hashes sim)" = "$(hashes inproc)" ] || fail "other hashes: $(hashes sim | xargs), $(hashes inproc | xargs)"
	awk '/ s running/ && $1 >= 0.3 { n++ } END { exit n != 1 }' "$dir/inproc.out" ||
		fail "the job did not wait: $(grep ' s running' "$dir/inproc.out")"
	spawn both "$fabric" sim "$file" --timeline 50ms --seeds 1..2
	ends both 2
	printed both.err '^tally-fabric: --seeds, --sweep \(or --workers, --compare\) and --timeline: give one of them$'
}

# A job that is ended at its time, in each fabric; the other one is as ever.
case_stop()
{
	local file=$dir/stop.yaml want name

	spawn plain "$fabric" sim "$top/topologies/two-jobs.yaml"
	ends plain 0
	want=$(hashes plain | head -n 2 | xargs)
	sed 's/- name: whole/- name: whole\n    stop: 700ms/; s/iterations: 3/iterations: 1000000/' \
		"$top/topologies/two-jobs.yaml" >"$file"
	spawn sim "$fabric" sim "$file"
	spawn inproc "$fabric" run --fabric inproc "$file"
	for name in sim inproc; do
		ends "$name" 0
		printed "$name.err" '^tally-fabric: job whole is ended after 0.7 s, as the file says: 2 of 2 ranks ran$'
		[ "$(hashes "$name" | wc -l)" -eq 1 ] && [[ $want == *$(hashes "$name")* ]] ||
			fail "$name: hashes $(hashes "$name" | xargs) and not one of $want"
	done
	printed sim.out '^  ended after 0.7 s, as the file says: 2 of 2 ranks ran$'
}

# What only namespaces can is refused by name, and so are options without meaning.
case_refused()
{
	spawn run "$fabric" run --fabric inproc "$top/topologies/demo.yaml"
	ends run 2
	printed run.err 'demo.yaml:[0-9]+: job demo runs a command, which --fabric inproc cannot'
	spawn sim "$fabric" sim "$top/topologies/demo.yaml"
	ends sim 2
	printed sim.err 'job demo runs a command, which tally-fabric sim cannot'
	spawn name "$fabric" run --fabric other "$top/topologies/demo.yaml"
	ends name 2
	printed name.err "^tally-fabric: --fabric: expected netns or inproc, not 'other'$"
	spawn seeds "$fabric" sim --seeds 9..3 "$top/topologies/one-switch-2.yaml"
	ends seeds 2
	printed seeds.err "^tally-fabric: --seeds: expected a range such as 1\\.\\.100"
	spawn many "$fabric" sim --workers 2,3 "$top/topologies/one-switch-2.yaml"
	ends many 2
	printed many.err '^tally-fabric: --workers: expected at most the 2 ranks of job sums, not 3$'
	spawn rate "$fabric" sim --link-rate fast "$top/topologies/one-switch-2.yaml"
	ends rate 2
	printed rate.err "^tally-fabric: --link-rate: expected bits a second"
}

# An interrupt lets the row in progress end; the time given ends all.
case_ends()
{
	sed 's/iterations: 5/iterations: 100000/' "$top/topologies/one-switch-2.yaml" >"$dir/long.yaml"
	spawn timeout "$fabric" run --fabric inproc --timeout 1 "$dir/long.yaml"
	ends timeout 124
	printed timeout.err '^tally-fabric: 2 of 2 ranks still run after 1 s \(--timeout\) and are ended$'
	spawn virtual "$fabric" sim --timeout 1 "$dir/long.yaml"
	ends virtual 124
	printed virtual.err '^tally-fabric: 2 of 2 ranks still run after 1 s of virtual time \(--timeout\)$'
}

# What is known when a signal ends a recorded run is kept, under a name that says so.
case_signalled()
{
	local name

	sed 's/iterations: 5/iterations: 100000/' "$top/topologies/one-switch-2.yaml" >"$dir/long.yaml"
	spawn sim "$fabric" sim "$dir/long.yaml" --record "$dir/sim.rec"
	spawn threads "$fabric" run --fabric inproc "$dir/long.yaml" --record "$dir/threads.rec"
	says sim '^# tally-perf '
	says threads '^# tally-perf '
	signal TERM sim
	signal HUP threads
	ends sim 143
	ends threads 129
	for name in sim threads; do
		[ ! -e "$dir/$name.rec/result.txt" ] || fail "$name: result.txt is taken for whole"
		printed "$name.rec/result.txt.partial" '^# tally-perf '
		printed "$name.rec/result.txt.partial" '^interrupted by SIG(TERM|HUP)$'
		printed "$name.err" ': interrupted by SIG(TERM|HUP): what was known until then is in .*/result.txt.partial$'
	done
}

# What a run is told and would not do, or twice; the last seeds that there are.
case_options()
{
	local file=$top/topologies/one-switch-2.yaml words nr=0

	while read -r words; do
		nr=$((nr + 1))
		# shellcheck disable=SC2086
		spawn "$nr" "$fabric" ${words% : *} "$file"
		ends "$nr" 2
		printed "$nr.err" "^tally-fabric: ${words#* : }"
	done <<-'END'
		check --record x : --record is an option of tally-fabric run, sim and shell, not of check
		draw --pcap x : --pcap is an option of tally-fabric run, sim and shell, not of draw
		run -o x : --output is an option of tally-fabric draw, not of run
		sim --driver udp : --driver is an option of tally-fabric run and shell, not of sim
		run --fabric inproc --driver udp : --driver is .*, not of run --fabric inproc
		run --pcap-format pcap : --pcap-format is of captures: add --pcap DIR or --record DIR$
		sim --seed 1 --seeds 1..2 : --seed and --seeds: give one of them$
		sim --sweep loss=1% --loss 1% : --sweep sets what another option sets, too
	END
	spawn rate "$fabric" sim --link-rate 10G "$top/topologies/scale-1024.yaml"
	ends rate 2
	printed rate.err '^tally-fabric: --link-rate: all links of .* have a rate of their own: use --sweep rate=RATE$'
	spawn last "$fabric" sim --seeds 18446744073709551614..18446744073709551615 "$file"
	ends last 0
	printed last.out '^2 of 2 seeds run, 0 failed$'
	spawn around "$fabric" sim --seeds 18446744073709551615..0 "$file"
	ends around 2
}

# Neither a small stack nor few files are a reason to die without a word.
case_small_limits()
{
	local file=$top/topologies/two-level-2x2.yaml words nr=0

	while read -r words; do
		nr=$((nr + 1))
		spawn "stack$nr" bash -c "ulimit -s 64; exec '$fabric' $words"
		ends "stack$nr" 0
	done <<-END
		check $top/topologies/scale-1024.yaml
		draw $top/topologies/scale-1024.yaml
		sim $file --report $dir/page
		run --fabric inproc $file
		$(! fabric_possible || echo "run $file")
	END
	spawn files bash -c "ulimit -n 12; exec '$fabric' sim '$file' --record '$dir/few'"
	ends files 1
	printed files.err 'too many open files: raise the limit, as by .ulimit -n 4096.$'
	printed files.err 'exit code 1; no switch served, so that there is nothing to replay in .*/few$'
	grep -rq '^never served: ' "$dir/few" || fail "no switch.txt tells that its switch never served"
}

case_interrupted()
{
	local sizes

	sizes=$(seq -s K, 1 60)K
	sed "s/sizes: [^]]*\]/sizes: [$sizes]/; s/iterations: 5/iterations: 400/" \
		"$top/topologies/one-switch-2.yaml" >"$dir/many.yaml"
	spawn threads "$fabric" run --fabric inproc "$dir/many.yaml"
	spawn sim "$fabric" sim "$dir/many.yaml"
	says threads '^ +1024 '
	signal INT threads
	says sim '^ +1024 '
	signal INT sim
	ends threads 1
	ends sim 1
	printed threads.out '^# Interrupted$'
	printed sim.out '^# Interrupted$'
	! grep -q '^ *61440 ' "$dir/threads.out" "$dir/sim.out" || fail "they went on to the last row"
}

run_cases 2 one-switch tree lossy two-jobs training repeats seeds links workers sweep times stop refused ends signalled options small_limits interrupted
exit "$not_ok"
