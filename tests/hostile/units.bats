#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The unit tests again in another world, $WORLD, one of worlds.bash.

# shellcheck disable=SC2154 # capture sets code, out and err
load ../cli/common
load worlds

# tests PROGRAM PATTERN...: those of its tests, in the world; what the program
# itself skips is shown, once for each reason.
tests() {
	local name=$1 pattern
	shift
	[ -x "$PROGRAMS/$name" ] || skip "$name is not built"
	for pattern in "$@"; do
		capture enter "$WORLD" env "TEST_FILTER=$pattern" \
			CMOCKA_MESSAGE_OUTPUT=TAP \
			"LD_PRELOAD=$PROGRAMS/filter.so" "$PROGRAMS/$name"
		cat "$out" >>"$BATS_TEST_TMPDIR/all"
		if [ "$code" -ne 0 ] || grep -q '^not ok' "$out"; then
			cat "$out" "$err"
			return 1
		fi
		grep -q '^ok' "$out" || explain "no test is named $pattern"
	done
	sed -n 's/^# SKIP //p' "$BATS_TEST_TMPDIR/all" | sort | uniq -c |
		sed "s/^ */# # SKIP in $name, times /" >&3
}

@test "test_source" {
	tests test_source '*_*' '*ESRCH*' '*agrees*'
}

@test "test_self" {
	tests test_self 'total_*' 'split_*' 'errno_*' 'child_of_fork*'
}

# 10,000 threads, where descriptors are few.
@test "test_threads" {
	if [ "$WORLD" = few-files ]; then
		tests test_threads '*'
	else
		tests test_threads '*source*' '*handle*' '*descriptor*'
	fi
}

@test "test_snapshot" {
	tests test_snapshot '*own_threads*' '*sleeping*' '*ended*' '*descriptors*' \
		'*info*'
}
