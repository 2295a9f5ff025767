# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# What the tests of the shim share, beside what those of the command do.

load ../cli/common

: "${BUILD_ROOT:?the path of the build}"

shim=$BUILD_ROOT/preload/libcpuclock-preload.so
tests=$BUILD_ROOT/tests/preload
export CMOCKA_MESSAGE_OUTPUT=TAP
unset LD_PRELOAD CPUCLOCK_REPORT

# expectations COMMAND...: all of them hold for the programs that COMMAND runs
# with the shim
expectations() {
	local name
	for name in clock usage processes; do
		capture "$@" "$tests/test_$name"
		[ "$code" -eq 0 ] || explain "$name: broken"
		grep -q '^ok' "$out" || explain "$name: no test has run"
		lacks '^not ok' "$out"
	done
}

# report KEY COMMAND...: that figure of the report on it
report() {
	local key=$1
	shift
	capture "$CPUCLOCK" run --report --json -- "$@"
	python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' \
		"$key" <"$err"
}

# library NAME: the path of a shared library of the system's, if it is there
library() {
	PATH=$PATH:/sbin:/usr/sbin ldconfig -p |
		awk -v name="$1" '$1 == name { print $NF; exit }'
}
