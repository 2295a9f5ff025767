#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cpuclock flame, where it samples: programs of which is known where they spend
# their time. Nothing is asserted of how long anything takes.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

: "${BUILD_ROOT:?the path of the build}"

deny=$BUILD_ROOT/tests/deny
sources=$SOURCE_ROOT/tests/flame

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	chmod 755 .
	$CC -O2 -g "$sources/shares.c" -o shares
	strip -o stripped shares
	$CC -O2 -static-pie "$sources/shares.c" -o static 2>/dev/null || true
	$CC -O2 -fomit-frame-pointer "$sources/recursion.c" -o recursion
	$CC -O2 -fPIC -shared "$sources/plugin.c" -o plugin.so
	$CC -O2 "$sources/host.c" -o host -ldl
	$CC -O2 "$sources/threads.c" -o threads -lpthread
	$CC -O2 "$sources/processes.c" -o processes
	javac --release 17 -d . "$sources/Burn.java" >/dev/null 2>&1 || true
	$CC -O2 -rdynamic "$sources/no_timers.c" -o no_timers -lpthread
	chmod 755 ./*
	"$CPUCLOCK" flame true >facts 2>&1 || true
	"$CPUCLOCK" info >>facts
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	unset LD_PRELOAD
	folded=$BATS_TEST_TMPDIR/stacks.folded
}

# flame ARGS...: samples into $folded, which need not be quick
flame() {
	capture "$CPUCLOCK" flame -o "$folded" "$@"
	[ "$code" -eq 0 ] || explain "flame $*"
}

# perf events, or a reason to skip
needs_perf() {
	grep -q 'Sampled by *perf' "$BATS_FILE_TMPDIR/facts" ||
		skip "perf events are denied here"
}

needs_root() {
	[ "$(id -u)" -eq 0 ] || skip "not root"
}

needs_tables() {
	grep -q 'flame .*unwind tables' "$BATS_FILE_TMPDIR/facts" ||
		skip "built without libdw"
}

# share REGEX: the percentage of samples of which the stack matches
share() {
	python3 -c '
import re, sys
hits = total = 0
for line in open(sys.argv[2], encoding="utf-8", errors="surrogateescape"):
    stack, samples = line.rstrip("\n").rsplit(" ", 1)
    total += int(samples)
    if re.search(sys.argv[1], stack):
        hits += int(samples)
print(round(100 * hits / total) if total else 0)' "$1" "$folded"
}

# mostly REGEX [PERCENT]: at least 80 % of the samples, or so many
mostly() {
	local got
	got=$(share "$1")
	[ "$got" -ge "${2-80}" ] && return
	echo "$1: $got % of the samples"
	head -n 20 "$folded"
	return 1
}

# A stack of main that begins where the program does.
from_start='^[^;]*;_start;(__libc_start_[a-z_]*;)*main;'

# ---- Shares

@test "70 and 30 percent are seen as such, within 3 points" {
	needs_perf
	local heavy light
	flame -- ./shares 5
	read -r heavy light <"$out"
	python3 -c '
import sys
said, seen = float(sys.argv[1]), float(sys.argv[2])
sys.exit(abs(said - seen) > 3)' "$heavy" "$(share ';heavy')" ||
		explain "heavy is $heavy, seen are $(share ';heavy')"
	python3 -c '
import sys
said, seen = float(sys.argv[1]), float(sys.argv[2])
sys.exit(abs(said - seen) > 3)' "$light" "$(share ';light')" ||
		explain "light is $light, seen are $(share ';light')"
}

@test "samples and the CPU clock agree, and both are printed" {
	needs_perf
	capture "$CPUCLOCK" flame -F 499 -- ./shares 0.5
	grep -qE 'CPU clock .* (9[5-9]|10[0-5])(\.[0-9])? %' "$out" ||
		explain "the clock and the samples differ"
}

@test "a rate of 999 Hz gives ten times as many samples as 99" {
	needs_perf
	local few many
	flame -F 99 -- ./shares 0.7
	few=$(awk '{ n += $NF } END { print n }' "$folded")
	flame -F 999 -- ./shares 0.7
	many=$(awk '{ n += $NF } END { print n }' "$folded")
	[ "$many" -gt $((few * 8)) ] && [ "$many" -lt $((few * 12)) ] ||
		explain "$few and $many samples"
}

# ---- Stacks

@test "without frame pointers stacks reach the program's start" {
	needs_perf
	needs_tables
	flame -F 499 -- ./recursion 3 300
	mostly "${from_start}down;down;down;down(;|\$)" 95
}

@test "recursion is as deep as it is" {
	needs_perf
	needs_tables
	flame -F 499 -- ./recursion 50 300
	mostly "${from_start}(down;){50}down(;[^d]|\$)" 95
}

@test "a stack that is deeper than what is copied is marked" {
	needs_perf
	needs_tables
	flame -F 499 -- ./recursion 5000 300
	mostly '^recursion;\[truncated\];.*down;down' 95
}

@test "of a stripped program the file's name is known, and libc's functions" {
	needs_perf
	needs_tables
	flame -F 499 -- ./stripped 0.5
	mostly '\[stripped\]' 95
	mostly '_start_' 95
}

@test "a static program has its names" {
	needs_perf
	needs_tables
	[ -x static ] || skip "no static libc"
	flame -F 499 -- ./static 0.5
	mostly ';main;.*(heavy|light)' 95
}

@test "a function that was inlined is a frame, where debug information is" {
	needs_perf
	needs_tables
	flame -F 499 -- ./shares 0.5
	mostly '(heavy|light);(spin|cpu_ns)_\[i\]'
}

@test "a plugin that was loaded later has its names" {
	needs_perf
	needs_tables
	flame -F 499 -- ./host ./plugin.so 400
	mostly "${from_start}plugin_work;plugin_inner" 90
}

@test "and so it has where its file was deleted meanwhile" {
	needs_perf
	needs_tables
	cp plugin.so deleted.so
	flame -F 499 -- ./host ./deleted.so 400 delete
	mostly "plugin_work;plugin_inner" 90
}

@test "a damaged library gives frames without a name" {
	needs_perf
	cp plugin.so damaged.so
	python3 -c '
import random
data = bytearray(open("damaged.so", "rb").read())
random.seed(1)
# What the loader does not need: behind the segments.
for i in range(len(data) - 3000, len(data)):
    data[i] = random.randrange(256)
open("damaged.so", "wb").write(data)'
	flame -F 499 -- ./host ./damaged.so 300
	mostly 'damaged.so|plugin' 80
}

# ---- Processes and threads

@test "what a shell executes is followed, under its own name" {
	needs_perf
	flame -F 999 -- sh -c './shares 0.2; ./recursion 2 200; exec ./host ./plugin.so 200'
	for name in shares recursion host; do
		mostly "^$name;" 20
	done
}

@test "100 processes that live for 50 ms are all seen" {
	needs_perf
	flame -F 999 -- ./processes 100 50
	mostly ';in_child' 90
	[ "$(awk '{ n += $NF } END { print n }' "$folded")" -gt 4000 ] ||
		explain "too few samples"
}

@test "2,000 threads are seen, each with its root if asked for" {
	needs_perf
	needs_tables
	flame -F 1999 --threads -- ./threads 2000 1
	! grep -q 'cannot start so many' "$err" ||
		skip "so many threads cannot be started"
	mostly ';thread;in_thread'
	[ "$(cut -d ';' -f 1 "$folded" | sort -u | wc -l)" -gt 500 ] ||
		explain "few roots"
	[ "$(grep -cE '^threads-[0-9]+' "$folded")" -gt 500 ]
}

# background COMMAND...: starts it, and sets $pid; ended by teardown
background() {
	"$@" >/dev/null 3>&- &
	pid=$!
}

teardown() {
	if [ -n "${pid-}" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
}

@test "a process that runs is sampled, and its threads" {
	needs_perf
	background ./shares 20
	flame -p "$pid" --duration=0.5 -F 499
	mostly '^shares;.*(heavy|light)' 95
	flame -t "$pid" -d 0.5 -F 499
	mostly '^shares;.*(heavy|light)' 95
}

@test "the whole machine is sampled, this program with it" {
	needs_root
	needs_perf
	background ./shares 20
	flame -a -d 0.5 -F 499
	mostly '^shares;.*(heavy|light)' 5
}

@test "sampling ends with its target" {
	needs_perf
	background ./shares 0.5
	flame -p "$pid" -F 499
	mostly '^shares;' 95
}

@test "Ctrl-C ends it, and what was sampled is written" {
	needs_perf
	background ./shares 20
	local flame
	"$CPUCLOCK" flame -p "$pid" -F 499 -o "$folded" 3>&- &
	flame=$!
	sleep 1
	kill -INT "$flame"
	wait "$flame"
	mostly '^shares;' 95
}

@test "signals reach the command, and those that end it end the sampling" {
	local flame trap='trap "echo usr1; exit 4" USR1; trap "echo term; exit 5" TERM
		echo ready; while :; do :; done'
	for signal in USR1 TERM; do
		rm -f "$BATS_TEST_TMPDIR/said"
		"$CPUCLOCK" flame -o "$folded" -- sh -c "$trap" \
			>"$BATS_TEST_TMPDIR/said" 3>&- &
		flame=$!
		until [ -s "$BATS_TEST_TMPDIR/said" ]; do sleep 0.05; done
		kill -"$signal" "$flame"
		wait "$flame"
		[ "$(tail -n 1 "$BATS_TEST_TMPDIR/said")" = "${signal,,}" ]
	done
}

@test "when the time is over a command is asked to end, and it is said" {
	prints 'note: the command was ended when the time was over' \
		"$CPUCLOCK" flame --duration=0.2 -- sleep 60
	prints 'note: the command was ended by signal 11' \
		"$CPUCLOCK" flame -- sh -c 'kill -SEGV $$'
	prints 'note: the command exited with status 4' \
		"$CPUCLOCK" flame -- sh -c 'exit 4'
}

@test "who is not there, or is a thread, is said so" {
	fails 1 'there is no process 4194304' "$CPUCLOCK" flame -p 4194304 -o "$folded"
	fails 1 'there is no thread 4194304' "$CPUCLOCK" flame -t 4194304 -o "$folded"
	fails 127 "cannot run 'no-such-command'" \
		"$CPUCLOCK" flame -o "$folded" -- no-such-command
	fails 126 "cannot run '/'" "$CPUCLOCK" flame -o "$folded" -- /
}

@test "an empty profile says why" {
	"$CPUCLOCK" flame true | grep -qE 'no samples: .*(ended early|idle)' ||
		explain "no reason"
	background sleep 20
	"$CPUCLOCK" flame -p "$pid" -d 0.2 >"$BATS_TEST_TMPDIR/text" ||
		skip "perf events are denied here"
	grep -qE 'no samples: .*idle' "$BATS_TEST_TMPDIR/text"
}

# ---- Where less is allowed

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --)

@test "without privileges at paranoid 2 it works, user only, and says so" {
	needs_root
	needs_perf
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -eq 2 ] ||
		skip "kernel.perf_event_paranoid is not 2"
	capture "${nobody[@]}" "$CPUCLOCK" flame -F 499 -- ./shares 0.3
	[ "$code" -eq 0 ] || explain "it failed"
	grep -q 'Sampled by *perf task-clock, user only' "$out" ||
		explain "it is not labelled"
	grep -q 'note: user only: .*perf_event_paranoid is 2' "$out" ||
		explain "it does not say why"
	lacks '^ +[0-9.]+% +[0-9.]+% +k ' "$out"
	grep -qE ' (heavy|light)$' "$out" || explain "no stacks"
}

@test "without privileges a process of one's own can be attached to" {
	needs_root
	needs_perf
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] ||
		skip "kernel.perf_event_paranoid is above 2"
	background "${nobody[@]}" ./threads 20 500
	sleep 0.3
	capture "${nobody[@]}" "$CPUCLOCK" flame -d 0.5 -F 499 -p "$pid"
	[ "$code" -eq 0 ] || explain "it failed"
	grep -q ' in_thread$' "$out" || explain "no stacks"
}

@test "where perf events are denied a command is sampled by CPU timers" {
	for error in EPERM EACCES ENOSYS; do
		capture "$deny" "$error" perf_event_open -- \
			"$CPUCLOCK" flame -F 199 -- ./threads 4 100
		[ "$code" -ne 77 ] || skip "no seccomp filter"
		[ "$code" -eq 0 ] || explain "it failed"
		grep -q 'Sampled by *CPU timers' "$out" || explain "not by timers"
		grep -q 'note: perf events are denied' "$out" || explain "no note"
		grep -qE ' in_thread$' "$out" || explain "no stacks"
	done
}

@test "and a thread that gets no timer deletes none" {
	capture "$deny" EPERM perf_event_open -- "$CPUCLOCK" flame -F 199 \
		-o "$folded" -- ./no_timers
	[ "$code" -ne 77 ] || skip "no seccomp filter"
	grep -qx 'deleted: 0' "$out" || explain "it deleted another's"
}

@test "and what it executes is followed, and its children" {
	capture "$deny" EPERM perf_event_open -- "$CPUCLOCK" flame -F 199 \
		-o "$folded" -- sh -c './recursion 3 300; ./processes 4 100'
	[ "$code" -ne 77 ] || skip "no seccomp filter"
	mostly '^recursion;.*down;down' 30
	mostly '^processes;.*in_child' 30
}

@test "and attaching fails, and says what to do" {
	fails 1 'perf events are denied.*CAP_PERFMON' "$deny" EPERM \
		perf_event_open -- "$CPUCLOCK" flame -p $$ -o "$folded"
	fails 1 'no perf events' "$deny" ENOSYS perf_event_open -- \
		"$CPUCLOCK" flame -a -d 0.1 -o "$folded"
}

@test "hidden kernel symbols leave one frame, and the user's part" {
	needs_root
	needs_perf
	head -n 3 /proc/kallsyms | sed -E 's/^[0-9a-f]+/0000000000000000/' \
		>"$BATS_TEST_TMPDIR/hidden"
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c 'mount --bind "$1" /proc/kallsyms' sh \
		"$BATS_TEST_TMPDIR/hidden" || skip "no mount namespace"
	# shellcheck disable=SC2016 # for the inner shell
	capture unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && shift &&
		exec "$@"' sh "$BATS_TEST_TMPDIR/hidden" \
		"$CPUCLOCK" flame -F 499 -o "$folded" -- dd if=/dev/zero \
		of=/dev/null bs=256k count=10000
	[ "$code" -eq 0 ] || explain "it failed"
	mostly '^dd;.*;\[kernel\]_\[k\]$' 50
	lacks '\[kernel\]_\[k\];' "$folded"
}

@test "in a container's namespaces its own files and maps are read" {
	needs_root
	needs_perf
	needs_tables
	unshare -m -p -f --mount-proc true || skip "no namespaces"
	mkdir -p "$BATS_TEST_TMPDIR/inside"
	# shellcheck disable=SC2016 # for the inner shell
	capture "$CPUCLOCK" flame -F 499 -o "$folded" -- unshare -m -p -f \
		--mount-proc sh -c 'mount -t tmpfs none "$1" &&
		cp shares "$1/only-inside" && exec "$1/only-inside" 0.5' sh \
		"$BATS_TEST_TMPDIR/inside"
	mostly "${from_start}"'(work;)?(heavy|light)'
}

# ---- Languages

@test "C++: names of templates are readable" {
	needs_perf
	needs_tables
	needs g++
	g++ -O2 -g "$sources/templates.cc" -o templates
	flame -F 499 -- ./templates 400
	mostly ';main;shop::Store<std::.*>::operator\(\).*;shop::Store<.*>::fill'
}

@test "Rust: names are readable, generic ones too" {
	needs_perf
	needs_tables
	needs rustc
	rustc -O -C debuginfo=1 "$sources/burn.rs" -o burn_rs
	flame -F 199 -- ./burn_rs
	mostly ';burn::main;.*burn::run.*;<burn::Store<u64> as burn::Burn>::burn'
}

@test "Go: stacks of goroutines are whole" {
	needs_perf
	needs_tables
	needs go
	go build -o burn_go "$sources/burn.go" ||
		skip "go cannot build"
	flame -F 199 -- ./burn_go
	mostly 'runtime.goexit[^;]*;main.main.func1;main.\(\*store\).burn'
}

needs_java() {
	[ -e Burn.class ] || skip "no JDK of 17 or newer"
}

# compiled_java RUN...: Burn is compiled; RUN java and RUN jcmd run a JDK's tools
compiled_java() {
	background "$@" java -XX:+PreserveFramePointer -cp . Burn 60
	# Until it is compiled, and said so.
	for _ in {1..100}; do
		sleep 0.2
		"$@" jcmd "$pid" Compiler.perfmap >/dev/null 2>&1 || continue
		! grep -q 'Burn.outer' "/tmp/perf-$pid.map" || break
	done
	flame -p "$pid" -d 0.5 -F 499
	rm -f "/tmp/perf-$pid.map"
	mostly 'Burn.outer\(long\)_\[j\];long Burn.inner\(long\)_\[j\]'
}

@test "Java: compiled methods have names by a perf map" {
	needs_perf
	needs_tables
	needs_java
	compiled_java env
	mostly 'clone3?;start_thread;.*Burn.outer'
}

@test "Java 25, with other libraries than this machine's, too" {
	local jdk=$SOURCE_ROOT/tests/agent/jdk.sh name
	needs_perf
	needs_tables
	needs_java
	name=$("$jdk" find 25 2>/dev/null | head -n 1) || true
	[ -n "$name" ] || skip "no JDK 25 is at hand; ./dev jdks 25 brings it"
	"$jdk" run "$name" java -version 2>/dev/null || skip "$name does not run here"
	compiled_java "$jdk" run "$name"
}

@test "Node: compiled functions have names by a perf map, in a container too" {
	needs_perf
	needs_tables
	needs node
	flame -F 199 -- node --perf-basic-prof "$sources/burn.js"
	mostly 'JS:[^;]*innerBurn[^;]*_\[j\]' 25
	needs_root
	unshare -m -p -f --mount-proc true || skip "no namespaces"
	# shellcheck disable=SC2016 # for the inner shell
	capture "$CPUCLOCK" flame -F 199 -o "$folded" -- unshare -m -p -f \
		--mount-proc sh -c 'mount -t tmpfs none /tmp && cd /tmp &&
		exec node --perf-basic-prof -e "$1"' sh "$(cat "$sources/burn.js")"
	mostly 'JS:[^;]*innerBurn[^;]*_\[j\]' 25
}

@test "a perf map of another user, or a link, is not read" {
	needs_root
	needs_perf
	needs_tables
	needs_java
	needs setpriv
	background java -XX:+PreserveFramePointer -cp . Burn 20
	sleep 1
	echo '0 ffffffffffffffff evil' >"/tmp/perf-$pid.map"
	chown 65534 "/tmp/perf-$pid.map"
	flame -p "$pid" -d 0.3 -F 499
	lacks 'evil' "$folded"
	rm -f "/tmp/perf-$pid.map"
	ln -s /etc/passwd "/tmp/perf-$pid.map"
	capture "$CPUCLOCK" flame -p "$pid" -d 0.3 -F 499
	rm -f "/tmp/perf-$pid.map"
	grep -q 'was not read: it is a symbolic link' "$out" ||
		explain "it does not say so"
}

@test "a process of which the main thread has ended is sampled and named" {
	local pid
	needs_perf
	needs_root
	$CC -O1 "$sources/leaderless.c" -o leaderless -lpthread
	./leaderless 3>&- &
	pid=$!
	sleep 0.3
	flame -p "$pid" -d 1
	kill -KILL "$pid"
	mostly 'busy_without_leader'
}
