#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Clock ids explained and built. The numbers are those of the kernel:
# ((~id) << 3) | type, with 4 added for one thread (linux/posix-timers.h).

# shellcheck disable=SC2154 # capture sets code, out and err
load common

# is ID FIELD=VALUE...: fields of decode's JSON; VALUE may be empty for "not there"
is() {
	local id=$1
	shift
	capture "$CPUCLOCK" decode --json "$id"
	[ "$code" -eq 0 ] || explain "decode $id: failed"
	python3 - "$out" "$@" <<'PYTHON' || explain "decode $id is not $*"
import json, sys
got = json.load(open(sys.argv[1]))
for pair in sys.argv[2:]:
    name, _, value = pair.partition("=")
    shown = got.get(name, "")
    shown = shown if isinstance(shown, str) else json.dumps(shown)
    if shown != value:
        sys.exit(f"{name} is {shown!r}, not {value!r}")
PYTHON
}

@test "the six constant ids of the caller" {
	is -8 clockid=-8 valid=true type=PROF per_thread=false pid=0 tid=
	is -7 clockid=-7 valid=true type=VIRT per_thread=false pid=0 tid=
	is -6 clockid=-6 valid=true type=SCHED per_thread=false pid=0 tid= \
		clock=CLOCK_PROCESS_CPUTIME_ID
	is -4 clockid=-4 valid=true type=PROF per_thread=true tid=0 pid=
	is -3 clockid=-3 valid=true type=VIRT per_thread=true tid=0 pid=
	is -2 clockid=-2 valid=true type=SCHED per_thread=true tid=0 pid= \
		clock=CLOCK_THREAD_CPUTIME_ID
}

@test "device clocks: a descriptor, neither process nor thread" {
	is -5 valid=true type=FD descriptor=0 pid= tid= per_thread=false
	is -29 valid=true type=FD descriptor=3 pid= tid= per_thread=false
	is -2147483645 valid=true type=FD descriptor=268435455
	prints 'bits 31\.\.3 +3,.*descriptor' "$CPUCLOCK" decode -29
}

@test "all of bits 2..0 set is no clock" {
	is -1 valid=false type= pid= tid= descriptor=
	is -9 valid=false type= pid= tid= descriptor=
	prints '^invalid' "$CPUCLOCK" decode -1
	prints 'EINVAL' "$CPUCLOCK" decode -1
}

@test "the fixed clocks by name" {
	is 0 valid=true clock=CLOCK_REALTIME type= pid= tid=
	is 1 valid=true clock=CLOCK_MONOTONIC
	is 2 valid=true clock=CLOCK_PROCESS_CPUTIME_ID
	is 3 valid=true clock=CLOCK_THREAD_CPUTIME_ID
	is 4 valid=true clock=CLOCK_MONOTONIC_RAW
	is 5 valid=true clock=CLOCK_REALTIME_COARSE
	is 6 valid=true clock=CLOCK_MONOTONIC_COARSE
	is 7 valid=true clock=CLOCK_BOOTTIME
	is 11 valid=true clock=CLOCK_TAI
	is 2147483647 valid=false
}

@test "one id in every spelling" {
	local spelling
	for spelling in -6 4294967290 0xfffffffa 0xFFFFFFFA 0XFFFFFFFA \
		0xfffffffffffffffa 18446744073709551610; do
		is "$spelling" clockid=-6 unsigned=4294967290 type=SCHED pid=0
		prints '^clockid_t +-6 = 0xfffffffa = 4294967290$' \
			"$CPUCLOCK" decode "$spelling"
	done
	is 0xfffffff2 clockid=-14 type=SCHED pid=1
	is 0xffffffffffffffea clockid=-22 type=SCHED per_thread=false pid=2
	is 0x80000000 clockid=-2147483648
	is 2147483648 clockid=-2147483648
	is -2147483648 clockid=-2147483648
	is 0x0 clockid=0
	is 00 clockid=0
}

