#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A JDK of ./dev test-jdks, before the agent is tested in it: it runs as any
# program does, also where it has a root of its own. NAME is its name for jdk.sh.

bats_require_minimum_version 1.5.0

: "${SOURCE_ROOT:?the path of the sources}"
: "${NAME:?the name of a JDK}"
: "${CLASSES:?where the classes of tests/agent are}"

jdk() {
	"$SOURCE_ROOT/tests/agent/jdk.sh" "$@"
}

@test "it is of the version that the list says, and found by its release" {
	local version said release
	version=$(jdk list | awk -F '\t' -v name="$NAME" '$1 == name { print $2 }')
	said=$(jdk run "$NAME" java -XshowSettings:properties -version 2>&1 |
		sed -n 's/^ *java.specification.version = //p')
	release=${said#1.}
	echo "listed as $version, says $said"
	[[ "${version#1.}" =~ ^$release([^0-9]|$) ]]
	jdk find "$release" | grep -qxF "$NAME"
	[ "$(jdk find "$NAME")" = "$NAME" ]
}

@test "it runs in the folder where it is called" {
	cd "$BATS_TEST_TMPDIR"
	jdk run "$NAME" java -XshowSettings:properties -version 2>&1 |
		grep -F "user.dir = $PWD"
}

@test "it sees the project and /tmp, and leaves files there" {
	jdk run "$NAME" javac -d "$BATS_TEST_TMPDIR" "$SOURCE_ROOT/tests/agent/Ticks.java"
	[ -s "$BATS_TEST_TMPDIR/Ticks.class" ]
	jdk run "$NAME" java -cp "$BATS_TEST_TMPDIR" Ticks | grep -xE 'true|false'
}

@test "its exit status is handed on" {
	run -1 jdk run "$NAME" java -cp "$CLASSES" NoSuchClass
}

@test "no mount of it is left" {
	run ! grep -F build-jdks /proc/self/mountinfo
}
