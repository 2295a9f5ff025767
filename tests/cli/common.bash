# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the command share. meson sets CPUCLOCK, the built command,
# SOURCE_ROOT, BUILD_ROOT and CC.

: "${CPUCLOCK:?the path of the built command}"
: "${SOURCE_ROOT:?the path of the sources}"
unset CPUCLOCK_SOURCE

bats_require_minimum_version 1.5.0

# capture COMMAND...: its exit code in $code, its output in $out and $err (files)
capture() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err code=0
	"$@" >"$out" 2>"$err" || code=$?
}

explain() {
	echo "$1"
	echo "exit code: $code"
	echo "standard output:" && head -n 20 "$out"
	echo "standard error:" && head -n 20 "$err"
	return 1
}

# prints PATTERN COMMAND...: exit 0, nothing on stderr, and stdout holds a line
# that matches.
prints() {
	local pattern=$1
	shift
	capture "$@"
	[ "$code" -eq 0 ] || explain "$* failed"
	[ ! -s "$err" ] || explain "$*: standard error is not empty"
	grep -qE -- "$pattern" "$out" || explain "$*: no line matches $pattern"
}

# lacks PATTERN FILE: no line of it matches
lacks() {
	if grep -nE -- "$1" "$2"; then
		explain "unexpected: $1"
	fi
}

# one_line PATTERN: $err is one line, whole, and matches.
one_line() {
	if [ "$(wc -l <"$err")" -ne 1 ] || [ -n "$(tail -c 1 "$err")" ]; then
		explain "standard error is not one line"
	fi
	grep -qE -- "$1" "$err" || explain "standard error does not match $1"
	# A command says who speaks.
	grep -qE '^cpuclock( [a-z]+)?: [^ ]' "$err" ||
		explain "the message does not begin with the command's name"
}

# fails CODE PATTERN COMMAND...: that exit code, one line on stderr that
# matches, nothing on stdout.
fails() {
	local wanted=$1 pattern=$2
	shift 2
	capture "$@"
	[ "$code" -eq "$wanted" ] || explain "$*: exit code is not $wanted"
	[ ! -s "$out" ] || explain "$*: standard output is not empty"
	one_line "$pattern"
}

# The names of the commands, as --help lists them.
all_commands() {
	"$CPUCLOCK" --help | sed -nE '/^Commands/,/^$/s/^  ([a-z]+) .*/\1/p'
}

# json FIELD COMMAND...: that field of the JSON object that it prints; lists are
# printed as words.
json() {
	local field=$1
	shift
	"$@" | python3 -c '
import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1].split("."):
    value = value[int(name) if isinstance(value, list) else name]
print(*value if isinstance(value, list) else [json.dumps(value)])
' "$field" | tr -d '"'
}

# sources COMMAND...: what its `info --json` says of each source, fastest first:
# NAME:WORKS:TARGETS:KINDS, where WORKS is yes or no
sources() {
	"$@" | python3 -c '
import json, sys
for source in json.load(sys.stdin)["sources"]:
    print(source["name"], "yes" if source["available"] else "no",
          " ".join(source["targets"]), " ".join(source["kinds"]), sep=":")'
}

# best TARGET KIND <SOURCES: the first that works and gives it
best() {
	grep -E "^[a-z-]+:yes:[^:]*\<$1\>[^:]*:.*\<$2\>" | head -n 1 | cut -d : -f 1
}

# The shortest benchmark that is one, in all ways: 3 floors and self.total of
# each source; 2 modes, 2 thread counts.
quick_bench() {
	"$CPUCLOCK" bench --time 1ms --iterations 2 --threads 1,2 "$@" \
		floor self.total
}

# needs PROGRAM: skips the test if there is none
needs() {
	command -v "$1" >/dev/null || skip "no program '$1'"
}
