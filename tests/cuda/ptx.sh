#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What nvcc makes of the kernels: its PTX, interpreted, gives the scalar table's bits, and mutants of it do not; the
# machine code has no spills, at most 32 registers, and accesses of 16 bytes.
#
# usage: tests/cuda/ptx.sh BUILD_DIR [ELEMENTS [MUTANTS]]: elements for each kernel, mutants in all
# NVCC names the compiler (empty: there is none), CUDA_TEST the PTX's architectures, CUDA_SM those of machine code.

set -uo pipefail
build=${1:?usage: $0 BUILD_DIR [ELEMENTS [MUTANTS]]}
elements=${2:-1500}
mutants=${3:-6}
nvcc=${NVCC-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
read -ra archs <<<"${CUDA_TEST:-75 90 100}"
read -ra machines <<<"${CUDA_SM:-80 90 100}"
options=(-I. -std=c++17 -O3 --ftz=false --fmad=false)
bad=0 running=()

for what in "nvcc:$nvcc" "python3:python3"; do
	if ! command -v "${what#*:}" >/dev/null; then
		echo "skip PTX of the CUDA kernels: ${what%%:*} is missing"
		exit 0
	fi
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'kill "${running[@]}" 2>/dev/null; exit 130' INT TERM

say()
{
	echo "$*"
	[ "${1%% *}" != not ] || bad=1
}

# gate ARCH: ptxas calls what it does a warning, and that an error.
gate()
{
	local most

	if ! "$nvcc" "${options[@]}" --Werror all-warnings --resource-usage -arch="sm_$1" -cubin \
		-Xptxas --warn-on-spills,--warn-on-local-memory-usage,--warning-as-error \
		-o "$tmp/cubin" kernels/cuda/quant_cuda.cu >"$tmp/out" 2>&1; then
		say "not ok sm_$1: it spills, uses local memory, or has a warning"
		grep -E 'error|warning' "$tmp/out"
		return
	fi
	most=$(grep -oE 'Used [0-9]+ registers' "$tmp/out" | awk '$2 > most { most = $2 } END { print most + 0 }')
	if [ "$most" -eq 0 ] || [ "$most" -gt 32 ]; then
		say "not ok sm_$1: a kernel has $most registers, at most 32 let all threads run"
	else
		say "ok sm_$1: at most $most registers, no spills, no local memory"
	fi
}

# wanted: kernels, and how many loads and stores of 16 bytes a lane needs for its 8 elements. Where 16 bits lie beside
# 32, the narrow side has accesses of 8 bytes, so that a warp's have no gaps.
wanted()
{
	local half

	for half in f16 bf16; do
		printf 'tally_%s\n' "scan_$half 1 0" "quantize_${half}_32 0 2" "quantize_${half}_16 1 1" \
			"dequantize_${half}_32 2 0" "dequantize_${half}_16 1 1" "order_$half 0 2" "unorder_$half 2 0"
	done
	printf 'tally_%s\n' 'scan_f32 2 0' 'quantize_f32_32 2 2' 'quantize_f32_16 2 0' 'dequantize_f32_32 2 2' \
		'dequantize_f32_16 0 2' 'order_f32 2 2' 'unorder_f32 2 2' 'swap32 2 2' 'average_i32 2 2'
}

# count ARCH FILE: its accesses of 16 bytes are those wanted.
count()
{
	local missing

	if grep -q '\.local' "$2"; then
		say "not ok PTX $1: a kernel uses local memory"
	fi
	missing=$(awk 'NR == FNR { loads[$1] = $2; stores[$1] = $3; next }
		/\.entry/ { name = $3; sub(/\(.*/, "", name); seen[name] = 1; if (!(name in loads)) print name " is unknown" }
		/ld\.global[.a-z]*\.v4/ { loads[name]-- }
		/st\.global[.a-z]*\.v4/ { stores[name]-- }
		END { for (name in loads) if (!seen[name] || loads[name] > 0 || stores[name] > 0) print name }' \
		<(wanted) "$2")
	if [ -n "$missing" ]; then
		say "not ok PTX $1: accesses of 16 bytes are missing:" $missing
	else
		say "ok PTX $1: $(wanted | wc -l) kernels, $(grep -cE '(ld|st)\.global[.a-z]*\.v4' "$2") accesses of 16 bytes"
	fi
}

for arch in "${machines[@]}"; do
	gate "$arch"
done
declare -A named=()
for arch in "${archs[@]}"; do
	"$nvcc" "${options[@]}" -arch="compute_$arch" -ptx -o "$tmp/compute_$arch.ptx" kernels/cuda/quant_cuda.cu || {
		say "not ok PTX $arch: nvcc fails"
		continue
	}
	count "$arch" "$tmp/compute_$arch.ptx"
	# Architectures that have the same code are one.
	code=$(grep -v '^\.target' "$tmp/compute_$arch.ptx" | sha256sum)
	named[$code]+=${named[$code]:+_}$arch
	mv "$tmp/compute_$arch.ptx" "$tmp/${code%% *}"
done
nr=0
for code in "${!named[@]}"; do
	mv "$tmp/${code%% *}" "$tmp/compute_${named[$code]}.ptx"
	# Each part of the mutants from another code.
	python3 tests/cuda/ptx_check.py "$build/tests/cuda/piece.so" "$tmp/compute_${named[$code]}.ptx" "$elements" \
		$(((mutants + nr) / ${#named[@]})) >"$tmp/said.$nr" 2>&1 &
	running+=($!)
	nr=$((nr + 1))
done
for nr in "${!running[@]}"; do
	wait "${running[$nr]}" || bad=1
	cat "$tmp/said.$nr"
done
exit $bad
