#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The shim in the worlds that programs live in.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

# Where any user may run them.
setup_file() {
	OPEN=$(mktemp -d)
	export OPEN
	chmod 755 "$OPEN"
	install -m 755 "$BUILD_ROOT"/tests/preload/{reader,libearly.so} \
		"$BUILD_ROOT"/tests/preload/test_{clock,usage,processes} \
		"$BUILD_ROOT"/preload/libcpuclock-preload.so "$OPEN"
}

teardown_file() {
	rm -rf "$OPEN"
}

needs_root() {
	[ "$(id -u)" -eq 0 ] || skip "only root can"
}

# ---- The file

@test "the shim exports the two functions, no more" {
	diff <(nm -D --defined-only "$shim" | awk '{ print $3 }' | sort) \
		<(printf 'clock_gettime\ngetrusage\n')
}

@test "the shim needs libc alone, and stays loaded" {
	capture readelf -d "$shim"
	lacks 'NEEDED.*\[(lib[^c]|libc[^.])' "$out"
	grep -q 'FLAGS_1.*NODELETE' "$out" || explain "it can be unloaded"
}

@test "no stack or code of the shim is writable and executable" {
	capture readelf -lW "$shim"
	lacks ' RWE ' "$out"
}

# ---- What it serves

@test "each read of the thread's own clock is served, whatever its id" {
	capture "$CPUCLOCK" run --report --json -- "$tests/reader" clock 30000
	python3 - "$err" "$("$CPUCLOCK" info --json | sources cat |
		best self total)" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
served = report["clock_gettime_without_call"] + report["clock_gettime_with_call"]
assert served == 30000, report
if sys.argv[2] == "fast":
    assert report["clock_gettime_without_call"] > 0, report
assert all(count == 0 for key, count in report.items()
           if key.startswith("passed_on")), report
PYTHON
}

@test "getrusage of the thread is served" {
	[ "$(report getrusage "$tests/reader" usage 1000)" -eq 1000 ]
}

@test "wall clocks and the process are passed on" {
	[ "$(report passed_on_clocks "$tests/reader" wall 1000)" -eq 1000 ]
	[ "$(report passed_on_cpu_clocks "$tests/reader" process 1000)" -eq 500 ]
	[ "$(report passed_on_getrusage "$tests/reader" process 1000)" -eq 500 ]
}

@test "where the clock is refused, so is the answer" {
	local deny=$BUILD_ROOT/tests/deny
	capture "$deny" EPERM cpu_clock_gettime -- "$tests/reader" clock 10
	[ "$code" -ne 77 ] || skip "there can be no seccomp filter here"
	[ "$(cat "$out")" = "errno 001" ]
	capture "$deny" EPERM cpu_clock_gettime -- env "LD_PRELOAD=$shim" \
		"$tests/reader" clock 10
	[ "$(cat "$out")" = "errno 001" ] || explain "it is answered"
	capture "$deny" EPERM getrusage -- env "LD_PRELOAD=$shim" \
		"$tests/reader" usage 10
	[ "$(cat "$out")" = "errno 001" ] || explain "it is answered"
}

# ---- CPUCLOCK_SOURCE

@test "CPUCLOCK_SOURCE: what is expected holds by a source that is named" {
	local source
	for source in self fast; do
		capture "$CPUCLOCK" read -s $source
		[ "$code" -eq 0 ] || continue
		expectations env CPUCLOCK_SOURCE=$source "LD_PRELOAD=$shim"
		lacks 'CPUCLOCK_SOURCE' "$err"
	done
}

@test "CPUCLOCK_SOURCE: each source that works answers" {
	local source
	for source in self posix rusage schedstat proc; do
		echo "$source"
		export CPUCLOCK_SOURCE=$source
		[ "$(report clock_gettime_with_call "$tests/reader" clock 99)" -eq 99 ]
		[ ! -s "$out" ]
	done
	CPUCLOCK_SOURCE=rusage
	[ "$(report getrusage "$tests/reader" usage 99)" -eq 99 ]
	CPUCLOCK_SOURCE=self
	[ "$(report passed_on_getrusage "$tests/reader" usage 99)" -eq 99 ]
}

@test "CPUCLOCK_SOURCE: an unknown one is one line, and all is passed on" {
	local name
	for name in bogus $'bo\ngus\e[1m' "$(printf 'x%.0s' {1..1000})"; do
		capture env "CPUCLOCK_SOURCE=$name" "LD_PRELOAD=$shim" \
			"$tests/reader" clock 10
		[ "$code" -eq 0 ] || explain "it fails"
		[ ! -s "$out" ] || explain "the reads fail"
		one_line 'CPUCLOCK_SOURCE.*does not exist.*passed on'
		lacks $'\e' "$err"
	done
	capture env CPUCLOCK_SOURCE=bogus "LD_PRELOAD=$shim" "$tests/test_clock"
	[ "$code" -eq 0 ] || explain "what is expected does not hold"
}

# ---- Other users, denied calls

@test "as nobody, what is expected holds" {
	needs_root
	tests=$OPEN
	cd /
	expectations setpriv --reuid 65534 --regid 65534 --clear-groups -- \
		env "LD_PRELOAD=$OPEN/libcpuclock-preload.so" \
		"LD_LIBRARY_PATH=$OPEN"
}

@test "without rseq, what is expected holds" {
	expectations env GLIBC_TUNABLES=glibc.pthread.rseq=0 "LD_PRELOAD=$shim"
}

