#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The library and the command in another world, $WORLD, one of worlds.bash:
# whatever can work there does, the rest says why.

# shellcheck disable=SC2153,SC2154 # capture sets code, out and err
load ../cli/common
load worlds

cpuclock() {
	enter "$WORLD" "$PROGRAMS/cpuclock" "$@"
}

@test "every call: right answers, or an error and a reason" {
	capture enter "$WORLD" "$PROGRAMS/every_call"
	[ "$code" -eq 0 ] || explain "a promise is broken"
}

@test "info says what is off, why, in one line each" {
	local pattern
	capture cpuclock info
	[ "$code" -eq 0 ] || explain "it fails"
	[ ! -s "$err" ] || explain "standard error is not empty"
	while read -r pattern; do
		[ -n "$pattern" ] || continue
		grep -qE -- "$pattern" "$out" || explain "no line matches $pattern"
	done < <(said_by_info "$WORLD")
}

@test "info: what can work does" {
	local off name works
	off=$(off_in "$WORLD")
	capture cpuclock info
	cpuclock info --json | sources cat >"$BATS_TEST_TMPDIR/sources"
	[ -s "$BATS_TEST_TMPDIR/sources" ]
	while IFS=: read -r name works _; do
		if in_list "$name" "$off"; then
			[ "$works" = no ] || explain "$name is on"
		elif ! in_list "$name" "fast taskclock"; then
			[ "$works" = yes ] || explain "$name is off"
		fi
		if [ "$works" = no ]; then
			grep -qE "^ +${name}[: ].* no$" "$out" || explain "$name is on"
			grep -qE "^ +$name does not work here: .{9,}" "$out" ||
				explain "$name: no reason"
		else
			grep -qE "^ +${name}[: ].* works$" "$out" || explain "$name is off"
			lacks "^ +$name does not work" "$out"
		fi
	done <"$BATS_TEST_TMPDIR/sources"
}

@test "info gives no advice that does not help" {
	capture cpuclock info
	if [ "$(enter "$WORLD" id -u)" -eq 0 ]; then
		lacks 'needs root' "$out"
	fi
	# Nothing is left to do only where nothing is off.
	capture cpuclock bench --time 1ms --iterations 2 --threads 1 --mode avgt \
		floor.cycles
	if grep -q '^Not measured' "$out"; then
		capture cpuclock info
		lacks '^ +Nothing: all' "$out"
	fi
}

@test "info: the sources that it says the calls use are those that they use" {
	local total user
	enter "$WORLD" "$PROGRAMS/every_call" >"$BATS_TEST_TMPDIR/calls" || true
	capture cpuclock info
	total=$(sed -nE 's/^ *cpuclock_total\(\) +//p' "$out")
	user=$(sed -nE 's/^ *cpuclock_user\(\),.*\(\) +//p' "$out")
	if grep -qx 'cpuclock_total: fails' "$BATS_TEST_TMPDIR/calls"; then
		[ "$total" = none ] || explain "cpuclock_total() fails"
	else
		grep -qx "cpuclock_total: $total" "$BATS_TEST_TMPDIR/calls" ||
			explain "cpuclock_total() uses another"
	fi
	if grep -qx 'cpuclock_user: fails' "$BATS_TEST_TMPDIR/calls"; then
		[ "$user" = none ] || explain "cpuclock_user() fails"
	fi
	capture cpuclock info --json
	python3 -m json.tool <"$out" >/dev/null || explain "no JSON"
}

@test "read: its own time, by the best source that is left" {
	local kind source
	cpuclock info --json | sources cat >"$BATS_TEST_TMPDIR/sources"
	for kind in total user system ticks; do
		source=$(best self $kind <"$BATS_TEST_TMPDIR/sources")
		capture cpuclock read -k $kind
		if [ -z "$source" ]; then
			[ "$code" -eq 1 ] || explain "who gave the $kind?"
			one_line "$kind"
			continue
		fi
		[ "$code" -eq 0 ] || explain "$kind: it fails"
		[ ! -s "$err" ] || explain "standard error is not empty"
		grep -qE "^[0-9]+ ns $kind .*source ${source}[:,]" "$out" ||
			explain "$kind: not by $source"
	done
}

