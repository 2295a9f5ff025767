#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reading a clock: targets, kinds, sources, refusals, and the right figures.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

# A process with three threads that have used their CPU time and now wait, so
# that what is read can be compared to the nanosecond and the tick.
setup_file() {
	mkfifo "$BATS_FILE_TMPDIR/ids"
	python3 - >"$BATS_FILE_TMPDIR/ids" 3>&- <<'PYTHON' &
import threading, time, signal

def burn(seconds):
    while time.thread_time() < seconds:
        time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)

tids = []
def worker(seconds):
    burn(seconds)
    tids.append(threading.get_native_id())
    signal.pause() if seconds < 0 else threading.Event().wait()

for seconds in (0.25, 0.0):
    count = len(tids)
    threading.Thread(target=worker, args=(seconds,), daemon=True).start()
    while len(tids) == count:
        time.sleep(0.005)
burn(0.1)
print(*tids, flush=True)
signal.pause()
PYTHON
	export BURNER=$! BUSY IDLE
	read -r BUSY IDLE <"$BATS_FILE_TMPDIR/ids"
	export SOURCES=$BATS_FILE_TMPDIR/sources
	sources "$CPUCLOCK" info --json >"$SOURCES"
	sleep 0.05
}

teardown_file() {
	kill "$BURNER"
	wait "$BURNER" || true
}

# ns OPTION...: the time in ns, a number and nothing else
ns() {
	capture "$CPUCLOCK" read "$@"
	[ "$code" -eq 0 ] || explain "read $*: failed" >&2
	[ ! -s "$err" ] || explain "read $*: standard error is not empty" >&2
	grep -oE '^[0-9]+' "$out"
}

# near A B TOLERANCE: two numbers, if there are two
near() {
	local difference
	[[ $1 =~ ^[0-9]+$ && $2 =~ ^[0-9]+$ ]] || return
	difference=$(($1 - $2))
	[ "${difference#-}" -le "$3" ] || {
		echo "$1 and $2 differ by more than $3"
		return 1
	}
}

# stat_ns FILE: utime + stime of /proc/.../stat; 10 ms steps
stat_ns() {
	local text words
	text=$(cat "$1")
	read -ra words <<<"${text##*) }"
	echo $(((words[11] + words[12]) * 1000000000 / $(getconf CLK_TCK)))
}

# An ended process that nobody else has taken the number of yet.
ended_pid() {
	true &
	ended=$!
	wait "$ended"
}

@test "without a target it reads its own thread" {
	prints '^[0-9]+ ns total CPU time of this thread \(source [a-z:]+, resolution 1 ns\)$' \
		"$CPUCLOCK" read
	[ "$(wc -l <"$out")" -eq 1 ]
	[ "$(json target "$CPUCLOCK" read --json)" = self ]
}

@test "its own time is more than nothing and less than its run" {
	local before after time_ns
	before=$(date +%s%N)
	time_ns=$(ns)
	after=$(date +%s%N)
	[ "$time_ns" -gt 0 ]
	[ "$time_ns" -lt $((after - before)) ]
}

@test "JSON has target, id, kind, time, resolution and source" {
	capture "$CPUCLOCK" read --json -t "$BUSY" -k user
	[ "$(json target cat "$out")" = thread ]
	[ "$(json id cat "$out")" -eq "$BUSY" ]
	[ "$(json kind cat "$out")" = user ]
	[ "$(json resolution_ns cat "$out")" -eq $((1000000000 / $(getconf CLK_TCK))) ]
	[ "$(json source cat "$out")" = proc ]
	[ "$(json time_ns cat "$out")" -gt 0 ]
	capture "$CPUCLOCK" read --json -p "$BURNER"
	[ "$(json target cat "$out")" = process ]
	[ "$(json id cat "$out")" -eq "$BURNER" ]
}

# try_source TARGET KIND SOURCE TARGETS KINDS OPTION...: works if the table of
# `info` says so, is refused in one line otherwise
try_source() {
	local target=$1 kind=$2 source=$3 targets=" $4 " kinds=" $5 "
	shift 5
	if [[ $targets = *" $target "* && $kinds = *" $kind "* ]]; then
		prints "ns $kind CPU time of .*source ${source}[:,]" \
			"$CPUCLOCK" read -k "$kind" -s "$source" "$@"
	else
		fails 1 "$source" "$CPUCLOCK" read -k "$kind" -s "$source" "$@"
	fi
}