@test "without perf events and rseq, what is expected holds" {
	capture "$BUILD_ROOT/tests/deny" EPERM perf_event_open -- true
	[ "$code" -eq 0 ] || skip "there can be no seccomp filter here"
	expectations "$BUILD_ROOT/tests/deny" EPERM perf_event_open -- \
		env GLIBC_TUNABLES=glibc.pthread.rseq=0 "LD_PRELOAD=$shim"
}

# sandboxed CLOCK CALL...: 100000 reads where any other call kills
sandboxed() {
	local clock=$1
	shift
	capture env "LD_PRELOAD=${preloaded-$shim}" \
		"$tests/reader" "$clock" 100000 sandbox "$@"
	[ "$code" -ne 77 ] || skip "there can be no seccomp filter here"
	[ "$code" -eq 0 ] || explain "it was killed"
	[ ! -s "$out" ] || explain "the reads fail"
}

@test "a filter that kills: the self-test was before it" {
	preloaded='' sandboxed clock clock_gettime
	# An event of perf is opened when a thread deserves one.
	[[ $("$CPUCLOCK" info) == *fast:rseq* ]] || skip "the epoch is not rseq"
	sandboxed clock clock_gettime getrusage
	sandboxed usage clock_gettime getrusage
}

@test "a filter that kills: by source self the same calls as without the shim" {
	export CPUCLOCK_SOURCE=self
	sandboxed clock clock_gettime
	sandboxed usage getrusage
}

# ---- Left alone by the loader

@test "a static program is left alone, and the report says so" {
	cd "$BATS_TEST_TMPDIR"
	# shellcheck disable=SC2086 # words
	${CC:-cc} -static -D_GNU_SOURCE "$SOURCE_ROOT/tests/preload/reader.c" \
		-o reader 2>/dev/null || skip "there is no static libc here"
	capture "$CPUCLOCK" run --report ./reader clock 10
	[ "$code" -eq 0 ] || explain "it fails"
	[ ! -s "$out" ] || explain "the reads fail"
	grep -q 'nothing.*counted' "$err" || explain "the report says nothing"
	grep -q 'static' "$err" || explain "the report does not say why"
}

@test "a setuid program is left alone, and the report says so" {
	needs_root
	install -o 65534 -m 4755 "$tests/reader" "$OPEN/setuid"
	# A mount with nosuid makes it an ordinary one.
	[ "$(findmnt -n -o OPTIONS -T "$OPEN" | grep -cw nosuid)" -eq 0 ] ||
		skip "setuid has no effect in $OPEN"
	capture env "LD_LIBRARY_PATH=" "$CPUCLOCK" run --report "$OPEN/setuid" clock 10
	[ "$code" -eq 0 ] || explain "it fails"
	[ ! -s "$out" ] || explain "the reads fail"
	grep -q 'nothing.*counted' "$err" || explain "the shim was loaded"
}

# ---- Beside others

@test "beside jemalloc, what is expected holds" {
	local other
	other=$(library libjemalloc.so.2)
	[ -n "$other" ] || skip "there is no jemalloc here"
	expectations env "LD_PRELOAD=$shim:$other"
}

@test "beside tcmalloc, what is expected holds" {
	local other
	other=$(library libtcmalloc_minimal.so.4)
	[ -n "$other" ] || skip "there is no tcmalloc here"
	expectations env "LD_PRELOAD=$other:$shim"
}

# sanitized COMPILER FLAG...: builds the expectations with a sanitizer
sanitized() {
	local name
	cd "$BATS_TEST_TMPDIR" || return
	for name in clock usage processes; do
		"$@" -g -D_GNU_SOURCE -fsanitize=address \
			"$SOURCE_ROOT"/tests/preload/{test_$name,expect,early}.c \
			-o "test_$name" -lcmocka -pthread 2>cc.log ||
			skip "$1 has no address sanitizer here"
	done
	tests=$BATS_TEST_TMPDIR
}

@test "beside gcc's address sanitizer, which has to come first" {
	needs gcc
	sanitized gcc
	LD_PRELOAD=$(gcc -print-file-name=libasan.so) \
		expectations "$CPUCLOCK" run --
}

@test "beside clang's address sanitizer, which is in the program" {
	needs clang
	sanitized clang
	expectations "$CPUCLOCK" run --
}

@test "twice in LD_PRELOAD, by two paths" {
	expectations env "LD_PRELOAD=$shim:$OPEN/libcpuclock-preload.so"
}

# ---- The report's file

@test "a file that is no report is not written to" {
	local file=$BATS_TEST_TMPDIR/file size
	for size in 0 88 4096; do
		head -c "$size" /dev/zero >"$file"
		capture env "CPUCLOCK_REPORT=$file" "LD_PRELOAD=$shim" \
			"$tests/reader" clock 10
		[ "$code" -eq 0 ] || explain "it fails"
		[ ! -s "$err" ] || explain "standard error is not empty"
		cmp "$file" <(head -c "$size" /dev/zero)
	done
}

@test "no report without its variable, none in a folder or a missing file" {
	local file
	for file in /nowhere/x "$BATS_TEST_TMPDIR" ""; do
		capture env "CPUCLOCK_REPORT=$file" "LD_PRELOAD=$shim" \
			"$tests/reader" clock 10
		[ "$code" -eq 0 ] || explain "it fails"
		[ ! -s "$err" ] || explain "standard error is not empty"
	done
}
