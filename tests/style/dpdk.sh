#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# DPDK's headers are named in *_dpdk.c and *_dpdk.h alone, so that the rest builds without them.
. "${0%/*}/lib.sh"

count=0
for file in $(sources '*.[ch]' '*.def'); do
	count=$((count + 1))
	case $file in
	*_dpdk.[ch] | tests/*_dpdk_test.c) continue ;;
	esac
	while IFS=: read -r line text; do
		complain "$file:$line: DPDK belongs in *_dpdk.c: $text"
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include.*[<"/](rte_[a-z0-9_]*|[^">]*_dpdk)\.h' \
		"$file" | grep -vE '"[^"]*_dpdk\.h"')
done
finish dpdk "$count"