@test "read: a source that is off is an error with the reason of info" {
	local name
	for name in $(off_in "$WORLD"); do
		capture cpuclock info
		cpuclock info | sed -n "s/^ *$name does not work here: //p" \
			>"$BATS_TEST_TMPDIR/why"
		capture cpuclock read -s "$name"
		[ "$code" -eq 1 ] || explain "$name: exit code is not 1"
		[ ! -s "$out" ] || explain "$name: standard output is not empty"
		one_line "$name"
		grep -qFf "$BATS_TEST_TMPDIR/why" "$err" || explain "another reason"
	done
}

# refused OPTION...: by `read`, for the world's reason
refused() {
	capture cpuclock read "$@"
	[ "$code" -eq 1 ] || explain "read $*: exit code is not 1"
	[ ! -s "$out" ] || explain "read $*: standard output is not empty"
	one_line "$why"
}

works() {
	capture cpuclock read "$@"
	[ "$code" -eq 0 ] || explain "read $*: it fails"
	[ ! -s "$err" ] || explain "read $*: standard error is not empty"
}

@test "read: another process and its thread, or why not" {
	local other why="" options
	other=$OTHER
	case $WORLD in
	no-proc) why='/proc is not|no source' ;;
	# The shell of that world's PID namespace, another user's.
	hidepid) why='hidden' other=1 ;;
	esac
	# Its clock is hidden by nothing.
	works -p "$other"
	for options in "-t $other" "-p $other -k user" "-t $other -k system" \
		"-p $other -s proc" "-t $other -s schedstat" \
		"-p $other -t $other"; do
		# shellcheck disable=SC2086 # a list of words
		if [ -n "$why" ]; then
			refused $options
		else
			works $options
		fi
	done
}

@test "bench measures what is left, and says why it did not the kernel's work" {
	capture cpuclock bench --time 1ms --iterations 2 --threads 1 --json \
		floor self.total
	[ "$code" -eq 0 ] || explain "it fails"
	[ ! -s "$err" ] || explain "standard error is not empty"
	cp "$out" "$BATS_TEST_TMPDIR/x.json"
	python3 "$BATS_TEST_DIRNAME/../cli/check_jmh.py" \
		"$BATS_TEST_TMPDIR/x.json" --threads 1
	capture cpuclock bench --time 1ms --iterations 2 --threads 1 --mode avgt \
		floor
	[ "$code" -eq 0 ] || explain "the table: it fails"
	grep -q '^Work in the kernel' "$out" || explain "no word of it"
	if grep -q '^Not measured' "$out"; then
		grep -qE '^Not measured.*: .{9,}' "$out" || explain "no reason"
	fi
}

@test "bench --list has no row of a source that is off" {
	local name
	capture cpuclock bench --list
	[ "$code" -eq 0 ] || explain "it fails"
	for name in $(off_in "$WORLD"); do
		lacks "\\.$name(-stdio)?$" "$out"
	done
	grep -q '^cpuclock.floor.syscall$' "$out"
}

@test "check: what answers here keeps its promises" {
	capture cpuclock check --time 2 --threads 2
	if in_list "$WORLD" "clocks-denied rusage-denied"; then
		[ "$code" -eq 1 ] || explain "no clock, and no failure"
		return
	fi
	[ "$code" -eq 0 ] || explain "a promise is broken, or it fails"
	grep -qE '^(fast:rseq|fast:perf|self) .* kept$' "$out" ||
		explain "nothing was tried"
	lacks BROKEN "$out"
}

# By /proc or by BPF; where there is neither, it says so and runs nothing.
@test "stat: a command's threads, or a reason" {
	capture cpuclock stat -- sh -c 'echo ran; exit 3'
	case $WORLD in
	clocks-denied | rusage-denied | no-proc)
		[ "$code" -eq 3 ] || [ "$code" -eq 1 ] || explain "wrong status"
		;;
	*)
		[ "$code" -eq 3 ] || explain "the command's status is lost"
		;;
	esac
	if [ "$code" -eq 1 ]; then
		grep -q '^cpuclock stat: .*/proc' "$err" || explain "no reason"
		[ ! -s "$out" ] || explain "it ran"
	else
		grep -q '^ran$' "$out" || explain "it did not run"
		grep -q '^source' "$err" || explain "no report"
	fi
}