@test "each source reads the kinds and targets that info names, no other" {
	local name works targets kinds kind
	[ "$(grep -c ':yes:' "$SOURCES")" -ge 3 ]
	while IFS=: read -r name works targets kinds; do
		[ "$works" = yes ] || continue
		for kind in total user system ticks; do
			try_source self $kind "$name" "$targets" "$kinds"
			try_source process $kind "$name" "$targets" "$kinds" \
				-p "$BURNER"
			try_source foreign $kind "$name" "$targets" "$kinds" \
				-t "$BUSY"
		done
	done <"$SOURCES"
}

@test "a source that does not work here: refused, with the reason" {
	local name works rest
	! grep -q ':no:' "$SOURCES" || while IFS=: read -r name works rest; do
		[ "$works" = no ] || continue
		fails 1 "$name does not work here: ." "$CPUCLOCK" read -s "$name"
	done <"$SOURCES"
}

@test "the best source is chosen for each target and kind" {
	local kind
	for kind in total user system ticks; do
		prints "source $(best self $kind <"$SOURCES")[:,]" \
			"$CPUCLOCK" read -k $kind
		prints "source $(best process $kind <"$SOURCES")[:,]" \
			"$CPUCLOCK" read -k $kind -p "$BURNER" -s best
		[ $kind = ticks ] ||
			prints "source $(best foreign $kind <"$SOURCES")[:,]" \
				"$CPUCLOCK" read -k $kind -t "$BUSY"
	done
}

@test "--help names every source" {
	local name
	capture "$CPUCLOCK" read --help
	while IFS=: read -r name _; do
		grep -qE "[ ,]${name}[,;]" "$out" || explain "$name is missing"
	done <"$SOURCES"
}

@test "CPUCLOCK_SOURCE chooses the source, --source wins over it" {
	local best
	prints 'source proc,' env CPUCLOCK_SOURCE=proc "$CPUCLOCK" read
	prints 'source posix,' env CPUCLOCK_SOURCE=proc "$CPUCLOCK" read -s posix
	best=$(best self total <"$SOURCES")
	prints "source ${best}[:,]" env CPUCLOCK_SOURCE=proc "$CPUCLOCK" read -s best
	prints "source ${best}[:,]" env CPUCLOCK_SOURCE=best "$CPUCLOCK" read
	prints "source ${best}[:,]" env CPUCLOCK_SOURCE= "$CPUCLOCK" read
	fails 2 "'nosuch'" env CPUCLOCK_SOURCE=nosuch "$CPUCLOCK" read
	fails 1 'self' env CPUCLOCK_SOURCE=self "$CPUCLOCK" read -p "$BURNER"
}

@test "an unknown source or kind is a usage error that names the known" {
	fails 2 "'nosuch'.*self posix rusage schedstat proc" \
		"$CPUCLOCK" read -s nosuch
	fails 2 "'cpu'.*total, user, system, ticks" "$CPUCLOCK" read -k cpu
	fails 2 "''" "$CPUCLOCK" read -k ''
	fails 2 "''" "$CPUCLOCK" read -s ''
}

@test "a number that is no PID is a usage error, never a clock" {
	local id
	for id in 0 -1 4194305 -4194304 536870911 2147483648 4294967295 \
		18446744073709551615 99999999999999999999 junk '' ' 1' '1 ' \
		1.5 0x1 1e3 1k 1,2; do
		fails 2 "'$id'" "$CPUCLOCK" read "--pid=$id"
		fails 2 "'$id'" "$CPUCLOCK" read "--tid=$id"
		fails 2 "'$id'" "$CPUCLOCK" read -p "$id"
	done
}

@test "the largest number is allowed, and mostly nobody" {
	[ ! -e /proc/4194304 ] || skip "this machine has a process 4194304"
	fails 1 '4194304' "$CPUCLOCK" read -p 4194304
	fails 1 '4194304' "$CPUCLOCK" read -t 4194304
}

@test "an ended process and thread are said to have ended" {
	local source
	ended_pid
	fails 1 "process $ended .*ended" "$CPUCLOCK" read -p "$ended"
	fails 1 "thread $ended .*ended" "$CPUCLOCK" read -t "$ended"
	for source in posix proc; do
		fails 1 "process $ended .*ended" \
			"$CPUCLOCK" read -p "$ended" -s $source
	done
	for source in schedstat proc; do
		fails 1 "thread $ended .*ended" \
			"$CPUCLOCK" read -t "$ended" -s $source
	done
}

@test "a thread of another process through a clock id: refused, with the way out" {
	fails 1 'another process.*proc and schedstat' \
		"$CPUCLOCK" read -t "$BUSY" -s posix
	fails 1 'another process.*proc and schedstat' \
		"$CPUCLOCK" read -t "$BURNER" -s posix
}

