#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The world of valgrind: no error, no leak, no descriptor left.

# shellcheck disable=SC2154 # capture sets code, out and err
load ../cli/common

: "${BUILD_ROOT:?the path of the build}"

setup() {
	needs valgrind
	cd "$BATS_TEST_TMPDIR" || return
	valgrind --quiet --error-exitcode=99 true >/dev/null 2>&1 ||
		skip "valgrind does not run here"
}

# under_valgrind CODE COMMAND...: exits with that code, without any kind of error
# or leak. A child ends without cleaning up; it is not judged.
under_valgrind() {
	local wanted=$1
	shift
	capture valgrind --quiet --error-exitcode=99 --leak-check=full \
		--show-leak-kinds=all --errors-for-leak-kinds=all \
		--child-silent-after-fork=yes --track-fds=yes \
		--log-file=log "$@"
	if [ "$code" -ne "$wanted" ]; then
		cat log
		explain "$*: exit code is not $wanted"
	fi
	# Each descriptor still open was given by this shell.
	awk '/Open (file descriptor|AF_)/ { opened = $0; next }
		opened && !/inherited from parent/ { print opened; bad = 1 }
		{ opened = "" }
		END { exit bad }' log || explain "$*: descriptors are left"
}

@test "every call" {
	[ -x "$BUILD_ROOT/tests/every_call" ] || skip "every_call is not built"
	under_valgrind 0 "$BUILD_ROOT/tests/every_call"
}

@test "the command, when all is well" {
	under_valgrind 0 "$CPUCLOCK" read -t $$
	under_valgrind 0 "$CPUCLOCK" encode -p 1 --json
	under_valgrind 0 "$CPUCLOCK" info
}

@test "the command, when it refuses" {
	under_valgrind 1 "$CPUCLOCK" read -t $$ -s posix
	under_valgrind 1 "$CPUCLOCK" bench --json=/nowhere/x floor
	under_valgrind 2 "$CPUCLOCK" decode junk
}

@test "the command, when it measures" {
	under_valgrind 0 "$CPUCLOCK" bench --time 1ms --iterations 2 --threads 2 \
		--json=x.json --html=x.html floor.cycles
	under_valgrind 0 "$CPUCLOCK" bench --time 1ms --iterations 2 --threads 2 \
		--mode avgt --baseline=x.json floor.cycles
}
