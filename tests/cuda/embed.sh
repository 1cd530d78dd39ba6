#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Whatever was built before: the library has the kernels that NVCC makes, or none if there is no NVCC.
#
# usage: tests/cuda/embed.sh
# Builds the one object in a temporary folder, with compilers of its own that take no time.

set -uo pipefail
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tally-embed.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
object=$tmp/build/kernels/cuda/quant_fatbin.o
bad=0

# compiler NAME: "kernels of NAME" is what it makes.
compiler()
{
	cat >"$tmp/$1" <<-END
		#!/bin/sh
		while [ \$# -gt 1 ]; do
			[ "\$1" != -o ] || echo "kernels of $1" >"\$2"
			shift
		done
	END
	chmod +x "$tmp/$1"
}

# embeds WHAT NVCC [VAR=VALUE]...: after make with these, the object has WHAT, "" for nothing.
embeds()
{
	local what=$1 nvcc=$2 seen

	shift 2
	if ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make B="$tmp/build" NVCC="$nvcc" "$@" "$object" \
		>"$tmp/out" 2>&1; then
		echo "not ok make NVCC=$nvcc $*: $(tail -n 1 "$tmp/out")"
		bad=1
		return
	fi
	seen=$(grep -ao 'kernels of [a-z]*' "$object")
	if [ "$seen" = "$what" ]; then
		echo "ok make NVCC=${nvcc##*/} $*: ${what:-no kernels}"
	else
		echo "not ok make NVCC=${nvcc##*/} $*: ${seen:-no kernels}, not ${what:-none}"
		bad=1
	fi
}

compiler one
compiler other
embeds "kernels of one" "$tmp/one"
embeds "" ""
embeds "kernels of one" "$tmp/one"
embeds "kernels of other" "$tmp/other"
embeds "kernels of one" "$tmp/one"
touch "$object.before"
embeds "kernels of one" "$tmp/one"
if [ "$object" -nt "$object.before" ]; then
	echo "not ok the same again: built anew"
	bad=1
else
	echo "ok the same again: nothing is built"
fi
embeds "kernels of one" "$tmp/one" CUDA_SM=90
if [ "$object" -nt "$object.before" ]; then
	echo "ok other machines: built anew"
else
	echo "not ok other machines: nothing is built"
	bad=1
fi
exit "$bad"