@test "what is no number of 32 bits is a usage error that shows it" {
	local id
	for id in junk '' - -- x6 6x 0x 0xg 1.5 '6 ' ' 6' 1e3 4294967296 \
		-2147483649 0x100000000 0xfffffffe00000000 \
		18446744069414584320 18446744073709551616 \
		-9223372036854775808 99999999999999999999999; do
		[ "$id" != -- ] || continue
		fails 2 "'$id'" "$CPUCLOCK" decode "$id"
	done
	fails 2 'which|clock id' "$CPUCLOCK" decode
	fails 2 'which|clock id' "$CPUCLOCK" decode --json
}

@test "options and -- before an id, which may look like an option" {
	prints 'SCHED' "$CPUCLOCK" decode -- -6
	prints '"clockid": -6' "$CPUCLOCK" decode --json -- -6
	prints '"clockid": -6' "$CPUCLOCK" decode -6 --json
	prints 'VIRT' "$CPUCLOCK" decode -3
}

@test "it goes through the bits, from the top" {
	capture "$CPUCLOCK" decode -13678
	grep -nE '^bits 31\.\.3 +1709,.*inverted' "$out" || explain "bits 31..3"
	grep -nE '^bit 2 +0: process' "$out" || explain "bit 2"
	grep -nE '^bits 1\.\.0 +2: SCHED' "$out" || explain "bits 1..0"
	prints '^bit 2 +1: one thread' "$CPUCLOCK" decode -2
	prints '^bits 1\.\.0 +1: VIRT.*ticks' "$CPUCLOCK" decode -3
	prints '^bits 1\.\.0 +0: PROF.*ticks' "$CPUCLOCK" decode -4
}

@test "trap: the id of PID or TID -1 is a wall clock" {
	local id
	for id in 0 1 4 5 6 7; do
		prints '^trap .*-1' "$CPUCLOCK" decode $id
	done
	prints 'same as +-6' "$CPUCLOCK" decode 2
	prints 'same as +-2' "$CPUCLOCK" decode 3
}

@test "trap: PID 0 is the caller" {
	prints '0 is the caller' "$CPUCLOCK" decode -6
	prints '0 is the caller' "$CPUCLOCK" decode -2
}

@test "trap: VIRT is not scaled and can exceed SCHED" {
	prints 'can +exceed' "$CPUCLOCK" decode -3
}

@test "trap: a thread's clock works inside of its process only" {
	prints '^trap .*own process' "$CPUCLOCK" decode -12346
	capture "$CPUCLOCK" decode -12346
	[ "$(grep -c '^trap' "$out")" -eq 1 ]
	capture "$CPUCLOCK" decode -14
	lacks '^trap' "$out"
}

@test "trap: a PID that Linux never gives" {
	prints '^trap .*4194305 is above 4194304' "$CPUCLOCK" decode -33554446
	capture "$CPUCLOCK" decode -33554438 # 4194304, SCHED of a process
	lacks '^trap' "$out"
}

@test "it reads the clock: the kernel agrees, or says EINVAL" {
	local before after now
	prints '^read now +0\.[0-9]{9} s$' "$CPUCLOCK" decode -2
	prints '^read now +EINVAL' "$CPUCLOCK" decode 99
	before=$(date +%s)
	now=$("$CPUCLOCK" decode 0 | sed -nE 's/^read now +([0-9]+)\..*/\1/p')
	after=$(date +%s)
	[ "$now" -ge "$before" ]
	[ "$now" -le "$after" ]
}

@test "the clock of another process is read too" {
	local process_clock=$(((~$$ << 3) | 2)) thread_clock=$(((~$$ << 3) | 6))
	prints '^read now +[0-9]+\.[0-9]{9} s$' "$CPUCLOCK" decode $process_clock
	prints '^read now +EINVAL' "$CPUCLOCK" decode $thread_clock
}