@test "a thread given as a process: refused, with the way out" {
	local source
	fails 1 "$BUSY is a thread.* -t" "$CPUCLOCK" read -p "$BUSY"
	for source in posix proc; do
		fails 1 "$BUSY is a thread.* -t" \
			"$CPUCLOCK" read -p "$BUSY" -s $source
	done
}

@test "-p with -t: the thread must be one of the process" {
	ended_pid
	prints "thread $BUSY " "$CPUCLOCK" read -p "$BURNER" -t "$BUSY"
	prints "thread $BURNER " "$CPUCLOCK" read -p "$BURNER" -t "$BURNER"
	fails 1 "process $$ has no thread $BUSY" \
		"$CPUCLOCK" read -p $$ -t "$BUSY"
	fails 1 "$ended" "$CPUCLOCK" read -p "$ended" -t "$BUSY"
	fails 1 "$ended" "$CPUCLOCK" read -p "$BURNER" -t "$ended"
	fails 1 "$BUSY" "$CPUCLOCK" read -p "$BUSY" -t "$IDLE"
}

@test "a resting process: every source gives the same total" {
	local exact tick
	tick=$((1000000000 / $(getconf CLK_TCK)))
	exact=$(ns -p "$BURNER" -s posix)
	near "$(ns -p "$BURNER")" "$exact" 0
	near "$(ns -p "$BURNER" -s proc)" "$exact" $((2 * tick))
	near "$(stat_ns "/proc/$BURNER/stat")" "$exact" $((2 * tick))
	[ "$exact" -ge 350000000 ]
}

@test "a resting process: ps says the same, in its whole seconds" {
	local seconds
	needs ps
	seconds=$(ps -o cputimes= -p "$BURNER")
	near "$(ns -p "$BURNER")" $((seconds * 1000000000)) 1100000000
}

@test "a resting thread: every source gives the same total, and it is its own" {
	local exact tick
	tick=$((1000000000 / $(getconf CLK_TCK)))
	exact=$(ns -t "$BUSY" -s schedstat)
	near "$(ns -t "$BUSY" -s proc)" "$exact" $((2 * tick))
	near "$exact" 250000000 50000000
	[ "$(ns -t "$IDLE" -s schedstat)" -lt 50000000 ]
	[ "$(ns -t "$BURNER" -s schedstat)" -lt "$(ns -p "$BURNER")" ]
}

@test "the threads add up to the process" {
	local tid sum=0
	for tid in "/proc/$BURNER/task/"*; do
		sum=$((sum + $(ns -t "${tid##*/}" -s schedstat)))
	done
	near "$sum" "$(ns -p "$BURNER" -s posix)" 0
}

@test "user and system add up to total" {
	local who
	for who in "-p $BURNER" "-t $BUSY"; do
		# shellcheck disable=SC2086 # two words
		[ $(($(ns $who -k user) + $(ns $who -k system))) -eq \
			"$(ns $who -k total -s proc)" ]
	done
}

@test "a running process: its time grows, and no faster than its threads can" {
	local pid first second start end
	start=$(date +%s%N)
	sh -c 'while :; do :; done' 3>&- &
	pid=$!
	first=$(ns -p "$pid")
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.1
		second=$(ns -p "$pid")
		[ "$second" -le "$first" ] || break
	done
	end=$(date +%s%N)
	kill "$pid"
	[ "$second" -gt "$first" ]
	[ "$second" -le $((end - start)) ]
}

@test "a stopped process: its time stands still" {
	local pid first
	sh -c 'while :; do :; done' 3>&- &
	pid=$!
	sleep 0.1
	kill -STOP "$pid"
	while ! grep -q '^State:.T' "/proc/$pid/status"; do
		sleep 0.01
	done
	first=$(ns -p "$pid")
	sleep 0.1
	near "$(ns -p "$pid")" "$first" 0
	kill -KILL "$pid"
	wait "$pid" || true
}

@test "a name with parentheses, spaces and a newline does not confuse it" {
	local program=$BATS_TEST_TMPDIR/$') 9 R 1 1\n(x)' pid
	cp "$(command -v sleep)" "$program"
	"$program" 30 3>&- &
	pid=$!
	sleep 0.1
	near "$(ns -p "$pid" -s proc)" "$(ns -p "$pid" -s posix)" 20000000
	near "$(ns -t "$pid" -s proc)" "$(ns -t "$pid" -s schedstat)" 20000000
	kill "$pid"
}
