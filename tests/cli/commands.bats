#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What every command does alike: exit codes, help, messages, lost output.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

commands=$(all_commands)

# Every command that prints, as short as it gets; one a line.
printing="--help
--version
info
info --json
info --help
read
read --json
read --help
stat -a -d 0.01
stat -a -d 0.01 --json
stat -a -d 0.01 --csv
stat --help
decode -6
decode --json -6
decode --help
encode -p 1
encode -t 0 --json
encode --help
run --help
bench --list
bench --help
bench --time 1ms --iterations 2 --threads 1 --mode avgt floor.cycles
bench --time 1ms --iterations 2 --threads 1 --json floor.cycles
bench --time 1ms --iterations 2 --threads 1 --csv floor.cycles
bench --time 1ms --iterations 2 --threads 1 --hgrm floor.cycles"

# for_each_printing FUNCTION: calls it with the arguments of each line above
for_each_printing() {
	local line words
	while read -r line; do
		read -ra words <<<"$line"
		"$1" "${words[@]}"
	done <<<"$printing"
}

@test "--help lists every command, on standard output" {
	local command
	for command in info read stat decode encode bench check run; do
		prints "^  $command +[a-z]" "$CPUCLOCK" --help
		prints "^  $command +[a-z]" "$CPUCLOCK" -h
	done
}

@test "COMMAND --help explains it, on standard output" {
	local command
	for command in $commands; do
		prints "^Usage: cpuclock $command" "$CPUCLOCK" "$command" --help
		prints "^Usage: cpuclock $command" "$CPUCLOCK" "$command" -h
	done
}

@test "--help wins over the other options" {
	prints '^Usage' "$CPUCLOCK" read -p 1 --help
	prints '^Usage' "$CPUCLOCK" bench --quick --help floor
}

@test "help fits a terminal of 80 columns" {
	local command
	for command in "" $commands; do
		# shellcheck disable=SC2086 # no word for the first
		capture "$CPUCLOCK" $command --help
		lacks '.{81}' "$out"
		lacks '[[:space:]]$' "$out"
	done
}

@test "--version is the project's version" {
	local version
	version=$(sed -nE "s/^ *version: '(.*)',/\1/p" "$SOURCE_ROOT/meson.build")
	prints "^cpuclock $version\$" "$CPUCLOCK" --version
	[ "$(wc -l <"$out")" -eq 1 ]
}

@test "no command and no such command are usage errors" {
	fails 2 'help' "$CPUCLOCK"
	fails 2 "'frobnicate'.*help" "$CPUCLOCK" frobnicate
	fails 2 "help" "$CPUCLOCK" ""
	fails 2 "'--frobnicate'.*help" "$CPUCLOCK" --frobnicate
	fails 2 "'-x'.*help" "$CPUCLOCK" -x
}

@test "an unknown option is a usage error that names it" {
	local command
	for command in $commands; do
		fails 2 "--frobnicate.*--help" "$CPUCLOCK" "$command" --frobnicate
		fails 2 "-Z.*--help" "$CPUCLOCK" "$command" -Z
	done
	fails 2 "'--json=x'" "$CPUCLOCK" read --json=x
}

@test "an argument too many is a usage error that names it" {
	fails 2 "'extra'" "$CPUCLOCK" info extra
	fails 2 "'extra'" "$CPUCLOCK" read extra
	fails 2 "'extra'" "$CPUCLOCK" decode -6 extra
	fails 2 "'extra'" "$CPUCLOCK" encode -p 1 extra
	fails 2 "'extra'" "$CPUCLOCK" bench extra
}

@test "an option without its value is a usage error that names it" {
	local option
	for option in -p --pid -t --tid -k --kind -s --source; do
		fails 2 "'$option'" "$CPUCLOCK" read "$option"
	done
	for option in -p --pid -t --tid --fd --type; do
		fails 2 "'$option'" "$CPUCLOCK" encode "$option"
	done
	for option in --mode --threads --forks --warmup --iterations --time \
		--html --baseline; do
		fails 2 "'$option'" "$CPUCLOCK" bench "$option"
	done
}

@test "a failure is exit 1, not 2" {
	fails 1 'ended|not exist' "$CPUCLOCK" read -p 4194304
	fails 1 '/nowhere/x' "$CPUCLOCK" bench --json=/nowhere/x floor
}

# An argument is shown as text, whatever is in it.
@test "a message stays one line, whatever the argument" {
	fails 2 'decode' "$CPUCLOCK" decode $'1\n2'
	fails 2 'cpuclock' "$CPUCLOCK" $'a\nb'
	fails 2 'read' "$CPUCLOCK" read -p $'\n'
	fails 2 'bench' "$CPUCLOCK" bench $'x\ny'
}

@test "a message brings no escape sequence to the terminal" {
	capture "$CPUCLOCK" decode $'\e[31mred'
	[ "$code" -eq 2 ]
	lacks $'\e' "$err"
}

