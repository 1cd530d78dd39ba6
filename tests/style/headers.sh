#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every header compiles alone as C; the public one, proto's and the kernels' as C++11 too. Not so
# *_body.h and *_vec.h: the files for each instruction set include these after saying what a
# register is.
# CC, CXX, STYLE_CFLAGS and DPDK_CFLAGS come from the Makefile.
. "${0%/*}/lib.sh"

count=0
command -v "${CXX%% *}" >/dev/null ||
	complain "${CXX%% *} is missing: headers are not checked as C++ (Debian package g++)"

for header in $(sources '*.h'); do
	[[ $header != *_body.h && $header != *_vec.h ]] || continue
	extra=
	if [[ $header == *_dpdk.h ]]; then
		[ -n "${DPDK_CFLAGS-}" ] || continue
		extra=$DPDK_CFLAGS
	fi
	count=$((count + 1))
	# shellcheck disable=SC2086 # lists of options
	$CC $STYLE_CFLAGS $extra -Werror -fsyntax-only -x c -include "./$header" /dev/null ||
		complain "$header: does not compile alone"
	case $header in
	host/include/* | proto/* | kernels/*)
		$CXX -I. -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ \
			-include "./$header" /dev/null ||
			complain "$header: does not compile alone as C++11"
		;;
	esac
done
finish headers "$count"