@test "encode builds what the kernel takes apart, decode gives it back" {
	local id type bits clockid flag add
	for id in 0 1 2 255 32768 4194303 4194304; do
		for type in prof:0 virt:1 sched:2; do
			bits=${type#*:} type=${type%:*}
			for flag in -p -t; do
				[ $flag = -p ] && add=0 || add=4
				clockid=$(((~id << 3) | bits | add))
				capture "$CPUCLOCK" encode $flag $id --type "$type"
				[ "$code" -eq 0 ] || explain "encode $flag $id"
				grep -qE "^clockid_t +$clockid = " "$out" ||
					explain "it is not $clockid"
				grep -v '^read now' "$out" >"$BATS_TEST_TMPDIR/a"
				"$CPUCLOCK" decode $clockid | grep -v '^read now' |
					cmp - "$BATS_TEST_TMPDIR/a"
			done
		done
	done
}

@test "encode and decode give the same JSON" {
	local id arguments
	while IFS=: read -r id arguments; do
		# shellcheck disable=SC2086 # a list of words
		cmp <("$CPUCLOCK" encode $arguments --json) \
			<("$CPUCLOCK" decode --json "$id")
	done <<-'END'
		-6:-p 0
		-2:-t 0
		-3:-t 0 --type virt
		-33554438:-p 4194304
		-5:--fd 0
		-29:--fd 3
		-2147483645:--fd 268435455
	END
}

@test "encode: sched is the default type, in upper or lower case" {
	[ "$(json clockid "$CPUCLOCK" encode -p 1 --json)" -eq -14 ]
	[ "$(json clockid "$CPUCLOCK" encode -p 1 --json --type SCHED)" -eq -14 ]
	[ "$(json clockid "$CPUCLOCK" encode --pid=1 --json)" -eq -14 ]
	[ "$(json clockid "$CPUCLOCK" encode --tid=1 --json)" -eq -10 ]
}

@test "encode refuses -1, and says that it would be a wall clock" {
	fails 2 'CLOCK_' "$CPUCLOCK" encode -p -1
	fails 2 'CLOCK_' "$CPUCLOCK" encode -t -1
	fails 2 'CLOCK_' "$CPUCLOCK" encode --tid=-1
}

@test "encode refuses what is no PID, TID or descriptor" {
	local id
	for id in -2 4194305 536870911 2147483647 4294967295 \
		18446744073709551615 junk '' 0x1 1.5 ' 1' '1 '; do
		fails 2 "'$id'" "$CPUCLOCK" encode -p "$id"
		fails 2 "'$id'" "$CPUCLOCK" encode -t "$id"
	done
	for id in -1 268435456 536870911 4294967295 junk ''; do
		fails 2 "'$id'" "$CPUCLOCK" encode --fd "$id"
	done
}

@test "encode wants one target and a known type" {
	fails 2 '--pid.*--tid.*--fd' "$CPUCLOCK" encode
	fails 2 '--pid.*--tid.*--fd' "$CPUCLOCK" encode --json
	fails 2 '.' "$CPUCLOCK" encode -p 1 -t 1
	fails 2 '.' "$CPUCLOCK" encode -p 1 --fd 1
	fails 2 "'cpu'.*sched, virt, prof" "$CPUCLOCK" encode -p 1 --type cpu
	fails 2 "'fd'" "$CPUCLOCK" encode -p 1 --type fd
	fails 2 "''" "$CPUCLOCK" encode -p 1 --type ''
}

@test "encode: a descriptor has no type, whichever comes first" {
	local type
	for type in sched virt prof; do
		fails 2 'type' "$CPUCLOCK" encode --type $type --fd 1
		fails 2 'type' "$CPUCLOCK" encode --fd 1 --type $type
	done
}

@test "a device clock that is there can be read" {
	local device
	device=$(find /dev -maxdepth 1 -name 'ptp*' | head -n 1)
	[ -n "$device" ] || skip "this machine has no /dev/ptp device"
	[ -r "$device" ] || skip "$device may not be read"
	capture "$CPUCLOCK" decode -29 3<"$device"
	grep -qE '^read now +[0-9]{9,}\.' "$out" || explain "no time of $device"
}