closed() {
	capture sh -c '"$@" >&-' sh "$CPUCLOCK" "$@"
	[ "$code" -eq 1 ] || explain "$*: exit code is not 1"
	one_line 'output'
}

@test "standard output closed: exit 1 and one line" {
	for_each_printing closed
}

full() {
	capture sh -c '"$@" >/dev/full' sh "$CPUCLOCK" "$@"
	[ "$code" -eq 1 ] || explain "$*: exit code is not 1"
	one_line 'No space left on device'
}

@test "standard output full: exit 1 and one line" {
	for_each_printing full
}

# The reader is gone before the command starts.
broken_pipe() {
	local writer
	exec {writer}> >(:)
	wait $!
	"$@" >&"$writer"
}

broken() {
	capture broken_pipe "$CPUCLOCK" "$@"
	[ "$code" -eq 1 ] || explain "$*: exit code is not 1"
	one_line 'Broken pipe'
}

@test "a pipe closed early: exit 1 and one line" {
	for_each_printing broken
}

# Its first part is written before the reader goes away.
stops_early() {
	set -o pipefail
	"$CPUCLOCK" bench --time 1ms --iterations 2 --threads 1,2 --json total |
		head -n 1
}

@test "a report longer than a pipe holds, and a reader that stops early" {
	capture stops_early
	[ "$code" -eq 1 ]
	[ "$(cat "$out")" = "[" ]
	one_line 'Broken pipe'
}

stdin_closed() {
	capture sh -c '"$@" <&-' sh "$CPUCLOCK" "$@"
	[ "$code" -eq 0 ] || explain "$*: failed"
	[ ! -s "$err" ] || explain "$*: standard error is not empty"
	[ -s "$out" ] || explain "$*: nothing was printed"
}

@test "standard input closed does no harm" {
	for_each_printing stdin_closed
}

stderr_closed() {
	capture sh -c '"$@" 2>&-' sh "$CPUCLOCK" "$@"
	[ "$code" -eq 0 ] || explain "$*: failed"
	[ -s "$out" ] || explain "$*: nothing was printed"
}

@test "standard error closed does no harm" {
	for_each_printing stderr_closed
	capture sh -c '"$@" 2>&-' sh "$CPUCLOCK" decode junk
	[ "$code" -eq 2 ]
	[ ! -s "$out" ]
}

@test "all three closed: exit 1, and no crash" {
	capture sh -c '"$@" <&- >&- 2>&-' sh "$CPUCLOCK" info
	[ "$code" -eq 1 ]
	capture sh -c '"$@" <&- >&- 2>&-' sh "$CPUCLOCK" decode junk
	[ "$code" -eq 2 ]
}

@test "--json prints one JSON value that ends in a newline" {
	local arguments
	for arguments in info read "decode -6" "decode -1" "encode -p 1" \
		"bench --time 1ms --iterations 2 --threads 1 floor"; do
		# shellcheck disable=SC2086 # a list of words
		capture "$CPUCLOCK" $arguments --json
		[ "$code" -eq 0 ] || explain "$arguments: failed"
		python3 -m json.tool <"$out" >/dev/null || explain "no JSON"
		[ -z "$(tail -c 1 "$out")" ] || explain "no newline at the end"
	done
}

@test "info shows the machine, every source, what is used and what to change" {
	local name
	prints "Linux $(uname -r)" "$CPUCLOCK" info
	for name in self posix rusage schedstat proc; do
		prints "^ *$name " "$CPUCLOCK" info
	done
	prints 'tick +[0-9.]+ ms, [0-9]+ Hz' "$CPUCLOCK" info
	prints 'accounting +[a-z]' "$CPUCLOCK" info
	prints 'clocksource +[a-z]' "$CPUCLOCK" info
	prints 'perf events +[a-z]' "$CPUCLOCK" info
	prints 'rseq +[a-z]' "$CPUCLOCK" info
	prints 'cpuclock_total\(\) +[a-z]+' "$CPUCLOCK" info
	prints 'cpuclock_user\(\).* [a-z]+' "$CPUCLOCK" info
	prints '^To get more' "$CPUCLOCK" info
}

@test "info fits one screen" {
	capture "$CPUCLOCK" info
	[ "$(wc -l <"$out")" -le 50 ] || explain "more than one screen"
}

@test "info finds the tick length that the kernel was built with" {
	local config hz
	config=/boot/config-$(uname -r)
	if [ -r /proc/config.gz ]; then
		hz=$(zcat /proc/config.gz | sed -n 's/^CONFIG_HZ=//p')
	elif [ -r "$config" ]; then
		hz=$(sed -n 's/^CONFIG_HZ=//p' "$config")
	else
		skip "the kernel's configuration is not on this machine"
	fi
	[ "$(json tick_ns "$CPUCLOCK" info --json)" -eq $((1000000000 / hz)) ]
}
