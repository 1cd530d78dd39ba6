#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The checks that need a device: all-reduces of its tensors, and the bandwidth of the kernels.
#
# usage: gpu.sh BUILD_DIR
# TALLY_TEST_LIBCUDA names another driver than libcuda.so.1.
build=$1
export TALLY_TEST_LIBCUDA=${TALLY_TEST_LIBCUDA:-libcuda.so.1}

why=$("$build/tests/perf/bench_gpu" --count 0)
case $? in
0) ;;
77)
	echo "skipped check-gpu: $why"
	exit 0
	;;
*) exit 1 ;;
esac
"$build/tests/unit/gpu_allreduce_test" || exit 1
mkdir -p "$build/../bench" || exit 1
"$build/tests/perf/bench_gpu" --json "$build/../bench/gpu.json"
