#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Who may include whom. LAYERS holds "layer: folder folder; ..." as the Makefile declares it.
#
# Each #include line is held against what the file's own layer may name; the compiler's .d files
# are held against everything those layers reach, which also catches includes made by macros.
. "${0%/*}/lib.sh"

build=$1
declare -A allow
layers=()
count=0

while IFS=: read -r layer folders; do
	layer=${layer//[[:space:]]/}
	[ -n "$layer" ] || continue
	allow[$layer]=$folders
	[ ! -d "$layer" ] || layers+=("$layer")
done < <(tr ';' '\n' <<<"${LAYERS:?}")

# reach FOLDER...: the folders and all that they may include, in turn.
reach()
{
	local seen=" " todo="$*" folder rest

	while [ -n "${todo// /}" ]; do
		read -r folder rest <<<"$todo"
		todo=$rest
		[[ $seen != *" $folder "* ]] || continue
		seen+="$folder "
		todo+=" ${allow[$folder]-}"
	done
	echo "$seen"
}

# What a file names itself.
check_lines()
{
	local file=$1 ok=" $2 " line path

	while IFS=: read -r line path; do
		path=${path#*[<\"]}
		path=${path%[>\"]*}
		if [[ $path == *..* || ($path != */* && -e ${file%/*}/$path) ]]; then
			complain "$file:$line: include \"$path\" is not relative to the root"
		elif [ -e "$path" ] && [[ $ok != *" ${path%/*} "* ]]; then
			complain "$file:$line: ${file%/*} may not include $path"
		fi
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' "$file")
}

# What the compiler saw.
check_depends()
{
	local file=$1 ok=$2 depends=$build/${1%.c}.d path

	if [ ! -e "$depends" ]; then
		case $file in
		*_dpdk.c | *_sse42.c | *_avx2.c | *_avx512.c | *_avx512fp16.c) return ;;
		esac
		[ -n "${UNBUILT-}" ] && [[ " $UNBUILT " == *" ${file%/*} "* ]] && return
		complain "$file: was not compiled, so that its includes are unknown"
		return
	fi
	for path in $(sed 's/^[^ ]*: *//; s/\\$//' "$depends"); do
		case $path in
		/* | *: | "$file") continue ;;
		esac
		[[ $ok == *" ${path%/*} "* ]] || complain "$file: ${file%/*} may not reach $path"
	done
}

for layer in "${layers[@]}"; do
	for file in "$layer"/*.[ch] "$layer"/*.def; do
		[ -e "$file" ] || continue
		count=$((count + 1))
		check_lines "$file" "${allow[$layer]} ${allow[$file]-}"
		# shellcheck disable=SC2086 # a list of words
		[[ $file != *.c ]] || check_depends "$file" "$(reach ${allow[$layer]} ${allow[$file]-})"
	done
done
finish layers "$count"
