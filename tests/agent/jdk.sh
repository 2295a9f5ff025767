#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The JDKs at hand: those that this machine has, and those of Debian sid that
# `./dev jdks` brought.
#
#   jdk.sh list             a line for each: NAME, VERSION and its folder, between
#                           tabs; oldest first
#   jdk.sh find WORD        the names that a word stands for: NAME, or a release
#                           such as 21, or `newest`, the newest release here
#   jdk.sh run NAME TOOL [ARG...]
#                           runs bin/TOOL of that JDK, in this process
#   jdk.sh in-root COMMAND [ARG...]
#                           runs a command among the programs of sid
#
# sid's JDKs need a newer libc than this machine may have. They run with
# build-jdks/root as their root, in a mount namespace of their own, which ends
# with them; the project, /tmp, /proc, /sys and /dev are there as they are here.
# Without root that takes a user namespace.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
root=$top/build-jdks/root

die() {
	printf 'jdk.sh: %s\n' "$*" >&2
	exit 1
}

# version HOME TOOL...: as it calls itself; TOOL... runs its java
version() {
	local home=$1 version
	shift
	version=$(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' "$home/release" 2>/dev/null) || true
	[ -n "$version" ] ||
		version=$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$home/release" 2>/dev/null) || true
	[ -n "$version" ] ||
		version=$("$@" -version 2>&1 | sed -n 's/.* version "\([^"]*\)".*/\1/p') || true
	printf '%s\n' "${version:-unknown}"
}

# release VERSION: 8 of 1.8.0_492-b09, 21 of 21.0.7+6
release() {
	local version=${1#1.}
	printf '%s\n' "${version%%[!0-9]*}"
}

# The homes of this machine's JDKs, each once, whatever links lead to it.
machine_homes() {
	local dir java
	{
		for dir in /usr/lib/jvm/* "${JAVA_HOME-}"; do
			java=$dir/bin/java
			[ ! -x "$java" ] || readlink -e "$java"
		done
		java=$(command -v java) && readlink -e "$java"
	} | sed 's,/bin/java$,,; s,/jre$,,' | sort -u
}

# The name of a machine's JDK: that of its folder, without what goes without saying
machine_name() {
	local name
	name=$(basename "$1")
	name=${name#java-}
	name=${name%-amd64} name=${name%-arm64} name=${name%-jdk}
	printf '%s\n' "$name"
}

list() {
	local home file name
	{
		while read -r home; do
			[ -n "$home" ] || continue
			printf '%s\t%s\t%s\n' "$(machine_name "$home")" \
				"$(version "$home" "$home/bin/java")" "$home"
		done < <(machine_homes)
		# One that is not whole has no such file.
		for file in "$top"/build-jdks/sid-*.complete; do
			[ -e "$file" ] || continue
			name=$(basename "$file" .complete)
			home=$(<"$file")
			printf '%s\t%s\t%s\n' "$name" \
				"$(version "$root$home" run_in_root "$home/bin/java")" "$home"
		done
	} | while IFS=$'\t' read -r name version home; do
		printf '%s\t%s\t%s\t%s\n' "$(release "$version")" "$name" "$version" "$home"
	done | sort -t "$(printf '\t')" -k 1,1n -k 3,3V -k 2,2 | cut -f 2-
}

# find WORD: several JDKs can be of one release
find_names() {
	local word=$1 all name version newest=
	all=$(list)
	if [ "$word" = newest ]; then
		version=$(tail -n 1 <<<"$all" | cut -f 2)
		newest=$(release "$version")
	fi
	while IFS=$'\t' read -r name version _; do
		if [ "$name" = "$word" ] ||
			[ "$(release "$version")" = "${newest:-$word}" ]; then
			printf '%s\n' "$name"
		fi
	done <<<"$all" | grep . || die "no JDK '$word' is at hand; see: ./dev jdks"
}

# run_in_root COMMAND...: in this process, and in this folder if it is there
run_in_root() {
	local namespaces=(--mount) dir=$PWD
	[ "$(id -u)" -eq 0 ] || namespaces+=(--user --map-root-user)
	case $dir/ in
	"$top"/* | /tmp/*) ;;
	*) dir=$top ;;
	esac
	# shellcheck disable=SC2016 # for the other shell
	exec unshare "${namespaces[@]}" sh -euc '
		root=$1 top=$2 dir=$3
		shift 3
		for name in /dev /proc /sys /tmp "$top"; do
			mkdir -p "$root$name"
			mount --rbind "$name" "$root$name"
		done
		for name in passwd group hosts; do
			[ -e "$root/etc/$name" ] || : >"$root/etc/$name"
			mount --bind "/etc/$name" "$root/etc/$name"
		done
		exec unshare --root="$root" --wd="$dir" "$@"' \
		sh "$root" "$top" "$dir" "$@"
}

run() {
	local name=$1 tool=$2 home
	shift 2
	home=$(list | awk -F '\t' -v name="$name" '$1 == name { print $3 }')
	[ -n "$home" ] || die "no JDK '$name' is at hand; see: ./dev jdks"
	case $name in
	sid-*)
		[ -x "$root$home/bin/$tool" ] || die "$name has no $tool"
		export JAVA_HOME=$home
		run_in_root "$home/bin/$tool" "$@"
		;;
	*)
		[ -x "$home/bin/$tool" ] || die "$name has no $tool"
		export JAVA_HOME=$home
		exec "$home/bin/$tool" "$@"
		;;
	esac
}

case ${1-} in
list)
	list
	;;
find)
	[ $# -eq 2 ] || die "find takes one word"
	find_names "$2"
	;;
run)
	[ $# -ge 3 ] || die "run takes the name of a JDK, that of a tool, and its arguments"
	shift
	run "$@"
	;;
in-root)
	[ $# -ge 2 ] || die "in-root takes a command"
	shift
	run_in_root "$@"
	;;
*)
	sed -n '3,/^set /s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
