#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The world of a static binary, and of one that has thrown all else away.

# shellcheck disable=SC2154 # capture sets code, out and err
load ../cli/common

: "${BUILD_ROOT:?the path of the build}"

read -ra cc <<<"${CC:-cc}"

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	echo 'int main(void) { return 0; }' >nothing.c
}

# build FLAG...: every_call.c as a user of the archive builds it
build() {
	"${cc[@]}" "$@" nothing.c -o nothing || skip "cc $* makes no program here"
	capture "${cc[@]}" -O2 -D_GNU_SOURCE -I "$SOURCE_ROOT/include" "$@" \
		"$SOURCE_ROOT/tests/hostile/every_call.c" \
		"$BUILD_ROOT/lib/libcpuclock.a" -lpthread -o program
	[ "$code" -eq 0 ] || explain "it does not build"
	[ ! -s "$err" ] || explain "a warning"
}

all_sources_work() {
	local name
	capture "$@"
	[ "$code" -eq 0 ] || explain "a promise is broken"
	for name in self posix rusage schedstat proc; do
		grep -qx "source $name: works" "$out" || explain "$name is off"
	done
}

@test "a static program: every source, every promise" {
	build -static
	all_sources_work ./program
}

@test "a static program at a random address" {
	build -static-pie -fPIE
	all_sources_work ./program
}

@test "a static program in an empty root without /proc" {
	build -static
	mkdir root
	cp program root
	unshare --map-root-user true 2>/dev/null ||
		skip "this user may have no namespace, to enter another root in"
	capture unshare --map-root-user chroot root /program
	[ "$code" -eq 0 ] || explain "a promise is broken"
	grep -qx 'source self: works' "$out"
	grep -qE '^source proc: .*/proc' "$out" || explain "no reason"
}

@test "the archive needs nothing of the build's options" {
	build -O0 -fno-pie -no-pie
	all_sources_work ./program
}
